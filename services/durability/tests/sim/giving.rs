//! How a service gives the history: until the reader has acknowledged it, so that readers can wait for it, and as writers ask now.

use std::sync::{Arc, Mutex};

use dunlin::qos::{PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{DomainParticipant, Duration, WaitForError};

use crate::support::*;

/// So many positions of one instance are kept of a writer that has gone.
fn keep(sim: &mut Sim, disk: &Disk, count: i64) -> Result<(Node, Arc<Mutex<Shown>>)> {
    let (a, s) = (sim.node("a"), sim.node("s"));
    let shown = serve_and_count(&s, "s", disk);
    let writer = writer(sim, &a, &writer_qos(10_000))?;
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(60))?;
    for position in 0..count {
        a.run(|| writer.write(&track(1, position)))?;
        if position % 100 == 0 {
            sim.run_for(millis(50))?;
        }
    }
    stored(sim, &a, &writer)?;
    a.crash();
    sim.run_for(secs(15))?;
    Ok((s, shown))
}

fn positions(count: i64) -> Vec<(u32, i64)> {
    (0..count).map(|position| (1, position)).collect()
}

/// A reader that shows doubles gets the history once. If the service ends before it has it, it gets it from the next one.
#[test]
fn a_service_that_ends_while_it_gives_gives_it_when_it_is_back() {
    // Without loss: what the reader says of itself could not be asked for again over a line that is cut one way.
    Sim::builder().delay(millis(1), millis(10)).seeds(0..6, |sim| {
        let (s, shown) = keep(sim, &Disk::default(), 300)?;
        let b = sim.node("b");
        let participant = participant(sim, &b)?;
        sim.run_for(secs(2))?;
        // It meets the reader, and nothing of what it gives arrives.
        sim.cut(&s, &b);
        let late = b.run(|| -> Result<_> {
            let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            Ok(subscriber.create_datareader(&topic, &reader_qos().remove_duplicates(false))?)
        })?;
        let given = || shown.lock().unwrap().states.iter().any(|it| it.counters.served > 0);
        sim.run_until(given, secs(9))?;
        sim.run_for(secs(2))?;
        assert_eq!(late.stats().delivered, 0);
        s.crash();
        sim.mend(&s, &b);
        sim.run_for(secs(30))?;
        s.restart();
        sim.run_until(|| late.stats().delivered >= 300, secs(60))?;
        // What it has acknowledged it does not get again.
        sim.run_for(secs(5))?;
        s.crash();
        sim.run_for(secs(30))?;
        s.restart();
        sim.run_for(secs(20))?;
        let seen = values(&take(&b, &late));
        assert!(seen == positions(300), "{} samples", seen.len());
        Ok(())
    });
}

/// As applications do it: they wait, and take what there is.
#[test]
fn historical_data_is_there_when_the_wait_for_it_is_over() {
    bad_network().seeds(0..6, |sim| {
        let _ = keep(sim, &Disk::default(), 3000)?;
        let b = sim.node("b");
        let (seed, together) = (sim.random(), sim.random() % 2 == 0);
        let waited = b.spawn_thread(move |cx| {
            let participant = DomainParticipant::new(0)?;
            participant.wait_for_durability_service(secs(30))?;
            if !together {
                cx.sleep_blocking(millis((seed % 3000) as i64))?;
            }
            let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let late = subscriber.create_datareader(&topic, &reader_qos())?;
            late.wait_for_historical_data(secs(60))?;
            Ok(values(&late.take(usize::MAX)?))
        });
        assert_eq!(sim.join(&waited, secs(120))?, positions(3000));
        let late = reader(sim, &b, &reader_qos().remove_duplicates(false))?;
        let waited = b.spawn(move |_| async move {
            late.wait_for_historical_data_async().await?;
            Ok(values(&late.take(usize::MAX)?))
        });
        assert_eq!(sim.join(&waited, secs(120))?, positions(3000));
        Ok(())
    });
}

#[test]
fn the_wait_for_historical_data_ends_when_it_was_said_or_there_is_none() {
    bad_network().seeds(0..4, |sim| {
        let disk = Disk::default();
        let _ = keep(sim, &disk, 10)?;
        let b = sim.node("b");
        disk.set_broken(true);
        let late = reader(sim, &b, &reader_qos())?;
        let waits = late.clone();
        let waited = b.spawn_thread(move |_| Ok(waits.wait_for_historical_data(secs(9))));
        assert_eq!(sim.join(&waited, secs(20))?, Err(WaitForError::Timeout(secs(9))));
        disk.set_broken(false);
        let waited =
            b.spawn_thread(move |_| Ok((late.wait_for_historical_data(secs(9)), late.take(99)?.len())));
        assert_eq!(sim.join(&waited, secs(20))?, (Ok(()), 10));
        // Of a topic that no service has there is nothing to wait for.
        let participant = participant(sim, &b)?;
        let waited = b.spawn_thread(move |cx| {
            let topic = participant.create_topic::<Track>("Others", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let late = subscriber.create_datareader(&topic, &reader_qos())?;
            let begin = cx.elapsed();
            late.wait_for_historical_data(secs(60))?;
            Ok(cx.elapsed().as_nanos() - begin.as_nanos())
        });
        assert!(Duration::from_nanos(sim.join(&waited, secs(60))?) < secs(5));
        Ok(())
    });
}

/// The first writer's DURABILITY_SERVICE counts as long as somebody asks for it, then another one's.
#[test]
fn an_unused_durability_service_contract_gives_way_to_another() {
    bad_network().seeds(0..4, |sim| {
        let (a, c, s, b) = (sim.node("a"), sim.node("c"), sim.node("s"), sim.node("b"));
        let shown = serve_and_count(&s, "s", &Disk::default());
        let first = writer(sim, &a, &writer_qos(2))?;
        sim.run_until(|| !first.matched_subscriptions().is_empty(), secs(60))?;
        let second = writer(sim, &c, &writer_qos(5))?;
        let differences = || shown.lock().unwrap().differences.clone();
        sim.run_until(|| !differences().is_empty(), secs(60))?;
        let wanted = "Tracks: it is kept by KEEP_LAST 2 cleanup 0 s BY_RECEPTION_TIMESTAMP, and a writer asks for KEEP_LAST 5 cleanup 0 s \
                      BY_RECEPTION_TIMESTAMP";
        assert_eq!(differences(), [wanted]);
        let write = |sim: &mut Sim, range: std::ops::Range<i64>| -> Result {
            for position in range {
                c.run(|| second.write(&track(1, position)))?;
            }
            stored(sim, &c, &second)
        };
        write(sim, 0..10)?;
        sim.run_for(secs(60))?;
        assert_eq!(differences().len(), 1, "the first one still asks");
        assert_eq!(shown.lock().unwrap().states[0].samples, 2);
        // Readers are there, and stay.
        let there = [reader(sim, &b, &reader_qos())?, reader(sim, &b, &reader_qos().remove_duplicates(false))?];
        sim.run_for(secs(5))?;
        a.run(|| first.publisher().participant().delete_contained_entities())?;
        sim.run_until(|| differences().is_empty(), secs(60))?;
        write(sim, 10..20)?;
        assert_eq!(shown.lock().unwrap().states[0].samples, 5);
        c.crash();
        sim.run_for(secs(20))?;
        let late = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| late.stats().delivered >= 5, secs(60))?;
        sim.run_for(secs(10))?;
        assert_eq!(values(&take(&b, &late)), (15..20).map(|position| (1, position)).collect::<Vec<_>>());
        // After a restart it is still the second one's.
        s.crash();
        sim.run_for(secs(15))?;
        s.restart();
        let later = reader(sim, &b, &reader_qos())?;
        sim.run_until(|| later.stats().delivered >= 5, secs(60))?;
        for reader in there {
            let mut seen = values(&take(&b, &reader));
            let all = seen.len();
            seen.dedup();
            assert!(seen.len() == all && seen.ends_with(&[(1, 18), (1, 19)]), "{seen:?}");
        }
        Ok(())
    });
}

/// While nothing can be written, what waits is bounded in octets; what found no room comes again.
#[test]
fn octets_that_wait_for_the_disk_are_bounded() {
    let mut sim = Sim::new(11);
    let (a, s) = (sim.node("a"), sim.node("s"));
    let (disk, mut config) = (Disk::default(), config("s"));
    config.config.get_or_insert_default().set("quotas.max_samples_octets", "4MiB").unwrap();
    let shown = serve_and_show(&s, &config, &disk);
    let participant = participant(&mut sim, &a).unwrap();
    let topic = participant.create_topic::<Picture>("Pictures", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &writer_qos(1000)).unwrap();
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(60)).unwrap();
    disk.set_full(true);
    for id in 0..150 {
        a.run(|| writer.write(&Picture { id, octets: vec![0; 100_000] })).unwrap();
        sim.run_for(millis(5)).unwrap();
    }
    let refused = || shown.lock().unwrap().states.iter().map(|it| it.refused).sum::<u64>();
    sim.run_until(|| refused() > 0, secs(60)).unwrap();
    disk.set_full(false);
    let is_stored = is_stored(&a, &writer);
    sim.run_until(is_stored, secs(120)).unwrap();
    assert_eq!(shown.lock().unwrap().states[0].samples, 150);
}
