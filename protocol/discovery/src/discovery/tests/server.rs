//! Participants that know nobody but a discovery server.

use alloc::{collections::BTreeSet, string::ToString, vec, vec::Vec};

use dunlin_qos::Property;

use super::net::*;
use crate::{DiscoveryRole, INTEREST_EVERYTHING, INTEREST_PROPERTY};

/// A network of these servers and of so many clients of all of them. Nobody takes part in multicast.
fn net(servers: usize, clients: usize) -> Net {
    // Without groups of their own, as no group reaches them.
    let quiet = |node| {
        let mut config = DiscoveryConfig { spdp_destinations: vec![], ..config(node) };
        config.locators.metatraffic_multicast.clear();
        config
    };
    let server = |node| DiscoveryConfig { role: DiscoveryRole::Server, ..quiet(node) };
    let known: Vec<Locator> = (0..servers).map(|node| unicast(node, 7410)).collect();
    let client = |node| DiscoveryConfig { initial_peers: known.clone(), ..quiet(node) };
    let mut net = Net::new((0..servers).map(server).chain((servers..servers + clients).map(client)));
    net.nodes.iter_mut().for_each(|node| node.joined = false);
    net
}

fn known(net: &Net, node: usize) -> BTreeSet<usize> {
    let participants = net.nodes[node].discovery.participants();
    participants.map(|known| usize::from(known.guid_prefix.0[0] - 1)).collect()
}

fn matched(net: &mut Net, node: usize) -> Vec<alloc::string::String> {
    let about_endpoints = |event: &alloc::string::String| event.contains("er ");
    net.events(node).into_iter().filter(about_endpoints).collect()
}

fn add_writer_of(net: &mut Net, node: usize, topic: &str) {
    let writer = crate::LocalWriter { topic_name: topic.to_string(), ..local_writer(Default::default()) };
    net.with(node, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
}

fn add_reader_of(net: &mut Net, node: usize, topic: &str) {
    let reader = crate::LocalReader { topic_name: topic.to_string(), ..local_reader(Default::default()) };
    net.with(node, |d, now, out, fx| d.add_reader(now, reader, out, fx)).expect("valid names");
}

#[test]
fn a_discovery_server_introduces_only_participants_with_a_common_topic() {
    let mut net = net(1, 4);
    net.add_writer(1, Default::default());
    net.add_reader(2, Default::default());
    add_writer_of(&mut net, 3, "Circle");
    net.start();
    net.run_for(millis(50));
    assert_eq!(known(&net, 0), [1, 2, 3, 4].into());
    assert_eq!((known(&net, 1), known(&net, 2)), ([0, 2].into(), [0, 1].into()));
    assert_eq!((known(&net, 3), known(&net, 4)), ([0].into(), [0].into()));
    // A reader that comes later, and one of the same kind as there is.
    add_reader_of(&mut net, 4, "Circle");
    add_writer_of(&mut net, 2, "Circle");
    net.run_for(millis(50));
    assert_eq!((known(&net, 3), known(&net, 4)), ([0, 4].into(), [0, 2, 3].into()));
    net.run_for(secs(120));
    assert_eq!(known(&net, 1), [0, 2].into());
}

#[test]
fn loss_delays_introductions_and_prevents_none() {
    let mut net = net(1, 6);
    net.loss = 300;
    for node in [1, 3, 5] {
        net.add_writer(node, Default::default());
        net.add_reader(node + 1, Default::default());
    }
    net.start();
    net.run_for(secs(60));
    net.loss = 0;
    net.run_for(secs(60));
    for node in 1..7 {
        let opposite = (1..7).filter(|other| other % 2 != node % 2).chain([0]);
        assert_eq!(known(&net, node), opposite.collect());
    }
}

#[test]
fn a_participant_that_asks_a_discovery_server_for_all_learns_of_all() {
    let mut net = net(1, 3);
    let everything = [(INTEREST_PROPERTY.to_string(), INTEREST_EVERYTHING.to_string())];
    let property = Property { values: everything.into() };
    net.with(1, |d, now, out, _| d.set_policies(now, UserData::default(), property, out));
    net.with(0, |d, now, out, _| d.start(now, out));
    net.with(2, |d, now, out, _| d.start(now, out));
    net.run_for(millis(20));
    net.with(1, |d, now, out, _| d.start(now, out));
    net.run_for(millis(20));
    net.with(3, |d, now, out, _| d.start(now, out));
    net.run_for(millis(50));
    assert_eq!(known(&net, 1), [0, 2, 3].into());
    assert_eq!((known(&net, 2), known(&net, 3)), ([0, 1].into(), [0, 1].into()));
}

#[test]
fn matches_survive_the_death_and_restart_of_a_discovery_server() {
    let mut net = net(2, 2);
    net.add_writer(2, Default::default());
    net.add_reader(3, Default::default());
    net.start();
    net.run_for(secs(1));
    assert_eq!(
        (matched(&mut net, 2), matched(&mut net, 3)),
        (vec!["+reader 3".into()], vec!["+writer 2".into()])
    );
    // One dies, then the other, then the first is back, and knows nothing.
    net.nodes[0].cut_off = true;
    net.run_for(secs(30));
    net.nodes[1].cut_off = true;
    net.run_for(secs(60));
    assert_eq!((known(&net, 2), known(&net, 3)), ([3].into(), [2].into()));
    let config = net.nodes[0].discovery.config().clone();
    net.nodes[0].discovery =
        Discovery::new(DiscoveryConfig { guid_prefix: GuidPrefix([9; 12]), ..config }, 9);
    net.nodes[0].cut_off = false;
    net.with(0, |d, now, out, _| d.start(now, out));
    net.run_for(secs(30));
    assert_eq!(net.nodes[0].discovery.writers().count() + net.nodes[0].discovery.readers().count(), 2);
    assert_eq!((matched(&mut net, 2), matched(&mut net, 3)), (vec![], vec![]), "nobody was lost or found");
}

#[test]
fn introductions_do_not_renew_the_lease_of_a_dead_participant() {
    let mut net = net(1, 2);
    net.add_writer(1, Default::default());
    net.add_reader(2, Default::default());
    net.start();
    net.run_for(secs(1));
    net.nodes[1].cut_off = true;
    net.run_for(secs(12));
    assert_eq!((known(&net, 0), known(&net, 2)), ([2].into(), [0].into()));
    // Back on the network it is introduced anew.
    net.nodes[1].cut_off = false;
    net.run_for(secs(8));
    assert_eq!((known(&net, 1), known(&net, 2)), ([0, 2].into(), [0, 1].into()));
}

/// Two that lost each other while both still reach the server find each other again.
#[test]
fn introductions_are_repeated() {
    let mut net = net(1, 2);
    net.add_writer(1, Default::default());
    net.add_reader(2, Default::default());
    net.start();
    net.run_for(secs(40));
    for (node, other) in [(1, 2), (2, 1)] {
        net.with(node, |d, _, _, fx| {
            d.remove_participant(prefix(other), crate::LostReason::LeaseExpired, fx)
        });
    }
    assert_eq!((known(&net, 1), known(&net, 2)), ([0].into(), [0].into()));
    net.run_for(secs(40));
    assert_eq!((known(&net, 1), known(&net, 2)), ([0, 2].into(), [0, 1].into()));
}

#[test]
fn a_discovery_server_introduces_no_unverified_participant() {
    let mut net = net(1, 2);
    net.add_writer(1, Default::default());
    net.add_reader(2, Default::default());
    // It announces itself, and nothing that is sent to it arrives.
    net.nodes[1].discovery.config.locators.metatraffic_unicast = vec![unicast(77, 7410)];
    net.start();
    net.run_for(secs(30));
    assert_eq!(net.nodes[0].discovery.stats().introductions_sent, 0);
    assert_eq!(known(&net, 2), [0].into());
}

/// Datagrams for each participant do not grow with the number of participants.
#[test]
fn discovery_server_traffic_per_client_is_constant() {
    let cost = |clients: usize| {
        let mut net = net(1, clients);
        for node in 1..=clients {
            add_writer_of(&mut net, node, &node.to_string());
            add_reader_of(&mut net, node, &(node % clients + 1).to_string());
        }
        net.start();
        net.run_for(secs(2));
        for node in 1..=clients {
            assert_eq!(known(&net, node).len(), 3, "a server, and one on each side");
        }
        net.sent as f64 / clients as f64
    };
    let (few, many) = (cost(20), cost(100));
    assert!((many / few - 1.0).abs() < 0.15, "{few} {many}");
}

/// Where an introduction came from says nothing about who is introduced; what comes directly does.
#[test]
fn an_introduced_participant_is_updated_by_its_own_announcement() {
    let mut net = net(1, 2);
    net.add_writer(1, Default::default());
    net.add_reader(2, Default::default());
    net.start();
    net.run_for(secs(10));
    let introduced =
        |net: &Net, node: usize, of| net.nodes[node].discovery.participants[&prefix(of)].introduced;
    assert!(!introduced(&net, 1, 2) && !introduced(&net, 2, 1), "each has spoken itself meanwhile");
}

/// It has another address from now on, and knows.
fn move_to(net: &mut Net, node: usize, place: usize) {
    net.nodes[node].place = place;
    net.with(node, |d, now, out, fx| {
        let (metatraffic_unicast, default_unicast) = (vec![unicast(place, 7410)], vec![unicast(place, 7411)]);
        let locators = Locators { metatraffic_unicast, default_unicast, ..d.config().locators.clone() };
        d.set_locators(now, locators, out, fx);
    });
}

/// Two clients of a server with other addresses at once, or one after the other; whether they know where each is after so long.
fn both_move(verify_places: bool, gap: u64, within: u64) {
    let mut net = net(1, 2);
    net.nodes.iter_mut().for_each(|node| node.discovery.config.quotas.verify_places = verify_places);
    net.add_writer(1, Default::default());
    net.add_reader(2, Default::default());
    net.start();
    net.run_for(secs(100));
    let _ = (matched(&mut net, 1), matched(&mut net, 2));
    for (node, place) in [(1, 11), (2, 12)] {
        move_to(&mut net, node, place);
        net.run_for(gap);
    }
    net.run_for(within);
    for (node, other, place) in [(1, 2, 12), (2, 1, 11)] {
        let known = &net.nodes[node].discovery.participants[&prefix(other)].data.locators;
        assert_eq!(known.metatraffic_unicast, [unicast(place, 7410)], "{verify_places} {gap}");
        let events = matched(&mut net, node);
        assert!(events.iter().all(|event| event.starts_with('~')), "{verify_places} {gap}: {events:?}");
    }
}

#[test]
fn a_discovery_server_passes_on_new_addresses_of_two_moving_clients() {
    for gap in [0, millis(1), millis(20), millis(150)] {
        both_move(false, gap, millis(500));
        both_move(true, gap, secs(3));
    }
}

/// What a server queues is due at once. It does not take that for a timer that comes late, as if it had stood still itself.
#[test]
fn a_discovery_server_ends_leases_while_it_introduces_others() {
    let mut net = net(1, 3);
    net.add_writer(1, Default::default());
    net.add_reader(2, Default::default());
    net.add_reader(3, Default::default());
    for node in 0..3 {
        net.with(node, |d, now, out, _| d.start(now, out));
    }
    net.run_for(secs(20));
    net.nodes[1].cut_off = true;
    net.run_for(secs(6));
    net.with(3, |d, now, out, _| d.start(now, out));
    net.run_for(millis(100));
    assert!(known(&net, 0).contains(&3), "it is introduced now");
    net.run_for(millis(4_400));
    assert_eq!(known(&net, 0), [2, 3].into());
}
