//! Chunks that are lent, from one transport to another; the API has tests with several processes.

use std::os::unix::fs::FileExt;

use dunlin_transport::Loan;
use dunlin_transport::memory::MemoryNetwork;

use super::*;

const LEN: usize = 100_004;

struct World {
    network: Arc<MemoryNetwork>,
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self { network: MemoryNetwork::new(), directory: tempfile::tempdir_in("/dev/shm").unwrap() }
    }

    fn open(&self) -> ShmTransport {
        let directory = self.directory.path().to_owned();
        let config = ShmConfig { directory, ring_size: 1 << 18, ..ShmConfig::default() };
        ShmTransport::open(self.network.attach(0), &config).unwrap()
    }

    /// Two that know each other, and what the first one lends: ten slots.
    fn pair(&self) -> (ShmTransport, ShmTransport, Box<dyn Lender>) {
        let (a, b) = (self.open(), self.open());
        a.connect(&inbox(&b)).unwrap();
        let lender = a.lender(LEN).unwrap();
        (a, b, lender)
    }

    fn file(&self, kind: &str) -> Option<std::path::PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(kind))
    }
}

fn inbox(transport: &ShmTransport) -> Locator {
    transport.locators().default_unicast[0]
}

fn filled(mut loan: Box<dyn Loan>, octet: u8) -> SharedBytes {
    loan.octets_mut().fill(octet);
    loan.share()
}

/// A message of a head, the encapsulation header and what is lent.
fn message(payload: &SharedBytes, to: &[Locator]) -> Outbox {
    let mut outbox = Outbox::new();
    outbox.begin();
    outbox.put(b"RTPS head");
    outbox.put_shared(payload.clone());
    outbox.finish(to);
    outbox
}

fn receive(transport: &ShmTransport) -> Vec<SharedBytes> {
    let (mut pool, mut batch) = (BufPool::new(1 << 20), vec![]);
    for _ in 0..4 {
        transport.recv(Channel::DataShared, RecvMode::NonBlocking, &mut pool, &mut batch).unwrap();
    }
    batch.into_iter().map(|(bytes, _)| bytes).collect()
}

fn exhaust(lender: &dyn Lender) -> Vec<Box<dyn Loan>> {
    std::iter::from_fn(|| lender.lend(LEN)).collect()
}

#[test]
fn a_chunk_stays_where_it_is_until_the_last_one_gives_it_back() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let payload = filled(lender.lend(LEN).unwrap(), 7);
    assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
    assert!(a.stats().shared_sent_octets > 0);
    let got = receive(&b).pop().unwrap();
    assert_eq!(*got, *b"RTPS head\x07\x07\x07\x07", "with the octets that the protocol looks at");
    let tail = got.tail().unwrap().clone();
    assert!(tail.len() == LEN && tail.iter().all(|octet| *octet == 7));
    assert_ne!(tail.as_ptr(), payload.as_ptr(), "another mapping of the same");
    drop((got, payload));
    // Whatever is written now is written elsewhere.
    let others = exhaust(&*lender);
    let count = others.len();
    others.into_iter().for_each(|loan| drop(filled(loan, 9)));
    assert!(tail.iter().all(|octet| *octet == 7));
    drop(tail);
    assert_eq!(exhaust(&*lender).len(), count + 1);
}

#[test]
fn who_keeps_half_of_a_pool_gets_copies() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let slots = exhaust(&*lender).len();
    let mut kept = vec![];
    for number in 0..slots {
        let payload = filled(lender.lend(LEN).unwrap(), number as u8);
        assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
        let got = receive(&b).pop().unwrap();
        let lent = got.tail().map_or(got[9..].to_vec(), |tail| tail.to_vec());
        assert_eq!(lent, vec![number as u8; LEN]);
        assert_eq!(got.tail().is_some(), number < slots / 2);
        kept.push(got);
    }
    drop(kept);
    assert_eq!(exhaust(&*lender).len(), slots);
}

#[test]
fn who_is_gone_has_given_everything_back() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let slots = exhaust(&*lender).len();
    let send = || {
        let payload = filled(lender.lend(LEN).unwrap(), 1);
        assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
    };
    send();
    let kept = receive(&b);
    send();
    // It has closed, but something of it is still in use.
    drop(b);
    assert_eq!(exhaust(&*lender).len(), slots - 2);
    assert_eq!(**kept[0].tail().unwrap(), [1; LEN]);
    drop(kept);
    assert_eq!(exhaust(&*lender).len(), slots);
    assert_eq!(world.file("tally"), None);
    drop((lender, a));
    assert_eq!(std::fs::read_dir(world.directory.path()).unwrap().count(), 0);
}

#[test]
fn what_is_lent_outlives_who_lent_it() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let payload = filled(lender.lend(LEN).unwrap(), 5);
    assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
    let got = receive(&b);
    drop((payload, lender, a));
    assert_eq!(world.file("pool"), None);
    b.refresh();
    assert_eq!(**got[0].tail().unwrap(), [5; LEN]);
    drop(got);
    assert_eq!(world.file("tally"), None);
}

#[test]
fn what_comes_after_its_writer_is_gone_is_lost_alone() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let payload = filled(lender.lend(LEN).unwrap(), 5);
    assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
    drop((payload, lender));
    let lender = a.lender(LEN).unwrap();
    let payload = filled(lender.lend(LEN).unwrap(), 6);
    assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
    let got = receive(&b);
    assert_eq!((got.len(), b.stats().shared_broken), (1, 0));
    assert_eq!(**got[0].tail().unwrap(), [6; LEN]);
}

/// Each descriptor lies in another way; the rings of their senders are refused, and nothing else happens.
#[test]
fn descriptors_that_lie_harm_only_their_sender() {
    let world = World::new();
    let lies: [(u64, u32); 6] =
        [(0, u32::from_ne_bytes(*b"DnLd")), (4, 10_000), (4, u32::MAX), (8, 77), (12, u32::MAX), (12, 3)];
    for (at, lie) in lies {
        let (a, b, lender) = world.pair();
        let payload = filled(lender.lend(LEN).unwrap(), 5);
        assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
        let ring = std::fs::OpenOptions::new().write(true).open(world.file("ring").unwrap()).unwrap();
        ring.write_all_at(&lie.to_ne_bytes(), 4096 + 8 + at).unwrap();
        let honest = at == 0;
        assert_eq!((receive(&b).len(), b.stats().shared_broken), (usize::from(honest), u64::from(!honest)));
        drop((a, b, lender, payload));
    }
}

/// A pool that lies about itself is not used.
#[test]
fn pools_that_lie_are_not_mapped() {
    let world = World::new();
    for (at, lie) in
        [(0_u64, 1_u32), (4, 99), (8, 0), (8, 11), (8, u32::MAX), (12, 0), (12, 65), (12, u32::MAX)]
    {
        let (a, b, lender) = world.pair();
        let payload = filled(lender.lend(LEN).unwrap(), 5);
        assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
        let pool = std::fs::OpenOptions::new().write(true).open(world.file("pool").unwrap()).unwrap();
        pool.write_all_at(&lie.to_ne_bytes(), at).unwrap();
        assert_eq!((receive(&b).len(), b.stats().shared_broken), (0, 1), "{lie} at {at}");
        drop((a, b, lender, payload));
    }
}
