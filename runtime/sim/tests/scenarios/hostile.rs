//! Datagrams that nobody should have sent.

use std::sync::Arc;

use dunlin_core::{Duration, Locator, Rng};
use dunlin_engine::{EndpointLocators, ParticipantConfig, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_sim::{Datagram, NetworkConfig, NodeConfig, NodeId, PathConfig, World};

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

/// A node that writes a stream, and a place that belongs to a victim, which never sends anything.
fn streaming(seed: u64) -> (World, NodeId, NodeId, Arc<WriterSlot>) {
    let mut world = World::new(seed, NetworkConfig::default());
    let victim = world.add_bystander(NodeConfig::default());
    let node = world.add_node(NodeConfig::default());
    let writer = writer(&mut world, node, "Stream", DataWriterQos::default().best_effort());
    (world, victim, node, writer)
}

/// Where the victim is: discovery and data.
fn places(victim: NodeId) -> [Locator; 2] {
    [7410, 7411].map(|port| Locator::udp_v4(victim.address(), port))
}

/// Everything that a participant sends which has the victim's locators, and really receives there, until it gets the
/// stream.
fn whole_conversation(seed: u64) -> Vec<Datagram> {
    let filling = Filling::new(1_000);
    let (mut world, victim, node, writer) = streaming(seed);
    let [meta, user] = places(victim);
    let mut impostor = NodeConfig::default();
    impostor.participant.locators.metatraffic_unicast = vec![meta];
    impostor.participant.locators.metatraffic_multicast = vec![group()];
    impostor.participant.locators.default_unicast = vec![user];
    impostor.participant.spdp_destinations = vec![group()];
    world.record(true);
    let impostor = world.add_node(impostor);
    let reader = reader(&mut world, impostor, "Stream", DataReaderQos::default().best_effort());
    until_matched(&mut world, &[&writer], &[&reader]);
    world.write(node, &writer, filling.request(1, 1, 1_000)).expect("no limits");
    world.run_for(secs(1));
    assert_eq!(world.take(impostor, &reader).len(), 1);
    world.record(false).into_iter().filter(|datagram| datagram.sender == impostor).collect()
}

/// Somebody elsewhere sends all that in the name of the victim, again and again. Octets it sent, and octets that the
/// victim got.
fn reflect(conversation: &[Datagram], seed: u64) -> (u64, u64) {
    let filling = Filling::new(1_000);
    let (mut world, victim, node, writer) = streaming(seed);
    let attacker = world.add_bystander(NodeConfig::default());
    world.run_for(secs(1));
    for number in 0..1_000 {
        if number % 100 == 0 {
            for datagram in conversation {
                world.inject(attacker, places(victim)[0], datagram.to, datagram.bytes.clone());
            }
        }
        world.write(node, &writer, filling.request(1, number, 1_000)).expect("no limits");
        world.run_for(ms(20));
    }
    let received = places(victim).map(|place| world.traffic_to(place).octets);
    (world.sent_by(attacker).octets, received.iter().sum())
}

#[test]
fn a_whole_forged_conversation_is_no_amplifier() {
    let conversation = whole_conversation(1);
    for seed in 2..12 {
        let (sent, received) = reflect(&conversation, seed);
        assert!(received > 0, "a stranger is answered");
        assert!(received <= 3 * sent, "seed {seed}: {received} octets because of {sent}");
    }
    // Whoever knows the number that cannot be guessed is believed: this is what remains possible.
    let (sent, received) = reflect(&conversation, 1);
    assert!(received > 10 * sent, "{received} octets because of {sent}");
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
    let sent = announcement.len() as u64;
    world.inject(victim_place, place, Locator::udp_v4(node.address(), 7410), announcement);
    world.run_for(secs(3_600));
    assert!(world.participant(node).stats().discovery.announcements_received > 0);
    let received = world.traffic_to(place).octets - before.octets;
    assert!(
        received <= 3 * sent,
        "{received} octets in an hour because of {sent}, with a lease of {lease:?}"
    );
    received
}

fn group() -> Locator {
    Locator::udp_v4(std::net::Ipv4Addr::new(239, 255, 0, 1), 7400)
}

#[test]
fn a_forged_announcement_is_no_amplifier() {
    for lease in [secs(5), secs(100_000), Duration::INFINITE] {
        assert!(amplification(lease) > 0, "a newcomer is answered");
    }
}

/// Where a participant that is what it says it is, and answers, names a victim's address for its data.
#[derive(Clone, Copy, Debug)]
enum Named {
    Default,
    Reader,
    SecondReader,
}

/// Octets that the victim gets of a stream of about 200,000, and how many foreign locators were left out.
fn pointed_at(named: Named, foreign_locators: bool) -> (u64, u64) {
    let filling = Filling::new(1_000);
    let mut world = World::new(1, NetworkConfig::default());
    let victim = world.add_bystander(NodeConfig::default());
    let place = places(victim)[1];
    let mut config = NodeConfig::default();
    config.participant.quotas.foreign_locators = foreign_locators;
    let node = world.add_node(config);
    let writer = writer(&mut world, node, "Stream", DataWriterQos::default().best_effort());
    let mut attacker = NodeConfig::default();
    if matches!(named, Named::Default) {
        // Addresses are given in order.
        let own = u32::from(node.address()) + 1;
        let locators = &mut attacker.participant.locators;
        locators.metatraffic_unicast = vec![Locator::udp_v4(own.into(), 7410)];
        locators.metatraffic_multicast = vec![group()];
        locators.default_unicast = vec![place];
        attacker.participant.spdp_destinations = vec![group()];
    }
    let attacker = world.add_node(attacker);
    let mut spec = reader_spec("Stream", DataReaderQos::default().best_effort());
    if matches!(named, Named::Reader) {
        spec.locators = EndpointLocators { unicast: vec![place], multicast: vec![] };
    }
    let reader = world.create_reader(attacker, spec).expect("valid");
    until_matched(&mut world, &[&writer], &[&reader]);
    if matches!(named, Named::SecondReader) {
        // A second reader of the same participant, when the first one has long been served.
        let mut spec = reader_spec("Stream", DataReaderQos::default().best_effort());
        spec.locators = EndpointLocators { unicast: vec![place], multicast: vec![] };
        world.create_reader(attacker, spec).expect("valid");
        world.run_for(secs(1));
        assert_eq!(writer.matched_readers().len(), 2);
    }
    for number in 0..200 {
        world.write(node, &writer, filling.request(1, number, 1_000)).expect("no limits");
        world.run_for(ms(10));
    }
    (world.traffic_to(place).octets, world.participant(node).stats().discovery.foreign_locators)
}

#[test]
fn no_data_is_sent_to_an_unverified_locator() {
    for named in [Named::Default, Named::Reader, Named::SecondReader] {
        let (received, left_out) = pointed_at(named, false);
        assert_eq!(received, 0, "{named:?}");
        assert!(left_out > 0, "{named:?}: it is counted");
        let (received, left_out) = pointed_at(named, true);
        assert!(received > 200_000, "{named:?}: who switches that off gets what it warns of: {received}");
        assert_eq!(left_out, 0, "{named:?}");
    }
}
