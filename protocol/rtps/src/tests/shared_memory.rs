//! RTPS 2.5 §9.4.5.1.3: large changes for readers in this process and in shared memory, beside others.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, Locator, SequenceNumber, VendorId};

use super::support::*;
use crate::{ReaderConfig, ReaderProxyConfig, WriterConfig, WriterHistory as _};

const LARGE: usize = 200_000;

fn place(n: u8) -> Locator {
    Locator::shared_memory([1; 8], u64::from(n))
}

fn in_memory(n: u8) -> ReaderProxyConfig {
    ReaderProxyConfig { unicast: [place(n)].into(), ..reader_proxy(n) }
}

fn source(longest: usize) -> Source {
    Source::new(WriterConfig { paths: Ring::paths(longest), window: 127 << 10, ..Default::default() })
}

/// A reader that knows the writer.
fn target(n: u8) -> Target {
    let mut target = Target::new(n, ReaderConfig::default());
    target.match_writer(at(0), false);
    target
}

/// What was sent to one place.
fn to(packets: &[Packet], locator: Locator) -> Vec<&Packet> {
    packets.iter().filter(|packet| packet.to.contains(&locator)).collect()
}

#[test]
fn a_large_change_is_one_message_in_memory_and_fragments_elsewhere() {
    let mut source = source(1 << 20);
    source.match_reader(at(0), in_memory(1));
    source.match_reader(at(0), reader_proxy(2));
    source.out.clear();
    let (mut inside, mut outside) = (target(1), target(2));
    source.write(at(10), LARGE);
    let mut packets = drain(&mut source.out);
    let large: Vec<_> = packets.iter().filter(|packet| packet.bytes.len() > 1472).collect();
    assert!(large.len() == 1 && large[0].bytes.len() > LARGE && large[0].to == [place(1)]);
    // The window holds the network back, not the memory; nothing is sent there again.
    for round in 1..200 {
        for packet in &packets {
            for (target, place) in [(&mut inside, place(1)), (&mut outside, host(reader_guid(2).prefix))] {
                if packet.to.contains(&place) {
                    target.receive(at(20 * round), packet);
                }
            }
        }
        for packet in drain(&mut inside.out).iter().chain(&drain(&mut outside.out)) {
            source.receive(at(20 * round + 10), packet);
        }
        source.timer(at(20 * round + 10));
        packets = drain(&mut source.out);
        assert!(to(&packets, place(1)).iter().all(|packet| packet.bytes.len() < 200));
    }
    for target in [inside, outside] {
        assert_eq!((target.sink.got, target.sink.payloads), (vec![1], vec![Some(sample(LARGE))]));
        assert_eq!(target.reader.stats().duplicates, 0);
    }
    assert_eq!(source.writer.stats().samples_sent, 1);
}

#[test]
fn a_large_sample_lost_in_shared_memory_is_repaired_in_one_message() {
    let mut source = source(1 << 20);
    source.match_reader(at(0), in_memory(1));
    let mut target = target(1);
    source.out.clear();
    source.write(at(10), LARGE);
    let lost = drain(&mut source.out);
    target.receive(at(20), &lost[1]);
    for packet in drain(&mut target.out) {
        source.receive(at(30), &packet);
    }
    let repairs = drain(&mut source.out);
    assert!(repairs[0].bytes.len() > LARGE && repairs.iter().all(|packet| packet.to == [place(1)]));
    assert!(repairs[1..].iter().all(|packet| packet.bytes.len() < 200));
    repairs.iter().for_each(|packet| target.receive(at(40), packet));
    assert_eq!(target.sink.payloads, [Some(sample(LARGE))]);
    assert_eq!(source.writer.stats().repairs_sent, 1);
}

#[test]
fn a_sample_longer_than_a_ring_comes_in_few_fragments_also_as_a_repair() {
    let mut source = source(70_000);
    source.match_reader(at(0), in_memory(1));
    let mut target = target(1);
    drain(&mut source.out).iter().for_each(|packet| target.receive(at(1), packet));
    source.write(at(10), LARGE);
    let packets = drain(&mut source.out);
    let packets: Vec<_> = packets.into_iter().filter(|packet| packet.bytes.len() > 1472).collect();
    assert!(packets.len() == 3 && packets.iter().all(|packet| packet.bytes.len() <= 70_000));
    // The one in the middle is lost: its fragments are asked for one by one, as on the network.
    for packet in [&packets[0], &packets[2]] {
        target.receive(at(20), packet);
    }
    for round in 1..20 {
        for packet in drain(&mut target.out) {
            source.receive(at(round * 5_000), &packet);
        }
        source.timer(at(round * 5_000));
        for packet in drain(&mut source.out) {
            target.receive(at(round * 5_000), &packet);
        }
        target.timer(at(round * 5_000 + 10));
    }
    assert_eq!(target.sink.payloads, [Some(sample(LARGE))]);
    assert!(source.writer.stats().repair_fragments_sent >= 49);
}

#[test]
fn reader_leaving_shared_memory_gets_fragments_and_a_small_send_window() {
    let mut source = source(1 << 20);
    source.match_reader(at(0), in_memory(1));
    source.out.clear();
    for _ in 0..4 {
        source.write(at(10), LARGE);
    }
    let large = |packets: &[Packet]| packets.iter().filter(|packet| packet.bytes.len() > LARGE).count();
    assert_eq!(large(&drain(&mut source.out)), 4, "more than the window of a socket");
    assert!(source.writer.update_reader(reader_guid(1), [host(reader_guid(1).prefix)].into(), [].into()));
    source.write(at(20), LARGE);
    assert_eq!(large(&drain(&mut source.out)), 0);
    assert!(source.writer.has_waiting_data(), "nothing was answered so far");
}

#[test]
fn without_shared_memory_room_a_large_sample_goes_in_fragments() {
    let mut source = source(0);
    source.match_reader(at(0), ReaderProxyConfig { vendor: VendorId([9, 9]), ..in_memory(1) });
    source.out.clear();
    source.write(at(10), LARGE);
    let packets = drain(&mut source.out);
    assert!(packets.len() > 100 && packets.iter().all(|packet| packet.bytes.len() <= 1472));
}

#[test]
fn large_change_within_a_process_is_one_message_ending_in_its_payload() {
    let mut source = source(0);
    source.match_reader(at(0), ReaderProxyConfig { unicast: [Locator::LOCAL].into(), ..reader_proxy(1) });
    source.out.clear();
    let mut target = target(1);
    for number in 1_i64..=3 {
        let now = at(10 * number.unsigned_abs());
        source.write(now, LARGE);
        let payload = source.history.changes[&SequenceNumber(number)].payload.clone().unwrap();
        let ends: Vec<_> = source.out.datagrams().filter_map(|datagram| datagram.last()).collect();
        assert!(
            ends.len() == 1 && ends[0].1.as_ptr() == payload.as_ptr(),
            "it is that of the history, not a copy"
        );
        for packet in drain(&mut source.out) {
            target.receive(now, &packet);
        }
        for packet in drain(&mut target.out) {
            source.receive(now, &packet);
        }
    }
    assert_eq!(target.sink.got, [1, 2, 3], "the send window of sockets does not concern it");
}

struct Elsewhere {
    octets: Vec<u8>,
    shared: bool,
}

impl dunlin_buf::Memory for Elsewhere {
    fn octets(&self) -> &[u8] {
        &self.octets
    }

    fn is_shared(&self) -> bool {
        self.shared
    }
}

/// Adds a change whose payload is lent.
fn lend(source: &mut Source, now: u64) {
    lend_from(source, now, LARGE, true);
}

/// The same of so many octets, from memory that others can have, or that they cannot.
fn lend_from(source: &mut Source, now: u64, len: usize, shared: bool) {
    let sn = source.history.last_sn().next();
    let payload = SharedBytes::lent(Box::new(Elsewhere { octets: vec![7; len], shared }));
    source.history.add_change(change(sn.0, payload));
    source.push(at(now), sn);
}

#[test]
fn lent_samples_of_a_burst_share_one_heartbeat() {
    let cfg = WriterConfig {
        paths: Ring::paths(1 << 20),
        latency_budget: Duration::from_millis(1),
        ..Default::default()
    };
    let mut source = Source::new(cfg.clone());
    source.match_reader(at(0), in_memory(1));
    source.out.clear();
    (0..20).for_each(|n| lend_from(&mut source, 20_000 + n, 50_000, true));
    assert!(source.out.is_empty() && source.writer.has_waiting_data());
    source.timer(at(21_000));
    let packets = drain(&mut source.out);
    let large = packets.iter().filter(|packet| packet.bytes.len() > 50_000).count();
    // The first one asks.
    assert_eq!((large, packets.len()), (20, 22));
    let mut target = target(1);
    packets.iter().for_each(|packet| target.receive(at(21_010), packet));
    assert_eq!(target.sink.got, (1..=20).collect::<Vec<_>>());

    // Those of a batch are a small part of a pool, and what is not shared does not wait.
    for (len, shared, waiting) in [(LARGE, true, 5), (LARGE, false, 0)] {
        let mut source = Source::new(cfg.clone());
        source.match_reader(at(0), in_memory(1));
        source.out.clear();
        let mut waits = || {
            lend_from(&mut source, 20_000, len, shared);
            source.out.is_empty()
        };
        assert_eq!((0..20).take_while(|_| waits()).count(), waiting, "{shared}");
    }

    // Somebody on the network gets fragments, which gain nothing by waiting.
    let mut source = Source::new(cfg);
    source.match_reader(at(0), in_memory(1));
    source.match_reader(at(0), reader_proxy(2));
    source.out.clear();
    lend(&mut source, 20_000);
    assert!(!source.out.is_empty());
}

/// As [`lend_from`], of a sample that joins others if it may; whether it did.
fn join_or_lend(source: &mut Source, now: u64, len: usize, shared: bool) -> bool {
    let payload = SharedBytes::lent(Box::new(Elsewhere { octets: vec![7; len], shared }));
    let Some(counts) = source.writer.may_join(at(now).mono, &payload) else {
        lend_from(source, now, len, shared);
        return false;
    };
    let sn = source.history.last_sn().next();
    source.history.add_change(change(sn.0, payload));
    source.writer.joined(at(now).mono, sn, counts);
    true
}

#[test]
fn lent_samples_join_a_burst() {
    let cfg = WriterConfig {
        paths: Ring::paths(1 << 20),
        latency_budget: Duration::from_millis(1),
        ..Default::default()
    };
    for (len, shared, on_network, joining) in
        [(64, true, false, 29), (50_000, true, false, 19), (64, false, false, 0), (64, true, true, 0)]
    {
        let (mut one, mut other) = (Source::new(cfg.clone()), Source::new(cfg.clone()));
        for source in [&mut one, &mut other] {
            source.match_reader(at(0), in_memory(1));
            if on_network {
                source.match_reader(at(0), reader_proxy(2));
            }
            source.out.clear();
        }
        let joined = (0..30).filter(|n| join_or_lend(&mut one, 20_000 + n, len, shared)).count();
        (0..30).for_each(|n| lend_from(&mut other, 20_000 + n, len, shared));
        assert!(joined >= joining && (joining > 0 || joined == 0), "{joined} of {len} octets");
        for source in [&mut one, &mut other] {
            source.timer(at(22_000));
        }
        let messages = |source: &mut Source| {
            drain(&mut source.out).into_iter().map(|packet| packet.bytes).collect::<Vec<_>>()
        };
        let (one, other) = (messages(&mut one), messages(&mut other));
        assert_eq!(one, other, "{len} octets");
        assert!(one.len() >= 30);
    }
}

#[test]
fn loans_take_no_room_in_the_send_window() {
    let (mut copied, mut lent) = (source(1 << 20), source(1 << 20));
    for source in [&mut copied, &mut lent] {
        source.match_reader(at(0), in_memory(1));
        source.out.clear();
    }
    for n in 0..100 {
        copied.write(at(10 + n), LARGE);
        lend(&mut lent, 10 + n);
    }
    let sent = |source: &mut Source| {
        drain(&mut source.out).iter().filter(|packet| packet.bytes.len() > LARGE).count()
    };
    assert!(sent(&mut copied) < 10);
    assert_eq!(sent(&mut lent), 100);
    // A loan that is memory of this process is copied through the ring like any other sample.
    let mut private = source(1 << 20);
    private.match_reader(at(0), in_memory(1));
    private.out.clear();
    (0..100).for_each(|n| lend_from(&mut private, 10 + n, LARGE, false));
    assert!(sent(&mut private) < 10);
}
