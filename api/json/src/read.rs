//! Values of JSON.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use dunlin_cdr::{Char8, Char16, Float128, PrimitiveKind};
use dunlin_dynamic::{
    BitsShape, DynamicData, DynamicType, Shape, StructureShape, TypeView, UnionShape, UnionValue, Value,
};
use serde_json::{Map, Value as Json};

use crate::write::is_name;

const STANDARD_INDIFFERENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why JSON makes no value of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", if .path.is_empty() { String::new() } else { format!("{}: ", .path) })]
pub struct JsonError {
    /// The part that does not fit: `a.b[3]`; empty for the whole.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

impl JsonError {
    fn new(problem: impl Into<String>) -> Self {
        Self { path: String::new(), problem: problem.into() }
    }

    fn at_member(mut self, name: &str) -> Self {
        let joined = self.path.is_empty() || self.path.starts_with('[');
        self.path = format!("{name}{}{}", if joined { "" } else { "." }, self.path);
        self
    }

    fn at_index(mut self, index: impl std::fmt::Display) -> Self {
        let joined = self.path.is_empty() || self.path.starts_with('[');
        self.path = format!("[{index}]{}{}", if joined { "" } else { "." }, self.path);
        self
    }
}

/// The value of a type that JSON describes. Members that are missing have their defaults.
///
/// # Errors
/// [`JsonError`].
pub fn from_json(ty: &DynamicType, json: &Json) -> Result<DynamicData, JsonError> {
    let value = read(ty.view(), json)?;
    DynamicData::from_value(ty, value).map_err(|error| JsonError::new(error.to_string()))
}

fn describe(json: &Json) -> String {
    match json {
        Json::Null => "null".into(),
        Json::Bool(value) => value.to_string(),
        Json::Number(value) => value.to_string(),
        Json::String(text) if text.len() < 40 => format!("{text:?}"),
        Json::String(_) => "a string".into(),
        Json::Array(_) => "a list".into(),
        Json::Object(_) => "an object".into(),
    }
}

fn wanted(what: &str, json: &Json) -> JsonError {
    JsonError::new(format!("expected {what}, not {}", describe(json)))
}

fn integer(json: &Json) -> Option<i128> {
    match json {
        Json::Number(number) => {
            let exact = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            // 3.0 is a whole number to people.
            #[allow(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            exact
                .or_else(|| number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e15).map(|f| f as i128))
        }
        _ => None,
    }
}

fn read(view: TypeView<'_>, json: &Json) -> Result<Value, JsonError> {
    match view.shape() {
        Shape::Primitive(kind) => primitive(view, *kind, json),
        Shape::Text { .. } => match json {
            Json::String(text) => fitted(view, Value::String(text.clone())),
            other => Err(wanted("a string", other)),
        },
        Shape::Enumeration(it) => {
            let value = match json {
                Json::String(name) => it.value_of(name),
                other => {
                    integer(other).and_then(|n| i32::try_from(n).ok()).filter(|n| it.name_of(*n).is_some())
                }
            };
            let names = || it.literals.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            value.map(Value::Enumeration).ok_or_else(|| wanted(&format!("one of {}", names()), json))
        }
        Shape::Bits(it) => bits(view, it, json),
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
            let element = view.at(*element);
            if let (true, Json::String(text)) = (is_octet(element), json) {
                return octets(view, text);
            }
            let list = if is_octet(element) { "a list, or bytes in base64" } else { "a list" };
            let Json::Array(items) = json else { return Err(wanted(list, json)) };
            let read = |(index, item)| read(element, item).map_err(|error| error.at_index(index));
            let items = items.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
            fitted(view, Value::List(items))
        }
        Shape::Map { key, value, .. } => map(view, view.at(*key), view.at(*value), json),
        Shape::Structure(it) => structure(view, it, json),
        Shape::Union(it) => union(view, it, json),
        _ => Err(JsonError::new("values of this type cannot be made of JSON")),
    }
}

fn is_octet(view: TypeView<'_>) -> bool {
    matches!(view.shape(), Shape::Primitive(PrimitiveKind::Octet | PrimitiveKind::UInt8))
}

/// Bytes in base64 (RFC 4648 §4), with padding or without.
fn octets(view: TypeView<'_>, text: &str) -> Result<Value, JsonError> {
    let octets = STANDARD_INDIFFERENT.decode(text);
    let octets = octets.map_err(|error| JsonError::new(format!("expected bytes in base64: {error}")))?;
    fitted(view, Value::Octets(octets))
}

/// A value converted to its type, with the bounds of that checked.
fn fitted(view: TypeView<'_>, value: Value) -> Result<Value, JsonError> {
    view.convert(value).map_err(|error| JsonError::new(error.to_string()))
}

fn primitive(view: TypeView<'_>, kind: PrimitiveKind, json: &Json) -> Result<Value, JsonError> {
    let given = match (kind, json) {
        (PrimitiveKind::Boolean, Json::Bool(value)) => Value::Boolean(*value),
        (PrimitiveKind::Float32 | PrimitiveKind::Float64, Json::String(text)) => {
            Value::Float64(match text.as_str() {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => return Err(wanted("a number, \"NaN\", \"Infinity\" or \"-Infinity\"", json)),
            })
        }
        (PrimitiveKind::Float32 | PrimitiveKind::Float64, Json::Number(number)) => {
            Value::Float64(number.as_f64().ok_or_else(|| wanted("a number", json))?)
        }
        (PrimitiveKind::Float128, Json::String(text)) => {
            let bits = text.strip_prefix("0x").and_then(|digits| u128::from_str_radix(digits, 16).ok());
            Value::Float128(Float128(bits.ok_or_else(|| wanted("\"0x\" and the bits in hexadecimal", json))?))
        }
        (PrimitiveKind::Char8 | PrimitiveKind::Char16, Json::String(text)) => Value::String(text.clone()),
        (PrimitiveKind::Char8, other) => {
            let code = integer(other).and_then(|code| u8::try_from(code).ok());
            Value::Char8(Char8(code.ok_or_else(|| wanted("a character", json))?))
        }
        (PrimitiveKind::Char16, other) => {
            let code = integer(other).and_then(|code| u16::try_from(code).ok());
            Value::Char16(Char16(code.ok_or_else(|| wanted("a character", json))?))
        }
        (_, other) => {
            let number = integer(other).ok_or_else(|| wanted(kind.idl_name(), json))?;
            match i64::try_from(number) {
                Ok(number) => Value::Int64(number),
                Err(_) => Value::UInt64(u64::try_from(number).map_err(|_| wanted(kind.idl_name(), json))?),
            }
        }
    };
    fitted(view, given)
}

fn bits(view: TypeView<'_>, it: &BitsShape, json: &Json) -> Result<Value, JsonError> {
    let number = |json: &Json| integer(json).and_then(|number| u64::try_from(number).ok());
    let field = |name: &str| {
        let known = it.fields.iter().find(|field| field.name == name);
        known.ok_or_else(|| {
            let names = it.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>();
            JsonError::new(format!("no '{name}' among {}", names.join(", ")))
        })
    };
    let mut all = 0;
    match json {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                all |= match item {
                    Json::String(name) => field(name).map_err(|error| error.at_index(index))?.mask(),
                    other => {
                        number(other).ok_or_else(|| wanted("the name of a flag", other).at_index(index))?
                    }
                };
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                let field = field(name)?;
                let number = integer(value).and_then(|number| field.put(all, number));
                all = number.ok_or_else(|| {
                    wanted(&format!("a number of {} bits", field.width), value).at_member(name)
                })?;
            }
        }
        other => all = number(other).ok_or_else(|| wanted("names of flags", other))?,
    }
    fitted(view, Value::Bits(all))
}

fn map(view: TypeView<'_>, key: TypeView<'_>, value: TypeView<'_>, json: &Json) -> Result<Value, JsonError> {
    let mut pairs = Vec::new();
    match json {
        Json::Object(members) if is_name(key) => {
            for (name, inner) in members {
                let text = Json::String(name.clone());
                let number = name.parse::<serde_json::Number>().map(Json::Number);
                let k =
                    read(key, &text).or_else(|error| number.map_or(Err(error), |number| read(key, &number)));
                pairs.push((
                    k.map_err(|error| error.at_index(name))?,
                    read(value, inner).map_err(|e| e.at_index(name))?,
                ));
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let Some([k, v]) = item.as_array().map(Vec::as_slice) else {
                    return Err(wanted("[key, value]", item).at_index(index));
                };
                let both = read(key, k).and_then(|k| Ok((k, read(value, v)?)));
                pairs.push(both.map_err(|error| error.at_index(index))?);
            }
        }
        other => return Err(wanted("an object, or a list of [key, value]", other)),
    }
    fitted(view, Value::Map(pairs))
}

fn object(json: &Json) -> Result<&Map<String, Json>, JsonError> {
    json.as_object().ok_or_else(|| wanted("an object", json))
}

fn no_member(name: &str, known: Vec<&str>) -> JsonError {
    JsonError::new(format!("no member '{name}' among {}", known.join(", ")))
}

fn structure(view: TypeView<'_>, it: &StructureShape, json: &Json) -> Result<Value, JsonError> {
    let given = object(json)?;
    let known = || it.members.iter().map(|member| member.name.as_str()).collect();
    if let Some(name) = given.keys().find(|name| it.position(name).is_none()) {
        return Err(no_member(name, known()));
    }
    let mut members = Vec::new();
    for member in &it.members {
        let inner = view.at(member.part);
        members.push(match given.get(&member.name) {
            None | Some(Json::Null) if member.is_optional() => None,
            None => Some(member.default_value(view)),
            Some(json) => Some(read(inner, json).map_err(|error| error.at_member(&member.name))?),
        });
    }
    Ok(Value::Structure(members))
}

fn union(view: TypeView<'_>, it: &UnionShape, json: &Json) -> Result<Value, JsonError> {
    let given = object(json)?;
    let mut members = given.iter().filter(|(name, _)| *name != "_d");
    let (member, more) = (members.next(), members.next());
    if let Some((name, _)) = more {
        return Err(JsonError::new("a union has one member").at_member(name));
    }
    let case = match member {
        Some((name, _)) => {
            let known = || it.cases.iter().map(|case| case.name.as_str()).collect();
            let case = it.cases.iter().find(|case| case.name == *name);
            Some(case.ok_or_else(|| no_member(name, known()))?)
        }
        None => None,
    };
    let discriminator = match (given.get("_d"), case) {
        (Some(json), _) => {
            let value = read(view.at(it.discriminator), json).map_err(|error| error.at_member("_d"))?;
            discriminator_of(&value).ok_or_else(|| wanted("a discriminator", json).at_member("_d"))?
        }
        (None, Some(case)) => {
            it.label_of(case).ok_or_else(|| JsonError::new("no value of the discriminator is left for it"))?
        }
        (None, None) => return Err(JsonError::new("a union needs a member or its discriminator _d")),
    };
    let selected = it.selected(discriminator);
    let member = match (selected, member) {
        (Some(case), Some((name, json))) if case.name == *name => {
            Some(read(view.at(case.part), json).map_err(|error| error.at_member(name))?)
        }
        (_, Some((name, _))) => {
            return Err(JsonError::new("the discriminator _d does not select this member").at_member(name));
        }
        (Some(case), None) => Some(case.default_value(view)),
        (None, None) => None,
    };
    Ok(Value::Union(Box::new(UnionValue { discriminator, member })))
}

fn discriminator_of(value: &Value) -> Option<i64> {
    match value {
        Value::UInt64(value) => Some(value.cast_signed()),
        other => i64::try_from(other.as_integer()?).ok(),
    }
}
