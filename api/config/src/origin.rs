//! Where a value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Where a value came from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// Nobody set it.
    #[default]
    Default,
    /// A line of a file.
    File {
        /// The file as it was named.
        path: Arc<str>,
        /// Counted from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment(Arc<str>),
    /// The program.
    Code,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Code => f.write_str("set in code"),
        }
    }
}

/// What the layers have set: the index of the key, the value as printed, and its origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(BTreeMap<usize, (String, Origin)>);

impl Origins {
    pub(crate) fn note(&mut self, key: usize, printed: String, origin: Origin) {
        self.0.insert(key, (printed, origin));
    }

    /// The origin of a key's present value. One that is neither the default nor what a layer has set was assigned by
    /// the program.
    pub(crate) fn of(&self, key: usize, printed: &str, default: &str) -> Origin {
        match self.0.get(&key) {
            Some((noted, origin)) if noted == printed => origin.clone(),
            None if printed == default => Origin::Default,
            _ => Origin::Code,
        }
    }
}
