//! The example of docs/services-api.md does what the page says. `cargo xtask tidy` sees that it is the one that stands there.

mod example;

use dunlin::qos::{SubscriberQos, TopicQos};
use dunlin::sim::{Result, Sim};
use dunlin::{DomainParticipant, DynamicType};
use example::Route;

use crate::support::*;

#[test]
fn the_example_routes_and_stores() {
    let mut sim = Sim::new(1);
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let source = a.run(|| writer(&writer_qos())).unwrap();
    let route = b.run(|| -> Result<_> {
        let (graph, index) = dunlin::xtypes::from_description(dunlin::cdr::description::<Reading>());
        let ty = DynamicType::new(graph, index)?;
        Route::new(&DomainParticipant::new(0)?, &ty, "Readings", "Stored")
    });
    let route = route.unwrap();
    let stored = c.run(|| -> Result<_> {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Reading>("Stored", &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let qos = reader_qos().durability(dunlin::qos::DurabilityKind::Volatile).acknowledge_on_commit();
        Ok(subscriber.create_datareader(&topic.serialized(), &qos)?)
    });
    let stored = stored.unwrap();
    let met = || source.matched_subscriptions().len() == 1 && stored.matched_publications().len() == 1;
    sim.run_until(met, secs(30)).unwrap();
    sim.run_for(secs(2)).unwrap();
    a.run(|| source.write(&reading(7))).unwrap();
    let mut saved = Vec::new();
    for _ in 0..10 {
        sim.run_for(secs(1)).unwrap();
        b.run(|| route.pass_on()).unwrap();
        c.run(|| {
            example::store(&stored, |octets| {
                saved.push(dunlin::cdr::from_payload::<Reading>(octets, &dunlin::cdr::Limits::default())?);
                Ok(())
            })
        })
        .unwrap();
    }
    assert_eq!(saved, [reading(7)]);
}
