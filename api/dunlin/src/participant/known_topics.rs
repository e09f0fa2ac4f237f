//! The topics of a participant, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use crate::topic::TopicInner;

/// Topics that were created. A name outlives its topics, so that the engine can be told when no topic has it.
#[derive(Default)]
pub(super) struct KnownTopics {
    /// Those of a name in the order of their creation.
    by_name: BTreeMap<String, Vec<Weak<TopicInner>>>,
    /// Topics created since names without topics were last looked for.
    created: usize,
}

impl KnownTopics {
    pub(super) fn add(&mut self, topic: &Arc<TopicInner>) {
        self.by_name.entry(topic.name.clone()).or_default().push(Arc::downgrade(topic));
        self.created += 1;
    }

    pub(super) fn remove(&mut self, topic: &TopicInner) {
        if let Some(topics) = self.by_name.get_mut(&topic.name) {
            topics.retain(|known| !std::ptr::eq(known.as_ptr(), topic));
            if topics.is_empty() {
                self.by_name.remove(&topic.name);
            }
        }
    }

    /// Whether a topic has the name, or had it and is gone without anybody having looked.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The topics of a name, the oldest first.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = Arc<TopicInner>> {
        self.by_name.get(name).into_iter().flatten().filter_map(Weak::upgrade)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Arc<TopicInner>> {
        self.by_name.values().flatten().filter_map(Weak::upgrade)
    }

    /// Forgets the names without topics and returns them: `name` among them if it is one, the others when as many topics
    /// were created as there are names, so that looking costs little for each.
    pub(super) fn sweep(&mut self, name: &str) -> Vec<String> {
        let all = self.created >= self.by_name.len();
        if all {
            self.created = 0;
            let mut gone = Vec::new();
            self.by_name.retain(|name, topics| {
                let left = is_left(topics);
                gone.extend(left.then(|| name.clone()));
                !left
            });
            return gone;
        }
        let left = self.by_name.get_mut(name).is_some_and(is_left);
        let gone = if left { self.by_name.remove_entry(name) } else { None };
        gone.into_iter().map(|(name, _)| name).collect()
    }
}

/// Whether no topic is there any more.
fn is_left(topics: &mut Vec<Weak<TopicInner>>) -> bool {
    topics.retain(|topic| topic.strong_count() > 0);
    topics.is_empty()
}
