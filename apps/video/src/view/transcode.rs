//! JPEG images for clients that cannot show a camera's own coding.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::hub::Hub;
use super::packet::Packet;
use super::queue::PacketQueue;
use crate::codec::jpeg::JpegEncoder;
use crate::codec::{Encoder, Image};
use crate::frame::Encoding;

const QUALITY: u8 = 80;
/// How often a thread without frames looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(500);

/// Whether JPEG images can be made of this coding.
#[must_use]
pub fn possible(encoding: Encoding) -> bool {
    match encoding {
        Encoding::Mjpeg | Encoding::Opaque => false,
        Encoding::H264 => cfg!(feature = "h264"),
        Encoding::RawI420 | Encoding::RawRgb24 | Encoding::RawGray8 | Encoding::RawYuyv => true,
    }
}

/// Starts a thread that turns the frames in `queue` into JPEG images for as long as a client of `camera` needs
/// them. Returns false when the system gives no thread.
pub fn start(hub: Arc<Hub>, camera: String, queue: Arc<PacketQueue>) -> bool {
    let work = move || {
        let mut converter = Converter::default();
        while hub.keep_transcoding(&camera, &queue) {
            let Some(packet) = queue.wait(LOOK) else { continue };
            // A damaged frame is no reason to end: the next key frame may be good.
            if let Ok(Some(jpeg)) = converter.convert(&packet, queue.is_empty()) {
                hub.on_jpeg(&camera, packet.encoding, &packet.with_jpeg(jpeg));
            }
        }
    };
    thread::Builder::new().name("transcode".to_owned()).spawn(work).is_ok()
}

/// Makes JPEG images of frames in any coding.
#[derive(Default)]
pub struct Converter {
    #[cfg(feature = "h264")]
    decoder: Option<crate::codec::h264::H264Decoder>,
    image: Image,
    jpeg: Vec<u8>,
}

impl Converter {
    /// The JPEG image of a frame; `None` when the decoder gave no picture, or when it is not `wanted` and only
    /// brings the decoder forward.
    ///
    /// # Errors
    /// When the frame is damaged or its coding has no picture.
    pub fn convert(&mut self, packet: &Packet, wanted: bool) -> Result<Option<&[u8]>> {
        let decoded = match packet.encoding {
            #[cfg(feature = "h264")]
            Encoding::H264 => {
                let decoder = match &mut self.decoder {
                    Some(decoder) => decoder,
                    none => none.insert(crate::codec::h264::H264Decoder::new()?),
                };
                decoder.decode(packet.payload(), false, &mut self.image)?
            }
            encoding => {
                self.image.copy_raw(encoding, packet.width, packet.height, packet.payload())?;
                true
            }
        };
        if !(decoded && wanted) {
            return Ok(None);
        }
        JpegEncoder::new(QUALITY).encode(&self.image, true, &mut self.jpeg)?;
        Ok(Some(&self.jpeg))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::frame::Frame;

    fn convert(frame: &Frame) -> Result<bool> {
        let packet = Packet::new(frame, 0, false, Instant::now());
        let mut converter = Converter::default();
        converter.convert(&packet, true).map(|jpeg| jpeg.is_some())
    }

    #[test]
    fn frames_that_lie_about_their_size_are_refused() {
        let frame = Frame { encoding: Encoding::RawRgb24, width: 4, height: 2, ..Frame::default() };
        assert!(convert(&Frame { payload: vec![0; 24], ..frame.clone() }).unwrap());
        assert!(convert(&Frame { payload: vec![0; 23], ..frame.clone() }).is_err());
        assert!(convert(&Frame { width: u32::MAX, ..frame.clone() }).is_err());
        assert!(convert(&Frame { encoding: Encoding::Opaque, ..frame }).is_err());
    }

    #[cfg(feature = "h264")]
    #[test]
    fn h264_becomes_jpeg() {
        use crate::codec::h264::H264Encoder;
        let mut image = Image::new(64, 48).unwrap();
        crate::source::pattern::draw(&mut image, 0, 0);
        let mut frame = Frame { encoding: Encoding::H264, key: true, ..Frame::default() };
        H264Encoder::new(500_000, 30.0, 30).unwrap().encode(&image, true, &mut frame.payload).unwrap();
        assert!(convert(&frame).unwrap());
        frame.payload.truncate(20);
        assert!(!convert(&frame).unwrap_or(false));
    }
}
