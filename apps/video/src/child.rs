//! Processes of the same program that end with their parent.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child as Process, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(8);

/// A child that ends when its standard input is closed, so that it never outlives this process.
pub struct Child {
    name: String,
    process: Process,
    output: Option<JoinHandle<Option<String>>>,
}

impl Child {
    /// Starts this program anew; one of `args` makes it end with its standard input. Its lines are shown where `shown` says so; the
    /// last other one is kept.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &str, args: &[OsString], shown: fn(&str) -> bool) -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C in the terminal goes to this process alone, which then ends the children one after the other.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn().with_context(|| format!("cannot start the {name}"))?;
        let stdout = process.stdout.take().context("no output")?;
        let name = name.to_owned();
        let teller = name.clone();
        let output = std::thread::spawn(move || relay(&teller, stdout, shown));
        Ok(Self { name, process, output: Some(output) })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it has ended, if it has.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.process.try_wait().with_context(|| format!("cannot watch the {}", self.name))
    }

    /// Ends it and waits for it; gives the line that was kept.
    ///
    /// # Errors
    /// When it does not end, or has failed.
    pub fn end(&mut self) -> Result<Option<String>> {
        drop(self.process.stdin.take());
        let deadline = Instant::now() + GRACE;
        let status = loop {
            if let Some(status) = self.ended()? {
                break status;
            }
            if Instant::now() >= deadline {
                let _ = self.process.kill();
                let _ = self.process.wait();
                bail!("the {} did not end within {} s and was killed", self.name, GRACE.as_secs());
            }
            // A child cannot be waited for with a deadline otherwise.
            std::thread::park_timeout(Duration::from_millis(10));
        };
        let kept = self.output.take().and_then(|output| output.join().ok()).flatten();
        ensure!(status.success(), "the {} has failed ({status})", self.name);
        Ok(kept)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn relay(name: &str, output: ChildStdout, shown: fn(&str) -> bool) -> Option<String> {
    let mut kept = None;
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if shown(&line) {
            dunlin_program::say!("{name}: {line}");
        } else {
            kept = Some(line);
        }
    }
    kept
}
