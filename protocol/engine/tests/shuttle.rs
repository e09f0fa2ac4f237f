//! The whole engine under a scheduler that switches threads at random at every lock: two writers on one slot,
//! receive threads, the timer, the control plane and a taker, on two participants that are joined by queues.
//!
//! `make shuttle` runs it. A schedule that fails is named by its seed; `SEED=n ROUNDS=1 make shuttle` repeats it.

#![cfg(shuttle)]

mod common;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use common::{Net, config, instance, reader_spec, sample, unpack, writer_spec};
use dunlin_buf::SharedBytes;
use dunlin_cache::Selection;
use dunlin_core::{Duration, Locator, Now};
use dunlin_engine::{
    Event, Output, Participant, ParticipantConfig, ReaderSlot, Tuning, WriteRequest, WriterSlot,
};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_rtps::{ChangeKind, Pacing};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Condvar, Mutex};
use shuttle::{Config, Runner, thread};

/// Samples of each writing thread.
const SAMPLES: u32 = 4;
const WRITERS: u32 = 2;
/// Time that one turn of the timer thread stands for.
const TICK: Duration = Duration::from_micros(200);
/// Schedules from one seed. The scheduler that aims at rare orders learns from the first how long one is.
const SCHEDULES: usize = 5;

/// Two participants joined by queues that neither lose nor reorder.
struct World {
    ticks: AtomicUsize,
    begin: Now,
    participants: Vec<std::sync::Arc<Participant>>,
    queues: [(Mutex<VecDeque<SharedBytes>>, Condvar); 2],
    over: AtomicBool,
    lost: AtomicUsize,
}

impl World {
    fn now(&self) -> Now {
        let passed = Duration::from_nanos(TICK.as_nanos() * self.ticks.load(SeqCst) as i64);
        Now { mono: self.begin.mono.plus(passed), wall: self.begin.wall.plus(passed) }
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
        let lost = out.events.iter().filter(|event| matches!(event, Event::SampleLost { .. })).count();
        self.lost.fetch_add(lost, SeqCst);
        out.clear();
    }

    fn receive(&self, side: usize) {
        let mut out = Output::new();
        let (queue, arrived) = &self.queues[side];
        loop {
            let mut guard = queue.lock().expect("no panic");
            while guard.is_empty() && !self.over.load(SeqCst) {
                guard = arrived.wait(guard).expect("no panic");
            }
            let packet = guard.pop_front();
            drop(guard);
            let Some(packet) = packet else { return };
            self.participants[side].on_datagram(self.now(), Locator::INVALID, &packet, &mut out);
            self.send(side, &mut out);
        }
    }

    fn keep_time(&self) {
        let mut out = Output::new();
        while !self.over.load(SeqCst) {
            self.ticks.fetch_add(1, SeqCst);
            for (side, participant) in self.participants.iter().enumerate() {
                participant.on_timer(self.now(), &mut out);
                self.send(side, &mut out);
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
            self.send_turn(&mut out);
            turn.finish();
            out.clear();
        }
    }

    /// Like [`send`](Self::send), but the output is cleared after the turn, as the driver does it.
    fn send_turn(&self, out: &mut Output) {
        for datagram in out.outbox.datagrams() {
            let mut bytes = vec![];
            datagram.copy_to(&mut bytes);
            let (queue, arrived) = &self.queues[1];
            queue.lock().expect("no panic").push_back(bytes.into());
            arrived.notify_one();
        }
    }

    fn take(&self, reader: &ReaderSlot) {
        let mut out = Output::new();
        let mut samples = vec![];
        while samples.len() < (WRITERS * SAMPLES) as usize {
            let taken = reader.take(self.now(), &Selection::default(), &mut samples, &mut out);
            self.send(1, &mut out);
            if taken == Ok(0) {
                thread::yield_now();
            }
        }
        let number = |body: Vec<u8>| u32::from_le_bytes(body[..4].try_into().expect("four octets"));
        let received: Vec<_> = samples.iter().map(unpack).map(|(key, body)| (key, number(body))).collect();
        for thread in 0..WRITERS {
            let numbers: Vec<u32> = received.iter().filter(|r| r.0 == thread).map(|r| r.1).collect();
            assert_eq!(numbers, (0..SAMPLES).collect::<Vec<_>>(), "everything of a thread, in its order");
        }
    }

    /// Creates and deletes endpoints of the same topic on both sides.
    fn disturb(&self) {
        let mut out = Output::new();
        for (side, participant) in self.participants.iter().enumerate() {
            let reader = reader_spec("T", &DataReaderQos::default().reliable());
            let writer = writer_spec("T", &DataWriterQos::default().reliable().transient_local());
            let reader = participant.create_reader(self.now(), reader, &mut out).expect("a good reader");
            let writer = participant.create_writer(self.now(), writer, &mut out).expect("a good writer");
            self.send(side, &mut out);
            participant.delete_reader(self.now(), &reader, &mut out);
            participant.delete_writer(self.now(), &writer, &mut out);
            self.send(side, &mut out);
        }
    }

    /// Lets receive threads and timer end.
    fn end(&self) {
        self.over.store(true, SeqCst);
        for (queue, arrived) in &self.queues {
            drop(queue.lock().expect("no panic"));
            arrived.notify_all();
        }
    }
}

fn scenario() {
    // Slow enough that the timer has some of the data to send.
    let tuning = Tuning { pacing: Some(Pacing { rate: 400_000, burst: 250 }), ..Tuning::default() };
    let mut net =
        Net::with_configs((0..2).map(|n| ParticipantConfig { tuning: tuning.clone(), ..config(n) }));
    net.start();
    let writer = net.writer(0, "T", &DataWriterQos::default().reliable().keep_all());
    let reliable = net.reader(1, "T", &DataReaderQos::default().reliable().keep_all());
    let best_effort = net.reader(1, "T", &DataReaderQos::default().keep_all());
    net.run(Duration::from_millis(200));
    assert_eq!(writer.matched_readers().len(), 2);
    let world = World {
        ticks: AtomicUsize::new(0),
        begin: net.clock(),
        participants: net.nodes.into_iter().map(|node| node.participant).collect(),
        queues: Default::default(),
        over: AtomicBool::new(false),
        lost: AtomicUsize::new(0),
    };
    thread::scope(|scope| {
        let world = &world;
        scope.spawn(|| world.receive(0));
        scope.spawn(|| world.receive(1));
        scope.spawn(|| world.keep_time());
        let disturber = scope.spawn(|| world.disturb());
        let writers: Vec<_> = (0..WRITERS)
            .map(|thread| {
                let writer = &writer;
                scope.spawn(move || world.write(writer, thread))
            })
            .collect();
        world.take(&reliable);
        world.take(&best_effort);
        for writer in writers {
            writer.join().expect("no panic");
        }
        disturber.join().expect("no panic");
        while writer.acked_by_all() < writer.last_sn() {
            thread::yield_now();
        }
        world.end();
    });
    assert_eq!(world.lost.load(SeqCst), 0, "the wire had every number in its place");
}

#[expect(clippy::disallowed_methods, reason = "a test that is told where to begin")]
fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn explore<S: Scheduler + 'static>(kind: &str, scheduler: impl Fn(u64) -> S) {
    let (first, rounds) = (variable("SEED", 1), variable("ROUNDS", 400));
    for seed in first..first.saturating_add(rounds) {
        let mut config = Config::new();
        config.stack_size = 1 << 20;
        // Every atomic counts as sequentially consistent here; weaker orders are what the models are for.
        config.silence_warnings = true;
        let runner = Runner::new(scheduler(seed), config);
        if let Err(failure) = catch_unwind(AssertUnwindSafe(|| runner.run(scenario))) {
            eprintln!("{kind}: seed {seed} fails; SEED={seed} ROUNDS=1 make shuttle repeats it");
            resume_unwind(failure);
        }
    }
    eprintln!("{kind}: {rounds} seeds from {first}, {SCHEDULES} schedules each");
}

#[test]
fn random_schedules() {
    explore("random", |seed| RandomScheduler::new_from_seed(seed, SCHEDULES));
}

/// Priorities that change at few points find bugs that need few switches at the right places.
#[test]
fn schedules_with_few_switches() {
    explore("few switches", |seed| PctScheduler::new_from_seed(seed, 3, SCHEDULES));
}
