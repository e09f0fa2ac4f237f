//! Two services side by side.

use dunlin::sim::Node;
use dunlin_durability::TopicState;

use crate::support::*;

#[test]
fn two_durability_services_give_no_duplicates_and_replace_each_other() {
    bad_network().seeds(0..8, |sim| {
        let nodes: Vec<Node> = ["a", "s", "t", "b"].into_iter().map(|name| sim.node(name)).collect();
        let [a, s, t, b] = &nodes[..] else { unreachable!() };
        serve(s, "s", &Disk::default());
        serve(t, "t", &Disk::default());
        let writer = writer(sim, a, &writer_qos(3))?;
        sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(60))?;
        for position in 0..10 {
            a.run(|| writer.write(&track(1, position)))?;
        }
        stored(sim, a, &writer)?;
        sim.run_for(secs(5))?;
        a.run(|| writer.publisher().participant().delete_contained_entities())?;
        sim.run_for(secs(5))?;
        for qos in [reader_qos(), reader_qos().remove_duplicates(false)] {
            let late = reader(sim, b, &qos)?;
            sim.run_until(|| late.stats().delivered >= 3, secs(60))?;
            sim.run_for(secs(20))?;
            assert_eq!(values(&take(b, &late)), [(1, 7), (1, 8), (1, 9)]);
        }
        if sim.random() % 2 == 0 {
            s.crash()
        } else {
            t.crash()
        }
        sim.run_for(secs(30))?;
        let late = reader(sim, b, &reader_qos())?;
        sim.run_until(|| late.stats().delivered >= 3, secs(60))?;
        sim.run_for(secs(5))?;
        assert_eq!(values(&take(b, &late)), [(1, 7), (1, 8), (1, 9)]);
        Ok(())
    });
}

#[test]
fn services_that_were_apart_have_the_same_after_they_met() {
    bad_network().seeds(0..6, |sim| {
        let nodes: Vec<Node> = ["a", "s", "c", "t", "b"].into_iter().map(|name| sim.node(name)).collect();
        let [a, s, c, t, b] = &nodes[..] else { unreachable!() };
        serve(s, "s", &Disk::default());
        serve(t, "t", &Disk::default());
        let (one, other) = (writer(sim, a, &writer_qos(1))?, writer(sim, c, &writer_qos(1))?);
        sim.run_until(
            || one.matched_subscriptions().len() == 2 && other.matched_subscriptions().len() == 2,
            secs(60),
        )?;
        sim.partition(&[a, s], &[c, t, b]);
        sim.run_for(secs(60))?;
        a.run(|| one.write(&track(1, 1)))?;
        c.run(|| other.write(&track(2, 2)))?;
        sim.run_for(secs(5))?;
        // Their writers go before the parts see each other again.
        a.crash();
        c.crash();
        sim.run_for(secs(60))?;
        sim.heal();
        sim.run_for(secs(60))?;
        // What the other one had is there without it.
        s.crash();
        sim.run_for(secs(30))?;
        let late = reader(sim, b, &reader_qos())?;
        sim.run_until(|| late.stats().delivered >= 2, secs(60))?;
        sim.run_for(secs(5))?;
        assert_eq!(values(&take(b, &late)), [(1, 1), (2, 2)]);
        Ok(())
    });
}

/// Of histories that are nearly the same only the difference moves.
#[test]
fn services_that_were_apart_give_each_other_the_difference_alone() {
    const BEFORE: u32 = 300;
    bad_network().seeds(0..4, |sim| {
        let nodes: Vec<Node> = ["a", "s", "c", "t"].into_iter().map(|name| sim.node(name)).collect();
        let [a, s, c, t] = &nodes[..] else { unreachable!() };
        let shown = [serve_and_count(s, "s", &Disk::default()), serve_and_count(t, "t", &Disk::default())];
        let sums = |of: &dyn Fn(&TopicState) -> u64| -> Vec<u64> {
            shown.iter().map(|it| it.lock().unwrap().states.iter().map(of).sum()).collect()
        };
        let (one, other) = (writer(sim, a, &writer_qos(1))?, writer(sim, c, &writer_qos(1))?);
        sim.run_until(
            || one.matched_subscriptions().len() == 2 && other.matched_subscriptions().len() == 2,
            secs(60),
        )?;
        (0..BEFORE).try_for_each(|id| a.run(|| one.write(&track(id, 0))).map(drop))?;
        stored(sim, a, &one)?;
        sim.run_until(|| sums(&|state| state.samples as u64) == [300, 300], secs(60))?;
        sim.run_for(secs(120))?;
        sim.partition(&[a, s], &[c, t]);
        sim.run_for(secs(60))?;
        for id in 0..3 {
            a.run(|| one.write(&track(1000 + id, 1)))?;
            c.run(|| other.write(&track(2000 + id, 2)))?;
        }
        sim.run_for(secs(5))?;
        assert_eq!(sums(&|state| state.samples as u64), [303, 303]);
        a.crash();
        c.crash();
        sim.run_for(secs(60))?;
        let before = sums(&|state| state.counters.given);
        sim.heal();
        sim.run_until(|| sums(&|state| state.samples as u64) == [306, 306], secs(120))?;
        sim.run_for(secs(120))?;
        let after = sums(&|state| state.counters.given);
        assert_eq!((after[0] - before[0], after[1] - before[1]), (3, 3), "what both had has moved");
        Ok(())
    });
}

/// What one service has had of a writer in the meantime is not undone by what the other one still has.
#[test]
fn the_newest_sample_stays_when_services_meet() {
    bad_network().seeds(0..4, |sim| {
        let nodes: Vec<Node> = ["a", "s", "t", "b"].into_iter().map(|name| sim.node(name)).collect();
        let [a, s, t, b] = &nodes[..] else { unreachable!() };
        serve(t, "t", &Disk::default());
        let writer = writer(sim, a, &writer_qos(1).keep_last(1))?;
        a.run(|| writer.write(&track(1, 1)))?;
        stored(sim, a, &writer)?;
        sim.partition(&[a, s], &[t, b]);
        sim.run_for(secs(60))?;
        a.run(|| writer.write(&track(1, 2)))?;
        serve(s, "s", &Disk::default());
        stored(sim, a, &writer)?;
        a.crash();
        sim.run_for(secs(60))?;
        sim.heal();
        sim.run_for(secs(60))?;
        for gone in [s, t] {
            gone.crash();
            sim.run_for(secs(30))?;
            let late = reader(sim, b, &reader_qos())?;
            sim.run_until(|| late.stats().delivered >= 1, secs(60))?;
            sim.run_for(secs(10))?;
            assert_eq!(values(&take(b, &late)), [(1, 2)]);
            gone.restart();
            sim.run_for(secs(60))?;
        }
        Ok(())
    });
}

/// A service that was away when an instance ended is told the end.
#[test]
fn an_instance_that_ended_does_not_come_back_with_a_service_that_was_away() {
    bad_network().seeds(0..4, |sim| {
        let nodes: Vec<Node> = ["a", "s", "t", "b"].into_iter().map(|name| sim.node(name)).collect();
        let [a, s, t, b] = &nodes[..] else { unreachable!() };
        serve(s, "s", &Disk::default());
        let shown = serve_and_count(t, "t", &Disk::default());
        let writer = writer(sim, a, &writer_qos(1))?;
        sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(60))?;
        a.run(|| writer.write(&track(1, 1)))?;
        a.run(|| writer.write(&track(2, 2)))?;
        stored(sim, a, &writer)?;
        t.crash();
        sim.run_until(|| writer.matched_subscriptions().len() == 1, secs(120))?;
        a.run(|| writer.dispose(&track(1, 0)))?;
        a.run(|| writer.unregister_instance(&track(1, 0)))?;
        stored(sim, a, &writer)?;
        a.run(|| writer.publisher().participant().delete_contained_entities())?;
        sim.run_for(secs(5))?;
        t.restart();
        sim.run_for(secs(120))?;
        assert_eq!(shown.lock().unwrap().states[0].samples, 1, "it has the instance no longer");
        let late = reader(sim, b, &reader_qos())?;
        sim.run_until(|| late.stats().delivered >= 1, secs(60))?;
        sim.run_for(secs(10))?;
        assert_eq!(values(&take(b, &late)), [(2, 2)]);
        Ok(())
    });
}
