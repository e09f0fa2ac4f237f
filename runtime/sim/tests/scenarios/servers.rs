//! Clients of a discovery server that move, and that die.

use std::net::Ipv4Addr;

use dunlin_engine::{DiscoveryRole, Event};
use dunlin_sim::{Identity, NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

/// A server, and two clients that nothing but the server introduces.
fn world(seed: u64, verify_places: bool) -> (World, NodeId, [NodeId; 2]) {
    let mut world = World::new(seed, NetworkConfig::of(PathConfig::default()));
    let config = || {
        let mut config = NodeConfig { multicast: false, ..NodeConfig::default() };
        config.participant.quotas.verify_places = verify_places;
        config
    };
    let mut of_server = config();
    of_server.participant.role = DiscoveryRole::Server;
    let server = world.add_node(of_server);
    let place = world.locators(server).metatraffic_unicast.clone();
    let clients = [(); 2].map(|()| {
        let mut client = config();
        client.participant.initial_peers.clone_from(&place);
        world.add_node(client)
    });
    (world, server, clients)
}

/// Two clients get other addresses at one moment and learn of that: only the server hears of both. It tells each, so the stream goes on
/// long before a lease ends.
#[test]
fn clients_of_a_server_that_move_at_the_same_time_go_on() {
    for (verify_places, seed) in [false, true].into_iter().flat_map(|it| (1..=5).map(move |seed| (it, seed)))
    {
        let filling = Filling::new(4_000);
        let (mut world, _, nodes) = world(seed, verify_places);
        let writer = writer(&mut world, nodes[0], "Moving", keep_all_writer());
        let reader = reader(&mut world, nodes[1], "Moving", keep_all_reader());
        until_matched(&mut world, &[&writer], &[&reader]);
        world.run_for(secs(30));
        for (round, last) in [(0, 10), (1, 20), (2, 30)] {
            let begin = round * 20;
            write_all(&mut world, nodes[0], &writer, &filling, begin..begin + 10, 100);
            // Neither is any more where the other one tells it that it has moved.
            for told in [false, true] {
                for (node, last) in nodes.iter().zip([last, last + 1]) {
                    world.change_address(*node, Ipv4Addr::new(172, 16, 0, last), told);
                }
            }
            write_all(&mut world, nodes[0], &writer, &filling, begin + 10..begin + 20, 100);
            until_acked(&mut world, &writer, secs(5));
            world.run_for(secs(10));
        }
        let taken = take_numbers(&mut world, nodes[1], &reader, &filling);
        assert_eq!(taken, (0..60).collect::<Vec<_>>(), "{verify_places}, seed {seed}");
        let parted = |event: &Event| matches!(event, Event::SubscriptionMatched { added: false, .. });
        let events = events(&mut world, nodes[1]);
        assert!(!events.iter().any(parted), "{verify_places}, seed {seed}");
    }
}

fn knows(world: &World, node: NodeId, other: NodeId, name: dunlin_core::GuidPrefix) -> bool {
    let known = world.participant(node).discovered_participants();
    node != other && known.iter().any(|data| data.guid_prefix == name)
}

/// A server that starts again meets one client shortly before that dies, and the other one only then. It introduces the dead one, in
/// whose lease it is, and neither of the two knows it for longer because of that.
#[test]
fn an_introduction_by_a_restarted_server_renews_no_lease_of_a_dead_client() {
    for seed in 1..=10 {
        let (mut world, server, [mortal, other]) = world(seed, false);
        let writer = writer(&mut world, mortal, "Last", keep_all_writer());
        let reader = reader(&mut world, other, "Last", keep_all_reader());
        until_matched(&mut world, &[&writer], &[&reader]);
        world.run_for(secs(20));
        let name = world.participant(mortal).guid_prefix();
        world.cut(server, other);
        world.cut(other, server);
        world.crash(server);
        world.restart(server, Identity::New);
        world.run_for(secs(4));
        world.crash(mortal);
        assert!(knows(&world, server, mortal, name) && knows(&world, other, mortal, name), "seed {seed}");
        world.run_for(secs(4));
        world.heal();
        world.run_for(ms(6_500));
        for node in [server, other] {
            assert!(!knows(&world, node, mortal, name), "seed {seed}: {node:?}");
        }
    }
}
