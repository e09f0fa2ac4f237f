//! A router with one route, and a store that acknowledges the samples that it has saved.

use std::error::Error;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, ServiceMark, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DomainParticipant, DynamicType, SerializedData, WriteParams};

pub type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A route forwards the samples of one topic to another topic of the same type. The type may be discovered or made from IDL.
pub struct Route {
    from: DataReader<SerializedData>,
    to: DataWriter<SerializedData>,
}

impl Route {
    pub fn new(participant: &DomainParticipant, ty: &DynamicType, from: &str, to: &str) -> Result<Self> {
        let mark = ServiceMark { kind: "router".into(), id: "example".into(), path: Vec::new() };
        let input = participant.create_dynamic_topic(from, ty, &TopicQos::default())?;
        let output = participant.create_dynamic_topic(to, ty, &TopicQos::default())?;
        let reader = DataReaderQos::default().reliable().keep_all().remove_duplicates(true).service(&mark);
        let writer = DataWriterQos::default().reliable().keep_all().service(&mark);
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        Ok(Self {
            from: subscriber.create_datareader(&input.serialized(), &reader)?,
            to: publisher.create_datawriter(&output.serialized(), &writer)?,
        })
    }

    /// Forwards the samples that have arrived. Bytes, times, keys and identities stay the same; nothing is decoded.
    pub fn pass_on(&self) -> Result {
        for sample in self.from.take(100)? {
            let params = WriteParams {
                source_timestamp: Some(sample.info.source_timestamp),
                original: Some(sample.info.origin()),
                related: sample.info.related_sample,
                ..WriteParams::default()
            };
            match (sample.data, sample.key) {
                (Some(data), _) => drop(self.to.write_with(&data, &params)?),
                (None, Some(key)) => drop(self.to.dispose_with(&key, &params)?),
                // The end of an instance whose key the reader does not know: there is nothing to forward.
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Saves samples, then acknowledges them. With `acknowledge_on_commit` the reader does not acknowledge them earlier.
pub fn store(reader: &DataReader<SerializedData>, mut save: impl FnMut(&[u8]) -> Result) -> Result {
    // Take everything: a commit also acknowledges all earlier samples of that writer, and `take` orders by instance.
    let arrived = reader.take(usize::MAX)?;
    for data in arrived.iter().filter_map(|sample| sample.data.as_ref()) {
        save(data.payload())?;
    }
    for sample in &arrived {
        reader.commit(sample.info.identity())?;
    }
    Ok(())
}
