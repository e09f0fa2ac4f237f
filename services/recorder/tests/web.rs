//! The page of the recorder, as a browser and as a stranger asks for it.
#![cfg(feature = "web")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::{Programs, record, track_writer};
use dunlin::DataWriter;
use dunlin::qos::TopicQos;
use dunlin_test_program::{Place, Running, eventually, text};
use serde_json::Value;

/// One answer: the head as text, the body as octets.
struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status")
    }

    fn text(&self) -> String {
        text(&self.body)
    }
}

struct Page {
    recorder: Running,
    address: String,
}

impl Page {
    fn open(place: &Place, file: &str, words: &[&str]) -> Self {
        let recorder = place.start("record", &[&["-o", file, "--web", "0"], words].concat());
        let line = recorder.tells("open http://");
        let address = line.split('/').nth(2).unwrap().to_owned();
        recorder.tells("recording domain");
        Self { recorder, address }
    }

    fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        self.send(method, path, headers, "")
    }

    /// Asks for a cut as the form of the page does.
    fn cut(&self, fields: &str) -> Answer {
        let length = fields.len();
        let headers =
            format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n");
        self.send("POST", "/cut", &headers, fields)
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host =
            if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        write!(stream, "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n{body}").unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
        let mut answer = Answer { head: text(&all[..end]), body: all[end + 4..].to_vec() };
        if answer.head.to_lowercase().contains("transfer-encoding: chunked") {
            answer.body = unchunked(&answer.body);
        }
        answer
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    fn state(&self) -> Value {
        serde_json::from_slice(&self.get("/state.json").body).unwrap()
    }

    fn recorded(&self, count: u64) {
        eventually("it is recorded", || self.state()["counts"]["recorded"] == count);
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|it| it == b"\r\n") {
        let size = usize::from_str_radix(&text(&rest[..end]), 16).unwrap();
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

#[derive(dunlin::DdsType, Clone, Debug, Default)]
struct Image {
    #[dds(key)]
    camera: String,
    number: u32,
    data: Vec<u8>,
}

fn image_writer(place: &Place) -> DataWriter<Image> {
    let participant = place.participant(0);
    let topic = participant.create_topic::<Image>("Images", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&Default::default()).unwrap();
    publisher.create_datawriter(&topic, &common::track_writer_qos()).unwrap()
}

fn wait_for_reader<T: dunlin::DdsType>(writer: &DataWriter<T>) {
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
}

#[test]
fn the_page_shows_stops_and_cuts() {
    let place = Place::new("web");
    let file = place.path("run.mcap");
    let page = Page::open(&place, &file, &[]);
    let writer = track_writer(&place, 0, "Square");
    wait_for_reader(&writer);
    let write = |count: i64| {
        (0..count).for_each(|position| writer.write(&common::Track { id: 1, position }).unwrap())
    };
    write(50);
    page.recorded(50);
    assert_eq!(page.state()["counts"]["topics"]["Square"]["recorded"], 50);
    eventually("the time line has it", || {
        let state = page.state();
        let seconds = state["timeline"]["seconds"].as_array().unwrap();
        seconds.iter().map(|it| it["recorded"].as_u64().unwrap()).sum::<u64>() == 50
    });
    assert!(page.get("/").text().contains("Dunlin recorder"));
    assert_eq!(page.ask("POST", "/pause", "").status(), 204);
    write(30);
    eventually("it is skipped", || page.state()["counts"]["skipped"] == 30);
    assert_eq!(page.state()["paused"], true);
    assert_eq!(page.ask("POST", "/go", "").status(), 204);
    write(20);
    page.recorded(70);

    let cut = page.cut(&format!("file={file}&from=&to=&topics=Sq*"));
    assert_eq!(cut.status(), 200, "{}", cut.text());
    let part = place.path("part.mcap");
    std::fs::write(&part, &cut.body).unwrap();
    assert_eq!(record(&part).values().map(Vec::len).sum::<usize>(), 70);
    assert_eq!(page.ask("POST", "/split", "").status(), 204);
    eventually("it is finished", || page.state()["files"].as_array().unwrap().len() == 1);
    page.recorder.stops_well("-INT");
}

#[test]
fn requests_from_other_sites_are_refused() {
    let place = Place::new("web-strangers");
    let page = Page::open(&place, &place.path("run.mcap"), &[]);
    let foreign = "Origin: http://evil.example\r\n";
    for (method, path) in
        [("POST", "/pause"), ("POST", "/split"), ("GET", "/state.json"), ("GET", "/pictures.json?topic=a")]
    {
        assert_eq!(page.ask(method, path, foreign).status(), 403, "{path}");
        assert_eq!(page.ask(method, path, "Sec-Fetch-Site: cross-site\r\n").status(), 403, "{path}");
        assert_eq!(page.ask(method, path, "Host: evil.example\r\n").status(), 403, "{path}");
    }
    assert_eq!(page.state()["paused"], false);
    std::fs::write(place.path("secret"), "of this host").unwrap();
    for name in [place.path("secret"), "/etc/passwd".into(), "../secret".into(), String::new()] {
        assert_eq!(page.cut(&format!("file={name}")).status(), 404, "{name}");
    }
    assert_eq!(page.cut("").status(), 422);
    let link = format!("/cut?file={}", place.path("run.mcap"));
    assert_eq!(page.get(&link).status(), 405, "an image on another site makes no cut");
    assert_eq!(page.get("/pictures.json").status(), 400);
    assert_eq!(page.get("/pause").status(), 405, "a link changes nothing");
    page.recorder.stops_well("-INT");
}

#[test]
fn pictures_of_samples_are_shown() {
    let place = Place::new("web-pictures");
    let page = Page::open(&place, &place.path("run.mcap"), &[]);
    let writer = image_writer(&place);
    wait_for_reader(&writer);
    let pictures = || serde_json::from_slice::<Value>(&page.get("/pictures.json?topic=Images").body).unwrap();
    assert_eq!(pictures(), Value::Array(Vec::new()), "nobody has looked so far");
    let image = |number| Image {
        camera: "front".into(),
        number,
        data: [&[0xFF, 0xD8, 0xFF, 0xE0][..], &number.to_le_bytes(), &[0xFF, 0xD9]].concat(),
    };
    let mut number = 0;
    eventually("a picture is shown", || {
        number += 1;
        writer.write(&image(number)).unwrap();
        pictures()[0]["jpeg"].as_str().is_some_and(|text| text.starts_with("/9j/4"))
    });
    eventually("a sample without a picture is shown so", || {
        writer.write(&Image { camera: "front".into(), ..Image::default() }).unwrap();
        pictures()[0]["jpeg"].is_null()
    });
    page.recorder.stops_well("-INT");
}
