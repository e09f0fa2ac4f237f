//! Writing: joining a burst, the turn of a writer, local delivery, flushing.

use dunlin_buf::SharedBytes;
use dunlin_core::{InstanceHandle, Locator, MonoTime, SequenceNumber};
use dunlin_engine::{Output, RefusedWrite, SetEnd, TxTurn, WriteError, WriteMode, WriteRequest, WriterSlot};

use crate::call::{call, conclude, drive, send, with_output};
use crate::port::{Blocking, Port, SendMode};

/// Writes and sends one change, without waiting for room. `inline_qos` is as for [`WriterSlot::write_with`].
///
/// # Errors
/// As [`WriterSlot::write`].
pub fn write<P: Port>(
    port: &mut P,
    member: &P::Member,
    writer: &WriterSlot,
    request: WriteRequest,
    inline_qos: Option<SharedBytes>,
) -> Result<SequenceNumber, WriteError> {
    match join_burst(port, member, writer, request, inline_qos.is_some()) {
        Ok(written) => Ok(written),
        Err(request) => try_write(port, member, writer, request, inline_qos),
    }
}

/// Whether a write waits where readers have [too much](dunlin_engine::Tuning::high_water) to acknowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AtHighWater {
    /// It waits.
    #[default]
    Wait,
    /// It does not, since its caller has waited before.
    Pass,
}

/// What a write waits for whose caller may have waited already.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteWait {
    /// Whether it waits at the mark.
    pub at_high_water: AtHighWater,
    /// When it gives up waiting for room; max_blocking_time after the write began, if the caller has not waited.
    pub until: Option<MonoTime>,
}

/// [`write()`]; while the history is full it waits for room, up to max_blocking_time of the writer's RELIABILITY, if the port
/// [may wait](Blocking::may_wait). It then waits at the mark too, and is written when that took too long.
///
/// # Errors
/// As [`WriterSlot::write`]; `Full` after max_blocking_time.
#[inline]
pub fn write_blocking<P: Blocking>(
    port: &mut P,
    member: &P::Member,
    writer: &WriterSlot,
    request: WriteRequest,
    inline_qos: Option<SharedBytes>,
    wait: WriteWait,
) -> Result<SequenceNumber, WriteError> {
    match join_burst(port, member, writer, request, inline_qos.is_some()) {
        Ok(written) => Ok(written),
        Err(request) => write_waiting(port, member, writer, &request, inline_qos.as_ref(), wait),
    }
}

/// [`try_write`], again when there is room.
fn write_waiting<P: Blocking>(
    port: &mut P,
    member: &P::Member,
    writer: &WriterSlot,
    request: &WriteRequest,
    inline_qos: Option<&SharedBytes>,
    wait: WriteWait,
) -> Result<SequenceNumber, WriteError> {
    let WriteWait { mut at_high_water, until: mut give_up } = wait;
    let mut pass = None;
    loop {
        let ticket = port.ticket(member, writer);
        match write_once(port, member, writer, request.clone(), inline_qos.cloned(), at_high_water) {
            Err(WriteError::AtHighWater { until, give_up: later }) => {
                let until = *pass.get_or_insert(until);
                give_up.get_or_insert(later);
                let waits = port.may_wait(member) && port.wait_for_space(member, writer, ticket, until);
                at_high_water = if waits { AtHighWater::Wait } else { AtHighWater::Pass };
            }
            Err(WriteError::Full { until }) if port.may_wait(member) => {
                let until = *give_up.get_or_insert(until);
                if !port.wait_for_space(member, writer, ticket, until) {
                    return Err(WriteError::Full { until });
                }
            }
            result => return result,
        }
    }
}

/// Lets a sample join others of its writer that wait for more: it then leaves with them.
#[inline(always)]
fn join_burst<P: Port>(
    port: &P,
    member: &P::Member,
    writer: &WriterSlot,
    request: WriteRequest,
    has_inline_qos: bool,
) -> Result<SequenceNumber, WriteRequest> {
    if has_inline_qos {
        return Err(request);
    }
    writer.join(|| port.mono(member), || port.now(member), request)
}

/// [`write()`] of a sample that has found none to join.
///
/// # Errors
/// As [`WriterSlot::write`].
pub fn try_write<P: Port>(
    port: &mut P,
    member: &P::Member,
    writer: &WriterSlot,
    request: WriteRequest,
    inline_qos: Option<SharedBytes>,
) -> Result<SequenceNumber, WriteError> {
    write_once(port, member, writer, request, inline_qos, AtHighWater::Pass)
}

fn write_once<P: Port>(
    port: &mut P,
    member: &P::Member,
    writer: &WriterSlot,
    request: WriteRequest,
    inline_qos: Option<SharedBytes>,
    at_high_water: AtHighWater,
) -> Result<SequenceNumber, WriteError> {
    // A change that is delivered locally must not overtake a datagram. At the end of a thread nobody knows whether there is one.
    let overtakes = port.state(|state| state.has_datagrams()).unwrap_or(true);
    let (result, more) = with_output(port, member, |port, out| {
        let now = port.now(member);
        let mode =
            WriteMode { in_process: !overtakes, waits_at_high_water: at_high_water == AtHighWater::Wait };
        let result = match writer.write_with(now, request, inline_qos, mode, out) {
            Ok(turn) => {
                let written = turn.sequence_number();
                let more = send_in_turn(port, member, writer, turn, out);
                deliver_locally(port, member, writer, out);
                (Ok(written), more)
            }
            Err(RefusedWrite { error, turn: Some(turn) }) => {
                (Err(error), send_in_turn(port, member, writer, turn, out))
            }
            Err(RefusedWrite { error, turn: None }) => {
                send(port, member, out, SendMode::NonBlocking);
                (Err(error), false)
            }
        };
        conclude(port, member, out);
        result
    });
    if more || matches!(result, Err(WriteError::Full { .. } | WriteError::AtHighWater { .. })) {
        // Nobody acknowledges what waits to be sent.
        flush(port, member, writer);
    }
    result
}

/// Sends what waits for more of the same writer: in a burst, or for its LATENCY_BUDGET.
pub fn flush<P: Port>(port: &mut P, member: &P::Member, writer: &WriterSlot) {
    while writer.has_waiting_data() {
        let more = with_output(port, member, |port, out| {
            let turn = writer.flush(port.now(member), out);
            let more = turn.is_some_and(|turn| send_in_turn(port, member, writer, turn, out));
            conclude(port, member, out);
            more
        });
        if !more {
            return;
        }
    }
}

/// Ends a coherent set at a writer, and sends that; the number of the change that says so, if the writer has to.
pub fn end_set<P: Port>(
    port: &mut P,
    member: &P::Member,
    writer: &WriterSlot,
    end: &SetEnd,
) -> Option<SequenceNumber> {
    with_output(port, member, |port, out| {
        let turn = writer.end_set(port.now(member), end, out);
        let written = turn.map(|turn| {
            let written = turn.sequence_number();
            send_in_turn(port, member, writer, turn, out);
            written
        });
        conclude(port, member, out);
        written
    })
}

/// Unregisters every instance of a writer that is about to be deleted; with `dispose` they are disposed too. Nothing can be
/// written any more. What windows or the pacer hold back leaves later.
pub fn end_instances<P: Port>(port: &mut P, member: &P::Member, writer: &WriterSlot, dispose: bool) {
    let mut instances: alloc::vec::Vec<InstanceHandle> = call(port, member, |out| writer.begin_end(out));
    while !instances.is_empty() {
        let more = with_output(port, member, |port, out| {
            let turn = writer.end_instances(port.now(member), &mut instances, dispose, out);
            let more = turn.map(|turn| send_in_turn(port, member, writer, turn, out));
            conclude(port, member, out);
            more
        });
        match more {
            Some(true) => flush(port, member, writer),
            Some(false) => {}
            None => return,
        }
    }
}

/// Octets that leave in one call, and that every socket has room for.
const LONGEST_AT_ONCE: usize = 64 << 10;

/// True when more can leave at once.
fn send_in_turn<P: Port>(
    port: &mut P,
    member: &P::Member,
    writer: &WriterSlot,
    turn: TxTurn<'_>,
    out: &Output,
) -> bool {
    if out.outbox.is_empty() {
        turn.finish();
        return false;
    }
    // New data of a reliable writer waits for room; that of a best-effort writer is dropped, unless no socket has room for all of it:
    // on a slow line such a sample would never arrive.
    let waits = writer.is_reliable() || out.outbox.octets() > LONGEST_AT_ONCE;
    let mode = if waits { port.mode() } else { SendMode::NonBlocking };
    port.send(member, &out.outbox, mode);
    turn.finish_at(port.mono(member))
}

/// Gives the readers of this process the change that a writer offers for that, if it does, and tells the writer how far they are.
fn deliver_locally<P: Port>(port: &mut P, member: &P::Member, writer: &WriterSlot, out: &mut Output) {
    let Some(mut delivery) = out.take_local_delivery() else { return };
    // Another thread may have had its turn since the write began, and nothing is received before it was written.
    let now = port.now(member);
    for at in 0..delivery.places.len() {
        let Some(place) = delivery.places.get(at).copied() else { break };
        if place == Locator::LOCAL {
            P::participant(member).on_local_delivery(now, &mut delivery, out);
        } else if let Some(other) = port.in_process(member, &place) {
            drive(port, &other, |participant, out| participant.on_local_delivery(now, &mut delivery, out));
        }
    }
    writer.local_delivery_done(now, &delivery, out);
    out.give_back(delivery);
    send(port, member, out, SendMode::NonBlocking);
}
