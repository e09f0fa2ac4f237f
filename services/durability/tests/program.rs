//! The program itself, over the loopback interface. A domain tag of each test keeps others out of its domain, so that configurations run
//! as the page shows them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dunlin::qos::{DataReaderQos, DataWriterQos, DurabilityKind, DurabilityService, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant};
use dunlin_test_program::{PATIENCE, Place, Running, eventually, minds_where_its_answer_goes, text};

/// What the service of the tests keeps of each instance.
const DEPTH: i32 = 3;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Track {
    #[dds(key)]
    id: u32,
    position: i64,
}

const STORE: &str = env!("CARGO_BIN_EXE_dunlin-store");

/// Runs the program to its end.
fn output(words: &[&str]) -> Output {
    Command::new(STORE).args(words).stdin(Stdio::null()).output().unwrap()
}

fn told(words: &[&str]) -> String {
    let output = output(words);
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Waits until the participant has met the service.
fn served(participant: DomainParticipant) -> DomainParticipant {
    participant.wait_for_durability_service(dunlin::Duration::from_secs(60)).unwrap();
    participant
}

fn writer(participant: &DomainParticipant) -> DataWriter<Track> {
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&Default::default()).unwrap();
    let service = DurabilityService { history_depth: DEPTH, ..DurabilityService::default() };
    let qos = DataWriterQos::default().reliable().keep_all().durability(DurabilityKind::Persistent);
    publisher.create_datawriter(&topic, &qos.durability_service(service)).unwrap()
}

fn reader(place: &Place) -> DataReader<Track> {
    let participant = served(place.participant(0));
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

/// The service of the quick start, with its file in the test's folder.
fn start(place: &Place) -> Running {
    let config = place.file("site.toml", &std::fs::read_to_string(example("site.toml")).unwrap());
    let running = Running::start(&mut place.command(STORE, &[config.to_str().unwrap()]));
    running.tells("ready");
    running
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// This test as a process of its own that writes, tells when all is stored, and waits to be killed. Does nothing otherwise.
#[test]
fn the_writer_of_other_tests() {
    let Ok(samples) = std::env::var("WRITER_SAMPLES") else { return };
    let participant = served(DomainParticipant::new(0).unwrap());
    let writer = writer(&participant);
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
    let this = std::env::current_exe().unwrap();
    let words = ["--exact", "the_writer_of_other_tests", "--nocapture"];
    let mut command = place.command(this.to_str().unwrap(), &words);
    let mut writer = Running::start(command.stdout(Stdio::null()).env("WRITER_SAMPLES", samples.to_string()));
    writer.tells("stored");
    writer.kill();
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
        let place = Place::new(&format!("store-killed{round}"));
        let mut service = start(&place);
        let samples = 20 + round;
        written_and_killed(&place, samples);
        assert_eq!(arrive(&reader(&place), 12), expected(samples), "round {round}");
        if round % 2 == 0 {
            // The service as well.
            service.kill();
            service = start(&place);
        } else {
            service.signal("-INT");
            assert!(service.ends().success());
            service = start(&place);
        }
        assert_eq!(arrive(&reader(&place), 12), expected(samples), "round {round}, after a restart");
        service.signal("-TERM");
        assert!(service.ends().success());
    }
}

#[test]
fn a_file_is_listed_shown_exported_imported_and_pruned() {
    let place = Place::new("store-tools");
    let mut service = start(&place);
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
    for words in [&["ls", &file][..], &["show", &file, "Tracks"], &["export", &file], &["ls", "--help"]] {
        minds_where_its_answer_goes(|| place.command(STORE, words));
    }
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
fn a_durability_service_survives_a_full_standard_error() {
    let place = Place::new("store-mute");
    let config = place.file("site.toml", &std::fs::read_to_string(example("site.toml")).unwrap());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(STORE, &[config.to_str().unwrap()]);
    let mut service = command.stderr(full).spawn().unwrap();
    let participant = place.participant(0);
    eventually("it is there, or ends", || {
        service.try_wait().unwrap().is_some() || participant.has_durability_service()
    });
    assert_eq!(service.try_wait().unwrap(), None);
    service.kill().unwrap();
    service.wait().unwrap();
}

#[test]
fn check_looks_and_tells_the_line() {
    let place = Place::new("store-check");
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
