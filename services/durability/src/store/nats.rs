//! The back end in NATS JetStream: a log in one stream. Each record is one message, or several one behind the other. The server takes a
//! message only if it follows the last one that this service knows, so two services never write to one stream.

use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};

use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context};

use super::StoreError;
use super::log::{Log, LogStore, Record};
use super::remote::{Remote, failed};
use crate::backend::NatsBackend;
use crate::change::take;

/// Messages that are on their way at a time.
const WINDOW: u64 = 64;
/// Octets that a message has beside its part of a record.
const HEADER: usize = 24;
/// Octets of a message that are left to its headers.
const SPARE: usize = 4096;
/// Most octets of a message, whatever the server allows.
const MESSAGE: usize = 1 << 20;
/// Most messages of a record.
const MESSAGES: u32 = 1 << 16;

/// One message: a part of a record, or, with no parts, the name of a new owner.
struct Part<'m> {
    owner: u64,
    record: u64,
    part: u32,
    parts: u32,
    octets: &'m [u8],
}

impl<'m> Part<'m> {
    fn encode(&self) -> Vec<u8> {
        let head = [self.owner.to_le_bytes(), self.record.to_le_bytes()];
        let tail = [self.part.to_le_bytes(), self.parts.to_le_bytes()];
        [&head.concat()[..], &tail.concat(), self.octets].concat()
    }

    fn decode(mut octets: &'m [u8]) -> Result<Self, StoreError> {
        let mut read = || -> Option<Self> {
            let (owner, record) =
                (u64::from_le_bytes(take(&mut octets)?), u64::from_le_bytes(take(&mut octets)?));
            let (part, parts) =
                (u32::from_le_bytes(take(&mut octets)?), u32::from_le_bytes(take(&mut octets)?));
            (parts <= MESSAGES && (part < parts || parts == 0)).then_some(Self {
                owner,
                record,
                part,
                parts,
                octets,
            })
        };
        read().ok_or_else(|| StoreError::Damaged("a message of the stream is none of a store".into()))
    }
}

fn told(error: impl Display) -> StoreError {
    failed(format!("NATS: {error}"))
}

struct Session {
    context: Context,
    stream: Stream,
    /// Octets of a record that a message has.
    part: usize,
}

/// The log.
pub struct NatsLog {
    remote: Remote,
    backend: NatsBackend,
    session: Option<Session>,
    owner: u64,
    /// The last message of the stream; none before it was read.
    last: Option<u64>,
    records: u64,
}

/// See the [module](crate::store).
pub type NatsStore = LogStore<NatsLog>;

impl NatsStore {
    /// Connects, makes the stream if it is not there, and reads it.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, and when the stream drops what is old.
    pub fn connect(backend: &NatsBackend) -> Result<Self, StoreError> {
        Self::open(NatsLog::new(backend)?)
    }
}

impl NatsLog {
    /// Takes the stream: who had it before cannot write any more.
    ///
    /// # Errors
    /// As [`NatsStore::connect`].
    pub fn new(backend: &NatsBackend) -> Result<Self, StoreError> {
        let mut log = Self {
            remote: Remote::new(backend.timeout)?,
            backend: backend.clone(),
            session: None,
            owner: RandomState::new().hash_one(std::process::id()),
            last: None,
            records: 0,
        };
        log.with(async |_, _| Ok(()))?;
        log.publish(vec![Part { owner: log.owner, record: 0, part: 0, parts: 0, octets: &[] }.encode()])?;
        Ok(log)
    }

    /// Does something in a session that knows the last message; what has failed ends it.
    fn with<T>(
        &mut self,
        work: impl AsyncFnOnce(&Session, u64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.session.is_none() {
            self.remote.may_connect()?;
            let begun = self.remote.run(begin(&self.backend, self.owner, self.last));
            let (session, last) = self.remote.connected(begun)?;
            (self.session, self.last) = (Some(session), Some(last));
        }
        let (Some(session), Some(last)) = (self.session.take(), self.last) else {
            return Err(told("there is no session"));
        };
        let done = self.remote.run(work(&session, last))?;
        self.session = Some(session);
        Ok(done)
    }

    /// Publishes messages behind the last one. Returns the number of the first.
    fn publish(&mut self, messages: Vec<Vec<u8>>) -> Result<u64, StoreError> {
        let count = messages.len() as u64;
        let subject = format!("{}.log", self.backend.stream);
        let first = self.with(async |session, last| {
            let mut messages = messages.into_iter();
            let mut next = last;
            while messages.len() > 0 {
                let mut answers = Vec::new();
                for message in messages.by_ref().take(WINDOW as usize) {
                    let message =
                        PublishMessage::build().payload(message.into()).expected_last_sequence(next);
                    answers.push(session.context.send_publish(subject.clone(), message).await.map_err(told)?);
                    next += 1;
                }
                for answer in answers {
                    answer.await.map_err(told)?;
                }
            }
            Ok(last + 1)
        })?;
        self.last = Some(first + count - 1);
        Ok(first)
    }

    /// So many messages from one on, in their order; those that are gone are left out.
    fn messages(&mut self, from: u64, end: u64) -> Result<Vec<StreamMessage>, StoreError> {
        self.with(async |session, _| {
            let asked: Vec<_> = (from..end).map(|number| (number, session.stream.clone())).collect();
            let asked: Vec<_> = asked
                .into_iter()
                .map(|(number, stream)| tokio::spawn(async move { message(&stream, number).await }))
                .collect();
            let mut found = Vec::new();
            for answer in asked {
                found.extend(answer.await.map_err(told)??);
            }
            Ok(found)
        })
    }
}

/// A message; none if it was removed.
async fn message(stream: &Stream, number: u64) -> Result<Option<StreamMessage>, StoreError> {
    use jetstream::stream::LastRawMessageErrorKind::NoMessageFound;
    match stream.get_raw_message(number).await {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == NoMessageFound => Ok(None),
        Err(error) => Err(told(error)),
    }
}

/// Connects, and looks whether the stream is as it was left. Returns its last message.
async fn begin(backend: &NatsBackend, owner: u64, last: Option<u64>) -> Result<(Session, u64), StoreError> {
    let mut options =
        async_nats::ConnectOptions::new().name("dunlin-store").connection_timeout(backend.timeout);
    if let Some((user, password)) = backend.user.clone().zip(backend.password.clone()) {
        options = options.user_and_password(user, password);
    } else if let Some(token) = backend.password.clone() {
        options = options.token(token);
    }
    let client = options.connect(&backend.address).await.map_err(told)?;
    let most = client.server_info().max_payload.min(MESSAGE);
    let mut context = jetstream::new(client);
    context.set_timeout(backend.timeout);
    let stream = context.get_or_create_stream(wanted(backend)).await.map_err(told)?;
    let info = stream.get_info().await.map_err(told)?;
    let wrong = faults(&info.config, backend);
    if !wrong.is_empty() {
        return Err(told(format!(
            "the stream {} is not as it is needed: {}",
            backend.stream,
            wrong.join("; ")
        )));
    }
    let now = info.state.last_sequence;
    if let Some(last) = last {
        // What was on its way may have come; of somebody else's there may be nothing.
        for number in last + 1..=now {
            let found = message(&stream, number).await?;
            if found.is_none_or(|it| Part::decode(&it.payload).is_ok_and(|it| it.owner != owner)) {
                return Err(told(format!(
                    "another service has taken the stream {}: start anew",
                    backend.stream
                )));
            }
        }
        if now < last {
            return Err(told(format!("the stream {} has lost what it had confirmed", backend.stream)));
        }
    }
    let allowed = usize::try_from(info.config.max_message_size).ok().filter(|allowed| *allowed > 0);
    let part = most.min(allowed.unwrap_or(most)).saturating_sub(HEADER + SPARE).max(1);
    Ok((Session { context, stream, part }, now))
}

/// A stream as the service makes it.
fn wanted(backend: &NatsBackend) -> Config {
    Config {
        name: backend.stream.clone(),
        subjects: vec![format!("{}.log", backend.stream)],
        retention: RetentionPolicy::Limits,
        // What is full refuses, and does not drop what is old.
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: backend.replicas,
        ..Config::default()
    }
}

/// What a stream that is there would do to confirmed messages, or not let a store do. A full stream may refuse, and never drop.
fn faults(found: &Config, wanted: &NatsBackend) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |is_wrong: bool, what: String| {
        if is_wrong {
            faults.push(what);
        }
    };
    let Config { discard, retention, storage, max_messages_per_subject: per_subject, .. } = *found;
    check(storage != StorageType::File, "it is kept in memory (storage = file is needed)".into());
    check(
        discard != DiscardPolicy::New,
        "it drops what is old when it is full (discard = new is needed)".into(),
    );
    let limits = retention == RetentionPolicy::Limits;
    check(
        !limits,
        format!("retention is {retention:?}, and it drops what others have read (limits is needed)"),
    );
    check(!found.max_age.is_zero(), format!("it drops what is older than max_age = {:?}", found.max_age));
    check(per_subject > 0, format!("it drops all but max_msgs_per_subject = {per_subject}"));
    check(found.no_ack, "it confirms nothing (no_ack)".into());
    check(found.sealed, "it is sealed".into());
    check(found.deny_purge, "it may not be purged (deny_purge)".into());
    let is_copy = found.mirror.is_some() || found.sources.as_ref().is_some_and(|sources| !sources.is_empty());
    check(is_copy, "it takes messages of other streams (mirror, sources)".into());
    let subject = format!("{}.log", wanted.stream);
    check(
        found.subjects != [subject.as_str()],
        format!("its subjects are {}, and not {subject} alone", found.subjects.join(", ")),
    );
    let (replicas, needed) = (found.num_replicas, wanted.replicas);
    check(replicas < needed, format!("{replicas} servers keep it, and not replicas = {needed}"));
    let longest = found.max_message_size;
    let short = longest > 0 && usize::try_from(longest).is_ok_and(|longest| longest < HEADER + SPARE + 1);
    check(short, format!("its messages are too short (max_msg_size = {longest})"));
    faults
}

impl Log for NatsLog {
    fn append(&mut self, octets: &[u8]) -> Result<Record, StoreError> {
        self.records += 1;
        let (owner, record) = (self.owner, self.records);
        let part = self.with(async |session, _| Ok(session.part))?;
        let parts = octets.len().div_ceil(part).max(1);
        let parts = u32::try_from(parts).ok().filter(|parts| *parts <= MESSAGES);
        let parts = parts.ok_or_else(|| told("a commit is too long"))?;
        let message = |(part, octets)| Part { owner, record, part: part as u32, parts, octets }.encode();
        self.publish(octets.chunks(part).enumerate().map(message).collect())
    }

    fn read(&mut self, record: Record) -> Result<Vec<u8>, StoreError> {
        let gone = || StoreError::Damaged("a record of the stream is gone".into());
        let mut octets = Vec::new();
        let first = self.messages(record, record + 1)?.pop().ok_or_else(gone)?;
        let Part { parts, octets: own, .. } = Part::decode(&first.payload)?;
        octets.extend(own);
        let mut next = record + 1;
        while next < record + u64::from(parts) {
            let end = (next + WINDOW).min(record + u64::from(parts));
            let messages = self.messages(next, end)?;
            if messages.len() as u64 != end - next {
                return Err(gone());
            }
            for message in messages {
                octets.extend(Part::decode(&message.payload)?.octets);
            }
            next = end;
        }
        Ok(octets)
    }

    fn scan(
        &mut self,
        visit: &mut dyn FnMut(Record, Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let state = self.with(async |session, _| Ok(session.stream.get_info().await.map_err(told)?.state))?;
        let mut next = state.first_sequence.max(1);
        // A record whose parts are not all there was never confirmed.
        let mut open: Option<(u64, (u64, u64), Vec<u8>, u32)> = None;
        while next <= state.last_sequence {
            let end = (next + WINDOW).min(state.last_sequence + 1);
            for message in self.messages(next, end)? {
                let part = Part::decode(&message.payload)?;
                let name = (part.owner, part.record);
                if part.part == 0 {
                    open = (part.parts > 0).then(|| (message.sequence, name, Vec::new(), 0));
                }
                let Some((first, known, octets, had)) = &mut open else { continue };
                if *known != name || *had != part.part {
                    open = None;
                    continue;
                }
                octets.extend(part.octets);
                *had += 1;
                if *had == part.parts {
                    let (first, octets) = (*first, std::mem::take(octets));
                    open = None;
                    visit(first, octets)?;
                }
            }
            next = end;
        }
        Ok(())
    }

    fn remove_before(&mut self, record: Record) -> Result<(), StoreError> {
        self.with(async |session, _| session.stream.purge().sequence(record).await.map(drop).map_err(told))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_nats::jetstream::stream::Source;

    use super::*;

    fn backend() -> NatsBackend {
        NatsBackend {
            address: "nats://127.0.0.1".into(),
            user: None,
            password: None,
            stream: "site".into(),
            replicas: 3,
            timeout: Duration::from_secs(5),
        }
    }

    #[test]
    fn a_nats_stream_with_unsafe_settings_is_refused_with_all_of_them() {
        let good = wanted(&backend());
        assert_eq!(faults(&good, &backend()), [""; 0]);
        let edits: [(&str, fn(&mut Config)); 12] = [
            ("in memory", |it| it.storage = StorageType::Memory),
            ("discard = new", |it| it.discard = DiscardPolicy::Old),
            ("retention is WorkQueue", |it| it.retention = RetentionPolicy::WorkQueue),
            ("max_age = 60s", |it| it.max_age = Duration::from_secs(60)),
            ("max_msgs_per_subject = 1", |it| it.max_messages_per_subject = 1),
            ("no_ack", |it| it.no_ack = true),
            ("sealed", |it| it.sealed = true),
            ("deny_purge", |it| it.deny_purge = true),
            ("sources", |it| it.mirror = Some(Source::default())),
            ("subjects are a, b", |it| it.subjects = vec!["a".into(), "b".into()]),
            ("1 servers keep it, and not replicas = 3", |it| it.num_replicas = 1),
            ("max_msg_size = 100", |it| it.max_message_size = 100),
        ];
        let mut all = good.clone();
        for (wanted, edit) in edits {
            let mut wrong = good.clone();
            edit(&mut wrong);
            edit(&mut all);
            let told = faults(&wrong, &backend());
            assert!(told.len() == 1 && told[0].contains(wanted), "{wanted} in {told:?}");
        }
        assert_eq!(faults(&all, &backend()).len(), edits.len());
        // What is full refuses, and loses nothing.
        let full = Config { max_messages: 5, max_bytes: 5, num_replicas: 5, ..good };
        assert_eq!(faults(&full, &backend()), [""; 0]);
    }

    #[test]
    fn nats_record_part_is_decoded_or_refused_when_truncated() {
        let part = Part { owner: 1, record: 2, part: 3, parts: 4, octets: b"five" };
        let octets = part.encode();
        assert_eq!(octets.len(), HEADER + 4);
        let again = Part::decode(&octets).unwrap();
        assert_eq!(
            (again.owner, again.record, again.part, again.parts, again.octets),
            (1, 2, 3, 4, &b"five"[..])
        );
        for length in 0..HEADER {
            assert!(Part::decode(&octets[..length]).is_err());
        }
        assert!(Part::decode(&Part { part: 4, ..part }.encode()).is_err());
    }
}
