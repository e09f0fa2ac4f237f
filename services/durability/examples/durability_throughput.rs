//! What the service costs: samples kept in a second, and how soon a late reader has them. Service, writer and reader are processes or
//! participants of their own on the loopback interface.
//!
//! `cargo run --release -p dunlin-durability --example durability_throughput -- 100000 256`

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, DurabilityKind, DurabilityService, HistoryKind, TopicQos};
use dunlin::{Config, DdsType, DomainParticipant, GuardCondition};
use dunlin_durability::store::FileStore;
use dunlin_durability::{Service, ServiceConfig};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

#[derive(DdsType, Clone, Debug, Default)]
struct Blob {
    #[dds(key)]
    id: u32,
    octets: Vec<u8>,
}

const INSTANCES: u32 = 1000;

fn participant(tag: &str) -> Result<DomainParticipant> {
    let mut config = Config::default();
    config.set("network.interfaces", "lo")?;
    config.set("domain.tag", tag)?;
    let participant = DomainParticipant::builder(0).config(config).build()?;
    participant.wait_for_durability_service(dunlin::Duration::from_secs(30))?;
    Ok(participant)
}

fn serve(folder: &Path) -> Result {
    let config = ServiceConfig::from_file(&folder.join("store.toml"))?;
    Ok(Service::new(config)?.run(&GuardCondition::new())?)
}

/// The service as a process, killed at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path) -> Result<Running> {
    Ok(Running(Command::new(std::env::current_exe()?).arg("serve").arg(folder).spawn()?))
}

/// Takes so many samples; when the first was there, and when all were.
fn late(tag: &str, kind: DurabilityKind, samples: usize) -> Result<(Duration, Duration)> {
    let participant = participant(tag)?;
    let topic = participant.create_topic::<Blob>("Blobs", &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().keep_all().durability(kind);
    let begin = Instant::now();
    let reader = participant.create_subscriber(&Default::default())?.create_datareader(&topic, &qos)?;
    let (mut seen, mut first) = (0, None);
    while seen < samples {
        seen += reader.take_payloads(usize::MAX)?.iter().filter(|sample| sample.info.valid_data).count();
        if seen > 0 {
            first.get_or_insert_with(|| begin.elapsed());
        }
        if begin.elapsed() > Duration::from_secs(120) {
            return Err(format!("{seen} of {samples} after two minutes").into());
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    Ok((first.unwrap_or_default(), begin.elapsed()))
}

fn measure(kind: DurabilityKind, samples: u32, octets: usize) -> Result {
    let folder = tempfile::tempdir_in(".")?;
    let tag = format!("measure-{}-{kind:?}", std::process::id());
    let text = format!(
        "name = \"m\"\ndomain = 0\ntag = \"{tag}\"\nconfig = \"lo.toml\"\nfile = \"m.redb\"\n[limits]\nsamples = 100000000\n"
    );
    std::fs::write(folder.path().join("store.toml"), text)?;
    std::fs::write(folder.path().join("lo.toml"), "[network]\ninterfaces = [\"lo\"]\n")?;
    let service = start(folder.path())?;
    {
        let participant = participant(&tag)?;
        let topic = participant.create_topic::<Blob>("Blobs", &TopicQos::default())?;
        let all = DurabilityService { history_kind: HistoryKind::KeepAll, ..DurabilityService::default() };
        let qos = DataWriterQos::default()
            .reliable()
            .keep_all()
            .durability(kind)
            .durability_service(all)
            // Otherwise nothing is left once the writer has gone.
            .autodispose_unregistered_instances(false);
        let writer = participant.create_publisher(&Default::default())?.create_datawriter(&topic, &qos)?;
        writer.wait_for_readers(1, dunlin::Duration::from_secs(30))?;
        let mut blob = Blob { id: 0, octets: vec![7; octets] };
        let begin = Instant::now();
        for n in 0..samples {
            blob.id = n % INSTANCES;
            writer.write(&blob)?;
        }
        writer.wait_for_acknowledgments(dunlin::Duration::from_secs(120))?;
        let rate = f64::from(samples) / begin.elapsed().as_secs_f64();
        println!("{kind:?}: {samples} samples of {octets} bytes stored and acknowledged, {rate:.0}/s");
    }
    for _ in 0..3 {
        let (first, all) = late(&tag, kind, samples as usize)?;
        println!("{kind:?}: a late reader has the first after {first:.1?}, all {samples} after {all:.1?}");
    }
    drop(service);
    if kind == DurabilityKind::Persistent {
        let file = folder.path().join("m.redb");
        let begin = Instant::now();
        drop(FileStore::open_existing(&file)?);
        let size = std::fs::metadata(&file)?.len() >> 20;
        println!("its file of {size} MiB, left by a killed service, opens in {:.0?}", begin.elapsed());
        let begin = Instant::now();
        FileStore::inspect(&file)?;
        println!("reading all of it takes {:.0?}", begin.elapsed());
    }
    Ok(())
}

fn main() -> Result {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [serving, folder] = &words[..]
        && serving == "serve"
    {
        return serve(Path::new(folder));
    }
    let number = |at: usize, default: u32| words.get(at).map_or(Ok(default), |it| it.parse());
    let (samples, octets) = (number(0, 100_000)?, number(1, 256)? as usize);
    measure(DurabilityKind::Transient, samples, octets)?;
    measure(DurabilityKind::Persistent, samples, octets)
}
