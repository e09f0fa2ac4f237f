//! The page of `dunlin shapes --web`: what its WebSocket takes and tells, between two such programs, and with Cyclone DDS.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

struct Page {
    child: Child,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Page {
    async fn open(domain: u32) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(["shapes", "--web", "0", "--domain", &domain.to_string()])
            .env("DUNLIN_NETWORK_INTERFACES", "lo")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        let (socket, _) = connect_async(format!("ws://{address}/ws")).await.unwrap();
        Self { child, socket }
    }

    async fn wish(&mut self, wish: Value) {
        self.socket.send(Message::Text(wish.to_string().into())).await.unwrap();
    }

    /// What is told until it is what is wanted.
    async fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let told = async {
            loop {
                let Some(Ok(Message::Text(text))) = self.socket.next().await else {
                    panic!("the page is closed")
                };
                let told = serde_json::from_str(&text).unwrap();
                if wanted(&told) {
                    return told;
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap_or_else(|_| panic!("not told: {what}"))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn shapes(view: &Value) -> Vec<&Value> {
    view["shapes"].as_array().into_iter().flatten().collect()
}

fn receives(view: &Value, color: &str, state: &str) -> bool {
    shapes(view)
        .iter()
        .any(|shape| shape["color"] == color && shape["own"] == false && shape["state"] == state)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_page_publishes_another_shows_until_it_is_removed() {
    let domain = 60 + std::process::id() % 30;
    let (mut one, mut other) = (Page::open(domain).await, Page::open(domain).await);
    let settings = json!({ "exclusive": true, "strength": 2, "history": 4 });
    let publish =
        json!({ "publish": { "topic": "Circle", "color": "RED", "size": 30, "settings": settings } });
    one.wish(publish).await;
    one.until("thanks", |told| told["error"] == "").await;
    // The subscriptions at the beginning share ownership; one that fits has to be asked for.
    let view = other.until("a problem", |view| view.to_string().contains("not with all: OWNERSHIP")).await;
    assert_eq!(view["domain"], domain);
    other
        .wish(json!({ "subscribe": { "topic": "Circle", "settings": { "exclusive": true, "history": 4 } } }))
        .await;
    let trail =
        |shape: &&Value| shape["color"] == "RED" && shape["trail"].as_array().is_some_and(|t| t.len() == 4);
    other.until("a trail as long as the history", |view| shapes(view).iter().any(trail)).await;
    other.wish(json!({ "subscribe": { "topic": "Circle", "settings": { "filter": "no_such > 1" } } })).await;
    let refused =
        other.until("a refusal", |told| told["error"].as_str().is_some_and(|e| !e.is_empty())).await;
    assert!(refused["error"].as_str().unwrap().contains("no_such"), "{refused}");
    let view = one.until("an entry", |view| view["entries"].to_string().contains("\"publishes\":true")).await;
    let entries = view["entries"].as_array().unwrap();
    let own = entries.iter().find(|entry| entry["publishes"] == true).unwrap();
    one.wish(json!({ "remove": { "id": own["id"] } })).await;
    other.until("the farewell", |view| receives(view, "RED", "disposed")).await;
    other.until("it is gone", |view| view.get("shapes").is_some() && shapes(view).is_empty()).await;
    one.wish(json!({ "paint": "it black" })).await;
    one.until("a refusal", |told| told["error"].as_str().is_some_and(|error| error.contains("paint"))).await;
}

/// The shapes program of Cyclone DDS; its lines are received.
struct Cyclone(Child, Receiver<String>);

impl Cyclone {
    fn start(domain: u32, options: &[&str]) -> Self {
        let peers = std::env::var_os("INTEROP_PEERS").expect("INTEROP_PEERS is not set: run `make interop`");
        let lo =
            "<General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces></General>";
        let mut child = Command::new(PathBuf::from(peers).join("cyclone/bin/python"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/shapes/peers/cyclone_shapes.py"))
            .args(["-d", &domain.to_string()])
            .args(options)
            .env("CYCLONEDDS_URI", lo)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self(child, lines)
    }
}

impl Drop for Cyclone {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the peers: make interop"]
async fn shapes_move_between_a_page_and_cyclone_dds() {
    let domain = 231;
    let mut page = Page::open(domain).await;
    let publish = json!({ "publish": { "topic": "Square", "color": "RED", "size": 31, "settings": {} } });
    page.wish(publish).await;
    let circles = Cyclone::start(domain, &["-P", "-t", "Circle", "-c", "GREEN", "-z", "17"]);
    let view = page.until("Cyclone's circle", |view| receives(view, "GREEN", "alive")).await;
    let circle = shapes(&view).into_iter().find(|shape| shape["color"] == "GREEN").unwrap().clone();
    assert!(circle["topic"] == "Circle" && circle["size"] == 17, "{circle}");
    let squares = Cyclone::start(domain, &["-S", "-t", "Square"]);
    let deadline = std::time::Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    while !seen.iter().any(|line: &String| line.starts_with("Square     RED ") && line.ends_with(" [31]")) {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        seen.push(squares.1.recv_timeout(left).unwrap_or_else(|_| panic!("no red square in {seen:#?}")));
    }
    drop(circles);
}
