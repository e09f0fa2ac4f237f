//! The page and its WebSocket, with frames fed directly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_program::page::Server;
use dunlin_video::frame::{Encoding, Frame};
use dunlin_video::view::hub::Hub;
use dunlin_video::view::server;
use dunlin_video::view::{Publisher, Received, WriterId};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

const PATIENCE: Duration = Duration::from_secs(30);

struct Viewer {
    hub: Arc<Hub>,
    server: Server,
    number: u64,
}

impl Viewer {
    fn start() -> Self {
        let hub = Hub::new(None);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = server::start(listener, hub.clone()).unwrap();
        Self { hub, server, number: 0 }
    }

    /// Feeds one frame whose payload is its number.
    fn feed(&mut self, camera: &str, encoding: Encoding, key: bool) -> u64 {
        let number = self.number;
        self.number += 1;
        let payload = number.to_le_bytes().to_vec();
        self.feed_payload(camera, encoding, key, number, payload);
        number
    }

    fn feed_payload(&self, camera: &str, encoding: Encoding, key: bool, number: u64, payload: Vec<u8>) {
        let frame = Frame {
            camera_id: camera.to_owned(),
            number,
            captured_at: 1_000,
            encoding,
            width: 64,
            height: 48,
            key,
            payload,
        };
        let received = Received { frame, writer: WriterId([7; 16]), received_at: 2_000 };
        self.hub.on_frame(&received, Instant::now());
    }

    async fn connect(&self) -> Socket {
        let url = format!("ws://{}/ws", self.server.address());
        let mut socket = connect_async(url).await.unwrap().0;
        // The first status tells that the viewer knows of us.
        assert_eq!(next_text(&mut socket, "status").await["hub"]["clients"], 1);
        socket
    }
}

/// Runs a test with a viewer that outlives it: a server cannot end within a task.
fn with_viewer(test: impl AsyncFnOnce(&mut Viewer)) {
    let mut viewer = Viewer::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test(&mut viewer));
}

async fn next(socket: &mut Socket) -> Message {
    timeout(PATIENCE, socket.next()).await.expect("a message in time").unwrap().unwrap()
}

async fn next_text(socket: &mut Socket, kind: &str) -> serde_json::Value {
    loop {
        if let Message::Text(text) = next(socket).await {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            if value["type"] == kind {
                return value;
            }
        }
    }
}

/// Number, coding and payload of the next frame.
async fn next_frame(socket: &mut Socket) -> (u64, u8, Vec<u8>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "no frame in time");
        if let Message::Binary(octets) = next(socket).await {
            assert_eq!(octets[0], 1, "version of the layout");
            return (u64::from_le_bytes(octets[8..16].try_into().unwrap()), octets[1], octets[32..].to_vec());
        }
    }
}

async fn send(socket: &mut Socket, command: &str) {
    socket.send(Message::text(command)).await.unwrap();
}

#[test]
fn frames_arrive_in_order_from_a_key_frame_on() {
    with_viewer(async |viewer| {
        viewer.feed("front", Encoding::H264, true);
        viewer.feed("front", Encoding::H264, false);
        let mut socket = viewer.connect().await;
        viewer.feed("front", Encoding::H264, false);
        for expected in 0..3_u64 {
            let (number, coding, payload) = next_frame(&mut socket).await;
            assert_eq!((number, coding, payload), (expected, 1, expected.to_le_bytes().to_vec()));
        }
    });
}

#[test]
fn viewer_switches_to_the_requested_camera() {
    with_viewer(async |viewer| {
        viewer.feed("back", Encoding::Mjpeg, true);
        let front = viewer.feed("front", Encoding::Mjpeg, true);
        let mut socket = viewer.connect().await;
        assert_eq!(next_frame(&mut socket).await.0, 0);
        send(&mut socket, r#"{"camera":"front"}"#).await;
        assert_eq!(next_text(&mut socket, "switched").await["camera"], "front");
        assert_eq!(next_frame(&mut socket).await.0, front);
        viewer.feed("back", Encoding::Mjpeg, true);
        let front = viewer.feed("front", Encoding::Mjpeg, true);
        assert_eq!(next_frame(&mut socket).await.0, front);
    });
}

#[test]
fn a_browser_that_does_not_acknowledge_gets_no_more() {
    with_viewer(async |viewer| {
        let mut socket = viewer.connect().await;
        for i in 0..100 {
            viewer.feed("front", Encoding::H264, i == 0);
        }
        let mut got = 0;
        while let Ok(Some(Ok(message))) = timeout(Duration::from_millis(1500), socket.next()).await {
            got += u64::from(message.is_binary());
            if message.is_text() && got > 0 {
                break;
            }
        }
        assert_eq!(got, 24);
        send(&mut socket, r#"{"ack":24}"#).await;
        assert_eq!(next_frame(&mut socket).await.0, 24);
    });
}

#[test]
fn status_tells_cameras_loss_and_qos() {
    with_viewer(async |viewer| {
        viewer.feed("front", Encoding::Mjpeg, true);
        viewer.number += 3;
        viewer.feed("front", Encoding::Mjpeg, true);
        let publisher = Publisher {
            camera: Some("front".to_owned()),
            qos: vec![("reliability".to_owned(), "reliable".to_owned())],
            ..Publisher::default()
        };
        viewer.hub.tick(vec![publisher], Instant::now());
        let mut socket = viewer.connect().await;
        let status = next_text(&mut socket, "status").await;
        assert_eq!(status["camera"], "front");
        let camera = &status["hub"]["cameras"][0];
        assert_eq!(
            (&camera["id"], &camera["received"], &camera["lost"]),
            (&"front".into(), &2.into(), &3.into())
        );
        assert_eq!(status["hub"]["publishers"][0]["qos"][0][1], "reliable");
    });
}

#[cfg(feature = "h264")]
#[test]
fn a_browser_without_h264_gets_jpeg() {
    use dunlin_video::codec::h264::H264Encoder;
    use dunlin_video::codec::{Encoder, Image};
    use dunlin_video::source::pattern;

    with_viewer(async |viewer| {
        let mut socket = viewer.connect().await;
        send(&mut socket, r#"{"mode":"jpeg"}"#).await;
        next_text(&mut socket, "switched").await;
        let mut encoder = H264Encoder::new(500_000, 30.0, 30).unwrap();
        let mut image = Image::new(64, 48).unwrap();
        for number in 0..5 {
            pattern::draw(&mut image, number, 0);
            let mut unit = Vec::new();
            let key = encoder.encode(&image, false, &mut unit).unwrap().unwrap();
            viewer.feed_payload("front", Encoding::H264, key, number, unit);
        }
        let (_, coding, payload) = next_frame(&mut socket).await;
        assert_eq!((coding, &payload[..2]), (0, &[0xFF, 0xD8][..]));
    });
}

async fn get(viewer: &Viewer, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(viewer.server.address()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("an answer in time").unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    with_viewer(async |viewer| {
        for path in ["/", "/style.css", "/app.js", "/player.js", "/chart.js"] {
            let answer = get(viewer, path, "localhost").await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(body.len() > 100 && !body.contains("http://cdn") && !body.contains("https://"), "{path}");
        }
        let status = get(viewer, "/status", "localhost").await;
        assert!(status.ends_with("\"left_out\":0}"), "{status}");
    });
}

#[test]
fn requests_of_foreign_hosts_and_origins_are_refused() {
    with_viewer(async |viewer| {
        assert!(get(viewer, "/status", "evil.example").await.starts_with("HTTP/1.1 403"));
        assert!(get(viewer, "/mjpeg", "evil.example").await.starts_with("HTTP/1.1 403"));
        let mut request = format!("ws://{}/ws", viewer.server.address()).into_client_request().unwrap();
        request.headers_mut().insert("Origin", "http://evil.example".parse().unwrap());
        assert!(connect_async(request).await.is_err());
    });
}

#[test]
fn images_come_as_multipart_too() {
    with_viewer(async |viewer| {
        viewer.feed("front", Encoding::Mjpeg, true);
        let mut stream = TcpStream::connect(viewer.server.address()).await.unwrap();
        stream.write_all(b"GET /mjpeg?camera=front HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        while !answer.windows(8).any(|eight| eight == 0_u64.to_le_bytes()) {
            let read =
                timeout(PATIENCE, stream.read_buf(&mut answer)).await.expect("an image in time").unwrap();
            assert_ne!(read, 0, "the stream has ended");
        }
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains("multipart/x-mixed-replace; boundary=dunlin-frame"), "{text}");
        assert!(
            text.contains("--dunlin-frame\r\nContent-Type: image/jpeg\r\nContent-Length: 8\r\n\r\n"),
            "{text}"
        );
    });
}
