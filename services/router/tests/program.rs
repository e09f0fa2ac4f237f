//! The program itself, and a router that is pumped, over the loopback interface. A domain tag of each test keeps others out of its domains, so that
//! configurations run as the page shows them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dunlin::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, InstanceHandle};
use dunlin_router::{Forwarding, Router, RouterConfig};
use dunlin_test_program::{Place, Running, eventually, minds_where_its_answer_goes, text};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Track {
    #[dds(key)]
    id: u32,
    position: i64,
}

/// The program, for what it does without taking part in a domain.
fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-route"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
fn output(words: &[&str]) -> Output {
    program(words).output().unwrap()
}

fn start(place: &Place, words: &[&str]) -> Running {
    Running::start(&mut place.command(env!("CARGO_BIN_EXE_dunlin-route"), words))
}

fn track_writer(place: &Place, domain: u32, topic: &str) -> DataWriter<Track> {
    let participant = place.participant(domain);
    let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&Default::default()).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all().transient_local();
    publisher.create_datawriter(&topic, &qos).unwrap()
}

fn track_reader(place: &Place, domain: u32, topic: &str) -> DataReader<Track> {
    let participant = place.participant(domain);
    let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&Default::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all().transient_local();
    subscriber.create_datareader(&topic, &qos).unwrap()
}

fn write(writer: &DataWriter<Track>, position: i64) {
    writer.write(&Track { id: 1, position }).unwrap();
}

/// Waits for one sample.
fn arrives(reader: &DataReader<Track>, position: i64) {
    eventually(&format!("{position} arrives"), || {
        let taken = reader.take(1).unwrap();
        let taken = taken.first().and_then(|sample| sample.data.as_ref()).map(|track| track.position);
        assert!(taken.is_none_or(|taken| taken == position), "{taken:?} instead of {position}");
        taken.is_some()
    });
}

fn matched(reader: &DataReader<Track>) -> Vec<InstanceHandle> {
    reader.matched_publications()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

#[test]
fn the_quick_start_passes_data_both_ways_and_ends_when_asked() {
    let place = Place::new("route-quick");
    let mut router = start(&place, &[example("gate.toml").to_str().unwrap()]);
    let (there, back) = (track_reader(&place, 1, "Square"), track_reader(&place, 0, "Circle"));
    let not_named = track_reader(&place, 1, "Triangle");
    let (square, circle) = (track_writer(&place, 0, "Square"), track_writer(&place, 1, "Circle"));
    let triangle = track_writer(&place, 0, "Triangle");
    write(&triangle, 9);
    for position in 0..3 {
        write(&square, position);
        arrives(&there, position);
        write(&circle, 10 + position);
        arrives(&back, 10 + position);
    }
    assert!(not_named.take(1).unwrap().is_empty() && matched(&not_named).is_empty());
    router.signal("-TERM");
    assert!(router.ends().success());
}

/// Two topics are passed on, or one.
fn routes(topics: &[&str]) -> String {
    let mut text =
        String::from("name = \"changing\"\nparticipant.inner.domain = 0\nparticipant.outer.domain = 1\n");
    for topic in topics {
        text += &format!(
            "[[route]]\nname = \"{topic}\"\nfrom = \"inner\"\nto = \"outer\"\ntopics = [\"{topic}\"]\n"
        );
    }
    text + "[status]\nparticipants = []\n"
}

#[test]
fn a_hangup_takes_the_changed_file_and_leaves_the_other_route_alone() {
    let place = Place::new("route-hangup");
    let file = place.file("gate.toml", &routes(&["A"]));
    let mut router = start(&place, &[file.to_str().unwrap()]);
    let (a, b) = (track_writer(&place, 0, "A"), track_writer(&place, 0, "B"));
    let (at_a, at_b) = (track_reader(&place, 1, "A"), track_reader(&place, 1, "B"));
    write(&a, 1);
    write(&b, 2);
    arrives(&at_a, 1);
    let output = matched(&at_a);
    assert!(matched(&at_b).is_empty());
    place.file("gate.toml", &routes(&["A", "B"]));
    router.signal("-HUP");
    router.tells("is in force");
    arrives(&at_b, 2);
    place.file("gate.toml", &routes(&["A"]).replace("topics", "topic"));
    router.signal("-HUP");
    router.tells("nothing has changed");
    write(&a, 3);
    write(&b, 4);
    arrives(&at_a, 3);
    arrives(&at_b, 4);
    assert_eq!(matched(&at_a), output);
    router.signal("-INT");
    assert!(router.ends().success());
}

#[test]
fn a_watched_file_is_taken_when_it_changes() {
    let place = Place::new("route-watch");
    let file = place.file("gate.toml", &routes(&["A"]));
    let router = start(&place, &["--watch", file.to_str().unwrap()]);
    let (a, b) = (track_writer(&place, 0, "A"), track_writer(&place, 0, "B"));
    let (at_a, at_b) = (track_reader(&place, 1, "A"), track_reader(&place, 1, "B"));
    write(&a, 1);
    arrives(&at_a, 1);
    place.file("gate.toml", &routes(&["A", "B"]));
    router.tells("is in force");
    write(&b, 2);
    arrives(&at_b, 2);
}

#[test]
fn check_looks_and_tells_the_line() {
    let place = Place::new("route-check");
    for name in ["gate.toml", "plant.toml"] {
        let well = output(&["--check", example(name).to_str().unwrap()]);
        assert!(well.status.success() && well.stderr.is_empty(), "{}", text(&well.stderr));
    }
    let wrong = place.file("wrong.toml", &routes(&["A"]).replace("from", "frm"));
    for words in [&["--check", wrong.to_str().unwrap()][..], &[wrong.to_str().unwrap()]] {
        let told = output(words);
        assert_eq!(told.status.code(), Some(1));
        let told = text(&told.stderr);
        assert!(told.contains("wrong.toml:6: there is no key route.frm; did you mean from?"), "{told}");
    }
}

const RTI: &str = r#"<dds><routing_service name="Gate"><domain_route name="Bridge">
  <participant name="One"><domain_id>0</domain_id></participant>
  <participant name="Two"><domain_id>1</domain_id></participant>
  <session name="S"><topic_route name="Squares">
    <input participant="One"><topic_name>A</topic_name></input>
    <output participant="Two"><topic_name>Boxes</topic_name></output>
  </topic_route><thread_pool><size>2</size></thread_pool></session>
</domain_route></routing_service></dds>
"#;

const DDS_ROUTER: &str = "version: v5.0\nallowlist:\n  - name: \"A\"\nparticipants:\n  - name: P0\n    kind: local\n    domain: 0\n\
                          \x20 - name: P1\n    kind: local\n    domain: 1\nspecs:\n  threads: 4\n";

#[test]
fn imported_configurations_run() {
    for (name, other, topic, left_out) in
        [("gate.xml", RTI, "Boxes", "<thread_pool>"), ("gate.yaml", DDS_ROUTER, "A", "specs")]
    {
        let place = Place::new(&format!("route-{}", name.replace('.', "-")));
        let file = place.file(name, other);
        let import = output(&["import", file.to_str().unwrap()]);
        assert!(import.status.success(), "{}", text(&import.stderr));
        assert!(text(&import.stderr).contains(left_out), "{}", text(&import.stderr));
        minds_where_its_answer_goes(|| program(&["import", file.to_str().unwrap()]));
        let imported = place.file("gate.toml", &text(&import.stdout));
        let _router = start(&place, &[imported.to_str().unwrap()]);
        let (writer, reader) = (track_writer(&place, 0, "A"), track_reader(&place, 1, topic));
        write(&writer, 5);
        arrives(&reader, 5);
    }
}

#[test]
fn a_pumped_router_allocates_nothing_while_nothing_comes() {
    let place = Place::new("route-pumped");
    let tagged: String = ["inner", "outer"]
        .iter()
        .enumerate()
        .map(|(domain, name)| {
            format!(
                "[participant.{name}]\ndomain = {domain}\ntag = \"{}\"\nconfig = \"lo.toml\"\n",
                place.tag()
            )
        })
        .collect();
    place.file("lo.toml", "[network]\ninterfaces = [\"lo\"]\n");
    let text = format!(
        "name = \"pumped\"\n{tagged}[[route]]\nfrom = \"inner\"\nto = \"outer\"\n[status]\nparticipants = []\n"
    );
    let config = RouterConfig::from_toml("pumped.toml", &text, Some(place.folder())).unwrap();
    let mut router = Router::with_forwarding(config, Forwarding::Pumped).unwrap();
    let (writer, reader) = (track_writer(&place, 0, "A"), track_reader(&place, 1, "A"));
    for position in 0..20 {
        write(&writer, position);
        eventually("it passes", || {
            router.pump();
            !reader.take(1).unwrap().is_empty()
        });
    }
    // What discovery still has to say may take a moment.
    eventually("a thousand calls in a row allocate nothing", || {
        let idle = || (0..1000).for_each(|_| _ = router.pump());
        allocation_counter::measure(idle).count_total == 0
    });
}
