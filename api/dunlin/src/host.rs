//! This host as Dunlin sees it: for tools that show or check it.

pub use dunlin_core::PortParameters;
pub use dunlin_core::defaults::MAX_PARTICIPANT_INDEX;
pub use dunlin_udp::interface::{Interface, all as interfaces, choose};
