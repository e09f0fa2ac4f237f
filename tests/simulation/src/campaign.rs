//! Many seeds, on all processors, with a bar, and again from where it stopped.

use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use dunlin_sim::commit;

use crate::minimise::{Judge, judge_seed};
use crate::scenario::Switches;

/// After so many failures a campaign has shown enough.
const MAX_FAILURES: usize = 50;
/// How often the state is kept and the bar moves.
const INTERVAL: Duration = Duration::from_millis(500);
/// How often a line says how far it is where there is no terminal for a bar.
const LINES: Duration = Duration::from_secs(60);

/// What a campaign is to do.
#[derive(Args)]
pub struct Options {
    /// How many seeds
    #[arg(long, default_value_t = 400)]
    seeds: u64,
    /// The first one
    #[arg(long, default_value_t = 1)]
    first: u64,
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

/// The line that runs one seed alone.
#[must_use]
pub fn command(seed: u64, off: &Switches) -> String {
    let off = off.to_string();
    let off = if off.is_empty() { off } else { format!(" --off {off}") };
    format!("cargo run --release -p dunlin-simulation -- run {seed}{off}")
}

/// How far a campaign is.
struct State {
    commit: String,
    /// All seeds below this one are done.
    next: u64,
    /// Done, and not below.
    ahead: BTreeSet<u64>,
    failed: BTreeSet<u64>,
}

impl State {
    /// Goes on with what is noted of the same sources; what others have shown says nothing.
    fn load(options: &Options, commit: &str) -> Self {
        let fresh = Self {
            commit: commit.into(),
            next: options.first,
            ahead: BTreeSet::new(),
            failed: BTreeSet::new(),
        };
        let Some(text) = options.state.as_ref().and_then(|path| fs::read_to_string(path).ok()) else {
            return fresh;
        };
        let mut lines = text.lines();
        let same = lines.next() == Some(&format!("{commit} {} {}", options.first, options.off));
        let next = lines.next().and_then(|line| line.parse().ok());
        let (true, Some(next)) = (same, next) else { return fresh };
        let failed = lines.next().unwrap_or("").split_whitespace().filter_map(|seed| seed.parse().ok());
        Self { next, failed: failed.collect(), ..fresh }
    }

    fn save(&self, path: &Path, options: &Options) {
        let failed: Vec<String> = self.failed.iter().map(u64::to_string).collect();
        let text = format!(
            "{} {} {}\n{}\n{}\n",
            self.commit,
            options.first,
            options.off,
            self.next,
            failed.join(" ")
        );
        if let Some(folder) = path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        // All or nothing: it may be interrupted here, too.
        let fresh = path.with_extension("new");
        if let Err(error) = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, path)) {
            eprintln!("cannot write {}: {error}", path.display());
        }
    }

    fn done(&mut self, seed: u64) {
        self.ahead.insert(seed);
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
    }

    fn count(&self, first: u64) -> u64 {
        self.next - first + self.ahead.len() as u64
    }
}

/// Runs the seeds and prints what fails; whether nothing does.
pub fn campaign(options: &Options, judge: Judge<'_>, out: &mut (dyn Write + Send)) -> bool {
    let commit = commit();
    let state = State::load(options, &commit);
    let end = options.first + options.seeds;
    let next = AtomicU64::new(state.next);
    let begun = state.count(options.first);
    if let (true, Some(path)) = (begun >= options.seeds, &options.state) {
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
            (0..jobs).map(|_| scope.spawn(|| work(options, judge, end, &next, &shared, &stop))).collect();
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::park_timeout(INTERVAL);
            if options.seconds.is_some_and(|seconds| start.elapsed().as_secs() >= seconds) {
                stop.store(true, Ordering::Relaxed);
            }
            if let Ok(Shared { state, .. }) = shared.lock().as_deref() {
                bar(state, options, begun, start, &mut last_line);
                options.state.iter().for_each(|path| state.save(path, options));
            }
        }
    });
    let Ok(Shared { state, out }) = shared.into_inner() else { return false };
    options.state.iter().for_each(|path| state.save(path, options));
    conclude(&state, options, begun, start, out)
}

/// What the threads of a campaign have in common.
struct Shared<'a> {
    state: State,
    out: &'a mut (dyn Write + Send),
}

fn work(
    options: &Options,
    judge: Judge<'_>,
    end: u64,
    next: &AtomicU64,
    shared: &Mutex<Shared<'_>>,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        let result = judge_seed(seed, &options.off, judge);
        let Ok(mut shared) = shared.lock() else { return };
        let Shared { state, out } = &mut *shared;
        state.done(seed);
        if let Err(failure) = result {
            state.failed.insert(seed);
            let commit = &state.commit;
            let first = failure.violations.first().map_or(String::new(), ToString::to_string);
            let _ = writeln!(
                out,
                "\rseed {seed} fails at commit {commit}: {first}\n  repeat it: {}",
                command(seed, &options.off)
            );
            if options.stop || state.failed.len() >= MAX_FAILURES {
                stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// What there is to tell while it goes on.
fn progress(state: &State, options: &Options, begun: u64, start: Instant) -> String {
    let done = state.count(options.first);
    let percent = 100 * done / options.seeds.max(1);
    let rate = (done - begun) as f64 / start.elapsed().as_secs_f64().max(0.001);
    let left = (options.seeds - done.min(options.seeds)) as f64 / rate.max(0.001);
    let (minutes, seconds) = (left as u64 / 60, left as u64 % 60);
    let failed = state.failed.len();
    format!(
        "{percent:3} % {done}/{} seeds, {rate:.0} seeds/s, {minutes}:{seconds:02} left, {failed} failed",
        options.seeds
    )
}

/// Draws the bar on a terminal; elsewhere a line now and then does.
fn bar(state: &State, options: &Options, begun: u64, start: Instant, last_line: &mut Instant) {
    let text = progress(state, options, begun, start);
    if std::io::stderr().is_terminal() {
        let width = 30 * state.count(options.first) / options.seeds.max(1);
        let filled: String = (0..30).map(|at| if at < width { '#' } else { '.' }).collect();
        eprint!("\r[{filled}] {text} ");
        let _ = std::io::stderr().flush();
    } else if last_line.elapsed() >= LINES {
        *last_line = Instant::now();
        eprintln!("{text}");
    }
}

fn conclude(state: &State, options: &Options, begun: u64, start: Instant, out: &mut dyn Write) -> bool {
    let done = state.count(options.first);
    let seconds = start.elapsed().as_secs_f64();
    let each = seconds * 1_000.0 / ((done - begun).max(1) as f64);
    let _ = writeln!(
        out,
        "\r{done} of {} seeds done at commit {}, {each:.1} ms each now",
        options.seeds, state.commit
    );
    if state.failed.is_empty() {
        let _ = writeln!(out, "none fails");
        return true;
    }
    let failed: Vec<String> = state.failed.iter().map(u64::to_string).collect();
    let _ = writeln!(out, "{} fail: {}", failed.len(), failed.join(" "));
    false
}
