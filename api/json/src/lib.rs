//! Values of types known at run time as JSON, and back.
//!
//! | type | JSON |
//! |---|---|
//! | integers | numbers, exact up to 64 bits |
//! | `float`, `double` | numbers with as many digits as lead back to the same value; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | `long double` | its bits: `"0x"` and 32 hexadecimal digits |
//! | `char`, `wchar` | a string of one character; half a surrogate pair is a number |
//! | strings | strings; in wide strings U+FFFD stands for half a surrogate pair |
//! | enumerations | the name of the literal; its value is taken too |
//! | bitmasks | a list of names, with a number for bits without name; a number is taken too |
//! | bitsets | an object of the fields; a number is taken too |
//! | sequences, arrays | lists, bytes as numbers, or in base64 ([`Octets`]); of bytes a string is taken as base64 too |
//! | maps | an object where keys are strings, integers or enumerations; else a list of `[key, value]` |
//! | structures | an object; an optional member that is absent is `null`. Members that are missing have their defaults |
//! | unions | an object of the discriminator `_d` and the member that it selects. Without `_d` the member decides |
//!
//! [`Json`] serializes with any serde format, in the order of the type, and so does [`JsonView`], of a value that was not decoded; [`from_json`] says with a path what does not fit.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod read;
mod view;
mod write;

use dunlin_cdr::{CdrError, LimitKind};
use dunlin_dynamic::{DynamicData, DynamicView};
pub use read::{JsonError, from_json};
pub use view::{JsonView, SelectedViews, leaves_of_view};
pub use write::{Json, Octets, Selected, Selection, leaves, leaves_as};

/// A value as JSON text in one line.
#[must_use]
pub fn to_json(data: &DynamicData) -> String {
    // Writing to memory cannot fail, and every key is a string.
    serde_json::to_string(&Json::of(data)).unwrap_or_default()
}

/// A view of a serialized value as JSON text in one line: what [`to_json`] makes of the decoded value, without that.
///
/// # Errors
/// Bytes that are no serialization of the type, or memory for a list that has to be made.
pub fn view_to_json(view: &DynamicView<'_>) -> Result<String, CdrError> {
    view.check()?;
    // Of what was checked only lists that have to be made can fail, and those for memory alone.
    serde_json::to_string(&JsonView::of(view.clone()))
        .map_err(|_| CdrError::LimitExceeded { limit: LimitKind::Bytes })
}
