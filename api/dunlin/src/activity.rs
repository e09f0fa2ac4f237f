//! Waiting for what no status tells.

use std::sync::Arc;

use crate::signal::{Signal, when_any};

/// Tells that something of its source may have changed. It wakes those who wait for a state that no status of DDS 1.4
/// §2.2.4.1 tells. Cheap to clone.
///
/// Writers and readers raise theirs ([`DataWriter::activity`](crate::DataWriter::activity),
/// [`DataReader::activity`](crate::DataReader::activity)) for each status, acknowledgment and arrival, and when they are deleted; code
/// of a service raises one of its [own](Self::new). Wait with [`DomainParticipant::wait_until`](crate::DomainParticipant::wait_until)
/// or, in tasks, with [`until`](Self::until). To wait for statuses and conditions, take a [`WaitSet`](crate::WaitSet).
#[derive(Clone, Debug, Default)]
pub struct Activity(pub(crate) Arc<Signal>);

impl Activity {
    /// One that only [`raise`](Self::raise) raises.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets those who wait look again. While nobody waits this is one atomic load.
    pub fn raise(&self) {
        self.0.raise();
    }

    /// For async code, on any executor and without a time-out: what `done` finds, once it finds something. `done` is called at
    /// first, and after each raise of any of these. Dropping the future gives up.
    pub fn until<R, const N: usize>(
        activities: [Self; N],
        done: impl FnMut() -> Option<R>,
    ) -> impl Future<Output = R> {
        when_any(activities.map(|activity| activity.0), done)
    }
}
