//! The daemon of a host: a participant that speaks for the applications there (the federated architecture). It tells the others
//! of them, and them of the others, each time with itself as the place to send to; what is sent there it [passes on](pass).
//!
//! RTPS 2.5 §8.5.3.2 lets a participant announce any locators. The daemon changes these in the announcements of participants, and
//! nothing else in anything: numbers, acknowledgments, timestamps and QoS are between the two ends.

mod direct;
mod pass;
mod ways;

use alloc::{collections::BTreeSet, vec::Vec};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, EntityId, GuidPrefix, Locator, MonoTime, Now};
use dunlin_wire::{DataSpec, MessageBuilder, PayloadSpec};
pub use pass::Left;

use crate::{
    codec::{encode_participant_key, goodbye_qos},
    config::{DiscoveryRole, Locators, ROLE_APPLICATION, ROLE_DAEMON, ROLE_PROPERTY},
    data::ParticipantData,
    discovery::Discovery,
    effect::LostReason,
    participant::RemoteParticipant,
    relay::{Goodbye, REPEAT, Relay, allowance::Allowance, bundle::Exit, header_of, rewrite},
};

/// Announcements in one go; the rest follows.
const AT_ONCE: usize = 64;
/// Time between two goes.
const PAUSE: Duration = Duration::from_micros(500);

/// Whether a participant asks the daemon of its host to speak for it.
fn asks(data: &ParticipantData) -> bool {
    let says = |(name, value): &(_, _)| name == ROLE_PROPERTY && value == ROLE_APPLICATION;
    data.behind.is_none() && data.property.values.iter().any(says)
}

/// Whether a participant is the daemon of a host.
fn is_daemon(data: &ParticipantData) -> bool {
    data.property.values.iter().any(|(name, value)| name == ROLE_PROPERTY && value == ROLE_DAEMON)
}

/// The side of an application.
impl Discovery {
    /// Whether somebody announces a place that is not that of the daemon of this application: everything goes through the daemon.
    pub(crate) fn is_past_the_daemon(&self, announced: &ParticipantData) -> bool {
        let DiscoveryRole::Application(daemon) = &self.config.role else { return false };
        let mut places = announced.locators.metatraffic_unicast.iter();
        !places.any(|place| daemon.iter().any(|known| known.port == place.port))
    }

    /// The daemon announces its addresses in the network, even where it is reached over loopback: there it has the same ports.
    pub(crate) fn place_of_daemon(&self, announced: &mut ParticipantData) {
        let DiscoveryRole::Application(daemon) = &self.config.role else { return };
        if !is_daemon(announced) {
            return;
        }
        let locators = &mut announced.locators;
        for list in [&mut locators.metatraffic_unicast, &mut locators.default_unicast] {
            let Some(port) = list.first().map(|place| place.port) else { continue };
            *list = daemon.iter().map(|place| Locator { port, ..*place }).collect();
        }
    }
}

/// The side of the daemon.
impl Discovery {
    /// A participant was verified: the applications hear of it; an application hears of all others, and they of it.
    pub(crate) fn forward_verified(&mut self, prefix: GuidPrefix) {
        let Some(mut relay) = self.relay.take() else { return };
        if let Some(newcomer) = self.participants.get(&prefix) {
            let own = self.is_of_this_host(&relay, newcomer) && self.admit_application(&mut relay, prefix);
            relay.queue.push_back((prefix, None));
            let known = self.participants.iter().filter(|(_, other)| other.unverified.is_none());
            let known = known.map(|(known, _)| *known).filter(|known| *known != prefix);
            let concerned = known.filter(|known| own || relay.applications.contains_key(known));
            let concerned: Vec<_> = concerned.map(|known| (known, Some(prefix))).collect();
            relay.queue.extend(concerned);
        }
        self.relay = Some(relay);
    }

    fn is_of_this_host(&self, relay: &Relay, participant: &RemoteParticipant) -> bool {
        let mut places = participant.data.locators.metatraffic_unicast.iter().filter_map(Locator::ip);
        let near = participant.reach.is_same_host() || places.any(|ip| relay.config.addresses.contains(&ip));
        near && asks(&participant.data)
    }

    fn admit_application(&self, relay: &mut Relay, prefix: GuidPrefix) -> bool {
        if relay.applications.len() >= relay.config.max_applications {
            relay.stats.applications_refused = relay.stats.applications_refused.saturating_add(1);
            return false;
        }
        relay.applications.insert(prefix, Allowance::default());
        true
    }

    /// Whether there is room by now for an application that came when there was none.
    fn has_room_by_now(&self, prefix: GuidPrefix) -> bool {
        let known = self.participants.get(&prefix).filter(|known| known.unverified.is_none());
        self.relay.as_deref().zip(known).is_some_and(|(relay, known)| {
            let applications = &relay.applications;
            applications.len() < relay.config.max_applications
                && !applications.contains_key(&prefix)
                && self.is_of_this_host(relay, known)
        })
    }

    /// A participant has announced itself: those who hear of it through this daemon alone hear of it again.
    pub(crate) fn repeat_announcement(&mut self, now: MonoTime, prefix: GuidPrefix) {
        if self.has_room_by_now(prefix) {
            self.forward_verified(prefix);
        }
        let Some(relay) = &mut self.relay else { return };
        if self.participants.get(&prefix).is_none_or(|known| known.unverified.is_some()) {
            return;
        }
        match relay.told.get(&prefix).map(|told| told.plus(REPEAT)).filter(|at| *at > now) {
            Some(at) => {
                relay.later.insert((at, prefix));
            }
            None if !relay.queue.contains(&(prefix, None)) => relay.queue.push_back((prefix, None)),
            None => {}
        }
    }

    /// Does what a daemon has to do after anything may have changed.
    pub(crate) fn speak_for_others(&mut self, now: Now, out: &mut Outbox) {
        self.forget_ways();
        self.do_as_daemon(now, out);
    }

    /// Whom something concerns may have changed.
    pub(crate) fn forget_ways(&mut self) {
        if let Some(relay) = &mut self.relay {
            relay.routes.clear();
        }
    }

    /// Says goodbye for those who are gone, tells of those who are there, and sends what has waited long enough.
    pub(crate) fn do_as_daemon(&mut self, now: Now, out: &mut Outbox) {
        let Some(mut relay) = self.relay.take() else { return };
        for goodbye in core::mem::take(&mut relay.goodbyes) {
            self.say_goodbye(now, &mut relay, &goodbye, out);
        }
        while let Some((_, prefix)) = relay.later.first().copied().filter(|(at, _)| *at <= now.mono) {
            relay.later.pop_first();
            relay.queue.push_back((prefix, None));
        }
        if self.announcer.is_running() && !relay.queue.is_empty() && relay.next <= now.mono {
            relay.next = now.mono.plus(PAUSE);
            for _ in 0..AT_ONCE {
                let Some((of, to)) = relay.queue.pop_front() else { break };
                self.tell(now, &mut relay, of, to, out);
            }
        }
        let Relay { bundles, shaper, stats, .. } = &mut *relay;
        bundles.send_due(&mut Exit { now: now.mono, shaper, stats, out });
        relay.shaper.send_due(now.mono, out);
        self.relay = Some(relay);
    }

    /// Tells one of a participant, or all who have to know.
    fn tell(&self, now: Now, relay: &mut Relay, of: GuidPrefix, to: Option<GuidPrefix>, out: &mut Outbox) {
        let verified = |prefix| self.participants.get(&prefix).filter(|known| known.unverified.is_none());
        let Some(known) = verified(of) else { return };
        let own = relay.applications.contains_key(&of);
        relay.stats.announcements = relay.stats.announcements.saturating_add(1);
        if let Some(to) = to {
            if let Some(place) = verified(to) {
                self.tell_one(relay, known, place, out);
            }
            return;
        }
        relay.told.insert(of, now.mono);
        if own {
            let places = self.places_of_world();
            let (groups, mut peers) = self.destinations(now.mono);
            // Applications hear of it below, with other places.
            let near = relay.applications.keys().filter_map(|prefix| self.participants.get(prefix));
            let near: BTreeSet<_> = near.flat_map(|it| it.data.locators.metatraffic_unicast.iter()).collect();
            peers.retain(|place| !near.contains(place));
            let direct = direct::of_application(&known.data);
            let (all, daemon) = ((&places, &*direct), self.config.guid_prefix);
            announce(known, all, daemon, (None, EntityId::UNKNOWN), &groups, out);
            announce(known, all, daemon, (None, EntityId::SPDP_READER), &peers, out);
        }
        let others = relay.applications.keys().filter(|prefix| **prefix != of);
        for application in others.filter_map(|prefix| verified(*prefix)) {
            self.tell_one(relay, known, application, out);
        }
    }

    fn tell_one(&self, relay: &Relay, of: &RemoteParticipant, to: &RemoteParticipant, out: &mut Outbox) {
        let prefix = to.data.guid_prefix;
        let own = relay.applications.contains_key(&prefix);
        let places = if own { self.places_for(to) } else { self.places_of_world() };
        let direct = match (own, relay.applications.contains_key(&of.data.guid_prefix)) {
            (true, false) if direct::writes_directly(&to.data) => direct::of_others(&of.data),
            (false, true) => direct::of_application(&of.data),
            _ => Vec::new(),
        };
        let receiver = (Some(prefix), EntityId::SPDP_READER);
        announce(
            of,
            (&places, &direct),
            self.config.guid_prefix,
            receiver,
            &to.data.locators.metatraffic_unicast,
            out,
        );
    }

    /// Where those elsewhere reach the applications of this host.
    fn places_of_world(&self) -> Locators {
        let own = &self.config.locators;
        let network = |list: &[Locator]| list.iter().filter(|it| it.ip().is_some()).copied().collect();
        Locators {
            metatraffic_unicast: network(&own.metatraffic_unicast),
            default_unicast: network(&own.default_unicast),
            ..Locators::default()
        }
    }

    /// Where an application reaches the others: over loopback if it can be reached there itself.
    fn places_for(&self, application: &RemoteParticipant) -> Locators {
        let mut places = self.places_of_world();
        let first = application.data.locators.metatraffic_unicast.first();
        let Some(near) = first.filter(|place| place.is_loopback()) else { return places };
        for list in [&mut places.metatraffic_unicast, &mut places.default_unicast] {
            let port = list.first().map_or(0, |place| place.port);
            *list = alloc::vec![Locator { port, ..*near }];
        }
        places
    }

    /// Tells in the name of a participant that it is gone.
    fn say_goodbye(&self, now: Now, relay: &mut Relay, goodbye: &Goodbye, out: &mut Outbox) {
        let mut places: BTreeSet<Locator> = BTreeSet::new();
        if goodbye.own {
            places.extend(self.all_destinations(now.mono));
        }
        let applications = relay.applications.keys().filter_map(|prefix| self.participants.get(prefix));
        places.extend(applications.flat_map(|it| it.data.locators.metatraffic_unicast.iter()));
        let places: Vec<Locator> = places.into_iter().collect();
        let prefix = goodbye.header.guid_prefix;
        // Whose lease has ended may go on where it was, and so do those who know it.
        let lease_ended = goodbye.reason == LostReason::LeaseExpired;
        let inline_qos = goodbye_qos(prefix, lease_ended, goodbye.secret.as_ref());
        let key: SharedBytes = encode_participant_key(prefix).into();
        let mut message = MessageBuilder::with_header(out, goodbye.header);
        message.info_ts(Some(now.wall));
        message.data(&DataSpec {
            reader_id: EntityId::UNKNOWN,
            writer_id: EntityId::SPDP_WRITER,
            writer_sn: goodbye.sn,
            inline_qos: &inline_qos,
            payload: PayloadSpec::Key(key),
        });
        message.finish(&places);
        relay.stats.goodbyes = relay.stats.goodbyes.saturating_add(1);
    }
}

/// Sends the announcement of a participant with other places.
fn announce(
    of: &RemoteParticipant,
    places: (&Locators, &[Locator]),
    daemon: GuidPrefix,
    (to, reader_id): (Option<GuidPrefix>, EntityId),
    destinations: &[Locator],
    out: &mut Outbox,
) {
    let Some(payload) = rewrite::with_places(&of.payload, places, daemon) else { return };
    let (writer_sn, timestamp) = of.latest.sample();
    let mut message = MessageBuilder::with_header(out, header_of(&of.data));
    if let Some(to) = to {
        message.info_dst(to);
    }
    message.info_ts(timestamp);
    message.data(&DataSpec {
        reader_id,
        writer_id: EntityId::SPDP_WRITER,
        writer_sn,
        inline_qos: &[],
        payload: PayloadSpec::Data(payload.into()),
    });
    message.finish(destinations);
}
