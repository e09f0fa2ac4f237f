//! What a multi-topic expression (DDS 1.4 §2.2.2.3.4) can be refused for.

use dunlin_core::ReturnCode;
use dunlin_filter::FilterError;

/// Why no multi-topic was made.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MultiTopicError {
    /// The expression does not follow the language, or its condition does not fit the resulting type.
    #[error("the expression cannot be used: {0}")]
    Expression(#[from] FilterError),
    /// A topic to join does not exist.
    #[error("the participant has no topic '{0}': create it first")]
    UnknownTopic(String),
    /// Joined topics, and the resulting type, are structures.
    #[error("{0} is no structure, so it has no members to join or to select")]
    NotAStructure(String),
    /// A joined topic's type is known at run time only and contains values of itself, or is not known at all.
    #[error("expressions cannot look into samples of {0}")]
    NoDescription(String),
    /// No values of a type can be made: its default value is too large, or a value would contain itself without end.
    #[error("no values of {of} can be made: {reason}")]
    NoValues {
        /// The type.
        of: String,
        /// Why.
        reason: String,
    },
    /// A member that topics have in common, so that it joins them, has different types.
    #[error(
        "member `{member}` would join the topics, but it is {first_type} in '{first}' and {second_type} in '{second}'"
    )]
    MemberTypes {
        /// The member.
        member: String,
        /// The first topic that has it.
        first: String,
        /// Its type there.
        first_type: String,
        /// Another.
        second: String,
        /// Its type there.
        second_type: String,
    },
    /// A selected field is in none of the topics.
    #[error("none of the topics has a field `{field}` that can be selected: {reason}")]
    UnknownField {
        /// The field.
        field: String,
        /// What is wrong with it in the first topic.
        reason: String,
    },
    /// Two fields are selected for the same part of the resulting type.
    #[error("a field is selected for `{first}`, another for `{second}`: one is part of the other")]
    Overlap {
        /// A part.
        first: String,
        /// Another.
        second: String,
    },
    /// The resulting type has no member for a selected field.
    #[error("{of} has no member `{member}` for a selected field")]
    UnknownMember {
        /// The name asked for.
        member: String,
        /// The resulting type.
        of: String,
    },
    /// A member of the resulting type is not selected.
    #[error("member `{member}` of {of} is not selected, and not optional")]
    NotSelected {
        /// The member.
        member: String,
        /// The resulting type.
        of: String,
    },
    /// A field does not fit the member it is selected for.
    #[error("member `{member}` has the type {expected}, but field `{field}` is {found}")]
    Mismatch {
        /// The member of the resulting type.
        member: String,
        /// Its type.
        expected: String,
        /// The field selected for it.
        field: String,
        /// Its type.
        found: String,
    },
}

crate::sentence::debug_is_sentence!(MultiTopicError);

impl MultiTopicError {
    /// The DDS return code.
    #[must_use]
    pub const fn return_code(&self) -> ReturnCode {
        match self {
            Self::UnknownTopic(_) => ReturnCode::PreconditionNotMet,
            _ => ReturnCode::BadParameter,
        }
    }
}
