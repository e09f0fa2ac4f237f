//! RTPS 2.5 §8.4.9 "RTPS StatefulWriter": what the way of new changes [within a process](crate::HandedOver) needs of the writer's
//! state.

use super::Writer;
use crate::Change;
use crate::in_process::is_here;
use dunlin_core::{Guid, Locator, SequenceNumber};

impl Writer {
    /// Whether every reader can be handed a change that was just added to the history: all are in this process and want it, nothing
    /// that was written before still waits or is missing at one of them, and nothing may let it wait.
    pub(crate) fn can_hand_over(&mut self, sn: SequenceNumber) -> bool {
        let told_in_messages = self.filters || self.inline_qos_expected || self.group.is_some();
        let waits = self.pacer.is_some() || !self.batch.is_at_once() || self.push_due.is_some();
        let all_sent =
            self.pushed == self.last_sn && self.on_wire == self.pushed && self.pushed == sn.previous();
        if told_in_messages || waits || !all_sent {
            return false;
        }
        self.refresh_routes();
        let up_to_date = |acked, heard| acked == self.pushed && heard;
        !self.routes.is_empty()
            && self.routes.iter().all(is_here)
            && self.proxies.iter().all(|proxy| {
                let reliable = || up_to_date(proxy.acked, proxy.acks.heard()) && proxy.requests.is_empty();
                proxy.is_sent_new_data() && (!proxy.reliable || reliable())
            })
    }

    /// Where new data goes.
    pub(crate) fn destinations(&self) -> &[Locator] {
        &self.routes
    }

    /// A change has left without a datagram.
    pub(crate) fn count_handed_over(&mut self, sn: SequenceNumber) {
        self.last_sn = sn;
        self.finish_push(sn);
        self.on_wire = sn;
        self.stats.samples_sent = self.stats.samples_sent.saturating_add(1);
    }

    /// A reader needs nothing more of the changes up to `through`.
    pub(crate) fn note_taken_here(&mut self, reader: Guid, through: SequenceNumber) {
        let index = self.find(reader);
        if let Some(index) =
            index.filter(|index| self.proxies.get(*index).is_some_and(|proxy| proxy.reliable))
        {
            self.acknowledge(index, through);
        }
    }

    /// The least that a reliable reader has acknowledged.
    pub(crate) fn lowest_acked(&self) -> Option<SequenceNumber> {
        self.acked_min
    }

    /// The inline QoS of a change for everybody; empty if it has none.
    pub(crate) fn own_inline_qos(&mut self, change: &Change) -> &[u8] {
        self.framing.put_inline_qos(change, None, &mut self.inline);
        &self.inline
    }
}
