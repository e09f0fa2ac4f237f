//! RTPS 2.5 §9.4.5.1.2 "flags": the byte order of a submessage or parameter list.

/// Byte order of the integers of one submessage or parameter list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Endianness {
    /// Most significant octet first.
    Big,
    /// Least significant octet first; what this implementation sends unless asked otherwise.
    #[default]
    Little,
}

impl Endianness {
    /// The order that the E flag (bit 0) of a submessage announces.
    pub const fn from_flags(flags: u8) -> Self {
        if flags & 1 == 1 { Self::Little } else { Self::Big }
    }

    /// The E flag of this order.
    pub const fn flag(self) -> u8 {
        match self {
            Self::Big => 0,
            Self::Little => 1,
        }
    }
}
