//! A participant made by hand: it announces itself, answers what it is asked as the standard wants it until it is verified, and
//! then does what it likes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use dunlin_core::{EntityId, Guid, GuidPrefix, SequenceNumber};
use dunlin_wire::{AckNack, Heartbeat, Message, PayloadSpec, Submessage};

use crate::announce::{Endpoint, Participant};
use crate::forge;
use crate::pair::{TOPIC, TYPE_NAME};
use crate::places::{Channel, Places, Side};

const SEDP: [(EntityId, EntityId); 2] = [
    (EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_PUBLICATIONS_READER),
    (EntityId::SEDP_SUBSCRIPTIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_READER),
];
const SIDES: [Side; 2] = [Side::Reader, Side::Writer];
/// An ACKNACK asks for so many numbers at most.
const MOST_ASKED: i64 = 255;
/// Announcements and HEARTBEATs are repeated so often until they are answered.
const PERIOD: Duration = Duration::from_millis(100);

/// Octets of IP and UDP in front of each datagram.
pub(crate) const HEADERS: u64 = 28;
/// Datagrams that are taken before somebody else's turn.
const MOST_AT_ONCE: u32 = 1_000;

/// What the attacker sent and got, in octets.
#[derive(Debug, Default)]
pub struct Traffic {
    /// What he sent.
    pub sent: AtomicU64,
    /// What he got, with the headers in front.
    pub received: AtomicU64,
}

/// How a peer answers the HEARTBEATs of the pair's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// It takes everything.
    Everything,
    /// Not at all.
    Nothing,
    /// It asks for everything again and again.
    Again,
}

/// What one writer said, and what of it has come.
#[derive(Debug, Default)]
struct Heard {
    /// Numbers that came, or that are gone.
    received: BTreeSet<i64>,
    first: i64,
    last: i64,
}

impl Heard {
    /// The first number that is missing.
    fn base(&self) -> i64 {
        (self.first..=self.last).find(|sn| !self.received.contains(sn)).unwrap_or(self.last + 1)
    }
}

/// A participant of the attacker.
#[derive(Debug)]
pub struct Peer {
    /// Its name.
    pub prefix: GuidPrefix,
    /// What it says of itself.
    pub participant: Participant,
    /// How it answers the pair's writer.
    pub answers: Answers,
    /// The highest number that each SEDP writer of the pair is known to have: writer, last number.
    pub announced: BTreeMap<Guid, i64>,
    /// What each reliable user writer has at last.
    pub written: BTreeMap<Guid, i64>,
    places: Places,
    socket: UdpSocket,
    traffic: Arc<Traffic>,
    /// SEDP samples: publications, subscriptions.
    endpoints: [Vec<Vec<u8>>; 2],
    heard: BTreeMap<Guid, Heard>,
    /// What participants have acknowledged of either SEDP writer.
    acknowledged: BTreeMap<(GuidPrefix, usize), i64>,
    count: i32,
    told: Option<Instant>,
}

impl Peer {
    pub(crate) fn new(places: Places, number: u8, traffic: Arc<Traffic>) -> Result<Self> {
        let socket = UdpSocket::bind((places.attacker(), 0))?;
        socket.set_nonblocking(true)?;
        let domain = places.domain.to_le_bytes();
        let prefix =
            GuidPrefix([1, 0xd0, b'h', b'o', b's', b't', b'i', b'l', b'e', number, domain[0], domain[1]]);
        let participant = Participant::at(prefix, socket.local_addr()?);
        let mut peer = Self {
            prefix,
            participant,
            answers: Answers::Everything,
            announced: BTreeMap::new(),
            written: BTreeMap::new(),
            places,
            socket,
            traffic,
            endpoints: [vec![], vec![]],
            heard: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            count: 0,
            told: None,
        };
        // Only who is verified has an endpoint acknowledged.
        peer.announce_quietly(peer.endpoint(0xfff, false, "Elsewhere").list().finish(), false);
        peer.announce_quietly(peer.endpoint(0xfff, true, "Elsewhere").list().finish(), true);
        Ok(peer)
    }

    /// Where it is.
    ///
    /// # Errors
    /// When the socket has no address.
    pub fn place(&self) -> Result<SocketAddr> {
        Ok(self.socket.local_addr()?)
    }

    /// An endpoint of the pair's type.
    pub fn endpoint(&self, key: u32, writer: bool, topic: &str) -> Endpoint {
        let id = if writer { EntityId::user_writer(key, true) } else { EntityId::user_reader(key, true) };
        Endpoint::new(Guid::new(self.prefix, id), topic, TYPE_NAME)
    }

    /// A reliable reader of the pair's topic.
    pub fn reader(&self, key: u32) -> Endpoint {
        self.endpoint(key, false, TOPIC)
    }

    /// A reliable writer of the pair's topic.
    pub fn writer(&self, key: u32) -> Endpoint {
        self.endpoint(key, true, TOPIC)
    }

    /// The next count.
    pub fn next_count(&mut self) -> i32 {
        self.count += 1;
        self.count
    }

    /// Sends from its place.
    pub fn send(&self, side: Side, channel: Channel, bytes: &[u8]) {
        if let Ok(len) = self.socket.send_to(bytes, self.places.of(side, channel)) {
            self.traffic.sent.fetch_add(len as u64, Relaxed);
        }
    }

    /// Says to both sides what it is.
    pub fn announce_itself(&self) {
        let bytes = self.announcement(1);
        SIDES.iter().for_each(|side| self.send(*side, Channel::Metatraffic, &bytes));
    }

    fn announcement(&self, sn: i64) -> Vec<u8> {
        let writer = Guid::new(self.prefix, EntityId::SPDP_WRITER);
        forge::data(writer, sn, &[], PayloadSpec::Data(self.participant.list().finish().into()))
    }

    fn announce_quietly(&mut self, payload: Vec<u8>, writer: bool) -> i64 {
        let list = &mut self.endpoints[usize::from(!writer)];
        list.push(payload);
        list.len() as i64
    }

    /// Announces an endpoint to both sides.
    pub fn announce(&mut self, payload: Vec<u8>, writer: bool) {
        let sn = self.announce_quietly(payload, writer);
        let bytes = self.sedp(usize::from(!writer), sn);
        SIDES.iter().for_each(|side| self.send(*side, Channel::Metatraffic, &bytes));
    }

    fn sedp(&self, channel: usize, sn: i64) -> Vec<u8> {
        let payload = self.endpoints[channel].get(sn as usize - 1).cloned().unwrap_or_default();
        let writer = Guid::new(self.prefix, SEDP[channel].0);
        forge::data(writer, sn, &[], PayloadSpec::Data(payload.into()))
    }

    /// Answers until both sides have taken up its endpoints.
    ///
    /// # Errors
    /// When they do not in time.
    pub fn be_verified(&mut self, within: Duration) -> Result<()> {
        let end = Instant::now() + within.min(Duration::from_secs(5));
        while !self.is_verified() {
            if Instant::now() > end {
                bail!("the pair did not verify an honest participant: {:?}", self.acknowledged);
            }
            self.pump(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Whether both sides have acknowledged all that it announced.
    pub fn is_verified(&self) -> bool {
        let complete = |channel: usize| {
            let all = self.endpoints[channel].len() as i64;
            self.acknowledged.iter().filter(|((_, of), acked)| *of == channel && **acked >= all).count() >= 2
        };
        complete(0) && complete(1)
    }

    /// Takes what arrives and answers it, for so long.
    pub fn pump(&mut self, time: Duration) {
        let end = Instant::now() + time;
        let mut taken = 0;
        loop {
            if self.told.is_none_or(|told| told.elapsed() > PERIOD) {
                self.tell();
            }
            let mut buffer = [0; 1 << 16];
            match self.socket.recv(&mut buffer) {
                Ok(len) => {
                    self.traffic.received.fetch_add(len as u64 + HEADERS, Relaxed);
                    self.take(&buffer[..len]);
                    // All that waits is taken, in reason.
                    taken += 1;
                    if taken < MOST_AT_ONCE {
                        continue;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::park_timeout(Duration::from_micros(500));
                }
                Err(_) => {}
            }
            if Instant::now() >= end {
                return;
            }
        }
    }

    fn tell(&mut self) {
        self.told = Some(Instant::now());
        self.announce_itself();
        for (channel, (writer, _)) in SEDP.into_iter().enumerate() {
            let (last, count) = (self.endpoints[channel].len() as i64, self.next_count());
            let bytes = forge::heartbeat(Guid::new(self.prefix, writer), 1, last, count);
            SIDES.iter().for_each(|side| self.send(*side, Channel::Metatraffic, &bytes));
        }
    }

    fn take(&mut self, datagram: &[u8]) {
        let Ok(message) = Message::parse(datagram) else { return };
        let source = message.header().guid_prefix;
        for parsed in message.submessages().flatten() {
            match parsed.body {
                Submessage::Heartbeat(heartbeat) => self.on_heartbeat(source, &heartbeat),
                Submessage::Data(data) => {
                    let heard = self.heard.entry(Guid::new(source, data.writer_id)).or_default();
                    heard.received.insert(data.writer_sn.0);
                }
                Submessage::Gap(gap) => {
                    let heard = self.heard.entry(Guid::new(source, gap.writer_id)).or_default();
                    heard.received.extend((gap.gap_start.0..gap.gap_list.base().0).take(10_000));
                }
                Submessage::AckNack(acknack) => self.on_acknack(source, &acknack),
                _ => {}
            }
        }
    }

    fn on_heartbeat(&mut self, source: GuidPrefix, heartbeat: &Heartbeat) {
        let writer = Guid::new(source, heartbeat.writer_id);
        let heard = self.heard.entry(writer).or_default();
        (heard.first, heard.last) = (heartbeat.first_sn.0, heartbeat.last_sn.0);
        let base = heard.base();
        let asked = (heard.last + 1 - base).clamp(0, MOST_ASKED) as u32;
        let last = heard.last;
        if let Some((_, reader)) = SEDP.iter().find(|(of, _)| *of == heartbeat.writer_id) {
            self.announced.insert(writer, last);
            let count = self.next_count();
            let bytes = forge::acknack(Guid::new(self.prefix, *reader), writer.entity_id, base, asked, count);
            self.answer(source, Channel::Metatraffic, &bytes);
        } else if !heartbeat.writer_id.is_builtin() {
            self.written.insert(writer, last);
            let (base, asked) = match self.answers {
                Answers::Everything => (last + 1, 0),
                Answers::Nothing => return,
                Answers::Again => {
                    (heartbeat.first_sn.0, (last + 1 - heartbeat.first_sn.0).clamp(0, MOST_ASKED))
                }
            };
            let count = self.next_count();
            let reader = self.reader(1).guid;
            let bytes = forge::acknack(reader, writer.entity_id, base, asked as u32, count);
            self.answer(source, Channel::Data, &bytes);
        }
    }

    /// Both sides get it; it is for one of them.
    fn answer(&self, _to: GuidPrefix, channel: Channel, bytes: &[u8]) {
        SIDES.iter().for_each(|side| self.send(*side, channel, bytes));
    }

    fn on_acknack(&mut self, source: GuidPrefix, acknack: &AckNack) {
        let Some(channel) = SEDP.iter().position(|(writer, _)| *writer == acknack.writer_id) else { return };
        let base = acknack.reader_sn_state.base();
        let known = self.acknowledged.entry((source, channel)).or_default();
        *known = (*known).max(base.previous().0);
        let all = self.endpoints[channel].len() as i64;
        let missing = (base.max(SequenceNumber::FIRST).0..=all).take(64);
        let datagrams: Vec<_> = missing.map(|sn| self.sedp(channel, sn)).collect();
        datagrams.iter().for_each(|bytes| self.answer(source, Channel::Metatraffic, bytes));
    }
}
