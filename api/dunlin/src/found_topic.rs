//! Topics of any kind by name, and of readers (DDS 1.4 §2.2.2.2.1.12 lookup_topicdescription, §2.2.2.5.3 get_topicdescription).

use std::any::{Any, TypeId};
use std::sync::Arc;

use dunlin_cdr::DdsType;

use crate::content_filter::{ContentFilteredTopic, FilteredTopicInner};
use crate::multi_topic::{MultiTopic, MultiTopicInner};
use crate::participant::DomainParticipant;
use crate::reader::DataReader;
use crate::topic::{Topic, TopicInner};

/// What [`DomainParticipant::lookup_topicdescription`] finds.
#[derive(Clone, Debug)]
pub enum FoundTopic<T: DdsType> {
    /// A topic.
    Topic(Topic<T>),
    /// A content-filtered topic.
    ContentFilteredTopic(ContentFilteredTopic<T>),
    /// A multi-topic.
    MultiTopic(MultiTopic<T>),
}

fn fits<T: DdsType>(topic: &TopicInner) -> bool {
    topic.type_id == TypeId::of::<T>()
}

impl<T: DdsType> FoundTopic<T> {
    /// A topic that is made of others, if its type is `T`.
    fn derived(derived: Arc<dyn Any + Send + Sync>) -> Option<Self> {
        match derived.downcast::<FilteredTopicInner>() {
            Ok(filtered) => fits::<T>(&filtered.topic)
                .then(|| Self::ContentFilteredTopic(ContentFilteredTopic::new(filtered))),
            Err(derived) => {
                let multi = derived.downcast::<MultiTopicInner>().ok()?;
                fits::<T>(&multi.topic).then(|| Self::MultiTopic(MultiTopic::new(multi)))
            }
        }
    }
}

impl DomainParticipant {
    /// lookup_topicdescription: the topic, content-filtered topic or multi-topic of this name and type in this participant; of
    /// several topics the oldest.
    #[must_use]
    pub fn lookup_topicdescription<T: DdsType>(&self, name: &str) -> Option<FoundTopic<T>> {
        if let Some(topic) = self.inner().find_topic(name).filter(|topic| fits::<T>(topic)) {
            return Some(FoundTopic::Topic(Topic::new(topic)));
        }
        FoundTopic::derived(self.inner().derived_topics.get(name)?.typed())
    }
}

impl<T: DdsType> DataReader<T> {
    /// get_topicdescription: the topic, content-filtered topic or multi-topic it was made for.
    #[must_use]
    pub fn topic_description(&self) -> FoundTopic<T> {
        let source = self.core().source();
        let joined = source.multi.and_then(|multi| FoundTopic::derived(multi.typed()));
        match (source.filter, joined) {
            (Some(filtered), _) => FoundTopic::ContentFilteredTopic(ContentFilteredTopic::new(filtered)),
            (None, Some(joined)) => joined,
            (None, None) => FoundTopic::Topic(Topic::new(source.topic)),
        }
    }
}
