//! Recordings made here, as a recorder makes them.

use std::fs::File;

use dunlin::cdr::{Representation, to_payload};
use dunlin_recorder::file::{Compression, RecordingWriter};
use dunlin_video::dds::{VideoEncoding, VideoFrame};

use super::*;

const SECOND: i64 = 1_000_000_000;

fn payload(camera: &str, number: u64, key_frame: bool) -> Vec<u8> {
    let encoding = VideoEncoding::H264;
    let frame = VideoFrame {
        camera_id: camera.into(),
        frame_number: number,
        key_frame,
        encoding,
        ..VideoFrame::default()
    };
    let mut octets = Vec::new();
    to_payload(&frame, Representation::Xcdr1, &mut octets).unwrap();
    octets
}

struct Written {
    writer: RecordingWriter<File>,
    channel: u16,
}

impl Written {
    fn begin(path: &Path) -> Self {
        let mut writer = RecordingWriter::new(File::create(path).unwrap(), Compression::Lz4).unwrap();
        let channel = writer.add_channel("Video", "cdr", None, &BTreeMap::new()).unwrap();
        Self { writer, channel }
    }

    /// One second: a picture of each of two cameras in each tenth, as a chunk of its own.
    fn second(&mut self, second: i64) {
        for tenth in 0..10 {
            let number = (second * 10 + tenth) as u64;
            let time = (second * SECOND + tenth * SECOND / 10) as u64;
            for camera in ["front", "yard"] {
                // Every third second begins with a key frame.
                let key = second % 3 == 0 && tenth == 0;
                self.writer.message(self.channel, 0, (time, time), &payload(camera, number, key)).unwrap();
            }
        }
        self.writer.flush().unwrap();
    }
}

fn numbers(archive: &mut Archive, cursor: &mut Cursor) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        match cursor.step(archive).unwrap() {
            Step::Picture(picture) => numbers.push(picture.frame.frame_number),
            Step::Further => {}
            Step::End => return numbers,
        }
    }
}

#[test]
fn pictures_of_a_camera_come_in_order_across_files() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a.mcap"), folder.path().join("b.mcap"));
    let mut written = Written::begin(&first);
    (0..5).for_each(|second| written.second(second));
    written.writer.finish().unwrap();
    let mut present = Written::begin(&second);
    (5..7).for_each(|second| present.second(second));

    let mut archive = Archive::new("Video");
    archive.refresh(std::slice::from_ref(&first), Some(&second));
    let recorded = archive.recorded();
    assert_eq!(recorded.len(), 2);
    assert_eq!(
        (recorded[0].camera.as_str(), recorded[0].first, recorded[0].last),
        ("front", 0, 6 * SECOND + 9 * SECOND / 10)
    );

    // The key frame before the fifth second is that of the third, in another file.
    let mut cursor = Cursor::at(&mut archive, "yard", 5 * SECOND).unwrap();
    assert_eq!(numbers(&mut archive, &mut cursor), (30..70).collect::<Vec<_>>());

    present.second(7);
    assert!(numbers(&mut archive, &mut cursor).is_empty(), "nobody has looked again");
    archive.refresh(std::slice::from_ref(&first), Some(&second));
    assert_eq!(numbers(&mut archive, &mut cursor), (70..80).collect::<Vec<_>>());

    present.second(8);
    present.writer.finish().unwrap();
    archive.refresh(&[first.clone(), second.clone()], None);
    assert_eq!(numbers(&mut archive, &mut cursor), (80..90).collect::<Vec<_>>());

    // The oldest file goes.
    std::fs::remove_file(&first).unwrap();
    archive.refresh(std::slice::from_ref(&second), None);
    assert_eq!(archive.recorded()[0].first, 5 * SECOND);
    let mut cursor = Cursor::at(&mut archive, "front", 0).unwrap();
    assert_eq!(numbers(&mut archive, &mut cursor).first(), Some(&50));
}

#[test]
fn a_missing_recording_gives_no_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let (file, rubbish) = (folder.path().join("a.mcap"), folder.path().join("rubbish.mcap"));
    std::fs::write(&rubbish, "no recording").unwrap();
    let mut written = Written::begin(&file);
    written.second(0);
    written.writer.finish().unwrap();
    let mut archive = Archive::new("Video");
    archive.refresh(&[rubbish, file, folder.path().join("none.mcap")], None);
    for (camera, time) in [("nobody", 0), ("front", 100 * SECOND), ("front", i64::MAX)] {
        let mut cursor = Cursor::at(&mut archive, camera, time).unwrap();
        assert!(numbers(&mut archive, &mut cursor).is_empty(), "{camera} {time}");
    }
    let mut cursor = Cursor::at(&mut archive, "front", i64::MIN).unwrap();
    assert_eq!(numbers(&mut archive, &mut cursor).len(), 10);
    assert!(Archive::new("Other").recorded().is_empty());
}
