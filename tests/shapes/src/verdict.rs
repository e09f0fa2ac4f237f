//! What a process saw.

use std::fmt;

use serde::Deserialize;

/// What the lines of a process say.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// The topic, writer, reader or filter was not made.
    NotCreated,
    /// It says that it cannot do what was asked for.
    Unsupported,
    /// Nobody matched.
    NotMatched,
    /// A policy does not fit.
    Incompatible,
    /// A deadline passed.
    DeadlineMissed,
    /// No samples, or too few.
    NoData,
    /// Samples of one writer.
    FromOne,
    /// Samples of several writers.
    FromSeveral,
    /// Samples ordered within instances.
    ByInstance,
    /// Samples ordered over all instances.
    ByTopic,
    /// Samples that must not be there, or not so.
    Wrong,
}

impl fmt::Display for Verdict {
    /// As the list writes it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, letter) in format!("{self:?}").char_indices() {
            if at > 0 && letter.is_uppercase() {
                formatter.write_str("-")?;
            }
            write!(formatter, "{}", letter.to_lowercase())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_printed_as_in_the_list() {
        let shown =
            [Verdict::Ok, Verdict::NotMatched, Verdict::ByInstance].map(|verdict| verdict.to_string());
        assert_eq!(shown, ["ok", "not-matched", "by-instance"]);
    }
}
