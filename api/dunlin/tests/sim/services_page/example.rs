//! A router of one route, and a store that acknowledges what it has.

use std::error::Error;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, ServiceMark, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DomainParticipant, DynamicType, SerializedData, WriteParams};

pub type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The two ends of a route between topics of one type, which may have come from another participant or from IDL.
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

    /// Passes on what has arrived. Octets, times, keys and identities stay as they are; nothing is decoded.
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
                // The end of an instance that the reader knows nothing else of.
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// A store. Its reader was created with `acknowledge_on_commit`, so a writer that waits for acknowledgments waits for `save`.
pub fn store(reader: &DataReader<SerializedData>, mut save: impl FnMut(&[u8]) -> Result) -> Result {
    // All that there is: samples come instance by instance, and a commit is about everything before it.
    let arrived = reader.take(usize::MAX)?;
    for data in arrived.iter().filter_map(|sample| sample.data.as_ref()) {
        save(data.payload())?;
    }
    for sample in &arrived {
        reader.commit(sample.info.identity())?;
    }
    Ok(())
}
