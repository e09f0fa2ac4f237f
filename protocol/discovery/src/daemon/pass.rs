//! Passing on, RTPS 2.5 §8.3.4 (who speaks, and to whom): a datagram that a daemon has received leaves it again as it came, at once, to where it has to go. Only one with parts
//! for different places is taken apart.

use alloc::{sync::Arc, vec::Vec};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, Now};
use dunlin_wire::{Message, ParameterList, Parsed, ReceiverState, Submessage, pid};

use crate::{
    discovery::Discovery,
    participant::RemoteParticipant,
    relay::{
        Relay,
        bundle::Exit,
        routes::{From, Route},
        shaper::Lane,
        walk::{Context, Destination, destination_of, header_of, parties},
    },
};

/// What is left to do with a datagram that came to a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing: the daemon itself had sent it, to a group that it is in.
    Nothing,
    /// It counts as a sign of life of who sent it, and was passed on if it was to be.
    SignOfLife,
    /// The daemon has to take it in too, or alone.
    Own,
}

/// What becomes of one submessage.
enum RelayDecision {
    /// It says something about others.
    Context,
    /// It goes nowhere.
    Stays,
    Goes(Way),
}

/// Where something goes, and how urgent it is.
#[derive(Clone)]
struct Way {
    route: Route,
    lane: Lane,
}

impl Way {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.route, &other.route) && self.lane == other.lane
    }
}

/// One datagram on its way.
struct InTransit<'a> {
    now: Now,
    from: Locator,
    state: ReceiverState,
    /// Who speaks, and from which side, if he may.
    speaker: Option<(GuidPrefix, Option<From>)>,
    left: Left,
    /// It has data in it, or what belongs to data.
    data: bool,
    out: &'a mut Outbox,
}

/// Whether a participant is believed to speak from there.
fn speaks_from(participant: &RemoteParticipant, from: &Locator, verify_places: bool) -> bool {
    if participant.unverified.is_some() {
        return false;
    }
    if verify_places {
        return participant.whereabouts.sources().admit(from);
    }
    let near = participant.reach.is_same_host() && from.is_loopback();
    let mut places = participant.data.locators.unicast().chain(&participant.data.direct);
    near || places.any(|place| place.ip() == from.ip())
}

impl Discovery {
    /// Whether the daemon has announced one of its applications with this.
    fn is_own_word(&self, announcement: &[u8]) -> bool {
        let list = ParameterList::from_payload(announcement).ok();
        let behind = list.and_then(|list| list.find(pid::vendor::BEHIND_DAEMON));
        behind.is_some_and(|daemon| *daemon == self.config.guid_prefix.0)
    }

    /// Passes on a datagram that came to a daemon from `from`; what is left to do with it. A participant that is no daemon has to take in
    /// all.
    pub fn pass_on(&mut self, now: Now, from: Locator, packet: &SharedBytes, out: &mut Outbox) -> Left {
        let Some(mut relay) = self.relay.take() else { return Left::Own };
        let left = match Message::parse(packet) {
            Ok(message) if self.announcer.is_running() => {
                let state = ReceiverState::new(self.config.guid_prefix, &message.header());
                let transit =
                    InTransit { now, from, state, speaker: None, left: Left::SignOfLife, data: false, out };
                self.pass(&mut relay, transit, &message, packet)
            }
            _ => Left::Own,
        };
        self.relay = Some(relay);
        left
    }

    fn pass(
        &self,
        relay: &mut Relay,
        mut transit: InTransit<'_>,
        message: &Message<'_>,
        packet: &SharedBytes,
    ) -> Left {
        let mut decisions: Vec<(Parsed<'_>, RelayDecision)> = Vec::new();
        for parsed in message.submessages().map_while(Result::ok) {
            transit.state.apply(&parsed.body);
            if let Submessage::Data(data) = &parsed.body
                && data.writer_id == EntityId::SPDP_WRITER
                && data.payload.bytes().is_some_and(|payload| self.is_own_word(payload))
            {
                return Left::Nothing;
            }
            let decision = self.relay_decision(relay, &mut transit, &parsed);
            decisions.push((parsed, decision));
        }
        if transit.data && !self.may_send(relay, &transit, packet.len()) {
            relay.stats.over_rate = relay.stats.over_rate.saturating_add(1);
            return transit.left;
        }
        let mut routes = decisions.iter().filter_map(|(_, decision)| match decision {
            RelayDecision::Context => None,
            RelayDecision::Stays => Some(None),
            RelayDecision::Goes(way) => Some(Some(way)),
        });
        let first = routes.next().flatten();
        let same = |other: Option<&Way>| first.zip(other).is_some_and(|(one, other)| one.is(other));
        let stays = first.is_none() && routes.clone().all(|other| other.is_none());
        if stays {
            return transit.left;
        }
        relay.stats.taken = relay.stats.taken.saturating_add(1);
        if let Some(way) = first.filter(|_| routes.all(same)) {
            let way = way.clone();
            self.send_to(relay, &mut transit, &way, packet.clone());
        } else {
            self.take_apart(relay, &mut transit, message, &decisions);
        }
        transit.left
    }

    /// Sends each row of submessages that have one way as a message of its own.
    fn take_apart(
        &self,
        relay: &mut Relay,
        transit: &mut InTransit<'_>,
        message: &Message<'_>,
        decisions: &[(Parsed<'_>, RelayDecision)],
    ) {
        let mut state = ReceiverState::new(self.config.guid_prefix, &message.header());
        let mut context = Context::default();
        let mut open: Option<(Way, GuidPrefix, Vec<u8>)> = None;
        for (parsed, decision) in decisions {
            state.apply(&parsed.body);
            let noted = context.note(parsed);
            if noted
                && let Some((_, source, octets)) = &mut open
                && *source == state.source_prefix
            {
                octets.extend_from_slice(parsed.raw);
            }
            let RelayDecision::Goes(way) = decision else { continue };
            let fits = open
                .as_ref()
                .is_some_and(|(known, source, _)| known.is(way) && *source == state.source_prefix);
            if !fits && let Some((way, _, octets)) = open.take() {
                self.send_to(relay, transit, &way, octets.into());
            }
            let begin = || (way.clone(), state.source_prefix, context.message(header_of(&state)));
            open.get_or_insert_with(begin).2.extend_from_slice(parsed.raw);
        }
        if let Some((way, _, octets)) = open {
            self.send_to(relay, transit, &way, octets.into());
        }
    }

    /// Where one submessage goes.
    fn relay_decision(
        &self,
        relay: &mut Relay,
        transit: &mut InTransit<'_>,
        parsed: &Parsed<'_>,
    ) -> RelayDecision {
        let Some((reader, writer)) = parties(&parsed.body) else { return RelayDecision::Context };
        let builtin = writer.is_builtin() || reader.is_builtin();
        let source = transit.state.source_prefix;
        let destination = destination_of(&transit.state);
        let Some(from) = self.side(relay, transit, source) else {
            // It may become somebody who is known, but nothing is passed on for it.
            transit.left = Left::Own;
            relay.stats.unknown_source = relay.stats.unknown_source.saturating_add(1);
            return RelayDecision::Stays;
        };
        // The daemon tells of participants itself.
        let announcement = writer == EntityId::SPDP_WRITER && reader_of_announcements(reader);
        if destination == Destination::Own || announcement || (builtin && destination == Destination::Open) {
            transit.left = Left::Own;
        }
        if destination == Destination::Own || (announcement && matches!(parsed.body, Submessage::Data(_))) {
            return RelayDecision::Stays;
        }
        transit.data |= !builtin;
        let answers = is_answer(&parsed.body);
        let of = Guid::new(if answers { transit.state.dest_prefix } else { source }, writer);
        let lane = self.lane_of(relay, of);
        let straight = if answers && !builtin { self.way_of_answers(relay, of) } else { None };
        let route = match destination {
            Destination::One(to) if relay.may_reach(from, to) && straight.is_some() => straight,
            Destination::One(to) => self.way_to(relay, from, to, builtin),
            _ => self.way_of(relay, from, source, writer),
        };
        match route {
            Some(route) if route.is_empty() => RelayDecision::Stays,
            Some(route) => RelayDecision::Goes(Way { route, lane }),
            None => {
                relay.stats.unroutable = relay.stats.unroutable.saturating_add(1);
                RelayDecision::Stays
            }
        }
    }

    /// From which side a participant speaks, if it is believed to speak from where the datagram came from.
    fn side(&self, relay: &Relay, transit: &mut InTransit<'_>, source: GuidPrefix) -> Option<From> {
        if let Some((_, side)) = transit.speaker.filter(|(speaker, _)| *speaker == source) {
            return side;
        }
        let known = self.participants.get(&source);
        let verify = self.config.quotas.verify_places;
        let known = known.filter(|known| speaks_from(known, &transit.from, verify));
        let application = relay.applications.contains_key(&source);
        let side = known.map(|_| if application { From::Application } else { From::Elsewhere });
        transit.speaker = Some((source, side));
        side
    }

    /// Whether an application may send so much now.
    fn may_send(&self, relay: &mut Relay, transit: &InTransit<'_>, octets: usize) -> bool {
        let rate = relay.config.rate;
        let allowance = transit.speaker.and_then(|(source, _)| relay.applications.get_mut(&source));
        allowance.is_none_or(|allowance| allowance.take(transit.now.mono, octets, rate))
    }

    fn send_to(&self, relay: &mut Relay, transit: &mut InTransit<'_>, way: &Way, message: SharedBytes) {
        let Relay { bundles, shaper, stats, .. } = relay;
        let mut exit = Exit { now: transit.now.mono, shaper, stats, out: transit.out };
        let (mut near, mut elsewhere) = (Vec::new(), Vec::new());
        for target in way.route.iter() {
            if target.near {
                near.push(target.place);
            } else if !(target.far
                && bundles.add(target.place, way.lane, &message, self.config.max_message_size, &mut exit))
            {
                elsewhere.push(target.place);
            }
        }
        if !near.is_empty() {
            exit.send_near(&near, message.clone());
        }
        if !elsewhere.is_empty() {
            exit.send(way.lane, &elsewhere, &message);
        }
    }
}

/// Whether a submessage is for a writer, not from one.
const fn is_answer(submessage: &Submessage<'_>) -> bool {
    matches!(submessage, Submessage::AckNack(_) | Submessage::NackFrag(_) | Submessage::Echo(_))
}

const fn reader_of_announcements(reader: EntityId) -> bool {
    matches!(reader, EntityId::SPDP_READER | EntityId::UNKNOWN)
}
