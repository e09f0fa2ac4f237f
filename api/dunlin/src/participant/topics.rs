//! What topics need of their participant, and the way back to it.

use std::any::Any;
use std::sync::Arc;

use dunlin_cdr::TopicType;
use dunlin_qos::{Durability, TopicQos};

use super::{DomainParticipant, ParticipantInner};
use crate::content_filter::ContentFilteredTopic;
use crate::error::{CreateEntityError, SetQosError};
use crate::mutex::lock;
use crate::topic::{Topic, TopicFactory, TopicInner};

impl TopicFactory for ParticipantInner {
    fn check_enabled(&self) -> Result<(), CreateEntityError> {
        Self::check_enabled(self)
    }

    fn default_topic_qos(&self) -> TopicQos {
        lock(&self.contents.defaults).topic.clone()
    }

    fn check_new_durability(&self, before: Durability, new: Durability) -> Result<(), SetQosError> {
        Ok(Self::check_new_durability(self, before, new)?)
    }

    fn watch(&self, topic: &TopicInner) {
        if topic.entity.is_deleted() {
            return;
        }
        let names = (&*topic.name, &*topic.type_name);
        let ty = topic.type_information.clone();
        self.run(|engine, now, out| engine.put_topic(now, names, topic.keyed, ty, out));
        if topic.entity.is_deleted() {
            self.forget_deleted(topic);
        }
    }

    fn refresh_endpoints(&self, topic: &Arc<TopicInner>) {
        self.refresh_endpoints_of(topic);
    }

    fn typed(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl ParticipantInner {
    /// Whether a topic belongs to this participant.
    pub(crate) fn owns(&self, topic: &TopicInner) -> bool {
        std::ptr::addr_eq(topic.participant.as_ptr(), self)
    }
}

impl TopicInner {
    /// The participant that it belongs to; `None` once that is gone.
    pub(crate) fn participant_inner(&self) -> Option<Arc<ParticipantInner>> {
        self.participant.upgrade()?.typed().downcast().ok()
    }

    /// The same for the application.
    pub(crate) fn domain_participant(&self) -> Option<DomainParticipant> {
        self.participant_inner().map(DomainParticipant::from_inner)
    }
}

impl<T: TopicType> Topic<T> {
    /// get_participant; `None` once it is gone.
    #[must_use]
    pub fn participant(&self) -> Option<DomainParticipant> {
        self.inner.domain_participant()
    }
}

impl<T: TopicType> ContentFilteredTopic<T> {
    /// get_participant; `None` once it is gone.
    #[must_use]
    pub fn participant(&self) -> Option<DomainParticipant> {
        self.inner.topic.domain_participant()
    }
}
