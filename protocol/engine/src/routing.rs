//! From a datagram to the endpoints it is for (RTPS 2.5 §8.3.4 "The RTPS Message Receiver").

use alloc::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_core::{Behaviour, EntityId, Guid, GuidPrefix, Locator, Misbehaviour, Now};
use dunlin_discovery::{Left, introduces};
use dunlin_wire::{Message, Place, ReceiverState, Submessage, Submessages, join_directed};

use crate::later_datagrams::LaterDatagrams;
use crate::output::Output;
use crate::participant::Participant;
use crate::parties::{Parties, parties};
use crate::routes::{Peer, Routes};

/// A datagram that was not taken in to its end, because a reader would replace what nobody has seen: where to go on.
#[derive(Clone, Copy, Debug)]
pub struct SuspendedDatagram {
    state: ReceiverState,
    place: Place,
    speaker: Option<(GuidPrefix, bool)>,
    discovered: bool,
}

/// One datagram on its way through the routing tables.
struct Delivery<'a> {
    now: Now,
    from: Locator,
    packet: &'a SharedBytes,
    /// What arrived with it.
    behind: LaterDatagrams<'a>,
    /// Whether it came from this participant itself.
    local: bool,
    state: ReceiverState,
    /// Who speaks, and whether he is believed to do so from there; only once that was looked up.
    speaker: Option<(GuidPrefix, bool)>,
    /// Loaded when first needed, and again after discovery may have changed them.
    routes: Option<Arc<Routes>>,
    /// Discovery took part.
    discovered: bool,
}

impl Participant {
    /// Takes in one datagram that came from `from`. One that this participant sent to itself comes from
    /// [`Locator::LOCAL`]; any other with its own prefix is an echo and is dropped.
    ///
    /// Nothing in a datagram makes this panic, and work and memory are bounded by the datagram's length and the
    /// configured limits.
    pub fn on_datagram(&self, now: Now, from: Locator, packet: &SharedBytes, out: &mut Output) {
        let mut unfinished = self.begin_datagram(now, from, packet, out);
        while let Some(rest) = unfinished {
            unfinished = self.go_on_with_datagram(now, from, packet, rest, out);
        }
    }

    /// Begins to take in one datagram, see [`on_datagram`](Self::on_datagram). Where the next sample would replace one that nobody
    /// has seen it stops, says so in [`wants_pause`](Output::wants_pause), and returns what is left, if anything is.
    pub fn begin_datagram(
        &self,
        now: Now,
        from: Locator,
        packet: &SharedBytes,
        out: &mut Output,
    ) -> Option<SuspendedDatagram> {
        self.begin(now, (from, packet), &[], out).1
    }

    /// Begins to take in the first of several datagrams that arrived together, see [`begin_datagram`](Self::begin_datagram), and those
    /// behind it that have further fragments of what it has fragments of. How many were taken, at least the first, and what is left
    /// of the first.
    pub fn begin_datagrams(
        &self,
        now: Now,
        arrived: &[(SharedBytes, Locator)],
        out: &mut Output,
    ) -> (usize, Option<SuspendedDatagram>) {
        let Some(((packet, from), behind)) = arrived.split_first() else { return (0, None) };
        let (joined, unfinished) = self.begin(now, (*from, packet), behind, out);
        (joined.saturating_add(1), unfinished)
    }

    /// How many of the datagrams behind the first were taken with it, and what is left of the first.
    fn begin(
        &self,
        now: Now,
        (from, packet): (Locator, &SharedBytes),
        behind: &[(SharedBytes, Locator)],
        out: &mut Output,
    ) -> (usize, Option<SuspendedDatagram>) {
        let counters = &self.common.counters;
        counters.datagrams();
        let Ok(message) = Message::parse(packet) else {
            counters.malformed();
            self.common.misbehaved(GuidPrefix::UNKNOWN, Misbehaviour::Malformed, &mut out.events);
            return (0, None);
        };
        let header = message.header();
        let local = from == Locator::LOCAL;
        if (header.guid_prefix == self.common.prefix) != local {
            counters.own_datagrams();
            return (0, None);
        }
        let state = ReceiverState::new(self.common.prefix, &header);
        let behind = if self.common.relays { &[] } else { behind };
        let behind = LaterDatagrams::new(packet, from, state, behind);
        let mut delivery = Delivery {
            now,
            from,
            packet,
            behind,
            local,
            state,
            speaker: None,
            routes: None,
            discovered: false,
        };
        let left =
            if self.common.relays && !local { self.pass_on(now, from, packet, out) } else { Left::Own };
        if !local && left != Left::Nothing {
            self.note_traffic(&mut delivery, out);
        }
        if left != Left::Own {
            return (0, None);
        }
        let unfinished = self.take_in(&mut delivery, message.submessages(), out);
        let joined = delivery.behind.taken();
        (0..joined).for_each(|_| counters.datagrams());
        (joined, unfinished)
    }

    /// Passes on what came to a daemon.
    fn pass_on(&self, now: Now, from: Locator, packet: &SharedBytes, out: &mut Output) -> Left {
        let mut left = Left::Own;
        self.discover(now, out, |discovery, out, _| {
            left = discovery.pass_on(now, from, packet, &mut out.outbox);
        });
        left
    }

    /// Goes on with a datagram that was [begun](Self::begin_datagram), in the same way.
    pub fn go_on_with_datagram(
        &self,
        now: Now,
        from: Locator,
        packet: &SharedBytes,
        unfinished: SuspendedDatagram,
        out: &mut Output,
    ) -> Option<SuspendedDatagram> {
        let message = Message::parse(packet).ok()?;
        let SuspendedDatagram { state, place, speaker, discovered } = unfinished;
        let local = from == Locator::LOCAL;
        let behind = LaterDatagrams::new(packet, from, state, &[]);
        let mut delivery =
            Delivery { now, from, packet, behind, local, state, speaker, routes: None, discovered };
        self.take_in(&mut delivery, message.submessages_from(place), out)
    }

    fn take_in(
        &self,
        delivery: &mut Delivery<'_>,
        mut submessages: Submessages<'_>,
        out: &mut Output,
    ) -> Option<SuspendedDatagram> {
        out.pause = false;
        let first = out.outbox.datagram_count();
        while let Some(parsed) = submessages.next() {
            let Ok(parsed) = parsed else {
                self.common.counters.malformed();
                self.misbehaved(delivery, Misbehaviour::Malformed, out);
                break;
            };
            delivery.state.apply(&parsed.body);
            self.dispatch(delivery, &parsed.body, &mut submessages, out);
            if out.pause {
                break;
            }
        }
        if delivery.discovered {
            // Each built-in endpoint answers for itself; together that is one datagram.
            join_directed(&mut out.outbox, first, self.common.max_message_size);
        }
        let Delivery { state, speaker, discovered, .. } = *delivery;
        let unfinished = out.pause && submessages.octets_left() > 0;
        unfinished.then(|| SuspendedDatagram { state, place: submessages.place(), speaker, discovered })
    }

    /// Any traffic of a known participant renews its lease; discovery hears of it now and then only.
    fn note_traffic(&self, delivery: &mut Delivery<'_>, out: &mut Output) {
        let (now, source) = (delivery.now, delivery.state.source_prefix);
        let routes = self.routes_of(delivery);
        let is_news = believed(delivery, &routes).is_some_and(|peer| peer.note_traffic(now.mono));
        if is_news && !introduces(delivery.packet) {
            self.discover(now, out, |discovery, _, _| discovery.on_traffic(now.mono, source));
        }
    }

    /// Whether who is named is believed to speak from where the datagram came from.
    fn may_speak(&self, delivery: &mut Delivery<'_>) -> bool {
        if delivery.speaker.is_none_or(|(speaker, _)| speaker != delivery.state.source_prefix) {
            let routes = self.routes_of(delivery);
            believed(delivery, &routes);
        }
        delivery.speaker.is_some_and(|(_, may)| may)
    }

    /// Data came in the name of a participant from where it does not speak: it is asked now and then whether it does.
    fn on_misplaced(&self, delivery: &mut Delivery<'_>, out: &mut Output) {
        let (now, source) = (delivery.now, delivery.state.source_prefix);
        self.common.counters.misplaced();
        self.misbehaved(delivery, Misbehaviour::Misplaced, out);
        if self.routes_of(delivery).peer(source).is_some_and(|peer| peer.note_misplaced(now.mono)) {
            self.discover(now, out, |discovery, out, _| {
                discovery.on_misplaced_traffic(now.mono, source, &mut out.outbox);
            });
        }
    }

    fn routes_of(&self, delivery: &mut Delivery<'_>) -> Arc<Routes> {
        Arc::clone(delivery.routes.get_or_insert_with(|| self.routes.load()))
    }

    /// What follows in the same way is taken from `rest` with it.
    fn dispatch(
        &self,
        delivery: &mut Delivery<'_>,
        submessage: &Submessage<'_>,
        rest: &mut Submessages<'_>,
        out: &mut Output,
    ) {
        let Some(Parties { reader, writer, from_writer }) = parties(submessage) else { return };
        let own_kind = matches!(submessage, Submessage::EchoRequest(_) | Submessage::Echo(_));
        if own_kind && !delivery.state.source_vendor.does(Behaviour::SpeaksDunlin) {
            // Something else to its sender.
            return;
        }
        let own = self.common.prefix;
        if !delivery.state.is_destination() {
            self.common.counters.other_destination();
            return;
        }
        // INFO_SRC can claim any source: the claim to be this participant is believed of itself only.
        if delivery.state.source_prefix == own && !delivery.local {
            self.common.counters.own_datagrams();
            self.common.misbehaved(GuidPrefix::UNKNOWN, Misbehaviour::SpeaksForUs, &mut out.events);
            return;
        }
        if writer.is_builtin() || reader.is_builtin() {
            self.to_discovery(delivery, submessage, out);
        } else if !self.may_speak(delivery) {
            self.on_misplaced(delivery, out);
        } else if from_writer {
            self.to_readers(delivery, (reader, writer), submessage, rest, out);
        } else {
            self.to_writer(delivery, writer, submessage, out);
        }
    }

    fn to_discovery(&self, delivery: &mut Delivery<'_>, submessage: &Submessage<'_>, out: &mut Output) {
        let Delivery { now, from, packet, ref state, .. } = *delivery;
        self.discover(now, out, |discovery, out, effects| {
            discovery.on_submessage(now, from, state, submessage, packet, &mut out.outbox, effects);
        });
        delivery.routes = None;
        delivery.speaker = None;
        delivery.discovered = true;
    }

    fn to_readers(
        &self,
        delivery: &mut Delivery<'_>,
        (reader, writer): (EntityId, EntityId),
        submessage: &Submessage<'_>,
        rest: &mut Submessages<'_>,
        out: &mut Output,
    ) {
        let routes = self.routes_of(delivery);
        let Delivery { now, packet, state, behind, .. } = delivery;
        if reader == EntityId::UNKNOWN {
            let readers = routes.readers_of(Guid::new(state.source_prefix, writer));
            if readers.is_empty() {
                self.common.counters.unknown_endpoint();
            }
            match readers {
                [slot] => slot.on_submessages(*now, (state, behind), submessage, rest, packet, out),
                _ => readers.iter().for_each(|slot| slot.on_submessage(*now, state, submessage, packet, out)),
            }
        } else if let Some(slot) = routes.reader(reader) {
            slot.on_submessages(*now, (state, behind), submessage, rest, packet, out);
        } else {
            self.no_such_endpoint(delivery, out);
        }
    }

    fn no_such_endpoint(&self, delivery: &Delivery<'_>, out: &mut Output) {
        self.common.counters.unknown_endpoint();
        self.misbehaved(delivery, Misbehaviour::NoSuchEndpoint, out);
    }

    fn misbehaved(&self, delivery: &Delivery<'_>, what: Misbehaviour, out: &mut Output) {
        self.common.misbehaved(delivery.state.source_prefix, what, &mut out.events);
    }

    fn to_writer(
        &self,
        delivery: &mut Delivery<'_>,
        writer: EntityId,
        submessage: &Submessage<'_>,
        out: &mut Output,
    ) {
        let routes = self.routes_of(delivery);
        let (now, source) = (delivery.now, delivery.state.source_prefix);
        let Some(slot) = routes.writer(writer) else {
            return self.no_such_endpoint(delivery, out);
        };
        match submessage {
            Submessage::AckNack(acknack) => slot.on_acknack(now, source, acknack, out),
            Submessage::NackFrag(nack) => slot.on_nack_frag(now, source, nack, out),
            Submessage::Echo(echo) => slot.on_echo(now, source, echo, out),
            _ => {}
        }
    }
}

/// Looks up who speaks; he is returned if he is known, and believed to speak from where the datagram came from.
fn believed<'r>(delivery: &mut Delivery<'_>, routes: &'r Routes) -> Option<&'r Peer> {
    let source = delivery.state.source_prefix;
    let peer = routes.peer(source);
    let may = delivery.local || peer.is_none_or(|peer| peer.speaks_from(&delivery.from));
    delivery.speaker = Some((source, may));
    peer.filter(|_| may).map(|peer| &**peer)
}
