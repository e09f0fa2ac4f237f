//! What becomes of values that a reader's type cannot hold (DDS-XTypes 1.3 §7.3.1.2.1.14).

use std::collections::BTreeMap;

use dunlin::cdr::{BoundedString, idl};
use dunlin::{Config, DdsType, DomainParticipant, qos::*};

use crate::support::*;
use crate::types::{lossy, reads, xcdr2};

mod wide {
    use super::*;

    #[derive(DdsType, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[dds(name = "Color")]
    pub enum Color {
        Red,
        Green,
        Blue,
    }

    #[derive(DdsType, Clone, Debug, PartialEq)]
    #[dds(name = "Shade", union, discriminator = "Color", nested)]
    pub enum Shade {
        #[dds(case = Color::Red)]
        Number(i32),
        #[dds(case = Color::Blue)]
        Text(String),
    }

    #[derive(DdsType, Clone, Debug, PartialEq)]
    #[dds(name = "Picture")]
    pub struct Picture {
        #[dds(key)]
        pub id: u32,
        pub colors: Vec<Color>,
        pub labels: Vec<String>,
        pub table: BTreeMap<u32, Color>,
        pub pair: [Color; 2],
        pub shade: Shade,
        pub after: u32,
    }

    #[derive(DdsType, Clone, Debug, PartialEq)]
    #[dds(name = "Named")]
    pub struct Named {
        #[dds(key)]
        pub name: String,
        pub value: u32,
    }
}

mod narrow {
    use super::*;

    #[derive(DdsType, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[dds(name = "Color")]
    pub enum Color {
        Red,
        #[dds(default)]
        Green,
    }

    #[derive(DdsType, Clone, Debug, PartialEq)]
    #[dds(name = "Shade", union, discriminator = "Color", try_construct = "default", nested)]
    pub enum Shade {
        #[dds(case = Color::Red)]
        Number(i32),
        #[dds(case = Color::Green, id = 3)]
        Other(#[dds(default = 7)] i32),
    }

    #[derive(DdsType, Clone, Debug, PartialEq)]
    #[dds(name = "Picture")]
    pub struct Picture {
        #[dds(key)]
        pub id: u32,
        #[dds(as = "idl::Sequence<idl::UseDefault<idl::Plain<Color>>>")]
        pub colors: Vec<Color>,
        #[dds(as = "idl::Sequence<idl::Trim<idl::Text<2>>>")]
        pub labels: Vec<BoundedString<2>>,
        #[dds(as = "idl::Map<idl::Plain<u32>, idl::UseDefault<idl::Plain<Color>>>")]
        pub table: BTreeMap<u32, Color>,
        #[dds(as = "idl::Array<idl::UseDefault<idl::Plain<Color>>, 2>")]
        pub pair: [Color; 2],
        pub shade: Shade,
        pub after: u32,
    }

    #[derive(DdsType, Clone, Debug, PartialEq)]
    #[dds(name = "Named")]
    pub struct Named {
        #[dds(key, bound = 3, try_construct = "trim")]
        pub name: String,
        pub value: u32,
    }
}

/// Elements and discriminators that do not fit, each in the way that the reader's type says.
#[test]
fn elements_and_discriminators_are_tried() {
    use narrow::Color::{Green, Red};
    use wide::Color;
    let sent = wide::Picture {
        id: 1,
        colors: vec![Color::Red, Color::Blue, Color::Green],
        labels: vec!["long".into(), "s".into()],
        table: [(1, Color::Blue), (2, Color::Red)].into(),
        pair: [Color::Blue, Color::Red],
        shade: wide::Shade::Text("who knows how long".into()),
        after: 9,
    };
    let label = |text: &str| BoundedString::<2>::try_from(text).expect("short enough");
    let taken = narrow::Picture {
        id: 1,
        colors: vec![Red, Green, Green],
        labels: vec![label("lo"), label("s")],
        table: [(1, Green), (2, Red)].into(),
        pair: [Green, Red],
        shade: narrow::Shade::Other(7),
        after: 9,
    };
    lossy().seeds(0..3, |sim| reads(sim, &xcdr2(), &sent, &taken));
}

/// With types that are announced such keys do not match, as instances would be confused. Without, they are what they become.
#[test]
fn keys_are_tried_where_names_match() {
    lossy().seeds(0..3, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let silent = || -> dunlin::sim::Result<_> {
            let mut config = Config::default();
            config.set("types.announce", "false")?;
            Ok(DomainParticipant::builder(0).config(config).build()?)
        };
        let (_one, writer) = a.run(|| -> dunlin::sim::Result<_> {
            let participant = silent()?;
            let topic = participant.create_topic::<wide::Named>("T", &TopicQos::default())?;
            let publisher = participant.create_publisher(&PublisherQos::default())?;
            let writer = publisher.create_datawriter(&topic, &xcdr2())?;
            Ok((participant, writer))
        })?;
        let (_other, reader) = b.run(|| -> dunlin::sim::Result<_> {
            let participant = silent()?;
            let topic = participant.create_topic::<narrow::Named>("T", &TopicQos::default())?;
            let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
            let reader = subscriber.create_datareader(&topic, &reader_qos())?;
            Ok((participant, reader))
        })?;
        a.run(|| writer.write(&wide::Named { name: "longer".into(), value: 4 }))?;
        let mut taken = Vec::new();
        let done = || {
            taken.extend(reader.take(9).expect("no condition"));
            !taken.is_empty()
        };
        sim.run_until(done, secs(60))?;
        let expected = narrow::Named { name: "lon".into(), value: 4 };
        assert_eq!(taken[0].data.as_ref(), Some(&expected));
        assert_eq!(reader.key_value(taken[0].info.instance_handle)?.name, "lon");
        Ok(())
    });
}
