//! A router that is pumped by the test: other configurations while it runs, policies of profiles, restarts.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, ReliabilityKind, TopicQos};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{DataReader, DomainParticipant, Duration};
use dunlin_router::{Forwarding, Router, RouterConfig};

use crate::support::*;

/// A router without a thread.
fn pumped(node: &Node, text: &str) -> Router {
    node.run(|| Router::with_forwarding(config(text), Forwarding::Pumped)).unwrap()
}

/// Pumps while the time goes on.
fn pump_until(
    sim: &mut Sim,
    (node, router): (&Node, &mut Router),
    mut done: impl FnMut() -> bool,
    limit: Duration,
) -> Result {
    let end = sim.elapsed().as_nanos() + limit.as_nanos();
    while !done() {
        if sim.elapsed().as_nanos() >= end {
            return Err(
                format!("not within {limit:?}: {:?}, {:?}", router.states(), router.refusals()).into()
            );
        }
        node.run(|| router.pump());
        sim.run_for(millis(2))?;
    }
    Ok(())
}

fn routes(of_b: &str) -> String {
    let route = |topic: &str, keys: &str| {
        format!(
            "[[route]]\nname = \"{topic}\"\nfrom = \"inner\"\nto = \"outer\"\ntopics = [\"{topic}\"]\n{keys}\n"
        )
    };
    format!("{TWO}{}{}[status]\nparticipants = []\n", route("A", ""), route("B", of_b))
}

/// How many samples each route has passed on.
fn passed(router: &Router) -> Vec<(String, u64)> {
    let mut all: Vec<_> = router.states().iter().map(|it| (it.route.clone(), it.stats.samples)).collect();
    all.sort_unstable();
    all
}

#[test]
fn router_reload_changes_only_the_routes_that_differ() {
    bad_network().seeds(0..4, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        let mut router = pumped(&r, &routes(""));
        let to_a = writer(&a, &at(0, "A"), &writer_qos())?;
        let to_b = writer(&a, &at(0, "B"), &writer_qos())?;
        let (at_a, at_b) = (
            reader(&b, &at(1, "A"), &reader_qos().remove_duplicates(true))?,
            reader(&b, &at(1, "B"), &reader_qos().remove_duplicates(true))?,
        );
        for n in 0..5 {
            a.run(|| to_a.write(&track(1, n)))?;
            a.run(|| to_b.write(&track(1, n)))?;
        }
        let (mut seen_a, mut seen_b) = (Vec::new(), Vec::new());
        let mut all = |of_a: usize, of_b: usize| {
            seen_a.extend(positions(&take(&b, &at_a)));
            seen_b.extend(positions(&take(&b, &at_b)));
            (seen_a.len(), seen_b.len()) == (of_a, of_b)
        };
        pump_until(sim, (&r, &mut router), || all(5, 5), secs(60))?;
        let outputs = (at_a.matched_publications(), at_b.matched_publications());
        r.run(|| router.reconfigure(config(&routes("filter = \"position >= 7\""))))?;
        let changed = || at_b.matched_publications().len() == 1 && at_b.matched_publications() != outputs.1;
        pump_until(sim, (&r, &mut router), changed, secs(60))?;
        for n in 5..10 {
            a.run(|| to_a.write(&track(1, n)))?;
            a.run(|| to_b.write(&track(1, n)))?;
        }
        pump_until(sim, (&r, &mut router), || all(10, 8), secs(60))?;
        assert_eq!(at_a.matched_publications(), outputs.0);
        assert_eq!(passed(&router), [("A".into(), 10), ("B".into(), 3)]);
        assert_eq!(seen_a, (0..10).collect::<Vec<_>>());
        assert_eq!(seen_b, [0, 1, 2, 3, 4, 7, 8, 9]);
        Ok(())
    });
}

/// The reliability of the writers that a reader's participant knows.
fn reliability(node: &Node, reader: &DataReader<Track>) -> Vec<ReliabilityKind> {
    let all = node.run(|| reader.subscriber().participant().discovered_publications());
    all.iter().filter(|it| &*it.topic_name == "Tracks").map(|it| it.qos.reliability.kind).collect()
}

#[test]
fn a_profile_replaces_the_policies_of_the_writers() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("outer.toml"),
        "[profile.lossy.writer]\nreliability.kind = \"best_effort\"\n",
    )
    .unwrap();
    let text = "name = \"gate\"\nparticipant.inner.domain = 0\n[participant.outer]\ndomain = 1\nconfig = \"outer.toml\"\n\
                [[route]]\nfrom = \"inner\"\nto = \"outer\"\n";
    for (keys, wanted) in
        [("", ReliabilityKind::Reliable), ("profile = \"lossy\"\n", ReliabilityKind::BestEffort)]
    {
        let config = RouterConfig::from_toml("gate.toml", &format!("{text}{keys}"), Some(folder.path()));
        let mut sim = Sim::new(5);
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        let mut router = r.run(|| Router::with_forwarding(config.unwrap(), Forwarding::Pumped)).unwrap();
        let writer = writer::<Track>(&a, &at(0, "Tracks"), &DataWriterQos::default().reliable()).unwrap();
        let reader = reader::<Track>(&b, &at(1, "Tracks"), &DataReaderQos::default().best_effort()).unwrap();
        let there = || reader.matched_publications().len() == 1 && writer.matched_subscriptions().len() == 1;
        pump_until(&mut sim, (&r, &mut router), there, secs(60)).unwrap();
        assert_eq!(reliability(&b, &reader), [wanted]);
    }
}

#[test]
fn a_restarted_router_sends_no_duplicates_to_readers_that_remove_them() {
    bad_network().seeds(0..4, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\n"));
        let writer = writer(&a, &at(0, "Tracks"), &writer_qos())?;
        let once = reader::<Track>(&b, &at(1, "Tracks"), &reader_qos().remove_duplicates(true))?;
        let every = reader::<Track>(&b, &at(1, "Tracks"), &reader_qos().remove_duplicates(false))?;
        for n in 0..20 {
            a.run(|| writer.write(&track(1, n)))?;
        }
        sim.run_until(|| once.stats().delivered == 20 && every.stats().delivered == 20, secs(60))?;
        r.crash();
        r.restart();
        for n in 20..25 {
            a.run(|| writer.write(&track(1, n)))?;
        }
        sim.run_until(|| every.stats().delivered == 45, secs(120))?;
        sim.run_for(secs(5))?;
        assert_eq!(positions(&take(&b, &once)), (0..25).collect::<Vec<_>>());
        Ok(())
    });
}

/// The input has them before the router looks again at what there is.
#[test]
fn samples_written_right_after_a_writer_is_created_pass_the_router() {
    let quick = Sim::builder().delay(Duration::from_micros(50), Duration::from_micros(200));
    quick.seeds(0..4, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        let mut router = pumped(&r, &routes(""));
        let reader = reader(&b, &at(1, "A"), &reader_qos())?;
        let (publisher, topic) = a.run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Track>("A", &TopicQos::default())?;
            Ok((participant.create_publisher(&PublisherQos::default())?, topic))
        })?;
        let mut writers = Vec::new();
        let mut seen = Vec::new();
        let mut add = |n: i64| -> Result {
            let writer = a.run(|| publisher.create_datawriter(&topic, &writer_qos()))?;
            a.run(|| writer.write(&track(1, n)))?;
            writers.push(writer);
            Ok(())
        };
        add(0)?;
        let first = || {
            seen.extend(positions(&take(&b, &reader)));
            seen == [0]
        };
        pump_until(sim, (&r, &mut router), first, secs(60))?;
        for n in 1..20 {
            add(n)?;
            sim.run_for(millis(1))?;
            r.run(|| router.pump());
        }
        for _ in 0..1000 {
            r.run(|| router.pump());
            sim.run_for(millis(2))?;
        }
        seen.extend(positions(&take(&b, &reader)));
        seen.sort_unstable();
        assert_eq!(seen, (0..20).collect::<Vec<_>>(), "{:?}", router.states());
        Ok(())
    });
}

#[test]
fn samples_taken_by_a_route_pass_although_it_changes() {
    bad_network().seeds(0..3, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        let limits = "[limits]\nsamples = 10\n";
        let mut router = pumped(&r, &format!("{}{limits}", routes("")));
        let qos = DataWriterQos::default().reliable().keep_all().autodispose_unregistered_instances(false);
        let writer = writer(&a, &at(0, "B"), &qos)?;
        let small = DataReaderQos::default().reliable().keep_all().resource_limits(10, -1, -1);
        let reader = reader(&b, &at(1, "B"), &small.show_every_change())?;
        let there = || reader.matched_publications().len() == 1 && writer.matched_subscriptions().len() == 1;
        pump_until(sim, (&r, &mut router), there, secs(60))?;
        for n in 0..28 {
            a.run(|| writer.write(&track(1, n)))?;
        }
        let acknowledged = || a.run(|| writer.wait_for_acknowledgments(Duration::ZERO)).is_ok();
        pump_until(sim, (&r, &mut router), acknowledged, secs(60))?;
        let before = reader.matched_publications();
        let changed = format!("{}{limits}", routes("filter = \"position >= 7\""));
        r.run(|| router.reconfigure(config(&changed)))?;
        let two = || reader.matched_publications().iter().any(|it| !before.contains(it));
        pump_until(sim, (&r, &mut router), two, secs(60))?;
        let mut seen = Vec::new();
        let all = || {
            seen.extend(positions(&take(&b, &reader)));
            seen.len() >= 28
        };
        pump_until(sim, (&r, &mut router), all, secs(60))?;
        assert_eq!(seen, (0..28).collect::<Vec<_>>());
        let gone = || reader.matched_publications().iter().all(|it| !before.contains(it));
        pump_until(sim, (&r, &mut router), gone, secs(60))?;
        Ok(())
    });
}

/// What is written while the route changes is neither history nor anybody's but the router's.
#[test]
fn a_volatile_writer_loses_nothing_while_its_route_changes() {
    bad_network().seeds(0..6, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        let mut router = pumped(&r, &routes(""));
        let qos = DataWriterQos::default().reliable().keep_all().autodispose_unregistered_instances(false);
        let writer = writer(&a, &at(0, "B"), &qos)?;
        let every = DataReaderQos::default().reliable().keep_all().remove_duplicates(false);
        let reader = reader(&b, &at(1, "B"), &every)?;
        let there = || reader.matched_publications().len() == 1 && writer.matched_subscriptions().len() == 1;
        pump_until(sim, (&r, &mut router), there, secs(60))?;
        let before = reader.matched_publications();
        for n in 0..300 {
            if n == 100 {
                r.run(|| router.reconfigure(config(&routes("rename_partition = \"$0\"\none_of = 1"))))?;
            }
            a.run(|| writer.write(&track(1, n)))?;
            r.run(|| router.pump());
            sim.run_for(millis(3))?;
        }
        let mut seen = Vec::new();
        let all = || {
            seen.extend(positions(&take(&b, &reader)));
            seen.len() >= 300
        };
        let arrived = pump_until(sim, (&r, &mut router), all, secs(20));
        seen.sort_unstable();
        assert_eq!(seen, (0..300).collect::<Vec<_>>());
        arrived?;
        assert!(reader.matched_publications().iter().all(|it| !before.contains(it)), "nothing has changed");
        Ok(())
    });
}
