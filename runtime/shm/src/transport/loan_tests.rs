//! Chunks that are lent, from one transport to another; the API has tests with several processes.

use std::os::unix::fs::FileExt;

use dunlin_transport::Loan;

use super::tests::{World, inbox};
use super::*;
use crate::Access;
use crate::folder::Name;

pub(super) const LEN: usize = 100_004;

impl World {
    fn open_with(&self, ring_size: u32, access: Access) -> ShmTransport {
        let config = ShmConfig { ring_size, access, ..self.config() };
        ShmTransport::open(self.network.attach(0), &config).unwrap()
    }

    /// Two that know each other, and what the first one lends: ten slots.
    pub(super) fn pair(&self) -> (ShmTransport, ShmTransport, Box<dyn Lender>) {
        let (a, b) = (self.open(), self.open());
        a.open_path(&inbox(&b)).unwrap();
        let lender = a.lender(LEN).unwrap();
        (a, b, lender)
    }
}

pub(super) fn filled(mut loan: Box<dyn Loan>, octet: u8) -> SharedBytes {
    loan.octets_mut().fill(octet);
    loan.share()
}

/// A message of a head, the encapsulation header and what is lent.
pub(super) fn message(payload: &SharedBytes, to: &[Locator]) -> Outbox {
    let mut outbox = Outbox::new();
    outbox.begin();
    outbox.put(b"RTPS head");
    outbox.put_tail(payload.clone());
    outbox.finish(to);
    outbox
}

pub(super) fn receive(transport: &ShmTransport) -> Vec<SharedBytes> {
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
fn a_process_that_keeps_half_of_a_loan_pool_gets_copies() {
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
fn a_receiver_that_is_gone_has_returned_its_loans() {
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
    let to = inbox(&b);
    drop(b);
    a.refresh();
    assert!(a.lost(&to).unwrap().contains("gone"), "nothing more is sent to it");
    assert_eq!(exhaust(&*lender).len(), slots - 2);
    assert_eq!(**kept[0].tail().unwrap(), [1; LEN]);
    drop(kept);
    assert_eq!(exhaust(&*lender).len(), slots);
    assert_eq!(world.file("tally"), None);
    drop((lender, a));
    assert_eq!(std::fs::read_dir(world.directory.path()).unwrap().count(), 0);
}

#[test]
fn loans_outlive_their_writer() {
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
fn a_lent_sample_read_after_its_writer_is_gone_is_lost_alone() {
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
fn forged_loan_descriptors_close_only_the_ring_of_their_sender() {
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
fn loan_pools_with_forged_headers_are_not_mapped() {
    let world = World::new();
    for (at, lie) in [
        (0_u64, 1_u32),
        (4, 2),
        (8, 0),
        (8, 11),
        (8, u32::MAX),
        (12, 0),
        (12, 65),
        (12, u32::MAX),
        (12, 1 << 31),
        (16, 4),
        (20, 1),
        (28, 1),
        (40, 1),
    ] {
        let (a, b, lender) = world.pair();
        let payload = filled(lender.lend(LEN).unwrap(), 5);
        assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
        let pool = std::fs::OpenOptions::new().write(true).open(world.file("pool").unwrap()).unwrap();
        pool.write_all_at(&lie.to_ne_bytes(), at).unwrap();
        assert_eq!((receive(&b).len(), b.stats().shared_broken), (0, 1), "{lie} at {at}");
        drop((a, b, lender, payload));
    }
}

/// So many slots that the tally would be larger than any honest one.
#[test]
fn a_pool_of_too_many_slots_is_not_mapped() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let slots = exhaust(&*lender).len();
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 5));
    let file = std::fs::OpenOptions::new().write(true).open(world.file("pool").unwrap()).unwrap();
    let octets = file.metadata().unwrap().len() as u32 - 4096;
    assert_eq!(octets, slots as u32 * 100_096);
    for (at, word) in [(8, octets / 64), (12, 64)] {
        file.write_all_at(&word.to_ne_bytes(), at).unwrap();
    }
    assert_eq!((receive(&b).len(), b.stats().shared_broken, world.file("tally")), (0, 1, None));
}

fn send(from: &ShmTransport, to: &ShmTransport, payload: &SharedBytes) {
    assert_eq!(from.send(&message(payload, &[inbox(to)]), SendMode::Blocking).sent, 1);
}

fn set_mode(path: &std::path::Path, mode: u32) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

/// Gives a file to another user, which only root may; whether it did.
fn give_away(path: &std::path::Path) -> bool {
    std::os::unix::fs::chown(path, Some(4_321), None).is_ok()
}

#[test]
fn a_segment_open_to_other_users_sends_copies() {
    for access in [Access::Group, Access::Everyone] {
        let world = World::new();
        let (a, b) = (world.open_with(1 << 18, access), world.open_with(1 << 18, access));
        a.open_path(&inbox(&b)).unwrap();
        assert!(a.lender(LEN).is_none());
        let lender = a.lend_from_pool(LEN).unwrap();
        send(&a, &b, &filled(lender.lend(LEN).unwrap(), 3));
        let got = receive(&b).pop().unwrap();
        assert!(got.tail().is_none() && got[9..] == vec![3; LEN], "{access:?}");
        assert_eq!((world.file("tally"), b.stats().shared_broken), (None, 0));
    }
}

/// Somebody of the group can write to the ring, and so could say of any slot that it is lent.
#[test]
fn no_loan_is_taken_from_a_ring_writable_by_others() {
    let world = World::new();
    let (a, b) = (world.open(), world.open_with(1 << 18, Access::Group));
    set_mode(&world.directory.path().join(Name::Inbox(b.inbox.id()).to_string()), 0o600);
    a.open_path(&inbox(&b)).unwrap();
    let lender = a.lender(LEN).unwrap();
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 3));
    set_mode(&world.file("ring").unwrap(), 0o660);
    assert_eq!((receive(&b).len(), b.stats().shared_broken, world.file("tally")), (0, 1, None));
}

/// What is lost alone is repaired by the reliable protocol; and since nothing comes back, copies follow soon.
#[test]
fn no_loan_is_taken_from_a_pool_writable_by_others() {
    for spoil in [
        |path: &std::path::Path| set_mode(path, 0o620),
        |path: &std::path::Path| set_mode(path, 0o602),
        |path: &std::path::Path| {
            let _ = give_away(path) || std::fs::remove_file(path).is_ok();
        },
    ] {
        let world = World::new();
        let (a, b, lender) = world.pair();
        let slots = exhaust(&*lender).len();
        spoil(&world.file("pool").unwrap());
        for number in 0..slots / 2 + 1 {
            send(&a, &b, &filled(lender.lend(LEN).unwrap(), 3));
            let got = receive(&b);
            assert_eq!(got.len(), usize::from(number == slots / 2), "{number}");
            assert!(got.iter().all(|bytes| bytes.tail().is_none() && bytes[9..] == vec![3; LEN]));
        }
        assert_eq!((b.stats().shared_broken, world.file("tally")), (0, None));
    }
}

/// A stranger has made a file of the name; then the reader could not say what it gives back.
#[test]
fn a_reader_without_a_tally_file_takes_no_loans() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let pool = world.file("pool").unwrap();
    let pool = pool.file_name().unwrap().to_str().unwrap().strip_prefix("pool-").unwrap();
    let tally = world.directory.path().join(format!("tally-{:016x}-{pool}", b.inbox.id()));
    std::fs::write(&tally, [1; 8192]).unwrap();
    let slots = exhaust(&*lender).len();
    for _ in 0..slots / 2 {
        send(&a, &b, &filled(lender.lend(LEN).unwrap(), 3));
        assert_eq!(receive(&b).len(), 0);
    }
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 4));
    assert_eq!(receive(&b)[0][9..], [4; LEN], "a copy");
    assert_eq!(exhaust(&*lender).len(), slots - slots / 2);
    assert_eq!(std::fs::read(&tally).unwrap(), [1; 8192]);
}

/// The counts of a tally decide when a slot is written again, so nobody else may write them.
#[test]
fn a_tally_writable_by_others_returns_no_loans() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let slots = exhaust(&*lender).len();
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 3));
    let got = receive(&b);
    set_mode(&world.file("tally").unwrap(), 0o660);
    drop(got);
    assert_eq!(exhaust(&*lender).len(), slots - 1);
    set_mode(&world.file("tally").unwrap(), 0o600);
    assert_eq!(exhaust(&*lender).len(), slots);
}

/// Who owns the folder can take any file out of it. What is in use stays as it is, and is free when it is given back.
#[test]
fn removing_segment_files_frees_no_chunk_in_use() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let slots = exhaust(&*lender).len();
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 3));
    let got = receive(&b);
    for kind in ["tally", "inbox", "inbox"] {
        std::fs::remove_file(world.file(kind).unwrap()).unwrap();
    }
    // All that is free is written to, which takes the reader for gone if the folder is believed.
    let others = exhaust(&*lender);
    assert_eq!(others.len(), slots - 1);
    others.into_iter().for_each(|loan| drop(filled(loan, 9)));
    assert_eq!(**got[0].tail().unwrap(), [3; LEN]);
    drop(b);
    assert_eq!(exhaust(&*lender).len(), slots - 1, "closed, but something of it is in use");
    drop(got);
    assert_eq!(exhaust(&*lender).len(), slots);
}

/// A larger ring follows the first: chunks of one pool come in both, and one tally counts them.
#[test]
fn chunks_in_a_second_ring_are_of_the_same_pool() {
    let world = World::new();
    let (a, b) = (world.open_with(1 << 22, Access::User), world.open_with(1 << 22, Access::User));
    a.open_path(&inbox(&b)).unwrap();
    let lender = a.lender(LEN).unwrap();
    let slots = exhaust(&*lender).len();
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 1));
    let mut kept = receive(&b);
    let mut large = Outbox::new();
    large.begin();
    large.put(&vec![7; 300_000]);
    large.finish(&[inbox(&b)]);
    let first = world.file("ring").unwrap();
    assert_eq!(a.send(&large, SendMode::Blocking).sent, 1);
    assert!(!first.exists(), "replaced");
    assert_eq!(receive(&b).len(), 1);
    for number in 2..5 {
        send(&a, &b, &filled(lender.lend(LEN).unwrap(), number));
        b.refresh();
        kept.extend(receive(&b));
    }
    let tails: Vec<_> = kept.iter().map(|bytes| bytes.tail().unwrap().clone()).collect();
    assert!(tails.iter().zip(1..).all(|(tail, number)| **tail == [number; LEN]));
    assert_eq!((tails.len(), exhaust(&*lender).len(), b.stats().shared_broken), (4, slots - 4, 0));
    drop((kept, tails));
    assert_eq!(exhaust(&*lender).len(), slots);
}

#[test]
fn exhausted_loan_pool_recovers_when_a_chunk_returns_or_reader_goes() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let mut own = exhaust(&*lender);
    assert!(lender.lend(LEN).is_none() && lender.lend(LEN).is_none(), "nothing waits");
    drop(own.pop());
    let loan = lender.lend(LEN).unwrap();
    assert!(lender.lend(LEN).is_none());
    send(&a, &b, &filled(loan, 3));
    let got = receive(&b);
    assert!(lender.lend(LEN).is_none(), "the reader has it");
    drop(got);
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 4));
    assert!(lender.lend(LEN).is_none(), "in the ring");
    drop(b);
    assert!(lender.lend(LEN).is_some(), "nobody takes it out");
    assert!(lender.lend(LEN + 100).is_none(), "more than was asked for");
}

/// Files are used only under the names that they were made with, whoever moves them.
#[test]
fn files_that_were_moved_are_not_used() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let (c, other) = (world.open(), a.lender(LEN).unwrap());
    let payload = filled(lender.lend(LEN).unwrap(), 3);
    // The other pool of the same process, in the place of the first.
    let theirs = filled(other.lend(LEN).unwrap(), 9);
    let [one, two] = [&payload, &theirs].map(|chunk| {
        let name = crate::lend::Chunk::of(chunk).unwrap().pool_name();
        world.directory.path().join(name.to_string())
    });
    std::fs::rename(two, one).unwrap();
    send(&a, &b, &payload);
    let ring = world.file("ring").unwrap();
    // A ring for another inbox.
    let name = Name::Ring { to: c.inbox.id(), from: a.inbox.id(), number: 77 };
    std::fs::hard_link(ring, world.directory.path().join(name.to_string())).unwrap();
    c.refresh();
    assert_eq!((receive(&c).len(), c.stats().shared_broken), (0, 0));
    assert_eq!((receive(&b).len(), b.stats().shared_broken, world.file("tally")), (0, 1, None));
    // An inbox of another.
    let path = |of: &ShmTransport| world.directory.path().join(Name::Inbox(of.inbox.id()).to_string());
    std::fs::rename(path(&b), path(&c)).unwrap();
    let why = a.open_path(&inbox(&c)).unwrap_err();
    assert!(why.contains("made under another name"), "{why}");
}

#[test]
fn files_of_another_layout_are_refused_with_the_reason() {
    let world = World::new();
    let (a, b) = (world.open(), world.open());
    let path = world.directory.path().join(Name::Inbox(b.inbox.id()).to_string());
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&2_u32.to_ne_bytes(), 4).unwrap();
    let why = a.open_path(&inbox(&b)).unwrap_err();
    assert!(why.contains("its inbox: it is of another version: layout 2 instead of 3"), "{why}");
    // A process of before makes rings of the old kind beside an inbox that it does not understand; nobody looks into them.
    let (a, b, lender) = world.pair();
    send(&a, &b, &filled(lender.lend(LEN).unwrap(), 3));
    let ring = std::fs::OpenOptions::new().write(true).open(world.file("ring").unwrap()).unwrap();
    ring.write_all_at(&2_u32.to_ne_bytes(), 4).unwrap();
    assert_eq!((receive(&b).len(), b.stats().shared_broken), (0, 0));
}

/// The receiver finds pools by who sends; what another transport of the process lends it gets as a copy.
#[test]
fn chunks_of_another_transport_are_copied() {
    let world = World::new();
    let (a, b, _lender) = world.pair();
    let other = world.open();
    let payload = filled(other.lender(LEN).unwrap().lend(LEN).unwrap(), 3);
    send(&a, &b, &payload);
    let got = receive(&b);
    assert_eq!((got.len(), got[0].tail().is_none(), b.stats().shared_broken), (1, true, 0));
    assert_eq!(got[0][9..], [3; LEN]);
}

/// An empty structure: nothing of it would stay where it is.
#[test]
fn a_chunk_of_a_header_alone_is_copied() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let mut loan = lender.lend(LEN).unwrap();
    loan.truncate(4);
    loan.truncate(8);
    send(&a, &b, &filled(loan, 1));
    let got = receive(&b);
    assert_eq!((&*got[0], b.stats().shared_broken), (&b"RTPS head\x01\x01\x01\x01"[..], 0));
}
