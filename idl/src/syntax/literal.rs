//! Values of literals (IDL 4.2 §7.2.6).

use crate::diagnostic::Sink;
use crate::source::Span;

/// A number as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Number {
    Integer(u64),
    Float(f64),
}

/// What is wrong with a literal.
type Problem = String;

/// The value of a number.
pub(crate) fn number(text: &str) -> Result<Number, Problem> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return radix(digits, 16, "a hexadecimal");
    }
    let is_integer = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_integer && text.len() > 1 && text.starts_with('0') {
        return radix(text, 8, "an octal");
    }
    if is_integer {
        return radix(text, 10, "a decimal");
    }
    if text.ends_with(['d', 'D']) {
        return Err("fixed-point numbers are not supported".to_owned());
    }
    let mantissa = text.split(['e', 'E']).next().unwrap_or("");
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let digits = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    match text.parse::<f64>() {
        Ok(value) if plain && digits && value.is_finite() => Ok(Number::Float(value)),
        Ok(_) if plain && digits => Err(format!("`{text}` is too large for a floating-point number")),
        _ => Err(format!("`{text}` is not a number")),
    }
}

fn radix(digits: &str, radix: u32, name: &str) -> Result<Number, Problem> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(format!("this is not {name} number"));
    }
    u64::from_str_radix(digits, radix)
        .map(Number::Integer)
        .map_err(|_| "this number has more than 64 bits".to_owned())
}

/// The inside of a literal: without `L` and quotes.
fn inside(text: &str) -> &str {
    let text = text.strip_prefix('L').unwrap_or(text);
    let mut chars = text.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// A character of a literal: from an escape it has exactly this value, otherwise it is text.
enum Unit {
    Text(char),
    Value(u32),
}

/// Reads one character or escape sequence from the front of `rest`.
fn unit(rest: &mut &str, wide: bool) -> Result<Option<Unit>, Problem> {
    let mut chars = rest.chars();
    let Some(c) = chars.next() else { return Ok(None) };
    if c != '\\' {
        *rest = chars.as_str();
        return Ok(Some(Unit::Text(c)));
    }
    let Some(escape) = chars.next() else { return Err("a backslash at the end of a literal".to_owned()) };
    let after = chars.as_str();
    let simple = match escape {
        'n' => Some(0x0a),
        't' => Some(0x09),
        'v' => Some(0x0b),
        'b' => Some(0x08),
        'r' => Some(0x0d),
        'f' => Some(0x0c),
        'a' => Some(0x07),
        '\\' | '?' | '\'' | '"' => Some(u32::from(escape)),
        _ => None,
    };
    if let Some(value) = simple {
        *rest = after;
        return Ok(Some(Unit::Value(value)));
    }
    let (digits_from, base, most) = match escape {
        '0'..='7' => (rest.get(1..).unwrap_or(""), 8, 3),
        'x' => (after, 16, 2),
        'u' if wide => (after, 16, 4),
        'u' => return Err("`\\u` is for wide characters and strings only".to_owned()),
        other => return Err(format!("unknown escape sequence `\\{other}`")),
    };
    let len = digits_from.chars().take(most).take_while(|c| c.is_digit(base)).count();
    let value = digits_from.get(..len).and_then(|digits| u32::from_str_radix(digits, base).ok());
    let Some(value) = value else { return Err(format!("`\\{escape}` needs hexadecimal digits")) };
    if value > 255 && escape != 'u' {
        return Err("an octal escape sequence is at most \\377".to_owned());
    }
    *rest = digits_from.get(len..).unwrap_or("");
    Ok(Some(Unit::Value(value)))
}

/// The value of a character literal.
pub(crate) fn character(text: &str) -> Result<(bool, u32), Problem> {
    let wide = text.starts_with('L');
    let mut rest = inside(text);
    let value = match unit(&mut rest, wide)? {
        None => return Err("an empty character literal".to_owned()),
        Some(Unit::Text(c)) => u32::from(c),
        Some(Unit::Value(value)) => value,
    };
    if !rest.is_empty() {
        return Err("a character literal has one character; strings are written with \"".to_owned());
    }
    let most = if wide { 0xffff } else { 0xff };
    if value > most {
        let kind = if wide { "wide character (16 bits)" } else { "character (8 bits)" };
        return Err(format!("this does not fit a {kind}"));
    }
    Ok((wide, value))
}

/// The octets of a string literal.
pub(crate) fn string(text: &str) -> Result<Vec<u8>, Problem> {
    let (mut rest, mut octets) = (inside(text), Vec::new());
    while let Some(unit) = unit(&mut rest, false)? {
        match unit {
            Unit::Text(c) => octets.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Unit::Value(value) => octets.push(u8::try_from(value).unwrap_or(0)),
        }
    }
    if octets.contains(&0) {
        return Err("a string contains no NUL".to_owned());
    }
    Ok(octets)
}

/// The UTF-16 units of a wide string literal.
pub(crate) fn wide_string(text: &str) -> Result<Vec<u16>, Problem> {
    let (mut rest, mut units) = (inside(text), Vec::new());
    while let Some(unit) = unit(&mut rest, true)? {
        match unit {
            Unit::Text(c) => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            Unit::Value(value) => units.push(u16::try_from(value).unwrap_or(0)),
        }
    }
    if units.contains(&0) {
        return Err("a string contains no NUL".to_owned());
    }
    Ok(units)
}

/// Reports a problem and goes on with a value that cannot cause others.
pub(crate) fn or_report<T: Default>(value: Result<T, Problem>, span: Span, sink: &mut Sink) -> T {
    value.unwrap_or_else(|problem| {
        sink.error(span, problem);
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, value) in [("0", 0), ("017", 15), ("0xFf", 255), ("18446744073709551615", u64::MAX)] {
            assert_eq!(number(text), Ok(Number::Integer(value)), "{text}");
        }
        for (text, value) in
            [("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0), ("089.5", 89.5), ("1.e+2", 100.0)]
        {
            assert_eq!(number(text), Ok(Number::Float(value)), "{text}");
        }
        for text in
            ["08", "0x", "0xg", "1.5d", "1e", "18446744073709551616", "1e999", "1.2.3", "1_000", "1f", "1u"]
        {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn characters() {
        for (text, wide, value) in [
            ("'a'", false, 97),
            (r"'\n'", false, 10),
            (r"'\377'", false, 255),
            (r"'\x4'", false, 4),
            (r"L'\u20ac'", true, 0x20ac),
            ("L'€'", true, 0x20ac),
            ("'é'", false, 0xe9),
            (r"'\''", false, 39),
            (r"'\0'", false, 0),
        ] {
            assert_eq!(character(text), Ok((wide, value)), "{text}");
        }
        for text in ["''", "'ab'", r"'\400'", r"'\u20ac'", "'€'", r"'\x'", r"'\q'", "L'𝄞'"] {
            assert!(character(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings() {
        assert_eq!(string(r#""a\x41b\101\n""#), Ok(b"aAbA\n".to_vec()));
        assert_eq!(string(r#""\xA""#), Ok(vec![10]));
        assert_eq!(string("\"é\\xff\""), Ok(vec![0xc3, 0xa9, 0xff]));
        assert_eq!(wide_string("L\"\\u20acx𝄞\""), Ok(vec![0x20ac, 0x78, 0xd834, 0xdd1e]));
        assert!(string(r#""a\0b""#).is_err());
        assert!(string(r#""\u20ac""#).is_err());
    }
}
