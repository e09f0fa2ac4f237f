//! RTPS 2.5 §8.4.9.1.3–5 matched_reader_add, matched_reader_remove, matched_reader_lookup.

use alloc::{boxed::Box, sync::Arc};

use dunlin_buf::Outbox;
use dunlin_core::{Behaviour, Duration, Guid, Locator, MonoTime, Now, SequenceNumber, SnRange};

use super::readers::{Flow, MAX_REQUEST_INTERVALS, ReaderProxy, ReaderState};
use super::{ReaderProxyConfig, Writer};
use crate::WriterHistory;
use crate::proxy_index::ProxyIndex;
use crate::remembered::Life;

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
        let Some(slot) = self.readers.vacancy(reader.guid) else {
            self.update_reader(reader.guid, reader.unicast, reader.multicast);
            return;
        };
        self.transmission.written(history.last_sn());
        let last = self.transmission.last_sn();
        if self.readers.is_empty() {
            // Nobody was there to get what was written so far, so it counts as sent.
            self.transmission.finish(last);
            self.transmission.mark_all_on_wire();
        }
        let wants_history = reader.durable && self.cfg.transient_local;
        let first = history.first_sn().unwrap_or(last.next());
        let reliable = reader.reliable && self.cfg.reliable;
        let start = if wants_history { SequenceNumber::ZERO } else { last };
        // One that was lost may not have noticed it: what is left goes to it, and it counts the rest as lost.
        let before = self.readers.recall(reader.guid, life).filter(|_| reliable);
        let start = before.map_or(start, |acked| acked.min(start));
        let was_here = self.readers.recall_unreliable(reader.guid, life) || before.is_some();
        let mut proxy = ReaderProxy::new(reader, reliable, start);
        if wants_history || was_here {
            // It comes in the middle of nothing.
            proxy.begun_set = None;
        }
        proxy.history_end = self.transmission.pushed();
        proxy.flow = self.has_window(&proxy).then(|| Box::new(self.new_flow(now.mono, &proxy)));
        proxy.silence = self.inactivity.silence(proxy.delays_answers()).filter(|_| reliable).map(Box::new);
        if wants_history && reliable {
            proxy.acked = first.previous();
        } else if wants_history && first <= last {
            proxy.state = ReaderState::CatchingUp;
            let requests = proxy.requests.made();
            requests.whole.insert(SnRange::new(first, last), MAX_REQUEST_INTERVALS);
            requests.rearm(now.mono.plus(HISTORY_DELAY));
            self.repairs.arm(Some(now.mono.plus(HISTORY_DELAY)));
        }
        let guid = proxy.guid();
        self.add(slot, proxy);
        self.begin_long_datagram_path(guid);
        self.transmission.survey(&self.readers);
        self.announcements.note_delays(now.mono, &self.readers);
        if reliable {
            self.announce_withheld(slot, true, history, out);
            self.heartbeat_soon(now.mono);
        }
    }

    /// What is remembered of a reader with a window. It is not waited for before it has answered if its participant has readers that
    /// do not answer: it could hold up the others with one after the other.
    fn new_flow(&self, now: MonoTime, proxy: &ReaderProxy) -> Flow {
        let mut flow = Flow::new(self.transmission.window().position(), self.lossless_room(proxy));
        let prefix = proxy.guid().prefix;
        let of_participant = |known: &&ReaderProxy| known.guid().prefix == prefix;
        let flows = self.readers.iter().filter(of_participant).filter_map(|known| known.flow.as_ref());
        if flows.into_iter().any(|known| known.is_suspended()) {
            flow.suspend(now);
        }
        flow
    }

    /// Replaces the locators of a matched reader; false when it is not matched.
    pub fn update_reader(
        &mut self,
        reader: Guid,
        unicast: Arc<[Locator]>,
        multicast: Arc<[Locator]>,
    ) -> bool {
        let Some(proxy) = self.readers.by_guid_mut(reader) else {
            return false;
        };
        let moved = proxy.cfg.unicast != unicast;
        if moved {
            proxy.round_trip.forget_nearest();
        }
        proxy.cfg.unicast = unicast;
        proxy.cfg.multicast = multicast;
        if moved {
            self.begin_long_datagram_path(reader);
        }
        self.readers_changed();
        self.note_rooms();
        true
    }

    /// Whether a matched reader has ever acknowledged anything; `None` when it is not matched, or is a best-effort reader,
    /// which never does.
    #[must_use]
    pub fn has_heard(&self, reader: Guid) -> Option<bool> {
        let proxy = self.readers.by_guid(reader)?;
        proxy.reliable.then(|| proxy.acks.heard())
    }

    /// Forgets a reader whose participant was not heard for its lease, but not what it has acknowledged: if it is met again, it
    /// goes on there. Without a known life nobody could tell that it is the same, and nothing is remembered. False when it was not
    /// matched.
    pub fn lose_reader(&mut self, reader: Guid, life: Option<Life>) -> bool {
        if let Some(life) = life {
            self.readers.remember(reader, life);
        }
        self.unmatch_reader(reader)
    }

    /// Forgets a reader; false when it was not matched.
    pub fn unmatch_reader(&mut self, reader: Guid) -> bool {
        let Some(index) = self.readers.find(reader) else { return false };
        self.readers.remove(index);
        self.long_datagram_paths.remove(reader);
        self.readers_changed();
        self.transmission.survey(&self.readers);
        true
    }

    /// Tells somebody who may become a matched reader what there is: the answer, if any, comes as an ACKNACK.
    pub fn heartbeat_to_unmatched(
        &mut self,
        reader: Guid,
        destinations: &[Locator],
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        let last = if self.readers.is_empty() { history.last_sn() } else { self.transmission.on_wire() };
        let heartbeat = self.announce(reader.entity_id, last, history);
        let mut message = self.framing.begin(out);
        message.info_dst(reader.prefix);
        message.heartbeat(&heartbeat);
        message.finish(destinations);
    }

    /// Adds a reader, and brings what is derived from the set of readers up to date.
    fn add(&mut self, slot: ProxyIndex, proxy: ReaderProxy) {
        self.framing.long_keys |= proxy.cfg.vendor.does(Behaviour::MisreadsShortKeys);
        if proxy.cfg.expects_inline_qos {
            self.framing.room_after = self.framing.room_after.or(Some(self.begun()));
        }
        self.withheld.add(&proxy);
        self.readers.insert(slot, proxy);
    }

    /// The last change of which anything may have left: its fragments have their size.
    fn begun(&self) -> SequenceNumber {
        if self.stats.datagrams_sent == 0 && self.stats.repair_octets_sent == 0 {
            return SequenceNumber::ZERO;
        }
        self.transmission.begun()
    }

    /// Recomputes everything that is derived from the set of readers, but for the destinations of new data.
    pub(super) fn readers_changed(&mut self) {
        self.readers.refresh();
        self.framing.long_keys = self.readers.misread_short_keys();
        self.withheld.survey(&self.readers);
        self.withheld.refresh_held(&self.readers);
    }

    /// Derives where new data goes from the set of readers.
    #[inline]
    pub(super) fn refresh_routes(&mut self) {
        if self.readers.refresh_routes() {
            self.withheld.forget_destinations();
        }
    }
}
