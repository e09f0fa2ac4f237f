//! Submessages out of place and payloads that nobody knows: Fast DDS#1337, #1338, CVE-2024-30258, OpenDDS#4015,
//! Cyclone DDS#1751 (reachable assertions), CVE-2025-62599 to -62603 (security submessages before authentication).

use dunlin_buf::SharedBytes;
use dunlin_core::{EntityId, GuidPrefix, ProtocolVersion, SequenceNumber, SequenceNumberSet, VendorId};
use dunlin_wire::{
    AckNack, DataSpec, Heartbeat, InfoSrc, Message, MessageBuilder, ParameterListBuilder, PayloadSpec,
    SecurityKind, SecuritySubmessage, pid,
};

use crate::target::{Target, message};

fn data(message: &mut MessageBuilder<'_>, reader_id: EntityId, writer_id: EntityId, sn: i64, octets: &[u8]) {
    message.data(&DataSpec {
        reader_id,
        writer_id,
        writer_sn: SequenceNumber(sn),
        inline_qos: &[],
        payload: PayloadSpec::Data(SharedBytes::copy_from(octets)),
    });
}

#[test]
fn unknown_encapsulations_are_counted_and_the_stream_goes_on() {
    let mut target = Target::new();
    let (writer_id, first) = (target.peer_writer.guid().entity_id, target.next_sn().0);
    let ids: [u16; 6] = [0x00ff, 0x7fff, 0x8000, 0xc001, 0xfffe, 0xffff];
    for (n, id) in ids.into_iter().enumerate() {
        let [high, low] = id.to_be_bytes();
        let octets = [high, low, 0xff, 0xff, 1, 0, 0, 0];
        let sn = first + n as i64;
        let bytes = target.forge(|message| data(message, EntityId::UNKNOWN, writer_id, sn, &octets));
        target.attack(&bytes).is_small();
    }
    assert_eq!(target.stats().undecodable, ids.len());
    assert!(target.reader.is_empty());
    for _ in ids {
        let writer = std::sync::Arc::clone(&target.peer_writer);
        target.net.write(1, &writer, 3, b"has the number of a forged one").expect("no limits");
    }
    target.still_talks();
}

#[test]
fn unknown_encapsulations_of_announcements_change_nothing() {
    let mut target = Target::new();
    for id in [0_u8, 1, 6, 7, 0xff] {
        let octets = [0xee, id, 0, 0, 1, 0, 0, 0];
        let bytes = target.forge(|message| {
            data(message, EntityId::SPDP_READER, EntityId::SPDP_WRITER, 100 + i64::from(id), &octets);
        });
        target.attack(&bytes).is_small();
    }
    assert_eq!(target.stats().discovery.malformed, 5);
    assert_eq!(target.net.nodes[0].participant.discovered_participants().len(), 1);
    target.still_talks();
}

/// Every entity submessage to every kind of entity that it is not for.
#[test]
fn submessages_for_the_wrong_entities_are_dropped() {
    let mut target = Target::new();
    let ids = [
        target.writer.guid().entity_id,
        target.reader.guid().entity_id,
        target.peer_writer.guid().entity_id,
        EntityId::PARTICIPANT,
        EntityId::SPDP_READER,
        EntityId::SEDP_PUBLICATIONS_READER,
        EntityId::SEDP_PUBLICATIONS_WRITER,
        EntityId([0xff; 4]),
    ];
    let right = target.peer_writer.guid().entity_id;
    for (n, (reader_id, writer_id)) in ids.iter().flat_map(|a| ids.iter().map(|b| (*a, *b))).enumerate() {
        if writer_id == right && reader_id == target.reader.guid().entity_id {
            continue;
        }
        let count = 2_000 + n as i32;
        let bytes = target.forge(|message| {
            message.heartbeat(&Heartbeat {
                reader_id,
                writer_id,
                first_sn: SequenceNumber(1),
                last_sn: SequenceNumber(i64::MAX),
                count,
                final_flag: false,
                liveliness_flag: true,
                group: None,
            });
            message.acknack(&AckNack {
                reader_id,
                writer_id,
                reader_sn_state: SequenceNumberSet::empty(SequenceNumber(1)),
                count,
                final_flag: false,
            });
            if !writer_id.is_builtin() {
                data(message, reader_id, writer_id, 1_000_000, &[0, 1, 0, 0, 1, 0, 0, 0]);
            }
        });
        let answer = target.attack(&bytes);
        assert!(answer.octets <= 2_000, "{reader_id:?} {writer_id:?} {answer:?}");
    }
    assert!(target.reader.is_empty());
    target.still_talks();
}

#[test]
fn messages_with_the_own_guid_prefix_are_refused() {
    let mut target = Target::new();
    let (own, writer_id) = (target.victim(), target.peer_writer.guid().entity_id);
    let write =
        |message: &mut MessageBuilder<'_>| data(message, EntityId::UNKNOWN, writer_id, 2, &[0, 1, 0, 0]);
    target.attack(&message(own, write)).is_nothing();
    let claimed = message(GuidPrefix([9; 12]), |message| {
        message.info_src(&InfoSrc {
            version: ProtocolVersion::V2_5,
            vendor_id: VendorId::DUNLIN,
            guid_prefix: own,
        });
        write(message);
    });
    target.attack(&claimed).is_nothing();
    assert_eq!(target.stats().own_datagrams, 2);
    target.still_talks();
}

#[test]
fn submessages_for_another_destination_are_skipped() {
    let mut target = Target::new();
    let (writer_id, sn) = (target.peer_writer.guid().entity_id, target.next_sn().0);
    let bytes = target.forge(|message| {
        message.info_dst(GuidPrefix([7; 12]));
        data(message, EntityId::UNKNOWN, writer_id, sn, &[0, 1, 0, 0, 1, 0, 0, 0]);
    });
    target.attack(&bytes).is_nothing();
    assert!(target.reader.is_empty() && target.stats().other_destination == 1);
    target.still_talks();
}

#[test]
fn security_submessages_are_passed_over() {
    let mut target = Target::new();
    let kinds = [
        SecurityKind::SecBody,
        SecurityKind::SecPrefix,
        SecurityKind::SecPostfix,
        SecurityKind::SrtpsPrefix,
        SecurityKind::SrtpsPostfix,
    ];
    let mut passed_over = 0;
    for kind in kinds {
        for body in [
            &[0xff; 64][..],
            &[0; 4],
            &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255],
        ] {
            let acknack = target.an_acknowledgment();
            let bytes = target.forge(|message| {
                message.security(&SecuritySubmessage {
                    kind,
                    header_is_authenticated: false,
                    pre_shared_key: true,
                    body,
                });
                message.acknack(&acknack);
            });
            let read = target.writer.stats().acknacks_received;
            target.attack(&bytes).is_nothing();
            let read = target.writer.stats().acknacks_received - read;
            // An element that is not what its length says ends the message.
            let whole = Message::parse(&bytes).expect("a header").submessages().all(|it| it.is_ok());
            assert_eq!(read, u64::from(whole), "{kind:?}: what follows is read");
            passed_over += read;
        }
    }
    assert!(passed_over >= 5, "{passed_over}");
    target.still_talks();
}

#[test]
fn message_headers_in_the_middle_and_unknown_kinds_are_passed_over() {
    let mut target = Target::new();
    let header = target.forge(|message| {
        message.pad(4);
    });
    for kind in 0..=u8::MAX {
        let mut bytes = header.clone();
        bytes.extend([kind, 1, 8, 0]);
        bytes.extend([0xff; 8]);
        let acknack = target.an_acknowledgment();
        bytes.extend_from_slice(&target.forge(|message| _ = message.acknack(&acknack))[20..]);
        bytes.extend_from_slice(&header);
        let read = target.writer.stats().acknacks_received;
        target.attack(&bytes).is_small();
        let read = target.writer.stats().acknacks_received - read;
        // What is defined (RTPS 2.5 §9.4.5.1.1) is not well-formed with this body, and then nothing behind it counts.
        let defined = matches!(kind, 0..=1 | 6..=9 | 0x0c..=0x0f | 0x12..=0x13 | 0x15..=0x16 | 0x30..=0x34);
        assert!(defined || read == 1, "kind {kind}: what follows is read");
    }
    target.still_talks();
}

/// A list that does not end, that is full of empty parameters, or that says what it must not.
#[test]
fn inline_qos_is_read_once_and_to_its_end() {
    let mut target = Target::new();
    let (writer_id, first) = (target.peer_writer.guid().entity_id, target.next_sn().0);
    let endless = vec![0x71, 0, 0, 0];
    let empties = [0x01, 0x80, 0, 0].repeat(15_000);
    let lengths = vec![0x01, 0x80, 0xff, 0xff, 1, 0, 0, 0];
    let unaligned = vec![0x01, 0x80, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    let mut status = ParameterListBuilder::new();
    (0..1_000).for_each(|_| {
        status.put_bytes(pid::STATUS_INFO, &[0xff; 4]);
    });
    for (n, list) in
        [endless, empties, lengths, unaligned, status.finish_without_sentinel()].into_iter().enumerate()
    {
        let writer_sn = SequenceNumber(first + 100 + n as i64);
        let bytes = target.forge(|message| {
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id,
                writer_sn,
                inline_qos: &list,
                payload: PayloadSpec::None,
            });
        });
        target.attack(&bytes).is_nothing();
    }
    assert_eq!(target.reader.stats().out_of_order_now, 0, "all of them are malformed");
    target.still_talks();
}
