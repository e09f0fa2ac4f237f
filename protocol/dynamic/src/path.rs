//! Paths to the parts of a value: `a.b[3].c`, `m["key"]`, `u._d`.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::MAX_NESTING;
use crate::convert::{ValueError, convert, name_of};
use crate::types::*;
use crate::value::{
    UnionValue, Value, default_discriminator, default_of, from_discriminator, is_octet, to_discriminator,
    union_of,
};

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// It is not written as a path.
    Syntax {
        /// Position of the first byte that does not fit.
        at: usize,
    },
    /// A type has no member of this name.
    NoMember {
        /// The type.
        of: String,
        /// The name.
        name: String,
        /// The members that it has.
        known: Vec<String>,
    },
    /// An index or key where there are no elements, or a member where there are none.
    NotThere {
        /// The type.
        of: String,
        /// The step that it does not have.
        step: String,
    },
    /// An index beyond the end.
    Index {
        /// The index.
        index: usize,
        /// Number of elements.
        len: usize,
    },
    /// The path goes on behind an optional member that is absent or a member that the union does not hold.
    Absent {
        /// The step.
        step: String,
    },
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { at } => write!(f, "not a path from position {at} on (a.b[3].c is one)"),
            Self::NoMember { of, name, known } => {
                write!(f, "{of} has no member '{name}'; it has {}", known.join(", "))
            }
            Self::NotThere { of, step } => write!(f, "{of} has no part {step}"),
            Self::Index { index, len } => write!(f, "index {index} of {len} elements"),
            Self::Absent { step } => write!(f, "{step} is absent"),
        }
    }
}

impl core::error::Error for PathError {}

/// Why a part of a value could not be had or set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessError {
    /// The path.
    pub path: String,
    /// Why.
    pub why: AccessFailure,
}

/// See [`AccessError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessFailure {
    /// The path leads nowhere.
    Path(PathError),
    /// The value does not fit.
    Value(ValueError),
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            AccessFailure::Path(why) => write!(f, "{}: {why}", self.path),
            AccessFailure::Value(why) => write!(f, "{}: {why}", self.path),
        }
    }
}

impl core::error::Error for AccessError {}

impl From<PathError> for AccessFailure {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

impl From<ValueError> for AccessFailure {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Index(i128),
    Key(String),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => write!(f, ".{name}"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(key) => write!(f, "[{key:?}]"),
        }
    }
}

/// A step as it is written: nothing is copied but keys with escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepRef<'p> {
    Member(&'p str),
    Index(i128),
    Key(Cow<'p, str>),
}

impl StepRef<'_> {
    pub(crate) fn to_step(&self) -> Step {
        match self {
            Self::Member(name) => Step::Member((*name).to_string()),
            Self::Index(index) => Step::Index(*index),
            Self::Key(key) => Step::Key(key.to_string()),
        }
    }
}

/// The steps of a path, up to the first that is not written as one.
#[derive(Clone, Debug)]
pub(crate) struct Steps<'p> {
    path: &'p str,
    rest: &'p str,
}

impl<'p> Steps<'p> {
    pub(crate) const fn new(path: &'p str) -> Self {
        Self { path, rest: path }
    }
}

impl<'p> Iterator for Steps<'p> {
    type Item = Result<StepRef<'p>, PathError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let at = self.path.len().saturating_sub(self.rest.len());
        let step = step_of(self.rest, at == 0);
        // Nothing follows a mistake.
        self.rest = step.as_ref().map_or("", |(_, after)| after);
        Some(step.map(|(step, _)| step).ok_or(PathError::Syntax { at }))
    }
}

/// The first step and what follows it.
fn step_of(rest: &str, first: bool) -> Option<(StepRef<'_>, &str)> {
    if let Some(inner) = rest.strip_prefix('[') {
        return bracket(inner);
    }
    let name = match (rest.strip_prefix('.'), first) {
        (Some(name), false) => name,
        (None, true) => rest,
        _ => return None,
    };
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (name, after) = name.split_at_checked(end)?;
    let fits = !name.is_empty() && !name.contains(']');
    fits.then_some((StepRef::Member(name), after))
}

/// Takes a path apart.
pub(crate) fn parse(path: &str) -> Result<Vec<Step>, PathError> {
    Steps::new(path).map(|step| step.map(|step| step.to_step())).collect()
}

fn bracket(inner: &str) -> Option<(StepRef<'_>, &str)> {
    if let Some(text) = inner.strip_prefix('"') {
        let plain = text.find(['\\', '"']).and_then(|end| text.split_at_checked(end));
        if let Some((key, after)) = plain.and_then(|(key, after)| Some((key, after.strip_prefix("\"]")?))) {
            return Some((StepRef::Key(Cow::Borrowed(key)), after));
        }
        let mut key = String::new();
        let mut characters = text.char_indices();
        loop {
            match characters.next()? {
                (_, '\\') => key.push(characters.next()?.1),
                (at, '"') => {
                    let after = text.get(at.saturating_add(1)..)?;
                    return Some((StepRef::Key(Cow::Owned(key)), after.strip_prefix(']')?));
                }
                (_, other) => key.push(other),
            }
        }
    }
    let (number, after) = inner.split_once(']')?;
    Some((StepRef::Index(number.trim().parse().ok()?), after))
}

fn index_of(step: &Step, len: usize) -> Option<Result<usize, PathError>> {
    let Step::Index(index) = step else { return None };
    let index = usize::try_from(*index).unwrap_or(usize::MAX);
    Some(if index < len { Ok(index) } else { Err(PathError::Index { index, len }) })
}

/// The key that a step means.
pub(crate) fn key_of(view: TypeView<'_>, step: &Step) -> Option<Value> {
    let key = match step {
        Step::Index(number) => match i64::try_from(*number) {
            Ok(number) => Value::Int64(number),
            Err(_) => Value::UInt64(u64::try_from(*number).ok()?),
        },
        Step::Key(text) => Value::String(text.clone()),
        Step::Member(_) => return None,
    };
    convert(view, key, MAX_NESTING).ok()
}

pub(crate) fn not_there(view: TypeView<'_>, step: &Step) -> PathError {
    match (view.shape(), step) {
        (Shape::Structure(it), Step::Member(name)) => PathError::NoMember {
            of: name_of(view),
            name: name.clone(),
            known: it.members.iter().map(|member| member.name.clone()).collect(),
        },
        (Shape::Union(it), Step::Member(name)) => PathError::NoMember {
            of: name_of(view),
            name: name.clone(),
            known: it.cases.iter().map(|case| case.name.clone()).collect(),
        },
        _ => PathError::NotThere { of: name_of(view), step: step.to_string() },
    }
}

/// What a path leads to. Bytes of a sequence and discriminators are no values of their own, so they are made.
pub(crate) enum Found<'v> {
    Value(&'v Value),
    Made(Value),
    Absent,
}

/// Follows a path.
pub(crate) fn find<'t, 'v>(
    view: TypeView<'t>,
    value: &'v Value,
    steps: &[Step],
) -> Result<(TypeView<'t>, Found<'v>), PathError> {
    let (mut view, mut value) = (view, value);
    for (at, step) in steps.iter().enumerate() {
        let last = at.saturating_add(1) == steps.len();
        let absent = || {
            if last { Ok((view, Found::Absent)) } else { Err(PathError::Absent { step: step.to_string() }) }
        };
        let next = match (view.shape(), value, step) {
            (Shape::Structure(it), Value::Structure(members), Step::Member(name)) => {
                let position = it.position(name).ok_or_else(|| not_there(view, step))?;
                let part = it.members.get(position).map(|member| member.part);
                part.zip(members.get(position).and_then(Option::as_ref))
            }
            (Shape::Union(it), Value::Union(union), Step::Member(name)) => {
                if name == DISCRIMINATOR && last {
                    let made = from_discriminator(view.at(it.discriminator), union.discriminator);
                    return Ok((view.at(it.discriminator), made.map_or(Found::Absent, Found::Made)));
                }
                let case = it.cases.iter().find(|case| case.name == *name);
                let case = case.ok_or_else(|| not_there(view, step))?;
                let held = it.selected(union.discriminator).is_some_and(|held| core::ptr::eq(held, case));
                Some(case.part).zip(union.member.as_ref().filter(|_| held))
            }
            (Shape::Sequence { element, .. } | Shape::Array { element, .. }, Value::Octets(octets), _)
                if last =>
            {
                let index = index_of(step, octets.len()).ok_or_else(|| not_there(view, step))??;
                let octet = octets.get(index).map(|octet| Found::Made(Value::Octet(*octet)));
                return Ok((view.at(*element), octet.unwrap_or(Found::Absent)));
            }
            (Shape::Sequence { element, .. } | Shape::Array { element, .. }, Value::List(items), _) => {
                let index = index_of(step, items.len()).ok_or_else(|| not_there(view, step))??;
                Some(*element).zip(items.get(index))
            }
            (Shape::Map { key, value: to, .. }, Value::Map(pairs), _) => {
                let wanted = key_of(view.at(*key), step).ok_or_else(|| not_there(view, step))?;
                Some(*to).zip(pairs.iter().rev().find(|(key, _)| *key == wanted).map(|(_, value)| value))
            }
            _ => return Err(not_there(view, step)),
        };
        match next {
            Some((part, inner)) => (view, value) = (view.at(part), inner),
            None => return absent(),
        }
    }
    Ok((view, Found::Value(value)))
}

/// Sets what a path leads to; what is absent on the way gets its default first.
pub(crate) fn set(
    view: TypeView<'_>,
    value: &mut Value,
    steps: &[Step],
    new: Value,
    nesting: u16,
) -> Result<(), AccessFailure> {
    let nesting = nesting.checked_sub(1).ok_or(ValueError::Nesting)?;
    let Some((step, rest)) = steps.split_first() else {
        *value = convert(view, new, nesting)?;
        return Ok(());
    };
    match (view.shape(), value, step) {
        (Shape::Structure(it), Value::Structure(members), Step::Member(name)) => {
            let position = it.position(name).ok_or_else(|| not_there(view, step))?;
            let (Some(member), Some(slot)) = (it.members.get(position), members.get_mut(position)) else {
                return Err(not_there(view, step).into());
            };
            let inner = view.at(member.part);
            replace(inner, slot, rest, new, nesting)
        }
        (Shape::Union(it), Value::Union(union), Step::Member(name)) => {
            set_union((view, it), union, (name, rest), new, nesting)
        }
        (Shape::Sequence { element, .. } | Shape::Array { element, .. }, Value::Octets(octets), _) => {
            let index = index_of(step, octets.len()).ok_or_else(|| not_there(view, step))??;
            let element = view.at(*element);
            if let Some(first) = rest.first() {
                return Err(not_there(element, first).into());
            }
            if let (Value::Octet(octet), Some(slot)) =
                (convert(element, new, nesting)?, octets.get_mut(index))
            {
                *slot = octet;
            }
            Ok(())
        }
        (Shape::Sequence { element, .. } | Shape::Array { element, .. }, Value::List(items), _) => {
            let index = index_of(step, items.len()).ok_or_else(|| not_there(view, step))??;
            match items.get_mut(index) {
                Some(item) => set(view.at(*element), item, rest, new, nesting),
                None => Err(not_there(view, step).into()),
            }
        }
        (Shape::Map { key, value: to, bound }, Value::Map(pairs), _) => {
            let wanted = key_of(view.at(*key), step).ok_or_else(|| not_there(view, step))?;
            if let Some((_, value)) = pairs.iter_mut().rev().find(|(key, _)| *key == wanted) {
                return set(view.at(*to), value, rest, new, nesting);
            }
            if let Some(bound) = bound.filter(|bound| pairs.len() >= *bound) {
                return Err(ValueError::Length { bound, len: pairs.len().saturating_add(1) }.into());
            }
            let mut value = default_of(view.at(*to));
            set(view.at(*to), &mut value, rest, new, nesting)?;
            pairs.push((wanted, value));
            Ok(())
        }
        _ => Err(not_there(view, step).into()),
    }
}

/// Sets the discriminator or a member of a union, which selects that.
fn set_union(
    (view, it): (TypeView<'_>, &UnionShape),
    union: &mut UnionValue,
    (name, rest): (&str, &[Step]),
    new: Value,
    nesting: u16,
) -> Result<(), AccessFailure> {
    if name == DISCRIMINATOR && rest.is_empty() {
        let converted = convert(view.at(it.discriminator), new, nesting)?;
        select(view, it, union, to_discriminator(&converted).unwrap_or_default());
        return Ok(());
    }
    let case = it.cases.iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| not_there(view, &Step::Member(name.to_string())))?;
    let held = it.selected(union.discriminator).is_some_and(|held| core::ptr::eq(held, case));
    if held {
        return replace(view.at(case.part), &mut union.member, rest, new, nesting);
    }
    let mut member = case.default_value(view);
    set(view.at(case.part), &mut member, rest, new, nesting)?;
    let unreachable = || ValueError::Discriminator { union: name_of(view) };
    *union = UnionValue { discriminator: it.label_of(case).ok_or_else(unreachable)?, member: Some(member) };
    Ok(())
}

/// Gives a union another discriminator, and the default of what that selects unless it held that before.
fn select(view: TypeView<'_>, it: &UnionShape, union: &mut UnionValue, discriminator: i64) {
    let id_of = |discriminator| it.selected(discriminator).map(|case| case.id);
    if id_of(discriminator) == id_of(union.discriminator) {
        union.discriminator = discriminator;
    } else {
        *union = union_of(view, it, discriminator);
    }
}

/// Sets what may be absent.
fn replace(
    view: TypeView<'_>,
    slot: &mut Option<Value>,
    rest: &[Step],
    new: Value,
    nesting: u16,
) -> Result<(), AccessFailure> {
    match slot {
        Some(value) => set(view, value, rest, new, nesting),
        None => {
            let mut value = default_of(view);
            set(view, &mut value, rest, new, nesting)?;
            *slot = Some(value);
            Ok(())
        }
    }
}

/// Makes what a path leads to absent, or its default where it cannot be.
pub(crate) fn clear(view: TypeView<'_>, value: &mut Value, steps: &[Step]) -> Result<(), AccessFailure> {
    let Some((step, rest)) = steps.split_first() else {
        *value = default_of(view);
        return Ok(());
    };
    match (view.shape(), value, step) {
        (Shape::Structure(it), Value::Structure(members), Step::Member(name)) => {
            let position = it.position(name).ok_or_else(|| not_there(view, step))?;
            let (Some(member), Some(slot)) = (it.members.get(position), members.get_mut(position)) else {
                return Err(not_there(view, step).into());
            };
            match slot {
                None => Ok(()),
                Some(_) if rest.is_empty() && member.is_optional() => {
                    *slot = None;
                    Ok(())
                }
                Some(value) if rest.is_empty() => {
                    *value = member.default_value(view);
                    Ok(())
                }
                Some(value) => clear(view.at(member.part), value, rest),
            }
        }
        (Shape::Union(it), Value::Union(union), Step::Member(name)) if name == "_d" && rest.is_empty() => {
            select(view, it, union, default_discriminator(view.at(it.discriminator)));
            Ok(())
        }
        (Shape::Union(it), Value::Union(union), Step::Member(name)) => {
            let case = it.selected(union.discriminator).filter(|case| case.name == *name);
            let (Some(case), Some(member)) = (case, &mut union.member) else {
                return Err(not_there(view, step).into());
            };
            if rest.is_empty() {
                *member = case.default_value(view);
                return Ok(());
            }
            clear(view.at(case.part), member, rest)
        }
        (Shape::Sequence { element, .. } | Shape::Array { element, .. }, Value::Octets(octets), _) => {
            let index = index_of(step, octets.len()).ok_or_else(|| not_there(view, step))??;
            if let Some(first) = rest.first() {
                return Err(not_there(view.at(*element), first).into());
            }
            octets.get_mut(index).map_or(Ok(()), |octet| {
                *octet = 0;
                Ok(())
            })
        }
        (Shape::Sequence { element, .. } | Shape::Array { element, .. }, Value::List(items), _) => {
            let index = index_of(step, items.len()).ok_or_else(|| not_there(view, step))??;
            items.get_mut(index).map_or(Ok(()), |item| clear(view.at(*element), item, rest))
        }
        (Shape::Map { key, value: to, .. }, Value::Map(pairs), _) => {
            let wanted = key_of(view.at(*key), step).ok_or_else(|| not_there(view, step))?;
            if rest.is_empty() {
                pairs.retain(|(key, _)| *key != wanted);
                return Ok(());
            }
            let found = pairs.iter_mut().rev().find(|(key, _)| *key == wanted);
            found.map_or(Ok(()), |(_, value)| clear(view.at(*to), value, rest))
        }
        _ => Err(not_there(view, step).into()),
    }
}

/// Gives the sequence at a path another length: new elements have their defaults.
pub(crate) fn resize(view: TypeView<'_>, value: &mut Value, len: usize) -> Result<(), AccessFailure> {
    let Shape::Sequence { element, bound } = view.shape() else {
        return Err(ValueError::Kind { wanted: name_of(view) }.into());
    };
    if let Some(bound) = bound.filter(|bound| len > *bound) {
        return Err(ValueError::Length { bound, len }.into());
    }
    match value {
        Value::Octets(octets) if is_octet(view.at(*element)) => octets.resize(len, 0),
        Value::List(items) => items.resize_with(len, || default_of(view.at(*element))),
        _ => {}
    }
    Ok(())
}

/// A union holds what it holds behind a box.
pub(crate) fn find_mut<'v, 't>(
    view: TypeView<'t>,
    value: &'v mut Value,
    steps: &[Step],
) -> Result<(TypeView<'t>, &'v mut Value), PathError> {
    let (mut view, mut value) = (view, value);
    for step in steps {
        let absent = || PathError::Absent { step: step.to_string() };
        let (part, inner): (Part, &'v mut Value) = match (view.shape(), value, step) {
            (Shape::Structure(it), Value::Structure(members), Step::Member(name)) => {
                let position = it.position(name).ok_or_else(|| not_there(view, step))?;
                let part = it.members.get(position).map(|member| member.part);
                part.zip(members.get_mut(position).and_then(Option::as_mut)).ok_or_else(absent)?
            }
            (Shape::Union(it), Value::Union(union), Step::Member(name)) => {
                let case = it.selected(union.discriminator).filter(|case| case.name == *name);
                let union: &'v mut Box<_> = union;
                case.map(|case| case.part).zip(union.member.as_mut()).ok_or_else(absent)?
            }
            (Shape::Sequence { element, .. } | Shape::Array { element, .. }, Value::List(items), _) => {
                let index = index_of(step, items.len()).ok_or_else(|| not_there(view, step))??;
                Some(*element).zip(items.get_mut(index)).ok_or_else(absent)?
            }
            _ => return Err(not_there(view, step)),
        };
        (view, value) = (view.at(part), inner);
    }
    Ok((view, value))
}
