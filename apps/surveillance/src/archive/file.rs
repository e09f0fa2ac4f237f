//! One recording.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use dunlin_recorder::file::{Chunk, ChunkPlace, Ending, Recording};

use super::cursor::camera_of;

/// Cameras of one file that are noted.
const CAMERAS: usize = 256;
/// The longest name of a camera, in octets.
const NAME: usize = 256;

/// A recording, and what is known of it without reading it again.
pub(super) struct Shelved {
    path: PathBuf,
    /// Open while it grows, and while somebody reads it.
    recording: Option<Recording>,
    grows: bool,
    last_read: Instant,
    chunks: Vec<ChunkPlace>,
    /// Channels of the topic.
    channels: BTreeSet<u16>,
    /// First and last reception of each camera. Of a finished file it is as precise as its first and last chunk tell.
    cameras: BTreeMap<String, (i64, i64)>,
    /// Chunks that were looked at for cameras.
    noted: usize,
}

impl Shelved {
    pub(super) fn open(path: &Path, grows: bool, topic: &str) -> Result<Self> {
        let recording = Recording::open(path).with_context(|| path.display().to_string())?;
        let mut shelved = Self {
            path: path.to_owned(),
            recording: Some(recording),
            grows,
            last_read: Instant::now(),
            chunks: Vec::new(),
            channels: BTreeSet::new(),
            cameras: BTreeMap::new(),
            noted: 0,
        };
        shelved.learn(topic);
        if grows {
            shelved.note_chunks(shelved.chunks.len())?;
        } else {
            shelved.note_ends()?;
        }
        Ok(shelved)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_open_to_read(&self) -> bool {
        self.recording.is_some() && !self.grows
    }

    pub(super) const fn last_read(&self) -> Instant {
        self.last_read
    }

    pub(super) fn close(&mut self) {
        self.recording = None;
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn cameras(&self) -> impl Iterator<Item = (&str, (i64, i64))> {
        self.cameras.iter().map(|(camera, span)| (camera.as_str(), *span))
    }

    pub(super) fn seek(&self, time: u64) -> Option<usize> {
        self.chunks.iter().position(|chunk| chunk.end >= time)
    }

    /// Reads what has been added to a file that grows, for the last time when it has been finished.
    pub(super) fn look_again(&mut self, grows: bool, topic: &str) -> Result<()> {
        if !self.grows {
            return Ok(());
        }
        let recording = self.recording.as_mut().context("it is not open")?;
        recording.extend()?;
        self.grows = grows && *recording.ending() != Ending::Whole;
        self.learn(topic);
        self.note_chunks(self.chunks.len())
    }

    fn learn(&mut self, topic: &str) {
        let Some(recording) = &self.recording else { return };
        let contents = recording.contents();
        let of_topic = contents.channels.iter().filter(|(_, channel)| channel.topic == topic);
        self.channels = of_topic.map(|(id, _)| *id).collect();
        let new = contents.chunks.get(self.chunks.len()..).unwrap_or_default();
        self.chunks.extend_from_slice(new);
    }

    /// Which cameras there are, and when: of all chunks up to one.
    fn note_chunks(&mut self, end: usize) -> Result<()> {
        while self.noted < end {
            self.note(self.noted)?;
            self.noted += 1;
        }
        Ok(())
    }

    fn note_ends(&mut self) -> Result<()> {
        if let Some(last) = self.chunks.len().checked_sub(1) {
            self.note(0)?;
            self.note(last)?;
        }
        self.noted = self.chunks.len();
        Ok(())
    }

    fn note(&mut self, n: usize) -> Result<()> {
        let (mut chunk, channels) = self.chunk(n)?;
        while let Some(message) = chunk.next_message() {
            let camera = camera_of(message.data).filter(|camera| camera.len() <= NAME);
            let Some(camera) = camera.filter(|_| channels.contains(&message.channel)) else { continue };
            let time = i64::try_from(message.log_time).unwrap_or(i64::MAX);
            if let Some((first, last)) = self.cameras.get_mut(camera) {
                (*first, *last) = ((*first).min(time), (*last).max(time));
            } else if self.cameras.len() < CAMERAS {
                self.cameras.insert(camera.to_owned(), (time, time));
            }
        }
        Ok(())
    }

    pub(super) fn chunk(&mut self, n: usize) -> Result<(Chunk, BTreeSet<u16>)> {
        self.last_read = Instant::now();
        let recording = match &mut self.recording {
            Some(recording) => recording,
            none => {
                none.insert(Recording::open(&self.path).with_context(|| self.path.display().to_string())?)
            }
        };
        let chunk = recording.chunk(n)?.context("there is no such chunk")?;
        Ok((chunk, self.channels.clone()))
    }
}
