//! Which request the copy of a request was first, so that an answer to the copy finds whoever asked (DDS-RPC 1.0 §7.8.2).
//! Services of Dunlin name the original request; those of others name what they got.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dunlin::{Guid, SampleIdentity};

/// Requests of one output that are remembered.
const REMEMBERED: usize = 1024;

type Copies = Vec<(i64, SampleIdentity)>;

/// The requests that a router has passed on, of all its outputs.
#[derive(Clone, Default)]
pub(crate) struct Requests {
    all: Arc<Mutex<BTreeMap<Guid, Copies>>>,
    /// The output whose samples are requests.
    output: Option<Guid>,
}

impl Requests {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Guid, Copies>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For an output: the names of topics of requests end so in DDS-RPC and ROS 2.
    pub(crate) fn of_output(&self, topic: &str, output: Option<Guid>) -> Self {
        let output = output.filter(|_| topic.ends_with("Request"));
        if let Some(output) = output {
            let none = SampleIdentity { writer: output, sequence_number: dunlin::SequenceNumber(0) };
            self.all().insert(output, vec![(0, none); REMEMBERED]);
        }
        Self { all: Arc::clone(&self.all), output }
    }

    fn place(number: i64) -> usize {
        usize::try_from(number).unwrap_or(0) % REMEMBERED
    }

    /// Notes what a sample of the output was first.
    pub(crate) fn note(&self, copy: SampleIdentity, first: SampleIdentity) {
        if self.output != Some(copy.writer) {
            return;
        }
        let number = copy.sequence_number.0;
        if let Some(place) = self.all().get_mut(&copy.writer).and_then(|all| all.get_mut(Self::place(number)))
        {
            *place = (number, first);
        }
    }

    /// What a request was first: the same if it is no copy that this router made.
    pub(crate) fn first(&self, named: SampleIdentity) -> SampleIdentity {
        let number = named.sequence_number.0;
        let all = self.all();
        let copy = all.get(&named.writer).and_then(|copies| copies.get(Self::place(number)));
        copy.filter(|(noted, _)| *noted == number).map_or(named, |(_, first)| *first)
    }

    pub(crate) fn forget(&self, output: Guid) {
        self.all().remove(&output);
    }
}
