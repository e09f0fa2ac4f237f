//! The bridge: its two sides, and the threads that pass data on.

mod run;
mod shared;

use std::sync::Arc;
use std::thread::JoinHandle;

use dunlin::qos::DomainParticipantQos;
use dunlin::{CreateParticipantError, DomainParticipant};
pub(crate) use shared::Shared;
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use crate::config::BridgeConfig;
use crate::stats::Counts;
use crate::token;
use crate::up::Question;
use crate::wake::Wake;

/// Why a bridge cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The DDS side.
    #[error("the participant cannot be created: {0}")]
    Participant(#[from] CreateParticipantError),
    /// The zenoh side.
    #[error("the zenoh session cannot be opened: {0}")]
    Session(String),
    /// A thread.
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// A bridge that passes data on as long as this is there.
pub struct Bridge {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Ends when nobody can ask any more.
    history: Option<JoinHandle<()>>,
    _tokens: Vec<LivelinessToken>,
    _subscribers: Vec<Subscriber<()>>,
    _builtin: run::Builtin,
}

impl Bridge {
    /// Joins the domain and the zenoh network, and begins.
    ///
    /// # Errors
    /// When one of the sides cannot be had.
    pub fn start(config: BridgeConfig) -> Result<Self, BridgeError> {
        let mark = shared::mark(&config.name);
        let builder = DomainParticipant::builder(config.dds.domain)
            .name(format!("dunlin-zenoh-bridge {}", config.name))
            .qos(DomainParticipantQos::default().service(&mark));
        let builder = match &config.dds.config {
            Some(dds) => builder.config(dds.clone()),
            None => builder,
        };
        let participant = builder.build()?;
        let refused = |error: zenoh::Error| BridgeError::Session(error.to_string());
        let session = zenoh::open(config.zenoh.session.clone()).wait().map_err(refused)?;
        let (questions, asked) = Question::queue();
        let shared = Arc::new(Shared::new(config, participant, session, questions));
        let builtin = run::watch(&shared);
        let group = format!("zenoh-plugin-dds/{}", shared.session.zid());
        let tokens = vec![shared.declare_token(group).map_err(BridgeError::Session)?];
        let subscribers = subscribe(&shared).map_err(refused)?;
        let mut bridge = Self {
            shared,
            threads: Vec::new(),
            history: None,
            _tokens: tokens,
            _subscribers: subscribers,
            _builtin: builtin,
        };
        let shared = Arc::clone(&bridge.shared);
        bridge.spawn("plan", move || run::plan(&shared))?;
        let shared = Arc::clone(&bridge.shared);
        bridge.spawn("to-zenoh", move || run::up(&shared))?;
        let shared = Arc::clone(&bridge.shared);
        bridge.spawn("from-zenoh", move || run::down(&shared))?;
        let shared = Arc::downgrade(&bridge.shared);
        bridge.history = Some(spawn("history", move || run::answer(&shared, &asked))?);
        Ok(bridge)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        self.threads.push(spawn(name, run)?);
        Ok(())
    }

    /// What has passed, and what has not.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// How many routes there are: to zenoh, and from it.
    #[must_use]
    pub fn routes(&self) -> (usize, usize) {
        (self.shared.ups().len(), self.shared.downs().len())
    }

    /// Topics that do not pass, each with the reason.
    #[must_use]
    pub fn refusals(&self) -> Vec<(String, String)> {
        self.shared.refusals()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        for wake in [&self.shared.plan_wake, &self.shared.up_wake, &self.shared.down_wake] {
            Wake::end(wake);
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to end.
            _ = thread.join();
        }
        self.shared.clear();
        self.history.take().map(JoinHandle::join);
        _ = self.shared.session.close().wait();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Listens to what others announce.
fn subscribe(shared: &Arc<Shared>) -> Result<Vec<Subscriber<()>>, zenoh::Error> {
    type Told = fn(&Shared, &str, bool);
    let told: [(&str, Told); 3] = [
        (token::ALL, Shared::dunlin_told),
        (token::ALL_ROS2_PUBLISHERS, Shared::ros2_told),
        (token::ALL_DDS, Shared::dds_told),
    ];
    let mut subscribers = Vec::new();
    for (tokens, tell) in told {
        let shared = Arc::downgrade(shared);
        let subscriber = shared.upgrade().map(|strong| {
            strong
                .session
                .liveliness()
                .declare_subscriber(tokens)
                .history(true)
                .callback(move |sample| {
                    if let Some(shared) = shared.upgrade() {
                        tell(&shared, sample.key_expr().as_str(), sample.kind() == SampleKind::Put);
                    }
                })
                .wait()
        });
        subscribers.extend(subscriber.transpose()?);
    }
    Ok(subscribers)
}
