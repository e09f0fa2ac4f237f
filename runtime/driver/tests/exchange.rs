//! Two participants over real sockets on loopback.

mod common;

use std::time::Duration;

use common::{eventually, loopback, matched, reliable, request, udp_node};
use dunlin_driver::{DriverConfig, Session};
use dunlin_engine::Event;
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_transport::{FaultConfig, Transport};
use dunlin_udp::UdpTransport;

/// The same settings, but not the same sockets and threads.
fn other(config: &DriverConfig) -> DriverConfig {
    DriverConfig { interface_poll: config.interface_poll + Duration::from_secs(1), ..config.clone() }
}

fn numbers(taken: &mut Vec<(u32, usize)>) -> Vec<u32> {
    taken.drain(..).map(|(number, _)| number).collect()
}

#[test]
fn reliable_samples_arrive_in_order() {
    let config = loopback(0);
    let (one, two) = (udp_node(&config), udp_node(&other(&config)));
    let (writer_qos, reader_qos) = reliable();
    let (writer, reader) = matched(&one, &two, "numbers", &writer_qos, &reader_qos);
    for number in 0..1_000 {
        one.write(&writer, number).unwrap();
    }
    let mut taken = vec![];
    eventually("all samples", || {
        taken.extend(two.take(&reader));
        taken.len() >= 1_000
    });
    assert_eq!(numbers(&mut taken), (0..1_000).collect::<Vec<_>>());
    eventually("all acknowledged", || writer.acked_by_all() == writer.last_sn());
}

#[test]
fn large_samples_arrive_whole_in_few_system_calls() {
    const LEN: usize = 1 << 20;
    // As on Ethernet.
    let config = DriverConfig { max_message_size: Some(1_472), ..loopback(1) };
    let (one, two) = (udp_node(&config), udp_node(&other(&config)));
    let (writer_qos, reader_qos) = reliable();
    let (writer, reader) = matched(&one, &two, "large", &writer_qos, &reader_qos);
    let before = one.session.transport_stats();
    for number in 0..4 {
        one.session.write(&writer, request(number, LEN)).unwrap();
    }
    let mut taken = vec![];
    eventually("all samples", || {
        taken.extend(two.take(&reader));
        taken.len() >= 4
    });
    assert_eq!(taken, (0..4).map(|number| (number, LEN)).collect::<Vec<_>>());
    let after = one.session.transport_stats();
    let (datagrams, calls) =
        (after.sent_datagrams - before.sent_datagrams, after.send_calls - before.send_calls);
    assert!(datagrams > 4 * (LEN as u64 / 1472));
    assert!(calls * 10 < datagrams || after.segmentation_refused > 0, "{calls} calls, {datagrams} datagrams");
}

#[test]
fn large_samples_take_few_datagrams_within_a_host() {
    let config = loopback(7);
    let (one, two) = (udp_node(&config), udp_node(&other(&config)));
    let (writer_qos, reader_qos) = reliable();
    let (writer, reader) = matched(&one, &two, "long", &writer_qos, &reader_qos);
    let before = one.session.transport_stats();
    let lengths = [8_192, 16_384, 921_600, 4 << 20];
    for (number, len) in (0..).zip(lengths) {
        one.session.write(&writer, request(number, len)).unwrap();
    }
    let mut taken = vec![];
    eventually("all samples", || {
        taken.extend(two.take(&reader));
        taken.len() >= lengths.len()
    });
    assert_eq!(taken, (0..).zip(lengths).collect::<Vec<_>>());
    eventually("all acknowledged", || writer.acked_by_all() == writer.last_sn());
    let datagrams = one.session.transport_stats().sent_datagrams - before.sent_datagrams;
    // 1, 1, 15 and 67 with the samples; discovery may say something too.
    assert!((84..200).contains(&datagrams), "{datagrams} datagrams");
    let dropped = two.session.transport_stats().receive_overflow;
    assert_eq!(
        (writer.stats().repair_fragments_sent, writer.stats().repairs_sent),
        (0, 0),
        "{dropped} dropped"
    );
}

#[test]
fn a_window_follows_the_receive_buffer_of_a_reader_on_the_host() {
    const LEN: usize = 400_000;
    let config = loopback(8);
    let room = UdpTransport::open(config.udp.clone()).unwrap().receive_room();
    if room < 2 * LEN {
        let why = format!("receive buffers have room for {room} octets, too little to see anything");
        return dunlin_notes::skipped(&why, "sudo sysctl net.core.rmem_max=4194304");
    }
    let full = |limit| {
        let mut config = config.clone();
        config.tuning.window_limit = limit;
        let (one, two) = (udp_node(&config), udp_node(&other(&config)));
        let (writer_qos, reader_qos) = reliable();
        let (writer, reader) = matched(&one, &two, "room", &writer_qos, &reader_qos);
        let mut counts = [0; 4];
        for (number, count) in (0..).zip(&mut counts) {
            let before = writer.stats().window_full;
            one.session.write(&writer, request(number, LEN)).unwrap();
            eventually("acknowledged", || writer.acked_by_all() == writer.last_sn());
            *count = writer.stats().window_full - before;
        }
        assert_eq!(two.take(&reader), (0..4).map(|number| (number, LEN)).collect::<Vec<_>>());
        assert_eq!((writer.stats().repair_fragments_sent, writer.stats().readers_overdue), (0, 0));
        counts
    };
    // The first one meets a reader that has not said anything.
    assert_eq!(full(2 << 20)[1..], [0; 3]);
    assert!(full(0).iter().all(|count| *count > 0));
}

#[test]
fn loss_reordering_and_duplicates_are_repaired() {
    let fault = FaultConfig {
        seed: 4,
        loss_ppm: 100_000,
        duplicate_ppm: 50_000,
        reorder_ppm: 50_000,
        ..Default::default()
    };
    let config = DriverConfig { fault: Some(fault), ..loopback(2) };
    let (one, two) = (udp_node(&config), udp_node(&other(&config)));
    let (writer_qos, reader_qos) = reliable();
    let (writer, reader) = matched(&one, &two, "lossy", &writer_qos, &reader_qos);
    for number in 0..300 {
        one.session.write(&writer, request(number, 4_000)).unwrap();
    }
    let mut taken = vec![];
    eventually("all samples", || {
        taken.extend(two.take(&reader));
        taken.len() >= 300
    });
    assert_eq!(numbers(&mut taken), (0..300).collect::<Vec<_>>());
}

#[test]
fn best_effort_over_ipv6() {
    let mut config = loopback(3);
    config.udp.ipv4 = false;
    config.udp.ipv6 = true;
    let (one, two) = (udp_node(&config), udp_node(&other(&config)));
    let (writer, reader) =
        matched(&one, &two, "six", &DataWriterQos::default().best_effort(), &DataReaderQos::default());
    let mut number = 0;
    eventually("a sample", || {
        number += 1;
        one.write(&writer, number).unwrap();
        !two.take(&reader).is_empty()
    });
}

#[test]
fn without_multicast_participants_of_one_host_still_meet() {
    let mut config = loopback(4);
    config.udp.multicast = dunlin_udp::MulticastUse::Off;
    let (one, two) = (udp_node(&config), udp_node(&other(&config)));
    eventually("they meet", || !one.session.participant().discovered_participants().is_empty());
    eventually("both", || !two.session.participant().discovered_participants().is_empty());
}

#[test]
fn leaving_is_heard_at_once() {
    let config = loopback(5);
    let (one, two) = (udp_node(&config), udp_node(&other(&config)));
    eventually("they meet", || {
        let alone = |session: &Session| session.participant().discovered_participants().is_empty();
        !alone(&one.session) && !alone(&two.session)
    });
    let gone = one.session.participant().guid_prefix();
    one.session.leave();
    one.session.leave();
    eventually("the other hears of it", || {
        two.count(|event| matches!(event, Event::ParticipantLost { prefix, .. } if *prefix == gone)) == 1
    });
}

#[test]
fn a_capture_holds_the_traffic() {
    let path = std::env::temp_dir().join(format!("dunlin-{}.pcapng", std::process::id()));
    let config = DriverConfig { pcap: Some(path.clone()), ..loopback(6) };
    let node = udp_node(&config);
    let captured = || std::fs::read(&path).unwrap().windows(4).any(|octets| octets == b"RTPS");
    eventually("the announcement is captured", captured);
    drop(node);
    std::fs::remove_file(path).unwrap();
}
