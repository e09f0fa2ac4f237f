//! ENTITY_FACTORY of the participant, and DURABILITY without a service (DDS 1.4 §2.2.3.20, §2.2.3.4).

use dunlin::qos::{DomainParticipantQos, DurabilityKind, PolicyId, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Result, Sim};
use dunlin::{Config, CreateEntityError, DomainParticipant, ReturnCode};

use crate::support::*;

#[test]
fn entities_not_autoenabled_are_not_announced_until_enable() {
    Sim::builder().loss(0.1).delay(millis(1), millis(10)).seeds(0..5, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let qos = DomainParticipantQos::default().autoenable_created_entities(false);
        let (participant, publisher, writer) = a.run(|| -> Result<_> {
            let participant = DomainParticipant::builder(0).qos(qos.clone()).build()?;
            let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let writer = publisher.create_datawriter(&topic, &writer_qos())?;
            Ok((participant, publisher, writer))
        })?;
        let reader = b.run(|| reader(&reader_qos()))?;
        assert!(matches!(a.run(|| writer.enable()), Err(CreateEntityError::FactoryNotEnabled)));
        assert_eq!(CreateEntityError::FactoryNotEnabled.return_code(), ReturnCode::PreconditionNotMet);
        assert_eq!(a.run(|| writer.write(&reading(1))).unwrap_err().return_code(), ReturnCode::NotEnabled);
        sim.run_for(secs(10))?;
        assert!(reader.matched_publications().is_empty() && writer.guid().is_none());
        a.run(|| publisher.enable())?;
        a.run(|| publisher.enable())?;
        sim.run_until(|| matched(&writer, &reader), secs(30))?;
        a.run(|| writer.write(&reading(2)))?;
        sim.run_until(|| reader.take(1).is_ok_and(|taken| taken.len() == 1), secs(10))?;
        // Changed at run time, it counts for what is created later.
        a.run(|| participant.set_qos(&qos.autoenable_created_entities(true)))?;
        let subscriber = a.run(|| participant.create_subscriber(&SubscriberQos::default()))?;
        let topic = a.run(|| participant.create_topic::<Reading>("Readings", &TopicQos::default()))?;
        assert!(a.run(|| subscriber.create_datareader(&topic, &reader_qos()))?.guid().is_some());
        Ok(())
    });
}

#[test]
fn transient_durability_without_a_service_is_refused_with_advice() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let refused = a.run(|| writer(&writer_qos().durability(DurabilityKind::Transient))).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("DURABILITY") && text.contains("durability.without_service"), "{text}");
    assert!(a.run(|| reader(&reader_qos().durability(DurabilityKind::Persistent))).is_err());
    sim.run_for(secs(1)).unwrap();
}

#[test]
fn durability_of_a_service_is_that_of_the_writer_where_that_is_configured() {
    let mut config = Config::default();
    config.set("durability.without_service", "local").unwrap();
    Sim::builder().config(config).loss(0.1).delay(millis(1), millis(10)).seeds(0..5, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let writer = a.run(|| writer(&writer_qos().durability(DurabilityKind::Persistent)))?;
        a.run(|| (0..20).try_for_each(|n| writer.write(&reading(n))))?;
        sim.run_for(secs(5))?;
        let late = b.run(|| reader(&reader_qos().durability(DurabilityKind::Transient)))?;
        let mut seen = Vec::new();
        sim.run_until(
            || {
                let taken = late.take(100).expect("no condition");
                seen.extend(taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n));
                seen.len() == 20
            },
            secs(30),
        )?;
        assert!(seen.iter().copied().eq(0..20));
        Ok(())
    });
}

#[test]
fn durability_is_ordered_and_fixed_all_the_same() {
    let mut config = Config::default();
    config.set("durability.without_service", "local").unwrap();
    let mut sim = Sim::builder().config(config).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(&writer_qos().durability(DurabilityKind::Transient))).unwrap();
    let reader = b.run(|| reader(&reader_qos().durability(DurabilityKind::Persistent))).unwrap();
    let policy = || reader.requested_incompatible_qos_status().last_policy_id;
    sim.run_until(|| policy() == Some(PolicyId::Durability), secs(10)).unwrap();
    let changed = writer.qos().durability(DurabilityKind::Persistent);
    let refused = a.run(|| writer.set_qos(&changed)).unwrap_err();
    assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
}
