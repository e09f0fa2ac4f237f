//! Names of ROS 2, as `dunlin ls` prints them, are what every command takes.

use crate::common::{Background, PATIENCE, domain, eventually, run, text};

#[test]
fn every_command_takes_names_as_ros_2_has_them() {
    let (domain, folder) = (&domain(9), tempfile::tempdir().unwrap());
    let file = folder.path().join("demo/msg/Pose.msg");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "float64 x\nfloat64 y\n").unwrap();
    let file = file.to_str().unwrap();
    let publish = ["pub", "/pose", "-d", domain, "--idl", file, "--type", "demo/msg/Pose", "--wait", "0"];
    let (_pub, _lines) =
        Background::lines(&[&publish[..], &["--count", "0", "--rate", "50", "{x: 1, y: 2}"]].concat());
    let told = eventually(&["type", "/pose", "-d", domain, "--wait", "0.5"], &["struct Pose_ {"]);
    assert!(told.starts_with("// demo::msg::dds_::Pose_ (demo/msg/Pose): 1 writer, 0 readers"), "{told}");
    let raw = run(&["type", "/pose", "--raw-names", "-d", domain, "--wait", "0.5"]);
    assert!(!raw.status.success() && String::from_utf8_lossy(&raw.stderr).contains("topic '/pose'"));
    let same = text(&["type", "topic /pose", "-d", domain, "--diff", file, "--name", "demo/msg/Pose"]);
    assert!(same.contains(": fit") && !same.contains("do not fit"), "{same}");
    let why = run(&["why", "/pose", "-d", domain, "--wait", "0.5", "--domains", "none"]);
    let why = String::from_utf8(why.stdout).unwrap();
    assert!(why.contains("topic 'rt/pose'") && why.contains("nobody reads"), "{why}");
    let echo = ["echo", "/pose", "-d", domain, "--wait", "60", "-f", "json", "--count", "1"];
    assert_eq!(text(&echo), "{\"x\":1.0,\"y\":2.0}\n");
    assert!(text(&["hz", "/pose", "-d", domain, "--wait", "60", "-c", "1"]).contains("samples/s"));
    let dot = eventually(&["graph", "--format", "dot", "-d", domain, "--wait", "0.5"], &["topic /pose"]);
    assert!(dot.contains("label=\"topic /pose\\ndemo/msg/Pose\""), "{dot}");
    let listed = text(&["ls", "topic /pose", "-d", domain, "--wait", "1"]);
    assert!(listed.contains("rt/pose (topic /pose)  demo/msg/Pose"), "{listed}");
}

#[test]
fn a_topic_that_has_the_name_on_the_wire_goes_first() {
    let domain = &domain(10);
    let _both = Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "/a:RED", "-p", "rt/a:BLUE"]);
    let colour = |topic: &str| {
        text(&["echo", topic, "-d", domain, "--wait", "60", "-f", "line", "--fields", "color", "-c", "1"])
    };
    eventually(&["ls", "-d", domain, "--wait", "0.5"], &["2 topics"]);
    let (list, deadline) = (["topic /a", "rt/a"], std::time::Instant::now() + PATIENCE);
    assert_eq!(list.map(colour), ["color=BLUE\n"; 2]);
    // Which of the two is known first is chance.
    while colour("/a") != "color=RED\n" {
        assert!(std::time::Instant::now() < deadline, "the topic /a is not found");
    }
}
