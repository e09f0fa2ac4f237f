//! PARTITION matching (DDS 1.4 §2.2.3.13): `fnmatch` of POSIX 1003.2 between the names of two entities.
//!
//! A pattern holds `*`, `?` or a closed `[`. `[...]` lists characters and ranges, `[!...]` all others; an unclosed `[` stands
//! for itself, and so does the backslash, because peers do not agree on it. Two patterns never match each other.

use alloc::string::String;

/// Whether a partition name is a pattern.
#[must_use]
pub fn is_partition_pattern(name: &str) -> bool {
    // Of several that are not closed the first is not closed either, so one look is enough.
    let first_bracket = || name.split_once('[').is_some_and(|(_, body)| bracket(body, ' ').is_some());
    name.contains(['*', '?']) || first_bracket()
}

/// Whether two entities with these PARTITION lists share a partition. An empty list means one empty name.
///
/// Work is bounded by the product of the lengths of the two lists.
#[must_use]
pub fn partitions_match(left: &[String], right: &[String]) -> bool {
    match (left, right) {
        ([], []) => true,
        ([], names) | (names, []) => names.iter().any(|name| partition_names_match(name, "")),
        _ => left.iter().any(|l| right.iter().any(|r| partition_names_match(l, r))),
    }
}

/// Whether two partition names match: equal names, or one pattern and a name it covers.
#[must_use]
pub fn partition_names_match(left: &str, right: &str) -> bool {
    match (is_partition_pattern(left), is_partition_pattern(right)) {
        (false, false) => left == right,
        (true, false) => covers(left, right),
        (false, true) => covers(right, left),
        (true, true) => false,
    }
}

/// `fnmatch` with only the last `*` ever tried again, which suffices and keeps the work at pattern × name.
fn covers(pattern: &str, name: &str) -> bool {
    let (mut p, mut n) = (pattern, name);
    let mut retry: Option<(&str, &str)> = None;
    loop {
        if let Some(after_star) = p.strip_prefix('*') {
            retry = Some((after_star, n));
            p = after_star;
            continue;
        }
        let mut rest = n.chars();
        if let Some(c) = rest.next() {
            if let Some(after) = take_one(p, c) {
                (p, n) = (after, rest.as_str());
                continue;
            }
        } else if p.is_empty() {
            return true;
        }
        // Let the last star take one more character and try again from there.
        let Some((after_star, from)) = retry else { return false };
        let mut longer = from.chars();
        if longer.next().is_none() {
            return false;
        }
        retry = Some((after_star, longer.as_str()));
        (p, n) = (after_star, longer.as_str());
    }
}

/// Matches `c` against the first element of `pattern` (never `*`); what follows the element if it matches.
fn take_one(pattern: &str, c: char) -> Option<&str> {
    let mut chars = pattern.chars();
    match chars.next()? {
        '?' => Some(chars.as_str()),
        '[' => match bracket(chars.as_str(), c) {
            Some((matched, after)) => matched.then_some(after),
            None => (c == '[').then_some(chars.as_str()),
        },
        literal => (literal == c).then_some(chars.as_str()),
    }
}

/// Reads a bracket expression after its `[`: whether it holds `c`, and what follows `]`. `None` if it is not closed.
fn bracket(body: &str, c: char) -> Option<(bool, &str)> {
    let (negated, mut rest) = match body.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, body),
    };
    let mut found = false;
    let mut first = true;
    loop {
        let mut chars = rest.chars();
        let low = chars.next()?;
        if low == ']' && !first {
            return Some((found != negated, chars.as_str()));
        }
        first = false;
        rest = chars.as_str();
        let mut range = rest.chars();
        let high = match (range.next(), range.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                rest = range.as_str();
                high
            }
            _ => low,
        };
        found |= (low..=high).contains(&c);
    }
}

#[cfg(test)]
mod tests;
