//! What Fast DDS says of a participant that is no QoS: domain, lease, initial peers, interfaces. Ours says it once for the
//! program, so one participant profile counts: the default one, or else the first.

use std::net::IpAddr;

use roxmltree::Node;

use super::values::value;
use super::{Dialect, Draft, elements, text};
use crate::value::Raw;

const OTHER: &str =
    "only what the default participant profile says, or else the first, becomes the configuration";
const NO_KEY: &str = "no key has this meaning";

/// The participant profile that counts.
pub(super) fn chosen<'a, 'd>(profiles: Node<'a, 'd>) -> Option<Node<'a, 'd>> {
    let all = || elements(profiles).filter(|node| is(*node, "participant"));
    all().find(|node| node.attribute("is_default_profile") == Some("true")).or_else(|| all().next())
}

/// Reads a part of a participant; false if it is none of these.
pub(super) fn read(part: Node<'_, '_>, counts: bool, draft: &mut Draft<'_>) -> bool {
    let name = part.tag_name().name();
    if !matches!(name, "domainId" | "builtin" | "userTransports") {
        return false;
    }
    if !counts {
        draft.leave_out(part, format!("<{name}>"), OTHER);
        return true;
    }
    match name {
        "domainId" => draft.set_key(part, "<domainId>", "domain.id", &text(part)),
        "builtin" => elements(part).for_each(|part| builtin(part, draft)),
        // Which descriptors count, see `transports`.
        _ => {}
    }
    true
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name
}

fn leave(node: Node<'_, '_>, draft: &mut Draft<'_>) {
    draft.leave_out(node, format!("<{:.100}>", node.tag_name().name()), NO_KEY);
}

fn builtin(part: Node<'_, '_>, draft: &mut Draft<'_>) {
    match part.tag_name().name() {
        "initialPeersList" => peers(part, draft),
        "discovery_config" => {
            for field in elements(part) {
                match field.tag_name().name() {
                    "leaseDuration" => duration(field, "discovery.lease_duration", draft),
                    "leaseAnnouncement" => duration(field, "discovery.announcement_period", draft),
                    _ => leave(field, draft),
                }
            }
        }
        _ => leave(part, draft),
    }
}

fn duration(field: Node<'_, '_>, key: &str, draft: &mut Draft<'_>) {
    let what = format!("<{}>", field.tag_name().name());
    match value(field, key, Dialect::FastDds) {
        Ok(Raw::Text(duration)) => draft.set_key(field, &what, key, &duration),
        _ => draft.leave_out(field, what, "expected sec and nanosec, or DURATION_INFINITY"),
    }
}

fn peers(list: Node<'_, '_>, draft: &mut Draft<'_>) {
    let mut peers = Vec::new();
    for locator in elements(list) {
        let way = elements(locator).find(|way| is(*way, "udpv4") || is(*way, "udpv6"));
        let part = |name: &str| elements(way?).find(|part| is(*part, name)).map(text);
        let Some(address) = part("address") else {
            draft.leave_out(
                locator,
                "<locator> of <initialPeersList>",
                "it has no address for udpv4 or udpv6",
            );
            continue;
        };
        if address.parse::<IpAddr>().is_ok_and(|address| address.is_multicast()) {
            let why = "a group is no peer: see network.multicast and network.multicast_group_v4";
            draft.leave_out(locator, format!("peer {address:.100}"), why);
            continue;
        }
        peers.push(match part("port") {
            Some(port) if address.contains(':') => format!("[{address}]:{port}"),
            Some(port) => format!("{address}:{port}"),
            None => address,
        });
    }
    if !peers.is_empty() {
        draft.set_key(list, "<initialPeersList>", "discovery.peers", &peers.join(","));
    }
}

/// The interfaces of the transports that the participant uses.
pub(super) fn transports(
    descriptors: Node<'_, '_>,
    participant: Option<Node<'_, '_>>,
    draft: &mut Draft<'_>,
) {
    let used: Vec<String> = participant
        .into_iter()
        .flat_map(|node| node.descendants().filter(|part| is(*part, "userTransports")))
        .flat_map(|list| elements(list).map(text).collect::<Vec<_>>())
        .collect();
    let mut interfaces = Vec::new();
    for descriptor in elements(descriptors) {
        let id = elements(descriptor).find(|part| is(*part, "transport_id")).map(text).unwrap_or_default();
        if !used.contains(&id) {
            draft.leave_out(descriptor, format!("transport '{id:.100}'"), OTHER);
            continue;
        }
        for part in elements(descriptor) {
            match (part.tag_name().name(), text(part).as_str()) {
                ("transport_id", _) | ("type", "UDPv4" | "UDPv6") => {}
                ("interfaceWhiteList", _) => interfaces.extend(elements(part).map(text)),
                ("interfaces", _) => allowed(part, &mut interfaces, draft),
                _ => leave(part, draft),
            }
        }
    }
    interfaces.dedup();
    if !interfaces.is_empty() {
        draft.set_key(descriptors, "interfaces", "network.interfaces", &interfaces.join(","));
    } else if elements(descriptors).next().is_none() {
        leave(descriptors, draft);
    }
}

/// The list of Fast DDS 3.
fn allowed(part: Node<'_, '_>, interfaces: &mut Vec<String>, draft: &mut Draft<'_>) {
    for list in elements(part) {
        if !is(list, "allowlist") {
            leave(list, draft);
            continue;
        }
        interfaces.extend(elements(list).filter_map(|one| one.attribute("name")).map(str::to_owned));
    }
}
