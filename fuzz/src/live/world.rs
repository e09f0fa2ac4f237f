//! The network between two participants, and the accounts of what leaves it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, GuidPrefix, Locator, LocatorKind, MonoTime, Now, SequenceNumber, WallTime};
use dunlin_engine::{Event, Output, Participant, WriteError, WriteRequest, WriterSlot};
use dunlin_host::{Port, SendMode, State, Work, conclude, drive, run_timers, send, with_output, work_off};
use dunlin_rtps::ChangeKind;
use dunlin_wire::{Message, Submessage};

use super::judge::Forged;
use super::node::{Node, Sample, address, prefix};

/// Octets that may leave because of one call, besides what had waited for a window.
const MOST_SENT: usize = 96 * 1024;
/// Timers that one moment may have: more and it would never end.
const MOST_TIMERS: usize = 200;
/// Rounds until two participants must have found each other, or everything must have arrived.
const PATIENCE: usize = 2_000;
/// An unverified participant's address is sent at most so many times what unverified participants sent.
const MOST_PER_OCTET: u64 = 3;
/// Rounds in which what attackers have left behind may arrive.
const AFTERMATH: usize = 20;
/// Time that is looked at when nothing is left to be done, and datagrams that a participant may send in it: three
/// announcements to each of the other and the group, acknowledgements of signs of life, and some besides.
const QUIET: Duration = Duration::from_secs(6);
const MOST_QUIET: usize = 40;
/// Time before that, in which also those of their endpoints that are not judged repair what was lost.
const OTHERS_FINISH: Duration = Duration::from_secs(1);
/// Datagrams that are on the way at most; more are lost.
const MAX_QUEUE: usize = 512;
/// Datagrams that passed lately.
const RECENT: usize = 8;

/// A datagram on its way to a node.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) to: usize,
    pub(super) from: Locator,
    pub(super) bytes: SharedBytes,
}

pub(super) struct World {
    pub(super) now: Now,
    state: State<Member>,
    /// What calls have left to the next step of time.
    deferred: Vec<Work<Member>>,
    pub(super) nodes: Vec<Node>,
    pub(super) queue: VecDeque<Packet>,
    pub(super) recent: VecDeque<Packet>,
    /// What each node was sent by others than its peer, and sent to other places than its peer's.
    unverified: Vec<(u64, u64)>,
    /// Which nodes have verified somebody besides their peer.
    befriended: Vec<bool>,
    /// What somebody said in the name of a node.
    pub(super) forged: Forged,
    /// Somebody announced something in the name of a node.
    announced: bool,
    /// The two lost each other.
    pub(super) parted: bool,
    /// Datagrams that each node sent.
    sent: Vec<usize>,
    /// Copies of what one node sends.
    pub(super) record: Option<(usize, Vec<SharedBytes>)>,
}

/// A node, with its participant.
#[derive(Clone)]
pub(super) struct Member {
    node: usize,
    participant: Arc<Participant>,
}

pub(super) fn place(address: Ipv4Addr) -> Locator {
    Locator::udp_v4(address, 7410)
}

impl World {
    /// So many participants, all but the first two without use for each other, which have found each other.
    pub(super) fn matched(nodes: usize, tuning: u8, qos: [u8; 2]) -> Self {
        Self::recorded(nodes, tuning, qos, None)
    }

    /// Octets choose how they send, and the QoS of the topics of the first two.
    pub(super) fn recorded(nodes: usize, tuning: u8, qos: [u8; 2], record: Option<usize>) -> Self {
        let now = Now { mono: MonoTime(1_000_000_000), wall: WallTime(1_700_000_000_000_000_000) };
        let peer = |node: usize| if node == 0 { 1 } else { 0 };
        let qos_of = |node: usize| qos.get(node).copied().unwrap_or(0);
        let mut outputs: Vec<Output> = (0..nodes).map(|_| Output::new()).collect();
        let new =
            |(node, out)| Node::new(now, [node, peer(node)], tuning, [qos_of(node), qos_of(peer(node))], out);
        let mut world = Self {
            now,
            state: State::default(),
            deferred: Vec::new(),
            nodes: outputs.iter_mut().enumerate().map(new).collect(),
            queue: VecDeque::new(),
            recent: VecDeque::new(),
            unverified: vec![(0, 0); nodes],
            befriended: vec![false; nodes],
            forged: Forged::Nothing,
            announced: false,
            parted: false,
            sent: vec![0; nodes],
            record: record.map(|node| (node, Vec::new())),
        };
        for (node, made) in outputs.iter_mut().enumerate() {
            world.act(node, |_, _, out| std::mem::swap(out, made));
        }
        for _ in 0..PATIENCE {
            world.deliver(usize::MAX);
            let read = world.nodes.iter().all(|node| !node.reader.matched_writers().is_empty());
            if read && world.nodes.iter().take(2).all(|node| !node.writer.matched_readers().is_empty()) {
                // The model of losses takes what was written at the moment of a meeting for older.
                world.pass(Duration::from_nanos(1));
                return world;
            }
            world.pass_to_next();
        }
        panic!("the participants did not find each other");
    }

    /// Calls a participant and sends what it says.
    pub(super) fn with(&mut self, node: usize, call: impl FnOnce(&Participant, Now, &mut Output)) {
        self.act(node, |world, now, out| call(&world.nodes[node].participant, now, out));
    }

    /// The same for calls that need more than the participant.
    fn act<R>(&mut self, node: usize, act: impl FnOnce(&mut Self, Now, &mut Output) -> R) -> R {
        let (now, member) = (self.now, self.member(node));
        with_output(self, &member, |world, out| {
            let result = act(world, now, out);
            send(world, &member, out, SendMode::NonBlocking);
            conclude(world, &member, out);
            result
        })
    }

    fn member(&self, node: usize) -> Member {
        Member { node, participant: Arc::clone(&self.nodes[node].participant) }
    }

    fn write_with(
        &mut self,
        node: usize,
        writer: &WriterSlot,
        request: WriteRequest,
    ) -> Result<SequenceNumber, WriteError> {
        let member = self.member(node);
        dunlin_host::write(self, &member, writer, request, None)
    }

    fn post(&mut self, node: usize, destination: Locator, bytes: &SharedBytes) {
        let ip = destination.ip();
        let group = ip.is_some_and(|ip| ip.is_multicast());
        let mut known = group;
        for to in (0..self.nodes.len()).filter(|to| *to != node) {
            if group || ip == Some(IpAddr::V4(address(to))) {
                known = true;
                self.enqueue(Packet { to, from: place(address(node)), bytes: bytes.clone() });
            }
        }
        if !known {
            self.unverified[node].1 += bytes.len() as u64;
        }
    }

    fn enqueue(&mut self, packet: Packet) {
        if self.queue.len() < MAX_QUEUE {
            self.queue.push_back(packet);
        }
    }

    /// Delivers so many datagrams of what is on the way now.
    pub(super) fn deliver(&mut self, datagrams: usize) {
        for _ in 0..datagrams.min(MAX_QUEUE) {
            let Some(packet) = self.queue.pop_front() else { return };
            self.receive(&packet);
            if self.recent.len() >= RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(packet);
        }
    }

    fn receive(&mut self, packet: &Packet) {
        let (now, member) = (self.now, self.member(packet.to));
        drive(self, &member, |participant, out| {
            participant.on_datagram(now, packet.from, &packet.bytes, out);
        });
    }

    /// Somebody else sends a datagram.
    pub(super) fn attack(&mut self, to: usize, from: Locator, bytes: &[u8]) {
        if names_one(bytes) {
            let (forged, announced) = forgery(bytes);
            self.forged = self.forged.max(forged);
            self.announced |= announced;
        }
        self.unverified[to].0 += bytes.len() as u64;
        self.receive(&Packet { to, from, bytes: SharedBytes::copy_from(bytes) });
        self.check_answers(to);
    }

    /// Nobody gets much without having shown that he receives.
    fn check_answers(&mut self, node: usize) {
        // A friend who has said goodbye was one all the same.
        if self.announced || self.befriended[node] {
            return;
        }
        let stats = self.nodes[node].participant.stats().discovery;
        // The peer is one of those that are verified, unless it was lost and has not come back.
        let [own, peer] = [node, 1 - node].map(|node| &self.nodes[node]);
        let met = !self.parted || own.judge.has_met(&peer.as_peer(), peer.reader.guid());
        self.befriended[node] = stats.participants - stats.participants_unverified > u64::from(met);
        let (heard, said) = self.unverified[node];
        assert!(self.befriended[node] || said <= MOST_PER_OCTET * heard, "{said} octets for {heard}");
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.plus(time);
        self.now.wall = self.now.wall.plus(time);
        let deferred = std::mem::take(&mut self.deferred);
        work_off(self, deferred);
        for node in 0..self.nodes.len() {
            self.timers(node);
        }
    }

    fn timers(&mut self, node: usize) {
        for _ in 0..MOST_TIMERS {
            if self.nodes[node].participant.next_deadline().is_none_or(|at| at > self.now.mono) {
                return;
            }
            let (now, member) = (self.now, self.member(node));
            run_timers(self, &member, now);
        }
        panic!("timers without end");
    }

    pub(super) fn pass_to_next(&mut self) {
        let next = self.nodes.iter().filter_map(|node| node.participant.next_deadline()).min();
        let time = next.map_or(Duration::from_millis(1), |at| at.since(self.now.mono));
        self.pass(time.max(Duration::from_nanos(1)));
    }

    pub(super) fn write(&mut self, node: usize, choice: u8) {
        let sample = self.nodes[node].next_sample(choice);
        let others = self.nodes[node].others_that_write(choice);
        let (request, writer) = (sample.request(), Arc::clone(&self.nodes[node].writer));
        self.judged_write(node, &writer, request, sample.key);
        for writer in others {
            let _ = self.write_with(node, &writer, sample.request()).is_ok();
        }
    }

    /// Writes with the writer that is judged.
    fn judged_write(&mut self, node: usize, writer: &WriterSlot, request: WriteRequest, key: u8) {
        let (now, kind, octets) = (self.now, request.kind, request.payload.len());
        let written = self.write_with(node, writer, request);
        let judge = &mut self.nodes[node].judge;
        match written {
            Ok(sn) => judge.wrote(now, kind, key, octets, sn.0),
            Err(_) => judge.refused(),
        }
    }

    /// Ends an instance of the judged writer or of its rival.
    pub(super) fn end_instance(&mut self, node: usize, choice: u8) {
        let kinds = [ChangeKind::Disposed, ChangeKind::Unregistered, ChangeKind::DisposedUnregistered];
        let kind = kinds[usize::from(choice >> 2 & 7) % kinds.len()];
        let sample = Sample::new(choice & 3, 0, 0);
        if let Some(rival) = self.nodes[node].chosen_rival(choice) {
            if let Ok(sn) = self.write_with(node, &rival, sample.end(kind)) {
                self.nodes[node].rival_ended(sn.0);
            }
            self.nodes[1 - node.min(1)].judge.disown();
            return;
        }
        let writer = Arc::clone(&self.nodes[node].writer);
        self.judged_write(node, &writer, sample.end(kind), sample.key);
    }

    pub(super) fn take(&mut self, node: usize, choice: Option<u8>) {
        let forged = self.forged;
        self.act(node, |world, now, out| {
            let [own, peer] = world.nodes.get_disjoint_mut([node, 1 - node]).expect("two nodes");
            own.take(now, &peer.as_peer(), choice, forged, out);
        });
    }

    pub(super) fn create_endpoint(&mut self, node: usize, choice: u8) {
        self.act(node, |world, now, out| world.nodes[node].create_endpoint(now, choice, out));
    }

    pub(super) fn delete_endpoint(&mut self, node: usize, choice: u8) {
        if self.act(node, |world, now, out| world.nodes[node].delete_endpoint(now, choice, out)) {
            self.nodes[1 - node.min(1)].judge.disown();
        }
    }

    pub(super) fn other_call(&mut self, node: usize, choice: u8) {
        self.act(node, |world, now, out| world.nodes[node].other_call(now, prefix(1 - node), choice, out));
    }

    pub(super) fn lose(&mut self) {
        self.queue.pop_front();
    }

    pub(super) fn duplicate(&mut self) {
        if let Some(first) = self.queue.front().cloned() {
            self.queue.push_front(first);
        }
    }

    pub(super) fn reorder(&mut self) {
        if let Some(first) = self.queue.pop_front() {
            self.queue.insert(self.queue.len().min(3), first);
        }
    }

    /// What holds at any time.
    pub(super) fn check(&self) {
        for node in &self.nodes {
            let stats = node.participant.stats().discovery;
            assert!(stats.participants <= 6 && stats.participants_unverified <= 4, "{stats:?}");
            assert!(stats.endpoints <= 20 && stats.octets <= 32 * 1024, "{stats:?}");
        }
    }

    /// From here on nothing is lost any more: everything arrives, and then nothing more is said than must be.
    pub(super) fn calm(&mut self) {
        let shut_down = self.nodes.iter().any(Node::is_shut_down);
        let clean = self.forged == Forged::Nothing && !shut_down;
        for _ in 0..if clean { PATIENCE } else { AFTERMATH } {
            self.settle();
            if clean && self.queue.is_empty() && (0..2).all(|node| self.is_complete(node)) {
                self.quiet();
                for node in 0..2 {
                    self.nodes[node].judge.at_rest(self.now, &self.nodes[1 - node].as_peer());
                }
                break;
            }
            self.pass_to_next();
        }
        if !shut_down {
            self.nodes.iter().for_each(|node| node.judge.own_doing(self.now));
        }
        self.check();
        let complete = |node| self.is_complete(node);
        let missing = |node: usize| self.nodes[node].judge.missing(&self.nodes[1 - node].as_peer());
        assert!(!clean || (0..2).all(complete), "missing: {:?} and {:?}", missing(0), missing(1));
    }

    fn settle_for(&mut self, time: Duration) {
        let end = self.now.mono.plus(time);
        while self.now.mono < end {
            self.pass_to_next();
            self.settle();
        }
    }

    /// All that is on the way arrives and is taken.
    fn settle(&mut self) {
        self.deliver(usize::MAX);
        (0..2).for_each(|node| self.take(node, None));
    }

    fn is_complete(&self, node: usize) -> bool {
        let [own, peer] = [node, 1 - node].map(|node| &self.nodes[node]);
        own.judge.is_complete(&peer.as_peer()) && !own.has_waiting_data()
    }

    fn knows_unverified(&self) -> bool {
        self.nodes.iter().any(|node| node.participant.stats().discovery.participants > 1)
    }

    fn quiet(&mut self) {
        self.settle_for(OTHERS_FINISH);
        let (unverified, before) = (self.knows_unverified(), self.sent.clone());
        self.settle_for(QUIET);
        // One whose lease has ended meanwhile was spoken to until then.
        let unverified = unverified || self.knows_unverified();
        for (sent, before) in self.sent.iter().zip(before) {
            assert!(unverified || sent - before <= MOST_QUIET, "{} datagrams in silence", sent - before);
        }
    }
}

impl Port for World {
    type Member = Member;
    type Panic = Infallible;

    fn state<R>(&mut self, look: impl FnOnce(&mut State<Member>) -> R) -> Option<R> {
        Some(look(&mut self.state))
    }

    fn defer(&mut self, work: Work<Member>) {
        self.deferred.push(work);
    }

    fn now(&self, _: &Member) -> Now {
        self.now
    }

    fn mono(&self, _: &Member) -> MonoTime {
        self.now.mono
    }

    /// Every step of time asks for deadlines.
    fn wake_by(&mut self, _: &Member, _: MonoTime) {}

    fn participant(member: &Member) -> &Participant {
        &member.participant
    }

    fn unless_leaving(&mut self, _: &Member, work: impl FnOnce(&mut Self)) {
        work(self);
    }

    fn in_process(&mut self, _: &Member, _: &Locator) -> Option<Member> {
        None
    }

    fn mode(&self) -> SendMode {
        SendMode::NonBlocking
    }

    fn send(&mut self, member: &Member, outbox: &Outbox, _: SendMode) {
        let (node, octets) = (member.node, outbox.octets());
        let bounded = octets <= MOST_SENT || octets <= MOST_SENT + self.nodes[node].held_by_windows();
        assert!(bounded, "{octets} octets at once");
        for datagram in outbox.datagrams() {
            let mut others =
                datagram.destinations().iter().filter(|to| to.kind != LocatorKind::LOCAL).peekable();
            if others.peek().is_none() {
                continue;
            }
            self.sent[node] += 1;
            assert!(datagram.len() <= 1472, "{} octets in a datagram", datagram.len());
            let mut bytes = Vec::with_capacity(datagram.len());
            datagram.copy_to(&mut bytes);
            let bytes = SharedBytes::from(bytes);
            if let Some((_, record)) = self.record.as_mut().filter(|(of, _)| *of == node) {
                record.push(bytes.clone());
            }
            for destination in others {
                self.post(node, *destination, &bytes);
            }
        }
    }

    fn follow_peers(&mut self, _: &Member, _: &mut Output, _: SendMode) {}

    fn close_lost_paths(&mut self, _: &Member) {}

    fn space_freed(&mut self, _: &Member) {}

    fn tell(&mut self, member: &Member, event: &Event, _: Option<GuidPrefix>) -> Result<(), Infallible> {
        let (node, now) = (member.node, self.now);
        let other = &self.nodes[if node == 0 { 1 } else { 0 }];
        let peer = (other.writer.guid(), other.reader.guid());
        let parted = self.nodes[node].judge.tell(now, event, peer);
        self.parted |= parted && node < 2;
        Ok(())
    }

    fn resume_panic(&mut self, panic: Infallible) {
        match panic {}
    }
}

/// What a datagram in the name of somebody else says: samples or less, and whether it announces something.
fn forgery(bytes: &[u8]) -> (Forged, bool) {
    let Ok(message) = Message::parse(bytes) else { return (Forged::Nothing, false) };
    let mut found = (Forged::Control, false);
    for parsed in message.submessages().flatten() {
        let writer = match parsed.body {
            Submessage::Data(data) => data.writer_id,
            Submessage::DataFrag(data) => data.writer_id,
            _ => continue,
        };
        found = (Forged::Data, found.1 || writer.is_builtin());
    }
    found
}

/// Whether a datagram names one of the two elsewhere than in an INFO_DST, where everybody names the victim.
fn names_one(bytes: &[u8]) -> bool {
    const INFO_DST: u8 = 0x0e;
    let names = [prefix(0).0, prefix(1).0];
    // Up to here the octets are of an INFO_DST.
    let mut named_through = 0;
    for (at, window) in bytes.windows(12).enumerate() {
        if at >= named_through && names.iter().any(|name| window[0] == name[0] && window == name) {
            return true;
        }
        if window[0] == INFO_DST && window[1] <= 1 && window[2..4].contains(&12) && at + 16 < bytes.len() {
            named_through = at + 16;
        }
    }
    false
}
