//! QueryCondition (DDS 1.4 §2.2.2.5.9).

use std::ops::Deref;
use std::sync::Arc;

use dunlin_cache::{InstanceSelect, SampleData};
use dunlin_cdr::TopicType;

use crate::condition::Condition;
use crate::error::ExpressionError;
use crate::query::{Query, satisfies};
use crate::reader::{DataReader, ReadCondition, StateMasks, selection};

/// Selects samples by their states and by a condition on their contents; true while the reader has such a sample. Use it
/// like the [`ReadCondition`] that it is.
///
/// Of samples without data, which tell that an instance ended, a condition about the key alone selects those whose key
/// satisfies it; any other condition selects none.
#[derive(Clone, Debug)]
pub struct QueryCondition {
    condition: ReadCondition,
    query: Arc<Query>,
}

impl QueryCondition {
    /// get_query_expression.
    #[must_use]
    pub fn query_expression(&self) -> String {
        self.query.filter().expression().to_owned()
    }

    /// get_query_parameters.
    #[must_use]
    pub fn query_parameters(&self) -> Vec<String> {
        self.query.filter().parameters().to_vec()
    }

    /// set_query_parameters: wait-sets look at the condition again.
    ///
    /// # Errors
    /// Parameters that are missing or do not fit the members they are compared with, and nothing has changed then;
    /// [`ExpressionError::AlreadyDeleted`].
    pub fn set_query_parameters(&self, parameters: &[impl AsRef<str>]) -> Result<(), ExpressionError> {
        if self.condition.is_deleted() {
            return Err(ExpressionError::AlreadyDeleted);
        }
        self.query.set_parameters(parameters)?;
        self.condition.raise();
        Ok(())
    }
}

impl Deref for QueryCondition {
    type Target = ReadCondition;

    fn deref(&self) -> &ReadCondition {
        &self.condition
    }
}

impl<T: TopicType> DataReader<T> {
    /// create_querycondition: selects by a query in the language described at [`filter`](crate::filter), which may end
    /// with ORDER BY and fields: samples are then read and taken in that order.
    ///
    /// # Errors
    /// A query that does not fit the type, or parameters that are missing or do not fit.
    pub fn create_querycondition(
        &self,
        states: StateMasks,
        expression: &str,
        parameters: &[impl AsRef<str>],
    ) -> Result<QueryCondition, ExpressionError> {
        let core = self.core();
        core.check()?;
        let description = core.topic.description().ok_or(ExpressionError::NoDescription)?;
        let query = Arc::new(Query::new(description, expression, parameters)?);
        let reader = Arc::downgrade(core);
        let wanted = selection(1, states, InstanceSelect::Any);
        let trigger = {
            let (reader, query) = (reader.clone(), Arc::clone(&query));
            move || {
                let (core, query) = (reader.upgrade(), query.filter());
                let mut matches = |sample: &SampleData<'_>| satisfies(&query, sample);
                core.is_some_and(|core| {
                    core.enabled().is_ok_and(|slot| slot.has_matching_where(&wanted, &mut matches))
                })
            }
        };
        let condition = Condition::new(Arc::clone(&core.signal), trigger);
        core.add_condition(&condition, &wanted);
        let condition = ReadCondition::of_query(reader, states, Arc::clone(&query), condition);
        Ok(QueryCondition { condition, query })
    }
}
