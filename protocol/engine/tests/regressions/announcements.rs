//! What discovery remembers: CVE-2026-45092 (Fast DDS: unbounded participants), CVE-2023-50257 (endpoints matched before
//! authentication), CVE-2026-22591 (filter expressions), CVE-2021-38447 (OpenDDS), dust_dds#699 (an IPv6 locator ends the
//! process), Cyclone DDS#1772 (bad locators), CVE-2021-38425, -38429 and -38487 (reflection).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, LocatorKind, SequenceNumber};
use dunlin_discovery::{Quotas, builtin_endpoints};
use dunlin_wire::{DataSpec, Endianness, ParameterListBuilder, PayloadSpec, pid};

use crate::target::{Answer, Target, message};

/// Three times as many participants as may be known of one source.
const ANNOUNCED: u32 = 3_000;
const ATTACKER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 66);

fn prefix(n: u32) -> GuidPrefix {
    let mut prefix = [0xee; 12];
    prefix[..4].copy_from_slice(&n.to_be_bytes());
    GuidPrefix(prefix)
}

/// An announcement of a participant with some locators.
pub fn participant(prefix: GuidPrefix, locators: &[Locator]) -> Vec<u8> {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_protocol_version(dunlin_core::ProtocolVersion::V2_5);
    list.put_vendor_id(dunlin_core::VendorId::DUNLIN);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(prefix, EntityId::PARTICIPANT));
    list.put_u32(pid::BUILTIN_ENDPOINT_SET, builtin_endpoints::ALL);
    for locator in locators {
        for pid in [pid::METATRAFFIC_UNICAST_LOCATOR, pid::DEFAULT_UNICAST_LOCATOR] {
            list.put_locator(pid, locator);
        }
    }
    let payload = list.finish();
    message(prefix, |message| {
        message.data(&DataSpec {
            reader_id: EntityId::UNKNOWN,
            writer_id: EntityId::SPDP_WRITER,
            writer_sn: SequenceNumber(1),
            inline_qos: &[],
            payload: PayloadSpec::Data(payload.into()),
        });
    })
}

pub fn endpoint(guid: Guid, topic: &str) -> ParameterListBuilder {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_guid(pid::ENDPOINT_GUID, guid);
    list.put_string(pid::TOPIC_NAME, topic);
    list.put_string(pid::TYPE_NAME, "Keyed");
    list
}

impl Target {
    fn peer_endpoint(&self, key: u32, writer: bool) -> ParameterListBuilder {
        let id = if writer { EntityId::user_writer(key, true) } else { EntityId::user_reader(key, true) };
        endpoint(Guid::new(self.peer(), id), if writer { "In" } else { "Out" })
    }

    #[track_caller]
    fn is_bounded(&mut self, answer: &Answer) {
        assert!(answer.octets <= 2_000 && answer.memory <= 256 * 1024, "{answer:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of announcements")]
fn participants_are_bounded_and_a_peer_stays() {
    let mut target = Target::new();
    let quotas = Quotas::default();
    let victim = Locator::udp_v4(Ipv4Addr::new(10, 9, 9, 9), 7410);
    let (mut said, mut heard) = (0, 0);
    for n in 0..ANNOUNCED {
        let bytes = participant(prefix(n), &[victim]);
        let answer = target.attack_from(ATTACKER, &bytes);
        (said, heard) = (said + answer.octets, heard + bytes.len());
        target.is_bounded(&answer);
    }
    let stats = target.stats().discovery;
    assert_eq!(stats.participants_unverified as usize, quotas.max_unverified_per_source);
    assert_eq!(stats.participants_evicted as usize, ANNOUNCED as usize - quotas.max_unverified_per_source);
    assert!(said <= 3 * heard, "{said} octets for {heard}");
    target.still_talks();
}

#[test]
fn endpoints_of_unverified_participants_are_ignored() {
    let mut target = Target::new();
    let unverified = prefix(1);
    let bytes = participant(unverified, &[Locator::udp_v4(ATTACKER, 7410)]);
    target.attack_from(ATTACKER, &bytes);
    for sn in 1..100 {
        let id = EntityId::user_writer(sn as u32, true);
        let payload = endpoint(Guid::new(unverified, id), "In").finish();
        let bytes = message(unverified, |message| {
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: EntityId::SEDP_PUBLICATIONS_WRITER,
                writer_sn: SequenceNumber(sn),
                inline_qos: &[],
                payload: PayloadSpec::Data(payload.into()),
            });
        });
        target.attack_from(ATTACKER, &bytes).is_nothing();
    }
    assert_eq!(target.reader.matched_writers().len(), 1);
    assert_eq!(target.stats().discovery.endpoints, 2);
    target.still_talks();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of announcements")]
fn endpoints_of_a_peer_are_bounded() {
    let mut target = Target::new();
    let quotas = Quotas::default();
    for key in 0..quotas.max_endpoints_per_participant as u32 + 500 {
        let guid = Guid::new(target.peer(), EntityId::user_writer(1_000 + key, true));
        let answer = target.announce(true, endpoint(guid, "Elsewhere"));
        target.is_bounded(&answer);
    }
    let stats = target.stats().discovery;
    assert_eq!(stats.endpoints as usize, quotas.max_endpoints_per_participant);
    assert_eq!(stats.endpoints_refused, 502);
    target.still_talks();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of announcements")]
fn type_information_is_bounded_for_each_endpoint_and_in_all() {
    let mut target = Target::new();
    let quotas = Quotas::default();
    let mut list = target.peer_endpoint(77, true);
    list.put_octets(pid::TYPE_INFORMATION, &vec![0; quotas.max_type_octets + 4]);
    target.announce(true, list);
    assert_eq!(target.stats().discovery.endpoints_refused, 1);
    // Of allowed size, again and again: the octets of all announcements of a participant are counted.
    for key in 0..400_u32 {
        let mut list = target.peer_endpoint(100 + key, true);
        let information: Vec<u8> = (0..30_000_u32).map(|n| (n.wrapping_mul(31) ^ key) as u8).collect();
        list.put_octets(pid::TYPE_INFORMATION, &information);
        target.announce(true, list);
        assert!(target.stats().discovery.octets as usize <= quotas.max_octets_per_participant);
    }
    assert!(target.stats().discovery.endpoints_refused > 200);
    target.still_talks();
}

#[test]
fn announced_strings_and_counts_are_bounded_by_the_bytes_present() {
    let mut target = Target::new();
    let long = "x".repeat(60_000);
    let lies: [(u16, Vec<u8>); 6] = [
        (pid::TOPIC_NAME, [&u32::MAX.to_le_bytes()[..], b"In\0\0"].concat()),
        (pid::TYPE_NAME, [&60_001_u32.to_le_bytes()[..], long.as_bytes(), &[0; 4]].concat()),
        (pid::PARTITION, u32::MAX.to_le_bytes().to_vec()),
        (pid::PARTITION, [&0x4000_0000_u32.to_le_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat()),
        (pid::USER_DATA, u32::MAX.to_le_bytes().to_vec()),
        (pid::PROPERTY_LIST, u32::MAX.to_le_bytes().to_vec()),
    ];
    for (n, (pid, value)) in lies.into_iter().enumerate() {
        let mut list = target.peer_endpoint(200 + n as u32, true);
        list.put_bytes(pid, &value);
        let answer = target.announce(true, list);
        target.is_bounded(&answer);
    }
    assert_eq!(target.reader.matched_writers().len(), 1, "none of them was taken up");
    target.still_talks();
}

impl Target {
    /// The peer announces a reader with a filter, which says how many parameters follow.
    fn announce_filter(&mut self, key: u16, expression: &str, parameters: u32) -> Answer {
        let mut list = self.peer_endpoint(key.into(), false);
        // A place of its own: where others listen too, everything is sent.
        list.put_locator(pid::UNICAST_LOCATOR, &Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 2), 7000 + key));
        list.put_with(pid::CONTENT_FILTER_PROPERTY, |value| {
            for text in ["filter", "Out", "DDSSQL", expression] {
                value.string(text);
            }
            value.u32(parameters);
        });
        self.announce(false, list)
    }
}

/// Writers evaluate the filters of readers: what cannot be compiled is sent everything, and costs no more than its length.
#[test]
fn filter_expressions_do_not_explode() {
    let mut target = Target::new();
    let deep = "(".repeat(20_000) + "key = 1" + &")".repeat(20_000);
    let shallow = "(".repeat(700) + "key = 1" + &")".repeat(700);
    let long = "key = 1 OR ".repeat(80) + "key = 2";
    let expressions =
        [&*deep, &shallow, &long, "NOT ", "key BETWEEN 1 AND", "key LIKE '%%%%%%%%%%%%%%%%%%a'", ""];
    for (n, expression) in expressions.into_iter().enumerate() {
        let answer = target.announce_filter(300 + n as u16, expression, 0);
        target.is_bounded(&answer);
    }
    // Parameters that are not there.
    for (n, expression) in ["key = %0", "%0 AND ", "key BETWEEN %0 AND %4294967295"].into_iter().enumerate() {
        for parameters in [0, u32::MAX] {
            let answer = target.announce_filter(
                400 + 2 * n as u16 + u16::from(parameters > 0),
                expression,
                parameters,
            );
            target.is_bounded(&answer);
        }
    }
    target.still_talks();
    // They are evaluated, or nothing would have been shown: of each sample one more reader is sent nothing.
    let filtered = |target: &mut Target| {
        let before = target.writer.stats().samples_filtered;
        target.still_talks();
        target.writer.stats().samples_filtered - before
    };
    let without = filtered(&mut target);
    let answer = target.announce_filter(500, "key > 1000000", 0);
    target.is_bounded(&answer);
    assert_eq!(filtered(&mut target), without + 1);
}

#[test]
fn locators_that_cannot_be_used_are_left_out() {
    let mut target = Target::new();
    let mut six = [0xff; 16];
    six[0] = 0xfd;
    let strange = [
        Locator { kind: LocatorKind::UDP_V6, port: 7410, address: six },
        Locator { kind: LocatorKind::UDP_V6, port: u32::MAX, address: [0; 16] },
        Locator { kind: LocatorKind(0x0100_0000), port: 1, address: [1; 16] },
        Locator { kind: LocatorKind(i32::MIN), port: 1, address: [0; 16] },
        Locator { kind: LocatorKind(-1), port: 0, address: [0; 16] },
        Locator { kind: LocatorKind(0), port: 7410, address: [0; 16] },
        Locator::udp_v4(Ipv4Addr::UNSPECIFIED, 7410),
        Locator::udp_v4(Ipv4Addr::BROADCAST, 7410),
        Locator::udp_v4(Ipv4Addr::new(239, 1, 2, 3), 7410),
        Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 66), 0),
        Locator { port: 1 << 16, ..Locator::udp_v4(ATTACKER, 7410) },
    ];
    let unusable = |to: &BTreeSet<Locator>| strange.iter().any(|locator| to.contains(locator));
    let ordinary = Locator::udp_v4(ATTACKER, 7410);
    let answer = target.attack_from(ATTACKER, &participant(prefix(99), &[ordinary]));
    assert!(answer.destinations.contains(&ordinary), "what can be used is answered: {answer:?}");
    for (n, locator) in strange.into_iter().enumerate() {
        let n = n as u32;
        let bytes = participant(prefix(100 + n), &[locator]);
        let answer = target.attack_from(ATTACKER, &bytes);
        answer.is_small();
        assert!(!unusable(&answer.destinations), "{answer:?}");
        let mut list = target.peer_endpoint(400 + n, false);
        list.put_locator(pid::UNICAST_LOCATOR, &locator);
        let answer = target.announce(false, list);
        target.is_bounded(&answer);
    }
    let everything = participant(prefix(200), &strange.repeat(20));
    target.attack_from(ATTACKER, &everything).is_small();
    target.still_talks();
    let sent_to = &target.net.destinations;
    assert!(!unusable(sent_to), "nor does anything else go there: {sent_to:?}");
}
