//! Topics and keys, in the conventions of zenoh-plugin-dds and zenoh-plugin-ros2dds.

use zenoh::key_expr::OwnedKeyExpr;

/// How topics and keys belong together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Convention {
    /// That of zenoh-plugin-dds: `[scope/][partition/]topic`.
    #[default]
    Dds,
    /// That of zenoh-plugin-ros2dds: `[namespace/]name`, for topics whose names begin with `rt/`.
    Ros2Dds,
}

/// What stands for `/` in a part of a key that names another key.
const SLASH: &str = "§";
/// Longest key.
const MAX_KEY: usize = 1024;

/// Whether a text can stand in front of keys.
pub(crate) fn check_scope(scope: &str) -> Result<(), String> {
    check(scope).map(drop)
}

fn check(key: &str) -> Result<OwnedKeyExpr, String> {
    if key.len() > MAX_KEY {
        return Err(format!("a key has at most {MAX_KEY} bytes"));
    }
    if key.contains(['*', '$', '?', '#', '§']) {
        return Err("a key has none of * $ ? # §".to_owned());
    }
    if key.split('/').any(|chunk| chunk.starts_with('@')) {
        return Err("no part of it may begin with @".to_owned());
    }
    OwnedKeyExpr::autocanonize(key.to_owned())
        .ok()
        .filter(|canonical| canonical.as_str() == key)
        .ok_or_else(|| "a key is parts with / between them, none of them empty".to_owned())
}

/// The key of a topic in a partition.
///
/// # Errors
/// Why it has none, for people.
pub(crate) fn of_topic(
    convention: Convention,
    scope: Option<&str>,
    topic: &str,
    partition: &str,
) -> Result<OwnedKeyExpr, String> {
    let name = match convention {
        Convention::Dds => topic,
        Convention::Ros2Dds if !partition.is_empty() => {
            return Err("topics of ROS 2 are in no partition; take convention = \"dds\"".to_owned());
        }
        Convention::Ros2Dds => topic.strip_prefix("rt/").ok_or_else(|| {
            "it is no topic of ROS 2, whose names begin with rt/; take convention = \"dds\"".to_owned()
        })?,
    };
    let parts = [scope.unwrap_or_default(), partition, name];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    check(&parts.join("/")).map_err(|why| format!("its name cannot be a key: {why}"))
}

/// A key or a name as one part of another key.
pub(crate) fn escape(name: &str) -> String {
    name.replace('/', SLASH)
}

/// The name that was escaped.
pub(crate) fn unescape(part: &str) -> String {
    part.replace(SLASH, "/")
}

/// The type of a ROS 2 message by the name of its DDS type: `std_msgs::msg::dds_::String_` is `std_msgs/msg/String`.
pub(crate) fn ros2_type(dds: &str) -> String {
    let name = dds.replace("::dds_::", "::").replace("::", "/");
    name.strip_suffix('_').unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(
        convention: Convention,
        scope: Option<&str>,
        topic: &str,
        partition: &str,
    ) -> Result<String, String> {
        of_topic(convention, scope, topic, partition).map(|key| key.to_string())
    }

    #[test]
    fn topics_have_the_keys_of_the_official_plugins() {
        let dds = |scope, topic, partition| key(Convention::Dds, scope, topic, partition).unwrap();
        assert_eq!(dds(None, "Square", ""), "Square");
        assert_eq!(dds(Some("site/a"), "rt/chatter", "P"), "site/a/P/rt/chatter");
        let ros = |scope, topic| key(Convention::Ros2Dds, scope, topic, "");
        assert_eq!(ros(None, "rt/chatter").unwrap(), "chatter");
        assert_eq!(ros(Some("bot1"), "rt/arm/state").unwrap(), "bot1/arm/state");
        assert!(ros(None, "Square").unwrap_err().contains("rt/"));
        assert!(key(Convention::Ros2Dds, None, "rt/a", "P").is_err());
        assert_eq!(ros2_type("std_msgs::msg::dds_::String_"), "std_msgs/msg/String");
    }

    #[test]
    fn invalid_key_expressions_are_refused() {
        for topic in ["a//b", "/a", "a/", "a*", "$x", "a?b", "a#b", "@a", "a/@adv/b", "a§b"] {
            assert!(key(Convention::Dds, None, topic, "").is_err(), "{topic}");
        }
        assert!(key(Convention::Dds, None, &"x".repeat(2000), "").is_err());
        assert_eq!(unescape(&escape("a/b")), "a/b");
    }
}
