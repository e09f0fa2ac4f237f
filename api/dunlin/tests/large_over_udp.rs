//! Large samples over UDP to another process of the host: how much is in flight follows what its socket holds. The other process is
//! this program again, with a role.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::time::Duration;

use common::processes::{Other, role};
use common::{domain, eventually};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DdsType, DomainParticipant};

const TOPIC: &str = "Large";
const LEN: usize = 4 << 20;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Large {
    octets: Vec<u8>,
}

fn large(number: u8) -> Large {
    Large { octets: (0..LEN).map(|at| (at / 1_000) as u8 ^ number).collect() }
}

fn participant(domain: u32, receive_buffer: &str) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("shared_memory.enabled", "false").unwrap();
    config.set("network.receive_buffer", receive_buffer).unwrap();
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

/// What the other process does; in the first one it is a test of nothing.
#[test]
fn child_process() {
    let Some((receive_buffer, domain, _)) = role() else { return };
    let participant = participant(domain, &receive_buffer);
    let topic = participant.create_topic::<Large>(TOPIC, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader =
        subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap();
    let mut number = 0;
    loop {
        for sample in reader.take(10).unwrap_or_default().into_iter().filter_map(|sample| sample.data) {
            assert!(sample == large(number), "sample {number} is spoilt");
            println!("got {number}");
            number += 1;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Questions that the writer asked for each of a few samples after the first.
fn questions(receive_buffer: &str) -> u64 {
    let domain = domain();
    let participant = participant(domain, "auto");
    let topic = participant.create_topic::<Large>(TOPIC, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer =
        publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all()).unwrap();
    let mut other = Other::start(receive_buffer, domain, Path::new("."));
    eventually("a reader", || !writer.matched_subscriptions().is_empty());
    let mut asked = Vec::new();
    for number in 0..6 {
        let before = writer.stats().echoes_requested;
        writer.write(&large(number)).unwrap();
        other.says(&format!("got {number}"));
        asked.push(writer.stats().echoes_requested - before);
    }
    asked[1..].iter().copied().min().unwrap()
}

#[test]
fn the_send_window_follows_the_receive_buffer_of_the_socket() {
    let usual = questions("208KiB");
    assert!(usual >= 50, "{usual} questions: one for each half of the usual window");
    let allowed = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    if allowed.trim().parse::<usize>().unwrap() < LEN {
        let why = format!("receive buffers have {} octets at most", allowed.trim());
        return dunlin_notes::skipped(&why, "sudo sysctl net.core.rmem_max=4194304");
    }
    let fewer = questions("4MiB");
    assert!(fewer <= 40, "{fewer} questions: one for each eighth of a MiB, and a few");
}
