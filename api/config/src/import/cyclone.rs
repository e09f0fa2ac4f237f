//! The configuration of Cyclone DDS: what has a key of ours.

use roxmltree::Node;

use super::{Draft, elements, text};

/// Element and key with the same meaning and values that ours understands.
const SAME: &[(&str, &str)] = &[
    ("Domain/General/MaxMessageSize", "network.max_message_size"),
    ("Domain/Discovery/Tag", "domain.tag"),
    ("Domain/Discovery/SPDPInterval", "discovery.announcement_period"),
    ("Domain/Discovery/LeaseDuration", "discovery.lease_duration"),
    ("Domain/Discovery/SPDPMulticastAddress", "network.multicast_group_v4"),
    ("Domain/Discovery/Ports/Base", "ports.base"),
    ("Domain/Discovery/Ports/DomainGain", "ports.domain_gain"),
    ("Domain/Discovery/Ports/ParticipantGain", "ports.participant_gain"),
    ("Domain/Discovery/Ports/MulticastMetaOffset", "ports.d0"),
    ("Domain/Discovery/Ports/UnicastMetaOffset", "ports.d1"),
    ("Domain/Discovery/Ports/MulticastDataOffset", "ports.d2"),
    ("Domain/Discovery/Ports/UnicastDataOffset", "ports.d3"),
    ("Domain/Internal/HeartbeatInterval", "reliability.heartbeat_period"),
    ("Domain/Internal/NackDelay", "reliability.heartbeat_response_delay"),
];

pub(super) fn read(root: Node<'_, '_>, draft: &mut Draft<'_>) {
    for (number, domain) in elements(root).enumerate() {
        if domain.tag_name().name() != "Domain" || number > 0 {
            let what = format!("<{:.100}>", domain.tag_name().name());
            draft.leave_out(domain, what, "only the first <Domain> is read");
            continue;
        }
        match domain.attribute("Id").or_else(|| domain.attribute("id")) {
            None | Some("any") => {}
            Some(id) => draft.set_key(domain, "Id of <Domain>", "domain.id", id),
        }
        elements(domain).for_each(|section| read_element(section, "Domain", draft));
    }
    for key in ["discovery.peers", "network.interfaces"] {
        join_list(key, draft);
    }
}

fn read_element(node: Node<'_, '_>, above: &str, draft: &mut Draft<'_>) {
    let path = format!("{above}/{}", node.tag_name().name());
    let mut attributes: Vec<&str> = node.attributes().map(|attribute| attribute.name()).collect();
    let mut take = |name: &str| {
        attributes.retain(|known| !known.eq_ignore_ascii_case(name));
        node.attributes()
            .find(|attribute| attribute.name().eq_ignore_ascii_case(name))
            .map(|found| found.value())
    };
    match path.as_str() {
        "Domain/Discovery/Peers/Peer" | "Domain/General/Interfaces/NetworkInterface" => {
            let peers = path.ends_with("Peer");
            let key = if peers { "discovery.peers" } else { "network.interfaces" };
            match take("address").or_else(|| take("name")) {
                // Collected here, checked together.
                Some(value) => draft.want(node, key, key, value),
                None => draft.leave_out(node, path.as_str(), "it has neither name nor address"),
            }
        }
        "Domain/Internal/SocketReceiveBufferSize" => match take("min") {
            Some(size) => draft.set_key(node, &path, "network.receive_buffer", &in_our_units(size)),
            None => draft.leave_out(node, path.as_str(), "it has no min"),
        },
        "Domain/Internal/SocketSendBufferSize" => match take("min") {
            Some(size) => draft.set_key(node, &path, "network.send_buffer", &in_our_units(size)),
            None => draft.leave_out(node, path.as_str(), "it has no min"),
        },
        _ if elements(node).next().is_some() => {
            elements(node).for_each(|child| read_element(child, &path, draft))
        }
        _ => read_value(node, &path, draft),
    }
    for name in attributes {
        draft.leave_out(node, format!("{name:.100} of {path:.200}"), "no key has this meaning");
    }
}

fn read_value(node: Node<'_, '_>, path: &str, draft: &mut Draft<'_>) {
    let value = text(node);
    if let Some((_, key)) = SAME.iter().find(|(known, _)| *known == path) {
        return draft.set_key(node, path, key, &in_our_units(&value));
    }
    let wrong = format!("{value:.100} has no counterpart");
    match (path, value.as_str()) {
        // One or several, as releases before 0.10 have it.
        ("Domain/General/NetworkInterfaceAddress", "auto" | "default") => {}
        ("Domain/General/NetworkInterfaceAddress", _) => {
            draft.want(node, "network.interfaces", "network.interfaces", &value);
        }
        ("Domain/General/AllowMulticast", "true" | "default") => {
            draft.set_key(node, path, "network.multicast", "on")
        }
        ("Domain/General/AllowMulticast", "spdp") => draft.set_key(node, path, "network.multicast", "spdp"),
        ("Domain/General/AllowMulticast", "false") => draft.set_key(node, path, "network.multicast", "off"),
        ("Domain/General/Transport", "udp" | "default") => {
            draft.set_key(node, path, "network.ipv4", "true");
            draft.set_key(node, path, "network.ipv6", "false");
        }
        ("Domain/General/Transport", "udp6") => {
            draft.set_key(node, path, "network.ipv4", "false");
            draft.set_key(node, path, "network.ipv6", "true");
        }
        ("Domain/Discovery/ParticipantIndex", "none") => {
            draft.set_key(node, path, "network.participant_index", "ephemeral");
        }
        ("Domain/Discovery/ParticipantIndex", "auto") => {
            draft.set_key(node, path, "network.participant_index", "auto");
        }
        ("Domain/Discovery/ParticipantIndex", number) if number.parse::<u32>().is_ok() => {
            draft.set_key(node, path, "network.participant_index", number);
        }
        (
            "Domain/General/AllowMulticast"
            | "Domain/General/Transport"
            | "Domain/Discovery/ParticipantIndex",
            _,
        ) => draft.leave_out(node, path, wrong),
        _ => draft.leave_out(node, format!("{path:.200}"), "no key has this meaning"),
    }
}

/// A size or time in the units that mean the same here: its kB, MB and GB are powers of two, an hour is `hr`, and what has no
/// end is `inf`.
fn in_our_units(value: &str) -> String {
    const UNITS: &[(&str, &str)] =
        &[("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("hr", "h"), ("inf", "infinite")];
    let value = value.replace(' ', "");
    let (number, unit) = value.split_at(value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len()));
    match UNITS.iter().find(|(theirs, _)| *theirs == unit) {
        Some((_, ours)) => format!("{number}{ours}"),
        None => value,
    }
}

/// The values of a list that were collected one by one become one.
fn join_list(key: &str, draft: &mut Draft<'_>) {
    let values: Vec<String> =
        draft.keys.iter().filter(|known| known.key == key).map(|known| known.value.clone()).collect();
    draft.keys.retain(|known| known.key != key);
    if !values.is_empty() {
        let root = draft.document.root_element();
        draft.set_key(root, key, key, &values.join(","));
    }
}
