//! Reliable samples of 100 KB over TCP and TLS, beside a bare socket and bare TLS in the same run, all over loopback.
//!
//! `cargo run --release -p dunlin --features tls --example tcp_throughput [SECONDS]`; rounds of each alternate, and the median counts.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DdsType, DomainParticipant};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LEN: usize = 100_000;
const ROUNDS: usize = 5;

#[derive(DdsType, Clone, Debug, Default)]
struct Block {
    octets: Vec<u8>,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Octets per second that a stream carries from one thread to another.
fn stream(mut from: impl Write, mut to: impl Read + Send + 'static, time: Duration) -> Result<f64> {
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
    let block = vec![7; LEN];
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

fn bare(time: Duration) -> Result<f64> {
    let (one, other) = sockets()?;
    stream(one, other, time)
}

fn bare_tls(folder: &Path, time: Duration) -> Result<f64> {
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
    stream(rustls::StreamOwned::new(client, one), rustls::StreamOwned::new(server, other), time)
}

fn participant(domain: u32, tls: Option<&Path>) -> Result<DomainParticipant> {
    let mut config = Config::default();
    for (key, value) in [
        ("network.interfaces", "lo"),
        ("network.udp", "false"),
        ("shared_memory.enabled", "false"),
        ("tcp.enabled", "true"),
        ("discovery.peers", "tcp://127.0.0.1"),
    ] {
        config.set(key, value)?;
    }
    if let Some(folder) = tls {
        config.set("tls.enabled", "true")?;
        for (key, name) in
            [("tls.authorities", "authority.pem"), ("tls.certificate", "own.pem"), ("tls.key", "own.key")]
        {
            config.set(key, &folder.join(name).display().to_string())?;
        }
    }
    Ok(DomainParticipant::builder(domain).config(config).build()?)
}

fn samples(domain: u32, tls: Option<&Path>, time: Duration) -> Result<f64> {
    let (publishing, subscribing) = (participant(domain, tls)?, participant(domain, tls)?);
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
    let block = Block { octets: vec![7; LEN] };
    let taker = std::thread::spawn(move || -> Result<f64> {
        let (start, mut total) = (Instant::now(), 0);
        while start.elapsed() < time {
            let taken = reader.take(64)?;
            total +=
                taken.iter().filter_map(|sample| Some(sample.data.as_ref()?.octets.len())).sum::<usize>();
            if taken.is_empty() {
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
    let seconds = std::env::args().nth(1).map_or(Ok(1.0), |text| text.parse())?;
    let (time, folder) = (Duration::from_secs_f64(seconds), tempfile::tempdir()?);
    certificates(folder.path())?;
    let mut found = [const { Vec::new() }; 4];
    for round in 0..ROUNDS {
        let domain = 100 + u32::try_from(round * 2)?;
        found[0].push(bare(time)?);
        found[1].push(samples(domain, None, time)?);
        found[2].push(bare_tls(folder.path(), time)?);
        found[3].push(samples(domain + 1, Some(folder.path()), time)?);
    }
    let [bare, tcp, bare_tls, tls] = found.map(median).map(|octets| octets * 1e-6);
    println!("{ROUNDS} rounds of {seconds} s, {LEN} octets, median");
    println!("bare TCP          {bare:8.0} MB/s");
    println!("samples over TCP  {tcp:8.0} MB/s   {:3.0} % of bare TCP", 100.0 * tcp / bare);
    println!("bare TLS          {bare_tls:8.0} MB/s");
    println!("samples over TLS  {tls:8.0} MB/s   {:3.0} % of bare TLS", 100.0 * tls / bare_tls);
    Ok(())
}
