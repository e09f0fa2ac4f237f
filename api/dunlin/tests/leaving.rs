//! Programs that end right after their last sample or write, in every way that a program ends: the others have everything and
//! hear that they go. Each program is this one again, with a lease so long that its end cannot be what the others noticed.
//! `make leaving` runs 40 of each kind, and none of them may be believed to be there for longer than 100 ms after its end.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use common::eventually;
use common::processes::{Other, role};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, InstanceState, StatusMask,
};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    #[dds(key)]
    id: u32,
    n: u32,
}

const SAMPLES: u32 = 20;
/// How long programs of these tests are believed to be there although they say nothing.
const LEASE: Duration = Duration::from_secs(60);

fn joined(domain: u32) -> DomainParticipant {
    joined_with(domain, &[])
}

fn joined_with(domain: u32, settings: &[(&str, &str)]) -> DomainParticipant {
    let mut config = Config::default();
    let own = [("network.interfaces", "lo"), ("discovery.lease_duration", "60s")];
    own.iter().chain(settings).for_each(|(key, value)| config.set(key, value).unwrap());
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

fn writing(participant: &DomainParticipant, topic: &str) -> DataWriter<Reading> {
    let topic = participant.create_topic::<Reading>(topic, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all()).unwrap()
}

fn reading(participant: &DomainParticipant, topic: &str) -> DataReader<Reading> {
    let topic = participant.create_topic::<Reading>(topic, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap()
}

/// The same with a listener from the beginning: what arrives at once is told too.
fn heard(
    participant: &DomainParticipant,
    topic: &str,
    listener: impl Fn(&DataReader<Reading>) + Send + Sync + 'static,
) -> DataReader<Reading> {
    let topic = participant.create_topic::<Reading>(topic, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    subscriber.create_datareader_with_listener(&topic, &qos, listener, StatusMask::DATA_AVAILABLE).unwrap()
}

/// How the program ends, with what it holds.
fn end<T>(way: &str, held: T) {
    match way {
        // What the return of `main` does.
        "return" | "slow-listener" => {
            drop(held);
            std::process::exit(0);
        }
        "exit" | "stuck-listener" => std::process::exit(0),
        "leak" => std::mem::forget(held),
        "panic" => panic!("the program of a test"),
        // The process ends meanwhile.
        "exit-in-listener" => loop {
            std::thread::park();
        },
        _ => unreachable!("{way}"),
    }
}

/// What a program waits for that is told by a listener, which goes on for a while, or for ever, with a handle of its own.
fn listener(way: &str, tell: mpsc::Sender<()>) -> impl Fn(&DataReader<Reading>) + Send + Sync + use<> {
    let (way, seen, tell) = (way.to_owned(), AtomicUsize::new(0), Mutex::new(tell));
    move |reader| {
        let count = reader.take(100).unwrap().iter().filter(|sample| sample.data.is_some()).count();
        if seen.fetch_add(count, Ordering::SeqCst) + count < SAMPLES as usize {
            return;
        }
        _ = tell.lock().unwrap().send(());
        match &*way {
            "slow-listener" => std::thread::park_timeout(std::time::Duration::from_millis(20)),
            "stuck-listener" => loop {
                std::thread::park();
            },
            "exit-in-listener" => std::process::exit(0),
            _ => {}
        }
    }
}

/// What the programs do.
#[test]
fn child_process() {
    let Some((role, domain, _)) = role() else { return };
    let (what, way) = role.split_once('/').unwrap();
    let participant = joined(domain);
    let (tell, told) = mpsc::channel();
    let reader = heard(&participant, "there", listener(way, tell));
    if what == "reads" {
        told.recv().unwrap();
        return end(way, (participant, reader));
    }
    let writer = writing(&participant, "here");
    writer.wait_for_readers(1, Duration::from_secs(30)).unwrap();
    if way.ends_with("-listener") {
        // Its listener runs when the last sample is written.
        told.recv().unwrap();
    }
    (0..SAMPLES).for_each(|n| writer.write(&Reading { id: 0, n }).unwrap());
    end(way, (participant, reader, writer));
}

/// How many programs there are of each kind.
fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// The times from the end of a program until the others knew, as text. `WITHIN_MS` is the longest that may be.
fn summary(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let (longest, count) = (times[times.len() - 1], times.len());
    if let Some(most) = std::env::var("WITHIN_MS").ok().and_then(|text| text.parse::<f64>().ok()) {
        assert!(longest <= most, "{times:?}");
    }
    format!("{count} programs, median {:.1} ms, longest {longest:.1} ms", times[count / 2])
}

/// Waits for the end of a program, and then until nobody believes that it is there; in milliseconds.
fn gone(other: Other, here: impl Fn() -> bool) -> f64 {
    other.ended();
    let begin = Instant::now();
    eventually("the program is gone", || !here());
    let time = begin.elapsed();
    assert!(time < LEASE.to_std().unwrap() / 4, "it was its lease that ended: {time:?}");
    time.as_secs_f64() * 1e3
}

#[test]
fn exiting_process_delivers_its_last_sample_and_is_unmatched() {
    let domain = common::domain();
    let participant = joined(domain);
    let (reader, writer) = (reading(&participant, "here"), writing(&participant, "there"));
    for way in ["return", "exit", "leak", "panic", "slow-listener", "stuck-listener"] {
        let mut times = Vec::new();
        for _ in 0..if way == "stuck-listener" { 1 } else { rounds() } {
            let directory = tempfile::tempdir().unwrap();
            let other = Other::start(&format!("writes/{way}"), domain, directory.path());
            if way.ends_with("-listener") {
                writer.wait_for_readers(1, Duration::from_secs(30)).unwrap();
                (0..SAMPLES).for_each(|n| writer.write(&Reading { id: 0, n }).unwrap());
            }
            let mut seen = Vec::new();
            let mut states = Vec::new();
            eventually("every sample", || {
                for sample in reader.take(100).unwrap() {
                    seen.extend(sample.data.map(|it| it.n));
                    states.push(sample.info.instance_state);
                }
                seen.len() >= SAMPLES as usize
            });
            assert!(seen.iter().copied().eq(0..SAMPLES), "{way}: {seen:?}");
            // The next program must not be taken for this one, by neither.
            let here =
                || !reader.matched_publications().is_empty() || !writer.matched_subscriptions().is_empty();
            times.push(gone(other, here));
            states.extend(reader.take(100).unwrap().iter().map(|sample| sample.info.instance_state));
            let deleted = ["return", "panic", "slow-listener"].contains(&way);
            let last =
                if deleted { InstanceState::NotAliveDisposed } else { InstanceState::NotAliveNoWriters };
            assert_eq!(states.last(), Some(&last), "{way}: {states:?}");
        }
        println!("writes, {way}: {}", summary(times));
    }
}

#[test]
fn a_process_that_reads_and_ends_is_unmatched_at_once() {
    let domain = common::domain();
    let participant = joined(domain);
    let writer = writing(&participant, "there");
    for way in ["return", "exit", "leak", "panic", "slow-listener", "stuck-listener", "exit-in-listener"] {
        let mut times = Vec::new();
        for _ in 0..if way == "stuck-listener" { 1 } else { rounds() } {
            let directory = tempfile::tempdir().unwrap();
            let other = Other::start(&format!("reads/{way}"), domain, directory.path());
            writer.wait_for_readers(1, Duration::from_secs(30)).unwrap();
            (0..SAMPLES).for_each(|n| writer.write(&Reading { id: 0, n }).unwrap());
            writer.wait_for_acknowledgments(Duration::from_secs(30)).unwrap();
            times.push(gone(other, || !writer.matched_subscriptions().is_empty()));
        }
        println!("reads, {way}: {}", summary(times));
    }
}

/// A participant whose last handle goes in a listener waits for the readers of its writers too, on a thread of its own: what
/// was lost on the way is sent again.
#[test]
fn the_last_handle_may_go_in_a_listener() {
    let domain = common::domain();
    let near = joined(domain);
    let (reader, writer) = (reading(&near, "here"), writing(&near, "there"));
    let far = joined_with(domain, &[("fault.loss", "20%")]);
    let answers = writing(&far, "here");
    answers.wait_for_readers(1, Duration::from_secs(30)).unwrap();
    let held = Arc::new(Mutex::new(Some(answers)));
    let taken = Arc::clone(&held);
    let (tell, told) = mpsc::channel::<()>();
    let told = Mutex::new(told);
    let asks = heard(&far, "there", move |_| {
        let Some(writer) = taken.lock().unwrap().take() else { return };
        // Until all other handles are gone.
        assert!(told.lock().unwrap().recv().is_err());
        (0..SAMPLES).for_each(|n| writer.write(&Reading { id: 0, n }).unwrap());
    });
    drop(far);
    writer.wait_for_readers(1, Duration::from_secs(30)).unwrap();
    writer.write(&Reading::default()).unwrap();
    eventually("its listener runs", || held.lock().unwrap().is_none());
    drop(asks);
    drop(tell);
    let mut seen = Vec::new();
    eventually("every sample", || {
        seen.extend(reader.take(100).unwrap().into_iter().filter_map(|sample| sample.data).map(|it| it.n));
        seen.len() >= SAMPLES as usize
    });
    assert!(seen.iter().copied().eq(0..SAMPLES), "{seen:?}");
}
