//! Segmentation offload: one system call for a run of datagrams of equal size, and the memory of where
//! the kernel refused it.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dunlin_buf::Datagram;
use dunlin_core::defaults::LONG_DATAGRAM;

use crate::sys::{self, IntOption};

/// Most datagrams in one call: the limit of older kernels.
const MAX_SEGMENTS: usize = 64;
/// Most octets in one call: with headers it must stay within 64 KiB.
const MAX_OCTETS: usize = LONG_DATAGRAM;
/// Most pieces in one call.
pub(crate) const MAX_PARTS: usize = 256;
/// Most destinations remembered as refused; the oldest is forgotten first.
const MAX_REFUSED: usize = 64;

/// A run of datagrams to the same destinations, all of one size but the last, which may be shorter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) count: usize,
    pub(crate) octets: usize,
    pub(crate) segment: usize,
    /// How urgent all of them are.
    pub(crate) class: u8,
    /// Pieces written to the scatter list.
    pub(crate) parts: usize,
}

impl Run {
    /// The longest run at the start of `datagrams`, its scatter list in `parts`. `None` if not even the
    /// first datagram fits the list.
    pub(crate) fn gather<'a>(
        datagrams: impl Iterator<Item = Datagram<'a>>,
        parts: &mut [IoSlice<'a>],
        offload: bool,
    ) -> Option<Self> {
        let mut run = Self { count: 0, octets: 0, segment: 0, class: 0, parts: 0 };
        let mut destinations = &[][..];
        for datagram in datagrams {
            if run.count == 0 {
                run.segment = datagram.len();
                run.class = datagram.class();
                destinations = datagram.destinations();
            } else if !run.accepts(&datagram) || datagram.destinations() != destinations {
                break;
            }
            let Some(used) = scatter(&datagram, parts.get_mut(run.parts..)?) else { break };
            run.count += 1;
            run.parts += used;
            run.octets += datagram.len();
            if !offload || datagram.len() < run.segment {
                break;
            }
        }
        (run.count > 0).then_some(run)
    }

    fn accepts(&self, datagram: &Datagram<'_>) -> bool {
        self.count < MAX_SEGMENTS
            && datagram.len() <= self.segment
            && datagram.class() == self.class
            && self.octets + datagram.len() <= MAX_OCTETS
    }
}

/// Writes the pieces of a datagram into `slots`; `None` if they do not fit.
pub(crate) fn scatter<'a>(datagram: &Datagram<'a>, slots: &mut [IoSlice<'a>]) -> Option<usize> {
    let mut used = 0;
    for part in datagram.parts() {
        *slots.get_mut(used)? = IoSlice::new(part);
        used += 1;
    }
    Some(used)
}

/// Larger than the path allows, or the device or route cannot segment.
fn is_of_path(number: i32) -> bool {
    matches!(number, libc::EINVAL | libc::EIO | libc::EMSGSIZE)
}

/// The kernel segments nowhere.
fn is_of_kernel(number: i32) -> bool {
    matches!(number, libc::EOPNOTSUPP | libc::ENOPROTOOPT)
}

/// True if an error of a run means that it has to leave in single datagrams. Any other would befall those too.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| is_of_path(number) || is_of_kernel(number))
}

/// Whether and where the kernel segments.
pub(crate) struct Offload {
    enabled: AtomicBool,
    any_refused: AtomicBool,
    /// Destination and the smallest segment refused there.
    refused: RwLock<VecDeque<(IpAddr, usize)>>,
}

impl Offload {
    /// Asks the kernel whether it knows segmentation at all: one that does not would ignore the request
    /// and send a run as one datagram.
    pub(crate) fn probe(socket: BorrowedFd<'_>, wanted: bool) -> Self {
        let known = sys::get_option(socket, IntOption::UDP_SEGMENT).is_ok();
        Self {
            enabled: AtomicBool::new(wanted && known),
            any_refused: AtomicBool::new(false),
            refused: RwLock::default(),
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Relaxed)
    }

    /// True if a run of segments of this size may be tried.
    pub(crate) fn allows(&self, destination: IpAddr, segment: usize) -> bool {
        if !self.is_enabled() {
            return false;
        }
        if !self.any_refused.load(Relaxed) {
            return true;
        }
        let refused = self.refused.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        !refused.iter().any(|(ip, size)| *ip == destination && segment >= *size)
    }

    /// True if the error means that the kernel does not segment this; it is remembered, so that the next
    /// run does not pay for the attempt.
    pub(crate) fn learn(&self, error: &io::Error, destination: IpAddr, segment: usize) -> bool {
        match error.raw_os_error() {
            Some(number) if is_of_path(number) => {
                self.refuse(destination, segment);
                true
            }
            Some(number) if is_of_kernel(number) => {
                self.enabled.store(false, Relaxed);
                true
            }
            _ => false,
        }
    }

    fn refuse(&self, destination: IpAddr, segment: usize) {
        let mut refused = self.refused.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        match refused.iter_mut().find(|(ip, _)| *ip == destination) {
            Some((_, size)) => *size = segment.min(*size),
            None => {
                if refused.len() >= MAX_REFUSED {
                    refused.pop_front();
                }
                refused.push_back((destination, segment));
            }
        }
        self.any_refused.store(true, Relaxed);
    }

    /// Routes have changed: what was refused may work now.
    pub(crate) fn forget(&self) {
        self.refused.write().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
        self.any_refused.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    use dunlin_buf::Outbox;
    use dunlin_core::Locator;

    use super::*;

    fn outbox(sizes: &[usize], other_destination: &[usize]) -> Outbox {
        let mut outbox = Outbox::new();
        for (n, size) in sizes.iter().enumerate() {
            outbox.begin();
            outbox.put(&vec![n as u8; *size]);
            let port = if other_destination.contains(&n) { 2 } else { 1 };
            outbox.finish(&[Locator::udp_v4(Ipv4Addr::LOCALHOST, port)]);
        }
        outbox
    }

    fn count(sizes: &[usize], other: &[usize], slots: usize) -> Option<usize> {
        let outbox = outbox(sizes, other);
        let mut parts = vec![IoSlice::new(&[]); slots];
        Run::gather(outbox.datagrams(), &mut parts, true).map(|run| run.count)
    }

    #[test]
    fn runs_end_where_the_kernel_would_not_follow() {
        assert_eq!(count(&[100; 10], &[], 256), Some(10));
        assert_eq!(count(&[100, 100, 50, 50], &[], 256), Some(3), "a shorter one ends the run");
        assert_eq!(count(&[100, 101], &[], 256), Some(1), "a longer one begins another");
        assert_eq!(count(&[100; 4], &[2], 256), Some(2), "another destination begins another");
        assert_eq!(count(&[10; 100], &[], 256), Some(64));
        assert_eq!(count(&[1_400; 64], &[], 256), Some(46), "46 x 1400 <= 65000");
        assert_eq!(count(&[65_507, 65_507], &[], 256), Some(1));
        assert_eq!(count(&[100; 10], &[], 3), Some(3), "as many as the list holds");
        assert_eq!(count(&[100; 10], &[], 0), None);
    }

    #[test]
    fn refusals_are_remembered_by_destination_and_size() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let offload = Offload::probe(socket.as_fd(), true);
        offload.enabled.store(true, Relaxed);
        let (near, far) = ([127, 0, 0, 1].into(), [192, 0, 2, 9].into());
        assert!(offload.allows(far, 1_472));
        let error = |number| io::Error::from_raw_os_error(number);
        assert!(offload.learn(&error(libc::EINVAL), far, 1_472));
        assert!(!offload.allows(far, 1_472) && !offload.allows(far, 9_000));
        assert!(offload.allows(far, 1_300) && offload.allows(near, 1_472));
        assert!(!offload.learn(&error(libc::EAGAIN), near, 100));
        for n in 0..100 {
            offload.refuse([10, 0, 0, n].into(), 100);
        }
        assert!(offload.refused.read().unwrap().len() <= MAX_REFUSED);
        offload.forget();
        assert!(offload.allows(far, 1_472));
        assert!(offload.learn(&error(libc::EOPNOTSUPP), near, 100));
        assert!(!offload.allows(near, 100));
    }
}
