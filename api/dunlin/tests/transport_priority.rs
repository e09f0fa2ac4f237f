//! TRANSPORT_PRIORITY (DDS 1.4 §2.2.3.15) as the network sees it: the DSCP of the datagrams that a real socket receives.

mod common;
#[path = "common/elsewhere.rs"]
mod elsewhere;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use common::Reading;
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, TopicQos};
use dunlin::{Config, DataWriter, DomainParticipant};
use elsewhere::Elsewhere;

/// The codepoint of the datagram with the sample that is written here. Nothing else has this number in it.
fn codepoint(other: &mut Elsewhere, writer: &DataWriter<Reading>, n: u32) -> u8 {
    other.received.clear();
    writer.write(&Reading { n }).unwrap();
    let has = |octets: &[u8]| octets.windows(4).any(|four| four == n.to_le_bytes());
    other.until("the sample", |other| other.received.iter().any(|(_, octets)| has(octets)));
    let mut classes = other.received.iter().filter(|(_, octets)| has(octets)).map(|(class, _)| *class);
    let class = classes.next().unwrap();
    assert!(classes.all(|other| other == class), "one sample, one class");
    assert_eq!(class & 0b11, 0, "congestion notification is not ours");
    class >> 2
}

fn datagrams_have_the_priority_of_their_writers(ip: IpAddr) {
    let domain = common::domain();
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    if ip.is_ipv6() {
        config.set("network.ipv6", "true").unwrap();
        config.set("network.ipv4", "false").unwrap();
    }
    let participant = DomainParticipant::builder(domain).config(config).build().unwrap();
    let topic = participant.create_topic::<Reading>("Priorities", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer = |qos: &DataWriterQos| publisher.create_datawriter(&topic, qos).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all();
    let urgent = writer(&qos.clone().transport_priority(46));
    let (bulk, usual) = (writer(&qos.clone().transport_priority(8)), writer(&qos));
    let mut other = Elsewhere::new(domain, ip);
    other.read("Priorities", DataReaderQos::default().reliable());
    other.start();
    let known = |writer: &DataWriter<Reading>| writer.matched_subscriptions().len() == 1;
    other.until("the matches", |_| [&urgent, &bulk, &usual].into_iter().all(known));
    let mut number = 0x5eed_0000_u32;
    let mut of = |other: &mut Elsewhere, writer: &DataWriter<Reading>| {
        number += 1;
        codepoint(other, writer, number)
    };
    for _ in 0..2 {
        assert_eq!([&urgent, &bulk, &usual].map(|writer| of(&mut other, writer)), [46, 8, 0]);
    }
    // It may be changed at run time: later datagrams have the new one, those of other writers keep theirs.
    for priority in [10, 0, 63] {
        urgent.set_qos(&urgent.qos().transport_priority(priority)).unwrap();
        let expected = [u8::try_from(priority).unwrap(), 8, 0];
        assert_eq!([&urgent, &bulk, &usual].map(|writer| of(&mut other, writer)), expected);
    }
    assert!(urgent.set_qos(&urgent.qos().transport_priority(64)).is_err(), "there is no such codepoint");
    assert_eq!(of(&mut other, &urgent), 63);
}

#[test]
fn datagrams_have_the_priority_of_their_writers_over_ipv4() {
    datagrams_have_the_priority_of_their_writers(Ipv4Addr::LOCALHOST.into());
}

#[test]
fn datagrams_have_the_priority_of_their_writers_over_ipv6() {
    datagrams_have_the_priority_of_their_writers(Ipv6Addr::LOCALHOST.into());
}
