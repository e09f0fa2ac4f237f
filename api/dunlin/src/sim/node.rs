//! The machines of a simulation.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use dunlin_core::Duration;

use crate::mutex::lock;
use crate::sim::baton::Baton;
use crate::sim::context::Context;
use crate::sim::failure::{Cause, Error, Result};
use crate::sim::machine::{NodeMachine, Shared};
use crate::sim::shared::{Body, Program, Running};

/// A machine of a simulation, with an address and a clock of its own. Cheap to clone.
///
/// What runs here uses the same types as in production: [`DomainParticipant::new`](crate::DomainParticipant::new) in a
/// task, a thread or [`run`](Self::run) of a node makes a participant on that node.
#[derive(Clone)]
pub struct Node {
    shared: Arc<Shared>,
    index: usize,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node('{}')", self.name())
    }
}

/// A task or thread of a node.
pub struct Task<T> {
    result: Arc<Mutex<Progress<T>>>,
}

enum Progress<T> {
    Running,
    Done(Option<T>),
    /// Its node crashed.
    Gone,
}

impl<T> Clone for Task<T> {
    fn clone(&self) -> Self {
        Self { result: Arc::clone(&self.result) }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &*lock(&self.result) {
            Progress::Running => "Task(running)",
            Progress::Done(_) => "Task(done)",
            Progress::Gone => "Task(gone)",
        })
    }
}

impl<T> Task<T> {
    /// True when it has returned.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(*lock(&self.result), Progress::Done(_))
    }

    /// True when it runs no more: it has returned, or its node has crashed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !matches!(*lock(&self.result), Progress::Running)
    }

    /// What it returned, once.
    #[must_use]
    pub fn take(&self) -> Option<T> {
        match &mut *lock(&self.result) {
            Progress::Done(value) => value.take(),
            Progress::Running | Progress::Gone => None,
        }
    }
}

/// Tells a task handle that the program is gone, unless it was told the result.
struct Teller<T>(Arc<Mutex<Progress<T>>>);

impl<T> Teller<T> {
    fn pair() -> (Self, Task<T>) {
        let result = Arc::new(Mutex::new(Progress::Running));
        (Self(Arc::clone(&result)), Task { result })
    }

    fn tell(self, result: Result<T>) -> Result {
        *lock(&self.0) = Progress::Done(Some(result?));
        Ok(())
    }
}

impl<T> Drop for Teller<T> {
    fn drop(&mut self) {
        let mut progress = lock(&self.0);
        if matches!(*progress, Progress::Running) {
            *progress = Progress::Gone;
        }
    }
}

fn spawn<T, F>(machine: &Arc<NodeMachine>, program: impl FnOnce(Context) -> F + Send + 'static) -> Task<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let (teller, task) = Teller::pair();
    let context = Context::new(Arc::clone(machine));
    let job = async move {
        let result = program(context).await;
        teller.tell(result)
    };
    machine.shared.add_job(machine, Box::pin(job));
    task
}

#[track_caller]
fn spawn_thread<T: Send + 'static>(
    machine: &Arc<NodeMachine>,
    program: impl FnOnce(Context) -> Result<T> + Send + 'static,
) -> Task<T> {
    let (teller, task) = Teller::pair();
    let own = Arc::clone(machine);
    let program = move || {
        let _inside = own.enter(true);
        let result = program(Context::new(Arc::clone(&own)));
        teller.tell(result)
    };
    let name = machine.shared.name(machine.node);
    let start = |waker| Baton::start(&name, waker, Box::new(program)).map(Body::Thread);
    if let Err(error) = machine.shared.add(machine, start) {
        panic!("node '{name}' cannot start a thread: {error}");
    }
    task
}

impl Context {
    /// The node.
    #[must_use]
    pub fn node(&self) -> Node {
        Node::of(&self.machine.shared, self.machine.node)
    }
}

impl Node {
    pub(crate) fn of(shared: &Arc<Shared>, index: usize) -> Self {
        Self { shared: Arc::clone(shared), index }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        self.shared.name(self.index)
    }

    /// Its address on the simulated network.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.shared.state().nodes[self.index].id.address()
    }

    /// True unless it has crashed and was not restarted.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.shared.state().nodes[self.index].machine.is_some()
    }

    #[track_caller]
    fn machine(&self) -> Arc<NodeMachine> {
        let machine = self.shared.state().nodes[self.index].machine.clone();
        machine.unwrap_or_else(|| panic!("node '{}' has crashed: restart it first", self.name()))
    }

    /// Runs a program as an async task, beside the other tasks of all nodes: it goes on whenever what it awaits has
    /// happened. Calls that would block return an error there, see [`crate::sim`]. An error that it returns, and a
    /// panic, ends the simulation.
    ///
    /// # Panics
    /// When the node has crashed.
    #[track_caller]
    pub fn spawn<T, F>(&self, program: impl FnOnce(Context) -> F + Send + 'static) -> Task<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        spawn(&self.machine(), program)
    }

    /// Runs a program as a thread, which may block. Of all threads and tasks of a simulation exactly one runs at a
    /// time; a thread goes on until it waits for something, and waits in virtual time. An error that it returns, and a
    /// panic, ends the simulation.
    ///
    /// # Panics
    /// When the node has crashed, or the operating system has no thread left.
    #[track_caller]
    pub fn spawn_thread<T: Send + 'static>(
        &self,
        program: impl FnOnce(Context) -> Result<T> + Send + 'static,
    ) -> Task<T> {
        spawn_thread(&self.machine(), program)
    }

    /// Runs a program as [`spawn`](Self::spawn) does, now and after every [`restart`](Self::restart).
    ///
    /// # Panics
    /// When the node has crashed.
    #[track_caller]
    pub fn on_start<F>(&self, program: impl Fn(Context) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result> + Send + 'static,
    {
        let program = Arc::new(program);
        self.start_each_time(move |machine| {
            let program = Arc::clone(&program);
            spawn(machine, move |context| program(context));
        });
    }

    /// Runs a program as [`spawn_thread`](Self::spawn_thread) does, now and after every [`restart`](Self::restart).
    ///
    /// # Panics
    /// When the node has crashed, or the operating system has no thread left.
    #[track_caller]
    pub fn on_start_thread(&self, program: impl Fn(Context) -> Result + Send + Sync + 'static) {
        let program = Arc::new(program);
        self.start_each_time(move |machine| {
            let program = Arc::clone(&program);
            spawn_thread(machine, move |context| program(context));
        });
    }

    #[track_caller]
    fn start_each_time(&self, start: impl Fn(&Arc<NodeMachine>) + Send + Sync + 'static) {
        let machine = self.machine();
        let program: Program<NodeMachine> = Arc::new(start);
        self.shared.state().nodes[self.index].programs.push(Arc::clone(&program));
        program(&machine);
    }

    /// Does something on this node at once, such as making entities that the test keeps, or writing with them. Calls
    /// that would block return an error.
    ///
    /// # Panics
    /// When the node has crashed.
    #[track_caller]
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let machine = self.machine();
        let _inside = machine.enter(false);
        work()
    }

    /// Stops without a goodbye: its tasks and threads end where they wait, what it sends from then on goes nowhere, and
    /// the others find out when its lease is over. Does nothing if it has crashed before.
    pub fn crash(&self) {
        let mut state = self.shared.state();
        let node = &mut state.nodes[self.index];
        let Some(machine) = node.machine.take() else { return };
        node.paused = false;
        let held = std::mem::take(&mut node.held_datagrams);
        node.held_tasks.clear();
        drop(state);
        drop(held);
        machine.die();
        let mut state = self.shared.state();
        let own = |running: &Running<NodeMachine>| running.machine.node == self.index;
        let ids: Vec<_> = state.tasks.iter().filter(|(_, running)| own(running)).map(|(id, _)| *id).collect();
        let ended: Vec<_> = ids.iter().filter_map(|id| state.tasks.remove(id)).collect();
        drop(state);
        for running in ended {
            // The one whose turn it is, if it crashes its own node, ends when the turn does.
            if let Some(body) = running.body {
                self.shared.end(&running.machine, body);
            }
        }
    }

    /// Starts again, after a [`crash`](Self::crash) if it is up: without participants, and with the programs of
    /// [`on_start`](Self::on_start). Its new participants have new names, as those of a new process have.
    pub fn restart(&self) {
        self.crash();
        let mut state = self.shared.state();
        let node = &mut state.nodes[self.index];
        node.life += 1;
        let machine = NodeMachine::new(&self.shared, self.index, node.life, node.id.address());
        node.machine = Some(Arc::clone(&machine));
        let programs = node.programs.clone();
        drop(state);
        for program in programs {
            program(&machine);
        }
    }

    /// Stands still, as a stopped process or a suspended machine does: its clocks go on, but nothing runs, and of what
    /// arrives only as much waits as a socket would hold.
    pub fn pause(&self) {
        let mut state = self.shared.state();
        let node = &mut state.nodes[self.index];
        node.paused = node.machine.is_some();
    }

    /// Goes on after [`pause`](Self::pause), with what has arrived first.
    pub fn resume(&self) {
        let mut state = self.shared.state();
        let node = &mut state.nodes[self.index];
        if !std::mem::take(&mut node.paused) {
            return;
        }
        let datagrams = std::mem::take(&mut node.held_datagrams);
        let tasks = std::mem::take(&mut node.held_tasks);
        let machine = node.machine.clone();
        drop(state);
        for datagram in datagrams {
            self.shared.arrive(self.index, datagram);
        }
        for port in machine.iter().flat_map(|machine| machine.ports()) {
            port.plan_anew();
        }
        self.shared.make_ready(tasks);
    }

    /// Sets the wall clock to so much ahead of true time, at once; negative is behind. Timers do not follow it.
    pub fn set_clock_offset(&self, ahead: Duration) {
        let mut state = self.shared.state();
        let id = state.nodes[self.index].id;
        state.world.set_wall_offset(id, ahead);
    }

    /// How much faster than true time the wall clock runs from now on, in parts per million; negative is slower.
    pub fn set_clock_drift(&self, ppm: i32) {
        let mut state = self.shared.state();
        let id = state.nodes[self.index].id;
        state.world.set_wall_drift(id, ppm);
    }

    /// Ends the simulation as failed: for checks in listeners and elsewhere that return nothing.
    pub fn fail(&self, error: impl Into<Error>) {
        self.shared.fail(Cause::Failed { node: self.name(), error: error.into().to_string() });
    }
}
