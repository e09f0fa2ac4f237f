//! What samples of one process cost another one on the same host, serialized and lent: samples a second, reliable and
//! without loss. `cargo run --release -p dunlin --example loans`

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, Duration, StatusMask};

type Failure = Box<dyn std::error::Error>;

/// How long one figure takes.
const SECONDS: u64 = 2;

/// A sample: numbers alone, which may be lent.
trait Frame: DdsType {
    fn numbered(&mut self, number: u64);
    fn sum(&self) -> u64;
    fn empty() -> Box<Self>;
}

macro_rules! frame {
    ($($name:ident $len:literal),*) => {$(
        #[derive(DdsType)]
        #[repr(C)]
        #[dds(final)]
        struct $name {
            number: u32,
            octets: [u8; $len - 4],
        }

        impl Frame for $name {
            fn numbered(&mut self, number: u64) {
                self.number = number as u32;
            }

            fn sum(&self) -> u64 {
                u64::from(self.number) + u64::from(self.octets[0])
            }

            fn empty() -> Box<Self> {
                Box::new(Self { number: 0, octets: [0; $len - 4] })
            }
        }
    )*};
}

frame!(Small 64, Medium 16_384, Large 921_600);

fn participant(domain: u32) -> Result<DomainParticipant, Failure> {
    Ok(DomainParticipant::builder(domain).build()?)
}

fn write<T: Frame>(participant: &DomainParticipant, lent: bool) -> Result<(), Failure> {
    let topic = participant.create_topic::<T>(T::TYPE_NAME, &TopicQos::default())?;
    // Lent samples that readers have not acknowledged are in the pool, which has room for readers beside them.
    let octets = if lent { 8 << 20 } else { 32 << 20 };
    let room = (octets / size_of::<T>()).clamp(8, 1_000) as i32;
    let qos = DataWriterQos::default().reliable().keep_all().resource_limits(room, -1, -1);
    let qos = qos.max_blocking_time(Duration::from_secs(10));
    let writer: DataWriter<T> =
        participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?;
    writer.wait_for_readers(1, Duration::from_secs(30))?;
    let (start, mut count, mut shared, mut sample) = (Instant::now(), 0_u64, 0_u64, T::empty());
    while start.elapsed().as_secs() < SECONDS {
        if lent {
            let mut loan = writer.loan_sample()?;
            shared += u64::from(loan.is_shared());
            loan.numbered(count);
            writer.write_loaned(loan)?;
        } else {
            sample.numbered(count);
            writer.write(&sample)?;
        }
        count += 1;
    }
    writer.wait_for_acknowledgments(Duration::from_secs(30))?;
    let rate = count as f64 / start.elapsed().as_secs_f64();
    let gigabits = rate * size_of::<T>() as f64 * 8.0 / 1e9;
    let how = if lent { "lent" } else { "serialized" };
    println!(
        "{:>7} bytes, {how:>10}: {rate:>9.0}/s, {gigabits:>6.1} Gbit/s; {shared} of {count} in shared memory",
        size_of::<T>()
    );
    Ok(())
}

fn read<T: Frame>(participant: &DomainParticipant) -> Result<DataReader<T>, Failure> {
    let topic = participant.create_topic::<T>(T::TYPE_NAME, &TopicQos::default())?;
    let qos = DataReaderQos::default().reliable().keep_all();
    let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?;
    let seen = Arc::new(AtomicU64::new(0));
    reader.set_listener(
        move |reader: &DataReader<T>| {
            while let Ok(samples) = reader.take_loaned(64) {
                if samples.is_empty() {
                    return;
                }
                let sum = samples.iter().filter_map(|sample| sample.data().map(Frame::sum)).sum();
                seen.fetch_add(sum, Ordering::Relaxed);
            }
        },
        StatusMask::DATA_AVAILABLE,
    );
    Ok(reader)
}

fn main() -> Result<(), Failure> {
    let domain = std::process::id() % 100;
    if let Some(domain) = std::env::args().nth(1) {
        let participant = participant(domain.parse()?)?;
        let _readers =
            (read::<Small>(&participant)?, read::<Medium>(&participant)?, read::<Large>(&participant)?);
        println!("ready");
        // Until the one that writes closes the pipe.
        std::io::stdin().lock().read_line(&mut String::new())?;
        return Ok(());
    }
    let mut other = Command::new(std::env::current_exe()?)
        .arg(domain.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let out = other.stdout.take().ok_or("no output")?;
    BufReader::new(out).read_line(&mut String::new())?;
    let participant = participant(domain)?;
    for lent in [false, true] {
        write::<Small>(&participant, lent)?;
        write::<Medium>(&participant, lent)?;
        write::<Large>(&participant, lent)?;
    }
    other.stdin.take().ok_or("no input")?.write_all(b"end\n")?;
    other.wait()?;
    Ok(())
}
