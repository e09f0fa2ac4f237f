//! TCP and TLS by configuration alone: the tests of exchange as they are, connections that break, and settings that make no sense.

#[path = "../dcps/exchange.rs"]
mod exchange;
mod tls;
#[path = "../common/mod.rs"]
mod usual;

use std::os::fd::RawFd;

use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::{Config, DomainParticipant};
use nix::sys::socket::{Shutdown, SockaddrIn, getpeername, getsockname, shutdown};
use usual::{domain, eventually, reader_in, track, writer_in};

/// What the tests share, with participants on TCP in place of UDP.
mod common {
    pub(crate) use super::usual::*;
    pub(crate) type Fixture = FixtureOn<super::OverTcp>;

    pub(crate) fn participant(domain: u32) -> dunlin::DomainParticipant {
        <super::OverTcp as Join>::participant(domain)
    }
}

/// A file as a user writes it; participants of one domain find each other at the well-known ports.
const FILE: &str = r#"
[network]
interfaces = ["lo"]
udp = false
interface_poll = "200ms"
[shared_memory]
enabled = false
[tcp]
enabled = true
[discovery]
peers = ["tcp://127.0.0.1"]
"#;

pub(crate) fn config(changes: &[(&str, &str)]) -> Config {
    let mut config = Config::from_toml("dunlin.toml", FILE).unwrap();
    for (key, value) in changes {
        config.set(key, value).unwrap();
    }
    config
}

fn join(domain: u32, changes: &[(&str, &str)]) -> DomainParticipant {
    DomainParticipant::builder(domain).config(config(changes)).build().unwrap()
}

/// Why a participant is not made.
pub(crate) fn refusal(config: Config) -> String {
    let error = DomainParticipant::builder(domain()).config(config).build().expect_err("refused");
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

pub(crate) struct OverTcp;

impl usual::Join for OverTcp {
    fn participant(domain: u32) -> DomainParticipant {
        join(domain, &[])
    }
}

/// Whether reliable samples pass from one participant to another, each once and in order.
pub(crate) fn exchanges(from: &DomainParticipant, to: &DomainParticipant) {
    let qos =
        (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all());
    let (writer, reader) = (writer_in(from, "Passing", &qos.0), reader_in(to, "Passing", &qos.1));
    eventually("a match", || {
        !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty()
    });
    for n in 0..100 {
        writer.write(&track(1, n)).unwrap();
    }
    let mut seen = Vec::new();
    eventually("all samples", || {
        seen.extend(reader.take(100).unwrap().into_iter().filter_map(|sample| sample.data).map(|t| t.speed));
        seen.len() >= 100
    });
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
}

#[test]
fn tcp_needs_a_peer_address_on_one_side_only() {
    let domain = domain();
    let server = join(domain, &[("discovery.peers", "")]);
    let client = join(domain, &[("tcp.port", "off")]);
    exchanges(&server, &client);
    exchanges(&client, &server);
}

#[test]
fn ipv6_alone() {
    let domain = domain();
    let v6 = [
        ("network.ipv4", "false"),
        ("network.ipv6", "true"),
        ("network.interfaces", "::1"),
        ("discovery.peers", "tcp://[::1]"),
    ];
    let (one, other) = (join(domain, &v6), join(domain, &v6));
    exchanges(&one, &other);
}

#[test]
fn a_participant_with_tcp_and_udp_reaches_participants_with_either() {
    let domain = domain();
    let both = join(domain, &[("network.udp", "true")]);
    let tcp = join(domain, &[]);
    let udp = join(domain, &[("network.udp", "true"), ("tcp.enabled", "false"), ("discovery.peers", "")]);
    exchanges(&both, &tcp);
    exchanges(&tcp, &both);
    exchanges(&both, &udp);
    exchanges(&udp, &both);
}

/// Cuts all connections of this process with a port.
fn cut(port: u16) -> usize {
    let port_of = |address: nix::Result<SockaddrIn>| address.map_or(0, |address| address.port());
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    let fds: Vec<RawFd> = fds.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    let ends = fds.into_iter().filter(|fd| {
        let peer = port_of(getpeername(*fd));
        peer != 0 && (peer == port || port_of(getsockname(*fd)) == port)
    });
    ends.filter(|fd| shutdown(*fd, Shutdown::Both).is_ok()).count()
}

#[test]
fn reliable_samples_survive_connections_that_break() {
    const COUNT: i32 = 3_000;
    let domain = domain();
    let qos =
        (DataWriterQos::default().reliable().keep_all(), DataReaderQos::default().reliable().keep_all());
    // A port of its own, by which its connections are known.
    let port = u16::try_from(7_400 + 250 * domain + 130).unwrap();
    let (port_text, peer) = (port.to_string(), format!("tcp://127.0.0.1:{port}"));
    let server = join(domain, &[("tcp.port", &port_text), ("discovery.peers", "")]);
    let client = join(domain, &[("tcp.port", "off"), ("discovery.peers", &peer)]);
    let (writer, reader) = (writer_in(&client, "Cut", &qos.0), reader_in(&server, "Cut", &qos.1));
    eventually("a match", || {
        !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty()
    });
    let (mut seen, mut cuts) = (Vec::new(), 0);
    let mut take = |reader: &dunlin::DataReader<usual::Track>| {
        seen.extend(
            reader.take(1_000).unwrap().into_iter().filter_map(|sample| sample.data).map(|t| t.speed),
        );
        seen.clone()
    };
    for n in 0..COUNT {
        writer.write(&track(1, n)).unwrap();
        if n % 500 == 250 {
            let before = cuts;
            eventually("a connection to cut", || {
                cuts += cut(port);
                cuts > before
            });
        }
        take(&reader);
    }
    eventually("all samples", || take(&reader).len() >= COUNT as usize);
    assert_eq!(take(&reader), (0..COUNT).collect::<Vec<_>>());
    assert!(cuts >= 6, "{cuts}");
    let losses = writer.stats();
    println!("{cuts} ends cut, {losses:?}");
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for (changes, said) in [
        (&[("tcp.enabled", "false")][..], "network.udp = false: without UDP there is no transport"),
        (&[("tcp.enabled", "false"), ("network.udp", "true")], "\"tcp://127.0.0.1\" is reached over TCP"),
        (&[("tls.enabled", "true")], "tls.certificate = \"\": must name a file"),
        (&[("tls.enabled", "true"), ("tcp.enabled", "false")], "encrypts TCP alone"),
        (&[("tcp.max_connections", "0")], "must be from 1 to 65536"),
    ] {
        let text = refusal(config(changes));
        assert!(text.contains(said), "{said} in {text}");
    }
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let text = refusal(config(&[("tcp.port", &port)]));
    assert!(text.contains(&port) && text.contains("set `tcp.port` to another one"), "{text}");
}
