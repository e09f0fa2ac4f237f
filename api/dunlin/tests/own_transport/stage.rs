//! The stage of the DCPS tests on links: each has one, its nodes are names for those who join it, and time is what it is. Waiting for
//! some time is waiting until everything has arrived that was sent meanwhile.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;

use dunlin::{Config, CreateParticipantError, DomainParticipant, Duration};

use super::link::Link;
use super::usual::eventually;

thread_local! {
    /// The link of the node that runs.
    static LINK: RefCell<Option<Arc<Link>>> = const { RefCell::new(None) };
}

/// A link under the name that tests have for their stage.
pub struct Sim(Arc<Link>);

pub struct Node(Arc<Link>);

impl Sim {
    pub fn new(_seed: u64) -> Self {
        Self(Arc::default())
    }

    pub fn node(&mut self, _name: &str) -> Node {
        Node(Arc::clone(&self.0))
    }

    pub fn run_until(&mut self, done: impl FnMut() -> bool, _within: Duration) -> Result<(), Infallible> {
        eventually("what the test waits for", done);
        // Who sees a change of state may be ahead of the listener that is told of it.
        self.run_for(Duration::ZERO)
    }

    pub fn run_for(&mut self, _time: Duration) -> Result<(), Infallible> {
        eventually("the end of what is under way", || self.0.is_quiet());
        Ok(())
    }
}

impl Node {
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = LINK.replace(Some(Arc::clone(&self.0)));
        let done = work();
        LINK.set(before);
        done
    }
}

pub fn join(name: &str) -> Result<DomainParticipant, CreateParticipantError> {
    let link = LINK.with_borrow(Clone::clone).expect("a node runs");
    DomainParticipant::builder(0).config(Config::default()).name(name).transport(link.attach()).build()
}
