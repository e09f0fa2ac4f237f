//! DataWriter (DDS 1.4 §2.2.2.4.2).

use std::marker::PhantomData;
use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cdr::{TopicType, TypeSupport};
use dunlin_core::{Duration, Guid, InstanceHandle, SampleIdentity, WallTime};
use dunlin_driver::WriteWait;
use dunlin_engine::{WriteRequest, WriterStats};
use dunlin_qos::DataWriterQos;
use dunlin_rtps::ChangeKind;

use crate::builtin::SubscriptionBuiltinTopicData;
use crate::condition::StatusCondition;
use crate::endpoint_qos::EndpointQos;
use crate::error::{CreateEntityError, NotMatched, SetQosError, WaitForError, WriteError};
use crate::mutex::lock;
use crate::publisher::Publisher;
use crate::representation;
use crate::status::{
    DeadlineMissedStatus, IncompatibleQosStatus, LivelinessLostStatus, MatchedStatus, StatusMask,
};
use crate::topic::Topic;
use crate::write_params::WriteParams;
use crate::writer_inner::{Prepared, WriterInner};

/// Writes samples of one topic. Cheap to clone; the writer goes away with its last handle, after
/// waiting a moment for readers that have not acknowledged everything.
///
/// Made by [`Publisher::create_datawriter`]. The usual order of calls: [`wait_for_readers`](Self::wait_for_readers) where the
/// first samples must arrive, then [`write`](Self::write) and [`dispose`](Self::dispose), then
/// [`wait_for_acknowledgments`](Self::wait_for_acknowledgments) before the program ends. All methods can be called from several
/// threads at once; their samples are ordered by who comes first.
///
/// Deleting a writer unregisters its instances (DDS 1.4 §2.2.2.4.1.6), which disposes them unless WRITER_DATA_LIFECYCLE
/// `autodispose_unregistered_instances` is false: then they become NOT_ALIVE_NO_WRITERS, if nobody else writes them.
/// Dropping the last handle deletes the writer; a process that is killed deletes nothing.
pub struct DataWriter<T: TopicType> {
    core: Arc<WriterInner>,
    sample: PhantomData<fn(T)>,
}

impl<T: TopicType> Clone for DataWriter<T> {
    fn clone(&self) -> Self {
        Self::from_core(Arc::clone(&self.core))
    }
}

impl<T: TopicType> std::fmt::Debug for DataWriter<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataWriter('{}', {:?})", self.core.topic.name, self.core.id())
    }
}

impl<T: TopicType> DataWriter<T> {
    pub(crate) fn from_core(core: Arc<WriterInner>) -> Self {
        Self { core, sample: PhantomData }
    }

    pub(crate) fn core(&self) -> &Arc<WriterInner> {
        &self.core
    }

    /// What the topic knows of the type.
    pub(crate) fn support(&self) -> &dyn TypeSupport {
        &*self.core.topic.type_support
    }

    /// Enables a writer that its publisher created disabled.
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

    /// The GUID on the wire; `None` while the writer is disabled.
    #[must_use]
    pub fn guid(&self) -> Option<Guid> {
        self.core.slot().map(|slot| slot.guid())
    }

    /// write: the sample goes out before this returns, or is kept for readers that want it.
    ///
    /// With HISTORY KEEP_ALL a full history waits for reliable readers. One that has been silent for
    /// `reliability.inactive_after` (3 s unless configured) is not waited for any more, and counts what it then misses as lost.
    ///
    /// # Errors
    /// [`WriteError::Timeout`] when a reliable writer's history stayed full for max_blocking_time;
    /// [`WriteError::InTask`] and [`WriteError::InSimulation`] when it is full in the simulator, where this cannot wait.
    pub fn write(&self, sample: &T) -> Result<(), WriteError> {
        self.write_change(ChangeKind::Alive, sample, None).map(drop)
    }

    /// Sends what waits for more samples at once: those within the LATENCY_BUDGET of the writer, and those of a burst (see
    /// the configuration key `batching.burst_delay`). Waiting for acknowledgments, blocking on a full history and deleting
    /// the writer do so too. A disabled writer has nothing to send.
    pub fn flush(&self) {
        if let Some(slot) = self.core.slot() {
            self.core.participant.flush(slot);
        }
    }

    /// write for async code, on any executor: while the history is full the future waits for room, without the limit of
    /// max_blocking_time; dropping it gives up, and then nothing was written. The sample is serialized at once.
    ///
    /// # Errors
    /// As [`DataWriter::write`], but never [`WriteError::Timeout`].
    pub fn write_async(&self, sample: &T) -> impl Future<Output = Result<(), WriteError>> + Send + use<T> {
        let prepared = self.prepare(ChangeKind::Alive, sample, None);
        let core = Arc::clone(&self.core);
        async move { core.write_when_room(prepared?).await.map(drop) }
    }

    /// write with parameters: another source time, the identity that the sample had before, what it answers. Returns what the
    /// sample is called from now on: readers find that in [`SampleInfo::identity`](crate::SampleInfo::identity).
    ///
    /// # Errors
    /// As [`DataWriter::write`]; [`WriteError::BadTimestamp`], [`WriteError::BadIdentity`], [`WriteError::NoReader`],
    /// [`WriteError::InstanceMismatch`] and [`WriteError::UnknownInstance`] for what cannot be said of a sample. Nothing was
    /// written then.
    pub fn write_with(&self, sample: &T, params: &WriteParams) -> Result<SampleIdentity, WriteError> {
        self.write_change(ChangeKind::Alive, sample, Some(params))
    }

    /// [`write_with`](Self::write_with) for async code, see [`write_async`](Self::write_async).
    ///
    /// # Errors
    /// As [`DataWriter::write_with`], but never [`WriteError::Timeout`].
    pub fn write_with_async(
        &self,
        sample: &T,
        params: &WriteParams,
    ) -> impl Future<Output = Result<SampleIdentity, WriteError>> + Send + use<T> {
        let prepared = self.prepare(ChangeKind::Alive, sample, Some(params));
        let core = Arc::clone(&self.core);
        async move { core.write_when_room(prepared?).await }
    }

    /// dispose with parameters, see [`write_with`](Self::write_with).
    ///
    /// # Errors
    /// As [`DataWriter::dispose`] and [`DataWriter::write_with`].
    pub fn dispose_with(&self, sample: &T, params: &WriteParams) -> Result<SampleIdentity, WriteError> {
        self.end_instance(sample, params)
    }

    /// unregister_instance with parameters, see [`write_with`](Self::write_with).
    ///
    /// # Errors
    /// As [`DataWriter::unregister_instance`] and [`DataWriter::write_with`].
    pub fn unregister_instance_with(
        &self,
        sample: &T,
        params: &WriteParams,
    ) -> Result<SampleIdentity, WriteError> {
        self.unregister(sample, params)
    }

    /// write_w_timestamp.
    ///
    /// # Errors
    /// As [`DataWriter::write`]; [`WriteError::BadTimestamp`] when time goes backwards, or is before 1970 or after 2106.
    pub fn write_w_timestamp(&self, sample: &T, source_timestamp: WallTime) -> Result<(), WriteError> {
        self.write_with(sample, &at(source_timestamp)).map(drop)
    }

    /// write of a known instance: `handle` must be that of the sample's key, or [`InstanceHandle::NIL`] for whichever it is.
    ///
    /// # Errors
    /// As [`DataWriter::write`]; [`WriteError::InstanceMismatch`], [`WriteError::UnknownInstance`].
    pub fn write_instance(&self, sample: &T, handle: InstanceHandle) -> Result<(), WriteError> {
        self.write_with(sample, &WriteParams { instance: Some(handle), ..WriteParams::default() }).map(drop)
    }

    /// write_w_timestamp of a known instance, see [`write_instance`](Self::write_instance).
    ///
    /// # Errors
    /// As [`DataWriter::write_instance`] and [`DataWriter::write_w_timestamp`].
    pub fn write_instance_w_timestamp(
        &self,
        sample: &T,
        handle: InstanceHandle,
        source_timestamp: WallTime,
    ) -> Result<(), WriteError> {
        self.write_with(sample, &WriteParams { instance: Some(handle), ..at(source_timestamp) }).map(drop)
    }

    /// dispose: the instance named by the key of `sample` no longer exists.
    ///
    /// # Errors
    /// [`WriteError::NoKey`] on a topic without key; else as [`DataWriter::write`].
    pub fn dispose(&self, sample: &T) -> Result<(), WriteError> {
        self.end_instance(sample, &WriteParams::default()).map(drop)
    }

    /// dispose_w_timestamp.
    ///
    /// # Errors
    /// As [`DataWriter::dispose`].
    pub fn dispose_w_timestamp(&self, sample: &T, source_timestamp: WallTime) -> Result<(), WriteError> {
        self.end_instance(sample, &at(source_timestamp)).map(drop)
    }

    /// unregister_instance: this writer will not write the instance any more. It is disposed too when
    /// WRITER_DATA_LIFECYCLE says so.
    ///
    /// # Errors
    /// [`WriteError::NotRegistered`] if this writer has not written or registered the instance, or has
    /// unregistered it; else as [`DataWriter::dispose`].
    pub fn unregister_instance(&self, sample: &T) -> Result<(), WriteError> {
        self.unregister(sample, &WriteParams::default()).map(drop)
    }

    /// unregister_instance_w_timestamp.
    ///
    /// # Errors
    /// As [`DataWriter::unregister_instance`].
    pub fn unregister_instance_w_timestamp(
        &self,
        sample: &T,
        source_timestamp: WallTime,
    ) -> Result<(), WriteError> {
        self.unregister(sample, &at(source_timestamp)).map(drop)
    }

    fn check_has_key(&self) -> Result<(), WriteError> {
        if T::has_key(self.support()) { Ok(()) } else { Err(WriteError::NoKey) }
    }

    fn end_instance(&self, sample: &T, params: &WriteParams) -> Result<SampleIdentity, WriteError> {
        self.check_has_key()?;
        self.write_change(ChangeKind::Disposed, sample, Some(params))
    }

    fn unregister(&self, sample: &T, params: &WriteParams) -> Result<SampleIdentity, WriteError> {
        let slot = self.core.enabled()?;
        self.check_has_key()?;
        if !slot.contains_instance(self.instance_of(sample)?) {
            return Err(WriteError::NotRegistered);
        }
        self.write_change(self.core.unregistration(), sample, Some(params))
    }

    /// register_instance: reserves room for an instance and returns its handle;
    /// [`InstanceHandle::NIL`] on a topic without key. Writing registers by itself.
    ///
    /// # Errors
    /// [`WriteError::OutOfResources`] when max_instances is reached.
    pub fn register_instance(&self, sample: &T) -> Result<InstanceHandle, WriteError> {
        self.register(sample, None)
    }

    /// register_instance_w_timestamp: nothing that is written later may have an earlier source timestamp.
    ///
    /// # Errors
    /// [`WriteError::BadTimestamp`] before what was written last; else as [`DataWriter::register_instance`].
    pub fn register_instance_w_timestamp(
        &self,
        sample: &T,
        source_timestamp: WallTime,
    ) -> Result<InstanceHandle, WriteError> {
        self.register(sample, Some(source_timestamp))
    }

    fn register(&self, sample: &T, at: Option<WallTime>) -> Result<InstanceHandle, WriteError> {
        let slot = self.core.enabled()?;
        if !T::has_key(self.support()) {
            let fits = at.is_none_or(WallTime::fits_the_wire);
            return if fits { Ok(InstanceHandle::NIL) } else { Err(WriteError::BadTimestamp) };
        }
        let handle = self.instance_of(sample)?;
        let key = Some(self.serialized_key(sample)?).filter(|key| !key.is_empty());
        self.core.participant.register_instance(slot, handle, key, at)?;
        Ok(handle)
    }

    /// lookup_instance: the handle of the sample's instance, [`InstanceHandle::NIL`] when this writer
    /// does not know it.
    #[must_use]
    pub fn lookup_instance(&self, sample: &T) -> InstanceHandle {
        let known = || {
            let handle = self.instance_of(sample).ok()?;
            self.core.slot()?.contains_instance(handle).then_some(handle)
        };
        if T::has_key(self.support()) { known().unwrap_or_default() } else { InstanceHandle::NIL }
    }

    /// get_key_value: a sample of which only the key fields are set.
    ///
    /// # Errors
    /// [`WriteError::UnknownInstance`] if this writer has no instance with this handle.
    pub fn key_value(&self, handle: InstanceHandle) -> Result<T, WriteError> {
        let key = self.core.enabled()?.instance_key(handle).ok_or(WriteError::UnknownInstance)?;
        let (limits, options) = (dunlin_cdr::Limits::default(), dunlin_cdr::DecodeOptions::default());
        Ok(T::read_key_payload(self.support(), &key, &limits, options)?)
    }

    /// assert_liveliness, for the manual kinds of LIVELINESS.
    ///
    /// # Errors
    /// [`WriteError::NotEnabled`] before [`enable`](Self::enable); [`WriteError::AlreadyDeleted`].
    pub fn assert_liveliness(&self) -> Result<(), WriteError> {
        self.core.participant.assert_writer_liveliness(self.core.enabled()?);
        Ok(())
    }

    /// Waits until at least so many readers are matched. What is written before a reader matches does not reach it, unless both
    /// are at least TRANSIENT_LOCAL; what a reliable KEEP_ALL writer writes from then on reaches every reliable KEEP_ALL reader.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`] after the time-out; [`WaitForError::InListener`] on a thread that runs a listener, which
    /// cannot wait; [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_readers(&self, count: usize, max_wait: Duration) -> Result<(), WaitForError> {
        self.core.wait_for_readers(count, max_wait)
    }

    /// [`wait_for_readers`](Self::wait_for_readers) for async code, on any executor and without a time-out: dropping the
    /// future gives up.
    ///
    /// # Errors
    /// [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_readers_async(
        &self,
        count: usize,
    ) -> impl Future<Output = Result<(), WaitForError>> + Send + use<T> {
        Arc::clone(&self.core).readers(count)
    }

    /// wait_for_acknowledgments: until every matched reliable reader has everything written so far.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`] after the time-out; [`WaitForError::InListener`] on a thread that runs a listener, which
    /// cannot wait; [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_acknowledgments(&self, max_wait: Duration) -> Result<(), WaitForError> {
        self.core.wait_for_acknowledgments(max_wait)
    }

    /// [`wait_for_acknowledgments`](Self::wait_for_acknowledgments) for async code, on any executor and without a
    /// time-out: dropping the future gives up.
    ///
    /// # Errors
    /// [`WaitForError::NotEnabled`]; [`WaitForError::AlreadyDeleted`], also when that happens meanwhile.
    pub fn wait_for_acknowledgments_async(
        &self,
    ) -> impl Future<Output = Result<(), WaitForError>> + Send + use<T> {
        Arc::clone(&self.core).acknowledged()
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> DataWriterQos {
        self.core.qos()
    }

    /// set_qos: all or nothing; the changeable policies are announced to matched readers. With
    /// [`DATAWRITER_QOS_DEFAULT`](crate::DATAWRITER_QOS_DEFAULT) it becomes the publisher's present default.
    ///
    /// # Errors
    /// When the QoS is inconsistent, unsupported, or changes an immutable policy of an enabled writer.
    pub fn set_qos<'q>(&self, qos: impl Into<EndpointQos<'q, DataWriterQos>>) -> Result<(), SetQosError> {
        let qos = self.core.publisher().resolve(qos.into(), &self.core.topic);
        self.core.set_qos(&representation::of_writer::<T>(&qos, self.support())?)
    }

    /// get_instance_handle: [`InstanceHandle::NIL`] while the writer is disabled.
    #[must_use]
    pub fn instance_handle(&self) -> InstanceHandle {
        self.guid().map(InstanceHandle::from).unwrap_or_default()
    }

    /// get_publisher.
    #[must_use]
    pub fn publisher(&self) -> Publisher {
        self.core.publisher()
    }

    /// get_topic.
    #[must_use]
    pub fn topic(&self) -> Topic<T> {
        Topic::new(Arc::clone(&self.core.topic))
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

    /// get_publication_matched_status.
    #[must_use]
    pub fn publication_matched_status(&self) -> MatchedStatus {
        self.core.read_status(StatusMask::PUBLICATION_MATCHED, |s| &mut s.matched)
    }

    /// get_offered_incompatible_qos_status.
    #[must_use]
    pub fn offered_incompatible_qos_status(&self) -> IncompatibleQosStatus {
        self.core.read_status(StatusMask::OFFERED_INCOMPATIBLE_QOS, |s| &mut s.incompatible)
    }

    /// get_offered_deadline_missed_status.
    #[must_use]
    pub fn offered_deadline_missed_status(&self) -> DeadlineMissedStatus {
        self.core.read_status(StatusMask::OFFERED_DEADLINE_MISSED, |s| &mut s.deadline)
    }

    /// get_liveliness_lost_status.
    #[must_use]
    pub fn liveliness_lost_status(&self) -> LivelinessLostStatus {
        self.core.read_status(StatusMask::LIVELINESS_LOST, |s| &mut s.liveliness)
    }

    /// get_matched_subscriptions.
    #[must_use]
    pub fn matched_subscriptions(&self) -> Vec<InstanceHandle> {
        self.core.matched().iter().map(|endpoint| endpoint.guid.into()).collect()
    }

    /// get_matched_subscription_data.
    ///
    /// # Errors
    /// [`NotMatched`]: a handle that names no matched reader, a writer that is disabled or was deleted.
    pub fn matched_subscription_data(
        &self,
        handle: InstanceHandle,
    ) -> Result<Arc<SubscriptionBuiltinTopicData>, NotMatched> {
        self.core.usable()?;
        let mut matched = self.core.matched().into_iter();
        matched.find(|endpoint| endpoint.guid == handle.to_guid()).ok_or(NotMatched::UnknownHandle)
    }

    /// Counters: samples, repairs, heartbeats.
    #[must_use]
    pub fn stats(&self) -> WriterStats {
        self.core.slot().map(|slot| slot.stats()).unwrap_or_default()
    }

    /// The instance that the key of `sample` names.
    fn instance_of(&self, sample: &T) -> Result<InstanceHandle, WriteError> {
        let mut encode = lock(&self.core.encode);
        Ok(dunlin_cache::instance_handle(sample.hash_key(self.support(), &mut encode.key_scratch)?))
    }

    /// The serialized key of a sample, without room that it does not need: it stays as long as its instance. Empty if nobody
    /// can find it.
    fn serialized_key(&self, sample: &T) -> Result<SharedBytes, WriteError> {
        let mut encode = lock(&self.core.encode);
        let scratch = &mut encode.key_scratch;
        scratch.clear();
        sample.write_key_payload(self.support(), self.core.representation(), scratch)?;
        Ok(SharedBytes::copy_from(scratch))
    }

    /// The same of an instance that the writer has no key of: it is needed when nobody gives a sample any more.
    pub(crate) fn unknown_key(
        &self,
        sample: &T,
        instance: InstanceHandle,
    ) -> Result<Option<SharedBytes>, WriteError> {
        let slot = self.core.enabled()?;
        let unknown = T::has_key(self.support()) && self.core.lacks_key(slot, instance);
        let key = unknown.then(|| self.serialized_key(sample)).transpose()?;
        Ok(key.filter(|key| !key.is_empty()))
    }

    fn encode(
        &self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), dunlin_cdr::CdrError>,
    ) -> Result<SharedBytes, WriteError> {
        let mut encode = lock(&self.core.encode);
        let mut buffer = {
            let len = encode.last_len;
            encode.pool.take(len)
        };
        let out = buffer.vec_mut();
        out.clear();
        write(out)?;
        let len = out.len();
        encode.last_len = len;
        self.core.note_len(len);
        Ok(encode.pool.freeze(buffer, len))
    }

    /// The instance of the sample, which `handle` must name if it is given.
    pub(crate) fn checked_instance(
        &self,
        sample: &T,
        handle: Option<InstanceHandle>,
    ) -> Result<InstanceHandle, WriteError> {
        if !T::has_key(self.support()) {
            return Ok(InstanceHandle::NIL);
        }
        self.core.named(handle, self.instance_of(sample)?)
    }

    /// Serializes a change of an instance.
    fn serialized(
        &self,
        kind: ChangeKind,
        sample: &T,
        instance: InstanceHandle,
        params: Option<&WriteParams>,
    ) -> Result<Prepared, WriteError> {
        let (representation, support) = (self.core.representation(), self.support());
        // Who knows no more of the type than this writer does finds the key in no sample.
        let untold = kind == ChangeKind::Alive && T::has_key(support) && !support.finds_keys();
        let inline_qos = match params {
            None if !untold => None,
            params => params.copied().unwrap_or_default().inline_qos(untold.then_some(instance))?,
        };
        let (payload, key) = if kind == ChangeKind::Alive {
            let key = self.unknown_key(sample, instance)?;
            match sample.as_payload(support, representation) {
                Some(payload) => (payload.clone(), key),
                None => (self.encode(|out| sample.write_payload(support, representation, out))?, key),
            }
        } else {
            (self.encode(|out| sample.write_key_payload(support, representation, out))?, None)
        };
        let source_timestamp = params.and_then(|params| params.source_timestamp);
        Ok(Prepared { request: WriteRequest { kind, instance, source_timestamp, payload }, key, inline_qos })
    }

    /// The same, of the instance that the sample names.
    fn prepare(
        &self,
        kind: ChangeKind,
        sample: &T,
        params: Option<&WriteParams>,
    ) -> Result<Prepared, WriteError> {
        let instance = self.checked_instance(sample, params.and_then(|params| params.instance))?;
        self.serialized(kind, sample, instance, params)
    }

    fn write_change(
        &self,
        kind: ChangeKind,
        sample: &T,
        params: Option<&WriteParams>,
    ) -> Result<SampleIdentity, WriteError> {
        let slot = self.core.enabled()?;
        let instance = self.checked_instance(sample, params.and_then(|params| params.instance))?;
        let wait = match kind {
            ChangeKind::Alive => self.core.wait_for_room(slot, instance)?,
            _ => WriteWait::default(),
        };
        let prepared = self.serialized(kind, sample, instance, params)?;
        self.core.write_prepared(slot, prepared, wait)
    }
}

/// The parameters of a write at that time.
pub(crate) fn at(source_timestamp: WallTime) -> WriteParams {
    WriteParams { source_timestamp: Some(source_timestamp), ..WriteParams::default() }
}
