//! Annotations that the source declares itself, and `@verbatim`, in complete type objects (DDS-XTypes 1.3 Annex B).

use dunlin_idl::xtypes::{to_xml, type_graph_of};
use dunlin_idl::{Memory, Options, compile};
use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::lookup::TypeLibrary;
use dunlin_xtypes::object::annotation::{
    AnnotationParameterValue as Value, AppliedAnnotation, AppliedAnnotationParameter,
    AppliedVerbatimAnnotation,
};
use dunlin_xtypes::object::complete::*;
use dunlin_xtypes::object::name_hash;
use dunlin_xtypes::{
    TypeGraph, TypeIdentifier, TypeIndex, TypeObject, TypeObjects, from_objects, to_idl, type_objects,
};

fn types(path: &str, text: &str, name: &str) -> (TypeGraph, TypeIndex) {
    let result = compile(path, &Options::default(), &Memory::default().with(path, text));
    let model = result.model.as_ref().unwrap_or_else(|| panic!("{}\n{text}", result.render(false)));
    type_graph_of(model, name).unwrap_or_else(|| panic!("{name} is not in {text}"))
}

fn objects(text: &str, name: &str) -> TypeObjects {
    let (graph, index) = types("a.idl", text, name);
    type_objects(&graph, index).unwrap()
}

fn everything() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/idl/idl/annotated.idl");
    std::fs::read_to_string(path).unwrap()
}

/// The complete object of a declared annotation, with its identifier.
fn declared<'a>(objects: &'a TypeObjects, name: &str) -> (&'a TypeIdentifier, &'a CompleteAnnotationType) {
    let found = objects.annotations.iter().find_map(|it| match &it.object {
        TypeObject::Complete(CompleteTypeObject::Annotation(object))
            if object.header.annotation_name == name =>
        {
            Some((&it.id, object))
        }
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no {name}"))
}

fn complete<'a>(objects: &'a TypeObjects, name: &str) -> &'a CompleteTypeObject {
    let found = objects.records.iter().find_map(|it| match &it.complete.object {
        TypeObject::Complete(object) if format!("{object:?}").contains(&format!("type_name: {name:?}")) => {
            Some(object)
        }
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no {name}"))
}

fn parameter(name: &str, value: Value) -> AppliedAnnotationParameter {
    AppliedAnnotationParameter { paramname_hash: name_hash(name), value }
}

/// What is applied, as its identifiers and values: sorted as Annex B says.
fn applied(
    mut all: Vec<(&TypeIdentifier, Vec<AppliedAnnotationParameter>)>,
) -> Option<Vec<AppliedAnnotation>> {
    all.sort_by(|a, b| a.0.cmp(b.0));
    let all = all.into_iter().map(|(id, mut values)| {
        values.sort_by_key(|it| it.paramname_hash);
        let param_seq = Some(values).filter(|values| !values.is_empty());
        AppliedAnnotation { annotation_typeid: id.clone(), param_seq }
    });
    Some(all.collect())
}

#[test]
fn custom_annotations_are_kept_on_types_and_members() {
    let objects = objects(&everything(), "M::Reports");
    let (marked, _) = declared(&objects, "Marked");
    let ((since, _), (by, _)) = (declared(&objects, "Since"), declared(&objects, "M::Since"));
    let text = |text: &str| Value::String(text.to_owned());
    let CompleteTypeObject::Structure(reports) = complete(&objects, "M::Reports") else { panic!() };
    assert_eq!(reports.header.detail.ann_custom, applied(vec![(marked, vec![])]));
    let said = applied(vec![(by, vec![parameter("by", text("M"))])]);
    assert_eq!(reports.member_seq[0].detail.ann_custom, said, "with the default");
    let said = applied(vec![
        (by, vec![parameter("by", text("me"))]),
        (since, vec![parameter("version", Value::Int32(2))]),
        (marked, vec![]),
    ]);
    assert_eq!(reports.member_seq[1].detail.ann_custom, said);

    let CompleteTypeObject::Structure(report) = complete(&objects, "M::Report") else { panic!() };
    let verbatim = AppliedVerbatimAnnotation {
        placement: "AFTER_DECLARATION".to_owned(),
        language: "c++".to_owned(),
        text: "// \"said\"\n// twice".to_owned(),
    };
    assert_eq!(report.header.detail.ann_builtin.as_ref().unwrap().verbatim, Some(verbatim));
    assert_eq!(report.header.detail.ann_custom.as_ref().unwrap().len(), 3);
    assert_eq!(report.member_seq[0].detail.ann_custom, applied(vec![(marked, vec![])]));
    assert!(report.member_seq[2].detail.ann_custom.is_none());

    let CompleteTypeObject::Enumeration(sky) = complete(&objects, "M::Sky") else { panic!() };
    let of = |at: usize| sky.literal_seq[at].detail.ann_custom.clone();
    assert_eq!(of(0), applied(vec![(since, vec![parameter("version", Value::Int32(4))])]), "CLOUDY = -4");
    assert_eq!((of(1), of(2)), (None, applied(vec![(marked, vec![])])), "RAINY = -3, CLEAR = 0");
    let CompleteTypeObject::Bitmask(access) = complete(&objects, "M::Access") else { panic!() };
    assert_eq!(access.flag_seq[0].detail.ann_custom, applied(vec![(marked, vec![])]), "WRITE is bit 1");
    let CompleteTypeObject::Bitset(packed) = complete(&objects, "M::Packed") else { panic!() };
    assert_eq!(packed.field_seq[0].detail.ann_custom, applied(vec![(marked, vec![])]));
    let CompleteTypeObject::Alias(numbers) = complete(&objects, "M::Numbers") else { panic!() };
    assert_eq!(numbers.header.detail.ann_custom, applied(vec![(marked, vec![])]));
    assert_eq!(numbers.body.ann_custom, None);
}

#[test]
fn unions_have_them_on_discriminator_and_cases() {
    let objects = objects(&everything(), "M::Choice");
    let CompleteTypeObject::Union(choice) = complete(&objects, "M::Choice") else { panic!() };
    let marked = applied(vec![(declared(&objects, "Marked").0, vec![])]);
    assert_eq!(choice.header.detail.ann_custom, marked);
    assert_eq!(choice.discriminator.ann_custom, marked);
    assert_eq!(choice.member_seq[0].detail.ann_custom, marked);
    assert_eq!(choice.member_seq[2].detail.ann_custom, None);
}

#[test]
fn a_declaration_is_an_object_with_types_and_defaults() {
    let objects = objects(&everything(), "M::Report");
    let (_, object) = declared(&objects, "Everything");
    let names: Vec<&str> = object.member_seq.iter().map(|it| it.name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!((names.len(), &names), (20, &sorted), "ordered by name");
    let of = |name: &str| object.member_seq.iter().find(|it| it.name == name).unwrap();
    assert_eq!(of("i64").default_value, Value::Int64(i64::MIN));
    assert_eq!(of("u64").default_value, Value::UInt64(u64::MAX));
    assert_eq!(of("rank").default_value, Value::Enumerated(7));
    assert!(matches!(of("i32").default_value, Value::Extended { kind: kind::NONE, .. }), "none");
    assert_eq!(of("what").common.member_type_id, TypeIdentifier::NONE);
    // The enumeration that is declared in it is told with it.
    let grade = &of("rank").common.member_type_id;
    assert!(objects.annotations.iter().any(|it| it.id == *grade));
    let inside = matches!(
        &objects.annotations.iter().find(|it| it.id == *grade).unwrap().object,
        TypeObject::Complete(CompleteTypeObject::Enumeration(it)) if it.header.detail.type_name == "Everything::Grade"
    );
    assert!(inside);
}

/// Annotations change neither minimal objects nor what is announced as a dependency.
#[test]
fn annotations_change_neither_minimal_type_objects_nor_dependencies() {
    let with = "@annotation A { long x default 1; }; @A struct Inner { @A(2) long v; };
                @verbatim(text = \"x\") struct T { @A Inner inner; };";
    let without = "struct Inner { long v; }; struct T { Inner inner; };";
    let (with, without) = (objects(with, "T"), objects(without, "T"));
    let (told, plain) = (with.information().unwrap(), without.information().unwrap());
    assert_eq!(told.minimal, plain.minimal);
    assert_ne!(told.complete, plain.complete);
    assert_eq!(told.complete.dependent_typeid_count, 1);
    for (a, b) in with.records.iter().zip(&without.records) {
        assert_eq!(a.minimal, b.minimal);
        assert_ne!(a.complete.id, b.complete.id);
    }
    // What says nothing has the octets that it had before.
    assert_eq!(with.annotations.len(), 1);
    assert!(without.annotations.is_empty());
}

fn told_by(objects: &TypeObjects) -> TypeLibrary {
    use dunlin_xtypes::lookup::message::*;
    let mut server = TypeLibrary::default();
    server.add(objects);
    let mut client = TypeLibrary::new(1 << 20);
    let root = objects.root().unwrap().complete.id.clone();
    loop {
        let missing = client.missing(&root);
        if missing.is_empty() {
            return client;
        }
        let participant = [1; 16];
        let request = Request {
            request_id: SampleIdentity { writer_guid: [7; 16], high: 0, low: 1 },
            instance_name: dunlin_xtypes::lookup::instance_name(&participant),
            call: Call::GetTypes(GetTypesIn { type_ids: missing }),
        };
        // Through the octets, as on the wire.
        let reply = encode(&server.answer(&request, &participant).unwrap()).unwrap();
        let reply: Reply = decode(&reply).unwrap();
        let Return::GetTypes(GetTypesResult::Ok(out)) = reply.result else { panic!() };
        assert_eq!(client.learn(&out).refused, 0);
    }
}

/// Who asks for a type is told its annotations, and has the type as its source has it.
#[test]
fn annotations_survive_type_lookup_idl_and_xml() {
    for name in ["M::Reports", "M::Choice", "M::Node", "M::Plain"] {
        let (graph, index) = types("a.idl", &everything(), name);
        let objects = type_objects(&graph, index).unwrap();
        let root = objects.root().unwrap().complete.id.clone();
        let (learned, at) = told_by(&objects).load(&root).unwrap();
        let again = type_objects(&learned, at).unwrap();
        assert_eq!(again.root().unwrap().complete.id, root, "{name}: {}", to_idl(&learned, at));
        // As IDL and as XML it is the same type.
        let text = to_idl(&learned, at);
        let (of_idl, at_idl) = types("a.idl", &text, name);
        assert_eq!(type_objects(&of_idl, at_idl).unwrap().root().unwrap().complete.id, root, "{text}");
        let text = to_xml(&learned, at).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let (of_xml, at_xml) = types("a.xml", &text, name);
        assert_eq!(type_objects(&of_xml, at_xml).unwrap().root().unwrap().complete.id, root, "{text}");
    }
}

/// Who does not tell an annotation, or tells nonsense, has told the type without it.
#[test]
fn malformed_annotations_are_left_out_of_the_type_object() {
    let (graph, index) = types("a.idl", &everything(), "M::Reports");
    let objects = type_objects(&graph, index).unwrap();
    let root = objects.root().unwrap().complete.id.clone();
    let of = |id: &TypeIdentifier| {
        let types = objects.records.iter().map(|it| &it.complete);
        types.chain(&objects.annotations).find(|it| it.id == *id).map(|it| it.object.clone())
    };
    type Change<'a> = &'a dyn Fn(TypeObject) -> Option<TypeObject>;
    let annotation = |change: &dyn Fn(&mut CompleteAnnotationType), object: TypeObject| match object {
        TypeObject::Complete(CompleteTypeObject::Annotation(mut it)) => {
            change(&mut it);
            Some(TypeObject::Complete(CompleteTypeObject::Annotation(it)))
        }
        other => Some(other),
    };
    let unknown: Change<'_> = &|object| match object {
        TypeObject::Complete(CompleteTypeObject::Annotation(_)) => None,
        other => Some(other),
    };
    let long: Change<'_> = &|it| annotation(&|it| it.header.annotation_name = "x".repeat(257), it);
    let many: Change<'_> = &|it| {
        let grow = |it: &mut CompleteAnnotationType| {
            let one = it.member_seq.first().cloned();
            it.member_seq =
                one.into_iter().cycle().take(if it.member_seq.is_empty() { 0 } else { 100 }).collect();
            it.header.annotation_name.clear();
        };
        annotation(&grow, it)
    };
    for (what, change) in [("unknown", unknown), ("long", long), ("many", many)] {
        let (loaded, at) = from_objects(&root, &|id| of(id).and_then(change)).expect(what);
        let text = to_idl(&loaded, at);
        assert!(!text.contains("@annotation"), "{what}: {text}");
        assert!(text.contains("struct Reports"), "{what}: {text}");
    }
    // As many as an object has room for, all different: the type is there, with as many as are looked at.
    let mut asked = std::cell::Cell::new(0);
    let swarm = |id: &TypeIdentifier| match (of(id), id) {
        (Some(TypeObject::Complete(CompleteTypeObject::Structure(mut it))), _) => {
            let all = (0..20_000_u32).map(|at| {
                let mut hash = [0; 14];
                hash[..4].copy_from_slice(&at.to_be_bytes());
                AppliedAnnotation { annotation_typeid: TypeIdentifier::Complete(hash), param_seq: None }
            });
            it.header.detail.ann_custom = Some(all.collect());
            Some(TypeObject::Complete(CompleteTypeObject::Structure(it)))
        }
        (Some(other), _) => Some(other),
        (None, TypeIdentifier::Complete(hash)) => {
            asked.set(asked.get() + 1);
            let header = CompleteAnnotationHeader {
                annotation_name: format!("A{}", u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])),
            };
            let object = CompleteAnnotationType { annotation_flag: 0, header, member_seq: vec![] };
            Some(TypeObject::Complete(CompleteTypeObject::Annotation(object)))
        }
        _ => None,
    };
    let (loaded, at) = from_objects(&root, &swarm).unwrap();
    assert_eq!(loaded.annotations(at).unwrap().applied.len(), 256);
    assert!(*asked.get_mut() <= 256);
}

/// What type objects have no room for is told.
#[test]
fn annotations_beyond_a_type_object_give_a_warning() {
    let text = format!(
        "@annotation A {{ string s; }}; @A(\"{}\") struct T {{ @A(\"{}\") long x; }};",
        "x".repeat(129),
        "y".repeat(128)
    );
    let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", text.as_str()));
    let told = result.render(false);
    assert_eq!(
        told.matches("a text of more than 128 bytes is left out of type objects").count(),
        1,
        "{told}"
    );
    let objects = objects(&text, "T");
    let CompleteTypeObject::Structure(it) = complete(&objects, "T") else { panic!() };
    assert_eq!(it.header.detail.ann_custom.as_ref().unwrap()[0].param_seq, None);
    assert!(it.member_seq[0].detail.ann_custom.as_ref().unwrap()[0].param_seq.is_some());
}

/// The type of many parameters is looked at once: at first as that of a parameter, then as a type.
#[test]
fn types_of_parameters_are_looked_at_once() {
    let parameters: String = (0..60).map(|at| format!("E p{at} default X;")).collect();
    let text = format!("enum E {{ X, Y }}; @annotation A {{ {parameters} }}; @A struct T {{ long x; }};");
    let objects = objects(&text, "T");
    let root = objects.root().unwrap().complete.id.clone();
    let asked = std::cell::Cell::new(0);
    let of = |id: &TypeIdentifier| {
        let types = objects.records.iter().map(|it| &it.complete);
        let found = types.chain(&objects.annotations).find(|it| it.id == *id)?;
        if matches!(found.object, TypeObject::Complete(CompleteTypeObject::Enumeration(_))) {
            asked.set(asked.get() + 1);
        }
        Some(found.object.clone())
    };
    let (loaded, at) = from_objects(&root, &of).unwrap();
    assert_eq!(loaded.annotations(at).unwrap().applied.len(), 1);
    assert_eq!(asked.get(), 2);
}

/// One type applies no more annotations than are looked at, however small they are.
#[test]
fn annotations_applied_in_one_type_are_bounded() {
    let objects = objects("@annotation A {}; @A struct T { long x; };", "T");
    let root = objects.root().unwrap().complete.id.clone();
    let of = |id: &TypeIdentifier| {
        let types = objects.records.iter().map(|it| &it.complete);
        let found = types.chain(&objects.annotations).find(|it| it.id == *id)?;
        let mut object = found.object.clone();
        if let TypeObject::Complete(CompleteTypeObject::Structure(it)) = &mut object {
            let one = it.header.detail.ann_custom.take().unwrap();
            it.header.detail.ann_custom = Some(one.into_iter().cycle().take(10_000).collect());
        }
        Some(object)
    };
    let (loaded, at) = from_objects(&root, &of).unwrap();
    assert_eq!(loaded.annotations(at).unwrap().applied.len(), 4096);
}

/// A type where an enumeration is only that of a parameter takes nothing from one that has it as a member.
#[test]
fn an_enumeration_of_parameters_keeps_its_minimal_identifier() {
    use dunlin_xtypes::lookup::message::*;
    const ENUM: &str = "enum E { X, Y }; @annotation A { E e; };";
    let member = objects(&format!("{ENUM} struct T {{ E e; }};"), "T");
    let applied = objects(&format!("{ENUM} @A(e = X) struct U {{ long x; }};"), "U");
    let is_enum = |it: &TypeObject| matches!(it, TypeObject::Complete(CompleteTypeObject::Enumeration(_)));
    let record = member.records.iter().find(|it| is_enum(&it.complete.object)).unwrap();
    let mut library = TypeLibrary::default();
    library.add(&member);
    library.add(&applied);
    let participant = [1; 16];
    let request = Request {
        request_id: SampleIdentity { writer_guid: [7; 16], high: 0, low: 1 },
        instance_name: dunlin_xtypes::lookup::instance_name(&participant),
        call: Call::GetTypes(GetTypesIn { type_ids: vec![record.complete.id.clone()] }),
    };
    let reply = library.answer(&request, &participant).unwrap();
    let Return::GetTypes(GetTypesResult::Ok(out)) = reply.result else { panic!() };
    assert_eq!(out.complete_to_minimal.len(), 1);
    assert_eq!(out.complete_to_minimal[0].type_identifier2, record.minimal.id);
}
