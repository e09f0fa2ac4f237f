//! A reader whose process is stopped by SIGSTOP, among three (docs/slow-readers.md). The readers are this program again.
//! `STOPPED_SECONDS` says for how long; `make slow-reader` stops it for 30 s, with leases and patience as they are unless set. A shorter
//! stop has shorter ones, so that the lease of the process ends all the same.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader};
use std::pin::pin;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::{domain, eventually};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataWriter, DdsType, DomainParticipant};

const ROLE: &str = "DUNLIN_TEST_SLOW_READER";
const TOPIC: &str = "Steady";
const PERIOD: Duration = Duration::from_millis(1);

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Steady {
    number: u64,
    /// Nanoseconds since 1970.
    written_at: u64,
    /// 0 before the process stands still, 1 while it does and is not waited for, 2 in between and afterwards.
    phase: u8,
    last: bool,
    /// Samples of a few octets share datagrams on a busy machine, and so many of them fit into buffers that none is lost.
    padding: Vec<u8>,
}

impl Steady {
    fn new(number: u64, phase: u8, last: bool) -> Self {
        Self { number, written_at: wall(), phase, last, padding: vec![0; 1_000] }
    }
}

fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn stopped_seconds() -> u64 {
    std::env::var("STOPPED_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Whether the process stands still for so long that nothing need be set.
fn as_it_is() -> bool {
    stopped_seconds() >= 15
}

fn participant(domain: u32) -> DomainParticipant {
    let mut config = Config::default();
    let (all, short) = (
        [("network.interfaces", "lo"), ("shared_memory.enabled", "false")],
        [
            ("discovery.lease_duration", "2s"),
            ("discovery.announcement_period", "500ms"),
            ("reliability.inactive_after", "500ms"),
        ],
    );
    let short = short.into_iter().filter(|_| !as_it_is());
    for (key, value) in all.into_iter().chain(short) {
        config.set(key, value).unwrap();
    }
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

/// What the other processes do; in the first one it is a test of nothing.
#[test]
fn reading_process() {
    let Ok(domain) = std::env::var(ROLE) else { return };
    let participant = participant(domain.parse().unwrap());
    let topic = participant.create_topic::<Steady>(TOPIC, &TopicQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &qos).unwrap();
    let (mut got, mut next, mut over) = (0_u64, 0, false);
    let mut latencies: [Vec<u64>; 3] = Default::default();
    let end = Instant::now() + Duration::from_secs(180);
    while !over && Instant::now() < end {
        for sample in reader.take(1_000).unwrap_or_default().into_iter().filter_map(|sample| sample.data) {
            assert!(sample.number >= next, "in order");
            let latency = wall().saturating_sub(sample.written_at) / 1_000;
            latencies[usize::from(sample.phase)].push(latency);
            (got, next, over) = (got + 1, sample.number + 1, sample.last);
        }
        std::thread::park_timeout(Duration::from_micros(200));
    }
    let [before, still, _] = latencies;
    let figures = [before, still].map(|mut list| {
        list.sort_unstable();
        let at = |share: usize| list.get(list.len() * share / 100).copied().unwrap_or(0);
        format!("{} {} {}", at(50), at(99), list.last().unwrap_or(&0))
    });
    println!("took {got} {} {}", reader.sample_lost_status().total, figures.join(" "));
}

struct Reading(Child, BufReader<ChildStdout>);

impl Reading {
    fn start(domain: u32) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "reading_process", "--nocapture", "--test-threads", "1"])
            .env(ROLE, domain.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self(child, out)
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Samples taken and lost; median, 99th percentile and worst of their latency in microseconds, before and while the
    /// process stands still.
    fn result(mut self) -> [u64; 8] {
        let mut line = String::new();
        while !line.contains("took ") {
            line.clear();
            assert!(self.1.read_line(&mut line).unwrap() > 0, "it ended without a result");
        }
        let words = line[line.find("took ").unwrap() + 5..].split_whitespace();
        let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What became of the writes of a while.
#[derive(Default)]
struct Writes {
    /// How long each call of `write` took, in microseconds: with what else the machine did meanwhile.
    calls: Vec<u64>,
    /// How long those had to wait that found the history full: what the machine does else makes no write wait.
    waits: Vec<Duration>,
}

impl Writes {
    /// Calls `write`, or for every other sample asks first whether that would wait.
    fn write(&mut self, writer: &DataWriter<Steady>, sample: &Steady) {
        let begin = Instant::now();
        if sample.number.is_multiple_of(2) {
            writer.write(sample).unwrap();
            self.calls.push(begin.elapsed().as_micros() as u64);
            return;
        }
        let mut written = pin!(writer.write_async(sample));
        let mut context = Context::from_waker(Waker::noop());
        let mut waited = false;
        loop {
            match written.as_mut().poll(&mut context) {
                Poll::Ready(written) => break written.unwrap(),
                Poll::Pending => waited = true,
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "it waits for ever");
            std::thread::park_timeout(Duration::from_micros(20));
        }
        if waited {
            self.waits.push(begin.elapsed());
        }
    }

    /// Median, 99th percentile and longest of the calls.
    fn figures(&mut self) -> [u64; 3] {
        self.calls.sort_unstable();
        let at = |share: usize| self.calls.get(self.calls.len() * share / 100).copied().unwrap_or(0);
        [at(50), at(99), self.calls.last().copied().unwrap_or(0)]
    }

    fn longest_wait(&self) -> Duration {
        self.waits.iter().max().copied().unwrap_or_default()
    }
}

/// What takes longer while one stands still, by more than three times and 3 ms, is not the doing of a machine that is busy in
/// the same way before: whoever waited for the one that stands still would wait for 25 ms and more.
fn assert_as_before(what: &str, [median, late]: [u64; 2], before: [u64; 2]) {
    let most = before.map(|usual| 3 * usual + 3_000);
    assert!(
        median <= most[0] && late <= most[1],
        "{what} in us (median, 99 %): {:?}, and {before:?} before one stood still",
        [median, late]
    );
}

#[test]
fn a_stopped_process_among_three() {
    let seconds = stopped_seconds();
    // The history has room until the rule acts.
    let (history, missed) = if as_it_is() { (5_000, 4_000) } else { (1_000, 900) };
    let domain = domain();
    let readers: [Reading; 3] = std::array::from_fn(|_| Reading::start(domain));
    let participant = participant(domain);
    let topic = participant.create_topic::<Steady>(TOPIC, &TopicQos::default()).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(history, 1, history);
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &qos).unwrap();
    eventually("three readers", || writer.matched_subscriptions().len() == 3);
    // The writer knows them before they know it. One that met it only when its history was full already would begin with what
    // is left then, and not count what was released before.
    writer.write(&Steady::new(0, 2, false)).unwrap();
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
    assert_eq!(writer.stats().released_unacknowledged, 0);
    let (mut number, mut due) = (1, Instant::now());
    let mut write_for = |time: Duration, phase: u8, writes: &mut Writes| {
        let end = due + time;
        while due < end {
            due += PERIOD;
            if let Some(rest) = due.checked_duration_since(Instant::now()) {
                std::thread::park_timeout(rest);
            }
            writes.write(&writer, &Steady::new(number, phase, false));
            number += 1;
        }
    };
    // Long enough to compare with: on this machine, as busy as it is.
    let (mut control, mut between, mut after) = (Writes::default(), Writes::default(), Writes::default());
    write_for(Duration::from_millis(500 + 250 * seconds), 0, &mut control);
    readers[2].signal("-STOP");
    write_for(Duration::from_millis(missed), 2, &mut between);
    assert_eq!(writer.stats().readers_inactive, 1);
    write_for(Duration::from_secs(seconds), 1, &mut after);
    assert_eq!(writer.matched_subscriptions().len(), 2, "the lease of the one that stands still is over");
    readers[2].signal("-CONT");
    write_for(Duration::from_millis(600), 2, &mut after);
    eventually("it is back", || writer.matched_subscriptions().len() == 3);
    writer.write(&Steady::new(number, 2, true)).unwrap();
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(30)).unwrap();
    let (written, stats) = (number + 1, writer.stats());
    let (usual, found) = (control.figures(), after.figures());
    println!(
        "{written} written; calls of write in us (median, 99 %, most) {usual:?}, once one is inactive {found:?}"
    );
    println!("99 % of the calls is {:.2} times that of before", found[1] as f64 / usual[1].max(1) as f64);
    for (when, writes) in [("before", &control), ("while it is missed", &between), ("inactive", &after)] {
        println!(
            "{when}: {} of the others had to wait, at most {:?}",
            writes.waits.len(),
            writes.longest_wait()
        );
    }
    assert!(after.longest_wait() <= PERIOD, "a write waited for {:?}", after.longest_wait());
    assert!(found[2] < 90_000, "a call took {} us", found[2]);
    assert_as_before("calls of write", [found[0], found[1]], [usual[0], usual[1]]);
    let [one, other, stopped] = readers.map(Reading::result);
    for (name, [taken, lost, before @ .., median, late, most]) in [("one", one), ("another", other)] {
        let [median_before, late_before, most_before] = before;
        println!(
            "{name}: {taken} taken, {lost} lost; latency in us (median, 99 %, most) {median_before}, {late_before}, {most_before}, \
             and while one stands still {median}, {late}, {most}: 99 % is {:.2} times that of before",
            late as f64 / late_before.max(1) as f64
        );
        assert_as_before(&format!("latency of {name}"), [median, late], [median_before, late_before]);
    }
    println!("the one that was stopped: {} taken, {} lost", stopped[0], stopped[1]);
    for [taken, lost, ..] in [one, other] {
        assert_eq!((taken, lost), (written, 0));
    }
    // It was forgotten meanwhile, and is the same all the same.
    assert_eq!(stopped[0] + stopped[1], written, "taken and lost");
    assert!(stopped[1] > 0 && stats.readers_inactive == 0);
}
