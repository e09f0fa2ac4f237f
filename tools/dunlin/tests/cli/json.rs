//! What programs read: one object in one line.

use serde_json::Value;

use crate::common::{Background, domain, eventually, text};

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[test]
fn measures_types_and_graphs_are_printed_as_json() {
    let domain = &domain(14);
    let _shapes =
        Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "Square:RED", "-p", "Square:BLUE"]);
    let measure = |what: &str| {
        objects(&text(&[what, "Square", "--json", "-d", domain, "--wait", "60", "-c", "2", "-i", "0.5"]))
    };
    let hz = &measure("hz")[1];
    assert!(hz["samples_per_second"].as_f64().unwrap() > 1.0 && hz["between_ms"]["mean"].is_f64(), "{hz}");
    let bw = &measure("bw")[1];
    assert!(bw["octets_per_second"].as_f64().unwrap() > 20.0 && bw["octets"]["least"] == 28.0, "{bw}");
    let latency = &measure("latency")[1];
    assert!(
        latency["latency_us"]["most"].as_f64().unwrap() > 0.0 && latency["samples"].is_u64(),
        "{latency}"
    );
    let types = objects(&text(&["type", "Square", "--json", "-d", domain, "--wait", "1"]));
    assert!(types.len() == 1 && types[0]["idl"].as_str().unwrap().contains("struct ShapeType"), "{types:?}");
    assert_eq!((&types[0]["writers"], &types[0]["vendors"][0]), (&2.into(), &"Dunlin".into()));
    let graph = ["graph", "--format", "json", "-d", domain, "--wait", "1"];
    let graph = objects(&eventually(&graph, &["Square"]));
    let (topic, participant) = (&graph[0]["topics"][0], &graph[0]["participants"][0]);
    assert_eq!((graph.len(), &topic["name"]), (1, &"Square".into()));
    assert_eq!(topic["arrows"][0]["participant"], participant["guid"]);
    assert_eq!(topic["arrows"][0]["writes"], true);
}

#[test]
fn pings_are_printed_as_json() {
    let domain = &domain(15);
    let (_answers, line) = Background::start(&["ping", "--answer", "--json", "-d", domain]);
    assert_eq!(objects(&line)[0]["answering_in"].to_string(), *domain);
    let told = objects(&text(&["ping", "--json", "-d", domain, "-c", "2", "-i", "0", "--wait", "30"]));
    assert_eq!((told.len(), &told[0]["number"], &told[1]["octets"]), (3, &1.into(), &56.into()));
    assert!(told[0]["round_trip_us"].as_f64().unwrap() > 0.0, "{told:?}");
    assert_eq!((&told[2]["asked"], &told[2]["answered"]), (&2.into(), &2.into()));
    assert!(told[2]["round_trip_us"]["median"].as_f64().unwrap() > 0.0, "{told:?}");
}
