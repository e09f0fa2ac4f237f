//! Participants without threads of the library.

use dunlin_core::Duration;

use super::DomainParticipant;
use crate::error::PumpError;

impl DomainParticipant {
    /// Does on this thread what threads of the library do for other participants: receives, sends what is due, calls listeners.
    /// For participants made [`without_threads`](crate::DomainParticipantBuilder::without_threads).
    ///
    /// Returns true once something has arrived and was dealt with, and false after `timeout`. With [`Duration::ZERO`] it never waits:
    /// it deals with what is there. Call it again and again, at the latest at [`next_pump`](Self::next_pump). Where nobody pumps,
    /// nothing is received, and others take the participant for dead when its lease ends.
    ///
    /// # Errors
    /// [`PumpError::HasThreads`]; [`PumpError::InListener`] where a listener calls this; [`PumpError::InUse`] while another thread
    /// pumps; [`PumpError::AlreadyDeleted`].
    pub fn pump(&self, timeout: Duration) -> Result<bool, PumpError> {
        Ok(self.inner().session.pump(timeout)?)
    }

    /// How long from now the next [`pump`](Self::pump) may wait if nothing arrives: HEARTBEATs, repairs, announcements and deadlines
    /// are due then. Zero if something is due already.
    #[must_use]
    pub fn next_pump(&self) -> Duration {
        let session = &self.inner().session;
        session.next_due().since(session.now().mono).max(Duration::ZERO)
    }
}
