//! Type objects, type information and the messages of TypeLookup from the network: what can be decoded survives encoding,
//! and everything that is done with it ends.

use dunlin_cdr::{CdrRead, CdrWrite, Representation};
use dunlin_qos::TypeConsistencyEnforcement;
use dunlin_xtypes::lookup::TypeLibrary;
use dunlin_xtypes::lookup::message::{
    self, Call, GetTypesIn, GetTypesOut, GetTypesResult, Reply, Request, Return, SampleIdentity,
    TypeIdentifierTypeObjectPair,
};
use dunlin_xtypes::{
    TypeIdentifier, TypeIn, TypeInformation, TypeObject, assignable, from_octets, to_idl, to_octets,
    type_objects,
};

/// Who is asked.
const PARTICIPANT: [u8; 16] = [7; 16];

/// The first octet says what the others are.
pub fn types(data: &[u8]) {
    let Some((what, octets)) = data.split_first() else { return };
    match what % 4 {
        0 => {
            if let Some(object) = same_again::<TypeObject>(octets) {
                fetched(vec![object]);
            }
        }
        1 => drop(same_again::<TypeInformation>(octets)),
        2 => {
            if let Ok(request) = message::decode::<Request>(octets) {
                let _ = TypeLibrary::new(0).answer(&request, &PARTICIPANT);
            }
        }
        _ => {
            if let Ok(Reply { result: Return::GetTypes(GetTypesResult::Ok(out)), .. }) =
                message::decode(octets)
            {
                fetched(out.types.into_iter().map(|pair| pair.type_object).collect());
            }
        }
    }
}

fn same_again<T: for<'de> CdrRead<'de> + CdrWrite + PartialEq>(octets: &[u8]) -> Option<T> {
    let value: T = from_octets(octets).ok()?;
    let again = to_octets(&value).expect("what was decoded can be encoded");
    // NaN in an annotation differs from itself.
    let value_again: T = from_octets(&again).expect("what was encoded can be decoded");
    assert_eq!(to_octets(&value_again).ok(), Some(again));
    Some(value)
}

/// Objects under their right identifiers, as a peer would send them.
fn fetched(objects: Vec<TypeObject>) {
    let pair = |type_object: TypeObject| {
        let type_identifier = type_object.identifier().ok()?;
        Some(TypeIdentifierTypeObjectPair { type_identifier, type_object })
    };
    let out = GetTypesOut { types: objects.into_iter().filter_map(pair).collect(), ..GetTypesOut::default() };
    let ids: Vec<TypeIdentifier> = out.types.iter().map(|pair| pair.type_identifier.clone()).collect();
    let mut library = TypeLibrary::new(1 << 20);
    assert_eq!(library.learn(&out).refused, 0);
    for id in &ids {
        let _ = library.missing(id);
        let Ok((graph, index)) = library.load(id) else { continue };
        let _ = to_idl(&graph, index);
        let Ok(objects) = type_objects(&graph, index) else { continue };
        let _ = objects.information();
        let ty = TypeIn { graph: &graph, index };
        let policy = TypeConsistencyEnforcement { ignore_string_bounds: false, ..Default::default() };
        let _ = assignable(ty, ty, &policy, Representation::Xcdr1);
    }
    let request_id = SampleIdentity { writer_guid: [1; 16], high: 0, low: 1 };
    let instance_name = dunlin_xtypes::lookup::instance_name(&PARTICIPANT);
    let request = Request { request_id, instance_name, call: Call::GetTypes(GetTypesIn { type_ids: ids }) };
    assert!(library.answer(&request, &PARTICIPANT).is_some());
}

/// Type objects and type information of Cyclone DDS.
pub fn seeds() -> Vec<(String, Vec<u8>)> {
    const GOLDEN: &str = include_str!("../../protocol/xtypes/tests/cyclone/appendable.golden");
    let seed = |line: &str| {
        let mut words = line.split(' ');
        let (kind, name, digits) = (words.next()?, words.next()?, words.next()?);
        let what = vec![u8::from(kind == "info")];
        Some((format!("{kind}-{name}"), [what, crate::seeds::hex(digits)].concat()))
    };
    GOLDEN.lines().filter_map(seed).collect()
}
