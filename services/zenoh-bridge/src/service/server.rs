//! A server of the domain, for clients behind zenoh.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use dunlin::qos::Property;
use dunlin::{DataReader, DataWriter, SampleIdentity, SampleInfo, SerializedData, WriteParams};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{Query, Queryable};
use zenoh::sample::Locality;

use super::request::{RequestId, little_endian, with_header, without_header};
use super::{ServiceKey, Style};
use crate::bridge::Shared;
use crate::stats::Count;

/// Requests that wait for their replies.
const PENDING: usize = 4096;
/// How long one waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a reply names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Named {
    Id(RequestId),
    Sample(SampleIdentity),
}

/// A route.
pub(crate) struct ServerRoute {
    key: ServiceKey,
    style: Style,
    requests: DataWriter<SerializedData>,
    replies: DataReader<SerializedData>,
    pending: Mutex<BTreeMap<Named, (Query, Instant)>>,
    number: AtomicU64,
    shared: Arc<Shared>,
    /// What clients find, while there is a server.
    zenoh: Mutex<Option<Announced>>,
    this: Weak<Self>,
}

type Announced = (Queryable<()>, LivelinessToken);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerRoute {
    pub(super) fn new(shared: &Arc<Shared>, key: ServiceKey, style: Style) -> Result<Arc<Self>, String> {
        let requests = super::writer(shared, &key.requests())?;
        let replies = super::reader(shared, &key.replies())?;
        Ok(Arc::new_cyclic(|this| Self {
            style,
            requests,
            replies,
            pending: Mutex::default(),
            number: AtomicU64::new(1),
            shared: Arc::clone(shared),
            zenoh: Mutex::default(),
            this: this.clone(),
            key,
        }))
    }

    /// Has clients find the server while its ends are matched: what is asked or answered before that is lost.
    pub(super) fn tend(&self) -> Result<(), String> {
        self.expire();
        let (is_there, is_found) = (self.is_there(), lock(&self.zenoh).is_some());
        match (is_there, is_found) {
            (true, false) => *lock(&self.zenoh) = Some(self.announce()?),
            (false, true) => {
                // Ending it waits for who is being passed on, so it is not done under the lock.
                let ended = lock(&self.zenoh).take();
                drop(ended);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether somebody in the domain takes requests, and somebody replies. Other bridges of the network are no servers.
    fn is_there(&self) -> bool {
        let is_server = |property: &Property| !self.shared.is_of_our_network(property);
        let (requests, replies) = (&self.requests, &self.replies);
        let takes = |it| requests.matched_subscription_data(it).is_ok_and(|it| is_server(&it.qos.property));
        let gives = |it| replies.matched_publication_data(it).is_ok_and(|it| is_server(&it.qos.property));
        requests.matched_subscriptions().into_iter().any(takes)
            && replies.matched_publications().into_iter().any(gives)
    }

    fn announce(&self) -> Result<Announced, String> {
        let asked = self.this.clone();
        let queryable = self
            .shared
            .session
            .declare_queryable(self.key.key.clone())
            .allowed_origin(Locality::Remote)
            .callback(move |query| {
                if let Some(route) = asked.upgrade() {
                    route.request(query);
                }
            })
            .wait()
            .map_err(|error| format!("zenoh cannot be asked: {error}"))?;
        Ok((queryable, self.shared.declare_token(self.key.token(&self.shared, "SS"))?))
    }

    /// Passes a request on to the server.
    fn request(&self, query: Query) {
        let counts = &self.shared.counts;
        let refuse = |count, why| {
            counts.one(count);
            _ = query.reply_err(why).wait();
        };
        // A query without a payload is a request without members.
        let payload = query.payload().map_or_else(|| vec![0, 1, 0, 0], |it| it.to_bytes().into_owned());
        if payload.len() > self.shared.config.limits.sample_octets {
            return refuse(Count::TooLarge, "the request is too large");
        }
        if little_endian(&payload).is_none() {
            return refuse(Count::NoCdr, "the request is no CDR");
        }
        let attached = query.attachment().and_then(|it| RequestId::from_attachment(&it.to_bytes()));
        let id = attached.unwrap_or_else(|| {
            let bridge = self.shared.id;
            let client = bridge.iter().fold(0_u64, |all, octet| (all << 5) ^ u64::from(*octet));
            RequestId::new(client, self.number.fetch_add(1, Ordering::Relaxed))
        });
        // Held until the request is noted: the reply may be faster.
        let mut pending = lock(&self.pending);
        if pending.len() >= PENDING {
            return refuse(Count::NoRoom, "too many requests wait for replies");
        }
        let data = match self.style {
            Style::Header => with_header(&payload, id).unwrap_or_default(),
            Style::Identity => payload,
        };
        match self.requests.write_with(&SerializedData::new(data), &WriteParams::default()) {
            Ok(identity) => {
                let named = match self.style {
                    Style::Header => Named::Id(id),
                    Style::Identity => Named::Sample(identity),
                };
                pending.insert(named, (query, Instant::now()));
                counts.one(Count::FromZenoh);
            }
            Err(error) => {
                counts.one(Count::NotWritten);
                _ = query.reply_err(error.to_string()).wait();
            }
        }
    }

    /// Passes on the replies that have arrived.
    pub(super) fn pump(&self) {
        for sample in self.replies.take(usize::MAX).unwrap_or_default() {
            if let Some(data) = &sample.data {
                self.reply(&sample.info, data.payload());
            }
        }
    }

    /// Passes a reply on to whoever asked. Replies to others are left alone.
    fn reply(&self, info: &SampleInfo, payload: &[u8]) {
        let found = match self.style {
            Style::Header => without_header(payload).map(|(id, data)| (Named::Id(id), data)),
            Style::Identity => info.related_sample.map(|it| (Named::Sample(it), payload.to_vec())),
        };
        let Some((named, data)) = found else { return self.shared.counts.one(Count::NoKey) };
        let Some((query, _)) = lock(&self.pending).remove(&named) else { return };
        let sent = query.reply(self.key.key.clone(), data).wait();
        self.shared.counts.one(if sent.is_ok() { Count::ToZenoh } else { Count::NotPut });
    }

    /// Forgets requests to which nobody replies.
    fn expire(&self) {
        lock(&self.pending).retain(|_, (_, since)| since.elapsed() < PATIENCE);
    }
}
