//! The bounded hand-over from the capturing thread to the writing one, with buffers that go round.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::frame::Frame;

/// What became of a frame that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It will be written.
    Queued,
    /// It, or an older one in its place, was dropped because the writer is behind. When frames build on each other
    /// all are dropped until the next key frame, which the source should be asked for.
    Dropped,
    /// The writer has gone.
    Closed,
}

/// How frames are handed over.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Frames that may wait for the writer.
    pub capacity: usize,
    /// Buffers that exist; with fewer than two more than `capacity` the capturing thread waits for one.
    pub buffers: usize,
    /// Any frame may be dropped without harm to the others.
    pub intra_only: bool,
    /// The capturing thread waits for room, nothing is dropped.
    pub wait: bool,
}

/// A queue of frames between two threads.
pub struct HandOver {
    policy: Policy,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    ready: VecDeque<Frame>,
    free: Vec<Frame>,
    dropped: u64,
    until_key: bool,
    ended: bool,
    closed: bool,
}

impl HandOver {
    /// An empty queue; each buffer is a clone of `blank`.
    #[must_use]
    pub fn new(policy: Policy, blank: &Frame) -> Self {
        let state = State {
            ready: VecDeque::with_capacity(policy.capacity),
            free: vec![blank.clone(); policy.buffers.max(1)],
            dropped: 0,
            until_key: false,
            ended: false,
            closed: false,
        };
        Self { policy, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A frame to fill, with the buffer of an earlier one; `None` when the writer has gone.
    #[must_use]
    pub fn buffer(&self) -> Option<Frame> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(frame) = state.free.pop() {
                return Some(frame);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hands a frame over.
    pub fn push(&self, frame: Frame) -> Pushed {
        let mut state = self.lock();
        while self.policy.wait && state.ready.len() >= self.policy.capacity && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return Pushed::Closed;
        }
        let full = state.ready.len() >= self.policy.capacity;
        let result = if self.policy.intra_only {
            let oldest = if full { state.ready.pop_front() } else { None };
            state.free.extend(oldest);
            state.ready.push_back(frame);
            if full { Pushed::Dropped } else { Pushed::Queued }
        } else if full || (state.until_key && !frame.key) {
            state.until_key = true;
            state.free.push(frame);
            Pushed::Dropped
        } else {
            state.until_key = false;
            state.ready.push_back(frame);
            Pushed::Queued
        };
        state.dropped += u64::from(result == Pushed::Dropped);
        drop(state);
        self.changed.notify_all();
        result
    }

    /// The next frame to write; waits for it. `None` when the source has ended and all was taken.
    #[must_use]
    pub fn pop(&self) -> Option<Frame> {
        let mut state = self.lock();
        loop {
            if let Some(frame) = state.ready.pop_front() {
                drop(state);
                self.changed.notify_all();
                return Some(frame);
            }
            if state.ended || state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the buffer of a written frame back.
    pub fn recycle(&self, frame: Frame) {
        self.lock().free.push(frame);
        self.changed.notify_all();
    }

    /// The source has ended: what is queued is still to be written.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// The writer has gone: nobody waits any more.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Frames dropped so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(intra_only: bool) -> HandOver {
        let policy = Policy { capacity: 2, buffers: 4, intra_only, wait: false };
        HandOver::new(policy, &Frame::default())
    }

    fn push(queue: &HandOver, number: u64, key: bool) -> Pushed {
        let mut frame = queue.buffer().unwrap();
        (frame.number, frame.key) = (number, key);
        queue.push(frame)
    }

    fn rest(queue: &HandOver) -> Vec<u64> {
        queue.end();
        std::iter::from_fn(|| queue.pop()).map(|frame| frame.number).collect()
    }

    #[test]
    fn full_queue_drops_the_oldest_independent_frame() {
        let queue = queue(true);
        let pushed: Vec<_> = (0..5).map(|n| push(&queue, n, true)).collect();
        assert_eq!(pushed[1..3], [Pushed::Queued, Pushed::Dropped]);
        assert_eq!((rest(&queue), queue.dropped()), (vec![3, 4], 3));
    }

    #[test]
    fn full_queue_drops_dependent_frames_until_the_next_key_frame() {
        let queue = queue(false);
        assert_eq!(push(&queue, 0, true), Pushed::Queued);
        assert_eq!(push(&queue, 1, false), Pushed::Queued);
        assert_eq!(push(&queue, 2, false), Pushed::Dropped);
        queue.recycle(queue.pop().unwrap());
        assert_eq!(push(&queue, 3, false), Pushed::Dropped, "there is room, but 2 is missing");
        assert_eq!(push(&queue, 4, true), Pushed::Queued);
        assert_eq!((rest(&queue), queue.dropped()), (vec![1, 4], 2));
    }

    #[test]
    fn a_waiting_source_loses_nothing() {
        let policy = Policy { capacity: 1, buffers: 1, intra_only: true, wait: true };
        let queue = HandOver::new(policy, &Frame::default());
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..100 {
                    assert_eq!(push(&queue, number, true), Pushed::Queued);
                }
                queue.end();
            });
            let mut seen = Vec::new();
            while let Some(frame) = queue.pop() {
                seen.push(frame.number);
                queue.recycle(frame);
            }
            seen
        });
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
        assert_eq!(queue.dropped(), 0);
    }

    #[test]
    fn a_source_does_not_wait_for_an_ended_writer() {
        let policy = Policy { capacity: 1, buffers: 1, intra_only: true, wait: true };
        let queue = HandOver::new(policy, &Frame::default());
        let frame = queue.buffer().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.buffer());
            queue.close();
            assert!(waiting.join().unwrap().is_none());
        });
        assert_eq!(queue.push(frame), Pushed::Closed);
        assert!(queue.pop().is_none());
    }
}
