//! Which endpoint a submessage is for: immutable tables, read per datagram, replaced by the control plane.

use alloc::sync::Arc;

use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, MonoTime};
use dunlin_discovery::Sources;
use dunlin_sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::reader_slot::ReaderSlot;
use crate::sharded::Sharded;
use crate::writer_slot::WriterSlot;

/// A verified participant, as far as its traffic matters.
pub(crate) struct Peer {
    /// When discovery last heard of its traffic, in units of [`TRAFFIC_GRAIN`], modulo 2^32.
    heard: AtomicU32,
    /// The same of what is not believed to be its traffic.
    misplaced: AtomicU32,
    /// From where it speaks, once that is known.
    sources: Option<Sources>,
}

/// Discovery hears of the traffic of one peer at most once in so many nanoseconds: 67 ms, a power of two, as this is found out with
/// each datagram and processors of 32 bits divide 64 bits by a call.
const TRAFFIC_GRAIN: u64 = 1 << 26;

impl Peer {
    pub(crate) fn new() -> Self {
        Self { heard: AtomicU32::new(u32::MAX), misplaced: AtomicU32::new(u32::MAX), sources: None }
    }

    /// Whether what came from there can be of it.
    pub(crate) fn speaks_from(&self, from: &Locator) -> bool {
        self.sources.as_ref().is_none_or(|sources| sources.admit(from))
    }

    /// A datagram came from it. True if discovery has not heard of it lately.
    pub(crate) fn note_traffic(&self, now: MonoTime) -> bool {
        is_news(&self.heard, now)
    }

    /// A datagram came in its name from where it does not speak. True if discovery has not heard of such lately.
    pub(crate) fn note_misplaced(&self, now: MonoTime) -> bool {
        is_news(&self.misplaced, now)
    }
}

fn is_news(last: &AtomicU32, now: MonoTime) -> bool {
    let now = (now.0 / TRAFFIC_GRAIN) as u32;
    last.load(Relaxed) != now && last.swap(now, Relaxed) != now
}

/// The tables. A clone shares everything with the original until it is changed.
#[derive(Clone, Default)]
pub(crate) struct Routes {
    writers: Sharded<EntityId, Arc<WriterSlot>>,
    readers: Sharded<EntityId, Arc<ReaderSlot>>,
    /// Local readers by the writer they are matched with.
    matched: Sharded<Guid, Arc<[Arc<ReaderSlot>]>>,
    peers: Sharded<GuidPrefix, Arc<Peer>>,
}

impl Routes {
    pub(crate) fn writer(&self, id: EntityId) -> Option<&Arc<WriterSlot>> {
        self.writers.get(&id)
    }

    pub(crate) fn reader(&self, id: EntityId) -> Option<&Arc<ReaderSlot>> {
        self.readers.get(&id)
    }

    pub(crate) fn readers(&self) -> impl Iterator<Item = &Arc<ReaderSlot>> {
        self.readers.iter().map(|(_, slot)| slot)
    }

    /// The local readers matched with a writer.
    pub(crate) fn readers_of(&self, writer: Guid) -> &[Arc<ReaderSlot>] {
        self.matched.get(&writer).map_or(&[], |readers| readers)
    }

    pub(crate) fn peer(&self, prefix: GuidPrefix) -> Option<&Arc<Peer>> {
        self.peers.get(&prefix)
    }

    pub(crate) fn has_peers(&self) -> bool {
        self.peers.iter().next().is_some()
    }

    pub(crate) fn add_writer(&mut self, slot: &Arc<WriterSlot>) {
        self.writers.insert(slot.guid().entity_id, Arc::clone(slot));
    }

    pub(crate) fn add_reader(&mut self, slot: &Arc<ReaderSlot>) {
        self.readers.insert(slot.guid().entity_id, Arc::clone(slot));
    }

    pub(crate) fn remove_writer(&mut self, id: EntityId) {
        self.writers.remove(&id);
    }

    pub(crate) fn remove_reader(&mut self, id: EntityId) {
        self.readers.remove(&id);
    }

    pub(crate) fn add_match(&mut self, writer: Guid, reader: &Arc<ReaderSlot>) {
        let others = self.readers_of(writer).iter().filter(|other| other.guid() != reader.guid());
        let readers = others.chain([reader]).cloned().collect();
        self.matched.insert(writer, readers);
    }

    pub(crate) fn remove_match(&mut self, writer: Guid, reader: EntityId) {
        let left: Arc<[_]> = self
            .readers_of(writer)
            .iter()
            .filter(|other| other.guid().entity_id != reader)
            .cloned()
            .collect();
        if left.is_empty() {
            self.matched.remove(&writer);
        } else {
            self.matched.insert(writer, left);
        }
    }

    pub(crate) fn add_peer(&mut self, prefix: GuidPrefix) {
        if self.peers.get(&prefix).is_none() {
            self.peers.insert(prefix, Arc::new(Peer::new()));
        }
    }

    pub(crate) fn set_sources(&mut self, prefix: GuidPrefix, sources: Sources) {
        let peer = Peer { sources: Some(sources), ..Peer::new() };
        self.peers.insert(prefix, Arc::new(peer));
    }

    pub(crate) fn remove_peer(&mut self, prefix: GuidPrefix) {
        self.peers.remove(&prefix);
    }
}
