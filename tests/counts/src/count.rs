//! Counting one side, from when the exchange has got going to its last sample.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::marks;

/// Which of the two processes is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Write,
    Read,
}

impl Side {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Write => Self::Read,
            Self::Read => Self::Write,
        }
    }
}

/// What one sample costs one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    /// In user space, over all threads.
    pub(crate) instructions: u64,
    /// Of all kinds, but not the sleep between two samples, and not `futex`: who sleeps when another thread is sending depends
    /// on the machine.
    pub(crate) system_calls: f64,
    #[serde(skip)]
    by_kind: BTreeMap<String, f64>,
}

impl Count {
    /// The system calls that are made at all, most frequent first.
    pub(crate) fn kinds(&self) -> String {
        let mut kinds: Vec<_> = self.by_kind.iter().filter(|(_, count)| **count >= 0.05).collect();
        kinds.sort_by(|a, b| b.1.total_cmp(a.1));
        kinds.iter().map(|(name, count)| format!("{name} {count:.2}")).collect::<Vec<_>>().join(", ")
    }
}

/// Counts one side while the other runs as usual.
pub(crate) fn measure(side: Side, payload: usize, samples: u64) -> Result<Count> {
    let folder = tempfile::tempdir()?;
    let instructions = instructions(side, payload, samples, folder.path())? / samples;
    let calls = system_calls(side, payload, samples, folder.path())?;
    let by_kind: BTreeMap<String, f64> =
        calls.into_iter().map(|(name, count)| (name, count as f64 / samples as f64)).collect();
    let of_traffic = by_kind.iter().filter(|(name, _)| *name != "futex").map(|(_, count)| count);
    let system_calls = (of_traffic.sum::<f64>() * 100.0).round() / 100.0;
    Ok(Count { instructions, system_calls, by_kind })
}

/// The instructions between the two marks.
fn instructions(side: Side, payload: usize, samples: u64, folder: &Path) -> Result<u64> {
    let file = folder.join("callgrind");
    let (begin, end) = ("--zero-before=*marks::begin*", "--dump-before=*marks::end*");
    let counter = ["valgrind", "--quiet", "--tool=callgrind", begin, end];
    run(side, payload, samples, &counter, &format!("--callgrind-out-file={}", file.display()))?;
    let text = std::fs::read_to_string(folder.join("callgrind.1")).context("callgrind saw no mark")?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).context("no totals")?;
    Ok(total.trim().parse()?)
}

/// The system calls between the two marks.
fn system_calls(side: Side, payload: usize, samples: u64, folder: &Path) -> Result<BTreeMap<String, u64>> {
    let file = folder.join("strace");
    let counter = ["strace", "--follow-forks", "--quiet=all", "--signal=none", "--string-limit=0"];
    run(side, payload, samples, &counter, &format!("--output={}", file.display()))?;
    let text = std::fs::read_to_string(&file)?;
    let mut calls = BTreeMap::new();
    let names = text.lines().filter_map(called);
    let between =
        names.skip_while(|name| *name != marks::CALL).skip(1).take_while(|name| *name != marks::CALL);
    for name in between.filter(|name| !name.ends_with("nanosleep")) {
        *calls.entry(name.to_owned()).or_insert(0) += 1;
    }
    ensure!(!calls.is_empty(), "strace saw no mark");
    Ok(calls)
}

/// The call that a line of strace's reports; the end of one that was reported before is none.
fn called(line: &str) -> Option<&str> {
    let (_thread, call) = line.split_once(char::is_whitespace)?;
    let (name, _) = call.trim_start().split_once('(')?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(name)
}

/// Runs both sides, one of them under `counter`.
fn run(side: Side, payload: usize, samples: u64, counter: &[&str], output: &str) -> Result<()> {
    let program = std::env::current_exe()?;
    let program = program.to_str().context("the path of the program is not text")?;
    // Another exchange on this machine is not met.
    let domain = (100 + std::process::id() % 100).to_string();
    let (payload, samples) = (payload.to_string(), samples.to_string());
    let workload = ["--domain", &domain, "--payload", &payload, "--samples", &samples];
    let (counted, plain) = (side.name(), side.other().name());
    let mut other = start(&[&[program, plain], &workload[..]].concat())?;
    let mut this = start(&[counter, &[output, program, counted], &workload[..]].concat())?;
    let ended = this.wait()?;
    if !ended.success() {
        _ = other.kill();
    }
    let other = other.wait()?;
    ensure!(ended.success(), "{} of {counted} ended with {ended}", counter[0]);
    ensure!(other.success(), "{plain} ended with {other}");
    Ok(())
}

fn start(command: &[&str]) -> Result<Child> {
    let (program, arguments) = command.split_first().context("no program")?;
    let child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    child.with_context(|| format!("cannot start {program}"))
}
