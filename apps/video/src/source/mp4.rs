//! H.264 pictures in an MP4 file.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use re_mp4::{Mp4, StsdBoxContent, Track, TrackKind};

use crate::codec::annexb::Config;
use crate::codec::image::check_size;
use crate::source::guarded::Guarded;

/// The largest sample read from a file, in octets.
const MAX_SAMPLE: u64 = 64 << 20;

/// Where one picture lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    offset: u64,
    size: u64,
    /// How long the picture is shown.
    pub duration: Duration,
}

/// An open file with its index; pictures are read one by one.
pub struct Mp4File {
    path: PathBuf,
    file: File,
    /// Size in pixels.
    pub size: (u32, u32),
    /// Parameter sets.
    pub config: Config,
    /// All pictures in decoding order.
    pub samples: Vec<Sample>,
    /// Pictures are shown in another order than they are decoded in.
    pub b_frames: bool,
    /// The most pictures from one key frame to the next, also across the end when the file is looped.
    pub group: u32,
}

impl Mp4File {
    /// Reads the index of a file.
    ///
    /// # Errors
    /// When it cannot be read or has no H.264 track.
    pub fn open(path: &Path) -> Result<Self> {
        let name = || path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {}", name()))?;
        let size = file.metadata().with_context(|| format!("cannot read {}", name()))?.len();
        let mut reader = Guarded::new(BufReader::new(file), size);
        // The demuxer answers some damaged files with a panic, and others by reading for ever.
        let parsed = catch_unwind(AssertUnwindSafe(|| Mp4::read(&mut reader, size)));
        let mp4 = parsed
            .map_err(|_| anyhow!("the file is damaged"))
            .and_then(|result| result.map_err(|error| anyhow!("{error}")))
            .with_context(|| format!("{} is not an MP4 file that can be read", name()))?;
        let track = mp4
            .tracks()
            .values()
            .find(|track| track.kind == Some(TrackKind::Video))
            .with_context(|| format!("{} has no video track", name()))?;
        Self::from_track(path, reader.into_inner().into_inner(), size, &mp4, track)
            .with_context(|| format!("cannot use {}", name()))
    }

    fn from_track(path: &Path, file: File, file_size: u64, mp4: &Mp4, track: &Track) -> Result<Self> {
        let StsdBoxContent::Avc1(avc) = &track.trak(mp4).mdia.minf.stbl.stsd.contents else {
            let codec = track.codec_string(mp4).unwrap_or_else(|| "of an unknown kind".to_owned());
            bail!("its video is {codec}, not H.264; the cargo feature `gstreamer` plays any format");
        };
        let avcc = &*avc.avcc;
        let config = Config {
            length_size: usize::from(avcc.length_size_minus_one & 3) + 1,
            sps: avcc.sequence_parameter_sets.iter().map(|set| set.bytes.clone()).collect(),
            pps: avcc.picture_parameter_sets.iter().map(|set| set.bytes.clone()).collect(),
        };
        ensure!(!config.sps.is_empty() && !config.pps.is_empty(), "it has no H.264 parameter sets");
        let size = (u32::from(avc.width), u32::from(avc.height));
        check_size(size.0, size.1)?;
        ensure!(!track.samples.is_empty(), "it holds no pictures");
        let samples: Vec<Sample> = track.samples.iter().map(|s| sample(s, track.timescale)).collect();
        let inside = |s: &Sample| {
            s.size <= MAX_SAMPLE && s.offset.checked_add(s.size).is_some_and(|end| end <= file_size)
        };
        ensure!(samples.iter().all(inside), "its index points beyond its end");
        let delay = track.samples[0].composition_timestamp - track.samples[0].decode_timestamp;
        let b_frames = track.samples.iter().any(|s| s.composition_timestamp - s.decode_timestamp != delay);
        let group = longest_group(&track.samples);
        Ok(Self { path: path.to_owned(), file, size, config, samples, b_frames, group })
    }

    /// Pictures per second on average.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let total: Duration = self.samples.iter().map(|sample| sample.duration).sum();
        if total.is_zero() { 0.0 } else { self.samples.len() as f64 / total.as_secs_f64() }
    }

    /// Replaces `out` by the octets of picture `index`, NAL units with their lengths.
    ///
    /// # Errors
    /// When the file has become shorter or cannot be read.
    pub fn read(&mut self, index: usize, out: &mut Vec<u8>) -> Result<()> {
        let sample = self.samples[index];
        out.clear();
        self.file
            .seek(SeekFrom::Start(sample.offset))
            .and_then(|_| (&self.file).take(sample.size).read_to_end(out))
            .with_context(|| format!("cannot read {}", self.path.display()))?;
        ensure!(out.len() as u64 == sample.size, "{} has become shorter", self.path.display());
        Ok(())
    }

    /// The name of the file without its folder.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}

fn sample(sample: &re_mp4::Sample, timescale: u64) -> Sample {
    let seconds = sample.duration as f64 / timescale.max(1) as f64;
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or_default().min(Duration::from_secs(10));
    Sample { offset: sample.offset, size: sample.size, duration }
}

fn longest_group(samples: &[re_mp4::Sample]) -> u32 {
    let keys: Vec<usize> = (0..samples.len()).filter(|&i| samples[i].is_sync).collect();
    let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
        return samples.len() as u32;
    };
    let across = samples.len() - last + first;
    let longest = keys.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    longest.max(across) as u32
}

#[cfg(all(test, feature = "h264"))]
mod tests {
    use super::*;
    use crate::codec::Image;
    use crate::codec::annexb;
    use crate::codec::h264::H264Decoder;
    use crate::source::fake_mp4::{self, Options};

    #[test]
    fn every_picture_of_a_file_is_found_and_decodes() {
        let folder = tempfile::tempdir().unwrap();
        let path =
            fake_mp4::write(folder.path(), &Options { frames: 30, key_interval: 8, ..Options::default() });
        let mut mp4 = Mp4File::open(&path).unwrap();
        assert_eq!((mp4.samples.len(), mp4.size, mp4.b_frames, mp4.group), (30, (160, 120), false, 8));
        assert!((mp4.rate() - 25.0).abs() < 0.01);
        let mut decoder = H264Decoder::new().unwrap();
        let (mut sample, mut unit, mut image) = (Vec::new(), Vec::new(), Image::default());
        let mut keys = Vec::new();
        for index in 0..30 {
            mp4.read(index, &mut sample).unwrap();
            if annexb::from_mp4(&mp4.config, &sample, &mut unit).unwrap() {
                assert!(annexb::is_key(&unit));
                keys.push(index);
            }
            assert!(decoder.decode(&unit, false, &mut image).unwrap());
            assert_eq!((image.width(), image.height()), (160, 120));
        }
        assert_eq!(keys, [0, 8, 16, 24]);
    }

    #[test]
    fn reordered_pictures_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = fake_mp4::write(folder.path(), &Options { reordered: true, ..Options::default() });
        assert!(Mp4File::open(&path).unwrap().b_frames);
    }

    /// A file in which what follows a name was replaced.
    fn spoilt(name: &[u8; 4], back: usize, octets: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = fake_mp4::write(folder.path(), &Options::default());
        let mut file = std::fs::read(&path).unwrap();
        let at = file.windows(4).position(|it| it == name).unwrap() - back;
        file[at..at + octets.len()].copy_from_slice(octets);
        std::fs::write(&path, file).unwrap();
        format!("{:#}", Mp4File::open(&path).err().expect("it is damaged"))
    }

    #[test]
    fn an_index_without_end_is_refused() {
        // A box of no size among those of a picture format, which is looked at for ever.
        let told = spoilt(b"avcC", 4, b"\0\0\0\0free");
        assert!(told.contains("goes round in circles"), "{told}");
        // Four thousand million pictures of one octet each.
        let told = spoilt(b"stsz", 0, b"stsz\0\0\0\0\0\0\0\x01\xff\xff\xff\xff");
        assert!(told.contains("more pictures than it has bytes"), "{told}");
    }

    #[test]
    fn damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = fake_mp4::write(folder.path(), &Options::default());
        let good = std::fs::read(&path).unwrap();
        let damaged = folder.path().join("damaged.mp4");
        for length in [0, 4, good.len() / 2, good.len() - 1] {
            std::fs::write(&damaged, &good[..length]).unwrap();
            assert!(Mp4File::open(&damaged).is_err(), "{length} of {} bytes", good.len());
        }
        let other = fake_mp4::write(folder.path(), &Options { codec: *b"vp09", ..Options::default() });
        let error = format!("{:#}", Mp4File::open(&other).err().unwrap());
        assert!(error.contains("not H.264") || error.contains("cannot"), "{error}");
        assert!(Mp4File::open(&folder.path().join("none.mp4")).is_err());
    }
}
