//! RTPS 2.5 §8.4.9 "pushing" state: new changes go to all matched readers as soon as the pacer lets them.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Locator, MonoTime, Now, SequenceNumber, SnRange};
use dunlin_wire::{Heartbeat, MessageBuilder, size};

use super::Writer;
use super::lossless::{Progress, lent_in_batch};
use super::readers::{MAX_REQUEST_INTERVALS, ReaderState};
use super::transmission::Blocked;
use crate::emit::Framing;
use crate::{Change, ChangeKind, WriterHistory};

impl Writer {
    /// Sends a change that was just added to the history, and those before it that have not been sent yet, as far as
    /// the pacer allows; the rest leaves in [`on_timer`](Self::on_timer). So do changes that wait for more to come. A
    /// HEARTBEAT travels with every datagram.
    pub fn on_new_change(
        &mut self,
        now: Now,
        sn: SequenceNumber,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        // What has begun to leave is not held back: a large sample may have left in part.
        let leaving = !self.transmission.is_holding() && self.has_waiting_data();
        let behind =
            SnRange::new(self.transmission.last_sn().next().max(history.first_sn().unwrap_or(sn)), sn);
        self.transmission.written(sn);
        for proxy in self.readers.iter_mut().filter(|proxy| proxy.state == ReaderState::CatchingUp) {
            proxy.requests.made().whole.insert(behind, MAX_REQUEST_INTERVALS);
        }
        let paced = self.is_held_back(now.mono);
        let held_until = self.may_wait(now.mono, sn, history);
        match held_until.filter(|_| !paced && !leaving) {
            Some(due) => self.transmission.hold(due),
            None if paced => {}
            None => self.push(now.mono, history, out),
        }
    }

    /// Whether data waits for more of it.
    #[must_use]
    pub fn is_waiting_for_more(&self) -> bool {
        self.transmission.is_holding()
    }

    /// Whether a new sample with this payload, and nothing else, may wait with others, and how many octets it counts for among
    /// them; then it is [`joined`](Self::joined) instead of told as a [new change](Self::on_new_change).
    #[must_use]
    #[inline]
    pub fn may_join(&self, now: MonoTime, payload: &SharedBytes) -> Option<usize> {
        let len = payload.len();
        let (counts, fits) = if payload.memory().is_some() {
            (lent_in_batch(len), !self.readers.routes_are_stale() && self.is_zero_copy(Some(payload)))
        } else {
            let whole = size::HEADER.saturating_add(size::INFO_TS).saturating_add(size::data(0, len));
            (len, whole <= self.framing.max_message_size)
        };
        let joins = fits && self.transmission.may_join(now, counts) && !self.readers.catch_up();
        joins.then_some(counts)
    }

    /// Such a sample was added to the history, with this number.
    #[inline]
    pub fn joined(&mut self, now: MonoTime, sn: SequenceNumber, counts: usize) {
        self.transmission.joined(now, sn, counts);
    }

    /// Until when a new change may wait for others.
    fn may_wait(
        &mut self,
        now: MonoTime,
        sn: SequenceNumber,
        history: &dyn WriterHistory,
    ) -> Option<MonoTime> {
        let change = history.get(sn)?;
        let len = change.payload.as_ref().map_or(0, |payload| payload.len());
        let lent = change.payload.as_ref().is_some_and(|payload| payload.memory().is_some());
        if lent {
            // It makes a message of its own. Readers in shared memory are told of several such messages in one call, however
            // long they are, if they stay where they are.
            self.refresh_routes();
            let zero_copy = self.is_zero_copy(change.payload.as_ref());
            let due = self.transmission.batch_until(now, if zero_copy { lent_in_batch(len) } else { len })?;
            return zero_copy.then_some(due);
        }
        let due = self.transmission.batch_until(now, len)?;
        // A change of several datagrams gains nothing, and without readers there is nothing to gain.
        let large = self.framing.needs_fragments(change, &[]);
        (!large && !self.readers.is_empty()).then_some(due)
    }

    /// Sends what waits for more, and what need not wait for pacer or readers any longer, as far as they allow.
    pub fn flush(&mut self, now: Now, history: &dyn WriterHistory, out: &mut Outbox) {
        if self.transmission.is_holding() || self.is_push_due(now.mono) {
            self.push(now.mono, history, out);
        }
    }

    /// Sends what has not been sent yet.
    pub(super) fn push(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        self.transmission.begin();
        self.refresh_routes();
        while self.transmission.pushed() < self.transmission.last_sn() {
            let next = history
                .next_at_or_after(self.transmission.pushed().next())
                .filter(|sn| *sn <= self.transmission.last_sn());
            let Some(change) =
                next.and_then(|sn| history.get(sn)).filter(|_| !self.readers.routes().is_empty())
            else {
                self.transmission.finish(self.transmission.last_sn());
                if self.readers.routes().is_empty() {
                    // Nothing is in flight that a HEARTBEAT could overtake.
                    self.transmission.mark_all_on_wire();
                }
                self.tell_what_is_gone(now);
                break;
            };
            if change.sn > self.transmission.pushed().next() {
                self.transmission.finish(change.sn.previous());
            }
            if self.withheld.is_on() && self.select_readers(now, change, history, out) {
                self.transmission.finish(change.sn);
                continue;
            }
            let Some(through) = self.push_change(now, change, history, out) else {
                if self.wait_for_room(now, history, out) {
                    continue;
                }
                return;
            };
            self.transmission.finish(through);
            self.ask_if_due(now, self.cfg.max_message_size, history, out);
        }
    }

    /// No HEARTBEAT travels with a change that was gone before it was sent, or before all of it was, or that went nowhere, as
    /// no reader has a place yet: one of its own has to tell the readers, which would never acknowledge it otherwise.
    fn tell_what_is_gone(&mut self, now: MonoTime) {
        if self.readers.acknowledge_any() {
            self.heartbeat_soon(now);
        }
    }

    /// Pacer or window do not let new data leave: when to look again. True when there is room after all.
    fn wait_for_room(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) -> bool {
        let ready_at = self.transmission.paced_until(now);
        if ready_at > now {
            self.stats.paced = self.stats.paced.saturating_add(1);
            self.transmission.wait_for_pacer(ready_at);
            return false;
        }
        let blocked = self.transmission.wait_for_readers(now, &mut self.readers, &mut self.stats);
        if blocked == Blocked::Asking {
            self.ask_for_echo(now, history, out);
        }
        blocked == Blocked::No
    }

    /// Sends one change and what fits behind it, or what the pacer allows of it. Returns the last change that is
    /// complete, if any is.
    fn push_change(
        &mut self,
        now: MonoTime,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Option<SequenceNumber> {
        self.prepare_inline_qos(change);
        if !self.framing.needs_fragments(change, &self.inline) {
            return self.push_data(now, change, history, out);
        }
        let size = change.payload.as_ref().map_or(0, |payload| payload.len());
        if u32::try_from(size).is_err() {
            self.stats.oversized = self.stats.oversized.saturating_add(1);
            self.tell_what_is_gone(now);
            return Some(change.sn);
        }
        let complete = match self.push_lossless(now, change, history, out) {
            Progress::Complete => true,
            Progress::Deferred => false,
            Progress::Others => self.push_large(now, change, history, out),
        };
        complete.then_some(change.sn)
    }

    #[inline]
    fn prepare_inline_qos(&mut self, change: &Change) {
        // Nearly always there is none.
        if change.kind == ChangeKind::Alive
            && change.inline_qos.is_none()
            && !self.readers.expect_inline_qos()
            && !self.withheld.is_on()
        {
            self.inline.clear();
            return;
        }
        let for_readers = self.cfg.reader_inline_qos.as_ref().filter(|_| self.readers.expect_inline_qos());
        self.framing.inline_qos(change, for_readers, &mut self.inline);
        if self.withheld.is_on() {
            self.add_filter_info(change);
        }
    }

    /// The change after `last`, if it fits behind `len` octets; its inline QoS is prepared then.
    fn next_behind<'h>(
        &mut self,
        last: SequenceNumber,
        len: usize,
        history: &'h dyn WriterHistory,
    ) -> Option<&'h Change> {
        if last >= self.transmission.last_sn() {
            return None;
        }
        let change = history.get(last.next())?;
        if self.withheld.is_on() && !self.withheld.is_for_the_same(change, &self.readers, &mut self.stats) {
            return None;
        }
        self.prepare_inline_qos(change);
        let heartbeat = if self.readers.acknowledge_any() { self.announcements.heartbeat_len() } else { 0 };
        let behind = Framing::data_len(change, &self.inline).saturating_add(heartbeat);
        (len.saturating_add(behind) <= self.cfg.max_message_size).then_some(change)
    }

    fn push_data(
        &mut self,
        now: MonoTime,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Option<SequenceNumber> {
        if !self.transmission.may_leave(now, self.cfg.max_message_size) {
            return None;
        }
        let alone = if self.withheld.is_on() { self.tell_before(change, history, out) } else { None };
        let mut message = self.framing.begin(out);
        if let Some(index) = alone {
            self.put_withheld(index, &mut message);
        }
        self.framing.put_data(&mut message, change, &self.inline, EntityId::UNKNOWN);
        let (mut last, mut count) = (change.sn, 1u32);
        while !message.is_sealed()
            && let Some(next) = self.next_behind(last, message.len(), history)
        {
            self.framing.put_data(&mut message, next, &self.inline, EntityId::UNKNOWN);
            last = next.sn;
            count = count.saturating_add(1);
            if self.withheld.is_on() {
                self.withheld.note_joined(next, &mut self.readers, &mut self.stats);
            }
        }
        let heartbeat = self.piggyback(now, last, count, history);
        let (len, left_over) = self.finish_data(message, heartbeat, self.data_routes());
        let left_over = self.not_superseded(left_over, last);
        self.trail(left_over, self.data_routes(), out);
        self.account(len, true);
        self.stats.samples_sent = self.stats.samples_sent.saturating_add(u64::from(count));
        Some(last)
    }

    /// Completes a datagram with new data and with a HEARTBEAT if it fits. Its length, and the HEARTBEAT if not.
    fn finish_data(
        &self,
        mut message: MessageBuilder<'_>,
        heartbeat: Option<Heartbeat>,
        to: &[Locator],
    ) -> (usize, Option<Heartbeat>) {
        let fits =
            message.len().saturating_add(self.announcements.heartbeat_len()) <= self.cfg.max_message_size;
        let fits = fits && !message.is_sealed();
        let (inside, left_over) = if fits { (heartbeat, None) } else { (None, heartbeat) };
        if let Some(heartbeat) = &inside {
            message.heartbeat(heartbeat);
        }
        let len = message.len();
        message.finish(to);
        (len, left_over)
    }

    /// A HEARTBEAT that would need a message of its own behind the change `last`, unless it asks for nothing and another one
    /// follows with what waits behind that change.
    pub(super) fn not_superseded(
        &mut self,
        heartbeat: Option<Heartbeat>,
        last: SequenceNumber,
    ) -> Option<Heartbeat> {
        let is_superseded =
            |heartbeat: &Heartbeat| heartbeat.final_flag && last < self.transmission.last_sn();
        if heartbeat.as_ref().is_some_and(is_superseded) {
            self.stats.heartbeats_sent = self.stats.heartbeats_sent.saturating_sub(1);
            return None;
        }
        heartbeat
    }

    /// Sends a HEARTBEAT that found no room behind its data.
    pub(super) fn trail(&self, heartbeat: Option<Heartbeat>, to: &[Locator], out: &mut Outbox) {
        let Some(heartbeat) = heartbeat else { return };
        let mut message = self.framing.begin(out);
        message.heartbeat(&heartbeat);
        message.finish(to);
    }

    /// Sends fragments, each in a datagram of its own.
    pub(super) fn push_fragments(
        &mut self,
        now: MonoTime,
        change: &Change,
        total: u32,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        if self.withheld.is_on() && self.transmission.next_fragment() == 1 {
            self.tell_before(change, history, out);
        }
        while self.transmission.next_fragment() <= total {
            if !self.transmission.may_leave(now, self.cfg.max_message_size) {
                self.announce_fragments(now, change.sn, out);
                return false;
            }
            let number = self.transmission.next_fragment();
            let mut message = self.framing.begin(out);
            if !self.framing.put_fragment(&mut message, change, &self.inline, number, EntityId::UNKNOWN) {
                break;
            }
            let heartbeat = if number == total { self.piggyback(now, change.sn, 1, history) } else { None };
            let (len, left_over) = self.finish_data(message, heartbeat, self.fragment_routes());
            self.trail(left_over, self.fragment_routes(), out);
            self.account(len, false);
            self.stats.fragments_sent = self.stats.fragments_sent.saturating_add(1);
            self.transmission.go_on_with(number.saturating_add(1));
            if number < total {
                self.ask_if_due(now, len, history, out);
            }
        }
        self.stats.samples_sent = self.stats.samples_sent.saturating_add(1);
        true
    }

    /// Accounts for a datagram with new data, which others share a buffer with or not.
    pub(super) fn account(&mut self, len: usize, alone: bool) {
        self.account_as(len, len, alone);
    }

    /// The same for one that takes so many octets of a buffer.
    pub(super) fn account_as(&mut self, len: usize, taken: usize, alone: bool) {
        self.transmission.spend(len, taken, alone);
        self.stats.datagrams_sent = self.stats.datagrams_sent.saturating_add(1);
        self.stats.octets_sent = self.stats.octets_sent.saturating_add(len as u64);
    }
}
