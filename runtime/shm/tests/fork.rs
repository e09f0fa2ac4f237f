//! What a child of `fork` keeps of the shared memory of its parent. These tests run one after the other: a child has copies of what
//! others of its process have at that moment, until the library takes them away.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::Locator;
use dunlin_shm::{ShmConfig, ShmTransport};
use dunlin_transport::conformance::single;
use dunlin_transport::memory::MemoryNetwork;
use dunlin_transport::{Channel, RecvMode, SendMode, Transport};

/// Octets of what is lent.
const LEN: usize = 100_004;

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn open(network: &Arc<MemoryNetwork>, folder: &Path) -> ShmTransport {
    let config = ShmConfig { directory: folder.to_owned(), ring_size: 1 << 18, ..ShmConfig::default() };
    ShmTransport::open(network.attach(0), &config).unwrap()
}

/// Two that know each other.
fn pair(folder: &Path) -> (ShmTransport, ShmTransport) {
    let network = MemoryNetwork::new();
    let (a, b) = (open(&network, folder), open(&network, folder));
    a.open_path(&inbox(&b)).unwrap();
    (a, b)
}

fn inbox(of: &ShmTransport) -> Locator {
    of.locators().default_unicast[0]
}

fn receive(transport: &ShmTransport) -> Vec<SharedBytes> {
    let (mut pool, mut batch) = (BufPool::new(1 << 20), vec![]);
    for _ in 0..4 {
        transport.recv(Channel::DataShared, RecvMode::NonBlocking, &mut pool, &mut batch).unwrap();
    }
    batch.into_iter().map(|(bytes, _)| bytes).collect()
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Carries out `work` in a child.
fn fork(work: impl FnOnce()) -> i32 {
    // SAFETY: no other thread of this program does anything meanwhile but wait. The child ends without what the test program does at its
    // end.
    match unsafe { libc::fork() } {
        0 => {
            let work = std::panic::AssertUnwindSafe(work);
            let code = i32::from(std::panic::catch_unwind(work).is_err());
            // SAFETY: the process ends here.
            unsafe { libc::_exit(code) }
        }
        child => child,
    }
}

/// How a child has ended, as `wait` says it.
fn end_of(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the place is one for what is written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

/// The parent is killed while the child lives on.
#[test]
fn a_living_child_of_fork_does_not_keep_the_files_of_a_dead_parent() {
    let (_alone, folder) = (alone(), folder());
    let ((mut hears, tells), (rest, keep)) = (io::pipe().unwrap(), io::pipe().unwrap());
    let parent = fork(|| {
        let _transport = open(&MemoryNetwork::new(), folder.path());
        let _child = fork(|| {
            drop(keep);
            (&tells).write_all(b"!").unwrap();
            // Until the test has ended.
            _ = (&rest).read(&mut [0]);
        });
        // SAFETY: the process ends here.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    });
    // Or what is heard would never end.
    drop(tells);
    assert_eq!(end_of(parent), libc::SIGKILL);
    hears.read_exact(&mut [0]).unwrap();
    assert_eq!(files(folder.path()), 1, "the inbox of the one that was killed");
    let transport = open(&MemoryNetwork::new(), folder.path());
    assert_eq!(files(folder.path()), 1, "the inbox of this one");
    drop(transport);
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn what_a_child_of_fork_sends_or_takes_is_in_no_ring_of_its_parent() {
    let (_alone, folder) = (alone(), folder());
    let (a, b) = pair(folder.path());
    let send = |octets: &[u8]| a.send(&single(octets, &[inbox(&b)]), SendMode::NonBlocking);
    assert_eq!(send(b"one").sent, 1);
    let child = fork(|| {
        send(b"two");
        assert!(receive(&b).is_empty());
    });
    assert_eq!(end_of(child), 0);
    assert_eq!(send(b"three").sent, 1);
    let arrived: Vec<_> = receive(&b).iter().map(|message| message.to_vec()).collect();
    assert_eq!(arrived, [b"one".to_vec(), b"three".to_vec()]);
}

/// The parent still uses it.
#[test]
fn a_child_of_fork_that_drops_a_loan_does_not_give_it_back() {
    let (_alone, folder) = (alone(), folder());
    let (a, b) = pair(folder.path());
    let lender = a.lender(LEN).unwrap();
    let free = || std::iter::from_fn(|| lender.lend(LEN)).collect::<Vec<_>>().len();
    let slots = free();
    let mut loan = lender.lend(LEN).unwrap();
    loan.octets_mut().fill(7);
    let mut outbox = Outbox::new();
    outbox.begin();
    outbox.put(b"head");
    outbox.put_tail(loan.share());
    outbox.finish(&[inbox(&b)]);
    assert_eq!(a.send(&outbox, SendMode::NonBlocking).sent, 1);
    drop(outbox);
    let mut received = receive(&b);
    assert_eq!((received.len(), free()), (1, slots - 1));
    let child = fork(|| {
        assert!(received.iter().all(|loan| !loan.is_intact()), "it is not there to be read");
        drop(std::mem::take(&mut received));
    });
    assert_eq!(end_of(child), 0);
    assert_eq!(free(), slots - 1, "the parent has it");
    assert!(received.iter().all(SharedBytes::is_intact));
    drop(received);
    assert_eq!(free(), slots);
}
