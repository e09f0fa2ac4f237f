//! Helpers of derived code (DDS-XTypes 1.3 §7.2.2.4.4 members, §7.4.3.5 structures).

pub use crate::bounded::BoundedKey;
pub use crate::decoder::Mark;
pub use crate::in_place::InPlace;
pub use crate::packed::{Packed, split_mut};
pub use crate::traits::{StructRead, StructWrite};
use crate::{CdrError, CdrRead, Decoder, ElementKind, Extensibility, Representation, Scope};

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

/// Checks the bound of a value that was read.
///
/// # Errors
/// That of the value, and [`CdrError::BoundExceeded`].
#[inline]
pub fn bounded<T: crate::Bounded>(value: Result<T, CdrError>, bound: usize) -> Result<T, CdrError> {
    let value = value?;
    value.check_bound(bound)?;
    Ok(value)
}

/// Shortens a value that was read to its bound.
///
/// # Errors
/// That of the value.
#[inline]
pub fn trimmed<T: crate::Bounded>(value: Result<T, CdrError>, bound: usize) -> Result<T, CdrError> {
    let mut value = value?;
    value.trim(bound);
    Ok(value)
}

/// Skips the members of a mutable type in XCDR1, up to the end of the list.
///
/// # Errors
/// Malformed headers.
pub fn skip_list(d: &mut Decoder<'_>) -> Result<(), CdrError> {
    while let Some(member) = d.next_member()? {
        d.note_passed();
        d.end_member(member);
    }
    Ok(())
}

/// Reads the discriminator of a union that may be the default union if the discriminator does not fit: `None`. That works
/// only where it is known how long the union is that was sent: `mutable` ones are lists of members with an end, appendable
/// ones have a length in XCDR2.
///
/// # Errors
/// Those of `read`.
pub fn discriminator_or_default<'de, T>(
    d: &mut Decoder<'de>,
    mutable: bool,
    read: impl FnOnce(&mut Decoder<'de>) -> Result<T, CdrError>,
) -> Result<Option<T>, CdrError> {
    let ends = (mutable || d.representation() == Representation::Xcdr2) && d.scope() != Scope::KeyHash;
    let start = d.mark();
    match read(d) {
        Err(error) if error.is_construction_failure() && ends => {
            d.reset(start);
            if mutable {
                skip_list(d)?;
            }
            Ok(None)
        }
        result => result.map(Some),
    }
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
