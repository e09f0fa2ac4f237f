//! All parts as processes over the loopback interface: what monitors get, that no picture is missing from the recording, and that a
//! monitor which stops disturbs nobody.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use dunlin_recorder::file::Recording;
use serde_json::Value;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(90);
const INNER: &str = "0";
const OUTER: &str = "1";

fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// A process; it is killed at the end of the test.
struct Running {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Running {
    fn start(words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-surveillance"));
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
        command.env("DUNLIN_NETWORK_INTERFACES", "lo");
        command.env("DUNLIN_DOMAIN_TAG", format!("surveillance-{}", std::process::id()));
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        std::thread::spawn(move || { output }.try_for_each(|line| sender.send(line)));
        Self { child, lines, said: Vec::new() }
    }

    fn says(&mut self, wanted: &str) -> String {
        eventually(wanted, || {
            self.said.extend(self.lines.try_iter());
            self.said.iter().find(|line| line.contains(wanted)).cloned()
        })
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    fn ends(&mut self) -> Option<i32> {
        eventually("the process ends", || self.child.try_wait().unwrap()).code()
    }

    fn ends_well(mut self) {
        self.signal("-TERM");
        assert_eq!(self.ends(), Some(0), "{:?}", self.said);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended perhaps.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn camera(name: &str, pictures: u64) -> Running {
    let (count, size) = (pictures.to_string(), "160x120");
    let words =
        ["camera", "--pattern", "--encoding", "mjpeg", "--size", size, "--rate", "20", "--wait-viewers", "2"];
    let rest = ["--camera-id", name, "--count", &count, "--domain", INNER];
    Running::start(&[&words[..], &rest[..]].concat())
}

struct Monitor {
    running: Running,
    address: String,
}

impl Monitor {
    fn start(name: &str) -> Self {
        let mut running = Running::start(&["monitor", "--name", name, "--domain", OUTER]);
        let line = running.says("open http://");
        let address = line.split('/').nth(2).unwrap().to_owned();
        Self { running, address }
    }

    fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "{method} {path} HTTP/1.0\r\nHost: {}\r\n{headers}\r\n", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.ask("GET", "/state.json", "").1).unwrap()
    }

    /// From when to when something of a camera is recorded, in milliseconds.
    fn recorded(&self, camera: &str) -> Option<(i64, i64)> {
        let state = self.state();
        let all = state["recorded"].as_array()?;
        let of = all.iter().find(|it| it["camera"] == camera)?;
        Some((of["first"].as_i64()?, of["last"].as_i64()?))
    }

    fn sees_live(&self, camera: &str) {
        eventually("live pictures", || {
            let state = self.state();
            state["live"].as_array()?.iter().any(|it| it == camera).then_some(())
        });
    }

    /// Asks for pictures from a time on, and waits until some of a second's have come.
    fn sees_earlier(&self, camera: &str, from: i64) {
        let path = format!("/play?camera={camera}&from={from}&speed=4");
        eventually("it is accepted", || (self.ask("POST", &path, "").0 == 200).then_some(()));
        let position = eventually("earlier pictures", || {
            self.state()["position"].as_i64().filter(|at| *at > from + 500)
        });
        assert!(position < from + 60_000, "{position} is not of {from}");
    }
}

/// The numbers of the pictures of each camera.
fn pictures(folder: &Path) -> BTreeMap<String, Vec<u64>> {
    use dunlin::cdr::{Limits, from_payload};
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut all = BTreeMap::<String, Vec<u64>>::new();
    for file in files {
        let mut recording = Recording::open(&file).unwrap();
        recording
            .for_each(0, |contents, message| {
                if !contents.channels[&message.channel].is_events() {
                    let frame: dunlin_video::dds::VideoFrame =
                        from_payload(message.data, &Limits::default()).unwrap();
                    all.entry(frame.camera_id).or_default().push(frame.frame_number);
                }
                true
            })
            .unwrap();
    }
    all
}

#[test]
fn monitors_see_live_and_earlier_pictures_and_nothing_is_missing() {
    const PICTURES: u64 = 500;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let words = ["record", "--domain", INNER, "--folder", place, "--split-time", "5s", "--sessions", "2"];
    let mut recorder = Running::start(&words);
    recorder.says("recording cameras");
    let mut router = Running::start(&["route", "--inner", INNER, "--outer", OUTER]);
    router.says("routing");
    let monitors = ["one", "two", "three"].map(Monitor::start);
    let mut cameras = [camera("front", PICTURES), camera("yard", PICTURES)];
    for monitor in &monitors {
        monitor.sees_live("front");
        monitor.sees_live("yard");
    }
    let first = monitors.each_ref().map(|monitor| {
        eventually("it is told of recordings", || {
            let (first, last) = monitor.recorded("front")?;
            (last > first + 2000).then_some(first)
        })
    });
    monitors[0].sees_earlier("front", first[0]);
    monitors[1].sees_earlier("yard", first[1]);
    // The third one is one too many; a stranger's site gets nothing; a time to come has no pictures.
    let (status, text) = monitors[2].ask("POST", &format!("/play?camera=front&from={}", first[2]), "");
    assert_eq!((status, text.contains("2 monitors")), (429, true), "{text}");
    let foreign = "Origin: http://evil.example\r\n";
    assert_eq!(monitors[2].ask("POST", "/play?camera=front&from=0", foreign).0, 403);
    assert_eq!(monitors[2].ask("POST", "/play?camera=nobody&from=0", "").0, 404);

    // One that has pictures stops. Others go on, and its session ends.
    let [one, two, three] = monitors;
    one.running.signal("-STOP");
    eventually("the place of the one that stopped is free", || {
        (three.ask("POST", &format!("/play?camera=yard&from={}", first[2]), "").0 == 200).then_some(())
    });
    three.sees_earlier("yard", first[2]);
    two.sees_earlier("front", first[1] + 1000);
    for camera in &mut cameras {
        assert_eq!(camera.ends(), Some(0), "{:?}", camera.said);
    }
    one.running.signal("-CONT");
    for monitor in [two, three] {
        monitor.running.ends_well();
    }
    router.says("routing");
    router.ends_well();
    recorder.signal("-TERM");
    assert_eq!(recorder.ends(), Some(0), "{:?}", recorder.said);
    recorder.says("nothing is missing");
    let all: Vec<u64> = (0..PICTURES).collect();
    let recorded = pictures(folder.path());
    assert_eq!(recorded.keys().collect::<Vec<_>>(), ["front", "yard"]);
    for (camera, mut numbers) in recorded {
        numbers.sort_unstable();
        assert!(numbers == all, "{camera}: {} pictures, each once?", numbers.len());
    }
}
