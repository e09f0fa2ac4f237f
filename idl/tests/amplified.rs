//! Little text that asks for much work or memory is refused before it has them.

use std::time::{Duration, Instant};

use dunlin_idl::{Limits, Memory, Options, compile, format};

/// How long anything here may take.
const TIME: Duration = Duration::from_secs(10);

/// Kibibytes that the process may have had at the same time.
const MEMORY: u64 = 1 << 20;

/// Kibibytes that the process has had at most, where the system says so.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The messages about a file that was compiled in bounded time and memory.
fn messages(limits: &Limits, files: Memory) -> Vec<String> {
    let options = Options { limits: limits.clone(), ..Options::default() };
    let begin = Instant::now();
    let result = compile("a.idl", &options, &files);
    let (elapsed, peak) = (begin.elapsed(), peak());
    assert!(elapsed < TIME, "{elapsed:?}");
    assert!(peak < MEMORY, "{peak} KiB");
    result.diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect()
}

/// Limits under which a text of some octets is large already.
fn small() -> Limits {
    Limits { tokens: 40_000, file_size: 2 << 20, ..Limits::default() }
}

fn refused(limits: &Limits, text: &str, message: &str) {
    let messages = messages(limits, Memory::default().with("a.idl", text));
    assert!(messages.iter().any(|it| it.contains(message)), "{:?}", messages.first());
}

const TOO_MUCH: &str = "more than 40000 tokens after includes and macros";

#[test]
fn arguments_that_are_pasted_are_paid_for() {
    let (uses, argument) = ("x##_ ".repeat(4000), "a ".repeat(9000));
    refused(&small(), &format!("#define F(x) {uses}\nF({argument})"), TOO_MUCH);
}

#[test]
fn a_token_that_grows_is_paid_for() {
    let (uses, argument) = ("x##".repeat(5000), "a".repeat(1000));
    refused(&small(), &format!("#define F(x) {uses}x\nF({argument})"), TOO_MUCH);
}

#[test]
fn arguments_that_become_strings_are_paid_for() {
    let (uses, argument) = ("#x ".repeat(4000), format!("{} ", "a".repeat(100)).repeat(9000));
    refused(&small(), &format!("#define F(x) {uses}\nF({argument})"), TOO_MUCH);
}

#[test]
fn text_that_a_macro_repeats_is_paid_for() {
    let long = "a".repeat(1 << 20);
    let members = |ty: &str| format!("{ty};").repeat(4000);
    let docs = format!("#define F(x) {}\nF(/** {long} */ struct S)", members("x"));
    refused(&small(), &docs, TOO_MUCH);
    let text = format!("#define X \"{long}\"\n{}", members("const string A = X"));
    refused(&small(), &text, TOO_MUCH);
    let file = format!("#line 1 \"{long}\"\n{}", members("const string A = __FILE__"));
    refused(&small(), &file, TOO_MUCH);
}

#[test]
fn comments_of_include_files_are_paid_for() {
    let files = Memory::default()
        .with("a.idl", "#include \"c.idl\"\n".repeat(4000))
        .with("c.idl", format!("/* {} */", "a".repeat(1 << 20)));
    let messages = messages(&small(), files);
    assert!(messages.iter().any(|it| it.contains(TOO_MUCH)), "{messages:?}");
}

#[test]
fn macros_have_bounded_parameters() {
    let with = |count: usize| {
        let params: Vec<String> = (0..count).map(|i| format!("p{i}")).collect();
        format!("#define F({}) const long A = 1;\nF({})", params.join(","), ",".repeat(count - 1))
    };
    let compiled = messages(&Limits::default(), Memory::default().with("a.idl", with(256)));
    assert_eq!(compiled, [""; 0]);
    refused(&Limits::default(), &with(257), "more than 256 parameters");
}

#[test]
fn a_chain_of_macros_is_bounded() {
    let chain: String = (1..50_000).map(|i| format!("#define M{} M{i}\n", i - 1)).collect();
    refused(&Limits::default(), &format!("{chain}M0"), "nested more than 256 deep");
}

#[test]
fn the_place_of_a_macro_is_found_at_once() {
    let text = format!("const long A = {}1;", "__LINE__+".repeat(200_000));
    messages(&Limits::default(), Memory::default().with("a.idl", text));
}

/// None of these is looked at again for each of its lines.
#[test]
fn lines_are_read_once() {
    let many = 200_000;
    for text in [
        format!("const long A = 1; {}", "///< behind\n".repeat(many)),
        format!("const long A = 1; {}", "//@key\n".repeat(many)),
        "\\\"\\\n".repeat(many),
        format!("#define F(x) x\nF({})", "\n".repeat(many)),
    ] {
        messages(&Limits::default(), Memory::default().with("a.idl", text));
    }
}

const REPEATED: &str = "names, values and documentation are repeated too often";

/// `count` times the text, with a number in place of each `#`.
fn numbered(text: &str, count: usize) -> String {
    (0..count).map(|i| text.replace('#', &i.to_string())).collect()
}

#[test]
fn text_that_declarations_repeat_is_paid_for() {
    let long = "a".repeat(1 << 20);
    let members = numbered(", a#", 4000);
    for text in [
        format!("struct S {{ /** {long} */ long a{members}; }};"),
        format!("/** {long} */ typedef long a{members};"),
        format!("interface I {{ /** {long} */ readonly attribute long a{members}; }};"),
        format!("const string A = \"{long}\"; {}", numbered("const string A# = A;", 4000)),
        format!("@default(\"{long}\") typedef string T; struct S {{ T a{members}; }};"),
        format!("struct S {{ @default(\"{long}\") string a{members}; }};"),
        format!("struct S {{ @unit(\"{long}\") long a{members}; }};"),
        format!("module {long} {{ {} }};", numbered("enum E# { A# };", 3000)),
        format!("@annotation A {{ string p default \"{long}\"; }}; {}", numbered("@A enum E# { A# };", 3000)),
        format!("struct S {{ /** {long} */ long a; }}; {}", numbered("struct D# : S {};", 3000)),
    ] {
        refused(&small(), &text, REPEATED);
    }
}

#[test]
fn values_that_declarations_repeat_are_paid_for() {
    let sum = (0..10).fold("1".to_owned(), |sum, _| format!("({sum}+{sum})"));
    refused(
        &small(),
        &format!("struct S {{ @default({sum}) long a{}; }};", numbered(", a#", 4000)),
        REPEATED,
    );
}

#[test]
fn annotations_have_bounded_parameters() {
    let with = |count: usize| format!("@annotation A {{ {} }};", numbered("long p# default 1;", count));
    assert_eq!(messages(&Limits::default(), Memory::default().with("a.idl", with(256))), [""; 0]);
    refused(&Limits::default(), &with(257), "at most 256 parameters");
}

/// Neither the annotations before nor names like it are looked through for each.
#[test]
fn names_are_looked_up() {
    let annotations = numbered("@annotation A# {};", 100_000);
    assert_eq!(messages(&Limits::default(), Memory::default().with("a.idl", annotations)), [""; 0]);
    let literals = numbered("Literal#,", 3000);
    let members = numbered("Literol# a#;", 100_000);
    let text = format!("enum E {{ {literals} Last }}; struct S {{ {members} }};");
    refused(&Limits::default(), &text, "is not declared");
}

#[test]
fn keys_of_pragmas_are_paid_for() {
    let (members, keys) = (numbered("long a#; ", 10_000), " a9999".repeat(4000));
    refused(&small(), &format!("struct S {{ {members} }};\n#pragma keylist S{keys}\n"), REPEATED);
}

/// What is open is not looked through for each token.
#[test]
fn layout_of_deep_nesting() {
    let begin = Instant::now();
    assert!(format("a.idl", &"(".repeat(1 << 20)).is_ok());
    assert!(begin.elapsed() < TIME, "{:?}", begin.elapsed());
}
