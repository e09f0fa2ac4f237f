//! Real threads on one participant pair: writers that share a slot, receivers, timers, takers and a control plane.
//! Debug builds check the order of every lock on the way.

#![cfg(not(any(loom, shuttle)))]

mod common;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use common::{Net, config, instance, reader_spec, sample, unpack, writer_spec};
use dunlin_buf::SharedBytes;
use dunlin_cache::Selection;
use dunlin_core::{Duration, Locator, MonoTime, Now};
use dunlin_engine::{Event, Output, Participant, ReaderSlot, WriteRequest, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_rtps::ChangeKind;

const THREADS: u32 = if cfg!(miri) { 2 } else { 4 };
const SAMPLES: u32 = if cfg!(miri) { 3 } else { 500 };

/// Two participants joined by queues that neither lose nor reorder.
struct World {
    /// Microseconds since the start, as the timer thread counts them.
    ticks: AtomicUsize,
    offset: Now,
    participants: Vec<Arc<Participant>>,
    queues: [(Mutex<VecDeque<SharedBytes>>, Condvar); 2],
    over: AtomicBool,
    lost: AtomicUsize,
}

impl World {
    fn now(&self) -> Now {
        let passed = Duration::from_micros(self.ticks.load(Ordering::Relaxed) as i64);
        Now { mono: self.offset.mono.plus(passed), wall: self.offset.wall.plus(passed) }
    }

    /// Puts the datagrams of one side on the wire, as the thread that caused them.
    fn send(&self, side: usize, out: &mut Output) {
        for datagram in out.outbox.datagrams() {
            let mut bytes = vec![];
            datagram.copy_to(&mut bytes);
            let (queue, arrived) = &self.queues[1 - side];
            queue.lock().expect("no panic").push_back(bytes.into());
            arrived.notify_one();
        }
        for event in &out.events {
            if let Event::SampleLost { .. } = event {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn receive(&self, side: usize) {
        let mut out = Output::new();
        let (queue, arrived) = &self.queues[side];
        while !self.over.load(Ordering::Relaxed) {
            let mut guard = queue.lock().expect("no panic");
            if guard.is_empty() {
                guard = arrived.wait_timeout(guard, std::time::Duration::from_millis(1)).expect("no panic").0;
            }
            let packet = guard.pop_front();
            drop(guard);
            let Some(packet) = packet else { continue };
            self.participants[side].on_datagram(self.now(), Locator::INVALID, &packet, &mut out);
            self.send(side, &mut out);
            out.clear();
        }
    }

    fn keep_time(&self) {
        let mut out = Output::new();
        while !self.over.load(Ordering::Relaxed) {
            self.ticks.fetch_add(1, Ordering::Relaxed);
            for (side, participant) in self.participants.iter().enumerate() {
                participant.on_timer(self.now(), &mut out);
                self.send(side, &mut out);
                out.clear();
            }
            thread::yield_now();
        }
    }

    fn write(&self, writer: &WriterSlot, thread: u32) {
        let mut out = Output::new();
        for n in 0..SAMPLES {
            let request = WriteRequest {
                kind: ChangeKind::Alive,
                instance: instance(thread),
                source_timestamp: None,
                payload: sample(thread, &n.to_le_bytes()),
            };
            let turn = writer.write(self.now(), request, &mut out).expect("no limits");
            // A chance for others to overtake, which the turn must not let them do.
            thread::yield_now();
            self.send(0, &mut out);
            turn.finish();
            out.clear();
        }
    }

    fn take(&self, reader: &ReaderSlot, expected: u32) -> Vec<(u32, u32)> {
        let mut out = Output::new();
        let mut samples = vec![];
        while samples.len() < expected as usize {
            let ticks = self.ticks.load(Ordering::Relaxed);
            assert!(ticks < 30_000_000, "{} of {expected} samples", samples.len());
            let taken = reader.take(self.now(), &Selection::default(), &mut samples, &mut out);
            if taken == Ok(0) {
                thread::yield_now();
            }
            self.send(1, &mut out);
            out.clear();
        }
        let number = |body: Vec<u8>| u32::from_le_bytes(body[..4].try_into().expect("four octets"));
        samples.iter().map(unpack).map(|(key, body)| (key, number(body))).collect()
    }

    /// Creates and deletes endpoints on both sides all the time.
    fn disturb(&self) {
        let mut out = Output::new();
        while !self.over.load(Ordering::Relaxed) {
            for (side, participant) in self.participants.iter().enumerate() {
                let reader = reader_spec("T", &DataReaderQos::default().reliable());
                let writer = writer_spec("T", &DataWriterQos::default().reliable().transient_local());
                let reader = participant.create_reader(self.now(), reader, &mut out).expect("a good reader");
                let writer = participant.create_writer(self.now(), writer, &mut out).expect("a good writer");
                participant.delete_reader(self.now(), &reader, &mut out);
                participant.delete_writer(self.now(), &writer, &mut out);
                self.send(side, &mut out);
                out.clear();
            }
        }
    }
}

/// Says that it is over when dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn threads_share_everything() {
    let mut net = Net::with_configs((0..2).map(config));
    net.start();
    let writer = net.writer(0, "T", &DataWriterQos::default().reliable().keep_all());
    let reliable = net.reader(1, "T", &DataReaderQos::default().reliable().keep_all());
    let best_effort = net.reader(1, "T", &DataReaderQos::default().keep_all());
    net.run(Duration::from_millis(500));
    assert_eq!(writer.matched_readers().len(), 2);
    let offset = net.clock();
    let world = World {
        ticks: AtomicUsize::new(0),
        offset: Now { mono: MonoTime(offset.mono.0), ..offset },
        participants: net.nodes.into_iter().map(|node| node.participant).collect(),
        queues: Default::default(),
        over: AtomicBool::new(false),
        lost: AtomicUsize::new(0),
    };
    let world = Arc::new(world);
    thread::scope(|scope| {
        // However this ends, the other threads end too.
        let _over = Over(&world.over);
        for side in 0..2 {
            let world = &world;
            scope.spawn(move || world.receive(side));
        }
        scope.spawn(|| world.keep_time());
        scope.spawn(|| world.disturb());
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (world, writer) = (&world, &writer);
                scope.spawn(move || world.write(writer, thread))
            })
            .collect();
        let takers: Vec<_> = [&reliable, &best_effort]
            .map(|reader| {
                let world = &world;
                scope.spawn(move || world.take(reader, THREADS * SAMPLES))
            })
            .into();
        for writer in writers {
            writer.join().expect("no panic");
        }
        for taker in takers {
            let received = taker.join().expect("no panic");
            for thread in 0..THREADS {
                let numbers: Vec<u32> = received.iter().filter(|r| r.0 == thread).map(|r| r.1).collect();
                assert_eq!(numbers, (0..SAMPLES).collect::<Vec<_>>(), "everything of a thread, in its order");
            }
        }
        while writer.acked_by_all() < writer.last_sn() {
            thread::yield_now();
        }
    });
    assert_eq!(world.lost.load(Ordering::Relaxed), 0, "the wire had every number in its place");
}
