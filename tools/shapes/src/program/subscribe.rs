//! The subscriber.

use dunlin::qos::TopicQos;
use dunlin::{
    DataReader, DomainParticipant, InstanceHandle, InstanceState, ReadError, Sample, SampleStateMask,
    StateMasks, Subscriber,
};
use dunlin_program::Stop;

use super::options::Options;
use super::output::Output;
use super::{Failure, line_of};
use crate::types::ShapeType;

/// More samples than any cache has.
const ALL: usize = i32::MAX as usize;

struct Topics<'p> {
    options: &'p Options,
    subscriber: Subscriber,
    /// With the names of their topics.
    readers: Vec<(String, DataReader<ShapeType>)>,
    output: &'p Output,
}

/// Reads shapes until the loop ends.
pub fn run(
    participant: &DomainParticipant,
    options: &Options,
    output: &Output,
    stop: &Stop,
) -> Result<(), Failure> {
    // Enabled by hand, so that what happens to a reader is told after its creation.
    let qos = options.subscriber_qos().autoenable_created_entities(false);
    let subscriber = participant.create_subscriber(&qos)?;
    let filter = options.content_filter().map_err(Failure::Start)?;
    let mut readers = Vec::new();
    for topic in super::create_topics(participant, options, output, &TopicQos::default())? {
        let name = topic.name().to_owned();
        let qos = options.reader_qos();
        let reader = if let Some((expression, parameters)) = &filter {
            let filtered = format!("{name}_filtered");
            let topic = participant
                .create_contentfilteredtopic(&filtered, &topic, expression, parameters)
                .inspect_err(|_| output.print("failed to create content filtered topic"))?;
            let reader = subscriber.create_datareader(&topic, &qos)?;
            output.print(format!("Create reader for topic: {filtered}"));
            reader
        } else {
            let reader = subscriber.create_datareader(&topic, &qos)?;
            output.print(format!("Create reader for topic: {name}"));
            reader
        };
        reader.enable()?;
        readers.push((name, reader));
    }
    let topics = Topics { options, subscriber, readers, output };
    let period = std::time::Duration::from_millis(options.read_period());
    for iteration in 0..options.num_iterations.unwrap_or(u64::MAX) {
        topics.read(iteration, stop)?;
        if stop.wait(period) {
            break;
        }
    }
    Ok(())
}

/// What read() leaves in the reader is not shown again.
fn unread() -> StateMasks {
    StateMasks { sample: SampleStateMask::NOT_READ, ..StateMasks::ANY }
}

impl Topics<'_> {
    fn read(&self, iteration: u64, stop: &Stop) -> Result<(), Failure> {
        if self.options.coherent {
            self.output.print(format!("Reading coherent sets, iteration {iteration}"));
        }
        if self.options.ordered {
            self.output.print(format!("Reading with ordered access, iteration {iteration}"));
        }
        if self.options.is_presented() {
            self.subscriber.begin_access()?;
        }
        if self.options.is_read_in_order() {
            self.read_in_order(stop)?;
        } else {
            for (topic, reader) in &self.readers {
                self.read_topic(topic, reader, stop)?;
            }
        }
        if self.options.is_presented() {
            self.subscriber.end_access()?;
        }
        Ok(())
    }

    fn read_topic(&self, topic: &str, reader: &DataReader<ShapeType>, stop: &Stop) -> Result<(), Failure> {
        let mut previous = InstanceHandle::NIL;
        loop {
            let samples = self.next(reader, previous)?;
            let Some(last) = samples.last() else { return Ok(()) };
            previous = last.info.instance_handle;
            samples.iter().for_each(|sample| self.show(topic, sample));
            if stop.is_set() {
                return Ok(());
            }
        }
    }

    /// The samples of all topics in one order: one for each entry of the list.
    fn read_in_order(&self, stop: &Stop) -> Result<(), Failure> {
        let (take, unread) = (!self.options.read, unread());
        for next in self.subscriber.datareaders(if take { StateMasks::ANY } else { unread })? {
            let Some((topic, reader)) = self.readers.iter().find(|(_, reader)| reader.guid() == next.guid())
            else {
                continue;
            };
            let samples = if take { reader.take(1) } else { reader.read_states(1, unread) };
            samples?.iter().for_each(|sample| self.show(topic, sample));
            if stop.is_set() {
                break;
            }
        }
        Ok(())
    }

    fn next(
        &self,
        reader: &DataReader<ShapeType>,
        previous: InstanceHandle,
    ) -> Result<Vec<Sample<ShapeType>>, ReadError> {
        let unread = unread();
        match (self.options.take_read, self.options.read) {
            (false, false) => reader.take_next_instance(ALL, previous, StateMasks::ANY),
            (false, true) => reader.read_next_instance(ALL, previous, unread),
            (true, false) => reader.take(ALL),
            (true, true) => reader.read_states(ALL, unread),
        }
    }

    fn show(&self, topic: &str, sample: &Sample<ShapeType>) {
        if let Some(shape) = &sample.data {
            self.output.print(line_of(topic, shape));
        }
        let state = match sample.info.instance_state {
            InstanceState::Alive => return,
            InstanceState::NotAliveDisposed => "NOT_ALIVE_DISPOSED_INSTANCE_STATE",
            InstanceState::NotAliveNoWriters => "NOT_ALIVE_NO_WRITERS_INSTANCE_STATE",
        };
        let named = sample.data.as_ref().or(sample.key.as_ref());
        let color = named.map_or("", |shape| shape.color.as_str());
        self.output.print(format!("{topic:<10} {color:<10} {state}"));
    }
}
