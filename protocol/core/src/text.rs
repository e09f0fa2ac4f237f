//! Characters of names that others chose.

/// Whether a terminal would obey a character, or it would begin another line, or turn around what stands behind it: the control
/// characters (C0, C1), line and paragraph separators, and what Unicode has for writing in both directions (UAX #9).
#[must_use]
pub fn is_harmful(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_harmless_and_control_characters_are_not() {
        assert!("aé\u{5d0}\u{627}😀 \u{a0}".chars().all(|c| !is_harmful(c)));
        assert!("\0\n\u{1b}\u{7f}\u{9b}\u{2028}\u{202e}\u{2069}\u{61c}".chars().all(is_harmful));
    }
}
