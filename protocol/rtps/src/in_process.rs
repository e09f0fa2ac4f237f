//! RTPS 2.5 §8.4.2 "Behavior required for interoperability", as far as no other implementation is there to see it: the way of a new
//! change to readers of the writer's process, handed over as it is, taken, and acknowledged in the same call.
//!
//! Nothing is built and parsed, and no HEARTBEAT and no ACKNACK is needed, because the writer hears at once how far each reader
//! is. Only what every matched reader can be given like that goes this way, and only if nothing that went in messages can
//! still be under way to a reliable reader. Whatever is not that simple goes in messages: history, repairs, GAPs, what
//! readers filter, what waits for more, what waits for room at a reader.

use crate::reader::{Incoming, Reader};
use crate::writer::Writer;
use crate::{Change, ChangeKind, DeliverySink, WriterHistory};
use alloc::vec::Vec;
use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Guid, Locator, LocatorKind, MonoTime, Now, SequenceNumber, WallTime};
use dunlin_wire::Endianness;

/// A change on its way to readers of the writer's process.
#[derive(Clone, Debug)]
pub struct HandedOver {
    /// Its writer.
    pub writer: Guid,
    /// Its position in the writer's stream.
    pub sn: SequenceNumber,
    /// When it was written.
    source_timestamp: WallTime,
    /// As in [`Change`].
    payload: Option<SharedBytes>,
    /// The payload is a serialized key.
    key_only: bool,
    /// As in DATA, with the end of the list; `None` for a sample that has none.
    inline_qos: Option<SharedBytes>,
}

impl Writer {
    /// The change with this number, just added to the history, if all readers can be handed it, and in `places` where they
    /// are. It counts as sent then; tell [`handed_over`](Self::handed_over) what has become of it. With `None` nothing
    /// has changed, and [`on_new_change`](Self::on_new_change) sends it.
    pub fn hand_over(
        &mut self,
        sn: SequenceNumber,
        history: &dyn WriterHistory,
        places: &mut Vec<Locator>,
    ) -> Option<HandedOver> {
        if !self.can_hand_over(sn) {
            return None;
        }
        let change = history.get(sn)?;
        let handed = HandedOver {
            writer: self.guid(),
            sn,
            source_timestamp: change.source_timestamp,
            payload: change.payload.clone(),
            key_only: change.kind != ChangeKind::Alive,
            inline_qos: self.shared_inline_qos(change),
        };
        places.clear();
        places.extend_from_slice(self.destinations());
        self.count_handed_over(sn);
        Some(handed)
    }

    /// A change was [handed over](Self::hand_over): in `taken` the readers that were there, and up to which change each needs nothing
    /// more. Those that did not take it are asked as if it had been lost on the way.
    pub fn handed_over(&mut self, now: MonoTime, sn: SequenceNumber, taken: &[(Guid, SequenceNumber)]) {
        for (reader, through) in taken {
            self.note_taken_here(*reader, *through);
        }
        if self.lowest_acked().is_some_and(|acked| acked < sn) {
            self.heartbeat_soon(now);
        }
    }

    /// The inline QoS of a change for everybody.
    fn shared_inline_qos(&mut self, change: &Change) -> Option<SharedBytes> {
        if change.kind == ChangeKind::Alive && change.inline_qos.is_none() {
            return None;
        }
        let inline = self.own_inline_qos(change);
        (!inline.is_empty()).then(|| SharedBytes::copy_from(inline))
    }
}

/// Whether a place is in this process.
pub(crate) fn is_here(place: &Locator) -> bool {
    place.kind == LocatorKind::LOCAL
}

impl Reader {
    /// Takes a change that a writer of this process [hands over](Writer::hand_over). Up to which change of the writer nothing more
    /// is needed after that; `None` if it is not matched.
    pub fn on_handed_over(
        &mut self,
        now: Now,
        handed: &HandedOver,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) -> Option<SequenceNumber> {
        let index = self.matched(handed.writer)?;
        let change = Incoming {
            sn: handed.sn,
            source_timestamp: Some(handed.source_timestamp),
            payload: handed.payload.clone(),
            key_only: handed.key_only,
            inline_qos: handed.inline_qos.clone().map(|list| (list, Endianness::Little)),
            reassembled: false,
        };
        self.on_change(now, index, change, sink, out);
        self.settled_through(index)
    }
}
