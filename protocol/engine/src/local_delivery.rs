//! Local delivery: new changes on their way to readers of the same process, without messages. The host carries them from the
//! writer's participant to those of the readers, and back how far each reader is.

use alloc::vec::Vec;
use core::mem;

use dunlin_core::{Guid, Locator, Now, SequenceNumber};
use dunlin_discovery::WriterSign;
use dunlin_rtps::LocalChange;

use crate::output::{Event, Output};
use crate::participant::Participant;
use crate::reader_slot::ReaderSlot;
use crate::writer_slot::WriterSlot;

/// A change on its way, where to, and which readers have taken it.
#[derive(Default)]
pub struct LocalDelivery {
    change: Option<LocalChange>,
    /// Where the readers are: [`Locator::LOCAL`], and others [`beside`](Locator::in_process) this participant.
    pub places: Vec<Locator>,
    /// Up to which change each reader needs nothing more.
    taken: Vec<(Guid, SequenceNumber)>,
}

impl LocalDelivery {
    pub(crate) const fn new() -> Self {
        Self { change: None, places: Vec::new(), taken: Vec::new() }
    }

    /// Asks a writer for its change; false if that has to be sent.
    pub(crate) fn fill(&mut self, offer: impl FnOnce(&mut Vec<Locator>) -> Option<LocalChange>) -> bool {
        self.change = offer(&mut self.places);
        self.change.is_some()
    }

    pub(crate) fn is_some(&self) -> bool {
        self.change.is_some()
    }

    /// Forgets everything; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.change = None;
        self.places.clear();
        self.taken.clear();
    }
}

impl Output {
    /// The change to deliver, if there is one; give it [back](Self::give_back) afterwards.
    pub fn take_local_delivery(&mut self) -> Option<LocalDelivery> {
        self.local_delivery.change.is_some().then(|| mem::take(&mut self.local_delivery))
    }

    /// Keeps its memory.
    pub fn give_back(&mut self, delivery: LocalDelivery) {
        self.local_delivery = delivery;
        self.local_delivery.clear();
    }
}

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
    /// Readers have taken the change of [`write_in_process`](Self::write_in_process), or have not.
    pub fn local_delivery_done(&self, now: Now, delivery: &LocalDelivery, out: &mut Output) {
        let Some(change) = &delivery.change else { return };
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        if core.deleted {
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
