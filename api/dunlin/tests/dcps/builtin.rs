//! Built-in topics as ordinary readers, discovered data, and what is ignored.

use dunlin::qos::*;
use dunlin::sim::Sim;
use dunlin::{
    Against, BuiltinDurabilityService, BuiltinDuration, BuiltinHistory, BuiltinResourceLimits,
    BuiltinTypeConsistency, DCPS_PARTICIPANT, DCPS_PUBLICATION, DCPS_SUBSCRIPTION, DCPS_TOPIC, DataReader,
    DcpsParticipant, DcpsPublication, DcpsSubscription, DcpsTopic, DdsType, DomainParticipant, EntityError,
    InstanceHandle, InstanceState, StateMasks, ViewState, WaitSet,
};

use crate::common::{self, eventually};
use crate::support::*;

/// Takes what is there: with data, or else the end of an instance.
fn take<T: DdsType>(reader: &DataReader<T>) -> Vec<(InstanceHandle, Option<T>, InstanceState)> {
    let taken = reader.take(100).unwrap().into_iter();
    taken.map(|sample| (sample.info.instance_handle, sample.data, sample.info.instance_state)).collect()
}

#[test]
fn participants_topics_writers_and_readers_come_and_go_as_samples() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let watcher = b.run(|| DomainParticipant::new(0)).unwrap();
    let builtin = watcher.builtin_subscriber();
    let participants = builtin.lookup_datareader::<DcpsParticipant>(DCPS_PARTICIPANT).unwrap();
    let topics = builtin.lookup_datareader::<DcpsTopic>(DCPS_TOPIC).unwrap();
    let publications = builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION).unwrap();
    let subscriptions = builtin.lookup_datareader::<DcpsSubscription>(DCPS_SUBSCRIPTION).unwrap();
    assert!(builtin.lookup_datareader::<DcpsTopic>(DCPS_PARTICIPANT).is_none(), "another type");
    assert!(builtin.lookup_datareader::<DcpsTopic>("Readings").is_none());
    let again = watcher.builtin_subscriber().lookup_datareader::<DcpsParticipant>(DCPS_PARTICIPANT).unwrap();
    assert_eq!(again.guid(), participants.guid(), "there is one reader of each");
    assert!(participants.take(1).unwrap().is_empty());
    let qos = DataWriterQos {
        deadline: Deadline { period: secs(2) },
        user_data: UserData(vec![7]),
        ..DataWriterQos::default().transient_local()
    };
    let w = writing(&a, &qos);
    let r = reads(&a, &DataReaderQos::default());
    sim.run_for(secs(1)).unwrap();
    let found = take(&participants);
    assert_eq!(found.len(), 2);
    let of_writer = found.iter().find(|(handle, ..)| *handle == w.participant.instance_handle()).unwrap();
    let sample = of_writer.1.as_ref().unwrap();
    assert_eq!((sample.name.as_str(), sample.key.handle()), ("writing", of_writer.0));
    assert_eq!(participants.lookup_instance(sample), of_writer.0, "the key is the handle");
    assert_eq!(participants.key_value(of_writer.0).unwrap().key, sample.key);
    let found = take(&publications);
    let [(handle, Some(sample), InstanceState::Alive)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (*handle, sample.participant_key.handle()),
        (w.writer.instance_handle(), w.participant.instance_handle())
    );
    assert_eq!((sample.topic_name.as_str(), sample.type_name.as_str()), ("Readings", "Reading"));
    assert_eq!((sample.durability, sample.reliability, &*sample.user_data), (1, 1, &[7][..]));
    assert_eq!(sample.deadline, BuiltinDuration { sec: 2, nanosec: 0 });
    assert_eq!(take(&subscriptions)[0].0, r.reader.instance_handle());
    let found = take(&topics);
    let [(topic, Some(sample), InstanceState::Alive)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((sample.name.as_str(), sample.key.handle()), ("Readings", *topic));
    // A change is another sample of the same instance.
    let changed = DataWriterQos { user_data: UserData(vec![8]), ..w.writer.qos() };
    a.run(|| w.writer.set_qos(&changed)).unwrap();
    sim.run_for(secs(1)).unwrap();
    let found = publications.take(9).unwrap();
    assert_eq!((found.len(), found[0].info.view_state), (1, ViewState::NotNew));
    assert_eq!(found[0].data.as_ref().unwrap().user_data, [8]);
    // The topic lives as long as an endpoint names it.
    a.run(|| drop(w));
    sim.run_for(secs(2)).unwrap();
    assert_eq!(take(&publications)[0].2, InstanceState::NotAliveDisposed);
    // Its policies are now those of the reader.
    let found = take(&topics);
    let [(_, Some(sample), InstanceState::Alive)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((sample.durability, sample.key.handle()), (0, *topic));
    a.run(|| drop(r));
    sim.run_for(secs(2)).unwrap();
    assert_eq!(take(&topics)[0].2, InstanceState::NotAliveDisposed);
    assert_eq!(take(&subscriptions)[0].2, InstanceState::NotAliveDisposed);
    let gone = take(&participants);
    assert_eq!(gone.len(), 2);
    assert!(gone.iter().all(|(.., state)| *state == InstanceState::NotAliveDisposed));
}

/// What the standards have in the samples beyond what decides matches: history and limits, the service, XTypes.
#[test]
fn samples_have_every_policy_that_endpoints_announce() {
    let mut sim = Sim::new(4);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let watcher = b.run(|| DomainParticipant::new(0)).unwrap();
    let builtin = watcher.builtin_subscriber();
    let topics = builtin.lookup_datareader::<DcpsTopic>(DCPS_TOPIC).unwrap();
    let publications = builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION).unwrap();
    let subscriptions = builtin.lookup_datareader::<DcpsSubscription>(DCPS_SUBSCRIPTION).unwrap();
    let service = DurabilityService {
        service_cleanup_delay: secs(3),
        history_kind: HistoryKind::KeepAll,
        history_depth: 4,
        max_samples: 50,
        max_instances: 6,
        max_samples_per_instance: 7,
    };
    let qos = DataWriterQos::default().durability_service(service).keep_last(2).resource_limits(30, 3, 20);
    let qos = qos.representation(&[DataRepresentationId::Xcdr2]).transport_priority(9);
    let w = writing(&a, &qos);
    sim.run_for(secs(1)).unwrap();
    let announced = BuiltinDurabilityService {
        service_cleanup_delay: BuiltinDuration { sec: 3, nanosec: 0 },
        history_kind: 1,
        history_depth: 4,
        max_samples: 50,
        max_instances: 6,
        max_samples_per_instance: 7,
    };
    let of_writer = take(&publications).remove(0).1.unwrap();
    assert_eq!((of_writer.durability_service, &*of_writer.representation), (announced, &[2][..]));
    let known = watcher.discovered_publication_data(w.writer.instance_handle()).unwrap();
    assert!(!of_writer.type_information.is_empty());
    assert_eq!(Some(&*of_writer.type_information), known.type_information.as_deref());
    let topic = take(&topics).remove(0).1.unwrap();
    assert_eq!((topic.durability_service, topic.transport_priority), (announced, 9));
    assert_eq!((topic.history, &*topic.representation), (BuiltinHistory { kind: 0, depth: 2 }, &[2][..]));
    let limits = BuiltinResourceLimits { max_samples: 30, max_instances: 3, max_samples_per_instance: 20 };
    assert_eq!(topic.resource_limits, limits);
    // Of a reader, also as the policies of a topic that no writer names.
    let strict =
        TypeConsistencyEnforcement { ignore_string_bounds: false, ..TypeConsistencyEnforcement::default() };
    let qos = DataReaderQos { type_consistency: strict, ..DataReaderQos::default().keep_all() };
    let ids = [DataRepresentationId::Xcdr2, DataRepresentationId::Xcdr1];
    let _r = reads(&a, &qos.representation(&ids).resource_limits(9, 8, 7));
    a.run(|| drop(w));
    sim.run_for(secs(2)).unwrap();
    let of_reader = take(&subscriptions).remove(0).1.unwrap();
    let expected = BuiltinTypeConsistency {
        kind: 1,
        ignore_sequence_bounds: strict.ignore_sequence_bounds,
        ignore_string_bounds: false,
        ignore_member_names: strict.ignore_member_names,
        prevent_type_widening: strict.prevent_type_widening,
        force_type_validation: strict.force_type_validation,
    };
    assert_eq!((of_reader.type_consistency, &*of_reader.representation), (expected, &[2, 0][..]));
    assert_eq!(of_reader.type_information, of_writer.type_information);
    let topic = take(&topics).remove(0).1.unwrap();
    assert_eq!((topic.history.kind, topic.resource_limits.max_samples_per_instance), (1, 7));
    assert_eq!((topic.durability_service.max_samples, topic.transport_priority), (-1, 0));
}

#[test]
fn a_late_reader_of_a_built_in_topic_gets_what_is_known() {
    let (mut sim, _a, b, w, r) = pair();
    let builtin = r.participant.builtin_subscriber();
    let publications = b.run(|| builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION)).unwrap();
    assert_eq!(take(&publications)[0].0, w.writer.instance_handle());
    // A condition on it works as on any reader.
    let condition = publications.create_readcondition(StateMasks::NOT_READ).unwrap();
    let set = WaitSet::new();
    set.attach_condition(condition.condition());
    let second = writing(&sim.node("c"), &DataWriterQos::default());
    sim.run_until(|| condition.condition().trigger_value(), secs(9)).unwrap();
    let query =
        publications.create_querycondition(StateMasks::ANY, "topic_name = %0", &["'Readings'"]).unwrap();
    let found = publications.take_w_condition(9, &query).unwrap();
    assert_eq!(found[0].info.instance_handle, second.writer.instance_handle());
    let refused = b.run(|| builtin.create_datareader(&r.topic, &DataReaderQos::default()));
    assert!(refused.is_err());
}

#[test]
fn a_reader_made_again_knows_nothing_of_what_went_meanwhile() {
    let (mut sim, a, b, w, r) = pair();
    let builtin = r.participant.builtin_subscriber();
    let topics = || b.run(|| builtin.lookup_datareader::<DcpsTopic>(DCPS_TOPIC)).unwrap();
    let first = topics();
    assert_eq!(take(&first).len(), 1);
    b.run(|| drop(first));
    a.run(|| drop(w));
    sim.run_for(secs(2)).unwrap();
    let second = topics();
    assert!(take(&second).is_empty());
    // The topic comes and goes as if it were the first time.
    let again = writing(&a, &DataWriterQos::default());
    sim.run_for(secs(1)).unwrap();
    assert_eq!(take(&second).len(), 1);
    a.run(|| drop(again));
    sim.run_for(secs(2)).unwrap();
    assert_eq!(take(&second)[0].2, InstanceState::NotAliveDisposed);
}

#[test]
fn discovered_data_by_handle() {
    let (_sim, _a, _b, w, r) = pair();
    let data = r.participant.discovered_participant_data(w.participant.instance_handle()).unwrap();
    assert_eq!(data.entity_name, "writing");
    let data = r.participant.discovered_publication_data(w.writer.instance_handle()).unwrap();
    assert_eq!(&*data.topic_name, "Readings");
    assert!(w.participant.discovered_subscription_data(r.reader.instance_handle()).is_ok());
    let [topic] = &r.participant.discovered_topics()[..] else { panic!() };
    assert_eq!(r.participant.discovered_topic_data(topic.key.handle()).unwrap(), *topic);
    assert_eq!((topic.name.as_str(), topic.reliability), ("Readings", 1));
    let nil = InstanceHandle::NIL;
    assert_eq!(r.participant.discovered_participant_data(nil), Err(EntityError::UnknownHandle));
    assert_eq!(r.participant.discovered_topic_data(nil), Err(EntityError::UnknownHandle));
    assert_eq!(
        w.writer.matched_subscription_data(r.reader.instance_handle()).unwrap().guid,
        r.reader.guid().unwrap()
    );
}

#[test]
fn an_ignored_endpoint_unmatches_and_never_matches_again() {
    let (mut sim, a, b, w, r) = pair();
    let nil = InstanceHandle::NIL;
    for refused in [
        r.participant.ignore_publication(nil),
        r.participant.ignore_subscription(w.writer.instance_handle()),
        r.participant.ignore_publication(r.reader.instance_handle()),
        r.participant.ignore_participant(nil),
        r.participant.ignore_topic(nil),
    ] {
        assert_eq!(refused, Err(EntityError::UnknownHandle));
    }
    let builtin = r.participant.builtin_subscriber();
    let publications = builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION).unwrap();
    let handle = take(&publications)[0].0;
    b.run(|| r.participant.ignore_publication(handle)).unwrap();
    assert!(r.reader.matched_publications().is_empty());
    assert_eq!(take(&publications)[0].2, InstanceState::NotAliveDisposed);
    b.run(|| r.participant.ignore_publication(handle)).unwrap();
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    sim.run_for(secs(5)).unwrap();
    assert!(r.reader.take(9).unwrap().is_empty());
    let explanation = r.participant.explain(&r.reader, handle);
    assert_eq!(explanation.pairs[0].causes[0].name(), "IGNORED");
    // Another writer of the same participant is heard, until the participant is ignored.
    let second = a.run(|| w.publisher.create_datawriter(&w.topic, &DataWriterQos::default())).unwrap();
    sim.run_until(|| r.reader.matched_publications() == [second.instance_handle()], secs(9)).unwrap();
    b.run(|| r.participant.ignore_participant(w.participant.instance_handle())).unwrap();
    sim.run_for(secs(20)).unwrap();
    assert!(r.reader.matched_publications().is_empty());
    assert!(r.participant.discovered_participants().is_empty());
    let explanation = r.participant.explain(&r.reader, second.guid().unwrap());
    assert_eq!(explanation.pairs[0].causes[0].to_string(), "this participant ignores the participant");
}

#[test]
fn an_ignored_topic_has_no_endpoints() {
    let (mut sim, a, b, w, r) = pair();
    let topics = r.participant.builtin_subscriber().lookup_datareader::<DcpsTopic>(DCPS_TOPIC).unwrap();
    let handle = take(&topics)[0].0;
    b.run(|| r.participant.ignore_topic(handle)).unwrap();
    assert!(r.reader.matched_publications().is_empty());
    let _second = a.run(|| w.publisher.create_datawriter(&w.topic, &DataWriterQos::default())).unwrap();
    sim.run_for(secs(5)).unwrap();
    assert!(r.reader.matched_publications().is_empty() && r.participant.discovered_publications().is_empty());
    let causes = r.participant.explain(&r.reader, Against::Topic).causes;
    assert!(
        causes.iter().any(|cause| cause.to_string() == "this participant ignores the topic"),
        "{causes:?}"
    );
    // Other topics of the same participant are known.
    let other = a.run(|| w.participant.create_topic::<Reading>("Others", &TopicQos::default())).unwrap();
    let _third = a.run(|| w.publisher.create_datawriter(&other, &DataWriterQos::default())).unwrap();
    sim.run_until(|| r.participant.discovered_publications().len() == 1, secs(9)).unwrap();
}

#[test]
fn built_in_topics_over_loopback() {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let name = format!("Builtin{}", std::process::id());
    let reader = one.builtin_subscriber().lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION).unwrap();
    let topic = other.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
    let publisher = other.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
    let mut seen = Vec::new();
    eventually("the writer as a sample", || {
        seen.extend(take(&reader).into_iter().map(|(handle, ..)| handle));
        seen.contains(&writer.instance_handle())
    });
    let handle = writer.instance_handle();
    drop(writer);
    eventually("its end", || {
        take(&reader).iter().any(|(h, _, s)| *h == handle && *s != InstanceState::Alive)
    });
}

#[test]
fn an_ignored_subscription_gets_nothing_and_never_comes_back() {
    let (mut sim, a, b, w, r) = pair();
    // Elsewhere, as what goes to a participant reaches all its readers.
    let other = reads(&sim.node("c"), &DataReaderQos::default().reliable().keep_all());
    let next = &other.reader;
    sim.run_until(|| w.writer.matched_subscriptions().len() == 2, secs(9)).unwrap();
    let refused = a.run(|| w.participant.ignore_subscription(w.writer.instance_handle()));
    assert_eq!(refused, Err(EntityError::UnknownHandle));
    let _ = w.writer.publication_matched_status();
    a.run(|| w.participant.ignore_subscription(r.reader.instance_handle())).unwrap();
    a.run(|| w.participant.ignore_subscription(r.reader.instance_handle())).unwrap();
    assert_eq!(w.writer.matched_subscriptions(), [next.instance_handle()]);
    let status = w.writer.publication_matched_status();
    assert_eq!((status.current_count, status.current_count_change), (1, -1));
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    // It announces itself anew.
    let changed = DataReaderQos { user_data: UserData(vec![4]), ..r.reader.qos() };
    b.run(|| r.reader.set_qos(&changed)).unwrap();
    sim.run_for(secs(20)).unwrap();
    a.run(|| w.writer.write(&reading(1, 2))).unwrap();
    sim.run_for(secs(5)).unwrap();
    assert_eq!((r.reader.take(9).unwrap().len(), next.take(9).unwrap().len()), (0, 2));
    assert_eq!(w.writer.matched_subscriptions().len(), 1);
    assert_eq!(w.participant.discovered_subscriptions().len(), 1);
}
