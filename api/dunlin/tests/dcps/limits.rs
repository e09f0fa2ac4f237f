//! RESOURCE_LIMITS of a writer (DDS 1.4 §2.2.2.4.2.11): a write waits where acknowledgements make room, and is refused at
//! once where only the application could.

use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::sim::{Node, Sim};
use dunlin::{DataWriter, Duration, ReturnCode, WriteError};

use crate::support::*;

/// Two of them are over before a reader that does not answer counts as inactive.
const BLOCKING: Duration = Duration::from_secs(1);

/// What became of a write, and how long it took.
type Outcome = (Result<(), WriteError>, Duration);

fn written(sim: &mut Sim, node: &Node, writer: &DataWriter<Reading>, id: i32, n: i32) -> Outcome {
    let writer = writer.clone();
    let task = node.spawn_thread(move |cx| {
        let begin = cx.elapsed();
        let result = writer.write(&reading(id, n));
        Ok((result, Duration::from_nanos(cx.elapsed().as_nanos() - begin.as_nanos())))
    });
    sim.join(&task, secs(60)).unwrap()
}

/// A writer with these limits, whose reader cannot answer for now.
fn unanswered(limits: (i32, i32, i32)) -> (Sim, Node, Writing, Reads) {
    let mut sim = Sim::new(9);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let mut qos =
        DataWriterQos::default().reliable().keep_all().resource_limits(limits.0, limits.1, limits.2);
    qos.reliability.max_blocking_time = BLOCKING;
    let (w, r) = (writing(&a, &qos), reads(&b, &DataReaderQos::default().reliable().keep_all()));
    let met = || !w.writer.matched_subscriptions().is_empty() && !r.reader.matched_publications().is_empty();
    sim.run_until(met, secs(9)).unwrap();
    sim.run_for(secs(1)).unwrap();
    sim.cut(&b, &a);
    (sim, a, w, r)
}

const TIMEOUT: Outcome = (Err(WriteError::Timeout(BLOCKING)), BLOCKING);
const AT_ONCE: Outcome = (Ok(()), Duration::ZERO);

#[test]
fn max_samples_blocks_until_acknowledgements_make_room() {
    let (mut sim, a, w, r) = unanswered((2, -1, -1));
    assert_eq!([1, 2].map(|id| written(&mut sim, &a, &w.writer, id, id)), [AT_ONCE, AT_ONCE]);
    assert_eq!(written(&mut sim, &a, &w.writer, 3, 3), TIMEOUT);
    assert_eq!(WriteError::Timeout(BLOCKING).return_code(), ReturnCode::Timeout);
    sim.heal();
    let (result, waited) = written(&mut sim, &a, &w.writer, 4, 4);
    assert!(result.is_ok() && waited < BLOCKING, "{result:?} {waited}");
    let mut seen = Vec::new();
    let arrived = || {
        seen.extend(
            r.reader.take(9).unwrap().into_iter().filter_map(|sample| sample.data).map(|data| data.n),
        );
        seen.len() == 3
    };
    sim.run_until(arrived, secs(9)).unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 4], "what timed out was not written");
}

#[test]
fn max_samples_per_instance_blocks_that_instance_alone() {
    let (mut sim, a, w, _r) = unanswered((-1, -1, 2));
    assert_eq!([1, 2].map(|n| written(&mut sim, &a, &w.writer, 1, n)), [AT_ONCE, AT_ONCE]);
    assert_eq!(written(&mut sim, &a, &w.writer, 1, 3), TIMEOUT);
    assert_eq!([1, 2].map(|n| written(&mut sim, &a, &w.writer, 2, n)), [AT_ONCE, AT_ONCE]);
    assert_eq!(written(&mut sim, &a, &w.writer, 2, 3), TIMEOUT);
    sim.heal();
    let (result, waited) = written(&mut sim, &a, &w.writer, 1, 4);
    assert!(result.is_ok() && waited < BLOCKING, "{result:?} {waited}");
}

#[test]
fn max_instances_refuses_at_once_what_only_the_application_can_free() {
    let (mut sim, a, w, _r) = unanswered((-1, 2, -1));
    assert_eq!([1, 2].map(|id| written(&mut sim, &a, &w.writer, id, id)), [AT_ONCE, AT_ONCE]);
    let refused = (Err(WriteError::OutOfResources), Duration::ZERO);
    assert_eq!(written(&mut sim, &a, &w.writer, 3, 3), refused);
    assert_eq!(a.run(|| w.writer.register_instance(&reading(3, 0))), Err(WriteError::OutOfResources));
    assert_eq!(WriteError::OutOfResources.return_code(), ReturnCode::OutOfResources);
    assert_eq!(written(&mut sim, &a, &w.writer, 1, 4), AT_ONCE, "those there are go on");
    // An instance that was unregistered leaves when its samples are acknowledged: until then a write waits.
    a.run(|| w.writer.unregister_instance(&reading(1, 0))).unwrap();
    assert_eq!(written(&mut sim, &a, &w.writer, 3, 5), TIMEOUT);
    sim.heal();
    let (result, waited) = written(&mut sim, &a, &w.writer, 3, 6);
    assert!(result.is_ok() && waited < BLOCKING, "{result:?} {waited}");
}
