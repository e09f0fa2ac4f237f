//! Writers that send past the daemon of their host, in the simulator: what their daemon still sees of it, and that nothing is lost
//! when it dies.

mod common;

use common::host::Host;
use common::{Count, millis, reader, secs, taken, writer};
use dunlin::config::DirectWrite;
use dunlin::qos::{DataWriterQos, PublisherQos, TopicQos};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{Config, DataReader, DataWriter, DomainParticipant, Duration};

/// Here programs have other addresses than their daemon.
fn asked(config: &mut Config) {
    config.daemon.direct_write = DirectWrite::Asked;
    config.quotas.foreign_locators = true;
}

fn direct_writer(node: &Node, topic: &str, direct: bool) -> Result<DataWriter<Count>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Count>(topic, &TopicQos::default())?;
        let qos = DataWriterQos::default().reliable().keep_all().direct_write(direct);
        Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
    })
}

fn readers_of(writer: &DataWriter<Count>) -> i32 {
    writer.publication_matched_status().current_count
}

/// What all readers have got, in order, without having matched anew.
fn all_got(readers: &[(&Node, &DataReader<Count>)], count: u32) {
    for (node, reader) in readers {
        assert_eq!(taken(node, reader), (0..count).collect::<Vec<_>>(), "{}", node.name());
        assert_eq!(reader.subscription_matched_status().total_count, 1, "{} matched anew", node.name());
    }
}

#[test]
fn a_direct_writer_sends_data_and_gets_acknacks_past_its_daemon() {
    for direct in [true, false] {
        Sim::builder().delay(millis(1), millis(2)).loss(0.02).seeds(0..5, |sim| {
            let (one, other) = (Host::with(sim, "one", 1, asked)?, Host::with(sim, "other", 2, asked)?);
            let mut config = Config::default();
            asked(&mut config);
            let free = sim.node_with("free", config);
            let writer = direct_writer(&one.programs[0], "Count", direct)?;
            let nodes = [&other.programs[0], &other.programs[1], &free];
            let readers = nodes.map(|node| reader(node, "Count"));
            let readers = readers.into_iter().collect::<Result<Vec<_>>>()?;
            sim.run_until(|| readers_of(&writer) == 3, secs(30))?;
            sim.run_for(secs(1))?;
            let before = (one.status().taken, other.status().taken);
            for n in 0..500 {
                one.programs[0].run(|| writer.write(&Count { n }))?;
                sim.run_for(millis(2))?;
            }
            sim.run_for(secs(10))?;
            all_got(&nodes.into_iter().zip(&readers).collect::<Vec<_>>(), 500);
            let (by_own, by_other) = (one.status().taken - before.0, other.status().taken - before.1);
            // Discovery goes on by way of the daemons.
            assert_eq!(by_own < 100, direct, "{by_own} datagrams by way of the own daemon");
            // Once for two readers, and their answers.
            assert!(by_other > 500, "{by_other} datagrams by way of the other daemon");
            Ok(())
        });
    }
}

/// The daemon of the writer dies while data flows and datagrams are lost, and does not come back for a minute.
fn without_its_daemon(sim: &mut Sim) -> Result {
    let (mut one, other) = (Host::with(sim, "one", 1, asked)?, Host::with(sim, "other", 1, asked)?);
    let mut config = Config::default();
    asked(&mut config);
    let free = sim.node_with("free", config);
    let writer = direct_writer(&one.programs[0], "Count", true)?;
    let readers = [reader(&other.programs[0], "Count")?, reader(&free, "Count")?];
    sim.run_until(|| readers_of(&writer) == 2, secs(30))?;
    let point = u32::try_from(sim.random() % 200)?;
    for n in 0..800 {
        if n == point {
            one.daemon.crash();
        }
        one.programs[0].run(|| writer.write(&Count { n }))?;
        sim.run_for(millis(75))?;
    }
    sim.run_for(secs(2))?;
    let nodes = [&other.programs[0], &free];
    let all: Vec<_> = nodes.into_iter().zip(&readers).collect();
    all_got(&all, 800);
    assert_eq!(writer.publication_matched_status().total_count, 2, "nobody matched anew");
    let done = one.programs[0].run(|| writer.wait_for_acknowledgments(Duration::ZERO));
    assert!(done.is_ok(), "answers come without the daemon");
    one.restart(sim, millis(1))?;
    sim.run_for(secs(10))?;
    one.programs[0].run(|| writer.write(&Count { n: 800 }))?;
    sim.run_for(secs(2))?;
    for (node, reader) in all {
        assert_eq!(taken(node, reader), [800]);
    }
    assert_eq!(writer.publication_matched_status().total_count, 2, "nobody matched anew");
    Ok(())
}

#[test]
fn a_direct_writer_goes_on_reliably_without_its_daemon() {
    Sim::builder().delay(millis(1), millis(3)).loss(0.05).seeds(0..10, without_its_daemon);
}

/// Readers of its own host are reached by way of the daemon, which does not pass on to others what they get anyway.
#[test]
fn readers_beside_a_direct_writer_get_its_data_too_and_others_get_it_once() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..5, |sim| {
        let (one, other) = (Host::with(sim, "one", 2, asked)?, Host::with(sim, "other", 1, asked)?);
        let writer = direct_writer(&one.programs[0], "Count", true)?;
        let (near, far) = (reader(&one.programs[1], "Count")?, reader(&other.programs[0], "Count")?);
        sim.run_until(|| readers_of(&writer) == 2, secs(30))?;
        sim.run_for(secs(1))?;
        let before = other.status().taken;
        for n in 0..200 {
            one.programs[0].run(|| writer.write(&Count { n }))?;
            sim.run_for(millis(5))?;
        }
        sim.run_for(secs(2))?;
        all_got(&[(&one.programs[1], &near), (&other.programs[0], &far)], 200);
        // A datagram for each sample, an answer to it, and what discovery says.
        let by_other = other.status().taken - before;
        assert!(by_other < 200 * 2 + 100, "{by_other} datagrams for 200 samples");
        Ok(())
    });
}

#[test]
fn direct_writing_needs_a_socket_and_may_be_the_default() {
    Sim::builder().seeds(0..1, |sim| {
        let one = Host::new(sim, "one", 1)?;
        let refused = direct_writer(&one.programs[0], "Count", true);
        let why = refused.expect_err("it has no socket in the network").to_string();
        assert!(why.contains("daemon.direct_write"), "{why}");
        direct_writer(&one.programs[0], "Count", false)?;
        let always = |config: &mut Config| {
            asked(config);
            config.daemon.direct_write = DirectWrite::Always;
        };
        let (two, other) = (Host::with(sim, "two", 1, always)?, Host::with(sim, "other", 1, always)?);
        let writer = writer(&two.programs[0], "Count")?;
        let got = reader(&other.programs[0], "Count")?;
        sim.run_until(|| readers_of(&writer) == 1, secs(30))?;
        two.daemon.crash();
        two.programs[0].run(|| writer.write(&Count { n: 0 }))?;
        sim.run_for(secs(1))?;
        all_got(&[(&other.programs[0], &got)], 1);
        assert_eq!(writer.qos().writes_directly(), None, "what the application asked for");
        // Where nobody is between, every writer writes directly.
        let free = sim.node("free");
        direct_writer(&free, "Count", true)?;
        Ok(())
    });
}
