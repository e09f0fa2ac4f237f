//! "Why not?" over staged mismatches, most of them between two nodes of the simulator.

mod common;

use common::{KeyedReading, Measurement, Reading, TextReading, Track, eventually};
use dunlin::qos::*;
use dunlin::sim::{Result, Sim};
use dunlin::{
    Against, Cause, Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration, Explanation, Guid,
};

/// What one side is made of.
#[derive(Clone, Default)]
struct Side {
    topic: &'static str,
    partition: &'static [&'static str],
}

fn partition(names: &[&str]) -> Partition {
    Partition { names: names.iter().map(ToString::to_string).collect() }
}

fn writing<T: DdsType>(side: &Side, qos: &DataWriterQos) -> Result<(DomainParticipant, DataWriter<T>)> {
    let participant = DomainParticipant::builder(0).name("sensor").build()?;
    let topic = participant.create_topic::<T>(side.topic, &TopicQos::default())?;
    let group = PublisherQos { partition: partition(side.partition), ..PublisherQos::default() };
    let writer = participant.create_publisher(&group)?.create_datawriter(&topic, qos)?;
    Ok((participant, writer))
}

fn reading<T: DdsType>(side: &Side, qos: &DataReaderQos) -> Result<(DomainParticipant, DataReader<T>)> {
    let participant = DomainParticipant::builder(0).name("display").build()?;
    let topic = participant.create_topic::<T>(side.topic, &TopicQos::default())?;
    let group = SubscriberQos { partition: partition(side.partition), ..SubscriberQos::default() };
    let reader = participant.create_subscriber(&group)?.create_datareader(&topic, qos)?;
    Ok((participant, reader))
}

fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

fn on(topic: &'static str) -> Side {
    Side { topic, partition: &[] }
}

fn names(explanation: &Explanation) -> Vec<&'static str> {
    explanation.all_causes().map(Cause::name).collect()
}

/// A writer on one node, a reader on another, two seconds later: what both sides say, and an observer on a third node,
/// which have to agree on the pair.
fn staged<W: DdsType, R: DdsType>(
    sides: (&Side, &Side),
    writer_qos: &DataWriterQos,
    reader_qos: &DataReaderQos,
) -> Explanation {
    let mut sim = Sim::new(5);
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let (one, writer) = a.run(|| writing::<W>(sides.0, writer_qos)).unwrap();
    let (other, reader) = b.run(|| reading::<R>(sides.1, reader_qos)).unwrap();
    let observer = c.run(|| DomainParticipant::new(0)).unwrap();
    sim.run_for(secs(2)).unwrap();
    let of_writer = one.explain(&writer, reader.guid().unwrap());
    let of_reader = other.explain(&reader, writer.guid().unwrap());
    let observed = observer.explain_topic(sides.0.topic);
    assert_eq!(of_writer.pairs[0].causes, of_reader.pairs[0].causes);
    if sides.0.topic == sides.1.topic {
        // Participants with a topic of the name look up the types of others; who only observes knows their names, unless the pair
        // would match but for its types.
        let by_name = Cause::TypeName { writer: W::TYPE_NAME.into(), reader: R::TYPE_NAME.into() };
        let known = of_writer.pairs[0].causes.iter().zip(&observed.pairs[0].causes);
        for (known, seen) in known {
            let members = matches!(known, Cause::TypeMembers { .. }) && *seen == by_name;
            assert!(members || known == seen, "{known:?} and {seen:?} in {observed}");
        }
        assert_eq!(of_writer.pairs[0].causes.len(), observed.pairs[0].causes.len(), "{observed}");
        assert_eq!(one.explain(&writer, Against::Topic).pairs, of_writer.pairs);
        let name = |info: &Option<dunlin::EndpointInfo>| info.clone().unwrap().participant_name;
        let pair = &observed.pairs[0];
        assert_eq!((name(&pair.writer), name(&pair.reader)), ("sensor".into(), "display".into()));
    }
    let matched = of_writer.pairs[0].matched;
    assert_eq!(writer.matched_subscriptions().len(), usize::from(matched));
    assert_eq!(matched, of_reader.pairs[0].matched);
    for cause in of_writer.all_causes() {
        assert!(!cause.hint().is_empty() && !cause.to_string().is_empty());
    }
    of_writer
}

fn policies(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> Vec<(&'static str, String)> {
    let explanation = staged::<Reading, Reading>((&on("T"), &on("T")), writer_qos, reader_qos);
    explanation.pairs[0].causes.iter().map(|cause| (cause.name(), cause.to_string())).collect()
}

fn writer() -> DataWriterQos {
    DataWriterQos::default()
}

fn reader() -> DataReaderQos {
    DataReaderQos::default()
}

#[test]
fn explain_finds_no_cause_for_a_matched_pair() {
    let explanation = staged::<Reading, Reading>((&on("T"), &on("T")), &writer(), &reader().reliable());
    assert!(explanation.pairs[0].matched && names(&explanation).is_empty(), "{explanation}");
    assert!(explanation.to_string().starts_with("topic 'T': 1 of 1 pairs match\nwriter "));
}

#[test]
fn explain_names_incompatible_policy_with_both_values() {
    let cases: Vec<(DataWriterQos, DataReaderQos, &str, &str)> = vec![
        (
            writer().best_effort(),
            reader().reliable(),
            "RELIABILITY",
            "offered BEST_EFFORT, requested RELIABLE",
        ),
        (writer(), reader().transient_local(), "DURABILITY", "offered VOLATILE, requested TRANSIENT_LOCAL"),
        (
            writer(),
            DataReaderQos { deadline: Deadline { period: secs(1) }, ..reader() },
            "DEADLINE",
            "requested 1s",
        ),
        (
            writer(),
            DataReaderQos { ownership: Ownership { kind: OwnershipKind::Exclusive }, ..reader() },
            "OWNERSHIP",
            "offered SHARED, requested EXCLUSIVE",
        ),
        (
            writer(),
            DataReaderQos {
                liveliness: Liveliness { kind: LivelinessKind::ManualByTopic, ..Liveliness::default() },
                ..reader()
            },
            "LIVELINESS",
            "requested MANUAL_BY_TOPIC",
        ),
        (
            writer(),
            DataReaderQos {
                liveliness: Liveliness { lease_duration: secs(3), ..Liveliness::default() },
                ..reader()
            },
            "LIVELINESS",
            "lease 3s",
        ),
        (
            writer(),
            DataReaderQos {
                destination_order: DestinationOrder { kind: DestinationOrderKind::BySourceTimestamp },
                ..reader()
            },
            "DESTINATION_ORDER",
            "requested BY_SOURCE_TIMESTAMP",
        ),
        (
            DataWriterQos {
                representation: DataRepresentation { ids: vec![DataRepresentationId::Xcdr2] },
                ..writer()
            },
            DataReaderQos {
                representation: DataRepresentation { ids: vec![DataRepresentationId::Xcdr1] },
                ..reader()
            },
            "DATA_REPRESENTATION",
            "offered XCDR2, requested [XCDR1]",
        ),
    ];
    for (writer_qos, reader_qos, name, text) in cases {
        let found = policies(&writer_qos, &reader_qos);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == name && found[0].1.contains(text), "{found:?}, expected {name}: {text}");
    }
}

#[test]
fn every_cause_is_listed_not_the_first_alone() {
    let (one, other) =
        (Side { topic: "T", partition: &["left"] }, Side { topic: "T", partition: &["right", "r*"] });
    let reader_qos =
        DataReaderQos { deadline: Deadline { period: secs(1) }, ..reader().reliable().transient_local() };
    let explanation = staged::<Reading, Measurement>((&one, &other), &writer().best_effort(), &reader_qos);
    let expected = ["PARTITION", "TYPE_MEMBERS", "DURABILITY", "DEADLINE", "RELIABILITY"];
    assert_eq!(names(&explanation), expected);
    let text = explanation.to_string();
    for line in [
        "topic 'T': 0 of 1 pairs match",
        "PARTITION: publisher 'left', subscriber 'right', 'r*'",
        "n: `double` cannot read `uint32`",
        "  hint: let the writer offer at least RELIABLE, or the reader request no more than BEST_EFFORT",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn partitions_types_and_keys() {
    let empty = (&on("T"), &Side { topic: "T", partition: &["p"] });
    let explanation = staged::<Reading, Reading>(empty, &writer(), &reader());
    let wanted = Cause::Partition { publisher: vec![], subscriber: vec!["p".into()] };
    assert_eq!(explanation.pairs[0].causes, [wanted]);
    let explanation = staged::<Reading, KeyedReading>((&on("T"), &on("T")), &writer(), &reader());
    assert_eq!(explanation.pairs[0].causes, [Cause::TypeKey { writer_is_keyed: false }]);
    assert!(explanation.to_string().contains("the reader's type has a key, the writer's has none"));
}

#[test]
fn topics_are_compared_to_the_letter() {
    let sides = (&on("Temperature"), &on("temperature"));
    let explanation = staged::<Reading, Reading>(sides, &writer(), &reader());
    assert_eq!(names(&explanation), ["TOPIC_NAME"]);
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, writer) = a.run(|| writing::<Reading>(sides.0, &writer())).unwrap();
    let (_other, _reader) = b.run(|| reading::<Reading>(sides.1, &reader())).unwrap();
    sim.run_for(secs(1)).unwrap();
    let explanation = one.explain(&writer, Against::Topic);
    let similar = Some("temperature".to_owned());
    assert_eq!(
        explanation.causes,
        [Cause::NoCounterpart { writers: false, topic: "Temperature".into(), similar }]
    );
    let hint = "there is a topic 'temperature': check the spelling on both sides";
    assert!(explanation.to_string().contains(hint), "{explanation}");
    assert_eq!(names(&one.explain_topic("Nothing")), ["NO_COUNTERPART", "NO_COUNTERPART"]);
}

#[test]
fn explain_names_alone_disabled_and_undiscovered_endpoints() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, first) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    assert_eq!(names(&one.explain(&first, Against::Topic)), ["NO_COUNTERPART", "ALONE"]);
    let disabled = a.run(|| {
        let qos = PublisherQos {
            entity_factory: EntityFactory { autoenable_created_entities: false },
            ..PublisherQos::default()
        };
        let topic = one.create_topic::<Reading>("T", &TopicQos::default())?;
        one.create_publisher(&qos)?.create_datawriter(&topic, &writer())
    });
    assert_eq!(names(&one.explain(&disabled.unwrap(), Against::Topic)), ["NOT_ENABLED"]);
    let (other, _reader) = b.run(|| reading::<Reading>(&on("T"), &reader())).unwrap();
    let unknown = Guid::from_bytes([7; 16]);
    assert_eq!(names(&one.explain(&first, unknown)), ["NOT_DISCOVERED", "ALONE"]);
    sim.run_for(secs(1)).unwrap();
    assert_eq!(names(&one.explain(&first, unknown)), ["NOT_DISCOVERED"]);
    let of_known = Guid::new(other.guid().prefix, unknown.entity_id);
    let explanation = one.explain(&first, of_known);
    assert_eq!(explanation.pairs[0].causes, [Cause::NotDiscovered { participant_is_known: true }]);
    assert_eq!(names(&one.explain(&first, first.guid().unwrap())), ["SAME_KIND"]);
}

#[test]
fn explain_reports_differing_domain_tags() {
    let mut sim = Sim::new(1);
    let mut tagged = Config::default();
    tagged.set("domain.tag", "blue").unwrap();
    let (a, b) = (sim.node("a"), sim.node_with("b", tagged));
    let (one, first) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let (_other, _reader) = b.run(|| reading::<Reading>(&on("T"), &reader())).unwrap();
    sim.run_for(secs(2)).unwrap();
    let explanation = one.explain(&first, Against::Topic);
    assert_eq!(names(&explanation), ["NO_COUNTERPART", "ALONE", "OTHER_DOMAIN"]);
    assert!(explanation.to_string().contains("domain.tag"), "{explanation}");
}

#[test]
fn explain_names_endpoints_refused_by_quotas() {
    let mut sim = Sim::new(1);
    let mut small = Config::default();
    small.set("quotas.max_endpoints_per_participant", "1").unwrap();
    let (a, b) = (sim.node_with("a", small), sim.node("b"));
    let (one, first) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let (_other, _others, _reader) = b
        .run(|| -> Result<_> {
            let (other, first) = reading::<Reading>(&on("X"), &reader())?;
            let topic = other.create_topic::<Reading>("T", &TopicQos::default())?;
            let reader =
                other.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &reader())?;
            Ok((other, first, reader))
        })
        .unwrap();
    sim.run_for(secs(2)).unwrap();
    let explanation = one.explain(&first, Against::Topic);
    assert_eq!(names(&explanation), ["NO_COUNTERPART", "QUOTA"]);
    assert!(explanation.to_string().contains("quotas.max_endpoints_per_participant"), "{explanation}");
}

#[test]
fn explain_reports_a_one_way_network() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    sim.cut(&a, &b);
    let (one, first) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let (_other, _reader) = b.run(|| reading::<Reading>(&on("T"), &reader().reliable())).unwrap();
    sim.run_until(|| !one.discovered_participants().is_empty(), secs(4)).unwrap();
    let explanation = one.explain(&first, Against::Topic);
    assert_eq!(names(&explanation), ["NO_COUNTERPART"], "who was heard just now may yet answer");
    sim.run_for(secs(4)).unwrap();
    let explanation = one.explain(&first, Against::Topic);
    assert_eq!(names(&explanation), ["NO_COUNTERPART", "ONE_SIDED"]);
    let text = explanation.to_string();
    assert!(text.contains("'display' (Dunlin) announces itself here, but answers nothing"), "{text}");
}

/// Best-effort samples to two readers go to their group, where they are lost until that is noticed.
#[test]
fn multicast_that_does_not_pass_is_noticed_and_not_used() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let mut config = Config::default();
    config.set("discovery.peers", &a.address().to_string()).unwrap();
    let (b, c) = (sim.node_with("b", config.clone()), sim.node_with("c", config));
    sim.cut_multicast(&a);
    let (one, writer) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let others = [&b, &c].map(|node| node.run(|| reading::<Reading>(&on("T"), &reader())).unwrap());
    sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(5)).unwrap();
    a.run(|| writer.write(&Reading { n: 1 })).unwrap();
    sim.run_for(secs(20)).unwrap();
    for (participant, reader) in &others {
        assert!(reader.take(1).unwrap().is_empty(), "the first was sent to the group");
        let explanation = participant.explain(reader, Against::Topic);
        assert_eq!(names(&explanation), ["NOTHING_RECEIVED", "MULTICAST"], "{explanation}");
        assert!(explanation.to_string().contains("'sensor' (Dunlin) sends to a group"), "{explanation}");
    }
    a.run(|| writer.write(&Reading { n: 2 })).unwrap();
    sim.run_for(secs(1)).unwrap();
    for (participant, reader) in &others {
        assert_eq!(reader.take(9).unwrap()[0].data, Some(Reading { n: 2 }));
        assert!(names(&participant.explain(reader, Against::Topic)).is_empty(), "all is well");
    }
    drop(one);
}

#[test]
fn an_endpoint_discovered_on_one_side_only() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, first) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let (other, reader_of_first) = b.run(|| reading::<Reading>(&on("T"), &reader().reliable())).unwrap();
    sim.run_for(secs(2)).unwrap();
    assert!(names(&one.explain(&first, Against::Topic)).is_empty());
    // What a creates from now on, b does not hear of.
    sim.cut(&a, &b);
    let (second, third) = a
        .run(|| -> Result<_> {
            let topic = one.create_topic::<Reading>("T", &TopicQos::default())?;
            let publisher = one.create_publisher(&PublisherQos::default())?;
            Ok((publisher.create_datawriter(&topic, &writer())?, publisher))
        })
        .unwrap();
    let late = b.run(|| {
        let topic = other.create_topic::<Reading>("T", &TopicQos::default())?;
        other.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &reader().reliable())
    });
    let late = late.unwrap();
    sim.run_for(secs(2)).unwrap();
    let explanation = one.explain(&second, reader_of_first.guid().unwrap());
    assert!(explanation.pairs[0].matched);
    assert_eq!(names(&explanation), ["NOTHING_RECEIVED"], "{explanation}");
    assert!(explanation.to_string().contains("match, but\n  matched here, but nothing has come from it yet"));
    // b knows the first writer, but its new reader hears nothing of it.
    assert_eq!(names(&other.explain(&late, first.guid().unwrap())), ["NOTHING_RECEIVED"]);
    assert_eq!(names(&other.explain(&late, second.guid().unwrap())), ["NOT_DISCOVERED"]);
    drop((second, third));
}

#[test]
fn a_filter_that_rejects_everything() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (_one, writer) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let (other, reader) = b
        .run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Reading>("T", &TopicQos::default())?;
            let filtered = participant.create_contentfilteredtopic("F", &topic, "n > %0", &["10"])?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            Ok((participant.clone(), subscriber.create_datareader(&filtered, &reader().reliable())?))
        })
        .unwrap();
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(9)).unwrap();
    a.run(|| (0..3).try_for_each(|n| writer.write(&Reading { n }))).unwrap();
    sim.run_for(secs(1)).unwrap();
    let explanation = other.explain(&reader, Against::Topic);
    assert_eq!(explanation.pairs[0].causes, [Cause::Filtered { rejected: 3 }]);
    a.run(|| writer.write(&Reading { n: 11 })).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert!(names(&other.explain(&reader, Against::Topic)).is_empty());
}

/// A reader that answers no more, until it does.
#[test]
fn a_reader_that_answers_no_more() {
    let mut sim = Sim::new(1);
    let mut hasty = Config::default();
    hasty.set("reliability.inactive_after", "500ms").unwrap();
    hasty.set("discovery.lease_duration", "60s").unwrap();
    let (a, b) = (sim.node_with("a", hasty.clone()), sim.node_with("b", hasty));
    let keep_all = DataWriterQos {
        resource_limits: ResourceLimits { max_samples: 4, ..Default::default() },
        ..writer()
    };
    let (one, writer) = a.run(|| writing::<Reading>(&on("T"), &keep_all.keep_all())).unwrap();
    let (_other, reader) = b.run(|| reading::<Reading>(&on("T"), &reader().reliable().keep_all())).unwrap();
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(5)).unwrap();
    a.run(|| writer.write(&Reading { n: 1 })).unwrap();
    sim.run_for(secs(1)).unwrap();
    assert!(names(&one.explain(&writer, Against::Topic)).is_empty(), "all is well");
    sim.cut(&b, &a);
    a.run(|| writer.write(&Reading { n: 2 })).unwrap();
    sim.run_for(secs(5)).unwrap();
    let explanation = one.explain(&writer, reader.guid().unwrap());
    assert!(explanation.pairs[0].matched);
    assert_eq!(names(&explanation), ["INACTIVE"], "{explanation}");
    let text = explanation.to_string();
    assert!(text.contains("match, but\n  the reader is inactive: it does not acknowledge"), "{text}");
    assert!(text.contains("hint: is its process stopped, overloaded or cut off?"), "{text}");
    sim.heal();
    a.run(|| writer.write(&Reading { n: 3 })).unwrap();
    sim.run_for(secs(10)).unwrap();
    assert!(names(&one.explain(&writer, Against::Topic)).is_empty(), "it is back");
}

/// On a slow network it takes a while until types are known.
#[test]
fn types_that_are_being_asked_for() {
    let ms = |n| Duration::from_millis(n);
    let mut sim = Sim::builder().seed(1).delay(ms(80), ms(80)).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, writer) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let (other, reader) = b.run(|| reading::<TextReading>(&on("T"), &reader())).unwrap();
    let unsettled = ["TYPE_UNSETTLED"];
    sim.run_until(|| names(&one.explain(&writer, Against::Topic)) == unsettled, secs(5)).unwrap();
    let explanation = one.explain(&writer, Against::Topic);
    let text = explanation.to_string();
    assert!(
        !explanation.pairs[0].matched && text.contains("type: one side is being asked for its type"),
        "{text}"
    );
    assert!(text.contains("hint: wait a moment"), "{text}");
    // One side has them a way through the network earlier.
    let settled = ["TYPE_MEMBERS"];
    sim.run_until(|| names(&other.explain(&reader, Against::Topic)) == settled, secs(5)).unwrap();
    sim.run_until(|| names(&one.explain(&writer, Against::Topic)) == settled, secs(5)).unwrap();
}

/// A writer without the service that it offers says so, to both sides and to others.
#[test]
fn transient_samples_that_the_writer_alone_keeps() {
    let mut local = Config::default();
    local.set("durability.without_service", "local").unwrap();
    for (kind, text) in [
        (DurabilityKind::TransientLocal, None),
        (DurabilityKind::Transient, Some("DURABILITY: TRANSIENT is offered without a durability service")),
        (DurabilityKind::Persistent, Some("DURABILITY: PERSISTENT is offered without a durability service")),
    ] {
        let mut sim = Sim::builder().seed(1).config(local.clone()).build();
        let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node_with("c", Config::default()));
        let (one, writer) = a.run(|| writing::<Reading>(&on("T"), &writer().durability(kind))).unwrap();
        let (other, reader) =
            b.run(|| reading::<Reading>(&on("T"), &reader().reliable().durability(kind))).unwrap();
        let observer = c.run(|| DomainParticipant::new(0)).unwrap();
        sim.run_for(secs(2)).unwrap();
        for explanation in [
            one.explain(&writer, Against::Topic),
            other.explain(&reader, Against::Topic),
            observer.explain_topic("T"),
        ] {
            assert!(names(&explanation).is_empty() && explanation.matched() == 1, "{explanation}");
            let notes: Vec<_> = explanation.pairs[0].notes.iter().map(ToString::to_string).collect();
            assert_eq!(notes.len(), usize::from(text.is_some()), "{explanation}");
            assert!(notes.iter().all(|note| note.starts_with(text.unwrap())), "{explanation}");
            assert_eq!(explanation.to_string().contains("  note: "), text.is_some(), "{explanation}");
        }
    }
}

/// The other side is in domain 1.
#[test]
fn participants_of_other_domains_are_asked() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, writer) = a.run(|| writing::<Reading>(&on("T"), &writer())).unwrap();
    let in_domain = |domain| b.run(|| DomainParticipant::new(domain)).unwrap();
    let (looking, elsewhere, nowhere) = (in_domain(1), in_domain(1), in_domain(2));
    let reader = b.run(|| {
        let topic = elsewhere.create_topic::<Reading>("T", &TopicQos::default())?;
        elsewhere.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &reader())
    });
    sim.run_for(secs(2)).unwrap();
    let mut explanation = one.explain(&writer, Against::Topic);
    assert_eq!(names(&explanation), ["NO_COUNTERPART", "ALONE"]);
    explanation.look_in(std::slice::from_ref(&nowhere));
    assert_eq!(names(&explanation), ["NO_COUNTERPART", "ALONE"], "nobody is there");
    explanation.look_in(&[nowhere, looking.clone(), looking]);
    let wanted = Cause::Domain { writers: false, topic: "T".into(), domains: vec![1] };
    assert_eq!(explanation.causes, [wanted, Cause::Alone]);
    let text =
        "nobody reads topic 'T' in this domain, but somebody does in domain 1\n  hint: use one domain id";
    assert!(explanation.to_string().contains(text), "{explanation}");
    drop(reader.unwrap());
}

/// Two participants over real sockets.
#[test]
fn explain_works_over_loopback_sockets() {
    let domain = common::domain();
    let (one, other) = (common::participant(domain), common::participant(domain));
    let name = format!("Why{}", std::process::id());
    let topic = one.create_topic::<Track>(&name, &TopicQos::default()).unwrap();
    let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
    let best_effort = publisher.create_datawriter(&topic, &writer().best_effort()).unwrap();
    let reliable = publisher.create_datawriter(&topic, &writer()).unwrap();
    let topic = other.create_topic::<Track>(&name, &TopicQos::default()).unwrap();
    let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &reader().reliable()).unwrap();
    eventually("both writers explained", || {
        let explanation = other.explain(&reader, Against::Topic);
        explanation.pairs.len() == 2
            && explanation.matched() == 1
            && names(&explanation).first() == Some(&"RELIABILITY")
            && names(&other.explain(&reader, reliable.guid().unwrap())).is_empty()
    });
    let explanation = one.explain(&best_effort, reader.guid().unwrap());
    let wanted = Cause::Policy {
        policy: PolicyId::Reliability,
        offered: "BEST_EFFORT".into(),
        requested: "RELIABLE".into(),
    };
    assert_eq!(explanation.pairs[0].causes, [wanted]);
    assert_eq!(one.explain_topic(&name).pairs.len(), 2);
}
