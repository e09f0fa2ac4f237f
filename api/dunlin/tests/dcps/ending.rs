//! What readers see of the instances of a writer that ends: DDS 1.4 §2.2.2.4.1.6 delete_datawriter, §2.2.3.21
//! WRITER_DATA_LIFECYCLE.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use dunlin::qos::*;
use dunlin::sim::{Context, Node, Sim, Task};
use dunlin::{
    AnyDataWriter, DataReader, DataWriter, DdsType, DomainParticipant, Duration, InstanceHandle,
    InstanceState, MatchedStatus, Publisher, PublisherListener, StatusMask, Topic, WriteError,
};

use crate::support::*;

fn matched(sim: &mut Sim, w: &Writing, r: &Reads) {
    let met = || w.writer.matched_subscriptions().len() == 1 && r.reader.matched_publications().len() == 1;
    sim.run_until(met, secs(30)).unwrap();
}

/// The instances with data and their states, once a reader sees that none of so many is alive.
fn ends(sim: &mut Sim, reader: &DataReader<Reading>, count: usize) -> Vec<(i32, InstanceState)> {
    let seen = || -> Vec<(i32, InstanceState)> {
        let read = reader.read(usize::MAX).unwrap();
        let with_data = read.iter().filter_map(|s| Some((s.data.as_ref()?.id, s.info.instance_state)));
        with_data.collect()
    };
    let ended = || seen().iter().filter(|(_, state)| *state != InstanceState::Alive).count();
    sim.run_until(|| ended() == count, secs(30)).unwrap();
    seen()
}

const DISPOSED: InstanceState = InstanceState::NotAliveDisposed;
const NO_WRITERS: InstanceState = InstanceState::NotAliveNoWriters;

type End = fn(Writing);

/// Every way to delete a writer.
const ENDS: [End; 4] = [
    |w| w.publisher.delete_datawriter(&w.writer).unwrap(),
    |w| w.publisher.delete_contained_entities().unwrap(),
    |w| w.participant.delete_contained_entities().unwrap(),
    drop,
];

#[test]
fn deleted_writer_unregisters_instances_and_disposes_with_autodispose() {
    for (way, end) in ENDS.into_iter().enumerate() {
        for (autodispose, state) in [(true, DISPOSED), (false, NO_WRITERS)] {
            Sim::builder().loss(0.2).seeds(0..3, |sim| {
                let (a, b) = (sim.node("a"), sim.node("b"));
                let qos = DataWriterQos::default().keep_all().autodispose_unregistered_instances(autodispose);
                let (w, r) = (writing(&a, &qos), reads(&b, &DataReaderQos::default().reliable().keep_all()));
                matched(sim, &w, &r);
                for id in 1..=3 {
                    a.run(|| w.writer.write(&reading(id, id))).unwrap();
                }
                a.run(|| end(w));
                let seen = ends(sim, &r.reader, 3);
                assert_eq!(seen, [(1, state), (2, state), (3, state)], "way {way}");
                Ok(())
            });
        }
    }
}

#[test]
fn unregistered_instance_is_not_ended_again_by_writer_deletion() {
    let (mut sim, a, _b, w, r) = pair();
    for id in 1..=3 {
        a.run(|| w.writer.write(&reading(id, id))).unwrap();
    }
    let keep = w.writer.qos().autodispose_unregistered_instances(false);
    a.run(|| w.writer.set_qos(&keep)).unwrap();
    a.run(|| w.writer.unregister_instance(&reading(1, 0))).unwrap();
    a.run(|| w.writer.dispose(&reading(2, 0))).unwrap();
    a.run(|| w.writer.set_qos(&keep.autodispose_unregistered_instances(true))).unwrap();
    a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
    assert_eq!(ends(&mut sim, &r.reader, 3), [(1, NO_WRITERS), (2, DISPOSED), (3, DISPOSED)]);
    assert_eq!(a.run(|| w.writer.write(&reading(4, 4))), Err(WriteError::AlreadyDeleted));
}

/// Readers know of the end of what was disposed of before, and are sent nothing more of it: other implementations do the same.
#[test]
fn disposed_instance_is_not_disposed_again_by_writer_deletion() {
    for autodispose in [true, false] {
        let (mut sim, a, _b, w, r) = pair();
        let qos = w.writer.qos().autodispose_unregistered_instances(autodispose);
        a.run(|| w.writer.set_qos(&qos)).unwrap();
        for id in 1..=3 {
            a.run(|| w.writer.write(&reading(id, id))).unwrap();
        }
        a.run(|| w.writer.dispose(&reading(2, 0))).unwrap();
        a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
        let left = if autodispose { DISPOSED } else { NO_WRITERS };
        assert_eq!(ends(&mut sim, &r.reader, 3), [(1, left), (2, DISPOSED), (3, left)]);
        sim.run_for(secs(5)).unwrap();
        assert_eq!(r.reader.stats().delivered, 6, "three samples, a disposal, two ends");
    }
}

/// A writer that said nothing has disposed nothing, whatever its policy.
#[test]
fn a_writer_that_crashes_or_is_lost_disposes_nothing() {
    type Loss = fn(&mut Sim, &Node, &Node);
    let losses: [Loss; 2] = [|_, a, _| a.crash(), |sim, a, b| sim.partition(&[a], &[b])];
    for loss in losses {
        let (mut sim, a, b, w, r) = pair();
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        sim.run_until(|| r.reader.read(9).unwrap().len() == 1, secs(9)).unwrap();
        loss(&mut sim, &a, &b);
        assert_eq!(ends(&mut sim, &r.reader, 1), [(1, NO_WRITERS)]);
    }
}

/// Another writer of an instance keeps it alive, but a disposal is one.
#[test]
fn instance_of_two_writers_stays_alive_unless_disposed() {
    for (autodispose, expected) in [(false, InstanceState::Alive), (true, DISPOSED)] {
        let (mut sim, a, _b, w, r) = pair();
        let qos = w.writer.qos().autodispose_unregistered_instances(autodispose);
        let other = a.run(|| w.publisher.create_datawriter(&w.topic, &qos)).unwrap();
        sim.run_until(|| r.reader.matched_publications().len() == 2, secs(9)).unwrap();
        a.run(|| w.writer.write(&reading(1, 1))).unwrap();
        a.run(|| other.write(&reading(1, 2))).unwrap();
        a.run(|| w.publisher.delete_datawriter(&other)).unwrap();
        sim.run_until(|| r.reader.matched_publications().len() == 1, secs(9)).unwrap();
        let states: Vec<_> = r.reader.read(9).unwrap().iter().map(|s| s.info.instance_state).collect();
        assert!(states.len() >= 2 && states.iter().all(|state| *state == expected), "{states:?}");
    }
}

/// Also while the history holds its end still, which takes the key along.
#[test]
fn an_instance_that_is_written_again_after_its_end_has_its_key() {
    let (_sim, a, _b, w, _r) = pair();
    let alone = a.run(|| DomainParticipant::new(1)).unwrap();
    let topic = a.run(|| alone.create_topic::<Reading>("Readings", &TopicQos::default())).unwrap();
    let publisher = a.run(|| alone.create_publisher(&PublisherQos::default())).unwrap();
    for qos in [DataWriterQos::default().best_effort(), DataWriterQos::default().keep_all()] {
        let lonely = a.run(|| publisher.create_datawriter(&topic, &qos)).unwrap();
        for writer in [&lonely, &w.writer] {
            for n in 0..3 {
                a.run(|| writer.write(&reading(1, n))).unwrap();
                let handle = writer.lookup_instance(&reading(1, 0));
                assert_eq!(writer.key_value(handle).unwrap(), reading(1, 0), "{n}");
                a.run(|| writer.unregister_instance(&reading(1, n))).unwrap();
            }
        }
    }
}

/// So many writers on node `a`, each with an instance that the reader has; then `then` with everything that the node has.
fn on_a_thread<T: Send + 'static>(
    a: &Node,
    count: usize,
    cut: &Arc<AtomicBool>,
    then: impl FnOnce(Context, Everything) -> dunlin::sim::Result<T> + Send + 'static,
) -> (Task<T>, Arc<AtomicBool>) {
    let (written, sees) = (Arc::new(AtomicBool::new(false)), Arc::clone(cut));
    let tells = Arc::clone(&written);
    let task = a.spawn_thread(move |cx| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let make = |_| publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all());
        let writers: Vec<_> = (0..count).map(make).collect::<Result<_, _>>()?;
        while writers.iter().any(|writer| writer.matched_subscriptions().is_empty()) {
            cx.sleep_blocking(Duration::from_millis(10))?;
        }
        for (id, writer) in (0..).zip(&writers) {
            writer.write(&reading(id, id))?;
            writer.wait_for_acknowledgments(secs(9))?;
        }
        tells.store(true, SeqCst);
        while !sees.load(SeqCst) {
            cx.sleep_blocking(Duration::from_millis(10))?;
        }
        then(cx, Everything { writers, publisher, _topic: topic, participant })
    });
    (task, written)
}

/// What a node has, in the order in which it is dropped.
struct Everything {
    writers: Vec<DataWriter<Reading>>,
    publisher: Publisher,
    _topic: Topic<Reading>,
    participant: DomainParticipant,
}

/// Nobody waits for a reader that does not answer when a writer goes, and once for all of them when the participant does.
#[test]
fn deleting_a_participant_waits_once_for_an_unreachable_reader() {
    type Delete = fn(&mut Everything);
    let one_by_one: Delete = |all| {
        all.writers.iter().for_each(|writer| all.publisher.delete_datawriter(writer).unwrap());
    };
    let ways: [(usize, Delete, bool); 6] = [
        (100, |all| all.writers.clear(), false),
        (100, one_by_one, false),
        (1, one_by_one, false),
        (100, |all| all.publisher.delete_contained_entities().unwrap(), false),
        (100, |all| all.participant.delete_contained_entities().unwrap(), true),
        (1, |all| all.participant.delete_contained_entities().unwrap(), true),
    ];
    for (way, (count, delete, waits)) in ways.into_iter().enumerate() {
        let mut sim = Sim::new(3);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let r = reads(&b, &DataReaderQos::default().reliable().keep_all());
        let cut = Arc::new(AtomicBool::new(false));
        let (ends, written) = on_a_thread(&a, count, &cut, move |cx, mut all| {
            let begin = cx.elapsed();
            delete(&mut all);
            let deleted = cx.elapsed();
            drop(all);
            Ok([begin, deleted, cx.elapsed()])
        });
        sim.run_until(|| written.load(SeqCst), secs(60)).unwrap();
        assert_eq!(r.reader.read(usize::MAX).unwrap().len(), count);
        sim.partition(&[&a], &[&b]);
        cut.store(true, SeqCst);
        let [begin, deleted, left] = sim.join(&ends, secs(300)).unwrap();
        let took = |end: Duration| end.as_nanos() - begin.as_nanos();
        assert!((999_000_000..=1_010_000_000).contains(&took(left)), "way {way}: {} ns", took(left));
        assert!(
            if waits { deleted == left } else { took(deleted) < 1_000_000 },
            "way {way}: {} ns",
            took(deleted)
        );
    }
}

/// Although the writers went one by one, without waiting, and their process ends as soon as the participant is gone.
#[test]
fn the_end_of_a_process_comes_after_the_ends_of_its_instances() {
    Sim::builder().loss(0.2).seeds(0..4, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let r = reads(&b, &DataReaderQos::default().reliable().keep_all());
        let go = Arc::new(AtomicBool::new(true));
        let (ended, _) = on_a_thread(&a, 40, &go, |_, all| {
            drop(all);
            Ok(())
        });
        sim.join(&ended, secs(60))?;
        a.crash();
        let seen = ends(sim, &r.reader, 40);
        assert!(seen.iter().all(|(_, state)| *state == DISPOSED), "{seen:?}");
        Ok(sim.run_until(|| r.reader.matched_publications().is_empty(), secs(60))?)
    });
}

struct Count(Arc<AtomicUsize>);

impl PublisherListener for Count {
    fn on_publication_matched(&self, _: &AnyDataWriter, _: MatchedStatus) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A writer that waits for its readers in the background is deleted all the same.
#[test]
fn a_deleted_writer_raises_no_status_and_serves_no_new_reader() {
    let mut sim = Sim::new(3);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| sim.node(name));
    let w = writing(&a, &DataWriterQos::default().keep_all().transient_local());
    let durable = DataReaderQos::default().reliable().transient_local();
    let (r, goes) = (reads(&b, &durable), reads(&c, &durable));
    // Knows the participant already, so that its reader hears of the writer at once.
    let late = d.run(|| DomainParticipant::new(0)).unwrap();
    sim.run_until(|| late.discovered_participants().len() == 3, secs(30)).unwrap();
    sim.run_until(|| w.writer.matched_subscriptions().len() == 2, secs(30)).unwrap();
    a.run(|| w.writer.write(&reading(1, 1))).unwrap();
    let everywhere = || [&r, &goes].iter().all(|it| it.reader.read(9).unwrap().len() == 1);
    sim.run_until(everywhere, secs(9)).unwrap();
    // What went to the group is on its way to the fourth node too.
    sim.run_for(Duration::from_millis(1)).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    w.publisher.set_listener(Count(Arc::clone(&told)), StatusMask::PUBLICATION_MATCHED);
    sim.partition(&[&a], &[&b]);
    let guid = w.writer.instance_handle();
    a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
    assert!(w.writer.matched_subscriptions().is_empty() && w.writer.status_changes() == StatusMask::NONE);
    assert_eq!(a.run(|| w.writer.write(&reading(1, 2))), Err(WriteError::AlreadyDeleted));
    c.run(|| goes.subscriber.delete_datareader(&goes.reader)).unwrap();
    let late = d
        .run(|| -> dunlin::sim::Result<_> {
            let topic = late.create_topic::<Reading>("Readings", &TopicQos::default())?;
            let subscriber = late.create_subscriber(&SubscriberQos::default())?;
            Ok(subscriber.create_datareader(&topic, &durable)?)
        })
        .unwrap();
    sim.run_until(|| late.subscription_matched_status().total_count == 1, secs(1)).unwrap();
    sim.run_for(secs(3)).unwrap();
    assert_eq!((told.load(SeqCst), late.matched_publications().len()), (0, 0));
    assert!(late.read(9).unwrap().is_empty());
    // The reader that was cut off hears of the end of the writer, which is all that is left of it.
    sim.heal();
    sim.run_until(|| r.reader.matched_publications().is_empty(), secs(30)).unwrap();
    assert_eq!(ends(&mut sim, &r.reader, 1), [(1, NO_WRITERS)]);
    let next = a.run(|| w.publisher.create_datawriter(&w.topic, &DataWriterQos::default())).unwrap();
    assert_ne!(next.instance_handle(), guid);
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Named {
    #[dds(key)]
    name: String,
    n: i32,
}

/// A key that is longer than its hash goes with its end, and can be asked for, although only values were written.
#[test]
fn the_end_of_an_instance_carries_its_key() {
    let mut sim = Sim::new(3);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let named = |n: i32| Named { name: "a name that is longer than the hash of a key".into(), n };
    let participant = a.run(|| dunlin::DomainParticipant::new(0)).unwrap();
    let topic = participant.create_topic::<Named>("Named", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let qos = DataWriterQos::default().keep_all().transient_local();
    let writer = a.run(|| publisher.create_datawriter(&topic, &qos)).unwrap();
    a.run(|| writer.write(&named(1))).unwrap();
    let handle = writer.lookup_instance(&named(0));
    assert_ne!(handle, InstanceHandle::NIL);
    assert_eq!(writer.key_value(handle), Ok(Named { n: 0, ..named(0) }));
    // This reader is not given the value, only the end.
    let reader = b
        .run(|| -> dunlin::sim::Result<_> {
            let participant = dunlin::DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Named>("Named", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            Ok(subscriber.create_datareader(&topic, &DataReaderQos::default().reliable())?)
        })
        .unwrap();
    sim.run_until(|| writer.matched_subscriptions().len() == 1, secs(9)).unwrap();
    a.run(|| writer.write(&named(2))).unwrap();
    a.run(|| publisher.delete_datawriter(&writer)).unwrap();
    let ended = || {
        let read = reader.read(9).unwrap();
        read.iter().any(|sample| sample.info.instance_state == DISPOSED)
    };
    sim.run_until(ended, secs(9)).unwrap();
    assert_eq!(reader.key_value(handle), Ok(named(0)));
}

/// Each end is a message of its own, but they share datagrams, and nobody has to wait for the readers.
#[test]
fn many_instances_end_in_few_datagrams() {
    let (mut sim, a, _b, w, r) = pair();
    let count = 2_000;
    for id in 0..count {
        a.run(|| w.writer.write(&reading(id, id))).unwrap();
    }
    sim.run_until(|| r.reader.read(usize::MAX).unwrap().len() == count as usize, secs(60)).unwrap();
    let sent = || w.participant.transport_stats().sent_datagrams;
    let before = sent();
    a.run(|| w.publisher.delete_datawriter(&w.writer)).unwrap();
    let seen = ends(&mut sim, &r.reader, count as usize);
    assert!(seen.iter().all(|(_, state)| *state == DISPOSED));
    let datagrams = sent() - before;
    assert!(datagrams < count as u64 / 5, "{datagrams} datagrams");
}
