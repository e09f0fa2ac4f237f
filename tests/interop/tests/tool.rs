//! `dunlin echo`, `pub` and `type` with topics of other vendors, whose types were never compiled into the tool: from what
//! Cyclone DDS announces, and from IDL where the peer announces nothing.

use anyhow::{Context, Result, ensure};
use dunlin_interop::{Peer, Tool, Vendor, eventually};
use serde_json::{Value, json};

/// What the peer writes as report 3, in the form of the tool.
fn third_report() -> Value {
    json!({
        "station": 3,
        "place": {"lat": 50.25, "lon": -3.0},
        "track": [{"lat": 3.0, "lon": 0.5}, {"lat": 3.0, "lon": 1.5}, {"lat": 3.0, "lon": 2.5}],
        "levels": [-3, 0, 3],
        "corners": [3, 4, 255],
        "quality": "GOOD",
        "readings": [
            {"_d": 0, "counted": 3_298_534_883_328_i64},
            {"_d": 1, "told": "station 3"},
            {"_d": 3, "seen": {"lat": 3.0, "lon": 0.5}},
            {"_d": 9, "measured": 0.75},
        ],
        "note": "note 3 äöü",
    })
}

fn lines(text: &str) -> Result<Vec<Value>> {
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn is_echoed_with_a_type_that_it_announces(vendor: Vendor, domain: u32) -> Result<()> {
    let mut peer = Peer::start(vendor, "report-pub", domain)?;
    for number in [3, 4] {
        peer.tell(&format!("report {number}"))?;
    }
    let echo = ["echo", "Reports", "--wait", "20"];
    let told = Tool::run(domain, &[&echo[..], &["-f", "json", "--count", "2"]].concat())?;
    let told = lines(&told)?;
    ensure!(told[0] == third_report(), "{}", told[0]);
    ensure!(told[1]["note"] == Value::Null && told[1]["levels"] == json!([-4, 0, 4]), "{}", told[1]);
    ensure!(told[1]["readings"][3] == json!({"_d": 9, "measured": 1.0}), "{}", told[1]);
    let parts = ["-f", "line", "--fields", "station,place.lon,track[1].lon,readings[1].told"];
    let chosen = ["--filter", "place.lon < -3.5", "--count", "1"];
    let told = Tool::run(domain, &[&echo[..], &parts, &chosen].concat())?;
    ensure!(told == "station=4 place.lon=-4.0 track[1].lon=1.5 readings[1].told=station 4\n", "{told}");
    let idl = Tool::run(domain, &["type", "Reports"])?;
    let product = if vendor == Vendor::FastDds3Generated("reports") { "Fast DDS" } else { "Cyclone DDS" };
    for words in [
        &*format!("// survey::Report: 1 writer, 0 readers ({product})"),
        "@key @id(0) uint32 station;",
        "sequence<::survey::Position> track;",
        "octet corners[3];",
        "union Reading switch",
        "@optional @id(7) string note;",
        "@value(5) BAD",
    ] {
        ensure!(idl.contains(words), "{words} is not in\n{idl}");
    }
    peer.quit()
}

fn reads_what_is_published_with_a_type_that_it_announces(vendor: Vendor, domain: u32) -> Result<()> {
    let mut peer = Peer::start(vendor, "report-sub", domain)?;
    let report = third_report();
    let told = Tool::run(domain, &["pub", "Reports", "--wait", "20", &report.to_string()])?;
    ensure!(told == "1 sample of survey::Report written to 1 reader\n", "{told}");
    let line = peer.wait_for_prefix("report ")?;
    let mut seen: Value = serde_json::from_str(line.strip_prefix("report ").context("no report")?)?;
    // The peer does not name the members of a union.
    let mut sent = report;
    for reading in sent["readings"].as_array_mut().context("no readings")? {
        let members = reading.as_object_mut().context("no union")?;
        let name = members.keys().find(|name| *name != "_d").context("no member")?.clone();
        let value = members.remove(&name).context("no member")?;
        members.insert("value".into(), value);
    }
    ensure!(seen == sent, "{seen}\n{sent}");
    // What is not said has its default.
    let sparse = "{station: 77, quality: BAD, readings: [{told: two words, _d: 2}]}";
    Tool::run(domain, &["pub", "Reports", "--wait", "20", sparse])?;
    let line = peer.wait_for_prefix("report ")?;
    seen = serde_json::from_str(line.strip_prefix("report ").context("no report")?)?;
    let expected = json!({
        "station": 77, "place": {"lat": 0.0, "lon": 0.0}, "track": [], "levels": [], "corners": [0, 0, 0],
        "quality": "BAD", "readings": [{"_d": 2, "value": "two words"}], "note": null,
    });
    ensure!(seen == expected, "{seen}");
    peer.quit()
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_is_echoed_with_a_type_that_it_announces() -> Result<()> {
    is_echoed_with_a_type_that_it_announces(Vendor::Cyclone, 151)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_reads_what_is_published_with_a_type_that_it_announces() -> Result<()> {
    reads_what_is_published_with_a_type_that_it_announces(Vendor::Cyclone, 152)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_in_c_is_echoed_with_a_type_that_it_announces() -> Result<()> {
    is_echoed_with_a_type_that_it_announces(Vendor::CycloneC, 156)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_in_c_reads_what_is_published_with_a_type_that_it_announces() -> Result<()> {
    reads_what_is_published_with_a_type_that_it_announces(Vendor::CycloneC, 157)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_is_echoed_with_a_type_that_it_announces() -> Result<()> {
    is_echoed_with_a_type_that_it_announces(Vendor::FastDds3Generated("reports"), 159)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_reads_what_is_published_with_a_type_that_it_announces() -> Result<()> {
    reads_what_is_published_with_a_type_that_it_announces(Vendor::FastDds3Generated("reports"), 160)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_is_listed_drawn_and_measured() -> Result<()> {
    let domain = 158;
    let mut peer = Peer::start(Vendor::Cyclone, "shape-pub", domain)?;
    let listed = eventually("Cyclone DDS in the list", || {
        let listed: Value = serde_json::from_str(&Tool::run(domain, &["ls", "--json", "--wait", "1"])?)?;
        Ok((listed["topics"][0]["name"] == "Square").then_some(listed))
    })?;
    let (participant, writer) = (&listed["participants"][0], &listed["topics"][0]["writers"][0]);
    ensure!(participant["vendor"] == "Cyclone DDS" && writer["vendor"] == "Cyclone DDS", "{listed}");
    ensure!(writer["qos"]["reliability"] == "RELIABLE", "{listed}");
    // The peer is a program of Python, on this host.
    let process = participant["process"].as_str().context("no process")?;
    ensure!(process.starts_with("python"), "{listed}");
    ensure!(participant["process_id"].as_str().is_some_and(|id| id.parse::<u32>().is_ok()), "{listed}");
    ensure!(participant["host"].as_str().is_some_and(|host| !host.is_empty()), "{listed}");
    let table = Tool::run(domain, &["ls", "--long", "--wait", "1"])?;
    ensure!(table.contains("\non host ") && table.contains("Cyclone DDS"), "{table}");
    let picture = Tool::run(domain, &["graph", "--format", "dot", "--wait", "1"])?;
    ensure!(picture.contains("Cyclone DDS") && picture.contains("-> \"topic Square\""), "{picture}");
    for (what, key) in [("hz", "samples_per_second"), ("bw", "octets_per_second"), ("latency", "samples")] {
        let words = [what, "Square", "--json", "--wait", "20", "--count", "1", "--interval", "2"];
        let tool = Tool::start(domain, &words)?;
        peer.tell("wait-matched 1")?;
        for number in 0..20 {
            peer.tell(&format!("write RED {number} 2 30"))?;
        }
        let told: Value = serde_json::from_str(&tool.text()?)?;
        ensure!(told["samples"].as_u64().is_some_and(|samples| samples > 0), "{what}: {told}");
        ensure!(told[key].as_f64().is_some_and(|number| number > 0.0), "{what}: {told}");
        if what == "latency" {
            // Both are on this host, so their clock is the same.
            let most = told["latency_us"]["most"].as_f64().context("no time")?;
            ensure!((0.0..10e6).contains(&most), "{told}");
        }
        peer.tell("wait-unmatched")?;
    }
    peer.quit()
}

/// What others call the type, who announce nothing of it.
const IDL: &str = "@final struct ShapeType { @key string color; long x; long y; long shapesize; };\n";

/// RustDDS acknowledges a sample before its application has taken it, and then hands it out only while it knows the writer
/// (docs/late-joiners.md): on a busy machine that may be later than the command lingers unless it is told to.
const LINGER: [&str; 2] = ["--linger", "30"];

fn with_idl(vendor: Vendor, domain: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shape.idl");
    std::fs::write(&file, IDL)?;
    let file = file.to_str().context("the name of a file")?;
    let mut peer = Peer::start(vendor, "shape-pub", domain)?;
    let echo = ["echo", "Square", "--wait", "20", "-f", "json", "--count", "1", "--idl", file];
    // The peer may keep nothing for late readers.
    let tool = Tool::start(domain, &echo)?;
    peer.tell("wait-matched 1")?;
    peer.tell("write RED 11 -12 30")?;
    let told = tool.text()?;
    let expected = json!({"color": "RED", "x": 11, "y": -12, "shapesize": 30});
    ensure!(lines(&told)?.first() == Some(&expected), "{vendor:?}: {told}");
    peer.quit()?;
    let mut peer = Peer::start(vendor, "shape-sub", domain)?;
    let value = "{color: BLUE, x: -7, y: 8, shapesize: 21}";
    // Without --type it waits for the reader, and makes a writer that suits it.
    let publish = ["pub", "Square", "--wait", "20", "--idl", file, value];
    let _tool = Tool::start(domain, &[&publish[..], &LINGER].concat())?;
    peer.wait_for("sample BLUE -7 8 21")?;
    peer.quit()
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_is_echoed_and_reads_with_idl() -> Result<()> {
    with_idl(Vendor::FastDds, 153)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn rustdds_is_echoed_and_reads_with_idl() -> Result<()> {
    with_idl(Vendor::RustDds, 154)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dust_dds_is_echoed_and_reads_with_idl() -> Result<()> {
    with_idl(Vendor::DustDds, 155)
}

/// RustDDS announces nothing of its type, which has structures, sequences, an array, an enumeration and strings.
#[test]
#[ignore = "needs the peers: make interop"]
fn rustdds_is_echoed_and_reads_a_nested_type_with_idl() -> Result<()> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/rust/plain_report.idl");
    let expected = json!({
        "station": 3,
        "place": {"lat": 50.25, "lon": -3.0},
        "track": [{"lat": 3.0, "lon": 0.5}, {"lat": 3.0, "lon": 1.5}, {"lat": 3.0, "lon": 2.5}],
        "levels": [-3, 0, 3],
        "corners": [3, 4, 255],
        "quality": "GOOD",
        "notes": ["note 3 äöü", ""],
    });
    let mut peer = Peer::start(Vendor::RustDdsReports, "report-pub", 161)?;
    let echo = ["echo", "Reports", "--wait", "20", "-f", "json", "--count", "1", "--idl", file];
    let tool = Tool::start(161, &echo)?;
    peer.tell("wait-matched 1")?;
    peer.tell("report 3")?;
    let told = tool.text()?;
    ensure!(lines(&told)?.first() == Some(&expected), "{told}");
    peer.quit()?;
    let mut peer = Peer::start(Vendor::RustDdsReports, "report-sub", 161)?;
    let value = expected.to_string();
    let publish = ["pub", "Reports", "--wait", "20", "--idl", file, &value];
    let _tool = Tool::start(161, &[&publish[..], &LINGER].concat())?;
    let line = peer.wait_for_prefix("report ")?;
    let seen: Value = serde_json::from_str(line.strip_prefix("report ").context("no report")?)?;
    ensure!(seen == expected, "{seen}");
    peer.quit()
}
