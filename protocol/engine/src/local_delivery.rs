//! Local delivery: new changes on their way to readers of the same process, without messages. The host carries them from the
//! writer's participant to those of the readers, and back how far each reader is.

use dunlin_core::{Now, SequenceNumber};
use dunlin_discovery::WriterSign;
use dunlin_rtps::LocalChange;

use crate::output::{Event, LocalDelivery, Output};
use crate::participant::Participant;
use crate::reader_slot::ReaderSlot;
use crate::writer_slot::WriterSlot;

impl Participant {
    /// Takes in a change of a writer of this process, of this participant or of another.
    pub fn on_local_delivery(&self, now: Now, delivery: &mut LocalDelivery, out: &mut Output) {
        let LocalDelivery { change: Some(change), taken, .. } = delivery else { return };
        let (routes, source) = (self.routes.load(), change.writer.prefix);
        if source != self.common.prefix && routes.peer(source).is_some_and(|peer| peer.note_traffic(now.mono))
        {
            self.discover(now, out, |discovery, _, _| discovery.on_traffic(now.mono, source));
        }
        for slot in routes.readers_of(change.writer) {
            if let Some(through) = slot.on_local_delivery(now, change, out) {
                taken.push((slot.guid(), through));
            }
        }
    }
}

impl ReaderSlot {
    /// Up to which change this reader needs nothing more; `None` if the writer is not matched.
    fn on_local_delivery(&self, now: Now, change: &LocalChange, out: &mut Output) -> Option<SequenceNumber> {
        self.protocol(now, out, |protocol, sink, outbox| {
            if protocol.deleted {
                return None;
            }
            protocol.note_written(now, change.writer, change.sn, WriterSign::Change);
            protocol.reader.on_local_delivery(now, change, sink, outbox)
        })
    }
}

impl WriterSlot {
    /// Readers have taken the change of [`write_with`](Self::write_with), or have not.
    pub fn local_delivery_done(&self, now: Now, delivery: &LocalDelivery, out: &mut Output) {
        let Some(change) = &delivery.change else { return };
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        if core.life.is_deleted() {
            return;
        }
        let before = core.progress();
        core.writer.delivered_locally(now.mono, change.sn, &delivery.taken);
        let awaited = before.all < core.awaited;
        if core.free_acked(before, out) && awaited {
            out.tell_once(Event::AckAdvanced { writer: self.id() });
        }
        self.arm(core, out);
    }
}
