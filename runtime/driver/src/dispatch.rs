//! What a thread keeps for itself: outputs to reuse, and the queue of things to do once it has sent all and
//! holds no lock.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};

use dunlin_buf::{BufPool, Datagram, SharedBytes};
use dunlin_core::{GuidPrefix, Locator, LocatorKind};
use dunlin_engine::{Event, Output};
use dunlin_transport::SendMode;

use crate::member::Member;

/// Octets of buffers a thread keeps for datagrams from one endpoint of a participant to another.
const POOL: usize = 1 << 20;
/// Payloads of so many octets are copied with what stands before them.
const COPIED: usize = 1024;
/// Octets of an encapsulation header.
const ENCAPSULATION: usize = 4;
/// Outputs a thread keeps: calls nest only as deep as listeners that write.
const KEPT_OUTPUTS: usize = 4;
/// Neighbours a thread remembers.
const KEPT_NEIGHBOURS: usize = 8;

/// What follows from what in one call, at most: listeners that answer each other would otherwise keep the call for ever.
const LONGEST_CHAIN: usize = 256;

/// Something to do when the outermost call is done.
pub(crate) enum Work {
    /// A datagram of a participant to itself.
    Local(Arc<Member>, SharedBytes),
    /// A datagram to another participant of the process, and where it comes from.
    Beside(Arc<Member>, Locator, SharedBytes),
    Tell(Arc<Member>, Event),
}

struct ThreadState {
    /// Each in its place: they are taken and put back for every call.
    #[expect(clippy::vec_box, reason = "moving an output copies 200 octets, several times a call")]
    outputs: Vec<Box<Output>>,
    /// Each with how many others it follows from.
    queue: VecDeque<(usize, Work)>,
    /// The same of the one that is being done; 0 outside.
    chain: usize,
    pool: BufPool,
    /// A call of this thread is working off the queue.
    draining: bool,
    /// Whose call it is, if that does not show in the queue.
    caller: Option<GuidPrefix>,
    /// Where changes were handed over lately; a participant that has left takes nothing.
    neighbours: Vec<(Locator, Weak<Member>)>,
}

thread_local! {
    static STATE: RefCell<ThreadState> = RefCell::new(ThreadState {
        outputs: Vec::new(),
        queue: VecDeque::new(),
        chain: 0,
        pool: BufPool::new(POOL),
        draining: false,
        caller: None,
        neighbours: Vec::new(),
    });
    static LIBRARY: Cell<bool> = const { Cell::new(false) };
    /// Calls of [`with_output`] that have not returned.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A call of [`with_output`], also one that a panic ends.
struct Nested;

impl Nested {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
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
    on_receive_thread() || DEPTH.get() > 0 || STATE.try_with(|state| state.borrow().draining).unwrap_or(true)
}

/// How the present thread sends.
pub(crate) fn mode() -> SendMode {
    if on_receive_thread() { SendMode::NonBlocking } else { SendMode::Blocking }
}

/// Runs `f` with an empty output, then whatever it has queued unless a caller further out does that. `f` leaves the
/// output empty, see [`Member::finish`].
pub(crate) fn with_output<R>(f: impl FnOnce(&mut Output) -> R) -> R {
    // The state is gone only while the thread ends; then an output is made and not kept.
    let kept = STATE.try_with(|state| state.borrow_mut().outputs.pop()).ok().flatten();
    let mut out = kept.unwrap_or_default();
    let nested = Nested::enter();
    let result = f(&mut out);
    drop(nested);
    let mut out = Some(out);
    // Unless it is kept here, it is dropped outside: dropping it may take locks of the engine.
    let _ = STATE.try_with(|state| {
        let outputs = &mut state.borrow_mut().outputs;
        if outputs.len() < KEPT_OUTPUTS {
            outputs.extend(out.take());
        }
    });
    if DEPTH.get() == 0 {
        drain();
    }
    result
}

/// What is queued next follows from a call of `member`, whoever hears of it.
pub(crate) fn note_caller(member: &Member) {
    let _ = STATE.try_with(|state| {
        let state = &mut *state.borrow_mut();
        if !state.draining {
            state.caller = Some(member.participant.guid_prefix());
        }
    });
}

/// Whom a place [beside](Locator::beside) `member` means, if it is there. Asking the group takes its locks and counts, so a thread
/// remembers the last few.
pub(crate) fn neighbour(member: &Arc<Member>, place: &Locator) -> Option<Arc<Member>> {
    let known = |state: &RefCell<ThreadState>| {
        let state = state.borrow();
        let (_, member) = state.neighbours.iter().find(|(known, _)| known == place)?;
        member.upgrade()
    };
    if let Some(known) = STATE.try_with(known).ok().flatten() {
        return Some(known);
    }
    let found = member.beside(place)?;
    let _ = STATE.try_with(|state| {
        let neighbours = &mut state.borrow_mut().neighbours;
        neighbours.retain(|(known, member)| known != place && member.strong_count() > 0);
        if neighbours.len() >= KEPT_NEIGHBOURS {
            neighbours.remove(0);
        }
        neighbours.push((*place, Arc::downgrade(&found)));
    });
    Some(found)
}

/// Whether the present thread has datagrams for this process that are not taken in yet: what follows must not overtake them.
pub(crate) fn has_datagrams() -> bool {
    let has = |state: &RefCell<ThreadState>| {
        state.borrow().queue.iter().any(|(_, work)| !matches!(work, Work::Tell(..)))
    };
    STATE.try_with(has).unwrap_or(true)
}

/// Queues the datagrams of an output that go to the participant itself or to others of the process, and its events.
pub(crate) fn queue(member: &Arc<Member>, out: &mut Output) {
    let _ = STATE.try_with(|state| {
        let state = &mut *state.borrow_mut();
        let chain = state.chain.saturating_add(1);
        let staying = out.outbox.stays().then(|| out.outbox.datagrams());
        for datagram in staying.into_iter().flatten() {
            let mut here =
                datagram.destinations().iter().filter(|to| to.kind == LocatorKind::LOCAL).peekable();
            let Some(_) = here.peek() else { continue };
            let bytes = pass_on(&mut state.pool, &datagram);
            for to in here {
                let bytes = bytes.clone();
                if *to == Locator::LOCAL {
                    state.queue.push_back((chain, Work::Local(Arc::clone(member), bytes)));
                } else if let Some(other) = member.beside(to) {
                    let from = Locator::beside(member.participant.guid_prefix());
                    state.queue.push_back((chain, Work::Beside(other, from, bytes)));
                }
            }
        }
        for event in out.events.drain(..) {
            state.queue.push_back((chain, Work::Tell(Arc::clone(member), event)));
        }
    });
}

/// A datagram as this process takes it in. A payload that ends it stays where it is, as with what other processes lend: behind
/// its encapsulation header, which the datagram has itself.
fn pass_on(pool: &mut BufPool, datagram: &Datagram<'_>) -> SharedBytes {
    match datagram.last().filter(|(_, payload)| payload.len() > COPIED) {
        Some((before, payload)) => {
            gather(pool, datagram, before.saturating_add(ENCAPSULATION)).followed_by(payload.clone())
        }
        None => gather(pool, datagram, datagram.len()),
    }
}

/// A copy of the first `len` octets of a datagram.
fn gather(pool: &mut BufPool, datagram: &Datagram<'_>, len: usize) -> SharedBytes {
    let mut buffer = pool.take(len);
    let bytes = buffer.vec_mut();
    bytes.clear();
    for part in datagram.parts() {
        let room = len.saturating_sub(bytes.len()).min(part.len());
        bytes.extend_from_slice(part.get(..room).unwrap_or_default());
    }
    pool.freeze(buffer, len)
}

/// Resets the marks even if a listener panics in a simulation.
struct Draining;

impl Draining {
    /// And whose call it is.
    fn begin() -> Option<(Self, GuidPrefix)> {
        let begin = |state: &RefCell<ThreadState>| {
            let mut state = state.borrow_mut();
            if state.draining {
                return None;
            }
            let noted = state.caller.take();
            let (_, first) = state.queue.front()?;
            let caller = noted.unwrap_or_else(|| first.caller());
            state.draining = true;
            Some((Self, caller))
        };
        STATE.try_with(begin).ok().flatten()
    }

    fn next(&self) -> Option<(usize, Work)> {
        let next = |state: &RefCell<ThreadState>| {
            let mut state = state.borrow_mut();
            let next = state.queue.pop_front()?;
            state.chain = next.0;
            Some(next)
        };
        STATE.try_with(next).ok().flatten()
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        let _ = STATE.try_with(|state| {
            let mut state = state.borrow_mut();
            (state.draining, state.chain) = (false, 0);
        });
    }
}

impl Work {
    fn member(&self) -> &Arc<Member> {
        let (Self::Local(member, _) | Self::Beside(member, ..) | Self::Tell(member, _)) = self;
        member
    }

    /// Whose call it is that this, the first of what is to be done, follows from.
    fn caller(&self) -> GuidPrefix {
        let own = self.member().participant.guid_prefix();
        if let Self::Beside(_, from, _) = self { from.participant_beside().unwrap_or(own) } else { own }
    }
}

fn drain() {
    let Some((draining, caller)) = Draining::begin() else { return };
    let mut panicked = None;
    while let Some((chain, work)) = draining.next() {
        let work = if chain > LONGEST_CHAIN { Arc::clone(work.member()).hand_over(work) } else { Some(work) };
        match work {
            Some(Work::Local(member, packet)) => with_output(|out| {
                member.participant.on_datagram(member.host.now(), Locator::LOCAL, &packet, out);
                member.finish(out, mode());
            }),
            Some(Work::Beside(member, from, packet)) => {
                let now = member.host.now();
                member.drive(|participant, out| participant.on_datagram(now, from, &packet, out));
            }
            Some(Work::Tell(member, event)) => {
                if let Err(panic) = tell(&member, &event, caller) {
                    panicked.get_or_insert(panic);
                }
            }
            None => {}
        }
    }
    drop(draining);
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
}

/// Does what another thread has handed over.
pub(crate) fn work_off(handed: VecDeque<Work>) {
    let _ = STATE.try_with(|state| state.borrow_mut().queue.extend(handed.into_iter().map(|work| (1, work))));
    drain();
}

/// Tells one event. A listener that panics must not end a thread that others need, nor the call of another participant; a
/// simulation it does end, and the call of its own participant once everything else is done.
fn tell(member: &Member, event: &Event, caller: GuidPrefix) -> Result<(), Box<dyn Any + Send>> {
    if !member.host.is_real() {
        member.tell(event);
        return Ok(());
    }
    let told = catch_unwind(AssertUnwindSafe(|| member.tell(event)));
    if !on_receive_thread() && member.participant.guid_prefix() == caller {
        return told;
    }
    if told.is_err()
        && let Some(again) = member.log.admit(member.host.now().mono, "a listener panicked")
    {
        crate::log!(ERROR, "a listener panicked; the thread goes on{again}; it was told {event:?}");
    }
    Ok(())
}
