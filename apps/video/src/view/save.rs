//! Frames into files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::packet::Packet;
use super::transcode::Converter;
use super::{Received, WriterId};
use crate::codec::annexb;
use crate::frame::Encoding;

/// Open streams at the same time.
const MAX_STREAMS: usize = 64;

/// Cameras and writers whose frames are saved.
const MAX_NAMES: usize = 1024;

/// A camera of one writer: names come from the network, and two writers may use the same.
type Camera = (WriterId, String);

/// Writes frames into a folder: H.264 as one stream per camera and writer, everything else as one file per frame. What is there
/// already is not written over.
pub struct Saver {
    folder: PathBuf,
    names: BTreeMap<Camera, String>,
    streams: BTreeMap<Camera, BufWriter<File>>,
}

impl Saver {
    /// Makes the folder where it is missing.
    ///
    /// # Errors
    /// When that fails.
    pub fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), names: BTreeMap::new(), streams: BTreeMap::new() })
    }

    /// Writes one frame. An H.264 stream begins with its first key frame; damaged raw pictures are left out.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save(&mut self, received: &Received) -> Result<()> {
        let frame = &received.frame;
        match frame.encoding {
            Encoding::H264 => self.append(received),
            Encoding::Mjpeg => self.write(received, "jpg", &frame.payload),
            Encoding::Opaque => self.write(received, "bin", &frame.payload),
            _ => {
                let packet = Packet::new(frame, received.received_at, false, Instant::now());
                match Converter::default().convert(&packet, true) {
                    Ok(Some(jpeg)) => self.write(received, "jpg", jpeg),
                    Ok(None) | Err(_) => Ok(()),
                }
            }
        }
    }

    fn append(&mut self, received: &Received) -> Result<()> {
        let (frame, camera) = (&received.frame, camera_of(received));
        if !self.streams.contains_key(&camera) {
            if !annexb::is_key(&frame.payload) || self.streams.len() >= MAX_STREAMS {
                return Ok(());
            }
            let Some(name) = self.name(&camera)? else { return Ok(()) };
            let file = self.create(&format!("{name}.h264"))?;
            self.streams.insert(camera.clone(), BufWriter::new(file));
        }
        if let Some(stream) = self.streams.get_mut(&camera) {
            stream.write_all(&frame.payload).context("cannot write the H.264 stream")?;
        }
        Ok(())
    }

    fn write(&mut self, received: &Received, extension: &str, octets: &[u8]) -> Result<()> {
        let camera = camera_of(received);
        let file_of = |name: &str| format!("{name}-{:08}.{extension}", received.frame.number);
        let Some(mut name) = self.name(&camera)? else { return Ok(()) };
        if self.folder.join(file_of(&name)).exists() {
            // The writer counts from the beginning again.
            self.names.remove(&camera);
            let Some(next) = self.name(&camera)? else { return Ok(()) };
            name = next;
        }
        let file = file_of(&name);
        self.create(&file)?.write_all(octets).with_context(|| format!("cannot write {file}"))
    }

    fn create(&self, file: &str) -> Result<File> {
        let path = self.folder.join(file);
        File::create_new(&path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What the files of a camera begin with: its name, and a number if somebody has had files of that name. Nothing if there are
    /// too many.
    fn name(&mut self, camera: &Camera) -> Result<Option<String>> {
        if let Some(name) = self.names.get(camera) {
            return Ok(Some(name.clone()));
        }
        if self.names.len() >= MAX_NAMES {
            return Ok(None);
        }
        let mut taken = self.names_there()?;
        taken.extend(self.names.values().cloned());
        let plain = file_name(&camera.1);
        // A dot is in no name, so that no other camera is called so.
        let numbered = (2_u64..).map(|n| format!("{plain}.{n}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
        if let Some(name) = &free {
            self.names.insert(camera.clone(), name.clone());
        }
        Ok(free)
    }

    /// What the files in the folder begin with.
    fn names_there(&self) -> Result<BTreeSet<String>> {
        let folder = || format!("cannot read the folder {}", self.folder.display());
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.folder).with_context(folder)? {
            let file = entry.with_context(folder)?.file_name();
            let stem = Path::new(&file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let stem = stem.unwrap_or_default();
            if let Some((name, _)) = stem.rsplit_once('-') {
                names.insert(name.to_owned());
            }
            names.insert(stem);
        }
        Ok(names)
    }

    /// Writes out what is still in memory.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.streams
            .values_mut()
            .try_for_each(|stream| stream.flush().context("cannot write the H.264 stream"))
    }
}

fn camera_of(received: &Received) -> Camera {
    (received.writer, received.frame.camera_id.clone())
}

/// A file name for a camera whose name came from the network.
fn file_name(camera: &str) -> String {
    let harmless = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let name: String =
        camera.chars().take(64).map(|letter| if harmless(letter) { letter } else { '_' }).collect();
    if name.is_empty() { "camera".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;

    fn received(camera: &str, number: u64, encoding: Encoding, payload: Vec<u8>) -> Received {
        let frame = Frame {
            camera_id: camera.to_owned(),
            number,
            encoding,
            width: 2,
            height: 2,
            payload,
            ..Frame::default()
        };
        Received { frame, writer: WriterId::default(), received_at: 0 }
    }

    #[test]
    fn saver_writes_one_file_per_encoding_and_stream() {
        let folder = tempfile::tempdir().unwrap();
        let mut saver = Saver::new(&folder.path().join("new")).unwrap();
        let key = [0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1, 0, 0, 1, 0x65, 1];
        saver.save(&received("a", 0, Encoding::H264, vec![0, 0, 1, 0x41, 1])).unwrap();
        saver.save(&received("a", 1, Encoding::H264, key.to_vec())).unwrap();
        saver.save(&received("a", 2, Encoding::H264, vec![0, 0, 1, 0x41, 2])).unwrap();
        saver.save(&received("../b", 3, Encoding::Mjpeg, vec![1])).unwrap();
        saver.save(&received("c", 4, Encoding::RawRgb24, vec![9; 12])).unwrap();
        saver.save(&received("c", 5, Encoding::RawRgb24, vec![9; 11])).unwrap();
        saver.save(&received("", 6, Encoding::Opaque, vec![7])).unwrap();
        saver.finish().unwrap();
        let read = |name: &str| fs::read(folder.path().join("new").join(name)).unwrap();
        assert_eq!(read("a.h264"), [&key[..], &[0, 0, 1, 0x41, 2]].concat());
        assert_eq!(read("___b-00000003.jpg"), [1]);
        assert_eq!(read("c-00000004.jpg")[..2], [0xFF, 0xD8]);
        assert_eq!(read("camera-00000006.bin"), [7]);
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 4);
    }

    #[test]
    fn saved_frames_overwrite_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let key = [0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1, 0, 0, 1, 0x65, 1];
        let save = |all: &[(u8, &str, u64, Encoding, u8)]| {
            let mut saver = Saver::new(folder.path()).unwrap();
            for (writer, camera, number, encoding, last) in all {
                let payload =
                    if *encoding == Encoding::H264 { [&key[..], &[*last]].concat() } else { vec![*last] };
                let mut received = received(camera, *number, *encoding, payload);
                received.writer = WriterId([*writer; 16]);
                saver.save(&received).unwrap();
            }
            saver.finish().unwrap();
        };
        save(&[
            (1, "a", 0, Encoding::H264, 1),
            (1, "b/c", 0, Encoding::Mjpeg, 2),
            (1, "b_c", 0, Encoding::Mjpeg, 3),
        ]);
        // The viewer starts again, and so does the publisher.
        save(&[
            (2, "a", 0, Encoding::H264, 4),
            (2, "b/c", 0, Encoding::Mjpeg, 5),
            (2, "b/c", 0, Encoding::Mjpeg, 6),
        ]);
        let last = |name: &str| *fs::read(folder.path().join(name)).unwrap().last().unwrap();
        assert_eq!((last("a.h264"), last("a.2.h264")), (1, 4));
        let pictures = ["b_c-00000000.jpg", "b_c.2-00000000.jpg", "b_c.3-00000000.jpg", "b_c.4-00000000.jpg"];
        assert_eq!(pictures.map(last), [2, 3, 5, 6]);
    }
}
