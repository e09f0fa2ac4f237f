//! The program itself, and a router that is pumped, over the loopback interface. A domain tag of each test keeps others out of its domains, so that
//! configurations run as the page shows them.

use dunlin::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, InstanceHandle};
use dunlin_router::{Forwarding, Router, RouterConfig};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

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
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-route"));
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

/// One test: its folder and its domain tag.
struct Place {
    folder: tempfile::TempDir,
    tag: String,
}

impl Place {
    fn new(test: &str) -> Self {
        let tag = format!("route-{test}-{}", std::process::id());
        Self { folder: tempfile::tempdir().unwrap(), tag }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    fn start(&self, words: &[&str]) -> Running {
        let mut command = program(words);
        let mut child = command.env("DUNLIN_DOMAIN_TAG", &self.tag).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, told) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        std::thread::spawn(move || { lines }.try_for_each(|line| sender.send(line)));
        Running { child, told }
    }

    fn participant(&self, domain: u32) -> DomainParticipant {
        let mut config = Config::default();
        config.set("network.interfaces", "lo").unwrap();
        config.set("domain.tag", &self.tag).unwrap();
        DomainParticipant::builder(domain).config(config).build().unwrap()
    }

    fn writer(&self, domain: u32, topic: &str) -> DataWriter<Track> {
        let participant = self.participant(domain);
        let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&Default::default()).unwrap();
        let qos = DataWriterQos::default().reliable().keep_all().transient_local();
        publisher.create_datawriter(&topic, &qos).unwrap()
    }

    fn reader(&self, domain: u32, topic: &str) -> DataReader<Track> {
        let participant = self.participant(domain);
        let topic = participant.create_topic::<Track>(topic, &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&Default::default()).unwrap();
        let qos = DataReaderQos::default().reliable().keep_all().transient_local();
        subscriber.create_datareader(&topic, &qos).unwrap()
    }
}

/// The program in the background; it is killed at the end of the test.
struct Running {
    child: Child,
    told: Receiver<String>,
}

impl Running {
    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Waits for a line on the standard error stream.
    fn tells(&self, wanted: &str) {
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
        eventually("the program ends", || {
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
    let place = Place::new("quick");
    let mut router = place.start(&[example("gate.toml").to_str().unwrap()]);
    let (there, back) = (place.reader(1, "Square"), place.reader(0, "Circle"));
    let not_named = place.reader(1, "Triangle");
    let (square, circle) = (place.writer(0, "Square"), place.writer(1, "Circle"));
    let triangle = place.writer(0, "Triangle");
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
    let place = Place::new("hangup");
    let file = place.file("gate.toml", &routes(&["A"]));
    let mut router = place.start(&[file.to_str().unwrap()]);
    let (a, b) = (place.writer(0, "A"), place.writer(0, "B"));
    let (at_a, at_b) = (place.reader(1, "A"), place.reader(1, "B"));
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
    let place = Place::new("watch");
    let file = place.file("gate.toml", &routes(&["A"]));
    let router = place.start(&["--watch", file.to_str().unwrap()]);
    let (a, b) = (place.writer(0, "A"), place.writer(0, "B"));
    let (at_a, at_b) = (place.reader(1, "A"), place.reader(1, "B"));
    write(&a, 1);
    arrives(&at_a, 1);
    place.file("gate.toml", &routes(&["A", "B"]));
    router.tells("is in force");
    write(&b, 2);
    arrives(&at_b, 2);
}

#[test]
fn check_looks_and_tells_the_line() {
    let place = Place::new("check");
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
        let place = Place::new(&name.replace('.', "-"));
        let file = place.file(name, other);
        let import = output(&["import", file.to_str().unwrap()]);
        assert!(import.status.success(), "{}", text(&import.stderr));
        assert!(text(&import.stderr).contains(left_out), "{}", text(&import.stderr));
        let imported = place.file("gate.toml", &text(&import.stdout));
        let _router = place.start(&[imported.to_str().unwrap()]);
        let (writer, reader) = (place.writer(0, "A"), place.reader(1, topic));
        write(&writer, 5);
        arrives(&reader, 5);
    }
}

#[test]
fn a_pumped_router_allocates_nothing_while_nothing_comes() {
    let place = Place::new("pumped");
    let tagged: String = ["inner", "outer"]
        .iter()
        .enumerate()
        .map(|(domain, name)| {
            format!(
                "[participant.{name}]\ndomain = {domain}\ntag = \"{}\"\nconfig = \"lo.toml\"\n",
                place.tag
            )
        })
        .collect();
    place.file("lo.toml", "[network]\ninterfaces = [\"lo\"]\n");
    let text = format!(
        "name = \"pumped\"\n{tagged}[[route]]\nfrom = \"inner\"\nto = \"outer\"\n[status]\nparticipants = []\n"
    );
    let config = RouterConfig::from_toml("pumped.toml", &text, Some(place.folder.path())).unwrap();
    let mut router = Router::with_forwarding(config, Forwarding::Pumped).unwrap();
    let (writer, reader) = (place.writer(0, "A"), place.reader(1, "A"));
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
