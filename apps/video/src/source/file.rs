//! A video file, played again and again.

use anyhow::Result;
use dunlin_program::Stop;

use super::mp4::Mp4File;
use super::pace::Pacer;
use super::{Info, Source};
use crate::codec::annexb;
use crate::frame::{Encoding, Frame, now_ns};

/// Goes through the pictures of a file round and round, each when it is due.
struct Player {
    mp4: Mp4File,
    rate: Option<f64>,
    pacer: Pacer,
    index: usize,
    sample: Vec<u8>,
}

impl Player {
    fn new(mp4: Mp4File, rate: Option<f64>) -> Self {
        Self { mp4, rate, pacer: Pacer::new(0.0), index: 0, sample: Vec::new() }
    }

    /// Waits for the next picture and leaves its access unit in `unit`. Returns its index and whether it is a key
    /// frame, or `None` when `stop` was set.
    fn next(&mut self, stop: &Stop, unit: &mut Vec<u8>) -> Result<Option<(usize, bool)>> {
        let index = self.index;
        let previous = self.mp4.samples[index.checked_sub(1).unwrap_or(self.mp4.samples.len() - 1)];
        let running = match self.rate {
            None => self.pacer.wait_for(stop, previous.duration),
            Some(0.0) => !stop.is_set(),
            Some(rate) => self.pacer.wait_for(stop, std::time::Duration::from_secs_f64(1.0 / rate)),
        };
        if !running {
            return Ok(None);
        }
        self.mp4.read(index, &mut self.sample)?;
        let key = annexb::from_mp4(&self.mp4.config, &self.sample, unit)?;
        self.index = (index + 1) % self.mp4.samples.len();
        Ok(Some((index, key)))
    }

    fn describe(&self, how: &str) -> String {
        let (w, h) = self.mp4.size;
        let rate = self.rate.unwrap_or_else(|| self.mp4.rate());
        let name = self.mp4.name();
        match rate {
            0.0 => format!("{name}, {w}x{h}, as fast as possible, looped, {how}"),
            rate => format!("{name}, {w}x{h}, {rate:.4} frames/s, looped, {how}"),
        }
    }
}

/// Gives the pictures of a file as they are.
pub struct AsIs(Player);

impl AsIs {
    /// Plays `mp4` at its own rate or at `rate` (0: as fast as frames are taken).
    #[must_use]
    pub fn new(mp4: Mp4File, rate: Option<f64>) -> Self {
        Self(Player::new(mp4, rate))
    }
}

impl Source for AsIs {
    fn next(&mut self, stop: &Stop, frame: &mut Frame) -> Result<bool> {
        let Some((_, key)) = self.0.next(stop, &mut frame.payload)? else {
            return Ok(false);
        };
        frame.captured_at = now_ns();
        frame.encoding = Encoding::H264;
        (frame.width, frame.height) = self.0.mp4.size;
        frame.key = key;
        Ok(true)
    }

    fn info(&self) -> Info {
        Info {
            description: self.0.describe("H.264 as it is"),
            encoding: Encoding::H264,
            group: self.0.mp4.group,
            keys_on_request: false,
        }
    }
}

#[cfg(feature = "h264")]
pub use decoded::Decoded;

#[cfg(feature = "h264")]
mod decoded {
    use std::collections::VecDeque;

    use anyhow::{Result, bail};
    use dunlin_program::Stop;

    use super::Player;
    use crate::codec::Image;
    use crate::codec::h264::H264Decoder;
    use crate::codec::image::check_even_size;
    use crate::frame::now_ns;
    use crate::source::ImageSource;
    use crate::source::mp4::Mp4File;

    /// Decodes the pictures of a file, to be coded anew.
    pub struct Decoded {
        player: Player,
        decoder: H264Decoder,
        unit: Vec<u8>,
        decoded: Image,
        /// Pictures that came out when the decoder was emptied at the end of the file.
        rest: VecDeque<Image>,
        size: Option<(u32, u32)>,
        failures: u32,
    }

    impl Decoded {
        /// Access units in a row without a picture after which the file counts as unusable.
        const PATIENCE: u32 = 64;

        /// Plays `mp4` at its own rate or at `rate` (0: as fast as pictures are taken), scaled to `size` if given.
        ///
        /// # Errors
        /// When the decoder cannot be started or the size is not possible.
        pub fn new(mp4: Mp4File, rate: Option<f64>, size: Option<(u32, u32)>) -> Result<Self> {
            if let Some((w, h)) = size {
                check_even_size(w, h)?;
            }
            Ok(Self {
                player: Player::new(mp4, rate),
                decoder: H264Decoder::new()?,
                unit: Vec::new(),
                decoded: Image::default(),
                rest: VecDeque::new(),
                size,
                failures: 0,
            })
        }

        /// The next picture in the order of showing is in `decoded`; false when `stop` was set.
        fn advance(&mut self, stop: &Stop) -> Result<bool> {
            loop {
                if let Some(image) = self.rest.pop_front() {
                    self.decoded = image;
                    return Ok(true);
                }
                let Some((index, _)) = self.player.next(stop, &mut self.unit)? else {
                    return Ok(false);
                };
                let reordered = self.player.mp4.b_frames;
                let result = self.decoder.decode(&self.unit, reordered, &mut self.decoded);
                if reordered && index + 1 == self.player.mp4.samples.len() {
                    self.rest = self.decoder.drain()?.into();
                }
                match result {
                    Ok(true) => {
                        self.failures = 0;
                        return Ok(true);
                    }
                    Ok(false) => self.failures += 1,
                    Err(error) if self.failures >= Self::PATIENCE => return Err(error),
                    Err(_) => self.failures += 1,
                }
                if self.failures > Self::PATIENCE {
                    bail!("{} gives no pictures to the H.264 decoder", self.player.mp4.name());
                }
            }
        }
    }

    impl ImageSource for Decoded {
        fn next(&mut self, stop: &Stop, image: &mut Image) -> Result<Option<i64>> {
            if !self.advance(stop)? {
                return Ok(None);
            }
            match self.size {
                Some((w, h)) => {
                    image.resize(w, h)?;
                    image.scale_from(&self.decoded);
                }
                None => std::mem::swap(image, &mut self.decoded),
            }
            Ok(Some(now_ns()))
        }

        fn description(&self) -> String {
            self.player.describe("decoded and coded anew")
        }
    }
}

#[cfg(all(test, feature = "h264"))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::codec::Image;
    use crate::source::ImageSource;
    use crate::source::fake_mp4::{self, Options};

    fn file(options: &Options) -> Mp4File {
        let folder = tempfile::tempdir().unwrap();
        Mp4File::open(&fake_mp4::write(folder.path(), options)).unwrap()
    }

    #[test]
    fn a_file_is_looped_with_a_key_frame_at_each_turn() {
        let mut source = AsIs::new(file(&Options { frames: 6, ..Options::default() }), Some(0.0));
        assert_eq!(source.info().group, 6);
        let mut frame = Frame::default();
        let keys: Vec<bool> = (0..13)
            .map(|_| {
                assert!(source.next(&Stop::default(), &mut frame).unwrap());
                assert_eq!((frame.encoding, frame.width, frame.height), (Encoding::H264, 160, 120));
                frame.key
            })
            .collect();
        let expected: Vec<bool> = (0..13).map(|i| i % 6 == 0).collect();
        assert_eq!(keys, expected);
        let stop = Stop::default();
        stop.set();
        assert!(!source.next(&stop, &mut frame).unwrap());
    }

    #[test]
    fn a_file_keeps_its_own_time() {
        let mut source = AsIs::new(file(&Options { frames: 6, ..Options::default() }), None);
        let mut frame = Frame::default();
        let mut times = Vec::new();
        for _ in 0..4 {
            source.next(&Stop::default(), &mut frame).unwrap();
            times.push(frame.captured_at);
        }
        let spent = times[3] - times[0];
        assert!(spent >= 80_000_000, "three pictures at 25 per second took {spent} ns");
    }

    #[test]
    fn decoded_pictures_are_distinct_and_scaled() {
        let mp4 = file(&Options { frames: 10, ..Options::default() });
        let mut source = Decoded::new(mp4, Some(0.0), Some((80, 60))).unwrap();
        let mut image = Image::default();
        let mut seen = BTreeSet::new();
        for _ in 0..10 {
            assert!(source.next(&Stop::default(), &mut image).unwrap().is_some());
            assert_eq!((image.width(), image.height()), (80, 60));
            seen.insert(image.data().to_vec());
        }
        assert_eq!(seen.len(), 10);
    }
}
