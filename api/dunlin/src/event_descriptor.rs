//! A file descriptor in the place of a blocking wait (DDS 1.4 §2.2.2.1.6 WaitSet), for event loops that wait for descriptors.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

#[cfg(target_os = "linux")]
use rustix::event::{EventfdFlags, eventfd};

use crate::sync::{AtomicBool, Ordering};

/// Readable once something may have changed at a condition of its [`WaitSet`](crate::WaitSet), until it is
/// [cleared](Self::clear): for `epoll`, libuv, asyncio, `mio` and others. Cheap to clone.
///
/// The order of calls: wait until it is readable, clear it, then look at the conditions or take samples until there are none. What
/// changes after the call of `clear` makes it readable again. It may be readable although nothing is to be found. Do not read from
/// it or write to it otherwise.
#[derive(Clone, Debug)]
pub struct EventDescriptor(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    #[cfg(unix)]
    descriptor: OwnedFd,
    /// It is readable, or about to be: whoever changes something then has nothing to do.
    raised: AtomicBool,
}

impl EventDescriptor {
    /// One that is not readable.
    #[cfg(target_os = "linux")]
    pub(crate) fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Shared { descriptor, raised: AtomicBool::new(false) })))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes it readable: one system call, none if it is already.
    pub(crate) fn raise(&self) {
        if !self.0.raised.swap(true, Ordering::SeqCst) {
            #[cfg(target_os = "linux")]
            // It cannot be full: it is written once between two reads.
            let _ = rustix::io::write(&self.0.descriptor, &1_u64.to_ne_bytes());
        }
    }

    /// Makes it not readable, for what has changed so far. Look at the conditions after that, not before.
    pub fn clear(&self) {
        #[cfg(target_os = "linux")]
        // Nothing to read is nothing to clear.
        let _ = rustix::io::read(&self.0.descriptor, &mut [0; 8]);
        // In this order: who raises it in between has changed something that is looked at from now on.
        self.0.raised.store(false, Ordering::SeqCst);
    }
}

#[cfg(unix)]
impl AsFd for EventDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.descriptor.as_fd()
    }
}

#[cfg(unix)]
impl AsRawFd for EventDescriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.descriptor.as_raw_fd()
    }
}
