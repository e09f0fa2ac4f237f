//! From names of IDL to names of Rust.

use std::collections::BTreeSet;

/// Words that are no names, but can be written as `r#word`.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Words that cannot be names at all.
const RESERVED: &[&str] = &["self", "Self", "super", "crate", "_"];

/// The name in a form that Rust accepts.
fn usable(name: String) -> String {
    if RESERVED.contains(&name.as_str()) {
        return format!("{name}_");
    }
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// The words of a name: separated by underscores, or beginning with a capital letter.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let mut word = String::new();
        let mut chars = part.chars().peekable();
        let mut before: Option<char> = None;
        while let Some(c) = chars.next() {
            let begins = c.is_ascii_uppercase()
                && before.is_some_and(|before| {
                    !before.is_ascii_uppercase() || chars.peek().is_some_and(char::is_ascii_lowercase)
                });
            if begins {
                words.push(std::mem::take(&mut word));
            }
            word.push(c);
            before = Some(c);
        }
        words.push(word);
    }
    words
}

/// The name of a field, function or module: `frameNumber` becomes `frame_number`.
pub(super) fn snake(name: &str) -> String {
    let joined = words(name).join("_").to_ascii_lowercase();
    usable(if joined.is_empty() || joined.starts_with(|c: char| c.is_ascii_digit()) {
        name.to_owned()
    } else {
        joined
    })
}

/// The name of a constant: `maxSize` becomes `MAX_SIZE`.
pub(super) fn screaming(name: &str) -> String {
    if name.chars().all(|c| !c.is_ascii_lowercase()) {
        return name.to_owned();
    }
    words(name).join("_").to_ascii_uppercase()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_ascii_uppercase(), chars.as_str()))
}

/// The name of a type: `shape_type` becomes `ShapeType`, and what is a name in Rust already stays.
pub(super) fn type_name(name: &str) -> String {
    if !name.contains('_') {
        return usable(capitalized(name));
    }
    variant(name)
}

/// The name of a variant: `RAW_RGB24` becomes `RawRgb24`.
pub(super) fn variant(name: &str) -> String {
    let mut result = String::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let shouted = part.chars().all(|c| !c.is_ascii_lowercase());
        let part = if shouted { part.to_ascii_lowercase() } else { part.to_owned() };
        // `V1_2` must not become the same as `V12`.
        let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if digits(result.chars().next_back()) && digits(part.chars().next()) {
            result.push('_');
        }
        result.push_str(&capitalized(&part));
    }
    if result.is_empty() || result.starts_with(|c: char| c.is_ascii_digit()) {
        return usable(name.to_owned());
    }
    usable(result)
}

/// Names that are taken in one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken(BTreeSet<String>);

impl Taken {
    /// The first that is free of the wanted name, the original name, and the wanted name with underscores.
    pub(super) fn choose(&mut self, wanted: String, original: &str) -> String {
        let mut name = wanted.clone();
        if self.0.contains(&name) {
            name = usable(original.to_owned());
        }
        while self.0.contains(&name) {
            name = format!("{}_", if name.starts_with("r#") { name.trim_start_matches("r#") } else { &name });
        }
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_idiomatic() {
        for (name, expected) in [
            ("frameNumber", "frame_number"),
            ("shapesize", "shapesize"),
            ("GUIDPrefix", "guid_prefix"),
            ("x", "x"),
            ("type", "r#type"),
            ("self", "self_"),
            ("camera_id", "camera_id"),
            ("Value2D", "value2_d"),
            ("a__b_", "a_b"),
        ] {
            assert_eq!(snake(name), expected, "{name}");
        }
        for (name, expected) in [
            ("ShapeType", "ShapeType"),
            ("shape_type", "ShapeType"),
            ("GUID_s", "GuidS"),
            ("GUID", "GUID"),
            ("point", "Point"),
        ] {
            assert_eq!(type_name(name), expected, "{name}");
        }
        for (name, expected) in [
            ("RED", "Red"),
            ("RAW_I420", "RawI420"),
            ("V1_2", "V1_2"),
            ("Self", "Self_"),
            ("MixedCase", "MixedCase"),
            ("_1", "_1"),
        ] {
            assert_eq!(variant(name), expected, "{name}");
        }
        for (name, expected) in [("maxSize", "MAX_SIZE"), ("MAX", "MAX"), ("N", "N"), ("pi", "PI")] {
            assert_eq!(screaming(name), expected, "{name}");
        }
    }

    #[test]
    fn names_do_not_collide() {
        let mut taken = Taken::default();
        assert_eq!(taken.choose(snake("fooBar"), "fooBar"), "foo_bar");
        assert_eq!(taken.choose(snake("foo_bar"), "foo_bar"), "foo_bar_");
        assert_eq!(taken.choose(snake("FooBar"), "FooBar"), "FooBar");
        assert_eq!(taken.choose(snake("type"), "type"), "r#type");
        assert_eq!(taken.choose(snake("TYPE"), "TYPE"), "TYPE");
    }
}
