//! What a browser gets: one access unit or image per binary message, behind a header of 32 octets.
//!
//! | octets | little-endian |
//! |---|---|
//! | 0 | version of this layout, 1 |
//! | 1 | coding: 0 JPEG, 1 H.264 (Annex B), 2 not for browsers |
//! | 2 | flags: 1 key frame, 2 kept for late viewers |
//! | 3 | 0 |
//! | 4, 6 | width, height (16 bits each) |
//! | 8 | frame number (64 bits) |
//! | 16 | capture time, microseconds since the Unix epoch (64 bits, signed) |
//! | 24 | time at which the viewer process received it, likewise |

use std::time::Instant;

use bytes::Bytes;

use crate::frame::{Encoding, Frame};

/// Octets before the payload.
pub const HEADER: usize = 32;
const VERSION: u8 = 1;
const FLAG_KEY: u8 = 1;
const FLAG_HISTORY: u8 = 2;

/// One frame on its way to browsers; clones share the octets.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Coding of the payload.
    pub encoding: Encoding,
    /// Can be decoded without any earlier frame.
    pub key: bool,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// When the viewer process received it.
    pub since: Instant,
    /// Header and payload.
    pub message: Bytes,
}

impl Packet {
    /// Puts the header before the payload of `frame`.
    #[must_use]
    pub fn new(frame: &Frame, received_at: i64, history: bool, since: Instant) -> Self {
        let mut message = Vec::with_capacity(HEADER + frame.payload.len());
        let coding = match frame.encoding {
            Encoding::Mjpeg => 0,
            Encoding::H264 => 1,
            _ => 2,
        };
        let flags = (u8::from(frame.key) * FLAG_KEY) | (u8::from(history) * FLAG_HISTORY);
        message.extend([VERSION, coding, flags, 0]);
        for side in [frame.width, frame.height] {
            message.extend(u16::try_from(side).unwrap_or(u16::MAX).to_le_bytes());
        }
        message.extend(frame.number.to_le_bytes());
        message.extend((frame.captured_at / 1000).to_le_bytes());
        message.extend((received_at / 1000).to_le_bytes());
        message.extend_from_slice(&frame.payload);
        Self {
            encoding: frame.encoding,
            key: frame.key,
            width: frame.width,
            height: frame.height,
            since,
            message: message.into(),
        }
    }

    /// The same frame with another picture coding, a JPEG image.
    #[must_use]
    pub fn with_jpeg(&self, jpeg: &[u8]) -> Self {
        let mut message = Vec::with_capacity(HEADER + jpeg.len());
        message.extend_from_slice(&self.message[..HEADER]);
        message[1] = 0;
        message[2] |= FLAG_KEY;
        message.extend_from_slice(jpeg);
        Self { encoding: Encoding::Mjpeg, key: true, message: message.into(), ..*self }
    }

    /// The same frame, as one that was kept for a late viewer until `now`.
    #[must_use]
    pub fn kept(&self, now: Instant) -> Self {
        let mut message = self.message.to_vec();
        message[2] |= FLAG_HISTORY;
        Self { since: now, message: message.into(), ..*self }
    }

    /// The coded picture.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.message[HEADER..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame {
            number: 0x0102_0304_0506_0708,
            captured_at: -2_000,
            encoding: Encoding::H264,
            width: 640,
            height: 480,
            key: true,
            payload: vec![9, 8, 7],
            ..Frame::default()
        }
    }

    #[test]
    fn the_header_has_the_documented_layout() {
        let packet = Packet::new(&frame(), 5_000_999, true, Instant::now());
        let mut expected = vec![1, 1, 3, 0, 0x80, 2, 0xE0, 1, 8, 7, 6, 5, 4, 3, 2, 1];
        expected.extend((-2_i64).to_le_bytes());
        expected.extend(5_000_i64.to_le_bytes());
        expected.extend([9, 8, 7]);
        assert_eq!(packet.message, expected);
        assert_eq!(packet.payload(), [9, 8, 7]);
    }

    #[test]
    fn frames_from_history_are_marked() {
        let packet = Packet::new(&Frame { key: false, ..frame() }, 0, false, Instant::now());
        let kept = packet.kept(Instant::now());
        assert_eq!((packet.message[2], kept.message[2]), (0, 2));
        assert_eq!(packet.message[3..], kept.message[3..]);
    }

    #[test]
    fn packet_recoded_as_jpeg_keeps_number_and_times() {
        let delta = Frame { key: false, ..frame() };
        let packet = Packet::new(&delta, 0, false, Instant::now());
        let jpeg = packet.with_jpeg(&[1]);
        assert_eq!(jpeg.message[..4], [1, 0, 1, 0]);
        assert_eq!(jpeg.message[4..HEADER], packet.message[4..HEADER]);
        assert_eq!((jpeg.payload(), jpeg.encoding, jpeg.key), (&[1][..], Encoding::Mjpeg, true));
    }
}
