//! PRESENTATION (DDS 1.4 §2.2.3.6): coherent sets and ordered access, of a topic and of a group.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use PresentationAccessScope::{Group, Topic};
use dunlin::qos::{
    DataReaderQos, DataWriterQos, PolicyId, PresentationAccessScope, PublisherQos, SubscriberQos, TopicQos,
};
use dunlin::sim::{Context, Node, Result, Sim, seeds};
use dunlin::{
    DataReader, DataWriter, DomainParticipant, GroupAccessError, InstanceHandle, Publisher, ReadError,
    ReturnCode, StateMasks, Subscriber,
};

use crate::support::*;

mod writers;

const TOPICS: [&str; 3] = ["First", "Second", "Third"];

/// The PRESENTATION that a disabled publisher and subscriber are given is the one in force, of a set, and of an access that is
/// begun before there is data if `early`.
fn presentation_changes_before_enable(early: bool) {
    let mut sim = Sim::new(8);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let disabled = |node: &Node| node.run(|| DomainParticipant::builder(0).enabled(false).build()).unwrap();
    let (one, other) = (disabled(&a), disabled(&b));
    let (qos, reader_qos) = (writer_qos(), reader_qos());
    let sources = a.run(|| sources_of(&one, PublisherQos::default(), &qos, &TOPICS[..2])).unwrap();
    let views = b.run(|| views_of(&other, SubscriberQos::default(), &reader_qos, &TOPICS[..2])).unwrap();
    a.run(|| sources.publisher.set_qos(&publisher_qos(Group, true, true))).unwrap();
    b.run(|| views.subscriber.set_qos(&subscriber_qos(Group, true, true))).unwrap();
    assert_eq!(sources.publisher.begin_coherent_changes(), Err(GroupAccessError::NotEnabled));
    assert_eq!(views.subscriber.begin_access(), Err(GroupAccessError::NotEnabled));
    a.run(|| one.enable()).unwrap();
    b.run(|| other.enable()).unwrap();
    a.run(|| sources.publisher.begin_coherent_changes()).unwrap();
    if early {
        b.run(|| views.subscriber.begin_access()).unwrap();
    }
    let matched = || views.readers.iter().all(|reader| !reader.matched_publications().is_empty());
    sim.run_until(matched, secs(30)).unwrap();
    // Of a new access, or of the early one.
    let seen = || {
        b.run(|| {
            views.subscriber.begin_access().unwrap();
            let seen = views.subscriber.datareaders(StateMasks::ANY).unwrap().len();
            views.subscriber.end_access().unwrap();
            seen
        })
    };
    for writer in &sources.writers {
        a.run(|| writer.write(&reading(1))).unwrap();
    }
    sim.run_for(secs(2)).unwrap();
    assert_eq!(seen(), 0, "the set is open");
    a.run(|| sources.publisher.end_coherent_changes()).unwrap();
    sim.run_for(secs(2)).unwrap();
    if early {
        assert_eq!(seen(), 0, "the access was begun before");
        b.run(|| views.subscriber.end_access()).unwrap();
    }
    assert_eq!(seen(), 2);
    let refused = b.run(|| views.readers[0].take(1)).unwrap_err();
    assert_eq!(refused, ReadError::NotBegun);
}

#[test]
fn presentation_may_change_before_enable_and_is_effective() {
    presentation_changes_before_enable(false);
    presentation_changes_before_enable(true);
}

/// A publisher with a writer for each topic.
#[derive(Clone)]
struct Sources {
    publisher: Publisher,
    writers: Vec<DataWriter<Reading>>,
}

/// A subscriber with a reader for each topic.
#[derive(Clone)]
struct Views {
    subscriber: Subscriber,
    readers: Vec<DataReader<Reading>>,
}

fn sources(qos: PublisherQos, writer_qos: &DataWriterQos, topics: &[&str]) -> Result<Sources> {
    sources_of(&DomainParticipant::new(0)?, qos, writer_qos, topics)
}

fn sources_of(
    participant: &DomainParticipant,
    qos: PublisherQos,
    writer_qos: &DataWriterQos,
    topics: &[&str],
) -> Result<Sources> {
    let publisher = participant.create_publisher(&qos)?;
    let writer = |topic: &&str| -> Result<DataWriter<Reading>> {
        let topic = participant.create_topic::<Reading>(topic, &TopicQos::default())?;
        Ok(publisher.create_datawriter(&topic, writer_qos)?)
    };
    let writers = topics.iter().map(writer).collect::<Result<Vec<_>>>()?;
    Ok(Sources { publisher, writers })
}

fn views(qos: SubscriberQos, reader_qos: &DataReaderQos, topics: &[&str]) -> Result<Views> {
    views_of(&DomainParticipant::new(0)?, qos, reader_qos, topics)
}

fn views_of(
    participant: &DomainParticipant,
    qos: SubscriberQos,
    reader_qos: &DataReaderQos,
    topics: &[&str],
) -> Result<Views> {
    let subscriber = participant.create_subscriber(&qos)?;
    let reader = |topic: &&str| -> Result<DataReader<Reading>> {
        let topic = participant.create_topic::<Reading>(topic, &TopicQos::default())?;
        Ok(subscriber.create_datareader(&topic, reader_qos)?)
    };
    let readers = topics.iter().map(reader).collect::<Result<Vec<_>>>()?;
    Ok(Views { subscriber, readers })
}

fn publisher_qos(scope: PresentationAccessScope, coherent: bool, ordered: bool) -> PublisherQos {
    PublisherQos::default().presentation(scope, coherent, ordered)
}

fn subscriber_qos(scope: PresentationAccessScope, coherent: bool, ordered: bool) -> SubscriberQos {
    SubscriberQos::default().presentation(scope, coherent, ordered)
}

fn volatile_writer() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all()
}

fn volatile_reader() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

fn all_matched(sources: &Sources, views: &Views) -> bool {
    sources.writers.iter().all(|writer| writer.matched_subscriptions().len() == 1)
        && views.readers.iter().all(|reader| reader.matched_publications().len() == 1)
}

fn taken(reader: &DataReader<Reading>) -> Vec<u32> {
    // Of a group that is read in order a call returns one.
    let mut taken = Vec::new();
    while reader.take_into(100_000, &mut taken).expect("no condition") > 0 {}
    taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n).collect()
}

/// What a reader of a group has, taken within an access.
fn taken_of(views: &Views, index: usize) -> Vec<u32> {
    views.subscriber.begin_access().unwrap();
    let taken = taken(&views.readers[index]);
    views.subscriber.end_access().expect("begun");
    taken
}

fn taken_of_all(views: &Views) -> Vec<u32> {
    views.subscriber.begin_access().unwrap();
    let taken = views.readers.iter().flat_map(taken).collect();
    views.subscriber.end_access().expect("begun");
    taken
}

fn pair(
    sim: &mut Sim,
    scope: PresentationAccessScope,
    topics: &[&str],
) -> Result<(Node, Node, Sources, Views)> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let sources = a.run(|| sources(publisher_qos(scope, true, true), &volatile_writer(), topics))?;
    let views = b.run(|| views(subscriber_qos(scope, true, true), &volatile_reader(), topics))?;
    sim.run_until(|| all_matched(&sources, &views), secs(30))?;
    sim.run_for(secs(3))?;
    Ok((a, b, sources, views))
}

#[test]
fn a_set_of_a_topic_is_seen_when_it_is_ended() {
    let mut sim = Sim::new(1);
    let (a, _, sources, views) = pair(&mut sim, Topic, &TOPICS[..1]).unwrap();
    let (writer, reader) = (&sources.writers[0], &views.readers[0]);
    a.run(|| writer.write(&reading(0)).unwrap());
    sim.run_for(millis(100)).unwrap();
    assert_eq!(taken(reader), [0], "what is in no set does not wait");
    a.run(|| {
        sources.publisher.begin_coherent_changes().unwrap();
        sources.publisher.begin_coherent_changes().unwrap();
        (1..4).for_each(|n| writer.write(&reading(n)).unwrap());
        sources.publisher.end_coherent_changes().unwrap();
    });
    sim.run_for(secs(1)).unwrap();
    assert_eq!(taken(reader), [], "the outer one is open");
    a.run(|| {
        writer.write(&reading(4)).unwrap();
        sources.publisher.end_coherent_changes().unwrap();
        assert_eq!(sources.publisher.end_coherent_changes(), Err(GroupAccessError::NotBegun));
    });
    sim.run_for(millis(100)).unwrap();
    assert_eq!(taken(reader), [1, 2, 3, 4]);
    assert_eq!(GroupAccessError::NotBegun.return_code(), ReturnCode::PreconditionNotMet);
}

/// In a set all values are the same, and each set has another.
async fn write_sets(cx: Context, sources: Sources, sets: u32) -> Result {
    write_sets_and_tell(cx, sources, sets, Arc::default()).await
}

/// Writes sets of eight samples; `written` counts samples.
async fn write_sets_and_tell(cx: Context, sources: Sources, sets: u32, written: Arc<AtomicU32>) -> Result {
    for set in 0..sets {
        sources.publisher.begin_coherent_changes().unwrap();
        for round in 0..3 {
            for writer in sources.writers.iter().skip(round % 2) {
                writer.write_async(&reading(set)).await?;
                written.fetch_add(1, Relaxed);
            }
            cx.sleep(millis(3)).await;
        }
        sources.publisher.end_coherent_changes()?;
        cx.sleep(millis(5)).await;
    }
    Ok(())
}

/// Samples of each set in each reader.
type Seen = BTreeMap<u32, [usize; 3]>;

fn look(views: &Views, seen: &mut Seen) {
    views.subscriber.begin_access().unwrap();
    let mut now: Seen = BTreeMap::new();
    for (index, reader) in views.readers.iter().enumerate() {
        taken(reader).into_iter().for_each(|set| now.entry(set).or_default()[index] += 1);
    }
    views.subscriber.end_access().expect("begun");
    for (set, counts) in now {
        assert_eq!(counts, [2, 3, 3], "set {set} is whole");
        assert_eq!(seen.insert(set, counts), None, "and seen at once");
    }
}

#[test]
fn sets_of_a_group_are_whole_or_not_there_under_loss() {
    Sim::builder().loss(0.1).delay(millis(1), millis(10)).seeds(0..20, |sim| {
        let (a, b, sources, views) = pair(sim, Group, &TOPICS)?;
        let writing = sources.clone();
        let task = a.spawn(|cx| write_sets(cx, writing, 50));
        let mut seen = Seen::new();
        for _ in 0..2_000 {
            sim.run_for(millis(7))?;
            b.run(|| look(&views, &mut seen));
            if seen.len() == 50 {
                break;
            }
        }
        assert_eq!(seen.len(), 50, "every set arrives");
        sim.join(&task, secs(10))?;
        Ok(())
    });
}

/// The publisher dies when it has written a part of a set, wherever the samples of it are by then.
#[test]
fn a_set_whose_writer_crashes_is_not_seen() {
    Sim::builder().loss(0.1).delay(millis(1), millis(10)).seeds(0..40, |sim| {
        let (a, b, sources, views) = pair(sim, Group, &TOPICS)?;
        let (writing, written) = (sources.clone(), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&written);
        a.spawn(|cx| write_sets_and_tell(cx, writing, 1_000, counted));
        let mut seen = Seen::new();
        let last = 10 + sim.random() as u32 % 20;
        let some_of_it = 8 * last + 1 + sim.random() as u32 % 7;
        sim.run_until(|| written.load(Relaxed) >= some_of_it, secs(60))?;
        assert!(written.load(Relaxed) <= 8 * last + 8, "it has not been ended");
        b.run(|| look(&views, &mut seen));
        a.crash();
        for _ in 0..300 {
            sim.run_for(millis(100))?;
            b.run(|| look(&views, &mut seen));
        }
        assert!(views.readers.iter().all(|reader| reader.matched_publications().is_empty()));
        // All that were ended and arrived, none left out, and nothing of the one that was never ended.
        assert!(seen.keys().copied().eq(0..seen.len() as u32), "{:?}", seen.keys());
        assert!(!seen.is_empty() && seen.len() <= last as usize, "{} of {last}", seen.len());
        Ok(())
    });
}

fn lost(views: &Views) -> Vec<i32> {
    views.readers.iter().map(|reader| reader.sample_lost_status().total).collect()
}

/// What had arrived of it is told as lost, in every reader, once nobody can end it any more.
#[test]
fn a_coherent_set_without_a_possible_end_counts_all_samples_lost() {
    let mut sim = Sim::new(6);
    let (a, b, sources, views) = pair(&mut sim, Group, &TOPICS).unwrap();
    a.run(|| sources.publisher.begin_coherent_changes()).unwrap();
    for (topic, n) in [(0, 1), (1, 2), (1, 3)] {
        a.run(|| sources.writers[topic].write(&reading(n))).unwrap();
    }
    sim.run_for(secs(1)).unwrap();
    assert_eq!(lost(&views), [0, 0, 0], "it may still be ended");
    a.crash();
    sim.run_for(secs(30)).unwrap();
    assert!(views.readers.iter().all(|reader| reader.matched_publications().is_empty()));
    assert_eq!((b.run(|| taken_of_all(&views)), lost(&views)), (vec![], vec![1, 2, 0]));
}

/// What a writer wrote before it was deleted within a set is there, so the set is whole; the publisher goes on without it.
#[test]
fn a_set_of_which_a_writer_is_deleted_is_whole_all_the_same() {
    for seed in 0..4 {
        let mut sim = Sim::builder().seed(seed).loss(0.2).build();
        let (a, b, sources, views) = pair(&mut sim, Group, &TOPICS).unwrap();
        let write = |topic: usize, n: u32| a.run(|| sources.writers[topic].write(&reading(n))).unwrap();
        a.run(|| sources.publisher.begin_coherent_changes()).unwrap();
        (0..3).for_each(|topic| write(topic, topic as u32));
        sim.run_for(secs(1)).unwrap();
        a.run(|| sources.publisher.delete_datawriter(&sources.writers[1])).unwrap();
        sim.run_until(|| views.readers[1].matched_publications().is_empty(), secs(30)).unwrap();
        write(0, 3);
        sim.run_for(secs(5)).unwrap();
        assert_eq!(b.run(|| taken_of_all(&views)), [], "{seed}: it has not been ended");
        a.run(|| sources.publisher.end_coherent_changes()).unwrap();
        sim.run_for(secs(5)).unwrap();
        assert_eq!((b.run(|| taken_of_all(&views)), lost(&views)), (vec![0, 3, 1, 2], vec![0; 3]), "{seed}");
        a.run(|| sources.publisher.begin_coherent_changes()).unwrap();
        write(0, 10);
        write(2, 11);
        a.run(|| sources.publisher.end_coherent_changes()).unwrap();
        sim.run_for(secs(5)).unwrap();
        assert_eq!((b.run(|| taken_of_all(&views)), lost(&views)), (vec![10, 11], vec![0; 3]), "{seed}");
    }
}

/// A best-effort set of which one sample is lost: none of it is shown, all of it is lost, and the next set is whole.
#[test]
fn a_set_that_stays_incomplete_is_lost_as_a_whole() {
    let mut sim = Sim::new(9);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer_qos = DataWriterQos::default().best_effort().keep_all();
    let reader_qos = DataReaderQos::default().best_effort().keep_all();
    let sources = a.run(|| sources(publisher_qos(Topic, true, true), &writer_qos, &TOPICS[..1])).unwrap();
    let views = b.run(|| views(subscriber_qos(Topic, true, true), &reader_qos, &TOPICS[..1])).unwrap();
    sim.run_until(|| all_matched(&sources, &views), secs(30)).unwrap();
    sim.run_for(secs(3)).unwrap();
    let (writer, reader) = (&sources.writers[0], &views.readers[0]);
    let set = |sim: &mut Sim, from: u32, lost: Option<u32>| {
        a.run(|| sources.publisher.begin_coherent_changes().unwrap());
        for n in from..from + 4 {
            if lost == Some(n) {
                sim.cut(&a, &b);
            }
            a.run(|| writer.write(&reading(n))).unwrap();
            sim.run_for(millis(20)).unwrap();
            sim.mend(&a, &b);
        }
        a.run(|| sources.publisher.end_coherent_changes()).unwrap();
        sim.run_for(secs(1)).unwrap();
        taken(reader)
    };
    let lost = || {
        let status = reader.sample_lost_status();
        (status.total, status.change)
    };
    assert_eq!((set(&mut sim, 0, None), lost()), (vec![0, 1, 2, 3], (0, 0)));
    assert_eq!((set(&mut sim, 10, Some(12)), lost()), (vec![], (4, 4)));
    assert_eq!((set(&mut sim, 20, None), lost()), (vec![20, 21, 22, 23], (4, 0)));
}

#[test]
fn begin_access_freezes_the_samples_of_a_group() {
    let mut sim = Sim::new(5);
    let (a, b, sources, views) = pair(&mut sim, Group, &TOPICS).unwrap();
    b.run(|| views.subscriber.begin_access().unwrap());
    a.run(|| sources.writers[1].write(&reading(7)).unwrap());
    sim.run_for(secs(1)).unwrap();
    assert_eq!(taken(&views.readers[1]), []);
    b.run(|| views.subscriber.end_access()).unwrap();
    assert_eq!(b.run(|| taken_of(&views, 1)), [7]);
    assert_eq!(b.run(|| views.subscriber.end_access()), Err(GroupAccessError::NotBegun));
}

/// What needs begin_access is refused without it (DDS 1.4 §2.2.2.5.2.8).
#[test]
fn group_reader_outside_begin_access_cannot_be_read() {
    let mut sim = Sim::new(8);
    let (a, b, sources, views) = pair(&mut sim, Group, &TOPICS[..1]).unwrap();
    a.run(|| sources.writers[0].write(&reading(7)).unwrap());
    sim.run_for(secs(1)).unwrap();
    let reader = &views.readers[0];
    let unread = reader.create_readcondition(StateMasks::NOT_READ).unwrap();
    let query = reader.create_querycondition(StateMasks::ANY, "n = 7", &[""; 0]).unwrap();
    let nil = InstanceHandle::NIL;
    let all = || {
        b.run(|| {
            [
                reader.read(9).err(),
                reader.take(9).err(),
                reader.read_next_sample().err(),
                reader.take_into(9, &mut Vec::new()).err(),
                reader.take_payloads(9).err(),
                reader.take_loaned(9).err(),
                reader.read_w_condition(9, &unread).err(),
                reader.take_w_condition(9, &query).err(),
                reader.read_next_instance(9, nil, StateMasks::ANY).err(),
                reader.read_next_instance_w_condition(9, nil, &query).err(),
            ]
        })
    };
    assert_eq!(all(), [const { Some(ReadError::NotBegun) }; 10]);
    assert_eq!(ReadError::NotBegun.return_code(), ReturnCode::PreconditionNotMet);
    assert!(unread.condition().trigger_value(), "nothing was touched");
    b.run(|| {
        views.subscriber.begin_access().unwrap();
        assert_eq!(reader.read(9).unwrap().len(), 1);
        assert_eq!(reader.take_w_condition(9, &query).unwrap().len(), 1);
        views.subscriber.end_access().unwrap();
    });
    assert_eq!(all()[0], Some(ReadError::NotBegun), "the access is over");
    // A stream has an access of its own for each look.
    let reader = reader.clone();
    let task = b.spawn(async move |_| -> Result<_> {
        Ok(reader.stream().next().await.and_then(|sample| sample.data).map(|reading| reading.n))
    });
    a.run(|| sources.writers[0].write(&reading(8)).unwrap());
    assert_eq!(sim.join(&task, secs(10)).unwrap(), Some(8));
}

#[test]
fn changes_of_a_group_are_read_in_the_order_of_writing() {
    seeds(0..10, |sim| {
        let (a, b, sources, views) = pair(sim, Group, &TOPICS)?;
        assert_eq!(
            b.run(|| views.subscriber.datareaders(StateMasks::ANY)).err(),
            Some(GroupAccessError::NotBegun)
        );
        let seed = sim.seed() as usize;
        let writer = |n: u32| &sources.writers[(n as usize * 7 + seed + n as usize / 3) % 3];
        a.run(|| (0..60).try_for_each(|n| writer(n).write(&reading(n))))?;
        sim.run_for(secs(2))?;
        b.run(|| {
            views.subscriber.begin_access().unwrap();
            let list = views.subscriber.datareaders(StateMasks::NOT_READ).unwrap();
            let next = |reader: &dunlin::AnyDataReader| {
                let reader = reader.typed::<Reading>().expect("all are of this type");
                reader.take(1).unwrap().pop().and_then(|sample| sample.data).map(|reading| reading.n)
            };
            let order: Vec<u32> = list.iter().filter_map(next).collect();
            assert_eq!(order, (0..60).collect::<Vec<_>>());
            views.subscriber.end_access().unwrap();
        });
        Ok(())
    });
}

/// DDS 1.4 §2.2.2.5.3.8.
#[test]
fn a_call_returns_one_sample_of_a_group_that_is_read_in_order() {
    let nil = InstanceHandle::NIL;
    for (scope, ordered, most) in [(Group, true, 1), (Group, false, 3), (Topic, true, 3)] {
        let mut sim = Sim::new(11);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let topics = &TOPICS[..1];
        let sources =
            a.run(|| sources(publisher_qos(scope, false, ordered), &volatile_writer(), topics)).unwrap();
        let views =
            b.run(|| views(subscriber_qos(scope, false, ordered), &volatile_reader(), topics)).unwrap();
        sim.run_until(|| all_matched(&sources, &views), secs(30)).unwrap();
        sim.run_for(secs(3)).unwrap();
        a.run(|| (0..3).try_for_each(|n| sources.writers[0].write(&reading(n)))).unwrap();
        sim.run_for(secs(1)).unwrap();
        let reader = &views.readers[0];
        let any = reader.create_readcondition(StateMasks::ANY).unwrap();
        let query = reader.create_querycondition(StateMasks::ANY, "n >= 0 ORDER BY n", &[""; 0]).unwrap();
        b.run(|| {
            views.subscriber.begin_access().unwrap();
            let counts = [
                reader.read(9).unwrap().len(),
                reader.read_states(9, StateMasks::ANY).unwrap().len(),
                reader.read_w_condition(9, &any).unwrap().len(),
                reader.read_w_condition(9, &query).unwrap().len(),
                reader.read_next_instance(9, nil, StateMasks::ANY).unwrap().len(),
                reader.read_next_instance_w_condition(9, nil, &any).unwrap().len(),
            ];
            assert_eq!(counts, [most; 6], "{scope:?}");
            assert_eq!(reader.take_payloads(1).unwrap().len(), 1);
            assert_eq!(reader.take_payloads(9).unwrap().len(), most.min(2));
            assert_eq!(reader.take_into(9, &mut Vec::new()).unwrap(), most % 3, "{scope:?}");
            assert_eq!(reader.take(0).unwrap().len(), 0);
            views.subscriber.end_access().unwrap();
        });
    }
}

/// A reader of one topic of three does not wait for ever for what others are to receive.
#[test]
fn readers_of_part_of_a_group_get_their_part_of_a_coherent_set() {
    Sim::builder().loss(0.1).delay(millis(1), millis(10)).seeds(0..10, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let sources = a.run(|| sources(publisher_qos(Group, true, true), &volatile_writer(), &TOPICS))?;
        let views = b.run(|| views(subscriber_qos(Group, true, true), &volatile_reader(), &TOPICS[1..]))?;
        let met = || views.readers.iter().all(|reader| reader.matched_publications().len() == 1);
        sim.run_until(
            || met() && sources.writers[1..].iter().all(|w| w.matched_subscriptions().len() == 1),
            secs(30),
        )?;
        sim.run_for(secs(3))?;
        // Those in no set have no end that everybody is told.
        a.run(|| (0..9).try_for_each(|n| sources.writers[n as usize % 3].write(&reading(n))))?;
        let mut seen = [Vec::new(), Vec::new()];
        sim.run_until(
            || {
                seen.iter_mut()
                    .enumerate()
                    .for_each(|(at, seen)| seen.extend(b.run(|| taken_of(&views, at))));
                seen == [vec![1, 4, 7], vec![2, 5, 8]]
            },
            secs(10),
        )?;
        let writing = sources.clone();
        let task = a.spawn(|cx| write_sets(cx, writing, 10));
        sim.join(&task, secs(10))?;
        sim.run_for(secs(5))?;
        assert!((0..2).all(|at| b.run(|| taken_of(&views, at)).len() == 30));
        Ok(())
    });
}

#[test]
fn presentation_is_compared_and_immutable() {
    let mut sim = Sim::new(6);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let offers =
        a.run(|| sources(publisher_qos(Topic, true, false), &volatile_writer(), &TOPICS[..1])).unwrap();
    let asks = b.run(|| views(subscriber_qos(Group, true, false), &volatile_reader(), &TOPICS[..1])).unwrap();
    let policy = || asks.readers[0].requested_incompatible_qos_status().last_policy_id;
    sim.run_until(|| policy() == Some(PolicyId::Presentation), secs(10)).unwrap();
    let refused = a.run(|| offers.publisher.set_qos(&publisher_qos(Group, true, false))).unwrap_err();
    assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
    assert!(asks.readers[0].matched_publications().is_empty());
}

#[test]
fn suspended_publications_leave_together() {
    let mut sim = Sim::new(7);
    let (a, _, sources, views) = pair(&mut sim, Topic, &TOPICS).unwrap();
    let before = sources.writers[0].stats().datagrams_sent;
    a.run(|| {
        sources.publisher.suspend_publications().unwrap();
        (0..9).for_each(|n| sources.writers[n as usize % 3].write(&reading(n)).unwrap());
    });
    sim.run_for(secs(5)).unwrap();
    assert!(views.readers.iter().all(|reader| taken(reader).is_empty()));
    a.run(|| sources.publisher.resume_publications()).unwrap();
    sim.run_for(millis(100)).unwrap();
    assert_eq!(views.readers.iter().map(taken).collect::<Vec<_>>(), [[0, 3, 6], [1, 4, 7], [2, 5, 8]]);
    assert_eq!(sources.writers[0].stats().datagrams_sent - before, 1);
    assert_eq!(a.run(|| sources.publisher.resume_publications()), Err(GroupAccessError::NotBegun));
}
