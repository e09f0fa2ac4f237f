//! DiscoveredWriterData and DiscoveredReaderData: RTPS 2.5 §8.5.4.4 and §9.6.3, reading.

use alloc::{string::String, vec::Vec};

use dunlin_core::{EntityId, Guid, VendorId};
use dunlin_qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, PublisherQos, SubscriberQos, TopicData,
    TypeConsistencyEnforcement,
};
use dunlin_wire::{ParameterList, pid};

use super::{
    policies::{read_reader_policy, read_writer_policy},
    values::{DecodeError, Rules, Value},
};
use crate::data::{DiscoveredReader, DiscoveredWriter};

/// Reads the announcement of a writer. Its GUID comes from the payload or else from the key hash.
pub(crate) fn decode_writer(
    payload: &[u8],
    key_hash: Option<[u8; 16]>,
    vendor: VendorId,
    rules: Rules<'_>,
) -> Result<DiscoveredWriter, DecodeError> {
    let list = understood(payload)?;
    let guid = endpoint_guid(&list, key_hash)?;
    if !guid.entity_id.is_writer() {
        return Err(DecodeError::Malformed);
    }
    let mut writer = DiscoveredWriter {
        guid,
        topic_name: String::new(),
        type_name: String::new(),
        qos: DataWriterQos::default(),
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        vendor,
        unicast: Vec::new(),
        multicast: Vec::new(),
        own_unicast: Vec::new(),
        own_multicast: Vec::new(),
    };
    for parameter in list {
        let mut value = Value::new(parameter.value, list.endianness(), rules);
        if read_writer_policy(&mut writer.qos, &mut writer.publisher_qos, parameter.pid, &mut value)? {
            continue;
        }
        match parameter.pid {
            pid::TOPIC_NAME => writer.topic_name = value.name()?,
            pid::TYPE_NAME => writer.type_name = value.name()?,
            pid::TOPIC_DATA => writer.topic_data = TopicData(value.opaque()?),
            pid::TYPE_INFORMATION => {
                writer.type_information = Some(type_information(parameter.value, rules)?)
            }
            pid::UNICAST_LOCATOR => value.unicast_locator(&mut writer.own_unicast)?,
            pid::MULTICAST_LOCATOR => value.multicast_locator(&mut writer.own_multicast)?,
            _ => (),
        }
    }
    named(&writer.topic_name, &writer.type_name)?;
    Ok(writer)
}

/// Reads the announcement of a reader. Its GUID comes from the payload or else from the key hash.
pub(crate) fn decode_reader(
    payload: &[u8],
    key_hash: Option<[u8; 16]>,
    vendor: VendorId,
    rules: Rules<'_>,
) -> Result<DiscoveredReader, DecodeError> {
    let list = understood(payload)?;
    let guid = endpoint_guid(&list, key_hash)?;
    if !guid.entity_id.is_reader() {
        return Err(DecodeError::Malformed);
    }
    let mut reader = DiscoveredReader {
        guid,
        topic_name: String::new(),
        type_name: String::new(),
        qos: announced_reader_defaults(),
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        expects_inline_qos: false,
        vendor,
        unicast: Vec::new(),
        multicast: Vec::new(),
        own_unicast: Vec::new(),
        own_multicast: Vec::new(),
    };
    for parameter in list {
        let mut value = Value::new(parameter.value, list.endianness(), rules);
        if read_reader_policy(&mut reader.qos, &mut reader.subscriber_qos, parameter.pid, &mut value)? {
            continue;
        }
        match parameter.pid {
            pid::TOPIC_NAME => reader.topic_name = value.name()?,
            pid::TYPE_NAME => reader.type_name = value.name()?,
            pid::TOPIC_DATA => reader.topic_data = TopicData(value.opaque()?),
            pid::TYPE_INFORMATION => {
                reader.type_information = Some(type_information(parameter.value, rules)?)
            }
            pid::EXPECTS_INLINE_QOS => reader.expects_inline_qos = value.reader.bool()?,
            pid::UNICAST_LOCATOR => value.unicast_locator(&mut reader.own_unicast)?,
            pid::MULTICAST_LOCATOR => value.multicast_locator(&mut reader.own_multicast)?,
            _ => (),
        }
    }
    named(&reader.topic_name, &reader.type_name)?;
    Ok(reader)
}

/// What a remote reader has whose announcement is silent: the defaults of the standard, not those of our own API.
fn announced_reader_defaults() -> DataReaderQos {
    DataReaderQos {
        representation: DataRepresentation::default(),
        type_consistency: TypeConsistencyEnforcement::DISALLOW,
        ..DataReaderQos::default()
    }
}

/// The endpoint that a disposal names: in its payload, or else in the key hash, which for built-in topics is the GUID.
pub(crate) fn decode_endpoint_key(
    payload: Option<&[u8]>,
    key_hash: Option<[u8; 16]>,
) -> Result<Guid, DecodeError> {
    match payload {
        Some(payload) => endpoint_guid(&ParameterList::from_payload(payload)?, key_hash),
        None => key_hash.map(Guid::from_bytes).ok_or(DecodeError::Malformed),
    }
}

fn type_information(value: &[u8], rules: Rules<'_>) -> Result<Vec<u8>, DecodeError> {
    if value.len() > rules.quotas.max_type_octets { Err(DecodeError::OverQuota) } else { Ok(value.to_vec()) }
}

fn understood(payload: &[u8]) -> Result<ParameterList<'_>, DecodeError> {
    let list = ParameterList::from_payload(payload)?;
    if list.not_understood().is_some() { Err(DecodeError::NotUnderstood) } else { Ok(list) }
}

fn endpoint_guid(list: &ParameterList<'_>, key_hash: Option<[u8; 16]>) -> Result<Guid, DecodeError> {
    let guid = match list.read(pid::ENDPOINT_GUID) {
        Some(mut value) => value.guid()?,
        None => key_hash.map(Guid::from_bytes).ok_or(DecodeError::Malformed)?,
    };
    if guid.entity_id == EntityId::UNKNOWN { Err(DecodeError::Malformed) } else { Ok(guid) }
}

fn named(topic_name: &str, type_name: &str) -> Result<(), DecodeError> {
    if topic_name.is_empty() || type_name.is_empty() { Err(DecodeError::Malformed) } else { Ok(()) }
}
