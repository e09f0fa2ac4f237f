//! `shape_main` ends within two seconds after SIGINT, also when nobody reads what it prints.
#![cfg(unix)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// How long anything else may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Options of a publisher that prints much.
const MUCH: [&str; 7] = ["-t", "Much", "-P", "-w", "--write-period", "0", "--num-instances=20"];
/// Options of a subscriber that prints what that publisher writes.
const EVERYTHING: [&str; 7] = ["-t", "Much", "-S", "-k", "0", "--read-period", "1"];

/// A domain of this test process.
fn domain() -> String {
    (150 + std::process::id() % 40).to_string()
}

fn start(options: &[&str]) -> Child {
    start_with(options, Stdio::piped())
}

fn start_with(options: &[&str], output: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_shape_main"))
        .args(["-d", &domain()])
        .args(options)
        .env("DUNLIN_NETWORK_INTERFACES", "lo")
        .stdin(Stdio::null())
        .stdout(output)
        .spawn()
        .unwrap()
}

fn interrupt(child: &mut Child) -> Duration {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(since.elapsed() < PATIENCE, "it does not end");
        std::thread::park_timeout(Duration::from_millis(2));
    }
    since.elapsed()
}

#[test]
fn a_publisher_whose_lines_nobody_reads_ends() {
    let mut child = start(&MUCH);
    let output = child.stdout.take().unwrap();
    wait_until_full(&output);
    let took = interrupt(&mut child);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// As under a terminal that stands still.
#[test]
fn a_publisher_ends_whose_terminal_nobody_reads() {
    let (terminal, output) = terminal();
    let mut child = start_with(&MUCH, output);
    wait_until_full(&terminal);
    let took = interrupt(&mut child);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_subscriber_whose_lines_nobody_reads_ends() {
    let mut child = start(&EVERYTHING);
    let output = child.stdout.take().unwrap();
    a_subscriber_ends(child, &output);
}

#[test]
fn a_subscriber_ends_whose_terminal_nobody_reads() {
    let (terminal, output) = terminal();
    a_subscriber_ends(start_with(&EVERYTHING, output), &terminal);
}

/// A terminal that nobody reads, and what a process writes to.
fn terminal() -> (OwnedFd, Stdio) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let output = File::options().read(true).write(true).open(name).unwrap();
    (terminal, output.into())
}

/// Samples keep coming while the output of the subscriber is full.
fn a_subscriber_ends(mut subscriber: Child, output: impl AsFd) {
    let mut publisher = start_with(&MUCH, Stdio::null());
    wait_until_full(output);
    let took = interrupt(&mut subscriber);
    assert!(publisher.try_wait().unwrap().is_none(), "nothing was written any more");
    interrupt(&mut publisher);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Waits until what a process prints finds no more room.
fn wait_until_full(output: impl AsFd) {
    // It is full when no octet was added for a while.
    let since = Instant::now();
    let (mut waiting, mut unchanged) = (0, 0);
    while unchanged < 20 {
        assert!(since.elapsed() < PATIENCE, "{waiting} octets do not fill it");
        std::thread::park_timeout(Duration::from_millis(20));
        let now = rustix::io::ioctl_fionread(&output).unwrap();
        unchanged = if now == waiting && now > 0 { unchanged + 1 } else { 0 };
        waiting = now;
    }
}

#[test]
fn publisher_and_subscriber_end_on_interrupt_while_exchanging() {
    // A topic of its own: the other tests' publishers write at the same time.
    let mut publisher = start(&["-t", "Ends", "-P", "-r", "-k", "0"]);
    let mut subscriber = start(&["-t", "Ends", "-S", "-r", "-k", "0"]);
    let mut lines = BufReader::new(subscriber.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("[20]")), "no sample came");
    assert!(interrupt(&mut publisher) < Duration::from_secs(2));
    let gone = "Ends       BLUE       NOT_ALIVE_NO_WRITERS_INSTANCE_STATE";
    assert!(lines.any(|line| line == gone), "the end of the publisher was not told");
    assert!(interrupt(&mut subscriber) < Duration::from_secs(2));
    assert!(publisher.wait().unwrap().success() && subscriber.wait().unwrap().success());
    assert_eq!(lines.last().as_deref(), Some("Done."));
    let mut written = String::new();
    publisher.stdout.take().unwrap().read_to_string(&mut written).unwrap();
    let told: Vec<&str> = written.lines().collect();
    assert_eq!(told[..2], ["Create topic: Ends", "Create writer for topic: Ends color: BLUE"]);
    let matched =
        "on_publication_matched() topic: 'Ends'  type: 'ShapeType' : matched readers 1 (change = 1)";
    assert!(told.contains(&matched), "{told:?}");
    assert_eq!(told.last(), Some(&"Done."));
}

#[test]
fn failures_are_named_and_set_the_exit_code() {
    let run = |options: &[&str]| {
        let mut child = start(options);
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        (child.wait().unwrap().code(), text)
    };
    let (code, text) = run(&["-t", "None", "-S", "--cft", "no_such_field > 1"]);
    assert!(code == Some(2) && text.contains("failed to create content filtered topic\n"), "{code:?} {text}");
    assert!(!text.contains("Create reader"));
    let (code, text) = run(&["--help"]);
    assert!(code == Some(0) && text.contains("--coherent-sample-count"), "{code:?} {text}");
    let (code, _) = run(&["-t", "None"]);
    assert_eq!(code, Some(1));
}
