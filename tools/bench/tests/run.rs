//! The whole way with the adapters that are built in: scenario, processes, results, comparison, report.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SMALL: &str = r#"
    id = "small"
    about = "for the test"
    repetitions = 3
    [[implementations]]
    name = "Dunlin"
    adapter = "dunlin"
    [[implementations]]
    name = "floor"
    adapter = "udp"
    [[implementations]]
    name = "nobody"
    adapter = "cyclone"
    [[measures]]
    kind = "latency"
    payloads = [64]
    answer = 4
    set_ups = ["inter-process", "intra-process"]
    keep_last = 1
    warm_up = 10
    count = 100
    [[measures]]
    kind = "one-way"
    payloads = [256]
    rate = 2000
    by_chance = true
    seconds = 0.1
    [[measures]]
    kind = "throughput"
    payloads = [1024]
    readers = [1, 2]
    seconds = 0.05
    count = 2000
    [[measures]]
    kind = "discovery"
    topics = [3]
"#;

/// Runs the tool in a folder that has no peers.
fn bench(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-bench"));
    command.args(arguments).current_dir(folder);
    command.env("DUNLIN_BENCH_PEERS", folder.join("peers"));
    command.output().unwrap()
}

fn texts(output: &Output) -> (String, String) {
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn scenario(folder: &Path, text: &str) -> PathBuf {
    let file = folder.join("s.toml");
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_scenario_is_run_compared_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), SMALL);
    let output = bench(folder.path(), &["run", "s.toml", "--out", "r.json"]);
    let (said, complained) = texts(&output);
    assert!(output.status.success(), "{complained}");
    assert!(complained.contains("without nobody") && complained.contains("make bench-peers"), "{complained}");
    assert!(complained.contains("floor: not supported: many-readers"), "{complained}");
    assert!(complained.contains("floor: not supported: many-topics"), "{complained}");
    assert!(said.contains("report:  ./r.html"), "{said}");

    let results: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("r.json")).unwrap()).unwrap();
    let cells = results["cells"].as_array().unwrap();
    // Two round trips, one one way, two throughputs, one discovery; each with two implementations.
    assert_eq!(cells.len(), 12);
    for cell in cells {
        let repetitions = cell["repetitions"].as_array().unwrap();
        if cell["unsupported"].is_string() {
            assert!(repetitions.is_empty() && cell["implementation"] == "floor", "{cell}");
            continue;
        }
        assert_eq!(repetitions.len(), 3, "{cell}");
        for one in repetitions {
            assert!(one["failure"].is_null(), "{cell}");
            let figures = one["figures"].as_object().unwrap();
            assert!(figures.values().all(|figure| figure.as_f64().unwrap() >= 0.0), "{cell}");
            if cell["measure"] == 0 {
                let trips: u64 =
                    one["bins"].as_array().unwrap().iter().map(|bin| bin[1].as_u64().unwrap()).sum();
                assert_eq!(trips, 100, "warm-up is not counted: {cell}");
                assert!(figures["min"].as_f64() <= figures["mean"].as_f64(), "{cell}");
            }
            if cell["measure"] == 2 && cell["implementation"] == "Dunlin" {
                assert_eq!(figures["lost_percent"], 0.0, "{cell}");
            }
        }
    }

    let (verdicts, _) = texts(&bench(folder.path(), &["compare", "r.json"]));
    assert!(verdicts.contains("round trip, two processes, 64 B: floor: median"), "{verdicts}");
    let (markdown, _) = texts(&bench(folder.path(), &["report", "--markdown", "r.json"]));
    assert!(
        markdown.contains("### round trip, one process, 64 B") && markdown.contains("| nobody | missing: "),
        "{markdown}"
    );
    let (brief, _) = texts(&bench(folder.path(), &["report", "--brief", "r.json"]));
    assert!(brief.contains("- nobody: missing: ") && brief.len() <= markdown.len(), "{brief}");
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(
        page.contains("<svg") && page.contains("Distribution") && page.contains("not supported: many-topics")
    );
    let (drawn, _) = texts(&bench(folder.path(), &["report", "--pictures", "pictures", "r.json"]));
    let files: Vec<&str> = drawn.lines().collect();
    assert!(files.len() > 5, "{drawn}");
    for file in files {
        let svg = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{file}: {svg}");
    }
}

const ARCHITECTURES: &str = r#"
    id = "architectures"
    about = "for the test"
    repetitions = 1
    [[implementations]]
    name = "decentralised"
    adapter = "dunlin"
    architecture = "decentralised"
    options = { "receive.waiting" = "blocking" }
    [[implementations]]
    name = "centralised"
    adapter = "dunlin"
    architecture = "centralised"
    [[implementations]]
    name = "federated"
    adapter = "dunlin"
    architecture = "federated"
    [[measures]]
    kind = "latency"
    payloads = [64]
    count = 200
    [[measures]]
    kind = "one-way"
    rate = 100
    seconds = 0.2
    readers = [3]
    [[measures]]
    kind = "applications"
    rate = 100
    seconds = 0.2
    readers = [3]
    [[measures]]
    kind = "fleet"
    readers = [2]
    seconds = 0.1
"#;

#[test]
fn servers_and_daemons_are_started_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), ARCHITECTURES);
    let output = bench(folder.path(), &["run", "s.toml", "--out", "r.json"]);
    assert!(output.status.success(), "{}", texts(&output).1);
    let text = std::fs::read_to_string(folder.path().join("r.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 12);
    for cell in cells {
        let one = &cell["repetitions"][0];
        assert!(one["failure"].is_null(), "{cell}");
        let figure = |name: &str| one["figures"][name].as_f64();
        assert_eq!(figure("lost_percent").unwrap_or_default(), 0.0, "{cell}");
        assert!(figure("cpu_us") > Some(0.0) && figure("all_mb") > Some(0.5), "{cell}");
        let of_hubs = (figure("hubs_mb"), figure("cpu_us_hubs"));
        match cell["implementation"].as_str().unwrap() {
            "decentralised" => assert_eq!(of_hubs, (None, None), "{cell}"),
            // All data goes through a daemon, and none through a server.
            "federated" if cell["measure"] == 0 => assert!(of_hubs.1 > Some(5.0), "{cell}"),
            "centralised" if cell["measure"] == 0 => assert!(of_hubs.1 < Some(5.0), "{cell}"),
            _ => assert!(of_hubs.0 > Some(0.1), "{cell}"),
        }
        if cell["measure"] == 1 || cell["measure"] == 2 {
            let delays: u64 =
                one["bins"].as_array().unwrap().iter().map(|bin| bin[1].as_u64().unwrap()).sum();
            assert!(delays >= 3 * 15, "of all readers: {cell}");
        }
    }
    let parts = ["run", "s.toml", "--kinds", "one-way,fleet", "--readers", "1", "--only", "centralised"];
    let output = bench(folder.path(), &[&parts[..], &["--out", "p.json", "--markdown"]].concat());
    let (said, complained) = texts(&output);
    assert!(said.contains("2 of the scenario's 4 parts were measured."), "{said}{complained}");
}

#[test]
fn a_run_can_be_made_shorter() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), SMALL);
    let shorter =
        ["--count", "50", "--seconds", "0.1", "--repetitions", "1", "--only", "floor", "--no-system-calls"];
    let output = bench(folder.path(), &[&["run", "s.toml", "--out", "r.json"], &shorter[..]].concat());
    assert!(output.status.success(), "{}", texts(&output).1);
    let results: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("r.json")).unwrap()).unwrap();
    let of_cell = |cell: &serde_json::Value| cell["repetitions"][0]["bins"].clone();
    let trips = of_cell(&results["cells"][0]);
    let trips: u64 = trips.as_array().unwrap().iter().map(|bin| bin[1].as_u64().unwrap()).sum();
    assert_eq!(trips, 50);
    let (page, _) = texts(&bench(folder.path(), &["report", "--markdown", "r.json"]));
    for said in [
        "| Dunlin | missing: left out with --only | – | – |",
        "1 repetitions in the place of 3.",
        "round trip: 50 round trips in the place of 100.",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(results["scenario"]["measures"].as_array().unwrap().iter().all(|one| one["seconds"] == 0.1));
    let refused = bench(folder.path(), &["run", "s.toml", "--seconds", "0"]);
    assert!(texts(&refused).1.contains("with these options"), "{}", texts(&refused).1);
}

#[test]
fn scenarios_that_cannot_run_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |from: &str, to: &str, arguments: &[&str]| {
        assert!(SMALL.contains(from), "{from}");
        scenario(folder.path(), &SMALL.replace(from, to));
        let output = bench(folder.path(), &[&["run", "s.toml"], arguments].concat());
        assert!(!output.status.success());
        assert!(!folder.path().join("results").exists(), "nothing is measured");
        texts(&output).1
    };
    let unknown = "adapter = \"udp\"\noptions = { wait = \"never\" }";
    assert!(refused("adapter = \"udp\"", unknown, &[]).contains("wait=never: there are block and spin"));
    let unknown = "adapter = \"udp\"\noptions = { colour = \"red\" }";
    assert!(refused("adapter = \"udp\"", unknown, &[]).contains("colour is unknown; there are: wait"));
    let unknown = "adapter = \"dunlin\"\noptions = { \"network.multicats\" = \"on\" }";
    assert!(refused("adapter = \"dunlin\"", unknown, &[]).contains("network.multicast"));
    assert!(refused("kind = \"discovery\"", "kind = \"dicovery\"", &[]).contains("dicovery"));
    assert!(refused("id", "id", &["--only", "somebody"]).contains("the scenario has Dunlin, floor, nobody"));
    assert!(refused("id", "id", &["--only", "nobody"]).contains("none of the scenario's implementations"));
    assert!(refused("id", "id", &["--repetitions", "0"]).contains("repetitions: from 1"));
    assert!(
        refused("id", "id", &["--remote=-oProxyCommand=x", "--interfaces", "lo,lo", "--addresses", "a,b"])
            .contains("is no host")
    );
    let only_many = SMALL
        .replace("readers = [1, 2]", "readers = [2]")
        .replace("kind = \"latency\"", "kind = \"latency\"\nreliable = true");
    let cut = only_many.find("[[measures]]").unwrap();
    let throughput = only_many.find("kind = \"throughput\"").unwrap() - "[[measures]]\n    ".len();
    let discovery = only_many.find("kind = \"discovery\"").unwrap() - "[[measures]]\n    ".len();
    let text = format!("{}{}", &only_many[..cut], &only_many[throughput..discovery]);
    scenario(folder.path(), &text);
    let output = bench(folder.path(), &["run", "s.toml", "--only", "floor"]);
    assert!(texts(&output).1.contains("nothing of this scenario is supported"), "{}", texts(&output).1);
}

#[test]
fn two_machines_are_reached_through_the_shell_of_the_second() {
    let folder = tempfile::tempdir().unwrap();
    // Instead of ssh: the host is left out, a shell reads the rest, as on the other side.
    let ssh = folder.path().join("ssh");
    std::fs::write(&ssh, "shift\nexec sh -c \"$1\"\n").unwrap();
    let text = SMALL.replace("\"inter-process\", \"intra-process\"", "\"two-hosts\"");
    scenario(folder.path(), &text);
    // The tool's own program has no `bench` before its commands.
    let far = folder.path().join("dunlin");
    let program = env!("CARGO_BIN_EXE_dunlin-bench");
    std::fs::write(&far, format!("#!/bin/sh\nshift\nexec '{program}' \"$@\"\n")).unwrap();
    let output = Command::new("chmod").args(["755", far.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success());
    let ssh = format!("sh {}", ssh.display());
    // Both ends of the floor on one machine need addresses of their own.
    let arguments =
        ["run", "s.toml", "--out", "r.json", "--only", "floor", "--repetitions", "1", "--remote", "host"];
    let rest =
        ["--interfaces", "lo,lo", "--addresses", "127.0.0.1,127.0.0.2", "--ssh", &ssh, "--remote-dunlin"];
    let output = bench(folder.path(), &[&arguments[..], &rest[..], &[far.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", texts(&output).1);
    let results = std::fs::read_to_string(folder.path().join("r.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    let first = &results["cells"][0];
    assert_eq!(first["set_up"], "two hosts");
    let figures = &first["repetitions"][0]["figures"];
    assert!(figures["mean"].is_number(), "{first}");
    assert!(figures["cpu_us_per_round_trip"].is_null(), "the other machine's processor time is not known");
}
