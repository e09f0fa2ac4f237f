//! What the factory says of new participants holds for each way to make one. A process of its own, as the factory is one for
//! the process.

use dunlin::qos::{DomainParticipantFactoryQos, DomainParticipantQos};
use dunlin::sim::Sim;
use dunlin::{DomainParticipant, DomainParticipantFactory, Duration};

const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn new_participants_begin_with_what_the_factory_says() {
    let mut sim = Sim::new(1);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let factory = DomainParticipantFactory::instance();
    let watcher = b.run(|| DomainParticipant::new(7)).unwrap();
    assert_eq!(factory.qos(), DomainParticipantFactoryQos::default());
    assert_eq!(watcher.qos(), DomainParticipantQos::default());

    factory.set_qos(&factory.qos().autoenable_created_entities(false));
    let qos = DomainParticipantQos::default().user_data(b"of the factory");
    factory.set_default_participant_qos(&qos).unwrap();
    let made = a.run(|| {
        [
            factory.create_participant(7).unwrap(),
            DomainParticipant::new(7).unwrap(),
            DomainParticipant::builder(7).build().unwrap(),
        ]
    });
    let own = DomainParticipantQos::default().user_data(b"its own");
    let other = a.run(|| DomainParticipant::builder(7).qos(own.clone()).enabled(true).build()).unwrap();
    assert_eq!(other.qos(), own, "what the builder is told goes before");

    sim.run_for(secs(20)).unwrap();
    let told = |watcher: &DomainParticipant| {
        let all = watcher.discovered_participants();
        all.iter().map(|it| it.user_data.0.clone()).collect::<Vec<_>>()
    };
    assert_eq!(told(&watcher), [b"its own".to_vec()], "the others are not enabled");
    for participant in &made {
        assert_eq!(participant.qos(), qos);
        a.run(|| participant.enable()).unwrap();
    }
    sim.run_until(|| watcher.discovered_participants().len() == 4, secs(9)).unwrap();
    assert_eq!(told(&watcher).iter().filter(|data| *data == b"of the factory").count(), 3);

    factory.set_qos(&DomainParticipantFactoryQos::default());
    factory.set_default_participant_qos(&DomainParticipantQos::default()).unwrap();
    let _plain = a.run(|| DomainParticipant::new(7)).unwrap();
    sim.run_until(|| watcher.discovered_participants().len() == 5, secs(9)).unwrap();
}
