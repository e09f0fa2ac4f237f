//! The seeds that have ever failed.

use anyhow::{Context, Error};

use crate::seed::Seed;

/// `failed_seeds.txt`, which says what stands in it.
const LIST: &str = include_str!("../failed_seeds.txt");

/// A seed that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// Which.
    pub seed: Seed,
    /// At which commit.
    pub commit: String,
    /// In which way.
    pub kind: String,
}

/// The line that a failure adds to the list.
#[must_use]
pub fn line(seed: Seed, commit: &str, kind: &str) -> String {
    format!("{seed} {commit} {kind}")
}

fn parse(text: &str) -> Result<Vec<Known>, Error> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let known = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().with_context(|| format!("{line:?}: seed, commit and kind"));
        let (seed, commit, kind) = (word()?, word()?, word()?);
        // What a bare number means changes.
        seed.split_once(':').with_context(|| format!("{line:?} names no generation"))?;
        Ok(Known { seed: seed.parse()?, commit: commit.into(), kind: kind.into() })
    };
    lines.map(known).collect()
}

/// All of them.
///
/// # Errors
/// If the list cannot be read.
pub fn failed() -> Result<Vec<Known>, Error> {
    parse(LIST)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn failed_seeds_are_listed_once_with_commit_and_kind() {
        let all = failed().expect("a good list");
        let seeds: BTreeSet<Seed> = all.iter().map(|known| known.seed).collect();
        assert!(all.len() >= 69 && seeds.len() == all.len(), "{} of {}", seeds.len(), all.len());
        for known in &all {
            let commit = known.commit.split('+').next().unwrap_or_default();
            assert!(commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{known:?}");
            assert_eq!(parse(&line(known.seed, &known.commit, &known.kind)).ok(), Some(vec![known.clone()]));
        }
        assert!(seeds.contains(&Seed { generation: 1, number: 50_013_779 }));
    }

    #[test]
    fn a_line_without_generation_commit_or_kind_is_refused() {
        for wrong in ["7 3204a1c complete", "1:7 3204a1c", "1:7", "1:x 3204a1c complete"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(parse("# 1:7\n\n").ok(), Some(vec![]));
    }
}
