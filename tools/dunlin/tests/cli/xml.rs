//! Types that only an XML file tells, on the wire with types that Rust was compiled with.

use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DdsType, DomainParticipant};

use crate::common::{PATIENCE, domain, eventually, run, text};

#[derive(DdsType, Clone, Copy, Debug, Default, PartialEq)]
#[dds(appendable, name = "plant::Phase")]
enum Phase {
    #[default]
    Idle,
    Running = 5,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(mutable, name = "plant::State")]
struct State {
    #[dds(key)]
    machine: String,
    phase: Phase,
    #[dds(optional)]
    speed: Option<f64>,
    levels: Vec<Vec<i32>>,
    grid: [[i16; 2]; 2],
}

const XML: &str = r#"<dds><types><module name="plant">
  <enum name="Phase"><enumerator name="Idle"/><enumerator name="Running" value="5"/></enum>
  <struct name="State" extensibility="mutable">
    <member name="machine" type="string" key="true"/>
    <member name="phase" type="nonBasic" nonBasicTypeName="Phase"/>
    <member name="speed" type="float64" optional="true"/>
    <member name="levels" sequenceMaxLength="-1"><element type="int32" sequenceMaxLength="-1"/></member>
    <member name="grid" type="int16" arrayDimensions="2,2"/>
  </struct>
</module></types></dds>
"#;

fn participant(domain: &str) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    DomainParticipant::builder(domain.parse().unwrap()).config(config).build().unwrap()
}

#[test]
fn types_in_xml_are_read_and_written_with_types_of_rust() {
    let (domain, folder) = (&domain(13), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let file = path("state.xml");
    std::fs::write(&file, XML).unwrap();
    let participant = participant(domain);
    let sent = State {
        machine: "press".into(),
        phase: Phase::Running,
        speed: Some(2.5),
        levels: vec![vec![1, 2], vec![], vec![3]],
        grid: [[1, 2], [3, 4]],
    };
    // A Rust type writes, the tool reads.
    let topic = participant.create_topic::<State>("XmlOut", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let qos = DataWriterQos::default().reliable().transient_local();
    let writer = publisher.create_datawriter(&topic, &qos).unwrap();
    writer.write(&sent).unwrap();
    let echo = ["echo", "XmlOut", "-d", domain, "--wait", "60", "-f", "json", "-c", "1", "--types", &file];
    let seen: serde_json::Value = serde_json::from_str(text(&echo).lines().next().unwrap()).unwrap();
    let value = serde_json::json!({
        "machine": "press", "phase": "Running", "speed": 2.5, "levels": [[1, 2], [], [3]], "grid": [[1, 2], [3, 4]]
    });
    assert_eq!(seen, value);
    // The tool writes, a Rust type reads.
    let topic = participant.create_topic::<State>("XmlIn", &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable()).unwrap();
    let value = value.to_string();
    let publish = ["pub", "XmlIn", "-d", domain, "--wait", "60", "--idl", &file, &value];
    assert!(text(&publish).starts_with("1 sample of plant::State"));
    let deadline = Instant::now() + PATIENCE;
    let received = loop {
        if let Some(sample) = reader.take(1).unwrap().into_iter().find_map(|sample| sample.data) {
            break sample;
        }
        assert!(Instant::now() < deadline, "nothing was received");
        std::thread::park_timeout(Duration::from_millis(10));
    };
    assert_eq!(received, sent);
    // What is announced goes to XML, which fits what it came from.
    let announced = eventually(
        &["type", "XmlOut", "-d", domain, "--wait", "1", "--xml"],
        &["<!-- plant::State: 1 writer, 0 readers", "<struct name=\"State\" extensibility=\"mutable\">"],
    );
    std::fs::write(path("announced.xml"), &announced).unwrap();
    for file in [&file, &path("announced.xml")] {
        let told = eventually(
            &["type", "XmlOut", "-d", domain, "--wait", "1", "--diff", file],
            &["1 writer", ": fit"],
        );
        assert!(!told.contains("do not fit"), "{told}");
    }
    let wrong = XML.replace("float64", "string");
    std::fs::write(&file, wrong).unwrap();
    let told = eventually(&["type", "XmlOut", "-d", domain, "--wait", "1", "--diff", &file], &["do not fit"]);
    assert!(told.contains("speed"), "{told}");
    let refused = run(&["type", "XmlOut", "-d", domain, "--xml", "--diff", &file]);
    assert!(!refused.status.success());
}

#[test]
fn mistakes_in_xml_are_shown_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.xml");
    std::fs::write(
        &file,
        "<types>\n  <struct name=\"A\"><member name=\"x\" type=\"int33\"/></struct>\n</types>\n",
    )
    .unwrap();
    let output = run(&["idl", file.to_str().unwrap()]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && told.contains("a.xml:2:43") && told.contains("did you mean `int32`?"),
        "{told}"
    );
    // IDL to XML and back is the same type.
    let idl = folder.path().join("b.idl");
    std::fs::write(&idl, "module m { struct B { @key long x; sequence<string<4>, 3> y; }; };\n").unwrap();
    std::fs::write(&file, text(&["idl", "--xml", idl.to_str().unwrap()])).unwrap();
    let printed = text(&["idl", "--format", file.to_str().unwrap()]);
    assert!(printed.contains("sequence<string<4>, 3> y;"), "{printed}");
    let files = [file.to_str().unwrap(), idl.to_str().unwrap()];
    assert_eq!(text(&["idl", "--diff", files[0], files[1]]), "no differences\n");
}
