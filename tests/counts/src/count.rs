//! Counting one side, from when the exchange has got going to its last sample.

use std::collections::BTreeMap;
use std::io::Seek;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::marks;
use crate::sides::Way;

/// The cache that is modelled: 32 KiB of instructions and of data, 8 MiB behind them. Fixed, so that counts are the same on
/// every machine; the real one is larger or smaller.
const CACHE: [&str; 4] = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// Which of the two processes is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Write,
    Read,
    /// Both are one process.
    Both,
}

impl Side {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Both => "both",
        }
    }

    const fn other(self) -> Option<Self> {
        match self {
            Self::Write => Some(Self::Read),
            Self::Read => Some(Self::Write),
            Self::Both => None,
        }
    }
}

/// What one sample costs one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    /// In user space, over all threads.
    pub(crate) instructions: u64,
    /// Accesses that miss the first-level data cache, in callgrind's model of one ([`CACHE`]).
    #[serde(default)]
    pub(crate) cache_misses: u64,
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

/// What is counted: one exchange of a program that has both sides.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    pub(crate) program: &'a Path,
    pub(crate) payload: usize,
    pub(crate) samples: u64,
    pub(crate) way: Way,
}

impl Exchange<'_> {
    pub(crate) fn name(&self) -> String {
        match self.way {
            Way::Spaced => self.payload.to_string(),
            way => format!("{}-{}", way.name(), self.payload),
        }
    }
}

/// Counts one side while the other runs as usual.
pub(crate) fn measure(exchange: Exchange<'_>, side: Side) -> Result<Count> {
    let folder = tempfile::tempdir()?;
    let samples = exchange.samples;
    let (instructions, cache_misses) = instructions(exchange, side, folder.path())?;
    let calls = system_calls(exchange, side, folder.path())?;
    let by_kind: BTreeMap<String, f64> =
        calls.into_iter().map(|(name, count)| (name, count as f64 / samples as f64)).collect();
    let of_traffic = by_kind.iter().filter(|(name, _)| *name != "futex").map(|(_, count)| count);
    let system_calls = (of_traffic.sum::<f64>() * 100.0).round() / 100.0;
    let (instructions, cache_misses) = (instructions / samples, cache_misses / samples);
    Ok(Count { instructions, cache_misses, system_calls, by_kind })
}

/// The instructions between the two marks, and the misses of the data cache.
fn instructions(exchange: Exchange<'_>, side: Side, folder: &Path) -> Result<(u64, u64)> {
    let file = folder.join("callgrind");
    let (begin, end) = ("--zero-before=*marks::begin*", "--dump-before=*marks::end*");
    let counter = [&["valgrind", "--quiet", "--tool=callgrind", begin, end], &CACHE[..]].concat();
    run(exchange, side, &counter, &format!("--callgrind-out-file={}", file.display()))?;
    let text = std::fs::read_to_string(folder.join("callgrind.1")).context("callgrind saw no mark")?;
    let line = |name| text.lines().find_map(|line| line.strip_prefix(name)).context("no totals");
    let (events, totals) = (line("events: ")?, line("totals: ")?);
    let count = |event: &str| -> Result<u64> {
        let at = events
            .split_whitespace()
            .position(|name| name == event)
            .context("callgrind counted something else")?;
        // Zeros at the end are left out.
        Ok(totals.split_whitespace().nth(at).unwrap_or("0").parse()?)
    };
    Ok((count("Ir")?, count("D1mr")? + count("D1mw")?))
}

/// The system calls between the two marks.
fn system_calls(exchange: Exchange<'_>, side: Side, folder: &Path) -> Result<BTreeMap<String, u64>> {
    let file = folder.join("strace");
    let counter = ["strace", "--follow-forks", "--quiet=all", "--signal=none", "--string-limit=0"];
    run(exchange, side, &counter, &format!("--output={}", file.display()))?;
    let text = std::fs::read_to_string(&file)?;
    let mut calls = BTreeMap::new();
    let names = || text.lines().filter_map(called);
    ensure!(names().filter(|name| *name == marks::CALL).count() >= 2, "strace saw no marks");
    let between =
        names().skip_while(|name| *name != marks::CALL).skip(1).take_while(|name| *name != marks::CALL);
    for name in between.filter(|name| !name.ends_with("nanosleep")) {
        *calls.entry(name.to_owned()).or_insert(0) += 1;
    }
    Ok(calls)
}

/// The call that a line of strace's reports; the end of one that was reported before is none.
fn called(line: &str) -> Option<&str> {
    let (_thread, call) = line.split_once(char::is_whitespace)?;
    let (name, _) = call.trim_start().split_once('(')?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(name)
}

/// Runs both sides, one of them under `counter`.
fn run(exchange: Exchange<'_>, side: Side, counter: &[&str], output: &str) -> Result<()> {
    let program = exchange.program.to_str().context("the path of the program is not text")?;
    // Another exchange on this machine is not met.
    let domain = (100 + std::process::id() % 100).to_string();
    let (payload, samples) = (exchange.payload.to_string(), exchange.samples.to_string());
    let workload = ["--domain", &domain, "--payload", &payload, "--samples", &samples];
    // Programs of others know of no ways.
    let way: &[&str] = if exchange.way == Way::Spaced { &[] } else { &["--way", exchange.way.name()] };
    let workload = [&workload[..], way].concat();
    let counted = side.name();
    let start_other =
        |other: Side| start(&[&[program, other.name()], &workload[..]].concat(), Stdio::inherit());
    let mut other = side.other().map(start_other).transpose()?;
    // Both counters talk of themselves; what they say matters if they fail.
    let mut said = tempfile::tempfile()?;
    let mut this =
        start(&[counter, &[output, program, counted], &workload[..]].concat(), said.try_clone()?.into())?;
    let ended = this.wait()?;
    if !ended.success() {
        _ = other.as_mut().map(Child::kill);
        said.rewind()?;
        std::io::copy(&mut said, &mut std::io::stderr())?;
    }
    let other = other.map(|mut other| other.wait()).transpose()?;
    ensure!(ended.success(), "{} of {counted} ended with {ended}", counter[0]);
    if let Some(other) = other {
        ensure!(other.success(), "the other side of {counted} ended with {other}");
    }
    Ok(())
}

/// How the C library copies and fills memory is the same on every processor: some have it do so with one instruction that
/// callgrind counts once for each byte.
const TUNABLES: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824",
);

fn start(command: &[&str], errors: Stdio) -> Result<Child> {
    let (program, arguments) = command.split_first().context("no program")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env(TUNABLES.0, TUNABLES.1)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    command.spawn().with_context(|| format!("cannot start {program}"))
}
