//! A client of the domain, for servers behind zenoh.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use dunlin::{DataReader, DataWriter, GuidPrefix, SampleIdentity, SampleInfo, SerializedData, WriteParams};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::CongestionControl;
use zenoh::query::Querier;
use zenoh::sample::Locality;

use super::request::{RequestId, little_endian, with_header, without_header};
use super::{ServiceKey, Style};
use crate::bridge::Shared;
use crate::stats::{Count, Counts};

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a reply waits for the reader of its client. A client whose replies are read by another participant waits as long.
const MEETING: Duration = Duration::from_secs(1);

/// A route.
pub(crate) struct ClientRoute {
    key: ServiceKey,
    querier: Querier<'static>,
    /// Some server is there.
    wanted: Arc<AtomicBool>,
    ends: Mutex<Option<Ends>>,
    this: Weak<Self>,
    shared: Arc<Shared>,
    _token: LivelinessToken,
}

/// What a client finds, while there is a server.
struct Ends {
    replies: DataWriter<SerializedData>,
    requests: DataReader<SerializedData>,
    /// Replies to clients whose readers have not matched yet.
    early: Vec<Reply>,
}

struct Reply {
    client: GuidPrefix,
    arrived: Instant,
    data: SerializedData,
    params: WriteParams,
}

impl Ends {
    /// Whether the reader of a client has matched. Replies are volatile: without it, the reply is lost.
    fn has_met(&self, client: GuidPrefix) -> bool {
        let of_client =
            |it| self.replies.matched_subscription_data(it).is_ok_and(|it| it.guid.prefix == client);
        self.replies.matched_subscriptions().into_iter().any(of_client)
    }

    /// Writes the replies whose client has matched, or has had its time.
    fn write_early(&mut self, counts: &Counts) {
        for reply in std::mem::take(&mut self.early) {
            if self.has_met(reply.client) || reply.arrived.elapsed() >= MEETING {
                self.write(&reply, counts);
            } else {
                self.early.push(reply);
            }
        }
    }

    fn write(&self, reply: &Reply, counts: &Counts) {
        let written = self.replies.write_with(&reply.data, &reply.params);
        counts.one(if written.is_ok() { Count::FromZenoh } else { Count::NotWritten });
    }
}

impl ClientRoute {
    pub(super) fn new(shared: &Arc<Shared>, key: ServiceKey) -> Result<Arc<Self>, String> {
        let querier = shared
            .session
            .declare_querier(key.key.clone())
            .congestion_control(CongestionControl::Block)
            .allowed_destination(Locality::Remote)
            .timeout(PATIENCE)
            .wait()
            .map_err(|error| format!("zenoh does not ask: {error}"))?;
        let wanted = Arc::new(AtomicBool::new(false));
        let (told, news) = (Arc::clone(&wanted), Arc::downgrade(shared));
        querier
            .matching_listener()
            .callback(move |status| {
                told.store(status.matching(), Ordering::SeqCst);
                if let Some(shared) = news.upgrade() {
                    shared.plan_again();
                }
            })
            .background()
            .wait()
            .map_err(|error| format!("zenoh does not tell of servers: {error}"))?;
        if querier.matching_status().wait().is_ok_and(|status| status.matching()) {
            wanted.store(true, Ordering::SeqCst);
        }
        let token = shared.declare_token(key.token(shared, "SC"))?;
        let shared = Arc::clone(shared);
        Ok(Arc::new_cyclic(|this| Self {
            key,
            querier,
            wanted,
            ends: Mutex::default(),
            this: this.clone(),
            shared,
            _token: token,
        }))
    }

    fn ends(&self) -> MutexGuard<'_, Option<Ends>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has clients find a server while there is one.
    pub(super) fn tend(&self) -> Result<(), String> {
        let is_there = self.ends().as_mut().map(|ends| ends.write_early(&self.shared.counts)).is_some();
        match (self.wanted.load(Ordering::SeqCst), is_there) {
            (true, false) => {
                let replies = super::writer(&self.shared, &self.key.replies())?;
                let requests = super::reader(&self.shared, &self.key.requests())?;
                *self.ends() = Some(Ends { replies, requests, early: Vec::new() });
                // A request may have come in between: the reader is there before the route knows it.
                self.shared.up_wake.wake();
            }
            (false, true) => drop(self.ends().take()),
            _ => {}
        }
        Ok(())
    }

    /// Passes on the requests that have arrived.
    pub(super) fn pump(&self) {
        let Some(reader) = self.ends().as_ref().map(|ends| ends.requests.clone()) else { return };
        for sample in reader.take(usize::MAX).unwrap_or_default() {
            if let Some(data) = &sample.data {
                self.request(&reader, &sample.info, data.payload());
            }
        }
    }

    fn request(&self, reader: &DataReader<SerializedData>, info: &SampleInfo, payload: &[u8]) {
        let counts = &self.shared.counts;
        let client = info.publication_handle.to_guid().prefix;
        let writer = reader.matched_publication_data(info.publication_handle);
        if writer.as_ref().is_ok_and(|writer| self.shared.is_of_our_network(&writer.qos.property)) {
            return;
        }
        let style = writer.map_or(Style::Identity, |writer| Style::of_vendor(writer.vendor));
        let identity = info.origin();
        let found = match style {
            Style::Header => without_header(payload),
            Style::Identity => Some((RequestId::of_identity(identity), payload.to_vec())),
        };
        let Some((id, data)) = found.filter(|(_, data)| little_endian(data).is_some()) else {
            return counts.one(Count::NoCdr);
        };
        let attachment = id.to_attachment(little_endian(&data) == Some(true));
        let (this, once) = (self.this.clone(), AtomicBool::new(false));
        let asked = self.querier.get().payload(data).attachment(attachment).callback(move |reply| {
            let (Some(route), Ok(sample)) = (this.upgrade(), reply.result()) else { return };
            // The first reply counts, as it does in the domain.
            if !once.swap(true, Ordering::SeqCst) {
                route.reply(style, (client, id, identity), &sample.payload().to_bytes());
            }
        });
        counts.one(if asked.wait().is_ok() { Count::ToZenoh } else { Count::NotPut });
    }

    fn reply(
        &self,
        style: Style,
        (client, id, identity): (GuidPrefix, RequestId, SampleIdentity),
        payload: &[u8],
    ) {
        let counts = &self.shared.counts;
        if payload.len() > self.shared.config.limits.sample_octets {
            return counts.one(Count::TooLarge);
        }
        let data = match style {
            Style::Header => with_header(payload, id),
            Style::Identity => little_endian(payload).map(|_| payload.to_vec()),
        };
        let Some(data) = data else { return counts.one(Count::NoCdr) };
        let related = (style == Style::Identity).then_some(identity);
        let params = WriteParams { related, ..WriteParams::default() };
        let reply = Reply { client, arrived: Instant::now(), data: SerializedData::new(data), params };
        match &mut *self.ends() {
            Some(ends) if ends.has_met(client) => ends.write(&reply, counts),
            Some(ends) if ends.early.len() < self.shared.config.limits.samples as usize => {
                ends.early.push(reply);
                // It may have matched in between.
                self.shared.plan_again();
            }
            _ => counts.one(Count::NotWritten),
        }
    }
}
