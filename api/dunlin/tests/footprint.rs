//! Memory and threads of a process, through the public API. The other processes are this program again, with a role.
//!
//! What is held to a limit is anonymous memory that the process has written to, which does not depend on what other programs
//! have mapped, on how the kernel maps program text, or on whether a program that was just linked is on the disk yet;
//! `make footprint` shows it of an optimised program.
#![cfg(target_os = "linux")]

mod common;

use std::ops::Range;

use common::eventually;
use common::processes::{Other, participant_with, role};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataWriter, DdsType, DomainParticipant, DynamicType, StateMasks, Subscriber};

/// KiB that a participant with one writer may need, and one with a thousand. An optimised program needs less.
const ALONE: usize = 500;
const THOUSAND: usize = 8_500;

/// KiB that a thousand content filters and queries on types known at run time may leave behind; their descriptions have nine
/// times as many.
const LEFT_BEHIND: usize = 1_500;

const AT_REST: &str = "dunlin-rx-meta dunlin-timer";
const THROUGH_MEMORY: &str = "dunlin-rx-data dunlin-rx-mcast dunlin-rx-meta dunlin-rx-shm dunlin-timer";

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Octets {
    octets: Vec<u8>,
}

/// KiB that this process has written to and nobody shares.
fn private() -> usize {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

/// Names of the library threads of this process.
fn threads() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    let mut names: Vec<String> = tasks.filter_map(name).map(|name| name.trim().to_owned()).collect();
    names.retain(|name| name.starts_with("dunlin-"));
    names.sort();
    names.join(" ")
}

fn writers(participant: &DomainParticipant, numbers: Range<usize>) -> Vec<DataWriter<Octets>> {
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer = |number| {
        let topic = participant.create_topic::<Octets>(&format!("Topic{number}"), &TopicQos::default());
        // What is written before the reader knows the writer stays until it does.
        let qos = DataWriterQos::default().reliable().keep_all();
        publisher.create_datawriter(&topic.unwrap(), &qos).unwrap()
    };
    numbers.map(writer).collect()
}

macro_rules! wide {
    ($($member:ident)*) => {
        /// A type with many members.
        #[derive(DdsType)]
        struct Wide {
            $($member: u32,)*
        }
    };
}

wide! {
    m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19
    m20 m21 m22 m23 m24 m25 m26 m27 m28 m29 m30 m31 m32 m33 m34 m35 m36 m37 m38 m39
}

/// The same, known at run time and made anew.
fn wide_type() -> DynamicType {
    let (graph, index) = dunlin::xtypes::from_description(dunlin::cdr::description::<Wide>());
    DynamicType::new(graph, index).unwrap()
}

/// Creates a content filter and a query on a topic of such a type, and deletes everything.
fn filter_once(participant: &DomainParticipant, subscriber: &Subscriber) {
    let topic = participant.create_dynamic_topic("Wide", &wide_type(), &TopicQos::default()).unwrap();
    let none = &[""; 0];
    let filtered = participant.create_contentfilteredtopic("Some", &topic, "m0 > 7", none).unwrap();
    let reader = subscriber.create_datareader(&filtered, &DataReaderQos::default()).unwrap();
    let query = reader.create_querycondition(StateMasks::ANY, "m39 = 1", none).unwrap();
    drop(query);
    reader.delete_contained_entities().unwrap();
    subscriber.delete_datareader(&reader).unwrap();
    drop(reader);
    participant.delete_contentfilteredtopic(&filtered).unwrap();
    participant.delete_topic(&topic).unwrap();
}

/// What the other process does; in the first one it is a test of nothing.
#[test]
fn child_process() {
    let Some((role, domain, directory)) = role() else { return };
    let directory = directory.as_path();
    let before = private();
    let participant = participant_with(domain, directory, "4MiB");
    match role.as_str() {
        "idle" => {
            let one = writers(&participant, 0..1);
            // A thread gives itself its name when it runs.
            eventually("two threads", || threads() == AT_REST);
            println!("alone {}", private() - before);
            let thousand = writers(&participant, 1..1_000);
            println!("thousand {}", private() - before);
            eventually("two threads", || threads() == AT_REST);
            drop((one, thousand));
        }
        "write" => {
            let writers = writers(&participant, 0..1);
            eventually("a reader", || !writers[0].matched_subscriptions().is_empty());
            eventually("shared memory", || threads() == THROUGH_MEMORY);
            for _ in 0..100 {
                writers[0].write(&Octets { octets: vec![7; 100] }).unwrap();
                // One by one: what is written at once shares datagrams.
                writers[0].wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
            }
            assert!(participant.transport_stats().shared_sent_datagrams >= 100);
            eventually("all threads", || threads() == THROUGH_MEMORY);
            println!("busy {}", private() - before);
        }
        "filter" => {
            let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
            (0..200).for_each(|_| filter_once(&participant, &subscriber));
            let before = private();
            (0..1_000).for_each(|_| filter_once(&participant, &subscriber));
            println!("left {}", private().saturating_sub(before));
        }
        other => panic!("no role {other}"),
    }
}

/// The number behind a word that the process says.
fn told(other: &mut Other, word: &str) -> usize {
    let line = other.says(word);
    let (_, kib) = line.split_once(&format!("{word} ")).unwrap();
    println!("{word}: {} KiB of private memory", kib.trim());
    kib.trim().parse().unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

#[test]
fn a_participant_at_rest_has_two_threads_and_little_memory() {
    let folder = folder();
    let mut other = Other::start("idle", common::domain(), folder.path());
    let alone = told(&mut other, "alone");
    assert!(alone <= ALONE, "{alone} KiB");
    let thousand = told(&mut other, "thousand");
    assert!(thousand <= THOUSAND, "{thousand} KiB");
}

#[test]
fn filters_of_types_known_at_run_time_are_freed() {
    let folder = folder();
    let mut other = Other::start("filter", common::domain(), folder.path());
    let left = told(&mut other, "left");
    assert!(left <= LEFT_BEHIND, "{left} KiB");
}

#[test]
fn participant_with_a_remote_peer_runs_all_threads() {
    let folder = folder();
    let domain = common::domain();
    let participant = participant_with(domain, folder.path(), "4MiB");
    let topic = participant.create_topic::<Octets>("Topic0", &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader =
        subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap();
    let mut other = Other::start("write", domain, folder.path());
    let mut taken = 0;
    eventually("all samples", || {
        taken += reader.take(100).map_or(0, |samples| samples.len());
        taken == 100
    });
    told(&mut other, "busy");
}
