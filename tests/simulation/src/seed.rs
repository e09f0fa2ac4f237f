//! What a scenario is drawn from.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, ensure};

use crate::generate::{COMING, NEWEST};

/// A number, and which generation of the generator draws from it. It is written `1:4711`.
///
/// A generation never changes once it is there: what fails today fails in a year, unless it was mended. Whatever the
/// generator learns makes a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Seed {
    /// From 1 to [`COMING`].
    pub generation: u32,
    /// Of all chance within the generation.
    pub number: u64,
}

impl Seed {
    /// Another number of the same generation.
    #[must_use]
    pub fn with(self, number: u64) -> Self {
        Self { number, ..self }
    }
}

/// A bare number means the newest generation.
impl From<u64> for Seed {
    fn from(number: u64) -> Self {
        Self { generation: NEWEST, number }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.generation, self.number)
    }
}

impl FromStr for Seed {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().map(|asked: Asked| asked.of(None))
    }
}

/// A seed as it is asked for: perhaps a bare number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    generation: Option<u32>,
    number: u64,
}

impl Asked {
    /// The generation that stands with the number, else this one, else the newest.
    #[must_use]
    pub fn of(self, generation: Option<u32>) -> Seed {
        Seed { generation: self.generation.or(generation).unwrap_or(NEWEST), number: self.number }
    }
}

impl FromStr for Asked {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (generation, number) = match text.split_once(':') {
            Some((generation, number)) => (Some(parse_generation(generation)?), number),
            None => (None, text),
        };
        let number = number.parse().with_context(|| format!("{text:?} is no seed"))?;
        Ok(Self { generation, number })
    }
}

/// A generation that there is.
///
/// # Errors
/// If there is none of this number.
pub fn parse_generation(text: &str) -> Result<u32, Error> {
    let generation = text.parse().with_context(|| format!("{text:?} is no generation"))?;
    ensure!((1..=COMING).contains(&generation), "the generations are 1 to {COMING}, not {generation}");
    Ok(generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_what_it_is_written_as() {
        let seed = Seed { generation: 1, number: 50_013_779 };
        assert_eq!(seed.to_string(), "1:50013779");
        assert_eq!("1:50013779".parse::<Seed>().ok(), Some(seed));
        assert_eq!("7".parse::<Seed>().ok(), Some(Seed { generation: NEWEST, number: 7 }));
        for wrong in ["", ":", "1:", ":1", "0:1", "1:x", "-1", &format!("{}:1", COMING + 1)] {
            assert!(wrong.parse::<Seed>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_generation_is_for_bare_numbers() {
        let asked = |text: &str| text.parse::<Asked>().expect("a seed");
        assert_eq!(asked("5").of(Some(1)), Seed { generation: 1, number: 5 });
        assert_eq!(asked("1:5").of(None), Seed { generation: 1, number: 5 });
        assert_eq!(asked("5").of(None), Seed::from(5));
    }
}
