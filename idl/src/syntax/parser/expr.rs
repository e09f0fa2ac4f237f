//! Constant expressions (IDL 4.2 §7.4.1.4.3).

use super::{Failed, Parsed, Parser};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::literal::{self, Number, or_report};
use crate::syntax::token::{Kind, Token};

/// Binary operators, those that bind weakest first; `<` and `>` are shifts.
const OPERATORS: &[&[char]] = &[&['|'], &['^'], &['&'], &['<', '>'], &['+', '-'], &['*', '/', '%']];

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.expr_in(false)
    }

    /// An expression before a `>` that closes something.
    pub(super) fn bound_expr(&mut self) -> Parsed<Expr> {
        self.expr_in(true)
    }

    fn expr_in(&mut self, template: bool) -> Parsed<Expr> {
        let outer = std::mem::replace(&mut self.in_template, template);
        let result = self.nested(|parser| parser.binary(OPERATORS));
        self.in_template = outer;
        result
    }

    fn binary(&mut self, levels: &[&[char]]) -> Parsed<Expr> {
        let Some((operators, tighter)) = levels.split_first() else { return self.unary() };
        let mut left = self.binary(tighter)?;
        // Each operator makes the tree one deeper, so long chains are nested too.
        let depth = self.depth;
        while let Some(operator) = operators.iter().copied().find(|operator| self.eat_operator(*operator)) {
            self.depth = self.depth.saturating_add(1);
            let right = self.nested(|parser| parser.binary(tighter));
            let Ok(right) = right else {
                self.depth = depth;
                return Err(Failed);
            };
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span };
        }
        self.depth = depth;
        Ok(left)
    }

    fn eat_operator(&mut self, operator: char) -> bool {
        if !matches!(operator, '<' | '>') {
            return self.eat(operator);
        }
        let second = self.peek_at(1).is_some_and(|token| token.is(operator) && !token.stands_apart());
        if !self.at(operator) || !second || (operator == '>' && self.in_template) {
            return false;
        }
        self.advance();
        self.advance();
        true
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.here();
        for operator in ['-', '+', '~'] {
            if self.eat(operator) {
                let inner = self.nested(Self::unary)?;
                let span = start.to(inner.span);
                return Ok(Expr { kind: ExprKind::Unary(operator, Box::new(inner)), span });
            }
        }
        self.primary()
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let span = self.here();
        let Some(token) = self.peek() else {
            self.unexpected("a value");
            return Err(Failed);
        };
        let kind = match &token.kind {
            Kind::Punct('(') => {
                self.advance();
                let inner = self.expr()?;
                self.expect(')', "to close the parenthesis")?;
                return Ok(Expr { span: span.to(self.last), ..inner });
            }
            Kind::Number(text) => {
                self.advance();
                match literal::number(text) {
                    Ok(Number::Integer(value)) => ExprKind::Integer(value),
                    Ok(Number::Float(value)) => ExprKind::Float(value),
                    Err(problem) => {
                        self.sink.error(span, problem);
                        ExprKind::Integer(0)
                    }
                }
            }
            Kind::Char(text) => {
                self.advance();
                match or_report(literal::character(text), span, self.sink) {
                    (true, value) => ExprKind::WideChar(u16::try_from(value).unwrap_or(0)),
                    (false, value) => ExprKind::Char(u8::try_from(value).unwrap_or(0)),
                }
            }
            Kind::Str(text) => return Ok(self.string(text.starts_with('L'), span)),
            Kind::Ident(name) if **name == *"TRUE" || **name == *"FALSE" => {
                self.advance();
                ExprKind::Bool(**name == *"TRUE")
            }
            Kind::Ident(name) if matches!(&**name, "true" | "false") => {
                self.advance();
                let upper = name.to_ascii_uppercase();
                self.sink.warning(span, format!("`{name}` is written {upper} in IDL"));
                ExprKind::Bool(**name == *"true")
            }
            Kind::Ident(_) | Kind::Scope => ExprKind::Name(self.scoped_name("a constant")?),
            _ => {
                self.unexpected("a value");
                return Err(Failed);
            }
        };
        Ok(Expr { kind, span: span.to(self.last) })
    }

    /// Adjacent string literals are one.
    fn string(&mut self, wide: bool, start: Span) -> Expr {
        let (mut octets, mut units) = (Vec::new(), Vec::new());
        while let Some(Token { kind: Kind::Str(text), span, .. }) = self.peek() {
            if text.starts_with('L') != wide {
                self.sink.error(*span, "a string and a wide string cannot be joined");
            } else if wide {
                units.extend(or_report(literal::wide_string(text), *span, self.sink));
            } else {
                octets.extend(or_report(literal::string(text), *span, self.sink));
            }
            self.advance();
        }
        let kind = if wide { ExprKind::WideStr(units) } else { ExprKind::Str(octets) };
        Expr { kind, span: start.to(self.last) }
    }
}
