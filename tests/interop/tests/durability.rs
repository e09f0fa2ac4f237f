//! Readers of other vendors get from the durability service what writers have left, each sample once.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use dunlin::qos::{DataWriterQos, DurabilityKind, DurabilityService, PublisherQos, TopicQos};
use dunlin::{DataWriter, DomainParticipant, Duration, GuardCondition};
use dunlin_durability::{Service, ServiceConfig};
use dunlin_interop::{Peer, ShapeType, Vendor, eventually, participant};

/// What the service keeps of each instance.
const DEPTH: i32 = 20;

/// The service on a thread, ended with the test.
struct Serving {
    stop: GuardCondition,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Serving {
    fn start(domain: u32, folder: &Path) -> Result<Self> {
        std::fs::write(folder.join("lo.toml"), "[network]\ninterfaces = [\"lo\"]\n")?;
        let text =
            format!("name = \"interop\"\ndomain = {domain}\nconfig = \"lo.toml\"\nfile = \"history.redb\"\n");
        let mut service = Service::new(ServiceConfig::from_toml("interop.toml", &text, Some(folder))?)?;
        let stop = GuardCondition::new();
        let told = stop.clone();
        // It ends by an error only if the thread cannot wait, and then nothing arrives.
        let thread = std::thread::spawn(move || drop(service.run(&told)));
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.set_trigger_value(true);
        self.thread.take().map(std::thread::JoinHandle::join);
    }
}

fn join(vendor: Vendor, name: &str, domain: u32) -> Result<DomainParticipant> {
    let folder = std::env::var_os("INTEROP_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    let participant = participant(domain, &folder.join(format!("durability-{vendor:?}-{name}.pcap")))?;
    participant.wait_for_durability_service(Duration::from_secs(30))?;
    Ok(participant)
}

fn writer(participant: &DomainParticipant, vendor: Vendor) -> Result<DataWriter<ShapeType>> {
    let topic = participant.create_topic::<ShapeType>("Square", &TopicQos::default())?;
    let keep = DurabilityService { history_depth: DEPTH, ..DurabilityService::default() };
    let qos = DataWriterQos::default()
        .reliable()
        .keep_all()
        .durability(DurabilityKind::Persistent)
        .durability_service(keep)
        .autodispose_unregistered_instances(false)
        .representation(&[vendor.representation()]);
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
}

fn write(writer: &DataWriter<ShapeType>, color: &str, numbers: std::ops::Range<i32>) -> Result<()> {
    for x in numbers {
        writer.write(&ShapeType { color: color.into(), x, y: 1, shapesize: 9 })?;
    }
    Ok(writer.wait_for_acknowledgments(Duration::from_secs(30))?)
}

fn gets_the_history_once(vendor: Vendor, domain: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let _serving = Serving::start(domain, folder.path())?;
    let (first, second) = (join(vendor, "gone", domain)?, join(vendor, "alive", domain)?);
    let gone = writer(&first, vendor)?;
    gone.wait_for_readers(1, Duration::from_secs(30))?;
    write(&gone, "RED", 0..50)?;
    let guid = gone.guid();
    first.delete_contained_entities()?;
    drop((gone, first));
    eventually("the writer has gone", || {
        let all = second.discovered_publications();
        Ok((!all.iter().any(|it| Some(it.guid) == guid)).then_some(()))
    })?;
    let alive = writer(&second, vendor)?;
    alive.wait_for_readers(1, Duration::from_secs(30))?;
    write(&alive, "BLUE", 0..10)?;
    let mut peer = Peer::start(vendor, "shape-sub", domain)?;
    alive.wait_for_readers(2, Duration::from_secs(30))?;
    for x in 30..50 {
        peer.wait_for(&format!("sample RED {x} 1 9"))?;
    }
    for x in 0..10 {
        peer.wait_for(&format!("sample BLUE {x} 1 9"))?;
    }
    write(&alive, "BLUE", 10..20)?;
    for x in 10..20 {
        peer.wait_for(&format!("sample BLUE {x} 1 9"))?;
    }
    let again: Vec<_> = peer.leftover().iter().filter(|line| line.starts_with("sample")).cloned().collect();
    ensure!(again.is_empty(), "{vendor:?} got {again:?} twice, or more than is kept");
    Ok(())
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_gets_the_history_once() -> Result<()> {
    gets_the_history_once(Vendor::Cyclone, 191)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_gets_the_history_once() -> Result<()> {
    gets_the_history_once(Vendor::FastDds, 192)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn rust_dds_gets_the_history_once() -> Result<()> {
    gets_the_history_once(Vendor::RustDds, 193)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dust_dds_gets_the_history_once() -> Result<()> {
    gets_the_history_once(Vendor::DustDds, 194)
}
