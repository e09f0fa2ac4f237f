//! Whether something is on one host, told from addresses (RTPS 2.5 §9.6.2 leaves it open). A [`Path`](crate::Path) says it of a way;
//! who asks of an address, or of participants that are known by what they announce, asks here.

use core::net::IpAddr;

use crate::{Locator, LocatorKind};

/// Whether an address leads to this host: it is one of loopback, or `is_own` knows it for one of this host's.
#[inline]
pub fn is_on_this_host(ip: IpAddr, is_own: impl FnOnce(IpAddr) -> bool) -> bool {
    ip.is_loopback() || is_own(ip)
}

/// Whether two participants that announce these locators are on one host: they share an address, or memory. Loopback says nothing,
/// as each host has it.
pub fn are_on_one_host<'l>(
    one: impl Iterator<Item = &'l Locator>,
    other: impl Iterator<Item = &'l Locator> + Clone,
) -> bool {
    let place = |locator: &Locator| match locator.kind {
        LocatorKind::SHARED_MEMORY => locator.shared_memory_inbox().map(|(place, _)| Place::Memory(place)),
        _ => locator.ip().filter(|ip| !ip.is_loopback()).map(Place::Address),
    };
    one.filter_map(place).any(|own| other.clone().filter_map(place).any(|known| known == own))
}

/// What only one host has.
#[derive(PartialEq, Eq)]
enum Place {
    Address(IpAddr),
    Memory([u8; 8]),
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    fn at(a: u8, d: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(a, 0, 0, d), 7410)
    }

    #[test]
    fn an_address_is_of_this_host_by_itself_or_by_what_is_known() {
        let own = |ip: IpAddr| Some(ip) == at(10, 1).ip();
        let is_here = |locator: Locator| is_on_this_host(locator.ip().unwrap(), own);
        assert_eq!([at(10, 1), at(127, 1), at(127, 9), at(10, 2)].map(is_here), [true, true, true, false]);
    }

    #[test]
    fn an_address_or_memory_in_common_is_one_host_and_loopback_is_not() {
        let memory = |place, inbox| Locator::shared_memory([place; 8], inbox);
        for (one, other, expected) in [
            (at(10, 1), Locator { port: 7411, ..at(10, 1) }, true),
            (at(10, 1), at(10, 2), false),
            (at(127, 1), at(127, 1), false),
            (memory(7, 1), memory(7, 2), true),
            (memory(7, 1), memory(8, 1), false),
            (memory(7, 1), at(10, 1), false),
            (Locator::INVALID, Locator::INVALID, false),
        ] {
            assert_eq!(are_on_one_host([&one].into_iter(), [&other].into_iter()), expected, "{one} {other}");
        }
    }
}
