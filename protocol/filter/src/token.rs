//! The words of the language (DDS 1.4 Annex B, "Token expression").

use alloc::string::{String, ToString};

use crate::error::{FilterError, Reason};

/// One word, and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) at: usize,
    pub(crate) kind: TokenKind<'a>,
    /// As it was written.
    pub(crate) text: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind<'a> {
    /// An identifier or keyword.
    Word(&'a str),
    Integer(i128),
    Float(f64),
    /// A text in quotes.
    Text(String),
    /// `%n`.
    Parameter(usize),
    /// One of `. [ ] ( ) , * ; = <> != < <= > >=`.
    Symbol(&'a str),
    End,
}

/// Splits an expression into tokens.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    source: &'a str,
    at: usize,
    /// Hyphens belong to words: in names of topics.
    pub(crate) hyphens: bool,
}

/// Two characters come before one.
const SYMBOLS: [&str; 15] = ["<>", "!=", "<=", ">=", "=", "<", ">", ".", "[", "]", "(", ")", ",", "*", ";"];

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, at: 0, hyphens: false }
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or("")
    }

    /// The rest of the source, for whoever parses it.
    pub(crate) fn remainder(&self) -> (usize, &'a str) {
        (self.at, self.rest())
    }

    fn advance(&mut self, octets: usize) -> &'a str {
        let taken = self.rest().get(..octets).unwrap_or("");
        self.at = self.at.saturating_add(taken.len());
        taken
    }

    fn advance_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        self.advance(rest.find(|c| !belongs(c)).unwrap_or(rest.len()))
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, FilterError> {
        self.advance_while(char::is_whitespace);
        let at = self.at;
        let Some(first) = self.rest().chars().next() else {
            return Ok(Token { at, kind: TokenKind::End, text: "" });
        };
        let kind = match first {
            '\'' | '`' => self.text()?,
            '%' => self.parameter()?,
            '0'..='9' => self.number()?,
            '+' | '-' => self.number()?,
            '.' if self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => self.number()?,
            '_' => self.word(),
            c if c.is_alphabetic() => self.word(),
            _ => self.symbol()?,
        };
        let text = self.source.get(at..self.at).unwrap_or("");
        Ok(Token { at, kind, text })
    }

    fn word(&mut self) -> TokenKind<'a> {
        let hyphens = self.hyphens;
        TokenKind::Word(
            self.advance_while(|c| c.is_alphanumeric() || c == '_' || (hyphens && (c == '-' || c == '/'))),
        )
    }

    fn symbol(&mut self) -> Result<TokenKind<'a>, FilterError> {
        let rest = self.rest();
        match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => Ok(TokenKind::Symbol(self.advance(symbol.len()))),
            None => {
                let found = rest.chars().next().map(|c| alloc::format!("`{c}`")).unwrap_or_default();
                Err(FilterError::at(
                    self.at,
                    Reason::Unexpected { expected: "a field, a value or an operator", found },
                ))
            }
        }
    }

    /// A text: up to the next quote that is not doubled.
    fn text(&mut self) -> Result<TokenKind<'a>, FilterError> {
        let start = self.at;
        self.advance(1);
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let Some(quote) = rest.find('\'') else { return Err(FilterError::at(start, Reason::OpenText)) };
            text.push_str(self.advance(quote));
            self.advance(1);
            if !self.rest().starts_with('\'') {
                return Ok(TokenKind::Text(text));
            }
            text.push_str(self.advance(1));
        }
    }

    fn parameter(&mut self) -> Result<TokenKind<'a>, FilterError> {
        let start = self.at;
        self.advance(1);
        let digits = self.advance_while(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(index) if digits.len() <= 2 => Ok(TokenKind::Parameter(index)),
            _ => {
                let found = alloc::format!("`%{digits}`");
                Err(FilterError::at(start, Reason::Unexpected { expected: "a parameter %0 to %99", found }))
            }
        }
    }

    fn number(&mut self) -> Result<TokenKind<'a>, FilterError> {
        let start = self.at;
        let sign = if self.rest().starts_with(['+', '-']) { self.advance(1) } else { "" };
        let bad = |text: &str| FilterError::at(start, Reason::BadNumber(text.to_string()));
        let hexadecimal = self.rest().get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
        if hexadecimal {
            self.advance(2);
            let digits = self.advance_while(char::is_alphanumeric);
            let whole = self.source.get(start..self.at).unwrap_or(digits);
            let value = i128::from_str_radix(digits, 16).map_err(|_| bad(whole))?;
            return integer(value, sign == "-").ok_or_else(|| bad(whole));
        }
        let digits = self.advance_while(|c| c.is_ascii_digit());
        let mut float = false;
        if self.rest().starts_with('.') {
            float = true;
            self.advance(1);
            self.advance_while(|c| c.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            float = true;
            self.advance(1);
            if self.rest().starts_with(['+', '-']) {
                self.advance(1);
            }
            self.advance_while(|c| c.is_ascii_digit());
        }
        let tail = self.advance_while(|c| c.is_alphanumeric() || c == '_');
        let whole = self.source.get(start..self.at).unwrap_or(digits);
        if !tail.is_empty() {
            return Err(bad(whole));
        }
        if !float {
            let value = digits.parse().map_err(|_| bad(whole))?;
            return integer(value, sign == "-").ok_or_else(|| bad(whole));
        }
        match whole.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(TokenKind::Float(value)),
            _ => Err(bad(whole)),
        }
    }
}

/// An integer that some type can hold.
fn integer<'a>(magnitude: i128, negative: bool) -> Option<TokenKind<'a>> {
    let value = if negative { magnitude.checked_neg()? } else { magnitude };
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    range.contains(&value).then_some(TokenKind::Integer(value))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn kinds(source: &str) -> Result<Vec<TokenKind<'_>>, FilterError> {
        let mut lexer = Lexer::new(source);
        let mut kinds = Vec::new();
        loop {
            match lexer.next()?.kind {
                TokenKind::End => return Ok(kinds),
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn values() {
        use TokenKind::{Float, Integer, Parameter, Text};
        assert_eq!(
            kinds("1 -2 +3 0x1F -0X10 1.5 -.5 2. 1e3 1E-2 18446744073709551615 -9223372036854775808")
                .unwrap(),
            [
                Integer(1),
                Integer(-2),
                Integer(3),
                Integer(31),
                Integer(-16),
                Float(1.5),
                Float(-0.5),
                Float(2.0),
                Float(1000.0),
                Float(0.01),
                Integer(u64::MAX.into()),
                Integer(i64::MIN.into()),
            ]
        );
        assert_eq!(
            kinds("'a' `b' 'it''s' '' %0 %99").unwrap(),
            [
                Text("a".into()),
                Text("b".into()),
                Text("it's".into()),
                Text("".into()),
                Parameter(0),
                Parameter(99)
            ]
        );
        for bad in ["18446744073709551616", "-9223372036854775809", "0x", "0xg", "12ab", "1e", "-", "1e999"] {
            assert!(matches!(kinds(bad).unwrap_err().reason, Reason::BadNumber(_)), "{bad}");
        }
        assert_eq!(kinds("a 'b").unwrap_err(), FilterError::at(2, Reason::OpenText));
        for bad in ["%", "%100", "%x", "#", "a ! b"] {
            assert!(matches!(kinds(bad).unwrap_err().reason, Reason::Unexpected { .. }), "{bad}");
        }
    }

    #[test]
    fn words_and_symbols() {
        use TokenKind::{Symbol, Word};
        assert_eq!(
            kinds("a.b_1<=x<>_y").unwrap(),
            [Word("a"), Symbol("."), Word("b_1"), Symbol("<="), Word("x"), Symbol("<>"), Word("_y")]
        );
        let mut lexer = Lexer::new("my-topic;");
        lexer.hyphens = true;
        assert_eq!(lexer.next().unwrap().text, "my-topic");
        assert_eq!(lexer.remainder(), (8, ";"));
    }
}
