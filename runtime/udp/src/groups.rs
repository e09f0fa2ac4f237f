//! Membership in multicast groups, interface by interface.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use socket2::{InterfaceIndexOrAddress, Socket};

use crate::Family;
use crate::route::Member;

/// The sockets that receive the groups, and where they have joined.
pub(crate) struct Groups {
    v4: Ipv4Addr,
    v6: Ipv6Addr,
    sockets: Vec<(Family, Arc<Socket>)>,
    /// Joined, or why not.
    joined: BTreeMap<Member, Result<(), String>>,
}

impl Groups {
    pub(crate) fn new(v4: Ipv4Addr, v6: Ipv6Addr, sockets: Vec<(Family, Arc<Socket>)>) -> Self {
        Self { v4, v6, sockets, joined: BTreeMap::new() }
    }

    /// Joins on the interfaces listed and leaves on all others. A join that failed is tried again.
    pub(crate) fn follow(&mut self, members: &[Member]) {
        let gone: Vec<Member> = self.joined.keys().copied().filter(|m| !members.contains(m)).collect();
        for member in gone {
            self.joined.remove(&member);
            // An interface that has vanished took the membership with it.
            let _ = self.each(member, Self::leave);
        }
        for member in members {
            if !matches!(self.joined.get(member), Some(Ok(()))) {
                self.try_to_join(*member);
            }
        }
    }

    /// Joins where that failed before: the system may have room for more memberships now.
    pub(crate) fn retry(&mut self) {
        let failed: Vec<Member> =
            self.joined.iter().filter(|(_, result)| result.is_err()).map(|(member, _)| *member).collect();
        failed.into_iter().for_each(|member| self.try_to_join(member));
    }

    fn try_to_join(&mut self, member: Member) {
        let result = self.each(member, Self::join).map_err(|error| error.to_string());
        self.joined.insert(member, result);
    }

    /// Interfaces on which joining failed, with the reason.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (u32, &str)> {
        self.joined
            .iter()
            .filter_map(|(member, result)| Some((member.interface, result.as_ref().err()?.as_str())))
    }

    fn each(
        &self,
        member: Member,
        action: fn(&Self, &Socket, Member) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let of_family = self.sockets.iter().filter(|(family, _)| *family == member.family);
        of_family.map(|(_, socket)| action(self, socket, member)).fold(Ok(()), Result::and)
    }

    fn join(&self, socket: &Socket, member: Member) -> std::io::Result<()> {
        let result = match member.family {
            Family::V4 => {
                socket.join_multicast_v4_n(&self.v4, &InterfaceIndexOrAddress::Index(member.interface))
            }
            Family::V6 => socket.join_multicast_v6(&self.v6, member.interface),
        };
        match result {
            // An interface that went away and came back under its old number.
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Ok(()),
            other => other,
        }
    }

    fn leave(&self, socket: &Socket, member: Member) -> std::io::Result<()> {
        match member.family {
            Family::V4 => {
                socket.leave_multicast_v4_n(&self.v4, &InterfaceIndexOrAddress::Index(member.interface))
            }
            Family::V6 => socket.leave_multicast_v6(&self.v6, member.interface),
        }
    }
}

#[cfg(test)]
impl Groups {
    /// Joins another group on loopback, as long as the system lets the sockets.
    pub(crate) fn occupy(&self, group: Ipv4Addr) -> std::io::Result<()> {
        let all = self.sockets.iter().filter(|(family, _)| *family == Family::V4);
        all.map(|(_, socket)| socket.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST))
            .fold(Ok(()), Result::and)
    }

    /// Leaves it again.
    pub(crate) fn vacate(&self, group: Ipv4Addr) {
        let all = self.sockets.iter().filter(|(family, _)| *family == Family::V4);
        all.for_each(|(_, socket)| drop(socket.leave_multicast_v4(&group, &Ipv4Addr::LOCALHOST)));
    }
}
