//! RTPS 2.5 §8.3.8.6 Heartbeat, §8.4.9.2 "announcing" state: what HEARTBEATs say, and when readers are asked for an
//! acknowledgment.

use dunlin_core::{Duration, EntityId, MonoTime, SequenceNumber};
use dunlin_wire::{Heartbeat, HeartbeatFrag, HeartbeatGroup, size};

use super::readers::{ReaderProxy, Readers};
use crate::timing::{arm, is_due};
use crate::{WriterConfig, WriterHistory};

/// Least time from the last new data to the question for it.
const LEAST_TAIL: Duration = Duration::from_millis(3);

/// Least time between questions to readers that delay their answers: twice as long as those wait unless they are told otherwise.
const DELAYED: Duration = Duration::from_millis(12);
/// The same where they do not answer even so.
const MOST_DELAYED: Duration = Duration::from_millis(250);

/// Where a writer is with its counts of HEARTBEAT and HEARTBEAT_FRAG (RTPS 2.5 §8.3.8.6, §8.3.8.7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeartbeatCounts {
    heartbeat: i32,
    fragments: i32,
}

impl HeartbeatCounts {
    /// The greater of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            heartbeat: self.heartbeat.max(other.heartbeat),
            fragments: self.fragments.max(other.fragments),
        }
    }
}

/// What a writer announces, and when it asks.
///
/// Order of calls with new data: [`heartbeat`](Self::heartbeat), [`asks_with`](Self::asks_with), if so
/// [`note_question`](Self::note_question), then [`data_left`](Self::data_left). On its own: [`soon`](Self::soon) when a reader
/// has moved, and when it is due [`asks_now`](Self::asks_now), and [`asked`](Self::asked) with the HEARTBEAT.
#[derive(Clone, Debug)]
pub(super) struct Announcements {
    // What they say
    writer_id: EntityId,
    counts: HeartbeatCounts,
    /// Of the publisher.
    group: Option<HeartbeatGroup>,

    // Configuration: see `WriterConfig`
    period: Duration,
    max_period: Duration,
    ask_samples: u32,
    ask_period: Duration,

    // When to ask
    /// When the next HEARTBEAT of its own leaves.
    due: Option<MonoTime>,
    /// Time between HEARTBEATs of their own.
    interval: Duration,
    /// When an acknowledgment was last asked for.
    asked_at: Option<MonoTime>,
    samples_since: u32,
    /// When new data last left.
    pushed_at: Option<MonoTime>,
    /// How long after that the readers are asked for the last of it.
    tail: Duration,
    fragments_announced_at: Option<MonoTime>,
    /// So long after a question there is no other HEARTBEAT; zero unless a reader needs that.
    silence: Duration,
}

/// What they say.
impl Announcements {
    pub(super) fn new(cfg: &WriterConfig) -> Self {
        Self {
            writer_id: cfg.guid.entity_id,
            counts: HeartbeatCounts::default(),
            group: None,
            period: cfg.heartbeat_period,
            max_period: cfg.heartbeat_max_period,
            ask_samples: cfg.ack_request_samples,
            ask_period: cfg.ack_request_period,
            due: None,
            interval: cfg.heartbeat_period,
            asked_at: None,
            samples_since: 0,
            pushed_at: None,
            tail: cfg.heartbeat_period,
            fragments_announced_at: None,
            silence: Duration::ZERO,
        }
    }

    pub(super) fn counts(&self) -> HeartbeatCounts {
        self.counts
    }

    /// Goes on where another writer of this GUID has ended.
    pub(super) fn continue_counts(&mut self, counts: HeartbeatCounts) {
        self.counts = counts;
    }

    pub(super) fn set_group(&mut self, group: Option<HeartbeatGroup>) {
        self.group = group;
    }

    /// Whether HEARTBEATs say anything of the publisher.
    #[inline]
    pub(super) fn are_of_a_group(&self) -> bool {
        self.group.is_some()
    }

    /// Octets of a HEARTBEAT, at most.
    #[inline]
    pub(super) fn heartbeat_len(&self) -> usize {
        if self.group.is_some() { size::HEARTBEAT_OF_GROUP } else { size::HEARTBEAT }
    }

    /// A HEARTBEAT about changes up to `last`, which asks for an acknowledgment.
    pub(super) fn heartbeat(
        &mut self,
        reader_id: EntityId,
        last: SequenceNumber,
        history: &dyn WriterHistory,
    ) -> Heartbeat {
        self.counts.heartbeat = self.counts.heartbeat.wrapping_add(1);
        let first = history.first_sn().unwrap_or(last.next());
        Heartbeat {
            reader_id,
            writer_id: self.writer_id,
            // Changes above `last` are not announced yet, so the first announced is at most the one after it.
            first_sn: first.min(last.next()),
            last_sn: last,
            count: self.counts.heartbeat,
            final_flag: false,
            liveliness_flag: false,
            group: self.group.filter(|_| last >= history.last_sn()),
        }
    }

    /// How much of a change that is just being sent has left, up to the fragment before `next`; nothing if none has.
    pub(super) fn heartbeat_frag(
        &mut self,
        now: MonoTime,
        sn: SequenceNumber,
        next: u32,
    ) -> Option<HeartbeatFrag> {
        let last_fragment_num = next.checked_sub(1).filter(|last| *last > 0)?;
        self.fragments_announced_at = Some(now);
        self.counts.fragments = self.counts.fragments.wrapping_add(1);
        Some(HeartbeatFrag {
            reader_id: EntityId::UNKNOWN,
            writer_id: self.writer_id,
            writer_sn: sn,
            last_fragment_num,
            count: self.counts.fragments,
        })
    }
}

/// When to ask.
impl Announcements {
    /// When the next HEARTBEAT of its own leaves.
    #[inline]
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        self.due
    }

    /// Whether the HEARTBEAT that travels with so many new changes asks for an acknowledgment.
    pub(super) fn asks_with(&mut self, now: MonoTime, count: u32) -> bool {
        self.samples_since = self.samples_since.saturating_add(count);
        let ask = self.samples_since >= self.ask_samples || passed(self.asked_at, now, self.ask_period);
        let ask = ask && self.may_ask(now);
        if ask {
            self.asked(now);
        }
        ask
    }

    /// All readers are asked for an acknowledgment of a change that leaves now. Until the farthest can have answered twice,
    /// the last of the data is not asked for again; while that is unknown, `heartbeat_period` has to do.
    pub(super) fn note_question(&mut self, now: MonoTime, sn: SequenceNumber, readers: &mut Readers) {
        self.note_delays(now, readers);
        let mut tail = LEAST_TAIL;
        for proxy in readers.iter_mut() {
            proxy.round_trip.sent(now, sn);
            proxy.asked(now);
            if proxy.reliable {
                let round_trip = proxy.round_trip.window();
                tail = tail.max(if round_trip > Duration::ZERO { round_trip.times(2) } else { self.period });
            }
        }
        self.tail = tail.min(self.period);
    }

    /// Derives from the readers how long to be silent after a question. Those that delay their answers need that; if one
    /// leaves them out even so, it has a longer delay, and is given more time each time.
    pub(super) fn note_delays(&mut self, now: MonoTime, readers: &Readers) {
        let needed = |proxy: &ReaderProxy| {
            let unanswered = proxy.silence.as_ref().and_then(|silence| silence.unanswered);
            let waited = unanswered.map_or(0, |since| now.since(since).as_nanos());
            Duration::from_nanos(waited / 4).max(DELAYED).min(MOST_DELAYED)
        };
        let delaying = readers.iter().filter(|proxy| proxy.delays_answers());
        self.silence = delaying.map(needed).max().unwrap_or(Duration::ZERO);
    }

    /// Whether a question may leave: a reader that delays its answer has had the time for it.
    #[inline]
    pub(super) fn may_ask(&self, now: MonoTime) -> bool {
        passed(self.asked_at, now, self.silence)
    }

    /// Whether HEARTBEATs that ask for nothing are left out.
    #[inline]
    pub(super) fn only_ask(&self) -> bool {
        self.silence > Duration::ZERO
    }

    /// New data leaves now.
    pub(super) fn data_left(&mut self, now: MonoTime) {
        self.pushed_at = Some(now);
        self.interval = self.tail;
        arm(&mut self.due, now.plus(self.interval));
    }

    /// Brings the next HEARTBEAT close again, because a reader has moved.
    pub(super) fn soon(&mut self, now: MonoTime) {
        self.interval = self.period;
        arm(&mut self.due, now.plus(self.interval));
    }

    /// Whether to ask readers now for changes up to `pushed`: only while one has something to acknowledge, ever less often
    /// while nothing changes.
    pub(super) fn asks_now(&mut self, now: MonoTime, pushed: SequenceNumber, readers: &Readers) -> bool {
        if !is_due(self.due, now) {
            return false;
        }
        self.due = None;
        if !readers.iter().any(|proxy| proxy.is_asked(pushed)) {
            return false;
        }
        if let Some(later) = self.asked_lately(now) {
            self.due = Some(later);
            return false;
        }
        self.interval = self.interval.times(2).min(self.max_period);
        self.due = Some(now.plus(self.interval));
        true
    }

    /// When to ask, if that is not now: readers were asked not long ago. What left after that and is the last was not asked
    /// for, so they are asked as soon as nothing has followed for a moment.
    fn asked_lately(&self, now: MonoTime) -> Option<MonoTime> {
        let asked_at = self.asked_at?;
        let mut due = asked_at.plus(self.interval);
        if let Some(pushed_at) = self.pushed_at.filter(|at| *at >= asked_at) {
            due = pushed_at.plus(self.tail).min(asked_at.plus(self.period)).max(due);
        }
        due = due.max(asked_at.plus(self.silence));
        (due > now).then_some(due)
    }

    /// All readers are asked now.
    pub(super) fn asked(&mut self, now: MonoTime) {
        self.asked_at = Some(now);
        self.samples_since = 0;
    }

    /// Whether to announce the fragments that have left while the rest is held back: now and then, unless something else has.
    pub(super) fn announces_fragments(&self, now: MonoTime) -> bool {
        passed(self.fragments_announced_at, now, self.period)
    }
}

/// Whether `interval` has passed since an event that may never have happened.
fn passed(since: Option<MonoTime>, now: MonoTime, interval: Duration) -> bool {
    since.is_none_or(|at| now.since(at) >= interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::{History, WRITER};

    fn announcements() -> Announcements {
        Announcements::new(&WriterConfig { guid: WRITER, ..Default::default() })
    }

    fn at(ms: u64) -> MonoTime {
        MonoTime(ms * 1_000_000)
    }

    #[test]
    fn a_heartbeat_requests_an_acknack_after_a_number_of_samples_or_a_time() {
        let mut announcements = announcements();
        assert!(announcements.asks_with(at(0), 1), "never asked before");
        assert!(!announcements.asks_with(at(9), 63));
        assert!(announcements.asks_with(at(9), 1), "64 samples");
        assert!(announcements.asks_with(at(19), 1), "10 ms");
    }

    #[test]
    fn heartbeat_counts_rise_and_go_on_at_a_successor() {
        let (mut first, mut second) = (announcements(), announcements());
        let history = History::default();
        first.heartbeat(EntityId::UNKNOWN, SequenceNumber::ZERO, &history);
        second.continue_counts(first.counts());
        let heartbeat = second.heartbeat(EntityId::UNKNOWN, SequenceNumber(3), &history);
        assert_eq!((heartbeat.count, heartbeat.first_sn.0, heartbeat.last_sn.0), (2, 4, 3));
        assert_eq!(second.heartbeat_frag(at(1), SequenceNumber(4), 1), None, "no fragment has left");
        assert!(second.announces_fragments(at(1)));
        let frag = second.heartbeat_frag(at(1), SequenceNumber(4), 3).unwrap();
        assert!(
            !second.announces_fragments(at(10)) && second.announces_fragments(at(11)),
            "once in a period"
        );
        assert_eq!((frag.last_fragment_num, frag.count), (2, 1));
    }

    #[test]
    fn without_readers_no_heartbeat_is_sent() {
        let mut announcements = announcements();
        announcements.soon(at(0));
        assert_eq!(announcements.deadline(), Some(at(10)));
        assert!(!announcements.asks_now(at(9), SequenceNumber(1), &Readers::default()));
        assert_eq!(announcements.deadline(), Some(at(10)), "not due");
        assert!(!announcements.asks_now(at(10), SequenceNumber(1), &Readers::default()));
        assert_eq!(announcements.deadline(), None);
    }
}
