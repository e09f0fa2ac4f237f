//! The policies that DDS-XTypes 1.3 adds: DATA_REPRESENTATION (§7.6.3.1) and TYPE_CONSISTENCY_ENFORCEMENT (§7.6.3.7).

use alloc::vec::Vec;
use core::fmt;

use crate::kinds::TypeConsistencyKind;

/// An encoding of samples, as numbered by DDS-XTypes 1.3 §7.6.3.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataRepresentationId {
    /// Version 1 of the extended CDR encoding (0).
    Xcdr1,
    /// XML text (1).
    Xml,
    /// Version 2 of the extended CDR encoding (2).
    Xcdr2,
    /// Any other number, such as the private encoding of another implementation.
    Other(i16),
}

impl DataRepresentationId {
    /// The number on the wire.
    #[must_use]
    pub const fn value(self) -> i16 {
        match self {
            Self::Xcdr1 => 0,
            Self::Xml => 1,
            Self::Xcdr2 => 2,
            Self::Other(value) => value,
        }
    }

    /// The encoding of a number; never fails, unknown ones become [`Self::Other`].
    #[must_use]
    pub const fn from_value(value: i16) -> Self {
        match value {
            0 => Self::Xcdr1,
            1 => Self::Xml,
            2 => Self::Xcdr2,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for DataRepresentationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xcdr1 => f.write_str("XCDR1"),
            Self::Xml => f.write_str("XML"),
            Self::Xcdr2 => f.write_str("XCDR2"),
            Self::Other(value) => write!(f, "REPRESENTATION_{value}"),
        }
    }
}

/// DATA_REPRESENTATION (§7.6.3.1): a writer offers the first entry, a reader accepts every entry.
///
/// The standard reads an empty list as `[XCDR1]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DataRepresentation {
    /// Encodings, the preferred one first.
    pub ids: Vec<DataRepresentationId>,
}

impl DataRepresentation {
    /// What a writer with this policy offers: the first entry, XCDR1 if there is none.
    #[must_use]
    pub fn offered(&self) -> DataRepresentationId {
        self.ids.first().copied().unwrap_or(DataRepresentationId::Xcdr1)
    }

    /// Whether a reader with this policy accepts `id`.
    #[must_use]
    pub fn accepts(&self, id: DataRepresentationId) -> bool {
        if self.ids.is_empty() { id == DataRepresentationId::Xcdr1 } else { self.ids.contains(&id) }
    }
}

impl fmt::Display for DataRepresentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ids.is_empty() {
            return f.write_str("[XCDR1]");
        }
        f.write_str("[")?;
        for (index, id) in self.ids.iter().enumerate() {
            write!(f, "{}{id}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

/// TYPE_CONSISTENCY_ENFORCEMENT (§7.6.3.7): how far the type of a writer may differ from that of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeConsistencyEnforcement {
    /// Whether types may differ at all.
    pub kind: TypeConsistencyKind,
    /// Whether bounds of sequences may differ.
    pub ignore_sequence_bounds: bool,
    /// Whether bounds of strings may differ.
    pub ignore_string_bounds: bool,
    /// Whether names of members may differ.
    pub ignore_member_names: bool,
    /// Whether the writer's type must not be wider than the reader's.
    pub prevent_type_widening: bool,
    /// Whether endpoints match only after type information was compared.
    pub force_type_validation: bool,
}

impl TypeConsistencyEnforcement {
    /// What the standard assumes of a reader that announced nothing.
    pub const DISALLOW: Self = Self {
        kind: TypeConsistencyKind::DisallowTypeCoercion,
        ignore_sequence_bounds: false,
        ignore_string_bounds: false,
        ignore_member_names: false,
        prevent_type_widening: true,
        force_type_validation: false,
    };
}

impl Default for TypeConsistencyEnforcement {
    fn default() -> Self {
        Self {
            kind: TypeConsistencyKind::AllowTypeCoercion,
            ignore_sequence_bounds: true,
            ignore_string_bounds: true,
            ignore_member_names: false,
            prevent_type_widening: false,
            force_type_validation: false,
        }
    }
}
