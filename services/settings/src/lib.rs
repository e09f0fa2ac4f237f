//! What configurations of Dunlin's services have in common: TOML whose unknown keys are refused with the nearest known one, mistakes with
//! their lines, names by pattern.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod pattern;
mod table;

use std::fmt;
use std::path::Path;

pub use table::{Report, Table};

/// Longest file that is read, in octets.
const MAX_FILE: u64 = 1 << 20;

/// One thing that is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The file as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// A configuration that cannot be used, with all that is wrong with it (up to twenty problems).
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError(pub Vec<Problem>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// What a program prints whose `main` returns it.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

/// What `read` makes of the text of a configuration file. It is given the name of the file for messages, the text, and the folder
/// in which files that the text names are looked for.
///
/// # Errors
/// When the file cannot be read, and what `read` says.
pub fn read_file<T>(
    path: &Path,
    read: impl FnOnce(&str, &str, Option<&Path>) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let name = path.display().to_string();
    let text =
        read_text(path).map_err(|text| ConfigError(vec![Problem { file: name.clone(), line: 1, text }]))?;
    read(&name, &text, path.parent())
}

/// The text of a file of bounded length.
///
/// # Errors
/// What is wrong with it, for people.
pub fn read_text(path: &Path) -> Result<String, String> {
    use std::io::Read;
    let file = std::fs::File::open(path).map_err(|error| format!("cannot open it: {error}"))?;
    let mut text = String::new();
    file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| format!("cannot read it: {error}"))?;
    if text.len() as u64 > MAX_FILE {
        return Err("it is longer than 1 MiB".to_owned());
    }
    Ok(text)
}
