//! A domain of its own for each test, the programs in it, and what recordings have.

#![allow(dead_code, reason = "each test uses part of it")]

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use dunlin::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType};
use dunlin_recorder::event::{Event, EventKind};
use dunlin_recorder::file::Recording;
use dunlin_test_program::{Place, Running, text};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Track {
    #[dds(key)]
    pub id: u32,
    pub position: i64,
}

/// The programs of the recorder in the folder of a test.
pub trait Programs {
    /// `record` or `replay`.
    fn program(&self, name: &str, words: &[&str]) -> Command;

    /// Runs a program to its end; what it says.
    fn run(&self, name: &str, words: &[&str]) -> String {
        let output = self.program(name, words).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    fn start(&self, name: &str, words: &[&str]) -> Running {
        Running::start(self.program(name, words).stdin(Stdio::piped()).stdout(Stdio::piped()))
    }
}

impl Programs for Place {
    fn program(&self, name: &str, words: &[&str]) -> Command {
        let file = match name {
            "record" => env!("CARGO_BIN_EXE_dunlin-record"),
            _ => env!("CARGO_BIN_EXE_dunlin-replay"),
        };
        let mut command = self.command(file, words);
        command.current_dir(self.folder());
        command
    }
}

/// Reliable, and it keeps everything.
pub fn track_writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().autodispose_unregistered_instances(false)
}

pub fn track_writer(place: &Place, domain: u32, topic: &str) -> DataWriter<Track> {
    track_writer_with(place, domain, topic, &track_writer_qos())
}

pub fn track_writer_with(place: &Place, domain: u32, topic: &str, qos: &DataWriterQos) -> DataWriter<Track> {
    let participant = place.participant(domain);
    let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&Default::default()).unwrap();
    publisher.create_datawriter(&topic, qos).unwrap()
}

pub fn track_reader(place: &Place, domain: u32, topic: &str) -> DataReader<Track> {
    let participant = place.participant(domain);
    let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&Default::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    subscriber.create_datareader(&topic, &qos).unwrap()
}

/// What stays the same however often something is recorded and replayed: first number, source timestamp, what happened, octets.
pub type Change = (i64, u64, EventKind, Vec<u8>);

/// By topic and first writer, what was recorded, in order.
pub fn record(file: &str) -> BTreeMap<(String, Vec<u8>), Vec<Change>> {
    let mut changes = BTreeMap::<(String, Vec<u8>), Vec<Change>>::new();
    let mut details = BTreeMap::new();
    let mut recording = Recording::open(file.as_ref()).unwrap();
    let topics: BTreeMap<[u8; 16], String> = recording
        .contents()
        .channels
        .values()
        .filter_map(|channel| channel.source.as_ref())
        .map(|source| (source.writer.to_bytes(), source.topic.clone()))
        .collect();
    recording
        .for_each(0, |contents, message| {
            let channel = &contents.channels[&message.channel];
            let time = message.publish_time;
            if let Some(source) = &channel.source {
                let own = (source.writer.to_bytes(), i64::from(message.sequence));
                let (writer, number) = details.remove(&own.0).unwrap_or(own);
                let key = (source.topic.clone(), writer.to_vec());
                changes.entry(key).or_default().push((
                    number,
                    time,
                    EventKind::Details,
                    message.data.to_vec(),
                ));
                return true;
            }
            let event = Event::from_octets(message.data).unwrap();
            let named = event.original_number > 0;
            let (writer, number) = if named {
                (event.original_writer, event.original_number)
            } else {
                (event.writer, event.number)
            };
            match event.kind {
                EventKind::Details => drop(details.insert(event.writer, (writer, number))),
                // Not the loss of writers that have ended.
                EventKind::Dispose | EventKind::Unregister if event.number > 0 => {
                    let key = (topics[&event.writer].clone(), writer.to_vec());
                    changes.entry(key).or_default().push((number, time, event.kind, event.key));
                }
                _ => {}
            }
            true
        })
        .unwrap();
    changes
}
