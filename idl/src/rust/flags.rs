//! Enumerations, bitmasks and bitsets.

use names::Taken;

use super::{Generator, names};
use crate::check::{bit_fields, default_holder};
use crate::ir::*;

/// The unsigned integer with at least this many bits.
fn holder(bits: u16) -> &'static str {
    match bits {
        0..=8 => "u8",
        9..=16 => "u16",
        17..=32 => "u32",
        _ => "u64",
    }
}

impl Generator<'_> {
    pub(super) fn enumeration(&mut self, id: TypeId, name: &str, ty: &TypeDef, e: &Enum) {
        let cdr = self.options.cdr.clone();
        self.docs(ty.docs.as_deref());
        self.line(&format!(
            "#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, {cdr}::DdsType)]"
        ));
        let bits = if e.bit_bound == 32 { Vec::new() } else { vec![format!("bit_bound = {}", e.bit_bound)] };
        self.type_attributes(ty, name, &bits);
        self.open(&format!("pub enum {name} {{"));
        self.verbatim(&ty.verbatims, Placement::BeginDeclaration);
        let variants = self.variants.get(&id).cloned().unwrap_or_default();
        for (i, (literal, variant)) in e.literals.iter().zip(variants).enumerate() {
            self.docs(literal.docs.as_deref());
            let mut words = Vec::new();
            if i == e.default && i > 0 {
                words.push("default".to_owned());
            }
            if variant.trim_start_matches("r#") != literal.name {
                words.push(format!("name = \"{}\"", literal.name));
            }
            if !words.is_empty() {
                self.line(&format!("#[dds({})]", words.join(", ")));
            }
            self.line(&format!("{variant} = {},", literal.value));
        }
        self.verbatim(&ty.verbatims, Placement::EndDeclaration);
        self.close("}");
        self.default_impl(name);
    }

    /// The names of the constants for bits.
    fn bit_names(&self, mask: &Bitmask) -> Vec<String> {
        let mut taken = Taken::default();
        mask.bits.iter().map(|bit| taken.choose(names::screaming(&bit.name), &bit.name)).collect()
    }

    /// The path of the constant that has these bits.
    pub(super) fn bit_path(&self, id: TypeId, bits: u64) -> Option<String> {
        let Some(Kind::Bitmask(mask)) = self.model.ty(id).map(|ty| &ty.kind) else { return None };
        let single = |bit: &Bit| 1u64.checked_shl(bit.position.into()) == Some(bits);
        let index = mask.bits.iter().position(single)?;
        Some(format!("{}::{}", self.path_to(id), self.bit_names(mask).get(index)?))
    }

    fn newtype(&mut self, name: &str, ty: &TypeDef, words: &[String], holder: &str) {
        let cdr = self.options.cdr.clone();
        self.docs(ty.docs.as_deref());
        self.line(&format!(
            "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, {cdr}::DdsType)]"
        ));
        self.type_attributes(ty, name, words);
        self.line(&format!("pub struct {name}(pub {holder});"));
        self.line("");
    }

    pub(super) fn bitmask(&mut self, name: &str, ty: &TypeDef, mask: &Bitmask) {
        let holder = holder(mask.bit_bound);
        let mut words = vec!["bitmask".to_owned()];
        if mask.bit_bound != 32 {
            words.push(format!("bit_bound = {}", mask.bit_bound));
        }
        let flags: Vec<String> =
            mask.bits.iter().map(|bit| format!("{} = {}", bit.name, bit.position)).collect();
        words.extend((!flags.is_empty()).then(|| format!("bits({})", flags.join(", "))));
        self.newtype(name, ty, &words, holder);
        self.allow();
        self.open(&format!("impl {name} {{"));
        self.verbatim(&ty.verbatims, Placement::BeginDeclaration);
        for (bit, constant) in mask.bits.iter().zip(self.bit_names(mask)) {
            self.docs(bit.docs.as_deref());
            self.line(&format!("pub const {constant}: Self = Self(1 << {});", bit.position));
        }
        let methods: [(&str, &str, &str); 5] = [
            ("No bit.", "pub const fn empty() -> Self", "Self(0)"),
            (
                "Whether all these bits are set.",
                "pub const fn contains(self, bits: Self) -> bool",
                "self.0 & bits.0 == bits.0",
            ),
            ("With these bits set.", "pub const fn with(self, bits: Self) -> Self", "Self(self.0 | bits.0)"),
            (
                "With these bits cleared.",
                "pub const fn without(self, bits: Self) -> Self",
                "Self(self.0 & !bits.0)",
            ),
            ("Whether no bit is set.", "pub const fn is_empty(self) -> bool", "self.0 == 0"),
        ];
        for (docs, signature, body) in methods {
            self.line("");
            self.line(&format!("/// {docs}"));
            self.line("#[must_use]");
            self.open(&format!("{signature} {{"));
            self.line(body);
            self.close("}");
        }
        self.verbatim(&ty.verbatims, Placement::EndDeclaration);
        self.close("}");
        for (operator, method, sign) in
            [("BitOr", "bitor", "|"), ("BitAnd", "bitand", "&"), ("BitXor", "bitxor", "^")]
        {
            self.line("");
            self.open(&format!("impl ::core::ops::{operator} for {name} {{"));
            self.line("type Output = Self;");
            self.line("");
            self.open(&format!("fn {method}(self, other: Self) -> Self {{"));
            self.line(&format!("Self(self.0 {sign} other.0)"));
            self.close("}");
            self.close("}");
        }
    }

    pub(super) fn bitset(&mut self, id: TypeId, name: &str, ty: &TypeDef, bitset: &Bitset) {
        let holder = holder(bitset.width);
        let fields: Vec<String> =
            bit_fields(self.model, id).into_iter().map(|field| self.described_field(field)).collect();
        let mut words = vec!["bitset".to_owned()];
        words.extend((!fields.is_empty()).then(|| format!("bits({})", fields.join(", "))));
        self.newtype(name, ty, &words, holder);
        self.allow();
        self.open(&format!("impl {name} {{"));
        self.verbatim(&ty.verbatims, Placement::BeginDeclaration);
        let mut taken = Taken::default();
        for (i, field) in bit_fields(self.model, id).into_iter().enumerate() {
            if i > 0 {
                self.line("");
            }
            let getter = taken.choose(names::snake(&field.name), &field.name);
            let setter = taken
                .choose(format!("set_{}", getter.trim_start_matches("r#")), &format!("set_{}_", field.name));
            self.bit_field(field, holder, &getter, &setter);
        }
        self.verbatim(&ty.verbatims, Placement::EndDeclaration);
        self.close("}");
    }

    /// A field as the derive expects it: `name = first..end`, with the type of its value if that does not follow.
    fn described_field(&self, field: &BitField) -> String {
        let resolved = self.model.resolve(&field.holder);
        let of_its_own = *resolved != default_holder(field.width);
        let holder = match resolved {
            _ if !of_its_own => String::new(),
            Type::Uint8 => ": uint8".to_owned(),
            other => format!(": {}", self.plain_type(other)),
        };
        let end = field.position.saturating_add(field.width);
        format!("{}{holder} = {}..{end}", field.name, field.position)
    }

    fn bit_field(&mut self, field: &BitField, holder: &str, getter: &str, setter: &str) {
        let resolved = self.model.resolve(&field.holder).clone();
        let value = self.plain_type(&resolved);
        let (at, width) = (field.position, field.width);
        let mask = if width >= 64 { u64::MAX } else { (1u64 << (width & 63)).saturating_sub(1) };
        let shift = if at == 0 { String::new() } else { format!(" >> {at}") };
        let get = match &resolved {
            Type::Boolean => format!("self.0{shift} & 1 == 1"),
            // The highest bit of a field with a signed type is its sign.
            ty if matches!(ty, Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64) => {
                let unused = match ty {
                    Type::Int8 => 8u16,
                    Type::Int16 => 16,
                    Type::Int32 => 32,
                    _ => 64,
                }
                .saturating_sub(width);
                format!("(((self.0{shift} & {mask:#x}) as {value}) << {unused}) >> {unused}")
            }
            _ => format!("(self.0{shift} & {mask:#x}) as {value}"),
        };
        let bits = match &resolved {
            Type::Boolean => format!("(value as {holder})"),
            _ => format!("(value as {holder} & {mask:#x})"),
        };
        let place = if at == 0 { String::new() } else { format!(" << {at}") };
        self.docs(field.docs.as_deref());
        self.line("#[must_use]");
        self.open(&format!("pub const fn {getter}(self) -> {value} {{"));
        self.line(&get);
        self.close("}");
        self.line("");
        self.line(&format!("/// Sets `{}`; bits that do not fit are left out.", field.name));
        self.open(&format!("pub const fn {setter}(&mut self, value: {value}) {{"));
        self.line(&format!("self.0 = self.0 & !({mask:#x}{place}) | {bits}{place};"));
        self.close("}");
    }
}
