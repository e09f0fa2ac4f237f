//! Values of members and constants, and how they compare.

use alloc::borrow::Cow;
use alloc::string::String;
use core::cmp::Ordering;

use dunlin_cdr::Scalar;

/// A value that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A boolean.
    Boolean(bool),
    /// An integer, an enumeration by value, or bits.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// A character.
    Character(u32),
    /// A string.
    Text(Cow<'a, str>),
}

impl Value<'_> {
    /// The value without borrowing.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Boolean(value) => Value::Boolean(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Float(value) => Value::Float(value),
            Self::Character(value) => Value::Character(value),
            Self::Text(text) => Value::Text(Cow::Owned(String::from(text))),
        }
    }

    /// How two values compare. `None` if one is NaN, or if they are of kinds that cannot be compared.
    #[must_use]
    pub fn compare(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
            (Self::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
            (Self::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Self::Integer(a), Value::Float(b)) => compare_mixed(*a, *b),
            (Self::Float(a), Value::Integer(b)) => compare_mixed(*b, *a).map(Ordering::reverse),
            (Self::Character(a), Value::Character(b)) => Some(a.cmp(b)),
            (Self::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            _ => None,
        }
    }

    /// A total order for sorting: NaN comes last.
    #[must_use]
    pub fn order(&self, other: &Value<'_>) -> Ordering {
        let nan = |value: &Value<'_>| matches!(value, Value::Float(f) if f.is_nan());
        self.compare(other).unwrap_or_else(|| nan(self).cmp(&nan(other)))
    }
}

impl<'a> From<Scalar<'a>> for Value<'a> {
    fn from(scalar: Scalar<'a>) -> Self {
        match scalar {
            Scalar::Boolean(value) => Self::Boolean(value),
            Scalar::Signed(value) => Self::Integer(value.into()),
            Scalar::Unsigned(value) => Self::Integer(value.into()),
            Scalar::Float(value) => Self::Float(value),
            Scalar::Character(unit) => Self::Character(unit.into()),
            Scalar::Text(text) => Self::Text(Cow::Borrowed(text)),
            Scalar::WideText(text) => Self::Text(Cow::Owned(text)),
        }
    }
}

/// Compares an integer of at most 65 bits with a float, exactly.
fn compare_mixed(integer: i128, float: f64) -> Option<Ordering> {
    /// Beyond every integer; a power of two, so exact.
    const BEYOND: f64 = 73_786_976_294_838_206_464.0;
    if float.is_nan() {
        return None;
    }
    if float >= BEYOND {
        return Some(Ordering::Less);
    }
    if float <= -BEYOND {
        return Some(Ordering::Greater);
    }
    // The whole part is exact in this range; what it cuts off decides between equal ones.
    let whole = float as i128;
    let rest = float - whole as f64;
    Some(integer.cmp(&whole).then_with(|| 0.0_f64.partial_cmp(&rest).unwrap_or(Ordering::Equal)))
}

#[cfg(test)]
mod tests {
    use Ordering::{Equal, Greater, Less};

    use super::*;

    #[test]
    fn integers_are_not_rounded() {
        let max = i128::from(u64::MAX);
        for (integer, float, expected) in [
            (max, 18_446_744_073_709_551_616.0, Less),
            ((1 << 53) + 1, 9_007_199_254_740_992.0, Greater),
            (1 << 53, 9_007_199_254_740_992.0, Equal),
            (i64::MIN.into(), -9_223_372_036_854_775_808.0, Equal),
            (i128::from(i64::MIN) + 1, -9_223_372_036_854_775_808.0, Greater),
            (2, 2.5, Less),
            (3, 2.5, Greater),
            (-2, -2.5, Greater),
            (-3, -2.5, Less),
            (0, -0.0, Equal),
            (max, f64::INFINITY, Less),
            (max, f64::NEG_INFINITY, Greater),
            (0, f64::MIN_POSITIVE, Less),
        ] {
            let (a, b) = (Value::Integer(integer), Value::Float(float));
            assert_eq!(
                (a.compare(&b), b.compare(&a)),
                (Some(expected), Some(expected.reverse())),
                "{a:?} {b:?}"
            );
        }
        assert_eq!(Value::Integer(0).compare(&Value::Float(f64::NAN)), None);
        assert_eq!(Value::Boolean(true).compare(&Value::Integer(1)), None);
    }

    #[test]
    fn sorting_puts_nan_last() {
        let nan = Value::Float(f64::NAN);
        assert_eq!((nan.order(&Value::Integer(1)), Value::Float(1.0).order(&nan)), (Greater, Less));
        assert_eq!(nan.order(&nan), Equal);
        assert_eq!(Value::Text("Z".into()).order(&Value::Text("a".into())), Less);
    }
}
