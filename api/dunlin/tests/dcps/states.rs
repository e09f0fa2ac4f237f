//! What operations say of entities that were deleted, and of those that are not enabled yet (DDS 1.4 §2.2.1.1,
//! §2.2.2.1.1.7).

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{
    DATAREADER_QOS_DEFAULT, DATAWRITER_QOS_DEFAULT, DomainParticipant, DomainParticipantFactory,
    InstanceHandle, PARTICIPANT_QOS_DEFAULT, PUBLISHER_QOS_DEFAULT, ReturnCode, SUBSCRIBER_QOS_DEFAULT,
    StateMasks, StatusMask, TOPIC_QOS_DEFAULT, WallTime,
};

use crate::support::*;

/// Names of operations and what they return.
type Answers = Vec<(&'static str, Option<ReturnCode>)>;

macro_rules! answers {
    ($node:expr, $($name:literal: $call:expr),+ $(,)?) => {
        vec![$(($name, $node.run(|| $call).err().map(|error| error.return_code()))),+]
    };
}

fn all_say(answers: &Answers, code: Option<ReturnCode>) {
    let others: Vec<_> = answers.iter().filter(|(_, found)| *found != code).collect();
    assert!(others.is_empty(), "not {code:?}: {others:?}");
}

const HANDLE: InstanceHandle = InstanceHandle([7; 16]);
const ANY: StateMasks = StateMasks::ANY;

/// What a participant does that is enabled.
fn work_of_participant(node: &Node, it: &DomainParticipant) -> Answers {
    answers!(node,
        "find_topic": it.find_topic::<Reading>("T", secs(0)),
        "ignore_participant": it.ignore_participant(HANDLE),
        "ignore_topic": it.ignore_topic(HANDLE),
        "ignore_publication": it.ignore_publication(HANDLE),
        "ignore_subscription": it.ignore_subscription(HANDLE),
        "assert_liveliness": it.assert_liveliness(),
        "get_discovered_participant_data": it.discovered_participant_data(HANDLE),
        "get_discovered_topic_data": it.discovered_topic_data(HANDLE),
        "discovered_publication_data": it.discovered_publication_data(HANDLE),
        "discovered_subscription_data": it.discovered_subscription_data(HANDLE),
    )
}

/// What it does whether it is enabled or not.
fn settings_of_participant(node: &Node, it: &DomainParticipant) -> Answers {
    answers!(node,
        "set_qos": it.set_qos(PARTICIPANT_QOS_DEFAULT),
        "set_default_topic_qos": it.set_default_topic_qos(&TopicQos::default()),
        "set_default_publisher_qos": it.set_default_publisher_qos(&PublisherQos::default()),
        "set_default_subscriber_qos": it.set_default_subscriber_qos(&SubscriberQos::default()),
        "create_topic": it.create_topic::<Measurement>("New", TOPIC_QOS_DEFAULT),
        "create_publisher": it.create_publisher(PUBLISHER_QOS_DEFAULT),
        "create_subscriber": it.create_subscriber(SUBSCRIBER_QOS_DEFAULT),
        "register_type": it.register_type::<Reading>("Other"),
        "delete_contained_entities": it.delete_contained_entities(),
    )
}

fn work_of_publisher(node: &Node, w: &Writing) -> Answers {
    let it = &w.publisher;
    answers!(node,
        "begin_coherent_changes": it.begin_coherent_changes(),
        "end_coherent_changes": it.end_coherent_changes(),
        "suspend_publications": it.suspend_publications(),
        "resume_publications": it.resume_publications(),
        "wait_for_acknowledgments": it.wait_for_acknowledgments(secs(1)),
    )
}

fn settings_of_publisher(node: &Node, w: &Writing) -> Answers {
    let it = &w.publisher;
    answers!(node,
        "set_qos": it.set_qos(PUBLISHER_QOS_DEFAULT),
        "set_default_datawriter_qos": it.set_default_datawriter_qos(&DataWriterQos::default()),
        "copy_from_topic_qos": it.copy_from_topic_qos(&mut DataWriterQos::default(), &TopicQos::default()),
        "create_datawriter": it.create_datawriter(&w.topic, DATAWRITER_QOS_DEFAULT),
        "delete_contained_entities": it.delete_contained_entities(),
    )
}

fn work_of_subscriber(node: &Node, r: &Reads) -> Answers {
    let it = &r.subscriber;
    answers!(node,
        "begin_access": it.begin_access(),
        "end_access": it.end_access(),
        "get_datareaders": it.datareaders(ANY),
        "notify_datareaders": it.notify_datareaders(),
    )
}

fn settings_of_subscriber(node: &Node, r: &Reads) -> Answers {
    let it = &r.subscriber;
    answers!(node,
        "set_qos": it.set_qos(SUBSCRIBER_QOS_DEFAULT),
        "set_default_datareader_qos": it.set_default_datareader_qos(&DataReaderQos::default()),
        "copy_from_topic_qos": it.copy_from_topic_qos(&mut DataReaderQos::default(), &TopicQos::default()),
        "create_datareader": it.create_datareader(&r.topic, DATAREADER_QOS_DEFAULT),
        "delete_contained_entities": it.delete_contained_entities(),
    )
}

fn work_of_writer(node: &Node, w: &Writing) -> Answers {
    let (it, sample, at) = (&w.writer, reading(1, 1), WallTime(1));
    answers!(node,
        "register_instance": it.register_instance(&sample),
        "register_instance_w_timestamp": it.register_instance_w_timestamp(&sample, at),
        "write": it.write(&sample),
        "write_w_timestamp": it.write_w_timestamp(&sample, at),
        "write (handle)": it.write_instance(&sample, HANDLE),
        "dispose": it.dispose(&sample),
        "dispose_w_timestamp": it.dispose_w_timestamp(&sample, at),
        "dispose (handle)": it.dispose_handle(HANDLE),
        "unregister_instance": it.unregister_instance(&sample),
        "unregister_instance_w_timestamp": it.unregister_instance_w_timestamp(&sample, at),
        "unregister_instance (handle)": it.unregister_handle(HANDLE),
        "get_key_value": it.key_value(HANDLE),
        "wait_for_acknowledgments": it.wait_for_acknowledgments(secs(1)),
        "assert_liveliness": it.assert_liveliness(),
        "get_matched_subscription_data": it.matched_subscription_data(HANDLE),
    )
}

fn work_of_reader(node: &Node, r: &Reads) -> Answers {
    let it = &r.reader;
    answers!(node,
        "take": it.take(1),
        "read": it.read(1),
        "take_next_sample": it.take_next_sample(),
        "read_next_sample": it.read_next_sample(),
        "take_instance": it.take_instance(1, HANDLE, ANY),
        "read_instance": it.read_instance(1, HANDLE, ANY),
        "take_next_instance": it.take_next_instance(1, HANDLE, ANY),
        "read_next_instance": it.read_next_instance(1, HANDLE, ANY),
        "take_payloads": it.take_payloads(1),
        "get_key_value": it.key_value(HANDLE),
        "wait_for_historical_data": it.wait_for_historical_data(secs(1)),
        "get_matched_publication_data": it.matched_publication_data(HANDLE),
    )
}

fn conditions_of_reader(node: &Node, r: &Reads) -> Answers {
    answers!(node,
        "create_readcondition": r.reader.create_readcondition(ANY),
        "create_querycondition": r.reader.create_querycondition(ANY, "n > 1", &[""; 0]),
    )
}

#[test]
fn operations_on_deleted_entities_say_so() {
    let (mut sim, a, b, w, r) = pair();
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    sim.run_for(secs(1)).unwrap();
    let filtered = b.run(|| r.participant.create_contentfilteredtopic("Few", &r.topic, "n > %0", &["3"]));
    let filtered = filtered.unwrap();
    let condition = r.reader.create_readcondition(ANY).unwrap();
    let deleted = Some(ReturnCode::AlreadyDeleted);
    a.run(|| w.publisher.delete_contained_entities()).unwrap();
    b.run(|| r.subscriber.delete_contained_entities()).unwrap();
    all_say(&work_of_writer(&a, &w), deleted);
    all_say(&work_of_reader(&b, &r), deleted);
    all_say(&conditions_of_reader(&b, &r), deleted);
    all_say(
        &answers!(a,
            "set_qos of the writer": w.writer.set_qos(DATAWRITER_QOS_DEFAULT),
            "enable of the writer": w.writer.enable(),
            "set_qos of the reader": r.reader.set_qos(DATAREADER_QOS_DEFAULT),
            "enable of the reader": r.reader.enable(),
            "delete_datawriter": w.publisher.delete_datawriter(&w.writer),
            "delete_datareader": r.subscriber.delete_datareader(&r.reader),
            "delete_contained_entities of the reader": r.reader.delete_contained_entities(),
            "read_w_condition": r.reader.read_w_condition(1, &condition),
            "take_w_condition": r.reader.take_w_condition(1, &condition),
            "delete_readcondition": r.reader.delete_readcondition(&condition),
        ),
        deleted,
    );
    assert_eq!((w.writer.status_changes(), r.reader.status_changes()), (StatusMask::NONE, StatusMask::NONE));
    assert!(w.writer.matched_subscriptions().is_empty() && r.reader.matched_publications().is_empty());
    a.run(|| w.participant.delete_publisher(&w.publisher)).unwrap();
    b.run(|| r.participant.delete_subscriber(&r.subscriber)).unwrap();
    all_say(&work_of_publisher(&a, &w), deleted);
    all_say(&settings_of_publisher(&a, &w), deleted);
    all_say(&work_of_subscriber(&b, &r), deleted);
    all_say(&settings_of_subscriber(&b, &r), deleted);
    b.run(|| r.participant.delete_contained_entities()).unwrap();
    a.run(|| w.participant.delete_contained_entities()).unwrap();
    all_say(
        &answers!(a,
            "enable of the publisher": w.publisher.enable(),
            "enable of the subscriber": r.subscriber.enable(),
            "delete_publisher": w.participant.delete_publisher(&w.publisher),
            "delete_subscriber": r.participant.delete_subscriber(&r.subscriber),
            "set_qos of the topic": w.topic.set_qos(TOPIC_QOS_DEFAULT),
            "enable of the topic": w.topic.enable(),
            "delete_topic": w.participant.delete_topic(&w.topic),
            "set_expression_parameters": filtered.set_expression_parameters(&["1"]),
            "delete_contentfilteredtopic": r.participant.delete_contentfilteredtopic(&filtered),
            "create_contentfilteredtopic":
                r.participant.create_contentfilteredtopic("Few", &r.topic, "n > 3", &[""; 0]),
        ),
        deleted,
    );
    let factory = DomainParticipantFactory::instance();
    let builtin = w.participant.builtin_subscriber();
    a.run(|| factory.delete_participant(&w.participant)).unwrap();
    all_say(&work_of_participant(&a, &w.participant), deleted);
    all_say(&settings_of_participant(&a, &w.participant), deleted);
    let text = "SELECT id, n FROM 'Readings'";
    all_say(
        &answers!(a,
            "enable of the participant": w.participant.enable(),
            "create_multitopic": w.participant.create_multitopic::<Reading>("Rows", text, &[""; 0]),
            "delete_participant": factory.delete_participant(&w.participant),
            "set_qos of the built-in subscriber": builtin.set_qos(&builtin.qos()),
        ),
        deleted,
    );
    assert!(a.run(|| builtin.lookup_datareader::<dunlin::DcpsTopic>("DCPSTopic")).is_none());
}

/// The entities of two participants of which nothing is enabled.
fn disabled(sim: &mut Sim) -> (Node, Writing, Reads) {
    let node = sim.node("disabled");
    let (w, r) = node.run(|| {
        let make = || DomainParticipant::builder(0).enabled(false).build().unwrap();
        let (participant, other) = (make(), make());
        let topic = participant.create_topic::<Reading>("Readings", TOPIC_QOS_DEFAULT).unwrap();
        let publisher = participant.create_publisher(PUBLISHER_QOS_DEFAULT).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        let w = Writing { participant, topic, publisher, writer };
        let topic = other.create_topic::<Reading>("Readings", TOPIC_QOS_DEFAULT).unwrap();
        let subscriber = other.create_subscriber(SUBSCRIBER_QOS_DEFAULT).unwrap();
        let reader = subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap();
        (w, Reads { participant: other, topic, subscriber, reader })
    });
    (node, w, r)
}

#[test]
fn operations_on_entities_that_are_not_enabled_say_so_except_settings() {
    let mut sim = Sim::new(5);
    let (node, w, r) = disabled(&mut sim);
    let not_enabled = Some(ReturnCode::NotEnabled);
    all_say(&work_of_participant(&node, &w.participant), not_enabled);
    all_say(&work_of_publisher(&node, &w), not_enabled);
    all_say(&work_of_subscriber(&node, &r), not_enabled);
    all_say(&work_of_writer(&node, &w), not_enabled);
    all_say(&work_of_reader(&node, &r), not_enabled);
    // They have no status, though others are about.
    for condition in [
        w.participant.status_condition(),
        w.topic.status_condition(),
        w.publisher.status_condition(),
        w.writer.status_condition(),
        r.subscriber.status_condition(),
        r.reader.status_condition(),
    ] {
        assert!(!condition.condition().trigger_value());
    }
    let looked_up = w.publisher.lookup_datawriter::<Reading>("Readings").is_some()
        && r.subscriber.lookup_datareader::<Reading>("Readings").is_some()
        && w.participant.lookup_topicdescription::<Reading>("Readings").is_some();
    assert!(looked_up);
    all_say(&conditions_of_reader(&node, &r), None);
    all_say(
        &answers!(node,
            "set_qos of the writer": w.writer.set_qos(&DataWriterQos::default().keep_all()),
            "set_qos of the reader": r.reader.set_qos(&DataReaderQos::default().keep_all()),
            "set_qos of the topic": w.topic.set_qos(TOPIC_QOS_DEFAULT),
        ),
        None,
    );
    all_say(&settings_of_publisher(&node, &w), None);
    all_say(&settings_of_subscriber(&node, &r), None);
    all_say(&settings_of_participant(&node, &w.participant), None);
}

/// Of an enabled participant that leaves it to the application to enable what it creates.
#[test]
fn disabled_publishers_and_subscribers_return_not_enabled() {
    let mut sim = Sim::new(6);
    let node = sim.node("by hand");
    let (w, r) = node.run(|| {
        let qos = DomainParticipantQos::default().autoenable_created_entities(false);
        let participant = DomainParticipant::builder(0).qos(qos).build().unwrap();
        let topic = participant.create_topic::<Reading>("Readings", TOPIC_QOS_DEFAULT).unwrap();
        let publisher = participant.create_publisher(PUBLISHER_QOS_DEFAULT).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        let subscriber = participant.create_subscriber(SUBSCRIBER_QOS_DEFAULT).unwrap();
        let reader = subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap();
        let w = Writing { participant: participant.clone(), topic: topic.clone(), publisher, writer };
        (w, Reads { participant, topic, subscriber, reader })
    });
    all_say(&work_of_publisher(&node, &w), Some(ReturnCode::NotEnabled));
    all_say(&work_of_subscriber(&node, &r), Some(ReturnCode::NotEnabled));
    let (writer, reader) = (&w.writer, &r.reader);
    node.run(|| w.publisher.enable()).unwrap();
    node.run(|| r.subscriber.enable()).unwrap();
    all_say(&work_of_publisher(&node, &w), None);
    all_say(&work_of_subscriber(&node, &r), None);
    node.run(|| writer.write(&reading(1, 1))).unwrap();
    assert!(node.run(|| reader.take(1)).is_ok());
}

#[test]
fn an_entity_deleted_before_enable_returns_already_deleted() {
    let mut sim = Sim::new(7);
    let (node, w, r) = disabled(&mut sim);
    node.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
    node.run(|| r.subscriber.delete_datareader(&r.reader)).unwrap();
    let deleted = Some(ReturnCode::AlreadyDeleted);
    all_say(&work_of_writer(&node, &w), deleted);
    all_say(&work_of_reader(&node, &r), deleted);
    all_say(
        &answers!(node,
            "set_qos of the writer": w.writer.set_qos(&DataWriterQos::default()),
            "set_qos of the reader": r.reader.set_qos(&DataReaderQos::default()),
            "enable of the writer": w.writer.enable(),
            "enable of the reader": r.reader.enable(),
        ),
        deleted,
    );
}
