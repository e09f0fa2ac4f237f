//! zenoh, peer to peer over TCP, its default. Option: express = 1 sends each sample at once instead of waiting for company.

use anyhow::{Result, anyhow};
use dunlin_bench_adapter::{About, Can, FROM_REGISTRY, Implementation, OnPayload, Open, Session, locked_version, only, serve};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::SampleKind;
use zenoh::{Config, Wait};

/// What was built.
const LOCK: &str = include_str!("../../Cargo.lock");

struct Zenoh;

/// Who is there: keys of the form `there/SIDE/TOPIC/ID`.
type There = Arc<Mutex<BTreeSet<String>>>;

struct Endpoints {
    writes: Vec<String>,
    reads: Vec<String>,
    there: There,
    writers: Vec<Arc<Publisher<'static>>>,
    _readers: Vec<Subscriber<()>>,
    _tokens: Vec<LivelinessToken>,
    _session: zenoh::Session,
}

fn said<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> anyhow::Error {
    move |error| anyhow!("{what}: {error}")
}

/// The side that writes pings listens, the others go there; nobody searches.
fn config(open: &Open) -> Result<Config> {
    let port = 21_000 + open.domain % 10_000;
    let listens = open.writes.first().is_some_and(|topic| topic.contains("Ping"));
    let (listen, connect) = if listens {
        (format!("[\"tcp/{}:{port}\"]", open.address), "[]".to_string())
    } else {
        ("[]".to_string(), format!("[\"tcp/{}:{port}\"]", open.peer))
    };
    let mut config = Config::default();
    for (key, value) in [
        ("mode", "\"peer\""),
        ("scouting/multicast/enabled", "false"),
        ("listen/endpoints", &listen),
        ("connect/endpoints", &connect),
        ("connect/retry", "{period_init_ms: 10, period_max_ms: 50, period_increase_factor: 1.5}"),
    ] {
        config.insert_json5(key, value).map_err(|error| anyhow!("{key}: {error}"))?;
    }
    Ok(config)
}

/// Keeps count of who is there.
fn watch(session: &zenoh::Session) -> Result<There> {
    let there = There::default();
    let seen = Arc::clone(&there);
    session
        .liveliness()
        .declare_subscriber("there/**")
        .history(true)
        .callback(move |sample| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            match sample.kind() {
                SampleKind::Put => seen.insert(sample.key_expr().to_string()),
                SampleKind::Delete => seen.remove(sample.key_expr().as_str()),
            };
        })
        .background()
        .wait()
        .map_err(said("liveliness"))?;
    Ok(there)
}

impl Implementation for Zenoh {
    fn about(&self, options: &[(String, String)]) -> Result<About> {
        only(options, &["express"])?;
        Ok(About { name: "zenoh".into(), version: locked_version(LOCK, "zenoh"), can: Can::ALL, waits: "blocks".into(), built: FROM_REGISTRY.into() })
    }

    fn open(&self, open: &Open, on_payload: OnPayload) -> Result<Box<dyn Session>> {
        let session = zenoh::open(config(open)?).wait().map_err(said("session"))?;
        let there = watch(&session)?;
        let express = open.option("express") == Some("1");
        // Blocking is what keeps a sample that finds the queue full.
        let full = if open.reliable { CongestionControl::Block } else { CongestionControl::Drop };
        let (mut writers, mut readers, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        for name in &open.writes {
            let writer = session
                .declare_publisher(name.clone())
                .congestion_control(full)
                .express(express)
                .wait()
                .map_err(said("publisher"))?;
            writers.push(Arc::new(writer));
        }
        for name in &open.reads {
            let (answers, on_payload) = (writers.first().cloned(), Arc::clone(&on_payload));
            let reader = session
                .declare_subscriber(name.clone())
                .callback(move |sample| {
                    let answer =
                        |payload: &[u8]| answers.as_ref().map_or(Ok(()), |writer| put(writer, payload));
                    on_payload(&sample.payload().to_bytes(), &answer);
                })
                .wait()
                .map_err(said("subscriber"))?;
            readers.push(reader);
        }
        // Declared last, so that who sees them knows that the rest is there.
        let all = open
            .writes
            .iter()
            .map(|name| ("writer", name))
            .chain(open.reads.iter().map(|name| ("reader", name)));
        for (side, name) in all {
            let key = format!("there/{side}/{name}/{}", session.zid());
            tokens.push(session.liveliness().declare_token(key).wait().map_err(said("token"))?);
        }
        Ok(Box::new(Endpoints {
            writes: open.writes.clone(),
            reads: open.reads.clone(),
            there,
            writers,
            _readers: readers,
            _tokens: tokens,
            _session: session,
        }))
    }
}

fn put(writer: &Publisher<'_>, payload: &[u8]) -> Result<()> {
    writer.put(payload.to_vec()).wait().map_err(said("put"))
}

impl Session for Endpoints {
    fn matched(&self) -> usize {
        let there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |side: &str, name: &String| {
            let prefix = format!("there/{side}/{name}/");
            there.range(prefix.clone()..).take_while(|key| key.starts_with(&prefix)).count()
        };
        let writes = self.writes.iter().map(|name| count("reader", name));
        writes.chain(self.reads.iter().map(|name| count("writer", name))).min().unwrap_or(0)
    }

    fn write(&self, payload: &[u8]) -> Result<()> {
        self.writers.first().map_or(Ok(()), |writer| put(writer, payload))
    }
}

fn main() -> Result<()> {
    serve(&Zenoh)
}
