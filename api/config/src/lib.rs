//! The configuration: one schema, and the layers that fill it in.
//!
//! A value comes from the first of these that has it: code, the environment, a file, the defaults.
//!
//! - *Code* assigns to the fields of [`Config`] or calls [`Config::set`].
//! - The *environment* has variables named after section and key: `DUNLIN_NETWORK_MULTICAST=off`.
//! - The *file* is the one that `DUNLIN_CONFIG` names, or `dunlin.toml` in the working directory if there is one.
//!
//! ```toml
//! [network]
//! interfaces = ["eth0"]
//! receive_buffer = "8MiB"
//!
//! [discovery]
//! peers = ["192.0.2.7"]
//! ```
//!
//! Sizes, times and rates are written with their unit. A key or value that is not understood is an error that says
//! where it stands and what was probably meant. [`Config::effective`] shows every value with its origin, and
//! [`reference()`] describes every key.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod bands;
mod check;
mod driver;
mod effective;
mod error;
mod import;
mod layers;
mod nearest;
mod origin;
mod profiles;
mod schema;
mod units;
mod value;

pub use bands::{Band, Bands};
pub use dunlin_driver::{DAEMON_INDEX, server_port};
pub use effective::{Effective, reference};
pub use error::{ConfigError, Problem};
pub use import::{Dialect, Import, ImportError, LeftOut};
pub use nearest::nearest;
pub use origin::Origin;
pub use profiles::{Profiles, UnknownProfile};
pub use schema::{
    Config, DaemonSection, DebugSection, DiscoverySection, DomainSection, FaultSection, LoggingSection,
    NetworkSection, PortsSection, QuotasSection, ReliabilitySection, SharedMemorySection, TcpSection,
    TlsSection,
};
pub use units::{parse_duration, parse_size, print_duration};
pub use value::{
    Absent, Access, Architecture, Auto, DirectWrite, Interest, Multicast, ParticipantIndex, Rate, Share,
    Size, Switch, TcpPort, Waiting, WithoutService,
};
