//! Participants that come, stay and go: RTPS 2.5 §8.5.3 (SPDP) and §8.5.4.1 (matching of built-in endpoints).

use alloc::{boxed::Box, collections::BTreeSet, sync::Arc, vec::Vec};
use core::{cell::Cell, mem::replace};

use dunlin_buf::Outbox;
use dunlin_core::{Behaviour, Duration, EntityId, Guid, GuidPrefix, Locator, Misbehaviour, MonoTime, Now};
use dunlin_wire::{Data, Payload, ReceiverState, size};

use crate::{
    builtin::{Peer, match_writer},
    codec::{DecodeError, decode_participant},
    config::{DiscoveryConfig, Locators},
    data::{ParticipantData, builtin},
    discovery::Discovery,
    effect::{DiscoveryEffect, DiscoveryProblem, LostReason},
    goodbye::{Latest, is_alive},
    participant::{self, RemoteParticipant},
    reach::{Reach, usable},
    server::is_introduction,
    table::BuiltinTopic,
};

/// A domain of so many participants is large: answers are spread, and the announcements at start are cut short.
pub(crate) const LARGE_DOMAIN: usize = 32;

/// A participant that has announced itself for so long without an answer does not receive what is sent to it.
const ONE_SIDED_AFTER: Duration = Duration::from_secs(5);

/// A timer that comes so late was held up by something that held up everything else here too.
const STOOD_STILL: Duration = Duration::from_secs(1);

/// Tells of what has happened `count` times, the less often the more it has.
fn report_at_powers_of_two(count: u64, problem: DiscoveryProblem, fx: &mut Vec<DiscoveryEffect>) {
    if count.is_power_of_two() {
        fx.push(DiscoveryEffect::DiscoveryProblem(problem));
    }
}

impl Discovery {
    /// Sends the announcement if it is due.
    pub(crate) fn announce_if_due(&mut self, now: Now, out: &mut Outbox) {
        if !self.announcer.take_due(now.mono, &self.config, self.is_well_known()) {
            return;
        }
        self.stats.announcements_sent = self.stats.announcements_sent.saturating_add(1);
        self.newcomers = 0;
        let (groups, peers) = self.destinations(now.mono);
        self.announcer.send_to_groups(now, self.config.guid_prefix, &groups, out);
        self.announcer.send_directed(now, self.config.guid_prefix, None, &peers, out);
    }

    /// Whether many know this participant, and nobody is known who may not: who is verified has answered.
    fn is_well_known(&self) -> bool {
        self.participants.len() >= LARGE_DOMAIN && self.unverified.len() == 0
    }

    /// Groups and single locators to announce to. Participants of one process may share locators.
    pub(crate) fn destinations(&self, now: MonoTime) -> (Vec<Locator>, Vec<Locator>) {
        let mut groups: BTreeSet<Locator> = self.config.spdp_destinations.iter().copied().collect();
        let mut peers = BTreeSet::new();
        for peer in &self.config.initial_peers {
            if peer.is_multicast() {
                groups.insert(*peer)
            } else {
                peers.insert(*peer)
            };
        }
        for participant in self.participants.values().filter(|participant| participant.needs_unicast(now)) {
            peers.extend(&participant.data.locators.metatraffic_unicast);
        }
        (groups.into_iter().collect(), peers.into_iter().collect())
    }

    pub(crate) fn all_destinations(&self, now: MonoTime) -> Vec<Locator> {
        let (mut groups, peers) = self.destinations(now);
        groups.extend_from_slice(&peers);
        groups
    }

    /// Takes a sample of the SPDP writer of another participant.
    pub(crate) fn on_announcement(
        &mut self,
        now: Now,
        from: Locator,
        state: &ReceiverState,
        data: &Data<'_>,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        self.stats.announcements_received = self.stats.announcements_received.saturating_add(1);
        if !is_alive(data) {
            self.on_departure(now.mono, state, data, fx);
            return;
        }
        let overtaken = self.is_overtaken(now.mono, state, data);
        let Payload::Data(payload) = data.payload else {
            self.refuse(state.source_prefix, Misbehaviour::UnreadableAnnouncement);
            return;
        };
        let prefix = state.source_prefix;
        let directed = data.reader_id != EntityId::UNKNOWN;
        let known = self.participants.get(&prefix);
        let repeated = known.is_some_and(|known| *known.payload == *payload);
        let introduced = is_introduction(data);
        let first_direct = known.is_some_and(|known| known.introduced && !introduced);
        // Where an introduction comes from says nothing about the one that is introduced.
        let from = if introduced { Locator::INVALID } else { from };
        if overtaken && !repeated {
            self.refuse(prefix, Misbehaviour::Overtaken);
            return;
        }
        // What is known already is a sign of life however old it looks: a clock may have been set back.
        if !repeated || first_direct {
            let left_out = Cell::new(0);
            let read = decode_participant(payload, state.source_vendor, &self.config.quotas, &left_out);
            self.count_left_out(&left_out);
            match read {
                Ok(announced) => {
                    let latest = Latest::new(now.mono, data.writer_sn, state.timestamp);
                    self.admit(now, from, prefix, announced, payload, latest, out, fx);
                }
                Err(DecodeError::OverQuota) => self.count_refused_participant(prefix, fx),
                Err(error) => self.count_error(prefix, error, fx),
            }
        }
        let mut groups_are_news = false;
        if let Some(participant) = self.participants.get_mut(&prefix) {
            groups_are_news = note_arrival(participant, now.mono, directed, &self.config);
            let age = now.mono.since(participant.since);
            if let Some(unverified) = &mut participant.unverified {
                if age >= ONE_SIDED_AFTER && !replace(&mut unverified.complained_of, true) {
                    let data = Arc::clone(&participant.data);
                    fx.push(DiscoveryEffect::DiscoveryProblem(DiscoveryProblem::OneSided(data)));
                }
                unverified.hear(size::HEADER.saturating_add(size::data(0, payload.len())));
                self.plan_answer(now.mono, prefix);
                self.send_answers(now, out);
            }
        }
        let trial = self.participants.get(&prefix).and_then(|known| known.whereabouts.trial.as_ref());
        if trial.is_some_and(|trial| trial.claim.is_none()) {
            self.hear_of_places(now, prefix, &from, payload.len(), out, fx);
        }
        if groups_are_news {
            self.reconsider_groups(prefix, fx);
        }
    }

    /// Uses the groups of a participant no more, or again. What it announces has not changed, so nobody is told of an update.
    fn reconsider_groups(&mut self, prefix: GuidPrefix, fx: &mut Vec<DiscoveryEffect>) {
        if let Some(data) = self.relocate(prefix) {
            self.move_builtin(&data);
            self.move_endpoints(&data, fx);
        }
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        if participant.reach.groups_are_silent() && !replace(&mut participant.told_of_groups, true) {
            fx.push(DiscoveryEffect::DiscoveryProblem(DiscoveryProblem::GroupsSilent(Box::new(
                participant.standing(),
            ))));
        }
    }

    /// Whether an announcement was sent before the last one of its participant or before its goodbye.
    pub(crate) fn is_overtaken(&mut self, now: MonoTime, state: &ReceiverState, data: &Data<'_>) -> bool {
        let (sn, timestamp) = (data.writer_sn, state.timestamp);
        match self.participants.get_mut(&state.source_prefix) {
            Some(participant) => !participant.latest.take_up(now, sn, timestamp),
            None => self.goodbyes.precede(now, state.source_prefix, sn, timestamp),
        }
    }

    fn count_refused_participant(&mut self, prefix: GuidPrefix, fx: &mut Vec<DiscoveryEffect>) {
        self.refuse(prefix, Misbehaviour::OverQuota);
        self.stats.participants_refused = self.stats.participants_refused.saturating_add(1);
        let count = self.stats.participants_refused;
        report_at_powers_of_two(count, DiscoveryProblem::ParticipantsRefused { count }, fx);
    }

    pub(crate) fn count_error(
        &mut self,
        prefix: GuidPrefix,
        error: DecodeError,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        self.refuse(prefix, error.misbehaviour());
        if matches!(error, DecodeError::OverQuota) {
            self.stats.endpoints_refused = self.stats.endpoints_refused.saturating_add(1);
            let count = self.stats.endpoints_refused;
            report_at_powers_of_two(count, DiscoveryProblem::EndpointsRefused { count }, fx);
        }
    }

    /// Counts the entries of lists that a decoder had no room for.
    pub(crate) fn count_left_out(&mut self, entries: &Cell<u64>) {
        self.stats.entries_left_out = self.stats.entries_left_out.saturating_add(entries.get());
    }

    /// Takes up a new or changed participant, if it may be.
    #[expect(clippy::too_many_arguments, reason = "an announcement means nothing without its surroundings")]
    pub(crate) fn admit(
        &mut self,
        now: Now,
        from: Locator,
        source: GuidPrefix,
        mut announced: ParticipantData,
        payload: &[u8],
        latest: Latest,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let prefix = announced.guid_prefix;
        if prefix != source {
            self.refuse(source, Misbehaviour::ForeignEntity);
            return;
        }
        let other_domain = announced.domain_id.is_some_and(|id| id != self.config.domain_id);
        if other_domain || announced.domain_tag != self.config.domain_tag {
            self.refuse(source, Misbehaviour::OtherDomain);
            let count = self.stats.other_domain;
            report_at_powers_of_two(count, DiscoveryProblem::OtherDomain { count }, fx);
            return;
        }
        if self.ignored.has_participant(prefix) {
            return;
        }
        self.place_of_daemon(&mut announced);
        if self.is_past_the_daemon(&announced) {
            self.refuse(source, Misbehaviour::Misplaced);
            return;
        }
        if !self.make_room(from, prefix, payload.len(), fx) {
            self.count_refused_participant(source, fx);
            return;
        }
        let before = self.participants.get(&prefix).map(|known| known.reach);
        let raw = core::mem::take(&mut announced.locators);
        let raw = self.proven_locators(now.mono, prefix, from, raw);
        let reach = Reach::learn(before, &raw, from, &self.config.locators);
        let (locators, left_out) = usable(raw.clone(), &reach, &self.config);
        announced.locators = locators;
        let left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
        self.stats.foreign_locators = self.stats.foreign_locators.saturating_add(left_out);
        if before.is_some() {
            let changed = Changed { announced, raw, reach, payload, from };
            self.update_participant(now, changed, out, fx);
            self.tell_sources(prefix, fx);
        } else {
            let participant = RemoteParticipant::new(announced, raw, reach, payload.into(), latest, now.mono);
            let mut participant = Box::new(participant);
            participant.whereabouts.named_from(&from);
            participant.introduced = from == Locator::INVALID;
            self.unverified.add(now.mono, prefix, from);
            self.newcomers = self.newcomers.saturating_add(1);
            self.add_participant(participant, fx);
        }
    }

    /// Whether there is room for the announcement of a participant, if need be at the cost of an unverified participant.
    fn make_room(
        &mut self,
        from: Locator,
        prefix: GuidPrefix,
        octets: usize,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> bool {
        let quotas = self.config.quotas;
        if octets > quotas.max_octets_per_participant {
            return false;
        }
        if self.participants.contains_key(&prefix) {
            return true;
        }
        let full = self.participants.len() >= quotas.max_participants
            || self.account.octets.saturating_add(octets) > quotas.max_octets;
        match self.unverified.to_evict(from, &quotas, full) {
            Some(unverified) => {
                self.stats.participants_evicted = self.stats.participants_evicted.saturating_add(1);
                self.remove_participant(unverified, LostReason::Evicted, fx);
                true
            }
            None => !full,
        }
    }

    fn add_participant(&mut self, participant: Box<RemoteParticipant>, fx: &mut Vec<DiscoveryEffect>) {
        let data = Arc::clone(&participant.data);
        self.wake_for_lease(participant.expires);
        self.account = self.account.with(participant.account());
        self.participants.insert(data.guid_prefix, participant);
        fx.push(DiscoveryEffect::ParticipantDiscovered(data));
    }

    fn update_participant(
        &mut self,
        now: Now,
        changed: Changed<'_>,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let prefix = changed.announced.guid_prefix;
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        if !participant.replace_payload(changed.payload, &mut self.account, &self.config.quotas) {
            self.count_refused_participant(prefix, fx);
            return;
        }
        participant.announced = changed.raw;
        participant.whereabouts.named_from(&changed.from);
        participant.introduced &= changed.from == Locator::INVALID;
        participant.reach = changed.reach;
        let before = participant.set_data(changed.announced);
        let data = Arc::clone(&participant.data);
        participant.renew(now.mono);
        let (expires, participant_is_peer) = (participant.expires, participant.unverified.is_none());
        self.wake_for_lease(expires);
        if *before == *data {
            return;
        }
        fx.push(DiscoveryEffect::ParticipantUpdated(Arc::clone(&data)));
        if participant_is_peer && before.builtin_endpoints != data.builtin_endpoints {
            self.unmatch_builtin(prefix);
            self.match_builtin(now, &data, out);
        }
        if before.locators != data.locators {
            self.move_builtin(&data);
            if let Some(introductions) = &mut self.introductions {
                introductions.moved(now.mono, prefix);
            }
        }
        if before.locators != data.locators || before.direct != data.direct {
            self.move_endpoints(&data, fx);
        }
    }

    /// Applies changed own locators to what is known of a participant.
    pub(crate) fn refresh_locators(&mut self, prefix: GuidPrefix, fx: &mut Vec<DiscoveryEffect>) {
        if let Some(data) = self.relocate(prefix) {
            fx.push(DiscoveryEffect::ParticipantUpdated(Arc::clone(&data)));
            self.move_builtin(&data);
            self.move_endpoints(&data, fx);
        }
        self.tell_sources(prefix, fx);
    }

    /// Where a participant announced to receive data if the path there is opened first.
    #[must_use]
    pub fn place_to_open(&self, prefix: GuidPrefix) -> Option<Locator> {
        let announced = &self.participants.get(&prefix)?.announced.default_unicast;
        announced.iter().find(|locator| self.config.opened_kinds.contains(&locator.kind)).copied()
    }

    /// Sends what goes to the endpoints of a participant to one place alone, if it announced that; `None` goes back to the
    /// others.
    pub fn choose_path(&mut self, prefix: GuidPrefix, place: Option<Locator>, fx: &mut Vec<DiscoveryEffect>) {
        let Some(participant) = self.participants.get_mut(&prefix) else { return };
        participant.reach.choose(place);
        // What it announces has not changed, so nobody is told of an update.
        if let Some(data) = self.relocate(prefix) {
            self.move_endpoints(&data, fx);
        }
    }

    /// Applies changed rules to the locators of a participant; what is known of it now, if that is something else.
    fn relocate(&mut self, prefix: GuidPrefix) -> Option<Arc<ParticipantData>> {
        let participant = participant::found_mut(&mut self.participants, prefix)?;
        let announced = participant.announced.clone();
        let (locators, _) = usable(announced, &participant.reach, &self.config);
        if participant.data.locators == locators {
            return None;
        }
        participant.set_data(ParticipantData { locators, ..(*participant.data).clone() });
        Some(Arc::clone(&participant.data))
    }

    pub(crate) fn match_builtin(&mut self, now: Now, data: &ParticipantData, out: &mut Outbox) {
        if data.builtin_endpoints & builtin::ANSWERS_ABOUT_TYPES == builtin::ANSWERS_ABOUT_TYPES {
            self.endpoints.types.lookups.add_peer(data.guid_prefix);
        }
        let peer = Peer::of(data);
        for topic in BuiltinTopic::ALL {
            let row = topic.row();
            if data.builtin_endpoints & row.writer_bit != 0 {
                match_writer(self.reader_mut(topic), now, &peer, topic.writer_id(), out);
            }
            if data.builtin_endpoints & row.reader_bit != 0 {
                let best_effort = builtin::BEST_EFFORT_PARTICIPANT_MESSAGE_READER;
                let reliable =
                    !matches!(topic, BuiltinTopic::Messages) || data.builtin_endpoint_qos & best_effort == 0;
                self.writer_mut(topic).match_reader(now, &peer, topic.reader_id(), reliable, out);
            }
        }
    }

    fn unmatch_builtin(&mut self, prefix: GuidPrefix) {
        self.service.remove_peer(prefix);
        self.endpoints.types.remove_peer(prefix);
        for topic in BuiltinTopic::ALL {
            self.reader_mut(topic).unmatch_writer(Guid::new(prefix, topic.writer_id()));
            self.writer_mut(topic).unmatch_reader(Guid::new(prefix, topic.reader_id()));
        }
    }

    fn move_builtin(&mut self, data: &ParticipantData) {
        self.service.moved(data);
        let peer = Peer::of(data);
        for topic in BuiltinTopic::ALL {
            let reader = Guid::new(data.guid_prefix, topic.reader_id());
            self.writer_mut(topic).update_reader(reader, &peer);
            let writer = Guid::new(data.guid_prefix, topic.writer_id());
            let (unicast, multicast) = (Arc::clone(&peer.unicast), Arc::clone(&peer.multicast));
            self.reader_mut(topic).update_writer(writer, unicast, multicast);
        }
    }

    /// Forgets a participant with all its endpoints.
    pub(crate) fn remove_participant(
        &mut self,
        prefix: GuidPrefix,
        reason: LostReason,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(participant) = self.participants.remove(&prefix) else { return };
        self.account = self.account.without(participant.account());
        if let Some(introductions) = &mut self.introductions {
            introductions.forget(prefix);
        }
        if let Some(relay) = &mut self.relay {
            relay.forget(&participant, reason);
        }
        match participant.unverified {
            Some(unverified) => {
                self.unverified.remove(prefix);
                if let Some(due) = unverified.answer_due {
                    self.answers.remove(&(due, prefix));
                }
            }
            None => self.unmatch_builtin(prefix),
        }
        let before = fx.len();
        self.endpoints.remove_participant(prefix, fx);
        self.ignored.forget_writers_of(prefix);
        if reason == LostReason::LeaseExpired {
            fx.iter_mut().skip(before).for_each(DiscoveryEffect::note_expiry);
        }
        fx.push(DiscoveryEffect::ParticipantLost { prefix, reason });
    }

    /// Ignores a participant for good (`ignore_participant`, DDS 1.4 §2.2.2.2.1.14).
    pub fn ignore_participant(&mut self, prefix: GuidPrefix, fx: &mut Vec<DiscoveryEffect>) {
        self.ignored.participant(prefix);
        self.remove_participant(prefix, LostReason::Ignored, fx);
    }

    /// Removes the participants whose lease has passed.
    pub(crate) fn expire_leases(&mut self, now: MonoTime, fx: &mut Vec<DiscoveryEffect>) {
        if self.lease_wakeup.is_none_or(|wakeup| wakeup > now) {
            return;
        }
        let expired = self.participants.iter().filter(|(_, participant)| participant.expires <= now);
        let expired: Vec<GuidPrefix> = expired.map(|(prefix, _)| *prefix).collect();
        for prefix in expired {
            self.remember_lost(now, prefix);
            self.stats.leases_expired = self.stats.leases_expired.saturating_add(1);
            self.remove_participant(prefix, LostReason::LeaseExpired, fx);
        }
        self.keep_for_lost();
        let next = self.participants.values().map(|participant| participant.expires).min();
        self.lease_wakeup = next.filter(|next| *next != MonoTime::MAX);
    }

    /// Remembers how far a peer was that may only not be heard.
    pub(crate) fn remember_lost(&mut self, now: MonoTime, prefix: GuidPrefix) {
        if self.is_verified(prefix) {
            let acknowledged = BuiltinTopic::ALL
                .map(|topic| self.writer_mut(topic).acked_by(Guid::new(prefix, topic.reader_id())));
            self.lost.remember(now, prefix, acknowledged);
        }
    }

    /// Tells the built-in writers how far those are that were lost.
    pub(crate) fn keep_for_lost(&mut self) {
        for topic in BuiltinTopic::ALL {
            let acknowledged = self.lost.acknowledged_by_all(topic.index());
            self.writer_mut(topic).keep_for_lost(acknowledged);
        }
    }

    /// This participant stood still itself (SIGSTOP, a virtual machine that was suspended) if a timer comes late by much: it has
    /// heard nothing meanwhile, and does not take that for silence of the others.
    pub(crate) fn spare_leases(&mut self, now: MonoTime) {
        let late = self.next_timer().map_or(Duration::ZERO, |due| now.since(due));
        if late < STOOD_STILL {
            return;
        }
        self.participants.values_mut().for_each(|participant| participant.spare(now, late));
        self.lease_wakeup = Some(now);
    }

    fn wake_for_lease(&mut self, expires: MonoTime) {
        if expires != MonoTime::MAX {
            self.lease_wakeup = Some(self.lease_wakeup.map_or(expires, |wakeup| wakeup.min(expires)));
        }
    }
}

/// A new announcement of a known participant.
struct Changed<'a> {
    announced: ParticipantData,
    raw: Locators,
    reach: Reach,
    payload: &'a [u8],
    from: Locator,
}

/// A peer that still announces by unicast some periods after it was discovered does not hear our groups, or has us as
/// an initial peer: it is answered in kind for a lease. A peer heard by multicast is taken to hear ours; one that has not
/// been heard so for its lease, and by unicast has, is taken not to. True if the latter has changed.
fn note_arrival(
    participant: &mut RemoteParticipant,
    now: MonoTime,
    directed: bool,
    config: &DiscoveryConfig,
) -> bool {
    participant.renew(now);
    if !directed {
        participant.heard_by_multicast = Some(now);
    } else if now > participant.since.plus(config.announcement_period.times(2)) {
        participant.directed_until = Some(now.plus(config.lease_duration));
    }
    // Others direct what they send to a group to one reader, or what they send to one peer to none.
    let shows = participant.unverified.is_none() && participant.data.vendor.does(Behaviour::SpeaksDunlin);
    let lease = participant.data.lease_duration;
    let silent = participant.directed_until.is_some()
        && participant.heard_by_multicast.is_none_or(|at| now > at.plus(lease));
    let (own, other) = (&config.locators, &participant.announced);
    let both_listen = !own.metatraffic_multicast.is_empty() && !other.metatraffic_multicast.is_empty();
    participant.reach.set_groups_silent(shows && silent && both_listen)
}
