//! Who has to go when there are too many connections.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::connection::{Connection, Stage};

/// Most connections of others that have not said who they are.
const MAX_UNBOUND: usize = 64;

/// The connection that gives way to one more, if one has to: of the address with most of them, the oldest that has not said
/// who it is, else the one that was silent for longest. So one address cannot push out the others.
pub(super) fn to_evict(connections: &BTreeMap<u64, Connection>, most: usize) -> Option<u64> {
    let accepted = || connections.values().filter(|connection| connection.peer.is_none());
    let unbound = || accepted().filter(|connection| connection.stage != Stage::Bound);
    if unbound().count() >= MAX_UNBOUND {
        let address = busiest(unbound())?;
        return oldest(unbound().filter(|connection| connection.address() == address));
    }
    if connections.len() < most {
        return None;
    }
    let address = busiest(accepted())?;
    let of_address = || accepted().filter(move |connection| connection.address() == address);
    oldest(of_address().filter(|connection| connection.stage != Stage::Bound)).or_else(|| {
        of_address().min_by_key(|connection| connection.heard).map(|connection| connection.link.id)
    })
}

fn oldest<'c>(connections: impl Iterator<Item = &'c Connection>) -> Option<u64> {
    connections.map(|connection| connection.link.id).min()
}

fn busiest<'c>(connections: impl Iterator<Item = &'c Connection>) -> Option<IpAddr> {
    let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for connection in connections {
        *counts.entry(connection.address()).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(address, _)| address)
}
