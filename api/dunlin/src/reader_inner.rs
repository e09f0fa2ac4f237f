//! What all handles of one data reader share, without the type of its samples.

mod behind;
mod source;

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dunlin_cache::{CachedSample, SampleState, Selection, ViewState};
use dunlin_cdr::TypeSupport;
use dunlin_core::{Duration, EntityId, Guid, SampleIdentity};
use dunlin_discovery::EndpointLocators;
use dunlin_engine::{ContentFilter, Event, ReaderPolicies, ReaderSlot, ReaderSpec, WriteRequest};
use dunlin_qos::{DataReaderQos, DurabilityKind, IncompatiblePolicy};
pub(crate) use source::{JoinedTopic, TopicSource};

use crate::builtin::PublicationBuiltinTopicData;
use crate::condition::{Condition, ConditionCore, StatusCondition};
use crate::content_filter::{FilteredReader, FilteredTopicInner};
use crate::entity::{Deleted, Life, ListenerSlot, OwnCondition, Unusable, endpoint_condition};
use crate::error::{CreateEntityError, ReadError, SetQosError, WaitForError};
use crate::mutex::lock;
use crate::participant::ParticipantInner;
use crate::qos_cell::QosCell;
use crate::signal::{Signal, when, when_any};
use crate::status::{
    DeadlineMissedStatus, IncompatibleQosStatus, LivelinessChangedStatus, MatchedStatus, ReadAndReset,
    SampleLostStatus, SampleRejectedStatus, StatusMask,
};
use crate::subscriber_state::{SubscriberMember, SubscriberState};
use crate::topic::TopicInner;

#[derive(Default)]
pub(crate) struct ReaderStatuses {
    pub matched: MatchedStatus,
    pub incompatible: IncompatibleQosStatus,
    pub deadline: DeadlineMissedStatus,
    pub liveliness: LivelinessChangedStatus,
    pub lost: SampleLostStatus,
    pub rejected: SampleRejectedStatus,
    pub changed: StatusMask,
}

/// A listener without the type of its samples.
pub(crate) trait ErasedReaderListener: Send + Sync {
    fn call(&self, core: &Arc<ReaderInner>, status: StatusMask);

    /// With its type, if an application set it.
    fn typed(&self) -> Option<&dyn Any> {
        None
    }
}

pub(crate) struct ReaderInner {
    pub participant: Arc<ParticipantInner>,
    pub topic: Arc<TopicInner>,
    /// Of a content-filtered topic.
    filter: Option<Arc<FilteredTopicInner>>,
    /// Of a multi-topic.
    multi: Option<Arc<dyn JoinedTopic>>,
    /// The readers of the topics that it joins, whose data it shows.
    behind: OnceLock<Vec<Arc<ReaderInner>>>,
    pub subscriber: Arc<SubscriberState<Self>>,
    /// The writer of replies, if it reads requests.
    pub related: Option<Guid>,
    /// The reader of rows, if this is one of those behind a multi-topic: nobody but that hears of it.
    pub rows: Option<Weak<ReaderInner>>,
    type_support: Arc<dyn TypeSupport>,
    qos: QosCell<DataReaderQos>,
    slot: OnceLock<Arc<ReaderSlot>>,
    /// Reused between calls of take and read.
    scratch: Mutex<Vec<CachedSample>>,
    /// Samples whose payload did not decode into the reader's type.
    pub undecodable: AtomicU32,
    statuses: Mutex<ReaderStatuses>,
    pub listener: ListenerSlot<dyn ErasedReaderListener>,
    /// A part of the library that takes all the data: nobody is told of data instead of it.
    pub consumer: OnceLock<Arc<dyn ErasedReaderListener>>,
    life: Life,
    /// Whether it was taken out of the engine.
    left: Mutex<bool>,
    /// Read and query conditions that somebody has, and that were not deleted.
    conditions: Mutex<Vec<Weak<ConditionCore>>>,
    /// Of one of them samples may come to be by being read.
    follows_reading: AtomicBool,
    pub signal: Arc<Signal>,
    condition: OwnCondition,
}

impl ReaderInner {
    pub(crate) fn new(
        participant: Arc<ParticipantInner>,
        TopicSource { topic, filter, multi }: TopicSource,
        subscriber: Arc<SubscriberState<Self>>,
        type_support: Arc<dyn TypeSupport>,
        qos: DataReaderQos,
        related: Option<Guid>,
    ) -> Self {
        Self {
            participant,
            topic,
            filter,
            multi,
            behind: OnceLock::new(),
            subscriber,
            related,
            rows: None,
            type_support,
            qos: QosCell::new(qos),
            slot: OnceLock::new(),
            scratch: Mutex::default(),
            undecodable: AtomicU32::new(0),
            statuses: Mutex::default(),
            listener: ListenerSlot::default(),
            consumer: OnceLock::new(),
            life: Life::default(),
            left: Mutex::default(),
            conditions: Mutex::default(),
            follows_reading: AtomicBool::new(false),
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
        if !self.subscriber.entity.is_enabled() {
            return Err(CreateEntityError::FactoryNotEnabled);
        }
        self.qos.hold();
        let made = self.make();
        if !made.as_ref().is_ok_and(|first| *first) {
            self.qos.release();
        }
        if made? {
            // Of several threads that enable the reader one feeds it.
            if let Some(multi) = &self.multi {
                let make = || Arc::clone(multi).readers_behind(self, &self.qos_behind());
                self.behind.get_or_init(make).iter().try_for_each(Self::enable)?;
            }
        }
        // Who changed the QoS or deleted the reader before that found nothing in the engine to change or to delete.
        self.refresh();
        self.stay()?;
        // Parameters that were set meanwhile.
        if let Some(topic) = &self.filter {
            self.apply_content_filter(&topic.current());
        }
        Ok(())
    }

    /// Makes it in the engine; false if another thread has done so at the same moment.
    fn make(self: &Arc<Self>) -> Result<bool, CreateEntityError> {
        let spec = self.spec();
        self.participant.note_durability("a reader", &self.topic.name, spec.qos.durability);
        if self.multi.is_some() {
            return self.create_private(&spec);
        }
        let filter = self.filter.as_ref().map(|topic| topic.current());
        let mut first = false;
        self.participant.create_reader(self, spec, filter, |slot| {
            first = self.slot.set(slot).is_ok();
            first
        })?;
        Ok(first)
    }

    /// Enables a reader that gets its samples from the library.
    pub(crate) fn enable_private(self: &Arc<Self>) -> Result<(), CreateEntityError> {
        self.qos.hold();
        self.create_private(&self.spec())?;
        self.refresh();
        Ok(())
    }

    /// Whether this call, and not another thread's, made the reader.
    fn create_private(self: &Arc<Self>, spec: &ReaderSpec) -> Result<bool, CreateEntityError> {
        let mut first = false;
        self.participant.create_private_reader(self, spec, |slot| {
            first = self.slot.set(slot).is_ok();
            first
        })?;
        self.stay()?;
        Ok(first)
    }

    /// After a step of enable: who deleted the reader before that found nothing in the engine to delete.
    fn stay(&self) -> Result<(), CreateEntityError> {
        self.leave();
        if self.is_deleted() { Err(CreateEntityError::AlreadyDeleted) } else { Ok(()) }
    }

    /// Takes out of the engine what is there of a deleted reader.
    fn leave(&self) {
        // Of close and enable, which may run at the same time, the second to come here sees what the first has done.
        let mut left = lock(&self.left);
        if !self.is_deleted() {
            return;
        }
        let slot = if *left { None } else { self.slot.get() };
        *left |= slot.is_some();
        drop(left);
        for reader in self.readers_behind() {
            reader.close();
        }
        if let Some(slot) = slot {
            self.participant.delete_reader(slot);
        }
    }

    fn spec(&self) -> ReaderSpec {
        let ReaderPolicies { qos, subscriber_qos, topic_data } = self.policies();
        ReaderSpec {
            topic_name: self.topic.name.clone(),
            type_name: self.topic.type_name.clone(),
            qos,
            subscriber_qos,
            topic_data,
            type_information: self.topic.type_information.clone(),
            locators: EndpointLocators::default(),
            type_support: Arc::clone(&self.type_support),
        }
    }

    /// What may change while it is enabled.
    fn policies(&self) -> ReaderPolicies {
        let topic_data = self.topic.topic_data();
        ReaderPolicies { qos: self.qos(), subscriber_qos: self.subscriber.qos.get(), topic_data }
    }

    /// Applies and announces the present QoS of reader, subscriber and topic, if it is enabled.
    pub(crate) fn refresh(self: &Arc<Self>) {
        if let Some(slot) = self.slot.get() {
            // It can only have been deleted: what is immutable is held, and what is set was checked.
            let _ = self.participant.set_reader_policies(slot, || self.policies());
        }
        self.refresh_behind();
    }

    /// What it reads.
    pub(crate) fn source(&self) -> TopicSource {
        TopicSource { topic: Arc::clone(&self.topic), filter: self.filter.clone(), multi: self.multi.clone() }
    }

    pub(crate) fn slot(&self) -> Option<&Arc<ReaderSlot>> {
        self.slot.get()
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.life.is_over()
    }

    /// Ends the reader although there are handles to it; false if it had ended before.
    pub(crate) fn close(&self) -> bool {
        if !self.life.end() {
            return false;
        }
        self.listener.set(None);
        self.condition.delete();
        self.delete_conditions();
        self.leave();
        self.signal.raise();
        true
    }

    /// A new condition on samples in `wanted` states, which keeps the reader from being deleted; of a reader that was deleted it is
    /// deleted too.
    pub(crate) fn add_condition(&self, condition: &Condition, wanted: &Selection) {
        // Reading a sample makes it READ, and its instance NOT_NEW.
        if !wanted.sample_states.contains(SampleState::NotRead)
            || !wanted.view_states.contains(ViewState::New)
        {
            self.follows_reading.store(true, Ordering::Relaxed);
        }
        let mut conditions = lock(&self.conditions);
        conditions.retain(|known| known.strong_count() > 0);
        conditions.push(Arc::downgrade(&condition.0));
        drop(conditions);
        if self.is_deleted() {
            condition.delete();
        }
    }

    fn conditions(&self) -> Vec<Condition> {
        lock(&self.conditions).iter().filter_map(Weak::upgrade).map(Condition).collect()
    }

    /// Whether there is a condition of it that was not deleted.
    pub(crate) fn has_conditions(&self) -> bool {
        self.conditions().iter().any(|condition| !condition.is_deleted())
    }

    /// Deletes every condition.
    pub(crate) fn delete_conditions(&self) {
        for condition in self.conditions() {
            condition.delete();
        }
    }

    /// What operations use that need a reader which is enabled and was not deleted.
    pub(crate) fn usable(&self) -> Result<&Arc<ReaderSlot>, Unusable> {
        self.check()?;
        self.slot.get().ok_or(Unusable::NotEnabled)
    }

    pub(crate) fn enabled(&self) -> Result<&Arc<ReaderSlot>, ReadError> {
        Ok(self.usable()?)
    }

    pub(crate) fn check(&self) -> Result<(), Deleted> {
        if self.is_deleted() { Err(Deleted) } else { Ok(()) }
    }

    pub(crate) fn id(&self) -> Option<EntityId> {
        self.slot.get().map(|slot| slot.guid().entity_id)
    }

    pub(crate) fn qos(&self) -> DataReaderQos {
        self.qos.get()
    }

    pub(crate) fn set_qos(self: &Arc<Self>, new: &DataReaderQos) -> Result<(), SetQosError> {
        self.check()?;
        new.check_consistency()?;
        new.check_supported()?;
        self.participant.check_new_durability(self.qos.with(|qos| qos.durability), new.durability)?;
        self.qos.set(new, DataReaderQos::check_changeable)?;
        // No lock is held here: a changed match runs listeners, which may ask for the QoS.
        self.refresh();
        Ok(())
    }

    pub(crate) fn set_listener(&self, listener: Option<Arc<dyn ErasedReaderListener>>, mask: StatusMask) {
        self.listener.set(listener.map(|listener| (Some(listener), mask)));
    }

    /// Reads or takes into the scratch list and hands it to `each`.
    pub(crate) fn collect<R>(
        &self,
        selection: &Selection,
        take: bool,
        each: impl FnOnce(&mut Vec<CachedSample>) -> R,
    ) -> Result<R, ReadError> {
        self.collect_where(selection, None, take, each)
    }

    /// Like [`ReaderInner::collect`], of the samples for which `query` is true.
    pub(crate) fn collect_where<R>(
        &self,
        selection: &Selection,
        query: crate::participant::Query<'_>,
        take: bool,
        each: impl FnOnce(&mut Vec<CachedSample>) -> R,
    ) -> Result<R, ReadError> {
        let slot = self.enabled()?;
        self.clear_data_available();
        // Taken out, not locked: making room can bring more samples, whose listener reads on this thread.
        let mut found = std::mem::take(&mut *lock(&self.scratch));
        let collected = self.participant.collect(slot, selection, query, take, &mut found);
        // Whoever looked at such a condition before has made it before, so this knows of it.
        if !found.is_empty() && self.follows_reading.load(Ordering::Relaxed) {
            self.signal.raise();
        }
        let result = collected.map(|_| each(&mut found)).map_err(|_| ReadError::UnknownInstance);
        found.clear();
        *lock(&self.scratch) = found;
        result
    }

    /// The data was looked at, or its arrival was told.
    pub(crate) fn clear_data_available(&self) {
        let mut statuses = lock(&self.statuses);
        statuses.changed = statuses.changed & !StatusMask::DATA_AVAILABLE;
        drop(statuses);
        self.subscriber.entity.clear(StatusMask::DATA_ON_READERS);
    }

    /// The one status condition, which does not keep the reader.
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
        pick: impl FnOnce(&mut ReaderStatuses) -> &mut S,
    ) -> S {
        let mut statuses = lock(&self.statuses);
        statuses.changed = statuses.changed & !bit;
        pick(&mut statuses).read_and_reset()
    }

    /// SAMPLE_LOST, read like the others. It counts every loss that lies before anything that can be taken now, also if the
    /// thread that found it out has not told it yet.
    pub(crate) fn read_lost(&self) -> SampleLostStatus {
        let total = self.samples_lost();
        self.read_status(StatusMask::SAMPLE_LOST, |s| {
            s.lost.rise_to(total);
            &mut s.lost
        })
    }

    /// Of a reader of rows, with those of the readers behind it.
    fn samples_lost(&self) -> i32 {
        let of = |core: &Self| core.slot.get().map_or(0, |slot| slot.samples_lost());
        let total = self.readers_behind().iter().fold(of(self), |sum, reader| sum.saturating_add(of(reader)));
        i32::try_from(total).unwrap_or(i32::MAX)
    }

    /// Samples are lost; the application may know already.
    fn on_lost(self: &Arc<Self>) {
        let total = self.samples_lost();
        self.change_if(StatusMask::SAMPLE_LOST, |s| s.lost.rise_to(total));
    }

    fn change(self: &Arc<Self>, bit: StatusMask, update: impl FnOnce(&mut ReaderStatuses)) {
        self.change_if(bit, |statuses| {
            update(statuses);
            true
        });
    }

    /// The same if `update` says that there is something new.
    fn change_if(self: &Arc<Self>, bit: StatusMask, update: impl FnOnce(&mut ReaderStatuses) -> bool) {
        let mut statuses = lock(&self.statuses);
        if !update(&mut statuses) {
            return;
        }
        statuses.changed |= bit;
        drop(statuses);
        let _raise = self.signal.raise_at_end();
        self.tell(bit);
    }

    pub(crate) fn on_event(self: &Arc<Self>, event: &Event) {
        let concerns_rows = matches!(
            event,
            Event::SubscriptionMatched { .. }
                | Event::RequestedIncompatibleQos { .. }
                | Event::SampleLost { .. }
                | Event::SampleRejected { .. }
                | Event::LivelinessChanged { .. }
        );
        if let Some(rows) = self.rows.as_ref().filter(|_| concerns_rows).and_then(Weak::upgrade) {
            rows.on_event(event);
        }
        match event {
            Event::DataAvailable { .. } => self.change(StatusMask::DATA_AVAILABLE, |_| {}),
            Event::SubscriptionMatched { remote, added, .. } => {
                self.change(StatusMask::SUBSCRIPTION_MATCHED, |s| s.matched.record(*added, (*remote).into()));
            }
            Event::RequestedIncompatibleQos { policies, .. } => self.on_incompatible(policies),
            Event::SampleLost { .. } => self.on_lost(),
            Event::SampleRejected { reason, instance, .. } => {
                self.change(StatusMask::SAMPLE_REJECTED, |s| {
                    s.rejected.count.add(1);
                    s.rejected.last_reason = Some(*reason);
                    s.rejected.last_instance = *instance;
                });
            }
            Event::RequestedDeadlineMissed { instance, count, .. } => {
                self.change(StatusMask::REQUESTED_DEADLINE_MISSED, |s| {
                    s.deadline.count.add(i32::try_from(*count).unwrap_or(i32::MAX));
                    s.deadline.last_instance = *instance;
                });
            }
            Event::LivelinessChanged { writer, alive_delta, not_alive_delta, .. } => {
                self.change(StatusMask::LIVELINESS_CHANGED, |s| {
                    s.liveliness.record(*alive_delta, *not_alive_delta, (*writer).into());
                });
            }
            Event::HistoricalComplete { .. } | Event::WriterKnowsReader { .. } => self.signal.raise(),
            _ => {}
        }
    }

    fn on_incompatible(self: &Arc<Self>, policies: &[IncompatiblePolicy]) {
        self.change(StatusMask::REQUESTED_INCOMPATIBLE_QOS, |s| {
            s.incompatible.record(policies);
        });
    }

    pub(crate) fn wait_for_writers(&self, count: usize, timeout: Duration) -> Result<(), WaitForError> {
        self.usable()?;
        self.participant.wait_for(&self.signal, timeout, || self.has_writers(count))?;
        Ok(self.check()?)
    }

    /// Whether so many writers are matched, or none will be any more.
    fn has_writers(&self, count: usize) -> bool {
        self.is_deleted() || self.matched().len() >= count
    }

    /// The same for tasks, without a time-out.
    pub(crate) async fn writers(self: Arc<Self>, count: usize) -> Result<(), WaitForError> {
        self.usable()?;
        when(Arc::clone(&self.signal), || self.has_writers(count).then_some(())).await;
        Ok(self.check()?)
    }

    /// The readers that match writers: itself, or those behind it of a multi-topic.
    pub(crate) fn parts(self: &Arc<Self>) -> Vec<Arc<Self>> {
        self.behind.get().cloned().unwrap_or_else(|| vec![Arc::clone(self)])
    }

    pub(crate) fn wait_for_historical_data(self: &Arc<Self>, timeout: Duration) -> Result<(), WaitForError> {
        self.usable()?;
        let readers = self.parts();
        let mut signals: Vec<&Signal> = readers.iter().map(|reader| &*reader.signal).collect();
        // What services say comes with discovery.
        signals.push(&self.participant.entity.signal);
        self.participant
            .wait_for_any(&signals, timeout, || readers.iter().all(|reader| reader.has_history()))?;
        Ok(self.check()?)
    }

    /// Whether everything has arrived that existed when it met its durable writers, or nothing can any more.
    fn has_history(&self) -> bool {
        let complete = |slot: &Arc<ReaderSlot>| {
            slot.historical_complete()
                && (self.qos.with(|qos| qos.durability.kind < DurabilityKind::Transient)
                    || self.participant.has_history_of_services(slot.guid(), &slot.matched_writers()))
        };
        self.is_deleted() || self.slot.get().is_some_and(complete)
    }

    /// The same for tasks, without a time-out.
    pub(crate) async fn historical_data(self: Arc<Self>) -> Result<(), WaitForError> {
        self.usable()?;
        // One after the other: what one of them has does not get lost again.
        for reader in self.parts() {
            let signals = [&reader.signal, &self.participant.entity.signal].map(Arc::clone);
            when_any(signals, || reader.has_history().then_some(())).await;
        }
        Ok(self.check()?)
    }

    pub(crate) fn matched(&self) -> Vec<Arc<PublicationBuiltinTopicData>> {
        if let Some(behind) = self.behind.get() {
            return behind.iter().flat_map(|reader| reader.matched()).collect();
        }
        self.usable().ok().map(|slot| slot.matched_writers()).unwrap_or_default()
    }

    /// Puts rows of a multi-topic into the cache.
    pub(crate) fn give(&self, changes: impl IntoIterator<Item = WriteRequest>) {
        if let Some(slot) = self.slot.get() {
            self.participant.deliver(slot, changes);
        }
    }

    pub(crate) fn commit(&self, through: SampleIdentity) -> Result<(), ReadError> {
        let slot = self.enabled()?;
        if !self.qos.with(DataReaderQos::acknowledges_on_commit) {
            return Err(ReadError::AcknowledgesByItself);
        }
        self.participant.commit(slot, through);
        Ok(())
    }

    pub(crate) fn count_undecodable(&self) {
        self.undecodable.fetch_add(1, Ordering::Relaxed);
    }
}

impl SubscriberMember for ReaderInner {
    fn is_deleted(&self) -> bool {
        Self::is_deleted(self)
    }

    fn enable(self: &Arc<Self>) -> Result<(), CreateEntityError> {
        Self::enable(self)
    }

    fn delete(&self) {
        self.close();
    }
}

impl FilteredReader for ReaderInner {
    fn is_deleted(&self) -> bool {
        Self::is_deleted(self)
    }

    fn apply_content_filter(&self, filter: &Arc<ContentFilter>) {
        if let Some(slot) = self.slot.get() {
            self.participant.set_content_filter(slot, filter);
        }
    }
}

impl Drop for ReaderInner {
    fn drop(&mut self) {
        self.close();
    }
}
