//! Writing and reading by instance, by state and one by one (DDS 1.4 §2.2.2.4.2, §2.2.2.5.3), over the simulated network.

use dunlin::{
    DataReader, InstanceHandle, InstanceState, InstanceStateMask, ReadError, ReturnCode, Sample, SampleState,
    SampleStateMask, StateMasks, StatusMask, ViewState, ViewStateMask, WaitError, WaitSet, WallTime,
    WriteError,
};

use crate::support::*;

const NOBODY: InstanceHandle = InstanceHandle([7; 16]);

fn write(node: &Node, w: &Writing, readings: &[(i32, i32)]) {
    node.run(|| readings.iter().try_for_each(|(id, n)| w.writer.write(&reading(*id, *n)))).unwrap();
}

fn numbers(samples: &[Sample<Reading>]) -> Vec<i32> {
    samples.iter().filter_map(|sample| sample.data.as_ref()).map(|reading| reading.n).collect()
}

fn handle(reader: &DataReader<Reading>, id: i32) -> InstanceHandle {
    reader.lookup_instance(&reading(id, 0))
}

#[test]
fn the_next_sample_is_one_that_was_not_read() {
    let (mut sim, a, _b, w, r) = pair();
    write(&a, &w, &[(1, 1), (2, 2), (1, 3)]);
    sim.run_for(secs(1)).unwrap();
    let mut seen = Vec::new();
    while let Some(sample) = r.reader.read_next_sample().unwrap() {
        assert_eq!(sample.info.sample_state, SampleState::NotRead);
        seen.extend(numbers(&[sample]));
        assert!(seen.len() <= 3, "{seen:?}");
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
    assert!(r.reader.take_next_sample().unwrap().is_none(), "all were read");
    write(&a, &w, &[(2, 4)]);
    sim.run_for(secs(1)).unwrap();
    let next = r.reader.take_next_sample().unwrap().unwrap();
    assert_eq!(numbers(&[next]), [4]);
    let left = r.reader.read(9).unwrap();
    assert!(left.len() == 3 && left.iter().all(|sample| sample.info.sample_state == SampleState::Read));
}

#[test]
fn instances_are_read_and_taken_one_by_one() {
    let (mut sim, a, _b, w, r) = pair();
    write(&a, &w, &[(1, 1), (2, 2), (3, 3), (1, 4)]);
    sim.run_for(secs(1)).unwrap();
    let any = StateMasks::ANY;
    let second = handle(&r.reader, 2);
    assert_eq!(r.reader.key_value(second).unwrap().id, 2);
    assert_eq!(numbers(&r.reader.read_instance(9, handle(&r.reader, 1), any).unwrap()), [1, 4]);
    assert_eq!(numbers(&r.reader.read_instance(1, handle(&r.reader, 1), any).unwrap()), [1]);
    assert_eq!(numbers(&r.reader.take_instance(9, second, any).unwrap()), [2]);
    assert!(r.reader.read_instance(9, second, any).unwrap().is_empty(), "known, with nothing left");
    for refused in [r.reader.read_instance(9, NOBODY, any), r.reader.take_instance(9, NOBODY, any)] {
        let error = refused.unwrap_err();
        assert_eq!((&error, error.return_code()), (&ReadError::UnknownInstance, ReturnCode::BadParameter));
    }
    let walk = |take: bool| {
        let (mut previous, mut found) = (InstanceHandle::NIL, Vec::new());
        loop {
            let next = if take {
                r.reader.take_next_instance(9, previous, any)
            } else {
                r.reader.read_next_instance(9, previous, any)
            };
            let next = next.unwrap();
            let Some(first) = next.first() else { return found };
            assert!(first.info.instance_handle > previous, "in the order of the handles");
            previous = first.info.instance_handle;
            assert!(next.iter().all(|sample| sample.info.instance_handle == previous));
            found.push(numbers(&next));
        }
    };
    for take in [false, true] {
        let mut found = walk(take);
        found.sort();
        assert_eq!(found, [vec![1, 4], vec![3]], "take {take}");
    }
    assert!(walk(false).is_empty());
}

#[test]
fn masks_select_by_states_and_generations_are_counted() {
    let (mut sim, a, _b, w, r) = pair();
    let select = |states: StateMasks| numbers(&r.reader.read_states(9, states).unwrap());
    write(&a, &w, &[(1, 1)]);
    sim.run_for(secs(1)).unwrap();
    let unread = StateMasks { view: ViewStateMask::NOT_NEW, ..StateMasks::NOT_READ };
    assert!(select(unread).is_empty(), "not seen yet");
    assert_eq!(r.reader.read(9).unwrap()[0].info.view_state, ViewState::New);
    assert_eq!(r.reader.read(9).unwrap()[0].info.view_state, ViewState::NotNew);
    write(&a, &w, &[(1, 2), (2, 3)]);
    sim.run_for(secs(1)).unwrap();
    assert_eq!(select(unread), [2], "the other instance is new");
    assert_eq!(select(StateMasks { sample: SampleStateMask::READ, ..StateMasks::ANY }), [1, 2]);
    a.run(|| w.writer.dispose(&reading(1, 0))).unwrap();
    sim.run_for(secs(1)).unwrap();
    let disposed = StateMasks { instance: InstanceStateMask::NOT_ALIVE_DISPOSED, ..StateMasks::ANY };
    let alive = StateMasks { instance: InstanceStateMask::ALIVE, ..StateMasks::ANY };
    assert_eq!((select(disposed), select(alive)), (vec![1, 2], vec![3]));
    write(&a, &w, &[(1, 4)]);
    sim.run_for(secs(1)).unwrap();
    let of_first = r.reader.read_instance(9, handle(&r.reader, 1), StateMasks::ANY).unwrap();
    let (oldest, newest) = (&of_first[0].info, &of_first.last().unwrap().info);
    assert_eq!((oldest.disposed_generation_count, newest.disposed_generation_count), (0, 1));
    assert_eq!((oldest.generation_rank, oldest.absolute_generation_rank, newest.generation_rank), (1, 1, 0));
    assert_eq!((oldest.sample_rank as usize, newest.sample_rank), (of_first.len() - 1, 0));
    assert_eq!((newest.view_state, newest.instance_state), (ViewState::New, InstanceState::Alive));
}

#[test]
fn conditions_name_their_reader_and_are_attached_and_detached() {
    let (mut sim, a, _b, w, r) = pair();
    let condition = r.reader.create_readcondition(StateMasks::NOT_READ).unwrap();
    assert_eq!(condition.datareader().unwrap().guid(), r.reader.guid());
    assert_eq!(condition.states(), StateMasks::NOT_READ);
    let status = r.reader.status_condition();
    assert_eq!(status.enabled_statuses(), StatusMask::ALL);
    status.set_enabled_statuses(StatusMask::SAMPLE_LOST);
    assert_eq!(status.enabled_statuses(), StatusMask::SAMPLE_LOST);
    let set = WaitSet::new();
    set.attach_condition(condition.condition());
    set.attach_condition(status.condition());
    set.attach_condition(condition.condition());
    assert_eq!(set.conditions(), [condition.condition().clone(), status.condition().clone()]);
    write(&a, &w, &[(1, 1)]);
    sim.run_for(secs(1)).unwrap();
    assert_eq!(set.wait(secs(0)).unwrap(), [condition.condition().clone()]);
    set.detach_condition(condition.condition()).unwrap();
    assert_eq!(set.detach_condition(condition.condition()), Err(WaitError::NotAttached));
    assert_eq!(set.conditions(), [status.condition().clone()]);
    assert!(set.wait(secs(0)).is_err());
}

#[test]
fn write_dispose_and_unregister_by_handle_and_with_timestamp() {
    let (mut sim, a, _b, w, r) = pair();
    let start = a.run(|| w.participant.current_time());
    let at = |n: i64| WallTime(start.0 + n * 1_000_000_000);
    let first = a.run(|| w.writer.register_instance(&reading(1, 0))).unwrap();
    let second = a.run(|| w.writer.register_instance(&reading(2, 0))).unwrap();
    let by_handle = |handle: InstanceHandle| a.run(|| w.writer.write_instance(&reading(1, 1), handle));
    for (handle, refused, code) in [
        (second, WriteError::InstanceMismatch, ReturnCode::PreconditionNotMet),
        (NOBODY, WriteError::UnknownInstance, ReturnCode::BadParameter),
    ] {
        assert_eq!((by_handle(handle), refused.return_code()), (Err(refused), code));
    }
    by_handle(first).unwrap();
    by_handle(InstanceHandle::NIL).unwrap();
    a.run(|| w.writer.write_instance_w_timestamp(&reading(2, 2), second, at(10))).unwrap();
    sim.run_for(secs(1)).unwrap();
    let taken = r.reader.take(99).unwrap();
    let times: Vec<WallTime> = taken.iter().map(|sample| sample.info.source_timestamp).collect();
    assert!(times.contains(&at(10)), "{times:?}");
    let unknown = a.run(|| w.writer.dispose_handle(NOBODY));
    assert!(matches!(unknown, Err(WriteError::UnknownInstance)), "{unknown:?}");
    a.run(|| w.writer.dispose_handle_w_timestamp(first, at(20))).unwrap();
    a.run(|| w.writer.dispose_w_timestamp(&reading(2, 0), at(30))).unwrap();
    a.run(|| w.writer.dispose_handle(second)).unwrap();
    sim.run_for(secs(1)).unwrap();
    // Nothing else was unread, so a sample without data tells of each end, and when it was.
    let taken = r.reader.take(99).unwrap();
    let ends: Vec<_> = taken.iter().map(|s| (s.info.instance_handle, s.info.source_timestamp)).collect();
    assert_eq!(ends, [(handle(&r.reader, 1), at(20)), (handle(&r.reader, 2), at(30))]);
    assert!(
        taken.iter().all(|s| !s.info.valid_data && s.info.instance_state == InstanceState::NotAliveDisposed)
    );
    a.run(|| w.writer.unregister_handle(second)).unwrap();
    a.run(|| w.writer.unregister_handle_w_timestamp(first, at(40))).unwrap();
    for refused in [
        a.run(|| w.writer.unregister_instance(&reading(1, 0))),
        a.run(|| w.writer.unregister_instance_w_timestamp(&reading(2, 0), at(50))),
    ] {
        assert_eq!(refused, Err(WriteError::NotRegistered), "it was unregistered");
    }
    assert_eq!(WriteError::NotRegistered.return_code(), ReturnCode::PreconditionNotMet);
    write(&a, &w, &[(3, 3)]);
    let backwards = a.run(|| w.writer.unregister_instance_w_timestamp(&reading(3, 0), at(35)));
    assert_eq!(backwards, Err(WriteError::BadTimestamp));
}
