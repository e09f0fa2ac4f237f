//! The text of generated Rust code, and what the back end refuses. `UPDATE=1` writes the expected text.

use std::path::Path;

use dunlin_idl::build::Build;
use dunlin_idl::rust::{RustOptions, generate};
use dunlin_idl::{Memory, Options, compile};

fn golden(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name))
        .unwrap_or_default()
}

fn generated(options: &RustOptions) -> String {
    let files = Memory::default()
        .with("shapes.idl", golden("shapes.idl"))
        .with("included.idl", golden("included.idl"));
    let result = compile("shapes.idl", &Options::default(), &files);
    let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
    generate(model, result.main, options).unwrap().0
}

#[test]
fn the_code_is_as_expected() {
    let code = generated(&RustOptions::default());
    if std::env::var_os("UPDATE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/shapes.rs.txt");
        std::fs::write(path, &code).unwrap();
    }
    assert_eq!(code, golden("shapes.rs.txt"));
}

#[test]
fn included_types_can_be_left_out() {
    let options = RustOptions { includes: false, cdr: "::other::cdr".into() };
    let code = generated(&options);
    assert!(!code.contains("pub mod included") && code.contains("super::included::Stamp"), "{code}");
    assert!(code.contains("crate = \"::other::cdr\""), "{code}");
}

#[test]
fn unsupported_types_are_refused() {
    for (text, part) in [
        ("@data_representation(XML) struct S { long x; };", "allows XML alone"),
        ("bitmask M { A, B }; union U switch(M) { case A | B: long x; };", "single bits as labels"),
        ("struct S { @default(\"\\xff\") string x; };", "not UTF-8"),
    ] {
        let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", text));
        let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
        let errors = generate(model, result.main, &RustOptions::default()).unwrap_err();
        assert!(errors.iter().any(|error| error.message.contains(part)), "{text}: {errors:?}");
    }
}

#[test]
fn the_data_representation_is_that_of_the_topic_type() {
    for (mask, part) in
        [("XCDR1", Some("\"xcdr1\"")), ("XCDR2 | XML", Some("\"xcdr2\"")), ("XCDR1 | XCDR2", None)]
    {
        let text = format!("@data_representation({mask}) struct S {{ long x; }};");
        let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", text));
        let (code, warnings) =
            generate(&result.model.unwrap(), result.main, &RustOptions::default()).unwrap();
        assert!(warnings.is_empty());
        assert_eq!(code.contains("data_representation"), part.is_some(), "{code}");
        assert!(part.is_none_or(|part| code.contains(&format!("data_representation = {part}"))), "{code}");
    }
}

/// Types beside and inside of interfaces make code, interfaces a warning.
#[test]
fn interfaces_are_left_out_with_a_warning() {
    let text = "module M { struct Before { long x; }; interface Calc : Base { enum Op { ADD }; exception Wrong { Op op; };
        const long MOST = 3; attribute long level; void run(in Op op) raises(Wrong); }; struct After { Calc::Op op; }; };";
    let text = format!("module M {{ interface Base {{ typedef long Number; }}; }}; {text}");
    let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", text));
    let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
    let (code, warnings) = generate(model, result.main, &RustOptions::default()).unwrap();
    for part in [
        "pub struct Before",
        "pub mod calc {",
        "pub enum Op",
        "pub struct Wrong",
        "pub const MOST: i32 = 3;",
        "pub op: calc::Op,",
        "pub type Number = i32;",
        "name = \"M::Calc::Op\"",
    ] {
        assert!(code.contains(part), "{part}: {code}");
    }
    assert!(!code.contains("level") && !code.contains("run"), "{code}");
    let told: Vec<_> = warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|message| message.contains("makes no code of the interface `M::")), "{told:?}");
}

#[test]
fn a_build_step_writes_code_and_names_its_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("shapes.idl");
    std::fs::write(&input, golden("shapes.idl")).unwrap();
    std::fs::create_dir(folder.path().join("inc")).unwrap();
    std::fs::write(folder.path().join("inc/included.idl"), golden("included.idl")).unwrap();
    let build = Build::new().include(folder.path().join("inc")).out_dir(folder.path().join("out"));
    let made = build.try_compile(&input).unwrap();
    assert_eq!(made.files.len(), 2);
    assert!(made.output.ends_with("out/shapes.rs"));
    assert!(std::fs::read_to_string(&made.output).unwrap().contains("pub struct ShapeType"));
    let error = Build::new().out_dir(folder.path()).try_compile(&input).unwrap_err();
    assert!(error.contains("cannot find the include file `included.idl`"), "{error}");
    let error = build.try_compile(Path::new("none.idl")).unwrap_err();
    assert!(error.contains("there is no such file"), "{error}");
}
