//! Faults between a participant and its transport: loss, duplication, delay and reordering, drawn from
//! a seed. For tests and demonstrations; it works around any transport, on what that transport sends.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dunlin_buf::{BufPool, Datagram, Outbox, SharedBytes};
use dunlin_core::{Locator, Path, Rng};

use crate::{Channel, Lender, Locators, RecvMode, SendMode, SendReport, Transport, TransportStats};

/// Most datagrams held back at a time; beyond that they are lost.
const MAX_HELD: usize = 16_384;
/// How long a datagram chosen for reordering is held back at most.
const REORDER_WITHIN: Duration = Duration::from_millis(2);
/// How long the thread waits when it holds nothing.
const IDLE: Duration = Duration::from_secs(3600);
const MILLION: u64 = 1_000_000;

/// How often what goes wrong. Shares are in parts per million of the datagrams sent, one draw for each
/// destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultConfig {
    /// The same seed and the same order of sends give the same faults.
    pub seed: u64,
    /// Lost.
    pub loss_ppm: u32,
    /// Sent twice.
    pub duplicate_ppm: u32,
    /// Held back up to 2 ms, so that later ones overtake it.
    pub reorder_ppm: u32,
    /// Added to every datagram.
    pub delay: Duration,
    /// Up to this much more, evenly distributed.
    pub jitter: Duration,
}

impl FaultConfig {
    /// True if anything can go wrong.
    #[must_use]
    pub fn is_active(&self) -> bool {
        let shares = [self.loss_ppm, self.duplicate_ppm, self.reorder_ppm];
        shares.iter().any(|share| *share > 0) || self.holds_back()
    }

    fn holds_back(&self) -> bool {
        self.reorder_ppm > 0 || !self.delay.is_zero() || !self.jitter.is_zero()
    }
}

/// Counts of injected faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultStats {
    /// Lost by the draw.
    pub lost: u64,
    /// Lost because too many were held back.
    pub overflowed: u64,
    /// Sent twice.
    pub duplicated: u64,
    /// Held back for a while.
    pub held: u64,
}

#[derive(Default)]
struct Counters {
    lost: AtomicU64,
    overflowed: AtomicU64,
    duplicated: AtomicU64,
    held: AtomicU64,
}

/// A transport with faults around another.
pub struct Fault {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    inner: Arc<dyn Transport>,
    config: FaultConfig,
    rng: Mutex<Rng>,
    held: Mutex<Held>,
    changed: Condvar,
    counters: Counters,
}

#[derive(Default)]
struct Held {
    heap: BinaryHeap<Late>,
    next: u64,
    stopped: bool,
}

/// A datagram held back until `due`; of two due together the older goes first.
struct Late {
    due: Instant,
    number: u64,
    bytes: Vec<u8>,
    destination: Locator,
    class: u8,
}

impl Ord for Late {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Late {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Late {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fault {
    /// Puts faults around `inner`. A thread is started only if the faults hold datagrams back.
    ///
    /// # Errors
    /// When that thread cannot be started.
    pub fn new(inner: Arc<dyn Transport>, config: FaultConfig) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            inner,
            config,
            rng: Mutex::new(Rng::new(config.seed)),
            held: Mutex::default(),
            changed: Condvar::new(),
            counters: Counters::default(),
        });
        let start = || {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name("dunlin-fault".into()).spawn(move || shared.release())
        };
        let thread = config.holds_back().then(start).transpose()?;
        Ok(Self { shared, thread: Mutex::new(thread) })
    }

    /// What was injected so far.
    #[must_use]
    pub fn fault_stats(&self) -> FaultStats {
        let counters = &self.shared.counters;
        FaultStats {
            lost: counters.lost.load(Relaxed),
            overflowed: counters.overflowed.load(Relaxed),
            duplicated: counters.duplicated.load(Relaxed),
            held: counters.held.load(Relaxed),
        }
    }

    fn stop(&self) {
        lock(&self.shared.held).stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            // A panic of that thread has been reported on its own.
            let _ = thread.join();
        }
    }
}

/// What the draw says for one datagram.
#[derive(Clone, Copy)]
struct FaultDraw {
    copies: usize,
    held: Option<Duration>,
}

impl Shared {
    fn draw(&self) -> FaultDraw {
        let config = &self.config;
        let mut rng = lock(&self.rng);
        let mut happens = |ppm: u32| ppm > 0 && rng.chance(u64::from(ppm), MILLION);
        let lost = happens(config.loss_ppm);
        let twice = happens(config.duplicate_ppm);
        let late = happens(config.reorder_ppm);
        let mut up_to = |span: Duration| {
            let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
            Duration::from_nanos(rng.below(nanos))
        };
        let reordering = if late { up_to(REORDER_WITHIN) } else { Duration::ZERO };
        let held = config.delay + up_to(config.jitter) + reordering;
        let copies = if lost { 0 } else { 1 + usize::from(twice) };
        FaultDraw { copies, held: (!held.is_zero()).then_some(held) }
    }

    /// Decides what becomes of one datagram; false if it is to be sent at once.
    fn divert(&self, datagram: &Datagram<'_>, destination: Locator, at_once: &mut Outbox) -> bool {
        let drawn = self.draw();
        let count = |counter: &AtomicU64, yes: bool| counter.fetch_add(yes.into(), Relaxed);
        count(&self.counters.lost, drawn.copies == 0);
        count(&self.counters.duplicated, drawn.copies > 1);
        if let Some(span) = drawn.held.filter(|_| drawn.copies > 0)
            && self.hold(datagram, destination, drawn.copies, Instant::now() + span)
        {
            return true;
        }
        for _ in 0..drawn.copies {
            at_once.begin();
            at_once.set_class(datagram.class());
            datagram.parts().for_each(|part| at_once.put(part));
            at_once.finish(&[destination]);
        }
        drawn.copies == 0
    }

    /// Holds copies back until `due`; false if nothing is held back any more.
    fn hold(&self, datagram: &Datagram<'_>, destination: Locator, copies: usize, due: Instant) -> bool {
        let mut held = lock(&self.held);
        if held.stopped {
            return false;
        }
        for _ in 0..copies {
            if held.heap.len() >= MAX_HELD {
                self.counters.overflowed.fetch_add(1, Relaxed);
                continue;
            }
            let mut bytes = Vec::with_capacity(datagram.len());
            datagram.copy_to(&mut bytes);
            let number = held.next;
            held.next += 1;
            let class = datagram.class();
            held.heap.push(Late { due, number, bytes, destination, class });
            self.counters.held.fetch_add(1, Relaxed);
        }
        self.changed.notify_all();
        true
    }

    /// The thread that lets held datagrams go; at the end all that are left.
    fn release(&self) {
        let mut out = Outbox::new();
        let mut held = lock(&self.held);
        loop {
            let (stopped, now) = (held.stopped, Instant::now());
            while held.heap.peek().is_some_and(|late| stopped || late.due <= now) {
                let Some(late) = held.heap.pop() else { break };
                out.begin();
                out.set_class(late.class);
                out.put(&late.bytes);
                out.finish(&[late.destination]);
            }
            if !out.is_empty() {
                drop(held);
                self.inner.send(&out, SendMode::Blocking);
                out.clear();
                held = lock(&self.held);
                continue;
            }
            if stopped {
                return;
            }
            let wait = held.heap.peek().map_or(IDLE, |late| late.due.saturating_duration_since(now));
            held = self.changed.wait_timeout(held, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Transport for Fault {
    fn name(&self) -> &'static str {
        self.shared.inner.name()
    }

    fn carries(&self, locator: &Locator) -> bool {
        self.shared.inner.carries(locator)
    }

    fn channels(&self) -> &[Channel] {
        self.shared.inner.channels()
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let shared = &self.shared;
        let mut report = SendReport::default();
        let mut at_once = Outbox::new();
        for datagram in datagrams.datagrams() {
            for destination in datagram.destinations() {
                if !self.carries(destination) {
                    report.skipped += 1;
                } else if shared.divert(&datagram, *destination, &mut at_once) {
                    report.sent += 1;
                }
            }
        }
        report.add(shared.inner.send(&at_once, mode));
        report
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        self.shared.inner.recv(channel, mode, pool, out)
    }

    fn gathers(&self) -> bool {
        self.shared.inner.gathers()
    }

    fn wait(
        &self,
        channels: &[Channel],
        ready: &mut Vec<Channel>,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        self.shared.inner.wait(channels, ready, patience)
    }

    fn shutdown(&self) {
        self.stop();
        self.shared.inner.shutdown();
    }

    fn locators(&self) -> Locators {
        self.shared.inner.locators()
    }

    fn announce_to(&self) -> Vec<Locator> {
        self.shared.inner.announce_to()
    }

    fn max_message_size(&self) -> usize {
        self.shared.inner.max_message_size()
    }

    fn path(&self, to: &Locator) -> Path {
        self.shared.inner.path(to)
    }

    fn source_ports(&self) -> Vec<u16> {
        self.shared.inner.source_ports()
    }

    fn receive_room(&self) -> usize {
        self.shared.inner.receive_room()
    }

    fn lender(&self, len: usize) -> Option<Box<dyn Lender>> {
        self.shared.inner.lender(len)
    }

    fn refresh(&self) -> bool {
        self.shared.inner.refresh()
    }

    fn notes(&self) -> Vec<String> {
        self.shared.inner.notes()
    }

    fn warnings(&self) -> Vec<String> {
        self.shared.inner.warnings()
    }

    fn troubles(&self) -> Vec<String> {
        self.shared.inner.troubles()
    }

    fn opens(&self, to: &Locator) -> bool {
        self.shared.inner.opens(to)
    }

    fn open_path(&self, peer: &Locator) -> Result<(), String> {
        self.shared.inner.open_path(peer)
    }

    fn close_path(&self, peer: &Locator) {
        self.shared.inner.close_path(peer);
    }

    fn lost(&self, peer: &Locator) -> Option<String> {
        self.shared.inner.lost(peer)
    }

    fn may_return(&self, peer: &Locator) -> bool {
        self.shared.inner.may_return(peer)
    }

    fn stats(&self) -> TransportStats {
        self.shared.inner.stats()
    }
}

impl Drop for Fault {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
