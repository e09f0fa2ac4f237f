//! Where pictures come from.

#[cfg(target_os = "linux")]
pub mod camera;
#[cfg(all(test, feature = "h264"))]
pub(crate) mod fake_mp4;
pub mod file;
pub mod fixed;
#[cfg(feature = "gstreamer")]
pub mod gst;
mod guarded;
pub mod mp4;
pub mod pace;
pub mod pattern;
#[cfg(target_os = "linux")]
pub mod v4l2;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use dunlin_program::Stop;

use crate::codec::{Encoder, Image};
use crate::frame::{Encoding, Frame};

/// What a publisher has to know of a source before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// One line for people.
    pub description: String,
    /// Coding of all frames.
    pub encoding: Encoding,
    /// The most frames from one key frame to the next.
    pub group: u32,
    /// Whether a key frame follows a [`KeyRequest`].
    pub keys_on_request: bool,
}

/// Gives coded frames.
pub trait Source: Send {
    /// Waits until the next frame is due and fills everything but its number and camera. Returns false when the
    /// source has ended or `stop` was set.
    ///
    /// # Errors
    /// When the source fails for good.
    fn next(&mut self, stop: &Stop, frame: &mut Frame) -> Result<bool>;

    /// What is known before the first frame.
    fn info(&self) -> Info;

    /// Frames not captured because the previous one was asked for too late.
    fn missed(&self) -> u64 {
        0
    }
}

/// Gives pictures that are still to be coded.
pub trait ImageSource: Send {
    /// Waits until the next picture is due. Returns its capture time in nanoseconds since the Unix epoch, or
    /// `None` when the source has ended or `stop` was set.
    ///
    /// # Errors
    /// When the source fails for good.
    fn next(&mut self, stop: &Stop, image: &mut Image) -> Result<Option<i64>>;

    /// One line for people.
    fn description(&self) -> String;

    /// Pictures not captured because the previous one was asked for too late.
    fn missed(&self) -> u64 {
        0
    }
}

/// The wish for a key frame; clones share it.
#[derive(Clone, Debug, Default)]
pub struct KeyRequest(Arc<Mutex<Vec<Instant>>>);

impl KeyRequest {
    /// How long after a viewer has come a second key frame is made: the first one may pass before a best-effort
    /// viewer knows the publisher.
    const REPEAT: Duration = Duration::from_millis(500);

    /// Asks for a key frame with the next picture.
    pub fn now(&self) {
        self.lock().push(Instant::now());
    }

    /// Asks for a key frame with the next picture and for another one soon after.
    pub fn for_new_viewer(&self) {
        let now = Instant::now();
        self.lock().extend([now, now + Self::REPEAT]);
    }

    /// Whether a key frame is due at `now`; the wish is fulfilled then.
    #[must_use]
    pub fn take(&self, now: Instant) -> bool {
        let mut due = self.lock();
        let before = due.len();
        due.retain(|&at| at > now);
        due.len() < before
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A source of pictures with an encoder behind it.
pub struct Encoded<S> {
    source: S,
    encoder: Box<dyn Encoder>,
    image: Image,
    group: u32,
    keys: KeyRequest,
}

impl<S: ImageSource> Encoded<S> {
    /// Codes what `source` gives; `group` is the key interval that `encoder` was made with.
    #[must_use]
    pub fn new(source: S, encoder: Box<dyn Encoder>, group: u32, keys: KeyRequest) -> Self {
        Self { source, encoder, image: Image::default(), group, keys }
    }
}

impl<S: ImageSource> Source for Encoded<S> {
    fn next(&mut self, stop: &Stop, frame: &mut Frame) -> Result<bool> {
        loop {
            let Some(captured_at) = self.source.next(stop, &mut self.image)? else {
                return Ok(false);
            };
            let force_key = self.keys.take(Instant::now());
            let coded = self.encoder.encode(&self.image, force_key, &mut frame.payload)?;
            if let Some(key) = coded {
                frame.captured_at = captured_at;
                frame.encoding = self.encoder.encoding();
                (frame.width, frame.height) = (self.image.width() as u32, self.image.height() as u32);
                frame.key = key;
                return Ok(true);
            }
        }
    }

    fn info(&self) -> Info {
        let encoding = self.encoder.encoding();
        Info {
            description: self.source.description(),
            encoding,
            group: if encoding.intra_only() { 1 } else { self.group },
            keys_on_request: !encoding.intra_only(),
        }
    }

    fn missed(&self) -> u64 {
        self.source.missed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_viewer_gets_two_key_frames() {
        let keys = KeyRequest::default();
        assert!(!keys.take(Instant::now()));
        keys.for_new_viewer();
        let now = Instant::now();
        assert!(keys.take(now));
        assert!(!keys.take(now), "the second one is not due yet");
        assert!(keys.take(now + KeyRequest::REPEAT));
        assert!(!keys.take(now + 2 * KeyRequest::REPEAT));
    }
}
