//! RTPS 2.5 §9.6.4.2 PID_COHERENT_SET: a reader that came in the middle of a coherent set does not get the rest of it.

use dunlin_core::SequenceNumber;
use dunlin_wire::{params, pid};

use crate::{Change, ChangeKind};

/// A coherent set that had begun when a reader came.
#[derive(Clone, Debug)]
pub(crate) struct BegunSet {
    /// Its first change, from before the reader came.
    first: SequenceNumber,
    /// The last of it that was new since.
    last: SequenceNumber,
    /// Something behind it was new: what the reader asks for again needs no look into its inline QoS.
    over: bool,
}

impl BegunSet {
    pub(crate) fn new(first: SequenceNumber) -> Self {
        Self { first, last: SequenceNumber::ZERO, over: false }
    }

    /// Whether more of it may come.
    pub(crate) fn is_open(&self) -> bool {
        !self.over
    }

    /// Whether a change is of the set, as far as it was new before or is just that. What ends the set is not.
    pub(crate) fn contains(&self, change: &Change) -> bool {
        if self.over {
            return change.sn >= self.first && change.sn <= self.last;
        }
        set_of(change) == Some(self.first)
    }

    /// A change is new, or was already; true if the set has ended with that.
    pub(crate) fn note(&mut self, change: &Change) -> bool {
        if self.over || change.sn <= self.first.max(self.last) {
            return false;
        }
        if set_of(change) == Some(self.first) {
            self.last = change.sn;
        } else {
            self.over = true;
        }
        self.over
    }

    /// Whether the reader can ask for nothing of it any more, if it has acknowledged all up to a change.
    pub(crate) fn is_done(&self, through: SequenceNumber) -> bool {
        self.over && self.last <= through
    }
}

/// The first change of the coherent set that a change is part of, which what ends the set is not.
fn set_of(change: &Change) -> Option<SequenceNumber> {
    let is_end = change.kind == ChangeKind::Alive && change.payload.is_none();
    let list = change.inline_qos.as_ref().filter(|_| !is_end)?;
    let (high, low) = params::find_in_open_list(list, pid::COHERENT_SET)?.split_first_chunk::<4>()?;
    let high = i64::from(i32::from_le_bytes(*high)) << 32;
    Some(SequenceNumber(high | i64::from(u32::from_le_bytes(low.try_into().ok()?))))
}
