use alloc::{format, string::ToString, vec, vec::Vec};
use core::{cell::Cell, net::Ipv4Addr};

use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Locator, LocatorKind, ProtocolVersion, VendorId};
use dunlin_qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, DestinationOrderKind, DurabilityKind,
    DurabilityService, HistoryKind, LivelinessKind, Presentation, PresentationAccessScope, PublisherQos,
    Reliability, SubscriberQos, TopicData, TypeConsistencyEnforcement,
};
use dunlin_wire::{Endianness, ParameterListBuilder, pid};
use proptest::prelude::*;

use super::*;
use crate::{
    config::{DiscoveryConfig, Locators, Quotas},
    data::{EndpointLocators, LocalReader, LocalWriter},
};

/// The sender of the captured messages.
const PREFIX: &str = "0110d10871d3c3a80d2d7836";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.replace("PPPP", PREFIX).bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

fn captured_prefix() -> GuidPrefix {
    GuidPrefix(hex(PREFIX).try_into().unwrap())
}

const QUOTAS: Quotas = Quotas {
    verify_places: true,
    max_unverified: 1,
    max_unverified_per_source: 1,
    max_endpoints: 1,
    max_octets: 1,
    max_type_octets: 256,
    max_told_type_octets: 0,
    max_type_object_octets_per_participant: 1,
    max_type_object_octets: 1,
    max_participants: 10,
    max_endpoints_per_participant: 10,
    max_octets_per_participant: 10_000,
    max_opaque_octets: 64,
    max_string_octets: 256,
    max_partitions: 3,
    max_reassembly_octets_per_participant: 1,
    max_reassembly_octets: 1,
    max_out_of_order_octets_per_participant: 1,
    max_out_of_order_octets: 1,
    max_locators: 4,
    max_properties: 3,
    foreign_locators: false,
};

fn rules(left_out: &Cell<u64>) -> Rules<'_> {
    Rules { quotas: &QUOTAS, durations_in_nanoseconds: false, vendor: VendorId::DUNLIN, left_out }
}

fn udp(a: u8, b: u8, c: u8, d: u8, port: u16) -> Locator {
    Locator::udp_v4(Ipv4Addr::new(a, b, c, d), port)
}

#[test]
fn example_of_the_standard() {
    let payload =
        hex("00030000 5a001000 c0a80205 00003a20 00000002 80000007 05000c00 07000000 53717561 72650000 \
         07001000 0a000000 53686170 65547970 65000000 25000400 01000000 23000800 03000000 00000000 01000000");
    let reader = decode_reader(&payload, None, VendorId::UNKNOWN, rules(&Cell::new(0))).unwrap();
    assert_eq!(reader.guid.to_bytes().to_vec(), hex("c0a8020500003a200000000280000007"));
    assert_eq!((&*reader.topic_name, &*reader.type_name), ("Square", "ShapeType"));
    assert_eq!(reader.qos.destination_order.kind, DestinationOrderKind::BySourceTimestamp);
    assert_eq!(reader.qos.deadline.period, Duration::from_secs(3));
    assert_eq!(reader.qos.reliability, Reliability::BEST_EFFORT);
    assert_eq!(reader.qos.representation.ids, []);
    assert_eq!(reader.qos.type_consistency, TypeConsistencyEnforcement::DISALLOW);
}

#[test]
fn captured_participant_of_cyclone() {
    let payload = hex("00030000 0200 0800 0a000000 00000000 1500 0400 02050000 1600 0400 01100000 \
         5000 1000 PPPP 000001c1 5800 0400 3ffc0000 0f00 0400 00000000 \
         3100 1800 01000000 f31c0000 000000000000000000000000 7f000001 \
         4800 1800 01000000 e91c0000 000000000000000000000000 efff0001 \
         3200 1800 01000000 f21c0000 000000000000000000000000 7f000001 \
         3300 1800 01000000 e81c0000 000000000000000000000000 efff0001 0100 0000");
    let data = decode_participant(&payload, VendorId::UNKNOWN, &QUOTAS, &Cell::new(0)).unwrap();
    assert_eq!(data.guid_prefix, captured_prefix());
    assert_eq!(data.vendor, VendorId::CYCLONE_DDS);
    assert_eq!(data.protocol_version, ProtocolVersion { major: 2, minor: 5 });
    assert_eq!((data.lease_duration, data.domain_id), (Duration::from_secs(10), Some(0)));
    assert_eq!(data.builtin_endpoints, 0xfc3f);
    let expected = Locators {
        metatraffic_unicast: vec![udp(127, 0, 0, 1, 7410)],
        metatraffic_multicast: vec![udp(239, 255, 0, 1, 7400)],
        default_unicast: vec![udp(127, 0, 0, 1, 7411)],
        default_multicast: vec![udp(239, 255, 0, 1, 7401)],
    };
    assert_eq!(data.locators, expected);
}

#[test]
fn captured_writer_of_cyclone() {
    let payload =
        hex("00030000 0500 0c00 07000000 537175617265 00 00 0700 1000 0a000000 53686170655479706500 0000 \
         7500 6400 60000000 01100040 28000000 24000000 14000000 f1 bfe2a62ed811ac463c40c97d30ee 00 \
         00000000 00000000 04000000 00000000 \
         02100040 28000000 24000000 14000000 f2 4945808c7622315d6220054f6aad 00 \
         00000000 00000000 04000000 00000000 \
         1500 0400 02050000 1600 0400 01100000 5a00 1000 PPPP 00000202 0c80 0400 01000000 0100 0000");
    let writer = decode_writer(&payload, None, VendorId::CYCLONE_DDS, rules(&Cell::new(0))).unwrap();
    assert_eq!(writer.guid, Guid::new(captured_prefix(), EntityId([0, 0, 2, 2])));
    assert_eq!((&*writer.topic_name, &*writer.type_name), ("Square", "ShapeType"));
    // Absent policies have the defaults of a writer.
    assert_eq!(*writer.qos, DataWriterQos::default());
    assert_eq!(writer.qos.reliability, Reliability::RELIABLE);
    assert_eq!(writer.type_information.map(|octets| octets.len()), Some(100));
}

#[test]
fn captured_policies_of_peers() {
    let names = "0500 0c00 07000000 53717561726500 00 0700 1000 0a000000 53686170655479706500 0000";
    let cyclone = format!(
        "00030000 {names} 5a00 1000 PPPP 00000107 \
         1a00 0c00 02000000 00000000 9a999919 7300 0800 02000000 0000 0200 0100 0000"
    );
    let reader = decode_reader(&hex(&cyclone), None, VendorId::CYCLONE_DDS, rules(&Cell::new(0))).unwrap();
    assert_eq!(reader.qos.reliability, Reliability::RELIABLE);
    assert_eq!(reader.qos.representation.ids, [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2]);
    let fast = format!(
        "00030000 {names} 5a00 1000 PPPP 00000107 4300 0400 00000000 1d00 0400 00000000 \
         7300 0800 01000000 0000 0000 1a00 0c00 02000000 00000000 9a999919 0100 0000"
    );
    let reader = decode_reader(&hex(&fast), None, VendorId::FAST_DDS, rules(&Cell::new(0))).unwrap();
    assert_eq!((reader.qos.durability.kind, reader.expects_inline_qos), (DurabilityKind::Volatile, false));
    assert_eq!(reader.qos.representation.ids, [DataRepresentationId::Xcdr1]);
}

#[test]
fn captured_liveliness_message() {
    let message = LivelinessMessage::decode(&hex("00010000 PPPP 00000001 01000000 00000000")).unwrap();
    assert_eq!(message.prefix, captured_prefix());
    assert_eq!(message.kind, AssertedKind::Standard(LivelinessKind::Automatic));
    let big = LivelinessMessage::decode(&hex("00000000 PPPP 00000002 00000000")).unwrap();
    assert_eq!(big.kind, AssertedKind::Standard(LivelinessKind::ManualByParticipant));
    let vendor = LivelinessMessage::decode(&hex("00010000 PPPP 80000001 00000000")).unwrap();
    assert_eq!(vendor.kind, AssertedKind::Other);
    assert!(LivelinessMessage::decode(&hex("00010000 PPPP 00000001 02000000 00")).is_err());
    for kind in [LivelinessKind::Automatic, LivelinessKind::ManualByParticipant] {
        let own = LivelinessMessage::encode(captured_prefix(), kind);
        assert_eq!(own.len(), 24);
        assert_eq!(LivelinessMessage::decode(&own).unwrap().kind, AssertedKind::Standard(kind));
    }
}

fn full_writer() -> LocalWriter {
    let qos = DataWriterQos::default()
        .transient_local()
        .keep_last(7)
        .resource_limits(100, 10, 50)
        .deadline(Duration::from_millis(1500))
        .latency_budget(Duration::from_nanos(17))
        .liveliness(LivelinessKind::ManualByTopic, Duration::from_secs(2))
        .max_blocking_time(Duration::INFINITE)
        .by_source_timestamp()
        .exclusive()
        .ownership_strength(-3)
        .transport_priority(4)
        .lifespan(Duration::from_secs(60))
        .user_data([1, 2, 3])
        .property("name", "value")
        .representation(&[DataRepresentationId::Xcdr2])
        .durability_service(DurabilityService {
            service_cleanup_delay: Duration::from_secs(9),
            history_kind: HistoryKind::KeepAll,
            history_depth: 2,
            max_samples: 3,
            max_instances: 4,
            max_samples_per_instance: 1,
        });
    LocalWriter {
        entity_id: EntityId([0, 0, 1, 2]),
        topic_name: "Square".to_string(),
        type_name: "ShapeType".to_string(),
        qos,
        publisher_qos: PublisherQos::default().partition(["a", ""]).group_data([9]).presentation(
            PresentationAccessScope::Group,
            true,
            true,
        ),
        group: EntityId([0, 0, 9, 8]),
        topic_data: TopicData(vec![5, 6]),
        type_information: Some(some_type()),
        locators: EndpointLocators {
            unicast: vec![udp(10, 0, 0, 1, 7500)],
            multicast: vec![udp(239, 1, 2, 3, 7501)],
        },
        related: Some(Guid::from_bytes([3; 16])),
    }
}

fn some_type() -> alloc::sync::Arc<crate::LocalType> {
    let mut graph = dunlin_xtypes::TypeGraph::default();
    let root = graph.reserve();
    crate::LocalType::new(graph, root).unwrap()
}

#[test]
fn writers_round_trip() {
    let own = full_writer().describe(captured_prefix(), VendorId::DUNLIN);
    let read = decode_writer(&encode_writer(&own), None, VendorId::DUNLIN, rules(&Cell::new(0))).unwrap();
    let expected = crate::data::DiscoveredWriter { unicast: [].into(), ..own };
    assert_eq!(read, expected);
    let default = LocalWriter {
        qos: DataWriterQos::default(),
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        related: None,
        ..full_writer()
    };
    let own = default.describe(captured_prefix(), VendorId::DUNLIN);
    let read = decode_writer(&encode_writer(&own), None, VendorId::DUNLIN, rules(&Cell::new(0))).unwrap();
    assert_eq!((read.qos, read.publisher_qos), (own.qos, own.publisher_qos));
}

#[test]
fn readers_round_trip() {
    for qos in [
        DataReaderQos::default(),
        DataReaderQos::default()
            .reliable()
            .keep_all()
            .time_based_filter(Duration::from_millis(20))
            .type_consistency(TypeConsistencyEnforcement::DISALLOW)
            .user_data([7]),
    ] {
        let local = LocalReader {
            entity_id: EntityId([0, 0, 1, 4]),
            topic_name: "t".to_string(),
            type_name: "T".to_string(),
            qos: qos.clone(),
            subscriber_qos: SubscriberQos::default().partition(["x*"]),
            topic_data: TopicData::default(),
            type_information: None,
            locators: EndpointLocators::default(),
            related: None,
            content_filter: None,
        };
        let own = local.describe(captured_prefix(), VendorId::DUNLIN);
        let read = decode_reader(&encode_reader(&own), None, VendorId::DUNLIN, rules(&Cell::new(0))).unwrap();
        assert_eq!(read, crate::data::DiscoveredReader { unicast: [].into(), ..own });
        assert_eq!(*read.qos, qos);
    }
}

#[test]
fn participants_round_trip() {
    let mut config = DiscoveryConfig::new(captured_prefix(), 7);
    config.domain_tag = "tag".to_string();
    config.entity_name = "name".to_string();
    config.source_ports = [40_000, 40_001, 7, 0];
    let without = encode_participant(&config).len();
    config.goodbye_secret = Some([5; 16]);
    assert_eq!(encode_participant(&config).len(), without + 20);
    config.user_data.0 = vec![1, 2, 3, 4, 5];
    config.property.values = vec![("a".to_string(), "b".to_string())];
    config.locators.metatraffic_unicast = vec![udp(10, 0, 0, 1, 7410), udp(10, 0, 1, 1, 7410)];
    config.locators.default_multicast = vec![udp(239, 255, 0, 1, 7401)];
    let data =
        decode_participant(&encode_participant(&config), VendorId::UNKNOWN, &QUOTAS, &Cell::new(0)).unwrap();
    assert_eq!((data.guid_prefix, data.vendor), (config.guid_prefix, VendorId::DUNLIN));
    assert_eq!(
        (data.domain_id, data.domain_tag.as_str(), data.entity_name.as_str()),
        (Some(7), "tag", "name")
    );
    assert_eq!(
        (data.user_data, data.property, data.locators),
        (config.user_data, config.property, config.locators)
    );
    assert_eq!((data.lease_duration, data.builtin_endpoints), (Duration::from_secs(10), 0xfc3f));
    assert_eq!(data.source_ports, config.source_ports);
    assert_eq!(data.goodbye_hash, Some(goodbye_hash(config.guid_prefix, &[5; 16])));
    let key = encode_participant_key(config.guid_prefix);
    assert_eq!(decode_participant_key(&key), Ok(config.guid_prefix));
}

#[test]
fn big_endian_is_understood() {
    let guid = Guid::new(captured_prefix(), EntityId([0, 0, 2, 3]));
    let mut list = ParameterListBuilder::payload(Endianness::Big);
    list.put_guid(pid::ENDPOINT_GUID, guid);
    list.put_string(pid::TOPIC_NAME, "Square");
    list.put_string(pid::TYPE_NAME, "ShapeType");
    list.put_duration(pid::DEADLINE, Duration::from_millis(100));
    list.put_strings(pid::PARTITION, ["a", "bc"].into_iter());
    list.put_with(pid::PRESENTATION, |out| {
        out.u32(1);
        out.bool(false);
        out.bool(true);
    });
    let payload = list.finish();
    assert_eq!(payload[..2], [0, 2]);
    let writer = decode_writer(&payload, None, VendorId::UNKNOWN, rules(&Cell::new(0))).unwrap();
    assert_eq!((writer.guid, &*writer.topic_name), (guid, "Square"));
    assert_eq!(writer.qos.deadline.period, Duration::from_millis(100));
    assert_eq!(writer.publisher_qos.partition.names, ["a", "bc"]);
    let expected = Presentation {
        access_scope: PresentationAccessScope::Topic,
        coherent_access: false,
        ordered_access: true,
    };
    assert_eq!(writer.publisher_qos.presentation, expected);
}

fn writer_list() -> ParameterListBuilder {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_guid(pid::ENDPOINT_GUID, Guid::new(captured_prefix(), EntityId([0, 0, 2, 3])));
    list.put_string(pid::TOPIC_NAME, "Square");
    list.put_string(pid::TYPE_NAME, "ShapeType");
    list
}

fn decode_with(
    edit: impl FnOnce(&mut ParameterListBuilder),
) -> Result<crate::data::DiscoveredWriter, DecodeError> {
    decode_counting(&Cell::new(0), edit)
}

fn decode_counting(
    left_out: &Cell<u64>,
    edit: impl FnOnce(&mut ParameterListBuilder),
) -> Result<crate::data::DiscoveredWriter, DecodeError> {
    let mut list = writer_list();
    edit(&mut list);
    decode_writer(&list.finish(), None, VendorId::UNKNOWN, rules(left_out))
}

#[test]
fn opendds_durations() {
    let mut list = writer_list();
    list.put_with(pid::DEADLINE, |out| {
        out.u32(1);
        out.u32(500_000_000);
    });
    list.put_with(pid::LIFESPAN, |out| {
        out.u32(0x7fff_ffff);
        out.u32(0x7fff_ffff);
    });
    let payload = list.finish();
    let left_out = Cell::new(0);
    let in_nanoseconds = Rules { durations_in_nanoseconds: true, ..rules(&left_out) };
    let writer = decode_writer(&payload, None, VendorId::OPENDDS, in_nanoseconds).unwrap();
    assert_eq!(writer.qos.deadline.period, Duration::from_millis(1500));
    assert_eq!(writer.qos.lifespan.duration, Duration::INFINITE);

    let participant = |vendor: VendorId, flags: Option<u32>, minor: u8| {
        let mut list = ParameterListBuilder::payload(Endianness::Little);
        list.put_protocol_version(ProtocolVersion { major: 2, minor });
        list.put_vendor_id(vendor);
        list.put_guid(pid::PARTICIPANT_GUID, Guid::new(captured_prefix(), EntityId::PARTICIPANT));
        list.put_u32(pid::BUILTIN_ENDPOINT_SET, 0x3f);
        list.put_with(pid::PARTICIPANT_LEASE_DURATION, |out| {
            out.u32(1);
            out.u32(0x8000_0000);
        });
        if let Some(flags) = flags {
            list.put_u32(pid::vendor::OPENDDS_PARTICIPANT_FLAGS, flags);
        }
        let data = decode_participant(&list.finish(), vendor, &QUOTAS, &Cell::new(0)).unwrap();
        (data.durations_in_nanoseconds, data.lease_duration)
    };
    let half = Duration::from_millis(1500);
    assert_eq!(participant(VendorId::OPENDDS, Some(3), 4), (true, half));
    assert_eq!(participant(VendorId::OPENDDS, None, 4), (true, half));
    assert_eq!(participant(VendorId::OPENDDS, Some(11), 4), (false, half));
    assert_eq!(participant(VendorId::FAST_DDS, Some(3), 3), (false, half));
    assert_eq!(participant(VendorId::OPENDDS, None, 3).1, Duration::from_nanos(1_000_000_000 + 0x8000_0000));
}

#[test]
fn announcements_with_missing_or_wrong_parameters_are_refused() {
    assert!(decode_with(|_| ()).is_ok());
    let mut nameless = ParameterListBuilder::payload(Endianness::Little);
    nameless.put_guid(pid::ENDPOINT_GUID, Guid::new(captured_prefix(), EntityId([0, 0, 2, 3])));
    assert_eq!(
        decode_writer(&nameless.finish(), None, VendorId::UNKNOWN, rules(&Cell::new(0))),
        Err(DecodeError::Malformed)
    );
    let malformed: [fn(&mut ParameterListBuilder); 5] = [
        |list| _ = list.put_u32(pid::RELIABILITY, 2),
        |list| _ = list.put_u32(pid::DURABILITY, 4),
        |list| _ = list.put_u32(pid::OWNERSHIP, 2),
        |list| _ = list.put_bytes(pid::PARTITION, &[255; 8]),
        |list| _ = list.put_bytes(pid::TOPIC_DATA, &[9, 0, 0, 0, 1, 1, 1, 1]),
    ];
    for edit in malformed {
        assert_eq!(decode_with(edit), Err(DecodeError::Malformed));
    }
    let unknown = |pid: u16| decode_with(move |list| _ = list.put_u32(pid, 1));
    assert_eq!(unknown(0x4abc), Err(DecodeError::NotUnderstood));
    assert!(unknown(0x0abc).is_ok() && unknown(0x8abc).is_ok());
    // All zeros are what some peers send for a policy that does not concern them.
    assert!(decode_with(|list| _ = list.put_bytes(pid::DURABILITY_SERVICE, &[0; 28])).is_ok());
    let with_lease = |lease: Duration| {
        let mut list = ParameterListBuilder::payload(Endianness::Little);
        list.put_guid(pid::PARTICIPANT_GUID, Guid::new(captured_prefix(), EntityId::PARTICIPANT));
        list.put_u32(pid::BUILTIN_ENDPOINT_SET, 0x3f);
        list.put_duration(pid::PARTICIPANT_LEASE_DURATION, lease);
        decode_participant(&list.finish(), VendorId::UNKNOWN, &QUOTAS, &Cell::new(0))
    };
    for short in [Duration::ZERO, Duration::from_micros(1), Duration::from_millis(99)] {
        assert_eq!(with_lease(short), Err(DecodeError::Malformed));
    }
    assert!(with_lease(Duration::from_millis(100)).is_ok());
}

#[test]
fn quotas_refuse_or_cut() {
    let refused: [fn(&mut ParameterListBuilder); 4] = [
        |list| _ = list.put_octets(pid::USER_DATA, &[0; 65]),
        |list| _ = list.put_string(pid::TOPIC_NAME, &"x".repeat(257)),
        |list| _ = list.put_strings(pid::PARTITION, ["a"; 4].into_iter()),
        |list| {
            list.put_with(pid::DATA_REPRESENTATION, |out| {
                out.length(33);
                (0..33).for_each(|_| out.i16(0));
            });
        },
    ];
    for edit in refused {
        assert_eq!(decode_with(edit), Err(DecodeError::OverQuota));
    }
    let left_out = Cell::new(0);
    let cut = decode_counting(&left_out, |list| {
        for port in 1..10 {
            list.put_locator(pid::UNICAST_LOCATOR, &udp(10, 0, 0, 1, port));
        }
        list.put_with(pid::PROPERTY_LIST, |out| {
            out.length(5);
            (0..5).for_each(|_| {
                out.string("n");
                out.string("v");
            });
        });
    });
    let cut = cut.unwrap();
    assert_eq!((cut.own_locators.unwrap().unicast.len(), cut.qos.property.values.len()), (4, 3));
    assert_eq!(left_out.get(), 5 + 2, "locators and properties");
}

#[test]
fn strange_locators_are_skipped() {
    let writer = decode_with(|list| {
        let good = udp(10, 0, 0, 1, 7411);
        for strange in [
            Locator { kind: dunlin_core::LocatorKind(16), ..good },
            Locator { kind: dunlin_core::LocatorKind::LOCAL, ..good },
            Locator { port: 0, ..good },
            Locator { port: 70_000, ..good },
            Locator::INVALID,
            udp(0, 0, 0, 0, 7411),
            udp(239, 255, 0, 1, 7411),
            good,
            good,
        ] {
            list.put_locator(pid::UNICAST_LOCATOR, &strange);
        }
        list.put_locator(pid::MULTICAST_LOCATOR, &udp(10, 0, 0, 2, 7401));
    });
    let writer = writer.unwrap();
    let own = writer.own_locators.unwrap();
    assert_eq!((own.unicast, own.multicast), (vec![udp(10, 0, 0, 1, 7411)], vec![]));
}

#[test]
fn tcp_of_rti_is_another_protocol() {
    let guid = Guid::new(captured_prefix(), EntityId([0, 0, 2, 3]));
    for (vendor, taken) in [(VendorId::FAST_DDS, 1), (VendorId::RTI, 0)] {
        let mut list = ParameterListBuilder::payload(Endianness::Little);
        list.put_string(pid::TOPIC_NAME, "Square");
        list.put_string(pid::TYPE_NAME, "ShapeType");
        list.put_locator(
            pid::UNICAST_LOCATOR,
            &Locator { kind: LocatorKind::TCP_V4, ..udp(10, 0, 0, 1, 7411) },
        );
        let left_out = Cell::new(0);
        let rules = Rules { vendor, ..rules(&left_out) };
        let writer = decode_writer(&list.finish(), Some(guid.to_bytes()), vendor, rules).unwrap();
        assert_eq!(writer.own_locators.map_or(0, |own| own.unicast.len()), taken, "{vendor:?}");
    }
}

#[test]
fn guid_may_come_from_the_key_hash() {
    let guid = Guid::new(captured_prefix(), EntityId([0, 0, 2, 3]));
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_string(pid::TOPIC_NAME, "Square");
    list.put_string(pid::TYPE_NAME, "ShapeType");
    let payload = list.finish();
    let writer = decode_writer(&payload, Some(guid.to_bytes()), VendorId::UNKNOWN, rules(&Cell::new(0)));
    assert_eq!(writer.unwrap().guid, guid);
    assert_eq!(
        decode_writer(&payload, None, VendorId::UNKNOWN, rules(&Cell::new(0))),
        Err(DecodeError::Malformed)
    );
    assert_eq!(decode_endpoint_key(None, Some(guid.to_bytes())), Ok(guid));
    assert_eq!(decode_endpoint_key(Some(&encode_endpoint_key(guid)), None), Ok(guid));
    assert_eq!(decode_endpoint_key(None, None), Err(DecodeError::Malformed));
    // A reader's announcement that names a writer is nonsense.
    assert_eq!(
        decode_reader(&payload, Some(guid.to_bytes()), VendorId::UNKNOWN, rules(&Cell::new(0))),
        Err(DecodeError::Malformed)
    );
}

fn decode_all(payload: &[u8]) {
    let left_out = Cell::new(0);
    for durations_in_nanoseconds in [false, true] {
        let rules = Rules { durations_in_nanoseconds, ..rules(&left_out) };
        let _ = decode_writer(payload, Some([2; 16]), VendorId::UNKNOWN, rules);
        let _ = decode_reader(payload, Some([7; 16]), VendorId::UNKNOWN, rules);
    }
    let _ = decode_participant(payload, VendorId::OPENDDS, &QUOTAS, &Cell::new(0));
    let _ = decode_participant_key(payload);
    let _ = decode_endpoint_key(Some(payload), None);
    let _ = LivelinessMessage::decode(payload);
}

/// Parameters with real identifiers and arbitrary values, in either byte order.
fn hostile_list() -> impl Strategy<Value = Vec<u8>> {
    let parameter = (0u16..0x80, prop::collection::vec(any::<u8>(), 0..40));
    (any::<bool>(), prop::collection::vec(parameter, 0..20)).prop_map(|(big, parameters)| {
        let mut list = ParameterListBuilder::payload(if big { Endianness::Big } else { Endianness::Little });
        list.put_guid(pid::ENDPOINT_GUID, Guid::new(GuidPrefix([1; 12]), EntityId([0, 0, 2, 3])));
        list.put_guid(pid::PARTICIPANT_GUID, Guid::new(GuidPrefix([1; 12]), EntityId::PARTICIPANT));
        for (pid, value) in parameters {
            list.put_bytes(pid, &value);
        }
        list.finish()
    })
}

proptest! {
    #[test]
    fn random_octets_never_panic(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        decode_all(&payload);
    }

    #[test]
    fn random_parameters_never_panic(payload in hostile_list()) {
        decode_all(&payload);
    }

    #[test]
    fn damaged_announcements_never_panic(at in 0usize..1000, octet in any::<u8>(), cut in 0usize..1000) {
        let mut payload = encode_writer(&full_writer().describe(GuidPrefix([1; 12]), VendorId::DUNLIN));
        let at = at % payload.len();
        payload[at] = octet;
        decode_all(&payload);
        payload.truncate(cut);
        decode_all(&payload);
    }
}
