//! How far a writer is on its way out (DDS 1.4 §2.2.2.4.1.6 delete_datawriter).

use dunlin_core::{MonoTime, SequenceNumber};

/// Where a writer stands in its life: it goes on from state to state, and never back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// It writes.
    Open,
    /// It is about to be deleted: it unregisters its instances, and writes and registers nothing else.
    Ending,
    /// It only waits for its readers, and takes no new ones.
    Closing(Closing),
    /// Nothing is written, answered or timed any more.
    Deleted,
}

/// What a writer waits for before it goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Closing {
    /// What readers are to acknowledge.
    pub(crate) last: SequenceNumber,
    /// When it goes without that.
    pub(crate) until: MonoTime,
}

impl Life {
    /// Whether it may write and register.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    #[inline]
    pub(crate) fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted)
    }

    /// Whether a reader that was not matched before may be.
    pub(crate) fn takes_new_readers(&self) -> bool {
        matches!(self, Self::Open | Self::Ending)
    }

    /// What it waits for, if that is all that it does.
    #[inline]
    pub(crate) fn closing(&self) -> Option<Closing> {
        match self {
            Self::Closing(closing) => Some(*closing),
            _ => None,
        }
    }

    /// Its end begins, unless it has begun.
    pub(crate) fn end(&mut self) {
        if self.is_open() {
            *self = Self::Ending;
        }
    }

    /// From now on it only waits for its readers. That begins once: see [`takes_new_readers`](Self::takes_new_readers).
    pub(crate) fn close(&mut self, closing: Closing) {
        debug_assert!(self.takes_new_readers(), "closes once: {self:?}");
        *self = Self::Closing(closing);
    }

    /// It is deleted; false if it was already.
    pub(crate) fn delete(&mut self) -> bool {
        core::mem::replace(self, Self::Deleted) != Self::Deleted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSING: Closing = Closing { last: SequenceNumber(3), until: MonoTime(9) };

    #[test]
    fn writer_life_never_returns_to_an_earlier_state() {
        let mut life = Life::Open;
        assert!(life.is_open() && life.takes_new_readers());
        life.end();
        assert!(life == Life::Ending && !life.is_open() && life.takes_new_readers());
        life.close(CLOSING);
        life.end();
        assert!(life.closing() == Some(CLOSING) && !life.takes_new_readers() && !life.is_deleted());
        assert!(life.delete() && !life.delete());
        life.end();
        assert!(life.is_deleted() && !life.takes_new_readers() && life.closing().is_none());
    }

    #[test]
    fn a_writer_may_close_or_be_deleted_at_once() {
        let mut life = Life::Open;
        life.close(CLOSING);
        assert!(!life.is_open() && life.closing() == Some(CLOSING));
        let mut life = Life::Open;
        assert!(life.delete() && !life.is_open());
    }
}
