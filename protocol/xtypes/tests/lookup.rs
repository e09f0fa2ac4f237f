//! TypeLookup between two libraries, and replies that lie.

use dunlin_cdr::Representation::Xcdr2;
use dunlin_idl::{Memory, Options, compile};
use dunlin_qos::TypeConsistencyEnforcement;
use dunlin_xtypes::identifier::{
    Equivalence, EquivalenceHash, StronglyConnectedComponentId, TypeObjectHashId,
};
use dunlin_xtypes::lookup::message::*;
use dunlin_xtypes::lookup::{MAX_REPLY_OCTETS, TypeLibrary, instance_name};
use dunlin_xtypes::object::annotation::AppliedAnnotation;
use dunlin_xtypes::object::complete::CompleteTypeObject;
use dunlin_xtypes::*;

const SERVER: [u8; 16] = [0x5a; 16];

fn parse(idl: &str) -> (TypeGraph, TypeIndex) {
    let compilation = compile("t.idl", &Options::default(), &Memory::default().with("t.idl", idl));
    let model = compilation.model.as_ref().unwrap_or_else(|| panic!("{}", compilation.render(false)));
    dunlin_idl::xtypes::type_graph_of(model, "T").unwrap()
}

const IDL: &str =
    "module M { enum E { A, B }; @nested struct I { long a; E e; }; typedef sequence<I, 5> Is; };
    @nested union U switch (M::E) { case M::A: long a; default: M::Is is; };
    @mutable struct T { @key string<20> k; @optional U u; M::I i[2]; };";

fn request(call: Call, instance_name: String) -> Request {
    let request_id = SampleIdentity { writer_guid: [7; 16], high: 0, low: 1 };
    Request { request_id, instance_name, call }
}

fn get(library: &TypeLibrary, type_ids: Vec<TypeIdentifier>) -> GetTypesOut {
    let request = request(Call::GetTypes(GetTypesIn { type_ids }), instance_name(&SERVER));
    // Through the bytes, as on the wire.
    let request: Request = message::decode(&message::encode(&request).unwrap()).unwrap();
    let reply = library.answer(&request, &SERVER).unwrap();
    let payload = message::encode(&reply).unwrap();
    assert_eq!(payload[..2], [0, 7], "PLAIN_CDR2, little-endian");
    let reply: Reply = message::decode(&payload).unwrap();
    assert_eq!((reply.related_request_id, reply.remote_ex), (request.request_id, 0));
    match reply.result {
        Return::GetTypes(GetTypesResult::Ok(out)) => out,
        other => panic!("{other:?}"),
    }
}

use dunlin_xtypes::lookup::message;

#[test]
fn a_type_requested_twice_is_sent_once() {
    let (graph, index) = parse(IDL);
    let objects = type_objects(&graph, index).unwrap();
    let mut server = TypeLibrary::default();
    server.add(&objects);
    let root = &objects.root().unwrap().complete.id;
    assert_eq!(get(&server, vec![root.clone(); 200]).types.len(), 1);
}

#[test]
fn names_have_a_bound() {
    for (len, refused) in [(256, false), (257, true)] {
        let (graph, index) = parse(&format!("struct T {{ long {}; }};", "a".repeat(len)));
        let objects = type_objects(&graph, index).unwrap();
        let mut library = TypeLibrary::default();
        library.add(&objects);
        let loaded = library.load(&objects.root().unwrap().complete.id);
        assert_eq!(matches!(loaded, Err(LoadError::NameTooLong)), refused, "{len}");
    }
}

/// What a client has after asking for all that is missing of a type.
fn fetched(server: &TypeLibrary, announced: &TypeIdentifier) -> TypeLibrary {
    let mut client = TypeLibrary::new(1 << 20);
    // One round per level: what is missing shows when the object that mentions it is there.
    for _ in 0..10 {
        let missing = client.missing(announced);
        if missing.is_empty() {
            return client;
        }
        let learned = client.learn(&get(server, missing));
        assert!(learned.new > 0 && learned.refused == 0, "{learned:?}");
    }
    panic!("{:?}", client.missing(announced));
}

fn is_fetched_and_understood(idl: &str) {
    let (graph, index) = parse(idl);
    let objects = type_objects(&graph, index).unwrap();
    let mut server = TypeLibrary::default();
    server.add(&objects);
    for announced in objects.information().unwrap().identifiers() {
        let client = fetched(&server, announced);
        let (fetched, there) = client.load(announced).unwrap();
        let reader = TypeIn { graph: &graph, index };
        let writer = TypeIn { graph: &fetched, index: there };
        assert_eq!(assignable(reader, writer, &TypeConsistencyEnforcement::default(), Xcdr2), Ok(()));
        let again = type_objects(&fetched, there).unwrap();
        if announced.equivalence() == Equivalence::Complete {
            assert_eq!(again.information().unwrap(), objects.information().unwrap());
            assert_eq!(to_idl(&fetched, there), to_idl(&graph, index));
        }
    }
}

#[test]
fn a_type_is_fetched_and_understood() {
    is_fetched_and_understood(IDL);
}

/// Two types that depend on each other, one that depends on itself, and one that depends on all of them.
const RECURSIVE: &str = "struct Leaf { sequence<Leaf> more; }; struct T;
    struct Back { sequence<T> all; map<long, Leaf> leaves; long n; };
    struct T { @key long id; @optional @external T next; sequence<Back> back; };";

#[test]
fn types_that_depend_on_each_other_are_fetched_together() {
    is_fetched_and_understood(RECURSIVE);
    is_fetched_and_understood("struct T { long x; sequence<T> more; };");
    is_fetched_and_understood(
        &RECURSIVE
            .replace("struct T {", "struct U {")
            .replace("struct T;", "struct U;")
            .replace("<T>", "<U>")
            .replace("@external T", "@external U")
            .replacen(
                "next; sequence<Back> back; };",
                "next; sequence<Back> back; }; struct T { U u; Leaf leaf; };",
                1,
            ),
    );
}

/// Versions of recursive types are compared member by member, however they came here.
#[test]
fn versions_of_recursive_types_are_compared() {
    let (graph, index) = parse(RECURSIVE);
    for (from, to, fits) in [("long n;", "long n; long more;", true), ("long n;", "string n;", false)] {
        let (other, root) = parse(&RECURSIVE.replace(from, to));
        let objects = type_objects(&other, root).unwrap();
        let mut server = TypeLibrary::default();
        server.add(&objects);
        for announced in objects.information().unwrap().identifiers() {
            let (fetched, there) = fetched(&server, announced).load(announced).unwrap();
            let (ours, theirs) = (TypeIn { graph: &graph, index }, TypeIn { graph: &fetched, index: there });
            for (reader, writer) in [(ours, theirs), (theirs, ours)] {
                let verdict = assignable(reader, writer, &TypeConsistencyEnforcement::default(), Xcdr2);
                assert_eq!(verdict.is_ok(), fits, "{to}: {verdict:?}");
            }
        }
    }
}

/// Objects of a component are taken together, if they are all there and have its hash.
#[test]
fn components_that_lie_are_refused() {
    let (graph, index) = parse(RECURSIVE);
    let objects = type_objects(&graph, index).unwrap();
    let mut server = TypeLibrary::default();
    server.add(&objects);
    let root = &objects.root().unwrap().complete.id;
    let TypeIdentifier::Component(id) = root else { panic!("{root:?}") };
    assert_eq!(id.scc_length, 2);
    let all = get(&server, vec![root.lookup_id()]);
    assert_eq!(all.types.len(), 2);
    let refused = |change: &dyn Fn(&mut GetTypesOut)| {
        let (mut told, mut library) = (all.clone(), TypeLibrary::new(1 << 20));
        change(&mut told);
        let learned = library.learn(&told);
        assert!(library.is_empty() && learned.refused == told.types.len(), "{learned:?}");
    };
    refused(&|told| drop(told.types.pop()));
    refused(&|told| drop(told.types.remove(0)));
    refused(&|told| told.types.push(told.types[0].clone()));
    refused(&|told| {
        let object = told.types[0].type_object.clone();
        told.types[0].type_object = std::mem::replace(&mut told.types[1].type_object, object);
    });
    refused(&|told| {
        let TypeObject::Complete(CompleteTypeObject::Structure(it)) = &mut told.types[0].type_object else {
            panic!()
        };
        it.member_seq[0].common.member_id += 1;
    });
    refused(&|told| {
        for pair in &mut told.types {
            let TypeIdentifier::Component(id) = &mut pair.type_identifier else { panic!() };
            id.scc_index -= 1;
        }
    });
    // As the objects were before the hash was known, in one place or in all.
    for place in [None, Some(0), Some(1), Some(2)] {
        refused(&|told| set_hash(told, place, [0; 14]));
    }
    let mut library = TypeLibrary::new(1 << 20);
    assert_eq!((library.learn(&all).new, library.missing(root).len()), (2, 1), "the leaf is missing");
    let octets = library.learned_octets();
    assert_eq!(TypeLibrary::new(octets - 1).learn(&all).over_quota, 2);
    // Of several types, the name tells which one is meant, if any does.
    let whole = root.lookup_id();
    assert_eq!(library.load(&whole), Err(LoadError::Ambiguous));
    assert_eq!(library.one_of(&whole, "T").as_ref(), Some(root));
    assert_eq!(library.one_of(&whole, "::T").as_ref(), Some(root));
    assert_eq!(library.one_of(&whole, "Back"), Some(sibling(root)));
    assert_eq!([library.one_of(&whole, "Leaf"), library.one_of(&whole, "")], [None, None]);
    assert_eq!(library.one_of(root, "Back").as_ref(), Some(root), "it says so itself");
}

/// The other type of a component of two.
fn sibling(id: &TypeIdentifier) -> TypeIdentifier {
    let TypeIdentifier::Component(id) = id else { panic!() };
    TypeIdentifier::Component(StronglyConnectedComponentId { scc_index: 3 - id.scc_index, ..*id })
}

/// Sets the hash with which two objects refer to each other, in one place or in all.
fn set_hash(told: &mut GetTypesOut, place: Option<usize>, hash: EquivalenceHash) {
    fn inner(id: &mut TypeIdentifier, change: &mut dyn FnMut(&mut StronglyConnectedComponentId)) {
        match id {
            TypeIdentifier::Component(id) if id.scc_length == 2 => change(id),
            TypeIdentifier::SequenceSmall(it) => inner(&mut it.element, change),
            TypeIdentifier::ArraySmall(it) => inner(&mut it.element, change),
            TypeIdentifier::MapSmall(it) => {
                inner(&mut it.key, change);
                inner(&mut it.element, change);
            }
            _ => {}
        }
    }
    let mut places = 0;
    for pair in &mut told.types {
        let TypeObject::Complete(CompleteTypeObject::Structure(it)) = &mut pair.type_object else { panic!() };
        for member in &mut it.member_seq {
            inner(&mut member.common.member_type_id, &mut |id| {
                if place.is_none_or(|place| place == places) {
                    id.sc_component_id = TypeObjectHashId::Complete(hash);
                }
                places += 1;
            });
        }
    }
    assert!(place.is_none_or(|place| place < places), "{places}");
}

/// However deep it is, and in annotations: what refers to a component without a hash has the hash of something else too.
#[test]
fn provisional_identifiers_are_refused_wherever_they_are() {
    let (graph, index) = parse(
        "struct T; struct Back { map<long, T> all; sequence<sequence<T> > deep; };
         struct T { sequence<Back> back; @optional map<long, sequence<Back> > more; };",
    );
    let objects = type_objects(&graph, index).unwrap();
    let mut server = TypeLibrary::default();
    server.add(&objects);
    let all = get(&server, vec![objects.root().unwrap().complete.id.lookup_id()]);
    assert_eq!(TypeLibrary::new(1 << 20).learn(&all).new, 2);
    for place in 0..4 {
        let mut told = all.clone();
        set_hash(&mut told, Some(place), [0; 14]);
        assert_eq!(TypeLibrary::new(1 << 20).learn(&told).refused, 2, "{place}");
    }
    for (hash, new) in [([0; 14], 0), ([9; 14], 2)] {
        let mut told = all.clone();
        let TypeObject::Complete(CompleteTypeObject::Structure(it)) = &mut told.types[1].type_object else {
            panic!()
        };
        let TypeIdentifier::Component(id) = all.types[0].type_identifier else { panic!() };
        let sc_component_id = TypeObjectHashId::Complete(hash);
        let annotation_typeid =
            TypeIdentifier::Component(StronglyConnectedComponentId { sc_component_id, ..id });
        it.member_seq[0].detail.ann_custom =
            Some(vec![AppliedAnnotation { annotation_typeid, param_seq: None }]);
        // The hash is right.
        set_hash(&mut told, None, [0; 14]);
        let provisional: Vec<_> = told.types.iter().map(|pair| pair.type_object.clone()).collect();
        let hash = object::equivalence_hash(&to_octets(&provisional).unwrap());
        set_hash(&mut told, None, hash);
        for pair in &mut told.types {
            let TypeIdentifier::Component(id) = &mut pair.type_identifier else { panic!() };
            id.sc_component_id = TypeObjectHashId::Complete(hash);
        }
        assert_eq!(TypeLibrary::new(1 << 20).learn(&told).new, new);
    }
}

/// What was not asked for, and what was asked for does not depend on, is not taken, though its hash is right.
#[test]
fn type_objects_that_were_not_requested_are_refused() {
    let (mut server, mut roots) = (TypeLibrary::default(), Vec::new());
    for idl in [RECURSIVE, "struct T { long other; };", &RECURSIVE.replace("long n;", "long other;")] {
        let (graph, index) = parse(idl);
        let objects = type_objects(&graph, index).unwrap();
        server.add(&objects);
        roots.push(objects.root().unwrap().complete.id.clone());
    }
    let mut told = get(&server, roots.iter().map(TypeIdentifier::lookup_id).collect());
    assert_eq!(told.types.len(), 5);
    let learn = |told: &GetTypesOut, wanted: &[TypeIdentifier]| {
        let (mut library, mut taken) = (TypeLibrary::new(1 << 20), vec![]);
        let learned = library.learn_within(told, wanted, usize::MAX, &mut taken);
        assert_eq!(taken.len(), library.len());
        (learned.new, learned.refused, library.missing(&wanted[0]).len())
    };
    assert_eq!(learn(&told, &roots[..1]), (2, 3, 1), "a component is wanted as a whole");
    assert_eq!(learn(&told, &roots[1..2]), (1, 4, 0));
    assert_eq!(learn(&told, &roots), (5, 0, 1));
    // What it depends on is taken with it, but not without it.
    let missing = {
        let mut library = TypeLibrary::new(1 << 20);
        library.learn(&told);
        library.missing(&roots[0])
    };
    told.types.extend(get(&server, missing).types);
    assert_eq!(learn(&told, &roots[..1]), (3, 3, 0));
    told.types
        .retain(|pair| !matches!(pair.type_identifier, TypeIdentifier::Component(id) if id.scc_length == 2));
    assert_eq!(learn(&told, &roots[..1]), (0, 2, 1));
}

/// A component that does not fit into an answer is left out as a whole, or has one for itself.
#[test]
fn a_strongly_connected_component_is_sent_as_a_whole() {
    let many =
        |of: &str| (0..900).map(|i| format!("long a_long_name_of_a_member_{of}_{i};")).collect::<String>();
    let (graph, index) = parse(&format!(
        "@nested struct Leaf {{ long a; }}; struct T;
         struct Back {{ sequence<T> all; {} }}; struct T {{ sequence<Back> back; Leaf leaf; {} }};",
        many("b"),
        many("t")
    ));
    let objects = type_objects(&graph, index).unwrap();
    let sizes: Vec<_> = objects.records.iter().map(|record| record.complete.size as usize).collect();
    assert!(sizes.iter().all(|size| *size < MAX_REPLY_OCTETS), "{sizes:?}");
    assert!(sizes.iter().sum::<usize>() > MAX_REPLY_OCTETS, "{sizes:?}");
    let mut library = TypeLibrary::default();
    library.add(&objects);
    let root = objects.root().unwrap().complete.id.lookup_id();
    let leaf = objects.records.iter().map(|record| &record.complete.id);
    let leaf = leaf.into_iter().find(|id| matches!(id, TypeIdentifier::Complete(_))).unwrap().clone();
    let told = |library: &TypeLibrary, ids: [&TypeIdentifier; 2]| -> Vec<TypeIdentifier> {
        let out = get(library, ids.into_iter().cloned().collect());
        out.types.into_iter().map(|pair| pair.type_identifier).collect()
    };
    assert_eq!(told(&library, [&leaf, &root]), std::slice::from_ref(&leaf));
    // What is asked for first has an answer for itself, unless it is more than anybody is told.
    let whole = told(&library, [&root, &leaf]);
    assert!(whole.len() == 2 && whole.iter().all(|id| id.lookup_id() == root), "{whole:?}");
    let small = library.with_max_object(sizes.iter().sum::<usize>() - 100);
    assert_eq!(told(&small, [&root, &leaf]), [leaf]);
}

/// An object that is larger than other answers has one for itself.
#[test]
fn a_large_type_object_has_a_reply_of_its_own() {
    let members: Vec<String> = (0..2000).map(|i| format!("long a_long_name_of_a_member_{i};")).collect();
    let (graph, index) =
        parse(&format!("@nested struct Leaf {{ long a; }}; struct T {{ Leaf leaf; {} }};", members.concat()));
    let objects = type_objects(&graph, index).unwrap();
    let large = &objects.root().unwrap().complete;
    assert!(large.size as usize > MAX_REPLY_OCTETS, "{}", large.size);
    let leaf =
        objects.records.iter().map(|record| record.complete.id.clone()).find(|id| *id != large.id).unwrap();
    let mut library = TypeLibrary::default();
    library.add(&objects);
    let told =
        |ids: &[&TypeIdentifier]| get(&library, ids.iter().map(|id| (*id).clone()).collect()).types.len();
    assert_eq!((told(&[&large.id]), told(&[&large.id, &leaf]), told(&[&leaf, &large.id])), (1, 1, 1));
    let mut learning = TypeLibrary::new(1 << 20);
    learning.learn(&get(&library, vec![large.id.clone()]));
    learning.learn(&get(&library, learning.missing(&large.id)));
    assert_eq!(learning.missing(&large.id), []);
}

#[test]
fn dependencies_come_in_portions() {
    let members: Vec<String> = (0..300).map(|i| format!("S{i} m{i};")).collect();
    let types: Vec<String> = (0..300).map(|i| format!("@nested struct S{i} {{ long a{i}; }};")).collect();
    let (graph, index) = parse(&format!("{} struct T {{ {} }};", types.concat(), members.concat()));
    let objects = type_objects(&graph, index).unwrap();
    let mut library = TypeLibrary::default();
    library.add(&objects);
    let root = objects.root().unwrap().complete.id.clone();
    let (mut found, mut continuation_point) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let type_ids = vec![root.clone()];
        let call = Call::GetTypeDependencies(GetTypeDependenciesIn { type_ids, continuation_point });
        let reply = library.answer(&request(call, instance_name(&SERVER)), &SERVER).unwrap();
        let Return::GetTypeDependencies(GetTypeDependenciesResult::Ok(out)) = reply.result else { panic!() };
        found.extend(out.dependent_typeids);
        continuation_point = out.continuation_point;
        if continuation_point.is_empty() {
            break;
        }
    }
    let mut expected = objects.information().unwrap().complete.dependent_typeids;
    expected.sort();
    assert_eq!((found.len(), found), (300, expected));
}

#[test]
fn requests_cost_no_more_than_a_reply_holds() {
    let members: Vec<String> = (0..400).map(|i| format!("long a_long_name_of_a_member_{i};")).collect();
    let (graph, index) = parse(&format!("struct T {{ {} }};", members.concat()));
    let objects = type_objects(&graph, index).unwrap();
    let mut library = TypeLibrary::default();
    library.add(&objects);
    let root = objects.root().unwrap();
    let many = vec![root.complete.id.clone(); 10_000];
    let out = get(&library, many);
    let octets: usize = out.types.iter().map(|pair| to_octets(&pair.type_object).unwrap().len()).sum();
    assert!(octets <= MAX_REPLY_OCTETS && !out.types.is_empty(), "{octets}");
}

#[test]
fn requests_to_another_type_lookup_service_get_no_reply() {
    let library = TypeLibrary::default();
    let call = || Call::GetTypes(GetTypesIn::default());
    assert_eq!(library.answer(&request(call(), instance_name(&[1; 16])), &SERVER), None);
    assert_eq!(library.answer(&request(call(), String::new()), &SERVER), None);
    // Another entity of the same participant: some implementations are not exact about it.
    let mut sloppy = SERVER;
    sloppy[15] = 0;
    assert!(library.answer(&request(call(), instance_name(&sloppy)), &SERVER).is_some());
    // Everybody is asked: who knows nothing says nothing.
    assert_eq!(library.answer(&request(call(), instance_name(&[0; 16])), &SERVER), None);
    let (graph, index) = parse("struct T { long a; };");
    let objects = type_objects(&graph, index).unwrap();
    let mut knows = TypeLibrary::default();
    knows.add(&objects);
    let type_ids = vec![objects.root().unwrap().complete.id.clone()];
    let asked = request(Call::GetTypes(GetTypesIn { type_ids }), instance_name(&[0; 16]));
    assert!(knows.answer(&asked, &SERVER).is_some());
    let reply = library.answer(&request(Call::Unknown { operation: 9 }, instance_name(&SERVER)), &SERVER);
    assert_eq!(reply.unwrap().remote_ex, 4);
}

#[test]
fn type_objects_with_a_wrong_hash_are_refused() {
    let (graph, index) = parse("struct T { long a; };");
    let objects = type_objects(&graph, index).unwrap();
    let root = &objects.root().unwrap().complete;
    let pair = |type_identifier: TypeIdentifier| TypeIdentifierTypeObjectPair {
        type_identifier,
        type_object: root.object.clone(),
    };
    let lie = GetTypesOut { types: vec![pair(TypeIdentifier::Complete([1; 14]))], ..GetTypesOut::default() };
    let truth = GetTypesOut { types: vec![pair(root.id.clone())], ..GetTypesOut::default() };
    let mut library = TypeLibrary::new(1 << 20);
    assert_eq!(library.learn(&lie).refused, 1);
    assert!(library.is_empty());
    assert_eq!(library.learn(&truth).new, 1);
    let twice = GetTypesOut { types: vec![pair(root.id.clone()); 2], ..GetTypesOut::default() };
    let learned = TypeLibrary::new(1 << 20).learn(&twice);
    assert_eq!((learned.new, learned.refused), (1, 0), "told twice");
    assert_eq!(TypeLibrary::new(10).learn(&truth).over_quota, 1);
    assert_eq!(
        TypeLibrary::new(1 << 20)
            .learn_within(&truth, std::slice::from_ref(&root.id), 10, &mut vec![])
            .over_quota,
        1
    );
}

#[test]
fn type_objects_of_a_peer_are_forgotten_with_it_and_local_ones_stay() {
    let (graph, index) = parse("struct T { long a; };");
    let objects = type_objects(&graph, index).unwrap();
    let id = objects.root().unwrap().complete.id.clone();
    let mut server = TypeLibrary::default();
    server.add(&objects);
    let told = get(&server, vec![id.clone()]);
    let (mut library, mut taken) = (TypeLibrary::new(1 << 20), vec![]);
    let learned = library.learn_within(&told, std::slice::from_ref(&id), usize::MAX, &mut taken);
    assert_eq!((learned.octets, taken), (library.learned_octets(), vec![id.clone()]));
    library.forget(&id);
    assert_eq!((library.len(), library.learned_octets()), (0, 0));
    library.learn(&told);
    library.add(&objects);
    assert_eq!(library.learned_octets(), 0, "it is local now");
    library.forget(&id);
    assert!(library.get(&id).is_some());
}

/// The member ids of parameters are hashes of their names (§7.6.3.3.4).
#[test]
fn hashes_of_parameters() {
    for (name, id) in [
        ("type_ids", 0x0c53_6065),
        ("types", 0x0280_4ad1),
        ("complete_to_minimal", 0x0b8e_6577),
        ("dependent_typeids", 0x0ba4_dfc9),
        ("continuation_point", 0x0508_e3d2),
    ] {
        assert_eq!(object::hashed_id(name), id, "{name}");
    }
}

/// No shorter or damaged message does harm.
#[test]
fn damaged_messages() {
    let (graph, index) = parse(IDL);
    let mut library = TypeLibrary::default();
    library.add(&type_objects(&graph, index).unwrap());
    let ids: Vec<_> =
        type_objects(&graph, index).unwrap().records.iter().map(|r| r.complete.id.clone()).collect();
    let call = request(Call::GetTypes(GetTypesIn { type_ids: ids }), instance_name(&SERVER));
    let payload = message::encode(&library.answer(&call, &SERVER).unwrap()).unwrap();
    for end in 0..payload.len() {
        let _ = message::decode::<Reply>(&payload[..end]);
    }
    for at in 0..payload.len() {
        for bit in [1, 0x80, 0xff] {
            let mut damaged = payload.clone();
            damaged[at] ^= bit;
            let Ok(reply) = message::decode::<Reply>(&damaged) else { continue };
            if let Return::GetTypes(GetTypesResult::Ok(out)) = reply.result {
                let mut client = TypeLibrary::new(1 << 20);
                client.learn(&out);
            }
        }
    }
}
