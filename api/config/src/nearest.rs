//! The known name that somebody who wrote an unknown one most likely meant.

/// Longest name compared; the work is bounded by its square.
const MAX_LEN: usize = 64;

/// Number of insertions, deletions, substitutions and swaps of neighbours from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(ca != cb);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// The candidate nearest to `name`, unless even that one shares little with it.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().count() > MAX_LEN {
        return None;
    }
    let name = name.to_lowercase();
    let (best, candidate) = candidates.map(|c| (distance(&name, &c.to_lowercase()), c)).min()?;
    (best * 2 <= name.chars().count().max(2)).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn misspelt_name_gets_the_nearest_known_name() {
        let names = ["interfaces", "multicast", "ipv6"];
        assert_eq!(nearest("interface", names.into_iter()), Some("interfaces"));
        assert_eq!(nearest("Mutlicast", names.into_iter()), Some("multicast"));
        assert_eq!(nearest("ipv4", names.into_iter()), Some("ipv6"));
        assert_eq!(nearest("wavelength", names.into_iter()), None);
        assert_eq!(nearest(&"x".repeat(100_000), names.into_iter()), None);
    }
}
