//! TIME_BASED_FILTER (DDS 1.4 §2.2.3.12) where the writer applies it: less is sent, and nothing is missing.

use std::collections::BTreeMap;

use dunlin::qos::{
    DataReaderQos, DataWriterQos, DestinationOrderKind, PublisherQos, ReliabilityKind, SubscriberQos,
    TopicQos,
};
use dunlin::sim::{Node, PathConfig, Result, Sim};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, InstanceState};

use crate::support::{millis, secs};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Value {
    #[dds(key)]
    id: u32,
    n: u32,
}

const SEPARATION: Duration = millis(100);

fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all()
}

fn reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().time_based_filter(SEPARATION)
}

fn writer(qos: &DataWriterQos) -> Result<DataWriter<Value>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Value>("Values", &TopicQos::default())?;
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
}

fn reader(qos: &DataReaderQos) -> Result<DataReader<Value>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Value>("Values", &TopicQos::default())?;
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
}

fn config(at_writer: bool) -> Config {
    let mut config = Config::default();
    config.set("filters.at_writer", if at_writer { "true" } else { "false" }).expect("a key");
    config
}

fn pair(
    sim: &mut Sim,
    writer_qos: &DataWriterQos,
    reader_qos: &DataReaderQos,
) -> (Node, DataWriter<Value>, DataReader<Value>) {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(writer_qos)).unwrap();
    let reader = b.run(|| reader(reader_qos)).unwrap();
    let matched = || writer.matched_subscriptions().len() == 1 && reader.matched_publications().len() == 1;
    sim.run_until(matched, secs(60)).unwrap();
    sim.run_for(secs(2)).unwrap();
    (a, writer, reader)
}

/// When something was first seen, which instance, which number.
type Seen = Vec<(Duration, u32, u32)>;

fn look(sim: &Sim, reader: &DataReader<Value>, seen: &mut Seen) {
    let taken = reader.take(100_000).expect("no condition");
    seen.extend(
        taken.into_iter().filter_map(|sample| sample.data).map(|value| (sim.elapsed(), value.id, value.n)),
    );
}

/// Writes a value each two milliseconds and looks each millisecond. What was seen, and octets on the wire meanwhile.
fn play(sim: &mut Sim, ids: &[u32], reader_qos: &DataReaderQos) -> (Seen, u64, u64) {
    let (a, writer, reader) = pair(sim, &writer_qos(), reader_qos);
    let (before, sent) = (sim.network_stats().sent.octets, writer.stats());
    let mut seen = Seen::new();
    for (n, id) in ids.iter().enumerate() {
        a.run(|| writer.write(&Value { id: *id, n: n as u32 })).unwrap();
        for _ in 0..2 {
            sim.run_for(millis(1)).unwrap();
            look(sim, &reader, &mut seen);
        }
    }
    let octets = sim.network_stats().sent.octets - before;
    for _ in 0..2_000 {
        sim.run_for(millis(1)).unwrap();
        look(sim, &reader, &mut seen);
    }
    assert_eq!(reader.sample_lost_status().total, 0);
    (seen, octets, writer.stats().samples_filtered - sent.samples_filtered)
}

fn last_values(values: impl Iterator<Item = (u32, u32)>) -> BTreeMap<u32, u32> {
    values.collect()
}

#[test]
fn the_wire_carries_what_is_shown_and_the_same_is_shown() {
    let ids = [7; 1_000];
    let run = |at_writer| {
        let mut sim = Sim::builder().config(config(at_writer)).network(PathConfig::default()).build();
        play(&mut sim, &ids, &reader_qos())
    };
    let ((on, with, saved), (off, without, none)) = (run(true), run(false));
    let numbers = |seen: &Seen| seen.iter().map(|(_, _, n)| *n).collect::<Vec<_>>();
    assert_eq!(numbers(&on), numbers(&off));
    assert!((20..=23).contains(&on.len()), "{} in two seconds", on.len());
    assert!(saved >= 970 && none == 0, "{saved} and {none}");
    assert!(without > 10 * with, "{with} octets instead of {without}");
}

#[test]
fn writer_side_time_based_filter_keeps_the_last_values_under_loss() {
    for seed in 0..8 {
        let run = |at_writer| {
            let builder = Sim::builder().seed(seed).loss(0.2).delay(millis(1), millis(4));
            let mut sim = builder.config(config(at_writer)).build();
            let ids: Vec<u32> =
                (0..400_u64).map(|n| (n.wrapping_mul(seed * 2 + 7919) >> 3) as u32 % 3).collect();
            let (seen, _, saved) = play(&mut sim, &ids, &reader_qos());
            let shown = last_values(seen.iter().map(|(_, id, n)| (*id, *n)));
            let written = last_values(ids.iter().enumerate().map(|(n, id)| (*id, n as u32)));
            assert_eq!(shown, written, "seed {seed}, filtered by the writer: {at_writer}: the last values");
            for id in 0..3 {
                let times: Vec<_> = seen.iter().filter(|(_, of, _)| *of == id).collect();
                let ordered = times.windows(2).all(|pair| pair[0].2 < pair[1].2);
                let apart =
                    times.windows(2).all(|pair| pair[1].0.as_nanos() - pair[0].0.as_nanos() >= 98_000_000);
                assert!(ordered && apart, "seed {seed}: {times:?}");
            }
            (seen.len(), saved)
        };
        let ((on, saved), (off, none)) = (run(true), run(false));
        assert!(on * 10 >= off * 6, "seed {seed}: {on} values shown instead of {off}");
        assert!(saved > 100 && none == 0, "seed {seed}: {saved}");
    }
}

/// Another writer of the topic: what is kept back could pass for newer than what that one has written since.
#[test]
fn a_second_writer_ends_writer_side_separation_unless_ordered_by_source() {
    for by_source in [false, true] {
        let kind = if by_source {
            DestinationOrderKind::BySourceTimestamp
        } else {
            DestinationOrderKind::ByReceptionTimestamp
        };
        let mut sim = Sim::new(5);
        let (a, first, reader) =
            pair(&mut sim, &writer_qos().destination_order(kind), &reader_qos().destination_order(kind));
        let c = sim.node("c");
        let second = c.run(|| writer(&writer_qos().destination_order(kind))).unwrap();
        sim.run_until(|| reader.matched_publications().len() == 2, secs(30)).unwrap();
        sim.run_for(secs(2)).unwrap();
        for n in 0..50 {
            a.run(|| first.write(&Value { id: 1, n })).unwrap();
            sim.run_for(millis(2)).unwrap();
        }
        c.run(|| second.write(&Value { id: 1, n: 50 })).unwrap();
        let mut seen = Seen::new();
        sim.run_for(secs(1)).unwrap();
        look(&sim, &reader, &mut seen);
        assert_eq!(seen.last().map(|(_, _, n)| *n), Some(50), "what was written last is shown last");
        assert_eq!(first.stats().samples_filtered > 0, by_source);
        c.run(|| drop(second));
        c.crash();
        sim.run_for(secs(20)).unwrap();
        for n in 51..60 {
            a.run(|| first.write(&Value { id: 1, n })).unwrap();
        }
        sim.run_for(secs(1)).unwrap();
        assert!(first.stats().samples_filtered > 0, "alone again");
        look(&sim, &reader, &mut seen);
        assert_eq!(seen.last().map(|(_, _, n)| *n), Some(59));
    }
}

#[test]
fn a_second_writer_of_the_participant_ends_writer_side_separation() {
    let mut sim = Sim::new(7);
    let (a, first, reader) = pair(&mut sim, &writer_qos(), &reader_qos());
    let second: Result<_> = a.run(|| {
        let topic = first.publisher().participant().create_topic::<Value>("Values", &TopicQos::default())?;
        Ok(first.publisher().create_datawriter(&topic, &writer_qos())?)
    });
    let second = second.unwrap();
    sim.run_until(|| reader.matched_publications().len() == 2, secs(30)).unwrap();
    for n in 0..50 {
        a.run(|| first.write(&Value { id: 1, n })).unwrap();
        sim.run_for(millis(2)).unwrap();
    }
    a.run(|| second.write(&Value { id: 1, n: 50 })).unwrap();
    let mut seen = Seen::new();
    sim.run_for(secs(1)).unwrap();
    look(&sim, &reader, &mut seen);
    assert_eq!(seen.last().map(|(_, _, n)| *n), Some(50), "what was written last is shown last");
    assert_eq!(first.stats().samples_filtered, 0);
}

#[test]
fn a_small_history_does_not_wait_for_the_separation() {
    for reader_qos in [reader_qos(), reader_qos().best_effort()] {
        let mut sim = Sim::new(6);
        let slow = reader_qos.time_based_filter(secs(3_000));
        let small = writer_qos().resource_limits(10, -1, -1).max_blocking_time(secs(1));
        let (a, writer, reader) = pair(&mut sim, &small, &slow);
        let task = a.spawn(|_| async move {
            for n in 0..100 {
                writer.write_async(&Value { id: 1, n }).await?;
            }
            writer.wait_for_acknowledgments_async().await?;
            Ok(writer.stats().samples_filtered)
        });
        let before = sim.elapsed();
        let saved = sim.join(&task, secs(1)).unwrap();
        assert!(saved >= 60, "{saved}");
        // Who acknowledges nothing is not waited for.
        assert!(reader.qos().reliability.kind == ReliabilityKind::Reliable || sim.elapsed() == before);
        sim.run_for(millis(100)).unwrap();
        let mut seen = Seen::new();
        look(&sim, &reader, &mut seen);
        assert_eq!(seen.len(), 1);
    }
}

/// What a reader was shown: in their order, of each instance, the values and the ends.
type Shown = BTreeMap<u32, Vec<Option<u32>>>;

/// Writes values of three instances each other millisecond, and disposes one now and then if wanted, the last time at the end.
/// What was shown, and how many samples the writer kept from the wire.
fn history_of(
    seed: u64,
    at_writer: bool,
    writer_qos: &DataWriterQos,
    reader_qos: &DataReaderQos,
    disposes: bool,
) -> (Shown, u64) {
    let builder = Sim::builder().seed(seed).config(config(at_writer)).network(PathConfig::default());
    let mut sim = builder.build();
    let (a, writer, reader) = pair(&mut sim, writer_qos, reader_qos);
    let mut shown = Shown::new();
    for n in 0..400_u32 {
        let id = n.wrapping_mul(seed as u32 * 2 + 7919) >> 3;
        let value = Value { id: id % 3, n };
        a.run(|| writer.write(&value)).unwrap();
        if disposes && n % 57 == 56 {
            a.run(|| writer.dispose(&value)).unwrap();
        }
        sim.run_for(millis(2)).unwrap();
        note(&reader, &mut shown);
    }
    for _ in 0..100 {
        sim.run_for(millis(10)).unwrap();
        note(&reader, &mut shown);
    }
    assert_eq!(reader.sample_lost_status().total, 0, "filtered by the writer: {at_writer}");
    (shown, writer.stats().samples_filtered)
}

fn note(reader: &DataReader<Value>, shown: &mut Shown) {
    for sample in reader.take(100_000).expect("no condition") {
        let id = sample.data.as_ref().or(sample.key.as_ref()).map_or(u32::MAX, |value| value.id);
        let shown = shown.entry(id).or_default();
        shown.extend(sample.data.map(|value| Some(value.n)));
        // The last sample of several tells of the end of the instance as well.
        if sample.info.instance_state != InstanceState::Alive && sample.info.sample_rank == 0 {
            shown.push(None);
        }
    }
}

/// What a reader is shown when a writer does something behind a value that it keeps back.
fn shown_after(
    at_writer: bool,
    writer_qos: &DataWriterQos,
    then: impl Fn(&DataWriter<Value>) -> Result,
) -> Shown {
    let mut sim = Sim::builder().seed(3).config(config(at_writer)).network(PathConfig::default()).build();
    let (a, writer, reader) = pair(&mut sim, writer_qos, &reader_qos().best_effort());
    for n in 0..2 {
        a.run(|| writer.write(&Value { id: 1, n })).unwrap();
        sim.run_for(millis(1)).unwrap();
    }
    a.run(|| then(&writer)).unwrap();
    sim.run_for(secs(1)).unwrap();
    let mut shown = Shown::new();
    note(&reader, &mut shown);
    shown
}

/// Under BEST_EFFORT any change takes the place of the oldest when the history is full.
#[test]
fn withheld_samples_leave_before_the_history_drops_them() {
    let small = DataWriterQos::default().best_effort().keep_all().resource_limits(2, -1, -1);
    let others = |writer: &DataWriter<Value>| {
        (2..5).try_for_each(|id| writer.write(&Value { id, n: 9 }))?;
        Ok(())
    };
    let one = |id| (id, vec![Some(9)]);
    let all = Shown::from([(1, vec![Some(0), Some(1)]), one(2), one(3), one(4)]);
    assert_eq!(shown_after(true, &small, others), all);
    assert_eq!(shown_after(false, &small, others), all);
}

/// The writer's filter changes nothing that a reader would miss, whatever the history removes, and when.
#[test]
fn writer_side_separation_loses_nothing_with_any_history_and_lifespan() {
    let lifespans = [None, Some(millis(50)), Some(secs(1))];
    let cases = (0..24_u64).map(|n| (n % 2 == 1, n / 2 % 2 == 1, n / 4 % 2 == 1, lifespans[n as usize / 8]));
    for (case, (reliable, keep_all, disposes, lifespan)) in cases.enumerate() {
        let mut writer = DataWriterQos::default().best_effort();
        let mut reader = reader_qos().best_effort();
        if reliable {
            (writer, reader) = (writer.reliable(), reader.reliable());
        }
        writer = if keep_all { writer.keep_all() } else { writer.keep_last(1) };
        writer = lifespan.map_or(writer.clone(), |lifespan| writer.lifespan(lifespan));
        let of = |at_writer| history_of(case as u64, at_writer, &writer, &reader, disposes);
        let ((on, saved), (off, none)) = (of(true), of(false));
        let what = format!("reliable {reliable}, KEEP_ALL {keep_all}, disposing {disposes}, {lifespan:?}");
        assert!(saved > 50 && none == 0, "{what}: {saved} and {none}");
        assert_eq!(on.len(), off.len(), "{what}");
        for (id, without) in &off {
            let with = &on[id];
            // What ends before the separation does is shown or not, as it happens to be written.
            let lasts = lifespan.is_none_or(|lifespan| lifespan > SEPARATION);
            assert!(!lasts || with.last() == without.last(), "{what}: {id}: {with:?} and {without:?}");
            let ends = |shown: &[Option<u32>]| shown.iter().filter(|value| value.is_none()).count();
            assert_eq!(ends(with), ends(without), "{what}: {id}: {with:?} and {without:?}");
            assert!(with.len() * 10 >= without.len() * 6, "{what}: {id}: {with:?} and {without:?}");
        }
    }
}

/// Each of its readers gets the last value, also those that cannot acknowledge it. (A disposal would overtake it.)
#[test]
fn withheld_samples_leave_when_their_writer_is_deleted() {
    for reliable in [false, true] {
        let mut sim = Sim::new(7);
        let qos = if reliable { reader_qos() } else { reader_qos().best_effort() };
        let writer_qos = writer_qos().autodispose_unregistered_instances(false);
        let (a, writer, reader) = pair(&mut sim, &writer_qos, &qos);
        for n in 0..5 {
            a.run(|| writer.write(&Value { id: 1, n })).unwrap();
            sim.run_for(millis(1)).unwrap();
        }
        a.run(|| drop(writer));
        sim.run_for(secs(1)).unwrap();
        let mut seen = Seen::new();
        look(&sim, &reader, &mut seen);
        let values: Vec<u32> = seen.iter().map(|(_, _, n)| *n).collect();
        assert_eq!(values, [0, 4], "reliable: {reliable}");
    }
}
