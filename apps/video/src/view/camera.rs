//! What is known of one camera.

use std::time::Instant;

use serde::Serialize;

use super::Received;
use super::follow::{Follow, Step};
use super::packet::Packet;
use crate::frame::Encoding;
use crate::stats::{Durations, Rate};

/// Frames of one group of pictures that are kept for a browser that comes later.
const MAX_GROUP: usize = 900;
/// Octets of them.
const MAX_GROUP_BYTES: usize = 32 << 20;

/// The statistics of one camera, for the page and for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CameraStatus {
    /// Name of the camera.
    pub id: String,
    /// Coding of its frames.
    pub encoding: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Frames received so far.
    pub received: u64,
    /// Frames lost so far.
    pub lost: u64,
    /// Frames per second.
    pub fps: f64,
    /// Bits per second.
    pub bitrate: f64,
    /// Median of capture to reception in the last second, in milliseconds.
    pub latency_p50: Option<f64>,
    /// The same, 99th percentile.
    pub latency_p99: Option<f64>,
    /// Frames came in the last second.
    pub live: bool,
}

/// One camera.
#[derive(Default)]
pub struct Camera {
    /// Which of its publishers is shown.
    pub follow: Follow,
    group: Vec<Packet>,
    group_bytes: usize,
    /// Coding of the last frame.
    pub encoding: Encoding,
    size: (u32, u32),
    received: u64,
    lost: u64,
    rate: Rate,
    recent: Durations,
    latency: Durations,
    /// Statistics of the last full second.
    pub status: CameraStatus,
}

impl Camera {
    /// Takes note of a frame; gives the packet for browsers if the frame is to be shown.
    pub fn on_frame(&mut self, received: &Received, now: Instant) -> Option<Packet> {
        let Received { frame, writer, received_at } = received;
        let step = self.follow.on_frame(*writer, frame, *received_at, now);
        let Step::Show { missing, history } = step else {
            return None;
        };
        self.received += 1;
        self.lost = self.lost.saturating_add(missing);
        self.rate.add(frame.payload.len());
        self.encoding = frame.encoding;
        self.size = (frame.width, frame.height);
        if !history {
            let latency = received_at.saturating_sub(frame.captured_at).max(0);
            self.recent.add(std::time::Duration::from_nanos(latency.unsigned_abs()));
        }
        let packet = Packet::new(frame, *received_at, history, now);
        self.remember(&packet);
        Some(packet)
    }

    /// What a browser that comes now needs before the next frame.
    #[must_use]
    pub fn group(&self) -> &[Packet] {
        &self.group
    }

    /// Octets of that.
    #[must_use]
    pub fn group_bytes(&self) -> usize {
        self.group_bytes
    }

    /// Keeps nothing for a browser that comes before the next key frame.
    pub fn forget_group(&mut self) {
        self.group = Vec::new();
        self.group_bytes = 0;
    }

    fn remember(&mut self, packet: &Packet) {
        let too_much =
            self.group.len() >= MAX_GROUP || self.group_bytes + packet.message.len() > MAX_GROUP_BYTES;
        if packet.key || too_much {
            self.group.clear();
            self.group_bytes = 0;
        }
        if packet.key || !self.group.is_empty() {
            self.group_bytes += packet.message.len();
            self.group.push(packet.clone());
        }
    }

    /// Ends a second of statistics.
    pub fn tick(&mut self, id: &str, now: Instant) {
        self.rate.tick(now);
        let percentile = |percent| (self.recent.count() > 0).then(|| self.recent.percentile_ms(percent));
        self.status = CameraStatus {
            id: id.to_owned(),
            encoding: self.encoding.name().to_owned(),
            width: self.size.0,
            height: self.size.1,
            received: self.received,
            lost: self.lost,
            fps: self.rate.frames_per_second,
            bitrate: self.rate.bits_per_second,
            latency_p50: percentile(50.0),
            latency_p99: percentile(99.0),
            live: self.rate.frames_per_second > 0.0,
        };
        self.latency.merge(&self.recent);
        self.recent.clear();
    }

    /// Frames received and lost so far.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.received, self.lost)
    }

    /// Adds all latencies so far to `total`.
    pub fn add_latencies(&self, total: &mut Durations) {
        total.merge(&self.latency);
        total.merge(&self.recent);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::frame::Frame;
    use crate::view::WriterId;

    fn received(number: u64, key: bool) -> Received {
        let captured_at = 1_000_000_000 + number as i64 * 40_000_000;
        let frame = Frame {
            camera_id: "front".to_owned(),
            number,
            captured_at,
            encoding: Encoding::H264,
            width: 64,
            height: 48,
            key,
            payload: vec![0; 1000],
        };
        Received { frame, writer: WriterId([1; 16]), received_at: captured_at + 5_000_000 }
    }

    #[test]
    fn the_group_begins_with_the_last_key_frame() {
        let mut camera = Camera::default();
        let now = Instant::now();
        for number in 0..10 {
            camera.on_frame(&received(number, number == 3), now);
        }
        assert_eq!(camera.group().len(), 7);
        assert!(camera.group()[0].key);
        camera.on_frame(&received(10, true), now);
        assert_eq!(camera.group().len(), 1);
        for number in 11..2000 {
            camera.on_frame(&received(number, false), now);
        }
        assert!(camera.group().is_empty(), "a group too long to keep is not kept in part");
    }

    #[test]
    fn a_second_is_summed_up() {
        let mut camera = Camera::default();
        let now = Instant::now();
        camera.tick("front", now);
        assert!(!camera.status.live);
        for number in (0..30).filter(|n| *n != 7) {
            camera.on_frame(&received(number, true), now);
        }
        camera.tick("front", now + Duration::from_secs(1));
        let status = &camera.status;
        assert_eq!((status.received, status.lost, status.width, status.live), (29, 1, 64, true));
        assert!((status.fps - 29.0).abs() < 0.01 && (status.bitrate - 232_000.0).abs() < 10.0);
        assert!((status.latency_p50.unwrap() - 5.0).abs() < 0.01);
        let mut total = Durations::new();
        camera.add_latencies(&mut total);
        assert_eq!(total.count(), 28, "the first frame was captured before this viewer came");
    }
}
