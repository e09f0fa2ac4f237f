//! Requests and replies: a [`Requester`] asks, every [`Replier`] of the service answers.
//!
//! A service is a pair of topics, `<Service>Request` and `<Service>Reply`, whose samples are the plain requests and
//! replies. A reply says in its inline QoS which request it answers (DDS-RPC 1.0 §7.8.2, as in the enhanced profile),
//! and the endpoints say in discovery which belong together (§7.6.2).
//!
//! A requester is [ready](Requester::wait_for_service) when one replier is there with both endpoints, and the requester has
//! signs of both: the reader of requests has acknowledged something, and the writer of replies has spoken to the reader of
//! replies alone. So neither a request nor its reply can be lost for want of a match. A replier, for its part, takes no
//! request before it can reply to it.
//!
//! ```no_run
//! use dunlin::request_reply::{Replier, Requester, Service};
//! use dunlin::{DdsType, DomainParticipant, Duration};
//!
//! #[derive(DdsType, Clone, Debug, Default)]
//! struct Numbers {
//!     a: i64,
//!     b: i64,
//! }
//!
//! #[derive(DdsType, Clone, Debug, Default)]
//! struct Sum {
//!     sum: i64,
//! }
//!
//! let participant = DomainParticipant::new(0)?;
//! let requester = Requester::<Numbers, Sum>::new(&participant, &Service::new("Add"))?;
//! requester.wait_for_service(Duration::from_secs(5))?;
//! let pending = requester.send_request(&Numbers { a: 1, b: 2 })?;
//! println!("{}", pending.wait(Duration::from_secs(1))?.data.sum);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod book;
mod replier;
mod requester;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use book::{PendingRequest, Reply, RequesterStats};
// By the names that applications use: these files are also compiled outside of the crate, where nothing else can be named
// (`api/dunlin/tests/public_api_alone.rs`).
use dunlin::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dunlin::{
    Activity, CreateEntityError, DataReader, DataWriter, DdsType, DomainParticipant, Duration, Guid, Topic,
    WaitForError,
};
pub use dunlin::{ReplyError, RequestError};
pub use replier::{Replier, ReplierStats, Request, RequestId};
pub use requester::Requester;

/// Samples that each writer and reader of a service holds at most.
const MAX_SAMPLES: i32 = 1024;

/// A service and the bounds of its endpoints in this process: what [`Requester::new`] and [`Replier::new`] are given. Both sides
/// use the same name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    request_topic: String,
    reply_topic: String,
    max_outstanding: usize,
    max_replies: usize,
}

impl Service {
    /// The service with the topics `<name>Request` and `<name>Reply`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::with_topics(format!("{name}Request"), format!("{name}Reply"))
    }

    /// A service with topics of other names.
    #[must_use]
    pub fn with_topics(request_topic: impl Into<String>, reply_topic: impl Into<String>) -> Self {
        Self {
            request_topic: request_topic.into(),
            reply_topic: reply_topic.into(),
            max_outstanding: 256,
            max_replies: 16,
        }
    }

    /// Of a requester: requests that may wait for replies at the same time; more are refused. Of a replier: requests that
    /// are held until their requesters can be answered; more displace the oldest. 256 by default.
    #[must_use]
    pub fn max_outstanding(self, requests: usize) -> Self {
        Self { max_outstanding: requests, ..self }
    }

    /// Replies to one request that are kept until they are taken, the first of them: 16 by default. Several repliers may
    /// answer, each several times.
    #[must_use]
    pub fn max_replies(self, replies: usize) -> Self {
        Self { max_replies: replies.max(1), ..self }
    }
}

fn writer_qos() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().resource_limits(MAX_SAMPLES, -1, -1)
}

fn reader_qos() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().resource_limits(MAX_SAMPLES, -1, -1)
}

/// A topic of the service.
fn topic_of<T: DdsType>(participant: &DomainParticipant, name: &str) -> Result<Topic<T>, CreateError> {
    let topic = participant.create_topic::<T>(name, &TopicQos::default())?;
    if topic.is_keyed() {
        return Err(CreateEntityError::KeyedService(topic.type_name().to_owned()));
    }
    Ok(topic)
}

/// The two endpoints of a requester or replier.
struct Ends<W: DdsType, R: DdsType> {
    writer: DataWriter<W>,
    reader: DataReader<R>,
}

impl<W: DdsType, R: DdsType> Clone for Ends<W, R> {
    fn clone(&self) -> Self {
        Self { writer: self.writer.clone(), reader: self.reader.clone() }
    }
}

impl<W: DdsType, R: DdsType> Ends<W, R> {
    fn is_deleted(&self) -> bool {
        self.reader.is_deleted() || self.writer.is_deleted()
    }

    /// Blocks until `done`, or until an endpoint was deleted.
    fn wait_until(&self, max_wait: Duration, mut done: impl FnMut() -> bool) -> Result<(), WaitForError> {
        let (writer, reader) = (self.writer.activity(), self.reader.activity());
        let participant = self.reader.subscriber().participant();
        participant.wait_until(&[&writer, &reader], max_wait, || done() || self.is_deleted())
    }

    /// What `find` finds, once it finds something; an error once an endpoint was deleted.
    fn until<T>(self, mut find: impl FnMut() -> Option<T>) -> impl Future<Output = Result<T, WaitForError>> {
        Activity::until([self.writer.activity(), self.reader.activity()], move || match find() {
            None if self.is_deleted() => Some(Err(WaitForError::AlreadyDeleted)),
            found => found.map(Ok),
        })
    }
}

/// Locks, also where a thread has panicked with the lock: what a mutex guards here is whole between two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which end of a service an endpoint belongs to, as discovery reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Half {
    guid: Guid,
    related: Option<Guid>,
}

impl Half {
    /// Whether both are endpoints of one requester or replier: one of them names the other, or both are silent and of
    /// the same participant.
    fn belongs_to(self, other: Self) -> bool {
        match (self.related, other.related) {
            (None, None) => self.guid.prefix == other.guid.prefix,
            (one, two) => one == Some(other.guid) || two == Some(self.guid),
        }
    }
}

/// Why a requester or replier was not made: as of its endpoints, which all belong to an enabled participant.
pub type CreateError = CreateEntityError;
