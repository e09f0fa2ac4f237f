//! Instance handles and status information (DDS 1.4 §2.2.2.1; RTPS 2.5 §9.6.4.9).

use core::fmt;

use crate::Guid;

/// Names an instance (by its key hash) or an entity (by its GUID) towards the application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct InstanceHandle(pub [u8; 16]);

impl InstanceHandle {
    /// HANDLE_NIL; also the one instance of a topic without key.
    pub const NIL: Self = Self([0; 16]);

    /// True for HANDLE_NIL.
    #[must_use]
    pub fn is_nil(self) -> bool {
        self == Self::NIL
    }

    /// The entity a handle from a built-in topic or a match stands for.
    #[must_use]
    pub const fn to_guid(self) -> Guid {
        Guid::from_bytes(self.0)
    }
}

impl From<Guid> for InstanceHandle {
    fn from(guid: Guid) -> Self {
        Self(guid.to_bytes())
    }
}

impl fmt::Debug for InstanceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for octet in self.0 {
            write!(f, "{octet:02x}")?;
        }
        Ok(())
    }
}

/// The flags of PID_STATUS_INFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StatusInfo(pub u32);

impl StatusInfo {
    /// The writer disposed the instance.
    pub const DISPOSED: u32 = 1;
    /// The writer unregistered the instance.
    pub const UNREGISTERED: u32 = 2;
    /// The sample was filtered out at the writer.
    pub const FILTERED: u32 = 4;

    /// Disposed flag.
    #[must_use]
    pub const fn disposed(self) -> bool {
        self.0 & Self::DISPOSED != 0
    }

    /// Unregistered flag.
    #[must_use]
    pub const fn unregistered(self) -> bool {
        self.0 & Self::UNREGISTERED != 0
    }
}
