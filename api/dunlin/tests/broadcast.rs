//! Broadcast in the place of multicast, over the broadcast address of the loopback interface.

mod common;

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use common::{eventually, reader_in, track, writer_in};
use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::{Config, DomainParticipant};
use socket2::{Domain, Protocol, Socket, Type};

const PLACE: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 255);

fn config(set: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("shared_memory.enabled", "false").unwrap();
    config.set("shared_memory.in_process", "false").unwrap();
    config.set("network.multicast", "off").unwrap();
    for (key, value) in set {
        config.set(key, value).unwrap();
    }
    config
}

fn participant(domain: u32, set: &[(&str, &str)]) -> DomainParticipant {
    DomainParticipant::builder(domain).config(config(set)).build().unwrap()
}

/// Somebody else who listens to what is broadcast to a port.
fn listener(port: u16) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.bind(&SocketAddr::new(PLACE.into(), port).into()).unwrap();
    socket
}

fn hear(mut socket: &Socket) -> Vec<u8> {
    let mut octets = vec![0; 65_536];
    let length = socket.read(&mut octets).expect("something is broadcast");
    octets.truncate(length);
    octets
}

fn has(octets: &[u8], part: &[u8]) -> bool {
    octets.windows(part.len()).any(|window| window == part)
}

/// The ports of multicast of a domain.
fn ports(domain: u32) -> (u16, u16) {
    let meta = u16::try_from(7_400 + 250 * domain).unwrap();
    (meta, meta + 1)
}

#[test]
fn participants_find_each_other_by_broadcast_alone() {
    let domain = common::domain();
    let heard = listener(ports(domain).0);
    // With groups of their own they would never meet by multicast.
    let [one, other] = ["239.255.0.11", "239.255.0.12"].map(|group| {
        let place = PLACE.to_string();
        participant(domain, &[("network.multicast_group_v4", group), ("network.broadcast", &place)])
    });
    let writer = writer_in(&one, "Broadcast", &DataWriterQos::default().reliable().keep_all());
    let reader = reader_in(&other, "Broadcast", &DataReaderQos::default().reliable().keep_all());
    eventually("they find each other", || {
        !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty()
    });
    for id in 0..50 {
        writer.write(&track(id, 7)).unwrap();
    }
    let mut seen = Vec::new();
    eventually("all arrive", || {
        let samples = reader.take(usize::MAX).unwrap();
        seen.extend(samples.into_iter().filter_map(|sample| sample.data).map(|track| track.id));
        seen.len() == 50
    });
    assert_eq!(seen, (0..50).collect::<Vec<_>>());
    // Nobody is told of the address.
    let announcement = hear(&heard);
    assert!(has(&announcement, &[127, 0, 0, 1]) && !has(&announcement, &PLACE.octets()), "{announcement:?}");
}

#[test]
fn participants_without_a_broadcast_address_are_not_discovered() {
    let domain = common::domain();
    let place = PLACE.to_string();
    let heard = listener(ports(domain).0);
    let one =
        participant(domain, &[("network.multicast_group_v4", "239.255.0.11"), ("network.broadcast", &place)]);
    let other = participant(domain, &[("network.multicast_group_v4", "239.255.0.12")]);
    // More announcements than at the start.
    for _ in 0..5 {
        hear(&heard);
    }
    assert!(one.discovered_participants().is_empty() && other.discovered_participants().is_empty());
}

#[test]
fn data_for_several_readers_is_broadcast_once() {
    let domain = common::domain();
    let heard = listener(ports(domain).1);
    let place = PLACE.to_string();
    let set = [("network.broadcast", &*place), ("network.broadcast_data", "true")];
    // Participants of one process share sockets if they are configured alike.
    let [writing, one, other] = ["3s", "4s", "5s"]
        .map(|poll| participant(domain, &[&set[..], &[("network.interface_poll", poll)]].concat()));
    let writer = writer_in(&writing, "Broadcast", &DataWriterQos::default().reliable().keep_all());
    let qos = DataReaderQos::default().reliable().keep_all();
    let readers = [reader_in(&one, "Broadcast", &qos), reader_in(&other, "Broadcast", &qos)];
    eventually("they find each other", || writer.matched_subscriptions().len() == 2);
    writer.write(&track(0x5eed_0001, 7)).unwrap();
    for reader in &readers {
        let mut seen = Vec::new();
        eventually("it arrives", || {
            let samples = reader.take(usize::MAX).unwrap();
            seen.extend(samples.into_iter().filter_map(|sample| sample.data).map(|track| track.id));
            !seen.is_empty()
        });
        assert_eq!(seen, [0x5eed_0001]);
    }
    let id = 0x5eed_0001_u32.to_le_bytes();
    while !has(&hear(&heard), &id) {}
}

#[test]
fn contradictory_broadcast_settings_are_refused_with_a_reason() {
    for (set, why) in [
        (
            &[("network.broadcast", "192.0.2.255"), ("network.multicast", "on")][..],
            "network.multicast = \"off\"",
        ),
        (&[("network.broadcast", "239.255.0.1")], "no broadcast address"),
        (&[("network.broadcast", "host")], "no broadcast address"),
        (&[("network.broadcast", "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5")], "four addresses at most"),
        (&[("network.broadcast_data", "true")], "needs addresses"),
    ] {
        let refused = config(set).check().unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}
