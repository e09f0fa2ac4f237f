//! The DDS side: the type of the topic, and a writer and a reader for it. Nothing else in this crate knows DDS.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use dunlin::qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, DurabilityKind, PublisherQos, ReaderRequest,
    ReliabilityKind, ResourceLimits, SubscriberQos, TopicQos, WriterOffer, check_compatible,
    partitions_match,
};
use dunlin::{
    DataReader, DataWriter, DataWriterListener, DdsType, DomainParticipant, MatchedStatus,
    PublicationBuiltinTopicData, StateMasks, StatusMask, Subscriber, Topic, WaitSet, WriteError,
};

use crate::cli::Reliability;
use crate::frame::{Encoding, Frame};
use crate::publish::{FrameSink, WriterSettings};
use crate::source::KeyRequest;
use crate::stop::Stop;
use crate::view::{FrameSource, Publisher, ReaderSettings, Received, WriterId};

/// How long one attempt to write waits for viewers; then the wish to stop is looked at.
const WRITE_LOOK: dunlin::Duration = dunlin::Duration::from_millis(200);
/// How long a publisher waits in the end for viewers that have not got everything.
const DRAIN: dunlin::Duration = dunlin::Duration::from_secs(2);
/// How often a reader looks whether its QoS suits the publishers.
const SUIT: Duration = Duration::from_millis(250);
/// Samples that a reader keeps until they are taken.
const READER_SAMPLES: i32 = 2048;
/// What announces the name of a camera in the USER_DATA of its writer.
const CAMERA: &[u8] = b"camera=";

/// Coding of a frame, as in `idl/VideoFrame.idl`.
#[derive(DdsType, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VideoEncoding {
    /// One complete JPEG image.
    #[default]
    Mjpeg,
    /// One H.264 access unit as an Annex B byte stream.
    H264,
    /// Planes Y, U, V with chroma at half width and half height.
    RawI420,
    /// Packed R, G, B.
    RawRgb24,
    /// One octet of luma per pixel.
    RawGray8,
    /// Packed Y0, U, Y1, V.
    RawYuyv,
    /// Octets that are no picture.
    Opaque,
}

/// The type of the topic, as in `idl/VideoFrame.idl`.
#[derive(DdsType, Clone, Debug, Default, PartialEq, Eq)]
#[dds(name = "VideoFrame", final)]
pub struct VideoFrame {
    /// Name of the camera.
    #[dds(key)]
    pub camera_id: String,
    /// Counts from 0 within one run of a publisher.
    pub frame_number: u64,
    /// Nanoseconds since the Unix epoch.
    pub capture_timestamp: i64,
    /// How the payload is coded.
    pub encoding: VideoEncoding,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Can be decoded without any earlier frame.
    pub key_frame: bool,
    /// The coded picture.
    pub payload: Vec<u8>,
}

impl VideoFrame {
    /// Exchanges everything with `frame`, so that no payload is copied.
    fn swap(&mut self, frame: &mut Frame) {
        let encoding = encoding_from_dds(self.encoding);
        self.encoding = encoding_to_dds(frame.encoding);
        frame.encoding = encoding;
        std::mem::swap(&mut self.camera_id, &mut frame.camera_id);
        std::mem::swap(&mut self.frame_number, &mut frame.number);
        std::mem::swap(&mut self.capture_timestamp, &mut frame.captured_at);
        std::mem::swap(&mut self.width, &mut frame.width);
        std::mem::swap(&mut self.height, &mut frame.height);
        std::mem::swap(&mut self.key_frame, &mut frame.key);
        std::mem::swap(&mut self.payload, &mut frame.payload);
    }

    fn into_frame(mut self) -> Frame {
        let mut frame = Frame::default();
        self.swap(&mut frame);
        frame
    }
}

fn encoding_to_dds(encoding: Encoding) -> VideoEncoding {
    match encoding {
        Encoding::Mjpeg => VideoEncoding::Mjpeg,
        Encoding::H264 => VideoEncoding::H264,
        Encoding::RawI420 => VideoEncoding::RawI420,
        Encoding::RawRgb24 => VideoEncoding::RawRgb24,
        Encoding::RawGray8 => VideoEncoding::RawGray8,
        Encoding::RawYuyv => VideoEncoding::RawYuyv,
        Encoding::Opaque => VideoEncoding::Opaque,
    }
}

fn encoding_from_dds(encoding: VideoEncoding) -> Encoding {
    match encoding {
        VideoEncoding::Mjpeg => Encoding::Mjpeg,
        VideoEncoding::H264 => Encoding::H264,
        VideoEncoding::RawI420 => Encoding::RawI420,
        VideoEncoding::RawRgb24 => Encoding::RawRgb24,
        VideoEncoding::RawGray8 => Encoding::RawGray8,
        VideoEncoding::RawYuyv => Encoding::RawYuyv,
        VideoEncoding::Opaque => Encoding::Opaque,
    }
}

fn join(domain: u32, topic: &str, name: &str) -> Result<(DomainParticipant, Topic<VideoFrame>)> {
    let participant = DomainParticipant::builder(domain)
        .name(name)
        .build()
        .with_context(|| format!("cannot join domain {domain}"))?;
    let topic = participant
        .create_topic::<VideoFrame>(topic, &TopicQos::default())
        .with_context(|| format!("cannot use the topic \"{topic}\""))?;
    Ok((participant, topic))
}

/// Writes the frames of one camera.
pub struct FrameWriter {
    writer: DataWriter<VideoFrame>,
    sample: VideoFrame,
    reliable: bool,
    stop: Stop,
}

/// Asks the encoder for a key frame when a viewer has come.
struct NewViewers(KeyRequest);

impl DataWriterListener<VideoFrame> for NewViewers {
    fn on_publication_matched(&self, _writer: &DataWriter<VideoFrame>, status: MatchedStatus) {
        if status.current_count_change > 0 {
            self.0.for_new_viewer();
        }
    }
}

fn writer_qos(settings: &WriterSettings) -> DataWriterQos {
    let depth = i32::try_from(settings.depth).unwrap_or(i32::MAX);
    // XCDR1 is what every other vendor reads; the type has the same layout in XCDR2.
    let mut qos = DataWriterQos::default()
        .representation(&[DataRepresentationId::Xcdr1])
        .max_blocking_time(WRITE_LOOK)
        .user_data([CAMERA, settings.camera_id.as_bytes()].concat());
    qos = if settings.reliable { qos.reliable() } else { qos.best_effort() };
    qos = if settings.transient_local { qos.transient_local() } else { qos.volatile() };
    if settings.keep_all {
        let limits = ResourceLimits { max_samples: depth, ..ResourceLimits::default() };
        DataWriterQos { resource_limits: limits, ..qos.keep_all() }
    } else {
        qos.keep_last(depth)
    }
}

impl FrameWriter {
    /// Joins the domain and makes the writer.
    ///
    /// # Errors
    /// When the domain cannot be joined or the QoS is not possible.
    pub fn create(settings: &WriterSettings, keys: KeyRequest, stop: Stop) -> Result<Self> {
        let (participant, topic) = join(settings.domain, &settings.topic, "dunlin-video publish")?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let writer = publisher
            .create_datawriter(&topic, &writer_qos(settings))
            .context("cannot make the writer of the camera")?;
        writer.set_listener(NewViewers(keys.clone()), StatusMask::PUBLICATION_MATCHED);
        if !writer.matched_subscriptions().is_empty() {
            // They came before there was a listener.
            keys.for_new_viewer();
        }
        Ok(Self { writer, sample: VideoFrame::default(), reliable: settings.reliable, stop })
    }

    fn write_sample(&self) -> Result<()> {
        loop {
            match self.writer.write(&self.sample) {
                Ok(()) => return Ok(()),
                // A slow viewer holds up a writer that keeps everything; the wish to stop does not wait for it.
                Err(WriteError::Timeout(_)) if !self.stop.is_set() => {}
                Err(WriteError::Timeout(_)) => return Ok(()),
                Err(error) => return Err(error).context("cannot write a frame"),
            }
        }
    }
}

impl FrameSink for FrameWriter {
    fn write(&mut self, frame: &mut Frame) -> Result<()> {
        self.sample.swap(frame);
        let result = self.write_sample();
        self.sample.swap(frame);
        result
    }

    fn viewers(&self) -> usize {
        self.writer.matched_subscriptions().len()
    }

    fn finish(&mut self) -> Result<()> {
        if self.reliable && self.writer.wait_for_acknowledgments(DRAIN).is_err() {
            eprintln!("some viewers have not acknowledged everything within {DRAIN}");
        }
        Ok(())
    }
}

/// Reads the frames of all cameras on a topic.
pub struct FrameReader {
    participant: DomainParticipant,
    subscriber: Subscriber,
    topic: Topic<VideoFrame>,
    wish: Reliability,
    asked: Asked,
    reader: DataReader<VideoFrame>,
    wait_set: WaitSet,
    next_look: Instant,
}

/// What a reader asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    reliability: ReliabilityKind,
    durability: DurabilityKind,
}

impl Asked {
    fn of(wish: Reliability) -> Self {
        match wish {
            Reliability::Auto | Reliability::Reliable => {
                Self { reliability: ReliabilityKind::Reliable, durability: DurabilityKind::TransientLocal }
            }
            Reliability::BestEffort => {
                Self { reliability: ReliabilityKind::BestEffort, durability: DurabilityKind::Volatile }
            }
        }
    }

    /// No more than every publisher offers. A viewer that asks for reliability still takes publishers that keep
    /// nothing for late viewers.
    fn suit(
        self,
        wish: Reliability,
        offers: impl Iterator<Item = (ReliabilityKind, DurabilityKind)>,
    ) -> Self {
        offers.fold(self, |asked, (reliability, durability)| Self {
            reliability: match wish {
                Reliability::Auto => asked.reliability.min(reliability),
                Reliability::Reliable | Reliability::BestEffort => asked.reliability,
            },
            durability: asked.durability.min(durability),
        })
    }

    fn qos(self) -> DataReaderQos {
        let limits = ResourceLimits { max_samples: READER_SAMPLES, ..ResourceLimits::default() };
        let qos = DataReaderQos::default().keep_all().durability(self.durability);
        let qos = match self.reliability {
            ReliabilityKind::Reliable => qos.reliable(),
            ReliabilityKind::BestEffort => qos.best_effort(),
        };
        DataReaderQos { resource_limits: limits, ..qos }
    }
}

impl FrameReader {
    /// Joins the domain and makes the reader.
    ///
    /// # Errors
    /// When the domain cannot be joined.
    pub fn create(settings: &ReaderSettings) -> Result<Self> {
        let (participant, topic) = join(settings.domain, &settings.topic, "dunlin-video view")?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let asked = Asked::of(settings.reliability);
        let (reader, wait_set) = make_reader(&subscriber, &topic, asked)?;
        Ok(Self {
            participant,
            subscriber,
            topic,
            wish: settings.reliability,
            asked,
            reader,
            wait_set,
            next_look: Instant::now(),
        })
    }

    fn found(&self) -> Vec<Arc<PublicationBuiltinTopicData>> {
        let mut found = self.participant.discovered_publications();
        found.retain(|writer| writer.topic_name == self.topic.name());
        found
    }

    /// Makes the reader anew when it asks for more than a publisher offers.
    fn suit_publishers(&mut self) -> Result<()> {
        let found = self.found();
        let offers = found.iter().map(|writer| (writer.qos.reliability.kind, writer.qos.durability.kind));
        let asked = self.asked.suit(self.wish, offers);
        if asked != self.asked {
            (self.reader, self.wait_set) = make_reader(&self.subscriber, &self.topic, asked)?;
            self.asked = asked;
        }
        Ok(())
    }

    fn describe(&self, writer: &PublicationBuiltinTopicData) -> Publisher {
        let camera = writer.qos.user_data.0.strip_prefix(CAMERA);
        let guid = dunlin::InstanceHandle::from(writer.guid);
        Publisher {
            writer: WriterId(guid.0),
            camera: camera.map(|name| String::from_utf8_lossy(name).into_owned()),
            qos: policies(writer),
            problem: self.problem(writer),
        }
    }

    /// Why this reader gets nothing from that writer.
    fn problem(&self, writer: &PublicationBuiltinTopicData) -> Option<String> {
        if writer.type_name != self.topic.type_name() {
            return Some(format!("its type is {}, not {}", writer.type_name, self.topic.type_name()));
        }
        let subscriber = self.subscriber.qos();
        if !partitions_match(&writer.publisher_qos.partition.names, &subscriber.partition.names) {
            return Some(format!(
                "it is in the partition {}",
                writer.publisher_qos.partition.names.join(", ")
            ));
        }
        let offer = WriterOffer::new(&writer.qos, &writer.publisher_qos);
        let request = ReaderRequest::new(&self.reader.qos(), &subscriber);
        let policies = check_compatible(&offer, &request);
        let texts: Vec<String> = policies
            .iter()
            .map(|policy| format!("{} offered {}, asked {}", policy.policy, policy.offered, policy.requested))
            .collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

fn make_reader(
    subscriber: &Subscriber,
    topic: &Topic<VideoFrame>,
    asked: Asked,
) -> Result<(DataReader<VideoFrame>, WaitSet)> {
    let reader = subscriber.create_datareader(topic, &asked.qos()).context("cannot make the reader")?;
    let wait_set = WaitSet::new();
    wait_set.attach_condition(reader.create_readcondition(StateMasks::ANY).condition());
    Ok((reader, wait_set))
}

/// The policies of a publisher that tell people something.
fn policies(writer: &PublicationBuiltinTopicData) -> Vec<(String, String)> {
    let qos = &writer.qos;
    let mut out = vec![
        ("Reliability", qos.reliability.kind.to_string()),
        ("Durability", qos.durability.kind.to_string()),
        ("Ownership", qos.ownership.kind.to_string()),
        ("Liveliness", qos.liveliness.kind.to_string()),
        ("Order", qos.destination_order.kind.to_string()),
    ];
    for (name, duration) in [
        ("Deadline", qos.deadline.period),
        ("Lease", qos.liveliness.lease_duration),
        ("Lifespan", qos.lifespan.duration),
    ] {
        if !duration.is_infinite() {
            out.push((name, duration.to_string()));
        }
    }
    if !writer.publisher_qos.partition.names.is_empty() {
        out.push(("Partition", writer.publisher_qos.partition.names.join(", ")));
    }
    out.push(("Representation", qos.representation.offered().to_string()));
    out.push(("Vendor", writer.vendor.to_string()));
    out.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl FrameSource for FrameReader {
    fn receive(&mut self, timeout: Duration, out: &mut Vec<Received>) -> Result<()> {
        let now = Instant::now();
        if now >= self.next_look {
            self.next_look = now + SUIT;
            self.suit_publishers()?;
        }
        let timeout = dunlin::Duration::from_nanos(i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX));
        if self.wait_set.wait(timeout).is_err() {
            return Ok(());
        }
        for sample in self.reader.take(64).context("cannot take frames")? {
            if let Some(frame) = sample.data {
                out.push(Received {
                    frame: frame.into_frame(),
                    writer: WriterId(sample.info.publication_handle.0),
                    received_at: sample.info.reception_timestamp.0,
                });
            }
        }
        Ok(())
    }

    fn publishers(&mut self) -> Result<Vec<Publisher>> {
        Ok(self.found().iter().map(|writer| self.describe(writer)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_the_way_to_dds_and_back() {
        let mut frame = Frame {
            camera_id: "front".to_owned(),
            number: 7,
            captured_at: -5,
            encoding: Encoding::RawYuyv,
            width: 4,
            height: 2,
            key: true,
            payload: vec![1, 2, 3],
        };
        let original = frame.clone();
        let octets = frame.payload.as_ptr();
        let mut sample = VideoFrame::default();
        sample.swap(&mut frame);
        assert_eq!((sample.frame_number, sample.encoding), (7, VideoEncoding::RawYuyv));
        assert_eq!(sample.payload.as_ptr(), octets, "nothing is copied");
        assert_eq!(sample.into_frame(), original);
    }

    #[test]
    fn a_reader_asks_for_no_more_than_is_offered() {
        use DurabilityKind::{TransientLocal, Volatile};
        use ReliabilityKind::{BestEffort, Reliable};
        let suit = |wish, offers: &[(ReliabilityKind, DurabilityKind)]| {
            let asked = Asked::of(wish).suit(wish, offers.iter().copied());
            (asked.reliability, asked.durability)
        };
        assert_eq!(suit(Reliability::Auto, &[]), (Reliable, TransientLocal));
        assert_eq!(suit(Reliability::Auto, &[(Reliable, Volatile)]), (Reliable, Volatile));
        let mixed = [(Reliable, TransientLocal), (BestEffort, Volatile)];
        assert_eq!(suit(Reliability::Auto, &mixed), (BestEffort, Volatile));
        assert_eq!(suit(Reliability::Reliable, &mixed), (Reliable, Volatile));
        assert_eq!(suit(Reliability::BestEffort, &mixed), (BestEffort, Volatile));
    }

    #[test]
    fn the_writer_keeps_what_the_settings_say() {
        let settings = WriterSettings {
            domain: 0,
            topic: "Video".to_owned(),
            camera_id: "front".to_owned(),
            reliable: true,
            keep_all: false,
            depth: 132,
            transient_local: true,
        };
        let qos = writer_qos(&settings);
        assert_eq!((qos.history.depth, qos.durability.kind), (132, DurabilityKind::TransientLocal));
        assert_eq!(qos.user_data.0, b"camera=front");
        let qos = writer_qos(&WriterSettings { keep_all: true, depth: 2, ..settings });
        assert_eq!(qos.resource_limits.max_samples, 2);
        assert!(qos.check_consistency().is_ok());
        assert!(Asked::of(Reliability::Auto).qos().check_consistency().is_ok());
    }
}
