//! How far one stream has come: what one writer sends to one reader (DDS 1.4 §2.2.3.6 PRESENTATION; RTPS 2.5 §8.7.6).

use dunlin_core::{Duration, EntityId, Guid, MonoTime, SequenceNumber, SnRange, SnRanges};

use super::{End, Place, Stream};

/// Time from the first question of a writer how far it is to the second; it doubles with each that changes nothing.
const ASKED_AGAIN: Duration = Duration::from_millis(2);
/// Longest time between such questions.
const ASKED_RARELY: Duration = Duration::from_millis(256);

/// Most intervals with something missing, of one stream. Beyond them what lies between the last two counts with them.
pub(super) const MAX_HOLES: usize = 256;

#[derive(Debug)]
pub(super) struct Progress {
    pub(super) writer: Guid,
    pub(super) reader: EntityId,
    pub(super) reliable: bool,
    /// The reader wants what was written before it came.
    pub(super) durable: bool,
    pub(super) last_sn: Option<SequenceNumber>,
    /// The number of that.
    pub(super) last_number: SequenceNumber,
    /// Nothing up to this number is to come.
    pub(super) passed: SequenceNumber,
    /// The last number with which the publisher said that it has the writer, as long as nothing has come from that itself.
    pub(super) named: Option<SequenceNumber>,
    /// Something that was meant for the reader is gone: it can tell what it has not got from what was never for it.
    pub(super) lacks: bool,
    /// Numbers among which some are missing, in each interval. What is repaired comes with all its holes before any of it is shown.
    pub(super) holes: SnRanges,
    /// When the writer was lost, its publisher was at this number. It had a part in sets up to here at most, unless it is gone:
    /// then what it wrote behind that may be gone with it.
    pub(super) lost_at: Option<SequenceNumber>,
    /// The last question how far it is.
    asked: Option<Asked>,
}

/// A writer was asked whether it has come this far.
#[derive(Clone, Copy, Debug)]
struct Asked {
    needed: SequenceNumber,
    /// When it may be asked that again.
    again_at: MonoTime,
    /// The time to that.
    wait: Duration,
}

impl Progress {
    /// A reader has met a writer.
    pub(super) fn new(stream: Stream, reliable: bool, durable: bool) -> Self {
        Self {
            writer: stream.writer,
            reader: stream.reader,
            reliable,
            durable,
            last_sn: None,
            last_number: SequenceNumber::ZERO,
            passed: SequenceNumber::ZERO,
            named: None,
            lacks: false,
            holes: SnRanges::new(),
            lost_at: None,
            asked: None,
        }
    }

    /// When it may be asked whether it has come this far; at once if that is a new question.
    pub(super) fn may_be_asked(&self, needed: SequenceNumber) -> MonoTime {
        self.asked.filter(|asked| asked.needed == needed).map_or(MonoTime(0), |asked| asked.again_at)
    }

    pub(super) fn note_asked(&mut self, now: MonoTime, needed: SequenceNumber) {
        let before = self.asked.filter(|asked| asked.needed == needed);
        let wait = before.map_or(ASKED_AGAIN, |asked| asked.wait.times(2).min(ASKED_RARELY));
        self.asked = Some(Asked { needed, again_at: now.plus(wait), wait });
    }

    /// Whether a change arrived without one before it that was meant for the reader.
    pub(super) fn misses(&self, place: &Place) -> bool {
        match self.last_sn {
            Some(last) => place.sn > last.next(),
            None => {
                self.lacks
                    || place.set_at_writer.is_some_and(|first| first < place.sn)
                    || (self.durable && place.sn > SequenceNumber::FIRST)
            }
        }
    }

    /// Whether what it lacks may be anything that it has not passed, also before the first change that came to the reader.
    pub(super) fn misses_from_the_start(&self) -> bool {
        self.last_sn.is_some() || self.durable || self.lacks
    }

    pub(super) fn alive(&self) -> bool {
        self.lost_at.is_none()
    }

    /// Whether it can say more than it has, about what is needed.
    pub(super) fn is_behind(&self, needed: SequenceNumber) -> bool {
        self.alive() && self.reliable && self.passed < needed
    }

    /// Whether nothing of a set is still to come.
    pub(super) fn has_passed(&self, end: &End) -> bool {
        self.passed >= end.after.previous()
    }

    /// Whether a set may lack a change of this writer.
    pub(super) fn tears(&self, set: SequenceNumber, end: &End) -> bool {
        let inside = SnRange::new(set, end.after.previous());
        (self.alive() && !self.has_passed(end)) || self.holes.count_within(inside) > 0
    }

    /// Whether anything has come from the writer.
    pub(super) fn heard(&self) -> bool {
        self.passed > SequenceNumber::ZERO
    }

    /// Since when, by the numbers of the publisher, the writer may have gone, if it is lost. Changes that come `late`, when they are
    /// repaired, are perhaps from before it was created: unless they have named it, they do not tell.
    pub(super) fn last_sign(&self, late: bool) -> Option<SequenceNumber> {
        let lost_at = self.lost_at?;
        match (self.heard(), late) {
            (true, _) => Some(self.passed),
            (false, true) => self.named,
            (false, false) => Some(lost_at),
        }
    }

    /// It is lost and has no part in anything behind that.
    pub(super) fn ends_where_lost(&mut self) {
        if let Some(last) = self.lost_at {
            self.holes.remove_from(last.next());
        }
    }

    pub(super) fn note_hole(&mut self, hole: SnRange) {
        if !self.holes.insert(hole, MAX_HOLES) {
            let last = self.holes.last().unwrap_or(hole.first);
            self.holes.insert(SnRange::new(last.min(hole.first), last.max(hole.last)), MAX_HOLES);
        }
    }
}
