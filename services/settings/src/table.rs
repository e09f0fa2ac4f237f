//! A table of TOML whose keys are taken one by one; what nobody takes is unknown.

use dunlin::Duration;
use dunlin::config::{nearest, parse_duration};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::pattern::{Names, Pattern};
use crate::{ConfigError, Problem};

/// Most problems reported together.
const MAX_PROBLEMS: usize = 20;

/// Where a text stands, and what is wrong with it so far.
pub struct Report<'t> {
    file: &'t str,
    text: &'t str,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

impl<'t> Report<'t> {
    /// Of a text, which messages call `file`.
    #[must_use]
    pub const fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, text, problems: Vec::new() }
    }

    /// Adds a problem at an offset of the text.
    pub fn add(&mut self, offset: usize, text: impl Into<String>) {
        let before = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        let line = before.iter().filter(|octet| **octet == b'\n').count() + 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { file: self.file.to_owned(), line, text: text.into() });
        }
    }
}

/// A table that is being read.
pub struct Table<'t> {
    /// What messages call it.
    name: String,
    /// Where it stands.
    pub at: usize,
    values: DeTable<'t>,
    known: Vec<&'static str>,
}

/// A value with its place.
type Found<'t> = (usize, DeValue<'t>);

impl<'t> Table<'t> {
    /// A table that messages call `name` and that begins at an offset.
    pub fn new(name: impl Into<String>, at: usize, values: DeTable<'t>) -> Self {
        Self { name: name.into(), at, values, known: Vec::new() }
    }

    fn take(&mut self, key: &'static str) -> Option<Found<'t>> {
        self.known.push(key);
        let value = self.values.remove(key)?;
        Some((value.span().start, value.into_inner()))
    }

    fn refuse(&self, report: &mut Report<'_>, at: usize, key: &str, value: &DeValue<'_>, expected: &str) {
        report.add(at, format!("{}.{key} = {}: expected {expected}", self.name, shown(value)));
    }

    /// A text.
    pub fn text(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<(usize, String)> {
        match self.take(key)? {
            (at, DeValue::String(text)) => Some((at, text.into_owned())),
            (at, other) => {
                self.refuse(report, at, key, &other, "a text");
                None
            }
        }
    }

    /// A text that has to be there.
    pub fn required(&mut self, key: &'static str, report: &mut Report<'_>) -> (usize, String) {
        let missing = !self.values.contains_key(key);
        let found = self.text(key, report);
        if missing {
            report.add(self.at, format!("{} needs {key} = \"…\"", self.name));
        }
        found.unwrap_or((self.at, String::new()))
    }

    /// A text, or a list of texts.
    pub fn texts(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<Vec<(usize, String)>> {
        let (at, value) = self.take(key)?;
        match value {
            DeValue::String(text) => Some(vec![(at, text.into_owned())]),
            DeValue::Array(items) => {
                let mut texts = Vec::new();
                for item in items {
                    let at = item.span().start;
                    match item.into_inner() {
                        DeValue::String(text) => texts.push((at, text.into_owned())),
                        other => self.refuse(report, at, key, &other, "a text, or a list of texts"),
                    }
                }
                Some(texts)
            }
            other => {
                self.refuse(report, at, key, &other, "a text, or a list of texts");
                None
            }
        }
    }

    /// A whole number within limits.
    pub fn number(
        &mut self,
        key: &'static str,
        (least, most): (u32, u32),
        report: &mut Report<'_>,
    ) -> Option<u32> {
        let (at, value) = self.take(key)?;
        let number = match &value {
            DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.refuse(report, at, key, &value, &format!("a whole number from {least} to {most}"));
        }
        number
    }

    /// true or false.
    pub fn flag(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<bool> {
        match self.take(key)? {
            (_, DeValue::Boolean(flag)) => Some(flag),
            (at, other) => {
                self.refuse(report, at, key, &other, "true or false");
                None
            }
        }
    }

    /// A time with its unit.
    pub fn duration(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<Duration> {
        let (at, value) = self.take(key)?;
        let found = match &value {
            DeValue::String(text) => parse_duration(text).filter(|time| !time.is_infinite()),
            _ => None,
        };
        if found.is_none() {
            self.refuse(report, at, key, &value, "a time with its unit, such as \"100ms\" or \"10s\"");
        }
        found
    }

    /// A table inside, by its name.
    pub fn table(&mut self, key: &'static str, report: &mut Report<'_>) -> Option<Table<'t>> {
        match self.take(key)? {
            (at, DeValue::Table(values)) => Some(Table::new(key, at, values)),
            (at, other) => {
                self.refuse(report, at, key, &other, &format!("a section, [{key}]"));
                None
            }
        }
    }

    /// Tables with names of their own.
    pub fn named_tables(&mut self, key: &'static str, report: &mut Report<'_>) -> Vec<(String, Table<'t>)> {
        let Some(outer) = self.table(key, report) else { return Vec::new() };
        let mut tables = Vec::new();
        for (name, value) in outer.values {
            let at = name.span().start;
            let name = name.into_inner().into_owned();
            match value.into_inner() {
                DeValue::Table(values) => {
                    tables.push((name.clone(), Table::new(format!("{key}.{name}"), at, values)));
                }
                other => report.add(
                    at,
                    format!("{key}.{name:.100} = {}: expected a section, [{key}.NAME]", shown(&other)),
                ),
            }
        }
        tables
    }

    /// A list of tables, `[[key]]`.
    pub fn tables(&mut self, key: &'static str, report: &mut Report<'_>) -> Vec<Table<'t>> {
        let Some((at, value)) = self.take(key) else { return Vec::new() };
        let DeValue::Array(items) = value else {
            self.refuse(report, at, key, &value, &format!("sections, [[{key}]]"));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items {
            let at = item.span().start;
            match item.into_inner() {
                DeValue::Table(values) => tables.push(Table::new(key, at, values)),
                other => self.refuse(report, at, key, &other, &format!("sections, [[{key}]]")),
            }
        }
        tables
    }

    /// Patterns that allow and patterns that deny.
    pub fn names(&mut self, (allow, deny): (&'static str, &'static str), report: &mut Report<'_>) -> Names {
        let mut patterns = |key| {
            let texts = self.texts(key, report)?;
            let mut patterns = Vec::new();
            for (at, text) in texts {
                // The default partition has no name.
                let found = if text.is_empty() {
                    Err("a pattern has 1 to 255 bytes; * fits the empty name".into())
                } else {
                    Pattern::new(&text)
                };
                match found {
                    Ok(pattern) => patterns.push(pattern),
                    Err(error) => report.add(at, format!("{key} = \"{text:.100}\": {error}")),
                }
            }
            Some(patterns)
        };
        let allow = patterns(allow).unwrap_or_else(|| vec![Pattern::any()]);
        Names { allow, deny: patterns(deny).unwrap_or_default() }
    }

    /// Reads a text as a table, with all that is wrong with it (up to twenty problems).
    ///
    /// # Errors
    /// What `read` has reported, or that the text is not TOML.
    pub fn read<T>(
        file: &str,
        text: &'t str,
        read: impl FnOnce(Self, &mut Report<'_>) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let mut report = Report::new(file, text);
        let config = match DeTable::parse(text) {
            Ok(table) => read(Table::new("", 0, table.into_inner()), &mut report),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                report.add(at, format!("not valid TOML: {}", error.message()));
                None
            }
        };
        match config.filter(|_| report.problems.is_empty()) {
            Some(config) => Ok(config),
            None => Err(ConfigError(report.problems)),
        }
    }

    /// Reports the keys that nobody has taken.
    pub fn end(self, report: &mut Report<'_>) {
        for key in self.values.keys() {
            let name: &str = key.get_ref();
            let meant = nearest(name, self.known.iter().copied());
            let hint = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            let hint =
                if hint.is_empty() { format!(": the keys are {}", self.known.join(", ")) } else { hint };
            let place = if self.name.is_empty() { String::new() } else { format!("{}.", self.name) };
            report.add(Spanned::span(key).start, format!("there is no key {place}{name:.100}{hint}"));
        }
    }
}

/// A value for a message.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:.80?}"),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Array(_) => "[…]".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        _ => "a number or date".to_owned(),
    }
}
