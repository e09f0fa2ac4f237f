//! Pages for a browser on this host.

use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN};
use axum::response::{IntoResponse, Response};

/// Whether a request comes from our own page and not from another site that is open in the same browser: the origin is the
/// host asked for, and a server for this machine alone (`loopback`) is asked by a name of this machine.
#[must_use]
pub fn is_ours(headers: &HeaderMap, loopback: bool) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST).unwrap_or_default();
    let same_site = text(ORIGIN).is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
    });
    same_site && (!loopback || is_this_machine(host))
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

/// A part of a page, `kind` being its media type and `policy` what it may load (Content-Security-Policy).
#[must_use]
pub fn part(kind: &str, policy: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (CACHE_CONTROL, "no-cache".to_owned()),
        (CONTENT_SECURITY_POLICY, policy.to_owned()),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sites_get_nothing() {
        let cases = [
            ("localhost:8080", Some("http://localhost:8080"), true, true),
            ("127.0.0.1:8080", None, true, true),
            ("[::1]:8080", Some("http://[::1]:8080"), true, true),
            ("127.0.0.1:8080", Some("http://evil.example"), false, false),
            ("evil.example:8080", Some("http://evil.example:8080"), false, true),
            ("camera-host:8080", Some("http://camera-host:8080"), false, true),
            ("localhost:8080", Some("null"), false, false),
        ];
        for (host, origin, on_loopback, elsewhere) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(is_ours(&headers, true), on_loopback, "{host} {origin:?}");
            assert_eq!(is_ours(&headers, false), elsewhere, "{host} {origin:?}");
        }
    }
}
