//! Calls as the driver makes them: what a participant sends itself is taken in at once, a sample of a burst joins those that
//! wait, and new changes for readers of the same participant are handed over without a message.

use dunlin_core::{Locator, SequenceNumber};
use dunlin_engine::{Output, Participant, SetEnd, TxTurn, WriteError, WriteRequest, WriterSlot};

use crate::node::NodeId;
use crate::world::World;

impl World {
    pub(crate) fn write_driven(
        &mut self,
        node: NodeId,
        writer: &WriterSlot,
        request: WriteRequest,
    ) -> Result<SequenceNumber, WriteError> {
        let now = self.now(node);
        let request = match writer.join(|| now.mono, || now, request) {
            Ok(sn) => return Ok(sn),
            Err(request) => request,
        };
        let (result, more) = self.with_output(|world, out| {
            let turn = writer.write_in_process(now, request, None, out);
            let result = match turn {
                Ok(turn) => {
                    let sn = turn.sequence_number();
                    let more = world.send_in_turn(node, turn, out);
                    world.give_to_readers(node, writer, out);
                    (Ok(sn), more)
                }
                Err(error) => (Err(error), false),
            };
            world.conclude(node, out);
            result
        });
        if more || matches!(result, Err(WriteError::Full { .. })) {
            // Nobody acknowledges what waits to be sent.
            self.flush(node, writer);
        }
        result
    }

    /// Sends what waits for more of the same writer.
    pub fn flush(&mut self, node: NodeId, writer: &WriterSlot) {
        while writer.has_waiting_data() {
            let now = self.now(node);
            let more = self.with_output(|world, out| {
                let turn = writer.flush(now, out);
                let more = turn.is_some_and(|turn| world.send_in_turn(node, turn, out));
                world.conclude(node, out);
                more
            });
            if !more {
                return;
            }
        }
    }

    /// Ends a coherent set at a writer; the number of the change that says so, if the writer has to.
    pub fn end_set(&mut self, node: NodeId, writer: &WriterSlot, end: &SetEnd) -> Option<SequenceNumber> {
        let now = self.now(node);
        self.with_output(|world, out| {
            let turn = writer.end_set(now, end, out);
            let sn = turn.as_ref().map(TxTurn::sequence_number);
            turn.into_iter().for_each(|turn| _ = world.send_in_turn(node, turn, out));
            world.conclude(node, out);
            sn
        })
    }

    pub(crate) fn with_output<R>(&mut self, call: impl FnOnce(&mut Self, &mut Output) -> R) -> R {
        let mut out = std::mem::take(&mut self.out);
        let result = call(self, &mut out);
        self.out = out;
        result
    }

    /// True when more can leave at once.
    fn send_in_turn(&mut self, node: NodeId, turn: TxTurn<'_>, out: &mut Output) -> bool {
        if out.outbox.is_empty() {
            turn.finish();
            return false;
        }
        self.send_out(node, out);
        turn.finish_at(self.now)
    }

    /// Gives the readers of the node the change that a writer hands over, if it does, and the writer how far they are.
    fn give_to_readers(&mut self, node: NodeId, writer: &WriterSlot, out: &mut Output) {
        let Some(mut handed) = out.take_handed() else { return };
        let now = self.now(node);
        if handed.places.contains(&Locator::LOCAL) {
            self.participant(node).on_handed_over(now, &mut handed, out);
        }
        writer.handed_over(now, &handed, out);
        out.give_back(handed);
    }

    /// What was sent to the node itself is taken in before anything else happens.
    pub(crate) fn take_in_own(&mut self, node: NodeId) {
        if !self.node(node).config.driven || std::mem::replace(&mut self.node_mut(node).takes_in, true) {
            return;
        }
        while let Some(bytes) = self.node_mut(node).own.pop_front() {
            self.with(node, |participant: &Participant, now, out| {
                participant.on_datagram(now, Locator::LOCAL, &bytes, out);
            });
        }
        self.node_mut(node).takes_in = false;
    }
}
