//! RTPS 2.5 §8.4.8 "RTPS StatelessWriter Reference Implementation" and §8.4.11 "RTPS StatelessReader Reference
//! Implementation", best-effort: nothing is remembered of the other side. Participant discovery uses them.

use alloc::vec::Vec;

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, Now};
use dunlin_wire::{Data, DataFrag, ReceiverState};

use crate::emit::Framing;
use crate::reader::{Added, Incoming, Limits, Reassembly};
use crate::{Change, DeliverySink};

/// Writers whose changes in parts are kept at the same time.
const MAX_WRITERS: usize = 16;

/// A best-effort writer that sends a change wherever it is told, as often as it is told.
#[derive(Debug)]
pub struct StatelessWriter {
    framing: Framing,
    inline: Vec<u8>,
}

impl StatelessWriter {
    /// A writer that sends datagrams of up to `max_message_size` octets.
    #[must_use]
    pub fn new(guid: Guid, keyed: bool, max_message_size: usize) -> Self {
        Self { framing: Framing::new(guid, keyed, max_message_size, 0), inline: Vec::new() }
    }

    /// The writer's GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.framing.guid
    }

    /// Sends a change to `reader_id` at the given locators: of the participant `to`, or of every one that receives it.
    pub fn send(
        &mut self,
        change: &Change,
        reader_id: EntityId,
        to: Option<GuidPrefix>,
        destinations: &[Locator],
        out: &mut Outbox,
    ) {
        self.framing.inline_qos(change, None, &mut self.inline);
        let fragments = if self.framing.needs_fragments(change, &self.inline) {
            self.framing.fragment_count(change)
        } else {
            0
        };
        for number in 0..=fragments {
            let mut message = self.framing.begin(out);
            if let Some(prefix) = to {
                message.info_dst(prefix);
            }
            if fragments == 0 {
                self.framing.put_data(&mut message, change, &self.inline, reader_id);
            } else if !self.framing.put_fragment(&mut message, change, &self.inline, number, reader_id) {
                continue;
            }
            message.finish(destinations);
        }
    }
}

/// A best-effort reader that takes changes from anybody, every time they arrive.
#[derive(Debug)]
pub struct StatelessReader {
    guid: Guid,
    max_sample_size: usize,
    /// Changes in parts by writer, the one heard last at the end.
    partials: Vec<(Guid, Reassembly)>,
    pool: BufPool,
}

impl StatelessReader {
    /// A reader of changes of up to `max_sample_size` octets. Larger ones are ignored if they come in fragments.
    #[must_use]
    pub fn new(guid: Guid, max_sample_size: usize) -> Self {
        Self { guid, max_sample_size, partials: Vec::new(), pool: BufPool::new(0) }
    }

    /// The reader's GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.guid
    }

    /// Takes a change; what the sink answers makes no difference.
    pub fn on_data(
        &mut self,
        now: Now,
        state: &ReceiverState,
        data: &Data<'_>,
        packet: &SharedBytes,
        sink: &mut dyn DeliverySink,
    ) {
        if self.is_addressed(data.reader_id) {
            let change = Incoming::from_data(state, data, packet);
            sink.deliver(now, &change.received(state.source(data.writer_id)));
        }
    }

    /// Takes fragments of a change and delivers it when the last one has arrived. Only the newest change of a writer is
    /// put together, and only a few writers' at a time.
    pub fn on_data_frag(
        &mut self,
        now: Now,
        state: &ReceiverState,
        frag: &DataFrag<'_>,
        packet: &SharedBytes,
        sink: &mut dyn DeliverySink,
    ) {
        if !self.is_addressed(frag.reader_id) {
            return;
        }
        let writer = state.source(frag.writer_id);
        let known = self.partials.iter().position(|(guid, _)| *guid == writer);
        let mut reassembly = match known {
            Some(index) => self.partials.remove(index).1,
            None => Reassembly::default(),
        };
        if self.partials.len() >= MAX_WRITERS {
            self.partials.remove(0);
        }
        let limits = Limits {
            partials: 1,
            octets: self.max_sample_size,
            sample: self.max_sample_size,
            prefer_newest: true,
        };
        let (added, _) = reassembly.add(now.mono, state, frag, packet, limits, &mut self.pool);
        if reassembly.octets() > 0 {
            self.partials.push((writer, reassembly));
        }
        if let Added::Complete(change) = added {
            sink.deliver(now, &change.received(writer));
        }
    }

    fn is_addressed(&self, reader_id: EntityId) -> bool {
        reader_id == EntityId::UNKNOWN || reader_id == self.guid.entity_id
    }
}
