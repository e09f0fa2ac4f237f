//! Explanations as text.

use super::{Cause, EndpointInfo, Explanation, Pair};
use dunlin_core::Guid;
use std::fmt;

impl fmt::Display for EndpointInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.guid == Guid::UNKNOWN {
            return f.write_str("(disabled)");
        }
        write!(f, "{}", self.guid)?;
        match (self.local, self.participant_name.is_empty()) {
            (true, _) => f.write_str(" (here)"),
            (false, true) => write!(f, " ({})", self.vendor.name()),
            (false, false) => write!(f, " ('{}', {})", self.participant_name, self.vendor.name()),
        }?;
        match &self.shared_memory {
            None => Ok(()),
            Some(Ok(())) => f.write_str(" through shared memory"),
            Some(Err(reason)) => write!(f, " over the network, because for shared memory {reason}"),
        }
    }
}

fn write_cause(f: &mut fmt::Formatter<'_>, indent: &str, cause: &Cause) -> fmt::Result {
    writeln!(f, "{indent}{cause}")?;
    writeln!(f, "{indent}  hint: {}", cause.hint())
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side =
            |side: &Option<EndpointInfo>| side.as_ref().map_or("(unknown)".into(), ToString::to_string);
        let state = match (self.matched, self.causes.is_empty()) {
            (true, true) => "match",
            (true, false) => "match, but",
            (false, _) => "do not match",
        };
        writeln!(f, "writer {} and reader {}: {state}", side(&self.writer), side(&self.reader))?;
        self.causes.iter().try_for_each(|cause| write_cause(f, "  ", cause))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "topic '{}': {} of {} pairs match", self.topic, self.matched(), self.pairs.len())?;
        self.pairs.iter().try_for_each(|pair| write!(f, "{pair}"))?;
        self.causes.iter().try_for_each(|cause| write_cause(f, "", cause))
    }
}
