//! DataReader (DDS 1.4 §2.2.2.5.3).

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dunlin_cache::{
    CachedSample, InstanceSelect, InstanceStateMask, SampleStateMask, Selection, ViewStateMask,
};
use dunlin_cdr::{DecodeOptions, Limits, TopicType};
use dunlin_core::{Duration, Guid, InstanceHandle, SampleIdentity, VendorId};
use dunlin_engine::{ContentFilterStats, ReaderStats};
use dunlin_qos::DataReaderQos;

use crate::builtin::PublicationBuiltinTopicData;
use crate::condition::{Condition, StatusCondition};
use crate::endpoint_qos::EndpointQos;
use crate::entity::EntityError;
use crate::error::{CreateEntityError, NotMatched, ReadError, SetQosError, WaitForError};
use crate::query::Query;
use crate::reader_inner::ReaderInner;
use crate::representation;
use crate::sample::{RawSample, Sample};
use crate::status::{
    DeadlineMissedStatus, IncompatibleQosStatus, LivelinessChangedStatus, MatchedStatus, SampleLostStatus,
    SampleRejectedStatus, StatusMask,
};
use crate::subscriber::Subscriber;

/// Reads samples of one topic. Cheap to clone; the reader goes away with its last handle.
///
/// Made by [`Subscriber::create_datareader`]. The usual order of calls: wait for data by a [`WaitSet`](crate::WaitSet) with a
/// [condition](Self::create_readcondition), a [listener](Self::set_listener) or a [stream](Self::stream), then
/// [`take`](Self::take) until nothing is left. A wait-set finds at once what arrived before.
///
/// Reading never blocks. `take` removes what it returns, `read` leaves it marked as read. With access scope GROUP in the
/// subscriber's PRESENTATION both fail with [`ReadError::NotBegun`] outside of
/// [`begin_access`](Subscriber::begin_access) and [`end_access`](Subscriber::end_access), unless
/// [`on_data_on_readers`](crate::SubscriberListener::on_data_on_readers) runs (DDS 1.4 §2.2.2.5.2.8). With ordered access
/// besides, a call returns one sample at most, whatever `max_samples` says (§2.2.2.5.3.8): [`datareaders`] says whose is the
/// next.
///
/// [`datareaders`]: Subscriber::datareaders
pub struct DataReader<T: TopicType> {
    core: Arc<ReaderInner>,
    sample: PhantomData<fn() -> T>,
}

impl<T: TopicType> Clone for DataReader<T> {
    fn clone(&self) -> Self {
        Self::from_core(Arc::clone(&self.core))
    }
}

impl<T: TopicType> std::fmt::Debug for DataReader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataReader('{}', {:?})", self.core.topic.name, self.core.id())
    }
}

/// Selects samples by sample, view and instance state; true while the reader has such a sample.
///
/// Made by [`DataReader::create_readcondition`]. Attach its [`condition`](Self::condition) to a [`WaitSet`](crate::WaitSet); once
/// the wait has returned, [`take_w_condition`](DataReader::take_w_condition) gives the samples that it selects. It keeps its
/// reader from being deleted until it is dropped or deleted.
#[derive(Clone, Debug)]
pub struct ReadCondition {
    reader: std::sync::Weak<ReaderInner>,
    states: StateMasks,
    query: Option<Arc<Query>>,
    condition: Condition,
}

/// Sample, view and instance states to select by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateMasks {
    /// READ or NOT_READ.
    pub sample: SampleStateMask,
    /// NEW or NOT_NEW.
    pub view: ViewStateMask,
    /// ALIVE, NOT_ALIVE_DISPOSED, NOT_ALIVE_NO_WRITERS.
    pub instance: InstanceStateMask,
}

impl StateMasks {
    /// Every sample.
    pub const ANY: Self =
        Self { sample: SampleStateMask::ANY, view: ViewStateMask::ANY, instance: InstanceStateMask::ANY };
    /// Samples that were not read before.
    pub const NOT_READ: Self = Self { sample: SampleStateMask::NOT_READ, ..Self::ANY };
}

impl ReadCondition {
    /// For [`crate::WaitSet::attach_condition`].
    #[must_use]
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// The states it selects.
    #[must_use]
    pub fn states(&self) -> StateMasks {
        self.states
    }

    pub(crate) fn of_query(
        reader: std::sync::Weak<ReaderInner>,
        states: StateMasks,
        query: Arc<Query>,
        condition: Condition,
    ) -> Self {
        Self { reader, states, query: Some(query), condition }
    }

    /// The reader; `None` once its last handle is gone.
    pub(crate) fn reader(&self) -> Option<Arc<ReaderInner>> {
        self.reader.upgrade()
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.condition.is_deleted()
    }

    /// The condition may have changed.
    pub(crate) fn raise(&self) {
        if let Some(reader) = self.reader.upgrade() {
            reader.signal.raise();
        }
    }
}

pub(crate) fn selection(max_samples: usize, states: StateMasks, instance: InstanceSelect) -> Selection {
    Selection {
        max_samples,
        sample_states: states.sample,
        view_states: states.view,
        instance_states: states.instance,
        instance,
    }
}

impl<T: TopicType> DataReader<T> {
    pub(crate) fn from_core(core: Arc<ReaderInner>) -> Self {
        Self { core, sample: PhantomData }
    }

    pub(crate) fn core(&self) -> &Arc<ReaderInner> {
        &self.core
    }

    /// Enables a reader that its subscriber created disabled.
    ///
    /// # Errors
    /// When the participant has no room for another endpoint.
    pub fn enable(&self) -> Result<(), CreateEntityError> {
        self.core.enable()
    }

    /// Name of the topic.
    #[must_use]
    pub fn topic_name(&self) -> &str {
        &self.core.topic.name
    }

    /// The GUID on the wire; `None` while the reader is disabled.
    #[must_use]
    pub fn guid(&self) -> Option<Guid> {
        self.core.slot().map(|slot| slot.guid())
    }

    fn decoded(&self, selection: &Selection, take: bool) -> Result<Vec<Sample<T>>, ReadError> {
        let mut out = Vec::new();
        self.decode_into(selection, take, &mut out)?;
        Ok(out)
    }

    /// Samples that satisfy a condition.
    fn decoded_w_condition(
        &self,
        max_samples: usize,
        condition: &ReadCondition,
        instance: InstanceSelect,
        take: bool,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        if condition.reader.as_ptr() != Arc::as_ptr(&self.core) {
            return Err(ReadError::ForeignCondition);
        }
        self.check_access()?;
        if condition.condition.is_deleted() {
            return Err(ReadError::DeletedCondition);
        }
        let selection = selection(self.at_most(max_samples), condition.states, instance);
        match &condition.query {
            None => self.decoded(&selection, take),
            Some(query) => {
                let query = query.filter();
                self.core.collect_query(&selection, &query, take, |found| {
                    let mut out = Vec::new();
                    self.decode(found, &mut out);
                    out
                })
            }
        }
    }

    fn check_access(&self) -> Result<(), ReadError> {
        self.core.enabled()?;
        self.core.subscriber.check_access().map_err(|_| ReadError::NotBegun)
    }

    /// How many samples a call returns at most: those of a group that are read in order come one by one, as the next may
    /// be another reader's (DDS 1.4 §2.2.2.5.3.8).
    fn at_most(&self, max_samples: usize) -> usize {
        if self.core.subscriber.scope().one_by_one { max_samples.min(1) } else { max_samples }
    }

    fn decode_into(
        &self,
        selection: &Selection,
        take: bool,
        out: &mut Vec<Sample<T>>,
    ) -> Result<usize, ReadError> {
        self.check_access()?;
        let selection = Selection { max_samples: self.at_most(selection.max_samples), ..*selection };
        self.core.collect(&selection, take, |found| self.decode(found, out))
    }

    /// Appends the samples that decode; returns how many.
    fn decode(&self, found: &mut Vec<CachedSample>, out: &mut Vec<Sample<T>>) -> usize {
        let before = out.len();
        out.reserve(found.len());
        let support = &*self.core.topic.type_support;
        for sample in found.drain(..) {
            match Sample::decode(sample, support) {
                Ok(sample) => out.push(sample),
                Err(_) => self.core.count_undecodable(),
            }
        }
        out.len() - before
    }

    /// Takes samples and makes of each what the caller wants; those for which that is `None` count as not decodable.
    pub(crate) fn take_each<R>(
        &self,
        max_samples: usize,
        make: impl Fn(CachedSample) -> Option<R>,
    ) -> Result<Vec<R>, ReadError> {
        self.check_access()?;
        let all = selection(self.at_most(max_samples), StateMasks::ANY, InstanceSelect::Any);
        self.core.collect(&all, true, |found| {
            let made = found.drain(..).filter_map(|sample| {
                let made = make(sample);
                if made.is_none() {
                    self.core.count_undecodable();
                }
                made
            });
            made.collect()
        })
    }

    /// The value of a payload that a writer of this vendor made, if it is one.
    pub(crate) fn decode_payload(&self, payload: &[u8], vendor: VendorId) -> Option<T> {
        let options = DecodeOptions::for_vendor(vendor);
        T::read_payload(&*self.core.topic.type_support, payload, &Limits::default(), options).ok()
    }

    /// take into a list of the caller's, which grows but is not emptied first; returns how many came. For types
    /// without strings and sequences this allocates nothing once the list is long enough.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn take_into(&self, max_samples: usize, out: &mut Vec<Sample<T>>) -> Result<usize, ReadError> {
        self.decode_into(&selection(max_samples, StateMasks::ANY, InstanceSelect::Any), true, out)
    }

    /// take: up to `max_samples` samples in any state.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn take(&self, max_samples: usize) -> Result<Vec<Sample<T>>, ReadError> {
        self.take_states(max_samples, StateMasks::ANY)
    }

    /// read: up to `max_samples` samples in any state.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn read(&self, max_samples: usize) -> Result<Vec<Sample<T>>, ReadError> {
        self.read_states(max_samples, StateMasks::ANY)
    }

    /// take with state masks.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn take_states(&self, max_samples: usize, states: StateMasks) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded(&selection(max_samples, states, InstanceSelect::Any), true)
    }

    /// read with state masks.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn read_states(&self, max_samples: usize, states: StateMasks) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded(&selection(max_samples, states, InstanceSelect::Any), false)
    }

    /// take_next_sample: the next sample not read before, if there is one.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn take_next_sample(&self) -> Result<Option<Sample<T>>, ReadError> {
        Ok(self.take_states(1, StateMasks::NOT_READ)?.pop())
    }

    /// read_next_sample: the next sample not read before, if there is one.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn read_next_sample(&self) -> Result<Option<Sample<T>>, ReadError> {
        Ok(self.read_states(1, StateMasks::NOT_READ)?.pop())
    }

    /// take_instance.
    ///
    /// # Errors
    /// [`ReadError::UnknownInstance`] if the reader has no instance with this handle; [`ReadError::NotEnabled`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn take_instance(
        &self,
        max_samples: usize,
        handle: InstanceHandle,
        states: StateMasks,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded(&selection(max_samples, states, InstanceSelect::Exact(handle)), true)
    }

    /// read_instance.
    ///
    /// # Errors
    /// [`ReadError::UnknownInstance`] if the reader has no instance with this handle; [`ReadError::NotEnabled`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn read_instance(
        &self,
        max_samples: usize,
        handle: InstanceHandle,
        states: StateMasks,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded(&selection(max_samples, states, InstanceSelect::Exact(handle)), false)
    }

    /// take_next_instance: samples of the first instance after `previous` that has any; start with
    /// [`InstanceHandle::NIL`].
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn take_next_instance(
        &self,
        max_samples: usize,
        previous: InstanceHandle,
        states: StateMasks,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded(&selection(max_samples, states, InstanceSelect::Next(previous)), true)
    }

    /// read_next_instance: see [`DataReader::take_next_instance`].
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn read_next_instance(
        &self,
        max_samples: usize,
        previous: InstanceHandle,
        states: StateMasks,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded(&selection(max_samples, states, InstanceSelect::Next(previous)), false)
    }

    /// take_w_condition.
    ///
    /// # Errors
    /// [`ReadError::ForeignCondition`] when the condition is another reader's, [`ReadError::DeletedCondition`] when it was
    /// deleted; else as [`take`](Self::take).
    pub fn take_w_condition(
        &self,
        max_samples: usize,
        condition: &ReadCondition,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded_w_condition(max_samples, condition, InstanceSelect::Any, true)
    }

    /// read_w_condition.
    ///
    /// # Errors
    /// [`ReadError::ForeignCondition`] when the condition is another reader's, [`ReadError::DeletedCondition`] when it was
    /// deleted; else as [`take`](Self::take).
    pub fn read_w_condition(
        &self,
        max_samples: usize,
        condition: &ReadCondition,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded_w_condition(max_samples, condition, InstanceSelect::Any, false)
    }

    /// take_next_instance_w_condition: see [`DataReader::take_next_instance`].
    ///
    /// # Errors
    /// [`ReadError::ForeignCondition`] when the condition is another reader's, [`ReadError::DeletedCondition`] when it was
    /// deleted; else as [`take`](Self::take).
    pub fn take_next_instance_w_condition(
        &self,
        max_samples: usize,
        previous: InstanceHandle,
        condition: &ReadCondition,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded_w_condition(max_samples, condition, InstanceSelect::Next(previous), true)
    }

    /// read_next_instance_w_condition: see [`DataReader::take_next_instance`].
    ///
    /// # Errors
    /// [`ReadError::ForeignCondition`] when the condition is another reader's, [`ReadError::DeletedCondition`] when it was
    /// deleted; else as [`take`](Self::take).
    pub fn read_next_instance_w_condition(
        &self,
        max_samples: usize,
        previous: InstanceHandle,
        condition: &ReadCondition,
    ) -> Result<Vec<Sample<T>>, ReadError> {
        self.decoded_w_condition(max_samples, condition, InstanceSelect::Next(previous), false)
    }

    /// Takes samples without decoding them, so that a large payload need not be copied; [`decode_raw`](Self::decode_raw) does it
    /// later. What was lent ([`DataWriter::loan_payload`](crate::DataWriter::loan_payload),
    /// [`loan_sample`](crate::DataWriter::loan_sample)) is the very memory of the writer, mapped for reading; dropping the last
    /// clone of the payload is its return_loan. A process that keeps half of what a writer can lend gets copies from then on.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`] before [`enable`](Self::enable); [`ReadError::NotBegun`] as said at [`DataReader`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn take_payloads(&self, max_samples: usize) -> Result<Vec<RawSample>, ReadError> {
        self.check_access()?;
        let all = selection(self.at_most(max_samples), StateMasks::ANY, InstanceSelect::Any);
        self.core.collect(&all, true, |found| found.drain(..).map(RawSample::from).collect())
    }

    /// Says that everything of a writer up to a sample is stored, given by its [`identity`](dunlin_cache::SampleInfo::identity):
    /// it is acknowledged to the writer at once. For readers with
    /// [`acknowledge_on_commit`](DataReaderQos::acknowledge_on_commit). Take all that there is, store it, then commit: samples are
    /// taken instance by instance, not in the order of their numbers.
    ///
    /// # Errors
    /// [`ReadError::AcknowledgesByItself`] unless the reader's QoS says that it acknowledges on commit;
    /// [`ReadError::NotEnabled`]. A writer that is not matched any more has nothing to be
    /// told, and that is no error.
    pub fn commit(&self, through: SampleIdentity) -> Result<(), ReadError> {
        self.core.commit(through)
    }

    /// create_readcondition: while it exists the reader cannot be deleted. The reader need not be enabled.
    ///
    /// # Errors
    /// [`ReadError::AlreadyDeleted`].
    pub fn create_readcondition(&self, states: StateMasks) -> Result<ReadCondition, ReadError> {
        self.core.check()?;
        let reader = Arc::downgrade(&self.core);
        let wanted = selection(1, states, InstanceSelect::Any);
        let trigger = {
            let reader = reader.clone();
            move || {
                reader
                    .upgrade()
                    .is_some_and(|core| core.enabled().is_ok_and(|slot| slot.has_matching(&wanted)))
            }
        };
        let condition = Condition::new(Arc::clone(&self.core.signal), trigger);
        self.core.add_condition(&condition, &wanted);
        Ok(ReadCondition { reader, states, query: None, condition })
    }

    /// delete_readcondition, also of a query condition: it is never true again, detached from every wait-set, and can
    /// select no samples, although there are handles to it. A condition also goes away with its last handle.
    ///
    /// # Errors
    /// [`EntityError::Foreign`], [`EntityError::AlreadyDeleted`] also when the reader was.
    pub fn delete_readcondition(&self, condition: &ReadCondition) -> Result<(), EntityError> {
        if condition.reader.as_ptr() != Arc::as_ptr(&self.core) {
            return Err(EntityError::Foreign);
        }
        if condition.condition.delete() { Ok(()) } else { Err(EntityError::AlreadyDeleted) }
    }

    /// delete_contained_entities: deletes every read and query condition.
    ///
    /// # Errors
    /// [`EntityError::AlreadyDeleted`].
    pub fn delete_contained_entities(&self) -> Result<(), EntityError> {
        self.core.check()?;
        self.core.delete_conditions();
        Ok(())
    }

    /// lookup_instance: the handle of the instance that the key of `sample` names;
    /// [`InstanceHandle::NIL`] when the reader does not know it.
    #[must_use]
    pub fn lookup_instance(&self, sample: &T) -> InstanceHandle {
        let support = &*self.core.topic.type_support;
        let known = || {
            let handle = dunlin_cache::instance_handle(sample.hash_key(support, &mut Vec::new()).ok()?);
            self.core.slot()?.instance_state(handle).map(|_| handle)
        };
        if T::has_key(support) { known().unwrap_or_default() } else { InstanceHandle::NIL }
    }

    /// get_key_value: a sample of which only the key fields are set.
    ///
    /// # Errors
    /// [`ReadError::UnknownInstance`] if the reader has no instance with this handle; [`ReadError::NotEnabled`];
    /// [`ReadError::AlreadyDeleted`].
    pub fn key_value(&self, handle: InstanceHandle) -> Result<T, ReadError> {
        let (key, vendor) = self.core.enabled()?.instance_key(handle).ok_or(ReadError::UnknownInstance)?;
        let (limits, options) = (Limits::default(), DecodeOptions::for_vendor(vendor));
        T::read_shared_key(&*self.core.topic.type_support, &key, &limits, options)
            .map_err(|_| ReadError::UnknownInstance)
    }

    /// Waits until at least so many writers are matched; of a multi-topic, writers of all its topics together. A writer may
    /// match a moment later than this reader does, see [`DataWriter::wait_for_readers`](crate::DataWriter::wait_for_readers).
    ///
    /// # Errors
    /// [`WaitForError::Timeout`] after the time-out; [`WaitForError::InListener`] on a thread that runs a listener, which
    /// cannot wait; [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_writers(&self, count: usize, max_wait: Duration) -> Result<(), WaitForError> {
        self.core.wait_for_writers(count, max_wait)
    }

    /// [`wait_for_writers`](Self::wait_for_writers) for async code, on any executor and without a time-out: dropping the
    /// future gives up.
    ///
    /// # Errors
    /// [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_writers_async(
        &self,
        count: usize,
    ) -> impl Future<Output = Result<(), WaitForError>> + Send + use<T> {
        Arc::clone(&self.core).writers(count)
    }

    /// wait_for_historical_data: until everything that existed when this reader met its durable
    /// writers has arrived, and with DURABILITY TRANSIENT or PERSISTENT everything that known durability services have for it
    /// ([`DeliveredHistory`](crate::DeliveredHistory)); at once for a volatile reader.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`] after the time-out; [`WaitForError::InListener`] on a thread that runs a listener, which
    /// cannot wait; [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_historical_data(&self, max_wait: Duration) -> Result<(), WaitForError> {
        self.core.wait_for_historical_data(max_wait)
    }

    /// [`wait_for_historical_data`](Self::wait_for_historical_data) for async code, on any executor and without a
    /// time-out: dropping the future gives up.
    ///
    /// # Errors
    /// [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_historical_data_async(
        &self,
    ) -> impl Future<Output = Result<(), WaitForError>> + Send + use<T> {
        Arc::clone(&self.core).historical_data()
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> DataReaderQos {
        self.core.qos()
    }

    /// set_qos: all or nothing; the changeable policies are announced to matched writers. With
    /// [`DATAREADER_QOS_DEFAULT`](crate::DATAREADER_QOS_DEFAULT) it becomes the subscriber's present default.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy of an enabled reader.
    pub fn set_qos<'q>(&self, qos: impl Into<EndpointQos<'q, DataReaderQos>>) -> Result<(), SetQosError> {
        let source = self.core.source();
        let qos = self.core.subscriber().resolve(qos.into(), &source);
        let qos = qos.ok_or(SetQosError::NoTopicQos)?;
        self.core.set_qos(&representation::of_reader(&qos, &*source.topic.type_support)?)
    }

    /// get_instance_handle: [`InstanceHandle::NIL`] while the reader is disabled.
    #[must_use]
    pub fn instance_handle(&self) -> InstanceHandle {
        self.guid().map(InstanceHandle::from).unwrap_or_default()
    }

    /// get_subscriber.
    #[must_use]
    pub fn subscriber(&self) -> Subscriber {
        self.core.subscriber()
    }

    /// get_statuscondition.
    #[must_use]
    pub fn status_condition(&self) -> StatusCondition {
        self.core.status_condition()
    }

    /// get_status_changes.
    #[must_use]
    pub fn status_changes(&self) -> StatusMask {
        self.core.changes()
    }

    /// get_subscription_matched_status.
    #[must_use]
    pub fn subscription_matched_status(&self) -> MatchedStatus {
        self.core.read_status(StatusMask::SUBSCRIPTION_MATCHED, |s| &mut s.matched)
    }

    /// get_requested_incompatible_qos_status.
    #[must_use]
    pub fn requested_incompatible_qos_status(&self) -> IncompatibleQosStatus {
        self.core.read_status(StatusMask::REQUESTED_INCOMPATIBLE_QOS, |s| &mut s.incompatible)
    }

    /// get_requested_deadline_missed_status.
    #[must_use]
    pub fn requested_deadline_missed_status(&self) -> DeadlineMissedStatus {
        self.core.read_status(StatusMask::REQUESTED_DEADLINE_MISSED, |s| &mut s.deadline)
    }

    /// get_liveliness_changed_status.
    #[must_use]
    pub fn liveliness_changed_status(&self) -> LivelinessChangedStatus {
        self.core.read_status(StatusMask::LIVELINESS_CHANGED, |s| &mut s.liveliness)
    }

    /// get_sample_lost_status. What lies before a sample that was taken, and is lost, is counted in it.
    #[must_use]
    pub fn sample_lost_status(&self) -> SampleLostStatus {
        self.core.read_lost()
    }

    /// get_sample_rejected_status.
    #[must_use]
    pub fn sample_rejected_status(&self) -> SampleRejectedStatus {
        self.core.read_status(StatusMask::SAMPLE_REJECTED, |s| &mut s.rejected)
    }

    /// get_matched_publications.
    #[must_use]
    pub fn matched_publications(&self) -> Vec<InstanceHandle> {
        self.core.matched().iter().map(|endpoint| endpoint.guid.into()).collect()
    }

    /// get_matched_publication_data.
    ///
    /// # Errors
    /// [`NotMatched`]: a handle that names no matched writer, a reader that is disabled or was deleted.
    pub fn matched_publication_data(
        &self,
        handle: InstanceHandle,
    ) -> Result<Arc<PublicationBuiltinTopicData>, NotMatched> {
        self.core.usable()?;
        let mut matched = self.core.matched().into_iter();
        matched.find(|endpoint| endpoint.guid == handle.to_guid()).ok_or(NotMatched::UnknownHandle)
    }

    /// Counters: samples, duplicates, acknowledgements.
    #[must_use]
    pub fn stats(&self) -> ReaderStats {
        self.core.slot().map(|slot| slot.stats()).unwrap_or_default()
    }

    /// What became of the changes that the filter of a content-filtered topic looked at; all zero for other readers.
    #[must_use]
    pub fn content_filter_stats(&self) -> ContentFilterStats {
        self.core.slot().map(|slot| slot.content_filter_stats()).unwrap_or_default()
    }

    /// Samples dropped because their payload does not decode into `T`.
    #[must_use]
    pub fn undecodable_count(&self) -> u32 {
        self.core.undecodable.load(Ordering::Relaxed)
    }
}
