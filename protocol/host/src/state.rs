//! What calls of one thread share.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use dunlin_buf::BufPool;
use dunlin_core::GuidPrefix;
use dunlin_engine::Output;

use crate::queue::Work;

/// Octets of buffers kept for datagrams from one endpoint of a participant to another.
const POOL: usize = 1 << 20;
/// Outputs kept: calls nest only as deep as listeners that write.
const KEPT_OUTPUTS: usize = 4;

/// Outputs to use again, and what is to be done once everything is sent and no lock is held. A [`Port`](crate::Port) keeps one
/// for each thread that calls it.
pub struct State<M> {
    /// Each in its place: they are taken and put back for every call.
    #[expect(clippy::vec_box, reason = "moving an output copies 200 octets, several times a call")]
    outputs: Vec<Box<Output>>,
    /// Calls that have not returned.
    depth: usize,
    /// Whose call the outermost one is.
    pub(crate) caller: Option<GuidPrefix>,
    /// Each with how many others it follows from.
    queue: VecDeque<(usize, Work<M>)>,
    /// Datagrams in the queue.
    datagrams: usize,
    /// The outermost call works the queue off.
    pub(crate) draining: bool,
    /// How many others what is being done follows from; 0 outside.
    pub(crate) chain: usize,
    pub(crate) pool: BufPool,
}

impl<M> Default for State<M> {
    fn default() -> Self {
        Self {
            outputs: Vec::new(),
            depth: 0,
            caller: None,
            queue: VecDeque::new(),
            datagrams: 0,
            draining: false,
            chain: 0,
            pool: BufPool::new(POOL),
        }
    }
}

impl<M> State<M> {
    /// Whether a call has not returned, so that waiting could be waiting for itself.
    #[must_use]
    pub fn is_in_call(&self) -> bool {
        self.depth > 0 || self.draining
    }

    /// Whether datagrams for this process are not taken in yet: what follows must not overtake them.
    pub(crate) fn has_datagrams(&self) -> bool {
        self.datagrams > 0
    }

    /// A call begins. An output of an earlier one, if there is one.
    #[inline]
    pub(crate) fn begin_call(&mut self, caller: impl FnOnce() -> GuidPrefix) -> Option<Box<Output>> {
        if !self.is_in_call() {
            self.caller = Some(caller());
        }
        self.depth = self.depth.saturating_add(1);
        self.outputs.pop()
    }

    /// A call ends. Keeps its output if there is room for it. True if there is something to do, and nobody to do it.
    #[inline]
    pub(crate) fn end_call(&mut self, out: &mut Option<Box<Output>>) -> bool {
        if self.outputs.len() < KEPT_OUTPUTS {
            self.outputs.extend(out.take());
        }
        self.abandon_call();
        !self.is_in_call() && !self.queue.is_empty()
    }

    /// A call ends by a panic.
    pub(crate) fn abandon_call(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Queues what follows from what is being done.
    #[inline]
    pub(crate) fn push(&mut self, work: Work<M>) {
        self.datagrams = self.datagrams.saturating_add(usize::from(work.is_datagram()));
        self.queue.push_back((self.chain.saturating_add(1), work));
    }

    /// What is to be done next, and how many others it follows from.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(usize, Work<M>)> {
        let (chain, work) = self.queue.front()?;
        self.chain = *chain;
        self.datagrams = self.datagrams.saturating_sub(usize::from(work.is_datagram()));
        self.queue.pop_front()
    }
}
