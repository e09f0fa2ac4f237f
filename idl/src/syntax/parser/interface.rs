//! Interfaces (IDL 4.2 §7.4.3).

use super::{Failed, Parsed, Parser};
use crate::syntax::ast::*;

impl Parser<'_> {
    pub(super) fn interface(&mut self) -> Parsed<Option<DefinitionKind>> {
        let start = self.here();
        if self.at_word("abstract") || self.at_word("local") {
            let word = self.word().unwrap_or("");
            self.sink.error(start, format!("{word} interfaces and value types are not supported"));
            self.recover();
            return Ok(None);
        }
        self.advance();
        let name = self.ident("an interface")?;
        if self.at(';') {
            return Ok(Some(DefinitionKind::InterfaceForward(name)));
        }
        let bases = if self.eat(':') { self.scoped_names("an interface")? } else { Vec::new() };
        self.expect('{', "to open the interface")?;
        let open = self.last;
        let mut exports = Vec::new();
        while !self.eat('}') {
            if self.peek().is_none() {
                self.sink.error(self.last, "the file ends inside of an interface").also(open, "opened here");
                break;
            }
            let start = self.at;
            match self.export() {
                Ok(export) => exports.extend(export),
                Err(Failed) => {
                    if self.at == start {
                        self.advance();
                    }
                    self.recover();
                }
            }
        }
        Ok(Some(DefinitionKind::Interface(Interface { name, bases, exports })))
    }

    fn export(&mut self) -> Parsed<Option<Export>> {
        if self.sink.is_full() {
            return Err(Failed);
        }
        let start = (self.at, self.last);
        let docs = self.docs_before();
        let annotations = self.annotations()?;
        match self.word() {
            Some("typedef" | "const" | "struct" | "union" | "enum" | "bitset" | "bitmask" | "exception") => {
                // The definition reads its own annotations.
                (self.at, self.last) = start;
                self.definition().map(|definition| definition.map(Export::Definition))
            }
            Some("readonly" | "attribute") => {
                self.attribute(annotations, docs).map(Export::Attribute).map(Some)
            }
            _ => self.operation(annotations, docs).map(Export::Operation).map(Some),
        }
    }

    fn operation(&mut self, annotations: Vec<Annotation>, docs: Option<String>) -> Parsed<Operation> {
        let oneway = self.eat_word("oneway");
        let returns = if self.eat_word("void") { None } else { Some(self.type_spec()?) };
        let name = self.ident("an operation")?;
        self.expect('(', "to open the parameters")?;
        let mut params = Vec::new();
        while !self.eat(')') {
            if !params.is_empty() {
                self.expect(',', "between parameters")?;
            }
            params.push(self.param()?);
        }
        let raises = self.raises("raises")?;
        self.expect(';', "behind the operation")?;
        let docs = self.docs_behind(docs);
        Ok(Operation { annotations, docs, oneway, returns, name, params, raises })
    }

    fn param(&mut self) -> Parsed<Param> {
        let annotations = self.annotations()?;
        let direction = match self.word() {
            Some("in") => Direction::In,
            Some("out") => Direction::Out,
            Some("inout") => Direction::InOut,
            _ => {
                self.unexpected("`in`, `out` or `inout`");
                return Err(Failed);
            }
        };
        self.advance();
        let ty = self.type_spec()?;
        let name = self.ident("a parameter")?;
        Ok(Param { annotations, direction, ty, name })
    }

    fn raises(&mut self, word: &str) -> Parsed<Vec<ScopedName>> {
        if !self.eat_word(word) {
            return Ok(Vec::new());
        }
        self.expect('(', "to open the exceptions")?;
        let names = self.scoped_names("an exception")?;
        self.expect(')', "to close the exceptions")?;
        Ok(names)
    }

    fn attribute(&mut self, annotations: Vec<Annotation>, docs: Option<String>) -> Parsed<Attribute> {
        let readonly = self.eat_word("readonly");
        if !self.eat_word("attribute") {
            self.unexpected("`attribute`");
            return Err(Failed);
        }
        let ty = self.type_spec()?;
        let mut names = vec![self.ident("an attribute")?];
        while self.eat(',') {
            names.push(self.ident("an attribute")?);
        }
        let (get_raises, set_raises) = match readonly {
            true => (self.raises("raises")?, Vec::new()),
            false => (self.raises("getraises")?, self.raises("setraises")?),
        };
        self.expect(';', "behind the attribute")?;
        let docs = self.docs_behind(docs);
        Ok(Attribute { annotations, docs, readonly, ty, names, get_raises, set_raises })
    }
}
