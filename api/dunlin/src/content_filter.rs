//! ContentFilteredTopic (DDS 1.4 §2.2.2.3.3).

use std::any::Any;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

use dunlin_cdr::TopicType;
use dunlin_engine::{ContentFilter, ContentFilterProperty};
use dunlin_filter::Filter;

use crate::derived_topic::DerivedTopic;
use crate::entity::EntityError;
use crate::error::{CreateEntityError, ExpressionError};
use crate::mutex::lock;
use crate::topic::{Topic, TopicInner};

/// A reader of a content-filtered topic, as far as the topic has to know it.
pub(crate) trait FilteredReader: Send + Sync {
    fn is_deleted(&self) -> bool;

    /// Applies changed parameters.
    fn apply_content_filter(&self, filter: &Arc<ContentFilter>);
}

/// What all handles of one content-filtered topic and its readers share.
pub(crate) struct FilteredTopicInner {
    name: String,
    pub topic: Arc<TopicInner>,
    expression: String,
    state: Mutex<State>,
    readers: Mutex<Vec<Weak<dyn FilteredReader>>>,
    deleted: AtomicBool,
}

struct State {
    filter: Filter,
    revision: u32,
    current: Arc<ContentFilter>,
}

impl State {
    /// Makes what readers announce and apply of a filter.
    fn new(name: &str, topic: &str, filter: Filter, revision: u32) -> Result<Self, ExpressionError> {
        let property = ContentFilterProperty {
            content_filtered_topic_name: name.to_owned(),
            related_topic_name: topic.to_owned(),
            filter_class_name: ContentFilterProperty::SQL.to_owned(),
            filter_expression: filter.expression().to_owned(),
            expression_parameters: filter.parameters().to_vec(),
        };
        if !property.can_be_announced() {
            return Err(ExpressionError::TooLarge);
        }
        let current = Arc::new(ContentFilter::new(property, filter.clone(), revision));
        Ok(Self { filter, revision, current })
    }
}

impl FilteredTopicInner {
    pub(crate) fn new<T: TopicType>(
        topic: &Topic<T>,
        name: &str,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<Self, CreateEntityError> {
        let description = topic.inner.description().ok_or(ExpressionError::NoDescription)?;
        let filter = Filter::for_type(description, expression, parameters).map_err(ExpressionError::from)?;
        Ok(Self {
            state: Mutex::new(State::new(name, topic.name(), filter, 0)?),
            name: name.to_owned(),
            topic: Arc::clone(&topic.inner),
            expression: expression.to_owned(),
            readers: Mutex::default(),
            deleted: AtomicBool::new(false),
        })
    }

    /// The filter in force.
    pub(crate) fn current(&self) -> Arc<ContentFilter> {
        Arc::clone(&lock(&self.state).current)
    }

    /// Ends it although there are handles to it.
    ///
    /// # Errors
    /// It had ended before, or a reader of it was not deleted.
    pub(crate) fn delete(&self) -> Result<(), EntityError> {
        // With the readers, so that none comes between the look at them and the end.
        let readers = lock(&self.readers);
        if self.is_deleted() {
            return Err(EntityError::AlreadyDeleted);
        }
        if readers.iter().filter_map(Weak::upgrade).any(|reader| !reader.is_deleted()) {
            return Err(EntityError::InUse);
        }
        self.deleted.store(true, SeqCst);
        Ok(())
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted.load(SeqCst)
    }

    /// From now on the reader hears of other parameters.
    ///
    /// # Errors
    /// The topic was deleted.
    pub(crate) fn add_reader(&self, reader: Weak<dyn FilteredReader>) -> Result<(), CreateEntityError> {
        let mut readers = lock(&self.readers);
        if self.is_deleted() {
            return Err(CreateEntityError::AlreadyDeleted);
        }
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(reader);
        Ok(())
    }

    fn set_parameters(&self, parameters: &[impl AsRef<str>]) -> Result<(), ExpressionError> {
        if self.is_deleted() {
            return Err(ExpressionError::AlreadyDeleted);
        }
        let current = {
            let mut state = lock(&self.state);
            let mut filter = state.filter.clone();
            filter.set_parameters(parameters)?;
            let revision = state.revision.wrapping_add(1);
            *state = State::new(&self.name, &self.topic.name, filter, revision)?;
            Arc::clone(&state.current)
        };
        // No lock is held here. Of two threads that come to a reader in the wrong order, the later revision wins.
        let readers: Vec<_> = lock(&self.readers).iter().filter_map(Weak::upgrade).collect();
        readers.iter().for_each(|reader| reader.apply_content_filter(&current));
        Ok(())
    }
}

impl DerivedTopic for FilteredTopicInner {
    fn name(&self) -> &str {
        &self.name
    }

    fn uses(&self, topic: &Arc<TopicInner>) -> bool {
        Arc::ptr_eq(&self.topic, topic)
    }

    fn end(&self) {
        // Its readers are deleted, and none can come any more.
        let _ = self.delete();
    }

    fn typed(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// A topic of which only the samples that satisfy a condition are received. Cheap to clone.
///
/// Made by [`DomainParticipant::create_contentfilteredtopic`](crate::DomainParticipant::create_contentfilteredtopic);
/// the language of the condition is described at [`filter`](crate::filter). What does not satisfy it never enters the
/// reader, is acknowledged, and is not lost. The end of an instance (disposal, unregistration) passes if the reader knows
/// the instance, or if the condition is about the key alone and true.
pub struct ContentFilteredTopic<T: TopicType> {
    pub(crate) inner: Arc<FilteredTopicInner>,
    sample: PhantomData<fn(T) -> T>,
}

impl<T: TopicType> ContentFilteredTopic<T> {
    pub(crate) fn new(inner: Arc<FilteredTopicInner>) -> Self {
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
        &self.inner.topic.type_name
    }

    /// get_related_topic.
    #[must_use]
    pub fn related_topic(&self) -> Topic<T> {
        Topic::new(Arc::clone(&self.inner.topic))
    }

    /// get_filter_expression.
    #[must_use]
    pub fn filter_expression(&self) -> &str {
        &self.inner.expression
    }

    /// get_expression_parameters.
    #[must_use]
    pub fn expression_parameters(&self) -> Vec<String> {
        lock(&self.inner.state).filter.parameters().to_vec()
    }

    /// set_expression_parameters: what is received from now on has to satisfy the condition with these, and they are
    /// announced. What the readers have already received stays.
    ///
    /// # Errors
    /// Parameters that are missing or do not fit the members they are compared with; nothing has changed then.
    pub fn set_expression_parameters(&self, parameters: &[impl AsRef<str>]) -> Result<(), ExpressionError> {
        self.inner.set_parameters(parameters)
    }
}

impl<T: TopicType> Clone for ContentFilteredTopic<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.inner))
    }
}

impl<T: TopicType> std::fmt::Debug for ContentFilteredTopic<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ContentFilteredTopic('{}', {})", self.inner.name, self.inner.expression)
    }
}
