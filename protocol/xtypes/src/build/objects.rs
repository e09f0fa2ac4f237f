//! Complete type objects of definitions (DDS-XTypes 1.3 §7.3.4.5).

use alloc::string::String;
use alloc::vec::Vec;

use super::{BuildError, identifiers};
use crate::labels::narrow;
use crate::model::{
    Bitmask, Bitset, Definition, Element, Enumeration, Kind, Member, Structure, Type, Union, member_flag,
};
use crate::object::common::*;
use crate::object::complete::*;
use crate::object::minimal::MinimalTypeObject;
use crate::{TypeGraph, TypeIdentifier};

type Ids<'a> = &'a [Option<TypeIdentifier>];

fn id_of(ty: &Type, ids: Ids<'_>) -> Result<TypeIdentifier, BuildError> {
    identifiers::of(ty, ids).ok_or(BuildError::Dangling)
}

/// The complete object of a definition, with the identifiers of what it mentions.
pub(super) fn complete(
    graph: &TypeGraph,
    definition: &Definition,
    ids: Ids<'_>,
) -> Result<CompleteTypeObject, BuildError> {
    let detail =
        CompleteTypeDetail { ann_builtin: None, ann_custom: None, type_name: definition.name.clone() };
    let flags = definition.flags;
    Ok(match &definition.kind {
        Kind::Structure(it) => CompleteTypeObject::Structure(structure(it, flags, detail, ids)?),
        Kind::Union(it) => CompleteTypeObject::Union(union(graph, it, (flags, detail), ids)?),
        Kind::Enumeration(it) => CompleteTypeObject::Enumeration(enumeration(it, flags, detail)),
        Kind::Bitmask(it) => CompleteTypeObject::Bitmask(bitmask(it, flags, detail)),
        Kind::Bitset(it) => CompleteTypeObject::Bitset(bitset(it, flags, detail)),
        Kind::Alias(it) => CompleteTypeObject::Alias(alias(it, detail, ids)?),
    })
}

/// The qualified name in a complete object; empty for collections.
pub(crate) fn name_of(object: &CompleteTypeObject) -> &str {
    match object {
        CompleteTypeObject::Structure(it) => &it.header.detail.type_name,
        CompleteTypeObject::Union(it) => &it.header.detail.type_name,
        CompleteTypeObject::Enumeration(it) => &it.header.detail.type_name,
        CompleteTypeObject::Bitmask(it) => &it.header.detail.type_name,
        CompleteTypeObject::Bitset(it) => &it.header.detail.type_name,
        CompleteTypeObject::Alias(it) => &it.header.detail.type_name,
        CompleteTypeObject::Annotation(it) => &it.header.annotation_name,
        CompleteTypeObject::Sequence(_)
        | CompleteTypeObject::Array(_)
        | CompleteTypeObject::Map(_)
        | CompleteTypeObject::Extended { .. } => "",
    }
}

fn plain(name: &str) -> CompleteMemberDetail {
    CompleteMemberDetail { name: String::from(name), ann_builtin: None, ann_custom: None }
}

fn detail(member: &Member) -> CompleteMemberDetail {
    CompleteMemberDetail { ann_builtin: member.annotations.clone().some(), ..plain(&member.name.text) }
}

fn structure(
    it: &Structure,
    struct_flags: u16,
    detail_of_type: CompleteTypeDetail,
    ids: Ids<'_>,
) -> Result<CompleteStructType, BuildError> {
    let base_type = match it.base {
        Some(base) => id_of(&Type::Named(base), ids)?,
        None => TypeIdentifier::NONE,
    };
    let mut member_seq = Vec::with_capacity(it.members.len());
    for member in &it.members {
        member_seq.push(CompleteStructMember {
            common: CommonStructMember {
                member_id: member.id,
                member_flags: member.flags,
                member_type_id: id_of(&member.ty, ids)?,
            },
            detail: detail(member),
        });
    }
    let header = CompleteStructHeader { base_type, detail: detail_of_type };
    Ok(CompleteStructType { struct_flags, header, member_seq })
}

fn union(
    graph: &TypeGraph,
    it: &Union,
    (union_flags, detail_of_type): (u16, CompleteTypeDetail),
    ids: Ids<'_>,
) -> Result<CompleteUnionType, BuildError> {
    let label = |label: &i64| {
        let too_wide = || BuildError::Label { union: detail_of_type.type_name.clone(), label: *label };
        narrow(graph, &it.discriminator.ty, *label).ok_or_else(too_wide)
    };
    let mut member_seq = Vec::with_capacity(it.cases.len());
    for case in &it.cases {
        member_seq.push(CompleteUnionMember {
            common: CommonUnionMember {
                member_id: case.member.id,
                member_flags: case.member.flags,
                type_id: id_of(&case.member.ty, ids)?,
                // §7.3.4.5 wants them ascending, Cyclone DDS writes them as declared, and a hash is of use only if it is the same.
                label_seq: case.labels.iter().map(label).collect::<Result<_, _>>()?,
            },
            detail: detail(&case.member),
        });
    }
    let discriminator = CompleteDiscriminatorMember {
        common: CommonDiscriminatorMember {
            member_flags: it.discriminator.flags,
            type_id: id_of(&it.discriminator.ty, ids)?,
        },
        ann_builtin: None,
        ann_custom: None,
    };
    let header = CompleteUnionHeader { detail: detail_of_type };
    Ok(CompleteUnionType { union_flags, header, discriminator, member_seq })
}

fn enumeration(it: &Enumeration, enum_flags: u16, detail: CompleteTypeDetail) -> CompleteEnumeratedType {
    let literals = it.literals.iter().map(|literal| CompleteEnumeratedLiteral {
        common: CommonEnumeratedLiteral {
            value: literal.value,
            flags: if literal.is_default { member_flag::DEFAULT } else { 0 },
        },
        detail: plain(&literal.name.text),
    });
    let mut literal_seq: Vec<_> = literals.collect();
    literal_seq.sort_by_key(|literal| literal.common.value);
    let common = CommonEnumeratedHeader { bit_bound: it.bit_bound };
    CompleteEnumeratedType { enum_flags, header: CompleteEnumeratedHeader { common, detail }, literal_seq }
}

fn bitmask(it: &Bitmask, bitmask_flags: u16, detail: CompleteTypeDetail) -> CompleteBitmaskType {
    let bits = it.bits.iter().map(|bit| CompleteBitflag {
        common: CommonBitflag { position: bit.position, flags: 0 },
        detail: plain(&bit.name.text),
    });
    let mut flag_seq: Vec<_> = bits.collect();
    flag_seq.sort_by_key(|bit| bit.common.position);
    let common = CommonEnumeratedHeader { bit_bound: it.bit_bound };
    CompleteBitmaskType { bitmask_flags, header: CompleteEnumeratedHeader { common, detail }, flag_seq }
}

fn bitset(it: &Bitset, bitset_flags: u16, detail: CompleteTypeDetail) -> CompleteBitsetType {
    let fields = it.fields.iter().map(|field| CompleteBitfield {
        common: CommonBitfield {
            position: field.position,
            flags: 0,
            bitcount: field.width,
            holder_type: field.holder,
        },
        detail: plain(&field.name.text),
    });
    let mut field_seq: Vec<_> = fields.collect();
    field_seq.sort_by_key(|field| field.common.position);
    CompleteBitsetType { bitset_flags, header: CompleteBitsetHeader { detail }, field_seq }
}

fn alias(it: &Element, detail: CompleteTypeDetail, ids: Ids<'_>) -> Result<CompleteAliasType, BuildError> {
    Ok(CompleteAliasType {
        alias_flags: 0,
        header: CompleteAliasHeader { detail },
        body: CompleteAliasBody {
            common: CommonAliasBody { related_flags: it.flags, related_type: id_of(&it.ty, ids)? },
            ann_builtin: None,
            ann_custom: None,
        },
    })
}

/// Gives a minimal object the hashes of names that its definition knows: of types from minimal objects, the names
/// themselves are not known.
pub(super) fn set_name_hashes(object: &mut MinimalTypeObject, definition: &Definition) {
    match (object, &definition.kind) {
        (MinimalTypeObject::Structure(to), Kind::Structure(from)) => {
            let pairs = to.member_seq.iter_mut().zip(&from.members);
            pairs.for_each(|(to, from)| to.detail.name_hash = from.name.hash);
        }
        (MinimalTypeObject::Union(to), Kind::Union(from)) => {
            let pairs = to.member_seq.iter_mut().zip(&from.cases);
            pairs.for_each(|(to, from)| to.detail.name_hash = from.member.name.hash);
        }
        (MinimalTypeObject::Enumeration(to), Kind::Enumeration(from)) => {
            let mut from: Vec<_> = from.literals.iter().collect();
            from.sort_by_key(|literal| literal.value);
            let pairs = to.literal_seq.iter_mut().zip(from);
            pairs.for_each(|(to, from)| to.detail.name_hash = from.name.hash);
        }
        (MinimalTypeObject::Bitmask(to), Kind::Bitmask(from)) => {
            let mut from: Vec<_> = from.bits.iter().collect();
            from.sort_by_key(|bit| bit.position);
            let pairs = to.flag_seq.iter_mut().zip(from);
            pairs.for_each(|(to, from)| to.detail.name_hash = from.name.hash);
        }
        (MinimalTypeObject::Bitset(to), Kind::Bitset(from)) => {
            let mut from: Vec<_> = from.fields.iter().collect();
            from.sort_by_key(|field| field.position);
            let pairs = to.field_seq.iter_mut().zip(from);
            pairs.for_each(|(to, from)| to.name_hash = from.name.hash);
        }
        _ => {}
    }
}
