//! RTPS 2.5 §8.4.9.2 "repairing" and "must_repair" states: what readers asked for is sent again, within a budget.

use alloc::sync::Arc;

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, Locator, MonoTime, SequenceNumber, SnRange};
use dunlin_wire::size;

use super::Writer;
use super::readers::{FragmentRequest, MAX_REQUEST_INTERVALS, ReaderState, WHOLE};
use crate::emit::Framing;
use crate::proxy_index::ProxyIndex;
use crate::timing::{earliest, is_due};
use crate::{Change, WriterHistory};

/// What came of trying to send something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Done,
    /// Budget or pacer is used up.
    Deferred,
}

impl Writer {
    /// Serves all readers whose requests are due, another one first each time.
    pub(super) fn repairs_due(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        if !self.repairs.begin_round(now) {
            return;
        }
        for index in self.repairs.turns(self.readers.len()) {
            self.serve(now, index, history, out);
        }
        let next = self.readers.iter().fold(None, |next, proxy| earliest(next, proxy.deadline()));
        self.repairs.end_round(next);
    }

    /// Serves one reader as far as its deadlines, the budget and the pacer allow.
    pub(super) fn serve(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.readers.get_mut(index) else { return };
        if is_due(proxy.requests.due, now) {
            proxy.release_later(now, self.cfg.nack_suppression);
            let mut progress = self.serve_fragments(now, index, history, out);
            if progress == Progress::Done {
                progress = self.serve_whole(now, index, history, out);
            }
            self.after_serving(now, index, progress, history, out);
        }
        self.reply_if_due(now, index, history, out);
        let due = self.readers.get(index).and_then(|proxy| proxy.deadline());
        self.repairs.arm(due);
    }

    /// Sends the GAPs that were collected; behind the last repair also a HEARTBEAT, so that a reader that misses
    /// something again says so at once.
    fn after_serving(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        progress: Progress,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let ready_at = self.repair_ready_at(now, index);
        let Some(proxy) = self.readers.get_mut(index) else { return };
        if let Some(requests) = proxy.requests.if_made() {
            requests.rearm(if progress == Progress::Done { now } else { ready_at });
        }
        let catching_up = proxy.state == ReaderState::CatchingUp;
        let (reliable, caught_up) = (proxy.reliable, catching_up && proxy.requests.is_empty());
        if progress == Progress::Deferred {
            self.stats.repairs_deferred = self.stats.repairs_deferred.saturating_add(1);
        }
        if reliable && progress == Progress::Done {
            proxy.replied(now);
            self.tell(index, false, true, history, out);
            self.heartbeat_soon(now);
        } else if reliable {
            self.tell(index, false, false, history, out);
        } else if caught_up {
            self.tell_holes(index, history, out);
            if let Some(proxy) = self.readers.get_mut(index) {
                proxy.state = ReaderState::Active;
            }
            self.readers_changed();
        }
        self.gaps.clear();
    }

    /// A best-effort reader counts what it jumps over as lost. What was not there any more when it came is not, so it is told
    /// of each hole in the history before it is sent what lies behind.
    fn tell_holes(&mut self, index: ProxyIndex, history: &dyn WriterHistory, out: &mut Outbox) {
        if self.readers.get(index).is_some_and(|proxy| proxy.state == ReaderState::CatchingUp) {
            self.tell(index, false, false, history, out);
            self.gaps.clear();
        }
    }

    /// When the next repair for a reader may leave.
    fn repair_ready_at(&mut self, now: MonoTime, index: ProxyIndex) -> MonoTime {
        let paid_at = self.readers.get(index).map_or(now, |proxy| proxy.account.ready_at());
        self.repairs.ready_at(now).max(self.transmission.paced_until(now)).max(paid_at)
    }

    /// Whether the next repair may not leave yet. What was kept back for a best-effort reader leaves in any case, although it
    /// counts: new data would overtake it, and the reader would ignore it then.
    fn has_to_wait(&mut self, now: MonoTime, index: ProxyIndex) -> bool {
        let is_new = |state| state != ReaderState::CatchingUp;
        let kept_back = self.readers.get(index).is_some_and(|proxy| !proxy.reliable && is_new(proxy.state));
        !kept_back && self.repair_ready_at(now, index) > now
    }

    /// Accounts for a datagram with repairs for a reader.
    fn spend_for(&mut self, now: MonoTime, index: ProxyIndex, octets: usize) {
        if let Some(proxy) = self.readers.get_mut(index) {
            proxy.account.made().spend(now, octets);
        }
        self.spend(octets);
    }

    /// A change is repaired for a reader.
    fn grant(&mut self, index: ProxyIndex, change: &Change) {
        let octets = change.payload.as_ref().map_or(0, |payload| payload.len());
        if let Some(proxy) = self.readers.get_mut(index) {
            proxy.account.made().grant(change.sn, octets);
        }
    }

    /// Accounts for a datagram with repairs.
    pub(super) fn spend(&mut self, octets: usize) {
        self.repairs.spend(octets);
        self.transmission.pace(octets);
        self.stats.repair_octets_sent = self.stats.repair_octets_sent.saturating_add(octets as u64);
    }

    fn prepare_inline(&mut self, change: &Change, index: ProxyIndex) {
        let expected = self.readers.get(index).is_some_and(|proxy| proxy.cfg.expects_inline_qos);
        let for_readers = self.cfg.reader_inline_qos.as_ref().filter(|_| expected);
        self.framing.inline_qos(change, for_readers, &mut self.inline);
        if self.withheld.is_on() {
            self.add_filter_info_to_repair(change, index);
        }
    }

    fn serve_fragments(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Progress {
        self.gaps.clear();
        let mut position = 0;
        loop {
            let Some(proxy) = self.readers.get_mut(index) else { return Progress::Done };
            let Some(request) = proxy.requests.fragments.get(position).copied() else {
                return Progress::Done;
            };
            if request.not_before > now {
                position = position.saturating_add(1);
                continue;
            }
            let Some(change) = history.get(request.sn) else {
                let range = SnRange::new(request.sn, request.sn);
                let requests = proxy.requests.made();
                requests.whole.insert(range, MAX_REQUEST_INTERVALS);
                requests.start_over();
                requests.fragments.remove(position);
                continue;
            };
            let stopped_at = self.send_requested(now, index, &request, change, out);
            let Some(proxy) = self.readers.get_mut(index) else { return Progress::Done };
            let Some(requests) = proxy.requests.if_made() else { return Progress::Done };
            if let Some(next) = stopped_at {
                if let Some(request) = requests.fragments.get_mut(position) {
                    request.next = next;
                }
                return Progress::Deferred;
            }
            requests.fragments.remove(position);
        }
    }

    /// Sends the fragments of one request; the first not sent when the budget ends before they do.
    fn send_requested(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        request: &FragmentRequest,
        change: &Change,
        out: &mut Outbox,
    ) -> Option<u32> {
        self.prepare_inline(change, index);
        self.grant(index, change);
        // What has not left for the first time need not be repaired.
        let end = if request.sn > self.transmission.pushed() {
            self.transmission.next_fragment()
        } else {
            u32::MAX
        };
        let wanted = |number: &u32| (request.next..end).contains(number);
        let news = |number: &u32| {
            self.readers.get(index).is_some_and(|proxy| !proxy.was_repaired(request.sn, *number))
        };
        let mut fresh = request.fragments.iter().filter(wanted).filter(news);
        let lowest = fresh.next().filter(|_| self.left_in_long_ones(index, change));
        if let Some(lowest) = lowest {
            let count = u32::try_from(fresh.count()).unwrap_or(u32::MAX).saturating_add(1);
            self.transmission.path_mtu_mut().misses(change.sn, lowest, count);
        }
        let (width, long) = (self.repair_width(index, change, None), lowest.is_some());
        let mut numbers = request.fragments.iter().filter(wanted).peekable();
        while let Some(first) = numbers.next() {
            if self.is_suppressed(now, index, request.sn, first) {
                continue;
            }
            if self.repair_ready_at(now, index) > now {
                return Some(first);
            }
            // Those behind it that are wanted as well. What was repaired before goes alone, or waits its time.
            let again =
                |number| self.readers.get(index).is_some_and(|proxy| proxy.was_repaired(request.sn, number));
            let again_first = again(first);
            let most = if again_first { 1 } else { self.within_budget(width, change) };
            let mut next = first.saturating_add(1);
            while next.saturating_sub(first) < most && numbers.peek() == Some(&next) && !again(next) {
                numbers.next();
                next = next.saturating_add(1);
            }
            let part = (first, next.saturating_sub(first));
            if self.repair_fragments(now, index, (change, part), None, out)
                && let Some(proxy) = self.readers.get_mut(index)
            {
                let missed = next.saturating_sub(first).saturating_sub(u32::from(again_first));
                let size = usize::from(self.framing.fragment_size_of(change));
                self.transmission.frames_mut().missed(size.saturating_mul(missed as usize));
                self.transmission.path_mtu_mut().missed(request.sn, if long { missed } else { 0 });
                (first..next).for_each(|number| proxy.note_repair(now, request.sn, number));
            }
        }
        None
    }

    /// Whether a fragment was repaired a moment ago, for an older request.
    fn is_suppressed(&self, now: MonoTime, index: ProxyIndex, sn: SequenceNumber, fragment: u32) -> bool {
        let least = self.cfg.nack_suppression;
        self.readers.get(index).is_some_and(|proxy| proxy.is_suppressed(now, sn, fragment, least))
    }

    /// So many fragments as fit into a datagram, or fewer if the budget ends before.
    fn within_budget(&self, width: u32, change: &Change) -> u32 {
        let fragments =
            self.repairs.left().checked_div(usize::from(self.framing.fragment_size_of(change))).unwrap_or(1);
        width.min(u32::try_from(fragments).unwrap_or(u32::MAX)).max(1)
    }

    /// Sends fragments to one reader, or to a group: so many from the first on. False when the change has no such fragment.
    fn repair_fragments(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        (change, (number, count)): (&Change, (u32, u32)),
        group: Option<Locator>,
        out: &mut Outbox,
    ) -> bool {
        let Some(proxy) = self.readers.get(index) else { return false };
        let reader_id =
            if group.is_some() { EntityId::UNKNOWN } else { self.readers.addressee(index, change.sn) };
        let mut message = self.framing.begin(out);
        let part = (number, u16::try_from(count).unwrap_or(u16::MAX));
        if !self.framing.put_fragments(&mut message, change, &self.inline, part, reader_id) {
            return false;
        }
        let len = message.len();
        match &group {
            Some(group) => message.finish(core::slice::from_ref(group)),
            None => message.finish(proxy.directed()),
        }
        self.spend_for(now, index, len);
        let sent = self.framing.fragment_count(change).saturating_add(1).saturating_sub(number).min(count);
        self.stats.repair_fragments_sent = self.stats.repair_fragments_sent.saturating_add(u64::from(sent));
        true
    }

    /// Sends whole changes, lowest first, and collects what is not there in `self.gaps`.
    fn serve_whole(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Progress {
        loop {
            let Some(proxy) = self.readers.get_mut(index) else { return Progress::Done };
            let Some(wanted) = proxy.requests.whole.as_slice().first().copied() else {
                return Progress::Done;
            };
            let change = history.get(wanted.first);
            let change = change.filter(|change| change.sn > proxy.start && !proxy.rejects(change));
            let Some(change) = change else {
                let start = proxy.start;
                let lost =
                    self.inactivity.lost_through(proxy.lost_before_it_came(&self.cfg), history.first_sn());
                if wanted.first > start && wanted.first <= lost {
                    // Not irrelevant but lost, which the HEARTBEAT behind the repairs says.
                    proxy.served_through(lost);
                    continue;
                }
                let hole = self.hole(wanted, start, history);
                self.gaps.push(hole);
                if let Some(proxy) = self.readers.get_mut(index) {
                    proxy.served_through(hole.last);
                }
                continue;
            };
            self.grant(index, change);
            if self.has_to_wait(now, index) {
                return Progress::Deferred;
            }
            self.tell_holes(index, history, out);
            self.prepare_inline(change, index);
            if self.framing.needs_fragments(change, &self.inline) {
                if self.repair_through_memory(now, index, change, out) {
                    continue;
                }
                self.note_long_missed(index, change);
                if self.is_repaired_whole(index, change) {
                    self.repair_data(now, index, change, history, out);
                    continue;
                }
                if self.repair_in_fragments(now, index, change, out) == Progress::Deferred {
                    return Progress::Deferred;
                }
            } else {
                self.repair_data(now, index, change, history, out);
            }
        }
    }

    /// The changes from the first wanted one on that are not there, or not for a reader that starts after `start`. It
    /// may reach beyond what is wanted, but not to changes that are just leaving.
    fn hole(&self, wanted: SnRange, start: SequenceNumber, history: &dyn WriterHistory) -> SnRange {
        if wanted.first <= start {
            return SnRange::new(wanted.first, start);
        }
        let next = history.next_at_or_after(wanted.first);
        let known = self.transmission.on_wire().max(wanted.last);
        let last = next.map_or(known, |next| next.previous().min(known));
        SnRange::new(wanted.first, last.max(wanted.first))
    }

    /// Sends a large change to a reader in memory; false if it is not there.
    fn repair_through_memory(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        change: &Change,
        out: &mut Outbox,
    ) -> bool {
        let Some(proxy) = self.readers.get(index) else { return false };
        let guid = proxy.guid();
        let to = Arc::clone(&proxy.cfg.unicast);
        let sent = self.is_lossless_to(&to);
        if sent {
            self.repair_lossless(guid, &to, change, out);
            self.repaired(now, index, change.sn);
        }
        sent
    }

    /// Sends all fragments of a change, going on where the last call stopped.
    fn repair_in_fragments(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        change: &Change,
        out: &mut Outbox,
    ) -> Progress {
        let Some(requests) = self.readers.get(index).map(|proxy| &proxy.requests) else {
            return Progress::Done;
        };
        let (mut number, mut group) = (requests.next_fragment.max(1), requests.group);
        if number == 1 {
            self.note_missed(index, change);
            group = self.shared_group(now, index, change.sn);
        }
        let width = self.repair_width(index, change, group.as_ref());
        loop {
            if self.has_to_wait(now, index) {
                if let Some(proxy) = self.readers.get_mut(index) {
                    let requests = proxy.requests.made();
                    (requests.next_fragment, requests.group) = (number, group);
                }
                return Progress::Deferred;
            }
            let count = self.within_budget(width, change);
            if !self.repair_fragments(now, index, (change, (number, count)), group, out) {
                break;
            }
            number = number.saturating_add(count);
        }
        self.repaired(now, index, change.sn);
        Progress::Done
    }

    /// A reader has nothing of a change that was sent to it.
    fn note_missed(&mut self, index: ProxyIndex, change: &Change) {
        let first = self.readers.get(index).is_some_and(|proxy| !proxy.was_repaired(change.sn, WHOLE));
        if first && change.sn <= self.transmission.on_wire() {
            let octets = change.payload.as_ref().map_or(0, |payload| payload.len());
            self.transmission.frames_mut().missed(octets);
        }
    }

    /// The same, where long datagrams may be the reason.
    fn note_long_missed(&mut self, index: ProxyIndex, change: &Change) {
        let first = self
            .readers
            .get(index)
            .is_some_and(|proxy| !proxy.was_repaired(change.sn, WHOLE) && proxy.requests.next_fragment == 0);
        let sent = change.sn <= self.transmission.on_wire();
        if first && sent && self.left_in_long_ones(index, change) {
            let fragments = self.framing.fragment_count(change);
            self.transmission.path_mtu_mut().misses_all(change.sn, fragments);
        }
    }

    /// Sends a change, and with it as many of the following wanted ones as fit into the datagram.
    fn repair_data(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        first: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let usual = !self.framing.needs_fragments(first, &self.inline);
        let group = if usual { self.shared_group(now, index, first.sn) } else { None };
        let Some(proxy) = self.readers.get(index) else { return };
        let guid = proxy.guid();
        let unannounced = !proxy.unannounced.is_empty();
        let directed_len = size::HEADER
            .saturating_add(size::INFO_DST)
            .saturating_add(if unannounced { size::GAP_MAX } else { 0 })
            .saturating_add(Framing::data_len(first, &self.inline));
        // In a datagram that is longer than usual there is room.
        let directed = group.is_none() && (!usual || directed_len <= self.cfg.max_message_size);
        let mut message = self.framing.begin(out);
        if directed && unannounced {
            self.put_withheld(index, &mut message);
        } else if directed {
            message.info_dst(guid.prefix);
        }
        let reader_id = match group {
            None if directed => guid.entity_id,
            None => self.readers.addressee(index, first.sn),
            Some(_) => EntityId::UNKNOWN,
        };
        let mut next = Some(first);
        while let Some(change) = next {
            self.framing.put_data(&mut message, change, &self.inline, reader_id);
            self.repaired(now, index, change.sn);
            next = self.next_small(index, history).filter(|_| directed && usual && !message.is_sealed());
            if let Some(change) = next {
                self.grant(index, change);
                self.prepare_inline(change, index);
                let len = message.len().saturating_add(Framing::data_len(change, &self.inline));
                if len > self.cfg.max_message_size {
                    break;
                }
            }
        }
        let len = message.len();
        match (group, self.readers.get(index)) {
            (Some(group), _) => message.finish(&[group]),
            (None, Some(proxy)) => message.finish(proxy.directed()),
            (None, None) => {}
        }
        self.spend_for(now, index, len);
    }

    /// The next change wanted by a reader, if it is there.
    fn next_small<'h>(&self, index: ProxyIndex, history: &'h dyn WriterHistory) -> Option<&'h Change> {
        let proxy = self.readers.get(index)?;
        let wanted = proxy.requests.whole.first().filter(|sn| *sn > proxy.start)?;
        history.get(wanted).filter(|change| !proxy.rejects(change))
    }

    fn repaired(&mut self, now: MonoTime, index: ProxyIndex, sn: SequenceNumber) {
        let Some(proxy) = self.readers.get_mut(index) else { return };
        proxy.served_through(sn);
        proxy.note_repair(now, sn, WHOLE);
        self.stats.repairs_sent = self.stats.repairs_sent.saturating_add(1);
    }

    /// A multicast group to repair a change in, when another of its members wants the same change now. Those members'
    /// requests are thereby served.
    fn shared_group(&mut self, now: MonoTime, index: ProxyIndex, sn: SequenceNumber) -> Option<Locator> {
        let group = self.repairs.share(now, &mut self.readers, index, sn)?;
        self.stats.shared_repairs = self.stats.shared_repairs.saturating_add(1);
        Some(group)
    }
}
