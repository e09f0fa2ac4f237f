//! Configurations of others as ours: QoS profiles in DDS-XML, the XML of Fast DDS, the XML of Cyclone DDS.
//!
//! The text may come from anybody: its length, depth and number of elements are limited, and document type declarations
//! (entities, references to other files) are refused.

mod cyclone;
mod fast_dds;
mod qos;
mod values;

use std::fmt;

use roxmltree::{Document, Node, NodeId, ParsingOptions};

use crate::profiles::Entity;
use crate::value::{Raw, quoted};
use crate::{Config, ConfigError};

/// Octets of the longest text read.
const MAX_TEXT: usize = 1 << 20;
const MAX_ELEMENTS: u32 = 100_000;
/// Elements inside one another.
const MAX_DEPTH: usize = 64;
/// Most things reported as left out.
const MAX_REPORT: usize = 200;

/// Whose configuration it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Dialect {
    /// QoS profiles of OMG DDS-XML 1.0.
    DdsXml,
    /// Profiles of Fast DDS.
    FastDds,
    /// The configuration of Cyclone DDS.
    CycloneDds,
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DdsXml => "DDS-XML",
            Self::FastDds => "Fast DDS",
            Self::CycloneDds => "Cyclone DDS",
        })
    }
}

/// Something that could not be carried over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// Line of the text, counted from 1.
    pub line: u32,
    /// The element or attribute.
    pub what: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.what, self.why)
    }
}

/// A configuration of ours, made of another one.
#[derive(Clone, Debug)]
pub struct Import {
    /// Whose it was.
    pub dialect: Dialect,
    /// The text of a file for [`Config::from_toml`].
    pub toml: String,
    /// What is not in it; at most two hundred.
    pub left_out: Vec<LeftOut>,
}

/// Why nothing could be made of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImportError {
    /// It is no XML that is read: not well-formed, too long, too deep, with a document type declaration.
    Xml(String),
    /// It is XML, but none of the configurations that are known.
    Unknown(String),
    /// What came out contradicts itself.
    Unusable(ConfigError),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xml(why) => write!(f, "cannot read the XML: {why}"),
            Self::Unknown(root) => write!(
                f,
                "<{root:.100}> is the root of neither DDS-XML (dds with qos_library), Fast DDS (profiles) nor Cyclone DDS (CycloneDDS)"
            ),
            Self::Unusable(error) => write!(f, "what it says cannot be used: {error}"),
        }
    }
}

impl std::error::Error for ImportError {}

impl Import {
    /// Reads the XML of DDS-XML, Fast DDS or Cyclone DDS, whichever it is.
    ///
    /// # Errors
    /// When it is none of them, or what it says contradicts itself.
    pub fn from_xml(text: &str) -> Result<Self, ImportError> {
        if text.len() > MAX_TEXT {
            return Err(ImportError::Xml("it is longer than 1 MiB".into()));
        }
        check_depth(text)?;
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: MAX_ELEMENTS, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options);
        let document = document.map_err(|error| ImportError::Xml(error.to_string()))?;
        let root = document.root_element();
        let mut draft = Draft {
            document: &document,
            blocks: Vec::new(),
            bases: Vec::new(),
            keys: Vec::new(),
            left_out: Vec::new(),
        };
        let dialect = match root.tag_name().name() {
            "CycloneDDS" => {
                cyclone::read(root, &mut draft);
                Dialect::CycloneDds
            }
            "profiles" => {
                qos::read_fast_dds(root, &mut draft);
                Dialect::FastDds
            }
            "dds" => qos::read_dds(root, &mut draft),
            other => return Err(ImportError::Unknown(other.to_owned())),
        };
        draft.finish(dialect)
    }
}

/// Refuses what is too deep before the parser sees it, and document type declarations too.
fn check_depth(text: &str) -> Result<(), ImportError> {
    let (mut depth, mut rest) = (0_usize, text);
    while let Some((_, behind)) = rest.split_once('<') {
        // Whatever ends too early is for the parser to refuse.
        let skip = |end: &str| behind.split_once(end).map_or("", |(_, after)| after);
        rest = match behind.as_bytes() {
            [b'!', b'-', b'-', ..] => skip("-->"),
            [b'!', b'[', ..] => skip("]]>"),
            [b'!', ..] => return Err(ImportError::Xml("it has a DTD (document type declaration)".into())),
            [b'?', ..] => skip("?>"),
            [b'/', ..] => {
                depth = depth.saturating_sub(1);
                skip(">")
            }
            _ => {
                let (tag, after) = split_tag(behind);
                depth += usize::from(!tag.ends_with('/'));
                after
            }
        };
        if depth > MAX_DEPTH {
            return Err(ImportError::Xml(format!("elements are more than {MAX_DEPTH} deep")));
        }
    }
    Ok(())
}

/// A start tag up to its end, which may stand in quotes before, and what comes behind it.
fn split_tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return (text.get(..at).unwrap_or(""), text.get(at + 1..).unwrap_or("")),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    (text, "")
}

/// Policies of one entity of a profile.
struct Block {
    profile: String,
    entity: Entity,
    topic: Option<String>,
    settings: Vec<(String, Raw)>,
}

/// What has been understood so far.
struct Draft<'d> {
    document: &'d Document<'d>,
    blocks: Vec<Block>,
    /// Every profile, with its base.
    bases: Vec<(String, Option<String>)>,
    /// Keys of the schema.
    keys: Vec<Wanted>,
    left_out: Vec<LeftOut>,
}

/// A key of the schema, and where it came from.
struct Wanted {
    key: String,
    value: String,
    node: NodeId,
    what: String,
}

impl Draft<'_> {
    fn leave_out(&mut self, node: Node<'_, '_>, what: impl Into<String>, why: impl Into<String>) {
        // A place costs a look through the whole text.
        if self.left_out.len() < MAX_REPORT {
            let line = self.document.text_pos_at(node.range().start).row;
            self.left_out.push(LeftOut { line, what: what.into(), why: why.into() });
        }
    }

    /// Sets a key of the schema, if the value fits it.
    fn set_key(&mut self, node: Node<'_, '_>, what: &str, key: &str, value: &str) {
        match Config::default().set(key, value) {
            Ok(()) => {
                self.keys.retain(|known| known.key != key);
                self.want(node, what, key, value);
            }
            Err(error) => self.leave_out(node, what, error.to_string()),
        }
    }

    fn want(&mut self, node: Node<'_, '_>, what: &str, key: &str, value: &str) {
        let (key, value, what) = (key.to_owned(), value.to_owned(), what.to_owned());
        self.keys.push(Wanted { key, value, node: node.id(), what });
    }

    /// The configuration of the keys. What contradicts the others, or our defaults, is left out.
    fn settle(&mut self) -> Config {
        let mut config = Config::default();
        let mut left = std::mem::take(&mut self.keys);
        // Together they may be fine where one alone is not.
        let mut all = config.clone();
        if left.iter().all(|wanted| all.set(&wanted.key, &wanted.value).is_ok()) && all.check().is_ok() {
            self.keys = left;
            return all;
        }
        loop {
            let before = left.len();
            for wanted in std::mem::take(&mut left) {
                let mut tried = config.clone();
                match tried.set(&wanted.key, &wanted.value).and_then(|()| tried.check()) {
                    Ok(()) => {
                        config = tried;
                        self.keys.push(wanted);
                    }
                    Err(_) => left.push(wanted),
                }
            }
            if left.len() == before {
                break;
            }
        }
        for Wanted { key, value, node, what } in left {
            let mut tried = config.clone();
            let why = tried.set(&key, &value).and_then(|()| tried.check()).err();
            if let (Some(node), Some(why)) = (self.document.get_node(node), why) {
                self.leave_out(node, what, why.to_string());
            }
        }
        config
    }

    fn finish(mut self, dialect: Dialect) -> Result<Import, ImportError> {
        let config = self.settle();
        let known: Vec<String> = self.bases.iter().map(|(name, _)| name.clone()).collect();
        let mut toml = keys_as_toml(&config, &self.keys);
        for (name, base) in std::mem::take(&mut self.bases) {
            toml.push_str(&format!("\n[profile.{}]\n", quoted(&name)));
            match base {
                Some(base) if known.contains(&base) => toml.push_str(&format!("base = {}\n", quoted(&base))),
                Some(base) => {
                    let why = "there is no such profile in the text";
                    let root = self.document.root_element();
                    self.leave_out(root, format!("base '{base:.100}' of '{name:.100}'"), why);
                }
                None => {}
            }
            for block in
                self.blocks.iter().filter(|block| block.profile == name && !block.settings.is_empty())
            {
                toml.push_str(&block.to_string());
            }
        }
        Config::from_toml("imported", &toml).map_err(ImportError::Unusable)?;
        Ok(Import { dialect, toml, left_out: self.left_out })
    }
}

/// The keys that were set, section by section.
fn keys_as_toml(config: &Config, keys: &[Wanted]) -> String {
    let mut toml = String::new();
    let mut sections: Vec<&str> = keys.iter().filter_map(|wanted| wanted.key.split('.').next()).collect();
    sections.sort_unstable();
    sections.dedup();
    for section in sections {
        toml.push_str(&format!("\n[{section}]\n"));
        for wanted in keys {
            if let Some((of, name)) = wanted.key.split_once('.').filter(|(of, _)| *of == section) {
                let value = config.get(&format!("{of}.{name}")).unwrap_or_default();
                toml.push_str(&format!("{name} = {value}\n"));
            }
        }
    }
    toml
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n[[profile.{}.{}]]", quoted(&self.profile), self.entity.name())?;
        if let Some(topic) = &self.topic {
            writeln!(f, "topic = {}", quoted(topic))?;
        }
        for (path, raw) in &self.settings {
            writeln!(f, "{} = {}", crate::profiles::key(path), raw.print())?;
        }
        Ok(())
    }
}

fn elements<'a, 'd>(node: Node<'a, 'd>) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(Node::is_element)
}

/// The text in an element, comments left out.
fn text(node: Node<'_, '_>) -> String {
    let parts: String = node.children().filter(Node::is_text).filter_map(|part| part.text()).collect();
    parts.trim().to_owned()
}

#[cfg(test)]
mod tests;
