//! A receive group without threads: whoever calls [`Session::pump`](crate::Session::pump) does what they would do.

use std::sync::{Mutex, TryLockError};
use std::thread::park_timeout;
use std::time::Duration as StdDuration;

use dunlin_buf::{BufPool, SharedBytes};
use dunlin_core::{Duration, Locator, MonoTime};
use dunlin_transport::{Channel, Transport};
use thiserror::Error;

use crate::clock;
use crate::thread_port;

/// How often a transport is looked at that nobody can [wait](Transport::wait) for.
const LOOK: StdDuration = StdDuration::from_millis(1);
/// How long a call that waits for something pumps before it looks whether another thread has brought that about.
const SLICE: Duration = Duration::from_millis(10);

/// Why a participant was not pumped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum PumpError {
    /// Threads of the library do that.
    #[error("the participant has threads: create it without, or do not pump")]
    HasThreads,
    /// A listener pumps, which was called by whoever pumps already.
    #[error("a listener cannot pump: return from it")]
    InListener,
    /// Another thread does it at present.
    #[error("another thread pumps this participant")]
    InUse,
    /// The participant has left the domain.
    #[error("the participant has left the domain")]
    Left,
}

/// What a receiving thread and the timer thread keep for themselves.
pub(crate) struct Pumping {
    pub(crate) pool: BufPool,
    pub(crate) batch: Vec<(SharedBytes, Locator)>,
    pub(crate) housekeeping: Housekeeping,
}

impl Pumping {
    pub(crate) fn new(pool: BufPool) -> Self {
        Self { pool, batch: Vec::new(), housekeeping: Housekeeping { next: MonoTime(0), overflow: 0 } }
    }
}

/// What is done once in a while, beside the timers of participants.
pub(crate) struct Housekeeping {
    pub(crate) next: MonoTime,
    /// Datagrams lost in the sockets, as last told.
    pub(crate) overflow: u64,
}

/// A group that somebody can pump.
pub(crate) trait Pumpable {
    /// `None` if it has threads.
    fn pumping(&self) -> Option<&Mutex<Pumping>>;
    fn transport(&self) -> &dyn Transport;
    /// Hands what has arrived on all channels to every participant: whether there was something.
    fn take_what_arrived(&self, pumping: &mut Pumping) -> Result<bool, PumpError>;
    /// Does what is due.
    fn run_due(&self, housekeeping: &mut Housekeeping);
    /// When something will be due.
    fn next_due(&self) -> MonoTime;
}

/// Receives and does what is due until something has arrived: true; false if `until` came first. Both is looked at once at least.
pub(crate) fn pump(group: &impl Pumpable, until: MonoTime) -> Result<bool, PumpError> {
    let pumping = group.pumping().ok_or(PumpError::HasThreads)?;
    if thread_port::in_listener() {
        return Err(PumpError::InListener);
    }
    let mut pumping = match pumping.try_lock() {
        Ok(pumping) => pumping,
        Err(TryLockError::WouldBlock) => return Err(PumpError::InUse),
        Err(TryLockError::Poisoned(broken)) => broken.into_inner(),
    };
    thread_port::as_library(|| {
        loop {
            let arrived = group.take_what_arrived(&mut pumping)?;
            group.run_due(&mut pumping.housekeeping);
            let now = clock::mono();
            if arrived || now >= until {
                return Ok(arrived);
            }
            let due = until.min(group.next_due()).min(pumping.housekeeping.next);
            wait(group.transport(), due.since(now));
        }
    })
}

/// Pumps until `done`, or until another thread that pumps has brought that about; false if `until` came first. `None` if the present
/// thread cannot pump this group.
pub(crate) fn pump_until(
    group: &impl Pumpable,
    until: MonoTime,
    mut done: impl FnMut() -> bool,
) -> Option<bool> {
    // A simulated machine, whose time is another one, has threads in this sense.
    group.pumping()?;
    loop {
        if done() {
            return Some(true);
        }
        let now = clock::mono();
        if now >= until {
            return Some(false);
        }
        match pump(group, until.min(now.plus(SLICE))) {
            Ok(_) => {}
            Err(PumpError::InUse) => park_timeout(LOOK),
            Err(_) => return None,
        }
    }
}

/// Waits until something may have arrived, `patience` at most.
fn wait(transport: &dyn Transport, patience: Duration) {
    let patience = patience.to_std().unwrap_or(StdDuration::MAX);
    let watched = |channel: &Channel| !matches!(channel, Channel::DataShared | Channel::Added(_));
    if !transport.gathers() || !transport.channels().iter().all(watched) {
        return park_timeout(patience.min(LOOK));
    }
    if transport.wait(transport.channels(), &mut Vec::new(), Some(patience)).is_err() {
        // The next look tells it. A pause, so that a broken socket does not take a core.
        park_timeout(patience.min(LOOK));
    }
}
