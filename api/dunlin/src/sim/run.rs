//! What lets a simulation go on: everything that can run at a point of time runs, then time jumps to the next event.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use dunlin_core::MonoTime;
use dunlin_sim::Datagram;

use crate::sim::baton::{Baton, Ending, Pause, ending};
use crate::sim::failure::{Cause, Failure, panic_text};
use crate::sim::machine::{Entry, NodeMachine, Shared};
use crate::sim::shared::{Body, Job, PAUSED_BUFFER, TaskId};

/// So much at one point of time means that time stands still.
const MAX_AT_ONCE: u64 = 10_000_000;
/// What a turn counts there, beside an event.
const WEIGHT_OF_TURN: u64 = 10;

/// Kinds of what the trace notes.
const TURN: u64 = 1;
const ARRIVAL: u64 = 2;
const TIMER: u64 = 3;

/// What a task or thread did in its turn.
enum Turn {
    Waits(Body),
    Ended(Ending),
    Stuck,
}

impl Shared {
    /// Goes on until `done`, which is asked before and after every event, or until `end`; says which.
    pub(crate) fn run(
        self: &Arc<Self>,
        end: MonoTime,
        mut done: impl FnMut() -> bool,
    ) -> Result<bool, Failure> {
        loop {
            self.run_ready()?;
            if done() {
                return Ok(true);
            }
            if !self.step(end) {
                // What depends on time alone may have come true.
                self.run_ready()?;
                return Ok(done());
            }
        }
    }

    /// Runs everything that can run now.
    fn run_ready(self: &Arc<Self>) -> Result<(), Failure> {
        self.check()?;
        while let Some(task) = self.pick() {
            self.give_turn(task);
            self.check()?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        let state = self.state();
        let (failure, busy) = (state.failure.clone(), state.busy);
        drop(state);
        match failure {
            Some(failure) => Err(failure),
            None if busy.amount > MAX_AT_ONCE => {
                let failure = self.failure(Cause::TimeStandsStill { node: self.name(busy.node) });
                self.state().failure = Some(failure.clone());
                Err(failure)
            }
            None => Ok(()),
        }
    }

    fn give_turn(self: &Arc<Self>, task: TaskId) {
        let mut state = self.state();
        let Some(running) = state.tasks.get_mut(&task) else { return };
        let machine = Arc::clone(&running.machine);
        let node = machine.node;
        if state.nodes[node].paused {
            state.nodes[node].held_tasks.push(task);
            return;
        }
        state.note(node, WEIGHT_OF_TURN, [TURN, task], &[]);
        let Some(running) = state.tasks.get_mut(&task) else { return };
        let Some(body) = running.body.take() else { return };
        let waker = Arc::clone(&running.waker);
        drop(state);
        waker.begin_turn();
        match take_turn(&machine, body, &Waker::from(waker)) {
            Turn::Waits(body) => self.put_back(&machine, task, body),
            Turn::Ended(how) => {
                self.state().tasks.remove(&task);
                self.note_ending(node, how);
            }
            Turn::Stuck => {
                self.state().tasks.remove(&task);
                self.fail(Cause::Stuck { node: self.name(node) });
            }
        }
    }

    fn put_back(self: &Arc<Self>, machine: &Arc<NodeMachine>, task: TaskId, body: Body) {
        let mut state = self.state();
        match state.tasks.get_mut(&task) {
            Some(running) => running.body = Some(body),
            None => {
                // Its node crashed in its own turn.
                drop(state);
                self.end(machine, body);
            }
        }
    }

    /// Ends a task or thread that waits.
    pub(crate) fn end(self: &Arc<Self>, machine: &Arc<NodeMachine>, body: Body) {
        let pause = match body {
            Body::Task(job) => Pause::Ended(drop_job(machine, job)),
            Body::Thread(baton) => baton.kill(),
        };
        match pause {
            Pause::Ended(how) => self.note_ending(machine.node, how),
            Pause::Waits | Pause::Stuck => self.fail(Cause::Stuck { node: self.name(machine.node) }),
        }
    }

    fn note_ending(&self, node: usize, how: Ending) {
        match how {
            Ending::Done | Ending::Killed => {}
            Ending::Failed(error) => {
                self.fail(Cause::Failed { node: self.name(node), error: error.to_string() });
            }
            Ending::Panicked(message) => self.fail(Cause::Panicked { node: self.name(node), message }),
        }
    }

    /// Lets the next event happen. False, with the time at `end`, if none comes before.
    fn step(self: &Arc<Self>, end: MonoTime) -> bool {
        let mut state = self.state();
        let (own, network) = (state.agenda.next(), state.world.next_event());
        let Some(at) = own.into_iter().chain(network).min().filter(|at| *at <= end) else {
            state.world.advance_to(end);
            return false;
        };
        if own == Some(at) {
            state.world.advance_to(at);
            let Some((at, entry)) = state.agenda.pop() else { return false };
            drop(state);
            self.happen(at, entry);
        } else if let Some((node, datagram)) = state.world.step_to(end) {
            let found = state.nodes.iter().position(|known| known.id == node);
            drop(state);
            if let Some(node) = found {
                self.arrive(node, datagram);
            }
        }
        true
    }

    fn happen(self: &Arc<Self>, at: MonoTime, entry: Entry) {
        match entry {
            Entry::Wake(waker) => waker.wake(),
            Entry::Timer(port) => {
                let Some(port) = port.upgrade() else { return };
                let machine = Arc::clone(port.machine());
                let mut state = self.state();
                if !machine.is_alive() || state.nodes[machine.node].paused {
                    return;
                }
                state.note(machine.node, 1, [TIMER, 0], &[]);
                drop(state);
                self.as_node(&machine, || port.ring(at));
            }
            Entry::Local { machine, from, to, bytes } => {
                let Some(machine) = machine.upgrade() else { return };
                let node = machine.node;
                let sender = self.state().nodes[node].id;
                if machine.is_alive() {
                    self.arrive(node, Datagram { at, sender, from, to, bytes });
                }
            }
        }
    }

    /// A datagram reaches a node.
    pub(crate) fn arrive(self: &Arc<Self>, node: usize, datagram: Datagram) {
        let mut state = self.state();
        let known = &mut state.nodes[node];
        let Some(machine) = known.machine.clone() else { return };
        if known.paused {
            if known.held_datagrams.len() < PAUSED_BUFFER {
                known.held_datagrams.push_back(datagram);
            }
            return;
        }
        state.note(node, 1, [ARRIVAL, 0], &datagram.bytes);
        drop(state);
        for port in machine.ports() {
            self.as_node(&machine, || port.receive(datagram.from, &datagram.to, &datagram.bytes));
        }
    }

    /// Does work of a node's library; a listener that panics ends the simulation.
    pub(crate) fn as_node(&self, machine: &Arc<NodeMachine>, work: impl FnOnce()) {
        let _inside = machine.enter(false);
        if let Err(cause) = catch_unwind(AssertUnwindSafe(work)) {
            let node = self.name(machine.node);
            self.fail(Cause::Panicked { node, message: panic_text(&*cause) });
        }
    }
}

fn take_turn(machine: &Arc<NodeMachine>, body: Body, waker: &Waker) -> Turn {
    match body {
        Body::Task(job) => poll(machine, job, waker),
        Body::Thread(baton) => resume(baton),
    }
}

fn poll(machine: &Arc<NodeMachine>, mut job: Job, waker: &Waker) -> Turn {
    let inside = machine.enter(false);
    let polled = catch_unwind(AssertUnwindSafe(|| job.as_mut().poll(&mut TaskContext::from_waker(waker))));
    drop(inside);
    let how = match polled {
        Ok(Poll::Pending) => return Turn::Waits(Body::Task(job)),
        Ok(Poll::Ready(result)) => ending(Ok(result)),
        Err(cause) => ending(Err(cause)),
    };
    match (how, drop_job(machine, job)) {
        (Ending::Done, dropped) => Turn::Ended(dropped),
        (how, _) => Turn::Ended(how),
    }
}

/// Destructors work for the node, too.
fn drop_job(machine: &Arc<NodeMachine>, job: Job) -> Ending {
    let _inside = machine.enter(false);
    ending(catch_unwind(AssertUnwindSafe(|| {
        drop(job);
        Ok(())
    })))
}

fn resume(baton: Baton) -> Turn {
    match baton.resume() {
        Pause::Waits => Turn::Waits(Body::Thread(baton)),
        Pause::Stuck => Turn::Stuck,
        Pause::Ended(how) => {
            baton.join();
            Turn::Ended(how)
        }
    }
}
