//! Services that bring their histories together: what [`align`](crate::align) finds, over a topic of their own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, ServiceMark, SubscriberQos, TopicQos};
use dunlin::{
    CreateEntityError, DataReader, DataWriter, DdsType, DeliveredHistory, DomainParticipant, Duration,
    GuardCondition, Guid, StatusMask, SubscriptionBuiltinTopicData, WallTime, WriteParams,
};
use md5::{Digest, Md5};

use crate::align::{Alignee, Aligner, Body, Seed, Snapshot};
use crate::history::{History, Place};

/// The property of readers of services that align. The others are given everything.
pub(crate) const PROPERTY: &str = "store.align";
/// The topic in which they speak.
const TOPIC: &str = "DunlinStoreAlignment";
/// Messages on their way, to all services.
const ON_THEIR_WAY: i32 = 256;
/// Messages that wait to be sent: beyond that sessions begin later.
const WAITING: usize = 4096;
/// Messages taken in one turn.
const TURN: usize = 64;
/// Services that a history is aligned with.
const PEERS: usize = 64;
/// Until a service that does not answer is asked for a session again; doubled each time.
const HELLO: Duration = Duration::from_millis(500);
/// How long a session may go on without an answer, and the time between two of one service; doubled each time.
const PAUSE: Duration = Duration::from_secs(10);
/// How often a session that found a difference is followed by another one.
const AGAIN: u32 = 3;
/// How long a snapshot serves for new sessions, so that nobody has them made all the time.
const FRESH: Duration = Duration::from_secs(10);

/// What services send each other.
#[derive(DdsType, Clone, Debug, Default)]
pub(crate) struct Message {
    /// The reader of the history that it is for.
    to: [u8; 16],
    /// The reader of the history of who sends it.
    from: [u8; 16],
    /// Tells sessions apart.
    session: u64,
    /// A [`Body`].
    body: Vec<u8>,
}

impl Message {
    pub(crate) fn to(&self) -> Guid {
        Guid::from_bytes(self.to)
    }

    pub(crate) fn from(&self) -> Guid {
        Guid::from_bytes(self.from)
    }
}

/// The participant's part: one topic for all histories.
pub(crate) struct Post {
    writer: DataWriter<Message>,
    reader: DataReader<Message>,
    waiting: VecDeque<Message>,
    announced: u64,
}

impl Post {
    pub(crate) fn open(
        participant: &DomainParticipant,
        mark: &ServiceMark,
        wake: &Arc<GuardCondition>,
    ) -> Result<Self, CreateEntityError> {
        let topic = participant.create_topic::<Message>(TOPIC, &TopicQos::default())?;
        let qos = DataWriterQos::default()
            .reliable()
            .keep_all()
            .resource_limits(ON_THEIR_WAY, -1, -1)
            .max_blocking_time(Duration::ZERO)
            .service(mark);
        let writer =
            participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?;
        let qos = DataReaderQos::default()
            .reliable()
            .keep_all()
            .resource_limits(ON_THEIR_WAY, -1, -1)
            .ignore_service(&*mark.id)
            .service(mark);
        let wake = Arc::clone(wake);
        let told = move |_: &DataReader<Message>| wake.set_trigger_value(true);
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let mask = StatusMask::DATA_AVAILABLE;
        let reader = subscriber.create_datareader_with_listener(&topic, &qos, told, mask)?;
        Ok(Self { writer, reader, waiting: VecDeque::new(), announced: 0 })
    }

    /// Has its writer announced anew, behind those of all topics.
    pub(crate) fn announce(&mut self) {
        self.announced += 1;
        // It fails only if the writer is gone.
        let _ =
            self.writer.set_qos(&self.writer.qos().user_data(DeliveredHistory::end_marker(self.announced)));
    }

    /// What has arrived, of those who send for themselves. True if there is more.
    pub(crate) fn take(&self) -> (Vec<Message>, bool) {
        let taken = self.reader.take(TURN).unwrap_or_default();
        let more = taken.len() == TURN;
        let sound = taken.into_iter().filter_map(|sample| {
            let sender = sample.info.identity().writer.prefix;
            sample.data.filter(|message| message.from().prefix == sender)
        });
        (sound.collect(), more)
    }

    /// Sends what waits. True if something still waits.
    pub(crate) fn send(&mut self) -> bool {
        let known = self.writer.matched_subscriptions();
        while let Some(message) = self.waiting.front() {
            let to = message.to().prefix;
            let reader = known.iter().map(|it| it.to_guid()).find(|reader| reader.prefix == to);
            if let Some(reader) = reader {
                let params = WriteParams { only_for: Some(reader), ..WriteParams::default() };
                if let Err(dunlin::WriteError::Timeout(_) | dunlin::WriteError::OutOfResources) =
                    self.writer.write_with(message, &params)
                {
                    return true;
                }
            }
            // Who is not there asks again, or is asked again.
            self.waiting.pop_front();
        }
        false
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING
    }

    fn post(&mut self, ends: Ends, session: u64, bodies: Vec<Body>) {
        let message = |body: Body| Message {
            to: ends.to.to_bytes(),
            from: ends.from.to_bytes(),
            session,
            body: body.encode(),
        };
        self.waiting.extend(bodies.into_iter().map(message));
    }
}

/// The readers of one history in two services.
#[derive(Clone, Copy)]
struct Ends {
    from: Guid,
    to: Guid,
}

/// How far the side that asks is.
enum Asks {
    /// It asks, or has asked so often, for a session.
    Hello(u32),
    /// It waits for answers.
    Differences(Alignee),
    /// Nothing is left to ask.
    Done,
}

/// Another service that has the history.
struct Peer {
    /// It is for this side to ask.
    asking: Option<Asks>,
    /// When to ask, or to give the session up.
    due: WallTime,
    /// Sessions that have begun.
    sessions: u32,
    session: u64,
    answering: Option<Aligner>,
    /// Until then it gets no other session.
    next: WallTime,
}

/// The services with which one history is aligned.
#[derive(Default)]
pub(crate) struct Peers {
    known: BTreeMap<Guid, Peer>,
    snapshot: Option<(WallTime, Arc<Snapshot>)>,
}

/// Longer and longer.
fn doubled(pause: Duration, times: u32) -> Duration {
    Duration::from_nanos(pause.as_nanos() << times.min(6))
}

impl Peers {
    /// Whether a reader belongs to a service that aligns.
    pub(crate) fn is_one(reader: &SubscriptionBuiltinTopicData) -> bool {
        let property = &reader.qos.property;
        property.service().is_some_and(|mark| mark.kind == "durability") && property.get(PROPERTY).is_some()
    }

    /// A service has come. One of the two asks: the one whose reader is before the other's.
    pub(crate) fn meet(&mut self, own: Guid, peer: Guid, now: WallTime) {
        if self.known.len() < PEERS {
            let asking = (own < peer).then_some(Asks::Hello(0));
            let new = Peer { asking, due: now, sessions: 0, session: 0, answering: None, next: now };
            self.known.entry(peer).or_insert(new);
        }
    }

    /// Only these are there.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&Guid) -> bool) {
        self.known.retain(|reader, _| is_there(reader));
    }

    /// The reader of the service that a writer is of.
    pub(crate) fn of(&self, writer: Guid) -> Option<Guid> {
        self.known.keys().find(|reader| reader.prefix == writer.prefix).copied()
    }

    /// Asks those that are to be asked. Returns when there is something to do next.
    pub(crate) fn ask(&mut self, own: Guid, now: WallTime, post: &mut Post) -> Duration {
        let mut next = Duration::INFINITE;
        for (reader, peer) in &mut self.known {
            let Some(asks) = &mut peer.asking else { continue };
            let asked = match asks {
                Asks::Done => continue,
                Asks::Hello(asked) => *asked,
                Asks::Differences(_) => 0,
            };
            if peer.due <= now && !post.is_full() {
                peer.session = peer.session.wrapping_add(1);
                peer.due = now.plus(doubled(HELLO, asked));
                *asks = Asks::Hello(asked.saturating_add(1));
                post.post(Ends { from: own, to: *reader }, peer.session, vec![Body::Hello]);
            }
            next = next.min(peer.due.since(now).max(Duration::from_millis(1)));
        }
        if self.snapshot.as_ref().is_some_and(|(at, _)| now.since(*at) > FRESH) {
            self.snapshot = None;
        }
        if self.snapshot.is_some() { next.min(FRESH) } else { next }
    }

    /// Takes a message. Returns which changes its sender lacks or wants.
    pub(crate) fn told(
        &mut self,
        (own, now): (Guid, WallTime),
        message: &Message,
        history: &History,
        post: &mut Post,
    ) -> Vec<Place> {
        let from = message.from();
        let Ok(body) = Body::decode(&message.body) else { return Vec::new() };
        let Some(peer) = self.known.get_mut(&from) else { return Vec::new() };
        let ends = Ends { from: own, to: from };
        let (mut places, mut bodies) = (Vec::new(), Vec::new());
        match (&body, &mut peer.asking, &mut peer.answering) {
            // Whoever asks is answered, but not all the time.
            (Body::Hello, ..) if peer.next <= now && !post.is_full() => {
                peer.next = now.plus(doubled(PAUSE, peer.sessions));
                peer.sessions = peer.sessions.saturating_add(1);
                peer.session = message.session;
                let snapshot = fresh(&mut self.snapshot, history, own, now);
                bodies.push(Body::Begin(snapshot.seed(), snapshot.len() as u64));
                peer.answering = Some(Aligner::new(snapshot));
            }
            (Body::Begin(seed, changes), Some(asks @ Asks::Hello(_)), _)
                if message.session == peer.session =>
            {
                let snapshot = Arc::new(Snapshot::of(history, *seed));
                let changes = usize::try_from(*changes).unwrap_or(usize::MAX).min(history.quota().samples);
                let mut asking = Alignee::new(snapshot, changes);
                bodies = asking.begin();
                peer.sessions = peer.sessions.saturating_add(1);
                peer.due = now.plus(PAUSE);
                *asks = Asks::Differences(asking);
            }
            (Body::Differ(nodes), Some(asks @ Asks::Differences(_)), _)
                if message.session == peer.session =>
            {
                let Asks::Differences(asking) = asks else { return Vec::new() };
                let next = asking.answered(nodes);
                (places, bodies) = (next.lacking, next.bodies);
                peer.due = now.plus(PAUSE);
                if asking.is_done() {
                    // What was found is looked at again, as it moved meanwhile.
                    let is_last = asking.found() == 0 || peer.sessions >= AGAIN;
                    *asks = if is_last { Asks::Done } else { Asks::Hello(0) };
                    peer.due = now.plus(doubled(PAUSE, peer.sessions));
                }
            }
            (Body::Compare(sums), _, Some(answering)) if message.session == peer.session => {
                bodies = answering.compare(sums);
            }
            (Body::Want(_) | Body::WantBelow(_), _, Some(answering)) if message.session == peer.session => {
                places = answering.wanted(&body);
            }
            _ => {}
        }
        post.post(ends, message.session, bodies);
        places
    }
}

/// A snapshot of this moment, or of one not long ago.
fn fresh(
    cached: &mut Option<(WallTime, Arc<Snapshot>)>,
    history: &History,
    own: Guid,
    now: WallTime,
) -> Arc<Snapshot> {
    if let Some((at, snapshot)) = cached
        && now.since(*at) <= FRESH
    {
        return Arc::clone(snapshot);
    }
    let snapshot = Arc::new(Snapshot::of(history, seed(own, now)));
    *cached = Some((now, Arc::clone(&snapshot)));
    snapshot
}

/// Of a moment that nobody knows in advance, so that nobody can write samples whose numbers are the same.
fn seed(own: Guid, now: WallTime) -> Seed {
    let mut hash = Md5::new();
    hash.update(own.to_bytes());
    hash.update(now.0.to_le_bytes());
    hash.finalize().into()
}
