//! Nodes that crash, stand still or are cut off, and programs that fail.

use std::sync::{Arc, Mutex};

use dunlin::qos::{DataReaderQos, DataWriterQos, LivelinessKind};
use dunlin::sim::{Cause, Node, Result, Sim, seeds};
use dunlin::{
    DataReader, DataReaderListener, Duration, InstanceState, LivelinessChangedStatus, StateMasks, StatusMask,
    WaitSet,
};

use crate::support::*;

#[test]
fn a_node_that_crashes_is_missed_and_comes_back_as_another() {
    bad_network().seeds(0..10, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        a.on_start(|cx| async move {
            let writer = writer(&writer_qos())?;
            for n in 0.. {
                writer.write_async(&reading(n)).await?;
                cx.sleep(millis(100)).await;
            }
            Ok(())
        });
        let reader = b.run(|| reader(&reader_qos()))?;
        let alive = || reader.liveliness_changed_status().alive_count;
        sim.run_until(|| alive() == 1, secs(30))?;
        let first = reader.matched_publications();
        sim.run_until(|| reader.read(5).is_ok_and(|read| read.len() == 5), secs(30))?;
        a.crash();
        assert!(!a.is_up());
        // Nobody said goodbye: it takes the lease of ten seconds.
        sim.run_for(secs(4))?;
        assert_eq!(alive(), 1);
        sim.run_until(|| reader.matched_publications().is_empty(), secs(20))?;
        let last = reader.take(1000)?.pop().expect("it wrote before");
        assert_eq!(last.info.instance_state, InstanceState::NotAliveNoWriters);
        a.restart();
        sim.run_until(|| !reader.matched_publications().is_empty(), secs(30))?;
        assert_ne!(reader.matched_publications(), first);
        sim.run_until(|| reader.take(1).is_ok_and(|taken| taken.len() == 1), secs(10))?;
        Ok(())
    });
}

#[test]
fn programs_start_again_with_their_node() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let starts = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&starts);
    a.on_start_thread(move |cx| {
        own.lock().unwrap().push(cx.elapsed());
        cx.sleep_blocking(Duration::INFINITE)?;
        Ok(())
    });
    sim.run_for(secs(2)).unwrap();
    a.restart();
    sim.run_for(secs(3)).unwrap();
    a.crash();
    sim.run_for(secs(1)).unwrap();
    a.restart();
    sim.run_for(secs(1)).unwrap();
    assert_eq!(*starts.lock().unwrap(), [secs(0), secs(2), secs(6)]);
}

#[test]
fn threads_of_a_crashed_node_end_where_they_wait() {
    struct Told(Arc<Mutex<Vec<&'static str>>>, &'static str);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let reader = b.run(|| reader(&reader_qos())).unwrap();
    let gone = Arc::new(Mutex::new(Vec::new()));
    let told = Told(Arc::clone(&gone), "thread");
    let thread = a.spawn_thread(move |cx| {
        let _told = told;
        let writer = writer(&writer_qos())?;
        while writer.matched_subscriptions().is_empty() {
            cx.sleep_blocking(millis(10))?;
        }
        // Unacknowledged: its end lingers, which a crash does not.
        writer.write(&reading(1))?;
        cx.sleep_blocking(secs(1000)).map_err(Into::into)
    });
    let told = Told(Arc::clone(&gone), "task");
    let task = a.spawn(|cx| async move {
        let _told = told;
        cx.sleep(Duration::INFINITE).await;
        Ok(())
    });
    sim.run_until(|| !reader.take(1).unwrap().is_empty(), secs(10)).unwrap();
    let before = sim.elapsed();
    a.crash();
    assert_eq!((gone.lock().unwrap().clone(), sim.elapsed()), (vec!["thread", "task"], before));
    assert!(thread.is_over() && !thread.is_done());
    let failure = sim.join(&task, secs(1)).unwrap_err();
    assert_eq!(failure.cause, Cause::Crashed);
    // A node may also crash itself.
    let suicide = b.spawn(|cx| async move {
        cx.node().crash();
        cx.sleep(secs(1)).await;
        Ok(())
    });
    assert_eq!(sim.join(&suicide, secs(9)).unwrap_err().cause, Cause::Crashed);
}

/// Keeps what it hears.
#[derive(Default, Clone)]
struct Watch(Arc<Mutex<Vec<(i32, i32)>>>);

impl DataReaderListener<Reading> for Watch {
    fn on_liveliness_changed(&self, _: &DataReader<Reading>, status: LivelinessChangedStatus) {
        self.0.lock().unwrap().push((status.alive_count, status.not_alive_count));
    }
}

#[test]
fn a_partition_costs_liveliness_and_healing_gives_it_back() {
    let mut sim = bad_network().seed(4).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let lively = LivelinessKind::ManualByTopic;
    let mut writer_qos = writer_qos().liveliness(lively, secs(2));
    writer_qos.reliability.max_blocking_time = secs(1);
    let writer = a.run(|| writer(&writer_qos)).unwrap();
    let reader = b.run(|| reader(&reader_qos().liveliness(lively, secs(2)))).unwrap();
    let watch = Watch::default();
    reader.set_listener(watch.clone(), StatusMask::LIVELINESS_CHANGED);
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
    let write_for = |sim: &mut Sim, seconds: u32| {
        for n in 0..seconds * 2 {
            a.run(|| writer.write(&reading(n))).unwrap();
            sim.run_for(millis(500)).unwrap();
        }
    };
    write_for(&mut sim, 4);
    assert_eq!(*watch.0.lock().unwrap(), [(1, 0)]);
    sim.partition(&[&a], &[&b]);
    write_for(&mut sim, 4);
    assert_eq!(*watch.0.lock().unwrap(), [(1, 0), (0, 1)]);
    sim.heal();
    write_for(&mut sim, 4);
    assert_eq!(*watch.0.lock().unwrap(), [(1, 0), (0, 1), (1, 0)]);
    assert_eq!(reader.take(100).unwrap().len(), 24);
}

#[test]
fn a_node_that_stands_still_goes_on_where_it_was() {
    bad_network().seeds(0..10, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        a.spawn(|cx| sensor(cx, 100));
        let seen = b.spawn(|_| display(100));
        let thread = b.spawn_thread(|cx| {
            cx.sleep_blocking(secs(1))?;
            Ok(cx.elapsed())
        });
        sim.run_for(millis(300))?;
        b.pause();
        sim.run_for(secs(5))?;
        assert!(!seen.is_over() && !thread.is_over());
        b.resume();
        assert_eq!(sim.join(&seen, secs(60))?, (0..100).collect::<Vec<_>>());
        assert_eq!(sim.join(&thread, secs(1))?, secs(5).max(millis(5300)));
        Ok(())
    });
}

/// The latest reading of each of two sensors.
type Latest = Arc<Mutex<[u32; 2]>>;

fn chaos(sim: &mut Sim, nodes: &[Node; 3]) -> Result {
    for _ in 0..20 {
        let node = &nodes[(sim.random() % 3) as usize];
        let other = &nodes[(sim.random() % 3) as usize];
        match sim.random() % 8 {
            0 => node.crash(),
            1 => node.restart(),
            2 => node.pause(),
            3 => node.resume(),
            4 => sim.cut(node, other),
            5 => sim.mend(node, other),
            6 => {
                let share = (sim.random() % 100) as f64 / 100.0;
                sim.set_loss(share);
            }
            _ => node.set_clock_offset(millis((sim.random() % 10_000) as i64 - 5000)),
        }
        let pause = millis((sim.random() % 3000) as i64);
        sim.run_for(pause)?;
    }
    sim.heal();
    sim.set_loss(0.1);
    for node in nodes {
        node.resume();
        if !node.is_up() {
            node.restart();
        }
    }
    Ok(())
}

#[test]
fn participants_exchange_data_again_after_faults() {
    seeds(0..30, |sim| {
        let nodes = ["a", "b", "display"].map(|name| sim.node(name));
        let latest = Latest::default();
        for (number, node) in nodes[..2].iter().enumerate() {
            // Readings of one sensor have the same remainder, and grow with virtual time.
            node.on_start(move |cx| async move {
                let writer = writer(&DataWriterQos::default().reliable())?;
                loop {
                    let time = u32::try_from(cx.elapsed().as_nanos() / 10_000_000)?;
                    writer.write(&reading(time * 2 + number as u32))?;
                    cx.sleep(millis(50)).await;
                }
            });
        }
        let own = Arc::clone(&latest);
        nodes[2].on_start_thread(move |_| {
            let reader = reader(&DataReaderQos::default().reliable())?;
            let (set, unread) = (WaitSet::new(), reader.create_readcondition(StateMasks::NOT_READ)?);
            set.attach_condition(unread.condition());
            loop {
                set.wait(Duration::INFINITE)?;
                for reading in reader.take(100)?.into_iter().filter_map(|sample| sample.data) {
                    own.lock().unwrap()[(reading.n % 2) as usize] = reading.n / 2;
                }
            }
        });
        chaos(sim, &nodes)?;
        let now = u32::try_from(sim.elapsed().as_nanos() / 10_000_000)?;
        sim.run_until(|| latest.lock().unwrap().iter().all(|time| *time > now), secs(60))?;
        Ok(())
    });
}

#[test]
fn a_program_that_fails_ends_the_simulation_and_says_where() {
    let mut sim = Sim::new(77);
    let a = sim.node("pump");
    a.spawn(|cx| async move {
        cx.sleep(secs(2)).await;
        Err::<(), _>("no water".into())
    });
    let failure = sim.run_for(secs(5)).unwrap_err();
    assert_eq!((failure.seed, failure.elapsed), (77, secs(2)));
    assert_eq!(failure.cause, Cause::Failed { node: "pump".into(), error: "no water".into() });
    assert_eq!(sim.run_for(secs(5)).unwrap_err(), failure, "it stays ended");
}

#[test]
fn panics_of_tasks_threads_and_listeners_are_failures() {
    let panicked = |message: &str| Cause::Panicked { node: "a".into(), message: message.into() };
    let mut sim = Sim::new(1);
    sim.node("a").spawn(|_| async { if true { panic!("task") } else { Ok(()) } });
    assert_eq!(sim.run_for(secs(1)).unwrap_err().cause, panicked("task"));
    let mut sim = Sim::new(1);
    sim.node("a").spawn_thread(|_| if true { panic!("thread") } else { Ok(()) });
    assert_eq!(sim.run_for(secs(1)).unwrap_err().cause, panicked("thread"));
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let reader = a.run(|| reader(&reader_qos())).unwrap();
    reader.set_listener(|_: &DataReader<Reading>| panic!("listener"), StatusMask::DATA_AVAILABLE);
    b.spawn(|cx| sensor(cx, 1));
    assert_eq!(sim.run_for(secs(10)).unwrap_err().cause, panicked("listener"));
}

#[test]
fn a_loop_in_which_no_time_passes_is_found() {
    let mut sim = Sim::new(1);
    let a = sim.node("busy");
    a.spawn(|cx| async move {
        loop {
            cx.sleep(secs(0)).await;
            let mut yielded = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut yielded, true) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
            if cx.elapsed() > secs(0) {
                return Ok(());
            }
        }
    });
    let failure = sim.run_for(secs(1)).unwrap_err();
    assert_eq!(failure.cause, Cause::TimeStandsStill { node: "busy".into() });
}

#[test]
fn a_reader_that_stands_still_does_not_keep_large_new_samples_from_others() {
    let mut sim = Sim::new(7);
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let writer = a.run(|| writer(&DataWriterQos::default().reliable().keep_last(1))).unwrap();
    let take = || DataReaderQos::default().reliable().keep_last(1);
    let _still = b.run(|| reader(&take())).unwrap();
    let reader = c.run(|| reader(&take())).unwrap();
    sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(10)).unwrap();
    sim.run_until(|| reader.matched_publications().len() == 1, secs(10)).unwrap();
    b.pause();
    let large = |n| Reading { n, note: "x".repeat(400_000) };
    let mut taken = 0;
    for n in 0..100 {
        a.run(|| writer.write(&large(n))).unwrap();
        sim.run_for(millis(20)).unwrap();
        taken += reader.take(1).unwrap().len();
    }
    assert_eq!(taken, 100);
}

/// AUTOMATIC: the library asserts liveliness, so it ends with the process, after the lease of the writer and long before
/// that of its participant.
#[test]
fn an_automatic_writer_that_crashes_is_not_alive_after_its_lease() {
    seeds(0..5, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let lease = secs(2);
        let writer = a.run(|| writer(&writer_qos().liveliness(LivelinessKind::Automatic, lease)))?;
        let reader = b.run(|| reader(&reader_qos().liveliness(LivelinessKind::Automatic, lease)))?;
        let status = || {
            let status = reader.liveliness_changed_status();
            let changes = (status.alive_count_change, status.not_alive_count_change);
            ((status.alive_count, status.not_alive_count), changes, status.last_publication)
        };
        let handle = writer.instance_handle();
        sim.run_until(|| matched(&writer, &reader), secs(30))?;
        assert_eq!(status(), ((1, 0), (1, 0), handle));
        a.run(|| writer.write(&reading(1)))?;
        // The application says nothing for many leases.
        sim.run_for(secs(20))?;
        assert_eq!(status(), ((1, 0), (0, 0), handle));
        a.crash();
        sim.run_for(millis(900))?;
        assert_eq!(status().0, (1, 0), "the last sign of life is not that old");
        sim.run_for(millis(1_200))?;
        assert_eq!(status(), ((0, 1), (-1, 1), handle));
        assert_eq!(reader.matched_publications(), [handle], "its participant is not given up yet");
        let last = reader.take(9)?.pop().expect("it was not read");
        assert_eq!(last.info.instance_state, InstanceState::NotAliveNoWriters);
        sim.run_until(|| reader.matched_publications().is_empty(), secs(20))?;
        assert_eq!(status(), ((0, 0), (0, -1), handle));
        Ok(())
    });
}
