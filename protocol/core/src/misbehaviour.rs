//! What other participants do that is refused after their messages were parsed. What does not parse at all has names of its own
//! (`Malformation` in `protocol/wire`). Clauses are those of RTPS 2.5.

use core::fmt;

macro_rules! misbehaviours {
    ($($(#[$doc:meta])* $name:ident $usual:literal $word:literal $text:literal),+ $(,)?) => {
        /// Why a submessage or an announcement of another participant was dropped. Counters, log, statistics and `dunlin why` share
        /// these names.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Misbehaviour {
            $($(#[$doc])* $name,)+
        }

        impl Misbehaviour {
            /// Each of them.
            pub const ALL: [Self; [$($usual),+].len()] = [$(Self::$name),+];

            /// A word for programs, which stays.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The one of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|what| what.name() == name)
            }

            /// What it does, as in "it …".
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// Whether networks that lose, repeat and delay make it happen to participants that do nothing wrong. Such is counted, and
            /// not logged.
            #[must_use]
            pub const fn is_usual(self) -> bool {
                match self { $(Self::$name => $usual),+ }
            }
        }
    };
}

misbehaviours! {
    /// A message is no RTPS message, or breaks off at a malformed submessage (§8.3.4.1).
    Malformed false "MALFORMED" "sends malformed messages",
    /// INFO_SRC names this very participant (§8.3.8.10).
    SpeaksForUs false "SPEAKS_FOR_US" "speaks in the name of this participant",
    /// It speaks from an address that it is not believed to have: it has moved, or somebody else speaks in its name.
    Misplaced true "MISPLACED" "speaks from an address that is not known as its own",
    /// A submessage names an endpoint that this participant does not have. It may have been deleted meanwhile.
    NoSuchEndpoint true "NO_SUCH_ENDPOINT" "speaks to an endpoint that does not exist",
    /// A submessage names an endpoint with which its sender is not matched, or not any more (§8.4.10, §8.4.12).
    NotMatched true "NOT_MATCHED" "speaks to an endpoint that it is not matched with",
    /// The count of a HEARTBEAT, HEARTBEAT_FRAG, ACKNACK or NACK_FRAG is not above that of the previous one (§8.3.5.10).
    RepeatedCount true "REPEATED_COUNT" "repeats the count of a message",
    /// A change has the highest sequence number that there is, which nothing can follow (§8.3.5.4).
    LastNumber false "LAST_NUMBER" "writes the last sequence number that there is",
    /// Fragments of one change differ in the size of the change or of its fragments (§8.3.8.3).
    ContradictoryFragments false "CONTRADICTORY_FRAGMENTS" "sends fragments that contradict each other",
    /// A change came again with its sequence number and another source timestamp: one of the two was forged (§8.3.5.4, §8.7.2.3).
    ContradictoryDuplicate false "CONTRADICTORY_DUPLICATE" "sends two samples with one number",
    /// A change in fragments is larger than the reader puts together (`reliability.max_reassembly_per_writer`).
    TooLarge false "TOO_LARGE" "sends samples that are larger than readers put together",
    /// A change came so far ahead, or so many were in parts, that there is no room for it until others have come.
    NoRoom true "NO_ROOM" "sends changes further ahead than there is room for",
    /// An ACKNACK acknowledges changes that were not sent yet (§8.3.8.1).
    AcknowledgesUnsent false "ACKNOWLEDGES_UNSENT" "acknowledges what was not sent yet",
    /// A NACK_FRAG requests fragments of a change that was not sent yet (§8.3.8.12).
    RequestsUnsent false "REQUESTS_UNSENT" "requests fragments of what was not sent yet",
    /// A BEST_EFFORT reader acknowledges or requests (§8.4.11).
    BestEffortRequest false "BEST_EFFORT_REQUEST" "acknowledges or requests as a BEST_EFFORT reader",
    /// An ECHO that nothing was asked for, or that came before.
    UnaskedEcho true "UNASKED_ECHO" "echoes what was not asked, or was answered already",
    /// The key of a sample cannot be read, so its instance is not known (§9.6.4.8).
    UnreadableKey false "UNREADABLE_KEY" "sends samples whose key cannot be read",
    /// A source timestamp is further in the future than `quotas.timestamp_tolerance`.
    FromFuture false "FROM_FUTURE" "sends samples from the future",
    /// An announcement, or another sample of a built-in topic, cannot be read (§8.5).
    UnreadableAnnouncement false "UNREADABLE_ANNOUNCEMENT" "announces what cannot be read",
    /// A parameter of an announcement has to be understood and is not (§9.4.2.11).
    NotUnderstood false "NOT_UNDERSTOOD" "announces a parameter that has to be understood and is not",
    /// An announcement is about an entity of another participant.
    ForeignEntity false "FOREIGN_ENTITY" "announces entities of another participant",
    /// An announcement is older than one that came before, or than the goodbye of its participant.
    Overtaken true "OVERTAKEN" "sends announcements that later ones have overtaken",
    /// A goodbye in its name was no proof that it leaves, and it answered a question afterwards (§8.5.3.2).
    RefutedGoodbye false "REFUTED_GOODBYE" "is said to leave, and answers",
    /// It announces another domain or domain tag (§8.5.3.2).
    OtherDomain true "OTHER_DOMAIN" "announces itself in another domain",
    /// It announces more participants or endpoints than `quotas` allow.
    OverQuota false "OVER_QUOTA" "announces more than the quotas allow",
    /// It tells a type that nobody asked for, that is not the one asked for, or is more than `quotas` allow (XTypes 1.3 §7.6.3.3).
    UnaskedType false "UNASKED_TYPE" "tells types that were not asked for, or too many",
}

/// So many causes there are.
const CAUSES: usize = Misbehaviour::ALL.len();

impl fmt::Display for Misbehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How often which misbehaviour was refused. Counts stop at the highest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MisbehaviourCounts([u32; CAUSES]);

impl Default for MisbehaviourCounts {
    fn default() -> Self {
        Self([0; CAUSES])
    }
}

impl MisbehaviourCounts {
    /// How often it was refused.
    #[must_use]
    pub fn of(&self, what: Misbehaviour) -> u32 {
        self.0.get(what as usize).copied().unwrap_or(0)
    }

    /// Those that were refused, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (Misbehaviour, u32)> {
        Misbehaviour::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// Counts one; how many there are now.
    pub fn add(&mut self, what: Misbehaviour) -> u32 {
        let Some(count) = self.0.get_mut(what as usize) else { return 0 };
        *count = count.saturating_add(1);
        *count
    }

    /// Counts those of another too.
    pub fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count = count.saturating_add(more));
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn misbehaviour_causes_have_distinct_names_and_counters() {
        let mut counts = MisbehaviourCounts::default();
        for (at, what) in Misbehaviour::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, at);
            assert_eq!((counts.of(what), counts.add(what), counts.of(what)), (0, 1, 1));
        }
        let names: BTreeSet<_> = Misbehaviour::ALL.iter().map(|what| what.name()).collect();
        let texts: BTreeSet<_> = Misbehaviour::ALL.iter().map(|what| what.as_str()).collect();
        assert_eq!((names.len(), texts.len()), (CAUSES, CAUSES));
        assert!(Misbehaviour::ALL.into_iter().all(|what| Misbehaviour::named(what.name()) == Some(what)));
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')));
        counts.add_all(&counts.clone());
        assert!(counts.iter().all(|(_, count)| count == 2) && counts.iter().count() == CAUSES);
    }
}
