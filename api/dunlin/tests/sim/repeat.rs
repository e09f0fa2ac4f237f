//! The same seed gives the same run, and what fails says how to see it again.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use dunlin::StatusMask;
use dunlin::sim::{Cause, Sim, seeds};

use crate::support::*;

/// A bit of everything; what it leaves behind, and the hash of its trace.
fn run(seed: u64) -> (Vec<u32>, u64) {
    let mut sim = bad_network().seed(seed).build();
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    a.spawn(|cx| sensor(cx, 50));
    c.spawn_thread(|cx| {
        let writer = writer(&writer_qos())?;
        // It leaves when it has written, and what it leaves to nobody is lost.
        while writer.matched_subscriptions().is_empty() {
            cx.sleep_blocking(millis(10))?;
        }
        for n in 1000..1050 {
            writer.write(&reading(n))?;
            cx.sleep_blocking(millis((cx.random() % 20) as i64))?;
        }
        Ok(())
    });
    let seen = b.spawn(|_| display(100));
    sim.run_for(millis(300)).unwrap();
    b.pause();
    sim.run_for(millis(300)).unwrap();
    b.resume();
    let seen = sim.join(&seen, secs(60)).unwrap();
    c.restart();
    sim.run_for(secs(20)).unwrap();
    (seen, sim.trace_hash())
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let runs: Vec<_> = (0..6).map(run).collect();
    for (seed, first) in runs.iter().enumerate() {
        assert_eq!(run(seed as u64), *first, "seed {seed}");
    }
    for (one, other) in runs.iter().zip(&runs[1..]) {
        assert_ne!(one.1, other.1, "another seed is another run");
    }
    assert!(runs.iter().any(|(seen, _)| *seen != runs[0].0), "chance orders what two nodes send");
}

#[test]
fn tasks_due_at_the_same_time_run_in_random_order() {
    let order = |seed| {
        let mut sim = Sim::new(seed);
        let order = Arc::new(Mutex::new(String::new()));
        for name in ["a", "b", "c"] {
            let own = Arc::clone(&order);
            sim.node(name).spawn(move |cx| async move {
                cx.sleep(secs(1)).await;
                own.lock().unwrap().push_str(name);
                Ok(())
            });
        }
        sim.run_for(secs(2)).unwrap();
        std::mem::take(&mut *order.lock().unwrap())
    };
    let orders: BTreeSet<_> = (0..100).map(order).collect();
    assert_eq!(orders.into_iter().collect::<Vec<_>>(), ["abc", "acb", "bac", "bca", "cab", "cba"]);
}

#[test]
fn a_capture_has_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let mut sim = bad_network().build();
    sim.capture(&path).unwrap();
    let (a, b) = (sim.node("a"), sim.node("b"));
    a.spawn(|cx| sensor(cx, 5));
    let seen = b.spawn(|_| display(5));
    sim.join(&seen, secs(60)).unwrap();
    let sent = sim.network_stats().sent.octets;
    drop(sim);
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length > sent && length < sent * 3, "{length} for {sent} sent");
    assert!(Sim::new(1).capture(folder.path()).is_err());
}

#[test]
fn simulation_run_is_the_same_in_another_process() {
    const ASKED: &str = "DUNLIN_TRACE_ASKED";
    let own = format!("trace {:?}", run(3));
    if std::env::var_os(ASKED).is_some() {
        println!("{own}");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let test = ["--exact", "repeat::simulation_run_is_the_same_in_another_process", "--nocapture"];
    let other = std::process::Command::new(program).args(test).env(ASKED, "yes").output().unwrap();
    let text = String::from_utf8_lossy(&other.stdout);
    assert!(text.contains(&own), "{own}\n{text}");
}

#[test]
fn a_wait_that_fails_says_seed_time_and_command() {
    let mut sim = Sim::new(42);
    sim.run_for(secs(3)).unwrap();
    let failure = sim.run_until(|| false, secs(10)).unwrap_err();
    assert_eq!(failure.cause, Cause::TimedOut(secs(10)));
    let test = this_test("repeat::a_wait_that_fails_says_seed_time_and_command");
    assert_eq!(
        format!("{failure:?}"),
        format!(
            "seed 42, after 13s of virtual time: what was waited for did not happen within 10s\n\
             repeat it: cargo test {test}"
        )
    );
}

#[test]
fn a_failing_seed_is_named_with_its_command() {
    let mut tried = Vec::new();
    let run = || {
        seeds(0..100, |sim| {
            tried.push(sim.seed());
            sim.run_until(|| sim_is_fine(tried.len()), secs(1))?;
            Ok(())
        });
    };
    let cause = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let message = cause.downcast_ref::<String>().unwrap();
    let test = this_test("repeat::a_failing_seed_is_named_with_its_command");
    assert_eq!(
        *message,
        format!(
            "seed 3, after 1s of virtual time: what was waited for did not happen within 1s\n\
             repeat it: SEED=3 cargo test {test}"
        )
    );
    assert_eq!(tried, [0, 1, 2, 3]);
}

/// The test runner names threads only if it has several.
fn this_test(name: &str) -> &str {
    if std::thread::current().name() == Some("main") { "<name of this test>" } else { name }
}

#[test]
fn a_panic_of_a_scenario_is_named_with_its_seed() {
    let run = || seeds(7..9, |sim| if sim.seed() == 8 { panic!("odd") } else { Ok(()) });
    let cause = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let test = this_test("repeat::a_panic_of_a_scenario_is_named_with_its_seed");
    let message = cause.downcast_ref::<String>().unwrap();
    assert_eq!(*message, format!("seed 8 fails: odd\nrepeat it: SEED=8 cargo test {test}"));
}

#[test]
fn a_dropped_simulation_frees_all_tasks_threads_and_entities() {
    let left = Arc::new(());
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let hold = || Arc::clone(&left);
    let (one, other, third, fourth) = (hold(), hold(), hold(), hold());
    a.spawn(|cx| async move {
        let (_one, _writer) = (one, writer(&writer_qos())?);
        cx.sleep(secs(1000)).await;
        Ok(())
    });
    a.on_start(move |cx| {
        let other = Arc::clone(&other);
        async move {
            cx.sleep(secs(1000)).await;
            drop(other);
            Ok(())
        }
    });
    b.spawn_thread(move |cx| {
        let (_third, _reader) = (third, reader(&reader_qos())?);
        cx.sleep_blocking(secs(1000))?;
        Ok(())
    });
    let reader = b.run(|| reader(&reader_qos())).unwrap();
    reader.set_listener(move |_: &dunlin::DataReader<Reading>| drop(Arc::clone(&fourth)), StatusMask::ALL);
    sim.run_for(secs(10)).unwrap();
    drop(reader);
    assert_eq!(Arc::strong_count(&left), 5);
    drop(sim);
    assert_eq!(Arc::strong_count(&left), 1);
}

fn sim_is_fine(tried: usize) -> bool {
    tried < 4
}

#[test]
fn the_environment_chooses_seeds() {
    const TELL: &str = "DUNLIN_SEEDS_ASKED";
    if std::env::var_os(TELL).is_some() {
        let mut tried = Vec::new();
        seeds(5..100, |sim| {
            tried.push(sim.seed());
            Ok(())
        });
        println!("tried {tried:?}");
        return;
    }
    // In a process of its own, as the environment belongs to all tests.
    let program = std::env::current_exe().unwrap();
    let test = ["--exact", "repeat::the_environment_chooses_seeds", "--nocapture"];
    let run = |variable, value| {
        let mut command = std::process::Command::new(&program);
        let command = command.args(test).env_remove("SEED").env_remove("SEEDS").env(TELL, "yes");
        let output = command.env(variable, value).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text + &String::from_utf8_lossy(&output.stderr))
    };
    let (fine, text) = run("SEED", "12345");
    assert!(fine && text.contains("tried [12345]"), "{text}");
    let (fine, text) = run("SEEDS", "3");
    assert!(fine && text.contains("tried [5, 6, 7]"), "{text}");
    let (fine, text) = run("SEED", "x");
    assert!(!fine && text.contains("SEED=x: expected a whole number"), "{text}");
}
