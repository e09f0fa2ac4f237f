//! Nodes of one host: long datagrams, memory, and local delivery within a node.

use dunlin_core::Duration;
use dunlin_sim::{NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

/// The longest sample of these tests.
const LONG: usize = 40_000;

fn world(configs: [NodeConfig; 2]) -> (World, [NodeId; 2]) {
    let mut world = World::new(1, NetworkConfig::default());
    let nodes = configs.map(|config| world.add_node(config));
    (world, nodes)
}

fn on_host(host: u32, memory: bool) -> NodeConfig {
    NodeConfig { host: Some(host), memory, ..NodeConfig::default() }
}

/// Writes long samples from the first to the second; the length of the longest datagram on the network.
fn longest(world: &mut World, [one, other]: [NodeId; 2]) -> usize {
    let filling = Filling::new(LONG);
    let topic = format!("Long{}", world.age().as_nanos());
    let writer = writer(world, one, &topic, keep_all_writer());
    let reader = reader(world, other, &topic, keep_all_reader());
    until_matched(world, &[&writer], &[&reader]);
    world.record(true);
    write_all(world, one, &writer, &filling, 0..5, LONG);
    until_acked(world, &writer, secs(5));
    assert_eq!(take_numbers(world, other, &reader, &filling), [0, 1, 2, 3, 4]);
    world.record(false).iter().map(|datagram| datagram.bytes.len()).max().unwrap_or(0)
}

#[test]
fn datagrams_are_long_within_a_host_and_not_elsewhere() {
    let (mut near, nodes) = world([on_host(1, false), on_host(1, false)]);
    assert!(longest(&mut near, nodes) > LONG);
    let (mut far, nodes) = world([on_host(1, false), on_host(2, false)]);
    assert!(longest(&mut far, nodes) <= 1_472);
}

#[test]
fn data_goes_through_memory_until_that_is_cut() {
    let (mut world, nodes) = world([on_host(1, true), on_host(1, true)]);
    assert!(longest(&mut world, nodes) < 1_000, "what is on the network is not the data");
    let (arrived, lost) = world.through_memory();
    assert!(arrived >= 5 && lost == 0);
    for (from, to) in [(nodes[0], nodes[1]), (nodes[1], nodes[0])] {
        world.cut_memory(from, to);
    }
    assert!(longest(&mut world, nodes) > 1_000, "the data is on the network");
    assert!(world.through_memory().1 > 0, "that had to be found out");
}

/// Readers of the writer's node get new changes without a datagram.
#[test]
fn local_delivery_needs_no_datagram() {
    let (mut world, [node, other]) = world([(); 2].map(|()| NodeConfig::default()));
    let filling = Filling::new(LONG);
    let writer = writer(&mut world, node, "Own", keep_all_writer());
    let reader = reader(&mut world, node, "Own", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    write_all(&mut world, node, &writer, &filling, 0..2, 100);
    assert_eq!(take_numbers(&mut world, node, &reader, &filling), [0, 1], "at once");
    assert!(writer.stats().samples_sent == 2 && writer.stats().datagrams_sent < 2);
    assert!(world.sent_between(node, other) < 50);
}

/// A node of this host moves to a way that carries no datagram of the host's length, though its path is said to.
#[test]
fn samples_arrive_in_time_where_long_datagrams_do_not() {
    const LEN: usize = 151_224;
    let path = PathConfig { mtu: 9_000, ..PathConfig::default() };
    let mut world = World::new(1, NetworkConfig::of(path));
    let nodes = [(); 2].map(|()| world.add_node(on_host(1, false)));
    let filling = Filling::new(LEN);
    let writer = writer(&mut world, nodes[0], "Narrow", keep_all_writer());
    let reader = reader(&mut world, nodes[1], "Narrow", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    world.run_for(secs(1));
    let mut late = 0;
    for number in 0..40 {
        write_all(&mut world, nodes[0], &writer, &filling, [number], LEN);
        world.run_for(Duration::from_millis(100));
        let taken = take_numbers(&mut world, nodes[1], &reader, &filling);
        late += usize::from(!taken.contains(&number));
    }
    until_acked(&mut world, &writer, secs(5));
    assert!(late <= 1, "{late} samples arrived late");
    let lost = world.network_stats().too_long;
    assert!((1..=20).contains(&lost), "{lost} datagrams were too long");
}
