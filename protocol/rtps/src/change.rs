//! RTPS 2.5 §8.2.2 "The RTPS CacheChange" and §8.2.3 "The RTPS HistoryCache" as a writer sees them.

use dunlin_buf::SharedBytes;
use dunlin_core::{InstanceHandle, SequenceNumber, StatusInfo, WallTime};

/// What a change does to its instance (RTPS 2.5 §8.2.1.2 ChangeKind_t, §9.6.4.9 StatusInfo_t).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChangeKind {
    /// A new value.
    #[default]
    Alive,
    /// The instance was disposed.
    Disposed,
    /// The writer unregistered the instance.
    Unregistered,
    /// Both at once.
    DisposedUnregistered,
}

impl ChangeKind {
    /// The flags that announce this kind on the wire.
    #[must_use]
    pub const fn status(self) -> StatusInfo {
        StatusInfo(match self {
            Self::Alive => 0,
            Self::Disposed => StatusInfo::DISPOSED,
            Self::Unregistered => StatusInfo::UNREGISTERED,
            Self::DisposedUnregistered => StatusInfo::DISPOSED | StatusInfo::UNREGISTERED,
        })
    }

    /// The kind that flags from the wire announce; unknown flags are ignored.
    #[must_use]
    pub const fn from_status(status: StatusInfo) -> Self {
        match (status.disposed(), status.unregistered()) {
            (false, false) => Self::Alive,
            (true, false) => Self::Disposed,
            (false, true) => Self::Unregistered,
            (true, true) => Self::DisposedUnregistered,
        }
    }
}

/// One change in a writer's history.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its position in the writer's stream.
    pub sn: SequenceNumber,
    /// What it does to its instance.
    pub kind: ChangeKind,
    /// The instance; its sixteen octets are the key hash (RTPS 2.5 §9.6.4.8).
    pub instance: InstanceHandle,
    /// Time given or taken when it was written.
    pub source_timestamp: WallTime,
    /// Serialized value with encapsulation header; the serialized key when `kind` is not [`ChangeKind::Alive`].
    pub payload: Option<SharedBytes>,
    /// Further inline QoS: ready-made little-endian parameters, without sentinel.
    pub inline_qos: Option<SharedBytes>,
}

/// What a writer needs to know of its history (RTPS 2.5 §8.2.3 HistoryCache).
///
/// A change that was added is found by [`get`](Self::get) until it is removed; removed changes are answered with GAP.
pub trait WriterHistory {
    /// The change with this sequence number, if it is still there.
    fn get(&self, sn: SequenceNumber) -> Option<&Change>;

    /// Lowest sequence number present.
    fn first_sn(&self) -> Option<SequenceNumber>;

    /// Highest sequence number ever added, 0 if none, whether or not it is still there.
    fn last_sn(&self) -> SequenceNumber;

    /// Lowest sequence number present that is at or above `sn`.
    fn next_at_or_after(&self, sn: SequenceNumber) -> Option<SequenceNumber>;
}
