//! No input does harm: not random octets, not random tokens, not pieces of real IDL.

use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::cpp::Cpp;
use dunlin_idl::python::Python;
use dunlin_idl::rust::Rust;
use dunlin_idl::{Limits, Memory, Options, compile, diff, dump, format};
use proptest::prelude::*;

fn run(text: &[u8]) {
    run_as("a.idl", text);
}

const ROS_PATHS: [&str; 3] = ["p/msg/A.msg", "p/srv/A.srv", "p/action/A.action"];

fn run_as(path: &str, text: &[u8]) {
    let limits = Limits { tokens: 20_000, diagnostics: 50, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    // It may include itself.
    let result = compile(path, &options, &Memory::default().with(path, text));
    assert!(result.model.is_some() || !result.diagnostics.is_empty());
    for diagnostic in &result.diagnostics {
        assert!(!diagnostic.render(&result.sources, false).is_empty());
        assert!(!diagnostic.short(&result.sources).is_empty());
    }
    if let Some(model) = &result.model {
        let _ = dump(model);
        let input = Input { model, main: result.main, path, includes: true };
        for backend in [&Rust::default() as &dyn Backend, &Cpp, &Python] {
            let _ = backend.generate(&input);
        }
        // A type of deeply nested arrays cannot be compared, but nothing else is wrong with it.
        assert!(diff(model, model).iter().all(|change| format!("{change:?}").contains("too deep")));
    }
    let _ = format("a.idl", &String::from_utf8_lossy(text));
}

const WORDS: &[&str] = &[
    "module",
    "struct",
    "union",
    "switch",
    "case",
    "default",
    "enum",
    "bitmask",
    "bitset",
    "bitfield",
    "typedef",
    "const",
    "interface",
    "exception",
    "raises",
    "attribute",
    "readonly",
    "void",
    "in",
    "out",
    "sequence",
    "map",
    "string",
    "wstring",
    "long",
    "short",
    "unsigned",
    "double",
    "float",
    "char",
    "octet",
    "boolean",
    "any",
    "fixed",
    "TRUE",
    "A",
    "B",
    "C",
    "a",
    "b",
    "M",
    "_A",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "[",
    "]",
    ";",
    ";",
    ";",
    ",",
    ":",
    "::",
    "=",
    "@",
    "@key",
    "@id(1)",
    "@optional",
    "@default(1)",
    "@annotation",
    "@final",
    "@value(3)",
    "@bit_bound(8)",
    "+",
    "-",
    "*",
    "/",
    "~",
    "|",
    "<<",
    ">>",
    "0",
    "1",
    "255",
    "1.5",
    "'x'",
    "\"x\"",
    "L\"x\"",
    "\n#define A B",
    "\n#define B(x) x A\n",
    "\n#if A\n",
    "\n#else\n",
    "\n#endif\n",
    "\n",
    "\n#include \"a.idl\"\n",
    "\n#pragma keylist A a.b\n",
    "B(",
    "##",
    "#",
    "//@key\n",
    "/* */",
    "/// doc\n",
    "valuetype",
    "\\",
];

const ROS_WORDS: &[&str] = &[
    "bool",
    "byte",
    "char",
    "int8",
    "uint64",
    "float64",
    "string",
    "wstring",
    "string<=3",
    "A",
    "p/A",
    "p/msg/A",
    "B",
    "builtin_interfaces/Time",
    "[]",
    "[3]",
    "[<=3]",
    "[",
    "]",
    "<=",
    " x",
    " y_z",
    " X",
    " X=",
    "=",
    " 1",
    " -1",
    " 1.5",
    " true",
    " \"x\"",
    " 'x",
    "#",
    " # a",
    "\n",
    "\n",
    "\n",
    "\n---\n",
    "é",
    "\\",
    "/",
    "0x",
    "99999999999999999999",
];

const REAL: &str = "#define N 3\nmodule M { enum E { X, @value(4) Y }; @bit_bound(8) bitmask F { P, Q };\n\
    bitset G { bitfield<3> a; bitfield<1>; }; struct S; typedef sequence<S, N> Ss;\n\
    @mutable struct S { @key long a; @id(7) @optional string<N> b; Ss c; E d[2][N]; map<long, F> e; @default(Y) E f; };\n\
    union U switch(E) { case X: long a; default: S s; }; exception Bad { string why; };\n\
    interface I { void f(in long x, out S s) raises(Bad); readonly attribute long y; };\n\
    @annotation Note { string text default \"x\"; }; @Note struct T : S { @Note(\"y\") long z; }; const long K = (1 << 4) | ~2; };\n";

#[test]
fn the_text_that_is_damaged_is_correct() {
    let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", REAL));
    // The derived structure is appendable, its base mutable: that alone is wrong.
    assert_eq!(result.diagnostics.len(), 1, "{}", result.render(false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn random_octets(text in proptest::collection::vec(any::<u8>(), 0..300)) {
        run(&text);
        ROS_PATHS.iter().for_each(|path| run_as(path, &text));
    }

    #[test]
    fn random_words(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..120)) {
        run(words.join(" ").as_bytes());
    }

    #[test]
    fn random_ros_words(words in proptest::collection::vec(proptest::sample::select(ROS_WORDS), 0..120)) {
        ROS_PATHS.iter().for_each(|path| run_as(path, words.concat().as_bytes()));
    }

    #[test]
    fn damaged_text(edits in proptest::collection::vec((0..REAL.len(), proptest::sample::select(WORDS), 0..30usize), 1..6)) {
        let mut text = REAL.to_owned();
        for (at, word, remove) in edits {
            let at = at.min(text.len());
            let end = (at + remove).min(text.len());
            text.replace_range(at..end, word);
        }
        run(text.as_bytes());
    }

    #[test]
    fn truncated_text(end in 0..REAL.len()) {
        run(&REAL.as_bytes()[..end]);
    }
}

#[test]
fn deep_and_long_inputs() {
    for part in [
        "(",
        "{",
        "sequence<",
        "module M {",
        "-",
        "[",
        "@a(",
        "struct S {",
        "map<long,",
        "#if 1\n",
        "::",
        "a::",
        "\"x\"",
        "1+",
        "typedef struct S {",
    ] {
        for before in ["", "const long a = ", "struct S { ", "#if "] {
            run(format!("{before}{}", part.repeat(5000)).as_bytes());
        }
    }
    run("@annotation A{".repeat(100_000).as_bytes());
    // Diamonds of bases, aliases of aliases, macros of macros.
    let mut text = String::from("interface I0 {}; interface J0 {};");
    for i in 1..60 {
        text += &format!("interface I{i} : I{0}, J{0} {{}}; interface J{i} : J{0}, I{0} {{}};", i - 1);
    }
    run(format!("{text} interface K : I59 {{ typedef Nothing X; }};").as_bytes());
    let chain: String = (1..2000).map(|i| format!("typedef T{} T{i};", i - 1)).collect();
    run(format!("typedef long T0; {chain} struct S {{ T1999 x; }};").as_bytes());
    let macros: String = (1..2000).map(|i| format!("#define M{i} M{}\n", i - 1)).collect();
    run(format!("{macros} struct S {{ long M1999; }};").as_bytes());
    let arrays: String = (1..900).map(|i| format!("typedef T{} T{i}[1];", i - 1)).collect();
    run(format!("typedef long T0[1]; {arrays} struct S {{ T899 x; }};").as_bytes());
    let arrays: String = (1..2000).map(|i| format!("typedef T{} T{i}[1];", i - 1)).collect();
    run(format!("typedef long T0[1]; {arrays} struct S {{ T1999 x; }};").as_bytes());
    for word in ["struct", "bitset"] {
        let part = if word == "struct" { "long" } else { "bitfield<1>" };
        let bases: String = (1..500).map(|i| format!("{word} T{i} : T{} {{ }};", i - 1)).collect();
        run(format!("{word} T0 {{ {part} a; }}; {bases}").as_bytes());
    }
    let nested: String = "F(".repeat(400) + &")".repeat(400);
    run(format!("#define F(x) x x\n{nested}").as_bytes());
}

/// A quote in an interface of ROS 2 looks for its end no further than there.
#[test]
fn a_line_of_many_quotes() {
    let line = format!("string a{}", " ''".repeat(1 << 18));
    let result = compile("p/msg/A.msg", &Options::default(), &Memory::default().with("p/msg/A.msg", line));
    assert!(result.model.is_none());
}

/// Each alias is gone through for each use of it: chains of them are bounded, as bases are.
#[test]
fn a_chain_of_aliases_ends() {
    let chain = |length: usize| {
        let links = (1..length).map(|n| format!("typedef A{} A{n};\n", n - 1));
        ["typedef long A0;\n".to_owned()].into_iter().chain(links).collect::<String>()
    };
    let errors = |text: &str| {
        let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", text));
        result.diagnostics.iter().map(|diagnostic| diagnostic.short(&result.sources)).collect::<Vec<_>>()
    };
    assert_eq!(errors(&chain(100)), [""; 0]);
    let refused = errors(&chain(101));
    assert!(
        matches!(&refused[..], [one] if one.contains("more than 100 aliases behind each other")),
        "{refused:?}"
    );
    let begin = std::time::Instant::now();
    assert!(!errors(&chain(20_000)).is_empty());
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
}
