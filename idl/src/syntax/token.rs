//! Tokens, as the preprocessor and the parser see them.

use std::rc::Rc;

use crate::source::Span;

/// What a token is. Text is the spelling in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ident(Rc<str>),
    /// Whatever begins with a digit, or a point and a digit.
    Number(Rc<str>),
    /// With quotes and, if wide, the `L`.
    Char(Rc<str>),
    Str(Rc<str>),
    Punct(char),
    /// `::`
    Scope,
    Newline,
    /// With its markers; only where comments are kept.
    Comment(Rc<str>),
}

/// Documentation comments around a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Docs {
    /// Text of the comments before.
    pub before: String,
    /// Text of a comment behind that begins with `///<` or the like.
    pub behind: String,
    /// Comments behind that begin with `//@`: annotations of old tools.
    pub notes: Vec<(Rc<str>, Span)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub span: Span,
    /// White space or a comment before it.
    pub space: bool,
    /// First of its line.
    pub first: bool,
    /// The name of a macro that must not be replaced any more.
    pub painted: bool,
    /// Shared, since macros copy tokens.
    pub docs: Option<Rc<Docs>>,
}

/// How many tokens text of this many octets counts as.
pub(crate) fn cost_of_text(octets: usize) -> usize {
    octets / 64
}

/// How much it takes to copy tokens.
pub(crate) fn cost(tokens: &[Token]) -> usize {
    tokens.iter().fold(0, |sum, token| sum.saturating_add(token.cost()))
}

impl Token {
    pub(crate) fn new(kind: Kind, span: Span) -> Self {
        Self { kind, span, space: false, first: false, painted: false, docs: None }
    }

    pub(crate) fn is(&self, c: char) -> bool {
        self.kind == Kind::Punct(c)
    }

    /// White space, a comment or the end of a line stands between it and the token before it.
    pub(crate) fn stands_apart(&self) -> bool {
        self.space || self.first
    }

    pub(crate) fn ident(&self) -> Option<&Rc<str>> {
        if let Kind::Ident(name) = &self.kind { Some(name) } else { None }
    }

    /// How much it takes to copy and to read it, where a short token is one.
    pub(crate) fn cost(&self) -> usize {
        let docs = self.docs.as_ref().map_or(0, |docs| docs.before.len().saturating_add(docs.behind.len()));
        let text = match &self.kind {
            Kind::Ident(text)
            | Kind::Number(text)
            | Kind::Char(text)
            | Kind::Str(text)
            | Kind::Comment(text) => text.len(),
            Kind::Punct(_) | Kind::Scope | Kind::Newline => 0,
        };
        cost_of_text(docs.saturating_add(text)).saturating_add(1)
    }

    /// The spelling.
    pub(crate) fn text(&self) -> String {
        match &self.kind {
            Kind::Ident(text)
            | Kind::Number(text)
            | Kind::Char(text)
            | Kind::Str(text)
            | Kind::Comment(text) => text.to_string(),
            Kind::Punct(c) => c.to_string(),
            Kind::Scope => "::".to_owned(),
            Kind::Newline => "\n".to_owned(),
        }
    }

    /// The token as messages name it.
    pub(crate) fn shown(&self) -> String {
        match &self.kind {
            Kind::Newline => "the end of the line".to_owned(),
            Kind::Char(text) | Kind::Str(text) if text.len() > 40 => "a long literal".to_owned(),
            _ => format!("`{}`", self.text()),
        }
    }
}
