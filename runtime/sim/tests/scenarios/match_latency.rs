//! How long it takes until the endpoints of participants that meet have found each other, in ways through the network: on
//! a real one each of them is a thread that has to wake up.

use std::sync::Arc;

use dunlin_core::Duration;
use dunlin_engine::{ReaderSlot, WriterSlot};
use dunlin_sim::{Delay, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

/// One way through the network.
const HOP: Duration = Duration::from_millis(1);

type Endpoints = (Arc<WriterSlot>, Arc<ReaderSlot>);

fn endpoints(world: &mut World, node: NodeId, written: &str, read: &str) -> Endpoints {
    let writer = writer(world, node, written, keep_all_writer());
    (writer, reader(world, node, read, keep_all_reader()))
}

/// Lets the world go on until both have matched, and says how many ways through the network that took.
fn hops(world: &mut World, ours: &Endpoints, theirs: &Endpoints) -> i64 {
    let begin = world.age();
    until_matched(world, &[&ours.0], &[&theirs.1]);
    until_matched(world, &[&theirs.0], &[&ours.1]);
    (world.age().as_nanos() - begin.as_nanos()) / HOP.as_nanos()
}

/// Announcement, answer, proof, proof with the endpoints of one, endpoints of the other.
#[test]
fn a_newcomer_is_matched_within_five_hops() {
    let (mut world, nodes) = world_on(1, 1, PathConfig { delay: Delay::Fixed(HOP), ..PathConfig::default() });
    let theirs = endpoints(&mut world, nodes[0], "Pong", "Ping");
    // It announces itself seldom by then, and hears of the newcomer first.
    world.run_for(secs(20));
    let newcomer = world.add_node(NodeConfig::default());
    let ours = endpoints(&mut world, newcomer, "Ping", "Pong");
    assert_eq!(hops(&mut world, &ours, &theirs), 5);
}

/// Octets that a node sends for each of so many writers: to a newcomer, or to one that it knows when they are made.
fn octets_per_writer(newcomer: bool) -> u64 {
    const WRITERS: u64 = 40;
    // A round trip is longer than it takes to answer.
    let path = PathConfig { delay: Delay::Fixed(Duration::from_millis(5)), ..PathConfig::default() };
    let (mut world, nodes) = world_on(1, 1, path);
    let make = |world: &mut World| -> Vec<Arc<WriterSlot>> {
        let topic = |n| format!("Topic{n}");
        (0..WRITERS).map(|n| writer(world, nodes[0], &topic(n), keep_all_writer())).collect()
    };
    let writers = newcomer.then(|| make(&mut world));
    world.run_for(secs(20));
    if newcomer {
        let before = world.sent_by(nodes[0]).octets;
        world.add_node(NodeConfig::default());
        world.run_for(secs(2));
        drop(writers);
        return (world.sent_by(nodes[0]).octets - before) / WRITERS;
    }
    world.add_node(NodeConfig::default());
    world.run_for(secs(20));
    let before = world.sent_by(nodes[0]).octets;
    let _writers = make(&mut world);
    world.run_for(secs(2));
    (world.sent_by(nodes[0]).octets - before) / WRITERS
}

#[test]
fn a_new_participant_gets_the_sedp_data_of_each_endpoint_once() {
    let (newcomer, known) = (octets_per_writer(true), octets_per_writer(false));
    assert!(newcomer < known + known / 3, "{newcomer} octets for each writer, {known} to one that is known");
}
