//! What keeps entities from being deleted, and what is left of what is.

use dunlin::qos::*;
use dunlin::{
    DdsType, EntityError, ExpressionError, ReadError, ReturnCode, SampleStateMask, StateMasks, StatusMask,
    WaitSet,
};

use crate::support::*;

#[test]
fn conditions_keep_their_reader_until_they_are_deleted() {
    let (mut sim, a, b, w, r) = pair();
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    let unread = r.reader.create_readcondition(StateMasks::NOT_READ).unwrap();
    let query = r.reader.create_querycondition(StateMasks::ANY, "n > 0", &[""; 0]).unwrap();
    sim.run_until(|| unread.condition().trigger_value(), secs(9)).unwrap();
    let set = WaitSet::new();
    set.attach_condition(unread.condition());
    set.attach_condition(query.condition());
    let delete = || b.run(|| r.subscriber.delete_datareader(&r.reader));
    assert_eq!(delete(), Err(EntityError::InUse));
    assert_eq!(EntityError::InUse.return_code(), ReturnCode::PreconditionNotMet);
    let other = b.run(|| r.subscriber.create_datareader(&r.topic, &DataReaderQos::default())).unwrap();
    assert_eq!(other.delete_readcondition(&unread), Err(EntityError::Foreign));
    // A deleted condition is false, in no wait-set, and selects nothing, although there are handles to it.
    let handle = unread.clone();
    r.reader.delete_readcondition(&unread).unwrap();
    assert!(!handle.condition().trigger_value());
    assert_eq!(set.conditions(), [query.condition().clone()]);
    set.attach_condition(handle.condition());
    assert_eq!(set.conditions().len(), 1);
    assert_eq!(b.run(|| r.reader.take_w_condition(9, &handle)).err(), Some(ReadError::DeletedCondition));
    assert_eq!(ReadError::DeletedCondition.return_code(), ReturnCode::AlreadyDeleted);
    assert_eq!(r.reader.delete_readcondition(&unread), Err(EntityError::AlreadyDeleted));
    // The query condition still counts.
    assert_eq!(delete(), Err(EntityError::InUse));
    r.reader.delete_readcondition(&query).unwrap();
    delete().unwrap();
    assert_eq!(r.reader.delete_contained_entities(), Err(EntityError::AlreadyDeleted));
    let late = r.reader.create_readcondition(StateMasks::ANY).err();
    assert_eq!(late, Some(ReadError::AlreadyDeleted));
}

#[test]
fn conditions_go_with_their_last_handle_or_all_at_once() {
    let (_sim, _a, b, _w, r) = pair();
    let delete = || b.run(|| r.subscriber.delete_datareader(&r.reader));
    let set = WaitSet::new();
    set.attach_condition(r.reader.create_readcondition(StateMasks::ANY).unwrap().condition());
    assert_eq!(delete(), Err(EntityError::InUse), "the wait-set has it");
    drop(set);
    let read = StateMasks { sample: SampleStateMask::READ, ..StateMasks::ANY };
    let (first, second) = (
        r.reader.create_readcondition(StateMasks::ANY).unwrap(),
        r.reader.create_readcondition(read).unwrap(),
    );
    assert_eq!(delete(), Err(EntityError::InUse));
    r.reader.delete_contained_entities().unwrap();
    for condition in [first, second] {
        assert_eq!(r.reader.delete_readcondition(&condition), Err(EntityError::AlreadyDeleted));
    }
    delete().unwrap();
    // A subscriber deletes its readers with their conditions.
    let again = b.run(|| r.subscriber.create_datareader(&r.topic, &DataReaderQos::default())).unwrap();
    let set = WaitSet::new();
    set.attach_condition(again.create_readcondition(StateMasks::ANY).unwrap().condition());
    b.run(|| r.subscriber.delete_contained_entities()).unwrap();
    assert!(set.conditions().is_empty());
}

/// Loans in the sense of return_loan: payloads that are not copied.
#[test]
fn payloads_that_were_taken_outlive_sample_and_reader() {
    let (mut sim, a, b, w, r) = pair();
    a.run(|| w.writer.write(&reading(1, 77))).unwrap();
    sim.run_until(|| r.reader.status_changes().intersects(StatusMask::DATA_AVAILABLE), secs(9)).unwrap();
    let loan = b.run(|| r.reader.take_payloads(1)).unwrap().remove(0);
    let octets = loan.payload.as_ref().unwrap().to_vec();
    a.run(|| (0..50).try_for_each(|n| w.writer.write(&reading(n, n)))).unwrap();
    sim.run_for(secs(1)).unwrap();
    b.run(|| r.subscriber.delete_datareader(&r.reader)).unwrap();
    assert_eq!(loan.payload.as_ref().unwrap().to_vec(), octets);
    assert_eq!(octets[octets.len() - 4..], 77_i32.to_le_bytes());
}

#[test]
fn a_content_filtered_topic_is_deleted_after_its_readers() {
    let (_sim, a, b, w, r) = pair();
    let make = |n: &str| {
        let made = b.run(|| r.participant.create_contentfilteredtopic("Few", &r.topic, "n > %0", &[n]));
        made.unwrap()
    };
    let filtered = make("3");
    let reader = b.run(|| r.subscriber.create_datareader(&filtered, &DataReaderQos::default())).unwrap();
    assert_eq!(r.participant.delete_contentfilteredtopic(&filtered), Err(EntityError::InUse));
    assert_eq!(w.participant.delete_contentfilteredtopic(&filtered), Err(EntityError::Foreign));
    b.run(|| r.subscriber.delete_datareader(&r.reader)).unwrap();
    b.run(|| r.subscriber.delete_datareader(&reader)).unwrap();
    assert_eq!(r.participant.delete_topic(&r.topic), Err(EntityError::InUse), "it is filtered");
    r.participant.delete_contentfilteredtopic(&filtered).unwrap();
    assert_eq!(r.participant.delete_contentfilteredtopic(&filtered), Err(EntityError::AlreadyDeleted));
    assert!(r.participant.lookup_topicdescription::<Reading>("Few").is_none());
    let refused = b.run(|| r.subscriber.create_datareader(&filtered, &DataReaderQos::default()));
    assert_eq!(refused.unwrap_err().return_code(), ReturnCode::AlreadyDeleted);
    assert_eq!(filtered.set_expression_parameters(&["1"]), Err(ExpressionError::AlreadyDeleted));
    // Its name is free, and delete_contained_entities reaches the next one.
    let again = make("4");
    b.run(|| r.participant.delete_contained_entities().unwrap());
    assert_eq!(r.participant.delete_contentfilteredtopic(&again), Err(EntityError::AlreadyDeleted));
    drop(a);
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Row {
    #[dds(key)]
    id: i32,
    n: i32,
}

#[test]
fn a_multi_topic_is_deleted_after_its_readers() {
    let (_sim, _a, b, w, r) = pair();
    let make = || {
        let text = "SELECT id, n FROM 'Readings' WHERE n > %0";
        b.run(|| r.participant.create_multitopic::<Row>("Rows", text, &["0"])).unwrap()
    };
    let rows = make();
    let reader = b.run(|| r.subscriber.create_datareader(&rows, &DataReaderQos::default())).unwrap();
    assert_eq!(r.participant.delete_multitopic(&rows), Err(EntityError::InUse));
    assert_eq!(w.participant.delete_multitopic(&rows), Err(EntityError::Foreign));
    b.run(|| r.subscriber.delete_datareader(&reader)).unwrap();
    r.participant.delete_multitopic(&rows).unwrap();
    assert_eq!(r.participant.delete_multitopic(&rows), Err(EntityError::AlreadyDeleted));
    let refused = b.run(|| r.subscriber.create_datareader(&rows, &DataReaderQos::default()));
    assert_eq!(refused.unwrap_err().return_code(), ReturnCode::AlreadyDeleted);
    assert_eq!(rows.set_expression_parameters(&["1"]), Err(ExpressionError::AlreadyDeleted));
    let again = make();
    b.run(|| r.participant.delete_contained_entities().unwrap());
    assert_eq!(r.participant.delete_multitopic(&again), Err(EntityError::AlreadyDeleted));
}
