//! Topic (DDS 1.4 §2.2.2.3).

use crate::participant::ParticipantInner;
use crate::status::{InconsistentTopicStatus, ReadAndReset};
use crate::writer_core::lock;
use dunlin_cdr::{DdsType, TypeDescription, TypeSupport, TypeSupportOf, description};
use dunlin_qos::TopicQos;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, Weak};

pub(crate) struct TopicInner {
    pub participant: Weak<ParticipantInner>,
    pub name: String,
    pub type_name: String,
    pub keyed: bool,
    pub description: &'static TypeDescription,
    pub type_support: Arc<dyn TypeSupport>,
    qos: Mutex<TopicQos>,
    inconsistent: Mutex<InconsistentTopicStatus>,
}

impl TopicInner {
    pub fn new<T: DdsType>(participant: Weak<ParticipantInner>, name: &str, qos: &TopicQos) -> Self {
        Self {
            participant,
            name: name.to_owned(),
            type_name: T::TYPE_NAME.to_owned(),
            keyed: T::HAS_KEY,
            description: description::<T>(),
            type_support: Arc::new(TypeSupportOf::<T>::default()),
            qos: Mutex::new(qos.clone()),
            inconsistent: Mutex::default(),
        }
    }

    pub fn qos(&self) -> TopicQos {
        lock(&self.qos).clone()
    }

    pub fn count_inconsistent(&self) {
        lock(&self.inconsistent).add(1);
    }
}

/// A name and a type that writers and readers share. Cheap to clone.
pub struct Topic<T: DdsType> {
    pub(crate) inner: Arc<TopicInner>,
    sample: PhantomData<fn(T) -> T>,
}

impl<T: DdsType> Topic<T> {
    pub(crate) fn new(inner: Arc<TopicInner>) -> Self {
        Self { inner, sample: PhantomData }
    }

    /// get_name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// get_type_name.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.inner.type_name
    }

    /// get_qos: use it with `with_topic_qos` of the writer's and reader's QoS.
    #[must_use]
    pub fn qos(&self) -> TopicQos {
        self.inner.qos()
    }

    /// get_inconsistent_topic_status: endpoints that use the name with another type.
    #[must_use]
    pub fn inconsistent_topic_status(&self) -> InconsistentTopicStatus {
        lock(&self.inner.inconsistent).read_and_reset()
    }
}

impl<T: DdsType> Clone for Topic<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.inner))
    }
}

impl<T: DdsType> std::fmt::Debug for Topic<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Topic('{}', {})", self.inner.name, self.inner.type_name)
    }
}
