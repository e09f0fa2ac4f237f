//! Types where they are used: attributes of members, typedefs, discriminators and so on.
//!
//! The standard has one collection in a member: `sequenceMaxLength`, `arrayDimensions` (of sequences, if there are both) or
//! a map. What IDL nests deeper is in a child `<element>` instead of the attribute `type`, and the key of such a map in
//! `<mapKey>`; these two are an extension.

use super::Reader;
use super::element::{Attribute, Element, suggest};
use crate::source::Span;
use crate::syntax::ast::{Base, Expr, TypeKind, TypeSpec};

/// Attributes of a type, without those of collections.
const SIMPLE: &[&str] = &["type", "nonBasicTypeName", "stringMaxLength"];
/// Attributes of a type.
pub(super) const TYPE: &[&str] = &[
    "type",
    "nonBasicTypeName",
    "stringMaxLength",
    "sequenceMaxLength",
    "arrayDimensions",
    "mapKeyType",
    "key_type",
    "mapKeyNonBasicTypeName",
    "mapKeyStringMaxLength",
    "mapMaxLength",
];
/// Children of what has a type that is nested deeper.
pub(super) const INNER: &[&str] = &["element", "mapKey"];

/// What an element or a key of a collection may say about itself.
const OF_ELEMENT: &[&str] = &["external", "pointer", "tryConstruct"];

/// The names of the basic types: those of XML first, then those of IDL.
const BASIC: &[(&str, Base)] = &[
    ("boolean", Base::Boolean),
    ("byte", Base::Octet),
    ("octet", Base::Octet),
    ("int8", Base::Int8),
    ("uint8", Base::Uint8),
    ("int16", Base::Int16),
    ("short", Base::Int16),
    ("uint16", Base::Uint16),
    ("unsignedShort", Base::Uint16),
    ("unsigned short", Base::Uint16),
    ("int32", Base::Int32),
    ("long", Base::Int32),
    ("uint32", Base::Uint32),
    ("unsignedLong", Base::Uint32),
    ("unsigned long", Base::Uint32),
    ("int64", Base::Int64),
    ("longLong", Base::Int64),
    ("long long", Base::Int64),
    ("uint64", Base::Uint64),
    ("unsignedLongLong", Base::Uint64),
    ("unsigned long long", Base::Uint64),
    ("float32", Base::Float),
    ("float", Base::Float),
    ("float64", Base::Double),
    ("double", Base::Double),
    ("float128", Base::LongDouble),
    ("longDouble", Base::LongDouble),
    ("long double", Base::LongDouble),
    ("char8", Base::Char),
    ("char", Base::Char),
    ("char16", Base::WideChar),
    ("wchar", Base::WideChar),
];

/// A type, and the dimensions of an array of it.
pub(super) struct Usage {
    pub ty: TypeSpec,
    pub dimensions: Vec<Expr>,
}

/// The attributes with which a type is written.
struct Names {
    ty: &'static [&'static str],
    non_basic: &'static [&'static str],
    string: &'static [&'static str],
}

const OWN: Names = Names { ty: &["type"], non_basic: &["nonBasicTypeName"], string: &["stringMaxLength"] };
const KEY: Names = Names {
    ty: &["mapKeyType", "key_type"],
    non_basic: &["mapKeyNonBasicTypeName"],
    string: &["mapKeyStringMaxLength"],
};

fn spec(kind: TypeKind, span: Span) -> TypeSpec {
    TypeSpec { annotations: Vec::new(), kind, span }
}

impl Reader<'_> {
    /// The type that an element has.
    pub(super) fn usage(&mut self, element: Element<'_, '_>) -> Option<Usage> {
        let (inner, inner_key) = (self.one(element, "element"), self.one(element, "mapKey"));
        let mut ty = match inner {
            Some(inner) => self.inner(inner, element),
            None => self.simple(element, &OWN),
        };
        let is_map = inner_key.is_some()
            || ["mapKeyType", "key_type", "mapKeyNonBasicTypeName", "mapMaxLength"]
                .iter()
                .any(|name| element.attribute(&[name]).is_some());
        self.check_key(element, inner_key, is_map);
        let sequence = element.attribute(&["sequenceMaxLength"]);
        if let (true, Some(sequence)) = (is_map, sequence) {
            let message = "what is the map of, and what the sequence?";
            self.sink
                .error(sequence.span, message)
                .hint("write the inner one as a typedef, or as <element> in this element");
            return None;
        }
        if inner.is_some() && !is_map && sequence.is_none() {
            let message = format!("<{}> has an <element>, but is no collection", element.name());
            self.sink
                .error(element.span(), message)
                .hint("add `sequenceMaxLength` or `mapMaxLength`; -1 is unbounded");
        }
        if is_map {
            ty = self.map(element, inner_key, ty);
        }
        if let Some(bound) = sequence {
            let bound = self.bound(bound)?;
            ty = ty.map(|ty| {
                let span = ty.span;
                spec(TypeKind::Sequence(Box::new(ty), bound), span)
            });
        }
        let dimensions = match element.attribute(&["arrayDimensions"]) {
            Some(dimensions) => self.dimensions(dimensions)?,
            None => Vec::new(),
        };
        Some(Usage { ty: ty?, dimensions })
    }

    /// The child with a name, of which there is one.
    fn one<'a, 'd>(&mut self, element: Element<'a, 'd>, name: &str) -> Option<Element<'a, 'd>> {
        let mut found = element.children().filter(|child| child.name() == name);
        let (first, second) = (found.next(), found.next());
        if let Some(second) = second {
            let message = format!("<{}> has two <{name}>, and one of them is meant", element.name());
            self.sink
                .error(second.span(), message)
                .hint("a deeper collection has its <element> inside of this one");
        }
        first
    }

    /// Refuses what would be passed over of the key of a map.
    fn check_key(&mut self, element: Element<'_, '_>, inner: Option<Element<'_, '_>>, is_map: bool) {
        let of_key = [KEY.ty, KEY.non_basic, KEY.string];
        let given = of_key.iter().find_map(|names| Some((first(names), element.attribute(names)?)));
        match (inner, given) {
            (Some(_), Some((name, given))) => {
                self.sink
                    .error(given.span, format!("there are `{name}` and <mapKey>: one of them is the key"));
            }
            (None, Some((name, given))) if !is_map => {
                self.sink
                    .error(given.span, format!("`{name}` is about the key of a map, and this is no map"))
                    .hint("add `mapKeyType`, or write `stringMaxLength` for a string");
            }
            _ => {}
        }
    }

    /// A type that is no collection, by the attributes that name it.
    fn simple(&mut self, element: Element<'_, '_>, names: &Names) -> Option<TypeSpec> {
        let (ty, named) = (element.attribute(names.ty), element.attribute(names.non_basic));
        let bound = element.attribute(names.string);
        let word = ty.map(|ty| ty.value.trim());
        let (kind, span) = match (word, ty, named) {
            (Some("string" | "wstring"), Some(ty), None) => {
                let bound = match bound {
                    Some(bound) => self.bound(bound)?,
                    None => None,
                };
                let wide = word == Some("wstring");
                return Some(spec(TypeKind::String { wide, bound }, ty.span));
            }
            (None | Some("nonBasic"), _, Some(named)) => {
                (TypeKind::Name(self.scoped_name(named)?), named.span)
            }
            (Some(_), Some(_), Some(named)) => {
                let (attribute, other) = (first(names.non_basic), first(names.ty));
                self.sink.error(named.span, format!("`{attribute}` is for `{other}=\"nonBasic\"` alone"));
                return None;
            }
            (Some("nonBasic"), Some(ty), None) => {
                let name = first(names.non_basic);
                self.sink.error(ty.span, format!("`nonBasic` needs the attribute `{name}`"));
                return None;
            }
            (Some(word), Some(ty), None) => (self.basic(word, ty, names)?, ty.span),
            _ => {
                let (element, name) = (element, first(names.ty));
                self.sink.error(element.span(), format!("<{}> needs the attribute `{name}`", element.name()));
                return None;
            }
        };
        if let Some(bound) = bound {
            let name = first(names.string);
            self.sink.error(bound.span, format!("`{name}` is for strings alone"));
        }
        Some(spec(kind, span))
    }

    fn basic(&mut self, word: &str, attribute: Attribute<'_>, names: &Names) -> Option<TypeKind> {
        if let Some((_, base)) = BASIC.iter().find(|(name, _)| *name == word) {
            return Some(TypeKind::Base(*base));
        }
        let (ty, named) = (first(names.ty), first(names.non_basic));
        let known: Vec<&str> = BASIC.iter().map(|(name, _)| *name).chain(["string", "wstring"]).collect();
        let message = format!("`{word}` is not a basic type");
        let diagnostic = self.sink.error(attribute.span, message);
        suggest(diagnostic, word, &known);
        if diagnostic.hint.as_ref().is_some_and(|hint| hint.starts_with("there is")) {
            diagnostic.hint(format!("a type with a name is {ty}=\"nonBasic\" {named}=\"{word}\""));
        }
        None
    }

    /// `<element>` or `<mapKey>`, with what it says about itself.
    fn inner(&mut self, inner: Element<'_, '_>, parent: Element<'_, '_>) -> Option<TypeSpec> {
        for name in SIMPLE {
            if let Some(both) = parent.attribute(&[name]).filter(|_| inner.name() == "element") {
                self.sink
                    .error(both.span, format!("there are `{name}` and <element>: one of them is the type"));
            }
        }
        inner.allow(&[TYPE, OF_ELEMENT], self.sink);
        for child in inner.children().filter(|child| !INNER.contains(&child.name())) {
            if child.name() != "annotate" {
                child.unexpected(inner.name(), &["annotate", "element", "mapKey"], self.sink);
            }
        }
        let annotations = self.member_annotations(inner, super::value::Want::Other);
        let mut usage = self.usage(inner)?;
        if let Some(dimensions) = inner.attribute(&["arrayDimensions"]) {
            self.sink
                .error(dimensions.span, "IDL has no arrays inside of sequences and maps")
                .hint("give the array a name with <typedef>");
            return None;
        }
        usage.ty.annotations.extend(annotations);
        Some(usage.ty)
    }

    fn map(
        &mut self,
        element: Element<'_, '_>,
        inner: Option<Element<'_, '_>>,
        value: Option<TypeSpec>,
    ) -> Option<TypeSpec> {
        let key = match inner {
            Some(inner) => self.inner(inner, element),
            None => self.simple(element, &KEY),
        };
        let bound = match element.attribute(&["mapMaxLength"]) {
            Some(bound) => self.bound(bound)?,
            None => None,
        };
        let (key, value) = (key?, value?);
        let span = value.span;
        Some(spec(TypeKind::Map(Box::new(key), Box::new(value), bound), span))
    }

    /// A bound; -1 is none.
    fn bound(&mut self, attribute: Attribute<'_>) -> Option<Option<Expr>> {
        match attribute.value.trim() {
            "-1" => Some(None),
            _ => self.expression(attribute.trimmed()).map(Some),
        }
    }

    /// `2,3` is an array of two arrays of three.
    fn dimensions(&mut self, attribute: Attribute<'_>) -> Option<Vec<Expr>> {
        let (mut at, mut dimensions) = (0usize, Vec::new());
        for size in attribute.value.split(',') {
            dimensions.push(self.expression(attribute.sub(at, size).trimmed())?);
            at = at.saturating_add(size.len()).saturating_add(1);
        }
        Some(dimensions)
    }
}

fn first(names: &[&'static str]) -> &'static str {
    names.first().copied().unwrap_or("")
}
