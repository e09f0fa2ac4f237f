//! Helpers of derived code (DDS-XTypes 1.3 §7.2.2.4.4 members, §7.4.3.5 structures).

pub use crate::bounded::BoundedKey;
pub use crate::decoder::Mark;
pub use crate::traits::{StructRead, StructWrite};

use crate::{CdrError, CdrRead, Decoder};

/// The current position.
#[inline]
#[must_use]
pub fn mark<'de>(d: &Decoder<'de>) -> Mark<'de> {
    d.mark()
}

/// Goes back to a position.
#[inline]
pub fn reset<'de>(d: &mut Decoder<'de>, mark: Mark<'de>) {
    d.reset(mark);
}

/// Goes back to the position of a key member, if it was found.
///
/// # Errors
/// [`CdrError::MissingMember`].
#[inline]
pub fn reset_to<'de>(d: &mut Decoder<'de>, mark: Option<Mark<'de>>, id: u32) -> Result<(), CdrError> {
    d.reset(mark.ok_or(CdrError::MissingMember { id })?);
    Ok(())
}

/// Checks that a member of a mutable type has not been seen before.
///
/// # Errors
/// [`CdrError::DuplicateMember`].
#[inline]
pub fn once<T>(slot: &Option<T>, id: u32) -> Result<(), CdrError> {
    if slot.is_some() { Err(CdrError::DuplicateMember { id }) } else { Ok(()) }
}

/// The id of the `n`th member after those of a base.
#[must_use]
pub const fn id_after(base: u32, n: u32) -> u32 {
    base.saturating_add(n)
}

/// The greater of two ids.
#[must_use]
pub const fn max_id(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

/// Whether all ids differ and are at most 28 bits long; for checks at compile time.
#[must_use]
pub const fn valid_ids(ids: &[u32]) -> bool {
    let mut rest = ids;
    while let [first, others @ ..] = rest {
        let mut left = others;
        while let [other, more @ ..] = left {
            if *first == *other {
                return false;
            }
            left = more;
        }
        if *first > 0x0fff_ffff {
            return false;
        }
        rest = others;
    }
    true
}

/// Sum of smallest sizes.
#[must_use]
pub const fn sum(sizes: &[usize]) -> usize {
    let (mut total, mut rest) = (0usize, sizes);
    while let [first, others @ ..] = rest {
        total = total.saturating_add(*first);
        rest = others;
    }
    total
}

/// The lesser of two sizes.
#[must_use]
pub const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// Reads a value and checks its bound.
///
/// # Errors
/// Those of the value, and [`CdrError::BoundExceeded`].
#[inline]
pub fn read_bounded<'de, T: CdrRead<'de> + crate::Bounded>(
    d: &mut Decoder<'de>,
    bound: usize,
) -> Result<T, CdrError> {
    let value = T::read(d)?;
    value.check_bound(bound)?;
    Ok(value)
}

/// Reads a value and shortens it to its bound.
///
/// # Errors
/// Those of the value.
#[inline]
pub fn read_trimmed<'de, T: CdrRead<'de> + crate::Bounded>(
    d: &mut Decoder<'de>,
    bound: usize,
) -> Result<T, CdrError> {
    let mut value = T::read(d)?;
    value.trim(bound);
    Ok(value)
}

/// Skips the members of a mutable type in XCDR1, up to the end of the list.
///
/// # Errors
/// Malformed headers.
pub fn skip_list(d: &mut Decoder<'_>) -> Result<(), CdrError> {
    while let Some(member) = d.next_member()? {
        d.end_member(member);
    }
    Ok(())
}
