//! DDS 1.4 §2.2.3.8 LATENCY_BUDGET: how long new data may wait for more of it, so that several samples share a datagram
//! and several datagrams a system call.
//!
//! A writer with a budget lets every sample wait that long at most. Without one, samples leave at once, except in a
//! burst: when several were written in a row with hardly a pause, the next ones wait for each other, a moment at most.
//! Who writes after every answer makes no burst, because the answer takes longer than the pause of a burst. Where a
//! burst is presumed and nothing follows, the next presumption takes twice as much evidence.

use dunlin_core::{Duration, MonoTime};

use crate::WriterConfig;

/// A burst has no longer pause between the end of one write and the beginning of the next.
const LONGEST_PAUSE: Duration = Duration::from_micros(2);
/// So many writes in a row make a burst, until the presumption turns out wrong.
const EVIDENCE: u32 = 4;
/// The most evidence ever asked for.
const MOST_EVIDENCE: u32 = 1024;

/// The samples that wait, and what tells a burst.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    budget: Duration,
    burst_delay: Duration,
    suspended: bool,
    max_octets: usize,
    max_samples: usize,
    /// When the last write ended, as far as it is known.
    last: Option<MonoTime>,
    /// How many writes came right behind another.
    in_a_row: u32,
    evidence: u32,
    samples: usize,
    octets: usize,
    /// When the first one that waits was written.
    opened: MonoTime,
    /// When it has waited long enough.
    due: Option<MonoTime>,
}

impl Batch {
    pub(super) fn new(cfg: &WriterConfig) -> Self {
        Self {
            budget: cfg.latency_budget,
            burst_delay: cfg.burst_delay,
            suspended: false,
            max_octets: cfg.batch_octets,
            max_samples: cfg.batch_samples.max(1),
            last: None,
            in_a_row: 0,
            evidence: EVIDENCE,
            samples: 0,
            octets: 0,
            opened: MonoTime(0),
            due: None,
        }
    }

    /// A new budget. When what waits for the old one is to leave by the new one, if anything does.
    pub(super) fn set_budget(&mut self, budget: Duration) -> Option<MonoTime> {
        let before = core::mem::replace(&mut self.budget, budget);
        if self.suspended || before == Duration::ZERO || self.due.is_none() {
            return None;
        }
        self.due = Some(self.opened.plus(budget));
        self.due
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.suspended
    }

    pub(super) fn set_suspended(&mut self, suspended: bool) {
        self.suspended = suspended;
    }

    /// Whether samples leave at once unless they come in a burst.
    pub(super) fn is_at_once(&self) -> bool {
        !self.suspended && self.budget == Duration::ZERO
    }

    /// A sample of `len` octets was written. Until when it may wait; `None` if everything leaves now.
    pub(super) fn on_write(&mut self, now: MonoTime, len: usize) -> Option<MonoTime> {
        self.in_a_row = self.row_with(now);
        self.last = Some(now);
        let patience = self.patience()?;
        self.samples = self.samples.saturating_add(1);
        self.octets = self.octets.saturating_add(len);
        let due = match self.due {
            Some(due) => due,
            None => {
                self.opened = now;
                now.plus(patience)
            }
        };
        self.due = Some(due);
        let full = self.octets >= self.max_octets || self.samples >= self.max_samples;
        (!full && due > now).then_some(due)
    }

    /// Whether a sample of `len` octets may join others that wait; then tell that it has [`joined`](Self::joined).
    pub(super) fn may_join(&self, now: MonoTime, len: usize) -> bool {
        let full = self.octets.saturating_add(len) >= self.max_octets
            || self.samples >= self.max_samples.saturating_sub(1);
        let presumed = || self.burst_delay > Duration::ZERO && self.row_with(now) >= self.evidence;
        !full && self.due.is_some_and(|due| due > now) && (!self.is_at_once() || presumed())
    }

    /// As [`on_write`](Self::on_write), of a sample that [may join](Self::may_join).
    pub(super) fn joined(&mut self, now: MonoTime, len: usize) {
        self.in_a_row = self.row_with(now);
        self.last = Some(now);
        self.samples = self.samples.saturating_add(1);
        self.octets = self.octets.saturating_add(len);
    }

    /// How many writes come right behind another, with one that begins now.
    fn row_with(&self, now: MonoTime) -> u32 {
        let close = self.last.is_some_and(|last| now.since(last) <= LONGEST_PAUSE);
        if close { self.in_a_row.saturating_add(1) } else { 0 }
    }

    /// How long a sample written now may wait.
    fn patience(&self) -> Option<Duration> {
        if self.suspended {
            return Some(Duration::INFINITE);
        }
        if self.budget > Duration::ZERO {
            return Some(self.budget);
        }
        (self.burst_delay > Duration::ZERO && self.in_a_row >= self.evidence).then_some(self.burst_delay)
    }

    /// The write that was told last has ended: it took time to send.
    pub(super) fn write_ended(&mut self, at: MonoTime) {
        self.last = self.last.max(Some(at));
    }

    /// The time is over for what waits: the writer itself came too late, or does not write any more.
    pub(super) fn timed_out(&mut self) {
        if self.samples == 1 && self.in_a_row > 0 {
            self.evidence = self.evidence.saturating_mul(2).min(MOST_EVIDENCE);
            self.in_a_row = 0;
        }
    }

    /// Nothing waits any more.
    pub(super) fn left(&mut self) {
        if self.samples > 1 {
            self.evidence = EVIDENCE;
        }
        (self.samples, self.octets, self.due) = (0, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(budget: Duration, burst_delay: Duration) -> Batch {
        let cfg =
            WriterConfig { latency_budget: budget, burst_delay, batch_octets: 1000, ..Default::default() };
        Batch::new(&cfg)
    }

    const fn at(nanos: u64) -> MonoTime {
        MonoTime(nanos)
    }

    #[test]
    fn a_budget_is_counted_from_the_first_sample() {
        let mut batch = batch(Duration::from_millis(1), Duration::ZERO);
        assert_eq!(batch.on_write(at(5), 10), Some(at(1_000_005)));
        assert_eq!(batch.on_write(at(900_000), 10), Some(at(1_000_005)));
        assert_eq!(batch.on_write(at(1_000_005), 10), None, "the time is over");
        batch.left();
        assert_eq!(batch.on_write(at(1_100_000), 10), Some(at(2_100_000)));
        assert_eq!(batch.on_write(at(1_100_000), 990), None, "full");
    }

    #[test]
    fn a_new_latency_budget_applies_to_batched_samples() {
        let mut batch = batch(Duration::from_secs(1), Duration::ZERO);
        assert_eq!(batch.set_budget(Duration::from_secs(2)), None, "nothing waits");
        batch.on_write(at(5), 10);
        assert_eq!(batch.set_budget(Duration::from_millis(1)), Some(at(1_000_005)));
        assert_eq!(batch.set_budget(Duration::INFINITE), Some(MonoTime::MAX));
        assert_eq!(batch.on_write(at(7), 10), Some(MonoTime::MAX));
        assert_eq!(batch.set_budget(Duration::ZERO), Some(at(5)));
    }

    #[test]
    fn only_samples_of_a_burst_are_batched() {
        let mut batch = batch(Duration::ZERO, Duration::from_micros(50));
        let mut now = 0;
        for _ in 0..100 {
            now += 2_001;
            assert_eq!(batch.on_write(at(now), 10), None, "pauses between");
        }
        for n in 0..4 {
            now += 1_000;
            assert_eq!(batch.on_write(at(now), 10).is_some(), n == 3, "write {n} of the burst");
        }
        let opened = now;
        now += 2_000;
        assert_eq!(batch.on_write(at(now), 10), Some(at(opened + 50_000)));
        now += 2_001;
        assert_eq!(batch.on_write(at(now), 10), None, "a pause ends it");
    }

    #[test]
    fn the_time_that_sending_took_is_no_pause() {
        let mut batch = batch(Duration::ZERO, Duration::from_micros(50));
        let waits: [bool; 6] = core::array::from_fn(|n| {
            let begin = n as u64 * 6_000;
            let waits = batch.on_write(at(begin), 10).is_some();
            batch.write_ended(at(begin + 5_000));
            waits
        });
        assert_eq!(waits, [false, false, false, false, true, true]);
    }

    #[test]
    fn a_wrong_presumption_asks_for_more_evidence_and_a_right_one_for_less() {
        let mut batch = batch(Duration::ZERO, Duration::from_micros(50));
        let (mut now, mut direct) = (0, alloc::vec![]);
        for _ in 0..12 {
            let mut writes = 0;
            while batch.on_write(at(now), 10).is_none() {
                writes += 1;
                now += 100;
            }
            direct.push(writes);
            batch.timed_out();
            batch.left();
            now += 50_000;
        }
        assert_eq!(direct, [4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024]);
        while batch.on_write(at(now), 10).is_none() {
            now += 100;
        }
        batch.on_write(at(now), 10);
        batch.timed_out();
        batch.left();
        assert_eq!(batch.evidence, EVIDENCE);
    }

    #[test]
    fn samples_that_join_a_batch_count_like_written_ones() {
        for budget in [Duration::ZERO, Duration::from_millis(1)] {
            let (mut one, mut other) =
                (batch(budget, Duration::from_micros(50)), batch(budget, Duration::from_micros(50)));
            let mut now = 0;
            for n in 0..5_000u64 {
                now += [500, 900, 1_500, 2_001, 40_000][(n * n % 97 % 5) as usize];
                let waits = one.on_write(at(now), 300).is_some();
                if other.may_join(at(now), 300) {
                    assert!(waits, "write {n}");
                    other.joined(at(now), 300);
                } else {
                    assert_eq!(other.on_write(at(now), 300).is_some(), waits, "write {n}");
                }
                if !waits {
                    one.left();
                    other.left();
                }
                assert_eq!(alloc::format!("{one:?}"), alloc::format!("{other:?}"));
            }
        }
    }

    #[test]
    fn batch_without_delay_and_budget_waits_for_nothing() {
        let mut batch = batch(Duration::ZERO, Duration::ZERO);
        assert!((0..10_000).all(|_| batch.on_write(at(0), 1).is_none()));
    }
}
