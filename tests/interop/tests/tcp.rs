//! Fast DDS over its TCP transport, in both directions of the connection and of the data.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use dunlin::{DomainParticipant, InstanceState};
use dunlin_interop::{
    Peer, ShapeType, Vendor, VideoFrame, crc_of_frame, eventually, participant_with, payload_of_frame,
    reader, writer,
};

const FRAMES: u64 = 20;
const FRAME: usize = 300_000;

fn join(name: &str, domain: u32, settings: &[(&str, &str)]) -> Result<DomainParticipant> {
    let folder = std::env::var_os("INTEROP_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    let over_tcp = [("network.udp", "false"), ("shared_memory.enabled", "false"), ("tcp.enabled", "true")];
    participant_with(domain, &folder.join(format!("tcp-{name}.pcap")), &[&over_tcp[..], settings].concat())
}

/// A port that nobody has now.
fn free_port() -> Result<String> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port().to_string())
}

/// Fast DDS listens, Dunlin connects.
fn connect(name: &str, role: &str, domain: u32) -> Result<(DomainParticipant, Peer)> {
    let port = free_port()?;
    let peer = Peer::start_with(Vendor::FastDds, role, domain, &[("PEER_TCP_LISTEN", &port)])?;
    let there = format!("tcp://127.0.0.1:{port}");
    Ok((join(name, domain, &[("tcp.port", "off"), ("discovery.peers", &there)])?, peer))
}

/// Dunlin listens, Fast DDS connects.
fn listen(name: &str, role: &str, domain: u32) -> Result<(DomainParticipant, Peer)> {
    listen_with(name, role, domain, &[])
}

/// The same with more variables in the peer's environment.
fn listen_with(
    name: &str,
    role: &str,
    domain: u32,
    more: &[(&str, &str)],
) -> Result<(DomainParticipant, Peer)> {
    let port = free_port()?;
    let participant = join(name, domain, &[("tcp.port", &port)])?;
    let variables = [&[("PEER_TCP_PEER", &*port)], more].concat();
    Ok((participant, Peer::start_with(Vendor::FastDds, role, domain, &variables)?))
}

fn peer_writes_shapes((participant, mut peer): (DomainParticipant, Peer)) -> Result<()> {
    let reader = reader::<ShapeType>(&participant, "Square")?;
    peer.tell("wait-matched 1")?;
    for x in 0..100 {
        peer.tell(&format!("write BLUE {x} 2 30"))?;
    }
    peer.tell("dispose BLUE")?;
    let mut seen = Vec::new();
    eventually("100 samples and the end of the instance", || {
        let samples = reader.take(200)?;
        seen.extend(samples.iter().filter_map(|sample| Some(sample.data.as_ref()?.x)));
        let disposed = samples.iter().any(|it| it.info.instance_state == InstanceState::NotAliveDisposed);
        Ok(disposed.then_some(()))
    })?;
    ensure!(seen == (0..100).collect::<Vec<_>>(), "{seen:?}");
    Ok(())
}

fn peer_reads_shapes((participant, mut peer): (DomainParticipant, Peer)) -> Result<()> {
    let writer = writer::<ShapeType>(&participant, "Square", Vendor::FastDds)?;
    eventually("a match", || Ok((!writer.matched_subscriptions().is_empty()).then_some(())))?;
    for x in 0..100 {
        writer.write(&ShapeType { color: "RED".into(), x, y: 1, shapesize: 9 })?;
    }
    for x in 0..100 {
        peer.wait_for(&format!("sample RED {x} 1 9"))?;
    }
    Ok(())
}

fn peer_reads_frames((participant, mut peer): (DomainParticipant, Peer)) -> Result<()> {
    let writer = writer::<VideoFrame>(&participant, "Video", Vendor::FastDds)?;
    eventually("a match", || Ok((!writer.matched_subscriptions().is_empty()).then_some(())))?;
    for number in 0..FRAMES {
        let payload = payload_of_frame(number, FRAME);
        writer.write(&VideoFrame {
            camera_id: "tcp".into(),
            frame_number: number,
            payload,
            ..VideoFrame::default()
        })?;
    }
    for number in 0..FRAMES {
        let crc = crc_of_frame(number, FRAME);
        peer.wait_for(&format!("frame tcp {number} {FRAME} {crc}"))?;
    }
    Ok(())
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dunlin_connects_and_fast_dds_writes() -> Result<()> {
    peer_writes_shapes(connect("connects-reads", "shape-pub", 181)?)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dunlin_connects_and_fast_dds_reads() -> Result<()> {
    peer_reads_shapes(connect("connects-writes", "shape-sub", 182)?)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_connects_and_writes() -> Result<()> {
    peer_writes_shapes(listen("listens-reads", "shape-pub", 183)?)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_connects_and_reads() -> Result<()> {
    peer_reads_shapes(listen("listens-writes", "shape-sub", 184)?)
}

/// On a busy machine Fast DDS overlooks that it is bound, because its main thread has not yet said what to send
/// (`Told` in runtime/tcp/src/engine/connection.rs).
#[test]
#[ignore = "needs the peers: make interop"]
fn a_bind_response_is_repeated_to_fast_dds() -> Result<()> {
    let peers = std::env::var("INTEROP_PEERS")?;
    let slow = format!("{peers}/fastdds/libslow_main_thread.so");
    ensure!(std::path::Path::new(&slow).exists(), "{slow} is missing: run `make interop`");
    peer_reads_shapes(listen_with("overlooks-writes", "shape-sub", 187, &[("LD_PRELOAD", &slow)])?)?;
    peer_writes_shapes(listen_with("overlooks-reads", "shape-pub", 188, &[("LD_PRELOAD", &slow)])?)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn large_samples_pass_over_a_connection_of_either_side() -> Result<()> {
    peer_reads_frames(connect("connects-frames", "video-sub", 185)?)?;
    peer_reads_frames(listen("listens-frames", "video-sub", 186)?)
}
