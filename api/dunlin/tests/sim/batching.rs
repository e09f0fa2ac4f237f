//! LATENCY_BUDGET (DDS 1.4 §2.2.3.8) and bursts: several samples in one datagram.

use std::sync::{Arc, Mutex};

use dunlin::qos::{DataReaderQos, DataWriterQos, PolicyId};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{Config, DataReader, DataWriter, Duration, StatusMask};

use crate::support::*;

fn budget(duration: Duration) -> DataWriterQos {
    writer_qos().latency_budget(duration)
}

fn pair(sim: &mut Sim, qos: &DataWriterQos) -> Result<(Node, DataWriter<Reading>, DataReader<Reading>)> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(qos))?;
    let reader = b.run(|| reader(&reader_qos().latency_budget(secs(1))))?;
    sim.run_until(|| matched(&writer, &reader), secs(30))?;
    // Whatever they still have to tell each other.
    sim.run_for(secs(5))?;
    Ok((a, writer, reader))
}

fn taken(reader: &DataReader<Reading>) -> Vec<u32> {
    let taken = reader.take(100_000).expect("no condition");
    taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n).collect()
}

#[test]
fn a_sample_waits_for_others_within_the_budget() {
    let mut sim = Sim::new(1);
    let (a, writer, reader) = pair(&mut sim, &budget(millis(50))).unwrap();
    let before = writer.stats();
    for n in 0..3 {
        a.run(|| writer.write(&reading(n)).unwrap());
        sim.run_for(millis(15)).unwrap();
    }
    assert_eq!(taken(&reader), [], "45 ms are not over the budget");
    sim.run_for(millis(6)).unwrap();
    assert_eq!(taken(&reader), [0, 1, 2]);
    let stats = writer.stats();
    assert_eq!(
        (stats.samples_sent - before.samples_sent, stats.datagrams_sent - before.datagrams_sent),
        (3, 1)
    );
}

#[test]
fn the_budget_holds_under_loss() {
    let mut repaired = 0;
    bad_network().seeds(0..8, |sim| {
        let (a, writer, reader) = pair(sim, &budget(millis(50)))?;
        for round in 0..10 {
            let before = writer.stats();
            for n in 0..3 {
                a.run(|| writer.write(&reading(3 * round + n)))?;
                sim.run_for(millis(15))?;
            }
            let kept = writer.stats();
            assert_eq!(kept.samples_sent, before.samples_sent, "45 ms are not over the budget");
            sim.run_for(millis(6))?;
            let sent = writer.stats();
            let data = (sent.samples_sent - before.samples_sent, sent.datagrams_sent - before.datagrams_sent);
            assert_eq!(data, (3, 1));
            let mut seen = Vec::new();
            let all = || {
                seen.extend(taken(&reader));
                seen.len() >= 3
            };
            sim.run_until(all, secs(30))?;
            assert!(seen.into_iter().eq(3 * round..3 * round + 3), "in order, each once");
            sim.run_for(secs(3))?;
            repaired += writer.stats().repairs_sent - before.repairs_sent;
        }
        Ok(())
    });
    assert!(repaired > 0, "nothing was lost");
}

#[test]
fn flush_and_waiting_end_the_wait() {
    let mut sim = Sim::new(2);
    let (a, writer, reader) = pair(&mut sim, &budget(secs(1))).unwrap();
    a.run(|| writer.write(&reading(1)).unwrap());
    a.run(|| writer.flush());
    sim.run_for(millis(5)).unwrap();
    assert_eq!(taken(&reader), [1]);
    let waiting = writer.clone();
    let task = a.spawn(|_| async move {
        waiting.write(&reading(2))?;
        waiting.wait_for_acknowledgments_async().await?;
        Ok(())
    });
    sim.join(&task, millis(100)).unwrap();
    assert_eq!(taken(&reader), [2]);
}

#[test]
fn the_budget_changes_at_run_time() {
    let mut sim = Sim::new(3);
    let (a, writer, reader) = pair(&mut sim, &budget(millis(500))).unwrap();
    a.run(|| writer.set_qos(&writer.qos().latency_budget(Duration::ZERO)).unwrap());
    a.run(|| writer.write(&reading(1)).unwrap());
    sim.run_for(millis(5)).unwrap();
    assert_eq!(taken(&reader), [1], "no budget any more");
    a.run(|| writer.set_qos(&writer.qos().latency_budget(millis(200))).unwrap());
    a.run(|| writer.write(&reading(2)).unwrap());
    sim.run_for(millis(190)).unwrap();
    assert_eq!(taken(&reader), []);
    sim.run_for(millis(20)).unwrap();
    assert_eq!(taken(&reader), [2]);
}

#[test]
fn a_new_budget_reaches_what_waits() {
    for (new, early, late) in [(Duration::ZERO, 0, 5), (millis(200), 95, 110)] {
        let mut sim = Sim::new(3);
        let (a, writer, reader) = pair(&mut sim, &budget(millis(900))).unwrap();
        a.run(|| writer.write(&reading(1)).unwrap());
        sim.run_for(millis(100)).unwrap();
        a.run(|| writer.set_qos(&writer.qos().latency_budget(new)).unwrap());
        sim.run_for(millis(early)).unwrap();
        assert_eq!(taken(&reader), [], "{new}: the budget counts from the write");
        sim.run_for(millis(late - early)).unwrap();
        assert_eq!(taken(&reader), [1], "{new}");
    }
}

#[test]
fn a_reader_in_more_of_a_hurry_is_incompatible() {
    let mut sim = Sim::new(4);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(&budget(millis(50)))).unwrap();
    let reader = b.run(|| reader(&reader_qos().latency_budget(millis(49)))).unwrap();
    let requested = || reader.requested_incompatible_qos_status().last_policy_id;
    let offered = || writer.offered_incompatible_qos_status().last_policy_id;
    let both = Some(PolicyId::LatencyBudget);
    sim.run_until(|| requested() == both && offered() == both, secs(10)).unwrap();
    assert!(reader.matched_publications().is_empty());
    b.run(|| reader.set_qos(&reader.qos().latency_budget(millis(50))).unwrap());
    sim.run_until(|| matched(&writer, &reader), secs(10)).unwrap();
}

#[test]
fn a_burst_shares_datagrams_and_loses_nothing() {
    bad_network().seeds(0..5, |sim| {
        let (a, writer, reader) = pair(sim, &writer_qos())?;
        let before = writer.stats();
        a.run(|| (0..2_000).try_for_each(|n| writer.write(&reading(n))))?;
        let mut seen = Vec::new();
        sim.run_until(
            || {
                seen.extend(taken(&reader));
                seen.len() >= 2_000
            },
            secs(60),
        )?;
        assert!(seen.into_iter().eq(0..2_000), "in order, each once");
        let sent = writer.stats().datagrams_sent - before.datagrams_sent;
        assert!(sent < 200, "{sent} datagrams");
        Ok(())
    });
}

#[test]
fn a_burst_is_sent_one_by_one_where_that_is_configured() {
    let mut config = Config::default();
    config.set("batching.burst_delay", "0s").unwrap();
    let mut sim = Sim::builder().config(config).build();
    let (a, writer, reader) = pair(&mut sim, &writer_qos()).unwrap();
    let before = writer.stats();
    a.run(|| (0..100).try_for_each(|n| writer.write(&reading(n)))).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!(taken(&reader).len(), 100);
    assert_eq!(writer.stats().datagrams_sent - before.datagrams_sent, 100);
}

/// What KEEP_LAST would replace in a burst leaves before.
#[test]
fn keep_last_replaces_no_sample_of_a_batch_before_it_was_sent() {
    let mut sim = Sim::new(6);
    let qos = DataWriterQos::default().reliable().keep_last(3).latency_budget(millis(100));
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(&qos)).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all().latency_budget(millis(100));
    let reader = b.run(|| reader(&qos)).unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
    sim.run_for(secs(5)).unwrap();
    a.run(|| (0..50).try_for_each(|n| writer.write(&reading(n)))).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert_eq!(taken(&reader), (0..50).collect::<Vec<_>>());
}

/// A burst in one datagram to a KEEP_LAST 1 reader whose listener takes, or to one that nobody reads meanwhile; what was seen, and
/// what was replaced unseen.
fn burst(best_effort: bool, has_listener: bool, depth: i32) -> (Vec<u32>, u64) {
    let mut sim = Sim::new(9);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(&budget(millis(50)))).unwrap();
    let qos = DataReaderQos::default().keep_last(depth).latency_budget(secs(1));
    let reader = b.run(|| reader(&if best_effort { qos } else { qos.reliable() })).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    if has_listener {
        let seen = Arc::clone(&seen);
        let listener = move |reader: &DataReader<Reading>| seen.lock().unwrap().extend(taken(reader));
        b.run(|| reader.set_listener(listener, StatusMask::DATA_AVAILABLE));
    }
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
    sim.run_for(secs(5)).unwrap();
    let before = writer.stats().datagrams_sent;
    (0..20).for_each(|n| a.run(|| writer.write(&reading(n)).unwrap()));
    sim.run_for(secs(1)).unwrap();
    assert_eq!(writer.stats().datagrams_sent - before, 1);
    seen.lock().unwrap().extend(taken(&reader));
    let seen = seen.lock().unwrap().clone();
    (seen, reader.stats().replaced_unseen)
}

#[test]
fn a_listener_sees_every_sample_of_a_datagram_although_one_is_kept() {
    for best_effort in [true, false] {
        for depth in [1, 3] {
            let (seen, replaced) = burst(best_effort, true, depth);
            assert_eq!((seen, replaced), ((0..20).collect(), 0), "{best_effort}, {depth}");
        }
        // Who looks later sees the last; how many it did not see is counted.
        assert_eq!(burst(best_effort, false, 1), (vec![19], 19), "{best_effort}");
    }
}
