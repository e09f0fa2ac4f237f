//! Names with wildcards, and new names made of what the wildcards stood for.

use std::fmt;

/// Most wildcards of a pattern.
const MAX_WILDCARDS: usize = 9;

/// A name in which `*` stands for any text and `?` for one character. Each `*` and each `?` is a capture, counted from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern(String);

/// What the wildcards of a pattern stood for; the first entry is the whole name.
pub type Captures<'n> = Vec<&'n str>;

impl Pattern {
    /// Any name.
    #[must_use]
    pub fn any() -> Self {
        Self("*".to_owned())
    }

    /// # Errors
    /// What is wrong with it, for people.
    pub fn new(text: &str) -> Result<Self, String> {
        let wildcards = text.chars().filter(|letter| matches!(letter, '*' | '?')).count();
        if text.is_empty() || text.len() > 255 {
            return Err("a pattern has 1 to 255 bytes".to_owned());
        }
        if text.contains("**") {
            return Err("** is no wildcard: write *".to_owned());
        }
        if wildcards > MAX_WILDCARDS {
            return Err(format!("a pattern has at most {MAX_WILDCARDS} wildcards"));
        }
        Ok(Self(text.to_owned()))
    }

    /// How many captures a match gives, the whole name aside.
    #[must_use]
    pub fn captures(&self) -> usize {
        self.0.chars().filter(|letter| matches!(letter, '*' | '?')).count()
    }

    /// What the wildcards stand for in a name; `None` if it does not fit. The first `*` takes as little as it can.
    #[must_use]
    pub fn matches<'n>(&self, name: &'n str) -> Option<Captures<'n>> {
        let mut found = Vec::new();
        let mut budget = 100_000;
        fits(&self.0, name, &mut found, &mut budget).then(|| {
            found.push(name);
            found.reverse();
            found
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a name fits; captures are pushed from the last to the first. The budget bounds the work that a hostile name can cause.
fn fits<'n>(pattern: &str, name: &'n str, found: &mut Captures<'n>, budget: &mut u32) -> bool {
    let literal = pattern.find(['*', '?']).unwrap_or(pattern.len());
    let Some(name) = name.strip_prefix(&pattern[..literal]) else { return false };
    let mut rest = pattern[literal..].chars();
    match rest.next() {
        None => name.is_empty(),
        Some('?') => {
            let Some(letter) = name.chars().next() else { return false };
            let (taken, left) = name.split_at(letter.len_utf8());
            let fits = fits(rest.as_str(), left, found, budget);
            if fits {
                found.push(taken);
            }
            fits
        }
        Some(_) => {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            for end in ends {
                let Some(left) = budget.checked_sub(1) else { return false };
                *budget = left;
                let (taken, left) = name.split_at(end);
                if fits(rest.as_str(), left, found, budget) {
                    found.push(taken);
                    return true;
                }
            }
            false
        }
    }
}

/// A new name: `$0` is the old one, `$1` to `$9` what the wildcards of the pattern stood for, `$$` a dollar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template(String);

impl Template {
    /// For the captures of patterns that have at least so many.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn new(text: &str, captures: usize) -> Result<Self, String> {
        if text.is_empty() || text.len() > 255 {
            return Err("a name has 1 to 255 bytes".to_owned());
        }
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter != '$' {
                continue;
            }
            match letters.next() {
                Some('$') => {}
                Some(digit) if digit.is_ascii_digit() => {
                    let number = digit as usize - '0' as usize;
                    if number > captures {
                        return Err(format!(
                            "${number} stands for nothing: a pattern has {captures} wildcards"
                        ));
                    }
                }
                _ => return Err("a $ is followed by a digit, or by another $ for itself".to_owned()),
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// The name made of captures.
    #[must_use]
    pub fn fill(&self, captures: &[&str]) -> String {
        let (mut name, mut letters) = (String::with_capacity(self.0.len()), self.0.chars());
        while let Some(letter) = letters.next() {
            match (letter, letter == '$') {
                (_, true) => match letters.next() {
                    Some(digit) if digit.is_ascii_digit() => {
                        let number = digit as usize - '0' as usize;
                        name.push_str(captures.get(number).copied().unwrap_or_default());
                    }
                    other => name.extend(other),
                },
                (plain, false) => name.push(plain),
            }
        }
        name
    }
}

/// Names that are wanted: some allow, others deny, and deny wins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    /// One of these must fit.
    pub allow: Vec<Pattern>,
    /// None of these may.
    pub deny: Vec<Pattern>,
}

impl Default for Names {
    fn default() -> Self {
        Self { allow: vec![Pattern::any()], deny: Vec::new() }
    }
}

impl Names {
    /// The captures of the first pattern that allows a name.
    ///
    /// # Errors
    /// Which pattern denies it, or that none allows it.
    pub fn judge<'n>(&self, name: &'n str) -> Result<Captures<'n>, Denied> {
        if let Some(pattern) = self.deny.iter().find(|pattern| pattern.matches(name).is_some()) {
            return Err(Denied::By(pattern.clone()));
        }
        self.allow.iter().find_map(|pattern| pattern.matches(name)).ok_or(Denied::NotAllowed)
    }

    /// Captures that every allowed name has.
    #[must_use]
    pub fn captures(&self) -> usize {
        self.allow.iter().map(Pattern::captures).min().unwrap_or(0)
    }
}

/// Why a name is not wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Denied {
    /// A pattern denies it.
    By(Pattern),
    /// No pattern allows it.
    NotAllowed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap()
    }

    #[test]
    fn wildcards_capture_what_they_stand_for() {
        assert_eq!(pattern("rt/*/temp?").matches("rt/hall/temp7"), Some(vec!["rt/hall/temp7", "hall", "7"]));
        assert_eq!(pattern("*").matches(""), Some(vec!["", ""]));
        assert_eq!(pattern("a*b*c").matches("aXbYbZc"), Some(vec!["aXbYbZc", "X", "YbZ"]));
        assert_eq!(pattern("a?c").matches("aäc"), Some(vec!["aäc", "ä"]));
        for (text, name) in [("a", "b"), ("a", "ab"), ("*b", "a"), ("?", ""), ("a*", "b")] {
            assert_eq!(pattern(text).matches(name), None, "{text} {name}");
        }
    }

    #[test]
    fn a_hostile_name_takes_bounded_work() {
        let text = "*a".repeat(9);
        let name = "a".repeat(200) + "b";
        assert_eq!(pattern(&text).matches(&name), None);
    }

    #[test]
    fn templates_are_filled_and_refused() {
        let template = Template::new("plant/$1/$$0-$0", 1).unwrap();
        assert_eq!(template.fill(&["whole", "one"]), "plant/one/$0-whole");
        assert!(Template::new("$2", 1).unwrap_err().contains("$2"));
        assert!(
            Template::new("$x", 1).is_err()
                && Template::new("$", 1).is_err()
                && Template::new("", 0).is_err()
        );
        assert!(
            Pattern::new("a**").is_err()
                && Pattern::new("").is_err()
                && Pattern::new(&"?".repeat(10)).is_err()
        );
    }

    #[test]
    fn deny_wins() {
        let names = Names { allow: vec![pattern("a*"), pattern("*")], deny: vec![pattern("*x")] };
        assert_eq!(names.judge("ab"), Ok(vec!["ab", "b"]));
        assert_eq!(names.judge("ax"), Err(Denied::By(pattern("*x"))));
        let none = Names { allow: vec![pattern("b")], deny: Vec::new() };
        assert_eq!(none.judge("a"), Err(Denied::NotAllowed));
    }
}
