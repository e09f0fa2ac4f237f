//! The endpoints of this participant: their announcement (RTPS 2.5 §8.5.4.2) and liveliness (§8.4.13.5).

use alloc::{sync::Arc, vec::Vec};

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, Guid, InstanceHandle, Now, VendorId};
use dunlin_qos::LivelinessKind;
use dunlin_rtps::ChangeKind;

use crate::{
    codec::{LivelinessMessage, encode_endpoint_key, encode_reader, encode_writer},
    data::{LocalReader, LocalWriter},
    discovery::Discovery,
    effect::DiscoveryEffect,
    endpoints::LocalTopic,
    local_type::LocalType,
    table::BuiltinTopic,
};

/// A topic or type name is empty or has more than 256 octets, or a zero octet among them (RTPS 2.5 §9.6.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidName;

impl core::fmt::Display for InvalidName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a topic or type name has 1 to 256 bytes, none of them zero")
    }
}

impl core::error::Error for InvalidName {}

/// Longest topic or type name.
const MAX_NAME_OCTETS: usize = 256;

fn check_name(name: &str) -> Result<(), InvalidName> {
    let valid = (1..=MAX_NAME_OCTETS).contains(&name.len()) && !name.contains('\0');
    if valid { Ok(()) } else { Err(InvalidName) }
}

impl Discovery {
    /// Announces and matches a local writer, or takes up what changed of it.
    ///
    /// # Errors
    /// [`InvalidName`] if the name of topic or type cannot be announced.
    pub fn add_writer(
        &mut self,
        now: Now,
        writer: LocalWriter,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> Result<(), InvalidName> {
        check_name(&writer.topic_name)?;
        check_name(&writer.type_name)?;
        self.asserter.put(now.mono, writer.entity_id, writer.qos.liveliness);
        writer.type_information.iter().for_each(|ty| self.endpoints.types.add_local(ty));
        let writer = writer.describe(self.config.guid_prefix, VendorId::DUNLIN);
        let (guid, payload) = (writer.guid, encode_writer(&writer));
        if self.endpoints.put_writer(writer, fx) {
            self.writer_mut(BuiltinTopic::Publications).write(
                now,
                ChangeKind::Alive,
                guid.into(),
                payload.into(),
                out,
            );
        }
        self.settle_types(now, out, fx);
        Ok(())
    }

    /// Announces and matches a local reader, or takes up what changed of it.
    ///
    /// # Errors
    /// [`InvalidName`] if the name of topic or type cannot be announced.
    pub fn add_reader(
        &mut self,
        now: Now,
        reader: LocalReader,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> Result<(), InvalidName> {
        check_name(&reader.topic_name)?;
        check_name(&reader.type_name)?;
        reader.type_information.iter().for_each(|ty| self.endpoints.types.add_local(ty));
        let reader = reader.describe(self.config.guid_prefix, VendorId::DUNLIN);
        let (guid, payload) = (reader.guid, encode_reader(&reader));
        if self.endpoints.put_reader(reader, fx) {
            self.writer_mut(BuiltinTopic::Subscriptions).write(
                now,
                ChangeKind::Alive,
                guid.into(),
                payload.into(),
                out,
            );
        }
        self.settle_types(now, out, fx);
        Ok(())
    }

    /// Takes up a topic: endpoints of others that use its name with another type are told of
    /// ([`DiscoveryEffect::InconsistentTopic`]) although it has no endpoints here.
    pub fn put_topic(
        &mut self,
        now: Now,
        (name, type_name): (&str, &str),
        keyed: bool,
        type_information: Option<Arc<LocalType>>,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let (name, type_name) = (name.into(), type_name.into());
        self.endpoints.put_topic(LocalTopic { name, type_name, keyed, type_information }, fx);
        self.settle_types(now, out, fx);
    }

    /// Forgets a topic.
    pub fn remove_topic(&mut self, name: &str) {
        self.endpoints.remove_topic(name);
    }

    /// Unmatches a local writer and tells the others.
    pub fn remove_writer(
        &mut self,
        now: Now,
        entity: EntityId,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let guid = Guid::new(self.config.guid_prefix, entity);
        self.asserter.remove(entity);
        if self.endpoints.remove_writer(guid, fx) {
            let key = encode_endpoint_key(guid).into();
            self.writer_mut(BuiltinTopic::Publications).write(
                now,
                ChangeKind::DisposedUnregistered,
                guid.into(),
                key,
                out,
            );
        }
    }

    /// Unmatches a local reader and tells the others.
    pub fn remove_reader(
        &mut self,
        now: Now,
        entity: EntityId,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let guid = Guid::new(self.config.guid_prefix, entity);
        if self.endpoints.remove_reader(guid, fx) {
            let key = encode_endpoint_key(guid).into();
            self.writer_mut(BuiltinTopic::Subscriptions).write(
                now,
                ChangeKind::DisposedUnregistered,
                guid.into(),
                key,
                out,
            );
        }
    }

    /// Something that asserts the MANUAL_BY_PARTICIPANT writers happened: `assert_liveliness` of the participant or
    /// of such a writer, or a write, dispose or unregister by one.
    pub fn assert_liveliness(&mut self, now: Now, out: &mut Outbox) {
        if self.asserter.asserted(now.mono) {
            self.write_liveliness(now, LivelinessKind::ManualByParticipant, out);
        }
    }

    pub(crate) fn write_liveliness(&mut self, now: Now, kind: LivelinessKind, out: &mut Outbox) {
        let prefix = self.config.guid_prefix;
        let instance = InstanceHandle(LivelinessMessage::key(prefix, kind));
        let payload = LivelinessMessage::encode(prefix, kind).into();
        self.writer_mut(BuiltinTopic::Messages).write(now, ChangeKind::Alive, instance, payload, out);
    }
}
