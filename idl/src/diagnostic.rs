//! What the compiler has to say about its input.

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::source::{SourceMap, Span, usize_of};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input means something, but maybe not what was meant.
    Warning,
    /// The input is refused.
    Error,
}

/// A message about a place in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Where; nowhere, if it is about the command line.
    pub span: Option<Span>,
    /// Other places that matter, and why.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Adds what to do about it.
    pub(crate) fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds another place that matters.
    pub(crate) fn also(&mut self, span: Span, label: impl Into<String>) -> &mut Self {
        self.related.push((span, label.into()));
        self
    }

    /// `file:line:column: error: message`.
    #[must_use]
    pub fn short(&self, sources: &SourceMap) -> String {
        let word = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        match self.span {
            None => format!("{word}: {}", self.message),
            Some(span) => {
                let place = sources.location(span);
                format!("{}:{}:{}: {word}: {}", place.file, place.line, place.column, self.message)
            }
        }
    }

    /// The message with the line it is about, marked, and the hint; in colours for a terminal if `styled`.
    #[must_use]
    pub fn render(&self, sources: &SourceMap, styled: bool) -> String {
        let level = match self.severity {
            Severity::Warning => Level::WARNING,
            Severity::Error => Level::ERROR,
        };
        let excerpts: Vec<(Excerpt, &str, bool)> = self
            .span
            .iter()
            .map(|span| (Excerpt::new(sources, *span), "", true))
            .chain(
                self.related
                    .iter()
                    .map(|(span, label)| (Excerpt::new(sources, *span), label.as_str(), false)),
            )
            .collect();
        let mut group = Group::with_title(level.primary_title(printable(&self.message)));
        for (excerpt, label, primary) in &excerpts {
            let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let mut annotation = kind.span(excerpt.start..excerpt.end);
            if !label.is_empty() {
                annotation = annotation.label(*label);
            }
            let snippet =
                Snippet::source(excerpt.line.as_str()).line_start(excerpt.number).path(excerpt.path.as_str());
            group = group.element(snippet.annotation(annotation));
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(printable(hint)));
        }
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let mut text = renderer.render(&[group]);
        text.push('\n');
        text
    }
}

/// The line of a place, ready to be shown.
struct Excerpt {
    path: String,
    line: String,
    number: usize,
    start: usize,
    end: usize,
}

/// Longest part of a line that is shown.
const LINE: usize = 240;

impl Excerpt {
    fn new(sources: &SourceMap, span: Span) -> Self {
        let place = sources.location(span);
        let (line, begin) = sources.line(span);
        let (from, to) =
            (usize_of(span.start.saturating_sub(begin)), usize_of(span.end.saturating_sub(begin)));
        let (mut shown, mut start, mut end) = (String::new(), None, None);
        // A very long line is shown from shortly before the place on.
        let skip = from.saturating_sub(LINE / 2);
        for (at, c) in line.char_indices().skip_while(|(at, _)| from > LINE && *at < skip) {
            if shown.len() > LINE {
                break;
            }
            if at >= from && start.is_none() {
                start = Some(shown.len());
            }
            if at >= to && end.is_none() {
                end = Some(shown.len());
            }
            match c {
                '\t' => shown.push_str("    "),
                c if c.is_control() || is_invisible(c) => shown.push('\u{fffd}'),
                c => shown.push(c),
            }
        }
        let start = start.unwrap_or(shown.len());
        let end = end.unwrap_or(shown.len()).max(start);
        let (path, number) = (printable(&place.file), usize_of(place.line));
        Self { path, line: shown, number, start, end }
    }
}

/// Characters that change the direction of text or take no room.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Text without control characters, so that names in messages cannot control a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c }).collect()
}

/// Collects diagnostics up to a limit.
#[derive(Debug)]
pub(crate) struct Sink {
    items: Vec<Diagnostic>,
    limit: usize,
    errors: usize,
    dropped: usize,
    /// Takes what comes after the limit.
    scratch: Diagnostic,
}

impl Sink {
    pub(crate) fn new(limit: usize) -> Self {
        let scratch = Diagnostic {
            severity: Severity::Warning,
            message: String::new(),
            span: None,
            related: Vec::new(),
            hint: None,
        };
        Self { items: Vec::new(), limit, errors: 0, dropped: 0, scratch }
    }

    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Error, Some(span), message.into())
    }

    pub(crate) fn warning(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Warning, Some(span), message.into())
    }

    pub(crate) fn add(&mut self, severity: Severity, span: Option<Span>, message: String) -> &mut Diagnostic {
        if severity == Severity::Error {
            self.errors = self.errors.saturating_add(1);
        }
        let diagnostic = Diagnostic { severity, message, span, related: Vec::new(), hint: None };
        if self.items.len() >= self.limit {
            self.dropped = self.dropped.saturating_add(1);
            self.scratch = diagnostic;
            return &mut self.scratch;
        }
        self.items.push(diagnostic);
        match self.items.last_mut() {
            Some(last) => last,
            None => &mut self.scratch,
        }
    }

    /// Whether nobody would read more errors.
    pub(crate) fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            let mut message = String::new();
            let _ = write!(message, "{} more messages are not shown", self.dropped);
            let severity = if self.errors > 0 { Severity::Error } else { Severity::Warning };
            self.items.push(Diagnostic { severity, message, span: None, related: Vec::new(), hint: None });
        }
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_line_caret_and_hint() {
        let mut sources = SourceMap::default();
        let file = sources.add("dir/a.idl", b"module M {\n\tlong x\n};");
        let mut sink = Sink::new(10);
        let span = |start, end| Span { file, start, end };
        sink.error(span(17, 18), "unexpected `x`").hint("remove it").also(span(7, 8), "in this module");
        let items = sink.finish();
        let text = items[0].render(&sources, false);
        assert_eq!(items[0].short(&sources), "dir/a.idl:2:7: error: unexpected `x`");
        for part in [
            "error: unexpected `x`",
            "dir/a.idl:2:10",
            "2 |     long x",
            "|          ^",
            "remove it",
            "in this module",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(items[0].render(&sources, true).contains('\u{1b}'));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut sources = SourceMap::default();
        let file = sources.add("a\u{1b}.idl", "\u{1b}[31m \u{202e}x".as_bytes());
        let mut sink = Sink::new(10);
        sink.error(Span { file, start: 0, end: 200 }, "bad \u{1b}]0;x");
        let text = sink.finish()[0].render(&sources, false);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }

    #[test]
    fn diagnostics_beyond_the_limit_are_only_counted() {
        let mut sink = Sink::new(2);
        let span = Span { file: FileId0::ID, start: 0, end: 0 };
        for _ in 0..5 {
            sink.error(span, "x");
        }
        let items = sink.finish();
        assert_eq!(items.len(), 3);
        assert_eq!(items[2].message, "3 more messages are not shown");
    }

    struct FileId0;
    impl FileId0 {
        const ID: crate::source::FileId = crate::source::FileId(0);
    }
}
