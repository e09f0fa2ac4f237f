//! What a call gives back to its caller: datagrams to send and facts to act upon.

mod local_delivery;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_buf::Outbox;
use dunlin_cache::RejectReason;
use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, InstanceHandle, Misbehaviour, Now, SequenceNumber};
use dunlin_discovery::xtypes::Mismatch as TypeMismatch;
use dunlin_discovery::{DiscoveredReader, DiscoveredWriter, DiscoveryProblem, LostReason, ParticipantData};
use dunlin_qos::IncompatiblePolicy;
pub use local_delivery::LocalDelivery;

/// The present time, for a call that seldom needs it: reading clocks takes longer than much of what such calls do.
pub trait TimeSource {
    /// The present time.
    fn now(&self) -> Now;
}

impl TimeSource for Now {
    fn now(&self) -> Now {
        *self
    }
}

/// Clocks, read under locks of the engine: this must not call the participant.
impl TimeSource for &dyn Fn() -> Now {
    fn now(&self) -> Now {
        self()
    }
}

/// A writer that is told when what a timer has put into the outbox has left.
pub(crate) trait Sent: Send + Sync {
    /// New data up to this change has left.
    fn timer_sent(&self, sent: SequenceNumber);
}

/// The results of one or more calls. The caller owns it, acts on it with no lock held, clears it and uses it
/// again; clearing keeps the memory.
#[derive(Default)]
pub struct Output {
    /// Datagrams to send, in this order. One addressed to [`dunlin_core::Locator::LOCAL`] goes back into
    /// [`crate::Participant::on_datagram`] of the same participant, one to [`beside`](dunlin_core::Locator::in_process) into that of
    /// another one of the process.
    pub outbox: Outbox,
    /// Facts for listeners, conditions and waiting threads, in the order in which they became true.
    pub events: Vec<Event>,
    /// True when [`crate::Participant::next_deadline`] came closer, so that whoever sleeps until the old one
    /// must be woken.
    pub deadline_closer: bool,
    /// A reader would replace a sample that nobody has seen: events are told before more is taken in.
    pub(crate) pause: bool,
    /// A change for readers of this process, which get it as it is, see
    /// [`WriterSlot::write_with`](crate::WriterSlot::write_with).
    pub(crate) local_delivery: LocalDelivery,
    /// Writers whose new data is in the outbox although no thread has their turn, and up to which change.
    sent_by_timer: Vec<(Arc<dyn Sent>, SequenceNumber)>,
}

impl Output {
    /// An empty output.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            outbox: Outbox::new(),
            events: Vec::new(),
            deadline_closer: false,
            pause: false,
            local_delivery: LocalDelivery::new(),
            sent_by_timer: Vec::new(),
        }
    }

    /// Forgets everything; keeps the memory. Clear only what was sent: the engine takes it that the datagrams have
    /// left.
    pub fn clear(&mut self) {
        self.outbox.clear();
        self.events.clear();
        self.deadline_closer = false;
        self.pause = false;
        self.local_delivery.clear();
        for (writer, sent) in self.sent_by_timer.drain(..) {
            writer.timer_sent(sent);
        }
    }

    /// Notes that the outbox has new data of `writer` up to `sent`.
    pub(crate) fn sent_by_timer(&mut self, writer: Arc<dyn Sent>, sent: SequenceNumber) {
        self.sent_by_timer.push((writer, sent));
    }

    /// True when there is nothing to send and nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outbox.is_empty() && self.events.is_empty()
    }

    /// Whether events should be told before more is taken in, as the next sample would replace one that nobody has seen.
    #[must_use]
    pub fn wants_pause(&self) -> bool {
        self.pause
    }

    /// Adds an event that is the same however often it is told, unless it was just told.
    pub(crate) fn tell_once(&mut self, event: Event) {
        if self.events.last() != Some(&event) {
            self.events.push(event);
        }
    }
}

impl core::fmt::Debug for Output {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { outbox, events, deadline_closer, .. } = self;
        let mut output = f.debug_struct("Output");
        output.field("outbox", outbox).field("events", events).field("deadline_closer", deadline_closer);
        output.finish_non_exhaustive()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A fact that somebody outside the engine may want to know. Endpoints are local ones, named by entity id.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A reader's cache has something new: a sample, or a changed instance state.
    DataAvailable {
        /// The reader.
        reader: EntityId,
    },
    /// A writer that refused a sample because its history was full has room again, or was deleted: trying again
    /// tells which.
    SpaceFreed {
        /// The writer.
        writer: EntityId,
    },
    /// All matched reliable readers have acknowledged more than before, or fewer readers must.
    AckAdvanced {
        /// The writer.
        writer: EntityId,
    },
    /// A writer that was [closed](crate::Participant::close_writer) is gone.
    WriterClosed {
        /// The writer.
        writer: EntityId,
        /// How many of its changes some matched reliable reader has not acknowledged.
        unacknowledged: u64,
    },
    /// A matched reader answers no more, so that a full history is no longer kept for it; or it has caught up again.
    ReaderActivity {
        /// The writer.
        writer: EntityId,
        /// The reader it concerns.
        remote: Guid,
        /// Waited for again.
        active: bool,
    },
    /// Content filters of a participant's readers took too many steps: those readers get everything from now on, and filter it
    /// themselves.
    ContentFiltersDropped {
        /// The writer.
        writer: EntityId,
        /// Whose filters they are.
        participant: GuidPrefix,
    },
    /// A writer was matched with a reader, or no longer is.
    PublicationMatched {
        /// The writer.
        writer: EntityId,
        /// The reader it concerns.
        remote: Guid,
        /// How many readers are matched now.
        current: usize,
        /// Matched, or no longer.
        added: bool,
    },
    /// A reader was matched with a writer, or no longer is.
    SubscriptionMatched {
        /// The reader.
        reader: EntityId,
        /// The writer it concerns.
        remote: Guid,
        /// How many writers are matched now.
        current: usize,
        /// Matched, or no longer.
        added: bool,
    },
    /// A reader that orders by source timestamp refused a change whose timestamp is too far ahead of the clock of this host.
    FromFuture {
        /// The reader.
        reader: EntityId,
        /// The writer.
        remote: Guid,
        /// How far.
        ahead: Duration,
    },
    /// A matched endpoint has changed, or its participant or this one has moved, and none of its locators can be used now.
    NoPlaceLeft {
        /// The local writer or reader.
        local: EntityId,
        /// The other endpoint.
        remote: Guid,
    },
    /// A matched writer has shown for the first time that it has matched the reader too.
    WriterKnowsReader {
        /// The reader.
        reader: EntityId,
    },
    /// A reader asks for more than this writer offers.
    OfferedIncompatibleQos {
        /// The writer.
        writer: EntityId,
        /// The reader that asks.
        remote: Guid,
        /// Every policy that stands against a match.
        policies: Vec<IncompatiblePolicy>,
    },
    /// A writer offers less than this reader asks for.
    RequestedIncompatibleQos {
        /// The reader.
        reader: EntityId,
        /// The writer that offers.
        remote: Guid,
        /// Every policy that stands against a match.
        policies: Vec<IncompatiblePolicy>,
    },
    /// A remote endpoint uses a local endpoint's topic name with another type.
    InconsistentTopic {
        /// The local endpoint; [`EntityId::PARTICIPANT`] for the topic itself, see
        /// [`Participant::put_topic`](crate::Participant::put_topic).
        local: EntityId,
        /// The endpoint with the other type.
        remote: Guid,
        /// The topic both name.
        topic_name: String,
        /// The name of its type.
        type_name: String,
        /// Member by member, why the reader's type cannot read the writer's; empty if names or keys differ.
        reasons: Arc<[TypeMismatch]>,
    },
    /// A local endpoint and one of the same topic have no partition in common.
    OtherPartition {
        /// The local writer or reader.
        local: EntityId,
        /// The other endpoint.
        remote: Guid,
        /// The topic both name.
        topic_name: Arc<str>,
        /// The partitions of the publisher.
        publisher: Vec<String>,
        /// The partitions of the subscriber.
        subscriber: Vec<String>,
    },
    /// Something keeps others from being known.
    DiscoveryProblem(DiscoveryProblem),
    /// Another participant did what was refused; told when the count is a power of two, and not of what happens by itself
    /// ([`Misbehaviour::is_usual`]).
    Misbehaviour {
        /// Which, as it said; [`GuidPrefix::UNKNOWN`] if that is not known.
        participant: GuidPrefix,
        /// What.
        what: Misbehaviour,
        /// How often it happened, of all participants together.
        count: u32,
    },
    /// Samples will never arrive.
    SampleLost {
        /// The reader.
        reader: EntityId,
        /// How many.
        count: u64,
    },
    /// A sample was refused by the reader's RESOURCE_LIMITS.
    SampleRejected {
        /// The reader.
        reader: EntityId,
        /// Which limit.
        reason: RejectReason,
        /// The sample's instance.
        instance: InstanceHandle,
    },
    /// A sample of another participant was refused by the quotas of this one, not by RESOURCE_LIMITS; comes after
    /// [`SampleRejected`](Self::SampleRejected).
    OverQuota {
        /// The reader.
        reader: EntityId,
        /// Which quota.
        reason: RejectReason,
    },
    /// An instance was not written within the offered DEADLINE period.
    OfferedDeadlineMissed {
        /// The writer.
        writer: EntityId,
        /// The instance.
        instance: InstanceHandle,
        /// How many periods passed since this was last told.
        count: u32,
    },
    /// An instance was not received within the requested DEADLINE period.
    RequestedDeadlineMissed {
        /// The reader.
        reader: EntityId,
        /// The instance.
        instance: InstanceHandle,
        /// How many periods passed since this was last told.
        count: u32,
    },
    /// A manual writer did not assert itself within its lease.
    LivelinessLost {
        /// The writer.
        writer: EntityId,
    },
    /// A matched writer came to life, stopped being alive, or went away.
    LivelinessChanged {
        /// The reader.
        reader: EntityId,
        /// The writer.
        writer: Guid,
        /// Change of the number of matched writers that are alive.
        alive_delta: i32,
        /// Change of the number of matched writers that are not alive.
        not_alive_delta: i32,
    },
    /// All samples that existed when the reader met its durable writers have been delivered.
    HistoricalComplete {
        /// The reader.
        reader: EntityId,
    },
    /// A participant was seen for the first time.
    ParticipantDiscovered(Arc<ParticipantData>),
    /// A known participant announced something new about itself.
    ParticipantUpdated(Arc<ParticipantData>),
    /// A participant left or fell silent.
    ParticipantLost {
        /// Which.
        prefix: GuidPrefix,
        /// Why it counts as lost.
        reason: LostReason,
    },
    /// A writer of another participant was seen for the first time.
    WriterDiscovered(Arc<DiscoveredWriter>),
    /// A writer of another participant announced something new.
    WriterUpdated(Arc<DiscoveredWriter>),
    /// A writer of another participant is gone.
    WriterLost(Guid),
    /// A reader of another participant was seen for the first time.
    ReaderDiscovered(Arc<DiscoveredReader>),
    /// A reader of another participant announced something new.
    ReaderUpdated(Arc<DiscoveredReader>),
    /// A reader of another participant is gone.
    ReaderLost(Guid),
    /// It is the time that was given to [`set_alarm`](crate::Participant::set_alarm).
    Alarm,
}
