//! The program itself, and programs that know nothing of it, over the loopback interface. What they do is decided by `dunlin.toml` alone.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant};
use dunlin_test_program::{Running, eventually, minds_where_its_answer_goes};

/// What the two programs exchange.
const SAMPLES: u32 = 100;

#[derive(DdsType, Clone, Debug, Default)]
struct Count {
    n: u32,
}

/// A port that is free, with the three behind it most likely.
fn port() -> u16 {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    socket.local_addr().unwrap().port().min(65_000)
}

fn start(command: &mut Command) -> Running {
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()))
}

fn server(port: u16) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-server"));
    let words = ["--port", &port.to_string(), "--domain", "0", "--set", "network.interfaces=lo"];
    let server = start(command.args(words));
    server.tells(&format!("domain 0, port {port}"));
    server
}

fn writer(participant: &DomainParticipant) -> DataWriter<Count> {
    let topic = participant.create_topic::<Count>("Count", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all()).unwrap()
}

fn reader(participant: &DomainParticipant) -> DataReader<Count> {
    let topic = participant.create_topic::<Count>("Count", &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap()
}

/// Everything that is written arrives, whatever is done before each sample, and the two match once.
fn exchange(writer: &DataWriter<Count>, reader: &DataReader<Count>, mut before: impl FnMut(u32)) {
    let mut seen = Vec::new();
    for n in 0..SAMPLES {
        before(n);
        writer.write(&Count { n }).unwrap();
        eventually("it arrives", || {
            let samples = reader.take(usize::MAX).unwrap();
            seen.extend(samples.into_iter().filter_map(|sample| sample.data).map(|count| count.n));
            seen.len() == n as usize + 1
        });
    }
    assert_eq!(seen, (0..SAMPLES).collect::<Vec<_>>());
    let totals =
        (writer.publication_matched_status().total_count, reader.subscription_matched_status().total_count);
    assert_eq!(totals, (1, 1), "nobody matched anew");
}

/// A program that writes. It is run by the tests below, as a process of its own.
#[test]
#[ignore = "a program for other tests"]
fn program_that_writes() {
    let writer = writer(&DomainParticipant::new(0).unwrap());
    eventually("somebody reads", || !writer.matched_subscriptions().is_empty());
    for n in 0..SAMPLES {
        writer.write(&Count { n }).unwrap();
    }
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
}

/// A program that reads until it has everything.
#[test]
#[ignore = "a program for other tests"]
fn program_that_reads() {
    let reader = reader(&DomainParticipant::new(0).unwrap());
    let mut seen = Vec::new();
    eventually("all arrive", || {
        let samples = reader.take(usize::MAX).unwrap();
        seen.extend(samples.into_iter().filter_map(|sample| sample.data).map(|count| count.n));
        seen.len() == SAMPLES as usize
    });
    assert_eq!(seen, (0..SAMPLES).collect::<Vec<_>>());
}

fn program(name: &str, folder: &Path) -> Running {
    let words = ["--exact", name, "--ignored", "--nocapture"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    start(command.args(words).current_dir(folder).env_remove("DUNLIN_CONFIG"))
}

fn folder(discovery: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[network]\ninterfaces = [\"lo\"]\n[domain]\ntag = \"hub-{}\"\n[discovery]\n{discovery}",
        std::process::id()
    );
    std::fs::write(folder.path().join("dunlin.toml"), text).unwrap();
    folder
}

#[test]
fn programs_exchange_data_in_both_discovery_architectures() {
    let port = port();
    let centralised = format!("architecture = \"centralised\"\nservers = [\"udp://127.0.0.1:{port}\"]\n");
    for discovery in ["architecture = \"decentralised\"\n", &centralised] {
        let folder = folder(discovery);
        let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-server"));
        let words = ["--port", &port.to_string()];
        // The server takes the same file.
        let server = start(command.args(words).current_dir(folder.path()).env_remove("DUNLIN_CONFIG"));
        server.tells("domain 0, port");
        let programs = ["program_that_reads", "program_that_writes"].map(|name| program(name, folder.path()));
        programs.into_iter().for_each(Running::ends_well);
    }
}

/// The base of the well-known ports of a domain that nobody else on this machine has, most likely.
fn base() -> u16 {
    port().clamp(10_000, 60_000) / 2 * 2
}

/// What stands in the file of a host whose daemon has this index.
fn federated(base: u16, index: u32) -> String {
    let place = u32::from(base) + 10 + 2 * index;
    format!(
        "architecture = \"federated\"\n[ports]\nbase = {base}\n[daemon]\naddress = \"127.0.0.1:{place}\"\n"
    )
}

/// The daemon of a host, with the file of its programs.
fn daemon(folder: &Path, index: u32) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-daemon"));
    let set = format!("network.participant_index={index}");
    let words = ["--set", &set];
    let daemon = start(command.args(words).current_dir(folder).env_remove("DUNLIN_CONFIG"));
    daemon.tells("domain 0, port");
    daemon
}

#[test]
fn programs_exchange_data_through_daemons() {
    let base = base();
    // Two hosts, and then one.
    for indices in [[119, 118], [119, 119]] {
        let folders = indices.map(|index| folder(&federated(base, index)));
        let mut daemons = vec![daemon(folders[0].path(), indices[0])];
        if indices[0] != indices[1] {
            daemons.push(daemon(folders[1].path(), indices[1]));
        }
        let programs = [
            program("program_that_reads", folders[0].path()),
            program("program_that_writes", folders[1].path()),
        ];
        programs.into_iter().for_each(Running::ends_well);
    }
}

#[test]
fn a_program_of_a_daemon_and_a_decentralised_one_exchange_data() {
    let base = base();
    let federated = folder(&federated(base, 119));
    let free = folder(&format!("[ports]\nbase = {base}\n"));
    let _daemon = daemon(federated.path(), 119);
    for (reads, writes) in [(&federated, &free), (&free, &federated)] {
        let programs =
            [program("program_that_reads", reads.path()), program("program_that_writes", writes.path())];
        programs.into_iter().for_each(Running::ends_well);
    }
}

/// A participant of a host, with sockets of its own.
fn federated_participant(folder: &tempfile::TempDir, host: u64) -> DomainParticipant {
    let file = folder.path().join("dunlin.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut config = dunlin::Config::from_toml("dunlin.toml", &text).unwrap();
    // Participants of one process share sockets if they are configured alike.
    config.set("network.interface_poll", &format!("{}s", host + 3)).unwrap();
    DomainParticipant::builder(0).config(config).build().unwrap()
}

#[test]
fn killing_one_of_two_daemons_keeps_all_matches() {
    let base = base();
    let indices = [119, 118];
    let folders = indices.map(|index| folder(&federated(base, index)));
    let mut daemons = [0, 1].map(|host| daemon(folders[host].path(), indices[host]));
    let [writing, reading] = [0, 1].map(|host| federated_participant(&folders[host], host as u64));
    let (writer, reader) = (writer(&writing), reader(&reading));
    eventually("they match", || !writer.matched_subscriptions().is_empty());
    exchange(&writer, &reader, |n| {
        if n == 30 || n == 60 {
            // Kill one with SIGKILL, and start it anew.
            let which = usize::from(n == 60);
            daemons[which].kill();
            daemons[which] = daemon(folders[which].path(), indices[which]);
        }
    });
}

fn client(ports: &[u16]) -> DomainParticipant {
    let mut config = dunlin::Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("discovery.architecture", "centralised").unwrap();
    config.discovery.servers = ports.iter().map(|port| format!("udp://127.0.0.1:{port}")).collect();
    DomainParticipant::builder(0).config(config).build().unwrap()
}

#[test]
fn killing_one_of_two_discovery_servers_loses_no_match() {
    let ports = [port(), port()];
    let (writing, reading) = (client(&ports), client(&ports));
    let (writer, reader) = (writer(&writing), reader(&reading));
    let mut servers = ports.map(server);
    eventually("they match", || !writer.matched_subscriptions().is_empty());
    exchange(&writer, &reader, |n| {
        if n % 20 == 10 {
            // Kill one with SIGKILL, and start it anew.
            let which = (n / 20 % 2) as usize;
            servers[which].kill();
            servers[which] = server(ports[which]);
        }
    });
    // A server that was started anew serves newcomers, although it knows nothing from before.
    let third = client(&ports[..1]);
    let third = self::reader(&third);
    eventually("a newcomer matches", || !third.matched_publications().is_empty());
}

#[test]
fn a_discovery_server_survives_a_full_standard_error() {
    let port = port();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-server"));
    let words = ["--port", &port.to_string(), "--domain", "0", "--set", "network.interfaces=lo"];
    let mut server = command.args(words).stdin(Stdio::null()).stderr(full).spawn().unwrap();
    let (writing, reading) = (client(&[port]), client(&[port]));
    let (writer, _reader) = (writer(&writing), reader(&reading));
    eventually("it introduces them, or ends", || {
        server.try_wait().unwrap().is_some() || !writer.matched_subscriptions().is_empty()
    });
    assert_eq!(server.try_wait().unwrap(), None);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_port_that_is_taken_is_named() {
    let port = port();
    let _first = server(port);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin-server"));
    let words = ["--port", &port.to_string(), "--domain", "0", "--set", "network.interfaces=lo"];
    let second = command.args(words).output().unwrap();
    let told = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success() && told.contains(&format!("cannot serve at port {port}")), "{told}");
}

#[test]
fn help_ends_quietly_at_a_closed_pipe_and_names_a_full_disk() {
    for program in [env!("CARGO_BIN_EXE_dunlin-server"), env!("CARGO_BIN_EXE_dunlin-daemon")] {
        minds_where_its_answer_goes(|| {
            let mut command = Command::new(program);
            command.arg("--help");
            command
        });
    }
}
