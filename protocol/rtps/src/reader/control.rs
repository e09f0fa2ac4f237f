//! RTPS 2.5 §8.3.8.4 Gap, §8.3.8.6 Heartbeat and §8.3.8.7 HeartbeatFrag at the reader.

use dunlin_buf::Outbox;
use dunlin_core::{EntityId, GuidPrefix, Misbehaviour, Now, SequenceNumber, SnRange};
use dunlin_wire::{EchoRequest, Gap, Heartbeat, HeartbeatFrag, ReceiverState};

use super::Reader;
use super::proxy::WriterProxy;
use crate::DeliverySink;

/// Whom a HEARTBEAT or a GAP came from, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The writer's participant.
    pub prefix: GuidPrefix,
    /// An INFO_DST named the reader's participant. Without one a reader's entity id may be meant for the reader of the
    /// same id in another participant.
    pub directed: bool,
}

impl From<&ReceiverState> for Source {
    fn from(state: &ReceiverState) -> Self {
        Self { prefix: state.source_prefix, directed: state.directed }
    }
}

/// From somebody who named no destination.
impl From<GuidPrefix> for Source {
    fn from(prefix: GuidPrefix) -> Self {
        Self { prefix, directed: false }
    }
}

impl Reader {
    /// Takes what a writer says it has, and answers if it wants an answer or something is missing. True when the
    /// HEARTBEAT is news from a matched writer, so that its liveliness flag counts.
    pub fn on_heartbeat(
        &mut self,
        now: Now,
        source: Source,
        heartbeat: &Heartbeat,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) -> bool {
        let index = self.addressed(source.prefix, heartbeat.writer_id, heartbeat.reader_id);
        let Some(index) = index else { return false };
        let Some(proxy) = self.writers.get_mut(index) else { return false };
        let valid =
            heartbeat.first_sn >= SequenceNumber::FIRST && heartbeat.last_sn >= heartbeat.first_sn.previous();
        if valid && !proxy.believes(now.mono, heartbeat.first_sn) {
            self.stats.heartbeats_ignored = self.stats.heartbeats_ignored.saturating_add(1);
            self.ask_what_is_gone(now.mono, index, out);
            return false;
        }
        if !valid || !proxy.announced.heartbeats.accept(now.mono, heartbeat.count) {
            self.stats.heartbeats_ignored = self.stats.heartbeats_ignored.saturating_add(1);
            self.refused = Some(Misbehaviour::RepeatedCount);
            return false;
        }
        self.stats.heartbeats_received = self.stats.heartbeats_received.saturating_add(1);
        self.note_addressee(index, source, heartbeat.reader_id);
        let Some(proxy) = self.writers.get_mut(index) else { return false };
        if proxy.reliable {
            let is_first = !proxy.was_told_what_there_is();
            proxy.announce(now.mono, heartbeat.first_sn, heartbeat.last_sn);
            if heartbeat.reader_id != EntityId::UNKNOWN && heartbeat.last_sn < SequenceNumber::FIRST {
                proxy.begins_with_the_first();
            }
            self.advance(now, index, sink);
            // The first one ends the questions of a reader that was never answered. Where that has acknowledged all before it lost the
            // writer, no other kind may follow.
            let quiet = heartbeat.final_flag && heartbeat.liveliness_flag && !is_first;
            self.answer(now.mono, index, !heartbeat.final_flag, quiet, out);
        }
        true
    }

    /// Takes how much of a change has been sent so far, and requests what is missing of it.
    pub fn on_heartbeat_frag(
        &mut self,
        now: Now,
        source_prefix: GuidPrefix,
        heartbeat: &HeartbeatFrag,
        out: &mut Outbox,
    ) {
        let index = self.addressed(source_prefix, heartbeat.writer_id, heartbeat.reader_id);
        let Some(index) = index else { return };
        let Some(proxy) = self.writers.get_mut(index).filter(|proxy| proxy.reliable) else { return };
        if !proxy.announced.fragment_heartbeats.made().accept(now.mono, heartbeat.count) {
            self.stats.heartbeats_ignored = self.stats.heartbeats_ignored.saturating_add(1);
            self.refused = Some(Misbehaviour::RepeatedCount);
            return;
        }
        let partials = proxy.ahead.partials.if_made();
        let (sn, last) = (heartbeat.writer_sn, heartbeat.last_fragment_num);
        if partials.is_some_and(|partials| partials.announce_fragments(sn, last)) {
            self.answer(now.mono, index, true, false, out);
        }
    }

    /// Answers that everything sent before was taken, and tells at once what that has changed.
    pub fn on_echo_request(
        &mut self,
        now: Now,
        source_prefix: GuidPrefix,
        request: &EchoRequest,
        out: &mut Outbox,
    ) {
        let index = self.addressed(source_prefix, request.writer_id, request.reader_id);
        let Some(index) = index else { return };
        // A best-effort reader clocks no window: it answers what it alone is asked.
        let answers = |proxy: &&mut WriterProxy| proxy.reliable || request.reader_id != EntityId::UNKNOWN;
        let Some(proxy) = self.writers.get_mut(index).filter(answers) else { return };
        if proxy.ack.echoes.made().pass(now.mono) {
            self.send_echo(now.mono, index, request.count, out);
        }
    }

    /// Takes which changes will not come.
    pub fn on_gap(
        &mut self,
        now: Now,
        source: Source,
        gap: &Gap,
        sink: &mut dyn DeliverySink,
        out: &mut Outbox,
    ) {
        let Some(index) = self.addressed(source.prefix, gap.writer_id, gap.reader_id) else { return };
        if gap.gap_start < SequenceNumber::FIRST {
            return;
        }
        self.note_addressee(index, source, gap.reader_id);
        let Some(proxy) = self.writers.get_mut(index) else { return };
        self.stats.gaps_received = self.stats.gaps_received.saturating_add(1);
        let filtered = gap.filtered_count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        self.stats.filtered_at_writer = self.stats.filtered_at_writer.saturating_add(filtered);
        let base = gap.gap_list.base();
        if gap.gap_start < base {
            proxy.gap(SnRange::new(gap.gap_start, base.previous()));
        }
        for sn in gap.gap_list.iter() {
            proxy.call_irrelevant(SnRange::new(sn, sn));
        }
        self.advance(now, index, sink);
        self.ask_if_unconfirmed(now.mono, index, out);
    }
}
