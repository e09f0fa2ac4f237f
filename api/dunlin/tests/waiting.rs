//! The choices of `[receive]` over loopback: how threads wait changes nothing but the time it takes.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

use common::{Track, domain, eventually, track};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    Config, DataReader, DataReaderListener, DataWriter, DomainParticipant, MatchedStatus, StatusMask,
};

fn participant(
    domain: u32,
    settings: &[(&str, &str)],
) -> Result<DomainParticipant, dunlin::CreateParticipantError> {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    settings.iter().for_each(|(key, value)| config.set(key, value).unwrap());
    DomainParticipant::builder(domain).config(config).build()
}

/// A writer of one topic, and a reader of another one that is told of each sample.
fn side(
    participant: &DomainParticipant,
    writes: &str,
    reads: &str,
    on: impl Fn(&DataWriter<Track>, Track) + Send + Sync + 'static,
) -> (Arc<DataWriter<Track>>, DataReader<Track>) {
    let topic = |name| participant.create_topic::<Track>(name, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all();
    let writer = Arc::new(publisher.create_datawriter(&topic(writes), &qos).unwrap());
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    let reader = subscriber.create_datareader(&topic(reads), &qos).unwrap();
    let answers = Arc::clone(&writer);
    reader.set_listener(
        move |reader: &DataReader<Track>| {
            for sample in reader.take(16).unwrap() {
                sample.data.into_iter().for_each(|data| on(&answers, data));
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    (writer, reader)
}

#[test]
fn a_thousand_round_trips_arrive_however_threads_wait() {
    for waiting in ["blocking", "polling", "adaptive"] {
        let domain = domain();
        let settings = [("receive.waiting", waiting)];
        let (near, far) = (participant(domain, &settings).unwrap(), participant(domain, &settings).unwrap());
        let seen = Arc::new(AtomicI32::new(0));
        let count = Arc::clone(&seen);
        let (first, _home) = side(&near, "There", "Back", move |writer, data| {
            assert_eq!(data.speed, count.fetch_add(1, SeqCst));
            if data.speed < 999 {
                writer.write(&track(1, data.speed + 1)).unwrap();
            }
        });
        let (second, _away) = side(&far, "Back", "There", |writer, data| writer.write(&data).unwrap());
        let met = |writer: &DataWriter<Track>| writer.publication_matched_status().current_count == 1;
        eventually("both sides match", || met(&first) && met(&second));
        first.write(&track(1, 0)).unwrap();
        eventually("all round trips", || seen.load(SeqCst) == 1000);
    }
}

#[test]
fn a_processor_that_does_not_exist_is_refused_by_name() {
    let error = participant(domain(), &[("receive.cpu", "100000")]).expect_err("no such processor");
    let text = error.to_string();
    assert!(text.contains("processor 100000"), "{text}");
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (key, value) in [("receive.spin", "2ms"), ("receive.priority", "0"), ("receive.priority", "100")] {
        let error = participant(domain(), &[(key, value)]).expect_err("it makes no sense");
        assert!(error.to_string().contains(key), "{error}");
    }
}

/// Waits where others would not: in a listener of discovery, for data.
struct Patient {
    matched: Arc<AtomicI32>,
    arrived: (std::sync::Mutex<bool>, std::sync::Condvar),
}

impl DataReaderListener<Track> for Patient {
    fn on_subscription_matched(&self, _: &DataReader<Track>, _: MatchedStatus) {
        let arrived = self.arrived.0.lock().unwrap();
        let patience = std::time::Duration::from_secs(20);
        let (arrived, _) = self.arrived.1.wait_timeout_while(arrived, patience, |arrived| !*arrived).unwrap();
        self.matched.store(if *arrived { 1 } else { -1 }, SeqCst);
    }

    fn on_data_available(&self, _: &DataReader<Track>) {
        *self.arrived.0.lock().unwrap() = true;
        self.arrived.1.notify_all();
    }
}

#[test]
fn data_arrives_while_a_listener_of_discovery_waits_for_it() {
    let domain = domain();
    // Participants of other choices have threads of their own.
    let near = participant(domain, &[("shared_memory.enabled", "false")]).unwrap();
    let far = participant(domain, &[("shared_memory.enabled", "false"), ("receive.spin", "7us")]).unwrap();
    let matched = Arc::new(AtomicI32::new(0));
    let listener = Patient {
        matched: Arc::clone(&matched),
        arrived: (std::sync::Mutex::new(false), std::sync::Condvar::new()),
    };
    let topic = near.create_topic::<Track>("Waited for", &TopicQos::default()).unwrap();
    let subscriber = near.create_subscriber(&SubscriberQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    let told = StatusMask::SUBSCRIPTION_MATCHED | StatusMask::DATA_AVAILABLE;
    let _reader = subscriber.create_datareader_with_listener(&topic, &qos, listener, told).unwrap();
    // After the reader, so that discovery is what matches them.
    let topic = far.create_topic::<Track>("Waited for", &TopicQos::default()).unwrap();
    let publisher = far.create_publisher(&PublisherQos::default()).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all();
    let writer = publisher.create_datawriter(&topic, &qos).unwrap();
    eventually("a reader", || writer.publication_matched_status().current_count == 1);
    writer.write(&track(1, 1)).unwrap();
    eventually("the listener goes on", || matched.load(SeqCst) != 0);
    assert_eq!(matched.load(SeqCst), 1, "the data came while it waited");
}

/// An event loop of somebody else's: it knows nothing but a descriptor.
#[cfg(target_os = "linux")]
#[test]
fn a_foreign_event_loop_takes_every_sample_by_a_descriptor() {
    use dunlin::{StateMasks, WaitSet};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let domain = domain();
    let (near, far) = (participant(domain, &[]).unwrap(), participant(domain, &[]).unwrap());
    let (writer, _unused) = side(&near, "There", "Back", |_, _| {});
    let topic = far.create_topic::<Track>("There", &TopicQos::default()).unwrap();
    let subscriber = far.create_subscriber(&SubscriberQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    let reader = subscriber.create_datareader(&topic, &qos).unwrap();
    let unread = reader.create_readcondition(StateMasks::NOT_READ).unwrap();
    let set = WaitSet::new();
    set.attach_condition(unread.condition());
    let descriptor = set.event_descriptor().unwrap();
    writer.wait_for_readers(1, dunlin::Duration::from_secs(30)).unwrap();
    let written = std::thread::spawn(move || (0..2000).try_for_each(|n| writer.write(&track(1, n))));
    let (mut next, mut woken) = (0, 0);
    while next < 2000 {
        let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
        let ready = poll(&mut polled, Some(&Timespec { tv_sec: 30, tv_nsec: 0 })).unwrap();
        assert_eq!(ready, 1, "{next} samples came, then nothing for 30 s");
        woken += 1;
        descriptor.clear();
        for sample in reader.take(usize::MAX).unwrap() {
            assert_eq!(sample.data.unwrap().speed, next);
            next += 1;
        }
    }
    written.join().unwrap().unwrap();
    assert!(woken <= 2010, "woken {woken} times for 2,000 samples");
}
