//! Pictures and their codings.

pub mod annexb;
#[cfg(feature = "h264")]
pub mod h264;
pub mod image;
pub mod jpeg;

pub use image::Image;

use crate::frame::Encoding;

/// Turns pictures into payloads.
pub trait Encoder: Send {
    /// Replaces `out` by the coded picture; `force_key` asks for one that needs no earlier picture. Returns whether
    /// it is such a picture, or `None` when the encoder gave nothing for this picture.
    ///
    /// # Errors
    /// When the picture cannot be coded.
    fn encode(&mut self, image: &Image, force_key: bool, out: &mut Vec<u8>) -> anyhow::Result<Option<bool>>;

    /// The coding of the payloads.
    fn encoding(&self) -> Encoding;
}

/// The planes of a picture as they are.
pub struct RawEncoder;

impl Encoder for RawEncoder {
    fn encode(&mut self, image: &Image, _force_key: bool, out: &mut Vec<u8>) -> anyhow::Result<Option<bool>> {
        out.clear();
        out.extend_from_slice(image.data());
        Ok(Some(true))
    }

    fn encoding(&self) -> Encoding {
        Encoding::RawI420
    }
}
