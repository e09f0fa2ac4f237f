//! PostgreSQL as Debian has it.

use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dunlin_durability::backend::PostgresBackend;
use dunlin_durability::store::{PostgresStore, Store};
use dunlin_durability::{Service, ServiceConfig};
use dunlin_test_program::{Place, eventually};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::suite::{Content, conforms};
use crate::{Server, append, free_port, has_all, survives_kills};

/// A cluster in a folder of its own.
struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
    /// Who runs it, where that may not be root.
    user: Option<u32>,
}

/// The folder of the newest server that is installed.
fn programs() -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .expect("PostgreSQL is not installed: apt-get install postgresql")
        .map(|entry| entry.unwrap().path().join("bin"))
        .filter(|it| it.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().expect("PostgreSQL is not installed: apt-get install postgresql")
}

fn number_of(words: &[&str]) -> u32 {
    let told = Command::new("id").args(words).output().unwrap();
    String::from_utf8(told.stdout).unwrap().trim().parse().unwrap()
}

impl Cluster {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // PostgreSQL refuses to run as root.
        let user = (number_of(&["-u"]) == 0).then(|| number_of(&["-u", "postgres"]));
        if let Some(user) = user {
            std::os::unix::fs::chown(folder.path(), Some(user), None).unwrap();
            std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let cluster = Self { folder, programs: programs(), port: free_port(), user };
        let made =
            cluster.command("initdb").args(["--auth=trust", "--username=dunlin", "--no-locale"]).output();
        let made = made.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        cluster
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.arg("-D").arg(self.data()).current_dir(self.folder.path()).stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user);
        }
        command
    }

    /// A file of the server's that nobody else reads.
    fn file(&self, name: &str, text: &str) {
        let file = self.data().join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&file, self.user, None).unwrap();
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the server, and waits until it answers. What a killed one left, it repairs.
    fn start(&self, settings: &[&str]) -> Server {
        let mut command = self.command("postgres");
        let port = self.port.to_string();
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        command.args(["-p", &port]).args(settings).stderr(Stdio::null());
        let server = Server::start(&mut command);
        eventually("PostgreSQL answers", || {
            let words = ["-q", "-h", "127.0.0.1", "-p", &port];
            Command::new(self.programs.join("pg_isready")).args(words).status().unwrap().success()
        });
        server
    }

    fn address(&self) -> String {
        format!("host=127.0.0.1 port={} user=dunlin dbname=postgres", self.port)
    }

    fn backend(&self, schema: &str) -> PostgresBackend {
        let timeout = Duration::from_secs(5);
        let (address, schema) = (self.address(), schema.into());
        PostgresBackend { address, password: None, authorities: None, schema, timeout }
    }

    fn open(&self, schema: &str) -> PostgresStore {
        let mut opened = None;
        // The lock of the last session is free once the server has noticed its end.
        eventually("it opens", || {
            opened = PostgresStore::open(&self.backend(schema)).ok();
            opened.is_some()
        });
        opened.unwrap()
    }
}

#[test]
fn the_postgres_store_passes_the_conformance_suite() {
    let cluster = Cluster::new();
    let _server = cluster.start(&[]);
    for seed in 1..=10 {
        let schema = format!("seed{seed}");
        let again = |store: PostgresStore| {
            drop(store);
            cluster.open(&schema)
        };
        conforms(cluster.open(&schema), again, seed);
    }
}

#[test]
fn confirmed_commits_survive_a_killed_server() {
    let cluster = Cluster::new();
    let server = cluster.start(&[]);
    let mut store = cluster.open("kills");
    let (server, end) = survives_kills(&mut store, server, || cluster.start(&[]));
    drop(store);
    // Another service finds it as well.
    has_all(&mut cluster.open("kills"), end);
    drop(server);
}

#[test]
fn postgres_tables_belong_to_one_service_and_a_losing_server_is_refused() {
    let cluster = Cluster::new();
    let server = cluster.start(&[]);
    let mut first = cluster.open("one");
    first.commit(&[append(0, 10)]).unwrap();
    let told = |schema: &str| PostgresStore::open(&cluster.backend(schema)).err().unwrap().to_string();
    assert!(told("one").contains("another service has the tables of the schema one"), "{}", told("one"));
    let other = cluster.open("other");
    drop(other);
    // While its server is away another one takes the tables: the first may not write any more.
    server.kill();
    assert!(first.commit(&[append(1, 10)]).is_err());
    let server = cluster.start(&[]);
    let mut second = cluster.open("one");
    second.commit(&[append(1, 20)]).unwrap();
    let before = Content::of(&mut second);
    drop(second);
    let mut last = String::new();
    eventually("the first is told", || {
        last = first.commit(&[append(1, 30)]).unwrap_err().to_string();
        last.contains("another service has had the tables meanwhile")
    });
    drop(first);
    assert_eq!(Content::of(&mut cluster.open("one")), before);
    server.kill();
    let _server = cluster.start(&["-c", "fsync=off"]);
    assert!(told("one").contains("fsync = off"), "{}", told("one"));
}

/// Between a store and its server, as a network that may be cut.
struct Line {
    port: u16,
    /// The ends at the store.
    near: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (port, near) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<TcpStream>>>::default());
        let open = Arc::clone(&near);
        std::thread::spawn(move || {
            for store in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else { continue };
                open.lock().unwrap().push(store.try_clone().unwrap());
                let (mut to, mut from) = (server.try_clone().unwrap(), store.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut to).map(|_| std::thread::park()));
                let (mut to, mut from) = (store, server);
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        });
        Self { port, near }
    }

    /// Cuts what there is at the store's end. The server hears nothing of it.
    fn cut(&self) {
        for store in self.near.lock().unwrap().drain(..) {
            store.shutdown(Shutdown::Both).unwrap();
        }
    }
}

/// The server still has the session that was cut, and with it the lock. The store is written again all the same; another one is told
/// who has the tables.
#[test]
fn a_session_that_was_cut_gives_way_to_the_next_one() {
    let cluster = Cluster::new();
    let _server = cluster.start(&[]);
    let line = Line::to(cluster.port);
    let address = format!("host=127.0.0.1 port={} user=dunlin dbname=postgres", line.port);
    let mut store = PostgresStore::open(&PostgresBackend { address, ..cluster.backend("cut") }).unwrap();
    for position in 0..3 {
        store.commit(&[append(position, 10)]).unwrap();
        line.cut();
        let other = PostgresStore::open(&cluster.backend("cut")).err().unwrap().to_string();
        assert!(other.contains("another service has the tables of the schema cut (process "), "{other}");
        eventually("it is written again", || store.commit(&[append(position, 10)]).is_ok());
    }
    has_all(&mut store, 3);
}

/// The server's certificate decides whether it is spoken with.
#[test]
fn postgres_connection_with_authorities_uses_tls() {
    let cluster = Cluster::new();
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let (known, other) = (authority("known"), authority("other"));
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &known).unwrap();
    cluster.file("server.crt", &certificate.pem());
    cluster.file("server.key", &key.serialize_pem());
    let clear = cluster.start(&[]);
    let backend = |host: &str, authority: &CertifiedIssuer<'_, KeyPair>| PostgresBackend {
        address: cluster.address().replace("127.0.0.1", host),
        authorities: Some(authority.pem()),
        ..cluster.backend("tls")
    };
    let refused = |backend| PostgresStore::open(&backend).err().unwrap().to_string();
    let why = refused(backend("localhost", &known));
    assert!(why.contains("server does not support TLS"), "{why}");
    clear.kill();
    let _server = cluster.start(&["-c", "ssl=on"]);
    let mut store = PostgresStore::open(&backend("localhost", &known)).unwrap();
    (0..50).for_each(|position| store.commit(&[append(position, 100_000)]).unwrap());
    has_all(&mut store, 50);
    assert!(refused(backend("localhost", &other)).contains("UnknownIssuer"));
    assert!(refused(backend("127.0.0.1", &known)).contains("not valid for name"));
}

/// A service whose server is away acknowledges nothing, and goes on when it is back.
#[test]
fn a_service_waits_for_its_server() {
    use dunlin::qos::{DataWriterQos, DurabilityKind, DurabilityService, HistoryKind, TopicQos};
    let cluster = Cluster::new();
    let server = cluster.start(&[]);
    let place = Place::new("store-away");
    let text = format!(
        "name = \"s\"\ndomain = 0\ntag = \"{}\"\nconfig = \"lo.toml\"\n[postgres]\naddress = \"{}\"\ntimeout = \"2s\"\n",
        place.tag(),
        cluster.address()
    );
    place.file("lo.toml", "[network]\ninterfaces = [\"lo\"]\n");
    let config = ServiceConfig::from_file(&place.file("s.toml", &text)).unwrap();
    let mut service = Service::new(config).unwrap();
    let participant = place.participant(0);
    let topic = participant.create_topic::<Note>("Notes", &TopicQos::default()).unwrap();
    let mut step = |what: &str, done: &mut dyn FnMut(&Service) -> bool| {
        eventually(what, || {
            let _ = service.pump();
            done(&service)
        });
    };
    step("the service is met", &mut |_| participant.has_durability_service());
    let all = DurabilityService { history_kind: HistoryKind::KeepAll, ..DurabilityService::default() };
    let qos = DataWriterQos::default().reliable().keep_all().durability(DurabilityKind::Persistent);
    let publisher = participant.create_publisher(&Default::default()).unwrap();
    let writer = publisher.create_datawriter(&topic, &qos.durability_service(all)).unwrap();
    let is_stored = || writer.wait_for_acknowledgments(dunlin::Duration::from_millis(1)).is_ok();
    step("the topic is kept", &mut |_| !writer.matched_subscriptions().is_empty());
    (0..100).for_each(|number| _ = writer.write(&Note { number }).unwrap());
    step("it is stored", &mut |_| is_stored());
    server.kill();
    (100..200).for_each(|number| _ = writer.write(&Note { number }).unwrap());
    step("it notices", &mut |service| service.failure().is_some());
    for _ in 0..20 {
        step("nothing is acknowledged", &mut |service| service.failure().is_some());
        assert!(!is_stored());
    }
    let _server = cluster.start(&[]);
    step("it goes on", &mut |service| is_stored() && service.failure().is_none());
    drop(service);
    assert_eq!(Content::of(&mut cluster.open("dunlin")).changes.len(), 200);
}

#[derive(dunlin::DdsType, Clone, Debug, Default)]
struct Note {
    #[dds(key)]
    number: u32,
}

/// What the page says to do by copy and paste is what the tests do.
#[test]
fn the_example_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let place = Place::new("example");
    let text = std::fs::read_to_string(folder.join("postgres.toml")).unwrap();
    place.file("postgres.password", "secret\n");
    ServiceConfig::from_file(&place.file("postgres.toml", &text)).unwrap();
}
