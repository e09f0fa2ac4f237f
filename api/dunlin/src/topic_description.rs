//! What readers can be created for (DDS 1.4 §2.2.2.3.1 TopicDescription).

use dunlin_cdr::TopicType;

use crate::content_filter::ContentFilteredTopic;
use crate::topic::Topic;

/// What a reader can be created for: a [`Topic`], a [`ContentFilteredTopic`] or a [`MultiTopic`](crate::MultiTopic)
/// (DDS 1.4 §2.2.2.3.1).
pub trait TopicDescription: sealed::Source {
    /// The type of the samples.
    type Data: TopicType;
}

impl<T: TopicType> TopicDescription for Topic<T> {
    type Data = T;
}

impl<T: TopicType> TopicDescription for ContentFilteredTopic<T> {
    type Data = T;
}

pub(crate) mod sealed {
    use std::sync::Arc;

    use dunlin_cdr::TopicType;

    use crate::content_filter::ContentFilteredTopic;
    use crate::reader_inner::TopicSource;
    use crate::topic::Topic;

    /// Where samples come from.
    pub trait Source {
        /// The topic and its filter.
        #[doc(hidden)]
        fn source(&self) -> TopicSource;
    }

    impl<T: TopicType> Source for Topic<T> {
        fn source(&self) -> TopicSource {
            TopicSource::of_topic(&self.inner)
        }
    }

    impl<T: TopicType> Source for ContentFilteredTopic<T> {
        fn source(&self) -> TopicSource {
            let filter = Some(Arc::clone(&self.inner));
            TopicSource { filter, ..TopicSource::of_topic(&self.inner.topic) }
        }
    }
}
