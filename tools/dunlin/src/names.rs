//! Names for people: vendors, and what ROS 2 calls its topics and types.

use clap::Args;
use dunlin::{Cause, DomainParticipant, VendorId};
use dunlin_program::sanitize;

/// The topic that a command is about.
#[derive(Args)]
pub struct TopicName {
    /// Name of the topic, as on the wire or as ROS 2 has it: /chatter, or "requests to /add"
    topic: String,
    /// Take and print names as they are on the wire, not as ROS 2 has them
    #[arg(long)]
    raw_names: bool,
}

impl TopicName {
    /// As it was asked for.
    pub fn given(&self) -> &str {
        &self.topic
    }

    /// Whether a name on the wire is the topic's.
    fn is(&self, name: &str) -> bool {
        name == self.topic || (!self.raw_names && ros_wire_name(&self.topic).as_deref() == Some(name))
    }

    /// Its name on the wire among the names that there are. Who has exactly this name goes before ROS 2.
    pub fn among<'a>(&self, mut names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
        names.clone().find(|name| *name == self.topic).or_else(|| names.find(|name| self.is(name)))
    }

    /// Its name on the wire, in a domain in which perhaps nobody has it.
    pub fn in_domain(&self, participant: &DomainParticipant) -> String {
        let (writers, readers) =
            (participant.discovered_publications(), participant.discovered_subscriptions());
        let writers = writers.iter().map(|it| &*it.topic_name);
        let names = writers.chain(readers.iter().map(|it| &*it.topic_name));
        self.among(names).map_or_else(|| self.wire_name(), str::to_owned)
    }

    /// The topic that was probably meant, as a question, if nobody has this one.
    pub fn meant(&self, participant: &DomainParticipant) -> String {
        let explanation = participant.explain_topic(&self.wire_name());
        let similar = explanation.causes.iter().find_map(|cause| match cause {
            Cause::NoCounterpart { similar, .. } => similar.as_deref(),
            _ => None,
        });
        similar.map_or_else(String::new, |name| format!(" (did you mean '{}'?)", sanitize(name)))
    }

    /// The name on the wire of a topic that nobody has yet.
    pub fn wire_name(&self) -> String {
        let ros = if self.raw_names { None } else { ros_wire_name(&self.topic) };
        ros.unwrap_or_else(|| self.topic.clone())
    }

    /// The name of a type for people.
    pub fn type_name(&self, name: &str) -> String {
        self.ros_type(name).unwrap_or_else(|| name.to_owned())
    }

    /// What ROS 2 calls a type, unless names are told as they are on the wire.
    pub fn ros_type(&self, name: &str) -> Option<String> {
        if self.raw_names { None } else { ros_type(name) }
    }
}

/// The vendor, or its number where it is not known.
pub fn vendor(id: VendorId) -> String {
    let name = id.name();
    if name == "unknown" { id.to_string() } else { name.to_owned() }
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

/// The name on the wire of what [`ros_topic`] tells; of a topic also without the word.
fn ros_wire_name(name: &str) -> Option<String> {
    let words = [
        ("topic ", "rt", ""),
        ("requests to ", "rq", "Request"),
        ("replies of ", "rr", "Reply"),
        ("", "rt", ""),
    ];
    words.iter().find_map(|(words, prefix, suffix)| {
        let name = name.strip_prefix(words).filter(|name| name.starts_with('/'))?;
        Some(format!("{prefix}{name}{suffix}"))
    })
}

/// The names that a type may have in IDL: `std_msgs/msg/String` is the type that ROS 2 announces, made of its .msg, or that
/// of its .idl.
pub fn idl_types(name: &str) -> Vec<String> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [package, kind, name] => {
            vec![format!("{package}::{kind}::dds_::{name}_"), format!("{package}::{kind}::{name}")]
        }
        _ => vec![name.to_owned()],
    }
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
    fn names_of_ros_2_are_accepted() {
        let topic = |topic: &str, raw_names| TopicName { topic: topic.into(), raw_names };
        for wire in ["rt/chatter", "rq/a/addRequest", "rr/addReply"] {
            let told = ros_topic(wire).unwrap();
            assert_eq!(topic(&told, false).wire_name(), wire);
            assert_eq!(topic(wire, false).wire_name(), wire);
        }
        let wire = ["rt/chatter", "/chatter", "rt/other"];
        assert_eq!(topic("/chatter", false).among(wire.into_iter()), Some("/chatter"));
        assert_eq!(topic("/other", false).among(wire.into_iter()), Some("rt/other"));
        assert_eq!(topic("/other", true).among(wire.into_iter()), None);
        assert_eq!(topic("other", false).among(wire.into_iter()), None);
        assert_eq!(topic("/other", true).wire_name(), "/other");
        let announced = "std_msgs::msg::dds_::String_";
        assert_eq!(idl_types(&ros_type(announced).unwrap()), [announced, "std_msgs::msg::String"]);
        assert_eq!(idl_types("M::T"), ["M::T"]);
    }

    #[test]
    fn vendors_have_names_or_numbers() {
        assert_eq!(vendor(VendorId::DUNLIN), "Dunlin");
        assert_eq!(vendor(VendorId([1, 16])), "Cyclone DDS");
        assert_eq!(vendor(VendorId([9, 9])), "09.09");
    }
}
