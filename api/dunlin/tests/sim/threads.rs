//! Nodes as threads with blocking calls, of which exactly one runs at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use dunlin::sim::{Context, Result, Sim};
use dunlin::{DataReader, GuardCondition, StateMasks, WaitError, WaitForError, WaitSet, WriteError};

use crate::support::*;

/// Nothing in here knows of a simulation.
fn blocking_display(count: usize) -> Result<Vec<u32>> {
    let reader = reader(&reader_qos())?;
    let (set, unread) = (WaitSet::new(), reader.create_readcondition(StateMasks::NOT_READ)?);
    set.attach_condition(unread.condition());
    let mut seen = Vec::new();
    while seen.len() < count {
        set.wait(secs(30))?;
        seen.extend(reader.take(10)?.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n));
    }
    Ok(seen)
}

fn blocking_sensor(cx: &Context, count: u32) -> Result {
    let writer = writer(&writer_qos())?;
    while writer.matched_subscriptions().is_empty() {
        cx.sleep_blocking(millis(10))?;
    }
    for n in 0..count {
        writer.write(&reading(n))?;
        cx.sleep_blocking(millis(10))?;
    }
    writer.wait_for_acknowledgments(secs(30))?;
    Ok(())
}

#[test]
fn a_lossy_network_loses_nothing_and_keeps_the_order() {
    bad_network().seeds(0..20, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        a.spawn_thread(|cx| blocking_sensor(&cx, 200));
        let seen = b.spawn_thread(|_| blocking_display(200));
        assert_eq!(sim.join(&seen, secs(60))?, (0..200).collect::<Vec<_>>());
        Ok(())
    });
}

fn narrow(reader: &DataReader<Reading>) -> usize {
    reader.take(1).unwrap().len()
}

#[test]
fn a_write_waits_for_room_in_virtual_time() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let slow = b.run(|| reader(&small_reader_qos())).unwrap();
    let times = a.spawn_thread(|cx| {
        let mut qos = small_writer_qos(1);
        qos.reliability.max_blocking_time = secs(3600);
        let writer = writer(&qos)?;
        while writer.matched_subscriptions().is_empty() {
            cx.sleep_blocking(millis(10))?;
        }
        let begin = cx.elapsed().as_nanos();
        // One stays with the reader, one in the history, the third waits until somebody takes.
        (0..3).try_for_each(|n| writer.write(&reading(n)))?;
        let waited = cx.elapsed().as_nanos() - begin;
        // Now nobody takes.
        let error = writer.write(&reading(3)).unwrap_err();
        let until = cx.elapsed().as_nanos() - begin - waited;
        Ok((waited, error, until))
    });
    sim.run_for(secs(600)).unwrap();
    assert!(!times.is_over());
    assert_eq!(narrow(&slow), 1);
    let (waited, error, until) = sim.join(&times, secs(7200)).unwrap();
    assert!((590..=600).contains(&(waited / 1_000_000_000)), "{waited}");
    assert_eq!((error, until), (WriteError::Timeout(secs(3600)), secs(3600).as_nanos()));
}

#[test]
fn a_wait_set_times_out_and_is_woken_by_a_thread_in_virtual_time() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let guard = GuardCondition::new();
    let shared = guard.clone();
    let waits = a.spawn_thread(move |cx| {
        let set = WaitSet::new();
        set.attach_condition(shared.condition());
        assert_eq!(set.wait(secs(86_400)), Err(WaitError::Timeout));
        assert_eq!(cx.elapsed(), secs(86_400));
        set.wait(secs(86_400))?;
        Ok(cx.elapsed())
    });
    let sets = a.spawn_thread(move |cx| {
        cx.sleep_blocking(secs(100_000))?;
        guard.set_trigger_value(true);
        Ok(())
    });
    assert_eq!(sim.join(&waits, secs(200_000)).unwrap(), secs(100_000));
    sim.join(&sets, secs(1)).unwrap();
}

#[test]
fn acknowledgments_are_waited_for_as_long_as_is_said() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let result = a.spawn_thread(|cx| {
        let writer = writer(&writer_qos())?;
        while writer.matched_subscriptions().is_empty() {
            cx.sleep_blocking(millis(10))?;
        }
        writer.write(&reading(1))?;
        writer.wait_for_acknowledgments(secs(1))?;
        cx.sleep_blocking(secs(1))?;
        writer.write(&reading(2))?;
        let begin = cx.elapsed().as_nanos();
        let result = writer.wait_for_acknowledgments(secs(2));
        Ok((result, cx.elapsed().as_nanos() - begin))
    });
    let reader = b.run(|| reader(&reader_qos())).unwrap();
    sim.run_until(|| reader.take(1).is_ok_and(|taken| taken.len() == 1), secs(10)).unwrap();
    sim.run_for(millis(500)).unwrap();
    sim.partition(&[&a], &[&b]);
    let (result, took) = sim.join(&result, secs(20)).unwrap();
    assert_eq!((result, took), (Err(WaitForError::Timeout(secs(2))), secs(2).as_nanos()));
}

#[test]
fn simulated_threads_run_one_at_a_time() {
    let mut sim = Sim::new(9);
    let running = Arc::new(AtomicBool::new(false));
    let turns = Arc::new(AtomicU32::new(0));
    for number in 0..8 {
        let node = sim.node(&format!("node {number}"));
        let (running, turns) = (Arc::clone(&running), Arc::clone(&turns));
        node.spawn_thread(move |cx| {
            for _ in 0..50 {
                assert!(!running.swap(true, SeqCst), "another thread runs");
                // Beside busy programs each of these takes a turn of the scheduler.
                (0..10).for_each(|_| std::thread::yield_now());
                turns.fetch_add(1, SeqCst);
                running.store(false, SeqCst);
                // Many wake at the same time.
                cx.sleep_blocking(millis(1))?;
            }
            Ok(())
        });
    }
    sim.run_for(secs(1)).unwrap();
    assert_eq!(turns.load(SeqCst), 400);
}

#[test]
fn a_thread_runs_futures_too() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    a.spawn(|cx| sensor(cx, 5));
    let seen = b.spawn_thread(|cx| cx.block_on(display(5))?);
    assert_eq!(sim.join(&seen, secs(30)).unwrap(), [0, 1, 2, 3, 4]);
}
