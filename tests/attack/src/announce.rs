//! What participants and endpoints say of themselves (RTPS 2.5 §8.5.3.2, §8.5.4.4, §9.6.3), true or not.

use std::net::SocketAddr;

use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, VendorId};
use dunlin_wire::{Endianness, ParameterListBuilder, pid};

/// All built-in endpoints but those of DDS Security (RTPS 2.5 §9.3.2.12).
const BUILTIN_ENDPOINTS: u32 = 0x0000_fc3f;

/// An announcement of a participant.
#[derive(Clone, Debug)]
pub struct Participant {
    /// Who.
    pub prefix: GuidPrefix,
    /// Where it wants its discovery traffic.
    pub metatraffic: Vec<SocketAddr>,
    /// Where it wants data.
    pub data: Vec<SocketAddr>,
    /// How long it wants to be known without a sign of life.
    pub lease: Duration,
    /// Who made it.
    pub vendor: VendorId,
}

impl Participant {
    /// One that receives everything at one place.
    pub fn at(prefix: GuidPrefix, place: SocketAddr) -> Self {
        let (metatraffic, data) = (vec![place], vec![place]);
        Self { prefix, metatraffic, data, lease: Duration::from_secs(100), vendor: VendorId::DUNLIN }
    }

    /// The parameters, to which others can be added.
    pub fn list(&self) -> ParameterListBuilder {
        let mut list = ParameterListBuilder::payload(Endianness::Little);
        list.put_protocol_version(ProtocolVersion::V2_5);
        list.put_vendor_id(self.vendor);
        list.put_guid(pid::PARTICIPANT_GUID, Guid::new(self.prefix, EntityId::PARTICIPANT));
        list.put_with(pid::BUILTIN_ENDPOINT_SET, |out| out.u32(BUILTIN_ENDPOINTS));
        list.put_duration(pid::PARTICIPANT_LEASE_DURATION, self.lease);
        for place in &self.metatraffic {
            list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, &Locator::udp(*place));
        }
        for place in &self.data {
            list.put_locator(pid::DEFAULT_UNICAST_LOCATOR, &Locator::udp(*place));
        }
        list
    }
}

/// An announcement of a writer or a reader of the pair's type.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Which.
    pub guid: Guid,
    /// The topic.
    pub topic: String,
    /// The type.
    pub type_name: String,
    /// Whether it is reliable.
    pub reliable: bool,
    /// Where it wants its data, if not where its participant does.
    pub locators: Vec<SocketAddr>,
}

impl Endpoint {
    /// A reliable one.
    pub fn new(guid: Guid, topic: &str, type_name: &str) -> Self {
        let (topic, type_name) = (topic.into(), type_name.into());
        Self { guid, topic, type_name, reliable: true, locators: vec![] }
    }

    /// The parameters, to which others can be added.
    pub fn list(&self) -> ParameterListBuilder {
        let mut list = ParameterListBuilder::payload(Endianness::Little);
        list.put_guid(pid::ENDPOINT_GUID, self.guid);
        list.put_guid(pid::PARTICIPANT_GUID, Guid::new(self.guid.prefix, EntityId::PARTICIPANT));
        list.put_protocol_version(ProtocolVersion::V2_5);
        list.put_vendor_id(VendorId::DUNLIN);
        list.put_string(pid::TOPIC_NAME, &self.topic);
        list.put_string(pid::TYPE_NAME, &self.type_name);
        list.put_with(pid::RELIABILITY, |out| {
            out.u32(if self.reliable { 2 } else { 1 });
            out.duration(Duration::from_millis(100));
        });
        for place in &self.locators {
            list.put_locator(pid::UNICAST_LOCATOR, &Locator::udp(*place));
        }
        list
    }
}

/// The payload that names an endpoint, or a participant, without describing it.
pub fn key(guid: Guid) -> Vec<u8> {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    let pid =
        if guid.entity_id == EntityId::PARTICIPANT { pid::PARTICIPANT_GUID } else { pid::ENDPOINT_GUID };
    list.put_guid(pid, guid);
    list.finish()
}
