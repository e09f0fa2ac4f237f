//! What a call causes in this process, done when it has sent everything and holds no lock.

use dunlin_buf::{BufPool, Datagram, Outbox, SharedBytes};
use dunlin_core::{GuidPrefix, Locator, LocatorKind};
use dunlin_engine::{Event, Output};

use crate::call::{call, drive};
use crate::port::Port;
use crate::state::State;

/// What follows from what in one call, at most. The rest is [deferred](Port::defer).
pub const MAX_CHAIN: usize = 256;

/// Payloads of so many octets are copied with what stands before them.
const COPIED: usize = 1024;
/// Octets of an encapsulation header.
const ENCAPSULATION: usize = 4;

/// Something to do in this process.
pub enum Work<M> {
    /// A datagram of a participant to itself.
    Own(M, SharedBytes),
    /// A datagram to another participant of the process, and where it comes from.
    Neighbour(M, Locator, SharedBytes),
    /// An event of a participant.
    Tell(M, Event),
}

impl<M> Work<M> {
    /// Whose it is to do.
    #[must_use]
    pub fn member(&self) -> &M {
        let (Self::Own(member, _) | Self::Neighbour(member, ..) | Self::Tell(member, _)) = self;
        member
    }

    #[inline]
    pub(crate) fn is_datagram(&self) -> bool {
        !matches!(self, Self::Tell(..))
    }
}

/// Queues the datagrams of an output that go to the participant itself or to others of the process, and its events.
pub(crate) fn queue<P: Port>(port: &mut P, member: &P::Member, out: &mut Output) {
    if out.outbox.has_local() {
        queue_datagrams(port, member, &out.outbox);
    }
    if !out.events.is_empty() {
        port.state(|state| {
            for event in out.events.drain(..) {
                state.push(Work::Tell(member.clone(), event));
            }
        });
    }
}

fn queue_datagrams<P: Port>(port: &mut P, member: &P::Member, outbox: &Outbox) {
    for datagram in outbox.datagrams() {
        let mut bytes = None;
        for to in datagram.destinations().iter().filter(|to| to.kind == LocatorKind::LOCAL) {
            let neighbour = if *to == Locator::LOCAL { None } else { port.in_process(member, to) };
            if *to != Locator::LOCAL && neighbour.is_none() {
                continue;
            }
            port.state(|state| {
                let bytes = bytes.get_or_insert_with(|| gather(&mut state.pool, &datagram)).clone();
                state.push(match neighbour {
                    None => Work::Own(member.clone(), bytes),
                    Some(other) => {
                        let from = Locator::in_process(P::participant(member).guid_prefix());
                        Work::Neighbour(other, from, bytes)
                    }
                });
            });
        }
    }
}

/// A datagram as this process takes it in. A payload that ends it stays where it is, as with what other processes lend: behind
/// its encapsulation header, which the datagram has itself.
fn gather(pool: &mut BufPool, datagram: &Datagram<'_>) -> SharedBytes {
    match datagram.last().filter(|(_, payload)| payload.len() > COPIED) {
        Some((before, payload)) => {
            copy(pool, datagram, before.saturating_add(ENCAPSULATION)).followed_by(payload.clone())
        }
        None => copy(pool, datagram, datagram.len()),
    }
}

/// A copy of the first `len` octets of a datagram.
fn copy(pool: &mut BufPool, datagram: &Datagram<'_>, len: usize) -> SharedBytes {
    let mut buffer = pool.take(len);
    let bytes = buffer.vec_mut();
    bytes.clear();
    for part in datagram.parts() {
        let room = len.saturating_sub(bytes.len()).min(part.len());
        bytes.extend_from_slice(part.get(..room).unwrap_or_default());
    }
    pool.freeze(buffer, len)
}

/// The outermost call works the queue off. Resets the marks even if a listener panics.
struct Draining<'a, P: Port> {
    port: &'a mut P,
    caller: Option<GuidPrefix>,
}

impl<'a, P: Port> Draining<'a, P> {
    fn begin(port: &'a mut P) -> Option<Self> {
        let begin = |state: &mut State<P::Member>| {
            (!state.is_in_call()).then(|| {
                state.draining = true;
                state.caller
            })
        };
        let caller = port.state(begin).flatten()?;
        Some(Self { port, caller })
    }
}

impl<P: Port> Drop for Draining<'_, P> {
    fn drop(&mut self) {
        self.port.state(|state| (state.draining, state.chain) = (false, 0));
    }
}

pub(crate) fn drain<P: Port>(port: &mut P) {
    let Some(draining) = Draining::begin(port) else { return };
    let mut first_panic = None;
    while let Some((chain, work)) = draining.port.state(State::pop).flatten() {
        if chain > MAX_CHAIN {
            draining.port.defer(work);
        } else if let Err(panic) = act(draining.port, &work, draining.caller) {
            first_panic.get_or_insert(panic);
        }
    }
    drop(draining);
    if let Some(panic) = first_panic {
        port.resume_panic(panic);
    }
}

/// Borrows the work, as moving an event copies 200 octets.
fn act<P: Port>(port: &mut P, work: &Work<P::Member>, caller: Option<GuidPrefix>) -> Result<(), P::Panic> {
    match work {
        Work::Own(member, packet) => {
            let now = port.now(member);
            call(port, member, |out| P::participant(member).on_datagram(now, Locator::LOCAL, packet, out));
        }
        Work::Neighbour(member, from, packet) => {
            let now = port.now(member);
            drive(port, member, |participant, out| participant.on_datagram(now, *from, packet, out));
        }
        Work::Tell(member, event) => return port.tell(member, event, caller),
    }
    Ok(())
}

/// Does what calls have [deferred](Port::defer).
pub fn work_off<P: Port>(port: &mut P, deferred: impl IntoIterator<Item = Work<P::Member>>) {
    port.state(|state| deferred.into_iter().for_each(|work| state.push(work)));
    drain(port);
}
