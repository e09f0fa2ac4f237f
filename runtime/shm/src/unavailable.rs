//! Systems without shared memory of this kind.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::Locator;
use dunlin_transport::{Channel, Locators, RecvMode, SendMode, SendReport, Transport};

use crate::ShmConfig;

/// Shared memory around another transport; on this system there is none.
pub struct ShmTransport(Infallible);

impl ShmTransport {
    /// Says that there is none.
    ///
    /// # Errors
    /// Always.
    pub fn open(_inner: Arc<dyn Transport>, _config: &ShmConfig) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no futex on shared memory"))
    }
}

impl Transport for ShmTransport {
    fn name(&self) -> &'static str {
        match self.0 {}
    }

    fn carries(&self, _locator: &Locator) -> bool {
        match self.0 {}
    }

    fn channels(&self) -> &[Channel] {
        match self.0 {}
    }

    fn send(&self, _datagrams: &Outbox, _mode: SendMode) -> SendReport {
        match self.0 {}
    }

    fn recv(
        &self,
        _channel: Channel,
        _mode: RecvMode,
        _pool: &mut BufPool,
        _out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        match self.0 {}
    }

    fn shutdown(&self) {
        match self.0 {}
    }

    fn locators(&self) -> Locators {
        match self.0 {}
    }

    fn max_message_size(&self) -> usize {
        match self.0 {}
    }
}
