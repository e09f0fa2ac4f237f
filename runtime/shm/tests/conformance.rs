//! The conformance suite of transports on shared memory: its data channel in place of that of the transport around which
//! it is.
#![cfg(target_os = "linux")]

use std::io;
use std::sync::Arc;

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, Path};
use dunlin_shm::{ShmConfig, ShmTransport};
use dunlin_transport::conformance::{Pair, run};
use dunlin_transport::memory::MemoryNetwork;
use dunlin_transport::{Channel, Locators, RecvMode, SendMode, SendReport, Transport};

/// Data arrives through memory alone.
struct Shared(ShmTransport);

impl Transport for Shared {
    fn name(&self) -> &'static str {
        "shm"
    }

    fn carries(&self, locator: &Locator) -> bool {
        self.0.carries(locator)
    }

    fn channels(&self) -> &[Channel] {
        &[Channel::Meta, Channel::Data]
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        self.0.send(datagrams, mode)
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        let channel = if channel == Channel::Data { Channel::DataShared } else { channel };
        self.0.recv(channel, mode, pool, out)
    }

    fn shutdown(&self) {
        self.0.shutdown();
    }

    fn locators(&self) -> Locators {
        let locators = self.0.locators();
        Locators { default_multicast: Vec::new(), ..locators }
    }

    fn max_message_size(&self) -> usize {
        self.0.max_message_size()
    }

    fn path(&self, to: &Locator) -> Path {
        self.0.path(to)
    }

    fn refresh(&self) -> bool {
        self.0.refresh()
    }

    fn opens(&self, to: &Locator) -> bool {
        self.0.opens(to)
    }

    fn open_path(&self, to: &Locator) -> Result<(), String> {
        self.0.open_path(to)
    }

    fn close_path(&self, to: &Locator) {
        self.0.close_path(to);
    }

    fn lost(&self, to: &Locator) -> Option<String> {
        self.0.lost(to)
    }
}

fn pair(config: &ShmConfig) -> Pair {
    let network = MemoryNetwork::new();
    let open = || ShmTransport::open(network.attach(0), config).unwrap();
    let (a, b) = (open(), open());
    for (one, other) in [(&a, &b), (&b, &a)] {
        one.open_path(&other.locators().default_unicast[0]).unwrap();
    }
    (Arc::new(Shared(a)), Arc::new(Shared(b)))
}

#[test]
fn shared_memory_conforms() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    for ring_size in [1 << 18, 1 << 22] {
        let directory = directory.path().to_owned();
        run(&|| pair(&ShmConfig { directory: directory.clone(), ring_size, ..ShmConfig::default() }));
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing is left behind");
    }
}
