//! The endpoints of the TypeLookup service: DDS-XTypes 1.3 §7.6.3.3.3, reliable and volatile.
//!
//! Proxies and streams are made when they are first needed: most participants of a large domain never ask each other.
//! Only participants that were verified take part, so that answers go where questions came from.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, MonoTime, Now};
use dunlin_rtps::Reader;
use dunlin_wire::{ReceiverState, Submessage};
use dunlin_xtypes::lookup::message::{
    self, GetTypesResult, Reply, Request, Return, SampleIdentity, remote_exception,
};

use super::{
    TypeDiscovery,
    line::{Line, Past},
    waiting::Waiting,
};
use crate::{
    builtin::{Collector, Peer, builtin_reader, feed, match_writer},
    config::DiscoveryConfig,
    data::{ParticipantData, builtin},
    discovery::Discovery,
    effect::DiscoveryEffect,
};

/// Questions or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Questions,
    Answers,
}

impl Way {
    const BOTH: [Self; 2] = [Self::Questions, Self::Answers];

    const fn writer(self) -> EntityId {
        match self {
            Self::Questions => EntityId::TYPE_LOOKUP_REQUEST_WRITER,
            Self::Answers => EntityId::TYPE_LOOKUP_REPLY_WRITER,
        }
    }

    const fn reader(self) -> EntityId {
        match self {
            Self::Questions => EntityId::TYPE_LOOKUP_REQUEST_READER,
            Self::Answers => EntityId::TYPE_LOOKUP_REPLY_READER,
        }
    }

    /// The bits that announce the writer and the reader.
    const fn bits(self) -> (u32, u32) {
        match self {
            Self::Questions => (builtin::TYPE_LOOKUP_REQUEST_WRITER, builtin::TYPE_LOOKUP_REQUEST_READER),
            Self::Answers => (builtin::TYPE_LOOKUP_REPLY_WRITER, builtin::TYPE_LOOKUP_REPLY_READER),
        }
    }
}

/// Proxies and streams.
#[derive(Debug)]
pub(crate) struct Service {
    questions: Reader,
    answers: Reader,
    /// Writers of others that the readers know.
    heard: BTreeSet<Guid>,
    lines: BTreeMap<(GuidPrefix, Way), Line>,
    /// Where the lines of each way that are gone have ended: a new one goes on there.
    past: [Past; 2],
    /// No line has anything to do before this.
    wakeup: Option<MonoTime>,
    /// Octets of messages that were not acknowledged, of all lines.
    waiting_octets: usize,
    /// Questions that are answered when the answers before them were acknowledged.
    pub(crate) waiting: Waiting,
    /// When they are looked at again if nobody acknowledges anything: others may have made room, or be gone.
    again: Option<MonoTime>,
    collected: Collector,
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    /// Questions not answered for want of room.
    pub(crate) withheld: u64,
}

/// So often types of a pair are found out in one go; what is left then is done at the next opportunity.
const MAX_TURNS: usize = 64;
/// Octets of messages that were not acknowledged, of all lines together, beyond which no question is answered.
const MAX_WAITING_OCTETS: usize = 8 * 1024 * 1024;

/// From one look at all questions that wait to the next.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Service {
    pub(crate) fn new(config: &DiscoveryConfig) -> Self {
        let reader = |way: Way| builtin_reader(Guid::new(config.guid_prefix, way.reader()), &config.quotas);
        Self {
            questions: reader(Way::Questions),
            answers: reader(Way::Answers),
            heard: BTreeSet::new(),
            lines: BTreeMap::new(),
            past: [Past::default(); 2],
            wakeup: None,
            waiting_octets: 0,
            waiting: Waiting::default(),
            again: None,
            collected: Collector::default(),
            asked: 0,
            answered: 0,
            withheld: 0,
        }
    }

    /// Whether this is one of the four endpoints.
    pub(crate) fn has(entity: EntityId) -> bool {
        Way::BOTH.iter().any(|way| entity == way.writer() || entity == way.reader())
    }

    fn past_mut(&mut self, way: Way) -> &mut Past {
        let [questions, answers] = &mut self.past;
        match way {
            Way::Questions => questions,
            Way::Answers => answers,
        }
    }

    fn reader_mut(&mut self, way: Way) -> &mut Reader {
        match way {
            Way::Questions => &mut self.questions,
            Way::Answers => &mut self.answers,
        }
    }

    pub(crate) fn readers(&self) -> [&Reader; 2] {
        [&self.questions, &self.answers]
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        let readers = [self.questions.next_deadline(), self.answers.next_deadline()];
        readers.into_iter().chain([self.wakeup, self.again]).flatten().min()
    }

    /// Forgets a participant.
    pub(crate) fn remove_peer(&mut self, prefix: GuidPrefix) {
        self.waiting.forget(prefix);
        for way in Way::BOTH {
            let writer = Guid::new(prefix, way.writer());
            if self.heard.remove(&writer) {
                self.reader_mut(way).unmatch_writer(writer);
            }
            if let Some(line) = self.lines.remove(&(prefix, way)) {
                self.waiting_octets = self.waiting_octets.saturating_sub(line.waiting_octets());
                let past = self.past_mut(way);
                *past = past.max(line.past());
            }
        }
    }

    /// Takes up changed locators of a participant.
    pub(crate) fn moved(&mut self, peer: &ParticipantData) {
        for way in Way::BOTH {
            let writer = Guid::new(peer.guid_prefix, way.writer());
            if self.heard.contains(&writer) {
                let locators = peer.locators.clone();
                let (unicast, multicast) = (locators.metatraffic_unicast, locators.metatraffic_multicast);
                self.reader_mut(way).update_writer(writer, unicast, multicast);
            }
            if let Some(line) = self.lines.get_mut(&(peer.guid_prefix, way)) {
                line.moved(peer);
            }
        }
    }

    /// Calls into the line to a participant, which is made if need be and the participant has the reader of it.
    fn with_line<T>(
        &mut self,
        now: Now,
        way: Way,
        peer: &ParticipantData,
        config: &DiscoveryConfig,
        out: &mut Outbox,
        call: impl FnOnce(&mut Line, &mut Outbox) -> T,
    ) -> Option<T> {
        if peer.builtin_endpoints & way.bits().1 == 0 {
            return None;
        }
        let guid = Guid::new(config.guid_prefix, way.writer());
        let past = *self.past_mut(way);
        let line = self
            .lines
            .entry((peer.guid_prefix, way))
            .or_insert_with(|| Line::new(now, guid, peer, way.reader(), config.max_message_size, past, out));
        let before = line.waiting_octets();
        let result = call(line, out);
        let others = self.waiting_octets.saturating_sub(before);
        self.waiting_octets = others.saturating_add(line.waiting_octets());
        if let Some(due) = line.next_deadline() {
            self.wakeup = Some(self.wakeup.map_or(due, |wakeup| wakeup.min(due)));
        }
        Some(result)
    }

    fn has_room_for_answer(&self, prefix: GuidPrefix) -> bool {
        let line = self.lines.get(&(prefix, Way::Answers));
        line.is_none_or(Line::has_room) && self.waiting_octets < MAX_WAITING_OCTETS
    }

    fn on_timer(&mut self, now: Now, out: &mut Outbox) {
        if self.wakeup.is_some_and(|wakeup| wakeup <= now.mono) {
            self.lines.values_mut().for_each(|line| line.on_timer(now, out));
            self.wakeup = self.lines.values().filter_map(Line::next_deadline).min();
        }
    }

    /// The readers that know a writer get what it sends.
    fn feed(
        &mut self,
        now: Now,
        way: Way,
        peer: &ParticipantData,
        (state, submessage, packet): (&ReceiverState, &Submessage<'_>, &SharedBytes),
        out: &mut Outbox,
    ) -> Collector {
        let writer = Guid::new(peer.guid_prefix, way.writer());
        if self.heard.insert(writer) {
            let known = Peer { prefix: peer.guid_prefix, vendor: peer.vendor, locators: &peer.locators };
            match_writer(self.reader_mut(way), now, &known, way.writer(), out);
        }
        let mut collected = core::mem::take(&mut self.collected);
        feed(self.reader_mut(way), now, state, submessage, packet, &mut collected, out);
        collected
    }
}

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
        let Some(participant) = known.filter(|known| known.stranger.is_none()) else { return };
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
            let known = self.participants.get(&prefix).map(|known| Arc::clone(&known.data));
            known.into_iter().for_each(|peer| self.answer_waiting(now, &peer, out));
        }
        let some_wait = self.service.waiting.count() > 0;
        self.service.again = some_wait.then(|| now.mono.plus(LOOK_AGAIN));
    }

    fn answer_question(&mut self, now: Now, peer: &ParticipantData, payload: &[u8], out: &mut Outbox) {
        let Ok(request) = message::decode::<Request>(payload) else {
            self.stats.malformed = self.stats.malformed.saturating_add(1);
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
        let told = match &reply {
            Ok(Reply {
                remote_ex: remote_exception::OK,
                result: Return::GetTypes(GetTypesResult::Ok(out)),
                ..
            }) => Some(out),
            Ok(_) => None,
            Err(_) => {
                self.stats.malformed = self.stats.malformed.saturating_add(1);
                None
            }
        };
        self.endpoints.types.lookups.answered(&key, &id);
        self.endpoints.types.on_answer(now, &key, told);
    }

    /// Sends the questions that there are, and judges the pairs anew whose types are known now or will not be.
    pub(crate) fn settle_types(&mut self, now: Now, out: &mut Outbox, fx: &mut Vec<DiscoveryEffect>) {
        for _ in 0..MAX_TURNS {
            while let Some((prefix, request)) = self.endpoints.types.next_question(now.mono) {
                let peer = self.participants.get(&prefix).map(|known| Arc::clone(&known.data));
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
