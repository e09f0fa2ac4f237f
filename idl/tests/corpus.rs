//! Inputs with the results that they have to have: diagnostics and the resolved model.
//!
//! A case in `corpus/*.txt` begins with `=== name`, then options behind `|`. After the source, `>>> path` begins a
//! further file, and `---` the expected result; `\---` is such a line in the source. With `| main PATH` the first file
//! has another name than `a.idl`. `UPDATE=1 cargo test -p dunlin-idl --test corpus` writes the results
//! into the files: look at every difference before keeping it.

mod common;

use std::fmt::Write as _;

use common::{Case, files, parse};
use dunlin_idl::dump;

fn run(case: &Case) -> String {
    let result = case.compile();
    let mut out = String::new();
    for diagnostic in &result.diagnostics {
        writeln!(out, "{}", diagnostic.short(&result.sources)).unwrap();
        if let Some(hint) = &diagnostic.hint {
            writeln!(out, "  hint: {hint}").unwrap();
        }
        // Whatever is said can also be shown.
        assert!(
            diagnostic
                .render(&result.sources, false)
                .contains(diagnostic.message.lines().next().unwrap_or(""))
        );
    }
    if let Some(model) = &result.model {
        out.push_str(&dump(model));
    }
    out
}

#[test]
fn every_input_has_its_result() {
    let update = std::env::var_os("UPDATE").is_some();
    let (mut count, mut wrong) = (0, String::new());
    for path in files() {
        let mut written = String::new();
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            count += 1;
            let result = run(&case);
            if result != case.expected {
                writeln!(
                    wrong,
                    "{}: {}\n{}--- expected\n{}--- found\n{result}",
                    path.file_name().unwrap().display(),
                    case.title,
                    case.source,
                    case.expected
                )
                .unwrap();
            }
            write!(written, "=== {}\n{}---\n{result}", case.title, case.source).unwrap();
        }
        if update {
            std::fs::write(&path, written).unwrap();
        }
    }
    assert!(count >= 200, "{count} cases");
    assert!(update || wrong.is_empty(), "{wrong}");
    println!("{count} inputs");
}
