//! Look-up, containment, deletion, default QoS, handles, the factory.

use dunlin::qos::*;
use dunlin::sim::Sim;
use dunlin::{
    CreateEntityError, DomainParticipant, DomainParticipantFactory, EntityError, FoundTopic, Guid,
    InstanceHandle, ReadError, ReturnCode, StatusMask, WaitSet, WriteError,
};

use crate::common::{self, eventually};
use crate::support::*;

#[test]
fn entities_are_looked_up_by_topic() {
    let (_sim, a, b, w, r) = pair();
    let writer = w.publisher.lookup_datawriter::<Reading>("Readings").unwrap();
    assert_eq!(writer.guid(), w.writer.guid());
    assert!(w.publisher.lookup_datawriter::<Reading>("Other").is_none());
    assert!(w.publisher.lookup_datawriter::<Measurement>("Readings").is_none(), "another type");
    let reader = r.subscriber.lookup_datareader::<Reading>("Readings").unwrap();
    assert_eq!(reader.guid(), r.reader.guid());
    let elsewhere = a.run(|| w.participant.create_publisher(&PublisherQos::default())).unwrap();
    assert!(elsewhere.lookup_datawriter::<Reading>("Readings").is_none(), "another publisher's");
    let filtered =
        b.run(|| r.participant.create_contentfilteredtopic("Fast", &r.topic, "n > 3", &[""; 0]).unwrap());
    assert!(matches!(
        r.participant.lookup_topicdescription::<Reading>("Readings"),
        Some(FoundTopic::Topic(topic)) if topic.name() == "Readings"
    ));
    assert!(matches!(
        r.participant.lookup_topicdescription::<Reading>("Fast"),
        Some(FoundTopic::ContentFilteredTopic(found)) if found.filter_expression() == "n > 3"
    ));
    assert!(r.participant.lookup_topicdescription::<Measurement>("Fast").is_none());
    drop(filtered);
    assert!(r.participant.lookup_topicdescription::<Reading>("Fast").is_none());
}

#[test]
fn parents_and_handles() {
    let (_sim, _a, _b, w, r) = pair();
    let handles = [
        w.participant.instance_handle(),
        w.topic.instance_handle(),
        w.publisher.instance_handle(),
        w.writer.instance_handle(),
    ];
    for (at, handle) in handles.iter().enumerate() {
        assert!(!handle.is_nil() && !handles[..at].contains(handle));
        assert_eq!(w.participant.contains_entity(*handle), at > 0, "the participant does not contain itself");
        assert!(!r.participant.contains_entity(*handle));
    }
    assert_eq!(w.writer.instance_handle().to_guid(), w.writer.guid().unwrap());
    assert_eq!(r.reader.matched_publications(), [w.writer.instance_handle()]);
    for handle in [r.reader.instance_handle(), r.subscriber.instance_handle(), r.topic.instance_handle()] {
        assert!(r.participant.contains_entity(handle));
    }
    assert_eq!(w.writer.publisher().instance_handle(), w.publisher.instance_handle());
    assert_eq!(w.writer.topic().instance_handle(), w.topic.instance_handle());
    assert_eq!(r.reader.subscriber().instance_handle(), r.subscriber.instance_handle());
    assert_eq!(w.publisher.participant().guid(), w.participant.guid());
    assert_eq!(r.subscriber.participant().guid(), r.participant.guid());
    assert_eq!(w.topic.participant().unwrap().guid(), w.participant.guid());
}

#[test]
fn conditions_and_readers_name_what_they_belong_to() {
    let (_sim, _a, b, w, r) = pair();
    for (condition, handle) in [
        (w.participant.status_condition(), w.participant.instance_handle()),
        (w.topic.status_condition(), w.topic.instance_handle()),
        (w.publisher.status_condition(), w.publisher.instance_handle()),
        (w.writer.status_condition(), w.writer.instance_handle()),
        (r.subscriber.status_condition(), r.subscriber.instance_handle()),
        (r.reader.status_condition(), r.reader.instance_handle()),
    ] {
        assert_eq!(condition.entity(), handle);
    }
    assert!(matches!(r.reader.topic_description(), FoundTopic::Topic(topic) if topic.name() == "Readings"));
    let filtered = r.participant.create_contentfilteredtopic("Few", &r.topic, "n > %0", &["3"]).unwrap();
    let reader = b.run(|| r.subscriber.create_datareader(&filtered, &DataReaderQos::default())).unwrap();
    let found = reader.topic_description();
    assert!(matches!(found, FoundTopic::ContentFilteredTopic(few) if few.filter_expression() == "n > %0"));
}

#[test]
fn the_statuses_of_a_listener_are_known() {
    struct Quiet;
    impl dunlin::PublisherListener for Quiet {}
    let (_sim, _a, _b, w, r) = pair();
    assert_eq!((w.publisher.listener_mask(), w.topic.listener_mask()), (None, None));
    w.publisher.set_listener(Quiet, StatusMask::PUBLICATION_MATCHED);
    assert_eq!(w.publisher.listener_mask(), Some(StatusMask::PUBLICATION_MATCHED));
    assert!(w.publisher.listener().is_some());
    w.publisher.clear_listener();
    assert!(w.publisher.listener().is_none());
    assert_eq!(w.publisher.listener_mask(), None);
    r.reader.consume_statuses(StatusMask::ALL);
    assert!(r.reader.listener().is_none());
    assert_eq!((r.reader.listener_mask(), w.writer.listener_mask()), (Some(StatusMask::ALL), None));
    assert_eq!((r.subscriber.listener_mask(), r.participant.listener_mask()), (None, None));
}

#[test]
fn operations_on_every_handle_of_a_deleted_entity_return_already_deleted() {
    let (mut sim, a, b, w, r) = pair();
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    sim.run_until(|| !r.reader.read(9).unwrap().is_empty(), secs(9)).unwrap();
    let other = writing(&a, &DataWriterQos::default());
    assert_eq!(w.publisher.delete_datawriter(&other.writer), Err(EntityError::Foreign));
    assert_eq!(w.participant.delete_publisher(&other.publisher), Err(EntityError::Foreign));
    assert_eq!(w.participant.delete_publisher(&w.publisher), Err(EntityError::InUse));
    assert_eq!(w.participant.delete_topic(&w.topic), Err(EntityError::InUse));
    assert_eq!(EntityError::InUse.return_code(), ReturnCode::PreconditionNotMet);
    let kept = w.writer.clone();
    a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
    assert_eq!(w.publisher.delete_datawriter(&w.writer), Err(EntityError::AlreadyDeleted));
    assert_eq!(a.run(|| kept.write(&reading(1, 2))), Err(WriteError::AlreadyDeleted));
    assert!(w.publisher.lookup_datawriter::<Reading>("Readings").is_none());
    sim.run_until(|| r.reader.matched_publications().len() == 1, secs(9)).unwrap();
    // With the writer gone, its publisher and topic can go.
    w.participant.delete_publisher(&w.publisher).unwrap();
    w.participant.delete_topic(&w.topic).unwrap();
    assert_eq!(w.participant.delete_topic(&w.topic), Err(EntityError::AlreadyDeleted));
    assert!(a.run(|| w.publisher.create_datawriter(&w.topic, &DataWriterQos::default())).is_err());
    let again = a.run(|| w.participant.create_topic::<Measurement>("Readings", &TopicQos::default()));
    assert_eq!(again.unwrap().type_name(), "Measurement", "the name is free for another type");
    // The other side.
    assert_eq!(r.participant.delete_subscriber(&r.subscriber), Err(EntityError::InUse));
    b.run(|| r.subscriber.delete_datareader(&r.reader)).unwrap();
    assert!(matches!(r.reader.take(1), Err(ReadError::AlreadyDeleted)));
    assert_eq!(b.run(|| r.subscriber.delete_datareader(&r.reader)), Err(EntityError::AlreadyDeleted));
    r.participant.delete_subscriber(&r.subscriber).unwrap();
    let created = b.run(|| r.subscriber.create_datareader(&r.topic, &DataReaderQos::default()));
    assert_eq!(created.unwrap_err().return_code(), ReturnCode::AlreadyDeleted);
}

#[test]
fn delete_contained_entities_reaches_everything() {
    let (mut sim, a, b, w, r) = pair();
    b.run(|| r.subscriber.delete_contained_entities()).unwrap();
    assert!(r.subscriber.lookup_datareader::<Reading>("Readings").is_none());
    assert!(r.participant.contains_entity(r.subscriber.instance_handle()));
    a.run(|| w.participant.delete_contained_entities().unwrap());
    assert_eq!(a.run(|| w.writer.write(&reading(1, 1))), Err(WriteError::AlreadyDeleted));
    for handle in [w.topic.instance_handle(), w.publisher.instance_handle()] {
        assert!(!w.participant.contains_entity(handle));
    }
    assert_eq!(w.publisher.delete_contained_entities(), Err(EntityError::AlreadyDeleted));
    sim.run_until(|| r.participant.discovered_publications().is_empty(), secs(9)).unwrap();
    // The participant goes on.
    let again = a.run(|| w.participant.create_topic::<Reading>("Readings", &TopicQos::default())).unwrap();
    let publisher = a.run(|| w.participant.create_publisher(&PublisherQos::default())).unwrap();
    let writer = a.run(|| publisher.create_datawriter(&again, &DataWriterQos::default())).unwrap();
    sim.run_until(|| r.participant.discovered_publications().len() == 1, secs(9)).unwrap();
    a.run(|| publisher.delete_contained_entities()).unwrap();
    assert_eq!(a.run(|| writer.write(&reading(1, 1))), Err(WriteError::AlreadyDeleted));
    sim.run_until(|| r.participant.discovered_publications().is_empty(), secs(9)).unwrap();
    assert!(w.participant.contains_entity(publisher.instance_handle()));
}

#[test]
fn endpoints_are_created_with_the_default_qos_or_that_of_the_topic() {
    let (_sim, a, b, w, r) = pair();
    let topic_qos = TopicQos { history: History { depth: 4, ..History::default() }, ..TopicQos::default() };
    let make = |participant: &DomainParticipant| participant.create_topic::<Measurement>("M", &topic_qos);
    let (of_writer, of_reader) = (a.run(|| make(&w.participant)), b.run(|| make(&r.participant)));
    let (of_writer, of_reader) = (of_writer.unwrap(), of_reader.unwrap());
    // Strength and best effort are the defaults', depth is the topic's.
    let strong = DataWriterQos::default().keep_last(7).ownership_strength(3);
    w.publisher.set_default_datawriter_qos(&strong).unwrap();
    let create = |qos| a.run(|| w.publisher.create_datawriter(&of_writer, qos)).unwrap().qos();
    let found = create(dunlin::DATAWRITER_QOS_DEFAULT);
    assert_eq!((found.history.depth, found.ownership_strength.value), (7, 3));
    let found = create(dunlin::DATAWRITER_QOS_USE_TOPIC_QOS);
    assert_eq!((found.history.depth, found.ownership_strength.value), (4, 3));
    let kept = DataReaderQos::default().keep_last(8).user_data([1]);
    r.subscriber.set_default_datareader_qos(&kept).unwrap();
    let reader =
        b.run(|| r.subscriber.create_datareader(&of_reader, dunlin::DATAREADER_QOS_DEFAULT)).unwrap();
    assert_eq!(reader.qos(), kept);
    let use_topic = dunlin::DATAREADER_QOS_USE_TOPIC_QOS;
    let reader = b.run(|| r.subscriber.create_datareader(&of_reader, use_topic)).unwrap();
    assert_eq!((reader.qos().history.depth, &*reader.qos().user_data.0), (4, &[1][..]));
    // That of the related topic; a multi-topic has none.
    let few = r.participant.create_contentfilteredtopic("Few", &of_reader, "n > 0", &[""; 0]).unwrap();
    let filtered = b.run(|| r.subscriber.create_datareader(&few, use_topic)).unwrap();
    assert_eq!(filtered.qos().history.depth, 4);
    let rows = "SELECT n FROM 'M'";
    let rows = r.participant.create_multitopic::<Measurement>("Rows", rows, &[""; 0]).unwrap();
    let refused = b.run(|| r.subscriber.create_datareader(&rows, use_topic)).unwrap_err();
    assert_eq!(refused.return_code(), ReturnCode::PreconditionNotMet);
    assert!(b.run(|| r.subscriber.create_datareader(&rows, dunlin::DATAREADER_QOS_DEFAULT)).is_ok());
    // And back to the default of the moment, as far as that may change.
    r.subscriber
        .set_default_datareader_qos(&DataReaderQos { user_data: UserData(vec![2]), ..reader.qos() })
        .unwrap();
    b.run(|| reader.set_qos(dunlin::DATAREADER_QOS_DEFAULT)).unwrap();
    assert_eq!(reader.qos().user_data.0, [2]);
    let refused = a.run(|| w.writer.set_qos(dunlin::DATAWRITER_QOS_DEFAULT)).unwrap_err();
    assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
}

#[test]
fn types_are_registered_under_other_names() {
    let (mut sim, a, b, w, r) = pair();
    let create = |participant: &DomainParticipant| {
        participant.create_topic_of_type::<Reading>("Old", "legacy::Reading", &TopicQos::default())
    };
    let refused = a.run(|| create(&w.participant)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        CreateEntityError::TypeNotRegistered("legacy::Reading".into()).to_string()
    );
    assert_eq!(refused.return_code(), ReturnCode::PreconditionNotMet);
    for participant in [&w.participant, &r.participant] {
        participant.register_type::<Reading>("legacy::Reading").unwrap();
        participant.register_type::<Reading>("legacy::Reading").unwrap();
    }
    let taken = w.participant.register_type::<Measurement>("legacy::Reading").unwrap_err();
    assert_eq!(taken.return_code(), ReturnCode::PreconditionNotMet);
    let other =
        w.participant.create_topic_of_type::<Measurement>("X", "legacy::Reading", &TopicQos::default());
    assert!(matches!(other, Err(CreateEntityError::TypeNameInUse(_))));
    assert!(matches!(w.participant.register_type::<Reading>(""), Err(CreateEntityError::BadName)));
    let (of_writer, of_reader) =
        (a.run(|| create(&w.participant)).unwrap(), b.run(|| create(&r.participant)).unwrap());
    assert_eq!(of_writer.type_name(), "legacy::Reading");
    let writer = a.run(|| w.publisher.create_datawriter(&of_writer, &DataWriterQos::default())).unwrap();
    let reader = b.run(|| r.subscriber.create_datareader(&of_reader, &DataReaderQos::default())).unwrap();
    sim.run_until(|| !reader.matched_publications().is_empty(), secs(9)).unwrap();
    let announced = reader.matched_publication_data(writer.instance_handle()).unwrap();
    assert_eq!(&*announced.type_name, "legacy::Reading");
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(9)).unwrap();
    a.run(|| writer.write(&reading(1, 5))).unwrap();
    sim.run_until(
        || reader.take(1).unwrap().iter().any(|sample| sample.data == Some(reading(1, 5))),
        secs(9),
    )
    .unwrap();
    // A topic of the name of another type is not handed out as one of this type, whoever came first.
    let measurement = a.run(|| w.participant.create_topic::<Measurement>("M", &TopicQos::default())).unwrap();
    let taken = w.participant.register_type::<Reading>("Measurement");
    assert!(matches!(taken, Err(CreateEntityError::TypeNameInUse(_))));
    let own_name =
        a.run(|| w.participant.create_topic_of_type::<Measurement>("M", "Measurement", &TopicQos::default()));
    assert_eq!(own_name.unwrap().name(), "M");
    w.participant.delete_topic(&measurement).unwrap();
    // Found by another participant under the name that was registered, and by its own.
    let found = a.run(|| w.participant.find_topic::<Reading>(of_writer.name(), secs(0)));
    assert_eq!(found.unwrap().type_name(), "legacy::Reading");
    let elsewhere = sim.node("elsewhere");
    let participant = elsewhere.run(|| DomainParticipant::new(0)).unwrap();
    participant.register_type::<Reading>("legacy::Reading").unwrap();
    let name = of_writer.name().to_owned();
    let found = elsewhere.spawn_thread(move |_| {
        let topic = participant.find_topic::<Reading>(&name, secs(5))?;
        Ok(topic.type_name().to_owned())
    });
    assert_eq!(sim.join(&found, secs(9)).unwrap(), "legacy::Reading");
    // The own name of a type is refused to it once another has it.
    w.participant.register_type::<Reading>("Measurement").unwrap();
    let refused = a.run(|| w.participant.create_topic::<Measurement>("M", &TopicQos::default()));
    assert!(matches!(refused, Err(CreateEntityError::TypeNameInUse(name)) if name == "Measurement"));
}

#[test]
fn default_qos_of_each_factory() {
    let (_sim, a, _b, w, r) = pair();
    let strict = DataWriterQos::default().transient_local().keep_last(7);
    assert_eq!(w.publisher.default_datawriter_qos(), DataWriterQos::default());
    w.publisher.set_default_datawriter_qos(&strict).unwrap();
    assert_eq!(w.publisher.default_datawriter_qos(), strict);
    let wrong = DataWriterQos::default().keep_last(9).resource_limits(5, 5, 5);
    let error = w.publisher.set_default_datawriter_qos(&wrong).unwrap_err();
    assert_eq!(error.return_code(), ReturnCode::InconsistentPolicy);
    let writer = a.run(|| w.publisher.create_datawriter(&w.topic, &w.publisher.default_datawriter_qos()));
    assert_eq!(writer.unwrap().qos().history.depth, 7);
    let qos = DataReaderQos::default().reliable();
    r.subscriber.set_default_datareader_qos(&qos).unwrap();
    assert_eq!(r.subscriber.default_datareader_qos(), qos);
    let partition = PublisherQos::default().partition(["p"]);
    w.participant.set_default_publisher_qos(&partition).unwrap();
    assert_eq!(w.participant.default_publisher_qos(), partition);
    let partition = SubscriberQos::default().partition(["p"]);
    w.participant.set_default_subscriber_qos(&partition).unwrap();
    assert_eq!(w.participant.default_subscriber_qos(), partition);
    let topic = TopicQos { history: History { depth: 4, ..History::default() }, ..TopicQos::default() };
    w.participant.set_default_topic_qos(&topic).unwrap();
    assert_eq!(w.participant.default_topic_qos(), topic);
    let mut copied = DataWriterQos::default();
    w.publisher.copy_from_topic_qos(&mut copied, &topic).unwrap();
    assert_eq!(copied.history.depth, 4);
    let mut copied = DataReaderQos { deadline: Deadline { period: secs(1) }, ..DataReaderQos::default() };
    r.subscriber.copy_from_topic_qos(&mut copied, &topic).unwrap();
    assert_eq!((copied.history.depth, copied.deadline.period.is_infinite()), (4, true));
}

#[test]
fn the_factory_finds_and_deletes_participants() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let factory = DomainParticipantFactory::instance();
    let participant = a.run(|| factory.create_participant(7)).unwrap();
    let found = a.run(|| factory.lookup_participant(7)).unwrap();
    assert_eq!(found.guid(), participant.guid());
    assert!(a.run(|| factory.lookup_participant(8)).is_none());
    assert!(b.run(|| factory.lookup_participant(7)).is_none(), "that of another node");
    assert!(factory.lookup_participant(7).is_none(), "that of a node");
    let topic = a.run(|| participant.create_topic::<Reading>("T", &TopicQos::default())).unwrap();
    assert_eq!(factory.delete_participant(&participant), Err(EntityError::InUse));
    participant.delete_topic(&topic).unwrap();
    let watcher = b.run(|| DomainParticipant::new(7)).unwrap();
    sim.run_until(|| !watcher.discovered_participants().is_empty(), secs(9)).unwrap();
    a.run(|| factory.delete_participant(&participant)).unwrap();
    sim.run_until(|| watcher.discovered_participants().is_empty(), secs(1)).unwrap();
    assert_eq!(factory.delete_participant(&participant), Err(EntityError::AlreadyDeleted));
    assert!(a.run(|| factory.lookup_participant(7)).is_none());
    assert!(a.run(|| participant.create_topic::<Reading>("T", &TopicQos::default())).is_err());
    assert!(a.run(|| participant.create_publisher(&PublisherQos::default())).is_err());
    let wrong = DomainParticipantQos {
        property: Property { values: vec![("dds.sec.auth".into(), "x".into())] },
        ..DomainParticipantQos::default()
    };
    assert_eq!(
        factory.set_default_participant_qos(&wrong).unwrap_err().return_code(),
        ReturnCode::Unsupported
    );
    assert_eq!(factory.default_participant_qos(), DomainParticipantQos::default());
}

#[test]
fn topic_qos_changes_and_its_data_is_announced() {
    let (mut sim, a, _b, w, r) = pair();
    let data = || r.reader.matched_publication_data(w.writer.instance_handle()).unwrap().topic_data.0.clone();
    assert_eq!(data(), [0; 0]);
    let changed = TopicQos { topic_data: TopicData(vec![1, 2]), ..TopicQos::default() };
    a.run(|| w.topic.set_qos(&changed)).unwrap();
    sim.run_until(|| data() == [1, 2], secs(9)).unwrap();
    assert_eq!(w.topic.qos(), changed);
    assert_eq!(r.reader.subscription_matched_status().total_count, 1, "the match stayed");
    let immutable =
        TopicQos { ownership: Ownership { kind: OwnershipKind::Exclusive }, ..TopicQos::default() };
    assert_eq!(w.topic.set_qos(&immutable).unwrap_err().return_code(), ReturnCode::ImmutablePolicy);
    assert_eq!(w.topic.qos(), changed, "nothing changed");
}

#[test]
fn an_inconsistent_topic_is_counted_and_shows_in_its_condition() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = writing(&a, &DataWriterQos::default());
    let set = WaitSet::new();
    let condition = w.topic.status_condition();
    set.attach_condition(condition.condition());
    let (_other, _reader) = b.run(|| {
        let participant = DomainParticipant::new(0).unwrap();
        let topic = participant.create_topic::<Measurement>("Readings", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        (participant, subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap())
    });
    sim.run_until(|| condition.condition().trigger_value(), secs(9)).unwrap();
    assert_eq!(w.topic.status_changes(), StatusMask::INCONSISTENT_TOPIC);
    let status = w.topic.inconsistent_topic_status();
    assert_eq!((status.total, status.change), (1, 1));
    assert_eq!(w.topic.status_changes(), StatusMask::NONE);
    assert!(!condition.condition().trigger_value());
    assert_eq!(w.topic.inconsistent_topic_status().change, 0);
}

#[test]
fn find_topic_finds_local_and_discovered_topics() {
    let (mut sim, _a, b, w, _r) = pair();
    let second = sim.node("c");
    let participant = second.run(|| DomainParticipant::new(0)).unwrap();
    let found = second.spawn_thread(move |_| {
        let topic = participant.find_topic::<Reading>("Readings", secs(5))?;
        Ok((topic.name().to_owned(), participant))
    });
    let (name, participant) = sim.join(&found, secs(9)).unwrap();
    assert_eq!(name, "Readings");
    let missing = second.spawn_thread(move |_| {
        let error = participant.find_topic::<Reading>("Nothing", secs(2)).unwrap_err();
        let wrong = participant.find_topic::<Measurement>("Readings", secs(1)).unwrap_err();
        Ok((error.return_code(), wrong.return_code()))
    });
    assert_eq!(sim.join(&missing, secs(9)).unwrap(), (ReturnCode::Timeout, ReturnCode::Timeout));
    drop((b, w));
}

#[test]
fn publishers_wait_for_all_their_writers() {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let name = format!("Waited{}", std::process::id());
    let topic = one.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
    let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
    let writers: Vec<_> = (0..3)
        .map(|_| publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all()).unwrap())
        .collect();
    let topic = other.create_topic::<Reading>(&name, &TopicQos::default()).unwrap();
    let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader =
        subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap();
    eventually("three matches", || {
        writers.iter().all(|writer| !writer.matched_subscriptions().is_empty())
            && reader.matched_publications().len() == 3
    });
    for (id, writer) in (0..).zip(&writers) {
        writer.write(&reading(id, 1)).unwrap();
    }
    publisher.wait_for_acknowledgments(secs(20)).unwrap();
    assert_eq!(reader.take(9).unwrap().len(), 3);
    let found =
        one.contains_entity(InstanceHandle::from(Guid::new(one.guid().prefix, Guid::UNKNOWN.entity_id)));
    assert!(!found);
}
