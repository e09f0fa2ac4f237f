//! Viewing: frames from DDS go to browsers, into files and into statistics.

pub mod camera;
pub mod follow;
pub mod hub;
pub mod mjpeg;
pub mod packet;
pub mod queue;
pub mod run;
pub mod save;
pub mod server;
pub mod session;
pub mod transcode;

use std::time::Duration;

use anyhow::Result;
pub use run::run;
use serde::Serialize;

use crate::cli::Reliability;
use crate::frame::Frame;

/// Identifies the writer that a frame came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriterId(pub [u8; 16]);

/// A frame with its origin.
#[derive(Clone, Debug)]
pub struct Received {
    /// The frame.
    pub frame: Frame,
    /// Where it comes from.
    pub writer: WriterId,
    /// When it was taken, in nanoseconds since the Unix epoch.
    pub received_at: i64,
}

/// A publisher that discovery has found on the topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Publisher {
    /// Which writer it is.
    #[serde(skip)]
    pub writer: WriterId,
    /// The camera, where the publisher announces one.
    pub camera: Option<String>,
    /// Policies and their values, for people.
    pub qos: Vec<(String, String)>,
    /// Why nothing can come from it.
    pub problem: Option<String>,
}

/// Gives frames: a DDS reader, or a test.
pub trait FrameSource: Send {
    /// Waits up to `timeout` for frames and appends what there is.
    ///
    /// # Errors
    /// When nothing can be received any more.
    fn receive(&mut self, timeout: Duration, out: &mut Vec<Received>) -> Result<()>;

    /// All publishers known now.
    ///
    /// # Errors
    /// When nothing can be received any more.
    fn publishers(&mut self) -> Result<Vec<Publisher>>;
}

/// How the DDS reader of a viewer is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderSettings {
    /// DDS domain.
    pub domain: u32,
    /// Name of the topic.
    pub topic: String,
    /// Reliability to ask for.
    pub reliability: Reliability,
}
