//! From the command line to a source.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::cli::{Coding, Publish};
use crate::codec::jpeg::JpegEncoder;
use crate::codec::{Encoder, RawEncoder};
use crate::source::file::AsIs;
use crate::source::fixed::Fixed;
use crate::source::mp4::Mp4File;
use crate::source::pattern::Pattern;
use crate::source::{Encoded, ImageSource, KeyRequest, Source};

/// Size of pictures whose source has none of its own.
const SIZE: (u32, u32) = (640, 480);
/// Frames per second of a source that has no rate of its own.
const RATE: f64 = 30.0;

/// The name of the camera: the one given, or one made from the source.
#[must_use]
pub fn camera_id(args: &Publish) -> String {
    let source = &args.source;
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    args.camera_id
        .clone()
        .or_else(|| source.file.as_deref().and_then(stem))
        .or_else(|| source.camera.as_deref().and_then(stem))
        .or_else(|| source.fixed_size.map(|bytes| format!("fixed-{bytes}")))
        .unwrap_or_else(|| if source.pattern { "pattern" } else { "gstreamer" }.to_owned())
}

/// Opens the source that the command line names.
///
/// # Errors
/// When it cannot be opened, or when an option does not go with it.
pub fn open(args: &Publish, keys: &KeyRequest) -> Result<Box<dyn Source>> {
    let source = &args.source;
    if let Some(bytes) = source.fixed_size {
        refuse(
            args,
            "--fixed-size",
            &[Opt::Encoding, Opt::Size, Opt::Quality, Opt::Bitrate, Opt::KeyInterval],
        )?;
        return Ok(Box::new(Fixed::new(bytes, args.rate.unwrap_or(RATE))?));
    }
    if let Some(path) = &source.file {
        return open_file(args, path, keys);
    }
    if let Some(device) = &source.camera {
        return open_camera(args, device, keys);
    }
    if let Some(pipeline) = &source.gst {
        return open_gst(args, pipeline, keys);
    }
    let size = args.size.unwrap_or(SIZE);
    let rate = args.rate.unwrap_or(RATE);
    let coding = args.encoding.unwrap_or(if cfg!(feature = "h264") { Coding::H264 } else { Coding::Mjpeg });
    encoded(args, coding, Pattern::new(size, rate)?, size, rate, keys)
}

fn open_file(args: &Publish, path: &Path, keys: &KeyRequest) -> Result<Box<dyn Source>> {
    let mp4 = match Mp4File::open(path) {
        Ok(mp4) => mp4,
        Err(_) if cfg!(feature = "gstreamer") && path.exists() => {
            return open_gst(args, &gst_file(path)?, keys);
        }
        Err(error) => return Err(error),
    };
    let coding = args.encoding.unwrap_or(Coding::H264);
    let anew = args.size.is_some() || args.bitrate.is_some() || args.key_interval.is_some();
    if coding == Coding::H264 && !anew && !mp4.b_frames {
        refuse(args, "an H.264 file published as it is", &[Opt::Quality])?;
        return Ok(Box::new(AsIs::new(mp4, args.rate)));
    }
    if mp4.b_frames && coding == Coding::H264 && !anew {
        dunlin_program::tell!(
            "{}: has B-frames, which live video does without; it is decoded and coded anew",
            mp4.name()
        );
    }
    decode_file(args, coding, mp4, keys)
}

#[cfg(feature = "h264")]
fn decode_file(args: &Publish, coding: Coding, mp4: Mp4File, keys: &KeyRequest) -> Result<Box<dyn Source>> {
    let size = args.size.unwrap_or(mp4.size);
    let rate = args.rate.filter(|rate| *rate > 0.0).unwrap_or_else(|| mp4.rate());
    let source = crate::source::file::Decoded::new(mp4, args.rate, args.size)?;
    encoded(args, coding, source, size, rate, keys)
}

#[cfg(not(feature = "h264"))]
fn decode_file(
    _args: &Publish,
    _coding: Coding,
    mp4: Mp4File,
    _keys: &KeyRequest,
) -> Result<Box<dyn Source>> {
    anyhow::bail!(
        "{} would have to be decoded, and this program is built without the feature `h264`",
        mp4.name()
    )
}

#[cfg(target_os = "linux")]
fn open_camera(args: &Publish, device: &Path, keys: &KeyRequest) -> Result<Box<dyn Source>> {
    use crate::frame::Encoding;
    use crate::source::camera::{CameraFrames, CameraImages};

    let (size, rate) = (args.size.unwrap_or(SIZE), args.rate.unwrap_or(RATE));
    ensure!(rate > 0.0, "a camera has a rate of its own: --rate 0 does not go with --camera");
    let coding = args.encoding.unwrap_or(Coding::Mjpeg);
    // The camera's own images are taken only where no quality was asked for, which it could not follow.
    if coding == Coding::Mjpeg
        && args.quality.is_none()
        && let Ok(camera) = CameraFrames::open(device, size, rate, Encoding::Mjpeg)
    {
        refuse(args, "--encoding mjpeg", &[Opt::Bitrate, Opt::KeyInterval])?;
        return Ok(Box::new(camera));
    }
    if coding == Coding::Raw {
        refuse(args, "--encoding raw", &[Opt::Quality, Opt::Bitrate, Opt::KeyInterval])?;
        return Ok(Box::new(CameraFrames::open(device, size, rate, Encoding::RawYuyv)?));
    }
    encoded(args, coding, CameraImages::open(device, size, rate)?, size, rate, keys)
}

#[cfg(not(target_os = "linux"))]
fn open_camera(_args: &Publish, _device: &Path, _keys: &KeyRequest) -> Result<Box<dyn Source>> {
    anyhow::bail!("--camera works on Linux; elsewhere use --gst with the camera element of the system")
}

#[cfg(feature = "gstreamer")]
fn gst_file(path: &Path) -> Result<String> {
    crate::source::gst::file_pipeline(path)
}

#[cfg(not(feature = "gstreamer"))]
fn gst_file(_path: &Path) -> Result<String> {
    anyhow::bail!("this program is built without the feature `gstreamer`")
}

#[cfg(feature = "gstreamer")]
fn open_gst(args: &Publish, pipeline: &str, keys: &KeyRequest) -> Result<Box<dyn Source>> {
    let coding = args.encoding.unwrap_or(Coding::H264);
    check_coding(args, coding)?;
    let wish = crate::source::gst::Wish {
        size: args.size,
        rate: args.rate,
        coding,
        quality: args.quality.unwrap_or(80),
        bitrate: args.bitrate.unwrap_or_else(|| default_bitrate(args.size.unwrap_or(SIZE), RATE)),
        key_interval: args.key_interval.unwrap_or_else(|| default_key_interval(args.rate.unwrap_or(RATE))),
    };
    Ok(Box::new(crate::source::gst::Gst::open(pipeline, &wish, keys.clone())?))
}

#[cfg(not(feature = "gstreamer"))]
fn open_gst(_args: &Publish, _pipeline: &str, _keys: &KeyRequest) -> Result<Box<dyn Source>> {
    anyhow::bail!("--gst needs the cargo feature `gstreamer`, which this program is built without")
}

fn encoded<S: ImageSource + 'static>(
    args: &Publish,
    coding: Coding,
    source: S,
    size: (u32, u32),
    rate: f64,
    keys: &KeyRequest,
) -> Result<Box<dyn Source>> {
    check_coding(args, coding)?;
    let rate = if rate > 0.0 { rate } else { RATE };
    let group = args.key_interval.unwrap_or_else(|| default_key_interval(rate));
    let encoder: Box<dyn Encoder> = match coding {
        Coding::Mjpeg => Box::new(JpegEncoder::new(args.quality.unwrap_or(80))),
        Coding::Raw => Box::new(RawEncoder),
        Coding::H264 => {
            let bitrate = args.bitrate.unwrap_or_else(|| default_bitrate(size, rate));
            h264_encoder(bitrate, rate, group)?
        }
    };
    Ok(Box::new(Encoded::new(source, encoder, group, keys.clone())))
}

#[cfg(feature = "h264")]
fn h264_encoder(bitrate: u32, rate: f64, group: u32) -> Result<Box<dyn Encoder>> {
    Ok(Box::new(crate::codec::h264::H264Encoder::new(bitrate, rate as f32, group)?))
}

#[cfg(not(feature = "h264"))]
fn h264_encoder(_bitrate: u32, _rate: f64, _group: u32) -> Result<Box<dyn Encoder>> {
    anyhow::bail!("--encoding h264 needs the cargo feature `h264`, which this program is built without")
}

/// Two seconds.
fn default_key_interval(rate: f64) -> u32 {
    ((rate * 2.0).round() as u32).clamp(1, 10_000)
}

/// 0.15 bits for each pixel: 1.4 Mbit/s for VGA at 30 frames per second.
fn default_bitrate(size: (u32, u32), rate: f64) -> u32 {
    let pixels = f64::from(size.0) * f64::from(size.1) * rate;
    (pixels * 0.15).clamp(100e3, 100e6) as u32
}

fn check_coding(args: &Publish, coding: Coding) -> Result<()> {
    match coding {
        Coding::Mjpeg => refuse(args, "--encoding mjpeg", &[Opt::Bitrate, Opt::KeyInterval]),
        Coding::H264 => refuse(args, "--encoding h264", &[Opt::Quality]),
        Coding::Raw => refuse(args, "--encoding raw", &[Opt::Quality, Opt::Bitrate, Opt::KeyInterval]),
    }
}

/// Options that do not go with every source.
#[derive(Clone, Copy)]
enum Opt {
    Encoding,
    Size,
    Quality,
    Bitrate,
    KeyInterval,
}

fn refuse(args: &Publish, with: &str, options: &[Opt]) -> Result<()> {
    for option in options {
        let (given, name) = match option {
            Opt::Encoding => (args.encoding.is_some(), "--encoding"),
            Opt::Size => (args.size.is_some(), "--size"),
            Opt::Quality => (args.quality.is_some(), "--quality"),
            Opt::Bitrate => (args.bitrate.is_some(), "--bitrate"),
            Opt::KeyInterval => (args.key_interval.is_some(), "--key-interval"),
        };
        ensure!(!given, "{name} has no effect on {with}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_line(line: &str) -> Result<Box<dyn Source>> {
        open(&Publish::from_line(line), &KeyRequest::default())
    }

    #[test]
    fn options_without_effect_are_refused() {
        for line in [
            "--fixed-size 1000 --size 640x480",
            "--fixed-size 1000 --encoding raw",
            "--pattern --encoding mjpeg --bitrate 1M",
            "--pattern --encoding raw --quality 50",
            "--pattern --encoding raw --key-interval 5",
            "--camera /dev/null --rate 0",
        ] {
            assert!(open_line(line).is_err(), "{line}");
        }
    }

    #[test]
    fn sources_say_what_they_are() {
        let info = open_line("--pattern --encoding mjpeg --size 320x240 --rate 15").unwrap().info();
        assert_eq!(info.description, "test pattern 320x240, 15 frames/s");
        assert_eq!((info.group, info.keys_on_request), (1, false));
        assert_eq!(open_line("--fixed-size 921600").unwrap().info().group, 1);
    }

    #[test]
    fn cameras_have_names() {
        assert_eq!(camera_id(&Publish::from_line("--file /a/bunny.mp4")), "bunny");
        assert_eq!(camera_id(&Publish::from_line("--camera /dev/video2")), "video2");
        assert_eq!(camera_id(&Publish::from_line("--pattern")), "pattern");
        assert_eq!(camera_id(&Publish::from_line("--fixed-size 7")), "fixed-7");
        assert_eq!(camera_id(&Publish::from_line("--pattern --camera-id front")), "front");
    }

    #[cfg(feature = "h264")]
    #[test]
    fn files_are_left_as_they_are_where_that_is_possible() {
        use crate::source::fake_mp4::{self, Options};

        let folder = tempfile::tempdir().unwrap();
        let path = fake_mp4::write(folder.path(), &Options::default()).display().to_string();
        let info = |line: &str| open_line(&format!("--file {path} {line}")).unwrap().info();
        assert!(!info("").keys_on_request);
        assert!(info("").description.contains("as it is"));
        assert!(info("--bitrate 1M").keys_on_request);
        assert!(info("--size 80x60").description.contains("coded anew"));
        assert_eq!(info("--encoding mjpeg --quality 70").group, 1);
        assert!(open_line(&format!("--file {path} --quality 70")).is_err());
        let reordered =
            fake_mp4::write(folder.path(), &Options { reordered: true, frames: 5, ..Options::default() });
        let info = open_line(&format!("--file {}", reordered.display())).unwrap().info();
        assert!(info.keys_on_request && info.description.contains("coded anew"));
    }
}
