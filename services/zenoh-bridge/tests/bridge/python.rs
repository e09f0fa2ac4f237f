//! The Python package eclipse-zenoh as a peer; `services/external.sh` installs it.

use std::process::{Command, Stdio};

use dunlin_test_program::{Place, Running, eventually};
use dunlin_zenoh_bridge::Bridge;

use crate::support::*;

/// Twenty rounds of one convention, both ways.
fn rounds(name: &str, routes: &str, (out, out_key): (&str, &str), (into, into_key): (&str, &str)) {
    let place = Place::new(name);
    let port = free_port();
    let bridge = Bridge::start(config(&place, "one", 0, &listening(port), routes)).unwrap();
    let python = std::env::var("PYTHON").expect("PYTHON: an interpreter with eclipse-zenoh");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peer.py");
    let mut command = Command::new(python);
    command.args([script, &endpoint(port), out_key, into_key]).stdin(Stdio::piped());
    let mut peer = Running::start(&mut command);
    peer.tells("ready");
    let writer = writer::<Track>(&place, 0, out, &live_writer());
    let reader = reader::<Track>(&place, 0, into, &live_reader());
    matches(&writer);
    for round in 0..20 {
        writer.write(&track(3, round)).unwrap();
        peer.tells(&format!("received {out_key} 3 {round}"));
        let mut tries = 0;
        eventually("it arrives", || {
            // Until the subscription is known there, nothing is sent.
            if tries % 1000 == 0 {
                peer.line(&format!("4 {round}"));
            }
            tries += 1;
            reader.take(usize::MAX).unwrap().iter().any(|it| it.data == Some(track(4, round)))
        });
    }
    drop(bridge);
}

#[test]
#[ignore = "needs the Python package eclipse-zenoh: make services-external"]
fn python_speaks_the_convention_of_plugin_dds() {
    rounds("zenoh-python-dds", ALL, ("Out", "Out"), ("In", "In"));
}

#[test]
#[ignore = "needs the Python package eclipse-zenoh: make services-external"]
fn python_speaks_the_convention_of_plugin_ros2dds() {
    rounds("zenoh-python-ros", ROS, ("rt/out", "bot/out"), ("rt/in", "bot/in"));
}
