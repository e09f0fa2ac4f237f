//! Conditions and wait-sets (DDS 1.4 §2.2.2.1.6–2.2.2.1.9, §2.2.2.5.8).

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, PoisonError};
use std::task::Poll;

use dunlin_core::{Duration, InstanceHandle, ReturnCode};
use dunlin_driver::{CannotWait, machine};

use crate::event_descriptor::EventDescriptor;
use crate::signal::{Signal, WaitCore};
use crate::status::StatusMask;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Something a [`WaitSet`] can wait for.
#[derive(Clone)]
pub struct Condition(pub(crate) Arc<ConditionCore>);

pub(crate) struct ConditionCore {
    trigger: Box<dyn Fn() -> bool + Send + Sync>,
    /// What is raised when the trigger may have changed.
    signal: Arc<Signal>,
    deleted: AtomicBool,
}

impl Condition {
    pub(crate) fn new(signal: Arc<Signal>, trigger: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let deleted = AtomicBool::new(false);
        Self(Arc::new(ConditionCore { trigger: Box::new(trigger), signal, deleted }))
    }

    /// get_trigger_value; false once the condition was deleted.
    #[must_use]
    pub fn trigger_value(&self) -> bool {
        !self.is_deleted() && (self.0.trigger)()
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.0.deleted.load(Ordering::SeqCst)
    }

    /// Ends it although there are handles to it, and wait-sets that it is attached to; false if it had ended before.
    pub(crate) fn delete(&self) -> bool {
        let first = !self.0.deleted.swap(true, Ordering::SeqCst);
        self.0.signal.raise();
        first
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Condition {}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({})", self.trigger_value())
    }
}

/// A condition that the application sets and clears, so that one thread ends the wait of another.
///
/// Attach its [`condition`](Self::condition) to a [`WaitSet`], and call [`set_trigger_value`](Self::set_trigger_value) from any
/// thread. It stays true until it is set to false.
#[derive(Clone, Debug)]
pub struct GuardCondition {
    value: Arc<AtomicBool>,
    signal: Arc<Signal>,
    condition: Condition,
}

impl Default for GuardCondition {
    fn default() -> Self {
        Self::new()
    }
}

impl GuardCondition {
    /// A guard condition whose trigger value is false.
    #[must_use]
    pub fn new() -> Self {
        let value = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(Signal::default());
        let seen = Arc::clone(&value);
        let condition = Condition::new(Arc::clone(&signal), move || seen.load(Ordering::SeqCst));
        Self { value, signal, condition }
    }

    /// set_trigger_value.
    pub fn set_trigger_value(&self, value: bool) {
        // Ordered against the count of waiters that raising looks at.
        self.value.store(value, Ordering::SeqCst);
        if value {
            self.signal.raise();
        }
    }

    /// For [`WaitSet::attach_condition`].
    #[must_use]
    pub fn condition(&self) -> &Condition {
        &self.condition
    }
}

/// True while a status of its entity has changed and is enabled in the condition. There is one for each entity, which all
/// handles share; it ends with the entity: then it is false and in no wait-set.
#[derive(Clone)]
pub struct StatusCondition {
    enabled: Arc<Mutex<StatusMask>>,
    signal: Arc<Signal>,
    entity: Arc<dyn Fn() -> InstanceHandle + Send + Sync>,
    condition: Condition,
}

impl fmt::Debug for StatusCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StatusCondition({}, {:?})", self.condition.trigger_value(), self.enabled_statuses())
    }
}

impl StatusCondition {
    pub(crate) fn new(
        signal: Arc<Signal>,
        entity: impl Fn() -> InstanceHandle + Send + Sync + 'static,
        changes: impl Fn() -> StatusMask + Send + Sync + 'static,
    ) -> Self {
        let enabled = Arc::new(Mutex::new(StatusMask::ALL));
        let mask = Arc::clone(&enabled);
        let condition = Condition::new(Arc::clone(&signal), move || {
            changes().intersects(*mask.lock().unwrap_or_else(PoisonError::into_inner))
        });
        Self { enabled, signal, entity: Arc::new(entity), condition }
    }

    /// Ends it with its entity.
    pub(crate) fn delete(&self) {
        self.condition.delete();
    }

    /// get_entity: the handle of the entity; [`InstanceHandle::NIL`] of a writer or reader that is disabled or gone.
    #[must_use]
    pub fn entity(&self) -> InstanceHandle {
        (self.entity)()
    }

    /// set_enabled_statuses; all are enabled at first.
    pub fn set_enabled_statuses(&self, mask: StatusMask) {
        *self.enabled.lock().unwrap_or_else(PoisonError::into_inner) = mask;
        self.signal.raise();
    }

    /// get_enabled_statuses.
    #[must_use]
    pub fn enabled_statuses(&self) -> StatusMask {
        *self.enabled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For [`WaitSet::attach_condition`].
    #[must_use]
    pub fn condition(&self) -> &Condition {
        &self.condition
    }
}

/// Why a wait-set operation failed.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// Nothing happened within the time given.
    #[error("no condition became true in time")]
    Timeout,
    /// Another thread waits on this wait-set already.
    #[error("another thread is waiting on this wait-set")]
    AlreadyWaiting,
    /// What would be waited for may have to arrive on this very thread.
    #[error("{}", CannotWait::Listener)]
    InListener,
    /// The task runs in the simulator, on the thread that has to run all others meanwhile.
    #[error("{}", CannotWait::Task)]
    InTask,
    /// The thread runs a simulation.
    #[error("{}", CannotWait::Simulation)]
    InSimulation,
    /// The condition to detach is not attached.
    #[error("the condition is not attached to this wait-set")]
    NotAttached,
}

crate::sentence::debug_is_sentence!(WaitError);

impl WaitError {
    /// The DDS return code.
    #[must_use]
    pub const fn return_code(self) -> ReturnCode {
        match self {
            Self::Timeout => ReturnCode::Timeout,
            Self::AlreadyWaiting
            | Self::InListener
            | Self::InTask
            | Self::InSimulation
            | Self::NotAttached => ReturnCode::PreconditionNotMet,
        }
    }
}

impl From<CannotWait> for WaitError {
    fn from(why: CannotWait) -> Self {
        match why {
            CannotWait::Listener => Self::InListener,
            CannotWait::Task => Self::InTask,
            CannotWait::Simulation => Self::InSimulation,
        }
    }
}

/// Blocks a thread until one of several conditions is true.
///
/// The order of calls: [`attach_condition`](Self::attach_condition) once for each condition; then, in a loop,
/// [`wait`](Self::wait), and take the samples or read the statuses that made the conditions true. A condition that is still
/// true ends the next wait at once.
#[derive(Debug, Default)]
pub struct WaitSet {
    core: Arc<WaitCore>,
    conditions: Mutex<Vec<Condition>>,
    waiting: AtomicBool,
}

impl WaitSet {
    /// A wait-set without conditions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The conditions; those that were deleted are detached first.
    fn list(&self) -> MutexGuard<'_, Vec<Condition>> {
        let mut conditions = self.conditions.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(position) = conditions.iter().position(Condition::is_deleted) {
            self.remove(&mut conditions, position);
        }
        conditions
    }

    fn remove(&self, conditions: &mut Vec<Condition>, position: usize) {
        let gone = conditions.remove(position);
        // Two conditions of one entity share its signal: detach only with the last.
        if !conditions.iter().any(|c| Arc::ptr_eq(&c.0.signal, &gone.0.signal)) {
            gone.0.signal.detach(&self.core);
        }
    }

    /// attach_condition; attaching one twice has no effect, nor has attaching one that was deleted. A thread that waits
    /// already notices it. A condition that is deleted is detached.
    pub fn attach_condition(&self, condition: &Condition) {
        let mut conditions = self.list();
        if !condition.is_deleted() && !conditions.contains(condition) {
            condition.0.signal.attach(&self.core);
            conditions.push(condition.clone());
            drop(conditions);
            self.core.wake();
        }
    }

    /// detach_condition.
    ///
    /// # Errors
    /// [`WaitError::NotAttached`] if it is not attached, or was deleted.
    pub fn detach_condition(&self, condition: &Condition) -> Result<(), WaitError> {
        let mut conditions = self.list();
        let position = conditions.iter().position(|c| c == condition).ok_or(WaitError::NotAttached)?;
        self.remove(&mut conditions, position);
        Ok(())
    }

    /// get_conditions.
    #[must_use]
    pub fn conditions(&self) -> Vec<Condition> {
        self.list().clone()
    }

    /// The conditions that are true now. Other threads may make one false again meanwhile.
    #[must_use]
    pub fn active_conditions(&self) -> Vec<Condition> {
        self.active()
    }

    /// A descriptor that is readable when a condition may have become true, for event loops that wait for descriptors: see
    /// [`EventDescriptor`]. It is made by the first call, and is then readable; all calls give the same. It stays as it is when the
    /// wait-set goes. While it exists each change costs a system call, unless it is readable already.
    ///
    /// In the simulator nothing can wait for a descriptor: take [`wait_async`](Self::wait_async) there.
    ///
    /// # Errors
    /// When the process has no descriptor left; `Unsupported` elsewhere than on Linux.
    pub fn event_descriptor(&self) -> io::Result<EventDescriptor> {
        self.core.descriptor()
    }

    /// Looks at the conditions without a lock: one may hold the last handle of a reader by then, whose end runs listeners.
    fn active(&self) -> Vec<Condition> {
        let mut conditions = self.conditions();
        conditions.retain(Condition::trigger_value);
        conditions
    }

    fn begin(&self) -> Result<Alone<'_>, WaitError> {
        let taken = self.waiting.swap(true, Ordering::Acquire);
        if taken { Err(WaitError::AlreadyWaiting) } else { Ok(Alone(&self.waiting)) }
    }

    /// [`wait`](Self::wait) for async code, on any executor and without a time-out: dropping the future gives up.
    ///
    /// # Errors
    /// [`WaitError::AlreadyWaiting`] while another thread or task waits with this wait-set.
    pub async fn wait_async(&self) -> Result<Vec<Condition>, WaitError> {
        let _alone = self.begin()?;
        let active = poll_fn(|context| {
            loop {
                let seen = self.core.generation();
                let active = self.active();
                if !active.is_empty() {
                    return Poll::Ready(active);
                }
                if !self.core.changed_or_wake(seen, context.waker()) {
                    return Poll::Pending;
                }
            }
        });
        Ok(active.await)
    }

    /// Blocks until a condition is true and returns all that are, at once if one is true already.
    /// Other threads may have made one false again meanwhile.
    ///
    /// # Errors
    /// [`WaitError::Timeout`] after `timeout`; [`WaitError::AlreadyWaiting`]; [`WaitError::InListener`];
    /// [`WaitError::InTask`] and [`WaitError::InSimulation`] in the simulator.
    pub fn wait(&self, timeout: Duration) -> Result<Vec<Condition>, WaitError> {
        let _alone = self.begin()?;
        let deadline = machine::deadline(timeout);
        loop {
            let seen = self.core.generation();
            let active = self.active();
            if !active.is_empty() {
                return Ok(active);
            }
            if let Some(why) = dunlin_driver::cannot_wait() {
                return Err(why.into());
            }
            if !self.core.wait_past(seen, deadline) {
                return Err(WaitError::Timeout);
            }
        }
    }
}

/// The thread or task that waits.
struct Alone<'a>(&'a AtomicBool);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for WaitSet {
    fn drop(&mut self) {
        for condition in self.list().iter() {
            condition.0.signal.detach(&self.core);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn guard_conditions_wake_a_waiting_thread() {
        let (set, guard, other) = (WaitSet::new(), GuardCondition::new(), GuardCondition::new());
        set.attach_condition(guard.condition());
        set.attach_condition(guard.condition());
        set.attach_condition(other.condition());
        assert_eq!(set.conditions().len(), 2);
        assert_eq!(set.wait(Duration::ZERO), Err(WaitError::Timeout));
        assert!(!guard.condition().trigger_value(), "false at first");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| set.wait(Duration::from_secs(20)));
            guard.set_trigger_value(true);
            assert!(guard.condition().trigger_value() && !other.condition().trigger_value());
            assert_eq!(waiter.join().unwrap(), Ok(vec![guard.condition().clone()]));
        });
        assert!(guard.condition().trigger_value(), "until it is set to false");
        guard.set_trigger_value(false);
        assert!(!guard.condition().trigger_value());
        assert_eq!(set.wait(Duration::ZERO), Err(WaitError::Timeout));
        assert_eq!(set.detach_condition(guard.condition()), Ok(()));
        assert_eq!(set.detach_condition(guard.condition()), Err(WaitError::NotAttached));
    }

    /// As listeners do that run because the trigger held the last handle of a reader.
    #[test]
    fn a_trigger_may_use_its_wait_set() {
        let set = Arc::new(WaitSet::new());
        let other = GuardCondition::new();
        let (used, attached) = (Arc::downgrade(&set), other.condition().clone());
        let condition = Condition::new(Arc::default(), move || {
            let Some(set) = used.upgrade() else { return false };
            set.attach_condition(&attached);
            set.conditions().len() == 2
        });
        set.attach_condition(&condition);
        assert_eq!(set.wait(Duration::from_secs(20)), Ok(vec![condition.clone()]));
    }

    #[test]
    fn a_second_waiter_is_refused() {
        let (set, guard) = (WaitSet::new(), GuardCondition::new());
        set.attach_condition(guard.condition());
        std::thread::scope(|scope| {
            let first = scope.spawn(|| set.wait(Duration::from_secs(20)));
            while !set.waiting.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            assert_eq!(set.wait(Duration::ZERO), Err(WaitError::AlreadyWaiting));
            guard.set_trigger_value(true);
            assert!(first.join().unwrap().is_ok());
        });
    }

    #[cfg(target_os = "linux")]
    fn is_readable(descriptor: &EventDescriptor) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_descriptor_is_readable_from_a_change_until_it_is_cleared() {
        let (set, guard) = (WaitSet::new(), GuardCondition::new());
        set.attach_condition(guard.condition());
        let descriptor = set.event_descriptor().unwrap();
        assert!(is_readable(&descriptor), "what was before it has to be looked at");
        descriptor.clear();
        assert!(!is_readable(&descriptor) && set.active_conditions().is_empty());
        for _ in 0..3 {
            guard.set_trigger_value(true);
            guard.set_trigger_value(true);
            assert!(is_readable(&descriptor) && is_readable(&set.event_descriptor().unwrap()));
            assert_eq!(set.active_conditions(), [guard.condition().clone()]);
            descriptor.clear();
            descriptor.clear();
            assert!(!is_readable(&descriptor));
            guard.set_trigger_value(false);
        }
        set.detach_condition(guard.condition()).unwrap();
        guard.set_trigger_value(true);
        assert!(!is_readable(&descriptor), "it is not of the set any more");
    }
}
