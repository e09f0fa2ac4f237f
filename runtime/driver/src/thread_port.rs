//! Threads as a [`Port`]: what each keeps for itself, and how it sends, tells events and defers.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, Weak};

use dunlin_buf::Outbox;
use dunlin_core::{GuidPrefix, Locator, MonoTime, Now};
use dunlin_engine::{Event, Output, Participant, WriterSlot};
use dunlin_host::{Blocking, Port, SendMode, State, Work};

use crate::group_member::GroupMember;
use crate::listeners::RunningListener;
use crate::machine::{self, CannotWait};

/// Neighbours a thread remembers.
const KEPT_NEIGHBOURS: usize = 8;

thread_local! {
    static STATE: RefCell<State<Arc<GroupMember>>> = RefCell::default();
    static LIBRARY: Cell<bool> = const { Cell::new(false) };
    /// Where changes were delivered lately; a participant that has left takes nothing.
    static NEIGHBOURS: RefCell<Vec<(Locator, Weak<GroupMember>)>> = const { RefCell::new(Vec::new()) };
}

/// True on a thread of the library: one that receives or runs timers. There a write that would have to wait fails
/// at once, because what it waits for may arrive on this very thread.
#[must_use]
pub fn on_receive_thread() -> bool {
    LIBRARY.try_with(Cell::get).unwrap_or_default()
}

/// Marks the present thread as one of the library.
pub(crate) fn become_library_thread() {
    LIBRARY.with(|library| library.set(true));
}

/// Does what a thread of the library would do.
pub(crate) fn as_library<R>(work: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            LIBRARY.with(|library| library.set(self.0));
        }
    }
    let _before = Before(LIBRARY.replace(true));
    work()
}

/// True if waiting on this thread could be waiting for itself: on a thread of the library, and inside a listener
/// wherever it runs.
pub(crate) fn in_listener() -> bool {
    on_receive_thread() || STATE.try_with(|state| state.borrow().is_in_call()).unwrap_or(true)
}

/// Why waiting on this thread is refused, if it is.
#[must_use]
pub fn cannot_wait() -> Option<CannotWait> {
    if in_listener() { Some(CannotWait::Listener) } else { machine::cannot_wait() }
}

impl GroupMember {
    /// Why the present thread cannot wait for the participant, if it cannot.
    pub(crate) fn cannot_wait(&self) -> Option<CannotWait> {
        let astray = || !self.platform.is_real() && machine::entered().is_none();
        cannot_wait().or_else(|| astray().then_some(CannotWait::Simulation))
    }
}

/// How the present thread sends.
fn mode() -> SendMode {
    if on_receive_thread() { SendMode::NonBlocking } else { SendMode::Blocking }
}

/// The present thread.
pub(crate) struct ThreadPort;

impl Port for ThreadPort {
    type Member = Arc<GroupMember>;
    type Panic = Box<dyn Any + Send>;

    // Calls look at it a dozen times for a sample.
    #[inline(always)]
    fn state<R>(&mut self, look: impl FnOnce(&mut State<Self::Member>) -> R) -> Option<R> {
        STATE.try_with(|state| look(&mut state.borrow_mut())).ok()
    }

    fn defer(&mut self, work: Work<Self::Member>) {
        let member = Arc::clone(work.member());
        member.defer_to_timer(work);
    }

    #[inline]
    fn now(&self, member: &Self::Member) -> Now {
        member.platform.now()
    }

    #[inline]
    fn mono(&self, member: &Self::Member) -> MonoTime {
        member.platform.mono()
    }

    #[inline]
    fn wake_by(&mut self, member: &Self::Member, deadline: MonoTime) {
        member.platform.wake_by(deadline);
    }

    #[inline]
    fn participant(member: &Self::Member) -> &Participant {
        &member.participant
    }

    #[inline]
    fn unless_leaving(&mut self, member: &Self::Member, work: impl FnOnce(&mut Self)) {
        let present = member.present.read().unwrap_or_else(PoisonError::into_inner);
        if *present {
            work(self);
        }
    }

    /// Asking the group takes its locks and counts, so a thread remembers the last few.
    fn in_process(&mut self, member: &Self::Member, place: &Locator) -> Option<Self::Member> {
        let known = |neighbours: &RefCell<Vec<(Locator, Weak<GroupMember>)>>| {
            let neighbours = neighbours.borrow();
            neighbours.iter().find(|(known, _)| known == place)?.1.upgrade()
        };
        if let Some(known) = NEIGHBOURS.try_with(known).ok().flatten() {
            return Some(known);
        }
        let found = member.in_process(place)?;
        let _ = NEIGHBOURS.try_with(|neighbours| {
            let mut neighbours = neighbours.borrow_mut();
            neighbours.retain(|(known, member)| known != place && member.strong_count() > 0);
            if neighbours.len() >= KEPT_NEIGHBOURS {
                neighbours.remove(0);
            }
            neighbours.push((*place, Arc::downgrade(&found)));
        });
        Some(found)
    }

    #[inline]
    fn mode(&self) -> SendMode {
        mode()
    }

    #[inline]
    fn send(&mut self, member: &Self::Member, outbox: &Outbox, mode: SendMode) {
        member.send(outbox, mode);
    }

    #[inline]
    fn follow_peers(&mut self, member: &Self::Member, out: &mut Output, mode: SendMode) {
        if !out.events.is_empty() {
            member.follow_peers(self, out, mode);
        }
    }

    #[inline]
    fn close_lost_paths(&mut self, member: &Self::Member) {
        if member.paths.as_ref().is_some_and(|others| others.take_failure()) {
            member.leave_lost_paths(self);
        }
    }

    fn space_freed(&mut self, member: &Self::Member) {
        member.space.notify();
    }

    /// A listener that panics must not end a thread that others need, nor the call of another participant; a simulation it does
    /// end, and the call of its own participant once everything else is done.
    fn tell(
        &mut self,
        member: &Self::Member,
        event: &Event,
        caller: Option<GuidPrefix>,
    ) -> Result<(), Self::Panic> {
        if !member.platform.is_real() {
            member.tell(event);
            return Ok(());
        }
        let running = RunningListener::begin();
        let told = catch_unwind(AssertUnwindSafe(|| member.tell(event)));
        drop(running);
        if told.is_err() {
            member.panics.fetch_add(1, Relaxed);
        }
        if !on_receive_thread() && caller == Some(member.participant.guid_prefix()) {
            return told;
        }
        if told.is_err()
            && let Some(again) = member.log.admit(member.platform.mono(), "a listener panicked")
        {
            crate::log!(ERROR, "a listener panicked; the thread goes on{again}; it was told {event:?}");
        }
        Ok(())
    }

    fn resume_panic(&mut self, panic: Self::Panic) {
        resume_unwind(panic);
    }
}

impl Blocking for ThreadPort {
    type Ticket = usize;

    fn ticket(&mut self, member: &Self::Member, _writer: &WriterSlot) -> usize {
        member.space.ticket()
    }

    fn may_wait(&self, member: &Self::Member) -> bool {
        member.cannot_wait().is_none()
    }

    fn wait_for_space(
        &mut self,
        member: &Self::Member,
        _writer: &WriterSlot,
        ticket: usize,
        until: MonoTime,
    ) -> bool {
        member.wait_for_space(ticket, until)
    }
}
