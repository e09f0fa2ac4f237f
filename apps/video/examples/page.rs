//! Serves the page without DDS: the frames of a clip, or of the test pattern, go from the source straight to the
//! browser. For work on the page and for tests of it.
//!
//! `cargo run -p dunlin-video --example page -- publish --pattern`

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Parser;
use dunlin_program::Stop;
use dunlin_video::cli::{Cli, Command};
use dunlin_video::frame::{Frame, now_ns};
use dunlin_video::publish::choose;
use dunlin_video::source::{KeyRequest, Source};
use dunlin_video::view::hub::Hub;
use dunlin_video::view::run::{Limits, pump, summary};
use dunlin_video::view::server::{bind, start};
use dunlin_video::view::{FrameSource, Publisher, Received, WriterId};

struct Direct {
    source: Box<dyn Source>,
    camera: String,
    number: u64,
    stop: Stop,
}

impl FrameSource for Direct {
    fn receive(&mut self, timeout: Duration, out: &mut Vec<Received>) -> Result<()> {
        let deadline = Instant::now() + timeout;
        while Instant::now() < deadline && out.is_empty() {
            let mut frame = Frame { camera_id: self.camera.clone(), number: self.number, ..Frame::default() };
            if !self.source.next(&self.stop, &mut frame)? {
                break;
            }
            self.number += 1;
            out.push(Received { frame, writer: WriterId([1; 16]), received_at: now_ns() });
        }
        Ok(())
    }

    fn publishers(&mut self) -> Result<Vec<Publisher>> {
        let qos = [("reliability", "none: no DDS in between"), ("durability", "volatile")];
        let qos = qos.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Ok(vec![Publisher {
            writer: WriterId([1; 16]),
            camera: Some(self.camera.clone()),
            qos,
            problem: None,
        }])
    }
}

fn main() -> Result<()> {
    let Command::Publish(args) = Cli::parse().command else {
        bail!("give the options of `publish`");
    };
    let stop = Stop::default();
    stop.on_signals()?;
    let source = choose::open(&args, &KeyRequest::default())?;
    let mut direct = Direct { source, camera: choose::camera_id(&args), number: 0, stop: stop.clone() };
    let hub = Hub::new(None);
    let server = start(bind(None)?, hub.clone())?;
    println!("open {}", server.url());
    let limits = Limits { seconds: args.seconds, frames: args.count, print: false };
    pump(&mut direct, &hub, None, limits, &stop)?;
    println!("{}", summary(&hub.totals()));
    Ok(())
}
