//! wait_for_historical_data (DDS 1.4 §2.2.2.5.3.17) where the history does not come.

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{DataReader, DataWriter, DdsType, Duration, MultiTopic, ReturnCode, WaitForError};

use crate::support::*;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Label {
    #[dds(key)]
    id: i32,
    text: i32,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Row {
    #[dds(key)]
    id: i32,
    n: i32,
    text: i32,
}

fn durable() -> (DataWriterQos, DataReaderQos) {
    (
        DataWriterQos::default().reliable().keep_all().transient_local(),
        DataReaderQos::default().reliable().keep_all().transient_local(),
    )
}

#[test]
fn wait_for_historical_data_times_out() {
    let mut sim = Sim::new(8);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (writer_qos, reader_qos) = durable();
    let w = writing(&a, &writer_qos);
    let r = reads(&b, &reader_qos);
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    sim.run_until(|| r.reader.take(1).is_ok_and(|taken| taken.len() == 1), secs(20)).unwrap();
    // The next reader meets a writer that is known, and from which nothing comes.
    sim.cut(&a, &b);
    let (subscriber, topic) = (r.subscriber.clone(), r.topic.clone());
    let waited = b.spawn_thread(move |cx| {
        let late = subscriber.create_datareader(&topic, &reader_qos)?;
        let begin = cx.elapsed();
        let waited = late.wait_for_historical_data(secs(2));
        Ok((late, waited, cx.elapsed().as_nanos() - begin.as_nanos()))
    });
    let (late, waited, time) = sim.join(&waited, secs(9)).unwrap();
    assert_eq!(waited, Err(WaitForError::Timeout(secs(2))));
    assert_eq!(waited.unwrap_err().return_code(), ReturnCode::Timeout);
    assert_eq!(Duration::from_nanos(time), secs(2));
    assert!(late.take(1).unwrap().is_empty());
    sim.mend(&a, &b);
    let waited = b.spawn_thread(move |_| Ok((late.wait_for_historical_data(secs(9)), late.take(9)?.len())));
    assert_eq!(sim.join(&waited, secs(20)).unwrap(), (Ok(()), 1));
}

/// Two topics with a durable writer each, on nodes of their own, and a node that joins them.
struct Joined {
    sim: Sim,
    readings: (Node, Writing),
    labels: (Node, Writing),
    _label: DataWriter<Label>,
    node: Node,
    reads: Reads,
    rows: MultiTopic<Row>,
}

impl Joined {
    fn new() -> Self {
        let mut sim = Sim::new(9);
        let (writer_qos, reader_qos) = durable();
        let (a, c, node) = (sim.node("readings"), sim.node("labels"), sim.node("rows"));
        let (w, l, reads) = (writing(&a, &writer_qos), writing(&c, &writer_qos), reads(&node, &reader_qos));
        let label = c.run(|| {
            let topic = l.participant.create_topic::<Label>("Labels", &TopicQos::default()).unwrap();
            l.publisher.create_datawriter(&topic, &writer_qos).unwrap()
        });
        let rows = node.run(|| {
            let _labels = reads.participant.create_topic::<Label>("Labels", &TopicQos::default()).unwrap();
            let text = "SELECT id, n, text FROM 'Readings' NATURAL JOIN 'Labels'";
            reads.participant.create_multitopic::<Row>("Rows", text, &[""; 0]).unwrap()
        });
        a.run(|| w.writer.write(&reading(1, 5))).unwrap();
        c.run(|| label.write(&Label { id: 1, text: 7 })).unwrap();
        let known = || reads.participant.discovered_publications().len() == 3;
        sim.run_until(known, secs(20)).unwrap();
        sim.run_for(secs(2)).unwrap();
        Self { sim, readings: (a, w), labels: (c, l), _label: label, node, reads, rows }
    }

    /// Nothing comes from the writers until they are mended.
    fn cut(&mut self) {
        self.sim.cut(&self.readings.0, &self.node);
        self.sim.cut(&self.labels.0, &self.node);
    }

    fn reader(&self) -> DataReader<Row> {
        self.node.run(|| self.reads.subscriber.create_datareader(&self.rows, &durable().1)).unwrap()
    }
}

#[test]
fn a_reader_of_rows_waits_for_all_its_parts_and_once() {
    let mut joined = Joined::new();
    joined.cut();
    let reader = joined.reader();
    let waits = reader.clone();
    let waited = joined.node.spawn_thread(move |cx| {
        let begin = cx.elapsed();
        let waited = waits.wait_for_historical_data(secs(4));
        Ok((waited, cx.elapsed().as_nanos() - begin.as_nanos()))
    });
    // The first part comes late, the second not at all.
    joined.sim.run_for(secs(3)).unwrap();
    joined.sim.mend(&joined.readings.0, &joined.node);
    let (waited, time) = joined.sim.join(&waited, secs(20)).unwrap();
    assert_eq!(waited, Err(WaitForError::Timeout(secs(4))));
    assert_eq!(Duration::from_nanos(time), secs(4));
    joined.sim.mend(&joined.labels.0, &joined.node);
    let waits = reader.clone();
    let waited = joined.node.spawn_thread(move |_| Ok(waits.wait_for_historical_data(secs(9))));
    assert_eq!(joined.sim.join(&waited, secs(20)).unwrap(), Ok(()));
    let rows: Vec<_> = reader.take(9).unwrap().into_iter().filter_map(|sample| sample.data).collect();
    assert_eq!(rows, [Row { id: 1, n: 5, text: 7 }]);
}

#[test]
fn tasks_wait_for_the_parts_of_a_reader_of_rows_too() {
    let mut joined = Joined::new();
    joined.cut();
    let reader = joined.reader();
    let waits = reader.clone();
    let waited = joined.node.spawn(|_| async move { Ok(waits.wait_for_historical_data_async().await?) });
    joined.sim.run_for(secs(2)).unwrap();
    joined.sim.mend(&joined.readings.0, &joined.node);
    joined.sim.run_for(secs(4)).unwrap();
    assert!(!waited.is_done(), "the labels are missing");
    joined.sim.mend(&joined.labels.0, &joined.node);
    joined.sim.join(&waited, secs(20)).unwrap();
    assert_eq!(reader.take(9).unwrap().len(), 1);
}

#[test]
fn the_wait_ends_with_the_reader() {
    let mut joined = Joined::new();
    joined.cut();
    let reader = joined.reader();
    let (waits, other) = (reader.clone(), reader.clone());
    let task = joined.node.spawn(|_| async move { Ok(waits.wait_for_historical_data_async().await) });
    let thread = joined.node.spawn_thread(move |_| Ok(other.wait_for_historical_data(secs(60))));
    joined.sim.run_for(secs(1)).unwrap();
    joined.node.run(|| joined.reads.subscriber.delete_datareader(&reader)).unwrap();
    let ended = Err(WaitForError::AlreadyDeleted);
    assert_eq!(joined.sim.join(&task, secs(1)).unwrap(), ended);
    assert_eq!(joined.sim.join(&thread, secs(1)).unwrap(), ended);
}
