//! Members of structures and unions.

use alloc::vec::Vec;

use dunlin_cdr::codegen::find_member;
use dunlin_cdr::{CdrError, Decoder, Extensibility, Scope};

use super::converted::Converted;
use super::walk::{self, keys_inside, may_be_missing, selector};
use super::{DynamicView, Octets, Source, ViewError, ViewFailure, part_of};
use crate::offsets;
use crate::read::{in_scope, is_listed};
use crate::types::*;
use crate::value::{Value, default_discriminator};

/// The member that a union holds.
type Held<'a> = Option<(&'a CaseShape, DynamicView<'a>)>;

impl<'a> DynamicView<'a> {
    /// The member of a structure or union with a name, as [`DynamicView::get`]; `None` if it is absent.
    ///
    /// # Errors
    /// As [`DynamicView::get`].
    pub fn member(&self, name: &str) -> Result<Option<Self>, ViewError> {
        let step = crate::path::StepRef::Member(name);
        self.step(&step).map_err(|why| ViewError::at(name, why))
    }

    /// The member of a structure or union with an id, as [`DynamicView::member`].
    ///
    /// # Errors
    /// As [`DynamicView::get`].
    pub fn member_by_id(&self, id: u32) -> Result<Option<Self>, ViewError> {
        let name = match self.ty.shape() {
            Shape::Structure(it) => {
                it.position_of_id(id).and_then(|at| it.members.get(at)).map(|it| &*it.name)
            }
            Shape::Union(it) => it.cases.iter().find(|case| case.id == id).map(|case| &*case.name),
            _ => None,
        };
        match name {
            Some(name) => self.member(name),
            None => Err(ViewError::at("", self.kind_error("a structure or union with a member of that id"))),
        }
    }

    /// The members of a structure in the order of the type. Of a mutable one this makes a list of the members that are there.
    ///
    /// # Errors
    /// Another kind; bytes that are no serialization of the type.
    pub fn members(&self) -> Result<Members<'a>, ViewError> {
        self.all_members().map_err(|why| ViewError::at("", why))
    }

    /// The discriminator of a union, whatever its type, as a number.
    ///
    /// # Errors
    /// As [`DynamicView::members`].
    pub fn discriminator(&self) -> Result<i64, ViewError> {
        let Shape::Union(it) = self.ty.shape() else {
            return Err(ViewError::at("", self.kind_error("a union")));
        };
        self.discriminator_of(it).map(|(number, _)| number).map_err(|why| ViewError::at(DISCRIMINATOR, why))
    }

    /// The case that the discriminator of a union selects, with its member; `None` if it selects none.
    ///
    /// # Errors
    /// As [`DynamicView::members`].
    pub fn selected(&self) -> Result<Held<'a>, ViewError> {
        let Shape::Union(it) = self.ty.shape() else {
            return Err(ViewError::at("", self.kind_error("a union")));
        };
        self.union(it).map(|(_, held)| held).map_err(|why| ViewError::at("", why))
    }

    pub(super) fn member_at(
        &self,
        it: &'a StructureShape,
        position: usize,
    ) -> Result<Option<Self>, ViewFailure> {
        let Some(member) = it.members.get(position) else { return Ok(None) };
        match &self.source {
            Source::Octets(octets) => {
                let inside = octets.enter(it.extensibility)?;
                if it.extensibility == Extensibility::Mutable {
                    listed(self.ty, it, member, inside)
                } else {
                    following(self.ty, it, (position, member), inside)
                }
            }
            Source::Made(Value::Structure(members)) => {
                Ok(members.get(position).and_then(Option::as_ref).map(|value| made(self.ty, member, value)))
            }
            Source::Converted(value) => Ok(converted(self.ty, member, value, position)),
            _ => Ok(default_of(self.ty, member)),
        }
    }

    fn all_members(&self) -> Result<Members<'a>, ViewFailure> {
        let Shape::Structure(it) = self.ty.shape() else { return Err(self.kind_error("a structure")) };
        let from = match &self.source {
            Source::Octets(octets) => {
                let inside = octets.enter(it.extensibility)?;
                if it.extensibility == Extensibility::Mutable {
                    Some(From::List(index(it, inside.d.clone())?, inside))
                } else {
                    Some(From::Octets(inside))
                }
            }
            Source::Made(Value::Structure(members)) => Some(From::Values(members)),
            Source::Converted(value) => Some(From::Converted(value.clone())),
            _ => None,
        };
        Ok(Members { ty: self.ty, it, position: 0, from })
    }

    /// The discriminator of a union, and whether it stands in the bytes. The member is not looked at.
    pub(super) fn discriminator_of(&self, it: &UnionShape) -> Result<(i64, bool), ViewFailure> {
        let made = match &self.source {
            Source::Octets(octets) => {
                let mut inside = octets.enter(it.extensibility)?;
                let how = (false, inside.nesting);
                if let Some(number) = selector(self.ty, it, how, &mut inside.d)? {
                    return Ok((number, true));
                }
                None
            }
            Source::Made(value) => Some(*value),
            Source::Converted(value) => Some(&**value),
            _ => None,
        };
        Ok(match made {
            Some(Value::Union(union)) => (union.discriminator, false),
            _ => (default_discriminator(self.ty.at(it.discriminator)), false),
        })
    }

    /// Discriminator and member of a union.
    pub(super) fn union(&self, it: &'a UnionShape) -> Result<(i64, Held<'a>), ViewFailure> {
        let default = || {
            let discriminator = default_discriminator(self.ty.at(it.discriminator));
            (discriminator, default_case(self.ty, it, discriminator))
        };
        let octets = match &self.source {
            Source::Octets(octets) => octets,
            Source::Made(Value::Union(union)) => {
                let case = it.selected(union.discriminator);
                let held = case.zip(union.member.as_ref()).map(|(case, value)| {
                    (case, Self { ty: self.ty.at(case.part), source: Source::Made(value) })
                });
                return Ok((union.discriminator, held));
            }
            Source::Converted(value) => {
                let Value::Union(union) = &**value else { return Ok(default()) };
                let held = it
                    .selected(union.discriminator)
                    .and_then(|case| Some((case, Self::converted(self.ty.at(case.part), value, 0)?)));
                return Ok((union.discriminator, held));
            }
            _ => return Ok(default()),
        };
        let mut inside = octets.enter(it.extensibility)?;
        let Some(discriminator) = selector(self.ty, it, (false, inside.nesting), &mut inside.d)? else {
            return Ok(default());
        };
        let Some(case) = it.selected(discriminator) else { return Ok((discriminator, None)) };
        if it.has_key && inside.d.scope() != Scope::Sample {
            return Ok((discriminator, default_case(self.ty, it, discriminator)));
        }
        // What a union holds is told from others by the discriminator alone.
        inside.keys = false;
        if is_listed(it, &inside.d) {
            match find_member(&mut inside.d, case.id, true, |d| Ok(d.clone()))? {
                Some(d) => inside.d = d,
                None => return Ok((discriminator, default_case(self.ty, it, discriminator))),
            }
        }
        let member = part_of(self.ty, case.part, case.default.as_ref(), inside)?;
        Ok((discriminator, Some((case, member))))
    }
}

/// The case that a discriminator selects, with the default of its member.
fn default_case<'a>(ty: TypeView<'a>, it: &'a UnionShape, discriminator: i64) -> Held<'a> {
    let case = it.selected(discriminator)?;
    Some((case, DynamicView::default_of_part(ty.at(case.part), case.default.as_ref())))
}

fn made<'a>(of: TypeView<'a>, member: &MemberShape, value: &'a Value) -> DynamicView<'a> {
    DynamicView { ty: of.at(member.part), source: Source::Made(value) }
}

fn converted<'a>(
    of: TypeView<'a>,
    member: &MemberShape,
    value: &Converted,
    position: usize,
) -> Option<DynamicView<'a>> {
    DynamicView::converted(of.at(member.part), value, position)
}

/// The default of a member: nothing, if it may be absent.
fn default_of<'a>(of: TypeView<'a>, member: &'a MemberShape) -> Option<DynamicView<'a>> {
    let view = || DynamicView::default_of_part(of.at(member.part), member.default.as_ref());
    (!member.is_optional()).then(view)
}

/// What a member is if the sender did not have it.
fn missing<'a>(
    of: TypeView<'a>,
    member: &'a MemberShape,
    octets: &Octets<'a>,
) -> Result<Option<DynamicView<'a>>, ViewFailure> {
    may_be_missing(member, octets.keys, &octets.d)?;
    Ok(default_of(of, member))
}

/// A member that starts here.
fn present<'a>(
    of: TypeView<'a>,
    it: &StructureShape,
    member: &'a MemberShape,
    mut octets: Octets<'a>,
) -> Result<Option<DynamicView<'a>>, ViewFailure> {
    octets.keys = keys_inside(octets.keys, it, member);
    part_of(of, member.part, member.default.as_ref(), octets).map(Some)
}

/// Finds a member in a list of members with headers. What follows it is not looked at.
fn listed<'a>(
    of: TypeView<'a>,
    it: &StructureShape,
    wanted: &'a MemberShape,
    mut octets: Octets<'a>,
) -> Result<Option<DynamicView<'a>>, ViewFailure> {
    while let Some(header) = octets.d.next_member()? {
        if header.id == wanted.id {
            return present(of, it, wanted, octets);
        }
        if it.position_of_id(header.id).is_none() {
            octets.d.unknown_member(&header, false)?;
        }
        octets.d.end_member(header);
    }
    missing(of, wanted, &octets)
}

/// Finds a member of a structure whose members follow one another.
fn following<'a>(
    of: TypeView<'a>,
    it: &StructureShape,
    (position, member): (usize, &'a MemberShape),
    mut octets: Octets<'a>,
) -> Result<Option<DynamicView<'a>>, ViewFailure> {
    if !in_scope(it, member, octets.d.scope()) {
        return Ok(default_of(of, member));
    }
    let nesting = octets.nesting;
    if !offsets::seek(it, position, &mut octets.d) {
        walk::skip_first(of, it, position, &mut octets.d, nesting)?;
    }
    if it.extensibility != Extensibility::Final && octets.d.ends_early() {
        return missing(of, member, &octets);
    }
    if member.is_optional() {
        return match octets.d.read_optional(|d| Ok(d.clone()))? {
            Some(d) => present(of, it, member, Octets { d, ..octets }),
            None => Ok(None),
        };
    }
    present(of, it, member, octets)
}

/// Positions of members in the type, ascending, with decoders of their values.
type Index<'a> = Vec<(usize, Decoder<'a>)>;

/// The members that are in a list.
fn index<'a>(it: &StructureShape, mut d: Decoder<'a>) -> Result<Index<'a>, CdrError> {
    let mut index = Index::new();
    while let Some(header) = d.next_member()? {
        match it.position_of_id(header.id) {
            // More than there are members hold one of them twice.
            Some(_) if index.len() >= it.members.len() => {
                return Err(CdrError::DuplicateMember { id: header.id });
            }
            Some(position) => index.push((position, d.clone())),
            None => d.unknown_member(&header, false)?,
        }
        d.end_member(header);
    }
    index.sort_by_key(|(position, _)| *position);
    let twice = index.windows(2).find(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
    match twice.and_then(|pair| it.members.get(pair.first()?.0)) {
        Some(member) => Err(CdrError::DuplicateMember { id: member.id }),
        None => Ok(index),
    }
}

/// The members of a structure with what they are; `None` is a member that is absent. Ends after an error.
#[derive(Clone)]
pub struct Members<'a> {
    ty: TypeView<'a>,
    it: &'a StructureShape,
    position: usize,
    /// `None` for the default of the type.
    from: Option<From<'a>>,
}

#[derive(Clone)]
enum From<'a> {
    Octets(Octets<'a>),
    List(Index<'a>, Octets<'a>),
    Values(&'a [Option<Value>]),
    Converted(Converted),
}

impl<'a> Members<'a> {
    fn view(
        &mut self,
        position: usize,
        member: &'a MemberShape,
    ) -> Result<Option<DynamicView<'a>>, ViewFailure> {
        match &mut self.from {
            None => Ok(default_of(self.ty, member)),
            Some(From::Values(values)) => {
                let value = values.get(position).and_then(Option::as_ref);
                Ok(value.map(|value| made(self.ty, member, value)))
            }
            Some(From::Converted(value)) => Ok(converted(self.ty, member, value, position)),
            Some(From::List(index, octets)) => {
                let found = index.binary_search_by_key(&position, |(position, _)| *position).ok();
                match found.and_then(|at| index.get(at)) {
                    Some((_, d)) => {
                        present(self.ty, self.it, member, Octets { d: d.clone(), ..octets.clone() })
                    }
                    None => missing(self.ty, member, octets),
                }
            }
            Some(From::Octets(octets)) => next_member(self.ty, self.it, member, octets),
        }
    }
}

/// The member that starts here; goes on after it.
fn next_member<'a>(
    of: TypeView<'a>,
    it: &StructureShape,
    member: &'a MemberShape,
    octets: &mut Octets<'a>,
) -> Result<Option<DynamicView<'a>>, ViewFailure> {
    if !in_scope(it, member, octets.d.scope()) {
        return Ok(default_of(of, member));
    }
    if it.extensibility != Extensibility::Final && octets.d.ends_early() {
        return missing(of, member, octets);
    }
    let (inner, nesting) = (of.at(member.part), octets.nesting);
    let go_on = |d: &mut Decoder<'a>| {
        let start = d.clone();
        walk::skip(inner, d, nesting)?;
        Ok(start)
    };
    let start =
        if member.is_optional() { octets.d.read_optional(go_on)? } else { Some(go_on(&mut octets.d)?) };
    match start {
        Some(d) => present(of, it, member, Octets { d, ..octets.clone() }),
        None => Ok(None),
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<(&'a MemberShape, Option<DynamicView<'a>>), ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (position, member) = (self.position, self.it.members.get(self.position)?);
        self.position = position.saturating_add(1);
        let view = self.view(position, member);
        if view.is_err() {
            self.position = self.it.members.len();
        }
        Some(view.map(|view| (member, view)).map_err(|why| ViewError::at(&member.name, why)))
    }
}
