//! Whether a request comes from our own page and not from another site that is open in the same browser.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// The page was asked for by a name of this machine, and the request comes from the page.
pub fn is_ours(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST).unwrap_or_default();
    let same_site = text(ORIGIN).is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
    });
    same_site && is_this_machine(host)
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sites_get_nothing() {
        for (host, origin, ours) in [
            ("localhost:8080", Some("http://localhost:8080"), true),
            ("127.0.0.1:8080", None, true),
            ("127.0.0.1:8080", Some("http://evil.example"), false),
            ("evil.example:8080", Some("http://evil.example:8080"), false),
            ("localhost:8080", Some("null"), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(is_ours(&headers), ours, "{host} {origin:?}");
        }
    }
}
