//! Return codes (DDS 1.4 §2.2.1.1).

use core::fmt;

/// ReturnCode_t with the numbers of the standard; `OK` is `Result::Ok` in this API.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(i32)]
pub enum ReturnCode {
    /// Generic, unspecified error.
    Error = 1,
    /// Unsupported operation or value.
    Unsupported = 2,
    /// Illegal parameter value.
    BadParameter = 3,
    /// A precondition of the operation does not hold.
    PreconditionNotMet = 4,
    /// Ran out of the resources the operation needs.
    OutOfResources = 5,
    /// The entity is not enabled.
    NotEnabled = 6,
    /// The policy cannot change once the entity is enabled.
    ImmutablePolicy = 7,
    /// The policies contradict each other.
    InconsistentPolicy = 8,
    /// The entity was deleted.
    AlreadyDeleted = 9,
    /// The operation timed out.
    Timeout = 10,
    /// There is no data.
    NoData = 11,
    /// The operation cannot be called here.
    IllegalOperation = 12,
    /// DDS Security forbids it.
    NotAllowedBySecurity = 1000,
}

impl fmt::Display for ReturnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Unsupported => "unsupported",
            Self::BadParameter => "bad parameter",
            Self::PreconditionNotMet => "precondition not met",
            Self::OutOfResources => "out of resources",
            Self::NotEnabled => "not enabled",
            Self::ImmutablePolicy => "immutable policy",
            Self::InconsistentPolicy => "inconsistent policy",
            Self::AlreadyDeleted => "already deleted",
            Self::Timeout => "timeout",
            Self::NoData => "no data",
            Self::IllegalOperation => "illegal operation",
            Self::NotAllowedBySecurity => "not allowed by security",
        })
    }
}
