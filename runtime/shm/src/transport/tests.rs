use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dunlin_transport::conformance::{pattern, push, single};
use dunlin_transport::memory::MemoryNetwork;
use proptest::prelude::*;

use super::*;

/// A folder, and a network to announce what is in it.
pub(super) struct World {
    pub(super) network: Arc<MemoryNetwork>,
    pub(super) directory: tempfile::TempDir,
}

impl World {
    pub(super) fn new() -> Self {
        Self { network: MemoryNetwork::new(), directory: tempfile::tempdir_in("/dev/shm").unwrap() }
    }

    pub(super) fn config(&self) -> ShmConfig {
        ShmConfig { directory: self.directory.path().to_owned(), ring_size: 1 << 18, ..ShmConfig::default() }
    }

    pub(super) fn open(&self) -> ShmTransport {
        ShmTransport::open(self.network.attach(0), &self.config()).unwrap()
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// The first file of a kind.
    pub(super) fn file(&self, kind: &str) -> Option<std::path::PathBuf> {
        let is_one =
            |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(kind);
        self.files().into_iter().find(is_one)
    }

    fn ring(&self) -> std::path::PathBuf {
        self.file("ring").unwrap()
    }
}

pub(super) fn inbox(transport: &ShmTransport) -> Locator {
    transport.locators().default_unicast[0]
}

/// What has arrived, as far as one look finds it.
pub(super) fn arrived(transport: &ShmTransport) -> Vec<Vec<u8>> {
    let (mut pool, mut all, mut empty) = (BufPool::new(1 << 20), vec![], 0);
    loop {
        let mut batch = vec![];
        transport.recv(Channel::DataShared, RecvMode::NonBlocking, &mut pool, &mut batch).unwrap();
        // A look may be in vain although there is more.
        empty = if batch.is_empty() { empty + 1 } else { 0 };
        if empty > 4 {
            return all;
        }
        all.extend(batch.iter().map(|(bytes, _)| bytes.to_vec()));
    }
}

pub(super) fn send(from: &ShmTransport, to: &ShmTransport, octets: &[u8]) -> SendReport {
    from.send(&single(octets, &[inbox(to)]), SendMode::NonBlocking)
}

fn overwrite(path: &Path, at: u64, octets: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(octets).unwrap();
}

#[test]
fn messages_arrive_with_their_sender_and_are_counted() {
    let world = World::new();
    let (a, b) = (world.open(), world.open());
    a.open_path(&inbox(&b)).unwrap();
    assert_eq!(send(&a, &b, b"hello").sent, 1);
    let (mut pool, mut batch) = (BufPool::new(0), vec![]);
    b.recv(Channel::DataShared, RecvMode::Blocking, &mut pool, &mut batch).unwrap();
    assert_eq!((&*batch[0].0, batch[0].1), (&b"hello"[..], inbox(&a)));
    assert_eq!((a.stats().shared_sent_datagrams, a.stats().shared_sent_octets), (1, 5));
    assert_eq!((b.stats().shared_received_datagrams, b.stats().shared_received_octets), (1, 5));
    assert_eq!((a.stats().sent_datagrams, b.stats().shared_broken), (0, 0));
}

#[test]
fn only_peers_with_the_same_folder_are_attached_and_others_get_a_reason() {
    let (world, elsewhere) = (World::new(), World::new());
    let (a, b, c) = (world.open(), world.open(), elsewhere.open());
    assert_eq!(a.open_path(&inbox(&b)), Ok(()));
    assert_eq!(a.open_path(&inbox(&b)), Ok(()), "again");
    assert!(a.open_path(&inbox(&c)).unwrap_err().contains("another folder"));
    let mut address = inbox(&b).address;
    address[0] ^= 1;
    assert_eq!(a.open_path(&Locator { address, ..inbox(&b) }).unwrap_err(), "it is on another host");
    address[0] ^= 1;
    address[15] ^= 1;
    let gone = a.open_path(&Locator { address, ..inbox(&b) }).unwrap_err();
    assert!(gone.contains("No such file"), "{gone}");
    assert!(a.open_path(&Locator::LOCAL).is_err());
    assert_eq!(send(&a, &c, b"x").failed, 1, "not attached");
}

#[test]
fn a_stopped_receiver_delays_no_other_receiver() {
    let world = World::new();
    let (a, slow, quick) = (world.open(), world.open(), world.open());
    let both = [inbox(&slow), inbox(&quick)];
    both.iter().for_each(|inbox| a.open_path(inbox).unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| {
            let mut count = 0;
            while !stop.load(Relaxed) {
                count += arrived(&quick).len();
            }
            count + arrived(&quick).len()
        });
        let start = Instant::now();
        let mut sent = 0;
        for _ in 0..100 {
            let mut outbox = Outbox::new();
            (0..10).for_each(|seed| push(&mut outbox, &pattern(seed, 1400), &both));
            let report = a.send(&outbox, SendMode::Blocking);
            assert_eq!(report.sent + report.full, 20, "{report:?}");
            sent += report.sent;
        }
        // The slow one is waited for once, not each time.
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        stop.store(true, Relaxed);
        let quick = taking.join().unwrap();
        let held = arrived(&slow).len();
        assert!(held > 100 && quick > 2 * held && quick + held == sent, "{held} and {quick} of {sent}");
    });
    // It goes on, and gets what is new.
    assert_eq!(a.send(&single(b"again", &both), SendMode::Blocking).sent, 2);
    assert_eq!(arrived(&slow), [b"again"]);
}

/// How often a thousand messages were refused by a receiver that takes them all the time; each is sent until it is not.
fn refusals(mode: SendMode) -> u64 {
    let (world, mut refused) = (World::new(), 0);
    let (a, b) = (world.open(), world.open());
    a.open_path(&inbox(&b)).unwrap();
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| {
            let (mut pool, mut count) = (BufPool::new(1 << 20), 0);
            while count < 1000 {
                let mut batch = vec![];
                b.recv(Channel::DataShared, RecvMode::Blocking, &mut pool, &mut batch).unwrap();
                for (bytes, _) in &batch {
                    assert_eq!(**bytes, *pattern(count, 8000));
                    count += 1;
                }
            }
        });
        for seed in 0..1000 {
            let message = single(&pattern(seed, 8000), &[inbox(&b)]);
            while a.send(&message, mode).sent == 0 {
                refused += 1;
            }
        }
        taking.join().unwrap();
    });
    refused
}

#[test]
fn a_sender_waits_for_a_receiver_that_goes_on() {
    // On a busy machine the receiver may not run for longer than it is waited for; who does not wait asks far more often.
    let (waiting, asking) = (refusals(SendMode::Blocking), refusals(SendMode::NonBlocking));
    assert!(2 * waiting < asking, "{waiting} and {asking} were refused");
}

#[test]
fn a_ring_grows_for_large_messages_and_nothing_overtakes_anything() {
    let world = World::new();
    let config = ShmConfig { ring_size: 1 << 22, ..world.config() };
    let open = || ShmTransport::open(world.network.attach(0), &config).unwrap();
    let (a, b) = (open(), open());
    a.open_path(&inbox(&b)).unwrap();
    let size = || std::fs::metadata(world.ring()).unwrap().len();
    let path = a.path(&inbox(&b));
    assert_eq!((path.max_message, path.room), ((1 << 24) - 8, (1 << 21) - 8));
    assert!(path.same_host && path.is_lossless());
    assert_eq!(send(&a, &b, &pattern(1, 60_000)).sent, 1);
    assert_eq!(size(), 4096 + (1 << 20));
    assert_eq!(send(&a, &b, &pattern(2, 1_000_000)).full, 1, "not while there is something in the old one");
    assert_eq!(send(&a, &b, &[1]).full, 1, "nothing that keeps it from being empty");
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| {
            let mut all = vec![];
            while all.len() < 9 {
                all.extend(arrived(&b));
            }
            all
        });
        for seed in 2..9 {
            let message = single(&pattern(seed, if seed % 2 == 0 { 1_000_000 } else { 10 }), &[inbox(&b)]);
            while a.send(&message, SendMode::Blocking).sent == 0 {}
        }
        assert_eq!(a.send(&single(&[7; (1 << 21) - 8], &[inbox(&b)]), SendMode::Blocking).sent, 1);
        let expected = (1..9).map(|seed| match seed {
            1 => pattern(1, 60_000),
            _ => pattern(seed, if seed % 2 == 0 { 1_000_000 } else { 10 }),
        });
        let expected: Vec<_> = expected.chain([vec![7; (1 << 21) - 8]]).collect();
        assert!(taking.join().unwrap() == expected);
    });
    assert_eq!(size(), 4096 + (1 << 22));
    assert_eq!(world.files().len(), 3, "the old one is gone: {:?}", world.files());
    // What does not fit into half of that gets one that is as large as it needs, up to a limit.
    assert_eq!(send(&a, &b, &[7; (1 << 21) - 7]).sent, 1);
    assert_eq!(size(), 4096 + (1 << 23));
    assert_eq!(arrived(&b), [vec![7; (1 << 21) - 7]]);
    assert_eq!(send(&a, &b, &vec![7; (1 << 24) - 7]).failed, 1);
    a.refresh();
    assert_eq!((a.lost(&inbox(&b)), b.stats().shared_broken), (None, 0));
}

#[test]
fn shared_memory_files_are_removed_at_the_end_and_stale_ones_swept() {
    let world = World::new();
    {
        let (a, b) = (world.open(), world.open());
        a.open_path(&inbox(&b)).unwrap();
        b.open_path(&inbox(&a)).unwrap();
        assert_eq!(send(&a, &b, b"x").sent + send(&b, &a, b"y").sent, 2);
        assert_eq!(world.files().len(), 4);
    }
    assert_eq!(world.files(), [""; 0].map(std::path::PathBuf::from));
    // Files of nobody, and one that is none of ours.
    for name in [
        "inbox-0000000000000001",
        "ring-0000000000000001-0000000000000002-0000000000000003",
        "somebody-elses",
    ] {
        std::fs::write(world.directory.path().join(name), b"old").unwrap();
    }
    let c = world.open();
    assert_eq!(world.files().len(), 2, "{:?}", world.files());
    drop(c);
    assert!(world.files()[0].ends_with("somebody-elses"));
}

#[test]
fn the_owner_that_lives_keeps_its_files() {
    let world = World::new();
    let (a, b) = (world.open(), world.open());
    a.open_path(&inbox(&b)).unwrap();
    assert_eq!(send(&a, &b, b"x").sent, 1);
    let before = world.files();
    assert_eq!(world.open().folder.sweep(), 0);
    assert_eq!(world.files(), before);
    a.refresh();
    b.refresh();
    assert_eq!(a.lost(&inbox(&b)), None);
    assert_eq!(arrived(&b), [b"x"]);
}

#[test]
fn a_receiver_that_is_gone_is_noticed() {
    let world = World::new();
    let (a, b) = (world.open(), world.open());
    let to = inbox(&b);
    a.open_path(&to).unwrap();
    assert_eq!(send(&a, &b, b"x").sent, 1);
    drop(b);
    a.refresh();
    assert!(a.lost(&to).unwrap().contains("gone"));
    assert_eq!(a.send(&single(b"x", &[to]), SendMode::Blocking).failed, 1);
    assert_eq!(world.files().len(), 1, "its ring went too: {:?}", world.files());
}

#[test]
fn messages_left_by_a_dead_sender_are_read_before_its_ring_is_removed() {
    let world = World::new();
    let (a, b) = (world.open(), world.open());
    a.open_path(&inbox(&b)).unwrap();
    assert_eq!(send(&a, &b, b"last words").sent, 1);
    drop(a);
    assert_eq!(world.open().folder.sweep(), 0, "it has a receiver");
    b.refresh();
    assert_eq!(world.files().len(), 2, "not taken yet: {:?}", world.files());
    assert_eq!(arrived(&b), [b"last words"]);
    b.refresh();
    assert_eq!(world.files().len(), 1, "{:?}", world.files());
}

#[test]
fn a_message_of_a_sender_that_died_before_the_bell_is_found_by_polling() {
    let world = World::new();
    let (a, b) = (world.open(), world.open());
    a.open_path(&inbox(&b)).unwrap();
    send(&a, &b, b"first");
    assert_eq!(arrived(&b), [b"first"]);
    let last = single(b"last", &[inbox(&b)]);
    let put = a.find(&inbox(&b)).unwrap().put(&last.datagrams().next().unwrap());
    assert_eq!(put, crate::outlet::Outcome::Sent);
    assert_eq!(arrived(&b), [b""; 0], "nobody rang");
    b.refresh();
    assert_eq!(arrived(&b), [b"last"]);
}

#[test]
fn a_rematched_peer_has_a_new_ring() {
    let world = World::new();
    let (a, b) = (world.open(), world.open());
    // The second time the first ring is not drained when it is given up.
    for drained in [true, false, true] {
        a.open_path(&inbox(&b)).unwrap();
        assert_eq!(send(&a, &b, b"one").sent, 1);
        if drained {
            assert!(arrived(&b).iter().any(|bytes| bytes == b"one"));
        }
        a.close_path(&inbox(&b));
        a.open_path(&inbox(&b)).unwrap();
        assert_eq!(send(&a, &b, b"two").sent, 1);
        b.refresh();
        a.refresh();
        assert_eq!(a.lost(&inbox(&b)), None);
        assert_eq!(send(&a, &b, b"three").sent, 1);
        let all = arrived(&b);
        assert!([&b"two"[..], b"three"].iter().all(|sent| all.iter().any(|bytes| bytes == sent)), "{all:?}");
        a.close_path(&inbox(&b));
        b.refresh();
    }
}

#[test]
fn an_unannounced_ring_is_found_and_removed() {
    let world = World::new();
    let b = world.open();
    let name = crate::folder::Name::Ring { to: b.inbox.id(), from: 7, number: 0 };
    std::fs::write(world.directory.path().join(name.to_string()), [0; 8192]).unwrap();
    b.refresh();
    b.refresh();
    assert_eq!(world.files().len(), 1, "{:?}", world.files());
}

#[test]
fn a_spoilt_ring_is_refused_and_its_sender_learns_of_it() {
    let world = World::new();
    let (a, b, c) = (world.open(), world.open(), world.open());
    for sender in [&a, &c] {
        sender.open_path(&inbox(&b)).unwrap();
        assert_eq!(send(sender, &b, b"fine").sent, 1);
    }
    assert_eq!(arrived(&b).len(), 2);
    let broken = world.ring();
    overwrite(&broken, 64, &7_u32.to_ne_bytes());
    assert_eq!(send(&a, &b, b"x").sent + send(&c, &b, b"x").sent, 2);
    // Whose ring comes first is random: the other one's is delivered.
    overwrite(&broken, 64, &7_u32.to_ne_bytes());
    assert_eq!(arrived(&b).len(), 1);
    assert_eq!(b.stats().shared_broken, 1);
    a.refresh();
    c.refresh();
    let lost = [&a, &c].map(|sender| sender.lost(&inbox(&b)));
    assert_eq!(lost.iter().flatten().count(), 1, "{lost:?}");
}

#[test]
fn segments_of_other_users_are_distinguished_by_access() {
    let world = World::new();
    let b = world.open();
    let file = world.files().remove(0);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let trusted = |access| crate::inbox::trusts(access, &std::fs::metadata(&file).unwrap());
    use crate::Access::{Everyone, Group, User};
    let chmod = |mode| {
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    for (mode, expected) in [(0o600, [true; 3]), (0o660, [false, true, true]), (0o666, [false, false, true])]
    {
        chmod(mode);
        assert_eq!([User, Group, Everyone].map(trusted), expected, "{mode:o}");
    }
    chmod(0o660);
    // Of this user, but open to a group that is none of ours.
    let strange =
        std::fs::metadata(&file).map(|file| std::os::unix::fs::MetadataExt::gid(&file) + 1).unwrap();
    if std::os::unix::fs::chown(&file, None, Some(strange)).is_ok() {
        assert_eq!([User, Group, Everyone].map(trusted), [false, false, true]);
        std::os::unix::fs::chown(&file, None, Some(strange - 1)).unwrap();
    }
    chmod(0o600);
    // Of another user and of no group of ours, then of our group, then open to all.
    let group = std::os::unix::fs::MetadataExt::gid(&std::fs::metadata(&file).unwrap());
    if std::os::unix::fs::chown(&file, Some(4_321), Some(group + 1)).is_ok() {
        assert_eq!([User, Group, Everyone].map(trusted), [false, false, true]);
        std::os::unix::fs::chown(&file, None, Some(group)).unwrap();
        assert_eq!([User, Group, Everyone].map(trusted), [false, true, true]);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(&file, open).unwrap();
        assert_eq!([User, Group, Everyone].map(trusted), [false, false, true]);
    }
    drop(b);
    let config = ShmConfig { access: crate::Access::Everyone, ..world.config() };
    let _open = ShmTransport::open(world.network.attach(0), &config).unwrap();
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&world.files()[0]).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o666);
}

/// Who lets fewer in is not written to by files that more may write to, and gets its data through memory all the same.
#[test]
fn processes_with_different_access_agree_on_the_narrower_one() {
    use crate::Access::{Everyone, Group, User};
    let world = World::new();
    let open = |access| {
        let config = ShmConfig { access, ..world.config() };
        ShmTransport::open(world.network.attach(0), &config).unwrap()
    };
    for (from, to, mode) in
        [(User, User, 0o600), (Group, User, 0o600), (Everyone, User, 0o600), (Everyone, Group, 0o660)]
    {
        let (a, b) = (open(from), open(to));
        a.open_path(&inbox(&b)).unwrap();
        assert_eq!(send(&a, &b, b"x").sent, 1);
        let ring = std::fs::metadata(world.ring()).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&ring) & 0o777, mode, "{from:?} to {to:?}");
        assert_eq!(arrived(&b), [b"x"], "{from:?} to {to:?}");
    }
    for (from, to) in [(User, Group), (User, Everyone), (Group, Everyone)] {
        let (a, b) = (open(from), open(to));
        let why = a.open_path(&inbox(&b)).unwrap_err();
        assert!(why.contains("not trusted"), "{from:?} to {to:?}: {why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Random octets over heads and records, while both sides go on: no panic, an end, and nobody else is disturbed.
    #[test]
    fn random_ring_contents_break_only_their_own_ring(
        spoils in proptest::collection::vec((prop_oneof![0_u64..256, 4096..8192_u64], any::<[u8; 8]>()), 1..20),
        at_inbox in any::<bool>(),
    ) {
        let world = World::new();
        let (a, b, c) = (world.open(), world.open(), world.open());
        a.open_path(&inbox(&b)).unwrap();
        for octets in [100, 1000] {
            prop_assert_eq!(send(&a, &b, &pattern(1, octets)).sent, 1);
        }
        drop(arrived(&b));
        let target = if at_inbox { world.directory.path().join(crate::folder::Name::Inbox(b.inbox.id()).to_string()) } else { world.ring() };
        for (at, octets) in spoils {
            let at = if at_inbox { at % 4088 } else { at };
            overwrite(&target, at, &octets);
            send(&a, &b, &pattern(2, 500));
            let _ = a.send(&single(&pattern(3, 60_000), &[inbox(&b)]), SendMode::NonBlocking);
            drop(arrived(&b));
        }
        a.refresh();
        b.refresh();
        if !at_inbox {
            c.open_path(&inbox(&b)).unwrap();
            prop_assert_eq!(send(&c, &b, b"still here").sent, 1);
            let all = arrived(&b);
            prop_assert!(all.iter().any(|bytes| bytes == b"still here"));
        }
    }

    /// Files of any content under names of ours.
    #[test]
    fn random_files_are_refused(content in proptest::collection::vec(any::<u8>(), 0..9000), honest in any::<bool>()) {
        let world = World::new();
        let (a, b) = (world.open(), world.open());
        let ring = crate::folder::Name::Ring { to: b.inbox.id(), from: 7, number: 0 };
        let mut content = content;
        if honest && content.len() >= 12 {
            content[..4].copy_from_slice(&crate::head::MAGIC.to_ne_bytes());
            content[4..8].copy_from_slice(&crate::head::LAYOUT.to_ne_bytes());
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(world.directory.path().join(ring.to_string())).unwrap();
        file.write_all(&content).unwrap();
        a.open_path(&inbox(&b)).unwrap();
        prop_assert_eq!(send(&a, &b, b"real").sent, 1);
        prop_assert!(arrived(&b).iter().any(|bytes| bytes == b"real"));
        let strange = Locator::shared_memory(a.folder.place, 99);
        std::fs::write(world.directory.path().join("inbox-0000000000000063"), &content).unwrap();
        prop_assert!(a.open_path(&strange).is_err() || content.len() >= 4096);
        let mut text = String::new();
        let _ = file.read_to_string(&mut text);
    }
}
