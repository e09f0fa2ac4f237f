//! Daemons and their programs in the simulator: what goes over the wire, and what a dying daemon or program costs.

mod common;

use common::host::Host;
use common::{Count, millis, reader, reader_with, secs, taken, writer, writer_in};
use dunlin::config::{Architecture, Rate, Switch};
use dunlin::qos::DataReaderQos;
use dunlin::sim::{Result, Sim};
use dunlin::{Config, DataReader, DataWriter, DomainParticipant};
use dunlin_hub::{Daemon, DaemonConfig};

fn readers_of(writer: &DataWriter<Count>) -> i32 {
    writer.publication_matched_status().current_count
}

fn writers_of(reader: &DataReader<Count>) -> i32 {
    reader.subscription_matched_status().current_count
}

#[test]
fn a_sample_goes_once_to_a_host_however_many_programs_read_it_there() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..5, |sim| {
        let (one, other) = (Host::new(sim, "one", 2)?, Host::new(sim, "other", 8)?);
        let writer = writer(&one.programs[0], "Count")?;
        let readers: Vec<_> =
            other.programs.iter().map(|node| reader(node, "Count")).collect::<Result<_>>()?;
        let near = reader(&one.programs[1], "Count")?;
        sim.run_until(|| readers_of(&writer) == 9, secs(10))?;
        sim.run_for(secs(1))?;
        let before = (one.status(), other.status());
        for n in 0..1_000 {
            one.programs[0].run(|| writer.write(&Count { n }))?;
            sim.run_for(millis(1))?;
        }
        sim.run_for(millis(500))?;
        let (sent, received) = (one.status().passed - before.0.passed, other.status().taken - before.1.taken);
        for (node, reader) in other.programs.iter().zip(&readers).chain([(&one.programs[1], &near)]) {
            assert_eq!(taken(node, reader), (0..1_000).collect::<Vec<_>>());
            assert_eq!(reader.subscription_matched_status().total_count, 1);
        }
        assert_eq!(writer.publication_matched_status().total_count, 9);
        // Each sample goes to the other host and to the near reader; the rest is HEARTBEATs and ACKNACKs of nine readers.
        assert!(sent < 1_000 * 2 + 1_500, "{sent} datagrams sent by the daemon of the writer");
        assert!(received < 1_000 + 2_000, "{received} datagrams came to the daemon of eight readers");
        Ok(())
    });
}

/// Programs of two hosts write to each other while the network loses what it likes.
fn both_ways(sim: &mut Sim) -> Result {
    // An announcement takes three ways, so more of them are lost than on one.
    let patient = |config: &mut Config| config.discovery.lease_duration = secs(30);
    let hosts = [Host::with(sim, "one", 2, patient)?, Host::with(sim, "other", 2, patient)?];
    let mut pairs = Vec::new();
    for (from, to) in [(0, 1), (1, 0)] {
        for n in 0..2 {
            let topic = format!("{from}-{n}");
            let (here, there) = (hosts[from].programs[n].clone(), hosts[to].programs[n].clone());
            pairs.push((writer(&here, &topic)?, here, reader(&there, &topic)?, there));
        }
    }
    sim.run_until(|| pairs.iter().all(|(w, _, r, _)| readers_of(w) + writers_of(r) == 2), secs(120))?;
    for n in 0..200 {
        for (writer, node, ..) in &pairs {
            node.run(|| writer.write(&Count { n }))?;
        }
        sim.run_for(millis(5))?;
    }
    sim.run_for(secs(30))?;
    for (writer, _, reader, node) in &pairs {
        assert_eq!(taken(node, reader), (0..200).collect::<Vec<_>>());
        let totals = (
            writer.publication_matched_status().total_count,
            reader.subscription_matched_status().total_count,
        );
        assert_eq!(totals, (1, 1));
    }
    Ok(())
}

#[test]
fn federated_participants_lose_no_sample_under_datagram_loss() {
    Sim::builder().delay(millis(1), millis(3)).loss(0.1).seeds(0..20, both_ways);
}

/// One of two daemons dies at a point that the seed decides, and is back with an empty memory within a lease.
fn kill_one(sim: &mut Sim) -> Result {
    let mut hosts = [Host::new(sim, "one", 2)?, Host::new(sim, "other", 1)?];
    let (a, near, b) =
        (hosts[0].programs[0].clone(), hosts[0].programs[1].clone(), hosts[1].programs[0].clone());
    let (writer, reader, neighbour) = (writer(&a, "Count")?, reader(&b, "Count")?, reader(&near, "Count")?);
    sim.run_until(|| readers_of(&writer) == 2, secs(30))?;
    let point = u32::try_from(sim.random() % 200)?;
    let victim = usize::from(sim.random().is_multiple_of(2));
    let away = millis(100 + i64::try_from(sim.random() % 3_000)?);
    for n in 0..200 {
        if n == point {
            hosts[victim].restart(sim, away)?;
        }
        a.run(|| writer.write(&Count { n }))?;
        sim.run_for(millis(10))?;
    }
    sim.run_for(secs(30))?;
    for (node, reader) in [(&b, &reader), (&near, &neighbour)] {
        assert_eq!(taken(node, reader), (0..200).collect::<Vec<_>>());
        assert_eq!(reader.subscription_matched_status().total_count, 1, "nobody matched anew");
    }
    assert_eq!(writer.publication_matched_status().total_count, 2, "nobody matched anew");
    Ok(())
}

#[test]
fn a_daemon_that_is_killed_at_any_point_costs_no_sample_and_no_match() {
    Sim::builder().delay(millis(1), millis(3)).seeds(0..100, kill_one);
}

#[test]
fn a_program_that_dies_is_missed_and_the_others_go_on() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..5, |sim| {
        let (one, other) = (Host::new(sim, "one", 2)?, Host::new(sim, "other", 1)?);
        let reader = reader(&other.programs[0], "Count")?;
        let writers = [writer(&one.programs[0], "Count")?, writer(&one.programs[1], "Count")?];
        sim.run_until(|| writers_of(&reader) == 2, secs(10))?;
        one.programs[0].crash();
        sim.run_until(|| writers_of(&reader) == 1, secs(15))?;
        sim.run_until(|| one.status().applications == 1, secs(5))?;
        for n in 0..10 {
            one.programs[1].run(|| writers[1].write(&Count { n }))?;
        }
        sim.run_for(secs(1))?;
        assert_eq!(taken(&other.programs[0], &reader), (0..10).collect::<Vec<_>>());
        // One that leaves in good order is missed at once.
        let [_, last] = writers;
        one.programs[1].run(|| drop(last));
        sim.run_until(|| writers_of(&reader) == 0, millis(100))?;
        Ok(())
    });
}

/// Its daemon tells the others when its lease has ended. It knows them still when it goes on, however much they have announced
/// before and meanwhile.
#[test]
fn a_program_that_stood_still_goes_on_where_it_was() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..5, |sim| {
        let one = Host::new(sim, "one", 1)?;
        let free = sim.node("free");
        let heard = reader(&one.programs[0], "Count")?;
        let counts = writer(&free, "Count")?;
        let participant = counts.publisher().participant();
        let name = |n: usize| format!("Other{n}");
        let others = |range: std::ops::Range<usize>| -> Result<Vec<DataWriter<Count>>> {
            range.map(|n| writer_in(&free, &participant, &name(n))).collect()
        };
        let before = others(0..20)?;
        let known = heard.subscriber().participant();
        sim.run_until(|| known.discovered_publications().len() == 21 && writers_of(&heard) == 1, secs(10))?;
        one.programs[0].pause();
        sim.run_until(|| readers_of(&counts) == 0, secs(30))?;
        free.run(|| drop(before));
        let _meanwhile = others(20..40)?;
        sim.run_for(secs(60))?;
        one.programs[0].resume();
        sim.run_until(|| readers_of(&counts) == 1, secs(20))?;
        sim.run_until(|| known.discovered_publications().len() == 21, secs(20))?;
        free.run(|| counts.write(&Count { n: 7 }))?;
        sim.run_for(secs(2))?;
        assert_eq!(taken(&one.programs[0], &heard), [7]);
        Ok(())
    });
}

#[test]
fn programs_of_a_daemon_and_decentralised_ones_exchange_data() {
    Sim::builder().delay(millis(1), millis(2)).loss(0.02).seeds(0..10, |sim| {
        let one = Host::new(sim, "one", 2)?;
        let free = [sim.node("free"), sim.node("free-too")];
        let there = writer(&one.programs[0], "There")?;
        let back = writer(&free[0], "Back")?;
        let heard = [reader(&free[0], "There")?, reader(&free[1], "There")?];
        let heard_back = [reader(&one.programs[0], "Back")?, reader(&one.programs[1], "Back")?];
        sim.run_until(|| readers_of(&there) == 2 && readers_of(&back) == 2, secs(60))?;
        for n in 0..100 {
            one.programs[0].run(|| there.write(&Count { n }))?;
            free[0].run(|| back.write(&Count { n }))?;
            sim.run_for(millis(5))?;
        }
        sim.run_for(secs(20))?;
        for (node, reader) in free.iter().zip(&heard).chain(one.programs.iter().zip(&heard_back)) {
            assert_eq!(taken(node, reader), (0..100).collect::<Vec<_>>());
            assert_eq!(reader.subscription_matched_status().total_count, 1);
        }
        Ok(())
    });
}

/// Programs and daemon on one node, with nothing said about where the daemon is: as a user has it.
#[test]
fn the_daemon_of_the_own_host_needs_no_address() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..5, |sim| {
        let mut config = Config::default();
        config.discovery.architecture = Architecture::Federated;
        let nodes = ["one", "other"].map(|name| sim.node_with(name, config.clone()));
        let late = reader(&nodes[0], "Count")?;
        sim.run_for(secs(5))?;
        // Without a daemon nobody is found, and the reason is given.
        let participant = nodes[0].run(|| DomainParticipant::new(0))?;
        sim.run_for(secs(1))?;
        let why = nodes[0].run(|| participant.explain_topic("Count"));
        assert!(why.to_string().contains("the daemon of this host does not answer"), "{why}");
        let daemons = nodes.iter().map(|node| node.run(|| Daemon::start(DaemonConfig::new(0))));
        let _daemons: Vec<Daemon> = daemons.collect::<std::result::Result<_, _>>()?;
        let writers = [writer(&nodes[0], "Count")?, writer(&nodes[1], "Count")?];
        sim.run_until(|| writers_of(&late) == 2, secs(10))?;
        let best_effort = reader_with(&nodes[1], "Count", &DataReaderQos::default())?;
        sim.run_until(|| writers_of(&best_effort) == 2, secs(10))?;
        for (node, writer) in nodes.iter().zip(&writers) {
            node.run(|| writer.write(&Count { n: 7 }))?;
        }
        sim.run_for(secs(1))?;
        assert_eq!((taken(&nodes[0], &late), taken(&nodes[1], &best_effort).is_empty()), (vec![7, 7], false));
        // A participant announces itself every three seconds.
        sim.run_for(secs(5))?;
        let why = nodes[0].run(|| participant.explain_topic("Count"));
        assert!(!why.to_string().contains("the daemon of this host"), "{why}");
        Ok(())
    });
}

#[test]
fn messages_of_several_programs_share_datagrams_between_daemons() {
    Sim::builder().delay(millis(1), millis(2)).loss(0.02).seeds(0..5, |sim| {
        let delayed = |config: &mut Config| config.daemon.bundle_delay = millis(2);
        let one = Host::with(sim, "one", 10, delayed)?;
        let other = Host::with(sim, "other", 10, delayed)?;
        let topic = |n: usize| format!("Count-{n}");
        let writers = one.programs.iter().enumerate().map(|(n, node)| writer(node, &topic(n)));
        let writers = writers.collect::<Result<Vec<_>>>()?;
        let readers = other.programs.iter().enumerate().map(|(n, node)| reader(node, &topic(n)));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        sim.run_until(|| writers.iter().all(|writer| readers_of(writer) == 1), secs(60))?;
        let before = one.status().passed;
        for n in 0..100 {
            for (node, writer) in one.programs.iter().zip(&writers) {
                node.run(|| writer.write(&Count { n }))?;
            }
            sim.run_for(millis(5))?;
        }
        sim.run_for(secs(10))?;
        for (node, reader) in other.programs.iter().zip(&readers) {
            assert_eq!(taken(node, reader), (0..100).collect::<Vec<_>>());
        }
        let status = one.status();
        assert!(status.bundled > 900, "{status:?}");
        assert!(status.passed - before < 1_000, "{} datagrams for 1,000 samples", status.passed - before);
        Ok(())
    });
}

#[test]
fn a_daemon_refuses_programs_of_other_hosts_and_limits_greedy_ones() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..5, |sim| {
        let one = Host::with(sim, "one", 3, |config| {
            config.daemon.max_applications = 2;
            config.daemon.application_rate = Switch::Value(Rate(80_000));
        })?;
        // It says that the daemon is its own, and is on another host.
        let mut config = Config::default();
        config.discovery.architecture = Architecture::Federated;
        "one".clone_into(&mut config.daemon.address);
        let stranger = sim.node_with("stranger", config);
        let free = sim.node("free");
        let _stranger = writer(&stranger, "Count")?;
        let reader = reader(&free, "Count")?;
        sim.run_for(secs(5))?;
        assert_eq!((writers_of(&reader), one.status().applications), (0, 0));
        let greedy = writer(&one.programs[0], "Count")?;
        let modest = writer(&one.programs[1], "Count")?;
        sim.run_until(|| writers_of(&reader) == 2, secs(10))?;
        let third = writer(&one.programs[2], "Count")?;
        sim.run_for(secs(5))?;
        assert_eq!((readers_of(&third), one.status().applications_refused), (0, 1));
        for n in 0..1_000 {
            one.programs[0].run(|| greedy.write(&Count { n }))?;
            if n % 100 == 0 {
                one.programs[1].run(|| modest.write(&Count { n: 10_000 }))?;
                sim.run_for(millis(20))?;
                let seen = taken(&free, &reader);
                assert!(seen.contains(&10_000), "{n}: the modest one waits for the greedy one: {seen:?}");
            }
        }
        sim.run_for(secs(60))?;
        assert!(one.status().over_rate > 0, "{:?}", one.status());
        assert_eq!(greedy.publication_matched_status().total_count, 1);
        Ok(())
    });
}

/// A program that was killed takes a place until its lease ends. Who came meanwhile, and found none, gets it then.
#[test]
fn a_program_that_found_no_room_is_heard_of_when_another_one_is_gone() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..3, |sim| {
        let one = Host::with(sim, "one", 2, |config| config.daemon.max_applications = 2)?;
        let free = sim.node("free");
        let far = reader(&free, "Count")?;
        let near = reader(&one.programs[0], "Count")?;
        let before = writer(&one.programs[1], "Count")?;
        sim.run_until(|| readers_of(&before) == 2, secs(10))?;
        one.programs[1].restart();
        let after = writer(&one.programs[1], "Count")?;
        sim.run_for(secs(3))?;
        assert_eq!((one.status().applications, one.status().applications_refused), (2, 1));
        sim.run_until(|| readers_of(&after) == 2 && writers_of(&far) + writers_of(&near) == 2, secs(20))?;
        one.programs[1].run(|| after.write(&Count { n: 7 }))?;
        sim.run_for(secs(1))?;
        assert_eq!((taken(&free, &far), taken(&one.programs[0], &near)), (vec![7], vec![7]));
        assert_eq!(one.status().applications_refused, 1);
        Ok(())
    });
}
