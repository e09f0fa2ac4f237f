//! Discovered endpoints as the proxies of local ones, and lists of them.

use alloc::{sync::Arc, vec::Vec};

use dunlin_core::{Duration, Guid};
use dunlin_discovery::{DiscoveredReader, DiscoveredWriter};
use dunlin_qos::{DurabilityKind, ReliabilityKind};
use dunlin_rtps::{ReaderProxyConfig, WriterProxyConfig};

/// What a local writer needs to know of a matched reader.
pub(crate) fn reader_proxy(remote: &DiscoveredReader) -> ReaderProxyConfig {
    ReaderProxyConfig {
        guid: remote.guid,
        reliable: remote.qos.reliability.kind == ReliabilityKind::Reliable,
        durable: remote.qos.durability.kind > DurabilityKind::Volatile,
        expects_inline_qos: remote.expects_inline_qos,
        unicast: Arc::clone(&remote.unicast),
        multicast: Arc::clone(&remote.multicast),
        vendor: remote.vendor,
        begun_set: None,
        filter: None,
        minimum_separation: Duration::ZERO,
    }
}

/// What a local reader needs to know of a matched writer; `wants_history` says whether the reader is durable.
pub(crate) fn writer_proxy(remote: &DiscoveredWriter, wants_history: bool) -> WriterProxyConfig {
    WriterProxyConfig {
        only_announced: false,
        guid: remote.guid,
        reliable: remote.qos.reliability.kind == ReliabilityKind::Reliable,
        durable: wants_history && remote.qos.durability.kind > DurabilityKind::Volatile,
        unicast: Arc::clone(&remote.unicast),
        multicast: Arc::clone(&remote.multicast),
        vendor: remote.vendor,
    }
}

/// Things with a GUID, kept in its order.
pub(crate) trait ByGuid {
    /// The GUID.
    fn guid(&self) -> Guid;
}

impl ByGuid for Arc<DiscoveredReader> {
    fn guid(&self) -> Guid {
        self.guid
    }
}

impl ByGuid for Arc<DiscoveredWriter> {
    fn guid(&self) -> Guid {
        self.guid
    }
}

/// Adds or replaces an item; true if it was not there.
pub(crate) fn upsert<T: ByGuid>(list: &mut Vec<T>, item: T) -> bool {
    match list.binary_search_by_key(&item.guid(), ByGuid::guid) {
        Ok(at) => {
            if let Some(known) = list.get_mut(at) {
                *known = item;
            }
            false
        }
        Err(at) => {
            list.insert(at, item);
            true
        }
    }
}

/// Finds an item.
pub(crate) fn find<T: ByGuid>(list: &[T], guid: Guid) -> Option<&T> {
    list.get(list.binary_search_by_key(&guid, ByGuid::guid).ok()?)
}

/// Removes an item.
pub(crate) fn remove<T: ByGuid>(list: &mut Vec<T>, guid: Guid) -> Option<T> {
    list.binary_search_by_key(&guid, ByGuid::guid).ok().map(|at| list.remove(at))
}
