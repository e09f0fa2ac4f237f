//! Loans without a type parameter, between participants that share real memory, and the example of docs/services-api.md about
//! them (`cargo xtask tidy` sees that it is the one that stands there). The other process is this program again.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod example;
mod limits;
mod written;

use std::path::Path;

use common::eventually;
use common::processes::{Other, participant_with, role};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    AnyDataReader, AnyDataWriter, DdsType, DomainParticipant, Duration, DynamicType, PayloadLoan, RawSample,
    SerializedData, Topic,
};

/// Of no fixed size, so that no Rust value of it could be lent.
#[derive(DdsType, Clone, Debug, PartialEq)]
#[dds(final)]
pub(crate) struct Frame {
    #[dds(key)]
    camera: u32,
    number: u32,
    octets: Vec<u8>,
}

/// Octets before those of a frame: encapsulation header, camera, number, length.
pub(crate) const HEAD: usize = 16;
/// The topic of two processes.
const FRAMES: &str = "Frames";
const COUNT: u32 = 90;
/// Octets of the longest frame without its encapsulation header.
const LONGEST: usize = 25_000;

fn frame(number: u32) -> Frame {
    let octets = (0..LONGEST as u32 - 12 - number).map(|index| (index ^ number) as u8).collect();
    Frame { camera: number % 3, number, octets }
}

/// What a binding does: puts a value into the memory that it is given.
fn serialize(frame: &Frame, into: &mut [u8]) -> usize {
    let head = [frame.camera, frame.number, frame.octets.len() as u32];
    into.chunks_mut(4).zip(head).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    into[12..12 + frame.octets.len()].copy_from_slice(&frame.octets);
    12 + frame.octets.len()
}

pub(crate) fn decoded(payload: &[u8]) -> Frame {
    dunlin::cdr::from_payload(payload, &dunlin::cdr::Limits::default()).unwrap()
}

/// A topic of this test alone, as a program has it that was given the type at run time: domains are few.
pub(crate) fn topic(participant: &DomainParticipant) -> Topic<SerializedData> {
    topic_named(participant, &name())
}

pub(crate) fn name() -> String {
    format!("Frames of {}", std::thread::current().name().unwrap())
}

fn topic_named(participant: &DomainParticipant, name: &str) -> Topic<SerializedData> {
    let (graph, index) = dunlin::xtypes::from_description(dunlin::cdr::description::<Frame>());
    let ty = DynamicType::new(graph, index).unwrap();
    participant.create_dynamic_topic(name, &ty, &TopicQos::default()).unwrap().serialized()
}

pub(crate) fn writer_of(participant: &DomainParticipant, topic: &Topic<SerializedData>) -> AnyDataWriter {
    let qos = DataWriterQos::default().reliable().keep_all();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    AnyDataWriter::from(&publisher.create_datawriter(topic, &qos).unwrap())
}

pub(crate) fn reader_of(participant: &DomainParticipant, topic: &Topic<SerializedData>) -> AnyDataReader {
    let qos = DataReaderQos::default().reliable().keep_all();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    AnyDataReader::from(&subscriber.create_datareader(topic, &qos).unwrap())
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

/// Two participants that share a folder, but no transport, as two processes do: their configurations differ.
pub(crate) struct Two {
    pub(crate) writing: DomainParticipant,
    pub(crate) reading: DomainParticipant,
    pub(crate) writer: AnyDataWriter,
    pub(crate) reader: AnyDataReader,
    pub(crate) domain: u32,
    pub(crate) folder: tempfile::TempDir,
}

impl Two {
    /// With pools of a mebibyte.
    pub(crate) fn new() -> Self {
        let (domain, folder) = (common::domain(), folder());
        let [writing, reading] =
            ["256KiB", "512KiB"].map(|ring_size| participant_with(domain, folder.path(), ring_size));
        let writer = writer_of(&writing, &topic(&writing));
        let reader = reader_of(&reading, &topic(&reading));
        eventually("the reader", || !writer.matched_subscriptions().is_empty());
        Self { writing, reading, writer, reader, domain, folder }
    }
}

/// Waits for so many samples.
pub(crate) fn take(reader: &AnyDataReader, count: usize) -> Vec<RawSample> {
    let mut taken = Vec::new();
    eventually("the samples", || {
        taken.extend(reader.take_payloads(100).unwrap());
        taken.len() >= count
    });
    assert_eq!(taken.len(), count);
    taken
}

/// All that can be lent at a time.
pub(crate) fn lend_all(writer: &AnyDataWriter, len: usize) -> Vec<PayloadLoan> {
    std::iter::repeat_with(|| writer.loan_payload(len).unwrap()).take_while(PayloadLoan::is_shared).collect()
}

/// What the other process does; in the first one it is a test of nothing.
#[test]
fn child_process() {
    let Some((role, domain, directory)) = role() else { return };
    assert_eq!(role, "write");
    let participant = participant(domain, &directory);
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer = example::create_writer(&publisher, &topic_named(&participant, FRAMES), LONGEST).unwrap();
    eventually("two readers", || writer.matched_subscriptions().len() == 2);
    for number in 0..COUNT {
        example::write(&writer, LONGEST, |memory| serialize(&frame(number), memory)).unwrap();
    }
    writer.wait_for_acknowledgments(Duration::from_secs(30)).unwrap();
    println!("acknowledged");
    std::thread::park_timeout(std::time::Duration::from_secs(60));
}

fn participant(domain: u32, directory: &Path) -> DomainParticipant {
    participant_with(domain, directory, "4MiB")
}

/// One reader shares memory with the writer's process, another one has another folder, and so gets all over UDP.
#[test]
fn lent_payloads_of_another_process_are_read_where_they_lie_or_come_over_the_network() {
    let (domain, folder, elsewhere) = (common::domain(), folder(), folder());
    let participants = [&folder, &elsewhere].map(|folder| participant(domain, folder.path()));
    let readers = [&participants[0], &participants[1]].map(|it| reader_of(it, &topic_named(it, FRAMES)));
    let mut other = Other::start("write", domain, folder.path());
    let (mut taken, mut shared) = ([[0; 3]; 2], [0; 2]);
    eventually("all samples", || {
        for (index, reader) in readers.iter().enumerate() {
            let taken = &mut taken[index];
            shared[index] += example::look(reader, |payload| {
                let got = decoded(payload);
                let of_camera = &mut taken[got.camera as usize];
                assert_eq!(got.number, *of_camera * 3 + got.camera, "in order, once each");
                assert!(got == frame(got.number), "every octet");
                *of_camera += 1;
            })
            .unwrap();
        }
        taken.iter().flatten().sum::<u32>() == 2 * COUNT
    });
    other.says("acknowledged");
    assert!(shared[0] > COUNT as usize / 2 && shared[1] == 0, "{shared:?}");
    let octets = participants[0].transport_stats().shared_received_octets;
    let copied = (COUNT as usize - shared[0]) * LONGEST;
    assert!((octets as usize) < copied + COUNT as usize * 1_000, "{octets} octets came, {copied} as copies");
}
