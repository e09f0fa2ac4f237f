use alloc::{string::ToString, vec::Vec};

use super::*;

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn lists_match_in_both_directions() {
    let rows: [(&[&str], &[&str], bool); 14] = [
        (&[], &[], true),
        (&[], &[""], true),
        (&[""], &[""], true),
        (&[], &["*"], true),
        (&[], &["A"], false),
        (&[], &["?"], false),
        (&["A"], &["A"], true),
        (&["A"], &["a"], false),
        (&["A", "B"], &["C", "B"], true),
        (&["A", "B"], &["C", "D"], false),
        (&["a?"], &["ab"], true),
        (&["*"], &["*"], false),
        (&["a*"], &["a?"], false),
        (&["a*", "x"], &["a?", "x"], true),
    ];
    for (left, right, expected) in rows {
        assert_eq!(partitions_match(&names(left), &names(right)), expected, "{left:?} {right:?}");
        assert_eq!(partitions_match(&names(right), &names(left)), expected, "{right:?} {left:?}");
    }
}

#[test]
fn patterns() {
    let rows = [
        ("*", "", true),
        ("**", "abc", true),
        ("a*", "a", true),
        ("a*c", "abbbc", true),
        ("a*c", "abbb", false),
        ("*a*b*", "xxaxxbxx", true),
        ("*ab", "aab", true),
        ("*.example", "a.b.example", true),
        ("?", "", false),
        ("?", "ab", false),
        ("??", "äß", true),
        ("[abc]x", "bx", true),
        ("[abc]x", "dx", false),
        ("[a-cX]", "b", true),
        ("[a-cX]", "X", true),
        ("[!a-c]", "d", true),
        ("[!a-c]", "b", false),
        ("[]]", "]", true),
        ("[!]]", "]", false),
        ("[a-]", "-", true),
        ("[a-]", "b", false),
        ("[ab*", "a", false),
        ("a\\*", "a\\bc", true),
        ("room/[0-9]*/lamp?", "room/12a/lamp7", true),
        ("room/[0-9]*/lamp?", "room/a12/lamp7", false),
    ];
    for (pattern, name, expected) in rows {
        assert!(is_partition_pattern(pattern));
        assert_eq!(partition_names_match(pattern, name), expected, "{pattern} {name}");
        assert_eq!(partition_names_match(name, pattern), expected, "{name} {pattern}");
    }
}

#[test]
fn a_bracket_that_is_not_closed_stands_for_itself() {
    for name in ["a[b", "[", "[]", "[!]", "x[[", "]["] {
        assert!(!is_partition_pattern(name), "{name}");
        assert!(partition_names_match(name, name) && partition_names_match("*", name), "{name}");
        assert!(!partition_names_match(name, "a"), "{name}");
    }
    assert!(is_partition_pattern("[[]") && is_partition_pattern("x[a]") && is_partition_pattern("[]]"));
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn hostile_patterns_take_bounded_time() {
    let pattern = "*a".repeat(2_000);
    let name = "a".repeat(4_000) + "b";
    assert!(!partition_names_match(&pattern, &name));
    let brackets = "[".repeat(4_000);
    assert!(!partition_names_match(&brackets, &"x".repeat(4_000)));
}
