//! Domains and their well-known ports (RTPS 2.5 §9.6.2).

/// DomainId_t.
pub type DomainId = u32;

/// The constants of the port formula; the defaults are the standard's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortParameters {
    /// PB.
    pub base: u16,
    /// DG.
    pub domain_gain: u16,
    /// PG.
    pub participant_gain: u16,
    /// d0, discovery multicast.
    pub d0: u16,
    /// d1, discovery unicast.
    pub d1: u16,
    /// d2, user multicast.
    pub d2: u16,
    /// d3, user unicast.
    pub d3: u16,
}

impl Default for PortParameters {
    fn default() -> Self {
        Self { base: 7400, domain_gain: 250, participant_gain: 2, d0: 0, d1: 10, d2: 1, d3: 11 }
    }
}

impl PortParameters {
    fn port(&self, domain: DomainId, offset: u16, participant: u32) -> Option<u16> {
        let domain_part = domain.checked_mul(u32::from(self.domain_gain))?;
        let participant_part = participant.checked_mul(u32::from(self.participant_gain))?;
        let sum = u32::from(self.base).checked_add(u32::from(offset))?;
        u16::try_from(sum.checked_add(domain_part)?.checked_add(participant_part)?).ok()
    }

    /// Discovery multicast port; `None` when the domain is too large for 16 bits.
    #[must_use]
    pub fn metatraffic_multicast(&self, domain: DomainId) -> Option<u16> {
        self.port(domain, self.d0, 0)
    }

    /// Discovery unicast port of the participant with this index.
    #[must_use]
    pub fn metatraffic_unicast(&self, domain: DomainId, participant: u32) -> Option<u16> {
        self.port(domain, self.d1, participant)
    }

    /// User data multicast port.
    #[must_use]
    pub fn user_multicast(&self, domain: DomainId) -> Option<u16> {
        self.port(domain, self.d2, 0)
    }

    /// User data unicast port of the participant with this index.
    #[must_use]
    pub fn user_unicast(&self, domain: DomainId, participant: u32) -> Option<u16> {
        self.port(domain, self.d3, participant)
    }
}

/// The standard's ports for a domain and participant index: discovery multicast, discovery
/// unicast, user multicast, user unicast. `None` when one does not fit 16 bits.
#[must_use]
pub fn domain_ports(domain: DomainId, participant: u32) -> Option<[u16; 4]> {
    let p = PortParameters::default();
    Some([
        p.metatraffic_multicast(domain)?,
        p.metatraffic_unicast(domain, participant)?,
        p.user_multicast(domain)?,
        p.user_unicast(domain, participant)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_the_standard() {
        assert_eq!(domain_ports(0, 0), Some([7400, 7410, 7401, 7411]));
        assert_eq!(domain_ports(1, 3), Some([7650, 7666, 7651, 7667]));
        assert!(domain_ports(232, 0).is_some());
        assert_eq!(domain_ports(233, 0), None);
        assert_eq!(domain_ports(u32::MAX, u32::MAX), None);
    }
}
