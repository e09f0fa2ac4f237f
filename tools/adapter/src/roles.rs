//! What each side of a measurement does with its endpoints, whatever the implementation.

use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::spread::Spread;
use crate::{OnPayload, Session, Write, clock};

/// Octets at the beginning of a payload that hold its number.
const NUMBER: usize = 8;
/// Octets that hold its number and when it was written.
const STAMPED: usize = 16;
/// So many delays are kept; later ones are counted only.
const MAX_DELAYS: usize = 4_000_000;
/// Payloads up to this many octets are small: at full speed the clock is read for some of them only, because reading it for
/// each would be a good part of what is measured.
const SMALL: usize = 1_024;
/// So many calls are not timed: they fill what lies between both sides, and return at once.
const FILLING: u64 = 8;
/// Small samples between two looks at the clock.
const LOOK_EVERY: u64 = 16;

/// The part of one process in a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writes a ping for every pong.
    Pinger,
    /// Writes back what arrives.
    Ponger,
    /// Writes as fast as it may, or at a rate.
    Source,
    /// Counts.
    Sink,
}

impl FromStr for Role {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "pinger" => Self::Pinger,
            "ponger" => Self::Ponger,
            "source" => Self::Source,
            "sink" => Self::Sink,
            _ => bail!("{text} is no role; there are pinger, ponger, source and sink"),
        })
    }
}

/// Measures round trips: each pong is followed by the next ping on the thread that received it.
pub(crate) struct Pinger {
    ping: Vec<u8>,
    state: Mutex<Round>,
    done: Condvar,
}

#[derive(Default)]
struct Round {
    /// Pings still to write, warm-up included.
    left: usize,
    warm_up: usize,
    by_turns: bool,
    written_at: u64,
    nanos: Vec<u64>,
    failure: Option<String>,
}

impl Pinger {
    pub(crate) fn new(ping: Vec<u8>) -> Self {
        Self { ping, state: Mutex::default(), done: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Round> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn on_payload(self: &Arc<Self>) -> OnPayload {
        let pinger = Arc::clone(self);
        Arc::new(move |_, write| {
            let now = clock::now();
            let mut round = pinger.lock();
            if round.left == 0 {
                return;
            }
            if round.warm_up > 0 {
                round.warm_up -= 1;
            } else {
                let nanos = now.saturating_sub(round.written_at);
                round.nanos.push(nanos);
            }
            round.left -= 1;
            if round.left == 0 || round.by_turns {
                pinger.done.notify_all();
                return;
            }
            round.written_at = clock::now();
            drop(round);
            if let Err(error) = write(&pinger.ping) {
                pinger.lock().failure = Some(format!("{error:#}"));
                pinger.done.notify_all();
            }
        })
    }

    /// Plays, and returns the nanoseconds of each round trip.
    pub(crate) fn play(&self, session: &dyn Session, game: Game) -> Result<Vec<u64>> {
        let Game { warm_up, count, patience, by_turns } = game;
        let nanos = Vec::with_capacity(count);
        *self.lock() = Round { left: warm_up + count, warm_up, by_turns, nanos, ..Round::default() };
        let mut first = true;
        let mut round = self.lock();
        while round.left > 0 && round.failure.is_none() {
            let before = round.left;
            if by_turns || std::mem::take(&mut first) {
                round.written_at = clock::now();
                drop(round);
                session.write(&self.ping)?;
                session.flush()?;
                round = self.lock();
            }
            if round.left == before {
                (round, _) = self.done.wait_timeout(round, patience).unwrap_or_else(PoisonError::into_inner);
            }
            if round.left == before {
                let left = std::mem::take(&mut round.left);
                bail!("a ping got no pong within {} ms, {left} were still to come", patience.as_millis());
            }
        }
        if let Some(failure) = round.failure.take() {
            bail!("writing a ping: {failure}");
        }
        Ok(std::mem::take(&mut round.nanos))
    }
}

/// How to play.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Game {
    pub(crate) warm_up: usize,
    pub(crate) count: usize,
    /// How long a ping may stay without its pong.
    pub(crate) patience: Duration,
    /// The thread that plays writes every ping: an implementation that delivers within a process on the thread that
    /// writes would otherwise call itself ever deeper.
    pub(crate) by_turns: bool,
}

/// Writes back what arrives, or so many octets if that is less.
pub(crate) fn ponger(octets: usize) -> OnPayload {
    Arc::new(move |payload, write: Write<'_>| {
        if let Err(error) = write(payload.get(..octets).unwrap_or(payload)) {
            dunlin_program::tell!("writing a pong: {error:#}");
        }
    })
}

/// What a sink has seen since it was asked last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) samples: u64,
    pub(crate) octets: u64,
    /// Samples whose number was not one more than the highest before.
    pub(crate) out_of_order: u64,
    next: u64,
    first: u64,
    last: u64,
    pub(crate) delays: Vec<u64>,
}

impl Seen {
    /// Nanoseconds between the first and the last sample.
    pub(crate) fn nanos(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }

    fn add(&mut self, payload: &[u8]) {
        self.last = clock::now();
        if self.samples == 0 {
            self.first = self.last;
        }
        self.samples += 1;
        self.octets += payload.len() as u64;
        if let Some(number) = word(payload, 0) {
            self.out_of_order += u64::from(number != self.next);
            self.next = number + 1;
        }
        let written = word(payload, NUMBER).filter(|written| *written > 0);
        if let Some(written) = written.filter(|_| self.delays.len() < MAX_DELAYS) {
            self.delays.push(self.last.saturating_sub(written));
        }
    }
}

fn word(payload: &[u8], at: usize) -> Option<u64> {
    let octets = payload.get(at..at + 8)?;
    octets.try_into().ok().map(u64::from_le_bytes)
}

/// Counts what arrives.
#[derive(Default)]
pub(crate) struct Sink(Mutex<Seen>);

impl Sink {
    pub(crate) fn on_payload(self: &Arc<Self>) -> OnPayload {
        let sink = Arc::clone(self);
        Arc::new(move |payload, _| sink.0.lock().unwrap_or_else(PoisonError::into_inner).add(payload))
    }

    /// What was seen since the last call with `reset`; without it, the delays are left out, as copying them would hold up the
    /// one who counts.
    pub(crate) fn seen(&self, reset: bool) -> Seen {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reset { std::mem::take(&mut seen) } else { Seen { delays: Vec::new(), ..*seen } }
    }
}

/// How much a source writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blast {
    pub(crate) payload: usize,
    /// Samples per second; 0 for as fast as the implementation takes them.
    pub(crate) rate: u64,
    pub(crate) time: Duration,
    /// Samples at most.
    pub(crate) count: u64,
    /// Whether the time between samples is random (exponential, as independent events have it).
    pub(crate) by_chance: bool,
    /// Whether it sleeps until a sample is due, late by what the kernel's timers are, and does not look at the clock at the end.
    pub(crate) sleeps: bool,
}

/// What a source did: samples written, how many the implementation refused, and for how long it wrote; of samples that are
/// not small, also how long each call took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) samples: u64,
    pub(crate) refused: u64,
    pub(crate) nanos: u64,
    /// Samples that were written later than they were due, by more than [`CLOSE`]: calls before them took too long.
    pub(crate) late: u64,
    pub(crate) calls: Spread,
}

/// Writes numbered samples; at a rate, with the time. A sample that was due while the call before it went on carries the time
/// when it was due: otherwise nobody would see what waits where an implementation holds its writer up (coordinated omission).
pub(crate) fn blast(session: &dyn Session, blast: Blast) -> Result<Written> {
    let mut payload = vec![0_u8; blast.payload];
    let mut written = Written::default();
    let mut dues = Dues::new(blast.rate, blast.by_chance);
    let look_every = if blast.rate == 0 && blast.payload <= SMALL { LOOK_EVERY } else { 1 };
    let (begin, origin) = (Instant::now(), clock::now());
    while written.samples < blast.count
        && (!written.samples.is_multiple_of(look_every) || begin.elapsed() < blast.time)
    {
        let mut stamp = None;
        if let Some(due) = dues.next() {
            if due >= blast.time {
                break;
            }
            let behind = begin.elapsed().saturating_sub(due);
            if behind.is_zero() {
                wait_until(begin + due, if blast.sleeps { Duration::ZERO } else { CLOSE });
            } else {
                written.late += u64::from(behind > CLOSE);
                stamp = Some(origin.saturating_add(u64::try_from(due.as_nanos()).unwrap_or(u64::MAX)));
            }
        }
        if let Some(number) = payload.get_mut(..NUMBER) {
            number.copy_from_slice(&written.samples.to_le_bytes());
        }
        if let Some(place) = payload.get_mut(NUMBER..STAMPED).filter(|_| blast.rate > 0) {
            place.copy_from_slice(&stamp.unwrap_or_else(clock::now).to_le_bytes());
        }
        let begun = if blast.payload > SMALL { clock::now() } else { 0 };
        if let Err(error) = session.write_own(&mut payload) {
            written.refused += 1;
            if written.refused > 100 {
                return Err(error.context("more than 100 writes were refused"));
            }
        } else {
            written.samples += 1;
            if blast.payload > SMALL && written.samples > FILLING {
                written.calls.add(clock::now().saturating_sub(begun));
            }
        }
    }
    session.flush()?;
    written.nanos = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(written)
}

/// When samples are due, from the beginning; never without a rate.
struct Dues {
    gap: f64,
    by_chance: bool,
    seconds: f64,
    state: u64,
}

impl Dues {
    fn new(rate: u64, by_chance: bool) -> Self {
        let gap = if rate == 0 { 0.0 } else { 1.0 / rate as f64 };
        // The same sequence for every implementation.
        Self { gap, by_chance, seconds: 0.0, state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Above 0, at most 1.
    fn chance(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A number of exponential distribution with mean 1, from comparisons alone (von Neumann, 1951): a logarithm would map
    /// the C library's mathematics, 0.3 MB, into every process that is measured.
    fn exponential(&mut self) -> f64 {
        let mut whole = 0.0;
        loop {
            let first = self.chance();
            let (mut last, mut odd) = (first, true);
            loop {
                let next = self.chance();
                if next > last {
                    break;
                }
                (last, odd) = (next, !odd);
            }
            if odd {
                return whole + first;
            }
            whole += 1.0;
        }
    }
}

impl Iterator for Dues {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.gap == 0.0 {
            return None;
        }
        let due = Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::MAX);
        self.seconds += if self.by_chance { self.exponential() * self.gap } else { self.gap };
        Some(due)
    }
}

/// So long before a moment a sleep ends.
const CLOSE: Duration = Duration::from_micros(100);

/// Sleeps to shortly before a moment and looks at the clock for the rest.
fn wait_until(at: Instant, close: Duration) {
    loop {
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > close { std::thread::park_timeout(left - close) } else { std::hint::spin_loop() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_counts_what_is_out_of_order() {
        let mut seen = Seen::default();
        for number in [0_u64, 1, 3, 4, 2] {
            let mut payload = [0_u8; 24];
            payload[..8].copy_from_slice(&number.to_le_bytes());
            // The first has no time, as samples without a rate.
            payload[8..16].copy_from_slice(&number.to_le_bytes());
            seen.add(&payload);
        }
        assert_eq!((seen.samples, seen.octets, seen.out_of_order, seen.delays.len()), (5, 120, 2, 4));
        seen.add(&[1, 2, 3]);
        assert_eq!((seen.samples, seen.delays.len()), (6, 4), "too short for a number");
    }

    /// Holds its writer up once, and remembers what every sample carries and when it was written.
    struct Stubborn {
        held: u64,
        seen: Mutex<Vec<(u64, u64)>>,
    }

    impl Session for Stubborn {
        fn matched(&self) -> usize {
            1
        }

        fn write(&self, payload: &[u8]) -> Result<()> {
            let (number, now) = (word(payload, 0).unwrap(), clock::now());
            self.seen.lock().unwrap().push((word(payload, NUMBER).unwrap(), now));
            while number == 3 && clock::now() < now + self.held {
                std::hint::spin_loop();
            }
            Ok(())
        }
    }

    #[test]
    fn latency_of_delayed_writes_counts_from_their_due_time() {
        let held = 20_000_000;
        let stubborn = Stubborn { held, seen: Mutex::default() };
        let time = Duration::from_secs(60);
        let plan = Blast { payload: 16, rate: 1_000, time, count: 40, by_chance: false, sleeps: false };
        let written = blast(&stubborn, plan).unwrap();
        let seen = stubborn.seen.into_inner().unwrap();
        // Those of the next 20 ms were due while the fourth was written.
        let waited: Vec<u64> = seen.iter().map(|(stamp, now)| now.saturating_sub(*stamp)).collect();
        assert!(waited[4] > held / 2 && waited[8] > held / 4, "{waited:?}");
        assert!(written.late >= 10 && written.samples == 40, "{written:?}");
    }

    /// A program in C++ with what adapters in C++ are made of; nothing where there is no compiler.
    fn built(text: &str, folder: &std::path::Path) -> Option<std::process::Command> {
        let (source, program) = (folder.join("a.cpp"), folder.join("a"));
        std::fs::write(&source, format!("#include \"adapter.hpp\"\n{text}")).unwrap();
        let headers = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/peers");
        let mut compiler = std::process::Command::new("g++");
        compiler.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", headers]);
        let Ok(output) = compiler.arg(&source).arg("-o").arg(&program).output() else {
            dunlin_notes::skipped("there is no g++", "apt-get install g++");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(std::process::Command::new(program))
    }

    /// Implementations in both languages are compared, so that they get the same moments.
    #[test]
    fn adapters_in_cpp_write_at_the_same_moments() {
        let folder = tempfile::tempdir().unwrap();
        let text = "int main() { bench::Dues dues(20, true);\n\
                    for (int n = 0; n < 2000; ++n) std::cout << dues.next() << '\\n'; }";
        let Some(mut program) = built(text, folder.path()) else { return };
        let theirs = String::from_utf8(program.output().unwrap().stdout).unwrap();
        let theirs: Vec<u64> = theirs.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(theirs.len(), 2_000);
        for (ours, theirs) in Dues::new(20, true).zip(theirs) {
            assert!(ours.as_nanos().abs_diff(theirs.into()) <= 1, "{ours:?} {theirs}");
        }
    }

    #[test]
    fn adapters_in_cpp_count_what_was_due_while_a_write_went_on() {
        let folder = tempfile::tempdir().unwrap();
        let text = "struct Stubborn : bench::Session {
              size_t matched() override { return 1; }
              void write(const uint8_t *payload, size_t) override {
                uint64_t number, stamp; std::memcpy(&number, payload, 8); std::memcpy(&stamp, payload + 8, 8);
                const uint64_t begin = bench::now();
                std::cerr << (begin > stamp ? begin - stamp : 0) << '\\n';
                while (number == 3 && bench::now() < begin + 20000000) {}
              } };
            int main() { bench::Implementation it;
              it.open = [](const bench::Open &, bench::OnPayload) { return std::make_unique<Stubborn>(); };
              return bench::serve(std::move(it)); }";
        let Some(mut program) = built(text, folder.path()) else { return };
        let input = folder.path().join("commands");
        std::fs::write(
            &input,
            "open role=source domain=0 topics=1 payload=16 reliable=1 keep_last=0\n\
             blast millis=60000 count=40 rate=1000 by_chance=0\nclose\n",
        )
        .unwrap();
        let output = program.stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
        let (said, waited) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let sent: crate::Line = said.lines().nth(1).unwrap().parse().unwrap();
        assert!(sent.get::<u64>("late").unwrap() >= 10, "{said}");
        let waited: Vec<u64> = waited.lines().map(|line| line.parse().unwrap()).collect();
        assert!(waited[4] > 10_000_000 && waited[8] > 5_000_000, "{waited:?}");
    }

    #[test]
    fn samples_are_due_at_the_rate_also_by_chance() {
        assert_eq!(Dues::new(0, true).next(), None);
        let even: Vec<Duration> = Dues::new(100, false).take(3).collect();
        assert_eq!(even, [0, 10, 20].map(Duration::from_millis));
        let by_chance: Vec<Duration> = Dues::new(100, true).take(10_001).collect();
        let mean = by_chance[10_000].as_secs_f64() / 10_000.0;
        assert!((0.0095..0.0105).contains(&mean), "{mean}");
        assert!(by_chance.windows(2).any(|pair| pair[1] - pair[0] > Duration::from_millis(30)));
    }
}
