//! The side that answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use dunlin::qos::{PublisherQos, SubscriberQos};
use dunlin::{
    CreateEntityError, DataReader, DataWriter, DdsType, DomainParticipant, Duration, Guid, RawSample,
    SampleIdentity, WaitForError, WriteError, WriteParams,
};

use super::{CreateError, Ends, Half, ReplyError, Service, lock, reader_qos, topic_of, writer_qos};

/// Names a request, for the reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestId {
    sample: SampleIdentity,
    /// The reader of replies, if the requester has named it.
    reply_to: Option<Guid>,
}

impl RequestId {
    /// The sample that is the request.
    #[must_use]
    pub fn sample(&self) -> SampleIdentity {
        self.sample
    }
}

/// A request to answer.
#[derive(Clone, Debug)]
pub struct Request<Q> {
    /// What is asked.
    pub data: Q,
    /// For [`Replier::send_reply`].
    pub id: RequestId,
}

/// What became of requests; counts wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ReplierStats {
    /// Requests that wait until their requester can be answered.
    pub held: usize,
    /// Requests whose requester went away before it could be answered.
    pub abandoned: u32,
    /// Requests that more recent ones displaced while they were held.
    pub displaced: u32,
}

#[derive(Default)]
struct State {
    held: VecDeque<(RequestId, RawSample)>,
    stats: ReplierStats,
}

/// Takes requests of type `Q` and sends replies of type `A`. Cheap to clone; its endpoints go away with the last handle.
pub struct Replier<Q: DdsType, A: DdsType> {
    ends: Ends<A, Q>,
    state: Arc<Mutex<State>>,
    max_held: usize,
}

impl<Q: DdsType, A: DdsType> Clone for Replier<Q, A> {
    fn clone(&self) -> Self {
        Self { ends: self.ends.clone(), state: Arc::clone(&self.state), max_held: self.max_held }
    }
}

impl<Q: DdsType, A: DdsType> std::fmt::Debug for Replier<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Replier({:?}, {:?})", self.ends.reader, self.ends.writer)
    }
}

/// What a reply says of its request.
fn params_of(to: RequestId) -> WriteParams {
    // Its participant says what that is.
    let only_for = to.reply_to.filter(|reader| reader.entity_id.is_reader());
    WriteParams { related: Some(to.sample), only_for, ..WriteParams::default() }
}

/// Whether a request can be answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answerable {
    Now,
    /// The writer of replies has yet to match the requester's reader.
    Later,
    Never,
}

impl<Q: DdsType, A: DdsType> Replier<Q, A> {
    /// Makes the endpoints of a replier: RELIABLE, KEEP_ALL with room for 1024 samples, VOLATILE.
    ///
    /// # Errors
    /// As of any endpoint; [`CreateEntityError::FactoryNotEnabled`] when the participant does not enable what it creates,
    /// [`CreateEntityError::KeyedService`].
    pub fn new(participant: &DomainParticipant, service: &Service) -> Result<Self, CreateError> {
        let topic = topic_of::<A>(participant, &service.reply_topic)?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let writer = publisher.create_datawriter(&topic, &writer_qos())?;
        let related = writer.guid().ok_or(CreateEntityError::FactoryNotEnabled)?;
        let topic = topic_of::<Q>(participant, &service.request_topic)?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let reader = subscriber.create_related_datareader(&topic, &reader_qos(), related)?;
        reader.guid().ok_or(CreateEntityError::FactoryNotEnabled)?;
        Ok(Self { ends: Ends { writer, reader }, state: Arc::default(), max_held: service.max_outstanding })
    }

    /// The next request, if one has come that can be answered.
    #[must_use]
    pub fn take_request(&self) -> Option<Request<Q>> {
        if let Some(request) = self.take_held() {
            return Some(request);
        }
        // Nothing is locked meanwhile: making room may run listeners.
        while let Some(sample) = self.ends.reader.take_payloads(1).ok().and_then(|mut taken| taken.pop()) {
            let Some(id) = self.identify(&sample) else { continue };
            match self.answerable(id) {
                Answerable::Now => {
                    if let Some(request) = self.decode(id, sample) {
                        return Some(request);
                    }
                }
                Answerable::Later => self.hold(id, sample),
                Answerable::Never => self.abandon(),
            }
        }
        None
    }

    /// Waits for a request.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`]; [`WaitForError::AlreadyDeleted`] when an endpoint of it was deleted; as of other calls that
    /// wait, not in listeners and tasks.
    pub fn wait(&self, max_wait: Duration) -> Result<Request<Q>, WaitForError> {
        let mut found = None;
        self.ends.wait_until(max_wait, || {
            found = found.take().or_else(|| self.take_request());
            found.is_some()
        })?;
        found.ok_or(WaitForError::AlreadyDeleted)
    }

    /// [`wait`](Self::wait) for async code, on any executor and without a time-out: dropping the future gives up.
    ///
    /// # Errors
    /// [`WaitForError::AlreadyDeleted`] when an endpoint of it was deleted.
    pub fn wait_async(&self) -> impl Future<Output = Result<Request<Q>, WaitForError>> + Send + use<Q, A> {
        let this = self.clone();
        self.ends.clone().until(move || this.take_request())
    }

    /// Sends a reply; a request may have several.
    ///
    /// # Errors
    /// [`ReplyError::RequesterGone`], or as of [`DataWriter::write`].
    pub fn send_reply(&self, to: RequestId, reply: &A) -> Result<(), ReplyError> {
        self.check(to)?;
        self.ends.writer.write_with(reply, &params_of(to))?;
        Ok(())
    }

    /// [`send_reply`](Self::send_reply) for async code, see [`DataWriter::write_async`].
    ///
    /// # Errors
    /// As [`send_reply`](Self::send_reply).
    pub fn send_reply_async(
        &self,
        to: RequestId,
        reply: &A,
    ) -> impl Future<Output = Result<(), ReplyError>> + Send + use<Q, A> {
        let checked = self.check(to);
        let written = self.ends.writer.write_with_async(reply, &params_of(to));
        async move {
            checked?;
            let written: Result<_, WriteError> = written.await;
            written.map(drop).map_err(ReplyError::Write)
        }
    }

    /// What became of requests.
    #[must_use]
    pub fn stats(&self) -> ReplierStats {
        let state = lock(&self.state);
        ReplierStats { held: state.held.len(), ..state.stats }
    }

    /// The reader of requests.
    #[must_use]
    pub fn request_reader(&self) -> &DataReader<Q> {
        &self.ends.reader
    }

    /// The writer of replies.
    #[must_use]
    pub fn reply_writer(&self) -> &DataWriter<A> {
        &self.ends.writer
    }

    fn check(&self, to: RequestId) -> Result<(), ReplyError> {
        if self.reaches(to) { Ok(()) } else { Err(ReplyError::RequesterGone) }
    }

    /// The identity of a request; nothing of a sample without data.
    fn identify(&self, sample: &RawSample) -> Option<RequestId> {
        sample.payload.as_ref().filter(|_| sample.info.valid_data)?;
        let writer = sample.info.publication_handle.to_guid();
        let known = self.ends.reader.matched_publication_data(sample.info.publication_handle);
        let sequence_number = sample.info.sequence_number;
        let reply_to = known.ok().and_then(|requester| requester.related);
        Some(RequestId { sample: SampleIdentity { writer, sequence_number }, reply_to })
    }

    /// Whether the writer of replies has matched a reader of the requester.
    fn reaches(&self, id: RequestId) -> bool {
        let requester = Half { guid: id.sample.writer, related: id.reply_to };
        self.ends
            .writer
            .all_matched_subscription_data()
            .iter()
            .any(|reader| requester.belongs_to(Half { guid: reader.guid, related: reader.related }))
    }

    fn answerable(&self, id: RequestId) -> Answerable {
        if self.reaches(id) {
            return Answerable::Now;
        }
        let requester = self.ends.reader.matched_publication_data(id.sample.writer.into());
        if requester.is_ok() { Answerable::Later } else { Answerable::Never }
    }

    /// The first of those that were held and can be answered now.
    fn take_held(&self) -> Option<Request<Q>> {
        loop {
            let (id, sample) = self.next_held()?;
            if let Some(request) = self.decode(id, sample) {
                return Some(request);
            }
        }
    }

    /// Searches under the lock: if the rest were out of sight meanwhile, another waiter would miss it and sleep on.
    fn next_held(&self) -> Option<(RequestId, RawSample)> {
        let mut state = lock(&self.state);
        let State { held, stats } = &mut *state;
        let mut at = 0;
        while let Some((id, _)) = held.get(at) {
            match self.answerable(*id) {
                Answerable::Now => return held.remove(at),
                Answerable::Later => at += 1,
                Answerable::Never => {
                    held.remove(at);
                    stats.abandoned = stats.abandoned.wrapping_add(1);
                }
            }
        }
        None
    }

    fn hold(&self, id: RequestId, sample: RawSample) {
        let mut state = lock(&self.state);
        state.held.push_back((id, sample));
        while state.held.len() > self.max_held {
            state.held.pop_front();
            state.stats.displaced = state.stats.displaced.wrapping_add(1);
        }
        drop(state);
        // Whoever looked while the sample was neither in the cache nor here has to look again.
        self.ends.reader.activity().raise();
    }

    fn abandon(&self) {
        let mut state = lock(&self.state);
        state.stats.abandoned = state.stats.abandoned.wrapping_add(1);
    }

    fn decode(&self, id: RequestId, sample: RawSample) -> Option<Request<Q>> {
        let sample = self.ends.reader.decode_raw(sample).ok()?;
        Some(Request { data: sample.data?, id })
    }
}
