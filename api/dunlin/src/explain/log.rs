//! One warning for each cause, however often it is found.

use super::Cause;
use dunlin_core::{Duration, EntityId, MonoTime};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Mutex;

use crate::writer_core::lock;

/// The same cause is told again for the same endpoint after this time at the earliest.
const INTERVAL: Duration = Duration::from_secs(60);
/// So many causes are remembered; beyond that those that are old enough to be told again are forgotten.
const REMEMBERED: usize = 1024;

/// Remembers what was told. Nothing of it is keyed by what others choose, so that they cannot fill it or the log.
#[derive(Debug, Default)]
pub(crate) struct WhyLog(Mutex<BTreeMap<(EntityId, &'static str), Told>>);

#[derive(Clone, Copy, Debug)]
struct Told {
    at: MonoTime,
    /// How often the cause was found since.
    again: u64,
}

impl WhyLog {
    /// Notes that a cause was found; how often it was passed over since it was last told, if it is to be told now.
    fn admit(&self, now: MonoTime, key: (EntityId, &'static str)) -> Option<u64> {
        let mut told = lock(&self.0);
        let mut again = 0;
        if let Some(known) = told.get_mut(&key) {
            if now.since(known.at) < INTERVAL {
                known.again += 1;
                return None;
            }
            again = known.again;
            told.remove(&key);
        }
        if told.len() >= REMEMBERED {
            told.retain(|_, known| now.since(known.at) < INTERVAL);
            if told.len() >= REMEMBERED {
                return None;
            }
        }
        told.insert(key, Told { at: now, again: 0 });
        Some(again)
    }

    /// Tells a cause, unless it was told lately.
    pub fn warn(&self, now: MonoTime, local: EntityId, cause: &Cause, subject: impl Display) {
        if let Some(again) = self.admit(now, (local, cause.name())) {
            tell(cause, subject, again);
        }
    }

    /// The same of a cause that takes work to find, which is done only if it is told.
    pub fn warn_of<S: Display>(
        &self,
        now: MonoTime,
        local: EntityId,
        name: &'static str,
        find: impl FnOnce() -> (Cause, S),
    ) {
        if let Some(again) = self.admit(now, (local, name)) {
            let (cause, subject) = find();
            debug_assert_eq!(cause.name(), name);
            tell(&cause, subject, again);
        }
    }
}

fn tell(cause: &Cause, subject: impl Display, again: u64) {
    let more = if again == 0 { String::new() } else { format!(" ({again} more since the last message)") };
    tracing::warn!(target: "dunlin::why", "{subject}: {cause}; {}{more}", cause.hint());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_in_a_while_and_counted_meanwhile() {
        let at = |secs: u64| MonoTime(secs * 1_000_000_000);
        let (log, writer) = (WhyLog::default(), EntityId::user_writer(1, true));
        assert_eq!(log.admit(at(10), (writer, "PARTITION")), Some(0));
        assert_eq!(log.admit(at(10), (writer, "RELIABILITY")), Some(0), "another cause");
        assert_eq!(log.admit(at(11), (writer, "PARTITION")), None);
        assert_eq!(log.admit(at(69), (writer, "PARTITION")), None);
        assert_eq!(log.admit(at(70), (writer, "PARTITION")), Some(2));
        assert_eq!(log.admit(at(71), (writer, "PARTITION")), None);
        for n in 0..3000 {
            log.admit(at(72), (EntityId::user_writer(n, false), "PARTITION"));
        }
        assert!(lock(&log.0).len() <= REMEMBERED);
        assert_eq!(log.admit(at(200), (writer, "PARTITION")), Some(1));
    }
}
