//! Cameras of Linux.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use dunlin_program::Stop;

use super::v4l2::{Device, FourCc, MJPG, YUYV};
use super::{ImageSource, Info, Source};
use crate::codec::Image;
use crate::codec::jpeg;
use crate::frame::{Encoding, Frame, now_ns};

/// How often a waiting camera looks whether it should end.
const LOOK: Duration = Duration::from_millis(200);
/// A camera silent for so long counts as gone.
const SILENCE: Duration = Duration::from_secs(10);
/// Damaged frames in a row after which a camera counts as broken.
const DAMAGED: u32 = 30;

/// A camera whose frames go out as they come.
pub struct CameraFrames(Device);

/// A camera whose frames are to be coded.
pub struct CameraImages(Device, Vec<u8>);

fn open(path: &Path, size: (u32, u32), rate: f64, formats: &[FourCc]) -> Result<Device> {
    let device = Device::open(path, size, rate, formats)?;
    if device.size != size {
        let (w, h) = device.size;
        dunlin_program::tell!("{}: has no {}x{}, captures {w}x{h}", device.card, size.0, size.1);
    }
    Ok(device)
}

fn describe(device: &Device) -> String {
    let (w, h) = device.size;
    let rate = device.rate.map_or(String::new(), |rate| format!(", {rate:.4} frames/s"));
    format!("camera \"{}\", {w}x{h} {}{rate}", device.card, String::from_utf8_lossy(&device.format))
}

/// Waits for the next good frame; returns false when `stop` was set.
fn next_frame(device: &mut Device, stop: &Stop, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
    let mut silent = Duration::ZERO;
    while !stop.is_set() {
        if device.frame(LOOK, &mut take)? {
            return Ok(true);
        }
        silent += LOOK;
        ensure!(silent < SILENCE, "the camera has given no frame for {} s", SILENCE.as_secs());
    }
    Ok(false)
}

/// Copies rows that may be longer than the picture is wide.
fn pack_rows(raw: &[u8], stride: usize, row: usize, rows: usize, out: &mut Vec<u8>) -> Result<()> {
    let stride = stride.max(row);
    ensure!(raw.len() >= stride * rows.saturating_sub(1) + row, "the camera gave only part of a frame");
    out.clear();
    for line in raw.chunks(stride).take(rows) {
        out.extend_from_slice(&line[..row]);
    }
    Ok(())
}

fn pack_yuyv(device_size: (u32, u32), stride: usize, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
    pack_rows(raw, stride, device_size.0 as usize * 2, device_size.1 as usize, out)
}

impl CameraFrames {
    /// Opens a camera for its own JPEG images, or for raw YUYV pictures.
    ///
    /// # Errors
    /// When the camera cannot do that.
    pub fn open(path: &Path, size: (u32, u32), rate: f64, encoding: Encoding) -> Result<Self> {
        let format = if encoding == Encoding::Mjpeg { MJPG } else { YUYV };
        open(path, size, rate, &[format]).map(Self)
    }
}

impl Source for CameraFrames {
    fn next(&mut self, stop: &Stop, frame: &mut Frame) -> Result<bool> {
        let (size, stride, format) = (self.0.size, self.0.bytes_per_line, self.0.format);
        frame.encoding = self.info().encoding;
        (frame.width, frame.height) = size;
        frame.key = true;
        next_frame(&mut self.0, stop, |raw| {
            frame.captured_at = now_ns();
            if format == MJPG {
                frame.payload.clear();
                frame.payload.extend_from_slice(raw);
                return Ok(());
            }
            pack_yuyv(size, stride, raw, &mut frame.payload)
        })
    }

    fn info(&self) -> Info {
        let encoding = if self.0.format == MJPG { Encoding::Mjpeg } else { Encoding::RawYuyv };
        Info { description: describe(&self.0), encoding, group: 1, keys_on_request: false }
    }
}

impl CameraImages {
    /// Opens a camera for pictures in memory: YUYV where it has that, else its JPEG images are decoded.
    ///
    /// # Errors
    /// When the camera has neither.
    pub fn open(path: &Path, size: (u32, u32), rate: f64) -> Result<Self> {
        open(path, size, rate, &[YUYV, MJPG]).map(|device| Self(device, Vec::new()))
    }
}

impl ImageSource for CameraImages {
    fn next(&mut self, stop: &Stop, image: &mut Image) -> Result<Option<i64>> {
        let (size, stride, format) = (self.0.size, self.0.bytes_per_line, self.0.format);
        let mut captured_at = 0;
        let mut damaged = 0;
        loop {
            let mut result = Ok(());
            let running = next_frame(&mut self.0, stop, |raw| {
                captured_at = now_ns();
                result = if format == MJPG {
                    jpeg::decode(raw, image)
                } else {
                    pack_yuyv(size, stride, raw, &mut self.1)
                        .and_then(|()| image.copy_raw(Encoding::RawYuyv, size.0, size.1, &self.1))
                };
                Ok(())
            })?;
            // Cameras damage a frame now and then; one that damages all of them is no use.
            match result {
                Ok(()) => return Ok(running.then_some(captured_at)),
                Err(error) if damaged >= DAMAGED => return Err(error),
                Err(_) => damaged += 1,
            }
        }
    }

    fn description(&self) -> String {
        describe(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_packed() {
        let mut out = vec![7];
        pack_rows(&[1, 2, 0, 3, 4], 3, 2, 2, &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4]);
        assert!(pack_rows(&[1, 2, 0, 3], 3, 2, 2, &mut out).is_err());
        pack_rows(&[1, 2, 3, 4], 0, 2, 2, &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4]);
    }
}
