//! Frames of a fixed size, for load and comparison: 921,600 and 307,200 octets are uncompressed VGA in colour and
//! in grey.

use anyhow::{Result, ensure};
use dunlin_program::Stop;

use super::pace::Pacer;
use super::{Info, Source};
use crate::frame::{Encoding, Frame, now_ns};

/// The largest frame on offer, in octets.
pub const MAX_BYTES: usize = 64 << 20;

/// Fills one buffer once and then changes a few octets of it for each frame.
pub struct Fixed {
    bytes: usize,
    rate: f64,
    pacer: Pacer,
    shape: Shape,
    drawn: u64,
}

#[derive(Clone, Copy)]
struct Shape {
    encoding: Encoding,
    width: u32,
    height: u32,
    pixel: usize,
}

impl Shape {
    fn of(bytes: usize) -> Self {
        match bytes {
            921_600 => Self { encoding: Encoding::RawRgb24, width: 640, height: 480, pixel: 3 },
            307_200 => Self { encoding: Encoding::RawGray8, width: 640, height: 480, pixel: 1 },
            _ => Self { encoding: Encoding::Opaque, width: 0, height: 0, pixel: 1 },
        }
    }
}

impl Fixed {
    /// Frames of `bytes` octets, `rate` of them per second (0: as fast as they are taken).
    ///
    /// # Errors
    /// When the size is 0 or above [`MAX_BYTES`].
    pub fn new(bytes: usize, rate: f64) -> Result<Self> {
        ensure!(
            (1..=MAX_BYTES).contains(&bytes),
            "frames of 1 to {MAX_BYTES} bytes are possible, not {bytes}"
        );
        Ok(Self { bytes, rate, pacer: Pacer::new(rate), shape: Shape::of(bytes), drawn: 0 })
    }

    /// A bar that moves down by one row per frame: the old one is taken back, the new one drawn.
    fn patch(&mut self, payload: &mut [u8]) {
        let row = if self.shape.width > 0 { self.shape.width as usize * self.shape.pixel } else { 64 };
        let rows = (payload.len() / row).max(1) as u64;
        let at = |number: u64| (number % rows) as usize * row;
        let old = at(self.drawn.wrapping_sub(1));
        for (i, octet) in payload.iter_mut().enumerate().skip(old).take(row) {
            *octet = background(i, row);
        }
        let new = at(self.drawn);
        for octet in payload.iter_mut().skip(new).take(row) {
            *octet = 255;
        }
        // The number in full, so that no two frames are alike however short they are.
        let number = self.drawn.to_le_bytes();
        let len = number.len().min(payload.len());
        payload[..len].copy_from_slice(&number[..len]);
        self.drawn += 1;
    }
}

fn background(i: usize, row: usize) -> u8 {
    (i / row * 127 / 480 + i % row * 127 / row) as u8
}

impl Source for Fixed {
    fn next(&mut self, stop: &Stop, frame: &mut Frame) -> Result<bool> {
        if !self.pacer.wait(stop) {
            return Ok(false);
        }
        if frame.payload.len() != self.bytes {
            let row = if self.shape.width > 0 { self.shape.width as usize * self.shape.pixel } else { 64 };
            frame.payload = (0..self.bytes).map(|i| background(i, row)).collect();
        }
        frame.captured_at = now_ns();
        frame.encoding = self.shape.encoding;
        (frame.width, frame.height) = (self.shape.width, self.shape.height);
        frame.key = true;
        self.patch(&mut frame.payload);
        Ok(true)
    }

    fn info(&self) -> Info {
        let rate = match self.rate {
            0.0 => "as fast as possible".to_owned(),
            rate => format!("{rate} frames/s"),
        };
        Info {
            description: format!("frames of {} bytes, {rate}", self.bytes),
            encoding: self.shape.encoding,
            group: 1,
            keys_on_request: false,
        }
    }

    fn missed(&self) -> u64 {
        self.pacer.missed()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn frames(bytes: usize, count: usize) -> (BTreeSet<Vec<u8>>, Frame) {
        let mut source = Fixed::new(bytes, 0.0).unwrap();
        let mut frame = Frame::default();
        let mut seen = BTreeSet::new();
        let mut buffer = None;
        for _ in 0..count {
            assert!(source.next(&Stop::default(), &mut frame).unwrap());
            assert_eq!(frame.payload.len(), bytes);
            assert_eq!(*buffer.get_or_insert(frame.payload.as_ptr()), frame.payload.as_ptr(), "one buffer");
            seen.insert(frame.payload.clone());
        }
        (seen, frame)
    }

    #[test]
    fn frames_are_distinct_and_reuse_one_buffer() {
        let (seen, frame) = frames(307_200, 20);
        assert_eq!(seen.len(), 20);
        assert_eq!((frame.encoding, frame.width, frame.height), (Encoding::RawGray8, 640, 480));
        let (seen, frame) = frames(100, 300);
        assert_eq!(seen.len(), 300);
        assert_eq!((frame.encoding, frame.width), (Encoding::Opaque, 0));
        assert_eq!(frames(1, 100).0.len(), 100);
        assert_eq!(frames(921_600, 2).1.encoding, Encoding::RawRgb24);
    }

    #[test]
    fn the_bar_does_not_leave_a_trail() {
        let (_, frame) = frames(307_200, 30);
        let lit = frame.payload.iter().filter(|&&o| o == 255).count();
        assert_eq!(lit, 640);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(Fixed::new(0, 1.0).is_err());
        assert!(Fixed::new(MAX_BYTES + 1, 1.0).is_err());
    }
}
