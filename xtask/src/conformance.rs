//! The conformance table: `docs/conformance.md`, made from `docs/conformance.in`, in which every row names the tests that
//! show it. A row without a test, or with one that does not exist, fails, and so does an operation of the PIM or
//! a feature of RTPS without a row.
//!
//! The source has lines of six forms: `# comment`, `use alias = folder`, `== Section`, `> text`, those of the matrix of
//! policies, see [`matrix`], and rows `name | state | alias/file::test, … | remark`. The state is `effective`, `partly` (the remark says what is missing) or
//! `refused` (the tests show the refusal).

mod features;
mod matrix;
mod operations;
mod results;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use syn::visit::{self, Visit};

const SOURCE: &str = "docs/conformance.in";
const TABLE: &str = "docs/conformance.md";
/// Every policy named here needs a row.
const POLICIES: &str = "protocol/qos/src/id.rs";
/// Longest line of a paragraph.
const WIDTH: usize = 200;
const STATES: [&str; 3] = ["effective", "partly", "refused"];

#[derive(Debug, PartialEq)]
enum Line {
    Section(String),
    Text(String),
    Row(Row),
    Policy(matrix::Row),
}

#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    state: String,
    /// File from the root, and name of the test in it.
    tests: Vec<(String, String)>,
    remark: String,
}

/// Writes the table.
pub fn write(root: &Path) -> Result<()> {
    let (text, findings) = make(root)?;
    if !findings.is_empty() {
        bail!("conformance: {} findings:\n  {}", findings.len(), findings.join("\n  "));
    }
    fs::write(root.join(TABLE), text).context(TABLE)?;
    println!("conformance: {TABLE} written");
    Ok(())
}

/// What is wrong with the source, or with the table that was made of it.
pub fn findings(root: &Path) -> Result<Vec<String>> {
    let (text, mut findings) = make(root)?;
    let written = fs::read_to_string(root.join(TABLE)).unwrap_or_default();
    if findings.is_empty() && written != text {
        findings.push(format!("{TABLE} is out of date: cargo xtask conformance"));
    }
    Ok(findings)
}

/// Checks that every test which the table names ran and passed, in the output of `cargo test` in these files.
pub fn check_results(root: &Path, logs: &[String]) -> Result<()> {
    if logs.is_empty() {
        bail!("conformance --results: no file named");
    }
    let mut results = results::Results::default();
    for log in logs {
        results.read(&fs::read_to_string(log).with_context(|| log.clone())?);
    }
    let source = fs::read_to_string(root.join(SOURCE)).context(SOURCE)?;
    let (lines, mut findings) = parse(&source);
    let named: BTreeSet<_> = named_tests(&lines).collect();
    findings.extend(named.iter().filter_map(|(file, test)| results.complaint(root, file, test)));
    if !findings.is_empty() {
        bail!("conformance: {} findings:\n  {}", findings.len(), findings.join("\n  "));
    }
    println!("conformance: the {} tests that {TABLE} names have passed", named.len());
    Ok(())
}

/// The tests of rows and of the matrix.
fn named_tests(lines: &[Line]) -> impl Iterator<Item = &(String, String)> {
    let of_rows = lines.iter().filter_map(row).flat_map(|row| &row.tests);
    let policies = lines.iter().filter_map(policy);
    of_rows.chain(policies.flat_map(|row| &row.cells).flat_map(|cell| &cell.tests))
}

fn make(root: &Path) -> Result<(String, Vec<String>)> {
    let source = fs::read_to_string(root.join(SOURCE)).context(SOURCE)?;
    let (lines, mut findings) = parse(&source);
    let policies = fs::read_to_string(root.join(POLICIES)).context(POLICIES)?;
    findings.extend(missing_policies(&policies, &lines));
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let policies: Vec<_> = lines.iter().filter_map(policy).collect();
    findings.extend(matrix::missing(&policies).into_iter().map(|what| format!("{SOURCE}: {what}")));
    let rows = rows_by_section(&lines);
    let (operations, features) = (operations::missing(&rows), features::missing(&rows));
    findings.extend(operations.into_iter().chain(features).map(|what| format!("{SOURCE}: {what}")));
    for (file, test) in named_tests(&lines) {
        if !known.contains_key(file) {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            known.insert(file.clone(), tests(&text).with_context(|| file.clone())?);
        }
        if !known.get(file).is_some_and(|tests| tests.contains(test)) {
            findings.push(format!("{SOURCE}: there is no test {test} in {file}"));
        }
    }
    Ok((render(&lines), findings))
}

fn row(line: &Line) -> Option<&Row> {
    if let Line::Row(row) = line { Some(row) } else { None }
}

/// The names of rows, each after the title of its section.
fn rows_by_section(lines: &[Line]) -> Vec<(&str, &str)> {
    let (mut title, mut rows) = ("", Vec::new());
    for line in lines {
        match line {
            Line::Section(section) => title = section,
            Line::Row(row) => rows.push((title, row.name.as_str())),
            Line::Text(_) | Line::Policy(_) => {}
        }
    }
    rows
}

fn policy(line: &Line) -> Option<&matrix::Row> {
    if let Line::Policy(row) = line { Some(row) } else { None }
}

fn parse(source: &str) -> (Vec<Line>, Vec<String>) {
    let (mut lines, mut findings, mut aliases) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (number, line) in (1..).zip(source.lines()).map(|(number, line)| (number, line.trim())) {
        let mut complain = |what: &str| findings.push(format!("{SOURCE}:{number}: {what}: {line}"));
        if line.is_empty() || line.starts_with('#') {
            continue;
        } else if let Some(rest) = line.strip_prefix("use ") {
            match rest.split_once('=') {
                Some((alias, folder)) => {
                    aliases.insert(alias.trim().to_owned(), folder.trim().to_owned());
                }
                None => complain("use ALIAS = FOLDER"),
            }
        } else if let Some(title) = line.strip_prefix("== ") {
            lines.push(Line::Section(title.to_owned()));
        } else if let Some(text) = line.strip_prefix("> ") {
            lines.push(Line::Text(text.to_owned()));
        } else if let Some(rest) = line.strip_prefix("* ") {
            match matrix::parse(rest, &aliases) {
                Ok(row) => lines.push(Line::Policy(row)),
                Err(what) => complain(&what),
            }
        } else {
            match parse_row(line, &aliases) {
                Ok(row) => lines.push(Line::Row(row)),
                Err(what) => complain(&what),
            }
        }
    }
    let mut seen = BTreeSet::new();
    for row in lines.iter().filter_map(row).filter(|row| !seen.insert(row.name.clone())) {
        findings.push(format!("{SOURCE}: there are two rows '{}'", row.name));
    }
    (lines, findings)
}

fn parse_row(line: &str, aliases: &BTreeMap<String, String>) -> Result<Row, String> {
    let mut fields = line.splitn(4, '|').map(str::trim);
    let mut field = || fields.next().unwrap_or_default().to_owned();
    let (name, state, tests, remark) = (field(), field(), field(), field());
    if !STATES.contains(&state.as_str()) {
        return Err(format!("the state is one of {}", STATES.join(", ")));
    }
    let named: Vec<&str> = tests.split(',').map(str::trim).filter(|test| !test.is_empty()).collect();
    if named.is_empty() {
        return Err(match state.as_str() {
            "refused" => "no test shows that it is refused".into(),
            _ => "no test shows it".into(),
        });
    }
    if state == "partly" && remark.is_empty() {
        return Err("the remark says what is missing".into());
    }
    let tests = named.into_iter().map(|test| place(test, aliases)).collect::<Result<_, _>>()?;
    Ok(Row { name, state, tests, remark })
}

fn place(test: &str, aliases: &BTreeMap<String, String>) -> Result<(String, String), String> {
    let parts = test.split_once("::").and_then(|(file, name)| Some((file.split_once('/')?, name)));
    let Some(((alias, file), name)) = parts else { return Err(format!("'{test}' is not ALIAS/FILE::TEST")) };
    let folder = aliases.get(alias).ok_or_else(|| format!("there is no alias '{alias}'"))?;
    Ok((format!("{folder}/{file}.rs"), name.to_owned()))
}

/// The names of the policies that have no row.
fn missing_policies(source: &str, lines: &[Line]) -> Vec<String> {
    let rows: BTreeSet<&str> = lines.iter().filter_map(row).map(|row| row.name.as_str()).collect();
    let names = source.lines().filter_map(|line| line.split_once("=> \"")?.1.split_once('"'));
    let missing = names.map(|(name, _)| name).filter(|name| !rows.contains(name));
    missing.map(|name| format!("{SOURCE}: the policy {name} has no row")).collect()
}

struct Tests(BTreeSet<String>);

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let has = |name: &str| item.attrs.iter().any(|attribute| attribute.path().is_ident(name));
        if has("test") && !has("ignore") {
            self.0.insert(item.sig.ident.to_string());
        }
        visit::visit_item_fn(self, item);
    }
}

/// The tests of a source file that are not ignored.
fn tests(source: &str) -> Result<BTreeSet<String>> {
    let mut tests = Tests(BTreeSet::new());
    tests.visit_file(&syn::parse_file(source)?);
    Ok(tests.0)
}

fn render(lines: &[Line]) -> String {
    let mut out = String::from(
        "# Conformance\n\nEdit `conformance.in`, then run `cargo xtask conformance`; do not edit this page. A row without a test fails `cargo xtask tidy`.\n",
    );
    let mut in_table = false;
    for line in lines {
        match line {
            Line::Section(title) => {
                let _ = write!(out, "\n## {title}\n");
                in_table = false;
            }
            Line::Text(text) => {
                let _ = write!(out, "\n{}\n", wrapped(text));
                in_table = false;
            }
            Line::Policy(row) => {
                if !std::mem::replace(&mut in_table, true) {
                    out.push_str(&matrix::head());
                }
                out.push_str(&matrix::render(row));
            }
            Line::Row(row) => {
                if !std::mem::replace(&mut in_table, true) {
                    out.push_str("\n| | state | shown by | remark |\n|---|---|---|---|\n");
                }
                let link = |(file, test): &(String, String)| format!("[{test}](../{file})");
                let tests: Vec<String> = row.tests.iter().map(link).collect();
                let _ =
                    writeln!(out, "| {} | {} | {} | {} |", row.name, row.state, tests.join(", "), row.remark);
            }
        }
    }
    let count = |state: &str| lines.iter().filter_map(row).filter(|row| row.state == state).count();
    let [effective, partly, refused] = STATES.map(count);
    let _ = write!(out, "\n{effective} effective, {partly} partly, {refused} refused.\n");
    out
}

/// A paragraph in lines of at most [`WIDTH`] bytes, if no word is longer.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let fits = column + 1 + word.len() <= WIDTH;
        let separator = if column == 0 {
            ""
        } else if fits {
            " "
        } else {
            "\n"
        };
        column = if fits { column + separator.len() } else { 0 } + word.len();
        out.push_str(separator);
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests_of_the_table {
    use super::*;

    #[test]
    fn long_paragraphs_are_wrapped_between_words() {
        let text = "twelve bytes ".repeat(40);
        let lines = wrapped(&text);
        assert!(
            lines.lines().count() > 2
                && lines.lines().all(|line| (180..=WIDTH).contains(&line.len()) || lines.ends_with(line))
        );
        assert_eq!(lines.replace('\n', " "), text.trim());
        assert_eq!(wrapped("short"), "short");
    }

    /// A row without a test, or with one that does not exist or does not run, fails `cargo test` too.
    #[test]
    fn the_table_of_this_project_is_sound() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(findings(root).unwrap(), [""; 0]);
    }

    fn findings_of(source: &str) -> Vec<String> {
        parse(source).1
    }

    #[test]
    fn rows_need_a_known_state_and_a_test() {
        assert_eq!(
            findings_of("use t = a/b\n# comment\n== S\n> text\nX | effective | t/f::one, t/g::two |\n"),
            [""; 0]
        );
        for (row, complaint) in [
            ("X | effective | |", "no test shows it"),
            ("X | refused | | why", "no test shows that it is refused"),
            ("X | perhaps | t/f::one |", "the state is one of"),
            ("X | partly | t/f::one |", "the remark says what is missing"),
            ("X | effective | u/f::one |", "there is no alias 'u'"),
            ("X | effective | one |", "is not ALIAS/FILE::TEST"),
            ("X", "the state is one of"),
            ("use t", "use ALIAS = FOLDER"),
        ] {
            let found = findings_of(&format!("use t = a/b\n{row}\n"));
            assert!(found.len() == 1 && found[0].contains(complaint), "{row}: {found:?}");
        }
        let twice = findings_of("use t = a\nX | effective | t/f::one |\nX | effective | t/f::one |\n");
        assert!(twice[0].contains("two rows 'X'"));
    }

    #[test]
    fn only_tests_that_run_count() {
        let source =
            "#[test]\nfn a() {}\nfn b() {}\n#[test]\n#[ignore]\nfn c() {}\nmod m { #[test] fn d() {} }\n";
        assert_eq!(tests(source).unwrap().into_iter().collect::<Vec<_>>(), ["a", "d"]);
    }

    #[test]
    fn policies_without_a_row_are_named() {
        let (lines, _) = parse("use t = a\nDEADLINE | effective | t/f::one |\n");
        let source = "Self::Deadline => \"DEADLINE\",\nSelf::Lifespan => \"LIFESPAN\",\n";
        let missing = missing_policies(source, &lines);
        assert!(missing.len() == 1 && missing[0].contains("LIFESPAN"), "{missing:?}");
    }

    #[test]
    fn tables_are_rendered_with_links_and_sums() {
        let (lines, _) = parse("use t = a/b\n== S\nX | refused | t/f::one | why\n");
        let text = render(&lines);
        assert!(text.contains("## S\n\n| | state"), "{text}");
        assert!(text.contains("| X | refused | [one](../a/b/f.rs) | why |\n"), "{text}");
        assert!(text.ends_with("0 effective, 0 partly, 1 refused.\n"), "{text}");
    }
}
