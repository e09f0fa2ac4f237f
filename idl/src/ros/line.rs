//! One line of an interface file, read from left to right with the places of what is read.

use crate::source::{FileId, Span, u32_of};

/// What is left of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    file: FileId,
    /// Octets before it in the file.
    at: usize,
    pub rest: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn new(file: FileId, at: usize, text: &'a str) -> Self {
        Self { file, at, rest: text }
    }

    /// The place of what is left.
    pub(super) fn span(&self) -> Span {
        self.span_of(self.rest.trim_end().len())
    }

    fn span_of(&self, len: usize) -> Span {
        let start = u32_of(self.at);
        Span { file: self.file, start, end: start.saturating_add(u32_of(len)) }
    }

    /// Passes over octets, which end where a character ends.
    fn skip(&mut self, len: usize) {
        self.at = self.at.saturating_add(len);
        self.rest = self.rest.get(len..).unwrap_or("");
    }

    pub(super) fn skip_space(&mut self) {
        let len = self.rest.len().saturating_sub(self.rest.trim_start().len());
        self.skip(len);
    }

    /// Takes characters as long as they are wanted.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> (&'a str, Span) {
        let len = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (text, span) = (self.rest.get(..len).unwrap_or(""), self.span_of(len));
        self.skip(len);
        (text, span)
    }

    /// Takes a text if it stands here.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.rest.starts_with(text);
        if found {
            self.skip(text.len());
        }
        found
    }

    /// Divides the line where its comment begins: at a `#` outside of quotes.
    pub(super) fn split_comment(&mut self) -> Option<&'a str> {
        let mut quote = None;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            match (quote, c) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), c) if open == c => quote = None,
                // An apostrophe in the middle of text without quotes opens nothing.
                (None, '"' | '\'') if self.opens(at) => quote = Some(c),
                (None, '#') => {
                    let comment = self.rest.get(at..).map(|text| text.trim_start_matches('#'));
                    self.rest = self.rest.get(..at).unwrap_or("");
                    return comment;
                }
                _ => {}
            }
        }
        None
    }

    /// Whether a quote at this octet begins a value and has an end.
    fn opens(&self, at: usize) -> bool {
        let before = self.rest.get(..at).unwrap_or("");
        let begins = before.ends_with([' ', '\t', '=', '[', ',']);
        let quote = self.rest.get(at..).and_then(|rest| rest.chars().next());
        begins
            && quote.is_some_and(|quote| {
                self.rest.get(at..).is_some_and(|rest| rest.matches(quote).nth(1).is_some())
            })
    }
}
