//! A world as a [`Port`]: its nodes call the engine as programs on real machines do.

use std::convert::Infallible;
use std::sync::Arc;

use dunlin_buf::Outbox;
use dunlin_core::{GuidPrefix, Locator, MonoTime, Now};
use dunlin_engine::{Event, Output, Participant, WriterSlot};
use dunlin_host::{Blocking, Port, SendMode, State, Work};

use crate::node::NodeId;
use crate::queue::SimEvent;
use crate::world::World;

/// A node in one of its lives.
#[derive(Clone)]
pub struct Life {
    pub(crate) node: NodeId,
    pub(crate) participant: Arc<Participant>,
}

impl World {
    pub(crate) fn work_off_deferred(&mut self, node: NodeId) {
        if !self.node(node).paused {
            let deferred = std::mem::take(&mut self.node_mut(node).deferred);
            dunlin_host::work_off(self, deferred);
        }
    }
}

impl Port for World {
    type Member = Life;
    type Panic = Infallible;

    fn state<R>(&mut self, look: impl FnOnce(&mut State<Life>) -> R) -> Option<R> {
        Some(look(&mut self.state))
    }

    fn defer(&mut self, work: Work<Life>) {
        let node = work.member().node;
        self.node_mut(node).deferred.push(work);
        self.queue.push(self.now, SimEvent::Deferred(node));
    }

    fn now(&self, life: &Life) -> Now {
        self.now(life.node)
    }

    fn mono(&self, _life: &Life) -> MonoTime {
        self.now
    }

    fn wake_by(&mut self, life: &Life, _deadline: MonoTime) {
        self.plan_timer(life.node);
    }

    fn participant(life: &Life) -> &Participant {
        &life.participant
    }

    /// A node that crashes makes no calls any more.
    fn unless_leaving(&mut self, _life: &Life, work: impl FnOnce(&mut Self)) {
        work(self);
    }

    /// Each node is a process of its own.
    fn in_process(&mut self, _life: &Life, _place: &Locator) -> Option<Life> {
        None
    }

    fn mode(&self) -> SendMode {
        SendMode::Blocking
    }

    fn send(&mut self, life: &Life, outbox: &Outbox, _mode: SendMode) {
        self.send_out(life.node, outbox);
    }

    fn follow_peers(&mut self, life: &Life, out: &mut Output, _mode: SendMode) {
        self.follow_memory(life.node, &out.events);
    }

    /// A node finds out later, see [`SimEvent::NoMemory`].
    fn close_lost_paths(&mut self, _life: &Life) {}

    /// Noted with the event.
    fn space_freed(&mut self, _life: &Life) {}

    fn tell(&mut self, life: &Life, event: &Event, _caller: Option<GuidPrefix>) -> Result<(), Infallible> {
        let now = self.now;
        self.node_mut(life.node).note(now, event.clone());
        Ok(())
    }

    fn resume_panic(&mut self, panic: Infallible) {
        match panic {}
    }
}

impl Blocking for World {
    type Ticket = ();

    fn ticket(&mut self, life: &Life, writer: &WriterSlot) {
        self.node_mut(life.node).freed.remove(&writer.guid().entity_id);
    }

    fn may_wait(&self, _life: &Life) -> bool {
        true
    }

    fn wait_for_space(&mut self, life: &Life, writer: &WriterSlot, _ticket: (), until: MonoTime) -> bool {
        self.wait_for_room(life.node, writer, until)
    }
}
