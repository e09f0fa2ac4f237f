//! Sample, view and instance states and their masks (DDS 1.4 §2.2.2.5.1.1 to §2.2.2.5.1.4, §2.3.3).

use core::ops::BitOr;

use dunlin_core::Counter;

/// Defines a state and the mask that selects among its values, with the numbers of the DDS API.
macro_rules! state {
    ($(#[$meta:meta])* $name:ident, $mask:ident {
        $($(#[$vmeta:meta])* $variant:ident, $constant:ident = $value:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($(#[$vmeta])* $variant = $value),+ }

        #[doc = concat!("A set of [`", stringify!($name), "`] values.")]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $mask(pub u32);

        impl $mask {
            $($(#[$vmeta])* pub const $constant: Self = Self($value);)+
            /// Every state.
            pub const ANY: Self = Self(0xffff);

            /// Whether the state is in the set.
            #[must_use]
            pub const fn contains(self, state: $name) -> bool {
                self.0 & state as u32 != 0
            }
        }

        impl From<$name> for $mask {
            fn from(state: $name) -> Self {
                Self(state as u32)
            }
        }

        impl BitOr for $mask {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl Default for $mask {
            fn default() -> Self {
                Self::ANY
            }
        }
    };
}

state! {
    /// Whether a sample was read before (DDS 1.4 §2.2.2.5.1.2).
    SampleState, SampleStateMask {
        /// It was read.
        Read, READ = 1,
        /// It was not read yet.
        NotRead, NOT_READ = 2,
    }
}

state! {
    /// Whether the reader saw the instance since it last became alive (DDS 1.4 §2.2.2.5.1.4).
    ViewState, ViewStateMask {
        /// Not yet: the instance is new, or came back.
        New, NEW = 1,
        /// It did.
        NotNew, NOT_NEW = 2,
    }
}

state! {
    /// Whether an instance has a value at present (DDS 1.4 §2.2.2.5.1.3).
    InstanceState, InstanceStateMask {
        /// It has, and a writer that may change it.
        Alive, ALIVE = 1,
        /// A writer disposed it.
        NotAliveDisposed, NOT_ALIVE_DISPOSED = 2,
        /// All its writers are gone or unregistered it.
        NotAliveNoWriters, NOT_ALIVE_NO_WRITERS = 4,
    }
}

impl InstanceStateMask {
    /// Both states that are not alive.
    pub const NOT_ALIVE: Self = Self(6);
}

const ALL_VIEWS: [ViewState; 2] = [ViewState::New, ViewState::NotNew];
const ALL_INSTANCES: [InstanceState; 3] =
    [InstanceState::Alive, InstanceState::NotAliveDisposed, InstanceState::NotAliveNoWriters];

/// The samples in a cache by their states, so that conditions need not look at every sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StateCounts {
    /// Read and unread samples, by view state and instance state.
    counts: [(Counter, Counter); 8],
}

impl StateCounts {
    const fn place(view: ViewState, instance: InstanceState) -> usize {
        let row = match view {
            ViewState::New => 0,
            ViewState::NotNew => 4,
        };
        row | match instance {
            InstanceState::Alive => 0,
            InstanceState::NotAliveDisposed => 1,
            InstanceState::NotAliveNoWriters => 2,
        }
    }

    pub(super) fn add(&mut self, view: ViewState, instance: InstanceState, read: usize, unread: usize) {
        if let Some(count) = self.counts.get_mut(Self::place(view, instance)) {
            count.0.add(read);
            count.1.add(unread);
        }
    }

    pub(super) fn subtract(&mut self, view: ViewState, instance: InstanceState, read: usize, unread: usize) {
        if let Some(count) = self.counts.get_mut(Self::place(view, instance)) {
            count.0.subtract(read);
            count.1.subtract(unread);
        }
    }

    pub(super) fn matching(
        &self,
        samples: SampleStateMask,
        views: ViewStateMask,
        instances: InstanceStateMask,
    ) -> usize {
        let mut sum = 0_usize;
        for view in ALL_VIEWS.into_iter().filter(|view| views.contains(*view)) {
            for instance in ALL_INSTANCES.into_iter().filter(|state| instances.contains(*state)) {
                let Some((read, unread)) = self.counts.get(Self::place(view, instance)) else { continue };
                sum = sum.saturating_add(selected(samples, read.get(), unread.get()));
            }
        }
        sum
    }
}

/// How many of so many read and unread samples a mask selects.
pub(super) fn selected(mask: SampleStateMask, read: usize, unread: usize) -> usize {
    let of = |state, count| if mask.contains(state) { count } else { 0 };
    of(SampleState::Read, read).saturating_add(of(SampleState::NotRead, unread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_answer_for_every_mask() {
        let mut counts = StateCounts::default();
        let mut n = 1;
        for view in ALL_VIEWS {
            for instance in ALL_INSTANCES {
                counts.add(view, instance, n, n << 1);
                n <<= 2;
            }
        }
        let any = (SampleStateMask::ANY, ViewStateMask::ANY, InstanceStateMask::ANY);
        assert_eq!(counts.matching(any.0, any.1, any.2), 0xfff);
        assert_eq!(counts.matching(SampleStateMask::NOT_READ, any.1, any.2), 0xaaa);
        assert_eq!(counts.matching(any.0, ViewStateMask::NOT_NEW, any.2), 0xfc0);
        assert_eq!(counts.matching(any.0, any.1, InstanceStateMask::NOT_ALIVE), 0xf3c);
        assert_eq!(counts.matching(SampleStateMask(0), any.1, any.2), 0);
        counts.subtract(ViewState::New, InstanceState::Alive, 1, 2);
        assert_eq!(counts.matching(any.0, any.1, any.2), 0xffc);
    }

    #[test]
    fn numbers_are_those_of_the_api() {
        assert_eq!(SampleStateMask::from(SampleState::NotRead), SampleStateMask(2));
        assert_eq!(ViewStateMask::NEW | ViewStateMask::NOT_NEW, ViewStateMask(3));
        assert_eq!(
            InstanceStateMask::NOT_ALIVE_DISPOSED | InstanceStateMask::NOT_ALIVE_NO_WRITERS,
            InstanceStateMask::NOT_ALIVE
        );
    }
}
