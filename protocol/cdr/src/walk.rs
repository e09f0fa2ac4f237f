//! Finding and reading single members of a serialized value by the description of its type (DDS-XTypes 1.3 §7.4.3.5),
//! without making the value.

use alloc::string::String;

use crate::{
    CaseDescription, CdrError, CdrRead, Decoder, ElementKind, Extensibility, MemberDescription,
    PrimitiveKind, Scope, StructureDescription, TypeDescription, TypeKind, TypeRef, UnionDescription,
    WString,
};

/// A step from a value to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The member of a structure at this position, those of the bases first; the case of a union.
    Member(usize),
    /// The discriminator of a union.
    Discriminator,
    /// An element of a sequence or array.
    Element(usize),
}

/// What was found where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Located<R> {
    /// The part, or what was read of it.
    Found(R),
    /// The sender's version of the type lacks the member at this step of the path: it has its default value.
    Missing(usize),
    /// There is no such part: an optional member that is absent, a case that is not selected, an element beyond the
    /// end, or, in a serialized key, a member that does not belong to the key.
    Absent,
}

/// A value that has no parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'de> {
    /// A boolean.
    Boolean(bool),
    /// A signed integer, or the value of an enumeration.
    Signed(i64),
    /// An unsigned integer, bitmask or bitset.
    Unsigned(u64),
    /// A floating-point number of at most 64 bits.
    Float(f64),
    /// A character, or the UTF-16 unit of a wide one.
    Character(u16),
    /// A string.
    Text(&'de str),
    /// A wide string, with U+FFFD in place of unpaired surrogates.
    WideText(String),
}

/// What to do with a part once it is found.
type Read<'r, 'de, R> = &'r mut dyn FnMut(&mut Decoder<'de>, &TypeDescription) -> Result<R, CdrError>;

impl<'de> Decoder<'de> {
    /// Follows a path into the value of type `ty` that starts here, in the scope of the decoder, which must not be
    /// [`Scope::KeyHash`], and reads what is there with `read`. Where the decoder is afterwards is not defined.
    ///
    /// A path that does not fit the type leads to [`Located::Absent`].
    ///
    /// # Errors
    /// Bytes on the way that are no serialization of the type, and the errors of `read`.
    pub fn locate<R>(
        &mut self,
        ty: &TypeDescription,
        path: &[Step],
        mut read: impl FnMut(&mut Self, &TypeDescription) -> Result<R, CdrError>,
    ) -> Result<Located<R>, CdrError> {
        Route { path, read: &mut read }.follow(self, ty, 0, false)
    }

    /// Reads a value without parts; `None` if the type is none of these: structures, unions, collections, and numbers of
    /// 128 bits.
    ///
    /// # Errors
    /// Bytes that are no serialization of the type.
    pub fn read_scalar(&mut self, ty: &TypeDescription) -> Result<Option<Scalar<'de>>, CdrError> {
        let ty = ty.resolved();
        Ok(Some(match (&ty.kind, ty.holder()) {
            (_, Some(holder)) => self.read_primitive(holder)?,
            (TypeKind::Primitive(PrimitiveKind::Float128), _) => return Ok(None),
            (TypeKind::Primitive(kind), _) => self.read_primitive(*kind)?,
            (TypeKind::String { .. }, _) => Scalar::Text(self.read_str()?),
            (TypeKind::WideString { .. }, _) => Scalar::WideText(WString::read(self)?.to_string_lossy()),
            _ => return Ok(None),
        }))
    }

    fn read_primitive(&mut self, kind: PrimitiveKind) -> Result<Scalar<'de>, CdrError> {
        Ok(match kind {
            PrimitiveKind::Boolean => Scalar::Boolean(self.read_bool()?),
            PrimitiveKind::Octet | PrimitiveKind::UInt8 => Scalar::Unsigned(self.read_u8()?.into()),
            PrimitiveKind::Int8 => Scalar::Signed(self.read_u8()?.cast_signed().into()),
            PrimitiveKind::Int16 => Scalar::Signed(self.read_u16()?.cast_signed().into()),
            PrimitiveKind::UInt16 => Scalar::Unsigned(self.read_u16()?.into()),
            PrimitiveKind::Int32 => Scalar::Signed(self.read_u32()?.cast_signed().into()),
            PrimitiveKind::UInt32 => Scalar::Unsigned(self.read_u32()?.into()),
            PrimitiveKind::Int64 => Scalar::Signed(self.read_u64()?.cast_signed()),
            PrimitiveKind::UInt64 => Scalar::Unsigned(self.read_u64()?),
            PrimitiveKind::Float32 => Scalar::Float(f32::from_bits(self.read_u32()?).into()),
            PrimitiveKind::Float64 | PrimitiveKind::Float128 => {
                Scalar::Float(f64::from_bits(self.read_u64()?))
            }
            PrimitiveKind::Char8 => Scalar::Character(self.read_u8()?.into()),
            PrimitiveKind::Char16 => Scalar::Character(self.read_u16()?),
        })
    }

    /// Goes past the value of type `ty` that starts here, in the scope of the decoder, which must not be
    /// [`Scope::KeyHash`].
    ///
    /// # Errors
    /// Bytes that are no serialization of the type.
    pub fn skip_value(&mut self, ty: &TypeDescription) -> Result<(), CdrError> {
        self.note_passed();
        let ty = ty.resolved();
        if let Some(holder) = ty.holder() {
            return self.skip_primitives(holder, 1);
        }
        match &ty.kind {
            TypeKind::Primitive(kind) => self.skip_primitives(*kind, 1),
            TypeKind::String { .. } => {
                let len = self.read_len()?;
                self.read_bytes(len).map(drop)
            }
            TypeKind::WideString { .. } => WString::skip(self),
            TypeKind::Structure(structure) => {
                self.skip_struct(structure.extensibility, |d| d.skip_members(structure))
            }
            TypeKind::Union(union) => self.skip_struct(union.extensibility, |d| d.skip_case(union)),
            TypeKind::Sequence { element, .. } => self.skip_sequence(element.get()),
            TypeKind::Array { element, length } => self.skip_array(ty, element.get(), *length),
            TypeKind::Map { key, value, .. } => self.skip_map(key.get(), value.get()),
            // These have holders or were resolved.
            TypeKind::Enumeration(_)
            | TypeKind::Bitmask { .. }
            | TypeKind::Bitset { .. }
            | TypeKind::Alias(_) => Ok(()),
        }
    }

    fn skip_primitives(&mut self, kind: PrimitiveKind, n: usize) -> Result<(), CdrError> {
        if n > 0 {
            self.align(kind.size().min(8));
            self.read_bytes(n.saturating_mul(kind.size()))?;
        }
        Ok(())
    }

    /// Goes past elements of a collection; further dimensions of an array have no headers of their own.
    fn skip_elements(&mut self, ty: &TypeDescription, n: usize, dimension: bool) -> Result<(), CdrError> {
        let resolved = ty.resolved();
        if let Some(kind) = resolved.holder() {
            return self.skip_primitives(kind, n);
        }
        match (&resolved.kind, &ty.kind) {
            (TypeKind::Primitive(kind), _) => self.skip_primitives(*kind, n),
            (_, TypeKind::Array { element, length }) if dimension => {
                self.note_passed();
                (0..n).try_for_each(|_| self.skip_elements(element.get(), *length, true))
            }
            _ => (0..n).try_for_each(|_| self.skip_value(ty)),
        }
    }

    fn skip_sequence(&mut self, element: &TypeDescription) -> Result<(), CdrError> {
        if self.has_dheader(element.element_kind()) {
            let region = self.enter_delimited()?;
            self.leave(region);
            return Ok(());
        }
        let count = self.read_count(least_size(element))?;
        self.skip_elements(element, count, false)
    }

    fn skip_array(
        &mut self,
        array: &TypeDescription,
        element: &TypeDescription,
        length: usize,
    ) -> Result<(), CdrError> {
        if self.has_dheader(array.item_kind()) {
            let region = self.enter_delimited()?;
            self.leave(region);
            return Ok(());
        }
        self.skip_elements(element, length, true)
    }

    fn skip_map(&mut self, key: &TypeDescription, value: &TypeDescription) -> Result<(), CdrError> {
        let kind = if self.options().map_dheader_by_value || key.element_kind() == ElementKind::Primitive {
            value.element_kind()
        } else if value.element_kind() == key.element_kind() || value.element_kind() == ElementKind::Primitive
        {
            key.element_kind()
        } else {
            ElementKind::Compound
        };
        self.read_elements(kind, |d| {
            let count = d.read_count(least_size(key).saturating_add(least_size(value)))?;
            (0..count).try_for_each(|_| {
                d.skip_value(key)?;
                d.skip_value(value)
            })
        })
    }

    fn skip_members(&mut self, structure: &StructureDescription) -> Result<(), CdrError> {
        if structure.extensibility == Extensibility::Mutable {
            return crate::codegen::skip_list(self);
        }
        let mut position = 0usize;
        while let Some(member) = structure.member(position) {
            if structure.in_scope(position, self.scope()) {
                if structure.extensibility != Extensibility::Final && self.ends_early() {
                    return Ok(());
                }
                self.skip_member(member)?;
            }
            position = position.saturating_add(1);
        }
        Ok(())
    }

    /// Goes past a member of a final or appendable structure.
    fn skip_member(&mut self, member: &MemberDescription) -> Result<(), CdrError> {
        let ty = member.ty.get();
        if member.is_optional() {
            self.read_optional(|d| d.skip_value(ty)).map(drop)
        } else {
            self.skip_value(ty)
        }
    }

    fn skip_case(&mut self, union: &UnionDescription) -> Result<(), CdrError> {
        if union.extensibility == Extensibility::Mutable {
            return crate::codegen::skip_list(self);
        }
        let selected = self.read_discriminator(&union.discriminator)?;
        if union.key && self.scope() != Scope::Sample {
            return Ok(());
        }
        match selected.and_then(|value| union.selected(value)).and_then(|at| union.cases.get(at)) {
            Some(CaseDescription { ty: Some(ty), .. }) => self.skip_value(ty.get()),
            Some(_) => Ok(()),
            None => Err(CdrError::UnknownDiscriminator { type_name: "union" }),
        }
    }

    fn read_discriminator(&mut self, ty: &TypeRef) -> Result<Option<i64>, CdrError> {
        Ok(match self.read_scalar(ty.get())? {
            Some(Scalar::Boolean(value)) => Some(i64::from(value)),
            Some(Scalar::Signed(value)) => Some(value),
            Some(Scalar::Unsigned(value)) => Some(value.cast_signed()),
            Some(Scalar::Character(value)) => Some(i64::from(value)),
            _ => None,
        })
    }
}

/// A lower limit of the bytes that a value takes; bounds the counts of collections.
fn least_size(ty: &TypeDescription) -> usize {
    let ty = ty.resolved();
    match (&ty.kind, ty.holder()) {
        (_, Some(kind)) | (&TypeKind::Primitive(kind), _) => kind.size(),
        (TypeKind::String { .. } | TypeKind::WideString { .. } | TypeKind::Sequence { .. }, _) => 4,
        _ => 0,
    }
}

/// A path on its way through a value.
struct Route<'r, 'p, 'de, R> {
    path: &'p [Step],
    read: Read<'r, 'de, R>,
}

impl<'de, R> Route<'_, '_, 'de, R> {
    /// Follows the path from step `at` on. `dimension` says that the value is a further dimension of an array.
    fn follow(
        &mut self,
        d: &mut Decoder<'de>,
        ty: &TypeDescription,
        at: usize,
        dimension: bool,
    ) -> Result<Located<R>, CdrError> {
        let Some(step) = self.path.get(at).copied() else {
            return (self.read)(d, ty).map(Located::Found);
        };
        // An alias ends the dimensions of an array.
        let dimension = dimension && !matches!(ty.kind, TypeKind::Alias(_));
        let ty = ty.resolved();
        match (step, &ty.kind) {
            (Step::Member(position), TypeKind::Structure(structure)) => {
                d.read_struct(structure.extensibility, |d| self.member(d, structure, position, at))
            }
            (Step::Member(_) | Step::Discriminator, TypeKind::Union(union)) => {
                d.read_struct(union.extensibility, |d| self.case(d, union, step, at))
            }
            (Step::Element(index), TypeKind::Sequence { element, .. }) => {
                let element = element.get();
                d.read_elements(element.element_kind(), |d| {
                    let count = d.read_count(least_size(element))?;
                    self.element(d, element, (index, count), at, false)
                })
            }
            (Step::Element(index), TypeKind::Array { element, length }) => {
                let (element, index) = (element.get(), (index, *length));
                if dimension {
                    return self.element(d, element, index, at, true);
                }
                d.read_elements(ty.item_kind(), |d| self.element(d, element, index, at, true))
            }
            _ => Ok(Located::Absent),
        }
    }

    fn element(
        &mut self,
        d: &mut Decoder<'de>,
        ty: &TypeDescription,
        (index, count): (usize, usize),
        at: usize,
        dimension: bool,
    ) -> Result<Located<R>, CdrError> {
        if index >= count {
            return Ok(Located::Absent);
        }
        d.skip_elements(ty, index, dimension)?;
        self.follow(d, ty, at.saturating_add(1), dimension)
    }

    fn member(
        &mut self,
        d: &mut Decoder<'de>,
        structure: &StructureDescription,
        wanted: usize,
        at: usize,
    ) -> Result<Located<R>, CdrError> {
        let Some(member) = structure.member(wanted).filter(|_| structure.in_scope(wanted, d.scope())) else {
            return Ok(Located::Absent);
        };
        d.enter_keys(structure.has_key());
        let beside_key = !structure.in_scope(wanted, Scope::Key);
        if structure.extensibility == Extensibility::Mutable {
            return match find(d, member.id)? {
                true => self.inside(d, &member.ty, at, beside_key),
                false => missing(d, member, at),
            };
        }
        let evolves = structure.extensibility != Extensibility::Final;
        for position in 0..wanted {
            let Some(before) = structure.member(position) else { break };
            if evolves && d.ends_early() {
                return missing(d, member, at);
            }
            if structure.in_scope(position, d.scope()) {
                d.skip_member(before)?;
            }
        }
        if evolves && d.ends_early() {
            return missing(d, member, at);
        }
        if member.is_optional() {
            let found = d.read_optional(|d| self.inside(d, &member.ty, at, beside_key))?;
            return Ok(found.unwrap_or(Located::Absent));
        }
        self.inside(d, &member.ty, at, beside_key)
    }

    /// Goes on inside of a member, which is part of the key or not.
    fn inside(
        &mut self,
        d: &mut Decoder<'de>,
        ty: &TypeRef,
        at: usize,
        beside_key: bool,
    ) -> Result<Located<R>, CdrError> {
        let next = at.saturating_add(1);
        if beside_key {
            return d.without_keys(|d| self.follow(d, ty.get(), next, false));
        }
        self.follow(d, ty.get(), next, false)
    }

    fn case(
        &mut self,
        d: &mut Decoder<'de>,
        union: &UnionDescription,
        step: Step,
        at: usize,
    ) -> Result<Located<R>, CdrError> {
        let mutable = union.extensibility == Extensibility::Mutable;
        d.enter_keys(union.key);
        let start = d.mark();
        if mutable && !find(d, 0)? {
            return Err(CdrError::MissingMember { id: 0 });
        }
        let next = at.saturating_add(1);
        let Step::Member(wanted) = step else {
            return self.follow(d, union.discriminator.get(), next, false);
        };
        let selected = d.read_discriminator(&union.discriminator)?.and_then(|value| union.selected(value));
        let key_only = union.key && d.scope() != Scope::Sample;
        let case = union.cases.get(wanted).filter(|_| selected == Some(wanted) && !key_only);
        let Some((id, ty)) = case.and_then(|case| Some((case.id, case.ty.as_ref()?))) else {
            return Ok(Located::Absent);
        };
        if mutable {
            // Its members come in any order.
            d.reset(start);
            if !find(d, id)? {
                return Ok(Located::Missing(at));
            }
        }
        self.inside(d, ty, at, true)
    }
}

/// A member that was not sent.
fn missing<R>(d: &Decoder<'_>, member: &MemberDescription, at: usize) -> Result<Located<R>, CdrError> {
    if member.is_optional() {
        return Ok(Located::Absent);
    }
    if member.is_required(d.keys_count()) {
        Err(CdrError::MissingMember { id: member.id })
    } else {
        Ok(Located::Missing(at))
    }
}

/// Goes to the value of a member of a mutable type; whether there is one.
fn find(d: &mut Decoder<'_>, id: u32) -> Result<bool, CdrError> {
    while let Some(member) = d.next_member()? {
        if member.id == id {
            return Ok(true);
        }
        d.note_passed();
        d.end_member(member);
    }
    Ok(false)
}
