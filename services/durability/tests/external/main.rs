//! Back ends on real servers, which the tests start on the loopback interface with folders of their own: `make services-external`.

mod nats;
mod postgres;
mod s3;
#[path = "../store/suite.rs"]
mod suite;
#[path = "../store/support.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod support;

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use dunlin_durability::change::{Kind, Position};
use dunlin_durability::store::{Step, Store, StoreError};
use support::change;

/// A port that nobody has at this moment.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A server that is killed at the end of a test.
pub struct Server(Child);

impl Server {
    /// Starts it, in a process group of its own, so that what it starts ends with it.
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        Self(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub fn signal(&self, signal: &str) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status();
    }

    pub fn kill(mut self) {
        self.killed();
    }

    fn killed(&mut self) {
        self.signal("-KILL");
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.killed();
    }
}

/// A change at a position, whose value says which.
pub fn append(position: Position, octets: usize) -> Step {
    let mut change = change(Kind::Data, position as u8, (1, position as i64 + 1), 5);
    let mut value = position.to_le_bytes().to_vec();
    value.resize(octets.max(8), position as u8);
    change.head.octets = value.len() as u32;
    Step::Append(position, change.head, dunlin::SharedBytes::copy_from(&value))
}

/// Whether a store has all changes below a position, with their values.
pub fn has_all(store: &mut dyn Store, end: Position) {
    let mut next = 0;
    let mut count = |position, _| {
        assert_eq!(position, next, "in order, and all of them");
        next += 1;
        Ok(())
    };
    store.scan(&mut count).unwrap();
    assert!(next >= end, "{next} of {end}: what was confirmed is missing");
    for position in 0..next {
        let value = store.read(position).unwrap().expect("it has a head");
        assert_eq!(value[..8], position.to_le_bytes());
    }
}

/// A server is killed while a store commits to it, again and again; it comes back, and so does the store. Nothing that was confirmed
/// is missing. `restart` starts the server again.
pub fn survives_kills(
    store: &mut dyn Store,
    mut server: Server,
    mut restart: impl FnMut() -> Server,
) -> (Server, Position) {
    let mut next = 0;
    for round in 0..4 {
        // The kill comes from beside, in the middle of commits.
        let (after, victim) = (std::time::Duration::from_millis(60 + 70 * round), server);
        let killing = std::thread::spawn(move || {
            std::thread::park_timeout(after);
            victim.kill();
        });
        let (failed, steps) = commit_until_failed(store, &mut next);
        killing.join().unwrap();
        assert!(!failed.to_string().is_empty());
        let away = store.commit(&steps).expect_err("it is away");
        assert!(matches!(away, StoreError::Backend(_)));
        server = restart();
        // What is not known to be done is tried again, as the service does.
        let (store, steps) = (&mut *store, &steps);
        dunlin_test_program::eventually("it is written again", || store.commit(steps).is_ok());
        next += steps.len() as Position;
    }
    has_all(store, next);
    (server, next)
}

/// The error, and what was to be written then.
fn commit_until_failed(store: &mut dyn Store, next: &mut Position) -> (StoreError, Vec<Step>) {
    for _ in 0..1_000_000 {
        let steps: Vec<Step> = (*next..*next + 50).map(|position| append(position, 200)).collect();
        match store.commit(&steps) {
            Ok(()) => *next += 50,
            Err(error) => return (error, steps),
        }
    }
    panic!("the server was not killed");
}
