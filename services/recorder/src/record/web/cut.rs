//! A part of a recording, to download.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use dunlin_recorder::file::{Compression, Recording, Selection, rewrite};
use dunlin_recorder::text::{parse_duration, size};
use dunlin_recorder::{Names, Recorder};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;

/// Octets that are handed over at a time.
const PIECE: usize = 256 << 10;
/// The largest cut: it lies on the disk of the recording until it is downloaded.
const LARGEST: u64 = 2_000_000_000;

/// What is wanted.
#[derive(serde::Deserialize)]
pub(super) struct Wish {
    pub(super) file: String,
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    topics: String,
}

/// A recording of this recorder, and no other file.
pub(super) fn known(recorder: &Recorder, name: &str) -> Option<PathBuf> {
    let kept = recorder.files().into_iter().map(|kept| kept.file);
    kept.chain(recorder.present_file()).find(|file| file.display().to_string() == name)
}

/// Makes it in a file without a name. Of the present recording there is what its closed chunks have.
pub(super) fn make(file: &Path, wish: &Wish, largest: u64) -> Result<File> {
    let span = Recording::open(file)?.span();
    let (start, _) = span.context("nothing is recorded yet")?;
    let at = |text: &str, otherwise: u64| -> Result<u64> {
        if text.trim().is_empty() {
            return Ok(otherwise);
        }
        let offset = parse_duration(text.trim()).map_err(anyhow::Error::msg)?;
        Ok(start.saturating_add(u64::try_from(offset.as_nanos()).unwrap_or(u64::MAX)))
    };
    let allow = wish.topics.split_whitespace().map(ToOwned::to_owned).collect();
    let topics = Names { allow, deny: Vec::new() };
    let selection = Selection { topics, from: at(&wish.from, 0)?, to: at(&wish.to, u64::MAX)? };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = tempfile::tempfile_in(folder).with_context(|| folder.display().to_string())?;
    let output = Bounded { file: part.try_clone()?, left: largest };
    rewrite(&mut BufReader::new(File::open(file)?), output, Compression::default(), &selection)?;
    part.seek(SeekFrom::Start(0))?;
    Ok(part)
}

pub(super) fn make_bounded(file: &Path, wish: &Wish) -> Result<File> {
    make(file, wish, LARGEST)
}

/// A file that takes so much and not more.
struct Bounded {
    file: File,
    left: u64,
}

impl Write for Bounded {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if octets.len() as u64 > self.left {
            let why =
                format!("the cut has more than {}: choose a part, or use `dunlin record cut`", size(LARGEST));
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let written = self.file.write(octets)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Hands it over; then the next one may be made.
pub(super) fn response(part: File, turn: OwnedSemaphorePermit) -> Response {
    let octets = part.metadata().map_or(0, |it| it.len());
    let pieces = stream::unfold((part, turn), |(mut part, turn)| async move {
        // From the cache of the system as a rule: it was written a moment ago.
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; PIECE];
            let read = part.read(&mut piece);
            (part, read.map(|read| piece[..read].to_vec()))
        });
        match read.await {
            Ok((_, Ok(piece))) if piece.is_empty() => None,
            Ok((part, piece)) => Some((piece, (part, turn))),
            Err(_) => None,
        }
    });
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_LENGTH, octets.to_string()),
        (CONTENT_DISPOSITION, "attachment; filename=\"cut.mcap\"".to_owned()),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

#[cfg(test)]
mod tests {
    use dunlin_recorder::file::RecordingWriter;

    use super::*;

    fn wish(from: &str, topics: &str) -> Wish {
        Wish { file: String::new(), from: from.into(), to: String::new(), topics: topics.into() }
    }

    #[test]
    fn a_cut_is_a_recording_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.mcap");
        let mut writer = RecordingWriter::new(File::create(&file).unwrap(), Compression::None).unwrap();
        for topic in ["Square", "Circle"] {
            let channel = writer.add_channel(topic, "cdr", None, &Default::default()).unwrap();
            for n in 0..10 {
                writer.message(channel, n, (1_000_000_000 * u64::from(n), 0), &[0; 100]).unwrap();
            }
        }
        writer.finish().unwrap();
        let count = |part: File| {
            let mut count = 0;
            let mut recording = Recording::new(BufReader::new(part)).unwrap();
            recording
                .for_each(0, |_, _| {
                    count += 1;
                    true
                })
                .unwrap();
            count
        };
        assert_eq!(count(make_bounded(&file, &wish("", "")).unwrap()), 20);
        assert_eq!(count(make_bounded(&file, &wish("5s", "Sq*")).unwrap()), 5);
        assert!(make_bounded(&file, &wish("soon", "")).is_err());
        let error = make(&file, &wish("", ""), 300).err().unwrap();
        assert!(format!("{error:#}").contains("choose a part"), "{error:#}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else lies there");
    }
}
