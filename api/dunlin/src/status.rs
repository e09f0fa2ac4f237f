//! Communication statuses (DDS 1.4 §2.2.4.1).

use std::collections::BTreeMap;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use dunlin_core::InstanceHandle;
use dunlin_qos::{IncompatiblePolicy, PolicyId};

/// A set of status kinds, with the bits of the standard (DDS 1.4 §2.3.3): for which a listener is called, or a status condition
/// becomes true. Combine them with `|`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct StatusMask(pub u32);

macro_rules! status_kinds {
    ($($(#[$doc:meta])* $name:ident = $bit:literal),+ $(,)?) => {
        impl StatusMask {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)+
            /// No status.
            pub const NONE: Self = Self(0);
            /// Every status.
            pub const ALL: Self = Self(u32::MAX);
            const NAMES: &[(Self, &str)] = &[$((Self::$name, stringify!($name))),+];
        }
    };
}

status_kinds! {
    /// Another topic of the same name has a different type.
    INCONSISTENT_TOPIC = 0,
    /// The writer missed the deadline it offered.
    OFFERED_DEADLINE_MISSED = 1,
    /// An instance was not updated within the deadline the reader asked for.
    REQUESTED_DEADLINE_MISSED = 2,
    /// A reader asks for more than the writer offers.
    OFFERED_INCOMPATIBLE_QOS = 5,
    /// A writer offers less than the reader asks for.
    REQUESTED_INCOMPATIBLE_QOS = 6,
    /// Samples did not arrive.
    SAMPLE_LOST = 7,
    /// A sample did not fit the reader's resource limits.
    SAMPLE_REJECTED = 8,
    /// There is new data at some reader of the subscriber.
    DATA_ON_READERS = 9,
    /// There is new data.
    DATA_AVAILABLE = 10,
    /// The writer did not assert its liveliness in time.
    LIVELINESS_LOST = 11,
    /// A matched writer became alive or not alive.
    LIVELINESS_CHANGED = 12,
    /// A reader was matched or unmatched.
    PUBLICATION_MATCHED = 13,
    /// A writer was matched or unmatched.
    SUBSCRIPTION_MATCHED = 14,
}

impl StatusMask {
    /// Whether the two sets share a status.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for StatusMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for StatusMask {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for StatusMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for StatusMask {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl std::fmt::Debug for StatusMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = Self::NAMES.iter().filter(|(bit, _)| self.intersects(*bit)).map(|(_, name)| name);
        f.debug_set().entries(names).finish()
    }
}

/// A count that only grows, and its growth since the status was last read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Since the entity was created.
    pub total: i32,
    /// Since the status was last read or a listener was called.
    pub change: i32,
}

impl Count {
    pub(crate) fn add(&mut self, n: i32) {
        self.total = self.total.saturating_add(n);
        self.change = self.change.saturating_add(n);
    }

    /// Grows to `total`; false if it has done so before.
    pub(crate) fn rise_to(&mut self, total: i32) -> bool {
        let more = total.saturating_sub(self.total).max(0);
        self.add(more);
        more > 0
    }
}

/// PUBLICATION_MATCHED and SUBSCRIPTION_MATCHED: how many readers match the writer, or writers the reader (DDS 1.4 §2.2.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MatchedStatus {
    /// Endpoints ever matched.
    pub total_count: i32,
    /// Growth of `total_count` since the last read.
    pub total_count_change: i32,
    /// Endpoints matched now.
    pub current_count: i32,
    /// Change of `current_count` since the last read; negative when endpoints left.
    pub current_count_change: i32,
    /// The endpoint of the last change.
    pub last_handle: InstanceHandle,
}

impl MatchedStatus {
    pub(crate) fn record(&mut self, added: bool, handle: InstanceHandle) {
        let delta = if added { 1 } else { -1 };
        if added {
            self.total_count = self.total_count.saturating_add(1);
            self.total_count_change = self.total_count_change.saturating_add(1);
        }
        self.current_count = self.current_count.saturating_add(delta);
        self.current_count_change = self.current_count_change.saturating_add(delta);
        self.last_handle = handle;
    }
}

/// OFFERED_INCOMPATIBLE_QOS and REQUESTED_INCOMPATIBLE_QOS: endpoints of the same topic that do not match because of their QoS, and
/// the policies concerned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IncompatibleQosStatus {
    /// Incompatible endpoints found.
    pub count: Count,
    /// One of the policies of the last one.
    pub last_policy_id: Option<PolicyId>,
    /// How often each policy was the reason.
    pub policies: BTreeMap<PolicyId, i32>,
}

impl IncompatibleQosStatus {
    /// Counts one incompatible endpoint.
    pub(crate) fn record(&mut self, policies: &[IncompatiblePolicy]) {
        self.count.add(1);
        for incompatible in policies {
            self.last_policy_id = Some(incompatible.policy);
            let count = self.policies.entry(incompatible.policy).or_default();
            *count = count.saturating_add(1);
        }
    }
}

/// SAMPLE_LOST: samples that a matched writer wrote and the reader never gets.
pub type SampleLostStatus = Count;
/// INCONSISTENT_TOPIC: endpoints of other participants that use the topic's name with a type that does not fit.
pub type InconsistentTopicStatus = Count;
/// LIVELINESS_LOST: how often the writer has not shown within its lease (LIVELINESS) that it is alive.
pub type LivelinessLostStatus = Count;

/// OFFERED_DEADLINE_MISSED and REQUESTED_DEADLINE_MISSED: how often an instance was not written, or not received, within DEADLINE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeadlineMissedStatus {
    /// Periods missed, summed over instances.
    pub count: Count,
    /// The instance that missed last.
    pub last_instance: InstanceHandle,
}

/// Which limit a rejected sample met (SampleRejectedStatusKind).
pub use dunlin_cache::RejectReason as SampleRejectedReason;

/// SAMPLE_REJECTED: samples that arrived and found no room within the reader's RESOURCE_LIMITS. A reliable writer sends them again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SampleRejectedStatus {
    /// Samples rejected.
    pub count: Count,
    /// Why the last one was; `None` before the first.
    pub last_reason: Option<SampleRejectedReason>,
    /// Its instance.
    pub last_instance: InstanceHandle,
}

/// LIVELINESS_CHANGED: how many matched writers are alive and how many are not, by their LIVELINESS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LivelinessChangedStatus {
    /// Matched writers that are alive.
    pub alive_count: i32,
    /// Matched writers that are not.
    pub not_alive_count: i32,
    /// Change of `alive_count` since the last read.
    pub alive_count_change: i32,
    /// Change of `not_alive_count` since the last read.
    pub not_alive_count_change: i32,
    /// The writer of the last change.
    pub last_publication: InstanceHandle,
}

impl LivelinessChangedStatus {
    pub(crate) fn record(&mut self, alive: i32, not_alive: i32, writer: InstanceHandle) {
        self.alive_count = self.alive_count.saturating_add(alive);
        self.alive_count_change = self.alive_count_change.saturating_add(alive);
        self.not_alive_count = self.not_alive_count.saturating_add(not_alive);
        self.not_alive_count_change = self.not_alive_count_change.saturating_add(not_alive);
        self.last_publication = writer;
    }
}

/// Reads a status the way DDS does: the value, with its changes set to zero afterwards.
pub(crate) trait ReadAndReset: Clone {
    /// Zeroes the `*_change` fields.
    fn reset_changes(&mut self);

    fn read_and_reset(&mut self) -> Self {
        let value = self.clone();
        self.reset_changes();
        value
    }
}

impl ReadAndReset for Count {
    fn reset_changes(&mut self) {
        self.change = 0;
    }
}

impl ReadAndReset for MatchedStatus {
    fn reset_changes(&mut self) {
        self.total_count_change = 0;
        self.current_count_change = 0;
    }
}

impl ReadAndReset for IncompatibleQosStatus {
    fn reset_changes(&mut self) {
        self.count.change = 0;
    }
}

impl ReadAndReset for DeadlineMissedStatus {
    fn reset_changes(&mut self) {
        self.count.change = 0;
    }
}

impl ReadAndReset for SampleRejectedStatus {
    fn reset_changes(&mut self) {
        self.count.change = 0;
    }
}

impl ReadAndReset for LivelinessChangedStatus {
    fn reset_changes(&mut self) {
        self.alive_count_change = 0;
        self.not_alive_count_change = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_bits_of_the_standard_and_print() {
        assert_eq!(StatusMask::DATA_AVAILABLE.0, 1 << 10);
        let mask = StatusMask::SAMPLE_LOST | StatusMask::PUBLICATION_MATCHED;
        assert_eq!(format!("{mask:?}"), r#"{"SAMPLE_LOST", "PUBLICATION_MATCHED"}"#);
        assert!(!mask.intersects(!mask));
    }

    #[test]
    fn matched_counts() {
        let mut status = MatchedStatus::default();
        let handle = InstanceHandle([1; 16]);
        status.record(true, handle);
        status.record(true, handle);
        status.record(false, handle);
        let read = status.read_and_reset();
        assert_eq!((read.total_count, read.total_count_change), (2, 2));
        assert_eq!((read.current_count, read.current_count_change), (1, 1));
        status.record(false, handle);
        assert_eq!((status.total_count_change, status.current_count_change), (0, -1));
    }
}
