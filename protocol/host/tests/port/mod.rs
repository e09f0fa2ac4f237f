//! A port of one thread without a network, on which time stands still unless a test lets it pass.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_cache::Selection;
use dunlin_cdr::{DdsType, Representation, TypeSupportOf, to_payload};
use dunlin_core::{
    Duration, EntityId, GuidPrefix, InstanceHandle, Locator, LocatorKind, MonoTime, Now, WallTime,
};
use dunlin_engine::{
    EndpointLocators, Event, Output, Participant, ParticipantConfig, ReaderSlot, ReaderSpec, WriteRequest,
    WriterSlot, WriterSpec,
};
use dunlin_host::{Port, SendMode, State, Work, call, run_timers, write};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_rtps::ChangeKind;

#[derive(DdsType)]
struct Sample {
    number: u32,
}

/// A writer and a reader of one topic.
pub struct Pair {
    pub writer: Arc<WriterSlot>,
    pub reader: Arc<ReaderSlot>,
}

/// One participant, its listeners, and its only thread.
pub struct OneThread {
    state: State<Arc<Participant>>,
    participant: Arc<Participant>,
    now: Now,
    pub deferred: VecDeque<Work<Arc<Participant>>>,
    /// Readers whose listeners write.
    pub answers: Vec<(EntityId, Arc<WriterSlot>)>,
    /// Listeners that run.
    depth: usize,
    pub deepest: usize,
    own_datagrams: usize,
}

impl OneThread {
    pub fn started() -> Self {
        let participant = Arc::new(Participant::new(ParticipantConfig::new(GuidPrefix([7; 12]), 0)));
        let now = Now { mono: MonoTime(1_000_000_000), wall: WallTime(1_700_000_000_000_000_000) };
        let mut port = Self {
            state: State::default(),
            participant: Arc::clone(&participant),
            now,
            deferred: VecDeque::new(),
            answers: Vec::new(),
            depth: 0,
            deepest: 0,
            own_datagrams: 0,
        };
        call(&mut port, &participant, |out| participant.start(now, out));
        port
    }

    pub fn pair(&mut self, topic: &str) -> Pair {
        let (now, participant) = (self.now, Arc::clone(&self.participant));
        let (written, read) = (writer_spec(topic), reader_spec(topic));
        let create = |out: &mut Output| {
            let reader = participant.create_reader(now, read, out).expect("a good reader");
            let writer = participant.create_writer(now, written, out).expect("a good writer");
            Pair { writer, reader }
        };
        call(self, &participant, create)
    }

    /// Lets the endpoints hear of each other.
    pub fn settle(&mut self) {
        let participant = Arc::clone(&self.participant);
        for _ in 0..1_000 {
            self.now.mono = self.now.mono.plus(Duration::from_millis(1));
            let now = self.now;
            run_timers(self, &participant, now);
        }
    }

    pub fn write(&mut self, writer: &WriterSlot) {
        let mut payload = Vec::new();
        to_payload(&Sample { number: 1 }, Representation::Xcdr1, &mut payload).expect("a small value");
        let request = WriteRequest {
            kind: ChangeKind::Alive,
            instance: InstanceHandle::NIL,
            source_timestamp: None,
            payload: SharedBytes::from(payload),
        };
        let participant = Arc::clone(&self.participant);
        write(self, &participant, writer, request, None).expect("there is room");
        // Writes come one by one, not in bursts.
        self.now.mono = self.now.mono.plus(Duration::from_millis(1));
    }

    /// How many samples a reader has.
    pub fn take(&mut self, reader: &ReaderSlot) -> usize {
        let (now, participant) = (self.now, Arc::clone(&self.participant));
        let mut samples = Vec::new();
        let selection = Selection::default();
        call(self, &participant, |out| reader.take(now, &selection, &mut samples, out)).expect("no instance");
        samples.len()
    }

    /// Datagrams that the participant has sent itself.
    pub fn own_datagrams(&self) -> usize {
        self.own_datagrams
    }
}

impl Port for OneThread {
    type Member = Arc<Participant>;
    type Panic = Infallible;

    fn state<R>(&mut self, look: impl FnOnce(&mut State<Self::Member>) -> R) -> Option<R> {
        Some(look(&mut self.state))
    }
    fn defer(&mut self, work: Work<Self::Member>) {
        self.deferred.push_back(work);
    }
    fn now(&self, _: &Self::Member) -> Now {
        self.now
    }
    fn mono(&self, _: &Self::Member) -> MonoTime {
        self.now.mono
    }
    fn wake_by(&mut self, _: &Self::Member, _: MonoTime) {}
    fn participant(member: &Self::Member) -> &Participant {
        member
    }
    fn unless_leaving(&mut self, _: &Self::Member, work: impl FnOnce(&mut Self)) {
        work(self);
    }
    fn in_process(&mut self, _: &Self::Member, _: &Locator) -> Option<Self::Member> {
        None
    }
    fn mode(&self) -> SendMode {
        SendMode::NonBlocking
    }
    fn send(&mut self, _: &Self::Member, outbox: &Outbox, _: SendMode) {
        let own = |to: &Locator| to.kind == LocatorKind::LOCAL;
        let datagrams = outbox.datagrams().filter(|datagram| datagram.destinations().iter().any(own));
        self.own_datagrams += datagrams.count();
    }
    fn follow_peers(&mut self, _: &Self::Member, _: &mut Output, _: SendMode) {}
    fn close_lost_paths(&mut self, _: &Self::Member) {}
    fn space_freed(&mut self, _: &Self::Member) {}

    fn tell(&mut self, _: &Self::Member, event: &Event, _: Option<GuidPrefix>) -> Result<(), Self::Panic> {
        let Event::DataAvailable { reader } = event else { return Ok(()) };
        let writers = self.answers.iter().filter(|(known, _)| known == reader);
        let writers: Vec<Arc<WriterSlot>> = writers.map(|(_, writer)| Arc::clone(writer)).collect();
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        writers.iter().for_each(|writer| self.write(writer));
        self.depth -= 1;
        Ok(())
    }

    fn resume_panic(&mut self, panic: Self::Panic) {
        match panic {}
    }
}

fn writer_spec(topic: &str) -> WriterSpec {
    WriterSpec {
        topic_name: topic.into(),
        type_name: "Sample".into(),
        keyed: false,
        qos: DataWriterQos::default().reliable(),
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        type_description: None,
        locators: EndpointLocators::default(),
    }
}

fn reader_spec(topic: &str) -> ReaderSpec {
    ReaderSpec {
        topic_name: topic.into(),
        type_name: "Sample".into(),
        qos: DataReaderQos::default().reliable().keep_all(),
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(TypeSupportOf::<Sample>::new()),
    }
}
