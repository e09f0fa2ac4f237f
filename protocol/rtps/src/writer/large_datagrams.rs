//! RTPS 2.5 §8.3.8.3.2 fragmentsInSubmessage: changes that fill more than one usual datagram, where the way to all their
//! readers carries longer ones, as that within a host does, and a slow line that loses next to nothing.
//!
//! The size of a fragment is the same for everybody and for ever: readers put a change together from fragments of one size, and
//! one that comes later, or a repair, may take a way that carries less. So longer datagrams have more fragments each, and a
//! change that fits into one of them is a DATA there. Whoever misses it gets a DATA again, as far as the way to it carries that: there
//! are readers that do not survive fragments among changes that come whole.

use alloc::vec::Vec;

use dunlin_buf::Outbox;
use dunlin_core::defaults::LONG_DATAGRAM;
use dunlin_core::{Behaviour, EntityId, Locator, MonoTime, Path, SequenceNumber, VendorId};
use dunlin_wire::{Heartbeat, MessageBuilder, size};

use super::Writer;
use super::readers::{ReaderProxy, WHOLE};
use super::transmission::{FRAMES_MOST, cost, filling};
use crate::emit::Framing;
use crate::proxy_index::ProxyIndex;
use crate::{Change, WriterHistory};

/// Octets that are left free behind the data for what announces it and asks for an answer.
const TAIL: usize = size::HEARTBEAT_OF_GROUP + size::HEARTBEAT_FRAG + size::ECHO_REQUEST;
/// Octets of a datagram besides the data.
const AROUND: usize = size::HEADER + size::INFO_DST + TAIL;

/// A change that never arrived whole so often is repaired in fragments: there may be no room for long datagrams where they arrive.
const WHOLE_REPAIRS: u32 = 3;
/// Times that changes began to leave in longer or shorter datagrams, as far as that is remembered.
const MAX_FORMS: usize = 16;

/// Which changes left whole when they were new, although they are longer than a usual datagram.
#[derive(Debug, Default)]
pub(super) struct Forms {
    /// From this change on, those that fit into so many octets; ascending.
    since: Vec<(SequenceNumber, usize)>,
}

impl Forms {
    /// A large change leaves now, whole if it fits into so many octets.
    fn note(&mut self, sn: SequenceNumber, longest: usize) {
        if self.since.last().is_some_and(|(_, last)| *last == longest) {
            return;
        }
        if self.since.len() >= MAX_FORMS {
            self.since.remove(0);
        }
        self.since.push((sn, longest));
    }

    /// Whether a change left whole that takes so many octets; one that never left, or is older than all that is remembered, as
    /// its neighbours would.
    fn was_whole(&self, sn: SequenceNumber, octets: usize) -> bool {
        let form = self.since.iter().rev().find(|(from, _)| *from <= sn).or(self.since.first());
        form.is_none_or(|(_, longest)| octets <= *longest)
    }
}

/// Octets of a datagram besides the fragments.
fn head(inline: usize) -> usize {
    AROUND.saturating_add(size::INFO_TS).saturating_add(size::data_frag(inline, 0))
}

/// How long datagrams with fragments may be.
#[derive(Clone, Copy)]
struct Longest {
    octets: usize,
    /// IP sends each in several frames.
    in_frames: bool,
    /// Octets of the longest that the way is said to carry.
    said: usize,
}

impl Longest {
    /// Octets of the window that a datagram takes up: in frames no more than as many datagrams of one frame.
    fn cost(self, len: usize) -> usize {
        if self.in_frames { len } else { cost(len) }
    }
}

impl Writer {
    /// Octets of the largest datagram that a socket gets at a place; 0 if that is no larger than usual, or no socket is there.
    fn datagram_to(&self, to: &Locator) -> usize {
        let path = self.cfg.path_to(to);
        if path.is_lossless() { 0 } else { path.max_message }
    }

    /// Whether all of these are sockets of this host.
    pub(super) fn are_sockets_of_host(&self, to: &[Locator]) -> bool {
        let of_host = |path: Path| path.same_host && !path.is_lossless();
        !to.is_empty() && to.iter().all(|to| of_host(self.cfg.path_to(to)))
    }

    /// The largest datagram that the fragments of a change may go to the network in.
    fn longest_datagram(&self) -> Longest {
        let usual = self.cfg.max_message_size;
        let as_usual = Longest { octets: usual, in_frames: false, said: usual };
        if self.cfg.paths.is_none() {
            return as_usual;
        }
        if !self.readers.iter().all(|proxy| proxy.cfg.vendor.does(Behaviour::AcceptsLargeDatagrams)) {
            return as_usual;
        }
        let room = self.transmission.window().longest().unwrap_or(LONG_DATAGRAM).min(LONG_DATAGRAM);
        let sizes = self.fragment_routes().iter().map(|to| self.datagram_to(to));
        let said = sizes.min().unwrap_or(0).min(room);
        if said > usual {
            let octets = self.carried(self.fragment_routes(), said);
            return Longest { octets, in_frames: false, said };
        }
        let frames = self.frames_in_datagram();
        if frames > 1 {
            let octets = filling(usual, frames).min(room).max(usual);
            return Longest { octets, in_frames: true, said: octets };
        }
        as_usual
    }

    /// How many frames a datagram to the network may have: several where every reader says what it misses and when it has it all,
    /// and the way to those that never do is known.
    fn frames_in_datagram(&self) -> usize {
        let known = |proxy: &ReaderProxy| match proxy.reliable {
            true => proxy.cfg.vendor.does(Behaviour::SpeaksDunlin),
            false => self.long_datagram_paths.is_open(proxy.guid()),
        };
        if !self.may_join_frames() || !self.readers.iter().all(known) {
            return 1;
        }
        if self.readers.acknowledge_any() { self.transmission.frames().count() } else { FRAMES_MOST }
    }

    /// Whether nothing but the lines themselves is against datagrams of several frames.
    pub(super) fn may_join_frames(&self) -> bool {
        let carries = |to: &Locator| {
            let path = self.cfg.path_to(to);
            path.in_frames || path.max_message > self.cfg.max_message_size
        };
        self.cfg.paths.is_some()
            && self.cfg.fragment_size == 0
            && !self.transmission.is_paced()
            && self.fragment_routes().iter().all(carries)
    }

    /// How many fragments a datagram with repairs for a reader, or for a group that others listen to as well, may have. What is
    /// missed again after that goes alone, in case there is no room for long datagrams where they arrive.
    pub(super) fn repair_width(&self, index: ProxyIndex, change: &Change, group: Option<&Locator>) -> u32 {
        let (Some(_), Some(proxy)) = (&self.cfg.paths, self.readers.get(index)) else { return 1 };
        if proxy.was_repaired(change.sn, WHOLE) {
            return 1;
        }
        let longest = self.longest_repair(proxy, group);
        if longest <= self.cfg.max_message_size {
            return 1;
        }
        let room = longest.saturating_sub(head(self.inline.len()));
        let fragments = room.checked_div(usize::from(self.framing.fragment_size_of(change))).unwrap_or(1);
        u32::try_from(fragments).unwrap_or(u32::MAX).clamp(1, u32::from(u16::MAX))
    }

    /// Octets of the longest datagram with repairs for a reader, or for a group that others listen to as well; no more than usual if
    /// one of them does not accept longer ones.
    fn longest_repair(&self, proxy: &ReaderProxy, group: Option<&Locator>) -> usize {
        let takes = |vendor: &VendorId| vendor.does(Behaviour::AcceptsLargeDatagrams);
        // A datagram for one reader may name nobody, and then is for all that are there.
        let all_take = match group {
            Some(_) => self.readers.iter().all(|proxy| takes(&proxy.cfg.vendor)),
            None => takes(&proxy.cfg.vendor),
        };
        if !all_take {
            return 0;
        }
        let to = group.map_or(proxy.directed(), core::slice::from_ref);
        let longest = to.iter().map(|to| self.datagram_to(to)).min().unwrap_or(0);
        let longest =
            longest.min(self.transmission.window().longest().unwrap_or(LONG_DATAGRAM)).min(LONG_DATAGRAM);
        self.carried(to, longest)
    }

    /// Octets of the longest datagram that may leave where the way is said to carry so many.
    fn carried(&self, to: &[Locator], said: usize) -> usize {
        if self.keeps_form(to) {
            return said;
        }
        self.transmission.path_mtu().limit(said, self.cfg.max_message_size)
    }

    /// Whether large changes keep one form there, whatever is missed: for readers that fail on two, within a host, where what is
    /// long is missed for want of room alone.
    fn keeps_form(&self, to: &[Locator]) -> bool {
        let fails = |proxy: &ReaderProxy| proxy.cfg.vendor.does(Behaviour::FailsOnMixedForms);
        self.are_sockets_of_host(to) && self.readers.iter().any(fails)
    }

    /// Whether a change left for a reader in datagrams that are longer than usual because of what the way is said to carry, or with
    /// a probe.
    pub(super) fn left_in_long_ones(&self, index: ProxyIndex, change: &Change) -> bool {
        let was_there = self.readers.get(index).is_some_and(|proxy| change.sn > proxy.history_end);
        let long = self.forms.was_whole(change.sn, self.cfg.max_message_size.saturating_add(1));
        self.cfg.paths.is_some() && was_there && (long || self.transmission.path_mtu().probes(change.sn))
    }

    /// Whether a large change, whose inline QoS is prepared, is repaired whole for a reader: as it left, if the way carries that.
    pub(super) fn is_repaired_whole(&self, index: ProxyIndex, change: &Change) -> bool {
        let (Some(_), Some(proxy)) = (&self.cfg.paths, self.readers.get(index)) else { return false };
        let whole = self.whole_len(change);
        self.cfg.fragment_size == 0
            && self.forms.was_whole(change.sn, whole)
            && (proxy.account.log.repeats(change.sn) < WHOLE_REPAIRS || self.keeps_form(proxy.directed()))
            && whole <= self.longest_repair(proxy, None)
    }

    /// Sends a change that fills more than one usual datagram, or what pacer and window allow of it; whether all of it has left.
    pub(super) fn push_large(
        &mut self,
        now: MonoTime,
        change: &Change,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        let longest = self.longest_datagram();
        if self.transmission.next_fragment() == 1 {
            // In frames it leaves in fragments, however short it is.
            let whole = if longest.in_frames { self.cfg.max_message_size } else { longest.octets };
            self.forms.note(change.sn, whole);
            let heard = self.readers.iter().all(|proxy| !proxy.reliable || proxy.acks.heard());
            self.transmission.path_mtu_mut().begins(change.sn, heard);
            if !self.push_probe(now, change, longest, history, out) {
                return false;
            }
            if self.transmission.next_fragment() > self.framing.fragment_count(change) {
                return true;
            }
        }
        if longest.octets <= self.cfg.max_message_size || longest.in_frames {
            return self.push_over_network(now, change, longest, history, out);
        }
        let whole = self.whole_len(change);
        // Who has set the size of fragments wants fragments.
        let may_be_whole = self.cfg.fragment_size == 0 && self.transmission.next_fragment() == 1;
        if may_be_whole && whole <= longest.octets {
            return self.push_whole(now, change, whole, history, out);
        }
        self.push_many_fragments(now, change, longest, history, out)
    }

    /// Octets of a datagram with all of a change, whose inline QoS is prepared.
    fn whole_len(&self, change: &Change) -> usize {
        AROUND.saturating_add(Framing::data_len(change, &self.inline))
    }

    /// How many fragments of a change a datagram of so many octets has room for.
    fn fragments_in(&self, octets: usize, change: &Change) -> u32 {
        let room = octets.saturating_sub(head(self.inline.len()));
        let fit = room.checked_div(usize::from(self.framing.fragment_size_of(change))).unwrap_or(1);
        u32::try_from(fit).unwrap_or(u32::MAX)
    }

    /// Octets of a datagram with so many fragments of a change.
    fn part_len(&self, count: u32, change: &Change) -> usize {
        let octets = usize::from(self.framing.fragment_size_of(change)).saturating_mul(count as usize);
        octets.saturating_add(head(self.inline.len()))
    }

    /// Sends the first fragments of a change in a datagram that is longer than those that are known to arrive, if it is time for one;
    /// false if that has to wait.
    fn push_probe(
        &mut self,
        now: MonoTime,
        change: &Change,
        longest: Longest,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        let whole = self.whole_len(change);
        let octets = self.transmission.path_mtu().probe(longest.said, self.cfg.max_message_size);
        let Some(octets) = octets.filter(|_| whole > longest.octets && !longest.in_frames) else {
            return true;
        };
        // A second one may just not fit into a datagram that is twice as long as usual.
        let count = self.fragments_in(octets, change).max(2).min(self.framing.fragment_count(change));
        let len = self.part_len(count, change);
        if len <= longest.octets || len > longest.said {
            return true;
        }
        if self.withheld.is_on() {
            self.tell_before(change, history, out);
        }
        if !self.transmission.may_leave(now, cost(len)) {
            self.announce_fragments(now, change.sn, out);
            return false;
        }
        let most = Longest { octets: len, ..longest };
        self.push_part(now, change, (1, count), most, history, out);
        self.transmission.path_mtu_mut().probed(change.sn, count, octets.max(len));
        true
    }

    /// Sends fragments each in a frame, or some in several, and finds out what the path makes of that.
    fn push_over_network(
        &mut self,
        now: MonoTime,
        change: &Change,
        longest: Longest,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        if self.transmission.next_fragment() == 1 {
            let octets = change.payload.as_ref().map_or(0, |payload| payload.len());
            self.transmission.frames_mut().begins(now, change.sn, octets);
            self.try_long_datagram_paths(now, out);
        }
        let before = self.stats.fragments_sent;
        let complete = if longest.in_frames {
            self.push_many_fragments(now, change, longest, history, out)
        } else {
            let total = self.framing.fragment_count(change);
            self.push_fragments(now, change, total, history, out)
        };
        let fragments = self.stats.fragments_sent.saturating_sub(before);
        let octets = u64::from(self.framing.fragment_size_of(change)).saturating_mul(fragments);
        self.transmission.frames_mut().sent(usize::try_from(octets).unwrap_or(usize::MAX));
        if complete {
            self.transmission.frames_mut().left(change.sn);
        }
        self.note_long_datagram_paths(octets);
        complete
    }

    fn push_whole(
        &mut self,
        now: MonoTime,
        change: &Change,
        len: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        if !self.transmission.may_leave(now, cost(len)) {
            return false;
        }
        if self.withheld.is_on() {
            self.tell_before(change, history, out);
        }
        let mut message = self.framing.begin(out);
        self.framing.put_data(&mut message, change, &self.inline, EntityId::UNKNOWN);
        self.transmission.path_mtu_mut().sent(self.framing.fragment_count(change));
        let longest = Longest { octets: len, in_frames: false, said: len };
        if self.finish_large(now, message, (change, true), longest, history) {
            self.ask_for_echo(now, history, out);
        }
        true
    }

    /// Sends up to `most` fragments in each datagram, as many in one as in the other.
    fn push_many_fragments(
        &mut self,
        now: MonoTime,
        change: &Change,
        most: Longest,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        if self.withheld.is_on() && self.transmission.next_fragment() == 1 {
            self.tell_before(change, history, out);
        }
        let fit = self.fragments_in(most.octets, change).max(1);
        let total = self.framing.fragment_count(change);
        let left = total.saturating_add(1).saturating_sub(self.transmission.next_fragment());
        let each = left.div_ceil(left.div_ceil(fit).max(1));
        let longest = self.part_len(each, change);
        while self.transmission.next_fragment() <= total {
            if !self.transmission.may_leave(now, most.cost(longest)) {
                self.announce_fragments(now, change.sn, out);
                return false;
            }
            let first = self.transmission.next_fragment();
            if !self.push_part(now, change, (first, each), most, history, out) {
                return true;
            }
            if !most.in_frames {
                self.transmission.path_mtu_mut().sent(each);
            }
        }
        true
    }

    /// Sends so many fragments, the first of them this one, in a datagram; false if the change has none of them.
    fn push_part(
        &mut self,
        now: MonoTime,
        change: &Change,
        (first, count): (u32, u32),
        most: Longest,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) -> bool {
        let total = self.framing.fragment_count(change);
        let mut message = self.framing.begin(out);
        let part = (first, u16::try_from(count).unwrap_or(u16::MAX));
        if !self.framing.put_fragments(&mut message, change, &self.inline, part, EntityId::UNKNOWN) {
            return false;
        }
        self.transmission.go_on_with(first.saturating_add(count).min(total.saturating_add(1)));
        let sent = u64::from(self.transmission.next_fragment().saturating_sub(first));
        self.stats.fragments_sent = self.stats.fragments_sent.saturating_add(sent);
        let last = self.transmission.next_fragment() > total;
        if self.finish_large(now, message, (change, last), most, history) {
            self.ask_for_echo(now, history, out);
        }
        true
    }

    /// Completes a datagram of a large change. What announces it is in the datagram itself, and so is the ECHO_REQUEST when one
    /// is due: no other call has to be made for it, unless the window waits for readers that this datagram does not go to. True
    /// if those are to be asked now.
    fn finish_large(
        &mut self,
        now: MonoTime,
        mut message: MessageBuilder<'_>,
        (change, last): (&Change, bool),
        longest: Longest,
        history: &dyn WriterHistory,
    ) -> bool {
        let len = message.len().saturating_add(TAIL);
        self.account_as(len, longest.cost(len), false);
        let heartbeat = if last { self.piggyback(now, change.sn, 1, history) } else { None };
        if let Some(heartbeat) = &heartbeat {
            message.heartbeat(heartbeat);
        }
        let (wanted, for_all) =
            (self.transmission.window().wants_echo(longest.cost(len)), self.goes_to_all());
        if wanted && for_all {
            if heartbeat.is_none() && !self.announcements.only_ask() {
                let through = if last { change.sn } else { self.transmission.pushed() };
                let told = self.announce(EntityId::UNKNOWN, through, history);
                message.heartbeat(&Heartbeat { final_flag: true, ..told });
            }
            if !last && let Some(fragments) = self.heartbeat_frag(now, change.sn) {
                message.heartbeat_frag(&fragments);
            }
            let request = self.echo_request(now);
            message.echo_request(&request);
        }
        if last && longest.in_frames {
            self.check_long_datagram_path(now, &mut message, longest.octets);
        }
        message.finish(self.fragment_routes());
        if last {
            self.stats.samples_sent = self.stats.samples_sent.saturating_add(1);
        }
        wanted && !for_all
    }

    /// Whether fragments go to all that are sent new data: no filter leaves any out, and none has the change through memory.
    fn goes_to_all(&self) -> bool {
        !self.withheld.is_narrow() && self.transmission.split().lossless().is_empty()
    }
}
