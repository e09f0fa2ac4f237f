//! What has come from zenoh and waits for its turn: bounded. What finds no room holds up whoever sends for a moment, then it is
//! counted.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dunlin::WallTime;
use zenoh::bytes::ZBytes;
use zenoh::sample::Sample;
use zenoh::time::Timestamp;

use crate::attachment::{Meta, SourceId};
use crate::stats::{Count, Counts};
use crate::wake::Wake;

/// What has come.
pub(crate) enum Incoming {
    /// From a bridge of Dunlin.
    Ours { meta: Meta, payload: ZBytes, asked: bool },
    /// From somebody else, with the time that zenoh knows.
    Foreign { payload: ZBytes, timestamp: Option<Timestamp>, asked: bool },
}

/// News that are not samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// A bridge of Dunlin passes data on, again perhaps.
    Appeared(SourceId),
    /// It does no longer, or cannot be reached.
    Gone(SourceId),
    /// An answer of this source is complete; whether more is to be asked for.
    Answered { source: SourceId, more: bool },
    /// All answers of others have come.
    ForeignAnswered,
    /// Others may have history.
    ForeignAppeared,
}

/// One entry.
pub(crate) enum Entry {
    Sample(Incoming),
    News(News),
}

struct State {
    entries: VecDeque<(usize, Entry)>,
    octets: usize,
    /// Samples found no room since this was last asked.
    missed: bool,
    /// Samples have waited in vain, so others do not until there is much room: one route holds up all of a connection.
    overflows: bool,
}

/// The queue of a route from zenoh.
pub(crate) struct Queue {
    state: Mutex<State>,
    room: Condvar,
    most: (usize, usize),
    largest: usize,
    pub(crate) counts: Arc<Counts>,
    wake: Arc<Wake>,
}

/// Entries beyond the limit that news may take.
const NEWS: usize = 4096;
/// Octets that an entry takes at least.
const OVERHEAD: usize = 128;
/// How long a sample waits for room.
const PATIENCE: Duration = Duration::from_secs(1);

impl Queue {
    pub(crate) fn new(limits: &crate::config::Limits, counts: Arc<Counts>, wake: Arc<Wake>) -> Self {
        let state = State { entries: VecDeque::new(), octets: 0, missed: false, overflows: false };
        let most = (limits.samples as usize, limits.octets);
        let (state, room) = (Mutex::new(state), Condvar::new());
        Self { state, room, most, largest: limits.sample_octets, counts, wake }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a sample of zenoh, asked for or not.
    pub(crate) fn sample(&self, sample: &Sample, asked: bool) {
        let payload = sample.payload();
        if payload.len() > self.largest {
            return self.counts.one(Count::TooLarge);
        }
        let attachment = sample.attachment().map(|it| it.to_bytes());
        let incoming = match attachment.as_deref().and_then(Meta::parse) {
            Some(Ok(meta)) => Incoming::Ours { meta, payload: payload.clone(), asked },
            Some(Err(_)) => return self.counts.one(Count::BadAttachment),
            None if sample.kind() == zenoh::sample::SampleKind::Delete => {
                return self.counts.one(Count::NoKey);
            }
            None => {
                Incoming::Foreign { payload: payload.clone(), timestamp: sample.timestamp().copied(), asked }
            }
        };
        let octets = payload.len() + OVERHEAD;
        let mut state = self.state();
        if self.is_full(&state, octets) && !state.overflows {
            let full = |state: &mut State| self.is_full(state, octets);
            let waited = self.room.wait_timeout_while(state, PATIENCE, full);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if self.is_full(&state, octets) {
            (state.missed, state.overflows) = (true, true);
            drop(state);
            self.counts.one(Count::NoRoom);
        } else {
            state.octets += octets;
            state.entries.push_back((octets, Entry::Sample(incoming)));
            drop(state);
        }
        self.wake.wake();
    }

    fn is_full(&self, state: &State, octets: usize) -> bool {
        state.entries.len() >= self.most.0 || state.octets + octets > self.most.1
    }

    pub(crate) fn news(&self, news: News) {
        let mut state = self.state();
        if state.entries.len() < self.most.0 + NEWS {
            state.entries.push_back((0, Entry::News(news)));
        } else {
            // Who finds this asks everybody.
            state.missed = true;
        }
        drop(state);
        self.wake.wake();
    }

    pub(crate) fn pop(&self) -> Option<Entry> {
        let mut state = self.state();
        let was_full = state.entries.len() >= self.most.0 || state.octets + OVERHEAD > self.most.1 / 2;
        let (octets, entry) = state.entries.pop_front()?;
        state.octets -= octets;
        state.overflows &= state.entries.len() > self.most.0 / 2 || state.octets > self.most.1 / 2;
        drop(state);
        if was_full {
            self.room.notify_all();
        }
        Some(entry)
    }

    /// Whether something found no room since this was last asked.
    pub(crate) fn take_missed(&self) -> bool {
        std::mem::take(&mut self.state().missed)
    }
}

/// The time of zenoh as a time of DDS.
pub(crate) fn wall_time(timestamp: &Timestamp) -> Option<WallTime> {
    let since = timestamp.get_time().to_duration();
    let time = WallTime(i64::try_from(since.as_nanos()).ok()?);
    time.fits_the_wire().then_some(time)
}
