//! Who is told of each status, whatever listeners there are, and whether that resets it (DDS 1.4 §2.2.4.2.3, §2.2.4.2.1).

use std::sync::{Arc, Mutex};
use std::task::{Context, Wake};

use dunlin::qos::*;
use dunlin::sim::{Node, Sim};
use dunlin::{
    AnyDataReader, AnyDataWriter, AnyTopic, DataReader, DataReaderListener, DataWriter, DataWriterListener,
    DeadlineMissedStatus, DomainParticipant, Duration, IncompatibleQosStatus, InconsistentTopicStatus,
    LivelinessChangedStatus, LivelinessLostStatus, MatchedStatus, PublisherListener, SampleLostStatus,
    SampleRejectedStatus, StatusMask, Subscriber, SubscriberListener, TopicListener, WaitSet,
};

use crate::support::*;

type Heard = Arc<Mutex<Vec<(&'static str, StatusMask)>>>;

/// Writes down what it is told, and does nothing else: reading would reset statuses.
#[derive(Clone)]
struct NamedListener(&'static str, Heard);

impl NamedListener {
    fn hear(&self, status: StatusMask) {
        self.1.lock().unwrap().push((self.0, status));
    }
}

/// Methods that write down their status.
macro_rules! hears {
    ($($trait:ty { $($method:ident($entity:ty, $status:ty) = $bit:ident,)* })*) => {
        $(impl $trait for NamedListener {
            $(fn $method(&self, _: &$entity, _: $status) {
                self.hear(StatusMask::$bit);
            })*
        })*
    };
}

hears! {
    DataWriterListener<Reading> {
        on_publication_matched(DataWriter<Reading>, MatchedStatus) = PUBLICATION_MATCHED,
        on_offered_incompatible_qos(DataWriter<Reading>, IncompatibleQosStatus) = OFFERED_INCOMPATIBLE_QOS,
        on_offered_deadline_missed(DataWriter<Reading>, DeadlineMissedStatus) = OFFERED_DEADLINE_MISSED,
        on_liveliness_lost(DataWriter<Reading>, LivelinessLostStatus) = LIVELINESS_LOST,
    }
    PublisherListener {
        on_publication_matched(AnyDataWriter, MatchedStatus) = PUBLICATION_MATCHED,
        on_offered_incompatible_qos(AnyDataWriter, IncompatibleQosStatus) = OFFERED_INCOMPATIBLE_QOS,
        on_offered_deadline_missed(AnyDataWriter, DeadlineMissedStatus) = OFFERED_DEADLINE_MISSED,
        on_liveliness_lost(AnyDataWriter, LivelinessLostStatus) = LIVELINESS_LOST,
    }
    TopicListener {
        on_inconsistent_topic(AnyTopic, InconsistentTopicStatus) = INCONSISTENT_TOPIC,
    }
}

/// The same of readers, with the calls for data.
macro_rules! reader_hears {
    ($trait:ty, $reader:ty $(, $more:ident($subscriber:ty) = $bit:ident)?) => {
        impl $trait for NamedListener {
            $(fn $more(&self, _: &$subscriber) {
                self.hear(StatusMask::$bit);
            })?
            fn on_data_available(&self, _: &$reader) {
                self.hear(StatusMask::DATA_AVAILABLE);
            }
            fn on_subscription_matched(&self, _: &$reader, _: MatchedStatus) {
                self.hear(StatusMask::SUBSCRIPTION_MATCHED);
            }
            fn on_requested_incompatible_qos(&self, _: &$reader, _: IncompatibleQosStatus) {
                self.hear(StatusMask::REQUESTED_INCOMPATIBLE_QOS);
            }
            fn on_requested_deadline_missed(&self, _: &$reader, _: DeadlineMissedStatus) {
                self.hear(StatusMask::REQUESTED_DEADLINE_MISSED);
            }
            fn on_liveliness_changed(&self, _: &$reader, _: LivelinessChangedStatus) {
                self.hear(StatusMask::LIVELINESS_CHANGED);
            }
            fn on_sample_lost(&self, _: &$reader, _: SampleLostStatus) {
                self.hear(StatusMask::SAMPLE_LOST);
            }
            fn on_sample_rejected(&self, _: &$reader, _: SampleRejectedStatus) {
                self.hear(StatusMask::SAMPLE_REJECTED);
            }
        }
    };
}

reader_hears!(DataReaderListener<Reading>, DataReader<Reading>);
reader_hears!(SubscriberListener, AnyDataReader, on_data_on_readers(Subscriber) = DATA_ON_READERS);

/// What an entity has for a listener.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Has {
    Nothing,
    /// One for these statuses.
    Listener(StatusMask),
    /// One that does nothing, for these.
    NoOp(StatusMask),
}

impl Has {
    /// Whether it answers for a status, and is called.
    fn answers(self, status: StatusMask) -> Option<bool> {
        match self {
            Self::Listener(mask) if mask.intersects(status) => Some(true),
            Self::NoOp(mask) if mask.intersects(status) => Some(false),
            _ => None,
        }
    }
}

/// Who is called for a status: the first that answers, if it is no no-op.
fn called(levels: &[(&'static str, Has)], status: StatusMask) -> Option<(&'static str, StatusMask)> {
    let answers = |(name, has): &(&'static str, Has)| Some((*name, has.answers(status)?));
    levels.iter().find_map(answers).filter(|(_, called)| *called).map(|(name, _)| (name, status))
}

macro_rules! equip {
    ($entity:expr, $name:literal, $has:expr, $heard:expr) => {
        match $has {
            Has::Nothing => $entity.clear_listener(),
            Has::Listener(mask) => $entity.set_listener(NamedListener($name, Arc::clone($heard)), mask),
            Has::NoOp(mask) => $entity.consume_statuses(mask),
        }
    };
}

/// Of a participant; nobody is above it who would hear of what it consumes.
fn equip_participant(participant: &DomainParticipant, has: Has, heard: &Heard) {
    match has {
        Has::Nothing | Has::NoOp(_) => participant.clear_listener(),
        Has::Listener(mask) => {
            participant.set_listener(NamedListener("participant", Arc::clone(heard)), mask)
        }
    }
}

struct Scene {
    sim: Sim,
    a: Node,
    b: Node,
    w: Writing,
    r: Reads,
    /// Of another participant beside the reader.
    other: DomainParticipant,
}

impl Scene {
    fn new(writer_qos: &DataWriterQos, reader_qos: &DataReaderQos) -> Self {
        let mut sim = Sim::new(3);
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (w, r) = (writing(&a, writer_qos), reads(&b, reader_qos));
        let other = b.run(|| DomainParticipant::new(0)).unwrap();
        sim.run_for(secs(3)).unwrap();
        Self { sim, a, b, w, r, other }
    }

    fn write(&self, id: i32) {
        self.a.run(|| self.w.writer.write(&reading(id, 1))).unwrap();
    }

    fn run(&mut self, duration: Duration) {
        self.sim.run_for(duration).unwrap();
    }

    /// A reader beside the one of the scene comes and goes.
    fn reader_comes_and_goes(&mut self, qos: &DataReaderQos) {
        let reader = self.b.run(|| self.r.subscriber.create_datareader(&self.r.topic, qos)).unwrap();
        self.run(secs(1));
        self.b.run(|| drop(reader));
        self.run(secs(1));
    }

    fn writer_comes_and_goes(&mut self, qos: &DataWriterQos) {
        let writer = self.a.run(|| self.w.publisher.create_datawriter(&self.w.topic, qos)).unwrap();
        self.run(secs(1));
        self.a.run(|| drop(writer));
        self.run(secs(1));
    }

    /// Looks at everything, so that no status is set.
    fn reset(&self) {
        let (w, r) = (&self.w.writer, &self.r.reader);
        let _ = w.publication_matched_status();
        let _ = w.offered_incompatible_qos_status();
        let _ = w.offered_deadline_missed_status();
        let _ = w.liveliness_lost_status();
        let _ = r.subscription_matched_status();
        let _ = r.requested_incompatible_qos_status();
        let _ = r.requested_deadline_missed_status();
        let _ = r.liveliness_changed_status();
        let _ = r.sample_lost_status();
        let _ = r.sample_rejected_status();
        let _ = self.w.topic.inconsistent_topic_status();
        self.b.run(|| r.take(100)).unwrap();
        assert_eq!(self.changes(), StatusMask::NONE);
    }

    fn changes(&self) -> StatusMask {
        let of_endpoints = self.w.writer.status_changes() | self.r.reader.status_changes();
        of_endpoints | self.w.topic.status_changes() | self.r.subscriber.status_changes()
    }

    /// Gives listeners to the entities that a status concerns: its own, that of its group, and the participant.
    fn equip(&self, status: StatusMask, levels: [Has; 3], heard: &Heard) {
        let [own, group, participant] = levels;
        if status == StatusMask::INCONSISTENT_TOPIC {
            equip!(self.w.topic, "own", own, heard);
            equip_participant(&self.w.participant, participant, heard);
        } else if OF_WRITERS.contains(&status) {
            equip!(self.w.writer, "own", own, heard);
            equip!(self.w.publisher, "group", group, heard);
            equip_participant(&self.w.participant, participant, heard);
        } else {
            equip!(self.r.reader, "own", own, heard);
            equip!(self.r.subscriber, "group", group, heard);
            equip_participant(&self.r.participant, participant, heard);
        }
    }
}

const OF_WRITERS: [StatusMask; 4] = [
    StatusMask::PUBLICATION_MATCHED,
    StatusMask::OFFERED_INCOMPATIBLE_QOS,
    StatusMask::OFFERED_DEADLINE_MISSED,
    StatusMask::LIVELINESS_LOST,
];

/// A status, how often it is told of what is brought about, what it takes, and what brings it about.
struct Case(StatusMask, usize, DataWriterQos, DataReaderQos, fn(&mut Scene));

fn cases() -> Vec<Case> {
    use StatusMask as S;
    let (w, r) = (DataWriterQos::default, || DataReaderQos::default().reliable());
    let by_topic = LivelinessKind::ManualByTopic;
    let limited = DataReaderQos::default().keep_all().resource_limits(1, 1, 1);
    let time_passes: fn(&mut Scene) = |scene| {
        scene.write(1);
        scene.run(Duration::from_millis(1500));
    };
    vec![
        Case(S::INCONSISTENT_TOPIC, 1, w(), r(), |scene| {
            let other = scene.other.clone();
            let misuse = scene.b.run(|| {
                let topic = other.create_topic::<Measurement>("Readings", &TopicQos::default()).unwrap();
                let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
                subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap()
            });
            scene.run(secs(1));
            scene.b.run(|| drop(misuse));
        }),
        Case(S::PUBLICATION_MATCHED, 2, w(), r(), |scene| {
            scene.reader_comes_and_goes(&DataReaderQos::default());
        }),
        Case(S::SUBSCRIPTION_MATCHED, 2, w(), r(), |scene| {
            scene.writer_comes_and_goes(&DataWriterQos::default());
        }),
        Case(S::OFFERED_INCOMPATIBLE_QOS, 1, w(), r(), |scene| {
            scene.reader_comes_and_goes(&DataReaderQos::default().transient_local());
        }),
        Case(S::REQUESTED_INCOMPATIBLE_QOS, 1, w(), r(), |scene| {
            scene.writer_comes_and_goes(&DataWriterQos::default().best_effort());
        }),
        Case(S::OFFERED_DEADLINE_MISSED, 1, w().deadline(secs(1)), r(), time_passes),
        Case(S::REQUESTED_DEADLINE_MISSED, 1, w().deadline(secs(1)), r().deadline(secs(1)), time_passes),
        Case(S::LIVELINESS_LOST, 1, w().liveliness(by_topic, secs(1)), r(), time_passes),
        Case(S::LIVELINESS_CHANGED, 2, w().liveliness(by_topic, secs(1)), r(), time_passes),
        Case(S::SAMPLE_LOST, 1, w().best_effort(), DataReaderQos::default(), |scene| {
            // Before the first that arrives nothing is lost.
            scene.write(1);
            scene.run(secs(1));
            scene.sim.cut(&scene.a, &scene.b);
            scene.write(1);
            scene.sim.mend(&scene.a, &scene.b);
            scene.write(1);
            scene.run(secs(1));
        }),
        Case(S::SAMPLE_REJECTED, 1, w(), limited, |scene| {
            scene.write(1);
            scene.write(1);
            scene.run(secs(1));
        }),
    ]
}

/// Every status but those of data, with every combination of listeners at three levels.
#[test]
fn status_change_reaches_the_most_specific_listener_once() {
    for Case(status, times, writer_qos, reader_qos, provoke) in cases() {
        let mut scene = Scene::new(&writer_qos, &reader_qos);
        let has = [
            Has::Nothing,
            Has::Listener(StatusMask::ALL & !status),
            Has::NoOp(status),
            Has::Listener(status),
        ];
        let of_topic = status == StatusMask::INCONSISTENT_TOPIC;
        let groups = if of_topic { &has[..1] } else { &has[..] };
        for own in has {
            for group in groups {
                for participant in has.into_iter().filter(|has| !matches!(has, Has::NoOp(_))) {
                    let (levels, heard) = ([own, *group, participant], Heard::default());
                    scene.reset();
                    scene.equip(status, levels, &heard);
                    provoke(&mut scene);
                    scene.equip(status, [Has::Nothing; 3], &heard);
                    let names = [("own", own), ("group", *group), ("participant", participant)];
                    let expected = called(&names, status);
                    let mut told = heard.lock().unwrap().clone();
                    told.retain(|(_, what)| *what == status);
                    let calls: Vec<_> = std::iter::repeat_n(expected, times).flatten().collect();
                    assert_eq!(told, calls, "{status:?} {levels:?}");
                    // A call resets the status; nobody's call, or a no-op, leaves it.
                    let changed = scene.changes().intersects(status);
                    assert_eq!(changed, expected.is_none(), "{status:?} {levels:?}");
                }
            }
        }
    }
}

/// DATA_ON_READERS comes before DATA_AVAILABLE and instead of it, whatever listeners reader, subscriber and participant have.
#[test]
fn data_on_readers_replaces_data_available() {
    let (on_readers, available) = (StatusMask::DATA_ON_READERS, StatusMask::DATA_AVAILABLE);
    let masks = [StatusMask::NONE, on_readers, available, on_readers | available];
    let mut above = vec![Has::Nothing];
    above.extend(masks.iter().flat_map(|mask| [Has::Listener(*mask), Has::NoOp(*mask)]));
    let own = [Has::Nothing, Has::Listener(StatusMask::NONE), Has::NoOp(available), Has::Listener(available)];
    let mut scene = Scene::new(&DataWriterQos::default(), &DataReaderQos::default().reliable());
    for own in own {
        for group in &above {
            for participant in above.iter().filter(|has| !matches!(has, Has::NoOp(_))) {
                let (levels, heard) = ([own, *group, *participant], Heard::default());
                let names = [("own", own), ("group", *group), ("participant", *participant)];
                scene.reset();
                scene.equip(available, levels, &heard);
                scene.write(1);
                scene.run(Duration::from_millis(100));
                let first = called(&names[1..], on_readers);
                let then = called(&names, available);
                let expected = first.or(then);
                assert_eq!(taken(&heard), expected.into_iter().collect::<Vec<_>>(), "{levels:?}");
                let changes = scene.changes();
                let told = (first.is_some(), then.is_some());
                let left = match told {
                    (true, _) => available,
                    (false, true) => StatusMask::NONE,
                    (false, false) => on_readers | available,
                };
                assert_eq!(changes, left, "{levels:?}");
                // What was told as DATA_ON_READERS is handed on; what was told is not told again.
                scene.b.run(|| scene.r.subscriber.notify_datareaders().unwrap());
                let handed_on = if first.is_some() { then } else { None };
                assert_eq!(taken(&heard), handed_on.into_iter().collect::<Vec<_>>(), "{levels:?}");
                assert_eq!(scene.changes().intersects(available), then.is_none(), "{levels:?}");
            }
        }
    }
}

/// Writes down that it was woken.
struct Waker(NamedListener);

impl Wake for Waker {
    fn wake(self: Arc<Self>) {
        self.0.hear(StatusMask::NONE);
    }
}

/// Listeners come before wait-sets, so that who waits for the subscriber does not see what a call resets a moment later
/// (DDS 1.4 §2.2.4.4): whoever of the three is called for data.
#[test]
fn listeners_are_called_before_wait_sets_wake() {
    let (on_readers, available) = (StatusMask::DATA_ON_READERS, StatusMask::DATA_AVAILABLE);
    let mut scene = Scene::new(&DataWriterQos::default(), &DataReaderQos::default().reliable());
    let (listens, nobody) = (Has::Listener(available), Has::Nothing);
    let cases = [
        ([listens, nobody, nobody], Some(("own", available))),
        ([nobody, listens, nobody], Some(("group", available))),
        ([nobody, nobody, listens], Some(("participant", available))),
        ([nobody, Has::Listener(on_readers), nobody], Some(("group", on_readers))),
        ([nobody, nobody, Has::Listener(on_readers)], Some(("participant", on_readers))),
        ([nobody; 3], None),
    ];
    for (levels, first) in cases {
        let heard = Heard::default();
        scene.reset();
        scene.equip(available, levels, &heard);
        let condition = scene.r.subscriber.status_condition();
        condition.set_enabled_statuses(on_readers);
        let wait_set = WaitSet::new();
        wait_set.attach_condition(condition.condition());
        let waker = std::task::Waker::from(Arc::new(Waker(NamedListener("woken", Arc::clone(&heard)))));
        let mut waits = Box::pin(wait_set.wait_async());
        assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "{levels:?}");
        scene.write(1);
        scene.run(Duration::from_millis(100));
        let expected = first.into_iter().chain([("woken", StatusMask::NONE)]).collect::<Vec<_>>();
        assert_eq!(taken(&heard), expected, "{levels:?}");
        // What was told is over; what nobody was told of can be waited for.
        let ready = waits.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        assert_eq!(ready, first.is_none(), "{levels:?}");
    }
}

fn taken(heard: &Heard) -> Vec<(&'static str, StatusMask)> {
    std::mem::take(&mut heard.lock().unwrap())
}

/// Who is there already is matched while a writer or reader is created, and its listener is told.
#[test]
fn a_listener_given_at_creation_misses_nothing() {
    let matched = (StatusMask::PUBLICATION_MATCHED, StatusMask::SUBSCRIPTION_MATCHED);
    let durable = DataWriterQos::default().transient_local();
    let scene = Scene::new(&durable, &DataReaderQos::default().reliable());
    let heard = Heard::default();
    let listener = |name| NamedListener(name, Arc::clone(&heard));
    let (w, r) = (&scene.w, &scene.r);
    let writer = scene.a.run(|| {
        let (qos, mask) = (DataWriterQos::default(), matched.0);
        w.publisher.create_datawriter_with_listener(&w.topic, &qos, listener("own"), mask).unwrap()
    });
    assert_eq!(taken(&heard), [("own", matched.0)], "before any time passes");
    assert_eq!(writer.listener_mask(), Some(matched.0));
    assert!(!writer.status_changes().intersects(matched.0), "the call has reset it");
    let reader = scene.b.run(|| {
        let (qos, mask) = (DataReaderQos::default().reliable(), matched.1);
        r.subscriber.create_datareader_with_listener(&r.topic, &qos, listener("own"), mask).unwrap()
    });
    assert_eq!(taken(&heard), [("own", matched.1)], "one of the two: the second was not heard of yet");
    assert_eq!(reader.listener_mask(), Some(matched.1));
}

/// Of topics, publishers, subscribers and participants.
#[test]
fn factories_give_listeners_at_creation_too() {
    let mut scene = Scene::new(&DataWriterQos::default(), &DataReaderQos::default().reliable());
    let heard = Heard::default();
    let listener = |name| NamedListener(name, Arc::clone(&heard));
    let (out, come) = (StatusMask::PUBLICATION_MATCHED, StatusMask::SUBSCRIPTION_MATCHED);
    let made = scene.a.run(|| {
        let builder =
            DomainParticipant::builder(0).listener(listener("participant"), StatusMask::ALL & !come);
        let participant = builder.build().unwrap();
        let topic = participant
            .create_topic_with_listener::<Reading>(
                "Readings",
                &TopicQos::default(),
                listener("topic"),
                StatusMask::ALL,
            )
            .unwrap();
        let publisher = participant
            .create_publisher_with_listener(&PublisherQos::default(), listener("publisher"), StatusMask::NONE)
            .unwrap();
        let subscriber = participant
            .create_subscriber_with_listener(&SubscriberQos::default(), listener("subscriber"), come)
            .unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        let reader = subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap();
        (participant, topic, writer, reader, publisher, subscriber)
    });
    let (participant, topic, _, _, publisher, subscriber) = &made;
    assert_eq!(participant.listener_mask(), Some(StatusMask::ALL & !come));
    assert_eq!((topic.listener_mask(), subscriber.listener_mask()), (Some(StatusMask::ALL), Some(come)));
    assert_eq!(publisher.listener_mask(), Some(StatusMask::NONE));
    let other = scene.other.clone();
    let _misuse = scene.b.run(|| {
        let topic = other.create_topic::<Measurement>("Readings", &TopicQos::default()).unwrap();
        let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
        subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap()
    });
    scene.run(secs(2));
    let told = taken(&heard);
    for expected in [("participant", out), ("subscriber", come), ("topic", StatusMask::INCONSISTENT_TOPIC)] {
        assert!(told.contains(&expected), "{expected:?} in {told:?}");
    }
    assert!(told.iter().all(|(name, _)| *name != "publisher"), "{told:?}");
}
