//! One participant of a group.

use crate::EventSink;
use dunlin_buf::BufPool;
use dunlin_core::MonoTime;
use dunlin_engine::Participant;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Octets of buffers kept for datagrams inside the participant.
const LOCAL_BUFFERS: usize = 1 << 20;

pub(crate) struct Member {
    pub participant: Participant,
    pub sink: Arc<dyn EventSink>,
    /// Raised whenever some writer has room again.
    space: Mutex<u64>,
    space_freed: Condvar,
    /// For datagrams to the participant itself.
    pub local: Mutex<BufPool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Member {
    pub fn new(participant: Participant, sink: Arc<dyn EventSink>) -> Self {
        Self {
            participant,
            sink,
            space: Mutex::new(0),
            space_freed: Condvar::new(),
            local: Mutex::new(BufPool::new(LOCAL_BUFFERS)),
        }
    }

    /// Counts how often room was made; look before trying, then wait for a change.
    pub fn space_generation(&self) -> u64 {
        *lock(&self.space)
    }

    pub fn raise_space(&self) {
        let mut generation = lock(&self.space);
        *generation = generation.wrapping_add(1);
        drop(generation);
        self.space_freed.notify_all();
    }

    /// Waits until room was made since `seen`; false when `until` came first.
    pub fn wait_for_space(&self, seen: u64, until: MonoTime) -> bool {
        let mut generation = lock(&self.space);
        while *generation == seen {
            let left = until.since(crate::clock::now().mono);
            let left = left.to_std().unwrap_or(Duration::from_secs(3600));
            if left.is_zero() {
                return false;
            }
            generation = self.space_freed.wait_timeout(generation, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}
