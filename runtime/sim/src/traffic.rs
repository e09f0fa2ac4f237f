//! What is counted and recorded of the network.

use dunlin_buf::SharedBytes;
use dunlin_core::{Locator, MonoTime};

use crate::node::NodeId;

/// An amount of datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// How many.
    pub datagrams: u64,
    /// Octets of them, without headers of lower layers.
    pub octets: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, len: usize) {
        self.datagrams += 1;
        self.octets += len as u64;
    }
}

/// What happened on the network. One datagram sent to a group counts once for each node that listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct NetworkStats {
    /// Datagrams that nodes sent, one for each destination.
    pub sent: Traffic,
    /// Delivered to a node that runs.
    pub delivered: u64,
    /// Octets of those.
    pub delivered_octets: u64,
    /// Lost at random.
    pub lost: u64,
    /// Of those, in bursts.
    pub lost_in_bursts: u64,
    /// Longer than what the sender sends to other hosts.
    pub long: u64,
    /// Longer than the path lets pass.
    pub too_long: u64,
    /// Lost because too much waited for the rate of the path.
    pub queue_full: u64,
    /// Lost because the path was cut, or the group failed.
    pub cut: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Held back so that others overtake.
    pub held_back: u64,
    /// Delivered with flipped bits.
    pub corrupted: u64,
    /// Sent to where nobody listens.
    pub unreachable: u64,
    /// Arrived at a node that did not run, or whose buffer was full while it stood still.
    pub not_received: u64,
}

/// A datagram as it was sent, or as it arrived at a node without participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// When.
    pub at: MonoTime,
    /// The node that sent it.
    pub sender: NodeId,
    /// Where it claims to come from.
    pub from: Locator,
    /// Where it was sent.
    pub to: Locator,
    /// What it says.
    pub bytes: SharedBytes,
}
