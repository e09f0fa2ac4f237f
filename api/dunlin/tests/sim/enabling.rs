//! Participants and topics that are created disabled (DDS 1.4 §2.2.2.1.1.7 enable, §2.2.3.20 ENTITY_FACTORY).

use dunlin::qos::{
    DomainParticipantQos, DurabilityKind, OwnershipKind, PublisherQos, SubscriberQos, TopicQos, UserData,
};
use dunlin::sim::{Result, Sim};
use dunlin::{CreateEntityError, DomainParticipant, ReturnCode, StatusMask};

use crate::support::*;

#[test]
fn a_disabled_participant_is_silent_and_deaf_until_it_is_enabled() {
    Sim::builder().loss(0.1).delay(millis(1), millis(10)).seeds(0..5, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let other = b.run(|| reader(&reader_qos()))?;
        sim.run_for(secs(1))?;
        let participant = a.run(|| DomainParticipant::builder(0).enabled(false).build())?;
        let (publisher, writer) = a.run(|| -> Result<_> {
            let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let writer = publisher.create_datawriter(&topic, &writer_qos())?;
            Ok((publisher, writer))
        })?;
        for refused in
            [a.run(|| publisher.enable()), a.run(|| writer.enable()), a.run(|| writer.topic().enable())]
        {
            assert!(matches!(refused, Err(CreateEntityError::FactoryNotEnabled)));
        }
        let refused = a.run(|| writer.write(&reading(1))).unwrap_err();
        assert_eq!(refused.return_code(), ReturnCode::NotEnabled);
        // QoS can be set, and is announced later.
        let named = DomainParticipantQos { user_data: UserData(vec![7]), ..DomainParticipantQos::default() };
        a.run(|| participant.set_qos(&named))?;
        sim.run_for(secs(40))?;
        let seen_by = other.subscriber().participant();
        assert!(
            participant.discovered_participants().is_empty() && seen_by.discovered_participants().is_empty()
        );
        assert_eq!(participant.status_changes(), StatusMask::NONE);
        a.run(|| participant.enable())?;
        a.run(|| participant.enable())?;
        sim.run_until(|| matched(&writer, &other), secs(30))?;
        assert_eq!(seen_by.discovered_participants()[0].user_data.0, [7]);
        a.run(|| writer.write(&reading(2)))?;
        sim.run_until(|| other.take(1).is_ok_and(|taken| taken.len() == 1), secs(10))?;
        Ok(())
    });
}

#[test]
fn enabling_a_participant_leaves_alone_what_it_does_not_enable() {
    let mut sim = Sim::new(2);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let qos = DomainParticipantQos::default().autoenable_created_entities(false);
    let participant = a.run(|| DomainParticipant::builder(0).qos(qos).enabled(false).build()).unwrap();
    let subscriber = a.run(|| participant.create_subscriber(&SubscriberQos::default())).unwrap();
    let topic = a.run(|| participant.create_topic::<Reading>("Readings", &TopicQos::default())).unwrap();
    let reader = a.run(|| subscriber.create_datareader(&topic, &reader_qos())).unwrap();
    let writer = b.run(|| writer(&writer_qos())).unwrap();
    a.run(|| participant.enable()).unwrap();
    sim.run_until(|| participant.discovered_participants().len() == 1, secs(30)).unwrap();
    sim.run_for(secs(5)).unwrap();
    assert!(reader.guid().is_none() && writer.matched_subscriptions().is_empty());
    a.run(|| subscriber.enable()).unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
}

#[test]
fn the_qos_of_a_disabled_topic_may_change_altogether() {
    let mut sim = Sim::new(3);
    let a = sim.node("a");
    let qos = DomainParticipantQos::default().autoenable_created_entities(false);
    let participant = a.run(|| DomainParticipant::builder(0).qos(qos).build()).unwrap();
    let topic = a.run(|| participant.create_topic::<Reading>("Readings", &TopicQos::default())).unwrap();
    let changed = TopicQos::default().durability(DurabilityKind::TransientLocal).exclusive();
    a.run(|| topic.set_qos(&changed)).unwrap();
    assert_eq!(topic.qos().ownership.kind, OwnershipKind::Exclusive);
    a.run(|| topic.enable()).unwrap();
    a.run(|| topic.enable()).unwrap();
    let refused = a.run(|| topic.set_qos(&TopicQos::default())).unwrap_err();
    assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
    sim.run_for(secs(1)).unwrap();
}
