//! Files that somebody cuts short while both sides use them.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dunlin_transport::conformance::{pattern, single};

use super::loan_tests::{LEN, filled, message, receive};
use super::tests::{World, arrived, inbox, send};
use super::*;
use crate::folder::Name;

fn cut(path: &std::path::Path, len: u64) {
    File::options().write(true).open(path).unwrap().set_len(len).unwrap();
}

impl World {
    fn cut_pool(&self, len: u64) {
        cut(&self.file("pool").unwrap(), len);
    }

    fn inbox_of(&self, transport: &ShmTransport) -> PathBuf {
        self.directory.path().join(Name::Inbox(transport.inbox.id()).to_string())
    }
}

/// Two that have exchanged a message.
fn pair(world: &World) -> (ShmTransport, ShmTransport) {
    let (a, b) = (world.open(), world.open());
    a.open_path(&inbox(&b)).unwrap();
    assert_eq!(send(&a, &b, b"before").sent, 1);
    assert_eq!(arrived(&b), [b"before"]);
    (a, b)
}

/// What was lost comes back: the receiver makes its inbox again, and the sender a ring.
fn return_to(a: &ShmTransport, b: &ShmTransport) {
    assert!(a.may_return(&inbox(b)));
    a.close_path(&inbox(b));
    b.refresh();
    a.refresh();
    a.open_path(&inbox(b)).unwrap();
    assert_eq!(send(a, b, b"again").sent, 1);
    assert_eq!(arrived(b), [b"again"]);
    assert_eq!((a.lost(&inbox(b)), b.stats().shared_broken), (None, 0));
}

#[test]
fn a_sender_whose_ring_was_cut_gives_the_path_up_at_once_and_can_return() {
    for len in [0, 1, 64, 4095, 4096] {
        let world = World::new();
        let (a, b) = pair(&world);
        cut(&world.file("ring").unwrap(), len);
        assert_eq!(send(&a, &b, b"lost").failed, 1, "cut to {len}");
        assert!(a.lost(&inbox(&b)).is_some(), "cut to {len}");
        assert_eq!(arrived(&b), [b""; 0], "cut to {len}");
        assert!(a.stats().shared_cut + b.stats().shared_cut + b.stats().shared_broken > 0, "cut to {len}");
    }
    let world = World::new();
    let (a, b) = pair(&world);
    cut(&world.file("ring").unwrap(), 0);
    assert_eq!(send(&a, &b, b"lost").failed, 1);
    assert!(a.lost(&inbox(&b)).unwrap().contains("cut its files short"));
    return_to(&a, &b);
}

#[test]
fn a_receiver_whose_ring_was_cut_takes_nothing_from_it_and_tells_its_sender_at_once() {
    let world = World::new();
    let (a, b) = pair(&world);
    (0..4).for_each(|seed| assert_eq!(send(&a, &b, &pattern(seed, 3000)).sent, 1));
    let path = world.file("ring").unwrap();
    let ring = File::options().write(true).open(&path).unwrap();
    let length = ring.metadata().unwrap().len();
    cut(&path, 5000);
    assert_eq!(arrived(&b), [b""; 0], "of some the half is left");
    assert_eq!((b.stats().shared_cut, b.stats().shared_broken), (1, 0));
    // The sender has not looked at what is gone: as if somebody had filled it up again.
    ring.set_len(length).unwrap();
    assert_eq!(send(&a, &b, b"x").failed, 1);
    assert_eq!(a.lost(&inbox(&b)).as_deref(), Some("the receiver refused the ring"));
    return_to(&a, &b);
}

#[test]
fn an_inbox_that_was_cut_is_made_again_under_its_name() {
    let world = World::new();
    let (a, b) = pair(&world);
    for _ in 0..3 {
        cut(&world.inbox_of(&b), 0);
        assert_eq!(send(&a, &b, b"lost or late").failed, 1, "nobody hears of it");
        assert!(a.lost(&inbox(&b)).unwrap().contains("cut its files short"));
        drop(arrived(&b));
        return_to(&a, &b);
    }
    assert_eq!((a.stats().shared_cut, b.stats().shared_cut), (3, 3));
}

#[test]
fn files_cut_while_nobody_uses_them_are_found_by_refresh() {
    let world = World::new();
    let (a, b) = pair(&world);
    cut(&world.file("ring").unwrap(), 0);
    cut(&world.inbox_of(&b), 100);
    a.refresh();
    assert!(a.lost(&inbox(&b)).unwrap().contains("cut its files short"));
    return_to(&a, &b);
}

#[test]
fn a_receiver_asleep_wakes_up_when_its_inbox_is_made_again() {
    let world = World::new();
    let (a, b) = pair(&world);
    std::thread::scope(|scope| {
        let (b, to) = (&b, inbox(&b));
        let receiving = scope.spawn(move || {
            let (mut pool, mut batch) = (BufPool::new(0), vec![]);
            while batch.is_empty() {
                b.recv(Channel::DataShared, RecvMode::Blocking, &mut pool, &mut batch).unwrap();
            }
            batch[0].0.to_vec()
        });
        for _ in 0..20 {
            cut(&world.inbox_of(b), 0);
            b.refresh();
        }
        let _ = a.send(&single(b"old", &[to]), SendMode::NonBlocking);
        a.close_path(&to);
        a.open_path(&to).unwrap();
        let begin = Instant::now();
        while !receiving.is_finished() {
            assert!(begin.elapsed() < Duration::from_secs(10), "it never wakes up");
            let _ = a.send(&single(b"new", &[to]), SendMode::Blocking);
        }
        assert!(receiving.join().unwrap().len() == 3);
    });
}

/// A message whose octets and length follow from its number, which is not 0.
fn numbered(number: usize) -> Vec<u8> {
    vec![number as u8; number * 40]
}

/// Both sides run while the files between them are cut again and again.
#[test]
fn no_message_is_damaged_while_files_are_cut_under_both_sides() {
    let world = World::new();
    let (a, b) = pair(&world);
    let (until, to) = (Instant::now() + Duration::from_millis(500), inbox(&b));
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| {
            let mut taken = 0;
            while Instant::now() < until {
                for message in arrived(&b) {
                    assert!(message == numbered(usize::from(message[0])), "a damaged message");
                    taken += 1;
                }
                b.refresh();
            }
            taken
        });
        scope.spawn(|| {
            for round in 0.. {
                if Instant::now() >= until {
                    break;
                }
                let kind = ["ring", "inbox"][round % 2];
                world.file(kind).iter().for_each(|path| cut(path, (round as u64 * 1111) % 100_000));
                std::thread::yield_now();
            }
        });
        let (mut sent, mut returned) = (0, 0);
        while Instant::now() < until {
            let message = numbered(1 + sent % 200);
            sent += a.send(&single(&message, &[to]), SendMode::Blocking).sent;
            if a.lost(&to).is_some() {
                a.close_path(&to);
            }
            if a.find(&to).is_none() {
                returned += usize::from(a.open_path(&to).is_ok());
            }
        }
        let taken: usize = taking.join().unwrap();
        assert!(returned > 1, "{taken} of {sent} messages taken, {returned} new rings");
    });
}

#[test]
fn files_that_were_cut_are_warned_of_once() {
    let world = World::new();
    let (a, b) = pair(&world);
    assert_eq!(a.warnings(), [""; 0]);
    cut(&world.file("ring").unwrap(), 0);
    assert_eq!(send(&a, &b, b"lost").failed, 1);
    let warnings = a.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("cut short"), "{warnings:?}");
    assert_eq!(a.warnings(), [""; 0]);
}

#[test]
fn a_pool_that_was_cut_lends_nothing_and_its_chunks_are_not_intact() {
    for len in [0, 5000] {
        let world = World::new();
        let (a, b, lender) = world.pair();
        let payload = filled(lender.lend(LEN).unwrap(), 7);
        let to = [inbox(&b)];
        assert_eq!(a.send(&message(&payload, &to), SendMode::Blocking).sent, 1);
        let got = receive(&b).pop().unwrap();
        assert!(payload.is_intact() && got.is_intact());
        world.cut_pool(len);
        assert!(!payload.is_intact() && !got.is_intact(), "cut to {len}");
        assert_eq!(got.tail().unwrap()[..], [0; LEN], "read without a fault");
        assert_eq!(a.send(&message(&payload, &to), SendMode::Blocking).failed, 1, "zeros do not leave");
        assert!(lender.lend(LEN).is_none() && lender.lend(LEN).is_none());
        assert_eq!((a.stats().shared_cut, a.lost(&to[0])), (1, None), "cut to {len}");
    }
}

/// The receiver hears of a chunk whose memory was lost on the way.
#[test]
fn a_chunk_of_a_pool_that_was_cut_is_not_taken_by_its_receiver() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let send = |octet| {
        let payload = filled(lender.lend(LEN).unwrap(), octet);
        assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
    };
    send(1);
    assert_eq!(receive(&b).len(), 1);
    send(2);
    world.cut_pool(0);
    assert!(receive(&b).iter().all(|message| !message.is_intact()));
}

#[test]
fn a_tally_that_was_cut_gives_no_slot_back_twice() {
    let world = World::new();
    let (a, b, lender) = world.pair();
    let payload = filled(lender.lend(LEN).unwrap(), 3);
    assert_eq!(a.send(&message(&payload, &[inbox(&b)]), SendMode::Blocking).sent, 1);
    let kept = receive(&b);
    drop(payload);
    cut(&world.file("tally").unwrap(), 0);
    let others: Vec<_> = std::iter::from_fn(|| lender.lend(LEN)).map(|loan| filled(loan, 9)).collect();
    assert!(!others.is_empty());
    assert_eq!(kept[0].tail().unwrap()[..], [3; LEN], "still in use");
}
