//! Writing a change with a writer (DDS 1.4 §2.2.2.4.2.11), and asking first whether it would have to wait.

use core::convert::Infallible;
use core::fmt;

use dunlin_buf::SharedBytes;
use dunlin_core::{InstanceHandle, Now};
use dunlin_rtps::ChangeKind;

use super::{TxTurn, WriteError, WriteRequest, WriterCore, WriterSlot};
use crate::output::Output;

/// What the caller of a write can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteMode {
    /// If every matched reader is in this process and nothing stands against it, `out` has no datagrams but the change itself,
    /// [to be delivered locally](Output::take_local_delivery) when the turn has ended; then it calls
    /// [`local_delivery_done`](WriterSlot::local_delivery_done). No datagram for a reader of this process may wait on this
    /// thread.
    pub in_process: bool,
    /// It waits when readers have [too much](crate::Tuning::high_water) to acknowledge: the write then returns
    /// [`WriteError::AtHighWater`].
    pub waits_at_high_water: bool,
}

/// A write that was refused.
pub struct RefusedWrite<'a> {
    /// Why.
    pub error: WriteError,
    /// Changes that had waited for more leave nevertheless, to make room. They are in the output: it is to be sent before this ends.
    pub turn: Option<TxTurn<'a>>,
}

impl fmt::Debug for RefusedWrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl WriterSlot {
    /// Adds a change to the history and describes the datagrams that carry it. Waits while another thread has
    /// the turn of this writer. A write also asserts the liveliness of writer and participant.
    ///
    /// # Errors
    /// See [`WriteError`]; nothing was written then, and `out` may ask readers for acknowledgements.
    pub fn write(&self, now: Now, request: WriteRequest, out: &mut Output) -> Result<TxTurn<'_>, WriteError> {
        self.write_with(now, request, None, WriteMode::default(), out).map_err(|refused| refused.error)
    }

    /// [`write`](Self::write) with inline QoS: ready-made little-endian parameters, without sentinel.
    ///
    /// # Errors
    /// As [`write`](Self::write), and what is to be sent all the same.
    pub fn write_with(
        &self,
        now: Now,
        request: WriteRequest,
        inline_qos: Option<SharedBytes>,
        mode: WriteMode,
        out: &mut Output,
    ) -> Result<TxTurn<'_>, RefusedWrite<'_>> {
        self.common.note_manual(now.mono, out);
        let Ok((turn, result)) = self.turnstile.begin(|core| {
            let before = core.writer.sent_sn();
            let may_write = core.check_mark_of(now, &request, mode, out);
            let result = may_write.and_then(|()| core.write(now, (request, inline_qos), mode, self, out));
            // A local delivery arms the timer when it is done.
            if !out.local_delivery.is_some() {
                self.arm(core, out);
            }
            let sent = core.writer.sent_sn();
            Ok::<_, Infallible>(match result {
                Ok((mark, sn)) => (mark, Ok(sn)),
                Err(error) => ((sent > before).then_some(sent), Err((error, sent))),
            })
        });
        match result {
            Ok(sn) => Ok(TxTurn { turn, sn }),
            Err((error, sn)) => {
                Err(RefusedWrite { error, turn: turn.sends_data().then_some(TxTurn { turn, sn }) })
            }
        }
    }

    /// Whether a sample of `instance`, as long as the last one, would be written now without waiting, if its caller waits where
    /// readers have too much to acknowledge. A caller that asks first need not hold a large sample while it waits. Another
    /// thread may still take the room.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn make_room(&self, now: Now, instance: InstanceHandle, out: &mut Output) -> Result<(), WriteError> {
        let mut guard = self.turnstile.core();
        let core: &mut WriterCore = &mut guard;
        if !core.life.is_open() {
            return Err(WriteError::Deleted);
        }
        core.make_room_of_inactive(instance, Some(ChangeKind::Alive));
        let acked = core.writer.acked_by_all();
        let result = core.cache.make_room_for(instance, acked);
        let result = result.map_err(|error| core.refuse(now, error, out));
        let result = result.and_then(|()| core.check_mark(now, core.high_water.last(), out));
        self.arm(core, out);
        result
    }
}
