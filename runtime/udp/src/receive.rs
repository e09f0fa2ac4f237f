//! Receiving: one datagram or one run of datagrams in each system call.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use dunlin_buf::{BufPool, SharedBytes};
use dunlin_core::Locator;
use dunlin_transport::{Channel, RecvMode, closed};
use socket2::Socket;

use crate::buffers;
use crate::counters::{Counters, add};
use crate::sys::{self, IntOption};

/// Room for the largest datagram and the longest run.
const BUFFER: usize = 65_536;
/// What is no longer than this is copied, so that it does not keep a whole buffer alive.
const COPIED: usize = 4_096;
/// The same for a single datagram, which becomes one sample, once a few keep a buffer of their own: a fragment is put into its
/// place at once, and copying it before that would be in vain.
const COPIED_ALONE: usize = BUFFER / 2;
const FEW: usize = 4;
/// Most sockets of one channel: unicast and group, in two IP versions.
const MAX_SOCKETS: usize = 4;
/// Channels of this transport.
const MAX_CHANNELS: usize = 3;

/// A receiving socket.
pub(crate) struct Receiver {
    socket: Arc<Socket>,
    overflow: AtomicU32,
}

impl Receiver {
    pub(crate) fn new(socket: Arc<Socket>, offload: bool) -> Self {
        if offload {
            // A kernel without it hands over datagrams one by one.
            let _ = sys::set_option(socket.as_fd(), IntOption::UDP_GRO, 1);
        }
        // Without it, losses for want of buffer space stay uncounted.
        let _ = sys::set_option(socket.as_fd(), IntOption::RXQ_OVFL, 1);
        Self { socket, overflow: AtomicU32::new(0) }
    }

    pub(crate) fn socket(&self) -> Arc<Socket> {
        Arc::clone(&self.socket)
    }

    /// Takes what there is, at most `burst` times.
    fn receive_up_to(
        &self,
        burst: usize,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
        counters: &Counters,
    ) -> io::Result<()> {
        for _ in 0..burst {
            match self.receive(false, pool, out, counters) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                other => other?,
            }
        }
        Ok(())
    }

    fn receive(
        &self,
        wait: bool,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
        counters: &Counters,
    ) -> io::Result<()> {
        let mut buffer = pool.take(BUFFER);
        let result = sys::receive_message(self.socket.as_fd(), buffer.vec_mut(), wait);
        let arrival = match result {
            Ok(arrival) if arrival.len > 0 && !arrival.truncated => arrival,
            other => {
                pool.freeze(buffer, 0);
                return other.map(|arrival| add(&counters.receive_truncated, arrival.truncated.into()));
            }
        };
        let alone = arrival.segment.is_none_or(|size| size >= arrival.len);
        let longest_copied = if alone && pool.has_lent(BUFFER, FEW) { COPIED_ALONE } else { COPIED };
        let bytes = if arrival.len <= longest_copied {
            let copy = pool.copy(buffer.vec_mut());
            pool.freeze(buffer, 0);
            copy
        } else {
            pool.freeze(buffer, arrival.len)
        };
        if let Some(dropped) = arrival.overflow {
            self.overflow.store(dropped, Relaxed);
        }
        let Some(from) = arrival.from.as_socket().map(Locator::udp) else { return Ok(()) };
        let before = out.len();
        split(&bytes, arrival.segment, |datagram| out.push((datagram, from)));
        add(&counters.receive_calls, 1);
        add(&counters.received_datagrams, out.len() - before);
        add(&counters.received_octets, bytes.len());
        Ok(())
    }
}

/// Cuts a run into its datagrams.
fn split(bytes: &SharedBytes, segment: Option<usize>, mut each: impl FnMut(SharedBytes)) {
    let Some(size) = segment.filter(|size| *size < bytes.len()) else { return each(bytes.clone()) };
    let mut start = 0;
    while start < bytes.len() {
        let end = (start + size).min(bytes.len());
        bytes.slice(start..end).into_iter().for_each(&mut each);
        start = end;
    }
}

/// The sockets of one channel, the unicast ones first.
pub(crate) struct Receivers {
    pub(crate) sockets: Vec<Receiver>,
    /// How much is taken from one socket before the next is looked at. For discovery it is all there is, within reason:
    /// a goodbye to the group must not overtake the answers that were sent to us alone before it.
    pub(crate) burst: usize,
}

impl Receivers {
    /// Takes what there is on the sockets, and waits for it if it may.
    pub(crate) fn receive(
        &self,
        mode: RecvMode,
        stopped: &AtomicBool,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
        counters: &Counters,
    ) -> io::Result<()> {
        if stopped.load(Relaxed) {
            return Err(closed());
        }
        let result = match self.sockets.as_slice() {
            [only] => only.receive(mode == RecvMode::Blocking, pool, out, counters),
            several => self.receive_any(several, mode, pool, out, counters),
        };
        match result {
            _ if stopped.load(Relaxed) => Err(closed()),
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                Ok(())
            }
            result => result,
        }
    }

    /// Waits for any of several sockets and takes from each that has something.
    fn receive_any(
        &self,
        several: &[Receiver],
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
        counters: &Counters,
    ) -> io::Result<()> {
        let mut entries = [sys::NOBODY; MAX_SOCKETS];
        for (entry, receiver) in entries.iter_mut().zip(several) {
            *entry = sys::poll_entry(receiver.socket.as_fd());
        }
        let patience = (mode == RecvMode::NonBlocking).then_some(Duration::ZERO);
        if !sys::wait_readable(&mut entries, patience)? {
            return Ok(());
        }
        let (start, mut result) = (out.len(), Ok(()));
        // What was sent before something that is found on a later socket is on the earlier ones by then. So the later
        // ones are read first, and what the earlier ones have goes in front.
        for (receiver, entry) in several.iter().zip(&entries).rev() {
            if entry.revents != 0 || out.len() > start {
                let before = out.len();
                result = result.and(receiver.receive_up_to(self.burst, pool, out, counters));
                let count = out.len() - before;
                out[start..].rotate_right(count);
            }
        }
        result
    }

    /// Octets for which the smallest buffer has room whatever the sizes of the datagrams, and others send as much; `None`
    /// without sockets.
    pub(crate) fn room(&self) -> Option<usize> {
        self.sockets.iter().filter_map(|receiver| buffers::receive_room(&receiver.socket)).min()
    }

    /// Makes every present and future [`Receivers::receive`] return.
    pub(crate) fn wake(&self) {
        for receiver in &self.sockets {
            // On a socket without a peer this reports an error, but it does wake the receiver.
            let _ = receiver.socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Datagrams dropped by the kernel for want of buffer space.
    pub(crate) fn overflow(&self) -> u64 {
        self.sockets.iter().map(|receiver| u64::from(receiver.overflow.load(Relaxed))).sum()
    }
}

/// Waits until a socket of several channels has something, and says of which.
pub(crate) fn wait<'a>(
    channels: impl Iterator<Item = (Channel, &'a Receivers)> + Clone,
    stopped: &AtomicBool,
    ready: &mut Vec<Channel>,
    patience: Option<Duration>,
) -> io::Result<()> {
    if stopped.load(Relaxed) {
        return Err(closed());
    }
    let sockets =
        channels.flat_map(|(channel, receivers)| receivers.sockets.iter().map(move |it| (channel, it)));
    let mut entries = [sys::NOBODY; MAX_CHANNELS * MAX_SOCKETS];
    for (entry, (_, receiver)) in entries.iter_mut().zip(sockets.clone()) {
        *entry = sys::poll_entry(receiver.socket.as_fd());
    }
    match sys::wait_readable(&mut entries, patience) {
        _ if stopped.load(Relaxed) => return Err(closed()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
        result => result?,
    };
    for (entry, (channel, _)) in entries.iter().zip(sockets) {
        if entry.revents != 0 && !ready.contains(&channel) {
            ready.push(channel);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(len: usize, segment: Option<usize>) -> Vec<usize> {
        let bytes = SharedBytes::from(vec![0; len]);
        let mut pieces = vec![];
        split(&bytes, segment, |piece| pieces.push(piece.len()));
        pieces
    }

    #[test]
    fn runs_are_cut_at_the_segment_size() {
        assert_eq!(pieces(100, None), [100]);
        assert_eq!(pieces(100, Some(100)), [100]);
        assert_eq!(pieces(100, Some(200)), [100]);
        assert_eq!(pieces(100, Some(30)), [30, 30, 30, 10]);
        assert_eq!(pieces(90, Some(30)), [30, 30, 30]);
    }
}
