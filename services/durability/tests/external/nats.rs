//! NATS as Debian has it.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dunlin_durability::ServiceConfig;
use dunlin_durability::backend::NatsBackend;
use dunlin_durability::store::{NatsLog, NatsStore, Store};
use dunlin_test_program::eventually;

use crate::suite::{Content, conforms};
use crate::{Server, append, free_port, has_all, survives_kills};

struct Place {
    folder: tempfile::TempDir,
    port: u16,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port: free_port() }
    }

    /// Starts the server, and waits until it answers.
    fn start(&self) -> Server {
        let (port, folder) = (self.port.to_string(), self.folder.path().to_str().unwrap());
        let mut command = Command::new("/usr/sbin/nats-server");
        command.args(["--addr", "127.0.0.1", "--port", &port, "--jetstream", "--store_dir", folder]);
        let server = Server::start(command.stderr(Stdio::null()));
        eventually("NATS answers", || TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok());
        server
    }

    fn backend(&self, stream: &str) -> NatsBackend {
        NatsBackend {
            address: format!("nats://127.0.0.1:{}", self.port),
            user: None,
            password: None,
            stream: stream.into(),
            replicas: 1,
            timeout: Duration::from_secs(5),
        }
    }

    fn open(&self, stream: &str) -> NatsStore {
        let mut opened = None;
        eventually("it opens", || {
            opened = NatsStore::connect(&self.backend(stream)).ok();
            opened.is_some()
        });
        opened.unwrap()
    }
}

#[test]
fn the_nats_store_passes_the_conformance_suite() {
    let place = Place::new();
    let _server = place.start();
    for seed in 1..=10 {
        // Some with much that is cleared away.
        let waste = if seed % 2 == 0 { 2_000 } else { 64 << 20 };
        let stream = format!("seed{seed}");
        let open = || NatsStore::with_waste(NatsLog::new(&place.backend(&stream)).unwrap(), waste).unwrap();
        let again = |store: NatsStore| {
            drop(store);
            open()
        };
        conforms(open(), again, seed);
    }
}

#[test]
fn commits_longer_than_a_message_are_whole() {
    let place = Place::new();
    let _server = place.start();
    let mut store = place.open("long");
    store.commit(&[append(0, 3 << 20), append(1, 10), append(2, 1 << 20)]).unwrap();
    let before = Content::of(&mut store);
    drop(store);
    assert!(Content::of(&mut place.open("long")) == before);
}

#[test]
fn confirmed_commits_survive_a_killed_server() {
    let place = Place::new();
    let server = place.start();
    let mut store = place.open("kills");
    let (_server, end) = survives_kills(&mut store, server, || place.start());
    drop(store);
    has_all(&mut place.open("kills"), end);
}

#[test]
fn the_newest_service_has_the_stream() {
    let place = Place::new();
    let _server = place.start();
    let mut first = place.open("one");
    first.commit(&[append(0, 10)]).unwrap();
    let mut second = place.open("one");
    second.commit(&[append(1, 20)]).unwrap();
    let before = Content::of(&mut second);
    let mut last = String::new();
    eventually("the first is told", || {
        last = first.commit(&[append(1, 30)]).unwrap_err().to_string();
        last.contains("another service has taken the stream one")
    });
    second.commit(&[append(2, 20), append(2, 20)]).unwrap();
    drop((first, second));
    assert!(Content::of(&mut place.open("one")).changes.len() == before.changes.len() + 1);
}

/// A stream of somebody else's making is not taken if it would drop what was confirmed.
#[test]
fn a_stream_that_drops_samples_is_refused() {
    let place = Place::new();
    let _server = place.start();
    drop(place.open("other"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(place.backend("").address).await.unwrap();
        let made = async_nats::jetstream::stream::Config {
            name: "limited".into(),
            subjects: vec!["limited.log".into()],
            max_messages_per_subject: 1,
            max_age: Duration::from_secs(3600),
            ..Default::default()
        };
        async_nats::jetstream::new(client).create_stream(made).await.unwrap();
    });
    let refused = NatsStore::connect(&place.backend("limited")).err().unwrap().to_string();
    for wanted in ["max_msgs_per_subject = 1", "max_age = 3600s", "discard = new"] {
        assert!(refused.contains(wanted), "{wanted} in {refused}");
    }
}

/// What the page says to do by copy and paste.
#[test]
fn the_example_is_read() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/nats.toml");
    ServiceConfig::from_file(&file).unwrap();
}
