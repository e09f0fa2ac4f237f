//! LIKE (DDS 1.4 Annex B): `%` stands for any characters, `_` for one.

use crate::steps::{Steps, TooManySteps};

/// Whether a text fits a pattern, in at most the product of their lengths: only the last `%` is ever tried again,
/// because a shorter match of an earlier one leaves at least as much to choose from.
#[must_use]
pub fn like(text: &str, pattern: &str) -> bool {
    like_within(text, pattern, &mut Steps::unlimited()) == Ok(true)
}

/// The same in so many steps, one for each character that is compared.
pub(crate) fn like_within(text: &str, pattern: &str, steps: &mut Steps) -> Result<bool, TooManySteps> {
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    // After the last `%`: the pattern behind it, and the text it began to match before.
    let mut retry = None;
    loop {
        steps.take(1)?;
        let (text_here, mut pattern_next) = (text.clone(), pattern.clone());
        match pattern_next.next() {
            Some('%') => {
                pattern = pattern_next;
                if pattern.as_str().is_empty() {
                    return Ok(true);
                }
                retry = Some((pattern.clone(), text_here));
                continue;
            }
            Some(wanted) => {
                if text.next().is_some_and(|c| wanted == '_' || wanted == c) {
                    pattern = pattern_next;
                    continue;
                }
                // The text is at its end, and so it would be after any other choice.
                if text_here.as_str().is_empty() {
                    return Ok(false);
                }
            }
            None if text_here.as_str().is_empty() => return Ok(true),
            None => {}
        }
        let Some((behind, mut from)) = retry.take() else { return Ok(false) };
        from.next();
        (pattern, text) = (behind.clone(), from.clone());
        retry = Some((behind, from));
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::{vec, vec::Vec};

    use proptest::prelude::*;

    use super::like;

    /// The definition.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|n| naive(&text[n..], rest)),
            Some((c, rest)) => text.first().is_some_and(|t| *c == '_' || c == t) && naive(&text[1..], rest),
        }
    }

    proptest! {
        #[test]
        fn like_agrees_with_its_definition(text in "[abé%]{0,9}", pattern in "[abé%_]{0,7}") {
            let (t, p): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
            prop_assert_eq!(like(&text, &pattern), naive(&t, &p));
        }
    }

    #[test]
    fn like_with_many_wildcards_takes_bounded_time() {
        let text = String::from_utf8(vec![b'a'; 20_000]).unwrap();
        assert!(!like(&text, &("%aaaa".repeat(200) + "b")));
        assert!(!like(&text, &("%a_a%".repeat(200) + "b%")));
        assert!(like(&text, &"%aaaa".repeat(30)));
        assert!(like("", "") && like("", "%%") && !like("", "_") && like("Vögel", "V_gel"));
        assert!(like("a*b?", "a*b?") && !like("axb", "a*b"));
    }
}
