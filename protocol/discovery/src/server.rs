//! A discovery server: a participant that introduces others to each other, so that they need neither multicast nor each other's
//! addresses; and how those take an introduction. RTPS 2.5 §8.5.3 lets a participant announce itself alone, so what the
//! server sends is the announcement of the other one, in its name. Peers that know nothing of servers take it up as well.

use alloc::vec::Vec;

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, GuidPrefix, Locator, MonoTime, Now};
use dunlin_qos::Property;
use dunlin_wire::{
    Data, DataSpec, Header, Message, MessageBuilder, ParameterListBuilder, PayloadSpec, ReceiverState,
    Submessage, pid,
};

use crate::{
    config::{INTEREST_EVERYTHING, INTEREST_PROPERTY},
    discovery::Discovery,
    effect::DiscoveryEffect,
    introductions::AT_ONCE,
    participant,
};

fn wants_everything(property: &Property) -> bool {
    property.values.iter().any(|(name, value)| name == INTEREST_PROPERTY && value == INTEREST_EVERYTHING)
}

/// Whether a server sent this in the name of the one that it announces.
pub(crate) fn is_introduction(data: &Data<'_>) -> bool {
    let value = data.inline_qos.as_ref().and_then(|list| list.find(pid::vendor::INTRODUCED_BY));
    value.is_some_and(|value| value.len() == 12)
}

/// Whether a datagram is an introduction. Such a one is in the name of who is introduced, and no sign of life of it.
#[must_use]
pub fn introduces(packet: &[u8]) -> bool {
    let Ok(message) = Message::parse(packet) else { return false };
    // INFO_DST, INFO_TS and the announcement.
    let mut first = message.submessages().map_while(Result::ok).take(3);
    first.any(|parsed| {
        matches!(&parsed.body, Submessage::Data(data) if data.writer_id == EntityId::SPDP_WRITER && is_introduction(data))
    })
}

/// The server's side.
impl Discovery {
    /// Notes who has to know each other because of the endpoints that became known with these effects.
    pub(crate) fn concern(&mut self, effects: &[DiscoveryEffect]) {
        let Some(introductions) = &mut self.introductions else { return };
        for effect in effects {
            let (guid, topic) = match effect {
                DiscoveryEffect::WriterDiscovered(writer) => (writer.guid, &writer.topic_name),
                DiscoveryEffect::ReaderDiscovered(reader) => (reader.guid, &reader.topic_name),
                _ => continue,
            };
            for other in self.endpoints.remote_opposites(guid.entity_id.is_writer(), topic) {
                if !introductions.pair(guid.prefix, other.prefix) {
                    self.stats.introductions_refused = self.stats.introductions_refused.saturating_add(1);
                }
            }
        }
    }

    /// A participant was verified.
    pub(crate) fn introduce_verified(&mut self, prefix: GuidPrefix) {
        let Some(introductions) = &mut self.introductions else { return };
        let Some(newcomer) = participant::found(&self.participants, prefix) else { return };
        let others: Vec<GuidPrefix> = if wants_everything(&newcomer.data.property) {
            introductions.is_curious(prefix);
            let peers = self.participants.iter().filter(|(_, other)| other.unverified.is_none());
            peers.map(|(prefix, _)| *prefix).collect()
        } else {
            introductions.curious().collect()
        };
        for other in others {
            if !introductions.pair(prefix, other) {
                self.stats.introductions_refused = self.stats.introductions_refused.saturating_add(1);
            }
        }
    }

    /// A participant has announced itself.
    pub(crate) fn repeat_introductions(&mut self, now: MonoTime, prefix: GuidPrefix) {
        let Some(introductions) = &mut self.introductions else { return };
        if self.participants.get(&prefix).is_some_and(|known| known.unverified.is_none()) {
            introductions.heard(now, prefix);
        }
    }

    /// Sends the introductions that are due.
    pub(crate) fn introduce(&mut self, now: Now, out: &mut Outbox) {
        let Some(mut introductions) = self.introductions.take() else { return };
        if self.announcer.is_running() && introductions.begin(now.mono) {
            for _ in 0..AT_ONCE {
                let Some((of, to)) = introductions.due(now.mono) else { break };
                self.send_introduction(of, to, out);
            }
        }
        self.introductions = Some(introductions);
    }

    fn send_introduction(&mut self, of: GuidPrefix, to: GuidPrefix, out: &mut Outbox) {
        let peer = |prefix| self.participants.get(&prefix).filter(|known| known.unverified.is_none());
        let (Some(of), Some(to)) = (peer(of), peer(to)) else { return };
        let (header, places) = (&of.data, &to.data.locators.metatraffic_unicast);
        let (version, vendor_id) = (header.protocol_version, header.vendor);
        let header = Header { version, vendor_id, guid_prefix: header.guid_prefix };
        let mut mark = ParameterListBuilder::new();
        mark.put_bytes(pid::vendor::INTRODUCED_BY, &self.config.guid_prefix.0);
        let mut message = MessageBuilder::with_header(out, header);
        message.info_dst(to.data.guid_prefix);
        let (writer_sn, timestamp) = of.latest.sample();
        message.info_ts(timestamp);
        message.data(&DataSpec {
            reader_id: EntityId::SPDP_READER,
            writer_id: EntityId::SPDP_WRITER,
            writer_sn,
            inline_qos: &mark.finish(),
            payload: PayloadSpec::Data(of.payload.to_vec().into()),
        });
        message.finish(places);
        self.stats.introductions_sent = self.stats.introductions_sent.saturating_add(1);
    }
}

/// The side of those who are introduced.
impl Discovery {
    /// Whether this is an introduction of somebody who is known.
    pub(crate) fn is_introduced_again(&self, source: GuidPrefix, data: &Data<'_>) -> bool {
        is_introduction(data) && self.is_verified(source)
    }

    /// An introduction of somebody who is known. The two speak to each other, and how long one is kept is between them. But both may
    /// have moved at the same time: then only who introduces them knows where each is. That is believed like any announcement from
    /// elsewhere.
    pub(crate) fn on_introduction_again(
        &mut self,
        now: Now,
        state: &ReceiverState,
        data: &Data<'_>,
        out: &mut Outbox,
        fx: &mut Vec<DiscoveryEffect>,
    ) {
        let Some(known) = self.participants.get(&state.source_prefix) else { return };
        let differs = data.payload.bytes().is_some_and(|payload| *payload != *known.payload);
        if !differs || !known.latest.precedes(data.writer_sn, state.timestamp) {
            return;
        }
        // Where an introduction comes from says nothing about who is introduced.
        let from = Locator::INVALID;
        if self.config.quotas.verify_places {
            self.consider_move(now, from, state, data, out, fx);
        } else {
            self.on_announcement(now, from, state, data, out, fx);
        }
    }
}
