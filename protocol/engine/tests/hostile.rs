//! Whatever arrives, nothing panics, and an answer is not out of proportion.

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::sync::Arc;

use common::{Net, pattern};
use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, Locator};
use dunlin_engine::{Output, ReaderSlot, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos, LivelinessKind};
use dunlin_rtps::ChangeKind;
use proptest::prelude::*;

/// Participant 0, well connected, and everything that participant 1 ever sent.
struct Victim {
    net: Net,
    _endpoints: (Vec<Arc<WriterSlot>>, Vec<Arc<ReaderSlot>>),
    captured: Vec<SharedBytes>,
}

fn writer_qos() -> Vec<DataWriterQos> {
    let lease = Duration::from_millis(100);
    vec![
        DataWriterQos::default().reliable().keep_all().transient_local(),
        DataWriterQos::default().best_effort().deadline(lease),
        DataWriterQos::default().reliable().exclusive().liveliness(LivelinessKind::ManualByTopic, lease),
    ]
}

fn reader_qos() -> Vec<DataReaderQos> {
    vec![
        DataReaderQos::default().reliable().keep_all().transient_local().resource_limits(10, 5, 5),
        DataReaderQos::default().time_based_filter(Duration::from_millis(1)),
        DataReaderQos::default().reliable().exclusive(),
    ]
}

impl Victim {
    fn new() -> Self {
        let mut net = Net::new(2);
        net.record = Some(vec![]);
        net.start();
        let mut endpoints = (vec![], vec![]);
        for node in 0..2 {
            for (n, qos) in writer_qos().iter().enumerate() {
                endpoints.0.push(net.writer(node, &format!("T{n}"), qos));
            }
            for (n, qos) in reader_qos().iter().enumerate() {
                endpoints.1.push(net.reader(node, &format!("T{n}"), qos));
            }
        }
        net.settle();
        net.loss = 100;
        for n in 0..10 {
            for (at, writer) in endpoints.0.iter().enumerate() {
                let len = if n == 5 { 20_000 } else { 40 };
                net.write(at / 3, writer, n % 3, &pattern(n, len)).expect("no limits");
            }
            net.run(Duration::from_millis(5));
        }
        net.change(1, &endpoints.0[3], ChangeKind::Disposed, 0, b"").expect("a known instance");
        net.run(Duration::from_millis(500));
        net.loss = 0;
        let own = net.nodes[0].participant.guid_prefix().0;
        let captured =
            net.record.take().expect("a record").into_iter().filter(|bytes| bytes[8..20] != own).collect();
        Self { net, _endpoints: endpoints, captured }
    }

    fn receive(&mut self, bytes: Vec<u8>) {
        let from = Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 2), 7410);
        let now = self.net.clock();
        let participant = &self.net.nodes[0].participant;
        let mut out = Output::new();
        participant.on_datagram(now, from, &SharedBytes::from(bytes), &mut out);
        assert!(out.outbox.octets() < 300_000, "{} octets of answer", out.outbox.octets());
        self.net.now = self.net.now.plus(Duration::from_micros(100));
        let now = self.net.clock();
        participant.pump(now, 100, &mut out);
    }
}

thread_local! {
    static VICTIM: RefCell<Victim> = RefCell::new(Victim::new());
}

/// A change to a captured datagram: where (modulo its length), and what to put there.
type Edit = (usize, Vec<u8>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let interesting = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..5),
        Just(vec![0xff; 8]),
        Just(vec![0; 8]),
        Just(vec![0xff, 0xff, 0xff, 0x7f]),
        Just(vec![1, 0, 0, 0x80]),
    ];
    prop::collection::vec((any::<usize>(), interesting), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 10_000 }, ..ProptestConfig::default() })]

    #[test]
    fn random_octets(tail in prop::collection::vec(any::<u8>(), 0..300), header in any::<bool>()) {
        VICTIM.with_borrow_mut(|victim| {
            let mut bytes = if header { victim.captured[0][..20].to_vec() } else { vec![] };
            bytes.extend(tail);
            victim.receive(bytes);
        });
    }

    #[test]
    fn damaged_datagrams(which in any::<usize>(), edits in edits(), cut in prop::option::of(any::<usize>())) {
        VICTIM.with_borrow_mut(|victim| {
            let mut bytes = victim.captured[which % victim.captured.len()].to_vec();
            for (at, patch) in edits {
                // The header stays, so that most damage reaches the endpoints.
                let at = 20 + at % (bytes.len() - 20).max(1);
                for (place, octet) in bytes.iter_mut().skip(at).zip(patch) {
                    *place = octet;
                }
            }
            if let Some(cut) = cut {
                bytes.truncate(20 + cut % bytes.len());
            }
            victim.receive(bytes);
        });
    }

    #[test]
    fn spliced_datagrams(first in any::<usize>(), second in any::<usize>()) {
        VICTIM.with_borrow_mut(|victim| {
            let count = victim.captured.len();
            let mut bytes = victim.captured[first % count].to_vec();
            bytes.extend_from_slice(&victim.captured[second % count][20..]);
            victim.receive(bytes);
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn new_endpoints_match_after_a_storm_of_damaged_messages() {
    let mut victim = Victim::new();
    for n in 0..3000_usize {
        let mut bytes = victim.captured[n * 31 % victim.captured.len()].to_vec();
        let at = 20 + n * 17 % (bytes.len() - 20);
        bytes[at] ^= n as u8 | 1;
        victim.receive(bytes);
    }
    let net = &mut victim.net;
    net.run(Duration::from_secs(30));
    let writer = net.writer(1, "After", &DataWriterQos::default().reliable());
    let reader = net.reader(0, "After", &DataReaderQos::default().reliable());
    net.run(Duration::from_secs(15));
    net.write(1, &writer, 1, b"calm").expect("no limits");
    net.run(Duration::from_secs(5));
    assert_eq!(net.take(0, &reader).len(), 1);
}
