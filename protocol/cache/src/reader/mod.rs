//! A reader's cache (RTPS 2.5 §8.2.3 HistoryCache; DDS 1.4 §2.2.2.5 and §2.2.3).

mod access;
mod config;
mod front;
mod insert;
mod instance;
mod next;
mod order;
mod ownership;
mod registration;
mod sample;
mod selection;
mod states;
mod timing;
mod transition;
mod unseen;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

pub use config::{
    FilterReason, Insert, ReaderCacheConfig, ReaderTimerReport, RejectReason, Room, WriterInfo,
};
use dunlin_buf::BufPool;
use dunlin_core::{Counter, Guid, InstanceHandle, SequenceNumber};
use instance::Instance;
use registration::{Registration, RemoteWriter};
use sample::{ARRIVAL, Sample, UNREAD};
pub use sample::{CachedSample, SampleData, SampleInfo};
use selection::Picked;
pub use selection::{InstanceSelect, Selection, UnknownInstance};
use states::StateCounts;
pub use states::{InstanceState, InstanceStateMask, SampleState, SampleStateMask, ViewState, ViewStateMask};
use unseen::Unseen;

use crate::limits::Limits;
use crate::list::List;
use crate::quota::{Account, Quota};
use crate::slab::{Id, NIL, Slab};
use crate::timers::{DeadlineMissed, TimerHeap};

/// Octets of small buffers that a cache keeps for reuse.
const POOL: usize = 1 << 20;

/// The samples of a reader, by instance, until they are taken or replaced.
#[derive(Debug)]
pub struct ReaderCache {
    config: ReaderCacheConfig,
    limits: Limits,
    /// What writers of other participants take of their quota.
    account: Account,

    // Samples
    samples: Slab<Sample>,
    /// Samples that take room, those that the time-based filter holds back included.
    valid_samples: Counter,
    arrival: List<ARRIVAL>,
    unread: List<UNREAD>,
    counts: StateCounts,

    // Whose they are
    instances: Slab<Instance>,
    by_handle: BTreeMap<InstanceHandle, Id>,
    /// The instance used last: most samples are of the same one again.
    recent: Id,
    writers: Slab<RemoteWriter>,
    by_guid: BTreeMap<Guid, Id>,
    recent_writer: Id,
    registrations: Slab<Registration>,

    timers: Timers,
    gone: Gone,

    // Memory
    pool: BufPool,
    /// Samples that are inserted lie in a copy of their datagram.
    sharing: bool,
    /// The samples that a call returns; kept for its memory.
    picked: Vec<Picked>,
    /// How many walks through the cache there were: marks the instances that a walk has visited.
    walks: u64,
}

/// What becomes due, and what did.
#[derive(Debug, Default)]
struct Timers {
    /// By sample.
    expiries: TimerHeap,
    /// By instance, as the others.
    separations: TimerHeap,
    deadlines: TimerHeap,
    purges: TimerHeap,
    /// Missed deadlines that the timer has yet to report.
    overdue: Vec<DeadlineMissed>,
}

/// What went, until somebody asks.
#[derive(Debug, Default)]
struct Gone {
    /// Samples or instances went since somebody last asked.
    freed: bool,
    /// What KEEP_LAST replaces.
    unseen: Unseen,
    /// Changes that went before the application could see them, for [`take_gone_unseen`](ReaderCache::take_gone_unseen).
    unseen_changes: Vec<(Guid, SequenceNumber)>,
}

impl ReaderCache {
    /// An empty cache, without limits but RESOURCE_LIMITS.
    #[must_use]
    pub fn new(config: ReaderCacheConfig) -> Self {
        Self::with_quota(config, Quota::default())
    }

    /// An empty cache that also keeps to a quota, where RESOURCE_LIMITS do not say more or less.
    #[must_use]
    pub fn with_quota(config: ReaderCacheConfig, quota: Quota) -> Self {
        Self {
            account: Account::new(quota.beside(config.resource_limits)),
            limits: Limits::new(config.history, config.resource_limits),
            config,
            samples: Slab::new(),
            valid_samples: Counter::ZERO,
            arrival: List::new(),
            unread: List::new(),
            counts: StateCounts::default(),
            instances: Slab::new(),
            by_handle: BTreeMap::new(),
            recent: NIL,
            writers: Slab::new(),
            by_guid: BTreeMap::new(),
            recent_writer: NIL,
            registrations: Slab::new(),
            timers: Timers::default(),
            gone: Gone::default(),
            pool: BufPool::new(POOL),
            sharing: false,
            picked: Vec::new(),
            walks: 0,
        }
    }

    /// How many samples a newer one of their instance has replaced before anybody saw them (DDS 1.4 §2.2.3.18 KEEP_LAST).
    #[must_use]
    pub fn replaced_unseen(&self) -> u64 {
        self.gone.unseen.replaced()
    }

    /// Whether whoever is told of samples should be before the next one is inserted: that may replace one that nobody has seen.
    /// Says so less often where it is of no use, as with an application that looks when it likes.
    #[inline]
    pub fn wants_pause(&mut self) -> bool {
        self.limits.depth.is_some() && self.gone.unseen.wants_pause()
    }

    /// Whether room was made since the last call, by whatever took samples or instances away: rejected ones may find it.
    pub fn take_freed(&mut self) -> bool {
        core::mem::take(&mut self.gone.freed)
    }

    /// Whether changes went before the application could see them: expired, purged or replaced.
    #[must_use]
    pub fn has_gone_unseen(&self) -> bool {
        !self.gone.unseen_changes.is_empty()
    }

    /// Those changes, by writer and number, since the last call; only with [`ReaderCacheConfig::tells_unseen`].
    pub fn take_gone_unseen(&mut self) -> Vec<(Guid, SequenceNumber)> {
        core::mem::take(&mut self.gone.unseen_changes)
    }

    /// Whether every change is shown by a sample of its own, which takes room.
    #[must_use]
    pub fn shows_every_change(&self) -> bool {
        self.config.every_change
    }

    /// How many samples were refused by the quota, each as often as it was offered.
    #[must_use]
    pub fn over_quota(&self) -> u64 {
        self.account.refused
    }

    /// Whether the last sample without room was refused by the quota, not by RESOURCE_LIMITS.
    #[must_use]
    pub fn is_refused_by_quota(&self) -> bool {
        self.account.is_reason
    }

    /// Whether a sample was refused since the last call for octets that other readers may give back.
    pub fn take_crowded(&mut self) -> bool {
        core::mem::take(&mut self.account.crowded)
    }

    /// How many samples can be read, those without data included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arrival.len()
    }

    /// Whether no sample can be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrival.is_empty()
    }
}
