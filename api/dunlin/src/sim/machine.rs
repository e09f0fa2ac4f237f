//! One life of a node as a machine: its clock, its sockets, and how its threads wait.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::task::Waker;

use dunlin_buf::SharedBytes;
use dunlin_core::{GuidPrefix, Locator, MonoTime, Now, VendorId};
use dunlin_driver::machine::{self, Entered, Machine, Sockets, Task};
use dunlin_driver::{DriverConfig, JoinError};

use crate::mutex::lock;
use crate::place::{self, Place};
use crate::sim::baton;
use crate::sim::failure::Cause;
use crate::sim::port::{PortHost, SimPort};
use crate::sim::shared::{self, Life};

/// The state of a simulation of such nodes.
pub(crate) type Shared = shared::Shared<NodeMachine>;

/// A node from a start to the next crash.
pub(crate) struct NodeMachine {
    pub(crate) shared: Arc<Shared>,
    me: Weak<Self>,
    /// Which node.
    pub(crate) node: usize,
    /// How often it was started before.
    pub(crate) life: u32,
    pub(crate) address: Ipv4Addr,
    alive: AtomicBool,
    ports: Mutex<Vec<Weak<SimPort<Self>>>>,
    participants: AtomicU32,
}

/// What is to happen at some time besides what the network does.
pub(crate) enum Entry {
    Wake(Waker),
    /// The participant of a port wants to be called.
    Timer(Weak<SimPort<NodeMachine>>),
    /// A datagram that does not leave its node.
    Local {
        machine: Weak<NodeMachine>,
        from: Locator,
        to: Locator,
        bytes: SharedBytes,
    },
}

/// Ends what [`NodeMachine::enter`] began.
pub(crate) struct Inside {
    _entered: Entered,
    before: Option<Arc<dyn Place>>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        place::replace(self.before.take());
    }
}

impl NodeMachine {
    pub(crate) fn new(shared: &Arc<Shared>, node: usize, life: u32, address: Ipv4Addr) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            shared: Arc::clone(shared),
            me: me.clone(),
            node,
            life,
            address,
            alive: AtomicBool::new(true),
            ports: Mutex::default(),
            participants: AtomicU32::new(0),
        })
    }

    /// The present thread works for the node until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, waits: bool) -> Inside {
        let before = place::replace(Some(Arc::clone(self) as Arc<dyn Place>));
        let entered = machine::enter(Arc::clone(self) as Arc<dyn Machine>, waits);
        Inside { _entered: entered, before }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Relaxed)
    }

    pub(crate) fn clock(&self) -> MonoTime {
        self.shared.state().world.clock()
    }

    /// The sockets that are open.
    pub(crate) fn ports(&self) -> Vec<Arc<SimPort<Self>>> {
        lock(&self.ports).iter().filter_map(Weak::upgrade).collect()
    }

    /// From now on nothing that it sends goes out, and nothing reaches it.
    pub(crate) fn die(&self) {
        for port in self.ports() {
            self.close(&port);
        }
        self.alive.store(false, Relaxed);
    }

    fn wait_in_thread(&self, arm: &mut dyn FnMut(&Waker) -> bool, until: MonoTime) -> bool {
        let mut planned = false;
        loop {
            let Some(waker) = baton::waker_of_thread() else { return false };
            if arm(&waker) {
                return true;
            }
            if self.clock() >= until {
                return false;
            }
            if !planned && until < MonoTime::MAX {
                planned = true;
                self.wake_at(until, &waker);
            }
            if !baton::hand_back() {
                return false;
            }
        }
    }
}

impl Life for NodeMachine {
    type Entry = Entry;
}

impl PortHost for NodeMachine {
    fn clock(&self) -> MonoTime {
        Self::clock(self)
    }

    fn send(&self, from: Locator, to: Locator, bytes: &SharedBytes, outside: bool) {
        if !self.is_alive() {
            return;
        }
        let own_address = u16::try_from(to.port).is_ok_and(|port| to == Locator::udp_v4(self.address, port));
        let mut state = self.shared.state();
        if own_address || to.is_multicast() {
            let (machine, bytes) = (self.me.clone(), bytes.clone());
            let now = state.world.clock();
            state.agenda.push(now, Entry::Local { machine, from, to, bytes });
        }
        if outside && !own_address {
            let id = state.nodes[self.node].id;
            state.world.inject(id, from, to, bytes.clone());
        }
        let recorded = state.record(from, to, bytes);
        drop(state);
        if let Err(error) = recorded {
            self.shared.fail(Cause::Capture(error.to_string()));
        }
    }

    fn close(&self, port: &SimPort<Self>) {
        if !self.is_alive() {
            return;
        }
        lock(&self.ports).retain(|known| known.as_ptr() != std::ptr::from_ref(port));
        let others = self.ports();
        let heard = |locator: &Locator| others.iter().any(|other| other.heard().any(|own| own == locator));
        let gone: Vec<_> = port.heard().filter(|locator| !heard(locator)).copied().collect();
        let mut state = self.shared.state();
        let id = state.nodes[self.node].id;
        state.world.stop_hearing(id, &gone);
    }

    fn ring_at(&self, at: MonoTime, port: Weak<SimPort<Self>>) {
        self.shared.plan(at, Entry::Timer(port));
    }
}

impl Machine for NodeMachine {
    fn now(&self) -> Now {
        let state = self.shared.state();
        state.world.now(state.nodes[self.node].id)
    }

    fn identity(&self) -> (GuidPrefix, u64) {
        let number = self.participants.fetch_add(1, Relaxed);
        let [v0, v1] = VendorId::DUNLIN.0;
        let [_, _, n0, n1] = (self.node as u32).to_be_bytes();
        let [l0, l1, l2, l3] = self.life.to_be_bytes();
        let [p0, p1, p2, p3] = number.to_be_bytes();
        let prefix = GuidPrefix([v0, v1, n0, n1, l0, l1, l2, l3, p0, p1, p2, p3]);
        (prefix, self.shared.state().rng.next_u64())
    }

    fn open(&self, config: &DriverConfig) -> Result<Arc<dyn Sockets>, JoinError> {
        let Some(me) = self.me.upgrade().filter(|_| self.is_alive()) else {
            return Err(JoinError::OutsideOfNodes);
        };
        let same_domain = |place: &(u32, u32)| place.0 == config.udp.domain;
        let places = self.ports().into_iter().map(|port| port.place());
        let taken: Vec<_> = places.filter(same_domain).map(|(_, index)| index).collect();
        let port = SimPort::open(&me, self.address, config, &taken)?;
        lock(&self.ports).push(Arc::downgrade(&port));
        let mut state = self.shared.state();
        let id = state.nodes[self.node].id;
        let heard: Vec<_> = port.heard().copied().collect();
        state.world.listen(id, &heard);
        Ok(port)
    }

    fn wait(&self, arm: &mut dyn FnMut(&Waker) -> bool, until: MonoTime) -> bool {
        self.wait_in_thread(arm, until)
    }

    fn wake_at(&self, at: MonoTime, waker: &Waker) {
        self.shared.plan(at, Entry::Wake(waker.clone()));
    }

    fn spawn(&self, task: Task) {
        if let Some(me) = self.me.upgrade().filter(|_| self.is_alive()) {
            let job = async move {
                task.await;
                Ok(())
            };
            self.shared.add_job(&me, Box::pin(job));
        }
    }
}
