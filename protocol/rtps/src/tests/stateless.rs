//! RTPS 2.5 §8.4.8 and §8.4.11: participants find each other without being matched.

use alloc::vec::Vec;

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, Guid, GuidPrefix};
use dunlin_wire::{Message, ReceiverState, Submessage};

use super::support::*;
use crate::{StatelessReader, StatelessWriter};

const SPDP_WRITER: Guid = Guid::new(GuidPrefix([1; 12]), EntityId::SPDP_WRITER);
const SPDP_READER: Guid = Guid::new(GuidPrefix([2; 12]), EntityId::SPDP_READER);

fn receive(reader: &mut StatelessReader, packet: &Packet, sink: &mut Sink) {
    let message = Message::parse(&packet.bytes).unwrap();
    let mut state = ReceiverState::new(reader.guid().prefix, &message.header());
    for parsed in message.submessages() {
        let body = parsed.unwrap().body;
        state.apply(&body);
        match &body {
            Submessage::Data(data) => reader.on_data(at(0), &state, data, &packet.bytes, sink),
            Submessage::DataFrag(frag) => reader.on_data_frag(at(0), &state, frag, &packet.bytes, sink),
            _ => {}
        }
    }
}

#[test]
fn announcements_repeat_and_answers_are_directed() {
    let mut writer = StatelessWriter::new(SPDP_WRITER, true, 1472);
    let mut reader = StatelessReader::new(SPDP_READER, 65_536);
    let (mut out, mut sink) = (Outbox::new(), Sink::default());
    for _ in 0..2 {
        writer.send(&change(1, sample(300)), EntityId::UNKNOWN, None, &[GROUP], &mut out);
    }
    let to = host(SPDP_READER.prefix);
    writer.send(&change(1, sample(300)), EntityId::SPDP_READER, Some(SPDP_READER.prefix), &[to], &mut out);
    let packets = drain(&mut out);
    assert_eq!(packets[0].seen(), [Seen::Ts, Seen::Data { sn: 1, reader: EntityId::UNKNOWN }]);
    let answer =
        [Seen::Dst(SPDP_READER.prefix), Seen::Ts, Seen::Data { sn: 1, reader: EntityId::SPDP_READER }];
    assert_eq!(packets[2].seen(), answer);
    packets.iter().for_each(|packet| receive(&mut reader, packet, &mut sink));
    assert_eq!(sink.got, [1, 1, 1]);
    writer.send(&change(1, sample(10)), EntityId::SEDP_TOPICS_READER, None, &[GROUP], &mut out);
    receive(&mut reader, &drain(&mut out)[0], &mut sink);
    assert_eq!(sink.got.len(), 3);
}

#[test]
fn large_announcements_come_in_fragments_from_several_writers() {
    let (mut out, mut sink) = (Outbox::new(), Sink::default());
    let mut reader = StatelessReader::new(SPDP_READER, 5000);
    let packets: Vec<_> = (0..3)
        .map(|n| {
            let guid = Guid::new(GuidPrefix([n + 3; 12]), EntityId::SPDP_WRITER);
            StatelessWriter::new(guid, true, 1472).send(
                &change(1, sample(3000 + usize::from(n))),
                EntityId::UNKNOWN,
                None,
                &[GROUP],
                &mut out,
            );
            drain(&mut out)
        })
        .collect();
    for part in 0..3 {
        packets.iter().for_each(|of_writer| receive(&mut reader, &of_writer[part], &mut sink));
    }
    assert_eq!(sink.payloads, [Some(sample(3000)), Some(sample(3001)), Some(sample(3002))]);
    // A flood of writers that never finish, and a sample too large, leave the reader bounded and working.
    for n in 0..if cfg!(miri) { 20 } else { 200u8 } {
        let guid = Guid::new(GuidPrefix([n; 12]), EntityId::SPDP_WRITER);
        let size = if n % 2 == 0 { 4000 } else { 100_000 };
        StatelessWriter::new(guid, true, 1472).send(
            &change(1, sample(size)),
            EntityId::UNKNOWN,
            None,
            &[GROUP],
            &mut out,
        );
        receive(&mut reader, &drain(&mut out)[0], &mut sink);
    }
    assert_eq!(sink.got.len(), 3);
    packets[0].iter().for_each(|packet| receive(&mut reader, packet, &mut sink));
    assert_eq!(sink.got.len(), 4);
}
