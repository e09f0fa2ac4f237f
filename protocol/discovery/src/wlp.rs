//! When a participant asserts the liveliness of its writers: RTPS 2.5 §8.4.13.5.

use alloc::collections::BTreeMap;

use dunlin_core::{Counter, Duration, EntityId, MonoTime};
use dunlin_qos::{Liveliness, LivelinessKind};

/// Assertions within one lease, so that two may be late before a lease expires.
const ASSERTIONS_PER_LEASE: i64 = 3;
/// No lease is so short that assertions come faster than this.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);

/// Decides when to write which participant message. Infinite leases need none.
#[derive(Debug, Default)]
pub(crate) struct Asserter {
    leases: BTreeMap<EntityId, Liveliness>,
    /// How many writers have which lease: a participant may have thousands.
    lengths: BTreeMap<(LivelinessKind, Duration), Counter>,
    automatic_due: Option<MonoTime>,
    /// Set while a manual assertion waits because the last one is too recent.
    manual_due: Option<MonoTime>,
    manual_sent: Option<MonoTime>,
}

impl Asserter {
    /// Takes up a local writer or its new lease.
    pub(crate) fn put(&mut self, now: MonoTime, writer: EntityId, liveliness: Liveliness) {
        self.forget(writer);
        self.leases.insert(writer, liveliness);
        let count = self.lengths.entry((liveliness.kind, liveliness.lease_duration)).or_default();
        count.add(1);
        match self.period(LivelinessKind::Automatic) {
            Some(period) => {
                let due = now.plus(period);
                self.automatic_due = Some(self.automatic_due.map_or(due, |earlier| earlier.min(due)));
            }
            None => self.automatic_due = None,
        }
    }

    /// Forgets a local writer.
    pub(crate) fn remove(&mut self, writer: EntityId) {
        self.forget(writer);
        if self.period(LivelinessKind::Automatic).is_none() {
            self.automatic_due = None;
        }
        if self.period(LivelinessKind::ManualByParticipant).is_none() {
            self.manual_due = None;
        }
    }

    fn forget(&mut self, writer: EntityId) {
        let Some(liveliness) = self.leases.remove(&writer) else { return };
        let length = (liveliness.kind, liveliness.lease_duration);
        if let Some(count) = self.lengths.get_mut(&length) {
            count.subtract(1);
            if *count == Counter::ZERO {
                self.lengths.remove(&length);
            }
        }
    }

    fn period(&self, kind: LivelinessKind) -> Option<Duration> {
        let shortest = self.lengths.keys().find(|length| length.0 == kind)?.1;
        (!shortest.is_infinite()).then(|| shortest.divided_by(ASSERTIONS_PER_LEASE).max(SHORTEST_PERIOD))
    }

    /// Something that asserts MANUAL_BY_PARTICIPANT writers happened; true if a message is to be written now.
    pub(crate) fn asserted(&mut self, now: MonoTime) -> bool {
        let Some(period) = self.period(LivelinessKind::ManualByParticipant) else { return false };
        let allowed = self.manual_sent.map_or(now, |sent| sent.plus(period));
        if allowed > now {
            self.manual_due = Some(allowed);
            return false;
        }
        self.manual_sent = Some(now);
        self.manual_due = None;
        true
    }

    /// The next kind of which a message is to be written now; call until there is none.
    pub(crate) fn due(&mut self, now: MonoTime) -> Option<LivelinessKind> {
        if self.manual_due.is_some_and(|due| due <= now) {
            self.manual_due = None;
            self.manual_sent = Some(now);
            return Some(LivelinessKind::ManualByParticipant);
        }
        if self.automatic_due.is_some_and(|due| due <= now) {
            self.automatic_due = self.period(LivelinessKind::Automatic).map(|period| now.plus(period));
            return Some(LivelinessKind::Automatic);
        }
        None
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        [self.automatic_due, self.manual_due].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: EntityId = EntityId([0, 0, 1, 2]);
    const OTHER: EntityId = EntityId([0, 0, 2, 2]);

    fn lease(kind: LivelinessKind, millis: i64) -> Liveliness {
        Liveliness { kind, lease_duration: Duration::from_millis(millis) }
    }

    fn ms(millis: u64) -> MonoTime {
        MonoTime(millis * 1_000_000)
    }

    #[test]
    fn automatic_follows_the_shortest_lease() {
        let mut asserter = Asserter::default();
        asserter.put(ms(0), OTHER, Liveliness::default());
        assert_eq!(asserter.next_deadline(), None);
        asserter.put(ms(0), WRITER, lease(LivelinessKind::Automatic, 3000));
        assert_eq!(asserter.next_deadline(), Some(ms(1000)));
        asserter.put(ms(100), OTHER, lease(LivelinessKind::Automatic, 300));
        assert_eq!(asserter.next_deadline(), Some(ms(200)));
        assert_eq!(asserter.due(ms(199)), None);
        assert_eq!(asserter.due(ms(200)), Some(LivelinessKind::Automatic));
        assert_eq!(asserter.due(ms(200)), None);
        assert_eq!(asserter.next_deadline(), Some(ms(300)));
        asserter.remove(OTHER);
        assert_eq!(asserter.due(ms(300)), Some(LivelinessKind::Automatic));
        assert_eq!(asserter.next_deadline(), Some(ms(1300)));
        asserter.remove(WRITER);
        assert_eq!(asserter.next_deadline(), None);
    }

    #[test]
    fn manual_messages_follow_assertions_but_not_too_often() {
        let mut asserter = Asserter::default();
        assert!(!asserter.asserted(ms(0)), "no such writer");
        asserter.put(ms(0), WRITER, lease(LivelinessKind::ManualByParticipant, 300));
        assert_eq!(asserter.next_deadline(), None, "nothing without assertion");
        assert!(asserter.asserted(ms(10)));
        assert!(!asserter.asserted(ms(20)));
        assert!(!asserter.asserted(ms(30)));
        assert_eq!(asserter.next_deadline(), Some(ms(110)));
        assert_eq!(asserter.due(ms(110)), Some(LivelinessKind::ManualByParticipant));
        assert_eq!((asserter.due(ms(110)), asserter.next_deadline()), (None, None));
        assert!(asserter.asserted(ms(500)));
    }

    #[test]
    fn manual_by_topic_needs_no_messages() {
        let mut asserter = Asserter::default();
        asserter.put(ms(0), WRITER, lease(LivelinessKind::ManualByTopic, 300));
        assert!(!asserter.asserted(ms(10)));
        assert_eq!(asserter.next_deadline(), None);
    }
}
