//! What is wrong with a configuration.

use std::fmt;

use crate::Origin;

/// Most problems reported together.
const MAX_PROBLEMS: usize = 20;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where.
    pub origin: Origin,
    /// What, and what to do about it.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.text)
    }
}

/// A configuration that cannot be used, with everything that is wrong with it (up to twenty problems).
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    pub(crate) fn one(origin: Origin, text: String) -> Self {
        Self { problems: vec![Problem { origin, text }] }
    }

    /// What is wrong; never empty.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// What a program prints whose `main` returns it.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

/// Collects problems.
#[derive(Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn add(&mut self, origin: Origin, text: String) {
        if self.0.len() < MAX_PROBLEMS {
            self.0.push(Problem { origin, text });
        }
    }

    /// Whether no more are told.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_PROBLEMS
    }

    /// An error of one problem.
    pub(crate) fn of(origin: Origin, text: String) -> ConfigError {
        let mut problems = Self::default();
        problems.add(origin, text);
        ConfigError { problems: problems.0 }
    }

    pub(crate) fn into_result(self) -> Result<(), ConfigError> {
        if self.0.is_empty() { Ok(()) } else { Err(ConfigError { problems: self.0 }) }
    }
}
