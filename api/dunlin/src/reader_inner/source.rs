//! What a reader reads: a topic, perhaps with a filter, or the rows that a join of several topics yields.

use std::sync::Arc;

use dunlin_qos::DataReaderQos;

use super::ReaderInner;
use crate::content_filter::FilteredTopicInner;
use crate::derived_topic::DerivedTopic;
use crate::topic::TopicInner;

/// One whose readers get what they show from readers of the topics that it is made of.
pub(crate) trait JoinedTopic: DerivedTopic {
    /// The readers behind a reader of it, disabled, with this QoS: what arrives at them becomes what `rows` shows.
    fn readers_behind(self: Arc<Self>, rows: &Arc<ReaderInner>, qos: &DataReaderQos)
    -> Vec<Arc<ReaderInner>>;
}

/// A topic, perhaps with a filter or a join.
#[derive(Clone)]
pub struct TopicSource {
    pub(crate) topic: Arc<TopicInner>,
    pub(crate) filter: Option<Arc<FilteredTopicInner>>,
    pub(crate) multi: Option<Arc<dyn JoinedTopic>>,
}

impl TopicSource {
    pub(crate) fn of_topic(topic: &Arc<TopicInner>) -> Self {
        Self { topic: Arc::clone(topic), filter: None, multi: None }
    }

    /// A topic of this participant alone, whose readers show what comes to those behind them.
    pub(crate) fn joined(topic: &Arc<TopicInner>, multi: Arc<dyn JoinedTopic>) -> Self {
        Self { multi: Some(multi), ..Self::of_topic(topic) }
    }
}
