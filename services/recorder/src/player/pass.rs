//! One way through a recording. Chunks are unpacked ahead, on a thread of their own, so that unpacking makes no sample late.

use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use super::control::{Control, Turn};
use super::output::Outputs;
use crate::file::{Chunk, Recording, RecordingError};

/// Chunks that are unpacked ahead.
const AHEAD: usize = 2;

pub(super) struct Pass<'p> {
    pub(super) outputs: &'p mut Outputs,
    pub(super) control: &'p Control,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Added to source times, so that they go on in later rounds.
    pub(super) shift: u64,
}

pub(super) enum PassEnd {
    Done,
    Seek(Duration),
    Stopped,
}

type Unpacked = Result<Chunk, RecordingError>;

impl Pass<'_> {
    pub(super) fn run(self, recording: Recording) -> PassEnd {
        let (sender, chunks) = sync_channel::<Unpacked>(AHEAD);
        let (from, to) = (self.from, self.to);
        let mut recording = recording;
        let ahead = move || {
            for n in recording.seek(from)..recording.contents().chunks.len() {
                if recording.contents().chunks.get(n).is_some_and(|place| place.start > to) {
                    continue;
                }
                let Some(chunk) = recording.chunk(n).transpose() else { return };
                if sender.send(chunk).is_err() {
                    return;
                }
            }
        };
        match std::thread::Builder::new().name("replay-read".into()).spawn(ahead) {
            Ok(_) => self.play(&chunks),
            Err(error) => {
                self.outputs.unplayed(format!("no thread can be started: {error}"));
                PassEnd::Stopped
            }
        }
    }

    fn play(self, chunks: &Receiver<Unpacked>) -> PassEnd {
        for chunk in chunks {
            // Nothing of it may be meant, so that nothing of it is waited for.
            match self.control.asked() {
                Some(Turn::Seek(to)) => return PassEnd::Seek(to),
                Some(Turn::Stopped) => return PassEnd::Stopped,
                Some(Turn::Due(_)) | None => {}
            }
            let mut chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    self.outputs.unplayed(error.to_string());
                    continue;
                }
            };
            while let Some(message) = chunk.next_message() {
                if message.log_time < self.from || message.log_time > self.to {
                    continue;
                }
                let Some(ready) = self.outputs.prepare(&message) else { continue };
                match self.control.wait(message.log_time) {
                    Turn::Due(late) => self.outputs.write(&ready, self.shift, late, self.control),
                    Turn::Seek(to) => return PassEnd::Seek(to),
                    Turn::Stopped => return PassEnd::Stopped,
                }
            }
        }
        PassEnd::Done
    }
}
