//! Frames into files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::Received;
use super::packet::Packet;
use super::transcode::Converter;
use crate::codec::annexb;
use crate::frame::{Encoding, Frame};

/// Open streams at the same time.
const MAX_STREAMS: usize = 64;

/// Writes frames into a folder: H.264 as one stream per camera, everything else as one file per frame.
pub struct Saver {
    folder: PathBuf,
    streams: BTreeMap<String, BufWriter<File>>,
}

impl Saver {
    /// Makes the folder where it is missing.
    ///
    /// # Errors
    /// When that fails.
    pub fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), streams: BTreeMap::new() })
    }

    /// Writes one frame. An H.264 stream begins with its first key frame; damaged raw pictures are left out.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save(&mut self, received: &Received) -> Result<()> {
        let frame = &received.frame;
        match frame.encoding {
            Encoding::H264 => self.append(frame),
            Encoding::Mjpeg => self.write(frame, "jpg", &frame.payload),
            Encoding::Opaque => self.write(frame, "bin", &frame.payload),
            _ => {
                let packet = Packet::new(frame, received.received_at, false, Instant::now());
                match Converter::default().convert(&packet, true) {
                    Ok(Some(jpeg)) => self.write(frame, "jpg", jpeg),
                    Ok(None) | Err(_) => Ok(()),
                }
            }
        }
    }

    fn append(&mut self, frame: &Frame) -> Result<()> {
        if !self.streams.contains_key(&frame.camera_id) {
            if !annexb::is_key(&frame.payload) || self.streams.len() >= MAX_STREAMS {
                return Ok(());
            }
            let path = self.folder.join(format!("{}.h264", file_name(&frame.camera_id)));
            let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            self.streams.insert(frame.camera_id.clone(), BufWriter::new(file));
        }
        if let Some(stream) = self.streams.get_mut(&frame.camera_id) {
            stream.write_all(&frame.payload).context("cannot write the H.264 stream")?;
        }
        Ok(())
    }

    fn write(&self, frame: &Frame, extension: &str, octets: &[u8]) -> Result<()> {
        let name = format!("{}-{:08}.{extension}", file_name(&frame.camera_id), frame.number);
        let path = self.folder.join(name);
        fs::write(&path, octets).with_context(|| format!("cannot write {}", path.display()))
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
    use crate::view::WriterId;

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
    fn each_coding_has_its_file() {
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
}
