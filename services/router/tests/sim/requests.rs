//! Requests and replies across a router, and types that nobody announces.

use dunlin::qos::{PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::Result;
use dunlin::{DdsType, DomainParticipant, InstanceState, SerializedData, WriteParams};

use crate::support::*;

/// As ROS 2 names the topics of a service.
const ROS: &str = "[[route]]\nbetween = [\"inner\", \"outer\"]\ntopics = [\"rq/*\", \"rr/*\"]\n";

#[test]
fn an_answer_to_the_copy_of_a_request_names_the_request() {
    bad_network().seeds(0..6, |sim| {
        let (a, r, b) = (sim.node("client"), sim.node("r"), sim.node("service"));
        route(&r, &format!("{TWO}{ROS}"));
        let requests = writer(&a, &at(0, "rq/addRequest"), &writer_qos())?;
        let answers = reader::<Track>(&a, &at(0, "rr/addReply"), &reader_qos())?;
        let asked = reader::<Track>(&b, &at(1, "rq/addRequest"), &reader_qos())?;
        let replies = writer(&b, &at(1, "rr/addReply"), &writer_qos())?;
        for names_the_copy in [true, false] {
            let request = a.run(|| requests.write_with(&track(1, 4), &WriteParams::default()))?;
            sim.run_until(|| asked.stats().delivered == 1 + u64::from(!names_the_copy), secs(60))?;
            let copy = take(&b, &asked).remove(0).info;
            assert_ne!(copy.identity(), request);
            assert_eq!(copy.origin(), request);
            let named = if names_the_copy { copy.identity() } else { copy.origin() };
            let params = WriteParams { related: Some(named), ..WriteParams::default() };
            b.run(|| replies.write_with(&track(1, 8), &params))?;
            sim.run_until(|| answers.stats().delivered == 1 + u64::from(!names_the_copy), secs(60))?;
            let answer = take(&a, &answers).remove(0).info;
            assert_eq!(answer.related_sample, Some(request), "names the copy: {names_the_copy}");
        }
        Ok(())
    });
}

#[test]
fn a_type_that_nobody_announces_passes_by_name() {
    bad_network().seeds(0..4, |sim| {
        let (a, r, b) = (sim.node("a"), sim.node("r"), sim.node("b"));
        route(&r, &format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\n"));
        let opaque = |participant: &DomainParticipant| {
            participant.create_serialized_topic("Tracks", Track::TYPE_NAME, true, &TopicQos::default())
        };
        let writer = a.run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            Ok(publisher.create_datawriter(&opaque(&participant)?, &writer_qos())?)
        })?;
        let plain = b.run(|| -> Result<_> {
            let participant = DomainParticipant::new(1)?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let qos = reader_qos().show_every_change();
            Ok(subscriber.create_datareader(&opaque(&participant)?, &qos)?)
        })?;
        // XCDR1, little-endian: the key, padding, the position.
        let octets = |id: u8, position: u8| {
            let mut octets = vec![0, 1, 0, 0, id, 0, 0, 0, 0, 0, 0, 0];
            octets.extend([position, 0, 0, 0, 0, 0, 0, 0]);
            octets
        };
        let hash = |id: u8| [0, 0, 0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let sample = |id, position| SerializedData::new(octets(id, position)).with_key_hash(hash(id));
        for position in 0..4 {
            a.run(|| writer.write(&sample(position % 2, position)))?;
        }
        a.run(|| writer.dispose(&sample(1, 0)))?;
        sim.run_until(|| plain.stats().delivered == 5, secs(60))?;
        let seen = b.run(|| plain.take(usize::MAX))?;
        let data: Vec<_> =
            seen.iter().filter_map(|it| it.data.as_ref()).map(|it| it.payload().to_vec()).collect();
        assert_eq!(data, (0..4).map(|n| octets(n % 2, n)).collect::<Vec<_>>());
        let ended: Vec<_> = seen.iter().filter(|it| it.data.is_none()).map(|it| it.info).collect();
        assert_eq!(ended.len(), 1);
        assert_eq!(ended[0].instance_state, InstanceState::NotAliveDisposed);
        assert_eq!(
            ended[0].instance_handle,
            seen.iter()
                .find(|it| it.data.as_ref().is_some_and(|it| it.payload()[4] == 1))
                .unwrap()
                .info
                .instance_handle
        );
        Ok(())
    });
}
