//! Values of discovery parameters, RTPS 2.5 §9.6.3.2 table 9.18, read within the quotas for unauthenticated peers.

use alloc::{string::String, vec::Vec};
use core::{
    cell::Cell,
    net::{IpAddr, Ipv4Addr},
};

use dunlin_core::{Behaviour, Duration, Locator, LocatorKind, Misbehaviour, VendorId};
use dunlin_qos::{DataRepresentation, DataRepresentationId, Property};
use dunlin_wire::{Endianness, ParamReader, WireError};

use crate::config::Quotas;

/// Why announced data was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// It does not follow its format, or lacks something it must have.
    Malformed,
    /// It holds an unknown parameter that must be understood.
    NotUnderstood,
    /// It exceeds a quota.
    OverQuota,
}

impl DecodeError {
    /// What who sent it does.
    pub(crate) const fn misbehaviour(&self) -> Misbehaviour {
        match self {
            Self::Malformed => Misbehaviour::UnreadableAnnouncement,
            Self::NotUnderstood => Misbehaviour::NotUnderstood,
            Self::OverQuota => Misbehaviour::OverQuota,
        }
    }
}

impl From<WireError> for DecodeError {
    fn from(_: WireError) -> Self {
        Self::Malformed
    }
}

/// How to read the values of one sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'q> {
    /// Limits of what is taken.
    pub(crate) quotas: &'q Quotas,
    /// Durations inside QoS carry nanoseconds in the place of the fraction.
    pub(crate) durations_in_nanoseconds: bool,
    /// Whose these are: not all vendors mean the same by the kinds of TCP.
    pub(crate) vendor: VendorId,
    /// Counts the entries of lists that are left out because of a limit.
    pub(crate) left_out: &'q Cell<u64>,
}

impl Rules<'_> {
    fn leave_out(&self, entries: usize) {
        let entries = u64::try_from(entries).unwrap_or(u64::MAX);
        self.left_out.set(self.left_out.get().saturating_add(entries));
    }
}

/// One value under the rules of its sender.
pub(super) struct Value<'a> {
    pub(super) reader: ParamReader<'a>,
    rules: Rules<'a>,
}

impl<'a> Value<'a> {
    pub(super) const fn new(value: &'a [u8], endianness: Endianness, rules: Rules<'a>) -> Self {
        Self { reader: ParamReader::new(value, endianness), rules }
    }

    pub(super) fn duration(&mut self) -> Result<Duration, DecodeError> {
        Ok(if self.rules.durations_in_nanoseconds {
            self.reader.duration_of_nanos()?
        } else {
            self.reader.duration()?
        })
    }

    /// An enumeration with the numbers of the DDS API.
    pub(super) fn kind<T>(&mut self, from_value: impl Fn(i32) -> Option<T>) -> Result<T, DecodeError> {
        from_value(self.reader.i32()?).ok_or(DecodeError::Malformed)
    }

    pub(super) fn name(&mut self) -> Result<String, DecodeError> {
        self.limited(self.rules.quotas.max_string_octets)
    }

    fn limited(&mut self, max: usize) -> Result<String, DecodeError> {
        let text = self.reader.string()?;
        if text.len() > max { Err(DecodeError::OverQuota) } else { Ok(text.into()) }
    }

    /// USER_DATA and its like.
    pub(super) fn opaque(&mut self) -> Result<Vec<u8>, DecodeError> {
        let octets = self.reader.octets()?;
        if octets.len() > self.rules.quotas.max_opaque_octets {
            return Err(DecodeError::OverQuota);
        }
        Ok(octets.to_vec())
    }

    pub(super) fn partition_names(&mut self) -> Result<Vec<String>, DecodeError> {
        let names = self.reader.strings()?;
        if names.len() > self.rules.quotas.max_partitions {
            return Err(DecodeError::OverQuota);
        }
        let max = self.rules.quotas.max_string_octets;
        names
            .map(|name| if name.len() > max { Err(DecodeError::OverQuota) } else { Ok(name.into()) })
            .collect()
    }

    /// Name and value pairs, of which those beyond the quota are left out.
    pub(super) fn properties(&mut self) -> Result<Property, DecodeError> {
        // The shortest pair is two lengths.
        let announced = self.reader.count(8)?;
        let count = announced.min(self.rules.quotas.max_properties);
        self.rules.leave_out(announced.saturating_sub(count));
        let mut values = Vec::new();
        for _ in 0..count {
            values.push((self.reader.string()?.into(), self.reader.string()?.into()));
        }
        Ok(Property { values })
    }

    pub(super) fn representation(&mut self) -> Result<DataRepresentation, DecodeError> {
        let count = self.reader.count(2)?;
        if count > MAX_REPRESENTATIONS {
            return Err(DecodeError::OverQuota);
        }
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(DataRepresentationId::from_value(self.reader.i16()?));
        }
        Ok(DataRepresentation { ids })
    }

    /// Adds a locator to its list, unless it cannot be used or the list is full: locators of other transports and of
    /// other vendors are no error.
    pub(super) fn unicast_locator(&mut self, list: &mut Vec<Locator>) -> Result<(), DecodeError> {
        let locator = self.reader.locator()?;
        self.add_locator(locator, !locator.is_multicast(), list);
        Ok(())
    }

    /// As [`Self::unicast_locator`] for a list of groups.
    pub(super) fn multicast_locator(&mut self, list: &mut Vec<Locator>) -> Result<(), DecodeError> {
        let locator = self.reader.locator()?;
        let own_group = locator.kind.is_own() && locator.kind != LocatorKind::SHARED_MEMORY;
        self.add_locator(locator, locator.is_multicast() || own_group, list);
        Ok(())
    }

    fn add_locator(&self, locator: Locator, right_kind: bool, list: &mut Vec<Locator>) {
        let udp = matches!(locator.kind, LocatorKind::UDP_V4 | LocatorKind::UDP_V6);
        let tcp = !self.rules.vendor.does(Behaviour::SpeaksOtherTcp) && locator.to_tcp().is_some();
        // What everybody hears is nobody's own address.
        let addressed = (tcp || udp && locator.to_socket_addr().is_some())
            && locator.ip().is_some_and(|ip| !ip.is_unspecified() && ip != IpAddr::V4(Ipv4Addr::BROADCAST));
        // Which of the own kinds this participant has is seen later; others' are left out before they fill the list.
        let own = locator.kind.is_own();
        if !(own || addressed) || !right_kind || list.contains(&locator) {
            return;
        }
        if list.len() < self.rules.quotas.max_locators {
            list.push(locator);
        } else {
            self.rules.leave_out(1);
        }
    }
}

/// More encodings than exist.
const MAX_REPRESENTATIONS: usize = 32;
