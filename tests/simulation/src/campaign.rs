//! Many seeds, on all processors, with a bar, and again from where it stopped.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use dunlin_sim::commit;

use crate::failure::Failure;
use crate::generate::{NEAR, NEWEST};
use crate::known;
use crate::minimise::{Judge, judge_seed};
use crate::scenario::Switches;
use crate::seed::{Asked, Seed, parse_generation};

/// After so many failures a campaign has shown enough.
const MAX_FAILURES: usize = 50;
/// How often the state is kept and the bar moves.
const INTERVAL: Duration = Duration::from_millis(500);
/// How often a line says how far it is where there is no terminal for a bar.
const LINES: Duration = Duration::from_secs(60);

/// Fresh seeds, unless it is said how many.
const FRESH: u64 = 2_000;
/// One in so many of them is of the first generation: its scenarios are smaller, so that what is rare in them stands out.
const FIRST_OF_ALL: u64 = 4;
/// Seeds from here on are fresh ones; those of one state of the sources begin at a multiple of [`FRESH_STEP`] above it.
const FRESH_FROM: u64 = 1_000_000_000_000;
const FRESH_STEP: u64 = 100_000;

/// What a campaign is to do.
#[derive(Args)]
pub struct Options {
    /// How many seeds [default: 400, of fresh ones 2000]
    #[arg(long)]
    seeds: Option<u64>,
    /// The first one, as in `1:4711`, or a bare number of the newest generation
    #[arg(long, default_value = "1")]
    first: Asked,
    /// The generation of a bare number
    #[arg(long, value_parser = parse_generation)]
    generation: Option<u32>,
    /// Before them all seeds that have ever failed
    #[arg(long)]
    known: bool,
    /// Seeds that nobody has run, a quarter of them of generation 1: which ones follows from the commit and what the sources
    /// differ by
    #[arg(long, conflicts_with_all = ["first", "state"])]
    fresh: bool,
    /// With others who speak in the name of nodes, also from their addresses and ports, and nodes that name somebody else's place
    #[arg(long)]
    hostile: bool,
    /// With discovery servers, or with daemons of hosts
    #[arg(long, conflicts_with = "hostile")]
    architectures: bool,
    /// Threads; 0 takes all processors
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Ends after the first failure
    #[arg(long)]
    stop: bool,
    /// Seconds after which it stops and keeps what it has done
    #[arg(long)]
    seconds: Option<u64>,
    /// Where it notes how far it got; without it, every campaign begins anew
    #[arg(long)]
    state: Option<PathBuf>,
    /// What to leave out of every scenario
    #[arg(long, default_value = "")]
    off: Switches,
}

/// The start of every line that repeats something.
const PROGRAM: &str = "cargo run --release -p dunlin-simulation --";

/// The line that runs one seed alone.
#[must_use]
pub fn command(seed: Seed, off: &Switches) -> String {
    format!("{PROGRAM} run {seed}{}", without(off))
}

fn without(off: &Switches) -> String {
    let off = off.to_string();
    if off.is_empty() { off } else { format!(" --off {off}") }
}

/// Which seeds are run.
enum Seeds {
    From(Seed, u64),
    These(Vec<Seed>),
}

impl Seeds {
    fn count(&self) -> u64 {
        match self {
            Self::From(_, count) => *count,
            Self::These(seeds) => seeds.len() as u64,
        }
    }

    fn get(&self, index: u64) -> Option<Seed> {
        match self {
            Self::From(first, count) => (index < *count).then(|| first.with(first.number + index)),
            Self::These(seeds) => seeds.get(usize::try_from(index).ok()?).copied(),
        }
    }
}

/// Where fresh seeds begin, and what that follows from: the state of the sources, or the clock where that is not known.
fn fresh(commit: &str) -> (u64, String) {
    let (salt, name) = match commit {
        "unknown" => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            (format!("{now:?}"), "the clock, as there is no git".to_owned())
        }
        commit => (commit.to_owned(), format!("commit {commit}")),
    };
    let mut hasher = DefaultHasher::new();
    salt.hash(&mut hasher);
    (FRESH_FROM + hasher.finish() % FRESH_FROM / FRESH_STEP * FRESH_STEP, name)
}

/// How far a campaign is.
struct State {
    commit: String,
    /// So many of the first are done.
    next: u64,
    /// Done, and not among them.
    ahead: BTreeSet<u64>,
    failed: BTreeSet<Seed>,
}

impl State {
    fn new(commit: &str) -> Self {
        Self { commit: commit.into(), next: 0, ahead: BTreeSet::new(), failed: BTreeSet::new() }
    }

    /// What is to be done: what others have done says nothing about it.
    fn head(&self, options: &Options, first: Seed) -> String {
        format!("{} {first} {}", self.commit, options.off)
    }

    /// Goes on with what is noted of the same sources.
    fn load(options: &Options, first: Seed, commit: &str) -> Self {
        let fresh = Self::new(commit);
        let Some(text) = options.state.as_ref().and_then(|path| fs::read_to_string(path).ok()) else {
            return fresh;
        };
        let mut lines = text.lines();
        let same = lines.next() == Some(&fresh.head(options, first));
        let next = lines.next().and_then(|line| line.parse().ok());
        let (true, Some(next)) = (same, next) else { return fresh };
        let failed = lines.next().unwrap_or("").split_whitespace().filter_map(|seed| seed.parse().ok());
        Self { next, failed: failed.collect(), ..fresh }
    }

    fn save(&self, path: &Path, options: &Options, first: Seed) {
        let failed: Vec<String> = self.failed.iter().map(Seed::to_string).collect();
        let text = format!("{}\n{}\n{}\n", self.head(options, first), self.next, failed.join(" "));
        if let Some(folder) = path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        // All or nothing: it may be interrupted here, too.
        let fresh = path.with_extension("new");
        if let Err(error) = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, path)) {
            eprintln!("cannot write {}: {error}", path.display());
        }
    }

    fn done(&mut self, index: u64) {
        self.ahead.insert(index);
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
    }

    fn count(&self) -> u64 {
        self.next + self.ahead.len() as u64
    }
}

/// Runs what was asked for and prints what fails; whether nothing does.
pub fn campaign(options: &Options, judge: Judge<'_>, out: &mut (dyn Write + Send)) -> bool {
    let commit = commit();
    let known = !options.known || run_known(options, judge, &commit, out);
    if !known && options.stop {
        return false;
    }
    if options.fresh {
        return run_fresh(options, judge, &commit, out) && known;
    }
    let first = hostile(options, options.first.of(options.generation));
    let seeds = Seeds::From(first, options.seeds.unwrap_or(400));
    run_all(options, &seeds, options.state.as_deref(), judge, &commit, out) && known
}

/// Runs seeds that nobody has run, of the generation that is asked for, else of the newest one and some of the first.
fn run_fresh(options: &Options, judge: Judge<'_>, commit: &str, out: &mut (dyn Write + Send)) -> bool {
    let (number, name) = fresh(commit);
    let count = options.seeds.unwrap_or(FRESH);
    let parts = match options.generation {
        Some(generation) => vec![(generation, count)],
        None => vec![(NEWEST, count - count / FIRST_OF_ALL), (1, count / FIRST_OF_ALL)],
    };
    let mut holds = true;
    for (generation, count) in parts.into_iter().filter(|(_, count)| *count > 0) {
        let first = hostile(options, Seed { generation, number });
        let _ = writeln!(
            out,
            "{count} fresh seeds from {first} on, which follows from {name}; to run them again:\n  {PROGRAM} campaign --first {first} --seeds {count}{}",
            without(&options.off)
        );
        holds &= run_all(options, &Seeds::From(first, count), None, judge, commit, out);
        if !holds && options.stop {
            break;
        }
    }
    holds
}

/// The seed with hostile participants, or of another architecture, if that is wanted.
fn hostile(options: &Options, first: Seed) -> Seed {
    let from = match options {
        Options { hostile: true, .. } => NEAR,
        Options { architectures: true, .. } => crate::generate::ARCHITECTURES,
        _ => 0,
    };
    first.with(from + first.number)
}

/// Runs the seeds that have ever failed.
fn run_known(options: &Options, judge: Judge<'_>, commit: &str, out: &mut (dyn Write + Send)) -> bool {
    let seeds = match known::failed() {
        Ok(known) => Seeds::These(known.into_iter().map(|known| known.seed).collect()),
        Err(error) => {
            let _ = writeln!(out, "failed_seeds.txt: {error:#}");
            return false;
        }
    };
    let _ = writeln!(out, "{} seeds that have failed before:", seeds.count());
    run_all(options, &seeds, None, judge, commit, out)
}

/// Runs some seeds on all processors, and notes how far it got.
fn run_all(
    options: &Options,
    seeds: &Seeds,
    notes: Option<&Path>,
    judge: Judge<'_>,
    commit: &str,
    out: &mut (dyn Write + Send),
) -> bool {
    let first = seeds.get(0).unwrap_or(Seed::from(0));
    let state = notes.map_or_else(|| State::new(commit), |_| State::load(options, first, commit));
    let next = AtomicU64::new(state.next);
    let begun = state.count();
    if let (true, Some(path)) = (begun >= seeds.count(), notes) {
        let path = path.display();
        let _ = writeln!(out, "all of it was done before; to repeat it delete {path}");
    }
    let shared = Mutex::new(Shared { state, out });
    let stop = AtomicBool::new(false);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let jobs = if options.jobs == 0 { cores } else { options.jobs };
    let start = Instant::now();
    let mut last_line = start;
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..jobs).map(|_| scope.spawn(|| work(options, judge, seeds, &next, &shared, &stop))).collect();
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::park_timeout(INTERVAL);
            if options.seconds.is_some_and(|seconds| start.elapsed().as_secs() >= seconds) {
                stop.store(true, Ordering::Relaxed);
            }
            if let Ok(Shared { state, .. }) = shared.lock().as_deref() {
                bar(state, seeds.count(), begun, start, &mut last_line);
                notes.iter().for_each(|path| state.save(path, options, first));
            }
        }
    });
    let Ok(Shared { state, out }) = shared.into_inner() else { return false };
    notes.iter().for_each(|path| state.save(path, options, first));
    conclude(&state, seeds.count(), begun, start, out)
}

/// What the threads of a campaign have in common.
struct Shared<'a> {
    state: State,
    out: &'a mut (dyn Write + Send),
}

fn work(
    options: &Options,
    judge: Judge<'_>,
    seeds: &Seeds,
    next: &AtomicU64,
    shared: &Mutex<Shared<'_>>,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(seed) = seeds.get(index) else { return };
        let result = judge_seed(seed, &options.off, judge);
        let Ok(mut shared) = shared.lock() else { return };
        let Shared { state, out } = &mut *shared;
        state.done(index);
        if let Err(failure) = result {
            state.failed.insert(seed);
            tell(seed, &failure, &options.off, &state.commit, *out);
            if options.stop || state.failed.len() >= MAX_FAILURES {
                stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Prints a failure, and what can be done with it.
fn tell(seed: Seed, failure: &Failure, off: &Switches, commit: &str, out: &mut dyn Write) {
    let first = failure.violations.first().map_or(String::new(), ToString::to_string);
    let _ = writeln!(out, "\rseed {seed} fails at commit {commit}: {first}");
    let _ = writeln!(out, "  repeat it: {}", command(seed, off));
    let _ = writeln!(out, "  minimise it: {PROGRAM} minimise {seed}{}", without(off));
    let listed = known::failed().is_ok_and(|all| all.iter().any(|known| known.seed == seed));
    if !listed && *off == Switches::default() {
        let line = known::line(seed, commit, failure.kind());
        let _ = writeln!(out, "  keep it in tests/simulation/failed_seeds.txt: {line}");
    }
}

/// What there is to tell while it goes on.
fn progress(state: &State, all: u64, begun: u64, start: Instant) -> String {
    let done = state.count();
    let percent = 100 * done / all.max(1);
    let rate = (done - begun) as f64 / start.elapsed().as_secs_f64().max(0.001);
    let left = (all - done.min(all)) as f64 / rate.max(0.001);
    let (minutes, seconds) = (left as u64 / 60, left as u64 % 60);
    let failed = state.failed.len();
    format!(
        "{percent:3} % {done}/{all} seeds, {rate:.0} seeds/s, {minutes}:{seconds:02} left, {failed} failed"
    )
}

/// Draws the bar on a terminal; elsewhere a line now and then does.
fn bar(state: &State, all: u64, begun: u64, start: Instant, last_line: &mut Instant) {
    let text = progress(state, all, begun, start);
    if std::io::stderr().is_terminal() {
        let width = 30 * state.count() / all.max(1);
        let filled: String = (0..30).map(|at| if at < width { '#' } else { '.' }).collect();
        eprint!("\r[{filled}] {text} ");
        let _ = std::io::stderr().flush();
    } else if last_line.elapsed() >= LINES {
        *last_line = Instant::now();
        eprintln!("{text}");
    }
}

fn conclude(state: &State, all: u64, begun: u64, start: Instant, out: &mut dyn Write) -> bool {
    let done = state.count();
    let seconds = start.elapsed().as_secs_f64();
    let each = seconds * 1_000.0 / ((done - begun).max(1) as f64);
    let _ = writeln!(out, "\r{done} of {all} seeds done at commit {}, {each:.1} ms each now", state.commit);
    if state.failed.is_empty() {
        let _ = writeln!(out, "none fails");
        return true;
    }
    let failed: Vec<String> = state.failed.iter().map(Seed::to_string).collect();
    let _ = writeln!(out, "{} fail: {}", failed.len(), failed.join(" "));
    false
}
