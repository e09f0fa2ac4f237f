//! A transport that takes over what goes to other processes of this host.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, LocatorKind, Path};
use dunlin_transport::{
    Channel, Lender, Locators, RecvMode, SendMode, SendReport, Transport, TransportStats,
};

use crate::folder::Folder;
use crate::inbox::Inbox;
use crate::lend::{Pool, PoolLender};
use crate::outlet::Outlet;
use crate::send::{self, Sent};
use crate::{Access, ShmConfig, sigbus};

/// Octets of a message besides its payload, at most, for payloads that are lent.
const OVERHEAD: usize = 4096;
/// Most receivers that a process remembers.
const MAX_OUTLETS: usize = 1024;

/// Of what the folder has free when it is opened, no ring grows to more than this part: there is one for each pair of processes
/// and direction.
const PART_OF_FREE: u64 = 16;

/// Shared memory around another transport.
pub struct ShmTransport {
    inner: Arc<dyn Transport>,
    config: ShmConfig,
    /// Octets of the longest message.
    longest: usize,
    folder: Folder,
    inbox: Inbox,
    channels: Vec<Channel>,
    /// With the number of participants that attached them.
    outlets: RwLock<BTreeMap<u64, (Arc<Outlet>, usize)>>,
    sent: Sent,
    /// What was said once: that a file was cut short, and that somebody else has the handler of faults.
    told: [AtomicBool; 2],
}

impl ShmTransport {
    /// Makes an inbox, and removes from the folder what others have left behind that are gone.
    ///
    /// # Errors
    /// When the folder cannot be used, or has no room.
    pub fn open(inner: Arc<dyn Transport>, config: &ShmConfig) -> io::Result<Self> {
        if config.sigbus_handler {
            sigbus::install()?;
        }
        let folder = Folder::open(&config.directory)?;
        folder.sweep();
        let inbox = Inbox::create(&folder, config.access)?;
        let channels = inner.channels().iter().copied().chain([Channel::DataShared]).collect();
        let (outlets, sent) = (RwLock::default(), Sent::default());
        let config = config.clone();
        let longest = config.longest(folder.free()? / PART_OF_FREE);
        let told = Default::default();
        Ok(Self { inner, config, longest, folder, inbox, channels, outlets, sent, told })
    }

    fn warning(&self) -> Option<String> {
        let folder = self.folder.path().display();
        let once = |index: usize, is: bool| is && !self.told[index].swap(true, Relaxed);
        if once(0, self.folder.cut() > 0) {
            return Some(format!(
                "a process has cut short files of shared memory in {folder} that this one uses: data takes the network until they are replaced"
            ));
        }
        once(1, self.config.sigbus_handler && sigbus::is_replaced()).then(|| {
            format!(
                "the handler for SIGBUS that shared memory needs was replaced: who cuts files in {folder} short ends this process"
            )
        })
    }

    fn lend_from_pool(&self, len: usize) -> Option<Box<dyn Lender>> {
        // What is too long for the ring could not be copied for those who cannot borrow it.
        if len + OVERHEAD > self.config.room() {
            return None;
        }
        let pool = Pool::create(&self.folder, self.inbox.id(), len, &self.config).ok()??;
        Some(Box::new(PoolLender(Arc::new(pool))))
    }

    fn find(&self, locator: &Locator) -> Option<Arc<Outlet>> {
        let (place, id) = locator.shared_memory_inbox()?;
        let outlets = self.outlets.read().unwrap_or_else(PoisonError::into_inner);
        outlets.get(&id).filter(|_| place == self.folder.place).map(|(outlet, _)| Arc::clone(outlet))
    }

    /// Why a locator of another participant cannot be used.
    fn refusal(&self, locator: &Locator) -> Option<(u64, Option<String>)> {
        let (place, id) = locator.shared_memory_inbox()?;
        let folder = self.folder.path().display();
        let why = if place[..4] != self.folder.place[..4] {
            Some("it is on another host".to_owned())
        } else if place != self.folder.place {
            Some(format!("it uses another folder than {folder} for shared memory"))
        } else {
            None
        };
        Some((id, why))
    }
}

impl Transport for ShmTransport {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn carries(&self, locator: &Locator) -> bool {
        locator.kind == LocatorKind::SHARED_MEMORY || self.inner.carries(locator)
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let (mut shared, mut others) = (0, false);
        for locator in datagrams.datagrams().flat_map(|datagram| datagram.destinations().iter()) {
            if locator.kind == LocatorKind::SHARED_MEMORY {
                shared += 1;
            } else {
                others = true;
            }
        }
        if shared == 0 {
            return self.inner.send(datagrams, mode);
        }
        sigbus::unblock_here();
        let mut report = send::send(datagrams, mode, |locator| self.find(locator), &self.sent);
        if others {
            let rest = self.inner.send(datagrams, mode);
            report.add(SendReport { skipped: rest.skipped.saturating_sub(shared), ..rest });
        }
        report
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        match channel {
            Channel::DataShared => {
                sigbus::unblock_here();
                self.inbox.receive(mode, pool, out)
            }
            _ => self.inner.recv(channel, mode, pool, out),
        }
    }

    fn gathers(&self) -> bool {
        self.inner.gathers()
    }

    fn wait(
        &self,
        channels: &[Channel],
        ready: &mut Vec<Channel>,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        self.inner.wait(channels, ready, patience)
    }

    fn shutdown(&self) {
        self.inbox.stop();
        self.inner.shutdown();
    }

    fn locators(&self) -> Locators {
        let mut locators = self.inner.locators();
        locators.default_unicast.insert(0, self.inbox.locator());
        locators
    }

    fn announce_to(&self) -> Vec<Locator> {
        self.inner.announce_to()
    }

    fn max_message_size(&self) -> usize {
        self.inner.max_message_size()
    }

    fn path(&self, to: &Locator) -> Path {
        if to.kind != LocatorKind::SHARED_MEMORY {
            return self.inner.path(to);
        }
        Path {
            kind: to.kind,
            max_message: self.longest,
            room: self.config.room(),
            same_host: true,
            in_frames: false,
        }
    }

    fn source_ports(&self) -> Vec<u16> {
        self.inner.source_ports()
    }

    fn receive_room(&self) -> usize {
        self.inner.receive_room()
    }

    fn lender(&self, len: usize) -> Option<Box<dyn Lender>> {
        // Others let in get copies: memory that could not be lent would only seem to need no room on its way.
        if self.config.access == Access::User { self.lend_from_pool(len) } else { None }
    }

    fn refresh(&self) -> bool {
        sigbus::unblock_here();
        self.inbox.maintain();
        let outlets: Vec<Arc<Outlet>> = self
            .outlets
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .map(|(outlet, _)| Arc::clone(outlet))
            .collect();
        outlets.iter().for_each(|outlet| outlet.maintain());
        self.inner.refresh()
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn warnings(&self) -> Vec<String> {
        self.inner.warnings().into_iter().chain(self.warning()).collect()
    }

    fn troubles(&self) -> Vec<String> {
        self.inner.troubles()
    }

    fn stats(&self) -> TransportStats {
        TransportStats {
            shared_sent_datagrams: self.sent.datagrams.load(Relaxed),
            shared_sent_octets: self.sent.octets.load(Relaxed),
            shared_send_full: self.sent.full.load(Relaxed),
            shared_send_failed: self.sent.failed.load(Relaxed),
            shared_received_datagrams: self.inbox.received.datagrams.load(Relaxed),
            shared_received_octets: self.inbox.received.octets.load(Relaxed),
            shared_broken: self.inbox.received.broken.load(Relaxed),
            shared_cut: self.folder.cut(),
            ..self.inner.stats()
        }
    }

    fn opens(&self, to: &Locator) -> bool {
        to.kind == LocatorKind::SHARED_MEMORY || self.inner.opens(to)
    }

    fn open_path(&self, peer: &Locator) -> Result<(), String> {
        let Some((id, refused)) = self.refusal(peer) else { return self.inner.open_path(peer) };
        if let Some(why) = refused {
            return Err(why);
        }
        let mut outlets = self.outlets.write().unwrap_or_else(PoisonError::into_inner);
        let room = outlets.len() < MAX_OUTLETS;
        let users = match outlets.get_mut(&id) {
            Some((known, users)) if known.lost().is_none() => {
                *users += 1;
                return Ok(());
            }
            Some((_, users)) => *users,
            None if !room => {
                return Err(format!("there are {MAX_OUTLETS} receivers already"));
            }
            None => 0,
        };
        let outlet = Outlet::attach(&self.folder, id, self.inbox.id(), &self.config)
            .map_err(|error| format!("{}: {error}", self.folder.path().display()))?;
        outlets.insert(id, (Arc::new(outlet), users + 1));
        Ok(())
    }

    fn close_path(&self, peer: &Locator) {
        let Some((_, id)) = peer.shared_memory_inbox() else { return self.inner.close_path(peer) };
        let mut outlets = self.outlets.write().unwrap_or_else(PoisonError::into_inner);
        let Some((_, users)) = outlets.get_mut(&id) else { return };
        *users = users.saturating_sub(1);
        if *users == 0 {
            let outlet = outlets.remove(&id);
            // Its files are removed outside the lock.
            drop(outlets);
            drop(outlet);
        }
    }

    fn lost(&self, peer: &Locator) -> Option<String> {
        match peer.kind {
            LocatorKind::SHARED_MEMORY => self.find(peer)?.lost().map(str::to_owned),
            _ => self.inner.lost(peer),
        }
    }

    fn may_return(&self, peer: &Locator) -> bool {
        match peer.kind {
            LocatorKind::SHARED_MEMORY => self.find(peer).is_some_and(|outlet| outlet.may_return()),
            _ => self.inner.may_return(peer),
        }
    }
}

#[cfg(test)]
mod cut_tests;
#[cfg(test)]
mod loan_tests;
#[cfg(test)]
mod tests;
