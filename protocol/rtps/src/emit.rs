//! RTPS 2.5 §8.3.8.2 Data and §8.3.8.3 DataFrag: how a change becomes submessages, and when it needs fragments.

use alloc::vec::Vec;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, GuidPrefix, MAX_SET_BITS, SequenceNumber, SequenceNumberSet, SnRange};
use dunlin_wire::{DataFragSpec, DataSpec, Gap, MessageBuilder, PayloadSpec, pid, size};

use crate::{Change, ChangeKind, compat};

/// Smallest fragment that is derived from a message size, so that absurdly small message sizes still work.
const MIN_FRAGMENT_SIZE: usize = 64;
/// Octets of the parameter that ends a list.
const SENTINEL_LEN: usize = 4;
/// Octets of the parameters of a change that is no sample.
const KEY_HASH_LEN: usize = 20;
const STATUS_INFO_LEN: usize = 8;
/// Most octets of [`WriterConfig::reader_inline_qos`](crate::WriterConfig::reader_inline_qos) that travel with changes in
/// fragments.
pub const MAX_READER_INLINE_QOS: usize = 512;

/// What is the same in everything one writer sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    pub(crate) guid: Guid,
    pub(crate) max_message_size: usize,
    pub(crate) fragment_size: u16,
    pub(crate) keyed: bool,
    /// A matched reader needs the work-around for short keys.
    pub(crate) long_keys: bool,
    /// Of every datagram.
    pub(crate) class: u8,
    /// The one participant that is meant.
    pub(crate) only: Option<GuidPrefix>,
    /// Fragments of later changes leave room for the inline QoS that readers expect. Those of earlier ones are as large as they
    /// were when the first of them left: readers put a change together from fragments of one size.
    pub(crate) room_after: Option<SequenceNumber>,
}

impl Framing {
    /// `fragment_size` of 0 derives it so that one fragment fills one datagram.
    pub(crate) fn new(guid: Guid, keyed: bool, max_message_size: usize, fragment_size: u16) -> Self {
        let derived = largest_fragment(max_message_size, 0);
        Self {
            guid,
            max_message_size,
            fragment_size: if fragment_size == 0 { derived } else { fragment_size },
            keyed,
            long_keys: false,
            class: 0,
            only: None,
            room_after: None,
        }
    }

    /// Directs every message to one participant, which takes some room.
    pub(crate) fn directed(self, to: Option<GuidPrefix>) -> Self {
        let Some(_) = to else { return self };
        let max_message_size = self.max_message_size.saturating_sub(size::INFO_DST);
        Self { only: to, ..Self::new(self.guid, self.keyed, max_message_size, 0) }
    }

    /// Starts a message from this writer.
    pub(crate) fn begin<'o>(&self, out: &'o mut Outbox) -> MessageBuilder<'o> {
        let mut message = MessageBuilder::new(out, self.guid.prefix);
        message.traffic_class(self.class);
        if let Some(prefix) = self.only {
            message.info_dst(prefix);
        }
        message
    }

    /// Octets of INFO_TS and DATA for a change.
    pub(crate) fn data_len(change: &Change, inline: &[u8]) -> usize {
        let payload = change.payload.as_ref().map_or(0, |payload| payload.len());
        size::INFO_TS.saturating_add(size::data(inline.len(), payload))
    }

    /// Whether a change has to be sent in fragments.
    pub(crate) fn needs_fragments(&self, change: &Change, inline: &[u8]) -> bool {
        size::HEADER.saturating_add(Self::data_len(change, inline)) > self.max_message_size
    }

    /// Octets of inline QoS for readers that have room beside a fragment of a change.
    fn room_for_readers(&self, change: &Change) -> usize {
        let later = self.room_after.is_some_and(|last| change.sn > last);
        if later { MAX_READER_INLINE_QOS } else { 0 }
    }

    /// Octets of the inline QoS that a change has for everybody, without the end of the list.
    fn own_inline_len(&self, change: &Change) -> usize {
        let own = change.inline_qos.as_ref().map_or(0, |parameters| parameters.len());
        match change.kind {
            ChangeKind::Alive => own,
            _ if self.keyed => own.saturating_add(KEY_HASH_LEN).saturating_add(STATUS_INFO_LEN),
            _ => own.saturating_add(STATUS_INFO_LEN),
        }
    }

    /// Octets of payload in each fragment of a change, the same whenever and to whomever it is sent.
    #[inline]
    pub(crate) fn fragment_size_of(&self, change: &Change) -> u16 {
        // Asked for every fragment, and nearly always so.
        if self.room_after.is_none() && change.inline_qos.is_none() && change.kind == ChangeKind::Alive {
            return self.fragment_size;
        }
        self.fragment_size_beside_inline_qos(change)
    }

    fn fragment_size_beside_inline_qos(&self, change: &Change) -> u16 {
        match self.own_inline_len(change).saturating_add(self.room_for_readers(change)) {
            0 => self.fragment_size,
            inline => {
                let inline = inline.saturating_add(SENTINEL_LEN);
                self.fragment_size.min(largest_fragment(self.max_message_size, inline))
            }
        }
    }

    /// How many fragments the payload of a change has.
    pub(crate) fn fragment_count(&self, change: &Change) -> u32 {
        let len = change.payload.as_ref().map_or(0, |payload| payload.len());
        u32::try_from(len.div_ceil(usize::from(self.fragment_size_of(change)).max(1))).unwrap_or(u32::MAX)
    }

    /// The octets of up to `count` fragments from `number` on, the first being 1.
    fn fragments(payload: &SharedBytes, size: u16, number: u32, count: u16) -> Option<SharedBytes> {
        let size = usize::from(size);
        let start = usize::try_from(number.checked_sub(1)?).ok()?.checked_mul(size)?;
        if start >= payload.len() {
            return None;
        }
        let len = size.saturating_mul(usize::from(count));
        payload.slice(start..start.saturating_add(len).min(payload.len()))
    }

    /// Appends INFO_TS and DATA.
    #[inline]
    pub(crate) fn put_data(
        &self,
        message: &mut MessageBuilder<'_>,
        change: &Change,
        inline: &[u8],
        reader_id: EntityId,
    ) {
        if inline.is_empty()
            && reader_id == EntityId::UNKNOWN
            && change.kind == ChangeKind::Alive
            && let Some(payload) = &change.payload
            && message.small_sample(change.source_timestamp, self.guid.entity_id, change.sn, payload)
        {
            return;
        }
        message.info_ts(Some(change.source_timestamp));
        message.data(&DataSpec {
            reader_id,
            writer_id: self.guid.entity_id,
            writer_sn: change.sn,
            inline_qos: inline,
            payload: self.payload_spec(change),
        });
    }

    /// Appends INFO_TS and a DATA_FRAG with the single fragment `number`. There is no room for INFO_DST in a datagram
    /// that a fragment fills, so `reader_id` only tells the readers of one destination apart. False when the change has
    /// no such fragment.
    pub(crate) fn put_fragment(
        &self,
        message: &mut MessageBuilder<'_>,
        change: &Change,
        inline: &[u8],
        number: u32,
        reader_id: EntityId,
    ) -> bool {
        self.put_fragments(message, change, inline, (number, 1), reader_id)
    }

    /// The same with a DATA_FRAG of up to `count` fragments, at least one, from `number` on.
    pub(crate) fn put_fragments(
        &self,
        message: &mut MessageBuilder<'_>,
        change: &Change,
        inline: &[u8],
        (number, count): (u32, u16),
        reader_id: EntityId,
    ) -> bool {
        let Some(payload) = &change.payload else { return false };
        let fragment_size = self.fragment_size_of(change);
        let Some(fragments) = Self::fragments(payload, fragment_size, number, count) else { return false };
        let Ok(sample_size) = u32::try_from(payload.len()) else { return false };
        let present =
            if count == 1 { 1 } else { fragments.len().div_ceil(usize::from(fragment_size).max(1)) };
        message.info_ts(Some(change.source_timestamp));
        message.data_frag(&DataFragSpec {
            reader_id,
            writer_id: self.guid.entity_id,
            writer_sn: change.sn,
            fragment_starting_num: number,
            fragments_in_submessage: u16::try_from(present).unwrap_or(count),
            fragment_size,
            sample_size,
            // Only the first fragment needs the parameters (§8.3.8.3.2).
            inline_qos: if number == 1 { inline } else { &[] },
            key_flag: change.kind != ChangeKind::Alive,
            payload: fragments,
        })
    }

    fn payload_spec(&self, change: &Change) -> PayloadSpec {
        match &change.payload {
            None => PayloadSpec::None,
            Some(payload) if change.kind == ChangeKind::Alive => PayloadSpec::Data(payload.clone()),
            Some(payload) if self.long_keys => PayloadSpec::Key(compat::long_key(payload)),
            Some(payload) => PayloadSpec::Key(payload.clone()),
        }
    }

    /// Writes the inline QoS of a change into `buffer`; empty when it has none. What readers expect is left out where a fragment
    /// has no room for it.
    pub(crate) fn inline_qos(
        &self,
        change: &Change,
        for_readers: Option<&SharedBytes>,
        buffer: &mut Vec<u8>,
    ) {
        self.put_inline_qos(change, for_readers, buffer);
        if for_readers.is_some_and(|list| list.len() > self.room_for_readers(change))
            && self.needs_fragments(change, buffer)
        {
            self.put_inline_qos(change, None, buffer);
        }
    }

    pub(crate) fn put_inline_qos(
        &self,
        change: &Change,
        for_readers: Option<&SharedBytes>,
        buffer: &mut Vec<u8>,
    ) {
        buffer.clear();
        if change.kind != ChangeKind::Alive {
            if self.keyed {
                put_parameter(buffer, pid::KEY_HASH, &change.instance.0);
            }
            put_parameter(buffer, pid::STATUS_INFO, &change.kind.status().0.to_be_bytes());
        }
        for parameters in change.inline_qos.iter().chain(for_readers) {
            buffer.extend_from_slice(parameters);
        }
        if !buffer.is_empty() {
            put_parameter(buffer, pid::SENTINEL, &[]);
        }
    }
}

/// Octets of payload in the largest fragment that fits into a message beside this much inline QoS.
fn largest_fragment(max_message_size: usize, inline: usize) -> u16 {
    let overhead = size::HEADER.saturating_add(size::INFO_TS).saturating_add(size::data_frag(inline, 0));
    let room = max_message_size.saturating_sub(overhead).max(MIN_FRAGMENT_SIZE);
    // Whole words, so that padding does not push a full fragment over the limit.
    u16::try_from(room & !3).unwrap_or(u16::MAX)
}

/// Adds a parameter to inline QoS that is complete, or that there is none of.
pub(crate) fn add_inline_qos(buffer: &mut Vec<u8>, parameter: &[u8]) {
    buffer.truncate(buffer.len().saturating_sub(SENTINEL_LEN));
    buffer.extend_from_slice(parameter);
    put_parameter(buffer, pid::SENTINEL, &[]);
}

fn put_parameter(buffer: &mut Vec<u8>, pid: u16, value: &[u8]) {
    buffer.extend_from_slice(&pid.to_le_bytes());
    buffer.extend_from_slice(&(value.len() as u16).to_le_bytes());
    buffer.extend_from_slice(value);
}

/// A GAP that starts with the first of the ascending, disjoint `ranges` and carries as many more as lie within its
/// window of 256; also says how many it carries.
pub(crate) fn gap(writer_id: EntityId, reader_id: EntityId, ranges: &[SnRange]) -> Option<(Gap, usize)> {
    let (first, rest) = ranges.split_first()?;
    let mut gap_list = SequenceNumberSet::empty(first.last.next());
    let window_end = gap_list.base().plus(i64::from(MAX_SET_BITS));
    let mut used = 1usize;
    for range in rest.iter().take_while(|range| range.last < window_end) {
        let mut sn = range.first;
        while sn <= range.last && gap_list.insert(sn) {
            sn = sn.next();
        }
        used = used.saturating_add(1);
    }
    Some((
        Gap { reader_id, writer_id, gap_start: first.first, gap_list, group: None, filtered_count: None },
        used,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::{change, sample};

    fn range(first: i64, last: i64) -> SnRange {
        SnRange::new(SequenceNumber(first), SequenceNumber(last))
    }

    #[test]
    fn a_fragment_fills_a_datagram() {
        let framing = Framing::new(Guid::UNKNOWN, true, 1472, 0);
        assert_eq!(framing.fragment_size, 1404);
        let fits = sample(1472 - 20 - 12 - 24);
        assert!(!framing.needs_fragments(&change(1, fits.clone()), &[]));
        assert!(framing.needs_fragments(&change(1, fits), &[0; 4]));
        assert!(framing.needs_fragments(&change(1, sample(1417)), &[]));
        let count = |len| framing.fragment_count(&change(1, sample(len)));
        assert_eq!((count(1404), count(1405)), (1, 2));
        let payload = sample(1410);
        let fragments = |payload: &SharedBytes, number, count| {
            Framing::fragments(payload, framing.fragment_size, number, count)
        };
        assert_eq!(fragments(&payload, 2, 1).unwrap()[..], payload[1404..]);
        assert_eq!(fragments(&payload, 1, 9).unwrap(), payload);
        let none = |payload: &SharedBytes, number| fragments(payload, number, 1).is_none();
        assert!(none(&sample(1404), 2) && none(&payload, 3) && none(&payload, 0));
        assert_eq!(Framing::new(Guid::UNKNOWN, true, 65_507, 0).fragment_size, 65_436);
        assert_eq!(Framing::new(Guid::UNKNOWN, true, 1 << 20, 0).fragment_size, u16::MAX);
    }

    #[test]
    fn fragments_leave_room_for_what_goes_inline() {
        let framing = Framing::new(Guid::UNKNOWN, true, 1472, 0);
        let own = Change { inline_qos: Some(SharedBytes::copy_from(&[0; 28])), ..change(1, sample(5000)) };
        assert_eq!(framing.fragment_size_of(&own), 1404 - 28 - 4);
        let ended = Change { kind: ChangeKind::Disposed, ..change(1, sample(5000)) };
        assert_eq!(framing.fragment_size_of(&ended), 1404 - 20 - 8 - 4);
        let framing = Framing { room_after: Some(SequenceNumber(7)), ..framing };
        let sizes = [7, 8].map(|sn| framing.fragment_size_of(&change(sn, sample(5000))));
        assert_eq!(sizes, [1404, 1404 - 512 - 4]);
        let set = Framing { fragment_size: 800, ..framing };
        assert_eq!(set.fragment_size_of(&change(8, sample(5000))), 800, "there is room");
    }

    #[test]
    fn gaps_keep_intervals_and_use_the_bitmap_for_what_is_near() {
        let ids = (EntityId::UNKNOWN, EntityId::UNKNOWN);
        let ranges =
            [range(1, 1 << 62), range((1 << 62) + 2, (1 << 62) + 3), range((1 << 62) + 300, i64::MAX)];
        let (gap, used) = super::gap(ids.0, ids.1, &ranges).unwrap();
        assert_eq!((gap.gap_start.0, gap.gap_list.base().0, used), (1, (1 << 62) + 1, 2));
        assert_eq!(gap.gap_list.iter().map(|sn| sn.0 - (1 << 62)).collect::<Vec<_>>(), [2, 3]);
        assert!(super::gap(ids.0, ids.1, &[]).is_none());
    }
}
