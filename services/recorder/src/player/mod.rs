//! The player: writes what was recorded, as it was written.

mod control;
mod output;
mod pass;
mod stats;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use control::Control;
use dunlin::qos::{DomainParticipantQos, ServiceMark};
use dunlin::{Config, CreateParticipantError, DomainParticipant};
use output::Outputs;
pub use output::{Identity, SourceTime};
use pass::{Pass, PassEnd};
pub use stats::Played;

use crate::file::{Recording, RecordingError};
use crate::names::Names;

/// What is played, and how.
#[derive(Clone, Debug)]
pub struct PlayerOptions {
    /// The domain.
    pub domain: u32,
    /// The configuration of the participant; that of the environment if there is none.
    pub config: Option<Config>,
    /// Topics, by the names that they were recorded under.
    pub topics: Names,
    /// Old and new names of topics.
    pub remap: Vec<(String, String)>,
    /// Old and new names of partitions.
    pub remap_partition: Vec<(String, String)>,
    /// How many times as fast as it was; 0 is as fast as possible.
    pub rate: f64,
    /// Since the beginning of the recording.
    pub from: Duration,
    /// Since the beginning of the recording.
    pub to: Option<Duration>,
    /// How often; 0 is until it is stopped.
    pub rounds: u32,
    /// Whether samples have their first identity.
    pub identity: Identity,
    /// Which time samples have.
    pub source_time: SourceTime,
    /// Each writer waits for so many readers.
    pub readers: usize,
    /// For so long; also the time that discovery gets if no readers are waited for.
    pub wait: Duration,
    /// How long the end waits for acknowledgments.
    pub linger: Duration,
}

impl PlayerOptions {
    /// Everything, once, as it was.
    #[must_use]
    pub fn new(domain: u32) -> Self {
        Self {
            domain,
            config: None,
            topics: Names::default(),
            remap: Vec::new(),
            remap_partition: Vec::new(),
            rate: 1.0,
            from: Duration::ZERO,
            to: None,
            rounds: 1,
            identity: Identity::default(),
            source_time: SourceTime::default(),
            readers: 0,
            wait: Duration::from_secs(1),
            linger: Duration::from_secs(10),
        }
    }
}

/// Why nothing can be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The participant.
    #[error("the domain cannot be joined: {0}")]
    Participant(#[from] CreateParticipantError),
    /// The recording.
    #[error("{file}: {error}")]
    Recording {
        /// Its name.
        file: String,
        /// What is wrong.
        error: RecordingError,
    },
    /// Nothing of it can be written.
    #[error("nothing can be played: {0}")]
    Nothing(String),
    /// Readers did not come.
    #[error("'{topic}' has {there} readers after {waited:?}, not {wanted}")]
    NoReaders {
        /// The topic.
        topic: String,
        /// How many it has.
        there: usize,
        /// How many it was to have.
        wanted: usize,
        /// How long they were waited for.
        waited: Duration,
    },
}

/// Plays a recording.
pub struct Player {
    file: PathBuf,
    options: PlayerOptions,
    outputs: Outputs,
    control: Control,
    span: (u64, u64),
    participant: DomainParticipant,
}

impl Player {
    /// Joins the domain with writers like those that were recorded.
    ///
    /// # Errors
    /// When the file is no recording, has nothing that can be played, or the domain cannot be joined.
    pub fn new(file: &Path, options: PlayerOptions) -> Result<Self, PlayError> {
        let recording = open(file)?;
        let span = recording.span().ok_or_else(|| PlayError::Nothing("the recording is empty".into()))?;
        let participant = join(&options)?;
        let outputs = Outputs::new(&participant, recording.contents(), &options);
        if outputs.is_empty() {
            let why = outputs.problems().first().cloned();
            return Err(PlayError::Nothing(why.unwrap_or_else(|| "no topic is meant".into())));
        }
        let control = Control::new(options.rate);
        Ok(Self { file: file.to_owned(), options, outputs, control, span, participant })
    }

    /// Steers it from elsewhere.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The participant.
    #[must_use]
    pub const fn participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// How long the recording is.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        Duration::from_nanos(self.span.1.saturating_sub(self.span.0))
    }

    /// Plays until the end, or until it is stopped.
    ///
    /// # Errors
    /// When readers that are waited for do not come, or the recording cannot be read.
    pub fn play(&mut self) -> Result<Played, PlayError> {
        self.outputs.wait_for_readers(self.options.readers, self.options.wait, &self.control)?;
        let (mut round, mut from) = (0, at(self.span.0, self.options.from));
        let to = self.options.to.map_or(u64::MAX, |to| at(self.span.0, to));
        while !self.control.is_stopped() {
            let recording = open(&self.file)?;
            let shift = shift(round, self.span);
            let pass = Pass { outputs: &mut self.outputs, control: &self.control, from, to, shift };
            match pass.run(recording) {
                PassEnd::Seek(time) => {
                    from = at(self.span.0, time);
                    continue;
                }
                PassEnd::Stopped => break,
                PassEnd::Done => {}
            }
            round += 1;
            if self.options.rounds != 0 && round >= self.options.rounds {
                break;
            }
            from = at(self.span.0, self.options.from);
        }
        self.outputs.wait_for_acknowledgments(self.options.linger, &self.control);
        Ok(self.outputs.played())
    }
}

fn at(start: u64, offset: Duration) -> u64 {
    start.saturating_add(u64::try_from(offset.as_nanos()).unwrap_or(u64::MAX))
}

/// What source times of a round are later by. The times of a file may be anything.
fn shift(round: u32, (start, end): (u64, u64)) -> u64 {
    u64::from(round).saturating_mul(end.saturating_sub(start))
}

fn open(file: &Path) -> Result<Recording, PlayError> {
    let named = |error| PlayError::Recording { file: file.display().to_string(), error };
    Recording::open(file).map_err(named)
}

fn join(options: &PlayerOptions) -> Result<DomainParticipant, CreateParticipantError> {
    let id = format!("replay-{}", std::process::id());
    let mark = ServiceMark { kind: "replay".into(), id, path: Vec::new() };
    let builder = DomainParticipant::builder(options.domain)
        .name("dunlin-replay")
        .qos(DomainParticipantQos::default().service(&mark));
    match &options.config {
        Some(config) => builder.config(config.clone()).build(),
        None => builder.build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_any_length_are_shifted() {
        assert_eq!(shift(3, (5, 15)), 30);
        assert_eq!(shift(2, (1, u64::MAX)), u64::MAX);
        assert_eq!(shift(u32::MAX, (7, 3)), 0);
    }
}
