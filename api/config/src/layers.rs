//! Reading the layers: file, environment, code.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::error::Problems;
use crate::nearest::nearest;
use crate::schema::{KEYS, Key, SECTIONS};
use crate::value::Raw;
use crate::{Config, ConfigError, Origin};

/// Longest file read.
const MAX_FILE: u64 = 1 << 20;
/// The file that is read if nobody names another.
const DEFAULT_FILE: &str = "dunlin.toml";
/// Names the file.
const FILE_VARIABLE: &str = "DUNLIN_CONFIG";
const PREFIX: &str = "DUNLIN_";
/// The domain of ROS 2, which programs beside ours follow too.
const ROS_DOMAIN: &str = "ROS_DOMAIN_ID";

impl Config {
    /// Defaults, file and environment of this process.
    ///
    /// # Errors
    /// Everything that is wrong with the file and the variables.
    pub fn load() -> Result<Self, ConfigError> {
        Self::load_from(std::env::vars_os(), Path::new("."))
    }

    /// The same for the environment and the working directory given.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn load_from(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        directory: &Path,
    ) -> Result<Self, ConfigError> {
        let mut problems = Problems::default();
        let variables = variables(environment, &mut problems);
        let mut config = Self::default();
        let named = variables.iter().find(|(name, _)| name == FILE_VARIABLE).map(|(_, value)| value.as_str());
        if let Some((path, text)) = read_file(named, directory)? {
            config.apply_toml(&path, &text, &mut problems);
        }
        // Before our own variables, which so go before it.
        for (name, value) in variables.iter().filter(|(name, _)| name == ROS_DOMAIN) {
            config.apply_ros_domain(name, value, &mut problems);
        }
        for (name, value) in variables.iter().filter(|(name, _)| name != FILE_VARIABLE && name != ROS_DOMAIN)
        {
            config.apply_variable(name, value, &mut problems);
        }
        problems.into_result()?;
        config.check()?;
        Ok(config)
    }

    /// Defaults and the text of a file, which errors call `name`.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ConfigError> {
        let (mut config, mut problems) = (Self::default(), Problems::default());
        config.apply_toml(name, text, &mut problems);
        problems.into_result()?;
        config.check()?;
        Ok(config)
    }

    /// Sets `section.key` from text as it would stand in the environment; a list is separated by commas.
    ///
    /// # Errors
    /// For an unknown key or a value that does not fit it. Whether the values fit together is checked when the
    /// configuration is used.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let index = KEYS.iter().position(|known| known.path() == key);
        let index = index.ok_or_else(|| ConfigError::one(Origin::Code, unknown_key(key)))?;
        let mut problems = Problems::default();
        self.assign(index, &Raw::Plain(value.into()), Origin::Code, &mut problems);
        problems.into_result()
    }

    /// Sets keys from texts `section.key=value`, as programs are given them on the command line.
    ///
    /// # Errors
    /// Those of [`set`](Self::set), and a text without `=`.
    pub fn set_all(&mut self, assignments: &[String]) -> Result<(), ConfigError> {
        for assignment in assignments {
            let parts = assignment.split_once('=');
            let no_value = || ConfigError::one(Origin::Code, format!("'{assignment}' is not KEY=VALUE"));
            let (key, value) = parts.ok_or_else(no_value)?;
            self.set(key, value)?;
        }
        Ok(())
    }

    /// The value of `section.key` as it would stand in a file.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        KEYS.iter().find(|known| known.path() == key).map(|known| (known.print)(self))
    }

    fn assign(&mut self, index: usize, raw: &Raw, origin: Origin, problems: &mut Problems) {
        let Some(key) = KEYS.get(index) else { return };
        if (key.set)(self, raw) {
            self.origins.note(index, (key.print)(self), origin);
        } else {
            problems.add(origin, format!("{} = {raw}: expected {}", key.path(), key.expects()));
        }
    }

    fn apply_variable(&mut self, name: &str, value: &str, problems: &mut Problems) {
        let origin = Origin::Environment(name.into());
        if let Some(index) = KEYS.iter().position(|key| key.variable() == name) {
            return self.assign(index, &Raw::Plain(value.into()), origin, problems);
        }
        let words = name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase();
        // Other programs may have variables that begin like ours, but not with a section.
        if let Some((section, key)) = section_meant(&words) {
            let meant = meant(section, key).map(Key::variable);
            problems.add(origin, format!("no key has this variable{}", suggestion(meant.as_deref())));
        }
    }

    /// ROS 2 takes an empty variable for one that is not set.
    fn apply_ros_domain(&mut self, name: &str, value: &str, problems: &mut Problems) {
        let index = KEYS.iter().position(|key| key.path() == "domain.id").filter(|_| !value.is_empty());
        if let Some(index) = index {
            self.assign(index, &Raw::Plain(value.into()), Origin::Environment(name.into()), problems);
        }
    }

    fn apply_toml(&mut self, name: &str, text: &str, problems: &mut Problems) {
        let path: Arc<str> = name.into();
        // Of every key the line is wanted, so the text is looked through once.
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let at = |offset: usize| {
            let line = ends.partition_point(|end| *end < offset) + 1;
            Origin::File { path: Arc::clone(&path), line }
        };
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let origin = at(error.span().map_or(0, |span| span.start));
                return problems.add(origin, format!("not valid TOML: {}", error.message()));
            }
        };
        for (section, value) in table {
            if problems.is_full() {
                return;
            }
            let origin = at(section.span().start);
            let section = section.into_inner();
            match value.into_inner() {
                DeValue::Table(profiles) if section == "profile" => {
                    self.profiles.read(profiles, &at, problems)
                }
                _ if !SECTIONS.iter().any(|(known, _)| *known == section) => {
                    problems.add(origin, unknown_section(&section));
                }
                DeValue::Table(keys) => {
                    for (key, value) in keys {
                        // To find what was meant takes time, so nobody looks for it where it is not told.
                        if problems.is_full() {
                            return;
                        }
                        let origin = at(key.span().start);
                        self.apply_entry(
                            &section,
                            &key.into_inner(),
                            &raw(value.into_inner()),
                            origin,
                            problems,
                        );
                    }
                }
                other => {
                    let found = raw(other);
                    problems.add(
                        origin,
                        format!("{section} = {found}: {section} is a section, write [{section}]"),
                    );
                }
            }
        }
    }

    fn apply_entry(&mut self, section: &str, key: &str, raw: &Raw, origin: Origin, problems: &mut Problems) {
        match KEYS.iter().position(|known| known.section == section && known.name == key) {
            Some(index) => self.assign(index, raw, origin, problems),
            None => problems.add(origin, unknown_key(&format!("{section}.{key}"))),
        }
    }
}

/// The variables that concern us.
fn variables(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    problems: &mut Problems,
) -> Vec<(String, String)> {
    let mut ours = Vec::new();
    for (name, value) in environment {
        let ours_or_ros = |name: &&str| name.starts_with(PREFIX) || *name == ROS_DOMAIN;
        let Some(name) = name.to_str().filter(ours_or_ros) else {
            continue;
        };
        match value.into_string() {
            Ok(value) => ours.push((name.to_owned(), value)),
            Err(_) => problems.add(Origin::Environment(name.into()), "the value is not UTF-8".into()),
        }
    }
    ours.sort_unstable();
    ours
}

/// The file's name and text; `None` if there is no file and none was asked for.
fn read_file(named: Option<&str>, directory: &Path) -> Result<Option<(String, String)>, ConfigError> {
    let (path, shown) = match named {
        Some("") => return Ok(None),
        Some(path) => (directory.join(path), path.to_owned()),
        None => (directory.join(DEFAULT_FILE), DEFAULT_FILE.to_owned()),
    };
    let fail = |text: String| {
        let origin = match named {
            Some(_) => Origin::Environment(FILE_VARIABLE.into()),
            None => Origin::File { path: shown.as_str().into(), line: 1 },
        };
        Err(ConfigError::one(origin, text))
    };
    match read_bounded(&path) {
        Ok(text) if text.len() as u64 > MAX_FILE => fail(format!("{shown} is longer than 1 MiB")),
        Ok(text) => match String::from_utf8(text) {
            Ok(text) => Ok(Some((shown, text))),
            Err(_) => fail(format!("{shown} is not UTF-8")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => Ok(None),
        Err(error) => fail(format!("cannot read {shown}: {error}")),
    }
}

fn read_bounded(path: &PathBuf) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut text)?;
    Ok(text)
}

pub(crate) fn raw(value: DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.into_owned()),
        DeValue::Boolean(value) => Raw::Bool(value),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| Raw::Other(number.as_str().into()), Raw::Integer)
        }
        DeValue::Float(number) => Raw::Other(number.as_str().into()),
        DeValue::Datetime(time) => Raw::Other(time.to_string()),
        DeValue::Array(items) => Raw::List(items.into_iter().map(|item| raw(item.into_inner())).collect()),
        DeValue::Table(_) => Raw::Other("a table".into()),
    }
}

fn suggestion(meant: Option<&str>) -> String {
    meant.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// The section that the words of a variable begin with, or nearly so, and what stands behind it. A section may have several
/// words itself, and is compared with as many.
fn section_meant(words: &str) -> Option<(&'static str, &str)> {
    let ends = words.match_indices('_').map(|(at, _)| at).chain([words.len()]);
    ends.enumerate().take(2).find_map(|(underscores, end)| {
        let (beginning, rest) = words.split_at_checked(end)?;
        let alike = |name: &&str| name.matches('_').count() == underscores;
        let section = nearest(beginning, SECTIONS.iter().map(|(known, _)| *known).filter(alike))?;
        Some((section, rest.strip_prefix('_').unwrap_or(rest)))
    })
}

/// The key that was meant: one of that name in another section, or a near miss in this one, or one anywhere.
fn meant(section: &str, name: &str) -> Option<&'static Key> {
    let near = |within: Option<&str>| {
        let keys = || KEYS.iter().filter(|key| within.is_none_or(|section| section == key.section));
        let found = nearest(name, keys().map(|key| key.name))?;
        keys().find(|key| key.name == found)
    };
    let exact = |key: &&Key| key.name == name;
    let here = KEYS.iter().filter(|key| key.section == section).find(exact);
    here.or_else(|| KEYS.iter().find(exact)).or_else(|| near(Some(section))).or_else(|| near(None))
}

fn unknown_key(path: &str) -> String {
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    let meant = meant(section, name).map(Key::path);
    format!("unknown key {path:.100}{}", suggestion(meant.as_deref()))
}

fn unknown_section(name: &str) -> String {
    let meant = nearest(name, SECTIONS.iter().map(|(known, _)| *known).chain(["profile"]))
        .map(|known| format!("[{known}]"));
    format!("unknown section [{name:.100}]{}", suggestion(meant.as_deref()))
}

#[cfg(test)]
mod tests;
