//! Random histories: what always holds, whatever is written and acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use dunlin_cache::AddError;
use dunlin_core::Rng;
use dunlin_qos::{DataWriterQos, DurabilityKind, HistoryKind, ReliabilityKind};

use crate::fixture::{Fixture, best_effort, keep_all, keep_last, limited, transient};

/// What a reader that joins late, or lost everything, must still be able to get.
#[derive(Default)]
struct Model {
    /// Sequence numbers written per instance, with whether the last was an unregistration.
    written: BTreeMap<u8, Vec<i64>>,
}

fn configurations() -> Vec<DataWriterQos> {
    let mut all = Vec::new();
    for history in [keep_last(1), keep_last(3), keep_all()] {
        for bounds in [(-1, -1, -1), (6, 3, 4), (8, -1, -1), (-1, 4, 5)] {
            let qos = limited(history.clone(), bounds.0, bounds.1, bounds.2);
            all.extend([qos.clone(), transient(qos.clone()), best_effort(qos.clone())]);
            all.push(best_effort(transient(qos)));
        }
    }
    all
}

fn check_limits(f: &Fixture, present: &BTreeSet<i64>, qos: &DataWriterQos, model: &Model, instances: u8) {
    let limits = qos.resource_limits;
    // Ending an instance may exceed the limits by a disposal and an unregistration each.
    let spare = if qos.durability.kind > DurabilityKind::Volatile { 2 * usize::from(instances) } else { 0 };
    if let Ok(max) = usize::try_from(limits.max_samples) {
        assert!(present.len() <= max + spare, "{present:?} with {qos:?}");
    }
    if let Ok(max) = usize::try_from(limits.max_instances) {
        assert!(f.cache.instance_count() <= max);
    }
    for written in model.written.values() {
        let kept = written.iter().filter(|sn| present.contains(sn)).count();
        if qos.history.kind == HistoryKind::KeepLast {
            assert!(kept <= qos.history.depth as usize + 1);
        } else if let Ok(max) = usize::try_from(limits.max_samples_per_instance) {
            assert!(kept <= max + spare);
        }
    }
}

fn check_reliable(f: &Fixture, present: &BTreeSet<i64>, qos: &DataWriterQos, model: &Model) {
    if qos.reliability.kind != ReliabilityKind::Reliable {
        return;
    }
    for written in model.written.values() {
        let unacked: Vec<i64> = written.iter().copied().filter(|sn| *sn > f.acked).collect();
        let needed = match qos.history.kind {
            HistoryKind::KeepAll => &unacked[..],
            // The newest of each instance is never dropped before it is acknowledged.
            HistoryKind::KeepLast => &unacked[unacked.len().saturating_sub(1)..],
        };
        assert!(needed.iter().all(|sn| present.contains(sn)), "{needed:?} of {present:?}");
    }
}

/// An interpreter is slow: it takes few steps, of one configuration in five.
const STEPS: i64 = if cfg!(miri) { 15 } else { 1_000 };
const CONFIGURATIONS: usize = if cfg!(miri) { 5 } else { 1 };

#[test]
fn limits_hold_and_nothing_unacknowledged_is_lost() {
    for (n, qos) in configurations().into_iter().enumerate().step_by(CONFIGURATIONS) {
        let mut rng = Rng::new(n as u64);
        let mut f = Fixture::new(&qos);
        let mut model = Model::default();
        let (mut last, mut halfway) = (0, 0);
        for step in 0..STEPS {
            if step == STEPS / 2 {
                halfway = last;
            }
            let instance = 1 + rng.below(6) as u8;
            let result = match rng.below(10) {
                0 => f.dispose(instance),
                1 => f.unregister(instance),
                2 => f.remove(instance),
                3 => {
                    f.ack(f.acked + rng.below((last - f.acked + 1) as u64) as i64);
                    continue;
                }
                4 => {
                    let _ = f.register(instance);
                    continue;
                }
                _ => f.write(instance),
            };
            match result {
                Ok(sn) => {
                    assert_eq!(sn, last + 1);
                    last = sn;
                    model.written.entry(instance).or_default().push(sn);
                }
                Err(AddError::WaitForAck) => {
                    assert_eq!(qos.reliability.kind, ReliabilityKind::Reliable);
                    if qos.durability.kind == DurabilityKind::Volatile {
                        // What it waits for must help.
                        f.ack(last);
                        assert!(f.write(instance) == Ok(last + 1) || f.register(instance).is_err());
                        last = last.max(f.present().last().copied().unwrap_or(0));
                        if f.present().last() == Some(&last) && last > f.acked {
                            model.written.entry(instance).or_default().push(last);
                        }
                    }
                }
                Err(AddError::OutOfResources | AddError::NotRegistered) => {}
            }
            let present: BTreeSet<i64> = f.present().into_iter().collect();
            check_limits(&f, &present, &qos, &model, 6);
            check_reliable(&f, &present, &qos, &model);
        }
        // So few steps may be too few for it.
        assert!(cfg!(miri) || last > halfway + STEPS / 50, "{halfway}, then {last} with {qos:?}");
    }
}
