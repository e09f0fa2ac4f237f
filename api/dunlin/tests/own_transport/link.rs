//! A transport that an application might write: a link in memory that keeps the order of messages and whose frames have 100 octets.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use dunlin::transport::{
    BufPool, Channel, Datagram, Locator, LocatorKind, Locators, Outbox, Path, RecvMode, SendMode, SendReport,
    SharedBytes, Transport, closed,
};

/// Kind of locators of a link.
const LINK: LocatorKind = LocatorKind(0x0244_4CEE);
/// Octets of a frame: the sender, whether the message ends, and a part of the message.
const FRAME: usize = 100;
const PART: usize = FRAME - 4;
/// Octets of the messages that RTPS makes for it, and of the longest that it takes.
const MESSAGE: usize = 1_024;
const LONGEST: usize = 65_507;
/// Frames that wait at an end, more than those of the longest message.
const WAITING: usize = 2_048;

const DATA: u32 = 1;
const META: u32 = 2;
/// Discovery of every end of the link.
const ALL: u32 = 3;

type Frame = [u8; FRAME];

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn locator(end: u16, port: u32) -> Locator {
    let [high, low] = end.to_be_bytes();
    let mut address = [0; 16];
    (address[0], address[1]) = (high, low);
    Locator { kind: LINK, port, address }
}

/// What arrives on one channel of an end.
#[derive(Default)]
struct Queue {
    /// Those that wait, and whether the end is closed.
    frames: Mutex<(VecDeque<Frame>, bool)>,
    /// What was taken last may still be worked on: its receiver does not wait for more.
    busy: AtomicBool,
    changed: Condvar,
    /// The messages that have begun, by sender.
    begun: Mutex<BTreeMap<u16, Vec<u8>>>,
}

impl Queue {
    fn wait<'a>(
        &self,
        frames: MutexGuard<'a, (VecDeque<Frame>, bool)>,
    ) -> MutexGuard<'a, (VecDeque<Frame>, bool)> {
        self.changed.wait(frames).unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts all frames of a message there; false if there is no room.
    fn push(&self, message: &[Frame], mode: SendMode) -> bool {
        let mut frames = lock(&self.frames);
        while frames.0.len() + message.len() > WAITING && !frames.1 {
            if mode == SendMode::NonBlocking {
                return false;
            }
            frames = self.wait(frames);
        }
        frames.0.extend(message);
        self.changed.notify_all();
        true
    }

    /// Takes a message, if one is complete.
    fn take(&self, mode: RecvMode) -> io::Result<Option<(Vec<u8>, u16)>> {
        let mut frames = lock(&self.frames);
        loop {
            if frames.1 {
                return Err(closed());
            }
            while let Some([high, low, last, len, part @ ..]) = frames.0.pop_front() {
                self.changed.notify_all();
                self.busy.store(true, SeqCst);
                let sender = u16::from_be_bytes([high, low]);
                let mut begun = lock(&self.begun);
                begun.entry(sender).or_default().extend_from_slice(&part[..usize::from(len)]);
                if last == 1 {
                    return Ok(begun.remove(&sender).map(|message| (message, sender)));
                }
            }
            if mode == RecvMode::NonBlocking {
                return Ok(None);
            }
            self.busy.store(false, SeqCst);
            frames = self.wait(frames);
        }
    }
}

impl Queue {
    /// Whether nothing waits or is worked on.
    fn is_quiet(&self) -> bool {
        let frames = lock(&self.frames);
        frames.1 || (frames.0.is_empty() && !self.busy.load(SeqCst))
    }
}

#[derive(Default)]
struct Inbox {
    end: u16,
    data: Queue,
    meta: Queue,
}

/// A link with any number of ends.
#[derive(Default)]
pub struct Link {
    ends: Mutex<(u16, Vec<Weak<Inbox>>)>,
    /// Messages that were sent.
    sent: AtomicU64,
}

impl Link {
    pub fn attach(self: &Arc<Self>) -> Arc<LinkEnd> {
        let mut ends = lock(&self.ends);
        ends.0 += 1;
        let inbox = Arc::new(Inbox { end: ends.0, ..Inbox::default() });
        ends.1.push(Arc::downgrade(&inbox));
        Arc::new(LinkEnd { link: Arc::clone(self), inbox, turn: Mutex::default() })
    }

    /// Whether everything that was sent has been received, and what it led to as well.
    pub fn is_quiet(&self) -> bool {
        let quiet = || self.ends().iter().all(|end| end.data.is_quiet() && end.meta.is_quiet());
        let sent = || self.sent.load(SeqCst);
        // One that is looked at later may have sent to one that was looked at before.
        let before = sent();
        quiet() && sent() == before
    }

    fn ends(&self) -> Vec<Arc<Inbox>> {
        lock(&self.ends).1.iter().filter_map(Weak::upgrade).collect()
    }
}

/// One end of a [`Link`].
pub struct LinkEnd {
    link: Arc<Link>,
    inbox: Arc<Inbox>,
    /// The frames of one message follow each other.
    turn: Mutex<()>,
}

impl LinkEnd {
    fn send_to(&self, datagram: &Datagram<'_>, to: &Locator, mode: SendMode) -> SendReport {
        let mut message = Vec::new();
        datagram.copy_to(&mut message);
        if message.len() > LONGEST {
            return SendReport { failed: 1, ..SendReport::default() };
        }
        let [high, low] = self.inbox.end.to_be_bytes();
        let count = message.len().div_ceil(PART);
        let frame = |(number, part): (usize, &[u8])| {
            let mut frame = [0; FRAME];
            frame[..4].copy_from_slice(&[high, low, u8::from(number + 1 == count), part.len() as u8]);
            frame[4..4 + part.len()].copy_from_slice(part);
            frame
        };
        let frames: Vec<Frame> = message.chunks(PART).enumerate().map(frame).collect();
        let _turn = lock(&self.turn);
        self.link.sent.fetch_add(1, SeqCst);
        let meant = |end: &&Arc<Inbox>| to.port == ALL || *to == locator(end.end, to.port);
        let queue = |end: &Arc<Inbox>| {
            if to.port == DATA { end.data.push(&frames, mode) } else { end.meta.push(&frames, mode) }
        };
        // Each gets it, whoever has no room.
        let full = self.link.ends().iter().filter(meant).filter(|end| !queue(end)).count();
        SendReport { sent: (full == 0).into(), full: (full > 0).into(), ..SendReport::default() }
    }
}

impl Transport for LinkEnd {
    fn name(&self) -> &'static str {
        "link"
    }

    fn carries(&self, locator: &Locator) -> bool {
        locator.kind == LINK
    }

    fn channels(&self) -> &[Channel] {
        &[Channel::Data, Channel::Meta]
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let mut report = SendReport::default();
        for datagram in datagrams.datagrams() {
            for to in datagram.destinations() {
                if self.carries(to) {
                    report.add(self.send_to(&datagram, to, mode));
                } else {
                    report.skipped += 1;
                }
            }
        }
        report
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        _pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        let queue = if channel == Channel::Data { &self.inbox.data } else { &self.inbox.meta };
        out.extend(queue.take(mode)?.map(|(bytes, end)| (bytes.into(), locator(end, 0))));
        Ok(())
    }

    fn shutdown(&self) {
        for queue in [&self.inbox.data, &self.inbox.meta] {
            lock(&queue.frames).1 = true;
            queue.changed.notify_all();
        }
    }

    fn locators(&self) -> Locators {
        Locators {
            metatraffic_unicast: vec![locator(self.inbox.end, META)],
            metatraffic_multicast: vec![locator(0, ALL)],
            default_unicast: vec![locator(self.inbox.end, DATA)],
            default_multicast: Vec::new(),
        }
    }

    fn max_message_size(&self) -> usize {
        MESSAGE
    }

    fn path(&self, to: &Locator) -> Path {
        Path { same_host: true, ..Path::unknown(to.kind) }
    }
}
