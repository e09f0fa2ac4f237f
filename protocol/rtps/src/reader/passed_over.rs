//! What a reader passed over: what a GAP has said of changes that no HEARTBEAT had announced (RTPS 2.5 §8.3.8.4). Somebody else may have
//! said it in the name of the writer, so a HEARTBEAT that says less takes it back. It may also be older than the GAP: then the
//! writer says again what will not come, if it still has it, and a HEARTBEAT behind that confirms it.

use dunlin_core::{Duration, MonoTime, SequenceNumber, SnRange, SnRanges};

use super::suspect::Suspect;
use crate::lazy::StaticDefault;

/// A HEARTBEAT that is so much older than a GAP is not on the way any more.
const ON_THE_WAY: Duration = Duration::from_secs(1);
/// A change that is still called irrelevant after so long, and has not come, is.
const INSISTS: Duration = Duration::from_secs(1);
/// Intervals kept. What is beyond them counts as lost when it is gone.
const MAX_INTERVALS: usize = 64;

/// What a HEARTBEAT says of GAPs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// They hold.
    Holds,
    /// From here on they do not.
    Contradicted(SequenceNumber),
}

/// What was passed over, since a change was last delivered, because of what may not be the writer's word.
#[derive(Clone, Debug, Default)]
pub(super) struct PassedOver {
    /// The first change passed over at once with more than any writer has in flight.
    skipped_from: Option<SequenceNumber>,
    /// The first change passed over because a GAP named what no HEARTBEAT had announced.
    passed_from: Option<SequenceNumber>,
    /// What GAPs have said that reached beyond all HEARTBEATs: from the first change that one of them named to the last.
    claim: Option<SnRange>,
    pub(super) suspect: Suspect,
    /// Where the reader went back to last, and when for the first time.
    taken_back: Option<(SequenceNumber, MonoTime)>,
    /// What was taken back. It is asked for again, but nobody has lost it if it was irrelevant indeed and is gone.
    doubted: SnRanges,
    until: MonoTime,
}

impl StaticDefault for PassedOver {
    const STATIC_DEFAULT: &'static Self = &Self {
        skipped_from: None,
        passed_from: None,
        claim: None,
        suspect: Suspect::NOTHING,
        taken_back: None,
        doubted: SnRanges::new(),
        until: MonoTime(0),
    };
}

impl PassedOver {
    /// Changes from this one on are passed over, more than any writer has in flight.
    pub(super) fn skip(&mut self, from: SequenceNumber) {
        self.skipped_from.get_or_insert(from);
    }

    pub(super) const fn skipped_from(&self) -> Option<SequenceNumber> {
        self.skipped_from
    }

    /// Changes from this one on are passed over, because a GAP ahead of all HEARTBEATs names them.
    pub(super) fn pass(&mut self, from: SequenceNumber) {
        self.passed_from.get_or_insert(from);
    }

    /// Something was delivered: what was passed over before is not taken back any more.
    pub(super) fn deliver(&mut self) {
        (self.skipped_from, self.passed_from) = (None, None);
        self.suspect.contradict();
    }

    /// A GAP has named an interval that ends behind all HEARTBEATs.
    pub(super) fn claim(&mut self, expected: SequenceNumber, range: SnRange) {
        let before = self.claim.filter(|before| before.last >= expected).unwrap_or(range);
        self.claim = Some(SnRange::new(before.first.min(range.first), before.last.max(range.last)));
    }

    pub(super) const fn unclaim(&mut self) {
        self.claim = None;
    }

    /// Whether only such a GAP says that a change will not come.
    pub(super) fn is_claimed(&self, sn: SequenceNumber) -> bool {
        self.claim.is_some_and(|claim| claim.first <= sn && sn <= claim.last)
    }

    /// From where on in an interval only such GAPs say that it will not come.
    pub(super) fn claimed_from(&self, range: SnRange) -> Option<SequenceNumber> {
        let claim = self.claim.filter(|claim| claim.first <= range.last && range.first <= claim.last)?;
        Some(claim.first.max(range.first))
    }

    /// What the writer says by having changes up to `last` about the GAPs that reached beyond its HEARTBEATs.
    pub(super) fn judge(&mut self, now: MonoTime, expected: SequenceNumber, last: SequenceNumber) -> Word {
        let Some(claim) = self.claim.take().filter(|claim| claim.last > last && claim.last >= expected)
        else {
            return Word::Holds;
        };
        let from = claim.first.max(expected);
        let insists = from <= last && from == expected && self.insists(now, from);
        Word::Contradicted(if insists { last.next() } else { from })
    }

    /// The writer says that it has changes up to `last`, and `expected` would be the next. From where on it is asked, if changes were
    /// passed over.
    pub(super) fn take_back(
        &mut self,
        now: MonoTime,
        expected: SequenceNumber,
        last: SequenceNumber,
    ) -> Option<SequenceNumber> {
        let from = self.passed_from.take().filter(|_| expected > last.next())?;
        let resume = if self.insists(now, from) { from.max(last.next()) } else { from };
        self.doubt(now, SnRange::new(resume, expected.previous()));
        Some(resume)
    }

    /// Whether a change has been asked for so long that a repair would have come: then what calls it irrelevant again and again is the
    /// writer, although its HEARTBEATs never reach as far.
    fn insists(&mut self, now: MonoTime, from: SequenceNumber) -> bool {
        match self.taken_back {
            Some((sn, since)) if sn == from => now.since(since) >= INSISTS,
            _ => {
                self.taken_back = Some((from, now));
                false
            }
        }
    }

    /// Takes note that the word about a change does not hold.
    pub(super) fn doubt(&mut self, now: MonoTime, range: SnRange) {
        if now >= self.until {
            self.doubted.clear();
        }
        self.doubted.insert(range, MAX_INTERVALS);
        self.until = now.plus(ON_THE_WAY);
    }

    /// How many changes of an interval are not known to be lost although they are gone.
    pub(super) fn not_lost(&self, now: MonoTime, range: SnRange) -> u64 {
        if now < self.until { self.doubted.count_within(range) } else { 0 }
    }
}
