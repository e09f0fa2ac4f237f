//! The passive participant: routing and locking around the protocol cores.
//!
//! A [`Participant`] has no thread, no socket and no clock. Whoever drives it hands it datagrams and the time and
//! gets back an [`Output`]: datagrams to send and [`Event`]s to act upon. All methods take `&self`, may be called by
//! any thread and return with every lock released, so no user code ever runs under a lock.
//!
//! Locks have ranks, and a thread takes them in rising order only (`dunlin-sync` checks it in debug builds):
//!
//! | rank | lock | held |
//! |---|---|---|
//! | 1 | control: discovery, creation, matching | by the control plane only |
//! | 2 | the turn of a writer | by the writing thread, through its system call |
//! | 3 | a writer's core, or the protocol side of a reader | below a microsecond |
//! | 4 | what the readers of a subscriber show together | for one arrival or access |
//! | 5 | a reader's cache | below a microsecond, also by `take()` |
//! | 6 | the timers, a publisher's numbers | a leaf |
//!
//! Which endpoint a datagram is for is read from an immutable table that the control plane replaces. A match is
//! applied to each endpoint under that endpoint's lock alone.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod closing;
mod common;
mod config;
mod content_filter;
mod effects;
mod group;
mod later_datagrams;
mod local_delivery;
mod matching;
mod misbehaviour;
#[cfg(all(test, loom))]
mod model;
mod output;
mod parameters;
mod participant;
mod parties;
mod ranks;
mod reader_slot;
mod routes;
mod routing;
mod sharded;
mod staging;
mod timers;
mod timing;
mod turn;
mod writer_filter;
mod writer_slot;

pub use closing::MOST_CLOSING_WRITERS;
pub use common::ParticipantStats;
pub use config::{
    CreateError, ParticipantConfig, ReaderPolicies, ReaderSpec, SetQosError, Tuning, WriterPolicies,
    WriterSpec,
};
pub use content_filter::{ContentFilter, ContentFilterStats};
pub use dunlin_discovery::{
    Band, BandStats, ContentFilterProperty, DIRECT_WRITE, DIRECT_WRITE_PROPERTY, DiscoveryRole,
    EndpointLocators, GoodbyeSecret, INTEREST_EVERYTHING, INTEREST_PROPERTY, KnownType, Limit, LocalType,
    Locators, MAX_BANDS, Quotas, ROLE_APPLICATION, ROLE_DAEMON, ROLE_PROPERTY, ROLE_SERVER, RelayConfig,
    RelayStats, Shaping, SourcePorts, TypeDiscovery,
};
pub use dunlin_rtps::{ReaderStats, ReceiveRoom, WriterStats};
pub use group::{PublisherGroup, SetEnd, SubscriberGroup};
pub use misbehaviour::{MOST_MISBEHAVING, Misbehaved};
pub use output::{Event, LocalDelivery, Output, TimeSource};
pub use parameters::inline_qos;
pub use participant::Participant;
pub use reader_slot::ReaderSlot;
pub use routing::SuspendedDatagram;
pub use writer_slot::{
    LONGEST_AT_HIGH_WATER, RefusedWrite, TxTurn, WriteError, WriteMode, WriteRequest, WriterSlot,
    WriterStanding,
};

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    fn assert_shareable<T: Send + Sync>() {}

    #[test]
    fn participants_and_endpoints_are_shared_between_threads() {
        assert_shareable::<crate::Participant>();
        assert_shareable::<crate::WriterSlot>();
        assert_shareable::<crate::ReaderSlot>();
        assert_shareable::<crate::Output>();
    }
}
