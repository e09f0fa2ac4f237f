//! Annotations in complete type objects (DDS-XTypes 1.3 Annex B `AppliedAnnotation`, `CompleteAnnotationType`).

use alloc::vec::Vec;

use super::{BuildError, Builder, IdentifiedObject, identifiers, size};
use crate::applied::{AnnotationIndex, AnnotationParameter, Applied, Part, verbatim_fits};
use crate::identifier::{ExtendedDefinition, kind};
use crate::model::{Definition, Kind, Type, TypeIndex};
use crate::object::annotation::{
    AnnotationParameterValue, AppliedAnnotation, AppliedAnnotationParameter, AppliedBuiltinTypeAnnotations,
};
use crate::object::common::CommonAnnotationParameter;
use crate::object::complete::*;
use crate::object::{TypeObject, to_octets};
use crate::{Equivalence, TypeGraph, TypeIdentifier};

/// How deep enumerations with annotations whose parameters are enumerations with annotations may go.
const MAX_DEPTH: usize = 16;

impl Builder<'_> {
    /// Finds the identifiers of all annotations of a definition.
    pub(super) fn prepare(&mut self, index: TypeIndex, depth: usize) -> Result<(), BuildError> {
        if depth > MAX_DEPTH {
            return Ok(());
        }
        for applied in self.graph.annotations(index).iter().flat_map(|it| &it.applied) {
            self.annotation(applied.annotation, depth)?;
        }
        Ok(())
    }

    fn annotation(&mut self, at: AnnotationIndex, depth: usize) -> Result<(), BuildError> {
        let Some(declared) = self.graph.annotation(at) else { return Ok(()) };
        match self.annotation_ids.get_mut(at.0) {
            Some((seen @ false, _)) => *seen = true,
            _ => return Ok(()),
        }
        let mut member_seq = Vec::with_capacity(declared.parameters.len());
        for parameter in &declared.parameters {
            member_seq.extend(self.parameter(parameter, depth)?);
        }
        member_seq.sort_by(|a, b| a.name.cmp(&b.name));
        let header = CompleteAnnotationHeader { annotation_name: declared.name.clone() };
        let object = CompleteAnnotationType { annotation_flag: 0, header, member_seq };
        let id = self.tell(TypeObject::Complete(CompleteTypeObject::Annotation(object)))?;
        if let Some((_, slot)) = self.annotation_ids.get_mut(at.0) {
            *slot = Some(id);
        }
        Ok(())
    }

    /// Adds an object that only annotations need.
    fn tell(&mut self, object: TypeObject) -> Result<TypeIdentifier, BuildError> {
        let octets = to_octets(&object)?;
        let id = object.identifier_of(&octets);
        self.annotations.push(IdentifiedObject { id: id.clone(), object, size: size(&octets) });
        Ok(id)
    }

    /// `None` if the type is none that a parameter may have.
    fn parameter(
        &mut self,
        it: &AnnotationParameter,
        depth: usize,
    ) -> Result<Option<CompleteAnnotationParameter>, BuildError> {
        let member_type_id = match &it.ty {
            Type::Primitive(kind::NONE) => TypeIdentifier::NONE,
            Type::Named(index) => match self.enumeration(*index, depth)? {
                Some(id) => id,
                None => return Ok(None),
            },
            ty @ (Type::Primitive(_) | Type::String { .. }) => {
                identifiers::of(ty, &[]).ok_or(BuildError::Dangling)?
            }
            _ => return Ok(None),
        };
        // The standard has no way to say that there is no default: it is a value of no kind.
        let none =
            || AnnotationParameterValue::Extended { kind: kind::NONE, definition: ExtendedDefinition {} };
        let default_value = it.default.clone().filter(AnnotationParameterValue::fits).unwrap_or_else(none);
        let common = CommonAnnotationParameter { member_flags: 0, member_type_id };
        Ok(Some(CompleteAnnotationParameter { common, name: it.name.clone(), default_value }))
    }

    /// The identifier of an enumeration that a parameter has as its type.
    fn enumeration(&mut self, index: TypeIndex, depth: usize) -> Result<Option<TypeIdentifier>, BuildError> {
        if !matches!(self.graph.get(index), Some(Definition { kind: Kind::Enumeration(_), .. })) {
            return Ok(None);
        }
        if let Some(id) = self.complete.get(index.0).cloned().flatten() {
            return Ok(Some(id));
        }
        self.prepare(index, depth.saturating_add(1))?;
        let object = self.object(index, Equivalence::Complete)?;
        let id = self.tell(object)?;
        self.remember(Equivalence::Complete, index, id.clone());
        Ok(Some(id))
    }
}

/// Puts what the source says of a definition into its complete object.
pub(super) fn apply(
    graph: &TypeGraph,
    index: TypeIndex,
    ids: &[(bool, Option<TypeIdentifier>)],
    object: &mut CompleteTypeObject,
) {
    let (Some(said), Some(definition)) = (graph.annotations(index), graph.get(index)) else { return };
    let parts = said.by_part();
    let custom = |part: Part| custom(parts.get(&part).map_or(&[][..], Vec::as_slice), ids);
    let members = |details: &mut dyn Iterator<Item = &mut CompleteMemberDetail>, order: &[usize]| {
        for (detail, at) in details.zip(order) {
            detail.ann_custom = custom(Part::Member(*at));
        }
    };
    let order = order(&definition.kind);
    let detail = match object {
        CompleteTypeObject::Structure(it) => {
            members(&mut it.member_seq.iter_mut().map(|it| &mut it.detail), &order);
            &mut it.header.detail
        }
        CompleteTypeObject::Union(it) => {
            members(&mut it.member_seq.iter_mut().map(|it| &mut it.detail), &order);
            it.discriminator.ann_custom = custom(Part::Discriminator);
            &mut it.header.detail
        }
        CompleteTypeObject::Enumeration(it) => {
            members(&mut it.literal_seq.iter_mut().map(|it| &mut it.detail), &order);
            &mut it.header.detail
        }
        CompleteTypeObject::Bitmask(it) => {
            members(&mut it.flag_seq.iter_mut().map(|it| &mut it.detail), &order);
            &mut it.header.detail
        }
        CompleteTypeObject::Bitset(it) => {
            members(&mut it.field_seq.iter_mut().map(|it| &mut it.detail), &order);
            &mut it.header.detail
        }
        CompleteTypeObject::Alias(it) => &mut it.header.detail,
        _ => return,
    };
    let verbatim = said.verbatim.clone().filter(verbatim_fits);
    detail.ann_builtin = verbatim.map(|verbatim| AppliedBuiltinTypeAnnotations { verbatim: Some(verbatim) });
    detail.ann_custom = custom(Part::Type);
}

/// In which order the parts of a definition are in its object.
fn order(kind: &Kind) -> Vec<usize> {
    let (count, place): (usize, &dyn Fn(usize) -> i64) = match kind {
        Kind::Structure(it) => (it.members.len(), &|_| 0),
        Kind::Union(it) => (it.cases.len(), &|_| 0),
        Kind::Enumeration(it) => {
            (it.literals.len(), &|at| it.literals.get(at).map_or(0, |literal| literal.value.into()))
        }
        Kind::Bitmask(it) => (it.bits.len(), &|at| it.bits.get(at).map_or(0, |bit| bit.position.into())),
        Kind::Bitset(it) => {
            (it.fields.len(), &|at| it.fields.get(at).map_or(0, |field| field.position.into()))
        }
        Kind::Alias(_) => (0, &|_| 0),
    };
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| place(*at));
    order
}

/// The annotations of one part, in the order of their identifiers.
fn custom(applied: &[&Applied], ids: &[(bool, Option<TypeIdentifier>)]) -> Option<Vec<AppliedAnnotation>> {
    let one = |it: &Applied| {
        let (_, id) = ids.get(it.annotation.0)?;
        let mut values: Vec<AppliedAnnotationParameter> =
            it.values.iter().filter(|it| it.value.fits()).cloned().collect();
        values.sort_by_key(|it| it.paramname_hash);
        let param_seq = Some(values).filter(|values| !values.is_empty());
        Some(AppliedAnnotation { annotation_typeid: id.clone()?, param_seq })
    };
    let mut all: Vec<AppliedAnnotation> = applied.iter().copied().filter_map(one).collect();
    all.sort_by(|a, b| a.annotation_typeid.cmp(&b.annotation_typeid));
    Some(all).filter(|all| !all.is_empty())
}
