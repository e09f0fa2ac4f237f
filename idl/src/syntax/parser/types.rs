//! Types (IDL 4.2 §7.4.1.4.4, §7.4.13, §7.4.14).

use super::{Failed, Parsed, Parser};
use crate::syntax::ast::*;

impl Parser<'_> {
    pub(super) fn typedef(&mut self) -> Parsed<DefinitionKind> {
        self.advance();
        let ty = self.type_spec()?;
        Ok(DefinitionKind::Typedef { ty, declarators: self.declarators("a type")? })
    }

    /// `struct`, `union` and so on, or a forward declaration.
    pub(super) fn type_definition(&mut self) -> Parsed<DefinitionKind> {
        let union = self.at_word("union");
        let forward = self.peek_at(2).is_some_and(|token| token.is(';'));
        if forward && (union || self.at_word("struct")) {
            self.advance();
            return Ok(DefinitionKind::Forward { union, name: self.ident("a type")? });
        }
        self.nested(Self::type_decl).map(DefinitionKind::Type)
    }

    fn type_decl(&mut self) -> Parsed<TypeDecl> {
        let word = self.word().unwrap_or("");
        let what = match word {
            "enum" => "an enumeration",
            "exception" => "an exception",
            "union" => "a union",
            "bitset" => "a bitset",
            "bitmask" => "a bitmask",
            _ => "a structure",
        };
        self.advance();
        let name = self.ident(what)?;
        let kind = match word {
            "struct" => {
                let base = self.base()?;
                TypeDeclKind::Struct { base, members: self.block("the structure", Self::member)? }
            }
            "exception" => TypeDeclKind::Exception { members: self.block("the exception", Self::member)? },
            "union" => self.union()?,
            "enum" => TypeDeclKind::Enum { literals: self.enumerators("the enumeration")? },
            "bitmask" => TypeDeclKind::Bitmask { bits: self.enumerators("the bitmask")? },
            _ => {
                let base = self.base()?;
                TypeDeclKind::Bitset { base, fields: self.block("the bitset", Self::bit_field)? }
            }
        };
        Ok(TypeDecl { name, kind })
    }

    fn base(&mut self) -> Parsed<Option<ScopedName>> {
        if !self.eat(':') {
            return Ok(None);
        }
        self.annotations()?;
        let base = self.scoped_name("a base")?;
        if self.at(',') {
            let span = self.here();
            self.sink.error(span, "there is one base at most");
            while self.eat(',') {
                self.scoped_name("a base")?;
            }
        }
        Ok(Some(base))
    }

    /// `{ item* }`; a mistake costs one item.
    fn block<T>(&mut self, what: &str, item: fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect('{', &format!("to open {what}"))?;
        let open = self.last;
        let mut items = Vec::new();
        while !self.eat('}') {
            if self.peek().is_none() {
                self.sink
                    .error(self.last, format!("the file ends inside of {what}"))
                    .also(open, "opened here");
                return Ok(items);
            }
            if self.sink.is_full() {
                return Err(Failed);
            }
            let start = self.at;
            match item(self) {
                Ok(parsed) => items.push(parsed),
                Err(Failed) => {
                    let again = self.at == start;
                    if again && self.peek().is_some_and(|token| token.first) && self.begins_definition() {
                        // The `}` was forgotten and the next definition begins.
                        return Err(Failed);
                    }
                    if again {
                        self.advance();
                    }
                    self.recover();
                }
            }
        }
        Ok(items)
    }

    fn begins_definition(&self) -> bool {
        self.word().is_some_and(super::begins_definition)
    }

    fn member(&mut self) -> Parsed<Member> {
        let docs = self.docs_before();
        let annotations = self.annotations()?;
        let docs = docs.or_else(|| self.docs_before());
        let ty = self.type_spec()?;
        if let TypeKind::Declared(decl) = &ty.kind {
            self.sink
                .error(decl.name.span, "a type is not declared inside of a member")
                .hint("declare it before and use its name here");
        }
        let declarators = self.declarators("a member")?;
        self.expect(';', "behind the member")?;
        let docs = self.docs_behind(docs);
        let annotations = self.with_notes(annotations);
        Ok(Member { annotations, ty, declarators, docs })
    }

    fn declarators(&mut self, what: &str) -> Parsed<Vec<Declarator>> {
        let mut declarators = vec![self.declarator(what)?];
        while self.eat(',') {
            declarators.push(self.declarator(what)?);
        }
        Ok(declarators)
    }

    fn declarator(&mut self, what: &str) -> Parsed<Declarator> {
        let name = self.ident(what)?;
        let mut dimensions = Vec::new();
        while self.eat('[') {
            if self.at(']') {
                self.unexpected("the size of the array")
                    .hint("arrays have a fixed size; use sequence<...> otherwise");
                return Err(Failed);
            }
            dimensions.push(self.expr()?);
            self.expect(']', "after the size of the array")?;
        }
        Ok(Declarator { name, dimensions })
    }

    fn union(&mut self) -> Parsed<TypeDeclKind> {
        if !self.eat_word("switch") {
            self.unexpected("`switch` after the name of a union");
            return Err(Failed);
        }
        self.expect('(', "after `switch`")?;
        let annotations = self.annotations()?;
        let mut discriminator = self.type_spec()?;
        discriminator.annotations.splice(0..0, annotations);
        self.expect(')', "after the type of the discriminator")?;
        let cases = self.block("the union", Self::case)?;
        Ok(TypeDeclKind::Union { discriminator, cases })
    }

    fn case(&mut self) -> Parsed<Case> {
        let docs = self.docs_before();
        let mut annotations = self.annotations()?;
        let mut labels = Vec::new();
        loop {
            let start = self.here();
            let value = if self.eat_word("case") {
                Some(self.expr()?)
            } else if self.eat_word("default") {
                None
            } else {
                break;
            };
            labels.push(Label { value, span: start.to(self.last) });
            self.expect(':', "after the label")?;
        }
        if labels.is_empty() {
            self.unexpected("`case` or `default`");
            return Err(Failed);
        }
        let mut member = self.member()?;
        annotations.append(&mut member.annotations);
        if let Some(second) = member.declarators.get(1) {
            self.sink.error(second.name.span, "a case has one member");
            member.declarators.truncate(1);
        }
        member.docs = match (docs, member.docs) {
            (Some(before), Some(docs)) => Some(format!("{before}\n{docs}")),
            (before, docs) => before.or(docs),
        };
        Ok(Case { labels, member: Member { annotations, ..member } })
    }

    fn enumerators(&mut self, what: &str) -> Parsed<Vec<Enumerator>> {
        self.expect('{', &format!("to open {what}"))?;
        let mut literals = Vec::new();
        loop {
            if self.at('}') {
                let span = self.here();
                if literals.is_empty() {
                    self.sink.error(span, format!("{what} is empty"));
                } else {
                    self.sink.warning(self.last, "this `,` is followed by nothing");
                }
                break;
            }
            let docs = self.docs_before();
            let annotations = self.annotations()?;
            let docs = docs.or_else(|| self.docs_before());
            let name = self.ident("a literal")?;
            let mut annotations = annotations;
            if self.at('=') {
                annotations.extend(self.c_value()?);
            }
            // Documentation may be behind the name or behind the comma.
            let docs = self.docs_behind(docs);
            let comma = self.eat(',');
            let docs = if comma { self.docs_behind(docs) } else { docs };
            literals.push(Enumerator { annotations, name, docs });
            if !comma {
                break;
            }
        }
        self.expect('}', &format!("to close {what}, or `,`"))?;
        Ok(literals)
    }

    /// `= value`, which C has and IDL writes `@value(value)`.
    fn c_value(&mut self) -> Parsed<Option<Annotation>> {
        let start = self.here();
        self.advance();
        let value = self.expr()?;
        let span = start.to(self.last);
        self.sink
            .error(span, "IDL gives values to literals in another way")
            .hint("write `@value(...)` before the name");
        let name = ScopedName { global: false, parts: vec![Ident { name: "value".into(), span }], span };
        Ok(Some(Annotation { name, args: vec![Argument { name: None, value }], span }))
    }

    fn bit_field(&mut self) -> Parsed<BitField> {
        let docs = self.docs_before();
        let annotations = self.annotations()?;
        let start = self.here();
        if !self.eat_word("bitfield") {
            self.unexpected("`bitfield`");
            return Err(Failed);
        }
        self.expect('<', "after `bitfield`")?;
        let width = self.bound_expr()?;
        let ty = if self.eat(',') { Some(self.type_spec()?) } else { None };
        self.expect('>', "after the size of the bit field")?;
        let mut names = Vec::new();
        while !self.at(';') {
            names.push(self.ident("a bit field")?);
            if !self.eat(',') && !self.at(';') && self.peek().is_none_or(|token| token.ident().is_none()) {
                break;
            }
        }
        let span = start.to(self.last);
        self.expect(';', "behind the bit field")?;
        let docs = self.docs_behind(docs);
        Ok(BitField { annotations, width, ty, names, docs, span })
    }

    /// A type where it is used.
    pub(super) fn type_spec(&mut self) -> Parsed<TypeSpec> {
        self.nested(|parser| {
            let annotations = parser.annotations()?;
            let start = parser.here();
            let kind = parser.type_kind()?;
            Ok(TypeSpec { annotations, kind, span: start.to(parser.last) })
        })
    }

    fn type_kind(&mut self) -> Parsed<TypeKind> {
        let span = self.here();
        let Some(word) = self.word() else {
            if self.peek().is_some_and(|token| token.text() == "::") {
                return self.scoped_name("a type").map(TypeKind::Name);
            }
            self.unexpected("a type");
            return Err(Failed);
        };
        match word {
            "sequence" => self.sequence(),
            "map" => self.map(),
            "string" | "wstring" => {
                self.advance();
                let bound = if self.at('<') { Some(self.bound()?) } else { None };
                Ok(TypeKind::String { wide: word == "wstring", bound })
            }
            "struct" | "union" | "enum" | "bitset" | "bitmask" => {
                self.type_decl().map(|decl| TypeKind::Declared(Box::new(decl)))
            }
            "any" | "fixed" | "Object" | "ValueBase" => {
                self.advance();
                self.sink.error(span, format!("the type `{word}` is not supported"));
                if word == "fixed" && self.eat('<') {
                    self.bound_expr()?;
                    if self.eat(',') {
                        self.bound_expr()?;
                    }
                    self.expect('>', "after the size")?;
                }
                Ok(TypeKind::Refused)
            }
            "void" => {
                self.unexpected("a type");
                Err(Failed)
            }
            _ => match self.base_type(word)? {
                Some(base) => Ok(TypeKind::Base(base)),
                None => self.scoped_name("a type").map(TypeKind::Name),
            },
        }
    }

    fn bound(&mut self) -> Parsed<Expr> {
        self.expect('<', "before the bound")?;
        let bound = self.bound_expr()?;
        self.expect('>', "after the bound")?;
        Ok(bound)
    }

    fn sequence(&mut self) -> Parsed<TypeKind> {
        self.advance();
        self.expect('<', "after `sequence`")?;
        let element = self.type_spec()?;
        let bound = if self.eat(',') { Some(self.bound_expr()?) } else { None };
        self.expect('>', "to close the sequence")?;
        Ok(TypeKind::Sequence(Box::new(element), bound))
    }

    fn map(&mut self) -> Parsed<TypeKind> {
        self.advance();
        self.expect('<', "after `map`")?;
        let key = self.type_spec()?;
        self.expect(',', "between the types of a map")?;
        let value = self.type_spec()?;
        let bound = if self.eat(',') { Some(self.bound_expr()?) } else { None };
        self.expect('>', "to close the map")?;
        Ok(TypeKind::Map(Box::new(key), Box::new(value), bound))
    }

    /// A basic type, if a keyword of one comes next.
    fn base_type(&mut self, word: &str) -> Parsed<Option<Base>> {
        let base = match word {
            "boolean" => Base::Boolean,
            "octet" => Base::Octet,
            "char" => Base::Char,
            "wchar" => Base::WideChar,
            "int8" => Base::Int8,
            "int16" | "short" => Base::Int16,
            "int32" => Base::Int32,
            "int64" => Base::Int64,
            "uint8" => Base::Uint8,
            "uint16" => Base::Uint16,
            "uint32" => Base::Uint32,
            "uint64" => Base::Uint64,
            "float" => Base::Float,
            "double" => Base::Double,
            "long" => {
                self.advance();
                return Ok(Some(match self.word() {
                    Some("long") => self.taken(Base::Int64),
                    Some("double") => self.taken(Base::LongDouble),
                    _ => Base::Int32,
                }));
            }
            "unsigned" => {
                self.advance();
                return self.unsigned().map(Some);
            }
            _ => return Ok(None),
        };
        Ok(Some(self.taken(base)))
    }

    fn taken(&mut self, base: Base) -> Base {
        self.advance();
        base
    }

    fn unsigned(&mut self) -> Parsed<Base> {
        match self.word() {
            Some("short") => Ok(self.taken(Base::Uint16)),
            Some("long") => {
                self.advance();
                Ok(if self.eat_word("long") { Base::Uint64 } else { Base::Uint32 })
            }
            _ => {
                self.unexpected("`short` or `long` after `unsigned`");
                Err(Failed)
            }
        }
    }
}
