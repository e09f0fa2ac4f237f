//! A domain of its own for each test, the programs in it, and what recordings have.

#![allow(dead_code, reason = "each test uses part of it")]

use dunlin::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant};
use dunlin_recorder::event::{Event, EventKind};
use dunlin_recorder::file::Recording;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Track {
    #[dds(key)]
    pub id: u32,
    pub position: i64,
}

pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

pub fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// One test: its folder and its domain tag.
pub struct Place {
    folder: tempfile::TempDir,
    tag: String,
}

impl Place {
    pub fn new(test: &str) -> Self {
        let tag = format!("recorder-{test}-{}", std::process::id());
        Self { folder: tempfile::tempdir().unwrap(), tag }
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn config(&self) -> Config {
        let mut config = Config::default();
        config.set("network.interfaces", "lo").unwrap();
        config.set("domain.tag", &self.tag).unwrap();
        config
    }

    pub fn participant(&self, domain: u32) -> DomainParticipant {
        DomainParticipant::builder(domain).config(self.config()).build().unwrap()
    }

    pub fn command(&self, program: &str, words: &[&str]) -> Command {
        let file = match program {
            "record" => env!("CARGO_BIN_EXE_dunlin-record"),
            _ => env!("CARGO_BIN_EXE_dunlin-replay"),
        };
        let mut command = Command::new(file);
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        self.environment(&mut command);
        command
    }

    /// Keeps others out of the domains of a program.
    pub fn environment(&self, command: &mut Command) {
        command.env("DUNLIN_NETWORK_INTERFACES", "lo").env("DUNLIN_DOMAIN_TAG", &self.tag);
    }

    /// Runs a program to its end; what it says.
    pub fn run(&self, program: &str, words: &[&str]) -> String {
        let output = self.command(program, words).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    pub fn start(&self, program: &str, words: &[&str]) -> Running {
        let mut command = self.command(program, words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, told) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        std::thread::spawn(move || { lines }.try_for_each(|line| sender.send(line)));
        let input = child.stdin.take();
        Running { child, told, input }
    }
}

/// A program in the background; it is killed at the end of the test.
pub struct Running {
    child: Child,
    told: Receiver<String>,
    input: Option<ChildStdin>,
}

impl Running {
    pub fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Waits for a line on the standard error stream.
    pub fn tells(&self, wanted: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.told.recv_timeout(left).unwrap_or_else(|_| panic!("it does not tell: {wanted}"));
            if line.contains(wanted) {
                return line;
            }
        }
    }

    pub fn line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    pub fn ends(&mut self) -> Option<i32> {
        let mut status = None;
        eventually("the program ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    pub fn ends_by_itself(mut self) {
        let code = self.ends();
        let told: Vec<String> = self.told.try_iter().collect();
        assert_eq!(code, Some(0), "{told:?}");
    }

    pub fn ends_well(self, signal: &str) {
        self.signal(signal);
        self.ends_by_itself();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended perhaps.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
