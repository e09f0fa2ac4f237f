//! RTPS 2.5 §8.3.8.6 Heartbeat, §8.3.8.7 HeartbeatFrag and the "announcing" state of §8.4.9.2: what a writer tells its
//! readers, and when it asks for an acknowledgment.

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, MonoTime, Now, SequenceNumber, SnRange};
use dunlin_wire::{Heartbeat, HeartbeatFrag, size};

use super::readers::ReaderProxy;
use super::withhold::{count_after, with_count};
use super::{HeartbeatCounts, Writer};
use crate::WriterHistory;
use crate::proxy_index::ProxyIndex;
use crate::timing::is_due;

/// A group is used for what not all of its members want if at least one in so many of all readers does.
pub(super) const GROUP_SHARE: usize = 4;

impl Writer {
    /// Where its counts are, for a writer that takes its place.
    #[must_use]
    pub fn heartbeat_counts(&self) -> HeartbeatCounts {
        self.announcements.counts()
    }

    /// Goes on where another writer of this GUID has ended, before any reader is matched: readers that still know that one
    /// take no HEARTBEAT with a count that they have seen.
    pub fn continue_counts(&mut self, counts: HeartbeatCounts) {
        self.announcements.continue_counts(counts);
    }

    /// A HEARTBEAT about changes up to `last`, which asks for an acknowledgment.
    pub(super) fn announce(
        &mut self,
        reader_id: EntityId,
        last: SequenceNumber,
        history: &dyn WriterHistory,
    ) -> Heartbeat {
        self.stats.heartbeats_sent = self.stats.heartbeats_sent.saturating_add(1);
        self.announcements.heartbeat(reader_id, last, history)
    }

    /// The HEARTBEAT that travels with `count` new changes up to `sn`, if any reader is reliable. It asks for an acknowledgment only now
    /// and then: the others let readers notice losses at once, and are left out where a reader would not answer then.
    pub(super) fn piggyback(
        &mut self,
        now: MonoTime,
        sn: SequenceNumber,
        count: u32,
        history: &dyn WriterHistory,
    ) -> Option<Heartbeat> {
        if !self.readers.acknowledge_any() {
            return None;
        }
        let ask = self.announcements.asks_with(now, count);
        let heartbeat = (ask || !self.announcements.only_ask())
            .then(|| Heartbeat { final_flag: !ask, ..self.announce(EntityId::UNKNOWN, sn, history) });
        if ask {
            self.announcements.note_question(now, sn, &mut self.readers);
            self.inactivity.await_answers(now);
        }
        self.announcements.data_left(now);
        heartbeat
    }

    /// Brings the next HEARTBEAT close again, because a reader has moved.
    pub(super) fn heartbeat_soon(&mut self, now: MonoTime) {
        self.announcements.soon(now);
    }

    /// Sends the HEARTBEATs that are due.
    pub(super) fn heartbeats_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if self.announcements.asks_now(now, self.transmission.pushed(), &self.readers) {
            self.ask_all(now, history, out);
        }
    }

    /// Asks every reader that has not acknowledged everything to do so now. For a caller that waits for
    /// acknowledgments or for room in the history.
    pub fn request_acknowledgments(&mut self, now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        self.hurry(now.mono, history, out);
        self.heartbeat_soon(now.mono);
        if self.announcements.may_ask(now.mono) {
            self.ask_all(now.mono, history, out);
        }
    }

    fn ask_all(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        let pushed = self.transmission.pushed();
        let needs = |proxy: &ReaderProxy| proxy.is_asked(pushed);
        let mut needing = self.readers.iter().enumerate().filter(|(_, proxy)| needs(proxy));
        let Some((index, _)) = needing.next() else { return };
        let more = needing.count();
        self.readers.iter_mut().filter(|proxy| proxy.is_asked(pushed)).for_each(|proxy| proxy.asked(now));
        self.announcements.note_delays(now, &self.readers);
        self.inactivity.await_answers(now);
        if more == 0 {
            self.announce_withheld(ProxyIndex::new(index), true, history, out);
        } else {
            self.announce_all_withheld(history, out);
            let heartbeat = self.announce(EntityId::UNKNOWN, self.transmission.on_wire(), history);
            // Everybody who gets it answers.
            let by_group = more.saturating_mul(GROUP_SHARE) >= self.readers.len();
            let mut message = self.framing.begin(out);
            message.heartbeat(&heartbeat);
            message.finish(self.readers.cover(by_group, needs));
        }
        self.announcements.asked(now);
    }

    /// Sends one reader the GAPs in `self.gaps`, about what was `filtered` or is not there, and a HEARTBEAT of its own behind
    /// them if wanted, which it has to answer unless it has acknowledged everything. A reader that may not know yet which
    /// changes were written before it came is told that too.
    pub(super) fn tell(
        &mut self,
        index: ProxyIndex,
        filtered: bool,
        with_heartbeat: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.readers.get(index) else { return };
        let guid = proxy.guid();
        let told = self.gaps.first().is_some_and(|gap| gap.first <= proxy.start);
        if with_heartbeat && !proxy.start_known && !told {
            self.gaps.insert(0, SnRange::new(SequenceNumber::FIRST, proxy.start));
        }
        let complete = !proxy.needs_heartbeat(self.transmission.pushed());
        let last = proxy.announced_through(self.transmission.on_wire());
        let heartbeat = with_heartbeat
            .then(|| Heartbeat { final_flag: complete, ..self.announce(guid.entity_id, last, history) });
        if self.gaps.is_empty() && heartbeat.is_none() {
            return;
        }
        let Some(proxy) = self.readers.get(index) else { return };
        let mut rest = self.gaps.as_slice();
        let mut message = self.framing.begin(out);
        message.info_dst(guid.prefix);
        while let Some((gap, used)) = crate::emit::gap(self.cfg.guid.entity_id, guid.entity_id, rest) {
            let count = count_after(proxy.start, rest.get(..used).unwrap_or(&[]));
            let gap = if filtered { with_count(gap, proxy.cfg.vendor, count) } else { gap };
            rest = rest.get(used..).unwrap_or(&[]);
            // Leave room for the HEARTBEAT.
            let len = message
                .len()
                .saturating_add(size::GAP_MAX)
                .saturating_add(self.announcements.heartbeat_len());
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
    pub(super) fn owe_reply(&mut self, now: MonoTime, index: ProxyIndex) {
        let Some(proxy) = self.readers.get_mut(index) else { return };
        proxy.owe_reply(now);
        let due = proxy.deadline();
        self.repairs.arm(due);
    }

    /// Sends the HEARTBEAT a reader is owed, if it is time.
    pub(super) fn reply_if_due(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.readers.get_mut(index) else { return };
        if !is_due(proxy.reply_due, now) {
            return;
        }
        proxy.replied(now);
        self.announce_withheld(index, true, history, out);
        self.heartbeat_soon(now);
    }

    /// Tells readers how much of a change has left while the pacer holds the rest back, so that they need not wait for
    /// its end to ask for what is missing.
    pub(super) fn announce_fragments(&mut self, now: MonoTime, sn: SequenceNumber, out: &mut Outbox) {
        if !self.readers.acknowledge_any() || !self.announcements.announces_fragments(now) {
            return;
        }
        let Some(heartbeat) = self.heartbeat_frag(now, sn) else { return };
        let mut message = self.framing.begin(out);
        message.heartbeat_frag(&heartbeat);
        message.finish(self.readers.routes());
    }

    /// How much of a change that is just being sent has left; nothing if none has.
    pub(super) fn heartbeat_frag(&mut self, now: MonoTime, sn: SequenceNumber) -> Option<HeartbeatFrag> {
        let heartbeat = self.announcements.heartbeat_frag(now, sn, self.transmission.next_fragment())?;
        self.stats.heartbeat_frags_sent = self.stats.heartbeat_frags_sent.saturating_add(1);
        Some(heartbeat)
    }

    /// Asserts the writer's liveliness towards all readers (RTPS 2.5 §8.4.13, LIVELINESS MANUAL_BY_TOPIC).
    pub fn assert_liveliness(&mut self, _now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        let last = self.transmission.on_wire();
        self.refresh_routes();
        let heartbeat = self.announce(EntityId::UNKNOWN, last, history);
        let mut message = self.framing.begin(out);
        message.heartbeat(&Heartbeat { final_flag: true, liveliness_flag: true, ..heartbeat });
        message.finish(self.readers.routes());
    }
}
