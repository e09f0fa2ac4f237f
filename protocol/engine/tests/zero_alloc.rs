//! In steady state, `write()` on one participant to `take()` on another allocates nothing.

// Nothing to find for Miri that the other tests do not do, in hours.
#![cfg(not(any(loom, shuttle, miri)))]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Net, config, instance, reader_spec, writer_spec};
use dunlin_buf::{BufPool, SharedBytes};
use dunlin_cache::{CachedSample, Selection};
use dunlin_core::{Duration, Locator, MonoTime, Now};
use dunlin_engine::{Output, Participant, ReaderSlot, WriteRequest, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_rtps::ChangeKind;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts what this thread asks the system for.
struct Counting;

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract; counting neither
// allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` with this layout, because all allocations do.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `dealloc`, and the caller's promise about `size` is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A sender, a receiver and the wire between them; everything is reused.
struct Line {
    now: Now,
    participants: [std::sync::Arc<Participant>; 2],
    outputs: [Output; 2],
    writer: std::sync::Arc<WriterSlot>,
    reader: std::sync::Arc<ReaderSlot>,
    pool: BufPool,
    wire: Vec<(usize, SharedBytes)>,
    samples: Vec<CachedSample>,
    received: usize,
}

impl Line {
    fn new(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> Self {
        let mut net = Net::with_configs((0..2).map(config));
        net.start();
        let spec = (writer_spec("T", writer_qos), reader_spec("T", reader_qos));
        let writer = net.with(0, |p, now, out| p.create_writer(now, spec.0, out)).expect("a good writer");
        let reader = net.with(1, |p, now, out| p.create_reader(now, spec.1, out)).expect("a good reader");
        net.run(Duration::from_millis(500));
        assert_eq!(writer.matched_readers().len(), 1);
        let now = net.clock();
        let mut participants = net.nodes.into_iter().map(|node| node.participant);
        let mut next = || participants.next().expect("two participants");
        Self {
            now,
            participants: [next(), next()],
            outputs: [Output::new(), Output::new()],
            writer,
            reader,
            pool: BufPool::new(1 << 20),
            wire: vec![],
            samples: vec![],
            received: 0,
        }
    }

    /// Puts the datagrams of one side on the wire.
    fn send(&mut self, side: usize) {
        for datagram in self.outputs[side].outbox.datagrams() {
            let mut buffer = self.pool.take(datagram.len());
            buffer.vec_mut().clear();
            datagram.copy_to(buffer.vec_mut());
            self.wire.push((1 - side, self.pool.freeze(buffer, datagram.len())));
        }
        self.outputs[side].clear();
    }

    /// Delivers until the wire is silent.
    fn settle(&mut self) {
        while let Some((side, packet)) = self.wire.pop() {
            self.participants[side].on_datagram(self.now, Locator::INVALID, &packet, &mut self.outputs[side]);
            self.send(side);
        }
    }

    fn round(&mut self, payload: &[u8]) {
        self.now.mono = MonoTime(self.now.mono.0 + 100_000);
        self.now.wall.0 += 100_000;
        for side in 0..2 {
            if self.participants[side].next_deadline().is_some_and(|at| at <= self.now.mono) {
                self.participants[side].on_timer(self.now, &mut self.outputs[side]);
                self.send(side);
                self.settle();
            }
        }
        let request = WriteRequest {
            kind: ChangeKind::Alive,
            instance: instance(7),
            source_timestamp: None,
            payload: self.pool.copy(payload),
        };
        let writer = std::sync::Arc::clone(&self.writer);
        let turn = writer.write(self.now, request, &mut self.outputs[0]).expect("room");
        self.send(0);
        turn.finish();
        self.settle();
        let taken =
            self.reader.take(self.now, &Selection::default(), &mut self.samples, &mut self.outputs[1]);
        self.received += taken.expect("no instance asked");
        self.samples.clear();
        self.send(1);
        self.settle();
    }
}

fn check(what: &str, writer_qos: &DataWriterQos, reader_qos: &DataReaderQos, len: usize) {
    let mut line = Line::new(writer_qos, reader_qos);
    let mut payload = vec![0, 1, 0, 0, 7, 0, 0, 0];
    payload.resize(len, 1);
    for _ in 0..2000 {
        line.round(&payload);
    }
    let before = ALLOCATIONS.with(Cell::get);
    assert!(before > 0, "making a participant allocates, so the count works");
    line.received = 0;
    for _ in 0..1000 {
        line.round(&payload);
    }
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    assert_eq!(line.received, 1000, "{what}");
    assert_eq!(allocations, 0, "{what}: allocations in 1000 samples");
}

#[test]
fn steady_state_allocates_nothing() {
    let best_effort = (DataWriterQos::default().best_effort(), DataReaderQos::default());
    let reliable = (DataWriterQos::default().reliable(), DataReaderQos::default().reliable());
    let keep_all =
        (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all());
    check("best effort", &best_effort.0, &best_effort.1, 64);
    check("reliable", &reliable.0, &reliable.1, 64);
    check("reliable, keep all", &keep_all.0, &keep_all.1, 1024);
}
