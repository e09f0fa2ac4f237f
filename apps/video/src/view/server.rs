//! The web server: one page, its WebSocket, and a stream of JPEG images.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Query, State, WebSocketUpgrade};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dunlin_program::page::{self, Server};

use super::hub::Hub;
use super::{mjpeg, session};

/// Ports tried when the usual one is taken.
const FURTHER_PORTS: u16 = 20;
const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'";

/// Decodes the messages of a [`session`] in a browser and draws them: a module of JavaScript, for other pages too.
pub const PLAYER: &str = include_str!("page/player.js");

/// Takes the address asked for, or the usual one, or the next free port after that.
///
/// # Errors
/// When the address asked for cannot be had, or no port is free.
pub fn bind(wanted: Option<SocketAddr>) -> Result<TcpListener> {
    if let Some(address) = wanted {
        return TcpListener::bind(address)
            .with_context(|| format!("cannot serve the page on {address}; choose another with --bind"));
    }
    let usual: SocketAddr = crate::cli::BIND.parse().context("the usual address")?;
    for port in usual.port()..=usual.port() + FURTHER_PORTS {
        match TcpListener::bind((usual.ip(), port)) {
            Ok(listener) => {
                if port != usual.port() {
                    dunlin_program::say!("port {} is taken, using {port}", usual.port());
                }
                return Ok(listener);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error).with_context(|| format!("cannot serve the page on {usual}")),
        }
    }
    let last = usual.port() + FURTHER_PORTS;
    anyhow::bail!("the ports {} to {last} are all taken; choose another with --bind", usual.port())
}

/// Serves what `hub` has to whoever connects to `listener`, until the server is dropped.
///
/// # Errors
/// When the system gives no threads or the listener cannot be used.
pub fn start(listener: TcpListener, hub: Arc<Hub>) -> Result<Server> {
    let loopback = listener.local_addr().context("the address of the page")?.ip().is_loopback();
    Server::start(listener, router(hub, loopback), 2).context("cannot start the web server")
}

#[derive(Clone)]
struct App {
    hub: Arc<Hub>,
    /// It is for this host alone.
    loopback: bool,
}

fn router(hub: Arc<Hub>, loopback: bool) -> Router {
    Router::new()
        .route("/", get(|| asset("text/html", include_str!("page/index.html"))))
        .route("/style.css", get(|| asset("text/css", include_str!("page/style.css"))))
        .route("/app.js", get(|| asset("text/javascript", include_str!("page/app.js"))))
        .route("/player.js", get(|| asset("text/javascript", PLAYER)))
        .route("/chart.js", get(|| asset("text/javascript", include_str!("page/chart.js"))))
        .route("/ws", get(open_session))
        .route("/mjpeg", get(open_mjpeg))
        .route("/status", get(status))
        .with_state(App { hub, loopback })
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    page::part(kind, POLICY, text)
}

async fn open_session(State(app): State<App>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade.max_message_size(session::MAX_COMMAND).on_upgrade(move |socket| session::serve(socket, app.hub))
}

async fn open_mjpeg(
    State(app): State<App>,
    headers: HeaderMap,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    mjpeg::response(&app.hub, query.get("camera").map(String::as_str))
}

async fn status(State(app): State<App>, headers: HeaderMap) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let text = serde_json::to_string(&app.hub.status()).unwrap_or_default();
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_address_is_refused() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = bind(Some(taken.local_addr().unwrap())).err().unwrap();
        assert!(error.to_string().contains("--bind"));
    }
}
