//! File and function length ratchet, purity bans, clause lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::functions::{Function, functions};

const FOLDERS: &[&str] = &[
    "derive", "protocol", "runtime", "idl", "api", "services", "tools", "apps", "bindings", "tests", "fuzz",
    "xtask",
];
const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 70;
/// Bound on the 95th percentile of function lengths under `protocol/`.
const PROTOCOL_P95: usize = 45;
/// Crates whose task needs `unsafe`; all others forbid it.
const UNSAFE_CRATES: &[&str] = &[
    "protocol/sync",
    "protocol/cdr",
    "runtime/udp",
    "runtime/shm",
    "bindings",
    "apps/video",
    "tests/attack",
];
/// Crates whose every file names the clauses that it implements.
const CLAUSE_CRATES: &[&str] = &[
    "protocol/wire",
    "protocol/cdr",
    "protocol/rtps",
    "protocol/cache",
    "protocol/discovery",
    "protocol/qos",
];
/// Folders whose code treats all vendors alike, but for what the table says. The others are about what vendors do.
const VENDOR_FOLDERS: &[&str] =
    &["derive", "protocol", "runtime", "idl", "api", "services", "tools", "apps", "bindings"];
/// Words that break the purity rule of `protocol/` wherever they stand in code.
const IMPURE: &[&str] = &[
    "HashMap",
    "HashSet",
    "Instant",
    "SystemTime",
    "UdpSocket",
    "println!",
    "eprintln!",
    "dbg!",
    "std::env",
    "std::fs",
];

/// The page that says where things are; every path in it exists.
const MAP: &str = "ARCHITECTURE.md";

struct Source {
    /// Path from the root, with forward slashes.
    path: String,
    text: String,
}

/// Runs every check and lists all findings at once.
pub fn check(root: &Path) -> Result<()> {
    let allowed = allow_list(root)?;
    let sources = sources(root)?;
    let (mut findings, mut protocol_lengths) = (Vec::new(), Vec::new());
    for source in &sources {
        let found = functions(Path::new(&source.path), &source.text)?;
        check_lengths(source, &found, &allowed, &mut findings);
        check_header(source, &mut findings);
        check_purity(source, &mut findings);
        check_style(source, &mut findings)?;
        if in_any(&source.path, &["protocol"]) && !is_test_file(&source.path) {
            protocol_lengths.extend(found.iter().map(|f| f.lines));
        }
    }
    check_allow_list(&allowed, &sources, &mut findings);
    findings.extend(missing_paths(root, MAP)?);
    findings.extend(crate::blocks::findings(root)?);
    findings.extend(crate::conformance::findings(root)?);
    findings.extend(crate::evidence::findings(root)?);
    let p95 = percentile_95(&mut protocol_lengths);
    if p95 > PROTOCOL_P95 {
        findings
            .push(format!("protocol/: 95th percentile of function lengths is {p95}, above {PROTOCOL_P95}"));
    }
    if !findings.is_empty() {
        bail!("tidy: {} findings:\n  {}", findings.len(), findings.join("\n  "));
    }
    println!(
        "tidy: {} files; functions in protocol/: {}, p95 {p95} lines",
        sources.len(),
        protocol_lengths.len()
    );
    Ok(())
}

fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut paths)?;
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let path = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        Ok(Source { path, text })
    };
    paths.into_iter().map(read).collect()
}

fn collect(folder: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "node_modules" && name != "peers" {
            collect(&path, out)?;
        } else if name.ends_with(".rs") {
            out.push(path);
        }
    }
    Ok(())
}

/// `xtask/tidy.allow`: one `path lines` a line, for files and functions above the limits.
fn allow_list(root: &Path) -> Result<BTreeMap<String, usize>> {
    let text = fs::read_to_string(root.join("xtask/tidy.allow")).unwrap_or_default();
    let entries = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    entries
        .map(|line| {
            let (key, lines) = line.rsplit_once(' ').with_context(|| format!("tidy.allow: {line}"))?;
            Ok((key.trim().to_owned(), lines.parse().with_context(|| format!("tidy.allow: {line}"))?))
        })
        .collect()
}

fn in_any(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/benches/")
}

fn check_lengths(
    source: &Source,
    found: &[Function],
    allowed: &BTreeMap<String, usize>,
    findings: &mut Vec<String>,
) {
    let mut limit = |key: String, lines: usize, limit: usize, place: String| {
        if lines > limit.max(allowed.get(&key).copied().unwrap_or(0)) {
            findings.push(format!("{place}: {lines} lines, the limit is {limit}"));
        }
    };
    let path = &source.path;
    limit(path.clone(), source.text.lines().count(), FILE_LINES, path.clone());
    if is_test_file(path) {
        return;
    }
    for f in found {
        let key = format!("{path}::{}", f.name);
        limit(key, f.lines, FUNCTION_LINES, format!("{path}:{}: {}()", f.line, f.name));
    }
}

/// An entry for something that is gone or within the limits by now must go too: the list shrinks.
fn check_allow_list(allowed: &BTreeMap<String, usize>, sources: &[Source], findings: &mut Vec<String>) {
    for key in allowed.keys() {
        let path = key.split("::").next().unwrap_or(key);
        if !sources.iter().any(|source| source.path == path) {
            findings.push(format!("xtask/tidy.allow: {key} does not exist any more"));
        }
    }
}

/// The paths that a page names and that do not exist.
fn missing_paths(root: &Path, page: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(page)).with_context(|| page.to_owned())?;
    let missing = paths_in(&text).into_iter().filter(|path| !root.join(path).exists());
    Ok(missing.map(|path| format!("{page}: {path} does not exist")).collect())
}

/// What stands in a page as code and begins with one of our folders: `docs/adr`, `protocol/qos/src/id.rs`.
fn paths_in(text: &str) -> Vec<&str> {
    let is_path = |code: &&str| {
        let folder = code.split_once('/').map(|(folder, _)| folder);
        let known = |folder: &str| FOLDERS.contains(&folder) || ["docs", "scripts"].contains(&folder);
        folder.is_some_and(known) && !code.contains(char::is_whitespace)
    };
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_path).collect()
}

fn check_header(source: &Source, findings: &mut Vec<String>) {
    let (path, text) = (&source.path, &source.text);
    if is_test_file(path) || !path.contains("/src/") {
        return;
    }
    if path.ends_with("src/lib.rs") || path.ends_with("src/main.rs") {
        if !in_any(path, UNSAFE_CRATES) && !text.contains("#![forbid(unsafe_code)]") {
            findings.push(format!("{path}: no #![forbid(unsafe_code)]"));
        }
        if in_any(path, &["protocol"]) && !text.contains("#![no_std]") && !text.contains("no_std)]") {
            findings.push(format!("{path}: no #![no_std]"));
        }
    }
    let header: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
    if in_any(path, CLAUSE_CRATES) && !["§", "RTPS", "DDS", "XTypes"].iter().any(|word| header.contains(word))
    {
        findings.push(format!("{path}: the first comment does not name the clause that it implements"));
    }
}

fn check_purity(source: &Source, findings: &mut Vec<String>) {
    if !in_any(&source.path, &["protocol"]) || is_test_file(&source.path) {
        return;
    }
    let code = source.text.split("#[cfg(test)]").next().unwrap_or_default();
    for (number, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        for word in IMPURE.iter().filter(|word| has_word(line, word)) {
            findings.push(format!("{}:{}: {word} breaks the purity rule", source.path, number + 1));
        }
    }
}

fn check_style(source: &Source, findings: &mut Vec<String>) -> Result<()> {
    let (path, text) = (&source.path, &source.text);
    if in_any(path, VENDOR_FOLDERS) && !is_test_file(path) {
        findings.extend(crate::vendors::findings(path, text)?);
    }
    if in_any(path, FOLDERS) {
        findings.extend(crate::imports::findings(path, text)?);
    }
    Ok(())
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let around = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !around(line[..at].chars().next_back()) && !around(line[at + word.len()..].chars().next())
    })
}

fn percentile_95(lengths: &mut [usize]) -> usize {
    lengths.sort_unstable();
    let index = (lengths.len() * 95).div_ceil(100).saturating_sub(1);
    lengths.get(index).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidy_finds_the_paths_that_a_page_names() {
        let text =
            "| a `docs/adr`, `protocol/qos/src/id.rs` | `next_deadline`, `cargo xtask tidy` |\nuse `a/b`";
        assert_eq!(paths_in(text), ["docs/adr", "protocol/qos/src/id.rs"]);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(missing_paths(root, MAP).unwrap(), [""; 0]);
        let folder = std::env::temp_dir().join(format!("dunlin-tidy-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(MAP), "`protocol/gone.rs`").unwrap();
        assert_eq!(
            missing_paths(&folder, MAP).unwrap(),
            ["ARCHITECTURE.md: protocol/gone.rs does not exist"]
        );
        fs::remove_dir_all(folder).unwrap();
    }

    fn findings(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.into(), text: text.into() };
        let found = functions(Path::new(path), text).unwrap();
        let mut out = Vec::new();
        check_lengths(&source, &found, &BTreeMap::new(), &mut out);
        check_header(&source, &mut out);
        check_purity(&source, &mut out);
        out
    }

    #[test]
    fn tidy_rules_can_fail() {
        let long = format!("fn f() {{\n{}}}\n", "\n".repeat(FUNCTION_LINES));
        assert_eq!(findings("api/x/src/a.rs", &long).len(), 1);
        assert_eq!(findings("api/x/src/a.rs", &"\n".repeat(FILE_LINES + 1)).len(), 1);
        assert_eq!(findings("api/x/src/lib.rs", "").len(), 1);
        assert_eq!(findings("protocol/wire/src/a.rs", "//! Heartbeats.\n").len(), 1);
        assert_eq!(findings("protocol/sync/src/a.rs", "use std::time::Instant;\n").len(), 1);
        assert!(
            findings("protocol/wire/src/a.rs", "//! RTPS 2.5 §8.3.8.7.\n// Instant\nstruct MyInstant;\n")
                .is_empty()
        );
    }

    #[test]
    fn percentile() {
        assert_eq!(percentile_95(&mut (1..=100).collect::<Vec<_>>()), 95);
        assert_eq!(percentile_95(&mut []), 0);
    }
}
