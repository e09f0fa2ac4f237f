//! A monitor: live pictures as they come, earlier ones on request, both on a page.

mod client;
mod earlier;
mod server;

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::{Context, Result};
use client::Client;
use dunlin::DomainParticipant;
use dunlin_program::{Stop, say, tell};
use dunlin_video::cli::Reliability;
use dunlin_video::dds::FrameReader;
use dunlin_video::view::ReaderSettings;
use dunlin_video::view::hub::Hub;
use dunlin_video::view::run::{Limits, pump};
use earlier::Earlier;

use crate::cli::Monitor;

/// Shows pictures until it is told to stop.
///
/// # Errors
/// When the domain cannot be joined or the page cannot be served.
pub fn run(arguments: &Monitor, stop: &Stop) -> Result<()> {
    let settings = ReaderSettings {
        domain: arguments.domain,
        topic: arguments.topic.clone(),
        reliability: Reliability::Auto,
    };
    let mut live = FrameReader::create(&settings)?;
    let participant = DomainParticipant::builder(arguments.domain)
        .name(format!("dunlin-surveillance monitor {}", arguments.name))
        .build()
        .context("cannot join the domain")?;
    let earlier = Arc::new(Earlier::new(&participant, &arguments.name)?);
    let client = Arc::new(Client::new(&participant, &arguments.name, Arc::clone(&earlier))?);
    let hub = Hub::new(None);
    let listener = TcpListener::bind(arguments.bind).with_context(|| {
        format!("cannot serve the page on {}; choose another with --bind", arguments.bind)
    })?;
    let page = server::start(listener, &arguments.name, Arc::clone(&hub), Arc::clone(&client))?;
    say!("monitor {}: open {}", arguments.name, page.url());
    let result = std::thread::scope(|scope| {
        scope.spawn(|| earlier.run(stop));
        scope.spawn(|| client.run(stop));
        let result = pump(&mut live, &hub, None, Limits::default(), stop);
        // The other threads end with this one.
        stop.set();
        result
    });
    if let Err(error) = client.stop() {
        tell!("the recorder was not told that this monitor ends: {error:#}");
    }
    drop(page);
    let (live, earlier) = (hub.totals(), earlier.pictures());
    say!(
        "monitor {}: {} live pictures, {} lost; {earlier} earlier ones",
        arguments.name,
        live.received,
        live.lost
    );
    result
}
