//! Every policy of writers and readers (DDS 1.4 §2.2.3): what stands against a match is told on both sides under loss, and what
//! changes at run time is taken over or refused.

use std::collections::BTreeSet;

use dunlin::qos::*;
use dunlin::sim::{Result, Sim};
use dunlin::{Against, DataReader, DataWriter, DomainParticipant, Duration, ReturnCode};

use crate::support::*;

fn w() -> DataWriterQos {
    DataWriterQos::default().reliable()
}

fn r() -> DataReaderQos {
    DataReaderQos::default().reliable()
}

fn mismatches() -> Vec<(PolicyId, DataWriterQos, DataReaderQos)> {
    use PolicyId as P;
    let by_topic = LivelinessKind::ManualByTopic;
    let xcdr2 = DataRepresentationId::Xcdr2;
    vec![
        (P::Durability, w(), r().transient_local()),
        (P::Deadline, w().deadline(secs(3)), r().deadline(secs(2))),
        (P::LatencyBudget, w().latency_budget(secs(2)), r().latency_budget(secs(1))),
        (P::Ownership, w().exclusive(), r().shared()),
        (P::Ownership, w().shared(), r().exclusive()),
        (P::Liveliness, w(), r().liveliness(by_topic, Duration::INFINITE)),
        (P::Liveliness, w().liveliness(by_topic, secs(5)), r().liveliness(by_topic, secs(4))),
        (P::Reliability, w().best_effort(), r()),
        (P::DestinationOrder, w(), r().by_source_timestamp()),
        (
            P::DataRepresentation,
            w().representation(&[xcdr2]),
            r().representation(&[DataRepresentationId::Xcdr1]),
        ),
    ]
}

#[test]
fn incompatible_policy_raises_status_once_on_both_sides_under_loss() {
    for (seed, (policy, offered, requested)) in mismatches().into_iter().enumerate() {
        let mut sim = bad_network().seed(seed as u64).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let writer = a.run(|| writer(&offered)).unwrap();
        let reader = b.run(|| reader(&requested)).unwrap();
        let told = || {
            let by_writer = writer.status_changes().intersects(dunlin::StatusMask::OFFERED_INCOMPATIBLE_QOS);
            by_writer && reader.status_changes().intersects(dunlin::StatusMask::REQUESTED_INCOMPATIBLE_QOS)
        };
        sim.run_until(told, secs(60)).unwrap();
        // Repeated announcements do not count again. Not longer than the lease: three of them may be lost, and who is lost and
        // found again counts again.
        sim.run_for(secs(8)).unwrap();
        let (by_writer, by_reader) =
            (writer.offered_incompatible_qos_status(), reader.requested_incompatible_qos_status());
        for status in [by_writer, by_reader] {
            assert_eq!((status.count.total, status.last_policy_id), (1, Some(policy)));
            assert!(status.policies.keys().eq([&policy]), "{policy:?}: {:?}", status.policies);
        }
        a.run(|| writer.write(&reading(1))).unwrap();
        sim.run_for(secs(5)).unwrap();
        assert!(reader.take(1).unwrap().is_empty() && reader.matched_publications().is_empty());
        assert!(writer.matched_subscriptions().is_empty());
    }
}

/// What a changeable mismatch becomes when it is mended at run time.
#[test]
fn a_mismatch_that_may_be_mended_becomes_a_match_under_loss() {
    let mended: [(DataWriterQos, DataReaderQos, DataWriterQos); 2] = [
        (w().deadline(secs(3)), r().deadline(secs(2)), w().deadline(secs(2))),
        (w().latency_budget(secs(2)), r().latency_budget(secs(1)), w().latency_budget(secs(1))),
    ];
    for (seed, (offered, requested, better)) in mended.into_iter().enumerate() {
        let mut sim = bad_network().seed(seed as u64).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let writer = a.run(|| writer(&offered)).unwrap();
        let reader = b.run(|| reader(&requested)).unwrap();
        sim.run_until(|| reader.requested_incompatible_qos_status().count.total == 1, secs(60)).unwrap();
        a.run(|| writer.set_qos(&better)).unwrap();
        sim.run_until(|| matched(&writer, &reader), secs(60)).unwrap();
        a.run(|| writer.write(&reading(1))).unwrap();
        sim.run_until(|| reader.take(1).is_ok_and(|taken| taken.len() == 1), secs(60)).unwrap();
    }
}

/// A policy, whether it may change, and a QoS in which nothing else does.
type Change<Q> = (&'static str, bool, Q);

/// Of a writer that does not have `other` for its representation.
fn changes_of_writers(other: DataRepresentationId) -> Vec<Change<DataWriterQos>> {
    let service = DurabilityService { history_depth: 2, ..DurabilityService::default() };
    vec![
        ("DURABILITY", false, w().transient_local()),
        ("DURABILITY_SERVICE", false, w().durability_service(service)),
        ("DEADLINE", true, w().deadline(secs(1))),
        ("LATENCY_BUDGET", true, w().latency_budget(millis(1))),
        ("LIVELINESS", false, w().liveliness(LivelinessKind::Automatic, secs(9))),
        ("RELIABILITY", false, w().best_effort()),
        ("DESTINATION_ORDER", false, w().by_source_timestamp()),
        ("HISTORY", false, w().keep_last(2)),
        ("RESOURCE_LIMITS", false, w().resource_limits(10, 10, 10)),
        ("TRANSPORT_PRIORITY", true, w().transport_priority(3)),
        ("LIFESPAN", true, w().lifespan(secs(9))),
        ("USER_DATA", true, w().user_data([1])),
        ("OWNERSHIP", false, w().exclusive()),
        ("OWNERSHIP_STRENGTH", true, w().ownership_strength(4)),
        ("WRITER_DATA_LIFECYCLE", true, w().autodispose_unregistered_instances(false)),
        ("DATA_REPRESENTATION", false, w().representation(&[other])),
        ("PROPERTY", false, w().property("a", "b")),
    ]
}

fn changes_of_readers() -> Vec<Change<DataReaderQos>> {
    let strict = TypeConsistencyEnforcement {
        ignore_string_bounds: !TypeConsistencyEnforcement::default().ignore_string_bounds,
        ..TypeConsistencyEnforcement::default()
    };
    vec![
        ("DURABILITY", false, r().transient_local()),
        ("DEADLINE", true, r().deadline(secs(100))),
        ("LATENCY_BUDGET", true, r().latency_budget(secs(1))),
        ("LIVELINESS", false, r().liveliness(LivelinessKind::ManualByTopic, secs(9))),
        ("RELIABILITY", false, r().best_effort()),
        ("DESTINATION_ORDER", false, r().by_source_timestamp()),
        ("HISTORY", false, r().keep_last(2)),
        ("RESOURCE_LIMITS", false, r().resource_limits(10, 10, 10)),
        ("USER_DATA", true, r().user_data([1])),
        ("OWNERSHIP", false, r().exclusive()),
        ("TIME_BASED_FILTER", true, r().time_based_filter(millis(1))),
        ("READER_DATA_LIFECYCLE", true, r().autopurge(secs(1), secs(1))),
        ("DATA_REPRESENTATION", false, r().representation(&[DataRepresentationId::Xcdr1])),
        ("TYPE_CONSISTENCY_ENFORCEMENT", false, r().type_consistency(strict)),
        ("PROPERTY", false, r().property("a", "b")),
    ]
}

fn changes_of_topics() -> Vec<Change<TopicQos>> {
    let t = TopicQos::default;
    let service = DurabilityService { history_depth: 2, ..DurabilityService::default() };
    vec![
        ("TOPIC_DATA", true, t().topic_data([1])),
        ("DURABILITY", false, t().transient_local()),
        ("DURABILITY_SERVICE", false, t().durability_service(service)),
        ("DEADLINE", true, t().deadline(secs(1))),
        ("LATENCY_BUDGET", true, t().latency_budget(millis(1))),
        ("LIVELINESS", false, t().liveliness(LivelinessKind::Automatic, secs(9))),
        ("RELIABILITY", false, t().reliable()),
        ("DESTINATION_ORDER", false, t().by_source_timestamp()),
        ("HISTORY", false, t().keep_last(2)),
        ("RESOURCE_LIMITS", false, t().resource_limits(10, 10, 10)),
        ("TRANSPORT_PRIORITY", true, t().transport_priority(3)),
        ("LIFESPAN", true, t().lifespan(secs(9))),
        ("OWNERSHIP", false, t().exclusive()),
        ("DATA_REPRESENTATION", false, t().representation(&[DataRepresentationId::Xcdr2])),
    ]
}

/// The same of publishers and subscribers.
macro_rules! changes_of_groups {
    ($qos:ident) => {{
        use PresentationAccessScope::{Group, Instance, Topic};
        let group = $qos::default;
        vec![
            ("PRESENTATION", false, group().presentation(Topic, false, false)),
            ("PRESENTATION", false, group().presentation(Group, false, false)),
            ("PRESENTATION", false, group().presentation(Instance, true, false)),
            ("PRESENTATION", false, group().presentation(Instance, false, true)),
            ("PARTITION", true, group().partition(["p"])),
            ("GROUP_DATA", true, group().group_data([1])),
            ("ENTITY_FACTORY", true, group().autoenable_created_entities(false)),
        ]
    }};
}

fn changes_of_participants() -> Vec<Change<DomainParticipantQos>> {
    let p = DomainParticipantQos::default;
    vec![
        ("USER_DATA", true, p().user_data([1])),
        ("ENTITY_FACTORY", true, p().autoenable_created_entities(false)),
        ("PROPERTY", false, p().property("a", "b")),
    ]
}

/// Tries each change of an enabled entity.
macro_rules! try_changes {
    ($node:expr, $entity:expr, $changes:expr) => {
        for (name, changeable, new) in $changes {
            let before = $entity.qos();
            let done = $node.run(|| $entity.set_qos(&new));
            assert_eq!(done.is_ok(), changeable, "{name}: {done:?}");
            assert_eq!($entity.qos(), if changeable { new } else { before }, "{name}");
            if let Err(refused) = done {
                assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy, "{name}");
                assert!(refused.to_string().contains(name), "{name}: {refused}");
            }
        }
    };
}

/// Tries each change of a disabled entity, one after the other.
macro_rules! try_changes_before_enable {
    ($node:expr, $entity:expr, $changes:expr) => {
        for (name, _, new) in $changes {
            let done = $node.run(|| $entity.set_qos(&new));
            assert!(done.is_ok(), "{name}: {done:?}");
            assert_eq!($entity.qos(), new, "{name}");
        }
    };
}

/// "Can be changed only before the entity is enabled" (DDS 1.4 §2.2.3): so every policy can.
#[test]
fn every_policy_of_a_disabled_entity_changes() {
    let mut sim = bad_network().seed(5).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let other = b.run(|| DomainParticipant::new(0)).unwrap();
    let participant = a.run(|| DomainParticipant::builder(0).enabled(false).build()).unwrap();
    let topic = a.run(|| participant.create_topic::<Reading>("Readings", &TopicQos::default())).unwrap();
    let publisher = a.run(|| participant.create_publisher(&PublisherQos::default())).unwrap();
    let subscriber = a.run(|| participant.create_subscriber(&SubscriberQos::default())).unwrap();
    try_changes_before_enable!(a, topic, changes_of_topics());
    try_changes_before_enable!(a, publisher, changes_of_groups!(PublisherQos));
    try_changes_before_enable!(a, subscriber, changes_of_groups!(SubscriberQos));
    // Of each change one endpoint, which is enabled with it.
    let mut writers = Vec::new();
    for (name, _, new) in changes_of_writers(DataRepresentationId::Xcdr1) {
        let writer = a.run(|| publisher.create_datawriter(&topic, &w())).unwrap();
        let representation = match name {
            "DATA_REPRESENTATION" => new.representation.clone(),
            _ => writer.qos().representation,
        };
        a.run(|| writer.set_qos(&new)).expect(name);
        assert_eq!(writer.qos(), DataWriterQos { representation, ..new }, "{name}");
        writers.push((name, writer));
    }
    let mut readers = Vec::new();
    for (name, _, new) in changes_of_readers() {
        let reader = a.run(|| subscriber.create_datareader(&topic, &r())).unwrap();
        a.run(|| reader.set_qos(&new)).expect(name);
        assert_eq!(reader.qos(), new, "{name}");
        readers.push((name, reader));
    }
    try_changes_before_enable!(a, participant, changes_of_participants());
    let named = DomainParticipantQos::default().user_data([7]).property("c", "d");
    a.run(|| participant.set_qos(&named)).unwrap();
    a.run(|| participant.enable()).unwrap();
    // The last change of publisher and subscriber leaves their children to the application.
    for (name, writer) in &writers {
        a.run(|| writer.enable()).expect(name);
    }
    for (name, reader) in &readers {
        a.run(|| reader.enable()).expect(name);
    }
    // They are announced as they are.
    for (name, writer) in &writers {
        let data = || other.discovered_publication_data(writer.instance_handle());
        sim.run_until(|| data().is_ok(), secs(60)).expect(name);
        assert_eq!(*data().unwrap().qos, announced_of_writer(&writer.qos()), "{name}");
        let refused = a.run(|| writer.set_qos(&w().exclusive().best_effort()));
        assert_eq!(refused.unwrap_err().return_code(), ReturnCode::ImmutablePolicy, "{name}");
    }
    for (name, reader) in &readers {
        let data = || other.discovered_subscription_data(reader.instance_handle());
        sim.run_until(|| data().is_ok(), secs(60)).expect(name);
        assert_eq!(*data().unwrap().qos, announced_of_reader(&reader.qos()), "{name}");
        let refused = a.run(|| reader.set_qos(&r().exclusive().best_effort()));
        assert_eq!(refused.unwrap_err().return_code(), ReturnCode::ImmutablePolicy, "{name}");
    }
    let known = other.discovered_participant_data(participant.instance_handle()).unwrap();
    assert_eq!((&known.user_data, &known.property), (&named.user_data, &named.property));
}

/// What a disabled writer is given is what it writes.
#[test]
fn samples_have_the_representation_that_the_writer_was_enabled_with() {
    let mut sim = Sim::new(6);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let reader = b.run(|| -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let topic =
            participant.create_serialized_topic("Readings", "Reading", false, &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let both = [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2];
        Ok(subscriber.create_datareader(&topic, &r().representation(&both))?)
    });
    let reader = reader.unwrap();
    for (before, then) in [(1, 2), (2, 1)] {
        let of = |version| match version {
            1 => w().representation(&[DataRepresentationId::Xcdr1]),
            _ => w().representation(&[DataRepresentationId::Xcdr2]),
        };
        let writer = a.run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
            let manual = PublisherQos::default().autoenable_created_entities(false);
            let writer = participant.create_publisher(&manual)?.create_datawriter(&topic, &of(before))?;
            writer.set_qos(&of(then))?;
            writer.enable()?;
            Ok(writer)
        });
        let writer = writer.unwrap();
        let met = || !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty();
        sim.run_until(met, secs(30)).unwrap();
        a.run(|| writer.write(&reading(1))).unwrap();
        let mut taken = Vec::new();
        sim.run_until(
            || {
                // The end of the writer before, which went by itself, carries no data.
                taken.extend(reader.take(1).unwrap().into_iter().filter(|sample| sample.info.valid_data));
                !taken.is_empty()
            },
            secs(30),
        )
        .unwrap();
        let id = taken[0].data.as_ref().and_then(|data| data.representation_id()).unwrap();
        // RTPS 2.5 §10.5: CDR_BE and CDR_LE, and above those the representations of version 2.
        assert_eq!(id <= 1, then == 1, "{id:#x}");
    }
}

#[test]
fn topic_group_and_participant_policies_change_or_are_refused_by_name() {
    let mut sim = bad_network().seed(4).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(&w())).unwrap();
    let reader = b.run(|| reader(&r())).unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(60)).unwrap();
    let (publisher, subscriber) = (writer.publisher(), reader.subscriber());
    try_changes!(a, writer.topic(), changes_of_topics());
    try_changes!(a, publisher, changes_of_groups!(PublisherQos));
    try_changes!(b, subscriber, changes_of_groups!(SubscriberQos));
    try_changes!(a, publisher.participant(), changes_of_participants());
    // What is refused leaves nothing: they talk as before.
    a.run(|| writer.write(&reading(1))).unwrap();
    sim.run_until(
        || matched(&writer, &reader) && reader.take(1).is_ok_and(|taken| taken.len() == 1),
        secs(60),
    )
    .unwrap();
}

type WriterSide = (TopicQos, PublisherQos, DataWriterQos);
type ReaderSide = (TopicQos, SubscriberQos, DataReaderQos);

/// Each policy that is no matter between the two sides, with a value that is not the default.
fn indifferent() -> (Vec<WriterSide>, Vec<ReaderSide>) {
    let (t, p, s) = (TopicQos::default, PublisherQos::default, SubscriberQos::default);
    let service = DurabilityService { history_depth: 2, ..DurabilityService::default() };
    let writers = vec![
        (t(), p(), w()),
        (t().topic_data([1]), p(), w()),
        (t(), p().group_data([1]), w()),
        (t(), p().autoenable_created_entities(false), w()),
        (t(), p(), w().user_data([1])),
        (t(), p(), w().durability_service(service)),
        (t(), p(), w().ownership_strength(4)),
        (t(), p(), w().transport_priority(3)),
        (t(), p(), w().lifespan(secs(100))),
        (t(), p(), w().keep_last(3)),
        (t(), p(), w().keep_all()),
        (t(), p(), w().keep_all().resource_limits(8, 8, 8)),
        (t(), p(), w().max_blocking_time(secs(1))),
        (t(), p(), w().autodispose_unregistered_instances(false)),
    ];
    let readers = vec![
        (t(), s(), r()),
        (t().topic_data([2]), s(), r()),
        (t(), s().group_data([2]), r()),
        (t(), s().autoenable_created_entities(false), r()),
        (t(), s(), r().user_data([2])),
        (t(), s(), r().time_based_filter(millis(1))),
        (t(), s(), r().keep_last(5)),
        (t(), s(), r().keep_all()),
        (t(), s(), r().keep_all().resource_limits(9, 9, 9)),
        (t(), s(), r().autopurge(secs(1), secs(1))),
    ];
    (writers, readers)
}

/// Policies without requested and offered values (DDS 1.4 §2.2.3, RxO "No"): every writer meets every reader.
#[test]
fn policies_without_requested_and_offered_values_never_prevent_a_match() {
    let (writers, readers) = indifferent();
    let mut sim = Sim::new(9);
    let (a, b) = (sim.node("a"), sim.node("b"));
    // Each in a participant of its own, as the QoS of a topic is one in each.
    let writers = a.run(|| -> Result<Vec<_>> {
        let made = writers.iter().map(|(topic, group, qos)| {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("Readings", topic)?;
            let writer = participant.create_publisher(group)?.create_datawriter(&topic, qos)?;
            writer.enable()?;
            Ok(writer)
        });
        made.collect()
    });
    let readers = b.run(|| -> Result<Vec<_>> {
        let made = readers.iter().map(|(topic, group, qos)| {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("Readings", topic)?;
            let reader = participant.create_subscriber(group)?.create_datareader(&topic, qos)?;
            reader.enable()?;
            Ok(reader)
        });
        made.collect()
    });
    let (writers, readers) = (writers.unwrap(), readers.unwrap());
    let all_met = || {
        writers.iter().all(|writer| writer.matched_subscriptions().len() == readers.len())
            && readers.iter().all(|reader| reader.matched_publications().len() == writers.len())
    };
    sim.run_until(all_met, secs(30)).unwrap();
    let handles: BTreeSet<_> = writers.iter().map(|writer| writer.instance_handle()).collect();
    assert_eq!(handles.len(), writers.len());
    let mut heard = vec![BTreeSet::new(); readers.len()];
    for writer in &writers {
        a.run(|| writer.write(&reading(1))).unwrap();
        sim.run_for(millis(100)).unwrap();
        for (reader, heard) in readers.iter().zip(&mut heard) {
            let taken = b.run(|| reader.take(100)).unwrap();
            heard.extend(taken.iter().map(|sample| sample.info.publication_handle));
        }
    }
    for writer in &writers {
        let explanation = writer.publisher().participant().explain(writer, Against::Topic);
        assert_eq!(explanation.matched(), readers.len(), "{explanation}");
        assert_eq!(explanation.all_causes().count(), 0, "{explanation}");
        assert_eq!(writer.offered_incompatible_qos_status().count.total, 0);
    }
    for (reader, heard) in readers.iter().zip(heard) {
        let explanation = reader.subscriber().participant().explain(reader, Against::Topic);
        assert_eq!(explanation.matched(), writers.len(), "{explanation}");
        assert_eq!(explanation.all_causes().count(), 0, "{explanation}");
        assert_eq!(reader.requested_incompatible_qos_status().count.total, 0);
        assert_eq!(heard, handles, "{:?}", reader.qos());
    }
}

#[test]
fn endpoint_policy_changes_at_run_time_or_is_refused_by_name() {
    let mut sim = bad_network().seed(4).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(&w())).unwrap();
    let reader = b.run(|| reader(&r())).unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(60)).unwrap();
    // The whole QoS is compared, as get_qos returns it and as the other side knows it: nothing else changes with a policy.
    let group = (writer.publisher().qos(), reader.subscriber().qos());
    let (representation, mut before) = (writer.qos().representation, writer.qos());
    let other = match representation.ids.as_slice() {
        [DataRepresentationId::Xcdr1] => DataRepresentationId::Xcdr2,
        _ => DataRepresentationId::Xcdr1,
    };
    for (name, changeable, new) in changes_of_writers(other) {
        match a.run(|| writer.set_qos(&new)) {
            Ok(()) => {
                assert!(changeable, "{name}");
                before = DataWriterQos { representation: representation.clone(), ..new };
            }
            Err(refused) => {
                assert!(!changeable && refused.to_string().contains(name), "{name}: {refused}");
                assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
                sim.run_for(secs(1)).unwrap();
            }
        }
        assert_eq!(writer.qos(), before, "{name}");
        let expected = announced_of_writer(&before);
        sim.run_until(|| known_writer(&reader, &writer).0 == expected, secs(60)).expect(name);
    }
    let mut before = reader.qos();
    for (name, changeable, new) in changes_of_readers() {
        match b.run(|| reader.set_qos(&new)) {
            Ok(()) => {
                assert!(changeable, "{name}");
                before = new;
            }
            Err(refused) => {
                assert!(!changeable && refused.to_string().contains(name), "{name}: {refused}");
                assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
                sim.run_for(secs(1)).unwrap();
            }
        }
        assert_eq!(reader.qos(), before, "{name}");
        let expected = announced_of_reader(&before);
        sim.run_until(|| known_reader(&writer, &reader).0 == expected, secs(60)).expect(name);
    }
    assert_eq!((writer.publisher().qos(), reader.subscriber().qos()), group);
    assert_eq!((known_writer(&reader, &writer).1, known_reader(&writer, &reader).1), group);
    sim.run_until(|| matched(&writer, &reader), secs(60)).unwrap();
}

/// WRITER_DATA_LIFECYCLE is nobody else's concern.
fn announced_of_writer(qos: &DataWriterQos) -> DataWriterQos {
    DataWriterQos { writer_data_lifecycle: WriterDataLifecycle::default(), ..qos.clone() }
}

/// READER_DATA_LIFECYCLE neither.
fn announced_of_reader(qos: &DataReaderQos) -> DataReaderQos {
    DataReaderQos { reader_data_lifecycle: ReaderDataLifecycle::default(), ..qos.clone() }
}

/// What the participant of a reader knows of a writer, matched or not.
fn known_writer(reader: &DataReader<Reading>, writer: &DataWriter<Reading>) -> (DataWriterQos, PublisherQos) {
    let participant = reader.subscriber().participant();
    let known = participant.discovered_publication_data(writer.instance_handle()).expect("it is known");
    ((*known.qos).clone(), (*known.publisher_qos).clone())
}

fn known_reader(
    writer: &DataWriter<Reading>,
    reader: &DataReader<Reading>,
) -> (DataReaderQos, SubscriberQos) {
    let participant = writer.publisher().participant();
    let known = participant.discovered_subscription_data(reader.instance_handle()).expect("it is known");
    ((*known.qos).clone(), (*known.subscriber_qos).clone())
}
