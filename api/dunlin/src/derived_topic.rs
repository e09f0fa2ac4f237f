//! Topics that are made of others, content-filtered topics and multi-topics (DDS 1.4 §2.2.2.3.3, §2.2.2.3.4), as far as
//! participants have to know them.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use crate::mutex::lock;
use crate::topic::TopicInner;

/// A topic that is made of others.
pub(crate) trait DerivedTopic: Send + Sync {
    /// get_name.
    fn name(&self) -> &str;

    /// Whether it is made of a topic.
    fn uses(&self, topic: &Arc<TopicInner>) -> bool;

    /// Ends it; its readers have ended.
    fn end(&self);

    /// With its type.
    fn typed(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// Those of a participant, by name.
#[derive(Default)]
pub(crate) struct DerivedTopics(Mutex<BTreeMap<String, Weak<dyn DerivedTopic>>>);

impl DerivedTopics {
    /// Whether one of this name exists.
    pub(crate) fn contains(&self, name: &str) -> bool {
        lock(&self.0).get(name).is_some_and(|known| known.strong_count() > 0)
    }

    /// The one of this name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<dyn DerivedTopic>> {
        lock(&self.0).get(name).and_then(Weak::upgrade)
    }

    /// All there are.
    pub(crate) fn all(&self) -> Vec<Arc<dyn DerivedTopic>> {
        lock(&self.0).values().filter_map(Weak::upgrade).collect()
    }

    /// Takes one out of the list, so that its name is free.
    pub(crate) fn remove(&self, name: &str) {
        lock(&self.0).remove(name);
    }

    /// Adds one, unless there is one of its name.
    pub(crate) fn add(&self, name: &str, topic: Weak<dyn DerivedTopic>) -> bool {
        let mut topics = lock(&self.0);
        topics.retain(|_, known| known.strong_count() > 0);
        let free = !topics.contains_key(name);
        if free {
            topics.insert(name.to_owned(), topic);
        }
        free
    }
}
