//! `--idl` and `--diff`: how files are compiled, and with what announced policies they are compared.

use dunlin::qos::DataRepresentationId::Xcdr1;
use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos, TypeConsistencyKind};
use dunlin::{Config, DdsType, DomainParticipant};

use crate::common::{Background, domain, eventually, in_environment, run, text};

/// Included, with a bound and an extensibility that are not written there.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("inc")).unwrap();
    std::fs::write(folder.path().join("inc/color.idl"), "typedef string<BOUND> Color;\n").unwrap();
    let text = "#include \"color.idl\"\n\
        struct ShapeType { @key Color color; long x; long y; long shapesize; };\n";
    std::fs::write(folder.path().join("shape.idl"), text).unwrap();
    let ros = folder.path().join("ros/share/geo/msg");
    std::fs::create_dir_all(&ros).unwrap();
    std::fs::write(ros.join("Point.msg"), "float64 x\n").unwrap();
    std::fs::write(folder.path().join("Pose.msg"), "geo/Point at\n").unwrap();
    folder
}

#[test]
fn files_are_compiled_as_dunlin_idl_does() {
    let (domain, folder) = (&domain(11), files());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, include) = (path("shape.idl"), path("inc"));
    let _shapes =
        Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "Square:RED", "-s", "Circle"]);
    let compiled = ["-I", &include, "-D", "BOUND=128"];
    let diff = ["type", "Square", "-d", domain, "--wait", "1", "--diff", &file];
    let told = eventually(&[&diff[..], &compiled].concat(), &["1 writer", ": fit"]);
    assert!(!told.contains("do not fit"), "{told}");
    let last = ["--default-extensibility", "final"];
    let told = eventually(&[&diff[..], &compiled, &last].concat(), &["1 writer", "do not fit"]);
    assert!(told.contains("final"), "{told}");
    let failed = run(&[&diff[..], &["-D", "BOUND=128"]].concat());
    assert!(!failed.status.success() && String::from_utf8_lossy(&failed.stderr).contains("color.idl"));
    let echo = ["echo", "Square", "-d", domain, "--wait", "60", "-f", "line", "-c", "1", "--idl", &file];
    assert!(text(&[&echo[..], &compiled].concat()).starts_with("color=RED x="));
    let publish = ["pub", "Circle", "-d", domain, "--wait", "60", "{color: RED}", "--idl", &file];
    assert!(text(&[&publish[..], &compiled].concat()).starts_with("1 sample of ShapeType"));
    // What has no file to be about is refused.
    for words in [&["type", "Square"], &["echo", "Square"], &["pub", "Circle"]] {
        let value: &[&str] = if words[0] == "pub" { &["{}"] } else { &[] };
        let refused = run(&[&words[..], value, &["-d", domain, "--wait", "60", "-D", "A"]].concat());
        assert!(!refused.status.success(), "{words:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("say how IDL is compiled"), "{words:?}");
    }
}

#[test]
fn packages_of_ros_2_are_found_where_they_are_installed() {
    let (domain, folder) = (&domain(12), files());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir_all(folder.path().join("ws/demo/msg")).unwrap();
    std::fs::rename(folder.path().join("Pose.msg"), folder.path().join("ws/demo/msg/Pose.msg")).unwrap();
    let file = path("ws/demo/msg/Pose.msg");
    let publish =
        ["pub", "/pose", "-d", domain, "--wait", "0", "--idl", &file, "--type", "demo/msg/Pose", "{}"];
    let ament = ("AMENT_PREFIX_PATH", path("ros"));
    let (found, lost) = (in_environment(&publish, &[(ament.0, &ament.1)]), run(&publish));
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    assert!(!lost.status.success() && String::from_utf8_lossy(&lost.stderr).contains("geo/Point"));
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(appendable)]
struct Reading {
    n: u32,
}

#[test]
fn announced_type_information_decides_compatibility() {
    let (domain, folder) = (&domain(13), tempfile::tempdir().unwrap());
    let file = folder.path().join("reading.idl");
    std::fs::write(&file, "@appendable struct Reading { uint32 n; uint32 more; };\n").unwrap();
    let file = file.to_str().unwrap();
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    let builder = DomainParticipant::builder(domain.parse().unwrap()).config(config).name("strict one");
    let participant = builder.build().unwrap();
    let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let mut qos = DataReaderQos::default();
    let usual = subscriber.create_datareader(&topic, &qos).unwrap();
    qos.type_consistency.kind = TypeConsistencyKind::DisallowTypeCoercion;
    qos.representation.ids = vec![Xcdr1];
    let strict = subscriber.create_datareader(&topic, &qos).unwrap();
    let ask = ["type", "Readings", "-d", domain, "--wait", "1", "--diff", file];
    let told = eventually(&ask, &["0 writers, 2 readers"]);
    let line =
        |guid: String| told.lines().find(|line| line.contains(&guid)).unwrap_or_else(|| panic!("{told}"));
    let (usual, strict) = (line(usual.guid().unwrap().to_string()), line(strict.guid().unwrap().to_string()));
    assert!(usual.contains("('strict one', Dunlin)") && usual.ends_with(" in XCDR1: fit"), "{told}");
    assert!(strict.ends_with(" in XCDR1, DISALLOW_TYPE_COERCION: do not fit"), "{told}");
    assert!(told.contains("a writer of the topic's type (there is none)"), "{told}");
    let json = eventually(&[&ask[..], &["--json"]].concat(), &["\"readers\":2"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let fits: Vec<_> = value["pairs"].as_array().unwrap().iter().map(|pair| pair["fit"].clone()).collect();
    assert_eq!((json.lines().count(), fits), (1, vec![true.into(), true.into(), false.into()]), "{json}");
    assert_eq!(value["pairs"][2]["type_consistency"], "DISALLOW_TYPE_COERCION");
}
