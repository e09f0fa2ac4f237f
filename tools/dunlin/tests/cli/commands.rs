//! Listing, drawing, asking.

use crate::common::{Background, domain, eventually, run};

#[test]
fn topics_participants_and_qos_are_listed_and_drawn() {
    let domain = &domain(0);
    let shapes =
        ["shapes", "--web", "0", "-d", domain, "--exclusive", "3", "-p", "Square:RED", "-s", "Square"];
    let (_one, line) = Background::start(&shapes);
    assert!(line.starts_with("open http://127.0.0.1:"), "{line}");
    let (_other, _) =
        Background::start(&["shapes", "--web", "0", "-d", domain, "-s", "Square", "-s", "rt/chatter"]);
    let list = ["ls", "--long", "-d", domain, "--wait", "1"];
    let text =
        eventually(&list, &["2 participants, 2 topics", "1 of 2 match", "ownership=EXCLUSIVE", "strength=3"]);
    assert!(text.contains("rt/chatter (topic /chatter) [ShapeType]"), "{text}");
    assert!(text.contains("do not match: OWNERSHIP"), "{text}");
    let json = eventually(&["ls", "--json", "-d", domain, "--wait", "1", "Square"], &["\"name\":\"Square\""]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["topics"].as_array().unwrap().len(), 1);
    assert_eq!(value["topics"][0]["types"][0], "ShapeType");
    assert_eq!(value["participants"][0]["vendor"], "Dunlin");
    let dot =
        eventually(&["graph", "--format", "dot", "-d", domain, "--wait", "1"], &["-> \"topic Square\";"]);
    assert!(dot.contains("\"topic Square\" -> ") && dot.contains("[color=red, style=dashed]"), "{dot}");
    eventually(&["graph", "-d", domain, "--wait", "1"], &["<svg", "class=\"t\"", "class=\"bad\"", "</svg>"]);
}

#[test]
fn a_ping_is_answered_and_without_answer_it_fails() {
    let domain = &domain(1);
    let alone = run(&["ping", "-d", domain, "--wait", "0.2"]);
    assert!(!alone.status.success());
    assert!(String::from_utf8_lossy(&alone.stderr).contains("dunlin ping --answer"));
    let (_answers, line) = Background::start(&["ping", "--answer", "-d", domain]);
    assert!(line.starts_with("answering in domain"), "{line}");
    let asked = run(&["ping", "-d", domain, "-c", "3", "-i", "0", "--size", "20000", "--wait", "30"]);
    let text = String::from_utf8(asked.stdout).unwrap();
    assert!(asked.status.success() && text.contains("20000 bytes: number 3, "), "{text}");
    assert!(text.contains("3 of 3 answered: least "), "{text}");
}

#[test]
fn completion_scripts_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = String::from_utf8(run(&["completions", shell]).stdout).unwrap();
        assert!(text.contains("doctor") && text.contains("graph") && text.contains("shapes"), "{shell}");
    }
}

#[test]
fn shapes_need_a_terminal_or_a_page() {
    let output = run(&["shapes", "-d", &domain(2)]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("--web"));
    let output = run(&["shapes", "--web", "0", "-d", &domain(2), "-p", "Square"]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("TOPIC:COLOR"));
}

#[test]
fn the_type_of_a_topic_is_printed_and_compared() {
    let domain = &domain(3);
    let (_one, _) = Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "Square:RED"]);
    let ask = ["type", "-d", domain, "--wait", "1", "Square"];
    let text = eventually(&ask, &["// ShapeType: 1 writer, 0 readers (Dunlin)", "struct ShapeType {"]);
    assert!(text.contains("string<128> color;") && text.contains("int32 shapesize;"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shape.idl");
    std::fs::write(&file, "struct ShapeType { @key string<128> color; long x; double y; };").unwrap();
    let path = file.to_str().unwrap();
    let text = eventually(
        &["type", "-d", domain, "--wait", "1", "Square", "--diff", path],
        &["and the writer ", " ('dunlin shapes', Dunlin) in XCDR1: do not fit", "  y: "],
    );
    assert!(text.contains("`double` cannot read `int32`"), "{text}");
    assert!(!run(&["type", "-d", domain, "--wait", "0", "NoSuchTopic"]).status.success());
}
