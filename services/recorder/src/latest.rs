//! The latest samples of topics that somebody looks at. Whoever records pays for it only while somebody does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin::Guid;

/// Topics that are looked at.
const TOPICS: usize = 8;
/// Writers of a topic of which the latest sample is kept.
const WRITERS: usize = 16;
/// Nanoseconds until the next sample of a writer is kept.
const PERIOD: u64 = 50_000_000;
/// The largest sample that is kept.
const LARGEST: usize = 16 << 20;
/// After which a topic is not looked at any more.
const PATIENCE: Duration = Duration::from_secs(10);

/// The latest sample of a writer.
#[derive(Clone, Debug)]
pub struct Latest {
    /// The writer.
    pub writer: Guid,
    /// When it was received, in nanoseconds since 1970.
    pub received: u64,
    /// The sample, serialized, with encapsulation header.
    pub payload: Arc<[u8]>,
}

#[derive(Default)]
pub(crate) struct LatestSamples {
    /// Whether there are topics at all.
    any: AtomicBool,
    topics: Mutex<BTreeMap<String, Topic>>,
}

struct Topic {
    asked: Instant,
    samples: BTreeMap<Guid, Latest>,
}

impl LatestSamples {
    fn topics(&self) -> MutexGuard<'_, BTreeMap<String, Topic>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is of a topic, which is looked at from now on.
    pub(crate) fn of(&self, topic: &str) -> Vec<Latest> {
        let now = Instant::now();
        let mut topics = self.topics();
        topics.retain(|_, it| now.duration_since(it.asked) < PATIENCE);
        if topics.len() < TOPICS || topics.contains_key(topic) {
            let new = || Topic { asked: now, samples: BTreeMap::new() };
            topics.entry(topic.to_owned()).or_insert_with(new).asked = now;
        }
        self.any.store(!topics.is_empty(), Ordering::Relaxed);
        topics.get(topic).map_or_else(Vec::new, |it| it.samples.values().cloned().collect())
    }

    /// Whether [`note`](Self::note) may be of use.
    pub(crate) fn are_wanted(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Keeps a copy: the memory of the sample may be lent by its writer.
    pub(crate) fn note(&self, topic: &str, writer: Guid, received: u64, payload: &[u8]) {
        let mut topics = self.topics();
        let Some(it) = topics.get_mut(topic) else { return };
        if it.asked.elapsed() >= PATIENCE {
            topics.remove(topic);
            self.any.store(!topics.is_empty(), Ordering::Relaxed);
            return;
        }
        let is_due = match it.samples.get(&writer) {
            Some(before) => received.saturating_sub(before.received) >= PERIOD,
            None => it.samples.len() < WRITERS,
        };
        if is_due && payload.len() <= LARGEST {
            it.samples.insert(writer, Latest { writer, received, payload: payload.into() });
        }
    }

    /// A writer that has gone shows nothing any more.
    pub(crate) fn forget(&self, topic: &str, writer: &Guid) {
        if let Some(it) = self.topics().get_mut(topic) {
            it.samples.remove(writer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(all: &LatestSamples, writer: u8, received: u64) {
        all.note("Video", Guid::from_bytes([writer; 16]), received, &[1]);
    }

    #[test]
    fn the_latest_samples_of_watched_topics_are_kept_and_bounded() {
        let all = LatestSamples::default();
        note(&all, 1, 1);
        assert!(!all.are_wanted() && all.of("Video").is_empty());
        assert!(all.are_wanted());
        for writer in 0..=u8::MAX {
            note(&all, writer, 1);
        }
        note(&all, 0, PERIOD);
        note(&all, 1, PERIOD + 1);
        let kept = all.of("Video");
        assert_eq!((kept.len(), kept[0].received, kept[1].received), (WRITERS, 1, PERIOD + 1));
        all.forget("Video", &kept[0].writer);
        assert_eq!(all.of("Video").len(), WRITERS - 1);
        for n in 0..100 {
            assert!(all.of(&n.to_string()).is_empty());
        }
        assert_eq!(all.topics().len(), TOPICS);
    }
}
