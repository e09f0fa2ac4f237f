//! RTPS 2.5 §8.4.9.1.3–5 matched_reader_add, matched_reader_remove, matched_reader_lookup.

use super::proxy::{MAX_REQUEST_INTERVALS, ReaderProxy};
use super::{ReaderProxyConfig, Writer};
use crate::timing::arm;
use crate::{WriterHistory, compat};
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
        let slot = match self.proxies.binary_search_by_key(&reader.guid, ReaderProxy::guid) {
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
        let mut proxy = ReaderProxy::new(reader, reliable, start);
        proxy.history_end = self.pushed;
        if wants_history && reliable {
            proxy.acked = first.previous();
        } else if wants_history && first <= self.last_sn {
            proxy.catching_up = true;
            proxy.requests.whole.insert(SnRange::new(first, self.last_sn), MAX_REQUEST_INTERVALS);
            proxy.requests.rearm(now.mono.plus(HISTORY_DELAY));
            arm(&mut self.repair_due, now.mono.plus(HISTORY_DELAY));
        }
        self.proxies.insert(slot, proxy);
        self.proxies_changed();
        if reliable {
            self.heartbeat_to(slot, history, out);
            self.heartbeat_soon(now.mono);
        }
    }

    /// Replaces the locators of a matched reader; false when it is not matched.
    pub fn update_reader(&mut self, reader: Guid, unicast: Vec<Locator>, multicast: Vec<Locator>) -> bool {
        let Some(proxy) = self.find(reader).and_then(|index| self.proxies.get_mut(index)) else {
            return false;
        };
        proxy.cfg.unicast = unicast;
        proxy.cfg.multicast = multicast;
        self.proxies_changed();
        true
    }

    /// Forgets a reader; false when it was not matched.
    pub fn unmatch_reader(&mut self, reader: Guid) -> bool {
        let Some(index) = self.find(reader) else { return false };
        self.proxies.remove(index);
        self.proxies_changed();
        true
    }

    /// Recomputes everything that is derived from the set of readers.
    pub(super) fn proxies_changed(&mut self) {
        self.cover.compute(&self.proxies, |proxy| !proxy.catching_up);
        self.routes.clear();
        self.routes.extend_from_slice(&self.cover.destinations);
        let live = || self.proxies.iter().filter(|proxy| !proxy.catching_up);
        self.inline_qos_expected = live().any(|proxy| proxy.cfg.expects_inline_qos);
        self.framing.long_keys =
            self.proxies.iter().any(|proxy| compat::misreads_short_keys(proxy.cfg.vendor));
        self.reliable_count = live().filter(|proxy| proxy.reliable).count();
        self.refresh_acked();
    }
}
