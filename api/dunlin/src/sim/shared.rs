//! The state of a simulation, which its nodes, tasks and threads share. Nothing of an application runs, nor is dropped,
//! while it is locked.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Wake, Waker};

use dunlin_config::Config;
use dunlin_core::{Duration, Locator, MonoTime, Rng};
use dunlin_sim::{Datagram, NetworkConfig, NodeId, World};
use dunlin_transport::PcapFile;

use crate::mutex::lock;
use crate::sim::agenda::Agenda;
use crate::sim::baton::Baton;
use crate::sim::failure::{Cause, Error, Failure};

/// Datagrams that wait while a node stands still, at most; as the receive buffer of a socket would.
pub(crate) const PAUSED_BUFFER: usize = 256;

pub(crate) type TaskId = u64;

/// A node from a start to the next crash, as far as the state of a simulation has to know it.
pub(crate) trait Life: Send + Sync + Sized + 'static {
    /// What is to happen at some time besides what the network does.
    type Entry: Send;
}

/// What a task does.
pub(crate) type Job = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// Starts a task or thread whenever its node starts.
pub(crate) type Program<M> = Arc<dyn Fn(&Arc<M>) + Send + Sync>;

pub(crate) enum Body {
    Task(Job),
    Thread(Baton),
}

pub(crate) struct Running<M: Life> {
    pub(crate) machine: Arc<M>,
    pub(crate) waker: Arc<TaskWaker<M>>,
    /// `None` while it has its turn.
    pub(crate) body: Option<Body>,
}

pub(crate) struct NodeState<M> {
    pub(crate) name: String,
    pub(crate) id: NodeId,
    pub(crate) config: Config,
    pub(crate) life: u32,
    /// `None` after a crash.
    pub(crate) machine: Option<Arc<M>>,
    pub(crate) programs: Vec<Program<M>>,
    pub(crate) paused: bool,
    /// What was to run while the node stood still.
    pub(crate) held_tasks: Vec<TaskId>,
    pub(crate) held_datagrams: VecDeque<Datagram>,
}

impl<M> NodeState<M> {
    pub(crate) fn new(name: &str, id: NodeId, config: Config, machine: Arc<M>) -> Self {
        Self {
            name: name.into(),
            id,
            config,
            life: 0,
            machine: Some(machine),
            programs: Vec::new(),
            paused: false,
            held_tasks: Vec::new(),
            held_datagrams: VecDeque::new(),
        }
    }
}

pub(crate) struct State<M: Life> {
    pub(crate) world: World,
    pub(crate) nodes: Vec<NodeState<M>>,
    pub(crate) agenda: Agenda<M::Entry>,
    pub(crate) tasks: BTreeMap<TaskId, Running<M>>,
    pub(crate) rng: Rng,
    pub(crate) failure: Option<Failure>,
    /// Gets a copy of everything that is sent.
    pub(crate) capture: Option<PcapFile>,
    next_task: TaskId,
    trace: u64,
    /// How much has happened at the present time, and to whom last.
    pub(crate) busy: Busy,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Busy {
    since: MonoTime,
    pub(crate) amount: u64,
    pub(crate) node: usize,
}

struct Ready {
    tasks: Vec<TaskId>,
    rng: Rng,
}

pub(crate) struct Shared<M: Life> {
    pub(crate) seed: u64,
    /// The command that repeats this run.
    repeat: String,
    start: MonoTime,
    state: Mutex<State<M>>,
    ready: Mutex<Ready>,
}

/// Puts a task among those that can run.
pub(crate) struct TaskWaker<M: Life> {
    id: TaskId,
    queued: AtomicBool,
    shared: Weak<Shared<M>>,
}

impl<M: Life> Wake for TaskWaker<M> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, SeqCst)
            && let Some(shared) = self.shared.upgrade()
        {
            lock(&shared.ready).tasks.push(self.id);
        }
    }
}

impl<M: Life> TaskWaker<M> {
    /// From now on it can be woken again.
    pub(crate) fn begin_turn(&self) {
        self.queued.store(false, SeqCst);
    }
}

impl<M: Life> Shared<M> {
    pub(crate) fn new(seed: u64, network: NetworkConfig, repeat: String) -> Arc<Self> {
        let mut rng = Rng::new(seed);
        let world = World::new(rng.next_u64(), network);
        let ready = Ready { tasks: Vec::new(), rng: Rng::new(rng.next_u64()) };
        let start = world.clock();
        let state = State {
            world,
            nodes: Vec::new(),
            agenda: Agenda::default(),
            tasks: BTreeMap::new(),
            rng,
            failure: None,
            capture: None,
            next_task: 0,
            trace: 0,
            busy: Busy::default(),
        };
        Arc::new(Self { seed, repeat, start, state: Mutex::new(state), ready: Mutex::new(ready) })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State<M>> {
        lock(&self.state)
    }

    /// Virtual time since the simulation began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.state().world.clock().since(self.start)
    }

    pub(crate) fn plan(&self, at: MonoTime, entry: M::Entry) {
        self.state().agenda.push(at, entry);
    }

    /// One of those that can run, at random.
    pub(crate) fn pick(&self) -> Option<TaskId> {
        let mut ready = lock(&self.ready);
        match ready.tasks.len() {
            0 => None,
            1 => ready.tasks.pop(),
            several => {
                let index = ready.rng.below(several as u64) as usize;
                Some(ready.tasks.remove(index))
            }
        }
    }

    pub(crate) fn make_ready(&self, tasks: Vec<TaskId>) {
        lock(&self.ready).tasks.extend(tasks);
    }

    /// Adds what `make` makes with its waker; it can run at once.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn add<E>(
        self: &Arc<Self>,
        machine: &Arc<M>,
        make: impl FnOnce(Waker) -> Result<Body, E>,
    ) -> Result<(), E> {
        let mut state = self.state();
        state.next_task += 1;
        let id = state.next_task;
        drop(state);
        let waker = Arc::new(TaskWaker { id, queued: AtomicBool::new(false), shared: Arc::downgrade(self) });
        let body = Some(make(Waker::from(Arc::clone(&waker)))?);
        let running = Running { machine: Arc::clone(machine), waker: Arc::clone(&waker), body };
        self.state().tasks.insert(id, running);
        waker.wake();
        Ok(())
    }

    pub(crate) fn add_job(self: &Arc<Self>, machine: &Arc<M>, job: Job) {
        let added: Result<(), std::convert::Infallible> = self.add(machine, |_| Ok(Body::Task(job)));
        match added {
            Ok(()) => {}
        }
    }

    /// Notes that it failed, unless it has failed before.
    pub(crate) fn fail(&self, cause: Cause) {
        let failure = self.failure(cause);
        self.state().failure.get_or_insert(failure);
    }

    pub(crate) fn failure(&self, cause: Cause) -> Failure {
        Failure { cause, seed: self.seed, elapsed: self.elapsed(), repeat: self.repeat.clone() }
    }

    pub(crate) fn name(&self, node: usize) -> String {
        self.state().nodes[node].name.clone()
    }

    pub(crate) fn trace(&self) -> u64 {
        self.state().trace
    }
}

impl<M: Life> State<M> {
    /// Writes down what a node sends; a capture that cannot be written ends there, and the simulation with it.
    pub(crate) fn record(&mut self, from: Locator, to: Locator, bytes: &[u8]) -> std::io::Result<()> {
        let Some(capture) = &mut self.capture else { return Ok(()) };
        let written = capture.put(self.world.true_time(), from, to, bytes);
        if written.is_err() {
            self.capture = None;
        }
        written
    }

    /// Makes the trace depend on something that happens to a node now. `weight` is what it counts among what happens at
    /// one time.
    pub(crate) fn note(&mut self, node: usize, weight: u64, what: [u64; 2], bytes: &[u8]) {
        let since = self.world.clock();
        let before = if self.busy.since == since { self.busy.amount } else { 0 };
        self.busy = Busy { since, amount: before + weight, node };
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        let [kind, detail] = what;
        let head = [since.0, node as u64, kind, detail, bytes.len() as u64];
        for value in head.into_iter().chain(words) {
            self.trace = Rng::new(self.trace ^ value).next_u64();
        }
    }
}
