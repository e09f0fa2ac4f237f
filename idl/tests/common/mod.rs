//! Files with inputs and their results.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// An input and its result.
pub struct Case {
    /// The line after `===`.
    pub title: String,
    /// Everything up to the expected result.
    pub source: String,
    pub expected: String,
}

/// Divides a file into cases.
pub fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_result = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("=== ") {
            cases.push(Case { title: title.into(), source: String::new(), expected: String::new() });
            in_result = false;
        } else if line == "---" {
            in_result = true;
        } else if let Some(case) = cases.last_mut() {
            let part = if in_result { &mut case.expected } else { &mut case.source };
            part.push_str(line);
            part.push('\n');
        }
    }
    cases
}

/// The files of the corpus.
pub fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
