//! The program itself, over the loopback interface. A domain tag of each test keeps others out of its domain, so that configurations run
//! as the page shows them.

use dunlin::qos::{DataReaderQos, DataWriterQos, DurabilityKind, DurabilityService, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the service of the tests keeps of each instance.
const DEPTH: i32 = 3;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Track {
    #[dds(key)]
    id: u32,
    position: i64,
}

fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-store"));
    command.args(words).env("DUNLIN_NETWORK_INTERFACES", "lo").stdin(Stdio::null());
    command
}

/// Runs the program to its end.
fn output(words: &[&str]) -> Output {
    program(words).output().unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).unwrap()
}

fn told(words: &[&str]) -> String {
    let output = output(words);
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn participant(tag: &str) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("domain.tag", tag).unwrap();
    let participant = DomainParticipant::builder(0).config(config).build().unwrap();
    participant.wait_for_durability_service(dunlin::Duration::from_secs(60)).unwrap();
    participant
}

fn writer(tag: &str) -> DataWriter<Track> {
    let participant = participant(tag);
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&Default::default()).unwrap();
    let service = DurabilityService { history_depth: DEPTH, ..DurabilityService::default() };
    let qos = DataWriterQos::default().reliable().keep_all().durability(DurabilityKind::Persistent);
    publisher.create_datawriter(&topic, &qos.durability_service(service)).unwrap()
}

fn reader(tag: &str) -> DataReader<Track> {
    let participant = participant(tag);
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&Default::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all().durability(DurabilityKind::Persistent);
    subscriber.create_datareader(&topic, &qos).unwrap()
}

/// Takes until so many values are there, and says which.
fn arrive(reader: &DataReader<Track>, count: usize) -> Vec<(u32, i64)> {
    let mut seen = Vec::new();
    eventually(&format!("{count} samples arrive"), || {
        let taken = reader.take(usize::MAX).unwrap();
        seen.extend(taken.into_iter().filter_map(|sample| sample.data).map(|it| (it.id, it.position)));
        seen.len() >= count
    });
    seen.sort_unstable();
    seen
}

/// One test: its folder and its domain tag.
struct Place {
    folder: tempfile::TempDir,
    tag: String,
}

impl Place {
    fn new(test: &str) -> Self {
        let tag = format!("store-{test}-{}", std::process::id());
        Self { folder: tempfile::tempdir().unwrap(), tag }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The service of the quick start, with its file in the test's folder.
    fn start(&self) -> Running {
        let config = self.file("site.toml", &std::fs::read_to_string(example("site.toml")).unwrap());
        let mut running = self.run(&mut program(&[config.to_str().unwrap()]));
        running.tells("ready");
        running
    }

    fn run(&self, command: &mut Command) -> Running {
        let mut child = command.env("DUNLIN_DOMAIN_TAG", &self.tag).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, told) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        std::thread::spawn(move || { lines }.try_for_each(|line| sender.send(line)));
        Running { child, told }
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// A process in the background; it is killed at the end of the test.
struct Running {
    child: Child,
    told: Receiver<String>,
}

impl Running {
    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Waits for a line on the standard error stream.
    fn tells(&mut self, wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.told.recv_timeout(left).unwrap_or_else(|_| panic!("it does not tell: {wanted}"));
            if line.contains(wanted) {
                return;
            }
        }
    }

    fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the process ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended perhaps.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This test as a process of its own that writes, tells when all is stored, and waits to be killed. Does nothing otherwise.
#[test]
fn the_writer_of_other_tests() {
    let Some((tag, samples)) = std::env::var("WRITER_TAG").ok().zip(std::env::var("WRITER_SAMPLES").ok())
    else {
        return;
    };
    let writer = writer(&tag);
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    for position in 0..samples.parse().unwrap() {
        for id in 0..4 {
            writer.write(&Track { id, position }).unwrap();
        }
    }
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    writeln!(std::io::stderr(), "stored").unwrap();
    std::thread::park_timeout(PATIENCE);
}

/// Starts the writer as a process, waits until all is stored, and kills it.
fn written_and_killed(place: &Place, samples: i64) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "the_writer_of_other_tests", "--nocapture"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command.env("WRITER_TAG", &place.tag).env("WRITER_SAMPLES", samples.to_string());
    let mut writer = place.run(&mut command);
    writer.tells("stored");
    writer.child.kill().unwrap();
    writer.ends();
}

fn expected(samples: i64) -> Vec<(u32, i64)> {
    let from = samples - i64::from(DEPTH);
    (0..4).flat_map(|id| (from..samples).map(move |position| (id, position))).collect()
}

/// Rounds with real processes; ROUNDS for more.
#[test]
fn a_late_joiner_gets_the_history_of_a_writer_that_was_killed() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(3);
    for round in 0..rounds {
        let place = Place::new(&format!("killed{round}"));
        let mut service = place.start();
        let samples = 20 + round;
        written_and_killed(&place, samples);
        assert_eq!(arrive(&reader(&place.tag), 12), expected(samples), "round {round}");
        if round % 2 == 0 {
            // The service as well.
            service.child.kill().unwrap();
            service.ends();
            service = place.start();
        } else {
            service.signal("-INT");
            assert!(service.ends().success());
            service = place.start();
        }
        assert_eq!(arrive(&reader(&place.tag), 12), expected(samples), "round {round}, after a restart");
        service.signal("-TERM");
        assert!(service.ends().success());
    }
}

#[test]
fn a_file_is_listed_shown_exported_imported_and_pruned() {
    let place = Place::new("tools");
    let mut service = place.start();
    written_and_killed(&place, 5);
    let file = place.path("history.redb");
    let busy = output(&["ls", &file]);
    assert!(
        !busy.status.success() && text(&busy.stderr).contains("another program"),
        "{}",
        text(&busy.stderr)
    );
    service.signal("-INT");
    assert!(service.ends().success());
    let list = told(&["ls", &file]);
    assert!(list.contains("Tracks") && list.contains(" 12 "), "{list}");
    let shown = told(&["show", &file, "Tracks"]);
    assert_eq!(shown.lines().count(), 12);
    assert!(shown.contains("\"position\":4"), "{shown}");
    let (export, again) = (place.path("export.txt"), place.path("again.redb"));
    told(&["export", &file, &export]);
    told(&["import", &export, &again]);
    assert_eq!(told(&["show", &again, "Tracks"]), shown);
    assert_eq!(told(&["export", &again]), std::fs::read_to_string(&export).unwrap());
    assert!(!output(&["import", &export, &again]).status.success(), "it exists");
    told(&["prune", &again, "--topic", "Tracks"]);
    assert!(!told(&["ls", &again]).contains("Tracks"));
    for wrong in
        [&["show", &file, "Nothing"][..], &["ls", "nowhere.redb"], &["import", &file, &place.path("x.redb")]]
    {
        let refused = output(wrong);
        assert_eq!(refused.status.code(), Some(1), "{wrong:?}");
        assert!(text(&refused.stderr).starts_with("dunlin store: "), "{}", text(&refused.stderr));
    }
}

#[test]
fn check_looks_and_tells_the_line() {
    let place = Place::new("check");
    for name in ["site.toml", "plant.toml"] {
        let well = output(&["--check", example(name).to_str().unwrap()]);
        assert!(well.status.success() && well.stderr.is_empty(), "{}", text(&well.stderr));
    }
    let wrong = place.file("wrong.toml", "name = \"a\"\ndomain = 0\nfiel = \"x\"\n");
    for words in [&["--check", wrong.to_str().unwrap()][..], &[wrong.to_str().unwrap()]] {
        let told = output(words);
        assert_eq!(told.status.code(), Some(1));
        let told = text(&told.stderr);
        assert!(told.contains("wrong.toml:3: there is no key fiel; did you mean file?"), "{told}");
    }
}
