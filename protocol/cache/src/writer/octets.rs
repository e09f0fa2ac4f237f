//! DDS 1.4 §2.2.3.14, §2.2.3.18: octets of the payloads in a writer's history: all of them, or those that readers have not acknowledged.

use dunlin_core::{Counter, SequenceNumber};
use dunlin_rtps::{Change, WriterHistory};

use super::WriterCache;

/// The octets of the changes behind one of them.
#[derive(Debug, Default)]
pub(super) struct Octets {
    behind: SequenceNumber,
    sum: Counter,
}

/// Octets of memory of its own that a change holds: none where the payload is lent.
#[inline]
fn held(change: &Change) -> usize {
    change.payload.as_ref().filter(|payload| payload.memory().is_none()).map_or(0, |payload| payload.len())
}

impl Octets {
    #[inline]
    pub(super) fn added(&mut self, change: &Change) {
        self.sum.add(held(change));
    }

    #[inline]
    pub(super) fn removed(&mut self, change: &Change) {
        if change.sn > self.behind {
            self.sum.subtract(held(change));
        }
    }
}

impl WriterCache {
    /// Octets of payloads in the history, without what [`octets_behind`](Self::octets_behind) was told is acknowledged.
    #[must_use]
    #[inline]
    pub fn octets(&self) -> usize {
        self.octets.sum.get()
    }

    /// Octets of payloads behind the change `acked`. What was acknowledged once counts no more, although acknowledged changes
    /// may stay for late joiners. Looks at each change once.
    pub fn octets_behind(&mut self, acked: SequenceNumber) -> usize {
        let mut next = self.octets.behind.next();
        while next <= acked
            && let Some(sn) = self.next_at_or_after(next).filter(|sn| *sn <= acked)
        {
            let len = self.get(sn).map_or(0, held);
            self.octets.sum.subtract(len);
            next = sn.next();
        }
        self.octets.behind = self.octets.behind.max(acked);
        self.octets.sum.get()
    }
}
