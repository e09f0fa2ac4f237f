//! The default QoS of factories (`*_QOS_DEFAULT`), and the QoS of the built-in subscriber.

use dunlin::qos::*;
use dunlin::{
    DomainParticipant, FoundTopic, PARTICIPANT_QOS_DEFAULT, PUBLISHER_QOS_DEFAULT, ReturnCode,
    SUBSCRIBER_QOS_DEFAULT, TOPIC_QOS_DEFAULT,
};

use crate::support::*;

#[test]
fn current_default_qos_applies_to_new_topics_publishers_and_subscribers() {
    let (mut sim, a, b, w, r) = pair();
    // As it is at first.
    let first = w.participant.create_topic::<Measurement>("M0", TOPIC_QOS_DEFAULT).unwrap();
    assert_eq!(first.qos(), TopicQos::default());
    let told = TopicQos { topic_data: TopicData(vec![1]), ..TopicQos::default() };
    for participant in [&w.participant, &r.participant] {
        participant.set_default_topic_qos(&told).unwrap();
        participant.set_default_publisher_qos(&PublisherQos::default().partition(["p"])).unwrap();
        participant.set_default_subscriber_qos(&SubscriberQos::default().partition(["p"])).unwrap();
    }
    let (of_writer, of_reader) = (
        a.run(|| w.participant.create_topic::<Measurement>("M", TOPIC_QOS_DEFAULT)).unwrap(),
        b.run(|| r.participant.create_topic::<Measurement>("M", TOPIC_QOS_DEFAULT)).unwrap(),
    );
    assert_eq!(of_writer.qos(), told);
    let publisher = a.run(|| w.participant.create_publisher(PUBLISHER_QOS_DEFAULT)).unwrap();
    let subscriber = b.run(|| r.participant.create_subscriber(SUBSCRIBER_QOS_DEFAULT)).unwrap();
    let elsewhere = b.run(|| r.participant.create_subscriber(&SubscriberQos::default())).unwrap();
    let writer = a.run(|| publisher.create_datawriter(&of_writer, &DataWriterQos::default())).unwrap();
    let reader = b.run(|| subscriber.create_datareader(&of_reader, &DataReaderQos::default())).unwrap();
    let apart = b.run(|| elsewhere.create_datareader(&of_reader, &DataReaderQos::default())).unwrap();
    sim.run_until(|| !reader.matched_publications().is_empty(), secs(9)).unwrap();
    sim.run_for(secs(2)).unwrap();
    assert!(apart.matched_publications().is_empty(), "it is in another partition");
    let announced = || reader.matched_publication_data(writer.instance_handle());
    assert_eq!(announced().unwrap().topic_data.0, [1]);
    // And what is there takes over the default of now.
    w.participant.set_default_topic_qos(&TopicQos::default()).unwrap();
    w.participant.set_default_publisher_qos(&PublisherQos::default()).unwrap();
    r.participant.set_default_subscriber_qos(&SubscriberQos::default()).unwrap();
    a.run(|| of_writer.set_qos(TOPIC_QOS_DEFAULT)).unwrap();
    sim.run_until(|| announced().is_ok_and(|data| data.topic_data.0.is_empty()), secs(9)).unwrap();
    a.run(|| publisher.set_qos(PUBLISHER_QOS_DEFAULT)).unwrap();
    sim.run_until(|| !apart.matched_publications().is_empty(), secs(9)).unwrap();
    assert!(reader.matched_publications().is_empty());
    b.run(|| subscriber.set_qos(SUBSCRIBER_QOS_DEFAULT)).unwrap();
    sim.run_until(|| !reader.matched_publications().is_empty(), secs(9)).unwrap();
    // Of the factory, which has the default of all its policies here.
    let seen = || r.participant.discovered_participant_data(w.participant.instance_handle()).unwrap();
    let named = DomainParticipantQos { user_data: UserData(vec![5]), ..DomainParticipantQos::default() };
    a.run(|| w.participant.set_qos(&named)).unwrap();
    sim.run_until(|| seen().user_data.0 == [5], secs(9)).unwrap();
    a.run(|| w.participant.set_qos(PARTICIPANT_QOS_DEFAULT)).unwrap();
    sim.run_until(|| seen().user_data.0.is_empty(), secs(9)).unwrap();
}

#[test]
fn durability_of_a_service_is_no_default_either() {
    let (mut sim, _a, _b, w, r) = pair();
    let (service, topic) = (DurabilityKind::Persistent, TopicQos::default());
    let topic = topic.durability(service);
    let by_hand = DomainParticipantQos::default().autoenable_created_entities(false);
    let other = sim.node("other");
    let participant = other.run(|| DomainParticipant::builder(0).qos(by_hand).build()).unwrap();
    let disabled = participant.create_topic::<Reading>("Disabled", TOPIC_QOS_DEFAULT).unwrap();
    for refused in [
        w.participant.set_default_topic_qos(&topic),
        w.publisher.set_default_datawriter_qos(&DataWriterQos::default().durability(service)),
        r.subscriber.set_default_datareader_qos(&DataReaderQos::default().durability(service)),
        other.run(|| disabled.set_qos(&topic)),
    ] {
        assert_eq!(refused.unwrap_err().return_code(), ReturnCode::Unsupported);
    }
    assert_eq!(w.participant.default_topic_qos(), TopicQos::default());
    assert_eq!(disabled.qos(), TopicQos::default());
}

#[test]
fn topic_descriptions_return_their_participant() {
    let (_sim, _a, b, _w, r) = pair();
    let filtered = r.participant.create_contentfilteredtopic("Few", &r.topic, "n > 3", &[""; 0]).unwrap();
    let text = "SELECT id, n FROM 'Readings'";
    let rows = b.run(|| r.participant.create_multitopic::<Reading>("Rows", text, &[""; 0])).unwrap();
    let guids = [r.topic.participant(), filtered.participant(), rows.participant()]
        .map(|participant| participant.map(|participant| participant.guid()));
    assert_eq!(guids, [Some(r.participant.guid()); 3]);
    assert!(matches!(
        r.participant.lookup_topicdescription::<Reading>("Rows"),
        Some(FoundTopic::MultiTopic(_))
    ));
}

#[test]
fn builtin_subscriber_has_one_qos_with_the_standard_presentation() {
    let (_sim, _a, b, _w, r) = pair();
    let (one, other) = (r.participant.builtin_subscriber(), r.participant.builtin_subscriber());
    let standard = Presentation {
        access_scope: PresentationAccessScope::Topic,
        coherent_access: false,
        ordered_access: false,
    };
    assert_eq!(one.qos().presentation, standard);
    let changed = SubscriberQos { group_data: GroupData(vec![3]), ..one.qos() };
    b.run(|| one.set_qos(&changed)).unwrap();
    assert_eq!((other.qos(), r.participant.builtin_subscriber().qos()), (changed.clone(), changed));
    b.run(|| one.begin_access()).unwrap();
    b.run(|| other.end_access()).unwrap();
    assert_eq!(one.instance_handle(), other.instance_handle());
}
