use alloc::vec;

use super::*;

fn guid(prefix: u8, entity: u8) -> Guid {
    Guid::new(GuidPrefix([prefix; 12]), EntityId([0, 0, entity, 2]))
}

fn ms(millis: u64) -> MonoTime {
    MonoTime(millis * 1_000_000)
}

fn offer(kind: LivelinessKind, millis: i64) -> Liveliness {
    Liveliness { kind, lease_duration: Duration::from_millis(millis) }
}

fn timer(tracker: &mut LivelinessTracker, now: MonoTime) -> Vec<LivelinessTransition> {
    let mut transitions = vec![];
    tracker.on_timer(now, &mut transitions);
    transitions
}

#[test]
fn a_lease_passes_once_and_an_assertion_revives() {
    let mut tracker = LivelinessTracker::new();
    let writer = guid(1, 1);
    assert!(tracker.add(ms(0), writer, offer(LivelinessKind::ManualByTopic, 100)));
    assert_eq!((tracker.alive_count(), tracker.not_alive_count()), (1, 0));
    assert_eq!(tracker.next_deadline(), Some(ms(100)));
    assert_eq!(timer(&mut tracker, ms(99)), []);
    assert!(!tracker.assert_writer(ms(99), writer));
    // The deadline of the old lease finds the new one.
    assert_eq!(timer(&mut tracker, ms(100)), []);
    assert_eq!(tracker.next_deadline(), Some(ms(199)));
    assert_eq!(timer(&mut tracker, ms(199)), [LivelinessTransition { writer, alive: false }]);
    assert_eq!((tracker.alive_count(), tracker.not_alive_count()), (0, 1));
    assert_eq!((timer(&mut tracker, ms(500)), tracker.next_deadline()), (vec![], None));
    assert!(tracker.assert_writer(ms(600), writer));
    assert_eq!((tracker.is_alive(writer), tracker.next_deadline()), (Some(true), Some(ms(700))));
    assert_eq!(tracker.remove(writer), Some(true));
    assert_eq!((tracker.remove(writer), tracker.alive_count()), (None, 0));
    assert_eq!(timer(&mut tracker, ms(700)), []);
}

#[test]
fn infinite_leases_never_pass() {
    let mut tracker = LivelinessTracker::new();
    tracker.add(ms(0), guid(1, 1), Liveliness::default());
    assert_eq!(tracker.next_deadline(), None);
    assert_eq!(timer(&mut tracker, MonoTime::MAX), []);
}

#[test]
fn participants_assert_writers_of_one_kind() {
    use LivelinessKind::{Automatic, ManualByParticipant};
    let mut tracker = LivelinessTracker::new();
    let writers = [guid(1, 1), guid(1, 2), guid(2, 1)];
    for (writer, kind) in writers.into_iter().zip([Automatic, ManualByParticipant, Automatic]) {
        tracker.add(ms(0), writer, offer(kind, 100));
    }
    let mut revived = vec![];
    tracker.assert_participant((ms(50), ms(50)), GuidPrefix([1; 12]), Automatic, &mut revived);
    assert_eq!(revived, []);
    let dead: Vec<Guid> = timer(&mut tracker, ms(100)).iter().map(|transition| transition.writer).collect();
    assert_eq!(dead, [guid(1, 2), guid(2, 1)]);
    tracker.assert_participant((ms(120), ms(120)), GuidPrefix([1; 12]), ManualByParticipant, &mut revived);
    assert_eq!(revived, [LivelinessTransition { writer: guid(1, 2), alive: true }]);
    assert_eq!((tracker.alive_count(), tracker.not_alive_count()), (2, 1));
    assert_eq!(timer(&mut tracker, ms(150)), [LivelinessTransition { writer: guid(1, 1), alive: false }]);
    assert_eq!(tracker.next_deadline(), Some(ms(220)));
}

#[test]
fn adding_again_counts_as_an_assertion() {
    let mut tracker = LivelinessTracker::new();
    let writer = guid(1, 1);
    tracker.add(ms(0), writer, offer(LivelinessKind::Automatic, 100));
    assert!(!tracker.add(ms(50), writer, offer(LivelinessKind::Automatic, 200)));
    assert_eq!((timer(&mut tracker, ms(249)), tracker.alive_count()), (vec![], 1));
    assert_eq!(timer(&mut tracker, ms(250)).len(), 1);
    assert!(tracker.add(ms(300), writer, offer(LivelinessKind::Automatic, 200)), "it was dead");
    assert_eq!((tracker.alive_count(), tracker.not_alive_count()), (1, 0));
}
