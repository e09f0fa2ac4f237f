//! The discovery of one participant as a whole: RTPS 2.5 §8.5 and §8.4.13. State, start and end, routing.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, Misbehaviour, MonoTime, Now, Rng, SequenceNumber};
use dunlin_qos::{Property, UserData};
use dunlin_rtps::Reader;
use dunlin_wire::{ReceiverState, Submessage};

use crate::{
    announcer::Announcer,
    builtin::{BuiltinWriter, Collector, builtin_reader, feed},
    config::{DiscoveryConfig, DiscoveryRole, DiscoveryStats, Locators},
    effect::DiscoveryEffect,
    endpoints::Endpoints,
    goodbye::{Goodbyes, is_alive},
    ignored::Ignored,
    introductions::Introductions,
    lost::Lost,
    participant::{Account, RemoteParticipant},
    relay::Relay,
    table::{self, BuiltinTopic, Handler, TOPICS},
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
    /// Each in an allocation of its own: nodes of the map are half empty, and this is large.
    pub(crate) participants: BTreeMap<GuidPrefix, Box<RemoteParticipant>>,
    pub(crate) unverified: UnverifiedParticipants,
    /// Participants that came since the groups were last told of this one.
    pub(crate) newcomers: usize,
    /// When to answer which unverified participant.
    pub(crate) answers: BTreeSet<(MonoTime, GuidPrefix)>,
    /// When to ask which participant again at new places.
    pub(crate) trials: BTreeSet<(MonoTime, GuidPrefix)>,
    /// When to ask which participant again whether it is still there.
    pub(crate) doubts: BTreeSet<(MonoTime, GuidPrefix)>,
    /// What all announcements that are remembered take.
    pub(crate) account: Account,
    pub(crate) goodbyes: Goodbyes,
    pub(crate) lost: Lost,
    pub(crate) ignored: Ignored,
    /// Of a server alone.
    pub(crate) introductions: Option<Box<Introductions>>,
    /// Of a daemon alone.
    pub(crate) relay: Option<Box<Relay>>,
    /// No lease of a participant ends before this.
    pub(crate) lease_wakeup: Option<MonoTime>,
    pub(crate) topics: BuiltinTopics,
    pub(crate) service: Service,
    pub(crate) asserter: Asserter,
    pub(crate) collected: Collector,
    pub(crate) stats: DiscoveryStats,
    /// What was refused and was not counted by the caller yet.
    pub(crate) refused: Vec<(GuidPrefix, Misbehaviour)>,
    pub(crate) rng: Rng,
}

/// The writers and readers of the [reliable topics](BuiltinTopic).
#[derive(Debug)]
pub(crate) struct BuiltinTopics([BuiltinEndpoints; TOPICS]);

#[derive(Debug)]
struct BuiltinEndpoints {
    writer: BuiltinWriter,
    reader: Reader,
}

impl BuiltinTopics {
    fn new(config: &DiscoveryConfig, rng: &mut Rng) -> Self {
        let guid = |entity| Guid::new(config.guid_prefix, entity);
        Self(BuiltinTopic::ALL.map(|topic| {
            let (size, lease) = (config.max_message_size, config.lease_duration);
            let writer = BuiltinWriter::new(guid(topic.writer_id()), size, lease, first_number(rng));
            BuiltinEndpoints { writer, reader: builtin_reader(guid(topic.reader_id()), &config.quotas) }
        }))
    }

    fn of(&mut self, topic: BuiltinTopic) -> &mut BuiltinEndpoints {
        let [publications, subscriptions, messages] = &mut self.0;
        match topic {
            BuiltinTopic::Publications => publications,
            BuiltinTopic::Subscriptions => subscriptions,
            BuiltinTopic::Messages => messages,
        }
    }

    pub(crate) fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.0.iter().map(|endpoints| &endpoints.reader)
    }

    fn next_deadline(&self) -> Option<MonoTime> {
        let of_both = |endpoints: &BuiltinEndpoints| {
            [endpoints.writer.next_deadline(), endpoints.reader.next_deadline()]
        };
        self.0.iter().flat_map(of_both).flatten().min()
    }
}

impl Discovery {
    /// The discovery of a participant that does nothing before [`Self::start`]. `seed` varies the periods.
    #[must_use]
    pub fn new(config: DiscoveryConfig, seed: u64) -> Self {
        // Another stream than the one that varies the periods, which anybody can observe.
        let mut rng = Rng::new(!seed);
        let topics = BuiltinTopics::new(&config, &mut rng);
        Self {
            announcer: Announcer::new(&config, seed),
            endpoints: Endpoints::new(config.guid_prefix, &config.quotas),
            participants: BTreeMap::new(),
            unverified: UnverifiedParticipants::default(),
            newcomers: 0,
            answers: BTreeSet::new(),
            trials: BTreeSet::new(),
            doubts: BTreeSet::new(),
            account: Account::default(),
            goodbyes: Goodbyes::default(),
            lost: Lost::default(),
            ignored: Ignored::default(),
            introductions: (config.role == DiscoveryRole::Server).then(Box::default),
            relay: match &config.role {
                DiscoveryRole::Daemon(relay) => Some(Box::new(Relay::new(relay.clone()))),
                _ => None,
            },
            lease_wakeup: None,
            topics,
            service: Service::new(&config),
            asserter: Asserter::default(),
            collected: Collector::default(),
            stats: DiscoveryStats::default(),
            refused: Vec::new(),
            rng,
            config,
        }
    }

    /// Whether submessages from or to this entity belong here: pass those whose writer or reader it is.
    #[must_use]
    pub fn handles(entity: EntityId) -> bool {
        table::has(entity)
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
            self.announcer.send_disposal(now, &self.config, &destinations, out);
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
            Submessage::Data(data) => data.writer_id,
            Submessage::DataFrag(data) => data.writer_id,
            Submessage::Heartbeat(heartbeat) => heartbeat.writer_id,
            Submessage::HeartbeatFrag(heartbeat) => heartbeat.writer_id,
            Submessage::Gap(gap) => gap.writer_id,
            Submessage::AckNack(acknack) => acknack.writer_id,
            Submessage::NackFrag(nack) => nack.writer_id,
            Submessage::EchoRequest(question) if question.writer_id == EntityId::SPDP_WRITER => {
                return self.on_place_question(&from, state.source_prefix, question, out);
            }
            Submessage::Echo(answer) if answer.writer_id == EntityId::SPDP_WRITER => {
                return self.on_place_answer(now, state.source_prefix, answer, out, fx);
            }
            _ => return,
        };
        if let Submessage::Data(data) = submessage
            && writer_id == EntityId::SPDP_WRITER
            && self.is_introduced_again(state.source_prefix, data)
        {
            return self.on_introduction_again(now, state, data, out, fx);
        }
        if !self.may_speak(now.mono, state.source_prefix, &from) {
            return self.on_misplaced(now, from, state, submessage, out, fx);
        }
        let Some(row) = table::of_writer(writer_id) else { return };
        match (row.handler, submessage) {
            (Handler::Participants, Submessage::Data(data)) => {
                self.on_announcement(now, from, state, data, out, fx);
                // Who is said to leave, and may still be there, is not told of as if it had spoken.
                if is_alive(data) {
                    self.repeat_introductions(now.mono, state.source_prefix);
                    self.repeat_announcement(now.mono, state.source_prefix);
                }
                self.introduce(now, out);
                self.speak_for_others(now, out);
            }
            (Handler::Participants, _) => {}
            (Handler::Types, _) => self.on_type_lookup(now, writer_id, (state, submessage, packet), out),
            (Handler::Topic(topic), _) => {
                return self.on_topic(now, topic, (from, state, submessage, packet), out, fx);
            }
        }
        self.settle_types(now, out, fx);
    }

    /// Takes a submessage of a reliable topic.
    fn on_topic(
        &mut self,
        now: Now,
        topic: BuiltinTopic,
        (from, state, submessage, packet): (Locator, &ReceiverState, &Submessage<'_>, &SharedBytes),
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let source = state.source_prefix;
        if self.unverified_mut(source).is_some() {
            self.meet(now, topic, (source, from), submessage, out, fx);
            self.speak_for_others(now, out);
            return;
        }
        if matches!(submessage, Submessage::AckNack(_) | Submessage::NackFrag(_)) {
            self.writer_mut(topic).on_submessage(now, source, submessage, out);
            self.is_still_there(now.mono, source);
            let refused = self.writer_mut(topic).take_refused();
            self.refuse_any(source, refused);
            return;
        }
        if let (BuiltinTopic::Messages, Submessage::Heartbeat(heartbeat)) = (topic, submessage)
            && let Some(participant) = self.participants.get_mut(&source)
        {
            participant.assertion_times.announced(now.mono, heartbeat.last_sn);
        }
        let mut collected = core::mem::take(&mut self.collected);
        feed(self.reader_mut(topic), now, state, submessage, packet, &mut collected, out);
        let refused = self.reader_mut(topic).take_refused();
        self.refuse_any(source, refused);
        let lost = core::mem::take(&mut collected.lost);
        self.process(now, topic, collected, fx);
        if let Submessage::Heartbeat(heartbeat) = submessage
            && lost
        {
            self.forget_lost(topic, state.source_prefix, heartbeat.first_sn, fx);
        }
        self.speak_for_others(now, out);
        self.settle_types(now, out, fx);
    }

    pub(crate) fn writer_mut(&mut self, topic: BuiltinTopic) -> &mut BuiltinWriter {
        &mut self.topics.of(topic).writer
    }

    pub(crate) fn reader_mut(&mut self, topic: BuiltinTopic) -> &mut Reader {
        &mut self.topics.of(topic).reader
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Now, out: &mut Outbox, fx: &mut Vec<DiscoveryEffect>) {
        let before = fx.len();
        self.spare_leases(now.mono);
        self.announce_if_due(now, out);
        self.introduce(now, out);
        self.send_answers(now, out);
        self.ask_again_at_new_places(now, out, fx);
        self.ask_who_is_said_to_leave(now.mono, out, fx);
        self.expire_leases(now.mono, fx);
        self.do_as_daemon(now, out);
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
        if fx.len() > before {
            self.forget_ways();
        }
    }

    /// When [`Self::on_timer`] has something to do at the earliest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        let introduction = self.introductions.as_ref().and_then(|it| it.next_deadline());
        let relay = self.relay.as_ref().and_then(|relay| relay.next_deadline());
        [self.next_timer(), introduction, relay].into_iter().flatten().min()
    }

    /// The earliest of the timers that were set for a time to come. What is queued, to be sent as soon as there was a pause since the
    /// last of its kind, is none: that may be long ago.
    pub(crate) fn next_timer(&self) -> Option<MonoTime> {
        let answer = self.answers.first().map(|(due, _)| *due);
        let trial = self.trials.first().map(|(due, _)| *due);
        let doubt = self.doubts.first().map(|(due, _)| *due);
        let types = self.service.next_deadline();
        let lookups = self.endpoints.types.lookups.next_deadline();
        let own = [self.announcer.next_deadline(), self.lease_wakeup, self.asserter.next_deadline(), answer];
        let others = [trial, doubt, types, lookups, self.topics.next_deadline()];
        own.into_iter().chain(others).flatten().min()
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
