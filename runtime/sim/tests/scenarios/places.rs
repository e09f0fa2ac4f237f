//! Addresses that change, routers that translate them, groups that fail, clocks that drift, nodes of the other byte
//! order.

use std::net::Ipv4Addr;

use dunlin_core::Locator;
use dunlin_sim::{Nat, NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

fn stream(world: &mut World, nodes: &[NodeId], filling: &Filling) {
    let writer = writer(world, nodes[0], "Stream", keep_all_writer());
    let reader = reader(world, nodes[1], "Stream", keep_all_reader());
    until_matched(world, &[&writer], &[&reader]);
    write_all(world, nodes[0], &writer, filling, 0..50, 4_000);
    until_acked(world, &writer, secs(10));
    assert_eq!(take_numbers(world, nodes[1], &reader, filling), (0..50).collect::<Vec<_>>());
}

/// Who moves is out of reach until it says where it is.
#[test]
fn a_node_that_moves_is_found_again() {
    let filling = Filling::new(4_000);
    let (mut world, nodes) = world_on(1, 2, PathConfig::default());
    let writer = writer(&mut world, nodes[0], "Moving", keep_all_writer());
    let reader = reader(&mut world, nodes[1], "Moving", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let address = Ipv4Addr::new(172, 16, 0, 9);
    world.change_address(nodes[1], address, false);
    write_all(&mut world, nodes[0], &writer, &filling, 0..5, 100);
    world.run_for(secs(1));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), [], "nobody is at the old address");
    world.change_address(nodes[1], address, true);
    until_acked(&mut world, &writer, secs(5));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), [0, 1, 2, 3, 4]);
}

/// Behind a router a node is found at what it announces, and hears no group.
#[test]
fn a_router_translates_both_ways() {
    let mut world = World::new(2, NetworkConfig::default());
    let outside = world.add_node(NodeConfig::default());
    let mut config = NodeConfig { multicast: false, ..NodeConfig::default() };
    config.participant.initial_peers = world.locators(outside).metatraffic_unicast.clone();
    let inside = world.add_node(config);
    let nat = Nat { address: Ipv4Addr::new(198, 51, 100, 1), port_shift: 1_000 };
    world.set_nat(inside, Some(nat), true);
    world.record(true);
    stream(&mut world, &[inside, outside], &Filling::new(4_000));
    let recorded = world.record(false);
    assert!(recorded.iter().filter(|d| d.sender == inside).all(|d| d.from.port == 8_410));
    let inner = world.locators(inside).metatraffic_unicast[0];
    assert!(world.traffic_to(nat.outside(inner)).datagrams > 0);
    let other = Nat { port_shift: 2_000, ..nat };
    world.set_nat(inside, Some(other), false);
    let before = world.network_stats().unreachable;
    world.run_for(secs(4));
    assert!(world.network_stats().unreachable > before, "the old ports lead nowhere");
}

#[test]
fn groups_fail_for_one_node_or_for_all() {
    let (mut world, nodes) = world_on(3, 3, PathConfig::default());
    let group = Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7400);
    world.run_for(secs(2));
    let cut = |world: &World| world.network_stats().cut;
    let before = cut(&world);
    world.break_group(group, Some(nodes[2]));
    world.run_for(secs(4));
    let one = cut(&world) - before;
    assert!(one >= 2, "two others announce themselves");
    world.break_group(group, None);
    let before = cut(&world);
    world.run_for(secs(4));
    assert!(cut(&world) - before > one);
    world.mend_group(group, None);
    world.mend_group(group, Some(nodes[2]));
    let before = cut(&world);
    world.run_for(secs(4));
    assert_eq!(cut(&world), before);
}

#[test]
fn wall_clocks_jump_and_drift() {
    let (mut world, nodes) = world_on(4, 1, PathConfig::default());
    world.set_wall_drift(nodes[0], 1_000);
    world.run_for(secs(10));
    assert_eq!(world.wall_ahead(nodes[0]), ms(10));
    world.set_wall_drift(nodes[0], -2_000);
    world.run_for(secs(10));
    assert_eq!(world.wall_ahead(nodes[0]), ms(-10), "what it was ahead stays");
    world.set_wall_offset(nodes[0], secs(5));
    assert_eq!(world.wall_ahead(nodes[0]), secs(5));
    world.run_for(secs(1));
    assert_eq!(world.wall_ahead(nodes[0]), ms(4_998));
}

#[test]
fn nodes_of_both_byte_orders_understand_each_other() {
    for (one, other) in [(true, false), (false, true), (true, true)] {
        let mut world =
            World::new(5, NetworkConfig::of(PathConfig { loss_ppm: 100_000, ..PathConfig::default() }));
        let nodes =
            [one, other].map(|big_endian| world.add_node(NodeConfig { big_endian, ..NodeConfig::default() }));
        world.record(true);
        stream(&mut world, &nodes, &Filling::new(4_000));
        let recorded = world.record(false);
        let of_first = || recorded.iter().filter(|datagram| datagram.sender == nodes[0]);
        // The flags of the first submessage; INFO_DST and INFO_TS come first.
        assert!(of_first().all(|datagram| (datagram.bytes[21] & 1 == 0) == one));
        let stats = nodes.map(|node| world.participant(node).stats());
        assert!(stats.iter().all(|stats| stats.malformed == 0), "{stats:?}");
    }
}
