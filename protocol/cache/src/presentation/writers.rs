//! Which writers a publisher has (RTPS 2.5 §8.7.6, §9.6.4 WRITER_GROUP_INFO): what it says itself, as digests, against what
//! discovery has found. As long as they differ, a writer may have yet to be discovered that has a part in what waits.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use dunlin_core::{Duration, EntityId, MonoTime, SequenceNumber};
use dunlin_wire::GroupDigest;

/// Digests of writers that were known, at most.
const MAX_KNOWN: usize = 32;

/// Writers of which those that came first are looked for, at most.
const MAX_EARLIER: usize = 64;

/// Whether the writers are known that have a part in something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GroupWriters {
    /// They are, or the publisher does not tell.
    Known,
    /// Not all of them, and it is of no use to wait: they are gone, or have not been discovered for too long.
    Missing,
    /// Not yet.
    Awaited,
}

#[derive(Debug)]
struct Known {
    digest: GroupDigest,
    /// Those of them that somebody here listened to then.
    heard: Vec<EntityId>,
}

#[derive(Debug, Default)]
pub(super) struct Writers {
    /// Of those that were known together at some time, the present ones last. What was said of earlier ones may arrive later.
    known: VecDeque<Known>,
    /// Of the present ones without the last, the last two, and so on: what there was before they came, which was not seen here.
    earlier: Vec<GroupDigest>,
    /// What the publisher has said last, and when, by its numbers.
    said: Option<(SequenceNumber, GroupDigest)>,
    /// It makes digests as they are made here. Of others the digests are not waited for a second time.
    understood: bool,
    /// What the first that waits is kept back by, or was at last, and since when.
    stalled: Option<(GroupDigest, MonoTime)>,
    /// When it is not kept back any longer.
    until: Option<MonoTime>,
    /// How many digests of changes were looked at.
    #[cfg(test)]
    pub(super) looks: usize,
}

impl Writers {
    /// Its digests are made as they are made here.
    pub(super) fn understand(&mut self) {
        self.understood = true;
    }

    /// Whether it does.
    pub(super) fn is_understood(&self) -> bool {
        self.understood
    }

    /// Discovery knows these writers; somebody here listens to those that are `heard`.
    pub(super) fn learn(&mut self, mut writers: Vec<EntityId>, heard: Vec<EntityId>) {
        // Entity keys rise, so this is the order in which they were created.
        writers.sort_unstable();
        let first = |count| writers.get(..count).map(<[EntityId]>::to_vec);
        let earlier = (1..writers.len().min(MAX_EARLIER)).filter_map(first);
        self.earlier = earlier.map(|mut ids| GroupDigest::of(&mut ids)).collect();
        let digest = GroupDigest::of(&mut writers);
        self.known.retain(|known| known.digest != digest);
        if self.known.len() >= MAX_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(Known { digest, heard });
    }

    /// Whether a writer that somebody here has listened to is sure not to be among those with this digest.
    pub(super) fn lack(&self, digest: GroupDigest, writer: EntityId) -> bool {
        self.counts(digest) && self.find(digest).is_some_and(|known| !known.heard.contains(&writer))
    }

    /// Whether a writer that somebody here has listened to is sure to be among those with this digest.
    pub(super) fn have(&self, digest: GroupDigest, writer: EntityId) -> bool {
        self.find(digest).is_some_and(|known| known.heard.contains(&writer))
    }

    fn find(&self, digest: GroupDigest) -> Option<&Known> {
        self.known.iter().find(|known| known.digest == digest)
    }

    /// Whether a digest says anything: whoever is heard has a writer, so the digest of none is only one that was never filled in,
    /// unless the publisher makes digests as they are made here.
    fn counts(&self, digest: GroupDigest) -> bool {
        self.understood || digest != GroupDigest::EMPTY
    }

    /// The publisher has so many writers, as of this number or later.
    pub(super) fn note(&mut self, number: SequenceNumber, digest: GroupDigest) {
        if self.counts(digest) && self.said.is_none_or(|(last, _)| number >= last) {
            self.said = Some((number, digest));
        }
    }

    /// All its writers were lost: what was said before, perhaps by somebody else in its name, does not count for those that come. Nor
    /// do the writers that were known: of the sets whose history comes again, parts may be gone with some of them.
    pub(super) fn begin_anew(&mut self) {
        (self.said, self.stalled) = (None, None);
        self.known.clear();
        self.earlier.clear();
    }

    /// What it has said last, and when, by its numbers.
    pub(super) fn said(&self) -> Option<(SequenceNumber, GroupDigest)> {
        self.said
    }

    /// Nothing waits for them.
    pub(super) fn rest(&mut self) {
        self.until = None;
    }

    /// When what waits for them does not do so any longer.
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        self.until
    }

    /// Whether the writers are known of changes up to `last`, which came with these `digests`; without any, what the publisher
    /// has said by itself counts.
    pub(super) fn group_writers(
        &mut self,
        (now, patience): (MonoTime, Duration),
        last: SequenceNumber,
        digests: impl Iterator<Item = (SequenceNumber, GroupDigest)>,
    ) -> GroupWriters {
        let (mut told, mut missing) = (false, false);
        for (number, digest) in digests {
            #[cfg(test)]
            {
                self.looks = self.looks.saturating_add(1);
            }
            if !self.counts(digest) {
                continue;
            }
            told = true;
            if !self.is_known(digest) {
                if !self.is_over(number, digest) {
                    return self.wait(now, patience, digest);
                }
                missing = true;
            }
        }
        let said = self.said.filter(|(number, _)| !told && *number >= last);
        match said {
            Some((_, digest)) if !self.is_known(digest) => self.wait(now, patience, digest),
            _ if missing => GroupWriters::Missing,
            _ => GroupWriters::Known,
        }
    }

    fn is_known(&mut self, digest: GroupDigest) -> bool {
        let known = self.find(digest).is_some() || self.earlier.contains(&digest);
        self.understood |= known;
        known
    }

    /// Whether the publisher has said since `number` which other writers it has, and those are known: of the writers with
    /// `digest` those that are not known are no more, and names are not used again.
    fn is_over(&self, number: SequenceNumber, digest: GroupDigest) -> bool {
        let later = self.said.filter(|(said, other)| *said >= number && *other != digest);
        later.is_some_and(|(_, other)| self.find(other).is_some())
    }

    fn wait(&mut self, now: MonoTime, patience: Duration, digest: GroupDigest) -> GroupWriters {
        let since = self.stalled.filter(|(stalled, _)| *stalled == digest).map_or(now, |(_, since)| since);
        self.stalled = Some((digest, since));
        let until = since.plus(patience);
        if now < until {
            self.until = Some(until);
            GroupWriters::Awaited
        } else if self.understood {
            GroupWriters::Missing
        } else {
            GroupWriters::Known
        }
    }
}
