//! A keyed ShapeType in both directions: write, dispose, unregister, late joiner with transient-local.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use dunlin::{DataReader, InstanceState, Sample};
use dunlin_interop::{Peer, ShapeType, Vendor, eventually, participant, reader, writer};

fn capture(name: &str) -> PathBuf {
    let folder = std::env::var_os("INTEROP_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    folder.join(format!("{name}.pcap"))
}

fn shape(color: &str, x: i32, y: i32, shapesize: i32) -> ShapeType {
    ShapeType { color: color.to_owned(), x, y, shapesize }
}

/// Takes until a sample satisfies `wanted`.
fn take_until(
    what: &str,
    reader: &DataReader<ShapeType>,
    mut wanted: impl FnMut(&Sample<ShapeType>) -> bool,
) -> Result<()> {
    let look = || {
        // Every sample taken is shown, also those after the one that decides.
        let found = reader.take(64)?.iter().filter(|sample| wanted(sample)).count();
        Ok((found > 0).then_some(()))
    };
    eventually(what, look)
        .with_context(|| format!("reader: {:?}, undecodable: {}", reader.stats(), reader.undecodable_count()))
}

fn color_of(sample: &Sample<ShapeType>) -> Option<&str> {
    sample.data.as_ref().or(sample.key.as_ref()).map(|shape| shape.color.as_str())
}

/// What a vendor's writer cannot do.
struct Limits {
    unregisters: bool,
}

fn peer_writes(vendor: Vendor, domain: u32, limits: &Limits) -> Result<()> {
    let participant = participant(domain, &capture(&format!("{vendor:?}-writes-shapes")))?;
    let reader = reader::<ShapeType>(&participant, "Square")?;
    let mut peer = Peer::start(vendor, "shape-pub", domain)?;
    peer.tell("wait-matched 1")?;
    for x in 0..100 {
        peer.tell(&format!("write BLUE {x} 2 30"))?;
    }
    peer.tell("write RED 5 6 7")?;
    let mut blue = Vec::new();
    take_until("RED and 100 BLUE", &reader, |sample| {
        let Some(shape) = &sample.data else { return false };
        if shape.color == "BLUE" {
            blue.push(shape.x);
        }
        shape == &self::shape("RED", 5, 6, 7)
    })?;
    while blue.len() < 100 {
        take_until("the rest of BLUE", &reader, |s| s.data.as_ref().inspect(|d| blue.push(d.x)).is_some())?;
    }
    ensure!(blue == (0..100).collect::<Vec<_>>(), "{vendor:?} wrote x in order, we read {blue:?}");

    // A late joiner gets the same from the writer's history.
    let late = dunlin_interop::reader::<ShapeType>(&participant, "Square")?;
    let mut seen = 0;
    while seen < 101 {
        take_until("history for the late joiner", &late, |s| {
            s.data.is_some() && {
                seen += 1;
                true
            }
        })?;
    }
    peer.tell("dispose BLUE")?;
    take_until("BLUE disposed", &reader, |s| {
        s.info.instance_state == InstanceState::NotAliveDisposed && color_of(s) == Some("BLUE")
    })?;
    if limits.unregisters {
        peer.tell("unregister RED")?;
        take_until("RED without writers", &reader, |s| {
            s.info.instance_state == InstanceState::NotAliveNoWriters && color_of(s) == Some("RED")
        })?;
    }
    peer.tell("write GREEN 1 1 1")?;
    take_until("GREEN", &reader, |s| s.data.as_ref().is_some_and(|d| d.color == "GREEN"))?;
    peer.quit()?;
    take_until("GREEN without writers once the writer is gone", &reader, |s| {
        s.info.instance_state == InstanceState::NotAliveNoWriters && color_of(s) == Some("GREEN")
    })
}

/// What a vendor's reader cannot do.
struct ReaderLimits {
    unregister: Option<&'static str>,
}

fn we_write(vendor: Vendor, domain: u32, limits: &ReaderLimits) -> Result<()> {
    let participant = participant(domain, &capture(&format!("{vendor:?}-reads-shapes")))?;
    let writer = writer::<ShapeType>(&participant, "Square", vendor)?;
    // The peer joins late: these come from our history.
    for x in 0..100 {
        writer.write(&shape("BLUE", x, 2, 30))?;
    }
    writer.write(&shape("RED", 5, 6, 7))?;
    let mut peer = Peer::start(vendor, "shape-sub", domain)?;
    for x in 0..100 {
        peer.wait_for(&format!("sample BLUE {x} 2 30"))?;
    }
    peer.wait_for("sample RED 5 6 7")?;
    writer.write(&shape("BLUE", 1000, 2, 30))?;
    peer.wait_for("sample BLUE 1000 2 30")?;
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(10))?;
    writer.dispose(&shape("BLUE", 0, 0, 0))?;
    peer.wait_for("disposed BLUE")?;
    writer.unregister_instance(&shape("RED", 0, 0, 0))?;
    if let Some(line) = limits.unregister {
        peer.wait_for(line)?;
    }
    ensure!(peer.leftover().iter().all(|line| !line.starts_with("sample")), "doubled: {:?}", peer.leftover());
    peer.quit()?;
    eventually("the peer's reader unmatched", || Ok(writer.matched_subscriptions().is_empty().then_some(())))
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_writes() -> Result<()> {
    peer_writes(Vendor::Cyclone, 101, &Limits { unregisters: true })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_reads() -> Result<()> {
    we_write(Vendor::Cyclone, 102, &ReaderLimits { unregister: Some("no-writers RED") })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_writes() -> Result<()> {
    peer_writes(Vendor::FastDds, 103, &Limits { unregisters: true })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_reads() -> Result<()> {
    we_write(Vendor::FastDds, 104, &ReaderLimits { unregister: Some("no-writers RED") })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn rust_dds_writes() -> Result<()> {
    // RustDDS has no operation to unregister an instance.
    peer_writes(Vendor::RustDds, 105, &Limits { unregisters: false })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn rust_dds_reads() -> Result<()> {
    // RustDDS reports an unregistered instance as disposed.
    we_write(Vendor::RustDds, 106, &ReaderLimits { unregister: Some("disposed RED") })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dust_dds_writes() -> Result<()> {
    peer_writes(Vendor::DustDds, 107, &Limits { unregisters: true })
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dust_dds_reads() -> Result<()> {
    we_write(Vendor::DustDds, 108, &ReaderLimits { unregister: Some("no-writers RED") })
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_writes() -> Result<()> {
    peer_writes(Vendor::FastDds3, 121, &Limits { unregisters: true })
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_reads() -> Result<()> {
    we_write(Vendor::FastDds3, 122, &ReaderLimits { unregister: Some("no-writers RED") })
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_xcdr2_writes() -> Result<()> {
    peer_writes(Vendor::FastDds3Xcdr2, 123, &Limits { unregisters: true })
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_xcdr2_reads() -> Result<()> {
    we_write(Vendor::FastDds3Xcdr2, 124, &ReaderLimits { unregister: Some("no-writers RED") })
}
