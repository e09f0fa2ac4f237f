//! Listeners (DDS 1.4 §2.2.4.4). They run on the thread that delivered the change, after every lock
//! of the library is released: a listener may call any operation. Those that would wait fail at once
//! there (TIMEOUT of a write, PRECONDITION_NOT_MET of the others), because what they wait for may have
//! to arrive on the same thread. A listener that blocks holds up the reception of its domain, and the `write` of other
//! participants of its process, whose thread may be the one that runs it; hand long work to a thread of your own, and take
//! no lock that is held while something is written. A listener that panics ends the call of its own participant that
//! ran it, at last; elsewhere the log tells of it.
//!
//! What happens while an entity is created is told to a listener that it is created with (`create_datawriter_with_listener` and
//! its like), not to one that is set afterwards.
//!
//! A status is told to the most specific listener whose mask has it: that of the writer or reader, else of its publisher or
//! subscriber, else of the participant (§2.2.4.2.3). A mask without a listener (`consume_statuses`) ends the search.

mod participant;
mod publisher;
mod reader;
mod subscriber;
mod topic;
mod writer;

use dunlin_cdr::TopicType;
pub(crate) use reader::erased as erased_reader;
pub(crate) use writer::erased as erased_writer;

use crate::any::{AnyDataReader, AnyDataWriter, AnyTopic};
use crate::reader::DataReader;
use crate::status::{
    DeadlineMissedStatus, IncompatibleQosStatus, InconsistentTopicStatus, LivelinessChangedStatus,
    LivelinessLostStatus, MatchedStatus, SampleLostStatus, SampleRejectedStatus,
};
use crate::subscriber::Subscriber;
use crate::writer::DataWriter;

/// What a data reader reports to the application. Every method does nothing by default.
#[expect(unused_variables, reason = "the defaults ignore their arguments")]
pub trait DataReaderListener<T: TopicType>: Send + Sync + 'static {
    /// New samples or instance states can be read.
    fn on_data_available(&self, reader: &DataReader<T>) {}
    /// A writer was matched or unmatched.
    fn on_subscription_matched(&self, reader: &DataReader<T>, status: MatchedStatus) {}
    /// A writer offers less than this reader asks for.
    fn on_requested_incompatible_qos(&self, reader: &DataReader<T>, status: IncompatibleQosStatus) {}
    /// An instance was not updated in time.
    fn on_requested_deadline_missed(&self, reader: &DataReader<T>, status: DeadlineMissedStatus) {}
    /// A matched writer became alive or not alive.
    fn on_liveliness_changed(&self, reader: &DataReader<T>, status: LivelinessChangedStatus) {}
    /// Samples did not arrive.
    fn on_sample_lost(&self, reader: &DataReader<T>, status: SampleLostStatus) {}
    /// A sample met a resource limit.
    fn on_sample_rejected(&self, reader: &DataReader<T>, status: SampleRejectedStatus) {}
}

/// What a data writer reports to the application. Every method does nothing by default.
#[expect(unused_variables, reason = "the defaults ignore their arguments")]
pub trait DataWriterListener<T: TopicType>: Send + Sync + 'static {
    /// A reader was matched or unmatched.
    fn on_publication_matched(&self, writer: &DataWriter<T>, status: MatchedStatus) {}
    /// A reader asks for more than this writer offers.
    fn on_offered_incompatible_qos(&self, writer: &DataWriter<T>, status: IncompatibleQosStatus) {}
    /// An instance was not written in time.
    fn on_offered_deadline_missed(&self, writer: &DataWriter<T>, status: DeadlineMissedStatus) {}
    /// The writer did not assert its liveliness in time.
    fn on_liveliness_lost(&self, writer: &DataWriter<T>, status: LivelinessLostStatus) {}
}

/// A closure is a listener for DATA_AVAILABLE.
impl<T: TopicType, F: Fn(&DataReader<T>) + Send + Sync + 'static> DataReaderListener<T> for F {
    fn on_data_available(&self, reader: &DataReader<T>) {
        self(reader);
    }
}

/// What a topic reports to the application. The method does nothing by default.
#[expect(unused_variables, reason = "the defaults ignore their arguments")]
pub trait TopicListener: Send + Sync + 'static {
    /// An endpoint of another participant uses the topic's name with another type.
    fn on_inconsistent_topic(&self, topic: &AnyTopic, status: InconsistentTopicStatus) {}
}

/// What a publisher reports to the application about its writers. Every method does nothing by default.
#[expect(unused_variables, reason = "the defaults ignore their arguments")]
pub trait PublisherListener: Send + Sync + 'static {
    /// A reader was matched or unmatched.
    fn on_publication_matched(&self, writer: &AnyDataWriter, status: MatchedStatus) {}
    /// A reader asks for more than a writer offers.
    fn on_offered_incompatible_qos(&self, writer: &AnyDataWriter, status: IncompatibleQosStatus) {}
    /// An instance was not written in time.
    fn on_offered_deadline_missed(&self, writer: &AnyDataWriter, status: DeadlineMissedStatus) {}
    /// A writer did not assert its liveliness in time.
    fn on_liveliness_lost(&self, writer: &AnyDataWriter, status: LivelinessLostStatus) {}
}

/// What a subscriber reports to the application about its readers. Every method does nothing by default.
#[expect(unused_variables, reason = "the defaults ignore their arguments")]
pub trait SubscriberListener: Send + Sync + 'static {
    /// Some readers have new data. With DATA_ON_READERS in the mask this is called instead of DATA_AVAILABLE; see
    /// [`Subscriber::notify_datareaders`].
    fn on_data_on_readers(&self, subscriber: &Subscriber) {}
    /// New samples or instance states can be read.
    fn on_data_available(&self, reader: &AnyDataReader) {}
    /// A writer was matched or unmatched.
    fn on_subscription_matched(&self, reader: &AnyDataReader, status: MatchedStatus) {}
    /// A writer offers less than a reader asks for.
    fn on_requested_incompatible_qos(&self, reader: &AnyDataReader, status: IncompatibleQosStatus) {}
    /// An instance was not updated in time.
    fn on_requested_deadline_missed(&self, reader: &AnyDataReader, status: DeadlineMissedStatus) {}
    /// A matched writer became alive or not alive.
    fn on_liveliness_changed(&self, reader: &AnyDataReader, status: LivelinessChangedStatus) {}
    /// Samples did not arrive.
    fn on_sample_lost(&self, reader: &AnyDataReader, status: SampleLostStatus) {}
    /// A sample met a resource limit.
    fn on_sample_rejected(&self, reader: &AnyDataReader, status: SampleRejectedStatus) {}
}

/// What a participant reports to the application about everything in it that has no listener of its own.
pub trait DomainParticipantListener: TopicListener + PublisherListener + SubscriberListener {}

impl<L: TopicListener + PublisherListener + SubscriberListener> DomainParticipantListener for L {}
