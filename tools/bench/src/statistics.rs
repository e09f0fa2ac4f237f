//! Summaries of what was measured, and ratios with their spread.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

/// What is said of one repetition: names of figures with their values.
pub type Figures = BTreeMap<String, f64>;

/// Figures and a distribution of nanoseconds, in microseconds. The distribution keeps three digits.
#[must_use]
pub fn summarise(nanos: &[u64]) -> (Figures, Vec<(u64, u64)>) {
    let mut figures = Figures::new();
    let Ok(mut histogram) = Histogram::<u64>::new(3) else { return (figures, Vec::new()) };
    for value in nanos {
        // It grows as needed; what it cannot hold, a duration of a century, there is not.
        let _ = histogram.record(*value);
    }
    if nanos.is_empty() {
        return (figures, Vec::new());
    }
    // The mean, the spread and the ends are exact, the percentiles have the digits of the distribution.
    let count = nanos.len() as f64;
    let mean = nanos.iter().map(|nanos| *nanos as f64).sum::<f64>() / count;
    let squares = nanos.iter().map(|nanos| (*nanos as f64 - mean).powi(2)).sum::<f64>();
    let micros = |nanos: f64| nanos / 1_000.0;
    figures.insert("min".into(), micros(nanos.iter().min().copied().unwrap_or(0) as f64));
    figures.insert("mean".into(), micros(mean));
    figures.insert("stddev".into(), micros((squares / count).sqrt()));
    // A bin is told by its upper end, which may be above the greatest of all.
    let max = nanos.iter().max().copied().unwrap_or(0);
    figures.insert("max".into(), micros(max as f64));
    for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
        figures.insert(name.into(), micros(histogram.value_at_quantile(quantile).min(max) as f64));
    }
    let bins = histogram.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect();
    (figures, bins)
}

/// The median.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some((low + high) / 2.0)
}

/// How two implementations compare over paired repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// The 95 % interval of that mean, if there are repetitions enough.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Whether the spread allows to say that the two differ.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// The ratio of pairs of values that were measured one after the other: the spread is that of the ratios, so that what
/// disturbed both sides alike does not count.
#[must_use]
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let logs: Vec<f64> =
        pairs.iter().filter(|(a, b)| *a > 0.0 && *b > 0.0).map(|(a, b)| (a / b).ln()).collect();
    let count = logs.len() as f64;
    if logs.is_empty() {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / count;
    let interval = (logs.len() > 2).then(|| {
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let half = student(logs.len() - 1) * (variance / count).sqrt();
        ((mean - half).exp(), (mean + half).exp())
    });
    Some(Ratio { mean: mean.exp(), interval })
}

/// The two-sided 95 % quantile of Student's distribution.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    freedom.checked_sub(1).and_then(|at| TABLE.get(at)).copied().unwrap_or(1.96)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_exact_ends_and_mean() {
        let nanos: Vec<u64> = (1..=1_000).map(|n| n * 1_000).collect();
        let (figures, bins) = summarise(&nanos);
        assert_eq!((figures["min"], figures["max"], figures["mean"]), (1.0, 1_000.0, 500.5));
        assert!((figures["p50"] - 500.0).abs() < 1.0 && (figures["p99"] - 990.0).abs() < 2.0);
        assert!((figures["stddev"] - 288.675).abs() < 0.001);
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), 1_000);
        assert_eq!(summarise(&[]).0.len(), 0);
        let (figures, _) = summarise(&[100_001, 100_003]);
        assert!(figures["p99.9"] <= figures["max"], "{figures:?}");
    }

    #[test]
    fn a_ratio_is_decided_when_its_interval_leaves_one_out() {
        let clear = ratio(&[(1.0, 2.0), (2.1, 4.0), (3.0, 6.2), (4.0, 8.1)]).unwrap();
        assert!((clear.mean - 0.5).abs() < 0.02 && clear.is_decided(), "{clear:?}");
        let open = ratio(&[(1.0, 1.1), (1.0, 0.9), (1.0, 1.05), (1.0, 0.97)]).unwrap();
        assert!(!open.is_decided(), "{open:?}");
        assert!(!ratio(&[(1.0, 2.0), (1.0, 2.0)]).unwrap().is_decided(), "two are too few");
        assert_eq!(ratio(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
