//! The enumerated kinds of the policies, DDS 1.4 §2.3.3; where the standard orders the kinds of a policy, so does `Ord`.

use core::fmt;

/// Defines one kind: the enum, its DDS names and the numbers of the DDS API.
macro_rules! kind {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $value:literal => $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub enum $name { $($(#[$vmeta])* $variant = $value),+ }

        impl $name {
            /// Every kind, in the order of the standard.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The number the DDS API gives this kind.
            #[must_use]
            pub const fn value(self) -> i32 {
                self as i32
            }

            /// The kind of a number of the DDS API; `None` if there is no such kind.
            #[must_use]
            pub const fn from_value(value: i32) -> Option<Self> {
                match value { $($value => Some(Self::$variant),)+ _ => None }
            }

            /// The kind's name in the standard.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The kind of that name (exactly as [`Self::name`] gives it).
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

kind! {
    /// Whether data outlives the moment it was written (§2.2.3.4); a higher kind satisfies a lower one.
    DurabilityKind {
        /// Nothing for late joiners.
        #[default]
        Volatile = 0 => "VOLATILE",
        /// Late joiners get history from the writer, while it lives.
        TransientLocal = 1 => "TRANSIENT_LOCAL",
        /// A service keeps history in memory.
        Transient = 2 => "TRANSIENT",
        /// A service keeps history on permanent storage.
        Persistent = 3 => "PERSISTENT",
    }
}

kind! {
    /// How far presentation guarantees reach (§2.2.3.6); a higher scope satisfies a lower one.
    PresentationAccessScope {
        /// Within an instance.
        #[default]
        Instance = 0 => "INSTANCE",
        /// Across the instances of one writer.
        Topic = 1 => "TOPIC",
        /// Across the writers of one publisher.
        Group = 2 => "GROUP",
    }
}

kind! {
    /// Whether several writers may update an instance (§2.2.3.9).
    OwnershipKind {
        /// All may.
        #[default]
        Shared = 0 => "SHARED",
        /// Only the strongest live one may.
        Exclusive = 1 => "EXCLUSIVE",
    }
}

kind! {
    /// How a writer shows that it is alive (§2.2.3.11); a higher kind satisfies a lower one.
    LivelinessKind {
        /// The middleware asserts on its own.
        #[default]
        Automatic = 0 => "AUTOMATIC",
        /// Any assertion by any entity of the participant counts.
        ManualByParticipant = 1 => "MANUAL_BY_PARTICIPANT",
        /// Only assertions of the writer itself count.
        ManualByTopic = 2 => "MANUAL_BY_TOPIC",
    }
}

kind! {
    /// Whether lost data is repaired (§2.2.3.14). The numbers are those of the DDS API; RTPS uses 1 and 2 on the wire.
    ReliabilityKind {
        /// Not repaired.
        #[default]
        BestEffort = 0 => "BEST_EFFORT",
        /// Repaired.
        Reliable = 1 => "RELIABLE",
    }
}

kind! {
    /// Which time orders the samples of an instance (§2.2.3.17); a higher kind satisfies a lower one.
    DestinationOrderKind {
        /// The time of arrival.
        #[default]
        ByReceptionTimestamp = 0 => "BY_RECEPTION_TIMESTAMP",
        /// The time of writing.
        BySourceTimestamp = 1 => "BY_SOURCE_TIMESTAMP",
    }
}

kind! {
    /// How many samples of an instance are kept (§2.2.3.18).
    HistoryKind {
        /// The last `depth` ones.
        #[default]
        KeepLast = 0 => "KEEP_LAST",
        /// All, within RESOURCE_LIMITS.
        KeepAll = 1 => "KEEP_ALL",
    }
}

kind! {
    /// Whether types may differ (DDS-XTypes 1.3 §7.6.3.7).
    TypeConsistencyKind {
        /// Only equivalent types match.
        DisallowTypeCoercion = 0 => "DISALLOW_TYPE_COERCION",
        /// Assignable types match.
        #[default]
        AllowTypeCoercion = 1 => "ALLOW_TYPE_COERCION",
    }
}
