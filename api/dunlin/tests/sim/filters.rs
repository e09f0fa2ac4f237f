//! Content filters on nested members and elements of sequences: what a reader excludes is not sent to it, and what arrives is the same
//! whoever evaluates.

use dunlin::qos::{PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Result, Sim};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant};

use crate::support::*;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Place {
    x: i32,
    name: String,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Leg {
    from: Place,
    to: Place,
    heights: Vec<u16>,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Flight {
    #[dds(key)]
    id: u32,
    leg: Leg,
    stops: Vec<Place>,
    limits: [i16; 3],
}

/// The n-th flight: `x` of the places, the heights and the limits follow from it; every third has no stops.
fn flight(n: u32) -> Flight {
    let x = i32::try_from(n).unwrap();
    let place = |x: i32| Place { x, name: format!("P{x}") };
    let stops = if n.is_multiple_of(3) { vec![] } else { vec![place(x), place(x * 2)] };
    let leg = Leg { from: place(x), to: place(-x), heights: vec![n as u16, 100 + n as u16] };
    Flight { id: n, leg, stops, limits: [n as i16, 10 - n as i16, 7] }
}

fn writing(config: Config) -> Result<DataWriter<Flight>> {
    let participant = DomainParticipant::builder(0).config(config).build()?;
    let topic = participant.create_topic::<Flight>("Flights", &TopicQos::default())?;
    Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &writer_qos())?)
}

fn reading(expression: &str, parameters: &[&str]) -> Result<DataReader<Flight>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Flight>("Flights", &TopicQos::default())?;
    let filtered = participant.create_contentfilteredtopic("Some", &topic, expression, parameters)?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    Ok(subscriber.create_datareader(&filtered, &reader_qos().volatile())?)
}

/// An expression, its parameters, and which of the flights 0 to 9 satisfy it.
type Case = (&'static str, &'static [&'static str], fn(&Flight) -> bool);

const CASES: [Case; 8] = [
    ("leg.from.x > %0", &["6"], |f| f.leg.from.x > 6),
    ("leg.to.name = 'P-3'", &[], |f| f.leg.to.name == "P-3"),
    ("leg.from.name LIKE 'P%' AND leg.to.x BETWEEN -4 AND -2", &[], |f| (-4..=-2).contains(&f.leg.to.x)),
    ("leg.heights[1] >= %0", &["107"], |f| f.leg.heights[1] >= 107),
    ("stops[0].x < 3", &[], |f| f.stops.first().is_some_and(|place| place.x < 3)),
    ("stops[1].name = 'P8' OR limits[1] = 1", &[], |f| {
        f.stops.get(1).is_some_and(|place| place.name == "P8") || f.limits[1] == 1
    }),
    ("limits[0] > limits[1]", &[], |f| f.limits[0] > f.limits[1]),
    ("NOT leg.heights[0] < 8", &[], |f| f.leg.heights[0] >= 8),
];

#[test]
fn nested_members_and_elements_are_filtered_where_they_are_written() {
    for (expression, parameters, wanted) in CASES {
        for at_writer in [true, false] {
            let mut config = Config::default();
            config.set("filters.at_writer", &at_writer.to_string()).unwrap();
            let mut sim = Sim::builder().seed(7).loss(0.1).build();
            let (a, b) = (sim.node("a"), sim.node("b"));
            let writer = a.run(|| writing(config)).unwrap();
            let reader = b.run(|| reading(expression, parameters)).unwrap();
            let met =
                || !writer.matched_subscriptions().is_empty() && !reader.matched_publications().is_empty();
            sim.run_until(met, secs(30)).unwrap();
            sim.run_for(secs(3)).unwrap();
            a.run(|| (0..10).try_for_each(|n| writer.write(&flight(n)))).unwrap();
            sim.run_for(secs(10)).unwrap();
            let expected: Vec<Flight> = (0..10).map(flight).filter(wanted).collect();
            let taken = b.run(|| reader.take(100)).unwrap();
            let taken: Vec<Flight> = taken.into_iter().filter_map(|sample| sample.data).collect();
            assert_eq!(taken, expected, "{expression}");
            assert!((1..10).contains(&expected.len()), "{expression} selects some");
            let (stats, left_out) = (reader.content_filter_stats(), 10 - expected.len());
            assert_eq!((stats.passed, stats.unreadable), (expected.len(), 0), "{expression}");
            let filtered = usize::try_from(writer.stats().samples_filtered).unwrap();
            let at = (stats.rejected, filtered);
            assert_eq!(at, if at_writer { (0, left_out) } else { (left_out, 0) }, "{expression}");
            assert_eq!(reader.sample_lost_status().total, 0, "{expression}");
        }
    }
}
