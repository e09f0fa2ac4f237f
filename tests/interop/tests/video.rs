//! VideoFrame with 921,600-byte payloads, which need fragments, in both directions.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use dunlin_interop::{
    Peer, Vendor, VideoEncoding, VideoFrame, crc_of_frame, eventually, participant, payload_of_frame, reader,
    writer,
};

const FRAMES: u64 = 20;
const LENGTH: usize = 921_600;

fn capture(name: &str) -> PathBuf {
    let folder = std::env::var_os("INTEROP_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    folder.join(format!("{name}.pcap"))
}

fn peer_writes(vendor: Vendor, domain: u32) -> Result<()> {
    let participant = participant(domain, &capture(&format!("{vendor:?}-writes-video")))?;
    let reader = reader::<VideoFrame>(&participant, "Video")?;
    let mut peer = Peer::start(vendor, "video-pub", domain)?;
    peer.tell("wait-matched 1")?;
    peer.tell(&format!("frames bow {FRAMES} {LENGTH}"))?;
    let mut next = 0;
    eventually("all frames", || {
        for frame in reader.take(8)?.into_iter().filter_map(|sample| sample.data) {
            ensure!(frame.frame_number == next, "frame {} where {next} was due", frame.frame_number);
            ensure!(frame.camera_id == "bow" && frame.encoding == VideoEncoding::Opaque);
            ensure!(frame.payload == payload_of_frame(next, LENGTH), "octets of frame {next} differ");
            next += 1;
        }
        Ok((next == FRAMES).then_some(()))
    })?;
    peer.quit()
}

fn we_write(vendor: Vendor, domain: u32) -> Result<()> {
    let participant = participant(domain, &capture(&format!("{vendor:?}-reads-video")))?;
    let writer = writer::<VideoFrame>(&participant, "Video", vendor)?;
    let mut peer = Peer::start(vendor, "video-sub", domain)?;
    eventually("the peer's reader", || Ok((!writer.matched_subscriptions().is_empty()).then_some(())))?;
    for number in 0..FRAMES {
        let mut frame = VideoFrame { camera_id: "bow".into(), frame_number: number, ..VideoFrame::default() };
        frame.payload = payload_of_frame(number, LENGTH);
        writer.write(&frame)?;
    }
    for number in 0..FRAMES {
        let line = peer.wait_for_prefix(&format!("frame bow {number} "))?;
        ensure!(line == format!("frame bow {number} {LENGTH} {}", crc_of_frame(number, LENGTH)), "{line}");
    }
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(10))?;
    peer.quit()
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_writes() -> Result<()> {
    peer_writes(Vendor::Cyclone, 111)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_reads() -> Result<()> {
    we_write(Vendor::Cyclone, 112)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_writes() -> Result<()> {
    peer_writes(Vendor::FastDds, 113)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_reads() -> Result<()> {
    we_write(Vendor::FastDds, 114)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_writes() -> Result<()> {
    peer_writes(Vendor::FastDds3, 131)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_reads() -> Result<()> {
    we_write(Vendor::FastDds3, 132)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_xcdr2_writes() -> Result<()> {
    peer_writes(Vendor::FastDds3Xcdr2, 133)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_xcdr2_reads() -> Result<()> {
    we_write(Vendor::FastDds3Xcdr2, 134)
}
