//! Frames as somebody who may write to the topic can make them: with every coding, damaged, with sizes that lie, of cameras without
//! end.

use std::time::{Duration, Instant};

use dunlin_video::frame::{Encoding, Frame};
use dunlin_video::view::hub::{Hub, Mode};
use dunlin_video::view::{Received, WriterId};

const CODINGS: [Encoding; 7] = [
    Encoding::Mjpeg,
    Encoding::H264,
    Encoding::Opaque,
    Encoding::RawI420,
    Encoding::RawRgb24,
    Encoding::RawGray8,
    Encoding::RawYuyv,
];
const PATIENCE: Duration = Duration::from_secs(30);

/// Seeded numbers.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn received(camera_id: &str, writer: u8, number: u64, payload: Vec<u8>) -> Received {
    let frame = Frame {
        camera_id: camera_id.to_owned(),
        number,
        captured_at: 1_000,
        encoding: Encoding::RawRgb24,
        width: 4,
        height: 2,
        key: true,
        payload,
    };
    Received { frame, writer: WriterId([writer; 16]), received_at: 2_000 }
}

#[cfg(feature = "h264")]
fn real_unit() -> Vec<u8> {
    use dunlin_video::codec::h264::H264Encoder;
    use dunlin_video::codec::{Encoder, Image};
    let mut image = Image::new(64, 48).expect("a small picture");
    dunlin_video::source::pattern::draw(&mut image, 0, 0);
    let mut unit = Vec::new();
    let mut encoder = H264Encoder::new(500_000, 30.0, 30).expect("an encoder");
    encoder.encode(&image, true, &mut unit).expect("a picture");
    unit
}

#[cfg(not(feature = "h264"))]
fn real_unit() -> Vec<u8> {
    vec![0, 0, 0, 1, 0x67, 0x42, 0, 0x1e]
}

/// A frame of one of a few cameras in which hardly anything is right.
fn damaged(rng: &mut Rng, model: &[u8], number: u64) -> Received {
    const SIZES: [u32; 6] = [0, 1, 64, 8_192, 1 << 20, u32::MAX];
    let names = ["front", "", "a\u{1b}[2J\u{202e}", "../../etc/passwd"];
    let mut payload =
        if rng.below(3) == 0 { vec![rng.below(256) as u8; rng.below(5_000)] } else { model.to_vec() };
    payload.truncate(rng.below(payload.len() + 1) + 1);
    for _ in 0..rng.below(20) {
        let at = rng.below(payload.len().max(1));
        payload.get_mut(at).into_iter().for_each(|octet| *octet = rng.below(256) as u8);
    }
    let mut frame = received(names[rng.below(names.len())], rng.below(3) as u8, number, payload);
    frame.frame.encoding = CODINGS[rng.below(CODINGS.len())];
    (frame.frame.width, frame.frame.height) = (SIZES[rng.below(6)], SIZES[rng.below(6)]);
    frame.frame.key = rng.below(2) == 0;
    frame.frame.number = [number, 0, u64::MAX, number + 1_000_000][rng.below(4)];
    frame.frame.captured_at = [0, i64::MIN, i64::MAX][rng.below(3)];
    frame
}

#[test]
fn damaged_frames_stop_no_viewer() {
    let (hub, mut rng, model) = (Hub::new(None), Rng(7), real_unit());
    let watching = hub.subscribe(Some("front"), Mode::Jpeg);
    for number in 0..2_000 {
        hub.on_frame(&damaged(&mut rng, &model, number), Instant::now());
    }
    hub.tick(vec![], Instant::now());
    assert!(hub.status().cameras.len() <= 4);
    // The next good picture of somebody else is shown, also to who needs it as a JPEG image.
    let end = Instant::now() + PATIENCE;
    for number in 0.. {
        assert!(Instant::now() < end, "no picture came");
        hub.on_frame(&received("front", 9, number, vec![0; 24]), Instant::now());
        let packet = watching.queue.wait(Duration::from_millis(50));
        if packet.is_some_and(|packet| packet.width == 4 && packet.encoding == Encoding::Mjpeg) {
            return;
        }
    }
}

#[test]
fn memory_is_bounded_for_any_number_of_cameras() {
    let hub = Hub::new(None);
    let payload = vec![7; 4 << 20];
    for camera in 0..400 {
        for number in 0..2 {
            let mut frame = received(&format!("camera {camera}"), 1, number, payload.clone());
            frame.frame.key = number == 0;
            hub.on_frame(&frame, Instant::now());
        }
        assert!(hub.kept() <= 256 << 20, "{} octets are kept", hub.kept());
    }
    let status = hub.status();
    assert_eq!((status.cameras.len(), status.left_out), (256, 2 * (400 - 256)));
    assert!(hub.kept() > 128 << 20, "what has room is kept");
}
