//! What the applications on the nodes do: create, write, take, look at events.

use std::sync::Arc;

use dunlin_cache::{CachedSample, Selection, UnknownInstance};
use dunlin_core::{MonoTime, SequenceNumber};
use dunlin_engine::{
    CreateError, Event, ReaderSlot, ReaderSpec, SetEnd, WriteError, WriteRequest, WriterSlot, WriterSpec,
};
use dunlin_host::WriteWait;

use crate::node::NodeId;
use crate::world::World;

impl World {
    /// Creates a writer on a node.
    ///
    /// # Errors
    /// As [`Participant::create_writer`](dunlin_engine::Participant::create_writer).
    pub fn create_writer(&mut self, node: NodeId, spec: WriterSpec) -> Result<Arc<WriterSlot>, CreateError> {
        self.with(node, |participant, now, out| participant.create_writer(now, spec, out))
    }

    /// Creates a reader on a node.
    ///
    /// # Errors
    /// As [`Participant::create_reader`](dunlin_engine::Participant::create_reader).
    pub fn create_reader(&mut self, node: NodeId, spec: ReaderSpec) -> Result<Arc<ReaderSlot>, CreateError> {
        self.with(node, |participant, now, out| participant.create_reader(now, spec, out))
    }

    /// Writes with a writer of the node. In a burst the sample waits for others to share a datagram; it leaves when the burst ends, or
    /// with [`flush`](Self::flush).
    ///
    /// # Errors
    /// As [`WriterSlot::write`].
    pub fn write(
        &mut self,
        node: NodeId,
        writer: &WriterSlot,
        request: WriteRequest,
    ) -> Result<SequenceNumber, WriteError> {
        let life = self.awake(node);
        dunlin_host::write(self, &life, writer, request, None)
    }

    /// Writes; while the history is full, or readers have too much to acknowledge, the world goes on, until there is room or max_blocking_time is over.
    ///
    /// # Errors
    /// As [`WriterSlot::write`]; `Full` only when max_blocking_time is over.
    pub fn write_blocking(
        &mut self,
        node: NodeId,
        writer: &WriterSlot,
        request: WriteRequest,
    ) -> Result<SequenceNumber, WriteError> {
        let life = self.awake(node);
        dunlin_host::write_blocking(self, &life, writer, request, None, WriteWait::default())
    }

    /// Sends what waits for more of the same writer.
    pub fn flush(&mut self, node: NodeId, writer: &WriterSlot) {
        let life = self.awake(node);
        dunlin_host::flush(self, &life, writer);
    }

    /// Ends a coherent set at a writer; the number of the change that says so, if the writer has to.
    pub fn end_set(&mut self, node: NodeId, writer: &WriterSlot, end: &SetEnd) -> Option<SequenceNumber> {
        let life = self.awake(node);
        dunlin_host::end_set(self, &life, writer, end)
    }

    pub(crate) fn wait_for_room(&mut self, node: NodeId, writer: &WriterSlot, until: MonoTime) -> bool {
        let id = writer.guid().entity_id;
        while !self.node(node).freed.contains(&id) {
            if !self.step(until) {
                self.now = self.now.max(until);
                return false;
            }
        }
        true
    }

    /// Takes everything from a reader of the node.
    pub fn take(&mut self, node: NodeId, reader: &ReaderSlot) -> Vec<CachedSample> {
        // Only a selection of one instance can fail.
        self.take_selected(node, reader, &Selection::default()).unwrap_or_default()
    }

    /// Takes what is selected from a reader of the node.
    ///
    /// # Errors
    /// As [`ReaderSlot::take`].
    pub fn take_selected(
        &mut self,
        node: NodeId,
        reader: &ReaderSlot,
        selection: &Selection,
    ) -> Result<Vec<CachedSample>, UnknownInstance> {
        let mut samples = Vec::new();
        self.with(node, |_, now, out| reader.take(now, selection, &mut samples, out))?;
        Ok(samples)
    }

    /// The events of a node since the last call, with the time of each. Of signals that mean the same however often they
    /// come (DATA_AVAILABLE, room in a history, acknowledgements) only the first is kept.
    pub fn take_events(&mut self, node: NodeId) -> Vec<(MonoTime, Event)> {
        std::mem::take(&mut self.node_mut(node).events)
    }
}
