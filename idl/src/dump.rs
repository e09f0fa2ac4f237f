//! The model as text, for tests and curious people.

use std::fmt::Write as _;

use crate::check::keyword;
use crate::ir::*;

/// A type as it is written in IDL; types with names with their scopes.
#[must_use]
pub fn type_text(model: &Model, ty: &Type) -> String {
    let element = |element: &Element| {
        let external = if element.external { "@external " } else { "" };
        let construct = match element.try_construct {
            TryConstruct::Discard => "",
            TryConstruct::UseDefault => "@try_construct(USE_DEFAULT) ",
            TryConstruct::Trim => "@try_construct(TRIM) ",
        };
        format!("{external}{construct}{}", type_text(model, &element.ty))
    };
    let bounded = |inside: String, bound: &Option<u32>| match bound {
        Some(bound) => format!("{inside}, {bound}"),
        None => inside,
    };
    match ty {
        Type::Boolean => "boolean".to_owned(),
        Type::Octet => "octet".to_owned(),
        Type::Char => "char".to_owned(),
        Type::WideChar => "wchar".to_owned(),
        Type::Int8 => "int8".to_owned(),
        Type::Int16 => "int16".to_owned(),
        Type::Int32 => "int32".to_owned(),
        Type::Int64 => "int64".to_owned(),
        Type::Uint8 => "uint8".to_owned(),
        Type::Uint16 => "uint16".to_owned(),
        Type::Uint32 => "uint32".to_owned(),
        Type::Uint64 => "uint64".to_owned(),
        Type::Float => "float".to_owned(),
        Type::Double => "double".to_owned(),
        Type::LongDouble => "long double".to_owned(),
        Type::String { bound: None } => "string".to_owned(),
        Type::String { bound: Some(bound) } => format!("string<{bound}>"),
        Type::WideString { bound: None } => "wstring".to_owned(),
        Type::WideString { bound: Some(bound) } => format!("wstring<{bound}>"),
        Type::Sequence { element: inside, bound } => format!("sequence<{}>", bounded(element(inside), bound)),
        Type::Map { key, value, bound } => {
            format!("map<{}>", bounded(format!("{}, {}", element(key), element(value)), bound))
        }
        Type::Array { element: inside, dimensions } => {
            let dimensions: String = dimensions.iter().map(|size| format!("[{size}]")).collect();
            format!("{}{dimensions}", element(inside))
        }
        Type::Named(id) => model.ty(*id).map_or_else(|| "?".to_owned(), |ty| ty.full_name.clone()),
    }
}

/// A value as it is written in IDL.
#[must_use]
pub fn value_text(model: &Model, value: &Value) -> String {
    let escaped = |octets: &[u8]| -> String { octets.escape_ascii().to_string() };
    match value {
        Value::Bool(true) => "TRUE".to_owned(),
        Value::Bool(false) => "FALSE".to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Char(c) => format!("'{}'", escaped(&[*c])),
        Value::WideChar(c) => format!("L'\\u{c:04x}'"),
        Value::Str(octets) => match std::str::from_utf8(octets) {
            Ok(text) => format!("\"{}\"", text.escape_debug()),
            Err(_) => format!("\"{}\"", escaped(octets)),
        },
        Value::WideStr(units) => format!("L\"{}\"", String::from_utf16_lossy(units).escape_debug()),
        Value::Enum(id, index) => match model.ty(*id).map(|ty| (&ty.full_name, &ty.kind)) {
            Some((name, Kind::Enum(e))) => {
                format!("{name}::{}", e.literals.get(*index).map_or("?", |literal| &literal.name))
            }
            _ => "?".to_owned(),
        },
        Value::Bits(id, bits) => {
            format!("{}({bits:#x})", model.ty(*id).map_or("?", |ty| &ty.full_name))
        }
    }
}

/// Everything that a model contains.
#[must_use]
pub fn dump(model: &Model) -> String {
    let mut out = Dump { model, text: String::new() };
    if let Some(root) = model.root() {
        out.verbatims(&root.verbatims);
        out.items(&root.items);
    }
    out.text
}

struct Dump<'a> {
    model: &'a Model,
    text: String,
}

impl Dump<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn docs(&mut self, indent: &str, docs: Option<&String>) {
        for line in docs.iter().flat_map(|docs| docs.lines()) {
            self.line(format!("{indent}/// {line}").trim_end());
        }
    }

    fn verbatims(&mut self, verbatims: &[Verbatim]) {
        for verbatim in verbatims {
            self.line(&format!(
                "  verbatim {} {:?} {:?}",
                verbatim.language, verbatim.placement, verbatim.text
            ));
        }
    }

    fn applied(&mut self, indent: &str, annotations: &[Applied]) {
        for applied in annotations {
            let params: Vec<String> = applied
                .params
                .iter()
                .map(|(name, value)| format!("{name}={}", value_text(self.model, value)))
                .collect();
            self.line(&format!("{indent}@{}({})", applied.name, params.join(", ")));
        }
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Module(id) => {
                    let Some(module) = self.model.module(*id) else { continue };
                    self.docs("", module.docs.as_ref());
                    self.line(&format!("module {}", module.full_name));
                    self.verbatims(&module.verbatims);
                    self.items(&module.items);
                }
                Item::Type(id) => self.ty(*id),
                Item::Const(id) => {
                    let Some(constant) = self.model.constant(*id) else { continue };
                    self.docs("", constant.docs.as_ref());
                    let (ty, value) =
                        (type_text(self.model, &constant.ty), value_text(self.model, &constant.value));
                    self.line(&format!("const {ty} {} = {value}", constant.full_name));
                }
                Item::Interface(id) => self.interface(*id),
            }
        }
    }

    fn ty(&mut self, id: TypeId) {
        let Some(ty) = self.model.ty(id) else { return };
        self.docs("", ty.docs.as_ref());
        let mut head = format!("{} {}", kind_word(&ty.kind), ty.full_name);
        if let Kind::Struct(Struct { base: Some(base), .. }) | Kind::Bitset(Bitset { base: Some(base), .. }) =
            &ty.kind
        {
            let _ = write!(head, " : {}", type_text(self.model, &Type::Named(*base)));
        }
        match &ty.kind {
            Kind::Alias(alias) => {
                let _ = write!(head, " = {}", type_text(self.model, &alias.ty));
            }
            kind => {
                let _ = write!(head, " {}", keyword(ty.extensibility));
                if ty.nested && !matches!(kind, Kind::Exception(_)) {
                    head.push_str(" nested");
                }
            }
        }
        if let Some(mask) = ty.data_representation {
            let _ = write!(head, " data_representation={mask}");
        }
        self.details(&mut head, &ty.kind);
        self.line(&head);
        self.verbatims(&ty.verbatims);
        self.applied("  ", &ty.annotations);
        self.body(&ty.kind);
    }

    fn details(&self, head: &mut String, kind: &Kind) {
        let _ = match kind {
            Kind::Union(union) => {
                let key = if union.key { "@key " } else { "" };
                let _ = write!(head, " switch({key}{})", type_text(self.model, &union.discriminator));
                match union.try_construct {
                    TryConstruct::Discard => Ok(()),
                    how => write!(head, " try_construct={how:?}"),
                }
            }
            Kind::Enum(e) => {
                let ignore = if e.ignore_literal_names { " ignore_literal_names" } else { "" };
                write!(head, " bits={}{ignore}", e.bit_bound)
            }
            Kind::Bitmask(mask) => write!(head, " bits={}", mask.bit_bound),
            Kind::Bitset(bitset) => write!(head, " bits={}", bitset.width),
            _ => Ok(()),
        };
    }

    fn body(&mut self, kind: &Kind) {
        match kind {
            Kind::Struct(structure) | Kind::Exception(structure) => {
                structure.members.iter().for_each(|member| self.member("", member));
            }
            Kind::Union(union) => {
                for case in &union.cases {
                    let mut labels: Vec<String> =
                        case.labels.iter().map(|label| value_text(self.model, label)).collect();
                    if case.is_default {
                        labels.push("default".to_owned());
                    }
                    self.member(&format!("{}: ", labels.join(", ")), &case.member);
                }
            }
            Kind::Enum(e) => {
                for (i, literal) in e.literals.iter().enumerate() {
                    self.docs("  ", literal.docs.as_ref());
                    let default = if i == e.default && i > 0 { " default" } else { "" };
                    self.line(&format!("  {} = {}{default}", literal.name, literal.value));
                }
            }
            Kind::Bitmask(mask) => {
                for bit in &mask.bits {
                    self.docs("  ", bit.docs.as_ref());
                    self.line(&format!("  {} at {}", bit.name, bit.position));
                }
            }
            Kind::Bitset(bitset) => {
                for field in &bitset.fields {
                    self.docs("  ", field.docs.as_ref());
                    let holder = type_text(self.model, &field.holder);
                    self.line(&format!(
                        "  {} {holder} at {}, {} bits",
                        field.name, field.position, field.width
                    ));
                }
            }
            Kind::Alias(_) => {}
        }
    }

    fn member(&mut self, labels: &str, member: &Member) {
        self.docs("  ", member.docs.as_ref());
        let mut text =
            format!("  {labels}#{} {} {}", member.id, type_text(self.model, &member.ty), member.name);
        let flags = [
            (member.key, "key"),
            (member.optional, "optional"),
            (member.must_understand, "must_understand"),
            (member.external, "external"),
            (member.non_serialized, "non_serialized"),
        ];
        for (_, name) in flags.iter().filter(|(on, _)| *on) {
            let _ = write!(text, " {name}");
        }
        match member.try_construct {
            TryConstruct::Discard => {}
            TryConstruct::UseDefault => text.push_str(" try_construct=default"),
            TryConstruct::Trim => text.push_str(" try_construct=trim"),
        }
        for (name, value) in [("default", &member.default), ("min", &member.min), ("max", &member.max)] {
            if let Some(value) = value {
                let _ = write!(text, " {name}={}", value_text(self.model, value));
            }
        }
        if let Some(unit) = &member.unit {
            let _ = write!(text, " unit={unit}");
        }
        self.line(&text);
        self.applied("    ", &member.annotations);
    }

    fn interface(&mut self, id: InterfaceId) {
        let Some(interface) = self.model.interface(id) else { return };
        self.docs("", interface.docs.as_ref());
        let bases: Vec<&str> = interface
            .bases
            .iter()
            .filter_map(|base| self.model.interface(*base))
            .map(|base| base.full_name.as_str())
            .collect();
        let bases = if bases.is_empty() { String::new() } else { format!(" : {}", bases.join(", ")) };
        let service =
            interface.service.as_ref().map(|platform| format!(" service={platform}")).unwrap_or_default();
        self.line(&format!("interface {}{bases}{service}", interface.full_name));
        self.items(&interface.items);
        for attribute in &interface.attributes {
            let readonly = if attribute.readonly { "readonly " } else { "" };
            let ty = type_text(self.model, &attribute.ty);
            self.line(&format!("  {readonly}attribute {ty} {}", attribute.name));
        }
        for operation in &interface.operations {
            let returns =
                operation.returns.as_ref().map_or_else(|| "void".to_owned(), |ty| type_text(self.model, ty));
            let params: Vec<String> = operation
                .params
                .iter()
                .map(|p| {
                    let direction = format!("{:?}", p.direction).to_lowercase();
                    format!("{direction} {} {}", type_text(self.model, &p.ty), p.name)
                })
                .collect();
            let raises: Vec<String> =
                operation.raises.iter().map(|id| type_text(self.model, &Type::Named(*id))).collect();
            let raises =
                if raises.is_empty() { String::new() } else { format!(" raises({})", raises.join(", ")) };
            let oneway = if operation.oneway { "oneway " } else { "" };
            self.line(&format!("  {oneway}{returns} {}({}){raises}", operation.name, params.join(", ")));
        }
    }
}

/// The keyword of a kind of type.
pub(crate) fn kind_word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Struct(_) => "struct",
        Kind::Exception(_) => "exception",
        Kind::Union(_) => "union",
        Kind::Enum(_) => "enum",
        Kind::Bitmask(_) => "bitmask",
        Kind::Bitset(_) => "bitset",
        Kind::Alias(_) => "typedef",
    }
}
