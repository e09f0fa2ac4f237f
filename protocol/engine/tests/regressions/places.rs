//! Where a participant is and from where it speaks: anybody can name any place, and write any name into a datagram. A peer that names a
//! victim's place is an amplifier, and a stranger that speaks in its name can end a stream.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dunlin_core::{
    Duration, EntityId, Guid, Locator, ProtocolVersion, SequenceNumber, SequenceNumberSet, StatusInfo,
    VendorId,
};
use dunlin_engine::Locators;
use dunlin_wire::{
    AckNack, DataSpec, Gap, Heartbeat, InfoSrc, MessageBuilder, PayloadSpec, inline_qos_for_status, pid,
};

use crate::announcements::{endpoint, participant};
use crate::common::{Net, config, unpack};
use crate::target::{HUGE, Target, message};

const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 66);
const PEER: usize = 1;

impl Target {
    /// The victim of the tests writes a kilobyte each ten milliseconds.
    fn stream(&mut self, times: u32) {
        let writer = Arc::clone(&self.writer);
        for n in 0..times {
            self.net.write(0, &writer, 1_000 + n, &[7; 1_024]).expect("no limits");
            self.net.run(Duration::from_millis(10));
        }
    }

    fn sent_to(&self, address: Ipv4Addr) -> usize {
        self.net.octets_to.get(&IpAddr::V4(address)).copied().unwrap_or(0)
    }

    /// Everything that can be said in the name of the peer and does harm.
    fn forgeries(&self) -> Vec<Vec<u8>> {
        let (next, writer_id) = (self.next_sn(), self.peer_writer.guid().entity_id);
        let heartbeat = Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            first_sn: SequenceNumber(HUGE),
            last_sn: SequenceNumber(HUGE),
            count: 500,
            final_flag: false,
            liveliness_flag: false,
            group: None,
        };
        let gap = Gap {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            gap_start: next,
            gap_list: SequenceNumberSet::empty(SequenceNumber(HUGE)),
            group: None,
            filtered_count: None,
        };
        let acknack = AckNack {
            reader_id: self.peer_reader.guid().entity_id,
            writer_id: self.writer.guid().entity_id,
            reader_sn_state: SequenceNumberSet::empty(SequenceNumber(HUGE)),
            count: 500,
            final_flag: true,
        };
        let payload = PayloadSpec::Data(vec![0, 1, 0, 0, 9, 0, 0, 0, 1, 2].into());
        let data =
            DataSpec { reader_id: EntityId::UNKNOWN, writer_id, writer_sn: next, inline_qos: &[], payload };
        vec![
            self.forge(|message| _ = message.heartbeat(&heartbeat)),
            self.forge(|message| _ = message.gap(&gap)),
            self.forge(|message| _ = message.acknack(&acknack)),
            self.forge(|message| _ = message.data(&data)),
            self.forge(|message| {
                self.goodbye(message, EntityId::SPDP_WRITER, Guid::new(self.peer(), EntityId::PARTICIPANT))
            }),
            self.forge(|message| {
                self.goodbye(message, EntityId::SEDP_PUBLICATIONS_WRITER, self.peer_writer.guid())
            }),
            self.forge(|message| {
                self.goodbye(message, EntityId::SEDP_SUBSCRIPTIONS_WRITER, self.peer_reader.guid())
            }),
            participant(self.peer(), &[Locator::udp_v4(ELSEWHERE, 7410)]),
        ]
    }

    /// Says that something is gone, as the next sample of a built-in writer.
    fn goodbye(&self, message: &mut MessageBuilder<'_>, writer_id: EntityId, gone: Guid) {
        let status = StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED);
        let [publications, subscriptions] = self.next_announcements();
        let writer_sn = match writer_id {
            EntityId::SEDP_PUBLICATIONS_WRITER => publications,
            EntityId::SEDP_SUBSCRIPTIONS_WRITER => subscriptions,
            _ => SequenceNumber(HUGE),
        };
        let mut key = vec![0, 3, 0, 0, 0x5a, 0, 16, 0];
        if writer_id == EntityId::SPDP_WRITER {
            key[4] = 0x50;
        }
        key.extend_from_slice(&gone.to_bytes());
        key.extend([1, 0, 0, 0]);
        message.data(&DataSpec {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            writer_sn,
            inline_qos: &inline_qos_for_status(status, Some(&gone.to_bytes())),
            payload: PayloadSpec::Key(key.into()),
        });
    }

    /// Both directions go on without a pause: a sample arrives within 200 ms.
    #[track_caller]
    fn talks_on(&mut self) {
        let (writer, reader) = (Arc::clone(&self.peer_writer), Arc::clone(&self.reader));
        self.net.write(PEER, &writer, 77, b"goes on!").expect("no limits");
        let (own_writer, peer_reader) = (Arc::clone(&self.writer), Arc::clone(&self.peer_reader));
        self.net.write(0, &own_writer, 77, b"goes on!").expect("no limits");
        self.net.run(Duration::from_millis(200));
        for (node, reader) in [(0, reader), (PEER, peer_reader)] {
            let samples = self.net.take(node, &reader);
            let bodies: Vec<_> = samples.iter().map(|sample| unpack(sample).1).collect();
            assert_eq!(bodies, [b"goes on!"], "at {node}: neither less nor more");
        }
    }
}

/// Everything is said in the name of the peer by somebody at `from`, and changes nothing.
fn says_everything(target: &mut Target, from: Locator) {
    for n in 0..target.forgeries().len() {
        let bytes = target.forgeries().swap_remove(n);
        for _ in 0..3 {
            let answer = target.attack_at(from, &bytes);
            let to_stranger = |to: &Locator| to.ip() == Some(IpAddr::V4(ELSEWHERE));
            assert!(answer.octets <= 3 * bytes.len(), "{n}: {answer:?}");
            assert!(n == 7 || !answer.destinations.iter().any(to_stranger), "{n}: {answer:?}");
        }
        target.talks_on();
    }
    assert_eq!(target.reader.stats().lost, 0);
    assert_eq!((target.reader.matched_writers().len(), target.writer.matched_readers().len()), (1, 1));
    assert!(target.stats().misplaced >= 12 && target.stats().discovery.misplaced >= 12, "they are counted");
}

/// Each of them silences the stream for seconds, or for good, when it comes from where the peer is.
#[test]
fn a_forged_source_address_is_refused_for_a_known_peer() {
    says_everything(&mut Target::new(), Locator::udp_v4(ELSEWHERE, 7410));
}

/// Another process at the peer's address has another port.
#[test]
fn a_forged_source_port_of_the_same_host_is_refused_for_a_known_peer() {
    says_everything(&mut Target::new(), Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 2), 40_000));
}

/// A router writes other ports into what the peer sends, as it shows when it is verified: then it is believed from any.
#[test]
fn a_peer_whose_ports_are_translated_is_heard() {
    let mut target = Target::with_source_ports([5_000, 5_001, 0, 0]);
    target.net.nodes[PEER].source_port = 6_000;
    target.talks_on();
    assert_eq!((target.stats().misplaced, target.stats().discovery.misplaced), (0, 0));
}

/// A router begins to write other ports, or forgets which ones it has written.
#[test]
fn a_peer_that_sends_from_a_new_port_is_verified_there() {
    let mut target = Target::new();
    target.net.nodes[PEER].source_port = 6_000;
    target.stream(50);
    target.net.settle();
    assert_eq!(target.writer.acked_by_all(), target.writer.last_sn());
    assert!(target.stats().misplaced > 0, "at first it was not believed");
    target.net.take(PEER, &Arc::clone(&target.peer_reader));
    target.talks_on();
}

/// INFO_SRC names another source in the middle of a message of somebody else.
#[test]
fn info_src_that_names_a_peer_is_refused_from_another_address() {
    let mut target = Target::new();
    let (peer, next, writer_id) = (target.peer(), target.next_sn(), target.peer_writer.guid().entity_id);
    let bytes = message(dunlin_core::GuidPrefix([9; 12]), |message| {
        let (version, vendor_id) = (ProtocolVersion::V2_5, VendorId::DUNLIN);
        message.info_src(&InfoSrc { version, vendor_id, guid_prefix: peer });
        let payload = PayloadSpec::Data(vec![0, 1, 0, 0, 9, 0, 0, 0, 1, 2].into());
        let reader_id = EntityId::UNKNOWN;
        message.data(&DataSpec { reader_id, writer_id, writer_sn: next, inline_qos: &[], payload });
    });
    target.attack_from(ELSEWHERE, &bytes).is_small();
    assert_eq!(target.stats().misplaced, 1);
    target.talks_on();
}

/// Two datagrams sent a victim two megabytes in twelve seconds, and went on.
#[test]
fn an_unverified_locator_gets_only_verification_requests() {
    let mut target = Target::new();
    let bytes = participant(target.peer(), &[Locator::udp_v4(ELSEWHERE, 7410)]);
    let mut said = 0;
    for _ in 0..4 {
        let answer = target.attack(&bytes);
        said += bytes.len();
        assert!(answer.octets <= 3 * bytes.len(), "{answer:?}");
        target.stream(100);
    }
    assert!(target.sent_to(ELSEWHERE) <= 3 * said, "{} for {said}", target.sent_to(ELSEWHERE));
    assert!(target.writer.acked_by_all() == target.writer.last_sn(), "the old place is kept");
}

/// The same, with the old place among those named.
#[test]
fn a_second_unverified_locator_gets_only_verification_requests() {
    let mut target = Target::new();
    let own = Ipv4Addr::new(10, 0, 0, 2);
    let bytes = participant(target.peer(), &[own, ELSEWHERE].map(|ip| Locator::udp_v4(ip, 7410)));
    let answer = target.attack(&bytes);
    assert!(answer.octets <= 3 * bytes.len(), "{answer:?}");
    let is_asked = answer.destinations.iter().any(|to| to.ip() == Some(IpAddr::V4(ELSEWHERE)));
    assert!(is_asked, "it is not taken for proven: {answer:?}");
    target.stream(300);
    assert!(target.sent_to(ELSEWHERE) <= 3 * bytes.len(), "{}", target.sent_to(ELSEWHERE));
    assert!(target.writer.acked_by_all() == target.writer.last_sn());
}

/// Each of these announcements names something else than the one before it, so each began to ask anew.
#[test]
fn verification_requests_for_changing_locators_are_bounded() {
    let mut target = Target::new();
    let own = Ipv4Addr::new(10, 0, 0, 2);
    let beside = participant(target.peer(), &[own, ELSEWHERE].map(|ip| Locator::udp_v4(ip, 7410)));
    let instead = participant(target.peer(), &[Locator::udp_v4(ELSEWHERE, 7410)]);
    let (mut at_once, before) = (0, target.net.datagrams);
    for n in 0..400 {
        let answer = target.attack(if n % 2 == 0 { &beside } else { &instead });
        at_once += answer.datagrams;
        target.net.run(Duration::from_micros(2_500));
    }
    let sent = at_once + target.net.datagrams - before;
    assert!(sent < 60, "{sent} datagrams, {at_once} of them at once");
    assert!(target.sent_to(ELSEWHERE) > 0, "it is asked all the same");
}

/// A host gets another address, and its old one is dead.
#[test]
fn a_peer_with_a_new_address_is_found_within_two_seconds() {
    let mut target = Target::new();
    target.net.move_to(PEER, Ipv4Addr::new(10, 0, 7, 2));
    target.stream(200);
    target.net.settle();
    assert_eq!(target.writer.acked_by_all(), target.writer.last_sn());
    let reader = Arc::clone(&target.peer_reader);
    assert_eq!(target.net.take(PEER, &reader).len(), 200, "each once");
    assert!(target.sent_to(Ipv4Addr::new(10, 0, 7, 2)) > 200 * 1_024);
}

/// What is asked at the new place is answered by way of another interface.
#[test]
fn a_peer_with_a_new_address_may_answer_from_another_one() {
    let mut target = Target::new();
    target.net.nodes[PEER].speaks_from = Some(ELSEWHERE);
    target.net.move_to(PEER, Ipv4Addr::new(10, 0, 7, 2));
    target.stream(300);
    target.net.settle();
    assert_eq!(target.writer.acked_by_all(), target.writer.last_sn());
}

/// A route changes: a peer stays where it is, and what it sends comes from an address that it does not announce.
#[test]
fn a_peer_that_sends_from_a_new_address_is_verified_there() {
    let mut target = Target::new();
    target.net.nodes[PEER].speaks_from = Some(ELSEWHERE);
    target.stream(50);
    target.net.settle();
    assert_eq!(target.writer.acked_by_all(), target.writer.last_sn());
    target.net.take(PEER, &Arc::clone(&target.peer_reader));
    target.talks_on();
}

/// Both move at once, so that neither is where the other asks.
#[test]
fn two_participants_that_change_address_at_once_recover() {
    let mut target = Target::new();
    target.net.move_to(PEER, Ipv4Addr::new(10, 0, 7, 2));
    target.net.move_to(0, Ipv4Addr::new(10, 0, 7, 1));
    target.stream(300);
    target.net.settle();
    assert_eq!(target.writer.acked_by_all(), target.writer.last_sn());
    target.still_talks();
}

/// It does not hear this one at its new place, and forgets it; so it would answer no question there.
#[test]
fn a_peer_that_has_forgotten_this_one_is_found_where_it_went() {
    let (home, other) = (Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 7, 2));
    let place = |address| Locator::udp_v4(address, 7410);
    let mut net = Net::with_configs((0..2).map(|index| {
        let mut config = config(index);
        config.locators.metatraffic_multicast.clear();
        config.spdp_destinations.clear();
        config.initial_peers = if index == PEER { vec![place(Ipv4Addr::new(10, 0, 0, 1))] } else { vec![] };
        config
    }));
    net.start();
    net.unreachable = Some(place(other));
    let both = [home, other].map(place).to_vec();
    let locators = Locators { metatraffic_unicast: both, ..config(PEER).locators };
    net.with(PEER, |participant, now, out| participant.set_locators(now, locators, out));
    net.run(Duration::from_secs(1));
    net.move_to(PEER, other);
    net.run(Duration::from_secs(30));
    let known = |net: &Net, node: usize| net.nodes[node].participant.discovered_participants().len();
    assert_eq!((known(&net, 0), known(&net, PEER)), (1, 0), "one has forgotten the other");
    net.unreachable = None;
    net.run(Duration::from_secs(8));
    assert_eq!((known(&net, 0), known(&net, PEER)), (1, 1));
}

/// A megabyte of announcements made each sample twelve thousand datagrams.
#[test]
fn the_places_of_a_peer_are_few_and_each_gets_a_sample_once() {
    let mut target = Target::new();
    let own = Ipv4Addr::new(10, 0, 0, 2);
    for key in 0..200_u16 {
        let guid = Guid::new(target.peer(), EntityId::user_reader(1_000 + u32::from(key), true));
        let mut list = endpoint(guid, "Out");
        // Half of them share one place.
        let ports = if key.is_multiple_of(2) { 1..9 } else { 100 + 8 * key..108 + 8 * key };
        ports.for_each(|port| _ = list.put_locator(pid::UNICAST_LOCATOR, &Locator::udp_v4(own, port)));
        target.announce(false, list);
    }
    target.net.settle();
    assert_eq!(target.writer.matched_readers().len(), 201);
    assert!(target.stats().discovery.entries_left_out >= 8 * 100 - 64, "they are counted");
    let before = target.net.datagrams;
    let writer = Arc::clone(&target.writer);
    target.net.write(0, &writer, 5, &[7; 1_024]).expect("no limits");
    let sent = target.net.datagrams - before;
    assert!((9..=65).contains(&sent), "{sent} datagrams for a sample");
}
