//! Calls of a participant: what they send, and what they cause.

use alloc::boxed::Box;
use core::mem;

use dunlin_buf::SharedBytes;
use dunlin_core::{Locator, Now};
use dunlin_engine::{Event, Output, Participant, SuspendedDatagram};

use crate::port::{Port, SendMode};
use crate::queue::{drain, queue};

/// A call that has not returned, also one that a panic ends.
struct Nested<'a, P: Port>(&'a mut P);

impl<P: Port> Drop for Nested<'_, P> {
    fn drop(&mut self) {
        self.0.state(|state| state.abandon_call());
    }
}

/// Runs `f` with an empty output, then whatever is queued unless a call further out does that. `f` leaves the output empty, see
/// [`conclude`].
#[inline]
pub fn with_output<P: Port, R>(
    port: &mut P,
    member: &P::Member,
    f: impl FnOnce(&mut P, &mut Output) -> R,
) -> R {
    // Without a state an output is made and not kept.
    let kept = port.state(|state| state.begin_call(|| P::participant(member).guid_prefix())).flatten();
    let mut out: Box<Output> = kept.unwrap_or_default();
    let nested = Nested(&mut *port);
    let result = f(&mut *nested.0, &mut out);
    mem::forget(nested);
    let mut out = Some(out);
    let to_do = port.state(|state| state.end_call(&mut out)).unwrap_or_default();
    // Unless it is kept, it is dropped here: dropping it may take locks of the engine.
    drop(out);
    if to_do {
        drain(port);
    }
    result
}

/// Runs `f` with an empty output, sends what `f` puts there and tells the events, unless this is called by a listener: then
/// those events are told when the listener has returned.
#[inline]
pub fn call<P: Port, R>(port: &mut P, member: &P::Member, f: impl FnOnce(&mut Output) -> R) -> R {
    with_output(port, member, |port, out| {
        let result = f(out);
        let mode = port.mode();
        send(port, member, out, mode);
        port.follow_peers(member, out, mode);
        conclude(port, member, out);
        result
    })
}

/// Does work of the library for a participant, such as taking in what has arrived: nothing once it is leaving. Never waits to
/// send.
pub fn drive<P: Port>(port: &mut P, member: &P::Member, work: impl FnOnce(&Participant, &mut Output)) {
    with_output(port, member, |port, out| {
        port.unless_leaving(member, |port| {
            work(P::participant(member), out);
            send(port, member, out, SendMode::NonBlocking);
            port.follow_peers(member, out, SendMode::NonBlocking);
        });
        conclude(port, member, out);
    });
}

/// Takes in what has arrived for a participant. Where a reader would replace a sample that nobody has seen, its listeners run
/// before what follows is taken in.
pub fn receive<P: Port>(port: &mut P, member: &P::Member, arrived: &[(SharedBytes, Locator)]) {
    let (mut next, mut unfinished) = (arrived, None);
    while !next.is_empty() {
        let (mut present, now) = (false, port.now(member));
        drive(port, member, |participant, out| {
            present = true;
            next = take_in(participant, now, next, &mut unfinished, out);
        });
        if !present {
            // It is leaving.
            return;
        }
    }
}

/// Takes in what it may before listeners run; what is left.
fn take_in<'a>(
    participant: &Participant,
    now: Now,
    mut arrived: &'a [(SharedBytes, Locator)],
    unfinished: &mut Option<SuspendedDatagram>,
    out: &mut Output,
) -> &'a [(SharedBytes, Locator)] {
    while let Some((packet, from)) = arrived.first() {
        let (taken, left) = match unfinished.take() {
            None => participant.begin_datagrams(now, arrived, out),
            Some(begun) => (1, participant.go_on_with_datagram(now, *from, packet, begun, out)),
        };
        *unfinished = left;
        if unfinished.is_none() {
            arrived = arrived.get(taken..).unwrap_or(&[]);
        }
        if out.wants_pause() {
            break;
        }
    }
    arrived
}

/// Does what is due.
pub fn run_timers<P: Port>(port: &mut P, member: &P::Member, now: Now) {
    if P::participant(member).next_deadline().is_some_and(|deadline| deadline <= now.mono) {
        drive(port, member, |participant, out| participant.on_timer(now, out));
    }
}

/// Sends the datagrams of an output, which stay in it.
#[inline]
pub fn send<P: Port>(port: &mut P, member: &P::Member, out: &Output, mode: SendMode) {
    if !out.outbox.is_empty() {
        port.send(member, &out.outbox, mode);
    }
}

/// Queues what the output holds for this process, wakes whoever waits for it, and empties it.
pub fn conclude<P: Port>(port: &mut P, member: &P::Member, out: &mut Output) {
    if !out.is_empty() {
        if out.events.iter().any(|event| matches!(event, Event::SpaceFreed { .. })) {
            port.space_freed(member);
        }
        queue(port, member, out);
    }
    let closer = out.deadline_closer;
    out.clear();
    if closer && let Some(deadline) = P::participant(member).next_deadline() {
        port.wake_by(member, deadline);
    }
    port.close_lost_paths(member);
}
