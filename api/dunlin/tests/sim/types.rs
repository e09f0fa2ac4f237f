//! Types of different versions meet: what is announced, asked for, compared, refused and read.

use dunlin::cdr::PrimitiveKind;
use dunlin::cdr::annotation::{
    Annotation, Applied, Parameter, ParameterType, Part, TypeAnnotations, Value as Said, Verbatim,
};
use dunlin::qos::*;
use dunlin::sim::{Delay, Node, PathConfig, Result, Sim, SimBuilder};
use dunlin::xtypes::to_idl;
use dunlin::{
    Against, Config, DataReader, DataWriter, DdsType, DomainParticipant, DynamicData, DynamicType,
    Explanation, FoundTopic, InconsistentTopicStatus, TypeDiscovery, Value,
};

use crate::support::*;

mod old {
    use super::*;

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Part", nested)]
    pub struct Part {
        pub a: i32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Track")]
    pub struct Track {
        #[dds(key)]
        pub id: u32,
        pub name: String,
        pub parts: Vec<Part>,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Free", mutable)]
    pub struct Free {
        #[dds(id = 1)]
        pub x: i32,
        #[dds(id = 2)]
        pub gone: u64,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Stop", nested)]
    pub struct Stop {
        #[dds(key)]
        pub city: u32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Way", nested, mutable)]
    pub struct Way {
        #[dds(key, id = 1)]
        pub from: u32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Tour")]
    pub struct Tour {
        #[dds(key)]
        pub id: u32,
        pub stops: Vec<Stop>,
        pub way: Way,
    }
}

mod new {
    use super::*;

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Part", nested)]
    pub struct Part {
        pub a: i32,
        #[dds(default = 9)]
        pub b: i32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Track")]
    pub struct Track {
        #[dds(key)]
        pub id: u32,
        pub name: String,
        pub parts: Vec<Part>,
        #[dds(default = 7)]
        pub speed: u16,
        pub note: Option<String>,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Free", mutable)]
    pub struct Free {
        #[dds(id = 3, default = 5)]
        pub y: i32,
        #[dds(id = 1)]
        pub x: i32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Stop", nested)]
    pub struct Stop {
        #[dds(key)]
        pub city: u32,
        #[dds(key, default = 9)]
        pub platform: u32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Way", nested, mutable)]
    pub struct Way {
        #[dds(key, id = 1)]
        pub from: u32,
        #[dds(key, id = 2)]
        pub to: u32,
    }

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Tour")]
    pub struct Tour {
        #[dds(key)]
        pub id: u32,
        pub stops: Vec<Stop>,
        pub way: Way,
    }

    /// The same members under another name.
    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Other::Track")]
    pub struct Renamed {
        #[dds(key)]
        pub id: u32,
        pub name: String,
        pub parts: Vec<Part>,
        #[dds(default = 7)]
        pub speed: u16,
        pub note: Option<String>,
    }
}

mod broken {
    use super::*;

    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    #[dds(name = "Track")]
    pub struct Track {
        #[dds(key)]
        pub id: u32,
        pub name: f64,
        pub parts: Vec<old::Part>,
    }
}

pub fn xcdr2() -> DataWriterQos {
    writer_qos().representation(&[DataRepresentationId::Xcdr2])
}

fn writing<T: DdsType>(node: &Node, qos: &DataWriterQos) -> Result<(DomainParticipant, DataWriter<T>)> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<T>("T", &TopicQos::default())?;
        let writer =
            participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?;
        Ok((participant, writer))
    })
}

fn reading<T: DdsType>(node: &Node, qos: &DataReaderQos) -> Result<(DomainParticipant, DataReader<T>)> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<T>("T", &TopicQos::default())?;
        let reader =
            participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?;
        Ok((participant, reader))
    })
}

/// What is written is read as that.
pub fn reads<W: DdsType + Clone, R: DdsType + Clone + PartialEq + std::fmt::Debug>(
    sim: &mut Sim,
    qos: &DataWriterQos,
    written: &W,
    expected: &R,
) -> Result {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (_one, writer) = writing::<W>(&a, qos)?;
    let (_other, reader) = reading::<R>(&b, &reader_qos())?;
    a.run(|| writer.write(written))?;
    let mut taken = Vec::new();
    let done = || {
        taken.extend(reader.take(9).expect("no condition").into_iter().filter_map(|sample| sample.data));
        !taken.is_empty()
    };
    sim.run_until(done, secs(60))?;
    assert_eq!(taken, std::slice::from_ref(expected));
    assert_eq!(writer.matched_subscriptions().len(), 1);
    Ok(())
}

/// A network that loses a fifth.
pub fn lossy() -> SimBuilder {
    let path = PathConfig {
        loss_ppm: 200_000,
        delay: Delay::Uniform(millis(1), millis(20)),
        ..PathConfig::default()
    };
    Sim::builder().network(path)
}

#[test]
fn versions_read_each_other_under_loss() {
    let before = old::Track { id: 4, name: "n".into(), parts: vec![old::Part { a: 1 }, old::Part { a: 2 }] };
    let after = new::Track {
        id: 4,
        name: "n".into(),
        parts: vec![new::Part { a: 1, b: 9 }, new::Part { a: 2, b: 9 }],
        speed: 7,
        note: None,
    };
    lossy().seeds(0..4, |sim| reads(sim, &xcdr2(), &before, &after));
    lossy().seeds(4..8, |sim| reads(sim, &xcdr2(), &after, &before));
}

/// Keys within what is no key say nothing: the writer's version may lack them, and so may the reader's.
#[test]
fn keys_beside_the_key_come_and_go() {
    let before = old::Tour { id: 1, stops: vec![old::Stop { city: 2 }], way: old::Way { from: 3 } };
    let stops = vec![new::Stop { city: 2, platform: 9 }];
    let after = new::Tour { id: 1, stops, way: new::Way { from: 3, to: 0 } };
    lossy().seeds(0..2, |sim| reads(sim, &xcdr2(), &before, &after));
    lossy().seeds(2..4, |sim| reads(sim, &xcdr2(), &after, &before));
    lossy().seeds(4..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_one, writer) = writing::<old::Tour>(&a, &xcdr2())?;
        let (_other, reader) = reading_at_run_time::<new::Tour>(&b)?;
        a.run(|| writer.write(&before))?;
        let sample = first(sim, &reader)?;
        assert_eq!(sample.get("stops[0].platform")?, Some(&Value::UInt32(9)));
        assert_eq!(sample.get("way.to")?, Some(&Value::UInt32(0)));
        Ok(())
    });
}

/// A reader of a type known at run time.
fn reading_at_run_time<R: DdsType>(node: &Node) -> Result<(DomainParticipant, DataReader<DynamicData>)> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_dynamic_topic("T", &type_of::<R>(), &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let reader = subscriber.create_datareader(&topic, &reader_qos())?;
        Ok((participant, reader))
    })
}

fn type_of<T: DdsType>() -> DynamicType {
    let (graph, index) = dunlin::xtypes::from_description(dunlin::cdr::description::<T>());
    DynamicType::new(graph, index).expect("a type that values can be made of")
}

/// The first sample that arrives.
fn first<T: dunlin::TopicType>(sim: &mut Sim, reader: &DataReader<T>) -> Result<T> {
    let mut taken = None;
    let done = || {
        let samples = reader.take(9).expect("no condition").into_iter();
        taken = taken.take().or(samples.filter_map(|sample| sample.data).next());
        taken.is_some()
    };
    sim.run_until(done, secs(60))?;
    Ok(taken.expect("it is there"))
}

/// A type whose values hold values of it.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Tree")]
struct Tree {
    #[dds(key)]
    id: u32,
    #[dds(default = 5)]
    weight: i16,
    branches: Vec<Tree>,
}

#[test]
fn a_recursive_type_is_announced_matched_and_read() {
    let leaf = |id| Tree { id, weight: 1, branches: Vec::new() };
    let tree =
        Tree { id: 1, weight: 2, branches: vec![leaf(2), Tree { branches: vec![leaf(4)], ..leaf(3) }] };
    lossy().seeds(0..2, |sim| reads(sim, &xcdr2(), &tree, &tree));
    lossy().seeds(2..4, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_one, writer) = writing::<Tree>(&a, &xcdr2())?;
        let (other, reader) = reading_at_run_time::<Tree>(&b)?;
        a.run(|| writer.write(&tree))?;
        let sample = first(sim, &reader)?;
        assert_eq!(sample.get("branches[1].branches[0].id")?, Some(&Value::UInt32(4)));
        let guid = writer.guid().expect("it is enabled");
        let mut told = String::new();
        let known = || match b.run(|| other.discovered_type(guid)) {
            TypeDiscovery::Known(known) => {
                told = to_idl(&known.graph, known.root);
                true
            }
            _ => false,
        };
        sim.run_until(known, secs(60))?;
        assert!(told.contains("sequence<::Tree> branches"), "{told}");
        Ok(())
    });
    // The other way round.
    lossy().seeds(4..6, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_one, writer) = a.run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_dynamic_topic("T", &type_of::<Tree>(), &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let writer = publisher.create_datawriter(&topic, &xcdr2())?;
            Ok((participant, writer))
        })?;
        let (_other, reader) = reading::<Tree>(&b, &reader_qos())?;
        let mut sample = DynamicData::new(&type_of::<Tree>());
        sample.set("id", 1)?;
        sample.resize("branches", 2)?;
        sample.set("branches[1].id", 7)?;
        a.run(|| writer.write(&sample))?;
        let branches =
            vec![Tree { id: 0, weight: 5, branches: vec![] }, Tree { id: 7, weight: 5, branches: vec![] }];
        assert_eq!(first(sim, &reader)?, Tree { id: 1, weight: 5, branches });
        Ok(())
    });
}

#[test]
fn members_come_and_go_in_mutable_types() {
    for id in [DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2] {
        let qos = writer_qos().representation(&[id]);
        let (before, after) = (old::Free { x: 3, gone: 8 }, new::Free { y: 5, x: 3 });
        lossy().seeds(0..2, |sim| reads(sim, &qos, &before, &after));
        lossy().seeds(2..4, |sim| reads(sim, &qos, &after, &old::Free { x: 3, gone: 0 }));
    }
}

#[test]
fn assignable_types_of_different_names_match() {
    let written = new::Renamed { id: 1, speed: 3, ..new::Renamed::default() };
    let read = old::Track { id: 1, ..old::Track::default() };
    Sim::builder().seeds(0..2, |sim| reads(sim, &xcdr2(), &written, &read));
}

/// Both sides after everything was said, each with what it explains.
struct Refused {
    writers: (u32, Explanation),
    readers: (u32, Explanation),
}

fn refused<W: DdsType, R: DdsType>(
    sim: &mut Sim,
    qos: &DataWriterQos,
    consistency: TypeConsistencyEnforcement,
) -> Result<Option<Refused>> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let (one, writer) = writing::<W>(&a, qos)?;
    let (other, reader) = reading::<R>(&b, &reader_qos().type_consistency(consistency))?;
    sim.run_for(secs(20))?;
    let matched = (writer.matched_subscriptions().len(), reader.matched_publications().len());
    if matched == (1, 1) {
        return Ok(None);
    }
    assert_eq!(matched, (0, 0));
    let FoundTopic::Topic(of_reader) = reader.topic_description() else { panic!("it reads a topic") };
    let count = |status: InconsistentTopicStatus| u32::try_from(status.total);
    Ok(Some(Refused {
        writers: (count(writer.topic().inconsistent_topic_status())?, one.explain(&writer, Against::Topic)),
        readers: (count(of_reader.inconsistent_topic_status())?, other.explain(&reader, Against::Topic)),
    }))
}

#[test]
fn an_unassignable_type_is_refused_with_the_member() {
    // With seed 0 so many announcements get lost that one side forgets the other for a while, and counts it anew.
    lossy().seeds(1..5, |sim| {
        let refused =
            refused::<old::Track, broken::Track>(sim, &xcdr2(), TypeConsistencyEnforcement::default())?;
        let refused = refused.expect("a string is no number");
        for (count, explanation) in [&refused.writers, &refused.readers] {
            assert_eq!(*count, 1);
            let text = explanation.to_string();
            assert!(text.contains("name: `double` cannot read `string`"), "{text}");
        }
        Ok(())
    });
}

/// In XCDR1 the parts of a sequence have no lengths, so none can be longer than the reader knows.
#[test]
fn the_representation_decides_what_can_be_read() {
    let policy = TypeConsistencyEnforcement::default();
    let xcdr1 = writer_qos().representation(&[DataRepresentationId::Xcdr1]);
    Sim::builder().seeds(0..1, |sim| {
        assert!(refused::<new::Track, old::Track>(sim, &xcdr1, policy)?.is_some());
        Ok(())
    });
    Sim::builder().seeds(0..1, |sim| {
        assert!(refused::<new::Track, old::Track>(sim, &xcdr2(), policy)?.is_none());
        Ok(())
    });
}

mod options {
    use super::*;

    macro_rules! versions {
        ($($name:ident { $($member:tt)* })*) => {$(
            #[derive(DdsType, Clone, Debug, Default, PartialEq)]
            #[dds(name = "Option")]
            pub struct $name { $($member)* }
        )*};
    }

    versions! {
        Plain { pub a: i32, }
        Wider { pub a: i32, pub b: i32, }
        LongText { #[dds(bound = 20)] pub a: String, }
        ShortText { #[dds(bound = 10)] pub a: String, }
        LongList { #[dds(bound = 20)] pub a: Vec<i32>, }
        ShortList { #[dds(bound = 10)] pub a: Vec<i32>, }
        Renamed { #[dds(id = 0)] pub z: i32, }
    }

    fn fits<W: DdsType, R: DdsType>(consistency: TypeConsistencyEnforcement) -> bool {
        let mut sim = Sim::new(3);
        refused::<W, R>(&mut sim, &xcdr2(), consistency).expect("nothing else fails").is_none()
    }

    #[test]
    fn type_consistency_enforcement_options_decide_the_match() {
        let allow = TypeConsistencyEnforcement::default();
        assert!(fits::<Wider, Plain>(allow) && fits::<Plain, Wider>(allow));
        assert!(!fits::<Plain, Wider>(TypeConsistencyEnforcement::DISALLOW));
        assert!(fits::<Plain, Plain>(TypeConsistencyEnforcement::DISALLOW));
        let no_widening = TypeConsistencyEnforcement { prevent_type_widening: true, ..allow };
        assert!(!fits::<Plain, Wider>(no_widening) && fits::<Wider, Plain>(no_widening));
        assert!(fits::<LongText, ShortText>(allow));
        let text = TypeConsistencyEnforcement { ignore_string_bounds: false, ..allow };
        assert!(!fits::<LongText, ShortText>(text) && fits::<ShortText, LongText>(text));
        assert!(fits::<LongList, ShortList>(allow));
        let list = TypeConsistencyEnforcement { ignore_sequence_bounds: false, ..allow };
        assert!(!fits::<LongList, ShortList>(list) && fits::<ShortList, LongList>(list));
        assert!(!fits::<Plain, Renamed>(allow));
        assert!(fits::<Plain, Renamed>(TypeConsistencyEnforcement { ignore_member_names: true, ..allow }));
    }

    /// A participant that announces no types.
    fn silent<R: DdsType>(sim: &mut Sim, consistency: TypeConsistencyEnforcement) -> Result<bool> {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_one, writer) = a.run(|| -> Result<_> {
            let mut config = Config::default();
            config.set("types.announce", "false")?;
            let participant = DomainParticipant::builder(0).config(config).build()?;
            let topic = participant.create_topic::<Plain>("T", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let writer = publisher.create_datawriter(&topic, &xcdr2())?;
            Ok((participant, writer))
        })?;
        let (other, reader) = reading::<R>(&b, &reader_qos().type_consistency(consistency))?;
        sim.run_for(secs(10))?;
        let found = other.discovered_type(writer.guid().expect("it is enabled"));
        assert!(matches!(found, TypeDiscovery::NotAnnounced), "{found:?}");
        Ok(reader.matched_publications().len() == 1)
    }

    #[test]
    fn without_type_information_names_decide_unless_the_reader_insists() {
        let allow = TypeConsistencyEnforcement::default();
        Sim::builder().seeds(0..1, |sim| {
            // These could not be read, but nobody can know.
            assert!(silent::<ShortText>(sim, allow)?);
            Ok(())
        });
        Sim::builder().seeds(0..1, |sim| {
            let force = TypeConsistencyEnforcement { force_type_validation: true, ..allow };
            assert!(!silent::<Plain>(sim, force)?);
            Ok(())
        });
    }
}

#[test]
fn a_type_that_was_asked_for_is_that_of_the_other_side() {
    lossy().seeds(0..4, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (one, writer) = writing::<new::Track>(&a, &xcdr2())?;
        let observer = b.run(|| DomainParticipant::new(0))?;
        let guid = writer.guid().expect("it is enabled");
        let mut found = TypeDiscovery::NotAnnounced;
        let known = || {
            found = b.run(|| observer.discovered_type(guid));
            matches!(found, TypeDiscovery::Known(_))
        };
        sim.run_until(known, secs(60))?;
        let TypeDiscovery::Known(there) = found else { unreachable!() };
        let TypeDiscovery::Known(here) = a.run(|| one.discovered_type(guid)) else { panic!("it is local") };
        assert_eq!(to_idl(&there.graph, there.root), to_idl(&here.graph, here.root));
        assert!(to_idl(&there.graph, there.root).contains("speed"));
        Ok(())
    });
}

/// `@annotation Since { long version default 1; };`
const SINCE: Annotation = Annotation {
    name: "Since",
    parameters: &[Parameter {
        name: "version",
        ty: ParameterType::Primitive(PrimitiveKind::Int32),
        default: Some(Said::Int32(1)),
    }],
};

const OF_TRACK: TypeAnnotations = TypeAnnotations {
    verbatim: Some(Verbatim { language: "c++", placement: "BEFORE_DECLARATION", text: "// of tracks" }),
    applied: &[
        (Part::Type, Applied { annotation: &SINCE, values: &[("version", Said::Int32(1))] }),
        (Part::Member("speed"), Applied { annotation: &SINCE, values: &[("version", Said::Int32(2))] }),
    ],
};

/// Plain, but for its annotations.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Annotated", annotations = OF_TRACK)]
struct Annotated {
    id: u32,
    speed: i64,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "Annotated")]
struct NotAnnotated {
    id: u32,
    speed: i64,
}

/// Annotations that the source of a type declares itself are told with the type, and decide nothing.
#[test]
fn annotations_of_a_type_are_announced() {
    lossy().seeds(0..4, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_one, writer) = writing::<Annotated>(&a, &xcdr2())?;
        let (other, reader) = reading::<NotAnnotated>(&b, &reader_qos())?;
        a.run(|| writer.write(&Annotated { id: 1, speed: 2 }))?;
        assert_eq!(first(sim, &reader)?, NotAnnotated { id: 1, speed: 2 });
        let guid = writer.guid().expect("it is enabled");
        let mut found = TypeDiscovery::NotAnnounced;
        let known = || {
            found = b.run(|| other.discovered_type(guid));
            matches!(found, TypeDiscovery::Known(_))
        };
        sim.run_until(known, secs(60))?;
        let TypeDiscovery::Known(known) = found else { unreachable!() };
        let ty = DynamicType::new(known.graph.clone(), known.root).expect("it is a topic type");
        let said = ty.annotations().expect("it has some");
        assert_eq!(said.verbatim.as_ref().map(|it| it.text.as_str()), Some("// of tracks"));
        assert_eq!(said.applied.len(), 2);
        let told = ty.to_idl();
        assert!(told.contains("@annotation Since {\n    int32 version default 1;\n};"), "{told}");
        assert!(told.contains("@::Since @appendable struct Annotated"), "{told}");
        assert!(told.contains("@::Since(version = 2) @id(1) int64 speed;"), "{told}");
        Ok(())
    });
}

/// A type of so many members, each with a long name.
fn wide(members: u32) -> Result<DynamicType> {
    use dunlin::xtypes::identifier::kind;
    use dunlin::xtypes::model::{Definition, Kind, Member, Name, Structure, Type, member_flag, type_flag};
    let member = |id: u32| Member {
        name: Name::new(&format!("a_member_with_a_rather_long_name_{id}")),
        id,
        flags: member_flag::DISCARD,
        ty: Type::Primitive(kind::INT32),
        annotations: Default::default(),
        default: None,
    };
    let mut graph = dunlin::xtypes::TypeGraph::default();
    let kind = Kind::Structure(Structure { base: None, members: (0..members).map(member).collect() });
    let index = graph.add(Definition { name: "Wide".into(), flags: type_flag::APPENDABLE, kind });
    Ok(DynamicType::new(graph, index)?)
}

/// A type whose object is larger than an answer with several is told all the same, up to a bound that is configured; the
/// versions are compared then.
#[test]
fn large_type_objects_are_sent_up_to_a_bound() {
    let told = |sim: &mut Sim, bound: &str| -> Result<TypeDiscovery> {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let (_one, writer) = a.run(|| -> Result<_> {
            let mut config = Config::default();
            config.set("quotas.max_told_type", bound)?;
            let participant = DomainParticipant::builder(0).config(config).build()?;
            let topic = participant.create_dynamic_topic("T", &wide(2000)?, &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let writer = publisher.create_datawriter(&topic, &xcdr2())?;
            Ok((participant, writer))
        })?;
        let (other, reader) = b.run(|| -> Result<_> {
            let participant = DomainParticipant::new(0)?;
            let topic = participant.create_dynamic_topic("T", &wide(1999)?, &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let reader = subscriber.create_datareader(&topic, &reader_qos())?;
            Ok((participant, reader))
        })?;
        let guid = writer.guid().expect("it is enabled");
        let mut found = TypeDiscovery::Pending;
        let judged = || {
            found = b.run(|| other.discovered_type(guid));
            let known = !matches!(found, TypeDiscovery::Pending | TypeDiscovery::NotAnnounced);
            known && reader.matched_publications().len() == 1 && writer.matched_subscriptions().len() == 1
        };
        sim.run_until(judged, secs(120))?;
        Ok(found)
    };
    lossy().seeds(0..2, |sim| {
        let TypeDiscovery::Known(known) = told(sim, "256KiB")? else { panic!("it is told") };
        assert!(to_idl(&known.graph, known.root).contains("name_1999"));
        Ok(())
    });
    Sim::builder().seeds(2..3, |sim| {
        let found = told(sim, "60KiB")?;
        assert!(matches!(found, TypeDiscovery::Refused(_)), "{found:?}");
        Ok(())
    });
}
