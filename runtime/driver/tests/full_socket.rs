//! What a write does while the socket takes nothing.

mod common;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};

use common::{Node, PATIENCE, Sink, eventually, matched, memory_node, reliable, request};
use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::Locator;
use dunlin_driver::{DriverConfig, EventSink, Session};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_transport::memory::MemoryNetwork;
use dunlin_transport::{Channel, Locators, RecvMode, SendMode, SendReport, Transport};

/// A transport whose socket can be full: then a blocking send waits and any other one loses its datagrams.
struct Full {
    inner: Arc<dyn Transport>,
    full: Mutex<bool>,
    room: Condvar,
    waiting: AtomicUsize,
    dropped: AtomicUsize,
}

impl Full {
    fn set(&self, full: bool) {
        *self.full.lock().unwrap() = full;
        self.room.notify_all();
    }
}

impl Transport for Full {
    fn name(&self) -> &'static str {
        "full"
    }
    fn carries(&self, locator: &Locator) -> bool {
        self.inner.carries(locator)
    }
    fn channels(&self) -> &[Channel] {
        self.inner.channels()
    }
    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let mut full = self.full.lock().unwrap();
        if *full && mode == SendMode::NonBlocking {
            self.dropped.fetch_add(1, SeqCst);
            return SendReport::default();
        }
        if *full {
            self.waiting.fetch_add(1, SeqCst);
            full = self.room.wait_timeout_while(full, PATIENCE, |full| *full).unwrap().0;
        }
        drop(full);
        self.inner.send(datagrams, mode)
    }
    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        self.inner.recv(channel, mode, pool, out)
    }
    fn shutdown(&self) {
        self.set(false);
        self.inner.shutdown();
    }
    fn locators(&self) -> Locators {
        self.inner.locators()
    }
    fn announce_to(&self) -> Vec<Locator> {
        self.inner.announce_to()
    }
    fn max_message_size(&self) -> usize {
        self.inner.max_message_size()
    }
}

/// A node whose socket can be full, and another one.
fn nodes() -> (Arc<Full>, Node, Node) {
    let network = MemoryNetwork::new();
    let full = Arc::new(Full {
        inner: network.attach(0),
        full: Mutex::new(false),
        room: Condvar::new(),
        waiting: AtomicUsize::new(0),
        dropped: AtomicUsize::new(0),
    });
    let sink = Arc::new(Sink::default());
    let events: Arc<dyn EventSink> = sink.clone();
    let session = Session::join_on(full.clone(), DriverConfig::default(), events).unwrap();
    (full, Node { session, sink }, memory_node(&network))
}

#[test]
fn best_effort_never_waits_for_the_socket() {
    let (socket, from, to) = nodes();
    let qos = DataWriterQos::default().best_effort();
    let (writer, reader) = matched(&from, &to, "fast", &qos, &DataReaderQos::default());
    socket.set(true);
    for number in 0..100 {
        from.session.write(&writer, request(number, 50_000)).unwrap();
    }
    assert_eq!(socket.waiting.load(SeqCst), 0);
    assert!(socket.dropped.load(SeqCst) >= 100, "{} sends were refused", socket.dropped.load(SeqCst));
    socket.set(false);
    eventually("samples pass again", || {
        from.write(&writer, 1000).unwrap();
        to.take(&reader).iter().any(|sample| sample.0 == 1000)
    });
}

#[test]
fn a_reliable_write_waits_for_the_socket() {
    waits_for_the_socket(reliable(), 0);
}

/// No socket has room for all of it: it would never arrive on a line that is slower than the processor.
#[test]
fn a_large_best_effort_sample_waits_for_the_socket() {
    waits_for_the_socket((DataWriterQos::default().best_effort(), DataReaderQos::default()), 100_000);
}

fn waits_for_the_socket((writer_qos, reader_qos): (DataWriterQos, DataReaderQos), octets: usize) {
    let (socket, from, to) = nodes();
    let (writer, reader) = matched(&from, &to, "sure", &writer_qos, &reader_qos);
    socket.set(true);
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            from.session.write(&writer, request(7, octets)).unwrap();
            written.store(true, SeqCst);
        });
        eventually("the write waits", || socket.waiting.load(SeqCst) > 0);
        assert!(!written.load(SeqCst));
        socket.set(false);
    });
    eventually("the sample arrives", || to.take(&reader).iter().any(|sample| sample.0 == 7));
}
