//! What the back ends for C++ and Python make of special cases; that their octets are right is shown in `tests/idl`.

use dunlin_idl::backend::{Backend, Generated, Input};
use dunlin_idl::cpp::Cpp;
use dunlin_idl::python::Python;
use dunlin_idl::rust::Rust;
use dunlin_idl::{Diagnostic, Memory, Options, compile};

fn generate(backend: &dyn Backend, idl: &str, includes: bool) -> Result<Generated, Vec<Diagnostic>> {
    let files = Memory::default().with("a.idl", idl).with("b.idl", "module B { struct Inner { long x; }; };");
    let result = compile("a.idl", &Options::default(), &files);
    let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
    backend.generate(&Input { model, main: result.main, path: "dir/a.idl", includes })
}

fn text(backend: &dyn Backend, idl: &str) -> String {
    generate(backend, idl, true).unwrap().files[0].1.clone()
}

const BOTH: [&dyn Backend; 2] = [&Cpp, &Python];

#[test]
fn files_have_the_name_of_the_input() {
    let names = |backend| -> Vec<String> {
        generate(backend, "struct A {};", true).unwrap().files.into_iter().map(|file| file.0).collect()
    };
    assert_eq!(names(&Cpp), ["a.hpp", "dunlin/cdr.hpp"]);
    assert_eq!(names(&Python), ["a.py", "dunlin_cdr.py"]);
}

#[test]
fn included_types_can_be_left_out() {
    for backend in BOTH {
        let idl = "#include \"b.idl\"\nstruct A { B::Inner x; };";
        assert!(generate(backend, idl, true).unwrap().files[0].1.contains("\"B::Inner\""));
        assert!(!generate(backend, idl, false).unwrap().files[0].1.contains("\"B::Inner\""));
    }
}

#[test]
fn words_of_the_language_are_no_names() {
    let cpp = text(&Cpp, "module namespace { struct class_t { long template; }; };");
    assert!(
        cpp.contains("namespace _cxx_namespace {") && cpp.contains("std::int32_t _cxx_template = 0;"),
        "{cpp}"
    );
    let python = text(&Python, "module lambda { struct A { long pass; long serialize; }; };");
    assert!(python.contains("class lambda_:") && python.contains("    pass_: int"), "{python}");
    assert!(python.contains("cdr.Member(\"serialize_\", 1, cdr.INT32)"), "{python}");
}

#[test]
fn types_come_after_what_they_contain() {
    let cpp =
        text(&Cpp, "struct B; struct A { @external B b; }; struct B { long x; }; struct C { A a[2]; };");
    let at = |what: &str| cpp.find(what).unwrap_or_else(|| panic!("{what}: {cpp}"));
    assert!(
        at("struct A {") < at("struct C {") && at("::dunlin::cdr::Box<::B> b;") > at("struct B;"),
        "{cpp}"
    );
    let chain = text(&Cpp, "struct Chain { long value; @optional Chain next; };");
    assert!(chain.contains("std::optional<::dunlin::cdr::Box<::Chain>> next;"), "{chain}");
}

#[test]
fn defaults_are_those_of_the_idl() {
    let idl = "enum E { X, @default_literal Y }; struct A { @default(5) long a; @default(\"q\\\"\") string b; E c; E d[2][3]; };";
    let cpp = text(&Cpp, idl);
    for line in [
        "std::int32_t a = 5;",
        "std::string b = \"q\\\"\";",
        "::E c = ::E::Y;",
        "d = ::dunlin::cdr::filled<std::array<std::array<::E, 3>, 2>>(::E::Y);",
    ] {
        assert!(cpp.contains(line), "{line}: {cpp}");
    }
    let python = text(&Python, idl);
    assert!(python.contains("a: int = field(default_factory=lambda: 5)"), "{python}");
    assert!(python.contains("cdr.Enumeration(E, 32, E.Y)"), "{python}");
}

#[test]
fn text_is_put_where_it_belongs() {
    for (backend, language) in BOTH.iter().zip(["c++", "python"]) {
        let note = |language: &str| {
            format!("@verbatim(language = \"{language}\", text = \"// text\") struct A {{}};")
        };
        assert!(text(*backend, &note(language)).contains("// text"));
        assert!(text(*backend, &note("*")).contains("// text"));
        assert!(!text(*backend, &note("java")).contains("// text"));
    }
}

#[test]
fn unsupported_types_are_refused_by_each_language() {
    for backend in BOTH {
        let idl = "interface I { struct Inside { long x; }; attribute long level; }; struct Beside { I::Inside it; };";
        let made = generate(backend, idl, true).unwrap();
        assert_eq!(made.diagnostics.len(), 1);
        assert!(made.files[0].1.contains("Inside") && made.files[0].1.contains("Beside"));
        let restricted = generate(backend, "@data_representation(XCDR1) struct A {};", true).unwrap();
        assert_eq!(restricted.diagnostics.len(), 1);
    }
    assert!(generate(&Python, "const string S = \"\\xff\";", true).is_err());
    assert!(generate(&Cpp, "const string S = \"\\xff\";", true).unwrap().files[0].1.contains("\"\\377\""));
}

/// A comment stays a comment: no line of it continues on the next, or ends where a compiler sees the end of a line.
#[test]
fn comments_end_where_they_should() {
    let idl = "/// tail \\ \\ \n@verbatim(language = \"java\", text = \"\") struct A {\n\
        /// one \u{1}\rlong injected;\n long x; };";
    let cpp = text(&Cpp, idl);
    assert!(cpp.contains("/// tail\nstruct A {"), "{cpp}");
    assert!(
        !cpp.contains(['\r', '\u{1}']) && !cpp.lines().any(|line| line.starts_with("long injected")),
        "{cpp}"
    );
    assert!(!text(&Python, idl).contains(['\r', '\u{1}']));
}

/// `tests/idl` compiles such names.
#[test]
fn names_of_the_code_are_not_those_of_members() {
    let cpp = text(&Cpp, "bitmask M { A }; struct M_bits { long x; }; bitmask N { B };");
    assert!(cpp.contains("struct M_bits_ {") && cpp.contains("struct N_bits {"), "{cpp}");
}

/// IDL of ROS 2 gets the names that ROS 2 announces, in every language; what else is in its modules stays where it is.
#[test]
fn names_of_ros() {
    let pose = "#include \"geo.idl\"\nmodule demo { module msg {
        module Pose_Constants { const uint8 FAST = 3; };
        typedef double double__2[2];
        @verbatim (language=\"comment\", text=\"a pose\") struct Pose { double__2 at; geo::msg::Point point; @default (value=4) int8 kind; };
        struct Path { sequence<Pose, 5> poses; };
        typedef Path PathAlias; @mutable struct Loose { PathAlias path; };
    }; module srv { struct Reset_Request { boolean hard; }; struct Reset_Response { demo::msg::Pose pose; }; }; };
    struct Outside { demo::msg::Path path; };";
    let geo = "module geo { module msg { struct Point { double x; double y; }; }; };";
    let files = Memory::default()
        .with("demo/msg/Pose.idl", pose)
        .with("geo.idl", geo)
        .with("plain.idl", "struct S { long x; };");
    let options = Options { ros2_names: true, include_dirs: vec![".".into()], ..Options::default() };
    let result = compile("demo/msg/Pose.idl", &options, &files);
    let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
    assert!(result.diagnostics.is_empty(), "{}", result.render(false));
    let dumped = dunlin_idl::dump(model);
    for line in [
        "struct geo::msg::dds_::Point_ final",
        "struct demo::msg::dds_::Pose_ final",
        "struct demo::msg::dds_::Loose_ mutable",
        "struct demo::srv::dds_::Reset_Request_ final",
        "struct Outside appendable",
    ] {
        assert!(dumped.contains(line), "{line}: {dumped}");
    }
    for (backend, words) in [
        (
            &Cpp as &dyn Backend,
            ["namespace demo::msg::dds_ {", "struct Pose_ {", "\"demo::msg::dds_::Path_\"", "Pose_Constants"],
        ),
        (
            &Python,
            [
                "class dds_:",
                "class demo_msg_dds__Pose_(",
                "\"demo::msg::dds_::Path_\"",
                "class Pose_Constants:",
            ],
        ),
        (
            &Rust::default(),
            ["pub mod dds", "\"demo::msg::dds_::Pose_\"", "\"demo::msg::dds_::Path_\"", "pub const FAST"],
        ),
    ] {
        let input = Input { model, main: result.main, path: "demo/msg/Pose.idl", includes: true };
        let text = backend.generate(&input).unwrap().files[0].1.clone();
        for word in words {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    let plain = compile("plain.idl", &options, &files);
    assert!(
        plain.model.is_some() && plain.render(false).contains("module msg, srv or action"),
        "{}",
        plain.render(false)
    );
    let twice = "module p { module msg { module dds_ { struct A_ { long x; }; }; struct A { long x; }; }; };";
    let files = Memory::default().with("twice.idl", twice);
    let twice = compile("twice.idl", &options, &files);
    assert!(
        twice.model.is_none() && twice.render(false).contains("p::msg::dds_::A_"),
        "{}",
        twice.render(false)
    );
}
