//! What a flow counts.

use dunlin::Duration;

/// Why a sample was not passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Its first writer is at the destination itself.
    AlreadyThere,
    /// It has passed already, by another way.
    Copy,
    /// The route passes on fewer (one_of).
    Rate,
    /// It is as the one before it (only_on_change).
    Unchanged,
    /// The history of the output, or what the router remembers of instances, is full.
    NoRoom,
    /// The key of the instance that ended is not known.
    NoKey,
    /// The output cannot write it.
    Refused,
    /// Its writer has come and gone while it waited, so that nobody knows what kind it was of.
    UnknownWriter,
}

impl Dropped {
    /// All reasons, in the order of [`FlowStats::dropped`].
    pub const ALL: [Self; 8] = [
        Self::AlreadyThere,
        Self::Copy,
        Self::Rate,
        Self::Unchanged,
        Self::NoRoom,
        Self::NoKey,
        Self::Refused,
        Self::UnknownWriter,
    ];

    /// For people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::AlreadyThere => "its writer is at the destination itself",
            Self::Copy => "it has passed already",
            Self::Rate => "one_of",
            Self::Unchanged => "only_on_change",
            Self::NoRoom => "no room",
            Self::NoKey => "the key is not known",
            Self::Refused => "it cannot be written",
            Self::UnknownWriter => "its writer is not known",
        }
    }
}

/// What has passed from one input to one output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowStats {
    /// Samples with data that were passed on.
    pub samples: u64,
    /// Their octets.
    pub octets: u64,
    /// Ends of instances that were passed on.
    pub ends: u64,
    /// Samples that were not, by reason ([`Dropped::ALL`]).
    pub dropped: [u64; 8],
    /// Sum of the times from arrival to the output.
    pub latency_sum: Duration,
    /// The longest of them.
    pub latency_max: Duration,
}

impl FlowStats {
    pub(crate) fn passed(&mut self, octets: u64, latency: Duration) {
        self.samples += 1;
        self.octets += octets;
        let latency = latency.max(Duration::ZERO);
        let sum = self.latency_sum.as_nanos().saturating_add(latency.as_nanos());
        self.latency_sum = Duration::from_nanos(sum);
        self.latency_max = self.latency_max.max(latency);
    }

    pub(crate) fn ended(&mut self) {
        self.ends += 1;
    }

    pub(crate) fn dropped(&mut self, why: Dropped) {
        if let Some(count) = self.dropped.get_mut(why as usize) {
            *count += 1;
        }
    }
}
