//! The side that asks.

use std::sync::Arc;

use dunlin::qos::{PublisherQos, SubscriberQos};
use dunlin::{
    CreateEntityError, DataReader, DataWriter, DdsType, DomainParticipant, Duration, Guid, InstanceHandle,
    RawSample, SampleIdentity, SequenceNumber, WaitForError, WriteParams,
};

use super::book::{Book, PendingRequest, Reply, RequesterStats, reply_of};
use super::{CreateError, Ends, Half, RequestError, Service, reader_qos, topic_of, writer_qos};

/// Replies that one look into the cache takes.
const BATCH: usize = 64;

/// Sends requests of type `Q` and gets replies of type `A`. Cheap to clone; its endpoints go away with the last handle and
/// the last [`PendingRequest`].
pub struct Requester<Q: DdsType, A: DdsType> {
    ends: Ends<Q, A>,
    book: Arc<Book<A>>,
}

impl<Q: DdsType, A: DdsType> Clone for Requester<Q, A> {
    fn clone(&self) -> Self {
        Self { ends: self.ends.clone(), book: Arc::clone(&self.book) }
    }
}

impl<Q: DdsType, A: DdsType> std::fmt::Debug for Requester<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Requester({:?}, {:?})", self.ends.writer, self.ends.reader)
    }
}

impl<Q: DdsType, A: DdsType> Requester<Q, A> {
    /// Makes the endpoints of a requester: RELIABLE, KEEP_ALL with room for 1024 samples, VOLATILE.
    ///
    /// # Errors
    /// As of any endpoint; [`CreateEntityError::FactoryNotEnabled`] when the participant does not enable what it creates,
    /// [`CreateEntityError::KeyedService`].
    pub fn new(participant: &DomainParticipant, service: &Service) -> Result<Self, CreateError> {
        let topic = topic_of::<A>(participant, &service.reply_topic)?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let reader = subscriber.create_datareader(&topic, &reader_qos())?;
        let related = reader.guid().ok_or(CreateEntityError::FactoryNotEnabled)?;
        let book = Arc::new(Book::new(service.max_outstanding, service.max_replies));
        let topic = topic_of::<Q>(participant, &service.request_topic)?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let writer = publisher.create_related_datawriter(&topic, &writer_qos(), related)?;
        let own = writer.guid().ok_or(CreateEntityError::FactoryNotEnabled)?;
        // Not a listener, which the reader's user may replace and which DATA_ON_READERS elsewhere comes before.
        let filed = Arc::clone(&book);
        reader.consume_data(move |reader| absorb(&filed, reader, own));
        Ok(Self { ends: Ends { writer, reader }, book })
    }

    /// Whether a replier is ready, see [`wait_for_service`](Self::wait_for_service).
    #[must_use]
    pub fn is_service_ready(&self) -> bool {
        !self.ready_repliers().is_empty()
    }

    /// The writers of replies of all repliers that are ready.
    #[must_use]
    pub fn ready_repliers(&self) -> Vec<Guid> {
        let Ends { writer: requests, reader: replies } = &self.ends;
        let readers = requests.all_matched_subscription_data();
        let writers = replies.all_matched_publication_data();
        // Not of a best-effort reader, which never acknowledges: a request to it may be lost.
        let listens = |reader: Guid| {
            let state = requests.matched_subscription_state(reader.into());
            state.is_ok_and(|state| state.has_acknowledged && !state.is_inactive)
        };
        let ready = |writer: &Guid| {
            let handle = InstanceHandle::from(*writer);
            let state = replies.matched_publication_state(handle);
            let known = state.is_ok_and(|state| state.knows_reader);
            if !known {
                // It may be gone by now.
                let _ = replies.confirm_match(handle);
            }
            known
        };
        let with_reader = writers.iter().filter(|writer| {
            let replier = Half { guid: writer.guid, related: writer.related };
            let mut of_replier = readers
                .iter()
                .filter(|reader| replier.belongs_to(Half { guid: reader.guid, related: reader.related }));
            of_replier.any(|reader| listens(reader.guid))
        });
        with_reader.map(|writer| writer.guid).filter(ready).collect()
    }

    /// Waits until a request that is sent then reaches a replier, and its reply this requester: the same replier's reader of
    /// requests and writer of replies are matched here, the one has acknowledged something to this requester's writer
    /// and is not inactive for being slow, and the other has shown that it knows this requester's reader.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`]; [`WaitForError::AlreadyDeleted`] when an endpoint of it was deleted; as of other calls that
    /// wait, not in listeners and tasks.
    pub fn wait_for_service(&self, max_wait: Duration) -> Result<(), WaitForError> {
        self.ends.wait_until(max_wait, || self.is_service_ready())?;
        if self.ends.is_deleted() { Err(WaitForError::AlreadyDeleted) } else { Ok(()) }
    }

    /// [`wait_for_service`](Self::wait_for_service) for async code, on any executor and without a time-out: dropping the
    /// future gives up.
    ///
    /// # Errors
    /// [`WaitForError::AlreadyDeleted`] when an endpoint of it was deleted.
    pub fn wait_for_service_async(
        &self,
    ) -> impl Future<Output = Result<(), WaitForError>> + Send + use<Q, A> {
        let this = self.clone();
        self.ends.clone().until(move || this.is_service_ready().then_some(()))
    }

    /// Sends a request to every replier.
    ///
    /// # Errors
    /// [`RequestError::NotReady`], [`RequestError::TooManyOutstanding`], or as of [`DataWriter::write`]; nothing was sent
    /// then.
    pub fn send_request(&self, request: &Q) -> Result<PendingRequest<A>, RequestError> {
        if !self.is_service_ready() {
            return Err(RequestError::NotReady);
        }
        let sending = self.book.begin()?;
        let number = self.ends.writer.write_with(request, &WriteParams::default())?.sequence_number;
        sending.written(number);
        Ok(self.pending(number))
    }

    /// [`send_request`](Self::send_request) for async code, see [`DataWriter::write_async`].
    ///
    /// # Errors
    /// As [`send_request`](Self::send_request).
    pub fn send_request_async(
        &self,
        request: &Q,
    ) -> impl Future<Output = Result<PendingRequest<A>, RequestError>> + Send + use<Q, A> {
        let this = self.clone();
        let written = self.ends.writer.write_with_async(request, &WriteParams::default());
        async move {
            if !this.is_service_ready() {
                return Err(RequestError::NotReady);
            }
            let sending = this.book.begin()?;
            let number = written.await?.sequence_number;
            sending.written(number);
            Ok(this.pending(number))
        }
    }

    /// Sends a request and waits for the first reply.
    ///
    /// # Errors
    /// As [`send_request`](Self::send_request) and [`PendingRequest::wait`].
    pub fn call(&self, request: &Q, max_wait: Duration) -> Result<Reply<A>, RequestError> {
        self.send_request(request)?.wait(max_wait)
    }

    /// [`call`](Self::call) for async code, without a time-out: dropping the future cancels the request.
    ///
    /// # Errors
    /// As [`send_request`](Self::send_request) and [`PendingRequest::wait_async`].
    pub fn call_async(
        &self,
        request: &Q,
    ) -> impl Future<Output = Result<Reply<A>, RequestError>> + Send + use<Q, A> {
        let sent = self.send_request_async(request);
        async move { sent.await?.wait_async().await }
    }

    /// What became of requests and replies.
    #[must_use]
    pub fn stats(&self) -> RequesterStats {
        self.book.stats()
    }

    /// The writer of requests.
    #[must_use]
    pub fn request_writer(&self) -> &DataWriter<Q> {
        &self.ends.writer
    }

    /// The reader of replies. Whatever comes to it is taken by the requester, so that no listener hears of data in it.
    #[must_use]
    pub fn reply_reader(&self) -> &DataReader<A> {
        &self.ends.reader
    }

    fn pending(&self, sequence_number: SequenceNumber) -> PendingRequest<A> {
        let writer = self.ends.writer.guid().unwrap_or_default();
        PendingRequest {
            book: Arc::clone(&self.book),
            id: SampleIdentity { writer, sequence_number },
            reader: self.ends.reader.clone(),
            _writer: (&self.ends.writer).into(),
        }
    }
}

/// Files what has come; replies to other requesters are dropped undecoded.
fn absorb<A: DdsType>(book: &Book<A>, reader: &DataReader<A>, own: Guid) {
    let mine = |sample: &RawSample| sample.info.related_sample.is_some_and(|id| id.writer == own);
    loop {
        let taken = reader.take_payloads(BATCH).unwrap_or_default();
        let count = taken.len();
        for sample in taken.into_iter().filter(mine) {
            // What is no reply is counted by the reader.
            let reply = reader.decode_raw(sample).ok().and_then(reply_of);
            reply.into_iter().for_each(|reply| book.file(reply));
        }
        book.activity.raise();
        if count < BATCH {
            return;
        }
    }
}
