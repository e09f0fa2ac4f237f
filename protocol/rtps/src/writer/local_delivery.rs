//! RTPS 2.5 §8.4.9 "RTPS StatefulWriter": new changes for readers of the writer's process, see
//! [`LocalChange`](crate::LocalChange).

use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{Guid, Locator, MonoTime, SequenceNumber};

use super::Writer;
use crate::local_delivery::is_in_process;
use crate::proxy_index::ProxyIndex;
use crate::{Change, ChangeKind, LocalChange, WriterHistory};

impl Writer {
    /// The change with this number, just added to the history, if all readers can be given it, and in `places` where they
    /// are. It counts as sent then; tell [`delivered_locally`](Self::delivered_locally) what has become of it. With `None`
    /// nothing has changed, and [`on_new_change`](Self::on_new_change) sends it.
    pub fn deliver_locally(
        &mut self,
        sn: SequenceNumber,
        history: &dyn WriterHistory,
        places: &mut Vec<Locator>,
    ) -> Option<LocalChange> {
        if !self.can_deliver_locally(sn) {
            return None;
        }
        let change = history.get(sn)?;
        let delivery = LocalChange::new(self.guid(), change, self.shared_inline_qos(change));
        places.clear();
        places.extend_from_slice(self.readers.routes());
        self.transmission.delivered_locally(sn);
        self.stats.samples_sent = self.stats.samples_sent.saturating_add(1);
        Some(delivery)
    }

    /// A change was [delivered](Self::deliver_locally): in `taken` the readers that were there, and up to which change each needs
    /// nothing more. Those that did not take it are asked as if it had been lost on the way.
    pub fn delivered_locally(&mut self, now: MonoTime, sn: SequenceNumber, taken: &[(Guid, SequenceNumber)]) {
        for (reader, through) in taken {
            let index = self.readers.find(*reader);
            let reliable = |index: &ProxyIndex| self.readers.get(*index).is_some_and(|proxy| proxy.reliable);
            if let Some(index) = index.filter(reliable) {
                self.acknowledge(index, *through);
            }
        }
        if self.readers.acked().is_some_and(|acked| acked < sn) {
            self.announcements.soon(now);
        }
    }

    /// Whether every reader can be given a change that was just added to the history: all are in this process and want it, nothing
    /// that was written before still waits or is missing at one of them, and nothing may let it wait.
    fn can_deliver_locally(&mut self, sn: SequenceNumber) -> bool {
        let told_in_messages =
            self.withheld.is_on() || self.readers.expect_inline_qos() || self.announcements.are_of_a_group();
        if told_in_messages || !self.transmission.may_leave_at_once(sn) {
            return false;
        }
        self.refresh_routes();
        let pushed = self.transmission.pushed();
        let routes = self.readers.routes();
        !routes.is_empty()
            && routes.iter().all(is_in_process)
            && self.readers.iter().all(|proxy| proxy.is_sent_new_data() && proxy.is_up_to_date(pushed))
    }

    /// The inline QoS of a change for everybody.
    fn shared_inline_qos(&mut self, change: &Change) -> Option<SharedBytes> {
        if change.kind == ChangeKind::Alive && change.inline_qos.is_none() {
            return None;
        }
        self.framing.put_inline_qos(change, None, &mut self.inline);
        (!self.inline.is_empty()).then(|| SharedBytes::copy_from(&self.inline))
    }
}
