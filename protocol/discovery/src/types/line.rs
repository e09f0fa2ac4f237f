//! What goes from this participant to one other: the questions or the answers of the TypeLookup service (DDS-XTypes 1.3
//! §7.6.3.3.3), reliable and volatile.
//!
//! Each peer gets a stream of its own, in directed messages: with one stream for all, every question and every answer
//! would go to everybody.

use alloc::{collections::VecDeque, sync::Arc, vec::Vec};

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    Counter, Duration, EntityId, Guid, InstanceHandle, Locator, MonoTime, Now, SequenceNumber,
};
use dunlin_rtps::{
    Change, ChangeKind, HeartbeatCounts, ReaderProxyConfig, Writer, WriterConfig, WriterHistory,
};
use dunlin_wire::Submessage;

use crate::{
    builtin::{Peer, feed_writer},
    data::ParticipantData,
};

/// Messages of a line that the peer has not acknowledged.
const MAX_WAITING: usize = 16;
/// Octets of them, beyond which none is added.
const MAX_WAITING_OCTETS: usize = 256 * 1024;

/// What was not acknowledged yet.
#[derive(Debug, Default)]
struct Queue {
    changes: VecDeque<Change>,
    last: SequenceNumber,
    octets: Counter,
}

impl Queue {
    fn put(&mut self, now: Now, payload: SharedBytes) -> SequenceNumber {
        self.last = self.last.next();
        self.octets.add(payload.len());
        self.changes.push_back(Change {
            sn: self.last,
            kind: ChangeKind::Alive,
            instance: InstanceHandle::NIL,
            source_timestamp: now.wall,
            payload: Some(payload),
            inline_qos: None,
        });
        self.last
    }

    fn forget(&mut self, acked: SequenceNumber) {
        while let Some(change) = self.changes.front().filter(|change| change.sn <= acked) {
            let len = change.payload.as_ref().map_or(0, |payload| payload.len());
            self.octets.subtract(len);
            self.changes.pop_front();
        }
    }
}

impl WriterHistory for Queue {
    fn get(&self, sn: SequenceNumber) -> Option<&Change> {
        let at = self.changes.binary_search_by_key(&sn, |change| change.sn).ok()?;
        self.changes.get(at)
    }

    fn first_sn(&self) -> Option<SequenceNumber> {
        self.changes.front().map(|change| change.sn)
    }

    fn last_sn(&self) -> SequenceNumber {
        self.last
    }

    fn next_at_or_after(&self, sn: SequenceNumber) -> Option<SequenceNumber> {
        self.changes.iter().map(|change| change.sn).find(|there| *there >= sn)
    }
}

/// Where lines have ended. A peer that has never forgotten this participant still knows the line before: what has the
/// numbers of that it takes for duplicates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LastNumbers {
    last: SequenceNumber,
    counts: HeartbeatCounts,
}

impl LastNumbers {
    /// The later of two, in each regard.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { last: self.last.max(other.last), counts: self.counts.max(other.counts) }
    }
}

/// A writer with one reader, and what that has not acknowledged.
#[derive(Debug)]
pub(crate) struct Line {
    writer: Writer,
    queue: Queue,
    reader: Guid,
}

/// Where a participant receives what is meant for it alone.
fn places(data: &ParticipantData) -> (Arc<[Locator]>, Arc<[Locator]>) {
    let Peer { unicast, multicast, .. } = Peer::of(data);
    let multicast = if unicast.is_empty() { multicast } else { Arc::default() };
    (unicast, multicast)
}

impl Line {
    /// A line from a writer to a reader of another participant.
    pub(crate) fn new(
        now: Now,
        guid: Guid,
        peer: &ParticipantData,
        reader: EntityId,
        max_message_size: usize,
        last_numbers: LastNumbers,
        out: &mut Outbox,
    ) -> Self {
        let config = WriterConfig {
            guid,
            only: Some(peer.guid_prefix),
            reliable: true,
            keyed: false,
            transient_local: false,
            frugal: true,
            max_message_size,
            heartbeat_period: Duration::from_millis(60),
            heartbeat_max_period: Duration::from_secs(2),
            ..WriterConfig::default()
        };
        let (unicast, multicast) = places(peer);
        let reader = Guid::new(peer.guid_prefix, reader);
        let proxy = ReaderProxyConfig {
            guid: reader,
            reliable: true,
            durable: false,
            expects_inline_qos: false,
            unicast,
            multicast,
            vendor: peer.vendor,
            begun_set: None,
            filter: None,
            minimum_separation: Duration::ZERO,
        };
        let queue = Queue { last: last_numbers.last, ..Queue::default() };
        let mut line = Self { writer: Writer::new(config), queue, reader };
        line.writer.continue_counts(last_numbers.counts);
        line.writer.match_reader(now, proxy, &line.queue, out);
        line.sent();
        line
    }

    /// Where it is, for the next line.
    pub(crate) fn last_numbers(&self) -> LastNumbers {
        LastNumbers { last: self.queue.last, counts: self.writer.heartbeat_counts() }
    }

    /// Whether it takes a message: not too much was left without acknowledgement.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.changes.len() < MAX_WAITING && self.queue.octets.get() < MAX_WAITING_OCTETS
    }

    /// Octets that were not acknowledged.
    pub(crate) const fn waiting_octets(&self) -> usize {
        self.queue.octets.get()
    }

    /// Sends a message; false if too much was not acknowledged yet.
    pub(crate) fn write(&mut self, now: Now, payload: Vec<u8>, out: &mut Outbox) -> bool {
        if !self.has_room() {
            return false;
        }
        let sn = self.queue.put(now, payload.into());
        self.writer.on_new_change(now, sn, &self.queue, out);
        self.sent();
        true
    }

    /// Asks for the acknowledgement of what was sent.
    pub(crate) fn hurry(&mut self, now: Now, out: &mut Outbox) {
        self.writer.request_acknowledgments(now, &self.queue, out);
        self.sent();
    }

    pub(crate) fn on_submessage(&mut self, now: Now, submessage: &Submessage<'_>, out: &mut Outbox) {
        if feed_writer(&mut self.writer, now, self.reader.prefix, submessage, &self.queue, out) {
            self.queue.forget(self.writer.acked_by_all());
            self.sent();
        }
    }

    pub(crate) fn on_timer(&mut self, now: Now, out: &mut Outbox) {
        if self.next_deadline().is_some_and(|due| due <= now.mono) {
            self.writer.on_timer(now, &self.queue, out);
            self.sent();
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.writer.next_deadline()
    }

    /// Takes up changed locators of the peer.
    pub(crate) fn moved(&mut self, peer: &ParticipantData) {
        let (unicast, multicast) = places(peer);
        self.writer.update_reader(self.reader, unicast, multicast);
    }

    fn sent(&mut self) {
        self.writer.mark_on_wire(self.writer.sent_sn());
    }
}
