//! The endpoints of the TypeLookup service: DDS-XTypes 1.3 §7.6.3.3.3, reliable and volatile.
//!
//! Proxies and streams are made when they are first needed: most participants of a large domain never ask each other.

use alloc::collections::{BTreeMap, BTreeSet};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Counter, EntityId, Guid, GuidPrefix, MonoTime, Now};
use dunlin_rtps::Reader;
use dunlin_wire::{ReceiverState, Submessage};

use super::{
    line::{LastNumbers, Line},
    waiting::Waiting,
};
use crate::{
    builtin::{Collector, Peer, builtin_reader, feed, match_writer},
    config::DiscoveryConfig,
    data::ParticipantData,
    table::{Row, TYPE_ANSWERS, TYPE_QUESTIONS},
};

/// Questions or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Questions,
    Answers,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::Questions, Self::Answers];

    const fn row(self) -> &'static Row {
        match self {
            Self::Questions => &TYPE_QUESTIONS,
            Self::Answers => &TYPE_ANSWERS,
        }
    }

    pub(crate) const fn writer(self) -> EntityId {
        self.row().writer
    }

    pub(crate) const fn reader(self) -> EntityId {
        self.row().reader
    }

    /// The bits that announce the writer and the reader.
    pub(crate) const fn bits(self) -> (u32, u32) {
        (self.row().writer_bit, self.row().reader_bit)
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
    last_numbers: [LastNumbers; 2],
    /// No line has anything to do before this.
    wakeup: Option<MonoTime>,
    /// Octets of messages that were not acknowledged, of all lines.
    waiting_octets: Counter,
    /// Questions that are answered when the answers before them were acknowledged.
    pub(crate) waiting: Waiting,
    /// When they are looked at again if nobody acknowledges anything: others may have made room, or be gone.
    pub(crate) again: Option<MonoTime>,
    pub(crate) collected: Collector,
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    /// Questions not answered for want of room.
    pub(crate) withheld: u64,
}

/// Octets of messages that were not acknowledged, of all lines together, beyond which no question is answered.
const MAX_WAITING_OCTETS: usize = 8 * 1024 * 1024;

impl Service {
    pub(crate) fn new(config: &DiscoveryConfig) -> Self {
        let reader = |way: Way| builtin_reader(Guid::new(config.guid_prefix, way.reader()), &config.quotas);
        Self {
            questions: reader(Way::Questions),
            answers: reader(Way::Answers),
            heard: BTreeSet::new(),
            lines: BTreeMap::new(),
            last_numbers: [LastNumbers::default(); 2],
            wakeup: None,
            waiting_octets: Counter::ZERO,
            waiting: Waiting::default(),
            again: None,
            collected: Collector::default(),
            asked: 0,
            answered: 0,
            withheld: 0,
        }
    }

    fn last_numbers_mut(&mut self, way: Way) -> &mut LastNumbers {
        let [questions, answers] = &mut self.last_numbers;
        match way {
            Way::Questions => questions,
            Way::Answers => answers,
        }
    }

    pub(crate) fn reader_mut(&mut self, way: Way) -> &mut Reader {
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
                self.waiting_octets.subtract(line.waiting_octets());
                let last_numbers = self.last_numbers_mut(way);
                *last_numbers = last_numbers.max(line.last_numbers());
            }
        }
    }

    /// Takes up changed locators of a participant.
    pub(crate) fn moved(&mut self, peer: &ParticipantData) {
        for way in Way::BOTH {
            let writer = Guid::new(peer.guid_prefix, way.writer());
            if self.heard.contains(&writer) {
                let Peer { unicast, multicast, .. } = Peer::of(peer);
                self.reader_mut(way).update_writer(writer, unicast, multicast);
            }
            if let Some(line) = self.lines.get_mut(&(peer.guid_prefix, way)) {
                line.moved(peer);
            }
        }
    }

    /// Calls into the line to a participant, which is made if need be and the participant has the reader of it.
    pub(crate) fn with_line<T>(
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
        let last_numbers = *self.last_numbers_mut(way);
        let line = self.lines.entry((peer.guid_prefix, way)).or_insert_with(|| {
            Line::new(now, guid, peer, way.reader(), config.max_message_size, last_numbers, out)
        });
        let before = line.waiting_octets();
        let result = call(line, out);
        self.waiting_octets.subtract(before);
        self.waiting_octets.add(line.waiting_octets());
        if let Some(due) = line.next_deadline() {
            self.wakeup = Some(self.wakeup.map_or(due, |wakeup| wakeup.min(due)));
        }
        Some(result)
    }

    pub(crate) fn has_room_for_answer(&self, prefix: GuidPrefix) -> bool {
        let line = self.lines.get(&(prefix, Way::Answers));
        line.is_none_or(Line::has_room) && self.waiting_octets.get() < MAX_WAITING_OCTETS
    }

    pub(crate) fn on_timer(&mut self, now: Now, out: &mut Outbox) {
        if self.wakeup.is_some_and(|wakeup| wakeup <= now.mono) {
            self.lines.values_mut().for_each(|line| line.on_timer(now, out));
            self.wakeup = self.lines.values().filter_map(Line::next_deadline).min();
        }
    }

    /// The readers that know a writer get what it sends.
    pub(crate) fn feed(
        &mut self,
        now: Now,
        way: Way,
        peer: &ParticipantData,
        (state, submessage, packet): (&ReceiverState, &Submessage<'_>, &SharedBytes),
        out: &mut Outbox,
    ) -> Collector {
        let writer = Guid::new(peer.guid_prefix, way.writer());
        if self.heard.insert(writer) {
            let known = Peer::of(peer);
            match_writer(self.reader_mut(way), now, &known, way.writer(), out);
        }
        let mut collected = core::mem::take(&mut self.collected);
        feed(self.reader_mut(way), now, state, submessage, packet, &mut collected, out);
        collected
    }
}
