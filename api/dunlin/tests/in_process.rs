//! Participants of one process hand each other data on the thread that writes; large payloads are not copied.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use common::{Track, domain, eventually, track};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, ResourceLimits, SubscriberQos, TopicQos};
use dunlin::{
    Config, DataReader, DataWriter, DomainParticipant, Duration, InstanceState, Sample, StatusMask, WallTime,
};

/// A call that takes longer has been kept.
const LONGEST_CALL: std::time::Duration = std::time::Duration::from_secs(30);

fn participant(domain: u32, settings: &[(&str, &str)]) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    settings.iter().for_each(|(key, value)| config.set(key, value).unwrap());
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

fn writer(participant: &DomainParticipant) -> DataWriter<Track> {
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default()).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all();
    participant.create_publisher(&PublisherQos::default()).unwrap().create_datawriter(&topic, &qos).unwrap()
}

fn reader(participant: &DomainParticipant) -> DataReader<Track> {
    let topic = participant.create_topic::<Track>("Tracks", &TopicQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    participant.create_subscriber(&SubscriberQos::default()).unwrap().create_datareader(&topic, &qos).unwrap()
}

fn matched(writer: &DataWriter<Track>, readers: usize) {
    eventually("all match", || writer.publication_matched_status().current_count == readers as i32);
}

/// Both sides know of each other; until a reader does, samples wait for it at the writer.
fn matched_from_both_sides(writer: &DataWriter<Track>, readers: &[&DataReader<Track>]) {
    matched(writer, readers.len());
    let knows = |reader: &&DataReader<Track>| reader.subscription_matched_status().current_count == 1;
    eventually("the readers match", || readers.iter().all(knows));
}

fn threads_of(settings: &[(&str, &str)]) -> (ThreadId, Vec<ThreadId>) {
    let domain = domain();
    let (publishing, subscribing) = (participant(domain, settings), participant(domain, settings));
    let (writer, reader) = (writer(&publishing), reader(&subscribing));
    let threads = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&threads);
    let listener = move |reader: &DataReader<Track>| {
        let (taken, here) = (reader.take(100).unwrap().len(), std::thread::current().id());
        told.lock().unwrap().extend(std::iter::repeat_n(here, taken));
    };
    reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
    matched_from_both_sides(&writer, &[&reader]);
    let before = publishing.transport_stats();
    for n in 0..10 {
        writer.write(&track(n, 0)).unwrap();
    }
    eventually("all are told", || threads.lock().unwrap().len() == 10);
    let sent = publishing.transport_stats().shared_sent_datagrams - before.shared_sent_datagrams;
    let told: Vec<_> = threads.lock().unwrap().clone();
    assert_eq!(sent > 0, told.iter().any(|thread| *thread != std::thread::current().id()));
    (std::thread::current().id(), told)
}

#[test]
fn listeners_within_a_process_are_called_on_the_writing_thread() {
    let (here, told) = threads_of(&[]);
    assert_eq!(told, [here; 10]);
}

#[test]
fn listeners_run_on_library_thread_without_in_process_delivery() {
    let (here, told) = threads_of(&[("shared_memory.in_process", "false")]);
    assert!(told.iter().all(|thread| *thread != here));
}

#[test]
fn a_large_payload_is_the_same_memory_for_every_reader_of_the_process() {
    let domain = domain();
    let (own, other) = (participant(domain, &[]), participant(domain, &[]));
    let writer = writer(&own);
    let readers = [reader(&own), reader(&other), reader(&other)];
    matched_from_both_sides(&writer, &readers.each_ref());
    for number in 0..4 {
        let octets = vec![number; 921_600];
        writer.write(&Track { octets: octets.clone(), ..track(number.into(), 0) }).unwrap();
        let payloads: Vec<_> = readers
            .iter()
            .map(|reader| {
                // It is there already: the thread that writes has brought it.
                let mut taken = reader.take_payloads(10).unwrap();
                assert_eq!(taken.len(), 1, "sample {number}");
                taken.remove(0).payload.unwrap()
            })
            .collect();
        assert!(payloads.iter().all(|payload| payload.as_ptr() == payloads[0].as_ptr()));
        assert!(payloads[0].ends_with(&octets));
    }
}

#[test]
fn participants_that_leave_and_join_lose_nothing_for_the_others() {
    let domain = domain();
    let (publishing, staying) = (participant(domain, &[]), participant(domain, &[]));
    let (writer, stays) = (writer(&publishing), reader(&staying));
    for round in 0..5 {
        let leaving = participant(domain, &[]);
        let leaves = reader(&leaving);
        matched_from_both_sides(&writer, &[&stays, &leaves]);
        for n in 0..20 {
            writer.write(&track(n, round)).unwrap();
        }
        assert_eq!(leaves.take(100).unwrap().len(), 20);
        drop((leaves, leaving));
        matched(&writer, 1);
        writer.write(&track(20, round)).unwrap();
        let taken = stays.take(100).unwrap();
        assert!(taken.len() == 21 && taken.iter().all(|sample| sample.data.as_ref().unwrap().speed == round));
    }
}

/// A reader and a writer in each of two participants, each of which answers the other in its listener while `goes_on`.
fn answering(goes_on: impl Fn(&Track) -> bool + Clone + Send + Sync + 'static) -> Exchange {
    let domain = domain();
    answering_on([participant(domain, &[]), participant(domain, &[])], goes_on)
}

/// The same on these two, which may be one.
fn answering_on(
    sides: [DomainParticipant; 2],
    goes_on: impl Fn(&Track) -> bool + Clone + Send + Sync + 'static,
) -> Exchange {
    let topics = ["Ping", "Pong"];
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    for (n, side) in sides.iter().enumerate() {
        let topic = |name: &str| side.create_topic::<Track>(name, &TopicQos::default()).unwrap();
        let qos = DataWriterQos::default().reliable();
        let publisher = side.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic(topics[n]), &qos).unwrap();
        let qos = DataReaderQos::default().reliable();
        let subscriber = side.create_subscriber(&SubscriberQos::default()).unwrap();
        let reader = subscriber.create_datareader(&topic(topics[1 - n]), &qos).unwrap();
        let (with, goes_on) = (writer.clone(), goes_on.clone());
        let listener = move |reader: &DataReader<Track>| {
            for track in reader.take(100).unwrap().into_iter().filter_map(|sample| sample.data) {
                if goes_on(&track) {
                    with.write(&Track { speed: track.speed + 1, ..track }).unwrap();
                }
            }
        };
        reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
        writers.push(writer);
        readers.push(reader);
    }
    writers.iter().for_each(|writer| matched(writer, 1));
    for reader in &readers {
        eventually("both see each other", || reader.subscription_matched_status().current_count == 1);
    }
    Exchange { writers, _readers: readers, sides }
}

struct Exchange {
    writers: Vec<DataWriter<Track>>,
    _readers: Vec<DataReader<Track>>,
    sides: [DomainParticipant; 2],
}

#[test]
fn listeners_that_answer_each_other_do_not_call_themselves_ever_deeper() {
    let exchange = answering(|track| track.speed < 10_000);
    exchange.writers[0].write(&track(1, 0)).unwrap();
    let sent = || exchange.writers.iter().map(|writer| writer.stats().samples_sent).sum::<u64>();
    eventually("it ends", || sent() == 10_001);
}

#[test]
fn endless_mutual_listeners_block_neither_the_call_nor_the_timers() {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let exchange = answering(move |_| !stopped.load(SeqCst));
    exchange.writers[0].write(&track(1, 0)).unwrap();
    let sent = || exchange.writers[0].stats().samples_sent;
    let before = sent();
    eventually("it goes on after the call", || sent() > before + 10_000);
    // Discovery needs the threads that would be kept.
    let another = reader(&exchange.sides[0]);
    let writer = writer(&exchange.sides[1]);
    matched_from_both_sides(&writer, &[&another]);
    stop.store(true, SeqCst);
}

/// There is no other participant and no shared memory: what waits in the queue of the thread is all that goes on.
#[test]
fn mutual_listeners_of_one_participant_end_the_call_without_shared_memory() {
    let own = participant(domain(), &[("shared_memory.enabled", "false")]);
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, deadline) = (Arc::clone(&stop), Instant::now() + LONGEST_CALL);
    // If the call does not return the listeners end it, late.
    let exchange =
        answering_on([own.clone(), own], move |_| !stopped.load(SeqCst) && Instant::now() < deadline);
    exchange.writers[0].write(&track(1, 0)).unwrap();
    assert!(Instant::now() < deadline, "the call was kept");
    let sent = || exchange.writers[0].stats().samples_sent;
    let before = sent();
    eventually("it goes on after the call", || sent() > before + 1_000);
    stop.store(true, SeqCst);
}

/// The samples of others are theirs, and so are their mistakes.
#[test]
fn a_listener_that_panics_ends_no_call_of_another_participant() {
    let domain = domain();
    let (own, other) = (participant(domain, &[]), participant(domain, &[]));
    let writer = writer(&own);
    let (clumsy, careful) = (reader(&other), reader(&other));
    clumsy.set_listener(|_: &DataReader<Track>| panic!("a listener of a test"), StatusMask::DATA_AVAILABLE);
    let told = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&told);
    careful.set_listener(move |_: &DataReader<Track>| heard.store(true, SeqCst), StatusMask::DATA_AVAILABLE);
    matched_from_both_sides(&writer, &[&clumsy, &careful]);
    writer.write(&track(1, 0)).unwrap();
    assert!(told.load(SeqCst), "whatever order they are told in");
}

/// One of its own ends the call, as a function would that the caller calls; what was to be done besides is done.
#[test]
fn a_listener_that_panics_ends_the_call_of_its_own_participant_at_last() {
    let domain = domain();
    let (own, other) = (participant(domain, &[]), participant(domain, &[]));
    let writer = writer(&own);
    let (clumsy, careful) = (reader(&own), reader(&other));
    clumsy.set_listener(|_: &DataReader<Track>| panic!("a listener of a test"), StatusMask::DATA_AVAILABLE);
    matched_from_both_sides(&writer, &[&clumsy, &careful]);
    let call = AssertUnwindSafe(|| writer.write(&track(1, 0)));
    assert!(catch_unwind(call).is_err());
    assert_eq!((clumsy.take(10).unwrap().len(), careful.take(10).unwrap().len()), (1, 1));
}

/// Writer and reader that have heard of each other, so that nothing but data is still to be exchanged.
fn settled(publishing: &DomainParticipant, subscribing: &DomainParticipant, qos: &DataReaderQos) -> Pair {
    let writer = writer(publishing);
    let topic = subscribing.create_topic::<Track>("Tracks", &TopicQos::default()).unwrap();
    let subscriber = subscribing.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, qos).unwrap();
    matched_from_both_sides(&writer, &[&reader]);
    writer.write(&track(0, 0)).unwrap();
    writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    eventually("the first sample", || !reader.take(10).unwrap().is_empty());
    Pair { writer, reader }
}

struct Pair {
    writer: DataWriter<Track>,
    reader: DataReader<Track>,
}

#[test]
fn within_a_process_there_are_neither_messages_nor_acknowledgements() {
    let domain = domain();
    let (own, other) = (participant(domain, &[]), participant(domain, &[]));
    for subscribing in [&own, &other] {
        let Pair { writer, reader } =
            settled(&own, subscribing, &DataReaderQos::default().reliable().keep_all());
        let exchanged = || {
            let stats = writer.stats();
            stats.datagrams_sent + stats.heartbeats_sent + stats.acknacks_received
        };
        let (before, sent) = (exchanged(), writer.stats().samples_sent);
        for n in 0..100 {
            writer.write(&track(n % 3, n)).unwrap();
            let taken = reader.take(10).unwrap();
            assert!(taken.len() == 1 && taken[0].data.as_ref().unwrap().speed == n, "{taken:?}");
        }
        writer.wait_for_acknowledgments(Duration::ZERO).unwrap();
        // Of the first sample something may still be in flight.
        let more = exchanged() - before;
        assert!(more < 10, "{more} messages for a hundred samples");
        assert_eq!(writer.stats().samples_sent, sent + 100);
        drop((writer, reader));
    }
}

#[test]
fn disposals_keep_their_order_with_samples_within_a_process() {
    let domain = domain();
    let (own, other) = (participant(domain, &[]), participant(domain, &[]));
    let Pair { writer, reader } = settled(&own, &other, &DataReaderQos::default().keep_all());
    let before = writer.stats().datagrams_sent;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let at = WallTime(i64::try_from(now.as_nanos()).unwrap() + 1_000_000_007);
    let next = || {
        let mut taken = reader.take(10).unwrap();
        assert_eq!(taken.len(), 1, "it is there already, alone: {taken:?}");
        let Sample { info, data, .. } = taken.remove(0);
        (data.map(|track| track.speed), info.instance_state, info.source_timestamp)
    };
    writer.write_w_timestamp(&track(7, 1), at).unwrap();
    assert_eq!(next(), (Some(1), InstanceState::Alive, at));
    writer.dispose(&track(7, 1)).unwrap();
    assert_eq!(next(), (None, InstanceState::NotAliveDisposed, at));
    writer.write(&track(7, 2)).unwrap();
    assert_eq!(next(), (Some(2), InstanceState::Alive, at));
    writer.unregister_instance(&track(7, 2)).unwrap();
    assert_eq!(next().0, None);
    assert_eq!(writer.stats().datagrams_sent, before);
}

/// A reader without room acknowledges nothing, and gets the rest when it has some.
#[test]
fn rejected_samples_come_later_and_in_order() {
    let domain = domain();
    let (own, other) = (participant(domain, &[]), participant(domain, &[]));
    let qos = DataReaderQos {
        resource_limits: ResourceLimits { max_samples: 4, ..ResourceLimits::default() },
        ..DataReaderQos::default().reliable().keep_all()
    };
    let Pair { writer, reader } = settled(&own, &other, &qos);
    for n in 0..20 {
        writer.write(&track(0, n)).unwrap();
    }
    assert!(writer.wait_for_acknowledgments(Duration::ZERO).is_err());
    let waiting = {
        let writer = writer.clone();
        std::thread::spawn(move || writer.wait_for_acknowledgments(Duration::from_secs(20)))
    };
    let mut seen = Vec::new();
    eventually("the rest", || {
        let taken = reader.take(3).unwrap();
        seen.extend(taken.into_iter().filter_map(|sample| sample.data).map(|track| track.speed));
        seen.len() == 20
    });
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
    waiting.join().unwrap().unwrap();
    let before = writer.stats().datagrams_sent;
    writer.write(&track(0, 20)).unwrap();
    assert_eq!((reader.take(10).unwrap().len(), writer.stats().datagrams_sent), (1, before));
}

/// Several threads write with one writer while their waits for acknowledgements begin and end: each hears of its own.
#[test]
fn wait_for_acknowledgments_of_several_threads_returns_for_each() {
    let domain = domain();
    let (own, other) = (participant(domain, &[]), participant(domain, &[]));
    let Pair { writer, reader } = settled(&own, &other, &DataReaderQos::default().reliable().keep_all());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let writer = &writer;
            scope.spawn(move || {
                for n in 0..500 {
                    writer.write(&track(thread, n)).unwrap();
                    writer.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
                }
            });
        }
    });
    assert_eq!(reader.take(usize::MAX).unwrap().len(), 2_000);
}
