//! RTPS 2.5 §8.4.9.2 "repairing" and "must_repair" states: what readers asked for is sent again, within a budget.

use super::Writer;
use super::heartbeat::GROUP_SHARE;
use super::proxy::{FragmentRequest, MAX_REQUEST_INTERVALS, ReaderProxy};
use super::repaired::WHOLE;
use crate::emit::Framing;
use crate::pacer;
use crate::timing::{earliest, is_due};
use crate::{Change, WriterHistory};
use dunlin_buf::Outbox;
use dunlin_core::{Duration, EntityId, Locator, MonoTime, SequenceNumber, SnRange};
use dunlin_wire::size;

/// How long a budget of repairs lasts.
const REPAIR_INTERVAL: Duration = Duration::from_millis(1);

/// Counts the octets of repairs per interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RepairGate {
    since: MonoTime,
    used: usize,
}

impl RepairGate {
    fn ready_at(&mut self, now: MonoTime, budget: usize) -> MonoTime {
        let next = self.since.plus(REPAIR_INTERVAL);
        if now >= next {
            *self = Self { since: now, used: 0 };
        }
        if self.used < budget.max(1) { now } else { next }
    }
}

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
        if !is_due(self.repair_due, now) {
            return;
        }
        self.repair_due = None;
        self.serving_all = true;
        let count = self.proxies.len();
        let first = if self.repair_turn < count { self.repair_turn } else { 0 };
        self.repair_turn = first.saturating_add(1);
        for index in (first..count).chain(0..first) {
            self.serve(now, index, history, out);
        }
        self.serving_all = false;
        let next = self.proxies.iter().fold(None, |next, proxy| earliest(next, proxy.deadline()));
        self.repair_due = next;
    }

    /// Serves one reader as far as its deadlines, the budget and the pacer allow.
    pub(super) fn serve(
        &mut self,
        now: MonoTime,
        index: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        if is_due(proxy.requests.due, now) {
            proxy.release_later(now, self.cfg.nack_suppression);
            let mut progress = self.serve_fragments(now, index, history, out);
            if progress == Progress::Done {
                progress = self.serve_whole(now, index, history, out);
            }
            self.after_serving(now, index, progress, history, out);
        }
        self.reply_if_due(now, index, history, out);
        let due = self.proxies.get(index).and_then(|proxy| proxy.deadline());
        self.arm_repairs(due);
    }

    /// Sends the GAPs that were collected; behind the last repair also a HEARTBEAT, so that a reader that misses
    /// something again says so at once.
    fn after_serving(
        &mut self,
        now: MonoTime,
        index: usize,
        progress: Progress,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let ready_at = self.repair_ready_at(now);
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        if let Some(requests) = proxy.requests.if_made() {
            requests.rearm(if progress == Progress::Done { now } else { ready_at });
        }
        let (reliable, caught_up) = (proxy.reliable, proxy.catching_up && proxy.requests.is_empty());
        if progress == Progress::Deferred {
            self.stats.repairs_deferred = self.stats.repairs_deferred.saturating_add(1);
        }
        if reliable && progress == Progress::Done {
            proxy.reply_due = None;
            proxy.replied_at = Some(now);
            self.tell(index, false, true, history, out);
            self.heartbeat_soon(now);
        } else if reliable {
            self.tell(index, false, false, history, out);
        } else if caught_up {
            self.tell_holes(index, history, out);
            if let Some(proxy) = self.proxies.get_mut(index) {
                proxy.catching_up = false;
            }
            self.proxies_changed();
        }
        self.gaps.clear();
    }

    /// A best-effort reader counts what it jumps over as lost. What was not there any more when it came is not, so it is told
    /// of each hole in the history before it is sent what lies behind.
    fn tell_holes(&mut self, index: usize, history: &dyn WriterHistory, out: &mut Outbox) {
        if self.proxies.get(index).is_some_and(|proxy| proxy.catching_up) {
            self.tell(index, false, false, history, out);
            self.gaps.clear();
        }
    }

    /// When the next repair may leave.
    fn repair_ready_at(&mut self, now: MonoTime) -> MonoTime {
        let gate = self.gate.ready_at(now, self.cfg.repair_budget_per_event);
        gate.max(pacer::ready_at(&mut self.pacer, now))
    }

    /// Whether the next repair may not leave yet. What was kept back for a best-effort reader leaves in any case, although it
    /// counts: new data would overtake it, and the reader would ignore it then.
    fn has_to_wait(&mut self, now: MonoTime, index: usize) -> bool {
        let kept_back = self.proxies.get(index).is_some_and(|proxy| !proxy.reliable && !proxy.catching_up);
        !kept_back && self.repair_ready_at(now) > now
    }

    /// Accounts for a datagram with repairs.
    pub(super) fn spend(&mut self, octets: usize) {
        self.gate.used = self.gate.used.saturating_add(octets);
        if let Some(pacer) = &mut self.pacer {
            pacer.spend(octets);
        }
        self.stats.repair_octets_sent = self.stats.repair_octets_sent.saturating_add(octets as u64);
    }

    fn prepare_inline(&mut self, change: &Change, index: usize) {
        let expected = self.proxies.get(index).is_some_and(|proxy| proxy.cfg.expects_inline_qos);
        let for_readers = self.cfg.reader_inline_qos.as_ref().filter(|_| expected);
        self.framing.inline_qos(change, for_readers, &mut self.inline);
        if self.filters {
            self.say_passed_again(change, index);
        }
    }

    fn serve_fragments(
        &mut self,
        now: MonoTime,
        index: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Progress {
        self.gaps.clear();
        let mut position = 0;
        loop {
            let Some(proxy) = self.proxies.get_mut(index) else { return Progress::Done };
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
            let Some(proxy) = self.proxies.get_mut(index) else { return Progress::Done };
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
        index: usize,
        request: &FragmentRequest,
        change: &Change,
        out: &mut Outbox,
    ) -> Option<u32> {
        self.prepare_inline(change, index);
        // What has not left for the first time need not be repaired.
        let end = if request.sn > self.pushed { self.next_fragment } else { u32::MAX };
        let width = self.repair_width(index, change, None);
        let wanted = |number: &u32| (request.next..end).contains(number);
        let mut numbers = request.fragments.iter().filter(wanted).peekable();
        while let Some(first) = numbers.next() {
            if self.is_suppressed(now, index, request.sn, first) {
                continue;
            }
            if self.repair_ready_at(now) > now {
                return Some(first);
            }
            // Those behind it that are wanted as well. What was repaired before goes alone, or waits its time.
            let again = |number| self.was_repaired(index, request.sn, number);
            let most = if again(first) { 1 } else { self.within_budget(width, change) };
            let mut next = first.saturating_add(1);
            while next.saturating_sub(first) < most && numbers.peek() == Some(&next) && !again(next) {
                numbers.next();
                next = next.saturating_add(1);
            }
            let part = (first, next.saturating_sub(first));
            if self.repair_fragments(index, change, part, None, out)
                && let Some(proxy) = self.proxies.get_mut(index)
            {
                (first..next).for_each(|number| proxy.note_repair(now, request.sn, number));
            }
        }
        None
    }

    /// Whether a fragment was repaired a moment ago, for an older request.
    fn is_suppressed(&self, now: MonoTime, index: usize, sn: SequenceNumber, fragment: u32) -> bool {
        self.proxies.get(index).is_some_and(|proxy| {
            let suppression = proxy.suppression(self.cfg.nack_suppression);
            proxy.repaired.suppressed_until(now, sn, fragment, suppression).is_some()
        })
    }

    /// So many fragments as fit into a datagram, or fewer if the budget ends before.
    fn within_budget(&self, width: u32, change: &Change) -> u32 {
        let left = self.cfg.repair_budget_per_event.saturating_sub(self.gate.used);
        let fragments = left.checked_div(usize::from(self.framing.fragment_size_of(change))).unwrap_or(1);
        width.min(u32::try_from(fragments).unwrap_or(u32::MAX)).max(1)
    }

    /// Sends fragments to one reader, or to a group: so many from the first on. False when the change has no such fragment.
    fn repair_fragments(
        &mut self,
        index: usize,
        change: &Change,
        (number, count): (u32, u32),
        group: Option<Locator>,
        out: &mut Outbox,
    ) -> bool {
        let Some(proxy) = self.proxies.get(index) else { return false };
        let reader_id = if group.is_some() { EntityId::UNKNOWN } else { self.addressee(index, change.sn) };
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
        self.spend(len);
        let sent = self.framing.fragment_count(change).saturating_add(1).saturating_sub(number).min(count);
        self.stats.repair_fragments_sent = self.stats.repair_fragments_sent.saturating_add(u64::from(sent));
        true
    }

    /// Sends whole changes, lowest first, and collects what is not there in `self.gaps`.
    fn serve_whole(
        &mut self,
        now: MonoTime,
        index: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Progress {
        loop {
            let Some(proxy) = self.proxies.get_mut(index) else { return Progress::Done };
            let Some(wanted) = proxy.requests.whole.as_slice().first().copied() else {
                return Progress::Done;
            };
            let change = history.get(wanted.first);
            let change = change.filter(|change| change.sn > proxy.start && !proxy.rejects(change));
            let Some(change) = change else {
                let start = proxy.start;
                let lost =
                    history.first_sn().map_or(self.released, |first| self.released.min(first.previous()));
                if wanted.first > start && wanted.first <= lost {
                    // Not irrelevant but lost, which the HEARTBEAT behind the repairs says.
                    proxy.served_through(lost);
                    continue;
                }
                let hole = self.hole(wanted, start, history);
                self.gaps.push(hole);
                if let Some(proxy) = self.proxies.get_mut(index) {
                    proxy.served_through(hole.last);
                }
                continue;
            };
            if self.has_to_wait(now, index) {
                return Progress::Deferred;
            }
            self.tell_holes(index, history, out);
            self.prepare_inline(change, index);
            if self.framing.needs_fragments(change, &self.inline) {
                if self.repair_through_memory(now, index, change, out) {
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
        let known = self.on_wire.max(wanted.last);
        let last = next.map_or(known, |next| next.previous().min(known));
        SnRange::new(wanted.first, last.max(wanted.first))
    }

    /// Sends a large change to a reader in memory; false if it is not there.
    fn repair_through_memory(
        &mut self,
        now: MonoTime,
        index: usize,
        change: &Change,
        out: &mut Outbox,
    ) -> bool {
        let Some(proxy) = self.proxies.get_mut(index) else { return false };
        let guid = proxy.guid();
        // Lent, so that nothing is allocated.
        let to = core::mem::take(&mut proxy.cfg.unicast);
        let sent = self.reaches_memory(&to);
        if sent {
            self.repair_in_memory(guid, &to, change, out);
        }
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.cfg.unicast = to;
        }
        if sent {
            self.repaired(now, index, change.sn);
        }
        sent
    }

    /// Sends all fragments of a change, going on where the last call stopped.
    fn repair_in_fragments(
        &mut self,
        now: MonoTime,
        index: usize,
        change: &Change,
        out: &mut Outbox,
    ) -> Progress {
        let Some(requests) = self.proxies.get(index).map(|proxy| &proxy.requests) else {
            return Progress::Done;
        };
        let (mut number, mut group) = (requests.next_fragment.max(1), requests.group);
        if number == 1 {
            group = self.shared_group(now, index, change.sn);
        }
        let width = self.repair_width(index, change, group.as_ref());
        loop {
            if self.has_to_wait(now, index) {
                if let Some(proxy) = self.proxies.get_mut(index) {
                    let requests = proxy.requests.made();
                    (requests.next_fragment, requests.group) = (number, group);
                }
                return Progress::Deferred;
            }
            let count = self.within_budget(width, change);
            if !self.repair_fragments(index, change, (number, count), group, out) {
                break;
            }
            number = number.saturating_add(count);
        }
        self.repaired(now, index, change.sn);
        Progress::Done
    }

    /// Sends a change, and with it as many of the following wanted ones as fit into the datagram.
    fn repair_data(
        &mut self,
        now: MonoTime,
        index: usize,
        first: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let group = self.shared_group(now, index, first.sn);
        let Some(proxy) = self.proxies.get(index) else { return };
        let guid = proxy.guid();
        let untold = !proxy.untold.is_empty();
        let directed_len = size::HEADER
            .saturating_add(size::INFO_DST)
            .saturating_add(if untold { size::GAP_MAX } else { 0 })
            .saturating_add(Framing::data_len(first, &self.inline));
        let directed = group.is_none() && directed_len <= self.cfg.max_message_size;
        let mut message = self.framing.begin(out);
        if directed && untold {
            self.put_untold(index, &mut message);
        } else if directed {
            message.info_dst(guid.prefix);
        }
        let reader_id = match group {
            None if directed => guid.entity_id,
            None => self.addressee(index, first.sn),
            Some(_) => EntityId::UNKNOWN,
        };
        let mut next = Some(first);
        while let Some(change) = next {
            self.framing.put_data(&mut message, change, &self.inline, reader_id);
            self.repaired(now, index, change.sn);
            next = self.next_small(index, history).filter(|_| directed && !message.is_sealed());
            if let Some(change) = next {
                self.prepare_inline(change, index);
                let len = message.len().saturating_add(Framing::data_len(change, &self.inline));
                if len > self.cfg.max_message_size {
                    break;
                }
            }
        }
        let len = message.len();
        match (group, self.proxies.get(index)) {
            (Some(group), _) => message.finish(&[group]),
            (None, Some(proxy)) => message.finish(proxy.directed()),
            (None, None) => {}
        }
        self.spend(len);
    }

    /// Whom a repair for one reader names if it has no room for INFO_DST: nobody, so that the other readers of the
    /// participant have it as well, unless one of them would take it for new.
    fn addressee(&self, index: usize, sn: SequenceNumber) -> EntityId {
        let Some(guid) = self.guids.get(index) else { return EntityId::UNKNOWN };
        // Sorted by GUID, those of a participant stand together.
        let (before, after) = self.proxies.split_at(index.min(self.proxies.len()));
        let neighbour = |proxy: &&alloc::boxed::Box<ReaderProxy>| proxy.guid().prefix == guid.prefix;
        let mut together =
            before.iter().rev().take_while(neighbour).chain(after.iter().take_while(neighbour));
        if together.any(|proxy| proxy.takes_for_new(sn)) { guid.entity_id } else { EntityId::UNKNOWN }
    }

    /// The next change wanted by a reader, if it is there.
    fn next_small<'h>(&self, index: usize, history: &'h dyn WriterHistory) -> Option<&'h Change> {
        let proxy = self.proxies.get(index)?;
        let wanted = proxy.requests.whole.first().filter(|sn| *sn > proxy.start)?;
        history.get(wanted).filter(|change| !proxy.rejects(change))
    }

    fn repaired(&mut self, now: MonoTime, index: usize, sn: SequenceNumber) {
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        proxy.served_through(sn);
        proxy.note_repair(now, sn, WHOLE);
        self.stats.repairs_sent = self.stats.repairs_sent.saturating_add(1);
    }

    /// A multicast group to repair a change in, when another of its members wants the same change now. Those members'
    /// requests are thereby served.
    fn shared_group(&mut self, now: MonoTime, index: usize, sn: SequenceNumber) -> Option<Locator> {
        if !self.serving_all && !is_due(self.repair_due, now) {
            // Nobody else has anything due.
            return None;
        }
        let group = self.common_group(now, index, sn)?;
        for (_, other) in self.proxies.iter_mut().enumerate().filter(|(place, _)| *place != index) {
            if other.wants(now, sn) && other.cfg.multicast.contains(&group) {
                if let Some(requests) = other.requests.if_made() {
                    requests.start_over();
                    requests.whole.remove(sn);
                }
                other.note_repair(now, sn, WHOLE);
            }
        }
        self.stats.shared_repairs = self.stats.shared_repairs.saturating_add(1);
        Some(group)
    }

    /// A group of a reader that others who want the same change now listen to, too, and nobody who would take it for
    /// new. Everybody in the group gets it: that is worth it only if not too few want it.
    fn common_group(&self, now: MonoTime, index: usize, sn: SequenceNumber) -> Option<Locator> {
        let wanting = self.proxies.iter().filter(|proxy| proxy.wants(now, sn)).count();
        if wanting.saturating_mul(GROUP_SHARE) < self.proxies.len() {
            return None;
        }
        let others = || self.proxies.iter().enumerate().filter(|(place, _)| *place != index);
        let shared = |group: &Locator| {
            others().any(|(_, other)| other.wants(now, sn) && other.cfg.multicast.contains(group))
        };
        let deceives = |group: &Locator| {
            others().any(|(_, other)| other.takes_for_new(sn) && other.cfg.multicast.contains(group))
        };
        let groups = &self.proxies.get(index)?.cfg.multicast;
        groups.iter().find(|group| shared(group) && !deceives(group)).copied()
    }
}
