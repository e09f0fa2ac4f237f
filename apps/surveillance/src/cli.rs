//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use dunlin_recorder::text::{parse_duration, parse_size};

/// Cameras, their recorder, a router and monitors.
#[derive(Debug, Parser)]
#[command(name = "dunlin-surveillance", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// End when standard input ends
    #[arg(long, hide = true)]
    pub end_with_stdin: bool,
}

/// The parts, each a process.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Publish the pictures of a camera, as `dunlin-video publish` does
    Camera(Box<dunlin_video::cli::Publish>),
    /// Record the cameras of a domain and serve monitors with earlier pictures
    Record(Record),
    /// Pass pictures from an inner to an outer domain, and requests back
    Route(Route),
    /// Show live and earlier pictures on a page
    Monitor(Monitor),
    /// Run two cameras, recorder, router and three monitors, and say which pages to open
    Run(Run),
}

/// Options of `record`.
#[derive(Args, Clone, Debug)]
pub struct Record {
    /// The domain of the cameras
    #[arg(long, default_value_t = 0)]
    pub domain: u32,
    /// Topic of the cameras, of type VideoFrame
    #[arg(long, default_value = dunlin_video::cli::TOPIC)]
    pub topic: String,
    /// Where recordings are kept
    #[arg(long, default_value = "recordings")]
    pub folder: PathBuf,
    /// Begin a new file after so long
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1min")]
    pub split_time: Duration,
    /// Keep so many bytes of recordings in the folder, beside the present file; the oldest file is removed
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub keep_size: Option<u64>,
    /// Keep recordings in the folder for so long after they were finished
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub keep_time: Option<Duration>,
    /// Monitors that get earlier pictures at a time; others are told that the recorder is busy
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = sessions)]
    pub sessions: usize,
    /// Bytes of earlier pictures in a second, for each monitor
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "8MB")]
    pub quota: u64,
}

/// Options of `route`.
#[derive(Args, Clone, Debug)]
pub struct Route {
    /// The domain of cameras and recorder
    #[arg(long, default_value_t = 0)]
    pub inner: u32,
    /// The domain of monitors
    #[arg(long, default_value_t = 1)]
    pub outer: u32,
}

/// Options of `monitor`.
#[derive(Args, Clone, Debug)]
pub struct Monitor {
    /// The domain of monitors
    #[arg(long, default_value_t = 1)]
    pub domain: u32,
    /// Topic of the cameras
    #[arg(long, default_value = dunlin_video::cli::TOPIC)]
    pub topic: String,
    /// Name of this monitor; no other one has it
    #[arg(long, value_parser = name)]
    pub name: String,
    /// Address of the page; port 0 for any
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub bind: SocketAddr,
}

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub struct Run {
    /// The domain of cameras and recorder
    #[arg(long, default_value_t = 0)]
    pub inner: u32,
    /// The domain of monitors
    #[arg(long, default_value_t = 1)]
    pub outer: u32,
    /// Where recordings are kept
    #[arg(long, default_value = "recordings")]
    pub folder: PathBuf,
    /// Cameras
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = few)]
    pub cameras: usize,
    /// Monitors
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = few)]
    pub monitors: usize,
    /// Size of the pictures
    #[arg(long, value_name = "WxH", default_value = "640x480")]
    pub size: String,
    /// Pictures of each camera in a second
    #[arg(long, value_name = "FPS", default_value = "30")]
    pub rate: String,
    /// Port of the first page, the next ones follow; 0 for any
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// End after this many seconds [default: with Ctrl-C]
    #[arg(long)]
    pub seconds: Option<u64>,
}

fn name(text: &str) -> Result<String, String> {
    crate::messages::check_name(text).map(|()| text.to_owned())
}

fn sessions(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1000).contains(number));
    number.ok_or_else(|| "1 to 1000 are possible".to_owned())
}

fn few(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=64).contains(number));
    number.ok_or_else(|| "1 to 64 are possible".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let parse = |line: &str| Cli::try_parse_from(line.split_whitespace());
        assert!(parse("s --end-with-stdin camera --pattern --size 320x240").is_ok());
        assert!(parse("s record --keep-size 20GB --sessions 8 --quota 2MB").is_ok());
        assert!(parse("s monitor --name gate-1").is_ok());
        for wrong in
            ["s monitor", "s monitor --name a/b", "s record --sessions 0", "s run --monitors 65", "s camera"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
