//! Two changes with one number: a writer sends a change again with the source timestamp that it had, so one of the two is forged.

use dunlin_core::{EntityId, Misbehaviour, ProtocolVersion, SequenceNumber, VendorId, WallTime};
use dunlin_wire::{Data, DataFrag, Header, Heartbeat, Payload, PlainData, ReceiverState};

use super::support::*;
use crate::{ReaderConfig, WriterProxyConfig};

fn state(time: Option<i64>) -> ReceiverState {
    let header =
        Header { version: ProtocolVersion::V2_5, vendor_id: VendorId::DUNLIN, guid_prefix: WRITER.prefix };
    let state = ReceiverState::new(reader_guid(1).prefix, &header);
    ReceiverState { timestamp: time.map(WallTime), ..state }
}

/// A reader of a writer of this vendor, and what the last submessage was refused for.
fn reader_of(vendor: VendorId, reliable: bool) -> Target {
    let mut target = Target::new(1, ReaderConfig { reliable, ..ReaderConfig::default() });
    let cfg = WriterProxyConfig {
        only_announced: false,
        guid: WRITER,
        reliable,
        durable: true,
        unicast: [host(WRITER.prefix)].into(),
        multicast: [].into(),
        vendor,
    };
    target.reader.match_writer(at(0), cfg, &mut target.out);
    target
}

/// A change with a source timestamp comes; whether it is told to contradict another one.
fn comes(target: &mut Target, sn: i64, time: Option<i64>) -> bool {
    let packet = sample(64);
    let data = Data {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        writer_sn: SequenceNumber(sn),
        inline_qos: None,
        payload: Payload::Data(&packet),
        non_standard_payload: false,
    };
    target.reader.on_data(at(1), &state(time), &data, &packet, &mut target.sink, &mut target.out);
    told(target)
}

fn told(target: &mut Target) -> bool {
    let lost = core::mem::take(&mut target.sink.lost);
    let refused = target.reader.take_refused();
    assert_eq!(refused, (lost == 1).then_some(Misbehaviour::ContradictoryDuplicate));
    lost == 1
}

#[test]
fn a_duplicate_with_another_source_timestamp_counts_one_sample_lost() {
    for reliable in [true, false] {
        let mut target = reader_of(VendorId::DUNLIN, reliable);
        (1..=3).for_each(|sn| assert!(!comes(&mut target, sn, Some(100 + sn))));
        assert!(!comes(&mut target, 2, Some(102)), "sent again");
        assert!(comes(&mut target, 2, Some(7)) && !comes(&mut target, 2, Some(8)), "told once");
        assert!(comes(&mut target, 3, None), "each change of Dunlin has a source timestamp");
        assert_eq!((target.sink.got.as_slice(), target.reader.stats().lost), (&[1, 2, 3][..], 2));
    }
}

#[test]
fn a_duplicate_of_a_sample_that_waits_is_told_once() {
    let mut target = reader_of(VendorId::DUNLIN, true);
    assert!(!comes(&mut target, 3, None) && !comes(&mut target, 3, None));
    assert!(comes(&mut target, 3, Some(103)) && !comes(&mut target, 3, Some(103)));
    assert!(!comes(&mut target, 1, Some(101)) && !comes(&mut target, 2, Some(102)));
    assert_eq!(target.sink.got, [1, 2, 3]);
    assert!(!comes(&mut target, 3, Some(103)), "not again when it has been delivered");
}

/// Not each vendor sends the time with each repetition.
#[test]
fn a_duplicate_without_a_source_timestamp_contradicts_none_of_other_vendors() {
    let mut target = reader_of(VendorId([1, 0x10]), true);
    (1..=2).for_each(|sn| assert!(!comes(&mut target, sn, (sn == 1).then_some(5))));
    assert!(!comes(&mut target, 1, None) && !comes(&mut target, 2, Some(6)));
    assert!(comes(&mut target, 1, Some(6)));
}

#[test]
fn a_fragment_of_another_sample_with_the_number_of_one_delivered_is_told() {
    let mut target = reader_of(VendorId::DUNLIN, true);
    assert!(!comes(&mut target, 1, Some(101)));
    let packet = sample(64);
    let frag = DataFrag {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        writer_sn: SequenceNumber(1),
        fragment_starting_num: 1,
        fragments_in_submessage: 1,
        fragment_size: 64,
        sample_size: 128,
        inline_qos: None,
        key_flag: false,
        non_standard_payload: false,
        payload: &packet,
    };
    let mut fragment = |time: i64| {
        let state = state(Some(time));
        target.reader.on_data_frag(at(2), &state, &frag, &packet, &mut target.sink, &mut target.out);
        told(&mut target)
    };
    assert!(!fragment(101) && fragment(102) && !fragment(103));
}

/// What comes in a run goes another way than the first one.
#[test]
fn a_sample_of_a_run_is_remembered_with_its_source_timestamp() {
    let mut target = reader_of(VendorId::DUNLIN, true);
    let heartbeat = Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER.entity_id,
        first_sn: SequenceNumber(1),
        last_sn: SequenceNumber(1),
        count: 1,
        final_flag: true,
        liveliness_flag: false,
        group: None,
    };
    target.reader.on_heartbeat(at(0), WRITER.prefix.into(), &heartbeat, &mut target.sink, &mut target.out);
    let packet = sample(64);
    let run = target.reader.run_of(WRITER, EntityId::UNKNOWN).expect("it is matched");
    for sn in 1..=2 {
        let data = PlainData { timestamp: None, writer_sn: SequenceNumber(sn), payload: &packet };
        let time = Some(WallTime(100 + sn));
        assert!(target.reader.on_next(at(1), run, time, &data, &packet, &mut target.sink), "{sn}");
    }
    assert!(
        !comes(&mut target, 1, Some(101)) && comes(&mut target, 1, Some(7)) && comes(&mut target, 2, None)
    );
}

#[test]
fn numbers_that_were_skipped_contradict_nothing() {
    let mut target = reader_of(VendorId::DUNLIN, false);
    assert!(!comes(&mut target, 1, Some(101)) && !comes(&mut target, 5, Some(105)));
    assert!((2..5).all(|sn| !comes(&mut target, sn, Some(7))), "these are lost already");
    assert!(comes(&mut target, 5, Some(7)));
}
