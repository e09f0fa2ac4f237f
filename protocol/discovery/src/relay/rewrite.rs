//! The announcement of a participant with other places to send to: RTPS 2.5 §8.5.3.2, §9.6.3.

use alloc::vec::Vec;

use dunlin_core::{GuidPrefix, Locator};
use dunlin_wire::{ParameterList, ParameterListBuilder, pid};

use crate::{codec::put_locators, config::Locators};

/// Everything that an announcement says but where to send to; that, which daemon speaks there, and where those send who write
/// directly, is put in its place. `None` if it cannot be read or written.
pub(crate) fn with_places(
    payload: &[u8],
    (places, direct): (&Locators, &[Locator]),
    daemon: GuidPrefix,
) -> Option<Vec<u8>> {
    let list = ParameterList::from_payload(payload).ok()?;
    let mut new = ParameterListBuilder::payload(list.endianness());
    for parameter in list.iter().filter(|parameter| !is_place(parameter.pid)) {
        if !new.put_bytes(parameter.pid, parameter.value) {
            return None;
        }
    }
    put_locators(&mut new, pid::METATRAFFIC_UNICAST_LOCATOR, &places.metatraffic_unicast);
    put_locators(&mut new, pid::DEFAULT_UNICAST_LOCATOR, &places.default_unicast);
    new.put_bytes(pid::vendor::BEHIND_DAEMON, &daemon.0);
    put_locators(&mut new, pid::vendor::DIRECT_LOCATOR, direct);
    Some(new.finish())
}

fn is_place(pid: u16) -> bool {
    matches!(
        pid,
        pid::METATRAFFIC_UNICAST_LOCATOR
            | pid::METATRAFFIC_MULTICAST_LOCATOR
            | pid::DEFAULT_UNICAST_LOCATOR
            | pid::DEFAULT_MULTICAST_LOCATOR
            | pid::vendor::BEHIND_DAEMON
            | pid::vendor::DIRECT_LOCATOR
    )
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::net::Ipv4Addr;

    use dunlin_core::VendorId;

    use super::*;
    use crate::{
        DiscoveryConfig, Quotas,
        codec::{decode_participant, encode_participant},
    };

    fn places(n: u8) -> Locators {
        let at = |port| alloc::vec![Locator::udp_v4(Ipv4Addr::new(10, 0, 0, n), port)];
        Locators { metatraffic_unicast: at(7410), default_unicast: at(7411), ..Locators::default() }
    }

    #[test]
    fn the_relay_rewrites_locators_and_nothing_else() {
        let mut config = DiscoveryConfig::new(GuidPrefix([7; 12]), 3);
        config.locators = places(1);
        config.locators.default_multicast.push(Locator::udp_v4(Ipv4Addr::new(239, 255, 0, 1), 7401));
        config.entity_name = "camera".into();
        config.property.values.push(("a".into(), "b".into()));
        let read = |payload: &[u8]| {
            decode_participant(payload, VendorId::DUNLIN, &Quotas::default(), &Cell::new(0)).unwrap()
        };
        let before = encode_participant(&config);
        let daemon = GuidPrefix([9; 12]);
        let direct = places(7).default_unicast;
        let after = with_places(&before, (&places(2), &direct), daemon).unwrap();
        let expected = crate::ParticipantData {
            locators: places(2),
            behind: Some(daemon),
            direct: direct.clone(),
            ..read(&before)
        };
        assert_eq!(read(&after), expected);
        // A second daemon takes the place of the first.
        let again = with_places(&after, (&places(3), &direct), GuidPrefix([8; 12])).unwrap();
        let expected =
            crate::ParticipantData { locators: places(3), behind: Some(GuidPrefix([8; 12])), ..expected };
        assert_eq!((read(&again), again.len()), (expected, after.len()));
        assert_eq!(with_places(&before[..9], (&places(2), &[]), daemon), None);
    }
}
