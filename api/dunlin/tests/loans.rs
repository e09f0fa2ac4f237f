//! Samples in memory that writer and readers share, through the public API. The other processes are this program again,
//! with a role.
#![cfg(target_os = "linux")]

mod common;

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use common::eventually;
use common::processes::{Other, participant_with, role};
use common::survivors::{Pulse, Survivors, rounds};
use dunlin::qos::{DataReaderQos, DataWriterQos, DurabilityKind, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    Config, DataReader, DataWriter, DdsType, DomainParticipant, Loan, LoanError, LoanedSample, WriteError,
};

const COUNT: u32 = 300;
const LEN: usize = 25_000;

#[derive(DdsType, Clone, Debug, PartialEq)]
#[repr(C)]
#[dds(final, nested)]
struct Place {
    x: f32,
    y: f32,
}

/// What can be lent. The reader of another process finds that all numbers follow from the first.
#[derive(DdsType, Clone, Debug, PartialEq)]
#[repr(C)]
#[dds(final)]
struct Picture {
    time: u64,
    #[dds(key)]
    camera: u32,
    number: u32,
    from: Place,
    to: Place,
    dots: [u16; LEN],
}

fn fill(picture: &mut Picture, camera: u32, number: u32) {
    (picture.time, picture.camera, picture.number) = (u64::from(number) << 20, camera, number);
    (picture.from, picture.to) = (Place { x: 0.0, y: number as f32 }, Place { x: 1.0, y: number as f32 });
    picture.dots.iter_mut().enumerate().for_each(|(index, dot)| *dot = index as u16 ^ number as u16);
}

fn assert_filled(picture: &Picture) {
    assert_eq!(picture.time, u64::from(picture.number) << 20);
    assert_eq!((picture.from.y, picture.to.x), (picture.number as f32, 1.0));
    assert!(picture.dots.iter().zip(0..).all(|(dot, index)| *dot == index as u16 ^ picture.number as u16));
}

fn participant(domain: u32, directory: &Path) -> DomainParticipant {
    participant_with(domain, directory, "4MiB")
}

fn writer(participant: &DomainParticipant) -> DataWriter<Picture> {
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(16, -1, -1);
    writer_with(participant, &qos.max_blocking_time(dunlin::Duration::from_secs(30)))
}

fn writer_with(participant: &DomainParticipant, qos: &DataWriterQos) -> DataWriter<Picture> {
    let topic = participant.create_topic::<Picture>("Pictures", &TopicQos::default()).unwrap();
    participant.create_publisher(&PublisherQos::default()).unwrap().create_datawriter(&topic, qos).unwrap()
}

fn reader(participant: &DomainParticipant) -> DataReader<Picture> {
    reader_with(participant, &DataReaderQos::default().reliable().keep_all())
}

fn reader_with(participant: &DomainParticipant, qos: &DataReaderQos) -> DataReader<Picture> {
    let topic = participant.create_topic::<Picture>("Pictures", &TopicQos::default()).unwrap();
    participant.create_subscriber(&SubscriberQos::default()).unwrap().create_datareader(&topic, qos).unwrap()
}

fn write(writer: &DataWriter<Picture>, number: u32) {
    let mut loan = writer.loan_sample().unwrap();
    fill(&mut loan, number % 3, number);
    writer.write_loaned(loan).unwrap();
}

/// What the other process does; in the first one it is a test of nothing.
#[test]
fn child_process() {
    let Some((role, domain, directory)) = role() else { return };
    let (role, directory) = (role.as_str(), directory.as_path());
    if role.ends_with("-stay") || role.ends_with("-die") {
        return go_on(role, &participant_with(domain, directory, SMALL_RING), directory);
    }
    let participant = participant(domain, directory);
    match role {
        "write" => {
            let writer = writer(&participant);
            eventually("two readers", || writer.matched_subscriptions().len() == 2);
            (0..COUNT).for_each(|number| write(&writer, number));
            writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
            println!("acknowledged");
            std::thread::park_timeout(Duration::from_secs(60));
        }
        "write-last" => {
            let mut qos = DataWriterQos::default().reliable().keep_last(5);
            qos.durability.kind = DurabilityKind::TransientLocal;
            let writer = writer_with(&participant, &qos);
            eventually("a reader", || !writer.matched_subscriptions().is_empty());
            (0..COUNT).for_each(|number| write(&writer, number));
            writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
            println!("acknowledged");
            std::thread::park_timeout(Duration::from_secs(60));
        }
        "write-until" => write_until(&participant, &directory.join(STOP)),
        "keep" => {
            let (reader, mut kept) = (reader(&participant), Vec::new());
            loop {
                kept.extend(reader.take_loaned(1).unwrap());
                if kept.iter().any(LoanedSample::is_shared) {
                    println!("keeping {}", kept.len());
                }
                std::thread::park_timeout(Duration::from_millis(1));
            }
        }
        other => panic!("no role {other}"),
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn files(folder: &Path, kind: &str) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with(kind)).count()
}

/// How many can be lent at a time.
fn free(writer: &DataWriter<Picture>) -> usize {
    let lent: Vec<Loan<Picture>> =
        std::iter::repeat_with(|| writer.loan_sample().unwrap()).take_while(Loan::is_shared).collect();
    lent.len()
}

/// One reader in another process shares the memory, another one has another folder: both have every sample.
#[test]
fn loans_are_read_in_place_or_as_copies_without_a_shared_folder() {
    let (domain, folder, elsewhere) = (common::domain(), folder(), folder());
    let participants = [&folder, &elsewhere].map(|folder| participant(domain, folder.path()));
    let readers = [&participants[0], &participants[1]].map(reader);
    let mut other = Other::start("write", domain, folder.path());
    let (mut taken, mut shared) = ([[0; 3]; 2], [0; 2]);
    eventually("all samples", || {
        for (index, reader) in readers.iter().enumerate() {
            for sample in reader.take_loaned(3).unwrap() {
                let picture = sample.data().unwrap();
                let of_camera = &mut taken[index][picture.camera as usize];
                assert_eq!(picture.number, *of_camera * 3 + picture.camera, "in order, once each");
                assert_filled(picture);
                *of_camera += 1;
                shared[index] += usize::from(sample.is_shared());
            }
        }
        taken == [[COUNT / 3; 3]; 2]
    });
    other.says("acknowledged");
    assert!(shared[0] > COUNT as usize / 2 && shared[1] == 0, "{shared:?}");
    let octets = participants[0].transport_stats().shared_received_octets;
    let copied = (COUNT as usize - shared[0]) * size_of::<Picture>();
    assert!(
        (octets as usize) < copied + COUNT as usize * 1_000,
        "{octets} octets, of which {copied} were copied"
    );
}

#[test]
fn loans_of_a_killed_reader_return_without_blocking_the_writer() {
    let (domain, folder) = (common::domain(), folder());
    {
        let participant = participant(domain, folder.path());
        let writer = writer(&participant);
        let all = free(&writer);
        assert!(all >= 16, "{all}");
        let mut other = Other::start("keep", domain, folder.path());
        eventually("a reader", || !writer.matched_subscriptions().is_empty());
        (0..all as u32 + 20).for_each(|number| write(&writer, number));
        other.says("keeping");
        writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
        assert!(free(&writer) < all);
        other.kill();
        // The history goes when the dead reader is forgotten, or is acknowledged already.
        eventually("what it kept", || free(&writer) + 16 >= all);
    }
    // A thread of the participant may be about to end with the last sample in its hands.
    eventually("the pool goes with the writer, and the tally of the dead with it", || {
        files(folder.path(), "pool") + files(folder.path(), "tally") == 0
    });
}

#[test]
fn loans_outlive_a_killed_writer_and_late_readers_get_them() {
    let (domain, folder) = (common::domain(), folder());
    {
        let participant = participant(domain, folder.path());
        let early = reader(&participant);
        let mut other = Other::start("write-last", domain, folder.path());
        let (mut kept, mut last) = (Vec::new(), 0);
        eventually("the last sample", || {
            for sample in early.take_loaned(100).unwrap() {
                last = last.max(sample.data().unwrap().number);
                kept.push(sample);
            }
            // Some are kept to the end.
            kept.truncate(5);
            last == COUNT - 1
        });
        other.says("acknowledged");
        let mut qos = DataReaderQos::default().reliable().keep_all();
        qos.durability.kind = DurabilityKind::TransientLocal;
        let (late, mut history) = (reader_with(&participant, &qos), Vec::new());
        eventually("the history", || {
            history.extend(late.take_loaned(100).unwrap());
            history.len() == 15
        });
        other.kill();
        for samples in [&kept, &history] {
            assert!(samples.iter().any(LoanedSample::is_shared));
        }
        for sample in kept.iter().chain(&history) {
            assert_filled(sample.data().unwrap());
        }
        eventually("the pool is swept", || files(folder.path(), "pool") == 0);
        kept.iter().for_each(|sample| assert_filled(sample.data().unwrap()));
    }
    assert_eq!(files(folder.path(), ""), 0);
}

/// With it a pool has twenty slots, so that what does not come back is soon missed.
const SMALL_RING: &str = "256KiB";
/// Cameras of the writer that stays and of those that are killed.
const STAYS: u32 = 0;
const DIES: u32 = 1;

/// What the processes do that are killed, and those that stay.
fn go_on(role: &str, participant: &DomainParticipant, directory: &Path) {
    match role {
        "hold-die" => hold(participant),
        "lend-die" => lend(participant, DIES, || {}),
        "lend-stay" => {
            let mut pulse = Pulse::new(role, directory);
            lend(participant, STAYS, || pulse.step());
        }
        "look-stay" => look(participant, Pulse::new(role, directory)),
        other => panic!("no role {other}"),
    }
}

fn lend(participant: &DomainParticipant, camera: u32, mut written: impl FnMut()) {
    // It waits for nobody: a reader that was killed is matched until its lease ends.
    let writer = writer_with(participant, &DataWriterQos::default().reliable().keep_last(2));
    for number in 0.. {
        let mut loan = writer.loan_sample().unwrap();
        fill(&mut loan, camera, number);
        writer.write_loaned(loan).unwrap();
        written();
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

/// A reader that is killed while it holds some.
fn hold(participant: &DomainParticipant) {
    let (reader, mut kept) = (reader(participant), Vec::new());
    loop {
        kept.extend(reader.take_loaned(2).unwrap().into_iter().filter_map(Kept::new));
        kept.iter().for_each(Kept::assert_unchanged);
        if kept.iter().filter(|it| it.sample.is_shared()).count() > 4 {
            println!("holding {}", kept.len());
            kept.drain(..2);
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// The reader that stays: keeps a few samples, and looks at every octet when it gets one and when it lets it go. Only what
/// lies where its writer put it counts: if the dead had kept what they held, nothing would be left to lend.
fn look(participant: &DomainParticipant, mut pulse: Pulse) {
    let (reader, mut kept, mut next) = (reader(participant), VecDeque::new(), 0);
    loop {
        for sample in reader.take_loaned(10).unwrap().into_iter().filter_map(Kept::new) {
            sample.assert_unchanged();
            // Of each writer that is killed the numbers begin anew.
            if sample.sample.data().unwrap().camera == STAYS {
                assert!(sample.number >= next, "{} after {next}: in order, once each", sample.number);
                next = sample.number + 1;
            }
            match sample.sample.data().unwrap().camera {
                _ if !sample.sample.is_shared() => {}
                STAYS => pulse.step(),
                _ => pulse.step_of_another(),
            }
            kept.push_back(sample);
        }
        while kept.len() > 4 {
            kept.pop_front().unwrap().assert_unchanged();
        }
        assert_eq!(participant.transport_stats().shared_broken, 0);
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

/// A sample that is kept, and which one it was at first.
struct Kept {
    sample: LoanedSample<Picture>,
    number: u32,
}

impl Kept {
    fn new(sample: LoanedSample<Picture>) -> Option<Self> {
        let number = sample.data()?.number;
        Some(Self { sample, number })
    }

    /// It is still that one, every octet of it.
    fn assert_unchanged(&self) {
        let picture = self.sample.data().unwrap();
        assert_filled(picture);
        assert_eq!(picture.number, self.number, "written again while it is in use");
    }
}

/// Readers are killed that hold what was lent to them, and writers of which others hold something.
#[test]
fn killed_borrowers_and_lenders_leave_nothing_behind_and_stop_nobody() {
    let (domain, folder) = (common::domain(), folder());
    let memory = folder.path().join("memory");
    let survivors = Survivors::start(&["lend-stay", "look-stay"], domain, &memory);
    for round in 0..rounds(4) {
        let (role, word) = [("hold-die", Some("holding")), ("lend-die", None)][round as usize % 2];
        // At another moment each time.
        survivors.kill_one(role, word, Duration::from_millis(u64::from(round) * 7 % 50));
    }
    // Those that stayed are killed too.
    survivors.outlive();
    drop(participant(domain, &memory));
    assert_eq!(files(&memory, ""), 0, "nothing is left behind");
}

#[derive(DdsType, Clone)]
#[dds(final)]
struct Worded {
    number: u32,
    words: String,
}

#[derive(DdsType, Clone)]
#[repr(C)]
#[dds(final)]
struct Padded {
    flag: u8,
    number: u32,
}

#[derive(DdsType, Clone)]
#[repr(C)]
#[dds(final)]
struct Flagged {
    number: u32,
    flags: [bool; 4],
}

/// More aligned than any number in CDR, and so than the memory that is lent.
#[derive(DdsType, Clone)]
#[repr(C, align(16))]
#[dds(final)]
struct Aligned {
    numbers: [u64; 2],
}

#[derive(DdsType, Clone)]
#[repr(C)]
struct Extensible {
    number: u32,
}

#[test]
fn only_types_that_are_in_memory_what_they_are_on_the_wire_are_lent() {
    fn refusal<T: DdsType>(participant: &DomainParticipant) -> LoanError {
        let topic = participant.create_topic::<T>(T::TYPE_NAME, &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        writer.loan_sample().map(drop).unwrap_err()
    }
    let folder = folder();
    let participant = participant(common::domain(), folder.path());
    let refusals = [
        refusal::<Worded>(&participant),
        refusal::<Padded>(&participant),
        refusal::<Flagged>(&participant),
        refusal::<Extensible>(&participant),
        refusal::<Aligned>(&participant),
    ];
    assert_eq!(refusals, ["Worded", "Padded", "Flagged", "Extensible", "Aligned"].map(LoanError::NotInPlace));
}

/// What cannot be lent is written and taken as ever, and decoded for those who want loans.
#[test]
fn a_type_that_is_aligned_to_more_is_decoded() {
    let folder = folder();
    let participant = participant(common::domain(), folder.path());
    let topic = participant.create_topic::<Aligned>("Aligned", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable()).unwrap();
    eventually("a reader", || !writer.matched_subscriptions().is_empty());
    let why = writer.loan_sample().map(drop).unwrap_err().to_string();
    assert!(why.contains("Aligned cannot be lent") && why.contains("aligned to at most 8"), "{why}");
    writer.write(&Aligned { numbers: [1, u64::MAX] }).unwrap();
    let mut got = Vec::new();
    eventually("the sample", || {
        got.extend(reader.take_loaned(1).unwrap());
        !got.is_empty()
    });
    assert_eq!((got[0].data().unwrap().numbers, got[0].is_shared()), ([1, u64::MAX], false));
}

/// Without shared memory loans are samples like others; in the participant itself they need none.
#[test]
fn without_shared_memory_loans_are_copied_to_others() {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("shared_memory.enabled", "false").unwrap();
    let domain = common::domain();
    let join = || DomainParticipant::builder(domain).config(config.clone()).build().unwrap();
    let (own, other) = (join(), join());
    let writer = writer(&own);
    let readers = [(reader(&own), true), (reader(&other), false)];
    eventually("both readers", || writer.matched_subscriptions().len() == 2);
    (0..5).for_each(|number| write(&writer, number));
    assert!(!writer.loan_sample().unwrap().is_shared());
    for (reader, in_place) in readers {
        let mut got = Vec::new();
        eventually("all samples", || {
            got.extend(reader.take_loaned(10).unwrap());
            got.len() == 5
        });
        assert!(got.iter().all(|sample| sample.is_shared() == in_place));
        got.iter().for_each(|sample| assert_filled(sample.data().unwrap()));
        let mut numbers: Vec<_> = got.iter().map(|sample| sample.data().unwrap().number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
    }
}

/// A file of this name ends the writing.
const STOP: &str = "stop";

fn write_until(participant: &DomainParticipant, stop: &Path) {
    let (writer, mut number, mut failed) = (writer(participant), 0, 0);
    eventually("a reader", || !writer.matched_subscriptions().is_empty());
    while !stop.exists() {
        let mut loan = writer.loan_sample().unwrap();
        fill(&mut loan, number % 3, number);
        match writer.write_loaned(loan) {
            Ok(()) => {}
            Err(WriteError::Serialize(error)) if error.to_string().contains("cut short") => failed += 1,
            Err(error) => panic!("{error}"),
        }
        number += 1;
        std::thread::park_timeout(Duration::from_micros(500));
    }
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
    println!("written {number} failed {failed}");
    std::thread::park_timeout(Duration::from_secs(60));
}

fn cut(folder: &Path, len: u64) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = std::fs::File::options().write(true).open(entry.unwrap().path());
        file.and_then(|file| file.set_len(len)).unwrap_or_default();
    }
}

/// Takes samples and looks at every octet; true if one of them lay where its writer put it, or none can.
fn take_some(reader: &DataReader<Picture>, in_place: bool, numbers: &mut Vec<u32>) -> bool {
    let mut note = |picture: &Picture| {
        assert_filled(picture);
        numbers.push(picture.number);
    };
    if in_place {
        let samples = reader.take_loaned(10).unwrap();
        samples.iter().filter_map(LoanedSample::data).for_each(&mut note);
        return samples.iter().any(LoanedSample::is_shared);
    }
    let samples = reader.take(10).unwrap_or_default();
    samples.iter().filter_map(|sample| sample.data.as_ref()).for_each(&mut note);
    true
}

/// Ends the writing: how many samples there were, and how many writes failed.
fn stop(folder: &Path, mut other: Other, mut take: impl FnMut()) -> [u32; 2] {
    std::fs::write(folder.join(STOP), []).unwrap();
    let line = std::thread::scope(|scope| {
        let told = scope.spawn(|| other.says("written"));
        eventually("the end", || {
            take();
            told.is_finished()
        });
        told.join().unwrap()
    });
    let words: Vec<&str> = line[line.find("written").unwrap()..].split_whitespace().collect();
    [words[1].parse().unwrap(), words[3].parse().unwrap()]
}

/// What lay in a pool that was cut is lost; no sample has other octets than those that were written.
#[test]
fn truncated_loan_pools_end_no_process_and_damage_no_sample() {
    for (len, in_place) in [(0, true), (150_000, true), (0, false)] {
        let (domain, folder) = (common::domain(), folder());
        let participant = participant(domain, folder.path());
        let (reader, mut numbers) = (reader(&participant), Vec::new());
        let other = Other::start("write-until", domain, folder.path());
        eventually("lent samples", || take_some(&reader, in_place, &mut numbers) && numbers.len() > 50);
        cut(folder.path(), len);
        let before = numbers.len();
        eventually("samples behind them", || {
            take_some(&reader, in_place, &mut numbers);
            numbers.len() > before + 100
        });
        let [written, failed] = stop(folder.path(), other, || {
            take_some(&reader, in_place, &mut numbers);
        });
        eventually("the last sample", || {
            take_some(&reader, in_place, &mut numbers);
            numbers.contains(&(written - 1))
        });
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|one, next| one < next), "once each");
        let lost = written as usize - numbers.len();
        let undecodable = reader.undecodable_count();
        println!("cut to {len}: {lost} of {written} lost, {undecodable} undecodable, {failed} not written");
        // The rest was in the history of the writer, which holds sixteen.
        assert!(lost <= 16 + undecodable as usize + failed as usize, "{lost} of {written} lost");
    }
}
