//! Why a view cannot say something.

use alloc::string::{String, ToString};
use core::fmt;

use dunlin_cdr::CdrError;

use crate::path::PathError;

/// Why a part of a serialized value could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewError {
    /// The path of the part, from the view that was asked.
    pub path: String,
    /// Why.
    pub why: ViewFailure,
}

/// See [`ViewError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewFailure {
    /// The type has no such part, or there are fewer elements.
    Path(PathError),
    /// The bytes are no serialization of the type.
    Octets(CdrError),
    /// The part is of another kind than what was asked for.
    Kind {
        /// What it is.
        is: String,
        /// What was asked for.
        wanted: &'static str,
    },
    /// Elements are in the bytes, but not as they would be in memory: in the other byte order, or at an address that is no multiple
    /// of their size. [`numbers`](super::DynamicView::numbers) reads them all the same.
    Layout,
    /// What stands in the bytes is not the value, so there is nothing to borrow: [`to_value`](super::DynamicView::to_value) makes it.
    Conversion,
}

impl ViewError {
    pub(crate) fn at(path: impl fmt::Display, why: impl Into<ViewFailure>) -> Self {
        Self { path: path.to_string(), why: why.into() }
    }

    /// The same of a part that lies behind another path.
    pub(crate) fn behind(mut self, path: &str) -> Self {
        let direct = self.path.is_empty() || self.path.starts_with('[') || path.is_empty();
        self.path.insert_str(0, if direct { "" } else { "." });
        self.path.insert_str(0, path);
        self
    }
}

impl From<CdrError> for ViewFailure {
    fn from(error: CdrError) -> Self {
        Self::Octets(error)
    }
}

impl From<PathError> for ViewFailure {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.why {
            ViewFailure::Path(why) => why.fmt(f),
            ViewFailure::Octets(why) => why.fmt(f),
            ViewFailure::Kind { is, wanted } => write!(f, "{is} is not {wanted}"),
            ViewFailure::Layout => f.write_str("the elements are not as they would be in memory"),
            ViewFailure::Conversion => f.write_str("the value differs from its bytes and has to be made"),
        }
    }
}

impl core::error::Error for ViewError {}
