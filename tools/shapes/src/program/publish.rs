//! The publisher.

use dunlin::qos::TopicQos;
use dunlin::{DataWriter, DomainParticipant, Duration, Publisher, WriteError};
use dunlin_program::Stop;

use super::options::{FinalState, Options};
use super::output::Output;
use super::{Failure, line_of};
use crate::motion::Motion;
use crate::types::ShapeType;

/// How long readers may take to acknowledge what was written, when the loop has ended.
const ACKNOWLEDGED: Duration = Duration::from_secs(1);
/// The same after a signal.
const ACKNOWLEDGED_AT_ONCE: Duration = Duration::from_millis(300);

struct Topics<'p> {
    options: &'p Options,
    publisher: Publisher,
    writers: Vec<DataWriter<ShapeType>>,
    colors: Vec<String>,
    output: &'p Output,
    stop: &'p Stop,
}

/// Writes shapes until the loop ends.
pub fn run(
    participant: &DomainParticipant,
    options: &Options,
    output: &Output,
    stop: &Stop,
) -> Result<(), Failure> {
    // Enabled by hand, so that what happens to a writer is told after its creation.
    let qos = options.publisher_qos().autoenable_created_entities(false);
    let publisher = participant.create_publisher(&qos)?;
    let topics = super::create_topics(participant, options, output, &TopicQos::default())?;
    let colors = options.colors();
    let mut writers = Vec::new();
    for topic in &topics {
        let writer = publisher.create_datawriter(topic, &options.writer_qos())?;
        let first = colors.first().map_or("", String::as_str);
        output.print(format!("Create writer for topic: {} color: {first}", topic.name()));
        writer.enable()?;
        writers.push(writer);
    }
    let topics = Topics { options, publisher, writers, colors, output, stop };
    topics.write_until_the_end();
    topics.leave();
    Ok(())
}

impl Topics<'_> {
    fn write_until_the_end(&self) {
        let options = self.options;
        let mut motion = Motion::random();
        let payload = options.additional_payload_size.map_or(0, |size| size as usize);
        let mut shape = ShapeType { shapesize: options.size(), ..ShapeType::default() };
        shape.additional_payload_size = vec![255; payload];
        let period = std::time::Duration::from_millis(options.write_period());
        for iteration in 0..options.num_iterations.unwrap_or(u64::MAX) {
            motion.step(0);
            (shape.x, shape.y) = (motion.x, motion.y);
            if options.size() == 0 {
                let size = options.size_modulo.map_or(shape.shapesize, |modulo| shape.shapesize % modulo);
                shape.shapesize = size.wrapping_add(1);
            }
            self.in_set(iteration, || self.write_all(&mut shape));
            if self.stop.wait(period) {
                break;
            }
        }
        if self.coherent_set().is_some() {
            // An unfinished set; where there is none this is refused.
            _ = self.publisher.end_coherent_changes();
        }
    }

    fn coherent_set(&self) -> Option<u64> {
        self.options.coherent_sample_count.filter(|_| self.options.is_presented())
    }

    /// Begins and ends coherent sets around the iterations that begin and end one.
    fn in_set(&self, iteration: u64, write: impl FnOnce()) {
        let place = self.coherent_set().map(|count| (iteration % count, count));
        if place.is_some_and(|(at, _)| at == 0) {
            self.output.print("Started Coherent Set");
            if let Err(error) = self.publisher.begin_coherent_changes() {
                self.output.print(format!("begin_coherent_changes: {error}"));
            }
        }
        write();
        if place.is_some_and(|(at, count)| at + 1 == count) {
            if let Err(error) = self.publisher.end_coherent_changes() {
                self.output.print(format!("end_coherent_changes: {error}"));
            }
            self.output.print("Finished Coherent Set");
        }
    }

    fn write_all(&self, shape: &mut ShapeType) {
        for writer in &self.writers {
            for color in &self.colors {
                shape.color.clone_from(color);
                self.write(writer, shape);
                if self.options.print_written {
                    self.output.print(line_of(writer.topic_name(), shape));
                }
            }
        }
    }

    /// A reliable writer whose history is full tries again: what was printed as written has been.
    fn write(&self, writer: &DataWriter<ShapeType>, shape: &ShapeType) {
        loop {
            match writer.write(shape) {
                Err(WriteError::Timeout(_)) if !self.stop.is_set() => {}
                Err(WriteError::Timeout(_)) | Ok(()) => return,
                Err(error) => return self.output.print(format!("write: {error}")),
            }
        }
    }

    fn leave(&self) {
        for writer in &self.writers {
            for color in &self.colors {
                let key = ShapeType { color: color.clone(), ..ShapeType::default() };
                let left = match self.options.final_instance_state {
                    None => Ok(()),
                    Some(FinalState::U) => writer.unregister_instance(&key),
                    Some(FinalState::D) => writer.dispose(&key),
                };
                if let Err(error) = left {
                    self.output.print(format!("final instance state: {error}"));
                }
            }
        }
        let patience = if self.stop.is_set() { ACKNOWLEDGED_AT_ONCE } else { ACKNOWLEDGED };
        // Readers that do not acknowledge hold up nobody.
        _ = self.publisher.wait_for_acknowledgments(patience);
        _ = self.publisher.delete_contained_entities();
    }
}
