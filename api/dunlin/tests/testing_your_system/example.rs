use dunlin::sim::Sim;
use dunlin::{DdsType, DomainParticipant, Duration, StateMasks, WaitError, WaitSet, qos::*};

// ---- the system: nothing in here knows of a simulation ----

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(DdsType, Clone, Debug, Default)]
struct Level {
    litres: u32,
}

/// On the tank: publishes the level ten times a second.
fn gauge() -> Result {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Level>("Level", &TopicQos::default())?;
    let publisher = participant.create_publisher(&PublisherQos::default())?;
    let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable())?;
    writer.wait_for_readers(1, Duration::from_secs(30))?;
    let pause = WaitSet::new();
    for litres in 0.. {
        writer.write(&Level { litres })?;
        // Sleeps: no condition can end this wait. In a simulation it takes virtual time.
        assert_eq!(pause.wait(Duration::from_millis(100)), Err(WaitError::Timeout));
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Stopped {
    Full,
    GaugeIsSilent,
}

/// In the pump house: pumps until the tank holds 50 litres, or until the gauge has been silent for two seconds.
fn pump() -> Result<Stopped> {
    let participant = DomainParticipant::new(0)?;
    let topic = participant.create_topic::<Level>("Level", &TopicQos::default())?;
    let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
    let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable())?;
    let (set, unread) = (WaitSet::new(), reader.create_readcondition(StateMasks::NOT_READ)?);
    set.attach_condition(unread.condition());
    let mut patience = Duration::INFINITE;
    loop {
        match set.wait(patience) {
            Err(WaitError::Timeout) => return Ok(Stopped::GaugeIsSilent),
            waited => waited?,
        };
        let levels = reader.take(16)?;
        if levels.iter().any(|sample| sample.data.as_ref().is_some_and(|level| level.litres >= 50)) {
            return Ok(Stopped::Full);
        }
        patience = Duration::from_secs(2);
    }
}

// ---- its tests ----

#[test]
fn the_pump_stops_at_the_mark_on_a_bad_network() {
    Sim::builder().loss(0.2).delay(Duration::from_millis(1), Duration::from_millis(30)).seeds(0..50, |sim| {
        let (tank, house) = (sim.node("tank"), sim.node("pump house"));
        tank.spawn_thread(|_| gauge());
        let pump = house.spawn_thread(|_| pump());
        assert_eq!(sim.join(&pump, Duration::from_secs(60))?, Stopped::Full);
        Ok(())
    });
}

#[test]
fn the_pump_stops_when_the_gauge_falls_silent() {
    dunlin::sim::seeds(0..50, |sim| {
        let (tank, house) = (sim.node("tank"), sim.node("pump house"));
        tank.spawn_thread(|_| gauge());
        let pump = house.spawn_thread(|_| pump());
        sim.run_for(Duration::from_millis(500 + (sim.seed() * 97 % 4000) as i64))?;
        if sim.seed() % 2 == 0 {
            tank.crash()
        } else {
            sim.partition(&[&tank], &[&house])
        }
        let before = sim.elapsed();
        assert_eq!(sim.join(&pump, Duration::from_secs(3))?, Stopped::GaugeIsSilent);
        assert!(sim.elapsed() > before);
        Ok(())
    });
}
