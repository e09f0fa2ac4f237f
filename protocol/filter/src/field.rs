//! Fields: from their names to paths through the type, and what a sample has where its sender's type lacks them.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use dunlin_cdr::{
    Decoder, Encoder, Endianness, Limits, Located, MemberDescription, PrimitiveKind, Representation, Scope,
    Step, StructureDescription, TypeDescription, TypeKind, TypeRef, UnionDescription,
};

use crate::error::{FilterError, Reason};
use crate::filter::Failure;
use crate::nearest::nearest;
use crate::steps::Steps;
use crate::syntax::{FieldName, Part};
use crate::value::Value;

/// How the discriminator of a union is called.
const DISCRIMINATOR: &str = "_d";
/// Members named in a hint.
const HINT_NAMES: usize = 8;

/// What a field can be compared with.
#[derive(Clone, Debug)]
pub(crate) enum Class {
    Boolean,
    /// Integers, and bits as integers.
    Integer,
    Float,
    Character {
        /// The greatest code.
        most: u32,
    },
    Text,
    Enumeration(TypeRef),
}

/// A field of samples of one type.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    path: Vec<Step>,
    root: TypeRef,
    /// The values that the field has if the member at each step is missing.
    defaults: Vec<Option<Value<'static>>>,
    /// Part of the key.
    pub(crate) key: bool,
    pub(crate) class: Class,
    /// The type, for messages.
    pub(crate) ty: TypeRef,
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Field {
    /// Finds the field that a name means.
    pub(crate) fn resolve(root: &TypeRef, name: &FieldName<'_>) -> Result<Self, FilterError> {
        let (path, ty) = follow(root, name)?;
        let class = class(&ty).map_err(|reason| FilterError::at(name.at, reason))?;
        let defaults = (0..path.len()).map(|at| default_at(root.get(), &path, at)).collect();
        Ok(Self { key: is_key(root.get(), &path), path, root: root.clone().evaluated(), defaults, class, ty })
    }

    /// The value in a sample, if the field is there.
    pub(crate) fn read<'de>(
        &self,
        sample: &Decoder<'de>,
        steps: &mut Steps,
    ) -> Result<Option<Value<'de>>, Failure> {
        let mut search = sample.clone();
        let located = search.locate(self.root.get(), &self.path, |d, ty| d.read_scalar(ty));
        steps.take(search.values_passed().saturating_add(1))?;
        let value = match located? {
            Located::Found(scalar) => scalar.map(Value::from),
            Located::Missing(step) => self.defaults.get(step).cloned().flatten(),
            Located::Absent => None,
        };
        if let Some(Value::Text(text)) = &value {
            steps.take(text.len() / 16)?;
        }
        Ok(value)
    }
}

/// The steps to a field, and its type.
fn follow(root: &TypeRef, name: &FieldName<'_>) -> Result<(Vec<Step>, TypeRef), FilterError> {
    let mut ty = root;
    let mut path = Vec::new();
    for (at, part) in &name.parts {
        let (step, next) = match part {
            Part::Member(member) => member_step(ty, member),
            Part::Element(index) => element_step(ty, *index),
        }
        .map_err(|reason| FilterError::at(*at, reason))?;
        path.push(step);
        ty = next;
    }
    Ok((path, ty.clone()))
}

/// A field of samples of one type that is selected and not compared: it may have parts.
#[derive(Clone, Debug)]
pub struct FieldPath {
    steps: Vec<Step>,
    ty: TypeRef,
}

impl FieldPath {
    /// The field with a name such as `a.b[3]`.
    ///
    /// # Errors
    /// A name that does not fit the type.
    pub fn new(root: &TypeRef, name: &str) -> Result<Self, FilterError> {
        let (steps, ty) = follow(root, &crate::syntax::field_name(name)?)?;
        Ok(Self { steps, ty })
    }

    /// From a sample to the field; the first step is a member.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The type of the field.
    #[must_use]
    pub fn ty(&self) -> &TypeDescription {
        self.ty.get()
    }
}

fn member_step<'t>(ty: &'t TypeRef, name: &str) -> Result<(Step, &'t TypeRef), Reason> {
    let resolved = ty.get().resolved();
    let found = match &resolved.kind {
        TypeKind::Structure(structure) => structure.position(name).and_then(|position| {
            structure.member(position).map(|member| (Step::Member(position), &member.ty))
        }),
        TypeKind::Union(union) if name == DISCRIMINATOR => Some((Step::Discriminator, &union.discriminator)),
        TypeKind::Union(union) => {
            let position = union.cases.iter().position(|case| case.name == name && case.ty.is_some());
            position.and_then(|position| {
                let ty = union.cases.get(position)?.ty.as_ref()?;
                Some((Step::Member(position), ty))
            })
        }
        _ => return Err(Reason::NoMembers { name: name.to_string(), of: ty.get().to_string() }),
    };
    found.ok_or_else(|| Reason::UnknownMember {
        name: name.to_string(),
        of: ty.get().to_string(),
        nearest: nearest(name, member_names(resolved).into_iter()),
    })
}

fn element_step(ty: &TypeRef, index: usize) -> Result<(Step, &TypeRef), Reason> {
    match &ty.get().resolved().kind {
        TypeKind::Array { length, .. } if index >= *length => {
            Err(Reason::IndexTooLarge { index, length: *length })
        }
        TypeKind::Sequence { bound: Some(bound), .. } if index >= *bound => {
            Err(Reason::IndexTooLarge { index, length: *bound })
        }
        TypeKind::Sequence { element, .. } | TypeKind::Array { element, .. } => {
            Ok((Step::Element(index), element))
        }
        _ => Err(Reason::NoElements { of: ty.get().to_string() }),
    }
}

/// The names that can follow a value of this type.
fn member_names(ty: &TypeDescription) -> Vec<&str> {
    match &ty.kind {
        TypeKind::Structure(structure) => (0..structure.member_count())
            .filter_map(|at| structure.member(at))
            .map(|member| &*member.name)
            .collect(),
        TypeKind::Union(union) => {
            let cases = union.cases.iter().filter(|case| case.ty.is_some()).map(|case| &*case.name);
            cases.chain([DISCRIMINATOR]).collect()
        }
        _ => Vec::new(),
    }
}

fn class(ty: &TypeRef) -> Result<Class, Reason> {
    let resolved = ty.resolved();
    let hint = match &resolved.get().kind {
        TypeKind::Primitive(kind) => match kind {
            PrimitiveKind::Boolean => return Ok(Class::Boolean),
            PrimitiveKind::Float32 | PrimitiveKind::Float64 => return Ok(Class::Float),
            PrimitiveKind::Char8 => return Ok(Class::Character { most: 0xff }),
            PrimitiveKind::Char16 => return Ok(Class::Character { most: 0xffff }),
            PrimitiveKind::Float128 => String::from("no value of the language has its precision"),
            _ => return Ok(Class::Integer),
        },
        TypeKind::Bitmask { .. } | TypeKind::Bitset { .. } => return Ok(Class::Integer),
        TypeKind::String { .. } | TypeKind::WideString { .. } => return Ok(Class::Text),
        TypeKind::Enumeration(_) => return Ok(Class::Enumeration(resolved.clone())),
        TypeKind::Sequence { .. } | TypeKind::Array { .. } => {
            String::from("name one of its elements, as in `a[0]`")
        }
        TypeKind::Map { .. } => String::from("maps have no elements that an index could name"),
        _ => name_members(resolved.get()),
    };
    Err(Reason::NotComparable { of: ty.get().to_string(), hint })
}

fn name_members(ty: &TypeDescription) -> String {
    let mut hint = String::from("name one of its members");
    for (n, name) in member_names(ty).into_iter().take(HINT_NAMES).enumerate() {
        let _ = write!(hint, "{}`{name}`", if n == 0 { ": " } else { ", " });
    }
    hint
}

/// Whether a field belongs to the key.
fn is_key(root: &TypeDescription, path: &[Step]) -> bool {
    let keyed = match &root.resolved().kind {
        TypeKind::Structure(structure) => structure.has_key(),
        TypeKind::Union(union) => union.key,
        _ => false,
    };
    let mut ty = root;
    keyed
        && path.iter().all(|step| {
            let (in_key, next) = match (step, &ty.resolved().kind) {
                (Step::Member(at), TypeKind::Structure(structure)) => {
                    (structure.in_scope(*at, Scope::Key), structure.member(*at).map(|member| &member.ty))
                }
                (Step::Member(at), TypeKind::Union(union)) => {
                    (!union.key, union.cases.get(*at).and_then(|case| case.ty.as_ref()))
                }
                (Step::Discriminator, TypeKind::Union(union)) => (true, Some(&union.discriminator)),
                (_, TypeKind::Sequence { element, .. } | TypeKind::Array { element, .. }) => {
                    (true, Some(element))
                }
                _ => (false, None),
            };
            ty = next.map_or(ty, |next| next.get());
            in_key
        })
}

/// The value of the field when the member at step `at` is missing.
fn default_at(root: &TypeDescription, path: &[Step], at: usize) -> Option<Value<'static>> {
    let (before, rest) = path.split_at_checked(at)?;
    let mut ty = root;
    for step in before {
        ty = part(ty, *step)?.get();
    }
    let (step, rest) = rest.split_first()?;
    match (&ty.resolved().kind, step) {
        (TypeKind::Structure(structure), Step::Member(position)) => {
            member_default(structure, *position, rest)
        }
        _ => type_default(part(ty, *step)?, rest),
    }
}

/// The type of a part.
fn part(ty: &TypeDescription, step: Step) -> Option<&TypeRef> {
    match (&ty.resolved().kind, step) {
        (TypeKind::Structure(structure), Step::Member(at)) => structure.member(at).map(|member| &member.ty),
        (TypeKind::Union(union), Step::Member(at)) => union.cases.get(at)?.ty.as_ref(),
        (TypeKind::Union(union), Step::Discriminator) => Some(&union.discriminator),
        (TypeKind::Sequence { element, .. } | TypeKind::Array { element, .. }, Step::Element(_)) => {
            Some(element)
        }
        _ => None,
    }
}

fn member_default(
    structure: &StructureDescription,
    position: usize,
    rest: &[Step],
) -> Option<Value<'static>> {
    let member = structure.member(position).filter(|member| !member.is_optional())?;
    match member.write_default {
        Some(_) => written_default(member, rest),
        None => type_default(&member.ty, rest),
    }
}

/// Reads the default that a member declares.
fn written_default(member: &MemberDescription, rest: &[Step]) -> Option<Value<'static>> {
    let mut octets = Vec::new();
    let (representation, endianness) = (Representation::Xcdr2, Endianness::Little);
    member.write_default.as_ref()?.write(&mut Encoder::new(&mut octets, representation, endianness)).ok()?;
    let mut decoder = Decoder::new(&octets, representation, endianness, &Limits::default());
    match decoder.locate(member.ty.get(), rest, |d, ty| d.read_scalar(ty)) {
        Ok(Located::Found(scalar)) => Some(Value::from(scalar?).into_owned()),
        _ => None,
    }
}

/// The part of the default value of a type.
fn type_default(ty: &TypeRef, rest: &[Step]) -> Option<Value<'static>> {
    let resolved = ty.resolved();
    let Some((step, rest)) = rest.split_first() else { return scalar_default(resolved) };
    match (&resolved.get().kind, step) {
        (TypeKind::Structure(structure), Step::Member(position)) => {
            member_default(structure, *position, rest)
        }
        (TypeKind::Union(union), step) => union_default(union, *step, rest),
        (TypeKind::Array { element, length }, Step::Element(index)) if index < length => {
            type_default(element, rest)
        }
        _ => None,
    }
}

fn union_default(union: &UnionDescription, step: Step, rest: &[Step]) -> Option<Value<'static>> {
    let discriminator = union.default_discriminator();
    match step {
        Step::Discriminator => Some(match scalar_default(union.discriminator.resolved())? {
            Value::Boolean(_) => Value::Boolean(discriminator != 0),
            Value::Character(_) => Value::Character(u32::try_from(discriminator).ok()?),
            _ => Value::Integer(discriminator.into()),
        }),
        Step::Member(at) if union.selected(discriminator) == Some(at) => {
            type_default(union.cases.get(at)?.ty.as_ref()?, rest)
        }
        _ => None,
    }
}

fn scalar_default(ty: &TypeRef) -> Option<Value<'static>> {
    Some(match (class(ty).ok()?, &ty.get().kind) {
        (Class::Boolean, _) => Value::Boolean(false),
        (Class::Integer, _) => Value::Integer(0),
        (Class::Float, _) => Value::Float(0.0),
        (Class::Character { .. }, _) => Value::Character(0),
        (Class::Text, _) => Value::Text(Cow::Borrowed("")),
        (Class::Enumeration(_), TypeKind::Enumeration(enumeration)) => {
            Value::Integer(enumeration.default_value().into())
        }
        (Class::Enumeration(_), _) => return None,
    })
}
