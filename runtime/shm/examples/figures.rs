//! What the transport alone costs between two processes: round trips and rates of messages, without DDS above it.
//!
//! `cargo run --release -p dunlin-shm --example figures` spins; with FIGURES_BLOCKING=1 it sleeps. The second process is this
//! program again.

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::Locator;
use dunlin_shm::{ShmConfig, ShmTransport};
use dunlin_transport::memory::MemoryNetwork;
use dunlin_transport::{Channel, RecvMode, SendMode, Transport};

const ROUND_TRIPS: usize = 20_000;
const SECONDS: Duration = Duration::from_secs(1);

/// One end, with the inbox of the other.
struct End {
    transport: ShmTransport,
    other: Locator,
    pool: BufPool,
    batch: Vec<(SharedBytes, Locator)>,
    outbox: Outbox,
    mode: RecvMode,
}

impl End {
    fn receive(&mut self) -> usize {
        self.batch.clear();
        while self.batch.is_empty() {
            let Self { transport, mode, pool, batch, .. } = self;
            if transport.recv(Channel::DataShared, *mode, pool, batch).is_err() {
                return 0;
            }
            std::hint::spin_loop();
        }
        self.batch.len()
    }

    fn send(&mut self, octets: &SharedBytes, count: usize) {
        self.outbox.clear();
        for _ in 0..count {
            self.outbox.begin();
            self.outbox.put_shared(octets.clone());
            self.outbox.finish(&[self.other]);
        }
        self.transport.send(&self.outbox, SendMode::Blocking);
    }
}

fn open() -> std::io::Result<ShmTransport> {
    let inner: Arc<dyn Transport> = MemoryNetwork::new().attach(0);
    ShmTransport::open(inner, &ShmConfig::default())
}

fn end(transport: ShmTransport, other: Locator, spin: bool) -> Result<End, String> {
    transport.open_path(&other)?;
    let mode = if spin { RecvMode::NonBlocking } else { RecvMode::Blocking };
    let (pool, batch, outbox) = (BufPool::new(16 << 20), Vec::new(), Outbox::new());
    Ok(End { transport, other, pool, batch, outbox, mode })
}

/// Answers what has 64 octets with what came, and anything else not at all.
fn echo(mut end: End) {
    loop {
        end.receive();
        let arrived: Vec<SharedBytes> = end.batch.iter().map(|(octets, _)| octets.clone()).collect();
        for octets in arrived {
            match octets.len() {
                64 => end.send(&octets, 1),
                1 => return,
                _ => {}
            }
        }
    }
}

fn round_trips(end: &mut End) {
    let ping = SharedBytes::from(vec![7; 64]);
    let mut times: Vec<Duration> = (0..ROUND_TRIPS)
        .map(|_| {
            let start = Instant::now();
            end.send(&ping, 1);
            end.receive();
            start.elapsed()
        })
        .collect();
    times.sort();
    let at = |share: usize| times[ROUND_TRIPS * share / 1000];
    println!("64 B round trip: median {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999));
}

fn rates(end: &mut End) {
    for (len, batch) in [(65, 1), (65, 32), (1_472, 32), (65_507, 4)] {
        let (octets, start, mut sent) = (SharedBytes::from(vec![7; len]), Instant::now(), 0_u64);
        while start.elapsed() < SECONDS {
            end.send(&octets, batch);
            sent += batch as u64;
        }
        let full = end.transport.stats().shared_send_full;
        let (rate, spent) = (sent as f64 / start.elapsed().as_secs_f64(), sent as f64 * len as f64 * 8.0);
        let gbit = spent / start.elapsed().as_secs_f64() / 1e9;
        println!("{len} B, {batch} at a time: {rate:.0} messages/s, {gbit:.1} Gbit/s, {full} dropped so far");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spin = env::var_os("FIGURES_BLOCKING").is_none();
    let transport = open()?;
    let own = transport.locators().default_unicast[0];
    if let Some(other) = env::args().nth(1) {
        let address: Vec<u8> =
            (0..16).filter_map(|n| u8::from_str_radix(other.get(n * 2..n * 2 + 2)?, 16).ok()).collect();
        let other = Locator { address: address.try_into().map_err(|_| "an address")?, ..own };
        let mut end = end(transport, other, spin)?;
        end.send(&SharedBytes::copy_from(&own.address), 1);
        echo(end);
        return Ok(());
    }
    let address: String = own.address.iter().map(|octet| format!("{octet:02x}")).collect();
    let mut child = Command::new(env::current_exe()?).arg(address).spawn()?;
    let (mut pool, mut batch) = (BufPool::new(0), Vec::new());
    while batch.is_empty() {
        transport.recv(Channel::DataShared, RecvMode::Blocking, &mut pool, &mut batch)?;
    }
    let mut other = own;
    other.address.copy_from_slice(&batch[0].0[..16]);
    let mut end = end(transport, other, spin)?;
    println!("{}", if spin { "spinning" } else { "blocking" });
    round_trips(&mut end);
    rates(&mut end);
    end.send(&SharedBytes::from(vec![0]), 1);
    child.wait()?;
    Ok(())
}
