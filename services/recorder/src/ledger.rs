//! What was recorded and what was not, counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::file::Schema;
use crate::source::Source;

/// A writer that is recorded.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) id: u64,
    pub(crate) source: Source,
    pub(crate) schema: Option<Schema>,
    /// Nothing is known of its type but the name, so that samples have to bring the hash of their key.
    pub(crate) opaque: bool,
}

/// Samples of one writer that were dropped and of which no event tells yet.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) track: Arc<Track>,
    pub(crate) first: i64,
    pub(crate) count: u64,
}

/// Counters of one topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct TopicCounts {
    /// Writers that were found.
    pub writers: u64,
    /// Samples and ends of instances on the disk.
    pub recorded: u64,
    /// Octets of the samples.
    pub octets: u64,
    /// Arrived and not recorded.
    pub dropped: u64,
    /// Sent and never arrived.
    pub lost: u64,
}

/// Counters of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Counts {
    /// Samples and ends of instances on the disk.
    pub recorded: u64,
    /// Octets of the samples.
    pub octets: u64,
    /// Arrived and not recorded: the disk did not take them in time, or at all.
    pub dropped: u64,
    /// Sent and never arrived (SAMPLE_LOST).
    pub lost: u64,
    /// Arrived while the recording was paused.
    pub skipped: u64,
    /// By topic.
    pub topics: BTreeMap<String, TopicCounts>,
    /// What could not be recorded, and why; what else went wrong.
    pub problems: Vec<String>,
}

impl Counts {
    /// Whether everything was recorded that was meant to be.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.dropped == 0 && self.lost == 0 && self.problems.is_empty()
    }
}

/// Most problems that are remembered.
const MAX_PROBLEMS: usize = 100;

/// Shared by whoever drops and whoever writes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    tracks: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    untold: BTreeMap<u64, Run>,
}

impl Ledger {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn track(&self, source: Source, schema: Option<Schema>) -> Arc<Track> {
        self.state().topic(&source.topic).writers += 1;
        let opaque = schema.is_none() && source.is_keyed();
        Arc::new(Track { id: self.tracks.fetch_add(1, Relaxed), source, schema, opaque })
    }

    /// Notes that a sample is not recorded.
    pub(crate) fn dropped(&self, track: &Arc<Track>, number: i64) {
        let mut state = self.state();
        state.counts.dropped += 1;
        state.topic(&track.source.topic).dropped += 1;
        let run = state.untold.entry(track.id);
        run.or_insert_with(|| Run { track: Arc::clone(track), first: number, count: 0 }).count += 1;
    }

    /// Notes that a sample of a writer of which nothing is known any more is not recorded.
    pub(crate) fn dropped_of_unknown(&self, topic: &str) {
        let mut state = self.state();
        state.counts.dropped += 1;
        state.topic(topic).dropped += 1;
    }

    /// Notes that samples are on the disk.
    pub(crate) fn recorded(&self, topics: &BTreeMap<String, (u64, u64)>) {
        let mut state = self.state();
        for (topic, (samples, octets)) in topics {
            state.counts.recorded += samples;
            state.counts.octets += octets;
            let counts = state.topic(topic);
            counts.recorded += samples;
            counts.octets += octets;
        }
    }

    pub(crate) fn skipped(&self, count: usize) {
        self.state().counts.skipped += count as u64;
    }

    pub(crate) fn lost(&self, topic: &str, count: u64) {
        let mut state = self.state();
        state.counts.lost += count;
        state.topic(topic).lost += count;
    }

    pub(crate) fn problem(&self, text: String) {
        let problems = &mut self.state().counts.problems;
        if problems.len() < MAX_PROBLEMS && !problems.contains(&text) {
            problems.push(text);
        }
    }

    /// What was dropped since the last call.
    pub(crate) fn untold(&self) -> Vec<Run> {
        std::mem::take(&mut self.state().untold).into_values().collect()
    }

    /// Takes back what [`untold`](Self::untold) gave, as it could not be told.
    pub(crate) fn tell_again(&self, runs: Vec<Run>) {
        let mut state = self.state();
        for run in runs {
            match state.untold.get_mut(&run.track.id) {
                Some(later) => {
                    later.first = run.first;
                    later.count += run.count;
                }
                None => _ = state.untold.insert(run.track.id, run),
            }
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state().counts.clone()
    }
}

impl State {
    fn topic(&mut self, name: &str) -> &mut TopicCounts {
        if !self.counts.topics.contains_key(name) {
            self.counts.topics.insert(name.to_owned(), TopicCounts::default());
        }
        self.counts.topics.entry(name.to_owned()).or_default()
    }
}
