//! Shapes on a page: a server for browsers on this host, and a WebSocket that shows the board and takes wishes.

mod session;

use crate::board::Board;
use crate::cli::PERIOD;
use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dunlin_program::{Stop, page};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

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
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("web")
        .enable_all()
        .build()
        .context("cannot start the web server")?;
    let (newest, view) = watch::channel(String::new());
    let app = router(App { board: Arc::clone(board), view });
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    runtime.spawn(dunlin_program::page::serve(listener, app));
    writeln!(out, "open http://{address}/ to see the shapes; Ctrl-C ends")?;
    out.flush()?;
    loop {
        board.tick();
        newest.send_replace(serde_json::to_string(&board.view())?);
        if stop.wait(PERIOD) {
            break;
        }
    }
    runtime.shutdown_timeout(Duration::from_millis(200));
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
