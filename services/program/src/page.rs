//! Pages for a browser on this host.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Connections that are served at once; further ones wait to be accepted.
const MOST_CONNECTIONS: usize = 256;
/// How long the head of a request may take, also of the next one on the same connection.
const LONGEST_HEAD: Duration = Duration::from_secs(10);
/// After which a listener is tried again that could not accept, for want of descriptors as a rule.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves a page as long as this is awaited. Who connects and says nothing, or says it too slowly, is left.
pub async fn serve(listener: TcpListener, app: Router) {
    serve_within(listener, app, LONGEST_HEAD).await;
}

async fn serve_within(listener: TcpListener, app: Router, longest_head: Duration) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(longest_head);
        let served = server.serve_connection(TokioIo::new(stream), service).with_upgrades();
        tokio::spawn(async move {
            // A connection that breaks concerns nobody but who was at its other end.
            _ = served.await;
            drop(place);
        });
    }
}

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
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use axum::routing::get;

    use super::*;

    /// More than are served at once.
    #[test]
    fn who_says_nothing_is_left_and_keeps_nobody_out() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/", get(|| async { "here" }));
        std::thread::spawn(move || runtime.block_on(serve_within(listener, app, Duration::from_millis(100))));
        let half_open = || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        };
        let mut silent: Vec<_> = (0..MOST_CONNECTIONS + 20).map(|_| half_open()).collect();
        let begin = Instant::now();
        let mut honest = TcpStream::connect(address).unwrap();
        honest.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        honest.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("here"), "{answer}");
        for stream in &mut silent {
            // Its end, perhaps behind a word about the timeout.
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            _ = stream.read_to_end(&mut vec![]);
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }

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
