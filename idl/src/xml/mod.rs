//! Types in XML (DDS-XTypes 1.3 §7.3.2, DDS-XML 1.0), as the same syntax tree that IDL becomes.
//!
//! Read are the documents of the standard and what RTI Connext, Fast DDS and OpenDDS users write: `<types>`, alone or in
//! `<dds>`. A comment that begins with a star, `<!--* … -->`, is documentation of what follows. Anything that would be passed
//! over in silence is an error: elements, attributes and values that mean nothing.

mod annotate;
mod constructed;
mod definition;
mod element;
mod guard;
mod usage;
mod value;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use element::{Attribute, Element, suggest};
use roxmltree::{Document, ParsingOptions};

use crate::diagnostic::Sink;
use crate::preprocess::candidates;
use crate::source::{FileId, LoadError, Loader, SourceMap, Span, u32_of, usize_of};
use crate::syntax::ast::Definition;
use crate::{Options, Parsed};

/// Most elements, texts and comments of one file.
const NODES: usize = 1_000_000;

/// Whether a path is that of an XML file.
pub(crate) fn is_xml(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("xml"))
}

/// A file that is being read.
struct File {
    id: FileId,
    path: String,
    text: Arc<str>,
}

impl File {
    fn span(&self, range: Range<usize>) -> Span {
        Span { file: self.id, start: u32_of(range.start), end: u32_of(range.end) }
    }
}

/// Reads a file and the files that it includes.
///
/// # Errors
/// Why the file could not be read.
pub(crate) fn read(
    path: &str,
    options: &Options,
    loader: &dyn Loader,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Result<Parsed, String> {
    let bytes = loader.load(path, options.limits.file_size).map_err(|error| error.of(path))?;
    let main = FileId(sources.len());
    let budget = options.limits.tokens;
    let (files, seen) = (Vec::new(), BTreeSet::new());
    let open = Vec::new();
    let mut reader = Reader { options, loader, sources, sink, files, seen, budget, open, stopped: false };
    let mut definitions = Vec::new();
    reader.file(path, &bytes, &mut definitions);
    if reader.stopped {
        // Half of the files would only have mistakes that are none.
        definitions.clear();
    }
    Ok(Parsed { definitions, files: reader.files, main })
}

struct Reader<'a> {
    options: &'a Options,
    loader: &'a dyn Loader,
    sources: &'a mut SourceMap,
    sink: &'a mut Sink,
    files: Vec<String>,
    /// What was read: each file is read once.
    seen: BTreeSet<String>,
    /// How many more elements, texts and comments may be looked at, long ones counted several times.
    budget: usize,
    /// The files that are being read, one included by the other: what the loader calls them, and their paths.
    open: Vec<(String, String)>,
    /// A limit was reached: nothing more is read.
    stopped: bool,
}

impl Reader<'_> {
    fn file(&mut self, path: &str, bytes: &[u8], out: &mut Vec<Definition>) {
        self.seen.insert(self.loader.identity(path));
        self.files.push(path.to_owned());
        let id = self.sources.add(path, bytes);
        let Some(text) = self.sources.get(id).map(|source| source.text.clone()) else { return };
        let file = File { id, path: path.to_owned(), text: text.clone() };
        if let Err(refused) = guard::check(&text, self.options.limits.nesting) {
            self.sink.error(file.span(refused.at..refused.at.saturating_add(1)), refused.why);
            self.stopped = true;
            return;
        }
        let limit = self.budget.min(NODES);
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: u32_of(limit), ..ParsingOptions::default() };
        let document = match Document::parse_with_options(&text, options) {
            Ok(document) => document,
            Err(error) => {
                let span = place(&file, &error);
                let message = match error {
                    roxmltree::Error::NodesLimitReached => {
                        format!("there are more than {limit} elements and texts")
                    }
                    // The place is told beside it.
                    error => error.to_string().replace(&format!(" at {}", error.pos()), ""),
                };
                self.sink.error(span, format!("this is not XML that can be read: {message}"));
                self.stopped = true;
                return;
            }
        };
        // Long texts and comments cost too.
        let cost = document.descendants().count().max(text.len() / 64);
        self.budget = self.budget.saturating_sub(cost);
        self.open.push((self.loader.identity(path), path.to_owned()));
        self.root(Element::new(document.root_element(), &file), out);
        self.open.pop();
    }

    /// `<types>`, or `<dds>` with it beside profiles and other things.
    fn root(&mut self, root: Element<'_, '_>, out: &mut Vec<Definition>) {
        match root.name() {
            "types" => self.definitions(root, out),
            "dds" => {
                let mut found = false;
                for types in root.children().filter(|child| child.name() == "types") {
                    found = true;
                    self.definitions(types, out);
                }
                if !found {
                    self.sink.error(root.span(), "there is no <types> in this <dds>");
                }
            }
            name => {
                let message = format!("<{name}> is not the root of types");
                self.sink.error(root.span(), message).hint("it is <types>, or <dds> with <types> in it");
            }
        }
    }

    /// `<include file="…"/>`: looked for beside the file that includes it, then in the folders; read once.
    fn include(&mut self, element: Element<'_, '_>, from: &str, out: &mut Vec<Definition>) {
        element.allow(&[&["file"]], self.sink);
        self.only(element, &[]);
        let Some(name) = self.required(element, &["file"]) else { return };
        let limits = &self.options.limits;
        let depth = self.open.len();
        if depth >= limits.include_depth || self.files.len() >= limits.includes {
            let message = match depth >= limits.include_depth {
                true => format!("includes are nested more than {} deep", limits.include_depth),
                false => format!("more than {} files are included", limits.includes),
            };
            self.sink.error(name.span, message);
            self.stopped = true;
            return;
        }
        let candidates = candidates(Some(from), name.value.trim(), &self.options.include_dirs);
        for path in &candidates {
            let identity = self.loader.identity(path);
            if self.seen.contains(&identity) {
                self.tell_cycle(&identity, name.span);
                return;
            }
            match self.loader.load(path, self.options.limits.file_size) {
                Ok(_) if !is_xml(path) => {
                    let message = format!("`{path}` is not an XML file");
                    self.sink
                        .error(name.span, message)
                        .hint("XML includes XML alone: see `dunlin idl --xml`");
                    return;
                }
                Ok(bytes) => return self.file(path, &bytes, out),
                Err(LoadError::NotFound) => {}
                Err(LoadError::Failed(reason)) => {
                    self.sink.error(name.span, format!("cannot read `{path}`: {reason}"));
                    return;
                }
            }
        }
        let searched = candidates.join(", ");
        self.sink
            .error(name.span, format!("cannot find the include file `{}`", name.value))
            .hint(format!("looked for {searched}; add its folder with -I"));
    }

    /// Tells if a file that is being read is included again: what it declares behind that place is not known yet.
    fn tell_cycle(&mut self, identity: &str, span: Span) {
        let Some(first) = self.open.iter().position(|(open, _)| open == identity) else { return };
        let cycle = self.open.iter().skip(first).chain(self.open.get(first));
        let cycle: Vec<&str> = cycle.map(|(_, path)| path.as_str()).collect();
        let message = format!("files include each other: {}", cycle.join(" includes "));
        self.sink
            .warning(span, message)
            .hint("each file is read once: what it declares behind its own <include> is not known here");
    }

    /// An attribute that has to be there.
    fn required<'a>(&mut self, element: Element<'a, '_>, names: &[&str]) -> Option<Attribute<'a>> {
        let found = element.attribute(names);
        if found.is_none() {
            let name = names.first().copied().unwrap_or("");
            self.sink.error(element.span(), format!("<{}> needs the attribute `{name}`", element.name()));
        }
        found
    }

    /// One word of several.
    fn word<T: Copy>(&mut self, attribute: Attribute<'_>, words: &[(&str, T)]) -> Option<T> {
        let text = attribute.value.trim();
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("`{text}` is none of the words that this attribute takes");
            suggest(self.sink.error(attribute.span, message), text, &known);
        }
        found
    }

    /// Whether nobody would read what else there is to say.
    fn is_done(&self) -> bool {
        self.stopped || self.sink.is_full()
    }
}

/// Where the parser found a mistake.
fn place(file: &File, error: &roxmltree::Error) -> Span {
    let position = error.pos();
    let lines = file.text.split_inclusive('\n');
    let skipped = usize_of(position.row.saturating_sub(1));
    let (mut start, mut line) = (0usize, "");
    for (index, text) in lines.enumerate() {
        line = text;
        if index >= skipped {
            break;
        }
        start = start.saturating_add(text.len());
    }
    let column = usize_of(position.col.saturating_sub(1));
    let inside = line.char_indices().nth(column).map_or(line.trim_end().len(), |(at, _)| at);
    let start = start.saturating_add(inside).min(file.text.len());
    file.span(start..start.saturating_add(1).min(file.text.len()))
}
