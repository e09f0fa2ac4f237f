//! Asks other bridges for history, and for what was missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zenoh::Wait;
use zenoh::query::{ConsolidationMode, QueryTarget, Reply, ReplyKeyExpr};

use super::DownRoute;
use crate::attachment::{Meta, SourceId};
use crate::bridge::Shared;
use crate::key::Convention;
use crate::queue::{News, Queue};
use crate::source::Ask;
use crate::stats::Count;
use crate::token;

/// How long answers may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells the route when it is dropped, which zenoh does when all answers have come.
struct Answered {
    queue: Arc<Queue>,
    news: News,
    more: AtomicBool,
}

impl Drop for Answered {
    fn drop(&mut self) {
        let news = match self.news {
            News::Answered { source, .. } => {
                News::Answered { source, more: self.more.load(Ordering::SeqCst) }
            }
            other => other,
        };
        self.queue.news(news);
    }
}

impl Answered {
    fn take(&self, reply: &Reply) {
        let Ok(sample) = reply.result() else { return };
        let attachment = sample.attachment().map(|it| it.to_bytes());
        if let Some(Ok(Meta { more: true, .. })) = attachment.as_deref().and_then(Meta::parse) {
            self.more.store(true, Ordering::SeqCst);
        }
        self.queue.sample(sample, true);
    }
}

/// Asks a bridge of Dunlin.
pub(super) fn source(shared: &Shared, route: &DownRoute, id: SourceId, ask: Ask) {
    let history = if ask.history_only { ";history=1" } else { "" };
    let selector = format!("{}?from={}{history}", token::history_key(&route.key.key, id), ask.from);
    get(shared, route, &selector, News::Answered { source: id, more: false });
}

/// Asks all others that keep history as the convention says.
pub(super) fn others(shared: &Shared, route: &DownRoute) {
    let key = &route.key.key;
    let selector = match route.convention {
        Convention::Dds => format!("{key}/@dds_pub_cache/*"),
        Convention::Ros2Dds => format!("{key}/@adv/**?_max={}", shared.config.limits.samples),
    };
    get(shared, route, &selector, News::ForeignAnswered);
}

fn get(shared: &Shared, route: &DownRoute, selector: &str, news: News) {
    shared.counts.one(Count::HistoryAsked);
    let answered = Answered { queue: Arc::clone(&route.queue), news, more: AtomicBool::new(false) };
    let asked = shared
        .session
        .get(selector)
        .target(QueryTarget::All)
        .consolidation(ConsolidationMode::None)
        .accept_replies(ReplyKeyExpr::Any)
        .allowed_destination(zenoh::sample::Locality::Remote)
        .timeout(PATIENCE)
        .callback(move |reply| answered.take(&reply))
        .wait();
    if let Err(error) = asked {
        shared.refuse(&route.key.topic, &format!("zenoh does not ask for history: {error}"));
    }
}
