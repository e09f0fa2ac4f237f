//! `dunlin top` where nobody looks: as JSON and as a table.

use serde_json::Value;

use crate::common::{Background, domain, eventually_so, run, text};

/// What is told of a topic, once its rate is known.
fn square(text: &str) -> Option<Value> {
    let told: Value = serde_json::from_str(text).ok()?;
    told["topics"].as_array()?.iter().find(|topic| topic["name"] == "Square").cloned()
}

#[test]
fn rates_are_shown_of_subscribed_topics_alone() {
    let domain = &domain(7);
    let red = ["shapes", "--web", "0", "-d", domain, "-p", "Square:RED", "-p", "Circle:RED"];
    let blue = ["shapes", "--web", "0", "-d", domain, "-p", "Square:BLUE", "-s", "Square"];
    // As other vendors' they tell nothing of their own.
    let (_one, _) = Background::start_in(&red, &[("DUNLIN_STATISTICS_ENABLED", "false")]);
    let (_other, _) = Background::start_in(&blue, &[("DUNLIN_STATISTICS_ENABLED", "false")]);
    let quiet = ["top", "--json", "-d", domain, "--wait", "0.5"];
    let told = eventually_so(&quiet, |text| square(text).is_some_and(|topic| topic["matched"] == 2));
    let topic = square(&told).unwrap();
    assert_eq!((&topic["subscribed"], &topic["samples_per_second"]), (&Value::Bool(false), &Value::Null));
    let loud = ["--subscribe", "--filter", "square", "--interval", "1"];
    let rate = |topic: &Value| topic["samples_per_second"].as_f64().unwrap_or(0.0);
    let told =
        eventually_so(&[&quiet[..], &loud].concat(), |text| square(text).is_some_and(|it| rate(&it) > 10.0));
    let all: Value = serde_json::from_str(&told).unwrap();
    let topic = square(&told).unwrap();
    assert_eq!(all["topics"].as_array().unwrap().len(), 1, "the filter leaves one");
    // The tool's own reader is not among those that it tells of.
    assert_eq!((&topic["writers"], &topic["readers"], &topic["pairs"]), (&2.into(), &1.into(), &2.into()));
    assert_eq!(
        (&topic["type"], &topic["lost"], &topic["again"]),
        (&"ShapeType".into(), &0.into(), &0.into())
    );
    assert_eq!(topic["sources"]["lost"], "subscription");
    // What the writers wrote is what the topic has.
    let endpoints = all["endpoints"].as_array().unwrap();
    let writers: Vec<f64> = endpoints.iter().filter(|it| it["kind"] == "writer").map(rate).collect();
    assert_eq!(writers.len(), 2);
    assert!(writers.iter().all(|rate| *rate > 1.0), "{writers:?}");
    assert!((writers.iter().sum::<f64>() - rate(&topic)).abs() < 1e-6, "{told}");
    assert!(topic["octets_per_second"].as_f64().unwrap() > 20.0 * rate(&topic), "{told}");
}

#[test]
fn top_without_a_terminal_prints_one_table() {
    let domain = &domain(8);
    let (_one, _) = Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "Square:RED"]);
    let table = ["top", "-d", domain, "--wait", "0.5"];
    let told = eventually_so(&table, |text| text.contains("Square"));
    assert!(told.starts_with("TOPIC") && told.contains("dunlin shapes") && told.contains("writer"), "{told}");
    assert_eq!(text(&[&table[..], &["--filter", "nothing like it"]].concat()), "");
    assert!(!run(&["top", "--interval", "0"]).status.success());
}
