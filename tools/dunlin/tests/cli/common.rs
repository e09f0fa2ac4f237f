//! Runs the program, also in the background.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dunlin::{Config, DomainParticipant};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A command that is not started yet.
pub fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
    command.args(words).env("DUNLIN_NETWORK_INTERFACES", "lo").stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn run(words: &[&str]) -> Output {
    program(words).output().unwrap()
}

/// The same with variables.
pub fn in_environment(words: &[&str], variables: &[(&str, &str)]) -> Output {
    program(words).envs(variables.iter().copied()).output().unwrap()
}

/// Runs a command to its end, which is given lines.
pub fn with_input(words: &[&str], lines: &str) -> Output {
    let mut command = program(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What a command that must succeed prints.
pub fn text(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Asks until the answer has what it must have.
pub fn eventually(words: &[&str], wanted: &[&str]) -> String {
    eventually_so(words, |text| wanted.iter().all(|words| text.contains(words)))
}

/// Asks until the answer is as it must be.
pub fn eventually_so(words: &[&str], well: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = run(words);
        let text = String::from_utf8(output.stdout).unwrap();
        if well(&text) {
            return text;
        }
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(Instant::now() < deadline, "{words:?} does not tell what it must:\n{text}\n{told}");
    }
}

/// A process that is killed at the end of the test.
pub struct Background(Child);

impl Background {
    fn spawn(words: &[&str], variables: &[(&str, &str)]) -> (Self, BufReader<ChildStdout>) {
        let mut command = program(words);
        let mut child = command.envs(variables.iter().copied()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        (Self(child), output)
    }

    /// Starts a command and waits for its first line, which is returned.
    pub fn start(words: &[&str]) -> (Self, String) {
        Self::start_in(words, &[])
    }

    /// The same with variables.
    pub fn start_in(words: &[&str], variables: &[(&str, &str)]) -> (Self, String) {
        let (child, mut output) = Self::spawn(words, variables);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        (child, line)
    }

    /// Starts a command, whose lines are received.
    pub fn lines(words: &[&str]) -> (Self, Receiver<String>) {
        let (child, output) = Self::spawn(words, &[]);
        let (sender, receiver) = mpsc::channel();
        let mut lines = output.lines().map_while(Result::ok);
        std::thread::spawn(move || lines.try_for_each(|line| sender.send(line)));
        (child, receiver)
    }
}

impl Background {
    /// Lets the process stand still; it can still be killed.
    pub fn stop(&self) {
        let stopped = Command::new("kill").args(["-STOP", &self.0.id().to_string()]).status().unwrap();
        assert!(stopped.success());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A domain for each test of this process.
pub fn domain(test: u32) -> String {
    (100 + 20 * (std::process::id() % 6) + test).to_string()
}

/// The same with numbers of their own, for tests beyond the first twenty.
pub fn more_domain(test: u32) -> String {
    assert!(test < 10);
    (40 + 10 * (std::process::id() % 6) + test).to_string()
}

/// Two more, for tests beyond these thirty.
pub fn other_domain(test: u32) -> String {
    assert!(test < 2);
    (20 + 2 * (std::process::id() % 6) + test).to_string()
}

/// A participant on loopback.
pub fn participant(domain: &str, name: &str, settings: &[(&str, &str)]) -> DomainParticipant {
    let mut config = Config::default();
    for (key, value) in [("network.interfaces", "lo")].iter().chain(settings) {
        config.set(key, value).unwrap();
    }
    DomainParticipant::builder(domain.parse().unwrap()).config(config).name(name).build().unwrap()
}

/// A participant that announces itself and answers nothing, like one whose firewall lets nothing in: what another one
/// announced, said again and again in another name.
pub struct Ghost {
    stop: mpsc::Sender<()>,
    speaks: Option<JoinHandle<()>>,
}

impl Ghost {
    pub fn new(domain: &str) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let heard_at = socket.local_addr().unwrap().to_string();
        let real = participant(domain, "ghost", &[("discovery.peers", &heard_at)]);
        let mut datagram = [0; 65_536];
        let length = socket.recv(&mut datagram).unwrap();
        drop(real);
        let mut announcement = datagram[..length].to_vec();
        // RTPS 2.5 §9.4.4: the name of the sender is behind "RTPS", version and vendor.
        let (name, mut other): ([u8; 12], [u8; 12]) =
            (datagram[8..20].try_into().unwrap(), datagram[8..20].try_into().unwrap());
        other[11] ^= 0xff;
        for at in 0..length - 11 {
            if announcement[at..at + 12] == name {
                announcement[at..at + 12].copy_from_slice(&other);
            }
        }
        let base = 7410 + 250 * domain.parse::<u16>().unwrap();
        let (stop, stopped) = mpsc::channel();
        let speaks = std::thread::spawn(move || {
            while stopped.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
                for participant in 0..10 {
                    // Where nobody listens the system may say so.
                    let _ = socket.send_to(&announcement, ("127.0.0.1", base + 2 * participant));
                }
            }
        });
        Self { stop, speaks: Some(speaks) }
    }
}

impl Drop for Ghost {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        self.speaks.take().unwrap().join().unwrap();
    }
}
