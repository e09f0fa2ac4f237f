//! RTPS 2.5 §9.4.5.1.3 octetsToNextHeader: large changes on paths that lose nothing and carry messages longer than a datagram
//! ([`Path::whole_changes`](dunlin_core::Path::whole_changes)). Such are those within this process, through shared memory, and
//! over TCP to who takes long messages.
//!
//! The last submessage of a message may reach to its end, however long it is. So a change that needs fragments elsewhere is
//! one DATA there or, if that is too long for the path, few DATA_FRAGs of many fragments each. The fragments are those that
//! readers on other paths get, so a reader that changes its way goes on with what it has. Within a process no message is too
//! long, and its payload, which ends it, is not copied.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{EntityId, Guid, Locator, LocatorKind, MonoTime};
use dunlin_wire::{MessageBuilder, size};

use super::readers::ReaderProxy;
use super::{Writer, WriterConfig};
use crate::emit::Framing;
use crate::{Change, WriterHistory};

/// Octets of small changes that may be in flight on such a path: half of what a ring of shared memory begins with.
const FIRST_ROOM: u64 = 512 * 1024;
/// With a longer message a ring of full size takes the place of the first.
const FIRST_LONGEST: usize = 64 * 1024;

/// What a message counts for whose payload is lent: the octets that say where it lies.
pub(super) const LENT: usize = 64;

/// What such a payload counts for among others that wait for company: so much of itself that those of one batch are a small
/// part of a pool. A reader that has half of a pool gets copies.
pub(super) fn lent_in_batch(len: usize) -> usize {
    (len / 64).max(LENT)
}

/// What came of trying to send a change on lossless paths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Everybody has it.
    Complete,
    /// Pacer or window do not let it leave now.
    Deferred,
    /// Others get it in fragments.
    Others,
}

/// The longest message that may go to a place where changes need not be in fragments; `None` if they must be.
fn longest_to(cfg: &WriterConfig, to: &Locator) -> Option<usize> {
    cfg.path_to(to).whole_changes(cfg.max_message_size)
}

impl Writer {
    /// Whether a reader with these locators is reached on lossless paths alone.
    pub(super) fn is_lossless_to(&self, unicast: &[Locator]) -> bool {
        !unicast.is_empty() && unicast.iter().all(|to| longest_to(&self.cfg, to).is_some())
    }

    /// Octets that may be in flight to a reader although its socket has no room for them. One message more may leave, which
    /// still finds room in a ring of twice the longest. 0 where something may be lost.
    pub(super) fn lossless_room(&self, proxy: &ReaderProxy) -> u64 {
        if !self.is_lossless_to(&proxy.cfg.unicast) {
            return 0;
        }
        let room = proxy.cfg.unicast.iter().map(|to| self.cfg.path_to(to).room).min().unwrap_or(0);
        let longest = proxy.flow.as_ref().map_or(0, |flow| flow.longest_lossless());
        if longest > FIRST_LONGEST { room.max(longest) as u64 } else { (room as u64).min(FIRST_ROOM) }
    }

    /// A reader may have come to a lossless path or left it, or the room there may be another one.
    pub(super) fn note_rooms(&mut self) {
        let mut changed = false;
        for index in self.readers.indices() {
            let room = self.readers.get(index).map_or(0, |proxy| self.lossless_room(proxy));
            let flow = self.readers.get_mut(index).and_then(|proxy| proxy.flow.as_mut());
            changed |= flow.is_some_and(|flow| flow.set_room(room));
        }
        if changed {
            self.transmission.survey(&self.readers);
        }
    }

    /// Whether a payload lies where every reader that gets new data can have it, in shared memory alone. The kind says so, and
    /// not the path: who receives by that kind reads lent memory.
    pub(super) fn is_zero_copy(&self, payload: Option<&SharedBytes>) -> bool {
        let memory = payload.and_then(|payload| payload.memory());
        let lent = memory.is_some_and(|memory| memory.is_shared());
        let places = self.data_routes();
        lent && !places.is_empty() && places.iter().all(|to| to.kind == LocatorKind::SHARED_MEMORY)
    }

    /// Where the fragments of a large change go.
    pub(super) fn fragment_routes(&self) -> &[Locator] {
        self.transmission.split().fragment_routes(self.data_routes())
    }

    fn split_routes(&mut self) {
        let places = self.withheld.destinations(self.readers.routes());
        let cfg = &self.cfg;
        self.transmission.split_mut().divide(places, |to| longest_to(cfg, to).is_some());
    }

    /// Sends a change that needs fragments elsewhere to the readers on lossless paths, once.
    pub(super) fn push_lossless(
        &mut self,
        now: MonoTime,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> Progress {
        self.split_routes();
        if self.transmission.split().lossless().is_empty() {
            return Progress::Others;
        }
        let alone = self.transmission.split().is_lossless_alone();
        if self.transmission.split().through() < change.sn {
            if !self.transmission.may_leave(now, self.cfg.max_message_size) {
                return Progress::Deferred;
            }
            if self.withheld.is_on() {
                self.tell_before(change, history, out);
            }
            let longest = self.put_lossless(now, change, alone, history, out);
            self.transmission.split_mut().left(change.sn);
            if self.note_longest(longest) {
                self.note_rooms();
            }
        }
        if !alone {
            return Progress::Others;
        }
        self.stats.samples_sent = self.stats.samples_sent.saturating_add(1);
        Progress::Complete
    }

    /// Notes how long a message was that went to the readers on lossless paths out of this process; whether there is more room now,
    /// as a ring has that a longer message came through.
    fn note_longest(&mut self, len: usize) -> bool {
        let (mut larger, cfg) = (false, &self.cfg);
        for proxy in self.readers.iter_mut().filter(|proxy| proxy.is_sent_new_data()) {
            let outside = |to: &Locator| to.kind != LocatorKind::LOCAL && longest_to(cfg, to).is_some();
            if let Some(flow) = proxy.flow.as_mut().filter(|_| proxy.cfg.unicast.iter().any(outside)) {
                larger |= flow.note_longest(len) && len > FIRST_LONGEST;
            }
        }
        larger
    }

    /// Sends a change, with a HEARTBEAT behind it, to the readers on lossless paths, who are `alone` if there are no others. The
    /// octets of the longest message.
    fn put_lossless(
        &mut self,
        now: MonoTime,
        change: &Change,
        alone: bool,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> usize {
        let heartbeat = self.piggyback(now, change.sn, u32::from(alone), history);
        let mut pieces = self.pieces(change, self.transmission.split().lossless());
        let (mut longest, zero_copy) = (0, self.is_zero_copy(change.payload.as_ref()));
        loop {
            let mut message = self.framing.begin(out);
            message.payload_ends();
            let more = pieces.put(&self.framing, &mut message, change, &self.inline, EntityId::UNKNOWN);
            let left_over = heartbeat.filter(|heartbeat| !more && !message.heartbeat(heartbeat));
            let len = message.len();
            message.finish(self.transmission.split().lossless());
            // What stays where it is takes no room in a ring. Who may not borrow gets it through a ring that is then waited for.
            let taken = if zero_copy { LENT } else { len };
            longest = longest.max(taken);
            let left_over = self.not_superseded(left_over, change.sn);
            self.trail(left_over, self.transmission.split().lossless(), out);
            if alone {
                self.account_as(len, taken, true);
            } else {
                // What others get of it is what counts for pacer and window.
                self.stats.datagrams_sent = self.stats.datagrams_sent.saturating_add(1);
                self.stats.octets_sent = self.stats.octets_sent.saturating_add(len as u64);
            }
            if !more {
                return longest;
            }
        }
    }

    /// Sends a large change to one reader on a lossless path again.
    pub(super) fn repair_lossless(&mut self, guid: Guid, to: &[Locator], change: &Change, out: &mut Outbox) {
        let mut pieces = self.pieces(change, to);
        loop {
            let mut message = self.framing.begin(out);
            message.payload_ends();
            message.info_dst(guid.prefix);
            let more = pieces.put(&self.framing, &mut message, change, &self.inline, guid.entity_id);
            let len = message.len();
            message.finish(to);
            self.spend(len);
            if !more {
                return;
            }
        }
    }

    /// How a change is cut for places on lossless paths; its inline QoS is prepared.
    fn pieces(&self, change: &Change, to: &[Locator]) -> Pieces {
        let limit = to.iter().filter_map(|to| longest_to(&self.cfg, to)).min().unwrap_or(usize::MAX);
        let inline = self.inline.len();
        let head = size::HEADER.saturating_add(size::INFO_DST);
        if head.saturating_add(Framing::data_len(change, &self.inline)) <= limit {
            return Pieces { next: 1, each: None };
        }
        let head = head.saturating_add(size::INFO_TS).saturating_add(size::data_frag(inline, 0));
        let each = limit.saturating_sub(head).checked_div(usize::from(self.framing.fragment_size_of(change)));
        Pieces { next: 1, each: Some(u16::try_from(each.unwrap_or(1)).unwrap_or(u16::MAX).max(1)) }
    }
}

/// The messages of a large change.
struct Pieces {
    /// The fragment to go on with.
    next: u32,
    /// Fragments of a message; `None` if there is one DATA.
    each: Option<u16>,
}

impl Pieces {
    /// Appends the next piece; true if there are more.
    fn put(
        &mut self,
        framing: &Framing,
        message: &mut MessageBuilder<'_>,
        change: &Change,
        inline: &[u8],
        reader_id: EntityId,
    ) -> bool {
        let Some(each) = self.each else {
            framing.put_data(message, change, inline, reader_id);
            return false;
        };
        framing.put_fragments(message, change, inline, (self.next, each), reader_id);
        self.next = self.next.saturating_add(u32::from(each));
        self.next <= framing.fragment_count(change)
    }
}
