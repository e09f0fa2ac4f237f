//! RTPS 2.5 §8.4.9.1.3–5 matched_reader_add, matched_reader_remove, matched_reader_lookup.

use super::proxy::{Flow, MAX_REQUEST_INTERVALS, ReaderProxy};
use super::{ReaderProxyConfig, Writer};
use crate::remembered::Life;
use crate::timing::arm;
use crate::{WriterHistory, compat};
use alloc::boxed::Box;
use alloc::vec::Vec;
use dunlin_buf::Outbox;
use dunlin_core::{Duration, Guid, Locator, Now, SequenceNumber, SnRange};

/// A best-effort reader cannot ask again, so it gets the time to learn of the writer before the history is sent.
const HISTORY_DELAY: Duration = Duration::from_millis(20);

impl Writer {
    /// Adds a reader and tells it at once, with a directed HEARTBEAT, what there is. A volatile reader starts after the
    /// last change written, which a GAP tells it. A reader that is matched already only has its locators updated.
    pub fn match_reader(
        &mut self,
        now: Now,
        reader: ReaderProxyConfig,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        self.match_reader_of(now, None, reader, history, out);
    }

    /// As [`match_reader`](Self::match_reader), of a life that is known: a reader that was [lost](Self::lose_reader) in the same
    /// life starts where it was.
    pub fn match_reader_of(
        &mut self,
        now: Now,
        life: Option<Life>,
        reader: ReaderProxyConfig,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let slot = match self.guids.binary_search(&reader.guid) {
            Ok(_) => {
                self.update_reader(reader.guid, reader.unicast, reader.multicast);
                return;
            }
            Err(slot) => slot,
        };
        self.last_sn = self.last_sn.max(history.last_sn());
        if self.proxies.is_empty() {
            // Nobody was there to get what was written so far, so it counts as sent.
            self.finish_push(self.last_sn);
            self.on_wire = self.last_sn;
        }
        let wants_history = reader.durable && self.cfg.transient_local;
        let first = history.first_sn().unwrap_or(self.last_sn.next());
        let reliable = reader.reliable && self.cfg.reliable;
        let start = if wants_history { SequenceNumber::ZERO } else { self.last_sn };
        // One that was lost may not have noticed it: what is left goes to it, and it counts the rest as lost.
        let before = self.lost_readers.take(reader.guid, life).filter(|_| reliable);
        let start = before.map_or(start, |acked| acked.min(start));
        let mut proxy = ReaderProxy::new(reader, reliable, start);
        proxy.history_end = self.pushed;
        let room = self.room_in_memory(&proxy);
        proxy.flow = self.has_window(&proxy).then(|| Box::new(Flow::new(self.window_position(), room)));
        proxy.silence = (reliable && self.has_inactivity()).then(Box::default);
        if wants_history && reliable {
            proxy.acked = first.previous();
        } else if wants_history && first <= self.last_sn {
            proxy.catching_up = true;
            let requests = proxy.requests.made();
            requests.whole.insert(SnRange::new(first, self.last_sn), MAX_REQUEST_INTERVALS);
            requests.rearm(now.mono.plus(HISTORY_DELAY));
            arm(&mut self.repair_due, now.mono.plus(HISTORY_DELAY));
        }
        self.guids.insert(slot, proxy.guid());
        self.proxies.insert(slot, Box::new(proxy));
        self.reader_added(slot);
        self.survey_window();
        if reliable {
            self.tell_untold(slot, true, history, out);
            self.heartbeat_soon(now.mono);
        }
    }

    /// Replaces the locators of a matched reader; false when it is not matched.
    pub fn update_reader(&mut self, reader: Guid, unicast: Vec<Locator>, multicast: Vec<Locator>) -> bool {
        let Some(proxy) = self.find(reader).and_then(|index| self.proxies.get_mut(index)) else {
            return false;
        };
        if proxy.cfg.unicast != unicast {
            proxy.round_trip.forget_nearest();
        }
        proxy.cfg.unicast = unicast;
        proxy.cfg.multicast = multicast;
        self.proxies_changed();
        self.note_rooms();
        true
    }

    /// Whether a matched reader has ever acknowledged anything; `None` when it is not matched, or is a best-effort reader,
    /// which never does.
    #[must_use]
    pub fn has_heard(&self, reader: Guid) -> Option<bool> {
        let proxy = self.proxies.get(self.find(reader)?)?;
        proxy.reliable.then(|| proxy.acks.heard())
    }

    /// Forgets a reader whose participant was not heard for its lease, but not what it has acknowledged: if it is met again, it
    /// goes on there. Without a known life nobody could tell that it is the same, and nothing is remembered. False when it was not
    /// matched.
    pub fn lose_reader(&mut self, reader: Guid, life: Option<Life>) -> bool {
        if let Some((life, acked)) = life.zip(self.acked_by(reader)) {
            self.lost_readers.put(reader, life, acked);
        }
        self.unmatch_reader(reader)
    }

    /// Forgets a reader; false when it was not matched.
    pub fn unmatch_reader(&mut self, reader: Guid) -> bool {
        let Some(index) = self.find(reader) else { return false };
        self.guids.remove(index);
        self.proxies.remove(index);
        self.proxies_changed();
        self.survey_window();
        true
    }

    /// Tells somebody who may become a matched reader what there is: the answer, if any, comes as an ACKNACK.
    pub fn greet(
        &mut self,
        reader: Guid,
        destinations: &[Locator],
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let last = if self.proxies.is_empty() { history.last_sn() } else { self.on_wire };
        let heartbeat = self.announce(reader.entity_id, last, history);
        let mut message = self.framing.begin(out);
        message.info_dst(reader.prefix);
        message.heartbeat(&heartbeat);
        message.finish(destinations);
    }

    /// Brings what is derived from the set of readers up to date after one was added. Where new data goes is found out
    /// when there is some: a writer that meets a thousand readers need not do so a thousand times.
    fn reader_added(&mut self, slot: usize) {
        self.routes_stale = true;
        let Some(proxy) = self.proxies.get(slot) else { return };
        self.framing.long_keys |= compat::misreads_short_keys(proxy.cfg.vendor);
        if proxy.cfg.expects_inline_qos {
            self.framing.room_after = self.framing.room_after.or(Some(self.begun()));
        }
        self.filters |= proxy.cfg.filter.is_some() || proxy.separation.is_some();
        if !proxy.catching_up {
            self.inline_qos_expected |= proxy.cfg.expects_inline_qos;
            self.reliable_count = self.reliable_count.saturating_add(usize::from(proxy.reliable));
        }
        self.refresh_active();
        let Some(proxy) = self.proxies.get(slot) else { return };
        if !proxy.reliable || self.acked_min.is_some_and(|least| least < proxy.acked) {
            return;
        }
        let as_slow = self.acked_min == Some(proxy.acked);
        self.slowest = if as_slow { self.slowest.saturating_add(1) } else { 1 };
        self.acked_min = Some(proxy.acked);
    }

    /// The last change of which anything may have left: its fragments have their size.
    fn begun(&self) -> SequenceNumber {
        if self.stats.datagrams_sent == 0 && self.stats.repair_octets_sent == 0 {
            return SequenceNumber::ZERO;
        }
        let pushed = if self.next_fragment > 1 { self.pushed.next() } else { self.pushed };
        pushed.max(self.split.through)
    }

    /// Recomputes everything that is derived from the set of readers, but for the destinations of new data.
    pub(super) fn proxies_changed(&mut self) {
        self.routes_stale = true;
        let live = || self.proxies.iter().filter(|proxy| proxy.is_sent_new_data());
        self.inline_qos_expected = live().any(|proxy| proxy.cfg.expects_inline_qos);
        self.framing.long_keys =
            self.proxies.iter().any(|proxy| compat::misreads_short_keys(proxy.cfg.vendor));
        self.reliable_count = live().filter(|proxy| proxy.reliable).count();
        self.refresh_acked();
        self.count_lagging();
        self.survey_filters();
        self.refresh_held();
    }

    /// Derives where new data goes from the set of readers.
    pub(super) fn refresh_routes(&mut self) {
        if core::mem::take(&mut self.routes_stale) {
            self.cover.compute(&self.proxies, true, ReaderProxy::is_sent_new_data);
            self.routes.clear();
            self.routes.extend_from_slice(&self.cover.destinations);
            self.narrow.clear();
        }
    }
}
