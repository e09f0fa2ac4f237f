//! What has arrived and is not written yet: bounded in octets.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dunlin::SharedBytes;

use crate::event::Event;
use crate::ledger::Track;

/// Octets that an entry costs beside its payload.
const OVERHEAD: usize = 256;
/// Entries and octets that are taken at a time.
const BATCH: usize = 1024;
const BATCH_OCTETS: usize = 8 << 20;

/// What is to be written.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The writer; none for what is about a topic.
    pub(crate) track: Option<Arc<Track>>,
    pub(crate) number: i64,
    /// Reception and publication, in nanoseconds since 1970.
    pub(crate) times: (u64, u64),
    /// An event, or what more there is to say of the sample.
    pub(crate) event: Option<Box<Event>>,
    /// The sample.
    pub(crate) payload: Option<SharedBytes>,
}

impl Entry {
    fn octets(&self) -> usize {
        let key = self.event.as_ref().map_or(0, |event| event.key.len());
        OVERHEAD + key + self.payload.as_ref().map_or(0, |payload| payload.len())
    }

    /// Whether it counts as something recorded: a sample, or an end of an instance by a message.
    pub(crate) fn counts(&self) -> bool {
        self.number > 0
    }
}

/// First in, first out.
pub(crate) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    limit: usize,
}

#[derive(Default)]
struct State {
    entries: VecDeque<Entry>,
    octets: usize,
    closed: bool,
    /// The writing thread waits.
    waits: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), arrived: Condvar::new(), limit }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes entries as long as there is room; a single one always has room in an empty queue.
    pub(crate) fn push(&self, entries: &mut VecDeque<Entry>) {
        let mut state = self.state();
        while let Some(entry) = entries.front() {
            let octets = entry.octets();
            if state.octets > 0 && state.octets + octets > self.limit {
                break;
            }
            state.octets += octets;
            state.entries.extend(entries.pop_front());
        }
        if state.waits {
            self.arrived.notify_one();
        }
    }

    /// Takes a batch, waiting until a time for the first entry. False when nothing will come any more.
    pub(crate) fn take(&self, until: Instant, batch: &mut Vec<Entry>) -> bool {
        let mut state = self.state();
        while state.entries.is_empty() && !state.closed {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|it| !it.is_zero()) else {
                return true;
            };
            state.waits = true;
            state = self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waits = false;
        }
        let mut taken = 0;
        while batch.len() < BATCH && taken < BATCH_OCTETS {
            let Some(entry) = state.entries.pop_front() else { break };
            taken += entry.octets();
            batch.push(entry);
        }
        state.octets -= taken;
        !(batch.is_empty() && state.closed)
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_one();
    }

    /// Octets that wait, and how many may.
    pub(crate) fn fill(&self) -> (usize, usize) {
        (self.state().octets, self.limit)
    }
}
