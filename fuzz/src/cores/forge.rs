//! Submessages in the name of the writer or the reader, with any numbers.

use dunlin_buf::SharedBytes;
use dunlin_core::{EntityId, GuidPrefix, ProtocolVersion, SequenceNumber, VendorId};
use dunlin_wire::{
    AckNack, Data, DataFrag, Gap, Header, Heartbeat, HeartbeatFrag, NackFrag, Payload, ReceiverState,
};

use super::pair::{Pair, READER, WRITER};
use crate::input::Input;

/// Payloads are parts of this one.
const PACKET: [u8; 1400] = [0x5a; 1400];

fn reader_id(input: &mut Input<'_>) -> EntityId {
    input.pick(&[EntityId::UNKNOWN, READER.entity_id, EntityId::UNKNOWN, EntityId([0, 0, 9, 7])])
}

impl Pair {
    /// The number that forgers begin with.
    fn near(&self) -> SequenceNumber {
        self.writer.sent_sn().next()
    }

    fn next_count(&mut self, input: &mut Input<'_>) -> i32 {
        self.count = input.count(self.count);
        self.count
    }

    pub(super) fn forge_for_reader(&mut self, input: &mut Input<'_>) {
        self.begin_forging();
        let near = self.near();
        let (reader_id, writer_id, count) = (reader_id(input), WRITER.entity_id, self.next_count(input));
        match input.u8() % 5 {
            0 => {
                let heartbeat = Heartbeat {
                    reader_id,
                    writer_id,
                    first_sn: input.sn(near),
                    last_sn: input.sn(near),
                    count,
                    final_flag: count & 1 != 0,
                    liveliness_flag: count & 2 != 0,
                    group: None,
                };
                let Self { now, reader, sink, out, .. } = self;
                reader.on_heartbeat(*now, WRITER.prefix.into(), &heartbeat, sink, out);
            }
            1 => {
                let gap = Gap {
                    reader_id,
                    writer_id,
                    gap_start: input.sn(near),
                    gap_list: input.sn_set(near),
                    group: None,
                    filtered_count: None,
                };
                let Self { now, reader, sink, out, .. } = self;
                reader.on_gap(*now, WRITER.prefix.into(), &gap, sink, out);
            }
            2 => {
                let heartbeat = HeartbeatFrag {
                    reader_id,
                    writer_id,
                    writer_sn: input.sn(near),
                    last_fragment_num: input.fragment_number(),
                    count,
                };
                self.reader.on_heartbeat_frag(self.now, WRITER.prefix, &heartbeat, &mut self.out);
            }
            3 => self.forge_data(reader_id, input),
            _ => self.forge_fragments(reader_id, input),
        }
        self.forged(true);
    }

    fn forge_data(&mut self, reader_id: EntityId, input: &mut Input<'_>) {
        let packet = SharedBytes::copy_from(&PACKET);
        let len = input.pick(&[4, 100, 1200]);
        let data = Data {
            reader_id,
            writer_id: WRITER.entity_id,
            writer_sn: input.sn(self.near()),
            inline_qos: None,
            payload: if len == 4 { Payload::None } else { Payload::Data(&packet[..len]) },
            non_standard_payload: false,
        };
        let Self { now, reader, sink, out, .. } = self;
        reader.on_data(*now, &state(), &data, &packet, sink, out);
    }

    fn forge_fragments(&mut self, reader_id: EntityId, input: &mut Input<'_>) {
        let packet = SharedBytes::copy_from(&PACKET);
        let fragment_size = input.pick(&[1, 200, 544, 700, 1400]);
        let sample_size = match input.u8() {
            lie @ 0xf0.. => u32::MAX >> (lie % 16),
            size => u32::from(size) * 64 + 1,
        };
        let fragments_in_submessage = u16::from(input.u8() % 4);
        let wanted = usize::from(fragment_size) * usize::from(fragments_in_submessage);
        let frag = DataFrag {
            reader_id,
            writer_id: WRITER.entity_id,
            writer_sn: input.sn(self.near()),
            fragment_starting_num: input.fragment_number(),
            fragments_in_submessage,
            fragment_size,
            sample_size,
            inline_qos: None,
            key_flag: false,
            non_standard_payload: false,
            payload: &packet[..wanted.min(packet.len())],
        };
        let Self { now, reader, sink, out, .. } = self;
        reader.on_data_frag(*now, &state(), &frag, &packet, sink, out);
    }

    pub(super) fn forge_for_writer(&mut self, input: &mut Input<'_>) {
        self.begin_forging();
        let near = self.near();
        let (reader_id, writer_id, count) = (READER.entity_id, WRITER.entity_id, self.next_count(input));
        let prefix = input.pick(&[READER.prefix, READER.prefix, READER.prefix, GuidPrefix([9; 12])]);
        if input.u8().is_multiple_of(2) {
            let acknack = AckNack {
                reader_id,
                writer_id,
                reader_sn_state: input.sn_set(near),
                count,
                final_flag: count & 1 != 0,
            };
            self.writer.on_acknack(self.now, prefix, &acknack, &self.history, &mut self.out);
        } else {
            let nack = NackFrag {
                reader_id,
                writer_id,
                writer_sn: input.sn(near),
                fragment_number_state: input.fragment_set(),
                count,
            };
            self.writer.on_nack_frag(self.now, prefix, &nack, &self.history, &mut self.out);
        }
        self.forged(false);
    }
}

fn state() -> ReceiverState {
    let header =
        Header { version: ProtocolVersion::V2_5, vendor_id: VendorId::DUNLIN, guid_prefix: WRITER.prefix };
    ReceiverState::new(READER.prefix, &header)
}
