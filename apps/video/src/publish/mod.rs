//! Publishing: a source on one thread, the DDS writer on another.

pub mod choose;
pub mod pump;
pub mod queue;
pub mod report;

use anyhow::Result;
use dunlin_program::Stop;

use crate::cli;
use crate::frame::Frame;
use crate::source::{Info, KeyRequest};

/// Takes frames to viewers.
pub trait FrameSink {
    /// Writes one frame. The payload may be moved out and back, so that nothing is copied.
    ///
    /// # Errors
    /// When writing is impossible for good.
    fn write(&mut self, frame: &mut Frame) -> Result<()>;

    /// How many viewers are there.
    fn viewers(&self) -> usize;

    /// Waits a reasonable time until the viewers have what was written.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn finish(&mut self) -> Result<()>;
}

/// How the DDS writer of a publisher is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterSettings {
    /// DDS domain.
    pub domain: u32,
    /// Name of the topic.
    pub topic: String,
    /// The camera, for the list that viewers make from discovery.
    pub camera_id: String,
    /// Lost datagrams are repeated.
    pub reliable: bool,
    /// A frame stays until every viewer has it; writing waits when `depth` frames are on the way.
    pub keep_all: bool,
    /// Frames that the writer keeps.
    pub depth: u32,
    /// Late viewers get what the writer keeps.
    pub transient_local: bool,
}

impl WriterSettings {
    fn new(args: &cli::Publish, info: &Info, camera_id: &str) -> Self {
        let delivery = &args.delivery;
        let reliable = !delivery.best_effort;
        // An encoder makes a key frame for a new viewer. Of a file the last group of pictures is kept instead, and
        // of pictures that stand alone the last few. Frames of a fixed size are load: keeping them would only cost memory.
        let fixed = args.source.fixed_size.is_some();
        let transient_local = reliable && !delivery.keep_all && !info.keys_on_request && !fixed;
        let depth = delivery.history.unwrap_or(match info {
            _ if delivery.keep_all => 2,
            _ if !reliable => 1,
            Info { encoding, group, .. } if !encoding.intra_only() => *group,
            _ if fixed => 1,
            _ => 4,
        });
        Self {
            domain: args.place.domain,
            topic: args.place.topic.clone(),
            camera_id: camera_id.to_owned(),
            reliable,
            keep_all: delivery.keep_all,
            depth,
            transient_local,
        }
    }

    fn describe(&self) -> String {
        let reliability = if self.reliable { "reliable" } else { "best-effort" };
        let history = if self.keep_all { "keep all, at most" } else { "keep last" };
        let durability = if self.transient_local { "transient-local" } else { "volatile" };
        format!("{reliability}, {history} {}, {durability}", self.depth)
    }
}

/// Publishes as `args` say; `open` makes the writer and calls the request when a viewer has come.
///
/// # Errors
/// When the source or the writer cannot be set up, or fails.
pub fn run<S: FrameSink>(
    args: &cli::Publish,
    stop: &Stop,
    open: impl FnOnce(&WriterSettings, KeyRequest, Stop) -> Result<S>,
) -> Result<()> {
    let keys = KeyRequest::default();
    let source = choose::open(args, &keys)?;
    let info = source.info();
    let camera_id = choose::camera_id(args);
    let settings = WriterSettings::new(args, &info, &camera_id);
    dunlin_program::say!("source: {}; {}", info.description, info.encoding.name());
    dunlin_program::say!(
        "camera \"{camera_id}\" on topic \"{}\", domain {}: {}",
        settings.topic,
        settings.domain,
        settings.describe()
    );
    let mut sink = open(&settings, keys.clone(), stop.clone())?;
    let plan = pump::Plan::new(args, &info, camera_id, keys);
    let totals = pump::run(source, &mut sink, &plan, stop)?;
    dunlin_program::say!("{totals}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Encoding;

    fn settings(line: &str, encoding: Encoding, group: u32, keys_on_request: bool) -> WriterSettings {
        let args = cli::Publish::from_line(line);
        let info = Info { description: String::new(), encoding, group, keys_on_request };
        WriterSettings::new(&args, &info, "front")
    }

    #[test]
    fn a_file_keeps_its_last_group_for_late_viewers() {
        let settings = settings("--file x.mp4", Encoding::H264, 132, false);
        assert_eq!(settings.describe(), "reliable, keep last 132, transient-local");
    }

    #[test]
    fn an_encoder_keeps_nothing_for_late_viewers() {
        let settings = settings("--pattern", Encoding::H264, 60, true);
        assert_eq!(settings.describe(), "reliable, keep last 60, volatile");
    }

    #[test]
    fn fixed_frames_take_little_memory() {
        let one = settings("--fixed-size 921600", Encoding::RawRgb24, 1, false);
        assert_eq!(one.describe(), "reliable, keep last 1, volatile");
        let all = settings("--fixed-size 921600 --keep-all", Encoding::RawRgb24, 1, false);
        assert_eq!(all.describe(), "reliable, keep all, at most 2, volatile");
        let best = settings("--fixed-size 921600 --best-effort --history 3", Encoding::RawRgb24, 1, false);
        assert_eq!(best.describe(), "best-effort, keep last 3, volatile");
    }
}
