//! A process whose lines are read.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// How long a process may take to end after SIGINT.
pub const LONGEST_END: Duration = Duration::from_secs(2);
/// When it is killed; other vendors may take this long.
const KILLED_AFTER: Duration = Duration::from_secs(10);

/// A running program.
pub struct Process {
    child: Child,
}

/// Its lines, those of standard error too.
pub type Lines = Receiver<String>;

impl Process {
    /// Starts it.
    pub fn start(command: &[OsString], options: &[String]) -> Result<(Self, Lines)> {
        let (program, first) = command.split_first().context("an empty command")?;
        let mut child = Command::new(program)
            .args(first)
            .args(options)
            .env("DUNLIN_NETWORK_INTERFACES", "lo")
            .env("RUSTDDS_IFACE", "127.0.0.1")
            .env(
                "CYCLONEDDS_URI",
                "<General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces></General>",
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| program.to_string_lossy().into_owned())?;
        let (sender, lines) = channel();
        let output = child.stdout.take().context("no standard output")?;
        let errors = child.stderr.take().context("no standard error")?;
        let also = sender.clone();
        std::thread::spawn(move || forward(output, &sender));
        std::thread::spawn(move || forward(errors, &also));
        Ok((Self { child }, lines))
    }

    /// Ends it with SIGINT; returns how long that took.
    pub fn interrupt(&mut self) -> Result<Duration> {
        let since = Instant::now();
        if self.child.try_wait()?.is_none() {
            let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("no process id")?;
            kill_process(pid, Signal::INT)?;
        }
        while self.child.try_wait()?.is_none() {
            if since.elapsed() > KILLED_AFTER {
                self.child.kill()?;
            }
            std::thread::park_timeout(Duration::from_millis(2));
        }
        Ok(since.elapsed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended, unless the run failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(from: impl std::io::Read, to: &std::sync::mpsc::Sender<String>) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if to.send(line).is_err() {
            // Read on, so that the process does not wait for its reader.
            continue;
        }
    }
}
