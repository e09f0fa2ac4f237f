//! Messages of peers that are wrong, strange or hostile.

use alloc::{sync::Arc, vec, vec::Vec};

use dunlin_core::{Misbehaviour, ProtocolVersion, SequenceNumber, SequenceNumberSet, StatusInfo, WallTime};
use dunlin_wire::{
    AckNack, DataSpec, Endianness, Heartbeat, MessageBuilder, ParameterListBuilder, PayloadSpec,
    inline_qos_for_status, pid,
};
use dunlin_xtypes::lookup::{
    instance_name,
    message::{self, Call, GetTypesIn, Request, SampleIdentity},
};
use proptest::prelude::*;

use super::net::*;
use crate::table::BuiltinTopic;

/// Hands a message to a node as if it came from the address of the first one.
pub(super) fn inject(net: &mut Net, to: usize, build: impl FnOnce(&mut Outbox)) {
    inject_from(net, first(), to, build);
}

/// Where the first node speaks.
fn first() -> Locator {
    unicast(0, 40_000)
}

fn inject_from(net: &mut Net, from: Locator, to: usize, build: impl FnOnce(&mut Outbox)) {
    let mut out = Outbox::new();
    build(&mut out);
    let mut bytes = vec![];
    out.datagrams().next().unwrap().copy_to(&mut bytes);
    inject_octets(net, from, to, bytes);
}

fn inject_octets(net: &mut Net, from: Locator, to: usize, bytes: Vec<u8>) {
    let packet = SharedBytes::from(bytes);
    net.with(to, |discovery, now, out, fx| {
        let Ok(message) = Message::parse(&packet) else { return };
        let mut state = ReceiverState::new(discovery.config().guid_prefix, &message.header());
        for parsed in message.submessages() {
            let Ok(parsed) = parsed else { return };
            state.apply(&parsed.body);
            discovery.on_submessage(now, from, &state, &parsed.body, &packet, out, fx);
        }
    });
}

fn data(
    source: GuidPrefix,
    writer_id: EntityId,
    sn: i64,
    inline_qos: &[u8],
    payload: PayloadSpec,
    out: &mut Outbox,
) {
    let mut message = MessageBuilder::new(out, source);
    let writer_sn = SequenceNumber(sn);
    message.data(&DataSpec { reader_id: EntityId::UNKNOWN, writer_id, writer_sn, inline_qos, payload });
    if [EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_WRITER].contains(&writer_id) {
        message.heartbeat(&Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            first_sn: writer_sn,
            last_sn: writer_sn,
            count: 1_000 + (writer_sn.0 as i32 & 0x3fff),
            final_flag: true,
            liveliness_flag: false,
            group: None,
        });
    }
    message.finish(&[unicast(9, 1)]);
}

fn announcement(named: GuidPrefix, edit: impl FnOnce(&mut ParameterListBuilder)) -> PayloadSpec {
    announcement_of(named, 0x0c3f, edit)
}

fn announcement_of(
    named: GuidPrefix,
    endpoints: u32,
    edit: impl FnOnce(&mut ParameterListBuilder),
) -> PayloadSpec {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_protocol_version(ProtocolVersion::V2_5);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(named, EntityId::PARTICIPANT));
    list.put_u32(pid::BUILTIN_ENDPOINT_SET, endpoints);
    list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, &unicast(0, 7410));
    edit(&mut list);
    PayloadSpec::Data(list.finish().into())
}

/// Acknowledges what a built-in writer of a node has.
fn acknowledge(
    net: &mut Net,
    node: usize,
    source: GuidPrefix,
    writer_id: EntityId,
    expected: SequenceNumber,
) {
    inject(net, node, |out| {
        let mut message = MessageBuilder::new(out, source);
        message.acknack(&AckNack {
            reader_id: if writer_id == EntityId::SEDP_PUBLICATIONS_WRITER {
                EntityId::SEDP_PUBLICATIONS_READER
            } else {
                EntityId::SEDP_SUBSCRIPTIONS_READER
            },
            writer_id,
            reader_sn_state: SequenceNumberSet::empty(expected),
            count: 1,
            final_flag: true,
        });
        message.finish(&[unicast(9, 1)]);
    });
}

/// What somebody acknowledges who has got everything from a node.
fn expected(net: &mut Net, node: usize) -> [(EntityId, SequenceNumber); 2] {
    let discovery = &mut net.nodes[node].discovery;
    [
        (
            EntityId::SEDP_PUBLICATIONS_WRITER,
            discovery.writer_mut(BuiltinTopic::Publications).last_sn().next(),
        ),
        (
            EntityId::SEDP_SUBSCRIPTIONS_WRITER,
            discovery.writer_mut(BuiltinTopic::Subscriptions).last_sn().next(),
        ),
    ]
}

/// Answers for an unverified participant as only somebody can who receives what it is sent.
fn verify(net: &mut Net, node: usize, source: GuidPrefix) {
    for (writer, expected) in expected(net, node) {
        acknowledge(net, node, source, writer, expected);
    }
}

fn matched() -> Net {
    matched_with(config(0))
}

/// Two nodes that match, of which the second is examined, and the first has this configuration.
pub(super) fn matched_with(first: DiscoveryConfig) -> Net {
    let mut net = Net::new([first, config(1)]);
    net.add_writer(0, DataWriterQos::default());
    net.add_reader(1, DataReaderQos::default());
    net.start();
    net.run_for(secs(2));
    assert_eq!(net.events(1), ["+participant 0", "+writer 0"]);
    net
}

const REMOVED: StatusInfo = StatusInfo(3);

/// Says that the writer of the first node is gone, with the next number of its participant.
fn remove_writer(net: &mut Net, from: Locator) {
    let hash = guid(0, WRITER).to_bytes();
    let next = net.nodes[0].discovery.writer_mut(BuiltinTopic::Publications).last_sn().next();
    inject_from(net, from, 1, |out| {
        let inline = inline_qos_for_status(REMOVED, Some(&hash));
        data(prefix(0), EntityId::SEDP_PUBLICATIONS_WRITER, next.0, &inline, PayloadSpec::None, out);
    });
}

#[test]
fn a_removal_in_the_name_of_a_peer_from_another_address_is_refused() {
    let mut net = matched();
    remove_writer(&mut net, unicast(8, 40_000));
    assert!(net.events(1).is_empty());
    let refused: Vec<_> = net.nodes[1].discovery.take_refused().collect();
    assert!(refused.contains(&(prefix(0), Misbehaviour::Misplaced)), "{refused:?}");
}

#[test]
fn removals_may_carry_only_a_key_hash() {
    let mut net = matched();
    // Without payload, as Fast DDS sends it.
    remove_writer(&mut net, first());
    assert_eq!(net.events(1), ["-writer 0"]);
    let hash = guid(0, EntityId::PARTICIPANT).to_bytes();
    inject(&mut net, 1, |out| {
        let mut inline = ParameterListBuilder::new();
        inline.put_bytes(pid::KEY_HASH, &hash);
        inline.put_status_info(StatusInfo(StatusInfo::UNREGISTERED));
        inline.put_bytes(pid::vendor::GOODBYE_SECRET, &[0; 16]);
        data(prefix(0), EntityId::SPDP_WRITER, 2, &inline.finish(), PayloadSpec::None, out);
    });
    assert_eq!(net.events(1), ["-participant 0 Left"]);
}

#[test]
fn an_announcement_with_a_foreign_guid_prefix_is_refused() {
    let mut net = matched();
    let unverified = prefix(7);
    // An unverified participant announces, removes and describes somebody else.
    inject(&mut net, 1, |out| {
        data(unverified, EntityId::SPDP_WRITER, 1, &[], announcement(prefix(5), |_| ()), out);
    });
    inject(&mut net, 1, |out| {
        let inline = inline_qos_for_status(REMOVED, Some(&guid(0, EntityId::PARTICIPANT).to_bytes()));
        data(unverified, EntityId::SPDP_WRITER, 1, &inline, PayloadSpec::None, out);
    });
    assert_eq!(net.nodes[1].discovery.stats().foreign_guid, 2);
    inject(&mut net, 1, |out| {
        data(unverified, EntityId::SPDP_WRITER, 1, &[], announcement(unverified, |_| ()), out)
    });
    assert_eq!(net.events(1), ["+participant 7"]);
    verify(&mut net, 1, unverified);
    inject(&mut net, 1, |out| {
        let inline = inline_qos_for_status(REMOVED, Some(&guid(0, WRITER).to_bytes()));
        data(unverified, EntityId::SEDP_PUBLICATIONS_WRITER, 1, &inline, PayloadSpec::None, out);
    });
    assert_eq!(net.nodes[1].discovery.stats().foreign_guid, 3);
    assert_eq!(net.events(1), [""; 0]);
}

#[test]
fn an_spdp_announcement_overtaken_by_its_goodbye_does_not_rediscover() {
    let mut net = matched();
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(2 * DELAY);
    assert_eq!(net.events(1), ["-writer 0", "-participant 0 Left"]);
    let late = |net: &mut Net| {
        inject(net, 1, |out| {
            let mut message = MessageBuilder::new(out, prefix(0));
            message.info_ts(Some(WallTime(1)));
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: EntityId::SPDP_WRITER,
                writer_sn: SequenceNumber(1),
                inline_qos: &[],
                payload: announcement(prefix(0), |_| ()),
            });
            message.finish(&[unicast(9, 1)]);
        });
    };
    late(&mut net);
    assert_eq!(net.events(1), [""; 0]);
    assert_eq!(net.nodes[1].discovery.stats().overtaken, 1);
    // Somebody who was not known yet when it said goodbye.
    inject(&mut net, 1, |out| {
        let inline = inline_qos_for_status(REMOVED, Some(&guid(6, EntityId::PARTICIPANT).to_bytes()));
        data(prefix(6), EntityId::SPDP_WRITER, 2, &inline, PayloadSpec::None, out);
    });
    inject(&mut net, 1, |out| {
        data(prefix(6), EntityId::SPDP_WRITER, 1, &[], announcement(prefix(6), |_| ()), out);
    });
    assert_eq!(net.events(1), [""; 0]);
    // The same name once more: a program that starts again.
    net.nodes[0].discovery = Discovery::new(config(0), 99);
    net.add_writer(0, DataWriterQos::default());
    net.with(0, |d, now, out, _| d.start(now, out));
    net.run_for(millis(50));
    assert_eq!(net.events(1), ["+participant 0", "+writer 0"]);
    late(&mut net);
    assert_eq!(net.nodes[1].discovery.participant(prefix(0)).unwrap().locators, config(0).locators);
}

/// Anybody can say goodbye in the name of somebody who is not there yet, with any number and as often as he likes.
#[test]
fn a_forged_goodbye_does_not_prevent_discovery_of_a_new_participant() {
    let mut net = matched();
    net.events(1);
    let mut arrivals = vec![];
    for n in 0..100 {
        inject(&mut net, 1, |out| {
            let inline = inline_qos_for_status(REMOVED, Some(&guid(6, EntityId::PARTICIPANT).to_bytes()));
            data(prefix(6), EntityId::SPDP_WRITER, 1 << 40, &inline, PayloadSpec::None, out);
        });
        inject(&mut net, 1, |out| {
            data(prefix(6), EntityId::SPDP_WRITER, 1, &[], announcement(prefix(6), |_| ()), out);
        });
        if net.events(1).contains(&"+participant 6".into()) {
            arrivals.push(10 * n);
        }
        net.run_for(millis(10));
    }
    assert_eq!(arrivals.first(), Some(&500), "{arrivals:?}");
}

#[test]
fn a_removal_that_can_no_longer_be_had_is_noticed() {
    let mut net = matched();
    let sn = |n| SequenceNumber(n);
    // Some changes later all is gone but the last, and this participant has seen none of them.
    let heartbeat = |first: i64, last: i64, count: i32| Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: EntityId::SEDP_PUBLICATIONS_WRITER,
        first_sn: sn(first),
        last_sn: sn(last),
        count,
        final_flag: true,
        liveliness_flag: false,
        group: None,
    };
    let known = net.nodes[1].discovery.writers().count();
    assert_eq!(known, 1);
    let say = |net: &mut Net, count| {
        inject(net, 1, |out| {
            let mut message = MessageBuilder::new(out, prefix(0));
            message.heartbeat(&heartbeat(i64::MAX - 2, i64::MAX - 2, count));
            message.finish(&[unicast(9, 1)]);
        });
        net.run_for(millis(20));
    };
    say(&mut net, 1_000);
    say(&mut net, 1_001);
    assert!(net.events(1).is_empty(), "it is asked, and has everything");
    net.nodes[0].cut_off = true;
    (0..60).for_each(|n| say(&mut net, 1_002 + n));
    assert_eq!(net.events(1), ["-writer 0"]);
}

#[test]
fn endpoints_of_unknown_participants_are_dropped() {
    let mut net = matched();
    inject(&mut net, 1, |out| {
        let mut list = ParameterListBuilder::payload(Endianness::Little);
        list.put_guid(pid::ENDPOINT_GUID, guid(5, WRITER));
        list.put_string(pid::TOPIC_NAME, "Square");
        list.put_string(pid::TYPE_NAME, "ShapeType");
        let payload = PayloadSpec::Data(list.finish().into());
        data(prefix(5), EntityId::SEDP_PUBLICATIONS_WRITER, 1, &[], payload, out);
    });
    assert_eq!(net.events(1), [""; 0]);
}

#[test]
fn unreadable_announcements_are_counted_and_change_nothing() {
    let mut net = matched();
    let unknown_parameter = announcement(prefix(0), |list| assert!(list.put_u32(0x4abc, 1)));
    let too_large = announcement(prefix(0), |list| assert!(list.put_octets(pid::USER_DATA, &[0; 20_000])));
    type Counter = fn(&DiscoveryStats) -> u64;
    let broken: [(PayloadSpec, Counter); 3] = [
        (PayloadSpec::Data(SharedBytes::copy_from(&[0, 3, 0, 0, 1, 2])), |stats| stats.malformed),
        (unknown_parameter, |stats| stats.not_understood),
        (too_large, |stats| stats.participants_refused),
    ];
    for (payload, counter) in broken {
        inject(&mut net, 1, |out| data(prefix(0), EntityId::SPDP_WRITER, 2, &[], payload, out));
        assert_eq!(counter(&net.nodes[1].discovery.stats()), 1);
    }
    assert_eq!(net.events(1), [""; 0]);
    assert_eq!(net.nodes[1].discovery.participants().count(), 1);
}

/// The octets of a message that `data` makes.
fn octets_of(build: impl FnOnce(&mut Outbox)) -> usize {
    let mut out = Outbox::new();
    build(&mut out);
    out.octets()
}

#[test]
fn an_unverified_participant_is_sent_at_most_three_times_what_it_sent() {
    let unverified = prefix(7);
    for locators in [1, 3, 100] {
        let mut net = matched();
        let payload = announcement(unverified, |list| {
            for port in 1..locators {
                list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, &unicast(0, 8000 + port));
            }
        });
        net.run_for(millis(1));
        (net.sent_octets, net.nodes[1].cut_off) = (0, true);
        let mut received = 0;
        for _ in 0..20 {
            let build = |out: &mut Outbox| {
                data(unverified, EntityId::SPDP_WRITER, 1, &[], payload.clone(), out);
            };
            received += octets_of(build);
            inject(&mut net, 1, build);
            // It guesses, and describes readers that are somewhere else.
            acknowledge(&mut net, 1, unverified, EntityId::SEDP_PUBLICATIONS_WRITER, SequenceNumber(2));
            received += 48;
            assert!(net.sent_octets > 0 && net.sent_octets <= 3 * received, "{} {received}", net.sent_octets);
        }
        let at_once = net.sent_octets;
        let mut own = Net::new([config(1)]);
        own.start();
        own.run_for(secs(9));
        net.run_for(secs(9));
        // Three announcements to the group at most, which have nothing to do with it, for each of the two.
        assert!(net.sent_octets <= at_once + 2 * 4 * 300, "nothing more follows: {}", net.sent_octets);
        assert_eq!(net.nodes[1].discovery.stats().participants_unverified, 1);
    }
}

#[test]
fn unverified_participant_endpoints_are_ignored_until_verification() {
    let mut net = matched();
    let unverified = prefix(7);
    inject(&mut net, 1, |out| {
        data(unverified, EntityId::SPDP_WRITER, 1, &[], announcement(unverified, |_| ()), out)
    });
    let writer = |net: &mut Net| {
        inject(net, 1, |out| {
            let mut list = ParameterListBuilder::payload(Endianness::Little);
            list.put_guid(pid::ENDPOINT_GUID, Guid::new(unverified, WRITER));
            list.put_string(pid::TOPIC_NAME, "Square");
            list.put_string(pid::TYPE_NAME, "ShapeType");
            let payload = PayloadSpec::Data(list.finish().into());
            data(unverified, EntityId::SEDP_PUBLICATIONS_WRITER, 1, &[], payload, out);
        });
    };
    writer(&mut net);
    // Numbers that are easy to guess do not help.
    let [publications, subscriptions] = expected(&mut net, 1);
    for guess in [0, 1, 2, i64::MAX] {
        for (writer, _) in [publications, subscriptions] {
            acknowledge(&mut net, 1, unverified, writer, SequenceNumber(guess));
        }
    }
    // A right one is lost with the next that is wrong.
    acknowledge(&mut net, 1, unverified, publications.0, publications.1);
    acknowledge(&mut net, 1, unverified, subscriptions.0, subscriptions.1.next());
    acknowledge(&mut net, 1, unverified, subscriptions.0, subscriptions.1);
    writer(&mut net);
    assert_eq!(net.events(1), ["+participant 7"]);
    verify(&mut net, 1, unverified);
    writer(&mut net);
    assert_eq!(net.events(1), ["+writer 7"]);
    assert_eq!(net.nodes[1].discovery.stats().participants_unverified, 0);
}

#[test]
fn data_goes_only_to_verified_locators() {
    let mut net = matched();
    let peer = prefix(7);
    let victim = unicast(66, 7411);
    let group = Locator::udp_v4(core::net::Ipv4Addr::new(239, 1, 2, 3), 7400);
    inject(&mut net, 1, |out| {
        let payload = announcement(peer, |list| {
            list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, &group);
            list.put_locator(pid::DEFAULT_UNICAST_LOCATOR, &victim);
            list.put_locator(pid::DEFAULT_UNICAST_LOCATOR, &group);
            list.put_locator(pid::DEFAULT_UNICAST_LOCATOR, &unicast(0, 7413));
        });
        data(peer, EntityId::SPDP_WRITER, 1, &[], payload, out);
    });
    verify(&mut net, 1, peer);
    let known = &net.nodes[1].discovery.participant(peer).unwrap().locators;
    assert_eq!(
        (&*known.metatraffic_unicast, &*known.default_unicast),
        (&[unicast(0, 7410)][..], &[unicast(0, 7413)][..])
    );
    inject(&mut net, 1, |out| {
        let mut list = ParameterListBuilder::payload(Endianness::Little);
        list.put_guid(pid::ENDPOINT_GUID, Guid::new(peer, WRITER));
        list.put_string(pid::TOPIC_NAME, "Square");
        list.put_string(pid::TYPE_NAME, "ShapeType");
        list.put_locator(pid::UNICAST_LOCATOR, &victim);
        let payload = PayloadSpec::Data(list.finish().into());
        data(peer, EntityId::SEDP_PUBLICATIONS_WRITER, 1, &[], payload, out);
    });
    let writer = net.nodes[1].discovery.writer(Guid::new(peer, WRITER)).unwrap();
    assert_eq!(*writer.unicast, [unicast(0, 7413)]);
}

#[test]
fn unverified_participants_evict_only_those_of_the_same_source() {
    let mut few = config(1);
    few.quotas.max_unverified_per_source = 3;
    let mut net = Net::new([config(0), few]);
    net.start();
    net.run_for(secs(2));
    net.events(1);
    for node in 20..60 {
        inject(&mut net, 1, |out| {
            data(prefix(node), EntityId::SPDP_WRITER, 1, &[], announcement(prefix(node), |_| ()), out)
        });
    }
    let stats = net.nodes[1].discovery.stats();
    assert_eq!((stats.participants, stats.participants_unverified, stats.participants_evicted), (4, 3, 37));
    let known = |node| net.nodes[1].discovery.participant(prefix(node)).is_some();
    assert!(known(0) && known(59) && !known(20));
    assert!(net.nodes[1].discovery.next_deadline().is_some());
    net.run_for(secs(12));
    let stats = net.nodes[1].discovery.stats();
    assert_eq!((stats.participants, stats.octets > 0, stats.octets < 1_000), (1, true, true));
}

#[test]
fn an_unverified_participant_that_never_answers_is_removed_early() {
    let mut net = matched();
    let unverified = prefix(7);
    // Without a lease of its own the standard's is taken: 100 s.
    inject(&mut net, 1, |out| {
        data(unverified, EntityId::SPDP_WRITER, 1, &[], announcement(unverified, |_| ()), out)
    });
    net.run_for(secs(9));
    assert_eq!(net.events(1), ["+participant 7"]);
    net.run_for(secs(2));
    assert_eq!(net.events(1), ["-participant 7 LeaseExpired"]);
}

/// Writer, encapsulation, sequence number, contents and whether it is a removal.
fn change() -> impl Strategy<Value = (u8, u8, i64, Vec<u8>, bool)> {
    (0u8..4, 0u8..4, 1i64..10, prop::collection::vec(any::<u8>(), 4..200), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 64 }, ..ProptestConfig::default() })]

    #[test]
    fn random_changes_never_panic(changes in prop::collection::vec(change(), 1..20)) {
        let mut net = matched();
        for (writer, encapsulation, sn, mut payload, removal) in changes {
            let writer_id = [
                EntityId::SPDP_WRITER,
                EntityId::SEDP_PUBLICATIONS_WRITER,
                EntityId::SEDP_SUBSCRIPTIONS_WRITER,
                EntityId::PARTICIPANT_MESSAGE_WRITER,
            ][writer as usize];
            payload[..2].copy_from_slice(&[0, encapsulation]);
            inject(&mut net, 1, |out| {
                let status = if removal { REMOVED } else { StatusInfo(0) };
                let inline = inline_qos_for_status(status, Some(&guid(0, WRITER).to_bytes()));
                data(prefix(0), writer_id, sn, &inline, PayloadSpec::Data(payload.into()), out);
            });
        }
        net.run_for(secs(5));
    }

    #[test]
    fn random_octets_never_panic(tail in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut net = matched();
        let mut bytes = vec![b'R', b'T', b'P', b'S', 2, 5, 1, 0x10];
        bytes.extend_from_slice(&prefix(0).0);
        bytes.extend_from_slice(&tail);
        inject_octets(&mut net, first(), 1, bytes);
        net.run_for(secs(1));
    }
}

#[test]
fn a_peer_that_acknowledges_no_type_answers_gets_few() {
    let mut net = matched();
    let ty = super::types::local("struct ShapeType { string color; };");
    let writer = LocalWriter { type_information: Some(Arc::clone(&ty)), ..local_writer(Default::default()) };
    net.with(1, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
    let peer = prefix(7);
    inject(&mut net, 1, |out| {
        let payload = announcement_of(peer, crate::builtin_endpoints::ALL, |_| ());
        data(peer, EntityId::SPDP_WRITER, 1, &[], payload, out);
    });
    verify(&mut net, 1, peer);
    let question = |low| {
        let request_id = SampleIdentity { writer_guid: [7; 16], high: 0, low };
        let participant = Guid::new(prefix(1), EntityId::PARTICIPANT).to_bytes();
        let type_ids = ty.objects().records.iter().map(|record| record.complete.id.clone()).collect();
        let call = Call::GetTypes(GetTypesIn { type_ids });
        message::encode(&Request { request_id, instance_name: instance_name(&participant), call }).unwrap()
    };
    let ask = |net: &mut Net, numbers: core::ops::RangeInclusive<u32>| {
        for n in numbers {
            inject(net, 1, |out| {
                let payload = PayloadSpec::Data(question(n).into());
                data(peer, EntityId::TYPE_LOOKUP_REQUEST_WRITER, i64::from(n), &[], payload, out);
            });
        }
    };
    ask(&mut net, 1..=100);
    let stats = net.nodes[1].discovery.stats();
    assert_eq!(stats.type_answers + stats.type_questions_waiting, 100, "{stats:?}");
    assert!((1..=16).contains(&stats.type_answers), "{stats:?}");
    // Who acknowledges gets the rest, though it asks no more.
    let answered = stats.type_answers;
    let acknowledge = |net: &mut Net, through: u64, count: u32| {
        let next = SequenceNumber(through.cast_signed()).next();
        inject(net, 1, |out| {
            let mut message = MessageBuilder::new(out, peer);
            message.acknack(&AckNack {
                reader_id: EntityId::TYPE_LOOKUP_REPLY_READER,
                writer_id: EntityId::TYPE_LOOKUP_REPLY_WRITER,
                reader_sn_state: SequenceNumberSet::empty(next),
                count: count.cast_signed(),
                final_flag: true,
            });
            message.finish(&[unicast(9, 1)]);
        });
    };
    acknowledge(&mut net, answered, 1);
    assert_eq!(net.nodes[1].discovery.stats().type_answers, 2 * answered);
    (2..20).for_each(|n| acknowledge(&mut net, u64::from(n) * answered, n));
    let stats = net.nodes[1].discovery.stats();
    assert_eq!((stats.type_answers, stats.type_questions_waiting), (100, 0), "{stats:?}");
    // What waits is bounded, and goes with its participant.
    ask(&mut net, 101..=2000);
    let stats = net.nodes[1].discovery.stats();
    assert!(stats.type_answers_withheld > 1000 && stats.type_questions_waiting > 100, "{stats:?}");
    net.run_for(secs(1000));
    assert_eq!(net.nodes[1].discovery.stats().type_questions_waiting, 0);
}
