//! Goes through values without making them: past them, or checking what decoding would check (DDS-XTypes 1.3 §7.6.3.4).

use alloc::vec::Vec;

use dunlin_cdr::codegen::{find_member, mark, reset, skip_list};
use dunlin_cdr::{
    CdrError, CdrRead, Decoder, ElementKind, Extensibility, LimitKind, PrimitiveKind, Representation, Scope,
    WString,
};

use crate::offsets;
use crate::read::{Reader, bits, claim_default, in_scope, is_listed, primitive, type_limit, within};
use crate::types::*;
use crate::value::{Value, is_octet, to_discriminator};

/// Goes past the value that a decoder is about to read. What it says is not looked at but where its size depends on that.
pub(crate) fn skip(view: TypeView<'_>, d: &mut Decoder<'_>, nesting: u16) -> Result<(), CdrError> {
    skip_many(view, 1, d, nesting)
}

/// Goes past values of one type.
pub(crate) fn skip_many(
    view: TypeView<'_>,
    count: usize,
    d: &mut Decoder<'_>,
    nesting: u16,
) -> Result<(), CdrError> {
    if offsets::pass(view, count, d) {
        return Ok(());
    }
    let nesting = nesting.checked_sub(1).ok_or(type_limit(LimitKind::Depth))?;
    claim_steps(view.node.least, count, size_of::<Value>(), d)?;
    (0..count).try_for_each(|_| skip_one(view, d, nesting))
}

/// Values without bytes are bounded by the memory that decoding takes for them: what is bounded here is time.
fn claim_steps(least: usize, count: usize, size: usize, d: &mut Decoder<'_>) -> Result<(), CdrError> {
    let octets = least > 0 && d.scope() == Scope::Sample;
    if octets { Ok(()) } else { d.claim(count.saturating_mul(size)) }
}

fn skip_number(kind: PrimitiveKind, d: &mut Decoder<'_>) -> Result<(), CdrError> {
    d.align(kind.size().min(8));
    d.read_bytes(kind.size()).map(drop)
}

fn skip_one(view: TypeView<'_>, d: &mut Decoder<'_>, nesting: u16) -> Result<(), CdrError> {
    match view.shape() {
        Shape::Primitive(kind) => skip_number(*kind, d),
        Shape::Enumeration(EnumerationShape { holder, .. }) | Shape::Bits(BitsShape { holder, .. }) => {
            skip_number(*holder, d)
        }
        Shape::Text { wide: false, .. } => {
            let len = d.read_len()?;
            d.read_bytes(len).map(drop)
        }
        Shape::Text { wide: true, .. } => WString::skip(d),
        Shape::Sequence { element, .. } => {
            let element = view.at(*element);
            if passed(element.element_kind(), d)? {
                return Ok(());
            }
            let count = d.read_count(element.node.least)?;
            skip_many(element, count, d, nesting)
        }
        Shape::Array { element, length, dimension } => {
            let element = view.at(*element);
            if !dimension && passed(element.item_kind(), d)? {
                return Ok(());
            }
            skip_many(element, *length, d, nesting)
        }
        Shape::Map { key, value, .. } => {
            let (key, value) = (view.at(*key), view.at(*value));
            if passed(kind_of_pairs(key, value, d), d)? {
                return Ok(());
            }
            let least = key.node.least.saturating_add(value.node.least);
            let count = d.read_count(least)?;
            claim_steps(least, count, size_of::<(Value, Value)>(), d)?;
            (0..count).try_for_each(|_| {
                skip(key, d, nesting)?;
                skip(value, d, nesting)
            })
        }
        Shape::Structure(it) => d.skip_struct(it.extensibility, |d| skip_members(view, it, d, nesting)),
        Shape::Union(it) => d.skip_struct(it.extensibility, |d| skip_case(view, it, d, nesting)),
    }
}

/// Goes past a collection of such elements, if it has a DHEADER.
fn passed(kind: ElementKind, d: &mut Decoder<'_>) -> Result<bool, CdrError> {
    let delimited = d.has_dheader(kind);
    if delimited {
        let region = d.enter_delimited()?;
        d.leave(region);
    }
    Ok(delimited)
}

/// How a map treats its pairs.
pub(crate) fn kind_of_pairs(key: TypeView<'_>, value: TypeView<'_>, d: &Decoder<'_>) -> ElementKind {
    let (key, value) = (key.element_kind(), value.element_kind());
    if d.options().map_dheader_by_value { value } else { TypeView::pair_kind(key, value) }
}

fn skip_members(
    view: TypeView<'_>,
    it: &StructureShape,
    d: &mut Decoder<'_>,
    nesting: u16,
) -> Result<(), CdrError> {
    if it.extensibility == Extensibility::Mutable {
        return skip_list(d);
    }
    skip_first(view, it, it.members.len(), d, nesting).map(drop)
}

/// Goes past so many members of a structure whose members follow one another. Whether its end did not come first.
pub(crate) fn skip_first(
    view: TypeView<'_>,
    it: &StructureShape,
    count: usize,
    d: &mut Decoder<'_>,
    nesting: u16,
) -> Result<bool, CdrError> {
    if d.scope() != Scope::Sample {
        d.claim(it.members.len())?;
    }
    let ends = |d: &Decoder<'_>| it.extensibility != Extensibility::Final && d.ends_early();
    let scope = d.scope();
    for member in it.members.iter().take(count).filter(|member| in_scope(it, member, scope)) {
        if ends(d) {
            return Ok(false);
        }
        let inner = view.at(member.part);
        if member.is_optional() {
            d.read_optional(|d| skip(inner, d, nesting))?;
        } else {
            skip(inner, d, nesting)?;
        }
    }
    Ok(!ends(d))
}

fn skip_case(view: TypeView<'_>, it: &UnionShape, d: &mut Decoder<'_>, nesting: u16) -> Result<(), CdrError> {
    if it.extensibility == Extensibility::Mutable {
        return skip_list(d);
    }
    let discriminator = number(view.at(it.discriminator), d)?;
    if it.has_key && d.scope() != Scope::Sample {
        return Ok(());
    }
    match it.selected(discriminator) {
        Some(case) => skip(view.at(case.part), d, nesting),
        None => Ok(()),
    }
}

/// Reads a value that has no parts and is no text, as a discriminator is. It may be no literal of its enumeration.
fn number(view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<i64, CdrError> {
    let lenient = Reader { lenient: true, ..Reader::new(view) };
    scalar(lenient, view, d).and_then(|value| to_discriminator(&value).ok_or(CdrError::ForeignType))
}

fn scalar(mut reader: Reader, view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
    match view.shape() {
        Shape::Primitive(kind) => primitive(*kind, d),
        Shape::Bits(it) => bits(it.holder, d).map(Value::Bits),
        Shape::Enumeration(_) => reader.value(view, d),
        _ => Err(CdrError::ForeignType),
    }
}

/// Reads the discriminator of a union; `None` if the default union takes the place of what was sent. With whether values that do not
/// fit are taken, and the levels that may follow.
pub(crate) fn discriminator(
    view: TypeView<'_>,
    it: &UnionShape,
    (lenient, nesting): (bool, u16),
    d: &mut Decoder<'_>,
) -> Result<Option<i64>, CdrError> {
    if nesting == 0 {
        return Err(type_limit(LimitKind::Depth));
    }
    let ends = it.extensibility == Extensibility::Mutable
        || (it.extensibility == Extensibility::Appendable && d.representation() == Representation::Xcdr2);
    let inner = view.at(it.discriminator);
    match scalar(Reader { lenient, ..Reader::new(inner) }, inner, d) {
        Ok(value) => to_discriminator(&value).map(Some).ok_or(CdrError::ForeignType),
        Err(error)
            if error.is_construction_failure()
                && it.discriminator.try_construct() == TryConstruct::UseDefault
                && ends =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads the discriminator of a union, wherever it is. A list of members is to be read again after that.
pub(crate) fn selector(
    view: TypeView<'_>,
    it: &UnionShape,
    how: (bool, u16),
    d: &mut Decoder<'_>,
) -> Result<Option<i64>, CdrError> {
    if !is_listed(it, d) {
        return discriminator(view, it, how, d);
    }
    let start = mark(d);
    let found = find_member(d, 0, false, |d| discriminator(view, it, how, d))?;
    reset(d, start);
    found.ok_or(CdrError::MissingMember { id: 0 })
}

/// Members of a mutable structure that were there, without memory of its own for as many as most structures have.
#[derive(Default)]
struct Seen {
    first: u128,
    others: Vec<u128>,
}

impl Seen {
    const BITS: usize = 128;

    const fn bit(position: usize) -> u128 {
        1_u128.wrapping_shl((position % Self::BITS) as u32)
    }

    /// Whether it was seen before.
    fn note(&mut self, position: usize) -> bool {
        let bit = Self::bit(position);
        let word = match (position / Self::BITS).checked_sub(1) {
            None => Some(&mut self.first),
            Some(at) => {
                self.others.resize(self.others.len().max(at.saturating_add(1)), 0);
                self.others.get_mut(at)
            }
        };
        word.is_none_or(|word| core::mem::replace(word, *word | bit) & bit != 0)
    }

    fn has(&self, position: usize) -> bool {
        let word = match (position / Self::BITS).checked_sub(1) {
            None => Some(&self.first),
            Some(at) => self.others.get(at),
        };
        word.is_some_and(|word| word & Self::bit(position) != 0)
    }
}

/// Checks values as [`Reader`] does, which it follows step by step.
pub(crate) struct Check {
    pub nesting: u16,
    pub lenient: bool,
    pub any_length: bool,
    pub keys: bool,
}

impl Check {
    pub(super) fn value(&mut self, view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<(), CdrError> {
        self.nesting = self.nesting.checked_sub(1).ok_or(type_limit(LimitKind::Depth))?;
        self.shape(view, d)?;
        self.nesting = self.nesting.saturating_add(1);
        Ok(())
    }

    fn shape(&mut self, view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<(), CdrError> {
        let any_length = core::mem::take(&mut self.any_length);
        let most = |bound: &Option<usize>| bound.filter(|_| !any_length);
        match view.shape() {
            Shape::Primitive(_) | Shape::Bits(_) | Shape::Enumeration(_) => {
                let reader = Reader { lenient: self.lenient, ..Reader::new(view) };
                scalar(reader, view, d).map(drop)
            }
            Shape::Text { wide: false, bound } => {
                let len = d.read_str()?.len();
                within(self.lenient, most(bound), len)
            }
            Shape::Text { wide: true, bound } => {
                let len = d.read_wide_octets()?.len() / 2;
                within(self.lenient, most(bound), len)
            }
            Shape::Sequence { element, bound } => {
                let inner = view.at(*element);
                let count = d.read_elements(inner.element_kind(), |d| {
                    let count = d.read_count(inner.node.least)?;
                    self.elements(view, *element, count, d)?;
                    Ok(count)
                })?;
                within(self.lenient, most(bound), count)
            }
            Shape::Array { element, length, dimension } => {
                let (element, length) = (*element, *length);
                if *dimension {
                    return self.elements(view, element, length, d);
                }
                d.read_elements(view.at(element).item_kind(), |d| self.elements(view, element, length, d))
            }
            Shape::Map { key, value, bound } => {
                let count = self.map(view, (*key, *value), d)?;
                within(self.lenient, most(bound), count)
            }
            Shape::Structure(it) => d.read_struct(it.extensibility, |d| self.structure(view, it, d)),
            Shape::Union(it) => d.read_struct(it.extensibility, |d| self.union(view, it, d)),
        }
    }

    fn elements(
        &mut self,
        view: TypeView<'_>,
        part: Part,
        count: usize,
        d: &mut Decoder<'_>,
    ) -> Result<(), CdrError> {
        let element = view.at(part);
        let scoped = if d.scope() == Scope::Sample { element.node.least } else { 0 };
        let octets = scoped.saturating_mul(count);
        if octets > d.remaining() {
            return Err(CdrError::UnexpectedEnd { offset: d.position(), needed: octets });
        }
        // Any bytes are numbers.
        let is_number = match element.shape() {
            Shape::Primitive(kind) => *kind != PrimitiveKind::Boolean,
            Shape::Bits(_) => true,
            _ => false,
        };
        if is_number {
            if count > 0 && self.nesting == 0 && !is_octet(element) {
                return Err(type_limit(LimitKind::Depth));
            }
            return skip_many(element, count, d, self.nesting);
        }
        claim_steps(element.node.least, count, size_of::<Value>(), d)?;
        (0..count).try_for_each(|_| self.part(view, part, None, d))
    }

    /// Checks a part of which the best is made if it does not fit.
    fn part(
        &mut self,
        view: TypeView<'_>,
        part: Part,
        default: Option<&Value>,
        d: &mut Decoder<'_>,
    ) -> Result<(), CdrError> {
        let (inner, how) = (view.at(part), part.try_construct());
        if self.lenient || how == TryConstruct::Discard {
            return self.value(inner, d);
        }
        let (start, nesting, keys) = (mark(d), self.nesting, self.keys);
        self.any_length = how == TryConstruct::Trim;
        match self.value(inner, d) {
            Err(error) if error.is_construction_failure() => {}
            result => return result,
        }
        reset(d, start);
        let mut again = d.clone();
        (self.nesting, self.keys, self.lenient) = (nesting, keys, true);
        let taken = self.value(inner, d);
        self.lenient = false;
        taken?;
        if may_be_shortened(inner, how) {
            // Whether what is left fits is not seen before it is made.
            let mut reader = Reader { nesting, lenient: false, any_length: false, keys };
            return reader.part_or(view, part, default, &mut again).map(drop);
        }
        match inner.shape() {
            Shape::Text { bound: Some(_), .. } if how == TryConstruct::Trim => Ok(()),
            _ => claim_default(inner, default, d),
        }
    }

    fn member(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        member: &MemberShape,
        d: &mut Decoder<'_>,
    ) -> Result<(), CdrError> {
        let outer = self.keys;
        self.keys = keys_inside(outer, it, member);
        let checked = self.part(view, member.part, member.default.as_ref(), d);
        self.keys = outer;
        checked
    }

    fn map(
        &mut self,
        view: TypeView<'_>,
        (key, value): (Part, Part),
        d: &mut Decoder<'_>,
    ) -> Result<usize, CdrError> {
        let (of_key, of_value) = (view.at(key), view.at(value));
        let least = of_key.node.least.saturating_add(of_value.node.least);
        d.read_elements(kind_of_pairs(of_key, of_value, d), |d| {
            let count = d.read_count(least)?;
            claim_steps(least, count, size_of::<(Value, Value)>(), d)?;
            for _ in 0..count {
                self.part(view, key, None, d)?;
                self.part(view, value, None, d)?;
            }
            Ok(count)
        })
    }

    fn structure(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        d: &mut Decoder<'_>,
    ) -> Result<(), CdrError> {
        d.claim(it.members.len())?;
        if it.extensibility == Extensibility::Mutable {
            return self.member_list(view, it, d);
        }
        let scope = d.scope();
        for member in &it.members {
            if !in_scope(it, member, scope) {
                claim_missing(view, member, d)?;
            } else if it.extensibility != Extensibility::Final && d.ends_early() {
                self.missing(view, member, d)?;
            } else if member.is_optional() {
                d.read_optional(|d| self.member(view, it, member, d))?;
            } else {
                self.member(view, it, member, d)?;
            }
        }
        Ok(())
    }

    fn member_list(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        d: &mut Decoder<'_>,
    ) -> Result<(), CdrError> {
        let mut seen = Seen::default();
        while let Some(header) = d.next_member()? {
            let known = it.position_of_id(header.id);
            match known.and_then(|at| Some((at, it.members.get(at)?))) {
                Some((at, member)) => {
                    if seen.note(at) {
                        return Err(CdrError::DuplicateMember { id: header.id });
                    }
                    self.member(view, it, member, d)?;
                }
                None => d.unknown_member(&header, self.lenient)?,
            }
            d.end_member(header);
        }
        let mut missing = it.members.iter().enumerate().filter(|(at, _)| !seen.has(*at));
        missing.try_for_each(|(_, member)| self.missing(view, member, d))
    }

    fn missing(&self, view: TypeView<'_>, member: &MemberShape, d: &mut Decoder<'_>) -> Result<(), CdrError> {
        if !self.lenient {
            may_be_missing(member, self.keys, d)?;
        }
        claim_missing(view, member, d)
    }

    fn union(&mut self, view: TypeView<'_>, it: &UnionShape, d: &mut Decoder<'_>) -> Result<(), CdrError> {
        let selected = selector(view, it, (self.lenient, self.nesting), d)?;
        let case = selected.and_then(|discriminator| it.selected(discriminator));
        let key_only = it.has_key && d.scope() != Scope::Sample;
        let Some(case) = case.filter(|_| !key_only) else {
            if is_listed(it, d) {
                skip_list(d)?;
            }
            return match (selected, case) {
                (None, _) => claim_default(view, None, d),
                (_, Some(case)) => claim_default(view.at(case.part), case.default.as_ref(), d),
                _ => Ok(()),
            };
        };
        let default = case.default.as_ref();
        let outer = core::mem::replace(&mut self.keys, false);
        let checked = if is_listed(it, d) {
            let strict = !self.lenient;
            find_member(d, case.id, strict, |d| self.part(view, case.part, default, d))
        } else {
            self.part(view, case.part, default, d).map(Some)
        };
        self.keys = outer;
        match checked? {
            Some(()) => Ok(()),
            None => claim_default(view.at(case.part), default, d),
        }
    }
}

/// Claims the memory that decoding takes for a member that is not in the bytes.
fn claim_missing(view: TypeView<'_>, member: &MemberShape, d: &mut Decoder<'_>) -> Result<(), CdrError> {
    if member.is_optional() {
        return Ok(());
    }
    claim_default(view.at(member.part), member.default.as_ref(), d)
}

/// Whether a part that does not fit may be shortened to something that has parts, which may not fit either.
pub(crate) fn may_be_shortened(ty: TypeView<'_>, how: TryConstruct) -> bool {
    let bound = match ty.shape() {
        Shape::Sequence { bound, .. } | Shape::Map { bound, .. } => bound,
        _ => &None,
    };
    how == TryConstruct::Trim && bound.is_some()
}

/// Whether `@key` counts in a member.
pub(crate) fn keys_inside(outer: bool, it: &StructureShape, member: &MemberShape) -> bool {
    outer && (member.is_key() || !it.has_key)
}

/// Fails if the sender had to have a member.
pub(crate) fn may_be_missing(member: &MemberShape, keys: bool, d: &Decoder<'_>) -> Result<(), CdrError> {
    // In a serialized key only key members have to be present.
    let understood = member.must_understand() && !member.is_optional() && d.scope() == Scope::Sample;
    let required = (keys && member.is_key()) || understood;
    if required { Err(CdrError::MissingMember { id: member.id }) } else { Ok(()) }
}
