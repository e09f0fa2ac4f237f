//! What a writer's history is made from (DDS 1.4 §2.2.3.4, §2.2.3.5, §2.2.3.16, §2.2.3.18, §2.2.3.19).

use dunlin_buf::SharedBytes;
use dunlin_core::{Duration, InstanceHandle, WallTime};
use dunlin_qos::{
    DataWriterQos, DurabilityKind, DurabilityService, History, ReliabilityKind, ResourceLimits,
};
use dunlin_rtps::ChangeKind;

/// The policies a [`WriterCache`](crate::WriterCache) follows.
#[derive(Clone, Copy, Debug)]
pub struct WriterCacheConfig {
    /// The topic has a key; without one every change belongs to one instance.
    pub keyed: bool,
    /// RELIABLE: a full history blocks. BEST_EFFORT never does.
    pub reliable: bool,
    /// Anything above VOLATILE keeps acknowledged samples for late joiners.
    pub durability: DurabilityKind,
    /// DURABILITY_SERVICE, if it bounds what late joiners get instead of HISTORY: above VOLATILE, and not its default.
    pub service: Option<DurabilityService>,
    /// HISTORY.
    pub history: History,
    /// RESOURCE_LIMITS.
    pub resource_limits: ResourceLimits,
    /// LIFESPAN.
    pub lifespan: Duration,
    /// DEADLINE period.
    pub deadline: Duration,
}

impl WriterCacheConfig {
    /// The policies out of a writer's QoS.
    #[must_use]
    pub fn from_qos(qos: &DataWriterQos, keyed: bool) -> Self {
        Self {
            keyed,
            reliable: qos.reliability.kind == ReliabilityKind::Reliable,
            durability: qos.durability.kind,
            service: Some(qos.durability_service).filter(|service| {
                qos.durability.kind > DurabilityKind::Volatile && *service != DurabilityService::default()
            }),
            history: qos.history,
            resource_limits: qos.resource_limits,
            lifespan: qos.lifespan.duration,
            deadline: qos.deadline.period,
        }
    }
}

/// A change to be added to a history.
#[derive(Clone, Debug)]
pub struct NewChange {
    /// What it does to its instance.
    pub kind: ChangeKind,
    /// The instance; ignored when the topic has no key.
    pub instance: InstanceHandle,
    /// Source timestamp.
    pub source_timestamp: WallTime,
    /// Serialized value, or serialized key when `kind` is not [`ChangeKind::Alive`]; with encapsulation header.
    pub payload: Option<SharedBytes>,
    /// Further inline QoS: ready-made little-endian parameters, without sentinel.
    pub inline_qos: Option<SharedBytes>,
}

/// Why a change cannot be added now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddError {
    /// There will be room once readers have acknowledged, or samples expired: the write blocks for up to
    /// `max_blocking_time`, then TIMEOUT (DDS 1.4 §2.2.2.4.2.11).
    WaitForAck,
    /// Waiting would not help: OUT_OF_RESOURCES.
    OutOfResources,
    /// Only a registered instance can be unregistered: PRECONDITION_NOT_MET (DDS 1.4 §2.2.2.4.2.7).
    NotRegistered,
}
