//! RTPS 2.5 §8.4.2 "Behavior required for interoperability", as far as no other implementation is there to see it: the way of a new
//! change to readers of the writer's process, given to them as it is, taken, and acknowledged in the same call.
//!
//! Nothing is built and parsed, and no HEARTBEAT and no ACKNACK is needed, because the writer hears at once how far each reader
//! is. Only what every matched reader can be given like that goes this way, and only if nothing that went in messages can
//! still be in flight to a reliable reader. Whatever is not that simple goes in messages: history, repairs, GAPs, what
//! readers filter, what waits for more, what waits for room at a reader.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Guid, Locator, LocatorKind, Now, SequenceNumber, WallTime};
use dunlin_wire::Endianness;

use crate::reader::{Incoming, Reader};
use crate::{Change, ChangeKind, DeliverySink};

/// A change on its way to readers of the writer's process.
///
/// [`Writer::deliver_locally`](crate::Writer::deliver_locally) makes it, each reader takes it in
/// [`Reader::on_local_delivery`], and [`Writer::delivered_locally`](crate::Writer::delivered_locally) hears what became of it.
#[derive(Clone, Debug)]
pub struct LocalChange {
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

impl LocalChange {
    pub(crate) fn new(writer: Guid, change: &Change, inline_qos: Option<SharedBytes>) -> Self {
        Self {
            writer,
            sn: change.sn,
            source_timestamp: change.source_timestamp,
            payload: change.payload.clone(),
            key_only: change.kind != ChangeKind::Alive,
            inline_qos,
        }
    }
}

/// Whether a place is in this process.
pub(crate) fn is_in_process(place: &Locator) -> bool {
    place.kind == LocatorKind::LOCAL
}

impl Reader {
    /// Takes a change of a writer of this process. Up to which change of the writer nothing more is needed after that; `None` if
    /// it is not matched.
    pub fn on_local_delivery(
        &mut self,
        now: Now,
        delivery: &LocalChange,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) -> Option<SequenceNumber> {
        let index = self.matched(delivery.writer)?;
        let change = Incoming {
            sn: delivery.sn,
            source_timestamp: Some(delivery.source_timestamp),
            payload: delivery.payload.clone(),
            key_only: delivery.key_only,
            inline_qos: delivery.inline_qos.clone().map(|list| (list, Endianness::Little)),
            reassembled: false,
            is_refuted: false,
        };
        self.on_change(now, index, change, sink, out);
        self.settled_through(index)
    }
}
