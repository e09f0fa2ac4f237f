//! Pragmas of old tools that say which members are keys.

use super::Parser;
use crate::diagnostic::Sink;
use crate::preprocess::Pragma;
use crate::source::{FileId, Span};
use crate::syntax::ast::*;
use crate::syntax::lexer::{Comments, lex};
use crate::syntax::literal;
use crate::syntax::token::{Kind, Token};

impl Parser<'_> {
    /// Takes the pragmas that stand before the next token.
    pub(super) fn pragmas_into(&mut self, definitions: &mut Vec<Definition>) {
        while let [pragma, rest @ ..] = self.pragmas
            && pragma.at <= self.at
        {
            self.pragmas = rest;
            if let Some(kind) = self.pragma(pragma) {
                definitions.push(Definition { annotations: Vec::new(), docs: None, kind });
            }
        }
    }

    fn pragma(&mut self, pragma: &Pragma) -> Option<DefinitionKind> {
        let (name, rest) = pragma.tokens.split_first()?;
        let text = name.text();
        match text.as_str() {
            "keylist" => self.keys(pragma.span, rest),
            "DCPS_DATA_TYPE" | "DCPS_DATA_KEY" => {
                let Some(Kind::Str(text)) = rest.first().map(|token| &token.kind) else {
                    self.sink.error(name.span, "this pragma needs a string");
                    return None;
                };
                let octets = literal::string(text).unwrap_or_default();
                let span = rest.first().map_or(name.span, |token| token.span);
                let mut unused = Sink::new(1);
                let inside = String::from_utf8_lossy(&octets);
                let mut tokens = lex(&inside, FileId(u32::MAX), Comments::Skip, 1000, &mut unused);
                tokens.iter_mut().for_each(|token| token.span = span);
                self.keys(pragma.span, &tokens)
            }
            // Repository ids of CORBA say nothing here.
            "prefix" | "ID" | "version" => None,
            _ => {
                self.sink.warning(name.span, format!("the pragma `{text}` is not known and ignored"));
                None
            }
        }
    }

    /// A type, then paths of members: `M::T a b.c`.
    fn keys(&mut self, span: Span, tokens: &[Token]) -> Option<DefinitionKind> {
        let mut rest = tokens;
        let mut parts = Vec::new();
        let global = matches!(rest, [first, ..] if first.kind == Kind::Scope);
        if let ([_, after @ ..], true) = (rest, global) {
            rest = after;
        }
        while let [token, after @ ..] = rest
            && let Some(name) = token.ident()
        {
            parts.push(Ident { name: name.clone(), span: token.span });
            rest = after;
            match rest {
                [scope, after @ ..] if scope.kind == Kind::Scope => rest = after,
                _ => break,
            }
        }
        if parts.is_empty() {
            self.sink.error(span, "this pragma needs the name of a type");
            return None;
        }
        let mut paths: Vec<Vec<Ident>> = Vec::new();
        let mut go_on = false;
        for token in rest {
            match (token.ident(), paths.last_mut()) {
                (Some(name), Some(path)) if go_on => {
                    path.push(Ident { name: name.clone(), span: token.span });
                    go_on = false;
                }
                (Some(name), _) => paths.push(vec![Ident { name: name.clone(), span: token.span }]),
                (None, Some(_)) if token.is('.') => go_on = true,
                // Commas between members are common.
                (None, _) if token.is(',') => {}
                _ => {
                    self.sink
                        .error(token.span, format!("expected the name of a member, found {}", token.shown()));
                    return None;
                }
            }
        }
        let span = parts.first().map_or(span, |part| part.span);
        Some(DefinitionKind::Keys { ty: ScopedName { global, parts, span }, paths })
    }
}
