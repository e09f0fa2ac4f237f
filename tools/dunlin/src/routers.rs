//! What the routers of a domain tell of a topic.

use std::fmt::Write;

use anyhow::Result;
use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DomainParticipant};
use dunlin_router::{RouterStatus, STATUS_TOPIC};
use serde_json::{Value, json};

/// Subscription to their status.
pub struct Routers(DataReader<RouterStatus>);

impl Routers {
    pub fn subscribe(participant: &DomainParticipant) -> Result<Self> {
        let topic = participant.create_topic::<RouterStatus>(STATUS_TOPIC, &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let qos = DataReaderQos::default().reliable().transient_local().keep_last(1);
        Ok(Self(subscriber.create_datareader(&topic, &qos)?))
    }

    /// What was told last of a topic, by its name on either side.
    pub fn of_topic(&self, topic: &str) -> Result<Vec<RouterStatus>> {
        let read = self.0.read(usize::MAX)?;
        let told = read.into_iter().filter_map(|sample| sample.data);
        let mut told: Vec<_> = told.filter(|it| it.topic == topic || it.output_topic == topic).collect();
        told.sort_by(|a, b| (&a.router, &a.route, &a.to).cmp(&(&b.router, &b.route, &b.to)));
        Ok(told)
    }
}

/// For people.
pub fn text(told: &[RouterStatus]) -> String {
    let mut text = String::new();
    for it in told {
        _ = write!(text, "router '{}', route '{}' to '{}': ", it.router, it.route, it.to);
        _ = match it.outputs {
            0 => writeln!(text, "'{}' is not passed on", it.topic),
            outputs => writeln!(
                text,
                "'{}' is passed on as '{}': {} writers, {outputs} outputs, {} samples",
                it.topic, it.output_topic, it.writers, it.samples
            ),
        };
        for dropped in &it.dropped {
            _ = writeln!(text, "  {} samples were left out: {}", dropped.count, dropped.reason);
        }
        for why in &it.refused {
            _ = writeln!(text, "  not passed on: {why}");
        }
    }
    text
}

/// For programs.
pub fn to_json(told: &[RouterStatus]) -> Value {
    let one = |it: &RouterStatus| {
        json!({
            "router": it.router,
            "route": it.route,
            "topic": it.topic,
            "to": it.to,
            "output_topic": it.output_topic,
            "outputs": it.outputs,
            "writers": it.writers,
            "samples": it.samples,
            "refused": it.refused,
        })
    };
    told.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_that_a_router_does_not_pass_are_listed_with_the_reason() {
        let refused = RouterStatus {
            router: "gate".into(),
            route: "all".into(),
            topic: "Square".into(),
            to: "outer".into(),
            refused: vec!["the pattern \"S*\" of deny_topics denies it".into()],
            ..RouterStatus::default()
        };
        let text = text(std::slice::from_ref(&refused));
        assert!(text.contains("router 'gate'") && text.contains("'Square' is not passed on"), "{text}");
        assert!(text.contains("deny_topics"), "{text}");
        assert_eq!(to_json(&[refused])[0]["router"], "gate");
    }
}
