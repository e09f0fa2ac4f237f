//! Types that are announced and asked for, with Cyclone DDS in both directions.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::xtypes::to_idl;
use dunlin::{DdsType, DomainParticipant, TypeDiscovery};
use dunlin_interop::{Peer, ShapeType, Vendor, VideoFrame, eventually, participant};

fn capture(name: &str) -> PathBuf {
    let folder = std::env::var_os("INTEROP_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    folder.join(format!("{name}.pcap"))
}

/// The IDL of the type of whoever writes a topic.
fn look_up(participant: &DomainParticipant, topic: &str) -> Result<String> {
    eventually("the type of a writer", || {
        let writers = participant.discovered_publications();
        let Some(writer) = writers.iter().find(|writer| &*writer.topic_name == topic) else {
            return Ok(None);
        };
        match participant.discovered_type(writer.guid) {
            TypeDiscovery::Known(known) => Ok(Some(to_idl(&known.graph, known.root))),
            TypeDiscovery::Pending => Ok(None),
            other => bail!("{other:?}"),
        }
    })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_tells_its_types() -> Result<()> {
    for (role, topic, wanted) in [
        ("shape-pub", "Square", ["struct ShapeType", "string color;", "int32 shapesize;"]),
        ("video-pub", "Video", ["enum VideoEncoding", "VideoEncoding encoding;", "sequence<octet> payload;"]),
    ] {
        let participant = participant(141, &capture(&format!("cyclone-tells-{topic}")))?;
        let peer = Peer::start(Vendor::Cyclone, role, 141)?;
        let idl = look_up(&participant, topic)?;
        for words in wanted {
            ensure!(idl.contains(words), "{words} is not in\n{idl}");
        }
        peer.quit()?;
    }
    Ok(())
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_asks_for_ours() -> Result<()> {
    fn ask<T: DdsType>(domain: u32, topic: &str, members: &str) -> Result<()> {
        let participant = participant(domain, &capture(&format!("cyclone-asks-{topic}")))?;
        let described = participant.create_topic::<T>(topic, &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let _writer = publisher.create_datawriter(&described, &DataWriterQos::default().reliable())?;
        let mut peer = Peer::start(Vendor::Cyclone, "type-ask", domain)?;
        peer.tell(&format!("type {topic}"))?;
        let told = peer.wait_for_prefix("type ")?;
        ensure!(told == format!("type {members}"), "{told}");
        peer.quit()
    }
    ask::<ShapeType>(142, "Square", "ShapeType color x y shapesize")?;
    let members =
        "VideoFrame camera_id frame_number capture_timestamp encoding width height key_frame payload";
    ask::<VideoFrame>(143, "Video", members)
}

/// A newer version of the type, whose members are not those of the peer's final one.
#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "ShapeType", final)]
struct NewShape {
    #[dds(key)]
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
    angle: f32,
}

#[test]
#[ignore = "needs the peers: make interop"]
fn unassignable_types_do_not_match() -> Result<()> {
    let participant = participant(144, &capture("cyclone-other-type"))?;
    let topic = participant.create_topic::<NewShape>("Square", &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().transient_local().keep_all();
    let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?;
    let peer = Peer::start(Vendor::Cyclone, "shape-pub", 144)?;
    eventually("an inconsistent topic", || {
        ensure!(reader.matched_publications().is_empty(), "they match");
        Ok((topic.inconsistent_topic_status().total > 0).then_some(()))
    })?;
    peer.quit()
}
