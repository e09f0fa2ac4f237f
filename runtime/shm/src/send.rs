//! Sending to several receivers: first what fits to everybody, then waiting for those that are behind.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dunlin_buf::{Datagram, Outbox};
use dunlin_core::{Locator, LocatorKind};
use dunlin_transport::{SendMode, SendReport};

use crate::outlet::{Outcome, Outlet, Room};

/// A receiver that takes nothing for this long is not waited for, until it takes something. Its messages are lost, which
/// the reliable protocol repairs.
const PATIENCE: Duration = Duration::from_millis(50);

/// Counters of what was sent.
#[derive(Default)]
pub(crate) struct Sent {
    pub(crate) datagrams: AtomicU64,
    pub(crate) octets: AtomicU64,
    pub(crate) full: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// One receiver in one call.
struct Target {
    locator: Locator,
    outlet: Option<Arc<Outlet>>,
    /// The datagram to go on with.
    next: usize,
}

thread_local! {
    /// Kept for reuse: a thread sends again and again.
    static TARGETS: RefCell<Vec<Target>> = const { RefCell::new(Vec::new()) };
}

/// Sends what goes to shared-memory locators; `find` knows the receivers.
pub(crate) fn send(
    outbox: &Outbox,
    mode: SendMode,
    find: impl Fn(&Locator) -> Option<Arc<Outlet>>,
    counters: &Sent,
) -> SendReport {
    let mut targets = TARGETS.try_with(|kept| std::mem::take(&mut *kept.borrow_mut())).unwrap_or_default();
    for locator in outbox.datagrams().flat_map(|datagram| datagram.destinations().iter()) {
        let is_new = || targets.iter().all(|target: &Target| target.locator != *locator);
        if locator.kind == LocatorKind::SHARED_MEMORY && is_new() {
            targets.push(Target { locator: *locator, outlet: find(locator), next: 0 });
        }
    }
    let mut call = Call { outbox, mode, counters, report: SendReport::default() };
    for target in &mut targets {
        call.put_what_fits(target);
    }
    for target in &mut targets {
        call.wait_for(target);
    }
    targets.clear();
    let _ = TARGETS.try_with(|kept| *kept.borrow_mut() = targets);
    call.count()
}

struct Call<'a> {
    outbox: &'a Outbox,
    mode: SendMode,
    counters: &'a Sent,
    report: SendReport,
}

impl Call<'_> {
    /// Puts datagrams from the next one on, up to the first that must wait if this call may wait.
    fn put_what_fits(&mut self, target: &mut Target) {
        let Target { locator, outlet, next } = target;
        let goes_there = |datagram: &Datagram<'_>| datagram.destinations().contains(locator);
        let (mut put, mut octets) = (0, 0);
        for datagram in self.outbox.datagrams().skip(*next) {
            if goes_there(&datagram) {
                let outcome = outlet.as_ref().map_or(Outcome::Failed, |outlet| outlet.put(&datagram));
                match outcome {
                    Outcome::Sent => (put, octets) = (put + 1, octets + datagram.len()),
                    Outcome::Full if self.mode == SendMode::Blocking => break,
                    Outcome::Full => self.report.full += 1,
                    Outcome::Failed => self.report.failed += 1,
                }
            }
            *next += 1;
        }
        if put > 0 && !outlet.as_ref().is_some_and(|outlet| outlet.ring_bell()) {
            self.report.failed += put;
        } else if put > 0 {
            self.report.sent += put;
            self.counters.octets.fetch_add(octets as u64, Relaxed);
        }
    }

    /// Waits for a receiver that is behind, as long as it goes on.
    fn wait_for(&mut self, target: &mut Target) {
        let count = self.outbox.datagram_count();
        let mut last_progress = Instant::now();
        while target.next < count {
            let Some(outlet) = target.outlet.clone() else { return };
            if outlet.is_stalled() || last_progress.elapsed() > PATIENCE {
                outlet.stall();
                self.mode = SendMode::NonBlocking;
                self.put_what_fits(target);
                self.mode = SendMode::Blocking;
                return;
            }
            if outlet.wait_for_room() == Room::Perhaps {
                let before = target.next;
                self.put_what_fits(target);
                if target.next > before {
                    last_progress = Instant::now();
                }
            }
        }
    }

    fn count(self) -> SendReport {
        let add = |counter: &AtomicU64, count: usize| {
            if count > 0 {
                counter.fetch_add(count as u64, Relaxed);
            }
        };
        add(&self.counters.datagrams, self.report.sent);
        add(&self.counters.full, self.report.full);
        add(&self.counters.failed, self.report.failed);
        self.report
    }
}
