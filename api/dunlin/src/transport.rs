//! Transports that an application brings along.
//!
//! A transport implements [`Transport`], and passes the suite `dunlin_transport::conformance` in its tests.
//! [`DomainParticipantBuilder::transport`](crate::DomainParticipantBuilder::transport) gives it to a participant. Everything above it
//! stays as it is: discovery, reliability, fragments, every QoS policy.
//!
//! What to implement:
//!
//! - [`locators`](Transport::locators) says where this end receives, under a [kind](LocatorKind) of its own; others see that in
//!   discovery. Those of applications are `0x0244_4C80` to `0x0244_4CFF`; participants that have no such transport ignore them.
//! - [`carries`](Transport::carries) and [`path`](Transport::path) describe a place: whether it can be reached, how long messages are,
//!   whether it is on this host.
//! - [`send`](Transport::send) is called by the thread that has something to send, [`recv`](Transport::recv) by one thread for each
//!   of the [`channels`](Transport::channels).
//! - [`opens`](Transport::opens), [`open_path`](Transport::open_path), [`close_path`](Transport::close_path) and
//!   [`lost`](Transport::lost) are for transports whose paths need preparation; the others leave them as they are.
//!
//! Limits:
//!
//! - A message has at least 1,024 octets ([`max_message_size`](Transport::max_message_size)). A link with shorter frames cuts
//!   messages itself: what RTPS puts around data and what discovery announces does not fit into less.
//! - There is no transport of this kind on the simulated network.

pub use dunlin_buf::{BufPool, Datagram, Outbox, SharedBytes};
pub use dunlin_core::{Locator, LocatorKind, Path};
pub use dunlin_transport::{
    Channel, Lender, Loan, Locators, RecvMode, SendMode, SendReport, Together, Transport, TransportStats,
    closed,
};
