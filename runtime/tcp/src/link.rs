//! One connection as its senders see it. The threads that write send on it themselves: the messages of one call leave
//! together. What the socket does not take stays in the queue, and the thread of the transport sends it on.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin_buf::SharedBytes;
use dunlin_transport::SendMode;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::net::{self, SendAncillaryBuffer, SendFlags};

use crate::control::{Code, Message, Transaction};
use crate::frame::{HEADER, Header, MAX_LONG_MESSAGE, MAX_MESSAGE};
use crate::queue::Queue;
use crate::tls::Session;

/// Octets that may wait for the socket; the last message may go beyond.
const QUEUE: usize = 512 << 10;
/// Octets that may wait until logical ports are open.
const HELD: usize = 256 << 10;
/// How long a writer waits for room. A peer that takes nothing for so long is not waited for again until it has taken half
/// of what waits.
const PATIENCE: Duration = Duration::from_millis(200);
/// Pause before a logical port that was refused is asked for again.
const REFUSED: Duration = Duration::from_secs(5);
/// Most logical ports of a peer that are remembered.
const MAX_PORTS: usize = 64;
/// What a transaction of an end begins with, behind its number, that takes longer messages than Fast DDS; how long follows.
/// Others give transactions back as they are.
const TAKES_LONG: [u8; 4] = *b"DUNL";

/// A logical port of the peer.
enum Port {
    /// Asked for; this is the transaction.
    Asked(Transaction),
    Open,
    Refused(Instant),
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// Sent, or queued.
    Sent,
    /// There was no room.
    Full,
    /// Nobody has this logical port.
    Refused,
    /// The connection has ended.
    Gone,
}

struct Out {
    session: Option<Session>,
    /// What the socket has not taken yet.
    queue: Queue,
    ports: BTreeMap<u16, Port>,
    held: Vec<(u16, Vec<u8>)>,
    held_octets: usize,
    transactions: u32,
    /// A writer has waited in vain.
    stalled: bool,
    gone: bool,
}

/// A connection.
pub(crate) struct Link {
    pub(crate) id: u64,
    pub(crate) stream: TcpStream,
    pub(crate) remote: SocketAddr,
    /// This end has connected.
    pub(crate) dialed: bool,
    secure: AtomicBool,
    wants_write: AtomicBool,
    /// Octets of the longest message that the other end takes.
    longest: AtomicUsize,
    out: Mutex<Out>,
}

/// Writes to a socket. Where the peer has closed it that is an error, and never the signal SIGPIPE, which ends a process that
/// did not choose to ignore it.
pub(crate) struct WithoutSignal<'s>(pub(crate) &'s TcpStream);

impl Write for WithoutSignal<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let sent = net::sendmsg(self.0, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL);
        sent.map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The longest message that an end takes, by a transaction that it has begun; `None` if it does not say so.
pub(crate) fn longest_of(transaction: &Transaction) -> Option<usize> {
    let [_, _, _, _, tag @ .., l0, l1, l2, l3] = *transaction;
    let longest = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    (tag == TAKES_LONG).then(|| longest.clamp(MAX_MESSAGE, MAX_LONG_MESSAGE))
}

impl Out {
    fn transaction(&mut self) -> Transaction {
        self.transactions = self.transactions.wrapping_add(1);
        let mut octets = [0; 12];
        octets[..4].copy_from_slice(&self.transactions.to_le_bytes());
        octets[4..8].copy_from_slice(&TAKES_LONG);
        octets[8..].copy_from_slice(&(MAX_LONG_MESSAGE as u32).to_le_bytes());
        octets
    }

    /// Sends what waits, as much as the socket takes; true if nothing is left.
    fn flush(&mut self, stream: &TcpStream) -> io::Result<bool> {
        if let Some(session) = &mut self.session
            && !session.flush(stream)?
        {
            return Ok(false);
        }
        let Self { queue, session, .. } = self;
        while !queue.is_empty() {
            let left = queue.leave(|slices| match session {
                None => WithoutSignal(stream).write_vectored(slices),
                Some(session) => session.write(stream, slices),
            });
            match left {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if queue.len() < QUEUE / 2 {
            self.stalled = false;
        }
        Ok(!self.wants_write())
    }

    fn wants_write(&self) -> bool {
        !self.queue.is_empty() || self.session.as_ref().is_some_and(Session::wants_write)
    }

    /// Whether messages for a logical port may be sent, and asks for it if that has not been done.
    fn ask(&mut self, port: u16) -> Result<bool, Taken> {
        match self.ports.get(&port) {
            Some(Port::Open) => return Ok(true),
            Some(Port::Asked(_)) => return Ok(false),
            Some(Port::Refused(until)) if Instant::now() < *until => return Err(Taken::Refused),
            None if self.ports.len() >= MAX_PORTS => return Err(Taken::Refused),
            Some(Port::Refused(_)) | None => {}
        }
        let transaction = self.transaction();
        self.queue.put(&Message::Open { port }.encode(&transaction));
        self.ports.insert(port, Port::Asked(transaction));
        Ok(false)
    }

    /// Queues a message. Who takes long ones wants no sums: TCP has its own, and TLS better ones.
    fn put(&mut self, message: &Pieces<'_>, with_sum: bool) {
        let parts = message.parts.iter().copied().take(if with_sum { usize::MAX } else { 0 });
        self.queue.put(&Header::of(message.port, message.len, parts).encode());
        let mut at = 0;
        for part in message.parts {
            match message.last {
                Some((before, payload)) if before == at => self.queue.put_shared(payload),
                _ => self.queue.put(part),
            }
            at += part.len();
        }
    }
}

/// A message in pieces.
pub(crate) struct Pieces<'m> {
    pub(crate) port: u16,
    pub(crate) len: usize,
    pub(crate) parts: &'m [&'m [u8]],
    /// The part that is shared, and how many octets are before it.
    pub(crate) last: Option<(usize, &'m SharedBytes)>,
}

impl Link {
    pub(crate) fn new(id: u64, stream: TcpStream, remote: SocketAddr, dialed: bool) -> Self {
        let out = Out {
            session: None,
            queue: Queue::default(),
            ports: BTreeMap::new(),
            held: Vec::new(),
            held_octets: 0,
            transactions: 0,
            stalled: false,
            gone: false,
        };
        Self {
            id,
            stream,
            remote,
            dialed,
            secure: AtomicBool::new(false),
            wants_write: AtomicBool::new(false),
            longest: AtomicUsize::new(MAX_MESSAGE),
            out: Mutex::new(out),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encrypts from now on.
    pub(crate) fn secure(&self, session: Session) {
        self.lock().session = Some(session);
        self.secure.store(true, Relaxed);
    }

    /// Octets of the longest message that the other end takes.
    pub(crate) fn longest(&self) -> usize {
        self.longest.load(Relaxed)
    }

    /// The other end takes messages of so many octets.
    pub(crate) fn takes(&self, longest: usize) {
        self.longest.store(longest, Relaxed);
    }

    /// Whether TLS has not agreed on keys yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.secure.load(Relaxed) && self.lock().session.as_ref().is_some_and(Session::is_handshaking)
    }

    /// Whether something waits for the socket.
    pub(crate) fn wants_write(&self) -> bool {
        self.wants_write.load(Relaxed)
    }

    /// Ends it: nobody sends on it any more.
    pub(crate) fn end(&self) {
        self.lock().gone = true;
        // Who waits for it is woken. It may have been closed by the peer.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Takes note of what a call has left behind; true if the thread of the transport has to know.
    fn settle(&self, out: &mut Out) -> bool {
        out.wants_write() && !self.wants_write.swap(true, Relaxed)
    }

    /// Queues a message for a logical port of the peer; it leaves with [`leave`](Self::leave), or when the queue is full.
    pub(crate) fn send(&self, message: &Pieces<'_>, mode: SendMode) -> Taken {
        let longest = self.longest();
        if message.len > longest {
            return Taken::Refused;
        }
        let mut out = self.lock();
        if out.gone {
            return Taken::Gone;
        }
        let open = match out.ask(message.port) {
            Ok(open) => open,
            Err(taken) => return taken,
        };
        out = self.wait_for_room(out, open, mode);
        if out.gone {
            Taken::Gone
        } else if open && out.queue.len() < QUEUE {
            out.put(message, longest <= MAX_MESSAGE);
            Taken::Sent
        } else if !open && out.held_octets + message.len <= HELD {
            hold(&mut out, message);
            Taken::Sent
        } else {
            Taken::Full
        }
    }

    /// Sends what is queued; `wake` is called when the thread of the transport has to go on.
    pub(crate) fn leave(&self, wake: impl Fn()) {
        let mut out = self.lock();
        if out.gone {
            return;
        }
        self.try_to_flush(&mut out);
        if self.settle(&mut out) {
            drop(out);
            wake();
        }
    }

    /// Waits until there is room in the queue, as long as a writer may wait.
    fn wait_for_room<'l>(
        &'l self,
        mut out: MutexGuard<'l, Out>,
        open: bool,
        mode: SendMode,
    ) -> MutexGuard<'l, Out> {
        if !open || out.queue.len() < QUEUE {
            return out;
        }
        // What this call has queued may not have been tried yet.
        self.try_to_flush(&mut out);
        if mode == SendMode::NonBlocking || out.stalled {
            return out;
        }
        let deadline = Instant::now() + PATIENCE;
        while out.queue.len() >= QUEUE && !out.gone {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                out.stalled = true;
                break;
            }
            out = self.wait_for_socket(out, left);
        }
        out
    }

    /// Waits until the socket takes more, and sends.
    fn wait_for_socket<'l>(&'l self, out: MutexGuard<'l, Out>, at_most: Duration) -> MutexGuard<'l, Out> {
        drop(out);
        let timeout = Timespec::try_from(at_most).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        // An error of the socket shows when something is sent.
        let _ = event::poll(&mut [PollFd::new(&self.stream, PollFlags::OUT)], Some(&timeout));
        let mut out = self.lock();
        self.try_to_flush(&mut out);
        out
    }

    fn try_to_flush(&self, out: &mut Out) {
        if out.flush(&self.stream).is_err() {
            // Reading from it fails as well, and says why.
            out.gone = true;
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Sends a control message; false if the peer takes nothing although it asks and asks.
    pub(crate) fn control(&self, message: &Message, transaction: Option<&Transaction>) -> bool {
        let mut out = self.lock();
        if out.queue.len() > 2 * QUEUE + MAX_LONG_MESSAGE {
            return false;
        }
        let transaction = transaction.copied().unwrap_or_else(|| out.transaction());
        out.queue.put(&message.encode(&transaction));
        self.try_to_flush(&mut out);
        self.settle(&mut out);
        !out.gone
    }

    /// The answer to a question for a logical port: what waited for it leaves, or is dropped.
    pub(crate) fn opened(&self, code: Code, transaction: &Transaction) {
        let mut out = self.lock();
        let asked = |port: &Port| matches!(port, Port::Asked(id) if id == transaction);
        let Some(port) = out.ports.iter().find(|(_, port)| asked(port)).map(|(port, _)| *port) else {
            return;
        };
        let state = if code == Code::OK { Port::Open } else { Port::Refused(Instant::now() + REFUSED) };
        out.ports.insert(port, state);
        let with_sum = self.longest() <= MAX_MESSAGE;
        for (to, message) in std::mem::take(&mut out.held) {
            if to != port {
                out.held.push((to, message));
                continue;
            }
            out.held_octets -= message.len();
            if code == Code::OK {
                let pieces = Pieces { port, len: message.len(), parts: &[&message], last: None };
                out.put(&pieces, with_sum);
            }
        }
        self.try_to_flush(&mut out);
        self.settle(&mut out);
    }

    /// A logical port of the peer is gone; it may come back.
    pub(crate) fn port_closed(&self, port: u16) {
        self.lock().ports.remove(&port);
    }

    /// Sends what waits, on the thread of the transport.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let mut out = self.lock();
        let empty = out.flush(&self.stream)?;
        self.wants_write.store(!empty, Relaxed);
        Ok(())
    }

    /// Reads, on the thread of the transport.
    pub(crate) fn read(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if !self.secure.load(Relaxed) {
            return (&self.stream).read_vectored(bufs);
        }
        let mut out = self.lock();
        let result = match &mut out.session {
            Some(session) => session.read(&self.stream, bufs),
            None => Ok(0),
        };
        self.settle(&mut out);
        result
    }
}

fn hold(out: &mut Out, message: &Pieces<'_>) {
    out.held_octets += message.len;
    out.held.push((message.port, message.parts.concat()));
}

/// A unit has a header of so many octets; here so that nobody counts on less room.
const _: () = assert!(QUEUE > HELD + HEADER);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn writing_to_a_closed_connection_raises_no_signal() {
        let raised = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGPIPE, Arc::clone(&raised)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let error = WithoutSignal(&stream).write_vectored(&[IoSlice::new(b"anybody?")]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert!(!raised.load(Relaxed));
    }
}
