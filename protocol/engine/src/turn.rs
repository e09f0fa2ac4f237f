//! The right to send new data of a writer, as a value.
//!
//! New samples must reach the wire in the order of their sequence numbers, because a best-effort reader drops
//! what arrives late; yet the core of the writer must not stay locked during a system call, because then an
//! acknowledgement would wait behind it. So there are two locks. A writing thread takes the *turn*, then the
//! core for as long as it takes to add the sample and describe its datagrams, and keeps only the turn while it
//! sends. When the turn ends, the core learns that everything up to the sample is on the wire; a heartbeat
//! caused by another thread never announces more than that, so no reader asks for a sample that is just
//! being sent.
//!
//! A sample may also wait in the core for more of them. Then its turn sends nothing and marks nothing; a later turn, of
//! a write, a flush or the timer, sends all that has waited, in order. Once some wait, further ones join them with the lock of
//! the core alone: what sends nothing needs no turn.

use dunlin_core::SequenceNumber;
use dunlin_sync::{RankedGuard, RankedMutex};

use crate::ranks;

/// What a writer core must offer to be written by turns.
pub(crate) trait OnWire {
    /// Everything up to `sn` has been given to the transport.
    fn mark_on_wire(&mut self, sn: SequenceNumber);
}

/// A writer core behind its two locks.
pub(crate) struct Turnstile<C> {
    turn: RankedMutex<{ ranks::TURN }, ()>,
    core: RankedMutex<{ ranks::CORE }, C>,
}

/// The lock of the core.
pub(crate) type CoreGuard<'a, C> = RankedGuard<'a, { ranks::CORE }, C>;

impl<C: OnWire> Turnstile<C> {
    pub(crate) fn new(core: C) -> Self {
        Self { turn: RankedMutex::new(()), core: RankedMutex::new(core) }
    }

    /// The core alone: for everything that is not new data. Never waits for a sender.
    pub(crate) fn core(&self) -> CoreGuard<'_, C> {
        self.core.lock()
    }

    /// Waits for the turn and runs `add` on the core. `add` returns what will be on the wire when the turn ends, if it
    /// sends anything, and a result of its own.
    pub(crate) fn begin<R, E>(
        &self,
        add: impl FnOnce(&mut C) -> Result<(Option<SequenceNumber>, R), E>,
    ) -> Result<(Turn<'_, C>, R), E> {
        let guard = self.turn.lock();
        let (mark, result) = add(&mut self.core.lock())?;
        Ok((Turn { turnstile: self, mark, _guard: guard }, result))
    }

    /// The turn by itself, if no thread has it.
    pub(crate) fn try_turn(&self) -> Option<RankedGuard<'_, { ranks::TURN }, ()>> {
        self.turn.try_lock()
    }
}

/// The turn of one sample. Dropping it ends it: a send that failed is a lost packet, which the protocol repairs.
pub(crate) struct Turn<'a, C: OnWire> {
    turnstile: &'a Turnstile<C>,
    mark: Option<SequenceNumber>,
    // Released after `drop` below has marked the sample, so that marks are made in order too.
    _guard: RankedGuard<'a, { ranks::TURN }, ()>,
}

impl<C: OnWire> Turn<'_, C> {
    /// Whether new data are sent in it.
    pub(crate) fn sends_data(&self) -> bool {
        self.mark.is_some()
    }

    /// Ends it, and runs `look` on the core at that moment.
    pub(crate) fn end<R>(mut self, look: impl FnOnce(&mut C) -> R) -> R {
        let mut core = self.turnstile.core();
        if let Some(mark) = self.mark.take() {
            core.mark_on_wire(mark);
        }
        look(&mut core)
    }
}

impl<C: OnWire> Drop for Turn<'_, C> {
    fn drop(&mut self) {
        if let Some(mark) = self.mark {
            self.turnstile.core.lock().mark_on_wire(mark);
        }
    }
}

#[cfg(all(test, loom))]
mod model {
    //! Every interleaving of two writing threads and a receive thread.

    use alloc::vec::Vec;

    use loom::sync::{Arc, Mutex};
    use loom::thread;

    use super::*;

    /// What left the process, in the order in which it left.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Sent {
        Data(i64),
        Heartbeat(i64),
        Repair(i64),
    }

    /// A writer cut down to what the turn protects.
    #[derive(Default)]
    struct Model {
        last: i64,
        pushed: i64,
        on_wire: i64,
        acked: i64,
    }

    impl OnWire for Model {
        fn mark_on_wire(&mut self, sn: SequenceNumber) {
            assert!(sn.0 > self.on_wire, "marks are made in order, each once");
            self.on_wire = sn.0;
        }
    }

    type Wire = Arc<Mutex<Vec<Sent>>>;

    impl Model {
        /// Everything that has waited, if there is any.
        fn push(&mut self) -> (Option<SequenceNumber>, core::ops::RangeInclusive<i64>) {
            let waited = self.pushed + 1..=self.last;
            self.pushed = self.last;
            ((!waited.is_empty()).then_some(SequenceNumber(self.last)), waited)
        }
    }

    fn send(turn: Turn<'_, Model>, samples: impl Iterator<Item = i64>, wire: &Wire) {
        // The "system call": no core lock is held here.
        samples.for_each(|sn| wire.lock().expect("no poison").push(Sent::Data(sn)));
        let mark = turn.mark.map_or(0, |sn| sn.0);
        turn.end(|core| assert!(core.on_wire >= mark, "seen before it is marked"));
    }

    fn write(writer: &Turnstile<Model>, wire: &Wire) {
        let add = |core: &mut Model| {
            core.last += 1;
            Ok::<_, ()>(core.push())
        };
        let (turn, samples) = writer.begin(add).expect("the model never refuses");
        send(turn, samples, wire);
    }

    /// A write whose sample joins others that wait: it needs no turn.
    fn join(writer: &Turnstile<Model>) {
        writer.core().last += 1;
    }

    /// A write whose sample waits for more.
    fn hold(writer: &Turnstile<Model>) {
        let add = |core: &mut Model| {
            core.last += 1;
            Ok::<_, ()>((None, ()))
        };
        drop(writer.begin(add).expect("the model never refuses"));
    }

    fn flush(writer: &Turnstile<Model>, wire: &Wire) {
        let (turn, samples) = writer.begin(|core| Ok::<_, ()>(core.push())).expect("the model never refuses");
        send(turn, samples, wire);
    }

    /// An acknowledgement for `base - 1` that asks for `base`, as a receive thread handles it.
    fn on_acknack(writer: &Turnstile<Model>, wire: &Wire, base: i64) {
        let answer = {
            let mut core = writer.core();
            core.acked = core.acked.max(base - 1);
            if base <= core.on_wire { Sent::Repair(base) } else { Sent::Heartbeat(core.on_wire) }
        };
        wire.lock().expect("no poison").push(answer);
    }

    fn check(wire: &[Sent], samples: i64) {
        let mut last = 0;
        for sent in wire {
            match *sent {
                Sent::Data(sn) => {
                    assert_eq!(sn, last + 1, "wire order is sequence order: {wire:?}");
                    last = sn;
                }
                Sent::Heartbeat(announced) => assert!(announced <= last, "announced too early: {wire:?}"),
                Sent::Repair(sn) => assert!(sn <= last, "repaired before it was sent: {wire:?}"),
            }
        }
        assert_eq!(last, samples);
    }

    #[test]
    fn wire_order_and_mark() {
        loom::model(|| {
            let writer = Arc::new(Turnstile::new(Model::default()));
            let wire: Wire = Arc::new(Mutex::new(Vec::new()));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (writer, wire) = (Arc::clone(&writer), Arc::clone(&wire));
                    thread::spawn(move || write(&writer, &wire))
                })
                .collect();
            on_acknack(&writer, &wire, 1);
            on_acknack(&writer, &wire, 2);
            for thread in threads {
                thread.join().expect("no writer fails");
            }
            check(&wire.lock().expect("no poison"), 2);
            assert_eq!(writer.core().on_wire, 2);
        });
    }

    /// One thread writes samples that wait, another flushes, a third writes at once.
    #[test]
    fn batched_samples_leave_in_order_and_once() {
        loom::model(|| {
            let writer = Arc::new(Turnstile::new(Model::default()));
            let wire: Wire = Arc::new(Mutex::new(Vec::new()));
            let threads = [0, 1].map(|number| {
                let (writer, wire) = (Arc::clone(&writer), Arc::clone(&wire));
                thread::spawn(move || match number {
                    0 => flush(&writer, &wire),
                    _ => write(&writer, &wire),
                })
            });
            hold(&writer);
            join(&writer);
            on_acknack(&writer, &wire, 1);
            for thread in threads {
                thread.join().expect("no writer fails");
            }
            flush(&writer, &wire);
            check(&wire.lock().expect("no poison"), 3);
            assert_eq!(writer.core().on_wire, 3);
        });
    }

    #[test]
    fn a_refused_write_gives_the_turn_back() {
        loom::model(|| {
            let writer = Arc::new(Turnstile::new(Model::default()));
            let wire: Wire = Arc::new(Mutex::new(Vec::new()));
            let other = {
                let (writer, wire) = (Arc::clone(&writer), Arc::clone(&wire));
                thread::spawn(move || write(&writer, &wire))
            };
            assert!(writer.begin(|_| Err::<(Option<SequenceNumber>, ()), _>("full")).is_err());
            write(&writer, &wire);
            other.join().expect("no writer fails");
            check(&wire.lock().expect("no poison"), 2);
        });
    }
}
