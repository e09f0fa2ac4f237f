//! One thread waits for several things at once: samples, a match, and a signal of another thread.

use std::error::Error;
use std::thread;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DdsType, DomainParticipant, Duration, GuardCondition, StateMasks, StatusMask, WaitSet};

#[derive(DdsType, Clone, Debug, Default)]
struct Temperature {
    #[dds(key)]
    sensor: String,
    celsius: f64,
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Temperature>("Temperature", &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all())?;

    let data = reader.create_readcondition(StateMasks::ANY)?;
    let matched = reader.status_condition();
    matched.set_enabled_statuses(StatusMask::SUBSCRIPTION_MATCHED);
    let end = GuardCondition::new();
    let wait_set = WaitSet::new();
    for condition in [data.condition(), matched.condition(), end.condition()] {
        wait_set.attach_condition(condition);
    }

    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable())?;
    let signal = end.clone();
    let writing = thread::spawn(move || {
        writer.wait_for_readers(1, Duration::from_secs(10))?;
        writer.write(&Temperature { sensor: "bow".into(), celsius: 11.0 })?;
        signal.set_trigger_value(true);
        Ok::<_, Box<dyn Error + Send + Sync>>(writer)
    });
    while !end.condition().trigger_value() || data.condition().trigger_value() {
        wait_set.wait(Duration::from_secs(10))?;
        if matched.condition().trigger_value() {
            println!("{} writer", reader.subscription_matched_status().current_count);
        }
        for value in reader.take(16)?.into_iter().filter_map(|sample| sample.data) {
            println!("{}: {} degrees", value.sensor, value.celsius);
        }
    }
    println!("the end");
    writing.join().map_err(|_| "the writing thread has panicked")??;
    Ok(())
}
