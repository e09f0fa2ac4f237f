//! What a publisher has done: one line per frame in a file, and totals at the end.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::frame::Frame;
use crate::process;
use crate::stats::{Durations, human_bits};

/// One line per frame: number, capture time, beginning and duration of the write, octets, key frame or not.
pub struct FrameLog(BufWriter<File>);

impl FrameLog {
    /// Makes the file, or empties it.
    ///
    /// # Errors
    /// When that fails.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let mut out = BufWriter::with_capacity(8192, file);
        writeln!(out, "frame,captured_ns,write_start_ns,write_ns,bytes,key")?;
        Ok(Self(out))
    }

    /// Adds the line of one frame.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, frame: &Frame, start_ns: i64, took: Duration) -> Result<()> {
        let Frame { number, captured_at, key, payload, .. } = frame;
        let (bytes, key) = (payload.len(), u8::from(*key));
        writeln!(self.0, "{number},{captured_at},{start_ns},{},{bytes},{key}", took.as_nanos())
            .context("cannot write the log of frames")
    }

    /// Writes out what is still in memory.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.0.flush().context("cannot write the log of frames")
    }
}

/// Totals of a publisher.
pub struct Totals {
    started: Instant,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Frames written.
    pub frames: u64,
    /// Octets of their payloads.
    pub bytes: u64,
    /// Frames the source gave but the writer was not ready for.
    pub dropped: u64,
    /// Frames the source did not capture.
    pub missed: u64,
    write_times: Durations,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            first: None,
            last: None,
            frames: 0,
            bytes: 0,
            dropped: 0,
            missed: 0,
            write_times: Durations::new(),
        }
    }
}

impl Totals {
    /// Counts one written frame.
    pub fn add(&mut self, bytes: usize, started: Instant, took: Duration) {
        self.first.get_or_insert(started);
        self.last = Some(started + took);
        self.frames += 1;
        self.bytes += bytes as u64;
        self.write_times.add(took);
    }

    fn seconds(&self) -> f64 {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.duration_since(first).as_secs_f64().max(1e-6),
            _ => 1e-6,
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, bytes, dropped, missed, write_times, .. } = self;
        // The first frame begins the time that the others take.
        let seconds = self.seconds();
        let rate = if *frames > 1 { (*frames - 1) as f64 / seconds } else { 0.0 };
        let bits = if *frames > 0 { *bytes as f64 * 8.0 * rate / *frames as f64 } else { 0.0 };
        let cost = process::cost();
        let share = cost.cpu_seconds / self.started.elapsed().as_secs_f64().max(1e-6) * 100.0;
        writeln!(
            f,
            "published {frames} frames, {bytes} bytes in {seconds:.2} s: {rate:.2} frames/s, {}; \
             dropped {dropped}, missed {missed}",
            human_bits(bits)
        )?;
        write!(
            f,
            "write time p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms; CPU {:.2} s ({share:.1} %); \
             RSS {:.1} MB, peak {:.1} MB",
            write_times.percentile_ms(50.0),
            write_times.percentile_ms(99.0),
            write_times.max_ms(),
            cost.cpu_seconds,
            cost.rss as f64 / 1e6,
            cost.rss_peak as f64 / 1e6,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_one_line_per_frame() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.csv");
        let mut log = FrameLog::create(&path).unwrap();
        let frame = Frame { number: 7, captured_at: 5, key: true, payload: vec![0; 9], ..Frame::default() };
        log.add(&frame, 6, Duration::from_nanos(42)).unwrap();
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "frame,captured_ns,write_start_ns,write_ns,bytes,key\n7,5,6,42,9,1\n");
        assert!(FrameLog::create(folder.path()).is_err());
    }

    #[test]
    fn totals_are_printed_in_two_lines() {
        let mut totals = Totals::default();
        assert!(totals.to_string().starts_with("published 0 frames"));
        let start = Instant::now();
        for i in 0..11 {
            totals.add(1000, start + Duration::from_millis(100 * i), Duration::ZERO);
        }
        totals.dropped = 3;
        let text = totals.to_string();
        let expected =
            "published 11 frames, 11000 bytes in 1.00 s: 10.00 frames/s, 80 kbit/s; dropped 3, missed 0\n";
        assert!(text.starts_with(expected), "{text}");
    }
}
