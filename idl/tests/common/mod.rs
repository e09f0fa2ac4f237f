//! Files with inputs and their results.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use dunlin_idl::{Compilation, Extensibility, Memory, Options, compile};

/// An input and its result.
pub struct Case {
    /// The line after `===`.
    pub title: String,
    /// Everything up to the expected result.
    pub source: String,
    pub expected: String,
}

impl Case {
    /// The name of the first file.
    pub fn main(&self) -> &str {
        let main = self.title.split('|').find_map(|option| option.trim().strip_prefix("main "));
        main.unwrap_or("a.idl")
    }

    /// The files of the source.
    pub fn files(&self) -> Memory {
        let mut files = Memory::default();
        let (mut path, mut text) = (self.main().to_owned(), String::new());
        for line in self.source.lines() {
            let line = if line == "\\---" { "---" } else { line };
            if let Some(next) = line.strip_prefix(">>> ") {
                files = files.with(&path, std::mem::take(&mut text));
                path = next.to_owned();
            } else {
                text.push_str(line);
                text.push('\n');
            }
        }
        files.with(&path, text)
    }

    pub fn options(&self) -> Options {
        options(&self.title)
    }

    pub fn compile(&self) -> Compilation {
        compile(self.main(), &self.options(), &self.files())
    }
}

fn options(title: &str) -> Options {
    let mut options = Options::default();
    for option in title.split('|').skip(1) {
        match option.trim().split_once(' ') {
            Some(("-D", define)) => {
                let (name, value) =
                    define.split_once('=').map_or((define, None), |(n, v)| (n, Some(v.to_owned())));
                options.defines.push((name.to_owned(), value));
            }
            Some(("-I", folder)) => options.include_dirs.push(folder.to_owned()),
            Some(("default", "final")) => options.default_extensibility = Extensibility::Final,
            Some(("nesting", depth)) => options.limits.nesting = depth.parse().unwrap(),
            Some(("tokens", count)) => options.limits.tokens = count.parse().unwrap(),
            None if option.trim() == "comment-annotations" => options.comment_annotations = true,
            Some(("main", _)) => {}
            _ => panic!("unknown option {option} in {title}"),
        }
    }
    options
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
