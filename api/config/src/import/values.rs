//! Values of policies in XML (OMG DDS-XML 1.0 §7.2.4), and what Fast DDS writes in their place.

use dunlin_core::Duration;
use roxmltree::Node;

use super::{Dialect, elements, text};
use crate::units::print_duration;
use crate::value::Raw;

const NANOS: i64 = 1_000_000_000;
/// What the standard writes behind the kinds of a policy.
const SUFFIXES: &[&str] = &[
    "_DURABILITY_QOS",
    "_HISTORY_QOS",
    "_RELIABILITY_QOS",
    "_OWNERSHIP_QOS",
    "_LIVELINESS_QOS",
    "_PRESENTATION_QOS",
    "_DESTINATIONORDER_QOS",
    "_DESTINATION_ORDER_QOS",
    "_QOS",
];

/// What a field says, as its place in our schema wants it.
pub(super) fn value(field: Node<'_, '_>, path: &str, dialect: Dialect) -> Result<Raw, String> {
    match path {
        "user_data.value" | "topic_data.value" | "group_data.value" => return octets(field, dialect),
        "partition.names" => return Ok(list(field, str::to_owned)),
        "representation.ids" => return Ok(list(field, representation)),
        _ => {}
    }
    let parts: Vec<(&str, String)> =
        elements(field).map(|part| (part.tag_name().name(), text(part))).collect();
    if parts.is_empty() {
        let is_kind = path.ends_with("kind") || path.ends_with(".access_scope");
        return Ok(match scalar(&text(field)) {
            _ if is_kind => Raw::Text(kind(&text(field))),
            // Without a limit, in RESOURCE_LIMITS of Fast DDS.
            Raw::Integer(..=0) if dialect == Dialect::FastDds && path.starts_with("resource_limits.max_") => {
                Raw::Integer(-1)
            }
            value => value,
        });
    }
    let of_time = |name: &str| matches!(name, "sec" | "seconds" | "nanosec" | "nanoseconds");
    if parts.iter().all(|(name, _)| of_time(name)) {
        return Ok(time(&parts).map_or_else(|| Raw::Other("no duration".into()), Raw::Text));
    }
    Ok(Raw::List(parts.into_iter().map(|(_, text)| Raw::Text(text)).collect()))
}

/// The elements inside a field, or its one text.
fn list(field: Node<'_, '_>, item: impl Fn(&str) -> String) -> Raw {
    let mut parts: Vec<String> = elements(field).map(text).collect();
    if parts.is_empty() {
        parts.push(text(field));
    }
    Raw::List(parts.into_iter().map(|part| Raw::Text(item(&part))).collect())
}

fn representation(text: &str) -> String {
    match text.to_ascii_uppercase().as_str() {
        "XCDR" | "XCDR_DATA_REPRESENTATION" | "XCDR1" => "xcdr1".into(),
        "XCDR2" | "XCDR2_DATA_REPRESENTATION" => "xcdr2".into(),
        _ => text.into(),
    }
}

/// Octets as numbers: the standard separates them by commas, decimal or with 0x. Fast DDS separates them by dots; where
/// decimal and hexadecimal would differ, nothing is guessed.
fn octets(field: Node<'_, '_>, dialect: Dialect) -> Result<Raw, String> {
    let text = text(field);
    if text.is_empty() && elements(field).next().is_none() {
        return Ok(Raw::List(Vec::new()));
    }
    let number = |item: &str| {
        let item = item.trim();
        let hex = item.strip_prefix("0x").or_else(|| item.strip_prefix("0X"));
        let octet = hex.map_or_else(|| item.parse(), |digits| u8::from_str_radix(digits, 16)).ok()?;
        Some(Raw::Integer(octet.into()))
    };
    let digit = |item: &str| if item.len() == 1 { number(item) } else { None };
    let (found, expected): (Option<Vec<Raw>>, _) = match dialect {
        Dialect::FastDds => (
            text.split('.').map(digit).collect(),
            "bytes of one digit, separated by dots; larger ones may be decimal or hexadecimal",
        ),
        _ => (
            text.split(',').map(number).collect(),
            "bytes as numbers from 0 to 255 or 0x00 to 0xff, separated by commas",
        ),
    };
    found.map(Raw::List).ok_or_else(|| format!("expected {expected}: set it in the file by hand"))
}

fn time(parts: &[(&str, String)]) -> Option<String> {
    if parts.iter().any(|(_, text)| text.contains("INFINIT")) {
        return Some("infinite".into());
    }
    let mut total = 0_i64;
    for (name, text) in parts {
        let number = i64::from(text.parse::<u32>().ok()?);
        let nanos = if name.starts_with("sec") { number.checked_mul(NANOS)? } else { number };
        total = total.checked_add(nanos)?;
    }
    // As the standard encodes it in numbers.
    let infinite = parts.iter().any(|(name, text)| name.starts_with("sec") && text == "2147483647");
    Some(print_duration(if infinite { Duration::INFINITE } else { Duration::from_nanos(total) }))
}

/// `RELIABLE_RELIABILITY_QOS` as `reliable`.
fn kind(text: &str) -> String {
    let kind = SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)).unwrap_or(text);
    kind.to_ascii_lowercase()
}

/// Texts stay as they are.
fn scalar(text: &str) -> Raw {
    match text {
        "true" | "TRUE" => Raw::Bool(true),
        "false" | "FALSE" => Raw::Bool(false),
        "LENGTH_UNLIMITED" | "UNLIMITED" => Raw::Integer(-1),
        _ if text.contains("DURATION_INFINIT") => Raw::Text("infinite".into()),
        _ => text.parse().map_or_else(|_| Raw::Text(text.into()), Raw::Integer),
    }
}
