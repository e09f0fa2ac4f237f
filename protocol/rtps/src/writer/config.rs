//! RTPS 2.5 §8.4.7 "RTPS Writer Reference Implementations": configuration of writers and of reader proxies.

use alloc::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_core::{
    Duration, Guid, GuidPrefix, Locator, LocatorKind, Path, Paths, SequenceNumber, VendorId, defaults,
};

use crate::{Change, Pacing};

/// Decides for one reader which changes it need not get.
///
/// A change is not asked about once alone: what is sent again is asked about again, and the reader decides for itself in any
/// case. So an answer may change, and `false` is always right.
pub trait ReaderFilter: core::fmt::Debug + Send + Sync {
    /// Whether the reader would not show the change to the application.
    fn rejects(&self, change: &Change) -> bool;

    /// The filter's signature, if the reader is to be told what it says of a change (RTPS 2.5 §9.6.4.1): in small changes that
    /// are sent to it alone.
    fn signature(&self) -> Option<[u8; 16]> {
        None
    }
}

/// Configuration of a [`Writer`](crate::Writer).
#[derive(Clone, Debug)]
pub struct WriterConfig {
    /// The writer.
    pub guid: Guid,
    /// Every reader belongs to this participant: all messages are directed to it, so that others at the same place take no
    /// notice.
    pub only: Option<GuidPrefix>,
    /// Offers RELIABLE; otherwise no reader is ever acknowledged or repaired.
    pub reliable: bool,
    /// The topic has a key: disposed and unregistered changes carry a key hash.
    pub keyed: bool,
    /// Durable readers get the history.
    pub transient_local: bool,
    /// Octets of the largest datagram.
    pub max_message_size: usize,
    /// Who describes the paths to readers; without it nothing is known of them, by default.
    pub paths: Option<Arc<dyn Paths>>,
    /// Octets of payload in a DATA_FRAG; 0 derives it from `max_message_size`. Fragments of changes with inline QoS, which
    /// the first of them carries, are smaller where both would not fit.
    pub fragment_size: u16,
    /// Time from unacknowledged data to the first HEARTBEAT of its own; it doubles while nothing changes.
    pub heartbeat_period: Duration,
    /// Longest time between HEARTBEATs while something is unacknowledged.
    pub heartbeat_max_period: Duration,
    /// A HEARTBEAT that travels with data asks for an acknowledgment at least every so many changes.
    pub ack_request_samples: u32,
    /// A HEARTBEAT that travels with data asks for an acknowledgment when none was asked for so long.
    pub ack_request_period: Duration,
    /// Time from a request to its repair.
    pub nack_response_delay: Duration,
    /// A change repaired this recently is not repaired again for the same reader. It is longer when the reader is measured
    /// to be farther away than this, or asks for the same change again and again.
    pub nack_suppression: Duration,
    /// Octets of repairs in one event; the rest follows by timer, a millisecond apart.
    pub repair_budget_per_event: usize,
    /// Shapes everything that carries data; without it, new data leaves at once.
    pub pacing: Option<Pacing>,
    /// Octets of new data in flight to reliable readers of this vendor that they did not say they took; 0, the default, is no
    /// bound. As much again as the path holds may be in flight to readers far away.
    pub window: usize,
    /// Octets that it grows to at most where a reader within the host says that its receive buffer has the room; no more than
    /// `window`: it does not grow.
    pub window_limit: usize,
    /// A reader that does not answer for so long is not waited for until it does.
    pub window_patience: Duration,
    /// A reader that answers no request for an acknowledgment for so long is inactive: changes are not kept for it, see
    /// [`Writer::note_released`](crate::Writer::note_released). Zero, the default, or infinite: never.
    pub inactive_after: Duration,
    /// How long a change may wait for others to share its datagram (DDS 1.4 §2.2.3.8); none by default.
    pub latency_budget: Duration,
    /// How long a change of a burst may wait although there is no budget; none by default.
    pub burst_delay: Duration,
    /// Octets of payload at which what waits leaves.
    pub batch_octets: usize,
    /// Changes at which what waits leaves.
    pub batch_samples: usize,
    /// Memory for repairs is given back when a reader wants none: for writers with a great many readers that are mostly silent.
    pub frugal: bool,
    /// Inline QoS for readers that expect it: ready-made little-endian parameters, without sentinel. Large changes have it if it
    /// is no longer than [`MAX_READER_INLINE_QOS`](crate::MAX_READER_INLINE_QOS), but for those that were on their way before
    /// anybody expected it.
    pub reader_inline_qos: Option<SharedBytes>,
}

impl WriterConfig {
    /// The path to a place, as whoever knows transports describes it; that within the process needs nobody.
    pub(super) fn path_to(&self, to: &Locator) -> Path {
        match (to.kind, &self.paths) {
            (LocatorKind::LOCAL, _) => Path::in_process(),
            (_, Some(paths)) => paths.path(to),
            (kind, None) => Path::unknown(kind),
        }
    }
}

impl Default for WriterConfig {
    fn default() -> Self {
        Self {
            guid: Guid::UNKNOWN,
            only: None,
            reliable: true,
            keyed: true,
            transient_local: false,
            max_message_size: defaults::MAX_MESSAGE_SIZE,
            paths: None,
            fragment_size: 0,
            heartbeat_period: Duration::from_millis(10),
            heartbeat_max_period: Duration::from_secs(1),
            ack_request_samples: 64,
            ack_request_period: Duration::from_millis(10),
            nack_response_delay: Duration::ZERO,
            nack_suppression: Duration::from_millis(2),
            repair_budget_per_event: 128 * 1024,
            pacing: None,
            window: 0,
            window_limit: 0,
            window_patience: Duration::from_millis(200),
            inactive_after: Duration::ZERO,
            latency_budget: Duration::ZERO,
            burst_delay: Duration::ZERO,
            batch_octets: 16 * 1024,
            batch_samples: usize::MAX,
            frugal: false,
            reader_inline_qos: None,
        }
    }
}

/// A matched reader (RTPS 2.5 §8.4.9.2 ReaderProxy).
#[derive(Clone, Debug, Default)]
pub struct ReaderProxyConfig {
    /// The reader.
    pub guid: Guid,
    /// Requests RELIABLE; without effect on a best-effort writer.
    pub reliable: bool,
    /// Wants the history; without effect unless the writer is transient-local.
    pub durable: bool,
    /// Wants [`WriterConfig::reader_inline_qos`] with every change.
    pub expects_inline_qos: bool,
    /// Where it receives; data goes to every one of them, so give only those that are to be used.
    pub unicast: Arc<[Locator]>,
    /// Multicast groups it has joined.
    pub multicast: Arc<[Locator]>,
    /// Maker of its implementation.
    pub vendor: VendorId,
    /// The first change of a coherent set that has begun (RTPS 2.5 §9.6.4.2 PID_COHERENT_SET): one that comes in the middle of it, and
    /// gets nothing from before, is not sent the rest of it.
    pub begun_set: Option<SequenceNumber>,
    /// What it does not want.
    pub filter: Option<Arc<dyn ReaderFilter>>,
    /// Of an instance it wants one sample in this time, and the last one (DDS 1.4 §2.2.3.12); zero or infinite if it is sent all.
    pub minimum_separation: Duration,
}
