//! QoS profiles of the configuration and of other implementations: entities that are made of them, and what others see.

use dunlin::config::{Config, Import, Profiles};
use dunlin::qos::{HistoryKind, TopicQos};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{DataReader, DataWriter, DomainParticipant, Publisher, Subscriber};

use crate::support::*;

const OURS: &str = r#"
[profile.common.writer]
reliability.kind = "reliable"
history.kind = "keep_all"
durability.kind = "transient_local"

[profile.mast]
base = "common"
participant.user_data.value = "left mast"
publisher.partition.names = ["north"]
subscriber.partition.names = ["nor*"]
topic.topic_data.value = "metres"

[[profile.mast.writer]]
user_data.value = "for all topics"
[[profile.mast.writer]]
topic = "Read*"
durability_service.history_depth = 2

[profile.mast.reader]
reliability.kind = "reliable"
history.kind = "keep_all"
durability.kind = "transient_local"
"#;

const DDS_XML: &str = r#"<dds xmlns="http://www.omg.org/spec/DDS-XML"><qos_library name="ships">
  <qos_profile name="base"><datawriter_qos>
    <reliability><kind>RELIABLE_RELIABILITY_QOS</kind></reliability>
    <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability></datawriter_qos></qos_profile>
  <qos_profile name="mast" base_name="base">
    <datawriter_qos topic_filter="Read*"><history><kind>KEEP_LAST_HISTORY_QOS</kind><depth>2</depth></history></datawriter_qos>
    <datareader_qos><reliability><kind>RELIABLE_RELIABILITY_QOS</kind></reliability>
      <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>
      <history><kind>KEEP_ALL_HISTORY_QOS</kind></history></datareader_qos>
    <publisher_qos><partition><name><element>north</element></name></partition></publisher_qos>
    <subscriber_qos><partition><name><element>nor*</element></name></partition></subscriber_qos>
  </qos_profile></qos_library></dds>"#;

struct Writing {
    participant: DomainParticipant,
    publisher: Publisher,
    writer: DataWriter<Reading>,
}

fn writing(node: &Node, profiles: &Profiles, name: &str) -> Result<Writing> {
    node.run(|| {
        let participant = DomainParticipant::builder(0).qos(profiles.participant_qos(name)?).build()?;
        let topic =
            participant.create_topic::<Reading>("Readings", &profiles.topic_qos(name, "Readings")?)?;
        let publisher = participant.create_publisher(&profiles.publisher_qos(name)?)?;
        let writer = publisher.create_datawriter(&topic, &profiles.writer_qos(name, "Readings")?)?;
        Ok(Writing { participant, publisher, writer })
    })
}

fn reading_node(node: &Node, profiles: &Profiles, name: &str) -> Result<(Subscriber, DataReader<Reading>)> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&profiles.subscriber_qos(name)?)?;
        let reader = subscriber.create_datareader(&topic, &profiles.reader_qos(name, "Readings")?)?;
        Ok((subscriber, reader))
    })
}

fn numbers(reader: &DataReader<Reading>) -> Vec<u32> {
    let taken = reader.take(1000).expect("no condition");
    taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n).collect()
}

/// Writes five, and says what a reader of the profile gets that comes then.
fn what_a_late_joiner_gets(
    sim: &mut Sim,
    profiles: &Profiles,
    name: &str,
) -> Result<(Vec<u32>, Writing, DataReader<Reading>)> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let w = writing(&a, profiles, name)?;
    for n in 0..5 {
        a.run(|| w.writer.write(&reading(n)))?;
    }
    let (_subscriber, late) = reading_node(&b, profiles, name)?;
    sim.run_until(|| matched(&w.writer, &late), secs(30))?;
    sim.run_for(secs(2))?;
    Ok((numbers(&late), w, late))
}

#[test]
fn entities_of_a_profile_do_what_it_says() {
    let profiles = Config::from_toml("dunlin.toml", OURS).unwrap().profiles;
    bad_network().seeds(0..2, |sim| {
        let (seen, w, late) = what_a_late_joiner_gets(sim, &profiles, "mast")?;
        assert_eq!(seen, [3, 4], "the depth of the service, which the profile gives this topic");
        let told = late.matched_publication_data(w.writer.instance_handle()).expect("it matches");
        assert_eq!(told.qos.user_data.0, b"for all topics");
        assert_eq!(told.topic_data.0, b"metres");
        assert_eq!(told.publisher_qos.partition.names, ["north"]);
        assert_eq!(w.participant.qos().user_data.0, b"left mast");
        Ok(())
    });
}

#[test]
fn entities_of_an_imported_profile_do_what_it_says() {
    let import = Import::from_xml(DDS_XML).unwrap();
    assert!(import.left_out.is_empty(), "{:?}", import.left_out);
    let profiles = Config::from_toml("imported.toml", &import.toml).unwrap().profiles;
    bad_network().seeds(0..2, |sim| {
        let (seen, w, late) = what_a_late_joiner_gets(sim, &profiles, "ships::mast")?;
        assert_eq!(seen, [3, 4], "the depth of the profile for this topic");
        let told = late.matched_publication_data(w.writer.instance_handle()).expect("it matches");
        assert_eq!(w.writer.qos().history.kind, HistoryKind::KeepLast);
        assert_eq!(told.publisher_qos.partition.names, ["north"]);
        assert_eq!(w.publisher.qos().partition.names, ["north"]);
        Ok(())
    });
}

#[test]
fn entities_of_a_profile_of_fast_dds_do_what_it_says() {
    let import = Import::from_xml(
        r#"<profiles xmlns="http://www.eprosima.com">
          <data_writer profile_name="w"><topic><historyQos><kind>KEEP_LAST</kind><depth>2</depth></historyQos></topic>
            <qos><reliability><kind>RELIABLE</kind></reliability><durability><kind>TRANSIENT_LOCAL</kind></durability></qos></data_writer>
          <data_reader profile_name="w"><topic><historyQos><kind>KEEP_ALL</kind></historyQos></topic>
            <qos><reliability><kind>RELIABLE</kind></reliability><durability><kind>TRANSIENT_LOCAL</kind></durability></qos></data_reader>
        </profiles>"#,
    )
    .unwrap();
    let profiles = Config::from_toml("imported.toml", &import.toml).unwrap().profiles;
    bad_network().seeds(0..2, |sim| {
        let (seen, ..) = what_a_late_joiner_gets(sim, &profiles, "w")?;
        assert_eq!(seen, [3, 4]);
        Ok(())
    });
}
