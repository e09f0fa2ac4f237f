//! What a policy that changed at run time does from then on.

use dunlin::qos::*;
use dunlin::sim::Sim;
use dunlin::{Config, Duration, InstanceState};

use crate::support::*;

fn millis(n: i64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn a_new_lifespan_counts_at_readers_already_matched() {
    let (mut sim, a, _b, w, r) = pair();
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    a.run(|| w.writer.set_qos(&w.writer.qos().lifespan(millis(500)))).unwrap();
    sim.run_for(secs(1)).unwrap();
    a.run(|| w.writer.write(&reading(1, 2))).unwrap();
    let left =
        || r.reader.read(9).unwrap().iter().filter_map(|s| Some(s.data.as_ref()?.n)).collect::<Vec<_>>();
    sim.run_for(millis(200)).unwrap();
    assert_eq!(left(), [1, 2]);
    sim.run_for(millis(500)).unwrap();
    assert_eq!(left(), [1], "what was written before lives on");
    a.run(|| w.writer.set_qos(&w.writer.qos().lifespan(Duration::INFINITE))).unwrap();
    sim.run_for(secs(1)).unwrap();
    a.run(|| w.writer.write(&reading(1, 3))).unwrap();
    sim.run_for(secs(2)).unwrap();
    assert_eq!(left(), [1, 3]);
}

#[test]
fn autodispose_is_switched_off_and_on() {
    let (mut sim, a, _b, w, r) = pair();
    for (id, autodispose, expected) in [
        (1, true, InstanceState::NotAliveDisposed),
        (2, false, InstanceState::NotAliveNoWriters),
        (3, true, InstanceState::NotAliveDisposed),
    ] {
        let qos = w.writer.qos().autodispose_unregistered_instances(autodispose);
        a.run(|| w.writer.set_qos(&qos)).unwrap();
        a.run(|| w.writer.write(&reading(id, 1))).unwrap();
        a.run(|| w.writer.unregister_instance(&reading(id, 0))).unwrap();
        sim.run_for(secs(1)).unwrap();
        let states: Vec<_> = r.reader.take(9).unwrap().iter().map(|s| s.info.instance_state).collect();
        assert_eq!(states.last(), Some(&expected), "autodispose {autodispose}");
    }
}

#[test]
fn a_shorter_autopurge_counts_for_what_has_ended_too() {
    let (mut sim, a, b, w, r) = pair();
    let end = |id: i32| {
        a.run(|| w.writer.write(&reading(id, id))).unwrap();
        a.run(|| w.writer.dispose(&reading(id, 0))).unwrap();
    };
    let left =
        || r.reader.read(9).unwrap().iter().filter_map(|s| Some(s.data.as_ref()?.id)).collect::<Vec<_>>();
    end(1);
    sim.run_for(secs(5)).unwrap();
    assert_eq!(left(), [1], "never purged by default");
    // From the end of each: the first has three seconds left, the second eight.
    b.run(|| r.reader.set_qos(&r.reader.qos().autopurge(Duration::INFINITE, secs(8)))).unwrap();
    end(2);
    sim.run_for(millis(2_500)).unwrap();
    assert_eq!(left(), [1, 2]);
    sim.run_for(secs(1)).unwrap();
    assert_eq!(left(), [2]);
    // What should be gone already goes at once, and what is alive stays.
    a.run(|| w.writer.write(&reading(3, 3))).unwrap();
    sim.run_for(millis(500)).unwrap();
    assert_eq!(left(), [2, 3]);
    b.run(|| r.reader.set_qos(&r.reader.qos().autopurge(Duration::INFINITE, secs(1)))).unwrap();
    sim.run_for(millis(1)).unwrap();
    assert_eq!(left(), [3]);
    // And back to never.
    b.run(|| r.reader.set_qos(&r.reader.qos().autopurge(Duration::INFINITE, Duration::INFINITE))).unwrap();
    a.run(|| w.writer.dispose(&reading(3, 0))).unwrap();
    sim.run_for(secs(60)).unwrap();
    assert_eq!(left(), [3]);
}

/// What is held back, at the reader or for it at the writer, is seen when the new filter lets it be.
#[test]
fn a_new_minimum_separation_reaches_what_is_held_back() {
    let cases = [(Duration::ZERO, millis(100)), (secs(20), secs(10))];
    for (at_writer, (separation, wait)) in
        [false, true].into_iter().flat_map(|it| cases.map(|case| (it, case)))
    {
        let mut config = Config::default();
        config.set("filters.at_writer", if at_writer { "true" } else { "false" }).unwrap();
        let mut sim = Sim::builder().config(config).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let w = writing(&a, &DataWriterQos::default().keep_all());
        let qos = DataReaderQos::default().reliable().keep_all().time_based_filter(secs(3600));
        let r = reads(&b, &qos);
        let met =
            || w.writer.matched_subscriptions().len() == 1 && !r.reader.matched_publications().is_empty();
        sim.run_until(met, secs(9)).unwrap();
        for n in 1..=3 {
            a.run(|| w.writer.write(&reading(1, n))).unwrap();
        }
        sim.run_for(secs(11)).unwrap();
        let seen = || -> Vec<i32> {
            r.reader.read(9).unwrap().iter().filter_map(|s| Some(s.data.as_ref()?.n)).collect()
        };
        assert_eq!(seen(), [1]);
        b.run(|| r.reader.set_qos(&qos.clone().time_based_filter(separation))).unwrap();
        sim.run_for(millis(50)).unwrap();
        assert_eq!(seen().len(), if separation == Duration::ZERO { 2 } else { 1 });
        sim.run_for(wait).unwrap();
        assert_eq!(seen(), [1, 3], "{separation}, filtered by the writer: {at_writer}");
    }
}
