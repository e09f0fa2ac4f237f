//! What `dunlin ls`, `top`, `graph`, `why` and `explain_topic` say of the pairs of a topic, as numbers that can be compared.

use std::collections::BTreeMap;

use dunlin::{DomainParticipant, Explanation};
use serde_json::Value;

/// Of a topic: pairs, those that match, those of which nothing keeps samples from arriving.
pub type Verdict = (usize, usize, usize);
/// Of each topic.
pub type Verdicts = BTreeMap<String, Verdict>;

fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn of_each<T>(answer: &Value, judge: impl Fn(&Value) -> T) -> BTreeMap<String, T> {
    let name = |topic: &Value| topic["name"].as_str().unwrap_or_default().to_owned();
    array(answer, "topics").iter().map(|topic| (name(topic), judge(topic))).collect()
}

/// Of what has a list of pairs, as the answer of `why` and the topics of `ls`.
#[must_use]
pub fn of_pairs(value: &Value) -> Verdict {
    let pairs = array(value, "pairs");
    let matched = || pairs.iter().filter(|pair| pair["matched"] == true);
    (pairs.len(), matched().count(), matched().filter(|pair| array(pair, "causes").is_empty()).count())
}

/// What `ls --json` says.
#[must_use]
pub fn of_ls(answer: &Value) -> Verdicts {
    of_each(answer, of_pairs)
}

/// What `top --json` says.
#[must_use]
pub fn of_top(answer: &Value) -> Verdicts {
    let number = |value: &Value| value.as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
    of_each(answer, |topic| (number(&topic["pairs"]), number(&topic["matched"]), number(&topic["well"])))
}

/// What `graph --format json` says: whether all arrows of a topic are well.
#[must_use]
pub fn of_graph(answer: &Value) -> BTreeMap<String, bool> {
    of_each(answer, |topic| array(topic, "arrows").iter().all(|arrow| arrow["well"] == true))
}

/// What a participant without endpoints explains of a topic. Types of others are known once somebody asks.
#[must_use]
pub fn of_explanation(bystander: &DomainParticipant, topic: &str) -> Verdict {
    let writers = bystander.discovered_publications().into_iter().map(|writer| writer.guid);
    let readers = bystander.discovered_subscriptions().into_iter().map(|reader| reader.guid);
    writers.chain(readers).for_each(|guid| _ = bystander.discovered_type(guid));
    let Explanation { pairs, .. } = bystander.explain_topic(topic);
    let matched = || pairs.iter().filter(|pair| pair.matched);
    (pairs.len(), matched().count(), matched().filter(|pair| pair.causes.is_empty()).count())
}

/// The topics of which something else is said than is expected: name, expected, said.
#[must_use]
pub fn differing(expected: &Verdicts, said: &Verdicts) -> Vec<(String, Verdict, Option<Verdict>)> {
    let others = expected.iter().filter(|(name, verdict)| said.get(*name) != Some(*verdict));
    others.map(|(name, verdict)| (name.clone(), *verdict, said.get(name).copied())).collect()
}
