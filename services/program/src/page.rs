//! Pages for a browser on this host.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN};
use axum::middleware::map_request;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::time::Sleep;
use tokio_io_timeout::TimeoutStream;

/// What those who connect may take of a server.
#[derive(Clone, Copy)]
struct Limits {
    /// Connections that are served at once; further ones wait to be accepted.
    connections: usize,
    /// How long the head of a request may take, also of the next one on the same connection.
    head: Duration,
    /// How long the rest of a request may take.
    body: Duration,
    /// How long a browser may take nothing of what is sent to it.
    write: Duration,
}

const LIMITS: Limits = Limits {
    connections: 256,
    head: Duration::from_secs(10),
    body: Duration::from_secs(10),
    write: Duration::from_secs(30),
};
/// How long what runs may go on when a server ends.
const END: Duration = Duration::from_millis(300);
/// After which a listener is tried again that could not accept, for want of descriptors as a rule.
const PAUSE: Duration = Duration::from_millis(50);

/// A page that is served as long as this is there.
pub struct Server {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    /// Serves `app` to who connects to `listener`, by so many threads. Who connects and says nothing, says it too slowly, or
    /// takes nothing of the answer, is left.
    ///
    /// # Errors
    /// When the system gives no thread, or the listener cannot be used.
    pub fn start(listener: std::net::TcpListener, app: Router, threads: usize) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(4)
            .thread_name("web")
            .enable_all()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        runtime.spawn(serve_within(listener, app, LIMITS));
        Ok(Self { address, runtime: Some(runtime) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open, for people on this host.
    #[must_use]
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        format!("http://{address}/")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END);
        }
    }
}

async fn serve_within(listener: TcpListener, app: Router, limits: Limits) {
    let room = Arc::new(Semaphore::new(limits.connections));
    let timely = move |request: Request| async move { request.map(|body| Timely::of(body, limits.body)) };
    let app = app.layer(map_request(timely));
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(limits.head);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.write));
        let served = server.serve_connection(TokioIo::new(Box::pin(stream)), service).with_upgrades();
        tokio::spawn(async move {
            // A connection that breaks concerns nobody but who was at its other end.
            _ = served.await;
            drop(place);
        });
    }
}

/// What follows the head of a request. It has to come within a time.
struct Timely {
    body: Body,
    end: Pin<Box<Sleep>>,
}

impl Timely {
    fn of(body: Body, longest: Duration) -> Body {
        Body::new(Self { body, end: Box::pin(tokio::time::sleep(longest)) })
    }
}

impl hyper::body::Body for Timely {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        let late = || Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut))));
        self.end.as_mut().poll(context).map(|()| late())
    }
}

/// Whether a request comes from our own page and not from another site that is open in the same browser: the origin is the
/// host asked for, and a server for this machine alone (`loopback`) is asked by a name of this machine. Images and forms of
/// another site come without an origin; browsers say of them where they come from (Sec-Fetch-Site).
#[must_use]
pub fn is_ours(headers: &HeaderMap, loopback: bool) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST.as_str()).unwrap_or_default();
    let same_site = text(ORIGIN.as_str()).is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
    });
    let from_here = text("sec-fetch-site").is_none_or(|from| ["same-origin", "none"].contains(&from));
    same_site && from_here && (!loopback || is_this_machine(host))
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

    /// A server for the rest of the process, which is patient for 100 ms.
    fn impatient(app: Router, connections: usize) -> SocketAddr {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let longest = Duration::from_millis(100);
        std::thread::spawn(move || {
            runtime.block_on(serve_within(
                listener,
                app,
                Limits { connections, head: longest, body: longest, write: longest },
            ))
        });
        address
    }

    /// So many, each of which begins to ask.
    fn beginnings(count: usize, address: SocketAddr, octets: &[u8]) -> Vec<TcpStream> {
        let begin = |_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(octets).unwrap();
            stream
        };
        (0..count).map(begin).collect()
    }

    #[test]
    fn an_http_client_that_reads_nothing_blocks_no_other() {
        // More than any socket has room for.
        let large = axum::body::Bytes::from(vec![0; 32 << 20]);
        let app =
            Router::new().route("/", get(|| async { "here" })).route("/large", get(|| async move { large }));
        let address = impatient(app, 4);
        let deaf = beginnings(10, address, b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let begin = Instant::now();
        let mut honest = TcpStream::connect(address).unwrap();
        honest.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        honest.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("here"), "{answer}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        drop(deaf);
    }

    #[test]
    fn an_http_client_with_an_unfinished_request_blocks_no_other() {
        let form = axum::routing::post(|_: Bytes| async { "taken" });
        let app = Router::new().route("/", get(|| async { "here" })).route("/form", form);
        let address = impatient(app, 4);
        let head = b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nfrom=";
        let slow = beginnings(10, address, head);
        let mut honest = TcpStream::connect(address).unwrap();
        honest.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        honest.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        honest.read_to_string(&mut answer).expect("an answer within 20 s");
        assert!(answer.ends_with("here"), "{answer}");
        drop(slow);
    }

    #[test]
    fn a_silent_http_client_blocks_no_other() {
        let address = impatient(Router::new().route("/", get(|| async { "here" })), 256);
        let mut silent = beginnings(276, address, b"GET / HTTP/1.1\r\nHost: ");
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
    fn requests_of_foreign_hosts_and_origins_are_refused() {
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

    #[test]
    fn images_of_other_sites_get_nothing() {
        for (from, is_one) in
            [("same-origin", true), ("none", true), ("cross-site", false), ("same-site", false)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "127.0.0.1:8090".parse().unwrap());
            headers.insert("sec-fetch-site", from.parse().unwrap());
            assert_eq!((is_ours(&headers, true), is_ours(&headers, false)), (is_one, is_one), "{from}");
        }
    }
}
