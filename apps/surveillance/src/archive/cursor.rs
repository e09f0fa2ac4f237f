//! The pictures of one camera, one after the other.

use std::collections::BTreeSet;

use anyhow::Result;
use dunlin::cdr::{Limits, from_payload};
use dunlin_recorder::file::Chunk;
use dunlin_video::dds::VideoFrame;

use super::{Archive, Place};

/// How far back a picture is looked for that can be decoded by itself, in nanoseconds.
const BACK: i64 = 30_000_000_000;
/// Chunks that are read for that.
const BACK_CHUNKS: usize = 128;

/// A recorded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// When it was received, in nanoseconds since the Unix epoch.
    pub received: i64,
    /// The picture.
    pub frame: VideoFrame,
}

/// A place in the recordings of a camera. A step reads at most one chunk.
pub struct Cursor {
    camera: String,
    from: i64,
    place: Option<Place>,
    chunk: Chunk,
    channels: BTreeSet<u16>,
}

/// What a step of a cursor gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The next picture.
    Picture(Box<Picture>),
    /// Another chunk was opened: there may be more.
    Further,
    /// Nothing is recorded beyond, so far.
    End,
}

impl Cursor {
    /// At a time, or before it at the last picture that can be decoded by itself.
    ///
    /// # Errors
    /// When what is there cannot be read.
    pub fn at(archive: &mut Archive, camera: &str, time: i64) -> Result<Self> {
        let (mut place, mut from) = (archive.seek(time), time);
        let mut looked = place;
        for _ in 0..BACK_CHUNKS {
            let Some(here) = looked else { break };
            let found = keys(archive, here, camera, time)?;
            if let Some(key) = found.last_key {
                (place, from) = (Some(here), key);
                break;
            }
            if found.first.is_some_and(|first| first < time.saturating_sub(BACK)) {
                break;
            }
            looked = archive.before(here);
        }
        let (camera, chunk) = (camera.to_owned(), Chunk::default());
        let mut cursor = Self { camera, from, place: None, chunk, channels: BTreeSet::new() };
        if let Some(place) = place {
            cursor.enter(archive, place)?;
        }
        Ok(cursor)
    }

    fn enter(&mut self, archive: &mut Archive, place: Place) -> Result<()> {
        // Also if it cannot be read: the next step goes on behind it.
        self.place = Some(place);
        (self.chunk, self.channels) = (Chunk::default(), BTreeSet::new());
        (self.chunk, self.channels) = archive.chunk(place)?;
        Ok(())
    }

    /// The next picture.
    ///
    /// # Errors
    /// When a chunk cannot be read; the next step goes on behind it.
    pub fn step(&mut self, archive: &mut Archive) -> Result<Step> {
        if let Some(picture) = self.in_chunk() {
            return Ok(Step::Picture(Box::new(picture)));
        }
        let next = match self.place {
            Some(place) => archive.after(place),
            None => archive.seek(self.from),
        };
        let Some(next) = next else { return Ok(Step::End) };
        self.enter(archive, next)?;
        Ok(Step::Further)
    }

    fn in_chunk(&mut self) -> Option<Picture> {
        while let Some(message) = self.chunk.next_message() {
            let received = i64::try_from(message.log_time).unwrap_or(i64::MAX);
            let wanted = received >= self.from
                && self.channels.contains(&message.channel)
                && camera_of(message.data) == Some(self.camera.as_str());
            if wanted && let Ok(frame) = from_payload::<VideoFrame>(message.data, &Limits::default()) {
                self.from = received;
                return Some(Picture { received, frame });
            }
        }
        None
    }
}

/// What a chunk has of a camera up to a time.
struct Keys {
    first: Option<i64>,
    last_key: Option<i64>,
}

fn keys(archive: &mut Archive, place: Place, camera: &str, time: i64) -> Result<Keys> {
    let (mut chunk, channels) = archive.chunk(place)?;
    let mut keys = Keys { first: None, last_key: None };
    while let Some(message) = chunk.next_message() {
        let received = i64::try_from(message.log_time).unwrap_or(i64::MAX);
        keys.first.get_or_insert(received);
        let mut matters = received <= time && channels.contains(&message.channel);
        matters &= camera_of(message.data) == Some(camera);
        if matters && is_key(message.data) {
            keys.last_key = Some(received);
        }
    }
    Ok(keys)
}

fn is_key(payload: &[u8]) -> bool {
    from_payload::<VideoFrame>(payload, &Limits::default()).is_ok_and(|frame| frame.key_frame)
}

/// The name of the camera, which stands first in a serialized frame.
pub(super) fn camera_of(payload: &[u8]) -> Option<&str> {
    let little = payload.get(1)? & 1 == 1;
    let (count, rest) = payload.get(4..)?.split_first_chunk::<4>()?;
    let count = if little { u32::from_le_bytes(*count) } else { u32::from_be_bytes(*count) };
    let name = rest.get(..usize::try_from(count).ok()?.checked_sub(1)?)?;
    std::str::from_utf8(name).ok()
}
