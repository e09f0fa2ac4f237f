//! Multi-topics through the public API, over real sockets on the loopback interface.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{domain, eventually, participant};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{
    CreateEntityError, DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant, Duration,
    InstanceState, MatchedStatus, MultiTopic, MultiTopicError, ReturnCode, Sample, SetQosError, StateMasks,
    StatusMask, Topic, WaitSet,
};

#[derive(DdsType, Clone, Debug, Default)]
struct Location {
    #[dds(key)]
    flight: String,
    x: f32,
    at: Point,
    mode: Mode,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(nested)]
struct Point {
    height: f64,
}

#[derive(DdsType, Clone, Copy, Debug, Default, PartialEq)]
enum Mode {
    #[default]
    Climb,
    Cruise,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(final)]
struct FlightPlan {
    #[dds(key)]
    flight: String,
    #[dds(key)]
    airline: i32,
    seats: u8,
    start: String,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(mutable)]
struct Airline {
    #[dds(key)]
    airline: i32,
    name: Option<String>,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Row {
    #[dds(key)]
    flight: String,
    height: f64,
    x: f32,
    origin: String,
    airline: Option<String>,
    mode: Mode,
}

/// A member of another type than that of the same name in a location.
#[derive(DdsType, Clone, Debug, Default)]
struct Ticket {
    #[dds(key)]
    flight: String,
    at: f64,
}

const EXPRESSION: &str = "SELECT flight, at.height AS height, mode, start origin, name AS airline, \
                          lon AS x FROM Location NATURAL JOIN FlightPlan";

/// They exist while somebody holds them.
type Topics = (Topic<Location>, Topic<FlightPlan>, Topic<Airline>);

/// Topics, writers and a reader of rows in two participants.
struct Skies {
    publishing: DomainParticipant,
    subscribing: DomainParticipant,
    locations: DataWriter<Location>,
    plans: DataWriter<FlightPlan>,
    airlines: DataWriter<Airline>,
    names: [String; 3],
}

fn reliable() -> (DataWriterQos, DataReaderQos) {
    let writer = DataWriterQos::default().reliable().keep_all().autodispose_unregistered_instances(false);
    (writer.transient_local(), DataReaderQos::default().reliable().keep_all().transient_local())
}

fn writer<T: DdsType>(participant: &DomainParticipant, name: &str) -> DataWriter<T> {
    let topic = participant.create_topic::<T>(name, &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    publisher.create_datawriter(&topic, &reliable().0).unwrap()
}

impl Skies {
    fn new() -> (Self, Topics) {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let run = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let names = ["Location", "FlightPlan", "Airline"].map(|name| format!("{name}-{run}"));
        let domain = domain();
        let (publishing, subscribing) = (participant(domain), participant(domain));
        let locations = writer(&publishing, &names[0]);
        let plans = writer(&publishing, &names[1]);
        let airlines = writer(&publishing, &names[2]);
        let create = |name: &str| subscribing.create_topic::<Location>(name, &TopicQos::default()).unwrap();
        let first = create(&names[0]);
        let second = subscribing.create_topic(&names[1], &TopicQos::default()).unwrap();
        let third = subscribing.create_topic(&names[2], &TopicQos::default()).unwrap();
        let skies = Self { publishing, subscribing, locations, plans, airlines, names };
        (skies, (first, second, third))
    }

    /// An expression with the names of this run's topics.
    fn named(&self, expression: &str) -> String {
        let [location, plan, airline] = &self.names;
        expression
            .replace("Location", &format!("'{location}'"))
            .replace("FlightPlan", &format!("'{plan}'"))
            .replace("Airline", &format!("'{airline}'"))
    }

    fn multi<T: DdsType>(
        &self,
        expression: &str,
        parameters: &[&str],
    ) -> Result<MultiTopic<T>, CreateEntityError> {
        let name = format!("Rows of {}", self.names[0]);
        self.subscribing.create_multitopic(&name, &self.named(expression), parameters)
    }

    fn reader<T: DdsType>(&self, multi: &MultiTopic<T>) -> DataReader<T> {
        let subscriber = self.subscribing.create_subscriber(&SubscriberQos::default()).unwrap();
        subscriber.create_datareader(multi, &reliable().1).unwrap()
    }

    fn acknowledged(&self) {
        self.locations.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
        self.plans.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
        self.airlines.wait_for_acknowledgments(Duration::from_secs(20)).unwrap();
    }
}

fn location(flight: &str, height: f64) -> Location {
    Location { flight: flight.into(), x: 0.5, at: Point { height }, mode: Mode::Cruise }
}

fn plan(flight: &str, airline: i32, start: &str) -> FlightPlan {
    FlightPlan { flight: flight.into(), airline, seats: 7, start: start.into() }
}

const THREE: &str = "SELECT flight, at.height AS height, mode, start AS origin, name AS airline, single AS x \
                     FROM Location NATURAL JOIN FlightPlan INNER NATURAL JOIN Airline WHERE height > %0;";

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Full {
    #[dds(key)]
    flight: String,
    height: f64,
    origin: String,
    airline: i32,
    carrier: Option<String>,
    mode: Mode,
}

const FULL: &str = "SELECT flight, at.height AS height, start origin, airline, name carrier, mode \
                    FROM Location NATURAL JOIN (FlightPlan INNER NATURAL JOIN Airline) WHERE height > %0;";

/// Takes so many samples: rows come a moment after the acknowledgement of what they are made of.
fn samples(reader: &DataReader<Full>, count: usize) -> Vec<Sample<Full>> {
    let mut taken = Vec::new();
    eventually("the rows", || {
        taken.extend(reader.take(100).unwrap());
        taken.len() >= count
    });
    assert_eq!(taken.len(), count, "{taken:?}");
    taken
}

fn rows(reader: &DataReader<Full>, count: usize) -> Vec<(String, f64, Option<String>)> {
    let taken = samples(reader, count).into_iter().filter_map(|sample| sample.data);
    taken.map(|row| (row.flight, row.height, row.carrier)).collect()
}

#[test]
fn rows_are_joined_filtered_and_ended() {
    let (skies, _topics) = Skies::new();
    let multi = skies.multi::<Full>(FULL, &["100"]).unwrap();
    let reader = skies.reader(&multi);
    eventually("three matches", || reader.matched_publications().len() == 3);
    let writers = [
        skies.locations.matched_subscriptions().len(),
        skies.plans.matched_subscriptions().len(),
        skies.airlines.matched_subscriptions().len(),
    ];
    assert!(writers.iter().all(|readers| *readers <= 1), "nobody hears of the reader of rows {writers:?}");
    skies.plans.write(&plan("DU1", 1, "SYD")).unwrap();
    skies.locations.write(&location("DU1", 200.0)).unwrap();
    skies.acknowledged();
    assert!(reader.take(1).unwrap().is_empty(), "the airline is not known yet");
    skies.airlines.write(&Airline { airline: 1, name: Some("Dunlin".into()) }).unwrap();
    skies.acknowledged();
    assert_eq!(rows(&reader, 1), [("DU1".into(), 200.0, Some("Dunlin".into()))]);
    for height in [50.0, 300.0] {
        skies.locations.write(&location("DU1", height)).unwrap();
    }
    skies.locations.write(&location("XX9", 900.0)).unwrap();
    skies.acknowledged();
    assert_eq!(rows(&reader, 1), [("DU1".into(), 300.0, Some("Dunlin".into()))]);
    multi.set_expression_parameters(&["10"]).unwrap();
    assert_eq!(multi.expression_parameters(), ["10"]);
    assert_eq!(multi.subscription_expression(), skies.named(FULL));
    skies.locations.write(&location("DU1", 50.0)).unwrap();
    skies.airlines.write(&Airline { airline: 1, name: None }).unwrap();
    skies.acknowledged();
    assert_eq!(rows(&reader, 2), [("DU1".into(), 50.0, Some("Dunlin".into())), ("DU1".into(), 50.0, None)]);
    skies.plans.dispose(&plan("DU1", 1, "")).unwrap();
    skies.acknowledged();
    let ended = samples(&reader, 1);
    assert_eq!(
        (ended[0].info.instance_state, ended[0].info.valid_data),
        (InstanceState::NotAliveDisposed, false)
    );
    assert_eq!(ended[0].key.as_ref().unwrap().flight, "DU1");
    // It comes back with its plan, and loses its writers with its location.
    skies.plans.write(&plan("DU1", 1, "AKL")).unwrap();
    skies.acknowledged();
    assert_eq!(samples(&reader, 1)[0].info.disposed_generation_count, 1);
    skies.locations.unregister_instance(&location("DU1", 0.0)).unwrap();
    skies.acknowledged();
    assert_eq!(samples(&reader, 1)[0].info.instance_state, InstanceState::NotAliveNoWriters);
}

#[test]
fn the_reader_of_rows_is_an_ordinary_reader() {
    let (skies, _topics) = Skies::new();
    skies.plans.write(&plan("DU1", 1, "SYD")).unwrap();
    skies.airlines.write(&Airline { airline: 1, name: None }).unwrap();
    let multi = skies.multi::<Full>(FULL, &["0"]).unwrap();
    let reader = skies.reader(&multi);
    assert_eq!((reader.topic_name(), multi.type_name()), (multi.name(), "Full"));
    eventually("three matches", || reader.matched_publications().len() == 3);
    reader.wait_for_historical_data(Duration::from_secs(20)).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    reader.set_listener(
        move |_: &DataReader<Full>| {
            counted.fetch_add(1, Ordering::SeqCst);
        },
        StatusMask::DATA_AVAILABLE,
    );
    let high = reader.create_querycondition(StateMasks::ANY, "height > 5 ORDER BY height", &[""; 0]).unwrap();
    let set = WaitSet::new();
    set.attach_condition(high.condition());
    skies.locations.write(&location("DU1", 3.0)).unwrap();
    eventually("the listener", || calls.load(Ordering::SeqCst) > 0);
    assert!(set.wait(Duration::ZERO).is_err());
    for height in [9.0, 7.0] {
        skies.locations.write(&location("DU1", height)).unwrap();
    }
    eventually("both rows", || reader.read_w_condition(10, &high).unwrap().len() == 2);
    set.wait(Duration::from_secs(20)).unwrap();
    let seen = reader.take_w_condition(10, &high).unwrap();
    assert_eq!(seen.iter().map(|s| s.data.as_ref().unwrap().height).collect::<Vec<_>>(), [7.0, 9.0]);
    let expected = Full {
        flight: "DU1".into(),
        height: 3.0,
        origin: "SYD".into(),
        airline: 1,
        carrier: None,
        mode: Mode::Cruise,
    };
    assert_eq!(reader.take(10).unwrap()[0].data, Some(expected));
    assert_eq!(reader.set_qos(dunlin::DATAREADER_QOS_USE_TOPIC_QOS), Err(SetQosError::NoTopicQos));
    let refused = reader.set_qos(&reliable().1.exclusive()).unwrap_err();
    assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
    // What may change does, in the readers behind it too.
    let changed = reliable().1.user_data([7]).latency_budget(Duration::from_secs(1));
    reader.set_qos(&changed).unwrap();
    assert_eq!(reader.qos(), changed);
    eventually("three announcements", || {
        let known = skies.publishing.discovered_subscriptions();
        known.len() == 3 && known.iter().all(|reader| *reader.qos == changed)
    });
}

struct Told(Arc<AtomicUsize>);

impl DataReaderListener<Full> for Told {
    fn on_subscription_matched(&self, reader: &DataReader<Full>, status: MatchedStatus) {
        assert!(reader.matched_publications().len() <= 3);
        self.0.fetch_add(usize::try_from(status.total_count_change).unwrap(), Ordering::SeqCst);
    }
}

/// The statuses of the readers behind a reader of rows are its own (DDS 1.4 §2.2.2.3.4 leaves open whose they are).
#[test]
fn the_reader_of_rows_tells_the_statuses_of_its_parts() {
    let (skies, _topics) = Skies::new();
    let multi = skies.multi::<Full>(FULL, &["0"]).unwrap();
    let subscriber = skies.subscribing.create_subscriber(&SubscriberQos::default()).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let told = Told(counted);
    let reader = subscriber
        .create_datareader_with_listener(&multi, &reliable().1, told, StatusMask::SUBSCRIPTION_MATCHED)
        .unwrap();
    eventually("three matches", || calls.load(Ordering::SeqCst) == 3);
    reader.clear_listener();
    let handles =
        [skies.locations.instance_handle(), skies.plans.instance_handle(), skies.airlines.instance_handle()];
    eventually("three that are alive", || reader.liveliness_changed_status().alive_count == 3);
    assert!(reader.matched_publications().iter().all(|handle| handles.contains(handle)));
    let gone = skies.plans.publisher();
    gone.delete_datawriter(&skies.plans).unwrap();
    eventually("one gone", || reader.subscription_matched_status().current_count == 2);
    let status = reader.subscription_matched_status();
    assert_eq!((status.total_count, reader.matched_publications().len()), (3, 2));
    eventually("two that are alive", || reader.liveliness_changed_status().alive_count == 2);
    // A writer of a part that offers too little.
    let topic = skies.publishing.create_topic::<Airline>(&skies.names[2], &TopicQos::default()).unwrap();
    let publisher = skies.publishing.create_publisher(&PublisherQos::default()).unwrap();
    let _less = publisher.create_datawriter(&topic, &DataWriterQos::default().best_effort()).unwrap();
    eventually("incompatible", || reader.requested_incompatible_qos_status().count.total == 1);
}

fn refused<T: DdsType>(skies: &Skies, expression: &str) -> String {
    let error = skies.multi::<T>(expression, &["1"]).unwrap_err();
    error.to_string().replace(&skies.names[0][8..], "")
}

#[test]
fn multi_topics_that_cannot_be_joined_are_refused() {
    let (skies, (_first, second, _third)) = Skies::new();
    assert_eq!(
        refused::<Row>(&skies, THREE),
        "none of the topics has a field `single` that can be selected: Location has no member `single`"
    );
    let tickets = format!("Tickets{}", &skies.names[0][8..]);
    let _fourth = skies.subscribing.create_topic::<Ticket>(&tickets, &TopicQos::default()).unwrap();
    assert_eq!(
        refused::<Row>(&skies, &format!("SELECT * FROM Location NATURAL JOIN '{tickets}'")),
        "member `at` would join the topics, but it is Point in 'Location' and double in 'Tickets'"
    );
    assert_eq!(
        refused::<Row>(&skies, "SELECT flight, at AS mode FROM Location"),
        "member `mode` has the type Mode, but field `at` is Point"
    );
    assert_eq!(
        refused::<Row>(&skies, "SELECT flight, mode, flight AS mode.x FROM Location"),
        "a field is selected for `mode`, another for `mode.x`: one is part of the other"
    );
    assert!(
        refused::<Row>(&skies, "SELECT flight FROM Location ORDER BY x")
            .contains("expected NATURAL JOIN, WHERE")
    );
    assert_eq!(
        refused::<Row>(&skies, &EXPRESSION.replace("name AS airline, ", "")),
        "none of the topics has a field `lon` that can be selected: Location has no member `lon`"
    );
    assert_eq!(
        refused::<Full>(&skies, "SELECT flight, mode AS height FROM Location"),
        "member `height` has the type double, but field `mode` is Mode"
    );
    assert_eq!(
        refused::<Full>(&skies, "SELECT flight FROM Location"),
        "member `height` of Full is not selected, and not optional"
    );
    assert_eq!(
        refused::<Full>(&skies, "SELECT flight AS fly FROM Location"),
        "Full has no member `fly` for a selected field"
    );
    assert_eq!(
        refused::<Full>(&skies, "SELECT * FROM Nowhere"),
        "the participant has no topic 'Nowhere': create it first"
    );
    let wrong = refused::<Full>(&skies, &FULL.replace("WHERE height", "WHERE heigth"));
    assert!(wrong.contains("Full has no member `heigth`; did you mean `height`?"), "{wrong}");
    assert!(refused::<Full>(&skies, "SELECT flight FROM").contains("expected the name of a topic"));
    let error = skies.multi::<Full>(FULL, &["'x'"]).unwrap_err();
    assert_eq!(error.return_code(), ReturnCode::BadParameter);
    assert!(error.to_string().contains("parameter %0: expected a number"), "{error}");
    let unknown = skies.subscribing.create_multitopic::<Full>("a", "SELECT * FROM b", &[""; 0]).unwrap_err();
    assert!(matches!(unknown, CreateEntityError::MultiTopic(MultiTopicError::UnknownTopic(_))));
    assert_eq!(unknown.return_code(), ReturnCode::PreconditionNotMet);
    let taken = skies.subscribing.create_multitopic::<Full>(second.name(), &skies.named(FULL), &["1"]);
    assert!(matches!(taken, Err(CreateEntityError::NameInUse(_))));
    let kept = skies.multi::<Full>(FULL, &["1"]).unwrap();
    assert!(matches!(skies.multi::<Full>(FULL, &["1"]), Err(CreateEntityError::NameInUse(_))));
    let same = skies.subscribing.create_topic::<Full>(kept.name(), &TopicQos::default());
    assert!(matches!(same, Err(CreateEntityError::NameInUse(_))));
}
