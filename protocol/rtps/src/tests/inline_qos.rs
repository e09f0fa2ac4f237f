//! RTPS 2.5 §8.7.2.2.5: inline QoS for readers that expect it, with changes in fragments.

use alloc::vec;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::Locator;
use dunlin_wire::{Message, Submessage};

use super::support::*;
use crate::{MAX_READER_INLINE_QOS, ReaderConfig, ReaderProxyConfig, WriterConfig};

const LIMIT: usize = 1472;
const LARGE: usize = 10_000;

/// One parameter, so that the list is as long as it may be.
fn list(value: u8) -> SharedBytes {
    let mut list = vec![value; MAX_READER_INLINE_QOS];
    list[..4].copy_from_slice(&[0x06, 0, 0xfc, 0x01]);
    SharedBytes::copy_from(&list)
}

fn source() -> Source {
    Source::new(WriterConfig {
        reader_inline_qos: Some(list(7)),
        transient_local: true,
        max_message_size: LIMIT,
        ..Default::default()
    })
}

fn expecting(n: u8, durable: bool) -> ReaderProxyConfig {
    ReaderProxyConfig { expects_inline_qos: true, durable, ..reader_proxy(n) }
}

fn place(n: u8) -> Locator {
    host(reader_guid(n).prefix)
}

fn target(n: u8, durable: bool) -> Target {
    let mut target = Target::new(n, ReaderConfig::default());
    target.match_writer(at(0), durable);
    target
}

/// Of the first fragments among packets: the change, the size of fragments, and whether the list is with it.
fn first_fragments(packets: &[Packet]) -> Vec<(i64, u16, bool)> {
    let mut found = Vec::new();
    for packet in packets {
        assert!(packet.bytes.len() <= LIMIT, "{} octets", packet.bytes.len());
        for parsed in Message::parse(&packet.bytes).unwrap().submessages() {
            if let Submessage::DataFrag(frag) = parsed.unwrap().body
                && frag.fragment_starting_num == 1
            {
                let list = frag.inline_qos.and_then(|list| list.find(6).map(<[u8]>::len));
                found.push((frag.writer_sn.0, frag.fragment_size, list == Some(MAX_READER_INLINE_QOS - 4)));
            }
        }
    }
    found
}

/// Lets a reader and the writer talk until the reader has a change.
fn deliver(source: &mut Source, target: &mut Target, n: u8, mut packets: Vec<Packet>, sn: i64) {
    for round in 1..100 {
        let now = at(100_000 * round);
        first_fragments(&packets);
        for packet in packets.iter().filter(|packet| packet.to.contains(&place(n))) {
            target.receive(now, packet);
        }
        if target.sink.got.contains(&sn) {
            return;
        }
        drain(&mut target.out).iter().for_each(|packet| source.receive(now, packet));
        target.timer(now);
        drain(&mut target.out).iter().for_each(|packet| source.receive(now, packet));
        source.timer(now);
        packets = drain(&mut source.out);
    }
    panic!("{sn} does not arrive");
}

#[test]
fn the_first_fragment_has_room_for_inline_qos() {
    let mut source = source();
    source.match_reader(at(0), expecting(1, false));
    source.out.clear();
    source.write(at(10), LARGE);
    let packets = drain(&mut source.out);
    assert_eq!(first_fragments(&packets), [(1, 1404 - 512 - 4, true)]);
    deliver(&mut source, &mut target(1, false), 1, packets, 1);
}

/// Somebody has fragments of the first change, and others are of no use to him.
#[test]
fn the_fragment_size_of_a_change_in_transit_stays_when_inline_qos_changes() {
    let mut source = source();
    source.match_reader(at(0), reader_proxy(1));
    source.out.clear();
    let mut first = target(1, false);
    source.write(at(10), LARGE);
    let mut packets = drain(&mut source.out);
    assert_eq!(first_fragments(&packets), [(1, 1404, false)]);
    packets.remove(0);
    source.match_reader(at(20), expecting(2, true));
    source.write(at(30), LARGE);
    packets.extend(drain(&mut source.out));
    assert_eq!(first_fragments(&packets), [(2, 1404 - 512 - 4, true)]);
    deliver(&mut source, &mut first, 1, packets.clone(), 1);
    assert_eq!(first.sink.lost, 0);
    deliver(&mut source, &mut target(2, true), 2, packets, 1);
}

/// Nobody was there to get fragments of another size.
#[test]
fn history_written_before_any_match_gets_inline_qos() {
    let mut source = source();
    source.write(at(10), LARGE);
    source.match_reader(at(20), expecting(1, true));
    let mut late = target(1, true);
    let packets = drain(&mut source.out);
    deliver(&mut source, &mut late, 1, packets, 1);
}
