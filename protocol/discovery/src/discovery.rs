//! The discovery of one participant as a whole: RTPS 2.5 §8.5 and §8.4.13. State, start and end, routing.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, MonoTime, Now, Rng, SequenceNumber};
use dunlin_qos::{Property, UserData};
use dunlin_rtps::Reader;
use dunlin_wire::{ReceiverState, Submessage};

use crate::{
    announcer::Announcer,
    builtin::{BuiltinWriter, Collector, builtin_reader, feed},
    config::{DiscoveryConfig, DiscoveryStats, Locators},
    effect::DiscoveryEffect,
    endpoints::Endpoints,
    goodbye::Goodbyes,
    ignored::Ignored,
    lost::Lost,
    participant::{Account, RemoteParticipant},
    types::Service,
    unverified_participants::UnverifiedParticipants,
    wlp::Asserter,
};

/// The built-in endpoints of a participant with everything they learn.
///
/// A plain `&mut self` value: time, datagrams and effects are arguments. Datagrams to send are appended to an outbox,
/// consequences for user endpoints to a list of [`DiscoveryEffect`]s that has to be carried out in order.
#[derive(Debug)]
pub struct Discovery {
    pub(crate) config: DiscoveryConfig,
    pub(crate) announcer: Announcer,
    pub(crate) endpoints: Endpoints,
    pub(crate) participants: BTreeMap<GuidPrefix, RemoteParticipant>,
    pub(crate) unverified: UnverifiedParticipants,
    /// Participants that came since the groups were last told of this one.
    pub(crate) newcomers: usize,
    /// When to answer which unverified participant.
    pub(crate) answers: BTreeSet<(MonoTime, GuidPrefix)>,
    /// What all announcements that are remembered take.
    pub(crate) account: Account,
    pub(crate) goodbyes: Goodbyes,
    pub(crate) lost: Lost,
    pub(crate) ignored: Ignored,
    /// No lease of a participant ends before this.
    pub(crate) lease_wakeup: Option<MonoTime>,
    pub(crate) publications: BuiltinWriter,
    pub(crate) subscriptions: BuiltinWriter,
    pub(crate) messages: BuiltinWriter,
    pub(crate) publications_reader: Reader,
    pub(crate) subscriptions_reader: Reader,
    pub(crate) messages_reader: Reader,
    pub(crate) service: Service,
    pub(crate) asserter: Asserter,
    pub(crate) collected: Collector,
    pub(crate) stats: DiscoveryStats,
    pub(crate) rng: Rng,
}

/// The built-in writers, by the data they carry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BuiltinTopic {
    Publications,
    Subscriptions,
    Messages,
}

impl BuiltinTopic {
    pub(crate) const ALL: [Self; 3] = [Self::Publications, Self::Subscriptions, Self::Messages];

    pub(crate) const fn writer_id(self) -> EntityId {
        match self {
            Self::Publications => EntityId::SEDP_PUBLICATIONS_WRITER,
            Self::Subscriptions => EntityId::SEDP_SUBSCRIPTIONS_WRITER,
            Self::Messages => EntityId::PARTICIPANT_MESSAGE_WRITER,
        }
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Publications => 0,
            Self::Subscriptions => 1,
            Self::Messages => 2,
        }
    }

    pub(crate) const fn reader_id(self) -> EntityId {
        match self {
            Self::Publications => EntityId::SEDP_PUBLICATIONS_READER,
            Self::Subscriptions => EntityId::SEDP_SUBSCRIPTIONS_READER,
            Self::Messages => EntityId::PARTICIPANT_MESSAGE_READER,
        }
    }
}

impl Discovery {
    /// The discovery of a participant that does nothing before [`Self::start`]. `seed` varies the periods.
    #[must_use]
    pub fn new(config: DiscoveryConfig, seed: u64) -> Self {
        let guid = |entity| Guid::new(config.guid_prefix, entity);
        // Another stream than the one that varies the periods, which anybody can observe.
        let mut rng = Rng::new(!seed);
        let mut writer = |topic: BuiltinTopic| {
            let first = first_number(&mut rng);
            BuiltinWriter::new(guid(topic.writer_id()), config.max_message_size, config.lease_duration, first)
        };
        let (publications, subscriptions, messages) = (
            writer(BuiltinTopic::Publications),
            writer(BuiltinTopic::Subscriptions),
            writer(BuiltinTopic::Messages),
        );
        let reader = |topic: BuiltinTopic| builtin_reader(guid(topic.reader_id()), &config.quotas);
        Self {
            announcer: Announcer::new(&config, seed),
            endpoints: Endpoints::new(config.guid_prefix, &config.quotas),
            participants: BTreeMap::new(),
            unverified: UnverifiedParticipants::default(),
            newcomers: 0,
            answers: BTreeSet::new(),
            account: Account::default(),
            goodbyes: Goodbyes::default(),
            lost: Lost::default(),
            ignored: Ignored::default(),
            lease_wakeup: None,
            publications,
            subscriptions,
            messages,
            publications_reader: reader(BuiltinTopic::Publications),
            subscriptions_reader: reader(BuiltinTopic::Subscriptions),
            messages_reader: reader(BuiltinTopic::Messages),
            service: Service::new(&config),
            asserter: Asserter::default(),
            collected: Collector::default(),
            stats: DiscoveryStats::default(),
            rng,
            config,
        }
    }

    /// Whether submessages from or to this entity belong here: pass those whose writer or reader it is.
    #[must_use]
    pub fn handles(entity: EntityId) -> bool {
        matches!(entity, EntityId::SPDP_WRITER | EntityId::SPDP_READER)
            || Service::has(entity)
            || BuiltinTopic::ALL
                .iter()
                .any(|topic| entity == topic.writer_id() || entity == topic.reader_id())
    }

    /// Begins to announce the participant.
    pub fn start(&mut self, now: Now, out: &mut Outbox) {
        self.announcer.start(now.mono, &self.config);
        self.announce_if_due(now, out);
    }

    /// Tells everybody that the participant is gone, and ends announcing.
    pub fn shutdown(&mut self, now: Now, out: &mut Outbox) {
        if self.announcer.is_running() {
            self.announcer.stop();
            let destinations = self.all_destinations(now.mono);
            self.announcer.send_disposal(now, self.config.guid_prefix, &destinations, out);
        }
    }

    /// Takes up new locators of this participant and announces them.
    pub fn set_locators(
        &mut self,
        now: Now,
        locators: Locators,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        if self.config.locators == locators {
            return;
        }
        self.config.locators = locators;
        self.announce_change(now, out);
        let prefixes: Vec<GuidPrefix> = self.participants.keys().copied().collect();
        for prefix in prefixes {
            self.refresh_locators(prefix, fx);
        }
    }

    /// Takes up new destinations of announcements, such as groups of a network that appeared.
    pub fn set_destinations(
        &mut self,
        now: Now,
        groups: Vec<Locator>,
        initial_peers: Vec<Locator>,
        out: &mut Outbox,
    ) {
        self.config.spdp_destinations = groups;
        self.config.initial_peers = initial_peers;
        self.announce_change(now, out);
    }

    /// Takes up new USER_DATA and PROPERTY of the participant, and announces them if they differ.
    pub fn set_policies(&mut self, now: Now, user_data: UserData, property: Property, out: &mut Outbox) {
        if self.config.user_data != user_data || self.config.property != property {
            (self.config.user_data, self.config.property) = (user_data, property);
            self.announce_change(now, out);
        }
    }

    fn announce_change(&mut self, now: Now, out: &mut Outbox) {
        self.announcer.update(&self.config);
        if self.announcer.is_running() {
            self.announcer.start(now.mono, &self.config);
            self.announce_if_due(now, out);
        }
    }

    /// Takes a submessage of a built-in endpoint, see [`Self::handles`]; without effect before [`Self::start`] and
    /// after [`Self::shutdown`]. `from` is where its datagram came from and `packet` the whole datagram.
    #[expect(clippy::too_many_arguments, reason = "a submessage means nothing without its surroundings")]
    pub fn on_submessage(
        &mut self,
        now: Now,
        from: Locator,
        state: &ReceiverState,
        submessage: &Submessage<'_>,
        packet: &SharedBytes,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let for_us = state.is_destination() && state.source_prefix != self.config.guid_prefix;
        if !for_us || !self.announcer.is_running() {
            return;
        }
        let writer_id = match submessage {
            Submessage::Data(data) if data.writer_id == EntityId::SPDP_WRITER => {
                self.on_announcement(now, from, state, data, out, fx);
                self.settle_types(now, out, fx);
                return;
            }
            Submessage::Data(data) => data.writer_id,
            Submessage::DataFrag(data) => data.writer_id,
            Submessage::Heartbeat(heartbeat) => heartbeat.writer_id,
            Submessage::HeartbeatFrag(heartbeat) => heartbeat.writer_id,
            Submessage::Gap(gap) => gap.writer_id,
            Submessage::AckNack(acknack) => acknack.writer_id,
            Submessage::NackFrag(nack) => nack.writer_id,
            _ => return,
        };
        let Some(topic) = BuiltinTopic::ALL.into_iter().find(|topic| topic.writer_id() == writer_id) else {
            self.on_type_lookup(now, writer_id, (state, submessage, packet), out);
            self.settle_types(now, out, fx);
            return;
        };
        let source = state.source_prefix;
        if self.unverified_mut(source).is_some() {
            self.meet(now, topic, source, submessage, out, fx);
            return;
        }
        if matches!(submessage, Submessage::AckNack(_) | Submessage::NackFrag(_)) {
            self.writer_mut(topic).on_submessage(now, state.source_prefix, submessage, out);
            return;
        }
        if let (BuiltinTopic::Messages, Submessage::Heartbeat(heartbeat)) = (topic, submessage)
            && let Some(participant) = self.participants.get_mut(&source)
        {
            participant.spoken.announced(now.mono, heartbeat.last_sn);
        }
        let mut collected = core::mem::take(&mut self.collected);
        feed(self.reader_mut(topic), now, state, submessage, packet, &mut collected, out);
        let lost = core::mem::take(&mut collected.lost);
        self.process(now, topic, collected, fx);
        if let Submessage::Heartbeat(heartbeat) = submessage
            && lost
        {
            self.forget_lost(topic, state.source_prefix, heartbeat.first_sn, fx);
        }
        self.settle_types(now, out, fx);
    }

    pub(crate) fn writer_mut(&mut self, topic: BuiltinTopic) -> &mut BuiltinWriter {
        match topic {
            BuiltinTopic::Publications => &mut self.publications,
            BuiltinTopic::Subscriptions => &mut self.subscriptions,
            BuiltinTopic::Messages => &mut self.messages,
        }
    }

    pub(crate) fn reader_mut(&mut self, topic: BuiltinTopic) -> &mut Reader {
        match topic {
            BuiltinTopic::Publications => &mut self.publications_reader,
            BuiltinTopic::Subscriptions => &mut self.subscriptions_reader,
            BuiltinTopic::Messages => &mut self.messages_reader,
        }
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Now, out: &mut Outbox, fx: &mut Vec<DiscoveryEffect>) {
        self.spare_leases(now.mono);
        self.announce_if_due(now, out);
        self.send_answers(now, out);
        self.expire_leases(now.mono, fx);
        while let Some(kind) = self.asserter.due(now.mono) {
            self.write_liveliness(now, kind, out);
        }
        for topic in BuiltinTopic::ALL {
            self.writer_mut(topic).on_timer(now, out);
            if self.reader_mut(topic).next_deadline().is_some_and(|deadline| deadline <= now.mono) {
                let mut collected = core::mem::take(&mut self.collected);
                self.reader_mut(topic).on_timer(now, &mut collected, out);
                self.process(now, topic, collected, fx);
            }
        }
        self.type_timers(now, out);
        self.settle_types(now, out, fx);
    }

    /// When [`Self::on_timer`] has something to do at the earliest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        let writers =
            [&self.publications, &self.subscriptions, &self.messages].map(BuiltinWriter::next_deadline);
        let readers = [&self.publications_reader, &self.subscriptions_reader, &self.messages_reader];
        let answer = self.answers.first().map(|(due, _)| *due);
        let types = self.service.next_deadline();
        let lookups = self.endpoints.types.lookups.next_deadline();
        let own = [self.announcer.next_deadline(), self.lease_wakeup, self.asserter.next_deadline(), answer];
        let own = own.into_iter().chain([types, lookups]);
        let readers = readers.map(|reader| reader.next_deadline());
        writers.into_iter().chain(readers).chain(own).flatten().min()
    }

    /// Any datagram of a participant is a sign of life.
    pub fn on_traffic(&mut self, now: MonoTime, prefix: GuidPrefix) {
        if let Some(participant) = self.participants.get_mut(&prefix) {
            participant.renew(now);
        }
    }
}

/// The SEDP writers begin to count below 2 to the power of this. Larger numbers are harder to guess, but Fast DDS 2.9
/// takes a quarter of a microsecond for every number that it will never see.
const FIRST_NUMBER_BITS: u32 = 16;

/// A number that nobody can guess who has not been told it.
fn first_number(rng: &mut Rng) -> SequenceNumber {
    let number = i64::try_from(rng.below(1 << FIRST_NUMBER_BITS)).unwrap_or(0);
    SequenceNumber(number.saturating_add(1))
}

#[cfg(test)]
mod tests;
