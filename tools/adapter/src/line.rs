//! A line of the protocol: a word, then `name=value` pairs; `%` and white space in values as `%25`, `%20`, `%0A`, ….

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// A command or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    word: String,
    pairs: Vec<(String, String)>,
}

impl Line {
    /// A line without values.
    #[must_use]
    pub fn new(word: &str) -> Self {
        Self { word: word.to_string(), pairs: Vec::new() }
    }

    /// The same line with one more value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.pairs.push((name.to_string(), value.to_string()));
        self
    }

    /// The first word.
    #[must_use]
    pub fn word(&self) -> &str {
        &self.word
    }

    /// A value as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A value that has to be there.
    ///
    /// # Errors
    /// It is missing or no such value.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name).with_context(|| format!("{}: {name} is missing", self.word))?;
        text.parse().ok().with_context(|| format!("{}: {name}={text} cannot be", self.word))
    }

    /// All values whose name begins so, without the beginning.
    #[must_use]
    pub fn under(&self, prefix: &str) -> Vec<(String, String)> {
        let strip =
            |(key, value): &(String, String)| Some((key.strip_prefix(prefix)?.to_string(), value.clone()));
        self.pairs.iter().filter_map(strip).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)?;
        for (name, value) in &self.pairs {
            write!(f, " {name}=")?;
            for c in value.chars() {
                if c.is_ascii_whitespace() || c == '%' {
                    write!(f, "%{:02X}", u32::from(c))?
                } else {
                    write!(f, "{c}")?
                }
            }
        }
        Ok(())
    }
}

impl FromStr for Line {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut words = text.split_ascii_whitespace();
        let mut line = Self::new(words.next().context("an empty line")?);
        for pair in words {
            let Some((name, value)) = pair.split_once('=') else { bail!("'{pair}' is not name=value") };
            line.pairs.push((name.to_string(), unescape(value)?));
        }
        Ok(line)
    }
}

fn unescape(value: &str) -> Result<String> {
    let mut parts = value.split('%');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let code = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(u8::is_ascii);
        let code = code.with_context(|| format!("'%{part}' is no escape"))?;
        text.push(char::from(code));
        text.push_str(part.get(2..).unwrap_or_default());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_adapter_line_parses_to_the_same() {
        let line = Line::new("open").with("topic", "a b%c\n").with("payload", 64).with("x.wait", "spin");
        let read: Line = line.to_string().parse().unwrap();
        assert_eq!(line.to_string(), "open topic=a%20b%25c%0A payload=64 x.wait=spin");
        assert_eq!(read, line);
        assert_eq!(read.get::<u32>("payload").unwrap(), 64);
        assert_eq!(read.under("x."), [("wait".to_string(), "spin".to_string())]);
    }

    #[test]
    fn malformed_adapter_lines_are_refused() {
        for text in ["", "open payload", "open a=%zz", "open a=%4", "open a=%ff", "open a=%é"] {
            assert!(text.parse::<Line>().is_err(), "{text:?}");
        }
        let line: Line = "ping count=many".parse().unwrap();
        assert_eq!(line.get::<u64>("count").unwrap_err().to_string(), "ping: count=many cannot be");
        assert_eq!(line.get::<u64>("size").unwrap_err().to_string(), "ping: size is missing");
    }
}
