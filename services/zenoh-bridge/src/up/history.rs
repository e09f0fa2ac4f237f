//! Answers who asks for what a route has passed on: bridges of Dunlin, and those who keep to an official convention.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use zenoh::Wait;
use zenoh::query::{Query, Queryable, ReplyKeyExpr};
use zenoh::sample::Locality;

use super::UpKey;
use crate::attachment::{Meta, SourceId};
use crate::bridge::Shared;
use crate::cache::Cache;
use crate::key::Convention;
use crate::stats::Count;
use crate::token;

/// Questions that wait to be answered.
const WAITING: usize = 1024;

/// Who asks.
#[derive(Clone, Copy)]
enum Asker {
    Dunlin,
    Other,
}

/// A question, and what it is about.
pub(crate) struct Question {
    query: Query,
    cache: Arc<Mutex<Cache>>,
    asker: Asker,
    /// The key of the samples.
    key: Arc<str>,
}

/// Where subscribers of zenoh-ext ask a publisher that does not number its samples.
pub(super) fn advanced_key(shared: &Shared, key: &str) -> String {
    format!("{key}/@adv/pub/{}/uhlc/_", shared.session.zid())
}

pub(super) fn declare(
    shared: &Arc<Shared>,
    convention: Convention,
    key: &UpKey,
    source: SourceId,
    cache: &Arc<Mutex<Cache>>,
) -> Result<Vec<Queryable<()>>, String> {
    let mut all = vec![one(shared, &key.key, token::history_key(&key.key, source), Asker::Dunlin, cache)?];
    if key.offer.kept {
        let others = match convention {
            Convention::Dds => format!("{}/@dds_pub_cache/{}", key.key, shared.session.zid()),
            Convention::Ros2Dds => advanced_key(shared, &key.key),
        };
        all.push(one(shared, &key.key, others, Asker::Other, cache)?);
    }
    Ok(all)
}

fn one(
    shared: &Arc<Shared>,
    key: &str,
    at: String,
    asker: Asker,
    cache: &Arc<Mutex<Cache>>,
) -> Result<Queryable<()>, String> {
    let questions = shared.questions().ok_or_else(|| "the bridge ends".to_owned())?;
    let (cache, key) = (Arc::clone(cache), Arc::from(key));
    shared
        .session
        .declare_queryable(at)
        .allowed_origin(Locality::Remote)
        .callback(move |query| {
            let question = Question { query, cache: Arc::clone(&cache), asker, key: Arc::clone(&key) };
            // Who is told an error asks again, or goes on without.
            if let Err(refused) = questions.try_send(question) {
                let (std::sync::mpsc::TrySendError::Full(question)
                | std::sync::mpsc::TrySendError::Disconnected(question)) = refused;
                _ = question.query.reply_err("too many questions").wait();
            }
        })
        .wait()
        .map_err(|error| format!("zenoh cannot be asked: {error}"))
}

impl Question {
    /// Where questions wait: answering one may have to wait for the network, which those who receive may not.
    pub(crate) fn queue() -> (SyncSender<Self>, Receiver<Self>) {
        sync_channel(WAITING)
    }

    /// Sends what was asked for.
    pub(crate) fn answer(&self, shared: &Shared) {
        match self.asker {
            Asker::Dunlin => self.answer_dunlin(shared),
            Asker::Other => self.answer_other(shared),
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.query.parameters().get(name).and_then(|text| text.parse().ok())
    }

    fn answer_dunlin(&self, shared: &Shared) {
        let from = self.number("from").unwrap_or(0);
        let history_only = self.query.parameters().get("history").is_some();
        let (page, more) = self.cache.lock().unwrap_or_else(PoisonError::into_inner).page(from, history_only);
        let last = page.last().map(|kept| kept.meta.number);
        for kept in page {
            let meta = Meta { more: more && Some(kept.meta.number) == last, ..kept.meta };
            let reply = self
                .query
                .reply(self.query.key_expr().clone(), kept.payload)
                .attachment(meta.to_octets())
                .timestamp(kept.timestamp);
            if reply.wait().is_err() {
                return;
            }
            shared.counts.one(Count::HistorySent);
        }
    }

    fn answer_other(&self, shared: &Shared) {
        let most = self.number("_max").map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let last = self.cache.lock().unwrap_or_else(PoisonError::into_inner).last(most);
        let any = self.query.accepts_replies() == ReplyKeyExpr::Any;
        for kept in last {
            let key = if any { self.key.to_string() } else { self.query.key_expr().to_string() };
            let reply = self
                .query
                .reply(key, kept.payload)
                .attachment(kept.meta.to_octets())
                .timestamp(kept.timestamp);
            if reply.wait().is_err() {
                return;
            }
            shared.counts.one(Count::HistorySent);
        }
    }
}
