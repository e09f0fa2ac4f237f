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
    /// The domain that programs join.
    domain: DomainSection {
        /// The domain of programs that do not name one, 0 to 232.
        id: u32 = 0;
        /// Only participants with the same tag discover each other.
        tag: String = String::new();
    }
    /// How participants discover each other.
    discovery: DiscoverySection {
        /// Hosts to announce this participant to, besides the multicast group: "host", "address", "host:port" or "[address]:port".
        /// Without a port, Dunlin announces to the first ten participants of the host. "tcp://" in front selects TCP; without a port
        /// Dunlin then connects to the first four participants.
        peers: Vec<String> = Vec::new();
        /// Who introduces participants to each other, see `docs/architectures.md`. "decentralised": nobody; participants announce themselves
        /// to multicast groups and `peers`. "centralised": the `servers`; participants send nothing to multicast groups. "federated": the
        /// daemon of this host, which also forwards all data. Its programs announce themselves to the daemon alone. They ignore `peers`, and
        /// `participant_index` and the multicast and broadcast keys of `network`. They use `network.interfaces` only if `daemon.direct_write`
        /// is "asked" or "always", or if `daemon.address` is not a loopback address. The other keys of `network` apply to them too.
        architecture: Architecture = Architecture::Decentralised;
        /// All discovery servers of "centralised": "udp://host:port", or "host" for the port of `dunlin server`. One server that runs is
        /// enough.
        servers: Vec<String> = Vec::new();
        /// Which participants the servers introduce. "topics": those that write a topic that is read here, or read one that is written
        /// here. "everything": all participants, as tools need.
        interest: Interest = Interest::Topics;
        /// Make this participant a discovery server, as `dunlin server` does. It introduces the participants that list it in their
        /// `servers` to each other, and sends nothing to multicast groups.
        server: bool = false;
        /// Time between two announcements of this participant; shorter than the lease.
        announcement_period: Duration = driver().announcement_period;
        /// How long other participants remember this one without a sign of life; 100ms or more.
        lease_duration: Duration = driver().lease_duration;
        /// Announce the name of this host, the process id and the name of the program's file, as properties of the
        /// participant, for tools such as dunlin ls. On an untrusted network, turn it off.
        announce_process: bool = true;
        /// Also announce the user, and the folder of the program's file. Needs announce_process.
        announce_process_in_full: bool = false;
    }
    /// The daemon of a host, for `discovery.architecture` "federated".
    daemon: DaemonSection {
        /// The address at which programs reach the daemon: "host", "address", "host:port" or "[address]:port". The default port is that of
        /// participant 119 of the domain. Empty: this host, over loopback.
        address: String = String::new();
        /// What a program does if no daemon runs when it starts: "wait" for it, or continue as "decentralised".
        absent: Absent = Absent::Wait;
        /// Which writers send to other hosts themselves instead of through the daemon. "never": none. "asked": only writers with
        /// `DataWriterQos::direct_write`. "always": all writers, except those that switch it off with `DataWriterQos::direct_write`. With
        /// "asked" and "always" the program has sockets on `network.interfaces`. Bands and limits of the daemon do not apply to data that
        /// writers send themselves.
        direct_write: DirectWrite = DirectWrite::Never;
        /// Make this participant the daemon of its host, as `dunlin daemon` does.
        run: bool = false;
        /// Addresses of programs that the daemon serves besides those of its own host, for example of containers.
        applications: Vec<String> = Vec::new();
        /// How many participants the daemon serves at most.
        max_applications: u32 = 256;
        /// Limit of the data of each program; "off": no limit. After a pause a program may send the data of one second at once. The daemon
        /// drops data above the limit. Reliable writers repair it.
        application_rate: Switch<Rate> = Switch::Off;
        /// How long a message to the daemon of another host waits for other messages to the same daemon; 0s sends each at once.
        bundle_delay: Duration = Duration::ZERO;
        /// Limit of all data to other hosts together, with IP and UDP headers; "off": no limit. Set it slightly below the speed of the
        /// link. Data above the limit waits in the daemon, in `bands`.
        network_rate: Switch<Rate> = Switch::Off;
        /// Limit of the data to each address and port of other hosts; "off": no limit.
        destination_rate: Switch<Rate> = Switch::Off;
        /// Bytes that may leave at once after a pause, for each of the limits `network_rate`, `destination_rate`, and `rate` of a band
        /// without its own `burst`. It does not apply to `application_rate`. "auto": what the rate carries in 5ms, at least 3kB.
        burst: Auto<Size> = Auto::Auto;
        /// At most eight bands of TRANSPORT_PRIORITY, in rising order. Each begins at a priority and ends below the next band:
        /// ["0 rate=20Mbit/s dscp=8", "40 queue=256KiB"]. Data of a higher band leaves first. A band may have a `rate` with a `burst`;
        /// a `queue`, the bytes that may wait, default 4MiB; and a `dscp` for its datagrams, default the priority itself. If a queue is
        /// full, the daemon drops and counts further data. Reliable writers repair it. An empty list is one band for all data.
        bands: Bands = Bands::default();
    }
    /// Sockets and interfaces.
    network: NetworkSection {
        /// Use UDP. To turn it off, turn on `tcp.enabled`.
        udp: bool = driver().use_udp;
        /// Interfaces to use: names, beginnings of names followed by "*", or addresses. Empty: all interfaces that are up, except
        /// loopback; loopback if there is no other.
        interfaces: Vec<String> = Vec::new();
        /// Use IPv4.
        ipv4: bool = udp().ipv4;
        /// Use IPv6.
        ipv6: bool = udp().ipv6;
        /// What multicast is used for. "on": discovery and data. "spdp": only discovery of participants. "off": only discovery between
        /// participants on this host, over the loopback interface.
        multicast: Multicast = Multicast::On;
        /// The multicast group of IPv4.
        multicast_group_v4: Ipv4Addr = udp().group_v4;
        /// The multicast group of IPv6.
        multicast_group_v6: Ipv6Addr = udp().group_v6;
        /// How many networks a multicast or broadcast datagram may cross; 1: it stays in the local network.
        multicast_ttl: u8 = udp().multicast_ttl;
        /// Up to four IPv4 broadcast addresses, for networks without multicast: "192.0.2.255" of a network, or "255.255.255.255" for
        /// all interfaces. Needs multicast "off". Participants do not announce these addresses.
        broadcast: Vec<String> = Vec::new();
        /// Also broadcast data for several readers. Needs the same `broadcast` addresses in all participants of the domain.
        broadcast_data: bool = udp().broadcast_data;
        /// Which pair of well-known ports to use: "auto" for the lowest free pair, a number from 0 to 119 for a certain pair, or
        /// "ephemeral" for any free ports.
        participant_index: ParticipantIndex = ParticipantIndex::Auto;
        /// Kernel buffer of each receiving socket; "auto" requests 4MiB, of which the kernel may give less.
        receive_buffer: Auto<Size> = Auto::Auto;
        /// Kernel buffer of the sending socket; "auto" keeps the kernel's default. A larger buffer weakens the back-pressure of a slow
        /// link on reliable writers.
        send_buffer: Auto<Size> = Auto::Auto;
        /// Largest datagram: "auto", or a size from 1KiB to 65507B. A size is the limit for all datagrams, also within this host. If all
        /// switches take jumbo frames, set "8972B", because Dunlin cannot know what switches carry. The IP layer splits a datagram that is
        /// too long for an interface. "auto" is 1472B, or less on an interface that carries less. Large samples are exceptions from "auto",
        /// except in programs that use a daemon:
        /// - Within this host, datagrams have the largest size that the path carries, up to 65000B.
        /// - Between hosts, on links below 320 Mbit/s with hardly any loss, datagrams have up to 43 frames, see docs/loss-recovery.md.
        max_message_size: Auto<Size> = Auto::Auto;
        /// Give several datagrams to the kernel in one call, if the kernel supports it.
        segmentation_offload: bool = udp().segmentation_offload;
        /// Take several datagrams from the kernel in one call, if the kernel supports it.
        receive_offload: bool = udp().receive_offload;
        /// Time between two checks for new or changed interfaces of the host.
        interface_poll: Duration = driver().interface_poll.into();
    }
    /// TCP connections, for networks that block UDP, see `docs/tcp.md`. Over TCP, participants find each other only through
    /// `discovery.peers`. Interfaces and IP versions are those of `network`.
    tcp: TcpSection {
        /// Use TCP.
        enabled: bool = false;
        /// The port that others connect to: "auto" for the lowest free well-known port, "off" for none. With "off" this participant
        /// connects to others, and they answer over its connections.
        port: TcpPort = TcpPort::Auto;
        /// Limit of the number of connections. A further connection replaces one of the address that has most connections.
        max_connections: u32 = number(TcpConfig::default().max_connections);
    }
    /// TLS 1.3 for TCP, see `docs/tcp.md`. Files are in PEM format. Needs the feature "tls" of the crate.
    tls: TlsSection {
        /// Encrypt all TCP connections.
        enabled: bool = false;
        /// The file with the certificate of this participant, followed by the intermediate certificates up to the authority.
        certificate: String = String::new();
        /// The file with its private key, without a password.
        key: String = String::new();
        /// The file with the certificates of the trusted authorities.
        authorities: String = String::new();
        /// The name that the certificates of others must contain; empty: the address that this participant connects to.
        server_name: String = String::new();
        /// Also require a certificate from those who connect to this participant, issued by one of the authorities.
        client_certificates: bool = false;
    }
    /// Shared memory with other processes of the host, see `docs/shared-memory.md`. Discovery always uses the network. Data uses the
    /// network if shared memory does not work.
    shared_memory: SharedMemorySection {
        /// Use shared memory if it works.
        enabled: bool = driver().shared_memory.enabled;
        /// Folder of its files, in a file system in memory. Processes with the same folder share memory, also from different
        /// containers.
        directory: String = driver().shared_memory.directory.display().to_string();
        /// Memory for data in flight to one receiving process: a power of two from 256KiB to 256MiB. Until the first large sample Dunlin
        /// uses at most 1MiB. For samples longer than half of `ring_size` the memory grows to up to eight times `ring_size`, but not beyond
        /// 32MiB. With a `ring_size` of 32MiB or more it does not grow.
        ring_size: Size = Size(driver().shared_memory.ring_size.into());
        /// Who may use the files of this process, and whose files it uses. "user": only the same user. "group": the same group.
        /// "everyone": all who can reach the folder. Anyone with access can end this process by truncating its files.
        access: Access = Access::User;
        /// Deliver data to other participants of this process on the writing thread, without a socket or another thread. Works only
        /// if shared memory is in use, and with neither a capture file nor faults.
        in_process: bool = driver().in_process;
    }
    /// How the threads that receive user data wait and run; `docs/waiting.md` says what each choice costs. Participants of a
    /// process with different settings here have separate sockets and threads.
    receive: ReceiveSection {
        /// What a thread does if nothing arrives. "blocking": it sleeps. "polling": it checks continuously and occupies a core.
        /// "adaptive": if recent datagrams came at short intervals, it checks for the time `spin`, and then sleeps; otherwise it sleeps at
        /// once.
        waiting: Waiting = Waiting::Adaptive;
        /// How long "adaptive" checks for one datagram before it sleeps; twice as long if the last wait ended with a sleep.
        spin: Duration = driver().receive.spin.into();
        /// The number of the processor on which the thread for unicast data runs; "off": any processor.
        cpu: Switch<u32> = Switch::Off;
        /// Real-time priority (SCHED_FIFO, 1 to 99) of the thread for unicast data; "off": ordinary scheduling.
        priority: Switch<u32> = Switch::Off;
    }
    /// Constants of the well-known ports (RTPS 2.5 §9.6.2). All participants of a domain need the same ones.
    ports: PortsSection {
        /// PB, the first port of domain 0.
        base: u16 = ports().base;
        /// DG, ports for each domain.
        domain_gain: u16 = ports().domain_gain;
        /// PG, ports for each participant.
        participant_gain: u16 = ports().participant_gain;
        /// d0, offset of the port for discovery multicast.
        d0: u16 = ports().d0;
        /// d1, offset of the port for discovery unicast.
        d1: u16 = ports().d1;
        /// d2, offset of the port for user multicast.
        d2: u16 = ports().d2;
        /// d3, offset of the port for user unicast.
        d3: u16 = ports().d3;
    }
    /// The reliable protocol (RTPS 2.5 §8.4).
    reliability: ReliabilitySection {
        /// How long data may be unacknowledged before the writer sends a separate heartbeat.
        heartbeat_period: Duration = tuning().heartbeat_period;
        /// Longest time between two heartbeats while data is unacknowledged.
        heartbeat_max_period: Duration = tuning().heartbeat_max_period;
        /// How long a reader waits before it answers a heartbeat that requires an answer.
        heartbeat_response_delay: Duration = tuning().heartbeat_response_delay;
        /// How long a writer waits before it repairs a requested sample.
        nack_response_delay: Duration = tuning().nack_response_delay;
        /// A writer does not repair a sample again for the same reader within this time.
        nack_suppression: Duration = tuning().nack_suppression;
        /// How many bytes of repairs a writer sends at once; the rest follows.
        repair_budget: Size = size(tuning().repair_budget_per_event);
        /// Payload of a fragment of a large sample, up to 65000B; "auto" fills the largest datagram.
        fragment_size: Auto<Size> = Auto::Auto;
        /// Limit of the rate at which each writer sends; "off": no limit.
        pacing_rate: Switch<Rate> = Switch::Off;
        /// Bytes that a writer with a pacing_rate may send at once after a pause.
        pacing_burst: Size = Size(64 << 10);
        /// How many bytes of new data a writer may send before its reliable Dunlin readers confirm them; "0B": no limit. "127KiB" fits into
        /// the usual receive buffer of 208KiB.
        send_window: Size = size(tuning().window);
        /// How far send_window may grow for a reader on this host whose receive buffer has room; "0B": it does not grow.
        send_window_limit: Size = size(tuning().window_limit);
        /// How long a writer with a full window waits for a reader that does not answer.
        send_window_patience: Duration = tuning().window_patience;
        /// A reliable reader that does not answer a writer for this time is inactive: no write waits for it, and a full history
        /// drops samples that all other readers have acknowledged, see docs/slow-readers.md. "0s" and "infinite": readers are never
        /// inactive.
        inactive_after: Duration = tuning().inactive_after;
        /// How many samples a KEEP_ALL writer keeps while a reader is inactive. If RESOURCE_LIMITS set `max_samples`, that limit applies
        /// instead, also if it is higher.
        inactive_backlog: u32 = number(tuning().inactive_backlog);
        /// Limit of the unacknowledged bytes of samples of a RELIABLE KEEP_ALL writer. The limit is the greatest of this value, the size of
        /// two samples, and twice the data that may be in flight. A write that would exceed it waits, at most for max_blocking_time and for
        /// 1s. Then the sample is written anyway. "0B": no write waits for this. See docs/slow-readers.md.
        high_water: Size = size(tuning().high_water);
        /// Bytes of partly received samples that each reader keeps.
        max_reassembly: Size = size(tuning().max_reassembly_bytes);
        /// Bytes of partly received samples that a reader keeps of each remote writer. It never receives a larger sample.
        max_reassembly_per_writer: Size = size(tuning().max_reassembly_bytes_per_writer);
        /// Bytes of samples of each remote writer that wait at a reader for earlier samples.
        max_out_of_order: Size = size(tuning().max_out_of_order_bytes);
        /// Bytes of samples of all remote writers together that wait at a reader for earlier samples.
        max_out_of_order_total: Size = size(tuning().max_out_of_order_bytes_total);
        /// Number of samples of each remote writer that wait at a reader for earlier samples.
        max_out_of_order_samples: u32 = number(tuning().max_out_of_order_samples);
    }
    /// How long samples wait so that several share a datagram, and several datagrams share a system call. If a writer has a
    /// LATENCY_BUDGET, its samples wait at most for this time.
    batching: BatchingSection {
        /// How long a sample in a burst may wait for others if its writer has no LATENCY_BUDGET. A burst is several samples in quick
        /// succession. "0s": samples do not wait.
        burst_delay: Duration = tuning().burst_delay;
        /// Bytes of samples of one writer that may wait. At this size they are sent.
        max_size: Size = size(tuning().batch_octets);
    }
    /// Filters of readers, see `docs/filters.md`.
    filters: FiltersSection {
        /// Writers evaluate the content filters of their readers, and do not send samples that a filter rejects. For a reader of another
        /// vendor they do this only if the reader is reliable, and has a filter that every vendor evaluates alike.
        at_writer: bool = tuning().filter_at_writer;
    }
    /// Samples for readers that join later.
    durability: DurabilitySection {
        /// What to do with transient and persistent DURABILITY if there is no durability service. "refuse": such endpoints cannot be
        /// created. "local": the writer itself keeps the samples as long as it exists, as with transient-local.
        without_service: WithoutService = WithoutService::Refuse;
    }
    /// Limits of what remote participants may make this participant remember.
    quotas: QuotasSection {
        /// How far a source timestamp may be ahead of this host's clock, for readers that order BY_SOURCE_TIMESTAMP. A sample that is
        /// further ahead is lost, because it would hide all other samples of its instance until that time. "infinite": no limit.
        timestamp_tolerance: Duration = tuning().timestamp_tolerance;
        /// Instances of remote writers that a reader keeps if its RESOURCE_LIMITS do not limit instances. Samples of further instances
        /// are rejected.
        max_instances: u32 = number(tuning().max_instances);
        /// Bytes of samples and keys of remote writers that all readers together keep if their RESOURCE_LIMITS do not limit samples.
        /// Further samples are rejected until some are taken.
        max_samples_octets: Size = size(tuning().max_samples_octets);
        /// Remote participants.
        max_participants: u32 = number(quotas().max_participants);
        /// Remote participants that have not yet proved that they receive at their announced addresses. A further one replaces the oldest.
        max_unverified: u32 = number(quotas().max_unverified);
        /// Unverified remote participants of one source address. A further one replaces the oldest of that address.
        max_unverified_per_source: u32 = number(quotas().max_unverified_per_source);
        /// Writers and readers of all remote participants.
        max_endpoints: u32 = number(quotas().max_endpoints);
        /// Writers and readers of each remote participant.
        max_endpoints_per_participant: u32 = number(quotas().max_endpoints_per_participant);
        /// Bytes of announcements of all remote participants and their endpoints.
        max_octets: Size = size(quotas().max_octets);
        /// Bytes of announcements of each remote participant and its endpoints.
        max_octets_per_participant: Size = size(quotas().max_octets_per_participant);
        /// Bytes of one USER_DATA, TOPIC_DATA or GROUP_DATA.
        max_opaque: Size = size(quotas().max_opaque_octets);
        /// Bytes of type information of one endpoint.
        max_type: Size = size(quotas().max_type_octets);
        /// Largest type object, or set of mutually dependent type objects, that Dunlin sends. Larger types match by name. A participant
        /// that requests it needs a `max_reassembly_per_participant` of this size.
        max_told_type: Size = size(quotas().max_told_type_octets);
        /// Bytes of type objects of all remote participants.
        max_type_objects: Size = size(quotas().max_type_object_octets);
        /// Bytes of type objects of each remote participant.
        max_type_objects_per_participant: Size = size(quotas().max_type_object_octets_per_participant);
        /// Bytes of one name of a topic, type, entity or partition.
        max_string: Size = size(quotas().max_string_octets);
        /// Names in one PARTITION.
        max_partitions: u32 = number(quotas().max_partitions);
        /// Bytes of partly received announcements, at each of the three built-in readers.
        max_reassembly: Size = size(quotas().max_reassembly_octets);
        /// Bytes of partly received announcements of each remote participant.
        max_reassembly_per_participant: Size = size(quotas().max_reassembly_octets_per_participant);
        /// Bytes of announcements that wait for earlier ones, at each of the three built-in readers.
        max_out_of_order: Size = size(quotas().max_out_of_order_octets);
        /// Bytes of announcements of each remote participant that wait for earlier ones.
        max_out_of_order_per_participant: Size = size(quotas().max_out_of_order_octets_per_participant);
        /// Locators in one list.
        max_locators: u32 = number(quotas().max_locators);
        /// Properties of one participant or endpoint.
        max_properties: u32 = number(quotas().max_properties);
        /// Send data to addresses that a participant announces only for data, and not for discovery. A participant proves only that it
        /// receives at its addresses for discovery, so other addresses may be those of a victim.
        foreign_locators: bool = quotas().foreign_locators;
        /// Send nothing to a new address of a participant, and drop messages in its name from there, until it has answered from there.
        /// If this is off, an announcement alone moves a participant, and anybody can speak in its name.
        verify_places: bool = quotas().verify_places;
    }
    /// Types of topics (DDS-XTypes), see `docs/xtypes.md`.
    types: TypesSection {
        /// Announce types with every writer and reader, send them to participants that request them, and compare them with the types of
        /// others member by member. If this is off, types are compared by name.
        announce: bool = true;
    }
    /// Counters for other participants, see `docs/statistics.md`.
    statistics: StatisticsSection {
        /// Publish the counters of this participant and its endpoints while another participant subscribes to the topic
        /// DunlinStatistics, as dunlin top does. Without a subscriber nothing is announced or sent.
        enabled: bool = true;
        /// Time between two samples of each counter set, 100ms to 1h.
        period: Duration = Duration::from_secs(1);
    }
    /// For troubleshooting.
    debug: DebugSection {
        /// File that gets a copy of all traffic for Wireshark or tshark; empty for none.
        pcap: String = String::new();
        /// Size at which the copy ends.
        pcap_limit: Size = Size(driver().pcap_max_octets);
    }
    /// Faults to inject into sent datagrams. For tests only: do not use it in production.
    fault: FaultSection {
        /// The same seed gives the same faults.
        seed: u64 = 0;
        /// Share of datagrams lost.
        loss: Share = Share(0);
        /// Share of datagrams sent twice.
        duplicate: Share = Share(0);
        /// Share of datagrams held back for up to 2ms, so that others overtake them.
        reorder: Share = Share(0);
        /// Delay added to every datagram.
        delay: Duration = Duration::ZERO;
        /// Additional delay of each datagram, random, up to this time.
        jitter: Duration = Duration::ZERO;
    }
    /// What is logged. If a program sets up its own tracing subscriber, that subscriber decides instead.
    logging: LoggingSection {
        /// Print the log on standard error, one line for each event, if the program has not set up a tracing subscriber. The setting of
        /// the newest participant holds for the whole process. In a simulation nothing is printed.
        standard_error: bool = true;
        /// Level ("error", "warn", "info", "debug", "trace") or list of targets with levels.
        filter: String = "warn".into();
    }
}
