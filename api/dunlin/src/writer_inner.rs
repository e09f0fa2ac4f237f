//! What all handles of one data writer share, without the type of its samples.

mod lending;
mod writing;

use std::any::{Any, TypeId};
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};

use dunlin_buf::BufPool;
use dunlin_cdr::Representation;
use dunlin_core::defaults::LARGE_SAMPLE;
use dunlin_core::{Duration, EntityId, Guid, InstanceHandle, SequenceNumber};
use dunlin_discovery::EndpointLocators;
use dunlin_driver::{AtHighWater, WriteWait};
use dunlin_dynamic::DynamicData;
use dunlin_engine::{Event, LONGEST_AT_HIGH_WATER, WriterPolicies, WriterSlot, WriterSpec};
use dunlin_qos::{DataRepresentationId, DataWriterQos, IncompatiblePolicy};
use dunlin_transport::Lender;
pub(crate) use lending::{PayloadLender, UNIT};
pub(crate) use writing::Prepared;

use crate::builtin::SubscriptionBuiltinTopicData;
use crate::condition::StatusCondition;
use crate::entity::{Deleted, Life, ListenerSlot, OwnCondition, Unusable, endpoint_condition};
use crate::error::{CreateEntityError, SetQosError, WaitForError, WriteError};
use crate::mutex::lock;
use crate::participant::{ParticipantInner, Room};
use crate::publisher_state::{PublisherMember, PublisherState};
use crate::qos_cell::QosCell;
use crate::serialized::SerializedData;
use crate::signal::{Signal, when};
use crate::status::{
    DeadlineMissedStatus, IncompatibleQosStatus, LivelinessLostStatus, MatchedStatus, ReadAndReset,
    StatusMask,
};
use crate::topic::TopicInner;

/// Octets of send buffers a writer keeps for reuse.
const RETAINED_BUFFERS: usize = 8 << 20;

#[derive(Default)]
pub(crate) struct WriterStatuses {
    pub matched: MatchedStatus,
    pub incompatible: IncompatibleQosStatus,
    pub deadline: DeadlineMissedStatus,
    pub liveliness: LivelinessLostStatus,
    pub changed: StatusMask,
}

/// A listener without the type of its samples.
pub(crate) trait ErasedWriterListener: Send + Sync {
    fn call(&self, core: &Arc<WriterInner>, status: StatusMask);

    /// With its type, if an application set it.
    fn typed(&self) -> Option<&dyn Any> {
        None
    }
}

pub(crate) struct EncodeBuffers {
    pub pool: BufPool,
    /// Size of the last sample: the best guess for the next.
    pub last_len: usize,
    pub key_scratch: Vec<u8>,
    /// The instance whose key the writer was last seen to have; NIL while keys may be forgotten.
    keyed: InstanceHandle,
    /// Threads that dispose of or unregister an instance at this moment.
    ending: usize,
}

pub(crate) struct WriterInner {
    pub participant: Arc<ParticipantInner>,
    pub topic: Arc<TopicInner>,
    pub publisher: Arc<PublisherState<Self>>,
    /// The reader of replies, if it writes requests.
    pub related: Option<Guid>,
    qos: QosCell<DataWriterQos>,
    slot: OnceLock<Made>,
    pub encode: Mutex<EncodeBuffers>,
    /// The last sample was one that waits for room first.
    large: AtomicBool,
    /// Made with the first loan.
    lender: OnceLock<Option<Box<dyn Lender>>>,
    /// Made with the first loan of octets, whose longest may be of another size.
    payload_lender: OnceLock<PayloadLender>,
    statuses: Mutex<WriterStatuses>,
    pub listener: ListenerSlot<dyn ErasedWriterListener>,
    life: Life,
    /// Whether it was taken out of the engine.
    left: Mutex<bool>,
    pub signal: Arc<Signal>,
    condition: OwnCondition,
}

/// What an enabled writer is in the engine.
struct Made {
    slot: Arc<WriterSlot>,
    /// Fixed by the QoS, which cannot change it any more.
    representation: Representation,
}

/// Whether the samples of a topic are of no Rust type.
fn is_dynamic(topic: &TopicInner) -> bool {
    [TypeId::of::<DynamicData>(), TypeId::of::<SerializedData>()].contains(&topic.type_id)
}

fn representation(qos: &DataWriterQos) -> Representation {
    match qos.representation.ids.first() {
        Some(DataRepresentationId::Xcdr2) => Representation::Xcdr2,
        _ => Representation::Xcdr1,
    }
}

impl WriterInner {
    pub(crate) fn new(
        participant: Arc<ParticipantInner>,
        topic: Arc<TopicInner>,
        publisher: Arc<PublisherState<Self>>,
        qos: DataWriterQos,
        related: Option<Guid>,
    ) -> Self {
        Self {
            participant,
            topic,
            publisher,
            related,
            qos: QosCell::new(qos),
            slot: OnceLock::new(),
            encode: Mutex::new(EncodeBuffers {
                pool: BufPool::new(RETAINED_BUFFERS),
                last_len: 256,
                key_scratch: Vec::new(),
                keyed: InstanceHandle::NIL,
                ending: 0,
            }),
            large: AtomicBool::new(false),
            lender: OnceLock::new(),
            payload_lender: OnceLock::new(),
            statuses: Mutex::default(),
            listener: ListenerSlot::default(),
            life: Life::default(),
            left: Mutex::default(),
            signal: Arc::default(),
            condition: OwnCondition::default(),
        }
    }

    pub(crate) fn enable(self: &Arc<Self>) -> Result<(), CreateEntityError> {
        if self.is_deleted() {
            return Err(CreateEntityError::AlreadyDeleted);
        }
        if self.slot.get().is_some() {
            return Ok(());
        }
        if !self.publisher.entity.is_enabled() {
            return Err(CreateEntityError::FactoryNotEnabled);
        }
        self.qos.hold();
        let made = self.make();
        if !made.as_ref().is_ok_and(|first| *first) {
            self.qos.release();
        }
        made?;
        // Who changed the QoS or deleted the writer before that found nothing in the engine to change or to delete.
        self.refresh();
        self.leave();
        if self.is_deleted() {
            return Err(CreateEntityError::AlreadyDeleted);
        }
        self.follow_suspension();
        Ok(())
    }

    /// Makes it in the engine; false if another thread has done so at the same moment.
    fn make(self: &Arc<Self>) -> Result<bool, CreateEntityError> {
        let WriterPolicies { qos, publisher_qos, topic_data } = self.policies();
        let representation = representation(&qos);
        self.participant.note_durability("a writer", &self.topic.name, qos.durability);
        let spec = WriterSpec {
            topic_name: self.topic.name.clone(),
            type_name: self.topic.type_name.clone(),
            keyed: self.topic.keyed,
            qos,
            publisher_qos,
            topic_data,
            type_information: self.topic.type_information.clone(),
            // It would be made for each topic of a type known at run time, so such writers leave filtering to the readers.
            type_description: if is_dynamic(&self.topic) { None } else { self.topic.description() },
            locators: EndpointLocators::default(),
        };
        let mut first = false;
        self.participant.create_writer(self, spec, |slot| {
            // Before listeners hear of the first matches and write.
            slot.set_suspended(self.publisher.suspended.load(SeqCst));
            first = self.slot.set(Made { slot, representation }).is_ok();
            first
        })?;
        Ok(first)
    }

    /// What may change while it is enabled.
    fn policies(&self) -> WriterPolicies {
        let topic_data = self.topic.topic_data();
        WriterPolicies {
            qos: self.participant.with_direct_write(self.qos()),
            publisher_qos: self.publisher.qos.get(),
            topic_data,
        }
    }

    /// Applies and announces the present QoS of writer, publisher and topic, if it is enabled.
    pub(crate) fn refresh(self: &Arc<Self>) {
        if let Some(slot) = self.slot() {
            // It can only have been deleted: what is immutable is held, and what is set was checked.
            let _ = self.participant.set_writer_policies(slot, || self.policies());
        }
    }

    /// How samples are serialized.
    pub(crate) fn representation(&self) -> Representation {
        self.slot.get().map_or_else(|| self.qos.with(representation), |made| made.representation)
    }

    /// Unregisters the instances of a deleted writer, sends what waits, and leaves the rest to the engine. Does nothing if the
    /// writer is not there, or on its way out by another thread.
    fn leave(&self) {
        // Of close and enable, which may run at the same time, the second to come here sees what the first has done.
        let mut left = lock(&self.left);
        if *left || !self.is_deleted() {
            return;
        }
        let Some(slot) = self.slot() else { return };
        *left = true;
        drop(left);
        self.participant.note_unheard(&self.topic.name, slot.written_before_readers());
        self.participant.end_instances(slot, self.autodisposes());
        self.ask_for_acknowledgments(slot);
        self.participant.close_writer(slot, &self.topic.name);
    }

    pub(crate) fn slot(&self) -> Option<&Arc<WriterSlot>> {
        self.slot.get().map(|made| &made.slot)
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.life.is_over()
    }

    /// Ends the writer although there are handles to it; false if it had ended before. Nobody waits for its readers.
    pub(crate) fn close(&self) -> bool {
        if !self.delete() {
            return false;
        }
        self.leave();
        self.signal.raise();
        true
    }

    /// From now on nothing can be done with it; false if it was so before.
    fn delete(&self) -> bool {
        let first = self.life.end();
        if first {
            self.listener.set(None);
            self.condition.delete();
        }
        first
    }

    /// What operations use that need a writer which is enabled and was not deleted.
    pub(crate) fn usable(&self) -> Result<&Arc<WriterSlot>, Unusable> {
        self.check()?;
        self.slot().ok_or(Unusable::NotEnabled)
    }

    pub(crate) fn enabled(&self) -> Result<&Arc<WriterSlot>, WriteError> {
        Ok(self.usable()?)
    }

    fn check(&self) -> Result<(), Deleted> {
        if self.is_deleted() { Err(Deleted) } else { Ok(()) }
    }

    pub(crate) fn id(&self) -> Option<EntityId> {
        self.slot().map(|slot| slot.guid().entity_id)
    }

    pub(crate) fn qos(&self) -> DataWriterQos {
        self.qos.get()
    }

    /// How long a write may wait for room: RELIABILITY max_blocking_time.
    pub(crate) fn max_blocking_time(&self) -> Duration {
        self.qos.with(|qos| qos.reliability.max_blocking_time)
    }

    pub(crate) fn transport_priority(&self) -> i32 {
        self.qos.with(|qos| qos.transport_priority.value)
    }

    pub(crate) fn autodisposes(&self) -> bool {
        self.qos.with(|qos| qos.writer_data_lifecycle.autodispose_unregistered_instances)
    }

    pub(crate) fn set_qos(self: &Arc<Self>, new: &DataWriterQos) -> Result<(), SetQosError> {
        self.check()?;
        new.check_consistency()?;
        new.check_supported()?;
        self.participant.check_new_durability(self.qos.with(|qos| qos.durability), new.durability)?;
        self.qos.set(new, DataWriterQos::check_changeable)?;
        // No lock is held here: a changed match runs listeners, which may ask for the QoS.
        self.refresh();
        Ok(())
    }

    pub(crate) fn set_listener(&self, listener: Option<Arc<dyn ErasedWriterListener>>, mask: StatusMask) {
        self.listener.set(listener.map(|listener| (Some(listener), mask)));
    }

    /// The one status condition, which does not keep the writer.
    pub(crate) fn status_condition(self: &Arc<Self>) -> StatusCondition {
        let guid = |core: &Self| core.slot().map(|slot| slot.guid());
        let make = || endpoint_condition(self, &self.signal, guid, Self::changes);
        self.condition.get(|| self.is_deleted(), make)
    }

    pub(crate) fn changes(&self) -> StatusMask {
        if self.is_deleted() { StatusMask::NONE } else { lock(&self.statuses).changed }
    }

    /// Reads a status, zeroes its changes and clears its flag.
    pub(crate) fn read_status<S: ReadAndReset>(
        &self,
        bit: StatusMask,
        pick: impl FnOnce(&mut WriterStatuses) -> &mut S,
    ) -> S {
        let mut statuses = lock(&self.statuses);
        statuses.changed = statuses.changed & !bit;
        pick(&mut statuses).read_and_reset()
    }

    fn change(self: &Arc<Self>, bit: StatusMask, update: impl FnOnce(&mut WriterStatuses)) {
        let mut statuses = lock(&self.statuses);
        update(&mut statuses);
        statuses.changed |= bit;
        drop(statuses);
        let _raise = self.signal.raise_at_end();
        self.tell(bit);
    }

    pub(crate) fn on_event(self: &Arc<Self>, event: &Event) {
        match event {
            Event::PublicationMatched { remote, added, .. } => {
                self.change(StatusMask::PUBLICATION_MATCHED, |s| s.matched.record(*added, (*remote).into()));
            }
            Event::OfferedIncompatibleQos { policies, .. } => self.on_incompatible(policies),
            Event::OfferedDeadlineMissed { instance, count, .. } => {
                self.change(StatusMask::OFFERED_DEADLINE_MISSED, |s| {
                    s.deadline.count.add(i32::try_from(*count).unwrap_or(i32::MAX));
                    s.deadline.last_instance = *instance;
                });
            }
            Event::LivelinessLost { .. } => {
                self.change(StatusMask::LIVELINESS_LOST, |s| s.liveliness.add(1));
            }
            Event::AckAdvanced { .. } | Event::SpaceFreed { .. } | Event::ReaderActivity { .. } => {
                self.signal.raise();
            }
            _ => {}
        }
    }

    fn on_incompatible(self: &Arc<Self>, policies: &[IncompatiblePolicy]) {
        self.change(StatusMask::OFFERED_INCOMPATIBLE_QOS, |s| s.incompatible.record(policies));
    }

    pub(crate) fn wait_for_readers(&self, count: usize, timeout: Duration) -> Result<(), WaitForError> {
        self.usable()?;
        self.participant.wait_for(&self.signal, timeout, || self.has_readers(count))?;
        Ok(self.check()?)
    }

    /// Whether so many readers are matched, or none will be any more.
    fn has_readers(&self, count: usize) -> bool {
        self.is_deleted() || self.matched().len() >= count
    }

    /// The same for tasks, without a time-out.
    pub(crate) async fn readers(self: Arc<Self>, count: usize) -> Result<(), WaitForError> {
        self.usable()?;
        when(Arc::clone(&self.signal), || self.has_readers(count).then_some(())).await;
        Ok(self.check()?)
    }

    pub(crate) fn wait_for_acknowledgments(&self, timeout: Duration) -> Result<(), WaitForError> {
        let slot = self.usable()?;
        let last = self.ask_for_acknowledgments(slot);
        let done = || slot.acked_by_all() >= last || self.is_deleted();
        self.participant.wait_for(&self.signal, timeout, done)?;
        Ok(self.check()?)
    }

    /// Sends what waits, and returns the last change written: readers are asked for what they have not acknowledged of it.
    fn ask_for_acknowledgments(&self, slot: &WriterSlot) -> SequenceNumber {
        let last = slot.last_sn();
        self.participant.flush(slot);
        if slot.acked_by_all() < last {
            self.participant.request_acknowledgments(slot);
        }
        last
    }

    /// wait_for_acknowledgments for tasks, without a time-out.
    pub(crate) async fn acknowledged(self: Arc<Self>) -> Result<(), WaitForError> {
        let slot = Arc::clone(self.usable()?);
        let last = self.ask_for_acknowledgments(&slot);
        // The handle keeps the writer, whose events end the wait.
        let done = || (slot.acked_by_all() >= last || self.is_deleted()).then_some(());
        when(Arc::clone(&self.signal), done).await;
        Ok(self.check()?)
    }

    /// A sample was serialized to so many octets.
    pub(crate) fn note_len(&self, len: usize) {
        let large = len >= LARGE_SAMPLE;
        if self.large.load(Relaxed) != large {
            self.large.store(large, Relaxed);
        }
    }

    /// Waits until the history takes a large sample and readers have not too much to acknowledge, before it is serialized: a
    /// writer that blocks need not hold it twice. Returns what the write itself still waits for. What it says about a history
    /// that stays full is left to the write. All of them together wait for max_blocking_time at most.
    pub(crate) fn wait_for_room(
        &self,
        slot: &WriterSlot,
        instance: InstanceHandle,
    ) -> Result<WriteWait, WriteError> {
        let room = || self.participant.room(slot, instance);
        if !self.large.load(Relaxed) || room() == Room::Now {
            return Ok(WriteWait::default());
        }
        let timeout = self.max_blocking_time();
        let until = self.participant.now().plus(timeout);
        let wait = |timeout, done: &dyn Fn() -> bool| {
            let waited = self.participant.wait_for(&self.signal, timeout, done);
            !matches!(waited, Err(WaitForError::Timeout(_)))
        };
        if !wait(timeout, &|| room() != Room::Full) {
            return Err(WriteError::Timeout(timeout));
        }
        let left = until.since(self.participant.now());
        let in_time = wait(left.min(LONGEST_AT_HIGH_WATER), &|| room() != Room::AtHighWater);
        let at_high_water = if in_time { AtHighWater::Wait } else { AtHighWater::Pass };
        Ok(WriteWait { at_high_water, until: Some(until) })
    }

    /// Whether the writer has no serialized key of a registered instance; who writes one instance again and again asks it once.
    pub(crate) fn lacks_key(&self, slot: &WriterSlot, instance: InstanceHandle) -> bool {
        let mut encode = lock(&self.encode);
        if encode.keyed != instance {
            if !slot.is_keyed(instance) {
                return true;
            }
            if encode.ending == 0 {
                encode.keyed = instance;
            }
        }
        false
    }

    /// Where memory for samples comes from whose payloads have so many octets, the same each time.
    pub(crate) fn lender(&self, len: usize) -> Option<&dyn Lender> {
        self.lender.get_or_init(|| self.participant.lender(len)).as_deref()
    }

    /// Where memory for payloads comes from, of so many octets at most unless that was settled before.
    pub(crate) fn payload_lender(&self, longest: usize) -> &PayloadLender {
        self.payload_lender.get_or_init(|| PayloadLender::new(longest, |len| self.participant.lender(len)))
    }

    /// The matched readers; none of a writer that was deleted.
    pub(crate) fn matched(&self) -> Vec<Arc<SubscriptionBuiltinTopicData>> {
        self.usable().ok().map(|slot| slot.matched_readers()).unwrap_or_default()
    }
}

impl PublisherMember for WriterInner {
    fn is_deleted(&self) -> bool {
        Self::is_deleted(self)
    }

    fn enable(self: &Arc<Self>) -> Result<(), CreateEntityError> {
        Self::enable(self)
    }
}

impl PublisherState<WriterInner> {
    /// The writers that were not deleted, the most urgent first: what waits of them leaves in this order.
    pub(crate) fn urgent_first(&self) -> Vec<Arc<WriterInner>> {
        let mut writers = self.writers();
        put_urgent_first(&mut writers);
        writers
    }
}

/// By TRANSPORT_PRIORITY, and those of equal priority as before.
pub(crate) fn put_urgent_first(writers: &mut [Arc<WriterInner>]) {
    writers.sort_by_cached_key(|writer| Reverse(writer.transport_priority()));
}

impl Drop for WriterInner {
    fn drop(&mut self) {
        self.close();
    }
}
