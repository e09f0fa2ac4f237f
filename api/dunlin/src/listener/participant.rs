//! Setting the listener of a participant, creating entities with theirs, and calling it.

use std::any::Any;
use std::sync::Arc;

use dunlin_cdr::DdsType;
use dunlin_qos::{PublisherQos, SubscriberQos, TopicQos};

use super::{DomainParticipantListener, PublisherListener, SubscriberListener, TopicListener};
use super::{publisher, subscriber, topic};
use crate::endpoint_qos::EntityQos;
use crate::error::CreateEntityError;
use crate::participant::{DomainParticipant, DomainParticipantBuilder, ErasedParticipantListener};
use crate::publisher::Publisher;
use crate::reader_inner::ReaderInner;
use crate::status::StatusMask;
use crate::subscriber::Subscriber;
use crate::topic::{Topic, TopicInner};
use crate::writer_inner::WriterInner;

impl DomainParticipantBuilder {
    /// A listener that the participant has from the beginning. Participants that are made of a clone of this have the same.
    /// It may be called before [`build`](Self::build) has returned, on this or another thread: it uses the entities that it is
    /// handed.
    #[must_use]
    pub fn listener(mut self, listener: impl DomainParticipantListener, mask: StatusMask) -> Self {
        self.set_listener(Arc::new(Erased(Arc::new(listener))), mask);
        self
    }
}

impl DomainParticipant {
    /// set_listener: it hears of everything that no listener of the participant's entities answers for. Replaces the
    /// previous one.
    pub fn set_listener(&self, listener: impl DomainParticipantListener, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn DomainParticipantListener>, mask: StatusMask) {
        let listener: Arc<dyn ErasedParticipantListener> = Arc::new(Erased(listener));
        self.inner().entity.listener.set(Some((Some(listener), mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn DomainParticipantListener>> {
        let erased = self.inner().entity.listener.get()?;
        erased.typed().downcast_ref().map(|Erased(listener)| Arc::clone(listener))
    }

    /// The statuses that a listener set here answers for, or one that does nothing; `None` without either.
    #[must_use]
    pub fn listener_mask(&self) -> Option<StatusMask> {
        self.inner().entity.listener.mask()
    }

    /// Removes the listener; one that runs at this moment finishes.
    pub fn clear_listener(&self) {
        self.inner().entity.listener.set(None);
    }

    /// create_topic with a listener. It may be called before this has returned, on another thread: it uses the topic that it
    /// is handed.
    ///
    /// # Errors
    /// As [`create_topic`](Self::create_topic).
    pub fn create_topic_with_listener<'q, T: DdsType>(
        &self,
        name: &str,
        qos: impl Into<EntityQos<'q, TopicQos>>,
        listener: impl TopicListener,
        mask: StatusMask,
    ) -> Result<Topic<T>, CreateEntityError> {
        // What it is told before concerns other topics of the name.
        let topic = self.create_topic(name, qos)?;
        topic.set_listener(listener, mask);
        Ok(topic)
    }

    /// create_publisher with a listener.
    ///
    /// # Errors
    /// As [`create_publisher`](Self::create_publisher).
    pub fn create_publisher_with_listener<'q>(
        &self,
        qos: impl Into<EntityQos<'q, PublisherQos>>,
        listener: impl PublisherListener,
        mask: StatusMask,
    ) -> Result<Publisher, CreateEntityError> {
        // Nothing is missed: it has no writers yet.
        let publisher = self.create_publisher(qos)?;
        publisher.set_listener(listener, mask);
        Ok(publisher)
    }

    /// create_subscriber with a listener.
    ///
    /// # Errors
    /// As [`create_subscriber`](Self::create_subscriber).
    pub fn create_subscriber_with_listener<'q>(
        &self,
        qos: impl Into<EntityQos<'q, SubscriberQos>>,
        listener: impl SubscriberListener,
        mask: StatusMask,
    ) -> Result<Subscriber, CreateEntityError> {
        let subscriber = self.create_subscriber(qos)?;
        subscriber.set_listener(listener, mask);
        Ok(subscriber)
    }
}

struct Erased(Arc<dyn DomainParticipantListener>);

impl ErasedParticipantListener for Erased {
    fn typed(&self) -> &dyn Any {
        self
    }

    fn call_of_topic(&self, topic: &Arc<TopicInner>, status: StatusMask) {
        topic::call(&*self.0, topic, status);
    }

    fn call_of_writer(&self, writer: &Arc<WriterInner>, status: StatusMask) {
        publisher::call(&*self.0, writer, status);
    }

    fn call_of_reader(&self, reader: &Arc<ReaderInner>, status: StatusMask) {
        subscriber::call(&*self.0, reader, status);
    }

    fn call_data_on_readers(&self, reader: &Arc<ReaderInner>) {
        self.0.on_data_on_readers(&reader.subscriber());
    }
}
