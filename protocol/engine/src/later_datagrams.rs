//! RTPS 2.5 §8.3.8.3 DataFrag: fragments of a change come in many datagrams, of which a receive call brings several. What is the same
//! for all of them is looked up with the first one.

use dunlin_buf::SharedBytes;
use dunlin_core::{EntityId, Locator};
use dunlin_wire::{DataFrag, LoneFragments, ReceiverState, size};

/// The datagrams that arrived together with one that is being taken in, behind it and in their order.
pub(crate) struct LaterDatagrams<'a> {
    datagrams: &'a [(SharedBytes, Locator)],
    /// Where the one that is being taken in came from, and its header.
    from: Locator,
    header: Option<&'a [u8; size::HEADER]>,
    /// As its header has left it, with the timestamp of the one that was taken last.
    state: ReceiverState,
    taken: usize,
}

impl<'a> LaterDatagrams<'a> {
    /// The datagrams behind `packet`, with whose header `state` begins.
    pub(crate) fn new(
        packet: &'a SharedBytes,
        from: Locator,
        state: ReceiverState,
        datagrams: &'a [(SharedBytes, Locator)],
    ) -> Self {
        Self { datagrams, from, header: packet.first_chunk(), state, taken: 0 }
    }

    /// How many were taken.
    pub(crate) const fn taken(&self) -> usize {
        self.taken
    }

    /// The next datagram, if it has nothing but fragments from the same writer for the same reader, from the same place in the same
    /// name: then it is taken.
    pub(crate) fn take_next(&mut self, reader: EntityId, writer: EntityId) -> Option<Fragments<'_, 'a>> {
        let (packet, from) = self.datagrams.get(self.taken)?;
        let lone = LoneFragments::parse(packet, self.header.filter(|_| *from == self.from)?)?;
        if (lone.fragments.reader_id, lone.fragments.writer_id) != (reader, writer) {
            return None;
        }
        self.taken = self.taken.saturating_add(1);
        self.state.timestamp = lone.timestamp;
        Some(Fragments { packet, state: &self.state, fragments: lone.fragments })
    }

    /// Whether fragments that were routed in this state go where those of these datagrams go.
    pub(crate) fn is_of(&self, state: &ReceiverState) -> bool {
        state.source_prefix == self.state.source_prefix
    }
}

/// A datagram with fragments alone.
pub(crate) struct Fragments<'s, 'a> {
    pub(crate) packet: &'a SharedBytes,
    pub(crate) state: &'s ReceiverState,
    pub(crate) fragments: DataFrag<'a>,
}
