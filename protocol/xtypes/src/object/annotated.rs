//! The annotations that an object carries, wherever they are.

use alloc::vec::Vec;

use super::annotation::AppliedAnnotation;
use super::complete::*;

type Visit<'a> = dyn FnMut(&AppliedAnnotation) + 'a;

/// Calls `visit` with the annotations in a complete object that its source declares itself.
pub(super) fn visit(object: &CompleteTypeObject, visit: &mut Visit<'_>) {
    let mut all = |list: &Option<Vec<AppliedAnnotation>>| list.iter().flatten().for_each(&mut *visit);
    match object {
        CompleteTypeObject::Alias(it) => {
            all(&it.header.detail.ann_custom);
            all(&it.body.ann_custom);
        }
        CompleteTypeObject::Structure(it) => {
            all(&it.header.detail.ann_custom);
            it.member_seq.iter().for_each(|member| all(&member.detail.ann_custom));
        }
        CompleteTypeObject::Union(it) => {
            all(&it.header.detail.ann_custom);
            all(&it.discriminator.ann_custom);
            it.member_seq.iter().for_each(|member| all(&member.detail.ann_custom));
        }
        CompleteTypeObject::Sequence(it) => {
            it.header.detail.iter().for_each(|detail| all(&detail.ann_custom));
            all(&it.element.detail.ann_custom);
        }
        CompleteTypeObject::Array(it) => {
            all(&it.header.detail.ann_custom);
            all(&it.element.detail.ann_custom);
        }
        CompleteTypeObject::Map(it) => {
            it.header.detail.iter().for_each(|detail| all(&detail.ann_custom));
            all(&it.key.detail.ann_custom);
            all(&it.element.detail.ann_custom);
        }
        CompleteTypeObject::Enumeration(it) => {
            all(&it.header.detail.ann_custom);
            it.literal_seq.iter().for_each(|literal| all(&literal.detail.ann_custom));
        }
        CompleteTypeObject::Bitmask(it) => {
            all(&it.header.detail.ann_custom);
            it.flag_seq.iter().for_each(|flag| all(&flag.detail.ann_custom));
        }
        CompleteTypeObject::Bitset(it) => {
            all(&it.header.detail.ann_custom);
            it.field_seq.iter().for_each(|field| all(&field.detail.ann_custom));
        }
        CompleteTypeObject::Annotation(_) | CompleteTypeObject::Extended { .. } => {}
    }
}
