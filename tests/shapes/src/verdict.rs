//! What a process saw.

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
