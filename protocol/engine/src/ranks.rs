//! The order in which locks are taken: a thread holds them only with rising ranks, never two of one rank.

/// Creation, deletion, discovery: the control plane.
pub(crate) const CONTROL: u8 = 1;
/// The right to send new data of one writer; held across the send.
pub(crate) const TURN: u8 = 2;
/// The core of one writer, or the protocol side of one reader.
pub(crate) const CORE: u8 = 3;
/// What the readers of a subscriber show together.
pub(crate) const GROUP: u8 = 4;
/// The cache of one reader.
pub(crate) const CACHE: u8 = 5;
/// Timers, and the numbers of a publisher: taken under anything, takes nothing.
pub(crate) const LEAF: u8 = 6;
