//! The DDS side: the type of the topic, and a writer and a reader for it. Nothing else in this crate knows DDS.

#[cfg(feature = "view")]
mod reader;
mod writer;

use anyhow::{Context, Result};
use dunlin::qos::TopicQos;
use dunlin::{DdsType, DomainParticipant, Topic};
#[cfg(feature = "view")]
pub use reader::FrameReader;
pub use writer::FrameWriter;

use crate::frame::{Encoding, Frame};

/// What announces the name of a camera in the USER_DATA of its writer.
const CAMERA: &[u8] = b"camera=";

/// Coding of a frame, as in `idl/VideoFrame.idl`.
#[derive(DdsType, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[dds(final)]
pub enum VideoEncoding {
    /// One complete JPEG image.
    #[default]
    #[dds(name = "MJPEG")]
    Mjpeg,
    /// One H.264 access unit as an Annex B byte stream.
    H264,
    /// Planes Y, U, V with chroma at half width and half height.
    #[dds(name = "RAW_I420")]
    RawI420,
    /// Packed R, G, B.
    #[dds(name = "RAW_RGB24")]
    RawRgb24,
    /// One octet of luma per pixel.
    #[dds(name = "RAW_GRAY8")]
    RawGray8,
    /// Packed Y0, U, Y1, V.
    #[dds(name = "RAW_YUYV")]
    RawYuyv,
    /// Octets that are no picture.
    #[dds(name = "OPAQUE")]
    Opaque,
}

/// The type of the topic, as in `idl/VideoFrame.idl`.
#[derive(DdsType, Clone, Debug, Default, PartialEq, Eq)]
#[dds(name = "VideoFrame", final)]
pub struct VideoFrame {
    /// Name of the camera.
    #[dds(key)]
    pub camera_id: String,
    /// Counts from 0 within one run of a publisher.
    pub frame_number: u64,
    /// Nanoseconds since the Unix epoch.
    pub capture_timestamp: i64,
    /// How the payload is coded.
    pub encoding: VideoEncoding,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Can be decoded without any earlier frame.
    pub key_frame: bool,
    /// The coded picture.
    pub payload: Vec<u8>,
}

impl VideoFrame {
    /// Exchanges everything with `frame`, so that no payload is copied.
    fn swap(&mut self, frame: &mut Frame) {
        let encoding = encoding_from_dds(self.encoding);
        self.encoding = encoding_to_dds(frame.encoding);
        frame.encoding = encoding;
        std::mem::swap(&mut self.camera_id, &mut frame.camera_id);
        std::mem::swap(&mut self.frame_number, &mut frame.number);
        std::mem::swap(&mut self.capture_timestamp, &mut frame.captured_at);
        std::mem::swap(&mut self.width, &mut frame.width);
        std::mem::swap(&mut self.height, &mut frame.height);
        std::mem::swap(&mut self.key_frame, &mut frame.key);
        std::mem::swap(&mut self.payload, &mut frame.payload);
    }

    /// The same as a frame.
    #[must_use]
    pub fn into_frame(mut self) -> Frame {
        let mut frame = Frame::default();
        self.swap(&mut frame);
        frame
    }
}

fn encoding_to_dds(encoding: Encoding) -> VideoEncoding {
    match encoding {
        Encoding::Mjpeg => VideoEncoding::Mjpeg,
        Encoding::H264 => VideoEncoding::H264,
        Encoding::RawI420 => VideoEncoding::RawI420,
        Encoding::RawRgb24 => VideoEncoding::RawRgb24,
        Encoding::RawGray8 => VideoEncoding::RawGray8,
        Encoding::RawYuyv => VideoEncoding::RawYuyv,
        Encoding::Opaque => VideoEncoding::Opaque,
    }
}

fn encoding_from_dds(encoding: VideoEncoding) -> Encoding {
    match encoding {
        VideoEncoding::Mjpeg => Encoding::Mjpeg,
        VideoEncoding::H264 => Encoding::H264,
        VideoEncoding::RawI420 => Encoding::RawI420,
        VideoEncoding::RawRgb24 => Encoding::RawRgb24,
        VideoEncoding::RawGray8 => Encoding::RawGray8,
        VideoEncoding::RawYuyv => Encoding::RawYuyv,
        VideoEncoding::Opaque => Encoding::Opaque,
    }
}

fn join(domain: u32, topic: &str, name: &str) -> Result<(DomainParticipant, Topic<VideoFrame>)> {
    let participant = DomainParticipant::builder(domain)
        .name(name)
        .build()
        .with_context(|| format!("cannot join domain {domain}"))?;
    let topic = participant
        .create_topic::<VideoFrame>(topic, &TopicQos::default())
        .with_context(|| format!("cannot use the topic \"{topic}\""))?;
    Ok((participant, topic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_the_way_to_dds_and_back() {
        let mut frame = Frame {
            camera_id: "front".to_owned(),
            number: 7,
            captured_at: -5,
            encoding: Encoding::RawYuyv,
            width: 4,
            height: 2,
            key: true,
            payload: vec![1, 2, 3],
        };
        let original = frame.clone();
        let octets = frame.payload.as_ptr();
        let mut sample = VideoFrame::default();
        sample.swap(&mut frame);
        assert_eq!((sample.frame_number, sample.encoding), (7, VideoEncoding::RawYuyv));
        assert_eq!(sample.payload.as_ptr(), octets, "nothing is copied");
        sample.swap(&mut frame);
        assert_eq!(frame, original);
    }
}
