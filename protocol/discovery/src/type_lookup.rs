//! The TypeLookup service of a participant: DDS-XTypes 1.3 §7.6.3.3.3. Questions of others are answered, answers to own ones
//! taken up, and pairs whose types are known now are judged again.
//!
//! Only participants that were verified take part, so that answers go where questions came from.

use alloc::{sync::Arc, vec::Vec};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Misbehaviour, MonoTime, Now};
use dunlin_wire::{ReceiverState, Submessage};
use dunlin_xtypes::lookup::message::{
    self, GetTypesResult, Reply, Request, Return, SampleIdentity, remote_exception,
};

use crate::{
    builtin::Collector, data::ParticipantData, discovery::Discovery, effect::DiscoveryEffect,
    local_type::TypeDiscovery, participant, types::Way,
};

/// So often types of a pair are found out in one go; what is left then is done at the next opportunity.
const MAX_TURNS: usize = 64;
/// From one look at all questions that wait to the next.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Discovery {
    /// Takes a submessage of the service.
    pub(crate) fn on_type_lookup(
        &mut self,
        now: Now,
        writer: EntityId,
        (state, submessage, packet): (&ReceiverState, &Submessage<'_>, &SharedBytes),
        out: &mut Outbox,
    ) {
        let Some(way) = Way::BOTH.into_iter().find(|way| way.writer() == writer) else { return };
        let known = self.participants.get(&state.source_prefix);
        let Some(participant) = known.filter(|known| known.unverified.is_none()) else { return };
        let peer = Arc::clone(&participant.data);
        if matches!(submessage, Submessage::AckNack(_) | Submessage::NackFrag(_)) {
            self.service.with_line(now, way, &peer, &self.config, out, |line, out| {
                line.on_submessage(now, submessage, out);
            });
            self.answer_waiting(now, &peer, out);
            return;
        }
        if peer.builtin_endpoints & way.bits().0 == 0 {
            return;
        }
        let collected = self.service.feed(now, way, &peer, (state, submessage, packet), out);
        self.take_messages(now, way, collected, out);
    }

    fn take_messages(&mut self, now: Now, way: Way, mut collected: Collector, out: &mut Outbox) {
        for sample in collected.samples.drain(..) {
            let Some(payload) = &sample.payload else { continue };
            match way {
                Way::Questions => self.on_question(now, sample.writer.prefix, payload, out),
                Way::Answers => self.on_answer(now.mono, sample.writer.prefix, payload),
            }
        }
        collected.lost = false;
        self.service.collected = collected;
    }

    /// Answers a question, if this participant is asked; later, if too many answers were not acknowledged yet.
    fn on_question(&mut self, now: Now, prefix: GuidPrefix, payload: &[u8], out: &mut Outbox) {
        let Some(peer) = self.participants.get(&prefix).map(|known| Arc::clone(&known.data)) else { return };
        // An answer costs more than the question: none is made that cannot be sent.
        if self.service.has_room_for_answer(prefix) && !self.service.waiting.has(prefix) {
            self.answer_question(now, &peer, payload, out);
            return;
        }
        let is_first = !self.service.waiting.has(prefix);
        if !self.service.waiting.keep(prefix, payload) {
            self.service.withheld = self.service.withheld.saturating_add(1);
            return;
        }
        self.service.again.get_or_insert(now.mono.plus(LOOK_AGAIN));
        if is_first {
            self.hurry_answers(now, &peer, out);
        }
    }

    /// Asks for the acknowledgements of answers, which make room for more of them.
    fn hurry_answers(&mut self, now: Now, peer: &ParticipantData, out: &mut Outbox) {
        self.service.with_line(now, Way::Answers, peer, &self.config, out, |line, out| line.hurry(now, out));
    }

    /// Answers what waited for acknowledgements, as far as there is room.
    fn answer_waiting(&mut self, now: Now, peer: &ParticipantData, out: &mut Outbox) {
        let prefix = peer.guid_prefix;
        let before = self.service.answered;
        while self.service.has_room_for_answer(prefix) {
            let Some(question) = self.service.waiting.next(prefix) else { break };
            self.answer_question(now, peer, &question, out);
        }
        if self.service.answered != before && self.service.waiting.has(prefix) {
            self.hurry_answers(now, peer, out);
        }
    }

    /// The same for everybody.
    fn answer_all_waiting(&mut self, now: Now, out: &mut Outbox) {
        for prefix in self.service.waiting.participants() {
            let known = participant::found(&self.participants, prefix).map(|known| Arc::clone(&known.data));
            known.into_iter().for_each(|peer| self.answer_waiting(now, &peer, out));
        }
        let some_wait = self.service.waiting.count() > 0;
        self.service.again = some_wait.then(|| now.mono.plus(LOOK_AGAIN));
    }

    fn answer_question(&mut self, now: Now, peer: &ParticipantData, payload: &[u8], out: &mut Outbox) {
        let Ok(request) = message::decode::<Request>(payload) else {
            self.refuse(peer.guid_prefix, Misbehaviour::UnreadableAnnouncement);
            return;
        };
        let own = Guid::new(self.config.guid_prefix, EntityId::PARTICIPANT).to_bytes();
        let Some(reply) = self.endpoints.types.answer(&request, &own) else { return };
        let Ok(payload) = message::encode(&reply) else { return };
        let service = &mut self.service;
        let sent = service
            .with_line(now, Way::Answers, peer, &self.config, out, |line, out| line.write(now, payload, out));
        service.answered = service.answered.saturating_add(u64::from(sent == Some(true)));
    }

    /// Takes an answer to a question that was asked; nothing else is looked at.
    fn on_answer(&mut self, now: MonoTime, prefix: GuidPrefix, payload: &[u8]) {
        let Ok(id) = message::decode::<SampleIdentity>(payload) else { return };
        let Some(key) = self.endpoints.types.lookups.asked_by(prefix, &id) else { return };
        let reply = message::decode::<Reply>(payload);
        let types = match &reply {
            Ok(Reply {
                remote_ex: remote_exception::OK,
                result: Return::GetTypes(GetTypesResult::Ok(out)),
                ..
            }) => Some(out),
            Ok(_) => None,
            Err(_) => {
                self.refuse(prefix, Misbehaviour::UnreadableAnnouncement);
                None
            }
        };
        self.endpoints.types.lookups.answered(&key, &id);
        let before = self.endpoints.types.lookups.refused;
        self.endpoints.types.on_answer(now, &key, types);
        if self.endpoints.types.lookups.refused > before {
            self.refuse(prefix, Misbehaviour::UnaskedType);
        }
    }

    /// Sends the questions that there are, and judges the pairs anew whose types are known now or will not be.
    pub(crate) fn settle_types(&mut self, now: Now, out: &mut Outbox, fx: &mut Vec<DiscoveryEffect>) {
        for _ in 0..MAX_TURNS {
            while let Some((prefix, request)) = self.endpoints.types.next_question(now.mono) {
                let peer =
                    participant::found(&self.participants, prefix).map(|known| Arc::clone(&known.data));
                let (Some(peer), Ok(payload)) = (peer, message::encode(&request)) else { continue };
                let service = &mut self.service;
                let sent = service.with_line(now, Way::Questions, &peer, &self.config, out, |line, out| {
                    line.write(now, payload, out)
                });
                service.asked = service.asked.saturating_add(u64::from(sent == Some(true)));
            }
            if !self.endpoints.judge_again(fx) {
                return;
            }
        }
    }

    /// What is due of the service.
    pub(crate) fn type_timers(&mut self, now: Now, out: &mut Outbox) {
        self.service.on_timer(now, out);
        if self.service.again.is_some_and(|again| again <= now.mono) {
            self.answer_all_waiting(now, out);
        }
        for way in Way::BOTH {
            let due = self.service.reader_mut(way).next_deadline();
            if due.is_some_and(|due| due <= now.mono) {
                let mut collected = core::mem::take(&mut self.service.collected);
                self.service.reader_mut(way).on_timer(now, &mut collected, out);
                self.take_messages(now, way, collected, out);
            }
        }
        self.endpoints.types.lookups.on_timer(now.mono);
    }

    /// The type of a writer or reader as far as it is known. If its participant has to be asked for it, it is, and a later
    /// call tells what came of it.
    pub fn discovered_type(
        &mut self,
        now: Now,
        endpoint: Guid,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) -> TypeDiscovery {
        let found = self.endpoints.discovered_type(endpoint);
        self.settle_types(now, out, fx);
        found
    }
}
