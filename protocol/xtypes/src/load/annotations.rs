//! Annotations of types that came from the network. What is wrong with them, or not known, leaves them out and no more:
//! types are what they are without them.

use alloc::vec::Vec;

use super::{Loader, MAX_DEFINITIONS, MAX_NAME, ObjectOf};
use crate::TypeIdentifier;
use crate::applied::{Annotation, AnnotationParameter, Annotations, Applied, Part};
use crate::identifier::kind;
use crate::model::{Type, TypeIndex};
use crate::object::annotation::{AnnotationParameterValue, AppliedAnnotation, AppliedBuiltinTypeAnnotations};
use crate::object::complete::*;
use crate::object::{TypeObject, name_hash};

/// Annotations that one type may use with all that it depends on.
const MAX_ANNOTATIONS: usize = 256;
/// Annotations before one type and its parts, together.
const MAX_APPLIED: usize = 4096;
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
            for it in custom.iter().flatten().take(MAX_APPLIED.saturating_sub(applied.len())) {
                applied.extend(self.applied(part, it, object_of));
            }
        }
        Annotations { verbatim, applied }
    }

    fn applied(&mut self, part: Part, it: &AppliedAnnotation, object_of: &ObjectOf<'_>) -> Option<Applied> {
        self.look_at(&it.annotation_typeid, object_of);
        let (annotation, names) = self.annotations.get(&it.annotation_typeid)?.as_ref()?;
        let values = it.param_seq.iter().flatten().take(MAX_PARAMETERS);
        let values = values.filter(|it| it.value.fits() && names.contains(&it.paramname_hash));
        Some(Applied { part, annotation: *annotation, values: values.cloned().collect() })
    }

    /// Declares an annotation, unless it was looked at before.
    fn look_at(&mut self, id: &TypeIdentifier, object_of: &ObjectOf<'_>) {
        let known = self.annotations.contains_key(id) || self.annotations.len() >= MAX_ANNOTATIONS;
        if known || !matches!(id, TypeIdentifier::Complete(_)) {
            return;
        }
        let found = self.declared(id, object_of).map(|it| {
            let names = it.parameters.iter().map(|it| name_hash(&it.name)).collect();
            (self.graph.declare_annotation(it), names)
        });
        self.annotations.insert(id.clone(), found);
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
                if let Some(known) = self.parameter_types.get(id) {
                    return known.map(Type::Named);
                }
                let found = self.enumeration(id, object_of);
                self.parameter_types.insert(id.clone(), found);
                found.map(Type::Named)
            }
            _ => None,
        }
    }

    /// An enumeration as the type of a parameter.
    fn enumeration(&mut self, id: &TypeIdentifier, object_of: &ObjectOf<'_>) -> Option<TypeIndex> {
        let object = object_of(id)?;
        let fits = matches!(&object, TypeObject::Complete(CompleteTypeObject::Enumeration(_)));
        let room = self.known.contains_key(id) || self.graph.len() < MAX_DEFINITIONS;
        if !fits || !room || self.definition(&object).is_err() {
            return None;
        }
        self.named(id).ok()
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
