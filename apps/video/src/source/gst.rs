//! Sources and encoders of the GStreamer that is installed on the system.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use dunlin_program::Stop;
use gstreamer::prelude::*;
use gstreamer::{ClockTime, Element, MessageView, Pipeline, SeekFlags, State};
use gstreamer_app::AppSink;

use super::{Info, KeyRequest, Source};
use crate::cli::Coding;
use crate::codec::annexb;
use crate::codec::image::check_size;
use crate::frame::{Encoding, Frame, now_ns};

/// How often a waiting source looks whether it should end.
const LOOK: ClockTime = ClockTime::from_mseconds(200);
/// A pipeline without a frame for so long counts as stuck.
const SILENCE: Duration = Duration::from_secs(15);
/// H.264 encoders, the first one that is installed is taken: hardware first.
const ENCODERS: [(&str, &str); 4] = [
    ("vah264enc", "bitrate={kbit} key-int-max={group} b-frames=0"),
    ("v4l2h264enc", "extra-controls=controls,video_bitrate={bit},h264_i_frame_period={group}"),
    ("x264enc", "tune=zerolatency speed-preset=veryfast bitrate={kbit} key-int-max={group}"),
    ("openh264enc", "complexity=low bitrate={bit} gop-size={group}"),
];

/// What the frames are to be like.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Size in pixels, or that of the source.
    pub size: Option<(u32, u32)>,
    /// Frames per second, or those of the source.
    pub rate: Option<f64>,
    /// Coding of the frames.
    pub coding: Coding,
    /// Quality of MJPEG.
    pub quality: u8,
    /// Bits per second of H.264.
    pub bitrate: u32,
    /// Frames from one key frame of H.264 to the next.
    pub key_interval: u32,
}

/// A running pipeline.
pub struct Gst {
    pipeline: Pipeline,
    sink: AppSink,
    encoder: Option<Element>,
    description: String,
    wish: Wish,
    keys: KeyRequest,
}

/// The beginning of a pipeline that plays a file.
///
/// # Errors
/// When the path cannot be written in the notation of gst-launch.
pub fn file_pipeline(path: &Path) -> Result<String> {
    let text = path.to_str().context("the name of the file is no Unicode text")?;
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("filesrc location=\"{quoted}\" ! decodebin"))
}

impl Gst {
    /// Starts the pipeline `beginning`, which gives raw video, with conversion and encoder behind it.
    ///
    /// # Errors
    /// When GStreamer or one of the elements is missing, or the pipeline does not start.
    pub fn open(beginning: &str, wish: &Wish, keys: KeyRequest) -> Result<Self> {
        gstreamer::init().context("cannot start GStreamer")?;
        let text = format!("{beginning} ! {}", ending(wish)?);
        let pipeline = gstreamer::parse::launch(&text)
            .with_context(|| format!("cannot build the pipeline: {text}"))?
            .downcast::<Pipeline>()
            .ok()
            .context("the pipeline is a single element")?;
        let sink = pipeline
            .by_name("dunlin-sink")
            .and_then(|sink| sink.downcast::<AppSink>().ok())
            .context("the pipeline has no end")?;
        let encoder = pipeline.by_name("dunlin-encoder");
        let gst = Self {
            pipeline,
            sink,
            encoder,
            description: format!("GStreamer: {beginning}"),
            wish: *wish,
            keys,
        };
        if gst.pipeline.set_state(State::Playing).is_err() {
            gst.check_bus()?;
            bail!("the pipeline does not start: {text}");
        }
        Ok(gst)
    }

    /// Fails when the pipeline has reported an error.
    fn check_bus(&self) -> Result<()> {
        let bus = self.pipeline.bus().context("the pipeline has no bus")?;
        while let Some(message) = bus.pop() {
            if let MessageView::Error(error) = message.view() {
                bail!("GStreamer: {}", error.error());
            }
        }
        Ok(())
    }

    fn force_key(&self) {
        if let Some(pad) = self.encoder.as_ref().and_then(|encoder| encoder.static_pad("src")) {
            let request = gstreamer::Structure::builder("GstForceKeyUnit").field("all-headers", true).build();
            pad.send_event(gstreamer::event::CustomUpstream::new(request));
        }
    }

    /// Goes back to the beginning; false when the source cannot.
    fn rewind(&self) -> bool {
        self.pipeline.seek_simple(SeekFlags::FLUSH | SeekFlags::KEY_UNIT, ClockTime::ZERO).is_ok()
    }

    fn take(&self, sample: &gstreamer::Sample, frame: &mut Frame) -> Result<()> {
        frame.captured_at = now_ns();
        frame.encoding = self.encoding();
        let caps = sample.caps().and_then(|caps| caps.structure(0)).context("a sample without a format")?;
        let side = |name| caps.get::<i32>(name).ok().and_then(|side| u32::try_from(side).ok());
        frame.width = side("width").context("a sample without a width")?;
        frame.height = side("height").context("a sample without a height")?;
        check_size(frame.width, frame.height)?;
        let buffer = sample.buffer().context("a sample without bytes")?;
        let octets = buffer.map_readable().context("a sample that cannot be read")?;
        frame.payload.clear();
        frame.payload.extend_from_slice(&octets);
        frame.key = frame.encoding.intra_only() || annexb::is_key(&frame.payload);
        Ok(())
    }

    fn encoding(&self) -> Encoding {
        match self.wish.coding {
            Coding::Mjpeg => Encoding::Mjpeg,
            Coding::H264 => Encoding::H264,
            Coding::Raw => Encoding::RawI420,
        }
    }
}

impl Drop for Gst {
    fn drop(&mut self) {
        // Nothing is left to do when even this fails.
        let _ = self.pipeline.set_state(State::Null);
    }
}

impl Source for Gst {
    fn next(&mut self, stop: &Stop, frame: &mut Frame) -> Result<bool> {
        let started = Instant::now();
        while !stop.is_set() {
            if self.keys.take(Instant::now()) {
                self.force_key();
            }
            if let Some(sample) = self.sink.try_pull_sample(LOOK) {
                self.take(&sample, frame)?;
                return Ok(true);
            }
            self.check_bus()?;
            if self.sink.is_eos() && !self.rewind() {
                return Ok(false);
            }
            ensure!(
                started.elapsed() < SILENCE,
                "the pipeline has given no frame for {} s",
                SILENCE.as_secs()
            );
        }
        Ok(false)
    }

    fn info(&self) -> Info {
        let encoding = self.encoding();
        Info {
            description: self.description.clone(),
            encoding,
            group: if encoding.intra_only() { 1 } else { self.wish.key_interval },
            keys_on_request: !encoding.intra_only(),
        }
    }
}

/// Conversion, encoder and end of the pipeline.
fn ending(wish: &Wish) -> Result<String> {
    let size = wish.size.map_or(String::new(), |(w, h)| format!(",width={w},height={h}"));
    // Without the format the encoder may choose 4:4:4, which hardly any viewer decodes.
    let mut caps = format!("video/x-raw,format=I420{size}");
    let live = wish.rate != Some(0.0);
    if let Some(rate) = wish.rate.filter(|rate| *rate > 0.0) {
        caps += &format!(",framerate={}/1000", (rate * 1000.0).round() as u32);
    }
    let encoder = match wish.coding {
        Coding::Raw => String::new(),
        Coding::Mjpeg => format!("jpegenc name=dunlin-encoder quality={} ! ", wish.quality),
        Coding::H264 => format!(
            "{} ! h264parse config-interval=-1 ! \
             video/x-h264,profile=constrained-baseline,stream-format=byte-stream,alignment=au ! ",
            h264_encoder(wish)?
        ),
    };
    Ok(format!(
        "videoconvert ! videoscale ! videorate ! {caps} ! {encoder}\
         appsink name=dunlin-sink sync={live} max-buffers=4"
    ))
}

fn h264_encoder(wish: &Wish) -> Result<String> {
    let known = |name: &str| gstreamer::ElementFactory::find(name).is_some();
    let (name, options) = ENCODERS.into_iter().find(|(name, _)| known(name)).context(
        "GStreamer has no H.264 encoder here: install its package of plugins, or use --encoding mjpeg",
    )?;
    let options = options
        .replace("{kbit}", &(wish.bitrate / 1000).max(1).to_string())
        .replace("{bit}", &wish.bitrate.to_string())
        .replace("{group}", &wish.key_interval.to_string());
    Ok(format!("{name} name=dunlin-encoder {options}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(coding: Coding) -> Wish {
        let (bitrate, key_interval) = (500_000, 10);
        Wish { size: Some((160, 120)), rate: Some(0.0), coding, quality: 80, bitrate, key_interval }
    }

    fn frames(pipeline: &str, coding: Coding, count: usize) -> Result<Vec<Frame>> {
        let mut source = Gst::open(pipeline, &wish(coding), KeyRequest::default())?;
        let mut frame = Frame::default();
        (0..count)
            .map(|_| {
                ensure!(source.next(&Stop::default(), &mut frame)?, "the source has ended");
                Ok(frame.clone())
            })
            .collect()
    }

    #[test]
    fn the_end_of_the_pipeline_follows_the_wish() {
        gstreamer::init().unwrap();
        let text = ending(&Wish { rate: Some(12.5), ..wish(Coding::Raw) }).unwrap();
        assert!(text.contains("format=I420,width=160,height=120,framerate=12500/1000"), "{text}");
        assert!(text.contains("sync=true"), "{text}");
        assert_eq!(
            file_pipeline(Path::new("/a/b \"c\".mkv")).unwrap(),
            "filesrc location=\"/a/b \\\"c\\\".mkv\" ! decodebin"
        );
    }

    #[test]
    fn raw_and_jpeg_frames_come_out() {
        let raw = frames("videotestsrc", Coding::Raw, 2).unwrap();
        assert!(raw.iter().all(|frame| frame.payload.len() == 160 * 120 * 3 / 2 && frame.key));
        let jpeg = frames("videotestsrc", Coding::Mjpeg, 2).unwrap();
        assert!(jpeg.iter().all(|frame| frame.payload.starts_with(&[0xFF, 0xD8])));
        assert_eq!((jpeg[0].width, jpeg[0].height), (160, 120));
    }

    /// Runs a pipeline to its end.
    fn make(pipeline: &str) {
        gstreamer::init().unwrap();
        let pipeline = gstreamer::parse::launch(pipeline).unwrap();
        pipeline.set_state(gstreamer::State::Playing).unwrap();
        let kinds = [gstreamer::MessageType::Eos, gstreamer::MessageType::Error];
        let patience = gstreamer::ClockTime::from_seconds(30);
        let end = pipeline.bus().unwrap().timed_pop_filtered(patience, &kinds).expect("it ends");
        assert_eq!(end.type_(), gstreamer::MessageType::Eos);
        pipeline.set_state(gstreamer::State::Null).unwrap();
    }

    #[test]
    fn a_file_that_is_no_mp4_becomes_h264_with_key_frames() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clip \"1\".mkv");
        let text = file.to_str().unwrap().replace('"', "\\\"");
        make(&format!("videotestsrc num-buffers=30 ! jpegenc ! matroskamux ! filesink location=\"{text}\""));
        let frames = frames(&file_pipeline(&file).unwrap(), Coding::H264, 25).unwrap();
        assert!(frames[0].key && frames.iter().skip(1).any(|frame| frame.key), "every tenth is a key frame");
        assert!(frames.iter().all(|frame| frame.payload.starts_with(&[0, 0, 0, 1])), "Annex B");
    }

    #[test]
    fn an_error_in_the_pipeline_is_reported() {
        assert!(frames("nosuchelement", Coding::Raw, 1).is_err());
        let error = frames("filesrc location=/none ! decodebin", Coding::Raw, 1).unwrap_err();
        assert!(format!("{error:#}").contains("GStreamer"), "{error:#}");
    }
}
