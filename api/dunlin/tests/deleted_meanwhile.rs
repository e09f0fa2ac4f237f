//! Endpoints that are deleted, and QoS that changes, while endpoints are enabled. A process of its own, as its log is: between the check whether an
//! endpoint was deleted and its coming into being stands a warning, so that what takes the log in can do what another thread
//! could do at that moment.

use std::cell::RefCell;
use std::sync::Once;

use dunlin::qos::PresentationAccessScope as Scope;
use dunlin::qos::{DataReaderQos, DataWriterQos, DurabilityKind, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Result, Sim};
use dunlin::{Config, CreateEntityError, DdsType, DomainParticipant, Duration, ReturnCode};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    n: u32,
}

thread_local! {
    /// What the next line of the log does.
    static NEXT: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// Runs `meanwhile` as soon as a line is logged on this thread, in which `work` results.
fn meanwhile<R>(meanwhile: impl FnOnce() + 'static, work: impl FnOnce() -> R) -> R {
    static LOG: Once = Once::new();
    LOG.call_once(|| {
        let sink = || {
            if let Some(next) = NEXT.with(|next| next.borrow_mut().take()) {
                next();
            }
            std::io::sink()
        };
        tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(sink).init();
    });
    NEXT.with(|next| *next.borrow_mut() = Some(Box::new(meanwhile)));
    let result = work();
    assert!(NEXT.with(|next| next.borrow().is_none()), "nothing was logged meanwhile");
    result
}

/// A simulation in which durable endpoints are warned of.
fn simulation() -> Sim {
    let mut config = Config::default();
    config.set("durability.without_service", "local").unwrap();
    Sim::builder().seed(1).config(config).build()
}

fn participant() -> Result<DomainParticipant> {
    Ok(DomainParticipant::new(0)?)
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_reader_that_is_deleted_while_it_is_enabled_is_nowhere() -> Result<()> {
    let mut sim = simulation();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, other) = (a.run(participant)?, b.run(participant)?);
    let topic = a.run(|| one.create_topic::<Reading>("T", &TopicQos::default()))?;
    let subscriber = a.run(|| one.create_subscriber(&SubscriberQos::default()))?;
    let qos = DataReaderQos::default().reliable().durability(DurabilityKind::Transient);
    let deletes = subscriber.clone();
    let made = meanwhile(
        move || deletes.delete_contained_entities().unwrap(),
        || a.run(|| subscriber.create_datareader(&topic, &qos)),
    );
    assert!(matches!(made, Err(CreateEntityError::AlreadyDeleted)), "{made:?}");
    let _reader = a.run(|| subscriber.create_datareader(&topic, &qos))?;
    sim.run_until(|| !other.discovered_subscriptions().is_empty(), Duration::from_secs(30))?;
    sim.run_for(SECOND)?;
    assert_eq!(other.discovered_subscriptions().len(), 1, "the second alone");
    Ok(())
}

#[test]
fn a_writer_that_is_deleted_while_it_is_enabled_is_nowhere() -> Result<()> {
    let mut sim = simulation();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, other) = (a.run(participant)?, b.run(participant)?);
    let topic = a.run(|| one.create_topic::<Reading>("T", &TopicQos::default()))?;
    let publisher = a.run(|| one.create_publisher(&PublisherQos::default()))?;
    let qos = DataWriterQos::default().durability(DurabilityKind::Transient);
    let deletes = publisher.clone();
    let made = meanwhile(
        move || deletes.delete_contained_entities().unwrap(),
        || a.run(|| publisher.create_datawriter(&topic, &qos)),
    );
    assert!(matches!(made, Err(CreateEntityError::AlreadyDeleted)), "{made:?}");
    let _writer = a.run(|| publisher.create_datawriter(&topic, &qos))?;
    sim.run_until(|| !other.discovered_publications().is_empty(), Duration::from_secs(30))?;
    sim.run_for(SECOND)?;
    assert_eq!(other.discovered_publications().len(), 1, "the second alone");
    Ok(())
}

#[test]
fn entity_deleted_during_enable_does_not_stop_enabling_others() -> Result<()> {
    let mut sim = simulation();
    let a = sim.node("a");
    let one = a.run(participant)?;
    let topic = a.run(|| one.create_topic::<Reading>("T", &TopicQos::default()))?;
    let by_hand = dunlin::qos::DomainParticipantQos::default().autoenable_created_entities(false);
    a.run(|| one.set_qos(&by_hand))?;
    let publisher = a.run(|| one.create_publisher(&PublisherQos::default()))?;
    let qos = DataWriterQos::default().durability(DurabilityKind::Transient);
    let first = a.run(|| publisher.create_datawriter(&topic, &qos))?;
    let second = a.run(|| publisher.create_datawriter(&topic, &qos))?;
    let (deletes, deleted) = (publisher.clone(), first.clone());
    meanwhile(move || deletes.delete_datawriter(&deleted).unwrap(), || a.run(|| publisher.enable()))?;
    assert!(a.run(|| first.write(&Reading { n: 1 })).is_err());
    a.run(|| second.write(&Reading { n: 1 }))?;
    let subscriber = a.run(|| one.create_subscriber(&SubscriberQos::default()))?;
    let qos = DataReaderQos::default().reliable().durability(DurabilityKind::Transient);
    let first = a.run(|| subscriber.create_datareader(&topic, &qos))?;
    let second = a.run(|| subscriber.create_datareader(&topic, &qos))?;
    let (deletes, deleted) = (subscriber.clone(), first.clone());
    meanwhile(move || deletes.delete_datareader(&deleted).unwrap(), || a.run(|| subscriber.enable()))?;
    assert!(a.run(|| first.take(1)).is_err());
    assert!(a.run(|| second.take(1)).is_ok());
    Ok(())
}

/// What is announced of a writer, and of its publisher and topic, is what they say although it changed between the look at
/// them and the announcement.
#[test]
fn qos_changed_while_a_writer_is_enabled_is_announced() -> Result<()> {
    let mut sim = simulation();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, other) = (a.run(participant)?, b.run(participant)?);
    let topic = a.run(|| one.create_topic::<Reading>("T", &TopicQos::default()))?;
    let manual = PublisherQos::default().autoenable_created_entities(false);
    let publisher = a.run(|| one.create_publisher(&manual))?;
    let qos = DataWriterQos::default().durability(DurabilityKind::Transient);
    let writer = a.run(|| publisher.create_datawriter(&topic, &qos))?;
    let (changed, group, named) =
        (qos.clone().user_data([1]), manual.partition(["p"]), TopicQos::default().topic_data([2]));
    let (sets, sets_group, sets_topic) = (writer.clone(), publisher.clone(), topic.clone());
    let (new, new_group, new_topic) = (changed.clone(), group.clone(), named.clone());
    meanwhile(
        move || {
            sets.set_qos(&new).unwrap();
            sets_group.set_qos(&new_group).unwrap();
            sets_topic.set_qos(&new_topic).unwrap();
            let refused = sets.set_qos(&new.exclusive()).unwrap_err();
            assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy, "it is about to be announced");
            let refused = sets_group.set_qos(&new_group.presentation(Scope::Topic, true, false)).unwrap_err();
            assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
        },
        || a.run(|| writer.enable()),
    )?;
    let known = || other.discovered_publication_data(writer.instance_handle());
    sim.run_until(|| known().is_ok(), Duration::from_secs(30))?;
    sim.run_for(SECOND)?;
    let known = known()?;
    assert_eq!(
        (&known.qos.user_data, &known.publisher_qos.partition),
        (&changed.user_data, &group.partition)
    );
    assert_eq!((&known.topic_data, writer.qos().user_data), (&named.topic_data, changed.user_data));
    Ok(())
}

#[test]
fn qos_changed_while_a_reader_is_enabled_is_announced() -> Result<()> {
    let mut sim = simulation();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, other) = (a.run(participant)?, b.run(participant)?);
    let topic = a.run(|| one.create_topic::<Reading>("T", &TopicQos::default()))?;
    let manual = SubscriberQos::default().autoenable_created_entities(false);
    let subscriber = a.run(|| one.create_subscriber(&manual))?;
    let qos = DataReaderQos::default().reliable().durability(DurabilityKind::Transient);
    let reader = a.run(|| subscriber.create_datareader(&topic, &qos))?;
    let (changed, group, named) =
        (qos.clone().user_data([1]), manual.partition(["p"]), TopicQos::default().topic_data([2]));
    let (sets, sets_group, sets_topic) = (reader.clone(), subscriber.clone(), topic.clone());
    let (new, new_group, new_topic) = (changed.clone(), group.clone(), named.clone());
    meanwhile(
        move || {
            sets.set_qos(&new).unwrap();
            sets_group.set_qos(&new_group).unwrap();
            sets_topic.set_qos(&new_topic).unwrap();
            let refused = sets.set_qos(&new.exclusive()).unwrap_err();
            assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy, "it is about to be announced");
        },
        || a.run(|| reader.enable()),
    )?;
    let known = || other.discovered_subscription_data(reader.instance_handle());
    sim.run_until(|| known().is_ok(), Duration::from_secs(30))?;
    sim.run_for(SECOND)?;
    let known = known()?;
    assert_eq!(
        (&known.qos.user_data, &known.subscriber_qos.partition),
        (&changed.user_data, &group.partition)
    );
    assert_eq!((&known.topic_data, reader.qos().user_data), (&named.topic_data, changed.user_data));
    Ok(())
}
