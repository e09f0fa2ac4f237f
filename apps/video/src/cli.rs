//! The command line.

#[cfg(feature = "view")]
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Name of the topic unless another one is given.
pub const TOPIC: &str = "Video";
#[cfg(feature = "view")]
/// Where the page is served unless told otherwise; when it is taken, the next free port is used.
pub const BIND: &str = "127.0.0.1:8080";

/// Live video over DDS.
#[derive(Debug, Parser)]
#[command(name = "dunlin-video", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The three things this program does.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // one value per process
pub enum Command {
    /// Publish video from a file, a camera or a generator
    Publish(Publish),
    #[cfg(feature = "view")]
    /// Show video in the browser, or count and save it without one
    View(View),
    #[cfg(feature = "view")]
    /// Run a publisher and a viewer and say which page to open
    Demo(Demo),
}

/// Where to publish or subscribe.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// DDS domain
    #[arg(long, default_value_t = 0)]
    pub domain: u32,
    /// Topic of type VideoFrame
    #[arg(long, default_value = TOPIC)]
    pub topic: String,
}

/// How frames are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Coding {
    /// Each frame one JPEG image
    Mjpeg,
    /// H.264, constrained baseline when coded here
    H264,
    /// Uncompressed
    Raw,
}

/// Options of `publish`.
#[derive(Args, Clone, Debug)]
pub struct Publish {
    /// Where the video comes from.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Where it goes.
    #[command(flatten)]
    pub place: Place,
    /// Name of this camera on the topic [default: made from the source]
    #[arg(long, value_name = "NAME")]
    pub camera_id: Option<String>,
    /// Coding of the frames [default: h264 for files, patterns and GStreamer, mjpeg for cameras]
    #[arg(long, value_enum)]
    pub encoding: Option<Coding>,
    /// Size in pixels [default: that of the file, else 640x480]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    pub size: Option<(u32, u32)>,
    /// Frames per second, 0 for as many as are taken [default: that of the file, else 30]
    #[arg(long, value_name = "FPS", value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Quality of MJPEG, 1 to 100 [default: 80]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub quality: Option<u8>,
    /// Bits per second of H.264, such as 800k or 4M [default: from size and rate]
    #[arg(long, value_parser = parse_bitrate)]
    pub bitrate: Option<u32>,
    /// Frames from one H.264 key frame to the next [default: two seconds]
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub key_interval: Option<u32>,
    /// How the frames are delivered.
    #[command(flatten)]
    pub delivery: Delivery,
    /// End after this many frames
    #[arg(long, value_name = "FRAMES")]
    pub count: Option<u64>,
    /// End after this many seconds
    #[arg(long, value_parser = parse_seconds)]
    pub seconds: Option<f64>,
    /// Begin when this many viewers are there
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub wait_viewers: usize,
    /// Write one line per frame: time and duration of the write, bytes
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// End when standard input ends
    #[arg(long, hide = true)]
    pub end_with_stdin: bool,
}

/// Where the video comes from; exactly one is given.
#[derive(Args, Clone, Debug, Default)]
#[group(required = true, multiple = false)]
pub struct SourceArgs {
    /// A video file, looped: H.264 in MP4, or any format with the cargo feature `gstreamer`
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// A moving test pattern
    #[arg(long)]
    pub pattern: bool,
    /// A camera, such as /dev/video0 (Linux)
    #[arg(long, value_name = "DEVICE")]
    pub camera: Option<PathBuf>,
    /// Frames of exactly this many bytes; 921600 and 307200 are raw VGA in colour and in grey
    #[arg(long, value_name = "BYTES")]
    pub fixed_size: Option<usize>,
    /// The beginning of a GStreamer pipeline that gives raw video, in the notation of gst-launch
    #[arg(long, value_name = "PIPELINE")]
    pub gst: Option<String>,
}

/// How frames are delivered.
#[derive(Args, Clone, Debug, Default)]
pub struct Delivery {
    /// Lost datagrams are repeated; new viewers get the last group of pictures [default]
    #[arg(long, conflicts_with = "best_effort")]
    pub reliable: bool,
    /// Nothing is repeated and writing never waits for viewers
    #[arg(long)]
    pub best_effort: bool,
    /// Wait for slow viewers instead of leaving frames out
    #[arg(long, conflicts_with = "best_effort")]
    pub keep_all: bool,
    /// Frames that the writer keeps [default: one group of pictures; 2 with --keep-all]
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub history: Option<u32>,
}

#[cfg(feature = "view")]
/// Options of `view`.
#[derive(Args, Clone, Debug)]
pub struct View {
    /// Where the video comes from.
    #[command(flatten)]
    pub place: Place,
    /// Only this camera [default: all of them, one chosen on the page]
    #[arg(long, value_name = "NAME")]
    pub camera: Option<String>,
    /// Reliability that is asked for
    #[arg(long, value_enum, default_value_t = Reliability::Auto)]
    pub reliability: Reliability,
    /// Address of the page; without this option the next free port is taken when 8080 is not free
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub bind: Option<SocketAddr>,
    /// No page: statistics every second
    #[arg(long, conflicts_with = "bind")]
    pub headless: bool,
    /// Write the frames into this folder as .jpg and .h264
    #[arg(long, value_name = "FOLDER")]
    pub save: Option<PathBuf>,
    /// End after this many seconds
    #[arg(long, value_parser = parse_seconds)]
    pub seconds: Option<f64>,
    /// End after this many frames
    #[arg(long, value_name = "N")]
    pub frames: Option<u64>,
    /// End when standard input ends
    #[arg(long, hide = true)]
    pub end_with_stdin: bool,
}

#[cfg(feature = "view")]
/// Reliability that a viewer asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Reliability {
    /// As much as every publisher found offers
    #[default]
    Auto,
    /// Only reliable publishers are seen
    Reliable,
    /// Lost frames stay lost
    BestEffort,
}

#[cfg(feature = "view")]
/// Options of `demo`.
#[derive(Args, Clone, Debug)]
pub struct Demo {
    /// Where both meet.
    #[command(flatten)]
    pub place: Place,
    /// Video to show, H.264 in MP4; without it, or when it cannot be used, the test pattern
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// End after this many seconds [default: with Ctrl-C]
    #[arg(long, value_parser = parse_seconds)]
    pub seconds: Option<f64>,
    /// Address of the page; without this option the next free port is taken when 8080 is not free
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub bind: Option<SocketAddr>,
}

#[cfg(test)]
impl Publish {
    /// The options of `publish` in `line`, for tests.
    pub(crate) fn from_line(line: &str) -> Self {
        match Cli::try_parse_from(format!("v publish {line}").split_whitespace()).unwrap().command {
            Command::Publish(args) => args,
            #[cfg(feature = "view")]
            Command::View(_) | Command::Demo(_) => panic!("another command"),
        }
    }
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let (w, h) = text.split_once(['x', 'X']).ok_or("expected a width, an x and a height, such as 640x480")?;
    let number = |text: &str| text.parse::<u32>().map_err(|error| format!("{text}: {error}"));
    let (w, h) = (number(w)?, number(h)?);
    crate::codec::image::check_even_size(w, h).map_err(|error| format!("{error:#}"))?;
    Ok((w, h))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if rate == 0.0 || (0.01..=10_000.0).contains(&rate) {
        Ok(rate)
    } else {
        Err("0, or 0.01 to 10000 frames per second are possible".to_owned())
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.001..=1e9).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("0.001 to 1e9 seconds are possible".to_owned())
    }
}

fn parse_bitrate(text: &str) -> Result<u32, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'k')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        _ => (text, 1.0),
    };
    let bits = number.parse::<f64>().map_err(|error| format!("{error}"))? * unit;
    if (10e3..=1e9).contains(&bits) {
        Ok(bits as u32)
    } else {
        Err("10k to 1000M bits per second are possible".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn publish_options_need_exactly_one_source() {
        assert!(parse("v publish").is_err());
        assert!(parse("v publish --pattern --file x.mp4").is_err());
        assert!(parse("v publish --pattern --reliable --best-effort").is_err());
        assert!(parse("v publish --pattern --keep-all --best-effort").is_err());
        assert!(parse("v publish --fixed-size 921600 --rate 0 --count 200").is_ok());
        #[cfg(feature = "view")]
        assert!(parse("v view --headless --bind 127.0.0.1:1").is_err());
    }

    #[test]
    fn numbers_with_units_are_read() {
        assert_eq!(parse_size("640x480"), Ok((640, 480)));
        assert!(["640", "641x480", "0x0", "99999x2", "ax2"].iter().all(|s| parse_size(s).is_err()));
        assert_eq!(parse_bitrate("1.5M"), Ok(1_500_000));
        assert_eq!(parse_bitrate("800k"), Ok(800_000));
        assert!(["", "M", "1", "5G", "2000M", "NaN"].iter().all(|s| parse_bitrate(s).is_err()));
        assert_eq!(parse_rate("29.97"), Ok(29.97));
        assert!(["-1", "NaN", "inf", "1e9"].iter().all(|s| parse_rate(s).is_err()));
    }
}
