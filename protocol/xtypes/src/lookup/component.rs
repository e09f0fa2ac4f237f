//! Types that depend on each other have one hash together (DDS-XTypes 1.3 §7.3.4.9).

use alloc::vec::Vec;

use super::message::TypeIdentifierTypeObjectPair;
use crate::TypeIdentifier;
use crate::identifier::{EquivalenceHash, TypeObjectHashId};
use crate::object::{TypeObject, equivalence_hash, to_octets};

/// The bytes of each object of a component, if these are all of them, in order, and have the hash of their identifiers.
/// The work is in proportion to the objects.
pub(super) fn sizes(pairs: &[&TypeIdentifierTypeObjectPair]) -> Option<Vec<usize>> {
    let TypeIdentifier::Component(first) = &pairs.first()?.type_identifier else { return None };
    if i32::try_from(pairs.len()).ok()? != first.scc_length {
        return None;
    }
    let (mut sizes, mut provisional) = (Vec::new(), Vec::new());
    for (pair, index) in pairs.iter().zip(1..) {
        // The caller has put together what differs in the index alone.
        let TypeIdentifier::Component(id) = &pair.type_identifier else { return None };
        if id.scc_index != index {
            return None;
        }
        match (&pair.type_object, id.sc_component_id) {
            (TypeObject::Complete(_), TypeObjectHashId::Complete(_))
            | (TypeObject::Minimal(_), TypeObjectHashId::Minimal(_)) => {}
            _ => return None,
        }
        if mentions_provisional(&pair.type_object) {
            return None;
        }
        sizes.push(to_octets(&pair.type_object).ok()?.len());
        let mut object = pair.type_object.clone();
        object.change_identifiers(&mut |id| unnamed(id, first.sc_component_id));
        provisional.push(object);
    }
    let (TypeObjectHashId::Minimal(hash) | TypeObjectHashId::Complete(hash)) = first.sc_component_id;
    (equivalence_hash(&to_octets(&provisional).ok()?) == hash).then_some(sizes)
}

const NO_HASH: EquivalenceHash = [0; 14];

/// Whether an object still refers to types as it did before the hash was known: with the hash taken out, it would be equal
/// to one that refers to them by the hash.
fn mentions_provisional(object: &TypeObject) -> bool {
    let mut found = false;
    object.visit_all_identifiers(&mut |id| {
        id.visit_hashed(&mut |id| {
            if let TypeIdentifier::Component(it) = id {
                let (TypeObjectHashId::Minimal(hash) | TypeObjectHashId::Complete(hash)) = it.sc_component_id;
                found |= hash == NO_HASH;
            }
        });
    });
    found
}

/// Takes the hash of a component out of an identifier: the hash was made before it was known.
fn unnamed(id: &mut TypeIdentifier, of: TypeObjectHashId) {
    id.change_hashed(&mut |id| {
        if let TypeIdentifier::Component(it) = id
            && it.sc_component_id == of
        {
            it.sc_component_id = match of {
                TypeObjectHashId::Minimal(_) => TypeObjectHashId::Minimal(NO_HASH),
                TypeObjectHashId::Complete(_) => TypeObjectHashId::Complete(NO_HASH),
            };
        }
    });
}
