//! What a reader's cache is made from and what it answers (DDS 1.4 §2.2.3, §2.2.4.1 SAMPLE_REJECTED).

use dunlin_core::{Duration, VendorId};
use dunlin_qos::{
    DataReaderQos, DestinationOrderKind, History, OwnershipKind, Presentation, PresentationAccessScope,
    ReaderDataLifecycle, ReliabilityKind, ResourceLimits,
};
use dunlin_rtps::Delivery;

/// The policies a [`ReaderCache`](crate::ReaderCache) follows.
#[derive(Clone, Copy, Debug)]
pub struct ReaderCacheConfig {
    /// The topic has a key; without one every sample belongs to one instance.
    pub keyed: bool,
    /// RELIABLE: a sample for which there is no room is asked for again. BEST_EFFORT drops it.
    pub reliable: bool,
    /// HISTORY.
    pub history: History,
    /// RESOURCE_LIMITS.
    pub resource_limits: ResourceLimits,
    /// OWNERSHIP.
    pub ownership: OwnershipKind,
    /// DESTINATION_ORDER.
    pub destination_order: DestinationOrderKind,
    /// Samples keep their order across instances, by PRESENTATION or because every change is shown.
    pub ordered: bool,
    /// Every change is shown by a sample of its own, ends of instances included.
    pub every_change: bool,
    /// What goes before the application could see it is told, for whoever acknowledges what the application has seen.
    pub tells_unseen: bool,
    /// DEADLINE period.
    pub deadline: Duration,
    /// TIME_BASED_FILTER minimum separation.
    pub minimum_separation: Duration,
    /// READER_DATA_LIFECYCLE.
    pub lifecycle: ReaderDataLifecycle,
}

impl ReaderCacheConfig {
    /// The policies out of a reader's QoS and its subscriber's PRESENTATION.
    #[must_use]
    pub fn from_qos(qos: &DataReaderQos, presentation: Presentation, keyed: bool) -> Self {
        let every_change = qos.shows_every_change();
        Self {
            keyed,
            reliable: qos.reliability.kind == ReliabilityKind::Reliable,
            history: qos.history,
            resource_limits: qos.resource_limits,
            ownership: qos.ownership.kind,
            destination_order: qos.destination_order.kind,
            ordered: every_change
                || presentation.ordered_access
                    && presentation.access_scope != PresentationAccessScope::Instance,
            every_change,
            tells_unseen: qos.acknowledges_on_commit(),
            deadline: qos.deadline.period,
            minimum_separation: qos.time_based_filter.minimum_separation,
            lifecycle: qos.reader_data_lifecycle,
        }
    }
}

/// What a reader knows of the writer of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriterInfo {
    /// OWNERSHIP_STRENGTH.
    pub strength: i32,
    /// LIFESPAN.
    pub lifespan: Duration,
    /// Whose implementation serializes its samples and keys: not all do as the standard says.
    pub vendor: VendorId,
}

impl Default for WriterInfo {
    fn default() -> Self {
        Self { strength: 0, lifespan: Duration::INFINITE, vendor: VendorId::UNKNOWN }
    }
}

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insert {
    /// It is in the cache.
    Stored {
        /// The instance was unknown before: its key can be set with
        /// [`ReaderCache::set_instance_key`](crate::ReaderCache::set_instance_key).
        new_instance: bool,
    },
    /// It is in the cache, and under KEEP_LAST the oldest sample of the instance made room for it.
    Replaced,
    /// It changed the state of its instance.
    StateChanged {
        /// The instance was unknown before.
        new_instance: bool,
    },
    /// It was rightly received, and there is nothing to see of it.
    Filtered(FilterReason),
    /// There is no room for it: it must not be acknowledged, so that it comes again (RELIABLE).
    Rejected(RejectReason),
    /// There is no room for it: it is gone (BEST_EFFORT).
    Dropped(RejectReason),
}

impl Insert {
    /// Whether the application has something new to see (DATA_AVAILABLE).
    #[must_use]
    pub const fn data_available(self) -> bool {
        matches!(self, Self::Stored { .. } | Self::Replaced | Self::StateChanged { .. })
    }

    /// Whether an instance became known.
    #[must_use]
    pub const fn new_instance(self) -> bool {
        matches!(self, Self::Stored { new_instance: true } | Self::StateChanged { new_instance: true })
    }

    /// The reason for the SAMPLE_REJECTED status, if there is one to report. A sample that is offered again may be
    /// rejected again.
    #[must_use]
    pub const fn reject_reason(self) -> Option<RejectReason> {
        match self {
            Self::Rejected(reason) | Self::Dropped(reason) => Some(reason),
            _ => None,
        }
    }

    /// The answer for the protocol: whether the change may be acknowledged.
    #[must_use]
    pub const fn delivery(self) -> Delivery {
        match self {
            Self::Rejected(_) => Delivery::Rejected,
            // What a filter by time holds back is shown later.
            Self::Filtered(FilterReason::Separation) => Delivery::Accepted,
            Self::Filtered(_) | Self::Dropped(_) => Delivery::Dropped,
            _ => Delivery::Accepted,
        }
    }
}

/// Why nothing is to be seen of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterReason {
    /// Its writer does not own the instance (EXCLUSIVE ownership).
    NotOwner,
    /// It came within the minimum separation; it is shown later unless a newer one comes (TIME_BASED_FILTER).
    Separation,
    /// A newer sample was seen already (DESTINATION_ORDER by source timestamp).
    Stale,
    /// It came after its LIFESPAN.
    Expired,
    /// Its content does not satisfy the reader's filter.
    Content,
    /// It disposes or unregisters an instance that is unknown and whose key it does not carry.
    UnknownInstance,
    /// It changes nothing: an instance that other writers keep alive was unregistered, one that is disposed was
    /// disposed again, or the change carries no data.
    NoChange,
}

/// Whether samples that belong together find room together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Room {
    /// They do.
    Now,
    /// They may when others were taken.
    Later,
    /// They exceed RESOURCE_LIMITS by themselves.
    Never,
}

/// Why there is no room for a sample (SampleRejectedStatusKind, DDS 1.4 §2.3.3); the numbers are those of the API.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RejectReason {
    /// REJECTED_BY_INSTANCES_LIMIT.
    InstancesLimit = 1,
    /// REJECTED_BY_SAMPLES_LIMIT.
    SamplesLimit = 2,
    /// REJECTED_BY_SAMPLES_PER_INSTANCE_LIMIT.
    SamplesPerInstanceLimit = 3,
}

/// What a reader's timers brought about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReaderTimerReport {
    /// A sample that the time-based filter held back is to be seen now, or an instance changed its state.
    pub data_available: bool,
}
