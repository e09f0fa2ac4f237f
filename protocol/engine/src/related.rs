//! DDS-RPC 1.0 §7.8.2: what a reply says of its request in its inline QoS.

use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{Guid, SampleIdentity};
use dunlin_wire::{OriginalWriterInfo, ParameterListBuilder, pid};

/// The inline QoS of a reply, for [`WriterSlot::write_with`](crate::WriterSlot::write_with): which request it answers, also
/// under the number that Fast DDS and RTI look for, and the only reader it is for (RTPS 2.5 §9.6.4.6), if that is known.
#[must_use]
pub fn reply_qos(request: SampleIdentity, only_for: Option<Guid>) -> SharedBytes {
    let identity = OriginalWriterInfo { writer_guid: request.writer, writer_sn: request.sequence_number };
    let mut list = ParameterListBuilder::new();
    list.put_identity(pid::RELATED_SAMPLE_IDENTITY, &identity);
    list.put_identity(pid::vendor::CUSTOM_RELATED_SAMPLE_IDENTITY, &identity);
    if let Some(reader) = only_for {
        list.put_guid(pid::DIRECTED_WRITE, reader);
    }
    list.finish_without_sentinel().into()
}

/// Both lists in one.
pub(crate) fn joined(own: Option<&SharedBytes>, list: SharedBytes) -> SharedBytes {
    let Some(own) = own else { return list };
    let mut both = Vec::with_capacity(own.len().saturating_add(list.len()));
    both.extend_from_slice(own);
    both.extend_from_slice(&list);
    both.into()
}
