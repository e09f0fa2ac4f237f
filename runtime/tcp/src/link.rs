//! One connection as its senders see it. The threads that write send on it themselves; what the socket does not take is
//! queued, and the thread of the transport sends it on.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin_transport::SendMode;
use rustix::net::{self, SendAncillaryBuffer, SendFlags};

use crate::control::{Code, Message, Transaction};
use crate::frame::{HEADER, Header};
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
/// Pieces of a message that leave without being joined.
const PIECES: usize = 16;

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
    /// What the socket has not taken yet begins at `sent`.
    queue: Vec<u8>,
    sent: usize,
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
    out: Mutex<Out>,
    room: Condvar,
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

impl Out {
    fn queued(&self) -> usize {
        self.queue.len() - self.sent
    }

    fn transaction(&mut self) -> Transaction {
        self.transactions = self.transactions.wrapping_add(1);
        let mut octets = [0; 12];
        octets[..4].copy_from_slice(&self.transactions.to_le_bytes());
        octets
    }

    /// Writes as much as the socket takes.
    fn write(&mut self, stream: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let result = match &mut self.session {
            None => WithoutSignal(stream).write_vectored(parts),
            Some(session) => session.write(stream, parts),
        };
        match result {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(0)
            }
            result => result,
        }
    }

    /// Writes a message, and queues what is left of it.
    fn put(&mut self, stream: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut written = 0;
        if self.queued() == 0 {
            written = self.write(stream, parts)?;
        }
        for part in parts {
            let skipped = written.min(part.len());
            written -= skipped;
            self.queue.extend_from_slice(&part[skipped..]);
        }
        Ok(())
    }

    fn put_message(&mut self, stream: &TcpStream, port: u16, message: &[u8]) -> io::Result<()> {
        let header = Header::of(port, message.len(), [message].into_iter()).encode();
        self.put(stream, &[IoSlice::new(&header), IoSlice::new(message)])
    }

    /// Sends what waits; true if nothing is left.
    fn flush(&mut self, stream: &TcpStream) -> io::Result<bool> {
        if let Some(session) = &mut self.session
            && !session.flush(stream)?
        {
            return Ok(false);
        }
        while self.queued() > 0 {
            let queue = std::mem::take(&mut self.queue);
            let written = self.write(stream, &[IoSlice::new(&queue[self.sent..])]);
            self.queue = queue;
            match written? {
                0 => break,
                count => self.sent += count,
            }
        }
        if self.queued() == 0 {
            self.queue.clear();
            self.queue.shrink_to(QUEUE / 8);
            self.sent = 0;
        } else if self.sent > QUEUE {
            self.queue.drain(..self.sent);
            self.sent = 0;
        }
        Ok(!self.wants_write())
    }

    fn wants_write(&self) -> bool {
        self.queued() > 0 || self.session.as_ref().is_some_and(Session::wants_write)
    }

    /// Whether messages for a logical port may be sent, and asks for it if that has not been done.
    fn ask(&mut self, stream: &TcpStream, port: u16) -> io::Result<Result<bool, Taken>> {
        match self.ports.get(&port) {
            Some(Port::Open) => return Ok(Ok(true)),
            Some(Port::Asked(_)) => return Ok(Ok(false)),
            Some(Port::Refused(until)) if Instant::now() < *until => return Ok(Err(Taken::Refused)),
            None if self.ports.len() >= MAX_PORTS => return Ok(Err(Taken::Refused)),
            Some(Port::Refused(_)) | None => {}
        }
        let transaction = self.transaction();
        self.put(stream, &[IoSlice::new(&Message::Open { port }.encode(&transaction))])?;
        self.ports.insert(port, Port::Asked(transaction));
        Ok(Ok(false))
    }
}

/// A message in pieces.
pub(crate) struct Pieces<'m> {
    pub(crate) port: u16,
    pub(crate) len: usize,
    pub(crate) parts: &'m [&'m [u8]],
}

impl Link {
    pub(crate) fn new(id: u64, stream: TcpStream, remote: SocketAddr, dialed: bool) -> Self {
        let out = Out {
            session: None,
            queue: Vec::new(),
            sent: 0,
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
            out: Mutex::new(out),
            room: Condvar::new(),
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
        self.room.notify_all();
        // It may have been closed by the peer.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Takes note of what a call has left behind; true if the thread of the transport has to know.
    fn settle(&self, out: &mut Out, result: io::Result<()>) -> bool {
        if result.is_err() {
            // Reading from it fails as well, and says why.
            out.gone = true;
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
        }
        out.wants_write() && !self.wants_write.swap(true, Relaxed)
    }

    /// Sends a message to a logical port of the peer; `wake` is called when the thread of the transport has to go on.
    pub(crate) fn send(&self, message: &Pieces<'_>, mode: SendMode, wake: impl Fn()) -> Taken {
        let mut out = self.lock();
        let mut result = Ok(());
        let taken = match self.admit(&mut out, message.port) {
            Ok(Ok(open)) => {
                out = self.wait_for_room(out, open, mode);
                if out.gone {
                    Taken::Gone
                } else if open && out.queued() < QUEUE {
                    result = self.put_pieces(&mut out, message);
                    Taken::Sent
                } else if !open && out.held_octets + message.len <= HELD {
                    hold(&mut out, message);
                    Taken::Sent
                } else {
                    Taken::Full
                }
            }
            Ok(Err(taken)) => taken,
            Err(error) => {
                result = Err(error);
                Taken::Gone
            }
        };
        if self.settle(&mut out, result) {
            drop(out);
            wake();
        }
        taken
    }

    fn admit(&self, out: &mut Out, port: u16) -> io::Result<Result<bool, Taken>> {
        if out.gone { Ok(Err(Taken::Gone)) } else { out.ask(&self.stream, port) }
    }

    /// Waits until there is room in the queue, as long as a writer may wait.
    fn wait_for_room<'l>(
        &'l self,
        mut out: MutexGuard<'l, Out>,
        open: bool,
        mode: SendMode,
    ) -> MutexGuard<'l, Out> {
        if mode == SendMode::NonBlocking || out.stalled || !open || out.queued() < QUEUE {
            return out;
        }
        let deadline = Instant::now() + PATIENCE;
        while out.queued() >= QUEUE && !out.gone {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                out.stalled = true;
                break;
            }
            out = self.room.wait_timeout(out, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        out
    }

    fn put_pieces(&self, out: &mut Out, message: &Pieces<'_>) -> io::Result<()> {
        let header = Header::of(message.port, message.len, message.parts.iter().copied()).encode();
        if message.parts.len() >= PIECES {
            return out.put(&self.stream, &[IoSlice::new(&header), IoSlice::new(&message.parts.concat())]);
        }
        let mut pieces = [IoSlice::new(&[]); PIECES];
        pieces[0] = IoSlice::new(&header);
        for (piece, part) in pieces[1..].iter_mut().zip(message.parts) {
            *piece = IoSlice::new(part);
        }
        out.put(&self.stream, &pieces[..=message.parts.len()])
    }

    /// Sends a control message; false if the peer takes nothing although it asks and asks.
    pub(crate) fn control(&self, message: &Message, transaction: Option<&Transaction>) -> bool {
        let mut out = self.lock();
        if out.queued() > 2 * QUEUE {
            return false;
        }
        let transaction = transaction.copied().unwrap_or_else(|| out.transaction());
        let result = out.put(&self.stream, &[IoSlice::new(&message.encode(&transaction))]);
        let fine = result.is_ok();
        self.settle(&mut out, result);
        fine
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
        let mut result = Ok(());
        for (to, message) in std::mem::take(&mut out.held) {
            if to != port {
                out.held.push((to, message));
                continue;
            }
            out.held_octets -= message.len();
            if code == Code::OK && result.is_ok() {
                result = out.put_message(&self.stream, port, &message);
            }
        }
        self.settle(&mut out, result);
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
        if out.queued() < QUEUE / 2 {
            out.stalled = false;
        }
        if out.queued() < QUEUE {
            drop(out);
            self.room.notify_all();
        }
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
        self.settle(&mut out, Ok(()));
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
    use super::*;
    use std::net::TcpListener;
    use std::sync::Arc;

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
