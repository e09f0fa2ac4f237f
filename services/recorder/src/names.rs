//! Which topics are meant.

use dunlin::qos::partition_names_match;

/// Names with the wildcards of a shell: `*`, `?` and `[...]`. Deny wins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// One of these fits; all if there is none.
    pub allow: Vec<String>,
    /// None of these does.
    pub deny: Vec<String>,
}

impl Names {
    /// Whether a name is meant.
    #[must_use]
    pub fn allow(&self, name: &str) -> bool {
        let fits = |pattern: &String| pattern == name || partition_names_match(pattern, name);
        !self.deny.iter().any(fits) && (self.allow.is_empty() || self.allow.iter().any(fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_wins() {
        let names = Names { allow: vec!["S*".into(), "T?".into()], deny: vec!["*x".into()] };
        for (name, meant) in [("Square", true), ("Sx", false), ("T1", true), ("T12", false), ("U", false)] {
            assert_eq!(names.allow(name), meant, "{name}");
        }
        assert!(Names::default().allow("anything"));
    }
}
