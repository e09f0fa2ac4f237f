//! Processes under test.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use crate::{PATIENCE, eventually};

/// A process in the background; it is killed at the end of the test.
#[derive(Debug)]
pub struct Running {
    child: Child,
    told: Receiver<String>,
    input: Option<ChildStdin>,
}

impl Running {
    /// Starts it, and listens to its standard error stream.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a process");
        let (sender, told) = channel();
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        std::thread::spawn(move || { lines }.try_for_each(|line| sender.send(line)));
        let input = child.stdin.take();
        Self { child, told, input }
    }

    /// Sends a signal, such as `-TERM`.
    ///
    /// # Panics
    /// If that fails.
    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &process]).status().expect("kill").success());
    }

    /// Kills it at once.
    ///
    /// # Panics
    /// If that fails.
    pub fn kill(&mut self) {
        self.child.kill().expect("a process");
        self.child.wait().expect("its end");
    }

    /// Waits for a line on the standard error stream that has `wanted`; the whole line.
    ///
    /// # Panics
    /// If none comes within [`PATIENCE`].
    pub fn tells(&self, wanted: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.told.recv_timeout(left).unwrap_or_else(|_| panic!("it does not tell: {wanted}"));
            if line.contains(wanted) {
                return line;
            }
        }
    }

    /// Writes a line to its standard input, which the command made a pipe.
    ///
    /// # Panics
    /// If it has none, or does not read.
    pub fn line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("a reader");
        input.flush().expect("a reader");
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// If it has not within [`PATIENCE`].
    pub fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the program ends", || {
            status = self.child.try_wait().expect("a process");
            status.is_some()
        });
        status.expect("an end")
    }

    /// Sends a signal, such as `-TERM`, after which it has to end well.
    ///
    /// # Panics
    /// If it does not; with what it told since it was last asked.
    pub fn stops_well(self, name: &str) {
        self.signal(name);
        self.ends_well();
    }

    /// Waits until it has ended well.
    ///
    /// # Panics
    /// If it has not; with what it told since it was last asked.
    pub fn ends_well(mut self) {
        let status = self.ends();
        let told: Vec<String> = self.told.try_iter().collect();
        assert!(status.success(), "{status}: {told:?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended perhaps.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
