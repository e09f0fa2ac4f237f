//! Datagrams that nobody should have sent.

use dunlin_core::{Duration, Locator, Rng};
use dunlin_engine::ParticipantConfig;
use dunlin_sim::{NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

/// Bits flip on the way and no checksum notices. Nothing panics, and participants that come afterwards find
/// everything in order.
fn flipped_bits(seed: u64) {
    let filling = Filling::new(4_000);
    let path = PathConfig { corrupt_ppm: 100_000, ..faulty(&mut Rng::new(seed), 100_000) };
    let (mut world, nodes) = world_on(seed, 2, path);
    let writers =
        nodes.iter().map(|node| writer(&mut world, *node, "Noise", keep_all_writer().transient_local()));
    let writers: Vec<_> = writers.collect();
    let readers =
        nodes.iter().map(|node| reader(&mut world, *node, "Noise", keep_all_reader().transient_local()));
    let readers: Vec<_> = readers.collect();
    for number in 0..100 {
        for (node, writer) in nodes.iter().zip(&writers) {
            world.write(*node, writer, filling.request(1, number, 4_000)).expect("no limits");
        }
        world.run_for(ms(20));
    }
    assert!(world.network_stats().corrupted > 0);
    drop(readers);

    world.end_network_faults();
    let newcomer = world.add_node(NodeConfig::default());
    let reader = reader(&mut world, newcomer, "Noise", keep_all_reader().transient_local());
    let complete =
        |_: &mut World| writers.iter().all(|w| reader.matched_writers().iter().any(|m| m.guid == w.guid()));
    world.run_until(complete, secs(20)).expect("both are found");
    world.run_for(secs(5));
    let mut counts = [0; 100];
    for sample in world.take(newcomer, &reader) {
        counts[filling.open(&sample).1 as usize] += 1;
    }
    assert_eq!(counts, [2; 100], "each of both, once");
}
scenario!(bits, 20, flipped_bits);

/// A neighbour that sends mutilated copies of everything it hears, in its own name. It disturbs nobody.
fn noisy_neighbour(seed: u64) {
    let filling = Filling::new(3_000);
    let (mut world, nodes) = faulty_world(seed, 2, 100_000);
    let neighbour = world.add_bystander(NodeConfig::default());
    let writer = writer(&mut world, nodes[0], "Stream", keep_all_writer());
    let reader = reader(&mut world, nodes[1], "Stream", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    world.record(true);
    for number in 0..100 {
        write_all(&mut world, nodes[0], &writer, &filling, [number], 3_000);
        world.run_for(ms(2));
        for heard in world.record(true) {
            mutilate(&mut world, neighbour, &heard);
        }
    }
    world.record(false);
    until_acked(&mut world, &writer, secs(20));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (0..100).collect::<Vec<_>>());
}
scenario!(neighbour, 20, noisy_neighbour);

fn mutilate(world: &mut World, neighbour: NodeId, heard: &dunlin_sim::Datagram) {
    if heard.sender == neighbour || heard.bytes.len() < 20 {
        return;
    }
    let mut bytes = heard.bytes.to_vec();
    bytes[12..20].copy_from_slice(b"neighbor");
    for _ in 0..world.rng().below(8) {
        let at = 20 + world.rng().below(bytes.len() as u64 - 20) as usize;
        bytes[at] = world.rng().next_u64() as u8;
    }
    if world.rng().chance(1, 10) {
        bytes.truncate(20 + world.rng().below(bytes.len() as u64 - 20) as usize);
    }
    let from = Locator::udp_v4(neighbour.address(), 7410);
    world.inject(neighbour, from, heard.to, bytes.into());
}

/// An announcement in the name of somebody who never answers: what it makes a participant send there is bounded, however
/// long the lease that it claims.
fn amplification(lease: Duration) -> u64 {
    let mut world = World::new(1, NetworkConfig::default());
    let victim_place = world.add_bystander(NodeConfig::default());
    // An impostor elsewhere makes the announcement: a real one, with the victim's locators.
    let place = Locator::udp_v4(victim_place.address(), 7410);
    let mut forger = NodeConfig::default();
    forger.participant = ParticipantConfig { lease_duration: lease, ..forger.participant };
    forger.participant.locators.metatraffic_unicast = vec![place];
    forger.participant.locators.default_unicast = vec![place];
    forger.participant.spdp_destinations = vec![group()];
    world.record(true);
    let impostor = world.add_node(forger);
    let announcement = world.record(false).remove(0).bytes;
    world.crash(impostor);

    let node = world.add_node(NodeConfig::default());
    let _writer = writer(&mut world, node, "Any", keep_all_writer());
    world.run_for(secs(1));
    let before = world.traffic_to(place);
    world.inject(victim_place, place, Locator::udp_v4(node.address(), 7410), announcement);
    world.run_for(secs(3_600));
    assert!(world.participant(node).stats().discovery.announcements_received > 0);
    world.traffic_to(place).datagrams - before.datagrams
}

fn group() -> Locator {
    Locator::udp_v4(std::net::Ipv4Addr::new(239, 255, 0, 1), 7400)
}

#[test]
fn a_forged_announcement_is_no_amplifier() {
    for lease in [secs(5), secs(100_000), Duration::INFINITE] {
        let sent = amplification(lease);
        assert!(sent > 0, "a newcomer is answered");
        assert!(sent <= 100, "{sent} datagrams in an hour because of one, with a lease of {lease:?}");
    }
}
