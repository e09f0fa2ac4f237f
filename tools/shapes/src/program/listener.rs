//! The listener of the participant: a line for each status.

use super::output::Output;
use dunlin::{
    AnyDataReader, AnyDataWriter, AnyTopic, DeadlineMissedStatus, IncompatibleQosStatus,
    InconsistentTopicStatus, LivelinessChangedStatus, LivelinessLostStatus, MatchedStatus, PublisherListener,
    StatusMask, SubscriberListener, TopicListener,
};

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
