//! An adapter that runs: lines to it, lines from it, and what the kernel says about it.

use anyhow::{Context, Result, bail};
use dunlin_bench_adapter::Line;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How long a process may take to end by itself.
const GOODBYE: Duration = Duration::from_secs(5);
/// Ticks per second in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

/// Where and how to start an adapter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launch {
    /// Program and arguments.
    pub(crate) command: Vec<OsString>,
    /// The processor it may use.
    pub(crate) core: Option<usize>,
    /// The network namespace.
    pub(crate) namespace: Option<String>,
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
        words.extend(self.command.iter().cloned());
        let (program, arguments) = words.split_first().context("an adapter without a program")?;
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }
}

/// A running adapter. It is ended when this goes.
pub(crate) struct Adapter {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
    name: String,
}

impl Adapter {
    pub(crate) fn start(name: &str, launch: &Launch) -> Result<Self> {
        let mut command = launch.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child =
            command.spawn().with_context(|| format!("starting {name}: {:?}", command.get_program()))?;
        let output = child.stdout.take().context("no output")?;
        let (sender, answers) = sync_channel(64);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Ok(Self { child, input, answers, name: name.to_string() })
    }

    /// Sends a command without waiting for its answer.
    pub(crate) fn tell(&mut self, line: &Line) -> Result<()> {
        let input = self.input.as_mut().context("no input")?;
        writeln!(input, "{line}").with_context(|| format!("{} has ended", self.name))
    }

    /// Waits for an answer with this first word.
    pub(crate) fn hear(&mut self, word: &str, patience: Duration) -> Result<Line> {
        let answer = match self.answers.recv_timeout(patience) {
            Ok(text) => text.parse::<Line>().with_context(|| format!("{} said {text:?}", self.name))?,
            Err(RecvTimeoutError::Timeout) => {
                bail!("{} said nothing for {} s", self.name, patience.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => bail!("{} ended without an answer", self.name),
        };
        if answer.word() == "error" {
            bail!("{}: {}", self.name, answer.text("text").unwrap_or("no reason given"));
        }
        if answer.word() != word {
            bail!("{}: '{answer}' instead of {word}", self.name);
        }
        Ok(answer)
    }

    pub(crate) fn ask(&mut self, line: &Line, word: &str, patience: Duration) -> Result<Line> {
        self.tell(line)?;
        self.hear(word, patience)
    }

    /// What the kernel counts for the process.
    pub(crate) fn usage(&self) -> Result<Usage> {
        usage(self.child.id())
    }
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

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Processor time, seconds.
    pub(crate) cpu: f64,
    /// Memory in use and at its highest, octets.
    pub(crate) rss: f64,
    pub(crate) peak: f64,
    pub(crate) threads: f64,
}

fn usage(pid: u32) -> Result<Usage> {
    let read =
        |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).context("the process has ended");
    let (stat, status) = (read("stat")?, read("status")?);
    parse_usage(&stat, &status).context("the kernel's figures cannot be read")
}

fn parse_usage(stat: &str, status: &str) -> Option<Usage> {
    // The name of the program, in brackets, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse::<f64>().ok()
    };
    Some(Usage {
        cpu: (ticks(11)? + ticks(12)?) / TICKS,
        rss: field("VmRSS:")? * 1024.0,
        peak: field("VmHWM:")? * 1024.0,
        threads: field("Threads:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_figures_are_read() {
        let stat = "1 (a) b) S 1 1 1 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 3 0 1 1 1";
        let status = "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t3\n";
        let expected = Usage { cpu: 3.0, rss: 1_048_576.0, peak: 2_097_152.0, threads: 3.0 };
        assert_eq!(parse_usage(stat, status), Some(expected));
        assert!(usage(std::process::id()).unwrap().threads >= 1.0);
    }

    #[test]
    fn an_adapter_that_ends_is_noticed() {
        let launch = Launch { command: vec!["true".into()], ..Launch::default() };
        let mut adapter = Adapter::start("nothing", &launch).unwrap();
        let answer = adapter.hear("hello", Duration::from_secs(10));
        assert_eq!(answer.unwrap_err().to_string(), "nothing ended without an answer");
    }
}
