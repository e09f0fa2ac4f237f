//! What a recording says of a writer: one channel for each writer, with its identity, QoS and type.

use std::collections::BTreeMap;
use std::fmt::Write;

use dunlin::qos::{DataWriterQos, PublisherQos};
use dunlin::{EntityKind, Guid, PublicationBuiltinTopicData, VendorId};

const WRITER: &str = "dunlin.writer";
const VENDOR: &str = "dunlin.vendor";
const TYPE: &str = "dunlin.type";
const QOS: &str = "dunlin.qos";

/// A writer as a recording knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Its GUID.
    pub writer: Guid,
    /// Its topic.
    pub topic: String,
    /// The registered name of its type.
    pub type_name: String,
    /// Who made it.
    pub vendor: VendorId,
    /// Its policies and those of its publisher, as text of a QoS profile.
    pub qos: String,
}

impl Source {
    pub(crate) fn of(data: &PublicationBuiltinTopicData) -> Self {
        Self {
            writer: data.guid,
            topic: data.topic_name.to_string(),
            type_name: data.type_name.to_string(),
            vendor: data.vendor,
            qos: crate::qos_text::to_text(&data.qos, &data.publisher_qos),
        }
    }

    /// Whether the topic has instances.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.writer.entity_id.kind() == EntityKind::WriterWithKey
    }

    /// Metadata of the channel.
    #[must_use]
    pub fn to_metadata(&self) -> BTreeMap<String, String> {
        let vendor = u16::from_be_bytes(self.vendor.0);
        [
            (WRITER, hex(&self.writer.to_bytes())),
            (VENDOR, format!("{vendor:04x}")),
            (TYPE, self.type_name.clone()),
            (QOS, self.qos.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// The writer of a channel, if this recorder made it.
    #[must_use]
    pub fn from_metadata(topic: &str, metadata: &BTreeMap<String, String>) -> Option<Self> {
        let writer = unhex::<16>(metadata.get(WRITER)?)?;
        let vendor = unhex::<2>(metadata.get(VENDOR)?)?;
        Some(Self {
            writer: Guid::from_bytes(writer),
            topic: topic.to_owned(),
            type_name: metadata.get(TYPE)?.clone(),
            vendor: VendorId(vendor),
            qos: metadata.get(QOS)?.clone(),
        })
    }

    /// Its policies and those of its publisher.
    ///
    /// # Errors
    /// What is wrong with them, for people.
    pub fn policies(&self) -> Result<(DataWriterQos, PublisherQos), String> {
        crate::qos_text::from_text(&self.qos, &self.topic)
    }
}

pub(crate) fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let mut out = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (octet, pair) in out.iter_mut().zip(digits.chunks(2)) {
        *octet = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_come_back() {
        let source = Source {
            writer: Guid::from_bytes([7; 16]),
            topic: "T".into(),
            type_name: "M::T".into(),
            vendor: VendorId([1, 16]),
            qos: "[profile.recorded.writer]\n".into(),
        };
        let mut metadata = source.to_metadata();
        assert_eq!(Source::from_metadata("T", &metadata), Some(source));
        metadata.insert(WRITER.into(), "é7".into());
        assert_eq!(Source::from_metadata("T", &metadata), None);
    }
}
