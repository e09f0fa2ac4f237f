//! Who is reached within the process, or over a path that was opened, such as one through shared memory.
//!
//! Another participant of the group is handed what is for it. To one that announces a place whose path has to be opened, that is
//! done as soon as it is discovered. Only then, and as long as that works, the engine sends data there; everything else
//! stays on the network, and the reason is kept for whoever asks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use dunlin_core::{GuidPrefix, Locator, LocatorKind};
use dunlin_engine::{Event, Output};
use dunlin_host::{Port, SendMode};
use dunlin_transport::Transport;

use super::GroupMember;
use crate::lock::lock;

/// The path to another participant, in place of the network.
struct OtherPath {
    place: Locator,
    /// Why the place is not used, if so.
    refused: Option<String>,
    /// It was used and is tried again.
    may_return: bool,
    /// How often it was used again after it had been lost.
    returns: u8,
}

/// Most times that a lost path is used again: each time something is lost on it, which has to be repaired.
const MOST_RETURNS: u8 = 8;

/// The peers of one participant that it reaches otherwise than over the network, or might.
pub(crate) struct OtherPaths {
    paths: Mutex<BTreeMap<GuidPrefix, OtherPath>>,
    /// Something could not be sent.
    failed: AtomicBool,
}

impl OtherPaths {
    /// `None` for a transport that opens no paths.
    pub(crate) fn of(transport: &dyn Transport) -> Option<Self> {
        let opens = transport.locators().default_unicast.iter().any(|own| transport.opens(own));
        opens.then(|| Self { paths: Mutex::default(), failed: AtomicBool::new(false) })
    }

    fn that_may_return(&self) -> Vec<(GuidPrefix, Locator)> {
        let paths = lock(&self.paths);
        let lost = paths.iter().filter(|(_, path)| path.may_return);
        lost.map(|(prefix, path)| (*prefix, path.place)).collect()
    }

    /// Notes that a path is used again; false if it is another one by now.
    fn has_returned(&self, prefix: GuidPrefix, place: Locator) -> bool {
        let mut paths = lock(&self.paths);
        let path = paths.get_mut(&prefix).filter(|path| path.place == place && path.may_return);
        let Some(path) = path else { return false };
        (path.refused, path.may_return, path.returns) = (None, false, path.returns + 1);
        true
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

/// What happens where the path to a place cannot be opened.
fn instead_of(place: &Locator) -> &'static str {
    match place.kind {
        LocatorKind::SHARED_MEMORY => "data goes over the network, not through shared memory",
        _ => "data takes another path",
    }
}

impl GroupMember {
    /// Opens paths to who has come, and closes those to who is gone. To be called when the output has been sent: who has come waits for
    /// an answer, and files and threads take time.
    pub(crate) fn follow_peers(
        self: &Arc<Self>,
        port: &mut impl Port<Member = Arc<Self>>,
        out: &mut Output,
        mode: SendMode,
    ) {
        let Some(others) = &self.paths else { return };
        if !out.events.iter().any(|event| concerns(event).is_some()) {
            return;
        }
        let changes: Vec<_> = out.events.iter().filter_map(concerns).collect();
        dunlin_host::with_output(port, self, |port, more| {
            self.open_and_close(others, changes, more);
            dunlin_host::send(port, self, more, mode);
            out.events.append(&mut more.events);
            dunlin_host::conclude(port, self, more);
        });
    }

    fn open_and_close(&self, others: &OtherPaths, changes: Vec<(GuidPrefix, bool)>, out: &mut Output) {
        for (prefix, present) in changes {
            let found = self.place_of(prefix).filter(|_| present);
            if lock(&others.paths).get(&prefix).map(|path| path.place) == found {
                continue;
            }
            self.close(others, prefix);
            let Some(place) = found else { continue };
            let in_process = place.participant_in_process().is_some();
            let refused = if in_process { None } else { self.open(&place).err() };
            match &refused {
                None => self.participant.choose_path(self.platform.now(), prefix, Some(place), out),
                Some(reason) => {
                    self.tell_of_path(prefix, instead_of(&place), reason);
                }
            }
            let path = OtherPath { place, refused, may_return: false, returns: 0 };
            lock(&others.paths).insert(prefix, path);
        }
    }

    /// Peers decide how often it happens; of each `explain` tells the reason.
    fn tell_of_path(&self, peer: GuidPrefix, what: &'static str, reason: &str) {
        if let Some(again) = self.log.admit(self.platform.now().mono, what) {
            crate::log!(INFO, "{peer}: {what}: {reason}{again}");
        }
    }

    /// Where another participant is to be found: in this process, or at a place that it announced whose path has to be opened.
    fn place_of(&self, prefix: GuidPrefix) -> Option<Locator> {
        match self.group().and_then(|group| group.in_process(prefix)) {
            Some(_) => Some(Locator::in_process(prefix)),
            None => self.participant.place_to_open(prefix),
        }
    }

    fn open(&self, place: &Locator) -> Result<(), String> {
        let own = self.transport.locators().default_unicast.into_iter();
        let mut own = own.filter_map(|locator| locator.shared_memory_inbox());
        let here = own.any(|(own, _)| place.shared_memory_inbox().is_some_and(|(place, _)| place == own));
        if here && let Some(group) = self.group() {
            // Even if we cannot send there, they may be able to send here.
            group.receive_shared().map_err(|error| error.to_string())?;
        }
        self.transport.open_path(place)
    }

    fn close(&self, others: &OtherPaths, prefix: GuidPrefix) {
        let path = lock(&others.paths).remove(&prefix);
        if let Some(path) =
            path.filter(|path| path.refused.is_none() && path.place.participant_in_process().is_none())
        {
            self.transport.close_path(&path.place);
        }
    }

    /// Goes back to the network with those whose path is lost.
    pub(crate) fn leave_lost_paths(self: &Arc<Self>, port: &mut impl Port<Member = Arc<Self>>) {
        let Some(others) = &self.paths else { return };
        let mut lost = Vec::new();
        for (prefix, path) in lock(&others.paths).iter_mut().filter(|(_, path)| path.refused.is_none()) {
            if let Some(reason) = self.transport.lost(&path.place) {
                path.refused = Some(reason.clone());
                path.may_return = path.returns < MOST_RETURNS && self.transport.may_return(&path.place);
                lost.push((*prefix, path.place, reason));
            }
        }
        for (prefix, place, reason) in lost {
            self.tell_of_path(prefix, "data goes over the network from now on", &reason);
            self.transport.close_path(&place);
            dunlin_host::call(port, self, |out| {
                self.participant.choose_path(self.platform.now(), prefix, None, out);
            });
        }
    }

    /// Tries paths again that were lost, if what was wrong with them may be over.
    pub(crate) fn return_to_lost_paths(self: &Arc<Self>, port: &mut impl Port<Member = Arc<Self>>) {
        let Some(others) = &self.paths else { return };
        for (prefix, place) in others.that_may_return() {
            // Why it was lost is known; why it is not back is of no interest.
            if self.open(&place).is_err() {
                continue;
            }
            if !others.has_returned(prefix, place) {
                self.transport.close_path(&place);
                continue;
            }
            crate::log!(INFO, "{prefix}: data no longer goes over the network");
            dunlin_host::call(port, self, |out| {
                self.participant.choose_path(self.platform.now(), prefix, Some(place), out);
            });
        }
    }

    /// Closes all paths.
    pub(crate) fn close_paths(&self) {
        let Some(others) = &self.paths else { return };
        let prefixes: Vec<_> = lock(&others.paths).keys().copied().collect();
        prefixes.into_iter().for_each(|prefix| self.close(others, prefix));
    }

    /// Whether data for another participant takes its own path, through shared memory or another, or why not; `None` if there is
    /// nothing to say.
    pub(crate) fn shared_memory(&self, prefix: GuidPrefix) -> Option<Result<(), String>> {
        let paths = lock(&self.paths.as_ref()?.paths);
        let path = paths.get(&prefix)?;
        Some(path.refused.clone().map_or(Ok(()), Err))
    }
}
