//! The topic types that all peers share.

use dunlin::DdsType;

/// The type of the field's shapes demonstrations.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "ShapeType", final)]
pub struct ShapeType {
    /// Key.
    #[dds(key)]
    pub color: String,
    /// Position.
    pub x: i32,
    /// Position.
    pub y: i32,
    /// Size.
    pub shapesize: i32,
}

/// How a frame is encoded; see `apps/video/idl/VideoFrame.idl`.
#[derive(DdsType, Clone, Copy, Debug, Default, PartialEq)]
#[dds(final)]
#[expect(missing_docs, reason = "the names are those of the IDL file")]
pub enum VideoEncoding {
    #[dds(name = "MJPEG")]
    Mjpeg,
    H264,
    #[dds(name = "RAW_I420")]
    RawI420,
    #[dds(name = "RAW_RGB24")]
    RawRgb24,
    #[dds(name = "RAW_GRAY8")]
    RawGray8,
    #[dds(name = "RAW_YUYV")]
    RawYuyv,
    #[default]
    #[dds(name = "OPAQUE")]
    Opaque,
}

/// One frame; see `apps/video/idl/VideoFrame.idl`.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "VideoFrame", final)]
#[expect(missing_docs, reason = "the names are those of the IDL file")]
pub struct VideoFrame {
    #[dds(key)]
    pub camera_id: String,
    pub frame_number: u64,
    pub capture_timestamp: i64,
    pub encoding: VideoEncoding,
    pub width: u32,
    pub height: u32,
    pub key_frame: bool,
    pub payload: Vec<u8>,
}

/// The octets of frame `number`: octet i is (31·i + number) mod 251.
#[must_use]
pub fn payload_of_frame(number: u64, length: usize) -> Vec<u8> {
    // They come again after 251, and copies are made faster than the traffic that they are compared with.
    let period: Vec<u8> = (0..251).map(|i| ((i * 31 + number % 251) % 251) as u8).collect();
    let mut payload = period.repeat(length / period.len() + 1);
    payload.truncate(length);
    payload
}

/// What a subscriber prints as the checksum of frame `number`.
#[must_use]
pub fn crc_of_frame(number: u64, length: usize) -> u32 {
    crc32fast::hash(&payload_of_frame(number, length))
}
