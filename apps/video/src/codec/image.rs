//! A picture in memory: planes Y, U and V with chroma at half width and half height (I420).

use anyhow::{Result, ensure};

use crate::frame::Encoding;

/// The longest side of a picture that this program handles, in pixels.
pub const MAX_SIDE: u32 = 8192;

/// An I420 picture with even sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    width: usize,
    height: usize,
    data: Vec<u8>,
}

impl Image {
    /// A black picture.
    ///
    /// # Errors
    /// When a side is 0, odd or above [`MAX_SIDE`].
    pub fn new(width: u32, height: u32) -> Result<Self> {
        let mut image = Self::default();
        image.resize(width, height)?;
        Ok(image)
    }

    /// Makes the picture that large; when it is not yet, it becomes black.
    ///
    /// # Errors
    /// When a side is 0, odd or above [`MAX_SIDE`].
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        check_even_size(width, height)?;
        let (w, h) = (width as usize, height as usize);
        if (w, h) != (self.width, self.height) {
            (self.width, self.height) = (w, h);
            self.data.clear();
            self.data.resize(w * h, 16);
            self.data.resize(w * h * 3 / 2, 128);
        }
        Ok(())
    }

    /// Width in pixels.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// The three planes, one after the other.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The planes Y, U and V.
    #[must_use]
    pub fn planes(&self) -> (&[u8], &[u8], &[u8]) {
        let (y, chroma) = self.data.split_at(self.width * self.height);
        let (u, v) = chroma.split_at(chroma.len() / 2);
        (y, u, v)
    }

    /// The planes Y, U and V for writing.
    pub fn planes_mut(&mut self) -> (&mut [u8], &mut [u8], &mut [u8]) {
        let (y, chroma) = self.data.split_at_mut(self.width * self.height);
        let half = chroma.len() / 2;
        let (u, v) = chroma.split_at_mut(half);
        (y, u, v)
    }

    /// Takes over planes whose rows are `strides` octets apart.
    ///
    /// # Errors
    /// When the size is not allowed or a plane is too short.
    pub fn copy_planes(
        &mut self,
        (width, height): (u32, u32),
        planes: [&[u8]; 3],
        strides: [usize; 3],
    ) -> Result<()> {
        self.resize(width, height)?;
        let (w, h) = (self.width, self.height);
        let (y, u, v) = self.planes_mut();
        for (target, source, stride, w, h) in [
            (y, planes[0], strides[0], w, h),
            (u, planes[1], strides[1], w / 2, h / 2),
            (v, planes[2], strides[2], w / 2, h / 2),
        ] {
            ensure!(stride >= w && source.len() >= stride * (h - 1) + w, "a plane is too short");
            for (target, source) in target.chunks_exact_mut(w).zip(source.chunks(stride)) {
                target.copy_from_slice(&source[..w]);
            }
        }
        Ok(())
    }

    /// Takes over a raw payload.
    ///
    /// # Errors
    /// When the size is not allowed, the payload is too short, or the coding is none of a raw picture.
    pub fn copy_raw(&mut self, encoding: Encoding, width: u32, height: u32, raw: &[u8]) -> Result<()> {
        self.resize(width, height)?;
        let pixels = self.width * self.height;
        let need = match encoding {
            Encoding::RawI420 => pixels * 3 / 2,
            Encoding::RawRgb24 => pixels * 3,
            Encoding::RawGray8 => pixels,
            Encoding::RawYuyv => pixels * 2,
            Encoding::Mjpeg | Encoding::H264 | Encoding::Opaque => {
                anyhow::bail!("{} is no raw picture", encoding.name())
            }
        };
        ensure!(
            raw.len() >= need,
            "{} bytes are too few for {width}x{height} {}",
            raw.len(),
            encoding.name()
        );
        match encoding {
            Encoding::RawRgb24 => self.copy_rgb(raw),
            Encoding::RawYuyv => self.copy_yuyv(raw),
            Encoding::RawGray8 => self.copy_gray(raw),
            _ => self.data.copy_from_slice(&raw[..need]),
        }
        Ok(())
    }

    fn copy_gray(&mut self, raw: &[u8]) {
        let (y, u, v) = self.planes_mut();
        let len = y.len();
        for (target, source) in y.iter_mut().zip(&raw[..len]) {
            *target = limited(*source);
        }
        u.fill(128);
        v.fill(128);
    }

    fn copy_rgb(&mut self, raw: &[u8]) {
        let w = self.width;
        let (y, u, v) = self.planes_mut();
        for (row, source) in raw.chunks_exact(w * 3).take(y.len() / w).enumerate() {
            for (target, rgb) in y[row * w..].iter_mut().zip(source.chunks_exact(3)) {
                *target = luma(rgb[0], rgb[1], rgb[2]);
            }
            if row % 2 == 0 {
                let start = row / 2 * (w / 2);
                for (i, rgb) in source.chunks_exact(6).enumerate() {
                    (u[start + i], v[start + i]) = chroma(rgb[0], rgb[1], rgb[2]);
                }
            }
        }
    }

    fn copy_yuyv(&mut self, raw: &[u8]) {
        let w = self.width;
        let (y, u, v) = self.planes_mut();
        for (row, source) in raw.chunks_exact(w * 2).take(y.len() / w).enumerate() {
            let chroma_row = row / 2 * (w / 2);
            for (i, pair) in source.chunks_exact(4).enumerate() {
                y[row * w + 2 * i] = pair[0];
                y[row * w + 2 * i + 1] = pair[2];
                if row % 2 == 0 {
                    u[chroma_row + i] = pair[1];
                    v[chroma_row + i] = pair[3];
                }
            }
        }
    }

    /// Takes over `source`, brought to the size of this picture by averaging when it shrinks and by repeating
    /// pixels when it grows.
    pub fn scale_from(&mut self, source: &Image) {
        let to = (self.width, self.height);
        let from = (source.width, source.height);
        let halves = |(w, h): (usize, usize)| (w / 2, h / 2);
        let (y, u, v) = self.planes_mut();
        let (source_y, source_u, source_v) = source.planes();
        scale_plane(source_y, from, y, to);
        scale_plane(source_u, halves(from), u, halves(to));
        scale_plane(source_v, halves(from), v, halves(to));
    }
}

/// Whether a picture of this size can be handled.
///
/// # Errors
/// When a side is 0 or above [`MAX_SIDE`].
pub fn check_size(width: u32, height: u32) -> Result<()> {
    let allowed = 1..=MAX_SIDE;
    ensure!(
        allowed.contains(&width) && allowed.contains(&height),
        "{width}x{height}: sides of 1 to {MAX_SIDE} pixels are possible"
    );
    Ok(())
}

/// Whether an [`Image`] of this size is possible.
///
/// # Errors
/// When a side is 0, odd or above [`MAX_SIDE`].
pub fn check_even_size(width: u32, height: u32) -> Result<()> {
    check_size(width, height)?;
    ensure!(width.is_multiple_of(2) && height.is_multiple_of(2), "{width}x{height}: the sides must be even");
    Ok(())
}

fn scale_plane(source: &[u8], (sw, sh): (usize, usize), target: &mut [u8], (tw, th): (usize, usize)) {
    for ty in 0..th {
        let (top, bottom) = (ty * sh / th, ((ty + 1) * sh / th).max(ty * sh / th + 1));
        for tx in 0..tw {
            let (left, right) = (tx * sw / tw, ((tx + 1) * sw / tw).max(tx * sw / tw + 1));
            let mut sum = 0_usize;
            for row in source[top * sw..bottom * sw].chunks_exact(sw) {
                sum += row[left..right].iter().map(|&p| usize::from(p)).sum::<usize>();
            }
            target[ty * tw + tx] = (sum / ((bottom - top) * (right - left))) as u8;
        }
    }
}

/// Full range to the limited range of video.
fn limited(gray: u8) -> u8 {
    (16 + (u32::from(gray) * 219 + 127) / 255) as u8
}

/// BT.601 luma of a colour.
#[must_use]
pub fn luma(r: u8, g: u8, b: u8) -> u8 {
    let (r, g, b) = (i32::from(r), i32::from(g), i32::from(b));
    (((66 * r + 129 * g + 25 * b + 128) >> 8) + 16).clamp(0, 255) as u8
}

/// BT.601 chroma of a colour.
#[must_use]
pub fn chroma(r: u8, g: u8, b: u8) -> (u8, u8) {
    let (r, g, b) = (i32::from(r), i32::from(g), i32::from(b));
    let u = ((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128;
    let v = ((112 * r - 94 * g - 18 * b + 128) >> 8) + 128;
    (u.clamp(0, 255) as u8, v.clamp(0, 255) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert!(Image::new(0, 2).is_err());
        assert!(Image::new(3, 2).is_err());
        assert!(Image::new(2, MAX_SIDE + 2).is_err());
        assert_eq!(Image::new(4, 2).unwrap().data().len(), 12);
    }

    #[test]
    fn short_payloads_are_refused() {
        let mut image = Image::default();
        assert!(image.copy_raw(Encoding::RawRgb24, 4, 2, &[0; 23]).is_err());
        assert!(image.copy_raw(Encoding::RawRgb24, u32::MAX, u32::MAX, &[0; 23]).is_err());
        assert!(image.copy_raw(Encoding::Mjpeg, 4, 2, &[0; 100]).is_err());
        assert!(image.copy_raw(Encoding::RawRgb24, 4, 2, &[0; 24]).is_ok());
    }

    #[test]
    fn colours_keep_their_hue() {
        let mut image = Image::default();
        let red: Vec<u8> = [255, 0, 0].repeat(8);
        image.copy_raw(Encoding::RawRgb24, 4, 2, &red).unwrap();
        let (y, u, v) = image.planes();
        assert_eq!((y[0], y[7]), (82, 82));
        assert!(u.iter().all(|&u| u == 90) && v.iter().all(|&v| v == 240));
        image.copy_raw(Encoding::RawGray8, 4, 2, &[255; 8]).unwrap();
        assert_eq!(image.planes().0, &[235; 8]);
    }

    #[test]
    fn yuyv_is_taken_apart() {
        let mut image = Image::default();
        image.copy_raw(Encoding::RawYuyv, 2, 2, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(image.data(), &[1, 3, 5, 7, 2, 4]);
    }

    #[test]
    fn rows_with_padding_are_copied() {
        let mut image = Image::default();
        let y = [1, 2, 0, 3, 4, 0];
        image.copy_planes((2, 2), [&y, &[5], &[6]], [3, 1, 1]).unwrap();
        assert_eq!(image.data(), &[1, 2, 3, 4, 5, 6]);
        assert!(image.copy_planes((2, 2), [&y[..3], &[5], &[6]], [3, 1, 1]).is_err());
    }

    #[test]
    fn scaling_averages_and_repeats() {
        let mut small = Image::new(2, 2).unwrap();
        let mut large = Image::new(4, 4).unwrap();
        let (y, ..) = large.planes_mut();
        y.copy_from_slice(&[0, 4, 9, 9, 4, 8, 9, 9, 1, 1, 2, 2, 1, 1, 2, 2]);
        small.scale_from(&large);
        assert_eq!(small.planes().0, &[4, 9, 1, 2]);
        large.scale_from(&small);
        assert_eq!(large.planes().0, &[4, 4, 9, 9, 4, 4, 9, 9, 1, 1, 2, 2, 1, 1, 2, 2]);
    }
}
