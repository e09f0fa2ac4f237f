//! Counters of participants and their endpoints as samples of an ordinary topic, `docs/statistics.md`.
//!
//! Every participant publishes them while another one subscribes to [`STATISTICS_TOPIC`], unless `statistics.enabled` is
//! false. While nobody does, nothing is announced, sent or kept.
//!
//! ```no_run
//! use dunlin::statistics::{EntityStatistics, STATISTICS_TOPIC};
//! use dunlin::{DomainParticipant, qos::*};
//!
//! let participant = DomainParticipant::new(0)?;
//! let topic = participant.create_topic::<EntityStatistics>(STATISTICS_TOPIC, &TopicQos::default())?;
//! let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
//! let reader = subscriber.create_datareader(&topic, &DataReaderQos::default())?;
//! for sample in reader.take(100)?.into_iter().filter_map(|sample| sample.data) {
//!     println!("{:?} of '{}': {:?}", sample.entity, sample.topic_name, sample.writer.map(|it| it.repairs));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod state;

use dunlin_derive::DdsType;
pub(crate) use state::{State, Statistics};

use crate::builtin::BuiltinTopicKey;

/// Name of the topic.
pub const STATISTICS_TOPIC: &str = "DunlinStatistics";
/// Entries of [`EntityStatistics::misbehaviours`].
pub const MOST_MISBEHAVIOURS_TOLD: usize = 32;
/// Inactive readers of a writer that are named.
pub const MOST_INACTIVE_NAMED: usize = 64;

/// The counters of a participant, writer or reader. All of them count from its creation on and never go back; what is no
/// count but a state says so. Later versions append members.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::EntityStatistics", data_representation = "xcdr2")]
pub struct EntityStatistics {
    /// Whose they are: the GUID.
    #[dds(key)]
    pub entity: BuiltinTopicKey,
    /// The topic of a writer or reader; empty for a participant.
    #[dds(bound = 255)]
    pub topic_name: String,
    /// The name of its type.
    #[dds(bound = 255)]
    pub type_name: String,
    /// When the counters were read, in nanoseconds of a clock of the participant that never goes back. It says nothing of
    /// the time of day, and those of two processes have nothing in common.
    #[dds(unit = "ns")]
    pub time: u64,
    /// Time until the next sample, if the participant has few endpoints.
    #[dds(unit = "ns")]
    pub period: u64,
    /// Of a participant.
    pub participant: Option<ParticipantCounters>,
    /// Of a writer.
    pub writer: Option<WriterCounters>,
    /// Of a reader.
    pub reader: Option<ReaderCounters>,
    /// Of a participant that is the daemon of a host.
    pub daemon: Option<DaemonCounters>,
    /// Of a participant: what others did that it refused, the most frequent first, of [`MOST_MISBEHAVIOURS_TOLD`] at most.
    #[dds(bound = 32)]
    pub misbehaviours: Vec<MisbehaviourCount>,
}

/// What a daemon has passed on.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::DaemonCounters", nested)]
pub struct DaemonCounters {
    /// Now: programs for which it speaks.
    pub applications: u64,
    /// Datagrams taken in to be passed on.
    pub taken: u64,
    /// Datagrams passed on, one for each place that they went to.
    pub passed: u64,
    /// Octets of these.
    pub octets: u64,
    /// Datagrams dropped because a program sent more than it may.
    pub over_rate: u64,
    /// What left for other hosts, the lowest band first.
    #[dds(bound = 8)]
    pub bands: Vec<BandCounters>,
}

/// What a daemon has done with data of one range of TRANSPORT_PRIORITY.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::BandCounters", nested)]
pub struct BandCounters {
    /// The lowest priority in it.
    pub from: i32,
    /// Datagrams that have left.
    pub passed: u64,
    /// Octets of these.
    pub octets: u64,
    /// Those of them that had to wait.
    pub delayed: u64,
    /// Datagrams dropped because too many octets waited.
    pub dropped: u64,
    /// Now: datagrams that wait.
    pub waiting: u64,
    /// Now: octets that wait.
    pub waiting_octets: u64,
    /// The longest time that one has waited.
    #[dds(unit = "ns")]
    pub longest_wait: u64,
}

/// What one participant did and another refused.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::MisbehaviourCount", nested)]
pub struct MisbehaviourCount {
    /// Who did it, as it said: the GUID of the participant; that of no participant for those together of whom nothing is known.
    pub participant: BuiltinTopicKey,
    /// What it did: [`Misbehaviour::name`](crate::Misbehaviour::name).
    #[dds(bound = 32)]
    pub cause: String,
    /// How often.
    pub count: u64,
}

/// What a participant has received and dropped, and what the sockets and the shared memory did that it shares with the other
/// participants of its process and domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::ParticipantCounters", nested)]
pub struct ParticipantCounters {
    /// Datagrams that came to this participant.
    pub datagrams: u64,
    /// Datagrams that are no RTPS messages, or broke off at a malformed submessage.
    pub malformed: u64,
    /// Submessages for an endpoint that does not exist or is not matched.
    pub unknown_endpoint: u64,
    /// Datagrams handed to the network, once for each destination.
    pub sent_datagrams: u64,
    /// Octets of those.
    pub sent_octets: u64,
    /// Datagrams dropped because the sending socket was full.
    pub send_full: u64,
    /// Datagrams that the network refused.
    pub send_failed: u64,
    /// Datagrams received from the network.
    pub received_datagrams: u64,
    /// Octets of those.
    pub received_octets: u64,
    /// Datagrams that the kernel dropped because nobody received them in time.
    pub receive_overflow: u64,
    /// Datagrams put into the memory of processes of the host.
    pub shared_sent_datagrams: u64,
    /// Octets of those.
    pub shared_sent_octets: u64,
    /// Datagrams dropped because a process of the host did not take those before.
    pub shared_send_full: u64,
    /// Datagrams taken from the memory of other processes.
    pub shared_received_datagrams: u64,
    /// Octets of those.
    pub shared_received_octets: u64,
}

/// What a writer has done.
#[derive(Clone, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::WriterCounters", nested)]
pub struct WriterCounters {
    /// Changes written: samples and ends of instances.
    pub written: u64,
    /// Changes sent for the first time.
    pub sent: u64,
    /// Datagrams with them.
    pub sent_datagrams: u64,
    /// Octets of those datagrams, once whatever the number of destinations.
    pub sent_octets: u64,
    /// Whole changes sent again, or late, because a reader asked for them.
    pub repairs: u64,
    /// Fragments sent again because a reader asked for them.
    pub repair_fragments: u64,
    /// Octets of datagrams with repairs.
    pub repair_octets: u64,
    /// HEARTBEAT submessages sent.
    pub heartbeats_sent: u64,
    /// GAP submessages sent.
    pub gaps_sent: u64,
    /// ACKNACK submessages accepted.
    pub acknacks_received: u64,
    /// NACK_FRAG submessages accepted.
    pub nack_frags_received: u64,
    /// Changes not sent to a reader because of its filter or minimum separation, for each such reader.
    pub filtered: u64,
    /// Changes removed that an inactive reader had not acknowledged.
    pub given_up: u64,
    /// Now: changes that some matched reliable reader has not acknowledged.
    pub unacknowledged: u64,
    /// Now: changes in the history.
    pub kept: u64,
    /// Now: matched readers.
    pub matched: u32,
    /// Now: those of them that are not waited for because they do not answer.
    pub inactive: u32,
    /// Their GUIDs, of [`MOST_INACTIVE_NAMED`] at most.
    #[dds(bound = 64)]
    pub inactive_readers: Vec<BuiltinTopicKey>,
    /// Now: matched readers to which it sends past the daemon of its host.
    pub direct: u32,
}

/// What a reader has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, DdsType)]
#[dds(name = "dunlin::ReaderCounters", nested)]
pub struct ReaderCounters {
    /// Changes received: samples and ends of instances.
    pub received: u64,
    /// Samples that can never be received (SAMPLE_LOST).
    pub lost: u64,
    /// Samples refused by RESOURCE_LIMITS, counted at every offer of a reliable writer.
    pub rejected: u64,
    /// Changes received more than once.
    pub duplicates: u64,
    /// Changes that came before an earlier one.
    pub out_of_order: u64,
    /// Fragments received.
    pub fragments: u64,
    /// HEARTBEAT submessages accepted.
    pub heartbeats_received: u64,
    /// GAP submessages accepted.
    pub gaps_received: u64,
    /// ACKNACK submessages sent.
    pub acknacks_sent: u64,
    /// NACK_FRAG submessages sent.
    pub nack_frags_sent: u64,
    /// Now: samples that nobody has taken.
    pub kept: u64,
    /// Now: octets of samples that wait for earlier ones, or for the rest of them.
    pub waiting_octets: u64,
    /// Now: matched writers.
    pub matched: u32,
    /// Changes that were refused because their source timestamps are too far in the future (`quotas.timestamp_tolerance`).
    pub from_future: u64,
    /// Samples that a newer one of their instance replaced before anybody had seen them (KEEP_LAST).
    pub replaced_unseen: u64,
}
