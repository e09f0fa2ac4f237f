//! Types that allow one data representation alone (DDS-XTypes 1.3 §7.3.1.2.1.12 `@data_representation`).

use dunlin::qos::*;
use dunlin::sim::Sim;
use dunlin::{CreateEntityError, DdsType, DomainParticipant};

use crate::support::*;
use crate::types::reads;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Value")]
struct Any {
    #[dds(key)]
    id: u32,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Value", data_representation = "xcdr2")]
struct Two {
    #[dds(key)]
    id: u32,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Value", mutable, data_representation = "xcdr1")]
struct One {
    #[dds(key)]
    id: u32,
}

use DataRepresentationId::{Xcdr1, Xcdr2};

/// Writers and readers have the representation without being told, and the other is refused with the policy's name.
#[test]
fn a_representation_that_the_type_does_not_allow_is_refused() {
    fn check<T: DdsType>(allowed: DataRepresentationId, other: DataRepresentationId) {
        Sim::builder().seeds(0..1, |sim| {
            sim.node("a").run(|| -> dunlin::sim::Result {
                let participant = DomainParticipant::new(0)?;
                let topic = participant.create_topic::<T>("T", &TopicQos::default())?;
                let publisher = participant.create_publisher(&PublisherQos::default())?;
                let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
                let writer = publisher.create_datawriter(&topic, &writer_qos())?;
                let reader = subscriber.create_datareader(&topic, &reader_qos())?;
                assert_eq!(writer.qos().representation.ids, [allowed]);
                assert_eq!(reader.qos().representation.ids, [allowed]);
                // The same QoS again is no change.
                writer.set_qos(&writer_qos())?;
                reader.set_qos(&reader_qos())?;
                let refused = |error: CreateEntityError| match error {
                    CreateEntityError::InconsistentPolicy(it) => {
                        assert_eq!(it.policy, PolicyId::DataRepresentation);
                        assert!(it.reason.contains("@data_representation"), "{}", it.reason);
                    }
                    other => panic!("{other}"),
                };
                let qos = writer_qos().representation(&[other]);
                refused(publisher.create_datawriter(&topic, &qos).expect_err("not allowed"));
                let qos = reader_qos().representation(&[other]);
                refused(subscriber.create_datareader(&topic, &qos).expect_err("not allowed"));
                Ok(())
            })
        });
    }
    check::<Two>(Xcdr2, Xcdr1);
    check::<One>(Xcdr1, Xcdr2);
}

/// What is written has the representation, and a writer of another type that has the other is incompatible.
#[test]
fn data_representation_decides_which_endpoints_match() {
    let qos = writer_qos();
    Sim::builder().seeds(0..2, |sim| reads(sim, &qos, &Two { id: 3 }, &Two { id: 3 }));
    Sim::builder().seeds(2..4, |sim| reads(sim, &qos, &Two { id: 3 }, &Any { id: 3 }));
    Sim::builder().seeds(4..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_one, writer) = a.run(|| -> dunlin::sim::Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Any>("T", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            // XCDR1, as the type says nothing.
            let writer = publisher.create_datawriter(&topic, &writer_qos())?;
            Ok((participant, writer))
        })?;
        let (_other, reader) = b.run(|| -> dunlin::sim::Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_topic::<Two>("T", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let reader = subscriber.create_datareader(&topic, &reader_qos())?;
            Ok((participant, reader))
        })?;
        let told =
            || writer.offered_incompatible_qos_status().last_policy_id == Some(PolicyId::DataRepresentation);
        sim.run_until(told, secs(60))?;
        assert!(reader.matched_publications().is_empty());
        Ok(())
    });
}
