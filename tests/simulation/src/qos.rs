//! QoS as scenarios choose it, and what the standard says about pairs of it (DDS 1.4 §2.2.3), written apart from the
//! product so that the two can disagree.

use dunlin_core::Duration;
use dunlin_qos::{
    DataReaderQos, DataWriterQos, DestinationOrderKind, LivelinessKind, PolicyId, PresentationAccessScope,
    PublisherQos, SubscriberQos, UNLIMITED,
};

/// QoS of an endpoint. Times are milliseconds; `None` is without limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Qos {
    /// RELIABLE.
    pub reliable: bool,
    /// TRANSIENT_LOCAL.
    pub durable: bool,
    /// KEEP_LAST with this depth; else KEEP_ALL.
    pub keep_last: Option<u32>,
    /// Samples at most.
    pub max_samples: Option<u32>,
    /// DEADLINE.
    pub deadline: Option<u64>,
    /// LATENCY_BUDGET: a writer's samples may be late by so much.
    pub latency: u64,
    /// LIVELINESS: 0 automatic, 1 by participant, 2 by topic.
    pub liveliness: u8,
    /// LIVELINESS lease.
    pub lease: Option<u64>,
    /// EXCLUSIVE.
    pub exclusive: bool,
    /// OWNERSHIP_STRENGTH of a writer.
    pub strength: i32,
    /// BY_SOURCE_TIMESTAMP.
    pub by_source: bool,
    /// LIFESPAN of a writer.
    pub lifespan: Option<u64>,
    /// TIME_BASED_FILTER of a reader.
    pub separation: u64,
    /// Content filter of a reader: index into [`FILTERS`].
    pub filter: Option<usize>,
    /// Index into [`PARTITIONS`].
    pub partition: usize,
    /// PRESENTATION of its publisher or subscriber.
    pub scope: PresentationAccessScope,
    /// Its ordered_access.
    pub ordered: bool,
    /// Its coherent_access.
    pub coherent: bool,
}

impl Default for Qos {
    fn default() -> Self {
        Self {
            reliable: true,
            durable: false,
            keep_last: None,
            max_samples: None,
            deadline: None,
            latency: 0,
            liveliness: 0,
            lease: None,
            exclusive: false,
            strength: 0,
            by_source: false,
            lifespan: None,
            separation: 0,
            filter: None,
            partition: 0,
            scope: PresentationAccessScope::Instance,
            ordered: false,
            coherent: false,
        }
    }
}

/// Lists of partition names.
pub const PARTITIONS: [&[&str]; 5] = [&[], &["north"], &["south", "west"], &["nor*"], &["?est"]];

/// Which lists meet: by hand, not by matching names.
const MEET: [[bool; 5]; 5] = [
    [true, false, false, false, false],
    [false, true, false, true, false],
    [false, false, true, false, true],
    [false, true, false, false, false],
    [false, false, true, false, false],
];

/// Whether a sample with this key and number is wanted.
pub type Wants = fn(u32, u64) -> bool;

/// Content filters of readers, each with what it lets pass: by hand.
pub const FILTERS: [(&str, Wants); 5] = [
    ("number BETWEEN 4 AND 30", |_, number| (4..=30).contains(&number)),
    ("number > 20", |_, number| number > 20),
    ("NOT key = 2", |key, _| key != 2),
    ("key <= 2 OR number > 40", |key, number| key <= 2 || number > 40),
    ("writer < 0 OR number < 1", |_, _| false),
];

/// Which access scope holds what another one promises: by hand.
const fn rank(scope: PresentationAccessScope) -> u8 {
    match scope {
        PresentationAccessScope::Instance => 0,
        PresentationAccessScope::Topic => 1,
        PresentationAccessScope::Group => 2,
    }
}

fn duration(ms: Option<u64>) -> Duration {
    ms.map_or(Duration::INFINITE, |ms| Duration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX)))
}

fn limit(count: Option<u32>) -> i32 {
    count.map_or(UNLIMITED, |count| i32::try_from(count).unwrap_or(i32::MAX))
}

macro_rules! shared {
    ($qos:expr, $self:expr) => {{
        let (mut qos, from) = ($qos, $self);
        qos = if from.reliable { qos.reliable() } else { qos.best_effort() };
        qos = if from.durable { qos.transient_local() } else { qos.volatile() };
        qos = match from.keep_last {
            Some(depth) => qos.keep_last(limit(Some(depth))),
            None => qos.keep_all(),
        };
        let kind = match from.liveliness {
            0 => LivelinessKind::Automatic,
            1 => LivelinessKind::ManualByParticipant,
            _ => LivelinessKind::ManualByTopic,
        };
        let order = if from.by_source {
            DestinationOrderKind::BySourceTimestamp
        } else {
            DestinationOrderKind::ByReceptionTimestamp
        };
        qos = if from.exclusive { qos.exclusive() } else { qos.shared() };
        qos.resource_limits(limit(from.max_samples), UNLIMITED, UNLIMITED)
            .deadline(duration(from.deadline))
            .latency_budget(duration(Some(from.latency)))
            .liveliness(kind, duration(from.lease))
            .destination_order(order)
    }};
}

impl Qos {
    /// As a writer has it.
    #[must_use]
    pub fn writer(&self) -> (DataWriterQos, PublisherQos) {
        let qos = shared!(DataWriterQos::default(), self);
        let qos = qos.lifespan(duration(self.lifespan)).ownership_strength(self.strength);
        let group = PublisherQos::default().presentation(self.scope, self.coherent, self.ordered);
        (qos, group.partition(PARTITIONS[self.partition].iter().copied()))
    }

    /// As a reader has it.
    #[must_use]
    pub fn reader(&self) -> (DataReaderQos, SubscriberQos) {
        let qos = shared!(DataReaderQos::default(), self);
        let qos = qos.time_based_filter(duration(Some(self.separation)));
        let group = SubscriberQos::default().presentation(self.scope, self.coherent, self.ordered);
        (qos, group.partition(PARTITIONS[self.partition].iter().copied()))
    }

    /// Whether its filter lets a sample pass.
    #[must_use]
    pub fn wants(&self, key: u32, number: u64) -> bool {
        self.filter.and_then(|filter| FILTERS.get(filter)).is_none_or(|(_, wants)| wants(key, number))
    }

    /// Whether a writer with this QoS and a reader with that one are in the same partition.
    #[must_use]
    pub fn meets(&self, reader: &Self) -> bool {
        MEET[self.partition][reader.partition]
    }

    /// Whether a reader with this QoS shows, or orders, what all writers of a publisher write together.
    #[must_use]
    pub fn is_by_publisher(&self) -> bool {
        self.waits() && self.scope == PresentationAccessScope::Group
    }

    /// Whether a reader with this QoS keeps what arrives until others have arrived, too.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.coherent || (self.ordered && rank(self.scope) == 2)
    }

    /// Whether samples are shown in the order of writing whatever their instance, as far as they come from one writer.
    #[must_use]
    pub fn orders_writers(&self) -> bool {
        self.ordered && rank(self.scope) > 0 && !self.by_source && self.separation == 0
    }

    /// Every policy in which a writer with this QoS does not offer what a reader with that one asks for.
    #[must_use]
    pub fn against(&self, reader: &Self) -> Vec<PolicyId> {
        let within = |offered: Option<u64>, asked: Option<u64>| match (offered, asked) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(offered), Some(asked)) => offered <= asked,
        };
        let presented = rank(self.scope) >= rank(reader.scope)
            && (self.ordered || !reader.ordered)
            && (self.coherent || !reader.coherent);
        let rules = [
            (PolicyId::Durability, self.durable || !reader.durable),
            (PolicyId::Presentation, presented),
            (PolicyId::Deadline, within(self.deadline, reader.deadline)),
            (PolicyId::LatencyBudget, self.latency <= reader.latency),
            (PolicyId::Ownership, self.exclusive == reader.exclusive),
            (PolicyId::Liveliness, self.liveliness >= reader.liveliness && within(self.lease, reader.lease)),
            (PolicyId::Reliability, self.reliable || !reader.reliable),
            (PolicyId::DestinationOrder, self.by_source || !reader.by_source),
        ];
        rules.into_iter().filter(|(_, holds)| !holds).map(|(policy, _)| policy).collect()
    }

    /// Whether they match.
    #[must_use]
    pub fn matches(&self, reader: &Self) -> bool {
        self.meets(reader) && self.against(reader).is_empty()
    }
}
