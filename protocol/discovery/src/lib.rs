//! Discovery and liveliness as state machines without input, output or clock: RTPS 2.5 §8.5 (SPDP, SEDP), §8.4.13
//! (writer liveliness protocol) and the matching rules of DDS 1.4 §2.2.3.
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

mod announcer;
mod builtin;
mod codec;
mod config;
mod content_filter;
mod daemon;
mod data;
mod departure;
mod discovery;
mod effect;
mod endpoints;
mod explain;
mod goodbye;
mod groups;
mod history;
mod ignored;
mod interner;
mod introductions;
mod liveliness;
mod local;
mod local_type;
mod lost;
mod misbehaviour;
mod moving;
mod participant;
mod places;
mod queries;
mod reach;
mod relay;
mod relay_config;
mod sedp;
mod server;
mod spdp;
mod standing;
mod table;
mod type_lookup;
mod types;
mod unverified;
mod unverified_participants;
mod verify;
mod wlp;

pub use codec::inline_qos;
pub use config::{
    DIRECT_WRITE, DIRECT_WRITE_PROPERTY, DiscoveryConfig, DiscoveryRole, DiscoveryStats, GoodbyeSecret,
    INTEREST_EVERYTHING, INTEREST_PROPERTY, Locators, Quotas, ROLE_APPLICATION, ROLE_DAEMON, ROLE_PROPERTY,
    ROLE_SERVER, SourcePorts,
};
pub use content_filter::ContentFilterProperty;
pub use daemon::Left;
pub use data::{
    DiscoveredReader, DiscoveredWriter, EndpointLocators, LocalReader, LocalWriter, ParticipantData,
    builtin as builtin_endpoints,
};
pub use discovery::Discovery;
pub use dunlin_xtypes as xtypes;
pub use effect::{DiscoveryEffect, DiscoveryProblem, LostReason};
pub use explain::{Mismatch, Survey};
pub use liveliness::{LivelinessTracker, LivelinessTransition, WriterSign};
pub use local::InvalidName;
pub use local_type::{KnownType, LocalType, TypeDiscovery};
pub use places::Sources;
pub use relay_config::{Band, BandStats, Limit, MAX_BANDS, RelayConfig, RelayStats, Shaping};
pub use server::introduces;
pub use standing::ParticipantState;
