//! Names for people: vendors, what ROS 2 calls its topics and types, and names of strangers that a terminal can show.

use dunlin::VendorId;

/// The vendor, or its number where it is not known.
pub fn vendor(id: VendorId) -> String {
    let name = id.name();
    if name == "unknown" { id.to_string() } else { name.to_owned() }
}

/// What a stranger named, without what a terminal would obey or what would begin another line.
pub fn harmless(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The same for several lines, which stay lines.
pub fn harmless_lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

/// What ROS 2 calls a topic: `rt/chatter` is the topic `/chatter`, `rq/addRequest` the requests to the service `/add`.
pub fn ros_topic(topic: &str) -> Option<String> {
    let (prefix, rest) = topic.split_once('/')?;
    let (kind, name) = match prefix {
        "rt" => ("topic", rest),
        "rq" => ("requests to", rest.strip_suffix("Request")?),
        "rr" => ("replies of", rest.strip_suffix("Reply")?),
        _ => return None,
    };
    Some(format!("{kind} /{name}"))
}

/// What ROS 2 calls a type: `std_msgs::msg::dds_::String_` is `std_msgs/msg/String`.
pub fn ros_type(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split("::").collect();
    match parts[..] {
        [package, kind, "dds_", name] => Some(format!("{package}/{kind}/{}", name.strip_suffix('_')?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ros_2() {
        assert_eq!(ros_topic("rt/chatter").as_deref(), Some("topic /chatter"));
        assert_eq!(ros_topic("rq/a/addRequest").as_deref(), Some("requests to /a/add"));
        assert_eq!(ros_topic("rr/addReply").as_deref(), Some("replies of /add"));
        assert_eq!(ros_topic("Square"), None);
        assert_eq!(ros_type("std_msgs::msg::dds_::String_").as_deref(), Some("std_msgs/msg/String"));
        assert_eq!(ros_type("ShapeType"), None);
    }

    #[test]
    fn vendors_have_names_or_numbers() {
        assert_eq!(vendor(VendorId::DUNLIN), "Dunlin");
        assert_eq!(vendor(VendorId([1, 16])), "Cyclone DDS");
        assert_eq!(vendor(VendorId([9, 9])), "09.09");
    }

    #[test]
    fn names_do_not_control_the_terminal() {
        assert_eq!(harmless("A\u{1b}[2J\n\u{9b}B"), "A\u{fffd}[2J\u{fffd}\u{fffd}B");
        assert_eq!(harmless_lines("struct A\u{1b}[2J {\n}\n"), "struct A\u{fffd}[2J {\n}\n");
    }
}
