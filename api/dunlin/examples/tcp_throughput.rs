//! Reliable samples over TCP and TLS, beside a bare socket and bare TLS in the same run, and beside UDP and shared memory; all
//! over loopback.
//!
//! `cargo run --release -p dunlin --features tls --example tcp_throughput [SECONDS [OCTETS]...]`; rounds of each alternate, and
//! the median counts. 100,000 octets by default.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DdsType, DomainParticipant};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

const ROUNDS: usize = 5;

#[derive(DdsType, Clone, Debug, Default)]
struct Block {
    octets: Vec<u8>,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Octets per second that a stream carries from one thread to another.
fn stream(
    len: usize,
    mut from: impl Write,
    mut to: impl Read + Send + 'static,
    time: Duration,
) -> Result<f64> {
    let reader = std::thread::spawn(move || {
        let (mut buffer, mut total) = (vec![0; 256 << 10], 0_usize);
        let start = Instant::now();
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

fn sockets() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    one.set_nodelay(true)?;
    Ok((one, other))
}

fn bare(len: usize, time: Duration) -> Result<f64> {
    let (one, other) = sockets()?;
    stream(len, one, other, time)
}

fn bare_tls(len: usize, folder: &Path, time: Duration) -> Result<f64> {
    let (one, other) = sockets()?;
    let read = |name: &str| -> Result<Vec<CertificateDer<'static>>> {
        Ok(CertificateDer::pem_file_iter(folder.join(name))?.collect::<std::result::Result<_, _>>()?)
    };
    let mut roots = rustls::RootCertStore::empty();
    for root in read("authority.pem")? {
        roots.add(root)?;
    }
    let client = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let server = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(read("own.pem")?, PrivateKeyDer::from_pem_file(folder.join("own.key"))?)?;
    let client = rustls::ClientConnection::new(Arc::new(client), ServerName::try_from("127.0.0.1")?)?;
    let server = rustls::ServerConnection::new(Arc::new(server))?;
    stream(len, rustls::StreamOwned::new(client, one), rustls::StreamOwned::new(server, other), time)
}

/// How samples go.
#[derive(Clone, Copy)]
enum Way<'f> {
    Tcp,
    /// Taken as they came, not decoded.
    Payloads,
    /// With the certificates in a folder.
    Tls(&'f Path),
    Udp,
    SharedMemory,
}

/// A participant; `connections` differ, so that two of a process have sockets and threads of their own, as in two processes.
fn participant(domain: u32, way: Way<'_>, connections: u32) -> Result<DomainParticipant> {
    let mut config = Config::default();
    config.set("network.interfaces", "lo")?;
    config.set("shared_memory.enabled", if matches!(way, Way::SharedMemory) { "true" } else { "false" })?;
    config.set("shared_memory.in_process", "false")?;
    if let Way::Tcp | Way::Payloads | Way::Tls(_) = way {
        config.set("network.udp", "false")?;
        config.set("tcp.enabled", "true")?;
        config.set("tcp.max_connections", &connections.to_string())?;
        config.set("discovery.peers", "tcp://127.0.0.1")?;
    } else {
        config.set("network.interface_poll", &format!("{connections}ms"))?;
    }
    if let Way::Tls(folder) = way {
        config.set("tls.enabled", "true")?;
        for (key, name) in
            [("tls.authorities", "authority.pem"), ("tls.certificate", "own.pem"), ("tls.key", "own.key")]
        {
            config.set(key, &folder.join(name).display().to_string())?;
        }
    }
    Ok(DomainParticipant::builder(domain).config(config).build()?)
}

fn samples(len: usize, domain: u32, way: Way<'_>, time: Duration) -> Result<f64> {
    let (publishing, subscribing) = (participant(domain, way, 500)?, participant(domain, way, 501)?);
    let qos = (DataWriterQos::default().reliable(), DataReaderQos::default().reliable());
    let topic = publishing.create_topic::<Block>("Blocks", &TopicQos::default())?;
    let writer = publishing
        .create_publisher(&PublisherQos::default())?
        .create_datawriter(&topic, &qos.0.keep_last(16))?;
    let topic = subscribing.create_topic::<Block>("Blocks", &TopicQos::default())?;
    let reader = subscribing
        .create_subscriber(&SubscriberQos::default())?
        .create_datareader(&topic, &qos.1.keep_last(16))?;
    while writer.matched_subscriptions().is_empty() || reader.matched_publications().is_empty() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let block = Block { octets: vec![7; len] };
    let as_payloads = matches!(way, Way::Payloads);
    let taker = std::thread::spawn(move || -> Result<f64> {
        let (start, mut total) = (Instant::now(), 0);
        while start.elapsed() < time {
            let taken = if as_payloads {
                let taken = reader.take_payloads(64)?;
                taken.iter().filter_map(|sample| Some(sample.payload.as_ref()?.len())).sum::<usize>()
            } else {
                let taken = reader.take(64)?;
                taken.iter().filter_map(|sample| Some(sample.data.as_ref()?.octets.len())).sum()
            };
            total += taken;
            if taken == 0 {
                std::thread::park_timeout(Duration::from_micros(200));
            }
        }
        Ok(total as f64 / start.elapsed().as_secs_f64())
    });
    while !taker.is_finished() {
        writer.write(&block)?;
    }
    taker.join().map_err(|_| "the reader panicked")?
}

fn certificates(folder: &Path) -> Result<()> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "throughput");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
    std::fs::write(folder.join("authority.pem"), authority.pem())?;
    std::fs::write(folder.join("own.pem"), own.pem())?;
    std::fs::write(folder.join("own.key"), key.serialize_pem())?;
    Ok(())
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
        lens.push(100_000);
    }
    let (time, folder) = (Duration::from_secs_f64(seconds), tempfile::tempdir()?);
    certificates(folder.path())?;
    println!("{ROUNDS} rounds of {seconds} s, median, MB/s");
    println!(
        "   bytes  bare TCP  samples over TCP      payloads  bare TLS  samples over TLS      UDP  shared memory"
    );
    for len in lens {
        report(len, folder.path(), time)?;
    }
    Ok(())
}

fn report(len: usize, folder: &Path, time: Duration) -> Result<()> {
    let mut found = [const { Vec::new() }; 7];
    for round in 0..ROUNDS {
        let domain = 100 + u32::try_from(round * 5)?;
        found[0].push(bare(len, time)?);
        found[1].push(samples(len, domain, Way::Tcp, time)?);
        found[2].push(samples(len, domain + 1, Way::Payloads, time)?);
        found[3].push(bare_tls(len, folder, time)?);
        found[4].push(samples(len, domain + 2, Way::Tls(folder), time)?);
        found[5].push(samples(len, domain + 3, Way::Udp, time)?);
        found[6].push(samples(len, domain + 4, Way::SharedMemory, time)?);
    }
    let [bare, tcp, payloads, bare_tls, tls, udp, memory] = found.map(median).map(|octets| octets * 1e-6);
    let percent = |one: f64, bare: f64| format!("{one:8.0} ({:3.0} %)", 100.0 * one / bare);
    println!(
        "{len:8} {bare:9.0}  {} {} {bare_tls:9.0}  {} {udp:8.0} {memory:14.0}",
        percent(tcp, bare),
        percent(payloads, bare),
        percent(tls, bare_tls),
    );
    Ok(())
}
