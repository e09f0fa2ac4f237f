//! Names and values in attributes.

use super::Reader;
use super::element::Attribute;
use crate::diagnostic::Sink;
use crate::source::{FileId, Span, usize_of};
use crate::syntax::ast::{Base, Expr, ExprKind, Ident, ScopedName, TypeKind, TypeSpec};
use crate::syntax::lexer::{Comments, lex};
use crate::syntax::parser::parse_value;

/// What a value is for: texts and characters may be written without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Boolean,
    Char,
    WideChar,
    Text,
    WideText,
    Other,
}

impl Want {
    pub(super) fn of(ty: &TypeSpec) -> Self {
        match &ty.kind {
            TypeKind::Base(Base::Boolean) => Self::Boolean,
            TypeKind::Base(Base::Char) => Self::Char,
            TypeKind::Base(Base::WideChar) => Self::WideChar,
            TypeKind::String { wide: false, .. } => Self::Text,
            TypeKind::String { wide: true, .. } => Self::WideText,
            _ => Self::Other,
        }
    }
}

/// Whether text is the name of something: letters, digits and underscores.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl Reader<'_> {
    /// A name that is being given.
    pub(super) fn ident(&mut self, attribute: Attribute<'_>) -> Option<Ident> {
        let attribute = attribute.trimmed();
        if is_name(attribute.value) {
            return Some(Ident { name: attribute.value.into(), span: attribute.span });
        }
        let message = format!("`{}` is not a name", attribute.value);
        let hint = "names begin with a letter and consist of letters, digits and `_`";
        self.sink.error(attribute.span, message).hint(hint);
        None
    }

    /// A name that is being used: `M::N::T`.
    pub(super) fn scoped_name(&mut self, attribute: Attribute<'_>) -> Option<ScopedName> {
        let attribute = attribute.trimmed();
        let (global, text) = match attribute.value.strip_prefix("::") {
            Some(rest) => (true, rest),
            None => (false, attribute.value),
        };
        let mut at = attribute.value.len().saturating_sub(text.len());
        let mut parts = Vec::new();
        for part in text.split("::") {
            parts.push(self.ident(attribute.sub(at, part))?);
            at = at.saturating_add(part.len()).saturating_add(2);
        }
        Some(ScopedName { global, parts, span: attribute.span })
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, attribute: Attribute<'_>) -> Option<bool> {
        match attribute.value.trim() {
            "true" | "TRUE" | "True" | "1" => Some(true),
            "false" | "FALSE" | "False" | "0" => Some(false),
            other => {
                self.sink.error(attribute.span, format!("`{other}` is neither true nor false"));
                None
            }
        }
    }

    /// A value, as IDL writes it; texts, characters and truth may be written as XML has them.
    pub(super) fn value(&mut self, attribute: Attribute<'_>, want: Want) -> Option<Expr> {
        let (text, trimmed) = (attribute.value, attribute.trimmed());
        let written = |quotes: &[&str]| quotes.iter().any(|quote| trimmed.value.starts_with(quote));
        let single = || {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none()).map(u32::from)
        };
        let plain = match want {
            Want::Text if !written(&["\"", "("]) => Some(ExprKind::Str(text.as_bytes().to_vec())),
            Want::WideText if !written(&["\"", "L\"", "("]) => {
                Some(ExprKind::WideStr(text.encode_utf16().collect()))
            }
            Want::Char => single().and_then(|c| u8::try_from(c).ok()).map(ExprKind::Char),
            Want::WideChar => single().and_then(|c| u16::try_from(c).ok()).map(ExprKind::WideChar),
            Want::Boolean if trimmed.value == "1" => Some(ExprKind::Bool(true)),
            Want::Boolean if trimmed.value == "0" => Some(ExprKind::Bool(false)),
            Want::Boolean | Want::Other if matches!(trimmed.value, "true" | "false") => {
                Some(ExprKind::Bool(trimmed.value == "true"))
            }
            _ => None,
        };
        if let Some(kind) = plain {
            return Some(Expr { kind, span: attribute.span });
        }
        // Not everybody writes the `L`.
        if want == Want::WideChar && written(&["'"]) {
            return self.expression(trimmed.spelled(&format!("L{}", trimmed.value)));
        }
        let mut expr = self.expression(trimmed)?;
        expr.kind = match expr.kind {
            ExprKind::Str(octets) if want == Want::WideText => {
                ExprKind::WideStr(String::from_utf8_lossy(&octets).encode_utf16().collect())
            }
            kind => kind,
        };
        Some(expr)
    }

    /// An expression of IDL.
    pub(super) fn expression(&mut self, attribute: Attribute<'_>) -> Option<Expr> {
        let limit = attribute.value.len().saturating_add(1);
        let mut mistakes = Sink::new(4);
        let nowhere = FileId(u32::MAX);
        let mut tokens = lex(attribute.value, nowhere, Comments::Skip, limit, &mut mistakes);
        let place = |span: Span| attribute.part(usize_of(span.start)..usize_of(span.end));
        for token in &mut tokens {
            token.span = place(token.span);
        }
        let failed = mistakes.has_errors();
        for mistake in mistakes.finish() {
            self.sink.add(mistake.severity, mistake.span.map(place), mistake.message);
        }
        if failed {
            return None;
        }
        parse_value(&tokens, attribute.span, self.options.limits.nesting, self.sink)
    }
}
