//! What remote writers may make the readers of a participant keep where RESOURCE_LIMITS say nothing (DDS 1.4 §2.2.3.19).

use alloc::sync::Arc;

use dunlin_core::{Counter, GuidPrefix};
use dunlin_qos::{ResourceLimits, UNLIMITED};
use dunlin_sync::atomic::{AtomicUsize, Ordering};

/// A reader draws so many octets at once, so that few samples need what all readers share.
const PORTION: usize = 16 * 1024;

/// Octets that the readers of a participant share.
#[derive(Debug)]
pub struct OctetBudget {
    free: AtomicUsize,
    total: usize,
}

impl OctetBudget {
    /// So many octets for all readers together.
    #[must_use]
    pub fn new(octets: usize) -> Self {
        Self { free: AtomicUsize::new(octets), total: octets }
    }

    fn draw(&self, octets: usize) -> bool {
        let less = |free: usize| free.checked_sub(octets);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn give_back(&self, octets: usize) {
        self.free.fetch_add(octets, Ordering::Relaxed);
    }
}

/// What writers of other participants may make one reader keep.
#[derive(Clone, Debug, Default)]
pub struct Quota {
    /// Whose reader it is: its own writers are not limited.
    pub own: GuidPrefix,
    /// Instances; `None` for as many as come.
    pub max_instances: Option<usize>,
    /// Octets of samples and of keys, shared with other readers; `None` for as many as come.
    pub octets: Option<Arc<OctetBudget>>,
}

impl Quota {
    /// What is left of it for a reader with these RESOURCE_LIMITS: what they limit, they limit alone.
    #[must_use]
    pub fn beside(mut self, limits: ResourceLimits) -> Self {
        if limits.max_instances != UNLIMITED {
            self.max_instances = None;
        }
        if limits.max_samples != UNLIMITED {
            self.octets = None;
        }
        self
    }
}

/// What a reader has of its quota.
#[derive(Debug, Default)]
pub(crate) struct Account {
    quota: Quota,
    held: Counter,
    /// Of the shared octets; at least those that are held, but where a key had to be kept.
    drawn: Counter,
    pub(crate) refused: u64,
    /// The last change without room was refused by the quota.
    pub(crate) is_reason: bool,
    /// Others may make the room that was missing.
    pub(crate) crowded: bool,
}

impl Account {
    pub(crate) fn new(quota: Quota) -> Self {
        Self { quota, ..Self::default() }
    }

    /// Whether what a writer sends counts.
    #[inline]
    pub(crate) fn counts(&self, writer: GuidPrefix) -> bool {
        self.quota.octets.is_some() && writer != self.quota.own
    }

    pub(crate) fn is_own(&self, writer: GuidPrefix) -> bool {
        writer == self.quota.own
    }

    pub(crate) fn max_instances(&self) -> usize {
        self.quota.max_instances.unwrap_or(usize::MAX)
    }

    /// Whether so many octets more find room once others have given way. They are drawn then.
    #[inline]
    pub(crate) fn reserve(&mut self, octets: usize, given_way: usize) -> bool {
        let wanted = self.held.get().saturating_add(octets).saturating_sub(given_way);
        wanted <= self.drawn.get() || self.draw(wanted.saturating_sub(self.drawn.get()))
    }

    fn draw(&mut self, missing: usize) -> bool {
        let Some(shared) = &self.quota.octets else { return true };
        let portion = missing.checked_next_multiple_of(PORTION).unwrap_or(missing);
        let drawn = [portion, missing].into_iter().find(|octets| shared.draw(*octets));
        self.drawn.add(drawn.unwrap_or(0));
        drawn.is_some()
    }

    /// Whether so many octets are more than all readers may have together.
    pub(crate) fn is_never_enough_for(&self, octets: usize) -> bool {
        self.quota.octets.as_ref().is_some_and(|shared| octets > shared.total)
    }

    #[inline]
    pub(crate) fn hold(&mut self, octets: usize) {
        self.held.add(octets);
    }

    #[inline]
    pub(crate) fn release(&mut self, octets: usize) {
        self.held.subtract(octets);
        // Less is drawn than held where a key had to be kept.
        let spare = self.drawn.get().saturating_sub(self.held.get());
        if spare >= PORTION.saturating_mul(2) {
            self.give_back(spare.saturating_sub(PORTION));
        }
    }

    fn give_back(&mut self, octets: usize) {
        if let Some(shared) = &self.quota.octets {
            shared.give_back(octets);
            self.drawn.subtract(octets);
        }
    }

    /// Notes a change for which there is no room; by the quota, if `octets` or instances are missing there.
    pub(crate) fn refuse(&mut self, by_octets: bool) {
        self.refused = self.refused.saturating_add(1);
        self.is_reason = true;
        self.crowded |= by_octets;
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.give_back(self.drawn.get());
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn account(shared: &Arc<OctetBudget>) -> Account {
        Account::new(Quota { octets: Some(Arc::clone(shared)), ..Quota::default() })
    }

    fn free(shared: &OctetBudget) -> usize {
        shared.free.load(Ordering::Relaxed)
    }

    #[test]
    fn readers_share_octets_and_give_back_what_they_do_not_need() {
        let shared = Arc::new(OctetBudget::new(PORTION * 4 + 100));
        let (mut one, mut other) = (account(&shared), account(&shared));
        assert!(one.reserve(PORTION * 3, 0));
        one.hold(PORTION * 3);
        assert_eq!(free(&shared), PORTION + 100);
        assert!(!other.reserve(PORTION * 2, 0) && other.reserve(10, 0));
        other.hold(10);
        assert!(other.reserve(PORTION + 90, 0), "less than a portion is left, and is enough");
        assert!(!other.reserve(PORTION + 91, 0) && other.reserve(PORTION + 100, 10));
        one.release(PORTION * 3);
        assert_eq!(free(&shared), PORTION * 2, "a portion is kept for the next samples");
        drop((one, other));
        assert_eq!(free(&shared), PORTION * 4 + 100);
    }

    #[test]
    fn resource_limits_replace_the_quotas() {
        let quota =
            Quota { max_instances: Some(7), octets: Some(Arc::new(OctetBudget::new(7))), ..Quota::default() };
        let limits = |max_samples, max_instances| ResourceLimits {
            max_samples,
            max_instances,
            max_samples_per_instance: UNLIMITED,
        };
        let left = |limits| {
            let quota = quota.clone().beside(limits);
            (quota.max_instances, quota.octets.is_some())
        };
        assert_eq!(left(limits(UNLIMITED, UNLIMITED)), (Some(7), true));
        assert_eq!(left(limits(100, UNLIMITED)), (Some(7), false));
        assert_eq!(left(limits(UNLIMITED, 100)), (None, true));
    }
}
