//! The listener of the participant: a line for each status.

use dunlin::{
    AnyDataReader, AnyDataWriter, AnyTopic, DeadlineMissedStatus, IncompatibleQosStatus,
    InconsistentTopicStatus, LivelinessChangedStatus, LivelinessLostStatus, MatchedStatus, PublisherListener,
    StatusMask, SubscriberListener, TopicListener,
};

use super::output::Output;

/// Prints what happens to the endpoints.
pub struct Tell(pub Output);

/// What it wants to hear: everything but that there is data.
pub fn statuses() -> StatusMask {
    StatusMask::ALL & !(StatusMask::DATA_AVAILABLE | StatusMask::DATA_ON_READERS)
}

impl Tell {
    fn of(&self, what: &str, topic: &str, type_name: &str, rest: std::fmt::Arguments<'_>) {
        self.0.tell(format!("{what}() topic: '{topic}'  type: '{type_name}' : {rest}"));
    }

    fn incompatible(&self, what: &str, topic: &str, type_name: &str, status: &IncompatibleQosStatus) {
        let Some(policy) = status.last_policy_id else { return };
        self.of(what, topic, type_name, format_args!("{} ({})", policy.value(), policy_name(policy.name())));
    }
}

/// DATA_REPRESENTATION is one word in these lines.
fn policy_name(name: &str) -> String {
    name.replace("DATA_REPRESENTATION", "DATAREPRESENTATION")
}

impl TopicListener for Tell {
    fn on_inconsistent_topic(&self, topic: &AnyTopic, _: InconsistentTopicStatus) {
        let (name, type_name) = (topic.name(), topic.type_name());
        self.0.tell(format!("on_inconsistent_topic() topic: '{name}'  type: '{type_name}'"));
    }
}

impl PublisherListener for Tell {
    fn on_publication_matched(&self, w: &AnyDataWriter, s: MatchedStatus) {
        let rest = format_args!("matched readers {} (change = {})", s.current_count, s.current_count_change);
        self.of("on_publication_matched", w.topic_name(), w.type_name(), rest);
    }

    fn on_offered_incompatible_qos(&self, w: &AnyDataWriter, s: IncompatibleQosStatus) {
        self.incompatible("on_offered_incompatible_qos", w.topic_name(), w.type_name(), &s);
    }

    fn on_offered_deadline_missed(&self, w: &AnyDataWriter, s: DeadlineMissedStatus) {
        let rest = format_args!("(total = {}, change = {})", s.count.total, s.count.change);
        self.of("on_offered_deadline_missed", w.topic_name(), w.type_name(), rest);
    }

    fn on_liveliness_lost(&self, w: &AnyDataWriter, s: LivelinessLostStatus) {
        let rest = format_args!("(total = {}, change = {})", s.total, s.change);
        self.of("on_liveliness_lost", w.topic_name(), w.type_name(), rest);
    }
}

impl SubscriberListener for Tell {
    fn on_subscription_matched(&self, r: &AnyDataReader, s: MatchedStatus) {
        let rest = format_args!("matched writers {} (change = {})", s.current_count, s.current_count_change);
        self.of("on_subscription_matched", r.topic_name(), r.type_name(), rest);
    }

    fn on_requested_incompatible_qos(&self, r: &AnyDataReader, s: IncompatibleQosStatus) {
        self.incompatible("on_requested_incompatible_qos", r.topic_name(), r.type_name(), &s);
    }

    fn on_requested_deadline_missed(&self, r: &AnyDataReader, s: DeadlineMissedStatus) {
        let rest = format_args!("(total = {}, change = {})", s.count.total, s.count.change);
        self.of("on_requested_deadline_missed", r.topic_name(), r.type_name(), rest);
    }

    fn on_liveliness_changed(&self, r: &AnyDataReader, s: LivelinessChangedStatus) {
        let rest = format_args!("(alive = {}, not_alive = {})", s.alive_count, s.not_alive_count);
        self.of("on_liveliness_changed", r.topic_name(), r.type_name(), rest);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::{Sender, channel};

    use dunlin::qos::{DataReaderQos, DataWriterQos, LivelinessKind, PublisherQos, SubscriberQos, TopicQos};
    use dunlin::{Config, DomainParticipant, Duration};
    use dunlin_program::Stop;

    use super::*;
    use crate::types::ShapeType;

    /// What is written, line by line.
    struct Lines(Sender<String>);

    impl Write for Lines {
        fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
            // The test may have ended.
            _ = self.0.send(String::from_utf8_lossy(octets).into_owned());
            Ok(octets.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// No option of the program leads to this line: a writer that has to assert itself does not.
    #[test]
    fn a_writer_without_liveliness_assertion_is_reported_on_both_sides() {
        let (sender, lines) = channel();
        let output = Output::new(Lines(sender), &Stop::default());
        let mut config = Config::default();
        config.set("network.interfaces", "lo").unwrap();
        let domain = 190 + std::process::id() % 20;
        let participant = DomainParticipant::builder(domain).config(config).build().unwrap();
        participant.set_listener(Tell(output), statuses());
        let topic = participant.create_topic::<ShapeType>("Mute", &TopicQos::default()).unwrap();
        let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
        let _reader = subscriber.create_datareader(&topic, &DataReaderQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let qos =
            DataWriterQos::default().liveliness(LivelinessKind::ManualByTopic, Duration::from_millis(100));
        let writer = publisher.create_datawriter(&topic, &qos).unwrap();
        writer.write(&ShapeType::default()).unwrap();
        let mut missing = vec![
            "on_liveliness_changed() topic: 'Mute'  type: 'ShapeType' : (alive = 1, not_alive = 0)\n",
            "on_liveliness_lost() topic: 'Mute'  type: 'ShapeType' : (total = 1, change = 1)\n",
            "on_liveliness_changed() topic: 'Mute'  type: 'ShapeType' : (alive = 0, not_alive = 1)\n",
        ];
        let mut seen = Vec::new();
        while !missing.is_empty() {
            let line = lines.recv_timeout(std::time::Duration::from_secs(30));
            let line = line.unwrap_or_else(|_| panic!("{missing:?} is not in {seen:?}"));
            missing.retain(|wanted| *wanted != line);
            seen.push(line);
        }
    }
}
