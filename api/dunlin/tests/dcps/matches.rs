//! Waiting until somebody is there: `wait_for_readers` and `wait_for_writers`.

use std::sync::{Arc, Mutex};

use dunlin::qos::*;
use dunlin::sim::Sim;
use dunlin::{
    DataReader, DataWriter, DataWriterListener, DomainParticipant, Duration, MatchedStatus, ReturnCode,
    StatusMask, WaitForError,
};

use crate::support::*;

const fn millis(n: i64) -> Duration {
    Duration::from_millis(n)
}

/// A program that writes at once and ends: what it has written is there.
#[test]
fn a_program_that_waits_for_its_reader_loses_nothing() {
    Sim::builder().loss(0.1).seeds(0..10, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let sent = a.spawn_thread(|cx| {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all())?;
            writer.wait_for_readers(1, secs(60))?;
            let waited = cx.elapsed();
            (0..5).try_for_each(|n| writer.write(&reading(1, n)))?;
            Ok(waited)
        });
        sim.run_for(secs(5))?;
        assert!(!sent.is_over(), "nobody reads yet");
        let r = reads(&b, &DataReaderQos::default().reliable().keep_all());
        assert!(sim.join(&sent, secs(60))? >= secs(5));
        let mut seen = Vec::new();
        let all = || {
            let taken = r.reader.take(10).expect("no condition");
            seen.extend(taken.into_iter().filter_map(|sample| sample.data).map(|it| it.n));
            seen.len() >= 5
        };
        sim.run_until(all, secs(60))?;
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        Ok(())
    });
}

#[test]
fn wait_for_readers_and_writers_return_at_the_number_asked_for() {
    let mut sim = Sim::new(1);
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let reader = reads(&a, &DataReaderQos::default());
    let (waits, counts) = (reader.reader.clone(), reader.reader.clone());
    let blocking = a.spawn_thread(move |cx| {
        waits.wait_for_writers(0, Duration::ZERO)?;
        waits.wait_for_writers(2, secs(60))?;
        Ok(cx.elapsed())
    });
    let task = a.spawn(|cx| async move {
        counts.wait_for_writers_async(2).await?;
        Ok(cx.elapsed())
    });
    let _one = writing(&b, &DataWriterQos::default());
    sim.run_for(secs(3)).unwrap();
    assert_eq!(reader.reader.matched_publications().len(), 1);
    assert!(!blocking.is_over() && !task.is_over());
    let other = writing(&c, &DataWriterQos::default());
    let (one, other_side) = (sim.join(&blocking, secs(9)).unwrap(), sim.join(&task, secs(9)).unwrap());
    assert!(one >= secs(3) && other_side >= secs(3), "{one} {other_side}");
    let writer = other.writer.clone();
    let alone = c.spawn(|cx| async move {
        assert!(cx.timeout(secs(5), writer.wait_for_readers_async(2)).await.is_err());
        writer.wait_for_readers_async(1).await?;
        Ok(())
    });
    sim.join(&alone, secs(60)).unwrap();
}

#[test]
fn wait_for_readers_times_out_without_a_match() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (w, r) = (writing(&a, &DataWriterQos::default()), reads(&b, &DataReaderQos::default()));
    let (writer, reader) = (w.writer.clone(), r.reader.clone());
    let timed = a.spawn_thread(move |_| Ok(writer.wait_for_readers(2, millis(700)).unwrap_err()));
    let error = sim.join(&timed, secs(60)).unwrap();
    assert_eq!((error, error.return_code()), (WaitForError::Timeout(millis(700)), ReturnCode::Timeout));
    // What a program prints whose `main` returns it.
    assert_eq!(format!("{error:?}"), "it did not happen within 700ms");
    let timed = b.spawn_thread(move |_| Ok(reader.wait_for_writers(2, millis(700)).unwrap_err()));
    assert_eq!(sim.join(&timed, secs(60)).unwrap(), WaitForError::Timeout(millis(700)));
    // Where nothing can wait, it says so.
    let writer = w.writer.clone();
    let refused = a.spawn(|_| async move { Ok(writer.wait_for_readers(2, secs(1)).unwrap_err()) });
    assert_eq!(sim.join(&refused, secs(9)).unwrap(), WaitForError::InTask);
    assert_eq!(w.writer.wait_for_readers(2, secs(1)), Err(WaitForError::InSimulation));
    // Who is deleted meanwhile hears of that.
    let (writer, reader) = (w.writer.clone(), r.reader.clone());
    let ended = a.spawn_thread(move |_| Ok(writer.wait_for_readers(2, secs(60)).unwrap_err()));
    let read = b.spawn_thread(move |_| Ok(reader.wait_for_writers(2, secs(60)).unwrap_err()));
    sim.run_for(secs(1)).unwrap();
    a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
    b.run(|| r.subscriber.delete_datareader(&r.reader)).unwrap();
    assert_eq!(sim.join(&ended, secs(1)).unwrap(), WaitForError::AlreadyDeleted);
    assert_eq!(sim.join(&read, secs(1)).unwrap(), WaitForError::AlreadyDeleted);
}

#[test]
fn wait_for_readers_on_a_disabled_entity_returns_not_enabled() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let (writer, reader): (DataWriter<Reading>, DataReader<Reading>) = a.run(|| {
        let qos = DomainParticipantQos::default();
        let participant = DomainParticipant::builder(0).qos(qos).enabled(false).build().unwrap();
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        (writer, subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap())
    });
    assert_eq!(writer.wait_for_readers(0, secs(1)), Err(WaitForError::NotEnabled));
    assert_eq!(reader.wait_for_writers(0, secs(1)), Err(WaitForError::NotEnabled));
    let task = a.spawn(|_| async move { Ok(writer.wait_for_readers_async(1).await.unwrap_err()) });
    assert_eq!(sim.join(&task, secs(1)).unwrap(), WaitForError::NotEnabled);
}

/// Waits for readers where it is told of them.
#[derive(Default)]
struct Impatient(Arc<Mutex<Vec<Result<(), WaitForError>>>>);

impl DataWriterListener<Reading> for Impatient {
    fn on_publication_matched(&self, writer: &DataWriter<Reading>, _: MatchedStatus) {
        let results = [writer.wait_for_readers(1, secs(1)), writer.wait_for_readers(2, secs(1))];
        self.0.lock().unwrap().extend(results);
    }
}

#[test]
fn a_listener_cannot_wait() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = writing(&a, &DataWriterQos::default());
    let listener = Impatient::default();
    let seen = Arc::clone(&listener.0);
    w.writer.set_listener(listener, StatusMask::PUBLICATION_MATCHED);
    let _r = reads(&b, &DataReaderQos::default());
    sim.run_until(|| !seen.lock().unwrap().is_empty(), secs(9)).unwrap();
    assert_eq!(*seen.lock().unwrap(), [Ok(()), Err(WaitForError::InListener)]);
}
