//! Enumerations, bitmasks and bitsets.

use std::collections::BTreeMap;

use super::Checker;
use super::annotation::{Known, Place};
use super::scope::Def;
use crate::ir::*;
use crate::source::Span;
use crate::syntax::ast::{self, Annotation, Enumerator, Ident, ScopedName};

impl Checker<'_> {
    pub(super) fn enumeration(
        &mut self,
        name: &Ident,
        literals: &[Enumerator],
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Option<TypeId> {
        let empty = Enum { bit_bound: 32, literals: Vec::new(), default: 0, ignore_literal_names: false };
        let begun = self.begin(name, Kind::Enum(empty.clone()), Place::Enum, annotations, docs);
        let mut result = empty;
        result.ignore_literal_names = begun.settings.ignore_literal_names;
        result.bit_bound = match begun.settings.bit_bound {
            Some((bits, span)) if bits > 32 => {
                self.sink.error(span, "the bit_bound of an enumeration is 1 to 32");
                32
            }
            Some((bits, _)) => bits,
            None => 32,
        };
        let half = 1i128.checked_shl(u32::from(result.bit_bound).saturating_sub(1)).unwrap_or(0);
        let (mut next, mut default): (i128, Option<Span>) = (0, None);
        let mut values: BTreeMap<i128, Span> = BTreeMap::new();
        for literal in literals {
            let index = result.literals.len();
            let (mut docs, mut applied) = (literal.docs.clone(), Vec::new());
            for (known, span) in self.annotations(&literal.annotations, Place::Literal) {
                match known {
                    Known::Value(expr) => {
                        next = self
                            .integer(&expr, "the value of a literal", i32::MIN.into(), i32::MAX.into())
                            .unwrap_or(next);
                    }
                    Known::DefaultLiteral => {
                        result.default = index;
                        if let Some(other) = default.replace(span) {
                            self.sink
                                .error(span, "another literal is the default")
                                .also(other, "the other one");
                        }
                    }
                    Known::Verbatim(verbatim) if verbatim.language == "comment" => docs = Some(verbatim.text),
                    Known::Custom(it) => applied.push(it),
                    _ => {}
                }
            }
            if next < half.saturating_neg() || next >= half {
                let message = format!(
                    "the value {next} of `{}` does not fit {} bits",
                    literal.name.name, result.bit_bound
                );
                self.sink.error(literal.name.span, message);
            } else if let Some(other) = values.insert(next, literal.name.span) {
                self.sink
                    .error(literal.name.span, format!("another literal has the value {next}"))
                    .also(other, "the other one");
            }
            self.declare(&literal.name, Def::Literal(begun.id, index));
            self.declare_in(begun.scope, &literal.name, Def::Literal(begun.id, index));
            let value = i32::try_from(next).unwrap_or(0);
            let (name, span) = (literal.name.name.to_string(), literal.name.span);
            result.literals.push(Literal { name, span, docs, value, annotations: applied });
            next = next.saturating_add(1);
        }
        self.end(begun.id, Kind::Enum(result));
        Some(begun.id)
    }

    pub(super) fn bitmask(
        &mut self,
        name: &Ident,
        bits: &[Enumerator],
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Option<TypeId> {
        let empty = Bitmask { bit_bound: 32, bits: Vec::new() };
        let begun = self.begin(name, Kind::Bitmask(empty.clone()), Place::Bitmask, annotations, docs);
        let mut result = empty;
        result.bit_bound = begun.settings.bit_bound.map_or(32, |(bits, _)| bits);
        let mut next = 0u16;
        let mut positions: BTreeMap<u16, Span> = BTreeMap::new();
        for bit in bits {
            let (mut docs, mut applied) = (bit.docs.clone(), Vec::new());
            for (known, _) in self.annotations(&bit.annotations, Place::Bit) {
                match known {
                    Known::Position(position) => next = position,
                    Known::Verbatim(verbatim) if verbatim.language == "comment" => docs = Some(verbatim.text),
                    Known::Custom(it) => applied.push(it),
                    _ => {}
                }
            }
            let span = bit.name.span;
            if next >= result.bit_bound {
                let message = format!(
                    "the position {next} of `{}` is outside of the {} bits",
                    bit.name.name, result.bit_bound
                );
                self.sink.error(span, message).hint("raise @bit_bound");
            } else if let Some(other) = positions.insert(next, span) {
                self.sink
                    .error(span, format!("another bit has the position {next}"))
                    .also(other, "the other one");
            }
            let outer = std::mem::replace(&mut self.scope, begun.scope);
            self.declare(&bit.name, Def::Bit(begun.id, result.bits.len()));
            self.scope = outer;
            let (name, position) = (bit.name.name.to_string(), next.min(63));
            result.bits.push(Bit { name, docs, position, annotations: applied });
            next = next.saturating_add(1);
        }
        self.end(begun.id, Kind::Bitmask(result));
        Some(begun.id)
    }

    pub(super) fn bitset(
        &mut self,
        name: &Ident,
        base: Option<&ScopedName>,
        fields: &[ast::BitField],
        annotations: &[Annotation],
        docs: Option<String>,
    ) -> Option<TypeId> {
        let base = base.and_then(|base| self.base_bitset(base));
        let empty = Bitset { base, fields: Vec::new(), width: 0 };
        let begun = self.begin(name, Kind::Bitset(empty.clone()), Place::Bitset, annotations, docs);
        let mut result = empty;
        let inherited = base.map(|base| bit_fields(&self.model, base)).unwrap_or_default();
        let inherited: Vec<String> = inherited.iter().map(|field| field.name.to_ascii_lowercase()).collect();
        result.width = match base.and_then(|base| self.model.ty(base)).map(|ty| &ty.kind) {
            Some(Kind::Bitset(base)) => base.width,
            _ => 0,
        };
        let outer = std::mem::replace(&mut self.scope, begun.scope);
        for field in fields {
            self.bit_field(field, &mut result, &inherited);
        }
        self.scope = outer;
        if result.width == 0 {
            self.sink.error(name.span, "a bitset has at least one bit");
        }
        self.end(begun.id, Kind::Bitset(result));
        Some(begun.id)
    }

    fn base_bitset(&mut self, name: &ScopedName) -> Option<TypeId> {
        let id = match self.resolve(name)? {
            Def::Type(id) => *match self.model.resolve(&Type::Named(id)) {
                Type::Named(id) => id,
                _ => &id,
            },
            _ => TypeId(usize::MAX),
        };
        let fits = matches!(self.model.ty(id).map(|ty| &ty.kind), Some(Kind::Bitset(_)));
        if !fits || !self.complete.get(id.0).copied().unwrap_or(false) {
            self.sink.error(name.span, format!("`{}` is not a bitset", name.text()));
            return None;
        }
        self.check_depth(id, name.span).then_some(id)
    }

    fn bit_field(&mut self, field: &ast::BitField, bitset: &mut Bitset, inherited: &[String]) {
        let (mut position, mut applied) = (None, Vec::new());
        for (known, span) in self.annotations(&field.annotations, Place::BitField) {
            match known {
                Known::Position(at) => position = position.or(Some((at, span))),
                Known::Custom(it) => applied.push(it),
                _ => {}
            }
        }
        let width = self.integer(&field.width, "the size of a bit field", 1, 64);
        let width = width.and_then(|width| u16::try_from(width).ok());
        let holder = match (&field.ty, width) {
            (Some(spec), width) => self.type_spec(spec).filter(|ty| self.check_holder(ty, width, spec.span)),
            (None, Some(width)) => Some(default_holder(width)),
            (None, None) => None,
        };
        let Some(width) = width else { return };
        if let Some((position, span)) = position {
            if position < bitset.width {
                self.sink.error(span, format!("the bits before position {} are taken", bitset.width));
            }
            bitset.width = bitset.width.max(position);
        }
        // Fields without name leave bits out.
        let count = field.names.len().max(1);
        for i in 0..count {
            let end = bitset.width.saturating_add(width);
            if end > 64 {
                self.sink.error(field.span, "a bitset has at most 64 bits");
                return;
            }
            if let Some(name) = field.names.get(i) {
                if inherited.contains(&name.name.to_ascii_lowercase()) {
                    self.sink.error(name.span, format!("`{}` is a field of the base already", name.name));
                } else {
                    self.declare(name, Def::Member);
                }
                if let Some(holder) = &holder {
                    bitset.fields.push(BitField {
                        name: name.name.to_string(),
                        docs: field.docs.clone(),
                        position: bitset.width,
                        width,
                        holder: holder.clone(),
                        annotations: applied.clone(),
                    });
                }
            }
            bitset.width = end;
        }
    }

    fn check_holder(&mut self, ty: &Type, width: Option<u16>, span: Span) -> bool {
        let resolved = self.model.resolve(ty);
        let bits = match resolved {
            Type::Boolean => Some(1),
            Type::Octet | Type::Int8 | Type::Uint8 => Some(8),
            Type::Int16 | Type::Uint16 => Some(16),
            Type::Int32 | Type::Uint32 => Some(32),
            Type::Int64 | Type::Uint64 => Some(64),
            _ => None,
        };
        let shown = self.show_type(ty);
        match (bits, width) {
            (None, _) => {
                self.sink
                    .error(span, format!("{shown} cannot hold a bit field"))
                    .hint("it is an integer, boolean or octet");
                false
            }
            (Some(bits), Some(width)) if width > bits => {
                self.sink.error(span, format!("{shown} has less than {width} bits"));
                false
            }
            _ => true,
        }
    }
}

/// The type of a bit field that does not say one.
pub(crate) fn default_holder(width: u16) -> Type {
    match width {
        0..=1 => Type::Boolean,
        2..=8 => Type::Octet,
        9..=16 => Type::Uint16,
        17..=32 => Type::Uint32,
        _ => Type::Uint64,
    }
}

/// The fields of a bitset with those of its bases, which come first.
pub(crate) fn bit_fields(model: &Model, id: TypeId) -> Vec<&BitField> {
    let (mut levels, mut next) = (Vec::new(), Some(id));
    while let Some(Kind::Bitset(bitset)) = next.and_then(|id| model.ty(id)).map(|ty| &ty.kind) {
        levels.push(bitset.fields.iter());
        next = bitset.base;
    }
    levels.into_iter().rev().flatten().collect()
}
