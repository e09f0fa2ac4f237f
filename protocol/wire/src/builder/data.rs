//! RTPS 2.5 §9.4.5 "Data" and §9.4.5 "DataFrag": writing them with shared payloads.

use dunlin_buf::SharedBytes;
use dunlin_core::{EntityId, RtpsTime, SequenceNumber, WallTime};

use super::{MessageBuilder, size};
use crate::Endianness;
use crate::encoder::{Block, Encoder};
use crate::submessage::{data_flag, data_frag_flag, kind};

/// Bytes from the end of `octetsToInlineQos` to the inline QoS.
const DATA_TO_INLINE_QOS: u16 = 16;
const DATA_FRAG_TO_INLINE_QOS: u16 = 28;
const EXTRA_FLAGS: u16 = 0;
/// Payloads up to this many bytes are copied behind their headers: that costs less than a piece of their own in the
/// scatter list, and lets a datagram of many small samples be one piece.
const COPIED: usize = 256;

/// What a DATA says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSpec<'a> {
    /// The reader addressed, or [`EntityId::UNKNOWN`] for all.
    pub reader_id: EntityId,
    /// The writer of the change.
    pub writer_id: EntityId,
    /// The change.
    pub writer_sn: SequenceNumber,
    /// Ready-made parameter list in the byte order of the message, with sentinel; empty for no inline QoS.
    pub inline_qos: &'a [u8],
    /// Value or key, with encapsulation header.
    pub payload: PayloadSpec,
}

/// Payload of a DATA.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PayloadSpec {
    /// No payload.
    #[default]
    None,
    /// A value.
    Data(SharedBytes),
    /// The key of an instance.
    Key(SharedBytes),
}

/// What a DATA_FRAG says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFragSpec<'a> {
    /// The reader addressed, or [`EntityId::UNKNOWN`] for all.
    pub reader_id: EntityId,
    /// The writer of the change.
    pub writer_id: EntityId,
    /// The change.
    pub writer_sn: SequenceNumber,
    /// Number of the first fragment here; the first of a change is 1.
    pub fragment_starting_num: u32,
    /// How many fragments are here.
    pub fragments_in_submessage: u16,
    /// Bytes of each fragment but the last of the change.
    pub fragment_size: u16,
    /// Bytes of the whole serialized payload, encapsulation header included.
    pub sample_size: u32,
    /// Ready-made parameter list in the byte order of the message, with sentinel; empty for no inline QoS.
    pub inline_qos: &'a [u8],
    /// The payload is a key.
    pub key_flag: bool,
    /// The bytes of these fragments.
    pub payload: SharedBytes,
}

impl MessageBuilder<'_> {
    /// Adds DATA.
    pub fn data(&mut self, data: &DataSpec<'_>) -> bool {
        let (payload, payload_flag) = match &data.payload {
            PayloadSpec::None => (None, 0),
            PayloadSpec::Data(bytes) => (Some(bytes), data_flag::DATA),
            PayloadSpec::Key(bytes) => (Some(bytes), data_flag::KEY),
        };
        let qos_flag = if data.inline_qos.is_empty() { 0 } else { data_flag::INLINE_QOS };
        let standard_flag = if self.non_standard_payload { data_flag::NON_STANDARD_PAYLOAD } else { 0 };
        let flags = payload_flag | qos_flag | standard_flag;
        let mut fields = Block::with_header();
        let mut out = Encoder::new(&mut fields, self.endianness);
        out.u16(EXTRA_FLAGS);
        out.u16(DATA_TO_INLINE_QOS);
        out.entity_id(data.reader_id);
        out.entity_id(data.writer_id);
        out.sequence_number(data.writer_sn);
        self.change(kind::DATA, flags, fields, data.inline_qos, payload)
    }

    /// Adds INFO_TS and DATA of a value to all readers, without inline QoS, if it is small enough to be copied: the two in one
    /// piece, in which most samples leave. False if something stands against it, and nothing was added.
    pub fn small_sample(
        &mut self,
        timestamp: WallTime,
        writer_id: EntityId,
        writer_sn: SequenceNumber,
        payload: &SharedBytes,
    ) -> bool {
        let plain = !self.sealed
            && !self.payload_ends
            && !self.non_standard_payload
            && self.endianness == Endianness::Little
            && payload.len() <= COPIED
            && payload.memory().is_none();
        let time = RtpsTime::from_wall(timestamp);
        if !plain || time == RtpsTime::INVALID {
            return false;
        }
        const TIMED: usize = 12;
        const FIELDS: usize = 24;
        let body = (FIELDS - size::SUBMESSAGE_HEADER).saturating_add(payload.len());
        let [len_low, len_high] = (size::padded(body) as u16).to_le_bytes();
        let little = self.endianness.flag();
        let mut head = [0; TIMED + FIELDS];
        let (info_ts, data) = head.split_at_mut(TIMED);
        let (seconds, fraction) = (time.seconds.to_le_bytes(), time.fraction.to_le_bytes());
        let (high, low) = (writer_sn.high().to_le_bytes(), writer_sn.low().to_le_bytes());
        let [to_inline_qos, _] = DATA_TO_INLINE_QOS.to_le_bytes();
        fill(info_ts, &[&[kind::INFO_TS, little, 8, 0], &seconds, &fraction]);
        let header = [kind::DATA, little | data_flag::DATA, len_low, len_high];
        let flags = [0, 0, to_inline_qos, 0];
        fill(data, &[&header, &flags, &EntityId::UNKNOWN.0, &writer_id.0, &high, &low]);
        self.out.put_both(&head, payload);
        self.align(body);
        true
    }

    /// Adds DATA_FRAG.
    pub fn data_frag(&mut self, data: &DataFragSpec<'_>) -> bool {
        let qos_flag = if data.inline_qos.is_empty() { 0 } else { data_frag_flag::INLINE_QOS };
        let key_flag = if data.key_flag { data_frag_flag::KEY } else { 0 };
        let standard_flag = if self.non_standard_payload { data_frag_flag::NON_STANDARD_PAYLOAD } else { 0 };
        let flags = qos_flag | key_flag | standard_flag;
        let mut fields = Block::with_header();
        let mut out = Encoder::new(&mut fields, self.endianness);
        out.u16(EXTRA_FLAGS);
        out.u16(DATA_FRAG_TO_INLINE_QOS);
        out.entity_id(data.reader_id);
        out.entity_id(data.writer_id);
        out.sequence_number(data.writer_sn);
        out.u32(data.fragment_starting_num);
        out.u16(data.fragments_in_submessage);
        out.u16(data.fragment_size);
        out.u32(data.sample_size);
        self.change(kind::DATA_FRAG, flags, fields, data.inline_qos, Some(&data.payload))
    }

    fn change(
        &mut self,
        id: u8,
        flags: u8,
        mut fields: Block,
        inline_qos: &[u8],
        payload: Option<&SharedBytes>,
    ) -> bool {
        let payload_len = payload.map_or(0, |bytes| bytes.len());
        let body = fields.body_len().saturating_add(inline_qos.len()).saturating_add(payload_len);
        // What lies in memory of its own is the last of its message, so that it may stay there.
        let in_memory = payload.is_some_and(|bytes| bytes.memory().is_some());
        let last = id == kind::DATA && (self.payload_ends || in_memory);
        let stated = if last { self.stated_last() } else { self.stated(id, body) };
        let Some(stated) = stated else { return false };
        fields.set_header(id, flags, stated, self.endianness);
        self.out.put(fields.as_bytes());
        self.out.put(inline_qos);
        match payload {
            Some(bytes) if last => self.out.put_tail(bytes.clone()),
            Some(bytes) if bytes.len() <= COPIED => self.out.put(bytes),
            Some(bytes) => self.out.put_shared(bytes.clone()),
            None => {}
        }
        self.align(body);
        true
    }
}

/// Fills bytes with words.
#[inline]
fn fill(octets: &mut [u8], words: &[&[u8; 4]]) {
    let places = octets.as_chunks_mut::<4>().0;
    places.iter_mut().zip(words).for_each(|(place, word)| *place = **word);
}

impl DataSpec<'_> {
    /// Bytes of this submessage.
    pub fn encoded_len(&self) -> usize {
        let payload = match &self.payload {
            PayloadSpec::None => 0,
            PayloadSpec::Data(bytes) | PayloadSpec::Key(bytes) => bytes.len(),
        };
        size::data(self.inline_qos.len(), payload)
    }
}

impl DataFragSpec<'_> {
    /// Bytes of this submessage.
    pub fn encoded_len(&self) -> usize {
        size::data_frag(self.inline_qos.len(), self.payload.len())
    }
}
