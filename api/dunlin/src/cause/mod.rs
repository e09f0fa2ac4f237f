//! One cause why two endpoints do not talk, in words.

mod found;
mod log;

use std::fmt;

use dunlin_core::Locator;
use dunlin_discovery::Mismatch;
use dunlin_qos::PolicyId;
pub(crate) use found::announced;
pub(crate) use log::WhyLog;

/// What keeps datagrams of one participant from another one. The most certain is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Barrier {
    /// They announce addresses of networks that do not show to have anything to do with each other. A guess: a router may
    /// lead from one to the other.
    Network,
    /// One of them uses loopback alone, and they do not seem to be on one host. Likely: who sends has announced no other
    /// address.
    Loopback,
    /// They have no transport, such as UDP over IPv4, in common. Certain, if both announce all that they use.
    Transport,
}

impl Barrier {
    fn hint(self) -> &'static str {
        match self {
            Self::Transport => "let both use the same IP version (network.ipv4, network.ipv6)",
            Self::Loopback => "let both use a network that both hosts have (network.interfaces)",
            Self::Network => {
                "if no router leads from one network to the other, let both use one that both hosts have (network.interfaces); `explain` in one of the two programs sees whether anything arrives"
            }
        }
    }
}

/// Why a writer and a reader do not talk, or why nobody is there to talk to. `Display` says what is the case,
/// [`Cause::hint`] what to change.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The local endpoint was created disabled and has not been enabled.
    NotEnabled,
    /// Both are writers, or both are readers.
    SameKind,
    /// They belong to different topics.
    TopicName {
        /// The writer's topic.
        writer: String,
        /// The reader's topic.
        reader: String,
    },
    /// The reader takes nothing that has come through a service, and the writer's data has
    /// ([`ignore_service`](dunlin_qos::DataReaderQos::ignore_service)).
    IgnoredService {
        /// The id of the service.
        id: String,
    },
    /// They have no partition in common.
    Partition {
        /// Partitions of the publisher; none is the one with the empty name.
        publisher: Vec<String>,
        /// Partitions of the subscriber.
        subscriber: Vec<String>,
    },
    /// Their types have different names.
    TypeName {
        /// The writer's type.
        writer: String,
        /// The reader's type.
        reader: String,
    },
    /// One type has key members and the other has none.
    TypeKey {
        /// Whether it is the writer's type that has.
        writer_is_keyed: bool,
    },
    /// The reader's type cannot read what is written with the writer's type.
    TypeMembers {
        /// Each difference, with the member where it is.
        differences: Vec<String>,
        /// One of them is that types are final on one side and appendable or mutable on the other.
        extensibility: bool,
    },
    /// One side is being asked for its type.
    TypeUnsettled,
    /// The writer offers less than the reader requests.
    Policy {
        /// Of which policy.
        policy: PolicyId,
        /// The writer's value.
        offered: String,
        /// The reader's value.
        requested: String,
    },
    /// The reader does not accept the encoding that the writer uses.
    Representation {
        /// The writer's.
        offered: String,
        /// What the reader accepts.
        accepted: String,
    },
    /// This participant ignores the other side.
    Ignored {
        /// What is ignored: "participant", "endpoint" or "topic".
        what: &'static str,
    },
    /// This participant ignores some participants, endpoints or topics, which may be those that are missing.
    SomeIgnored {
        /// How many participants.
        participants: usize,
        /// How many endpoints.
        endpoints: usize,
        /// How many topics.
        topics: usize,
    },
    /// No endpoint with the GUID asked for has been discovered.
    NotDiscovered {
        /// Its participant is known; else nothing has been heard of that either.
        participant_is_known: bool,
    },
    /// No other participant has been discovered.
    Alone,
    /// A discovery server of this participant has not answered.
    ServerSilent {
        /// As it is named in `discovery.servers`.
        server: String,
    },
    /// The daemon of this host has not answered.
    DaemonSilent {
        /// Where it is expected.
        daemon: String,
    },
    /// Nobody writes the topic, or nobody reads it.
    NoCounterpart {
        /// Whether writers are missing, not readers.
        writers: bool,
        /// The topic.
        topic: String,
        /// A topic with nearly the same name.
        similar: Option<String>,
    },
    /// Nobody writes the topic here, or nobody reads it, but in another domain somebody does ([`Explanation::look_in`]).
    ///
    /// [`Explanation::look_in`]: crate::Explanation::look_in
    Domain {
        /// Whether writers are missing, not readers.
        writers: bool,
        /// The topic.
        topic: String,
        /// Where they are.
        domains: Vec<u32>,
    },
    /// A participant announces itself here but answers nothing that is sent to it.
    OneSided {
        /// Which, for people.
        participant: String,
        /// Where it says that it receives.
        locators: Vec<Locator>,
    },
    /// A participant is known, but nothing that it sends to a group arrives here.
    Multicast {
        /// Which, for people.
        participant: String,
        /// Its groups.
        groups: Vec<Locator>,
    },
    /// None of the places at which the other side receives can be used from here.
    Unreachable {
        /// What it announced.
        announced: Vec<Locator>,
    },
    /// Of a writer and a reader of other participants: what one sends does not reach the other, as far as can be judged from
    /// what they announce.
    UnreachableForOther {
        /// Whether it is the writer that does not reach the reader; else the reader, which is reliable, does not reach the
        /// writer.
        from_writer: bool,
        /// What is in the way, which also says how sure that is.
        barrier: Barrier,
        /// Where the side that sends receives itself.
        sender: Vec<Locator>,
        /// Where the other side receives.
        receiver: Vec<Locator>,
    },
    /// The two match as far as is known here, but nothing has come from the other side yet.
    NothingReceived {
        /// Where it receives.
        locators: Vec<Locator>,
        /// Whether it would have answered by now if it matched too: it is reliable.
        reliable: bool,
    },
    /// The reader answers the writer no more, or has not caught up since it did: a full history is not kept for it.
    Inactive {
        /// Where it receives.
        locators: Vec<Locator>,
    },
    /// Everything that came so far was rejected by the filter of the content-filtered topic.
    Filtered {
        /// How many samples.
        rejected: usize,
    },
    /// Participants of another domain, or with another domain tag, are heard on the ports of this domain.
    OtherDomain {
        /// Announcements so far.
        announcements: u64,
    },
    /// What others announced exceeds the quotas of this participant.
    Quota {
        /// Participants refused or forgotten.
        participants: u64,
        /// Endpoints refused.
        endpoints: u64,
    },
    /// A connection over TCP or TLS that cannot be opened, or was refused: which one, and why.
    Connection(String),
    /// The network as it was set up.
    Network(String),
}

const SERVER_HINT: &str = "is `dunlin server` running there, for this domain, and does a firewall let UDP pass to its port? Any one of the servers is enough; participants that know each other go on without";

const DAEMON_HINT: &str = "start `dunlin daemon` on this host, for this domain, with the same configuration. A participant of the architecture \"federated\" sends and receives nothing without it, unless daemon.absent is \"decentralised\"";

impl Cause {
    /// A word that says which cause this is, the same for all of one kind: the policy's name, or such as "TYPE".
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotEnabled => "NOT_ENABLED",
            Self::SameKind => "SAME_KIND",
            Self::TopicName { .. } => "TOPIC_NAME",
            Self::IgnoredService { .. } => "IGNORED_SERVICE",
            Self::Partition { .. } => "PARTITION",
            Self::TypeName { .. } => "TYPE_NAME",
            Self::TypeKey { .. } => "TYPE_KEY",
            Self::TypeMembers { .. } => "TYPE_MEMBERS",
            Self::TypeUnsettled => "TYPE_UNSETTLED",
            Self::Policy { policy, .. } => policy.name(),
            Self::Representation { .. } => "DATA_REPRESENTATION",
            Self::Ignored { .. } | Self::SomeIgnored { .. } => "IGNORED",
            Self::NotDiscovered { .. } => "NOT_DISCOVERED",
            Self::Alone => "ALONE",
            Self::ServerSilent { .. } => "SERVER_SILENT",
            Self::DaemonSilent { .. } => "DAEMON_SILENT",
            Self::NoCounterpart { .. } => "NO_COUNTERPART",
            Self::Domain { .. } => "DOMAIN",
            Self::OneSided { .. } => "ONE_SIDED",
            Self::Multicast { .. } => "MULTICAST",
            Self::Unreachable { .. } | Self::UnreachableForOther { .. } => "UNREACHABLE",
            Self::NothingReceived { .. } => "NOTHING_RECEIVED",
            Self::Inactive { .. } => "INACTIVE",
            Self::Filtered { .. } => "FILTERED",
            Self::OtherDomain { .. } => "OTHER_DOMAIN",
            Self::Quota { .. } => "QUOTA",
            Self::Connection(_) => "CONNECTION",
            Self::Network(_) => "NETWORK",
        }
    }

    /// What to change, as an advice.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Policy { policy, offered, requested } => policy_hint(*policy, offered, requested),
            Self::Representation { offered, accepted } => format!(
                "let the writer use one of {accepted}, or add {offered} to what the reader accepts (DATA_REPRESENTATION)"
            ),
            Self::NoCounterpart { similar: Some(similar), .. } => {
                format!("there is a topic '{similar}': check the spelling on both sides")
            }
            Self::Quota { participants, .. } => {
                let key =
                    if *participants > 0 { "max_participants" } else { "max_endpoints_per_participant" };
                format!(
                    "raise quotas.{key} or the other quotas (`dunlin config --reference`), or find out who announces so much"
                )
            }
            Self::Connection(trouble) => connection_hint(trouble).into(),
            other => other.fixed_hint().into(),
        }
    }

    fn fixed_hint(&self) -> &'static str {
        match self {
            Self::NotEnabled => "call enable() on it, or set ENTITY_FACTORY to enable what is created",
            Self::SameKind => "a writer needs a reader, and a reader a writer",
            Self::TopicName { .. } => "create both for one topic name; names are compared to the letter",
            Self::IgnoredService { .. } => {
                "nothing is wrong: otherwise the service would get its own data back"
            }
            Self::Partition { .. } => {
                "add a partition of one side to the other; no partition at all is the one with the empty name, and two patterns never match"
            }
            Self::TypeName { .. } => {
                "give the type one name on both sides, with the same scope (in Rust: #[dds(name = \"…\")])"
            }
            Self::TypeKey { .. } => "mark the same members as key on both sides",
            Self::TypeMembers { extensibility: true, .. } => {
                "make the extensibility the same on both sides: @final, @appendable or @mutable in IDL, #[dds(final)] and so on in Rust; other DDS take types without annotation for final or for appendable, each as it likes"
            }
            Self::TypeMembers { extensibility: false, .. } => {
                "compare the types (`dunlin type TOPIC --diff FILE`): add members at the end of an appendable type or anywhere in a mutable one, and keep the others; TYPE_CONSISTENCY_ENFORCEMENT of the reader says how much may differ"
            }
            Self::TypeUnsettled => "wait a moment: after some seconds without an answer, names decide",
            Self::Ignored { .. } | Self::SomeIgnored { .. } => {
                "what is ignored stays so as long as this participant lives: make a new participant"
            }
            Self::NotDiscovered { participant_is_known: true } => {
                "look at the other side: was the endpoint created and enabled, and is it of the same domain? If it was made just now, wait a moment"
            }
            Self::NotDiscovered { participant_is_known: false } | Self::Alone => {
                "is the other program running, in the same domain and with the same domain tag? `dunlin doctor` checks multicast and ports; without multicast, name the other host in discovery.peers"
            }
            Self::ServerSilent { .. } => SERVER_HINT,
            Self::DaemonSilent { .. } => DAEMON_HINT,
            Self::NoCounterpart { .. } => "start it, or check domain and topic name on the other side",
            Self::Domain { .. } => {
                "use one domain id on both sides: the domain id in the code takes precedence over domain.id of the configuration"
            }
            Self::OneSided { .. } => {
                "datagrams from here do not arrive there: check the firewall of that host, and routes back to it; choose interfaces with network.interfaces"
            }
            Self::Multicast { .. } => {
                "data from here goes to it by unicast instead; if multicast should pass, look at IGMP snooping of switches, firewalls and network.multicast_ttl with `dunlin doctor` on both hosts, else say network.multicast = \"off\" on both"
            }
            Self::Unreachable { .. } => {
                "use a network that both hosts have (network.interfaces), the same IP version (network.ipv4, network.ipv6), or set quotas.foreign_locators if data goes elsewhere than discovery on purpose"
            }
            Self::UnreachableForOther { barrier, .. } => barrier.hint(),
            Self::NothingReceived { reliable: true, .. } => {
                "the other side may not have discovered this one, or may ignore it: ask `explain` there too; check that user data passes the firewall, not discovery alone"
            }
            Self::NothingReceived { reliable: false, .. } => {
                "has it written anything since the match? Check that user data passes the firewall, not discovery alone"
            }
            Self::Inactive { .. } => {
                "is its process stopped, overloaded or cut off? When it answers again it gets what is left, and SAMPLE_LOST for the rest; reliability.inactive_after says how long writers wait, RESOURCE_LIMITS how much they keep"
            }
            Self::Filtered { .. } => "look at expression and parameters of the content-filtered topic",
            Self::OtherDomain { .. } => "use one domain id, one domain.tag and the same ports.* on all sides",
            Self::Network(_) => "`dunlin doctor` says more",
            Self::Policy { .. } | Self::Representation { .. } | Self::Quota { .. } | Self::Connection(_) => {
                ""
            }
        }
    }
}

/// What helps against a connection that is not there, by the words that say why.
fn connection_hint(trouble: &str) -> &'static str {
    if trouble.contains("certificate") {
        "give both ends certificates of an authority that is in tls.authorities of the other, valid now, and for the address that is connected to; or set tls.server_name"
    } else if trouble.contains("TLS") {
        "set tls.enabled on both sides or on none, and let both speak TLS 1.3"
    } else {
        "is the other participant running, with tcp.enabled, and is its tcp.port the one in discovery.peers here? A firewall on the way has to let TCP pass to it"
    }
}

fn policy_hint(policy: PolicyId, offered: &str, requested: &str) -> String {
    match policy {
        PolicyId::Ownership => {
            format!("both sides need the same kind: set {requested} on the writer or {offered} on the reader")
        }
        PolicyId::Deadline | PolicyId::LatencyBudget => {
            format!("let the writer offer at most {requested}, or the reader request at least {offered}")
        }
        PolicyId::Liveliness => format!(
            "the writer's kind must be at least, and its lease at most, the reader's: let the writer offer {requested}, or the reader request {offered}"
        ),
        PolicyId::Presentation => format!(
            "let the publisher offer at least {requested}, or the subscriber request no more than {offered}"
        ),
        _ => {
            format!("let the writer offer at least {requested}, or the reader request no more than {offered}")
        }
    }
}

fn names(partitions: &[String]) -> String {
    if partitions.is_empty() {
        return "none".into();
    }
    partitions.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

fn places(locators: &[Locator]) -> String {
    if locators.is_empty() {
        return "nowhere".into();
    }
    locators.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How one side of a pair of others does not reach the other, in words that say how sure that is.
fn write_barrier(
    f: &mut fmt::Formatter<'_>,
    from_writer: bool,
    barrier: Barrier,
    sender: &str,
    receiver: &str,
) -> fmt::Result {
    let (one, other) = if from_writer { ("writer", "reader") } else { ("reader", "writer") };
    let what = format!("the {one} does not reach the {other}");
    match barrier {
        Barrier::Transport => write!(f, "{what}: they have no transport in common"),
        Barrier::Loopback => write!(
            f,
            "most likely {what}: one of them uses loopback alone, and they do not seem to be on one host"
        ),
        Barrier::Network => {
            write!(f, "perhaps {what}: nothing that was seen from here suggests a way between their networks")
        }
    }?;
    write!(f, "; the {one} is at {sender}, the {other} receives at {receiver}")
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEnabled => f.write_str("the endpoint is not enabled"),
            Self::SameKind => f.write_str("both are of the same kind"),
            Self::TopicName { writer, reader } => {
                write!(f, "topic: the writer's is '{writer}', the reader's '{reader}'")
            }
            Self::IgnoredService { id } => {
                write!(f, "the data has come through the service '{id}', and the reader takes nothing of it")
            }
            Self::Partition { publisher, subscriber } => {
                write!(f, "PARTITION: publisher {}, subscriber {}", names(publisher), names(subscriber))
            }
            Self::TypeName { writer, reader } => {
                write!(f, "type name: the writer's is '{writer}', the reader's '{reader}'")
            }
            Self::TypeKey { writer_is_keyed } => {
                let (one, other) = if *writer_is_keyed { ("writer", "reader") } else { ("reader", "writer") };
                write!(f, "type members: the {one}'s type has a key, the {other}'s has none")
            }
            Self::TypeMembers { differences, .. } => {
                write!(
                    f,
                    "type members: the reader's type cannot read the writer's: {}",
                    differences.join("; ")
                )
            }
            Self::TypeUnsettled => f.write_str("type: one side is being asked for its type"),
            Self::Policy { policy, offered, requested } => {
                write!(f, "{policy}: offered {offered}, requested {requested}")
            }
            Self::Representation { offered, accepted } => {
                write!(f, "DATA_REPRESENTATION: offered {offered}, requested {accepted}")
            }
            Self::Ignored { what } => write!(f, "this participant ignores the {what}"),
            Self::Connection(trouble) => f.write_str(trouble),
            Self::UnreachableForOther { from_writer, barrier, sender, receiver } => {
                write_barrier(f, *from_writer, *barrier, &places(sender), &places(receiver))
            }
            other => other.write_discovery(f),
        }
    }
}

impl Cause {
    /// What concerns more than the two endpoints.
    fn write_discovery(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SomeIgnored { participants, endpoints, topics } => write!(
                f,
                "this participant ignores others: {participants} participants, {endpoints} endpoints, {topics} topics"
            ),
            Self::NotDiscovered { participant_is_known } => f.write_str(if *participant_is_known {
                "its participant is known, but has announced no such endpoint"
            } else {
                "nothing has been heard of it, nor of its participant"
            }),
            Self::DaemonSilent { daemon } => write!(f, "the daemon of this host does not answer at {daemon}"),
            Self::ServerSilent { server } => write!(f, "discovery server {server} does not answer"),
            Self::Alone => f.write_str("no other participant has been discovered in this domain"),
            Self::NoCounterpart { writers, topic, .. } => {
                let verb = if *writers { "writes" } else { "reads" };
                write!(f, "nobody {verb} topic '{topic}'")
            }
            Self::Domain { writers, topic, domains } => {
                let verb = if *writers { "writes" } else { "reads" };
                let domains: Vec<_> = domains.iter().map(ToString::to_string).collect();
                let domains = domains.join(", ");
                write!(
                    f,
                    "nobody {verb} topic '{topic}' in this domain, but somebody does in domain {domains}"
                )
            }
            Self::OneSided { participant, locators } => write!(
                f,
                "{participant} announces itself here, but answers nothing that is sent to it at {}",
                places(locators)
            ),
            Self::Multicast { participant, groups } => {
                write!(
                    f,
                    "nothing that {participant} sends to a group arrives here; it listens to {}",
                    places(groups)
                )
            }
            Self::Unreachable { announced } => {
                write!(f, "none of its locators can be used from here: it receives at {}", places(announced))
            }
            Self::NothingReceived { locators, .. } => {
                write!(
                    f,
                    "matched here, but nothing has come from it yet; it receives at {}",
                    places(locators)
                )
            }
            Self::Inactive { locators } => write!(
                f,
                "the reader is inactive: it does not acknowledge what it is sent at {}, and is not waited for",
                places(locators)
            ),
            Self::Filtered { rejected } => {
                write!(f, "the content filter rejected all {rejected} samples that came")
            }
            Self::OtherDomain { announcements } => {
                write!(f, "{announcements} announcements of another domain or domain tag were heard")
            }
            Self::Quota { participants, endpoints } => {
                write!(
                    f,
                    "quotas refused {participants} announcements of participants and {endpoints} of endpoints"
                )
            }
            Self::Network(note) => write!(f, "network: {note}"),
            _ => Ok(()),
        }
    }
}

impl Cause {
    /// Types that do not fit.
    pub(crate) fn type_members(differences: &[dunlin_xtypes::Mismatch]) -> Self {
        let extensibility = differences.iter().any(|it| it.extensibility);
        Self::TypeMembers {
            differences: differences.iter().map(ToString::to_string).collect(),
            extensibility,
        }
    }
}

impl From<Mismatch> for Cause {
    fn from(mismatch: Mismatch) -> Self {
        match mismatch {
            Mismatch::TopicName { writer, reader } => {
                Self::TopicName { writer: writer.to_string(), reader: reader.to_string() }
            }
            Mismatch::IgnoredService { id } => Self::IgnoredService { id },
            Mismatch::Partition { publisher, subscriber } => Self::Partition { publisher, subscriber },
            Mismatch::TypeName { writer, reader } => {
                Self::TypeName { writer: writer.to_string(), reader: reader.to_string() }
            }
            Mismatch::Key { writer_is_keyed } => Self::TypeKey { writer_is_keyed },
            Mismatch::Types(differences) => Self::type_members(&differences),
            Mismatch::TypesUnsettled => Self::TypeUnsettled,
            Mismatch::Policy(policy) => policy.into(),
        }
    }
}

impl From<dunlin_qos::IncompatiblePolicy> for Cause {
    fn from(found: dunlin_qos::IncompatiblePolicy) -> Self {
        let dunlin_qos::IncompatiblePolicy { policy, offered, requested } = found;
        match policy {
            PolicyId::DataRepresentation => Self::Representation { offered, accepted: requested },
            _ => Self::Policy { policy, offered, requested },
        }
    }
}
