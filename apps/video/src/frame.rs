//! One picture on its way from a source to a viewer.

use std::time::{SystemTime, UNIX_EPOCH};

/// How the payload of a [`Frame`] is coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// One complete JPEG image.
    #[default]
    Mjpeg,
    /// One H.264 access unit as an Annex B byte stream.
    H264,
    /// Planes Y, U, V with chroma at half width and half height.
    RawI420,
    /// Packed R, G, B.
    RawRgb24,
    /// One octet of luma per pixel.
    RawGray8,
    /// Packed Y0, U, Y1, V.
    RawYuyv,
    /// Octets that are no picture.
    Opaque,
}

impl Encoding {
    /// The name that people read in statistics and on the page.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Mjpeg => "MJPEG",
            Encoding::H264 => "H.264",
            Encoding::RawI420 => "raw I420",
            Encoding::RawRgb24 => "raw RGB24",
            Encoding::RawGray8 => "raw GRAY8",
            Encoding::RawYuyv => "raw YUYV",
            Encoding::Opaque => "opaque",
        }
    }

    /// Whether every frame can be decoded by itself, so that any of them may be dropped.
    #[must_use]
    pub fn intra_only(self) -> bool {
        self != Encoding::H264
    }
}

/// One picture with what travels beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Name of the camera.
    pub camera_id: String,
    /// Counts from 0 within one run of a publisher.
    pub number: u64,
    /// Capture time in nanoseconds since the Unix epoch.
    pub captured_at: i64,
    /// How the payload is coded.
    pub encoding: Encoding,
    /// Width in pixels, 0 when the payload is no picture.
    pub width: u32,
    /// Height in pixels, 0 when the payload is no picture.
    pub height: u32,
    /// Can be decoded without any earlier frame.
    pub key: bool,
    /// The coded picture.
    pub payload: Vec<u8>,
}

/// The wall clock in nanoseconds since the Unix epoch.
#[must_use]
pub fn now_ns() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
