//! RTPS 2.5 §8.3.8.6 Heartbeat, §8.3.8.7 HeartbeatFrag and the "announcing" state of §8.4.9.2: what a writer tells its
//! readers, and when it asks for an acknowledgment.

use super::Writer;
use super::filtering::{count_after, with_count};
use super::proxy::ReaderProxy;
use crate::timing::{arm, is_due};
use crate::{WriterConfig, WriterHistory};
use dunlin_buf::Outbox;
use dunlin_core::{Duration, EntityId, MonoTime, Now, SequenceNumber, SnRange};
use dunlin_wire::{Heartbeat, HeartbeatFrag, size};

/// Answers to ACKNACKs of one reader are at least this far apart, so that two peers that answer each other do not spin.
const REPLY_INTERVAL: Duration = Duration::from_millis(1);

/// Least time from the last new data to the question for it.
const LEAST_TAIL: Duration = Duration::from_millis(3);

/// A group is used for what not all of its members want if at least one in so many of all readers does.
pub(super) const GROUP_SHARE: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct HeartbeatState {
    count: i32,
    fragment_count: i32,
    /// When the next HEARTBEAT of its own leaves.
    pub(super) due: Option<MonoTime>,
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
}

impl HeartbeatState {
    pub(super) fn new(cfg: &WriterConfig) -> Self {
        Self {
            count: 0,
            fragment_count: 0,
            due: None,
            interval: cfg.heartbeat_period,
            asked_at: None,
            samples_since: 0,
            pushed_at: None,
            tail: cfg.heartbeat_period,
            fragments_announced_at: None,
        }
    }

    /// When to ask, if that is not now: readers were asked not long ago. What left after that and is the last was not asked
    /// for, so they are asked as soon as nothing has followed for a moment.
    fn asked_lately(&self, now: MonoTime, period: Duration) -> Option<MonoTime> {
        let asked_at = self.asked_at?;
        let mut due = asked_at.plus(self.interval);
        if let Some(pushed_at) = self.pushed_at.filter(|at| *at >= asked_at) {
            due = pushed_at.plus(self.tail).min(asked_at.plus(period)).max(due);
        }
        (due > now).then_some(due)
    }

    fn asked(&mut self, now: MonoTime) {
        self.asked_at = Some(now);
        self.samples_since = 0;
    }
}

/// Whether `interval` has passed since an event that may never have happened.
fn passed(since: Option<MonoTime>, now: MonoTime, interval: Duration) -> bool {
    since.is_none_or(|at| now.since(at) >= interval)
}

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

impl Writer {
    /// Where its counts are, for a writer that takes its place.
    #[must_use]
    pub fn heartbeat_counts(&self) -> HeartbeatCounts {
        HeartbeatCounts { heartbeat: self.heartbeat.count, fragments: self.heartbeat.fragment_count }
    }

    /// Goes on where another writer of this GUID has ended, before any reader is matched: readers that still know that one
    /// take no HEARTBEAT with a count that they have seen.
    pub fn continue_counts(&mut self, counts: HeartbeatCounts) {
        self.heartbeat.count = counts.heartbeat;
        self.heartbeat.fragment_count = counts.fragments;
    }

    /// A HEARTBEAT about changes up to `last`, which asks for an acknowledgment.
    pub(super) fn announce(
        &mut self,
        reader_id: EntityId,
        last: SequenceNumber,
        history: &dyn WriterHistory,
    ) -> Heartbeat {
        self.heartbeat.count = self.heartbeat.count.wrapping_add(1);
        self.stats.heartbeats_sent = self.stats.heartbeats_sent.saturating_add(1);
        let first = history.first_sn().unwrap_or(last.next());
        Heartbeat {
            reader_id,
            writer_id: self.cfg.guid.entity_id,
            // Changes above `last` are not announced yet, so the first announced is at most the one after it.
            first_sn: first.min(last.next()),
            last_sn: last,
            count: self.heartbeat.count,
            final_flag: false,
            liveliness_flag: false,
            group: self.group.filter(|_| last >= history.last_sn()),
        }
    }

    /// The HEARTBEAT that travels with `count` new changes up to `sn`, if any reader is reliable. It asks for an acknowledgment only now
    /// and then: the others let readers notice losses at once.
    pub(super) fn piggyback(
        &mut self,
        now: MonoTime,
        sn: SequenceNumber,
        count: u32,
        history: &dyn WriterHistory,
    ) -> Option<Heartbeat> {
        if self.reliable_count == 0 {
            return None;
        }
        let mut heartbeat = self.announce(EntityId::UNKNOWN, sn, history);
        let state = &mut self.heartbeat;
        state.samples_since = state.samples_since.saturating_add(count);
        let ask = state.samples_since >= self.cfg.ack_request_samples
            || passed(state.asked_at, now, self.cfg.ack_request_period);
        if ask {
            state.asked(now);
            self.note_question(now, sn);
        }
        let state = &mut self.heartbeat;
        heartbeat.final_flag = !ask;
        state.pushed_at = Some(now);
        state.interval = state.tail;
        arm(&mut state.due, now.plus(state.interval));
        Some(heartbeat)
    }

    /// All readers are asked for an acknowledgment of a change that leaves now. Until the farthest can have answered twice,
    /// the last of the data is not asked for again; while that is unknown, `heartbeat_period` has to do.
    fn note_question(&mut self, now: MonoTime, sn: SequenceNumber) {
        let period = self.cfg.heartbeat_period;
        let mut tail = LEAST_TAIL;
        for proxy in &mut self.proxies {
            proxy.round_trip.sent(now, sn);
            proxy.asked(now);
            if proxy.reliable {
                let round_trip = proxy.round_trip.window();
                tail = tail.max(if round_trip > Duration::ZERO { round_trip.times(2) } else { period });
            }
        }
        self.heartbeat.tail = tail.min(period);
        self.await_answers(now);
    }

    /// Brings the next HEARTBEAT close again, because a reader has moved.
    pub(crate) fn heartbeat_soon(&mut self, now: MonoTime) {
        self.heartbeat.interval = self.cfg.heartbeat_period;
        arm(&mut self.heartbeat.due, now.plus(self.heartbeat.interval));
    }

    /// Sends the HEARTBEATs that are due: only while a reader has something to acknowledge, ever less often while
    /// nothing changes.
    pub(super) fn heartbeats_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if !is_due(self.heartbeat.due, now) {
            return;
        }
        self.heartbeat.due = None;
        let pushed = self.pushed;
        if !self.proxies.iter().any(|proxy| proxy.is_asked(pushed)) {
            return;
        }
        let state = &mut self.heartbeat;
        if let Some(later) = state.asked_lately(now, self.cfg.heartbeat_period) {
            state.due = Some(later);
            return;
        }
        state.interval = state.interval.times(2).min(self.cfg.heartbeat_max_period);
        state.due = Some(now.plus(state.interval));
        self.ask_all(now, history, out);
    }

    /// Asks every reader that has not acknowledged everything to do so now. For a caller that waits for
    /// acknowledgments or for room in the history.
    pub fn request_acknowledgments(&mut self, now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        self.hurry(now.mono, history, out);
        self.heartbeat_soon(now.mono);
        self.ask_all(now.mono, history, out);
    }

    fn ask_all(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        let pushed = self.pushed;
        let needs = |proxy: &ReaderProxy| proxy.is_asked(pushed);
        let mut needing = self.proxies.iter().enumerate().filter(|(_, proxy)| needs(proxy));
        let Some((index, _)) = needing.next() else { return };
        let more = needing.count();
        self.proxies.iter_mut().filter(|proxy| proxy.is_asked(pushed)).for_each(|proxy| proxy.asked(now));
        self.await_answers(now);
        if more == 0 {
            self.tell_untold(index, true, history, out);
        } else {
            self.tell_all_untold(history, out);
            // Everybody who gets it answers.
            let by_group = more.saturating_mul(GROUP_SHARE) >= self.proxies.len();
            self.cover.compute(&self.proxies, by_group, needs);
            let heartbeat = self.announce(EntityId::UNKNOWN, self.on_wire, history);
            let mut message = self.framing.begin(out);
            message.heartbeat(&heartbeat);
            message.finish(&self.cover.destinations);
        }
        self.heartbeat.asked(now);
    }

    /// Sends one reader the GAPs in `self.gaps`, about what was `filtered` or is not there, and a HEARTBEAT of its own behind
    /// them if wanted, which it has to answer unless it has acknowledged everything. A reader that may not know yet which
    /// changes were written before it came is told that too.
    pub(super) fn tell(
        &mut self,
        index: usize,
        filtered: bool,
        with_heartbeat: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.proxies.get(index) else { return };
        let guid = proxy.guid();
        let told = self.gaps.first().is_some_and(|gap| gap.first <= proxy.start);
        if with_heartbeat && !proxy.start_known && !told {
            self.gaps.insert(0, SnRange::new(SequenceNumber::FIRST, proxy.start));
        }
        let complete = !proxy.needs_heartbeat(self.pushed);
        let last = proxy.announced_through(self.on_wire);
        let heartbeat = with_heartbeat
            .then(|| Heartbeat { final_flag: complete, ..self.announce(guid.entity_id, last, history) });
        if self.gaps.is_empty() && heartbeat.is_none() {
            return;
        }
        let Some(proxy) = self.proxies.get(index) else { return };
        let mut rest = self.gaps.as_slice();
        let mut message = self.framing.begin(out);
        message.info_dst(guid.prefix);
        while let Some((gap, used)) = crate::emit::gap(self.cfg.guid.entity_id, guid.entity_id, rest) {
            let count = count_after(proxy.start, rest.get(..used).unwrap_or(&[]));
            let gap = if filtered { with_count(gap, proxy.cfg.vendor, count) } else { gap };
            rest = rest.get(used..).unwrap_or(&[]);
            // Leave room for the HEARTBEAT.
            let len = message.len().saturating_add(size::GAP_MAX).saturating_add(self.heartbeat_len());
            if len > self.cfg.max_message_size {
                message.finish(proxy.directed());
                message = self.framing.begin(out);
                message.info_dst(guid.prefix);
            }
            message.gap(&gap);
            self.stats.gaps_sent = self.stats.gaps_sent.saturating_add(1);
        }
        if let Some(heartbeat) = &heartbeat {
            message.heartbeat(heartbeat);
        }
        message.finish(proxy.directed());
    }

    /// Notes that a reader asked for a HEARTBEAT.
    pub(super) fn owe_reply(&mut self, now: MonoTime, index: usize) {
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        let at = proxy.replied_at.map_or(now, |at| at.plus(REPLY_INTERVAL).max(now));
        arm(&mut proxy.reply_due, at);
        let due = proxy.deadline();
        self.arm_repairs(due);
    }

    /// Sends the HEARTBEAT a reader is owed, if it is time.
    pub(super) fn reply_if_due(
        &mut self,
        now: MonoTime,
        index: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        if !is_due(proxy.reply_due, now) {
            return;
        }
        proxy.reply_due = None;
        proxy.replied_at = Some(now);
        self.tell_untold(index, true, history, out);
        self.heartbeat_soon(now);
    }

    /// Tells readers how much of a change has left while the pacer holds the rest back, so that they need not wait for
    /// its end to ask for what is missing.
    pub(super) fn announce_fragments(&mut self, now: MonoTime, sn: SequenceNumber, out: &mut Outbox) {
        if self.reliable_count == 0
            || !passed(self.heartbeat.fragments_announced_at, now, self.cfg.heartbeat_period)
        {
            return;
        }
        self.heartbeat.fragments_announced_at = Some(now);
        let Some(heartbeat) = self.heartbeat_frag(sn) else { return };
        let mut message = self.framing.begin(out);
        message.heartbeat_frag(&heartbeat);
        message.finish(&self.routes);
    }

    /// How much of a change that is just being sent has left; nothing if none has.
    pub(super) fn heartbeat_frag(&mut self, sn: SequenceNumber) -> Option<HeartbeatFrag> {
        let last_fragment_num = self.next_fragment.checked_sub(1).filter(|last| *last > 0)?;
        self.heartbeat.fragment_count = self.heartbeat.fragment_count.wrapping_add(1);
        self.stats.heartbeat_frags_sent = self.stats.heartbeat_frags_sent.saturating_add(1);
        Some(HeartbeatFrag {
            reader_id: EntityId::UNKNOWN,
            writer_id: self.cfg.guid.entity_id,
            writer_sn: sn,
            last_fragment_num,
            count: self.heartbeat.fragment_count,
        })
    }

    /// Asserts the writer's liveliness towards all readers (RTPS 2.5 §8.4.13, LIVELINESS MANUAL_BY_TOPIC).
    pub fn assert_liveliness(&mut self, _now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        let last = self.on_wire;
        self.refresh_routes();
        let heartbeat = self.announce(EntityId::UNKNOWN, last, history);
        let mut message = self.framing.begin(out);
        message.heartbeat(&Heartbeat { final_flag: true, liveliness_flag: true, ..heartbeat });
        message.finish(&self.routes);
    }
}
