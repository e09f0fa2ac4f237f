//! The options of `shape_main`.

use anyhow::{Context, Result, ensure};
use clap::{ArgGroup, Parser, ValueEnum};
use dunlin::qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, DurabilityKind, PresentationAccessScope,
    PublisherQos, SubscriberQos,
};
use dunlin::{Config, Duration};

/// The fragments that a datagram holds, in bytes (`reliability.fragment_size`).
const FRAGMENTS: std::ops::RangeInclusive<u32> = 64..=65_000;
/// So many announcements come within a lease, so that one that is lost ends nothing.
const ANNOUNCEMENTS_IN_LEASE: i64 = 3;

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Verbosity {
    /// Errors.
    E,
    /// What happens.
    D,
}

/// Kinds of DURABILITY by their first letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DurabilityLetter {
    /// VOLATILE.
    V,
    /// TRANSIENT_LOCAL.
    L,
    /// TRANSIENT.
    T,
    /// PERSISTENT.
    P,
}

/// What becomes of the instances when the loop of a publisher ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FinalState {
    /// Unregistered.
    U,
    /// Disposed.
    D,
}

/// Scopes of PRESENTATION by their first letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Scope {
    /// INSTANCE.
    I,
    /// TOPIC.
    T,
    /// GROUP.
    G,
}

/// Publishes or subscribes to shapes.
#[derive(Clone, Debug, Parser)]
#[command(name = "shape_main", version, args_override_self = true, group(ArgGroup::new("role").required(true).args(["publish", "subscribe"])))]
pub struct Options {
    /// Errors (e) or what happens too (d)
    #[arg(short = 'v', value_name = "e|d", default_value = "e", hide_possible_values = true)]
    pub verbosity: Verbosity,
    /// Publish
    #[arg(short = 'P')]
    pub publish: bool,
    /// Subscribe
    #[arg(short = 'S')]
    pub subscribe: bool,
    /// Domain
    #[arg(short = 'd', value_name = "DOMAIN", default_value_t = 0)]
    pub domain: u32,
    /// RELIABILITY BEST_EFFORT
    #[arg(short = 'b', conflicts_with = "reliable")]
    pub best_effort: bool,
    /// RELIABILITY RELIABLE (the default)
    #[arg(short = 'r')]
    pub reliable: bool,
    /// HISTORY: 0 keeps all, else the depth
    #[arg(short = 'k', value_name = "DEPTH", value_parser = clap::value_parser!(i32).range(0..))]
    pub history: Option<i32>,
    /// DEADLINE in milliseconds
    #[arg(short = 'f', value_name = "MS", value_parser = clap::value_parser!(i64).range(1..))]
    pub deadline: Option<i64>,
    /// OWNERSHIP: -1 is SHARED, else EXCLUSIVE with this strength
    #[arg(short = 's', value_name = "STRENGTH", default_value_t = -1, allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(-1..))]
    pub strength: i32,
    /// Topic
    #[arg(short = 't', value_name = "NAME")]
    pub topic: String,
    /// Colour: of the shape, or which a subscriber lets through
    #[arg(short = 'c', value_name = "COLOR", conflicts_with = "filter")]
    pub color: Option<String>,
    /// PARTITION: a name, or an expression such as p*
    #[arg(short = 'p', value_name = "PARTITION")]
    pub partition: Option<String>,
    /// DURABILITY: volatile, transient-local, transient, persistent
    #[arg(short = 'D', value_name = "v|l|t|p", default_value = "v", hide_possible_values = true)]
    pub durability: DurabilityLetter,
    /// DATA_REPRESENTATION: XCDR1 or XCDR2
    #[arg(short = 'x', value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub representation: u8,
    /// A publisher prints what it writes
    #[arg(short = 'w')]
    pub print_written: bool,
    /// Size of the shape, 20 unless given; 0 lets it grow by one with each sample
    #[arg(short = 'z', value_name = "SIZE", value_parser = clap::value_parser!(i32).range(0..))]
    size: Option<i32>,
    /// Read samples rather than take them; each is printed once
    #[arg(short = 'R')]
    pub read: bool,
    /// Milliseconds between the writes, 33 unless given
    #[arg(long, value_name = "MS")]
    write_period: Option<u64>,
    /// Milliseconds between the reads, 100 unless given
    #[arg(long, value_name = "MS")]
    read_period: Option<u64>,
    /// TIME_BASED_FILTER of the reader in milliseconds; 0 is off
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(i64).range(0..))]
    time_filter: Option<i64>,
    /// LIFESPAN of the writer in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(i64).range(1..))]
    pub lifespan: Option<i64>,
    /// End after so many loops
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub num_iterations: Option<u64>,
    /// Write so many instances: BLUE, BLUE1, BLUE2 ...
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    num_instances: Option<u32>,
    /// Use so many topics: Square, Square1, Square2 ...
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub num_topics: u32,
    /// Unregister or dispose every instance at the end
    #[arg(long, value_name = "u|d", hide_possible_values = true)]
    pub final_instance_state: Option<FinalState>,
    /// PRESENTATION scope, for --coherent and --ordered
    #[arg(long, value_name = "i|t|g", default_value = "i", hide_possible_values = true)]
    pub access_scope: Scope,
    /// PRESENTATION coherent_access
    #[arg(long)]
    pub coherent: bool,
    /// PRESENTATION ordered_access
    #[arg(long)]
    pub ordered: bool,
    /// Loops in each coherent set
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    pub coherent_sample_count: Option<u64>,
    /// Add so many bytes to each sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub additional_payload_size: Option<u32>,
    /// take() or read() rather than take_next_instance() or read_next_instance()
    #[arg(long)]
    pub take_read: bool,
    /// Announce the participant every so many milliseconds; its lease is three times as long at least
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub periodic_announcement: Option<u64>,
    /// Bytes of a fragment, 1 to 65535; 64 to 65000 are used
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub datafrag_size: Option<u32>,
    /// Content filter of a subscriber, such as "shapesize <= 20"
    #[arg(long = "cft", value_name = "EXPRESSION")]
    pub filter: Option<String>,
    /// With -z 0: sizes from 1 to N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub size_modulo: Option<i32>,
}

impl Options {
    /// The configuration of file and environment with what the options say. Samples of TRANSIENT and PERSISTENT writers
    /// are kept by the writers themselves.
    ///
    /// # Errors
    /// A value that the configuration refuses.
    pub fn config(&self) -> Result<Config> {
        let mut config = Config::load()?;
        config.set("durability.without_service", "local")?;
        if let Some(period) = self.periodic_announcement {
            config.set("discovery.announcement_period", &format!("{period}ms"))?;
            let lease = i64::try_from(period).unwrap_or(i64::MAX).saturating_mul(ANNOUNCEMENTS_IN_LEASE);
            if config.discovery.lease_duration < Duration::from_millis(lease) {
                config.set("discovery.lease_duration", &format!("{lease}ms"))?;
            }
        }
        if let Some(size) = self.fragment_size() {
            config.set("reliability.fragment_size", &format!("{size}B")).context("--datafrag-size")?;
        }
        config.check()?;
        Ok(config)
    }

    /// Bytes of a fragment, as near to what is asked for as can be.
    fn fragment_size(&self) -> Option<u32> {
        self.datafrag_size.map(|size| size.clamp(*FRAGMENTS.start(), *FRAGMENTS.end()))
    }

    /// Options of the other role, which do nothing here, and a size of fragments that cannot be.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let of_subscribers = [
            (self.time_filter.is_some(), "--time-filter"),
            (self.filter.is_some(), "--cft"),
            (self.read, "-R"),
            (self.take_read, "--take-read"),
            (self.read_period.is_some(), "--read-period"),
        ];
        let of_publishers = [
            (self.print_written, "-w"),
            (self.size.is_some(), "-z"),
            (self.write_period.is_some(), "--write-period"),
            (self.lifespan.is_some(), "--lifespan"),
            (self.num_instances.is_some(), "--num-instances"),
            (self.final_instance_state.is_some(), "--final-instance-state"),
            (self.coherent_sample_count.is_some(), "--coherent-sample-count"),
            (self.additional_payload_size.is_some(), "--additional-payload-size"),
            (self.size_modulo.is_some(), "--size-modulo"),
        ];
        let (role, foreign) = if self.publish {
            ("publisher", &of_subscribers[..])
        } else {
            ("subscriber", &of_publishers[..])
        };
        let given = foreign.iter().filter(|(given, _)| *given);
        let mut warnings: Vec<_> =
            given.map(|(_, option)| format!("warning: a {role} ignores {option}")).collect();
        if let (Some(asked), Some(used)) = (self.datafrag_size, self.fragment_size())
            && asked != used
        {
            warnings.push(format!("warning: fragments of {used} bytes instead of {asked}"));
        }
        warnings
    }

    /// The names of the topics.
    #[must_use]
    pub fn topics(&self) -> Vec<String> {
        numbered(&self.topic, self.num_topics)
    }

    /// The colours of a publisher.
    #[must_use]
    pub fn colors(&self) -> Vec<String> {
        numbered(self.color.as_deref().unwrap_or("BLUE"), self.num_instances.unwrap_or(1))
    }

    /// PRESENTATION as asked for, if it is.
    #[must_use]
    pub fn is_presented(&self) -> bool {
        self.coherent || self.ordered
    }

    /// Size of the shape; 0 lets it grow.
    #[must_use]
    pub fn size(&self) -> i32 {
        self.size.unwrap_or(20)
    }

    /// Milliseconds between the writes.
    #[must_use]
    pub fn write_period(&self) -> u64 {
        self.write_period.unwrap_or(33)
    }

    /// Milliseconds between the reads.
    #[must_use]
    pub fn read_period(&self) -> u64 {
        self.read_period.unwrap_or(100)
    }

    /// Samples of all topics come in one order.
    #[must_use]
    pub fn is_read_in_order(&self) -> bool {
        self.ordered && self.scope() == PresentationAccessScope::Group
    }

    fn scope(&self) -> PresentationAccessScope {
        match self.access_scope {
            _ if !self.is_presented() => PresentationAccessScope::Instance,
            Scope::I => PresentationAccessScope::Instance,
            Scope::T => PresentationAccessScope::Topic,
            Scope::G => PresentationAccessScope::Group,
        }
    }

    /// QoS of the publisher.
    #[must_use]
    pub fn publisher_qos(&self) -> PublisherQos {
        let qos = PublisherQos::default().presentation(self.scope(), self.coherent, self.ordered);
        qos.partition(self.partition.clone())
    }

    /// QoS of the subscriber.
    #[must_use]
    pub fn subscriber_qos(&self) -> SubscriberQos {
        let qos = SubscriberQos::default().presentation(self.scope(), self.coherent, self.ordered);
        qos.partition(self.partition.clone())
    }

    fn durability(&self) -> DurabilityKind {
        match self.durability {
            DurabilityLetter::V => DurabilityKind::Volatile,
            DurabilityLetter::L => DurabilityKind::TransientLocal,
            DurabilityLetter::T => DurabilityKind::Transient,
            DurabilityLetter::P => DurabilityKind::Persistent,
        }
    }

    fn representation(&self) -> DataRepresentationId {
        if self.representation == 1 { DataRepresentationId::Xcdr1 } else { DataRepresentationId::Xcdr2 }
    }

    /// QoS of the writers.
    #[must_use]
    pub fn writer_qos(&self) -> DataWriterQos {
        let qos = DataWriterQos::default()
            .durability(self.durability())
            .representation(&[self.representation()])
            .autodispose_unregistered_instances(self.final_instance_state == Some(FinalState::D));
        let qos = if self.best_effort { qos.best_effort() } else { qos.reliable() };
        let qos = match self.history {
            Some(0) => qos.keep_all(),
            Some(depth) => qos.keep_last(depth),
            None => qos,
        };
        let qos =
            if self.strength < 0 { qos.shared() } else { qos.exclusive().ownership_strength(self.strength) };
        let qos = self.deadline.map_or(qos.clone(), |ms| qos.deadline(Duration::from_millis(ms)));
        self.lifespan.map_or(qos.clone(), |ms| qos.lifespan(Duration::from_millis(ms)))
    }

    /// QoS of the readers.
    #[must_use]
    pub fn reader_qos(&self) -> DataReaderQos {
        let qos = DataReaderQos::default()
            .durability(self.durability())
            .representation(&[self.representation()])
            .time_based_filter(Duration::from_millis(self.time_filter.unwrap_or(0)));
        let qos = if self.best_effort { qos.best_effort() } else { qos.reliable() };
        let qos = match self.history {
            Some(0) => qos.keep_all(),
            Some(depth) => qos.keep_last(depth),
            None => qos,
        };
        let qos = if self.strength < 0 { qos.shared() } else { qos.exclusive() };
        self.deadline.map_or(qos.clone(), |ms| qos.deadline(Duration::from_millis(ms)))
    }

    /// Condition and parameters of the content filter, if there is one.
    ///
    /// # Errors
    /// A colour that no filter can hold.
    pub fn content_filter(&self) -> Result<Option<(String, Vec<String>)>> {
        match (&self.filter, &self.color) {
            (Some(expression), _) => Ok(Some((expression.clone(), Vec::new()))),
            (None, Some(color)) => {
                ensure!(!color.contains('\''), "a colour to filter by has no quotes");
                Ok(Some(("color = %0".to_owned(), vec![format!("'{color}'")])))
            }
            (None, None) => Ok(None),
        }
    }
}

fn numbered(name: &str, count: u32) -> Vec<String> {
    (0..count).map(|n| if n == 0 { name.to_owned() } else { format!("{name}{n}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(std::iter::once("shape_main").chain(line.split(' ')))
    }

    #[test]
    fn values_stand_with_or_without_a_blank() {
        let options = parse("-P -t Square -d7 -x2 -s -1 -k 0 -D l --num-instances 3 --num-topics 2").unwrap();
        assert_eq!((options.domain, options.representation, options.strength), (7, 2, -1));
        assert_eq!(options.colors(), ["BLUE", "BLUE1", "BLUE2"]);
        assert_eq!(options.topics(), ["Square", "Square1"]);
        let (qos, by_default) = (options.writer_qos(), parse("-P -t Square").unwrap().writer_qos());
        assert_eq!(
            qos,
            by_default.keep_all().transient_local().representation(&[DataRepresentationId::Xcdr2])
        );
    }

    #[test]
    fn options_allow_one_role_one_topic_and_one_filter() {
        for wrong in [
            "-P",
            "-t Square",
            "-P -S -t Square",
            "-S -t Square -c RED --cft x>1",
            "-P -t Square -x 3",
            "-P -t Square -s -2",
            "-P -t Square --coherent-sample-count 1",
            "-P -t Square -b -r",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    /// As with getopt, whose users put what they change at the end.
    #[test]
    fn the_last_of_equal_options_counts() {
        let options =
            parse("-P -t Square -d 3 -x 1 -w -d 4 -x 2 -w --num-instances 4 --num-instances 1").unwrap();
        assert_eq!((options.domain, options.representation, options.print_written), (4, 2, true));
        assert_eq!(options.colors(), ["BLUE"]);
    }

    #[test]
    fn scopes_count_only_where_presentation_is_asked_for() {
        let plain = parse("-P -t Square --access-scope g").unwrap();
        assert_eq!(plain.publisher_qos(), PublisherQos::default());
        let ordered = parse("-S -t Square --access-scope g --ordered -p p*").unwrap().subscriber_qos();
        assert_eq!(ordered.presentation.access_scope, PresentationAccessScope::Group);
        assert_eq!(ordered.partition.names, ["p*"]);
    }

    #[test]
    fn options_of_the_other_role_are_named() {
        let reader = parse("-S -t Square --lifespan 5 -w").unwrap().warnings();
        assert_eq!(reader, ["warning: a subscriber ignores -w", "warning: a subscriber ignores --lifespan"]);
        let reader = parse("-S -t Square -z 20 --write-period 33 --read-period 50").unwrap();
        assert_eq!(
            reader.warnings(),
            ["warning: a subscriber ignores -z", "warning: a subscriber ignores --write-period"]
        );
        assert_eq!((reader.size(), reader.write_period(), reader.read_period()), (20, 33, 50));
        let writer = parse("-P -t Square -R --read-period 100 -z 0 --write-period 40").unwrap();
        assert_eq!(
            writer.warnings(),
            ["warning: a publisher ignores -R", "warning: a publisher ignores --read-period"]
        );
        assert_eq!((writer.size(), writer.write_period(), writer.read_period()), (0, 40, 100));
        // Also where the value is what would be so anyway.
        let reader = parse("-S -t Square --num-instances 1 --time-filter 0").unwrap();
        assert_eq!(reader.warnings(), ["warning: a subscriber ignores --num-instances"]);
        let writer = parse("-P -t Square --time-filter 0 --num-instances 1").unwrap();
        assert_eq!(writer.warnings(), ["warning: a publisher ignores --time-filter"]);
        assert!(parse("-P -t Square").unwrap().warnings().is_empty());
        assert!(parse("-S -t Square").unwrap().warnings().is_empty());
    }

    #[test]
    fn settings_that_are_configuration() {
        let config = parse("-P -t Square --periodic-announcement 250 --datafrag-size 1000").unwrap();
        let text = config.config().unwrap().effective().to_string();
        assert!(text.contains("250ms") && text.contains("1000"), "{text}");
    }

    #[test]
    fn every_size_of_fragments_and_every_period_begins() {
        for (asked, used) in
            [(1, 64), (63, 64), (64, 64), (65_000, 65_000), (65_001, 65_000), (65_535, 65_000)]
        {
            let options = parse(&format!("-P -t Square --datafrag-size {asked}")).unwrap();
            let (key, mut wanted) = ("reliability.fragment_size", Config::default());
            wanted.set(key, &format!("{used}B")).unwrap();
            assert_eq!(options.config().unwrap().get(key), wanted.get(key), "{asked}");
            assert_eq!(options.warnings().len(), usize::from(asked != used), "{asked}");
        }
        for (period, lease) in [(250, 10), (4000, 12), (10_000, 30), (3_600_000, 10_800)] {
            let config = parse(&format!("-P -t Square --periodic-announcement {period}")).unwrap().config();
            let found = config.unwrap().discovery.lease_duration;
            assert_eq!(found, Duration::from_secs(lease), "{period}");
        }
    }
}
