//! Types and values where they are used.

use super::{
    Generator,
    uint8::{is_uint8, spelled_out},
};
use crate::ir::*;

impl Generator<'_> {
    /// A name of the standard library, with its path where a type of the model has the same.
    fn std(&self, name: &str) -> String {
        if !self.taken.contains(name) {
            return name.to_owned();
        }
        let module = match name {
            "String" => "string",
            "Vec" => "vec",
            "Option" => "option",
            _ => "boxed",
        };
        format!("::std::{module}::{name}")
    }

    /// The path of a type from the current module.
    pub(super) fn path_to(&self, id: TypeId) -> String {
        self.types.get(&id).map_or_else(String::new, |target| self.path_of(target))
    }

    /// The path of something from the current module.
    pub(super) fn path_of(&self, target: &[String]) -> String {
        let modules = target.len().saturating_sub(1);
        let common = self.path.iter().zip(target.iter().take(modules)).take_while(|(a, b)| a == b).count();
        let up = std::iter::repeat_n("super", self.path.len().saturating_sub(common));
        let down = target.iter().skip(common).map(String::as_str);
        up.chain(down).collect::<Vec<_>>().join("::")
    }

    pub(super) fn plain_type(&self, ty: &Type) -> String {
        let cdr = &self.options.cdr;
        let element = |element: &Element| {
            let inner = self.plain_type(&element.ty);
            if element.external { format!("{}<{inner}>", self.std("Box")) } else { inner }
        };
        match ty {
            Type::Boolean => "bool".to_owned(),
            Type::Octet | Type::Uint8 => "u8".to_owned(),
            Type::Int8 => "i8".to_owned(),
            Type::Int16 => "i16".to_owned(),
            Type::Uint16 => "u16".to_owned(),
            Type::Int32 => "i32".to_owned(),
            Type::Uint32 => "u32".to_owned(),
            Type::Int64 => "i64".to_owned(),
            Type::Uint64 => "u64".to_owned(),
            Type::Float => "f32".to_owned(),
            Type::Double => "f64".to_owned(),
            Type::LongDouble => format!("{cdr}::Float128"),
            Type::Char => format!("{cdr}::Char8"),
            Type::WideChar => format!("{cdr}::Char16"),
            Type::String { bound: None } => self.std("String"),
            Type::String { bound: Some(bound) } => format!("{cdr}::BoundedString<{bound}>"),
            Type::WideString { bound: None } => format!("{cdr}::WString"),
            Type::Sequence { element: inside, bound: None } => {
                format!("{}<{}>", self.std("Vec"), element(inside))
            }
            Type::Sequence { element: inside, bound: Some(bound) } => {
                format!("{cdr}::BoundedVec<{}, {bound}>", element(inside))
            }
            Type::Map { key, value, bound: None } => {
                format!("::std::collections::BTreeMap<{}, {}>", element(key), element(value))
            }
            Type::WideString { bound: Some(bound) } | Type::Map { bound: Some(bound), .. } => {
                format!("{cdr}::Bound<{}, {bound}>", self.plain_type(&unbounded(ty).0))
            }
            Type::Array { element: inside, dimensions } => {
                let inner = match self.is_row(&inside.ty) {
                    true => self.stored(
                        format!("{cdr}::idl::Row<{}>", self.plain_type(&inside.ty)),
                        false,
                        inside.external,
                    ),
                    false => element(inside),
                };
                dimensions.iter().rev().fold(inner, |inner, size| format!("[{inner}; {size}]"))
            }
            Type::Named(id) => self.path_to(*id),
        }
    }

    /// Whether elements of an array are arrays in turn, which have a name.
    pub(super) fn is_row(&self, element: &Type) -> bool {
        matches!(element, Type::Named(_)) && matches!(self.model.resolve(element), Type::Array { .. })
    }

    /// A value of this type as an expression.
    pub(super) fn value(&mut self, value: &Value, ty: &Type) -> String {
        let cdr = self.options.cdr.clone();
        match value {
            Value::Bool(b) => b.to_string(),
            Value::Int(n) => n.to_string(),
            Value::Float(x) if matches!(self.model.resolve(ty), Type::LongDouble) => {
                format!("{cdr}::Float128({:#x})", float128(*x))
            }
            Value::Float(x) => format!("{x:?}"),
            Value::Char(c) => format!("{cdr}::Char8({c})"),
            Value::WideChar(c) => format!("{cdr}::Char16({c})"),
            Value::Str(octets) => match std::str::from_utf8(octets) {
                Ok(text) => format!("\"{}\"", text.escape_debug()),
                Err(_) => "\"\"".to_owned(),
            },
            Value::WideStr(units) => match String::from_utf16(units) {
                Ok(text) => format!("\"{}\"", text.escape_debug()),
                Err(_) => format!("{cdr}::WString(vec!{units:?})"),
            },
            Value::Enum(id, index) => self.literal_path(*id, *index),
            Value::Bits(id, bits) => format!("{}({bits:#x})", self.path_to(*id)),
        }
    }

    /// The path of a literal of an enumeration.
    pub(super) fn literal_path(&self, id: TypeId, index: usize) -> String {
        let variant = self.variants.get(&id).and_then(|variants| variants.get(index)).cloned();
        format!("{}::{}", self.path_to(id), variant.unwrap_or_default())
    }

    /// The type of a member without its pointer and option, and the bound that an attribute gives.
    pub(super) fn member_type(&self, member: &Member) -> (String, Option<u32>) {
        // What is to be trimmed needs its bound in the attribute, so aliases of it are resolved.
        let ty = match member.try_construct {
            TryConstruct::Trim => self.model.resolve(&member.ty).clone(),
            _ => member.ty.clone(),
        };
        let (ty, bound) = unbounded(&ty);
        // The derive sees no type behind a name.
        let spelled = is_uint8(self.model, &ty) && !self.says_more(&member.ty);
        let ty = if spelled { spelled_out(self.model, &ty) } else { ty };
        (self.plain_type(&ty), bound)
    }

    /// The type with pointer and option.
    pub(super) fn stored(&self, inner: String, optional: bool, boxed: bool) -> String {
        let inner = if boxed { format!("{}<{inner}>", self.std("Box")) } else { inner };
        if optional { format!("{}<{inner}>", self.std("Option")) } else { inner }
    }

    /// The expression of a default.
    pub(super) fn default_text(&mut self, member: &Member) -> Option<String> {
        let value = member.default.as_ref()?;
        if let Value::Str(octets) = value
            && std::str::from_utf8(octets).is_err()
        {
            self.sink
                .error(member.span, "the default of this string is not UTF-8, which a Rust string has to be");
            return None;
        }
        let text = self.value(value, &member.ty);
        let is_text = matches!(value, Value::Str(_) | Value::WideStr(_));
        let resolved = self.model.resolve(&member.ty);
        let alias_bound = matches!(member.ty, Type::Named(_)) && unbounded(resolved).1.is_some();
        let text = match (
            is_text && text.starts_with('"'),
            alias_bound && member.try_construct != TryConstruct::Trim,
        ) {
            (true, true) => {
                format!(
                    "{}::Bound::new(::core::convert::From::from({text})).unwrap_or_default()",
                    self.options.cdr
                )
            }
            // The derive converts plain literals itself.
            (true, false) if member.external => format!("::core::convert::From::from({text})"),
            _ => text,
        };
        Some(if member.external { format!("{}::new({text})", self.std("Box")) } else { text })
    }
}

/// A type without its own bound, and the bound.
fn unbounded(ty: &Type) -> (Type, Option<u32>) {
    match ty {
        Type::String { bound } => (Type::String { bound: None }, *bound),
        Type::WideString { bound } => (Type::WideString { bound: None }, *bound),
        Type::Sequence { element, bound } => {
            (Type::Sequence { element: element.clone(), bound: None }, *bound)
        }
        Type::Map { key, value, bound } => {
            (Type::Map { key: key.clone(), value: value.clone(), bound: None }, *bound)
        }
        other => (other.clone(), None),
    }
}

/// The IEEE 754 bits of a number in quadruple precision.
pub(crate) fn float128(x: f64) -> u128 {
    let bits = x.to_bits();
    let sign = u128::from(bits >> 63) << 127;
    let (exponent, mantissa) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    if exponent == 0 && mantissa == 0 {
        return sign;
    }
    if exponent == 0 {
        // A subnormal number becomes a normal one: its highest bit moves out of the mantissa.
        let shift = mantissa.leading_zeros().saturating_sub(11);
        let exponent = 15361u128.saturating_sub(u128::from(shift));
        let mantissa = u128::from(mantissa << shift) & ((1 << 52) - 1);
        return sign | exponent << 112 | mantissa << 60;
    }
    sign | u128::from(exponent).saturating_add(15360) << 112 | u128::from(mantissa) << 60
}

#[cfg(test)]
mod tests {
    use super::float128;

    #[test]
    fn quadruple_precision() {
        assert_eq!(float128(1.0), 0x3fff << 112);
        assert_eq!(float128(-2.0), 0xc000 << 112);
        assert_eq!(float128(1.5), 0x3fff_8000 << 96);
        assert_eq!(float128(0.0), 0);
        // 2^-1074, the least number: exponent -1074 + 16383.
        assert_eq!(float128(f64::from_bits(1)), 15309 << 112);
        assert_eq!(float128(f64::MIN_POSITIVE), 15361 << 112);
    }
}
