//! SPDPdiscoveredParticipantData: RTPS 2.5 §8.5.3.2 and §9.6.3.

use alloc::{string::String, vec::Vec};
use core::cell::Cell;

use dunlin_core::{
    Behaviour, Duration, EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, StatusInfo, VendorId, defaults,
};
use dunlin_qos::{Property, UserData};
use dunlin_wire::{Endianness, ParameterList, ParameterListBuilder, pid};
use sha2::{Digest, Sha256};

use super::values::{DecodeError, Rules, Value};
use crate::{
    config::{DiscoveryConfig, GoodbyeSecret, Locators, Quotas, SourcePorts},
    data::{ParticipantData, builtin},
};

/// What a participant that announces no lease gets (RTPS 2.5 §9.6.3.2).
const DEFAULT_LEASE: Duration = Duration::from_secs(100);

/// Reads an announcement from a payload. `source` is the vendor in the message header, which decides whether vendor
/// parameters mean something. `left_out` counts the entries of lists for which there was no room.
pub(crate) fn decode_participant(
    payload: &[u8],
    source: VendorId,
    quotas: &Quotas,
    left_out: &Cell<u64>,
) -> Result<ParticipantData, DecodeError> {
    let list = ParameterList::from_payload(payload)?;
    if list.not_understood().is_some() {
        return Err(DecodeError::NotUnderstood);
    }
    let guid_prefix = participant_prefix(&list)?;
    let mut data = ParticipantData {
        guid_prefix,
        protocol_version: version(&list)?,
        vendor: list.read(pid::VENDORID).map_or(Ok(source), |mut value| value.vendor_id())?,
        domain_id: None,
        domain_tag: String::new(),
        lease_duration: DEFAULT_LEASE,
        builtin_endpoints: builtin_endpoints(&list)?,
        builtin_endpoint_qos: 0,
        locators: Locators::default(),
        expects_inline_qos: false,
        user_data: UserData::default(),
        entity_name: String::new(),
        property: Property::default(),
        behind: list
            .find(pid::vendor::BEHIND_DAEMON)
            .and_then(|value| Some(GuidPrefix(*value.first_chunk()?))),
        direct: Vec::new(),
        source_ports: SourcePorts::default(),
        goodbye_hash: None,
        durations_in_nanoseconds: false,
    };
    data.durations_in_nanoseconds = qos_durations_in_nanoseconds(&list, data.vendor);
    if data.vendor.does(Behaviour::SpeaksDunlin) {
        data.source_ports = list.find(pid::vendor::SOURCE_PORTS).map(source_ports).unwrap_or_default();
        data.goodbye_hash = list.find(pid::vendor::GOODBYE_HASH).and_then(|value| value.try_into().ok());
    }
    // The lease is not inside QoS, so the sender's habit there does not apply to it.
    let lease_in_nanoseconds =
        data.vendor.does_in(data.protocol_version, Behaviour::WritesNanosecondsInLease);
    let rules =
        Rules { quotas, durations_in_nanoseconds: lease_in_nanoseconds, vendor: data.vendor, left_out };
    for parameter in list {
        let value = Value::new(parameter.value, list.endianness(), rules);
        read_parameter(&mut data, parameter.pid, value)?;
    }
    if data.lease_duration < defaults::SHORTEST_LEASE {
        return Err(DecodeError::Malformed);
    }
    Ok(data)
}

/// The ports that are none would let what has none be compared with others.
fn source_ports(value: &[u8]) -> SourcePorts {
    let (pairs, _) = value.as_chunks();
    let mut ports = SourcePorts::default();
    let named = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).filter(|port| *port != 0);
    ports.iter_mut().zip(named).for_each(|(port, named)| *port = named);
    ports
}

fn version(list: &ParameterList<'_>) -> Result<ProtocolVersion, DecodeError> {
    let absent = ProtocolVersion { major: 2, minor: 1 };
    Ok(list.read(pid::PROTOCOL_VERSION).map_or(Ok(absent), |mut value| value.protocol_version())?)
}

fn builtin_endpoints(list: &ParameterList<'_>) -> Result<u32, DecodeError> {
    let found =
        list.read(pid::BUILTIN_ENDPOINT_SET).or_else(|| list.read(pid::PARTICIPANT_BUILTIN_ENDPOINTS));
    Ok(found.ok_or(DecodeError::Malformed)?.u32()?)
}

/// Whether nanoseconds are in the durations of QoS: so it is with some unless their participant flags say otherwise.
fn qos_durations_in_nanoseconds(list: &ParameterList<'_>, vendor: VendorId) -> bool {
    if !vendor.does(Behaviour::WritesNanosecondsInQos) {
        return false;
    }
    let flags = list.read(pid::vendor::OPENDDS_PARTICIPANT_FLAGS).and_then(|mut value| value.u32().ok());
    flags.unwrap_or(0) & pid::vendor::OPENDDS_FLAG_RTPS_DURATIONS == 0
}

fn read_parameter(data: &mut ParticipantData, pid: u16, mut value: Value<'_>) -> Result<(), DecodeError> {
    match pid {
        pid::PARTICIPANT_LEASE_DURATION => data.lease_duration = value.duration()?,
        pid::DOMAIN_ID => data.domain_id = Some(value.reader.u32()?),
        pid::DOMAIN_TAG => data.domain_tag = value.name()?,
        pid::BUILTIN_ENDPOINT_QOS => data.builtin_endpoint_qos = value.reader.u32()?,
        pid::METATRAFFIC_UNICAST_LOCATOR => value.unicast_locator(&mut data.locators.metatraffic_unicast)?,
        pid::METATRAFFIC_MULTICAST_LOCATOR => {
            value.multicast_locator(&mut data.locators.metatraffic_multicast)?
        }
        pid::DEFAULT_UNICAST_LOCATOR => value.unicast_locator(&mut data.locators.default_unicast)?,
        pid::DEFAULT_MULTICAST_LOCATOR => value.multicast_locator(&mut data.locators.default_multicast)?,
        pid::vendor::DIRECT_LOCATOR if data.behind.is_some() => value.unicast_locator(&mut data.direct)?,
        pid::EXPECTS_INLINE_QOS => data.expects_inline_qos = value.reader.bool()?,
        pid::USER_DATA => data.user_data = UserData(value.opaque()?),
        pid::ENTITY_NAME => data.entity_name = value.name()?,
        pid::PROPERTY_LIST => data.property = value.properties()?,
        _ => (),
    }
    Ok(())
}

fn participant_prefix(list: &ParameterList<'_>) -> Result<GuidPrefix, DecodeError> {
    let guid = list.read(pid::PARTICIPANT_GUID).ok_or(DecodeError::Malformed)?.guid()?;
    if guid.prefix == GuidPrefix::UNKNOWN {
        return Err(DecodeError::Malformed);
    }
    Ok(guid.prefix)
}

/// The participant a key payload names.
pub(crate) fn decode_participant_key(payload: &[u8]) -> Result<GuidPrefix, DecodeError> {
    participant_prefix(&ParameterList::from_payload(payload)?)
}

/// The payload of an announcement with these locators.
pub(crate) fn encode_participant(config: &DiscoveryConfig) -> Vec<u8> {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_protocol_version(ProtocolVersion::V2_5);
    list.put_vendor_id(VendorId::DUNLIN);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(config.guid_prefix, EntityId::PARTICIPANT));
    list.put_duration(pid::PARTICIPANT_LEASE_DURATION, config.lease_duration);
    list.put_u32(pid::BUILTIN_ENDPOINT_SET, builtin::ALL);
    list.put_u32(pid::DOMAIN_ID, config.domain_id);
    if !config.domain_tag.is_empty() {
        list.put_string(pid::DOMAIN_TAG, &config.domain_tag);
    }
    let locators = &config.locators;
    put_locators(&mut list, pid::METATRAFFIC_UNICAST_LOCATOR, &locators.metatraffic_unicast);
    put_locators(&mut list, pid::METATRAFFIC_MULTICAST_LOCATOR, &locators.metatraffic_multicast);
    put_locators(&mut list, pid::DEFAULT_UNICAST_LOCATOR, &locators.default_unicast);
    put_locators(&mut list, pid::DEFAULT_MULTICAST_LOCATOR, &locators.default_multicast);
    let ports = config.source_ports.map(u16::to_be_bytes);
    let ports = ports.get(..config.source_ports.iter().take_while(|port| **port != 0).count());
    if let Some(ports) = ports.filter(|ports| !ports.is_empty()) {
        list.put_bytes(pid::vendor::SOURCE_PORTS, ports.as_flattened());
    }
    if let Some(secret) = &config.goodbye_secret {
        list.put_bytes(pid::vendor::GOODBYE_HASH, &goodbye_hash(config.guid_prefix, secret));
    }
    if !config.entity_name.is_empty() {
        list.put_string(pid::ENTITY_NAME, &config.entity_name);
    }
    if !config.user_data.0.is_empty() {
        list.put_octets(pid::USER_DATA, &config.user_data.0);
    }
    put_properties(&mut list, &config.property);
    list.finish()
}

/// What a participant tells of its secret before it leaves: SHA-256, of which as many octets as the secret has cost as much to invert.
pub(crate) fn goodbye_hash(prefix: GuidPrefix, secret: &GoodbyeSecret) -> [u8; 16] {
    let digest =
        Sha256::new_with_prefix(b"Dunlin goodbye").chain_update(prefix.0).chain_update(secret).finalize();
    let mut hash = [0; 16];
    hash.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    hash
}

/// Inline QoS of a goodbye. It did not leave itself if its lease has ended, and proves that it did by its secret.
pub(crate) fn goodbye_qos(prefix: GuidPrefix, lease_ended: bool, secret: Option<&GoodbyeSecret>) -> Vec<u8> {
    let status = StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED);
    let mut list = ParameterListBuilder::new();
    list.put_bytes(pid::KEY_HASH, &Guid::new(prefix, EntityId::PARTICIPANT).to_bytes());
    list.put_bytes(pid::STATUS_INFO, &status.0.to_be_bytes());
    if lease_ended {
        list.put_bytes(pid::vendor::LEASE_ENDED, &[]);
    }
    if let Some(secret) = secret {
        list.put_bytes(pid::vendor::GOODBYE_SECRET, secret);
    }
    list.finish()
}

/// The payload that names a participant without describing it.
pub(crate) fn encode_participant_key(prefix: GuidPrefix) -> Vec<u8> {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(prefix, EntityId::PARTICIPANT));
    list.finish()
}

pub(crate) fn put_locators(list: &mut ParameterListBuilder, pid: u16, locators: &[Locator]) {
    for locator in locators {
        list.put_locator(pid, locator);
    }
}

pub(super) fn put_properties(list: &mut ParameterListBuilder, property: &Property) {
    if property.values.is_empty() {
        return;
    }
    list.put_with(pid::PROPERTY_LIST, |out| {
        out.length(property.values.len());
        for (name, value) in &property.values {
            out.string(name);
            out.string(value);
        }
    });
}
