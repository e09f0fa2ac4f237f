//! The formatter on everything there is: it changes no meaning, and has no wish to change its own result.

mod common;

use common::{files, parse};
use dunlin_idl::{Memory, Options, compile, dump, format};
use proptest::prelude::*;

fn meaning(text: &str) -> Option<String> {
    let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", text));
    result.model.as_ref().map(dump)
}

#[test]
fn the_corpus_keeps_its_meaning() {
    let (mut formatted, mut compared) = (0, 0);
    for path in files() {
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            let text = case.source.split(">>> ").next().unwrap();
            let Ok(once) = format("a.idl", text) else { continue };
            formatted += 1;
            assert_eq!(format("a.idl", &once).unwrap(), once, "{}", case.title);
            // Lines move, so what depends on their numbers changes.
            if !text.contains("__LINE__") {
                compared += usize::from(meaning(text).is_some());
                assert_eq!(meaning(&once), meaning(text), "{}\n{once}", case.title);
            }
        }
    }
    assert!(formatted > 150 && compared > 80, "{formatted} formatted, {compared} compared");
}

/// A sign that begins no line would begin a directive if it did.
#[test]
fn formatting_that_would_make_a_directive_is_refused() {
    assert!(format("a.idl", ";;#>").unwrap_err().contains("without changing its meaning"));
    assert_eq!(format("a.idl", "#define A(x) #x\n;").unwrap(), "#define A(x) #x\n;\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn random_text_is_formatted_or_refused(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "struct", "enum", "union", "switch", "case", "default", "module", "A", "b", "::", ":", ";", ",", "{", "}", "(",
                ")", "<", ">", "<<", "[", "]", "@", "@key", "\n", "\n\n\n", "// c\n", "/* c */", "/*\n * c\n */", "-", "1",
                "\"x\"", "sequence", "\n#if 1\n", "\n# x \\\n y\n", "/// d\n", "=",
            ]),
            0..60,
        ),
    ) {
        let text = words.join(" ");
        if let Ok(once) = format("a.idl", &text) {
            // Comments in strange places may move once more, but the second time must be the last.
            let twice = format("a.idl", &once).unwrap();
            prop_assert_eq!(format("a.idl", &twice).unwrap(), twice);
        }
    }
}
