//! Plain values that every layer of Dunlin shares: identifiers, sequence numbers and sets, time,
//! locators and return codes (DDSI-RTPS 2.5 §8.2, §9.3; DDS 1.4 §2.2.1).
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

mod counter;
pub mod defaults;
mod domain;
mod entity_id;
mod guid;
mod identity;
mod instance;
mod locator;
mod misbehaviour;
mod path;
mod ranges;
mod return_code;
mod rng;
mod same_host;
mod sequence;
mod set;
mod text;
mod time;
mod vendor;

pub use counter::Counter;
pub use domain::{DomainId, PortParameters, domain_ports};
pub use entity_id::{EntityId, EntityKind};
pub use guid::{Guid, GuidPrefix, ProtocolVersion, VendorId};
pub use identity::{Identities, SampleIdentity};
pub use instance::{InstanceHandle, StatusInfo};
pub use locator::{Locator, LocatorKind};
pub use misbehaviour::{Misbehaviour, MisbehaviourCounts};
pub use path::{Path, Paths};
pub use ranges::{SnRange, SnRanges};
pub use return_code::ReturnCode;
pub use rng::Rng;
pub use same_host::{are_on_one_host, is_on_this_host};
pub use sequence::SequenceNumber;
pub use set::{FragmentNumberSet, MAX_SET_BITS, SequenceNumberSet};
pub use text::is_harmful;
pub use time::{Duration, MonoTime, Now, RtpsTime, WallTime};
pub use vendor::{Behaviour, VENDORS, VendorRow};
