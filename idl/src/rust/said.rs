//! Annotations that the source declares itself, and `@verbatim`, as constants of `dunlin_cdr::annotation`.

use std::collections::BTreeMap;

use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::model::{
    AnnotationIndex, AnnotationParameter, Applied, Definition, Kind, Literal, Part, Type, TypeGraph,
    TypeIndex,
};
use dunlin_xtypes::object::annotation::AnnotationParameterValue as Value;

use crate::ir::Model;
use crate::xtypes::type_graph;

/// The constants for the types of which the source says something, by their names.
pub(super) fn all(model: &Model, cdr: &str) -> BTreeMap<String, String> {
    let nothing = model.annotations().is_empty() && model.types().all(|(_, ty)| ty.verbatims.is_empty());
    if nothing {
        return BTreeMap::new();
    }
    let (graph, _) = type_graph(model);
    let said = Said { graph: &graph, cdr };
    let told = graph.iter().filter(|(index, _)| graph.annotations(*index).is_some());
    told.map(|(index, definition)| (definition.name.clone(), said.of(index))).collect()
}

struct Said<'a> {
    graph: &'a TypeGraph,
    cdr: &'a str,
}

impl Said<'_> {
    fn of(&self, index: TypeIndex) -> String {
        let path = format!("{}::annotation", self.cdr);
        let Some(it) = self.graph.annotations(index) else {
            return format!("{path}::TypeAnnotations::NONE");
        };
        let verbatim = it.verbatim.as_ref().map(|it| {
            let (language, placement, text) = (&it.language, &it.placement, &it.text);
            format!("{path}::Verbatim {{ language: {language:?}, placement: {placement:?}, text: {text:?} }}")
        });
        let applied: Vec<String> = it.applied.iter().map(|it| self.applied(index, it)).collect();
        format!(
            "{path}::TypeAnnotations {{ verbatim: {}, applied: &[{}] }}",
            option(verbatim),
            applied.join(", ")
        )
    }

    fn applied(&self, index: TypeIndex, it: &Applied) -> String {
        let path = format!("{}::annotation", self.cdr);
        let part = match it.part {
            Part::Type => "Type".to_owned(),
            Part::Discriminator => "Discriminator".to_owned(),
            Part::Member(at) => {
                let name = self.graph.part_name(index, at).map_or("", |name| &name.text);
                format!("Member({name:?})")
            }
        };
        let values = it.values.iter().filter_map(|given| {
            let declared = self.graph.annotation(it.annotation)?;
            let name = &declared.parameter(given.paramname_hash)?.name;
            Some(format!("({name:?}, {})", self.value(&given.value)?))
        });
        let values: Vec<String> = values.collect();
        format!(
            "({path}::Part::{part}, {path}::Applied {{ annotation: &{}, values: &[{}] }})",
            self.annotation(it.annotation),
            values.join(", ")
        )
    }

    fn annotation(&self, index: AnnotationIndex) -> String {
        let path = format!("{}::annotation", self.cdr);
        let Some(it) = self.graph.annotation(index) else { return String::new() };
        let parameters: Vec<String> =
            it.parameters.iter().filter_map(|parameter| self.parameter(parameter)).collect();
        format!("{path}::Annotation {{ name: {:?}, parameters: &[{}] }}", it.name, parameters.join(", "))
    }

    /// `None` for types that type objects do not tell.
    fn parameter(&self, it: &AnnotationParameter) -> Option<String> {
        let path = format!("{}::annotation", self.cdr);
        let ty = match &it.ty {
            Type::Primitive(kind::NONE) => "Any".to_owned(),
            Type::Primitive(primitive) => {
                format!("Primitive({}::PrimitiveKind::{})", self.cdr, primitive_kind(*primitive)?)
            }
            Type::String { wide: false, bound } => format!("Text({bound})"),
            Type::String { wide: true, bound } => format!("WideText({bound})"),
            Type::Named(index) => format!("Enumeration(const {{ &{} }})", self.enumeration(*index)?),
            _ => return None,
        };
        let default = option(it.default.as_ref().and_then(|value| self.value(value)));
        let name = &it.name;
        Some(format!(
            "{path}::Parameter {{ name: {name:?}, ty: {path}::ParameterType::{ty}, default: {default} }}"
        ))
    }

    fn enumeration(&self, index: TypeIndex) -> Option<String> {
        let definition = self.graph.get(index)?;
        let Definition { kind: Kind::Enumeration(it), name, .. } = definition else { return None };
        let cdr = self.cdr;
        let literals = it.literals.iter().map(|Literal { name, value, is_default }| {
            let name = &name.text;
            format!(
                "{cdr}::LiteralDescription {{ name: {cdr}::StaticOrArc::constant({name:?}), value: {value}, is_default: {is_default} }}"
            )
        });
        let literals: Vec<String> = literals.collect();
        Some(format!(
            "{cdr}::TypeDescription {{ name: {cdr}::StaticOrArc::constant({name:?}), kind: {cdr}::TypeKind::Enumeration({cdr}::EnumerationDescription {{ \
             extensibility: {cdr}::Extensibility::{:?}, bit_bound: {}, literals: {cdr}::StaticOrArc::constant(const {{ &[{}] }}) }}), annotations: {} }}",
            definition.extensibility(),
            it.bit_bound,
            literals.join(", "),
            self.of(index),
        ))
    }

    fn value(&self, value: &Value) -> Option<String> {
        let text = match value {
            Value::Boolean(it) => format!("Boolean({it})"),
            Value::Byte(it) => format!("Octet({it})"),
            Value::Int8(it) => format!("Int8({it})"),
            Value::UInt8(it) => format!("UInt8({it})"),
            Value::Int16(it) => format!("Int16({it})"),
            Value::UInt16(it) => format!("UInt16({it})"),
            Value::Int32(it) => format!("Int32({it})"),
            Value::UInt32(it) => format!("UInt32({it})"),
            Value::Int64(it) => format!("Int64({it})"),
            Value::UInt64(it) => format!("UInt64({it})"),
            Value::Float32(it) => format!("Float32(f32::from_bits({:#x}))", it.to_bits()),
            Value::Float64(it) => format!("Float64(f64::from_bits({:#x}))", it.to_bits()),
            Value::Float128(it) => format!("Float128({:#x})", it.0),
            Value::Char(it) => format!("Char8({})", it.0),
            Value::WideChar(it) => format!("Char16({})", it.0),
            Value::Enumerated(it) => format!("Enumerated({it})"),
            Value::String(it) => format!("Text({it:?})"),
            Value::WideString(it) => format!("WideText(&{:?})", it.0),
            Value::Extended { .. } => return None,
        };
        Some(format!("{}::annotation::Value::{text}", self.cdr))
    }
}

fn option(text: Option<String>) -> String {
    match text {
        Some(text) => format!("::core::option::Option::Some({text})"),
        None => "::core::option::Option::None".to_owned(),
    }
}

fn primitive_kind(primitive: u8) -> Option<&'static str> {
    Some(match primitive {
        kind::BOOLEAN => "Boolean",
        kind::BYTE => "Octet",
        kind::INT8 => "Int8",
        kind::UINT8 => "UInt8",
        kind::INT16 => "Int16",
        kind::UINT16 => "UInt16",
        kind::INT32 => "Int32",
        kind::UINT32 => "UInt32",
        kind::INT64 => "Int64",
        kind::UINT64 => "UInt64",
        kind::FLOAT32 => "Float32",
        kind::FLOAT64 => "Float64",
        kind::FLOAT128 => "Float128",
        kind::CHAR8 => "Char8",
        kind::CHAR16 => "Char16",
        _ => return None,
    })
}
