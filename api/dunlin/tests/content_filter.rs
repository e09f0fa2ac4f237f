//! Content-filtered topics and query conditions through the public API, over real sockets on the loopback interface.

mod common;

use common::{Fixture, Track, eventually, track};
use dunlin::qos::{DataReaderQos, DataWriterQos, SubscriberQos, TopicQos};
use dunlin::{
    ContentFilteredTopic, CreateEntityError, DataReader, Duration, ExpressionError, InstanceHandle,
    InstanceState, ReadError, ReturnCode, StateMasks, StatusMask, WaitSet,
};

fn reliable() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all())
}

/// A filtered reader beside the fixture's own.
struct Filtered {
    topic: ContentFilteredTopic<Track>,
    reader: DataReader<Track>,
}

fn filtered(f: &Fixture, qos: &DataReaderQos, expression: &str, parameters: &[&str]) -> Filtered {
    let topic = f.subscribing.create_topic::<Track>(&f.topic, &TopicQos::default()).unwrap();
    let name = format!("{} filtered", f.topic);
    let topic = f.subscribing.create_contentfilteredtopic(&name, &topic, expression, parameters).unwrap();
    let subscriber = f.subscribing.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, qos).unwrap();
    eventually("the match of the filtered reader", || !reader.matched_publications().is_empty());
    eventually("its match at the writer", || f.writer.matched_subscriptions().len() >= 2);
    Filtered { topic, reader }
}

fn speeds(reader: &DataReader<Track>) -> Vec<i32> {
    reader.take(1000).unwrap().into_iter().filter_map(|s| s.data).map(|t| t.speed).collect()
}

fn announced(f: &Fixture) -> Vec<String> {
    let found = f.publishing.discovered_subscriptions().into_iter().filter_map(|s| s.content_filter.clone());
    let mut of_topic = found.filter(|filter| filter.related_topic_name == f.topic);
    of_topic.next().map(|filter| filter.expression_parameters.clone()).unwrap_or_default()
}

#[test]
fn only_samples_that_satisfy_the_content_filter_are_received() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let g = filtered(&f, &reader_qos, "speed BETWEEN %0 AND %1 OR note LIKE 'l%'", &["3", "5"]);
    assert_eq!(g.topic.filter_expression(), "speed BETWEEN %0 AND %1 OR note LIKE 'l%'");
    let property = f.publishing.discovered_subscriptions().into_iter().find_map(|s| s.content_filter.clone());
    let property = property.expect("the filter is announced");
    assert_eq!(
        (property.filter_class_name.as_str(), property.filter_expression.as_str()),
        ("DDSSQL", g.topic.filter_expression())
    );
    assert_eq!(
        (property.content_filtered_topic_name.as_str(), announced(&f)),
        (g.topic.name(), vec!["3".into(), "5".into()])
    );
    for n in 0..10 {
        f.writer.write(&track(n, n)).unwrap();
    }
    f.writer.write(&Track { note: "last".into(), ..track(50, 50) }).unwrap();
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert_eq!(speeds(&g.reader), [3, 4, 5, 50]);
    assert_eq!(speeds(&f.reader).len(), 11, "the other reader has no filter");
    let stats = g.reader.content_filter_stats();
    assert_eq!((stats.passed, stats.rejected, stats.unreadable), (4, 7, 0));
    assert_eq!(g.reader.sample_lost_status().total, 0);
}

#[test]
fn parameters_change_at_run_time() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let g = filtered(&f, &reader_qos, "speed >= %0", &["100"]);
    f.writer.write(&track(1, 1)).unwrap();
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert!(speeds(&g.reader).is_empty() && g.reader.status_changes().0 & StatusMask::DATA_AVAILABLE.0 == 0);
    g.topic.set_expression_parameters(&["2"]).unwrap();
    assert_eq!(g.topic.expression_parameters(), ["2"]);
    eventually("the announcement of the new parameter", || announced(&f) == ["2"]);
    for n in [1, 2, 3] {
        f.writer.write(&track(1, n)).unwrap();
    }
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert_eq!(speeds(&g.reader), [2, 3]);
    let error = g.topic.set_expression_parameters(&["'fast'"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the expression cannot be used: parameter %0: expected a number, found the text 'fast'"
    );
    assert_eq!(error.return_code(), ReturnCode::BadParameter);
    assert_eq!((g.topic.expression_parameters(), announced(&f)), (vec!["2".into()], vec!["2".into()]));
}

#[test]
fn invalid_filter_expressions_are_refused() {
    let f = Fixture::unmatched(&DataWriterQos::default(), &DataReaderQos::default());
    let topic = f.subscribing.create_topic::<Track>(&f.topic, &TopicQos::default()).unwrap();
    let create = |name: &str, expression: &str, parameters: &[&str]| {
        f.subscribing.create_contentfilteredtopic(name, &topic, expression, parameters).map(|_| ())
    };
    let refused = create("a", "sped > 1", &[]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the expression cannot be used: at position 0: Track has no member `sped`; did you mean `speed`?"
    );
    assert_eq!(refused.return_code(), ReturnCode::BadParameter);
    assert!(matches!(create("", "speed > 1", &[]), Err(CreateEntityError::BadName)));
    assert!(matches!(create(&f.topic, "speed > 1", &[]), Err(CreateEntityError::NameInUse(_))));
    let wide = format!("'{}'", "x".repeat(1000));
    let too_large = create("a", "note <> %0", &[wide.as_str(); 90]);
    assert!(
        matches!(too_large, Err(CreateEntityError::Expression(ExpressionError::TooLarge))),
        "{too_large:?}"
    );
    let foreign = f.publishing.create_contentfilteredtopic("a", &topic, "", &[""; 0]);
    assert!(matches!(foreign, Err(CreateEntityError::ForeignTopic)));
    let kept = f.subscribing.create_contentfilteredtopic("a", &topic, "speed > 1", &[""; 0]).unwrap();
    assert!(matches!(create("a", "speed > 1", &[]), Err(CreateEntityError::NameInUse(_))));
    let same = f.subscribing.create_topic::<Track>("a", &TopicQos::default());
    assert!(matches!(same, Err(CreateEntityError::NameInUse(_))));
    assert_eq!((kept.related_topic().name(), kept.type_name()), (f.topic.as_str(), "Track"));
    drop(kept);
    create("a", "speed > 1", &[]).unwrap();
}

/// Instances and states of the samples without data, by id.
fn ends(reader: &DataReader<Track>, count: usize) -> Vec<(i32, InstanceState)> {
    let mut ended = Vec::new();
    eventually("the ends of instances", || {
        for sample in reader.take(100).unwrap() {
            if sample.info.instance_state != InstanceState::Alive {
                ended.push((sample.data.or(sample.key).unwrap().id, sample.info.instance_state));
            }
        }
        ended.len() >= count
    });
    ended.sort_by_key(|(id, _)| *id);
    ended
}

#[test]
fn instances_end_for_readers_that_saw_them_begin() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos.autodispose_unregistered_instances(false), &reader_qos);
    let g = filtered(&f, &reader_qos, "speed > 10", &[]);
    let keys =
        f.subscribing.create_contentfilteredtopic("keys", &g.topic.related_topic(), "id >= 2", &[""; 0]);
    let subscriber = f.subscribing.create_subscriber(&SubscriberQos::default()).unwrap();
    let by_key = subscriber.create_datareader(&keys.unwrap(), &reader_qos).unwrap();
    eventually("the third match", || f.writer.matched_subscriptions().len() >= 3);
    eventually("the third match", || !by_key.matched_publications().is_empty());
    // 1 and 2 are seen by the first reader, 2 to 4 by the second; 4 is disposed without ever having had a sample.
    for (id, speed) in [(1, 20), (2, 20), (3, 5)] {
        f.writer.write(&track(id, speed)).unwrap();
    }
    for id in [1, 3, 4] {
        f.writer.dispose(&track(id, 0)).unwrap();
    }
    f.writer.unregister_instance(&track(2, 0)).unwrap();
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    let (disposed, writerless) = (InstanceState::NotAliveDisposed, InstanceState::NotAliveNoWriters);
    assert_eq!(ends(&g.reader, 2), [(1, disposed), (2, writerless)]);
    assert_eq!(ends(&by_key, 3), [(2, writerless), (3, disposed), (4, disposed)]);
    assert!(g.reader.take(10).unwrap().is_empty() && by_key.take(10).unwrap().is_empty());
}

#[test]
fn late_joiners_get_the_history_that_satisfies_their_filter() {
    let (writer_qos, reader_qos) = reliable();
    let reader_qos = reader_qos.transient_local();
    let f = Fixture::new(&writer_qos.transient_local(), &reader_qos);
    for n in 0..50 {
        f.writer.write(&track(n % 5, n)).unwrap();
    }
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    let g = filtered(&f, &reader_qos, "id = 3 AND speed < 20", &[]);
    g.reader.wait_for_historical_data(Duration::from_secs(20)).unwrap();
    assert_eq!(speeds(&g.reader), [3, 8, 13, 18]);
    f.writer.write(&track(3, 19)).unwrap();
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert_eq!(speeds(&g.reader), [19]);
}

#[test]
fn a_filtered_reader_in_the_participant_of_the_writer() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let topic = f.publishing.create_topic::<Track>(&f.topic, &TopicQos::default()).unwrap();
    let topic = f.publishing.create_contentfilteredtopic("local", &topic, "speed = %0", &["7"]).unwrap();
    let subscriber = f.publishing.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &reader_qos).unwrap();
    common::eventually("both sides know", || {
        f.writer.matched_subscriptions().len() == 2 && reader.matched_publications().len() == 1
    });
    for n in 0..9 {
        f.writer.write(&track(1, n)).unwrap();
    }
    let until_acknowledged = || f.writer.wait_for_acknowledgments(Duration::from_secs(10)).unwrap();
    until_acknowledged();
    assert_eq!(speeds(&reader), [7]);
    topic.set_expression_parameters(&["8"]).unwrap();
    f.writer.write(&track(1, 8)).unwrap();
    until_acknowledged();
    assert_eq!(speeds(&reader), [8]);
}

#[test]
fn queries_select_and_sort() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let query = f
        .reader
        .create_querycondition(StateMasks::NOT_READ, "speed > %0 ORDER BY note, speed", &["10"])
        .unwrap();
    assert_eq!(query.query_expression(), "speed > %0 ORDER BY note, speed");
    for (id, speed, note) in
        [(1, 30, "b"), (2, 5, "a"), (1, 20, "b"), (3, 40, "a"), (2, 15, "b"), (1, 11, "c")]
    {
        f.writer.write(&Track { note: note.into(), ..track(id, speed) }).unwrap();
    }
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    let first = f.reader.read_w_condition(3, &query).unwrap();
    let of = |samples: &[dunlin::Sample<Track>]| -> Vec<i32> {
        samples.iter().map(|sample| sample.data.as_ref().unwrap().speed).collect()
    };
    // The first three in the order of the query, not the first three that arrived.
    assert_eq!(of(&first), [40, 15, 20]);
    assert_eq!(first.iter().map(|sample| sample.info.sample_rank).collect::<Vec<_>>(), [0, 0, 0]);
    let rest = f.reader.take_w_condition(10, &query).unwrap();
    assert_eq!(of(&rest), [30, 11], "the others were read");
    assert_eq!(rest[0].info.sample_rank, 1);
    let any = f.reader.create_querycondition(StateMasks::ANY, "speed < 100", &[""; 0]).unwrap();
    let (mut seen, mut previous) = (Vec::new(), InstanceHandle::NIL);
    loop {
        let samples = f.reader.read_next_instance_w_condition(10, previous, &any).unwrap();
        let Some(last) = samples.last() else { break };
        previous = last.info.instance_handle;
        seen.push(of(&samples));
    }
    seen.sort();
    assert_eq!(seen, [vec![5, 15], vec![20], vec![40]]);
    let sorted = f.reader.create_querycondition(StateMasks::ANY, "ORDER BY speed", &[""; 0]).unwrap();
    let one = f.reader.take_next_instance_w_condition(1, InstanceHandle::NIL, &sorted).unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!(f.reader.take_w_condition(10, &sorted).unwrap().len(), 3);
    let other = f.reader_beside_writer(&reader_qos);
    assert_eq!(other.take_w_condition(10, &query).unwrap_err(), ReadError::ForeignCondition);
}

#[test]
fn queries_trigger_wait_sets() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let query = f.reader.create_querycondition(StateMasks::ANY, "speed = %0", &["7"]).unwrap();
    let set = WaitSet::new();
    set.attach_condition(query.condition());
    f.writer.write(&track(1, 6)).unwrap();
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert!(set.wait(Duration::ZERO).is_err() && !query.condition().trigger_value());
    f.writer.write(&track(1, 7)).unwrap();
    assert_eq!(set.wait(Duration::from_secs(20)).unwrap(), [query.condition().clone()]);
    assert_eq!(f.reader.take_w_condition(10, &query).unwrap().len(), 1);
    assert!(set.wait(Duration::ZERO).is_err());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| set.wait(Duration::from_secs(20)));
        query.set_query_parameters(&["6"]).unwrap();
        assert_eq!(waiter.join().unwrap().unwrap().len(), 1, "other parameters wake the waiter");
    });
    assert_eq!(query.query_parameters(), ["6"]);
    let refused = query.set_query_parameters(&["x"]).unwrap_err();
    assert!(refused.to_string().contains("text in single quotes"), "{refused}");
    assert_eq!(query.query_parameters(), ["6"]);
    let refused = f.reader.create_querycondition(StateMasks::ANY, "ORDER BY octets", &[""; 0]).unwrap_err();
    assert!(refused.to_string().contains("name one of its elements"), "{refused}");
}

#[test]
fn queries_about_the_key_select_ended_instances() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let by_key = f.reader.create_querycondition(StateMasks::ANY, "id = 2", &[""; 0]).unwrap();
    let by_speed = f.reader.create_querycondition(StateMasks::ANY, "speed >= 0", &[""; 0]).unwrap();
    for id in [1, 2] {
        f.writer.write(&track(id, id)).unwrap();
    }
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert_eq!(f.reader.take(10).unwrap().len(), 2);
    for id in [1, 2] {
        f.writer.dispose(&track(id, 0)).unwrap();
    }
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert!(f.reader.read_w_condition(10, &by_speed).unwrap().is_empty());
    let ended = f.reader.take_w_condition(10, &by_key).unwrap();
    assert_eq!(ended.iter().map(|s| s.key.as_ref().unwrap().id).collect::<Vec<_>>(), [2]);
    assert_eq!(f.reader.take(10).unwrap().len(), 1);
}

#[test]
fn a_long_filter_is_announced_whole() {
    let (writer_qos, reader_qos) = reliable();
    let f = Fixture::new(&writer_qos, &reader_qos);
    let parameters: Vec<String> = (0..25).map(|n| format!("'{}{n}'", "x".repeat(990))).collect();
    let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
    let expression = (0..25).map(|n| format!("note <> %{n}")).collect::<Vec<_>>().join(" AND ");
    let g = filtered(&f, &reader_qos, &expression, &parameters);
    assert_eq!(announced(&f), parameters);
    f.writer.write(&Track { note: parameters[7].trim_matches('\'').into(), ..track(1, 1) }).unwrap();
    f.writer.write(&track(1, 2)).unwrap();
    f.writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    assert_eq!(speeds(&g.reader), [2]);
}
