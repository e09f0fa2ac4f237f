//! RTPS 2.5 §8.3.8.1 AckNack, §8.3.8.12 NackFrag and §8.4.12.2: what a reader tells its writers, and when.

use dunlin_buf::Outbox;
use dunlin_core::{Behaviour, Duration, MonoTime, Now, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, Echo, MessageBuilder, NackFrag};

use super::proxy::{Acquaintance, WriterProxy};
use super::{Reader, doubled};
use crate::proxy_index::ProxyIndex;
use crate::timing::{arm, is_due};

/// Most NACK_FRAG in one message, so that it stays within any path's MTU.
const MAX_NACK_FRAGS: usize = 16;
/// Least time between questions that any datagram may cause.
const QUIET: Duration = Duration::from_millis(10);
/// Longest time between ACKNACKs that say nothing new.
const MAX_QUIET: Duration = Duration::from_millis(64);
/// Longest time between requests to a writer that does not react.
const MAX_RETRY: Duration = Duration::from_secs(3);
/// Longest time between ACKNACKs to a writer that was never heard.
const MAX_PREEMPTIVE: Duration = Duration::from_secs(1);

impl Reader {
    /// Answers a HEARTBEAT: if the writer wants it, or if something is missing and the writer does not only assert its
    /// liveliness.
    pub(super) fn answer(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        wanted: bool,
        only_liveliness: bool,
        out: &mut Outbox,
    ) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        let missing = proxy.missing();
        let incomplete = !missing.is_empty() || proxy.ahead.partials.is_missing_fragments();
        if !wanted && (only_liveliness || !incomplete) {
            return;
        }
        let progress = proxy.unacknowledged() > proxy.ack.sent_base;
        let newly_missing = missing.iter().last().is_some_and(|last| last > proxy.ack.sent_announced);
        let news = progress || newly_missing || proxy.ahead.partials.is_request_news(wanted);
        let earliest = now.plus(self.cfg.heartbeat_response_delay);
        let at = match proxy.ack.sent_at {
            Some(sent_at) if !news => earliest.max(sent_at.plus(proxy.ack.quiet)),
            _ => earliest,
        };
        arm(&mut proxy.ack.due, at);
        self.acknowledge_if_due(now, index, out);
    }

    /// Sends the ACKNACK that is due, if any.
    pub(super) fn acknowledge_if_due(&mut self, now: MonoTime, index: ProxyIndex, out: &mut Outbox) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        if is_due(proxy.ack.preemptive_due, now) {
            proxy.ack.preemptive_due = Some(now.plus(proxy.ack.preemptive_interval));
            proxy.ack.preemptive_interval = doubled(proxy.ack.preemptive_interval, MAX_PREEMPTIVE);
            self.send_acknack(now, index, false, out);
        } else if is_due(proxy.ack.due, now) {
            self.send_acknack(now, index, true, out);
        } else if is_due(proxy.ack.retry_due, now) {
            proxy.ack.retry_due = None;
            if !proxy.missing().is_empty() || proxy.ahead.partials.is_missing_fragments() {
                // What was requested has not come: this time the writer has to answer.
                self.send_acknack(now, index, false, out);
            }
        }
        self.wake_for(index);
    }

    /// While data arrives from a writer that was never heard otherwise, what came before the data is unknown: ask now. What it has
    /// to announce it mostly announces with the data: ask if it does not.
    pub(super) fn ask_if_unheard(&mut self, now: Now, index: ProxyIndex, out: &mut Outbox) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        let awaits = proxy.awaits_announcement();
        if !proxy.reliable || proxy.ahead.store.is_empty() || (proxy.start.heard && !awaits) {
            return;
        }
        let at = match proxy.ack.sent_at {
            _ if awaits => now.mono.plus(QUIET),
            Some(sent_at) => sent_at.plus(QUIET),
            None => now.mono,
        };
        arm(&mut proxy.ack.preemptive_due, at);
        self.acknowledge_if_due(now.mono, index, out);
    }

    /// A HEARTBEAT says that changes are gone of which nothing was known: ask for them until it is clear.
    pub(super) fn ask_what_is_gone(&mut self, now: MonoTime, index: ProxyIndex, out: &mut Outbox) {
        let Some(proxy) = self.writers.get_mut(index) else { return };
        let ack = &mut proxy.ack;
        ack.preemptive_interval = QUIET;
        arm(&mut ack.preemptive_due, ack.sent_at.map_or(now, |sent_at| sent_at.plus(QUIET)));
        self.acknowledge_if_due(now, index, out);
    }

    /// While a GAP about what is expected waits for a HEARTBEAT that reaches as far, ask for one.
    pub(super) fn ask_if_unconfirmed(&mut self, now: MonoTime, index: ProxyIndex, out: &mut Outbox) {
        let Some(proxy) = self.writers.get_mut(index).filter(|proxy| proxy.awaits_heartbeat()) else {
            return;
        };
        let at = proxy.ack.sent_at.map_or(now, |sent_at| sent_at.plus(proxy.ack.quiet));
        arm(&mut proxy.ack.retry_due, at);
        self.acknowledge_if_due(now, index, out);
    }

    /// Sends an ECHO, together with an ACKNACK if more has arrived than the writer knows.
    pub(super) fn send_echo(&mut self, now: MonoTime, index: ProxyIndex, count: i32, out: &mut Outbox) {
        let Some(proxy) = self.writers.get(index) else { return };
        let writer_id = proxy.guid().entity_id;
        let room = self.cfg.receive_room.part();
        let echo = Echo { reader_id: self.cfg.guid.entity_id, writer_id, count, room };
        self.stats.echoes_sent = self.stats.echoes_sent.saturating_add(1);
        if proxy.reliable && proxy.unacknowledged() > proxy.ack.sent_base {
            self.send_answer(now, index, true, Some(echo), out);
            return;
        }
        let mut message = MessageBuilder::new(out, self.cfg.guid.prefix);
        message.info_dst(proxy.guid().prefix);
        message.echo(&echo);
        message.finish(proxy.destinations());
    }

    /// Tells a writer what has arrived and what is missing.
    pub(super) fn send_acknack(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        final_flag: bool,
        out: &mut Outbox,
    ) {
        self.send_answer(now, index, final_flag, None, out);
    }

    fn send_answer(
        &mut self,
        now: MonoTime,
        index: ProxyIndex,
        final_flag: bool,
        echo: Option<Echo>,
        out: &mut Outbox,
    ) {
        let reader_id = self.cfg.guid.entity_id;
        let count = self.next_acknack_count();
        let Some(proxy) = self.writers.get_mut(index) else { return };
        let writer = proxy.guid();
        let missing = proxy.missing();
        let asks_as_new = !final_flag && asks_as_new(proxy, &missing);
        let base = proxy.unacknowledged();
        let ack = &mut proxy.ack;
        let mut message = MessageBuilder::new(out, self.cfg.guid.prefix);
        message.info_dst(writer.prefix);
        message.acknack(&AckNack {
            reader_id,
            writer_id: writer.entity_id,
            reader_sn_state: if asks_as_new { SequenceNumberSet::empty(SequenceNumber(0)) } else { missing },
            count,
            final_flag,
        });
        if let Some(echo) = &echo {
            message.echo(echo);
        }
        self.stats.acknacks_sent = self.stats.acknacks_sent.saturating_add(1);
        let mut incomplete = !missing.is_empty();
        if let Some(partials) = proxy.ahead.partials.if_made() {
            partials.request_fragments(MAX_NACK_FRAGS, |writer_sn, set| {
                incomplete = true;
                self.nack_frags = self.nack_frags.wrapping_add(1);
                message.nack_frag(&NackFrag {
                    reader_id,
                    writer_id: writer.entity_id,
                    writer_sn,
                    fragment_number_state: set,
                    count: self.nack_frags,
                });
                self.stats.nack_frags_sent = self.stats.nack_frags_sent.saturating_add(1);
            });
        }
        let news = base > ack.sent_base;
        let quiet = if news { self.cfg.ack_suppression } else { doubled(ack.quiet, MAX_QUIET) };
        let retry = if news { self.cfg.nack_retry_period } else { doubled(ack.retry_interval, MAX_RETRY) };
        (ack.quiet, ack.retry_interval) = (quiet, retry);
        ack.retry_due = incomplete.then(|| now.plus(retry));
        (ack.sent_at, ack.due) = (Some(now), None);
        (ack.sent_base, ack.sent_announced) = (base, proxy.announced.last);
        message.finish(proxy.destinations());
        self.wake_for(index);
    }
}

/// Whether a writer is asked as by a reader that has met it just now, because it has to answer and its implementation
/// answers only such: one that has said nothing yet, as its first HEARTBEAT may have come before the reader had heard of it,
/// and one that is to show that it knows the reader. Of both there is nothing to acknowledge anyway.
fn asks_as_new(proxy: &WriterProxy, missing: &SequenceNumberSet) -> bool {
    (!proxy.start.heard || proxy.acquaintance == Acquaintance::AskedFor)
        && missing.is_empty()
        && proxy.expected == SequenceNumber::FIRST
        && proxy.cfg.vendor.does(Behaviour::AnswersOnlyNewReaders)
}
