//! Participants that say goodbye, and what says so in their names: RTPS 2.5 §8.5.3.2. Anybody can write the name and the address of a peer
//! into a datagram. So a goodbye is believed at once only if it has the secret of which the peer has announced the hash. Any other is
//! doubted: the peer is asked whether it is still there.

use alloc::{boxed::Box, vec::Vec};

use dunlin_buf::Outbox;
use dunlin_core::{Guid, GuidPrefix, Misbehaviour, MonoTime};
use dunlin_wire::{Data, ReceiverState, key_hash, pid};

use crate::{
    codec::{DecodeError, decode_participant_key, goodbye_hash},
    config::GoodbyeSecret,
    discovery::Discovery,
    effect::{DiscoveryEffect, LostReason},
    goodbye::{Doubt, Latest, Step},
    participant,
};

impl Discovery {
    /// Takes what says that a participant leaves. The key stands in the payload or, from some peers, only in the key hash, which for
    /// built-in topics is the GUID.
    pub(crate) fn on_departure(
        &mut self,
        now: MonoTime,
        state: &ReceiverState,
        data: &Data<'_>,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let inline_qos = data.inline_qos.as_ref();
        let hash = inline_qos.and_then(key_hash).map(|hash| Guid::from_bytes(hash).prefix);
        let named = data.payload.bytes().and_then(|payload| decode_participant_key(payload).ok());
        match named.or(hash) {
            Some(prefix) if prefix == state.source_prefix => {
                let lease_ended =
                    inline_qos.is_some_and(|list| list.find(pid::vendor::LEASE_ENDED).is_some());
                let reason = if lease_ended { LostReason::LeaseExpired } else { LostReason::Left };
                let secret = inline_qos.and_then(|list| list.find(pid::vendor::GOODBYE_SECRET));
                self.part(now, state, data, reason, secret.and_then(|value| value.try_into().ok()), fx);
            }
            Some(_) => self.refuse(state.source_prefix, Misbehaviour::ForeignEntity),
            None => self.count_error(state.source_prefix, DecodeError::Malformed, fx),
        }
    }

    /// Parts from a participant that says goodbye itself, or doubts it.
    fn part(
        &mut self,
        now: MonoTime,
        state: &ReceiverState,
        data: &Data<'_>,
        reason: LostReason,
        secret: Option<GoodbyeSecret>,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let prefix = state.source_prefix;
        let goodbye = Latest::new(now, data.writer_sn, state.timestamp);
        let verifies = self.config.quotas.verify_places;
        if verifies && !self.is_verified(prefix) {
            // The number of a stranger says little: anybody may have forged it.
            self.goodbyes.remember_claimed(prefix, goodbye);
        } else if verifies && !self.is_proven_goodbye(prefix, reason, secret) {
            self.doubt(now, prefix, reason, goodbye);
            return;
        } else if self.is_overtaken(now, state, data) {
            self.refuse(prefix, Misbehaviour::Overtaken);
            return;
        } else {
            self.goodbyes.remember(prefix, goodbye);
        }
        if let Some(participant) = self.participants.get_mut(&prefix) {
            participant.left_with = secret.map(Box::new);
        }
        if reason == LostReason::LeaseExpired {
            self.lose(now, prefix, reason, fx);
        } else {
            self.remove_participant(prefix, reason, fx);
        }
    }

    /// Parts from a participant that may only not be heard. If it comes back it goes on where it was, and is told what it lacks.
    fn lose(&mut self, now: MonoTime, prefix: GuidPrefix, reason: LostReason, fx: &mut Vec<DiscoveryEffect>) {
        self.remember_lost(now, prefix);
        let before = fx.len();
        self.remove_participant(prefix, reason, fx);
        fx.iter_mut().skip(before).for_each(DiscoveryEffect::note_expiry);
        self.keep_for_lost();
    }

    /// Whether a goodbye has the secret of the peer. Who is said to be silent has not told it.
    fn is_proven_goodbye(
        &self,
        prefix: GuidPrefix,
        reason: LostReason,
        secret: Option<GoodbyeSecret>,
    ) -> bool {
        let Some(participant) = participant::found(&self.participants, prefix) else { return false };
        let hash = secret.map(|secret| goodbye_hash(prefix, &secret));
        let fits = hash.is_some() && hash == participant.data.goodbye_hash;
        fits && !participant.hash_varies && reason == LostReason::Left
    }

    /// A goodbye in the name of a peer proves nothing: it is asked, unless it has said something since.
    fn doubt(&mut self, now: MonoTime, prefix: GuidPrefix, reason: LostReason, goodbye: Latest) {
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        let (sn, timestamp) = goodbye.sample();
        if participant.latest.is_after(now, sn, timestamp) {
            self.refuse(prefix, Misbehaviour::Overtaken);
            return;
        }
        let lease_ended = reason == LostReason::LeaseExpired;
        let doubt = participant.doubt.get_or_insert_with(|| Box::new(Doubt::new(lease_ended, goodbye)));
        if let Some(at) = doubt.begin(lease_ended, goodbye) {
            self.doubts.insert((at, prefix));
        }
    }

    /// Asks those again who are said to leave, and parts from those who do not answer.
    pub(crate) fn ask_who_is_said_to_leave(
        &mut self,
        now: MonoTime,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        while let Some((due, prefix)) = self.doubts.first().copied().filter(|(due, _)| *due <= now) {
            self.doubts.remove(&(due, prefix));
            let doubt = self.participants.get_mut(&prefix).and_then(|known| known.doubt.as_deref_mut());
            let Some(doubt) = doubt.filter(|doubt| doubt.next() == Some(due)) else { continue };
            match doubt.step(now) {
                Step::Wait => {}
                Step::Ask => {
                    let next = doubt.next().map(|next| (next, prefix));
                    self.doubts.extend(next);
                    self.ask_at_known_places(prefix, out);
                }
                Step::Gone(goodbye) => {
                    let reason = if doubt.lease_ended { LostReason::LeaseExpired } else { LostReason::Left };
                    self.goodbyes.remember_claimed(prefix, goodbye);
                    self.lose(now, prefix, reason, fx);
                }
            }
        }
    }

    /// A peer has answered: what says that it has left is not true.
    pub(crate) fn is_still_there(&mut self, now: MonoTime, prefix: GuidPrefix) {
        let Some(participant) = self.participants.get_mut(&prefix) else { return };
        if participant.doubt.as_deref_mut().is_some_and(|doubt| doubt.answer(now)) {
            self.refuse(prefix, Misbehaviour::RefutedGoodbye);
        }
    }
}
