//! iceoryx2: shared memory, one host. Option: wait = spin (the default, as its own benchmarks do) or event.

use anyhow::{Result, anyhow, bail};
use dunlin_bench_adapter::{About, Can, FROM_REGISTRY, Implementation, OnPayload, Open, Session, locked_version, only, serve};
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory as Topic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What was built.
const LOCK: &str = include_str!("../../Cargo.lock");

/// How long a reader waits for an event before it looks whether all has ended.
const PATIENCE: Duration = Duration::from_millis(2);

type Kind = ipc_threadsafe::Service;

struct Iceoryx2;

struct Writer {
    publisher: Publisher<Kind, [u8], ()>,
    notifier: Option<Notifier<Kind>>,
}

struct Endpoints {
    writers: Vec<Arc<Writer>>,
    write_topics: Vec<Topic<Kind, [u8], ()>>,
    read_topics: Vec<Topic<Kind, [u8], ()>>,
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    _node: Node<Kind>,
}

fn said<E: std::fmt::Debug>(what: &'static str) -> impl Fn(E) -> anyhow::Error {
    move |error| anyhow!("{what}: {error:?}")
}

fn with_events(options: &[(String, String)]) -> Result<bool> {
    match options.iter().find(|(key, _)| key == "wait").map_or("spin", |(_, value)| value) {
        "spin" => Ok(false),
        "event" => Ok(true),
        other => bail!("wait={other}: there are spin and event"),
    }
}

/// Samples a reader's queue holds: about 64 MB, as with the others.
fn room(payload: usize) -> usize {
    (64_000_000 / payload.max(1)).clamp(16, 1_000)
}

impl Iceoryx2 {
    fn topic(node: &Node<Kind>, open: &Open, name: &str, payload: usize) -> Result<Topic<Kind, [u8], ()>> {
        let name = format!("{name}/{}", open.domain);
        let depth = open.keep_last.map_or_else(|| room(payload), |depth| depth.max(1) as usize);
        node.service_builder(&name.as_str().try_into().map_err(said("name"))?)
            .publish_subscribe::<[u8]>()
            .max_publishers(2)
            .max_subscribers(64)
            .max_nodes(80)
            .history_size(0)
            .subscriber_max_buffer_size(depth)
            // A reliable KEEP_ALL writer waits for room; the others overwrite the oldest.
            .enable_safe_overflow(!open.reliable || open.keep_last.is_some())
            .open_or_create()
            .map_err(said("service"))
    }

    fn events(
        node: &Node<Kind>,
        open: &Open,
        name: &str,
    ) -> Result<iceoryx2::service::port_factory::event::PortFactory<Kind>> {
        let name = format!("{name}/{}/events", open.domain);
        let name = name.as_str().try_into().map_err(said("name"))?;
        node.service_builder(&name).event().max_listeners(64).open_or_create().map_err(said("event service"))
    }
}

impl Implementation for Iceoryx2 {
    fn about(&self, options: &[(String, String)]) -> Result<About> {
        const CAN: &[Can] =
            &[Can::IntraProcess, Can::Reliable, Can::BestEffort, Can::ManyTopics, Can::ManyReaders];
        only(options, &["wait"])?;
        let waits = if with_events(options)? { "blocks" } else { "spins" }.into();
        let built = FROM_REGISTRY.into();
        Ok(About { name: "iceoryx2".into(), version: locked_version(LOCK, "iceoryx2"), can: CAN, waits, built })
    }

    fn open(&self, open: &Open, on_payload: OnPayload) -> Result<Box<dyn Session>> {
        set_log_level(LogLevel::Error);
        let events = with_events(&open.options)?;
        let node = NodeBuilder::new()
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<Kind>()
            .map_err(said("node"))?;
        let end = Arc::new(AtomicBool::new(false));
        let (mut writers, mut write_topics) = (Vec::new(), Vec::new());
        for name in &open.writes {
            let topic = Self::topic(&node, open, name, open.payload)?;
            let publisher = topic
                .publisher_builder()
                .initial_max_slice_len(open.payload)
                .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
                .create()
                .map_err(said("publisher"))?;
            let notifier = match events {
                true => Some(
                    Self::events(&node, open, name)?.notifier_builder().create().map_err(said("notifier"))?,
                ),
                false => None,
            };
            writers.push(Arc::new(Writer { publisher, notifier }));
            write_topics.push(topic);
        }
        let (mut threads, mut read_topics) = (Vec::new(), Vec::new());
        for name in &open.reads {
            let topic = Self::topic(&node, open, name, open.arriving)?;
            let subscriber = topic.subscriber_builder().create().map_err(said("subscriber"))?;
            let listener = match events {
                true => Some(
                    Self::events(&node, open, name)?.listener_builder().create().map_err(said("listener"))?,
                ),
                false => None,
            };
            let (answers, end, on_payload) =
                (writers.first().cloned(), Arc::clone(&end), Arc::clone(&on_payload));
            threads.push(std::thread::spawn(move || {
                if let Err(error) =
                    read(&subscriber, listener.as_ref(), answers.as_deref(), &on_payload, &end)
                {
                    eprintln!("reading: {error:#}");
                }
            }));
            read_topics.push(topic);
        }
        Ok(Box::new(Endpoints { writers, write_topics, read_topics, end, threads, _node: node }))
    }
}

fn read(
    subscriber: &Subscriber<Kind, [u8], ()>,
    listener: Option<&Listener<Kind>>,
    answers: Option<&Writer>,
    on_payload: &OnPayload,
    end: &AtomicBool,
) -> Result<()> {
    let answer = |payload: &[u8]| answers.map_or(Ok(()), |writer| writer.write(payload));
    while !end.load(Ordering::Relaxed) {
        if let Some(listener) = listener {
            listener.timed_wait(|_| (), PATIENCE).map_err(said("waiting"))?;
        }
        while let Some(sample) = subscriber.receive().map_err(said("receiving"))? {
            on_payload(sample.payload(), &answer);
        }
    }
    Ok(())
}

impl Writer {
    fn write(&self, payload: &[u8]) -> Result<()> {
        let sample = self.publisher.loan_slice_uninit(payload.len()).map_err(said("loan"))?;
        sample.write_from_slice(payload).send().map_err(said("send"))?;
        if let Some(notifier) = &self.notifier {
            notifier.notify().map_err(said("notify"))?;
        }
        Ok(())
    }
}

impl Session for Endpoints {
    fn matched(&self) -> usize {
        let readers = self.write_topics.iter().map(|topic| topic.dynamic_config().number_of_subscribers());
        let writers = self.read_topics.iter().map(|topic| topic.dynamic_config().number_of_publishers());
        readers.chain(writers).min().unwrap_or(0)
    }

    fn write(&self, payload: &[u8]) -> Result<()> {
        self.writers.first().map_or(Ok(()), |writer| writer.write(payload))
    }
}

impl Drop for Endpoints {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn main() -> Result<()> {
    serve(&Iceoryx2)
}
