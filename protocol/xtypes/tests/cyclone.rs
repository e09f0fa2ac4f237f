//! Type identifiers, type objects and type information against those that Cyclone DDS's IDL compiler makes
//! (`tests/cyclone`), byte for byte.

use std::collections::BTreeMap;
use std::path::Path;

use dunlin_idl::{Disk, Extensibility, Model, Options, compile};
use dunlin_xtypes::{
    TypeIdentifier, TypeInformation, TypeObject, TypeObjects, from_octets, to_octets, type_objects,
};

struct Golden {
    /// Type information by name, `::` written as `_`.
    information: BTreeMap<String, Vec<u8>>,
    objects: BTreeMap<TypeIdentifier, Vec<u8>>,
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn golden(file: &str) -> Golden {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cyclone").join(file);
    let mut golden = Golden { information: BTreeMap::new(), objects: BTreeMap::new() };
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let mut words = line.split(' ');
        let (kind, name) = (words.next().unwrap(), words.next().unwrap());
        let octets = hex(words.next().unwrap());
        if kind == "info" {
            golden.information.insert(name.into(), octets);
        } else {
            golden.objects.insert(from_octets(&hex(name)).unwrap(), octets);
        }
    }
    golden
}

fn model(file: &str, default_extensibility: Extensibility) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cyclone").join(file);
    let options = Options { default_extensibility, ..Options::default() };
    let compilation = compile(path.to_str().unwrap(), &options, &Disk);
    compilation.model.unwrap_or_else(|| panic!("{}", compilation.diagnostics.len()))
}

/// Compares an object of ours with the one of the same name.
fn check_objects(name: &str, objects: &TypeObjects, golden: &Golden, wrong: &mut Vec<String>) {
    for record in &objects.records {
        for ours in [&record.minimal, &record.complete] {
            let octets = to_octets(&ours.object).unwrap();
            assert_eq!(from_octets::<TypeObject>(&octets).unwrap(), ours.object, "{name}");
            match golden.objects.get(&ours.id) {
                Some(theirs) => assert_eq!(&octets, theirs, "{name}"),
                None => wrong.push(format!("{name}: {}", print(&octets))),
            }
        }
    }
}

fn print(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Every type of a file; how many topic types and objects there were.
fn compare(file: &str, extensibility: Extensibility) -> (usize, usize) {
    let golden = golden(&format!("{file}.golden"));
    let (graph, _) = dunlin_idl::xtypes::type_graph(&model(&format!("{file}.idl"), extensibility));
    let (mut wrong, mut topics) = (Vec::new(), 0);
    for (index, definition) in graph.iter() {
        let Some(theirs) = golden.information.get(&definition.name.replace("::", "_")) else { continue };
        topics += 1;
        let objects = type_objects(&graph, index).unwrap();
        check_objects(&definition.name, &objects, &golden, &mut wrong);
        let theirs: TypeInformation = from_octets(theirs).unwrap();
        let ours = objects.information().unwrap();
        if ours.clone().normalized() != theirs.clone().normalized() {
            wrong.push(format!("{}: information", definition.name));
        }
        assert_eq!(from_octets::<TypeInformation>(&to_octets(&ours).unwrap()).unwrap(), ours);
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(topics, golden.information.len(), "types that are not in the IDL");
    (topics, golden.objects.len())
}

/// Everything that Cyclone made survives decoding and encoding.
#[test]
fn round_trip() {
    for file in ["final.golden", "appendable.golden"] {
        let golden = golden(file);
        for (id, octets) in &golden.objects {
            let object: TypeObject = from_octets(octets).unwrap();
            assert_eq!(&to_octets(&object).unwrap(), octets);
            assert_eq!(&object.identifier().unwrap(), id);
        }
        for octets in golden.information.values() {
            // Cyclone gives the lengths of mutable members another form, which readers take as well.
            let information: TypeInformation = from_octets(octets).unwrap();
            let again = to_octets(&information).unwrap();
            assert_eq!(from_octets::<TypeInformation>(&again).unwrap(), information);
        }
    }
}

#[test]
fn default_final() {
    let (topics, objects) = compare("final", Extensibility::Final);
    assert!(topics >= 70 && objects >= 190, "{topics} {objects}");
}

#[test]
fn default_appendable() {
    assert_eq!(compare("appendable", Extensibility::Appendable), (5, 18));
}

/// Types of Cyclone's objects alone have the same objects again, and are assignable to themselves.
#[test]
fn types_of_their_objects() {
    let everything = dunlin_qos::TypeConsistencyEnforcement::default();
    for file in ["final.golden", "appendable.golden"] {
        let golden = golden(file);
        let object = |id: &TypeIdentifier| Some(from_octets(golden.objects.get(id)?).unwrap());
        for octets in golden.information.values() {
            let information: TypeInformation = from_octets(octets).unwrap();
            let complete = &information.complete.typeid_with_size.type_id;
            let (graph, index) = dunlin_xtypes::from_objects(complete, &object).unwrap();
            let ours = type_objects(&graph, index).unwrap().information().unwrap();
            assert_eq!(ours.normalized(), information.clone().normalized());
            let minimal = &information.minimal.typeid_with_size.type_id;
            let (least, root) = dunlin_xtypes::from_objects(minimal, &object).unwrap();
            let again = type_objects(&least, root).unwrap().information().unwrap();
            assert_eq!(again.minimal.typeid_with_size.type_id, *minimal, "names are known by their hashes");
            let reader = dunlin_xtypes::TypeIn { graph: &least, index: root };
            let writer = dunlin_xtypes::TypeIn { graph: &graph, index };
            let xcdr2 = dunlin_cdr::Representation::Xcdr2;
            assert_eq!(dunlin_xtypes::assignable(reader, writer, &everything, xcdr2), Ok(()));
        }
    }
}
