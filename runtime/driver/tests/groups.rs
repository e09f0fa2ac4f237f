//! How participants of one process share threads and sockets. One test: it counts the threads of the process.

mod common;

use common::{eventually, library_threads, loopback, matched, udp_node};
use dunlin_driver::{DriverConfig, Waiting};
use dunlin_qos::{DataReaderQos, DataWriterQos};

#[test]
fn participants_share_their_threads_and_the_last_one_ends_them() {
    let config = loopback(0);
    let two = ["dunlin-rx-meta", "dunlin-timer"];
    let all = ["dunlin-rx-data", "dunlin-rx-mcast", "dunlin-rx-meta", "dunlin-timer"];
    let first = udp_node(&config);
    // A thread gives itself its name only when it runs, and the kernel lists it for a moment after its end.
    eventually("two threads", || library_threads() == two);
    let nodes: Vec<_> = std::iter::once(first).chain((1..10).map(|_| udp_node(&config))).collect();
    eventually("they meet although they share sockets", || {
        nodes.iter().all(|node| node.session.participant().discovered_participants().len() == 9)
    });
    let locators: Vec<_> = nodes[0].session.participant().discovered_participants();
    assert!(locators.windows(2).all(|pair| pair[0].locators == pair[1].locators));

    eventually("all threads, as there are others", || library_threads() == all);

    let mut other = config.clone();
    other.udp.multicast = dunlin_udp::MulticastUse::SpdpOnly;
    let apart = udp_node(&other);
    let apart_too =
        ["dunlin-rx-data", "dunlin-rx-data", "dunlin-rx-mcast", "dunlin-rx-meta", "dunlin-rx-meta"];
    eventually("another configuration has threads of its own", || {
        library_threads().starts_with(&apart_too.map(String::from))
    });
    drop(apart);
    eventually("those of the others", || library_threads() == all);

    other.receive.waiting = Waiting::Polling;
    let polling = udp_node(&other);
    eventually("threads of its own", || library_threads().starts_with(&apart_too.map(String::from)));
    drop(polling);
    eventually("those of the others", || library_threads() == all);

    let (writer_qos, reader_qos) = (DataWriterQos::default().best_effort(), DataReaderQos::default());
    let (writer, reader) = matched(&nodes[1], &nodes[0], "numbers", &writer_qos, &reader_qos);
    nodes[1].write(&writer, 7).unwrap();
    eventually("user data arrives", || nodes[0].take(&reader) == [(7, 0)]);
    let (last, rest) = nodes.split_last().unwrap();
    rest.iter().for_each(|node| node.session.leave());
    eventually("the last one keeps the threads", || library_threads() == all);
    eventually("the last one is alone", || last.session.participant().discovered_participants().is_empty());
    last.session.leave();
    eventually("no thread", || library_threads().is_empty());

    let again = udp_node(&config);
    eventually("two threads again", || library_threads() == two);
    drop(again);
    eventually("no thread", || library_threads().is_empty());

    let mut refused: DriverConfig = config;
    refused.pcap = Some("/no/such/folder/x.pcapng".into());
    let sink = std::sync::Arc::new(common::Sink::default());
    let error = dunlin_driver::Session::join(refused, sink).err().expect("no such folder");
    assert!(error.to_string().starts_with("capture file /no/such/folder/x.pcapng: "), "{error}");
    eventually("no thread", || library_threads().is_empty());
}
