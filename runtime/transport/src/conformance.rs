//! What every transport must do, as test functions. A transport calls [`run`] from its own tests with a
//! function that makes two ends which can reach each other.
//!
//! The functions panic with a message when the transport does not conform.
#![allow(clippy::missing_panics_doc, reason = "panicking is how a test function reports")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, LocatorKind, Rng};

use crate::{Channel, RecvMode, SendMode, SendReport, Transport};

/// Time in which things that must happen do happen, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two ends that can reach each other.
pub type Pair = (Arc<dyn Transport>, Arc<dyn Transport>);

/// Runs the whole suite, each test on a fresh pair.
pub fn run(make: &dyn Fn() -> Pair) {
    unicast_arrives_on_its_channel(make());
    for channel in [Channel::Meta, Channel::DataMulticast] {
        multicast_arrives_on_its_channel(make(), channel);
    }
    pieces_are_joined(make());
    every_destination_gets_a_copy(make());
    runs_of_equal_size_arrive_unharmed(make());
    sizes_up_to_the_largest_arrive(make());
    paths_are_described(make());
    order_is_kept_where_nothing_is_lost(make());
    paths_are_opened_and_closed(make());
    answers_find_the_sender(make());
    what_others_carry_is_skipped(make());
    a_bad_datagram_does_not_stop_the_next(make());
    nonblocking_never_waits(make());
    nonblocking_receivers_find_what_has_arrived(make());
    blocking_senders_of_two_threads_do_not_disturb_each_other(make());
    several_channels_are_watched_at_once(make());
    shutdown_wakes_receivers_and_lasts(make());
}

/// A thread that receives one channel until shutdown.
pub struct Listener {
    transport: Arc<dyn Transport>,
    arrived: Receiver<(SharedBytes, Locator)>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts receiving.
    #[must_use]
    pub fn start(transport: &Arc<dyn Transport>, channel: Channel) -> Self {
        let (sender, arrived) = mpsc::channel();
        let receiver = Arc::clone(transport);
        let thread = std::thread::spawn(move || {
            let (mut pool, mut batch) = (BufPool::new(8 << 20), vec![]);
            loop {
                match receiver.recv(channel, RecvMode::Blocking, &mut pool, &mut batch) {
                    Ok(()) => batch.drain(..).for_each(|item| drop(sender.send(item))),
                    Err(error) if error.kind() == std::io::ErrorKind::NotConnected => return,
                    Err(error) => panic!("{channel:?}: {error}"),
                }
            }
        });
        Self { transport: Arc::clone(transport), arrived, thread: Some(thread) }
    }

    /// The next datagram.
    #[must_use]
    pub fn next(&self) -> (SharedBytes, Locator) {
        self.arrived.recv_timeout(PATIENCE).expect("a datagram arrives")
    }

    /// The next `count` datagrams.
    #[must_use]
    pub fn take(&self, count: usize) -> Vec<SharedBytes> {
        (0..count).map(|_| self.next().0).collect()
    }

    /// Panics if anything else has arrived.
    pub fn expect_nothing_more(&self) {
        assert!(self.arrived.try_recv().is_err(), "a datagram too many");
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.transport.shutdown();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the receiving thread panicked");
        }
    }
}

/// An outbox with one datagram.
#[must_use]
pub fn single(payload: &[u8], to: &[Locator]) -> Outbox {
    let mut outbox = Outbox::new();
    push(&mut outbox, payload, to);
    outbox
}

/// Appends a datagram of a copied head and a shared rest, like a message with its payload.
pub fn push(outbox: &mut Outbox, payload: &[u8], to: &[Locator]) {
    let (head, rest) = payload.split_at(payload.len().min(20));
    outbox.begin();
    outbox.put(head);
    outbox.put_shared(SharedBytes::copy_from(rest));
    outbox.finish(to);
}

/// Octets that differ between datagrams and from place to place.
#[must_use]
pub fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len).map(|_| rng.next_u64() as u8).collect()
}

fn sent(report: SendReport, count: usize) {
    assert_eq!(report, SendReport { sent: count, ..SendReport::default() });
}

fn first(list: &[Locator]) -> Locator {
    *list.first().expect("a locator")
}

fn unicast_arrives_on_its_channel((a, b): Pair) {
    let (data, meta) = (Listener::start(&b, Channel::Data), Listener::start(&b, Channel::Meta));
    let to = b.locators();
    sent(a.send(&single(b"to data", &[first(&to.default_unicast)]), SendMode::Blocking), 1);
    sent(a.send(&single(b"to meta", &[first(&to.metatraffic_unicast)]), SendMode::NonBlocking), 1);
    assert_eq!(&*data.next().0, b"to data");
    assert_eq!(&*meta.next().0, b"to meta");
    data.expect_nothing_more();
    meta.expect_nothing_more();
}

/// A transport without a group for the channel has nothing to show.
fn multicast_arrives_on_its_channel((a, b): Pair, channel: Channel) {
    let to = b.locators();
    let groups = if channel == Channel::Meta { to.metatraffic_multicast } else { to.default_multicast };
    let Some(group) = groups.first() else { return };
    assert!(b.channels().contains(&channel));
    let listener = Listener::start(&b, channel);
    let report = a.send(&single(b"to the group", &[*group]), SendMode::Blocking);
    assert_eq!((report.sent, report.failed), (1, 0), "{report:?}");
    assert_eq!(&*listener.next().0, b"to the group");
}

fn pieces_are_joined((a, b): Pair) {
    let listener = Listener::start(&b, Channel::Data);
    let whole = pattern(1, 900);
    let mut outbox = Outbox::new();
    outbox.begin();
    for (number, piece) in whole.chunks(37).enumerate() {
        if number % 2 == 0 { outbox.put(piece) } else { outbox.put_shared(SharedBytes::copy_from(piece)) }
    }
    outbox.finish(&[first(&b.locators().default_unicast)]);
    sent(a.send(&outbox, SendMode::Blocking), 1);
    assert_eq!(*listener.next().0, *whole);
}

fn every_destination_gets_a_copy((a, b): Pair) {
    let (data, meta) = (Listener::start(&b, Channel::Data), Listener::start(&b, Channel::Meta));
    let to = b.locators();
    let both = [first(&to.default_unicast), first(&to.metatraffic_unicast)];
    let mut outbox = Outbox::new();
    for number in 0..5 {
        push(&mut outbox, &pattern(number, 300), &both);
    }
    sent(a.send(&outbox, SendMode::Blocking), 10);
    for number in 0..5 {
        assert_eq!(*data.next().0, *pattern(number, 300));
        assert_eq!(*meta.next().0, *pattern(number, 300));
    }
}

/// Bursts that segmentation offload can take in one piece, and the edges where it cannot.
fn runs_of_equal_size_arrive_unharmed((a, b): Pair) {
    let listener = Listener::start(&b, Channel::Data);
    let to = [first(&b.locators().default_unicast)];
    let mut runs: Vec<Vec<usize>> = vec![vec![1000; 45], vec![400; 100], vec![1300, 1300, 1300, 7]];
    runs.push(vec![100, 100, 900, 900, 100, 1, 1, 1200]);
    runs.push(vec![1; 70]);
    for (run, sizes) in runs.iter().enumerate() {
        let content = |n: usize| pattern((run * 1000 + n) as u64, sizes[n]);
        let mut outbox = Outbox::new();
        for n in 0..sizes.len() {
            push(&mut outbox, &content(n), &to);
        }
        sent(a.send(&outbox, SendMode::Blocking), sizes.len());
        for (n, bytes) in listener.take(sizes.len()).iter().enumerate() {
            assert_eq!(**bytes, *content(n), "run {run}, datagram {n}");
        }
    }
    listener.expect_nothing_more();
}

fn sizes_up_to_the_largest_arrive((a, b): Pair) {
    let listener = Listener::start(&b, Channel::Data);
    let to = [first(&b.locators().default_unicast)];
    let largest = a.max_message_size();
    assert!(largest >= 1024);
    for len in [1, 2, 19, 20, 21, 1023, 1024, largest - 1, largest, 9_000, 65_000] {
        sent(a.send(&single(&pattern(len as u64, len), &to), SendMode::Blocking), 1);
        assert_eq!(*listener.next().0, *pattern(len as u64, len), "{len} octets");
    }
}

fn paths_are_described((a, b): Pair) {
    let to = b.locators();
    for place in to.default_unicast.iter().chain(&to.metatraffic_unicast) {
        let path = a.path(place);
        assert_eq!(path.kind, place.kind);
        assert!(path.room == 0 || path.room >= path.max_message.min(1024), "{path:?}");
    }
}

fn order_is_kept_where_nothing_is_lost((a, b): Pair) {
    let to = first(&b.locators().default_unicast);
    let listener = Listener::start(&b, Channel::Data);
    // What a connection carries is known when it is there.
    sent(a.send(&single(b"x", &[to]), SendMode::Blocking), 1);
    assert_eq!(&*listener.next().0, b"x");
    if !a.path(&to).is_lossless() {
        return;
    }
    let content = |number: u64| pattern(number, 1 + (number as usize * 37) % 900);
    for batch in 0..40 {
        let mut outbox = Outbox::new();
        (batch * 5..batch * 5 + 5).for_each(|number| push(&mut outbox, &content(number), &[to]));
        sent(a.send(&outbox, SendMode::Blocking), 5);
    }
    for (number, bytes) in listener.take(200).iter().enumerate() {
        assert_eq!(**bytes, *content(number as u64), "message {number}");
    }
}

/// A pair is made with its paths open, if they need that.
fn paths_are_opened_and_closed((a, b): Pair) {
    let to = first(&b.locators().default_unicast);
    let arrives = |listener: &Listener| {
        sent(a.send(&single(b"there", &[to]), SendMode::Blocking), 1);
        assert_eq!(&*listener.next().0, b"there");
        assert_eq!(a.lost(&to), None);
    };
    let listener = Listener::start(&b, Channel::Data);
    arrives(&listener);
    if !a.opens(&to) {
        assert!(a.open_path(&to).is_err(), "who opens no paths refuses to");
        a.close_path(&to);
        arrives(&listener);
        return;
    }
    a.open_path(&to).expect("it is open already");
    arrives(&listener);
    a.close_path(&to);
    arrives(&listener);
    a.close_path(&to);
    let report = a.send(&single(b"nowhere", &[to]), SendMode::Blocking);
    assert_eq!((report.sent, report.failed), (0, 1), "it was closed as often as it was opened: {report:?}");
    a.close_path(&to);
    a.open_path(&to).expect("b is still there");
    arrives(&listener);
    listener.expect_nothing_more();
    drop((listener, b));
    let start = Instant::now();
    while a.lost(&to).is_none() {
        assert!(start.elapsed() < PATIENCE, "the path is lost");
        a.refresh();
        std::thread::yield_now();
    }
    a.close_path(&to);
    assert!(a.open_path(&to).is_err(), "nobody is there");
}

fn answers_find_the_sender((a, b): Pair) {
    let (at_a, at_b) = (Listener::start(&a, Channel::Meta), Listener::start(&b, Channel::Meta));
    sent(a.send(&single(b"who?", &[first(&b.locators().metatraffic_unicast)]), SendMode::Blocking), 1);
    let (_, from) = at_b.next();
    let announced = a.locators().metatraffic_unicast;
    assert!(a.carries(&from), "{from}");
    let host = announced.iter().find(|locator| locator.kind == from.kind).expect("of the same kind");
    let answer_to = Locator { port: host.port, ..from };
    sent(b.send(&single(b"me", &[answer_to]), SendMode::Blocking), 1);
    assert_eq!(&*at_a.next().0, b"me");
}

fn what_others_carry_is_skipped((a, b): Pair) {
    let listener = Listener::start(&b, Channel::Data);
    let to = first(&b.locators().default_unicast);
    let foreign = Locator { kind: LocatorKind(0x0100_0000), ..to };
    let list = [Locator::LOCAL, foreign, Locator::INVALID, to];
    let report = a.send(&single(b"mixed", &list), SendMode::Blocking);
    assert_eq!(report, SendReport { sent: 1, skipped: 3, ..SendReport::default() });
    assert_eq!(&*listener.next().0, b"mixed");
    listener.expect_nothing_more();
}

fn a_bad_datagram_does_not_stop_the_next((a, b): Pair) {
    let listener = Listener::start(&b, Channel::Data);
    let to = [first(&b.locators().default_unicast)];
    let mut outbox = Outbox::new();
    push(&mut outbox, b"before", &to);
    push(&mut outbox, &vec![0; 70_000.max(a.path(&to[0]).max_message + 1)], &to);
    push(&mut outbox, b"behind", &to);
    let report = a.send(&outbox, SendMode::Blocking);
    assert_eq!((report.sent, report.full, report.failed), (2, 0, 1), "{report:?}");
    assert_eq!(&*listener.next().0, b"before");
    assert_eq!(&*listener.next().0, b"behind");
}

fn nonblocking_never_waits((a, b): Pair) {
    let to = [first(&b.locators().default_unicast)];
    let mut outbox = Outbox::new();
    for number in 0..10_000_u32 {
        push(&mut outbox, &[number as u8; 1000], &to);
    }
    let start = Instant::now();
    let report = a.send(&outbox, SendMode::NonBlocking);
    assert!(start.elapsed() < PATIENCE);
    assert_eq!(report.sent + report.full + report.failed, 10_000, "{report:?}");
    assert_eq!(report.failed, 0, "{report:?}");
}

fn nonblocking_receivers_find_what_has_arrived((a, b): Pair) {
    let to = first(&b.locators().default_unicast);
    let (mut pool, mut batch) = (BufPool::new(0), vec![]);
    b.recv(Channel::Data, RecvMode::NonBlocking, &mut pool, &mut batch).expect("nothing is no error");
    assert!(batch.is_empty());
    sent(a.send(&single(b"here", &[to]), SendMode::Blocking), 1);
    let start = Instant::now();
    while batch.is_empty() {
        assert!(start.elapsed() < PATIENCE);
        b.recv(Channel::Data, RecvMode::NonBlocking, &mut pool, &mut batch).expect("it is open");
    }
    assert_eq!(&*batch[0].0, b"here");
    b.shutdown();
    let error = b.recv(Channel::Data, RecvMode::NonBlocking, &mut pool, &mut batch).expect_err("closed");
    assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
}

fn blocking_senders_of_two_threads_do_not_disturb_each_other((a, b): Pair) {
    const EACH: u64 = 50;
    let listener = Listener::start(&b, Channel::Data);
    let to = [first(&b.locators().default_unicast)];
    std::thread::scope(|scope| {
        for sender in 0..2 {
            let a = &a;
            scope.spawn(move || {
                for number in 0..EACH {
                    let report =
                        a.send(&single(&pattern(sender * EACH + number, 700), &to), SendMode::Blocking);
                    sent(report, 1);
                }
            });
        }
    });
    let arrived: BTreeSet<Vec<u8>> = listener.take(100).iter().map(|bytes| bytes.to_vec()).collect();
    let expected: BTreeSet<Vec<u8>> = (0..2 * EACH).map(|number| pattern(number, 700)).collect();
    assert!(arrived == expected, "each datagram once, none mixed");
}

fn several_channels_are_watched_at_once((a, b): Pair) {
    let watched = |channel: &Channel| !matches!(channel, Channel::DataShared | Channel::Added(_));
    let channels: Vec<Channel> = b.channels().iter().copied().filter(watched).collect();
    if !b.gathers() {
        let error = b.wait(&channels, &mut Vec::new(), None).expect_err("it does not gather");
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
        return;
    }
    let (tell, told) = mpsc::channel();
    let watcher = Arc::clone(&b);
    let thread = std::thread::spawn(move || {
        let mut result = Ok(());
        while result.is_ok() {
            let mut ready = vec![];
            result = watcher.wait(&channels, &mut ready, None);
            for channel in ready {
                let mut batch = vec![];
                let _ = watcher.recv(channel, RecvMode::NonBlocking, &mut BufPool::new(0), &mut batch);
                batch.into_iter().for_each(|(bytes, _)| drop(tell.send((channel, bytes))));
            }
        }
        result
    });
    let to = b.locators();
    for (to, channel) in
        [(&to.default_unicast, Channel::Data), (&to.metatraffic_unicast, Channel::Meta)].repeat(2)
    {
        sent(a.send(&single(b"here", &[first(to)]), SendMode::Blocking), 1);
        let (found, bytes) = told.recv_timeout(PATIENCE).expect("it is found");
        assert_eq!((found, &*bytes), (channel, &b"here"[..]));
    }
    b.shutdown();
    let error = thread.join().expect("no panic").expect_err("closed");
    assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    assert_eq!(b.wait(&[Channel::Meta], &mut Vec::new(), None).expect_err("closed").kind(), error.kind());
}

fn shutdown_wakes_receivers_and_lasts((a, b): Pair) {
    let listeners: Vec<Listener> = b.channels().iter().map(|c| Listener::start(&b, *c)).collect();
    // Proof that the receivers run, though not that they block.
    sent(a.send(&single(b"x", &[first(&b.locators().default_unicast)]), SendMode::Blocking), 1);
    let data = b.channels().iter().position(|c| *c == Channel::Data).expect("a data channel");
    assert_eq!(&*listeners[data].next().0, b"x");
    let start = Instant::now();
    drop(listeners);
    assert!(start.elapsed() < PATIENCE);
    let mut batch = vec![];
    for channel in b.channels() {
        let error =
            b.recv(*channel, RecvMode::Blocking, &mut BufPool::new(0), &mut batch).expect_err("closed");
        assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    }
    let listener = Listener::start(&a, Channel::Data);
    sent(b.send(&single(b"last words", &[first(&a.locators().default_unicast)]), SendMode::Blocking), 1);
    assert_eq!(&*listener.next().0, b"last words");
}
