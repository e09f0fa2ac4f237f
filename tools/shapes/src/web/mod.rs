//! Shapes on a page: a server for browsers on this host, and a WebSocket that shows the board and takes wishes.

mod session;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dunlin_program::Stop;
use dunlin_program::page::{self, Server};
use tokio::sync::watch;

use crate::board::Board;
use crate::cli::PERIOD;

/// The page needs nothing but itself.
const POLICY: &str = "default-src 'self'; frame-ancestors 'none'";

#[derive(Clone)]
struct App {
    board: Arc<Board>,
    /// The board as JSON, made once for all pages.
    view: watch::Receiver<String>,
}

/// Serves the page until `stop` is set.
pub fn run(board: &Arc<Board>, port: u16, stop: &Stop, out: &mut dyn Write) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("port {port} cannot be had; choose another with --web"))?;
    let (newest, view) = watch::channel(String::new());
    let app = router(App { board: Arc::clone(board), view });
    let server = Server::start(listener, app, 2).context("cannot start the web server")?;
    writeln!(out, "open {} to see the shapes; Ctrl-C ends", server.url())?;
    out.flush()?;
    loop {
        board.tick();
        newest.send_replace(serde_json::to_string(&board.view())?);
        if stop.wait(PERIOD) {
            break;
        }
    }
    Ok(())
}

fn router(app: App) -> Router {
    Router::new()
        .route("/", get(|| asset("text/html", include_str!("page/index.html"))))
        .route("/style.css", get(|| asset("text/css", include_str!("page/style.css"))))
        .route("/app.js", get(|| asset("text/javascript", include_str!("page/app.js"))))
        .route("/draw.js", get(|| asset("text/javascript", include_str!("page/draw.js"))))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/ws", get(open_session))
        .with_state(app)
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    page::part(kind, POLICY, text)
}

async fn open_session(State(app): State<App>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    if !page::is_ours(&headers, true) {
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade
        .max_message_size(session::MAX_WISH)
        .on_upgrade(move |socket| session::serve(socket, app.board, app.view))
}
