//! The bounded queue of one client: whoever is slow misses frames, and nobody waits for it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::packet::Packet;

/// Frames that wait at most when each stands alone: only new ones are worth showing.
const MAX_INTRA: usize = 3;
/// Frames that wait at most when they build on each other: room for a long group of pictures that arrives at once.
const MAX_FRAMES: usize = 900;
/// Octets that wait at most.
const MAX_BYTES: usize = 32 << 20;
/// How long a frame waits at most.
const MAX_AGE: Duration = Duration::from_secs(3);

/// A queue with one consumer, a task or a thread.
#[derive(Default)]
pub struct PacketQueue {
    state: Mutex<State>,
    task: Notify,
    thread: Condvar,
}

#[derive(Default)]
struct State {
    packets: VecDeque<Packet>,
    bytes: usize,
    skipped: u64,
    /// The consumer has seen no key frame yet, or misses frames since: only a key frame helps.
    started: bool,
    closed: bool,
}

impl State {
    fn overflows(&self, next: &Packet) -> bool {
        let limit = if next.encoding.intra_only() { MAX_INTRA } else { MAX_FRAMES };
        self.packets.len() >= limit
            || self.bytes + next.message.len() > MAX_BYTES
            || self.packets.front().is_some_and(|first| stale(first, next.since))
    }

    /// Drops everything before the last key frame that is not too old, or everything if there is none.
    fn shorten(&mut self, now: Instant) {
        let fresh_key = |packet: &Packet| packet.key && !stale(packet, now);
        let keep_from = self.packets.iter().rposition(fresh_key).filter(|&at| at > 0);
        let dropped = keep_from.unwrap_or(self.packets.len());
        self.started = keep_from.is_some();
        for packet in self.packets.drain(..dropped) {
            self.bytes -= packet.message.len();
            self.skipped += 1;
        }
    }
}

fn stale(packet: &Packet, now: Instant) -> bool {
    now.saturating_duration_since(packet.since) > MAX_AGE
}

impl PacketQueue {
    /// Adds a frame; when the consumer is too slow, older ones are dropped up to the next key frame.
    pub fn push(&self, packet: Packet) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        if state.overflows(&packet) {
            if packet.key {
                // A fresh start is better than anything older.
                state.skipped += state.packets.len() as u64;
                state.packets.clear();
                state.bytes = 0;
            } else {
                state.shorten(packet.since);
            }
        }
        if packet.key {
            state.started = true;
        }
        if !state.started {
            state.skipped += 1;
            return;
        }
        state.bytes += packet.message.len();
        state.packets.push_back(packet);
        drop(state);
        self.task.notify_one();
        self.thread.notify_one();
    }

    /// The next frame, waited for by a task.
    pub async fn next(&self) -> Packet {
        loop {
            if let Some(packet) = self.try_pop() {
                return packet;
            }
            self.task.notified().await;
        }
    }

    /// The next frame, waited for by a thread up to `timeout`.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Packet> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        while state.packets.is_empty() && !state.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (state, _) = self.thread.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.try_pop()
    }

    /// The next frame if there is one.
    #[must_use]
    pub fn try_pop(&self) -> Option<Packet> {
        let mut state = self.lock();
        let packet = state.packets.pop_front()?;
        state.bytes -= packet.message.len();
        Some(packet)
    }

    /// Whether no frame waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().packets.is_empty()
    }

    /// Frames that the consumer missed because it was slow, or because it came between two key frames.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.lock().skipped
    }

    /// Takes no more frames.
    pub fn close(&self) {
        self.lock().closed = true;
        self.thread.notify_all();
    }

    /// Whether [`PacketQueue::close`] was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Encoding, Frame};

    fn packet(number: u64, key: bool, encoding: Encoding, since: Instant) -> Packet {
        let frame = Frame { number, key, encoding, payload: vec![0; 10], ..Frame::default() };
        Packet::new(&frame, 0, false, since)
    }

    fn numbers(queue: &PacketQueue) -> Vec<u64> {
        let number = |packet: Packet| u64::from_le_bytes(packet.message[8..16].try_into().unwrap());
        std::iter::from_fn(|| queue.try_pop()).map(number).collect()
    }

    #[test]
    fn the_first_frame_is_a_key_frame() {
        let queue = PacketQueue::default();
        let now = Instant::now();
        for number in 0..5 {
            queue.push(packet(number, number == 2, Encoding::H264, now));
        }
        assert_eq!((numbers(&queue), queue.skipped()), (vec![2, 3, 4], 2));
    }

    #[test]
    fn a_slow_client_misses_up_to_the_next_key_frame() {
        let queue = PacketQueue::default();
        let now = Instant::now();
        let late = now + MAX_AGE + Duration::from_millis(1);
        for number in 0..10 {
            queue.push(packet(number, number == 0, Encoding::H264, now));
        }
        queue.push(packet(10, false, Encoding::H264, late));
        queue.push(packet(11, false, Encoding::H264, late));
        assert!(queue.is_empty());
        queue.push(packet(12, true, Encoding::H264, late));
        queue.push(packet(13, false, Encoding::H264, late));
        assert_eq!((numbers(&queue), queue.skipped()), (vec![12, 13], 12));
    }

    #[test]
    fn a_key_frame_that_waits_is_where_it_goes_on() {
        let queue = PacketQueue::default();
        let now = Instant::now();
        for number in 0..10 {
            let since = now + Duration::from_millis(100 * number);
            queue.push(packet(number, number % 6 == 0, Encoding::H264, since));
        }
        queue.push(packet(10, false, Encoding::H264, now + MAX_AGE + Duration::from_millis(1)));
        assert_eq!((numbers(&queue), queue.skipped()), (vec![6, 7, 8, 9, 10], 6));
    }

    #[test]
    fn memory_is_bounded() {
        let queue = PacketQueue::default();
        let now = Instant::now();
        for number in 0..5000 {
            queue.push(packet(number, number == 0, Encoding::H264, now));
        }
        assert!(queue.lock().packets.len() <= MAX_FRAMES);
        for number in 0..100 {
            queue.push(packet(number, true, Encoding::Mjpeg, now));
        }
        assert!(queue.lock().packets.len() <= MAX_INTRA);
        let state = queue.lock();
        assert_eq!(state.bytes, state.packets.iter().map(|p| p.message.len()).sum::<usize>());
        drop(state);
        assert_eq!(numbers(&queue).last(), Some(&99), "the newest is kept");
    }

    #[test]
    fn a_thread_can_wait() {
        let queue = PacketQueue::default();
        assert!(queue.wait(Duration::ZERO).is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.wait(Duration::from_secs(3600)));
            queue.push(packet(1, true, Encoding::Mjpeg, Instant::now()));
            assert!(waiting.join().unwrap().is_some());
        });
        queue.close();
        queue.push(packet(2, true, Encoding::Mjpeg, Instant::now()));
        assert!(queue.wait(Duration::from_secs(3600)).is_none());
    }
}
