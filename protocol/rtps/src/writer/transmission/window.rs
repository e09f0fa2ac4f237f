//! RTPS 2.5 §8.4.9.2 "pushing": how much new data may be in flight to readers that did not say yet that they took it, so
//! that it finds room in their socket buffers.
//!
//! An ACKNACK counts whole changes, and one of them may be larger than any buffer. So the clock is an exchange of its own
//! between Dunlin peers: an ECHO_REQUEST follows the data on the same way, and what was sent before it has been taken from the
//! socket, or is lost, when the ECHO comes. It leaves after each half of the window that is configured, or after each sixteenth
//! of a window that has grown to more than eight times that. Other vendors' readers know no ECHO and have no window.

use alloc::collections::VecDeque;

use dunlin_core::{Duration, EntityId, MonoTime};
use dunlin_wire::{Echo, EchoRequest};

use crate::WriterStats;
use crate::timing::is_due;
use crate::writer::readers::{Flow, ReaderProxy, Readers, RoundTrip};

/// Most requests whose answers are waited for.
const MAX_MARKS: usize = 32;
/// Of what may be in flight, at least this part between two requests, so that those do not become too many.
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
const WITH_OTHER_READERS: i64 = 8;
/// How often the time doubles after which a reader that was given up again and again has a window again.
const MAX_LAPSES: u32 = 6;

/// An ECHO_REQUEST in flight.
#[derive(Clone, Copy, Debug)]
struct Mark {
    count: i32,
    /// Octets that were sent before it.
    sent: u64,
    at: MonoTime,
}

/// Octets of a receiver's socket buffer that a datagram takes up, if it shares none with others.
pub(in crate::writer) fn cost(len: usize) -> usize {
    let with_head = len.saturating_add(DATAGRAM_COST / 2);
    match with_head {
        0..ROUNDED_FROM => len.saturating_add(DATAGRAM_COST),
        ROUNDED_FROM..=ROUNDED_UP_TO => with_head.next_power_of_two().saturating_add(DATAGRAM_COST / 2),
        _ => len.saturating_add(PAGED_COST),
    }
}

/// What an ECHO changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::writer) struct Answer {
    /// The reader has taken more than was known.
    pub(in crate::writer) news: bool,
    /// The readers have to be [surveyed](super::Transmission::survey).
    pub(in crate::writer) moves: bool,
}

/// What to do while the window is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::writer) enum Blocked {
    /// It is full no more.
    No,
    /// To wait.
    Waiting,
    /// To ask the readers, and to wait.
    Asking,
}

/// The window of one writer.
///
/// Order of calls: [`lets_leave`](Self::lets_leave) and [`spend`](Self::spend) for each datagram, or [`block`](Self::block)
/// while it does not let it leave; [`request`](Self::request) when it [wants an echo](Self::wants_echo), and
/// [`answered`](Self::answered) for each answer; [`survey`](Self::survey) when the readers have changed or moved.
#[derive(Clone, Debug)]
pub(in crate::writer) struct Window {
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
    pub(in crate::writer) fn new(size: usize, next: usize, patience: Duration) -> Self {
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

    /// Whether the writer has one at all.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.size > 0
    }

    /// How far new readers count as being.
    pub(in crate::writer) fn position(&self) -> u64 {
        self.sent
    }

    /// The smallest of what may be under way to a reader, or 0 without readers that have a window.
    pub(in crate::writer) fn reach(&self) -> u64 {
        if self.in_use() { self.narrowest } else { 0 }
    }

    /// When data that waits is to be looked at again.
    pub(super) fn probe_at(&self) -> MonoTime {
        self.probe_at
    }

    /// Octets that may be in flight to a reader: the window, and what the path itself holds.
    fn limit(&self, flow: &Flow, round_trip: &RoundTrip) -> u64 {
        (self.size as u64)
            .max(flow.room)
            .max(flow.in_socket)
            .saturating_add(flow.path.octets(round_trip.nearest()))
    }

    /// Octets of the longest datagram of which two find room; `None` where any does.
    pub(in crate::writer) fn longest(&self) -> Option<usize> {
        self.in_use().then_some((self.size / 2).saturating_sub(PAGED_COST))
    }

    /// Whether a datagram of up to `len` octets may leave; if not, it is what waits for room.
    pub(in crate::writer) fn lets_leave(&mut self, len: usize) -> bool {
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
    pub(in crate::writer) fn spend(&mut self, len: usize, alone: bool) {
        let cost = if alone { cost(len) } else { len };
        self.sent = self.sent.saturating_add(cost as u64);
    }

    /// Whether it is time to ask: half of the configured window was sent since, or a sixteenth of the narrowest one, if that is
    /// more.
    pub(in crate::writer) fn wants_echo(&self, next: usize) -> bool {
        let since = self.sent.saturating_sub(self.asked).saturating_add(next as u64);
        self.in_use() && since > ((self.size as u64) / 2).max(self.narrowest / REQUESTS)
    }

    /// The next request, which leaves now.
    pub(in crate::writer) fn request(&mut self, now: MonoTime, writer_id: EntityId) -> EchoRequest {
        self.ask_overdue_at = now.plus(MAX_PROBE);
        self.count = self.count.wrapping_add(1);
        self.asked = self.sent;
        if self.marks.len() >= MAX_MARKS {
            // Of those in flight, every other one does as well.
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
    pub(super) fn survey<'p>(&mut self, proxies: impl Iterator<Item = &'p ReaderProxy>) {
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
        flow.suspend(now);
    }

    /// Whether it is time to ask readers that were given up.
    fn asks_overdue(&self, now: MonoTime) -> bool {
        self.overdue > 0 && now >= self.ask_overdue_at
    }

    /// Whether readers are to be asked before `next` more octets: half of the window was sent since the last question, or those
    /// that were given up have not been asked for long.
    #[inline]
    pub(in crate::writer) fn is_question_due(&self, now: MonoTime, next: usize) -> bool {
        self.wants_echo(next) || self.asks_overdue(now)
    }

    /// What was sent up to an ECHO_REQUEST has been taken from the reader's socket. `None` when it is not the answer to a request
    /// of this writer, or the reader has no window. `room` is what counts of what it says about its socket, if that is new.
    pub(in crate::writer) fn answered(
        &self,
        now: MonoTime,
        proxy: &mut ReaderProxy,
        echo: &Echo,
        room: Option<u64>,
    ) -> Option<Answer> {
        let mark = self.marks.iter().find(|mark| mark.count == echo.count).copied()?;
        let (flow, round_trip) = proxy.clocked()?;
        if mark.at < flow.given_up_at {
            // An answer that comes after all says how long the reader stood still, not how far away it is; and whether it
            // goes on, the answer to a later question shows.
            flow.drained = flow.drained.max(mark.sent);
            return Some(Answer::default());
        }
        let before = (round_trip.least(), self.limit(flow, round_trip));
        if let Some(room) = room {
            (flow.told, flow.in_socket) = (echo.room, room);
        }
        // Where the window was not used up, answers say nothing about how much there is room for.
        let used_up = mark.sent <= self.full_through;
        let taken = if used_up { mark.sent.saturating_sub(flow.drained) } else { 0 };
        let took = now.since(mark.at);
        round_trip.echoed(now, took);
        flow.path.answered(now, took, round_trip.nearest(), taken);
        let wider = (round_trip.least(), self.limit(flow, round_trip)) != before;
        let (news, slowest) = self.advance(now, flow, round_trip, mark.sent);
        Some(Answer { news, moves: slowest || wider })
    }

    /// A reader has acknowledged everything, so it has taken everything; whether that may move the window.
    pub(super) fn took_all(&self, now: MonoTime, proxy: &mut ReaderProxy) -> bool {
        let Some((flow, round_trip)) = proxy.clocked() else { return false };
        self.advance(now, flow, round_trip, self.sent).1
    }

    /// Ends a wait for room, if there is room now.
    pub(super) fn reopen(&mut self) -> bool {
        let opens = self.full_since.is_some() && self.is_open();
        if opens {
            self.full_since = None;
            self.probe_interval = MIN_PROBE;
        }
        opens
    }

    /// The window is full: whether to ask now. Asks again when an answer does not come, and gives up on readers that do not
    /// answer at all.
    pub(super) fn block(&mut self, now: MonoTime, readers: &mut Readers, stats: &mut WriterStats) -> Blocked {
        let (answer_time, patience) = self.patience_now(readers);
        self.full_through = self.sent;
        let Some(since) = self.full_since else {
            self.full_since = Some(now);
            self.probe_interval = answer_time;
            self.probe_at = now.plus(answer_time);
            stats.window_full = stats.window_full.saturating_add(1);
            return if self.asked <= self.drained { Blocked::Asking } else { Blocked::Waiting };
        };
        if now.since(since) >= patience {
            let overdue = self.give_up_on_silent(now, readers);
            stats.readers_overdue = stats.readers_overdue.saturating_add(overdue);
            if self.is_open() {
                self.full_since = None;
                return Blocked::No;
            }
        }
        if !is_due(Some(self.probe_at), now) {
            return Blocked::Waiting;
        }
        self.probe_interval = self.probe_interval.times(2).min(MAX_PROBE.max(answer_time));
        self.probe_at = now.plus(self.probe_interval);
        stats.window_probes = stats.window_probes.saturating_add(1);
        Blocked::Asking
    }

    /// How long to wait for the answer of readers without room before asking again, and for these readers altogether: less
    /// if others have room.
    fn patience_now(&self, readers: &Readers) -> (Duration, Duration) {
        let (mut others, mut unknown, mut nearest, mut usual) = (false, false, MIN_PROBE, Duration::ZERO);
        for proxy in readers.iter() {
            let Some(flow) = proxy.awaited() else { continue };
            let full = self.is_full_for(flow, &proxy.round_trip);
            others |= !full;
            if full {
                let least = proxy.round_trip.least();
                // It may be far away.
                unknown |= least == Duration::ZERO;
                nearest = nearest.max(least.times(2));
                // On a slow line answers wait behind the data that they are about.
                usual = usual.max(proxy.round_trip.window().times(2).min(MAX_PROBE));
            }
        }
        let patience = self.patience.as_nanos();
        let patience = if others && !unknown { patience / WITH_OTHER_READERS } else { patience };
        (nearest.max(usual), Duration::from_nanos(patience).max(nearest.times(2)))
    }

    /// Whether a reader has not answered what it was asked so long ago that nobody waits for it any more.
    fn is_silent(&self, now: MonoTime, flow: &Flow) -> bool {
        self.marks.iter().any(|mark| mark.sent > flow.drained && now.since(mark.at) >= self.patience)
    }

    /// Readers without room have no window until they answer, nor have those that answer as little: each of them would be waited for
    /// once more as soon as it has no room either. How many those are.
    fn give_up_on_silent(&mut self, now: MonoTime, readers: &mut Readers) -> u64 {
        let mut given_up = 0u64;
        for proxy in readers.iter_mut() {
            let flow = proxy.awaited();
            let gives_up =
                |flow: &Flow| self.is_full_for(flow, &proxy.round_trip) || self.is_silent(now, flow);
            if !flow.is_some_and(gives_up) {
                continue;
            }
            if let Some(flow) = &mut proxy.flow {
                self.give_up(now, flow);
                given_up = given_up.saturating_add(1);
            }
        }
        self.full_since = Some(now);
        self.survey(readers.iter());
        given_up
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
