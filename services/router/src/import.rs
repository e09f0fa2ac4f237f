//! Configurations of other routers, as far as they say the same.

mod dds_router;
mod rti;

use std::fmt;
use std::fmt::Write;

/// A configuration made of another router's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// Whose it was.
    pub dialect: &'static str,
    /// The configuration.
    pub toml: String,
    /// What is not in it.
    pub left_out: Vec<LeftOut>,
}

/// Something that could not be carried over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// Counted from 1.
    pub line: usize,
    /// What, and why.
    pub text: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// The text is no configuration that can be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ImportError(pub String);

impl Import {
    /// From the XML of RTI Routing Service, or the YAML of DDS Router.
    ///
    /// # Errors
    /// When it is neither, or names no participants.
    pub fn from_text(text: &str) -> Result<Self, ImportError> {
        if text.trim_start().starts_with('<') { rti::import(text) } else { dds_router::import(text) }
    }
}

/// A route on its way to TOML.
#[derive(Default)]
struct Draft {
    name: String,
    from: String,
    to: Vec<String>,
    topics: Vec<String>,
    deny_topics: Vec<String>,
    types: Vec<String>,
    deny_types: Vec<String>,
    rename_topic: Option<String>,
    rename_type: Option<String>,
    filter: Option<String>,
    at_most: Option<String>,
    one_of: Option<u32>,
    both: bool,
}

/// Text as a value of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control.is_control() => _ = write!(out, "\\u{:04x}", u32::from(control)),
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

impl Draft {
    fn print(&self, out: &mut String) {
        let mut line = |key: &str, value: String| _ = writeln!(out, "{key} = {value}");
        line("\n[[route]]\nname", quoted(&self.name));
        line("from", quoted(&self.from));
        line("to", list(&self.to));
        for (key, texts) in [
            ("topics", &self.topics),
            ("deny_topics", &self.deny_topics),
            ("types", &self.types),
            ("deny_types", &self.deny_types),
        ] {
            if !texts.is_empty() {
                line(key, list(texts));
            }
        }
        for (key, text) in [
            ("rename_topic", &self.rename_topic),
            ("rename_type", &self.rename_type),
            ("filter", &self.filter),
            ("at_most", &self.at_most),
        ] {
            if let Some(text) = text {
                line(key, quoted(text));
            }
        }
        if let Some(one_of) = self.one_of.filter(|one_of| *one_of > 1) {
            line("one_of", one_of.to_string());
        }
        if self.both {
            line("create", quoted("both"));
        }
    }
}

/// The whole file.
fn print(name: &str, participants: &[(String, u32)], routes: &[Draft]) -> String {
    let name: String = name.chars().filter(|letter| *letter != '/').take(60).collect();
    let mut out = format!("name = {}\n", quoted(if name.is_empty() { "router" } else { &name }));
    for (name, domain) in participants {
        _ = writeln!(out, "\n[participant.{}]\ndomain = {domain}", quoted(name));
    }
    routes.iter().for_each(|route| route.print(&mut out));
    out
}

/// A name that stands for itself in a template.
fn literal(name: &str) -> String {
    name.replace('$', "$$")
}
