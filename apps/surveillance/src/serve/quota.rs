//! What monitors may ask for.

use std::collections::BTreeMap;
use std::time::Instant;

/// What monitors may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// Monitors that get earlier pictures at a time.
    pub sessions: usize,
    /// Octets of pictures in a second, for each monitor.
    pub octets: u64,
    /// Requests in a second, of each monitor.
    pub requests: f64,
    /// Requests in a second, of all together.
    pub all_requests: f64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { sessions: 32, octets: 8_000_000, requests: 10.0, all_requests: 200.0 }
    }
}

/// Gives so much in a second, and what was left of the second before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: f64,
    left: f64,
    since: Instant,
}

impl Bucket {
    pub(super) fn new(rate: f64, now: Instant) -> Self {
        Self { rate, left: rate, since: now }
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        (self.left, self.since) = ((self.left + passed * self.rate).min(self.rate), now);
    }

    /// Takes so much if it is there. What is more than a second's worth is given when a second's worth is there, and paid later.
    pub(super) fn take(&mut self, amount: f64, now: Instant) -> bool {
        self.fill(now);
        let enough = self.left >= amount.min(self.rate);
        if enough {
            self.left -= amount;
        }
        enough
    }
}

/// Monitors whose requests are counted.
const MONITORS: usize = 1024;

/// What is left of the quotas of monitors that have stopped: who stops and plays again has no more than before.
#[derive(Default)]
pub(super) struct Stopped(BTreeMap<String, Bucket>);

impl Stopped {
    /// Notes what a monitor has left. Those whose quota is whole again are forgotten.
    pub(super) fn note(&mut self, monitor: &str, mut bucket: Bucket, now: Instant) {
        bucket.fill(now);
        self.0.retain(|_, bucket| {
            bucket.fill(now);
            bucket.left < bucket.rate
        });
        if self.0.len() >= MONITORS {
            let fullest = self.0.iter().max_by(|(_, a), (_, b)| a.left.total_cmp(&b.left));
            if let Some(name) = fullest.map(|(name, _)| name.clone()) {
                self.0.remove(&name);
            }
        }
        self.0.insert(monitor.to_owned(), bucket);
    }

    /// What a monitor has that plays again.
    pub(super) fn go_on(&mut self, monitor: &str) -> Option<Bucket> {
        self.0.remove(monitor)
    }
}

/// Counts requests.
pub(super) struct Gate {
    quota: Quota,
    all: Bucket,
    monitors: BTreeMap<String, Bucket>,
}

impl Gate {
    pub(super) fn new(quota: Quota, now: Instant) -> Self {
        Self { quota, all: Bucket::new(quota.all_requests, now), monitors: BTreeMap::new() }
    }

    /// Whether a request of a monitor is within the quotas.
    pub(super) fn lets_in(&mut self, monitor: &str, now: Instant) -> bool {
        if self.monitors.len() >= MONITORS && !self.monitors.contains_key(monitor) {
            // Of who was silent longest nothing is left to count.
            let silent = self.monitors.iter().min_by_key(|(_, bucket)| bucket.since);
            if let Some(name) = silent.map(|(name, _)| name.clone()) {
                self.monitors.remove(&name);
            }
        }
        let rate = self.quota.requests;
        let bucket = self.monitors.entry(monitor.to_owned()).or_insert_with(|| Bucket::new(rate, now));
        // First its own: who asks too often takes nothing of what is for all.
        bucket.take(1.0, now) && self.all.take(1.0, now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_gives_its_rate() {
        let begin = Instant::now();
        let mut bucket = Bucket::new(100.0, begin);
        let mut given = 0;
        for tenth in 0..50 {
            let now = begin + Duration::from_millis(100 * tenth);
            while bucket.take(1.0, now) {
                given += 1;
            }
        }
        assert!((585..=595).contains(&given), "{given}: a second's worth at once, then 10 in each tenth");
        let later = begin + Duration::from_secs(60);
        assert!(bucket.take(1000.0, later), "what is larger than a second's worth is given once");
        assert!(!bucket.take(1.0, later + Duration::from_secs(8)));
        assert!(bucket.take(1.0, later + Duration::from_secs(10)));
    }

    #[test]
    fn the_quota_survives_stop_and_play() {
        let begin = Instant::now();
        let mut stopped = Stopped::default();
        let (mut bucket, mut given) = (Bucket::new(100.0, begin), 0);
        for tenth in 0..20 {
            let now = begin + Duration::from_millis(100 * tenth);
            while bucket.take(1.0, now) {
                given += 1;
            }
            stopped.note("greedy", bucket, now);
            bucket = stopped.go_on("greedy").unwrap();
        }
        assert!((285..=295).contains(&given), "{given}: a second's worth at once, then 10 in each tenth");
        for n in 0..3 * MONITORS {
            let mut bucket = Bucket::new(100.0, begin);
            bucket.take(50.0, begin);
            stopped.note(&n.to_string(), bucket, begin);
        }
        assert_eq!(stopped.0.len(), MONITORS);
        stopped.note("late", bucket, begin + Duration::from_secs(60));
        assert_eq!(stopped.0.len(), 1, "who has all of it again is forgotten");
    }

    #[test]
    fn request_quota_is_counted_per_monitor() {
        let now = Instant::now();
        let mut gate = Gate::new(Quota { requests: 3.0, all_requests: 8.0, ..Quota::default() }, now);
        let let_in = |gate: &mut Gate, name: &str| (0..20).filter(|_| gate.lets_in(name, now)).count();
        assert_eq!(let_in(&mut gate, "greedy"), 3);
        assert_eq!(let_in(&mut gate, "modest"), 3);
        assert_eq!(let_in(&mut gate, "third"), 2, "of all together there are no more");
        for n in 0..3 * MONITORS {
            gate.lets_in(&n.to_string(), now);
        }
        assert_eq!(gate.monitors.len(), MONITORS);
    }
}
