//! Counts of what comes and goes.

/// How many there are of something, or how much that takes.
///
/// What goes has come before, whatever others send: only a mistake of ours takes away more than is there. Debug builds stop at
/// that; others go on with none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counter(usize);

impl Counter {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// How many.
    #[inline]
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }

    /// So many have come.
    #[inline]
    pub const fn add(&mut self, count: usize) {
        debug_assert!(self.0.checked_add(count).is_some(), "memory does not hold so many");
        self.0 = self.0.saturating_add(count);
    }

    /// So many of them go.
    #[inline]
    pub const fn subtract(&mut self, count: usize) {
        debug_assert!(count <= self.0, "what goes has come before");
        self.0 = self.0.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_subtracts_to_zero() {
        let mut counter = Counter::ZERO;
        counter.add(3);
        counter.subtract(1);
        counter.subtract(2);
        assert_eq!(counter, Counter::default());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "what goes has come before")]
    fn counter_underflow_panics() {
        let mut counter = Counter::ZERO;
        counter.add(1);
        counter.subtract(2);
    }
}
