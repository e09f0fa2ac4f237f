//! RTPS 2.5 §8.4.9.2 "pushing": how much new data may be under way to readers that did not say yet that they took it, so
//! that it finds room in their socket buffers.
//!
//! An ACKNACK counts whole changes, and one of them may be larger than any buffer. So the clock is an exchange of its own
//! between Dunlin peers: after each half of the window an ECHO_REQUEST follows the data on the same way, and what was sent
//! before it has been taken from the socket, or is lost, when the ECHO comes. Other vendors' readers know no ECHO and have no
//! window.

use super::Writer;
use super::proxy::{Flow, ReaderProxy};
use super::round_trip::RoundTrip;
use crate::WriterHistory;
use crate::timing::is_due;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use dunlin_buf::Outbox;
use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, MonoTime, Now, VendorId};
use dunlin_wire::{Echo, EchoRequest};

/// Most requests whose answers are waited for.
const MAX_MARKS: usize = 32;
/// Of what may be under way, at least this part between two requests, so that those do not become too many.
const REQUESTS: u64 = 16;
/// Shortest time to an answer after which the request is repeated.
const MIN_PROBE: Duration = Duration::from_millis(2);
/// Longest time between requests while nobody answers.
const MAX_PROBE: Duration = Duration::from_millis(64);
/// Octets that a system keeps of its own for each datagram: a short one, and one that lies in whole pages.
const DATAGRAM_COST: usize = 768;
const PAGED_COST: usize = 1_280;
/// What is longer than one and, with what the system keeps beside it, no longer than the other has a power of two of octets.
const ROUNDED_FROM: usize = 2_048;
const ROUNDED_UP_TO: usize = 16 * 1024;
/// While another reader has room, one that has none is waited for only this part of the patience.
const IN_COMPANY: i64 = 8;
/// How often the time doubles after which a reader that was given up again and again has a window again.
const MAX_LAPSES: u32 = 6;

/// An ECHO_REQUEST under way.
#[derive(Clone, Copy, Debug)]
struct Mark {
    count: i32,
    /// Octets that were sent before it.
    sent: u64,
    at: MonoTime,
}

/// Octets of a receiver's socket buffer that a datagram takes up, if it shares none with others.
pub(super) fn cost(len: usize) -> usize {
    let with_head = len.saturating_add(DATAGRAM_COST / 2);
    match with_head {
        0..ROUNDED_FROM => len.saturating_add(DATAGRAM_COST),
        ROUNDED_FROM..=ROUNDED_UP_TO => with_head.next_power_of_two().saturating_add(DATAGRAM_COST / 2),
        _ => len.saturating_add(PAGED_COST),
    }
}

/// The window of one writer.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Octets; 0 is no window.
    size: usize,
    /// Octets of the datagram that waits for room, or would be next.
    next: usize,
    /// A reader that answers nothing for so long has no window until it answers.
    patience: Duration,
    /// Readers that have a window.
    readers: usize,
    /// Octets of all new data so far.
    sent: u64,
    /// That at the last request.
    asked: u64,
    /// Least that was taken by a reader with a window.
    drained: u64,
    /// Up to where may be sent: the least of what each of them has room for.
    ceiling: u64,
    /// The smallest window of theirs.
    narrowest: u64,
    /// Readers that were given up and have not answered since, and when those are asked again.
    overdue: usize,
    ask_overdue_at: MonoTime,
    marks: VecDeque<Mark>,
    count: i32,
    /// What had been sent when the window was last full.
    full_through: u64,
    /// Since when the window is full.
    full_since: Option<MonoTime>,
    probe_at: MonoTime,
    probe_interval: Duration,
}

impl Window {
    pub(super) fn new(size: usize, next: usize, patience: Duration) -> Self {
        Self {
            size,
            next,
            patience,
            readers: 0,
            sent: 0,
            asked: 0,
            drained: 0,
            ceiling: 0,
            narrowest: 0,
            overdue: 0,
            ask_overdue_at: MonoTime::default(),
            marks: VecDeque::new(),
            count: 0,
            full_through: 0,
            full_since: None,
            probe_at: MonoTime::default(),
            probe_interval: MIN_PROBE,
        }
    }

    fn in_use(&self) -> bool {
        self.size > 0 && self.readers > 0
    }

    /// Octets that may be under way to a reader: the window, and what the path itself holds.
    fn limit(&self, flow: &Flow, round_trip: &RoundTrip) -> u64 {
        (self.size as u64)
            .max(flow.room)
            .max(flow.in_socket)
            .saturating_add(flow.path.octets(round_trip.nearest()))
    }

    /// Octets of the longest datagram of which two find room; `None` where any does.
    pub(super) fn longest(&self) -> Option<usize> {
        self.in_use().then_some((self.size / 2).saturating_sub(PAGED_COST))
    }

    /// Whether a datagram of up to `len` octets may leave; if not, it is what waits for room.
    pub(super) fn lets_leave(&mut self, len: usize) -> bool {
        self.next = len;
        self.is_open()
    }

    /// Whether what waits may leave.
    fn is_open(&self) -> bool {
        let next = self.next as u64;
        !self.in_use() || self.sent <= self.drained || self.sent.saturating_add(next) <= self.ceiling
    }

    /// Whether a reader has no room for what waits.
    fn is_full_for(&self, flow: &Flow, round_trip: &RoundTrip) -> bool {
        self.sent > flow.drained
            && self.sent.saturating_add(self.next as u64)
                > flow.drained.saturating_add(self.limit(flow, round_trip))
    }

    /// Accounts for a datagram of new data, which other datagrams share a buffer with or not.
    pub(super) fn spend(&mut self, len: usize, alone: bool) {
        let cost = if alone { cost(len) } else { len };
        self.sent = self.sent.saturating_add(cost as u64);
    }

    /// Whether it is time to ask: half of the window was sent since.
    pub(super) fn wants_echo(&self, next: usize) -> bool {
        let since = self.sent.saturating_sub(self.asked).saturating_add(next as u64);
        self.in_use() && since > ((self.size as u64) / 2).max(self.narrowest / REQUESTS)
    }

    /// The next request, and that it leaves now.
    pub(super) fn ask(&mut self, now: MonoTime, writer_id: EntityId) -> EchoRequest {
        self.count = self.count.wrapping_add(1);
        self.asked = self.sent;
        if self.marks.len() >= MAX_MARKS {
            // Of those under way, every other one does as well.
            let mut keep = false;
            self.marks.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.marks.push_back(Mark { count: self.count, sent: self.sent, at: now });
        EchoRequest { reader_id: EntityId::UNKNOWN, writer_id, count: self.count }
    }

    /// Takes up which readers have a window and how far they are.
    fn survey<'p>(&mut self, proxies: impl Iterator<Item = &'p ReaderProxy>) {
        let (mut readers, mut overdue, mut drained) = (0usize, 0usize, self.sent);
        let (mut ceiling, mut narrowest) = (u64::MAX, u64::MAX);
        for proxy in proxies.filter(|proxy| proxy.is_sent_new_data()) {
            let Some(flow) = &proxy.flow else { continue };
            if flow.overdue {
                overdue = overdue.saturating_add(1);
                continue;
            }
            let limit = self.limit(flow, &proxy.round_trip);
            readers = readers.saturating_add(1);
            drained = drained.min(flow.drained);
            narrowest = narrowest.min(limit);
            ceiling = ceiling.min(flow.drained.saturating_add(limit));
        }
        (self.readers, self.overdue, self.drained) = (readers, overdue, drained);
        (self.ceiling, self.narrowest) = (ceiling, narrowest);
        if readers > 0 && self.marks.capacity() < MAX_MARKS {
            // Asking allocates nothing.
            self.marks.reserve(MAX_MARKS);
        }
    }

    /// Notes that a reader has taken what was sent up to there. Returns whether that is news, and whether it may move the
    /// window, so that the readers have to be surveyed: not if another one is farther behind. Who was given up is waited
    /// for again: after the first time at once, then ever later.
    fn advance(&self, now: MonoTime, flow: &mut Flow, round_trip: &RoundTrip, to: u64) -> (bool, bool) {
        let back = flow.overdue && now >= self.readmitted_at(flow);
        let news = to > flow.drained || back;
        let moves = flow.drained.saturating_add(self.limit(flow, round_trip)) <= self.ceiling;
        let slowest = back || (news && !flow.overdue && (moves || flow.drained <= self.drained));
        flow.drained = flow.drained.max(to);
        flow.overdue &= !back;
        (news, slowest)
    }

    /// From when on an answer makes a reader that was given up one that is waited for.
    fn readmitted_at(&self, flow: &Flow) -> MonoTime {
        match flow.lapses.checked_sub(2) {
            None => flow.given_up_at,
            Some(doublings) => flow.given_up_at.plus(self.patience.times(1 << doublings.min(MAX_LAPSES))),
        }
    }

    /// Gives up a reader.
    fn give_up(&self, now: MonoTime, flow: &mut Flow) {
        let steady =
            now.since(self.readmitted_at(flow)) > self.patience.times(4 << flow.lapses.min(MAX_LAPSES));
        flow.lapses = if steady { 1 } else { flow.lapses.saturating_add(1) };
        (flow.overdue, flow.given_up_at) = (true, now);
    }

    /// Whether it is time to ask readers that were given up.
    fn asks_overdue(&self, now: MonoTime) -> bool {
        self.overdue > 0 && now >= self.ask_overdue_at
    }
}

impl ReaderProxy {
    /// What an answer to a question about the window changes.
    fn clocked(&mut self) -> Option<(&mut Flow, &mut RoundTrip)> {
        Some((self.flow.as_deref_mut()?, &mut self.round_trip))
    }

    /// Its window, if it counts.
    fn awaited(&self) -> Option<&Flow> {
        self.flow.as_deref().filter(|flow| !flow.overdue && self.is_sent_new_data())
    }
}

impl Writer {
    /// Whether a reader takes part in the exchange that clocks the window.
    pub(super) fn has_window(&self, proxy: &ReaderProxy) -> bool {
        // What does not leave the process fills no buffer.
        let local = proxy.guid().prefix == self.cfg.guid.prefix;
        self.cfg.window > 0 && proxy.reliable && proxy.cfg.vendor == VendorId::DUNLIN && !local
    }

    /// The readers have changed.
    pub(super) fn survey_window(&mut self) {
        if self.cfg.window > 0 {
            self.window.survey(self.proxies.iter().map(|proxy| &**proxy));
            self.reopen();
        }
    }

    /// A reader may have come into shared memory or left it, or the room there may be another one.
    pub(super) fn note_rooms(&mut self) {
        let mut changed = false;
        for index in 0..self.proxies.len() {
            let room = self.proxies.get(index).map_or(0, |proxy| self.room_in_memory(proxy));
            let flow = self.proxies.get_mut(index).and_then(|proxy| proxy.flow.as_mut());
            if let Some(flow) = flow.filter(|flow| flow.room != room) {
                flow.room = room;
                changed = true;
            }
        }
        if changed {
            self.survey_window();
        }
    }

    /// How far new readers count as being.
    pub(super) fn window_position(&self) -> u64 {
        self.window.sent
    }

    /// What was sent up to an ECHO_REQUEST has been taken from the reader's socket. False when it is not the answer to a
    /// request of this writer, or a repetition.
    pub fn on_echo(&mut self, now: Now, source_prefix: GuidPrefix, echo: &Echo) -> bool {
        let mark = self.window.marks.iter().find(|mark| mark.count == echo.count).copied();
        let index = self.find(Guid::new(source_prefix, echo.reader_id));
        let room = index.and_then(|index| self.room_in_socket(index, echo.room));
        let proxy = index.and_then(|index| self.proxies.get_mut(index));
        let parts = proxy.map(|proxy| &mut **proxy).and_then(ReaderProxy::clocked);
        let (Some(mark), Some((flow, round_trip))) = (mark, parts) else { return false };
        self.stats.echoes_received = self.stats.echoes_received.saturating_add(1);
        if mark.at < flow.given_up_at {
            // An answer that comes after all says how long the reader stood still, not how far away it is; and whether it
            // goes on, the answer to a later question shows.
            flow.drained = flow.drained.max(mark.sent);
            return false;
        }
        let before = (round_trip.least(), self.window.limit(flow, round_trip));
        if let Some(room) = room {
            (flow.told, flow.in_socket) = (echo.room, room);
        }
        // Where the window was not used up, answers say nothing about how much there is room for.
        let used_up = mark.sent <= self.window.full_through;
        let taken = if used_up { mark.sent.saturating_sub(flow.drained) } else { 0 };
        let took = now.mono.since(mark.at);
        round_trip.echoed(now.mono, took);
        flow.path.answered(now.mono, took, round_trip.nearest(), taken);
        let wider = (round_trip.least(), self.window.limit(flow, round_trip)) != before;
        let (news, slowest) = self.window.advance(now.mono, flow, round_trip, mark.sent);
        if slowest || wider {
            self.survey_window();
        }
        news
    }

    /// What counts of the room that a reader has in its socket, if it says something new about it: on a network there may be
    /// less on the way.
    fn room_in_socket(&self, index: usize, told: u32) -> Option<u64> {
        let proxy = self.proxies.get(index)?;
        proxy.flow.as_ref().filter(|flow| flow.told != told)?;
        let room = u64::from(told).min(self.cfg.window_limit as u64);
        Some(if self.is_within_host(proxy.directed()) { room } else { 0 })
    }

    /// A reader that has acknowledged everything has taken everything.
    pub(super) fn note_taken(&mut self, now: MonoTime, index: usize) {
        let complete = self.next_fragment <= 1;
        let (pushed, sent) = (self.pushed, self.window.sent);
        let taken = |proxy: &&mut Box<ReaderProxy>| complete && proxy.acked >= pushed;
        let proxy = self.proxies.get_mut(index).filter(taken).map(|proxy| &mut **proxy);
        let Some((flow, round_trip)) = proxy.and_then(ReaderProxy::clocked) else { return };
        if self.window.advance(now, flow, round_trip, sent).1 {
            self.survey_window();
        }
    }

    /// Lets new data go on that waited for the window, if there is room in it now.
    fn reopen(&mut self) {
        if self.window.full_since.is_some() && self.window.is_open() {
            self.window.full_since = None;
            self.window.probe_interval = MIN_PROBE;
            if self.has_waiting_data() && !self.holding {
                self.push_due = Some(MonoTime::default());
            }
        }
    }

    /// The window is full: when to look again. Asks again when an answer does not come, and gives up on readers that do
    /// not answer at all; true when there is room thereby.
    pub(super) fn wait_for_window(
        &mut self,
        now: MonoTime,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        let (answer_time, patience) = self.patience_now();
        self.window.full_through = self.window.sent;
        let Some(since) = self.window.full_since else {
            let window = &mut self.window;
            window.full_since = Some(now);
            window.probe_interval = answer_time;
            window.probe_at = now.plus(answer_time);
            self.stats.window_full = self.stats.window_full.saturating_add(1);
            if self.window.asked <= self.window.drained {
                self.ask_for_echo(now, history, out);
            }
            self.push_due = Some(self.window.probe_at);
            return false;
        };
        if now.since(since) >= patience.max(answer_time.times(2)) {
            self.give_up_on_silent(now);
            if self.window.is_open() {
                self.window.full_since = None;
                return true;
            }
        }
        if is_due(Some(self.window.probe_at), now) {
            let window = &mut self.window;
            window.probe_interval = window.probe_interval.times(2).min(MAX_PROBE.max(answer_time));
            window.probe_at = now.plus(window.probe_interval);
            self.stats.window_probes = self.stats.window_probes.saturating_add(1);
            self.ask_for_echo(now, history, out);
        }
        self.push_due = Some(self.window.probe_at);
        false
    }

    /// How long to wait for the answer of readers without room before asking again, and for these readers altogether: less
    /// if others have room.
    fn patience_now(&self) -> (Duration, Duration) {
        let (mut company, mut unknown, mut round_trip) = (false, false, Duration::ZERO);
        for proxy in &self.proxies {
            let Some(flow) = proxy.awaited() else { continue };
            let full = self.window.is_full_for(flow, &proxy.round_trip);
            company |= !full;
            if full {
                let least = proxy.round_trip.least();
                // It may be far away.
                unknown |= least == Duration::ZERO;
                round_trip = round_trip.max(least);
            }
        }
        let patience = self.window.patience.as_nanos();
        let patience = if company && !unknown { patience / IN_COMPANY } else { patience };
        (round_trip.times(2).max(MIN_PROBE), Duration::from_nanos(patience))
    }

    /// Readers without room have no window until they answer.
    fn give_up_on_silent(&mut self, now: MonoTime) {
        for proxy in &mut self.proxies {
            let flow = proxy.awaited();
            if !flow.is_some_and(|flow| self.window.is_full_for(flow, &proxy.round_trip)) {
                continue;
            }
            if let Some(flow) = &mut proxy.flow {
                self.window.give_up(now, flow);
                self.stats.readers_overdue = self.stats.readers_overdue.saturating_add(1);
            }
        }
        self.window.full_since = Some(now);
        self.window.survey(self.proxies.iter().map(|proxy| &**proxy));
    }

    /// Asks for an ECHO if half of the window was sent since the last question, or if readers that were given up have not
    /// been asked for long; `next` octets are still to follow.
    pub(super) fn ask_if_due(
        &mut self,
        now: MonoTime,
        next: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        if self.window.wants_echo(next) || self.window.asks_overdue(now) {
            self.ask_for_echo(now, history, out);
        }
    }

    /// The next request, which leaves now.
    pub(super) fn echo_request(&mut self, now: MonoTime) -> EchoRequest {
        self.window.ask_overdue_at = now.plus(MAX_PROBE);
        self.stats.echoes_requested = self.stats.echoes_requested.saturating_add(1);
        self.window.ask(now, self.cfg.guid.entity_id)
    }

    /// Asks all readers to say that they took what was sent so far, and tells them how far that is, so that they request
    /// at once what they miss of it.
    pub(super) fn ask_for_echo(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        let pushed = self.pushed;
        let heartbeat = self.announce(EntityId::UNKNOWN, pushed, history);
        let fragments = self.heartbeat_frag(pushed.next());
        let request = self.echo_request(now);
        let mut message = self.framing.begin(out);
        message.heartbeat(&dunlin_wire::Heartbeat { final_flag: true, ..heartbeat });
        if let Some(fragments) = fragments {
            message.heartbeat_frag(&fragments);
        }
        message.echo_request(&request);
        message.finish(&self.routes);
    }
}
