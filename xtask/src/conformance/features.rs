//! The features of RTPS 2.5, each of which needs a row in the section of the protocol.

use std::collections::BTreeSet;

const SECTION: &str = "RTPS 2.5";

/// The submessages (§8.3.8) and their parts, the rules of behaviour (§8.4), discovery (§8.5) and the mapping to UDP (§9).
const FEATURES: [&str; 51] = [
    "message structure",
    "receiver state",
    "unknown submessages",
    "header extension and checksums",
    "DATA",
    "DATA_FRAG",
    "GAP",
    "GAP with filteredCount",
    "HEARTBEAT",
    "HEARTBEAT_FRAG",
    "ACKNACK",
    "NACK_FRAG",
    "INFO_TS",
    "INFO_DST",
    "INFO_SRC",
    "INFO_REPLY",
    "INFO_REPLY_IP4",
    "PAD",
    "security submessages",
    "final flag of HEARTBEAT",
    "final flag of ACKNACK",
    "liveliness flag of HEARTBEAT",
    "group information of HEARTBEAT",
    "counts",
    "pre-emptive ACKNACK",
    "inline QoS",
    "EXPECTS_INLINE_QOS",
    "STATUS_INFO",
    "key hashes",
    "directed write",
    "original writer information",
    "related sample identity",
    "coherent set",
    "group coherent set",
    "group sequence number",
    "content filter information",
    "must-understand parameters",
    "vendor parameters",
    "reliable writers and readers",
    "best-effort writers and readers",
    "stateless writers",
    "fragmentation",
    "SPDP and leases",
    "SEDP",
    "writer liveliness protocol",
    "TypeLookup service",
    "content filter in discovery",
    "filtering at the writer",
    "addresses that appear",
    "port mapping",
    "UDP over IPv4 and IPv6",
];

/// What a row names: its parts between commas, without clauses in parentheses.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(',').map(|part| part.split(" (").next().unwrap_or(part).trim())
}

/// The features that no row names, of rows with the titles of their sections.
pub fn missing(rows: &[(&str, &str)]) -> Vec<String> {
    let of_section = rows.iter().filter(|(title, _)| title.starts_with(SECTION));
    let named: BTreeSet<&str> = of_section.flat_map(|(_, name)| parts(name)).collect();
    let left = FEATURES.iter().filter(|feature| !named.contains(*feature));
    left.map(|feature| format!("the feature {feature} of \"{SECTION}\" has no row")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_without_a_row_are_named() {
        let rows_but = |but: &str| -> Vec<(&str, &str)> {
            FEATURES.iter().filter(|feature| **feature != but).map(|feature| (SECTION, *feature)).collect()
        };
        assert_eq!(missing(&rows_but("")), [""; 0]);
        // A longer name, or a row of another section, is no help.
        let mut rows = rows_but("GAP");
        rows.push(("Entities (§2.2.2.1)", "GAP"));
        assert_eq!(missing(&rows), ["the feature GAP of \"RTPS 2.5\" has no row"]);
        rows.push((SECTION, "GAP (§8.3.8.4), both byte orders"));
        assert_eq!(missing(&rows), [""; 0]);
        assert_eq!(missing(&[]).len(), FEATURES.len());
    }
}
