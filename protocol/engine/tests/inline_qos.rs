//! Readers that ask for QoS with every change (RTPS 2.5 §8.7.2.2.5, §9.6.4.1). Dunlin's do not: one is made to on the wire.

mod common;

use std::collections::BTreeMap;

use common::*;
use dunlin_core::Duration;
use dunlin_qos::{
    DataReaderQos, DataWriterQos, OwnershipKind, PresentationAccessScope, PublisherQos, UserData,
};
use dunlin_wire::{Message, Submessage, pid};

/// USER_DATA of one octet becomes EXPECTS_INLINE_QOS: the low octet of its length is the boolean.
fn ask(datagram: &mut [u8]) {
    let (user_data, asks) = ([0x2c, 0, 8, 0, 1, 0, 0, 0], [0x43, 0, 8, 0, 1, 0, 0, 0]);
    let found = datagram.windows(8).position(|octets| octets == user_data);
    if let Some(at) = found {
        datagram[at..at + 8].copy_from_slice(&asks);
    }
}

/// The parameters that go inline with the last DATA of user data in what was sent.
fn inline(net: &mut Net) -> BTreeMap<u16, Vec<u8>> {
    let mut found = BTreeMap::new();
    for datagram in net.record.replace(vec![]).expect("it is recorded") {
        let message = Message::parse(&datagram).expect("a message");
        for parsed in message.submessages() {
            let Ok(Submessage::Data(data)) = parsed.map(|parsed| parsed.body) else { continue };
            if !data.writer_id.is_builtin() {
                let list = data.inline_qos.iter().flat_map(|list| list.iter());
                found = list.map(|parameter| (parameter.pid, parameter.value.to_vec())).collect();
            }
        }
    }
    found
}

fn writer_qos() -> DataWriterQos {
    DataWriterQos::default()
        .reliable()
        .transient_local()
        .ownership_strength(7)
        .lifespan(Duration::from_secs(9))
}

#[test]
fn expects_inline_qos_gets_current_policies_with_every_change() {
    let mut net = Net::started(2);
    net.record = Some(vec![]);
    let mut spec = writer_spec("Topic", &DataWriterQos { ..writer_qos().exclusive() });
    spec.publisher_qos =
        PublisherQos::default().partition(["here"]).presentation(PresentationAccessScope::Topic, false, true);
    let publisher_qos = spec.publisher_qos.clone();
    let writer = net
        .with(0, |participant, now, out| participant.create_writer(now, spec, out))
        .expect("a good writer");
    let add_reader = |net: &mut Net, qos: DataReaderQos| {
        let mut spec = reader_spec("Topic", &qos.exclusive().reliable());
        spec.subscriber_qos = dunlin_qos::SubscriberQos::default().partition(["here"]);
        net.with(1, |participant, now, out| participant.create_reader(now, spec, out))
            .expect("a good reader");
        net.settle();
    };
    add_reader(&mut net, DataReaderQos::default());
    assert_eq!(writer.matched_readers().len(), 1);
    net.write(0, &writer, 1, b"one").expect("there is room");
    assert!(inline(&mut net).is_empty(), "nobody asks");

    net.rewrite = Some(ask);
    add_reader(&mut net, DataReaderQos { user_data: UserData(vec![5]), ..DataReaderQos::default() });
    assert_eq!(writer.matched_readers().len(), 2);
    assert!(writer.matched_readers().iter().any(|reader| reader.expects_inline_qos));
    inline(&mut net);
    net.write(0, &writer, 1, b"two").expect("there is room");
    let list = inline(&mut net);
    let keys: Vec<u16> = list.keys().copied().collect();
    let mut expected = vec![
        pid::TOPIC_NAME,
        pid::OWNERSHIP_STRENGTH,
        pid::RELIABILITY,
        pid::DURABILITY,
        pid::OWNERSHIP,
        pid::PRESENTATION,
        pid::PARTITION,
        pid::LIFESPAN,
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(list[&pid::TOPIC_NAME], b"\x06\0\0\0Topic\0\0\0");
    assert_eq!(list[&pid::OWNERSHIP_STRENGTH], 7i32.to_le_bytes());
    assert_eq!(list[&pid::OWNERSHIP], OwnershipKind::Exclusive.value().to_le_bytes());
    assert_eq!(list[&pid::LIFESPAN][..4], 9i32.to_le_bytes());

    let changed = writer_qos().exclusive().ownership_strength(8).transport_priority(3);
    let elsewhere = publisher_qos.partition(["here", "there"]);
    net.set_writer_qos(0, &writer, changed, elsewhere).expect("changeable");
    net.settle();
    inline(&mut net);
    net.write(0, &writer, 1, b"three").expect("there is room");
    let list = inline(&mut net);
    assert_eq!(list[&pid::OWNERSHIP_STRENGTH], 8i32.to_le_bytes());
    assert_eq!(list[&pid::TRANSPORT_PRIORITY], 3i32.to_le_bytes());
    assert_eq!(list[&pid::PARTITION][..4], 2u32.to_le_bytes());
}

/// The network here takes no datagram of more than 1472 octets.
#[test]
fn large_samples_have_room_for_it() {
    let mut net = Net::started(2);
    net.rewrite = Some(ask);
    let spec = writer_spec(&"T".repeat(250), &writer_qos());
    let name = spec.topic_name.clone();
    let writer = net
        .with(0, |participant, now, out| participant.create_writer(now, spec, out))
        .expect("a good writer");
    let qos = DataReaderQos { user_data: UserData(vec![5]), ..DataReaderQos::default() };
    let spec = reader_spec(&name, &qos.reliable().keep_all());
    let reader = net
        .with(1, |participant, now, out| participant.create_reader(now, spec, out))
        .expect("a good reader");
    net.settle();
    assert!(writer.matched_readers().iter().any(|reader| reader.expects_inline_qos));
    net.record = Some(vec![]);
    net.write(0, &writer, 1, &[7; 10_000]).expect("there is room");
    net.settle();
    assert_eq!(net.take(1, &reader).len(), 1);
    let mut names = 0;
    for datagram in net.record.take().expect("it is recorded") {
        for parsed in Message::parse(&datagram).expect("a message").submessages() {
            if let Ok(Submessage::DataFrag(frag)) = parsed.map(|parsed| parsed.body) {
                let name = frag.inline_qos.and_then(|list| list.find(pid::TOPIC_NAME).map(<[u8]>::len));
                assert_eq!(name.is_some(), frag.fragment_starting_num == 1);
                names += name.unwrap_or(0);
            }
        }
    }
    assert_eq!(names, 4 + 252);
}

#[test]
fn names_that_fill_a_datagram_are_left_out() {
    let many: Vec<String> = (0..100).map(|n| format!("partition {n}")).collect();
    let publisher = PublisherQos::default().partition(many);
    let list = dunlin_discovery::inline_qos("T", &writer_qos(), &publisher);
    assert!(list.len() <= 512 && !list.windows(2).any(|pid| pid == [0x29, 0]), "{list:x?}");
    let list = dunlin_discovery::inline_qos(&"T".repeat(600), &writer_qos(), &PublisherQos::default());
    assert!(list.len() <= 512 && !list.is_empty());
}
