//! What the program of a node asks the simulation for.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use dunlin_core::{DomainId, Duration, MonoTime, WallTime};
use dunlin_driver::machine::Machine;
use dunlin_driver::{CannotWait, cannot_wait};

use crate::error::CreateParticipantError;
use crate::participant::DomainParticipant;
use crate::sim::machine::NodeMachine;

/// The node that a task or thread belongs to: its clock, its chance, its participants. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(super) machine: Arc<NodeMachine>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context('{}')", self.machine.shared.name(self.machine.node))
    }
}

impl Context {
    pub(crate) fn new(machine: Arc<NodeMachine>) -> Self {
        Self { machine }
    }

    /// Joins `domain` on this node; in a task or thread of the node [`DomainParticipant::new`] does the same.
    ///
    /// # Errors
    /// As [`DomainParticipant::new`].
    pub fn participant(&self, domain: DomainId) -> Result<DomainParticipant, CreateParticipantError> {
        let _inside = self.machine.enter(false);
        DomainParticipant::new(domain)
    }

    /// The wall clock of the node, from which the source timestamps of its samples come.
    #[must_use]
    pub fn now(&self) -> WallTime {
        self.machine.now().wall
    }

    /// Virtual time since the simulation began, the same on all nodes.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.machine.shared.elapsed()
    }

    /// Sixty-four random bits, from the seed of the simulation.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.machine.shared.state().rng.next_u64()
    }

    /// Ends after so much virtual time. For tasks; threads use [`sleep_blocking`](Self::sleep_blocking).
    #[must_use = "a sleep does nothing unless it is awaited"]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        let machine = Arc::clone(&self.machine);
        Sleep { until: machine.clock().plus(duration), machine, waker: None }
    }

    /// What `future` gives, or an error after so much virtual time.
    ///
    /// # Errors
    /// [`Elapsed`].
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Result<F::Output, Elapsed> {
        let mut sleep = self.sleep(limit);
        let mut future = pin!(future);
        poll_fn(|context| {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                return Poll::Ready(Ok(value));
            }
            Pin::new(&mut sleep).poll(context).map(|()| Err(Elapsed(limit)))
        })
        .await
    }

    /// Blocks a thread of the node for so much virtual time.
    ///
    /// # Errors
    /// [`CannotWait`] when the caller is no such thread.
    pub fn sleep_blocking(&self, duration: Duration) -> Result<(), CannotWait> {
        check_thread()?;
        self.machine.wait(&mut |_| false, self.machine.clock().plus(duration));
        Ok(())
    }

    /// Blocks a thread of the node until a future is done.
    ///
    /// # Errors
    /// [`CannotWait`] when the caller is no such thread.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, CannotWait> {
        check_thread()?;
        let mut future = pin!(future);
        let mut output = None;
        let mut poll = |waker: &Waker| {
            let polled = future.as_mut().poll(&mut TaskContext::from_waker(waker));
            polled.map(|value| output = Some(value)).is_ready()
        };
        self.machine.wait(&mut poll, MonoTime::MAX);
        // It does not end without the output, unless the thread ends with its node.
        output.ok_or(CannotWait::Simulation)
    }
}

/// Only a thread of a node can wait, and it does so on its own machine.
fn check_thread() -> Result<(), CannotWait> {
    if let Some(why) = cannot_wait() {
        return Err(why);
    }
    dunlin_driver::machine::entered().map(drop).ok_or(CannotWait::Simulation)
}

/// Made by [`Context::sleep`].
pub struct Sleep {
    machine: Arc<NodeMachine>,
    until: MonoTime,
    waker: Option<Waker>,
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sleep({})", self.until.since(self.machine.clock()))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<()> {
        if self.machine.clock() >= self.until {
            return Poll::Ready(());
        }
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
            self.waker = Some(context.waker().clone());
            if self.until < MonoTime::MAX {
                self.machine.wake_at(self.until, context.waker());
            }
        }
        Poll::Pending
    }
}

/// The time of [`Context::timeout`] was over first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it took longer than {0}")]
pub struct Elapsed(
    /// The limit.
    pub Duration,
);
