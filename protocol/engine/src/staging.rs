//! Received changes that have to wait for others before they are shown (RTPS 2.5 §8.7.5, §8.7.6).

use dunlin_buf::SharedBytes;
use dunlin_cache::WriterInfo;
use dunlin_core::{GuidPrefix, InstanceHandle};
use dunlin_rtps::{ChangeKind, Received};

/// Octets of memory that a change takes besides its payload, as it is counted.
const OVERHEAD: usize = 256;

/// A change that waits, with what was found out about it when it arrived.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) change: Received<'static>,
    pub(crate) instance: InstanceHandle,
    pub(crate) info: WriterInfo,
    /// It satisfies the reader's content filter.
    pub(crate) passes: bool,
    /// Before its writer was lost and met again it was shown already, or told as lost.
    pub(crate) again: bool,
}

/// Whether a change carries nothing but its inline QoS: it ends a set, or pads.
pub(crate) fn is_empty(change: &Received<'_>) -> bool {
    change.kind == ChangeKind::Alive && change.payload.is_none()
}

/// What `change` takes while it waits.
pub(crate) fn octets(change: &Received<'_>) -> usize {
    change.payload.as_ref().map_or(0, |payload| payload.len()).saturating_add(OVERHEAD)
}

/// What `change` takes of the quota for writers of other participants than the reader's.
pub(crate) fn remote_octets(change: &Received<'_>, own: GuidPrefix) -> usize {
    if change.writer.prefix == own { 0 } else { octets(change) }
}

/// A change without what it borrows; a small payload lets go of the large packet it came in.
pub(crate) fn owned(change: &Received<'_>) -> Received<'static> {
    let mut payload = change.payload.clone();
    if let Some(bytes) = &mut payload
        && bytes.retained_len() > bytes.len().saturating_mul(4).max(OVERHEAD)
    {
        *bytes = SharedBytes::copy_from(bytes);
    }
    let Received { writer, sn, kind, key_hash, source_timestamp, key_only, identities, reassembled, .. } =
        *change;
    Received {
        writer,
        sn,
        kind,
        key_hash,
        source_timestamp,
        payload,
        key_only,
        inline_qos: None,
        identities,
        reassembled,
    }
}

impl Staged {
    /// How many samples show it, where every change is shown or not.
    pub(crate) fn shown(&self, every_change: bool) -> usize {
        match self.change.kind {
            _ if !self.passes => 0,
            ChangeKind::Alive => 1,
            ChangeKind::DisposedUnregistered if every_change => 2,
            _ => usize::from(every_change),
        }
    }
}
