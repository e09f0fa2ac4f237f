//! What an evaluation may cost: a filter and the samples that it looks at may both come from peers that are not trusted.

use core::fmt;

/// The steps that evaluations may still take. One is a comparison, a value that was gone past on the way to a field, a
/// character that LIKE looked at, or 16 bytes of a text: some nanoseconds each.
#[derive(Clone, Debug)]
pub struct Steps {
    allowed: usize,
    taken: usize,
}

/// There are no steps left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySteps;

impl fmt::Display for TooManySteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the evaluation of the filter takes too many steps")
    }
}

impl core::error::Error for TooManySteps {}

impl Steps {
    /// So many steps.
    #[must_use]
    pub const fn new(allowed: usize) -> Self {
        Self { allowed, taken: 0 }
    }

    /// Steps without limit: for expressions that the application itself has written.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// How many were taken. The last ones may go beyond what was allowed, by no more than the way to one field.
    #[must_use]
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// Takes some.
    ///
    /// # Errors
    /// They are more than are left; they count as taken nevertheless.
    #[inline]
    pub fn take(&mut self, steps: usize) -> Result<(), TooManySteps> {
        self.taken = self.taken.saturating_add(steps);
        if self.taken > self.allowed { Err(TooManySteps) } else { Ok(()) }
    }
}
