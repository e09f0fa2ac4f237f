//! Participants without threads of the library: the test is the thread that pumps. No test of this program has another participant, so
//! that no thread of the library may be there.

mod common;

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Instant;

use common::{domain, reader_in, track, writer_in};
use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::{Config, DataReader, DomainParticipant, Duration, PumpError, StatusMask};

const TICK: Duration = Duration::from_millis(2);

fn config() -> Config {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config
}

fn without_threads(domain: u32) -> DomainParticipant {
    DomainParticipant::builder(domain).config(config()).without_threads().build().unwrap()
}

/// Pumps all of these until a condition holds.
fn pump_until(what: &str, participants: &[&DomainParticipant], mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + std::time::Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
        participants.iter().for_each(|participant| _ = participant.pump(TICK).unwrap());
    }
}

/// The names of the threads of this process that the library has made.
fn library_threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("dunlin-")).collect()
}

fn reliable() -> (DataWriterQos, DataReaderQos) {
    (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all())
}

#[test]
fn a_single_thread_pumps_writer_and_reader() {
    let domain = domain();
    let (one, other) = (without_threads(domain), without_threads(domain));
    let (offered, wanted) = reliable();
    let (writer, reader) = (writer_in(&one, "Pumped", &offered), reader_in(&other, "Pumped", &wanted));
    let threads: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let seen = Arc::clone(&threads);
    reader.set_listener(
        move |_: &DataReader<_>| seen.lock().unwrap().push(thread::current().id()),
        StatusMask::DATA_AVAILABLE,
    );
    pump_until("a match", &[&one, &other], || {
        !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty()
    });
    let mut got = Vec::new();
    for n in 0..500 {
        writer.write(&track(n, 0)).unwrap();
        let _ = other.pump(Duration::ZERO).unwrap();
        got.extend(
            reader.take(100).unwrap().into_iter().filter_map(|sample| sample.data).map(|data| data.id),
        );
    }
    pump_until("all samples", &[&one, &other], || {
        got.extend(
            reader.take(100).unwrap().into_iter().filter_map(|sample| sample.data).map(|data| data.id),
        );
        got.len() >= 500
    });
    assert_eq!(got, (0..500).collect::<Vec<_>>());
    let threads = threads.lock().unwrap();
    assert!(!threads.is_empty() && threads.iter().all(|id| *id == thread::current().id()));
    assert!(one.next_pump() <= Duration::from_secs(10), "announcements are due");
    assert_eq!(library_threads(), Vec::<String>::new());
}

/// As docs/waiting.md shows it.
#[test]
fn a_program_of_one_thread_reads_what_it_writes() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (domain, config, mut left) = (domain(), config(), 10);
    let participant = DomainParticipant::builder(domain).config(config).without_threads().build()?;
    let (offered, wanted) = reliable();
    let (writer, reader) =
        (writer_in(&participant, "Loop", &offered), reader_in(&participant, "Loop", &wanted));
    for n in 0..left {
        writer.write(&track(n, 0))?;
    }
    let deadline = Instant::now() + std::time::Duration::from_secs(30);
    while left > 0 {
        participant.pump(Duration::from_millis(10))?;
        for value in reader.take(16)?.into_iter().filter_map(|sample| sample.data) {
            println!("{value:?}");
            left -= 1;
        }
        assert!(Instant::now() < deadline, "{left} did not come");
    }
    Ok(())
}

/// One thread for each, which does nothing but call the API.
#[test]
fn calls_that_block_pump_meanwhile() {
    let domain = domain();
    let (ended, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (end, stopped) = (Arc::clone(&ended), Arc::clone(&stop));
    let reading = thread::spawn(move || {
        let participant = without_threads(domain);
        let reader = reader_in(&participant, "Blocking", &reliable().1);
        reader.wait_for_writers(1, Duration::from_secs(30)).unwrap();
        let mut got = 0;
        pump_until("all samples, and the writer has gone", &[&participant], || {
            got += reader.take(1000).unwrap().into_iter().filter(|sample| sample.data.is_some()).count();
            got >= 200 && reader.matched_publications().is_empty()
        });
        end.store(true, SeqCst);
        assert!(stopped.load(SeqCst), "the goodbye came when the participant was dropped");
        got
    });
    let participant = without_threads(domain);
    // Far less room than there are samples: most of them wait for acknowledgments.
    let writer = writer_in(&participant, "Blocking", &reliable().0.resource_limits(8, 8, 8));
    writer.wait_for_readers(1, Duration::from_secs(30)).unwrap();
    for n in 0..200 {
        writer.write(&track(n % 8, n)).unwrap();
    }
    writer.wait_for_acknowledgments(Duration::from_secs(30)).unwrap();
    assert!(!ended.load(SeqCst));
    stop.store(true, SeqCst);
    drop(writer);
    drop(participant);
    assert_eq!(reading.join().unwrap(), 200);
}

#[test]
fn refused_pump_reports_the_reason() {
    let participant = Arc::new(without_threads(domain()));
    let (offered, wanted) = reliable();
    let reader = reader_in(&participant, "Nested", &wanted);
    let refused: Arc<Mutex<Vec<_>>> = Arc::default();
    let (inner, told) = (Arc::downgrade(&participant), Arc::clone(&refused));
    reader.set_listener(
        move |_: &DataReader<_>| {
            let pumped = inner.upgrade().map(|participant| participant.pump(Duration::ZERO));
            told.lock().unwrap().push(pumped);
        },
        StatusMask::DATA_AVAILABLE,
    );
    let writer = writer_in(&participant, "Nested", &offered);
    pump_until("a match", &[&participant], || !writer.matched_subscriptions().is_empty());
    writer.write(&track(1, 1)).unwrap();
    pump_until("a listener", &[&participant], || !refused.lock().unwrap().is_empty());
    assert_eq!(refused.lock().unwrap()[0], Some(Err(PumpError::InListener)));

    // A thread that waits for what never comes pumps all the time, but for the moments between.
    let waits = Arc::clone(&participant);
    let waiting = thread::spawn(move || {
        let lonely = reader_in(&waits, "Lonely", &DataReaderQos::default());
        lonely.wait_for_writers(1, Duration::from_secs(1)).unwrap_err()
    });
    let mut results = std::iter::from_fn(|| Some(participant.pump(Duration::ZERO)));
    let deadline = Instant::now() + std::time::Duration::from_secs(30);
    assert!(results.any(|pumped| pumped == Err(PumpError::InUse) || Instant::now() > deadline));
    assert!(Instant::now() <= deadline);
    waiting.join().unwrap();
}

#[test]
fn settings_that_need_a_thread_are_refused() {
    for (key, value, told) in [
        ("tcp.enabled", "true", "tcp.enabled"),
        ("receive.waiting", "polling", "receive.*"),
        ("fault.loss", "10%", "fault.*"),
    ] {
        let mut config = config();
        config.set(key, value).unwrap();
        let error =
            DomainParticipant::builder(domain()).config(config).without_threads().build().unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
}
