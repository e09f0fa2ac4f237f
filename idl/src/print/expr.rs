//! Values and names as IDL writes them.

use std::fmt::Write as _;

use crate::syntax::ast::{Expr, ExprKind, ScopedName};
use crate::syntax::parser::KEYWORDS;

/// A name, escaped where it is a keyword.
pub(super) fn name(name: &str) -> String {
    let keyword = KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
    if keyword { format!("_{name}") } else { name.to_owned() }
}

/// A name that is used, with its scope.
pub(super) fn scoped(scoped: &ScopedName) -> String {
    let parts: Vec<String> = scoped.parts.iter().map(|part| name(&part.name)).collect();
    format!("{}{}", if scoped.global { "::" } else { "" }, parts.join("::"))
}

/// How strongly an operator binds.
const fn strength(operator: char) -> u8 {
    match operator {
        '|' => 1,
        '^' => 2,
        '&' => 3,
        '<' | '>' => 4,
        '+' | '-' => 5,
        _ => 6,
    }
}

/// The text of an expression.
pub(super) fn text(expr: &Expr) -> String {
    let mut out = String::new();
    write(&mut out, expr, 0);
    out
}

/// The text of a bound, which stands before a `>`.
pub(super) fn bound(expr: &Expr) -> String {
    match expr.kind {
        ExprKind::Binary(..) => format!("({})", text(expr)),
        _ => text(expr),
    }
}

/// Adds an expression, in parentheses if it binds less than `outer`. Chains of operators are as deep as they are long, but
/// no deeper than the parser allows.
fn write(out: &mut String, expr: &Expr, outer: u8) {
    match &expr.kind {
        ExprKind::Integer(value) => drop(write!(out, "{value}")),
        ExprKind::Float(value) => drop(write!(out, "{value:?}")),
        ExprKind::Bool(value) => out.push_str(if *value { "TRUE" } else { "FALSE" }),
        ExprKind::Char(value) => {
            out.push('\'');
            octet(out, *value);
            out.push('\'');
        }
        ExprKind::WideChar(value) => {
            out.push_str("L'");
            unit(out, *value);
            out.push('\'');
        }
        ExprKind::Str(octets) => {
            out.push('"');
            octets.iter().for_each(|value| octet(out, *value));
            out.push('"');
        }
        ExprKind::WideStr(units) => {
            out.push_str("L\"");
            units.iter().for_each(|value| unit(out, *value));
            out.push('"');
        }
        ExprKind::Name(name) => out.push_str(&scoped(name)),
        ExprKind::Unary(operator, inner) => {
            out.push(*operator);
            write(out, inner, 7);
        }
        ExprKind::Binary(operator, left, right) => {
            let own = strength(*operator);
            if own < outer {
                out.push('(');
            }
            write(out, left, own);
            match operator {
                '<' | '>' => drop(write!(out, " {operator}{operator} ")),
                operator => drop(write!(out, " {operator} ")),
            }
            write(out, right, own.saturating_add(1));
            if own < outer {
                out.push(')');
            }
        }
    }
}

fn octet(out: &mut String, value: u8) {
    match value {
        b'"' | b'\'' | b'\\' => out.extend(['\\', char::from(value)]),
        b' '..=b'~' => out.push(char::from(value)),
        _ => drop(write!(out, "\\x{value:02x}")),
    }
}

fn unit(out: &mut String, value: u16) {
    match u8::try_from(value) {
        Ok(value) if value != 0 && value < 0x7f => octet(out, value),
        _ => drop(write!(out, "\\u{value:04x}")),
    }
}
