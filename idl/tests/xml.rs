//! Types in XML: what IDL says goes to XML and back and is the same type; nothing in a file makes the compiler fail.

mod common;

use common::{files, parse};
use dunlin_idl::ir::Kind;
use dunlin_idl::xtypes::{to_xml, type_graph, type_graph_of};
use dunlin_idl::{Disk, Loader, Memory, Notation, Options, compile, convert, dump};
use dunlin_xtypes::type_objects;
use proptest::prelude::*;

/// The types of a file with everything that is announced of them.
fn described(path: &str, options: &Options, loader: &dyn Loader) -> Result<(String, Vec<String>), String> {
    let result = compile(path, options, loader);
    let model = result.model.as_ref().ok_or_else(|| result.render(false))?;
    let (graph, indices) = type_graph(model);
    let is_data = |id: &usize| !matches!(model.types().nth(*id).unwrap().1.kind, Kind::Exception(_));
    let objects = (0..indices.len()).filter(is_data).map(|id| indices[id]).map(|index| {
        let name = &graph.get(index).unwrap().name;
        match type_objects(&graph, index) {
            Ok(objects) => {
                let records: Vec<String> =
                    objects.records.iter().map(|it| format!("{:?} {:?}", it.minimal, it.complete)).collect();
                format!("{name}: {}", records.join("\n"))
            }
            Err(error) => format!("{name}: {error:?}"),
        }
    });
    // The order of types is that of their declaration in both.
    let mut objects: Vec<String> = objects.collect();
    objects.sort();
    Ok((without_exceptions(&dump(model)), objects))
}

/// XML has none.
fn without_exceptions(dump: &str) -> String {
    let mut inside = false;
    let lines = dump.lines().filter(|line| {
        inside = line.starts_with("exception ") || (inside && line.starts_with(' '));
        !inside
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Each type as it is known at run time: the XML that is made of it is the same type.
fn each_goes_round(path: &str, options: &Options, loader: &dyn Loader) -> (usize, Vec<String>) {
    let (mut count, mut refused) = (0, Vec::new());
    let model = compile(path, options, loader).model.unwrap();
    let (graph, indices) = type_graph(&model);
    for index in indices {
        let name = &graph.get(index).unwrap().name;
        let text = match to_xml(&graph, index) {
            Ok(text) => text,
            Err(why) => {
                refused.push(format!("{path}: {name}: {why}"));
                continue;
            }
        };
        count += 1;
        let made =
            compile("a.xml", &Options::default(), &Memory::default().with("a.xml", text.as_str())).model;
        let (again, root) = type_graph_of(&made.unwrap(), name).unwrap();
        let ids = |graph, root| {
            type_objects(graph, root).ok().map(|objects| {
                let ids = objects.records.iter().map(|it| (it.minimal.id.clone(), it.complete.id.clone()));
                let mut ids: Vec<String> = ids.map(|ids| format!("{ids:?}")).collect();
                ids.sort();
                ids
            })
        };
        assert_eq!(ids(&graph, index), ids(&again, root), "{path}: {name}\n{text}");
    }
    (count, refused)
}

/// Through XML, and from there through IDL: the same types. `Err` is why there is no XML.
fn goes_round(path: &str, options: &Options, loader: &dyn Loader) -> Result<(), String> {
    let before = described(path, options, loader).unwrap();
    let xml = convert(path, Notation::Xml, options, loader);
    let Some(text) = &xml.text else { return Err(xml.render(false)) };
    let plain = Options::default();
    let shown = |notation: &str, text: &str, error: String| panic!("{path} as {notation}: {error}\n{text}");
    let memory = Memory::default().with("made.xml", text.as_str());
    let after = described("made.xml", &plain, &memory).unwrap_or_else(|error| shown("XML", text, error));
    assert_eq!(before.0, after.0, "{path}\n{text}");
    assert_eq!(before.1, after.1, "{path}\n{text}");
    let idl = convert("made.xml", Notation::Idl, &plain, &memory);
    let text = idl.text.as_ref().unwrap_or_else(|| panic!("{path}: {}", idl.render(false)));
    let memory = Memory::default().with("made.idl", text.as_str());
    let again = described("made.idl", &plain, &memory).unwrap_or_else(|error| shown("IDL", text, error));
    assert_eq!(before.0, again.0, "{path}\n{text}");
    assert_eq!(before.1, again.1, "{path}\n{text}");
    Ok(())
}

#[test]
fn every_correct_input_of_the_corpus_goes_to_xml_and_back() {
    let (mut count, mut refused) = (0, Vec::new());
    for path in files() {
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            if case.compile().model.is_none() {
                continue;
            }
            match goes_round(case.main(), &case.options(), &case.files()) {
                Ok(()) => count += 1,
                Err(why) => refused.push((case.title.clone(), why)),
            }
        }
    }
    println!("{count} inputs, {} refused", refused.len());
    for (title, why) in &refused {
        assert!(why.contains("XML has no interfaces"), "{title}: {why}");
    }
    assert!(count >= 100 && refused.len() < 20, "{count}, {refused:?}");
}

#[test]
fn types_known_at_run_time_go_to_xml() {
    let (mut count, mut refused) = (0, Vec::new());
    let mut add = |(done, why): (usize, Vec<String>)| {
        count += done;
        refused.extend(why);
    };
    for path in files() {
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            if case.compile().model.is_some() {
                add(each_goes_round(case.main(), &case.options(), &case.files()));
            }
        }
    }
    let options = Options { include_dirs: vec!["../tests/idl/idl/common".into()], ..Options::default() };
    for path in [
        "../tests/idl/idl/kinds.idl",
        "../tests/idl/idl/annotated.idl",
        "../protocol/xtypes/tests/cyclone/final.idl",
    ] {
        add(each_goes_round(path, &options, &Disk));
    }
    println!("{count} types, {} refused", refused.len());
    assert!(count >= 300 && refused.is_empty(), "{count}, {refused:#?}");
}

#[test]
fn types_of_other_tests_go_to_xml_and_back() {
    let options = Options { include_dirs: vec!["../tests/idl/idl/common".into()], ..Options::default() };
    for name in ["kinds", "evolution", "names", "recursive", "video", "annotated"] {
        goes_round(&format!("../tests/idl/idl/{name}.idl"), &options, &Disk).unwrap();
    }
    // The types that are compared with those of Cyclone DDS, and others.
    for path in [
        "../protocol/xtypes/tests/cyclone/final.idl",
        "../protocol/xtypes/tests/cyclone/appendable.idl",
        "../tests/interop/peers/cyclone/report.idl",
        "../tools/shapes/idl/ShapeType.idl",
        "../apps/video/idl/VideoFrame.idl",
        "tests/golden/shapes.idl",
    ] {
        goes_round(path, &options, &Disk).unwrap();
    }
}

fn described_alone(text: &str) -> String {
    let memory = Memory::default().with("a.xml", text);
    let result = compile("a.xml", &Options::default(), &memory);
    assert!(result.model.is_some() || !result.diagnostics.is_empty(), "{text}");
    result.model.as_ref().map_or_else(|| result.render(false), dump)
}

/// Files in the field have such enumerations; in IDL literals stand in the scope around their enumeration, and are refused.
#[test]
fn enumerations_in_xml_may_share_literals() {
    let text = "<types><module name='M'>\
        <enum name='Lamp'><enumerator name='ON'/><enumerator name='OFF' value='5'/></enum>\
        <enum name='Pump'><enumerator name='OFF'/><enumerator name='ON' value='7'/></enum>\
        <struct name='S'><member name='lamp' type='nonBasic' nonBasicTypeName='Lamp' default='OFF'/>\
        <member name='pump' type='nonBasic' nonBasicTypeName='Pump' default='ON'/></struct></module></types>";
    let files = Memory::default().with("shared.xml", text);
    let options = Options::default();
    let result = compile("shared.xml", &options, &files);
    let told = dump(result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false))));
    let default = |member: &str| told.lines().find(|line| line.contains(member)).unwrap().to_owned();
    assert!(default(" lamp").contains("OFF") && default(" pump").contains("ON"), "{told}");
    assert!(goes_round_in_xml("shared.xml", &options, &files), "they stay XML");
    let as_idl = convert("shared.xml", Notation::Idl, &options, &files);
    assert!(
        as_idl.text.is_none() && as_idl.render(false).contains("declared already"),
        "{}",
        as_idl.render(false)
    );
    let twice = text.replace("<enumerator name='OFF' value='5'/>", "<enumerator name='ON' value='5'/>");
    let files = Memory::default().with("twice.xml", twice.as_str());
    assert!(compile("twice.xml", &options, &files).model.is_none(), "one enumeration has each literal once");
}

fn goes_round_in_xml(path: &str, options: &Options, files: &Memory) -> bool {
    convert(path, Notation::Xml, options, files).text.is_some()
}

#[test]
fn the_value_of_a_flag_is_its_position() {
    let flags = |attribute: &str| {
        let text = format!(
            "<types><bitmask name='Flags' bitBound='16'><flag name='A' {attribute}='3'/><flag name='B'/></bitmask></types>"
        );
        let files = Memory::default().with("flags.xml", text.as_str());
        described("flags.xml", &Options::default(), &files).unwrap()
    };
    assert_eq!(flags("value"), flags("position"));
    assert!(flags("value").0.contains('3') && flags("value").0.contains('4'), "{}", flags("value").0);
}

#[test]
fn messages_show_the_place() {
    let text =
        "<types>\n  <struct name=\"A\">\n    <member name=\"x\" type=\"int33\"/>\n  </struct>\n</types>\n";
    let shown = described_alone(text);
    for part in ["a.xml:3:28", "| ", "^^^^^", "did you mean"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn hostile_files_end_soon_with_an_error() {
    let many = |count: usize, part: &str| format!("<types>{}</types>", part.repeat(count));
    let deep = |count: usize| {
        format!("<types>{}{}</types>", "<module name=\"m\">".repeat(count), "</module>".repeat(count))
    };
    let wide =
        format!("<types><a {}/></types>", (0..50_000).map(|n| format!("a{n}='' ")).collect::<String>());
    let chain =
        format!("<types><const name=\"A\" type=\"int32\" value=\"1{}\"/></types>", " + 1".repeat(100_000));
    let sizes = format!(
        "<types><struct name=\"A\"><member name=\"a\" type=\"int32\" arrayDimensions=\"{}2\"/></struct></types>",
        "2,".repeat(100_000)
    );
    let inner = |count: usize| {
        let open = "<element sequenceMaxLength=\"-1\">".repeat(count);
        let close = "</element>".repeat(count);
        format!(
            "<types><typedef name=\"A\" sequenceMaxLength=\"-1\">{open}<element type=\"byte\"/>{close}</typedef></types>"
        )
    };
    for (text, wanted) in [
        (deep(100_000), "nested more than 100 deep"),
        (inner(1000), "nested more than 100 deep"),
        (many(50_000, "<struct name=\"A\"/>"), "`A` is declared already"),
        (many(1_000_001, "<a/>"), "not XML that can be read"),
        (many(101, "<module xmlns:a=\"b\" name=\"A\"/>"), "100 namespaces"),
        (wide, "100 attributes"),
        (chain, "nested more than 100 deep"),
        (sizes, "more than 4294967295 elements"),
        ("<types>&#x0;</types>".to_owned(), "not XML that can be read"),
        ("<types><!DOCTYPE a></types>".to_owned(), "document type declarations"),
        (format!("<types><struct name=\"{}\"/></types>", "é".repeat(100_000)), "is not a name"),
    ] {
        let shown = described_alone(&text);
        assert!(shown.contains(wanted), "{wanted}: {shown:.2000}");
    }
}

#[test]
fn includes_are_bounded() {
    let chain = (0..100).fold(Memory::default(), |files, n| {
        files.with(&format!("{n}.xml"), format!("<types><include file=\"{}.xml\"/></types>", n + 1))
    });
    let result = compile("0.xml", &Options::default(), &chain);
    assert!(
        result.render(false).contains("includes are nested more than 64 deep"),
        "{}",
        result.render(false)
    );
    let names = (0..20).map(|n| format!("<include file=\"{n}.xml\"/>")).collect::<String>();
    let files = (0..20).fold(Memory::default(), |files, n| files.with(&format!("{n}.xml"), "<types/>"));
    let mut options = Options::default();
    options.limits.includes = 10;
    let result = compile("a.xml", &options, &files.with("a.xml", format!("<types>{names}</types>")));
    assert!(result.render(false).contains("more than 10 files are included"), "{}", result.render(false));
}

#[test]
fn types_that_xml_cannot_express_are_refused_with_their_position() {
    for (text, wanted) in [
        ("interface I {};", "XML has no interfaces"),
        // Where it is in XML, nothing else may have its name.
        ("enum E { B }; union U switch (enum E { A }) { case A: long x; };", "`E` is declared"),
    ] {
        let files = Memory::default().with("a.idl", text);
        let made = convert("a.idl", Notation::Xml, &Options::default(), &files);
        assert!(made.text.is_none() && made.render(false).contains(wanted), "{}", made.render(false));
        assert!(made.render(false).contains("a.idl:1:"), "{}", made.render(false));
    }
    let files = Memory::default().with("a.idl", "struct A { long x; };");
    let options = Options { ros2_names: true, ..Options::default() };
    assert!(convert("a.idl", Notation::Xml, &options, &files).text.is_none());
}

/// XML has no types in others: what a discriminator declares is beside its union.
#[test]
fn a_type_declared_in_a_discriminator_goes_to_xml() {
    let text = "module m { union U switch (enum E { A, @value(7) B }) { case A: long x; case E::B: long y; };
                struct S { U u; }; };";
    let made = convert("a.idl", Notation::Xml, &Options::default(), &Memory::default().with("a.idl", text));
    let told = made.render(false);
    assert!(told.contains("a.idl:1:") && told.contains("its name is no longer `U::E`"), "{told}");
    let ids = |path: &str, text: &str| {
        let model = compile(path, &Options::default(), &Memory::default().with(path, text)).model.unwrap();
        let (graph, index) = type_graph_of(&model, "m::S").unwrap();
        type_objects(&graph, index).unwrap().root().unwrap().minimal.id.clone()
    };
    assert_eq!(ids("a.idl", text), ids("a.xml", &made.text.unwrap()));
}

const WORDS: &[&str] = &[
    "types",
    "dds",
    "module",
    "struct",
    "member",
    "union",
    "discriminator",
    "case",
    "caseDiscriminator",
    "enum",
    "enumerator",
    "bitmask",
    "flag",
    "bitset",
    "bitfield",
    "typedef",
    "const",
    "forward_dcl",
    "include",
    "annotation",
    "annotate",
    "verbatim",
    "text",
    "element",
    "mapKey",
    "type",
    "name",
    "nonBasicTypeName",
    "value",
    "key",
    "optional",
    "sequenceMaxLength",
    "stringMaxLength",
    "arrayDimensions",
    "mapKeyType",
    "mapMaxLength",
    "baseType",
    "default",
    "extensibility",
    "bitBound",
    "position",
    "kind",
    "file",
    "nonBasic",
    "int32",
    "string",
    "A",
    "B",
    "-1",
    "2,3",
    "true",
    "(A + 1)",
    "'x'",
    "\"",
    "&amp;",
    "a.xml",
];

fn document() -> impl Strategy<Value = String> {
    let word = || prop::sample::select(WORDS);
    let attributes = || prop::collection::vec((word(), word()), 0..6);
    let tag = (word(), attributes(), prop::sample::select(&[">", "/>", "></", ""][..]));
    let text = |(name, attributes, end): (&str, Vec<(&str, &str)>, &str)| {
        let attributes: String = attributes
            .iter()
            .map(|(name, value)| format!(" {name}='{}'", value.replace('"', "&quot;")))
            .collect();
        let close = if end == ">" { format!("</{name}>") } else { String::new() };
        (format!("<{name}{attributes}{end}"), close)
    };
    prop::collection::vec(tag.prop_map(text), 0..20).prop_map(|tags| {
        let open: String = tags.iter().map(|(open, _)| open.as_str()).collect();
        let close: String = tags.iter().rev().map(|(_, close)| close.as_str()).collect();
        format!("<types>{open}{close}</types>")
    })
}

proptest! {
    #[test]
    fn random_xml_elements_give_types_or_an_error(text in document()) {
        described_alone(&text);
    }

    #[test]
    fn damaged_files_end_in_types_or_an_error(at in 0_usize..4000, cut in 0_usize..20, word in prop::sample::select(WORDS)) {
        let memory = Memory::default().with("a.idl", std::fs::read("../tests/idl/idl/recursive.idl").unwrap());
        let whole = convert("a.idl", Notation::Xml, &Options::default(), &memory).text.unwrap();
        let at = (0..=at.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
        let end = (at + cut).min(whole.len());
        let end = (end..=whole.len()).find(|end| whole.is_char_boundary(*end)).unwrap_or(whole.len());
        let text = format!("{}{word}{}", &whole[..at], &whole[end..]);
        described_alone(&text);
        let files = Memory::default().with("a.xml", text.as_str());
        if compile("a.xml", &Options::default(), &files).model.is_some() {
            goes_round("a.xml", &Options::default(), &files).unwrap();
        }
    }
}
