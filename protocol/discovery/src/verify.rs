//! From an unverified participant to a peer: a participant is believed to receive where it says once it acknowledges
//! what only somebody can know who receives there. RTPS 2.5 §8.4.9, §8.5.4.2: the built-in writers begin to count at a number that cannot
//! be guessed, and an ACKNACK repeats it.
//!
//! Until then it is sent announcements, HEARTBEATs and empty ACKNACKs alone, each in answer to something that came in its
//! name, and its endpoints are not taken up.

use alloc::vec::Vec;

use dunlin_buf::Outbox;
use dunlin_core::{Duration, Guid, GuidPrefix, Locator, MonoTime, Now, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, Heartbeat, MessageBuilder, Submessage, join_directed, size};

use crate::{
    builtin::feed_heartbeat,
    data::ParticipantData,
    discovery::Discovery,
    effect::DiscoveryEffect,
    participant,
    spdp::LARGE_DOMAIN,
    table::BuiltinTopic,
    unverified::{ACKNACK_EMPTY, Unverified, least_octets},
};

/// An unverified participant that announces itself again is answered again after this time.
const ANSWER_INTERVAL: Duration = Duration::from_millis(80);
/// An unverified participant that asks for a HEARTBEAT or sends one gets ours at most this often.
const UNVERIFIED_HEARTBEAT_INTERVAL: Duration = Duration::from_millis(10);
/// Nanoseconds that each participant of a large domain adds to the span over which answers are spread, so that a
/// newcomer is not answered by all at once.
const SPREAD_PER_PARTICIPANT: u64 = 50_000;
/// So many newcomers at once are answered by one announcement to the groups, and only greeted each.
const NEWCOMERS_AT_ONCE: usize = 8;
/// Announcements because of a crowd are at least this far apart.
const NEWCOMERS_INTERVAL: Duration = Duration::from_millis(100);

impl Discovery {
    /// Whether a participant is known and has shown that it receives where it says.
    pub(crate) fn is_verified(&self, prefix: GuidPrefix) -> bool {
        self.participants.get(&prefix).is_some_and(|known| known.unverified.is_none())
    }

    /// What is remembered of a participant that has not been verified.
    pub(crate) fn unverified_mut(&mut self, prefix: GuidPrefix) -> Option<&mut Unverified> {
        if self.unverified.len() == 0 {
            return None;
        }
        self.participants.get_mut(&prefix)?.unverified.as_deref_mut()
    }

    /// Plans the answer to the announcement of an unverified participant.
    pub(crate) fn plan_answer(&mut self, now: MonoTime, prefix: GuidPrefix) {
        let known = self.participants.len();
        let span = u64::try_from(known).unwrap_or(u64::MAX).saturating_mul(SPREAD_PER_PARTICIPANT);
        let wait = if known < LARGE_DOMAIN { 0 } else { self.rng.below(span) };
        let Some(unverified) = self.unverified_mut(prefix) else { return };
        let lately = unverified.heartbeats_sent_at.is_some_and(|at| at.plus(ANSWER_INTERVAL) > now);
        if unverified.answer_due.is_some() || (unverified.answered && lately) {
            return;
        }
        let due = now.plus(Duration::from_nanos(i64::try_from(wait).unwrap_or(0)));
        unverified.answer_due = Some(due);
        self.answers.insert((due, prefix));
    }

    /// Sends the answers that are due.
    pub(crate) fn send_answers(&mut self, now: Now, out: &mut Outbox) {
        if self.answers.first().is_none_or(|(due, _)| *due > now.mono) {
            return;
        }
        if self.announcer.is_running()
            && self.answers.len() >= NEWCOMERS_AT_ONCE
            && !self.config.spdp_destinations.is_empty()
        {
            self.announce_to_newcomers(now, out);
        }
        while let Some((due, prefix)) = self.answers.first().copied().filter(|(due, _)| *due <= now.mono) {
            self.answers.remove(&(due, prefix));
            self.answer(now, prefix, out);
        }
    }

    /// Announces to the groups if many have come since that was last done.
    fn announce_to_newcomers(&mut self, now: Now, out: &mut Outbox) {
        let lately =
            self.announcer.groups_announced().is_some_and(|at| at.plus(NEWCOMERS_INTERVAL) > now.mono);
        if self.newcomers < NEWCOMERS_AT_ONCE || lately || self.config.spdp_destinations.is_empty() {
            return;
        }
        self.newcomers = 0;
        self.stats.announcements_sent = self.stats.announcements_sent.saturating_add(1);
        let (groups, _) = self.destinations(now.mono);
        self.announcer.send_to_groups(now, self.config.guid_prefix, &groups, out);
    }

    /// Answers the announcement of an unverified participant with our own, unless its group was just sent one, and with
    /// what the built-in writers have.
    fn answer(&mut self, now: Now, prefix: GuidPrefix, out: &mut Outbox) {
        if !self.announcer.is_running() {
            return;
        }
        let groups_announced = self.announcer.groups_announced();
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        let announced = participant.heard_by_multicast.is_some()
            && groups_announced.is_some_and(|at| at >= participant.since);
        debug_assert!(participant.unverified.is_some(), "who is verified is owed no answer");
        let Some(unverified) = participant.unverified.as_deref_mut() else { return };
        unverified.answer_due = None;
        let announce = !announced || unverified.answered;
        unverified.answered = true;
        let from = out.datagram_count();
        let heartbeats = size::HEARTBEAT.saturating_mul(BuiltinTopic::ALL.len());
        let announcement = if announce { self.announcer.data_len() } else { 0 };
        let octets = directed_len(announcement.saturating_add(heartbeats));
        let Some(places) = self.afford(prefix, octets) else { return };
        if announce {
            self.announcer.send_directed(now, self.config.guid_prefix, Some(prefix), &places, out);
        }
        self.heartbeat_to_unverified(now.mono, prefix, &places, out);
        join_directed(out, from, self.config.max_message_size);
    }

    /// The places to which an unverified participant may be sent `octets`, if any; they count as sent.
    fn afford(&mut self, prefix: GuidPrefix, octets: usize) -> Option<Vec<Locator>> {
        let participant = participant::found_mut(&mut self.participants, prefix)?;
        let own_groups: &[Locator] =
            if self.config.broadcasts { &[] } else { &self.config.spdp_destinations };
        let mut places = directed(&participant.data, own_groups);
        let affordable = participant.unverified.as_deref_mut()?.spend(octets, places.len());
        places.truncate(affordable);
        if places.is_empty() {
            self.stats.answers_withheld = self.stats.answers_withheld.saturating_add(1);
        }
        Some(places).filter(|places| !places.is_empty())
    }

    /// Tells an unverified participant what the built-in writers have.
    fn heartbeat_to_unverified(
        &mut self,
        now: MonoTime,
        prefix: GuidPrefix,
        places: &[Locator],
        out: &mut Outbox,
    ) {
        if let Some(unverified) = self.unverified_mut(prefix) {
            unverified.heartbeats_sent_at = Some(now);
        }
        for topic in BuiltinTopic::ALL {
            let reader = Guid::new(prefix, topic.reader_id());
            self.writer_mut(topic).heartbeat_to_unmatched(reader, places, out);
        }
    }

    /// Greets an unverified participant that has shown to know us, if it was not greeted just now.
    fn heartbeat_to_unverified_again(&mut self, now: MonoTime, prefix: GuidPrefix, out: &mut Outbox) {
        let Some(unverified) = self.unverified_mut(prefix) else { return };
        if unverified.heartbeats_sent_at.is_some_and(|at| at.plus(UNVERIFIED_HEARTBEAT_INTERVAL) > now) {
            return;
        }
        let from = out.datagram_count();
        let octets = directed_len(size::HEARTBEAT.saturating_mul(BuiltinTopic::ALL.len()));
        let Some(places) = self.afford(prefix, octets) else { return };
        self.heartbeat_to_unverified(now, prefix, &places, out);
        join_directed(out, from, self.config.max_message_size);
    }

    /// Takes a submessage of a reliable built-in endpoint of an unverified participant.
    pub(crate) fn meet(
        &mut self,
        now: Now,
        topic: BuiltinTopic,
        (prefix, from): (GuidPrefix, Locator),
        submessage: &Submessage<'_>,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(unverified) = self.unverified_mut(prefix) else { return };
        unverified.hear(least_octets(submessage));
        match submessage {
            Submessage::AckNack(acknack) => {
                if self.is_proven(topic, prefix, acknack) && self.may_have_announced(prefix, &from) {
                    self.verify(now, prefix, &from, out, fx);
                } else {
                    self.heartbeat_to_unverified_again(now.mono, prefix, out);
                }
            }
            Submessage::Heartbeat(heartbeat) => {
                self.acknowledge_nothing(topic, prefix, heartbeat, out);
                self.heartbeat_to_unverified_again(now.mono, prefix, out);
            }
            _ => (),
        }
    }

    /// Takes note of an ACKNACK. True once those for publications and for subscriptions both fit: two numbers are harder
    /// to guess than one, as a wrong guess costs whatever was right before. Numbers up to 1 are no guesses: peers that
    /// have not been told anything yet begin with them.
    fn is_proven(&mut self, topic: BuiltinTopic, prefix: GuidPrefix, acknack: &AckNack) -> bool {
        let base = acknack.reader_sn_state.base();
        // Who knew us before, and was lost to us alone, goes on anywhere behind what it had acknowledged.
        let acknowledged = self.lost.acknowledged(prefix, topic.index());
        let fits = self.writer_mut(topic).has_told(base, acknowledged);
        let Some(unverified) = self.unverified_mut(prefix) else { return false };
        if fits {
            if let Some(proof) = unverified.proofs.get_mut(topic.index()) {
                *proof = Some(*acknack);
            }
        } else if base > SequenceNumber::FIRST {
            unverified.proofs = Default::default();
        }
        matches!(unverified.proofs, [Some(_), Some(_), _])
    }

    /// Answers the HEARTBEAT of an unverified participant so that it can verify this participant, and asks for nothing yet.
    fn acknowledge_nothing(
        &mut self,
        topic: BuiltinTopic,
        prefix: GuidPrefix,
        heartbeat: &Heartbeat,
        out: &mut Outbox,
    ) {
        if heartbeat.first_sn < SequenceNumber::FIRST || heartbeat.last_sn < heartbeat.first_sn.previous() {
            return;
        }
        let Some(places) = self.afford(prefix, directed_len(ACKNACK_EMPTY)) else { return };
        let Some(unverified) = self.unverified_mut(prefix) else { return };
        let Some(known) = unverified.heartbeats.get_mut(topic.index()) else { return };
        *known = Some(*heartbeat);
        let count = self.reader_mut(topic).next_acknack_count();
        let acknack = AckNack {
            reader_id: topic.reader_id(),
            writer_id: topic.writer_id(),
            reader_sn_state: SequenceNumberSet::empty(heartbeat.first_sn),
            count,
            final_flag: true,
        };
        let mut message = MessageBuilder::new(out, self.config.guid_prefix);
        message.info_dst(prefix);
        message.acknack(&acknack);
        message.finish(&places);
    }

    /// A participant has shown that it receives where it says: it gets the lease it announced, and its built-in
    /// endpoints are matched.
    fn verify(
        &mut self,
        now: Now,
        prefix: GuidPrefix,
        from: &Locator,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(participant) = participant::found_mut(&mut self.participants, prefix) else { return };
        debug_assert!(participant.unverified.is_some(), "it is verified once");
        let Some(unverified) = participant.unverified.take() else { return };
        participant.renew(now.mono);
        let ports = participant.data.source_ports;
        participant.whereabouts.verified(&participant.announced, from, &ports);
        let data = alloc::sync::Arc::clone(&participant.data);
        if self.lost.forget(prefix) {
            self.keep_for_lost();
        }
        if let Some(due) = unverified.answer_due {
            self.answers.remove(&(due, prefix));
        }
        self.unverified.remove(prefix);
        fx.push(DiscoveryEffect::ParticipantVerified(prefix));
        self.tell_sources(prefix, fx);
        self.introduce_verified(prefix);
        self.forward_verified(prefix);
        self.match_builtin(now, &data, out);
        for topic in BuiltinTopic::ALL {
            if let Some(acknack) = unverified.proofs.get(topic.index()).copied().flatten() {
                self.writer_mut(topic).catch_up(now, prefix, &acknack, out);
            }
            let Some(heartbeat) = unverified.heartbeats.get(topic.index()).copied().flatten() else {
                continue;
            };
            let mut collected = core::mem::take(&mut self.collected);
            feed_heartbeat(self.reader_mut(topic), now, prefix, &heartbeat, &mut collected, out);
            self.process(now, topic, collected, fx);
        }
    }
}

/// Octets of a message to one participant with submessages of so many octets.
const fn directed_len(submessages: usize) -> usize {
    size::HEADER.saturating_add(size::INFO_DST).saturating_add(submessages)
}

/// The destinations for an unverified participant: the unicast locators it announced or, without any, groups that this
/// participant announces to itself.
fn directed(data: &ParticipantData, own_groups: &[Locator]) -> Vec<Locator> {
    let locators = &data.locators;
    if !locators.metatraffic_unicast.is_empty() {
        return locators.metatraffic_unicast.clone();
    }
    locators.metatraffic_multicast.iter().filter(|group| own_groups.contains(group)).copied().collect()
}
