//! What a participant runs on.

use dunlin_buf::Outbox;
use dunlin_core::{GuidPrefix, Locator, MonoTime, Now};
use dunlin_engine::{Event, Output, Participant, WriterSlot};

use crate::queue::Work;
use crate::state::State;

/// How long a call may take to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// It waits where the transport is full.
    Blocking,
    /// It drops what finds no room.
    NonBlocking,
}

/// What participants run on. The functions of this crate call it; it calls the participant through them alone.
///
/// No method is called while the engine holds a lock.
pub trait Port {
    /// A handle to a participant of this process. Cloning it is cheap.
    type Member: Clone;
    /// What is left of a listener that panicked.
    type Panic;

    // The call in progress.

    /// Looks at the state of the present thread; `None` where there is none any more, because the thread ends. `look` does not
    /// call the port.
    fn state<R>(&mut self, look: impl FnOnce(&mut State<Self::Member>) -> R) -> Option<R>;

    /// Leaves work that the present call must not do to a later one, which does it with [`work_off`](crate::work_off).
    fn defer(&mut self, work: Work<Self::Member>);

    // Time.

    /// Both clocks, as the member sees them.
    fn now(&self, member: &Self::Member) -> Now;

    /// The monotonic clock alone.
    fn mono(&self, member: &Self::Member) -> MonoTime;

    /// Has [`run_timers`](crate::run_timers) called by then.
    fn wake_by(&mut self, member: &Self::Member, deadline: MonoTime);

    // Members.

    /// The participant of a member.
    fn participant(member: &Self::Member) -> &Participant;

    /// Does work of the library for a member, unless that is leaving: what was sent after its goodbye would make others
    /// believe that it is still there.
    fn unless_leaving(&mut self, member: &Self::Member, work: impl FnOnce(&mut Self));

    /// The participant of this process that `place` means to `member`, if data may be given to it without a transport.
    fn in_process(&mut self, member: &Self::Member, place: &Locator) -> Option<Self::Member>;

    // Ways to others.

    /// How calls that are made now may send.
    fn mode(&self) -> SendMode;

    /// Sends datagrams, except to [places in this process](dunlin_core::LocatorKind::LOCAL). What is lost here the protocol repairs,
    /// or it was best-effort.
    fn send(&mut self, member: &Self::Member, outbox: &Outbox, mode: SendMode);

    /// Opens ways to participants that have come, and closes those to participants that are gone, as the events of `out` say.
    /// Called when the datagrams of `out` were sent; events that this causes are added to `out`.
    fn follow_peers(&mut self, member: &Self::Member, out: &mut Output, mode: SendMode);

    /// Leaves ways that sending has found broken.
    fn close_lost_paths(&mut self, member: &Self::Member);

    // The application.

    /// A writer of the member that was full has room: whoever waits for it tries again.
    fn space_freed(&mut self, member: &Self::Member);

    /// Tells one event. `caller` is the participant that the outermost call is made for, if it is known.
    ///
    /// # Errors
    /// When a listener panicked and the outermost call shall [go on with that](Self::resume_panic) once everything else is done.
    fn tell(
        &mut self,
        member: &Self::Member,
        event: &Event,
        caller: Option<GuidPrefix>,
    ) -> Result<(), Self::Panic>;

    /// Goes on with the first panic that [`tell`](Self::tell) returned.
    fn resume_panic(&mut self, panic: Self::Panic);
}

/// A port whose calls can wait.
pub trait Blocking: Port {
    /// A moment before an attempt to write.
    type Ticket;

    /// The present moment, for [`wait_for_space`](Self::wait_for_space).
    fn ticket(&mut self, member: &Self::Member, writer: &WriterSlot) -> Self::Ticket;

    /// Whether the present call may wait. It must not where the room that it waits for would be made by the same thread.
    fn may_wait(&self, member: &Self::Member) -> bool;

    /// Waits until room was made after the ticket was taken; false if `until` came first.
    fn wait_for_space(
        &mut self,
        member: &Self::Member,
        writer: &WriterSlot,
        ticket: Self::Ticket,
        until: MonoTime,
    ) -> bool;
}
