//! One connection as the thread of the transport sees it.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_buf::SharedBytes;
use dunlin_core::Locator;
use dunlin_transport::{Channel, SendMode};
use rustix::event::PollFlags;

use super::Shared;
use crate::control::{Code, Message, Transaction, VERSION};
use crate::counters::add;
use crate::frame::{FramingError, Header, MAX_LONG_MESSAGE, MAX_MESSAGE};
use crate::inbox::Arrived;
use crate::link::{Link, Pieces, longest_of};
use crate::reader::{End, Reader, Scratch};
use crate::tls;

/// How long an end has to say who it is, from the first packet on.
const BIND_WITHIN: Duration = Duration::from_secs(5);
/// Who was told that it is bound and says nothing is told again after so long, then after twice as long, and so often.
const TELL_AGAIN: Duration = Duration::from_secs(2);
const TELLINGS: u32 = 4;
/// How long the threads that receive may leave their messages where they are; then those of this connection are dropped,
/// as a full UDP socket does, so that discovery on it goes on.
const TAKE_WITHIN: Duration = Duration::from_secs(1);
/// A connection that this end has opened is asked for a sign of life after so long without one, and given up after that.
const ASK_AFTER: Duration = Duration::from_secs(15);
const GIVE_UP_AFTER: Duration = Duration::from_secs(45);
/// Octets taken from one connection before others are looked at.
const AT_ONCE: usize = 256 << 10;

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Connecting,
    /// TLS agrees on keys.
    Handshaking,
    /// One end has not said who it is, or the other one has not agreed.
    Binding,
    Bound,
}

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum Cause {
    Closed,
    Failed(io::Error),
    FramingError(FramingError),
    /// It did not say in time who it is.
    Silent(Stage),
    /// The other end does not want it.
    Declined(Code),
    /// No sign of life.
    Lost,
    /// It takes nothing.
    Stuck,
    Evicted,
}

impl From<End> for Cause {
    fn from(end: End) -> Self {
        match end {
            End::Closed => Self::Closed,
            End::Failed(error) => Self::Failed(error),
            End::FramingError(error) => Self::FramingError(error),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the other end has closed the connection"),
            Self::Failed(error) => f.write_str(&tls::explain(error)),
            Self::FramingError(error) => error.fmt(f),
            Self::Silent(Stage::Connecting) => write!(
                f,
                "nobody answered within {} s: is the host up, and does a firewall let TCP pass?",
                BIND_WITHIN.as_secs()
            ),
            Self::Silent(Stage::Handshaking) => write!(
                f,
                "TLS was not agreed on within {} s: does the other end use TLS? Set `tls.enabled` on both sides, or on none",
                BIND_WITHIN.as_secs()
            ),
            Self::Silent(_) => {
                write!(
                    f,
                    "it did not say within {} s under which address it is announced",
                    BIND_WITHIN.as_secs()
                )
            }
            Self::Declined(Code::INCOMPATIBLE_VERSION) => {
                f.write_str("it has another version of RTPS over TCP than 1.0")
            }
            Self::Declined(code) => write!(f, "it declines with code {}", code.0),
            Self::Lost => write!(f, "no sign of life for {} s", GIVE_UP_AFTER.as_secs()),
            Self::Stuck => f.write_str("it asks, but takes no answers"),
            Self::Evicted => f.write_str("there are too many connections, see `tcp.max_connections`"),
        }
    }
}

impl Cause {
    /// In words, where a connection to a peer was to be opened.
    pub(super) fn of_dial(&self, peer: &Locator) -> String {
        let address = peer.to_tcp().map_or_else(|| peer.to_string(), |(address, _)| address.to_string());
        format!("cannot connect to {address} over TCP: {self}")
    }

    pub(super) fn of_connection(&self, link: &Link) -> String {
        format!("the TCP connection with {} is over: {self}", link.remote)
    }

    /// The same of the host that the other end is of.
    pub(super) fn of_host(&self, link: &Link) -> String {
        format!("a TCP connection of {} was refused: {self}", link.remote.ip())
    }

    /// Whether the other end made a mistake that people should hear of.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::FramingError(_) | Self::Declined(_) | Self::Stuck => true,
            Self::Failed(error) => error.kind() == io::ErrorKind::InvalidData,
            _ => false,
        }
    }
}

/// The answer to who has said who it is.
///
/// Fast DDS (2.9.1 at least) overlooks it as long as it has not decided which logical port to ask for. On a busy machine the
/// answer is faster than that. It would wait for another one as long as the connection lasts, and never send anything.
struct Told {
    transaction: Transaction,
    again: Instant,
    times: u32,
}

pub(super) struct Connection {
    pub(super) link: Arc<Link>,
    pub(super) stage: Stage,
    /// The peer that this end has connected to.
    pub(super) peer: Option<Locator>,
    /// The addresses for which it is used.
    pub(super) keys: Vec<Locator>,
    /// When something came last.
    pub(super) heard: Instant,
    reader: Reader,
    /// Where what it brings comes from.
    from: Locator,
    began: Instant,
    asked: bool,
    /// Until something comes behind it.
    told: Option<Told>,
    /// What found no room with those who receive; it is not read from meanwhile.
    waiting: VecDeque<Arrived>,
    /// Reading ended before there was nothing left. What TLS has decrypted already no look at the socket shows.
    unfinished: bool,
    /// Since when there was not room for everything.
    full_since: Option<Instant>,
}

impl Connection {
    pub(super) fn new(link: Arc<Link>, peer: Option<Locator>, now: Instant) -> Self {
        let from = peer.unwrap_or(Locator::tcp(link.remote, 0));
        let mut reader = Reader::new();
        if peer.is_some() {
            reader.limit = MAX_MESSAGE;
        }
        Self {
            link,
            stage: Stage::Binding,
            peer,
            keys: Vec::new(),
            heard: now,
            reader,
            from,
            began: now,
            asked: false,
            told: None,
            waiting: VecDeque::new(),
            unfinished: false,
            full_since: None,
        }
    }

    pub(super) fn address(&self) -> IpAddr {
        self.link.remote.ip()
    }

    /// What to wait for.
    pub(super) fn wanted(&self) -> PollFlags {
        let mut wanted = PollFlags::empty();
        if self.stage == Stage::Connecting || self.link.wants_write() {
            wanted |= PollFlags::OUT;
        }
        if self.stage != Stage::Connecting && self.waiting.is_empty() {
            wanted |= PollFlags::IN;
        }
        wanted
    }

    /// Whether there may be something to read although the socket has nothing.
    pub(super) fn is_unread(&self) -> bool {
        self.unfinished && self.waiting.is_empty()
    }

    /// Whether something is due soon.
    pub(super) fn is_awaited(&self) -> bool {
        self.stage != Stage::Bound || !self.waiting.is_empty()
    }

    /// It is connected: TLS comes first, if there is any; then the end that has opened it says who it is.
    pub(super) fn begin(&mut self, shared: &Shared) -> Result<(), Cause> {
        let Some(tls) = &shared.tls else { return self.bind(shared) };
        let session = match self.peer {
            Some(_) => tls.client(self.link.remote.ip()),
            None => tls.server(),
        };
        let session =
            session.map_err(|text| Cause::Failed(io::Error::new(io::ErrorKind::InvalidData, text)))?;
        self.link.secure(session);
        self.stage = Stage::Handshaking;
        self.link.flush().map_err(Cause::Failed)
    }

    fn bind(&mut self, shared: &Shared) -> Result<(), Cause> {
        self.stage = Stage::Binding;
        if self.peer.is_none() {
            return Ok(());
        }
        let local = self.link.stream.local_addr().map_err(Cause::Failed)?;
        let message = Message::Bind { version: VERSION, locator: shared.own_locator(local) };
        self.control(&message, None)
    }

    fn control(&self, message: &Message, transaction: Option<&Transaction>) -> Result<(), Cause> {
        if self.link.control(message, transaction) { Ok(()) } else { Err(Cause::Stuck) }
    }

    pub(super) fn serve(
        &mut self,
        shared: &Shared,
        scratch: &mut Scratch,
        flags: PollFlags,
        now: Instant,
    ) -> Result<(), Cause> {
        if self.stage == Stage::Connecting {
            if let Some(error) = self.link.stream.take_error().map_err(Cause::Failed)? {
                return Err(Cause::Failed(error));
            }
            self.begin(shared)?;
            return Ok(());
        }
        if flags.contains(PollFlags::OUT) {
            self.link.flush().map_err(Cause::Failed)?;
        }
        let readable = flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) || self.unfinished;
        if readable && self.waiting.is_empty() {
            self.read(shared, scratch, now)?;
        }
        Ok(())
    }

    fn read(&mut self, shared: &Shared, scratch: &mut Scratch, now: Instant) -> Result<(), Cause> {
        let (mut taken, mut units) = (0, Vec::new());
        self.unfinished = true;
        while taken < AT_ONCE && self.waiting.is_empty() {
            let (link, handshaking) = (Arc::clone(&self.link), self.stage == Stage::Handshaking);
            let each = |header: Header, bytes: SharedBytes| {
                units.push((header, bytes));
                Ok(())
            };
            let read = self.reader.read(scratch, |bufs| link.read(bufs), each);
            if handshaking && !self.link.is_handshaking() && !matches!(read, Err(End::Failed(_))) {
                self.bind(shared)?;
            }
            let taken_in =
                units.drain(..).try_for_each(|(header, bytes)| self.take(shared, header, bytes, now));
            // What came before the end counts.
            self.deliver(shared, now);
            add(&shared.counters.receive_calls, 1);
            taken_in?;
            match read? {
                0 => {
                    self.unfinished = false;
                    break;
                }
                count => taken += count,
            }
            self.heard = now;
            self.asked = false;
            // The socket would say so itself, for a system call. TLS gives one record at a time.
            if self.reader.drained && shared.tls.is_none() {
                self.unfinished = false;
                break;
            }
        }
        Ok(())
    }

    /// Hands what has arrived to those who receive. Where they have taken nothing for long it is dropped, until there is room.
    fn deliver(&mut self, shared: &Shared, now: Instant) {
        let mut dropped = 0;
        loop {
            shared.inbox.offer(&mut self.waiting, self.from);
            if self.waiting.is_empty() {
                break;
            }
            let since = *self.full_since.get_or_insert(now);
            if now.saturating_duration_since(since) <= TAKE_WITHIN {
                return;
            }
            self.waiting.pop_front();
            dropped += 1;
        }
        if dropped == 0 {
            self.full_since = None;
        }
        add(&shared.counters.receive_overflow, dropped);
    }

    /// Does with one unit what it is for.
    fn take(
        &mut self,
        shared: &Shared,
        header: Header,
        bytes: SharedBytes,
        now: Instant,
    ) -> Result<(), Cause> {
        self.told = None;
        if header.port == 0 {
            let (message, transaction) = Message::decode(&bytes).map_err(Cause::FramingError)?;
            let Some(message) = message else { return Ok(()) };
            if self.is_known() && message.is_question() {
                self.hear_longest(&transaction);
            }
            return self.obey(shared, message, &transaction, now);
        }
        if self.stage != Stage::Bound && self.peer.is_none() {
            return Err(Cause::FramingError(FramingError::Control("data before it says who it is")));
        }
        let channel = match header.port {
            port if port == shared.logical.meta => Channel::Meta,
            port if port == shared.logical.data => Channel::Data,
            // It was told that nobody is there.
            _ => return Ok(()),
        };
        if !bytes.is_empty() {
            add(&shared.counters.received_datagrams, 1);
            add(&shared.counters.received_octets, bytes.len());
            self.waiting.push_back((channel, bytes));
        }
        Ok(())
    }

    /// Whether it is known who the other end is.
    fn is_known(&self) -> bool {
        self.stage == Stage::Bound || self.peer.is_some()
    }

    fn obey(
        &mut self,
        shared: &Shared,
        message: Message,
        transaction: &Transaction,
        now: Instant,
    ) -> Result<(), Cause> {
        let is_own = |port: u16| port == shared.logical.meta || port == shared.logical.data;
        // Fast DDS asks for ports while it has not heard yet that it was bound.
        let known = self.is_known();
        match message {
            Message::Bind { version, locator } => self.bound_by(shared, version, locator, transaction, now),
            Message::Bound { code, .. } => self.accepted(shared, code, now),
            Message::Open { port } => {
                let code = match known {
                    false => Code::SERVER_ERROR,
                    true if is_own(port) => Code::OK,
                    true => Code::INVALID_PORT,
                };
                self.control(&Message::Opened { code }, Some(transaction))
            }
            Message::Check { ports } => {
                let ports = ports.into_iter().filter(|port| known && is_own(*port)).collect();
                self.control(&Message::Checked { ports }, Some(transaction))
            }
            Message::KeepAlive { .. } => {
                let code = if known { Code::OK } else { Code::SERVER_ERROR };
                self.control(&Message::KeptAlive { code }, Some(transaction))
            }
            Message::Opened { code } => {
                self.link.opened(code, transaction);
                Ok(())
            }
            Message::PortClosed { port } => {
                self.link.port_closed(port);
                Ok(())
            }
            Message::Unbind => Err(Cause::Closed),
            Message::Checked { .. } | Message::KeptAlive { .. } => Ok(()),
        }
    }

    /// A question of the other end says how long messages may be that are sent there. It may send as long ones, too.
    fn hear_longest(&mut self, transaction: &Transaction) {
        if let Some(longest) = longest_of(transaction) {
            self.link.takes(longest);
            self.reader.limit = MAX_LONG_MESSAGE;
        }
    }

    /// The other end says who it is.
    fn bound_by(
        &mut self,
        shared: &Shared,
        version: [u8; 2],
        claimed: Locator,
        transaction: &Transaction,
        now: Instant,
    ) -> Result<(), Cause> {
        let locator =
            self.link.stream.local_addr().map(|local| shared.own_locator(local)).unwrap_or_default();
        let answer = |code| self.control(&Message::Bound { code, locator }, Some(transaction));
        if version != VERSION {
            answer(Code::INCOMPATIBLE_VERSION)?;
            return Err(Cause::Declined(Code::INCOMPATIBLE_VERSION));
        }
        if self.peer.is_some() || self.stage != Stage::Binding {
            return answer(Code::EXISTING_CONNECTION);
        }
        let Some((address, _)) = claimed.to_tcp() else {
            return Err(Cause::FramingError(FramingError::Control(
                "it is announced under no address of TCP",
            )));
        };
        answer(Code::OK)?;
        self.told = Some(Told { transaction: *transaction, again: now + TELL_AGAIN, times: 0 });
        let seen = SocketAddr::new(self.link.remote.ip().to_canonical(), address.port());
        self.from = Locator::tcp(seen, 0);
        self.keys = vec![self.from];
        if seen != address {
            self.keys.push(Locator::tcp(address, 0));
        }
        self.reader.limit = MAX_MESSAGE;
        if longest_of(transaction).is_some() {
            self.hear_longest(transaction);
            // An end that would never ask anything on this connection says by this how much it takes.
            self.control(&Message::KeepAlive { locator }, None)?;
        }
        self.establish(shared, now);
        Ok(())
    }

    /// The other end agrees to what this one said of itself.
    fn accepted(&mut self, shared: &Shared, code: Code, now: Instant) -> Result<(), Cause> {
        let Some(peer) = self.peer.filter(|_| self.stage == Stage::Binding) else { return Ok(()) };
        if code != Code::OK && code != Code::EXISTING_CONNECTION {
            return Err(Cause::Declined(code));
        }
        add(&shared.counters.connected, 1);
        self.keys = vec![peer];
        self.establish(shared, now);
        Ok(())
    }

    /// It can be used: what waited for it leaves.
    fn establish(&mut self, shared: &Shared, now: Instant) {
        self.stage = Stage::Bound;
        for key in std::mem::take(&mut self.keys) {
            let leave = |(port, message): (u16, Vec<u8>)| {
                let pieces = Pieces { port, len: message.len(), parts: &[&message], last: None };
                self.link.send(&pieces, SendMode::NonBlocking);
            };
            if shared.table.attach(key, &self.link, now, leave) {
                self.keys.push(key);
            }
        }
        self.link.leave(|| {});
    }

    /// Answers once more, if nothing has come since the last time.
    fn tell_again(&mut self, shared: &Shared, now: Instant) -> Result<(), Cause> {
        let Some(told) = self.told.as_mut().filter(|told| told.again <= now && told.times < TELLINGS) else {
            return Ok(());
        };
        told.times += 1;
        told.again = now + TELL_AGAIN * (1 << told.times);
        let transaction = told.transaction;
        let local = self.link.stream.local_addr().map_err(Cause::Failed)?;
        let message = Message::Bound { code: Code::OK, locator: shared.own_locator(local) };
        self.control(&message, Some(&transaction))
    }

    /// Looks whether what is expected of it has happened.
    pub(super) fn look(&mut self, shared: &Shared, now: Instant) -> Result<(), Cause> {
        if self.stage != Stage::Bound {
            let silent = now.saturating_duration_since(self.began) > BIND_WITHIN;
            return if silent { Err(Cause::Silent(self.stage)) } else { Ok(()) };
        }
        self.deliver(shared, now);
        self.tell_again(shared, now)?;
        let silent = now.saturating_duration_since(self.heard);
        if self.peer.is_some() && silent > GIVE_UP_AFTER && self.waiting.is_empty() {
            return Err(Cause::Lost);
        }
        if self.peer.is_some() && silent > ASK_AFTER && !self.asked {
            self.asked = true;
            let local = self.link.stream.local_addr().map_err(Cause::Failed)?;
            self.control(&Message::KeepAlive { locator: shared.own_locator(local) }, None)?;
        }
        Ok(())
    }
}
