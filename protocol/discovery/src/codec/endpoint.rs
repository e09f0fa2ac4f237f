//! DiscoveredWriterData and DiscoveredReaderData: RTPS 2.5 §8.5.4.4 and §9.6.3, reading.

use alloc::{string::String, sync::Arc};

use dunlin_core::{Behaviour, EntityId, Guid, VendorId};
use dunlin_qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, PublisherQos, SubscriberQos, TopicData,
    TypeConsistencyEnforcement,
};
use dunlin_wire::{ParameterList, pid};

use super::{
    policies::{read_reader_policy, read_writer_policy},
    values::{DecodeError, Rules, Value},
};
use crate::content_filter::ContentFilterProperty;
use crate::data::{DiscoveredReader, DiscoveredWriter, EndpointLocators};

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
    let mut names = Names::default();
    let mut qos = DataWriterQos::default();
    let mut publisher_qos = PublisherQos::default();
    let mut topic_data = TopicData::default();
    let mut information = None;
    let mut group = EntityId::UNKNOWN;
    let mut own = EndpointLocators::default();
    let mut related = None;
    for parameter in list {
        let mut value = Value::new(parameter.value, list.endianness(), rules);
        if read_writer_policy(&mut qos, &mut publisher_qos, parameter.pid, &mut value)? {
            continue;
        }
        match parameter.pid {
            pid::TOPIC_NAME => names.topic = value.name()?,
            pid::TYPE_NAME => names.type_name = value.name()?,
            pid::TOPIC_DATA => topic_data = TopicData(value.opaque()?),
            pid::TYPE_INFORMATION => information = Some(type_information(parameter.value, rules)?),
            pid::GROUP_GUID => group = value.reader.guid()?.entity_id,
            pid::GROUP_ENTITYID => group = EntityId(value.reader.array()?),
            pid::RELATED_ENTITY_GUID => related = known(value.reader.guid()?),
            pid::UNICAST_LOCATOR => value.unicast_locator(&mut own.unicast)?,
            pid::MULTICAST_LOCATOR => value.multicast_locator(&mut own.multicast)?,
            _ => (),
        }
    }
    let (topic_name, type_name) = names.given()?;
    Ok(DiscoveredWriter {
        guid,
        topic_name,
        type_name,
        qos: Arc::new(qos),
        publisher_qos: Arc::new(publisher_qos),
        topic_data,
        group,
        type_information: information,
        related,
        vendor,
        unicast: Arc::new([]),
        multicast: Arc::new([]),
        life: None,
        own_locators: own.boxed(),
    })
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
    let mut names = Names::default();
    let mut qos = announced_reader_defaults(vendor);
    let mut subscriber_qos = SubscriberQos::default();
    let mut topic_data = TopicData::default();
    let mut information = None;
    let mut own = EndpointLocators::default();
    let mut related = None;
    let mut expects_inline_qos = false;
    let mut content_filter = None;
    for parameter in list {
        let mut value = Value::new(parameter.value, list.endianness(), rules);
        if read_reader_policy(&mut qos, &mut subscriber_qos, parameter.pid, &mut value)? {
            continue;
        }
        match parameter.pid {
            pid::TOPIC_NAME => names.topic = value.name()?,
            pid::TYPE_NAME => names.type_name = value.name()?,
            pid::TOPIC_DATA => topic_data = TopicData(value.opaque()?),
            pid::TYPE_INFORMATION => information = Some(type_information(parameter.value, rules)?),
            pid::EXPECTS_INLINE_QOS => expects_inline_qos = value.reader.bool()?,
            // Writers need not filter, so one that cannot be read does no harm.
            pid::CONTENT_FILTER_PROPERTY => {
                content_filter = ContentFilterProperty::read(value.reader).map(Arc::new);
            }
            pid::RELATED_ENTITY_GUID => related = known(value.reader.guid()?),
            pid::UNICAST_LOCATOR => value.unicast_locator(&mut own.unicast)?,
            pid::MULTICAST_LOCATOR => value.multicast_locator(&mut own.multicast)?,
            _ => (),
        }
    }
    let (topic_name, type_name) = names.given()?;
    Ok(DiscoveredReader {
        guid,
        topic_name,
        type_name,
        qos: Arc::new(qos),
        subscriber_qos: Arc::new(subscriber_qos),
        topic_data,
        type_information: information,
        expects_inline_qos,
        content_filter,
        related,
        vendor,
        unicast: Arc::new([]),
        multicast: Arc::new([]),
        direct: None,
        life: None,
        own_locators: own.boxed(),
    })
}

/// What a remote reader has whose announcement is silent: the defaults of the standard, not those of our own API.
fn announced_reader_defaults(vendor: VendorId) -> DataReaderQos {
    let type_consistency = if vendor.does(Behaviour::LeavesOutDefaultTypeConsistency) {
        TypeConsistencyEnforcement::default()
    } else {
        TypeConsistencyEnforcement::DISALLOW
    };
    DataReaderQos {
        representation: DataRepresentation::default(),
        type_consistency,
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

/// A GUID that names something.
fn known(guid: Guid) -> Option<Guid> {
    (guid != Guid::UNKNOWN).then_some(guid)
}

fn type_information(value: &[u8], rules: Rules<'_>) -> Result<Arc<[u8]>, DecodeError> {
    if value.len() > rules.quotas.max_type_octets { Err(DecodeError::OverQuota) } else { Ok(value.into()) }
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

/// What every endpoint has to name.
#[derive(Default)]
struct Names {
    topic: String,
    type_name: String,
}

impl Names {
    fn given(self) -> Result<(Arc<str>, Arc<str>), DecodeError> {
        if self.topic.is_empty() || self.type_name.is_empty() {
            return Err(DecodeError::Malformed);
        }
        Ok((self.topic.into(), self.type_name.into()))
    }
}
