//! Every policy that can keep two endpoints apart (DDS 1.4 §2.2.3, RxO): it is told by the statuses of both sides, in the
//! log, and by `explain`. A process of its own, as it reads the log.

mod common;

use common::Lines;
use dunlin::qos::*;
use dunlin::sim::{Result, Sim};
use dunlin::{Against, DataReader, DataWriter, DdsType, DomainParticipant, Duration};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    n: u32,
}

#[derive(Clone, Default)]
struct Offer {
    policy: Option<PolicyId>,
    writer: DataWriterQos,
    reader: DataReaderQos,
    publisher: PublisherQos,
    subscriber: SubscriberQos,
    /// What the cause says.
    says: &'static str,
}

fn endpoints(policy: PolicyId, writer: DataWriterQos, reader: DataReaderQos, says: &'static str) -> Offer {
    Offer { policy: Some(policy), writer, reader, says, ..Offer::default() }
}

fn groups(
    policy: Option<PolicyId>,
    publisher: PublisherQos,
    subscriber: SubscriberQos,
    says: &'static str,
) -> Offer {
    Offer { policy, publisher, subscriber, says, ..Offer::default() }
}

fn offers() -> Vec<Offer> {
    use PolicyId as P;
    use PresentationAccessScope::{Group, Instance, Topic};
    let (w, r) = (DataWriterQos::default, DataReaderQos::default);
    let (p, s) = (PublisherQos::default, SubscriberQos::default);
    let secs = Duration::from_secs;
    let (xcdr1, xcdr2) = (DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2);
    vec![
        endpoints(P::Durability, w(), r().transient_local(), "offered VOLATILE, requested TRANSIENT_LOCAL"),
        endpoints(P::Deadline, w().deadline(secs(3)), r().deadline(secs(2)), "offered 3s, requested 2s"),
        endpoints(
            P::LatencyBudget,
            w().latency_budget(secs(2)),
            r().latency_budget(secs(1)),
            "offered 2s, requested 1s",
        ),
        endpoints(P::Ownership, w().exclusive(), r(), "offered EXCLUSIVE, requested SHARED"),
        endpoints(
            P::Liveliness,
            w(),
            r().liveliness(LivelinessKind::ManualByTopic, secs(5)),
            "requested MANUAL_BY_TOPIC",
        ),
        endpoints(
            P::Reliability,
            w().best_effort(),
            r().reliable(),
            "offered BEST_EFFORT, requested RELIABLE",
        ),
        endpoints(P::DestinationOrder, w(), r().by_source_timestamp(), "requested BY_SOURCE_TIMESTAMP"),
        endpoints(
            P::DataRepresentation,
            w().representation(&[xcdr2]),
            r().representation(&[xcdr1]),
            "offered XCDR2, requested [XCDR1]",
        ),
        groups(
            Some(P::Presentation),
            p().presentation(Topic, false, false),
            s().presentation(Group, false, false),
            "PRESENTATION",
        ),
        groups(
            Some(P::Presentation),
            p().presentation(Instance, false, false),
            s().presentation(Instance, true, false),
            "PRESENTATION",
        ),
        groups(
            Some(P::Presentation),
            p().presentation(Instance, true, false),
            s().presentation(Instance, false, true),
            "PRESENTATION",
        ),
        // No status tells of partitions (DDS 1.4 §2.2.3.13).
        groups(
            None,
            p().partition(["a"]),
            s().partition(["b*"]),
            "PARTITION: publisher 'a', subscriber 'b*'",
        ),
    ]
}

fn writing(offer: &Offer) -> Result<(DomainParticipant, DataWriter<Reading>)> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
    let writer = participant.create_publisher(&offer.publisher)?.create_datawriter(&topic, &offer.writer)?;
    Ok((participant, writer))
}

fn reading(offer: &Offer) -> Result<(DomainParticipant, DataReader<Reading>)> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
    let reader =
        participant.create_subscriber(&offer.subscriber)?.create_datareader(&topic, &offer.reader)?;
    Ok((participant, reader))
}

#[test]
fn incompatible_policy_is_named_by_statuses_log_and_explain() {
    let lines = Lines::default();
    let sink = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_ansi(false);
    subscriber.with_writer(move || sink.clone()).init();
    for (seed, offer) in offers().into_iter().enumerate() {
        let mut sim = Sim::builder().seed(seed as u64).loss(0.1).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (one, writer) = a.run(|| writing(&offer)).unwrap();
        let (_other, reader) = b.run(|| reading(&offer)).unwrap();
        let seen = || one.discovered_topics().iter().any(|topic| topic.name == "T");
        sim.run_until(seen, Duration::from_secs(60)).unwrap();
        sim.run_for(Duration::from_secs(8)).unwrap();
        assert!(writer.matched_subscriptions().is_empty() && reader.matched_publications().is_empty());
        let statuses = [writer.offered_incompatible_qos_status(), reader.requested_incompatible_qos_status()];
        for status in &statuses {
            assert_eq!(
                (status.last_policy_id, status.policies.len()),
                (offer.policy, usize::from(offer.policy.is_some()))
            );
        }
        let text = lines.take();
        let warned =
            text.lines().filter(|line| line.contains("WARN dunlin::why") && line.contains(offer.says));
        assert_eq!(warned.count(), 2, "one on each side: {}\n{text}", offer.says);
        let explanation = a.run(|| one.explain(&writer, Against::Topic));
        let causes: Vec<String> = explanation.pairs[0].causes.iter().map(ToString::to_string).collect();
        assert!(causes.len() == 1 && causes[0].contains(offer.says), "{causes:?}");
    }
}
