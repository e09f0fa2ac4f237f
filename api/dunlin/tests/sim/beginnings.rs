//! No lost beginnings: what a reliable keep-all writer writes after its PUBLICATION_MATCHED reaches that reader, also a
//! volatile one that has not discovered the writer yet.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Delay, Node, PathConfig, Result, Sim};
use dunlin::{DataReader, DataWriter, DomainParticipant};

use crate::support::*;

fn volatile() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all())
}

/// Up to so many steps of so many milliseconds pass.
fn some_time(sim: &mut Sim, step: i64, steps: u64) -> Result {
    let count = i64::try_from(sim.random() % steps).unwrap_or(0);
    Ok(sim.run_for(millis(1 + step * count))?)
}

fn writer_of(node: &Node, participant: &DomainParticipant) -> Result<DataWriter<Reading>> {
    node.run(|| {
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        Ok(publisher.create_datawriter(&topic, &volatile().0)?)
    })
}

fn reader_of(node: &Node, participant: &DomainParticipant) -> Result<DataReader<Reading>> {
    node.run(|| {
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        Ok(subscriber.create_datareader(&topic, &volatile().1)?)
    })
}

/// Every number from `from` on, in order, each once.
fn expect_all(sim: &mut Sim, reader: &DataReader<Reading>, from: u32, to: u32) -> Result {
    let mut seen = Vec::new();
    sim.run_until(
        || {
            let taken = reader.take(1000).expect("no condition");
            seen.extend(taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n));
            seen.len() >= (to - from) as usize
        },
        secs(60),
    )?;
    sim.run_for(secs(2))?;
    assert!(reader.take(1)?.is_empty() && seen.iter().copied().eq(from..to), "{seen:?}");
    assert_eq!(reader.sample_lost_status().total, 0);
    Ok(())
}

#[test]
fn the_reader_has_not_discovered_the_writer() {
    Sim::builder().seeds(0..8, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let reader = reader_of(&b, &other)?;
        sim.run_for(secs(2))?;
        // Nothing gets from the writer's side to the reader's: neither its announcement nor its first heartbeats.
        sim.cut(&a, &b);
        let writer = writer_of(&a, &one)?;
        assert_eq!(writer.matched_subscriptions().len(), 1, "one-sided");
        a.run(|| (0..20).try_for_each(|n| writer.write(&reading(n))))?;
        some_time(sim, 400, 8)?;
        assert!(reader.matched_publications().is_empty());
        sim.mend(&a, &b);
        expect_all(sim, &reader, 0, 20)
    });
}

#[test]
fn the_reader_discovers_the_writer_and_its_answers_are_lost() {
    Sim::builder().seeds(0..8, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let reader = reader_of(&b, &other)?;
        sim.run_for(secs(2))?;
        let writer = writer_of(&a, &one)?;
        sim.cut(&b, &a);
        a.run(|| (0..20).try_for_each(|n| writer.write(&reading(n))))?;
        some_time(sim, 300, 8)?;
        sim.mend(&b, &a);
        a.run(|| (20..30).try_for_each(|n| writer.write(&reading(n))))?;
        expect_all(sim, &reader, 0, 30)
    });
}

#[test]
fn loss_and_reordering_of_discovery_data_and_heartbeats() {
    let path = PathConfig {
        loss_ppm: 300_000,
        reorder_ppm: 300_000,
        reorder_by: millis(200),
        duplicate_ppm: 50_000,
        delay: Delay::Uniform(millis(1), millis(80)),
        ..PathConfig::default()
    };
    Sim::builder().network(path).seeds(0..24, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        // Either may come first.
        let (writer, reader) = if sim.random() % 2 == 0 {
            let writer = writer_of(&a, &one)?;
            some_time(sim, 1, 500)?;
            (writer, reader_of(&b, &other)?)
        } else {
            let reader = reader_of(&b, &other)?;
            some_time(sim, 1, 500)?;
            (writer_of(&a, &one)?, reader)
        };
        // What nobody was there for is not for a volatile reader.
        let early = (sim.random() % 3) as u32;
        if writer.matched_subscriptions().is_empty() {
            a.run(|| (1000..1000 + early).try_for_each(|n| writer.write(&reading(n))))?;
        }
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(60))?;
        for n in 0..40 {
            a.run(|| writer.write(&reading(n)))?;
            some_time(sim, 1, 20)?;
        }
        expect_all(sim, &reader, 0, 40)
    });
}

/// Another reader of the same participant has the writer already: what it is sent must not pass for the second one's.
#[test]
fn a_second_reader_begins_where_the_writer_matched_it() {
    Sim::builder().loss(0.2).delay(millis(1), millis(30)).seeds(0..12, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let (writer, first) = (writer_of(&a, &one)?, reader_of(&b, &other)?);
        sim.run_until(|| matched(&writer, &first), secs(60))?;
        a.run(|| (0..10).try_for_each(|n| writer.write(&reading(n))))?;
        let second = reader_of(&b, &other)?;
        let mut next = 10;
        while writer.matched_subscriptions().len() < 2 {
            a.run(|| writer.write(&reading(next)))?;
            next += 1;
            sim.run_for(millis(5))?;
        }
        let begin = next;
        a.run(|| (begin..begin + 20).try_for_each(|n| writer.write(&reading(n))))?;
        let mut seen = Vec::new();
        let complete = || {
            let taken = second.take(1000).expect("no condition");
            seen.extend(taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n));
            seen.last() == Some(&(begin + 19))
        };
        sim.run_until(complete, secs(60))?;
        // It may have got some of what the first one was sent before, but from there on everything.
        let from_there = seen.iter().copied().filter(|n| *n >= begin);
        assert!(from_there.eq(begin..begin + 20) && seen.is_sorted(), "{begin}: {seen:?}");
        expect_all(sim, &first, 0, begin + 20)
    });
}

#[test]
fn samples_written_after_a_partition_heals_are_not_lost() {
    Sim::builder().seeds(0..6, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let (writer, reader) = (writer_of(&a, &one)?, reader_of(&b, &other)?);
        sim.run_until(|| matched(&writer, &reader), secs(60))?;
        a.run(|| (0..5).try_for_each(|n| writer.write(&reading(n))))?;
        expect_all(sim, &reader, 0, 5)?;
        // Long enough for the leases of both, or of one, to end.
        sim.cut(&a, &b);
        if sim.random() % 2 == 0 {
            sim.cut(&b, &a);
        }
        sim.run_until(|| reader.matched_publications().is_empty(), secs(300))?;
        some_time(sim, 1, 2_000)?;
        sim.heal();
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(300))?;
        a.run(|| (5..25).try_for_each(|n| writer.write(&reading(n))))?;
        expect_all(sim, &reader, 5, 25)
    });
}
