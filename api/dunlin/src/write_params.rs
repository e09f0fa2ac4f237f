//! What a service says of a sample that it writes for somebody else.

use dunlin_buf::SharedBytes;
use dunlin_cache::key_hash;
use dunlin_core::{Guid, Identities, InstanceHandle, SampleIdentity, WallTime};
use dunlin_engine::inline_qos;

use crate::error::WriteError;

/// Parameters of one write, dispose or unregister (RTPS 2.5 §9.6.4): of routers, durability services, players, request and reply.
///
/// ```
/// use dunlin::{SampleInfo, WriteParams};
///
/// /// What a service passes on keeps its time and its first identity.
/// fn passed_on(info: &SampleInfo) -> WriteParams {
///     WriteParams {
///         source_timestamp: Some(info.source_timestamp),
///         original: Some(info.origin()),
///         related: info.related_sample,
///         ..WriteParams::default()
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteParams {
    /// When the sample was made; now if it is `None`. Not before that of the writer's previous sample, unless `original` is given:
    /// samples of several writers come in the order of none. From 1970 to 2106 (§9.3.2.1).
    pub source_timestamp: Option<WallTime>,
    /// The writer that made the sample first, and its number there (PID_ORIGINAL_WRITER_INFO): readers show it as
    /// [`SampleInfo::original_sample`](crate::SampleInfo::original_sample).
    pub original: Option<SampleIdentity>,
    /// The sample that this one answers (DDS-RPC 1.0 §7.8.2): readers show it as
    /// [`SampleInfo::related_sample`](crate::SampleInfo::related_sample).
    pub related: Option<SampleIdentity>,
    /// The instance: must be that of the sample's key, [`InstanceHandle::NIL`] or `None` for whichever it is.
    pub instance: Option<InstanceHandle>,
    /// The only reader that the sample is for (PID_DIRECTED_WRITE): others drop it, but for those of implementations older than
    /// RTPS 2.4.
    pub only_for: Option<Guid>,
}

impl WriteParams {
    /// What goes into the message, with the instance if that has to be told.
    pub(crate) fn inline_qos(
        &self,
        instance: Option<InstanceHandle>,
    ) -> Result<Option<SharedBytes>, WriteError> {
        let Self { original, related, only_for, .. } = *self;
        if original.is_some_and(|named| !named.names_a_sample()) {
            return Err(WriteError::BadIdentity("original"));
        }
        if related.is_some_and(|named| !named.names_a_sample()) {
            return Err(WriteError::BadIdentity("related"));
        }
        if only_for.is_some_and(|reader| !reader.entity_id.is_reader()) {
            return Err(WriteError::NoReader);
        }
        Ok(inline_qos(Identities { original, related }, only_for, instance.map(key_hash)))
    }
}
