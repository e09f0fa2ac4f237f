//! RESOURCE_LIMITS and HISTORY as numbers (DDS 1.4 §2.2.3.18, §2.2.3.19).

use dunlin_qos::{History, HistoryKind, ResourceLimits};

/// What "unlimited" comes to, so that slab positions always suffice.
const CAP: usize = 1 << 30;

/// The limits of a cache; none is more than 2^30.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Samples kept per instance under KEEP_LAST; `None` under KEEP_ALL.
    pub(crate) depth: Option<usize>,
    pub(crate) samples: usize,
    pub(crate) instances: usize,
    pub(crate) samples_per_instance: usize,
}

fn limit(value: i32) -> usize {
    usize::try_from(value).unwrap_or(CAP).min(CAP)
}

impl Limits {
    pub(crate) fn new(history: History, limits: ResourceLimits) -> Self {
        let depth = match history.kind {
            HistoryKind::KeepLast => Some(limit(history.depth.max(1))),
            HistoryKind::KeepAll => None,
        };
        Self {
            depth,
            samples: limit(limits.max_samples),
            instances: limit(limits.max_instances),
            samples_per_instance: limit(limits.max_samples_per_instance),
        }
    }
}
