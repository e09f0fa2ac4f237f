//! Source files, places in them, and where they come from.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A source file of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

/// A place in a source file, in octets from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First octet.
    pub start: u32,
    /// The octet after the last.
    pub end: u32,
}

impl Span {
    /// From the beginning of this place to the end of another, if both are in one file.
    #[must_use]
    pub(crate) fn to(self, other: Self) -> Self {
        if self.file == other.file && other.end > self.start { Self { end: other.end, ..self } } else { self }
    }
}

/// Line and column of a place, as a person counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Name of the file, as `#line` directives say.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A `#line` directive: what the line after it is called.
#[derive(Clone, Debug)]
struct Marker {
    /// Index of the first line that it is about.
    line: usize,
    called: u32,
    file: Option<String>,
}

/// A source file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub name: String,
    pub text: Arc<str>,
    lines: Vec<u32>,
    markers: Vec<Marker>,
}

/// The files of a compilation.
#[derive(Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a file; text that is not UTF-8 is taken for ISO Latin-1.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> FileId {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text: String = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        };
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = ends.map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1));
        let lines = std::iter::once(0).chain(starts).collect();
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile { name: name.to_owned(), text: text.into(), lines, markers: Vec::new() });
        id
    }

    /// How many files there are; the next gets this number.
    pub(crate) fn len(&self) -> u32 {
        u32_of(self.files.len())
    }

    pub(crate) fn get(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get(usize::try_from(file.0).ok()?)
    }

    /// Name of a file, as it was opened.
    #[must_use]
    pub fn name(&self, file: FileId) -> &str {
        self.get(file).map_or("", |file| &file.name)
    }

    /// The text of a place.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        let text = self.get(span.file).map_or("", |file| &file.text);
        text.get(usize_of(span.start)..usize_of(span.end)).unwrap_or("")
    }

    /// Names the lines after the one with `span`, as `#line` asks for.
    pub(crate) fn mark(&mut self, span: Span, called: u32, name: Option<String>) {
        let Some(file) = self.files.get_mut(usize_of(span.file.0)) else { return };
        let line = file.line_of(span.start).saturating_add(1);
        file.markers.push(Marker { line, called, file: name });
    }

    /// Where a place is.
    #[must_use]
    pub fn location(&self, span: Span) -> Location {
        let Some(file) = self.get(span.file) else {
            return Location { file: String::new(), line: 0, column: 0 };
        };
        let (name, line) = self.file_and_line(span);
        let start = file.lines.get(file.line_of(span.start)).copied().unwrap_or(0);
        let before = file.text.get(usize_of(start)..usize_of(span.start)).unwrap_or("");
        let column = u32_of(before.chars().count()).saturating_add(1);
        Location { file: name.to_owned(), line, column }
    }

    /// The file and the line of a place, as `#line` directives say; the line 0 if there is no such file.
    pub(crate) fn file_and_line(&self, span: Span) -> (&str, u32) {
        let Some(file) = self.get(span.file) else { return ("", 0) };
        let index = file.line_of(span.start);
        let marker = file.markers.iter().rev().find(|marker| marker.line <= index);
        let (name, line) = match marker {
            None => (&file.name, index.saturating_add(1)),
            Some(marker) => (
                marker.file.as_ref().unwrap_or(&file.name),
                index.saturating_sub(marker.line).saturating_add(usize_of(marker.called)),
            ),
        };
        (name, u32_of(line))
    }

    /// The line of a place without its end, and the octet at which it begins.
    pub(crate) fn line(&self, span: Span) -> (&str, u32) {
        let Some(file) = self.get(span.file) else { return ("", 0) };
        let index = file.line_of(span.start);
        let start = file.lines.get(index).copied().unwrap_or(0);
        let rest = file.text.get(usize_of(start)..).unwrap_or("");
        (rest.split(['\n', '\r']).next().unwrap_or(""), start)
    }
}

impl SourceFile {
    /// Index of the line with this octet.
    fn line_of(&self, at: u32) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }
}

pub(crate) fn usize_of(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

pub(crate) fn u32_of(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// There is no such file; the search goes on.
    NotFound,
    /// Reading failed.
    Failed(String),
}

impl LoadError {
    /// As a message about the file that was to be compiled.
    pub(crate) fn of(self, path: &str) -> String {
        match self {
            Self::NotFound => format!("{path}: there is no such file"),
            Self::Failed(reason) => format!("{path}: {reason}"),
        }
    }
}

/// Where source text comes from.
pub trait Loader {
    /// Reads a file of at most `limit` octets.
    ///
    /// # Errors
    /// [`LoadError::NotFound`] lets the search for an include file go on.
    fn load(&self, path: &str, limit: usize) -> Result<Vec<u8>, LoadError>;

    /// A name that is the same for all paths to one file.
    fn identity(&self, path: &str) -> String {
        normalized(path)
    }
}

/// The path without `.` and, where possible, `..`.
pub(crate) fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" if !parts.is_empty() => {}
            "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Files of the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Loader for Disk {
    fn load(&self, path: &str, limit: usize) -> Result<Vec<u8>, LoadError> {
        use std::io::Read;
        let path = Path::new(path);
        if !path.is_file() {
            return Err(if path.exists() {
                LoadError::Failed("this is not a file".to_owned())
            } else {
                LoadError::NotFound
            });
        }
        let failed = |error: std::io::Error| LoadError::Failed(error.to_string());
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > limit {
            return Err(LoadError::Failed(format!("the file is larger than {limit} bytes")));
        }
        Ok(bytes)
    }

    fn identity(&self, path: &str) -> String {
        let canonical = std::fs::canonicalize(path).ok();
        canonical.map_or_else(|| normalized(path), |path| path.to_string_lossy().into_owned())
    }
}

/// Files in memory, by path.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub BTreeMap<String, Vec<u8>>);

impl Memory {
    /// Adds a file.
    #[must_use]
    pub fn with(mut self, path: &str, text: impl Into<Vec<u8>>) -> Self {
        self.0.insert(normalized(path), text.into());
        self
    }
}

impl Loader for Memory {
    fn load(&self, path: &str, limit: usize) -> Result<Vec<u8>, LoadError> {
        let bytes = self.0.get(&normalized(path)).ok_or(LoadError::NotFound)?;
        if bytes.len() > limit {
            return Err(LoadError::Failed(format!("the file is larger than {limit} bytes")));
        }
        Ok(bytes.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized() {
        for (path, expected) in [
            ("a/./b", "a/b"),
            ("a/../b", "b"),
            ("/a//b", "/a/b"),
            ("../a", "../a"),
            ("./x", "x"),
            ("/../a", "/../a"),
        ] {
            assert_eq!(normalized(path), expected, "{path}");
        }
    }

    #[test]
    fn places_have_lines_and_columns() {
        let mut map = SourceMap::default();
        let file = map.add("a.idl", "é b\n\nxyz".as_bytes());
        let at = |start| Span { file, start, end: start };
        let place = |start| {
            let location = map.location(at(start));
            (location.line, location.column)
        };
        assert_eq!([place(0), place(3), place(5), place(8)], [(1, 1), (1, 3), (2, 1), (3, 3)]);
        assert_eq!(map.line(at(8)), ("xyz", 6));
    }

    #[test]
    fn line_directives_rename_what_follows() {
        let mut map = SourceMap::default();
        let file = map.add("a.idl", b"#line 20 \"b.idl\"\nx\ny");
        map.mark(Span { file, start: 0, end: 1 }, 20, Some("b.idl".into()));
        let location = map.location(Span { file, start: 19, end: 20 });
        assert_eq!((location.file.as_str(), location.line), ("b.idl", 21));
    }
}
