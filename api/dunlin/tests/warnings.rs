//! The warnings in the log. A process of its own: another thread that comes upon a warning before this one has no
//! subscriber, and `tracing` would then remember for the whole process that nobody listens.

mod common;
#[path = "common/elsewhere.rs"]
mod elsewhere;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use common::{KeyedReading, Lines, Measurement, Reading, TextReading, eventually};
use dunlin::qos::{
    DataReaderQos, DataWriterQos, DurabilityKind, Partition, PublisherQos, ReliabilityKind, ResourceLimits,
    SubscriberQos, TopicQos,
};
use dunlin::sim::{Result, Sim};
use dunlin::statistics::{EntityStatistics, MisbehaviourCount, STATISTICS_TOPIC};
use dunlin::{
    Against, Cause, Config, DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant, Duration,
    Guid, Misbehaviour, Note, StatusMask,
};
use elsewhere::Elsewhere;

fn writing(qos: &DataWriterQos) -> Result<(DomainParticipant, DataWriter<Reading>)> {
    let participant = DomainParticipant::builder(0).name("sensor").build()?;
    let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, qos)?;
    Ok((participant, writer))
}

fn reading<T: DdsType>(
    partition: &[&str],
    qos: &DataReaderQos,
) -> Result<(DomainParticipant, DataReader<T>)> {
    let participant = DomainParticipant::builder(0).name("display").build()?;
    let topic = participant.create_topic::<T>("T", &TopicQos::default())?;
    let partition = Partition { names: partition.iter().map(ToString::to_string).collect() };
    let subscriber =
        participant.create_subscriber(&SubscriberQos { partition, ..SubscriberQos::default() })?;
    let reader = subscriber.create_datareader(&topic, qos)?;
    Ok((participant, reader))
}

const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

fn config(settings: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    settings.iter().for_each(|(key, value)| config.set(key, value).unwrap());
    config
}

/// What is logged meanwhile. One test at a time, as the log is that of the process.
fn logged(work: impl FnOnce(&Lines)) -> String {
    static ALONE: Mutex<()> = Mutex::new(());
    static LINES: OnceLock<Lines> = OnceLock::new();
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = LINES.get_or_init(|| {
        let lines = Lines::default();
        let sink = lines.clone();
        let log = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_ansi(false);
        log.with_writer(move || sink.clone()).init();
        lines
    });
    lines.take();
    work(lines);
    lines.take()
}

fn count(text: &str, words: &str) -> usize {
    text.lines().filter(|line| line.contains(words)).count()
}

/// Each of these texts so often, each in a line of its own, and no other line.
#[track_caller]
fn assert_lines(text: &str, expected: &[(&str, usize)]) {
    for (words, times) in expected {
        assert_eq!(count(text, words), *times, "{words} in\n{text}");
    }
    assert_eq!(text.lines().count(), expected.iter().map(|(_, times)| times).sum::<usize>(), "{text}");
    assert!(text.lines().all(|line| line.contains("WARN dunlin::why: ")), "{text}");
}

#[test]
fn the_log_has_one_warning_for_each_cause() {
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let _writer = a.run(|| writing(&DataWriterQos::default().best_effort())).unwrap();
        let readers = b.run(|| {
            let qos = DataReaderQos::default().reliable().transient_local();
            (0..3).map(|_| reading::<Reading>(&[], &qos)).collect::<Result<Vec<_>>>()
        });
        let _elsewhere = b.run(|| reading::<Reading>(&["p"], &DataReaderQos::default())).unwrap();
        sim.run_for(secs(20)).unwrap();
        assert_eq!(readers.unwrap().len(), 3);
    });
    // The writer finds each cause once and not for each reader; each of three readers for itself.
    for cause in ["RELIABILITY: offered BEST_EFFORT, requested RELIABLE", "DURABILITY: offered VOLATILE"] {
        assert_eq!(count(&text, cause), 4, "{cause} in\n{text}");
    }
    assert_eq!(count(&text, "PARTITION: publisher none, subscriber 'p'"), 2, "{text}");
    assert!(text.lines().all(|line| line.contains("WARN dunlin::why: ")), "{text}");
}

/// What is found again is told again after a minute, with how often it was found meanwhile; if it is not, nothing is.
#[test]
fn a_recurring_cause_is_logged_once_a_minute_with_its_count() {
    let text = logged(|lines| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let _writer = a.run(|| writing(&DataWriterQos::default().best_effort())).unwrap();
        let told = || {
            let lines = lines.take();
            lines
                .lines()
                .filter(|line| line.contains("topic 'T': writer "))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let mut readers = Vec::new();
        let mut another = |sim: &mut Sim| {
            readers.push(b.run(|| reading::<Reading>(&[], &DataReaderQos::default().reliable())).unwrap());
            sim.run_for(secs(10)).unwrap();
        };
        another(&mut sim);
        let first = told();
        assert!(first.len() == 1 && !first[0].contains("more since"), "{first:?}");
        (0..4).for_each(|_| another(&mut sim));
        assert_eq!(told(), [""; 0], "it was told less than a minute ago");
        sim.run_for(secs(11)).unwrap();
        assert_eq!(told(), [""; 0], "the minute is over, but nothing has happened");
        another(&mut sim);
        let again = told();
        assert!(again.len() == 1 && again[0].ends_with(" (4 more since the last message)"), "{again:?}");
        another(&mut sim);
        sim.run_for(secs(300)).unwrap();
        assert_eq!(told(), [""; 0], "what is not found again is not told again");
        another(&mut sim);
        let last = told();
        assert!(last.len() == 1 && last[0].ends_with(" (1 more since the last message)"), "{last:?}");
    });
    assert_eq!(text, "");
}

/// A writer of `Reading` and two readers of another type: what is logged.
fn log_of_types<T: DdsType>(announced: &str) -> String {
    logged(|_| {
        let mut sim = Sim::builder().seed(1).config(config(&[("types.announce", announced)])).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let _writer = a.run(|| writing(&DataWriterQos::default())).unwrap();
        let _readers = [(); 2].map(|()| b.run(|| reading::<T>(&[], &DataReaderQos::default())).unwrap());
        sim.run_for(secs(20)).unwrap();
    })
}

#[test]
fn incompatible_types_are_logged_once_by_each_endpoint() {
    let name = "type name: the writer's is 'Reading', the reader's 'Measurement'";
    assert_lines(&log_of_types::<Measurement>("false"), &[(name, 3)]);
    let key = "the reader's type has a key, the writer's has none";
    assert_lines(&log_of_types::<KeyedReading>("true"), &[(key, 3)]);
    let text = log_of_types::<TextReading>("true");
    assert_lines(&text, &[("type members: the reader's type cannot read the writer's: n: ", 3)]);
    assert_eq!(count(&text, "topic 'T': writer "), 1, "{text}");
    assert_eq!(count(&text, "topic 'T': reader "), 2, "{text}");
}

#[test]
fn a_participant_that_announces_but_never_answers_is_logged() {
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node("b"));
        sim.cut(&a, &b);
        let _writer = a.run(|| writing(&DataWriterQos::default())).unwrap();
        let _reader = b.run(|| reading::<Reading>(&[], &DataReaderQos::default())).unwrap();
        sim.run_for(secs(30)).unwrap();
    });
    assert_lines(&text, &[("'display' (Dunlin) announces itself here, but answers nothing", 1)]);
    assert!(text.contains(" discovery: "), "{text}");
}

#[test]
fn multicast_groups_that_stay_silent_are_logged() {
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let a = sim.node("a");
        let b = sim.node_with("b", config(&[("discovery.peers", &a.address().to_string())]));
        sim.cut_multicast(&a);
        let _writer = a.run(|| writing(&DataWriterQos::default())).unwrap();
        let _reader = b.run(|| reading::<Reading>(&[], &DataReaderQos::default())).unwrap();
        sim.run_for(secs(60)).unwrap();
    });
    let lines = [
        "'sensor' (Dunlin) sends to a group arrives here",
        "'display' (Dunlin) sends to a group arrives here",
    ];
    assert_lines(&text, &lines.map(|line| (line, 1)));
}

#[test]
fn participants_with_another_domain_tag_are_logged() {
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node_with("b", config(&[("domain.tag", "blue")])));
        let _writer = a.run(|| writing(&DataWriterQos::default())).unwrap();
        let _reader = b.run(|| reading::<Reading>(&[], &DataReaderQos::default())).unwrap();
        sim.run_for(secs(30)).unwrap();
    });
    assert_lines(&text, &[("another domain", 2)]);
    assert_eq!(count(&text, "domain.tag"), 2, "{text}");
}

#[test]
fn entities_refused_by_quotas_are_logged() {
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let small = config(&[("quotas.max_endpoints_per_participant", "1")]);
        let (a, b) = (sim.node_with("a", small), sim.node("b"));
        let _writer = a.run(|| writing(&DataWriterQos::default())).unwrap();
        let _readers = b.run(|| -> Result<_> {
            let (participant, first) = reading::<Reading>(&[], &DataReaderQos::default())?;
            let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let more = [(); 3].map(|()| subscriber.create_datareader(&topic, &DataReaderQos::default()));
            Ok((participant, first, more))
        });
        sim.run_for(secs(30)).unwrap();
    });
    assert_lines(&text, &[("quotas.max_endpoints_per_participant", 1)]);
}

/// However many samples are refused.
#[test]
fn a_reader_at_its_quota_is_logged() {
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node_with("b", config(&[("quotas.max_instances", "1")])));
        let (_one, writer) = a
            .run(|| -> Result<_> {
                let participant = DomainParticipant::builder(0).build()?;
                let topic = participant.create_topic::<KeyedReading>("T", &TopicQos::default())?;
                let publisher = participant.create_publisher(&PublisherQos::default())?;
                let writer = publisher.create_datawriter(&topic, &DataWriterQos::default())?;
                Ok((participant, writer))
            })
            .unwrap();
        let _reader =
            b.run(|| reading::<KeyedReading>(&[], &DataReaderQos::default().best_effort())).unwrap();
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(5)).unwrap();
        for n in 0..20 {
            a.run(|| writer.write(&KeyedReading { n })).unwrap();
        }
        sim.run_for(secs(1)).unwrap();
    });
    assert_lines(
        &text,
        &[("as many instances as quotas.max_instances allows; RESOURCE_LIMITS with max_instances", 1)],
    );
}

#[test]
fn readers_that_stop_acknowledging_are_logged() {
    let text = logged(|_| {
        let hasty = config(&[("reliability.inactive_after", "500ms"), ("discovery.lease_duration", "60s")]);
        let mut sim = Sim::builder().seed(1).config(hasty).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let resource_limits = ResourceLimits { max_samples: 4, ..ResourceLimits::default() };
        let qos = DataWriterQos { resource_limits, ..DataWriterQos::default().keep_all() };
        let (_one, writer) = a.run(|| writing(&qos)).unwrap();
        let qos = DataReaderQos::default().reliable().keep_all();
        let _reader = b.run(|| reading::<Reading>(&[], &qos)).unwrap();
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(5)).unwrap();
        a.run(|| writer.write(&Reading { n: 1 })).unwrap();
        sim.run_for(secs(1)).unwrap();
        sim.cut(&b, &a);
        a.run(|| writer.write(&Reading { n: 2 })).unwrap();
        sim.run_for(secs(5)).unwrap();
    });
    assert_lines(&text, &[("the reader is inactive: it does not acknowledge what it is sent", 1)]);
    assert!(text.contains("topic 'T': writer "), "{text}");
}

#[test]
fn transient_durability_kept_by_the_writer_alone_is_logged() {
    let text = logged(|_| {
        let local = config(&[("durability.without_service", "local")]);
        let mut sim = Sim::builder().seed(1).config(local).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let kind = DurabilityKind::Persistent;
        let _writer = a.run(|| writing(&DataWriterQos::default().durability(kind))).unwrap();
        let kind = DurabilityKind::Transient;
        let qos = DataReaderQos::default().reliable().durability(kind);
        let _reader = b.run(|| reading::<Reading>(&[], &qos)).unwrap();
        let qos = DataReaderQos::default().reliable().transient_local();
        let _as_always = b.run(|| reading::<Reading>(&[], &qos)).unwrap();
        sim.run_for(secs(2)).unwrap();
        // However often the application comes back: once in a while.
        let qos = DataReaderQos::default().reliable().durability(DurabilityKind::Transient);
        let again = b.run(|| -> Result<_> {
            let (participant, reader) = reading::<Reading>(&[], &qos)?;
            let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let more = (0..20).map(|_| Ok(subscriber.create_datareader(&topic, &qos)?));
            Ok((reader, more.collect::<Result<Vec<_>>>()?))
        });
        assert_eq!(again.unwrap().1.len(), 20);
    });
    let lines =
        ["a writer of 'T' asks for Persistent durability", "a reader of 'T' asks for Transient durability"];
    // Once by each participant: that of the writer, that of the reader, that of the many readers.
    let lines = [(lines[0], 1), (lines[1], 2)];
    assert_lines(&text, &lines);
    assert_eq!(count(&text, "(durability.without_service = \"local\")"), 3, "{text}");
}

/// Ends what runs until then, also if the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn an_unreachable_endpoint_is_logged() {
    let domain = common::domain();
    let text = logged(|lines| {
        let participant = common::participant(domain);
        let topic = participant.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        let ended = AtomicBool::new(false);
        let mut other = Elsewhere::new(domain, Ipv4Addr::LOCALHOST.into());
        other.receive_at(Ipv4Addr::new(127, 77, 0, 1).into());
        other.read("T", DataReaderQos::default().reliable());
        other.read("T", DataReaderQos::default());
        std::thread::scope(|scope| {
            let _end = SetOnDrop(&ended);
            scope.spawn(|| other.run(&ended));
            eventually("both matches", || writer.matched_subscriptions().len() == 2);
            eventually("the warning", || !lines.is_empty());
            let names = |cause: &Cause| cause.name();
            let explanation = participant.explain(&writer, Against::Topic);
            assert_eq!(explanation.all_causes().map(names).collect::<Vec<_>>(), ["UNREACHABLE"; 2]);
        });
    });
    let words = "none of its locators can be used from here: it receives at udp/127.77.0.1:7411";
    assert_eq!(count(&text, words), 1, "once for two readers:\n{text}");
    assert_eq!(
        (count(&text, "topic 'T': writer "), count(&text, "quotas.foreign_locators")),
        (1, 1),
        "{text}"
    );
}

/// An ACKNACK, octet by octet, that acknowledges everything there could ever be.
fn acknowledgment_of_everything(reader: Guid, writer: Guid, count: u32) -> Vec<u8> {
    let header = [b"RTPS".as_slice(), &[2, 5, 1, 0xd0], &reader.prefix.0].concat();
    let submessage = [0x06, 0x03, 24, 0];
    let base = [0x3fff_ffff_u32.to_le_bytes(), [0; 4]].concat();
    let ids = [reader.entity_id.0, writer.entity_id.0].concat();
    [&header[..], &submessage, &ids, &base, &[0; 4], &count.to_le_bytes()].concat()
}

/// Datagrams written by hand, from the socket of a participant whose reader is matched.
#[test]
fn misbehaviour_of_a_peer_is_counted_explained_and_logged_once() {
    const WRONG: Misbehaviour = Misbehaviour::AcknowledgesUnsent;
    let domain = common::domain();
    let text = logged(|_| {
        let (participant, watching) = (common::participant(domain), common::participant(domain));
        let topic =
            watching.create_topic::<EntityStatistics>(STATISTICS_TOPIC, &TopicQos::default()).unwrap();
        let subscriber = watching.create_subscriber(&SubscriberQos::default()).unwrap();
        let told = subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap();
        let topic = participant.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable()).unwrap();
        let mut other = Elsewhere::new(domain, Ipv4Addr::LOCALHOST.into());
        other.receive_at(Ipv4Addr::LOCALHOST.into());
        other.read("T", DataReaderQos::default().reliable());
        other.start();
        other.until("the match", |_| writer.matched_subscriptions().len() == 1);
        let reader = writer.matched_subscriptions()[0].to_guid();
        let own = writer.guid().unwrap();
        let counted = || {
            let all = participant.misbehaviours();
            let of = all.iter().filter(|it| it.participant == reader.prefix);
            of.map(|it| it.counts.of(WRONG)).sum::<u32>()
        };
        assert_eq!(counted(), 0);
        for n in 0..20 {
            other.say(domain, &acknowledgment_of_everything(reader, own, 1_000_000 + n));
        }
        other.until("all are refused", |_| counted() == 20);
        for misbehaved in participant.misbehaviours() {
            for (what, count) in misbehaved.counts.iter() {
                println!("{} {what}: {count} times", misbehaved.participant);
            }
        }
        let explanation = participant.explain(&writer, Against::Topic);
        let notes: Vec<_> = explanation.pairs.iter().flat_map(|pair| &pair.notes).collect();
        let expected =
            Note::Misbehaves { refused_by: None, participant: reader.prefix, what: WRONG, count: 20 };
        assert_eq!(notes, [&expected]);
        assert!(explanation.to_string().contains("acknowledges what was not sent yet"), "{explanation}");
        let entry = |it: &MisbehaviourCount| {
            it.participant.guid().prefix == reader.prefix
                && (it.cause.as_str(), it.count) == (WRONG.name(), 20)
        };
        other.until("the statistics tell it", |_| {
            let samples = told.take(100).unwrap().into_iter().filter_map(|sample| sample.data);
            samples.flat_map(|sample| sample.misbehaviours).any(|it| entry(&it))
        });
    });
    let words = "acknowledges what was not sent yet, which is refused (ACKNOWLEDGES_UNSENT";
    assert_eq!(count(&text, words), 1, "{text}");
}

/// Nothing goes from a best-effort reader to a writer, so that it need not reach it.
#[test]
fn an_unreachable_writer_is_logged_by_reliable_readers_alone() {
    let told = |qos: &DataReaderQos| {
        let domain = common::domain();
        logged(|lines| {
            let participant = common::participant(domain);
            let topic = participant.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
            let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
            let reader = subscriber.create_datareader(&topic, qos).unwrap();
            let ended = AtomicBool::new(false);
            let mut other = Elsewhere::new(domain, Ipv4Addr::LOCALHOST.into());
            other.receive_at(Ipv4Addr::new(127, 77, 0, 1).into());
            other.write("T");
            std::thread::scope(|scope| {
                let _end = SetOnDrop(&ended);
                scope.spawn(|| other.run(&ended));
                eventually("the match", || reader.subscription_matched_status().total_count == 1);
                let reliable = reader.qos().reliability.kind == ReliabilityKind::Reliable;
                // What would be told of the match has been: statuses change after that.
                assert_eq!(lines.is_empty(), !reliable);
            });
        })
    };
    assert_eq!(told(&DataReaderQos::default().best_effort()), "");
    let text = told(&DataReaderQos::default().reliable());
    let words = "none of its locators can be used from here: it receives at udp/127.77.0.1:7411";
    assert_lines(&text, &[(words, 1)]);
    assert_eq!(count(&text, "topic 'T': reader "), 1, "{text}");
}

/// Whoever was matched while it could be reached, and moves to where it cannot, is told of once, however often it moves.
#[test]
fn an_endpoint_unreachable_after_the_match_is_logged_once() {
    let (nowhere, here) = (Ipv4Addr::new(127, 77, 0, 1), Ipv4Addr::LOCALHOST);
    let moving = |writes: bool| {
        let domain = common::domain();
        logged(|lines| {
            let participant = common::participant(domain);
            let topic = participant.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
            let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
            let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
            let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
            let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable()).unwrap();
            let mut other = Elsewhere::new(domain, Ipv4Addr::LOCALHOST.into());
            other.receive_at(here.into());
            if writes {
                other.write("T");
            } else {
                other.read("T", DataReaderQos::default().reliable());
            }
            other.start();
            let explained = || {
                let explanation = if writes {
                    participant.explain(&reader, Against::Topic)
                } else {
                    participant.explain(&writer, Against::Topic)
                };
                let causes: Vec<_> = explanation.all_causes().map(Cause::name).collect();
                (explanation.matched(), causes.contains(&"UNREACHABLE"))
            };
            // The writer and the reader of this participant match too.
            other.until("the match", |_| explained() == (2, false));
            assert!(lines.is_empty(), "nothing is wrong yet");
            for _ in 0..3 {
                other.receive_at(nowhere.into());
                other.until("it is out of reach", |_| explained() == (2, true));
                other.until("the warning", |_| !lines.is_empty());
                other.receive_at(here.into());
                other.until("it is back", |_| explained() == (2, false));
            }
        })
    };
    for (writes, local) in [(false, "topic 'T': writer "), (true, "topic 'T': reader ")] {
        let text = moving(writes);
        let words = "none of its locators can be used from here: it receives at udp/127.77.0.1:7411";
        assert_lines(&text, &[(words, 1)]);
        assert_eq!(count(&text, local), 1, "{text}");
    }
}

/// A program that writes and ends before a reader has matched.
#[test]
fn a_writer_that_ends_without_a_matched_reader_is_logged_once() {
    let write = |writer: &DataWriter<Reading>| (0..3).try_for_each(|n| writer.write(&Reading { n }));
    let nobody = "topic 'T': nobody got the 3 samples of a writer that was deleted, as no reader had matched";
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let late = a.run(|| -> Result<_> {
            let (_participant, quiet) = writing(&DataWriterQos::default())?;
            drop(quiet);
            let (participant, writer) = writing(&DataWriterQos::default().keep_all())?;
            write(&writer)?;
            drop(writer);
            let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            for _ in 0..3 {
                write(&publisher.create_datawriter(&topic, &DataWriterQos::default())?)?;
            }
            // A reader that comes later and gets what the writer keeps for it.
            let durable = DataWriterQos::default().keep_all().transient_local();
            let late = publisher.create_datawriter(&topic, &durable)?;
            write(&late)?;
            Ok(late)
        });
        let late = late.unwrap();
        let qos = DataReaderQos::default().reliable().transient_local();
        let _reader = b.run(|| reading::<Reading>(&[], &qos)).unwrap();
        sim.run_until(|| !late.matched_subscriptions().is_empty(), secs(9)).unwrap();
        sim.run_for(secs(2)).unwrap();
        a.run(|| drop(late));
        sim.run_for(secs(2)).unwrap();
    });
    assert_lines(&text, &[(nobody, 1)]);
    // Of a writer whose first samples alone were too early it is no warning.
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_participant, writer) = a.run(|| writing(&DataWriterQos::default())).unwrap();
        a.run(|| write(&writer)).unwrap();
        let _reader = b.run(|| reading::<Reading>(&[], &DataReaderQos::default())).unwrap();
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(9)).unwrap();
        a.run(|| write(&writer)).unwrap();
        sim.run_for(secs(2)).unwrap();
        a.run(|| drop(writer));
        sim.run_for(secs(2)).unwrap();
    });
    assert_eq!(text, "");
}

#[test]
fn a_writer_deleted_with_unacknowledged_samples_is_logged() {
    let text = logged(|_| {
        let mut sim = Sim::new(1);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (participant, writer) = a.run(|| writing(&DataWriterQos::default().keep_all())).unwrap();
        let _reader = b.run(|| reading::<Reading>(&[], &DataReaderQos::default().reliable())).unwrap();
        sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(9)).unwrap();
        a.run(|| writer.write(&Reading { n: 0 })).unwrap();
        sim.run_for(secs(1)).unwrap();
        sim.partition(&[&a], &[&b]);
        a.run(|| (1..3).try_for_each(|n| writer.write(&Reading { n }))).unwrap();
        a.run(|| drop(writer));
        sim.run_for(secs(2)).unwrap();
        drop(participant);
    });
    assert_lines(&text, &[("have not acknowledged its last 2 samples", 1)]);
}

/// Panics whenever there is data, which it leaves.
struct Clumsy(Arc<AtomicUsize>);

impl DataReaderListener<Reading> for Clumsy {
    fn on_data_available(&self, _: &DataReader<Reading>) {
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        panic!("the listener of the test, for the {count}th time");
    }
}

/// How often is up to who sends.
#[test]
fn a_listener_that_panics_repeatedly_is_logged_once() {
    let domain = common::domain();
    let text = logged(|_| {
        let (one, other) = (common::participant(domain), common::participant(domain));
        let topic = one.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
        let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all()).unwrap();
        let topic = other.create_topic::<Reading>("T", &TopicQos::default()).unwrap();
        let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
        let qos = DataReaderQos::default().reliable().keep_all();
        let reader = subscriber.create_datareader(&topic, &qos).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        reader.set_listener(Clumsy(Arc::clone(&count)), StatusMask::DATA_AVAILABLE);
        eventually("the match", || !writer.matched_subscriptions().is_empty());
        for n in 0..20 {
            writer.write(&Reading { n }).unwrap();
            // One sample, one call.
            eventually("the call", || count.load(Ordering::SeqCst) > n as usize);
        }
        eventually("the count", || other.listener_panics() == 20);
        assert_eq!(one.listener_panics(), 0);
    });
    assert_eq!(
        (text.lines().count(), count(&text, "a listener panicked; the thread goes on")),
        (1, 1),
        "{text}"
    );
}

/// A type that others are not told, because its object is too large, is told of in the log.
#[test]
fn types_too_large_to_announce_are_logged() {
    let text = logged(|lines| {
        let mut sim = Sim::new(1);
        let node = sim.node("a");
        node.run(|| -> Result<()> {
            for (bound, told) in [("256KiB", true), ("8B", false)] {
                let config = config(&[("quotas.max_told_type", bound)]);
                let participant = DomainParticipant::builder(0).config(config).build()?;
                participant.create_topic::<Reading>("T", &TopicQos::default())?;
                assert_eq!(lines.is_empty(), told, "{bound}");
            }
            Ok(())
        })
        .unwrap();
    });
    assert!(text.contains("quotas.max_told_type is 8)"), "{text}");
}
