//! Publisher and viewer as processes that meet through DDS.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_dunlin-video");
const PATIENCE: Duration = Duration::from_secs(90);

/// A process that is killed at the latest when the test is over.
struct Process(Option<Child>);

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Names a topic that no other test and no other run uses.
fn topic(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

fn start(topic: &str, line: &str) -> Process {
    let child = Command::new(PROGRAM)
        .args(line.split_whitespace())
        .args(["--topic", topic, "--domain", "199"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Process(Some(child))
}

impl Process {
    fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits until the process has ended by itself; gives what it printed.
    fn finish(mut self) -> String {
        let mut child = self.0.take().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                child.kill().unwrap();
                let Output { stdout, stderr, .. } = child.wait_with_output().unwrap();
                panic!("no end: {}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&stdout).into_owned();
        assert!(status.success(), "{text}{}", String::from_utf8_lossy(&stderr));
        text
    }

    /// Waits until the process has printed `text`.
    fn wait_for(&mut self, text: &str) {
        let stdout = self.0.as_mut().unwrap().stdout.as_mut().unwrap();
        let mut seen = Vec::new();
        let mut octet = [0];
        while !String::from_utf8_lossy(&seen).contains(text) {
            let read = stdout.read(&mut octet).unwrap();
            assert_ne!(read, 0, "{} without {text}", String::from_utf8_lossy(&seen));
            seen.push(octet[0]);
        }
    }
}

/// Frames received and lost, from the last line of a viewer.
fn summary(output: &str) -> (u64, u64) {
    let last = output.lines().last().unwrap_or_default();
    let mut words = last.split([' ', ',']).filter(|word| !word.is_empty());
    let summary = (|| {
        (words.next()? == "received").then_some(())?;
        let received = words.next()?.parse().ok()?;
        (words.next()? == "frames" && words.next()? == "lost").then_some(())?;
        let lost = words.next()?.parse().ok()?;
        last.ends_with(" ms").then_some((received, lost))
    })();
    summary.unwrap_or_else(|| panic!("the last line is: {last}"))
}

#[test]
fn every_frame_of_a_reliable_publisher_arrives() {
    let topic = topic("every-frame");
    let viewer = start(&topic, "view --headless --frames 60");
    let publisher = start(&topic, "publish --pattern --size 160x120 --rate 60 --wait-viewers 1 --count 60");
    assert_eq!(summary(&viewer.finish()), (60, 0));
    assert!(publisher.finish().contains("published 60 frames"));
}

#[test]
fn large_frames_arrive_when_the_writer_waits_for_the_viewer() {
    let topic = topic("large");
    let viewer = start(&topic, "view --headless --frames 40");
    let line = "publish --fixed-size 921600 --rate 0 --keep-all --wait-viewers 1 --count 40";
    let publisher = start(&topic, line);
    assert_eq!(summary(&viewer.finish()), (40, 0));
    assert!(publisher.finish().contains("published 40 frames, 36864000 bytes"));
}

#[test]
fn a_viewer_follows_a_publisher_that_starts_again() {
    let topic = topic("again");
    let viewer = start(&topic, "view --headless --frames 60");
    let line = "publish --pattern --size 160x120 --rate 60 --wait-viewers 1 --count";
    start(&topic, &format!("{line} 30")).finish();
    let second = start(&topic, &format!("{line} 100000"));
    assert_eq!(summary(&viewer.finish()), (60, 0));
    second.kill();
}

#[test]
fn viewers_come_late_go_and_come_back() {
    let topic = topic("late");
    let _publisher = start(&topic, "publish --pattern --size 160x120 --rate 60");
    let mut killed = start(&topic, "view --headless");
    killed.wait_for("received");
    let second = start(&topic, "view --headless --frames 30");
    assert_eq!(summary(&second.finish()).1, 0);
    killed.kill();
    let again = start(&topic, "view --headless --frames 30");
    assert_eq!(summary(&again.finish()), (30, 0));
}

#[test]
fn a_late_viewer_gets_the_last_picture_at_once() {
    let topic = topic("kept");
    // The next picture would come after 100 seconds.
    let mut publisher = start(&topic, "publish --pattern --encoding mjpeg --size 160x120 --rate 0.01");
    publisher.wait_for("camera");
    let viewer = start(&topic, "view --headless --frames 1");
    assert_eq!(summary(&viewer.finish()), (1, 0));
}

#[test]
fn a_viewer_asks_for_no_more_than_is_offered() {
    let topic = topic("best-effort");
    let viewer = start(&topic, "view --headless --frames 30");
    let _publisher = start(&topic, "publish --pattern --size 160x120 --rate 60 --best-effort");
    assert_eq!(summary(&viewer.finish()).0, 30);
}

#[test]
fn a_qos_mismatch_is_reported() {
    let topic = topic("mismatch");
    let _publisher = start(&topic, "publish --pattern --size 160x120 --best-effort");
    let mut viewer = start(&topic, "view --headless --reliability reliable --seconds 5");
    let mut child = viewer.0.take().unwrap();
    assert!(!child.wait().unwrap().success());
    let stderr = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(stderr.contains("RELIABILITY") && stderr.contains("no frame came"), "{stderr}");
}

#[test]
fn frames_are_saved() {
    let topic = topic("saved");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let viewer = start(&topic, &format!("view --headless --frames 10 --save {path}"));
    let _publisher =
        start(&topic, "publish --pattern --encoding mjpeg --size 160x120 --wait-viewers 1 --camera-id a");
    viewer.finish();
    let mut names: Vec<_> =
        folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!((names.len(), names[0].to_str()), (10, Some("a-00000000.jpg")));
}

#[test]
fn the_demo_ends_by_itself() {
    let topic = topic("demo");
    let demo = start(&topic, "demo --seconds 4 --file /none.mp4 --bind 127.0.0.1:0");
    let output = demo.finish();
    assert!(
        output.contains("showing the test pattern") && output.contains("open http://127.0.0.1:"),
        "{output}"
    );
    let (received, lost) = summary(&output);
    assert!(received > 20 && lost == 0, "{output}");
}
