//! How a receiving thread waits for the next datagram.
//!
//! Waking a thread that sleeps in the kernel takes ten times as long as everything else on the way of a small sample. A
//! thread that looks again and again instead, that *spins*, is there at once, and takes a core. The adaptive strategy spins
//! only where the next datagram is about to come.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dunlin_transport::RecvMode;

use crate::thread::{self, Run};

/// Who receives and runs the timers of a participant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Threads {
    /// Threads of the library, which participants of the process share.
    #[default]
    Library,
    /// Whoever calls [`Session::pump`](crate::Session::pump). The participant has sockets of its own and no thread.
    Caller,
}

/// What a thread that receives user data does while nothing arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waiting {
    /// Sleeps in the kernel.
    Blocking,
    /// Looks again and again, and takes a core for it.
    Polling,
    /// Looks again and again for a moment where what came before says that the next datagram is about to come, and
    /// sleeps otherwise. Never where the process may use one core only, nor on battery.
    #[default]
    Adaptive,
}

/// How the threads that receive user data wait and run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveConfig {
    /// What they do while nothing arrives.
    pub waiting: Waiting,
    /// Longest time that the adaptive strategy looks for one datagram; twice as long after a sleep.
    pub spin: Duration,
    /// The processor that the thread for unicast data runs on; `None`: any.
    pub cpu: Option<usize>,
    /// Real-time priority (`SCHED_FIFO`, 1 to 99) of the thread for unicast data; `None`: ordinary scheduling.
    pub priority: Option<u8>,
}

impl Default for ReceiveConfig {
    fn default() -> Self {
        Self { waiting: Waiting::default(), spin: Duration::from_micros(50), cpu: None, priority: None }
    }
}

impl ReceiveConfig {
    pub(crate) fn run(&self) -> Run {
        Run::new(self.cpu, self.priority)
    }
}

/// Waits that are looked back at, and how many of them must have been short for the next to be expected short.
const REMEMBERED: u32 = 8;
const SHORT: u32 = 6;
/// Waits without spinning after a spin in vain; twice as many after the next, up to the most.
const REST: u32 = 8;
const MOST_REST: u32 = 4096;
/// How often in a row another core is looked for.
const MOST_MOVES: u32 = 12;
/// Spins with success that halve the rest to come.
const FORGIVING: u32 = 256;
/// Looks between two offers of the core to others.
const LOOKS: u32 = 8;
/// An offer of the core that takes longer was taken up.
const TAKEN: Duration = Duration::from_micros(5);
/// Who was away for so long had to wait for its turn: others have use for every core.
const TURN: Duration = Duration::from_micros(500);
/// Waits without spinning if that happens again and again, at most.
const MOST_CONTENDED: u32 = 1 << 18;

/// Whether the next wait will be short, from those before it.
#[derive(Debug, Default)]
struct Prediction {
    /// One bit for each wait, the last one lowest: it was short.
    history: u32,
    /// Waits for which nothing is expected.
    rest: u32,
    penalty: u32,
    hits: u32,
    /// The last wait ended without a sleep, so whoever answers is likely to be awake too.
    awake: bool,
}

impl Prediction {
    fn is_short(&mut self) -> bool {
        if self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        self.history.count_ones() >= SHORT
    }

    /// How long the next spin may last. Who is waited for may sleep as well as this thread did, and takes as long as a spin
    /// to wake up: a shorter one would end just before the answer, and both would go on sleeping.
    fn budget(&self, spin: Duration) -> Duration {
        if self.awake { spin } else { spin * 2 }
    }

    fn remember(&mut self, short: bool) {
        self.history = (self.history << 1 | u32::from(short)) & ((1 << REMEMBERED) - 1);
    }

    /// A spin found something.
    fn hit(&mut self) {
        self.remember(true);
        self.awake = true;
        self.hits += 1;
        if self.hits >= FORGIVING {
            (self.hits, self.penalty) = (0, self.penalty / 2);
        }
    }

    /// A spin ended in vain.
    fn miss(&mut self) {
        self.remember(false);
        self.penalty = (self.penalty * 2).clamp(REST, MOST_REST.max(self.penalty));
        self.rest = self.penalty;
    }

    /// Somebody else had use for the core, and for the other one too.
    fn contended(&mut self) {
        self.history = 0;
        self.penalty = (self.penalty * 2).clamp(MOST_REST, MOST_CONTENDED);
        self.rest = self.penalty;
    }
}

/// Threads of this process that spin now.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

/// One of the threads that may spin at the same time: half as many as there are cores.
struct Permit<'a>(&'a AtomicUsize);

impl<'a> Permit<'a> {
    fn take(spinning: &'a AtomicUsize, cores: usize) -> Option<Self> {
        let most = (cores / 2).max(1);
        let taken = spinning.fetch_update(Relaxed, Relaxed, |count| (count < most).then_some(count + 1));
        taken.is_ok().then(|| Self(spinning))
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// How one thread waits.
pub(crate) struct Waiter<'a> {
    waiting: Waiting,
    spin: Duration,
    cores: usize,
    prediction: Prediction,
    /// How often in a row the core was shared.
    shared: u32,
    /// Spinning is worth its energy.
    may_spin: &'a AtomicBool,
}

impl<'a> Waiter<'a> {
    pub(crate) fn new(waiting: Waiting, spin: Duration, may_spin: &'a AtomicBool) -> Self {
        let cores = cores();
        // With one core whoever is waited for cannot run meanwhile.
        let waiting = if waiting == Waiting::Adaptive && cores == 1 { Waiting::Blocking } else { waiting };
        Self { waiting, spin, cores, prediction: Prediction::default(), shared: 0, may_spin }
    }

    /// Receives with `recv`, which says whether there was something.
    pub(crate) fn receive(&mut self, mut recv: impl FnMut(RecvMode) -> io::Result<bool>) -> io::Result<()> {
        match self.waiting {
            Waiting::Blocking => recv(RecvMode::Blocking).map(|_| ()),
            Waiting::Polling => self.poll(recv),
            Waiting::Adaptive => self.adapt(&mut recv),
        }
    }

    fn poll(&self, mut recv: impl FnMut(RecvMode) -> io::Result<bool>) -> io::Result<()> {
        while !recv(RecvMode::NonBlocking)? {
            if self.cores == 1 {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn adapt(&mut self, recv: &mut impl FnMut(RecvMode) -> io::Result<bool>) -> io::Result<()> {
        let start = Instant::now();
        if self.prediction.is_short()
            && self.may_spin.load(Relaxed)
            && let Some(_permit) = Permit::take(&SPINNING, self.cores)
            && self.look_for(start, recv)?
        {
            return Ok(());
        }
        let found = recv(RecvMode::Blocking)?;
        self.prediction.awake = false;
        // A thread that slept took about the time of a spin to wake up.
        self.prediction.remember(found && start.elapsed() <= self.spin * 2);
        Ok(())
    }

    /// Spins; true if something came.
    fn look_for(
        &mut self,
        start: Instant,
        recv: &mut impl FnMut(RecvMode) -> io::Result<bool>,
    ) -> io::Result<bool> {
        let budget = self.prediction.budget(self.spin);
        let mut before = start;
        loop {
            for _ in 0..LOOKS {
                if recv(RecvMode::NonBlocking)? {
                    self.prediction.hit();
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
            let offered = Instant::now();
            if offered - before > TURN {
                // A few looks take a few microseconds: the core was taken meanwhile.
                self.prediction.contended();
                return Ok(false);
            }
            if offered - start > budget {
                self.prediction.miss();
                return Ok(false);
            }
            std::thread::yield_now();
            before = Instant::now();
            let away = before - offered;
            if away > TURN {
                self.prediction.contended();
                return Ok(false);
            }
            if away <= TAKEN {
                self.shared = 0;
            } else if !self.move_on(away) {
                self.prediction.contended();
                return Ok(false);
            }
        }
    }

    /// The core is shared, perhaps with whoever is waited for: kernels like to wake a thread on the core of the one that
    /// wakes it. Another core may be idle, so one of the two should go there, which is left to chance. False if that
    /// did not help, or cannot.
    fn move_on(&mut self, away: Duration) -> bool {
        self.shared += 1;
        if self.shared > MOST_MOVES {
            self.shared = 0;
            return false;
        }
        let heads = (away.subsec_nanos() / 16).is_multiple_of(2);
        !heads || thread::leave_core()
    }
}

/// True if the host runs on battery: one is being emptied.
pub(crate) fn on_battery() -> bool {
    let Ok(supplies) = std::fs::read_dir("/sys/class/power_supply") else { return false };
    supplies.flatten().take(64).any(|supply| {
        let is = |file: &str, text: &str| {
            std::fs::read_to_string(supply.path().join(file)).is_ok_and(|found| found.trim() == text)
        };
        is("type", "Battery") && is("status", "Discharging")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(waits: &[bool]) -> Prediction {
        let mut prediction = Prediction::default();
        waits.iter().for_each(|short| prediction.remember(*short));
        prediction
    }

    #[test]
    fn short_waits_predict_short_waits() {
        assert!(!after(&[]).is_short());
        assert!(!after(&[true; 5]).is_short());
        assert!(after(&[true; 6]).is_short());
        assert!(after(&[true, true, true, false, true, true, false, true]).is_short());
        assert!(!after(&[true, true, false, false, true, true, false, true]).is_short());
        assert!(!after(&[false; 8]).is_short());
    }

    #[test]
    fn only_the_last_eight_waits_are_remembered() {
        let mut prediction = after(&[true; 100]);
        (0..3).for_each(|_| prediction.remember(false));
        assert!(!prediction.is_short());
    }

    #[test]
    fn fruitless_spins_become_rare() {
        // A burst of waits that are short, and a long one, again and again: spinning is in vain each time.
        let (mut prediction, mut spins) = (Prediction::default(), 0);
        for wait in 0..100_000 {
            let short = wait % 10 != 9;
            match (prediction.is_short(), short) {
                (true, true) => prediction.hit(),
                (true, false) => {
                    spins += 1;
                    prediction.miss();
                }
                (false, short) => prediction.remember(short),
            }
        }
        assert!(spins < 100, "{spins}");
        assert!(spins > 5, "{spins}");
    }

    /// Two threads that answer each other, both asleep: an answer takes longer than a spin, as long as somebody sleeps.
    #[test]
    fn two_adaptive_threads_that_answer_each_other_start_to_spin() {
        const SPIN: Duration = Duration::from_micros(50);
        let (wake, work) = (Duration::from_micros(45), Duration::from_micros(8));
        let mut sides = [Prediction::default(), Prediction::default()];
        let mut asleep = [true; 2];
        for turn in 0..100 {
            let (waiting, answering) = (turn % 2, 1 - turn % 2);
            let wait = work + if asleep[answering] { wake } else { Duration::ZERO };
            let side = &mut sides[waiting];
            asleep[waiting] = if side.is_short() {
                if wait <= side.budget(SPIN) {
                    side.hit()
                } else {
                    side.miss()
                }
                !side.awake
            } else {
                side.awake = false;
                side.remember(wait + wake <= SPIN * 2);
                true
            };
        }
        assert_eq!(asleep, [false; 2]);
    }

    #[test]
    fn a_rare_miss_is_forgiven() {
        let mut prediction = after(&[true; 8]);
        for round in 0..50 {
            let mut waits = 0;
            while !prediction.is_short() {
                prediction.remember(true);
                waits += 1;
            }
            assert!(waits <= REST, "{waits} in round {round}");
            (0..1000).for_each(|_| prediction.hit());
            prediction.miss();
        }
    }

    #[test]
    fn contention_for_the_core_doubles_the_rest_from_spinning() {
        let mut prediction = after(&[true; 8]);
        prediction.contended();
        let waits = (0..10_000)
            .take_while(|_| {
                let short = prediction.is_short();
                prediction.remember(true);
                !short
            })
            .count();
        assert_eq!(waits, MOST_REST as usize);
        // Again and again: each time twice as long.
        let mut rests = Vec::new();
        for _ in 0..10 {
            prediction.contended();
            rests.push(prediction.rest);
        }
        assert_eq!(rests[..3], [2 * MOST_REST, 4 * MOST_REST, 8 * MOST_REST]);
        assert_eq!(rests[9], MOST_CONTENDED);
        prediction.miss();
        assert_eq!(prediction.rest, MOST_CONTENDED, "a spin in vain forgives nothing");
    }

    #[test]
    fn half_the_cores_may_spin() {
        let spinning = AtomicUsize::new(0);
        let first = Permit::take(&spinning, 2);
        assert!(first.is_some() && Permit::take(&spinning, 2).is_none());
        drop(first);
        assert!(Permit::take(&spinning, 1).is_some());
    }

    /// Finds something at every so many looks without waiting, or when it waits.
    fn source(every: usize) -> impl FnMut(RecvMode) -> io::Result<bool> {
        let mut looks = 0;
        move |mode| {
            looks += 1;
            Ok(mode == RecvMode::Blocking || looks % every == 0)
        }
    }

    #[test]
    fn a_blocking_thread_never_looks_and_a_polling_one_never_sleeps() {
        let may_spin = AtomicBool::new(true);
        for (waiting, expected) in
            [(Waiting::Blocking, RecvMode::Blocking), (Waiting::Polling, RecvMode::NonBlocking)]
        {
            let mut waiter = Waiter::new(waiting, Duration::from_secs(1), &may_spin);
            let mut any = source(7);
            for _ in 0..20 {
                let mut modes = vec![];
                let received = waiter.receive(|mode| {
                    modes.push(mode);
                    any(mode)
                });
                assert!(received.is_ok() && modes.iter().all(|mode| *mode == expected), "{modes:?}");
            }
        }
    }

    #[test]
    fn errors_end_the_wait() {
        let may_spin = AtomicBool::new(true);
        for waiting in [Waiting::Blocking, Waiting::Polling, Waiting::Adaptive] {
            let mut waiter = Waiter::new(waiting, Duration::from_secs(1), &may_spin);
            assert!(waiter.receive(|_| Err(io::ErrorKind::NotConnected.into())).is_err());
        }
    }

    #[test]
    fn an_adaptive_thread_spins_only_where_it_may() {
        for may in [true, false] {
            let may_spin = AtomicBool::new(may);
            let mut waiter = Waiter {
                waiting: Waiting::Adaptive,
                spin: Duration::from_secs(1),
                cores: 2,
                prediction: after(&[true; 8]),
                shared: 0,
                may_spin: &may_spin,
            };
            let mut first = None;
            waiter
                .receive(|mode| {
                    first.get_or_insert(mode);
                    Ok(true)
                })
                .unwrap();
            let expected = if may { RecvMode::NonBlocking } else { RecvMode::Blocking };
            assert_eq!(first, Some(expected));
        }
    }
}
