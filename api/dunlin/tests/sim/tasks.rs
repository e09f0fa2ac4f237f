//! Nodes as async tasks.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use dunlin::sim::{Sim, seeds};
use dunlin::{GuardCondition, StateMasks, StatusMask, WaitError, WaitForError, WaitSet, WriteError};

use crate::support::*;

#[test]
fn a_lossy_network_loses_nothing_and_keeps_the_order() {
    bad_network().seeds(0..20, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        a.spawn(|cx| sensor(cx, 200));
        let seen = b.spawn(|_| display(200));
        assert_eq!(sim.join(&seen, secs(60))?, (0..200).collect::<Vec<_>>());
        assert!(sim.network_stats().lost > 50, "{:?}", sim.network_stats());
        Ok(())
    });
}

#[test]
fn a_writer_that_goes_away_waits_for_its_readers() {
    // For a second at most: the network must not be all too bad.
    Sim::builder().loss(0.05).seeds(0..20, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let seen = b.spawn(|_| display(50));
        let writer = a.run(|| writer(&writer_qos()))?;
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(60))?;
        for n in 0..50 {
            a.run(|| writer.write(&reading(n)))?;
        }
        // The last handle, on the thread of the test; a.spawn(sensor) drops one in a task.
        drop(writer);
        assert_eq!(sim.join(&seen, secs(60))?, (0..50).collect::<Vec<_>>());
        Ok(())
    });
}

#[test]
fn a_call_that_would_have_to_wait_in_a_task_is_refused() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let slow = b.run(|| reader(&small_reader_qos())).unwrap();
    let refused = a.spawn(|cx| async move {
        let writer = writer(&small_writer_qos(2))?;
        while writer.matched_subscriptions().is_empty() {
            cx.sleep(millis(10)).await;
        }
        let before = cx.elapsed();
        let error = (0..10).find_map(|n| writer.write(&reading(n)).err());
        let set = WaitSet::new();
        let guard = GuardCondition::new();
        set.attach_condition(guard.condition());
        assert_eq!(set.wait(secs(1)), Err(WaitError::InTask));
        assert_eq!(writer.wait_for_acknowledgments(secs(1)), Err(WaitForError::InTask));
        assert!(cx.sleep_blocking(secs(1)).is_err() && cx.block_on(cx.sleep(secs(1))).is_err());
        // What is true already needs no waiting.
        guard.set_trigger_value(true);
        assert_eq!(set.wait(secs(1)).map(|active| active.len()), Ok(1));
        assert_eq!(cx.elapsed(), before);
        Ok(error)
    });
    let error = sim.join(&refused, secs(60)).unwrap();
    assert_eq!(error, Some(WriteError::InTask));
    assert!(error.unwrap().to_string().contains("async variant"));
    drop(slow);
}

#[test]
fn async_variants_wait() {
    let mut sim = bad_network().seed(3).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let slow = b.run(|| reader(&small_reader_qos())).unwrap();
    let written = a.spawn(|cx| async move {
        let writer = writer(&small_writer_qos(2))?;
        let (set, matched) = (WaitSet::new(), writer.status_condition());
        matched.set_enabled_statuses(StatusMask::PUBLICATION_MATCHED);
        set.attach_condition(matched.condition());
        assert_eq!(set.wait_async().await?, [matched.condition().clone()]);
        for n in 0..8 {
            writer.write_async(&reading(n)).await?;
        }
        assert!(cx.timeout(secs(5), writer.wait_for_acknowledgments_async()).await.is_ok());
        Ok(cx.elapsed())
    });
    let mut seen = Vec::new();
    while !written.is_done() {
        sim.run_for(millis(500)).unwrap();
        seen.extend(slow.take(1).unwrap().into_iter().filter_map(|sample| sample.data).map(|r| r.n));
        assert!(sim.elapsed() < secs(60));
    }
    assert!(seen.len() >= 6 && seen.is_sorted(), "{seen:?}");
    let at = sim.join(&written, secs(0)).unwrap();
    assert!(at > secs(2), "each taken sample made room for one more: {at}");
}

#[test]
fn history_is_waited_for() {
    let mut sim = bad_network().seed(5).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let early = a.run(|| writer(&writer_qos())).unwrap();
    for n in 0..100 {
        a.run(|| early.write(&reading(n))).unwrap();
    }
    let count = b.spawn(|cx| async move {
        let reader = reader(&reader_qos())?;
        while reader.matched_publications().is_empty() {
            cx.sleep(millis(1)).await;
        }
        cx.timeout(secs(10), reader.wait_for_historical_data_async()).await??;
        Ok(reader.take(1000)?.len())
    });
    assert_eq!(sim.join(&count, secs(60)).unwrap(), 100);
}

#[test]
fn the_thread_of_the_test_cannot_wait_nor_join_a_domain() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let error = writer(&writer_qos()).unwrap_err().to_string();
    assert!(error.contains("Node::run"), "{error}");
    let writer = a.run(|| writer(&small_writer_qos(1))).unwrap();
    let full = (0..2).find_map(|n| writer.write(&reading(n)).err());
    // Nobody reads: the history has room for what nobody has to acknowledge.
    assert_eq!(full, None);
    let set = WaitSet::new();
    assert_eq!(set.wait(secs(1)), Err(WaitError::InSimulation));
    drop(sim);
    assert_eq!(set.wait(millis(0)), Err(WaitError::Timeout));
}

#[test]
fn listeners_are_called_and_cannot_wait() {
    seeds(0..5, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        a.spawn(|cx| sensor(cx, 10));
        let reader = b.run(|| reader(&reader_qos()))?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&seen);
        let refused = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&refused);
        let listener = move |reader: &dunlin::DataReader<Reading>| {
            let taken = reader.take_states(100, StateMasks::NOT_READ).unwrap();
            own.lock().unwrap().extend(taken.into_iter().filter_map(|sample| sample.data).map(|r| r.n));
            if WaitSet::new().wait(secs(1)) == Err(WaitError::InListener) {
                counted.fetch_add(1, SeqCst);
            }
        };
        reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
        sim.run_until(|| seen.lock().unwrap().len() == 10, secs(10))?;
        assert_eq!(*seen.lock().unwrap(), (0..10).collect::<Vec<_>>());
        assert_eq!(refused.load(SeqCst), 10);
        Ok(())
    });
}

#[test]
fn time_stamps_are_those_of_the_wall_clock_of_the_node() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (writer, reader) =
        (a.run(|| writer(&writer_qos())).unwrap(), b.run(|| reader(&reader_qos())).unwrap());
    sim.run_until(|| matched(&writer, &reader), secs(10)).unwrap();
    // Milliseconds since the first.
    let mut first = None;
    let mut stamp = |sim: &mut Sim| {
        writer.write(&reading(1)).unwrap();
        sim.run_for(millis(1)).unwrap();
        let stamp = reader.take(1).unwrap()[0].info.source_timestamp;
        stamp.since(*first.get_or_insert(stamp)).as_nanos() / 1_000_000
    };
    assert_eq!(stamp(&mut sim), 0);
    sim.run_for(secs(10)).unwrap();
    assert_eq!(stamp(&mut sim), 10_001);
    a.set_clock_offset(secs(3600));
    assert_eq!(stamp(&mut sim), 3_610_002);
    // It runs twice as fast for ten seconds.
    a.set_clock_drift(1_000_000);
    sim.run_for(secs(10)).unwrap();
    assert_eq!(stamp(&mut sim), 3_630_003);
}

#[test]
fn two_participants_of_one_node_find_each_other_without_the_network() {
    let mut sim = Sim::builder().loss(1.0).build();
    let a = sim.node("a");
    let (writer, reader) = a.run(|| (writer(&writer_qos()).unwrap(), reader(&reader_qos()).unwrap()));
    sim.run_until(|| matched(&writer, &reader), secs(10)).unwrap();
    writer.write(&reading(7)).unwrap();
    sim.run_for(millis(1)).unwrap();
    assert_eq!(reader.take(9).unwrap()[0].data, Some(reading(7)));
}

#[test]
fn peers_are_found_by_name_where_multicast_is_off() {
    let mut config = dunlin::Config::default();
    config.set("network.multicast", "off").unwrap();
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let lonely = sim.node_with("lonely", config.clone());
    let writer = a.run(|| writer(&writer_qos())).unwrap();
    let none = lonely.run(|| reader(&reader_qos())).unwrap();
    let address = a.address();
    for (number, peer) in
        ["a".into(), "a:7410".into(), format!("{address}"), format!("{address}:7410")].into_iter().enumerate()
    {
        config.set("discovery.peers", &peer).unwrap();
        let b = sim.node_with(&format!("b{number}"), config.clone());
        let reader = b.run(|| reader(&reader_qos())).unwrap();
        sim.run_until(|| matched(&writer, &reader), secs(10)).unwrap();
        b.crash();
        sim.run_for(secs(30)).unwrap();
    }
    assert!(none.matched_publications().is_empty());

    config.set("discovery.peers", "localhost").unwrap();
    let b = sim.node_with("b", config.clone());
    let (writer, reader) =
        b.run(|| (super::support::writer(&writer_qos()).unwrap(), reader(&reader_qos()).unwrap()));
    sim.run_until(|| matched(&writer, &reader), secs(10)).unwrap();

    config.set("discovery.peers", "nobody.example").unwrap();
    let error = sim.node_with("c", config).run(|| super::support::writer(&writer_qos())).unwrap_err();
    assert!(error.to_string().contains("no node of the simulation has this name"), "{error}");
}

#[test]
fn configuration_keys_of_real_machines_are_refused_in_the_simulation() {
    let mut config = dunlin::Config::default();
    config.set("network.interfaces", "eth0").unwrap();
    let mut sim = Sim::new(1);
    let error = sim.node_with("a", config).run(|| writer(&writer_qos())).unwrap_err().to_string();
    assert!(error.contains("the simulator has no `network.interfaces`"), "{error}");
}
