//! Decoding of values (DDS-XTypes 1.3 §7.4.3.5, §7.6.3.4 object construction). The rules are those of derived code.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::codegen::{find_member, keys_count, mark, once, reset};
use dunlin_cdr::{
    CdrError, CdrRead, Char8, Char16, Decoder, ElementKind, Extensibility, Float128, LimitKind,
    PrimitiveKind, Representation, Scope, WString,
};

use crate::MAX_NESTING;
use crate::types::*;
use crate::value::{UnionValue, Value, is_octet, own_or_default, parts_of, to_discriminator};

/// Reads a value of a type, in the scope of the decoder.
pub(crate) fn read(view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
    Reader::new(view).value(view, d)
}

/// Reads a part of a sample; whether `@key` counts in it is up to what is around it.
pub(crate) fn read_part(view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
    let keys = keys_count(d);
    Reader { keys, ..Reader::new(view) }.value(view, d)
}

/// Reads the key members of a value of a whole sample; members that are no key stay without value. Where the decoder is
/// afterwards is not defined.
pub(crate) fn read_key(view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
    let mut reader = Reader::new(view);
    match view.shape() {
        Shape::Structure(it) if it.has_key && d.scope() == Scope::Sample => {
            d.read_struct(it.extensibility, |d| reader.keys(view, it, d))
        }
        Shape::Union(it) if it.has_key && d.scope() == Scope::Sample => {
            d.read_struct(it.extensibility, |d| match reader.selector(view, it, d)? {
                Some(discriminator) => Ok(Value::Union(Box::new(UnionValue { discriminator, member: None }))),
                None => claimed_default(view, d),
            })
        }
        _ => reader.value(view, d),
    }
}

pub(crate) struct Reader {
    /// Levels that may follow.
    pub(crate) nesting: u16,
    /// Values that do not fit their type are taken all the same, because they are passed over or shortened.
    pub(crate) lenient: bool,
    /// The next value may be longer than its type allows.
    pub(crate) any_length: bool,
    /// Whether `@key` counts: in a structure that is no part of the topic's key it says nothing (§7.2.4.4.8, key erased
    /// types).
    pub(crate) keys: bool,
}

pub(crate) const fn type_limit(limit: LimitKind) -> CdrError {
    CdrError::LimitExceeded { limit }
}

/// Room for the members of a structure.
fn no_members(it: &StructureShape, d: &mut Decoder<'_>) -> Result<Vec<Option<Value>>, CdrError> {
    d.claim(it.members.len().saturating_mul(size_of::<Option<Value>>()))?;
    let mut members = Vec::new();
    members.resize(it.members.len(), None);
    Ok(members)
}

/// A length that does not exceed its bound, unless what is read may be repaired.
pub(crate) fn within(lenient: bool, bound: Option<usize>, len: usize) -> Result<(), CdrError> {
    match bound {
        Some(bound) if len > bound && !lenient => Err(CdrError::BoundExceeded { bound, len }),
        _ => Ok(()),
    }
}

impl Reader {
    /// What reads a value of the outermost type, which decides whether keys count at all.
    pub(crate) fn new(view: TypeView<'_>) -> Self {
        let keys = match view.shape() {
            Shape::Structure(it) => it.has_key,
            Shape::Union(it) => it.has_key,
            _ => false,
        };
        Self { nesting: MAX_NESTING, lenient: false, keys, any_length: false }
    }

    pub(crate) fn value(&mut self, view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
        let Some(nesting) = self.nesting.checked_sub(1) else { return Err(type_limit(LimitKind::Depth)) };
        self.nesting = nesting;
        let value = self.shape(view, d)?;
        self.nesting = nesting.saturating_add(1);
        Ok(value)
    }

    fn shape(&mut self, view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
        let any_length = core::mem::take(&mut self.any_length);
        let most = |bound: &Option<usize>| bound.filter(|_| !any_length);
        match view.shape() {
            Shape::Primitive(kind) => primitive(*kind, d),
            Shape::Enumeration(it) => self.enumeration(it, d),
            Shape::Bits(it) => bits(it.holder, d).map(Value::Bits),
            Shape::Text { wide: false, bound } => {
                let text = d.read_str()?;
                within(self.lenient, most(bound), text.len())?;
                d.claim(text.len())?;
                Ok(Value::String(String::from(text)))
            }
            Shape::Text { wide: true, bound } => {
                let text = WString::read(d)?;
                within(self.lenient, most(bound), text.0.len())?;
                Ok(Value::WString(text))
            }
            Shape::Sequence { element, bound } => self.sequence(view, *element, most(bound), d),
            Shape::Array { element, length, dimension } => {
                let (element, length) = (*element, *length);
                if *dimension {
                    return self.elements(view, element, length, d);
                }
                d.read_elements(view.at(element).item_kind(), |d| self.elements(view, element, length, d))
            }
            Shape::Map { key, value, bound } => self.map(view, (*key, *value), most(bound), d),
            Shape::Structure(it) => d.read_struct(it.extensibility, |d| self.structure(view, it, d)),
            Shape::Union(it) => d.read_struct(it.extensibility, |d| self.union(view, it, d)),
        }
    }

    fn enumeration(&self, it: &EnumerationShape, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
        let value = match it.holder {
            PrimitiveKind::Int8 => i32::from(d.read_u8()?.cast_signed()),
            PrimitiveKind::Int16 => i32::from(d.read_u16()?.cast_signed()),
            _ => d.read_u32()?.cast_signed(),
        };
        if !self.lenient && it.name_of(value).is_none() {
            return Err(CdrError::UnknownEnumValue { type_name: "of the sample", value });
        }
        Ok(Value::Enumeration(value))
    }

    fn sequence(
        &mut self,
        view: TypeView<'_>,
        part: Part,
        bound: Option<usize>,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        let element = view.at(part);
        let value = d.read_elements(element.element_kind(), |d| {
            let count = d.read_count(element.node.least)?;
            self.elements(view, part, count, d)
        })?;
        within(self.lenient, bound, crate::convert::len_of(&value))?;
        Ok(value)
    }

    /// Reads so many elements, whose bytes are known to be there unless they have none.
    fn elements(
        &mut self,
        view: TypeView<'_>,
        part: Part,
        count: usize,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        let element = view.at(part);
        if is_octet(element) {
            d.claim(count)?;
            return d.read_bytes(count).map(|octets| Value::Octets(octets.into()));
        }
        // An array says itself how many elements it has: bytes have to be there before memory is claimed.
        let scoped = if d.scope() == Scope::Sample { element.node.least } else { 0 };
        let octets = scoped.saturating_mul(count);
        if octets > d.remaining() {
            return Err(CdrError::UnexpectedEnd { offset: d.position(), needed: octets });
        }
        d.claim(count.saturating_mul(size_of::<Value>()))?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(self.part(view, part, d)?);
        }
        Ok(Value::List(items))
    }

    /// Reads a part and makes the best of one that does not fit (§7.2.2.4.4.4.7).
    fn part(&mut self, view: TypeView<'_>, part: Part, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
        self.part_or(view, part, None, d)
    }

    /// Reads a part, which may have a default of its own.
    pub(crate) fn part_or(
        &mut self,
        view: TypeView<'_>,
        part: Part,
        default: Option<&Value>,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        let inner = view.at(part);
        let how = part.try_construct();
        if self.lenient || how == TryConstruct::Discard || d.scope() == Scope::KeyHash {
            return self.value(inner, d);
        }
        let (start, nesting, keys) = (mark(d), self.nesting, self.keys);
        // What is in it is tried first, then it is shortened.
        self.any_length = how == TryConstruct::Trim;
        match self.value(inner, d) {
            Err(error) if error.is_construction_failure() => {}
            Ok(value) if how == TryConstruct::Trim => return Ok(shortened(inner, value)),
            result => return result,
        }
        reset(d, start);
        (self.nesting, self.keys, self.lenient) = (nesting, keys, true);
        let value = self.value(inner, d);
        self.lenient = false;
        let value = value?;
        match trimmed(inner, value).filter(|_| how == TryConstruct::Trim) {
            Some(value) => Ok(value),
            None => claimed(inner, default, d),
        }
    }

    /// Reads the value of a member, inside of which keys count if it is part of the key.
    fn member_value(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        member: &MemberShape,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        let outer = self.keys;
        self.keys = outer && (member.is_key() || !it.has_key);
        let value = self.part_or(view, member.part, member.default.as_ref(), d);
        self.keys = outer;
        value
    }

    fn map(
        &mut self,
        view: TypeView<'_>,
        (key, value): (Part, Part),
        bound: Option<usize>,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        let (of_key, of_value) = (view.at(key).element_kind(), view.at(value).element_kind());
        let by_value = d.options().map_dheader_by_value;
        let kind = if by_value { of_value } else { TypeView::pair_kind(of_key, of_value) };
        let least = view.at(key).node.least.saturating_add(view.at(value).node.least);
        let pairs = d.read_elements(kind, |d| {
            let count = d.read_count(least)?;
            d.claim(count.saturating_mul(size_of::<(Value, Value)>()))?;
            let mut pairs = Vec::with_capacity(count);
            for _ in 0..count {
                pairs.push((self.part(view, key, d)?, self.part(view, value, d)?));
            }
            Ok(pairs)
        })?;
        within(self.lenient, bound, pairs.len())?;
        Ok(Value::Map(pairs))
    }

    fn structure(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        let mut members = no_members(it, d)?;
        if it.extensibility == Extensibility::Mutable && d.scope() != Scope::KeyHash {
            return self.member_list(view, it, members, d);
        }
        for at in 0..it.members.len() {
            let at = if d.scope() == Scope::KeyHash { it.by_id.get(at).copied().unwrap_or(at) } else { at };
            let (Some(member), Some(slot)) = (it.members.get(at), members.get_mut(at)) else { continue };
            *slot = if !in_scope(it, member, d.scope()) {
                default_of_member(view, member, d)?
            } else if it.extensibility != Extensibility::Final && d.ends_early() {
                self.missing(view, member, d)?
            } else {
                self.member(view, it, member, d)?
            };
        }
        Ok(Value::Structure(members))
    }

    /// Reads a member of a structure whose members follow one another.
    fn member(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        member: &MemberShape,
        d: &mut Decoder<'_>,
    ) -> Result<Option<Value>, CdrError> {
        if member.is_optional() {
            return d.read_optional(|d| self.member_value(view, it, member, d));
        }
        self.member_value(view, it, member, d).map(Some)
    }

    /// Reads the members of a mutable structure.
    fn member_list(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        mut members: Vec<Option<Value>>,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        while let Some(header) = d.next_member()? {
            let known =
                it.position_of_id(header.id).and_then(|at| Some((it.members.get(at)?, members.get_mut(at)?)));
            match known {
                Some((member, slot)) => {
                    once(slot, header.id)?;
                    *slot = Some(self.member_value(view, it, member, d)?);
                }
                None => d.unknown_member(&header, self.lenient)?,
            }
            d.end_member(header);
        }
        for (member, slot) in it.members.iter().zip(&mut members) {
            if slot.is_none() {
                *slot = self.missing(view, member, d)?;
            }
        }
        Ok(Value::Structure(members))
    }

    /// Reads the key members of a structure and passes over the others, up to the last key member.
    fn keys(
        &mut self,
        view: TypeView<'_>,
        it: &StructureShape,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        let mut members = no_members(it, d)?;
        if it.extensibility == Extensibility::Mutable {
            while let Some(header) = d.next_member()? {
                let at = it.position_of_id(header.id);
                let known = at.and_then(|at| Some((it.members.get(at)?, members.get_mut(at)?)));
                match known {
                    Some((member, slot)) if member.is_key() => {
                        once(slot, header.id)?;
                        *slot = Some(self.member_value(view, it, member, d)?);
                    }
                    Some(_) => {}
                    None => d.unknown_member(&header, false)?,
                }
                d.end_member(header);
            }
        } else {
            let last = it.members.iter().rposition(MemberShape::is_key).unwrap_or(0);
            for (member, slot) in it.members.iter().zip(&mut members).take(last.saturating_add(1)) {
                if it.extensibility != Extensibility::Final && d.ends_early() {
                    break;
                }
                *slot = self.member(view, it, member, d)?.filter(|_| member.is_key());
            }
        }
        let missing = it
            .members
            .iter()
            .zip(&members)
            .find(|(member, slot)| member.is_key() && !member.is_optional() && slot.is_none());
        match missing {
            Some((member, _)) => Err(CdrError::MissingMember { id: member.id }),
            None => Ok(Value::Structure(members)),
        }
    }

    /// What a member is if the sender did not have it.
    fn missing(
        &self,
        view: TypeView<'_>,
        member: &MemberShape,
        d: &mut Decoder<'_>,
    ) -> Result<Option<Value>, CdrError> {
        // In a serialized key only key members have to be present.
        let understood = member.must_understand() && !member.is_optional() && d.scope() == Scope::Sample;
        let required = (self.keys && member.is_key()) || understood;
        if required && !self.lenient {
            return Err(CdrError::MissingMember { id: member.id });
        }
        default_of_member(view, member, d)
    }

    /// Reads a discriminator; `None` if it does not fit its type and the default union takes the place of what was sent,
    /// which only works if it is known where that ends.
    fn discriminator(
        &mut self,
        view: TypeView<'_>,
        it: &UnionShape,
        d: &mut Decoder<'_>,
    ) -> Result<Option<i64>, CdrError> {
        let nesting = self.nesting;
        let ends = it.extensibility == Extensibility::Mutable
            || (it.extensibility == Extensibility::Appendable && d.representation() == Representation::Xcdr2);
        match self.value(view.at(it.discriminator), d) {
            Ok(value) => to_discriminator(&value).map(Some).ok_or(CdrError::ForeignType),
            Err(error)
                if error.is_construction_failure()
                    && it.discriminator.try_construct() == TryConstruct::UseDefault
                    && ends
                    && d.scope() != Scope::KeyHash =>
            {
                self.nesting = nesting;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the discriminator of a union, wherever it is. A list of members is to be read again after that.
    fn selector(
        &mut self,
        view: TypeView<'_>,
        it: &UnionShape,
        d: &mut Decoder<'_>,
    ) -> Result<Option<i64>, CdrError> {
        if !is_listed(it, d) {
            return self.discriminator(view, it, d);
        }
        let start = mark(d);
        let found = find_member(d, 0, false, |d| self.discriminator(view, it, d))?;
        reset(d, start);
        found.ok_or(CdrError::MissingMember { id: 0 })
    }

    fn union(&mut self, view: TypeView<'_>, it: &UnionShape, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
        d.claim(size_of::<UnionValue>())?;
        let selected = self.selector(view, it, d)?;
        let case = selected.and_then(|discriminator| it.selected(discriminator));
        let key_only = it.has_key && d.scope() != Scope::Sample;
        let member = match case {
            Some(case) if !key_only => Some(self.case(view, it, case, d)?),
            _ => {
                if is_listed(it, d) {
                    dunlin_cdr::codegen::skip_list(d)?;
                }
                case.map(|case| claimed(view.at(case.part), case.default.as_ref(), d)).transpose()?
            }
        };
        match selected {
            Some(discriminator) => Ok(Value::Union(Box::new(UnionValue { discriminator, member }))),
            None => claimed_default(view, d),
        }
    }

    /// Reads the member that a union holds.
    fn case(
        &mut self,
        view: TypeView<'_>,
        it: &UnionShape,
        case: &CaseShape,
        d: &mut Decoder<'_>,
    ) -> Result<Value, CdrError> {
        // What a union holds is told from others by the discriminator alone.
        let outer = core::mem::replace(&mut self.keys, false);
        let default = case.default.as_ref();
        let read = if is_listed(it, d) {
            let strict = !self.lenient;
            find_member(d, case.id, strict, |d| self.part_or(view, case.part, default, d))
        } else {
            self.part_or(view, case.part, default, d).map(Some)
        };
        self.keys = outer;
        match read? {
            Some(member) => Ok(member),
            None => claimed(view.at(case.part), default, d),
        }
    }
}

/// Whether a union is a list of members with headers.
pub(crate) fn is_listed(it: &UnionShape, d: &Decoder<'_>) -> bool {
    it.extensibility == Extensibility::Mutable && d.scope() != Scope::KeyHash
}

/// The default of a type, whose memory is claimed.
fn claimed_default(view: TypeView<'_>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
    claimed(view, None, d)
}

/// The default that a member has, or that of its type, whose memory is claimed.
fn claimed(view: TypeView<'_>, own: Option<&Value>, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
    claim_default(view, own, d)?;
    Ok(own_or_default(view, own))
}

/// Claims the memory of a default.
pub(crate) fn claim_default(
    view: TypeView<'_>,
    own: Option<&Value>,
    d: &mut Decoder<'_>,
) -> Result<(), CdrError> {
    let parts = own.map_or(view.node.parts, parts_of);
    d.claim(parts.saturating_mul(size_of::<Value>()))
}

/// The default of a member: nothing, if it may be absent.
fn default_of_member(
    view: TypeView<'_>,
    member: &MemberShape,
    d: &mut Decoder<'_>,
) -> Result<Option<Value>, CdrError> {
    if member.is_optional() {
        return Ok(None);
    }
    claimed(view.at(member.part), member.default.as_ref(), d).map(Some)
}

/// Whether a member is present in a serialization of this scope: in a structure without marked members all belong to the
/// key, if the structure does.
pub(crate) fn in_scope(it: &StructureShape, member: &MemberShape, scope: Scope) -> bool {
    scope == Scope::Sample || !it.has_key || member.is_key()
}

/// A value, shortened if it is too long.
pub(crate) fn shortened(view: TypeView<'_>, value: Value) -> Value {
    match (view.shape(), value) {
        (Shape::Text { bound: Some(bound), .. }, Value::String(mut text)) => {
            let end = (0..=(*bound).min(text.len())).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
            Value::String(text)
        }
        (Shape::Text { bound: Some(bound), .. }, Value::WString(mut text)) => {
            text.0.truncate(*bound);
            Value::WString(text)
        }
        (Shape::Sequence { bound: Some(bound), .. }, Value::Octets(mut octets)) => {
            octets.truncate(*bound);
            Value::Octets(octets)
        }
        (Shape::Sequence { bound: Some(bound), .. }, Value::List(mut items)) => {
            items.truncate(*bound);
            Value::List(items)
        }
        (Shape::Map { bound: Some(bound), .. }, Value::Map(mut pairs)) => {
            pairs.truncate(*bound);
            Value::Map(pairs)
        }
        (_, value) => value,
    }
}

/// A value that was taken without checks, shortened; `None` if its length is not what is wrong with it.
fn trimmed(view: TypeView<'_>, value: Value) -> Option<Value> {
    let value = shortened(view, value);
    let fits = match (view.shape(), &value) {
        (Shape::Text { bound, .. } | Shape::Sequence { bound, .. } | Shape::Map { bound, .. }, _)
            if bound.is_none() =>
        {
            false
        }
        (Shape::Text { .. }, _) | (Shape::Sequence { .. }, Value::Octets(_)) => true,
        (Shape::Sequence { element, .. }, Value::List(items)) => fits(view.at(*element), items),
        (Shape::Map { .. }, map) => crate::convert::convert(view, map.clone(), MAX_NESTING).is_ok(),
        _ => false,
    };
    fits.then_some(value)
}

/// Whether elements that were taken without checks fit their type.
fn fits(element: TypeView<'_>, items: &[Value]) -> bool {
    element.element_kind() == ElementKind::Primitive
        || items.iter().all(|item| crate::convert::convert(element, item.clone(), MAX_NESTING).is_ok())
}

pub(crate) fn bits(holder: PrimitiveKind, d: &mut Decoder<'_>) -> Result<u64, CdrError> {
    Ok(match holder.size() {
        1 => d.read_u8()?.into(),
        2 => d.read_u16()?.into(),
        4 => d.read_u32()?.into(),
        _ => d.read_u64()?,
    })
}

pub(crate) fn primitive(kind: PrimitiveKind, d: &mut Decoder<'_>) -> Result<Value, CdrError> {
    Ok(match kind {
        PrimitiveKind::Boolean => Value::Boolean(d.read_bool()?),
        PrimitiveKind::Octet | PrimitiveKind::UInt8 => Value::Octet(d.read_u8()?),
        PrimitiveKind::Int8 => Value::Int8(d.read_u8()?.cast_signed()),
        PrimitiveKind::Int16 => Value::Int16(d.read_u16()?.cast_signed()),
        PrimitiveKind::UInt16 => Value::UInt16(d.read_u16()?),
        PrimitiveKind::Int32 => Value::Int32(d.read_u32()?.cast_signed()),
        PrimitiveKind::UInt32 => Value::UInt32(d.read_u32()?),
        PrimitiveKind::Int64 => Value::Int64(d.read_u64()?.cast_signed()),
        PrimitiveKind::UInt64 => Value::UInt64(d.read_u64()?),
        PrimitiveKind::Float32 => Value::Float32(f32::from_bits(d.read_u32()?)),
        PrimitiveKind::Float64 => Value::Float64(f64::from_bits(d.read_u64()?)),
        PrimitiveKind::Float128 => Value::Float128(Float128(d.read_u128()?)),
        PrimitiveKind::Char8 => Value::Char8(Char8(d.read_u8()?)),
        PrimitiveKind::Char16 => Value::Char16(Char16(d.read_u16()?)),
    })
}
