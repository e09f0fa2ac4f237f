//! MultiTopic (DDS 1.4 §2.2.2.3.4): a reader of the rows that a natural join of several topics yields.

mod agree;
mod feed;
mod join;
mod plan;
mod side;

use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, Weak};

use dunlin_cdr::{DdsType, TypeRef, TypeSupport, TypeSupportOf};
use dunlin_filter::{Filter, FilterError, Place, TopicExpression};
use dunlin_qos::{DataReaderQos, TopicQos};
use plan::Plan;

use crate::derived_topic::DerivedTopic;
use crate::entity::EntityError;
use crate::error::{CreateEntityError, ExpressionError, MultiTopicError};
use crate::mutex::lock;
use crate::participant::{DomainParticipant, ParticipantInner, is_usable};
use crate::reader_inner::{JoinedTopic, ReaderInner, TopicSource};
use crate::topic::TopicInner;
use crate::topic_description::{TopicDescription, sealed};

/// What all handles of one multi-topic and its readers share.
pub(crate) struct MultiTopicInner {
    /// A topic that exists in this participant alone.
    pub topic: Arc<TopicInner>,
    expression: String,
    pub plan: Plan,
    pub type_support: Arc<dyn TypeSupport>,
    filter: Mutex<Arc<Filter>>,
    /// Of the condition in the expression.
    condition_at: usize,
}

impl MultiTopicInner {
    pub(crate) fn new<T: DdsType>(
        participant: &Arc<ParticipantInner>,
        name: &str,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<Self, MultiTopicError> {
        let parsed = TopicExpression::parse(expression)?;
        let topics = parsed.topics.iter().map(|name| {
            participant.find_topic(name).ok_or_else(|| MultiTopicError::UnknownTopic(name.clone()))
        });
        let topics = topics.collect::<Result<Vec<_>, _>>()?;
        let plan = Plan::new(&TypeRef::of::<T>(), &parsed.selection, topics, T::DEFAULT_REPRESENTATION)?;
        let condition_at = parsed.condition_at;
        let filter = Filter::new::<T>(&parsed.condition, parameters);
        let filter = filter.map_err(|error| shifted(error, condition_at))?;
        let weak: Weak<ParticipantInner> = Arc::downgrade(participant);
        Ok(Self {
            topic: Arc::new(TopicInner::new::<T>(
                weak,
                participant.topic_handle(),
                name,
                &TopicQos::default(),
                None,
            )),
            expression: expression.to_owned(),
            plan,
            type_support: Arc::new(TypeSupportOf::<T>::default()),
            filter: Mutex::new(Arc::new(filter)),
            condition_at,
        })
    }

    /// The condition in force.
    pub(crate) fn filter(&self) -> Arc<Filter> {
        Arc::clone(&lock(&self.filter))
    }
}

impl DerivedTopic for MultiTopicInner {
    fn name(&self) -> &str {
        &self.topic.name
    }

    fn uses(&self, topic: &Arc<TopicInner>) -> bool {
        self.plan.sides.iter().any(|side| Arc::ptr_eq(&side.topic, topic))
    }

    fn end(&self) {
        self.topic.entity.delete();
    }

    fn typed(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl JoinedTopic for MultiTopicInner {
    fn readers_behind(
        self: Arc<Self>,
        rows: &Arc<ReaderInner>,
        qos: &DataReaderQos,
    ) -> Vec<Arc<ReaderInner>> {
        feed::readers_behind(&self, rows, qos)
    }
}

/// The error with its place in the whole expression.
fn shifted(error: FilterError, by: usize) -> FilterError {
    match error.place {
        Place::Expression(at) => FilterError { place: Place::Expression(at + by), ..error },
        Place::Parameter(_) => error,
    }
}

/// A topic of the rows that a natural join of several topics yields, made by
/// [`DomainParticipant::create_multitopic`](crate::DomainParticipant::create_multitopic). Cheap to clone.
///
/// `T` is the type of a row: a structure whose members are selected from the topics, under their own names or others, as
/// in `SELECT flight, x, y AS latitude FROM 'Location' NATURAL JOIN 'FlightPlan' WHERE latitude < %0`. A field is a member of any
/// type, whole structures and collections included, or a part of one (`a.b[3]`), and goes to a member of the same type; a part of
/// the row may be named too (`AS at.x`), whose other parts have their defaults then. Topics are joined where all members of the
/// same name, keys or not, are equal; these have to have the same type. A topic that has none in common with the others makes rows
/// with each of theirs. The condition is about the members of the row.
///
/// A reader for it is created like any other. It receives a row whenever a sample of one of the topics arrives that finds
/// its partners in the others, the latest of their instances, if the row satisfies the condition. An instance of rows ends when
/// the last row of it that was received is none any more: disposed, if a part of it was disposed; without writers, if a part lost
/// its writers, or changed so that it does not join. Up to 65,536 such rows are kept: a row beyond them, and what is not found among
/// 262,144 candidates for one sample, is reported by SAMPLE_REJECTED. The readers of the topics behind it have its QoS and take part in
/// discovery; their statuses of matching, liveliness, losses and rejections are reported as its own.
pub struct MultiTopic<T: DdsType> {
    pub(crate) inner: Arc<MultiTopicInner>,
    sample: PhantomData<fn() -> T>,
}

impl<T: DdsType> MultiTopic<T> {
    pub(crate) fn new(inner: Arc<MultiTopicInner>) -> Self {
        Self { inner, sample: PhantomData }
    }

    /// get_name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.topic.name
    }

    /// get_type_name.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.inner.topic.type_name
    }

    /// get_participant; `None` once it is gone.
    #[must_use]
    pub fn participant(&self) -> Option<DomainParticipant> {
        self.inner.topic.domain_participant()
    }

    /// get_subscription_expression.
    #[must_use]
    pub fn subscription_expression(&self) -> &str {
        &self.inner.expression
    }

    /// get_expression_parameters.
    #[must_use]
    pub fn expression_parameters(&self) -> Vec<String> {
        self.inner.filter().parameters().to_vec()
    }

    /// set_expression_parameters: rows that are made from now on have to satisfy the condition with these.
    ///
    /// # Errors
    /// Parameters that are missing or do not fit the members they are compared with; nothing has changed then.
    pub fn set_expression_parameters(&self, parameters: &[impl AsRef<str>]) -> Result<(), ExpressionError> {
        if self.inner.topic.entity.is_deleted() {
            return Err(ExpressionError::AlreadyDeleted);
        }
        let mut present = lock(&self.inner.filter);
        let mut changed = Filter::clone(&present);
        changed.set_parameters(parameters).map_err(|error| shifted(error, self.inner.condition_at))?;
        *present = Arc::new(changed);
        Ok(())
    }
}

impl<T: DdsType> Clone for MultiTopic<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.inner))
    }
}

impl<T: DdsType> std::fmt::Debug for MultiTopic<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MultiTopic('{}', {})", self.name(), self.inner.expression)
    }
}

impl<T: DdsType> TopicDescription for MultiTopic<T> {
    type Data = T;
}

impl<T: DdsType> sealed::Source for MultiTopic<T> {
    fn source(&self) -> TopicSource {
        TopicSource::joined(&self.inner.topic, Arc::clone(&self.inner) as Arc<dyn JoinedTopic>)
    }
}

impl DomainParticipant {
    /// create_multitopic: readers created for it receive the rows of type `T` that `expression` makes of the topics it
    /// names, which have to exist in this participant. `parameters` are the values of `%0`, `%1` and so on in it. See
    /// [`MultiTopic`].
    ///
    /// # Errors
    /// An expression that does not fit the topics or the type of the rows; a name that is in use.
    pub fn create_multitopic<T: DdsType>(
        &self,
        name: &str,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<MultiTopic<T>, CreateEntityError> {
        self.inner().entity.check()?;
        if !is_usable(name) {
            return Err(CreateEntityError::BadName);
        }
        let multi = Arc::new(MultiTopicInner::new::<T>(self.inner(), name, expression, parameters)?);
        let weak = Arc::downgrade(&multi);
        self.inner().add_derived_topic(name, weak)?;
        Ok(MultiTopic::new(multi))
    }

    /// delete_multitopic: it ends although there are handles to it, and its name is free.
    ///
    /// # Errors
    /// [`EntityError::InUse`] while it has readers; [`EntityError::Foreign`], [`EntityError::AlreadyDeleted`].
    pub fn delete_multitopic<T: DdsType>(&self, topic: &MultiTopic<T>) -> Result<(), EntityError> {
        let entity = &topic.inner.topic.entity;
        if !self.inner().owns(&topic.inner.topic) {
            return Err(EntityError::Foreign);
        }
        entity.check()?;
        if self.inner().uses(&topic.inner.topic) {
            return Err(EntityError::InUse);
        }
        if !entity.delete() {
            return Err(EntityError::AlreadyDeleted);
        }
        self.inner().derived_topics.remove(topic.name());
        Ok(())
    }
}
