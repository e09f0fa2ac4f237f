//! The page of a recording: time line, topics, pictures, start and stop, cuts to download.

mod cut;
mod picture;
mod timeline;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dunlin_program::page::{self, Server};
use dunlin_recorder::text::time;
use dunlin_recorder::{Counts, Recorder};
use timeline::Timeline;
use tokio::sync::Semaphore;

/// The page needs nothing but itself.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";
/// Pictures of one answer.
const PICTURES: usize = 8;
/// Topics and problems that the page is told.
const TOLD: usize = 1000;

/// A port on this host alone, or an address with a port.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    port.or_else(|_| text.parse()).map_err(|_| "expected a port, or an address with a port".to_owned())
}

#[derive(Clone)]
struct App {
    recorder: Arc<Recorder>,
    timeline: Arc<Mutex<Timeline>>,
    /// One cut at a time, and pictures for two pages: recording comes first.
    cuts: Arc<Semaphore>,
    pictures: Arc<Semaphore>,
    loopback: bool,
}

/// A page that is served as long as this is there.
pub(crate) struct Page {
    server: Server,
    timeline: Arc<Mutex<Timeline>>,
}

/// What the page is told.
#[derive(serde::Serialize)]
struct Told {
    paused: bool,
    waiting: usize,
    room: usize,
    counts: Counts,
    timeline: Timeline,
    present: Option<String>,
    files: Vec<FileTold>,
}

#[derive(serde::Serialize)]
struct FileTold {
    name: String,
    octets: u64,
}

/// The picture of one writer.
#[derive(serde::Serialize)]
struct Picture {
    writer: String,
    received: String,
    /// In base 64; nothing if the sample has none.
    jpeg: Option<String>,
}

#[derive(serde::Deserialize)]
struct TopicWish {
    topic: String,
}

impl Page {
    pub(crate) fn serve(recorder: &Arc<Recorder>, wanted: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(wanted)
            .with_context(|| format!("{wanted} cannot be had; choose another with --web"))?;
        let timeline = Arc::new(Mutex::new(Timeline::default()));
        let app = App {
            recorder: Arc::clone(recorder),
            timeline: Arc::clone(&timeline),
            cuts: Arc::new(Semaphore::new(1)),
            pictures: Arc::new(Semaphore::new(2)),
            loopback: listener.local_addr()?.ip().is_loopback(),
        };
        let server = Server::start(listener, router(app), 1).context("cannot start the web server")?;
        Ok(Self { server, timeline })
    }

    /// The address to open.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Notes what there is now.
    pub(crate) fn note(&self, counts: &Counts) {
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner).note(counts);
    }
}

fn router(app: App) -> Router {
    Router::new()
        .route("/", get(|| asset("text/html", include_str!("page/index.html"))))
        .route("/style.css", get(|| asset("text/css", include_str!("page/style.css"))))
        .route("/app.js", get(|| asset("text/javascript", include_str!("page/app.js"))))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/state.json", get(tell))
        .route("/pictures.json", get(show))
        .route("/pause", post(|app, headers| steer(app, headers, |recorder| recorder.pause(true))))
        .route("/go", post(|app, headers| steer(app, headers, |recorder| recorder.pause(false))))
        .route("/split", post(|app, headers| steer(app, headers, Recorder::split)))
        .route("/cut", post(download))
        .with_state(app)
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    page::part(kind, POLICY, text)
}

async fn tell(State(app): State<App>, headers: HeaderMap) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let (waiting, room) = app.recorder.fill();
    let name = |path: &Path| path.display().to_string();
    let mut counts = app.recorder.counts();
    counts.problems.truncate(TOLD);
    while counts.topics.len() > TOLD {
        counts.topics.pop_last();
    }
    let files = app.recorder.files().into_iter();
    let told = Told {
        paused: app.recorder.is_paused(),
        waiting,
        room,
        counts,
        timeline: app.timeline.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        present: app.recorder.present_file().as_deref().map(name),
        files: files
            .rev()
            .take(TOLD)
            .map(|it| FileTold { name: name(&it.file), octets: it.octets })
            .collect(),
    };
    axum::Json(told).into_response()
}

async fn steer(State(app): State<App>, headers: HeaderMap, wish: impl FnOnce(&Recorder)) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    wish(&app.recorder);
    StatusCode::NO_CONTENT.into_response()
}

/// The latest pictures of a topic.
async fn show(State(app): State<App>, headers: HeaderMap, Query(wish): Query<TopicWish>) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let Ok(turn) = Arc::clone(&app.pictures).try_acquire_owned() else {
        return (StatusCode::TOO_MANY_REQUESTS, "pictures are being made for others").into_response();
    };
    let latest = app.recorder.latest(&wish.topic);
    let made = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let picture = |it: &dunlin_recorder::Latest| Picture {
            writer: it.writer.to_string(),
            received: time(it.received),
            jpeg: picture::jpeg_in(&it.payload).map(|jpeg| STANDARD.encode(jpeg)),
        };
        latest.iter().take(PICTURES).map(picture).collect::<Vec<_>>()
    });
    match made.await {
        Ok(pictures) => axum::Json(pictures).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn download(State(app): State<App>, headers: HeaderMap, Form(wish): Form<cut::Wish>) -> Response {
    if !page::is_ours(&headers, app.loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let Ok(turn) = Arc::clone(&app.cuts).try_acquire_owned() else {
        return (StatusCode::TOO_MANY_REQUESTS, "another cut is being made").into_response();
    };
    let Some(file) = cut::known(&app.recorder, &wish.file) else {
        return (StatusCode::NOT_FOUND, "there is no such recording").into_response();
    };
    // The turn goes with the work: who leaves meanwhile does not make room for another cut.
    let made = tokio::task::spawn_blocking(move || (cut::make_bounded(&file, &wish), turn)).await;
    match made {
        Ok((Ok(part), turn)) => cut::response(part, turn),
        Ok((Err(error), _)) => (StatusCode::BAD_REQUEST, format!("{error:#}")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_for_this_host() {
        assert_eq!(parse_address("8090"), Ok("127.0.0.1:8090".parse().unwrap()));
        assert_eq!(parse_address("[::]:0"), Ok("[::]:0".parse().unwrap()));
        assert!(["", "70000", "localhost", "0.0.0.0"].iter().all(|text| parse_address(text).is_err()));
    }
}
