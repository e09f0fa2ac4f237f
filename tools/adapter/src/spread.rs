//! Mean and standard deviation of durations, without keeping them (Welford, 1962).

/// Durations in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    count: u64,
    mean: f64,
    /// The sum of the squares of what they differ from the mean by.
    squares: f64,
}

impl Spread {
    pub(crate) fn add(&mut self, nanos: u64) {
        self.count += 1;
        let before = nanos as f64 - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (nanos as f64 - self.mean);
    }

    /// Mean and standard deviation, if there is anything.
    pub(crate) fn summary(&self) -> Option<(f64, f64)> {
        (self.count > 0).then(|| (self.mean, (self.squares / self.count as f64).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_standard_deviation_by_definition() {
        let mut spread = Spread::default();
        assert_eq!(spread.summary(), None);
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|nanos| spread.add(nanos));
        assert_eq!(spread.summary(), Some((5.0, 2.0)));
    }
}
