//! The page of a monitor.

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Query, State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use dunlin_program::page::{self, Server};
use dunlin_video::view::hub::Hub;
use dunlin_video::view::server::PLAYER;
use dunlin_video::view::session;
use tokio::sync::Semaphore;

use super::client::Client;
use crate::messages::Outcome;

const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'";
/// Requests to the recorder at a time: further ones are answered "busy".
const ASKING: usize = 2;

#[derive(Clone)]
struct App {
    name: Arc<str>,
    live: Arc<Hub>,
    client: Arc<Client>,
    asking: Arc<Semaphore>,
    /// It is for this host alone.
    loopback: bool,
}

#[derive(serde::Serialize)]
struct Told {
    name: String,
    /// Cameras that are live.
    live: Vec<String>,
    recorded: Vec<RecordedTold>,
    problem: Option<String>,
    /// 0 while nothing earlier is shown.
    session: u32,
    /// Reception of the earlier picture that came last, in milliseconds since the Unix epoch.
    position: i64,
}

#[derive(serde::Serialize)]
struct RecordedTold {
    camera: String,
    first: i64,
    last: i64,
}

#[derive(serde::Deserialize)]
struct Wish {
    camera: String,
    /// In milliseconds since the Unix epoch.
    from: i64,
    #[serde(default = "once")]
    speed: f64,
}

fn once() -> f64 {
    1.0
}

pub(super) fn start(
    listener: TcpListener,
    name: &str,
    live: Arc<Hub>,
    client: Arc<Client>,
) -> Result<Server> {
    let loopback = listener.local_addr().context("the address of the page")?.ip().is_loopback();
    let asking = Arc::new(Semaphore::new(ASKING));
    let app = App { name: name.into(), live, client, asking, loopback };
    Server::start(listener, router(app), 2).context("cannot start the web server")
}

fn router(app: App) -> Router {
    Router::new()
        .route("/", get(|| asset("text/html", include_str!("page/index.html"))))
        .route("/style.css", get(|| asset("text/css", include_str!("page/style.css"))))
        .route("/app.js", get(|| asset("text/javascript", include_str!("page/app.js"))))
        .route("/player.js", get(|| asset("text/javascript", PLAYER)))
        .route("/state.json", get(tell))
        .route("/live", get(open_live))
        .route("/earlier", get(open_earlier))
        .route("/play", post(play))
        .route("/stop", post(stop))
        .with_state(app)
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    page::part(kind, POLICY, text)
}

async fn tell(State(app): State<App>, headers: HeaderMap) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let known = app.client.known();
    let (session, position) = app.client.earlier().session();
    let cameras = app.live.status().cameras.into_iter().filter(|camera| camera.live);
    let millis = |nanos: i64| nanos / 1_000_000;
    let recorded = known.recorded.into_iter();
    axum::Json(Told {
        name: app.name.to_string(),
        live: cameras.map(|camera| camera.id).collect(),
        recorded: recorded
            .map(|it| RecordedTold { camera: it.camera, first: millis(it.first), last: millis(it.last) })
            .collect(),
        problem: known.problem,
        session,
        position: millis(position),
    })
    .into_response()
}

async fn open_live(State(app): State<App>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    let hub = Arc::clone(&app.live);
    open(&app, &headers, upgrade, hub)
}

async fn open_earlier(State(app): State<App>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    let hub = app.client.earlier().hub();
    open(&app, &headers, upgrade, hub)
}

fn open(app: &App, headers: &HeaderMap, upgrade: WebSocketUpgrade, hub: Arc<Hub>) -> Response {
    if !page::is_ours(headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    upgrade.max_message_size(session::MAX_COMMAND).on_upgrade(move |socket| session::serve(socket, hub))
}

/// What is told to a browser whose wish cannot be fulfilled.
type Refusal = (StatusCode, String);

/// Asks the recorder, on a thread that may wait.
async fn ask<T: Send + 'static>(
    app: &App,
    headers: &HeaderMap,
    wish: impl FnOnce(&Client) -> Result<T> + Send + 'static,
) -> Result<T, Refusal> {
    if !page::is_ours(headers, app.loopback) {
        return Err((StatusCode::FORBIDDEN, String::new()));
    }
    let Ok(turn) = Arc::clone(&app.asking).try_acquire_owned() else {
        return Err((StatusCode::TOO_MANY_REQUESTS, "this monitor asks already".to_owned()));
    };
    let client = Arc::clone(&app.client);
    let asked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        wish(&client)
    });
    match asked.await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err((StatusCode::BAD_GATEWAY, format!("{error:#}"))),
        Err(_) => Err((StatusCode::INTERNAL_SERVER_ERROR, String::new())),
    }
}

async fn play(State(app): State<App>, headers: HeaderMap, Query(wish): Query<Wish>) -> Refusal {
    let from = wish.from.saturating_mul(1_000_000);
    let asked = ask(&app, &headers, move |client| client.play(&wish.camera, from, wish.speed)).await;
    let answer = match asked {
        Ok(answer) => answer,
        Err(refusal) => return refusal,
    };
    let status = match answer.outcome {
        Outcome::Done => StatusCode::OK,
        Outcome::Busy => StatusCode::TOO_MANY_REQUESTS,
        Outcome::Nothing => StatusCode::NOT_FOUND,
        Outcome::Refused => StatusCode::BAD_REQUEST,
    };
    (status, answer.text)
}

async fn stop(State(app): State<App>, headers: HeaderMap) -> Refusal {
    let asked = ask(&app, &headers, Client::stop).await;
    asked.map_or_else(|refusal| refusal, |()| (StatusCode::OK, String::new()))
}
