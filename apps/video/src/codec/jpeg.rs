//! JPEG images.

use anyhow::{Context, Result};
use jpeg_encoder::{ImageBuffer, JpegColorType, SamplingFactor};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::Encoder;
use super::image::{Image, MAX_SIDE};
use crate::frame::Encoding;

/// Codes each picture as one JPEG image.
pub struct JpegEncoder {
    quality: u8,
}

impl JpegEncoder {
    /// An encoder with a quality from 1 (smallest) to 100 (best).
    #[must_use]
    pub fn new(quality: u8) -> Self {
        Self { quality: quality.clamp(1, 100) }
    }
}

impl Encoder for JpegEncoder {
    fn encode(&mut self, image: &Image, _force_key: bool, out: &mut Vec<u8>) -> Result<Option<bool>> {
        out.clear();
        let mut encoder = jpeg_encoder::Encoder::new(&mut *out, self.quality);
        encoder.set_sampling_factor(SamplingFactor::F_2_2);
        encoder.encode_image(Planes::of(image)?).context("JPEG encoder")?;
        Ok(Some(true))
    }

    fn encoding(&self) -> Encoding {
        Encoding::Mjpeg
    }
}

/// Shows an I420 picture to the encoder in the full range that JPEG uses.
struct Planes<'a> {
    y: &'a [u8],
    u: &'a [u8],
    v: &'a [u8],
    width: u16,
    height: u16,
}

impl<'a> Planes<'a> {
    fn of(image: &'a Image) -> Result<Self> {
        let (y, u, v) = image.planes();
        let (width, height) = (u16::try_from(image.width())?, u16::try_from(image.height())?);
        Ok(Self { y, u, v, width, height })
    }
}

impl ImageBuffer for Planes<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, row: u16, buffers: &mut [Vec<u8>; 4]) {
        let (w, row) = (usize::from(self.width), usize::from(row));
        buffers[0].extend(self.y[row * w..(row + 1) * w].iter().map(|&y| FULL_LUMA[usize::from(y)]));
        let chroma = row / 2 * (w / 2)..(row / 2 + 1) * (w / 2);
        for (buffer, plane) in buffers[1..].iter_mut().zip([self.u, self.v]) {
            buffer.extend(plane[chroma.clone()].iter().flat_map(|&c| [FULL_CHROMA[usize::from(c)]; 2]));
        }
    }
}

/// Luma 16..235 to 0..255.
static FULL_LUMA: [u8; 256] = full_range(16, 219, 0);
/// Chroma 16..240 round 128 to 0..255 round 128.
static FULL_CHROMA: [u8; 256] = full_range(128, 224, 128);

const fn full_range(from: i32, span: i32, to: i32) -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let scaled = (i as i32 - from) * 255;
        let rounded = (scaled + if scaled < 0 { -span / 2 } else { span / 2 }) / span + to;
        table[i] = if rounded < 0 {
            0
        } else if rounded > 255 {
            255
        } else {
            rounded as u8
        };
        i += 1;
    }
    table
}

/// Decodes one JPEG image into `image`, in the limited range of video; odd sides lose their last row or column.
///
/// # Errors
/// When the octets are no JPEG image, or one that is too large.
pub fn decode(jpeg: &[u8], image: &mut Image) -> Result<()> {
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(MAX_SIDE as usize)
        .set_max_height(MAX_SIDE as usize);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    let rgb = decoder.decode().context("JPEG decoder")?;
    let (w, h) = decoder.dimensions().context("JPEG image without a size")?;
    let (even_w, even_h) = (w & !1, h & !1);
    let cropped: Vec<u8>;
    let rgb = if even_w == w {
        &rgb
    } else {
        cropped = rgb.chunks_exact(w * 3).flat_map(|row| &row[..even_w * 3]).copied().collect();
        &cropped
    };
    image.copy_raw(Encoding::RawRgb24, even_w as u32, even_h as u32, rgb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_survives_coding() {
        let mut image = Image::new(64, 48).unwrap();
        let (y, u, v) = image.planes_mut();
        for (i, y) in y.iter_mut().enumerate() {
            *y = if i % 64 < 32 { 90 } else { 170 };
        }
        u.fill(100);
        v.fill(160);
        let mut jpeg = Vec::new();
        assert_eq!(JpegEncoder::new(90).encode(&image, false, &mut jpeg).unwrap(), Some(true));
        assert_eq!(jpeg[..2], [0xFF, 0xD8]);
        let mut back = Image::default();
        decode(&jpeg, &mut back).unwrap();
        assert_eq!((back.width(), back.height()), (64, 48));
        for (a, b) in image.data().iter().zip(back.data()) {
            assert!(a.abs_diff(*b) <= 6, "{a} became {b}");
        }
    }

    #[test]
    fn rubbish_is_refused() {
        assert!(decode(&[0xFF, 0xD8, 1, 2, 3], &mut Image::default()).is_err());
    }
}
