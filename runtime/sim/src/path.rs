//! The way from one node to another: what it is like, and what happens to each datagram on it.

use dunlin_core::{Duration, MonoTime, Rng, defaults};

use crate::traffic::NetworkStats;

const MILLION: u64 = 1_000_000;
/// Octets of a header of UDP, which of several frames the first has, and of those of Ethernet and IP, which each has.
const HEADER: usize = 8;
const FRAME: usize = 34;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// What the way from one node to another does to datagrams. Shares are in parts per million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathConfig {
    /// Time on the way.
    pub delay: Delay,
    /// Lost, each on its own.
    pub loss_ppm: u32,
    /// Lost many at a time.
    pub burst: Option<Burst>,
    /// Delivered twice.
    pub duplicate_ppm: u32,
    /// Held back, so that later ones overtake them; all others arrive in the order of sending.
    pub reorder_ppm: u32,
    /// How long those are held back at most.
    pub reorder_by: Duration,
    /// Delivered with one to four bits flipped, as if no checksum had noticed.
    pub corrupt_ppm: u32,
    /// Octets per second; without limit if `None`.
    pub rate: Option<u64>,
    /// Octets that may wait because of `rate`; what comes on top is lost.
    pub queue: u64,
    /// Octets of the longest datagram that passes; longer ones are lost.
    pub mtu: usize,
    /// Longer ones go in several frames instead, as IP sends them, and are lost with any of those.
    pub in_frames: bool,
}

impl Default for PathConfig {
    /// A good local network: 50 µs, no faults.
    fn default() -> Self {
        Self {
            delay: Delay::Fixed(Duration::from_micros(50)),
            loss_ppm: 0,
            burst: None,
            duplicate_ppm: 0,
            reorder_ppm: 0,
            reorder_by: Duration::from_millis(2),
            corrupt_ppm: 0,
            rate: None,
            queue: 256 * 1024,
            mtu: defaults::LARGEST_DATAGRAM,
            in_frames: false,
        }
    }
}

/// How long datagrams are on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delay {
    /// All the same.
    Fixed(Duration),
    /// Anything from the first to the second, evenly.
    Uniform(Duration, Duration),
    /// The first, and on top of it exponentially distributed with the second as mean: a long tail, cut at ten
    /// means.
    Tail(Duration, Duration),
}

/// Loss in bursts, after Gilbert and Elliott: the path is good until it turns bad, and bad until it turns good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Chance to turn bad, with each datagram while good.
    pub begin_ppm: u32,
    /// Chance to turn good, with each datagram while bad; its inverse is the mean length in datagrams.
    pub end_ppm: u32,
    /// Share lost while bad.
    pub loss_ppm: u32,
}

pub(crate) fn chance(rng: &mut Rng, ppm: u32) -> bool {
    ppm > 0 && rng.chance(u64::from(ppm), MILLION)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(0)
}

impl Delay {
    fn draw(self, rng: &mut Rng) -> Duration {
        match self {
            Self::Fixed(delay) => delay,
            Self::Uniform(from, to) => {
                let span = nanos(to).saturating_sub(nanos(from));
                from_nanos(nanos(from).saturating_add(rng.below(span.saturating_add(1))))
            }
            Self::Tail(least, mean) => from_nanos(nanos(least).saturating_add(exponential(rng, nanos(mean)))),
        }
    }
}

fn from_nanos(nanos: u64) -> Duration {
    Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX - 1))
}

/// Exponentially distributed with this mean, in whole numbers so that every machine draws the same: a sum of
/// geometric steps of a sixteenth of the mean.
fn exponential(rng: &mut Rng, mean: u64) -> u64 {
    const STEPS: u64 = 16;
    let step = mean / STEPS;
    let mut steps = 0;
    while steps < 10 * STEPS && !rng.chance(1, STEPS) {
        steps += 1;
    }
    (steps * step).saturating_add(rng.below(step.saturating_add(1)))
}

/// What a path remembers from one datagram to the next.
#[derive(Debug, Default)]
pub(crate) struct PathState {
    bad: bool,
    busy_until: MonoTime,
    last_arrival: MonoTime,
}

impl PathState {
    /// When the copies of a datagram of `len` octets arrive; none if it is lost, two if it is duplicated.
    pub(crate) fn carry(
        &mut self,
        config: &PathConfig,
        now: MonoTime,
        len: usize,
        rng: &mut Rng,
        stats: &mut NetworkStats,
    ) -> [Option<MonoTime>; 2] {
        if len > config.mtu && !config.in_frames {
            stats.too_long += 1;
            return [None; 2];
        }
        let frames = (len + HEADER).div_ceil(config.mtu + HEADER).max(1);
        let Some(departure) = self.departure(config, now, len + (frames - 1) * FRAME) else {
            stats.queue_full += 1;
            return [None; 2];
        };
        if (0..frames).fold(false, |lost, _| self.loses(config, rng, stats) || lost) {
            stats.lost += 1;
            return [None; 2];
        }
        let first = self.arrival(config, departure, rng, stats);
        let second = chance(rng, config.duplicate_ppm).then(|| {
            stats.duplicated += 1;
            self.arrival(config, departure, rng, stats)
        });
        [Some(first), second]
    }

    /// When the last octet has left; `None` if the queue is full.
    fn departure(&mut self, config: &PathConfig, now: MonoTime, len: usize) -> Option<MonoTime> {
        let Some(rate) = config.rate else { return Some(now) };
        let rate = rate.max(1);
        let start = self.busy_until.max(now);
        let waiting = u128::from(nanos(start.since(now))) * u128::from(rate) / u128::from(NANOS_PER_SECOND);
        let len = len as u64;
        if waiting + u128::from(len) > u128::from(config.queue) {
            return None;
        }
        let takes = u128::from(len) * u128::from(NANOS_PER_SECOND) / u128::from(rate);
        self.busy_until = start.plus(from_nanos(u64::try_from(takes).unwrap_or(u64::MAX)));
        Some(self.busy_until)
    }

    fn loses(&mut self, config: &PathConfig, rng: &mut Rng, stats: &mut NetworkStats) -> bool {
        let in_burst = config.burst.is_some_and(|burst| {
            let turns = if self.bad { burst.end_ppm } else { burst.begin_ppm };
            self.bad ^= chance(rng, turns);
            self.bad && chance(rng, burst.loss_ppm)
        });
        stats.lost_in_bursts += u64::from(in_burst);
        in_burst || chance(rng, config.loss_ppm)
    }

    fn arrival(
        &mut self,
        config: &PathConfig,
        departure: MonoTime,
        rng: &mut Rng,
        stats: &mut NetworkStats,
    ) -> MonoTime {
        let arrival = departure.plus(config.delay.draw(rng)).max(self.last_arrival);
        if chance(rng, config.reorder_ppm) {
            stats.held_back += 1;
            return arrival.plus(from_nanos(rng.below(nanos(config.reorder_by).saturating_add(1))));
        }
        self.last_arrival = arrival;
        arrival
    }
}
