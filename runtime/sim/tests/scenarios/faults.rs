//! Partitions, crashes, pauses: what is lost is what was promised to be lost, and all goes on afterwards.

use dunlin_core::Duration;
use dunlin_engine::{Event, ParticipantConfig};
use dunlin_sim::{Identity, NetworkConfig, NodeConfig, NodeId, PathConfig, World};

use crate::common::*;

fn with_lease(lease: Duration) -> NodeConfig {
    let mut node = NodeConfig::default();
    let period = lease.divided_by(4);
    node.participant =
        ParticipantConfig { lease_duration: lease, announcement_period: period, ..node.participant };
    node
}

fn leased_world(seed: u64, nodes: usize, lease: Duration) -> (World, Vec<NodeId>) {
    let path = faulty(&mut dunlin_core::Rng::new(seed), 100_000);
    let mut world = World::new(seed, NetworkConfig::of(path));
    let nodes = (0..nodes).map(|_| world.add_node(with_lease(lease))).collect();
    (world, nodes)
}

fn lost_participants(world: &mut World, node: NodeId) -> usize {
    events(world, node).iter().filter(|event| matches!(event, Event::ParticipantLost { .. })).count()
}

/// Shorter than the lease: nobody notices but the clock.
fn short_partition(seed: u64) {
    let filling = Filling::new(300);
    let (mut world, nodes) = leased_world(seed, 2, secs(20));
    let writer = writer(&mut world, nodes[0], "Stream", keep_all_writer());
    let reader = reader(&mut world, nodes[1], "Stream", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    for round in 0..4 {
        match world.rng().below(4) {
            0 => world.partition(&nodes[..1], &nodes[1..]),
            1 => world.cut(nodes[0], nodes[1]),
            2 => world.cut(nodes[1], nodes[0]),
            _ => world.pause(nodes[1]),
        }
        for number in 0..50 {
            write_all(&mut world, nodes[0], &writer, &filling, [round * 50 + number], 300);
            world.run_for(ms(20));
        }
        world.heal();
        world.resume(nodes[1]);
        until_acked(&mut world, &writer, secs(10));
    }
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (0..200).collect::<Vec<_>>());
    assert_eq!(lost_participants(&mut world, nodes[0]) + lost_participants(&mut world, nodes[1]), 0);
}
scenario!(short, 20, short_partition);

/// Longer than the lease: both sides forget each other, and find each other again.
fn long_partition(seed: u64) {
    let filling = Filling::new(300);
    let (mut world, nodes) = leased_world(seed, 2, secs(2));
    let volatile = writer(&mut world, nodes[0], "Volatile", keep_all_writer());
    let durable = writer(&mut world, nodes[0], "Durable", keep_all_writer().transient_local());
    let of_volatile = reader(&mut world, nodes[1], "Volatile", keep_all_reader());
    let of_durable = reader(&mut world, nodes[1], "Durable", keep_all_reader().transient_local());
    until_matched(&mut world, &[&volatile], &[&of_volatile]);
    until_matched(&mut world, &[&durable], &[&of_durable]);
    world.partition(&nodes[..1], &nodes[1..]);
    for number in 0..100 {
        write_all(&mut world, nodes[0], &volatile, &filling, [number], 300);
        write_all(&mut world, nodes[0], &durable, &filling, [number], 300);
        world.run_for(ms(50));
    }
    assert_eq!(lost_participants(&mut world, nodes[0]), 1);
    assert_eq!(lost_participants(&mut world, nodes[1]), 1);
    assert!(volatile.matched_readers().is_empty() && of_durable.matched_writers().is_empty());
    assert_eq!(volatile.acked_by_all(), volatile.last_sn(), "nobody is waited for");

    world.heal();
    until_matched(&mut world, &[&volatile], &[&of_volatile]);
    until_matched(&mut world, &[&durable], &[&of_durable]);
    write_all(&mut world, nodes[0], &volatile, &filling, 100..150, 300);
    write_all(&mut world, nodes[0], &durable, &filling, 100..150, 300);
    until_acked(&mut world, &volatile, secs(10));
    until_acked(&mut world, &durable, secs(10));
    let numbers = take_numbers(&mut world, nodes[1], &of_volatile, &filling);
    assert!(numbers.ends_with(&(100..150).collect::<Vec<_>>()), "all since they met again: {numbers:?}");
    assert!(numbers.is_sorted_by(|a, b| a < b), "none twice: {numbers:?}");
    let numbers = take_numbers(&mut world, nodes[1], &of_durable, &filling);
    assert_eq!(numbers, (0..150).collect::<Vec<_>>());
}
scenario!(long, 20, long_partition);

/// A writer's machine crashes and comes back: the instances of the old writer have no writers, the new one is found.
fn writer_crash(seed: u64) {
    let filling = Filling::new(300);
    let (mut world, nodes) = leased_world(seed, 2, secs(2));
    let reader = reader(&mut world, nodes[1], "Stream", keep_all_reader());
    let before = writer(&mut world, nodes[0], "Stream", keep_all_writer());
    until_matched(&mut world, &[&before], &[&reader]);
    write_all(&mut world, nodes[0], &before, &filling, 0..50, 300);
    until_acked(&mut world, &before, secs(10));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (0..50).collect::<Vec<_>>());

    let crash_time = world.age();
    world.crash(nodes[0]);
    if world.rng().chance(1, 2) {
        world.run_for(secs(1));
    }
    world.restart(nodes[0], Identity::New);
    let after = writer(&mut world, nodes[0], "Stream", keep_all_writer());
    assert_ne!(after.guid().prefix, before.guid().prefix);
    let met = |_: &mut World| {
        after.matched_readers().len() == 1 && reader.matched_writers().iter().any(|w| w.guid == after.guid())
    };
    world.run_until(met, secs(10)).expect("the new writer is found while the old one is still remembered");
    write_all(&mut world, nodes[0], &after, &filling, 50..100, 300);
    until_acked(&mut world, &after, secs(10));
    let gone = |_: &mut World| reader.matched_writers().iter().all(|w| w.guid != before.guid());
    world.run_until(gone, secs(10)).expect("the old writer is forgotten");
    assert!(world.age().as_nanos() - crash_time.as_nanos() < secs(10).as_nanos());
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (50..100).collect::<Vec<_>>());
}
scenario!(writer_restarts, 20, writer_crash);

/// A reader's machine crashes: a writer that waits for its acknowledgements goes on when the lease is over.
fn reader_crash(seed: u64) {
    let filling = Filling::new(300);
    let (mut world, nodes) = leased_world(seed, 3, secs(5));
    let qos = keep_all_writer().resource_limits(10, 1, 10).max_blocking_time(secs(20));
    let writer = writer(&mut world, nodes[0], "Stream", qos);
    let stays = reader(&mut world, nodes[1], "Stream", keep_all_reader());
    let falls = reader(&mut world, nodes[2], "Stream", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&stays, &falls]);
    write_all(&mut world, nodes[0], &writer, &filling, 0..50, 300);
    world.crash(nodes[2]);
    write_all(&mut world, nodes[0], &writer, &filling, 50..100, 300);
    world.restart(nodes[2], Identity::New);
    let again = reader(&mut world, nodes[2], "Stream", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&stays, &again]);
    write_all(&mut world, nodes[0], &writer, &filling, 100..150, 300);
    until_acked(&mut world, &writer, secs(10));
    assert_eq!(take_numbers(&mut world, nodes[1], &stays, &filling), (0..150).collect::<Vec<_>>());
    // A burst that loses its acknowledgements for long makes it inactive, and then it is not waited for.
    let given_up = |event: &Event| matches!(event, Event::ReaderActivity { remote, active: false, .. } if *remote == again.guid());
    let given_up = events(&mut world, nodes[0]).iter().any(given_up);
    let numbers = take_numbers(&mut world, nodes[2], &again, &filling);
    assert!(given_up || numbers.ends_with(&(100..150).collect::<Vec<_>>()), "{numbers:?}");
}
scenario!(reader_restarts, 20, reader_crash);

/// One random fault, for a while.
fn disturb(world: &mut World, nodes: &[NodeId]) {
    let mut pick = || nodes[world.rng().below(nodes.len() as u64) as usize];
    let (one, other) = (pick(), pick());
    let mut rng = dunlin_core::Rng::new(world.rng().next_u64());
    match rng.below(6) {
        0 => world.set_network(faulty(&mut rng, 400_000)),
        1 => world.set_path(one, other, faulty(&mut rng, 900_000)),
        2 => world.cut(one, other),
        3 => world.partition(&nodes[..1], &nodes[1..]),
        4 => world.pause(one),
        _ => world.set_path(
            one,
            other,
            PathConfig { rate: Some(50_000), queue: 20_000, ..PathConfig::default() },
        ),
    }
    world.run_for(ms(50 + rng.below(1_500) as i64));
    world.resume(one);
    if rng.chance(1, 2) {
        world.heal();
    }
}

/// Whatever happened: when it is over, all find each other and everything arrives within a bound.
fn progress_after_chaos(seed: u64) {
    let filling = Filling::new(3_000);
    let (mut world, nodes) = leased_world(seed, 3, secs(3));
    let qos = || keep_all_writer().transient_local();
    let writers: Vec<_> = nodes.iter().map(|node| writer(&mut world, *node, "Chaos", qos())).collect();
    let reader_qos = || keep_all_reader().transient_local();
    let readers: Vec<_> = nodes.iter().map(|node| reader(&mut world, *node, "Chaos", reader_qos())).collect();
    let mut number = 0;
    for _ in 0..8 {
        disturb(&mut world, &nodes);
        for (node, writer) in nodes.iter().zip(&writers) {
            for _ in 0..5 {
                world.write(*node, writer, filling.request(1, number, 3_000)).expect("no limits");
                number += 1;
            }
        }
    }
    world.end_network_faults();
    let limit = secs(8);
    let quiet = |_: &mut World| {
        writers.iter().all(|w| w.matched_readers().len() == 3 && w.acked_by_all() == w.last_sn())
            && readers.iter().all(|r| r.matched_writers().len() == 3)
    };
    world.run_until(quiet, limit).expect("all has arrived everywhere");
    for (node, reader) in nodes.iter().zip(&readers) {
        let mut numbers = take_numbers(&mut world, *node, reader, &filling);
        numbers.sort_unstable();
        if lost_participants(&mut world, *node) > 0 {
            // A durable writer that is found again is a new one: it sends its history again.
            numbers.dedup();
        }
        assert_eq!(numbers, (0..number).collect::<Vec<_>>(), "each once");
    }
}
scenario!(chaos, 20, progress_after_chaos);

/// Endpoints come and go on all nodes while datagrams are lost; in the end those that are there match.
fn churn(seed: u64) {
    let filling = Filling::new(200);
    let (mut world, nodes) = leased_world(seed, 3, secs(20));
    let mut writers = vec![];
    let mut readers = vec![];
    for _ in 0..60 {
        let node = nodes[world.rng().below(3) as usize];
        match world.rng().below(5) {
            0 | 1 => writers.push((node, writer(&mut world, node, "Churn", keep_all_writer()))),
            2 | 3 => readers.push((node, reader(&mut world, node, "Churn", keep_all_reader()))),
            _ if !writers.is_empty() && !readers.is_empty() => {
                let index = world.rng().below(writers.len() as u64) as usize;
                let (node, gone) = writers.swap_remove(index);
                world.with(node, |participant, now, out| participant.delete_writer(now, &gone, out));
                let index = world.rng().below(readers.len() as u64) as usize;
                let (node, gone) = readers.swap_remove(index);
                world.with(node, |participant, now, out| participant.delete_reader(now, &gone, out));
            }
            _ => {}
        }
        for (number, (node, writer)) in writers.iter().enumerate() {
            world.write(*node, writer, filling.request(1, number as u64, 200)).expect("no limits");
        }
        let pause = world.rng().below(50) as i64;
        world.run_for(ms(pause));
    }
    let (all_writers, all_readers) = (writers.len(), readers.len());
    let settled = |_: &mut World| {
        writers
            .iter()
            .all(|(_, w)| w.matched_readers().len() == all_readers && w.acked_by_all() == w.last_sn())
            && readers.iter().all(|(_, r)| r.matched_writers().len() == all_writers)
    };
    world.run_until(settled, secs(20)).expect("those that are left match");
}
scenario!(come_and_go, 20, churn);

/// A program that always has the same name starts again: its peers take it for what it is, a newcomer.
fn same_name_again(seed: u64) {
    let filling = Filling::new(300);
    let (mut world, nodes) = leased_world(seed, 2, secs(2));
    let reader = reader(&mut world, nodes[1], "Named", keep_all_reader());
    let before = writer(&mut world, nodes[0], "Named", keep_all_writer());
    until_matched(&mut world, &[&before], &[&reader]);
    write_all(&mut world, nodes[0], &before, &filling, 0..20, 300);
    until_acked(&mut world, &before, secs(10));
    // It says goodbye in one life of two; the other ends in a crash that lasts longer than its lease.
    if world.rng().chance(1, 2) {
        world.leave(nodes[0]);
        world.run_for(secs(4));
    } else {
        world.crash(nodes[0]);
        world.run_for(secs(4));
    }
    assert!(reader.matched_writers().is_empty());
    world.restart(nodes[0], Identity::Same);
    let after = writer(&mut world, nodes[0], "Named", keep_all_writer());
    assert_eq!(after.guid(), before.guid());
    until_matched(&mut world, &[&after], &[&reader]);
    write_all(&mut world, nodes[0], &after, &filling, 20..40, 300);
    until_acked(&mut world, &after, secs(10));
    assert_eq!(take_numbers(&mut world, nodes[1], &reader, &filling), (0..40).collect::<Vec<_>>());
}
scenario!(same_name, 20, same_name_again);

/// The same while datagrams are lost: what it wrote before anything of it arrived, as much as in its former life or more, is no
/// repetition; and a volatile reader of its gets nothing that was written while it was away.
fn same_name_under_loss(seed: u64) {
    let filling = Filling::new(300);
    let (mut world, nodes) = leased_world(seed, 2, secs(5));
    let (named, other) = (nodes[0], nodes[1]);
    let reader_there = reader(&mut world, other, "From", keep_all_reader());
    // It has all of it still, for others.
    let writer_there = writer(&mut world, other, "To", keep_all_writer().transient_local());
    let endpoints = |world: &mut World| {
        (writer(world, named, "From", keep_all_writer()), reader(world, named, "To", keep_all_reader()))
    };
    let (from, to) = endpoints(&mut world);
    until_matched(&mut world, &[&from], &[&reader_there]);
    until_matched(&mut world, &[&writer_there], &[&to]);
    write_all(&mut world, named, &from, &filling, 0..5, 300);
    write_all(&mut world, other, &writer_there, &filling, 0..5, 300);
    until_acked(&mut world, &from, secs(10));
    until_acked(&mut world, &writer_there, secs(10));
    world.crash(named);
    world.run_for(secs(7));
    write_all(&mut world, other, &writer_there, &filling, 5..10, 300);
    world.set_network(PathConfig { loss_ppm: 400_000, ..PathConfig::default() });
    world.restart(named, Identity::Same);
    let (from, to) = endpoints(&mut world);
    for (node, writer, count) in [(named, &from, 4 + seed % 8), (other, &writer_there, 10)] {
        world.run_until(|_| writer.matched_readers().len() == 1, secs(20)).expect("they meet again");
        write_all(&mut world, node, writer, &filling, 100..100 + count, 300);
        until_acked(&mut world, writer, secs(20));
    }
    let numbers = take_numbers(&mut world, other, &reader_there, &filling);
    assert_eq!(numbers, (0..5).chain(100..104 + seed % 8).collect::<Vec<_>>());
    assert_eq!(take_numbers(&mut world, named, &to, &filling), (100..110).collect::<Vec<_>>());
}
scenario!(same_name_and_loss, 20, same_name_under_loss);

/// Announcements that the goodbye overtakes leave no ghost behind; what starts again with the same name is found at once.
fn goodbye_overtakes(seed: u64) {
    let path = PathConfig { reorder_ppm: 400_000, reorder_by: ms(150), ..PathConfig::default() };
    let (mut world, nodes) = world_on(seed, 3, path);
    let ghosts = |world: &World, name| {
        let known = |node| world.participant(node).discovered_participants();
        nodes[1..].iter().any(|node| known(*node).iter().any(|data| data.guid_prefix == name))
    };
    for round in 0..8 {
        let _writer = writer(&mut world, nodes[0], "Short", keep_all_writer());
        let name = world.participant(nodes[0]).guid_prefix();
        // While it announces itself every 100 ms, and some of that is still in flight.
        world.run_for(ms(100 + 40 * round));
        world.leave(nodes[0]);
        world.run_for(ms(400));
        assert!(!ghosts(&world, name), "round {round}");
        world.restart(nodes[0], Identity::Same);
        world.run_for(ms(500));
        assert!(ghosts(&world, name), "it is back, round {round}");
        for node in &nodes[1..] {
            assert!(world.participant(*node).discovered_writers().is_empty(), "its writer has not come back");
        }
    }
}
scenario!(goodbye, 20, goodbye_overtakes);
