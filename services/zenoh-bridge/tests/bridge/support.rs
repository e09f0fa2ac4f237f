//! Sites: a domain, a bridge, writers and readers.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, InstanceState, Sample};
use dunlin_test_program::{PATIENCE, Place, eventually};
use dunlin_zenoh_bridge::{Bridge, BridgeConfig, Count};
use zenoh::{Session, Wait};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub struct Track {
    #[dds(key)]
    pub id: u32,
    pub position: i64,
}

/// A message of ROS 2.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "std_msgs::msg::dds_::String_")]
pub struct Text {
    pub data: String,
}

pub fn track(id: u32, position: i64) -> Track {
    Track { id, position }
}

/// A port of the loopback interface that nobody has.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn endpoint(port: u16) -> String {
    format!("tcp/127.0.0.1:{port}")
}

/// Where a session of zenoh listens, and whom it connects to.
#[derive(Clone, Default)]
pub struct Links {
    pub mode: &'static str,
    pub listen: Vec<String>,
    pub connect: Vec<String>,
}

pub fn listening(port: u16) -> Links {
    Links { mode: "peer", listen: vec![endpoint(port)], connect: Vec::new() }
}

pub fn connecting(ports: &[u16]) -> Links {
    Links { mode: "peer", listen: Vec::new(), connect: ports.iter().copied().map(endpoint).collect() }
}

pub fn client_of(port: u16) -> Links {
    Links { mode: "client", listen: Vec::new(), connect: vec![endpoint(port)] }
}

/// The configuration of a bridge; `more` stands behind its routes.
pub fn config(place: &Place, name: &str, domain: u32, links: &Links, routes: &str) -> BridgeConfig {
    let text = format!(
        "name = {name:?}\n[dds]\ndomain = {domain}\ntag = {:?}\nconfig = \"lo.toml\"\n\
         [zenoh]\nmode = {:?}\nlisten = {:?}\nconnect = {:?}\n{routes}\n",
        place.tag(),
        links.mode,
        links.listen,
        links.connect
    );
    place.file("lo.toml", "[network]\ninterfaces = [\"lo\"]\n");
    BridgeConfig::from_toml("test.toml", &text, Some(place.folder())).unwrap()
}

pub const ALL: &str = "[[route]]\nconvention = \"dds\"\n";
pub const ROS: &str = "[[route]]\nconvention = \"ros2dds\"\nscope = \"bot\"\n";

pub fn bridge(place: &Place, name: &str, domain: u32, links: &Links) -> Bridge {
    Bridge::start(config(place, name, domain, links, ALL)).unwrap()
}

/// A session that speaks zenoh by hand.
pub fn session(links: &Links) -> Session {
    let mut config = zenoh::Config::default();
    config.insert_json5("mode", &format!("{:?}", links.mode)).unwrap();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    config.insert_json5("listen/endpoints", &format!("{:?}", links.listen)).unwrap();
    config.insert_json5("connect/endpoints", &format!("{:?}", links.connect)).unwrap();
    config.insert_json5("timestamping/enabled", "true").unwrap();
    zenoh::open(config).wait().unwrap()
}

pub fn kept_writer() -> DataWriterQos {
    DataWriterQos::default()
        .reliable()
        .keep_last(1)
        .transient_local()
        .autodispose_unregistered_instances(false)
}

pub fn live_writer() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().autodispose_unregistered_instances(false)
}

pub fn kept_reader() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().transient_local()
}

pub fn live_reader() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all()
}

pub fn writer<T: DdsType>(place: &Place, domain: u32, topic: &str, qos: &DataWriterQos) -> DataWriter<T> {
    let participant = place.participant(domain);
    let topic = participant.create_topic::<T>(topic, &TopicQos::default()).unwrap();
    participant.create_publisher(&PublisherQos::default()).unwrap().create_datawriter(&topic, qos).unwrap()
}

pub fn reader<T: DdsType>(place: &Place, domain: u32, topic: &str, qos: &DataReaderQos) -> DataReader<T> {
    let participant = place.participant(domain);
    let topic = participant.create_topic::<T>(topic, &TopicQos::default()).unwrap();
    participant.create_subscriber(&SubscriberQos::default()).unwrap().create_datareader(&topic, qos).unwrap()
}

/// Waits until a reader on the other side has brought a reader to this writer.
pub fn matches<T: DdsType>(writer: &DataWriter<T>) {
    eventually("the writer is read", || !writer.matched_subscriptions().is_empty());
}

/// Waits for so many samples, with data or without.
pub fn take<T: DdsType>(reader: &DataReader<T>, count: usize) -> Vec<Sample<T>> {
    let (mut taken, deadline) = (Vec::new(), Instant::now() + PATIENCE);
    while taken.len() < count {
        assert!(Instant::now() < deadline, "{} samples of {count} arrive", taken.len());
        taken.extend(reader.take(usize::MAX).unwrap());
        std::thread::park_timeout(Duration::from_millis(1));
    }
    assert_eq!(taken.len(), count);
    taken
}

pub fn positions(taken: &[Sample<Track>]) -> Vec<i64> {
    taken.iter().filter_map(|sample| sample.data.as_ref()).map(|track| track.position).collect()
}

pub fn state(reader: &DataReader<Track>, wanted: InstanceState) -> Sample<Track> {
    let mut found = None;
    eventually(&format!("{wanted:?}"), || {
        found = reader.take(1).unwrap().pop();
        found.as_ref().is_some_and(|sample| sample.info.instance_state == wanted)
    });
    found.unwrap()
}

pub fn count(bridge: &Bridge, count: Count) -> u64 {
    bridge.counts().get(count)
}
