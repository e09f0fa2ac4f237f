//! What a late joiner gets from a service when the writer has gone.

use dunlin::InstanceState;
use dunlin::qos::{DestinationOrderKind, DurabilityKind, PublisherQos, TopicQos};
use dunlin::sim::{Result, Sim};

use crate::support::*;

/// Writes ten positions of three instances.
fn write_tracks(sim: &mut Sim, node: &dunlin::sim::Node, writer: &dunlin::DataWriter<Track>) -> Result {
    for position in 0..10 {
        for id in 0..3 {
            node.run(|| writer.write(&track(id, position)))?;
        }
        sim.run_for(millis(20))?;
    }
    Ok(())
}

fn last(depth: i64) -> Vec<(u32, i64)> {
    (0..3).flat_map(|id| (10 - depth..10).map(move |position| (id, position))).collect()
}

/// How many seeds; more by SEEDS.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    0..std::env::var("SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
}

#[test]
fn late_joiner_gets_durability_service_history_of_a_crashed_writer() {
    bad_network().seeds(seeds(12), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        let depth = 1 + (sim.random() % 4) as i32;
        let kind = if sim.random() % 2 == 0 { DurabilityKind::Transient } else { DurabilityKind::Persistent };
        serve(&s, "s", &Disk::default());
        let writer = writer(sim, &a, &writer_qos(depth).durability(kind))?;
        write_tracks(sim, &a, &writer)?;
        stored(sim, &a, &writer)?;
        a.crash();
        let wait = sim.random() % 20;
        sim.run_for(secs(wait as i64))?;
        let late = reader(sim, &b, &reader_qos().durability(kind))?;
        sim.run_until(|| late.stats().delivered >= 3 * depth as u64, secs(60))?;
        sim.run_for(secs(10))?;
        assert_eq!(values(&take(&b, &late)), last(depth.into()));
        Ok(())
    });
}

#[test]
fn acknowledged_samples_survive_a_crash_of_service_and_writer() {
    bad_network().seeds(seeds(8), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        serve(&s, "s", &Disk::default());
        let writer = writer(sim, &a, &writer_qos(2))?;
        write_tracks(sim, &a, &writer)?;
        stored(sim, &a, &writer)?;
        s.crash();
        a.crash();
        sim.run_for(secs(3))?;
        s.restart();
        let late = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| late.stats().delivered >= 6, secs(60))?;
        sim.run_for(secs(5))?;
        assert_eq!(values(&take(&b, &late)), last(2));
        Ok(())
    });
}

#[test]
fn late_joiners_get_everything_once_the_store_can_be_read_again() {
    bad_network().seeds(seeds(4), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        let disk = Disk::default();
        let shown = serve_and_count(&s, "s", &disk);
        let writer = writer(sim, &a, &writer_qos(2))?;
        write_tracks(sim, &a, &writer)?;
        stored(sim, &a, &writer)?;
        a.crash();
        sim.run_for(secs(15))?;
        disk.set_broken(true);
        let late =
            [reader(sim, &b, &reader_qos())?, reader(sim, &b, &reader_qos().remove_duplicates(false))?];
        sim.run_for(secs(5))?;
        assert!(late.iter().all(|late| late.stats().delivered == 0));
        // It can be written all the same.
        assert_eq!(shown.lock().unwrap().failure, None);
        assert!(shown.lock().unwrap().trouble.as_ref().is_some_and(|why| why.contains("late readers wait")));
        disk.set_broken(false);
        for late in &late {
            sim.run_until(|| late.stats().delivered >= 6, secs(60))?;
        }
        sim.run_for(secs(5))?;
        assert_eq!(shown.lock().unwrap().trouble, None);
        assert!(late.iter().all(|late| values(&take(&b, late)) == last(2)));
        Ok(())
    });
}

#[test]
fn late_joiners_get_what_is_not_damaged() {
    bad_network().seeds(seeds(4), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        let disk = Disk::default();
        serve(&s, "s", &disk);
        let writer = writer(sim, &a, &writer_qos(2))?;
        write_tracks(sim, &a, &writer)?;
        stored(sim, &a, &writer)?;
        a.crash();
        sim.run_for(secs(15))?;
        disk.damage();
        for qos in [reader_qos(), reader_qos().remove_duplicates(false)] {
            let late = reader(sim, &b, &qos)?;
            sim.run_until(|| late.stats().delivered >= 5, secs(60))?;
            sim.run_for(secs(5))?;
            assert_eq!(values(&take(&b, &late)), last(2)[1..]);
        }
        Ok(())
    });
}

#[test]
fn a_reader_that_is_there_when_the_service_comes_back_sees_nothing_twice() {
    bad_network().seeds(seeds(8), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        serve(&s, "s", &Disk::default());
        let writer = writer(sim, &a, &writer_qos(3))?;
        // One that drops copies, and one that would show them.
        let drops = reader(sim, &b, &reader_qos())?;
        let shows = reader(sim, &b, &reader_qos().remove_duplicates(false))?;
        sim.run_until(|| writer.matched_subscriptions().len() == 3, secs(60))?;
        write_tracks(sim, &a, &writer)?;
        stored(sim, &a, &writer)?;
        for _ in 0..2 {
            s.crash();
            sim.run_for(secs(3))?;
            s.restart();
            sim.run_for(secs(30))?;
        }
        assert_eq!(values(&take(&b, &drops)), last(10));
        assert_eq!(values(&take(&b, &shows)), last(10));
        Ok(())
    });
}

#[test]
fn a_reader_that_shows_copies_gets_each_sample_once() {
    bad_network().seeds(seeds(8), |sim| {
        let (a, s, b, c) = (sim.node("a"), sim.node("s"), sim.node("b"), sim.node("c"));
        serve(&s, "s", &Disk::default());
        let gone = writer(sim, &a, &writer_qos(2))?;
        write_tracks(sim, &a, &gone)?;
        stored(sim, &a, &gone)?;
        a.run(|| gone.publisher().participant().delete_contained_entities())?;
        let alive = writer(sim, &c, &writer_qos(2))?;
        c.run(|| alive.write(&track(7, 70)))?;
        stored(sim, &c, &alive)?;
        sim.run_for(secs(5))?;
        let late = reader(sim, &b, &reader_qos().remove_duplicates(false))?;
        sim.run_until(|| late.stats().delivered >= 7, secs(60))?;
        c.run(|| alive.write(&track(7, 71)))?;
        sim.run_for(secs(20))?;
        let mut expected = last(2);
        expected.extend([(7, 70), (7, 71)]);
        assert_eq!(values(&take(&b, &late)), expected);
        Ok(())
    });
}

#[test]
fn an_instance_that_ended_comes_with_its_end_or_not_at_all() {
    bad_network().seeds(seeds(6), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        serve(&s, "s", &Disk::default());
        let mut service = keeping(1);
        service.service_cleanup_delay = secs(60);
        let writer = writer(sim, &a, &writer_qos(1).durability_service(service))?;
        // Of what is written before, the writer itself keeps the last change of each instance.
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(60))?;
        a.run(|| writer.write(&track(1, 5)))?;
        a.run(|| writer.write(&track(2, 5)))?;
        a.run(|| writer.dispose(&track(1, 0)))?;
        a.run(|| writer.unregister_instance(&track(1, 0)))?;
        stored(sim, &a, &writer)?;
        a.run(|| writer.publisher().participant().delete_contained_entities())?;
        sim.run_for(secs(3))?;
        let late = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| late.stats().delivered >= 3, secs(60))?;
        sim.run_for(secs(5))?;
        let samples = take(&b, &late);
        assert_eq!(values(&samples), [(1, 5), (2, 5)]);
        let state = |id| {
            let of = samples.iter().filter(|it| it.data.as_ref().is_some_and(|it| it.id == id));
            of.map(|it| it.info.instance_state).next_back()
        };
        assert_eq!(state(1), Some(InstanceState::NotAliveDisposed));
        assert_eq!(state(2), Some(InstanceState::NotAliveNoWriters));
        sim.run_for(secs(70))?;
        let later = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| later.stats().delivered >= 1, secs(60))?;
        sim.run_for(secs(10))?;
        assert_eq!(values(&take(&b, &later)), [(2, 5)]);
        Ok(())
    });
}

#[test]
fn late_joiners_see_that_the_last_writer_has_gone() {
    bad_network().seeds(seeds(6), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        serve(&s, "s", &Disk::default());
        let writer = writer(sim, &a, &writer_qos(1))?;
        a.run(|| writer.write(&track(1, 5)))?;
        stored(sim, &a, &writer)?;
        let before = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| before.stats().delivered >= 1, secs(60))?;
        sim.run_for(secs(5))?;
        a.run(|| writer.publisher().participant().delete_contained_entities())?;
        sim.run_for(secs(10))?;
        let after = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| after.stats().delivered >= 1, secs(60))?;
        sim.run_for(secs(5))?;
        for reader in [before, after] {
            let samples = take(&b, &reader);
            assert_eq!(values(&samples), [(1, 5)]);
            assert!(samples.iter().all(|it| it.info.instance_state == InstanceState::NotAliveNoWriters));
        }
        Ok(())
    });
}

#[test]
fn durability_service_keeps_the_newest_samples_by_source_timestamp() {
    bad_network().seeds(seeds(6), |sim| {
        let (a, s, b, c) = (sim.node("a"), sim.node("s"), sim.node("b"), sim.node("c"));
        serve(&s, "s", &Disk::default());
        let qos = writer_qos(2).destination_order(DestinationOrderKind::BySourceTimestamp);
        let one = writer(sim, &a, &qos)?;
        let other = writer(sim, &c, &qos)?;
        let now = a.run(|| one.publisher().participant().current_time());
        for position in [5, 9] {
            a.run(|| one.write_w_timestamp(&track(1, position), now.plus(secs(position))))?;
        }
        stored(sim, &a, &one)?;
        for position in [1, 7] {
            c.run(|| other.write_w_timestamp(&track(1, position), now.plus(secs(position))))?;
        }
        stored(sim, &c, &other)?;
        a.crash();
        c.crash();
        sim.run_for(secs(20))?;
        let late = reader(sim, &b, &reader_qos().destination_order(DestinationOrderKind::BySourceTimestamp))?;
        sim.run_until(|| late.stats().delivered >= 2, secs(60))?;
        sim.run_for(secs(10))?;
        assert_eq!(values(&take(&b, &late)), [(1, 7), (1, 9)]);
        Ok(())
    });
}

#[test]
fn samples_are_not_acked_while_the_disk_is_full() {
    bad_network().seeds(seeds(6), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        let disk = Disk::default();
        serve(&s, "s", &disk);
        let writer = writer(sim, &a, &writer_qos(2))?;
        a.run(|| writer.write(&track(1, 1)))?;
        stored(sim, &a, &writer)?;
        disk.set_full(true);
        a.run(|| writer.write(&track(1, 2)))?;
        let is_stored = is_stored(&a, &writer);
        sim.run_for(secs(20))?;
        assert!(!is_stored(), "it cannot be stored");
        disk.set_full(false);
        sim.run_until(is_stored, secs(60))?;
        a.crash();
        let late = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| late.stats().delivered >= 2, secs(60))?;
        assert_eq!(values(&take(&b, &late)), [(1, 1), (1, 2)]);
        Ok(())
    });
}

#[test]
fn a_history_longer_than_what_may_be_on_its_way_comes_whole() {
    let mut sim = Sim::new(3);
    let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
    serve(&s, "s", &Disk::default());
    let writer = writer(&mut sim, &a, &writer_qos(10_000)).unwrap();
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(60)).unwrap();
    for position in 0..6000 {
        a.run(|| writer.write(&track(1, position))).unwrap();
        if position % 100 == 0 {
            sim.run_for(millis(50)).unwrap();
        }
    }
    stored(&mut sim, &a, &writer).unwrap();
    a.crash();
    let late = reader(&mut sim, &b, &reader_qos()).unwrap();
    sim.run_until(|| late.stats().delivered >= 6000, secs(120)).unwrap();
    assert_eq!(values(&take(&b, &late)), (0..6000).map(|position| (1, position)).collect::<Vec<_>>());
}

/// A back end that is slow gets no more at a time than it can commit before it is thought away.
#[test]
fn queued_samples_are_committed_in_batches() {
    const SAMPLE: usize = 100_000;
    let mut sim = Sim::new(5);
    let (a, s) = (sim.node("a"), sim.node("s"));
    let disk = Disk::default();
    serve(&s, "s", &disk);
    let participant = participant(&mut sim, &a).unwrap();
    let writers: Vec<_> = ["One", "Other"]
        .into_iter()
        .map(|name| {
            let topic = participant.create_topic::<Picture>(name, &TopicQos::default()).unwrap();
            let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
            publisher.create_datawriter(&topic, &writer_qos(1000)).unwrap()
        })
        .collect();
    sim.run_until(|| writers.iter().all(|it| !it.matched_subscriptions().is_empty()), secs(60)).unwrap();
    let value = |id: u32| Picture { id, octets: vec![0; SAMPLE] };
    disk.set_full(true);
    a.run(|| writers[0].write(&value(0))).unwrap();
    sim.run_for(millis(500)).unwrap();
    for id in 0..150 {
        writers.iter().for_each(|writer| a.run(|| writer.write(&value(id)).map(drop)).unwrap());
        sim.run_for(millis(5)).unwrap();
    }
    disk.set_full(false);
    let done = |writer| is_stored(&a, writer);
    let done: Vec<_> = writers.iter().map(done).collect();
    sim.run_until(|| done.iter().all(|done| done()), secs(60)).unwrap();
    let largest = disk.largest_commit();
    assert!((4 << 20..10 << 20).contains(&largest), "{largest} octets in a commit");
}

/// Names of topics come and go: what is empty and written by nobody keeps no other one out.
#[test]
fn an_empty_topic_that_nobody_writes_gives_up_its_place() {
    let mut sim = Sim::new(7);
    let (a, s) = (sim.node("a"), sim.node("s"));
    serve_with(&s, "name = \"s\"\ndomain = 0\n[limits]\ntopics = 1", &Disk::default());
    let participant = participant(&mut sim, &a).unwrap();
    let open = |name: &str| {
        let topic = participant.create_topic::<Track>(name, &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        publisher.create_datawriter(&topic, &writer_qos(1)).unwrap()
    };
    let first = a.run(|| open("One"));
    sim.run_until(|| !first.matched_subscriptions().is_empty(), secs(60)).unwrap();
    let second = a.run(|| open("Other"));
    sim.run_for(secs(10)).unwrap();
    assert!(second.matched_subscriptions().is_empty(), "there is a topic already");
    a.run(|| drop(first));
    sim.run_until(|| !second.matched_subscriptions().is_empty(), secs(60)).unwrap();
    a.run(|| second.write(&track(1, 1))).unwrap();
    stored(&mut sim, &a, &second).unwrap();
    a.run(|| drop(second));
    let third = a.run(|| open("Third"));
    sim.run_for(secs(20)).unwrap();
    assert!(third.matched_subscriptions().is_empty(), "what is kept has its place");
}

#[test]
fn the_quota_of_instances_does_not_come_before_the_limit_of_the_service() {
    Sim::builder().seeds(seeds(2), |sim| {
        let (a, s, b) = (sim.node("a"), sim.node("s"), sim.node("b"));
        let mut config = config("s");
        config.quota.instances = 8;
        config.config = Some(dunlin::Config::default());
        config.config.as_mut().map(|it| it.set("quotas.max_instances", "5")).transpose()?;
        let shown = serve_and_show(&s, &config, &Disk::default());
        let writer = writer(sim, &a, &writer_qos(1))?;
        for id in 0..12 {
            a.run(|| writer.write(&track(id, 1)))?;
        }
        stored(sim, &a, &writer)?;
        assert_eq!(shown.lock().unwrap().states[0].instances, 8);
        let late = reader(sim, &b, &reader_qos())?;
        a.crash();
        sim.run_until(|| late.stats().delivered >= 8, secs(60))?;
        sim.run_for(secs(5))?;
        // Beyond the limit the oldest goes.
        assert!(values(&take(&b, &late)).iter().filter(|(id, _)| *id >= 4).count() == 8);
        Ok(())
    });
}
