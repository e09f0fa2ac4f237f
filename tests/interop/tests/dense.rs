//! Dense traffic: samples every few milliseconds, in both directions, reliable. Nothing is lost, nobody dies, and no reader that
//! receives is inactive. Each exchange writes for a second, of the two loads that are hardest on peers; `DENSE_SECONDS` says for how
//! long, of all loads (`make interop-dense`: 30 s).

use std::time::Instant;

use anyhow::{Result, ensure};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration};
use dunlin_interop::{Peer, ShapeType, Vendor, VideoFrame, crc_of_frame, eventually, payload_of_frame};

/// Samples that both sides keep under KEEP_LAST: what a machine that is busy for a second must not lose.
const DEPTH: u32 = 1_000;
/// Octets and milliseconds between samples.
const LOADS: [(usize, u64); 5] = [(10_240, 5), (1_024, 1), (10_240, 1), (102_400, 5), (102_400, 12)];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum History {
    All,
    Last,
}

/// How long each exchange writes, and what.
fn work() -> Result<(u64, &'static [(usize, u64)])> {
    let seconds = std::env::var("DENSE_SECONDS").ok();
    Ok(match seconds {
        Some(text) => (text.parse()?, &LOADS),
        None => (1, &LOADS[..2]),
    })
}

fn participant(domain: u32) -> Result<DomainParticipant> {
    let mut config = Config::default();
    config.set("network.interfaces", "lo")?;
    // Who is taken for inactive is so within the test.
    config.set("reliability.inactive_after", "500ms")?;
    Ok(DomainParticipant::builder(domain).config(config).build()?)
}

fn writer<T: DdsType>(
    participant: &DomainParticipant,
    topic: &str,
    vendor: Vendor,
    history: History,
) -> Result<DataWriter<T>> {
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    let qos = DataWriterQos::default()
        .reliable()
        .transient_local()
        .max_blocking_time(Duration::from_secs(10))
        .representation(&[vendor.representation()]);
    let qos = if history == History::All { qos.keep_all() } else { qos.keep_last(DEPTH as i32) };
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
}

fn reader<T: DdsType>(
    participant: &DomainParticipant,
    topic: &str,
    history: History,
) -> Result<DataReader<T>> {
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().transient_local();
    let qos = if history == History::All { qos.keep_all() } else { qos.keep_last(DEPTH as i32) };
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?)
}

fn start(vendor: Vendor, role: &str, domain: u32, history: History) -> Result<Peer> {
    let depth = DEPTH.to_string();
    let variables = [("PEER_KEEP_LAST", depth.as_str())];
    Peer::start_with(vendor, role, domain, if history == History::Last { &variables } else { &[] })
}

/// Calls `write` with every number, a period apart.
fn steadily(count: u64, milliseconds: u64, mut write: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let begin = Instant::now();
    for number in 0..count {
        let due = begin + std::time::Duration::from_millis(number * milliseconds);
        while let Some(rest) = due.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
            std::thread::park_timeout(rest);
        }
        write(number)?;
    }
    Ok(())
}

fn nobody_was_inactive<T: DdsType>(writer: &DataWriter<T>) -> Result<()> {
    writer.wait_for_acknowledgments(Duration::from_secs(20))?;
    let stats = writer.stats();
    ensure!(stats.readers_inactivated == 0, "a reader that receives was inactive: {stats:?}");
    ensure!(stats.released_unacknowledged == 0, "{stats:?}");
    Ok(())
}

fn we_write(vendor: Vendor, domain: u32) -> Result<()> {
    let (seconds, loads) = work()?;
    for history in [History::All, History::Last] {
        for (length, milliseconds) in loads.iter().copied() {
            let count = seconds * 1_000 / milliseconds;
            let participant = participant(domain)?;
            let writer = writer::<VideoFrame>(&participant, "Video", vendor, history)?;
            let mut peer = start(vendor, "video-sub", domain, history)?;
            eventually("the reader", || Ok((!writer.matched_subscriptions().is_empty()).then_some(())))?;
            steadily(count, milliseconds, |frame_number| {
                let payload = payload_of_frame(frame_number, length);
                let camera_id = "bow".into();
                Ok(writer.write(&VideoFrame { camera_id, frame_number, payload, ..VideoFrame::default() })?)
            })?;
            for number in 0..count {
                let line = peer.wait_for_prefix("frame bow ")?;
                let due = format!("frame bow {number} {length} {}", crc_of_frame(number, length));
                ensure!(line == due, "{history:?}: {line} where {due} was due");
            }
            nobody_was_inactive(&writer)?;
            peer.quit()?;
        }
    }
    Ok(())
}

fn peer_writes(vendor: Vendor, domain: u32) -> Result<()> {
    let (seconds, loads) = work()?;
    for history in [History::All, History::Last] {
        for (length, milliseconds) in loads.iter().copied() {
            let count = seconds * 1_000 / milliseconds;
            let participant = participant(domain)?;
            let reader = reader::<VideoFrame>(&participant, "Video", history)?;
            let mut peer = start(vendor, "video-pub", domain, history)?;
            peer.tell("wait-matched 1")?;
            peer.send(&format!("frames bow {count} {length} {}", milliseconds * 1_000))?;
            let mut next = 0;
            while next < count {
                eventually("a frame", || {
                    let frames: Vec<_> = reader.take(64)?.into_iter().filter_map(|s| s.data).collect();
                    for frame in &frames {
                        let number = frame.frame_number;
                        ensure!(number == next, "{history:?}, {length}: {number} where {next} was due");
                        ensure!(frame.payload == payload_of_frame(next, length), "octets of frame {next}");
                        next += 1;
                    }
                    Ok((!frames.is_empty()).then_some(()))
                })?;
            }
            peer.wait_for("ok")?;
            peer.quit()?;
        }
    }
    Ok(())
}

/// Peers that have shapes alone: a key of a kilobyte makes samples of that length.
fn we_write_shapes(vendor: Vendor, domain: u32) -> Result<()> {
    let color = "x".repeat(1_000);
    let (seconds, _) = work()?;
    for milliseconds in [1, 5] {
        let count = seconds * 1_000 / milliseconds;
        let participant = participant(domain)?;
        let writer = writer::<ShapeType>(&participant, "Square", vendor, History::All)?;
        let mut peer = start(vendor, "shape-sub", domain, History::All)?;
        eventually("the reader", || Ok((!writer.matched_subscriptions().is_empty()).then_some(())))?;
        steadily(count, milliseconds, |number| {
            let (color, x) = (color.clone(), number as i32);
            Ok(writer.write(&ShapeType { color, x, ..ShapeType::default() })?)
        })?;
        for number in 0..count {
            let line = peer.wait_for_prefix("sample ")?;
            ensure!(line == format!("sample {color} {number} 0 0"), "{line} where {number} was due");
        }
        nobody_was_inactive(&writer)?;
        peer.quit()?;
    }
    Ok(())
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_reads() -> Result<()> {
    we_write(Vendor::FastDds, 161)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_writes() -> Result<()> {
    peer_writes(Vendor::FastDds, 162)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_reads() -> Result<()> {
    we_write(Vendor::Cyclone, 163)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_writes() -> Result<()> {
    peer_writes(Vendor::Cyclone, 164)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn rustdds_reads() -> Result<()> {
    we_write_shapes(Vendor::RustDds, 165)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dust_dds_reads() -> Result<()> {
    we_write_shapes(Vendor::DustDds, 166)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_reads() -> Result<()> {
    we_write(Vendor::FastDds3, 167)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_writes() -> Result<()> {
    peer_writes(Vendor::FastDds3, 168)
}
