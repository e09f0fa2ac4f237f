//! What every endpoint of a participant shares: the timers, the counters, the signs of manual liveliness.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use dunlin_core::{Duration, GuidPrefix, Locator, MonoTime};

use crate::timers::{TimerId, Timers};
use crate::{Output, Tuning};

/// Shared by the participant and its endpoints. Holds no endpoint, so that none keeps another alive.
pub(crate) struct Common {
    pub(crate) prefix: GuidPrefix,
    pub(crate) tuning: Tuning,
    pub(crate) max_message_size: usize,
    /// Where this participant receives user data; tells which peers are on the same host.
    pub(crate) own_unicast: dunlin_sync::ArcSnapshot<alloc::vec::Vec<Locator>>,
    pub(crate) timers: Timers,
    pub(crate) manual: ManualLiveliness,
    pub(crate) counters: Counters,
}

impl Common {
    /// Moves the entry of an endpoint if its deadline came closer than `armed`, which is what the set has.
    pub(crate) fn arm(
        &self,
        timer: TimerId,
        armed: &mut Option<MonoTime>,
        deadline: Option<MonoTime>,
        out: &mut Output,
    ) {
        let closer = deadline.is_some_and(|at| armed.is_none_or(|armed| at < armed));
        if closer {
            *armed = deadline;
            out.deadline_closer |= self.timers.set(timer, deadline);
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
/// writer is one (DDS 1.4 §2.2.3.11), so noting it must not take a lock.
#[derive(Default)]
pub(crate) struct ManualLiveliness {
    /// How many writers care.
    writers: AtomicUsize,
    /// When the last sign was given, in milliseconds of the monotonic clock, modulo 2^32.
    last: AtomicU32,
    /// A sign was given that discovery has not been told of.
    news: AtomicBool,
}

fn millis(time: MonoTime) -> u32 {
    (time.0 / 1_000_000) as u32
}

impl ManualLiveliness {
    pub(crate) fn add_writer(&self, now: MonoTime) {
        self.writers.fetch_add(1, Relaxed);
        self.note(now);
    }

    pub(crate) fn remove_writer(&self) {
        self.writers.fetch_sub(1, Relaxed);
    }

    /// A write or an assertion happened.
    pub(crate) fn note(&self, now: MonoTime) {
        if self.writers.load(Relaxed) == 0 {
            return;
        }
        let now = millis(now);
        if self.last.load(Relaxed) != now {
            self.last.store(now, Relaxed);
        }
        if !self.news.load(Relaxed) {
            self.news.store(true, Relaxed);
        }
    }

    /// Time since the last sign, to the millisecond; right up to three weeks.
    pub(crate) fn age(&self, now: MonoTime) -> Duration {
        let age = millis(now).wrapping_sub(self.last.load(Relaxed)) as i32;
        Duration::from_millis(i64::from(age.max(0)))
    }

    /// Whether a sign was given since the last call.
    pub(crate) fn take_news(&self) -> bool {
        self.news.swap(false, Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Counters of the participant, added to without a lock.
        #[derive(Default)]
        pub(crate) struct Counters { $($name: AtomicUsize),+ }

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
    /// Submessages for an endpoint that does not exist or is not matched.
    unknown_endpoint,
    /// Samples dropped because their key could not be read.
    undecodable,
    /// Timers that ran.
    timers_run,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn manual_liveliness_is_noted_only_when_somebody_cares() {
        let manual = ManualLiveliness::default();
        manual.note(MonoTime(5_000_000));
        assert!(!manual.take_news());
        manual.add_writer(MonoTime(7_000_000));
        assert!(manual.take_news() && !manual.take_news());
        assert_eq!(manual.age(MonoTime(9_500_000)), Duration::from_millis(2));
        manual.note(MonoTime(9_500_000));
        assert_eq!(manual.age(MonoTime(9_000_000)), Duration::ZERO);
        assert!(manual.take_news());
    }
}
