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
    /// A word that may stand for a value, if there is one.
    word: Option<&'static str>,
    /// The values, if not all of the type fit.
    fits: &'static str,
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

    /// Completes "expected …".
    pub(crate) fn expects(&self) -> String {
        let word = self.word.map(|word| format!("\"{word}\" or ")).unwrap_or_default();
        word + self.fits
    }
}

macro_rules! schema {
    ($(
        $(#[doc = $section_doc:expr])*
        $section:ident: $Section:ident {
            $( $(#[doc = $doc:expr])* $name:ident: $type:ty $(as $fits:literal)? = $default:expr; )*
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
                word: <$type as Value>::WORD,
                fits: [$($fits,)? <$type as Value>::EXPECTS][0],
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
        /// The domain of programs whose code does not set one.
        id: u32 as "a whole number from 0 to 232" = 0;
        /// Only participants with the same tag discover each other.
        tag: String as "a text of at most 256 bytes" = String::new();
    }
    /// How participants discover each other.
    discovery: DiscoverySection {
        /// Hosts to announce this participant to, besides the multicast group: "host", "address", "host:port" or "[address]:port".
        /// Without a port, Dunlin announces it to the first ten participants of the host. For TCP, write "tcp://" in front, such as
        /// "tcp://host:port". To a TCP peer without a port, Dunlin tries to connect at the ports of the first four participants of the host.
        peers: Vec<String> = Vec::new();
        /// Who introduces participants to each other, see `docs/architectures.md`. "decentralised": nobody; participants announce themselves
        /// to multicast groups and `peers`. "centralised": the `servers`; participants send nothing to multicast groups. "federated": the
        /// daemon of this host, which also forwards all data. Its programs announce themselves to the daemon alone. They use the keys of
        /// `network`, but they ignore the following keys:
        /// - `discovery.peers`, `network.participant_index`, and the keys of `network` whose names begin with `multicast` or `broadcast`;
        /// - `network.interfaces`, except if `daemon.direct_write` is "asked" or "always", or if `daemon.address` is not a loopback address.
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
        /// Time between two announcements of this participant. It must be shorter than `lease_duration`.
        announcement_period: Duration as "a duration longer than \"0s\", such as \"3s\"" = driver().announcement_period;
        /// The lease: how long other participants remember this one after the last sign of life from it.
        lease_duration: Duration as "a duration of at least \"100ms\", or \"infinite\"" = driver().lease_duration;
        /// Announce the name of this host, the process id and the name of the program's file, as properties of the
        /// participant, for tools such as `dunlin ls`. On an untrusted network, turn it off.
        announce_process: bool = true;
        /// Also announce the user, and the folder of the program's file. Needs `announce_process`.
        announce_process_in_full: bool = false;
    }
    /// The daemon of a host, for `discovery.architecture` "federated".
    daemon: DaemonSection {
        /// The address at which programs reach the daemon: "host", "address", "host:port" or "[address]:port". The default port is the
        /// discovery port of participant 119 of the domain. Empty: this host, over loopback.
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
        applications: Vec<String> as "a list of at most 256 addresses" = Vec::new();
        /// How many participants the daemon serves at most.
        max_applications: u32 as "a whole number from 1 to 4294967295" = 256;
        /// Limit of the data rate of each program; "off": no limit. After a pause a program may send the data of one second at once. The
        /// daemon drops data above the limit. Reliable writers send it again.
        application_rate: Switch<Rate> as "a rate of at least \"8kbit/s\"" = Switch::Off;
        /// How long a message to the daemon of another host waits for other messages to the same daemon. "0s" sends each at once.
        bundle_delay: Duration as "a duration from \"0s\" to \"100ms\"" = Duration::ZERO;
        /// Limit of the rate of all data to other hosts, with IP and UDP headers; "off": no limit. Set it slightly below the speed of the
        /// link. Data above the limit waits in the daemon, in `bands`.
        network_rate: Switch<Rate> as "a rate of at least \"64kbit/s\"" = Switch::Off;
        /// Limit of the rate of the data to each address and port of other hosts; "off": no limit.
        destination_rate: Switch<Rate> as "a rate of at least \"64kbit/s\"" = Switch::Off;
        /// How many bytes may leave at once after a pause, for each of the limits `network_rate`, `destination_rate`, and `rate` of a band
        /// without its own `burst`. It does not apply to `application_rate`. "auto": what the rate carries in 5ms, at least 3kB.
        burst: Auto<Size> as "a size of at least \"1500B\"" = Auto::Auto;
        /// At most eight bands of TRANSPORT_PRIORITY, in rising order. Each begins with its lowest priority, and ends below the next band:
        /// ["0 rate=20Mbit/s burst=64KiB dscp=8", "40 queue=256KiB"]. Data of a higher band leaves first. If the queue of a band is full,
        /// the daemon drops and counts further data. Reliable writers send it again. With an empty list, there is one band for all data. A
        /// band has four optional settings:
        /// - `rate`: limit of its rate, at least 64kbit/s;
        /// - `burst`: how many bytes may leave at once after a pause, at least 1500B. It is allowed only together with `rate`;
        /// - `queue`: how many bytes may wait, from 64KiB to 1GiB (4MiB by default);
        /// - `dscp`: the code point of its datagrams, from 0 to 63 (by default the priority itself).
        bands: Bands = Bands::default();
    }
    /// Sockets and interfaces.
    network: NetworkSection {
        /// Use UDP. The value false needs `tcp.enabled`.
        udp: bool = driver().use_udp;
        /// Interfaces to use: names, beginnings of names followed by "*", or addresses. Empty: all interfaces that are up, without
        /// loopback. If only loopback is up, Dunlin uses loopback.
        interfaces: Vec<String> = Vec::new();
        /// Use IPv4.
        ipv4: bool = udp().ipv4;
        /// Use IPv6.
        ipv6: bool = udp().ipv6;
        /// What multicast is used for. "on": discovery and data. "spdp": only discovery of participants. "off": only discovery between
        /// participants on this host, over the loopback interface.
        multicast: Multicast = Multicast::On;
        /// The multicast group of IPv4.
        multicast_group_v4: Ipv4Addr as "an IPv4 multicast address" = udp().group_v4;
        /// The multicast group of IPv6.
        multicast_group_v6: Ipv6Addr as "an IPv6 multicast address" = udp().group_v6;
        /// How many networks a multicast or broadcast datagram may pass, the local one included. With 1 it stays in the local network.
        multicast_ttl: u8 = udp().multicast_ttl;
        /// Broadcast addresses to announce this participant to, for networks without multicast: "192.0.2.255" of a network, or
        /// "255.255.255.255" for all interfaces. Needs `multicast` "off". Participants do not announce these addresses as their own.
        broadcast: Vec<String> as "a list of at most 4 IPv4 addresses" = Vec::new();
        /// Also broadcast data for several readers. Needs the same `broadcast` addresses in all participants of the domain.
        broadcast_data: bool = udp().broadcast_data;
        /// Which pair of well-known ports to use: "auto" for the lowest free pair, a number from 0 to 119 for a certain pair, or
        /// "ephemeral" for any free ports.
        participant_index: ParticipantIndex = ParticipantIndex::Auto;
        /// Size of the kernel's buffer for each receiving socket. "auto" requests 4MiB; the kernel may give less.
        receive_buffer: Auto<Size> = Auto::Auto;
        /// Size of the kernel's buffer for the sending socket; "auto" keeps the kernel's default. On a slow link, a reliable writer waits
        /// when this buffer is full. A larger buffer takes more data before the writer has to wait.
        send_buffer: Auto<Size> = Auto::Auto;
        /// Largest size of a datagram. If you set a size, no datagram is longer, also within this host. If all switches take jumbo frames,
        /// set "8972B": Dunlin cannot find out what switches carry. The IP layer splits a datagram that is too long for an interface.
        /// "auto" is 1472B, or less on an interface that carries less. With "auto", programs without a daemon send large samples in longer
        /// datagrams in two cases:
        /// - Within this host, the datagrams have the largest size that the path carries, up to 65000B.
        /// - Between hosts, on links below 320 Mbit/s with hardly any loss, they have up to 43 frames, see `docs/loss-recovery.md`.
        max_message_size: Auto<Size> as "a size from \"1KiB\" to \"65507B\"" = Auto::Auto;
        /// Give several datagrams to the kernel in one call, if the kernel supports it.
        segmentation_offload: bool = udp().segmentation_offload;
        /// Take several datagrams from the kernel in one call, if the kernel supports it.
        receive_offload: bool = udp().receive_offload;
        /// Time between two checks for new or changed interfaces of the host.
        interface_poll: Duration as "a duration of at least \"100ms\", or \"infinite\"" = driver().interface_poll.into();
    }
    /// TCP connections, for networks that block UDP, see `docs/tcp.md`. Over TCP, participants find each other only through
    /// `discovery.peers`. Interfaces and IP versions are those of `network`.
    tcp: TcpSection {
        /// Use TCP.
        enabled: bool = false;
        /// The port that others connect to: "auto" for the lowest free well-known port, "off" for none. With "off" this participant
        /// connects to others, and others cannot connect to it.
        port: TcpPort = TcpPort::Auto;
        /// Limit of the number of connections. When it is reached, each new incoming connection makes Dunlin close an older incoming one, of
        /// the address that has the most incoming connections.
        max_connections: u32 as "a whole number from 1 to 65536" = number(TcpConfig::default().max_connections);
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
        /// The name that the certificates of others must contain. Empty: their certificates must contain the address that this
        /// participant connects to.
        server_name: String = String::new();
        /// Also require a certificate from those who connect to this participant, issued by one of the authorities.
        client_certificates: bool = false;
    }
    /// Shared memory with other processes of the host, see `docs/shared-memory.md`. Discovery always uses the network. Data uses the
    /// network if shared memory does not work.
    shared_memory: SharedMemorySection {
        /// Use shared memory if it works.
        enabled: bool = driver().shared_memory.enabled;
        /// Folder of the files, in a file system in memory. Processes with the same folder share memory, also from different
        /// containers.
        directory: String as "a path that begins with /" = driver().shared_memory.directory.display().to_string();
        /// Size of the ring: the memory for data in flight to one receiving process. Until the first large sample the ring has at most
        /// 1MiB. For samples longer than half of `ring_size` it grows beyond `ring_size`. Three limits bound this growth: eight times
        /// `ring_size`, 32MiB, and a sixteenth of the space that was free in the folder when the process joined.
        ring_size: Size as "a power of two from \"256KiB\" to \"256MiB\"" = Size(driver().shared_memory.ring_size.into());
        /// Who may use the files of this process, and whose files it uses. "user": only the same user. "group": the same group.
        /// "everyone": all who can reach the folder.
        access: Access = Access::User;
        /// Install a handler for the signal SIGBUS, so that this process survives if another process truncates a file of shared memory. The
        /// handler passes all other faults on. Without the handler, a truncated file ends this process.
        sigbus_handler: bool = driver().shared_memory.sigbus_handler;
        /// Deliver data to other participants of this process on the writing thread, without a socket or another thread. This needs
        /// shared memory in use, no capture file (`debug.pcap`) and no injected faults (`fault`).
        in_process: bool = driver().in_process;
    }
    /// How the threads that receive user data wait and run; `docs/waiting.md` says what each choice costs. Participants of a
    /// process with different settings here have separate sockets and threads.
    receive: ReceiveSection {
        /// What a thread does if nothing arrives. "blocking": it sleeps. "polling": it checks continuously and occupies a core.
        /// "adaptive": if recent datagrams came at short intervals, it checks for the time `spin`, and then sleeps; otherwise it sleeps at
        /// once.
        waiting: Waiting = Waiting::Adaptive;
        /// How long "adaptive" checks for a datagram before it sleeps. The first check after a sleep takes up to twice this time.
        spin: Duration as "a duration from \"0s\" to \"1ms\"" = driver().receive.spin.into();
        /// The number of the processor on which the thread for unicast data runs; "off": any processor.
        cpu: Switch<u32> = Switch::Off;
        /// Real-time priority (SCHED_FIFO) of the thread for unicast data; "off": ordinary scheduling.
        priority: Switch<u32> as "a whole number from 1 to 99" = Switch::Off;
    }
    /// Constants of the well-known ports (RTPS 2.5 §9.6.2). All participants of a domain need the same ones.
    ports: PortsSection {
        /// PB: the base of all ports. They begin here in domain 0.
        base: u16 = ports().base;
        /// DG: the distance between the ports of two successive domains.
        domain_gain: u16 = ports().domain_gain;
        /// PG: the distance between the ports of two successive participants.
        participant_gain: u16 = ports().participant_gain;
        /// d0: the offset of the port for discovery by multicast.
        d0: u16 = ports().d0;
        /// d1: the offset of the port for discovery by unicast.
        d1: u16 = ports().d1;
        /// d2: the offset of the port for data by multicast.
        d2: u16 = ports().d2;
        /// d3: the offset of the port for data by unicast.
        d3: u16 = ports().d3;
    }
    /// The reliable protocol (RTPS 2.5 §8.4).
    reliability: ReliabilitySection {
        /// How long data may be unacknowledged before the writer sends a separate heartbeat.
        heartbeat_period: Duration as "a duration longer than \"0s\", or \"infinite\"" = tuning().heartbeat_period;
        /// Longest time between two heartbeats while data is unacknowledged. It must not be shorter than `heartbeat_period`.
        heartbeat_max_period: Duration = tuning().heartbeat_max_period;
        /// How long a reader waits before it answers a heartbeat that requires an answer.
        heartbeat_response_delay: Duration = tuning().heartbeat_response_delay;
        /// How long a writer waits before it repairs a requested sample.
        nack_response_delay: Duration = tuning().nack_response_delay;
        /// A writer does not repair a sample again for the same reader within this time.
        nack_suppression: Duration = tuning().nack_suppression;
        /// How many bytes of repairs a writer sends at once. It sends the rest afterwards.
        repair_budget: Size = size(tuning().repair_budget_per_event);
        /// How many bytes of a large sample one fragment carries. With "auto", a fragment fills a datagram of the usual size. The longer
        /// datagrams of `network.max_message_size` "auto" carry several such fragments.
        fragment_size: Auto<Size> as "a size from \"64B\" to \"65000B\"" = Auto::Auto;
        /// Limit of the rate at which each writer sends; "off": no limit.
        pacing_rate: Switch<Rate> as "a rate of at least \"8kbit/s\"" = Switch::Off;
        /// Bytes that a writer with a `pacing_rate` may send at once after a pause.
        pacing_burst: Size as "a size of at least \"1B\"" = Size(64 << 10);
        /// How many bytes of new data a writer may send before its reliable Dunlin readers confirm them; "0B": no limit. "127KiB" fits into
        /// a receive buffer of 208KiB, the usual default of the kernel.
        send_window: Size = size(tuning().window);
        /// To which size `send_window` may grow for a reader on this host whose receive buffer has room; "0B": it does not grow.
        send_window_limit: Size = size(tuning().window_limit);
        /// How long a writer with a full send window waits for a reader that does not answer.
        send_window_patience: Duration as "a duration longer than \"0s\", or \"infinite\"" = tuning().window_patience;
        /// A reliable reader that does not answer a writer for this time is inactive: no write waits for it, and a full history
        /// drops samples that all other readers have acknowledged, see `docs/slow-readers.md`. With "0s" and "infinite", readers are
        /// never inactive.
        inactive_after: Duration = tuning().inactive_after;
        /// How many samples a KEEP_ALL writer keeps while a reader is inactive. If RESOURCE_LIMITS set `max_samples`, that limit applies
        /// instead, also if it is higher.
        inactive_backlog: u32 = number(tuning().inactive_backlog);
        /// Limit of the unacknowledged bytes of samples of a RELIABLE KEEP_ALL writer. The limit is the greatest of this value, the size of
        /// two samples, and twice the data that may be in flight. A write that would exceed it waits, at most for max_blocking_time or 1s,
        /// whichever is shorter. Then the sample is written anyway. "0B": no write waits for this. See `docs/slow-readers.md`.
        high_water: Size = size(tuning().high_water);
        /// How many bytes of partly received samples each reader keeps.
        max_reassembly: Size = size(tuning().max_reassembly_bytes);
        /// How many bytes of partly received samples a reader keeps of each remote writer. A larger sample never arrives.
        max_reassembly_per_writer: Size = size(tuning().max_reassembly_bytes_per_writer);
        /// How many bytes of samples of each remote writer may wait at a reader for earlier samples.
        max_out_of_order: Size = size(tuning().max_out_of_order_bytes);
        /// How many bytes of samples of all remote writers together may wait at a reader for earlier samples.
        max_out_of_order_total: Size = size(tuning().max_out_of_order_bytes_total);
        /// How many samples of each remote writer may wait at a reader for earlier samples.
        max_out_of_order_samples: u32 = number(tuning().max_out_of_order_samples);
    }
    /// How long samples wait so that several share a datagram, and several datagrams share a system call. For a writer with a
    /// LATENCY_BUDGET, its budget replaces `burst_delay`: each of its samples may wait, at most for the budget.
    batching: BatchingSection {
        /// How long a sample in a burst may wait for others if its writer has no LATENCY_BUDGET. A burst is several samples in quick
        /// succession. "0s": samples do not wait.
        burst_delay: Duration = tuning().burst_delay;
        /// How many bytes of samples of one writer may wait. When there are this many, they are sent.
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
    /// Limits of what this participant remembers of others. `docs/hostile-input.md` says what happens above each limit.
    quotas: QuotasSection {
        /// How far a source timestamp may be ahead of this host's clock, for readers that order BY_SOURCE_TIMESTAMP. A sample that is
        /// further ahead is lost, because it would hide all other samples of its instance until that time. "infinite": no limit.
        timestamp_tolerance: Duration = tuning().timestamp_tolerance;
        /// How many instances of remote writers a reader keeps if its RESOURCE_LIMITS do not limit instances. Samples of further instances
        /// are rejected.
        max_instances: u32 = number(tuning().max_instances);
        /// How many bytes of samples and keys of remote writers are kept by all readers together whose RESOURCE_LIMITS do not limit
        /// samples. Further samples are rejected until some are taken.
        max_samples_octets: Size = size(tuning().max_samples_octets);
        /// How many remote participants this participant remembers.
        max_participants: u32 = number(quotas().max_participants);
        /// How many remote participants may be unverified: they have not yet proved that they receive at their announced addresses. A
        /// further one replaces the oldest.
        max_unverified: u32 = number(quotas().max_unverified);
        /// How many unverified remote participants one source address may have. A further one replaces the oldest of that address.
        max_unverified_per_source: u32 = number(quotas().max_unverified_per_source);
        /// How many writers and readers of all remote participants together this participant remembers.
        max_endpoints: u32 = number(quotas().max_endpoints);
        /// How many writers and readers of each remote participant this participant remembers.
        max_endpoints_per_participant: u32 = number(quotas().max_endpoints_per_participant);
        /// How many bytes of announcements of all remote participants and their endpoints this participant remembers.
        max_octets: Size = size(quotas().max_octets);
        /// How many bytes of announcements of each remote participant and its endpoints this participant remembers.
        max_octets_per_participant: Size = size(quotas().max_octets_per_participant);
        /// How many bytes a USER_DATA, TOPIC_DATA or GROUP_DATA of others may have.
        max_opaque: Size = size(quotas().max_opaque_octets);
        /// How many bytes the type information of an endpoint of others may have.
        max_type: Size = size(quotas().max_type_octets);
        /// Size of the largest type object that Dunlin sends to participants that request it. Type objects that refer to each other in a
        /// circle count as one. Dunlin does not send a larger one, so its type matches by name. A participant that requests a type needs a
        /// `max_reassembly_per_participant` of at least the size of its largest type object.
        max_told_type: Size = size(quotas().max_told_type_octets);
        /// How many bytes of type objects of all remote participants together this participant remembers.
        max_type_objects: Size = size(quotas().max_type_object_octets);
        /// How many bytes of type objects of each remote participant this participant remembers.
        max_type_objects_per_participant: Size = size(quotas().max_type_object_octets_per_participant);
        /// How many bytes a name of a topic, type, entity or partition of others may have.
        max_string: Size = size(quotas().max_string_octets);
        /// How many names a PARTITION of others may have.
        max_partitions: u32 = number(quotas().max_partitions);
        /// How many bytes of partly received announcements each of the three built-in readers keeps.
        max_reassembly: Size = size(quotas().max_reassembly_octets);
        /// How many bytes of partly received announcements of one remote participant each of these readers keeps.
        max_reassembly_per_participant: Size = size(quotas().max_reassembly_octets_per_participant);
        /// How many bytes of announcements may wait for earlier ones, at each of the three built-in readers.
        max_out_of_order: Size = size(quotas().max_out_of_order_octets);
        /// How many bytes of announcements of one remote participant may wait for earlier ones, at each of these readers.
        max_out_of_order_per_participant: Size = size(quotas().max_out_of_order_octets_per_participant);
        /// How many locators one list of others may have. Further ones are ignored.
        max_locators: u32 = number(quotas().max_locators);
        /// How many properties a participant or endpoint of others may have. Further ones are ignored.
        max_properties: u32 = number(quotas().max_properties);
        /// Also send data to addresses that a participant announces for data but not for discovery. A participant proves only that it
        /// receives at its addresses for discovery, so the others may be those of a victim.
        foreign_locators: bool = quotas().foreign_locators;
        /// If a known participant announces a new address, send nothing there, and drop messages in its name from there, until it has
        /// answered from there. If this is off, Dunlin believes every announcement, so anybody can speak in the participant's name.
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
        /// DunlinStatistics, as `dunlin top` does. Without a subscriber nothing is announced or sent.
        enabled: bool = true;
        /// Time between two samples of each counter set.
        period: Duration as "a duration from \"100ms\" to \"1h\"" = Duration::from_secs(1);
    }
    /// For troubleshooting.
    debug: DebugSection {
        /// File for a copy of all traffic, which Wireshark and tshark can read. Empty: no copy.
        pcap: String = String::new();
        /// Size of the file at which the copy ends.
        pcap_limit: Size = Size(driver().pcap_max_octets);
    }
    /// Faults to inject into sent datagrams. For tests only: do not use it in production.
    fault: FaultSection {
        /// Seed of the random faults. The same seed gives the same faults.
        seed: u64 = 0;
        /// Share of the datagrams that are lost.
        loss: Share = Share(0);
        /// Share of the datagrams that are sent twice.
        duplicate: Share = Share(0);
        /// Share of the datagrams that are held back for up to 2ms, so that others overtake them.
        reorder: Share = Share(0);
        /// Delay of every datagram.
        delay: Duration as "a duration from \"0s\" to \"1min\"" = Duration::ZERO;
        /// Additional delay of each datagram, random, up to this time.
        jitter: Duration as "a duration from \"0s\" to \"1min\"" = Duration::ZERO;
    }
    /// What is logged. If a program sets up its own tracing subscriber, that subscriber decides instead.
    logging: LoggingSection {
        /// Print the log on standard error, one line for each event, if the program has not set up a tracing subscriber. The setting of
        /// the newest participant holds for the whole process. In a simulation nothing is printed.
        standard_error: bool = true;
        /// What to print: a level ("error", "warn", "info", "debug" or "trace"), or a list of targets with levels, such as
        /// "warn,dunlin::why=off".
        filter: String = "warn".into();
    }
}
