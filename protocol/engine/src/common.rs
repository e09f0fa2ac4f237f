//! What every endpoint of a participant shares: the timers, the counters, the signs of manual liveliness.

// Never one of a checker: nothing depends on a count, so no interleaving is worth exploring for it.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::AtomicUsize as Count;

use dunlin_cache::OctetBudget;
use dunlin_core::{Duration, GuidPrefix, Misbehaviour, MonoTime, Paths};
use dunlin_rtps::ReceiveRoom;
use dunlin_sync::atomic::{
    AtomicBool, AtomicU32, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use crate::misbehaviour::Ledger;
use crate::output::Event;
use crate::timers::{TimerId, Timers};
use crate::{Output, Tuning};

/// Shared by the participant and its endpoints. Holds no endpoint, so that none keeps another alive.
pub(crate) struct Common {
    pub(crate) prefix: GuidPrefix,
    pub(crate) tuning: Tuning,
    pub(crate) max_message_size: usize,
    pub(crate) paths: Option<Arc<dyn Paths>>,
    pub(crate) receive_room: ReceiveRoom,
    /// It passes on what is for others.
    pub(crate) relays: bool,
    /// A daemon passes on to it what is for others of its host too.
    pub(crate) behind_daemon: bool,
    /// The entry of discovery.
    pub(crate) participant_timer: TimerId,
    /// The entry of whoever works for the participant from outside, see [`crate::Participant::set_alarm`].
    pub(crate) alarm_timer: TimerId,
    pub(crate) timers: Timers,
    /// What its readers may keep of others together.
    pub(crate) octets: Arc<OctetBudget>,
    pub(crate) manual: ManualLiveliness,
    pub(crate) counters: Counters,
    /// What others did that was refused.
    pub(crate) misbehaviours: Ledger,
}

impl Common {
    /// Moves the entry of an endpoint if its deadline came closer than `armed`, than which the set has nothing later. Sets the
    /// flag if that brought the participant's deadline closer, see [`Output::deadline_closer`].
    pub(crate) fn arm(
        &self,
        timer: TimerId,
        armed: &mut Option<MonoTime>,
        deadline: Option<MonoTime>,
        closer_for_all: &mut bool,
    ) {
        if let Some(at) = deadline.filter(|at| armed.is_none_or(|armed| *at < armed)) {
            *armed = deadline;
            // Others may have moved it closer without `armed`, and they do not come again.
            *closer_for_all |= self.timers.set_closer(timer, at);
        }
    }

    /// A write or an assertion happened. Now and then discovery must hear of it, which its timer sees to.
    pub(crate) fn note_manual(&self, now: MonoTime, out: &mut Output) {
        if self.manual.note(now) {
            out.deadline_closer |= self.timers.set_closer(self.participant_timer, now);
        }
    }

    /// Counts what a participant did and was refused. What does not happen by itself is told when its count, of all participants
    /// together, is a power of two, so that whoever causes it cannot cause many messages.
    #[cold]
    pub(crate) fn misbehaved(&self, participant: GuidPrefix, what: Misbehaviour, events: &mut Vec<Event>) {
        if participant == self.prefix {
            return;
        }
        let count = self.misbehaviours.note(participant, what);
        if !what.is_usual() && count.is_power_of_two() {
            events.push(Event::Misbehaviour { participant, what, count });
        }
    }
}

/// The earlier of two deadlines.
pub(crate) fn earliest(one: Option<MonoTime>, other: Option<MonoTime>) -> Option<MonoTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Signs of life that count for all MANUAL_BY_PARTICIPANT writers of the participant. Every write of every
/// writer is one (DDS 1.4 §2.2.3.11), so noting it must not take a lock. Times are in milliseconds modulo 2^32.
///
/// A sign that comes late ends a silence that a writer's timer has yet to look at, so the last silence that may have been
/// too long for any of them is kept.
#[derive(Default)]
pub(crate) struct ManualLiveliness {
    /// How many writers care.
    writers: AtomicUsize,
    /// How long discovery may go without hearing of a sign.
    period: AtomicU32,
    /// When the last sign was given.
    last: AtomicU32,
    /// The last long silence. Written in this order and read in the other one; there is a lease between two of them.
    silent_from: AtomicU32,
    silent_until: AtomicU32,
    /// When discovery last heard of one.
    told: AtomicU32,
    /// Discovery is to be told.
    news: AtomicBool,
}

/// Of which discovery hears, as it sends three messages in each.
const SIGNS_PER_LEASE: u32 = 8;

fn millis(time: MonoTime) -> u32 {
    (time.0 / 1_000_000) as u32
}

/// A silence that is over, seen from the last sign that a writer knows of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Silence {
    /// It did not begin with that sign but with a later one: in between the writer was alive.
    pub(crate) later: bool,
    until: u32,
}

impl Silence {
    /// Time since the sign that ended it, to the millisecond.
    pub(crate) fn age(&self, now: MonoTime) -> Duration {
        age(now, self.until)
    }
}

fn age(now: MonoTime, sign: u32) -> Duration {
    Duration::from_millis(i64::from(millis(now).wrapping_sub(sign).cast_signed().max(0)))
}

fn is_after(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

impl ManualLiveliness {
    pub(crate) fn add_writer(&self, now: MonoTime, lease: Duration) {
        let period = lease.divided_by(i64::from(SIGNS_PER_LEASE)).as_nanos() / 1_000_000;
        let period = u32::try_from(period).unwrap_or(u32::MAX >> 1);
        if self.writers.fetch_add(1, Relaxed) == 0 {
            self.period.store(period, Relaxed);
            // Nobody cared for signs until now. Later writers are none: what exists already has to give its own.
            self.last.store(millis(now), Relaxed);
        } else {
            self.period.fetch_min(period, Relaxed);
        }
        self.told.store(millis(now).wrapping_sub(period), Relaxed);
    }

    pub(crate) fn remove_writer(&self) {
        self.writers.fetch_sub(1, Relaxed);
    }

    /// Whether no writer cares for signs.
    pub(crate) fn is_idle(&self) -> bool {
        self.writers.load(Relaxed) == 0
    }

    /// A write or an assertion happened. True if discovery should hear of it now.
    pub(crate) fn note(&self, now: MonoTime) -> bool {
        if self.writers.load(Relaxed) == 0 {
            return false;
        }
        let now = millis(now);
        let last = self.last.load(Relaxed);
        if last != now {
            self.end_silence(last, now);
            self.last.store(now, Relaxed);
        }
        let due = now.wrapping_sub(self.told.load(Relaxed)) >= self.period.load(Relaxed);
        due && !self.news.swap(true, Relaxed)
    }

    fn end_silence(&self, from: u32, until: u32) {
        let silence = until.wrapping_sub(from).cast_signed();
        let bearable = self.period.load(Relaxed).saturating_mul(SIGNS_PER_LEASE);
        let long = u32::try_from(silence).is_ok_and(|silence| silence >= bearable);
        // What is older than the half of all times would pass for new some day.
        let old = until.wrapping_sub(self.silent_until.load(Relaxed)) > u32::MAX / 4;
        if long || old {
            self.silent_from.store(if long { from } else { until }, Relaxed);
            self.silent_until.store(until, Release);
        }
    }

    /// A silence that is over and lasted longer than `lease`, for a writer that knows of signs until `since`.
    pub(crate) fn ended_silence(&self, since: MonoTime, lease: Duration) -> Option<Silence> {
        let (until, since) = (self.silent_until.load(Acquire), millis(since));
        let from = self.silent_from.load(Relaxed);
        let later = is_after(from, since);
        let from = if later { from } else { since };
        let long = Duration::from_millis(i64::from(until.wrapping_sub(from))) >= lease;
        (is_after(until, since) && long).then_some(Silence { later, until })
    }

    /// Time since the last sign, to the millisecond; right up to three weeks.
    pub(crate) fn age(&self, now: MonoTime) -> Duration {
        age(now, self.last.load(Relaxed))
    }

    /// Whether discovery is to be told; it counts as told then.
    pub(crate) fn take_news(&self, now: MonoTime) -> bool {
        let news = self.news.swap(false, Relaxed);
        if news {
            self.told.store(millis(now), Relaxed);
        }
        news
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Counters of the participant, added to without a lock.
        #[derive(Default)]
        pub(crate) struct Counters { $($name: Count),+ }

        /// What a participant has received, dropped and done. Counters wrap at the word size of the machine.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub struct ParticipantStats {
            $($(#[$doc])* pub $name: usize,)+
            /// What discovery took part in or refused.
            pub discovery: dunlin_discovery::DiscoveryStats,
        }

        impl Counters {
            $(pub(crate) fn $name(&self) {
                self.$name.fetch_add(1, Relaxed);
            })+

            pub(crate) fn read(&self, discovery: dunlin_discovery::DiscoveryStats) -> ParticipantStats {
                ParticipantStats { $($name: self.$name.load(Relaxed),)+ discovery }
            }
        }
    };
}

counters! {
    /// Datagrams received.
    datagrams,
    /// Datagrams that are no RTPS messages, or broke off at a malformed submessage.
    malformed,
    /// Datagrams that came back from this participant over the network.
    own_datagrams,
    /// Submessages for another participant.
    other_destination,
    /// Submessages for user endpoints that came in the name of a participant from where it is not believed to speak.
    misplaced,
    /// Submessages for an endpoint that does not exist or is not matched.
    unknown_endpoint,
    /// Samples dropped because their key could not be read.
    undecodable,
    /// Timers that ran.
    timers_run,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn manual_liveliness_is_noted_only_for_writers_that_need_it() {
        let ms = |n: u64| MonoTime(n * 1_000_000);
        let manual = ManualLiveliness::default();
        assert!(!manual.note(ms(5)));
        manual.add_writer(ms(7), Duration::from_millis(80));
        assert!(manual.note(ms(7)), "the first sign is told at once");
        assert!(!manual.note(ms(8)), "told already, though not yet taken");
        assert!(manual.take_news(ms(8)) && !manual.take_news(ms(8)));
        assert!(!manual.note(ms(17)));
        assert!(manual.note(ms(18)), "a period later");
        assert_eq!(manual.age(ms(20)), Duration::from_millis(2));
        assert_eq!(manual.age(ms(9)), Duration::ZERO);
    }

    #[test]
    fn a_long_silence_is_remembered_when_it_is_over() {
        let ms = |n: u64| MonoTime(n * 1_000_000);
        let lease = |n: i64| Duration::from_millis(n);
        let manual = ManualLiveliness::default();
        let was_silent = |since, lease| manual.ended_silence(since, lease).is_some();
        manual.add_writer(ms(0), lease(800));
        manual.note(ms(10));
        manual.note(ms(500));
        assert!(!was_silent(ms(0), lease(1)), "too short for anybody");
        manual.note(ms(1_500));
        assert!(was_silent(ms(0), lease(1_000)) && !was_silent(ms(0), lease(1_001)));
        assert!(was_silent(ms(700), lease(800)) && !was_silent(ms(701), lease(800)));
        let later = |since| manual.ended_silence(ms(since), lease(800)).map(|silence| silence.later);
        assert_eq!([later(500), later(499)], [Some(false), Some(true)]);
        assert!(!was_silent(ms(1_500), lease(800)), "over when it was looked at last");
        manual.add_writer(ms(9_000), lease(800));
        assert_eq!(manual.age(ms(9_000)), lease(7_500), "a new writer is no sign of the others");
        // What is weeks old does not look new when times have gone round.
        let weeks = 1 << 31;
        for round in 1..5 {
            manual.note(ms(1_500 + round * weeks / 2));
        }
        assert!(!was_silent(ms(1_000 + 2 * weeks), lease(800)));
    }
}

#[cfg(all(test, loom))]
mod model {
    //! Signs of life from two threads beside the timer thread, which brings them to discovery.

    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::timers::TimerOwner;

    fn common() -> Common {
        let timers = Timers::default();
        Common {
            prefix: GuidPrefix::UNKNOWN,
            tuning: Tuning::default(),
            max_message_size: dunlin_core::defaults::MAX_MESSAGE_SIZE,
            paths: None,
            receive_room: ReceiveRoom::default(),
            relays: false,
            behind_daemon: false,
            participant_timer: timers.register(TimerOwner::Participant),
            alarm_timer: timers.register(TimerOwner::Alarm),
            timers,
            manual: ManualLiveliness::default(),
            counters: Counters::default(),
            misbehaviours: Ledger::default(),
            octets: alloc::sync::Arc::new(OctetBudget::new(usize::MAX)),
        }
    }

    #[test]
    fn a_due_liveliness_assertion_is_sent_or_sets_the_timer() {
        loom::model(|| {
            let now = MonoTime(10_000_000_000);
            let common = Arc::new(common());
            common.manual.add_writer(now, Duration::from_secs(8));
            let writers = [(); 2].map(|()| {
                let common = Arc::clone(&common);
                thread::spawn(move || common.note_manual(now, &mut Output::new()))
            });
            let mut told = 0;
            let mut run_timer = || {
                if common.timers.pop_due(now).is_some() {
                    told += usize::from(common.manual.take_news(now));
                }
            };
            run_timer();
            for writer in writers {
                writer.join().expect("no panic");
            }
            run_timer();
            assert!(told > 0, "discovery never heard of it");
            assert!(!common.manual.take_news(now), "news for which no timer is set");
        });
    }
}
