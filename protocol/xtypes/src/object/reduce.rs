//! Minimal type objects of complete ones, and the identifiers that objects mention (DDS-XTypes 1.3 §7.3.4.5).

use super::common::{
    CommonAliasBody, CommonCollectionElement, CommonDiscriminatorMember, CommonStructMember,
    CommonUnionMember,
};
use super::complete::*;
use super::minimal::*;
use super::name_hash;
use crate::TypeIdentifier;

/// Flags of members that minimal objects keep (§7.3.4.5.1 `MemberFlagMinimalMask`).
const MEMBER_MASK: u16 = 0x003f;
/// Flags of types that minimal objects keep. `TypeFlagMinimalMask` is 0x0007, the extensibility alone; but Cyclone DDS and
/// OpenDDS keep NESTED and AUTOID_HASH as well, and hashes are of use only if they are the same everywhere.
const TYPE_MASK: u16 = 0x001f;

/// Gives the identifier in a minimal object of one in a complete object; `None` if it is not known.
pub(super) type Translate<'a> = dyn FnMut(&TypeIdentifier) -> Option<TypeIdentifier> + 'a;

fn type_flags(flags: u16) -> u16 {
    flags & TYPE_MASK
}

fn member_flags(flags: u16) -> u16 {
    flags & MEMBER_MASK
}

fn detail(detail: &CompleteMemberDetail) -> MinimalMemberDetail {
    MinimalMemberDetail { name_hash: name_hash(&detail.name) }
}

/// The minimal object of a complete one; `translate` gives the identifiers of minimal objects of those that it mentions.
pub fn to_minimal(object: &CompleteTypeObject, translate: &mut Translate<'_>) -> Option<MinimalTypeObject> {
    Some(match object {
        CompleteTypeObject::Alias(it) => MinimalTypeObject::Alias(MinimalAliasType {
            alias_flags: 0,
            header: MinimalAliasHeader {},
            body: MinimalAliasBody {
                common: CommonAliasBody {
                    related_flags: member_flags(it.body.common.related_flags),
                    related_type: translate(&it.body.common.related_type)?,
                },
            },
        }),
        CompleteTypeObject::Annotation(it) => MinimalTypeObject::Annotation(annotation(it, translate)?),
        CompleteTypeObject::Structure(it) => MinimalTypeObject::Structure(structure(it, translate)?),
        CompleteTypeObject::Union(it) => MinimalTypeObject::Union(union(it, translate)?),
        CompleteTypeObject::Bitset(it) => MinimalTypeObject::Bitset(bitset(it)),
        CompleteTypeObject::Sequence(it) => MinimalTypeObject::Sequence(MinimalSequenceType {
            collection_flag: 0,
            header: MinimalCollectionHeader { common: it.header.common.clone() },
            element: element(&it.element, translate)?,
        }),
        CompleteTypeObject::Array(it) => MinimalTypeObject::Array(MinimalArrayType {
            collection_flag: 0,
            header: MinimalArrayHeader { common: it.header.common.clone() },
            element: element(&it.element, translate)?,
        }),
        CompleteTypeObject::Map(it) => MinimalTypeObject::Map(MinimalMapType {
            collection_flag: 0,
            header: MinimalCollectionHeader { common: it.header.common.clone() },
            key: element(&it.key, translate)?,
            element: element(&it.element, translate)?,
        }),
        CompleteTypeObject::Enumeration(it) => MinimalTypeObject::Enumeration(enumeration(it)),
        CompleteTypeObject::Bitmask(it) => MinimalTypeObject::Bitmask(bitmask(it)),
        CompleteTypeObject::Extended { kind, definition } => {
            MinimalTypeObject::Extended { kind: *kind, definition: definition.clone() }
        }
    })
}

fn structure(it: &CompleteStructType, translate: &mut Translate<'_>) -> Option<MinimalStructType> {
    let mut member_seq = alloc::vec::Vec::with_capacity(it.member_seq.len());
    for member in &it.member_seq {
        member_seq.push(MinimalStructMember {
            common: CommonStructMember {
                member_id: member.common.member_id,
                member_flags: member_flags(member.common.member_flags),
                member_type_id: translate(&member.common.member_type_id)?,
            },
            detail: detail(&member.detail),
        });
    }
    Some(MinimalStructType {
        struct_flags: type_flags(it.struct_flags),
        header: MinimalStructHeader {
            base_type: translate(&it.header.base_type)?,
            detail: MinimalTypeDetail {},
        },
        member_seq,
    })
}

fn union(it: &CompleteUnionType, translate: &mut Translate<'_>) -> Option<MinimalUnionType> {
    let mut member_seq = alloc::vec::Vec::with_capacity(it.member_seq.len());
    for member in &it.member_seq {
        member_seq.push(MinimalUnionMember {
            common: CommonUnionMember {
                member_id: member.common.member_id,
                // The default case decides what discriminators mean, so its flag stays.
                member_flags: member.common.member_flags & (MEMBER_MASK | 0x0040),
                type_id: translate(&member.common.type_id)?,
                label_seq: member.common.label_seq.clone(),
            },
            detail: detail(&member.detail),
        });
    }
    let common = &it.discriminator.common;
    Some(MinimalUnionType {
        union_flags: type_flags(it.union_flags),
        header: MinimalUnionHeader { detail: MinimalTypeDetail {} },
        discriminator: MinimalDiscriminatorMember {
            common: CommonDiscriminatorMember {
                member_flags: member_flags(common.member_flags),
                type_id: translate(&common.type_id)?,
            },
        },
        member_seq,
    })
}

fn annotation(it: &CompleteAnnotationType, translate: &mut Translate<'_>) -> Option<MinimalAnnotationType> {
    let mut member_seq = alloc::vec::Vec::with_capacity(it.member_seq.len());
    for member in &it.member_seq {
        let mut common = member.common.clone();
        common.member_type_id = translate(&common.member_type_id)?;
        member_seq.push(MinimalAnnotationParameter {
            common,
            name_hash: name_hash(&member.name),
            default_value: member.default_value.clone(),
        });
    }
    member_seq.sort_by_key(|member| member.name_hash);
    Some(MinimalAnnotationType { annotation_flag: 0, header: MinimalAnnotationHeader {}, member_seq })
}

fn element(
    it: &CompleteCollectionElement,
    translate: &mut Translate<'_>,
) -> Option<MinimalCollectionElement> {
    Some(MinimalCollectionElement {
        common: CommonCollectionElement {
            element_flags: member_flags(it.common.element_flags),
            type_id: translate(&it.common.type_id)?,
        },
    })
}

fn enumeration(it: &CompleteEnumeratedType) -> MinimalEnumeratedType {
    let literals = it.literal_seq.iter().map(|literal| MinimalEnumeratedLiteral {
        common: literal.common.clone(),
        detail: detail(&literal.detail),
    });
    MinimalEnumeratedType {
        enum_flags: type_flags(it.enum_flags),
        header: MinimalEnumeratedHeader { common: it.header.common.clone() },
        literal_seq: literals.collect(),
    }
}

fn bitmask(it: &CompleteBitmaskType) -> MinimalBitmaskType {
    let flags = it
        .flag_seq
        .iter()
        .map(|flag| MinimalBitflag { common: flag.common.clone(), detail: detail(&flag.detail) });
    MinimalBitmaskType {
        bitmask_flags: type_flags(it.bitmask_flags),
        header: MinimalEnumeratedHeader { common: it.header.common.clone() },
        flag_seq: flags.collect(),
    }
}

fn bitset(it: &CompleteBitsetType) -> MinimalBitsetType {
    let fields = it.field_seq.iter().map(|field| MinimalBitfield {
        common: field.common.clone(),
        name_hash: name_hash(&field.detail.name),
    });
    MinimalBitsetType { bitset_flags: 0, header: MinimalBitsetHeader {}, field_seq: fields.collect() }
}

type Visit<'a> = dyn FnMut(&TypeIdentifier) + 'a;

/// Calls `visit` with the identifiers in a complete object.
pub(super) fn visit_complete(object: &CompleteTypeObject, visit: &mut Visit<'_>) {
    match object {
        CompleteTypeObject::Alias(it) => visit(&it.body.common.related_type),
        CompleteTypeObject::Annotation(it) => {
            it.member_seq.iter().for_each(|member| visit(&member.common.member_type_id));
        }
        CompleteTypeObject::Structure(it) => {
            visit(&it.header.base_type);
            it.member_seq.iter().for_each(|member| visit(&member.common.member_type_id));
        }
        CompleteTypeObject::Union(it) => {
            visit(&it.discriminator.common.type_id);
            it.member_seq.iter().for_each(|member| visit(&member.common.type_id));
        }
        CompleteTypeObject::Sequence(it) => visit(&it.element.common.type_id),
        CompleteTypeObject::Array(it) => visit(&it.element.common.type_id),
        CompleteTypeObject::Map(it) => {
            visit(&it.key.common.type_id);
            visit(&it.element.common.type_id);
        }
        CompleteTypeObject::Enumeration(_)
        | CompleteTypeObject::Bitmask(_)
        | CompleteTypeObject::Bitset(_)
        | CompleteTypeObject::Extended { .. } => {}
    }
}

/// Calls `visit` with the identifiers in a minimal object.
pub(super) fn visit_minimal(object: &MinimalTypeObject, visit: &mut Visit<'_>) {
    match object {
        MinimalTypeObject::Alias(it) => visit(&it.body.common.related_type),
        MinimalTypeObject::Annotation(it) => {
            it.member_seq.iter().for_each(|member| visit(&member.common.member_type_id));
        }
        MinimalTypeObject::Structure(it) => {
            visit(&it.header.base_type);
            it.member_seq.iter().for_each(|member| visit(&member.common.member_type_id));
        }
        MinimalTypeObject::Union(it) => {
            visit(&it.discriminator.common.type_id);
            it.member_seq.iter().for_each(|member| visit(&member.common.type_id));
        }
        MinimalTypeObject::Sequence(it) => visit(&it.element.common.type_id),
        MinimalTypeObject::Array(it) => visit(&it.element.common.type_id),
        MinimalTypeObject::Map(it) => {
            visit(&it.key.common.type_id);
            visit(&it.element.common.type_id);
        }
        MinimalTypeObject::Enumeration(_)
        | MinimalTypeObject::Bitmask(_)
        | MinimalTypeObject::Bitset(_)
        | MinimalTypeObject::Extended { .. } => {}
    }
}
