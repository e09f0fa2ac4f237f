//! The configuration as text: what is in force, and what there is.

use std::fmt::{self, Write};

use crate::schema::{KEYS, SECTIONS};
use crate::{Config, Origin};

/// Every value with its origin; printed, it is a valid file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effective {
    entries: Vec<(&'static str, &'static str, String, Origin)>,
    profiles: String,
}

impl Effective {
    /// Section, key, value as in a file, origin.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str, &str, &Origin)> {
        self.entries.iter().map(|(section, key, value, origin)| (*section, *key, value.as_str(), origin))
    }

    /// Prints to standard output.
    pub fn print(&self) {
        print!("{self}");
    }
}

impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (section, _)) in SECTIONS.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            writeln!(f, "{separator}[{section}]")?;
            for (_, key, value, origin) in self.entries.iter().filter(|entry| entry.0 == *section) {
                let line = format!("{key} = {value}");
                writeln!(f, "{line:<48}# {origin}")?;
            }
        }
        f.write_str(&self.profiles)
    }
}

impl Config {
    /// The values in force with the origin of each.
    #[must_use]
    pub fn effective(&self) -> Effective {
        let defaults = Self::default();
        let entry = |(index, key): (usize, &crate::schema::Key)| {
            let value = (key.print)(self);
            let origin = self.origins.of(index, &value, &(key.print)(&defaults));
            (key.section, key.name, value, origin)
        };
        Effective {
            entries: KEYS.iter().enumerate().map(entry).collect(),
            profiles: self.profiles.to_string(),
        }
    }

    /// The origin of one value; `Default` for an unknown key.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        let found = KEYS.iter().enumerate().find(|(_, known)| known.path() == key);
        let origin = |(index, key): (usize, &crate::schema::Key)| {
            self.origins.of(index, &(key.print)(self), &(key.print)(&Self::default()))
        };
        found.map(origin).unwrap_or_default()
    }
}

/// Every key with its meaning, default and variable, as a file of comments.
#[must_use]
pub fn reference() -> String {
    let defaults = Config::default();
    let mut text = String::new();
    for (section, doc) in SECTIONS {
        comment(&mut text, doc);
        // Writing to a string does not fail.
        let _ = writeln!(text, "[{section}]\n");
        for key in KEYS.iter().filter(|key| key.section == *section) {
            comment(&mut text, key.doc);
            let _ = writeln!(text, "# Type: {}. Environment: {}.", key.expects(), key.variable());
            let _ = writeln!(text, "# {} = {}\n", key.name, (key.print)(&defaults));
        }
    }
    text
}

fn comment(text: &mut String, lines: &[&str]) {
    for line in lines {
        let _ = writeln!(text, "#{line}");
    }
}
