//! `dunlin echo`, `pub`, `hz`, `bw`, `latency`, against shapes that another process publishes.

use std::time::Instant;

use dunlin::DdsType;
use dunlin::qos::{DataReaderQos, OwnershipKind, SubscriberQos, TopicQos};

use crate::common::{Background, PATIENCE, domain, more_domain, participant, run, text, with_input};

/// The same type as in [`IDL`].
#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "mine::Shape", appendable)]
struct Shape {
    #[dds(key)]
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
}

/// The type of shapes, with a name of its own.
const IDL: &str = "module mine {
    @appendable struct Shape { @key string<128> color; long x; long y; long shapesize; };
};";

fn idl(folder: &tempfile::TempDir) -> String {
    let file = folder.path().join("shape.idl");
    std::fs::write(&file, IDL).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn samples_are_echoed_and_measured() {
    let domain = &domain(4);
    let _shapes =
        Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "Square:RED", "-p", "Square:BLUE"]);
    let echo = ["echo", "Square", "-d", domain, "--wait", "60"];
    let yaml = text(&[&echo[..], &["--count", "1"]].concat());
    assert!(yaml.starts_with("---\ncolor: ") && yaml.contains("\nshapesize: "), "{yaml}");
    let filter = ["--count", "3", "--format", "json", "--filter", "color = 'RED'", "--stats"];
    let output = run(&[&echo[..], &filter].concat());
    let lines: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line["color"] == "RED"), "{lines:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("3 samples in "));
    let line = text(&[&echo[..], &["--count", "1", "--format", "line", "--fields", "x,color"]].concat());
    assert!(line.starts_with("x=") && line.contains(" color=") && !line.contains("shapesize"), "{line}");
    let table = text(&[&echo[..], &["--count", "2", "--format", "table", "--info"]].concat());
    assert!(table.starts_with("source_timestamp") && table.lines().count() == 3, "{table}");
    let wrong = run(&[&echo[..], &["--fields", "colour"]].concat());
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        !wrong.status.success() && told.contains("no member 'colour'") && told.contains("shapesize"),
        "{told}"
    );
    let measure = |what: &str| text(&[what, "Square", "-d", domain, "--wait", "60", "-c", "2", "-i", "0.5"]);
    assert!(measure("hz").contains("samples/s; between two: least "));
    assert!(measure("bw").contains("bytes/s; of a sample: least "));
    assert!(measure("latency").contains("deviation "));
}

#[test]
fn published_samples_are_echoed_until_their_instance_ends() {
    let (domain, folder) = (&domain(5), tempfile::tempdir().unwrap());
    let idl = &idl(&folder);
    let publish = ["pub", "/shapes", "-d", domain, "--idl", idl, "--type", "mine::Shape"];
    let value = "{color: GREEN, x: 3, y: -4}";
    let alone = run(&[&publish[..], &["--wait", "0.2", value]].concat());
    let told = String::from_utf8(alone.stderr).unwrap();
    assert!(!alone.status.success() && told.contains("nobody reads topic"), "{told}");
    let wrong = run(&[&publish[..], &["--wait", "0", "{x: wide}"]].concat());
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("x: expected int32, not \"wide\""));
    let echo = ["echo", "/shapes", "-d", domain, "--wait", "60", "-f", "json"];
    let (_echo, lines) = Background::lines(&echo);
    let told = text(&[&publish[..], &["--wait", "60", value]].concat());
    assert_eq!(told, "1 sample of mine::Shape written to 1 reader\n");
    let line =
        || -> serde_json::Value { serde_json::from_str(&lines.recv_timeout(PATIENCE).unwrap()).unwrap() };
    assert_eq!(line(), serde_json::json!({"color": "GREEN", "x": 3, "y": -4, "shapesize": 0}));
    let end = line();
    assert!(end["info"]["instance_state"].as_str().unwrap().starts_with("NOT_ALIVE"), "{end}");
    assert_eq!(end["key"], serde_json::json!({"color": "GREEN"}));
    let nobody = run(&["hz", "Nobody", "-d", domain, "--wait", "0.2"]);
    assert!(String::from_utf8(nobody.stderr).unwrap().contains("nobody writes 'Nobody'"));
}

#[test]
fn the_type_comes_from_the_reader_or_from_a_file() {
    let (domain, folder) = (&domain(6), tempfile::tempdir().unwrap());
    let idl = &idl(&folder);
    let _shapes =
        Background::start(&["shapes", "--web", "0", "-d", domain, "-s", "Circle", "-p", "Square:RED"]);
    let publish = ["pub", "Circle", "-d", domain, "--rate", "1000"];
    let told = text(&[&publish[..], &["--wait", "60", "--count", "3", "{color: BLUE, x: 7}"]].concat());
    assert_eq!(told, "3 samples of ShapeType written to 1 reader\n");
    let untold = run(&["pub", "Nobody", "-d", domain, "--wait", "0", "{}"]);
    let why = String::from_utf8(untold.stderr).unwrap();
    assert!(!untold.status.success() && why.contains("give it with --idl and --type"), "{why}");
    // Who announces no type matches by its name, which is that of the writer.
    let silent = ["--set", "types.announce=false", "--type", "mine::Shape", "--count", "1", "-f", "line"];
    let echo = ["echo", "Square", "-d", domain, "--wait", "60", "--idl", idl];
    let line = text(&[&echo[..], &silent].concat());
    assert!(line.starts_with("color=RED x="), "{line}");
}

#[test]
fn values_of_standard_input_are_published() {
    let (domain, folder) = (&domain(19), tempfile::tempdir().unwrap());
    let idl = &idl(&folder);
    let publish =
        ["pub", "Circles", "-", "-d", domain, "--idl", idl, "--type", "mine::Shape", "--rate", "1000"];
    let wrong = with_input(&publish, "{\"x\": 1}\n\n{\"x\": \"wide\"}\n");
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && told.contains("line 3: x: expected int32"), "{told}");
    let wrong = with_input(&publish, "x: 1\n---\ny: tall\n");
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && told.contains("value 2: y: expected int32"), "{told}");
    assert!(String::from_utf8(with_input(&publish, "\n").stderr).unwrap().contains("holds no value"));
    let echo = ["echo", "Circles", "-d", domain, "--wait", "60", "-f", "json"];
    let (_echo, lines) = Background::lines(&echo);
    let places = |count: usize| -> Vec<(serde_json::Value, serde_json::Value)> {
        let next = || lines.recv_timeout(PATIENCE).unwrap();
        let values = std::iter::repeat_with(next).map(|line| serde_json::from_str(&line).unwrap());
        let samples = values.filter(|value: &serde_json::Value| value["info"].is_null());
        samples.take(count).map(|value| (value["color"].clone(), value["x"].clone())).collect()
    };
    let publish = [&publish[..], &["--wait", "60"]].concat();
    let json = with_input(&publish, "{\"color\": \"A\", \"x\": 1}\n\n{\"color\": \"B\", \"x\": 2}\n");
    assert_eq!(String::from_utf8(json.stdout).unwrap(), "2 samples of mine::Shape written to 1 reader\n");
    assert_eq!(places(2), [("A".into(), 1.into()), ("B".into(), 2.into())]);
    let yaml = "color: C\nx: 3\n---\ncolor: D\nx: 4\n---\n{color: E, x: 5}\n";
    let yaml = with_input(&publish, yaml);
    assert_eq!(String::from_utf8(yaml.stdout).unwrap(), "3 samples of mine::Shape written to 1 reader\n");
    assert_eq!(places(3), [("C".into(), 3.into()), ("D".into(), 4.into()), ("E".into(), 5.into())]);
}

/// The writer that is there before any reader is volatile, and shares what it owns: one that asks for more has it made anew.
#[test]
fn a_reader_that_comes_later_has_a_writer_that_suits_it() {
    let (domain, folder) = (&more_domain(9), tempfile::tempdir().unwrap());
    let idl = &idl(&folder);
    let late = participant(domain, "late", &[]);
    let publish = ["pub", "Late", "-d", domain, "--idl", idl, "--type", "mine::Shape", "--wait", "60"];
    let (_pub, told) = Background::lines(&[&publish[..], &["{color: RED, x: 5}"]].concat());
    let deadline = Instant::now() + PATIENCE;
    let eventually = |what: &str, seen: &dyn Fn() -> bool| {
        while !seen() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
    };
    eventually("the writer for nobody", &|| {
        late.discovered_publications().iter().any(|it| &*it.topic_name == "Late")
    });
    let topic = late.create_topic::<Shape>("Late", &TopicQos::default()).unwrap();
    let mut qos = DataReaderQos::default().reliable().transient_local();
    qos.ownership.kind = OwnershipKind::Exclusive;
    let subscriber = late.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &qos).unwrap();
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "1 sample of mine::Shape written to 1 reader");
    let sample = reader.take(1).unwrap().remove(0).data.unwrap();
    assert_eq!((&*sample.color, sample.x), ("RED", 5));
}
