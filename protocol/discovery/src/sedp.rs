//! Endpoints of other participants: RTPS 2.5 §8.5.4 (SEDP), and their signs of life, §8.4.13.

use alloc::{sync::Arc, vec::Vec};
use core::cell::Cell;

use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, Misbehaviour, Now, SequenceNumber};
use dunlin_qos::LivelinessKind;
use dunlin_rtps::ChangeKind;

use crate::{
    builtin::{BuiltinSample, Collector},
    codec::{
        AssertedKind, DecodeError, LivelinessMessage, Rules, decode_endpoint_key, decode_reader,
        decode_writer,
    },
    config::DiscoveryRole,
    data::{DiscoveredReader, DiscoveredWriter, EndpointLocators, ParticipantData},
    discovery::Discovery,
    effect::DiscoveryEffect,
    participant,
    reach::{kinds, retain_addresses, retain_kinds},
    table::BuiltinTopic,
};

/// Most different places that the endpoints of one participant may have beside its own.
const MAX_PLACES: usize = 64;

impl Discovery {
    /// Processes what a built-in reader delivered.
    pub(crate) fn process(
        &mut self,
        now: Now,
        topic: BuiltinTopic,
        mut collected: Collector,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let before = fx.len();
        for sample in collected.samples.drain(..) {
            let result = match (topic, sample.kind) {
                (BuiltinTopic::Messages, ChangeKind::Alive) => self.on_liveliness(now, &sample, fx),
                (BuiltinTopic::Messages, _) => Ok(()),
                (BuiltinTopic::Publications, ChangeKind::Alive) => self.on_publication(&sample, fx),
                (BuiltinTopic::Subscriptions, ChangeKind::Alive) => self.on_subscription(&sample, fx),
                _ => self.on_endpoint_gone(topic, &sample, fx),
            };
            if let Err(error) = result {
                self.count_error(sample.writer.prefix, error, fx);
            }
        }
        self.concern(fx.get(before..).unwrap_or_default());
        self.collected = collected;
    }

    fn on_liveliness(
        &mut self,
        now: Now,
        sample: &BuiltinSample,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> Result<(), DecodeError> {
        let message = LivelinessMessage::decode(sample.payload.as_deref().ok_or(DecodeError::Malformed)?)?;
        if self.is_foreign(message.prefix, sample.writer.prefix) {
            return Ok(());
        }
        let participant = self.participants.get_mut(&message.prefix);
        let since = participant.map_or(now.mono, |it| it.assertion_times.came(now.mono, sample.sn));
        if let AssertedKind::Standard(kind) = message.kind {
            // The process lives, whenever it wrote that; what its application did has a time.
            let since = if kind == LivelinessKind::Automatic { now.mono } else { since };
            fx.push(DiscoveryEffect::LivelinessAsserted { prefix: message.prefix, kind, since });
        }
        Ok(())
    }

    /// A peer speaks for itself only.
    fn is_foreign(&mut self, named: GuidPrefix, source: GuidPrefix) -> bool {
        let foreign = named != source;
        if foreign {
            self.refuse(source, Misbehaviour::ForeignEntity);
        }
        foreign
    }

    fn on_publication(
        &mut self,
        sample: &BuiltinSample,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> Result<(), DecodeError> {
        let Some(participant) = self.participants.get(&sample.writer.prefix) else { return Ok(()) };
        let payload = sample.payload.as_deref().ok_or(DecodeError::Malformed)?;
        let left_out = Cell::new(0);
        let rules = Rules {
            quotas: &self.config.quotas,
            durations_in_nanoseconds: participant.data.durations_in_nanoseconds,
            vendor: participant.data.vendor,
            left_out: &left_out,
        };
        let read = decode_writer(payload, sample.key_hash, participant.data.vendor, rules);
        self.count_left_out(&left_out);
        let mut writer = read?;
        let topic = (Arc::clone(&writer.topic_name), Arc::clone(&writer.type_name));
        if !self.may_add(writer.guid, &topic, sample, payload.len())? {
            if writer.guid.prefix == sample.writer.prefix {
                self.ignored.note_writer(writer.guid, writer.publisher(), sample.sn, fx);
            }
            return Ok(());
        }
        (writer.unicast, writer.multicast) = self.resolve_writer(&writer);
        writer.life = sample.life();
        self.endpoints.put_writer(writer, fx);
        Ok(())
    }

    fn on_subscription(
        &mut self,
        sample: &BuiltinSample,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> Result<(), DecodeError> {
        let Some(participant) = self.participants.get(&sample.writer.prefix) else { return Ok(()) };
        let payload = sample.payload.as_deref().ok_or(DecodeError::Malformed)?;
        let left_out = Cell::new(0);
        let rules = Rules {
            quotas: &self.config.quotas,
            durations_in_nanoseconds: participant.data.durations_in_nanoseconds,
            vendor: participant.data.vendor,
            left_out: &left_out,
        };
        let read = decode_reader(payload, sample.key_hash, participant.data.vendor, rules);
        let expects_inline_qos = participant.data.expects_inline_qos;
        self.count_left_out(&left_out);
        let mut reader = read?;
        reader.expects_inline_qos |= expects_inline_qos;
        let topic = (Arc::clone(&reader.topic_name), Arc::clone(&reader.type_name));
        if !self.may_add(reader.guid, &topic, sample, payload.len())? {
            return Ok(());
        }
        (reader.unicast, reader.multicast) = self.resolve(reader.guid.prefix, reader.own_locators.as_deref());
        reader.direct = self.direct_places(reader.guid.prefix);
        reader.life = sample.life();
        self.endpoints.put_reader(reader, fx);
        Ok(())
    }

    /// Whether an endpoint may be remembered; charges it to its participant if so.
    fn may_add(
        &mut self,
        guid: Guid,
        topic: &(Arc<str>, Arc<str>),
        sample: &BuiltinSample,
        size: usize,
    ) -> Result<bool, DecodeError> {
        let source = sample.writer.prefix;
        let ignored = self.ignored.covers(guid, topic);
        if self.is_foreign(guid.prefix, source) || ignored {
            return Ok(false);
        }
        let Some(participant) = participant::found_mut(&mut self.participants, source) else {
            return Ok(false);
        };
        if participant.charge(guid.entity_id, sample.sn, size, &mut self.account, &self.config.quotas) {
            Ok(true)
        } else {
            Err(DecodeError::OverQuota)
        }
    }

    fn on_endpoint_gone(
        &mut self,
        topic: BuiltinTopic,
        sample: &BuiltinSample,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> Result<(), DecodeError> {
        let guid = decode_endpoint_key(sample.payload.as_deref(), sample.key_hash)?;
        if self.is_foreign(guid.prefix, sample.writer.prefix) {
            return Ok(());
        }
        self.forget_endpoint(guid, matches!(topic, BuiltinTopic::Publications), fx);
        self.ignored.forget_writer(guid, fx);
        Ok(())
    }

    /// Changes of a built-in writer can never be received, and among them may be a removal that all others have
    /// acknowledged. An endpoint that exists is still in the history of its writer, which keeps the last change of each
    /// instance: what was announced before the first change that is left is gone.
    pub(crate) fn forget_lost(
        &mut self,
        topic: BuiltinTopic,
        prefix: GuidPrefix,
        first: SequenceNumber,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let is_writer = match topic {
            BuiltinTopic::Publications => true,
            BuiltinTopic::Subscriptions => false,
            BuiltinTopic::Messages => return,
        };
        let Some(participant) = self.participants.get(&prefix) else { return };
        let gone: Vec<EntityId> = participant
            .announced_before(first)
            .filter(|endpoint| endpoint.is_writer() == is_writer)
            .collect();
        for endpoint in gone {
            self.forget_endpoint(Guid::new(prefix, endpoint), is_writer, fx);
        }
        if is_writer {
            self.ignored.forget_writers_before(prefix, first, fx);
        }
    }

    fn forget_endpoint(&mut self, guid: Guid, is_writer: bool, fx: &mut Vec<DiscoveryEffect>) {
        let known = if is_writer {
            self.endpoints.remove_writer(guid, fx)
        } else {
            self.endpoints.remove_reader(guid, fx)
        };
        if known && let Some(participant) = self.participants.get_mut(&guid.prefix) {
            participant.discharge(guid.entity_id, &mut self.account);
        }
    }

    /// Ignores a writer or reader of another participant for good (`ignore_publication`, `ignore_subscription`, DDS
    /// 1.4 §2.2.2.2.1.16).
    pub fn ignore_endpoint(&mut self, guid: Guid, fx: &mut Vec<DiscoveryEffect>) {
        if guid.prefix != self.config.guid_prefix {
            self.ignored.endpoint(guid);
            self.ignore_known(guid, fx);
        }
    }

    /// Ignores every endpoint of other participants that names this topic and type, for good (`ignore_topic`, DDS 1.4
    /// §2.2.2.2.1.15).
    pub fn ignore_topic(&mut self, topic_name: &str, type_name: &str, fx: &mut Vec<DiscoveryEffect>) {
        self.ignored.topic(topic_name, type_name);
        let same = |topic: &str, ty: &str| topic == topic_name && ty == type_name;
        let writers = self.writers().filter(|writer| same(&writer.topic_name, &writer.type_name));
        let readers = self.readers().filter(|reader| same(&reader.topic_name, &reader.type_name));
        let gone: Vec<Guid> =
            writers.map(|writer| writer.guid).chain(readers.map(|reader| reader.guid)).collect();
        for guid in gone {
            self.ignore_known(guid, fx);
        }
    }

    fn ignore_known(&mut self, guid: Guid, fx: &mut Vec<DiscoveryEffect>) {
        let writer = self.endpoints.writer(guid).cloned();
        let participant = self.participants.get(&guid.prefix);
        let announced = participant.and_then(|it| it.announced_at(guid.entity_id));
        self.forget_endpoint(guid, guid.entity_id.is_writer(), fx);
        if let Some(writer) = writer.filter(|writer| writer.guid.prefix != self.config.guid_prefix) {
            let sn = announced.unwrap_or(SequenceNumber::ZERO);
            self.ignored.note_writer(writer.guid, writer.publisher(), sn, fx);
        }
    }

    /// Where a writer of a remote participant takes answers.
    fn resolve_writer(&mut self, writer: &DiscoveredWriter) -> (Arc<[Locator]>, Arc<[Locator]>) {
        match self.place_of_answers(writer) {
            Some(direct) => (direct, Arc::new([])),
            None => self.resolve(writer.guid.prefix, writer.own_locators.as_deref()),
        }
    }

    /// Where an endpoint of a remote participant receives: where it says, if that is of use here, or else where its
    /// participant does.
    fn resolve(
        &mut self,
        prefix: GuidPrefix,
        own: Option<&EndpointLocators>,
    ) -> (Arc<[Locator]>, Arc<[Locator]>) {
        let Some(participant) = participant::found(&self.participants, prefix) else {
            return (Arc::new([]), Arc::new([]));
        };
        // Nothing of others is reached but by way of the daemon, whatever they say.
        let own = own.filter(|_| !matches!(self.config.role, DiscoveryRole::Application(_)));
        if let Some(own) = own {
            let (kinds, opened) = (kinds(&self.config.locators), &*self.config.opened_kinds);
            let EndpointLocators { mut unicast, mut multicast } = own.clone();
            retain_kinds(&mut unicast, &kinds);
            retain_kinds(&mut multicast, &kinds);
            participant.reach.retain_unicast(&mut unicast);
            if !self.config.quotas.foreign_locators {
                let verified = &participant.data.locators.metatraffic_unicast;
                let left_out =
                    u64::try_from(retain_addresses(&mut unicast, verified, opened)).unwrap_or(u64::MAX);
                self.stats.foreign_locators = self.stats.foreign_locators.saturating_add(left_out);
            }
            participant.reach.prefer_chosen(&mut unicast, &mut multicast, opened);
            let own_groups = &self.config.locators.default_multicast;
            participant.reach.retain_groups(&mut multicast, &unicast, own_groups);
            if !(unicast.is_empty() && multicast.is_empty()) {
                self.retain_few(prefix, [&mut unicast, &mut multicast]);
                return (unicast.into(), multicast.into());
            }
        }
        participant.default_places()
    }

    /// Leaves the places that the endpoints of a participant already have, and new ones as long as there are few: each sample
    /// goes to each of them.
    fn retain_few(&mut self, prefix: GuidPrefix, lists: [&mut Vec<Locator>; 2]) {
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        let named = lists.iter().map(|list| list.len()).sum::<usize>();
        if participant.endpoint_places.len().saturating_add(named) > MAX_PLACES {
            // Some of them may have gone with their endpoints.
            let (writers, readers) = (self.endpoints.writers_of(prefix), self.endpoints.readers_of(prefix));
            let writers = writers.flat_map(|it| it.unicast.iter().chain(&*it.multicast));
            let of_both = readers.flat_map(|it| it.unicast.iter().chain(&*it.multicast)).chain(writers);
            participant.endpoint_places = of_both.copied().collect();
        }
        let known = &mut participant.endpoint_places;
        let mut left_out = 0_u64;
        for list in lists {
            list.retain(|place| {
                let fits = known.contains(place) || (known.len() < MAX_PLACES && known.insert(*place));
                left_out = left_out.saturating_add(u64::from(!fits));
                fits
            });
        }
        self.stats.entries_left_out = self.stats.entries_left_out.saturating_add(left_out);
    }

    /// Applies changed locators of a participant to its endpoints.
    pub(crate) fn move_endpoints(&mut self, data: &ParticipantData, fx: &mut Vec<DiscoveryEffect>) {
        let writers: Vec<_> = self.endpoints.writers_of(data.guid_prefix).cloned().collect();
        for writer in writers {
            let (unicast, multicast) = self.resolve_writer(&writer);
            let moved = DiscoveredWriter { unicast, multicast, ..(*writer).clone() };
            self.endpoints.put_writer(moved, fx);
        }
        let readers: Vec<_> = self.endpoints.readers_of(data.guid_prefix).cloned().collect();
        for reader in readers {
            let (unicast, multicast) = self.resolve(data.guid_prefix, reader.own_locators.as_deref());
            let direct = self.direct_places(data.guid_prefix);
            let moved = DiscoveredReader { unicast, multicast, direct, ..(*reader).clone() };
            self.endpoints.put_reader(moved, fx);
        }
    }
}
