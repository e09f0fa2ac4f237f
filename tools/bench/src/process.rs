//! An adapter that runs: lines to it, lines from it. It is a program of others: what it says is bounded.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dunlin_bench_adapter::Line;

use crate::usage::{Usage, proportional_memory, usage};

/// How long a process may take to end by itself.
const GOODBYE: Duration = Duration::from_secs(5);
/// The longest answer, octets.
const MAX_LINE: u64 = 64 << 10;
/// So many lines of complaints are kept, each so long at most.
const COMPLAINTS: usize = 5;
const COMPLAINT: u64 = 400;

/// Where and how to start an adapter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launch {
    /// Program and arguments.
    pub(crate) command: Vec<OsString>,
    /// The processor it may use.
    pub(crate) core: Option<usize>,
    /// Whether it goes before all normal processes.
    pub(crate) real_time: bool,
    /// The network namespace.
    pub(crate) namespace: Option<String>,
    /// What is put before a command line of one word to have it run on another machine: `ssh` and its arguments.
    pub(crate) remote: Vec<OsString>,
    /// The configuration file that it reads.
    pub(crate) config: Option<PathBuf>,
}

impl Launch {
    fn command(&self) -> Result<Command> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(namespace) = &self.namespace {
            words.extend(["ip", "netns", "exec", namespace].map(OsString::from));
        }
        if let Some(core) = self.core {
            words.extend(["taskset".into(), "-c".into(), core.to_string().into()]);
        }
        if self.real_time {
            words.extend(["chrt", "--rr", "10"].map(OsString::from));
        }
        words.extend(self.command.iter().cloned());
        if !self.remote.is_empty() {
            let line = words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>();
            words = self.remote.clone();
            words.push(line.join(" ").into());
        }
        let (program, arguments) = words.split_first().context("an adapter without a program")?;
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(config) = &self.config {
            command.env("DUNLIN_CONFIG", config);
        }
        Ok(command)
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A running adapter. It is ended when this goes.
pub(crate) struct Adapter {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Result<String, String>>,
    complaints: Complaints,
    name: String,
    is_remote: bool,
}

/// The last lines of the standard error.
type Complaints = Arc<Mutex<VecDeque<String>>>;

impl Adapter {
    pub(crate) fn start(name: &str, launch: &Launch) -> Result<Self> {
        let mut command = launch.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().with_context(|| format!("starting {name}: {:?}", command.get_program()))?;
        let output = child.stdout.take().context("no output")?;
        let errors = child.stderr.take().context("no errors")?;
        let (sender, answers) = sync_channel(64);
        std::thread::spawn(move || listen(output, &sender));
        let complaints = Complaints::default();
        let heard = Arc::clone(&complaints);
        std::thread::spawn(move || remember(errors, &heard));
        let input = child.stdin.take();
        let is_remote = !launch.remote.is_empty();
        Ok(Self { child, input, answers, complaints, name: name.to_string(), is_remote })
    }

    /// Sends a command without waiting for its answer.
    pub(crate) fn tell(&mut self, line: &Line) -> Result<()> {
        let input = self.input.as_mut().context("no input")?;
        writeln!(input, "{line}")
            .with_context(|| format!("{} has ended{}", self.name, complained(&self.complaints)))
    }

    /// Waits for an answer with this first word.
    pub(crate) fn hear(&mut self, word: &str, patience: Duration) -> Result<Line> {
        let answer = match self.answers.recv_timeout(patience) {
            Ok(Ok(text)) => {
                text.parse::<Line>().with_context(|| format!("{} said '{}'", self.name, shown(&text)))?
            }
            Ok(Err(why)) => bail!("{}: {why}", self.name),
            Err(RecvTimeoutError::Timeout) => {
                bail!(
                    "{} said nothing for {} s{}",
                    self.name,
                    patience.as_secs(),
                    complained(&self.complaints)
                )
            }
            Err(RecvTimeoutError::Disconnected) => {
                // What it complained about may come a moment after its end.
                std::thread::park_timeout(Duration::from_millis(20));
                bail!("{} ended without an answer{}", self.name, complained(&self.complaints))
            }
        };
        if answer.word() == "error" {
            return Err(Refused(format!(
                "{}: {}",
                self.name,
                shown(answer.text("text").unwrap_or("no reason given"))
            ))
            .into());
        }
        if answer.word() != word {
            bail!("{}: '{}' instead of {word}", self.name, shown(&answer.to_string()));
        }
        Ok(answer)
    }

    pub(crate) fn ask(&mut self, line: &Line, word: &str, patience: Duration) -> Result<Line> {
        self.tell(line)?;
        self.hear(word, patience)
    }

    /// What the kernel counts for the process; nothing of one that runs elsewhere.
    pub(crate) fn usage(&self) -> Result<Option<Usage>> {
        if self.is_remote { Ok(None) } else { usage(self.child.id()).map(Some) }
    }

    /// Its memory, pages that others have too counted in part, octets.
    pub(crate) fn proportional_memory(&self) -> Result<f64> {
        proportional_memory(self.local_id().context("the process is not on this machine")?)
    }

    /// The id of the process, if it runs on this machine.
    pub(crate) fn local_id(&self) -> Option<u32> {
        (!self.is_remote).then(|| self.child.id())
    }
}

/// What an adapter answered instead of doing it.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Passes lines on until one is too long or is no text.
fn listen(output: ChildStdout, sender: &SyncSender<Result<String, String>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_whole = line.last() == Some(&b'\n');
        let text = match String::from_utf8(line) {
            Ok(text) if is_whole => Ok(text),
            Ok(_) => Err(format!("an answer without an end, or above {MAX_LINE} bytes")),
            Err(_) => Err("an answer that is no text".to_string()),
        };
        let is_end = text.is_err();
        if sender.send(text).is_err() || is_end {
            return;
        }
    }
}

fn remember(errors: ChildStderr, complaints: &Complaints) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    while matches!(errors.by_ref().take(COMPLAINT).read_until(b'\n', &mut line), Ok(length) if length > 0) {
        let mut kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == COMPLAINTS {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).trim_end().to_string());
        line.clear();
    }
}

fn complained(complaints: &Complaints) -> String {
    let kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<String> = kept.iter().map(|line| shown(line)).collect();
    if lines.is_empty() { String::new() } else { format!("; it said: {}", lines.join(" | ")) }
}

/// Text of others, short enough and without what controls a terminal.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 400;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.trim().chars().take(MOST).map(plain).collect();
    if text.trim().chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.tell(&Line::new("close"));
        // End of input means the same to an adapter that does not listen.
        self.input = None;
        let deadline = Instant::now() + GOODBYE;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a shell script as an adapter leads to.
    fn heard(script: &str) -> Result<Line> {
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        let launch = Launch { command, ..Launch::default() };
        Adapter::start("script", &launch).unwrap().hear("hello", Duration::from_secs(10))
    }

    #[test]
    fn malformed_adapter_output_is_distinguished() {
        let said = |script: &str| format!("{:#}", heard(script).unwrap_err());
        assert_eq!(said("exit 0"), "script ended without an answer");
        assert_eq!(said("echo no library >&2"), "script ended without an answer; it said: no library");
        assert_eq!(said("echo error text=no%20room"), "script: no room");
        assert_eq!(said("echo opened micros=1"), "script: 'opened micros=1' instead of hello");
        assert!(said("printf 'hello a\\033[2Jb\\n'").starts_with("script said 'hello a [2Jb'"));
        assert!(said("head -c 100000 /dev/zero | tr '\\0' x; read x").contains("above 65536 bytes"));
        assert!(said("printf '\\377\\n'; read x").contains("no text"));
        assert_eq!(heard("echo hello name=a").unwrap().text("name"), Some("a"));
    }

    #[test]
    fn an_adapter_that_refuses_is_distinguished_from_a_broken_one() {
        assert!(heard("echo error text=x").unwrap_err().is::<Refused>());
        assert!(!heard("exit 1").unwrap_err().is::<Refused>());
    }

    #[test]
    fn a_process_is_put_where_it_belongs() {
        let launch = Launch {
            command: vec!["adapter".into()],
            core: Some(1),
            real_time: true,
            namespace: Some("far".into()),
            ..Launch::default()
        };
        let command = launch.command().unwrap();
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(command.get_program(), "ip");
        assert_eq!(words.join(" "), "netns exec far taskset -c 1 chrt --rr 10 adapter");
    }

    #[test]
    fn remote_adapter_gets_one_shell_command_line() {
        // The stand-in for ssh ignores the host and has a shell read the rest, as a remote machine does.
        let remote = ["sh", "-c", "exec sh -c \"$1\"", "host"].map(OsString::from).to_vec();
        let command = ["printf", "hello name=%s\\n", "it's"].map(OsString::from).to_vec();
        let mut adapter = Adapter::start("far", &Launch { command, remote, ..Launch::default() }).unwrap();
        let hello = adapter.hear("hello", Duration::from_secs(10)).unwrap();
        assert_eq!(hello.text("name"), Some("it's"));
        assert_eq!(adapter.usage().unwrap(), None);
    }
}
