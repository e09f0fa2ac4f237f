//! Changes that are serialized, on their way into the engine (DDS 1.4 §2.2.2.4.2.7, §2.2.2.4.2.11, §2.2.2.4.2.13).

use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cdr::CdrError;
use dunlin_core::{InstanceHandle, SampleIdentity, SequenceNumber};
use dunlin_driver::WriteWait;
use dunlin_engine::{WriteRequest, WriterSlot};
use dunlin_rtps::ChangeKind;

use super::WriterInner;
use crate::error::WriteError;
use crate::mutex::lock;
use crate::signal::when;
use crate::write_params::WriteParams;

/// A change of an instance, serialized.
pub(crate) struct Prepared {
    pub request: WriteRequest,
    /// The serialized key of an instance that the writer had none of: it is needed when nobody gives a sample any more.
    pub key: Option<SharedBytes>,
    /// What is said of it besides.
    pub inline_qos: Option<SharedBytes>,
}

impl Prepared {
    /// What was lent must still be there.
    fn check_memory(&self) -> Result<(), WriteError> {
        if self.request.payload.is_intact() { Ok(()) } else { Err(CdrError::LostMemory.into()) }
    }
}

impl WriterInner {
    /// What unregistering an instance does to it.
    pub(crate) fn unregistration(&self) -> ChangeKind {
        if self.autodisposes() { ChangeKind::DisposedUnregistered } else { ChangeKind::Unregistered }
    }

    /// The instance of a sample, which `given` must name unless it names none.
    pub(crate) fn named(
        &self,
        given: Option<InstanceHandle>,
        instance: InstanceHandle,
    ) -> Result<InstanceHandle, WriteError> {
        match given.filter(|handle| !handle.is_nil() && *handle != instance) {
            None => Ok(instance),
            Some(other) if self.enabled()?.contains_instance(other) => Err(WriteError::InstanceMismatch),
            Some(_) => Err(WriteError::UnknownInstance),
        }
    }

    /// Writes a change, and waits for room up to max_blocking_time.
    pub(crate) fn write_prepared(
        &self,
        slot: &Arc<WriterSlot>,
        prepared: Prepared,
        wait: WriteWait,
    ) -> Result<SampleIdentity, WriteError> {
        prepared.check_memory()?;
        let Prepared { request, key, inline_qos } = prepared;
        let number = if request.kind == ChangeKind::Alive {
            let instance = request.instance;
            let timeout = || self.max_blocking_time();
            let number = self.participant.write_with(slot, request, inline_qos, wait, timeout)?;
            self.keep_key(slot, instance, key);
            number
        } else {
            self.write_end(slot, request, inline_qos)?
        };
        Ok(SampleIdentity { writer: slot.guid(), sequence_number: number })
    }

    /// The same of a sample for tasks, without a time-out.
    pub(crate) async fn write_when_room(
        self: Arc<Self>,
        prepared: Prepared,
    ) -> Result<SampleIdentity, WriteError> {
        prepared.check_memory()?;
        let Prepared { request, key, inline_qos } = prepared;
        let slot = Arc::clone(self.enabled()?);
        // The handle keeps the writer while its sample waits.
        let write = || self.participant.try_write_with(&slot, request.clone(), inline_qos.clone());
        let number = when(Arc::clone(&self.signal), write).await?;
        self.keep_key(&slot, request.instance, key);
        Ok(SampleIdentity { writer: slot.guid(), sequence_number: number })
    }

    /// Disposes of or unregisters an instance of which the writer has the key.
    pub(crate) fn end_by_handle(
        &self,
        kind: ChangeKind,
        instance: InstanceHandle,
        params: &WriteParams,
    ) -> Result<SampleIdentity, WriteError> {
        let slot = self.enabled()?;
        if !self.topic.keyed {
            return Err(WriteError::NoKey);
        }
        let payload = slot.instance_key(instance).ok_or(WriteError::UnknownInstance)?;
        let (source_timestamp, inline_qos) = (params.source_timestamp, params.inline_qos(None)?);
        let request = WriteRequest { kind, instance, source_timestamp, payload };
        self.write_prepared(slot, Prepared { request, key: None, inline_qos }, WriteWait::default())
    }

    /// Disposes of or unregisters an instance, after which the writer may have forgotten it, and its key with it.
    fn write_end(
        &self,
        slot: &Arc<WriterSlot>,
        request: WriteRequest,
        inline_qos: Option<SharedBytes>,
    ) -> Result<SequenceNumber, WriteError> {
        let note = |begins: bool| {
            let mut encode = lock(&self.encode);
            encode.keyed = InstanceHandle::NIL;
            encode.ending = if begins { encode.ending + 1 } else { encode.ending - 1 };
        };
        // Before it too: who writes the instance as soon as it is forgotten must not take its key for known.
        note(true);
        let (instance, key) = (request.instance, request.payload.clone());
        let timeout = || self.max_blocking_time();
        let written = self.participant.write_with(slot, request, inline_qos, WriteWait::default(), timeout);
        // Who looked for the key before that, and wrote after it, has registered the instance without.
        if slot.is_registered(instance) && slot.instance_key(instance).is_none() {
            slot.set_instance_key(instance, &SharedBytes::copy_from(&key));
        }
        note(false);
        written
    }

    /// Keeps the key of an instance that was written.
    fn keep_key(&self, slot: &WriterSlot, instance: InstanceHandle, key: Option<SharedBytes>) {
        if let Some(key) = key {
            slot.set_instance_key(instance, &key);
        }
    }
}
