//! The reader of all cameras on a topic.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use dunlin::qos::{
    DataReaderQos, DurabilityKind, ReaderRequest, ReliabilityKind, ResourceLimits, SubscriberQos,
    WriterOffer, check_compatible, partitions_match,
};
use dunlin::{
    DataReader, DomainParticipant, PublicationBuiltinTopicData, StateMasks, Subscriber, Topic, WaitSet,
};

use super::{CAMERA, VideoFrame, join};
use crate::cli::Reliability;
use crate::view::{FrameSource, Publisher, ReaderSettings, Received, WriterId};

/// How often a reader looks whether its QoS suits the publishers.
const SUIT: Duration = Duration::from_millis(250);
/// Samples that a reader keeps until they are taken.
const READER_SAMPLES: i32 = 1024;

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
        found.retain(|writer| *writer.topic_name == *self.topic.name());
        found
    }

    /// Makes the reader anew when it asks for more than a publisher offers, or for less than all of them do. What the old one
    /// has is taken before.
    fn suit_publishers(&mut self, out: &mut Vec<Received>) -> Result<()> {
        let found = self.found();
        let meant = found.iter().filter(|writer| self.foreign(writer).is_none());
        let offers = meant.map(|writer| (writer.qos.reliability.kind, writer.qos.durability.kind));
        let asked = Asked::of(self.wish).suit(self.wish, offers);
        if asked != self.asked {
            self.take(usize::MAX, out)?;
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

    fn take(&self, most: usize, out: &mut Vec<Received>) -> Result<()> {
        for sample in self.reader.take(most).context("cannot take frames")? {
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

    /// Why no reader of this viewer gets anything from that writer, whatever it asks for.
    fn foreign(&self, writer: &PublicationBuiltinTopicData) -> Option<String> {
        if *writer.type_name != *self.topic.type_name() {
            return Some(format!("its type is {}, not {}", writer.type_name, self.topic.type_name()));
        }
        let partitions = &writer.publisher_qos.partition.names;
        let is_here = partitions_match(partitions, &self.subscriber.qos().partition.names);
        (!is_here).then(|| format!("it is in the partition {}", partitions.join(", ")))
    }

    /// Why this reader gets nothing from that writer.
    fn problem(&self, writer: &PublicationBuiltinTopicData) -> Option<String> {
        if let Some(why) = self.foreign(writer) {
            return Some(why);
        }
        let subscriber = self.subscriber.qos();
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
    wait_set.attach_condition(reader.create_readcondition(StateMasks::ANY)?.condition());
    Ok((reader, wait_set))
}

/// The policies of a publisher that tell people something.
fn policies(writer: &PublicationBuiltinTopicData) -> Vec<(String, String)> {
    let qos = &writer.qos;
    let words = |kind: &dyn std::fmt::Display| kind.to_string().to_lowercase().replace('_', " ");
    let mut out = vec![
        ("Reliability", words(&qos.reliability.kind)),
        ("Durability", words(&qos.durability.kind)),
        ("Ownership", words(&qos.ownership.kind)),
        ("Liveliness", words(&qos.liveliness.kind)),
        ("Order", words(&qos.destination_order.kind)),
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
    out.push(("Vendor", format!("{} ({})", writer.vendor.name(), writer.vendor)));
    out.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl FrameSource for FrameReader {
    fn receive(&mut self, timeout: Duration, out: &mut Vec<Received>) -> Result<()> {
        let now = Instant::now();
        if now >= self.next_look {
            self.next_look = now + SUIT;
            self.suit_publishers(out)?;
        }
        let timeout = dunlin::Duration::from_nanos(i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX));
        if self.wait_set.wait(timeout).is_err() {
            return Ok(());
        }
        self.take(64, out)
    }

    fn publishers(&mut self) -> Result<Vec<Publisher>> {
        Ok(self.found().iter().map(|writer| self.describe(writer)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn requested_qos_is_consistent() {
        for wish in [Reliability::Auto, Reliability::Reliable, Reliability::BestEffort] {
            assert!(Asked::of(wish).qos().check_consistency().is_ok());
        }
    }
}
