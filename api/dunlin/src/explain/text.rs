//! Explanations as text.

use std::fmt;

use dunlin_core::Guid;

use super::{EndpointInfo, Explanation, Pair};
use crate::cause::Cause;
use crate::process::who;

/// So many different pairs of one group are listed.
const MOST_OF_GROUP: usize = 8;

/// `{:#}` says the GUID too.
impl fmt::Display for EndpointInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.guid == Guid::UNKNOWN {
            return f.write_str("(disabled)");
        }
        if f.alternate() {
            write!(f, "{} ", self.guid)?;
        }
        match who(&self.participant_name, &self.process) {
            _ if self.local => f.write_str("here"),
            Some(who) => write!(f, "{who}, {}", self.vendor.name()),
            None if f.alternate() => f.write_str(self.vendor.name()),
            None => write!(f, "{}, {}", self.guid, self.vendor.name()),
        }?;
        match &self.shared_memory {
            None => Ok(()),
            Some(Ok(())) => f.write_str(", through shared memory"),
            Some(Err(reason)) => write!(f, ", over the network, because for shared memory {reason}"),
        }
    }
}

fn write_cause(f: &mut fmt::Formatter<'_>, indent: &str, cause: &Cause) -> fmt::Result {
    writeln!(f, "{indent}{cause}")?;
    writeln!(f, "{indent}  hint: {}", cause.hint())
}

impl Pair {
    /// Whether it has the same verdict as another pair.
    fn is_like(&self, other: &Self) -> bool {
        self.matched == other.matched && self.causes == other.causes && self.notes == other.notes
    }

    /// Both sides.
    fn sides(&self, guids: bool) -> String {
        let side = |side: &Option<EndpointInfo>| match side {
            None => "(unknown)".to_owned(),
            Some(side) if guids => format!("{side:#}"),
            Some(side) => side.to_string(),
        };
        format!("writer {} and reader {}", side(&self.writer), side(&self.reader))
    }

    /// What the two, or several such pairs, do.
    fn verdict(&self) -> &'static str {
        match (self.matched, self.causes.is_empty()) {
            (true, true) => "match",
            (true, false) => "match, but",
            (false, _) => "do not match",
        }
    }

    fn write_reasons(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.causes.iter().try_for_each(|cause| write_cause(f, "  ", cause))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.sides(f.alternate()), self.verdict())?;
        self.write_reasons(f)
    }
}

/// Pairs with one verdict; their causes are printed once.
fn write_group(f: &mut fmt::Formatter<'_>, group: &[&Pair]) -> fmt::Result {
    let [first, others @ ..] = group else { return Ok(()) };
    if others.is_empty() {
        return write!(f, "{first}");
    }
    writeln!(f, "{} pairs {}", group.len(), first.verdict())?;
    // Several endpoints of one participant look alike.
    let mut sides: Vec<(String, usize)> = Vec::new();
    for text in group.iter().map(|pair| pair.sides(false)) {
        match sides.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => sides.push((text, 1)),
        }
    }
    for (text, count) in sides.iter().take(MOST_OF_GROUP) {
        let times = if *count == 1 { String::new() } else { format!(" ({count} pairs)") };
        writeln!(f, "  {text}{times}")?;
    }
    let left: usize = sides.iter().skip(MOST_OF_GROUP).map(|(_, count)| count).sum();
    if left > 0 {
        writeln!(f, "  and {left} more")?;
    }
    first.write_reasons(f)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "topic '{}': {} of {} pairs match", self.topic, self.matched(), self.pairs.len())?;
        if f.alternate() {
            self.pairs.iter().try_for_each(|pair| write!(f, "{pair:#}"))?;
        } else {
            let mut groups: Vec<Vec<&Pair>> = Vec::new();
            for pair in &self.pairs {
                match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.is_like(pair))) {
                    Some(group) => group.push(pair),
                    None => groups.push(vec![pair]),
                }
            }
            groups.iter().try_for_each(|group| write_group(f, group))?;
        }
        self.causes.iter().try_for_each(|cause| write_cause(f, "", cause))
    }
}
