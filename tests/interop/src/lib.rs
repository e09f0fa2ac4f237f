//! Starts other vendors' programs and talks to them in the line protocol of this folder's README.
#![forbid(unsafe_code)]

mod peer;
pub mod staged;
mod tool;
mod types;
pub mod verdicts;

use std::time::Instant;

use anyhow::{Result, bail};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, Duration};
pub use peer::{Peer, Vendor};
pub use tool::Tool;
pub use types::{ShapeType, VideoEncoding, VideoFrame, crc_of_frame, payload_of_frame};

/// How long anything may take.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// Calls `look` until it has an answer.
///
/// # Errors
/// When it has none within [`PATIENCE`]; `what` says what was waited for.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() > deadline {
            bail!("not within {PATIENCE:?}: {what}");
        }
        std::thread::yield_now();
        std::thread::park_timeout(std::time::Duration::from_millis(2));
    }
}

/// A participant on the loopback interface that writes what it sends and receives to `pcap`.
///
/// # Errors
/// When the domain cannot be joined.
pub fn participant(domain: u32, pcap: &std::path::Path) -> Result<DomainParticipant> {
    participant_with(domain, pcap, &[])
}

/// The same with keys of the configuration and their values.
///
/// # Errors
/// When there is no such key or value, or the domain cannot be joined.
pub fn participant_with(
    domain: u32,
    pcap: &std::path::Path,
    settings: &[(&str, &str)],
) -> Result<DomainParticipant> {
    let mut config = Config::default();
    config.set("network.interfaces", "lo")?;
    config.set("debug.pcap", &pcap.display().to_string())?;
    for (key, value) in settings {
        config.set(key, value)?;
    }
    Ok(DomainParticipant::builder(domain).config(config).build()?)
}

/// A reliable, transient-local, keep-all reader.
///
/// # Errors
/// When it cannot be made.
pub fn reader<T: DdsType>(participant: &DomainParticipant, topic: &str) -> Result<DataReader<T>> {
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().transient_local().keep_all();
    Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?)
}

/// A reliable, transient-local, keep-all writer in a representation that the peer reads.
///
/// # Errors
/// When it cannot be made.
pub fn writer<T: DdsType>(
    participant: &DomainParticipant,
    topic: &str,
    vendor: Vendor,
) -> Result<DataWriter<T>> {
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    let qos = DataWriterQos::default()
        .reliable()
        .transient_local()
        .keep_all()
        .max_blocking_time(Duration::from_secs(10))
        .autodispose_unregistered_instances(false)
        .representation(&[vendor.representation()]);
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
}
