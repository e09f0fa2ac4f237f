//! Serving monitors: requests on one thread, pictures on another. The recording knows neither of them.
//!
//! The thread of requests answers at once and never reads a file. What it has accepted goes through a bounded queue to the thread
//! of pictures, which reads recordings and writes to each monitor no more than its quota.

mod playback;
mod quota;
mod requests;
mod session;

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use dunlin::DomainParticipant;
use dunlin_program::Stop;
pub use playback::Files;
pub use quota::Quota;

use crate::messages::Recorded;

/// Accepted requests that wait for the thread of pictures.
const QUEUE: usize = 64;

/// What the thread of pictures is to do.
#[derive(Debug)]
enum Order {
    Play { monitor: String, session: u32, camera: String, from: i64, speed: f64 },
    Renew { monitor: String, session: u32 },
    Stop { monitor: String, session: u32 },
}

/// What both threads know.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    recorded: Vec<Recorded>,
    /// The session of each monitor that has one.
    sessions: BTreeMap<String, u32>,
    counts: Counts,
}

/// What was asked and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Requests that were answered.
    pub requests: u64,
    /// Of them, answered "busy".
    pub busy: u64,
    /// Pictures that were sent.
    pub pictures: u64,
    /// Octets of them.
    pub octets: u64,
    /// Pictures that had to wait for the quota of their monitor.
    pub held_up: u64,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A service that runs until it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    stop: Stop,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Serves the recordings of a topic that `files` names, in the domain of a participant.
    ///
    /// # Errors
    /// When endpoints cannot be made or the system gives no thread.
    pub fn start(
        participant: &DomainParticipant,
        topic: &str,
        quota: Quota,
        files: impl Files + 'static,
    ) -> Result<Self> {
        let (shared, stop) = (Arc::<Shared>::default(), Stop::default());
        let (sender, orders) = sync_channel(QUEUE);
        let mut requests = requests::Requests::new(participant, Arc::clone(&shared), quota, sender)?;
        let mut playback = playback::Playback::new(participant, topic, Arc::clone(&shared), quota, orders)?;
        let mut server = Self { shared, stop, threads: Vec::new() };
        let stop = server.stop.clone();
        server.spawn("requests", move || requests.run(&stop))?;
        let stop = server.stop.clone();
        server.spawn("pictures", move || playback.run(&files, &stop))?;
        Ok(server)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        self.threads.push(thread.context("cannot start a thread")?);
        Ok(())
    }

    /// What was asked and sent so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.state().counts
    }

    /// Monitors that get pictures now.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.state().sessions.len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.set();
        for thread in self.threads.drain(..) {
            // One that has panicked has nothing to say.
            _ = thread.join();
        }
    }
}
