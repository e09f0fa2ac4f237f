//! RTPS 2.5 §8.7 and §9.6.4: a received change with the meaning of its inline QoS, detached from the packet's lifetime.

use dunlin_buf::SharedBytes;
use dunlin_core::{Guid, Identities, ProtocolVersion, SampleIdentity, SequenceNumber, WallTime};
use dunlin_wire::{
    Data, Endianness, OriginalWriterInfo, ParameterList, Payload, ReceiverState, key_hash, params,
    status_info,
};

use crate::{ChangeKind, Received};

/// From this version on PID_DIRECTED_WRITE is a single GUID.
const DIRECTED_WRITE_SINCE: ProtocolVersion = ProtocolVersion { major: 2, minor: 4 };

/// A change that owns its octets.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) sn: SequenceNumber,
    pub(crate) source_timestamp: Option<WallTime>,
    pub(crate) payload: Option<SharedBytes>,
    pub(crate) key_only: bool,
    pub(crate) inline_qos: Option<(SharedBytes, Endianness)>,
    pub(crate) reassembled: bool,
    /// Another change came with its number while it waited.
    pub(crate) is_refuted: bool,
}

/// The shared form of octets borrowed from a packet.
fn share(packet: &SharedBytes, part: &[u8]) -> SharedBytes {
    packet.slice_ref(part).unwrap_or_else(|| SharedBytes::copy_from(part))
}

/// Octets of a payload that a message has itself although the payload lies elsewhere.
const ENCAPSULATION: usize = 4;

/// The shared form of a payload: what lies elsewhere, if a message has only the encapsulation header itself, at its end.
pub(super) fn share_payload(packet: &SharedBytes, part: &[u8]) -> SharedBytes {
    let is_last = part.as_ptr_range().end == packet.as_ptr_range().end;
    match packet.tail() {
        Some(tail) if is_last && part.len() == ENCAPSULATION && tail.get(..ENCAPSULATION) == Some(part) => {
            tail.clone()
        }
        _ => share(packet, part),
    }
}

/// The shared form of inline QoS borrowed from a packet.
pub(crate) fn share_list(packet: &SharedBytes, list: &ParameterList<'_>) -> (SharedBytes, Endianness) {
    (share(packet, list.as_bytes()), list.endianness())
}

/// Copies octets that keep more than twice as many alive.
pub(crate) fn detach(bytes: &mut SharedBytes) {
    if bytes.retained_len() > bytes.len().saturating_mul(2) {
        *bytes = SharedBytes::copy_from(bytes);
    }
}

/// Whether inline QoS says that the change is for one reader, and another one (RTPS 2.5 §9.6.4.6).
pub(crate) fn is_for_another(
    list: Option<&ParameterList<'_>>,
    version: ProtocolVersion,
    reader: Guid,
) -> bool {
    version >= DIRECTED_WRITE_SINCE
        && list.and_then(params::directed_write).is_some_and(|directed| directed != reader)
}

impl Incoming {
    pub(crate) fn from_data(state: &ReceiverState, data: &Data<'_>, packet: &SharedBytes) -> Self {
        Self {
            sn: data.writer_sn,
            source_timestamp: state.timestamp,
            payload: data.payload.bytes().map(|bytes| share_payload(packet, bytes)),
            key_only: matches!(data.payload, Payload::Key(_)),
            inline_qos: data.inline_qos.as_ref().map(|list| share_list(packet, list)),
            reassembled: false,
            is_refuted: false,
        }
    }

    /// Whether it says that it is for one reader, and another one.
    pub(crate) fn is_for_another(&self, reader: Guid) -> bool {
        let list = self.inline_qos.as_ref();
        let parsed = list.and_then(|(list, endianness)| ParameterList::parse(list, *endianness).ok());
        is_for_another(parsed.as_ref().map(|(list, _)| list), ProtocolVersion::V2_5, reader)
    }

    /// Octets of payload and inline QoS.
    pub(crate) fn len(&self) -> usize {
        let payload = self.payload.as_ref().map_or(0, |payload| payload.len());
        let list = self.inline_qos.as_ref().map_or(0, |(list, _)| list.len());
        payload.saturating_add(list)
    }

    /// Lets go of a packet that is much larger than what is needed of it, so that what waits takes no more than twice
    /// the memory that it is counted with.
    pub(crate) fn detach(&mut self) {
        self.payload.iter_mut().for_each(detach);
        self.inline_qos.iter_mut().for_each(|(list, _)| detach(list));
    }

    /// The form in which it is delivered.
    pub(crate) fn received(&self, writer: Guid) -> Received<'_> {
        let parsed = self.inline_qos.as_ref().and_then(|(list, endianness)| {
            // It was well formed when it arrived.
            ParameterList::parse(list, *endianness).ok()
        });
        let inline_qos = parsed.map(|(list, _)| list);
        Received {
            writer,
            sn: self.sn,
            kind: inline_qos
                .as_ref()
                .map_or(ChangeKind::Alive, |list| ChangeKind::from_status(status_info(list))),
            key_hash: inline_qos.as_ref().and_then(key_hash),
            source_timestamp: self.source_timestamp,
            payload: self.payload.clone(),
            key_only: self.key_only,
            identities: inline_qos.as_ref().map(identities).unwrap_or_default(),
            inline_qos,
            reassembled: self.reassembled,
        }
    }
}

fn identities(list: &ParameterList<'_>) -> Identities {
    let identity = |named: OriginalWriterInfo| SampleIdentity {
        writer: named.writer_guid,
        sequence_number: named.writer_sn,
    };
    // What names no sample is as good as nothing: who sends it may not shadow the sample's own identity.
    let original = params::original_writer_info(list).map(identity).filter(|named| named.names_a_sample());
    Identities { original, related: params::related_sample_identity(list).map(identity) }
}
