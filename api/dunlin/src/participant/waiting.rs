//! Threads that wait for a change of this participant or of its entities.

use dunlin_core::Duration;

use super::{DomainParticipant, ParticipantInner};
use crate::activity::Activity;
use crate::error::WaitForError;
use crate::signal::{Signal, block_until};

impl ParticipantInner {
    /// Blocks until `done`, which becomes true with a raise of `signal`.
    pub(crate) fn wait_for(
        &self,
        signal: &Signal,
        timeout: Duration,
        done: impl FnMut() -> bool,
    ) -> Result<(), WaitForError> {
        self.wait_for_any(&[signal], timeout, done)
    }

    /// Blocks until `done`, which becomes true with a raise of any of these.
    pub(crate) fn wait_for_any(
        &self,
        signals: &[&Signal],
        timeout: Duration,
        mut done: impl FnMut() -> bool,
    ) -> Result<(), WaitForError> {
        if done() {
            return Ok(());
        }
        if let Some(why) = self.cannot_wait() {
            return Err(why.into());
        }
        let until = dunlin_driver::machine::deadline(timeout);
        let pumped = self.session.pump_until(until, &mut done);
        if pumped.unwrap_or_else(|| block_until(signals, timeout, done)) {
            Ok(())
        } else {
            Err(WaitForError::Timeout(timeout))
        }
    }
}

impl DomainParticipant {
    /// Blocks this thread until `done`, which is looked at first and after each raise of any of `activities`. For tasks there is
    /// [`Activity::until`].
    ///
    /// # Errors
    /// [`WaitForError::Timeout`] after `max_wait`; [`WaitForError::InListener`], [`WaitForError::InTask`] and
    /// [`WaitForError::InSimulation`] where this thread cannot wait, unless `done` is true at once.
    pub fn wait_until(
        &self,
        activities: &[&Activity],
        max_wait: Duration,
        done: impl FnMut() -> bool,
    ) -> Result<(), WaitForError> {
        let signals: Vec<&Signal> = activities.iter().map(|activity| &*activity.0).collect();
        self.inner().wait_for_any(&signals, max_wait, done)
    }
}
