//! Recursive descent over tokens (IDL 4.2 §7.4). A mistake is reported and the parser goes on behind it.

mod annotation;
mod expr;
mod interface;
mod pragma;
mod types;

use std::rc::Rc;

use super::ast::*;
use super::token::{Kind, Token};
use crate::diagnostic::{Diagnostic, Sink};
use crate::preprocess::Pragma;
use crate::source::Span;

/// The mistake has been reported.
#[derive(Debug)]
pub(crate) struct Failed;

pub(crate) type Parsed<T> = Result<T, Failed>;

/// Words that cannot be names, of the building blocks that are supported.
pub(crate) const KEYWORDS: &[&str] = &[
    "any",
    "attribute",
    "bitfield",
    "bitmask",
    "bitset",
    "boolean",
    "case",
    "char",
    "const",
    "default",
    "double",
    "enum",
    "exception",
    "FALSE",
    "fixed",
    "float",
    "getraises",
    "in",
    "inout",
    "int16",
    "int32",
    "int64",
    "int8",
    "interface",
    "local",
    "long",
    "map",
    "module",
    "native",
    "octet",
    "oneway",
    "out",
    "raises",
    "readonly",
    "sequence",
    "setraises",
    "short",
    "string",
    "struct",
    "switch",
    "TRUE",
    "typedef",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "union",
    "unsigned",
    "void",
    "wchar",
    "wstring",
];

/// Definitions of building blocks that are not supported.
const REFUSED: &[(&str, &str)] = &[
    ("valuetype", "value types"),
    ("eventtype", "event types"),
    ("component", "components"),
    ("home", "components"),
    ("porttype", "ports"),
    ("connector", "connectors"),
    ("native", "native types"),
    ("typeid", "repository ids"),
    ("typeprefix", "repository ids"),
    ("import", "imports"),
];

pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    /// Those that were not reached yet.
    pragmas: &'a [Pragma],
    at: usize,
    sink: &'a mut Sink,
    depth: usize,
    limit: usize,
    /// Where the last token ended.
    last: Span,
    /// Take `//@key` and the like for annotations.
    comment_annotations: bool,
    /// Between `<` and `>`, where `>>` closes two of them and is no shift.
    in_template: bool,
}

/// Parses a file.
pub(crate) fn parse(
    tokens: &[Token],
    pragmas: &[Pragma],
    nowhere: Span,
    limit: usize,
    comment_annotations: bool,
    sink: &mut Sink,
) -> Vec<Definition> {
    let last = nowhere;
    let mut parser = Parser {
        tokens,
        pragmas,
        at: 0,
        sink,
        depth: 0,
        limit,
        last,
        comment_annotations,
        in_template: false,
    };
    let mut definitions = Vec::new();
    while parser.peek().is_some() && !parser.sink.is_full() {
        if parser.at('}') {
            let span = parser.here();
            parser.sink.error(span, "this `}` closes nothing");
            parser.advance();
            parser.eat(';');
            continue;
        }
        parser.definition_into(&mut definitions);
    }
    parser.pragmas_into(&mut definitions);
    definitions
}

/// Parses a value that stands alone, as in an attribute of XML. A mistake is reported.
pub(crate) fn parse_value(tokens: &[Token], place: Span, limit: usize, sink: &mut Sink) -> Option<Expr> {
    let mut parser = Parser {
        tokens,
        pragmas: &[],
        at: 0,
        sink,
        depth: 0,
        limit,
        last: place,
        comment_annotations: false,
        in_template: false,
    };
    if tokens.is_empty() {
        parser.sink.error(place, "a value was expected");
        return None;
    }
    let value = parser.expr().ok()?;
    match parser.peek() {
        None => Some(value),
        Some(token) => {
            parser.sink.error(token.span, format!("there is {} behind the value", token.shown()));
            None
        }
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn peek_at(&self, ahead: usize) -> Option<&'a Token> {
        self.tokens.get(self.at.saturating_add(ahead))
    }

    /// The word that comes next.
    fn word(&self) -> Option<&'a str> {
        self.peek()?.ident().map(|name| &**name)
    }

    fn advance(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.at)?;
        self.at = self.at.saturating_add(1);
        self.last = token.span;
        Some(token)
    }

    /// The place of the next token; at the end, that of the last one.
    fn here(&self) -> Span {
        self.peek().map_or(self.last, |token| token.span)
    }

    fn at(&self, c: char) -> bool {
        self.peek().is_some_and(|token| token.is(c))
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.at(c);
        if found {
            self.advance();
        }
        found
    }

    fn at_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Reports what stands here instead of what was expected.
    fn unexpected(&mut self, expected: &str) -> &mut Diagnostic {
        match self.peek() {
            Some(token) => {
                let message = format!("expected {expected}, found {}", token.shown());
                self.sink.error(token.span, message)
            }
            None => self.sink.error(self.last, format!("expected {expected}, but the file ends")),
        }
    }

    fn expect(&mut self, c: char, after: &str) -> Parsed<()> {
        if self.eat(c) {
            return Ok(());
        }
        self.unexpected(&format!("`{c}` {after}"));
        Err(Failed)
    }

    /// Runs a rule one level deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= self.limit {
            let span = self.here();
            self.sink.error(span, format!("this is nested more than {} deep", self.limit));
            return Err(Failed);
        }
        self.depth = self.depth.saturating_add(1);
        let result = rule(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// A name that is being given.
    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        let Some(name) = self.peek().and_then(Token::ident) else {
            self.unexpected(&format!("the name of {what}"));
            return Err(Failed);
        };
        let span = self.here();
        if let Some(stripped) = name.strip_prefix('_') {
            let name: Rc<str> = stripped.into();
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit() || c == '_') {
                self.sink.error(span, "an escaped identifier goes on with a letter after its underscore");
            }
            self.advance();
            return Ok(Ident { name: if name.is_empty() { "_".into() } else { name }, span });
        }
        if let Some(keyword) = KEYWORDS.iter().find(|keyword| keyword.eq_ignore_ascii_case(name)) {
            let message = match **keyword == **name {
                true => format!("expected the name of {what}, found the keyword `{name}`"),
                false => format!("`{name}` differs from the keyword `{keyword}` in case only"),
            };
            self.sink.error(span, message).hint(format!("write `_{name}` to use it as a name"));
            if **keyword == **name {
                return Err(Failed);
            }
        }
        self.advance();
        Ok(Ident { name: name.clone(), span })
    }

    /// A name that is being used.
    fn scoped_name(&mut self, what: &str) -> Parsed<ScopedName> {
        let start = self.here();
        let global = self.peek().is_some_and(|token| token.kind == Kind::Scope);
        if global {
            self.advance();
        }
        let mut parts = vec![self.ident(what)?];
        while self.peek().is_some_and(|token| token.kind == Kind::Scope) {
            self.advance();
            parts.push(self.ident(what)?);
        }
        Ok(ScopedName { global, parts, span: start.to(self.last) })
    }

    fn scoped_names(&mut self, what: &str) -> Parsed<Vec<ScopedName>> {
        let mut names = vec![self.scoped_name(what)?];
        while self.eat(',') {
            names.push(self.scoped_name(what)?);
        }
        Ok(names)
    }

    /// The documentation before the next token.
    fn docs_before(&self) -> Option<String> {
        let docs = &self.peek()?.docs.as_ref()?.before;
        (!docs.is_empty()).then(|| docs.clone())
    }

    /// Adds the documentation behind the last token.
    fn docs_behind(&self, docs: Option<String>) -> Option<String> {
        let last = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        let behind = last.and_then(|token| token.docs.as_ref()).map_or("", |docs| &docs.behind);
        match (docs, behind.is_empty()) {
            (docs, true) => docs,
            (None, false) => Some(behind.to_owned()),
            (Some(docs), false) => Some(format!("{docs}\n{behind}")),
        }
    }

    /// Goes behind the next `;` on this level, or in front of the `}` that closes it.
    fn recover(&mut self) {
        let mut open = 0usize;
        while let Some(token) = self.peek() {
            match token.kind {
                Kind::Punct('{') => open = open.saturating_add(1),
                Kind::Punct('}') if open == 0 => return,
                Kind::Punct('}') => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        self.advance();
                        self.eat(';');
                        return;
                    }
                }
                Kind::Punct(';') if open == 0 => {
                    self.advance();
                    return;
                }
                // A word that only begins definitions at the beginning of a line: the `;` was forgotten.
                Kind::Ident(ref name) if open == 0 && token.first && begins_definition(name) => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// Parses a definition; after a mistake goes on behind it.
    fn definition_into(&mut self, definitions: &mut Vec<Definition>) {
        self.pragmas_into(definitions);
        let start = self.at;
        if self.eat(';') {
            self.sink.warning(self.last, "this `;` ends nothing");
            return;
        }
        match self.definition() {
            Ok(Some(definition)) => definitions.push(definition),
            Ok(None) => {}
            Err(Failed) => {
                // Whatever happens, something is consumed.
                if self.at == start {
                    self.advance();
                }
                self.recover();
            }
        }
    }

    fn definition(&mut self) -> Parsed<Option<Definition>> {
        let docs = self.docs_before();
        let annotations = self.annotations()?;
        self.definition_behind(docs, annotations)
    }

    /// A definition behind its annotations.
    fn definition_behind(
        &mut self,
        docs: Option<String>,
        annotations: Vec<Annotation>,
    ) -> Parsed<Option<Definition>> {
        let docs = docs.or_else(|| self.docs_before());
        let Some(word) = self.word() else {
            self.unexpected("a definition");
            return Err(Failed);
        };
        let kind = match word {
            "module" => {
                let Some(kind) = self.nested(Self::module)? else { return Ok(None) };
                kind
            }
            "const" => self.constant()?,
            "typedef" => self.typedef()?,
            "struct" | "union" | "enum" | "bitset" | "bitmask" | "exception" => self.type_definition()?,
            "interface" | "abstract" | "local" => match self.interface()? {
                Some(kind) => kind,
                None => return Ok(None),
            },
            "annotation" if self.after_at() => {
                DefinitionKind::Annotation(self.nested(Self::annotation_declaration)?)
            }
            "custom" | "valuetype" | "eventtype" | "component" | "home" | "porttype" | "connector"
            | "native" | "typeid" | "typeprefix" | "import" => {
                self.refuse(word)?;
                return Ok(None);
            }
            _ => {
                self.unexpected("a definition").hint(
                    "a file consists of module, struct, union, enum, bitmask, bitset, typedef, const, interface and so on",
                );
                return Err(Failed);
            }
        };
        let block = !matches!(kind, DefinitionKind::Const { .. } | DefinitionKind::Typedef { .. });
        self.end_of_definition(block)?;
        let docs = self.docs_behind(docs);
        let annotations = self.with_notes(annotations);
        Ok(Some(Definition { annotations, docs, kind }))
    }

    /// Whether the token before was the `@` of `@annotation`.
    fn after_at(&self) -> bool {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).is_some_and(|token| token.is('@'))
    }

    /// The `;` behind a definition, which is often forgotten behind a `}`.
    fn end_of_definition(&mut self, block: bool) -> Parsed<()> {
        if self.eat(';') {
            return Ok(());
        }
        let closed =
            self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).is_some_and(|token| token.is('}'));
        if block && !closed && self.peek().is_none() {
            // The missing `}` has been complained about.
            return Ok(());
        }
        let goes_on = self.peek().is_none_or(|token| {
            token.is('}') || token.is('@') || token.ident().is_some_and(|name| begins_definition(name))
        });
        if block && closed && goes_on {
            self.sink.warning(self.last, "there is no `;` behind this `}`").hint("add `;`");
            return Ok(());
        }
        self.expect(';', "behind the definition")
    }

    /// Reports a building block that is not supported and goes behind it.
    fn refuse(&mut self, word: &str) -> Parsed<()> {
        let span = self.here();
        let next = self.peek_at(1).and_then(Token::ident).map_or("", |name| name);
        let name = if word == "custom" { next } else { word };
        let Some((_, what)) = REFUSED.iter().find(|(keyword, _)| *keyword == name) else {
            self.unexpected("a definition");
            return Err(Failed);
        };
        self.sink
            .error(span, format!("{what} are not supported"))
            .hint("Dunlin supports the data types of IDL");
        self.advance();
        self.recover();
        Ok(())
    }

    fn module(&mut self) -> Parsed<Option<DefinitionKind>> {
        let start = self.here();
        self.advance();
        let name = self.ident("a module")?;
        if self.at('<') {
            self.sink.error(start, "template modules are not supported");
            self.recover();
            return Ok(None);
        }
        self.expect('{', "after the name of a module")?;
        let open = self.last;
        let mut definitions = Vec::new();
        while !self.at('}') {
            if self.peek().is_none() {
                self.sink
                    .error(self.last, "the file ends inside of a module")
                    .also(open, format!("module `{}` is opened here", name.name));
                return Ok(Some(DefinitionKind::Module { name, definitions }));
            }
            if self.sink.is_full() {
                return Err(Failed);
            }
            self.definition_into(&mut definitions);
        }
        self.pragmas_into(&mut definitions);
        self.advance();
        if definitions.is_empty() {
            self.sink.warning(name.span, format!("the module `{}` is empty", name.name));
        }
        Ok(Some(DefinitionKind::Module { name, definitions }))
    }

    fn constant(&mut self) -> Parsed<DefinitionKind> {
        self.advance();
        let ty = self.type_spec()?;
        let name = self.ident("a constant")?;
        self.expect('=', "after the name of a constant")?;
        let value = self.expr()?;
        Ok(DefinitionKind::Const { ty, name, value })
    }
}

fn begins_definition(word: &str) -> bool {
    matches!(
        word,
        "module"
            | "const"
            | "typedef"
            | "struct"
            | "union"
            | "enum"
            | "bitset"
            | "bitmask"
            | "exception"
            | "interface"
            | "valuetype"
    )
}
