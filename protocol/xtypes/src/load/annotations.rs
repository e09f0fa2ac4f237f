//! Annotations of types that came from the network. What is wrong with them, or not known, leaves them out and no more:
//! types are what they are without them.

use super::{Loader, MAX_DEFINITIONS, MAX_NAME, ObjectOf};
use crate::TypeIdentifier;
use crate::applied::{Annotation, AnnotationIndex, AnnotationParameter, Annotations, Applied, Part};
use crate::identifier::kind;
use crate::model::Type;
use crate::object::TypeObject;
use crate::object::annotation::{AnnotationParameterValue, AppliedAnnotation, AppliedBuiltinTypeAnnotations};
use crate::object::complete::*;
use alloc::vec::Vec;

/// Annotations that one type may use with all that it depends on.
const MAX_ANNOTATIONS: usize = 256;
/// Parameters of an annotation.
const MAX_PARAMETERS: usize = 64;

type Custom = Option<Vec<AppliedAnnotation>>;

impl Loader {
    /// What an object says of its type and the parts of it.
    pub(super) fn annotations(
        &mut self,
        object: &CompleteTypeObject,
        object_of: &ObjectOf<'_>,
    ) -> Annotations {
        let Some((detail, discriminator, parts)) = parts(object) else { return Annotations::default() };
        let verbatim = match &detail.ann_builtin {
            Some(AppliedBuiltinTypeAnnotations { verbatim }) => verbatim.clone(),
            None => None,
        };
        let mut applied = Vec::new();
        let own = [(Part::Type, &detail.ann_custom), (Part::Discriminator, discriminator)];
        let parts = parts.into_iter().enumerate().map(|(at, custom)| (Part::Member(at), custom));
        for (part, custom) in own.into_iter().chain(parts) {
            for it in custom.iter().flatten() {
                applied.extend(self.applied(part, it, object_of));
            }
        }
        Annotations { verbatim, applied }
    }

    fn applied(&mut self, part: Part, it: &AppliedAnnotation, object_of: &ObjectOf<'_>) -> Option<Applied> {
        let annotation = self.annotation(&it.annotation_typeid, object_of)?;
        let declared = self.graph.annotation(annotation)?;
        let values = it.param_seq.iter().flatten();
        let values = values.filter(|it| it.value.fits() && declared.parameter(it.paramname_hash).is_some());
        Some(Applied { part, annotation, values: values.take(MAX_PARAMETERS).cloned().collect() })
    }

    fn annotation(&mut self, id: &TypeIdentifier, object_of: &ObjectOf<'_>) -> Option<AnnotationIndex> {
        if let Some(known) = self.annotations.get(id) {
            return *known;
        }
        if self.annotations.len() >= MAX_ANNOTATIONS || !matches!(id, TypeIdentifier::Complete(_)) {
            return None;
        }
        let found = self.declared(id, object_of).map(|it| self.graph.declare_annotation(it));
        self.annotations.insert(id.clone(), found);
        found
    }

    fn declared(&mut self, id: &TypeIdentifier, object_of: &ObjectOf<'_>) -> Option<Annotation> {
        let Some(TypeObject::Complete(CompleteTypeObject::Annotation(it))) = object_of(id) else {
            return None;
        };
        let name = it.header.annotation_name;
        if name.len() > MAX_NAME || name.is_empty() || it.member_seq.len() > MAX_PARAMETERS {
            return None;
        }
        let mut parameters = Vec::with_capacity(it.member_seq.len());
        for parameter in it.member_seq {
            if parameter.name.len() > MAX_NAME {
                return None;
            }
            let ty = self.parameter_type(&parameter.common.member_type_id, object_of)?;
            let default = Some(parameter.default_value).filter(AnnotationParameterValue::fits);
            parameters.push(AnnotationParameter { name: parameter.name, ty, default });
        }
        Some(Annotation { name, parameters })
    }

    fn parameter_type(&mut self, id: &TypeIdentifier, object_of: &ObjectOf<'_>) -> Option<Type> {
        match id {
            TypeIdentifier::Primitive { kind } => {
                let known = Type::Primitive(*kind);
                (*kind == kind::NONE || known.is_primitive()).then_some(known)
            }
            TypeIdentifier::StringSmall { .. } | TypeIdentifier::StringLarge { .. } => self.usage(id).ok(),
            TypeIdentifier::Complete(_) => {
                let object = object_of(id)?;
                let fits = matches!(&object, TypeObject::Complete(CompleteTypeObject::Enumeration(_)));
                let room = self.known.contains_key(id) || self.graph.len() < MAX_DEFINITIONS;
                if !fits || !room || self.definition(&object).is_err() {
                    return None;
                }
                self.named(id).ok().map(Type::Named)
            }
            _ => None,
        }
    }
}

/// What is said of a type, of its discriminator, and of its parts in the order of the object.
fn parts(object: &CompleteTypeObject) -> Option<(&CompleteTypeDetail, &Custom, Vec<&Custom>)> {
    Some(match object {
        CompleteTypeObject::Structure(it) => {
            let parts = it.member_seq.iter().map(|it| &it.detail.ann_custom);
            (&it.header.detail, &None, parts.collect())
        }
        CompleteTypeObject::Union(it) => {
            let parts = it.member_seq.iter().map(|it| &it.detail.ann_custom);
            (&it.header.detail, &it.discriminator.ann_custom, parts.collect())
        }
        CompleteTypeObject::Enumeration(it) => {
            let parts = it.literal_seq.iter().map(|it| &it.detail.ann_custom);
            (&it.header.detail, &None, parts.collect())
        }
        CompleteTypeObject::Bitmask(it) => {
            let parts = it.flag_seq.iter().map(|it| &it.detail.ann_custom);
            (&it.header.detail, &None, parts.collect())
        }
        CompleteTypeObject::Bitset(it) => {
            let parts = it.field_seq.iter().map(|it| &it.detail.ann_custom);
            (&it.header.detail, &None, parts.collect())
        }
        CompleteTypeObject::Alias(it) => (&it.header.detail, &None, Vec::new()),
        _ => return None,
    })
}
