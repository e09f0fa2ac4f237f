//! EXCLUSIVE OWNERSHIP (DDS 1.4 §2.2.3.9): what makes the owner of an instance give way, over the simulated network.

use dunlin::Duration;
use dunlin::qos::*;
use dunlin::sim::{Node, Sim};

use crate::support::*;

/// A strong and a weak writer on nodes of their own, and a reader.
struct Contest {
    sim: Sim,
    strong: (Node, Writing),
    weak: (Node, Writing),
    reads: Reads,
}

impl Contest {
    fn new(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> Self {
        let mut sim = Sim::new(7);
        let writer_qos = writer_qos.clone().exclusive();
        let side = |sim: &mut Sim, name: &str, strength: i32| {
            let node = sim.node(name);
            let writing = writing(&node, &writer_qos.clone().ownership_strength(strength));
            (node, writing)
        };
        let (strong, weak) = (side(&mut sim, "strong", 9), side(&mut sim, "weak", 1));
        let reads = reads(&sim.node("reader"), &reader_qos.clone().exclusive());
        sim.run_until(|| reads.reader.matched_publications().len() == 2, secs(9)).unwrap();
        sim.run_for(Duration::from_millis(500)).unwrap();
        Self { sim, strong, weak, reads }
    }

    /// Both write, the strong one negative numbers; what is seen of it.
    fn both(&mut self, n: i32) -> Vec<i32> {
        self.strong.0.run(|| self.strong.1.writer.write(&reading(1, -n))).unwrap();
        self.settle();
        self.weak(n)
    }

    /// The weak one writes alone; what is seen.
    fn weak(&mut self, n: i32) -> Vec<i32> {
        self.weak.0.run(|| self.weak.1.writer.write(&reading(1, n))).unwrap();
        self.settle();
        let taken = self.reads.reader.take(99).unwrap();
        taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n).collect()
    }

    fn settle(&mut self) {
        self.sim.run_for(Duration::from_millis(100)).unwrap();
    }
}

fn reliable() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().keep_all(), DataReaderQos::default().reliable().keep_all())
}

/// What the owner has to be silent for: the weak one writes meanwhile, and is seen in the end.
fn silence_hands_over(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) {
    let mut contest = Contest::new(writer_qos, reader_qos);
    assert_eq!(contest.both(1), [-1]);
    let mut seen = Vec::new();
    for n in 10..40 {
        seen.extend(contest.weak(n));
    }
    assert_eq!(seen.last(), Some(&39), "the owner said nothing for too long");
    assert!(seen[0] > 20, "not before its time: {seen:?}");
    assert_eq!(contest.both(2), [-2], "it is the owner again as soon as it writes");
}

#[test]
fn an_owner_that_misses_its_deadline_gives_way() {
    let (writer_qos, reader_qos) = reliable();
    silence_hands_over(&writer_qos.deadline(secs(2)), &reader_qos.deadline(secs(2)));
}

#[test]
fn an_owner_that_is_not_alive_gives_way() {
    let (writer_qos, reader_qos) = reliable();
    let manual = LivelinessKind::ManualByTopic;
    silence_hands_over(&writer_qos.liveliness(manual, secs(2)), &reader_qos.liveliness(manual, secs(2)));
}

#[test]
fn an_owner_that_unregisters_gives_way_and_one_that_disposes_does_not() {
    let (writer_qos, reader_qos) = reliable();
    let mut contest = Contest::new(&writer_qos.autodispose_unregistered_instances(false), &reader_qos);
    assert_eq!(contest.both(1), [-1]);
    contest.strong.0.run(|| contest.strong.1.writer.dispose(&reading(1, 0))).unwrap();
    contest.settle();
    assert_eq!(contest.weak(2), [], "the owner disposed of the instance and owns it still");
    assert_eq!(contest.both(3), [-3]);
    contest.strong.0.run(|| contest.strong.1.writer.unregister_instance(&reading(1, 0))).unwrap();
    contest.settle();
    assert_eq!(contest.weak(4), [4]);
    assert_eq!(contest.both(5), [-5]);
}
