//! The schema: every key with its type, default and meaning. Everything else is made from it: the structs, the
//! reading of files and environment, the error texts, the printed configuration and the reference.

use std::net::{Ipv4Addr, Ipv6Addr};

use dunlin_core::{Duration, PortParameters};
use dunlin_driver::DriverConfig;
use dunlin_engine::{Quotas, Tuning};
use dunlin_tcp::TcpConfig;
use dunlin_udp::UdpConfig;

use crate::bands::Bands;
use crate::origin::Origins;
use crate::profiles::Profiles;
use crate::value::{
    Absent, Access, Architecture, Auto, DirectWrite, Interest, Multicast, ParticipantIndex, Rate, Raw, Share,
    Size, Switch, TcpPort, Value, Waiting, WithoutService,
};

/// A key of the schema.
pub(crate) struct Key {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    /// Lines of text.
    pub(crate) doc: &'static [&'static str],
    /// Completes "expected …".
    pub(crate) expects: &'static str,
    /// False if the value does not fit.
    pub(crate) set: fn(&mut Config, &Raw) -> bool,
    /// As in a file.
    pub(crate) print: fn(&Config) -> String,
}

impl Key {
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    pub(crate) fn variable(&self) -> String {
        format!("DUNLIN_{}_{}", self.section, self.name).to_uppercase()
    }
}

macro_rules! schema {
    ($(
        $(#[doc = $section_doc:expr])*
        $section:ident: $Section:ident {
            $( $(#[doc = $doc:expr])* $name:ident: $type:ty = $default:expr; )*
        }
    )*) => {
        $(
            $(#[doc = $section_doc])*
            #[derive(Clone, PartialEq, Debug)]
            pub struct $Section {
                $( $(#[doc = $doc])* pub $name: $type, )*
            }

            impl Default for $Section {
                fn default() -> Self {
                    Self { $( $name: $default, )* }
                }
            }
        )*

        /// The configuration, one field for each section of the file.
        #[derive(Clone, Debug, Default)]
        pub struct Config {
            $( $(#[doc = $section_doc])* pub $section: $Section, )*
            /// The QoS profiles.
            pub profiles: Profiles,
            pub(crate) origins: Origins,
        }

        /// Every key, in the order of the reference.
        pub(crate) static KEYS: &[Key] = &[$($(
            Key {
                section: stringify!($section),
                name: stringify!($name),
                doc: &[$($doc),*],
                expects: <$type as Value>::EXPECTS,
                set: |config, raw| match <$type as Value>::read(raw) {
                    Some(value) => {
                        config.$section.$name = value;
                        true
                    }
                    None => false,
                },
                print: |config| config.$section.$name.print(),
            },
        )*)*];

        /// Every section with its text.
        pub(crate) static SECTIONS: &[(&str, &[&str])] = &[$((stringify!($section), &[$($section_doc),*]),)*];
    };
}

fn udp() -> UdpConfig {
    UdpConfig::default()
}

fn ports() -> PortParameters {
    PortParameters::default()
}

fn tuning() -> Tuning {
    Tuning::default()
}

fn quotas() -> Quotas {
    Quotas::default()
}

fn driver() -> DriverConfig {
    DriverConfig::default()
}

fn size(octets: usize) -> Size {
    Size(octets as u64)
}

/// Numbers of things; a limit above four thousand million is none.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

schema! {
    /// The domain.
    domain: DomainSection {
        /// The domain of programs that name none, 0 to 232.
        id: u32 = 0;
        /// Only participants with the same tag see each other.
        tag: String = String::new();
    }
    /// How participants find each other.
    discovery: DiscoverySection {
        /// Hosts to announce to besides the multicast group: "host", "address", "host:port" or "[address]:port".
        /// Without a port, the first ten participants of the host. With "tcp://" in front they are reached over TCP: then
        /// without a port the first four.
        peers: Vec<String> = Vec::new();
        /// Who tells participants of each other, see `docs/architectures.md`: "decentralised" nobody, they announce themselves to
        /// multicast groups and `peers`; "centralised" the `servers`, and nothing is sent to groups; "federated" the daemon of this host,
        /// through which all data goes too: then `network`, but for its message size, and `peers` are the affair of the daemon.
        architecture: Architecture = Architecture::Decentralised;
        /// Discovery servers of "centralised", all of them: "udp://host:port", or "host" for the port of `dunlin server`. Any one that
        /// runs is enough.
        servers: Vec<String> = Vec::new();
        /// Of whom the servers tell: "topics" of those who write what is read here, or read what is written; "everything" of all, as
        /// tools need it.
        interest: Interest = Interest::Topics;
        /// This participant is a discovery server, as `dunlin server` makes one: it introduces to each other those that have it among
        /// their `servers`, and nothing is sent to groups.
        server: bool = false;
        /// Time between announcements; shorter than the lease.
        announcement_period: Duration = driver().announcement_period;
        /// How long others keep this participant without a sign of life; 100ms or more.
        lease_duration: Duration = driver().lease_duration;
        /// Announce the name of this host, the process id and the name of the program's file, as properties of the
        /// participant, for tools such as dunlin ls. On an untrusted network, turn it off.
        announce_process: bool = true;
        /// Announce the user, and the folder of the program's file, too. Without announce_process neither is announced.
        announce_process_in_full: bool = false;
    }
    /// The daemon of a host, for `discovery.architecture` "federated".
    daemon: DaemonSection {
        /// Where programs reach it: "host", "address", "host:port" or "[address]:port". Without a port, that of participant 119 of the
        /// domain; empty is this host, over loopback.
        address: String = String::new();
        /// What a program does that starts while no daemon is there: "wait" for it, or go on as "decentralised".
        absent: Absent = Absent::Wait;
        /// Which writers send to other hosts themselves, and not by way of the daemon: "never" one, those that "asked" with
        /// `DataWriterQos::direct_write`, or "always". Unless it is "never", the program has a socket in the network, on the interfaces of
        /// `network`. What is sent directly knows nothing of `bands` and limits.
        direct_write: DirectWrite = DirectWrite::Never;
        /// This participant is the daemon of its host, as `dunlin daemon` makes one: it speaks for the programs there.
        run: bool = false;
        /// Addresses of programs of the daemon besides those of its host, as of containers.
        applications: Vec<String> = Vec::new();
        /// Most participants of this host for which the daemon speaks.
        max_applications: u32 = 256;
        /// Most data of each of them, and what it may send at once: so much as in a second. More is dropped, which reliable writers repair.
        application_rate: Switch<Rate> = Switch::Off;
        /// How long a message to the daemon of another host waits for others that go there too; 0 sends each at once.
        bundle_delay: Duration = Duration::ZERO;
        /// Most that leaves for other hosts in all, with the headers of IP and UDP: somewhat less than the line carries. What has to wait
        /// waits in the daemon, in `bands`.
        network_rate: Switch<Rate> = Switch::Off;
        /// Most that leaves for each address and port of other hosts.
        destination_rate: Switch<Rate> = Switch::Off;
        /// Bytes that may leave at once after a pause, of each limit; "auto" is 5ms of its rate, at least 3kB.
        burst: Auto<Size> = Auto::Auto;
        /// Bands of TRANSPORT_PRIORITY, eight at most, each from a priority up to the next one: ["0 rate=20Mbit/s dscp=8", "40 queue=256KiB"].
        /// Data of a higher band leaves before what waits in lower ones. A band may have a `rate` with its `burst`; the `queue` of bytes that may
        /// wait, 4MiB unless said; and the `dscp` of its datagrams, the priority itself unless said. What a full queue has no room for is
        /// dropped and counted; reliable writers repair it. None is one band for all.
        bands: Bands = Bands::default();
    }
    /// Sockets and interfaces.
    network: NetworkSection {
        /// Use UDP. Without it, use TCP: `tcp.enabled`.
        udp: bool = driver().use_udp;
        /// Interfaces to use: names, beginnings of names followed by "*", or addresses. Empty: all that are up and
        /// not loopback, or loopback if there is no other.
        interfaces: Vec<String> = Vec::new();
        /// Use IPv4.
        ipv4: bool = udp().ipv4;
        /// Use IPv6.
        ipv6: bool = udp().ipv6;
        /// What multicast is used for: "on" for discovery and data, "spdp" for discovery alone, "off" for nothing that
        /// leaves the host.
        multicast: Multicast = Multicast::On;
        /// The multicast group of IPv4.
        multicast_group_v4: Ipv4Addr = udp().group_v4;
        /// The multicast group of IPv6.
        multicast_group_v6: Ipv6Addr = udp().group_v6;
        /// Networks a multicast or broadcast datagram may cross: 1 stays in this one.
        multicast_ttl: u8 = udp().multicast_ttl;
        /// Broadcast addresses of IPv4, four at most, to announce to where multicast is not available: "192.0.2.255" of a network,
        /// or "255.255.255.255" for those of all interfaces. Only with multicast "off". Others are not told of them.
        broadcast: Vec<String> = Vec::new();
        /// Send data for several readers there too. All participants of the domain must have the same addresses then.
        broadcast_data: bool = udp().broadcast_data;
        /// Which pair of well-known ports to take: "auto" for the lowest that is free, a number from 0 to 119 for that
        /// one, "ephemeral" for any free ports.
        participant_index: ParticipantIndex = ParticipantIndex::Auto;
        /// Kernel buffer of each receiving socket; "auto" takes what the kernel gives, up to 4MiB.
        receive_buffer: Auto<Size> = Auto::Auto;
        /// Kernel buffer of the sending socket; "auto" leaves the kernel's own size. A larger one weakens the
        /// back-pressure of a slow link on reliable writers.
        send_buffer: Auto<Size> = Auto::Auto;
        /// Largest datagram, 1KiB to 65507B. "auto" is 1472B, or less where an interface carries less, and for samples
        /// that need more as much as the way carries within this host: up to 65000B. Between hosts nobody knows what switches
        /// and interfaces there carry: where all take jumbo frames, say "8972B". One that an interface does not carry is fragmented by IP;
        /// "auto" does that for large samples too, up to 43 frames each, on lines below 320 Mbit/s that lose next to nothing, see
        /// docs/loss-recovery.md.
        max_message_size: Auto<Size> = Auto::Auto;
        /// Hand runs of datagrams to the kernel in one call, where it can do that.
        segmentation_offload: bool = udp().segmentation_offload;
        /// Take runs of datagrams from the kernel in one call, where it can do that.
        receive_offload: bool = udp().receive_offload;
        /// Time between looks at the interfaces of the host.
        interface_poll: Duration = driver().interface_poll.into();
    }
    /// Connections of TCP, for networks that let no UDP pass, see `docs/tcp.md`. Nobody is found over TCP but by
    /// `discovery.peers`. Interfaces and IP versions are those of `network`.
    tcp: TcpSection {
        /// Use it.
        enabled: bool = false;
        /// The port that others connect to: "auto" for the lowest well-known one that is free, "off" for none. Then this end
        /// connects to others, and they answer on its connections.
        port: TcpPort = TcpPort::Auto;
        /// Most connections; one more pushes out one of the address that has most of them.
        max_connections: u32 = number(TcpConfig::default().max_connections);
    }
    /// TLS 1.3 below TCP, see `docs/tcp.md`. Files are in PEM format. Needs the feature "tls" of the crate.
    tls: TlsSection {
        /// Encrypt all connections of TCP.
        enabled: bool = false;
        /// The file with the certificate of this end, followed by those that lead to the authority.
        certificate: String = String::new();
        /// The file with its private key, without a password.
        key: String = String::new();
        /// The file with the authorities whose certificates are trusted.
        authorities: String = String::new();
        /// The name that certificates of others must have; empty: the address that is connected to.
        server_name: String = String::new();
        /// Demand a certificate of one of the authorities from those who connect, too.
        client_certificates: bool = false;
    }
    /// Shared memory with other processes of the host, see `docs/shared-memory.md`. Discovery stays on the network; data
    /// takes the network wherever shared memory does not work.
    shared_memory: SharedMemorySection {
        /// Use it where it works.
        enabled: bool = driver().shared_memory.enabled;
        /// Folder of its files, in a file system in memory. Processes with the same folder share memory, also from
        /// different containers.
        directory: String = driver().shared_memory.directory.display().to_string();
        /// Memory for what is in flight to one receiving process, once it gets large samples, and at most 1MiB before: a
        /// power of two from 256KiB to 256MiB. It grows for samples that are longer than half of it, to eight times as
        /// much or 32MiB.
        ring_size: Size = Size(driver().shared_memory.ring_size.into());
        /// Who may use the files, and whose files are used: "user" the same user alone, "group" the same group,
        /// "everyone" all who can reach the folder. Whoever may use them can end this process by cutting them short.
        access: Access = Access::User;
        /// Hand data to other participants of this process on the thread that writes, without socket or thread between. Only
        /// while shared memory is used, and neither a capture file nor faults are asked for.
        in_process: bool = driver().in_process;
    }
    /// How the threads that receive user data wait and run; `docs/waiting.md` says what each choice costs. Participants of a
    /// process with different choices have sockets and threads of their own.
    receive: ReceiveSection {
        /// While nothing arrives: "blocking" sleeps, "polling" looks again and again and takes a core,
        /// "adaptive" looks for a moment where the next datagram is about to come, and sleeps otherwise.
        waiting: Waiting = Waiting::Adaptive;
        /// Longest time that "adaptive" looks for one datagram; twice as long after a sleep.
        spin: Duration = driver().receive.spin.into();
        /// The processor that the thread for unicast data runs on.
        cpu: Switch<u32> = Switch::Off;
        /// Real-time priority (SCHED_FIFO, 1 to 99) of the thread for unicast data.
        priority: Switch<u32> = Switch::Off;
    }
    /// Constants of the well-known ports (RTPS 2.5 §9.6.2): all participants of a domain must agree.
    ports: PortsSection {
        /// PB, the first port of domain 0.
        base: u16 = ports().base;
        /// DG, ports for each domain.
        domain_gain: u16 = ports().domain_gain;
        /// PG, ports for each participant.
        participant_gain: u16 = ports().participant_gain;
        /// d0, discovery multicast.
        d0: u16 = ports().d0;
        /// d1, discovery unicast.
        d1: u16 = ports().d1;
        /// d2, user multicast.
        d2: u16 = ports().d2;
        /// d3, user unicast.
        d3: u16 = ports().d3;
    }
    /// The reliable protocol (RTPS 2.5 §8.4).
    reliability: ReliabilitySection {
        /// Time from unacknowledged data to the first heartbeat of its own.
        heartbeat_period: Duration = tuning().heartbeat_period;
        /// Longest time between heartbeats while something is unacknowledged.
        heartbeat_max_period: Duration = tuning().heartbeat_max_period;
        /// Time from a heartbeat that wants an answer to the answer.
        heartbeat_response_delay: Duration = tuning().heartbeat_response_delay;
        /// Time from a request to its repair.
        nack_response_delay: Duration = tuning().nack_response_delay;
        /// A sample repaired this recently is not repaired again for the same reader.
        nack_suppression: Duration = tuning().nack_suppression;
        /// Repairs sent in one go; the rest follows.
        repair_budget: Size = size(tuning().repair_budget_per_event);
        /// Payload of a fragment of a large sample, up to 65000B; "auto" fills the largest datagram.
        fragment_size: Auto<Size> = Auto::Auto;
        /// Rate at which each writer sends at most.
        pacing_rate: Switch<Rate> = Switch::Off;
        /// What a paced writer may send at once after a pause.
        pacing_burst: Size = Size(64 << 10);
        /// Most new data of each writer in flight to reliable Dunlin readers that have not confirmed it; "0B": no bound.
        /// "127KiB" fits into a receive buffer of the usual 208KiB.
        send_window: Size = size(tuning().window);
        /// What send_window grows to at most for a reader on this host whose receive buffer has the room; "0B" keeps
        /// send_window as it is.
        send_window_limit: Size = size(tuning().window_limit);
        /// How long a writer with a full window waits for a reader that does not answer.
        send_window_patience: Duration = tuning().window_patience;
        /// A reliable reader that answers a writer nothing for so long is inactive: no write waits for it, and a full history
        /// releases what all others have acknowledged, see docs/slow-readers.md; "0s" and "infinite": never.
        inactive_after: Duration = tuning().inactive_after;
        /// Samples that a KEEP_ALL writer keeps for inactive readers at most, if its RESOURCE_LIMITS do not say less.
        inactive_backlog: u32 = number(tuning().inactive_backlog);
        /// Samples that the readers of a KEEP_ALL writer have not acknowledged, in bytes, above which a write waits, as long as
        /// max_blocking_time lets it; then it is done all the same. Two samples, and twice what may be under way, are always
        /// below it. "0B": no write waits for that.
        high_water: Size = size(tuning().high_water);
        /// Partly received samples of each reader.
        max_reassembly: Size = size(tuning().max_reassembly_bytes);
        /// Partly received samples of each remote writer; a larger sample is never received.
        max_reassembly_per_writer: Size = size(tuning().max_reassembly_bytes_per_writer);
        /// Samples of each remote writer that wait for the ones before them, in bytes.
        max_out_of_order: Size = size(tuning().max_out_of_order_bytes);
        /// Samples of all remote writers together that wait at one reader for the ones before them, in bytes.
        max_out_of_order_total: Size = size(tuning().max_out_of_order_bytes_total);
        /// Samples of each remote writer that wait for the ones before them.
        max_out_of_order_samples: u32 = number(tuning().max_out_of_order_samples);
    }
    /// Several samples in one datagram, several datagrams in one system call. A writer with a LATENCY_BUDGET lets samples
    /// wait that long at most.
    batching: BatchingSection {
        /// How long a sample may wait for others although its writer has no LATENCY_BUDGET, when it was written in a
        /// burst: right behind several others. "0s" sends every sample at once.
        burst_delay: Duration = tuning().burst_delay;
        /// Samples of one writer that may wait, in bytes: at this size they leave.
        max_size: Size = size(tuning().batch_octets);
    }
    /// Filters of readers, see `docs/filters.md`.
    filters: FiltersSection {
        /// Writers evaluate the content filters of their readers (of other vendors' readers those of reliable ones that every
        /// vendor evaluates alike), and send them nothing that these would drop.
        at_writer: bool = tuning().filter_at_writer;
    }
    /// Samples for those who join later.
    durability: DurabilitySection {
        /// What becomes of DURABILITY transient and persistent without a durability service: "refuse" such endpoints, or
        /// treat them as "local": their writers keep samples as with transient-local, as long as they exist.
        without_service: WithoutService = WithoutService::Refuse;
    }
    /// What remote participants may make this one remember.
    quotas: QuotasSection {
        /// How far ahead of this host's clock a source timestamp may be for readers that order BY_SOURCE_TIMESTAMP. A sample that
        /// is further ahead is lost, as it would hide all others of its instance until then; "infinite": none is.
        timestamp_tolerance: Duration = tuning().timestamp_tolerance;
        /// Instances that writers of other participants may make a reader keep whose RESOURCE_LIMITS do not limit them. A sample of one
        /// more is rejected.
        max_instances: u32 = number(tuning().max_instances);
        /// Samples and keys that writers of other participants may make all readers keep whose RESOURCE_LIMITS do not limit samples.
        /// What is more is rejected until some are taken.
        max_samples_octets: Size = size(tuning().max_samples_octets);
        /// Remote participants.
        max_participants: u32 = number(quotas().max_participants);
        /// Remote participants that have not shown yet that they receive where they say. The oldest gives way to another.
        max_unverified: u32 = number(quotas().max_unverified);
        /// Remote participants of one source address that have not shown yet that they receive where they say.
        max_unverified_per_source: u32 = number(quotas().max_unverified_per_source);
        /// Writers and readers of all remote participants.
        max_endpoints: u32 = number(quotas().max_endpoints);
        /// Writers and readers of one remote participant.
        max_endpoints_per_participant: u32 = number(quotas().max_endpoints_per_participant);
        /// Announcements of all remote participants and their endpoints.
        max_octets: Size = size(quotas().max_octets);
        /// Announcements of one remote participant and its endpoints.
        max_octets_per_participant: Size = size(quotas().max_octets_per_participant);
        /// One USER_DATA, TOPIC_DATA or GROUP_DATA.
        max_opaque: Size = size(quotas().max_opaque_octets);
        /// Type information of one endpoint.
        max_type: Size = size(quotas().max_type_octets);
        /// Largest type object that is sent to others, or those of types that depend on each other; larger types match by name. Who
        /// learns it needs `max_reassembly_per_participant` for it.
        max_told_type: Size = size(quotas().max_told_type_octets);
        /// Type objects learnt from all remote participants.
        max_type_objects: Size = size(quotas().max_type_object_octets);
        /// Type objects learnt from one remote participant.
        max_type_objects_per_participant: Size = size(quotas().max_type_object_octets_per_participant);
        /// One name of a topic, type, entity or partition.
        max_string: Size = size(quotas().max_string_octets);
        /// Names of one PARTITION.
        max_partitions: u32 = number(quotas().max_partitions);
        /// Announcements received in part, at each of the three built-in readers.
        max_reassembly: Size = size(quotas().max_reassembly_octets);
        /// Announcements of one remote participant that were received in part.
        max_reassembly_per_participant: Size = size(quotas().max_reassembly_octets_per_participant);
        /// Announcements that wait for the ones before them, at each of the three built-in readers.
        max_out_of_order: Size = size(quotas().max_out_of_order_octets);
        /// Announcements of one remote participant that wait for the ones before them.
        max_out_of_order_per_participant: Size = size(quotas().max_out_of_order_octets_per_participant);
        /// Locators in one list.
        max_locators: u32 = number(quotas().max_locators);
        /// Properties of one participant or endpoint.
        max_properties: u32 = number(quotas().max_properties);
        /// Send data to addresses that a participant names for it although they are none of those that it names for
        /// discovery. It shows that it receives at the latter only, so the others may be those of a victim.
        foreign_locators: bool = quotas().foreign_locators;
        /// Send nothing to a new place of a participant, and drop what comes in its name from there, until it has answered there.
        /// Without it an announcement alone moves a participant, and anybody may speak in its name.
        verify_places: bool = quotas().verify_places;
    }
    /// Types of topics (DDS-XTypes), see `docs/xtypes.md`.
    types: TypesSection {
        /// Announce them with every writer and reader, tell them to participants that ask, and compare them with those of
        /// others member by member. Without it types are compared by name.
        announce: bool = true;
    }
    /// Counters for others, see `docs/statistics.md`.
    statistics: StatisticsSection {
        /// Publish the counters of this participant and its endpoints while another participant subscribes to the topic
        /// DunlinStatistics, as dunlin top does. Nothing is announced or sent while nobody does.
        enabled: bool = true;
        /// Time between two samples of each, 100ms to 1h.
        period: Duration = Duration::from_secs(1);
    }
    /// For finding out what goes wrong.
    debug: DebugSection {
        /// File that gets a copy of all traffic for Wireshark or tshark; empty for none.
        pcap: String = String::new();
        /// Size at which that copy ends.
        pcap_limit: Size = Size(driver().pcap_max_octets);
    }
    /// Faults to inject into what is sent. For tests only: leave it alone in production.
    fault: FaultSection {
        /// The same seed gives the same faults.
        seed: u64 = 0;
        /// Share of datagrams lost.
        loss: Share = Share(0);
        /// Share of datagrams sent twice.
        duplicate: Share = Share(0);
        /// Share of datagrams held back up to 2ms, so that others overtake them.
        reorder: Share = Share(0);
        /// Added to every datagram.
        delay: Duration = Duration::ZERO;
        /// Up to this much more.
        jitter: Duration = Duration::ZERO;
    }
    /// What is logged. A program that sets up its own subscriber of tracing decides for itself.
    logging: LoggingSection {
        /// Print it on standard error, one line each, in a program that has set up no subscriber of tracing. It holds for
        /// the process, as the participant made last has it; in a simulation nothing is printed.
        standard_error: bool = true;
        /// Level ("error", "warn", "info", "debug", "trace") or list of targets with levels.
        filter: String = "warn".into();
    }
}
