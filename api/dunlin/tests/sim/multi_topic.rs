//! Multi-topics over a network that loses: natural joins on members of any kind, rows with parts of any kind, and what becomes
//! of rows when a part changes or ends.

use std::collections::{BTreeMap, BTreeSet};

use dunlin::qos::{DataReaderQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, InstanceState, MultiTopic, Sample, Topic};

use crate::support::*;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(nested)]
struct Place {
    x: i32,
    name: String,
    above: Option<i16>,
}

#[derive(DdsType, Clone, Debug, PartialEq)]
#[dds(union, discriminator = "i16", nested)]
enum Load {
    #[dds(case = 0)]
    Empty(bool),
    #[dds(case = 1)]
    Boxes(Vec<u16>),
    #[dds(case = 2)]
    Person(#[dds(bound = 40)] String),
}

/// At a place, which joins it with its radar; with a list of tags, which joins it with its crews.
#[derive(DdsType, Clone, Debug, PartialEq)]
struct Plane {
    #[dds(key)]
    plane: i32,
    place: Place,
    tags: Vec<u16>,
    load: Load,
    grid: [[i8; 3]; 2],
}

#[derive(DdsType, Clone, Debug, PartialEq)]
#[dds(final)]
struct Radar {
    #[dds(key)]
    radar: i32,
    power: f64,
    place: Place,
}

#[derive(DdsType, Clone, Debug, PartialEq)]
#[dds(mutable)]
struct Crew {
    #[dds(key)]
    crew: i32,
    names: Vec<Place>,
    tags: Option<Vec<u16>>,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(nested)]
struct Within {
    px: i32,
    unselected: u8,
}

#[derive(DdsType, Clone, Debug, PartialEq)]
#[dds(mutable)]
struct Row {
    #[dds(key)]
    plane: i32,
    #[dds(key)]
    radar: i32,
    #[dds(key)]
    crew: i32,
    place: Place,
    px: i32,
    at: Within,
    tags: Vec<u16>,
    first: Option<u16>,
    load: Load,
    kind: i16,
    boxes: Option<Vec<u16>>,
    line: [i8; 3],
    corner: i8,
    power: f64,
    names: Vec<Place>,
    second: Option<Place>,
}

const EXPRESSION: &str = "SELECT plane, radar, crew, place, place.x AS px, place.x AS at.px, tags, tags[0] AS first, load, \
    load._d AS kind, load.Boxes AS boxes, grid[1] AS line, grid[0][2] AS corner, power, names, names[1] AS second \
    FROM Plane NATURAL JOIN (Radar INNER NATURAL JOIN Crew) WHERE power < %0 AND names[0].x >= 0 AND at.unselected = 0;";

fn place(n: u64) -> Place {
    let above = (n > 1).then_some(n as i16);
    Place { x: n as i32, name: format!("place {n}"), above }
}

fn tags(n: u64) -> Vec<u16> {
    (0..n as u16).collect()
}

fn plane(plane: i32, at: u64, tagged: u64, n: u64) -> Plane {
    let load = match n % 3 {
        0 => Load::Empty(true),
        1 => Load::Boxes(tags(n % 5)),
        _ => Load::Person(format!("passenger {n}")),
    };
    let k = n as i8;
    Plane { plane, place: place(at), tags: tags(tagged), load, grid: [[1, 2, k], [k, 5, 6]] }
}

/// The row of a plane, a radar and a crew, if they make one.
fn row(plane: &Plane, radar: &Radar, crew: &Crew) -> Option<Row> {
    let fits = plane.place == radar.place && Some(&plane.tags) == crew.tags.as_ref();
    let kind = match plane.load {
        Load::Empty(_) => 0,
        Load::Boxes(_) => 1,
        Load::Person(_) => 2,
    };
    let boxes = match &plane.load {
        Load::Boxes(boxes) => Some(boxes.clone()),
        _ => None,
    };
    fits.then(|| Row {
        plane: plane.plane,
        radar: radar.radar,
        crew: crew.crew,
        place: plane.place.clone(),
        px: plane.place.x,
        at: Within { px: plane.place.x, unselected: 0 },
        tags: plane.tags.clone(),
        first: plane.tags.first().copied(),
        load: plane.load.clone(),
        kind,
        boxes,
        line: plane.grid[1],
        corner: plane.grid[0][2],
        power: radar.power,
        names: crew.names.clone(),
        second: crew.names.get(1).cloned(),
    })
}

fn writer<T: DdsType>(name: &str) -> Result<DataWriter<T>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<T>(name, &TopicQos::default())?;
    let qos = writer_qos().autodispose_unregistered_instances(false);
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
}

/// The reader of rows; the topics exist while somebody holds them.
struct Rows<T: DdsType> {
    _topics: (Topic<Plane>, Topic<Radar>, Topic<Crew>),
    multi: MultiTopic<T>,
    reader: DataReader<T>,
}

fn rows<T: DdsType>(expression: &str, qos: &DataReaderQos) -> Result<Rows<T>> {
    let participant = DomainParticipant::new(0)?;
    let (default, parameters) = (TopicQos::default(), ["1000"]);
    let planes = participant.create_topic::<Plane>("Plane", &default)?;
    let radars = participant.create_topic::<Radar>("Radar", &default)?;
    let crews = participant.create_topic::<Crew>("Crew", &default)?;
    let parameters = &parameters[..usize::from(expression.contains("%0"))];
    let multi = participant.create_multitopic::<T>("Rows", expression, parameters)?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&multi, qos)?;
    Ok(Rows { _topics: (planes, radars, crews), multi, reader })
}

/// Three nodes that write, one topic each.
struct Sources {
    nodes: [Node; 3],
    planes: DataWriter<Plane>,
    radars: DataWriter<Radar>,
    crews: DataWriter<Crew>,
}

impl Sources {
    fn new(sim: &mut Sim) -> Self {
        let nodes = ["planes", "radars", "crews"].map(|name| sim.node(name));
        let planes = nodes[0].run(|| writer("Plane")).unwrap();
        let radars = nodes[1].run(|| writer("Radar")).unwrap();
        let crews = nodes[2].run(|| writer("Crew")).unwrap();
        Self { nodes, planes, radars, crews }
    }

    fn plane(&self, value: &Plane) {
        self.nodes[0].run(|| self.planes.write(value)).unwrap();
    }

    fn radar(&self, value: &Radar) {
        self.nodes[1].run(|| self.radars.write(value)).unwrap();
    }

    fn crew(&self, value: &Crew) {
        self.nodes[2].run(|| self.crews.write(value)).unwrap();
    }

    /// Waits until the reader of rows has everything.
    fn settle(&self, sim: &mut Sim) {
        sim.run_for(secs(1)).unwrap();
        let (planes, radars, crews) = (self.planes.clone(), self.radars.clone(), self.crews.clone());
        let waits = [
            self.nodes[0].spawn(|_| async move { Ok(planes.wait_for_acknowledgments_async().await?) }),
            self.nodes[1].spawn(|_| async move { Ok(radars.wait_for_acknowledgments_async().await?) }),
            self.nodes[2].spawn(|_| async move { Ok(crews.wait_for_acknowledgments_async().await?) }),
        ];
        waits.iter().for_each(|wait| sim.join(wait, secs(60)).unwrap());
        sim.run_for(millis(100)).unwrap();
    }
}

/// What is current, as the writers see it.
#[derive(Default)]
struct Current {
    planes: BTreeMap<i32, Plane>,
    radars: BTreeMap<i32, Radar>,
    crews: BTreeMap<i32, Crew>,
}

impl Current {
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for plane in self.planes.values() {
            for radar in self.radars.values() {
                rows.extend(self.crews.values().filter_map(|crew| row(plane, radar, crew)));
            }
        }
        rows
    }

    /// Writes, disposes of or unregisters something.
    fn step(&mut self, from: &Sources, random: &mut impl FnMut(u64) -> u64) {
        let (id, n) = (random(4) as i32, random(1_000));
        let ends = random(5) == 0;
        let disposes = random(2) == 0;
        match random(3) {
            0 if ends => {
                self.planes.remove(&id).into_iter().for_each(|old| {
                    from.nodes[0]
                        .run(|| {
                            if disposes {
                                from.planes.dispose(&old)
                            } else {
                                from.planes.unregister_instance(&old)
                            }
                        })
                        .unwrap();
                });
            }
            1 if ends => {
                self.radars.remove(&id).into_iter().for_each(|old| {
                    from.nodes[1].run(|| from.radars.dispose(&old)).unwrap();
                });
            }
            0 => {
                let new = plane(id, random(2), random(3), n);
                from.plane(&new);
                self.planes.insert(id, new);
            }
            1 => {
                let new = Radar { radar: id, power: n as f64, place: place(random(2)) };
                from.radar(&new);
                self.radars.insert(id, new);
            }
            _ => {
                let tags = Some(tags(random(3))).filter(|_| random(4) > 0);
                let new = Crew { crew: id, names: (0..random(3) + 1).map(place).collect(), tags };
                from.crew(&new);
                self.crews.insert(id, new);
            }
        }
    }
}

/// The last value and state of each instance of rows.
fn seen(reader: &DataReader<Row>) -> BTreeMap<(i32, i32, i32), (InstanceState, Option<Row>)> {
    let mut seen = BTreeMap::new();
    for Sample { data, key, info } in reader.read(usize::MAX).unwrap() {
        let row = data.or(key).unwrap();
        let data = info.valid_data.then(|| row.clone());
        let entry = seen.entry((row.plane, row.radar, row.crew)).or_insert((info.instance_state, None));
        entry.0 = info.instance_state;
        entry.1 = data.or(entry.1.take());
    }
    seen
}

/// Against a definition: the rows that are alive are all combinations of current values whose common members are equal.
#[test]
fn rows_follow_what_is_joined_whatever_is_lost() {
    Sim::builder().loss(0.2).delay(millis(1), millis(20)).seeds(0..4, |sim| {
        let sources = Sources::new(sim);
        let node = sim.node("rows");
        let rows = node.run(|| rows::<Row>(EXPRESSION, &reader_qos().keep_last(1)))?;
        sim.run_until(|| rows.reader.matched_publications().len() == 3, secs(60))?;
        let mut state = sim.seed();
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut current, mut most, mut ended) = (Current::default(), 0, BTreeSet::new());
        for _ in 0..12 {
            for _ in 0..15 {
                current.step(&sources, &mut random);
                sim.run_for(millis(3))?;
            }
            sources.settle(sim);
            let (expected, seen) = (current.rows(), seen(&rows.reader));
            let alive = seen.values().filter(|(state, _)| *state == InstanceState::Alive);
            let alive: Vec<&Row> = alive.filter_map(|(_, row)| row.as_ref()).collect();
            assert_eq!(alive, expected.iter().collect::<Vec<_>>());
            most = most.max(alive.len());
            ended.extend(seen.values().map(|(state, _)| format!("{state:?}")));
        }
        assert!(most > 5 && ended.len() == 3, "{most} rows at once, {ended:?}");
        assert_eq!((rows.reader.sample_lost_status().total, rows.reader.undecodable_count()), (0, 0));
        Ok(())
    });
}

fn state_of(sim: &mut Sim, rows: &Rows<Row>, expected: InstanceState) -> Vec<Sample<Row>> {
    let shown = || rows.reader.read(9).unwrap().iter().any(|sample| sample.info.instance_state == expected);
    sim.run_until(shown, secs(90)).unwrap();
    rows.reader.take(9).unwrap()
}

#[test]
fn a_row_ends_as_its_part_does() {
    type End = fn(&mut Sim, &Sources);
    let ends: [(End, InstanceState); 6] = [
        (|_, from| from.plane(&plane(1, 1, 2, 0)), InstanceState::NotAliveNoWriters),
        (
            |_, from| from.crew(&Crew { crew: 3, names: vec![place(1)], tags: None }),
            InstanceState::NotAliveNoWriters,
        ),
        (
            |_, from| from.nodes[0].run(|| from.planes.dispose(&plane(1, 0, 0, 0))).unwrap(),
            InstanceState::NotAliveDisposed,
        ),
        (
            |_, from| from.nodes[0].run(|| from.planes.unregister_instance(&plane(1, 0, 0, 0))).unwrap(),
            InstanceState::NotAliveNoWriters,
        ),
        (|_, from| from.nodes[1].crash(), InstanceState::NotAliveNoWriters),
        (
            |_, from| {
                let publisher = from.radars.publisher();
                from.nodes[1].run(|| publisher.delete_datawriter(&from.radars)).unwrap();
            },
            InstanceState::NotAliveNoWriters,
        ),
    ];
    for (way, (end, expected)) in ends.into_iter().enumerate() {
        let mut sim = Sim::builder().seed(5).loss(0.1).build();
        let sources = Sources::new(&mut sim);
        let node = sim.node("rows");
        let rows = node.run(|| rows::<Row>(EXPRESSION, &reader_qos())).unwrap();
        sim.run_until(|| rows.reader.matched_publications().len() == 3, secs(60)).unwrap();
        sources.plane(&plane(1, 0, 2, 0));
        sources.radar(&Radar { radar: 2, power: 1.5, place: place(0) });
        sources.crew(&Crew { crew: 3, names: vec![place(1)], tags: Some(tags(2)) });
        let made = state_of(&mut sim, &rows, InstanceState::Alive);
        assert_eq!(made.len(), 1, "way {way}");
        // What does not satisfy the condition is not told, and ends nothing.
        sources.radar(&Radar { radar: 2, power: 2_000.0, place: place(0) });
        sources.settle(&mut sim);
        assert!(rows.reader.take(9).unwrap().is_empty(), "way {way}");
        assert_eq!(rows.multi.expression_parameters(), ["1000"]);
        end(&mut sim, &sources);
        let ended = state_of(&mut sim, &rows, expected);
        assert_eq!((ended.len(), ended[0].info.valid_data), (1, false), "way {way}");
        let key = ended[0].key.as_ref().unwrap();
        assert_eq!((key.plane, key.radar, key.crew), (1, 2, 3), "way {way}");
        if way < 4 {
            // What joins again comes back.
            sources.plane(&plane(1, 0, 2, 7));
            sources.crew(&Crew { crew: 3, names: vec![place(1)], tags: Some(tags(2)) });
            sources.radar(&Radar { radar: 2, power: 3.0, place: place(0) });
            let back = state_of(&mut sim, &rows, InstanceState::Alive);
            assert!(!back.is_empty(), "way {way}");
        }
    }
}

#[derive(DdsType, Clone, Debug, PartialEq)]
struct Pair {
    #[dds(key)]
    radar: i32,
    #[dds(key)]
    crew: i32,
    power: f64,
}

/// Topics without a member in common make rows of everything with everything, up to a bound that is told.
#[test]
fn topics_that_share_nothing_are_crossed_up_to_a_bound() {
    let mut sim = Sim::new(1);
    let sources = Sources::new(&mut sim);
    let node = sim.node("rows");
    let qos = reader_qos().keep_last(1);
    let rows =
        node.run(|| rows::<Pair>("SELECT radar, crew, power FROM Radar NATURAL JOIN Crew", &qos)).unwrap();
    sim.run_until(|| rows.reader.matched_publications().len() == 2, secs(60)).unwrap();
    for id in 0..257 {
        sources.radar(&Radar { radar: id, power: f64::from(id), place: place(0) });
    }
    for id in 0..256 {
        sources.crew(&Crew { crew: id, names: vec![], tags: None });
    }
    let rejected = || rows.reader.sample_rejected_status().count.total;
    sim.run_until(|| rejected() > 0, secs(60)).unwrap();
    sources.settle(&mut sim);
    assert_eq!(rejected(), 257 * 256 - 65_536);
    let read = rows.reader.take(usize::MAX).unwrap();
    let pairs: BTreeSet<(i32, i32)> = read
        .into_iter()
        .filter_map(|sample| sample.data)
        .inspect(|pair| assert_eq!(pair.power, f64::from(pair.radar)))
        .map(|pair| (pair.radar, pair.crew))
        .collect();
    assert_eq!(pairs.len(), 65_536);
}
