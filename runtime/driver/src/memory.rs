//! Who is reached within the process or through shared memory instead of the network.
//!
//! Another participant of the group is handed what is for it. One that announces a place in shared memory is attached as
//! soon as it is discovered. Only then, and as long as that works, the engine sends data there; everything else stays on the network,
//! and the reason is kept for whoever asks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use dunlin_core::{GuidPrefix, Locator};
use dunlin_engine::{Event, Output};
use dunlin_host::SendMode;
use dunlin_transport::Transport;

use crate::group_member::GroupMember;
use crate::lock::lock;
use crate::thread_port::ThreadPort;

/// Another participant that has a place in memory.
struct Path {
    place: Locator,
    /// Why the place is not used, if so.
    refused: Option<String>,
}

/// The peers of one participant that it shares memory with, or might.
pub(crate) struct SharedMemoryPeers {
    paths: Mutex<BTreeMap<GuidPrefix, Path>>,
    /// Something could not be sent.
    failed: AtomicBool,
}

impl SharedMemoryPeers {
    /// `None` for a transport that opens no paths.
    pub(crate) fn of(transport: &dyn Transport) -> Option<Self> {
        let opens = transport.locators().default_unicast.iter().any(|own| transport.opens(own));
        opens.then(|| Self { paths: Mutex::default(), failed: AtomicBool::new(false) })
    }

    pub(crate) fn note_failure(&self) {
        self.failed.store(true, Relaxed);
    }

    pub(crate) fn take_failure(&self) -> bool {
        self.failed.load(Relaxed) && self.failed.swap(false, Relaxed)
    }
}

/// What an event says of a participant: it may have a new place, or it is gone.
fn concerns(event: &Event) -> Option<(GuidPrefix, bool)> {
    match event {
        Event::ParticipantDiscovered(data) | Event::ParticipantUpdated(data) => {
            Some((data.guid_prefix, true))
        }
        Event::ParticipantLost { prefix, .. } => Some((*prefix, false)),
        _ => None,
    }
}

impl GroupMember {
    /// Attaches who has come, and lets go of who is gone. To be called when the output has been sent: who has come waits for
    /// an answer, and files and threads take time.
    pub(crate) fn follow_memory(self: &Arc<Self>, out: &mut Output, mode: SendMode) {
        let Some(memory) = &self.memory else { return };
        if !out.events.iter().any(|event| concerns(event).is_some()) {
            return;
        }
        let changes: Vec<_> = out.events.iter().filter_map(concerns).collect();
        dunlin_host::with_output(&mut ThreadPort, self, |port, more| {
            self.attach_and_let_go(memory, changes, more);
            dunlin_host::send(port, self, more, mode);
            out.events.append(&mut more.events);
            dunlin_host::conclude(port, self, more);
        });
    }

    fn attach_and_let_go(
        &self,
        memory: &SharedMemoryPeers,
        changes: Vec<(GuidPrefix, bool)>,
        out: &mut Output,
    ) {
        for (prefix, present) in changes {
            let found = self.place_of(prefix).filter(|_| present);
            if lock(&memory.paths).get(&prefix).map(|path| path.place) == found {
                continue;
            }
            self.let_go(memory, prefix);
            let Some(place) = found else { continue };
            let beside = place.participant_beside().is_some();
            let refused = if beside { None } else { self.attach(&place).err() };
            match &refused {
                None => self.participant.set_shared_memory(self.platform.now(), prefix, Some(place), out),
                Some(reason) => {
                    self.tell_of_memory(
                        prefix,
                        "data goes over the network, not through shared memory",
                        reason,
                    );
                }
            }
            lock(&memory.paths).insert(prefix, Path { place, refused });
        }
    }

    /// Peers decide how often it happens; of each `explain` tells the reason.
    fn tell_of_memory(&self, peer: GuidPrefix, what: &'static str, reason: &str) {
        if let Some(again) = self.log.admit(self.platform.now().mono, what) {
            crate::log!(INFO, "{peer}: {what}: {reason}{again}");
        }
    }

    /// Where another participant is to be found: in this process, or in shared memory that it announced.
    fn place_of(&self, prefix: GuidPrefix) -> Option<Locator> {
        match self.group().and_then(|group| group.beside(prefix)) {
            Some(_) => Some(Locator::beside(prefix)),
            None => self.participant.shared_memory_of(prefix),
        }
    }

    fn attach(&self, place: &Locator) -> Result<(), String> {
        let own = self.transport.locators().default_unicast.into_iter();
        let mut own = own.filter_map(|locator| locator.shared_memory_inbox());
        let here = own.any(|(own, _)| place.shared_memory_inbox().is_some_and(|(place, _)| place == own));
        if here && let Some(group) = self.group() {
            // Even if we cannot send there, they may be able to send here.
            group.receive_shared().map_err(|error| error.to_string())?;
        }
        self.transport.open_path(place)
    }

    fn let_go(&self, memory: &SharedMemoryPeers, prefix: GuidPrefix) {
        let path = lock(&memory.paths).remove(&prefix);
        if let Some(path) =
            path.filter(|path| path.refused.is_none() && path.place.participant_beside().is_none())
        {
            self.transport.close_path(&path.place);
        }
    }

    /// Goes back to the network with those whose memory cannot be used any more.
    pub(crate) fn leave_lost_memory(self: &Arc<Self>) {
        let Some(memory) = &self.memory else { return };
        let mut lost = Vec::new();
        for (prefix, path) in lock(&memory.paths).iter_mut().filter(|(_, path)| path.refused.is_none()) {
            if let Some(reason) = self.transport.lost(&path.place) {
                path.refused = Some(reason.clone());
                lost.push((*prefix, path.place, reason));
            }
        }
        for (prefix, place, reason) in lost {
            self.tell_of_memory(prefix, "data goes over the network from now on", &reason);
            self.transport.close_path(&place);
            dunlin_host::call(&mut ThreadPort, self, |out| {
                self.participant.set_shared_memory(self.platform.now(), prefix, None, out);
            });
        }
    }

    /// Lets go of everybody.
    pub(crate) fn leave_memory(&self) {
        let Some(memory) = &self.memory else { return };
        let prefixes: Vec<_> = lock(&memory.paths).keys().copied().collect();
        prefixes.into_iter().for_each(|prefix| self.let_go(memory, prefix));
    }

    /// Whether data for another participant goes through shared memory, or why not; `None` if there is nothing to say.
    pub(crate) fn shared_memory(&self, prefix: GuidPrefix) -> Option<Result<(), String>> {
        let paths = lock(&self.memory.as_ref()?.paths);
        let path = paths.get(&prefix)?;
        Some(path.refused.clone().map_or(Ok(()), Err))
    }
}
