//! What a misspelt name may have meant.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Longer names are not compared.
const MAX_NAME: usize = 64;

/// The candidate with the fewest differences from a name, if these are few.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).take(MAX_NAME).collect();
    let scored = candidates.filter(|candidate| candidate.len() <= MAX_NAME).map(|candidate| {
        let letters: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        (distance(&name, &letters), candidate)
    });
    let (distance, candidate) = scored.min()?;
    let tolerated = (name.len().saturating_add(1) / 3).max(1);
    (distance <= tolerated).then(|| candidate.to_string())
}

/// Insertions, deletions and replacements from one word to the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut before = i.saturating_add(1);
        if let Some(first) = row.first_mut() {
            *first = before;
        }
        for (cell, right) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal.saturating_add(usize::from(left != right));
            diagonal = *cell;
            *cell = replaced.min(before.saturating_add(1)).min(diagonal.saturating_add(1));
            before = *cell;
        }
    }
    row.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_mistakes_are_recognized() {
        let names = ["color", "x", "y", "shapesize"];
        let near = |name| nearest(name, names.into_iter());
        assert_eq!(near("colour").as_deref(), Some("color"));
        assert_eq!(near("Shape_size").as_deref(), Some("shapesize"));
        assert_eq!(near("X").as_deref(), Some("x"));
        assert_eq!(near("angle"), None);
        assert_eq!(nearest("name", ["mode"].into_iter()), None);
        assert_eq!(nearest("lable", ["label"].into_iter()).as_deref(), Some("label"));
        assert_eq!(nearest("a", [].into_iter()), None);
        assert_eq!(distance(&['a', 'b', 'c'], &['b', 'c', 'd', 'e']), 3);
        assert_eq!(distance(&[], &['b']), 1);
    }
}
