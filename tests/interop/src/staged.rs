//! Endpoints that are described by words, the same for every vendor: `NAME=VALUE`.
//!
//! | word | values |
//! |---|---|
//! | `reliability` | `reliable`, `best_effort` |
//! | `durability` | `volatile`, `transient_local` |
//! | `deadline`, `budget` | seconds |
//! | `ownership` | `shared`, `exclusive` |
//! | `liveliness` | `automatic:SECONDS`, `by_participant:SECONDS`, `by_topic:SECONDS` |
//! | `order` | `source` |
//! | `representation` | `xcdr1`, `xcdr2` |
//! | `partition` | names, with commas |
//! | `presentation` | `topic` or `group`, then `+coherent`, `+ordered` |

use std::any::Any;

use anyhow::{Context, Result, bail};
use dunlin::qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, LivelinessKind, PresentationAccessScope,
    PublisherQos, SubscriberQos, TopicQos,
};
use dunlin::{DdsType, DomainParticipant, Duration};

/// What every description says, whatever defaults a vendor has, before words of its own.
pub const WRITES: &str = "reliability=reliable durability=volatile representation=xcdr1";
/// The same of readers.
pub const READS: &str = "reliability=best_effort durability=volatile";

fn seconds(text: &str) -> Result<Duration> {
    Ok(Duration::from_secs(text.parse()?))
}

fn liveliness(text: &str) -> Result<(LivelinessKind, Duration)> {
    let (kind, lease) = text.split_once(':').context("no lease")?;
    let kind = match kind {
        "automatic" => LivelinessKind::Automatic,
        "by_participant" => LivelinessKind::ManualByParticipant,
        "by_topic" => LivelinessKind::ManualByTopic,
        _ => bail!("no kind of liveliness: {kind}"),
    };
    Ok((kind, seconds(lease)?))
}

fn representation(text: &str) -> DataRepresentationId {
    if text == "xcdr2" { DataRepresentationId::Xcdr2 } else { DataRepresentationId::Xcdr1 }
}

fn scope(text: &str) -> PresentationAccessScope {
    if text.starts_with("group") { PresentationAccessScope::Group } else { PresentationAccessScope::Topic }
}

/// The policies of both sides have the same names.
macro_rules! described {
    ($words:expr, $group:expr, $qos:expr) => {{
        let (mut group, mut qos) = ($group, $qos);
        for word in $words.split_whitespace() {
            let (name, text) = word.split_once('=').context("NAME=VALUE")?;
            match (name, text) {
                ("reliability", "reliable") => qos = qos.reliable(),
                ("reliability", "best_effort") => qos = qos.best_effort(),
                ("durability", "volatile") => qos = qos.volatile(),
                ("durability", "transient_local") => qos = qos.transient_local(),
                ("deadline", _) => qos = qos.deadline(seconds(text)?),
                ("budget", _) => qos = qos.latency_budget(seconds(text)?),
                ("ownership", "exclusive") => qos = qos.exclusive(),
                ("ownership", "shared") => {}
                ("liveliness", _) => {
                    let (kind, lease) = liveliness(text)?;
                    qos = qos.liveliness(kind, lease);
                }
                ("order", "source") => qos = qos.by_source_timestamp(),
                ("representation", _) => qos = qos.representation(&[representation(text)]),
                ("partition", _) => group = group.partition(text.split(',')),
                ("presentation", _) => {
                    let (coherent, ordered) = (text.contains("+coherent"), text.contains("+ordered"));
                    group = group.presentation(scope(text), coherent, ordered);
                }
                _ => bail!("unknown word: {word}"),
            }
        }
        (group, qos)
    }};
}

/// A writer of a type as words describe it; it lives as long as what is returned.
///
/// # Errors
/// When a word is unknown, or the writer cannot be made.
pub fn writer<T: DdsType>(
    participant: &DomainParticipant,
    topic: &str,
    words: &str,
) -> Result<Box<dyn Any + Send + Sync>> {
    let (group, qos) = described!(words, PublisherQos::default(), DataWriterQos::default());
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    Ok(Box::new(participant.create_publisher(&group)?.create_datawriter(&topic, &qos)?))
}

/// The same of a reader.
///
/// # Errors
/// When a word is unknown, or the reader cannot be made.
pub fn reader<T: DdsType>(
    participant: &DomainParticipant,
    topic: &str,
    words: &str,
) -> Result<Box<dyn Any + Send + Sync>> {
    let (group, qos) = described!(words, SubscriberQos::default(), DataReaderQos::default());
    let topic = participant.create_topic::<T>(topic, &TopicQos::default())?;
    Ok(Box::new(participant.create_subscriber(&group)?.create_datareader(&topic, &qos)?))
}
