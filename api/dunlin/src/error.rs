//! One error type per operation, each with the return code of DDS 1.4 §2.2.1.1.
//!
//! Operations that write borrow the sample, so a failed write leaves it with the caller.
//!
//! `Debug` of an error is its sentence, like `Display`: that is what a program prints whose `main` returns it.

mod multi_topic;
mod request_reply;

use dunlin_cdr::CdrError;
use dunlin_core::{Duration, ReturnCode};
use dunlin_driver::CannotWait;
use dunlin_qos::{ImmutablePolicy, InconsistentPolicy, UnsupportedPolicy};
pub use multi_topic::MultiTopicError;
pub use request_reply::{ReplyError, RequestError};
use thiserror::Error;

use crate::entity::{Deleted, Unusable};

crate::sentence::debug_is_sentence!(
    CreateParticipantError,
    CreateEntityError,
    ExpressionError,
    SetQosError,
    WriteError,
    LoanError,
    ReadError,
    GroupAccessError,
    WaitForError,
    PumpError,
    NotMatched,
);

macro_rules! from_unusable {
    ($($type:ident),+) => {$(
        impl From<Deleted> for $type {
            fn from(_: Deleted) -> Self {
                Self::AlreadyDeleted
            }
        }

        impl From<Unusable> for $type {
            fn from(why: Unusable) -> Self {
                match why {
                    Unusable::NotEnabled => Self::NotEnabled,
                    Unusable::Deleted => Self::AlreadyDeleted,
                }
            }
        }
    )+};
}

from_unusable!(WriteError, ReadError, GroupAccessError, WaitForError, NotMatched);

macro_rules! from_deleted {
    ($($type:ident),+) => {$(
        impl From<Deleted> for $type {
            fn from(_: Deleted) -> Self {
                Self::AlreadyDeleted
            }
        }
    )+};
}

from_deleted!(CreateEntityError, SetQosError, ExpressionError);

macro_rules! return_codes {
    ($type:ty { $($pattern:pat => $code:ident),+ $(,)? }) => {
        impl $type {
            /// The DDS return code.
            #[must_use]
            pub fn return_code(&self) -> ReturnCode {
                match self { $($pattern => ReturnCode::$code),+ }
            }
        }
    };
}

/// Why no participant was made.
#[derive(Error)]
#[non_exhaustive]
pub enum CreateParticipantError {
    /// The configuration cannot be used.
    #[error("configuration: {0}")]
    Config(#[from] dunlin_config::ConfigError),
    /// What is to be logged is not understood.
    #[error("configuration: {0}")]
    Logging(#[from] crate::logging::LoggingError),
    /// The QoS contradicts itself.
    #[error(transparent)]
    InconsistentPolicy(#[from] InconsistentPolicy),
    /// A policy has no effect yet.
    #[error(transparent)]
    UnsupportedPolicy(#[from] UnsupportedPolicy),
    /// Sockets, interfaces or threads could not be had.
    #[error("cannot join domain {domain}: {source}")]
    Network {
        /// The domain asked for.
        domain: u32,
        /// What went wrong, with what to do about it.
        source: dunlin_driver::JoinError,
    },
}

return_codes!(CreateParticipantError {
    Self::Config(_) | Self::Logging(_) => BadParameter,
    Self::InconsistentPolicy(_) => InconsistentPolicy,
    Self::UnsupportedPolicy(_) => Unsupported,
    Self::Network { .. } => Error,
});

/// Why a topic, publisher, subscriber, writer or reader was not made.
#[derive(Error)]
#[non_exhaustive]
pub enum CreateEntityError {
    /// The QoS contradicts itself.
    #[error(transparent)]
    InconsistentPolicy(#[from] InconsistentPolicy),
    /// A policy has no effect yet.
    #[error(transparent)]
    UnsupportedPolicy(#[from] UnsupportedPolicy),
    /// The participant has a topic of this name with another type.
    #[error("topic '{topic}' exists with type '{existing}', not '{requested}'")]
    TypeConflict {
        /// Name of the topic.
        topic: String,
        /// Type it was created with.
        existing: String,
        /// Type asked for now.
        requested: String,
    },
    /// A topic or type name that cannot be announced.
    #[error("a topic or type name has 1 to 256 bytes, none of them zero")]
    BadName,
    /// A condition that cannot be used.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A multi-topic that cannot be made.
    #[error(transparent)]
    MultiTopic(#[from] MultiTopicError),
    /// The participant has a topic or content-filtered topic of this name.
    #[error("the participant has a topic or content-filtered topic '{0}' already")]
    NameInUse(String),
    /// Another type is registered under this name.
    #[error("another type is registered with the participant as '{0}'")]
    TypeNameInUse(String),
    /// No type is registered under this name.
    #[error("no type is registered with the participant as '{0}': see register_type")]
    TypeNotRegistered(String),
    /// A multi-topic has no QoS that its reader could take over.
    #[error("a multi-topic has no QoS to create a reader with: give one, or DATAREADER_QOS_DEFAULT")]
    NoTopicQos,
    /// The topic belongs to another participant.
    #[error("the topic belongs to another participant")]
    ForeignTopic,
    /// An entity can be enabled when the one that created it is.
    #[error("the publisher, subscriber or participant that created it is not enabled")]
    FactoryNotEnabled,
    /// No more endpoints can be made in this participant.
    #[error("the participant has no entity ids left")]
    OutOfResources,
    /// The topic, or what should create the entity, was deleted.
    #[error("the topic, or what should create the entity, was deleted")]
    AlreadyDeleted,
    /// Only the library creates readers in the built-in subscriber.
    #[error("the built-in subscriber has the readers of the built-in topics and no others")]
    BuiltinSubscriber,
    /// Requests and replies are no instances: each would register one that nobody ever unregisters.
    #[error("type '{0}' has a key: requests and replies have none")]
    KeyedService(String),
}

impl CreateEntityError {
    /// The DDS return code.
    #[must_use]
    pub fn return_code(&self) -> ReturnCode {
        match self {
            Self::InconsistentPolicy(_) => ReturnCode::InconsistentPolicy,
            Self::UnsupportedPolicy(_) | Self::KeyedService(_) => ReturnCode::Unsupported,
            Self::TypeConflict { .. }
            | Self::ForeignTopic
            | Self::BuiltinSubscriber
            | Self::FactoryNotEnabled
            | Self::TypeNameInUse(_)
            | Self::TypeNotRegistered(_)
            | Self::NoTopicQos
            | Self::NameInUse(_) => ReturnCode::PreconditionNotMet,
            Self::BadName | Self::Expression(_) => ReturnCode::BadParameter,
            Self::MultiTopic(error) => error.return_code(),
            Self::OutOfResources => ReturnCode::OutOfResources,
            Self::AlreadyDeleted => ReturnCode::AlreadyDeleted,
        }
    }
}

/// Why a filter or query expression, or its parameters, cannot be used.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// It does not follow the language or does not fit the type.
    #[error("the expression cannot be used: {0}")]
    Filter(#[from] dunlin_filter::FilterError),
    /// Expression and parameters together cannot be announced.
    #[error("expression and parameters together have more than 32 KiB, or contain NUL")]
    TooLarge,
    /// The type is known at run time only and contains values of itself, or its samples are not looked into at all.
    #[error("expressions cannot look into samples of this type")]
    NoDescription,
    /// The topic or condition was deleted.
    #[error("the topic or condition was deleted")]
    AlreadyDeleted,
}

return_codes!(ExpressionError {
    Self::Filter(_) | Self::TooLarge | Self::NoDescription => BadParameter,
    Self::AlreadyDeleted => AlreadyDeleted,
});

/// Why a QoS was not changed. Nothing of it was applied.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SetQosError {
    /// The QoS contradicts itself.
    #[error(transparent)]
    InconsistentPolicy(#[from] InconsistentPolicy),
    /// A policy has no effect yet.
    #[error(transparent)]
    UnsupportedPolicy(#[from] UnsupportedPolicy),
    /// The policy cannot change once the entity is enabled.
    #[error(transparent)]
    ImmutablePolicy(#[from] ImmutablePolicy),
    /// A multi-topic has no QoS that its reader could take over.
    #[error("a multi-topic has no QoS to give to a reader: give one, or DATAREADER_QOS_DEFAULT")]
    NoTopicQos,
    /// The entity was deleted.
    #[error("the entity was deleted")]
    AlreadyDeleted,
}

impl From<dunlin_engine::SetQosError> for SetQosError {
    fn from(error: dunlin_engine::SetQosError) -> Self {
        use dunlin_qos::QosError;
        match error {
            dunlin_engine::SetQosError::Qos(QosError::Inconsistent(e)) => Self::InconsistentPolicy(e),
            dunlin_engine::SetQosError::Qos(QosError::Unsupported(e)) => Self::UnsupportedPolicy(e),
            dunlin_engine::SetQosError::Qos(QosError::Immutable(e)) => Self::ImmutablePolicy(e),
            dunlin_engine::SetQosError::Deleted => Self::AlreadyDeleted,
        }
    }
}

return_codes!(SetQosError {
    Self::InconsistentPolicy(_) => InconsistentPolicy,
    Self::UnsupportedPolicy(_) => Unsupported,
    Self::ImmutablePolicy(_) => ImmutablePolicy,
    Self::NoTopicQos => PreconditionNotMet,
    Self::AlreadyDeleted => AlreadyDeleted,
});

/// Why a sample, dispose or unregister was not written. The sample stays with the caller.
#[derive(Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The writer is not enabled.
    #[error("the writer is not enabled")]
    NotEnabled,
    /// The history stayed full for the writer's max_blocking_time: readers did not acknowledge.
    #[error("the history stayed full for {0}: the readers did not acknowledge in time")]
    Timeout(Duration),
    /// The history is full, and the task runs in the simulator, on the thread that has to run all others meanwhile.
    #[error("the history is full, and {}", CannotWait::Task)]
    InTask,
    /// The history is full, and the thread runs a simulation.
    #[error("the history is full, and {}", CannotWait::Simulation)]
    InSimulation,
    /// The history is full and waiting cannot help.
    #[error("the writer's resource limits are reached")]
    OutOfResources,
    /// The handle is not one of this writer's instances.
    #[error("the handle names no instance of this writer")]
    UnknownInstance,
    /// The writer has not registered the instance, or has unregistered it.
    #[error("the instance is not registered with this writer")]
    NotRegistered,
    /// The handle names another instance than the sample.
    #[error("the handle names another instance than the sample's key")]
    InstanceMismatch,
    /// The type has no key, so there are no instances to dispose or unregister.
    #[error("the topic has no key: there are no instances")]
    NoKey,
    /// The sample cannot be serialized.
    #[error("the sample cannot be serialized: {0}")]
    Serialize(#[from] CdrError),
    /// The source timestamp is before that of the previous write, or no message can carry it: from 1970 to 2106
    /// (RTPS 2.5 §9.3.2.1).
    #[error("the source timestamp is before that of the previous write, before 1970 or after 2106")]
    BadTimestamp,
    /// An identity among the parameters can be that of no sample: its writer is unknown, or its number is not positive.
    #[error("the {0} identity names no sample: it needs the GUID of a writer and a number from 1 on")]
    BadIdentity(&'static str),
    /// The GUID of the only reader that the sample is for is that of something else.
    #[error("the GUID that the sample is for is not that of a reader")]
    NoReader,
    /// The writer was deleted.
    #[error("the writer was deleted")]
    AlreadyDeleted,
}

return_codes!(WriteError {
    Self::NotEnabled => NotEnabled,
    Self::Timeout(_) => Timeout,
    Self::OutOfResources => OutOfResources,
    Self::UnknownInstance
    | Self::BadTimestamp
    | Self::BadIdentity(_)
    | Self::NoReader
    | Self::Serialize(_) => BadParameter,
    Self::NotRegistered | Self::InstanceMismatch | Self::InTask | Self::InSimulation => PreconditionNotMet,
    Self::NoKey => IllegalOperation,
    Self::AlreadyDeleted => AlreadyDeleted,
});

/// Why a sample could not be lent.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoanError {
    /// Values of the type are not in memory what they are on the wire.
    #[error(
        "{0} cannot be lent: only final structures of numbers, arrays of numbers and such structures are in memory what they \
         are on the wire, and only without padding, with the member of the greatest alignment first, #[repr(C)], and aligned to \
         at most 8 bytes"
    )]
    NotInPlace(&'static str),
    /// The payload would have no room for its encapsulation header, or more bytes than RTPS can say (RTPS 2.5 §8.3.8.3, sampleSize).
    #[error(
        "no payload has {0} bytes: it has four at least, for the encapsulation header, and fewer than 4 GiB"
    )]
    NoPayload(usize),
    /// The payload is longer than what this writer lends, which was settled before.
    #[error(
        "{asked} bytes are more than the {longest} that this writer lends: the first loan settled that, unless \
         set_longest_loan did before"
    )]
    TooLong {
        /// Bytes that were asked for.
        asked: usize,
        /// Bytes of the longest loan.
        longest: usize,
    },
    /// The length of the longest loan was settled before, by the first loan or by `set_longest_loan`.
    #[error("the writer lends {0} bytes at most, which cannot be changed any more")]
    Settled(usize),
}

return_codes!(LoanError {
    Self::NotInPlace(_) => Unsupported,
    Self::NoPayload(_) | Self::TooLong { .. } => BadParameter,
    Self::Settled(_) => PreconditionNotMet,
});

/// Why samples could not be read. Having no data is not an error: the result is empty.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The reader is not enabled.
    #[error("the reader is not enabled")]
    NotEnabled,
    /// The handle is not one of this reader's instances.
    #[error("the handle names no instance of this reader")]
    UnknownInstance,
    /// The condition belongs to another reader.
    #[error("the condition belongs to another reader")]
    ForeignCondition,
    /// The condition was deleted.
    #[error("the condition was deleted")]
    DeletedCondition,
    /// Readers of a subscriber with access scope GROUP are read between begin_access and end_access, or while
    /// on_data_on_readers runs (DDS 1.4 §2.2.2.5.2.8).
    #[error("the subscriber's PRESENTATION has access scope GROUP: call its begin_access first")]
    NotBegun,
    /// What is to be committed is acknowledged already: the reader was not created to acknowledge on commit.
    #[error(
        "the reader acknowledges what arrives: create it with DataReaderQos::acknowledge_on_commit to commit samples"
    )]
    AcknowledgesByItself,
    /// The reader was deleted.
    #[error("the reader was deleted")]
    AlreadyDeleted,
}

return_codes!(ReadError {
    Self::NotEnabled => NotEnabled,
    Self::UnknownInstance => BadParameter,
    Self::ForeignCondition | Self::NotBegun | Self::AcknowledgesByItself => PreconditionNotMet,
    Self::DeletedCondition | Self::AlreadyDeleted => AlreadyDeleted,
});

/// Why a publisher or subscriber did not do something with all its endpoints.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GroupAccessError {
    /// Only what was begun can be ended, and what needs an access needs it begun.
    #[error("there was no begin before: begin_coherent_changes, suspend_publications or begin_access")]
    NotBegun,
    /// The publisher or subscriber is not enabled.
    #[error("the publisher or subscriber is not enabled")]
    NotEnabled,
    /// The publisher or subscriber was deleted.
    #[error("the publisher or subscriber was deleted")]
    AlreadyDeleted,
}

return_codes!(GroupAccessError {
    Self::NotBegun => PreconditionNotMet,
    Self::NotEnabled => NotEnabled,
    Self::AlreadyDeleted => AlreadyDeleted,
});

/// Why waiting for acknowledgments, history or a topic ended early.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WaitForError {
    /// The entity is not enabled.
    #[error("the entity is not enabled")]
    NotEnabled,
    /// The entity was deleted.
    #[error("the entity was deleted")]
    AlreadyDeleted,
    /// It did not happen in time.
    #[error("it did not happen within {0}")]
    Timeout(Duration),
    /// What would be waited for may have to arrive on this very thread.
    #[error("{}", CannotWait::Listener)]
    InListener,
    /// The task runs in the simulator, on the thread that has to run all others meanwhile.
    #[error("{}", CannotWait::Task)]
    InTask,
    /// The thread runs a simulation.
    #[error("{}", CannotWait::Simulation)]
    InSimulation,
}

impl From<CannotWait> for WaitForError {
    fn from(why: CannotWait) -> Self {
        match why {
            CannotWait::Listener => Self::InListener,
            CannotWait::Task => Self::InTask,
            CannotWait::Simulation => Self::InSimulation,
        }
    }
}

return_codes!(WaitForError {
    Self::NotEnabled => NotEnabled,
    Self::AlreadyDeleted => AlreadyDeleted,
    Self::InListener | Self::InTask | Self::InSimulation => PreconditionNotMet,
    Self::Timeout(_) => Timeout,
});

/// Why a participant was not [pumped](crate::DomainParticipant::pump).
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PumpError {
    /// Threads of the library do that: the participant was not made
    /// [`without_threads`](crate::DomainParticipantBuilder::without_threads).
    #[error(
        "the participant has threads of the library, which do that: make it with `without_threads`, or do not pump it"
    )]
    HasThreads,
    /// A listener called this, which runs within a call that pumps.
    #[error("a listener cannot pump: return from it")]
    InListener,
    /// Another thread pumps the participant.
    #[error("another thread pumps this participant")]
    InUse,
    /// The participant was deleted.
    #[error("the participant was deleted")]
    AlreadyDeleted,
}

impl From<dunlin_driver::PumpError> for PumpError {
    fn from(error: dunlin_driver::PumpError) -> Self {
        match error {
            dunlin_driver::PumpError::HasThreads => Self::HasThreads,
            dunlin_driver::PumpError::InListener => Self::InListener,
            dunlin_driver::PumpError::InUse => Self::InUse,
            dunlin_driver::PumpError::Left => Self::AlreadyDeleted,
        }
    }
}

return_codes!(PumpError {
    Self::HasThreads | Self::InListener | Self::InUse => PreconditionNotMet,
    Self::AlreadyDeleted => AlreadyDeleted,
});

/// Why the data of a matched endpoint cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotMatched {
    /// The handle names no matched endpoint.
    #[error("the handle names no matched endpoint")]
    UnknownHandle,
    /// The writer or reader that was asked is not enabled, so it has no matches.
    #[error("the writer or reader is not enabled")]
    NotEnabled,
    /// The writer or reader that was asked was deleted.
    #[error("the writer or reader was deleted")]
    AlreadyDeleted,
}

return_codes!(NotMatched {
    Self::UnknownHandle => BadParameter,
    Self::NotEnabled => NotEnabled,
    Self::AlreadyDeleted => AlreadyDeleted,
});
