//! A verified participant that names new places, and what comes in its name from elsewhere: RTPS 2.5 §8.5.3.2. Neither is believed
//! before it is confirmed.
//!
//! A new place gets a question with a number that only who receives there can repeat: an ECHO_REQUEST, or nothing for a participant that
//! does not know it, which shows a place by speaking from there. Who speaks from elsewhere is believed when he knows what both
//! SEDP writers have, as a stranger is; the participant is asked where it was.

use alloc::{boxed::Box, vec::Vec};
use core::cell::Cell;

use dunlin_buf::Outbox;
use dunlin_core::{Behaviour, EntityId, Guid, GuidPrefix, Locator, Misbehaviour, MonoTime, Now};
use dunlin_rtps::ChangeKind;
use dunlin_wire::{
    AckNack, Data, Echo, EchoRequest, MessageBuilder, Payload, ReceiverState, Submessage, join_directed,
    size, status_info,
};

use crate::{
    codec::decode_participant,
    config::{Locators, SourcePorts},
    discovery::Discovery,
    effect::DiscoveryEffect,
    goodbye::Latest,
    participant,
    places::{Asked, Trial, is_judged},
    table::{self, BuiltinTopic, Handler},
};

/// Octets of a message with a question or an answer.
const QUESTION: usize =
    size::HEADER.saturating_add(size::INFO_DST).saturating_add(size::SUBMESSAGE_HEADER).saturating_add(12);

impl Discovery {
    /// Whether a participant is believed to speak from there; it counts as heard from there then.
    pub(crate) fn may_speak(&mut self, now: MonoTime, prefix: GuidPrefix, from: &Locator) -> bool {
        if !self.config.quotas.verify_places {
            return true;
        }
        let Some(participant) = self.participants.get_mut(&prefix) else { return true };
        let may = participant.unverified.is_some() || participant.whereabouts.sources().admit(from);
        if may && is_judged(from) {
            participant.heard = now;
        }
        may
    }

    /// Whether who answers from there can have sent the announcement that is known of a stranger: anybody may have announced
    /// something else in its name since it did.
    pub(crate) fn may_have_announced(&self, prefix: GuidPrefix, from: &Locator) -> bool {
        if !self.config.quotas.verify_places {
            return true;
        }
        let Some(participant) = self.participants.get(&prefix) else { return false };
        let (reach, own) = (&participant.reach, &self.config.locators);
        participant.whereabouts.is_named_by(from, &participant.announced, reach.is_same_host(), own)
    }

    /// Takes what came in the name of a participant from where it is not believed to speak.
    pub(crate) fn on_misplaced(
        &mut self,
        now: Now,
        from: Locator,
        state: &ReceiverState,
        submessage: &Submessage<'_>,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let prefix = state.source_prefix;
        self.refuse(prefix, Misbehaviour::Misplaced);
        match submessage {
            Submessage::Data(data) if data.writer_id == EntityId::SPDP_WRITER => {
                self.consider_move(now, from, state, data, out, fx);
            }
            Submessage::AckNack(acknack) if self.knows_numbers(prefix, &from, acknack) => {
                if let Some(participant) = self.participants.get_mut(&prefix) {
                    participant.whereabouts.speaks_from(&from, &participant.data.source_ports);
                }
                self.tell_sources(prefix, fx);
                return;
            }
            _ => {}
        }
        self.ask_where_it_was(now.mono, prefix, out);
    }

    /// Data of user endpoints came in the name of a participant from where it is not believed to speak.
    pub fn on_misplaced_traffic(&mut self, now: MonoTime, prefix: GuidPrefix, out: &mut Outbox) {
        if self.announcer.is_running() {
            self.ask_where_it_was(now, prefix, out);
        }
    }

    /// Asks a participant, where it is known to be, what it has of both SEDP writers: it answers from where it speaks.
    fn ask_where_it_was(&mut self, now: MonoTime, prefix: GuidPrefix, out: &mut Outbox) {
        let Some(participant) = self.participants.get_mut(&prefix) else { return };
        if participant.unverified.is_some() || !participant.whereabouts.may_ask(now) {
            return;
        }
        self.ask_at_known_places(prefix, out);
    }

    pub(crate) fn ask_at_known_places(&mut self, prefix: GuidPrefix, out: &mut Outbox) {
        let Some(participant) = participant::found(&self.participants, prefix) else { return };
        let places = participant.data.locators.metatraffic_unicast.clone();
        if places.is_empty() {
            return;
        }
        let first = out.datagram_count();
        for topic in [BuiltinTopic::Publications, BuiltinTopic::Subscriptions] {
            let reader = Guid::new(prefix, topic.reader_id());
            self.writer_mut(topic).heartbeat_to_unmatched(reader, &places, out);
        }
        join_directed(out, first, self.config.max_message_size);
    }

    /// Whether somebody has shown to know what both SEDP writers have told the participant.
    fn knows_numbers(&mut self, prefix: GuidPrefix, from: &Locator, acknack: &AckNack) -> bool {
        let row = table::of_writer(acknack.writer_id);
        let Some(Handler::Topic(topic)) = row.map(|row| row.handler) else { return false };
        let writer = self.writer_mut(topic);
        let acknowledged = writer.acked_by(Guid::new(prefix, topic.reader_id()));
        let fits = writer.has_told(acknack.reader_sn_state.base(), acknowledged);
        let Some(participant) = self.participants.get_mut(&prefix) else { return false };
        participant.whereabouts.suspect(from, topic.index(), fits)
    }

    /// An announcement in the name of a participant from elsewhere: it may have moved.
    pub(crate) fn consider_move(
        &mut self,
        now: Now,
        from: Locator,
        state: &ReceiverState,
        data: &Data<'_>,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let status = data.inline_qos.as_ref().map(status_info).unwrap_or_default();
        let Payload::Data(payload) = data.payload else { return };
        let prefix = state.source_prefix;
        let Some(participant) = self.participants.get(&prefix) else { return };
        if ChangeKind::from_status(status) != ChangeKind::Alive || *participant.payload == *payload {
            return;
        }
        let trial = participant.whereabouts.trial.as_deref();
        let same =
            trial.is_some_and(|trial| trial.claim.as_ref().is_some_and(|(known, _)| **known == *payload));
        if !same && trial.is_none_or(|trial| trial.is_stale(now.mono)) {
            let left_out = Cell::new(0);
            let read = decode_participant(payload, state.source_vendor, &self.config.quotas, &left_out);
            let Ok(announced) = read else { return };
            if announced.guid_prefix != prefix {
                return;
            }
            let latest = Latest::new(now.mono, data.writer_sn, state.timestamp);
            let claim = Some((payload.into(), latest));
            self.begin_trial(now.mono, prefix, from, &announced.locators, claim);
        } else if !same {
            return;
        }
        self.hear_of_places(now, prefix, &from, payload.len(), out, fx);
    }

    /// Begins to ask a participant at new places.
    fn begin_trial(
        &mut self,
        now: MonoTime,
        prefix: GuidPrefix,
        from: Locator,
        named: &Locators,
        claim: Option<(Box<[u8]>, Latest)>,
    ) {
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        // It may have gone back to where it once was: what it has shown there is no news.
        let is_claim = claim.is_some();
        let fresh = named
            .metatraffic_unicast
            .iter()
            .filter(|place| is_claim || !participant.whereabouts.is_proven(place));
        let rng = &mut self.rng;
        let asked: Vec<Asked> = fresh
            .map(|place| Asked { place: *place, nonce: rng.next_u64() as i32, answered: false })
            .collect();
        participant.whereabouts.trial =
            (!asked.is_empty()).then(|| Box::new(Trial::new(now, from, claim, asked)));
    }

    /// What a participant that is verified announces of its places, as far as they are proven: the rest is asked for.
    pub(crate) fn proven_locators(
        &mut self,
        now: MonoTime,
        prefix: GuidPrefix,
        from: Locator,
        mut named: Locators,
    ) -> Locators {
        let Some(participant) = self.participants.get_mut(&prefix) else { return named };
        if participant.unverified.is_some() || !self.config.quotas.verify_places {
            return named;
        }
        participant.whereabouts.says(&named);
        self.begin_trial(now, prefix, from, &named, None);
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return named };
        let places = &mut participant.whereabouts;
        let is_silent = named.metatraffic_unicast.is_empty();
        named.metatraffic_unicast.retain(|place| places.is_proven(place));
        if named.metatraffic_unicast.is_empty() && !is_silent {
            // The old place is kept until one of the new ones is proven.
            return participant.announced.clone();
        }
        places.retain_proven(&named);
        named
    }

    /// Places that a participant has named were named again, with so many octets: they are asked if they are still to be proven.
    pub(crate) fn hear_of_places(
        &mut self,
        now: Now,
        prefix: GuidPrefix,
        from: &Locator,
        octets: usize,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        let can_answer = participant.data.vendor.does(Behaviour::SpeaksDunlin);
        let Some(trial) = &mut participant.whereabouts.trial else { return };
        trial.hear(now.mono, octets);
        if !can_answer {
            trial.came_from(from);
        }
        match participant.whereabouts.when_to_ask(now.mono) {
            Some(at) if at > now.mono => _ = self.trials.insert((at, prefix)),
            Some(_) => self.ask_at_new_places(now, prefix, out),
            None => {}
        }
        self.end_trial(now, prefix, out, fx);
    }

    /// Asks at new places. Who has forgotten this participant meanwhile would not answer, so the announcement comes with some of the
    /// questions.
    fn ask_at_new_places(&mut self, now: Now, prefix: GuidPrefix, out: &mut Outbox) {
        let announcement = self.announcer.data_len();
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        let can_answer = participant.data.vendor.does(Behaviour::SpeaksDunlin);
        participant.whereabouts.note_asked(now.mono);
        let Some(trial) = &mut participant.whereabouts.trial else { return };
        let introduces = trial.introduces();
        let octets = if introduces { QUESTION.saturating_add(announcement) } else { QUESTION };
        let (asked, is_claim) = (trial.ask(now.mono, octets), trial.claim.is_some());
        if let Some(next) = trial.next {
            self.trials.insert((next, prefix));
        }
        if is_claim {
            self.ask_at_known_places(prefix, out);
        }
        for Asked { place, nonce, .. } in asked.into_iter().filter(|_| can_answer) {
            let first = out.datagram_count();
            if introduces {
                self.announcer.send_directed(now, self.config.guid_prefix, Some(prefix), &[place], out);
            }
            let mut message = MessageBuilder::new(out, self.config.guid_prefix);
            message.info_dst(prefix);
            message.echo_request(&EchoRequest {
                reader_id: EntityId::SPDP_READER,
                writer_id: EntityId::SPDP_WRITER,
                count: nonce,
            });
            message.finish(&[place]);
            join_directed(out, first, self.config.max_message_size);
        }
    }

    /// Asks again at new places, as far as it is time.
    pub(crate) fn ask_again_at_new_places(
        &mut self,
        now: Now,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        while let Some((due, prefix)) = self.trials.first().copied().filter(|(due, _)| *due <= now.mono) {
            self.trials.remove(&(due, prefix));
            let trial = self.participants.get(&prefix).and_then(|known| known.whereabouts.trial.as_deref());
            if trial.is_some_and(|trial| trial.next == Some(due)) {
                self.ask_at_new_places(now, prefix, out);
                self.end_trial(now, prefix, out, fx);
            }
        }
    }

    /// Answers who asks whether this participant receives where it says; as many octets as the question has, at a place of
    /// who asks.
    pub(crate) fn on_place_question(
        &mut self,
        from: &Locator,
        prefix: GuidPrefix,
        question: &EchoRequest,
        out: &mut Outbox,
    ) {
        let Some(participant) = self.participants.get(&prefix) else { return };
        let known = &participant.data.locators.metatraffic_unicast;
        let trial =
            participant.whereabouts.trial.iter().flat_map(|trial| &trial.asked).map(|asked| &asked.place);
        let here = known.iter().chain(trial).find(|place| place.ip() == from.ip());
        let Some(place) = here.or(known.first()).copied() else { return };
        if let Some(unverified) = self.unverified_mut(prefix) {
            unverified.hear(QUESTION);
            if unverified.spend(QUESTION, 1) == 0 {
                return;
            }
        }
        let mut message = MessageBuilder::new(out, self.config.guid_prefix);
        message.info_dst(prefix);
        let EchoRequest { reader_id, writer_id, count } = *question;
        message.echo(&Echo { reader_id, writer_id, count, room: 0 });
        message.finish(&[place]);
    }

    /// Takes the answer of who receives at a new place.
    pub(crate) fn on_place_answer(
        &mut self,
        now: Now,
        prefix: GuidPrefix,
        answer: &Echo,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(participant) = self.participants.get_mut(&prefix) else { return };
        let Some(trial) = participant.whereabouts.trial.as_deref_mut() else { return };
        if trial.answer(answer.count) {
            // It may have been away for nearly its whole lease: that does not end before its claim is decided.
            participant.expires = participant.expires.max(trial.end());
            self.end_trial(now, prefix, out, fx);
        }
    }

    /// Takes up the new places of a participant if enough is proven.
    fn end_trial(&mut self, now: Now, prefix: GuidPrefix, out: &mut Outbox, fx: &mut Vec<DiscoveryEffect>) {
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        let heard = participant.heard;
        let Some(trial) = participant.whereabouts.trial.take_if(|trial| trial.is_won(heard)) else {
            return;
        };
        let places = &mut participant.whereabouts;
        trial.asked.iter().filter(|asked| asked.answered).for_each(|asked| places.receives_at(&asked.place));
        if let Some((_, latest)) = &trial.claim {
            places.moved();
            places.speaks_from(&trial.from, &participant.data.source_ports);
            participant.latest = *latest;
        }
        let latest = participant.latest;
        let payload = trial.claim.map_or_else(|| participant.payload.clone(), |(payload, _)| payload);
        let (vendor, left_out) = (participant.data.vendor, Cell::new(0));
        if let Ok(announced) = decode_participant(&payload, vendor, &self.config.quotas, &left_out) {
            self.admit(now, trial.from, prefix, announced, &payload, latest, out, fx);
        }
    }

    /// Tells from where a participant is believed to speak, if that has changed.
    pub(crate) fn tell_sources(&mut self, prefix: GuidPrefix, fx: &mut Vec<DiscoveryEffect>) {
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        if participant.unverified.is_some() || !self.config.quotas.verify_places {
            return;
        }
        let same_host = participant.reach.is_same_host();
        let data = &participant.data;
        // Where who is behind a daemon sends from itself, past that: it is said in the same announcements as where it receives.
        // Its ports are not those of the daemon, which speaks for it too.
        let ports = if data.behind.is_some() { SourcePorts::default() } else { data.source_ports };
        let said = (&*data.direct, ports);
        if let Some(sources) = participant.whereabouts.survey(same_host, &self.config.locators, said) {
            fx.push(DiscoveryEffect::SourcesChanged { prefix, sources });
        }
    }
}
