//! The status condition of each entity (DDS 1.4 §2.2.2.1.1.8, §2.2.2.1.9).

use dunlin::qos::*;
use dunlin::{
    DomainParticipant, DomainParticipantFactory, InstanceHandle, SampleStateMask, StateMasks,
    StatusCondition, StatusMask, ViewStateMask, WaitError, WaitSet,
};

use crate::support::*;

/// Its condition, how it is deleted, and whether a status of it has changed.
struct Entity<'a> {
    name: &'static str,
    condition: &'a dyn Fn() -> StatusCondition,
    delete: &'a dyn Fn(),
    changed: bool,
}

fn has_one_condition(entity: &Entity<'_>) {
    let (name, set) = (entity.name, WaitSet::new());
    let (one, other) = ((entity.condition)(), (entity.condition)());
    for handle in [&one, &other, &one] {
        set.attach_condition(handle.condition());
    }
    assert_eq!(set.conditions(), [one.condition().clone()], "{name}");
    assert_eq!(one.condition().trigger_value(), entity.changed, "{name}");
    one.set_enabled_statuses(StatusMask::LIVELINESS_LOST);
    assert_eq!(other.enabled_statuses(), StatusMask::LIVELINESS_LOST, "{name}");
    assert_eq!((entity.condition)().enabled_statuses(), StatusMask::LIVELINESS_LOST, "{name}");
    assert!(!other.condition().trigger_value(), "{name}");
    (entity.condition)().set_enabled_statuses(StatusMask::ALL);
    assert_eq!(one.condition().trigger_value(), entity.changed, "{name}");
    (entity.delete)();
    assert!(set.conditions().is_empty(), "{name}: it is in the wait-set still");
    let late = (entity.condition)();
    set.attach_condition(late.condition());
    assert!(set.conditions().is_empty() && late.condition() == one.condition(), "{name}");
    assert!(!one.condition().trigger_value(), "{name}");
    assert_eq!(set.detach_condition(one.condition()), Err(WaitError::NotAttached), "{name}");
}

#[test]
fn status_condition_is_one_per_entity_and_ends_with_it() {
    let (mut sim, a, b, w, r) = pair();
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    // Somebody uses the name with another type.
    let _other = b.run(|| {
        let participant = DomainParticipant::new(0).unwrap();
        let topic = participant.create_topic::<Measurement>("Readings", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        (participant, subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap())
    });
    let changed = || {
        w.topic.status_changes().intersects(StatusMask::INCONSISTENT_TOPIC)
            && r.subscriber.status_changes().intersects(StatusMask::DATA_ON_READERS)
    };
    sim.run_until(changed, secs(20)).unwrap();
    let factory = DomainParticipantFactory::instance();
    let entity = |name, condition, delete, changed| Entity { name, condition, delete, changed };
    for entity in [
        entity(
            "reader",
            &|| r.reader.status_condition(),
            &|| b.run(|| r.subscriber.delete_datareader(&r.reader)).unwrap(),
            true,
        ),
        entity(
            "subscriber",
            &|| r.subscriber.status_condition(),
            &|| r.participant.delete_subscriber(&r.subscriber).unwrap(),
            true,
        ),
        entity(
            "writer",
            &|| w.writer.status_condition(),
            &|| a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap(),
            true,
        ),
        entity(
            "publisher",
            &|| w.publisher.status_condition(),
            &|| w.participant.delete_publisher(&w.publisher).unwrap(),
            false,
        ),
        entity(
            "topic",
            &|| w.topic.status_condition(),
            &|| w.participant.delete_topic(&w.topic).unwrap(),
            true,
        ),
        entity(
            "participant",
            &|| w.participant.status_condition(),
            &|| a.run(|| factory.delete_participant(&w.participant)).unwrap(),
            false,
        ),
    ] {
        has_one_condition(&entity);
    }
}

#[test]
fn an_entity_dropped_with_its_last_handle_ends_its_status_condition() {
    let (_sim, a, b, w, r) = pair();
    let set = WaitSet::new();
    let conditions =
        [w.writer.status_condition(), r.reader.status_condition(), r.subscriber.status_condition()];
    for condition in &conditions {
        set.attach_condition(condition.condition());
    }
    assert_eq!(set.conditions().len(), 3);
    let (writer, reader, subscriber) = (w.writer, r.reader, r.subscriber);
    a.run(|| drop(writer));
    assert_eq!(set.conditions().len(), 2);
    b.run(|| drop((reader, subscriber)));
    assert!(set.conditions().is_empty());
    for condition in conditions {
        assert!(!condition.condition().trigger_value());
    }
}

#[test]
fn the_status_condition_of_a_deleted_entity_has_ended() {
    let (_sim, a, _b, w, _r) = pair();
    a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
    let set = WaitSet::new();
    let condition = w.writer.status_condition();
    set.attach_condition(condition.condition());
    assert!(set.conditions().is_empty() && !condition.condition().trigger_value());
    assert_ne!(condition.entity(), InstanceHandle::NIL, "it names what it belonged to");
}

/// DDS 1.4 §2.2.2.5.8: samples come to be in the states of a condition by what others read.
#[test]
fn reading_samples_triggers_read_conditions_on_the_read_state() {
    let any = StateMasks::ANY;
    let read = StateMasks { sample: SampleStateMask::READ, ..any };
    let not_new = StateMasks { view: ViewStateMask::NOT_NEW, ..any };
    for states in [read, not_new] {
        let (mut sim, a, b, w, r) = pair();
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        let arrived = || r.reader.status_changes().intersects(StatusMask::DATA_AVAILABLE);
        sim.run_until(arrived, secs(9)).unwrap();
        let condition = b.run(|| r.reader.create_readcondition(states)).unwrap();
        let set = WaitSet::new();
        set.attach_condition(condition.condition());
        let waits = b.spawn(move |_| async move { Ok(set.wait_async().await?.len()) });
        sim.run_for(secs(1)).unwrap();
        assert!(!waits.is_done(), "{states:?}: nothing was read");
        assert_eq!(b.run(|| r.reader.read(1)).unwrap().len(), 1);
        sim.run_for(secs(1)).unwrap();
        assert_eq!(waits.take(), Some(1), "{states:?}");
    }
}
