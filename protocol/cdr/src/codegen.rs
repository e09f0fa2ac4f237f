//! Helpers of derived code (DDS-XTypes 1.3 §7.2.2.4.4 members, §7.4.3.5 structures).

pub use crate::bounded::BoundedKey;
pub use crate::decoder::Mark;
pub use crate::in_place::InPlace;
pub use crate::packed::{Packed, split_mut};
pub use crate::traits::{StructRead, StructWrite};

use crate::{CdrError, CdrRead, Decoder, ElementKind, Extensibility};

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

/// Enters a structure or union, with keys or without; the outermost decides whether keys count at all.
#[inline]
pub fn enter_keys(d: &mut Decoder<'_>, has_key: bool) {
    d.enter_keys(has_key);
}

/// Whether a key member has to be there: it is part of the topic's key (DDS-XTypes 1.3 §7.2.4.4.8).
#[inline]
#[must_use]
pub fn keys_count(d: &Decoder<'_>) -> bool {
    d.keys_count()
}

/// Reads a member that is no part of the key of a structure or union, if that has one. Keys say nothing inside of it.
#[inline]
pub fn read_beside_key<'de, T: CdrRead<'de>, R>(
    d: &mut Decoder<'de>,
    has_key: bool,
    read: impl FnOnce(&mut Decoder<'de>) -> R,
) -> R {
    // Nothing else contains structures.
    if has_key && matches!(T::KIND, ElementKind::Compound) { d.without_keys(read) } else { read(d) }
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

/// The member ids of a structure and, through the chain, of its bases.
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    /// The ids of the structure's own members in the order in which a key hash takes them.
    pub own: &'static [u32],
    /// The first sequential id of a derived structure.
    pub next: u32,
    /// The ids of the base.
    pub base: Option<&'static Ids>,
}

impl Ids {
    /// Whether any member has this id.
    #[must_use]
    pub const fn contains(&self, id: u32) -> bool {
        let mut level = Some(self);
        while let Some(ids) = level {
            let mut rest = ids.own;
            while let [first, others @ ..] = rest {
                if *first == id {
                    return true;
                }
                rest = others;
            }
            level = ids.base;
        }
        false
    }

    /// Whether all ids differ and have at most 28 bits.
    #[must_use]
    pub const fn are_valid(&self) -> bool {
        let mut rest = self.own;
        while let [first, others @ ..] = rest {
            let later = Self { own: others, next: self.next, base: self.base };
            if *first > 0x0fff_ffff || later.contains(*first) {
                return false;
            }
            rest = others;
        }
        true
    }

    /// Whether the ids ascend from the first member of the first base on.
    #[must_use]
    pub const fn ascend(&self) -> bool {
        let (mut level, mut limit) = (Some(self), u32::MAX);
        while let Some(ids) = level {
            let mut rest = ids.own;
            while let [others @ .., last] = rest {
                if *last >= limit {
                    return false;
                }
                (limit, rest) = (*last, others);
            }
            level = ids.base;
        }
        true
    }
}

/// Whether two types have the same extensibility.
#[must_use]
pub const fn same_form(a: Extensibility, b: Extensibility) -> bool {
    matches!(
        (a, b),
        (Extensibility::Final, Extensibility::Final)
            | (Extensibility::Appendable, Extensibility::Appendable)
            | (Extensibility::Mutable, Extensibility::Mutable)
    )
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

/// Reads the member with this id of a mutable union, up to the end of its members.
///
/// # Errors
/// Those of `read`; [`CdrError::DuplicateMember`]; if `strict`, [`CdrError::MustUnderstand`] for members other than
/// this one and the discriminator (id 0).
pub fn find_member<'de, R>(
    d: &mut Decoder<'de>,
    id: u32,
    strict: bool,
    mut read: impl FnMut(&mut Decoder<'de>) -> Result<R, CdrError>,
) -> Result<Option<R>, CdrError> {
    let mut found = None;
    while let Some(member) = d.next_member()? {
        if member.id == id {
            once(&found, id)?;
            found = Some(read(d)?);
        } else {
            d.unknown_member(&member, !strict || member.id == 0)?;
        }
        d.end_member(member);
    }
    Ok(found)
}
