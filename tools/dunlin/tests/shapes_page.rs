//! The page of `dunlin shapes --web`: what its WebSocket takes and tells, between two such programs, and with other vendors;
//! the terminal of `dunlin shapes` with them too.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
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
async fn shapes_of_one_page_show_on_another_until_they_are_removed() {
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Vendor {
    Cyclone,
    FastDds,
}

/// The shapes program of another vendor; its lines are received.
struct Other(Child, Receiver<String>);

impl Other {
    fn start(vendor: Vendor, domain: u32, options: &[&str]) -> Self {
        let peers = std::env::var_os("INTEROP_PEERS").expect("INTEROP_PEERS is not set: run `make interop`");
        let peers = PathBuf::from(peers);
        let lo =
            "<General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces></General>";
        let mut command = match vendor {
            Vendor::Cyclone => {
                let program =
                    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/shapes/peers/cyclone_shapes.py");
                let mut python = Command::new(peers.join("cyclone/bin/python"));
                python.arg(program).env("CYCLONEDDS_URI", lo);
                python
            }
            Vendor::FastDds => Command::new(peers.join("fastdds-shapes/fastdds_shapes")),
        };
        let mut child = command
            .args(["-d", &domain.to_string(), "-x", "1"])
            .args(options)
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

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Other {
    /// Waits until a line shows our red square of size 31.
    fn until_it_has_our_square(&self) {
        let ours = |line: &String| line.starts_with("Square     RED ") && line.ends_with(" [31]");
        let deadline = std::time::Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while !seen.iter().any(ours) {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            seen.push(self.1.recv_timeout(left).unwrap_or_else(|_| panic!("no red square in {seen:#?}")));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the peers: make interop"]
async fn shapes_move_between_a_page_and_cyclone_dds() {
    between_a_page_and(Vendor::Cyclone, 231).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the peers: make interop"]
async fn shapes_move_between_a_page_and_fast_dds() {
    between_a_page_and(Vendor::FastDds, 230).await;
}

async fn between_a_page_and(vendor: Vendor, domain: u32) {
    let mut page = Page::open(domain).await;
    let publish = json!({ "publish": { "topic": "Square", "color": "RED", "size": 31, "settings": {} } });
    page.wish(publish).await;
    let circles = Other::start(vendor, domain, &["-P", "-t", "Circle", "-c", "GREEN", "-z", "17"]);
    let view = page.until("the other's circle", |view| receives(view, "GREEN", "alive")).await;
    let circle = shapes(&view).into_iter().find(|shape| shape["color"] == "GREEN").unwrap().clone();
    assert!(circle["topic"] == "Circle" && circle["size"] == 17, "{circle}");
    let squares = Other::start(vendor, domain, &["-S", "-t", "Square"]);
    squares.until_it_has_our_square();
    drop(circles);
}

/// `dunlin shapes` in a terminal, of which it is told what is drawn.
struct Terminal {
    child: Child,
    drawn: Receiver<Vec<u8>>,
    text: String,
}

impl Terminal {
    fn open(domain: u32, options: &[&str]) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let size = Winsize { ws_row: 40, ws_col: 140, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let inside = || File::options().read(true).write(true).open(&name).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(["shapes", "--domain", &domain.to_string()])
            .args(options)
            .env("DUNLIN_NETWORK_INTERFACES", "lo")
            .env("TERM", "xterm-256color")
            .stdin(inside())
            .stdout(inside())
            .spawn()
            .unwrap();
        let (sender, drawn) = channel();
        let mut outside = File::from(terminal);
        std::thread::spawn(move || {
            let mut octets = [0; 4096];
            while let Ok(len @ 1..) = outside.read(&mut octets) {
                if sender.send(octets[..len].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, drawn, text: String::new() }
    }

    /// Waits until this was drawn. Only what has changed is drawn, so a word comes as a whole where it is new.
    fn until(&mut self, what: &str) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !self.text.contains(what) {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            let octets = self.drawn.recv_timeout(left);
            let octets = octets.unwrap_or_else(|_| panic!("{what} is not drawn: {:?}", self.text));
            self.text.push_str(&String::from_utf8_lossy(&octets));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn between_a_terminal_and(vendor: Vendor, domain: u32) {
    let mut terminal = Terminal::open(domain, &["--publish", "Square:RED:31", "--subscribe", "Circle"]);
    terminal.until("Square RED");
    assert!(!terminal.text.contains("GREEN"));
    let circles = Other::start(vendor, domain, &["-P", "-t", "Circle", "-c", "GREEN", "-z", "17"]);
    // The name of the colour is drawn in the shape.
    terminal.until("GREEN");
    let squares = Other::start(vendor, domain, &["-S", "-t", "Square"]);
    squares.until_it_has_our_square();
    drop(circles);
}

#[test]
#[ignore = "needs the peers: make interop"]
fn shapes_move_between_a_terminal_and_fast_dds() {
    between_a_terminal_and(Vendor::FastDds, 229);
}

#[test]
#[ignore = "needs the peers: make interop"]
fn shapes_move_between_a_terminal_and_cyclone_dds() {
    between_a_terminal_and(Vendor::Cyclone, 228);
}
