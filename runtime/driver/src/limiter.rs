//! The rule of every warning: what others, or a loop, can cause again and again is told once in a while.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use dunlin_core::{Duration, MonoTime};

use crate::lock::lock;

/// The same is told again after this time at the earliest.
const INTERVAL: Duration = Duration::from_secs(60);
/// So many subjects are remembered; beyond that those that are old enough to be told again are forgotten.
const REMEMBERED: usize = 1024;

/// Remembers what was told: each subject at most once a minute, and no more than 1,024 of them.
#[derive(Debug)]
pub struct Limiter<K>(Mutex<BTreeMap<K, Told>>);

#[derive(Clone, Copy, Debug)]
struct Told {
    at: MonoTime,
    /// How often there was reason to tell it since.
    again: u64,
}

/// How often something was passed over since it was last told. Prints itself as the end of a message, as nothing if never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Again(pub u64);

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, " ({} more since the last message)", self.0) }
    }
}

impl<K> Default for Limiter<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord> Limiter<K> {
    /// Notes that there is reason to tell `subject`; how often it was passed over, if it is to be told now.
    pub fn admit(&self, now: MonoTime, subject: K) -> Option<Again> {
        let mut told = lock(&self.0);
        let mut again = 0;
        if let Some(known) = told.get_mut(&subject) {
            if now.since(known.at) < INTERVAL {
                known.again += 1;
                return None;
            }
            again = known.again;
            told.remove(&subject);
        }
        if told.len() >= REMEMBERED {
            told.retain(|_, known| now.since(known.at) < INTERVAL);
            if told.len() >= REMEMBERED {
                return None;
            }
        }
        told.insert(subject, Told { at: now, again: 0 });
        Some(Again(again))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_log_messages_are_rate_limited_and_counted() {
        let at = |secs: u64| MonoTime(secs * 1_000_000_000);
        let log = Limiter::default();
        assert_eq!(log.admit(at(10), (1, "PARTITION")), Some(Again(0)));
        assert_eq!(log.admit(at(10), (1, "RELIABILITY")), Some(Again(0)), "another cause");
        assert_eq!(log.admit(at(11), (1, "PARTITION")), None);
        assert_eq!(log.admit(at(69), (1, "PARTITION")), None);
        assert_eq!(log.admit(at(70), (1, "PARTITION")), Some(Again(2)));
        assert_eq!(log.admit(at(71), (1, "PARTITION")), None);
        for n in 0..3000 {
            log.admit(at(72), (n, "DEADLINE"));
        }
        assert!(lock(&log.0).len() <= REMEMBERED);
        assert_eq!(log.admit(at(200), (1, "PARTITION")), Some(Again(1)));
        assert_eq!(
            (Again(0).to_string(), Again(3).to_string().as_str()),
            (String::new(), " (3 more since the last message)")
        );
    }
}
