//! Types as IDL (OMG IDL 4.2, annotations of DDS-XTypes 1.3 §7.3.1).

mod said;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use said::quoted;

use crate::applied::AnnotationIndex;
use crate::identifier::kind;
use crate::model::*;
use crate::object::annotation::{AnnotationParameterValue, AppliedBuiltinMemberAnnotations};
use crate::object::hashed_id;

/// The IDL name of a primitive kind.
#[must_use]
pub(crate) const fn primitive_name(primitive: u8) -> &'static str {
    match primitive {
        kind::BOOLEAN => "boolean",
        kind::BYTE => "octet",
        kind::INT8 => "int8",
        kind::INT16 => "int16",
        kind::INT32 => "int32",
        kind::INT64 => "int64",
        kind::UINT8 => "uint8",
        kind::UINT16 => "uint16",
        kind::UINT32 => "uint32",
        kind::UINT64 => "uint64",
        kind::FLOAT32 => "float",
        kind::FLOAT64 => "double",
        kind::FLOAT128 => "long double",
        kind::CHAR8 => "char",
        kind::CHAR16 => "wchar",
        _ => "any",
    }
}

/// A type and all that it depends on, as IDL. What is depended on comes first; recursive types are declared before.
#[must_use]
pub fn to_idl(graph: &TypeGraph, root: TypeIndex) -> String {
    let (done, open, declared) = Default::default();
    let mut printer = Printer { graph, out: String::new(), done, open, declared };
    printer.visit(root, 0);
    printer.out
}

struct Printer<'a> {
    graph: &'a TypeGraph,
    out: String,
    done: BTreeSet<TypeIndex>,
    open: BTreeSet<TypeIndex>,
    declared: BTreeSet<AnnotationIndex>,
}

/// Nesting up to which types are printed.
const MAX_DEPTH: usize = 200;

impl Printer<'_> {
    fn visit(&mut self, index: TypeIndex, depth: usize) {
        let Some(definition) = self.graph.get(index) else { return };
        if self.done.contains(&index) || depth > MAX_DEPTH {
            return;
        }
        if !self.open.insert(index) {
            self.forward(index, definition);
            return;
        }
        let mut named = Vec::new();
        definition.visit_named(&mut |index| named.push(index));
        for index in named {
            self.visit(index, depth.saturating_add(1));
        }
        self.declarations(index, depth);
        self.done.insert(index);
        let body = self.definition(index, definition);
        self.in_modules(&definition.name, &body);
    }

    fn forward(&mut self, index: TypeIndex, definition: &Definition) {
        let word = match definition.kind {
            Kind::Structure(_) => "struct",
            Kind::Union(_) => "union",
            _ => return,
        };
        let _ = index;
        let body = format!("{word} {};\n", last(&definition.name));
        self.in_modules(&definition.name, &body);
    }

    fn in_modules(&mut self, name: &str, body: &str) {
        let modules: Vec<&str> = name.split("::").collect();
        let modules = modules.split_last().map_or(&[][..], |(_, modules)| modules);
        for module in modules {
            let _ = write!(self.out, "module {module} {{ ");
        }
        if !modules.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(body);
        if !modules.is_empty() {
            let ends: Vec<&str> = modules.iter().map(|_| "};").collect();
            let _ = writeln!(self.out, "{}", ends.join(" "));
        }
    }

    fn name_of(&self, index: TypeIndex) -> String {
        self.graph.get(index).map_or_else(|| String::from("?"), |it| format!("::{}", it.name))
    }

    /// A type, and the dimensions behind the name of what has it.
    fn usage(&self, ty: &Type) -> (String, String) {
        let bounded = |word: &str, bound: u32| match bound {
            0 => String::from(word),
            bound => format!("{word}<{bound}>"),
        };
        let more = |bound: u32| if bound == 0 { String::new() } else { format!(", {bound}") };
        match ty {
            Type::Primitive(primitive) => (primitive_name(*primitive).to_string(), String::new()),
            Type::String { wide, bound } => {
                (bounded(if *wide { "wstring" } else { "string" }, *bound), String::new())
            }
            Type::Sequence { element, bound } => {
                (format!("sequence<{}{}>", self.element(element), more(*bound)), String::new())
            }
            Type::Array { element, dimensions } => {
                let sizes: Vec<String> = dimensions.iter().map(|size| format!("[{size}]")).collect();
                // IDL has no place for flags of the elements of an array.
                (self.usage(&element.ty).0, sizes.concat())
            }
            Type::Map { key, value, bound } => (
                format!("map<{}, {}{}>", self.element(key), self.element(value), more(*bound)),
                String::new(),
            ),
            Type::Named(index) => (self.name_of(*index), String::new()),
        }
    }

    fn element(&self, element: &Element) -> String {
        format!("{}{}", flags_of_element(element.flags), self.usage(&element.ty).0)
    }

    fn definition(&self, index: TypeIndex, definition: &Definition) -> String {
        let name = last(&definition.name);
        let mut out = self.said(index, Part::Type);
        let member = |out: &mut String, at: usize, member: &Member, labels: &str| {
            self.member(out, member, &format!("{labels}{}", self.said(index, Part::Member(at))));
        };
        if !matches!(definition.kind, Kind::Alias(_)) {
            let _ = write!(out, "@{} ", definition.extensibility());
        }
        if definition.flags & type_flag::NESTED != 0 {
            out.push_str("@nested ");
        }
        if definition.flags & type_flag::AUTOID_HASH != 0 {
            out.push_str("@autoid(HASH) ");
        }
        match &definition.kind {
            Kind::Structure(it) => {
                let base = it.base.map_or_else(String::new, |base| format!(" : {}", self.name_of(base)));
                let _ = writeln!(out, "struct {name}{base} {{");
                it.members.iter().enumerate().for_each(|(at, it)| member(&mut out, at, it, ""));
            }
            Kind::Union(it) => self.union(&mut out, name, it, index, &member),
            Kind::Enumeration(it) => self.enumeration(&mut out, name, it, index),
            Kind::Bitmask(it) => {
                let _ = writeln!(out, "@bit_bound({}) bitmask {name} {{", it.bit_bound);
                let bits = it.bits.iter().enumerate().map(|(at, bit)| {
                    let said = self.said(index, Part::Member(at));
                    format!("    {said}@position({}) {}", bit.position, bit.name)
                });
                let _ = writeln!(out, "{}", bits.collect::<Vec<_>>().join(",\n"));
            }
            Kind::Bitset(it) => self.bitset(&mut out, name, it, index),
            Kind::Alias(it) => {
                let (ty, dimensions) = self.usage(&it.ty);
                let _ = writeln!(out, "typedef {ty} {name}{dimensions};");
                return out;
            }
        }
        out.push_str("};\n");
        out
    }

    fn union(
        &self,
        out: &mut String,
        name: &str,
        it: &Union,
        index: TypeIndex,
        member: &dyn Fn(&mut String, usize, &Member, &str),
    ) {
        let said = self.said_of_discriminator(index);
        let key = if it.discriminator.flags & member_flag::KEY != 0 { "@key(TRUE) " } else { "" };
        let _ = writeln!(out, "union {name} switch ({said}{key}{}) {{", self.element(&it.discriminator));
        for (at, case) in it.cases.iter().enumerate() {
            let mut labels: Vec<String> = case
                .labels
                .iter()
                .map(|label| format!("case {}:", self.label(&it.discriminator, *label)))
                .collect();
            if case.is_default() {
                labels.push(String::from("default:"));
            }
            member(out, at, &case.member, &format!("{} ", labels.join(" ")));
        }
    }

    /// A label in the way of the discriminator's type.
    fn label(&self, discriminator: &Element, label: i64) -> String {
        match self.graph.resolve(&discriminator.ty) {
            Type::Primitive(kind::BOOLEAN) => String::from(if label == 0 { "FALSE" } else { "TRUE" }),
            Type::Primitive(kind::CHAR8) => match u8::try_from(label) {
                Ok(code) if code.is_ascii_graphic() && code != b'\'' && code != b'\\' => {
                    format!("'{}'", char::from(code))
                }
                _ => format!("'\\x{label:02x}'"),
            },
            Type::Named(index) => {
                let literal = match self.graph.get(*index).map(|it| &it.kind) {
                    Some(Kind::Enumeration(it)) => it.literals.iter().find(|it| i64::from(it.value) == label),
                    _ => None,
                };
                let name = self.name_of(*index);
                let scope = name.rsplit_once("::").map_or("", |(scope, _)| scope);
                literal.map_or_else(|| label.to_string(), |it| format!("{scope}::{}", it.name))
            }
            Type::Primitive(kind::UINT64) => label.cast_unsigned().to_string(),
            _ => label.to_string(),
        }
    }

    fn member(&self, out: &mut String, member: &Member, labels: &str) {
        let (ty, dimensions) = self.usage(&member.ty);
        let flags = [
            (member_flag::KEY, "@key "),
            (member_flag::OPTIONAL, "@optional "),
            (member_flag::MUST_UNDERSTAND, "@must_understand "),
            (member_flag::EXTERNAL, "@external "),
        ];
        let mut words = String::new();
        for (_, word) in flags.iter().filter(|(flag, _)| member.has(*flag)) {
            words.push_str(word);
        }
        match member.flags & member_flag::TRIM {
            member_flag::USE_DEFAULT => words.push_str("@try_construct(USE_DEFAULT) "),
            member_flag::TRIM => words.push_str("@try_construct(TRIM) "),
            _ => {}
        }
        annotations(&mut words, &member.annotations);
        // The id comes last: after an annotation without parentheses, `::` would belong to its name.
        let id = match &member.annotations.hash_id {
            Some(text) if hashed_id(if text.is_empty() { &member.name.text } else { text }) == member.id => {
                format!("@hashid({})", quoted(text))
            }
            _ => format!("@id({})", member.id),
        };
        let _ = writeln!(out, "    {labels}{words}{id} {ty} {}{dimensions};", member.name);
    }
}

impl Printer<'_> {
    fn enumeration(&self, out: &mut String, name: &str, it: &Enumeration, index: TypeIndex) {
        let _ = writeln!(out, "@bit_bound({}) enum {name} {{", it.bit_bound);
        let literals = it.literals.iter().enumerate().map(|(at, literal)| {
            let said = self.said(index, Part::Member(at));
            let default = if literal.is_default { "@default_literal " } else { "" };
            format!("    {said}{default}@value({}) {}", literal.value, literal.name)
        });
        let _ = writeln!(out, "{}", literals.collect::<Vec<_>>().join(",\n"));
    }

    fn bitset(&self, out: &mut String, name: &str, it: &Bitset, index: TypeIndex) {
        let _ = writeln!(out, "bitset {name} {{");
        let mut next: u16 = 0;
        for (at, field) in it.fields.iter().enumerate() {
            let said = self.said(index, Part::Member(at));
            if field.position > next {
                let _ = writeln!(out, "    bitfield<{}>;", field.position.saturating_sub(next));
            }
            next = field.position.saturating_add(field.width.into());
            let _ = writeln!(
                out,
                "    {said}bitfield<{}, {}> {};",
                field.width,
                primitive_name(field.holder),
                field.name
            );
        }
        if it.width > next {
            let _ = writeln!(out, "    bitfield<{}>;", it.width.saturating_sub(next));
        }
    }
}

fn annotations(out: &mut String, annotations: &AppliedBuiltinMemberAnnotations) {
    if let Some(unit) = &annotations.unit {
        let _ = write!(out, "@unit({}) ", quoted(unit));
    }
    for (word, value) in [("min", &annotations.min), ("max", &annotations.max)] {
        if let Some(value) = value.as_ref().and_then(constant) {
            let _ = write!(out, "@{word}({value}) ");
        }
    }
}

/// A number or character; `None` for what has no literal, or is no bound of a range.
fn constant(value: &AnnotationParameterValue) -> Option<String> {
    use AnnotationParameterValue as Value;
    Some(match value {
        Value::Byte(it) | Value::UInt8(it) => it.to_string(),
        Value::Int8(it) => it.to_string(),
        Value::Int16(it) => it.to_string(),
        Value::UInt16(it) => it.to_string(),
        Value::Int32(it) => it.to_string(),
        Value::UInt32(it) => it.to_string(),
        Value::Int64(it) => it.to_string(),
        Value::UInt64(it) => it.to_string(),
        Value::Float32(it) if it.is_finite() => format!("{it:?}"),
        Value::Float64(it) if it.is_finite() => format!("{it:?}"),
        Value::Char(it) if it.0.is_ascii_alphanumeric() => format!("'{}'", char::from(it.0)),
        Value::Char(it) => format!("'\\x{:02x}'", it.0),
        Value::WideChar(it) => format!("L'\\u{:04x}'", it.0),
        _ => return None,
    })
}

/// What is said of an element, a key of a map or a discriminator.
fn flags_of_element(flags: u16) -> String {
    let external = if flags & member_flag::EXTERNAL != 0 { "@external(TRUE) " } else { "" };
    let tried = match flags & member_flag::TRIM {
        member_flag::USE_DEFAULT => "@try_construct(USE_DEFAULT) ",
        member_flag::TRIM => "@try_construct(TRIM) ",
        _ => "",
    };
    format!("{external}{tried}")
}

fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
