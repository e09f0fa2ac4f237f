//! What the threads of a transport share.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, mem};

use dunlin_core::Locator;
use rustix::event::{EventfdFlags, eventfd};

use crate::TcpConfig;
use crate::counters::Counters;
use crate::inbox::Inbox;
use crate::listen::LogicalPorts;
use crate::table::Table;
use crate::tls::Context;

/// Sentences that are kept until somebody asks.
const MAX_TROUBLES: usize = 16;

/// How long a refusal is told of.
const REFUSED_OF_LATE: Duration = Duration::from_secs(60);

/// Wakes the thread of the transport.
pub(crate) struct Wake(OwnedFd);

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn wake(&self) {
        // If it is full, the thread is awake.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(super) fn drain(&self) {
        // If it is empty, somebody else was faster.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(crate) struct Shared {
    pub(crate) config: TcpConfig,
    /// The port of this end.
    pub(crate) port: u16,
    pub(crate) logical: LogicalPorts,
    pub(crate) tls: Option<Context>,
    pub(crate) inbox: Inbox,
    pub(crate) table: Table,
    pub(crate) counters: Counters,
    pub(crate) wake: Wake,
    pub(crate) quit: AtomicBool,
    /// There are peers to connect to.
    pub(crate) look: AtomicBool,
    troubles: Mutex<VecDeque<String>>,
    /// The same of connections that others opened and this end refused, until somebody is told, and for a while after.
    refusals: Mutex<VecDeque<(Instant, String)>>,
    kept: Mutex<Vec<TcpListener>>,
}

impl Shared {
    pub(crate) fn new(
        config: TcpConfig,
        port: u16,
        logical: LogicalPorts,
        tls: Option<Context>,
    ) -> io::Result<Self> {
        Ok(Self {
            config,
            port,
            logical,
            tls,
            inbox: Inbox::default(),
            table: Table::default(),
            counters: Counters::default(),
            wake: Wake::new()?,
            quit: AtomicBool::new(false),
            look: AtomicBool::new(false),
            troubles: Mutex::default(),
            refusals: Mutex::default(),
            kept: Mutex::default(),
        })
    }

    /// Keeps sockets that do nothing but hold a port.
    pub(super) fn keep_port(&self, sockets: Vec<TcpListener>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = sockets;
    }

    /// A peer waits to be connected to.
    pub(crate) fn look_for_peers(&self) {
        self.look.store(true, Relaxed);
        self.wake.wake();
    }

    /// Says what went wrong; the oldest sentences give way.
    pub(crate) fn tell(&self, trouble: String) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        if troubles.len() >= MAX_TROUBLES {
            troubles.pop_front();
        }
        if !troubles.contains(&trouble) {
            troubles.push_back(trouble);
        }
    }

    /// The connection of another end was refused: says so to whoever asks within a minute.
    pub(crate) fn refuse(&self, trouble: String, now: Instant) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.retain(|(_, other)| *other != trouble);
        if refusals.len() >= MAX_TROUBLES {
            refusals.pop_front();
        }
        refusals.push_back((now, trouble));
    }

    /// What was refused of late.
    pub(crate) fn refusals(&self, now: Instant) -> Vec<String> {
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let late = refusals.iter().filter(|(at, _)| now.saturating_duration_since(*at) < REFUSED_OF_LATE);
        late.map(|(_, trouble)| trouble.clone()).collect()
    }

    pub(crate) fn take_troubles(&self) -> Vec<String> {
        mem::take(&mut *self.troubles.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }

    /// The locator under which the end of a connection at `local` is announced.
    pub(crate) fn own_locator(&self, local: std::net::SocketAddr) -> Locator {
        Locator::tcp(std::net::SocketAddr::new(local.ip(), self.port), 0)
    }
}
