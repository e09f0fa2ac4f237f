//! What keeps a manual writer alive: DDS 1.4 §2.2.3.11, what its application does, and not that it is heard.

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};

use crate::support::*;

const LEASE: dunlin::Duration = secs(2);

fn manual(sim: &mut Sim, kind: LivelinessKind) -> (Node, Node, Writing, Reads) {
    let liveliness = Liveliness { kind, lease_duration: LEASE };
    let writer_qos = DataWriterQos { liveliness, ..DataWriterQos::default().keep_all() };
    let reader_qos = DataReaderQos { liveliness, ..DataReaderQos::default().reliable().keep_all() };
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (w, r) = (writing(&a, &writer_qos), reads(&b, &reader_qos));
    let met = || w.writer.matched_subscriptions().len() == 1 && r.reader.matched_publications().len() == 1;
    sim.run_until(met, secs(9)).unwrap();
    (a, b, w, r)
}

/// How many writers are alive, and how many are not.
fn counts(r: &Reads) -> (i32, i32) {
    let status = r.reader.liveliness_changed_status();
    (status.alive_count, status.not_alive_count)
}

#[test]
fn a_repair_after_the_lease_does_not_bring_a_writer_back() {
    for kind in [LivelinessKind::ManualByTopic, LivelinessKind::ManualByParticipant] {
        let mut sim = Sim::new(3);
        let (a, b, w, r) = manual(&mut sim, kind);
        // Less than the lease of the participant.
        sim.partition(&[&a], &[&b]);
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        sim.run_for(secs(5)).unwrap();
        assert_eq!((counts(&r), r.reader.read(9).unwrap().len()), ((0, 1), 0));
        sim.heal();
        sim.run_until(|| r.reader.read(9).unwrap().len() == 1, secs(9)).unwrap();
        for _ in 0..LEASE.as_nanos() / millis(10).as_nanos() {
            assert_eq!(counts(&r), (0, 1), "{kind:?}: it was written five seconds ago");
            sim.run_for(millis(10)).unwrap();
        }
        a.run(|| w.writer.write(&reading(1, 2))).unwrap();
        sim.run_for(millis(100)).unwrap();
        assert_eq!(counts(&r), (1, 0), "and this now");
    }
}

/// What is lost and repaired within the lease counts: the writer was not silent.
#[test]
fn loss_does_not_end_a_writer_that_writes_often_enough() {
    Sim::builder().loss(0.3).seeds(0..6, |sim| {
        let (a, _b, w, r) = manual(sim, LivelinessKind::ManualByTopic);
        for n in 0..40 {
            a.run(|| w.writer.write(&reading(1, n))).unwrap();
            sim.run_for(millis(500)).unwrap();
            assert_eq!(counts(&r), (1, 0), "after {n}");
        }
        sim.run_for(secs(4)).unwrap();
        assert_eq!(counts(&r), (0, 1));
        Ok(())
    });
}

const fn millis(n: i64) -> dunlin::Duration {
    dunlin::Duration::from_millis(n)
}
