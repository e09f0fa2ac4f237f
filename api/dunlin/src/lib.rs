//! DDS for Rust: publish and subscribe in real time, interoperable with every DDS that speaks
//! DDSI-RTPS.
//!
//! ```no_run
//! use dunlin::{DdsType, DomainParticipant, Duration, qos::*};
//!
//! #[derive(DdsType, Clone, Debug, Default)]
//! struct Temperature {
//!     #[dds(key)]
//!     sensor: String,
//!     celsius: f64,
//! }
//!
//! let participant = DomainParticipant::new(0)?;
//! let topic = participant.create_topic::<Temperature>("Temperature", &TopicQos::default())?;
//! let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
//! let reader = subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all())?;
//!
//! let publisher = participant.create_publisher(&PublisherQos::default())?;
//! let writer = publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all())?;
//! writer.wait_for_readers(1, Duration::from_secs(30))?;
//! writer.write(&Temperature { sensor: "bow".into(), celsius: 11.5 })?;
//! writer.wait_for_acknowledgments(Duration::from_secs(5))?;
//! for sample in reader.take(16)? {
//!     println!("{:?}", sample.data);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The reader and the writer may be in two programs, on two hosts. Whole programs, one for each row below, are in the folder
//! `examples` of this crate; `docs/getting-started.md` of the repository leads through them.
//!
//! | to do | use |
//! |---|---|
//! | join a domain | [`DomainParticipant::new`], or [`builder`](DomainParticipant::builder) for a name and a [`Config`] |
//! | describe a type | `#[derive(`[`DdsType`](derive@DdsType)`)]`; code made of IDL; [`DynamicType`] at run time |
//! | write | [`DataWriter::write`], [`dispose`](DataWriter::dispose), [`loan_sample`](DataWriter::loan_sample) |
//! | read | [`DataReader::take`], [`read`](DataReader::read), [`stream`](DataReader::stream) for async code |
//! | wait | [`wait_for_readers`](DataWriter::wait_for_readers), [`WaitSet`] with [conditions](Condition), [listeners](DataReaderListener) |
//! | choose what arrives, and how | [`qos`], [`ContentFilteredTopic`], [`QueryCondition`], [`MultiTopic`] |
//! | call a service | [`request_reply`] |
//! | find out why nothing arrives | [`DomainParticipant::explain`], the log, `dunlin why` on the command line |
//! | test a system under faults | `dunlin::sim` (feature `sim`) |
//!
//! # What surprises newcomers
//!
//! - A reader gets what is written after the two have matched. [`wait_for_readers`](DataWriter::wait_for_readers) waits for that;
//!   TRANSIENT_LOCAL keeps samples for readers that come later. A writer whose samples nobody was there for reports it in the log
//!   when it is deleted.
//! - HISTORY is KEEP_LAST 1 by default: of a burst a reader keeps the last sample of each instance. With `keep_all()` on both sides
//!   it gets everything.
//! - Readers are BEST_EFFORT by default, writers RELIABLE. What is lost is sent again where both are reliable.
//! - Two endpoints match only if topic, type, partitions and QoS fit. Otherwise both sides log the reason once.
//!
//! # Entities that are disabled or deleted
//!
//! Operations on an entity that was deleted fail with ALREADY_DELETED, and those that need it enabled fail with NOT_ENABLED
//! before (DDS 1.4 §2.2.2.1.1, §2.2.2.1.1.7). QoS, listeners, status conditions, look-up, creation and deletion work before.
//! Methods without a `Result` cannot report this:
//!
//! - Of a deleted entity, `qos`, names, handles and parents are those that it had, and statuses are as they were read last. Lists and
//!   sets of statuses are empty, look-up finds nothing, and no listener is called.
//! - Of an entity that is not enabled the same holds, with statuses that have not changed.
//! - Clocks and counters always work.
//!
//! # Children of `fork`
//!
//! In a child of `fork` that goes on without `exec` the entities of its parent count as deleted: operations fail with
//! ALREADY_DELETED, and dropping them does nothing, also at the end of the child. The others neither hear of the child nor of its
//! end. The sockets and the shared memory of the parent are not there either: a loan that the parent has is zeros in the child, and
//! can be dropped. The child can have participants of its own, unless another thread of the parent was making or deleting one at
//! the moment of `fork`: what that thread had locked stays locked.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

extern crate self as dunlin;

mod activity;
mod any;
mod architecture;
mod builtin;
mod by_handle;
mod cause;
mod condition;
mod consumer;
mod content_filter;
mod contents;
mod datareaders;
mod datawriters;
mod delivered_history;
mod derived_topic;
mod dynamic;
mod endpoint_qos;
mod entity;
mod error;
mod event_descriptor;
mod explain;
mod factory;
mod found_topic;
mod group_access;
pub mod host;
mod listener;
mod loan;
mod logging;
mod multi_topic;
mod mutex;
mod participant;
mod participant_types;
mod payload_loan;
mod peers;
mod place;
mod process;
mod propagation;
mod publisher;
mod publisher_state;
mod qos_cell;
mod query;
mod query_condition;
mod reader;
mod reader_inner;
mod representation;
pub mod request_reply;
mod sample;
mod sentence;
mod serialized;
mod signal;
#[cfg(feature = "sim")]
pub mod sim;
pub mod statistics;
mod statistics_writer;
mod status;
mod stream;
mod subscriber;
mod subscriber_state;
mod sync;
mod topic;
mod topic_description;
pub mod transport;
mod types;
#[cfg(all(test, loom))]
mod waiting_model;
mod write_params;
mod writer;
mod writer_inner;

pub use activity::Activity;
pub use any::{AnyDataReader, AnyDataWriter, AnyTopic, LocalEndpoint};
pub use builtin::{
    BuiltinDurabilityService, BuiltinDuration, BuiltinHistory, BuiltinResourceLimits, BuiltinTopicKey,
    BuiltinTypeConsistency, DCPS_PARTICIPANT, DCPS_PUBLICATION, DCPS_SUBSCRIPTION, DCPS_TOPIC,
    DcpsParticipant, DcpsPublication, DcpsSubscription, DcpsTopic, ParticipantBuiltinTopicData,
    PublicationBuiltinTopicData, SubscriptionBuiltinTopicData,
};
pub use cause::{Barrier, Cause};
pub use condition::{Condition, GuardCondition, StatusCondition, WaitError, WaitSet};
pub use content_filter::ContentFilteredTopic;
pub use contents::FindTopicError;
pub use delivered_history::DeliveredHistory;
pub use dunlin_buf::SharedBytes;
pub use dunlin_cache::{
    InstanceState, InstanceStateMask, SampleInfo, SampleState, SampleStateMask, ViewState, ViewStateMask,
};
/// Serialization: XCDR1 and XCDR2.
pub use dunlin_cdr as cdr;
/// Implemented by `#[derive(DdsType)]`: a type that can be the type of a topic.
pub use dunlin_cdr::DdsType;
/// What readers and writers are made for: every [`DdsType`], [`DynamicData`], [`SharedView`] and [`SerializedData`].
pub use dunlin_cdr::TopicType;
/// The configuration schema.
pub use dunlin_config as config;
pub use dunlin_config::Config;
pub use dunlin_core::{
    Behaviour, DomainId, Duration, EntityId, EntityKind, Guid, GuidPrefix, InstanceHandle, Locator,
    Misbehaviour, MisbehaviourCounts, ReturnCode, SampleIdentity, SequenceNumber, VendorId, WallTime,
};
pub use dunlin_derive::{CdrRead, CdrWrite};
/// Types and values known at run time.
pub use dunlin_dynamic::{self as dynamic_types, DynamicData, DynamicType, DynamicView, SharedView, Value};
pub use dunlin_engine::{
    BandStats, ContentFilterProperty, ContentFilterStats, KnownType, MOST_MISBEHAVING, Misbehaved,
    ParticipantStats, ReaderStats, RelayStats, TypeDiscovery, WriterStats,
};
/// The query language: conditions of content-filtered topics and query conditions, and what is wrong with them.
pub use dunlin_filter as filter;
/// QoS policies and the QoS of each entity.
pub use dunlin_qos as qos;
pub use dunlin_transport::TransportStats;
/// Graphs of types, their type objects, and whether one can read another.
pub use dunlin_xtypes as xtypes;
pub use endpoint_qos::{
    DATAREADER_QOS_DEFAULT, DATAREADER_QOS_USE_TOPIC_QOS, DATAWRITER_QOS_DEFAULT,
    DATAWRITER_QOS_USE_TOPIC_QOS, EndpointQos, EntityQos, PARTICIPANT_QOS_DEFAULT, PUBLISHER_QOS_DEFAULT,
    SUBSCRIBER_QOS_DEFAULT, TOPIC_QOS_DEFAULT,
};
pub use entity::EntityError;
pub use error::GroupAccessError;
pub use error::{
    CreateEntityError, CreateParticipantError, ExpressionError, LoanError, MultiTopicError, NotMatched,
    PumpError, ReadError, ReplyError, RequestError, SetQosError, WaitForError, WriteError,
};
pub use event_descriptor::EventDescriptor;
pub use explain::{Against, EndpointInfo, Explanation, Note, Pair};
pub use factory::DomainParticipantFactory;
pub use found_topic::FoundTopic;
pub use listener::{
    DataReaderListener, DataWriterListener, DomainParticipantListener, PublisherListener, SubscriberListener,
    TopicListener,
};
pub use loan::{Loan, LoanedSample};
pub use logging::{LoggingError, init_logging};
pub use multi_topic::MultiTopic;
pub use participant::{DomainParticipant, DomainParticipantBuilder};
pub use payload_loan::PayloadLoan;
pub use peers::{MatchedReaderState, MatchedWriterState};
pub use process::ProcessInfo;
pub use publisher::Publisher;
pub use query_condition::QueryCondition;
pub use reader::{DataReader, ReadCondition, StateMasks};
pub use sample::{RawSample, Sample};
pub use serialized::SerializedData;
pub use status::{
    Count, DeadlineMissedStatus, IncompatibleQosStatus, InconsistentTopicStatus, LivelinessChangedStatus,
    LivelinessLostStatus, MatchedStatus, SampleLostStatus, SampleRejectedReason, SampleRejectedStatus,
    StatusMask,
};
pub use stream::SampleStream;
pub use subscriber::Subscriber;
pub use topic::Topic;
pub use topic_description::TopicDescription;
pub use write_params::WriteParams;
pub use writer::DataWriter;
