//! What the recorder takes: `recording_throughput BYTES RATE SECONDS FILE [none|lz4|zstd]` writes so many samples a second in this
//! process and records them; RATE 0 is as fast as possible. Then `recording_throughput seek FILE` says how long seeking takes, and
//! `recording_throughput play FILE` how late a replay is.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use dunlin::qos::{DataWriterQos, TopicQos};
use dunlin::{DdsType, DomainParticipant};
use dunlin_recorder::file::{Compression, Recording};
use dunlin_recorder::{Options, Player, PlayerOptions, Recorder, StorageOptions, WhenFull};

#[derive(DdsType, Clone, Debug, Default)]
struct Blob {
    n: u64,
    octets: Vec<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["seek", file] => seek(file.as_ref()),
        ["play", file] => play(file.as_ref()),
        [octets, rate, seconds, file, rest @ ..] => {
            let compression = match rest.first() {
                Some(&"none") => Compression::None,
                Some(&"zstd") => Compression::Zstd,
                _ => Compression::Lz4,
            };
            record((octets.parse()?, rate.parse()?, seconds.parse()?), file.as_ref(), compression)
        }
        _ => Err("see the first lines of this program".into()),
    }
}

fn record(
    (octets, rate, seconds): (usize, u64, u64),
    file: &Path,
    compression: Compression,
) -> Result<(), Box<dyn Error>> {
    let mut keeping = StorageOptions::in_file(file.to_owned());
    keeping.compression = compression;
    let mut options = Options::new(0, keeping);
    options.when_full = if rate == 0 { WhenFull::Wait } else { WhenFull::Drop };
    let recorder = Recorder::start(options)?;
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Blob>("Blob", &TopicQos::default())?;
    let publisher = participant.create_publisher(&Default::default())?;
    let qos =
        DataWriterQos::default().reliable().keep_all().max_blocking_time(dunlin::Duration::from_secs(10));
    let writer = publisher.create_datawriter(&topic, &qos)?;
    writer.wait_for_readers(1, dunlin::Duration::from_secs(30))?;
    let mut blob = Blob { n: 0, octets: (0..octets).map(|n| (n * 31 % 251) as u8).collect() };
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(seconds) {
        let due = (began.elapsed().as_nanos() as u64).saturating_mul(rate) / 1_000_000_000;
        if rate != 0 && blob.n >= due {
            std::thread::park_timeout(Duration::from_micros(500));
            continue;
        }
        writer.write(&blob)?;
        blob.n += 1;
    }
    let took = began.elapsed().as_secs_f64();
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60))?;
    let counts = recorder.finish();
    let size = file.metadata()?.len();
    println!(
        "written {} in {took:.1} s: {:.0}/s, {:.1} MB/s; recorded {}, dropped {}, lost {}; file {:.1} MB",
        blob.n,
        blob.n as f64 / took,
        blob.n as f64 * octets as f64 / took / 1e6,
        counts.recorded,
        counts.dropped,
        counts.lost,
        size as f64 / 1e6
    );
    Ok(())
}

/// Opens the file and reads the first message at a hundred times.
fn seek(file: &Path) -> Result<(), Box<dyn Error>> {
    let mut took = Vec::new();
    for n in 0..100 {
        let began = Instant::now();
        let mut recording = Recording::open(file)?;
        let (start, end) = recording.span().ok_or("it is empty")?;
        recording.for_each(start + (end - start) / 100 * n, |_, _| false)?;
        took.push(began.elapsed());
    }
    took.sort();
    println!("open and seek: median {:?}, longest {:?}", took[50], took[99]);
    Ok(())
}

fn play(file: &Path) -> Result<(), Box<dyn Error>> {
    let played = Player::new(file, PlayerOptions::new(0))?.play()?;
    println!("{played:?}");
    Ok(())
}
