//! Why a QoS was refused: the reasons behind INCONSISTENT_POLICY, IMMUTABLE_POLICY and UNSUPPORTED (DDS 1.4 §2.2.2.1.1).

use core::fmt;

use crate::id::PolicyId;

/// A policy contradicts another one or is out of range (`RETCODE_INCONSISTENT_POLICY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InconsistentPolicy {
    /// The policy to change.
    pub policy: PolicyId,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// A policy has a value that would be without effect in this version (`RETCODE_UNSUPPORTED`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsupportedPolicy {
    /// The policy to change.
    pub policy: PolicyId,
    /// Which values are possible.
    pub reason: &'static str,
}

/// A policy of an enabled entity that must not change did (`RETCODE_IMMUTABLE_POLICY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImmutablePolicy {
    /// The policy that changed.
    pub policy: PolicyId,
}

/// Any reason to refuse a QoS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QosError {
    /// See [`InconsistentPolicy`].
    Inconsistent(InconsistentPolicy),
    /// See [`UnsupportedPolicy`].
    Unsupported(UnsupportedPolicy),
    /// See [`ImmutablePolicy`].
    Immutable(ImmutablePolicy),
}

impl fmt::Display for InconsistentPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inconsistent {}: {}", self.policy, self.reason)
    }
}

impl fmt::Display for UnsupportedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unsupported {}: {}", self.policy, self.reason)
    }
}

impl fmt::Display for ImmutablePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot change after the entity is enabled", self.policy)
    }
}

impl fmt::Display for QosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inconsistent(error) => error.fmt(f),
            Self::Unsupported(error) => error.fmt(f),
            Self::Immutable(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for InconsistentPolicy {}
impl core::error::Error for UnsupportedPolicy {}
impl core::error::Error for ImmutablePolicy {}
impl core::error::Error for QosError {}

impl From<InconsistentPolicy> for QosError {
    fn from(error: InconsistentPolicy) -> Self {
        Self::Inconsistent(error)
    }
}

impl From<UnsupportedPolicy> for QosError {
    fn from(error: UnsupportedPolicy) -> Self {
        Self::Unsupported(error)
    }
}

impl From<ImmutablePolicy> for QosError {
    fn from(error: ImmutablePolicy) -> Self {
        Self::Immutable(error)
    }
}
