//! Which publisher of a camera is shown, and what was lost of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::WriterId;
use crate::frame::Frame;
use crate::stats::LossCounter;

/// A publisher silent for so long gives way to an older one of the same camera.
const SILENCE: Duration = Duration::from_secs(1);
/// For so long after the first frame of a publisher, frames from before count as kept for late viewers.
const HISTORY_NS: i64 = 15_000_000_000;
/// Publishers of one camera that are remembered.
const MAX_WRITERS: usize = 32;

/// What to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another publisher of the same camera is shown.
    Ignore,
    /// Show it.
    Show {
        /// Frames lost before it.
        missing: u64,
        /// Captured before this viewer came: it tells nothing about latency.
        history: bool,
    },
}

struct Writer {
    /// When it was first seen, counted in writers.
    order: u64,
    joined_at: i64,
    last: Instant,
    loss: LossCounter,
}

/// Follows the newest publisher of one camera: after a restart the new one is shown at once, and of two at the
/// same time the picture does not jump to and fro.
#[derive(Default)]
pub struct Follow {
    writers: BTreeMap<WriterId, Writer>,
    current: Option<WriterId>,
    seen: u64,
}

impl Follow {
    /// Takes note of a frame of `writer`, received at `now`, `received_at` by the wall clock.
    pub fn on_frame(&mut self, writer: WriterId, frame: &Frame, received_at: i64, now: Instant) -> Step {
        if !self.writers.contains_key(&writer) {
            self.forget_oldest();
            self.seen += 1;
        }
        let seen = self.seen;
        let entry = self.writers.entry(writer).or_insert_with(|| Writer {
            order: seen,
            joined_at: received_at,
            last: now,
            loss: LossCounter::default(),
        });
        entry.last = now;
        let missing = entry.loss.on_frame(frame.number);
        let since_joined = received_at.saturating_sub(entry.joined_at);
        let history = frame.captured_at < entry.joined_at && since_joined < HISTORY_NS;
        let order = entry.order;
        if self.current != Some(writer) {
            if !self.gives_way_to(order, now) {
                return Step::Ignore;
            }
            self.current = Some(writer);
        }
        Step::Show { missing, history }
    }

    /// The publisher that is shown.
    #[must_use]
    pub fn current(&self) -> Option<WriterId> {
        self.current
    }

    fn gives_way_to(&self, order: u64, now: Instant) -> bool {
        let current = self.current.and_then(|current| self.writers.get(&current));
        current.is_none_or(|current| {
            order > current.order || now.saturating_duration_since(current.last) > SILENCE
        })
    }

    fn forget_oldest(&mut self) {
        if self.writers.len() >= MAX_WRITERS {
            let oldest = self.writers.iter().min_by_key(|(_, writer)| writer.last).map(|(id, _)| *id);
            if let Some(oldest) = oldest {
                self.writers.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: WriterId = WriterId([1; 16]);
    const NEW: WriterId = WriterId([0; 16]);

    fn frame(number: u64, captured_at: i64) -> Frame {
        Frame { number, captured_at, ..Frame::default() }
    }

    fn show(missing: u64) -> Step {
        Step::Show { missing, history: false }
    }

    #[test]
    fn a_restarted_publisher_takes_over_and_loses_nothing() {
        let mut follow = Follow::default();
        let now = Instant::now();
        assert_eq!(follow.on_frame(OLD, &frame(100, 0), 0, now), show(0));
        assert_eq!(follow.on_frame(OLD, &frame(103, 0), 0, now), show(2));
        assert_eq!(follow.on_frame(NEW, &frame(0, 0), 0, now), show(0));
        assert_eq!(follow.on_frame(OLD, &frame(104, 0), 0, now), Step::Ignore);
        assert_eq!(follow.on_frame(NEW, &frame(1, 0), 0, now), show(0));
        assert_eq!(follow.current(), Some(NEW));
    }

    #[test]
    fn an_older_publisher_returns_when_the_newer_is_silent() {
        let mut follow = Follow::default();
        let now = Instant::now();
        follow.on_frame(OLD, &frame(0, 0), 0, now);
        follow.on_frame(NEW, &frame(0, 0), 0, now);
        let later = now + SILENCE + Duration::from_millis(1);
        assert_eq!(follow.on_frame(OLD, &frame(1, 0), 0, now), Step::Ignore);
        assert_eq!(follow.on_frame(OLD, &frame(2, 0), 0, later), show(0));
        assert_eq!(follow.on_frame(NEW, &frame(1, 0), 0, later), show(0));
    }

    #[test]
    fn frames_kept_for_late_viewers_are_distinguished() {
        let mut follow = Follow::default();
        let now = Instant::now();
        let history = |step| matches!(step, Step::Show { history: true, .. });
        assert!(history(follow.on_frame(OLD, &frame(0, 100), 1000, now)));
        assert!(history(follow.on_frame(OLD, &frame(1, 900), 1001, now)));
        assert!(!history(follow.on_frame(OLD, &frame(2, 1000), 1002, now)));
        let skewed = frame(3, 500);
        assert!(!history(follow.on_frame(OLD, &skewed, 1000 + HISTORY_NS, now)), "a clock that is behind");
    }

    #[test]
    fn memory_is_bounded() {
        let mut follow = Follow::default();
        for i in 0..200_u8 {
            follow.on_frame(WriterId([i; 16]), &frame(0, 0), 0, Instant::now());
        }
        assert_eq!(follow.writers.len(), MAX_WRITERS);
    }
}
