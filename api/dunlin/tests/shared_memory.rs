//! Shared memory between processes, through the public API. The other processes are this program again, with a role.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::eventually;
use common::processes::{Other, participant_with, role};
use common::survivors::{LONGEST_PAUSE, Pulse, Survivors, rounds};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant};

const TOPIC: &str = "Numbers";
const COUNT: u64 = 2_000;

/// Every octet follows from the number, so that a spoilt sample shows.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Numbered {
    number: u64,
    octets: Vec<u8>,
}

fn numbered(number: u64) -> Numbered {
    let len = [40, 1_000, 5_000, 40_000][(number % 4) as usize];
    Numbered { number, octets: (0..len).map(|at| (at as u64 ^ number) as u8).collect() }
}

fn participant(domain: u32, directory: &Path) -> DomainParticipant {
    participant_with(domain, directory, "256KiB")
}

fn writer(participant: &DomainParticipant, qos: &DataWriterQos) -> DataWriter<Numbered> {
    let topic = participant.create_topic::<Numbered>(TOPIC, &TopicQos::default()).unwrap();
    participant.create_publisher(&PublisherQos::default()).unwrap().create_datawriter(&topic, qos).unwrap()
}

fn reader(participant: &DomainParticipant) -> DataReader<Numbered> {
    let topic = participant.create_topic::<Numbered>(TOPIC, &TopicQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    participant.create_subscriber(&SubscriberQos::default()).unwrap().create_datareader(&topic, &qos).unwrap()
}

/// Takes what has arrived, checks every octet, and gives the numbers.
fn take(reader: &DataReader<Numbered>) -> Vec<u64> {
    let samples = reader.take(1_000).unwrap_or_default();
    let data = samples.into_iter().filter_map(|sample| sample.data);
    data.inspect(|it| assert!(*it == numbered(it.number), "sample {} is spoilt", it.number))
        .map(|it| it.number)
        .collect()
}

/// What the other process does; in the first one it is a test of nothing.
#[test]
fn child_process() {
    let Some((role, domain, directory)) = role() else { return };
    let (role, directory) = (role.as_str(), directory.as_path());
    if role == "write-frames" {
        return write_frames(&participant_with(domain, directory, FRAME_RING));
    }
    let participant = participant(domain, directory);
    match role {
        "write" => {
            let qos = DataWriterQos::default().reliable().keep_all().resource_limits(200, -1, -1);
            let qos = qos.max_blocking_time(dunlin::Duration::from_secs(30));
            let writer = writer(&participant, &qos);
            eventually("a reader", || !writer.matched_subscriptions().is_empty());
            println!("matched");
            (0..COUNT).for_each(|number| writer.write(&numbered(number)).unwrap());
            writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
            let stats = participant.transport_stats();
            println!("udp {} shm {}", stats.sent_octets, stats.shared_sent_octets);
            std::thread::park_timeout(Duration::from_secs(60));
        }
        "write-stay" => {
            let mut pulse = Pulse::new(role, directory);
            write_on(&participant, 0, || pulse.step());
        }
        "read-stay" => read_on(&participant, Some(Pulse::new(role, directory))),
        "write-die" => write_on(&participant, DIES, || {}),
        "write-until" => write_until(&participant, &directory.join(STOP)),
        "read-die" => read_on(&participant, None),
        other => panic!("no role {other}"),
    }
}

/// The first number of a writer that is killed; one that stays begins with 0.
const DIES: u64 = 1 << 40;

fn write_on(participant: &DomainParticipant, first: u64, mut written: impl FnMut()) {
    // It waits for nobody: a reader that was killed is matched until its lease ends.
    let writer = writer(participant, &DataWriterQos::default().reliable().keep_last(100));
    for number in first.. {
        writer.write(&numbered(number)).unwrap();
        written();
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

/// Takes for ever. Who stays tells of each sample; who is killed says that it has got some.
fn read_on(participant: &DomainParticipant, mut pulse: Option<Pulse>) {
    let (reader, mut next) = (reader(participant), 0);
    loop {
        for number in take(&reader) {
            if let Some(pulse) = &mut pulse {
                if number >= DIES {
                    pulse.step_of_another();
                    continue;
                }
                pulse.step();
            } else if number < DIES {
                println!("reading");
            }
            assert!(number >= next, "{number} after {next}: in order, once each");
            next = number + 1;
        }
        assert_eq!(participant.transport_stats().shared_broken, 0);
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

/// Samples as large as an uncompressed picture.
const FRAMES: u64 = 60;
const FRAME: usize = 921_600;
const FRAME_RING: &str = "4MiB";

fn frame(number: u64) -> Numbered {
    Numbered { number, octets: (0..FRAME).map(|at| ((at as u64 / 256) ^ number) as u8).collect() }
}

fn write_frames(participant: &DomainParticipant) {
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(8, -1, -1);
    let writer = writer(participant, &qos.max_blocking_time(dunlin::Duration::from_secs(30)));
    eventually("two readers", || writer.matched_subscriptions().len() == 2);
    (0..FRAMES).for_each(|number| writer.write(&frame(number)).unwrap());
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
    println!("acknowledged");
    std::thread::park_timeout(Duration::from_secs(60));
}

/// One reader takes them out of memory, in one piece each, and another one from the network beside it.
#[test]
fn large_samples_come_in_one_piece_and_beside_it_in_fragments() {
    let (domain, folder, elsewhere) = (common::domain(), folder(), folder());
    let participants =
        [&folder, &elsewhere].map(|folder| participant_with(domain, folder.path(), FRAME_RING));
    let readers = [&participants[0], &participants[1]].map(reader);
    let mut other = Other::start("write-frames", domain, folder.path());
    let mut taken = [0, 0];
    eventually("all frames", || {
        for (reader, next) in readers.iter().zip(&mut taken) {
            for sample in reader.take(4).unwrap_or_default().into_iter().filter_map(|sample| sample.data) {
                assert!(sample == frame(*next), "sample {next} is spoilt or another one");
                *next += 1;
            }
        }
        taken == [FRAMES; 2]
    });
    other.says("acknowledged");
    let [inside, outside] = participants.map(|participant| participant.transport_stats());
    // What asks the other reader how far it is comes here too.
    let octets = FRAMES * FRAME as u64;
    assert!((octets..octets + octets / 50).contains(&inside.shared_received_octets), "{inside:?}");
    assert!(inside.shared_received_datagrams < 60 * FRAMES, "{inside:?}");
    assert_eq!((outside.shared_received_octets, inside.shared_broken), (0, 0));
}

fn receive_all(reader: &DataReader<Numbered>) {
    let mut all = Vec::new();
    eventually("all samples", || {
        all.extend(take(reader));
        all.len() as u64 >= COUNT
    });
    assert!(all.iter().copied().eq(0..COUNT), "in order, once each");
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    std::fs::read_dir(folder).unwrap().map(name).collect()
}

#[test]
fn data_between_processes_uses_shared_memory_alone() {
    let (domain, folder) = (common::domain(), folder());
    let participant = participant(domain, folder.path());
    let reader = reader(&participant);
    let mut other = Other::start("write", domain, folder.path());
    receive_all(&reader);
    let payload: u64 = (0..COUNT).map(|number| numbered(number).octets.len() as u64).sum();
    let stats = participant.transport_stats();
    assert!(stats.shared_received_octets > payload, "{stats:?}");
    assert_eq!(stats.shared_broken, 0);
    let line = other.says("udp ");
    let words: Vec<&str> = line[line.find("udp ").unwrap()..].split_whitespace().collect();
    let (udp, shared): (u64, u64) = (words[1].parse().unwrap(), words[3].parse().unwrap());
    assert!(shared > payload && udp < 100_000, "udp {udp}, shared memory {shared}");
    let text = participant.explain_topic(TOPIC).to_string();
    assert!(text.contains("through shared memory"), "{text}");
}

#[test]
fn different_shared_memory_folders_use_the_network_with_a_reason() {
    let (domain, here, there) = (common::domain(), folder(), folder());
    let participant = participant(domain, here.path());
    let reader = reader(&participant);
    let _other = Other::start("write", domain, there.path());
    receive_all(&reader);
    let stats = participant.transport_stats();
    assert_eq!((stats.shared_received_octets, stats.shared_sent_octets), (0, 0));
    let text = participant.explain_topic(TOPIC).to_string();
    assert!(text.contains("over the network") && text.contains("another folder"), "{text}");
}

/// A writer and a reader that stay exchange samples while others are killed beside them.
#[test]
fn killed_processes_leave_nothing_behind_and_stop_nobody() {
    let (domain, folder) = (common::domain(), folder());
    let memory = folder.path().join("memory");
    let survivors = Survivors::start(&["write-stay", "read-stay"], domain, &memory);
    for round in 0..rounds(4) {
        let (role, word) = [("read-die", Some("reading")), ("write-die", None)][round as usize % 2];
        // At another moment each time.
        survivors.kill_one(role, word, Duration::from_millis(u64::from(round) * 7 % 100));
    }
    // Those that stayed are killed too.
    survivors.outlive();
    drop(participant(domain, &memory));
    assert_eq!(files(&memory), [""; 0], "nothing is left behind");
}

/// A file of this name ends the writing.
const STOP: &str = "stop";
/// Samples between two cuts, at least.
const BETWEEN: u64 = 200;

fn write_until(participant: &DomainParticipant, stop: &Path) {
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(2_000, -1, -1);
    let writer = writer(participant, &qos.max_blocking_time(dunlin::Duration::from_secs(30)));
    eventually("two readers", || writer.matched_subscriptions().len() == 2);
    let mut number = 0;
    while !stop.exists() {
        writer.write(&numbered(number)).unwrap();
        number += 1;
        std::thread::park_timeout(Duration::from_micros(200));
    }
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
    println!("written {number} cut {}", participant.transport_stats().shared_cut);
    std::thread::park_timeout(Duration::from_secs(60));
}

fn cut_all(folder: &Path, len: u64) {
    for name in files(folder) {
        let file = std::fs::File::options().write(true).open(folder.join(name));
        file.and_then(|file| file.set_len(len)).unwrap_or_default();
    }
}

/// Both readers of the process whose files are cut.
struct Cut {
    reliable: DataReader<Numbered>,
    best_effort: DataReader<Numbered>,
    next: u64,
    /// The numbers of the best-effort reader: the first one, the last one, and how many.
    seen: Option<(u64, u64, u64)>,
    last: Instant,
    longest: Duration,
}

impl Cut {
    fn take(&mut self) {
        for number in take(&self.reliable) {
            assert_eq!(number, self.next, "the reliable reader gets each once, in order");
            self.next += 1;
            self.longest = self.longest.max(self.last.elapsed());
            self.last = Instant::now();
        }
        for number in take(&self.best_effort) {
            let (first, last, count) = self.seen.unwrap_or((number, number, 0));
            assert!(count == 0 || number > last, "{number} after {last}");
            self.seen = Some((first, number, count + 1));
        }
    }

    /// Takes samples until this is so.
    fn until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        eventually(what, || {
            self.take();
            done(self)
        });
    }
}

fn readers(participant: &DomainParticipant) -> Cut {
    let topic = participant.create_topic::<Numbered>(TOPIC, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let qos = DataReaderQos::default().best_effort().keep_all();
    Cut {
        reliable: reader(participant),
        best_effort: subscriber.create_datareader(&topic, &qos).unwrap(),
        next: 0,
        seen: None,
        last: Instant::now(),
        longest: Duration::ZERO,
    }
}

/// Goes on until data comes through memory.
fn in_memory(cut: &mut Cut, participant: &DomainParticipant) {
    let octets = || participant.transport_stats().shared_received_octets;
    let enough = octets() + 100_000;
    cut.until("data through memory", |_| octets() > enough);
}

/// Ends the writing: how many samples there were, and how many files of the writer were cut.
fn stop(cut: &mut Cut, folder: &Path, mut other: Other) -> [u64; 2] {
    std::fs::write(folder.join(STOP), []).unwrap();
    let line = std::thread::scope(|scope| {
        let told = scope.spawn(|| other.says("written"));
        cut.until("the end", |_| told.is_finished());
        told.join().unwrap()
    });
    let words: Vec<&str> = line[line.find("written").unwrap()..].split_whitespace().collect();
    let [written, files]: [u64; 2] = [words[1].parse().unwrap(), words[3].parse().unwrap()];
    cut.until("all samples", |cut| cut.next == written);
    [written, files]
}

/// All files of two processes are cut to several lengths in the middle of the traffic. What is reliable arrives, what is not
/// is counted, and both processes use memory again afterwards.
#[test]
fn truncated_shared_memory_files_end_no_process_and_lose_no_reliable_sample() {
    let (domain, folder) = (common::domain(), folder());
    let participant = participant(domain, folder.path());
    let mut cut = readers(&participant);
    let other = Other::start("write-until", domain, folder.path());
    cut.until("the first samples", |cut| cut.next > BETWEEN);
    cut.longest = Duration::ZERO;
    for len in [0, 70_000, 4096, 0, 100] {
        in_memory(&mut cut, &participant);
        cut_all(folder.path(), len);
        let next = cut.next + BETWEEN;
        cut.until("more samples", |cut| cut.next > next);
    }
    in_memory(&mut cut, &participant);
    let [written, there] = stop(&mut cut, folder.path(), other);
    let here = participant.transport_stats().shared_cut;
    println!("{written} samples, longest pause {:?}, files cut {here} and {there}", cut.longest);
    assert!(cut.longest < LONGEST_PAUSE && here > 0 && there > 0);
    let (first, last, count) = cut.seen.unwrap();
    let lost = u64::try_from(cut.best_effort.sample_lost_status().total).unwrap();
    assert_eq!(
        count + lost,
        last - first + 1,
        "{lost} samples of the best-effort reader are counted as lost"
    );
}
