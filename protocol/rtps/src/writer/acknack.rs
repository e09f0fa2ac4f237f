//! RTPS 2.5 §8.3.8.1 AckNack and §8.3.8.12 NackFrag at the writer: what readers have and what they ask for.

use dunlin_buf::Outbox;
use dunlin_core::{
    Guid, GuidPrefix, Misbehaviour, MonoTime, Now, SequenceNumber, SequenceNumberSet, SnRange,
};
use dunlin_wire::{AckNack, NackFrag};

use super::Writer;
use super::readers::{Lacking, MAX_REQUEST_INTERVALS, ReaderProxy, ReaderState, Terms, WHOLE};
use crate::WriterHistory;
use crate::proxy_index::ProxyIndex;

/// What an ACKNACK changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckOutcome {
    /// It came from a matched reliable reader and was not a repetition.
    pub accepted: bool,
    /// It was the first of that reader.
    pub first: bool,
    /// [`Writer::acked_by_all`] has risen.
    pub acked_advanced: bool,
    /// Every matched reliable reader has acknowledged everything that was sent.
    pub all_acked: bool,
}

impl Writer {
    /// Takes a reader's acknowledgments, and serves what it asks for: the change if it is there, a GAP if not, a
    /// HEARTBEAT if it wants an answer.
    pub fn on_acknack(
        &mut self,
        now: Now,
        source_prefix: GuidPrefix,
        acknack: &AckNack,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> AckOutcome {
        let now = now.mono;
        let reader = Guid::new(source_prefix, acknack.reader_id);
        let mut first = false;
        let is_new = |proxy: &mut ReaderProxy| {
            first = !proxy.acks.heard();
            proxy.acks.accept(now, acknack.count)
        };
        let Some(index) = self.accept(now, reader, is_new) else { return AckOutcome::default() };
        self.stats.acknacks_received = self.stats.acknacks_received.saturating_add(1);
        let before = self.acked_by_all();
        let set = &acknack.reader_sn_state;
        if let Some(proxy) = self.readers.get_mut(index) {
            proxy.round_trip.answered(now, set);
        }
        let through = set.base().previous();
        if through > self.transmission.pushed() {
            self.refused = Some(Misbehaviour::AcknowledgesUnsent);
        }
        let moved = self.acknowledge(index, through);
        if moved {
            self.transmission.note_taken(now, &mut self.readers, index);
        }
        self.note_return(index);
        self.note_repeated(now, index, set);
        self.release_requested(now, index, set, history, out);
        self.request(now, index, set);
        if !acknack.final_flag {
            self.owe_reply(now, index);
        }
        if moved && self.acked_by_all() < self.transmission.pushed() {
            self.heartbeat_soon(now);
        }
        self.serve(now, index, history, out);
        let acked = self.acked_by_all();
        AckOutcome {
            accepted: true,
            first,
            acked_advanced: acked > before,
            all_acked: acked >= self.transmission.pushed(),
        }
    }

    /// Takes a reader's request for fragments; false when it is a repetition or from a reader that is not matched.
    pub fn on_nack_frag(
        &mut self,
        now: Now,
        source_prefix: GuidPrefix,
        nack: &NackFrag,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        let now = now.mono;
        let reader = Guid::new(source_prefix, nack.reader_id);
        let Some(index) =
            self.accept(now, reader, |proxy| proxy.fragment_nacks.made().accept(now, nack.count))
        else {
            return false;
        };
        self.stats.nack_frags_received = self.stats.nack_frags_received.saturating_add(1);
        let sn = nack.writer_sn;
        if sn < SequenceNumber::FIRST || sn > self.transmission.pushed().next() {
            self.refused = Some(Misbehaviour::RequestsUnsent);
            return true;
        }
        let fragmented = self.is_fragmented(sn, history);
        if let Some(first) = nack.fragment_number_state.iter().next() {
            let named = u32::try_from(nack.fragment_number_state.iter().count()).unwrap_or(u32::MAX);
            self.note_lack_of(now, index, (sn, first), Lacking::Fragments(sn, first, named));
        }
        let Some(proxy) = self.readers.get_mut(index) else { return false };
        let previous = proxy.requests.due;
        if sn > proxy.start && fragmented {
            let suppression = proxy.suppression(self.cfg.nack_suppression);
            let (requests, numbers) = (proxy.requests.made(), &nack.fragment_number_state);
            let suppressed = requests.add_fragments(now, sn, numbers, &proxy.account.log, suppression);
            self.stats.requests_suppressed =
                self.stats.requests_suppressed.saturating_add(u64::from(suppressed));
        } else if sn <= self.transmission.pushed() {
            proxy.requests.made().whole.insert(SnRange::new(sn, sn), MAX_REQUEST_INTERVALS);
        }
        proxy.requests.made().rearm_for_more(now.plus(self.cfg.nack_response_delay), previous);
        self.heartbeat_soon(now);
        self.serve(now, index, history, out);
        true
    }

    /// The reliable reader a submessage came from, unless `is_new` says it was seen before.
    fn accept(
        &mut self,
        now: MonoTime,
        reader: Guid,
        is_new: impl FnOnce(&mut ReaderProxy) -> bool,
    ) -> Option<ProxyIndex> {
        let index = self.readers.find(reader);
        let proxy = index.and_then(|index| self.readers.get_mut(index));
        let why = match &proxy {
            None => Misbehaviour::NotMatched,
            Some(proxy) if !proxy.reliable => Misbehaviour::BestEffortRequest,
            Some(_) => Misbehaviour::RepeatedCount,
        };
        if let Some(proxy) = proxy.filter(|proxy| proxy.reliable)
            && is_new(proxy)
        {
            if let Some(silence) = &mut proxy.silence {
                silence.end();
            }
            if proxy.state == ReaderState::Silent {
                self.answers_again(now, reader);
            }
            return index;
        }
        self.stats.requests_ignored = self.stats.requests_ignored.saturating_add(1);
        self.refused = Some(why);
        None
    }

    /// Everything up to `through` has arrived, as far as it was sent. True when that is news.
    pub(super) fn acknowledge(&mut self, index: ProxyIndex, through: SequenceNumber) -> bool {
        self.readers.acknowledge(index, through.min(self.transmission.pushed()))
    }

    /// Looks whether a reader lacks what it was sent again already.
    fn note_repeated(&mut self, now: MonoTime, index: ProxyIndex, set: &SequenceNumberSet) {
        if let Some(first) = set.iter().next() {
            self.note_lack_of(now, index, (first, WHOLE), Lacking::Change(first));
        } else if let Some(silence) = self.readers.get_mut(index).and_then(|proxy| proxy.silence.as_mut()) {
            silence.lacks_nothing();
        }
    }

    fn note_lack_of(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        what: (SequenceNumber, u32),
        lacking: Lacking,
    ) {
        let repaired = |proxy: &&ReaderProxy| proxy.requests.is_empty() && proxy.was_repaired(what.0, what.1);
        if self.readers.get(index).filter(repaired).is_some() {
            self.note_lack(now, index, lacking);
        }
    }

    /// Replaces what a reader wants by what it says it wants now.
    fn request(&mut self, now: MonoTime, index: ProxyIndex, set: &SequenceNumberSet) {
        let Some(proxy) = self.readers.get_mut(index) else { return };
        let terms = Terms {
            last: self.transmission.pushed(),
            serve_at: now.plus(self.cfg.nack_response_delay),
            suppression: self.cfg.nack_suppression,
            has_history: proxy.cfg.durable && self.cfg.transient_local,
            frugal: self.cfg.frugal,
        };
        let suppressed = proxy.request(now, set, &terms);
        self.stats.requests_suppressed = self.stats.requests_suppressed.saturating_add(suppressed);
        if !proxy.requests.is_empty() {
            self.heartbeat_soon(now);
        }
    }

    /// Whether a change is there and travels in fragments.
    fn is_fragmented(&mut self, sn: SequenceNumber, history: &dyn WriterHistory) -> bool {
        let Some(change) = history.get(sn) else { return false };
        let for_readers = self.cfg.reader_inline_qos.as_ref().filter(|_| self.readers.expect_inline_qos());
        self.framing.inline_qos(change, for_readers, &mut self.inline);
        self.framing.needs_fragments(change, &self.inline)
    }
}
