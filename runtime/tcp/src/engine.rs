//! What the transport does besides sending: it accepts, connects, reads, and sends what sockets did not take at once. Who does
//! it when, [`turns`] decides.

mod connection;
mod room;
mod shared;
mod turns;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use connection::{Cause, Connection, Stage};
use dunlin_core::{Locator, Rng};
use rustix::event::{PollFd, PollFlags, Timespec};
pub(crate) use shared::Shared;
pub(crate) use turns::Turns;

use crate::control::Message;
use crate::counters::add;
use crate::link::Link;
use crate::listen::{self, Bound};
use crate::reader::Scratch;

/// Connections accepted before those that are there are looked after again.
const ACCEPTED_AT_ONCE: usize = 32;
/// Pause in accepting when the system has no room for more.
const NO_ROOM: Duration = Duration::from_millis(100);
/// Time between looks at connections that something is expected of.
const SOON: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(1);
/// How long the end waits until the last messages have left.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a descriptor belongs to.
#[derive(Clone, Copy)]
enum Source {
    Wake,
    Listener(usize),
    Connection(u64),
}

/// The state of the thread.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    listeners: Vec<TcpListener>,
    connections: BTreeMap<u64, Connection>,
    next_id: u64,
    scratch: Scratch,
    rng: Rng,
    next_dial: Option<Instant>,
    next_look: Instant,
    accept_after: Instant,
    events: Vec<(Source, PollFlags)>,
}

impl Engine {
    pub(crate) fn new(shared: Arc<Shared>, bound: Bound, seed: u64) -> Self {
        let now = Instant::now();
        // A socket that does not listen is kept all the same, so that nobody else gets its port.
        let mut listeners = bound.listeners;
        if !bound.listens {
            shared.keep_port(std::mem::take(&mut listeners));
        }
        Self {
            shared,
            listeners,
            connections: BTreeMap::new(),
            next_id: 0,
            scratch: Scratch::new(),
            rng: Rng::new(seed),
            next_dial: None,
            next_look: now,
            accept_after: now,
            events: Vec::new(),
        }
    }

    /// Does what there is to do, and waits for that if it `may_wait`.
    pub(crate) fn turn(&mut self, may_wait: bool) {
        let now = Instant::now();
        if self.shared.look.swap(false, Relaxed) || self.next_dial.is_some_and(|at| at <= now) {
            self.dial(now);
        }
        if self.next_look <= now {
            self.look(now);
        }
        let mut events = std::mem::take(&mut self.events);
        if self.poll(now, may_wait, &mut events).is_err() {
            // Nothing wakes this thread now: a pause, so that a broken descriptor does not take a core.
            std::thread::park_timeout(SOON);
        }
        let now = if may_wait { Instant::now() } else { now };
        for (source, flags) in events.drain(..) {
            match source {
                Source::Wake => {
                    self.shared.wake.drain();
                    self.next_look = self.next_look.min(now);
                }
                Source::Listener(index) => self.accept(index, now),
                Source::Connection(id) => self.serve(id, flags, now),
            }
        }
        self.events = events;
    }

    /// Waits until there is something to do.
    fn poll(&self, now: Instant, may_wait: bool, events: &mut Vec<(Source, PollFlags)>) -> io::Result<()> {
        let mut sources = vec![Source::Wake];
        let mut entries = vec![PollFd::new(&self.shared.wake, PollFlags::IN)];
        let mut until = self.next_dial.map_or(self.next_look, |at| at.min(self.next_look));
        if self.accept_after <= now {
            for (index, listener) in self.listeners.iter().enumerate() {
                sources.push(Source::Listener(index));
                entries.push(PollFd::new(listener, PollFlags::IN));
            }
        } else {
            until = until.min(self.accept_after);
        }
        let mut unread = Vec::new();
        for (id, connection) in &self.connections {
            let wanted = connection.wanted();
            if connection.is_unread() {
                unread.push(*id);
                until = now;
            }
            // Without a wish there is no entry: the end of a connection would be told again and again.
            if !wanted.is_empty() {
                sources.push(Source::Connection(*id));
                let fd: BorrowedFd<'_> = connection.link.stream.as_fd();
                entries.push(PollFd::from_borrowed_fd(fd, wanted));
            }
        }
        let wait = if may_wait { until.saturating_duration_since(now) } else { Duration::ZERO };
        let timeout = Timespec::try_from(wait).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match rustix::event::poll(&mut entries, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            result => result?,
        };
        let ready = sources.iter().zip(&entries).filter(|(_, entry)| !entry.revents().is_empty());
        events.extend(ready.map(|(source, entry)| (*source, entry.revents())));
        unread.retain(|id| {
            !events.iter().any(|(source, _)| matches!(source, Source::Connection(of) if of == id))
        });
        events.extend(unread.into_iter().map(|id| (Source::Connection(id), PollFlags::empty())));
        Ok(())
    }

    /// Opens the connections that are wanted.
    fn dial(&mut self, now: Instant) {
        let (due, next) = self.shared.table.to_dial(now);
        self.next_dial = next;
        for peer in due {
            let Some((address, _)) = peer.to_tcp() else { continue };
            match listen::connect(address) {
                Ok(stream) => {
                    let mut connection = self.connection(stream, address, Some(peer), now);
                    connection.stage = Stage::Connecting;
                    self.insert(connection);
                }
                Err(error) => self.dial_failed(&peer, &Cause::Failed(error), now),
            }
        }
    }

    fn dial_failed(&mut self, peer: &Locator, cause: &Cause, now: Instant) {
        let text = cause.of_dial(peer);
        if self.shared.table.failed(peer, text.clone(), now, &mut self.rng) {
            self.shared.tell(text);
        }
        self.next_dial = Some(now);
    }

    fn connection(
        &mut self,
        stream: TcpStream,
        remote: SocketAddr,
        peer: Option<Locator>,
        now: Instant,
    ) -> Connection {
        self.next_id += 1;
        let link = Link::new(self.next_id, stream, remote, peer.is_some());
        Connection::new(Arc::new(link), peer, now)
    }

    fn insert(&mut self, connection: Connection) {
        self.connections.insert(connection.link.id, connection);
        self.shared.counters.open.store(self.connections.len() as u64, Relaxed);
        self.next_look = self.next_look.min(Instant::now() + SOON);
    }

    fn accept(&mut self, index: usize, now: Instant) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let Some(accepted) = self.listeners.get(index).map(TcpListener::accept) else { return };
            match accepted {
                Ok((stream, remote)) => self.admit(stream, remote, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It has gone before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.accept_after = now + NO_ROOM;
                    return;
                }
            }
        }
    }

    /// Takes in a connection that another end has opened.
    fn admit(&mut self, stream: TcpStream, remote: SocketAddr, now: Instant) {
        if let Some(evicted) = room::to_evict(&self.connections, self.shared.config.max_connections) {
            add(&self.shared.counters.evicted, 1);
            self.end(evicted, &Cause::Evicted, now);
        } else if self.connections.len() >= self.shared.config.max_connections {
            return;
        }
        if listen::set_up(&stream).is_err() {
            return;
        }
        add(&self.shared.counters.accepted, 1);
        let mut connection = self.connection(stream, remote, None, now);
        match connection.begin(&self.shared) {
            Ok(()) => self.insert(connection),
            Err(_) => connection.link.end(),
        }
    }

    /// Does what a connection is ready for.
    fn serve(&mut self, id: u64, flags: PollFlags, now: Instant) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let result = connection.serve(&self.shared, &mut self.scratch, flags, now);
        if let Err(cause) = result {
            self.end(id, &cause, now);
        } else if connection.is_awaited() {
            self.next_look = self.next_look.min(now + SOON);
        }
    }

    /// Looks at what is expected of connections.
    fn look(&mut self, now: Instant) {
        let mut over = Vec::new();
        let mut next = now + SELDOM;
        for (id, connection) in &mut self.connections {
            if let Err(cause) = connection.look(&self.shared, now) {
                over.push((*id, cause));
            } else if connection.is_awaited() {
                next = now + SOON;
            }
        }
        self.next_look = next;
        for (id, cause) in over {
            self.end(id, &cause, now);
        }
    }

    /// Ends a connection.
    fn end(&mut self, id: u64, cause: &Cause, now: Instant) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.shared.counters.open.store(self.connections.len() as u64, Relaxed);
        let text = cause.of_connection(&connection.link);
        let failed = connection.peer.filter(|_| connection.stage != Stage::Bound);
        // Whoever asks why once the other end sees it closed is told.
        if failed.is_none() && cause.is_refusal() {
            add(&self.shared.counters.refused, 1);
            self.shared.tell(text.clone());
            // A port that the other end chose would make the same trouble a new one each time.
            self.shared.refuse(cause.of_host(&connection.link), now);
        }
        connection.link.end();
        for key in &connection.keys {
            self.shared.table.detach(key, &connection.link, &text, now);
        }
        if let Some(peer) = failed {
            self.dial_failed(&peer, cause, now);
        }
        self.next_dial = Some(now);
    }

    /// Lets the last messages leave.
    pub(crate) fn finish(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        for connection in self.connections.values().filter(|connection| connection.stage == Stage::Bound) {
            connection.link.control(&Message::Unbind, None);
        }
        let mut left: Vec<&Arc<Link>> =
            self.connections.values().map(|connection| &connection.link).collect();
        loop {
            left.retain(|link| link.flush().is_ok() && link.wants_write());
            let wait = until.saturating_duration_since(Instant::now());
            if left.is_empty() || wait.is_zero() {
                break;
            }
            let mut entries: Vec<PollFd<'_>> =
                left.iter().map(|link| PollFd::new(&link.stream, PollFlags::OUT)).collect();
            let timeout = Timespec::try_from(wait).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
            if rustix::event::poll(&mut entries, Some(&timeout)).is_err() {
                break;
            }
        }
        for connection in self.connections.values() {
            for key in &connection.keys {
                self.shared.table.detach(key, &connection.link, "the transport is closed", until);
            }
            connection.link.end();
        }
    }
}
