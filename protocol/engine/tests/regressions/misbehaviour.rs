//! Whatever a peer does that is refused after its message was parsed has a name, and is counted for it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_core::{
    Duration, EntityId, FragmentNumberSet, Guid, GuidPrefix, Locator, Misbehaviour, ProtocolVersion,
    SequenceNumber, SequenceNumberSet, VendorId, WallTime,
};
use dunlin_engine::{Event, MOST_MISBEHAVING};
use dunlin_qos::{DataReaderQos, DataWriterQos, DestinationOrderKind};
use dunlin_wire::{
    AckNack, DataFragSpec, DataSpec, Echo, Endianness, Heartbeat, HeartbeatFrag, InfoSrc, MessageBuilder,
    NackFrag, ParameterListBuilder, PayloadSpec, pid,
};

use crate::announcements::endpoint;
use crate::target::{HUGE, Target, message};

const VICTIM: usize = 0;
const PEER: usize = 1;
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 66);

impl Target {
    /// How often something was refused of a participant.
    fn refused_of(&self, who: GuidPrefix, what: Misbehaviour) -> u32 {
        let all = self.net.nodes[VICTIM].participant.misbehaviours();
        all.iter().filter(|it| it.participant == who).map(|it| it.counts.of(what)).sum()
    }

    /// The peer does something, which is refused and named so; nothing else is counted for it.
    #[track_caller]
    fn is_refused(&mut self, what: Misbehaviour, misbehave: impl FnOnce(&mut Self)) {
        self.is_refused_of(self.peer(), what, misbehave);
    }

    #[track_caller]
    fn is_refused_of(&mut self, who: GuidPrefix, what: Misbehaviour, misbehave: impl FnOnce(&mut Self)) {
        let all = |target: &Self| Misbehaviour::ALL.map(|any| target.refused_of(who, any));
        let before = all(self);
        misbehave(self);
        let now = all(self);
        for (at, any) in Misbehaviour::ALL.into_iter().enumerate() {
            let more = now[at] - before[at];
            assert!(if any == what { more > 0 } else { more == 0 }, "{what:?}: {more} of {any:?}");
        }
    }

    fn say(&mut self, write: impl FnOnce(&mut MessageBuilder<'_>)) {
        let bytes = self.forge(write);
        self.attack(&bytes);
    }

    fn say_data(&mut self, reader_id: EntityId, sn: SequenceNumber, payload: &[u8]) {
        let writer_id = self.peer_writer.guid().entity_id;
        let payload = PayloadSpec::Data(SharedBytes::copy_from(payload));
        self.say(|message| {
            message.data(&DataSpec { reader_id, writer_id, writer_sn: sn, inline_qos: &[], payload });
        });
    }

    fn say_heartbeat(&mut self, writer_id: EntityId, reader_id: EntityId, count: i32) {
        let last_sn = self.peer_writer.last_sn();
        self.say(|message| {
            message.heartbeat(&Heartbeat {
                reader_id,
                writer_id,
                first_sn: SequenceNumber(1),
                last_sn,
                count,
                final_flag: true,
                liveliness_flag: false,
                group: None,
            });
        });
    }

    fn say_fragment(&mut self, sn: SequenceNumber, number: u32, sample_size: u32) {
        let writer_id = self.peer_writer.guid().entity_id;
        self.say(|message| {
            message.data_frag(&DataFragSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id,
                writer_sn: sn,
                fragment_starting_num: number,
                fragments_in_submessage: 1,
                fragment_size: 1_000,
                sample_size,
                inline_qos: &[],
                key_flag: false,
                payload: SharedBytes::from(vec![0; 1_000]),
            });
        });
    }

    fn say_acknack(&mut self, change: impl FnOnce(&mut AckNack)) {
        let mut acknack = self.an_acknowledgment();
        change(&mut acknack);
        self.say(|message| {
            message.acknack(&acknack);
        });
    }

    fn say_nack_frag(&mut self, writer_sn: SequenceNumber, count: i32) {
        let (reader_id, writer_id) = (self.peer_reader.guid().entity_id, self.writer.guid().entity_id);
        let mut fragment_number_state = FragmentNumberSet::empty(1);
        fragment_number_state.insert(1);
        self.say(|message| {
            message.nack_frag(&NackFrag { reader_id, writer_id, writer_sn, fragment_number_state, count });
        });
    }
}

/// An announcement with this number, which may name its domain.
fn announcement(prefix: GuidPrefix, sn: i64, domain: Option<u32>) -> Vec<u8> {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_protocol_version(ProtocolVersion::V2_5);
    list.put_vendor_id(VendorId::DUNLIN);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(prefix, EntityId::PARTICIPANT));
    list.put_u32(pid::BUILTIN_ENDPOINT_SET, dunlin_discovery::builtin_endpoints::ALL);
    list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, &Locator::udp_v4(ELSEWHERE, 7_410));
    if let Some(domain) = domain {
        list.put_u32(pid::DOMAIN_ID, domain);
    }
    let payload = PayloadSpec::Data(list.finish().into());
    message(prefix, |message| {
        let (reader_id, writer_id) = (EntityId::UNKNOWN, EntityId::SPDP_WRITER);
        let writer_sn = SequenceNumber(sn);
        message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload });
    })
}

#[test]
fn malformed_and_misaddressed_messages_are_counted_by_name() {
    let mut target = Target::new();
    target.is_refused_of(GuidPrefix::UNKNOWN, Misbehaviour::Malformed, |it| {
        it.attack(b"no RTPS message");
    });
    target.is_refused(Misbehaviour::Malformed, |it| {
        let mut bytes = it.forge(|message| {
            message.info_ts(None);
        });
        bytes.extend([0x15, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        it.attack(&bytes);
    });
    target.is_refused_of(GuidPrefix::UNKNOWN, Misbehaviour::SpeaksForUs, |it| {
        let (own, writer_id) = (it.victim(), it.peer_writer.guid().entity_id);
        let bytes = message(GuidPrefix([9; 12]), |message| {
            let (version, vendor_id) = (ProtocolVersion::V2_5, VendorId::DUNLIN);
            message.info_src(&InfoSrc { version, vendor_id, guid_prefix: own });
            let payload = PayloadSpec::Data(vec![0, 1, 0, 0].into());
            let (reader_id, writer_sn) = (EntityId::UNKNOWN, SequenceNumber(2));
            message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload });
        });
        it.attack(&bytes);
    });
    for builtin in [false, true] {
        target.is_refused(Misbehaviour::Misplaced, |it| {
            let writer = [it.peer_writer.guid().entity_id, EntityId::SEDP_PUBLICATIONS_WRITER];
            let payload = PayloadSpec::Data(vec![0, 1, 0, 0].into());
            let (writer_id, writer_sn) = (writer[usize::from(builtin)], it.next_sn());
            let bytes = it.forge(|message| {
                let reader_id = EntityId::UNKNOWN;
                message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload });
            });
            it.attack_from(ELSEWHERE, &bytes);
        });
    }
    target.is_refused(Misbehaviour::NoSuchEndpoint, |it| {
        it.say_data(EntityId::user_reader(99, true), it.next_sn(), &[0, 1, 0, 0]);
    });
    target.is_refused(Misbehaviour::NoSuchEndpoint, |it| {
        it.say_acknack(|acknack| acknack.writer_id = EntityId::user_writer(99, true));
    });
    // What goes to all readers of a topic that is not read here is nobody's fault.
    let before = target.net.nodes[VICTIM].participant.misbehaviours();
    target.say_heartbeat(EntityId::user_writer(99, true), EntityId::UNKNOWN, 1);
    assert_eq!(target.net.nodes[VICTIM].participant.misbehaviours(), before);
    target.still_talks();
}

#[test]
fn misbehaviour_of_writers_is_counted_by_name() {
    let mut target = Target::new();
    let (writer, reader) = (target.peer_writer.guid().entity_id, target.reader.guid().entity_id);
    target.is_refused(Misbehaviour::NotMatched, |it| {
        it.say_heartbeat(EntityId::user_writer(99, true), reader, 1);
    });
    target.say_heartbeat(writer, reader, 5_000);
    target.is_refused(Misbehaviour::RepeatedCount, |it| it.say_heartbeat(writer, reader, 5_000));
    let sn = target.next_sn();
    let heartbeat =
        HeartbeatFrag { reader_id: reader, writer_id: writer, writer_sn: sn, last_fragment_num: 1, count: 7 };
    target.say(|message| {
        message.heartbeat_frag(&heartbeat);
    });
    target.is_refused(Misbehaviour::RepeatedCount, |it| {
        it.say(|message| {
            message.heartbeat_frag(&heartbeat);
        });
    });
    target.is_refused(Misbehaviour::LastNumber, |it| {
        it.say_data(EntityId::UNKNOWN, SequenceNumber::MAX, &[0, 1, 0, 0, 1, 0, 0, 0]);
    });
    target.say_fragment(sn, 1, 2_500);
    target.is_refused(Misbehaviour::ContradictoryFragments, |it| it.say_fragment(sn, 2, 9_000));
    target.is_refused(Misbehaviour::ContradictoryDuplicate, |it| {
        it.say_data(EntityId::UNKNOWN, sn.previous(), &[0, 1, 0, 0, 1, 0, 0, 0]);
    });
    target.is_refused(Misbehaviour::NoRoom, |it| {
        (0..2_000).for_each(|n| it.say_data(EntityId::UNKNOWN, sn.plus(2 + n), &[0, 1, 0, 0, 1, 0, 0, 0]));
    });
    target.is_refused(Misbehaviour::TooLarge, |it| it.say_fragment(sn.next(), 1, u32::MAX));
}

#[test]
fn samples_without_a_key_and_from_the_future_are_named() {
    let mut target = Target::new();
    target.is_refused(Misbehaviour::UnreadableKey, |it| {
        it.say_data(EntityId::UNKNOWN, it.next_sn(), &[0, 0xff, 0, 0, 1, 0, 0, 0]);
    });
    let mut qos = DataReaderQos::default().reliable().keep_all();
    qos.destination_order.kind = DestinationOrderKind::BySourceTimestamp;
    let mut offered = DataWriterQos::default().reliable().keep_all();
    offered.destination_order.kind = DestinationOrderKind::BySourceTimestamp;
    let _reader = target.net.reader(VICTIM, "Ordered", &qos);
    let writer = target.net.writer(PEER, "Ordered", &offered);
    target.net.settle();
    target.is_refused(Misbehaviour::FromFuture, |it| {
        let writer_id = writer.guid().entity_id;
        let late = it.net.clock().wall.plus(Duration::from_secs(100_000));
        it.say(|message| {
            message.info_ts(Some(WallTime(late.0)));
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id,
                writer_sn: SequenceNumber(1),
                inline_qos: &[],
                payload: PayloadSpec::Data(vec![0, 1, 0, 0, 1, 0, 0, 0].into()),
            });
        });
    });
}

#[test]
fn misbehaviour_of_readers_is_counted_by_name() {
    let mut target = Target::new();
    target.is_refused(Misbehaviour::NotMatched, |it| {
        it.say_acknack(|acknack| acknack.reader_id = EntityId::user_reader(99, true));
    });
    target.say_acknack(|acknack| acknack.count = 5_000);
    target.is_refused(Misbehaviour::RepeatedCount, |it| it.say_acknack(|acknack| acknack.count = 5_000));
    target.is_refused(Misbehaviour::AcknowledgesUnsent, |it| {
        it.say_acknack(|acknack| {
            acknack.count = 5_001;
            acknack.reader_sn_state = SequenceNumberSet::empty(SequenceNumber(HUGE));
        });
    });
    target.is_refused(Misbehaviour::RequestsUnsent, |it| it.say_nack_frag(SequenceNumber(HUGE), 9));
    target.is_refused(Misbehaviour::RepeatedCount, |it| it.say_nack_frag(SequenceNumber(1), 9));
    target.is_refused(Misbehaviour::UnaskedEcho, |it| {
        let (reader_id, writer_id) = (it.peer_reader.guid().entity_id, it.writer.guid().entity_id);
        it.say(|message| {
            message.echo(&Echo { reader_id, writer_id, count: 77, room: 1 });
        });
    });
    let qos = DataReaderQos::default().best_effort();
    let best_effort = target.net.reader(PEER, "Out", &qos);
    target.net.settle();
    target.is_refused(Misbehaviour::BestEffortRequest, |it| {
        it.say_acknack(|acknack| acknack.reader_id = best_effort.guid().entity_id);
    });
    target.still_talks();
}

#[test]
fn a_goodbye_that_its_participant_refutes_is_named() {
    let mut target = Target::new();
    target.is_refused(Misbehaviour::RefutedGoodbye, |it| {
        let bytes = it.forged_goodbye();
        it.attack(&bytes).is_nothing();
        it.net.run(Duration::from_secs(2));
    });
    target.still_talks();
}

#[test]
fn misbehaviour_in_announcements_is_counted_by_name() {
    let mut target = Target::new();
    let own = |target: &Target, key| Guid::new(target.peer(), EntityId::user_writer(key, true));
    target.is_refused(Misbehaviour::UnreadableAnnouncement, |it| {
        it.announce(true, ParameterListBuilder::payload(Endianness::Little));
    });
    target.is_refused(Misbehaviour::NotUnderstood, |it| {
        let mut list = endpoint(own(it, 50), "Elsewhere");
        list.put_octets(pid::MUST_UNDERSTAND | 0x3abc, &[0; 4]);
        it.announce(true, list);
    });
    target.is_refused(Misbehaviour::ForeignEntity, |it| {
        it.announce(
            true,
            endpoint(Guid::new(GuidPrefix([8; 12]), EntityId::user_writer(1, true)), "Elsewhere"),
        );
    });
    target.is_refused(Misbehaviour::OverQuota, |it| {
        let most = dunlin_discovery::Quotas::default().max_endpoints_per_participant as u32;
        (0..=most).for_each(|key| drop(it.announce(true, endpoint(own(it, 1_000 + key), "Elsewhere"))));
    });
    let stranger = GuidPrefix([7; 12]);
    target.attack_from(ELSEWHERE, &announcement(stranger, 50, None));
    target.is_refused_of(stranger, Misbehaviour::Overtaken, |it| {
        it.attack_from(ELSEWHERE, &announcement(stranger, 49, Some(0)));
    });
    target.is_refused_of(stranger, Misbehaviour::OtherDomain, |it| {
        it.attack_from(ELSEWHERE, &announcement(stranger, 51, Some(99)));
    });
    target.still_talks();
}

/// Whoever speaks in many names is counted, takes a bounded place, and causes few events.
#[test]
fn names_that_are_made_up_fill_neither_the_counts_nor_the_log() {
    let mut target = Target::new();
    target.net.take_events(VICTIM);
    let wrong = EntityId::user_reader(99, true);
    for n in 0..5_000_u32 {
        let mut name = [1; 12];
        name[..4].copy_from_slice(&n.to_be_bytes());
        let bytes = message(GuidPrefix(name), |message| {
            let (writer_id, payload) = (EntityId::user_writer(1, true), PayloadSpec::None);
            message.info_ts(None);
            let writer_sn = SequenceNumber(1);
            message.data(&DataSpec { reader_id: wrong, writer_id, writer_sn, inline_qos: &[], payload });
        });
        target.attack(&[&bytes[..], &[0x15, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat());
    }
    let counted = target.net.nodes[VICTIM].participant.misbehaviours();
    assert_eq!(counted.len(), MOST_MISBEHAVING + 1);
    let sum = |what| counted.iter().map(|it| it.counts.of(what)).sum::<u32>();
    assert_eq!((sum(Misbehaviour::NoSuchEndpoint), sum(Misbehaviour::Malformed)), (5_000, 5_000));
    target.still_talks();
}

/// What does not happen by itself is told, when its count is a power of two.
#[test]
fn misbehaviour_is_reported_at_powers_of_two() {
    let mut target = Target::new();
    let writer = Arc::clone(&target.peer_writer);
    let mut told = Vec::new();
    for _ in 0..100 {
        let bytes = target.forge(|message| {
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: writer.guid().entity_id,
                writer_sn: SequenceNumber::MAX,
                inline_qos: &[],
                payload: PayloadSpec::Data(vec![0, 1, 0, 0].into()),
            });
        });
        told.extend(target.events_of(&bytes).into_iter().filter_map(|event| match event {
            Event::Misbehaviour { participant, what: Misbehaviour::LastNumber, count } => {
                Some((participant, count))
            }
            _ => None,
        }));
        let repeated = target.peer_writer.guid().entity_id;
        target.say_heartbeat(repeated, EntityId::UNKNOWN, 9_000);
    }
    let expected: Vec<_> = [1, 2, 4, 8, 16, 32, 64].map(|count| (target.peer(), count)).to_vec();
    assert_eq!(told, expected);
    assert!(target.refused_of(target.peer(), Misbehaviour::RepeatedCount) >= 99, "counted, and not told");
}

#[test]
fn the_page_has_a_row_for_each_cause() {
    let page = include_str!("../../../../docs/hostile-input.md");
    for what in Misbehaviour::ALL {
        let usual = if what.is_usual() { "yes" } else { "" };
        let row = page.lines().find(|line| line.starts_with(&format!("| {} |", what.name())));
        let row = row.unwrap_or_else(|| panic!("no row for {}", what.name()));
        assert_eq!(row.trim_end_matches('|').rsplit('|').next().map(str::trim), Some(usual), "{row}");
    }
}
