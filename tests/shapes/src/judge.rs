//! Reads the lines of a process until it is known what it saw.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::check::check;
use crate::line::Line;
use crate::process::Lines;
use crate::scenario::{Check, Scenario};
use crate::verdict::Verdict;

/// How long anything may take to happen.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long nothing has to happen where nothing must.
const SILENCE: Duration = Duration::from_secs(4);

/// The lines of a process, each waited for.
pub struct Watch<'l> {
    lines: &'l mut Lines,
    patience: Duration,
    /// The last lines, to be shown when the scenario fails.
    pub seen: Vec<String>,
}

impl<'l> Watch<'l> {
    /// Waits for lines; less long where none is wanted.
    pub fn new(lines: &'l mut Lines, wanted: Verdict) -> Self {
        let silent = matches!(wanted, Verdict::NotMatched | Verdict::NoData);
        Self { lines, patience: if silent { SILENCE } else { PATIENCE }, seen: Vec::new() }
    }

    fn next_until(&mut self, deadline: Instant) -> Option<String> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => {
                if self.seen.len() >= 400 {
                    self.seen.drain(..200);
                }
                self.seen.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Waits for a line that begins in one of these ways, and says which.
    fn one_of(&mut self, patience: Duration, wanted: &[&str]) -> Option<usize> {
        let deadline = Instant::now() + patience;
        loop {
            let line = self.next_until(deadline)?;
            let found = wanted.iter().position(|text| line.to_lowercase().contains(&text.to_lowercase()));
            if found.is_some() {
                return found;
            }
        }
    }

    /// What a publisher saw. `prints` if it prints what it writes.
    pub fn publisher(&mut self, prints: bool) -> Verdict {
        for step in ["Create topic:", "Create writer for topic"] {
            match self.one_of(PATIENCE, &[step, "not supported"]) {
                Some(0) => {}
                Some(_) => return Verdict::Unsupported,
                None => return Verdict::NotCreated,
            }
        }
        let ends = ["on_publication_matched", "on_offered_incompatible_qos", "not supported"];
        match self.one_of(self.patience, &ends) {
            Some(0) => {}
            Some(1) => return Verdict::Incompatible,
            Some(_) => return Verdict::Unsupported,
            None => return Verdict::NotMatched,
        }
        if !prints {
            return Verdict::Ok;
        }
        let mut written = 0;
        let deadline = Instant::now() + PATIENCE;
        while written < 3 {
            let Some(line) = self.next_until(deadline) else { return Verdict::NoData };
            if line.contains("on_offered_deadline_missed") {
                return Verdict::DeadlineMissed;
            }
            written += usize::from(matches!(Line::of(&line), Line::Sample(_)));
        }
        Verdict::Ok
    }

    /// What a subscriber saw.
    pub fn subscriber(&mut self, scenario: &Scenario, samples: usize) -> Verdict {
        let steps = ["Create topic:", "Create reader for topic"];
        for step in steps {
            match self.one_of(PATIENCE, &[step, "not supported", "failed to create content filtered topic"]) {
                Some(0) => {}
                Some(1) => return Verdict::Unsupported,
                _ => return Verdict::NotCreated,
            }
        }
        let deadline = Instant::now() + self.patience;
        let first = loop {
            let Some(line) = self.next_until(deadline) else { return Verdict::NoData };
            match Line::of(&line) {
                Line::IncompatibleQos => return Verdict::Incompatible,
                Line::RequestedDeadlineMissed => return Verdict::DeadlineMissed,
                Line::Sample(sample) => break sample,
                _ => {}
            }
        };
        // Rounds of reading that bring nothing do not count: the publisher may be gone.
        let mut patience_ends = Instant::now() + PATIENCE;
        let mut next = || {
            if Instant::now() > patience_ends {
                return None;
            }
            let line = Line::of(&self.next_until(patience_ends)?);
            if !matches!(line, Line::Round | Line::Other) {
                patience_ends = Instant::now() + PATIENCE;
            }
            Some(line)
        };
        let mut relevant = || match scenario.check {
            Check::Deadline => loop {
                match next()? {
                    Line::Other => {}
                    line => return Some(line),
                }
            },
            _ => next(),
        };
        check(scenario.check, samples, first, &mut relevant)
    }
}
