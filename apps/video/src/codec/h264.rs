//! H.264 through OpenH264, built from source.

use anyhow::{Context, Result};
use openh264::OpenH264API;
use openh264::decoder::{DecodeOptions, DecodedYUV, Decoder, Flush};
use openh264::encoder::{
    BitRate, Complexity, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, Profile, RateControlMode,
    UsageType,
};
use openh264::formats::{YUVSlices, YUVSource};

use super::image::Image;
use super::{Encoder, annexb};
use crate::frame::Encoding;

/// Codes pictures as a constrained baseline stream: no B-frames, parameter sets with each IDR picture.
pub struct H264Encoder(openh264::encoder::Encoder);

impl H264Encoder {
    /// An encoder that aims at `bitrate` bits per second for `rate` pictures per second, with an IDR picture at
    /// least every `key_interval` pictures.
    ///
    /// # Errors
    /// When the library cannot make one.
    pub fn new(bitrate: u32, rate: f32, key_interval: u32) -> Result<Self> {
        let config = EncoderConfig::new()
            .bitrate(BitRate::from_bps(bitrate))
            .max_frame_rate(FrameRate::from_hz(rate))
            .rate_control_mode(RateControlMode::Bitrate)
            .usage_type(UsageType::CameraVideoRealTime)
            .complexity(Complexity::Low)
            .profile(Profile::Baseline)
            .skip_frames(true)
            .scene_change_detect(false)
            .intra_frame_period(IntraFramePeriod::from_num_frames(key_interval))
            .num_threads(1);
        let encoder = openh264::encoder::Encoder::with_api_config(OpenH264API::from_source(), config)
            .context("cannot start the H.264 encoder")?;
        Ok(Self(encoder))
    }
}

impl Encoder for H264Encoder {
    fn encode(&mut self, image: &Image, force_key: bool, out: &mut Vec<u8>) -> Result<Option<bool>> {
        let (w, h) = (image.width(), image.height());
        let slices = YUVSlices::new(image.planes(), (w, h), (w, w / 2, w / 2));
        if force_key {
            self.0.force_intra_frame();
        }
        let coded = self.0.encode(&slices).context("H.264 encoder")?;
        out.clear();
        if matches!(coded.frame_type(), FrameType::Skip | FrameType::Invalid) {
            return Ok(None);
        }
        coded.write_vec(out);
        Ok(Some(annexb::is_key(out)))
    }

    fn encoding(&self) -> Encoding {
        Encoding::H264
    }
}

/// Decodes a byte stream of any profile that OpenH264 knows, B-frames included.
pub struct H264Decoder(Decoder);

impl H264Decoder {
    /// A decoder that waits for the first key frame.
    ///
    /// # Errors
    /// When the library cannot make one.
    pub fn new() -> Result<Self> {
        Ok(Self(Decoder::new().context("cannot start the H.264 decoder")?))
    }

    /// Gives one access unit to the decoder. Returns whether a picture came out into `image`, which with B-frames
    /// (`reordered`) may be an earlier one.
    ///
    /// # Errors
    /// When the access unit is damaged or too large.
    pub fn decode(&mut self, unit: &[u8], reordered: bool, image: &mut Image) -> Result<bool> {
        let flush = if reordered { Flush::NoFlush } else { Flush::Flush };
        let options = DecodeOptions::new().flush_after_decode(flush);
        match self.0.decode_with_options(unit, options).context("H.264 decoder")? {
            Some(picture) => copy_picture(&picture, image).map(|()| true),
            None => Ok(false),
        }
    }

    /// Takes out the pictures that the decoder still holds, in the order in which they are to be shown.
    ///
    /// # Errors
    /// When the decoder is in disorder.
    pub fn drain(&mut self) -> Result<Vec<Image>> {
        let rest = self.0.flush_remaining().context("H.264 decoder")?;
        rest.iter()
            .map(|picture| {
                let mut image = Image::default();
                copy_picture(picture, &mut image).map(|()| image)
            })
            .collect()
    }
}

fn copy_picture(picture: &DecodedYUV<'_>, image: &mut Image) -> Result<()> {
    let (w, h) = picture.dimensions();
    let (y, u, v) = picture.strides();
    let size = (u32::try_from(w & !1)?, u32::try_from(h & !1)?);
    image.copy_planes(size, [picture.y(), picture.u(), picture.v()], [y, u, v])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::pattern;

    fn encode(frames: u64, key_interval: u32) -> Vec<(Vec<u8>, bool)> {
        let mut encoder = H264Encoder::new(500_000, 30.0, key_interval).unwrap();
        let mut image = Image::new(160, 120).unwrap();
        (0..frames)
            .map(|number| {
                pattern::draw(&mut image, number, 0);
                let mut unit = Vec::new();
                let key = encoder.encode(&image, false, &mut unit).unwrap().unwrap();
                (unit, key)
            })
            .collect()
    }

    #[test]
    fn the_stream_begins_with_a_key_frame_and_repeats_it() {
        let units = encode(25, 10);
        let keys: Vec<usize> = (0..25).filter(|&i| units[i].1).collect();
        assert_eq!(keys, [0, 10, 20]);
        let sps = annexb::nal_units(&units[10].0).find(|n| annexb::nal_type(n) == annexb::NAL_SPS).unwrap();
        assert_eq!(sps[1], 66, "baseline profile");
        assert_ne!(sps[2] & 0x40, 0, "constrained baseline");
    }

    #[test]
    fn a_key_frame_comes_when_asked_for() {
        let mut encoder = H264Encoder::new(500_000, 30.0, 1000).unwrap();
        let mut image = Image::new(160, 120).unwrap();
        let mut unit = Vec::new();
        let mut keys = Vec::new();
        for number in 0..8 {
            pattern::draw(&mut image, number, 0);
            keys.push(encoder.encode(&image, number == 5, &mut unit).unwrap());
        }
        assert_eq!(keys.iter().map(|k| k.unwrap()).collect::<Vec<_>>().iter().filter(|&&k| k).count(), 2);
        assert_eq!(keys[5], Some(true));
    }

    #[test]
    fn decoded_pictures_are_distinct_and_look_alike() {
        let mut decoder = H264Decoder::new().unwrap();
        let (mut image, mut original) = (Image::default(), Image::new(160, 120).unwrap());
        let mut seen = std::collections::BTreeSet::new();
        for (number, (unit, _)) in encode(30, 30).iter().enumerate() {
            assert!(decoder.decode(unit, false, &mut image).unwrap());
            pattern::draw(&mut original, number as u64, 0);
            let (a, b) = (original.planes().0, image.planes().0);
            let error: u64 = a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            assert!(error / (a.len() as u64) < 20, "picture {number} is off by {error}");
            seen.insert(image.data().to_vec());
        }
        assert_eq!(seen.len(), 30);
        assert!(decoder.decode(&[0, 0, 0, 1, 0x65, 1, 2, 3], false, &mut image).is_err());
    }
}
