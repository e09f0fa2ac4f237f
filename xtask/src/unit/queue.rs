//! Several programs at a time, one after the other taken from a list.

use std::io::{Read, Seek};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::programs::Program;

/// What became of a program.
pub struct Outcome {
    pub title: String,
    pub passed: bool,
    pub took: Duration,
    output: Vec<u8>,
}

impl Outcome {
    /// Its title and what it printed, in the form of `cargo test`.
    pub fn as_log(&self) -> Vec<u8> {
        [format!("     {}\n", self.title).as_bytes(), &self.output, b"\n"].concat()
    }

    /// Its title and what it printed but the names of tests that passed.
    pub fn complaint(&self) -> String {
        let output = String::from_utf8_lossy(&self.output);
        let passed = |line: &&str| line.starts_with("test ") && !line.ends_with("FAILED");
        let lines = output.lines().filter(|line| !passed(line) && !line.is_empty());
        [self.title.as_str()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
    }
}

/// Runs all of them, `at_once` at a time, and hands each outcome over as it comes.
pub fn run(
    programs: Vec<Program>,
    at_once: usize,
    command: impl Fn(&Program) -> Command + Sync,
    mut came: impl FnMut(&Outcome) -> Result<()>,
) -> Result<Vec<Outcome>> {
    let waiting = Mutex::new(programs.into_iter());
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        for _ in 0..at_once.max(1) {
            let sender = sender.clone();
            scope.spawn(|| work(&waiting, &command, sender));
        }
        drop(sender);
        let mut outcomes = Vec::new();
        for outcome in receiver {
            let outcome: Outcome = outcome?;
            came(&outcome)?;
            outcomes.push(outcome);
        }
        Ok(outcomes)
    })
}

fn work(
    waiting: &Mutex<std::vec::IntoIter<Program>>,
    command: &(impl Fn(&Program) -> Command + Sync),
    sender: Sender<Result<Outcome>>,
) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(program) = next else { return };
        if sender.send(outcome(&program, command(&program))).is_err() {
            return;
        }
    }
}

/// The output goes to a file: of a pipe the end would only come with that of all processes that a test has left behind.
fn outcome(program: &Program, mut command: Command) -> Result<Outcome> {
    let since = Instant::now();
    let file = tempfile::tempfile().context("no temporary file can be made")?;
    command.stdout(file.try_clone()?).stderr(file.try_clone()?);
    let status = command.status().with_context(|| format!("{} cannot be started", program.title))?;
    let (took, mut output) = (since.elapsed(), Vec::new());
    let mut file = file;
    file.rewind()?;
    file.read_to_end(&mut output)?;
    Ok(Outcome { title: program.title.clone(), passed: status.success(), took, output })
}
