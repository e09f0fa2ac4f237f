//! Messages of peers that are wrong, strange or hostile.

use alloc::{vec, vec::Vec};

use dunlin_core::{ProtocolVersion, SequenceNumber, StatusInfo, WallTime};
use dunlin_wire::{
    DataSpec, Endianness, Heartbeat, MessageBuilder, ParameterListBuilder, PayloadSpec,
    inline_qos_for_status, pid,
};
use proptest::prelude::*;

use super::net::*;

/// Hands a message to a node as if it came from the address of the first one.
fn inject(net: &mut Net, to: usize, build: impl FnOnce(&mut Outbox)) {
    let mut out = Outbox::new();
    build(&mut out);
    let mut bytes = vec![];
    out.datagrams().next().unwrap().copy_to(&mut bytes);
    inject_octets(net, to, bytes);
}

fn inject_octets(net: &mut Net, to: usize, bytes: Vec<u8>) {
    let packet = SharedBytes::from(bytes);
    net.with(to, |discovery, now, out, fx| {
        let Ok(message) = Message::parse(&packet) else { return };
        let mut state = ReceiverState::new(discovery.config().guid_prefix, &message.header());
        for parsed in message.submessages() {
            let Ok(parsed) = parsed else { return };
            state.apply(&parsed.body);
            discovery.on_submessage(now, unicast(0, 40_000), &state, &parsed.body, &packet, out, fx);
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
    message.finish(&[unicast(9, 1)]);
}

fn announcement(named: GuidPrefix, edit: impl FnOnce(&mut ParameterListBuilder)) -> PayloadSpec {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_protocol_version(ProtocolVersion::V2_5);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(named, EntityId::PARTICIPANT));
    list.put_u32(pid::BUILTIN_ENDPOINT_SET, 0x0c3f);
    list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, &unicast(0, 7410));
    edit(&mut list);
    PayloadSpec::Data(list.finish().into())
}

/// Two nodes that match, of which the second is examined.
fn matched() -> Net {
    let mut net = Net::new([config(0), config(1)]);
    net.add_writer(0, DataWriterQos::default());
    net.add_reader(1, DataReaderQos::default());
    net.start();
    net.run_for(secs(2));
    assert_eq!(net.events(1), ["+participant 0", "+writer 0"]);
    net
}

const REMOVED: StatusInfo = StatusInfo(3);

#[test]
fn removals_may_carry_only_a_key_hash() {
    let mut net = matched();
    let hash = guid(0, WRITER).to_bytes();
    // The second change of the publications writer, without payload, as Fast DDS sends it.
    inject(&mut net, 1, |out| {
        let inline = inline_qos_for_status(REMOVED, Some(&hash));
        data(prefix(0), EntityId::SEDP_PUBLICATIONS_WRITER, 2, &inline, PayloadSpec::None, out);
    });
    assert_eq!(net.events(1), ["-writer 0"]);
    let hash = guid(0, EntityId::PARTICIPANT).to_bytes();
    inject(&mut net, 1, |out| {
        let inline = inline_qos_for_status(StatusInfo(StatusInfo::UNREGISTERED), Some(&hash));
        data(prefix(0), EntityId::SPDP_WRITER, 2, &inline, PayloadSpec::None, out);
    });
    assert_eq!(net.events(1), ["-participant 0 Left"]);
}

#[test]
fn nobody_speaks_for_another() {
    let mut net = matched();
    let stranger = prefix(7);
    // A stranger announces, removes and describes somebody else.
    inject(&mut net, 1, |out| {
        data(stranger, EntityId::SPDP_WRITER, 1, &[], announcement(prefix(5), |_| ()), out);
    });
    inject(&mut net, 1, |out| {
        let inline = inline_qos_for_status(REMOVED, Some(&guid(0, EntityId::PARTICIPANT).to_bytes()));
        data(stranger, EntityId::SPDP_WRITER, 1, &inline, PayloadSpec::None, out);
    });
    assert_eq!(net.nodes[1].discovery.stats().foreign_guid, 2);
    inject(&mut net, 1, |out| {
        data(stranger, EntityId::SPDP_WRITER, 1, &[], announcement(stranger, |_| ()), out)
    });
    assert_eq!(net.events(1), ["+participant 7"]);
    inject(&mut net, 1, |out| {
        let inline = inline_qos_for_status(REMOVED, Some(&guid(0, WRITER).to_bytes()));
        data(stranger, EntityId::SEDP_PUBLICATIONS_WRITER, 1, &inline, PayloadSpec::None, out);
    });
    assert_eq!(net.nodes[1].discovery.stats().foreign_guid, 3);
    assert_eq!(net.events(1), [""; 0]);
}

#[test]
fn an_announcement_that_the_goodbye_overtook_brings_nobody_back() {
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
    inject(&mut net, 1, |out| {
        let mut message = MessageBuilder::new(out, prefix(0));
        message.heartbeat(&heartbeat(i64::MAX - 2, i64::MAX - 2, 1_000));
        message.finish(&[unicast(9, 1)]);
    });
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

#[test]
fn an_answer_goes_once_to_few_places() {
    let mut net = matched();
    net.sent = 0;
    let stranger = prefix(7);
    for _ in 0..20 {
        let many = |list: &mut ParameterListBuilder| {
            for port in 1..100 {
                list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, &unicast(0, port));
            }
        };
        inject(&mut net, 1, |out| {
            data(stranger, EntityId::SPDP_WRITER, 1, &[], announcement(stranger, many), out)
        });
    }
    // One answer, and one greeting of each of the six built-in endpoints, to each of the few locators that are kept.
    let locators = net.nodes[1].discovery.config().quotas.max_locators as u64;
    assert!(net.sent <= 7 * locators, "{}", net.sent);
}

#[test]
fn a_participant_that_never_answers_is_soon_forgotten() {
    let mut net = matched();
    let stranger = prefix(7);
    // Without a lease of its own the standard's is taken: 100 s.
    inject(&mut net, 1, |out| {
        data(stranger, EntityId::SPDP_WRITER, 1, &[], announcement(stranger, |_| ()), out)
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
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

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
        inject_octets(&mut net, 1, bytes);
        net.run_for(secs(1));
    }
}
