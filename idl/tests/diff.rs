//! Comparisons of two versions with the results that they have to have; `UPDATE=1` writes them.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::parse;
use dunlin_idl::{Change, Memory, Options, compile, diff, diff_text};

fn compare(source: &str) -> Vec<Change> {
    let (old, new) = source.split_once(">>>\n").expect("two versions");
    let files = Memory::default().with("old.idl", old).with("new.idl", new);
    let model = |path| {
        let result = compile(path, &Options::default(), &files);
        result.model.unwrap_or_else(|| panic!("{:?}", result.diagnostics))
    };
    diff(&model("old.idl"), &model("new.idl"))
}

#[test]
fn every_comparison_has_its_result() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/diff.txt");
    let (mut written, mut wrong) = (String::new(), String::new());
    for case in parse(&std::fs::read_to_string(&path).unwrap()) {
        let result = diff_text(&compare(&case.source), "old", "new");
        if result != case.expected {
            writeln!(wrong, "{}\n--- expected\n{}--- found\n{result}", case.title, case.expected).unwrap();
        }
        write!(written, "=== {}\n{}---\n{result}", case.title, case.source).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, written).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Without a change, every type of the corpus understands itself.
#[test]
fn diff_of_a_model_with_itself_is_empty() {
    for path in common::files() {
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            let text = case.source.split(">>> ").next().unwrap();
            let result = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", text));
            if let Some(model) = result.model {
                assert_eq!(diff(&model, &model), [], "{}", case.title);
            }
        }
    }
}
