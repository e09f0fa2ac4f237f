//! DiscoveredWriterData and DiscoveredReaderData: RTPS 2.5 §8.5.4.4 and §9.6.3, writing.

use alloc::vec::Vec;

use dunlin_core::{EntityId, Guid, ProtocolVersion, VendorId};
use dunlin_qos::{DataWriterQos, PublisherQos, TopicData};
use dunlin_rtps::MAX_READER_INLINE_QOS;
use dunlin_wire::{Endianness, ParameterListBuilder, pid};

use super::{
    participant::put_locators,
    policies::{put_inline_policies, put_partition, put_reader_policies, put_writer_policies},
};
use crate::data::{DiscoveredReader, DiscoveredWriter, EndpointLocators};

/// The payload of the announcement of a local writer.
pub(crate) fn encode_writer(writer: &DiscoveredWriter) -> Vec<u8> {
    let mut list = begin(writer.guid, &writer.topic_name, &writer.type_name, writer.vendor);
    put_own_locators(&mut list, writer.own_locators.as_deref());
    put_related(&mut list, writer.related);
    if writer.group != EntityId::UNKNOWN {
        list.put_with(pid::GROUP_ENTITYID, |out| out.bytes(&writer.group.0));
    }
    put_writer_policies(&mut list, &writer.qos, &writer.publisher_qos);
    finish(list, &writer.topic_data, writer.type_information.as_deref())
}

/// What readers that ask for it with EXPECTS_INLINE_QOS are sent with every change of a writer (RTPS 2.5 §8.7.2.2.5,
/// §9.6.4.1): little-endian parameters without sentinel. What has its default is left out, as every receiver fills it in; so
/// are PARTITION names and then the topic name if they are so long that little would be left of a datagram, which is more than
/// [`MAX_READER_INLINE_QOS`].
#[must_use]
pub fn inline_qos(topic_name: &str, qos: &DataWriterQos, publisher: &PublisherQos) -> Vec<u8> {
    let mut list = ParameterListBuilder::new();
    put_inline_policies(&mut list, qos, publisher);
    let mut named = list.clone();
    named.put_string(pid::TOPIC_NAME, topic_name);
    let mut whole = named.clone();
    put_partition(&mut whole, &publisher.partition);
    let fits = |list: &ParameterListBuilder| list.as_bytes().len() <= MAX_READER_INLINE_QOS;
    [whole, named].into_iter().find(fits).unwrap_or(list).finish_without_sentinel()
}

/// The payload of the announcement of a local reader.
pub(crate) fn encode_reader(reader: &DiscoveredReader) -> Vec<u8> {
    let mut list = begin(reader.guid, &reader.topic_name, &reader.type_name, reader.vendor);
    put_own_locators(&mut list, reader.own_locators.as_deref());
    put_related(&mut list, reader.related);
    if reader.expects_inline_qos {
        list.put_bool(pid::EXPECTS_INLINE_QOS, true);
    }
    if let Some(filter) = &reader.content_filter {
        filter.put(&mut list);
    }
    put_reader_policies(&mut list, &reader.qos, &reader.subscriber_qos);
    finish(list, &reader.topic_data, reader.type_information.as_deref())
}

/// The payload that names an endpoint without describing it.
pub(crate) fn encode_endpoint_key(guid: Guid) -> Vec<u8> {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_guid(pid::ENDPOINT_GUID, guid);
    list.finish()
}

fn begin(guid: Guid, topic_name: &str, type_name: &str, vendor: VendorId) -> ParameterListBuilder {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_guid(pid::ENDPOINT_GUID, guid);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(guid.prefix, EntityId::PARTICIPANT));
    list.put_protocol_version(ProtocolVersion::V2_5);
    list.put_vendor_id(vendor);
    list.put_string(pid::TOPIC_NAME, topic_name);
    list.put_string(pid::TYPE_NAME, type_name);
    list
}

fn put_own_locators(list: &mut ParameterListBuilder, locators: Option<&EndpointLocators>) {
    let Some(locators) = locators else { return };
    put_locators(list, pid::UNICAST_LOCATOR, &locators.unicast);
    put_locators(list, pid::MULTICAST_LOCATOR, &locators.multicast);
}

fn put_related(list: &mut ParameterListBuilder, related: Option<Guid>) {
    if let Some(guid) = related {
        list.put_guid(pid::RELATED_ENTITY_GUID, guid);
    }
}

fn finish(
    mut list: ParameterListBuilder,
    topic_data: &TopicData,
    type_information: Option<&[u8]>,
) -> Vec<u8> {
    if !topic_data.0.is_empty() {
        list.put_octets(pid::TOPIC_DATA, &topic_data.0);
    }
    if let Some(octets) = type_information {
        list.put_bytes(pid::TYPE_INFORMATION, octets);
    }
    list.finish()
}
