//! Types of different versions meet: what is announced, asked for, compared, refused and read.

use crate::support::*;
use dunlin::qos::*;
use dunlin::sim::{Delay, Node, PathConfig, Result, Sim, SimBuilder};
use dunlin::xtypes::to_idl;
use dunlin::{
    Against, Config, DataReader, DataWriter, DdsType, DomainParticipant, Explanation, FoundTopic,
    InconsistentTopicStatus, TypeDiscovery,
};

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

fn xcdr2() -> DataWriterQos {
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
fn reads<W: DdsType + Clone, R: DdsType + Clone + PartialEq + std::fmt::Debug>(
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
fn lossy() -> SimBuilder {
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
fn another_name_is_no_matter_where_types_fit() {
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
fn what_cannot_be_read_is_refused_with_the_member() {
    lossy().seeds(0..4, |sim| {
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
    fn each_option_of_type_consistency_enforcement() {
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
