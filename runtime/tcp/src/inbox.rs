//! What has arrived and waits for the threads that receive.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin_buf::SharedBytes;
use dunlin_core::Locator;
use dunlin_transport::{Channel, RecvMode, closed};

/// Octets that may wait on one channel.
pub(crate) const ROOM: usize = 4 << 20;
/// What a message costs besides its octets.
const OVERHEAD: usize = 128;
/// Messages that are handed over at a time.
const BATCH: usize = 64;

/// A message with the channel that its logical port belongs to.
pub(crate) type Arrived = (Channel, SharedBytes);

#[derive(Default)]
struct Queue {
    messages: VecDeque<(SharedBytes, Locator)>,
    octets: usize,
}

#[derive(Default)]
struct State {
    meta: Queue,
    data: Queue,
    closed: bool,
    /// Threads that wait for a channel, and for any: ringing a bell that nobody hears costs a system call.
    meta_waits: usize,
    data_waits: usize,
    any_waits: usize,
    /// Somebody has messages for which there was no room.
    awaited: bool,
}

impl State {
    fn queue(&mut self, channel: Channel) -> &mut Queue {
        if channel == Channel::Meta { &mut self.meta } else { &mut self.data }
    }

    fn waits(&mut self, channel: Channel) -> &mut usize {
        if channel == Channel::Meta { &mut self.meta_waits } else { &mut self.data_waits }
    }
}

/// A queue for each channel.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    meta: Condvar,
    data: Condvar,
    any: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bell(&self, channel: Channel) -> &Condvar {
        if channel == Channel::Meta { &self.meta } else { &self.data }
    }

    /// Takes messages from the front as long as there is room for them. What is left has to be offered again.
    pub(crate) fn offer(&self, messages: &mut VecDeque<Arrived>, from: Locator) {
        let (mut meta, mut data) = (false, false);
        let mut state = self.lock();
        while let Some((channel, bytes)) = messages.front() {
            let queue = state.queue(*channel);
            if queue.octets >= ROOM {
                state.awaited = true;
                break;
            }
            queue.octets += bytes.len() + OVERHEAD;
            *(if *channel == Channel::Meta { &mut meta } else { &mut data }) = true;
            if let Some((channel, bytes)) = messages.pop_front() {
                state.queue(channel).messages.push_back((bytes, from));
            }
        }
        let (meta, data, any) = (
            meta && state.meta_waits > 0,
            data && state.data_waits > 0,
            (meta || data) && state.any_waits > 0,
        );
        drop(state);
        if meta {
            self.meta.notify_one();
        }
        if data {
            self.data.notify_one();
        }
        if any {
            self.any.notify_all();
        }
    }

    /// Appends what has arrived, as [`dunlin_transport::Transport::recv`] says; true if somebody waits for room that is there
    /// now.
    pub(crate) fn take(
        &self,
        channel: Channel,
        mode: RecvMode,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<bool> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return Err(closed());
            }
            let queue = state.queue(channel);
            if !queue.messages.is_empty() {
                let count = queue.messages.len().min(BATCH);
                for message in queue.messages.drain(..count) {
                    queue.octets = queue.octets.saturating_sub(message.0.len() + OVERHEAD);
                    out.push(message);
                }
                let room = queue.octets < ROOM / 2;
                return Ok(room && std::mem::take(&mut state.awaited));
            }
            if mode == RecvMode::NonBlocking {
                return Ok(false);
            }
            *state.waits(channel) += 1;
            state = self.bell(channel).wait(state).unwrap_or_else(PoisonError::into_inner);
            *state.waits(channel) -= 1;
        }
    }

    /// Waits until one of the channels has something, or `patience` is over.
    pub(crate) fn wait(
        &self,
        channels: &[Channel],
        ready: &mut Vec<Channel>,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut state = self.lock();
        loop {
            if state.closed {
                return Err(closed());
            }
            let before = ready.len();
            ready.extend(
                channels.iter().copied().filter(|channel| !state.queue(*channel).messages.is_empty()),
            );
            if ready.len() > before {
                return Ok(());
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(());
            }
            state.any_waits += 1;
            state = match left {
                Some(left) => self.any.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.any.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.any_waits -= 1;
        }
    }

    /// Whether there is no user data to take, and nobody has closed it.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.data.messages.is_empty() && !state.closed
    }

    /// Wakes all who wait, and refuses from now on.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        [&self.meta, &self.data, &self.any].into_iter().for_each(Condvar::notify_all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_and_comes_back() {
        let inbox = Inbox::default();
        let bytes = SharedBytes::from(vec![0; 60_000]);
        let mut messages: VecDeque<Arrived> = (0..100).map(|_| (Channel::Data, bytes.clone())).collect();
        messages.push_back((Channel::Meta, bytes.clone()));
        inbox.offer(&mut messages, Locator::INVALID);
        let left = messages.len();
        assert!((25..40).contains(&left), "{left}");
        let mut out = vec![];
        assert!(inbox.take(Channel::Data, RecvMode::NonBlocking, &mut out).unwrap(), "somebody waits");
        assert!(!inbox.take(Channel::Data, RecvMode::NonBlocking, &mut out).unwrap());
        assert!(!inbox.take(Channel::Meta, RecvMode::NonBlocking, &mut out).unwrap());
        assert_eq!(out.len(), 101 - left);
        inbox.offer(&mut messages, Locator::INVALID);
        assert!(messages.is_empty());
    }
}
