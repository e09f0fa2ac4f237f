//! Messages captured from Cyclone DDS and Fast DDS: they must be read as what those meant (RTPS 2.5 §8.3.8).

mod common;

use common::{hex, message, only, visit, walk};
use dunlin_core::{
    Duration, EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, SequenceNumber, StatusInfo, VendorId,
};
use dunlin_wire::{
    AckNack, Data, Endianness, Heartbeat, Message, ParamReader, ParameterList, Payload, Submessage, key_hash,
    pid, status_info,
};

const PREFIX: &str = "01100e371513a22bde314305";
const PEER: &str = "0110d10871d3c3a80d2d7836";

fn with_data<T>(text: &str, read: impl FnOnce(Data<'_>) -> T) -> T {
    let bytes = message(text);
    let Ok(Submessage::Data(data)) = only(&bytes) else { panic!("{:?}", only(&bytes)) };
    read(data)
}

fn heartbeat(text: &str) -> Heartbeat {
    match only(&message(text)).unwrap() {
        Submessage::Heartbeat(heartbeat) => heartbeat,
        other => panic!("{other:?}"),
    }
}

fn acknack(text: &str) -> AckNack {
    match only(&message(text)).unwrap() {
        Submessage::AckNack(acknack) => acknack,
        other => panic!("{other:?}"),
    }
}

#[test]
fn message_start() {
    let bytes = hex(&format!(
        "52545053 0205 0110 {PREFIX} 0e 01 0c00 {PEER} 0e 01 0c00 000000000000000000000000 \
         09 01 0800 2c5c006b 12d65397"
    ));
    let read = Message::parse(&bytes).unwrap();
    assert_eq!(
        (read.header().version, read.header().vendor_id),
        (ProtocolVersion::V2_5, VendorId::CYCLONE_DDS)
    );
    assert_eq!(read.header().guid_prefix.0, *hex(PREFIX));
    let bodies: Vec<_> = read.submessages().map(|parsed| parsed.unwrap().body).collect();
    let Submessage::InfoDst(peer) = bodies[0] else { panic!("{:?}", bodies[0]) };
    assert_eq!(peer.0, *hex(PEER));
    assert_eq!(bodies[1], Submessage::InfoDst(GuidPrefix::UNKNOWN));
    let Submessage::InfoTs(Some(time)) = bodies[2] else { panic!("{:?}", bodies[2]) };
    assert_eq!(time.0 / 1_000_000_000, 0x6b00_5c2c);
}

#[test]
fn heartbeats() {
    let empty = heartbeat("07 01 1c00 00000000 000003c2 00000000 01000000 00000000 00000000 01000000");
    assert_eq!((empty.reader_id, empty.writer_id), (EntityId::UNKNOWN, EntityId::SEDP_PUBLICATIONS_WRITER));
    assert_eq!((empty.first_sn, empty.last_sn), (SequenceNumber(1), SequenceNumber(0)));
    assert_eq!((empty.count, empty.final_flag, empty.liveliness_flag), (1, false, false));
    let one = heartbeat("07 01 1c00 00000000 000004c2 00000000 01000000 00000000 01000000 01000000");
    assert_eq!((one.first_sn, one.last_sn), (SequenceNumber(1), SequenceNumber(1)));
    let user = heartbeat("07 01 1c00 00000000 00000202 00000000 01000000 00000000 01000000 02000000");
    assert_eq!((user.writer_id, user.count), (EntityId::user_writer(2, true), 2));
}

#[test]
fn acknacks() {
    let first = acknack("06 03 1800 000003c7 000003c2 00000000 01000000 00000000 01000000");
    assert_eq!((first.reader_sn_state.base(), first.reader_sn_state.num_bits()), (SequenceNumber(1), 0));
    assert_eq!((first.count, first.final_flag), (1, true));
    let missing = acknack("06 03 1c00 000004c7 000004c2 00000000 01000000 01000000 00000080 01000000");
    assert_eq!(missing.reader_sn_state.iter().collect::<Vec<_>>(), [SequenceNumber(1)]);
    let done = acknack("06 03 1800 000200c7 000200c2 00000000 02000000 00000000 02000000");
    assert_eq!((done.reader_sn_state.base(), done.count), (SequenceNumber(2), 2));
    let fast_dds = acknack("06 01 1c00 000003c7 000003c2 00000000 01000000 01000000 00000080 01000000");
    assert!(!fast_dds.final_flag && fast_dds.reader_sn_state.contains(SequenceNumber(1)));
    let user = acknack("06 03 1800 00000207 00000202 00000000 02000000 00000000 02000000");
    assert_eq!(user.reader_id, EntityId::user_reader(2, true));
}

/// Property and vendor parameters of the capture are left out, its length reduced accordingly.
#[test]
fn participant_announcement() {
    let zeros = "0".repeat(24);
    let text = format!(
        "15 05 cc00 0000 1000 000100c7 000100c2 00000000 01000000 00030000 0200 0800 0a000000 00000000 \
         1500 0400 02050000 1600 0400 01100000 5000 1000 {PREFIX} 000001c1 5800 0400 3ffc0000 0f00 0400 00000000 \
         3100 1800 01000000 f31c0000 {zeros} 7f000001 4800 1800 01000000 e91c0000 {zeros} efff0001 \
         3200 1800 01000000 f21c0000 {zeros} 7f000001 3300 1800 01000000 e81c0000 {zeros} efff0001 0100 0000"
    );
    with_data(&text, |data| {
        assert_eq!((data.reader_id, data.writer_id), (EntityId::SPDP_READER, EntityId::SPDP_WRITER));
        let list = ParameterList::from_payload(data.payload.bytes().unwrap()).unwrap();
        let read = |pid| list.read(pid).unwrap();
        assert_eq!(read(pid::PARTICIPANT_LEASE_DURATION).duration(), Ok(Duration::from_secs(10)));
        assert_eq!(read(pid::PROTOCOL_VERSION).protocol_version(), Ok(ProtocolVersion::V2_5));
        assert_eq!(read(pid::VENDORID).vendor_id(), Ok(VendorId::CYCLONE_DDS));
        let prefix = GuidPrefix(*hex(PREFIX).first_chunk().unwrap());
        assert_eq!(read(pid::PARTICIPANT_GUID).guid(), Ok(Guid::new(prefix, EntityId::PARTICIPANT)));
        assert_eq!(read(pid::BUILTIN_ENDPOINT_SET).u32(), Ok(0xfc3f));
        assert_eq!(read(pid::DOMAIN_ID).u32(), Ok(0));
        let locators: Vec<Locator> = list
            .iter()
            .filter(|parameter| parameter.value.len() == 24)
            .map(|parameter| ParamReader::new(parameter.value, Endianness::Little).locator().unwrap())
            .collect();
        let texts: Vec<String> = locators.iter().map(Locator::to_string).collect();
        let expected =
            ["udp/127.0.0.1:7411", "udp/239.255.0.1:7401", "udp/127.0.0.1:7410", "udp/239.255.0.1:7400"];
        assert_eq!(texts, expected);
    });
}

#[test]
fn writer_announcement_with_type_information() {
    let information = "60000000 01100040 28000000 24000000 14000000 f1 bfe2a62ed811ac463c40c97d30ee 00 00000000 \
                       00000000 04000000 00000000 02100040 28000000 24000000 14000000 f2 \
                       4945808c7622315d6220054f6aad 00 00000000 00000000 04000000 00000000";
    let information = hex(information);
    let body: String = information.iter().map(|octet| format!("{octet:02x}")).collect();
    let text = format!(
        "15 05 d400 0000 1000 00000000 000003c2 00000000 01000000 00030000 0500 0c00 07000000 537175617265 00 00 \
         0700 1000 0a000000 536861706554797065 00 0000 7500 6400 {body} 1500 0400 02050000 1600 0400 01100000 \
         5a00 1000 {PREFIX} 00000202 0c80 0400 01000000 0100 0000"
    );
    with_data(&text, |data| {
        let list = ParameterList::from_payload(data.payload.bytes().unwrap()).unwrap();
        assert_eq!(list.read(pid::TOPIC_NAME).unwrap().string(), Ok("Square"));
        assert_eq!(list.read(pid::TYPE_NAME).unwrap().string(), Ok("ShapeType"));
        assert_eq!(list.find(pid::TYPE_INFORMATION), Some(information.as_slice()));
        assert_eq!(list.read(pid::ENDPOINT_GUID).unwrap().guid().unwrap().entity_id.0, [0, 0, 2, 2]);
        assert_eq!(list.find(pid::RELIABILITY), None);
        assert_eq!(list.not_understood(), None);
    });
}

#[test]
fn reader_policies() {
    let bytes = hex("1a00 0c00 02000000 00000000 9a999919 7300 0800 02000000 0000 0200 0100 0000");
    let (list, _) = ParameterList::parse(&bytes, Endianness::Little).unwrap();
    let mut reliability = list.read(pid::RELIABILITY).unwrap();
    assert_eq!((reliability.i32(), reliability.duration()), (Ok(2), Ok(Duration::from_millis(100))));
    let mut representation = list.read(pid::DATA_REPRESENTATION).unwrap();
    assert_eq!(representation.count(2), Ok(2));
    assert_eq!((representation.i16(), representation.i16()), (Ok(0), Ok(2)));
}

#[test]
fn endpoint_removed_by_fast_dds_has_no_payload() {
    let text = format!(
        "15 03 3400 0000 1000 000003c7 000003c2 00000000 02000000 7000 1000 {PEER} 00000102 7100 0400 00000003 \
         0100 0000"
    );
    with_data(&text, |data| {
        assert_eq!((data.payload, data.writer_sn), (Payload::None, SequenceNumber(2)));
        let list = data.inline_qos.unwrap();
        assert_eq!(status_info(&list), StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED));
        assert_eq!(key_hash(&list).unwrap().as_slice(), hex(&format!("{PEER} 00000102")));
    });
}

#[test]
fn liveliness() {
    let text = format!(
        "15 05 3000 0000 1000 000200c7 000200c2 00000000 01000000 00010000 {PREFIX} 00000001 01000000 00000000"
    );
    with_data(&text, |data| {
        assert_eq!(data.writer_id, EntityId::PARTICIPANT_MESSAGE_WRITER);
        assert_eq!(data.payload.bytes().map(<[u8]>::len), Some(28));
    });
}

#[test]
fn user_data() {
    let write = "15 05 3000 0000 1000 00000000 00000202 00000000 01000000 00010000 05000000 424c5545 00000000 \
                 01000000 02000000 1e000000";
    with_data(write, |data| {
        assert_eq!((data.writer_id, data.writer_sn), (EntityId::user_writer(2, true), SequenceNumber(1)));
        let octets = hex("00010000 05000000 424c5545 00000000 01000000 02000000 1e000000");
        assert_eq!((data.payload, data.inline_qos), (Payload::Data(&octets), None));
    });
    for (status, text) in [(1, "00000001"), (3, "00000003")] {
        let text = format!(
            "15 0b 3000 0000 1000 00000000 00000202 00000000 03000000 7100 0400 {text} 0100 0000 00010000 05000000 \
             424c5545 00000000"
        );
        with_data(&text, |data| {
            assert_eq!(status_info(&data.inline_qos.unwrap()), StatusInfo(status));
            assert_eq!(data.payload, Payload::Key(&hex("00010000 05000000 424c5545 00000000")));
        });
    }
    let fast_dds = "15 07 4800 0000 1000 00000107 00000102 00000000 05000000 7000 1000 \
                    cac217c318363f8ef1160eeedef9e886 0100 0000 00010000 05000000 424c5545 00000000 de000000 ba000000 \
                    14000000";
    with_data(fast_dds, |data| {
        let hash = key_hash(&data.inline_qos.unwrap()).unwrap();
        assert_eq!(hash.as_slice(), hex("cac217c318363f8ef1160eeedef9e886"));
        assert_eq!(data.payload.bytes().map(<[u8]>::len), Some(28));
    });
}

#[test]
fn pre_emptive_acknack_with_base_zero_asks_for_an_answer() {
    let read = acknack("06 03 1800 000003c7 000003c2 00000000 00000000 00000000 01000000");
    assert_eq!((read.reader_sn_state.base(), read.reader_sn_state.num_bits()), (SequenceNumber(1), 0));
    assert!(!read.final_flag);
}

#[test]
fn statistics_of_fast_dds_are_skipped() {
    let statistics = "00".repeat(56);
    let bytes = message(&format!("09 03 0000 80 01 3800 {statistics}"));
    let bodies: Vec<_> = walk(&bytes).into_iter().map(|parsed| parsed.unwrap().body).collect();
    assert_eq!(bodies, [Submessage::InfoTs(None), Submessage::Unknown]);
    visit(&bytes);
}
