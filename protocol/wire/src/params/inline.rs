//! RTPS 2.5 §9.6.4 "ParameterId Definitions Used to Represent In-line QoS": what accompanies single changes.

use core::ops::Deref;

use dunlin_core::{Guid, SequenceNumber, StatusInfo};

use super::{ParameterList, ParameterListBuilder, as_sequence_number, pid};
use crate::{Endianness, GroupDigest, ParamReader};

const KEY_HASH_LEN: usize = 16;
const SIGNATURE_LEN: usize = 16;

/// The identity of a change before a relay or persistence service took it up (§9.6.4), or of a related change of
/// DDS-RPC (the related sample identity there).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginalWriterInfo {
    /// The writer that made the change.
    pub writer_guid: Guid,
    /// The change in that writer's numbering.
    pub writer_sn: SequenceNumber,
}

/// The status in inline QoS (§9.6.4.9); alive when there is none. Only the first four bytes count, a vendor adds more.
pub fn status_info(list: &ParameterList<'_>) -> StatusInfo {
    let octets = list.find(pid::STATUS_INFO).and_then(|value| value.first_chunk());
    octets.map_or_else(StatusInfo::default, |octets| StatusInfo(u32::from_be_bytes(*octets)))
}

/// The key hash in inline QoS (§9.6.4.8).
pub fn key_hash(list: &ParameterList<'_>) -> Option<[u8; KEY_HASH_LEN]> {
    list.find(pid::KEY_HASH)?.first_chunk().copied()
}

/// First change of the coherent set (§9.6.4); [`SequenceNumber::UNKNOWN`] closes a set.
pub fn coherent_set(list: &ParameterList<'_>) -> Option<SequenceNumber> {
    sequence_number(list, pid::COHERENT_SET)
}

/// First change of the group coherent set, in the publisher's numbering (§9.6.4).
pub fn group_coherent_set(list: &ParameterList<'_>) -> Option<SequenceNumber> {
    sequence_number(list, pid::GROUP_COHERENT_SET)
}

/// Number of the change in the publisher's numbering (§9.6.4).
pub fn group_sequence_number(list: &ParameterList<'_>) -> Option<SequenceNumber> {
    sequence_number(list, pid::GROUP_SEQ_NUM)
}

/// Which writers the publisher had when the change was written (§9.6.4, WRITER_GROUP_INFO).
pub fn writer_group_info(list: &ParameterList<'_>) -> Option<GroupDigest> {
    list.find(pid::WRITER_GROUP_INFO)?.first_chunk().copied().map(GroupDigest)
}

/// The only reader meant (§9.6.4). Before RTPS 2.4 this was a sequence, which has another length and is not read.
pub fn directed_write(list: &ParameterList<'_>) -> Option<Guid> {
    let octets: &[u8; 16] = list.find(pid::DIRECTED_WRITE)?.try_into().ok()?;
    Some(Guid::from_bytes(*octets))
}

/// The identity of the change at its origin (§9.6.4).
pub fn original_writer_info(list: &ParameterList<'_>) -> Option<OriginalWriterInfo> {
    identity(list, pid::ORIGINAL_WRITER_INFO)
}

/// The identity of the request that a reply answers, DDS-RPC 1.0; of Fast DDS and RTI, which have an older number for it,
/// by that one.
pub fn related_sample_identity(list: &ParameterList<'_>) -> Option<OriginalWriterInfo> {
    identity(list, pid::RELATED_SAMPLE_IDENTITY)
        .or_else(|| identity(list, pid::vendor::CUSTOM_RELATED_SAMPLE_IDENTITY))
}

/// The value of a parameter in a little-endian list that has no sentinel yet.
#[must_use]
pub fn find_in_open_list(mut list: &[u8], pid: u16) -> Option<&[u8]> {
    loop {
        let ([pid_low, pid_high, len_low, len_high], rest) = list.split_first_chunk::<4>()?;
        let (value, rest) = rest.split_at_checked(u16::from_le_bytes([*len_low, *len_high]).into())?;
        if u16::from_le_bytes([*pid_low, *pid_high]) == pid {
            return Some(value);
        }
        list = rest;
    }
}

/// Whether the change passed the filter with this signature at the writer (§9.6.4); `None` when the writer did not
/// evaluate it.
pub fn content_filter_passed(list: &ParameterList<'_>, signature: &[u8; SIGNATURE_LEN]) -> Option<bool> {
    let mut reader = list.read(pid::CONTENT_FILTER_INFO)?;
    let words = reader.count(4).ok()?;
    let bitmaps = reader;
    for _ in 0..words {
        reader.u32().ok()?;
    }
    let signatures = reader.count(SIGNATURE_LEN).ok()?;
    if words != signatures.div_ceil(32) {
        return None;
    }
    let index = (0..signatures).find(|_| reader.array().is_ok_and(|octets| octets == *signature))?;
    bit(bitmaps, index)
}

/// Bytes of what [`passed_filter`] makes.
pub const PASSED_FILTER_LEN: usize = 32;

/// The parameter, little-endian, that says of a change whether it passed the filter with this signature (§9.6.4).
#[must_use]
pub fn passed_filter(signature: &[u8; SIGNATURE_LEN], passed: bool) -> [u8; PASSED_FILTER_LEN] {
    let [pid_low, pid_high] = pid::CONTENT_FILTER_INFO.to_le_bytes();
    let mut octets = [0; PASSED_FILTER_LEN];
    // One word of results, whose most significant bit is for the first signature, of which there is one.
    let head = [pid_low, pid_high, 28, 0, 1, 0, 0, 0, 0, 0, 0, if passed { 0x80 } else { 0 }, 1, 0, 0, 0];
    let octets_of = head.iter().chain(signature);
    octets.iter_mut().zip(octets_of).for_each(|(to, from)| *to = *from);
    octets
}

/// Bit `index` of consecutive words, the first in the most significant position of the first word.
fn bit(mut words: ParamReader<'_>, index: usize) -> Option<bool> {
    for _ in 0..index / 32 {
        words.u32().ok()?;
    }
    let mask = 0x8000_0000_u32.checked_shr(u32::try_from(index % 32).ok()?)?;
    Some(words.u32().ok()? & mask != 0)
}

fn sequence_number(list: &ParameterList<'_>, pid: u16) -> Option<SequenceNumber> {
    as_sequence_number(list.find(pid)?, list.endianness()).ok()
}

fn identity(list: &ParameterList<'_>, pid: u16) -> Option<OriginalWriterInfo> {
    let mut reader = list.read(pid)?;
    Some(OriginalWriterInfo { writer_guid: reader.guid().ok()?, writer_sn: reader.sequence_number().ok()? })
}

/// Inline QoS of a change that is not alive, with sentinel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InlineQosBuffer {
    octets: [u8; Self::CAPACITY],
    len: usize,
}

impl InlineQosBuffer {
    /// Key hash (20 bytes), status (8) and sentinel (4).
    const CAPACITY: usize = 32;

    fn append(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(slot) = self.octets.get_mut(self.len..end) {
            slot.copy_from_slice(bytes);
            self.len = end;
        }
    }

    fn parameter(&mut self, pid: u16, value: &[u8], endianness: Endianness) {
        let length = u16::try_from(value.len()).unwrap_or(0);
        for field in [pid, length] {
            self.append(&match endianness {
                Endianness::Big => field.to_be_bytes(),
                Endianness::Little => field.to_le_bytes(),
            });
        }
        self.append(value);
    }
}

impl Deref for InlineQosBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or(&self.octets)
    }
}

impl AsRef<[u8]> for InlineQosBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// The little-endian inline QoS that says `status` and the key hash, with sentinel; empty when there is nothing to say.
/// It needs no heap.
pub fn inline_qos_for_status(status: StatusInfo, key_hash: Option<&[u8; KEY_HASH_LEN]>) -> InlineQosBuffer {
    let endianness = Endianness::Little;
    let mut buffer = InlineQosBuffer { octets: [0; InlineQosBuffer::CAPACITY], len: 0 };
    if let Some(hash) = key_hash {
        buffer.parameter(pid::KEY_HASH, hash, endianness);
    }
    if status != StatusInfo::default() {
        buffer.parameter(pid::STATUS_INFO, &status.0.to_be_bytes(), endianness);
    }
    if buffer.len > 0 {
        buffer.parameter(pid::SENTINEL, &[], endianness);
    }
    buffer
}

impl ParameterListBuilder {
    /// Adds the identity of a change at its origin.
    pub fn put_identity(&mut self, pid: u16, identity: &OriginalWriterInfo) -> bool {
        self.put_with(pid, |out| {
            out.guid(identity.writer_guid);
            out.sequence_number(identity.writer_sn);
        })
    }
}

#[cfg(test)]
mod tests;
