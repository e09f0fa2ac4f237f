//! What the transport alone carries, beside bare sockets in the same run: messages of a payload and a short one behind it, as
//! samples are, over loopback.
//!
//! `cargo run --release -p dunlin-tcp --example throughput [SECONDS [OCTETS]...]`; rounds alternate, and the median counts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, PortParameters};
use dunlin_tcp::{TcpConfig, TcpTransport};
use dunlin_transport::{Channel, RecvMode, SendMode, Transport};

const ROUNDS: u16 = 5;
/// How long two transports may take to know each other.
const PATIENCE: Duration = Duration::from_secs(10);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Octets per second between two sockets.
fn bare(len: usize, time: Duration) -> Result<f64> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut from = TcpStream::connect(listener.local_addr()?)?;
    let (mut to, _) = listener.accept()?;
    from.set_nodelay(true)?;
    let reader = std::thread::spawn(move || {
        let (mut buffer, mut total, start) = (vec![0; 256 << 10], 0_usize, Instant::now());
        while start.elapsed() < time {
            match to.read(&mut buffer) {
                Ok(count) if count > 0 => total += count,
                _ => break,
            }
        }
        total as f64 / start.elapsed().as_secs_f64()
    });
    let block = vec![7; len];
    // It ends with an error, when nobody reads any more.
    while from.write_all(&block).is_ok() {}
    reader.join().map_err(|_| "the reader panicked".into())
}

fn open(base: u16) -> Result<(Arc<TcpTransport>, Locator)> {
    let ports = PortParameters { base, ..PortParameters::default() };
    let config = TcpConfig { ports, interfaces: vec!["lo".into()], ..TcpConfig::default() };
    let transport = Arc::new(TcpTransport::open(config)?);
    let data = *transport.locators().default_unicast.first().ok_or("it receives nowhere")?;
    Ok((transport, data))
}

/// Octets that arrive until `done`; ends when the transport is shut down.
fn receive(transport: &TcpTransport, mut done: impl FnMut() -> bool) -> usize {
    let (mut pool, mut out, mut total) = (BufPool::new(0), Vec::new(), 0);
    while !done() && transport.recv(Channel::Data, RecvMode::Blocking, &mut pool, &mut out).is_ok() {
        total += out.drain(..).map(|(message, _)| message.len()).sum::<usize>();
    }
    total
}

/// Octets per second between two transports.
fn messages(len: usize, time: Duration, base: u16) -> Result<f64> {
    let ((one, to_one), (other, to_other)) = (open(base)?, open(base)?);
    let mut hello = Outbox::new();
    hello.begin();
    hello.put(b"hello");
    hello.finish(&[to_other]);
    one.send(&hello, SendMode::Blocking);
    let start = Instant::now();
    while !one.path(&to_other).is_lossless() {
        if start.elapsed() > PATIENCE {
            return Err(format!("no connection between {to_one:?} and {to_other:?}").into());
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    let reader = std::thread::spawn(move || {
        let start = Instant::now();
        let total = receive(&other, || start.elapsed() >= time);
        total as f64 / start.elapsed().as_secs_f64()
    });
    let payload = SharedBytes::from(vec![7; len]);
    while !reader.is_finished() {
        let mut outbox = Outbox::new();
        outbox.begin();
        outbox.put(&[0; 60]);
        outbox.put_tail(payload.clone());
        outbox.finish(&[to_other]);
        outbox.begin();
        outbox.put(&[0; 60]);
        outbox.finish(&[to_other]);
        one.send(&outbox, SendMode::Blocking);
    }
    reader.join().map_err(|_| "the reader panicked".into())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
    let mut lens = arguments.map(|text| text.parse()).collect::<std::result::Result<Vec<usize>, _>>()?;
    if lens.is_empty() {
        lens = vec![1_000, 16_000, 60_000, 100_000, 1_000_000];
    }
    let time = Duration::from_secs_f64(seconds);
    println!("{ROUNDS} rounds of {seconds} s, median, MB/s\n   bytes  bare TCP  transport");
    for len in lens {
        let mut found = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            found[0].push(bare(len, time)?);
            found[1].push(messages(len, time, 20_000 + 1_000 * round)?);
        }
        let [bare, ours] = found.map(median).map(|octets| octets * 1e-6);
        println!("{len:8} {bare:9.0} {ours:10.0} ({:3.0} %)", 100.0 * ours / bare);
    }
    Ok(())
}
