//! What filters of remote readers may cost a writer: neither one filter, nor those of one participant, nor all together hold up
//! a sample for long.

use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_core::{GuidPrefix, SequenceNumber};
use dunlin_filter::{Steps, TooManySteps, Verdict};
use dunlin_sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Steps that one evaluation may take, beside those for the octets of the sample.
const BASE: usize = 4_096;
/// Steps for each octet of the sample: a pattern without `%` in the middle takes two for each character.
const PER_OCTET: usize = 4;
/// Evaluations of that size for the readers of one participant, and for all, on one sample.
const PER_PARTICIPANT: usize = 4;
const PER_SAMPLE: usize = 8;
/// What each filter may take whatever the others have taken.
const ALWAYS: usize = 512;
/// Participants that had filters dropped are remembered, and one with so many has no more looked at.
const MAX_REMEMBERED: usize = 64;
const MAX_DROPPED: usize = 8;

/// Steps taken for the sample that is looked at.
#[derive(Debug, Default)]
struct Account {
    /// The low bits of its number.
    sample: AtomicUsize,
    taken: AtomicUsize,
}

impl Account {
    fn taken_for(&self, sample: usize) -> usize {
        if self.sample.swap(sample, Relaxed) != sample {
            self.taken.store(0, Relaxed);
        }
        self.taken.load(Relaxed)
    }

    fn charge(&self, steps: usize) {
        self.taken.store(self.taken.load(Relaxed).saturating_add(steps), Relaxed);
    }
}

/// What the readers of one participant have cost. Only with the lock of its writer's core.
#[derive(Debug)]
pub(super) struct Owner {
    participant: GuidPrefix,
    account: Account,
    /// Filters of it that were dropped.
    dropped: AtomicUsize,
    /// Those of them that were told of.
    told: AtomicUsize,
}

impl Owner {
    /// Whether further filters of it are not looked at.
    pub(super) fn is_out(&self) -> bool {
        self.dropped.load(Relaxed) >= MAX_DROPPED
    }
}

/// What all readers of one writer have cost.
#[derive(Debug, Default)]
pub(super) struct Budget {
    account: Account,
    /// Steps of all evaluations so far.
    steps: AtomicUsize,
    dropped: AtomicUsize,
}

impl Budget {
    /// Steps that a filter of `owner` may take on a sample with so many octets.
    fn allow(&self, owner: &Owner, sn: SequenceNumber, octets: usize) -> usize {
        let sample = sn.0 as usize;
        let one = octets.saturating_mul(PER_OCTET).saturating_add(BASE);
        let of_owner = one.saturating_mul(PER_PARTICIPANT).saturating_sub(owner.account.taken_for(sample));
        let of_all = one.saturating_mul(PER_SAMPLE).saturating_sub(self.account.taken_for(sample));
        one.min(of_owner).min(of_all).max(ALWAYS)
    }

    /// It took so many.
    fn charge(&self, owner: &Owner, steps: usize) {
        owner.account.charge(steps);
        self.account.charge(steps);
        self.steps.store(self.steps.load(Relaxed).wrapping_add(steps), Relaxed);
    }

    /// Steps of all evaluations so far.
    pub(super) fn steps(&self) -> usize {
        self.steps.load(Relaxed)
    }

    /// A filter took more than it may, and is used no more.
    fn note_dropped(&self, owner: &Owner) {
        owner.dropped.store(owner.dropped.load(Relaxed).saturating_add(1), Relaxed);
        self.dropped.store(self.dropped.load(Relaxed).saturating_add(1), Relaxed);
    }

    /// Filters dropped so far.
    pub(super) fn dropped(&self) -> usize {
        self.dropped.load(Relaxed)
    }
}

/// What a filter may cost, and whether it is still used. Only with the lock of its writer's core.
#[derive(Debug)]
pub(super) struct Cost {
    owner: Arc<Owner>,
    budget: Arc<Budget>,
    dropped: AtomicBool,
}

impl Cost {
    pub(super) fn new(owner: Arc<Owner>, budget: &Arc<Budget>) -> Self {
        Self { owner, budget: Arc::clone(budget), dropped: AtomicBool::new(false) }
    }

    /// What the filter says of a sample; everything passes once it has taken more steps than it may.
    pub(super) fn within(
        &self,
        sn: SequenceNumber,
        octets: usize,
        judge: impl FnOnce(&mut Steps) -> Result<Verdict, TooManySteps>,
    ) -> Verdict {
        if self.dropped.load(Relaxed) {
            return Verdict::Passed;
        }
        let mut steps = Steps::new(self.budget.allow(&self.owner, sn, octets));
        let verdict = judge(&mut steps);
        self.budget.charge(&self.owner, steps.taken());
        verdict.unwrap_or_else(|TooManySteps| {
            self.dropped.store(true, Relaxed);
            self.budget.note_dropped(&self.owner);
            Verdict::Passed
        })
    }
}

/// Whose filters a writer has, or had.
#[derive(Debug, Default)]
pub(super) struct Owners(Vec<Arc<Owner>>);

impl Owners {
    /// The account of a participant.
    pub(super) fn of(&mut self, participant: GuidPrefix) -> Arc<Owner> {
        if let Some(known) = self.0.iter().find(|owner| owner.participant == participant) {
            return Arc::clone(known);
        }
        let idle = |owner: &Arc<Owner>| Arc::strong_count(owner) == 1;
        self.0.retain(|owner| !idle(owner) || owner.dropped.load(Relaxed) > 0);
        if self.0.len() >= MAX_REMEMBERED
            && let Some(oldest) = self.0.iter().position(idle)
        {
            self.0.remove(oldest);
        }
        let owner = Owner {
            participant,
            account: Account::default(),
            dropped: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
        };
        let owner = Arc::new(owner);
        self.0.push(Arc::clone(&owner));
        owner
    }

    /// Participants whose filters were dropped since this was asked last.
    pub(super) fn newly_dropped(&self) -> Vec<GuidPrefix> {
        let news = self.0.iter().filter(|owner| {
            let dropped = owner.dropped.load(Relaxed);
            owner.told.swap(dropped, Relaxed) != dropped
        });
        news.map(|owner| owner.participant).collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const PREFIX: GuidPrefix = GuidPrefix([1; 12]);

    fn take(cost: &Cost, sample: i64, wanted: usize) -> bool {
        let judged =
            cost.within(SequenceNumber(sample), 0, |steps| steps.take(wanted).map(|()| Verdict::Rejected));
        judged == Verdict::Rejected
    }

    #[test]
    fn filter_cost_is_limited_per_filter_participant_and_in_total() {
        let (budget, mut owners) = (Arc::default(), Owners::default());
        let cost = |owners: &mut Owners, n| Cost::new(owners.of(GuidPrefix([n; 12])), &budget);
        let costly = cost(&mut owners, 1);
        assert!(take(&costly, 1, BASE) && !take(&costly, 2, BASE + 1));
        assert!(!take(&costly, 3, 1), "it is dropped for good");
        let many: Vec<Cost> = (0..5).map(|_| cost(&mut owners, 2)).collect();
        let kept = many.iter().filter(|cost| take(cost, 4, BASE)).count();
        assert_eq!(kept, PER_PARTICIPANT);
        let others: Vec<Cost> = (3..30).map(|n| cost(&mut owners, n)).collect();
        let kept = others.iter().filter(|cost| take(cost, 5, BASE)).count();
        assert_eq!(kept, PER_SAMPLE);
        let cheap = cost(&mut owners, 40);
        assert!(take(&cheap, 5, ALWAYS), "what costs next to nothing never suffers");
        assert!(take(&many[0], 5, ALWAYS) && take(&many[0], 6, BASE), "each sample has its own budget");
    }

    #[test]
    fn a_participant_with_many_dropped_filters_gets_no_more_filtering() {
        let (budget, mut owners) = (Arc::default(), Owners::default());
        for n in 0..MAX_DROPPED {
            assert!(!owners.of(PREFIX).is_out());
            let cost = Cost::new(owners.of(PREFIX), &budget);
            assert!(!take(&cost, i64::try_from(n).unwrap(), BASE + 1));
        }
        assert!(owners.of(PREFIX).is_out());
        assert_eq!((owners.newly_dropped(), owners.newly_dropped()), (alloc::vec![PREFIX], Vec::new()));
        for n in 0..=200 {
            owners.of(GuidPrefix([n; 12]));
        }
        assert!(owners.0.len() <= MAX_REMEMBERED);
    }
}
