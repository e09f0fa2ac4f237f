//! A cold tier in memory, and in a server that speaks S3 (moto, of PyPI).

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dunlin_durability::ServiceConfig;
use dunlin_durability::backend::{ColdBackend, Tier};
use dunlin_durability::store::{Cold, FileStore, MemoryStore, S3, Step, Store, StoreError, TieredStore};
use dunlin_test_program::{Place, eventually};

use crate::suite::{Content, conforms};
use crate::{Server, append, free_port, has_all};

/// Moves nearly everything.
const SMALL: Tier = Tier { keep: 500, segment: 2_000 };

#[derive(Clone, Default)]
struct Memory {
    segments: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    away: Arc<Mutex<bool>>,
}

impl Memory {
    fn there(&self) -> Result<std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>>, StoreError> {
        if *self.away.lock().unwrap() {
            return Err(StoreError::Backend("it is away".into()));
        }
        Ok(self.segments.lock().unwrap())
    }
}

impl Cold for Memory {
    fn put(&mut self, name: &str, octets: Vec<u8>) -> Result<(), StoreError> {
        self.there()?.insert(name.into(), octets);
        Ok(())
    }

    fn get(&mut self, name: &str, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let there = self.there()?;
        Ok(there[name][range.start as usize..range.end as usize].to_vec())
    }

    fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        self.there()?.remove(name);
        Ok(())
    }

    fn names(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(self.there()?.keys().filter(|name| name.ends_with(".mcap")).cloned().collect())
    }

    fn mark(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.there()?.get("owner").cloned())
    }

    fn claim(&mut self, mark: &[u8]) -> Result<Vec<u8>, StoreError> {
        Ok(self.there()?.entry("owner".into()).or_insert_with(|| mark.to_vec()).clone())
    }
}

/// A file with a cold tier.
fn conforms_over<C: Cold>(cold: impl Fn() -> C, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.redb");
    let open = || TieredStore::open(Box::new(FileStore::open(&file).unwrap()), cold(), SMALL).unwrap();
    let again = |store: TieredStore<C>| {
        assert_eq!(store.trouble(), None);
        drop(store);
        open()
    };
    conforms(open(), again, seed);
}

#[test]
fn the_tiered_store_with_segments_in_memory_passes_the_conformance_suite() {
    for seed in 1..=20 {
        let cold = Memory::default();
        conforms_over(|| cold.clone(), seed);
        assert!(!cold.clone().names().unwrap().is_empty(), "nothing has moved");
    }
}

#[test]
fn values_stay_if_the_cold_tier_fails_and_unused_segments_are_removed() {
    let cold = Memory::default();
    let mut store = TieredStore::open(Box::new(MemoryStore::default()), cold.clone(), SMALL).unwrap();
    *cold.away.lock().unwrap() = true;
    for position in 0..50 {
        store.commit(&[append(position, 300)]).unwrap();
    }
    assert!(store.trouble().unwrap().contains("away") && store.octets() == (15_000, 0));
    has_all(&mut store, 50);
    *cold.away.lock().unwrap() = false;
    (50..60).for_each(|position| store.commit(&[append(position, 300)]).unwrap());
    assert!(store.trouble().is_none() && store.octets().0 <= 2_300, "{:?}", store.octets());
    has_all(&mut store, 60);
    let before = cold.segments.lock().unwrap().len();
    (0..60).filter(|it| it % 20 != 0).for_each(|position| store.commit(&[Step::Remove(position)]).unwrap());
    (0..20).for_each(|_| store.commit(&[]).unwrap());
    let after = cold.segments.lock().unwrap().len();
    assert!(after < before, "{after} of {before} segments");
    assert_eq!(Content::of(&mut store).changes.len(), 3);
}

/// Two stores with one place for segments: the second one is refused, whether it finds the place at once or later, and the first one
/// loses nothing. An older program has left no mark.
fn two_stores_need_two_places<C: Cold>(cold: impl Fn() -> C, set_away: impl Fn(bool), forget: impl Fn()) {
    let open = |hot: MemoryStore| TieredStore::open(Box::new(hot), cold(), SMALL);
    let mut first = open(MemoryStore::default()).unwrap();
    let fill = |store: &mut TieredStore<C>| {
        (0..30).for_each(|position| store.commit(&[append(position, 300)]).unwrap());
    };
    fill(&mut first);
    assert!(first.octets().1 > 0, "{:?}", first.trouble());
    let refused = open(MemoryStore::default()).err().expect("the place is the first one's").to_string();
    assert!(refused.contains("another store's: each service needs a prefix of its own"), "{refused}");
    set_away(true);
    let mut second = open(MemoryStore::default()).expect("a cold tier may be away");
    set_away(false);
    fill(&mut second);
    assert!(second.trouble().is_some_and(|why| why.contains("another store's")), "{:?}", second.trouble());
    has_all(&mut second, 30);
    drop(second);
    has_all(&mut first, 30);
    forget();
    let refused = open(MemoryStore::default()).err().expect("there are segments of somebody").to_string();
    assert!(refused.contains("another store's"), "{refused}");
    has_all(&mut first, 30);
}

#[test]
fn two_stores_need_two_places_in_memory() {
    let cold = Memory::default();
    let forget = || _ = cold.segments.lock().unwrap().remove("owner").expect("there is a mark");
    two_stores_need_two_places(|| cold.clone(), |away| *cold.away.lock().unwrap() = away, forget);
}

#[test]
fn two_stores_need_two_places_in_a_server() {
    let moto = Moto::new();
    let cold = || S3::new(&moto.backend("two")).unwrap();
    let mut first = TieredStore::open(Box::new(MemoryStore::default()), cold(), SMALL).unwrap();
    (0..30).for_each(|position| first.commit(&[append(position, 300)]).unwrap());
    assert!(first.octets().1 > 0, "{:?}", first.trouble());
    let refused = TieredStore::open(Box::new(MemoryStore::default()), cold(), SMALL).err().unwrap();
    assert!(refused.to_string().contains("another store's"), "{refused}");
    assert_eq!(cold().claim(b"another").unwrap(), cold().mark().unwrap().unwrap());
    has_all(&mut first, 30);
}

/// A store stays the owner of its segments when it is opened anew, and once without them.
#[test]
fn a_store_knows_its_segments_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.redb");
    let cold = Memory::default();
    let open = || TieredStore::open(Box::new(FileStore::open(&file).unwrap()), cold.clone(), SMALL).unwrap();
    drop(open());
    let quota = dunlin_durability::history::Quota::default();
    let mut keeper =
        dunlin_durability::keeper::Keeper::open(FileStore::open(&file).unwrap(), quota, |_| None).unwrap();
    keeper.commit().unwrap();
    drop(keeper);
    let mut store = open();
    (0..20).for_each(|position| store.commit(&[append(position, 300)]).unwrap());
    assert!(store.octets().1 > 0, "{:?}", store.trouble());
    drop(store);
    has_all(&mut open(), 20);
}

/// Who forgets the section of the cold tier is told, and loses nothing.
#[test]
fn a_file_without_its_cold_tier_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.redb");
    let cold = Memory::default();
    let hot = Box::new(FileStore::open(&file).unwrap());
    let mut store = TieredStore::open(hot, cold, SMALL).unwrap();
    (0..20).for_each(|position| store.commit(&[append(position, 300)]).unwrap());
    drop(store);
    let opened = dunlin_durability::keeper::Keeper::open(
        FileStore::open(&file).unwrap(),
        dunlin_durability::history::Quota::default(),
        |_| None,
    );
    assert!(opened.err().unwrap().to_string().contains("needs its section [cold]"));
}

/// The server of moto: in memory, so it proves the protocol and not that anything lasts.
struct Moto {
    _server: Server,
    port: u16,
}

impl Moto {
    fn new() -> Self {
        let program =
            std::env::var("MOTO").expect("MOTO names the program moto_server: services/external.sh");
        let port = free_port();
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stderr(Stdio::null());
        let server = Server::start(&mut command);
        eventually("moto answers", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let host = format!("Host: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        write!(stream, "PUT /history HTTP/1.1\r\n{host}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("200 OK"), "{answer}");
        Self { _server: server, port }
    }

    fn backend(&self, prefix: &str) -> ColdBackend {
        ColdBackend {
            bucket: "history".into(),
            endpoint: Some(format!("http://127.0.0.1:{}", self.port)),
            region: "us-east-1".into(),
            prefix: prefix.into(),
            access: Some(("dunlin".into(), "secret".into())),
            tier: SMALL,
            timeout: Duration::from_secs(10),
        }
    }
}

#[test]
fn the_tiered_store_with_segments_in_s3_passes_the_conformance_suite() {
    let moto = Moto::new();
    for seed in 1..=5 {
        let backend = moto.backend(&format!("seed{seed}"));
        conforms_over(|| S3::new(&backend).unwrap(), seed);
        assert!(!S3::new(&backend).unwrap().names().unwrap().is_empty(), "nothing has moved");
    }
}

#[test]
fn values_of_several_segments_come_back_and_what_nobody_knows_goes() {
    let moto = Moto::new();
    let backend = moto.backend("values");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.redb");
    let open = || {
        let hot = Box::new(FileStore::open(&file).unwrap());
        TieredStore::open(hot, S3::new(&backend).unwrap(), SMALL).unwrap()
    };
    let mut store = open();
    (0..100).for_each(|position| store.commit(&[append(position, 300)]).unwrap());
    assert_eq!(store.trouble(), None);
    has_all(&mut store, 100);
    drop(store);
    let mut beside = S3::new(&backend).unwrap();
    beside.put("ffffffff.mcap", vec![1, 2, 3]).unwrap();
    let known = beside.names().unwrap().len();
    has_all(&mut open(), 100);
    assert_eq!(beside.names().unwrap().len(), known - 1);
}

/// What the page says to do by copy and paste.
#[test]
fn the_example_is_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let place = Place::new("example-cold");
    place.file("s3.secret", "secret\n");
    let text = std::fs::read_to_string(examples.join("cold.toml")).unwrap();
    ServiceConfig::from_file(&place.file("cold.toml", &text)).unwrap();
}
