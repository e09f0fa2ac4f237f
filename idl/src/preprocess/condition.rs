//! The expressions of `#if`.

use super::Preprocessor;
use crate::source::Span;
use crate::syntax::literal::{self, Number};
use crate::syntax::token::{Kind, Token};

/// How deep expressions may be nested.
const DEPTH: u32 = 64;

/// Binary operators, those that bind weakest first.
const OPERATORS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Why an expression has no value.
type Problem = (Option<Span>, String);

struct Evaluator<'a> {
    tokens: &'a [Token],
    depth: u32,
    /// The value does not matter, so it need not exist.
    dead: bool,
}

impl Preprocessor<'_> {
    /// The value of the expression after `#if`; `false` after an error.
    pub(super) fn condition(&mut self, span: Span, line: &[Token]) -> bool {
        let line = self.replace_defined(line);
        let tokens = self.expand_all(&line, &[], 0);
        let mut evaluator = Evaluator { tokens: &tokens, depth: 0, dead: false };
        let result = evaluator.ternary().and_then(|value| match evaluator.tokens.first() {
            None => Ok(value),
            Some(extra) => {
                Err((Some(extra.span), format!("{} is out of place in a condition", extra.shown())))
            }
        });
        match result {
            Ok(value) => value != 0,
            Err((place, problem)) => {
                self.sink.error(place.unwrap_or(span), problem);
                false
            }
        }
    }

    /// Puts 0 or 1 in place of `defined X` and `defined(X)`.
    fn replace_defined(&self, mut rest: &[Token]) -> Vec<Token> {
        let mut result = Vec::new();
        while let [token, after @ ..] = rest {
            rest = after;
            if token.ident().is_none_or(|name| **name != *"defined") {
                result.push(token.clone());
                continue;
            }
            let name = match after {
                [open, name, close, after @ ..] if open.is('(') && close.is(')') => {
                    rest = after;
                    name.ident()
                }
                [name, after @ ..] if name.ident().is_some() => {
                    rest = after;
                    name.ident()
                }
                _ => None,
            };
            match name {
                Some(name) => {
                    let value = if self.is_defined(name) { "1" } else { "0" };
                    result.push(Token { kind: Kind::Number(value.into()), ..token.clone() });
                }
                None => result.push(token.clone()),
            }
        }
        result
    }
}

impl Evaluator<'_> {
    /// Takes the operator if it comes next: its characters without space between them.
    fn eat(&mut self, operator: &str) -> bool {
        let mut rest = self.tokens;
        for (i, c) in operator.chars().enumerate() {
            match rest {
                [token, after @ ..] if token.is(c) && (i == 0 || !token.space) => rest = after,
                _ => return false,
            }
        }
        // `&` is not the first half of `&&`, and so on.
        let longer = matches!(operator, "|" | "&" | "<" | ">" | "!") && operator.len() == 1;
        if let ([next, ..], true) = (rest, longer) {
            let doubles = operator.chars().any(|c| next.is(c)) && operator != "!";
            if !next.space && (doubles || (next.is('=') && operator != "|" && operator != "&")) {
                return false;
            }
        }
        self.tokens = rest;
        true
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Problem>) -> Result<T, Problem> {
        if self.depth >= DEPTH {
            let span = self.tokens.first().map(|token| token.span);
            return Err((span, "this condition is nested too deep".to_owned()));
        }
        self.depth = self.depth.saturating_add(1);
        let result = inner(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// Evaluates a part whose value does not matter if `dead`.
    fn unless<T>(&mut self, dead: bool, part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.dead;
        self.dead |= dead;
        let result = part(self);
        self.dead = outer;
        result
    }

    fn ternary(&mut self) -> Result<i128, Problem> {
        let condition = self.binary(OPERATORS)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.unless(condition == 0, |this| this.nested(Self::ternary))?;
        let span = self.tokens.first().map(|token| token.span);
        if !self.eat(":") {
            return Err((span, "expected `:` after `?` in a condition".to_owned()));
        }
        let no = self.unless(condition != 0, |this| this.nested(Self::ternary))?;
        Ok(if condition != 0 { yes } else { no })
    }

    fn binary(&mut self, levels: &[&[&str]]) -> Result<i128, Problem> {
        let Some((operators, tighter)) = levels.split_first() else { return self.unary() };
        let mut left = self.binary(tighter)?;
        loop {
            let span = self.tokens.first().map(|token| token.span);
            let Some(operator) = operators.iter().find(|operator| self.eat(operator)) else {
                return Ok(left);
            };
            let decided = matches!((*operator, left != 0), ("||", true) | ("&&", false));
            let right = self.unless(decided, |this| this.binary(tighter))?;
            left = match apply(operator, left, right) {
                Err(_) if self.dead => 0,
                result => result.map_err(|problem| (span, problem.to_owned()))?,
            };
        }
    }

    fn unary(&mut self) -> Result<i128, Problem> {
        for operator in ["!", "-", "+", "~"] {
            if self.eat(operator) {
                let value = self.nested(Self::unary)?;
                return Ok(match operator {
                    "!" => i128::from(value == 0),
                    "-" => value.saturating_neg(),
                    "~" => !value,
                    _ => value,
                });
            }
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<i128, Problem> {
        if self.eat("(") {
            let value = self.nested(Self::ternary)?;
            let span = self.tokens.first().map(|token| token.span);
            return if self.eat(")") {
                Ok(value)
            } else {
                Err((span, "expected `)` in a condition".to_owned()))
            };
        }
        let Some((token, rest)) = self.tokens.split_first() else {
            return Err((None, "a condition needs a value here".to_owned()));
        };
        self.tokens = rest;
        let problem = |problem: String| (Some(token.span), problem);
        match &token.kind {
            // Suffixes of C say nothing here.
            Kind::Number(text) => match literal::number(text.trim_end_matches(['u', 'U', 'l', 'L'])) {
                Ok(Number::Integer(value)) => Ok(i128::from(value)),
                Ok(Number::Float(_)) => Err(problem("conditions are about integers".to_owned())),
                Err(reason) => Err(problem(reason)),
            },
            Kind::Char(text) => literal::character(text).map(|(_, value)| i128::from(value)).map_err(problem),
            Kind::Ident(name) => Ok(i128::from(matches!(&**name, "true" | "TRUE"))),
            _ => Err(problem(format!("{} is no value for a condition", token.shown()))),
        }
    }
}

fn apply(operator: &str, a: i128, b: i128) -> Result<i128, &'static str> {
    let overflow = "the value of this condition has too many bits";
    let shift = || u32::try_from(b).ok().filter(|b| *b < 64).ok_or("a shift is by 0 to 63 bits");
    let checked = |value: Option<i128>| value.filter(|v| v.unsigned_abs() <= 1 << 64).ok_or(overflow);
    Ok(match operator {
        "||" => i128::from(a != 0 || b != 0),
        "&&" => i128::from(a != 0 && b != 0),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => i128::from(a == b),
        "!=" => i128::from(a != b),
        "<" => i128::from(a < b),
        ">" => i128::from(a > b),
        "<=" => i128::from(a <= b),
        ">=" => i128::from(a >= b),
        "<<" => {
            checked(a.checked_shl(shift()?).filter(|v| v.checked_shr(b.unsigned_abs() as u32) == Some(a)))?
        }
        ">>" => a.checked_shr(shift()?).unwrap_or(0),
        "+" => checked(a.checked_add(b))?,
        "-" => checked(a.checked_sub(b))?,
        "*" => checked(a.checked_mul(b))?,
        "/" => a.checked_div(b).ok_or("division by zero")?,
        _ => a.checked_rem(b).ok_or("division by zero")?,
    })
}
