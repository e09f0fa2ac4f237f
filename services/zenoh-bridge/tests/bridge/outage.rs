//! Connections that break.

use dunlin_test_program::{Place, eventually};
use dunlin_zenoh_bridge::Count;
use zenoh::Wait;

use crate::support::*;

#[test]
fn a_router_that_is_gone_for_a_while_loses_nothing() {
    let place = Place::new("zenoh-outage");
    let port = free_port();
    let router = Links { mode: "router", listen: vec![endpoint(port)], connect: Vec::new() };
    let first = session(&router);
    let one = bridge(&place, "one", 0, &client_of(port));
    let other = bridge(&place, "other", 1, &client_of(port));
    let writer = writer::<Track>(&place, 0, "Outage", &live_writer());
    let reader = reader::<Track>(&place, 1, "Outage", &live_reader());
    matches(&writer);
    for position in 0..100 {
        writer.write(&track(1, position)).unwrap();
    }
    assert!(positions(&take(&reader, 100)).into_iter().eq(0..100));
    first.close().wait().unwrap();
    let before = count(&one, Count::ToZenoh);
    for position in 100..600 {
        writer.write(&track(1, position)).unwrap();
    }
    eventually("they leave the writer", || count(&one, Count::ToZenoh) == before + 500);
    let _second = session(&router);
    let taken = take(&reader, 500);
    assert!(positions(&taken).into_iter().eq(100..600), "{}; {}", one.counts(), other.counts());
    assert_eq!(count(&other, Count::Missed), 0);
    writer.write(&track(1, 600)).unwrap();
    assert_eq!(positions(&take(&reader, 1)), [600]);
}
