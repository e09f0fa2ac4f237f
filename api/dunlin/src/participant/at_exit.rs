//! The end of the process: `main` returns or somebody calls `exit` while a listener runs, or while a static or a leaked value
//! holds handles. The others hear of it, and get what was written, as if the last handle had been dropped (RTPS 2.5
//! §8.5.3.2.2: a participant that leaves says so). Deleting is left to those who drop: no instance is unregistered.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, Once, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::mutex::lock;
use crate::participant::ParticipantInner;

/// How long listeners that run, and then readers that have not acknowledged everything, are waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the process stays at most, whatever a listener does.
const LONGEST: Duration = Duration::from_secs(3);
/// How often is looked whether listeners still run.
const LOOK: Duration = Duration::from_millis(1);

/// Participants of the real machine that have not left yet, with the processes that have made them.
static LIVE_PARTICIPANTS: Mutex<Vec<LiveParticipant>> = Mutex::new(Vec::new());
/// One of them has left.
static LEFT: Condvar = Condvar::new();
/// The last process to make a participant.
static PROCESS: AtomicU32 = AtomicU32::new(0);

struct LiveParticipant {
    number: u64,
    process: u32,
    participant: Weak<ParticipantInner>,
}

/// A participant that the end of the process waits for, until it has [left](Self::end).
#[derive(Debug)]
pub(crate) struct Presence(u64);

impl Presence {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Relaxed))
    }

    /// Whose presence it is.
    pub(crate) fn begin(&self, participant: Weak<ParticipantInner>) {
        static REGISTERED: Once = Once::new();
        // Without it participants that are dropped leave nevertheless. A child of fork inherits it.
        REGISTERED.call_once(|| _ = dunlin_udp::at_exit(on_exit));
        let process = std::process::id();
        PROCESS.store(process, Relaxed);
        lock(&LIVE_PARTICIPANTS).push(LiveParticipant { number: self.0, process, participant });
    }

    /// It has said goodbye, or never will.
    pub(crate) fn end(&self) {
        lock(&LIVE_PARTICIPANTS).retain(|live| live.number != self.0);
        LEFT.notify_all();
    }
}

/// Runs on the thread that ends the process, whose thread-local values may be gone: the work is done by others.
extern "C" fn on_exit() {
    // A child of fork has the participants, but neither their threads nor the right to speak for them.
    let process = std::process::id();
    if PROCESS.load(Relaxed) != process {
        return;
    }
    let own = dunlin_driver::listeners_here();
    let began = Instant::now();
    let is_here = |live: &&LiveParticipant| live.process == process;
    let here: Vec<_> =
        lock(&LIVE_PARTICIPANTS).iter().filter(is_here).map(|it| it.participant.clone()).collect();
    for participant in here {
        let work = move || end(&participant, own, began);
        if thread::Builder::new().name("dunlin-exit".into()).spawn(work).is_err() {
            return;
        }
    }
    let mut live = lock(&LIVE_PARTICIPANTS);
    while live.iter().any(|live| is_here(&live)) {
        let Some(left) = LONGEST.checked_sub(began.elapsed()) else { return };
        live = LEFT.wait_timeout(live, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Ends a participant that is still there when no listener runs any more.
fn end(participant: &Weak<ParticipantInner>, own: usize, began: Instant) {
    while dunlin_driver::listeners_anywhere() > own && began.elapsed() < PATIENCE {
        thread::park_timeout(LOOK);
    }
    // One that is being dropped elsewhere is waited for.
    if let Some(participant) = participant.upgrade() {
        participant.end(PATIENCE.into());
    }
}
