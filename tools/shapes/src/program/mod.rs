//! `shape_main`: what every vendor has, to run one vendor's publisher with another's subscriber. Its options and lines are
//! described in docs/shapes.md.

mod listener;
mod options;
mod output;
mod publish;
mod subscribe;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use dunlin::qos::TopicQos;
use dunlin::{
    CreateEntityError, CreateParticipantError, DomainParticipant, GroupAccessError, ReadError, ReturnCode,
    Topic,
};
use dunlin_program::Stop;
pub use options::Options;
use output::Output;

use crate::types::ShapeType;

/// How long the last lines may take to be read.
const LAST_LINES: Duration = Duration::from_millis(300);
/// How long after a signal the process has ended, however its output and its readers behave.
const LONGEST_END: Duration = Duration::from_millis(1700);

/// Why the program ended.
#[derive(Debug)]
enum Failure {
    /// It could not begin; status 2.
    Start(anyhow::Error),
    /// It cannot do what was asked for; status 2.
    Missing(String),
    /// It could not go on; status 3.
    Run(anyhow::Error),
}

impl From<CreateEntityError> for Failure {
    fn from(error: CreateEntityError) -> Self {
        if error.return_code() == ReturnCode::Unsupported {
            return Self::Missing(error.to_string());
        }
        Self::Start(error.into())
    }
}

impl From<CreateParticipantError> for Failure {
    fn from(error: CreateParticipantError) -> Self {
        Self::Start(error.into())
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Run(error.into())
    }
}

impl From<GroupAccessError> for Failure {
    fn from(error: GroupAccessError) -> Self {
        Self::Run(error.into())
    }
}

/// The line of a sample.
fn line_of(topic: &str, shape: &ShapeType) -> String {
    let ShapeType { color, x, y, shapesize, additional_payload_size } = shape;
    let payload = additional_payload_size.last().map(|octet| format!(" {{{octet}}}")).unwrap_or_default();
    format!("{topic:<10} {color:<10} {x:03} {y:03} [{shapesize}]{payload}")
}

fn create_topics(
    participant: &DomainParticipant,
    options: &Options,
    output: &Output,
    qos: &TopicQos,
) -> Result<Vec<Topic<ShapeType>>, Failure> {
    let mut topics = Vec::new();
    for name in options.topics() {
        topics.push(participant.create_topic(&name, qos)?);
        output.print(format!("Create topic: {name}"));
    }
    Ok(topics)
}

fn run(options: &Options, output: &Output, stop: &Stop) -> Result<(), Failure> {
    stop.on_signals_within(LONGEST_END).map_err(|error| Failure::Start(error.into()))?;
    options.warnings().into_iter().for_each(|line| output.print(line));
    let config = options.config().map_err(Failure::Start)?;
    let participant = DomainParticipant::builder(options.domain).config(config).name("shape_main").build()?;
    participant.set_listener(listener::Tell(output.clone()), listener::statuses());
    if options.verbosity == options::Verbosity::D {
        output.print(format!("participant {} in domain {}", participant.guid(), options.domain));
    }
    if options.publish {
        publish::run(&participant, options, output, stop)
    } else {
        subscribe::run(&participant, options, output, stop)
    }
}

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            // Help and version are no mistakes. Nobody is left to tell when the output is closed.
            _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()));
        }
    };
    let stop = Stop::default();
    let output = Output::new(std::io::stdout(), &stop);
    let code = match run(&options, &output, &stop) {
        Ok(()) => {
            output.print("Done.");
            0
        }
        Err(Failure::Missing(what)) => {
            output.tell(format!("{what}: not supported"));
            2
        }
        Err(Failure::Start(error)) => {
            output.tell(format!("cannot start: {error:#}"));
            2
        }
        Err(Failure::Run(error)) => {
            output.tell(format!("cannot go on: {error:#}"));
            3
        }
    };
    output.finish(LAST_LINES);
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_field() {
        let mut shape =
            ShapeType { color: "BLUE".into(), x: 48, y: 129, shapesize: 20, ..ShapeType::default() };
        assert_eq!(line_of("Square", &shape), "Square     BLUE       048 129 [20]");
        shape.additional_payload_size = vec![1, 255];
        assert_eq!(line_of("Square", &shape), "Square     BLUE       048 129 [20] {255}");
    }
}
