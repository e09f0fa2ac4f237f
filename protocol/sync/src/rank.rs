//! The check that a thread takes its locks in the order of their ranks.

#[cfg(all(feature = "std", debug_assertions, not(loom)))]
mod checked {
    use core::cell::Cell;
    #[cfg(not(shuttle))]
    use std::thread_local;

    // The threads of `shuttle` share one thread of the system.
    #[cfg(shuttle)]
    use shuttle::thread_local;

    thread_local! {
        /// Bit `r` is set while this thread holds a lock of rank `r`.
        static HELD: Cell<u64> = const { Cell::new(0) };
    }

    /// Proof that this thread's mark for `RANK` is set; clears it when dropped.
    pub(crate) struct HeldRank<const RANK: u8>(());

    impl<const RANK: u8> HeldRank<RANK> {
        const BIT: u64 = 1 << RANK;

        /// Marks `RANK` as held.
        ///
        /// # Panics
        /// If the thread holds a lock of this rank or of a higher one.
        #[track_caller]
        pub(crate) fn enter() -> Self {
            HELD.with(|held| {
                let ranks = held.get();
                assert!(
                    ranks >> RANK == 0,
                    "lock of rank {RANK} taken while ranks {ranks:#b} (bit per rank) are held"
                );
                held.set(ranks | Self::BIT);
            });
            Self(())
        }
    }

    impl<const RANK: u8> Drop for HeldRank<RANK> {
        fn drop(&mut self) {
            HELD.with(|held| held.set(held.get() & !Self::BIT));
        }
    }
}

#[cfg(not(all(feature = "std", debug_assertions, not(loom))))]
mod unchecked {
    /// Nothing: this build does not check ranks.
    pub(crate) struct HeldRank<const RANK: u8>(());

    impl<const RANK: u8> HeldRank<RANK> {
        pub(crate) fn enter() -> Self {
            Self(())
        }
    }
}

#[cfg(all(feature = "std", debug_assertions, not(loom)))]
pub(crate) use checked::HeldRank;
#[cfg(not(all(feature = "std", debug_assertions, not(loom))))]
pub(crate) use unchecked::HeldRank;
