//! What passes: data with identity, time and order, ends of instances, history, ownership, back-pressure.

use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::sim::Sim;
use dunlin::{Duration, InstanceState};

use crate::support::*;

const ALL: &str = "[[route]]\nfrom = \"inner\"\nto = \"outer\"\n";

fn plain() -> String {
    format!("{TWO}{ALL}")
}

#[test]
fn samples_keep_identity_time_and_order_across_instances() {
    bad_network().seeds(0..8, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &plain());
        let writer = writer(&a, &at(0, "Tracks"), &writer_qos())?;
        let reader = reader(&b, &at(1, "Tracks"), &reader_qos().show_every_change())?;
        sim.run_until(|| reader.matched_publications().len() == 1, secs(60))?;
        for n in 0..50 {
            a.run(|| writer.write(&track(n % 5, i64::from(n))))?;
        }
        a.run(|| writer.dispose(&track(3, 0)))?;
        a.run(|| writer.unregister_instance(&track(4, 0)))?;
        sim.run_until(|| reader.stats().delivered == 52, secs(60))?;
        let seen = take(&b, &reader);
        assert_eq!(positions(&seen), (0..50).collect::<Vec<_>>());
        let guid = writer.guid().unwrap();
        for (sample, number) in seen.iter().zip(1..) {
            let original = sample.info.original_sample.unwrap();
            assert_eq!((original.writer, original.sequence_number.0), (guid, number));
            assert_ne!(sample.info.identity().writer, guid);
        }
        let states: Vec<_> =
            seen.iter().skip(50).map(|it| (it.key.as_ref().unwrap().id, it.info.instance_state)).collect();
        assert_eq!(states, [(3, InstanceState::NotAliveDisposed), (4, InstanceState::NotAliveNoWriters)]);
        Ok(())
    });
}

#[test]
fn a_router_gives_late_joiners_history_and_passes_on_the_end_of_a_writer() {
    bad_network().seeds(10..16, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &plain());
        let writer = writer(&a, &at(0, "Tracks"), &writer_qos())?;
        for n in 0..20 {
            a.run(|| writer.write(&track(1, n)))?;
        }
        sim.run_for(secs(5))?;
        let late = reader(&b, &at(1, "Tracks"), &reader_qos())?;
        sim.run_until(|| late.stats().delivered == 20, secs(60))?;
        assert_eq!(positions(&take(&b, &late)), (0..20).collect::<Vec<_>>());
        a.crash();
        sim.run_until(|| late.matched_publications().is_empty(), secs(200))?;
        let end = take(&b, &late);
        assert_eq!(end.len(), 1);
        assert_eq!(end[0].info.instance_state, InstanceState::NotAliveNoWriters);
        Ok(())
    });
}

#[test]
fn ownership_fails_over_and_back_through_a_router() {
    bad_network().seeds(20..26, |sim| {
        let (a, c, r, b) = (sim.node("a"), sim.node("c"), sim.node("r"), sim.node("b"));
        route(&r, &plain());
        let qos = |strength| {
            DataWriterQos::default()
                .reliable()
                .keep_all()
                .exclusive()
                .ownership_strength(strength)
                .autodispose_unregistered_instances(false)
        };
        let weak = writer(&a, &at(0, "Tracks"), &qos(1))?;
        let strong = writer(&c, &at(0, "Tracks"), &qos(9))?;
        let reader = reader::<Track>(
            &b,
            &at(1, "Tracks"),
            &DataReaderQos::default().reliable().keep_all().exclusive(),
        )?;
        sim.run_until(|| reader.matched_publications().len() == 2, secs(60))?;
        sim.run_for(secs(1))?;
        let shown = |sim: &mut Sim, expected: i64| -> dunlin::sim::Result {
            sim.run_until(
                || {
                    b.run(|| reader.read(usize::MAX))
                        .unwrap()
                        .iter()
                        .any(|it| it.data.as_ref().is_some_and(|it| it.position == expected))
                },
                secs(60),
            )?;
            assert_eq!(positions(&take(&b, &reader)), [expected]);
            Ok(())
        };
        a.run(|| weak.write(&track(1, 10)))?;
        shown(sim, 10)?;
        c.run(|| strong.write(&track(1, 90)))?;
        shown(sim, 90)?;
        a.run(|| weak.write(&track(1, 11)))?;
        sim.run_for(secs(3))?;
        assert_eq!(positions(&take(&b, &reader)), [] as [i64; 0]);
        // The owner gives up one instance, and is lost with the other.
        c.run(|| strong.unregister_instance(&track(1, 0)))?;
        sim.run_for(secs(3))?;
        a.run(|| weak.write(&track(1, 12)))?;
        shown(sim, 12)?;
        c.run(|| strong.write(&track(2, 91)))?;
        shown(sim, 91)?;
        c.crash();
        sim.run_until(|| reader.matched_publications().len() == 1, secs(200))?;
        a.run(|| weak.write(&track(2, 13)))?;
        shown(sim, 13)?;
        Ok(())
    });
}

#[test]
fn a_reader_that_takes_nothing_holds_up_the_writer_at_the_source() {
    bad_network().seeds(30..34, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &format!("{}[limits]\nsamples = 10\n", plain()));
        let qos = DataWriterQos::default().reliable().keep_all().resource_limits(10, -1, -1);
        let writer = writer(&a, &at(0, "Tracks"), &qos)?;
        let small = DataReaderQos::default().reliable().keep_all().resource_limits(10, -1, -1);
        let reader = reader(&b, &at(1, "Tracks"), &small)?;
        sim.run_until(
            || reader.matched_publications().len() == 1 && writer.matched_subscriptions().len() == 1,
            secs(60),
        )?;
        let (mut written, mut seen) = (0, Vec::new());
        while seen.len() < 500 {
            while written < 500 && a.run(|| writer.write(&track(1, written))).is_ok() {
                written += 1;
            }
            assert!(
                written as usize <= seen.len() + 10 + 10 + 10 + 10 + 256 + 1,
                "{written} written, {} seen",
                seen.len()
            );
            sim.run_for(millis(100))?;
            if written < 500 && sim.elapsed() < secs(30) {
                continue;
            }
            seen.extend(positions(&take(&b, &reader)));
        }
        assert_eq!(seen, (0..500).collect::<Vec<_>>());
        Ok(())
    });
}

/// Acknowledged to the source, so that nobody sends it again, but for the router.
#[test]
fn queued_samples_pass_the_router_after_their_writer_has_ended() {
    bad_network().seeds(40..43, |sim| {
        let (a, c, r, b) = (sim.node("a"), sim.node("c"), sim.node("r"), sim.node("b"));
        route(&r, &format!("{}[limits]\nsamples = 10\n", plain()));
        let qos = DataWriterQos::default().reliable().keep_all().autodispose_unregistered_instances(false);
        let ending = writer(&a, &at(0, "Tracks"), &qos)?;
        let staying = writer::<Track>(&c, &at(0, "Tracks"), &qos)?;
        let small = DataReaderQos::default().reliable().keep_all().resource_limits(10, -1, -1);
        let reader = reader(&b, &at(1, "Tracks"), &small.show_every_change())?;
        let there = || {
            let sources = [&ending, &staying];
            reader.matched_publications().len() == 1
                && sources.iter().all(|it| it.matched_subscriptions().len() == 1)
        };
        sim.run_until(there, secs(60))?;
        for n in 0..28 {
            a.run(|| ending.write(&track(1, n)))?;
        }
        sim.run_until(|| a.run(|| ending.wait_for_acknowledgments(Duration::ZERO)).is_ok(), secs(60))?;
        a.run(|| ending.publisher().delete_datawriter(&ending))?;
        sim.run_for(secs(2))?;
        let mut seen = Vec::new();
        sim.run_until(
            || {
                seen.extend(positions(&take(&b, &reader)));
                seen.len() >= 28
            },
            secs(60),
        )?;
        assert_eq!(seen, (0..28).collect::<Vec<_>>());
        Ok(())
    });
}
