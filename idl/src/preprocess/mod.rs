//! The preprocessor (IDL 4.2 §7.3, ISO C++ 2003 clause 16): includes, macros, conditions, pragmas.

mod condition;
mod directive;
mod expand;
mod macros;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use directive::Condition;
use expand::Stream;
use macros::Macro;

use crate::Options;
use crate::diagnostic::Sink;
use crate::source::{FileId, LoadError, Loader, SourceMap, Span, normalized};
use crate::syntax::lexer::{Comments, lex};
use crate::syntax::token::{Kind, Token, cost_of_text};

/// A `#pragma` that the preprocessor leaves to others.
#[derive(Clone, Debug)]
pub(crate) struct Pragma {
    pub span: Span,
    pub tokens: Vec<Token>,
    /// How many tokens of the output stand before it.
    pub at: usize,
}

/// What comes out.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub tokens: Vec<Token>,
    pub pragmas: Vec<Pragma>,
    /// Paths of the files that were read, the main file first.
    pub files: Vec<String>,
}

pub(crate) struct Preprocessor<'a> {
    options: &'a Options,
    loader: &'a dyn Loader,
    sources: &'a mut SourceMap,
    sink: &'a mut Sink,
    macros: BTreeMap<Rc<str>, Rc<Macro>>,
    /// Identities of the files that say `#pragma once`.
    once: BTreeSet<String>,
    /// Paths of the files that are being read, the innermost last, with their identities.
    open: Vec<(String, String)>,
    conditions: Vec<Condition>,
    output: Output,
    /// How many more tokens may be handled.
    budget: usize,
    /// A limit was reached: nothing more is read.
    stopped: bool,
}

/// Runs the preprocessor on a file.
pub(crate) fn preprocess(
    path: &str,
    options: &Options,
    loader: &dyn Loader,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Result<Output, String> {
    let bytes = loader.load(path, options.limits.file_size).map_err(|error| error.of(path))?;
    let mut preprocessor = Preprocessor {
        options,
        loader,
        sources,
        sink,
        macros: BTreeMap::new(),
        once: BTreeSet::new(),
        open: Vec::new(),
        conditions: Vec::new(),
        output: Output::default(),
        budget: options.limits.tokens,
        stopped: false,
    };
    preprocessor.predefine();
    preprocessor.read(path, &bytes);
    if preprocessor.stopped {
        // Half a file would only have mistakes that are none.
        preprocessor.output.tokens.clear();
    }
    Ok(preprocessor.output)
}

impl Preprocessor<'_> {
    /// Defines the macros of the command line and our own.
    fn predefine(&mut self) {
        let mut text = String::from("#define __DUNLIN_IDL__ 1\n");
        for (name, value) in &self.options.defines {
            let value = value.as_deref().unwrap_or("1").replace(['\n', '\r'], " ");
            text.push_str(&format!("#define {name} {value}\n"));
        }
        let file = self.sources.add("<command line>", text.as_bytes());
        self.run(file);
    }

    /// Reads a file that is not open too often already.
    fn read(&mut self, path: &str, bytes: &[u8]) {
        let identity = self.loader.identity(path);
        self.output.files.push(path.to_owned());
        self.open.push((path.to_owned(), identity));
        let file = self.sources.add(path, bytes);
        self.run(file);
        self.open.pop();
    }

    fn run(&mut self, file: FileId) {
        let Some(source) = self.sources.get(file) else { return };
        let text = source.text.clone();
        let tokens: Rc<[Token]> = lex(&text, file, Comments::Skip, self.budget, self.sink).into();
        // Comments are no tokens, but they are kept as well.
        let cost = tokens.len().max(cost_of_text(text.len()));
        if !self.charge(cost, tokens.first().map(|token| token.span)) {
            return;
        }
        let outer = std::mem::take(&mut self.conditions);
        let mut stream = Stream::new(tokens);
        while !self.stopped {
            if let Some((span, line)) = stream.directive() {
                self.directive(span, &line);
                continue;
            }
            let Some(token) = stream.next() else { break };
            if token.kind == Kind::Newline || !self.is_active() {
                continue;
            }
            if !self.expand(&mut stream, &token, 0) {
                self.output.tokens.push(token);
            }
        }
        if let Some(open) = self.conditions.last() {
            self.sink.error(open.span, "this condition is not closed").hint("close it with #endif");
        }
        self.conditions = outer;
    }

    fn is_active(&self) -> bool {
        self.conditions.iter().all(|condition| condition.active)
    }

    /// Pays for tokens, or for text as [`cost_of_text`] says; says once if there are too many.
    fn charge(&mut self, tokens: usize, span: Option<Span>) -> bool {
        if self.stopped {
            return false;
        }
        match self.budget.checked_sub(tokens) {
            Some(rest) => {
                self.budget = rest;
                true
            }
            None => {
                let message =
                    format!("more than {} tokens after includes and macros", self.options.limits.tokens);
                self.sink.add(crate::Severity::Error, span, message);
                self.stopped = true;
                false
            }
        }
    }

    /// Reads an include file.
    fn include(&mut self, span: Span, name: &str, quoted: bool) {
        if self.open.len() >= self.options.limits.include_depth {
            let includes: Vec<&str> = self.open.iter().rev().take(3).map(|(path, _)| path.as_str()).collect();
            let message = format!("includes are nested more than {} deep", self.options.limits.include_depth);
            let hint = format!(
                "it looks like a circle ({}): use include guards or #pragma once",
                includes.join(", ")
            );
            self.sink.error(span, message).hint(hint);
            self.stopped = true;
            return;
        }
        if self.output.files.len() >= self.options.limits.includes {
            let message = format!("more than {} files are included", self.options.limits.includes);
            self.sink.error(span, message);
            self.stopped = true;
            return;
        }
        let candidates = self.candidates(name, quoted);
        for path in &candidates {
            if self.once.contains(&self.loader.identity(path)) {
                return;
            }
            match self.loader.load(path, self.options.limits.file_size) {
                Ok(bytes) => return self.read(path, &bytes),
                Err(LoadError::NotFound) => {}
                Err(LoadError::Failed(reason)) => {
                    self.sink.error(span, format!("cannot read `{path}`: {reason}"));
                    return;
                }
            }
        }
        let searched = candidates.join(", ");
        self.sink
            .error(span, format!("cannot find the include file `{name}`"))
            .hint(format!("looked for {searched}; add its folder with -I"));
    }

    /// Where an include file may be.
    fn candidates(&self, name: &str, quoted: bool) -> Vec<String> {
        let own = self.open.last().map(|(path, _)| path.as_str()).filter(|_| quoted);
        candidates(own, name, &self.options.include_dirs)
    }
}

/// Where a file may be that `own` includes: beside it, then in the folders.
pub(crate) fn candidates(own: Option<&str>, name: &str, include_dirs: &[String]) -> Vec<String> {
    if name.starts_with('/') {
        return vec![name.to_owned()];
    }
    let own = own.map(|path| path.rsplit_once('/').map_or(".", |(folder, _)| folder));
    // The folder of the root is empty.
    let own = own.map(|folder| if folder.is_empty() { "/" } else { folder });
    let folders = own.into_iter().chain(include_dirs.iter().map(String::as_str));
    let mut paths: Vec<String> = Vec::new();
    for folder in folders {
        let path = normalized(&format!("{folder}/{name}"));
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}
