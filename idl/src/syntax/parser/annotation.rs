//! Annotations: their uses and declarations (IDL 4.2 §7.4.15).

use super::{Failed, Parsed, Parser};
use crate::diagnostic::Sink;
use crate::source::{FileId, Span};
use crate::syntax::ast::*;
use crate::syntax::lexer::{Comments, lex};
use crate::syntax::token::Token;

impl Parser<'_> {
    /// Any number of annotations. In front of `@annotation`, the `@` is taken and nothing else.
    pub(super) fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.at('@') {
            let start = self.here();
            self.advance();
            if self.at_word("annotation") {
                if !annotations.is_empty() {
                    self.sink.error(start, "a declaration of an annotation has no annotations itself");
                }
                return Ok(annotations);
            }
            if self.peek().is_some_and(Token::stands_apart) {
                self.sink.error(start, "there is no space between `@` and the name of an annotation");
            }
            annotations.push(self.annotation(start)?);
        }
        Ok(annotations)
    }

    fn annotation(&mut self, start: Span) -> Parsed<Annotation> {
        let name = self.annotation_name()?;
        let mut args = Vec::new();
        if self.eat('(') {
            if !self.at(')') {
                args.push(self.argument()?);
                while self.eat(',') {
                    args.push(self.argument()?);
                }
            }
            self.expect(')', "to close the arguments of the annotation")?;
        }
        Ok(Annotation { name, args, span: start.to(self.last) })
    }

    /// Names of annotations may be keywords: `@default`, `@oneway`.
    fn annotation_name(&mut self) -> Parsed<ScopedName> {
        let keyword = self
            .peek()
            .and_then(|token| token.ident())
            .filter(|name| matches!(&***name, "default" | "oneway"));
        match keyword {
            None => self.scoped_name("an annotation"),
            Some(name) => {
                let span = self.here();
                self.advance();
                Ok(ScopedName { global: false, parts: vec![Ident { name: name.clone(), span }], span })
            }
        }
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let named = self.peek().is_some_and(|token| token.ident().is_some())
            && self.peek_at(1).is_some_and(|token| token.is('='));
        if !named {
            return Ok(Argument { name: None, value: self.expr()? });
        }
        let span = self.here();
        // Names of parameters may be keywords too.
        let name = self.advance().and_then(|token| token.ident()).cloned().unwrap_or_else(|| "".into());
        self.advance();
        Ok(Argument { name: Some(Ident { name, span }), value: self.expr()? })
    }

    /// `annotation name { ... }`, after the `@`.
    pub(super) fn annotation_declaration(&mut self) -> Parsed<AnnotationDecl> {
        self.advance();
        // Standard annotations may be declared, and one of them is a keyword.
        let name = match self.annotation_name()?.parts.pop() {
            Some(name) => name,
            None => return Err(Failed),
        };
        self.expect('{', "after the name of an annotation")?;
        let mut body = Vec::new();
        while !self.eat('}') {
            let start = self.at;
            match self.annotation_item() {
                Ok(item) => body.push(item),
                Err(Failed) if self.peek().is_none() => return Err(Failed),
                Err(Failed) => {
                    if self.at == start {
                        self.advance();
                    }
                    self.recover();
                }
            }
        }
        Ok(AnnotationDecl { name, body })
    }

    fn annotation_item(&mut self) -> Parsed<AnnotationItem> {
        // What is declared in an annotation may have annotations, parameters have none.
        if self.at('@') {
            let docs = self.docs_before();
            let annotations = self.annotations()?;
            if !matches!(self.word(), Some("enum" | "const" | "typedef" | "bitmask")) {
                self.unexpected("an enum, a bitmask, a typedef or a const");
                return Err(Failed);
            }
            let definition = self.definition_behind(docs, annotations)?;
            return definition.map(AnnotationItem::Definition).ok_or(Failed);
        }
        match self.word() {
            Some("enum" | "const" | "typedef" | "bitmask") => match self.definition()? {
                Some(definition) => Ok(AnnotationItem::Definition(definition)),
                None => Err(Failed),
            },
            _ => {
                let span = self.here();
                let ty = match self.eat_word("any") {
                    true => TypeSpec { annotations: Vec::new(), kind: TypeKind::Any, span },
                    false => self.type_spec()?,
                };
                let name = match self.word() {
                    // `default` is a keyword and the name of nothing here; other keywords may name parameters.
                    Some("default") | None => self.ident("a parameter")?,
                    Some(word) => {
                        let span = self.here();
                        self.advance();
                        Ident { name: word.into(), span }
                    }
                };
                let default = if self.eat_word("default") { Some(self.expr()?) } else { None };
                self.expect(';', "behind the parameter")?;
                Ok(AnnotationItem::Param { ty, name, default })
            }
        }
    }

    /// Adds the annotations that old tools write as comments behind a member: `//@key`.
    pub(super) fn with_notes(&mut self, mut annotations: Vec<Annotation>) -> Vec<Annotation> {
        let last = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        let notes = last.and_then(|token| token.docs.as_ref()).map_or(&[][..], |docs| &docs.notes);
        for (text, span) in notes {
            if !self.comment_annotations {
                self.sink
                    .warning(*span, "this comment looks like an annotation, but is none")
                    .hint("write the annotation before the member, or allow annotations in comments");
                continue;
            }
            match note(text, *span) {
                Some(annotation) => annotations.push(annotation),
                None => drop(self.sink.warning(*span, "this comment is no annotation that Dunlin knows")),
            }
        }
        annotations
    }
}

/// An annotation in a comment: a name and at most one word.
fn note(text: &str, span: Span) -> Option<Annotation> {
    let mut words = text.split_whitespace();
    let (name, value) = (words.next()?, words.next());
    let (name, value) = match (name.to_ascii_lowercase().as_str(), value) {
        ("key", _) => ("key", None),
        ("optional", _) => ("optional", None),
        ("id", Some(value)) => ("id", Some(value)),
        ("extensibility", Some("FINAL_EXTENSIBILITY" | "FINAL")) => ("final", None),
        ("extensibility", Some("EXTENSIBLE_EXTENSIBILITY" | "APPENDABLE")) => ("appendable", None),
        ("extensibility", Some("MUTABLE_EXTENSIBILITY" | "MUTABLE")) => ("mutable", None),
        ("top-level", Some("false")) => ("nested", None),
        ("top-level", _) => ("topic", None),
        _ => return None,
    };
    let name = ScopedName { global: false, parts: vec![Ident { name: name.into(), span }], span };
    let mut args = Vec::new();
    if let Some(value) = value {
        let mut sink = Sink::new(1);
        let tokens = lex(value, FileId(u32::MAX), Comments::Skip, 10, &mut sink);
        let mut parser = Parser {
            tokens: &tokens,
            pragmas: &[],
            at: 0,
            sink: &mut sink,
            depth: 0,
            limit: 10,
            last: span,
            comment_annotations: false,
            in_template: false,
        };
        let value = parser.expr().ok()?;
        args.push(Argument { name: None, value: Expr { span, ..value } });
    }
    Some(Annotation { name, args, span })
}
