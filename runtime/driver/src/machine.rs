//! Machines that are not the real one, for simulation: a clock, sockets and a way to wait, all of somebody else's.
//!
//! Whoever runs such a machine says with [`enter`] that the present thread does what happens there. A [`Session`]
//! joined meanwhile takes time, names and sockets from the machine and has no threads: what arrives and the timers are
//! handed to its [`Pump`] by the machine. Calls that block wait with [`Machine::wait`].
//!
//! [`Session`]: crate::Session

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Waker;

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, GuidPrefix, Locator, MonoTime, Now};
use dunlin_transport::Transport;

use crate::clock;
use crate::config::{DriverConfig, JoinError};

/// Work that a machine does on its own, when the call that began it has returned.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What sessions need of a machine that is not the real one.
pub trait Machine: Send + Sync {
    /// Both clocks.
    fn now(&self) -> Now;

    /// A name for a new participant, and entropy for it.
    fn identity(&self) -> (GuidPrefix, u64);

    /// Sockets for a new participant.
    ///
    /// # Errors
    /// When the configuration asks for what the machine does not have.
    fn open(&self, config: &DriverConfig) -> Result<Arc<dyn Sockets>, JoinError>;

    /// Keeps the present thread from running until a waker that it handed to `arm` is woken, and again until `arm` is
    /// true; false if `until` came first. `arm` registers the waker unless what is waited for has happened.
    fn wait(&self, arm: &mut dyn FnMut(&Waker) -> bool, until: MonoTime) -> bool;

    /// Wakes a task of the machine at some time.
    fn wake_at(&self, at: MonoTime, waker: &Waker);

    /// Runs a task.
    fn spawn(&self, task: Task);
}

/// The sockets of one participant on such a machine; they have no receiving threads.
pub trait Sockets: Transport {
    /// Where to hand what arrives, and what is to be called in time.
    fn attach(&self, pump: Pump);

    /// The pump wants to be called at this time at the latest.
    fn wake_by(&self, deadline: MonoTime);
}

/// A receive group without threads.
pub(crate) trait Pumped: Send + Sync {
    fn receive(&self, from: Locator, packet: &SharedBytes);
    fn next_turn(&self) -> MonoTime;
    fn run_timers(&self);
}

/// What library threads do on a real machine, to be called instead of them. Listeners run within these calls.
#[derive(Clone)]
pub struct Pump {
    group: Weak<dyn Pumped>,
}

impl Pump {
    pub(crate) fn of(group: &Arc<impl Pumped + 'static>) -> Self {
        let group = Arc::downgrade(group);
        Self { group }
    }

    /// A datagram has arrived.
    pub fn receive(&self, from: Locator, packet: &SharedBytes) {
        if let Some(group) = self.group.upgrade() {
            group.receive(from, packet);
        }
    }

    /// When to call [`run_timers`](Self::run_timers).
    #[must_use]
    pub fn next_deadline(&self) -> MonoTime {
        self.group.upgrade().map_or(MonoTime::MAX, |group| group.next_turn())
    }

    /// Does what is due.
    pub fn run_timers(&self) {
        if let Some(group) = self.group.upgrade() {
            group.run_timers();
        }
    }
}

/// Why the present thread cannot wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CannotWait {
    /// It runs a listener, and what it would wait for may have to arrive on this very thread.
    Listener,
    /// It runs a task of a simulated machine, and all the others have to run on this very thread.
    Task,
    /// It runs a simulation, in which nothing happens meanwhile.
    Simulation,
}

impl fmt::Display for CannotWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Listener => "a listener cannot wait: hand this to a thread of your own",
            Self::Task => {
                "a task of the simulator cannot block: await the async variant, or run this with Node::spawn_thread"
            }
            Self::Simulation => {
                "this thread runs the simulation, where nothing happens while it waits: wait in a task or thread of \
                 a node, or use Sim::run_until"
            }
        })
    }
}

struct Place {
    machine: Arc<dyn Machine>,
    waits: bool,
}

impl std::error::Error for CannotWait {}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
    static SIMULATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Ends what [`enter`] began.
pub struct Entered {
    before: Option<Place>,
    same_thread: PhantomData<*const ()>,
}

/// The present thread does what happens on `machine`, until the guard is dropped. `waits` says whether it may call
/// [`Machine::wait`].
#[must_use]
pub fn enter(machine: Arc<dyn Machine>, waits: bool) -> Entered {
    let before = PLACE.with(|place| place.borrow_mut().replace(Place { machine, waits }));
    Entered { before, same_thread: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        let entered = PLACE.try_with(|place| std::mem::replace(&mut *place.borrow_mut(), before));
        drop(entered);
    }
}

/// Ends what [`run_simulation`] began.
pub struct Running(PhantomData<*const ()>);

/// The present thread runs a simulation until the guard is dropped: outside of its machines it must not wait, nor join
/// a domain.
#[must_use]
pub fn run_simulation() -> Running {
    SIMULATIONS.set(SIMULATIONS.get() + 1);
    Running(PhantomData)
}

impl Drop for Running {
    fn drop(&mut self) {
        SIMULATIONS.set(SIMULATIONS.get() - 1);
    }
}

/// The machine that the present thread has entered.
#[must_use]
pub fn entered() -> Option<Arc<dyn Machine>> {
    PLACE.try_with(|place| place.borrow().as_ref().map(|place| Arc::clone(&place.machine))).ok().flatten()
}

/// Why the machine refuses that this thread waits, if it does.
pub(crate) fn cannot_wait() -> Option<CannotWait> {
    let may = PLACE.try_with(|place| place.borrow().as_ref().map(|place| place.waits)).ok().flatten();
    match may {
        Some(true) => None,
        Some(false) => Some(CannotWait::Task),
        None => outside_of_machines().then_some(CannotWait::Simulation),
    }
}

/// True if this thread runs a simulation but has entered none of its machines.
pub(crate) fn outside_of_machines() -> bool {
    SIMULATIONS.try_with(Cell::get).unwrap_or_default() > 0 && entered().is_none()
}

/// Waits as the machine does that the present thread has entered, see [`Machine::wait`]; `None` on the real one.
pub fn wait(arm: &mut dyn FnMut(&Waker) -> bool, until: MonoTime) -> Option<bool> {
    entered().map(|machine| machine.wait(arm, until))
}

/// The monotonic clock of the machine that the present thread has entered, or the real one.
#[must_use]
pub fn mono() -> MonoTime {
    entered().map_or_else(clock::mono, |machine| machine.now().mono)
}

/// When a time-out that begins now is over.
#[must_use]
pub fn deadline(timeout: Duration) -> MonoTime {
    mono().plus(timeout)
}
