//! RTPS 2.5 §9.6.4: what a writer says of a single change in its inline QoS.

use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{Guid, Identities, SampleIdentity};
use dunlin_wire::{OriginalWriterInfo, ParameterListBuilder, params, pid};

/// The inline QoS of a change, for [`WriterSlot::write_with`](crate::WriterSlot::write_with); `None` if there is nothing to say:
/// which other changes it names, the only reader it is for (§9.6.4.6), and its instance (§9.6.4.8). The request that a reply answers (DDS-RPC 1.0 §7.8.2) is
/// also given under the number that Fast DDS and RTI look for.
#[must_use]
pub fn inline_qos(
    identities: Identities,
    only_for: Option<Guid>,
    key_hash: Option<[u8; 16]>,
) -> Option<SharedBytes> {
    if identities.is_empty() && only_for.is_none() && key_hash.is_none() {
        return None;
    }
    let info = |named: SampleIdentity| OriginalWriterInfo {
        writer_guid: named.writer,
        writer_sn: named.sequence_number,
    };
    let mut list = ParameterListBuilder::new();
    if let Some(key_hash) = key_hash {
        list.put_bytes(pid::KEY_HASH, &key_hash);
    }
    if let Some(original) = identities.original {
        list.put_identity(pid::ORIGINAL_WRITER_INFO, &info(original));
    }
    if let Some(related) = identities.related {
        list.put_identity(pid::RELATED_SAMPLE_IDENTITY, &info(related));
        list.put_identity(pid::vendor::CUSTOM_RELATED_SAMPLE_IDENTITY, &info(related));
    }
    if let Some(reader) = only_for {
        list.put_guid(pid::DIRECTED_WRITE, reader);
    }
    Some(list.finish_without_sentinel().into())
}

/// Whether a change is passed on for another writer, by its inline QoS.
pub(crate) fn is_passed_on(inline_qos: &SharedBytes) -> bool {
    params::find_in_open_list(inline_qos, pid::ORIGINAL_WRITER_INFO).is_some()
}

/// Whether a change is for one reader alone, by its inline QoS.
pub(crate) fn is_directed(inline_qos: &SharedBytes) -> bool {
    params::find_in_open_list(inline_qos, pid::DIRECTED_WRITE).is_some()
}

/// Both lists in one.
pub(crate) fn joined(own: Option<&SharedBytes>, list: SharedBytes) -> SharedBytes {
    let Some(own) = own else { return list };
    let mut both = Vec::with_capacity(own.len().saturating_add(list.len()));
    both.extend_from_slice(own);
    both.extend_from_slice(&list);
    both.into()
}
