//! Constant expressions (IDL 4.2 §7.4.1.4.3): exact integers, checked against the type in the end.

use super::Checker;
use super::scope::Def;
use crate::ir::{Kind, Type, TypeId, Value};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, ScopedName};
use crate::syntax::token::cost_of_text;

/// What the place expects: decides about `~`, and about literals without scope.
#[derive(Clone, Copy)]
struct Want {
    named: Option<TypeId>,
    /// Bits of an unsigned type.
    unsigned: Option<u32>,
}

/// The least and the greatest value of an integer type.
pub(crate) fn integer_range(ty: &Type) -> Option<(i128, i128)> {
    Some(match ty {
        Type::Octet | Type::Uint8 => (0, u8::MAX.into()),
        Type::Int8 => (i8::MIN.into(), i8::MAX.into()),
        Type::Int16 => (i16::MIN.into(), i16::MAX.into()),
        Type::Uint16 => (0, u16::MAX.into()),
        Type::Int32 => (i32::MIN.into(), i32::MAX.into()),
        Type::Uint32 => (0, u32::MAX.into()),
        Type::Int64 => (i64::MIN.into(), i64::MAX.into()),
        Type::Uint64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// Greatest magnitude on the way to a value.
const LARGEST: u128 = 1 << 64;

impl Checker<'_> {
    /// The value of an expression as a value of this type.
    pub(super) fn evaluate(&mut self, expr: &Expr, ty: &Type) -> Option<Value> {
        let ty = self.model.resolve(ty).clone();
        let named = if let Type::Named(id) = ty { Some(id) } else { None };
        let unsigned = match integer_range(&ty) {
            Some((0, max)) => Some(128u32.saturating_sub(max.leading_zeros())),
            _ => None,
        };
        let value = self.value(expr, Want { named, unsigned })?;
        self.convert(value, &ty, expr.span)
    }

    /// A positive integer of at most 32 bits: a bound or the size of an array.
    pub(super) fn size(&mut self, expr: &Expr, what: &str) -> Option<u32> {
        let value = self.value(expr, Want { named: None, unsigned: Some(32) })?;
        match value {
            Value::Int(0) => {
                self.sink.error(expr.span, format!("{what} is at least 1"));
                None
            }
            Value::Int(n) => {
                let size = u32::try_from(n).ok();
                if size.is_none() {
                    self.sink.error(expr.span, format!("{what} is 1 to 4294967295, not {n}"));
                }
                size
            }
            other => {
                let shown = self.describe(&other);
                self.sink.error(expr.span, format!("{what} is an integer, not {shown}"));
                None
            }
        }
    }

    /// The value of an expression that may have any type.
    pub(super) fn any_value(&mut self, expr: &Expr) -> Option<Value> {
        self.value(expr, Want { named: None, unsigned: None })
    }

    /// An integer within a range.
    pub(super) fn integer(&mut self, expr: &Expr, what: &str, min: i128, max: i128) -> Option<i128> {
        let unsigned = (min >= 0).then(|| 128u32.saturating_sub(max.leading_zeros()));
        match self.value(expr, Want { named: None, unsigned })? {
            Value::Int(n) if (min..=max).contains(&n) => Some(n),
            other => {
                let shown = self.describe(&other);
                self.sink.error(expr.span, format!("{what} is an integer from {min} to {max}, not {shown}"));
                None
            }
        }
    }

    fn value(&mut self, expr: &Expr, want: Want) -> Option<Value> {
        let text = match &expr.kind {
            ExprKind::Str(text) => text.len(),
            ExprKind::WideStr(text) => text.len().saturating_mul(2),
            _ => 0,
        };
        if !self.pay(cost_of_text(text).saturating_add(1), expr.span) {
            return None;
        }
        Some(match &expr.kind {
            ExprKind::Integer(n) => Value::Int(i128::from(*n)),
            ExprKind::Float(x) => Value::Float(*x),
            ExprKind::Char(c) => Value::Char(*c),
            ExprKind::WideChar(c) => Value::WideChar(*c),
            ExprKind::Str(text) => Value::Str(text.clone()),
            ExprKind::WideStr(text) => Value::WideStr(text.clone()),
            ExprKind::Bool(b) => Value::Bool(*b),
            ExprKind::Name(name) => return self.named_value(name, want),
            ExprKind::Unary(operator, inner) => {
                let value = self.value(inner, want)?;
                return self.unary(*operator, value, want, expr.span);
            }
            ExprKind::Binary(operator, left, right) => {
                // Both sides are looked at, so that both are reported.
                let (left, right) = (self.value(left, want), self.value(right, want));
                return self.binary(*operator, left?, right?, want, expr.span);
            }
        })
    }

    fn named_value(&mut self, name: &ScopedName, want: Want) -> Option<Value> {
        if let (Some(single), Some(id)) = (name.single(), want.named)
            && let Some(value) = self.literal_of(id, single)
        {
            return Some(value);
        }
        match self.resolve(name)? {
            Def::Const(id) => {
                let cost = self.model.constant(id).map_or(0, |constant| cost_of_value(&constant.value));
                self.pay(cost, name.span).then(|| self.model.constant(id))?.map(|it| it.value.clone())
            }
            Def::Literal(ty, index) => Some(Value::Enum(ty, index)),
            Def::Bit(ty, index) => self.bit(ty, index),
            other => {
                self.sink.error(name.span, format!("`{}` is {}, not a constant", name.text(), other.what()));
                None
            }
        }
    }

    fn bit(&self, ty: TypeId, index: usize) -> Option<Value> {
        let Kind::Bitmask(mask) = &self.model.ty(ty)?.kind else { return None };
        let bit = mask.bits.get(index)?;
        Some(Value::Bits(ty, 1u64.checked_shl(bit.position.into())?))
    }

    /// A literal or bit of this type by its bare name.
    fn literal_of(&self, id: TypeId, name: &str) -> Option<Value> {
        match self.own_name(id, name)? {
            Def::Literal(ty, index) => Some(Value::Enum(ty, index)),
            Def::Bit(ty, index) => self.bit(ty, index),
            _ => None,
        }
    }

    fn unary(&mut self, operator: char, value: Value, want: Want, span: Span) -> Option<Value> {
        Some(match (operator, value) {
            ('+', value @ (Value::Int(_) | Value::Float(_))) => value,
            ('-', Value::Int(n)) => Value::Int(n.saturating_neg()),
            ('-', Value::Float(x)) => Value::Float(-x),
            ('~', Value::Int(n)) => match want.unsigned {
                Some(bits) => Value::Int(!n & mask(bits)),
                None => Value::Int(!n),
            },
            ('~', Value::Bits(id, bits)) => Value::Bits(id, !bits & self.bits_of(id)),
            (_, value) => {
                let shown = self.describe(&value);
                self.sink.error(span, format!("`{operator}` does not apply to {shown}"));
                return None;
            }
        })
    }

    /// All bits of a bitmask.
    fn bits_of(&self, id: TypeId) -> u64 {
        match self.model.ty(id).map(|ty| &ty.kind) {
            Some(Kind::Bitmask(bitmask)) => u64::try_from(mask(bitmask.bit_bound.into())).unwrap_or(u64::MAX),
            _ => u64::MAX,
        }
    }

    fn binary(&mut self, operator: char, left: Value, right: Value, want: Want, span: Span) -> Option<Value> {
        let result = match (&left, &right) {
            (Value::Int(a), Value::Int(b)) => {
                integer_operation(operator, *a, *b, want.unsigned).map(Value::Int)
            }
            (Value::Float(a), Value::Float(b)) => float_operation(operator, *a, *b).map(Value::Float),
            (Value::Bits(x, a), Value::Bits(y, b)) if x == y => match operator {
                '|' => Ok(Value::Bits(*x, a | b)),
                '&' => Ok(Value::Bits(*x, a & b)),
                '^' => Ok(Value::Bits(*x, a ^ b)),
                _ => Err("only `|`, `&` and `^` apply to bits".to_owned()),
            },
            (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)) => {
                Err("integers and floating-point numbers do not mix in IDL".to_owned())
            }
            _ => {
                let shown = match operator {
                    '<' | '>' => format!("{operator}{operator}"),
                    _ => operator.to_string(),
                };
                Err(format!(
                    "`{shown}` does not apply to {} and {}",
                    self.describe(&left),
                    self.describe(&right)
                ))
            }
        };
        match result {
            Ok(value) => Some(value),
            Err(problem) => {
                self.sink.error(span, problem);
                None
            }
        }
    }

    fn convert(&mut self, value: Value, ty: &Type, span: Span) -> Option<Value> {
        if let (Some((min, max)), Value::Int(n)) = (integer_range(ty), &value) {
            if (min..=max).contains(n) {
                return Some(value);
            }
            let shown = self.show_type(ty);
            self.sink.error(span, format!("{n} is not a value of {shown} ({min} to {max})"));
            return None;
        }
        let value = match (ty, value) {
            (Type::Boolean, value @ Value::Bool(_))
            | (Type::Char, value @ Value::Char(_))
            | (Type::WideChar, value @ Value::WideChar(_)) => value,
            // Narrow characters and literals are wide ones too.
            (Type::WideChar, Value::Char(c)) => Value::WideChar(c.into()),
            (Type::Float | Type::Double | Type::LongDouble, value) => {
                return self.convert_float(value, ty, span);
            }
            (Type::String { bound }, Value::Str(text)) => {
                return self.fits(text.len(), *bound, span).then_some(Value::Str(text));
            }
            (Type::WideString { bound }, Value::WideStr(text)) => {
                return self.fits(text.len(), *bound, span).then_some(Value::WideStr(text));
            }
            (Type::Named(id), value @ (Value::Enum(other, _) | Value::Bits(other, _))) if *id == other => {
                value
            }
            // A number is accepted for a bitmask, as masks are often written so.
            (Type::Named(id), Value::Int(n)) if self.is_bitmask(*id) => match u64::try_from(n) {
                Ok(bits) if bits & !self.bits_of(*id) == 0 => Value::Bits(*id, bits),
                _ => {
                    self.sink.error(span, format!("{n} has more bits than the bitmask"));
                    return None;
                }
            },
            (ty, value) => {
                let (shown, wanted) = (self.describe(&value), self.show_type(ty));
                self.sink.error(span, format!("expected a value of {wanted}, found {shown}"));
                return None;
            }
        };
        Some(value)
    }

    fn convert_float(&mut self, value: Value, ty: &Type, span: Span) -> Option<Value> {
        let x = match value {
            Value::Float(x) => x,
            // An integer literal is accepted where a floating-point number is expected.
            Value::Int(n) => n as f64,
            other => {
                let (shown, wanted) = (self.describe(&other), self.show_type(ty));
                self.sink.error(span, format!("expected a value of {wanted}, found {shown}"));
                return None;
            }
        };
        if *ty == Type::Float && x.abs() > f64::from(f32::MAX) {
            self.sink.error(span, format!("{x:e} is too large for `float`"));
            return None;
        }
        Some(Value::Float(x))
    }

    fn fits(&mut self, len: usize, bound: Option<u32>, span: Span) -> bool {
        let Some(bound) = bound.filter(|bound| len > crate::source::usize_of(*bound)) else { return true };
        self.sink.error(span, format!("this string has {len} characters, the bound is {bound}"));
        false
    }

    fn is_bitmask(&self, id: TypeId) -> bool {
        matches!(self.model.ty(id).map(|ty| &ty.kind), Some(Kind::Bitmask(_)))
    }

    /// A value as messages name it.
    pub(super) fn describe(&self, value: &Value) -> String {
        match value {
            Value::Bool(b) => format!("the boolean {}", if *b { "TRUE" } else { "FALSE" }),
            Value::Int(n) => n.to_string(),
            Value::Float(x) => format!("the floating-point number {x:?}"),
            Value::Char(_) => "a character".to_owned(),
            Value::WideChar(_) => "a wide character".to_owned(),
            Value::Str(_) => "a string".to_owned(),
            Value::WideStr(_) => "a wide string".to_owned(),
            Value::Enum(id, _) | Value::Bits(id, _) => {
                format!("a value of `{}`", self.model.ty(*id).map_or("", |ty| &ty.full_name))
            }
        }
    }

    pub(super) fn show_type(&self, ty: &Type) -> String {
        format!("`{}`", crate::dump::type_text(&self.model, ty))
    }
}

/// How much it takes to copy a value, in tokens.
pub(super) fn cost_of_value(value: &Value) -> usize {
    match value {
        Value::Str(text) => cost_of_text(text.len()),
        Value::WideStr(text) => cost_of_text(text.len().saturating_mul(2)),
        _ => 0,
    }
}

/// The lowest bits.
fn mask(bits: u32) -> i128 {
    1i128.checked_shl(bits).unwrap_or(0).saturating_sub(1)
}

fn integer_operation(operator: char, a: i128, b: i128, unsigned: Option<u32>) -> Result<i128, String> {
    let shift = || match u32::try_from(b) {
        Ok(b) if b < 64 => Ok(b),
        _ => Err(format!("a shift is by 0 to 63 bits, not {b}")),
    };
    let result = match operator {
        '|' => Some(a | b),
        '^' => Some(a ^ b),
        '&' => Some(a & b),
        '<' => a.checked_mul(1i128.checked_shl(shift()?).unwrap_or(0)),
        // Zeros come in from the left.
        '>' if a < 0 => (a & mask(unsigned.unwrap_or(64))).checked_shr(shift()?),
        '>' => a.checked_shr(shift()?),
        '+' => a.checked_add(b),
        '-' => a.checked_sub(b),
        '*' => a.checked_mul(b),
        _ if b == 0 => return Err("division by zero".to_owned()),
        '/' => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    let result = result.filter(|n| n.unsigned_abs() <= LARGEST);
    result.ok_or_else(|| "the value has more than 64 bits here".to_owned())
}

fn float_operation(operator: char, a: f64, b: f64) -> Result<f64, String> {
    let result = match operator {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' if b == 0.0 => return Err("division by zero".to_owned()),
        '/' => a / b,
        '<' | '>' => return Err("shifts do not apply to floating-point numbers".to_owned()),
        _ => return Err(format!("`{operator}` does not apply to floating-point numbers")),
    };
    if result.is_finite() {
        Ok(result)
    } else {
        Err("the value is too large for a floating-point number".to_owned())
    }
}
