//! Who is introduced to whom by a discovery server, and when. RTPS has no such role: the server sends one participant the announcement
//! of another, as it came (RTPS 2.5 §8.5.3), and from then on the two speak to each other.
//!
//! Two participants are introduced when one writes and the other reads a topic of the same name, whatever partition, type and QoS they
//! have: they find out themselves why they do not match, and can say so. Announcements are best-effort, so each introduction is
//! repeated, less and less often, when the one that it is about has just announced itself: nobody who is gone is kept alive by that.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};

use dunlin_core::{Counter, Duration, GuidPrefix, MonoTime};

/// Time from the first introduction to the next; twice as long after each.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Longest time between two: so long two participants may take to find each other again that were cut off from each other alone.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// All introductions of a participant that moves begin anew no more often than this.
const MOVES_APART: Duration = Duration::from_secs(1);
/// It is looked no more often than this what an announcement leads to.
const LOOK: Duration = Duration::from_millis(50);
/// Introductions in one go; the rest follows.
pub(crate) const AT_ONCE: usize = 64;
/// Time between two goes.
const PAUSE: Duration = Duration::from_micros(500);
/// So many that are queued are not looked through when somebody goes.
const FEW: usize = 64;
/// Most introductions that are remembered, each direction being one.
pub(crate) const MOST: usize = 1 << 20;

/// The introductions of one server.
#[derive(Debug, Default)]
pub(crate) struct Introductions {
    known: BTreeMap<GuidPrefix, Contacts>,
    /// Participants that want to know all others.
    curious: BTreeSet<GuidPrefix>,
    /// Who is to be introduced, and to whom. Some may have gone meanwhile.
    queue: VecDeque<(GuidPrefix, GuidPrefix)>,
    /// Nothing is sent before.
    next: MonoTime,
    count: Counter,
}

/// To whom one participant is introduced.
#[derive(Debug, Default)]
struct Contacts {
    looked: Option<MonoTime>,
    /// When its introductions last began anew, and whether it has moved since.
    renewed: Option<MonoTime>,
    moved: bool,
    others: BTreeMap<GuidPrefix, Told>,
}

/// One introduction.
#[derive(Debug)]
struct Told {
    queued: bool,
    /// It is not repeated before.
    next: MonoTime,
    wait: Duration,
}

impl Introductions {
    /// The two have to know each other. False if there are too many introductions.
    pub(crate) fn pair(&mut self, one: GuidPrefix, other: GuidPrefix) -> bool {
        if one == other || self.known.get(&one).is_some_and(|contacts| contacts.others.contains_key(&other)) {
            return true;
        }
        if self.count.get() >= MOST {
            return false;
        }
        for (of, to) in [(one, other), (other, one)] {
            let told = Told { queued: true, next: MonoTime::default(), wait: FIRST_WAIT };
            self.known.entry(of).or_default().others.insert(to, told);
            self.queue.push_back((of, to));
            self.count.add(1);
        }
        true
    }

    /// A participant wants to know all others.
    pub(crate) fn is_curious(&mut self, who: GuidPrefix) {
        self.curious.insert(who);
    }

    /// Those who want to know all others.
    pub(crate) fn curious(&self) -> impl Iterator<Item = GuidPrefix> {
        self.curious.iter().copied()
    }

    /// A participant is elsewhere now: others are told, and it is told of them, who may have moved at the same time. Then neither
    /// reaches the other.
    pub(crate) fn moved(&mut self, now: MonoTime, who: GuidPrefix) {
        let Self { known, queue, .. } = self;
        let Some(contacts) = known.get_mut(&who) else { return };
        contacts.moved = contacts.renewed.is_some_and(|at| at.plus(MOVES_APART) > now);
        if contacts.moved {
            return;
        }
        contacts.renewed = Some(now);
        let others: Vec<GuidPrefix> = contacts.others.keys().copied().collect();
        for (of, to) in others.into_iter().flat_map(|other| [(who, other), (other, who)]) {
            let told = known.get_mut(&of).and_then(|contacts| contacts.others.get_mut(&to));
            let Some(told) = told else { continue };
            told.wait = FIRST_WAIT;
            if !core::mem::replace(&mut told.queued, true) {
                queue.push_back((of, to));
            }
        }
    }

    /// A participant has just announced itself: what is due about it is repeated.
    pub(crate) fn heard(&mut self, now: MonoTime, of: GuidPrefix) {
        if self.known.get(&of).is_some_and(|contacts| contacts.moved) {
            self.moved(now, of);
        }
        let Some(contacts) = self.known.get_mut(&of) else { return };
        if contacts.looked.is_some_and(|looked| looked.plus(LOOK) > now) {
            return;
        }
        contacts.looked = Some(now);
        for (to, told) in contacts.others.iter_mut().filter(|(_, told)| !told.queued && told.next <= now) {
            told.queued = true;
            self.queue.push_back((of, *to));
        }
    }

    /// A participant is gone.
    pub(crate) fn forget(&mut self, who: GuidPrefix) {
        self.curious.remove(&who);
        let Some(contacts) = self.known.remove(&who) else { return };
        for other in contacts.others.keys() {
            if let Some(contacts) = self.known.get_mut(other) {
                contacts.others.remove(&who);
            }
            self.count.subtract(2);
        }
        if self.queue.len() > self.count.get().saturating_mul(2).max(FEW) {
            let Self { known, queue, .. } = self;
            queue.retain(|(of, to)| known.get(of).is_some_and(|contacts| contacts.others.contains_key(to)));
        }
    }

    /// When [`Self::due`] has something.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        (!self.queue.is_empty()).then_some(self.next)
    }

    /// Begins a go; false if it is not time yet.
    pub(crate) fn begin(&mut self, now: MonoTime) -> bool {
        let due = self.next_deadline().is_some_and(|next| next <= now);
        if due {
            self.next = now.plus(PAUSE);
        }
        due
    }

    /// The next introduction of this go: of whom, and to whom.
    pub(crate) fn due(&mut self, now: MonoTime) -> Option<(GuidPrefix, GuidPrefix)> {
        while let Some((of, to)) = self.queue.pop_front() {
            let told = self.known.get_mut(&of).and_then(|contacts| contacts.others.get_mut(&to));
            let Some(told) = told.filter(|told| told.queued) else { continue };
            told.queued = false;
            told.next = now.plus(told.wait);
            told.wait = told.wait.times(2).min(LONGEST_WAIT);
            return Some((of, to));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn who(n: u8) -> GuidPrefix {
        GuidPrefix([n; 12])
    }

    fn ms(n: u64) -> MonoTime {
        MonoTime(n * 1_000_000)
    }

    fn all_due(introductions: &mut Introductions, now: MonoTime) -> Vec<(u8, u8)> {
        let mut due = Vec::new();
        while introductions.begin(now) {
            while let Some((of, to)) = introductions.due(now) {
                due.push((of.0[0], to.0[0]));
            }
        }
        due
    }

    #[test]
    fn a_pair_is_introduced_at_once_and_again_at_each_announcement() {
        let mut known = Introductions::default();
        assert!(known.pair(who(1), who(2)) && known.pair(who(2), who(1)) && known.pair(who(1), who(1)));
        assert_eq!(all_due(&mut known, ms(0)), [(1, 2), (2, 1)]);
        assert_eq!(known.next_deadline(), None);
        let mut repeated = Vec::new();
        for second in 1..200 {
            known.heard(ms(second * 1_000), who(1));
            repeated.extend(all_due(&mut known, ms(second * 1_000)).iter().map(|due| (second, *due)));
        }
        let times: Vec<u64> = repeated.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [1, 2, 3, 4, 6, 10, 17, 30, 56, 86, 116, 146, 176]);
        assert!(repeated.iter().all(|(_, due)| *due == (1, 2)), "nothing was heard of the other one");
    }

    #[test]
    fn a_flood_of_announcements_is_looked_at_now_and_then() {
        let mut known = Introductions::default();
        known.pair(who(1), who(2));
        all_due(&mut known, ms(0));
        let mut count = 0;
        for at in 0..10_000 {
            known.heard(ms(at), who(1));
            count += all_due(&mut known, ms(at)).len();
        }
        assert_eq!(count, 6, "after 100 ms, 300, 700, 1,500, 3,100 and 6,300");
    }

    #[test]
    fn a_participant_with_a_new_address_is_introduced_again_once_a_second() {
        let mut known = Introductions::default();
        known.pair(who(1), who(2));
        known.pair(who(2), who(3));
        all_due(&mut known, ms(0));
        for second in 1..100 {
            known.heard(ms(second * 1_000), who(1));
            all_due(&mut known, ms(second * 1_000));
        }
        known.moved(ms(100_010), who(1));
        assert_eq!(all_due(&mut known, ms(100_010)), [(1, 2), (2, 1)]);
        known.heard(ms(100_120), who(1));
        assert_eq!(all_due(&mut known, ms(100_120)), [(1, 2)], "it may have been lost");
        let mut count = 0;
        for at in 100_121..110_000 {
            known.moved(ms(at), who(1));
            known.heard(ms(at), who(1));
            count += all_due(&mut known, ms(at)).len();
        }
        assert!((18..60).contains(&count), "{count} for who moves all the time");
        // The last move is told of although it came too soon.
        known.moved(ms(110_000), who(1));
        all_due(&mut known, ms(110_000));
        known.heard(ms(111_020), who(1));
        assert_eq!(all_due(&mut known, ms(111_020)), [(1, 2), (2, 1)]);
    }

    #[test]
    fn a_lost_participant_is_not_introduced() {
        let mut known = Introductions::default();
        (2..5).for_each(|n| assert!(known.pair(who(1), who(n))));
        known.pair(who(2), who(3));
        known.forget(who(1));
        assert_eq!(all_due(&mut known, ms(0)), [(2, 3), (3, 2)]);
        assert_eq!(known.count.get(), 2);
        known.forget(who(2));
        known.forget(who(3));
        assert_eq!(
            (known.count.get(), known.known.values().map(|it| it.others.len()).sum::<usize>()),
            (0, 0)
        );
    }

    #[test]
    fn a_lost_participant_leaves_no_queued_introductions() {
        let mut known = Introductions::default();
        known.pair(who(8), who(9));
        for _ in 0..10_000 {
            known.pair(who(1), who(2));
            known.forget(who(1));
        }
        known.pair(who(1), who(2));
        assert!(known.queue.len() <= FEW + 4, "{}", known.queue.len());
        assert_eq!(all_due(&mut known, ms(0)), [(8, 9), (9, 8), (1, 2), (2, 1)]);
    }

    #[test]
    fn introductions_are_bounded() {
        let mut known = Introductions::default();
        known.count.add(MOST);
        assert!(!known.pair(who(1), who(2)));
        assert_eq!(known.queue, vec![]);
    }
}
