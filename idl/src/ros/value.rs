//! Values of constants and defaults.

use super::line::Line;
use super::parse::Element;
use crate::diagnostic::Sink;
use crate::source::Span;
use crate::syntax::ast::{Base, Expr, ExprKind};

/// The value that the rest of a line is; whether it fits its type is found out with those of IDL.
pub(super) fn value(element: &Element, line: Line<'_>, sink: &mut Sink) -> Option<Expr> {
    let (text, span) = (line.rest.trim_end(), line.span());
    let kind = match element {
        _ if text.is_empty() => Err("a value was expected".to_owned()),
        Element::Text { wide, .. } => string(text, *wide),
        Element::Primitive(Base::Boolean) => boolean(text),
        Element::Primitive(Base::Float | Base::Double) => float(text),
        Element::Primitive(_) => integer(text, span),
        Element::Message(_) | Element::Own(_) => Err("a message has no value".to_owned()),
    };
    match kind {
        Ok(kind) => Some(Expr { kind, span }),
        Err(problem) => {
            sink.error(span, problem);
            None
        }
    }
}

/// The default of an array or sequence, which types of IDL cannot have.
pub(super) fn list(line: Line<'_>, sink: &mut Sink) {
    let (text, span) = (line.rest.trim_end(), line.span());
    if text.starts_with('[') && text.ends_with(']') {
        let hint = "new values begin empty, or with zeros";
        sink.warning(span, "the default of an array or sequence is left out").hint(hint);
    } else {
        sink.error(span, "the default of an array or sequence is a list").hint("as in `[1, 2, 3]`");
    }
}

fn boolean(text: &str) -> Result<ExprKind, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(ExprKind::Bool(true)),
        "false" | "0" => Ok(ExprKind::Bool(false)),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

fn float(text: &str) -> Result<ExprKind, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match text.parse::<f64>() {
        Ok(value) if plain && value.is_finite() => Ok(ExprKind::Float(value)),
        _ => Err(format!("`{text}` is not a number")),
    }
}

fn integer(text: &str, span: Span) -> Result<ExprKind, String> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)];
    let (digits, radix) = radix
        .iter()
        .find_map(|(prefix, radix)| Some((lower.strip_prefix(prefix)?, *radix)))
        .unwrap_or((lower.as_str(), 10));
    let plain = !digits.starts_with('+');
    let value = u64::from_str_radix(digits, radix).ok().filter(|_| plain);
    let value =
        value.map(ExprKind::Integer).ok_or_else(|| format!("`{text}` is not an integer of 64 bits"))?;
    Ok(if negative { ExprKind::Unary('-', Box::new(Expr { kind: value, span })) } else { value })
}

/// Text with or without quotes.
fn string(text: &str, wide: bool) -> Result<ExprKind, String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let text = match quote {
        None => text.to_owned(),
        Some(quote) => quoted(text, quote)?,
    };
    if text.contains('\0') {
        return Err("a string contains no NUL".to_owned());
    }
    Ok(if wide { ExprKind::WideStr(text.encode_utf16().collect()) } else { ExprKind::Str(text.into_bytes()) })
}

/// The inside of quotes, which end with the text.
fn quoted(text: &str, quote: char) -> Result<String, String> {
    let mut inside = String::new();
    let mut chars = text.chars().skip(1);
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) if escaped == quote || escaped == '\\' => inside.push(escaped),
                // Whatever else is escaped stays as it is.
                Some(other) => inside.extend(['\\', other]),
                None => inside.push('\\'),
            },
            c if c == quote => {
                let more = chars.next().is_some();
                return if more {
                    Err(format!("there is more behind the closing {quote}"))
                } else {
                    Ok(inside)
                };
            }
            c => inside.push(c),
        }
    }
    Err(format!("this text is not closed with {quote}"))
}
