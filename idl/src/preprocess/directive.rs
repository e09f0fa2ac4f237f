//! Directives: the lines that begin with `#`.

use std::rc::Rc;

use super::macros::Macro;
use super::{Pragma, Preprocessor};
use crate::source::Span;
use crate::syntax::literal::{self, Number};
use crate::syntax::token::{Kind, Token};

/// An open `#if`.
pub(super) struct Condition {
    pub span: Span,
    /// What stands here counts.
    pub active: bool,
    /// A branch was taken, so the others do not count.
    taken: bool,
    /// Where `#else` was.
    other: Option<Span>,
}

/// How deep conditions may be nested.
const CONDITIONS: usize = 200;

impl Preprocessor<'_> {
    /// Executes a directive: the tokens after the `#`.
    pub(super) fn directive(&mut self, hash: Span, line: &[Token]) {
        let Some((word, rest)) = line.split_first() else { return };
        let name = word.text();
        match name.as_str() {
            "if" | "ifdef" | "ifndef" => self.open(word, rest),
            "elif" => self.elif(word, rest),
            "else" => self.otherwise(word.span),
            "endif" => {
                if self.conditions.pop().is_none() {
                    self.sink.error(word.span, "`#endif` without `#if`");
                }
            }
            _ if !self.is_active() => {}
            "define" => self.define(word, rest),
            "undef" => match rest {
                [name] if name.ident().is_some() => {
                    name.ident().and_then(|name| self.macros.remove(name));
                }
                _ => drop(self.sink.error(word.span, "`#undef` needs the name of a macro")),
            },
            "include" => self.include_directive(word, rest),
            "line" => self.line(hash, rest),
            "pragma" => self.pragma(word.span, rest),
            "error" | "warning" => {
                let text: Vec<String> = rest.iter().map(Token::text).collect();
                let message = format!("#{name} {}", text.join(" "));
                if name == "error" {
                    self.sink.error(word.span, message);
                } else {
                    self.sink.warning(word.span, message);
                }
            }
            _ if matches!(word.kind, Kind::Number(_)) => self.line(hash, line),
            _ => drop(
                self.sink
                    .error(word.span, format!("unknown directive `#{name}`"))
                    .hint("there are: include, define, undef, if, ifdef, ifndef, elif, else, endif, line, error, pragma"),
            ),
        }
    }

    fn open(&mut self, word: &Token, rest: &[Token]) {
        if self.conditions.len() >= CONDITIONS {
            self.sink.error(word.span, format!("conditions are nested more than {CONDITIONS} deep"));
            self.stopped = true;
            return;
        }
        let holds = self.is_active() && self.test(word, rest);
        self.conditions.push(Condition { span: word.span, active: holds, taken: holds, other: None });
    }

    fn test(&mut self, word: &Token, rest: &[Token]) -> bool {
        if word.text() == "if" || word.text() == "elif" {
            return self.condition(word.span, rest);
        }
        let is_defined = match rest.first().and_then(Token::ident) {
            Some(name) => self.is_defined(name),
            None => {
                self.sink.error(word.span, format!("`#{}` needs the name of a macro", word.text()));
                return false;
            }
        };
        if let Some(extra) = rest.get(1) {
            self.sink.warning(extra.span, "the rest of the line is ignored");
        }
        is_defined == (word.text() == "ifdef")
    }

    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.macros.contains_key(name) || matches!(name, "__LINE__" | "__FILE__")
    }

    fn elif(&mut self, word: &Token, rest: &[Token]) {
        let Some(mut condition) = self.conditions.pop() else {
            self.sink.error(word.span, "`#elif` without `#if`");
            return;
        };
        if let Some(other) = condition.other {
            self.sink.error(word.span, "`#elif` after `#else`").also(other, "the `#else`");
        }
        condition.active = !condition.taken && self.is_active() && self.test(word, rest);
        condition.taken |= condition.active;
        self.conditions.push(condition);
    }

    fn otherwise(&mut self, span: Span) {
        let Some(condition) = self.conditions.last_mut() else {
            self.sink.error(span, "`#else` without `#if`");
            return;
        };
        if let Some(other) = condition.other {
            self.sink.error(span, "another `#else` of the same `#if`").also(other, "the first");
            return;
        }
        condition.other = Some(span);
        condition.active = !condition.taken;
        condition.taken = true;
    }

    fn define(&mut self, word: &Token, rest: &[Token]) {
        let Some((first, rest)) = rest.split_first() else {
            self.sink.error(word.span, "a macro needs a name");
            return;
        };
        let (name, definition) = match Macro::parse(first, rest) {
            Ok(parsed) => parsed,
            Err((span, problem)) => {
                self.sink.error(span, problem);
                return;
            }
        };
        if let Some(other) = self.macros.get(&name).filter(|other| !other.equals(&definition)) {
            self.sink
                .warning(first.span, format!("the macro `{name}` is defined differently before"))
                .also(other.span, "before")
                .hint("say #undef first");
        }
        self.macros.insert(name, Rc::new(definition));
    }

    fn include_directive(&mut self, word: &Token, rest: &[Token]) {
        let expanded = match rest.first() {
            Some(first) if first.ident().is_some() => self.expand_all(rest, &[], 0),
            _ => rest.to_vec(),
        };
        match expanded.as_slice() {
            [token, ..] if matches!(token.kind, Kind::Str(_)) => {
                let text = token.text();
                let name = text.trim_start_matches('L').trim_matches('"');
                self.include(token.span, name, true);
            }
            [open, inside @ .., close] if open.is('<') && close.is('>') => {
                let mut name = String::new();
                for token in inside {
                    if token.space {
                        name.push(' ');
                    }
                    name.push_str(&token.text());
                }
                self.include(open.span.to(close.span), name.trim(), false);
            }
            _ => drop(self.sink.error(word.span, "`#include` needs \"file\" or <file>")),
        }
    }

    /// `#line 12 "file"`, also in the form `# 12 "file" 1` that preprocessors write.
    fn line(&mut self, hash: Span, rest: &[Token]) {
        let expanded = self.expand_all(rest, &[], 0);
        let number = match expanded.first().map(|token| &token.kind) {
            // Leading zeros do not make it octal.
            Some(Kind::Number(text)) => match literal::number(text.trim_start_matches('0')) {
                Ok(Number::Integer(line)) => u32::try_from(line).ok(),
                _ => None,
            },
            _ => None,
        };
        let Some(number) = number else {
            self.sink.error(hash, "`#line` needs a line number");
            return;
        };
        let file = match expanded.get(1).map(|token| &token.kind) {
            Some(Kind::Str(text)) => {
                literal::string(text).ok().map(|octets| String::from_utf8_lossy(&octets).into_owned())
            }
            _ => None,
        };
        self.sources.mark(hash, number, file);
    }

    fn pragma(&mut self, span: Span, rest: &[Token]) {
        let is_once = matches!(rest, [word] if word.text() == "once");
        if is_once {
            if let Some((_, identity)) = self.open.last() {
                self.once.insert(identity.clone());
            }
        } else if !rest.is_empty() {
            let at = self.output.tokens.len();
            self.output.pragmas.push(Pragma { span, tokens: rest.to_vec(), at });
        }
    }
}
