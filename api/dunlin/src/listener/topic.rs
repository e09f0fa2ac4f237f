//! Setting the listener of a topic, and calling it.

use std::any::Any;
use std::sync::Arc;

use dunlin_cdr::TopicType;

use super::TopicListener;
use crate::any::AnyTopic;
use crate::status::StatusMask;
use crate::topic::{ErasedTopicListener, Topic, TopicInner};

impl<T: TopicType> Topic<T> {
    /// set_listener, for INCONSISTENT_TOPIC: replaces the previous listener.
    pub fn set_listener(&self, listener: impl TopicListener, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn TopicListener>, mask: StatusMask) {
        let listener: Arc<dyn ErasedTopicListener> = Arc::new(Erased(listener));
        self.inner.entity.listener.set(Some((Some(listener), mask)));
    }

    /// A listener that does nothing: these statuses do not reach the participant's listener.
    pub fn consume_statuses(&self, mask: StatusMask) {
        self.inner.entity.listener.set(Some((None, mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn TopicListener>> {
        let erased = self.inner.entity.listener.get()?;
        erased.typed().downcast_ref().map(|Erased(listener)| Arc::clone(listener))
    }

    /// The statuses that a listener set here answers for, or one that does nothing; `None` without either.
    #[must_use]
    pub fn listener_mask(&self) -> Option<StatusMask> {
        self.inner.entity.listener.mask()
    }

    /// Removes the listener; one that runs at this moment finishes.
    pub fn clear_listener(&self) {
        self.inner.entity.listener.set(None);
    }
}

struct Erased(Arc<dyn TopicListener>);

impl ErasedTopicListener for Erased {
    fn typed(&self) -> &dyn Any {
        self
    }

    fn call(&self, topic: &Arc<TopicInner>, status: StatusMask) {
        call(&*self.0, topic, status);
    }
}

pub(super) fn call<L: TopicListener + ?Sized>(listener: &L, topic: &Arc<TopicInner>, status: StatusMask) {
    if status == StatusMask::INCONSISTENT_TOPIC {
        listener.on_inconsistent_topic(&AnyTopic(Arc::clone(topic)), topic.read_inconsistent());
    }
}
