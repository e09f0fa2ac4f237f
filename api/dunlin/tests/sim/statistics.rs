//! Statistics on demand, `docs/statistics.md`.

use std::collections::BTreeMap;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Result, Sim};
use dunlin::statistics::{EntityStatistics, STATISTICS_TOPIC};
use dunlin::{Config, DataReader, DataWriter, DomainParticipant, Guid, InstanceState, Sample, WriterStats};

use crate::support::*;

type Told = BTreeMap<Guid, EntityStatistics>;

fn watch_with(qos: &DataReaderQos) -> Result<DataReader<EntityStatistics>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<EntityStatistics>(STATISTICS_TOPIC, &TopicQos::default())?;
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
}

fn watch() -> Result<DataReader<EntityStatistics>> {
    watch_with(&DataReaderQos::default().keep_all())
}

fn take(reader: &DataReader<EntityStatistics>) -> Vec<Sample<EntityStatistics>> {
    reader.take(100_000).expect("no condition")
}

/// The last that was told of each.
fn last(reader: &DataReader<EntityStatistics>, told: &mut Told) {
    told.extend(take(reader).into_iter().filter_map(|sample| sample.data).map(|it| (it.entity.guid(), it)));
}

/// The writers of statistics that a participant sees.
fn announced(participant: &DomainParticipant) -> usize {
    let seen = participant.discovered_publications();
    seen.iter().filter(|writer| &*writer.topic_name == STATISTICS_TOPIC).count()
}

fn participant_of(writer: &DataWriter<Reading>) -> DomainParticipant {
    writer.publisher().participant().clone()
}

#[test]
fn repairs_and_losses_are_those_of_the_engine() {
    let (mut repaired, mut lost) = (0, 0);
    bad_network().seeds(0..6, |sim| {
        let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
        let w = a.run(|| writer(&writer_qos()))?;
        let r = b.run(|| reader(&reader_qos()))?;
        let weak = b.run(|| reader(&DataReaderQos::default()))?;
        let watch = c.run(watch)?;
        sim.run_until(
            || w.matched_subscriptions().len() == 2 && matched_one(&r) && matched_one(&weak),
            secs(60),
        )?;
        for n in 0..200 {
            a.run(|| w.write(&reading(n)))?;
            sim.run_for(millis(5))?;
        }
        sim.run_until(|| r.read(200).is_ok_and(|read| read.len() == 200), secs(60))?;
        sim.run_for(secs(5))?;
        take(&watch);
        let mut told = Told::new();
        let guids = [w.guid(), r.guid(), weak.guid()].map(Option::unwrap);
        let all = || {
            last(&watch, &mut told);
            guids.iter().all(|guid| told.contains_key(guid))
        };
        sim.run_until(all, secs(60))?;
        // Nothing is written any more, so what was told is what the engine counts now.
        let (it, stats): (_, WriterStats) = (told[&guids[0]].writer.clone().unwrap(), w.stats());
        assert_eq!((it.written, it.sent, it.sent_octets), (200, stats.samples_sent, stats.octets_sent));
        assert_eq!((it.repairs, it.repair_octets), (stats.repairs_sent, stats.repair_octets_sent));
        assert_eq!((it.acknacks_received, it.unacknowledged), (stats.acknacks_received, 0));
        assert_eq!((it.matched, it.inactive, it.kept), (2, 0, 200));
        assert_eq!(told[&guids[0]].topic_name, "Readings");
        let it = told[&guids[1]].reader.unwrap();
        assert_eq!((it.received, it.lost, it.acknacks_sent), (200, 0, r.stats().acknacks_sent));
        assert_eq!((it.matched, it.kept), (1, 200));
        let it = told[&guids[2]].reader.unwrap();
        assert_eq!((it.received, it.lost), (weak.stats().delivered, weak.stats().lost));
        repaired += told[&guids[0]].writer.as_ref().unwrap().repairs;
        lost += it.lost;
        let own = told.values().filter_map(|it| it.participant).collect::<Vec<_>>();
        assert!(
            own.len() >= 2 && own.iter().all(|it| it.datagrams > 0 && it.sent_octets > it.sent_datagrams)
        );
        Ok(())
    });
    assert!(repaired > 100 && lost > 100, "{repaired} {lost}");
}

fn matched_one(reader: &DataReader<Reading>) -> bool {
    reader.matched_publications().len() == 1
}

/// What a writer with a reader sends, and what of it others see, until `then` is called and for ten seconds more.
fn datagrams(statistics: bool) -> Result<u64> {
    let mut config = Config::default();
    config.set("statistics.enabled", if statistics { "true" } else { "false" })?;
    let mut sim = Sim::builder().seed(7).config(config).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (w, r) = (a.run(|| writer(&writer_qos()))?, b.run(|| reader(&reader_qos()))?);
    sim.run_until(|| matched(&w, &r), secs(60))?;
    a.run(|| w.write(&reading(1)))?;
    sim.run_for(secs(60))?;
    assert_eq!(announced(&r.subscriber().participant()), 0);
    Ok(sim.trace_hash())
}

#[test]
fn without_a_subscriber_statistics_are_neither_announced_nor_sent() {
    assert_eq!(
        datagrams(true).unwrap(),
        datagrams(false).unwrap(),
        "the traffic is the same, octet for octet"
    );
}

#[test]
fn statistics_are_switched_off_by_configuration() {
    let mut config = Config::default();
    config.set("statistics.enabled", "false").unwrap();
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node_with("a", config), sim.node("b"));
    let w = a.run(|| writer(&writer_qos())).unwrap();
    let watch = b.run(watch).unwrap();
    sim.run_until(|| participant_of(&w).discovered_subscriptions().len() == 1, secs(60)).unwrap();
    sim.run_for(secs(30)).unwrap();
    assert_eq!(announced(&watch.subscriber().participant()), 0);
    assert!(take(&watch).is_empty() && watch.matched_publications().is_empty());
}

#[test]
fn the_statistics_writer_exists_while_it_has_subscribers() {
    let mut sim = Sim::new(2);
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let w = a.run(|| writer(&writer_qos())).unwrap();
    let (first, second) = (b.run(watch).unwrap(), c.run(watch).unwrap());
    let guid = w.guid().unwrap();
    let told = |watch: &DataReader<EntityStatistics>| {
        take(watch).iter().filter_map(|it| it.data.as_ref()).filter(|it| it.entity.guid() == guid).count()
    };
    sim.run_until(|| told(&first) > 0, secs(10)).unwrap();
    sim.run_until(|| told(&second) > 0, secs(10)).unwrap();
    // One writer for both.
    let seen = first.subscriber().participant().discovered_publications();
    assert_eq!(seen.iter().filter(|it| it.guid.prefix == guid.prefix).count(), 2);
    let of_a = |watch: &DataReader<EntityStatistics>| {
        let seen = watch.subscriber().participant().discovered_publications();
        seen.iter().filter(|it| it.guid.prefix == guid.prefix && &*it.topic_name == STATISTICS_TOPIC).count()
    };
    b.run(|| first.subscriber().delete_datareader(&first)).unwrap();
    sim.run_for(secs(20)).unwrap();
    assert!(told(&second) >= 15 && of_a(&second) == 1);
    c.run(|| second.subscriber().delete_datareader(&second)).unwrap();
    sim.run_for(secs(10)).unwrap();
    assert_eq!((of_a(&first), of_a(&second)), (0, 0), "gone with the last of them");
    // And again.
    let third = c.run(watch).unwrap();
    sim.run_until(|| told(&third) > 0, secs(10)).unwrap();
    c.crash();
    sim.run_for(secs(30)).unwrap();
    assert_eq!(of_a(&first), 0, "a participant that is lost asks nothing any more");
}

/// Whoever comes and goes many times a second does not have as many writers announced.
#[test]
fn restless_subscribers_have_one_writer() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = a.run(|| writer(&writer_qos())).unwrap();
    let own = participant_of(&w);
    let mut writers = std::collections::BTreeSet::new();
    let participant = b.run(|| DomainParticipant::new(0)).unwrap();
    for _ in 0..40 {
        let watch = b.run(watch).unwrap();
        sim.run_until(|| !own.discovered_subscriptions().is_empty(), secs(10)).unwrap();
        sim.run_for(millis(50)).unwrap();
        let seen = participant.discovered_publications();
        writers.extend(seen.iter().filter(|it| &*it.topic_name == STATISTICS_TOPIC).map(|it| it.guid));
        b.run(|| drop(watch));
        sim.run_until(|| own.discovered_subscriptions().is_empty(), secs(60)).unwrap();
        sim.run_for(millis(200)).unwrap();
    }
    let of_a = writers.iter().filter(|guid| guid.prefix == own.guid().prefix).count();
    assert_eq!(of_a, 1, "{writers:?}");
}

#[test]
fn the_period_is_that_of_the_configuration() {
    for (period, samples) in [("100ms", 95..=105), ("1s", 9..=11), ("5s", 2..=3)] {
        let mut config = Config::default();
        config.set("statistics.period", period).unwrap();
        let mut sim = Sim::new(4);
        let (a, b) = (sim.node_with("a", config), sim.node("b"));
        let w = a.run(|| writer(&writer_qos())).unwrap();
        let watch = b.run(watch).unwrap();
        sim.run_until(|| !watch.matched_publications().is_empty(), secs(10)).unwrap();
        sim.run_for(secs(1)).unwrap();
        take(&watch);
        sim.run_for(secs(10)).unwrap();
        let mut times: Vec<u64> = take(&watch)
            .into_iter()
            .filter_map(|it| it.data)
            .filter(|it| Some(it.entity.guid()) == w.guid())
            .map(|it| it.time)
            .collect();
        assert!(samples.contains(&times.len()), "{period}: {}", times.len());
        assert!(times.is_sorted());
        times.dedup();
        assert!(samples.contains(&times.len()));
    }
    let mut config = Config::default();
    config.set("statistics.period", "50ms").unwrap();
    assert!(config.check().is_err());
}

/// Whoever comes while others watch does not wait for the end of a long period; the others go on as before.
#[test]
fn a_second_statistics_subscriber_gets_samples_soon() {
    let mut config = Config::default();
    config.set("statistics.period", "1h").unwrap();
    let mut sim = Sim::new(10);
    let (a, b, c) = (sim.node_with("a", config), sim.node("b"), sim.node("c"));
    let w = a.run(|| writer(&writer_qos())).unwrap();
    let mut watches = vec![];
    for node in [b, c] {
        watches.push(node.run(watch).unwrap());
        let watch = watches.last().unwrap();
        sim.run_for(secs(5)).unwrap();
        let of_w = |it: &Sample<EntityStatistics>| {
            it.data.as_ref().is_some_and(|it| Some(it.entity.guid()) == w.guid())
        };
        assert_eq!(take(watch).iter().filter(|it| of_w(it)).count(), 1);
        sim.run_for(secs(500)).unwrap();
        assert!(!take(watch).iter().any(of_w));
    }
}

#[test]
fn endpoints_that_go_are_disposed_of() {
    let mut sim = Sim::new(5);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = a.run(|| writer(&writer_qos())).unwrap();
    let watch = b.run(watch).unwrap();
    let (guid, mut told) = (w.guid().unwrap(), Told::new());
    sim.run_until(
        || {
            last(&watch, &mut told);
            told.contains_key(&guid)
        },
        secs(10),
    )
    .unwrap();
    a.run(|| w.publisher().delete_datawriter(&w)).unwrap();
    let gone = || {
        take(&watch).iter().any(|it| {
            it.info.instance_handle == guid.into()
                && it.info.instance_state == InstanceState::NotAliveDisposed
        })
    };
    sim.run_until(gone, secs(10)).unwrap();
}

/// The statistics of 600 endpoints are told by turns, and no turn is more than its share.
#[test]
fn statistics_of_many_endpoints_are_published_in_turns() {
    let mut sim = Sim::new(6);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writers: Vec<_> = a
        .run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let make = |_| publisher.create_datawriter(&topic, &DataWriterQos::default());
            Ok((0..600).map(make).collect::<std::result::Result<_, _>>()?)
        })
        .unwrap();
    let watch = b.run(watch).unwrap();
    sim.run_until(|| !watch.matched_publications().is_empty(), secs(20)).unwrap();
    let own = writers[0].guid().unwrap().prefix;
    let (mut told, mut rounds) = (Told::new(), 0);
    while told.keys().filter(|guid| guid.prefix == own).count() < 601 {
        sim.run_for(secs(1)).unwrap();
        let taken = take(&watch);
        let of_a = taken.iter().filter(|it| it.info.publication_handle.to_guid().prefix == own).count();
        assert!(of_a <= 257, "{of_a}");
        told.extend(taken.into_iter().filter_map(|sample| sample.data).map(|it| (it.entity.guid(), it)));
        rounds += 1;
        assert!(rounds < 10, "{} of 601", told.len());
    }
}

/// A reader that stands still is named, and those who watch do not hold anything up.
#[test]
fn inactive_readers_are_named() {
    let mut sim = Sim::new(8);
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let w = a.run(|| writer(&writer_qos())).unwrap();
    let r = b.run(|| reader(&reader_qos())).unwrap();
    let watch = c.run(watch).unwrap();
    sim.run_until(|| matched(&w, &r) && !watch.matched_publications().is_empty(), secs(60)).unwrap();
    let (guid, silent) = (w.guid().unwrap(), r.guid().unwrap());
    sim.cut(&a, &b);
    sim.cut(&b, &a);
    for n in 0..50 {
        a.run(|| w.write(&reading(n))).unwrap();
        sim.run_for(millis(100)).unwrap();
    }
    let mut told = Told::new();
    last(&watch, &mut told);
    let it = told[&guid].writer.clone().unwrap();
    assert_eq!((it.inactive, it.matched), (1, 1));
    assert_eq!(it.inactive_readers, [silent.into()]);
    assert!(it.unacknowledged >= 40, "{it:?}");
}

/// One who asks for more than is offered is not told, and costs nobody anything.
#[test]
fn a_reliable_reader_does_not_match_the_statistics_writer() {
    let mut sim = Sim::new(9);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = a.run(|| writer(&writer_qos())).unwrap();
    let watch = b.run(|| watch_with(&DataReaderQos::default().reliable())).unwrap();
    sim.run_for(secs(20)).unwrap();
    assert!(take(&watch).is_empty());
    assert!(watch.requested_incompatible_qos_status().count.total > 0);
    drop(w);
}
